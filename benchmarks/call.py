"""Turn a problem into a repeatable portadnn call with random data."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn.handle import Handle
from portadnn.operation import operation
from portadnn.problem import Problem, TensorSpec, parse_line

from .timing import OtherWork

DEFAULTS = {
    "set_tensor": {"value": 0.5},
    "scale_tensor": {"alpha": 1.0},
}  # run-time numbers that the public call asks for
PERIOD = 1_000_003  # normal values take seconds to draw for the largest tensors


def normal_values(
    stored: Callable[[Any], np.ndarray[Any, Any]], size: int, seed: int, mean: float = 0.0, deviation: float = 1.0
) -> np.ndarray[Any, Any]:
    """Return so many normal values, `stored` in a type; they repeat after a prime number of them."""
    values = np.random.default_rng(seed).standard_normal(min(size, PERIOD), np.float32)
    return np.resize(stored(mean + deviation * values), size)


def random_values(spec: TensorSpec, seed: int) -> np.ndarray[Any, Any]:
    """Return normal values for a tensor's whole span, gaps included; they repeat after a prime number of them.

    Indices and bytes are zeros.
    """
    if not spec.dtype.is_float:
        return np.zeros(spec.span, spec.dtype.numpy)
    return normal_values(spec.dtype.stored, spec.span, seed)


def _affine_grid(spec: TensorSpec) -> np.ndarray[Any, Any]:
    """Return a grid, (n, h, w, 2), that turns and shrinks every image a little, each in its own way."""
    n, h, w, _ = spec.dims
    angle, size = np.linspace(-0.3, 0.3, max(n, 1)), np.linspace(0.8, 1.1, max(n, 1))
    columns, rows = np.linspace(-1, 1, w, dtype=np.float32), np.linspace(-1, 1, h, dtype=np.float32)
    values = np.zeros(spec.span, spec.dtype.numpy)
    steps = [s * spec.dtype.itemsize for s in spec.strides]
    grid = np.ndarray(spec.dims, values.dtype, values, 0, tuple(steps))
    for image in range(n):
        c, s = np.cos(angle[image]) * size[image], np.sin(angle[image]) * size[image]
        grid[image, :, :, 0] = spec.dtype.stored(c * columns[None, :] - s * rows[:, None])
        grid[image, :, :, 1] = spec.dtype.stored(s * columns[None, :] + c * rows[:, None])
    return values


def special_values(problem: Problem, name: str) -> np.ndarray[Any, Any] | None:
    """Return what a tensor of that meaning holds, for its whole span; None where random values will do."""
    spec: TensorSpec = getattr(problem, name)
    if problem.op.startswith("spatial_tf_sampler") and name == "grid":
        return _affine_grid(spec)
    if "variance" in name:
        return abs(random_values(spec, problem.index(name)))
    return None


def tensor_values(problem: Problem, name: str) -> np.ndarray[Any, Any]:
    """Return the values of a problem's tensor for its whole span."""
    values = special_values(problem, name)
    return random_values(getattr(problem, name), problem.index(name)) if values is None else values


def device_values(handle: Handle, spec: TensorSpec, seed: int) -> Any:
    """Return an array on the device with at least those random values; on GPUs the device repeats them itself."""
    if not spec.dtype.is_float:
        return handle.device.asarray(random_values(spec, seed))
    if handle.info.kind == "cpu" or spec.span <= PERIOD:
        return handle.asarray(random_values(spec, seed))
    row = TensorSpec.packed(spec.dtype, (1, 1, PERIOD))
    whole = TensorSpec.packed(spec.dtype, (-(-spec.span // PERIOD), 1, PERIOD))
    flat = handle.device.empty(whole)
    dnn.add_tensor(handle, handle.asarray(random_values(row, seed).reshape(row.dims)), flat, beta=0.0)
    return flat


def portadnn_call(
    handle: Handle, problem: Problem, options: dict[str, Any], convert: Callable[[Any], Any] | None = None
) -> Callable[[], Any]:
    """Return a function that makes the public call of `problem` on arrays that already lie on the device.

    With `convert` on what it makes of them.
    """
    arrays = {}
    for name, spec in zip(problem.names, problem.tensors, strict=True):
        values = special_values(problem, name)
        base = device_values(handle, spec, problem.index(name)) if values is None else handle.asarray(values)
        view = dnn.TensorView(spec, base)
        array = handle.device.wrap(view, name)
        arrays[name] = array if convert is None else convert(array)
    function = operation(problem.op).function
    positional, keywords = problem.call_arguments(arrays)
    keywords = {**DEFAULTS.get(problem.op, {}), **keywords, **options}
    return functools.partial(function, handle, *positional, **keywords)


def other_work(handle: Handle) -> OtherWork:
    """Return what keeps a handle's device busy."""
    size = 1 << (26 if handle.info.kind == "gpu" else 12)
    problem, _ = parse_line(f"scale_tensor y=f32:{size}x1x1x1")
    return OtherWork(lambda: portadnn_call(handle, problem, {"alpha": 1.0}), handle.device.time)
