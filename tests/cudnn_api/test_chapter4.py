"""Chapter 4 of the guide is complete: every function has its place, says so, and is computed by every backend."""

from __future__ import annotations

import functools
import inspect
import re

import pytest
from chapter4 import PLACES
from small_problems import LINES
from test_nvrtc import Recorder

import portadnn as dnn
from portadnn.dispatch.choice import candidates
from portadnn.ops.dropout import SetDropoutDescriptor
from portadnn.problem import every_problem
from portadnn.registry import get_backend
from portadnn_backends.base import DeviceInfo

NUMBERED = [pytest.param(number, *place, id=place[0]) for number, place in enumerate(PLACES, start=1)]
OPERATIONS = [name for _, name in PLACES if name in every_problem()]


def found(name):
    return functools.reduce(getattr, name.split("."), dnn)


def sections(text):
    """Return the sections of chapter 4 that a docstring names: "4.7 to 4.9" names three."""
    numbers = set()
    for first, last in re.findall(r"\b4\.(\d+)(?: to 4\.(\d+))?", text):
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def test_the_table_has_all_of_chapter_4():
    names = [name for name, _ in PLACES]
    assert len(names) == len(set(names)) == 124
    assert all(re.fullmatch(r"cudnn[A-Z]\w+", name) for name in names)
    assert (names[0], names[44], names[123]) == (
        "cudnnGetVersion",
        "cudnnConvolutionForward",
        "cudnnSpatialTfSamplerBackward",
    )


@pytest.mark.parametrize(("number", "function", "name"), NUMBERED)
def test_is_there_and_documented(number, function, name):
    thing = found(name)
    assert callable(thing)
    assert name.partition(".")[0] in dnn.__all__
    assert number in sections(inspect.getdoc(thing)), f"{name} does not say that it is {function}, section 4.{number}"


def test_each_operation_of_the_guide_is_a_problem():
    """33 functions compute something on the device; three pairs of names are older spellings of activations."""
    assert len(set(OPERATIONS)) == 33
    assert SetDropoutDescriptor.op in OPERATIONS


def devices(backend):
    """Return every kind of device that a backend runs on, whether or not this machine has it."""
    gpu, cpu = (
        DeviceInfo(
            backend,
            "",
            "",
            kind,
            "",
            "",
            schedule=kind,
            max_allocation=1 << 30,
            max_work_group=256,
            local_memory=48 << 10,
        )
        for kind in ("gpu", "cpu")
    )
    return {"reference": (cpu,), "opencl": (gpu, cpu), "cuda": (Recorder("sm_80").info,)}[backend]


@pytest.mark.parametrize("backend", ["reference", "opencl", "cuda"])
@pytest.mark.parametrize("operation", sorted(set(OPERATIONS)))
def test_every_backend_computes_it(operation, backend):
    """Some engine takes a small problem of the operation; that it computes it rightly is its own tests' affair."""
    (line, *_) = (line for line in LINES if line.split()[0] == operation)
    problem = dnn.parse(line)
    engines = [e for e in get_backend(backend).engines() if isinstance(problem, e.problems)]
    for info in devices(backend):
        assert candidates(engines, problem, info)


def test_versions_are_numbers_that_grow(monkeypatch):
    from portadnn import _version

    assert _version.get_version() == dnn.get_version() > 0
    for version, number in (("0.1.0", 100), ("5.0.5", 5005), ("1.2.3rc4", 1203), ("1.2.3.dev7", 1203)):
        monkeypatch.setattr(_version, "__version__", version)
        assert _version.get_version() == number


