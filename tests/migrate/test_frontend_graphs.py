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


OLDER = """
using Tensor = cudnn_frontend::Tensor;
using Tensors = std::tuple<Tensor, Tensor, Tensor, Tensor>;
static cudnn_frontend::Tensor make(int64_t* dim, int64_t* stride, cudnnDataType_t type, int64_t id, bool virt) {
  return cudnn_frontend::TensorBuilder().setDim(4, dim).setStrides(4, stride).setId(id).setAlignment(16)
      .setDataType(type).setVirtual(virt).build();
}
void run(cudnnHandle_t handle, Tensors tensors, cudnnDataType_t type) {
  int64_t dim[] = {1, 64, 1, 1}, stride[] = {64, 1, 64, 64}, one[] = {1, 1};
  auto bias = make(dim, stride, CUDNN_DATA_HALF, 'b', false);
  auto conv = cudnn_frontend::ConvDescBuilder().setDataType(CUDNN_DATA_FLOAT).setMathMode(CUDNN_CROSS_CORRELATION)
      .setNDims(2).setStrides(2, one).setPrePadding(2, one).setPostPadding(2, one).setDilation(2, one).build();
  auto add = cudnn_frontend::PointWiseDescBuilder().setMode(CUDNN_POINTWISE_ADD)
      .setMathPrecision(CUDNN_DATA_FLOAT).build();
  auto relu = cudnn_frontend::PointWiseDescBuilder().setMode(CUDNN_POINTWISE_RELU_FWD).build();
  auto conv_op = cudnn_frontend::OperationBuilder(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
      .setxDesc(std::get<0>(tensors)).setwDesc(std::get<1>(tensors)).setyDesc(std::get<2>(tensors)).setcDesc(conv).build();
  auto add_op = cudnn_frontend::OperationBuilder(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
      .setxDesc(conv_op.getOutputTensor()).setbDesc(bias).setyDesc(std::get<3>(tensors)).setpwDesc(add).build();
  auto relu_op = cudnn_frontend::OperationBuilder(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
      .setxDesc(add_op.getOutputTensor()).setyDesc(std::get<4>(tensors)).setpwDesc(relu).build();
  std::array<cudnn_frontend::Operation const*, 3> ops = {&conv_op, &add_op, &relu_op};
  auto graph = cudnn_frontend::OperationGraphBuilder().setHandle(handle).setOperationGraph(3, ops.data()).build();
}
"""


def test_the_older_builders_join_operations_as_the_program_does():
    (found,) = graphs(OLDER)
    assert found.older and [node.said for node in found.nodes] == ["conv_fprop", "pointwise ADD", "pointwise RELU_FWD"]
    conv, add, relu = found.nodes
    assert add.inputs["IN_0"] == conv.outputs["Y"] and relu.inputs["IN_0"] == add.outputs["OUT_0"]
    assert len({*conv.inputs.values(), *conv.outputs.values(), *add.outputs.values(), *relu.outputs.values()}) == 5
    bias = found.tensors[add.inputs["IN_1"]].settings["Dim"][-1]
    assert [size.data for size in bias.data] == [1, 64, 1, 1]
    assert len(fusion(found)) == 3


