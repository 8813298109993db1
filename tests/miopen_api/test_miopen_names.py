"""portadnn.miopen has MIOpen's names, arguments and values, as the porting guide and the mapping table have them."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import miopen_env
import numpy as np
import pytest
from miopen_env import F

import portadnn as dnn
from portadnn import miopen
from portadnn.c_names.generate.front_end import returned
from portadnn.hooks import CALL_HOOKS
from portadnn.mapping import table
from portadnn.miopen.names import status_of
from portadnn.registry import get_backend

FUNCTIONS = {name: f for name, f in table().functions.items() if f.library == "miopen"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_are_those_of_c(name):
    function = getattr(miopen, name)
    wanted = [p.name for p in FUNCTIONS[name].parameters if not returned(name, p)]
    parameters = inspect.signature(function).parameters.values()
    assert [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY] == wanted
    assert {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} <= {"backend", "device"}
    assert name in miopen.__all__ and function.__name__ == name
    assert FUNCTIONS[name].c in function.__doc__
    row = next(row for row in table().rows if FUNCTIONS[name] in row.miopen)
    assert row.cudnn is None or row.cudnn.name in function.__doc__


def test_every_function_of_the_porting_guide_is_there():
    guide = [f.name for row in table().rows if row.guide_row for f in row.miopen]
    assert len(guide) >= 55
    assert all(callable(getattr(miopen, name)) for name in guide)


@pytest.mark.parametrize("enumeration", [e for e in table().enumerations if e.miopen], ids=lambda e: e.miopen)
def test_values_are_miopens(enumeration):
    kind = getattr(miopen, enumeration.miopen)
    wanted = {v.miopen: v.miopen_number for v in enumeration.values if v.miopen}
    assert {name: int(member) for name, member in kind.__members__.items()} == wanted
    for name, number in wanted.items():
        assert getattr(miopen, name) == number and isinstance(getattr(miopen, name), int)


def test_nothing_is_exported_that_miopen_does_not_have():
    enums = {e.miopen for e in table().enumerations if e.miopen}
    values = {v.miopen for e in table().enumerations for v in e.values if v.miopen}
    others = set(miopen.__all__) - set(FUNCTIONS) - enums - values
    assert all(name.endswith("_t") for name in others), others
    assert all(hasattr(miopen, name) for name in miopen.__all__)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="miopenConvolve"):
        miopen.miopenConvolve  # noqa: B018


def test_import_is_quick():
    """Neither the table nor an operation is read for the import."""
    code = "import sys, portadnn.miopen; print([m for m in sys.modules if 'portadnn.ops' in m or 'mapping' in m])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# Errors and statuses ------------------------------------------------------------------------------


def test_statuses_are_miopens():
    cases = {
        dnn.BadParam: miopen.miopenStatusBadParm,
        dnn.NotSupported: miopen.miopenStatusNotImplemented,
        dnn.AllocFailed: miopen.miopenStatusAllocFailed,
        dnn.NotInitialized: miopen.miopenStatusNotInitialized,
        dnn.InternalError: miopen.miopenStatusInternalError,
        dnn.ExecutionFailed: miopen.miopenStatusUnknownError,
    }
    for kind, status in cases.items():
        assert status_of(kind("x")) is status
        assert status.name in miopen.miopenGetErrorString(int(status))
    assert len({miopen.miopenGetErrorString(status) for status in miopen.miopenStatus_t}) == len(miopen.miopenStatus_t)


def test_a_closed_handle(env):
    desc = env.desc(1, 1, 1, 1)
    handle = miopen.miopenCreate(backend="reference")
    miopen.miopenDestroy(handle)
    with pytest.raises(dnn.NotInitialized) as caught:
        miopen.miopenSetTensor(handle, desc, np.zeros((1, 1, 1, 1), np.float32), 0)
    assert caught.value.status == miopen.miopenStatusNotInitialized
    assert str(caught.value).startswith("miopenSetTensor: ")
    with pytest.raises(dnn.NotInitialized, match="miopenDestroy"):
        miopen.miopenDestroy(handle)


def test_a_backend_that_does_not_work(monkeypatch):
    backend = get_backend("reference")
    monkeypatch.setattr(type(backend), "why_unavailable", lambda _: "it is switched off")
    with pytest.raises(dnn.NotInitialized, match="switched off") as caught:
        miopen.miopenCreate(backend="reference")
    assert caught.value.status is miopen.miopenStatusNotInitialized


def test_version_handles_and_streams(env):
    assert miopen.miopenGetVersion() == (3, 6, 1)
    miopen.miopenSetStream(env.h, None)
    assert miopen.miopenGetStream(env.h) is None
    other = miopen.miopenCreateWithStream(None, backend="reference")
    assert isinstance(other, dnn.Handle)
    miopen.miopenSetTuningPolicy(other, miopen.miopenTuningPolicySearch)
    assert miopen.miopenGetTuningPolicy(other) is miopen.miopenTuningPolicySearch
    assert miopen.miopenGetTuningPolicy(env.h) is miopen.miopenTuningPolicyNone
    miopen.miopenSetAllocator(other, None, None, None)
    with pytest.raises(dnn.NotSupported, match="memory comes from the backend"):
        miopen.miopenSetAllocator(other, print, None, None)
    miopen.miopenDestroy(other)


def test_profiling_measures_calls_that_compute(env):
    with pytest.raises(dnn.BadParam, match="miopenEnableProfiling"):
        miopen.miopenGetKernelTime(env.h)
    watchers = list(CALL_HOOKS)
    miopen.miopenEnableProfiling(env.h, True)
    desc, data = env.pair(env.random(8, 8, 64, 64))
    miopen.miopenSetTensor(env.h, desc, data, 1.0)
    once = miopen.miopenGetKernelTime(env.h)
    assert 0 < once < 1e4
    miopen.miopenGetTensorDescriptorSize(desc)
    assert miopen.miopenGetKernelTime(env.h) == once  # nothing was computed since
    miopen.miopenEnableProfiling(env.h, False)
    assert watchers == CALL_HOOKS


class Listener:
    """Notes the functions that are called from outside, and what they say."""

    def __init__(self):
        self.seen = []

    def before(self, call):
        pass

    def after(self, call):
        if call.parent is None:
            self.seen.append((call.library, call.function, dict(call.arguments), call.error))


@pytest.fixture
def listener():
    made = Listener()
    CALL_HOOKS.append(made)
    yield made
    CALL_HOOKS.remove(made)


def test_calls_are_watched_under_their_names(env, listener):
    desc, data = env.pair(env.random(1, 2, 3, 4))
    listener.seen.clear()
    miopen.miopenSetTensor(env.h, desc, data, alpha=2.0)
    with pytest.raises(dnn.BadParam):
        miopen.miopenScaleTensor(env.h, desc, None, 2.0)
    (library, name, arguments, error), (_, second, _, fault) = listener.seen
    assert (library, name, error, second) == ("miopen", "miopenSetTensor", None, "miopenScaleTensor")
    assert arguments["alpha"] == 2.0 and arguments["yDesc"] is desc
    assert fault.status is miopen.miopenStatusBadParm


# Wrong calls: what is called, the error, the argument that it names, and what it says.


def layer(env):
    """Return a convolution's descriptor and a tensor's."""
    conv = miopen.miopenCreateConvolutionDescriptor()
    miopen.miopenInitConvolutionDescriptor(conv, miopen.miopenConvolution, 0, 0, 1, 1, 1, 1)
    return conv, env.desc(1, 1, 4, 4)


def set4d(env, *args, kind=F):
    miopen.miopenSet4dTensorDescriptor(miopen.miopenCreateTensorDescriptor(), kind, *args)


def new_rnn(env, *args):
    rnn = miopen.miopenCreateRNNDescriptor()
    miopen.miopenSetRNNDescriptor(rnn, *args)
    return rnn


def short(env):
    """Return the descriptor of a bfloat16 tensor, and memory for it."""
    return env.desc(1, 2, 4, 4, dtype=miopen.miopenBFloat16), env.bytes(64)[0]


def bn(env, xd, x, running=0, epsilon=1e-3):
    """Train a batch normalisation, with so many of the two running statistics."""
    (yd, y), (sd, scale) = env.out(1, 2, 4, 4), env.pair(np.ones((1, 2, 1, 1), np.float32))
    statistics = [env.dev(np.ones((1, 2, 1, 1), np.float32)) if i < running else None for i in range(2)]
    tail = (sd, scale, scale, 0.5, *statistics, epsilon, None, None)
    miopen.miopenBatchNormalizationForwardTraining(env.h, miopen.miopenBNSpatial, 1, 0, xd, x, yd, y, *tail)


WRONG = [
    (lambda e: set4d(e, 0, 1, 1, 1), dnn.BadParam, r"lens\[0\]: .*>= 1, got 0"),
    (lambda e: set4d(e, 1, 1, 1, 1, kind=miopen.miopenInt8x4), dnn.NotSupported, "dataType: .*got miopenInt8x4"),
    (lambda e: set4d(e, 1, 1, 1, 1, kind=77), dnn.BadParam, "dataType: .*miopenFloat=1.*got 77"),
    (
        lambda e: set4d(e, 1, 1, 1, 1, kind=miopen.miopenPoolingMax),
        dnn.BadParam,
        "got miopenPoolingMode_t.miopenPooling",
    ),
    (lambda e: e.desc(2, 3, strides=(3, 0)), dnn.BadParam, r"stridesA\[1\]: .*>= 1"),
    (lambda e: e.desc(1, 1, 1, 1, 1, 1), dnn.NotSupported, "nbDims: .*1 to 5 dims, got 6"),
    (
        lambda e: miopen.miopenSetTensorDescriptor(e.desc(1), F, 3, (2, 3), None),
        dnn.BadParam,
        "dimsA: .*at least 3 values",
    ),
    (
        lambda e: miopen.miopenSetNdTensorDescriptorWithLayout(e.desc(1), F, miopen.miopenTensorCHWN, (1, 1, 1, 1), 4),
        dnn.NotSupported,
        "tensorLayout: .*miopenTensorNCHW.*got miopenTensorCHWN",
    ),
    (
        lambda e: miopen.miopenSetNdTensorDescriptorWithLayout(e.desc(1), F, miopen.miopenTensorNDHWC, (1, 1, 1, 1), 4),
        dnn.BadParam,
        "num_lens: expected 5",
    ),
    (lambda e: miopen.miopenGet4dTensorDescriptor(e.desc(2, 3)), dnn.NotSupported, "4 dims"),
    (lambda e: miopen.miopenGetTensorNumBytes(None), dnn.BadParam, "tensorDesc: .*got NULL"),
    (
        lambda e: miopen.miopenGetTensorNumBytes(miopen.miopenCreateTensorDescriptor()),
        dnn.BadParam,
        "one that was only created",
    ),
    (lambda e: miopen.miopenSetTensor(e.h, e.desc(1, 2, 3), None, 0), dnn.BadParam, "y: expected memory of 6 elements"),
    (lambda e: miopen.miopenSetTensor(e.h, e.desc(1, 2, 3), e.out(2, 3)[1], None), dnn.BadParam, "alpha: "),
    (lambda e: miopen.miopenSetTensor(e.h, e.desc(9, 9, 9), e.out(2, 3)[1], 0), dnn.BadParam, "y: "),
    (
        lambda e: miopen.miopenOpTensor(e.h, 9, 1, *e.out(1, 1, 1), 1, *e.out(1, 1, 1), 0, *e.out(1, 1, 1)),
        dnn.BadParam,
        "tensorOp: .*miopenTensorOpAdd=0",
    ),
    (
        lambda e: miopen.miopenInitConvolutionDescriptor(layer(e)[0], 0, -1, 0, 1, 1, 1, 1),
        dnn.BadParam,
        r"padding\[0\]",
    ),
    (
        lambda e: miopen.miopenInitConvolutionDescriptor(layer(e)[0], miopen.miopenFloat, 0, 0, 1, 1, 1, 1),
        dnn.BadParam,
        "c_mode: .*miopenConvolution=0",
    ),
    (lambda e: miopen.miopenSetConvolutionGroupCount(layer(e)[0], 0), dnn.BadParam, "groupCount: "),
    (lambda e: miopen.miopenGetConvolutionNdDescriptor(layer(e)[0], 1), dnn.BadParam, "requestedSpatialDim"),
    (
        lambda e: miopen.miopenGetConvolutionForwardOutputDim(*layer(e), e.desc(2, 3, 1, 1)),
        dnn.BadParam,
        "channels",
    ),
    (
        lambda e: miopen.miopenSetConvolutionAttribute(
            layer(e)[0], miopen.MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE, 2
        ),
        dnn.BadParam,
        "0 or 1 for",
    ),
    (
        lambda e: miopen.miopenSetConvolutionAttribute(layer(e)[0], miopen.MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, 2),
        dnn.BadParam,
        "value: expected 0 or 1",
    ),
    (
        lambda e: miopen.miopenSet2dPoolingDescriptor(miopen.miopenCreatePoolingDescriptor(), 3, 2, 2, 0, 0, 1, 1),
        dnn.BadParam,
        "mode: .*miopenPoolingAverageInclusive=2",
    ),
    (
        lambda e: miopen.miopenSet2dPoolingDescriptor(miopen.miopenCreatePoolingDescriptor(), 0, 0, 2, 0, 0, 1, 1),
        dnn.BadParam,
        r"window\[0\]",
    ),
    (
        lambda e: miopen.miopenSetActivationDescriptor(miopen.miopenCreateActivationDescriptor(), 1, "a", 0, 0),
        dnn.BadParam,
        "activAlpha: expected a number",
    ),
    (
        lambda e: miopen.miopenSetActivationDescriptor(miopen.miopenCreateActivationDescriptor(), 1, np.inf, 0, 0),
        dnn.BadParam,
        "activAlpha: expected a finite number",
    ),
    (
        lambda e: miopen.miopenSetLRNDescriptor(miopen.miopenCreateLRNDescriptor(), 7, 5, 1, 1, 1),
        dnn.BadParam,
        "mode: .*miopenLRNCrossChannel=1",
    ),
    (lambda e: new_rnn(e, 0, 1, 0, 0, 2, 1, 0, F), dnn.BadParam, "hsize: "),
    (lambda e: new_rnn(e, 2, 1, 0, 0, 4, 1, 0, F), dnn.BadParam, "rnnMode: .*miopenGRU=3"),
    (
        lambda e: miopen.miopenGetRNNLayerParamSize(e.h, new_rnn(e, 2, 1, 0, 0, 2, 1, 0, F), 0, e.desc(1, 3), 8),
        dnn.BadParam,
        "paramID: expected 0 to 7",
    ),
    (
        lambda e: miopen.miopenGetRNNLayerParamSize(e.h, new_rnn(e, 2, 1, 0, 0, 2, 1, 0, F), 1, e.desc(1, 3), 0),
        dnn.BadParam,
        "layer: expected 0 to 0",
    ),
    (
        lambda e: miopen.miopenGetRNNParamsSize(e.h, new_rnn(e, 2, 1, 1, 0, 2, 1, 0, F), e.desc(1, 3), F),
        dnn.BadParam,
        "xDesc: expected 2 features, because of miopenRNNskip",
    ),
    (
        lambda e: miopen.miopenGetRNNLayerParamSize(e.h, new_rnn(e, 3, 1, 1, 0, 2, 1, 0, F), 0, e.desc(1, 3), 0),
        dnn.BadParam,
        "no parameter of the input with miopenRNNskip",
    ),
    (
        lambda e: miopen.miopenGetRNNWorkspaceSize(e.h, new_rnn(e, 3, 1, 0, 0, 2, 1, 0, F), 2, [e.desc(1, 3)]),
        dnn.BadParam,
        "xDesc: expected a sequence of 2 descriptors",
    ),
    (
        lambda e: miopen.miopenGetRNNWorkspaceSize(
            e.h, new_rnn(e, 3, 1, 0, 0, 2, 1, 0, F), 2, [e.desc(1, 3), e.desc(2, 3)]
        ),
        dnn.BadParam,
        "batch",
    ),
    (
        lambda e: miopen.miopenSetRNNDataSeqTensorDescriptor(
            miopen.miopenCreateSeqTensorDescriptor(), F, 1, 3, 2, 4, (1, 2), None
        ),
        dnn.BadParam,
        "sequenceLenArray: expected without padding, sorted lengths",
    ),
    (
        lambda e: miopen.miopenSetDropoutDescriptor(
            miopen.miopenCreateDropoutDescriptor(), e.h, 0.5, *e.bytes(8), 1, False, False, 0
        ),
        dnn.BadParam,
        "statesSize: expected at least 32 bytes",
    ),
    (
        lambda e: bn(e, e.desc(1, 2, 4, 4, strides=(64, 32, 8, 2)), e.dev(np.zeros(64, np.float32))),
        dnn.BadParam,
        "xDesc: MIOpen supports packed tensors only",
    ),
    (lambda e: bn(e, *e.out(1, 2, 4, 4), running=1), dnn.BadParam, "resultRunningVariance: expected both of the pair"),
    (lambda e: bn(e, *e.out(1, 2, 4, 4), epsilon=-1.0), dnn.BadParam, "epsilon: expected a number >= 0"),
    (
        lambda e: miopen.miopenDeriveBNTensorDescriptor(e.desc(1), e.desc(2, 3), miopen.miopenBNSpatial),
        dnn.BadParam,
        "xDesc: expected 4 or 5 dims",
    ),
    (
        lambda e: miopen.miopenConvolutionForwardBias(e.h, 1, *short(e), 0, *short(e)),
        dnn.NotSupported,
        "no miopenBFloat16",
    ),
    (
        lambda e: miopen.miopenSoftmaxForward(e.h, 1, *short(e), 0, *short(e)),
        dnn.NotSupported,
        "the form _V2 takes it",
    ),
    (
        lambda e: miopen.miopenLayerNormForward(
            e.h, 0, *e.out(2, 3, 4), None, None, None, None, 1e-3, 3, *e.out(2, 3, 4), None, None, None, None
        ),
        dnn.BadParam,
        "normalized_dim: expected less than 3, got 3",
    ),
    (
        lambda e: miopen.miopenT5LayerNormForward(
            e.h, 0, *e.out(2, 3, 4), None, None, 1e-3, *e.out(2, 3, 4), None, None
        ),
        dnn.BadParam,
        "mode: expected MIOPEN_ELEMENTWISE_AFFINE_T5 or MIOPEN_WEIGHT_BIAS_T5",
    ),
    (
        lambda e: miopen.miopenGroupNormForward(
            e.h, 1, *e.out(2, 4, 3), *e.out(3), *e.out(4), 2, 1e-3, *e.out(2, 4, 3), None, None, None, None
        ),
        dnn.BadParam,
        "weightDesc: expected 4 numbers",
    ),
    (
        lambda e: miopen.miopenGetRNNParamsSize(
            e.h, new_rnn(e, 2, 1, 0, 0, 2, 1, 0, F), e.desc(1, 3), miopen.miopenHalf
        ),
        dnn.BadParam,
        "dtype: expected miopenFloat",
    ),
    (
        lambda e: miopen.miopenGetRNNLayerBiasOffset(new_rnn(e, 2, 1, 0, 0, 2, 0, 0, F), 0, e.desc(1, 3), 0, e.desc(1)),
        dnn.BadParam,
        "rnnDesc: expected miopenRNNwithBias",
    ),
    (lambda e: miopen.miopenGetErrorString(99), dnn.BadParam, "error: "),
    (
        lambda e: miopen.miopenGetTensorDescriptorSize(layer(e)[0]),
        dnn.BadParam,
        "tensorDesc: expected a miopenTensorDesc",
    ),
    (lambda e: miopen.miopenCreate(backend="rocm"), dnn.BadParam, "backend"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG, ids=[says[:40] for _, _, says in WRONG])
def test_wrong_calls(env, call, error, says):
    with pytest.raises(error, match=says) as caught:
        call(env)
    wanted = miopen.miopenStatusBadParm if error is dnn.BadParam else miopen.miopenStatusNotImplemented
    assert caught.value.status is wanted
    assert str(caught.value).startswith("miopen")


def test_every_function_is_called_by_these_tests():
    """Each name occurs as a call; the Create and Destroy functions are called by another test, too."""
    here = Path(miopen_env.__file__).parent
    files = [*here.glob("*miopen*.py"), *here.glob("miopen_api/*.py")]
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    missing = [name for name in FUNCTIONS if f"{name}(" not in text and "Destroy" not in name and "Create" not in name]
    assert not missing


def test_every_kind_of_object_is_destroyed(env):
    for name in FUNCTIONS:
        create = getattr(miopen, name)
        destroy = getattr(miopen, name.replace("Create", "Destroy"), None)
        if not name.startswith("miopenCreate") or destroy is None or inspect.signature(create).parameters:
            continue
        made = create()
        assert "destroyed" not in repr(made)
        destroy(made)
        with pytest.raises(dnn.BadParam, match="destroyed") as caught:
            destroy(made)
        assert caught.value.call == destroy.__name__
