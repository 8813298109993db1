"""Sizes that kernels take as an argument instead of in their text, so that one text serves many shapes (conv/cpu.h)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...base import ConstantArg
from .cpu.common import Defines


def as_argument(defines: Defines, names: Iterable[str]) -> tuple[Defines, tuple[ConstantArg, ...]]:
    """Return defines of which some have become elements of an argument, and that argument.

    Where a size takes more than 32 bits all stay as they are, and there is no argument.
    """
    chosen = [name for name in names if name in defines]
    values = [int(defines[name]) for name in chosen]
    if not chosen or max(map(abs, values)) >= 2**31:
        return defines, ()
    places = {name: f"(sizes->v[{place}])" for place, name in enumerate(chosen)}
    argument = np.zeros((), np.dtype([("v", np.int32, (len(chosen),))]))
    argument["v"] = values
    value: np.generic = argument[()]  # type: ignore[assignment]  # a structured scalar
    return {**defines, **places, "RUN_TIME_SIZES": len(chosen)}, (ConstantArg(value),)
