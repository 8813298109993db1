"""Mistakes, each with the error's class, id and fix: wrong tensors, operations, graphs, variant packs and calls."""

from __future__ import annotations

import re

import numpy as np
import pytest
from graphs import D, given, new

import portadnn.graph as cudnn
from portadnn import BadParam, NotSupported
from portadnn.graph.core import Graph
from portadnn.graph.lowering import LOWERINGS
from portadnn.graph.node import KINDS

M, P, R = cudnn.norm_forward_phase, cudnn.resample_mode, cudnn.reduction_mode
NOT_SUPPORTED = cudnn.cudnnGraphNotSupportedError
SHAPE, UNSET, NAME, VALUE, PACK = (
    cudnn.ShapeDeductionFailed,
    cudnn.AttributeNotSet,
    cudnn.InvalidTensorName,
    cudnn.InvalidValue,
    cudnn.InvalidVariantPack,
)
CASES = []


def wrong(id, error, *words):
    """Declare that validate() of the graph that a function builds, or the building, fails like this.

    `words` have to be in the message: names, numbers, the fix.
    """

    def add(function):
        CASES.append(pytest.param(function, id, error, words, id=f"{id}-{function.__name__.strip('_')}"))
        return function

    return add


def x(g, *dims, **kwargs):
    return given(g, dims, **kwargs)


def out(one):
    return one.set_output(True)


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
    g.relu(g.tensor(dim=[2, 3, 4], name="x"))


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


@wrong("PG-TENSOR-017", VALUE, "relu_in", "ndarray", "tensor_like")
def an_array_for_a_tensor(g):
    g.relu(np.ones(3), name="relu_in")


@wrong("PG-TENSOR-018", NOT_SUPPORTED, "INT8x32")
def a_reordering(g):
    out(g.relu(x(g, 2, 3, reordering_type=cudnn.tensor_reordering.INT8x32)))


@wrong("PG-TENSOR-018", NOT_SUPPORTED, "order of the strides")
def a_vectorised_dim(g):
    out(g.relu(x(g, 2, 4).set_vector_count_and_dimension(4, 1)))


@wrong("PG-TENSOR-019", VALUE, "list")
def like_no_array(g):
    g.tensor_like([1, 2])


@wrong("PG-TENSOR-020", NAME, "'x'", "set_name('x_2')")
def two_tensors_of_one_name(g):
    out(g.add(x(g, 3, name="x"), x(g, 3, name="x")))


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


@wrong("PG-TYPE-001", UNSET, "OUT_0", "intermediate_data_type")
def no_type_for_virtual_tensors(g):
    bare = cudnn.pygraph(io_data_type=D.HALF, compute_data_type=D.FLOAT)
    out(bare.relu(bare.relu(x(bare, 3))))
    return bare


@wrong("PG-TYPE-002", UNSET, "relu_1", "compute_data_type=")
def no_compute_type(g):
    bare = cudnn.pygraph(io_data_type=D.HALF)
    out(bare.relu(x(bare, 3), name="relu_1"))
    return bare


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


@wrong("PG-GRAPH-006", VALUE, "'spare'", "leave it out")
def an_unused_tensor(g):
    x(g, 3, name="spare")
    out(g.relu(x(g, 3)))


@wrong("PG-GRAPH-007", VALUE, "pointwise 'lost'", "set_output(True)")
def a_result_that_goes_nowhere(g):
    a = x(g, 3)
    g.abs(a, name="lost")
    out(g.relu(a))


# pointwise


@wrong("PG-POINTWISE-001", UNSET, "2 for ADD", "1")
def one_operand(g):
    g._graph.add("pointwise", {"IN_0": x(g, 3)}, {"mode": "ADD"})


@wrong("PG-POINTWISE-001", UNSET, "1 for RELU_FWD", "2")
def two_operands_for_relu(g):
    g._graph.add("pointwise", {"IN_0": x(g, 3), "IN_1": x(g, 3)}, {"mode": "RELU_FWD"})


