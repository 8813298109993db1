"""What an operation's definition consists of, where it has several outputs or blends them in ways of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .operations import Array, Numbers

Outcome = Mapping[str, Any]  # arrays by the names of outputs
Evaluate = Callable[[Any, Numbers, Mapping[str, Array]], Outcome]


@dataclass(frozen=True)
class Definition:
    """Functions of (problem, run-time numbers by name, float64 arrays in logical order by tensor name).

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
