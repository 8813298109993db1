"""Graphs of cudnn_frontend in C++: which calls make them, what is known of them, and what becomes of their nodes."""

from __future__ import annotations

import pytest
from miopen_header import OF_GRAPHS

from portadnn import graph as cudnn
from portadnn import mapping, migrate
from portadnn.graph.node import KINDS
from portadnn.migrate import cpp, interpret
from portadnn.migrate.frontend.describe import describe
from portadnn.migrate.frontend.judge import fusion, verdict, without_call
from portadnn.migrate.frontend.methods import methods, operations

HEAD = """#include <cudnn_frontend.h>
namespace fe = cudnn_frontend;
"""


def graphs(text: str) -> list:
    found: list = []
    interpret.follow([cpp.read((HEAD + text).encode(), "graph.cpp")], [], found)
    return found


def body(text: str) -> str:
    return "void build(cudnnHandle_t handle, int64_t n, bool flag) {\n fe::graph::Graph graph;\n" + text + "\n}\n"


TYPES = """graph.set_io_data_type(fe::DataType_t::HALF).set_intermediate_data_type(fe::DataType_t::FLOAT)
    .set_compute_data_type(fe::DataType_t::FLOAT);"""
X = "auto X = graph.tensor(fe::graph::Tensor_attributes().set_dim({8, 32, 16, 16}).set_stride({8192, 1, 512, 32}));"
W = "auto W = graph.tensor(fe::graph::Tensor_attributes().set_dim({64, 32, 3, 3}).set_stride({288, 1, 96, 32}));"
CONV = "fe::graph::Conv_fprop_attributes().set_padding({1, 1}).set_stride({2, 2}).set_dilation({1, 1})"


@pytest.mark.parametrize("name", sorted(methods()))
def test_ports_are_those_of_the_node(name):
    method = methods()[name]
    kind = KINDS[method.kind]
    assert set(method.inputs) <= {port.name for port in kind.inputs}
    assert set(method.outputs) <= {port.name for port in kind.outputs}
    calls = {call for call in (method.miopen, *method.modes.values()) if call}
    assert calls <= OF_GRAPHS | mapping.table().functions.keys()


@pytest.mark.parametrize("name", sorted(operations()))
def test_ports_of_the_older_builders_are_those_of_the_node(name):
    operation = operations()[name]
    assert set(operation.ports.values()) <= {*operation.method.inputs, *operation.method.outputs}


def test_a_graph_is_what_python_builds():
    (found,) = graphs(
        body(f"{TYPES}{X}{W} auto Y = graph.conv_fprop(X, W, {CONV}); Y->set_output(true); graph.validate();")
    )
    said = describe(found)
    assert said.valid and not said.guessed
    half, single = cudnn.data_type.HALF, cudnn.data_type.FLOAT
    mine = cudnn.pygraph("", half, single, single)
    x = mine.tensor(dim=[8, 32, 16, 16], stride=[8192, 1, 512, 32])
    w = mine.tensor(dim=[64, 32, 3, 3], stride=[288, 1, 96, 32])
    mine.conv_fprop(x, w, padding=[1, 1], stride=[2, 2], dilation=[1, 1]).set_output(True)
    mine.validate()
    (theirs,), (ours,) = said.graph.operations, mine._as_it_is().operations
    assert (theirs.kind, theirs.attributes) == (ours.kind, ours.attributes)
    shapes = [[(i.dims, i.strides, i.data_type, i.virtual) for i in g.infos] for g in (said.graph, mine._as_it_is())]
    assert shapes[0] == shapes[1]
    assert verdict(found, "hipdnn").answer == mine.check_against("hipdnn").answer == "yes"


@pytest.mark.parametrize(
    "code",
    [
        "auto g = std::make_shared<fe::graph::Graph>(); auto Y = g->conv_fprop(X, W, a);",
        "std::shared_ptr<fe::graph::Graph> g(new fe::graph::Graph()); auto Y = g->conv_fprop(X, W, a);",
        "auto make = [&](cudnnHandle_t h) { auto Y = graph.conv_fprop(X, W, a); return Y; }; make(handle);",
        "std::shared_ptr<fe::graph::Tensor_attributes> Y; Y = graph.conv_fprop(X, W, a);",
        "for (int i = 0; i < n; i++) { auto Y = graph.conv_fprop(X, W, a); }",
        "auto Y = flag ? graph.conv_fprop(X, W, a) : X;",
    ],
)
def test_a_node_is_found_however_it_is_made(code):
    found = graphs(body(f"{X}{W} auto a = {CONV}; {code}"))
    assert {node.said for graph in found for node in graph.nodes} == {"conv_fprop"}
    node = found[0].nodes[0]
    told = {port: found[0].tensors[key].settings["dim"][0].data for port, key in node.inputs.items()}
    assert {port: [value.data for value in values] for port, values in told.items()} == {
        "X": [8, 32, 16, 16],
        "W": [64, 32, 3, 3],
    }


