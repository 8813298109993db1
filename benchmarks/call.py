"""Turn a problem into a repeatable portadnn call with random data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn.handle import Handle
from portadnn.problem import Problem, TensorSpec

DEFAULTS = {
    "set_tensor": {"value": 0.5},
    "scale_tensor": {"alpha": 1.0},
}  # run-time numbers that the public call asks for
PERIOD = 1_000_003  # normal values take seconds to draw for the largest tensors


def random_values(spec: TensorSpec, seed: int) -> np.ndarray[Any, Any]:
    """Return normal values for a tensor's whole span, gaps included; they repeat after a prime number of them.

    Indices and bytes are zeros.
    """
    if not spec.dtype.is_float:
        return np.zeros(spec.span, spec.dtype.numpy)
    values = np.random.default_rng(seed).standard_normal(min(spec.span, PERIOD), np.float32)
    return np.resize(spec.dtype.stored(values), spec.span)


def device_values(handle: Handle, spec: TensorSpec, seed: int) -> Any:
    """Return an array on the device with at least those values; on GPUs the device repeats them itself."""
    if not spec.dtype.is_float:
        return handle.device.asarray(random_values(spec, seed))
    if handle.info.kind == "cpu" or spec.span <= PERIOD:
        return handle.asarray(random_values(spec, seed))
    row = TensorSpec.packed(spec.dtype, (1, 1, PERIOD))
    whole = TensorSpec.packed(spec.dtype, (-(-spec.span // PERIOD), 1, PERIOD))
    flat = handle.device.empty(whole)
    dnn.add_tensor(handle, handle.asarray(random_values(row, seed).reshape(row.dims)), flat, beta=0.0)
    return flat


def portadnn_call(handle: Handle, problem: Problem, options: dict[str, Any]) -> Callable[[], None]:
    """Return a function that makes the public call of `problem` on arrays that already lie on the device."""
    arrays = {}
    for seed, (name, spec) in enumerate(zip(problem.names, problem.tensors, strict=True)):
        view = dnn.TensorView(spec, device_values(handle, spec, seed))
        arrays[name] = handle.device.wrap(view, name)
    function = getattr(dnn, problem.op)
    positional, keywords = problem.call_arguments(arrays)
    keywords = {**DEFAULTS.get(problem.op, {}), **keywords, **options}

    def call() -> None:
        function(handle, *positional, **keywords)

    return call
