"""Results of every problem and what their rounding errors are measured by, from the definitions in NumPy."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from portadnn import bfloat16
from portadnn.bfloat16 import as_float64
from portadnn.entry_points import foreign_records
from portadnn.problem import Problem

from . import definitions
from .definition import Array, Definition, Evaluate, Numbers


def _all() -> dict[type[Problem], Definition]:
    names = [f"{definitions.__name__}.{module.name}" for module in pkgutil.iter_modules(definitions.__path__)]
    return {kind: known for name in names for kind, known in importlib.import_module(name).DEFINITIONS.items()}


DEFINITIONS = _all()


def foreign_definitions() -> dict[type[Problem], Definition]:
    """Return the definitions that the records of other distributions hold."""
    return {record.problem: record.definition for record in foreign_records() if record.definition is not None}


def definition_of(problem: Problem) -> Definition:
    """Return the definition of a problem's operation."""
    for kind in type(problem).__mro__:  # other forms of an operation's problem have its definition
        if kind in DEFINITIONS:
            return DEFINITIONS[kind]
    return foreign_definitions()[type(problem)]


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
        The run-time numbers in the order of ``problem.scalars``. They are rounded to the accumulator's type: the C
        interface takes them as float, or as double for double tensors.

    Returns
    -------
    dict
        Float64 arrays by output name, in the outputs' dims; without byte buffers whose contents are an engine's own.
    """
    return _results(definition_of(problem).values, problem, tensors, scalars)


def terms(problem: Problem, tensors: Sequence[npt.NDArray[Any]], scalars: Sequence[float]) -> dict[str, Array]:
    """Return, for each element of each output, the sum of the absolute values of the terms that make it up.

    Parameters
    ----------
    tensors, scalars
        As for :func:`outcomes`.
    """
    return _results(definition_of(problem).terms, problem, tensors, scalars)


def _results(
    function: Evaluate, problem: Problem, tensors: Sequence[npt.NDArray[Any]], scalars: Sequence[float]
) -> dict[str, npt.NDArray[Any]]:
    round_number = problem.dtype.accumulator.numpy.type
    with np.errstate(all="ignore"):  # overflow and NaN are results like others, and outputs may hold anything
        numbers: Numbers = {name: float(round_number(s)) for name, s in zip(problem.scalars, scalars, strict=True)}
        arrays = {name: as_float64(tensor) for name, tensor in zip(problem.names, tensors, strict=True)}
        found = function(problem, numbers, arrays)
        return {name: np.broadcast_to(value, getattr(problem, name).dims) for name, value in found.items()}


def store(tensor: npt.NDArray[Any], values: Array) -> None:
    """Round numbers into a tensor."""
    with np.errstate(all="ignore"):  # indices and bytes are whole numbers
        if bfloat16.is_bfloat16(tensor.dtype):
            tensor.view(np.uint16)[...] = bfloat16.rounded(values)
        else:
            tensor[...] = values
