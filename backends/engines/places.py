"""Sizes and strides as kernel arguments, one compiled kernel for many shapes; or compiled in, for small problems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from portadnn.problem import Problem

from ..base import Arg, ConstantArg, DeviceInfo
from .layouts import Axis


def places(axes: Sequence[Axis], names: Sequence[str]) -> tuple[dict[str, str], tuple[Arg, ...]]:
    """Return defines and the arguments that belong to them.

    Parameters
    ----------
    axes
        The dimensions that places are counted over, slowest first.
    names
        Of the tensors that the axes' strides belong to, such as ``"x"``.

    Returns
    -------
    defines : dict
        PLACES, the kernel's parameters, and for each tensor NAME_PLACE(o), the offset of place number o.
    args : tuple of Arg
        The values of PLACES in order.
    """
    numbers: dict[str, int] = {}
    indices = []
    below = 1
    for k in reversed(range(len(axes))):
        index = "(o)"
        if k < len(axes) - 1:
            numbers[f"below_{k}"] = below
            index += f" / below_{k}"
        if k > 0:
            numbers[f"size_{k}"] = axes[k].size
            index += f" % size_{k}"
        indices.append((k, index))
        below *= axes[k].size
    defines = {}
    for position, name in enumerate(names):
        terms = []
        for k, index in indices:
            numbers[f"{name}_{k}"] = axes[k].strides[position]
            terms.append(f"{index} * {name}_{k}")
        defines[f"{name.upper()}_PLACE(o)"] = f"({' + '.join(terms)})"
    defines["PLACES"] = ", ".join(f"const u32 {number}" for number in numbers)
    return defines, tuple(ConstantArg(np.uint32(value)) for value in numbers.values())


BAKED_BYTES = 32 << 20  # of tensors that a GPU goes through in less time than a launch takes the host


def bakes(problem: Problem, info: DeviceInfo) -> bool:
    """Tell whether numbers are better compiled in: two dozen arguments take the host 1 us (NVIDIA's OpenCL)."""
    return info.kind == "gpu" and problem.bytes() <= BAKED_BYTES
