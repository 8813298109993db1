"""Batch normalisation with parameters and statistics of x's type: on devices, by the CUDA kernels' text, in NVRTC."""

from __future__ import annotations

import numpy as np
import pytest
from helper import everywhere
from host_cuda_device import COMPILER, HostCuda
from test_nvrtc import ARCHITECTURES, compile_recorded, recorder_of

import portadnn as dnn
from portadnn.bfloat16 import as_float64, numpy_dtype
from portadnn.ops import batch_norm_stored as stored
from portadnn.problem import TensorSpec
from portadnn_backends.engines.norm import gpu

EPSILON, FACTOR = 1e-3, 0.25
NUMBERS = {
    stored.StoredTraining: (1.0, 0.0, FACTOR, EPSILON),
    stored.StoredInference: (1.0, 0.0, EPSILON),
    stored.StoredBackward: (1.0, 0.0, 1.0, 0.0, EPSILON),
}
CALLS = {
    stored.StoredTraining: (stored.forward_training, {"exponential_average_factor": FACTOR, "epsilon": EPSILON}),
    stored.StoredInference: (stored.forward_inference, {"epsilon": EPSILON}),
    stored.StoredBackward: (stored.backward, {"epsilon": EPSILON}),
}
KINDS = tuple(NUMBERS)
CASES = {  # dims, format, parameters that are float32 all the same
    "rows": ((4, 5, 6, 5), "nchw", ()),
    "columns": ((4, 24, 5, 5), "nhwc", ()),
    "odd columns": ((3, 13, 5, 4), "nhwc", ("bias", "running_mean", "dbias")),
    "slices of rows": ((3, 2, 60, 80), "nchw", ("scale", "running_variance", "estimated_mean")),
    "slices of columns": ((4, 8, 40, 40), "nhwc", ()),
    "volumes": ((2, 3, 3, 4, 5), "nchw", ()),
}
DATA = ("x", "y", "dx", "dy")
TYPES = (dnn.DataType.HALF, dnn.DataType.BFLOAT16)
OF_NUMPY = {"float16": TYPES[0], "bfloat16": TYPES[1], "float32": dnn.DataType.FLOAT}
UNITS = {"HALF": 2.0**-11, "BFLOAT16": 2.0**-8}


def made(kind, dims, format, wide, dtype):
    """Return a call's tensors by name, random ones, as (numbers, stored as x is, laid out as x)."""
    rng = np.random.default_rng(11)
    low = np.dtype(np.float16) if dtype is dnn.DataType.HALF else numpy_dtype()
    found = {}
    for name in kind.tensor_names():
        size = dims if name in DATA else (1, dims[1], *[1] * (len(dims) - 2))
        values = rng.standard_normal(size) * 2 + 0.5
        if "variance" in name:
            values = np.abs(values) + 0.25
        narrow = name in DATA or (name in kind.narrow and name not in wide)
        found[name] = values.astype(np.float32).astype(low if narrow else np.float32)
    if kind is stored.StoredBackward:
        found["saved_mean"][...], found["saved_inv_variance"][...] = saved(as_float64(found["x"]))
    order = [0, *range(2, len(dims)), 1] if format == "nhwc" else list(range(len(dims)))
    back = np.argsort(order)
    return {
        name: np.ascontiguousarray(values.transpose(order)).transpose(back) if name in DATA else values
        for name, values in found.items()
    }


def saved(x):
    """Return the mean and the inverse deviation of each channel."""
    others = (0, *range(2, x.ndim))
    return x.mean(others, keepdims=True), 1 / np.sqrt(x.var(others, keepdims=True) + EPSILON)


