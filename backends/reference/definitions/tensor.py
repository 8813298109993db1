"""Definitions of the tensor operations (guide sections 4.14 to 4.18)."""

from __future__ import annotations

import numpy as np

from portadnn.enums import DataType, NanPropagation, OpTensorOp
from portadnn.ops.tensor import AddTensor, OpTensor, ScaleTensor, SetTensor, TransformTensor

from ..definition import Array, Arrays, Definition, Numbers, Outcome, blended


def _transform(problem: TransformTensor, numbers: Numbers, x: Array) -> Array:
    return x


def _add(problem: AddTensor, numbers: Numbers, a: Array) -> Array:
    return np.broadcast_to(a, problem.c.dims)


def _op(problem: OpTensor, numbers: Numbers, a: Array, b: Array) -> Array:
    a = numbers["alpha1"] * a
    if problem.operation.unary:
        return np.sqrt(a) if problem.operation is OpTensorOp.SQRT else 1 - a
    b = numbers["alpha2"] * b
    if problem.operation is OpTensorOp.ADD:
        return a + b
    if problem.operation is OpTensorOp.MUL:
        return a * b
    keep_nan = problem.nan_propagation is NanPropagation.PROPAGATE_NAN
    if problem.operation is OpTensorOp.MIN:
        return np.minimum(a, b) if keep_nan else np.fmin(a, b)
    return np.maximum(a, b) if keep_nan else np.fmax(a, b)


def _sqrt_terms(problem: OpTensor, product: Array) -> Array:
    """Return the square roots: more where the product is subnormal, whose rounding is no part of itself.

    They are infinite where the product overflows before its root is taken.
    """
    limits = np.finfo(np.float64 if problem.a.dtype is DataType.DOUBLE else np.float32)
    size = np.maximum(np.abs(product), limits.smallest_subnormal)
    terms = np.sqrt(size) * np.maximum(limits.tiny / size, 1.0)
    return np.where(size < limits.max, terms, np.inf)


def _op_terms(problem: OpTensor, numbers: Numbers, a: Array, b: Array) -> Array:
    if problem.operation is OpTensorOp.NOT:
        return 1 + numbers["alpha1"] * np.abs(a)
    if problem.operation is OpTensorOp.SQRT:
        return _sqrt_terms(problem, numbers["alpha1"] * a)
    if problem.operation in (OpTensorOp.MIN, OpTensorOp.MAX):
        return np.abs(_op(problem, numbers, a, b))
    return _op(problem, numbers, np.abs(a), np.abs(b))


def _set(problem: SetTensor, numbers: Numbers, t: Arrays) -> Outcome:
    return {"y": numbers["value"]}


def _scale(problem: ScaleTensor, numbers: Numbers, t: Arrays) -> Outcome:
    return {"y": numbers["alpha"] * t["y"]}


DEFINITIONS = {
    TransformTensor: blended(_transform),
    AddTensor: blended(_add),
    OpTensor: blended(_op, _op_terms),
    SetTensor: Definition(_set, lambda problem, numbers, t: {"y": abs(numbers["value"])}),
    ScaleTensor: Definition(_scale, lambda problem, numbers, t: {"y": np.abs(numbers["alpha"] * t["y"])}),
}