@wrong("PG-POINTWISE-002", SHAPE, "'b'", "'a'", "16 or 1 in dim 1", "15", "make dim 1 of IN_1 16 or 1")
def operands_that_do_not_broadcast(g):
    out(g.add(x(g, 8, 16, name="a"), x(g, 8, 15, name="b"), name="sum"))


@wrong("PG-POINTWISE-002", SHAPE, "IN_2")
def a_mask_that_does_not_broadcast(g):
    out(g.binary_select(x(g, 4, 1), x(g, 4, 3), x(g, 3, 3)))


@wrong("PG-POINTWISE-003", VALUE, "0 to 1", "2")
def an_axis_outside(g):
    out(g.gen_index(x(g, 2, 3), axis=2))


@wrong("PG-POINTWISE-004", VALUE, "swish_beta")
def a_parameter_of_another_mode(g):
    g._graph.add("pointwise", {"IN_0": x(g, 3)}, {"mode": "TANH_FWD", "swish_beta": 2.0})


@wrong("PG-POINTWISE-005", SHAPE, "[2, 3]", "[1, 3]")
def an_output_that_is_too_small(g):
    out(g.relu(x(g, 2, 3))).set_dim([1, 3])


@wrong("PG-POINTWISE-006", VALUE, "upper_clip = 1")
def clips_in_the_wrong_order(g):
    out(g.relu(x(g, 3), lower_clip=2, upper_clip=1))


# matmul and convolution


@wrong("PG-MATMUL-001", SHAPE, "matmul 'qk'", "B.dim[-2] = 4", "got 5", "[2, 4, 6]")
def inner_dims_that_differ(g):
    out(g.matmul(x(g, 2, 3, 4, name="q"), x(g, 2, 5, 6, name="k"), name="qk"))


@wrong("PG-MATMUL-002", SHAPE, "3 dims", "ones in front")
def ranks_that_differ(g):
    out(g.matmul(x(g, 2, 3, 4), x(g, 4, 5)))


@wrong("PG-MATMUL-003", SHAPE, "[2]", "[3]", "repeat")
def batches_that_differ(g):
    out(g.matmul(x(g, 2, 3, 4), x(g, 3, 4, 5)))


def image(g):
    return x(g, 2, 4, 7, 7, name="image")


@wrong("PG-CONV-001", VALUE, "padding", "2 values", "[1]")
def one_padding_for_two(g):
    out(g.conv_fprop(image(g), x(g, 6, 4, 3, 3), padding=[1]))


@wrong("PG-CONV-002", VALUE, "dilation", ">= 1", "[0, 1]")
def no_dilation(g):
    out(g.conv_fprop(image(g), x(g, 6, 4, 3, 3), dilation=[0, 1]))


@wrong("PG-CONV-002", VALUE, "pre_padding", ">= 0")
def negative_padding(g):
    out(g.conv_fprop(image(g), x(g, 6, 4, 3, 3), padding=[-1, 0]))


@wrong("PG-CONV-003", SHAPE, "4 dims", "3")
def a_filter_in_3d(g):
    out(g.conv_fprop(image(g), x(g, 6, 4, 3)))


@wrong("PG-CONV-004", SHAPE, "4 channels of X = tensor 'image'", "got 3", "use W.dim[1] = 4")
def channels_that_differ(g):
    out(g.conv_fprop(image(g), x(g, 6, 3, 3, 3)))


@wrong("PG-CONV-005", SHAPE, "2 groups", "got 5", "use W.dim[0] = 6")
def filters_that_do_not_group(g):
    out(g.conv_fprop(image(g), x(g, 5, 2, 3, 3)))


@wrong("PG-CONV-006", SHAPE, "at most 7 in dim 2", "got 9", "pad more")
def a_filter_that_is_too_large(g):
    out(g.conv_fprop(image(g), x(g, 6, 4, 9, 3)))


@wrong("PG-CONV-007", UNSET, "dx.set_dim([2, 4, 7, 7])")
def a_gradient_without_dims(g):
    out(g.conv_dgrad(x(g, 2, 6, 5, 5), x(g, 6, 4, 3, 3)))


