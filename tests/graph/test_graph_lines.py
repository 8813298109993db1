"""Problem lines of graphs: printed, read back, and counted."""

from __future__ import annotations

import json

import numpy as np
import pytest

import portadnn as dnn
import portadnn.graph as cudnn
from portadnn.diff.generate.graphs import ALONE, KINDS, random_graph
from portadnn.graph.data_types import data_type
from portadnn.graph.files import as_data
from portadnn.graph.node import KINDS as NODES
from portadnn.graph.operation_graph import OperationGraph
from portadnn.problem import every_problem

ATTENTION = (
    "sdpa Q=f16:2x8x128x64 K=f16:2x2x256x64 V=f16:2x2x256x64 ATTN_SCALE=f32:1=0.125"
    " O=f16:2x8x128x64 STATS=f32:2x8x128x1 right_bound=0 generate_stats=True"
)
CHAIN = (
    "matmul A=f16:8x64x32 B=f16:8x32x64 C=#1:~f32:8x64x64"
    " ; pointwise IN_0=#1 IN_1=f32:1?0.5 OUT_0=#2:~f32:8x64x64 mode=MUL"
    " ; pointwise IN_0=#2 OUT_0=f16:8x64x64 mode=RELU_FWD ; reduction X=#2 Y=f32:8x64x1 mode=ADD compute=f64"
)


def drawn(number):
    """Return a random graph, in turn of any nodes and of one that stands alone."""
    options = {"kinds": KINDS} if number % 2 else {"kinds": ALONE, "most": 1}
    return random_graph(number, 29, **options).graph.freeze()


@pytest.mark.parametrize("number", range(40))
def test_lines_come_back(number):
    graph = drawn(number)
    back = dnn.parse(str(graph))
    assert str(back) == str(graph)
    assert back == graph.canonical() and hash(back) == hash(graph.canonical())
    for one, other in zip(graph.operations, back.operations, strict=True):
        assert (one.kind, one.attributes, one.compute_type) == (other.kind, other.attributes, other.compute_type)
        for port, uid in one.uids.items():
            a, b = graph.by_uid[uid], back.at(other, port)
            facts = ("dims", "strides", "data_type", "virtual", "by_value", "value", "constant", "alignment")
            assert all(getattr(a, fact) == getattr(b, fact) for fact in facts)
            assert (a.ragged_offset is None, a.ragged_multiplier) == (b.ragged_offset is None, b.ragged_multiplier)


@pytest.mark.parametrize("line", [ATTENTION, CHAIN])
def test_a_line_is_what_it_says(line):
    graph = dnn.parse(line)
    assert isinstance(graph, OperationGraph) and isinstance(graph, dnn.Problem) and str(graph) == line
    assert dnn.parse_line(line) == (graph, {})


def test_names_and_uids_are_no_part_of_it():
    def built(name, first):
        graph = cudnn.pygraph(name=name, io_data_type=data_type.FLOAT, compute_data_type=data_type.FLOAT)
        x = graph.tensor(dim=[2, 3, 4], stride=[12, 4, 1], name=f"{name}_x", uid=first)
        graph.relu(x, name=f"{name}_relu").set_output(True)
        graph.validate()
        return graph._graph.freeze()

    one, other = built("a", 7), built("b", 90)
    assert str(one) == str(other) == "pointwise IN_0=f32:2x3x4 OUT_0=f32:2x3x4 mode=RELU_FWD"
    assert one.canonical() == other.canonical() and one != other


def test_a_graph_counts_as_a_problem():
    graph = dnn.parse(CHAIN)
    assert [str(spec) for spec in graph.tensors] == ["f16:8x64x32", "f16:8x32x64", "f16:8x64x64", "f32:8x64x1"]
    assert [graph.names.index(name) for name in graph.written] == [2, 3]
    assert graph.flops() == 2 * 8 * 64 * 64 * 32 + 3 * 8 * 64 * 64
    assert graph.bytes() == 2 * (2 * 8 * 64 * 32 + 8 * 64 * 64) + 4 * 8 * 64
    assert graph.reduction_length(graph.written[-1]) == 64
    assert graph.dtype is dnn.DataType.DOUBLE, "one node computes in it"
    attention = dnn.parse(ATTENTION)
    assert attention.flops() == 2 * 2 * 2 * 8 * 128 * 256 * 64 // 2, "half of two products: a triangle"


def test_kinds_of_nodes_are_not_operations():
    assert not set(NODES) & set(every_problem()), "the first word says what a line is"


@pytest.mark.parametrize(
    "line",
    [
        "sdpa",
        "matmul A=f16:8x64x32 B=f16:8x32x64",
        "matmul A=f16:8x64x32 B=f16:8x32x64 C=f32:8x64x63",
        "matmul A=f16:8x64x32 A=f16:8x64x32 B=f16:8x32x64 C=f32:8x64x64",
        "matmul A=f17:8x64x32 B=f16:8x32x64 C=f32:8x64x64",
        "matmul A=#1 B=f16:8x32x64 C=f32:8x64x64",
        "pointwise IN_0=f32:3 OUT_0=f32:3 mode=NOTHING",
        "pointwise IN_0=f32:3 OUT_0=f32:3 mode=RELU_FWD beta=1",
        "pointwise IN_0=f32:3=x OUT_0=f32:3 mode=RELU_FWD",
        "pointwise IN_0=f32:3 OUT_0=f32:3 mode=RELU_FWD ;",
        "pointwise IN_0=f32:3 OUT_0=f32:3 mode=RELU_FWD ; activation_forward x=f32:3",
        "transpose X=f32:3x4 Y=f32:4x3 permutation=1/0,",
        "slice X=f32:3x4 Y=f32:2x4 slices=a:b:c,",
        "sdpa Q=f32:1x1x4x4+f32:2x1x1x1*4 K=f32:1x1x4x4 V=f32:1x1x4x4 O=f32:1x1x4x4",
    ],
)
def test_wrong_lines_are_refused(line):
    with pytest.raises((dnn.BadParam, dnn.NotSupported)) as caught:
        dnn.parse(line)
    assert len(str(caught.value)) < 2000


def test_lines_make_graphs_that_run():
    graph = dnn.parse("pointwise IN_0=f32:2x3 OUT_0=f32:2x3 mode=RELU_FWD")
    data = as_data(cudnn.pygraph()._graph, graph)
    with dnn.Handle("reference") as handle:
        made = cudnn.pygraph(handle=handle)
        made.deserialize(json.dumps(data))
        made.build([cudnn.heur_mode.A])
        x, y = np.array([[-1, 2, -3], [4, -5, 6]], "f4"), np.full((2, 3), np.nan, "f4")
        made.execute({1: x, 2: y})
    assert y.tolist() == [[0, 2, 0], [4, 0, 6]]