def test_convolution_descriptors_in_c_order():
    made = dnn.ConvolutionDescriptor.set_2d(1, 2, 3, 4, 5, 6, "CONVOLUTION", "float32")
    assert made == dnn.ConvolutionDescriptor((1, 2), (3, 4), (5, 6), mode="CONVOLUTION", compute_type="float32")
    assert made.get_2d() == (1, 2, 3, 4, 5, 6, dnn.ConvolutionMode.CONVOLUTION)
    assert dnn.ConvolutionDescriptor.set_nd((1, 2), (3, 4), (5, 6), 0, "float") == made
    assert made.get_nd(1) == (2, (1,), (3,), (5,), dnn.ConvolutionMode.CONVOLUTION, dnn.DataType.FLOAT)
    plain = dnn.ConvolutionDescriptor((1, 1, 1))
    assert plain.get_nd() == (3, (1, 1, 1), (1, 1, 1), (1, 1, 1), dnn.ConvolutionMode.CROSS_CORRELATION, None)


def test_pooling_descriptors_in_c_order():
    made = dnn.PoolingDescriptor.set_2d("max", "PROPAGATE_NAN", 2, 3, 0, 1, 4, 5)
    assert made == dnn.PoolingDescriptor("max", (2, 3), (0, 1), (4, 5), "PROPAGATE_NAN")
    mode, nan = dnn.PoolingMode.MAX, dnn.NanPropagation.PROPAGATE_NAN
    assert made.get_2d() == (mode, nan, 2, 3, 0, 1, 4, 5)
    assert dnn.PoolingDescriptor.set_nd(0, 1, [2, 3], [0, 1], [4, 5]) == made
    assert made.get_nd(1) == (mode, nan, 2, (2,), (0,), (4,))


def test_other_descriptors_return_what_c_would():
    nan = dnn.NanPropagation.NOT_PROPAGATE_NAN
    assert dnn.ActivationDescriptor("clipped_relu", ceiling=6).get() == (dnn.ActivationMode.CLIPPED_RELU, nan, 6.0)
    assert dnn.ActivationDescriptor("elu", coef=0.5).get() == (dnn.ActivationMode.ELU, nan, 0.5)
    assert dnn.LRNDescriptor(n=3, k=1.5).get() == (3, 1e-4, 0.75, 1.5)


C, P = dnn.ConvolutionDescriptor, dnn.PoolingDescriptor
WRONG = [
    ("ConvolutionDescriptor.get_2d", lambda: C((1, 1, 1)).get_2d(), dnn.BadParam, "descriptor"),
    ("PoolingDescriptor.get_2d", lambda: P("max", (2,)).get_2d(), dnn.BadParam, "descriptor"),
    ("ConvolutionDescriptor.get_nd", lambda: C((1, 1)).get_nd(-1), dnn.BadParam, "requested"),
    ("ConvolutionDescriptor.get_nd", lambda: C((1, 1)).get_nd(9), dnn.NotSupported, "requested"),
    ("PoolingDescriptor.get_nd", lambda: P("max", (2, 2)).get_nd(9), dnn.NotSupported, "requested"),
    ("PoolingDescriptor.get_nd", lambda: P("max", (2, 2)).get_nd("1"), dnn.BadParam, "requested"),
    ("ConvolutionDescriptor.set_nd", lambda: C.set_nd((1, 1), None, (1, 1)), dnn.BadParam, "stride"),
    ("ConvolutionDescriptor.set_2d", lambda: C.set_2d(1, 1, 1, 1, 1, 1, "FLIP"), dnn.BadParam, "mode"),
    ("PoolingDescriptor.set_nd", lambda: P.set_nd("max", 0, (2, 2), (0, 0), 1), dnn.BadParam, "stride"),
    ("PoolingDescriptor.set_nd", lambda: P.set_nd("max", 7, (2, 2), (0, 0), (1, 1)), dnn.BadParam, "nan_propagation"),
]


@pytest.mark.parametrize(("call", "make", "error", "argument"), WRONG, ids=[f"{w[0]}-{w[3]}" for w in WRONG])
def test_wrong_queries_are_refused(call, make, error, argument):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value).startswith(f"{call}: {argument}: ")
