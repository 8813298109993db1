"""Reductions of a tensor: kernel backends against the reference, and the reference against ONNX, torch and loops."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from helper import Case, check, compare, everywhere, over
from where import BACKENDS, open_handle

import portadnn as dnn

OPERATIONS = tuple(member.name.lower() for member in dnn.ReduceTensorOp)
EXTREMES = ("min", "max", "amax")
TYPES = ("f32", "f16", "f64", "bf16")
KEEP = "nan_propagation=propagate_nan"
# a, c: innermost, outermost, middle, all and none reduced; rows of whole vectors, of odd lengths, in slices, broadcast
SHAPES = (
    ("2x3x5x8", "2x3x5x1"),
    ("3x2x5x7", "3x2x1x1"),
    ("9x2x3x8", "1x2x3x8"),
    ("9x2x3x7", "1x2x3x7"),
    ("4x6x5x8", "4x1x5x8"),
    ("4x6x5x3", "1x6x1x1"),
    ("2x3x4x5", "1x1x1x1"),
    ("2x3x4x5", "2x3x4x5"),
    ("4x8x3x5:nhwc", "4x8x1x1:nhwc"),
    ("4x8x3x5:nhwc", "4x1x3x5"),
    ("4x8x3x5:nhwc", "1x1x3x1"),
    ("5x1x300", "5x1x1"),
    ("300x1x5", "1x1x5"),
    ("1x3x67x177", "1x3x1x1"),
    ("700x1x3x7", "1x1x3x7"),
    ("2x150x150", "1x1x1"),
    ("2x3x2x5x4", "2x1x2x1x4"),
    ("2x1x3x2x2x1x2x3", "1x1x3x1x2x1x1x3"),
    ("3x4x5x6/200,50,8,1", "3x1x5x1/40,40,8,7"),
    ("3x4x5x6/0,6,24,1", "1x4x1x6"),
    ("2x3x5x8@4", "2x1x5x8@4"),
)


def _line(operation, dtype, a, c, rest=""):
    dims = c.partition(":")[0].partition("/")[0].partition("@")[0]
    indices = f" indices=i32:{dims}" if operation in EXTREMES and "indices" not in rest else ""
    return f"reduce_tensor a={dtype}:{a} c={dtype}:{c} operation={operation}{indices} {rest.replace('indices=no', '')}"


def _cases():
    operations, types = itertools.cycle(OPERATIONS), itertools.cycle(TYPES)
    for number, (a, c) in enumerate(SHAPES):
        dtype = "f32" if "@4" in a else next(types)
        yield Case(_line(next(operations), dtype, a, c))
        yield Case(_line(EXTREMES[number % 3], "f32", a, c, "alpha=2 beta=-0.5"), "integer", everywhere=number % 2 == 0)
        if number % 2:
            yield Case(_line("add", "f16" if "@4" not in a else "f32", a, c, "beta=1"), everywhere=False)
    for operation in OPERATIONS:
        yield Case(_line(operation, next(types), "3x4x5x6", "3x1x5x1", KEEP), everywhere=operation in EXTREMES)
    for operation in EXTREMES:
        yield Case(_line(operation, "f32", "3x4x5x6", "3x1x5x1", "indices=no"), everywhere=False)
    yield Case("reduce_tensor a=f32:3x4x5x6 c=f32:3x1x5x1 indices=i32:3x1x5x1/1,7,3,7 operation=max")
    for operation in ("add", "mul", "avg", "norm2"):
        yield Case(_line(operation, "f32", "0x3x5", "1x3x5"))
    yield Case(_line("max", "f32", "0x3x5", "0x1x5"))


CASES = tuple(_cases())


@over(CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)


def _loops(problem, tensors, scalars):
    """Reduce one number after the other."""
    a, prior = (np.asarray(tensor, np.float64) for tensor in tensors[:2])
    alpha, beta = scalars
    step = {
        "MUL": lambda total, v: total * v,
        "MUL_NO_ZEROS": lambda total, v: total * (v or 1.0),
        "NORM1": lambda total, v: total + abs(v),
        "NORM2": lambda total, v: total + v * v,
    }.get(problem.operation.name, lambda total, v: total + v)
    wins = {"MIN": lambda v, best: v < best, "MAX": lambda v, best: v > best, "AMAX": lambda v, best: abs(v) > best}
    c, indices = np.empty(problem.c.dims), np.zeros(problem.c.dims)
    for place in np.ndindex(c.shape):
        run = a[tuple(slice(None) if i in problem.reduced else slice(p, p + 1) for i, p in enumerate(place))].ravel()
        name = problem.operation.name
        if name in wins:
            total = np.inf if name == "MIN" else -np.inf
            for i, v in enumerate(run):
                if wins[name](v, total):
                    total, indices[place] = abs(v) if name == "AMAX" else v, i
        else:
            total = functools.reduce(step, run, 1.0 if name.startswith("MUL") else 0.0)
        if name in ("AVG", "NORM2"):
            total = total / len(run) if name == "AVG" else total**0.5
        c[place] = alpha * total + (beta * prior[place] if beta else 0.0)
    return {"c": c} if problem.indices is None else {"c": c, "indices": indices}


@pytest.mark.parametrize("case", [case for case in CASES if 0 < dnn.parse_line(case.line)[0].a.size < 3000], ids=str)
def test_reference_agrees_with_plain_loops(reference, case):
    check(reference, case, oracle=_loops)


ONNX = {
    "add": "ReduceSum",
    "mul": "ReduceProd",
    "min": "ReduceMin",
    "max": "ReduceMax",
    "avg": "ReduceMean",
    "norm1": "ReduceL1",
    "norm2": "ReduceL2",
}


@pytest.mark.parametrize("axes", [(3,), (0,), (1, 2), (0, 2, 3), (0, 1, 2, 3)])
@pytest.mark.parametrize("operation", ONNX)
def test_reference_agrees_with_onnx(reference, operation, axes):
    pytest.importorskip("onnx", reason="onnx is not installed")
    from test_reference_onnx import close, evaluate

    a = np.random.default_rng(3).standard_normal((3, 4, 5, 6))
    c = dnn.TensorDescriptor([1 if i in axes else d for i, d in enumerate(a.shape)], np.float64)
    got = dnn.reduce_tensor(reference, dnn.ReduceTensorDescriptor(operation), a, c)
    if operation == "add":  # whose axes are an input
        want = evaluate(ONNX[operation], a, np.array(axes), keepdims=1)
    else:
        want = evaluate(ONNX[operation], a, axes=list(axes), keepdims=1)
    close(got, want)


@everywhere()
@pytest.mark.parametrize("format", ["nchw", "nhwc"])
def test_indices_agree_with_numpy_and_torch(handle, format):
    """Equal extremes are many: the first in logical order counts, in every layout."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    a = np.random.default_rng(5).integers(0, 4, (3, 8, 6, 5)).astype(np.float32)
    x = handle.asarray(a, format=format)
    for operation, axes in (("min", (2, 3)), ("max", (0, 2)), ("min", (0, 1, 2, 3)), ("max", (1,))):
        dims = [1 if i in axes else d for i, d in enumerate(a.shape)]
        rows = np.moveaxis(a, axes, range(-len(axes), 0)).reshape(
            *(d for i, d in enumerate(a.shape) if i not in axes), -1
        )
        find, best = (np.argmin, rows.min) if operation == "min" else (np.argmax, rows.max)
        reduce = dnn.ReduceTensorDescriptor(operation, indices="FLATTENED_INDICES")
        c, indices = (handle.to_numpy(t) for t in dnn.reduce_tensor(handle, reduce, x, dnn.TensorDescriptor(dims)))
        assert indices.dtype == np.int32
        np.testing.assert_array_equal(indices, find(rows, -1).reshape(dims))
        np.testing.assert_array_equal(c, best(-1).reshape(dims))
    want = torch.from_numpy(a).argmax(1, keepdim=True).numpy()  # torch, too, takes the first on the CPU
    np.testing.assert_array_equal(indices, want)


