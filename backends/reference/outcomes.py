"""Results of every problem and what their rounding errors are measured by, from the definitions in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from portadnn.bfloat16 import as_float64
from portadnn.problem import Problem

from . import dropout as reference_dropout
from . import lrn as reference_lrn
from . import norm as reference_norm
from . import reduce as reference_reduce
from . import rnn as reference_rnn
from . import spatial as reference_spatial
from .definition import Definition, Evaluate
from .operations import DEFINITIONS as SIMPLE
from .operations import Array, evaluate, rounded_numbers
from .terms import absolute_terms

DEFINITIONS: dict[type[Problem], Definition] = {
    **reference_dropout.DEFINITIONS,
    **reference_lrn.DEFINITIONS,
    **reference_norm.DEFINITIONS,
    **reference_rnn.DEFINITIONS,
    **reference_reduce.DEFINITIONS,
    **reference_spatial.DEFINITIONS,
}

KINDS = (*SIMPLE, *DEFINITIONS)


def outcomes(
    problem: Problem, tensors: Sequence[npt.NDArray[Any]], scalars: Sequence[float]
) -> dict[str, npt.NDArray[Any]]:
    """Compute a problem's outputs without storing them.

    Parameters
    ----------
    tensors
        The problem's tensors in the order of ``problem.names``, of any type and strides. Outputs that are not read
        may hold anything.
    scalars
        The run-time numbers in the order of ``problem.scalars``; see
        :func:`~portadnn_backends.reference.operations.rounded_numbers`.

    Returns
    -------
    dict
        Float64 arrays by output name, in the outputs' dims; without byte buffers whose contents are an engine's own.
    """
    definition = DEFINITIONS.get(type(problem))
    if definition is None:
        return {problem.outputs[-1]: evaluate(problem, tensors, scalars)}
    return _results(definition.values, problem, tensors, scalars)


def terms(problem: Problem, tensors: Sequence[npt.NDArray[Any]], scalars: Sequence[float]) -> dict[str, Array]:
    """Return, for each element of each output, the sum of the absolute values of the terms that make it up.

    Parameters
    ----------
    tensors, scalars
        As for :func:`outcomes`.
    """
    definition = DEFINITIONS.get(type(problem))
    if definition is None:
        return {problem.outputs[-1]: absolute_terms(problem, tensors, scalars)}
    return _results(definition.terms, problem, tensors, scalars)


def _results(
    function: Evaluate, problem: Problem, tensors: Sequence[npt.NDArray[Any]], scalars: Sequence[float]
) -> dict[str, npt.NDArray[Any]]:
    with np.errstate(all="ignore"):  # overflow and NaN are results like others, and outputs may hold anything
        arrays = {name: as_float64(tensor) for name, tensor in zip(problem.names, tensors, strict=True)}
        found = function(problem, rounded_numbers(problem, scalars), arrays)
        return {name: np.broadcast_to(value, getattr(problem, name).dims) for name, value in found.items()}
