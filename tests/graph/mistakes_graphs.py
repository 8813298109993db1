"""Mistakes about tensors, types, nodes and whole graphs."""

from __future__ import annotations

import numpy as np
from graphs import D, given
from mistakes import NAME, NOT_SUPPORTED, SHAPE, UNSET, VALUE, out, wrong, x

import portadnn.graph as cudnn
from portadnn.graph.api.core import Graph

M = cudnn.norm_forward_phase
RELU = cudnn.pointwise_mode.RELU_FWD

# tensors


@wrong("PG-TENSOR-001", UNSET, "'x'", "set_dim(")
def no_dims(g):
    g.relu(cudnn.tensor("x").set_data_type(D.FLOAT))


@wrong("PG-TENSOR-002", VALUE, "a list of integers", "[8, 64, 56, 56]")
def dims_of_text(g):
    g.tensor(dim=["a"], stride=[1])


@wrong("PG-TENSOR-002", VALUE, "integers")
def dims_of_floats(g):
    x(g, 2, 3).set_dim([2.5, 3])


@wrong("PG-TENSOR-003", UNSET, "set_stride([12, 4, 1])", "[12, 1, 3]")
def no_strides(g):
    g.relu(g.tensor(dim=[2, 3, 4], name="x").set_stride([]))


@wrong("PG-TENSOR-004", VALUE, "[2, 0]")
def a_dim_of_zero(g):
    g.relu(g.tensor(dim=[2, 0], stride=[1, 1]))


@wrong("PG-TENSOR-004", VALUE, "[-2, 3]")
def a_negative_dim(g):
    g.relu(g.tensor(dim=[-2, 3], stride=[3, 1]))


@wrong("PG-TENSOR-005", VALUE, "[-3, 1]", "copy")
def a_negative_stride(g):
    g.relu(g.tensor(dim=[2, 3], stride=[-3, 1]))


@wrong("PG-TENSOR-006", VALUE, "set_is_virtual(False)")
def virtual_and_by_value(g):
    g.relu(g.tensor(dim=[1], stride=[1], is_virtual=True, is_pass_by_value=True))


@wrong("PG-TENSOR-007", VALUE, "'x'", "set_is_virtual(False)")
def virtual_input(g):
    out(g.relu(x(g, 2, 3, is_virtual=True, name="x")))


@wrong("PG-TENSOR-008", VALUE, "[2, 3]", "set_dim([1, 1, 1, 1])")
def many_by_value(g):
    out(g.relu(x(g, 2, 3, is_pass_by_value=True)))


@wrong("PG-TENSOR-009", VALUE, "set_stride([3, 1])")
def an_output_that_overlaps(g):
    out(g.relu(x(g, 2, 3))).set_stride([1, 1])


@wrong("PG-TENSOR-010", VALUE, "2 strides", "[1]")
def too_few_strides(g):
    out(g.relu(g.tensor(dim=[2, 3], stride=[1])))


@wrong("PG-TENSOR-011", NOT_SUPPORTED, "at most 8", "9")
def too_many_dims(g):
    out(g.relu(x(g, *[1] * 9)))


@wrong("PG-TENSOR-012", VALUE, "INT32", "set_data_type(")
def ragged_floats(g):
    ragged = x(g, 3, 1, data_type=D.FLOAT)
    out(g.relu(x(g, 2, 3, ragged_offset=ragged)))


@wrong("PG-TENSOR-013", VALUE, "[3, 1]", "[2, 1]")
def too_few_ragged_offsets(g):
    out(g.relu(x(g, 2, 3, ragged_offset=x(g, 2, 1, data_type=D.INT32))))


@wrong("PG-TENSOR-014", VALUE, "inf")
def an_infinite_scalar(g):
    g.tensor_scalar(float("inf"), cudnn.scalar_type.COMPILE_TIME_CONST)


@wrong("PG-TENSOR-015", VALUE, "set_is_pass_by_value(False)")
def a_result_by_value(g):
    out(g.relu(x(g, 1))).set_is_pass_by_value(True)


@wrong("PG-TENSOR-016", VALUE, "power of two", "set_alignment(16)")
def an_odd_alignment(g):
    out(g.relu(x(g, 2, 3).set_alignment(12)))


@wrong("PG-TENSOR-017", VALUE, "relu_in", "list", "tensor_like")
def a_list_for_a_tensor(g):
    g.relu([1.0, 2.0], name="relu_in")