NAN, INF = np.nan, np.inf
# operation and NaN option: numbers, result and place
EXTREME = {
    ("min", ""): (((3, NAN, 1, NAN), NAN, 1), ((INF,) * 4, INF, 0), ((2, 5, 1, 1), 1, 2)),
    ("min", "NOT_"): (((3, NAN, 1, 1), 1, 2), ((NAN,) * 4, NAN, 0), ((INF,) * 4, INF, 0)),
    ("max", ""): (((INF, -INF, 2, NAN), NAN, 3), ((-INF,) * 4, -INF, 0), ((2, 5, 5, 1), 5, 1)),
    ("max", "NOT_"): (((NAN, NAN, -INF, NAN), -INF, 2), ((NAN,) * 4, NAN, 0), ((-INF,) * 4, -INF, 0)),
    ("amax", ""): (((1, -3, NAN, 3), NAN, 2), ((1, -3, 3, 2), 3, 1), ((0, -0.0, 0, 0), 0, 0)),
    ("amax", "NOT_"): (((1, -3, 3, NAN), 3, 1), ((NAN,) * 4, NAN, 0), ((NAN, -1, NAN, 1), 1, 1)),
}
SUMS = {
    "add": (((1, NAN, 2, 3), NAN), ((1, 2, -3, 4), 4), ((INF, 1, -INF, 1), NAN)),
    "mul": (((1, NAN, 2, 0), NAN), ((1, 2, -3, 4), -24), ((INF, 1, 2, 1), INF)),
    "mul_no_zeros": (((0, 2, 0, -3), -6), ((0, 0, 0, -0.0), 1), ((0, NAN, 1, 1), NAN)),
    "norm1": (((-1, 2, -3, 4), 10), ((-INF, 1, 1, 1), INF), ((0, NAN, 0, 0), NAN)),
    "norm2": (((2, -4, 5, 6), 9), ((0, 0, 0, 0), 0), ((-INF, 1, 1, 1), INF)),
    "avg": (((1, 2, 3, 4), 2.5), ((-1, 1, -1, 1), 0), ((INF, 1, 1, 1), INF)),
}


