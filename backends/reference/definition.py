"""What the reference knows of an operation: its results, and what their rounding errors are measured by.

Arrays are float64 in logical order (n, c, [d,] h, w).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Arrays = Mapping[str, Array]
Numbers = dict[str, float]
Outcome = Mapping[str, Any]  # arrays by the names of outputs
Evaluate = Callable[[Any, Numbers, Arrays], Outcome]


@dataclass(frozen=True)
class Definition:
    """Functions of (problem, run-time numbers by name, arrays by tensor name).

    Outputs that are not read may hold NaN among the arrays.

    Attributes
    ----------
    values
        Returns the final, blended numbers of every output that the problem has, but for byte buffers whose contents
        are an engine's own affair.
    terms
        Returns, for each element of those outputs, the sum of the absolute values of what was added up for it: by
        these rounding errors are measured. Outputs of integers, which have to be exact, are left out.
    """

    values: Evaluate
    terms: Evaluate


def blend(numbers: Numbers, value: Any, prior: Array) -> Any:
    """Return alpha * value + beta * prior, where prior is not read with beta 0 (guide section 2.6)."""
    value = numbers.get("alpha", 1.0) * value
    return value if numbers.get("beta", 0.0) == 0 else value + numbers["beta"] * prior


def blend_terms(numbers: Numbers, terms: Any, prior: Array) -> Any:
    """Return the terms of a blend."""
    return blend({name: abs(number) for name, number in numbers.items()}, terms, np.abs(prior))


def blended(result: Callable[..., Array], terms: Callable[..., Array] | None = None) -> Definition:
    """Return the definition of an operation with one output, which is blended.

    Parameters
    ----------
    result
        Function of (problem, numbers, *inputs) that returns the output before it is blended.
    terms
        The same for its terms, of absolute numbers. Without it the result is linear in every input.
    """

    def linear(problem: Any, numbers: Numbers, *inputs: Array) -> Array:
        return result(problem, numbers, *map(np.abs, inputs))

    def values(problem: Any, numbers: Numbers, t: Arrays) -> Outcome:
        output = problem.outputs[-1]
        return {output: blend(numbers, result(problem, numbers, *(t[name] for name in problem.inputs)), t[output])}

    def absolute(problem: Any, numbers: Numbers, t: Arrays) -> Outcome:
        output, function = problem.outputs[-1], terms or linear
        numbers = {name: abs(number) for name, number in numbers.items()}
        return {
            output: blend_terms(numbers, function(problem, numbers, *(t[name] for name in problem.inputs)), t[output])
        }

    return Definition(values, absolute)