@wrong("PG-CONV-008", UNSET, "dw.set_dim([6, 4, R, S])")
def a_filters_gradient_without_dims(g):
    out(g.conv_wgrad(image(g), x(g, 2, 6, 5, 5)))


# reductions and normalisations


@wrong("PG-REDUCE-001", SHAPE, "3 dims", "keep reduced dims as 1")
def a_reduction_that_drops_dims(g):
    out(g.reduction(x(g, 2, 3, 4), R.ADD)).set_dim([2, 3])


@wrong("PG-REDUCE-002", SHAPE, "dim[1] = 3", "got 2", "Y.set_dim([2, 1, 4])")
def a_reduction_by_a_part(g):
    out(g.reduction(x(g, 2, 3, 4), R.ADD)).set_dim([2, 2, 4])


@wrong("PG-NODE-003", UNSET, "reduction_mode")
def a_reduction_without_mode(g):
    g.reduction(x(g, 2, 3), R.NOT_SET)


@wrong("PG-NORM-001", VALUE, "EPSILON", "one element", "[4]")
def many_epsilons(g):
    g.layernorm(M.TRAINING, x(g, 2, 4), x(g, 1, 4), x(g, 1, 4), x(g, 4))


@wrong("PG-NORM-002", SHAPE, "[3, 4]", "use dims [1, 4]")
def a_scale_without_pattern(g):
    g.layernorm(M.TRAINING, x(g, 3, 4), x(g, 1, 1), x(g, 1, 1), 1e-5)


@wrong("PG-NORM-002", SHAPE, "SCALE", "[4]")
def a_scale_of_one_dim(g):
    g.rmsnorm(M.TRAINING, x(g, 3, 4), x(g, 4), epsilon=1e-5)


@wrong("PG-NODE-007", SHAPE, "BIAS", "[1, 4]")
def a_bias_unlike_scale(g):
    g.layernorm(M.TRAINING, x(g, 3, 4), x(g, 1, 4), x(g, 4), 1e-5)


@wrong("PG-NORM-003", UNSET, "PREV_RUNNING_VAR", "all three or none")
def half_of_the_running_statistics(g):
    p = (1, 4, 1, 1)
    g.batchnorm(x(g, 2, 4, 3, 3), given(g, p), given(g, p), given(g, p), None, 1e-3, 0.1)


@wrong("PG-NORM-004", NOT_SUPPORTED, "peer_stats")
def peers(g):
    p = (1, 4, 1, 1)
    g.batchnorm(x(g, 2, 4, 3, 3), given(g, p), given(g, p), epsilon=1e-3, peer_stats=[x(g, 2, 16)])


@wrong("PG-NORM-005", UNSET, "pass both or none")
def half_of_the_saved_statistics(g):
    g.instancenorm_backward(image(g), image(g).set_name("dy"), x(g, 1, 4, 1, 1), x(g, 2, 4, 1, 1))


# resampling


@wrong("PG-RESAMPLE-001", VALUE, "window", "2 values")
def a_window_of_one_dim(g):
    out(g.resample(image(g), P.MAXPOOL, [2])[0])


@wrong("PG-RESAMPLE-002", VALUE, "strides above 0")
def no_step(g):
    out(g.resample(image(g), P.MAXPOOL, [2, 2], stride=[0, 1])[0])


@wrong("PG-RESAMPLE-003", VALUE, "whole numbers for MAXPOOL")
def half_a_step(g):
    out(g.resample(image(g), P.MAXPOOL, [2, 2], stride=[0.5, 1])[0])


@wrong("PG-RESAMPLE-004", VALUE, "NEG_INF_PAD for MAXPOOL", "padding_mode.NEG_INF_PAD")
def maxima_of_zeros(g):
    out(g.resample(image(g), P.MAXPOOL, [2, 2], padding_mode=cudnn.padding_mode.ZERO_PAD)[0])