@everywhere()
@pytest.mark.parametrize(
    ("operation", "nan", "length"),
    [*((*key, 4) for key in EXTREME), ("min", "", 3000), ("max", "NOT_", 3000)],
)
def test_special_extremes(handle, operation, nan, length):
    """The numbers come first, then the last of them again and again; along memory, and across it."""
    rows = EXTREME[operation, nan]
    a = np.array([numbers + numbers[-1:] * (length - 4) for numbers, _, _ in rows], np.float32)
    reduce = dnn.ReduceTensorDescriptor(operation, None, nan + "PROPAGATE_NAN", "FLATTENED_INDICES")
    for x, dims in ((a[None], (1, 3, 1)), (np.stack([a.T] * 8, -1).reshape(1, length, 24), (1, 1, 24))):
        found = dnn.reduce_tensor(handle, reduce, handle.asarray(x), dnn.TensorDescriptor(dims))
        c, indices = (handle.to_numpy(t).reshape(3, -1) for t in found)
        for (numbers, value, place), some, places in zip(rows, c, indices, strict=True):
            np.testing.assert_array_equal(some, np.full(some.shape, value, np.float32), err_msg=str(numbers))
            np.testing.assert_array_equal(places, place, err_msg=str(numbers))


@everywhere()
@pytest.mark.parametrize("operation", SUMS)
def test_special_sums(handle, operation):
    a = np.array([numbers for numbers, _ in SUMS[operation]], np.float32)[None]
    reduce = dnn.ReduceTensorDescriptor(operation)
    c = handle.to_numpy(dnn.reduce_tensor(handle, reduce, handle.asarray(a), dnn.TensorDescriptor((1, 3, 1))))
    np.testing.assert_array_equal(c.ravel(), np.array([value for _, value in SUMS[operation]], np.float32))


