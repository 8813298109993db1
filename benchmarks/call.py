"""Turn a problem into a repeatable portadnn call with random data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn.handle import Handle
from portadnn.problem import Problem, TensorSpec

PERIOD = 1_000_003  # normal values take seconds to draw for the largest tensors


def random_values(spec: TensorSpec, seed: int) -> np.ndarray[Any, Any]:
    """Return normal values for a tensor's whole span, gaps included; they repeat after a prime number of them."""
    values = np.random.default_rng(seed).standard_normal(min(spec.span, PERIOD), np.float32)
    return np.resize(spec.dtype.stored(values), spec.span)


def portadnn_call(handle: Handle, problem: Problem, options: dict[str, Any]) -> Callable[[], None]:
    """Return a function that makes the public call of `problem` on arrays that already lie on the device."""
    names = problem.tensor_names()
    arrays = {}
    for seed, (name, spec) in enumerate(zip(names, problem.tensors, strict=True)):
        view = dnn.TensorView(spec, handle.asarray(random_values(spec, seed)))
        arrays[name] = handle.device.wrap(view, name)
    function = getattr(dnn, problem.op)
    positional, keywords = _arguments(problem, arrays)
    keywords.update(options)

    def call() -> None:
        function(handle, *positional, **keywords)

    return call


def _arguments(problem: Problem, arrays: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    p: Any = problem
    a = [arrays[name] for name in problem.tensor_names()]
    if isinstance(problem, dnn.ops.convolution.Convolution):
        conv = dnn.ConvolutionDescriptor(p.padding, p.stride, p.dilation, p.groups, p.mode, p.compute_type, p.math)
        if problem.op == "convolution_bias_activation_forward":
            activation = dnn.ActivationDescriptor(p.activation, p.nan_propagation, p.ceiling)
            return [a[0], a[1], conv, a[3], activation, a[4]], {"z": a[2]}
        return [a[0], a[1], conv, a[2]], {}
    if problem.op.startswith("pooling"):
        pool = dnn.PoolingDescriptor(p.mode, p.window, p.padding, p.stride, p.nan_propagation)
        return [*a[:-1], pool, a[-1]], {}
    if problem.op.startswith("activation"):
        return [*a[:-1], dnn.ActivationDescriptor(p.mode, p.nan_propagation, p.ceiling), a[-1]], {}
    if problem.op.startswith("softmax"):
        return a, {"algorithm": p.algorithm, "mode": p.mode}
    if problem.op == "op_tensor":
        return [dnn.OpTensorDescriptor(p.operation, p.compute_type, p.nan_propagation), *a], {}
    if problem.op == "set_tensor":
        return a, {"value": 0.5}
    if problem.op == "scale_tensor":
        return a, {"alpha": 1.0}
    return a, {}