@wrong("PG-RESAMPLE-005", SHAPE, "the window 8 in dim 2", "7")
def a_window_that_is_too_large(g):
    out(g.resample(image(g), P.MAXPOOL, [8, 2])[0])


@wrong("PG-RESAMPLE-006", VALUE, "only MAXPOOL")
def indices_of_averages(g):
    out(g.resample(image(g), P.AVGPOOL_INCLUDE_PADDING, [2, 2], generate_index=True)[0])


@wrong("PG-RESAMPLE-007", VALUE, "FLOAT", "INT8")
def indices_of_floats(g):
    y, index = g.resample(image(g), P.MAXPOOL, [2, 2], generate_index=True)
    out(y)
    out(index).set_data_type(D.FLOAT)


@wrong("PG-RESAMPLE-008", NOT_SUPPORTED, "BILINEAR")
def gradient_of_an_interpolation(g):
    out(g.resample_backward(image(g), P.BILINEAR, [2, 2]))


@wrong("PG-RESAMPLE-009", UNSET, "an index tensor or X")
def maxima_from_nowhere(g):
    out(g.resample_backward(image(g), P.MAXPOOL, [2, 2])).set_dim([2, 4, 8, 8])


@wrong("PG-RESAMPLE-010", UNSET, "dx.set_dim(")
def a_pools_gradient_without_dims(g):
    out(g.resample_backward(image(g), P.AVGPOOL_INCLUDE_PADDING, [2, 2]))


# moving elements, random numbers, softmax


@wrong("PG-SHAPE-001", VALUE, "at most 2", "3")
def too_many_slices(g):
    out(g.slice(x(g, 2, 3), [slice(None)] * 3))


@wrong("PG-SHAPE-002", VALUE, "-1")
def a_slice_backwards(g):
    out(g.slice(x(g, 2, 3), [slice(None, None, -1)]))


@wrong("PG-SHAPE-003", VALUE, "slices[1]", "within 3 elements")
def an_empty_slice(g):
    out(g.slice(x(g, 2, 3), [slice(None), slice(3, 5)]))


@wrong("PG-SHAPE-004", UNSET, "6 elements")
def a_reshape_without_dims(g):
    out(g.reshape(x(g, 2, 3)))


@wrong("PG-SHAPE-005", SHAPE, "6 elements", "8 of [2, 4]")
def a_reshape_that_adds(g):
    out(g.reshape(x(g, 2, 3))).set_dim([2, 4])


@wrong("PG-SHAPE-006", VALUE, "0 to 1", "[0, 0]")
def a_permutation_with_an_axis_twice(g):
    out(g.transpose(x(g, 2, 3), [0, 0]))


@wrong("PG-NODE-002", UNSET, "IN")
def nothing_to_concatenate(g):
    g.concatenate([], axis=0)


@wrong("PG-SHAPE-008", VALUE, "2 dims", "2")
def concatenated_outside(g):
    out(g.concatenate([x(g, 2, 3), x(g, 2, 3)], axis=2))


@wrong("PG-NODE-007", SHAPE, "IN_1", "[2, 4]")
def concatenated_unlike(g):
    out(g.concatenate([x(g, 2, 3), x(g, 3, 4)], axis=1))


@wrong("PG-SHAPE-009", VALUE, "0 to 1")
def in_place_of_no_input(g):
    out(g.concatenate([x(g, 2, 3), x(g, 2, 3)], axis=0, in_place_index=2))


@wrong("PG-RNG-001", UNSET, "set_dim(")
def random_numbers_without_dims(g):
    node = g._graph.add("rng", {}, {"distribution": "UNIFORM", "seed": 1})
    out(node.outputs["Y"])


@wrong("PG-RNG-002", UNSET, "seed")
def no_seed(g):
    out(g.rng([4], cudnn.rng_distribution.UNIFORM, seed=None))


@wrong("PG-RNG-003", VALUE, "0 to 1", "1.5")
def a_probability_above_one(g):
    out(g.rng([4], cudnn.rng_distribution.BERNOULLI, seed=1, bernoulli_probability=1.5))