@everywhere()
def test_sizes_are_exact(handle):
    """Both queries name what the call needs; a byte buffer takes the indices; less is refused."""
    a = handle.asarray(np.random.default_rng(1).standard_normal((2, 200, 200)).astype(np.float32))
    c = dnn.TensorDescriptor((2, 1, 1))
    reduce = dnn.ReduceTensorDescriptor("max", indices="FLATTENED_INDICES")
    assert dnn.get_reduction_indices_size(handle, reduce, a, c) == 8
    assert dnn.get_reduction_indices_size(handle, dnn.ReduceTensorDescriptor("add"), a, c) == 0
    assert dnn.get_reduction_indices_size(handle, dnn.ReduceTensorDescriptor("max"), a, c) == 0
    needed = dnn.get_reduction_workspace_size(handle, reduce, a, c)
    workspace, memory = handle.empty_bytes(max(needed, 1)), handle.empty_bytes(8)
    value, indices = dnn.reduce_tensor(handle, reduce, a, c, indices=memory, workspace=workspace)
    want = handle.to_numpy(a).reshape(2, -1)
    np.testing.assert_array_equal(handle.to_numpy(value).ravel(), want.max(1))
    np.testing.assert_array_equal(handle.to_numpy(memory).view(np.int32), want.argmax(1))
    np.testing.assert_array_equal(handle.to_numpy(indices).ravel(), want.argmax(1))
    if needed:
        with pytest.raises(dnn.BadParam, match=f"at least {needed} bytes"):
            dnn.reduce_tensor(handle, reduce, a, c, workspace=handle.empty_bytes(needed - 1))


@everywhere()
def test_long_sums_stay_exact(handle):
    """A million equal numbers: an error that grew with their count would be seen."""
    a = np.full((1, 1000, 1000), 0.1, np.float32)
    for dims in ((1, 1, 1), (1, 1, 1000)):
        c = dnn.reduce_tensor(handle, dnn.ReduceTensorDescriptor("add"), handle.asarray(a), dnn.TensorDescriptor(dims))
        compare(
            handle.to_numpy(c), np.full(dims, a.size / dims[2] * np.float64(a[0, 0, 0])), 5e-6 * a.size / dims[2] * 0.1
        )


@pytest.mark.parametrize("dims", ["2x3x5x8", "3x2x300", "70x1x9"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_sums_and_products_leave_nan_out(backend, dims):
    sizes = tuple(map(int, dims.split("x")))
    rng = np.random.default_rng(3)
    host = rng.uniform(0.5, 1.5, sizes).astype(np.float32)
    host[rng.random(sizes) < 0.3] = np.nan
    host[0] = np.nan
    with open_handle(backend) as handle:
        for op, reduce in (("add", np.nansum), ("mul", np.nanprod)):
            for axis in range(len(sizes)):
                kept = tuple(1 if i == axis else size for i, size in enumerate(sizes))
                how = dnn.ReduceTensorDescriptor(op, skip_nan=True)
                found = dnn.reduce_tensor(handle, how, handle.asarray(host), dnn.TensorDescriptor(kept))
                want = reduce(host.astype(float), axis, keepdims=True)
                np.testing.assert_allclose(handle.to_numpy(found), want, 1e-4)


def test_only_sums_and_products_leave_nan_out():
    with dnn.Handle("reference") as handle:
        x = np.ones((1, 2, 3), np.float32)
        for op in ("max", "avg", "norm2"):
            with pytest.raises(dnn.BadParam, match="skip_nan: expected False: only ADD, MUL"):
                dnn.reduce_tensor(handle, dnn.ReduceTensorDescriptor(op, skip_nan=True), x, x[:, :1].copy())
        with pytest.raises(dnn.BadParam, match="skip_nan: expected True or False"):
            dnn.ReduceTensorDescriptor("add", skip_nan=1)