def test_a_graph_that_another_function_gets_and_a_wrapper_of_the_program():
    found = graphs(
        "using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;\n"
        "Tensor relu(std::shared_ptr<fe::graph::Graph> graph, Tensor x) {\n"
        "  return graph->pointwise(x, fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::RELU_FWD));\n}\n"
        "void build(cudnnHandle_t handle) { auto graph = std::make_shared<fe::graph::Graph>();"
        f"{X.replace('graph.', 'graph->')}{W.replace('graph.', 'graph->')}"
        f"auto C = graph->conv_fprop(X, W, {CONV}); auto Y = relu(graph, C);"
        "Y->set_output(true); graph->validate(); }\n"
    )
    assert ["conv_fprop", "pointwise RELU_FWD"] in [[node.said for node in graph.nodes] for graph in found]


def test_branches_are_graphs_of_their_own():
    attributes = "fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::{})"
    found = graphs(
        body(
            f"{X}{W} auto Y = graph.conv_fprop(X, W, {CONV}); if (flag) {{ Y = graph.pointwise(Y,"
            f" {attributes.format('RELU_FWD')}); }} else {{ Y = graph.pointwise(Y, {attributes.format('GELU_FWD')}); }}"
            " Y->set_output(true); graph.validate();"
        )
    )
    forms = [[node.said for node in graph.nodes] for graph in found]
    assert sorted(forms) == [["conv_fprop", "pointwise GELU_FWD"], ["conv_fprop", "pointwise RELU_FWD"]]
    lacking = {graph.nodes[1].mode: [node.said for node in without_call(graph)] for graph in found}
    assert lacking == {"RELU_FWD": [], "GELU_FWD": ["pointwise GELU_FWD"]}


def test_convolution_bias_and_activation_are_a_fusion_plan():
    relu = "fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::RELU_FWD)"
    add = "fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD)"
    b = "auto B = graph.tensor(fe::graph::Tensor_attributes().set_dim({1, 64, 1, 1}).set_stride({64, 1, 64, 64}));"
    start = f"{TYPES}{X}{W}{b} auto C = graph.conv_fprop(X, W, {CONV});"
    (found,) = graphs(body(f"{start} auto S = graph.pointwise(C, B, {add}); auto Y = graph.pointwise(S, {relu});"))
    assert fusion(found) == [
        "miopenCreateOpConvForward",
        "miopenCreateOpBiasForward",
        "miopenCreateOpActivationForward",
    ]
    (other,) = graphs(body(f"{start} auto S = graph.pointwise(X, B, {add}); auto Y = graph.pointwise(S, {relu});"))
    assert fusion(other) == []


def test_sizes_that_the_source_does_not_show_are_never_held_against_a_graph():
    sizes = ".set_dim({n, n * 8, 16, 16}).set_stride({n * 2048, 1, n * 128, n * 8})"
    dims = f"auto X = graph.tensor(fe::graph::Tensor_attributes(){sizes});"
    (found,) = graphs(body(f"{TYPES}{dims}{W} auto Y = graph.conv_fprop(X, W, {CONV}); Y->set_output(true);"))
    said = verdict(found, "hipdnn")
    assert said.answer != "no" and said.certainty == "possible"


@pytest.mark.parametrize(
    ("target", "answers"),
    [
        ("miopen-3", {"cudnn_frontend::conv_fprop": "recipe", "cudnn_frontend::matmul": "none"}),
        ("hipdnn", {"cudnn_frontend::conv_fprop": "same", "cudnn_frontend::matmul": "same"}),
        ("cudnn-9", {"cudnn_frontend::conv_fprop": "same", "cudnn_frontend::matmul": "same"}),
        ("portadnn-cuda", {"cudnn_frontend::conv_fprop": "recipe", "cudnn_frontend::matmul": "recipe"}),
    ],
)
def test_nodes_are_calls_of_the_report(target, answers):
    product = (
        TYPES.replace("graph.", "fe::graph::Graph other; other.")
        + """
    auto A = other.tensor(fe::graph::Tensor_attributes().set_dim({16, 32, 128}).set_stride({4096, 128, 1}));
    auto B = other.tensor(fe::graph::Tensor_attributes().set_dim({16, 128, 64}).set_stride({8192, 64, 1}));
    auto C = other.matmul(A, B, fe::graph::Matmul_attributes()); C->set_output(true);"""
    )
    text = HEAD + body(f"{TYPES}{X}{W} auto Y = graph.conv_fprop(X, W, {CONV}); Y->set_output(true); {product}")
    report = migrate.check_text(text, "graph.cpp", migrate.Config(target=target))
    assert {call.function: call.answer for call in report.calls} == answers
    assert all(call.within == "build" and call.text for call in report.calls)
    assert not report.missing