@wrong("PG-RNG-004", VALUE, "maximum = -1")
def an_empty_range(g):
    out(g.rng([4], cudnn.rng_distribution.UNIFORM, seed=1, maximum=-1.0))


@wrong("PG-SOFTMAX-001", VALUE, "2 dims")
def softmax_outside(g):
    out(g.softmax(x(g, 2, 3), axis=2)[0])


@pytest.mark.parametrize(("function", "id", "error", "words"), CASES)
def test_wrong_graphs(function, id, error, words):
    g = new()
    with pytest.raises(error) as caught:
        (function(g) or g).validate()
    check(caught.value, id, error, words)


def check(found, id, error, words):
    """Demand the class, the id, the words, and the classes that programs catch."""
    assert type(found) is error
    assert found.id == id
    text = str(found)
    assert f"[{id}]" in text
    for word in words:
        assert word in text, text
    assert found.as_dict()["id"] == id
    assert isinstance(found, NotSupported if error is NOT_SUPPORTED else BadParam)
    assert isinstance(found, RuntimeError if error in (NOT_SUPPORTED, VALUE) else ValueError)


# variant packs and calls, on a graph that is right

PACKS = []


def wrong_pack(id, error, *words):
    def add(function):
        PACKS.append(pytest.param(function, id, error, words, id=f"{id}-{function.__name__}"))
        return function

    return add


@pytest.fixture(scope="module")
def built():
    """A graph with three tensors in its packs, a virtual and a constant one."""
    g = new()
    a, b = x(g, 2, 3, name="a"), x(g, 2, 3, name="b")
    total = g.add(a, b)
    half = g.tensor_scalar(0.5, cudnn.scalar_type.COMPILE_TIME_CONST).set_name("half")
    y = out(g.mul(total, half)).set_name("y")
    g.build()
    return g, a, b, y, total, half


def six():
    return np.ones((2, 3), np.float32)


@wrong_pack("PG-PACK-001", PACK, "'b'", "'y'", "add the keys")
def two_are_missing(g, a, b, y, total, half):
    g.execute({a: six()})


@wrong_pack("PG-PACK-001", PACK, "'b'")
def none_for_a_tensor(g, a, b, y, total, half):
    g.execute({a: six(), b: None, y: six(), None: six()})


@wrong_pack("PG-PACK-002", PACK, "99")
def a_uid_of_nothing(g, a, b, y, total, half):
    g.execute({a: six(), b: six(), y: six(), 99: six()})


@wrong_pack("PG-PACK-002", PACK, "'a'")
def a_name_for_a_key(g, a, b, y, total, half):
    g.execute({"a": six(), b: six(), y: six()})


@wrong_pack("PG-PACK-003", PACK, "set_output(True)")
def a_virtual_tensor(g, a, b, y, total, half):
    g.execute({a: six(), b: six(), y: six(), total: six()})


@wrong_pack("PG-PACK-004", PACK, "24 bytes", "20 bytes", "'b'")
def a_short_buffer(g, a, b, y, total, half):
    g.execute({a: six(), b: six().ravel()[:5], y: six()})


@wrong_pack("PG-PACK-005", PACK, "float32", "float64", "convert")
def another_type(g, a, b, y, total, half):
    g.execute({a: six(), b: six().astype(np.float64), y: six()})


@wrong_pack("PG-PACK-006", PACK, "builtins.list")
def a_list(g, a, b, y, total, half):
    g.execute({a: six(), b: [1.0] * 6, y: six()})


@wrong_pack("PG-PACK-006", PACK, "dict")
def no_dict(g, a, b, y, total, half):
    g.execute([six()] * 3)


@wrong_pack("PG-PACK-006", PACK, "negative strides")
def backwards(g, a, b, y, total, half):
    g.execute({a: six(), b: six()[::-1], y: six()})


@wrong_pack("PG-PACK-007", PACK, "writable", "'y'")
def a_read_only_output(g, a, b, y, total, half):
    fixed = six()
    fixed.flags.writeable = False
    g.execute({a: six(), b: six(), y: fixed})


