"""The oracle: exact results in float64 by the definitions, from whichever installed backend offers them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from ..errors import NotSupported
from ..problem import Problem
from ..registry import backend_names, get_backend

if TYPE_CHECKING:
    from portadnn_backends.base import Oracle


@functools.cache
def oracle() -> Oracle:
    """Return the oracle.

    Raises
    ------
    NotSupported
        No installed backend has one.
    """
    for name in sorted(backend_names(), key=lambda name: name != "reference"):
        found = get_backend(name).oracle()
        if found is not None:
            return found
    raise NotSupported("no installed backend computes exact results; portadnn's own is called reference")


def exact(
    problem: Problem, tensors: Sequence[npt.NDArray[Any]], numbers: Mapping[str, float]
) -> dict[str, npt.NDArray[Any]]:
    """Return each output's exact numbers; without byte buffers whose contents are an engine's own."""
    return oracle().outcomes(problem, tensors, tuple(numbers.values()))


def terms(
    problem: Problem, tensors: Sequence[npt.NDArray[Any]], numbers: Mapping[str, float]
) -> dict[str, npt.NDArray[Any]]:
    """Return, for each element, the sum of the absolute values of what was added up for it."""
    return oracle().terms(problem, tensors, tuple(numbers.values()))
