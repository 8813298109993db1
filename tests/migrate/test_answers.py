"""What becomes of calls: against hand-written pairs, and against the arities of MIOpen's public header."""

from __future__ import annotations

from pathlib import Path

import pytest
from calls import event, split
from miopen_header import enumerators, functions

from portadnn import mapping
from portadnn.migrate.answers import answer
from portadnn.migrate.collect import answer_of
from portadnn.migrate.events import Argument, Event, Place
from portadnn.migrate.findings import ANSWERS
from portadnn.migrate.names import known_types, look_up, translated, values_of_cudnn
from portadnn.migrate.values import UNKNOWN, items, join, known

TARGETS = ("miopen-1", "miopen-3", "cudnn-9", "portadnn-opencl", "portadnn-cuda")
PAIRS = [
    line.split(" => ")
    for line in (Path(__file__).parent / "ported_calls.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
CUDNN = [f for f in mapping.table().functions.values() if f.library == "cudnn"]


def plain(function, parameters):
    """Return a call with the parameters' names as arguments."""
    arguments = tuple(Argument(p.name, UNKNOWN) for p in parameters)
    return Event(1, function.name, arguments, Place("program.c", 1))


@pytest.mark.parametrize(("call", "wanted"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_pairs_written_by_hand(call, wanted):
    found = answer(event(call), "miopen-3")
    assert found.call == wanted
    name, _, rest = wanted.partition("(")
    if name in functions():
        assert found.function == name
        assert len(found.arguments) == len(split(rest[:-1])) == len(functions()[name])


@pytest.mark.parametrize("function", CUDNN, ids=lambda f: f.name)
def test_every_function_has_an_answer(function):
    for parameters in (function.parameters, *(change.parameters for change in function.changes)):
        for target in TARGETS:
            found = answer(plain(function, parameters), target)
            assert found.kind in ANSWERS
            if found.kind == "none":
                assert found.note
                assert not found.call
            else:
                assert found.call or found.falls_away
            if target == "miopen-3" and found.function:
                assert len(found.arguments) == len(functions()[found.function]), found.call


def test_nothing_of_miopen_2_is_called_for_miopen_1():
    since = {m.name: m.headers[0] for row in mapping.table().rows for m in row.miopen}
    for function in CUDNN:
        found = answer(plain(function, function.latest), "miopen-1")
        assert not found.function or since[found.function].startswith("1."), found.call


@pytest.mark.parametrize(
    ("call", "rule", "said"),
    [
        ("cudnnSetActivationDescriptor(a, CUDNN_ACTIVATION_SWISH, CUDNN_PROPAGATE_NAN, 1)", "V13", "swish"),
        ("cudnnSetOpTensorDescriptor(o, CUDNN_OP_TENSOR_SQRT, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN)", "V33", ""),
        ("cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW_VECT_C, CUDNN_DATA_INT8x4, 1, 4, 2, 2)", "V40", "VECT_C"),
        ("cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_UINT8, 1, 4, 2, 2)", "V40", "UINT8"),
        ("cudnnSpatialTfSamplerForward(h, st, &one, x, xp, grid, &zero, y, yp)", "V49", ""),
        ("cudnnBackendExecute(h, plan, pack)", "V58", "graph"),
        ("cudnnSomethingNew(h)", None, "nothing"),
    ],
)
def test_what_miopen_does_not_have(call, rule, said):
    found = answer(event(call), "miopen-3")
    assert not found.sure
    assert rule is None or rule in found.rules
    assert said in found.note


def test_the_graph_interface_is_known_by_its_names():
    call = event("cudnnBackendSetAttribute(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id)")
    found = answer_of(call, "miopen-3")
    assert found.kind == "recipe"
    assert not found.sure
    assert found.call == "miopenBackendSetAttribute(d, MIOPEN_ATTR_TENSOR_UNIQUE_ID, MIOPEN_TYPE_INT64, 1, &id)"
    assert answer_of(call, "miopen-1").kind == "none"
    assert answer_of(event("cudnnBackendPopulateCudaGraph(h, plan, pack, graph)"), "miopen-3").kind == "none"
    assert answer_of(event("cudnnSomethingNew(h)"), "miopen-3") is None


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        ("cudnnConvolutionBackwardFilter(h, &one, x, xp, dy, dyp, conv, algo, ws, size, &one, dw, dwp)", "V03"),
        ("cudnnConvolutionForward(h, &zero, x, xp, w, wp, conv, algo, ws, size, &zero, y, yp)", "V02"),
        ("cudnnPoolingBackward(h, pool, &one, y, yp, dy, dyp, x, xp, &one, dx, dxp)", "V04"),
        ("cudnnLRNCrossChannelForward(h, l, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, x, xp, &one, y, yp)", "V05"),
        ("cudnnSetConvolution2dDescriptor(c, 0, 0, 1, 1, 1, 1, CUDNN_CONVOLUTION, CUDNN_DATA_FLOAT)", "V01"),
        ("cudnnSetTensor4dDescriptor(x, format, CUDNN_DATA_FLOAT, 1, 4, 2, 2)", "A08"),
        ("cudnnGetRNNLinLayerMatrixParams(h, r, l, x, wd, w, id, d, &p)", "A22"),
    ],
)
def test_calls_that_need_a_decision_are_not_sure(call, rule):
    found = answer(event(call), "miopen-3")
    assert not found.sure
    assert rule in found.rules


def test_values_behind_variables_count():
    call = event("cudnnSetTensor4dDescriptor(x, format, type, 1, 4, 2, 2)")

    def with_format(value):
        arguments = (call.arguments[0], Argument("format", value), *call.arguments[2:])
        return answer(Event(1, call.function, arguments, call.place), "miopen-3")

    nchw, nhwc = known("CUDNN_TENSOR_NCHW"), known("CUDNN_TENSOR_NHWC")
    assert with_format(nchw).call == "miopenSet4dTensorDescriptor(x, type, 1, 4, 2, 2)"
    assert with_format(nchw).sure
    assert with_format(nhwc).function == "miopenSet4dTensorDescriptorEx"
    for unclear in (UNKNOWN, join([nchw, nhwc]), join([nchw, UNKNOWN]), items([nchw])):
        assert not with_format(unclear).sure


def test_modes_that_may_be_several_take_the_general_form():
    call = event("cudnnSetActivationDescriptor(a, m, CUDNN_PROPAGATE_NAN, c)")

    def with_modes(*names):
        mode = Argument("m", join(known(f"CUDNN_ACTIVATION_{name}") for name in names))
        return answer(Event(1, call.function, (call.arguments[0], mode, *call.arguments[2:]), call.place)).call

    assert with_modes("RELU", "SIGMOID") == "miopenSetActivationDescriptor(a, m, 0.0, 0.0, 0.0)"
    assert with_modes("ELU", "CLIPPED_RELU") == "miopenSetActivationDescriptor(a, m, c, 1.0, 1.0)"
    general = "miopenSetActivationDescriptor(a, m, m == miopenActivationTANH ? 1.0 : c, 1.0, 1.0)"
    assert with_modes("RELU", "TANH") == with_modes("RELU", "ELU") == general


def test_names_are_replaced_in_code_alone():
    text = 'f(CUDNN_DATA_FLOAT, "CUDNN_DATA_FLOAT", /* CUDNN_DATA_FLOAT */ my_CUDNN_DATA_FLOAT); // cudnnStatus_t'
    assert translated(text)[0] == text.replace("f(CUDNN_DATA_FLOAT", "f(miopenFloat")
    assert translated("(cudnnDataType_t)t, sizeof(cudnnHandle_t)")[0] == "(miopenDataType_t)t, sizeof(miopenHandle_t)"


def test_counterparts_of_names_are_in_miopens_header():
    types = set(enumerators()) | {line.split()[1] for line in _objects()}
    for name in known_types():
        found = look_up(name)
        assert found.miopen is None or found.miopen in types | {"miopenConvAlgoPerf_t"}, name
    beta = {"miopenInt64", "miopenFloat8", "miopenConvolutionFwdAlgoStaticCompiledGEMM"}  # behind a macro in the header
    everything = set().union(*enumerators().values()) | beta
    for name in values_of_cudnn():
        found = look_up(name)
        assert found.miopen is None or found.miopen in everything, name
        assert found.miopen or found.note


def _objects():
    from miopen_header import LINES

    return [line for line in LINES if line.startswith("object ")]


def test_cudnn_9():
    old = event("cudnnSetConvolution2dDescriptor_v4(c, 1, 2, 3, 4, 5, 6, CUDNN_CROSS_CORRELATION)")
    wanted = "cudnnSetConvolution2dDescriptor(c, 1, 2, 3, 4, 5, 6, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT)"
    assert answer(old, "cudnn-9").call == wanted
    assert answer(event("cudnnDestroyPersistentRNNPlan(plan)"), "cudnn-9").kind == "none"
    assert answer(event("cudnnCreate(&h)"), "cudnn-9").kind == "same"


def test_portadnn():
    assert answer(event("cudnnCreate(&h)"), "portadnn-opencl").call == "h = cudnn.cudnnCreate()"
    softmax = event("cudnnSoftmaxForward(h, CUDNN_SOFTMAX_LOG, mode, &one, x, xp, &zero, y, yp)")
    wanted = "cudnn.cudnnSoftmaxForward(h, CUDNN_SOFTMAX_LOG, mode, one, x, xp, zero, y, yp)"
    assert answer(softmax, "portadnn-cuda").call == wanted
    assert answer(event("cudnnIm2Col(h, x, xp, w, c, b)"), "portadnn-opencl").kind == "none"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("cudnnBackendFinalize(d)", "cudnn.cudnnBackendFinalize(d)"),
        ("cudnnBackendCreateDescriptor(type, &d)", "d = cudnn.cudnnBackendCreateDescriptor(type)"),
        (
            "cudnnBackendGetAttribute(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 8, &n, s)",
            "n, s = cudnn.cudnnBackendGetAttribute(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 8)",
        ),
        ("cudnnBackendPopulateCudaGraph(h, plan, pack, graph)", ""),
    ],
)
def test_portadnn_has_graphs_by_descriptors(call, said):
    found = answer_of(event(call), "portadnn-opencl")
    assert found.call == said
    assert found.sure == bool(said)
