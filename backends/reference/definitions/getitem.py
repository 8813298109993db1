"""The definition of the gradient of indexing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from portadnn.ops.getitem import GetitemBackward
from portadnn.problem import Problem

from ..definition import Arrays, Definition, Numbers


def _getitem(problem: GetitemBackward, numbers: Numbers, t: Arrays) -> Mapping[str, Any]:
    dx = t["dx"].copy() if problem.add else np.zeros(problem.dx.dims)
    window: Any = dx[tuple(span.places for span in problem.spans)]
    dy = t["dy"]
    if not problem.indices:
        window[tuple(map(slice, dy.shape))] += dy
        return {"dx": dx}
    first, count = problem.first, len(problem.dims)
    others = [slice(size) for size in (*dy.shape[:first], *dy.shape[first + 1 :])]
    named = (*others[:first], *(slice(None),) * count, *others[first:])
    valid, places, error = np.ones(len(t["index0"]), bool), [], []
    for name, dim in zip(problem.indices, problem.dims, strict=True):
        index, size = t[name].astype(np.int64), problem.spans[dim].size
        fits = (index >= -size) & (index < size)
        error.append(0 if fits.all() else -1)
        places.append(index)
        valid &= fits
    kept = np.flatnonzero(valid[: dy.shape[first]])
    where: Any = (*(slice(None),) * first, *(index[kept] for index in places))
    np.add.at(window[named], where, dy.take(kept, first))
    return {"dx": dx, "error": np.array(error)}


def _terms(problem: GetitemBackward, numbers: Numbers, t: Arrays) -> Mapping[str, Any]:
    return {"dx": _getitem(problem, numbers, {**t, "dy": np.abs(t["dy"]), "dx": np.abs(t["dx"])})["dx"]}


DEFINITIONS: dict[type[Problem], Definition] = {GetitemBackward: Definition(_getitem, _terms)}