def test_a_graph_that_cannot_be_described_ends_nothing(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("broken")

    monkeypatch.setattr("portadnn.migrate.frontend.judge.describe", broken)
    report = migrate.check_text(HEAD + body(f"{X}{W} auto Y = graph.conv_fprop(X, W, {CONV});"), "graph.cpp")
    assert [call.function for call in report.calls] == ["cudnn_frontend::conv_fprop"]


@pytest.mark.parametrize(
    "code",
    [
        "auto Y = graph.conv_fprop(X, W);",
        "auto Y = graph.conv_fprop();",
        "auto [a, b, c, d] = graph.sdpa(X, X, X, fe::graph::SDPA_attributes());",
        "graph.pointwise(X, X, X, X, X, fe::graph::Pointwise_attributes().set_mode(mode));",
        "auto t = graph.tensor(fe::graph::Tensor_attributes().set_dim({}).set_stride({n / 0}));",
        "auto a = fe::graph::SDPA_attributes().set_dropout(0.1f).set_bias().set_causal_mask(); graph.sdpa(X, X, X, a);",
        "graph.slice(X, fe::graph::Slice_attributes().set_slices({{0, 1}, {n}}));",
        "auto c = graph.concatenate({X, X}, fe::graph::Concatenate_attributes().set_axis(1)); c->set_output(true);",
        "auto op = cudnn_frontend::OperationBuilder(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR).build();",
        "auto op = cudnn_frontend::OperationBuilder().setxDesc().build(); op.getOutputTensor();",
    ],
)
def test_strange_calls_end_nothing(code):
    report = migrate.check_text(HEAD + body(f"{X}{W} {code}"), "graph.cpp", migrate.Config(target="hipdnn"))
    assert not report.skipped


BACKEND = """
static cudnnBackendDescriptor_t tensor(int64_t uid, int64_t* dims, int64_t* strides) {
  cudnnBackendDescriptor_t d;
  cudnnDataType_t type = CUDNN_DATA_HALF;
  cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &d);
  cudnnBackendSetAttribute(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
  cudnnBackendSetAttribute(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  cudnnBackendSetAttribute(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims);
  cudnnBackendSetAttribute(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
  cudnnBackendFinalize(d);
  return d;
}
void build(cudnnHandle_t handle) {
  int64_t xd[] = {8, 32, 16, 16}, xs[] = {8192, 1, 512, 32}, wd[] = {64, 32, 3, 3}, ws[] = {288, 1, 96, 32};
  int64_t yd[] = {8, 64, YSIZE, YSIZE}, ys[] = {64 * YSIZE * YSIZE, 1, 64 * YSIZE, 64}, two = 2, one[] = {1, 1}, post[] = {POST, POST};
  cudnnBackendDescriptor_t x = tensor('x', xd, xs), w = tensor('w', wd, ws), y = tensor('y', yd, ys), how, conv, graph;
  cudnnDataType_t single = CUDNN_DATA_FLOAT;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnnBackendCreateDescriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, &how);
  cudnnBackendSetAttribute(how, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &single);
  cudnnBackendSetAttribute(how, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  cudnnBackendSetAttribute(how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &two);
  cudnnBackendSetAttribute(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, one);
  cudnnBackendSetAttribute(how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, post);
  cudnnBackendSetAttribute(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, one);
  cudnnBackendSetAttribute(how, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, one);
  cudnnBackendFinalize(how);
  cudnnBackendCreateDescriptor(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, &conv);
  cudnnBackendSetAttribute(conv, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &how);
  cudnnBackendSetAttribute(conv, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x);
  cudnnBackendSetAttribute(conv, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &w);
  cudnnBackendSetAttribute(conv, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y);
  cudnnBackendFinalize(conv);
  cudnnBackendCreateDescriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &graph);
  cudnnBackendSetAttribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &conv);
  cudnnBackendSetAttribute(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  cudnnBackendFinalize(graph);
}
"""  # noqa: E501


@pytest.mark.parametrize(("post", "size", "rules"), [(1, 16, set()), (0, 15, {"G15"})])
def test_graphs_of_backend_descriptors_are_judged_with_their_shapes(post, size, rules):
    """Padding that differs at the two ends is what hipDNN's providers refuse."""
    text = "#include <cudnn.h>\n" + BACKEND.replace("POST,", f"{post},").replace("POST}", f"{post}}}")
    text = text.replace("YSIZE", str(size))
    (found,) = graphs(text)
    assert found.backend and describe(found).valid
    report = migrate.check_text(text, "backend.c", migrate.Config(target="hipdnn"))
    assert {finding.rule for finding in report.alarms if finding.rule.startswith("G1")} == rules
    assert not [call for call in report.calls if call.function.startswith("cudnn_frontend")]