@wrong("PG-TENSOR-018", NOT_SUPPORTED, "INT8x32")
def a_reordering(g):
    out(g.relu(x(g, 2, 3, reordering_type=cudnn.tensor_reordering.INT8x32)))


@wrong("PG-TENSOR-018", NOT_SUPPORTED, "order of the strides")
def a_vectorised_dim(g):
    out(g.relu(x(g, 2, 4).set_vector_count_and_dimension(4, 1)))


@wrong("PG-TENSOR-019", VALUE, "list")
def like_no_array(g):
    g.tensor_like([1, 2])


@wrong("PG-TENSOR-021", NAME, "uid 5", "set_uid(6)")
def two_tensors_of_one_uid(g):
    out(g.add(x(g, 3, uid=5), x(g, 3, uid=5)))


@wrong("PG-TENSOR-021", NAME, "lies just as an input")
def in_place_with_other_strides(g):
    out(g.relu(x(g, 2, 3, uid=5))).set_uid(5).set_stride([1, 2])


@wrong("PG-TENSOR-022", NAME, "77")
def a_uid_that_is_not_there(g):
    out(g.relu(x(g, 3)))
    g.query_tensor_attributes_of_uid(77)


# types


@wrong("PG-TYPE-001", UNSET, "'x'", "io_data_type")
def no_type(g):
    bare = cudnn.pygraph(compute_data_type=D.FLOAT)
    out(bare.relu(x(bare, 3, name="x")))
    return bare


def bare_graph(name="", **types):
    """Return a validated graph of other interfaces, which assume no types: relu of relu."""
    bare = Graph(io_data_type=D.HALF, **types)
    between = bare.add("pointwise", {"IN_0": cudnn.tensor().set_dim([3]).set_stride([1])}, {"mode": RELU}, name=name)
    made = bare.add("pointwise", {"IN_0": between.outputs["OUT_0"]}, {"mode": RELU})
    out(made.outputs["OUT_0"])
    bare.validate()


@wrong("PG-TYPE-001", UNSET, "OUT_0", "intermediate_data_type")
def no_type_for_virtual_tensors(g):
    bare_graph(compute_data_type=D.FLOAT)


@wrong("PG-TYPE-002", UNSET, "relu_1", "compute_data_type=")
def no_compute_type(g):
    bare_graph("relu_1")


@wrong("PG-TYPE-003", NOT_SUPPORTED, "FP4_E2M1", "FP8_E4M3")
def a_type_that_is_not_stored(g):
    out(g.relu(x(g, 3, data_type=D.FP4_E2M1)))


@wrong("PG-TYPE-004", VALUE, "complex64")
def a_type_that_is_not_there(g):
    g.tensor_like(np.ones(3, np.complex64))


@wrong("PG-TYPE-005", VALUE, "HALF", "identity")
def a_transpose_that_converts(g):
    out(g.transpose(x(g, 2, 3), [1, 0])).set_data_type(D.HALF)


@wrong("PG-NODE-004", VALUE, "data_type", "'float7'")
def an_unknown_type(g):
    x(g, 3).set_data_type("float7")


# nodes


@wrong("PG-NODE-001", VALUE, "'fma'", "matmul")
def an_unknown_operation(g):
    Graph().add("fma", {})


@wrong("PG-NODE-002", UNSET, "batchnorm 'bn'", "EPSILON", "pass a tensor for EPSILON")
def no_epsilon(g):
    p = (1, 4, 1, 1)
    g.batchnorm(x(g, 2, 4, 3, 3), given(g, p), given(g, p), name="bn")


@wrong("PG-NODE-002", UNSET, "conv_fprop 'c'", "W")
def no_filter(g):
    g.conv_fprop(x(g, 2, 4, 3, 3), None, name="c")


@wrong("PG-NODE-003", UNSET, "mode", "pass mode=")
def no_mode(g):
    Graph().add("reduction", {"X": cudnn.tensor()})


@wrong("PG-NODE-003", UNSET, "TRAINING")
def phase_not_set(g):
    g.layernorm(M.NOT_SET, x(g, 2, 4), x(g, 1, 4), x(g, 1, 4), 1e-5)


@wrong("PG-NODE-004", VALUE, "norm_forward_phase", "pass norm_forward_phase.")
def a_phase_that_is_none(g):
    g.layernorm("LEARNING", x(g, 2, 4), x(g, 1, 4), x(g, 1, 4), 1e-5)


@wrong("PG-NODE-004", VALUE, "stride", "integers")
def strides_of_text(g):
    g.conv_fprop(x(g, 1, 4, 3, 3), x(g, 2, 4, 1, 1), stride=["a", 1])


