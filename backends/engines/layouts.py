"""How tensors lie, and the iteration spaces of elementwise kernels with fewer, longer dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from portadnn.problem import Problem, TensorSpec

from ..base import ConstantArg, needs_wide_places

CPU_STREAMED = 48 << 20  # bytes of a call's tensors that a CPU's last cache does not hold from one call to the next


def place_defines(problem: Problem) -> dict[str, int]:
    """Return the define of ``common/types.h`` that makes places in tensors (``idx_t``) as wide as the problem needs."""
    return {"WIDE_PLACES": 1} if needs_wide_places(problem) else {}


def place_arg(problem: Problem, value: int) -> ConstantArg:
    """Return a kernel argument of the type ``idx_t``."""
    return ConstantArg(np.uint64(value) if needs_wide_places(problem) else np.uint32(value))


def stream_defines(specs: Sequence[TensorSpec]) -> dict[str, int]:
    """Return the define by which CPU kernels store past the caches (``VSTREAM``) where the tensors are large."""
    return {"STREAMED": 1} if sum(spec.nbytes for spec in specs) >= CPU_STREAMED else {}


class Laid(Protocol):
    """Whatever has dims and strides."""

    @property
    def dims(self) -> tuple[int, ...]: ...

    @property
    def strides(self) -> tuple[int, ...]: ...


def strides(spec: TensorSpec) -> tuple[int, ...]:
    """Return a tensor's strides; that of a dimension of one, which does not matter, as 0."""
    return tuple(s if d > 1 else 0 for d, s in zip(spec.dims, spec.strides, strict=True))


@dataclass(frozen=True)
class Axis:
    """One dimension of the iteration space with each tensor's stride along it (0 where it is broadcast)."""

    size: int
    strides: tuple[int, ...]


def coalesce(dims: tuple[int, ...], specs: Sequence[Laid]) -> list[Axis]:
    """Return the axes of a loop over `dims`, slowest first as the last spec (the output) has them in memory.

    Dimensions of one are dropped, and neighbours that are one run in every tensor are merged; a spec's dims may
    be 1 where `dims` is not. An iteration space of one element gives one axis of size 1.
    """
    axes = [
        Axis(size, tuple(s.strides[i] if s.dims[i] > 1 else 0 for s in specs))
        for i, size in enumerate(dims)
        if size != 1
    ]
    axes.sort(key=lambda axis: -axis.strides[-1])
    merged: list[Axis] = []
    for axis in axes:
        outer = merged[-1] if merged else None
        if outer and all(a == b * axis.size for a, b in zip(outer.strides, axis.strides, strict=True)):
            merged[-1] = Axis(outer.size * axis.size, axis.strides)
        else:
            merged.append(axis)
    return merged or [Axis(1, (1,) * len(specs))]


def in_runs(axes: Sequence[Axis], flat: Sequence[int], width: int) -> bool:
    """Tell whether some tensors are one run of memory, and the others have one value along the innermost axis.

    Vectors of `width` elements of the flat tensors then meet two values of the others at most.
    """
    below = 1
    for axis in reversed(axes):
        if any(axis.strides[i] != below for i in flat):
            return False
        below *= axis.size
    others = (s for i, s in enumerate(axes[-1].strides) if i not in flat)
    return axes[-1].size >= width and not any(others)


def offset_expression(axes: Sequence[Axis], tensor: int, index: str = "r") -> str:
    """Return C code for a tensor's element offset at linear position `index` over `axes`.

    >>> offset_expression([Axis(4, (50,)), Axis(3, (7,))], 0)
    '((r) / 3u * 50u + (r) % 3u * 7u)'
    """
    terms = []
    below = 1
    for position, axis in reversed(list(enumerate(axes))):
        part = f"({index})" if below == 1 else f"({index}) / {below}u"
        if position > 0:
            part += f" % {axis.size}u"
        below *= axis.size
        if axis.strides[tensor]:
            terms.append(f"{part} * {axis.strides[tensor]}u")
    return f"({' + '.join(reversed(terms))})" if terms else "0u"