@wrong_pack("PG-PACK-008", PACK, "pass it once")
def one_tensor_twice(g, a, b, y, total, half):
    g.execute({a: six(), a.get_uid(): six(), b: six(), y: six()})


@wrong_pack("PG-PACK-009", PACK, "RUNTIME_PARAM", "'half'")
def another_constant(g, a, b, y, total, half):
    g.execute({a: six(), b: six(), y: six(), half: 2.0})


@wrong_pack("PG-PACK-010", PACK, "'y'", "'b'")
def an_output_on_an_input(g, a, b, y, total, half):
    shared = six()
    g.execute({a: six(), b: shared, y: shared})


@wrong_pack("PG-PLAN-001", VALUE, "graph.build(")
def before_it_is_built(g, a, b, y, total, half):
    new().execute({})


@wrong_pack("PG-PLAN-001", VALUE, "build_operation_graph()")
def plans_before_the_graph(g, a, b, y, total, half):
    new().create_execution_plans([cudnn.heur_mode.A])


@wrong_pack("PG-PLAN-002", VALUE, "got 9")
def a_plan_of_no_number(g, a, b, y, total, half):
    g.execute_plan_at_index({a: six(), b: six(), y: six()}, None, 9)


@wrong_pack("PG-PLAN-003", VALUE, "12345")
def no_handle(g, a, b, y, total, half):
    g.execute({a: six(), b: six(), y: six()}, handle=12345)


@wrong_pack("PG-PLAN-004", VALUE, "[heur_mode.A, heur_mode.FALLBACK]")
def one_mode_without_a_list(g, a, b, y, total, half):
    g.create_execution_plans(cudnn.heur_mode.A)


@wrong_pack("PG-PLAN-005", NOT_SUPPORTED, "override_uids")
def other_shapes(g, a, b, y, total, half):
    g.execute({}, None, override_uids=[1])


@wrong_pack("PG-PLAN-006", VALUE, "engine_id")
def knobs_of_no_engine(g, a, b, y, total, half):
    g.get_knobs_for_engine(17)


@wrong_pack("PG-ENGINE-001", NOT_SUPPORTED, "TENSOR_CORE", "PG-ENGINE-006")
def notes_that_no_engine_has(g, a, b, y, total, half):
    other = new()
    out(other.relu(x(other, 3)))
    other.select_numeric_notes([cudnn.numerical_note.TENSOR_CORE])
    other.build()


@pytest.mark.parametrize(("function", "id", "error", "words"), PACKS)
def test_wrong_packs_and_calls(built, function, id, error, words):
    with pytest.raises(error) as caught:
        function(*built)
    check(caught.value, id, error, words)
    g, a, b, y, *_ = built
    result = np.empty((2, 3), np.float32)
    g.execute({a: six(), b: six(), y: result})  # the graph is none the worse
    assert (result == 1).all()


def test_a_failed_call_leaves_its_output_alone(built):
    g, a, _, y, *_ = built
    result = np.full((2, 3), 7, np.float32)
    with pytest.raises(PACK):
        g.execute({a: six(), y: result})
    assert (result == 7).all()


def test_the_table_of_rules():
    """Ids are well-formed and unique, each is raised somewhere in a test, but for those of devices and for two."""
    tested = {case.values[1] for case in (*CASES, *PACKS)}
    assert all(re.fullmatch(r"PG-[A-Z]+-\d{3}", id) for id in cudnn.RULES)
    elsewhere = {f"PG-ENGINE-00{i}" for i in range(2, 7)} | {"PG-PACK-011", "PG-SHAPE-007"}
    assert set(cudnn.RULES) - tested == elsewhere
    assert len(CASES) + len(PACKS) >= 80


def test_every_kind_has_a_definition():
    from portadnn_backends.reference_graph import DEFINITIONS

    assert set(DEFINITIONS) == set(KINDS)
    assert set(LOWERINGS) <= set(KINDS)
