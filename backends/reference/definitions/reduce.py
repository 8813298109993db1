"""The definition of reduce_tensor in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from portadnn.enums import NanPropagation, ReduceTensorOp
from portadnn.ops.reduce import EXTREMES, ReduceTensor
from portadnn.problem import Problem

from ..definition import Array, Arrays, Definition, Numbers, blend, blend_terms

_SUMS: dict[ReduceTensorOp, Callable[[Array], Any]] = {  # of the last axis
    ReduceTensorOp.ADD: lambda a: a.sum(-1),
    ReduceTensorOp.MUL: lambda a: a.prod(-1),
    ReduceTensorOp.AVG: lambda a: a.sum(-1) / a.shape[-1] if a.shape[-1] else np.full(a.shape[:-1], np.nan),
    ReduceTensorOp.NORM1: lambda a: np.abs(a).sum(-1),
    ReduceTensorOp.NORM2: lambda a: np.sqrt((a * a).sum(-1)),
    ReduceTensorOp.MUL_NO_ZEROS: lambda a: np.where(a == 0, 1.0, a).prod(-1),
}


def _in_rows(problem: ReduceTensor, a: Array) -> Array:
    """Return a with the reduced axes as one, the last, in logical order."""
    kept = [axis for axis in range(a.ndim) if axis not in problem.reduced]
    turned = a.transpose(*kept, *problem.reduced)
    rows: Array = turned.reshape(
        [*(a.shape[axis] for axis in kept), math.prod(a.shape[axis] for axis in problem.reduced)]
    )
    return rows


def _without_nan(problem: ReduceTensor, rows: Array) -> Array:
    """Return rows with what changes nothing in the place of NaN, where the problem leaves NaN out."""
    if not problem.skip_nan:
        return rows
    return np.where(np.isnan(rows), 0.0 if problem.operation is ReduceTensorOp.ADD else 1.0, rows)


def _extremes(problem: ReduceTensor, rows: Array) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return the extremes of rows, and where each is first. NaN wins, or is passed over where others are."""
    if rows.size == 0:
        return np.empty(rows.shape[:-1]), np.empty(rows.shape[:-1], np.int64)
    if problem.operation is ReduceTensorOp.AMAX:
        rows = np.abs(rows)
    keep_nan = problem.nan_propagation is NanPropagation.PROPAGATE_NAN
    if problem.operation is ReduceTensorOp.MIN:
        best = (np.minimum if keep_nan else np.fmin).reduce(rows, -1)
    else:
        best = (np.maximum if keep_nan else np.fmax).reduce(rows, -1)
    found = (rows == best[..., None]) | (np.isnan(rows) & np.isnan(best[..., None]))
    return best, found.argmax(-1)


def _values(problem: ReduceTensor, numbers: Numbers, tensors: Arrays) -> Mapping[str, Any]:
    rows = _without_nan(problem, _in_rows(problem, tensors["a"]))
    outcome: dict[str, Any] = {}
    if problem.operation in EXTREMES:
        best, where = _extremes(problem, rows)
        if problem.indices is not None:
            outcome["indices"] = where.reshape(problem.c.dims)
    else:
        best = _SUMS[problem.operation](rows)
    return {"c": blend(numbers, best.reshape(problem.c.dims), tensors["c"]), **outcome}


def _terms(problem: ReduceTensor, numbers: Numbers, tensors: Arrays) -> Mapping[str, Any]:
    rows = np.abs(_without_nan(problem, _in_rows(problem, tensors["a"])))
    if problem.operation in EXTREMES:
        sums = np.abs(_extremes(problem, _in_rows(problem, tensors["a"]))[0])
    else:
        sums = _SUMS[problem.operation](rows)
    return {"c": blend_terms(numbers, np.nan_to_num(sums).reshape(problem.c.dims), tensors["c"])}


DEFINITIONS: dict[type[Problem], Definition] = {ReduceTensor: Definition(_values, _terms)}