@wrong("PG-NODE-004", VALUE, "True or False")
def a_flag_that_is_none(g):
    g.softmax(x(g, 2, 3), use_stats="yes")


@wrong("PG-NODE-004", VALUE, "slices")
def slices_of_numbers(g):
    g.slice(x(g, 2, 3), [1, 2])


@wrong("PG-NODE-005", VALUE, "BIAS", "A, B")
def a_port_that_is_not_there(g):
    Graph().add("matmul", {"A": cudnn.tensor(), "B": cudnn.tensor(), "BIAS": cudnn.tensor()})


@wrong("PG-NODE-005", VALUE, "transposed")
def an_attribute_that_is_not_there(g):
    Graph().add("matmul", {"A": cudnn.tensor(), "B": cudnn.tensor()}, {"transposed": True})


@wrong("PG-NODE-005", VALUE, "padding, or pre_padding and post_padding")
def padding_twice(g):
    g.conv_fprop(x(g, 1, 4, 3, 3), x(g, 2, 4, 1, 1), padding=[1, 1], pre_padding=[1, 1])


@wrong("PG-NODE-006", SHAPE, "3 to 8 dims", "2")
def a_convolution_in_2d(g):
    out(g.conv_fprop(x(g, 4, 3), x(g, 2, 4)))


@wrong("PG-NODE-006", SHAPE, "2 to 8 dims")
def a_product_of_vectors(g):
    out(g.matmul(x(g, 4), x(g, 4)))


@wrong("PG-NODE-007", SHAPE, "SCALE = tensor 'gamma'", "[1, 4, 1, 1]", "[4]")
def a_scale_of_other_dims(g):
    p = (1, 4, 1, 1)
    g.batchnorm(x(g, 2, 4, 3, 3), x(g, 4, name="gamma"), given(g, p), epsilon=1e-3)


@wrong("PG-NODE-007", SHAPE, "DY", "[2, 6, 5, 5]", "[2, 6, 4, 4]")
def a_loss_of_other_dims(g):
    dw = g.conv_wgrad(x(g, 2, 4, 7, 7), x(g, 2, 6, 4, 4))
    out(dw).set_dim([6, 4, 3, 3])


@wrong("PG-NODE-008", SHAPE, "Y = ", "[2, 6, 5, 5]", "leave the dims out")
def dims_that_do_not_follow(g):
    out(g.conv_fprop(x(g, 2, 4, 7, 7), x(g, 6, 4, 3, 3))).set_dim([2, 6, 7, 7])


# the graph


@wrong("PG-GRAPH-001", UNSET, "add an operation")
def an_empty_graph(g):
    pass


@wrong("PG-GRAPH-002", NAME, "'act'", "act_2")
def two_nodes_of_one_name(g):
    a = g.relu(x(g, 3), name="act")
    out(g.relu(a, name="act"))


@wrong("PG-GRAPH-003", VALUE, "OUT_0 of pointwise '0'", "output of its own")
def two_producers(g):
    a = out(g.relu(x(g, 3)))
    g._graph.add("pointwise", {"IN_0": x(g, 3)}, {"mode": "ABS"}, outputs={"OUT_0": a})


@wrong("PG-GRAPH-004", VALUE, "->", "pointwise 'a'", "pointwise 'b'")
def a_cycle(g):
    one, two = cudnn.tensor("one").set_is_virtual(True), cudnn.tensor("two").set_is_virtual(True)
    g._graph.add("pointwise", {"IN_0": two}, {"mode": "ABS"}, outputs={"OUT_0": one}, name="a")
    g._graph.add("pointwise", {"IN_0": one}, {"mode": "ABS"}, outputs={"OUT_0": two}, name="b")


@wrong("PG-GRAPH-004", VALUE, "->")
def a_cycle_by_uid(g):
    one, two = x(g, 3, uid=1), x(g, 3, uid=2)
    out(g.relu(one)).set_uid(2)
    out(g.relu(two)).set_uid(1)


@wrong("PG-GRAPH-005", VALUE, "in place is for graphs of one node")
def in_place_among_others(g):
    a = x(g, 3, uid=1)
    out(g.relu(a)).set_uid(1)
    out(g.abs(a))


@wrong("PG-GRAPH-007", VALUE, "pointwise 'lost'", "set_output(True)")
def a_result_that_goes_nowhere(g):
    a = x(g, 3)
    g.abs(a, name="lost")
    out(g.relu(a))
