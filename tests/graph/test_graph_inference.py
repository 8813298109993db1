"""What validate() infers: dims, strides and types, against tables worked out by hand and torch's shapes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from graphs import D, given, new

import portadnn.graph as cudnn
from portadnn.graph.api.core import Graph

M, P = cudnn.norm_forward_phase, cudnn.resample_mode

# operation on inputs of these dims -> dims and strides of the outputs; NHWC means that the first input lies so
CASES = {
    "convolution": (
        [(8, 64, 56, 48), (32, 64, 3, 5)],
        lambda g, x, w: [g.conv_fprop(x, w, padding=[1, 2], stride=[2, 1])],
        [((8, 32, 28, 48), (43008, 1, 1536, 32))],
    ),
    "convolution with unequal padding": (
        [(1, 2, 5, 5), (4, 1, 2, 2)],
        lambda g, x, w: [g.conv_fprop(x, w, pre_padding=[1, 0], post_padding=[0, 2], dilation=[2, 3])],
        [((1, 4, 4, 4), (64, 1, 16, 4))],
    ),
    "matmul": (
        [(4, 1, 5, 7), (1, 3, 7, 2)],
        lambda g, a, b: [g.matmul(a, b)],
        [((4, 3, 5, 2), (30, 10, 2, 1))],
    ),
    "broadcast from the left": (
        [(1, 3, 1, 1), (2, 3, 4, 5)],
        lambda g, a, b: [g.add(a, b)],
        [((2, 3, 4, 5), (60, 20, 5, 1))],
    ),
    "broadcast of both": ([(4, 1), (1, 3)], lambda g, a, b: [g.mul(a, b)], [((4, 3), (3, 1))]),
    "pointwise keeps NHWC": (
        [(2, 3, 4, 5, "NHWC"), (1, 3, 1, 1)],
        lambda g, a, b: [g.relu(g.add(a, b))],
        [((2, 3, 4, 5), (60, 1, 15, 3))],
    ),
    "reduction as it is": (
        [(2, 3, 4)],
        lambda g, x: [g.reduction(x, cudnn.reduction_mode.ADD)],
        [((2, 3, 4), (12, 1, 3))],
    ),
    "genstats": (
        [(2, 3, 4, 5)],
        lambda g, x: list(g.genstats(x)),
        [((1, 3, 1, 1), (3, 1, 3, 3))] * 2,
    ),
    "layernorm": (
        [(2, 6, 8), (1, 1, 8), (1, 1, 8)],
        lambda g, x, s, b: g.layernorm(M.TRAINING, x, s, b, 1e-5),
        [((2, 6, 8), (48, 8, 1)), ((2, 6, 1), (6, 1, 1)), ((2, 6, 1), (6, 1, 1))],
    ),
    "layernorm of images": (
        [(5, 4, 3, 2), (1, 4, 3, 2), (1, 4, 3, 2)],
        lambda g, x, s, b: g.layernorm(M.TRAINING, x, s, b, 1e-5)[1:],
        [((5, 1, 1, 1), (1, 1, 1, 1))] * 2,
    ),
    "adalayernorm": (
        [(2, 6, 8), (2, 1, 8), (2, 1, 8)],
        lambda g, x, s, b: g.adalayernorm(M.TRAINING, x, s, b, 1e-5)[1:],
        [((2, 6, 1), (6, 1, 1))] * 2,
    ),
    "instancenorm": (
        [(2, 6, 4, 4), (1, 6, 1, 1), (1, 6, 1, 1)],
        lambda g, x, s, b: g.instancenorm(M.TRAINING, x, s, b, 1e-5)[1:],
        [((2, 6, 1, 1), (6, 1, 1, 1))] * 2,
    ),
    "resample": (
        [(1, 2, 7, 8)],
        lambda g, x: [g.resample(x, P.MAXPOOL, [3, 2], [1, 0], [0, 1], [2, 3])[0]],
        [((1, 2, 3, 3), (18, 1, 6, 2))],
    ),
    "slice": (
        [(4, 6)],
        lambda g, x: [g.slice(x, [slice(1, 4, 2), slice(0, 6, 4)])],
        [((2, 2), (2, 1))],
    ),
    "transpose": ([(2, 3, 4)], lambda g, x: [g.transpose(x, [2, 0, 1])], [((4, 2, 3), (1, 12, 4))]),
    "concatenate": (
        [(2, 3, 4), (2, 5, 4)],
        lambda g, a, b: [g.concatenate([a, b], -2)],
        [((2, 8, 4), (32, 4, 1))],
    ),
    "softmax": (
        [(2, 3, 4)],
        lambda g, x: g.softmax(x, 1, use_stats=True),
        [((2, 3, 4), (12, 4, 1)), ((2, 1, 4), (4, 4, 1))],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_dims_and_strides(name):
    shapes, build, want = CASES[name]
    g = new()
    inputs = [given(g, shape[:4], nhwc=True) if "NHWC" in shape else given(g, shape) for shape in shapes]
    outs = build(g, *inputs)
    for out in outs:
        out.set_output(True)
    g.validate()
    for out, (dims, strides) in zip(outs, want, strict=True):
        assert tuple(out.get_dim()) == dims
        steps = out.get_stride()
        assert [s for d, s in zip(dims, steps, strict=True) if d > 1] == [
            s for d, s in zip(dims, strides, strict=True) if d > 1
        ]


def test_convolution_dims_as_torch_has_them():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    for _ in range(50):
        spatial = int(rng.integers(1, 4))
        groups, c, k = (int(v) for v in rng.integers(1, 4, 3))
        window, stride, dilation, padding = (rng.integers(low, 4, spatial).tolist() for low in (1, 1, 1, 0))
        sizes = [int(d * (w - 1) + 1 + rng.integers(0, 6)) for d, w in zip(dilation, window, strict=True)]
        x, w = torch.empty(2, groups * c, *sizes), torch.empty(groups * k, c, *window)
        conv = [torch.nn.functional.conv1d, torch.nn.functional.conv2d, torch.nn.functional.conv3d][spatial - 1]
        want = conv(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)
        g = new()
        y = g.conv_fprop(given(g, x.shape), given(g, w.shape), padding, stride, dilation).set_output(True)
        g.validate()
        assert y.get_dim() == list(want.shape)


def test_types_come_from_the_graph():
    g = new(io=D.HALF, intermediate=D.FLOAT)
    a = given(g, (3,))
    b = given(g, (3,), D.BFLOAT16)
    middle = g.add(a, b)
    out, own = g.relu(middle).set_output(True), g.abs(middle).set_output(True).set_data_type(D.INT8)
    g.validate()
    assert [one.get_data_type() for one in (a, b, middle, out, own)] == [D.HALF, D.BFLOAT16, D.FLOAT, D.HALF, D.INT8]


def test_what_the_program_set_wins():
    g = new()
    out = g.conv_fprop(given(g, (1, 2, 4, 4)), given(g, (3, 2, 1, 1))).set_output(True)
    out.set_dim([1, 3, 4, 4]).set_stride([64, 20, 5, 1])
    g.validate()
    assert out.get_stride() == [64, 20, 5, 1]


def test_nodes_in_any_order():
    """The last operation is added first, as descriptors of the backend interface may be."""
    graph = Graph("any order", D.FLOAT, D.FLOAT, D.FLOAT)
    x, w, b = (cudnn.tensor(name) for name in "xwb")
    x.set_dim([1, 2, 5, 5]).set_stride([50, 25, 5, 1])
    w.set_dim([3, 2, 3, 3]).set_stride([18, 9, 3, 1])
    b.set_dim([1, 3, 1, 1]).set_stride([3, 1, 1, 1])
    conv, biased, y = (
        cudnn.tensor("conv").set_is_virtual(True),
        cudnn.tensor("biased").set_is_virtual(True),
        cudnn.tensor("y"),
    )
    graph.add("pointwise", {"IN_0": biased}, {"mode": "RELU_FWD"}, outputs={"OUT_0": y}, name="third")
    graph.add("pointwise", {"IN_0": conv, "IN_1": b}, {"mode": "ADD"}, outputs={"OUT_0": biased}, name="second")
    graph.add("conv_fprop", {"X": x, "W": w}, outputs={"Y": conv}, name="first")
    assert [node.name for node in graph.validate()] == ["first", "second", "third"]
    frozen = graph.freeze()
    assert [operation.name for operation in frozen.operations] == ["first", "second", "third"]
    assert y.get_dim() == [1, 3, 3, 3]
    assert [info.name for info in frozen.packed] == ["x", "w", "b", "y"]


def test_uids_skip_those_of_the_program():
    g = new()
    a, b = given(g, (3,), uid=2), given(g, (3,))
    y = g.add(a, b).set_output(True)
    g.build_operation_graph()
    assert a.get_uid() == 2
    assert sorted([b.get_uid(), y.get_uid()]) == [1, 3]
    assert g.query_tensor_attributes_of_uid(2) is a


def test_names_follow_node_and_port():
    g = new()
    x = given(g, (2, 3, 4, 5))
    assert g.conv_fprop(x, given(g, (2, 3, 1, 1)), name="conv").get_name() == "conv::Y"
    assert g.relu(x).get_name() == "1::OUT_0"  # the second node
    assert [one.get_name() for one in g.genstats(x, name="stats")] == ["stats_sum_output", "stats_sq_sum_output"]
    names = [one.get_name() for one in g.rmsnorm_backward(x, x, x, x, True, name="rms")]
    assert names == ["rms::DX", "rms::Dscale", "rms::Dbias"]


def test_texts_are_json_and_representations_short():
    g = new(name="shown")
    x = given(g, (2, 3), name="x")
    g.relu(x, name="act").set_output(True)
    g.validate()
    shown = json.loads(str(g))
    assert shown["context"]["name"] == "shown"
    assert shown["nodes"][0]["mode"] == "RELU_FWD"
    assert shown["tensors"]["x"]["dim"] == [2, 3]
    assert json.loads(repr(x))["stride"] == [3, 1]
    assert repr(g) == "<graph 'shown' of pointwise 'act'>"
    for _ in range(100):
        x = g.relu(x)
    assert len(repr(g)) < 250


@pytest.mark.parametrize("value", [3, 2.5])
def test_a_pointwise_operation_needs_a_tensor(value):
    with pytest.raises(ValueError, match=r"PG-TENSOR-017.* expected a tensor of the graph, got"):
        new().relu(value)
    with pytest.raises(ValueError, match="PG-TENSOR-017"):
        new().add(value, value)


def test_keys_tell_structures_apart():
    def key(dims, name, mode="relu"):
        g = new()
        getattr(g, mode)(given(g, dims, name=name)).set_output(True)
        return g.key()

    assert key((2, 3), "x") == key((2, 3), "y")
    assert len({key((2, 3), "x"), key((3, 2), "x"), key((2, 3), "x", "abs")}) == 3


def test_setters_chain_and_getters_tell():
    one = cudnn.tensor()
    same = one.set_name("t").set_dim([2, 4]).set_stride([4, 1]).set_data_type(D.INT8).set_output(False).set_uid(9)
    same = same.set_alignment(32).set_is_pass_by_value(False).set_vector_count_and_dimension(4, 1)
    assert same is one
    assert (one.get_name(), one.get_dim(), one.get_stride(), one.get_data_type()) == ("t", [2, 4], [4, 1], D.INT8)
    assert (one.get_is_virtual(), one.get_uid(), one.get_alignment(), one.get_vector_count()) == (True, 9, 32, 4)