def due(kind, t):
    """Return the outputs in float64, from cuDNN's formulas."""
    x = t["x"]
    others = (0, *range(2, x.ndim))
    mean, inverse = saved(x)
    count = x.size // x.shape[1]
    if kind is stored.StoredInference:
        inverse = 1 / np.sqrt(t["estimated_variance"] + EPSILON)
        return {"y": (x - t["estimated_mean"]) * inverse * t["scale"] + t["bias"]}
    z = (x - mean) * inverse
    if kind is stored.StoredTraining:
        unbiased = x.var(others, keepdims=True) * count / (count - 1)
        return {
            "y": z * t["scale"] + t["bias"],
            "running_mean": FACTOR * mean + (1 - FACTOR) * t["running_mean"],
            "running_variance": FACTOR * unbiased + (1 - FACTOR) * t["running_variance"],
            "saved_mean": mean,
            "saved_inv_variance": inverse,
        }
    dy = t["dy"]
    dbias, dscale = dy.sum(others, keepdims=True), (dy * z).sum(others, keepdims=True)
    dx = t["scale"] * inverse * (dy - dbias / count - z * dscale / count)
    return {"dx": dx, "dscale": dscale, "dbias": dbias}


def compare(kind, given, got, dtype):
    """Hold outputs against float64: each is rounded once, from what float32 makes of it."""
    want = due(kind, {name: as_float64(array) for name, array in given.items()})
    for name, values in want.items():
        array = got[name]
        unit = UNITS[dtype.name] if array.dtype.itemsize == 2 else 0.0
        room = 4e-5 if name in ("dscale", "dbias") else 4e-6  # long sums of both signs
        bound = unit * np.abs(values) + room * (1 + np.abs(values).max())
        assert (np.abs(as_float64(array) - values) <= bound).all(), name


def specs(kind, tensors):
    """Return the tensors' specs in a call's order."""
    given = [tensors[name] for name in kind.tensor_names()]
    return [TensorSpec(OF_NUMPY[t.dtype.name], t.shape, tuple(s // t.itemsize for s in t.strides)) for t in given]


def plan_of(kind, tensors, device):
    return gpu.ENGINES[0].prepare(kind.of(specs(kind, tensors), (dnn.BatchNormMode.SPATIAL,)), device)


@everywhere()
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_agrees_with_float64(handle, kind, name, dtype):
    dims, format, wide = CASES[name]
    given = made(kind, dims, format, wide, dtype)
    arrays = {n: handle.asarray(a, format=format if n in DATA else "nchw") for n, a in given.items()}
    call, numbers = CALLS[kind]
    call(handle, *arrays.values(), **numbers)
    compare(kind, given, {n: handle.to_numpy(a) for n, a in arrays.items()}, dtype)


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param(name, dtype, marks=[pytest.mark.long] * ((name == "odd columns") == (dtype is TYPES[0])))
        for name in CASES
        for dtype in TYPES
        if name != "volumes"
    ],
    ids=str,
)
def test_kernels_for_cuda_on_the_host(kind, name, dtype, tmp_path):
    given = made(kind, *CASES[name], dtype)
    arrays = {n: a.copy(order="K") for n, a in given.items()}
    plan = plan_of(kind, arrays, HostCuda(tmp_path))
    room = np.full(max(plan.workspace_size, 1), 0xA5, np.uint8)
    plan.run([arrays[n] for n in plan.problem.names], NUMBERS[kind], room)
    compare(kind, given, arrays, dtype)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_compiles(arch, dtype):
    recorder = recorder_of(arch)
    for kind in KINDS:
        for dims, format, wide in CASES.values():
            plan_of(kind, made(kind, dims, format, wide, dtype), recorder)
    compile_recorded(recorder)


@everywhere()
def test_cudnns_calls_refuse_them(handle):
    """cuDNN takes float32 beside half data, and so do the public calls."""
    given = made(stored.StoredTraining, (2, 3, 4, 4), "nchw", (), dnn.DataType.HALF)
    arrays = {name: handle.asarray(array) for name, array in given.items()}
    with pytest.raises(dnn.BadParam, match=r"scale\.dtype: expected FLOAT because x is HALF"):
        dnn.batch_normalization_forward_training(handle, *arrays.values())
    arrays["saved_mean"] = handle.asarray(given["bias"])
    with pytest.raises(dnn.BadParam, match=r"saved_mean\.dtype"):
        stored.forward_training(handle, *arrays.values())
