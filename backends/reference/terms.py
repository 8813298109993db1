"""The sums of absolute terms behind each result: what errors of floating-point sums are measured by.

See :func:`portadnn.tolerance.tolerance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from portadnn.bfloat16 import as_float64
from portadnn.enums import ActivationMode, OpTensorOp, PoolingMode, SoftmaxAlgorithm
from portadnn.ops.activation import ActivationBackward, ActivationForward
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward
from portadnn.ops.pooling import PoolingBackward, PoolingForward
from portadnn.ops.softmax import SoftmaxBackward, SoftmaxForward
from portadnn.ops.tensor import OpTensor, ScaleTensor, SetTensor
from portadnn.problem import Problem

from .operations import DEFINITIONS, Array, evaluate, summed_axes

_CURVED = (ActivationMode.SIGMOID, ActivationMode.TANH)  # values up to 1, which have rounding errors of their own


def absolute_terms(problem: Problem, tensors: Sequence[npt.NDArray[Any]], scalars: Sequence[float]) -> Array:
    """Return, for each element of the output, the sum of the absolute values of the terms that make it up.

    Parameters
    ----------
    tensors, scalars
        As for :func:`~portadnn_backends.reference.operations.evaluate`.
    """
    if isinstance(problem, (SetTensor, ScaleTensor)):
        return np.abs(evaluate(problem, tensors, scalars))
    numbers = dict(zip(problem.scalars, map(abs, scalars), strict=True))
    inputs = [as_float64(t) for t in tensors[: len(problem.inputs)]]
    with np.errstate(all="ignore"):
        terms = numbers.get("alpha", 1.0) * _terms(problem, numbers, inputs)
        if numbers.get("beta", 0.0) != 0:
            terms = terms + numbers["beta"] * np.abs(as_float64(tensors[-1]))
    return np.broadcast_to(terms, problem.tensors[-1].dims)


def _terms(problem: Problem, numbers: dict[str, float], inputs: list[Array]) -> Any:
    definition = DEFINITIONS[type(problem)]
    if isinstance(problem, (SoftmaxForward, SoftmaxBackward)):
        return _softmax_terms(problem, *inputs)
    if isinstance(problem, ConvolutionBiasActivationForward):
        linear = replace(problem, activation=ActivationMode.IDENTITY)
        sums = definition(linear, numbers, *map(np.abs, inputs)) + (problem.activation in _CURVED)
        steepest = {ActivationMode.ELU: max(1.0, abs(problem.coef)), ActivationMode.SWISH: 1.5}  # with its own rounding
        return steepest.get(problem.activation, 1.0) * sums
    if isinstance(problem, ActivationBackward):
        y, dy = np.abs(inputs[0]), np.abs(inputs[1])
        if problem.mode is ActivationMode.SIGMOID:
            return dy * y * (1 + y)
        if problem.mode is ActivationMode.TANH:
            return dy * (1 + y * y)
        if problem.mode is ActivationMode.ELU:
            return dy * (1 + y + abs(problem.coef))
        if problem.mode is ActivationMode.SWISH:  # the gate's exponent is rounded
            power = np.abs(problem.coef * inputs[2])
            return dy * (1 + power) * (1 + power)
        return dy
    if isinstance(problem, ActivationForward) and problem.mode is ActivationMode.SWISH:
        return np.abs(definition(problem, numbers, *inputs)) * (1 + np.abs(problem.coef * inputs[0]))
    if isinstance(problem, PoolingBackward) and problem.mode is PoolingMode.MAX:
        return definition(problem, numbers, inputs[0], np.abs(inputs[1]), inputs[2])
    if isinstance(problem, OpTensor) and problem.operation is OpTensorOp.NOT:
        return 1 + numbers["alpha1"] * np.abs(inputs[0])
    selects = (
        isinstance(problem, ActivationForward)
        or (isinstance(problem, PoolingForward) and problem.mode is PoolingMode.MAX)
        or (isinstance(problem, OpTensor) and problem.operation in (OpTensorOp.MIN, OpTensorOp.MAX))
    )
    if selects:
        return np.abs(definition(problem, numbers, *inputs))
    return definition(problem, numbers, *map(np.abs, inputs))  # linear in every input


def _softmax_terms(problem: SoftmaxForward | SoftmaxBackward, *inputs: Array) -> Any:
    axes = summed_axes(problem)
    if isinstance(problem, SoftmaxForward):
        (x,) = inputs
        distance = np.abs(x - x.max(axes, keepdims=True, initial=-np.inf))
        if problem.algorithm is SoftmaxAlgorithm.LOG:
            return 1 + distance + np.log(np.exp(-distance).sum(axes, keepdims=True))
        # the rounding of x - max becomes a relative error of exp(x - max)
        return DEFINITIONS[SoftmaxForward](problem, {}, x) * (1 + distance)
    y, dy = inputs[0], np.abs(inputs[1])
    if problem.algorithm is SoftmaxAlgorithm.LOG:
        return dy + np.exp(y) * dy.sum(axes, keepdims=True)
    return np.abs(y) * (dy + (np.abs(y) * dy).sum(axes, keepdims=True))
