"""Knobs: what can be set of an engine, with their ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from .enums import knob_type


@dataclass(frozen=True)
class knob:
    """A knob of an engine for one graph, as cudnn-frontend has it.

    Attributes
    ----------
    type : knob_type
    max_value, min_value, stride : int
        The values from `min_value` on in steps of `stride`; the engine's own choice is not among them.
    says : str
        What the values mean here.
    """

    type: knob_type
    max_value: int
    min_value: int = 0
    stride: int = 1
    says: str = ""

    def values(self) -> range:
        """Return all values."""
        return range(self.min_value, self.max_value + 1, self.stride)

    def __str__(self) -> str:
        step = f" in steps of {self.stride}" if self.stride != 1 else ""
        return f"{self.type} from {self.min_value} to {self.max_value}{step}" + (f" ({self.says})" if self.says else "")


FRONTEND_KNOB_TYPE_BASE = 1000  # from here on knobs are cudnn-frontend's own, without a counterpart in cuDNN


def is_frontend_knob_type(knob_type: knob_type) -> bool:
    """Tell whether a knob is one of cudnn-frontend's own."""
    return int(_parse(knob_type, "knob_type")) >= FRONTEND_KNOB_TYPE_BASE


_parse = knob_type.parse  # in the function the name is an argument
Knobs: TypeAlias = Mapping[knob_type, int]
