"""Tiles for reductions over some dimensions of a tensor: the host side of ``kernels_shared/common/reduce.h``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from portadnn.enums import DataType
from portadnn.problem import TensorSpec

from ..base import DeviceInfo
from .layouts import Axis, coalesce, offset_expression

_GPU_VECTOR = 16  # bytes
_CPU_VECTOR = 32  # bytes, in registers: PoCL 3.0 crashes on exp of 16 floats
SUM_BLOCK = 128  # numbers that a work-item adds up one after the other: as in common/long_sums.h
GROUP = 256  # work-items of a GPU work-group, unless a row needs more
_ACROSS = 32  # neighbouring columns of a work-group: their loads are one run of memory


@dataclass(frozen=True)
class Tile:
    """How a reduction is laid over work-groups; the fields are the macros of ``common/reduce.h``.

    Attributes
    ----------
    along_reduce : bool
        Vectors lie along the reduced dimensions (rows), or across them.
    width : int
        Elements of a vector.
    aligned : bool
        Vector addresses are multiples of 16 bytes, or of the vector.
    outer, reduce : tuple of Axis
        Kept and reduced dimensions, merged; sizes and strides of the contiguous one count vectors.
    across, sharing : int
        Outer units of a work-group (TO), and work-items that share each of them (TR).
    slices, length : int
        Pieces of the reduced dimensions, and reduce units of each.
    """

    along_reduce: bool
    width: int
    aligned: bool
    outer: tuple[Axis, ...]
    reduce: tuple[Axis, ...]
    across: int = 1
    sharing: int = 1
    slices: int = 1
    length: int = 1

    @property
    def outer_units(self) -> int:
        """Number of outer units."""
        return _count(self.outer)

    @property
    def reduce_units(self) -> int:
        """Number of reduce units."""
        return _count(self.reduce)

    @property
    def groups(self) -> int:
        """Tiles of outer units; times `slices` the number of work-groups."""
        return _up(self.outer_units, self.across)

    @property
    def block(self) -> int:
        """Work-items of a work-group."""
        return self.across * self.sharing

    @property
    def parts(self) -> int:
        """Numbers in the workspace for one value per slice and outer element."""
        return self.slices * self.outer_units * (1 if self.along_reduce else self.width)

    def defines(self, names: Sequence[str]) -> dict[str, int | str]:
        """Return the macros of ``common/reduce.h`` and, for each tensor, NAME_OUTER(o) and NAME_REDUCE(r)."""
        macros: dict[str, int | str] = {
            "VW": self.width,
            "OUTER": f"{self.outer_units}u",
            "REDUCE": f"{self.reduce_units}u",
            "TO": self.across,
            "TR": self.sharing,
            "SLICES": self.slices,
            "LENGTH": f"{self.length}u",
        }
        if self.along_reduce:
            macros["ALONG_REDUCE"] = 1
        if self.aligned:
            macros["VECTOR_ALIGNED"] = 1
        for i, name in enumerate(names):
            macros[f"{name}_OUTER(o)"] = offset_expression(self.outer, i, "o")
            macros[f"{name}_REDUCE(r)"] = offset_expression(self.reduce, i, "r")
        return macros

    def shared(self, rounds: int, info: DeviceInfo, most: int = GROUP) -> Tile:
        """Return the tile with work-items laid out so that each has about `rounds` vectors of a row or column."""
        if info.schedule == "cpu":
            return replace(self, across=1, sharing=1)
        most = min(most, info.max_work_group)
        group = min(GROUP, most)
        sharing = min(_power(_up(self.reduce_units, rounds)), most)
        if self.along_reduce:
            across = max(1, group // sharing)
        else:  # every work-item reads the parts of all that share its column
            across = min(max(_ACROSS, group // sharing), _power(self.outer_units))
            sharing = min(sharing, max(most // _ACROSS, min(group // across, _ACROSS)))
        return replace(self, across=min(across, _power(self.outer_units)), sharing=sharing)

    def sliced(self, slices: int, rounds: int) -> Tile:
        """Return the tile with about `slices` slices, none so short that a work-item has less than `rounds` vectors."""
        step = self.sharing * rounds
        length = _up(_up(self.reduce_units, max(slices, 1)), step) * step
        return replace(self, slices=max(1, _up(self.reduce_units, length)), length=length)


def make_tile(specs: Sequence[TensorSpec], kept: Sequence[int], info: DeviceInfo, most: int | None = None) -> Tile:
    """Return the tile, still without work-items, that reduces tensors of equal dims over all but the axes `kept`.

    Parameters
    ----------
    specs
        The tensors, in the order of the axes' strides.
    kept
        The axes that are not reduced.
    info
        A GPU gets vectors of 16 aligned bytes; a CPU vectors of a cache line, wherever they start.
    most
        The most lanes of a vector, where a kernel's registers are the limit.
    """
    ndim = len(specs[0].dims)
    outer = _merged(specs, [axis for axis in range(ndim) if axis in kept])
    reduce = _merged(specs, [axis for axis in range(ndim) if axis not in kept])
    along_reduce = _nearness(reduce) < _nearness(outer)
    fast, slow = (reduce, outer) if along_reduce else (outer, reduce)
    gpu = info.schedule == "gpu"
    lanes = vector_lanes(specs[0].dtype, info)
    width = vector_width(fast, slow, specs, lanes if most is None else min(lanes, most), aligned=gpu)
    if width > 1:
        fast = _in_vectors(fast, width)
    outer, reduce = (slow, fast) if along_reduce else (fast, slow)
    return Tile(along_reduce, width, gpu and width > 1, tuple(outer), tuple(reduce))


def vector_lanes(dtype: DataType, info: DeviceInfo) -> int:
    """Return the widest vector that pays: 16 bytes of memory on a GPU, the registers of a CPU."""
    return _GPU_VECTOR // dtype.itemsize if info.schedule == "gpu" else _CPU_VECTOR // dtype.accumulator.itemsize


def vector_width(
    fast: Sequence[Axis], slow: Sequence[Axis], specs: Sequence[TensorSpec], lanes: int, *, aligned: bool
) -> int:
    """Return the widest vector (a power of two up to `lanes`) along the last of the `fast` axes.

    With `aligned`, one whose accesses all lie at multiples of its size.
    """
    if any(stride != 1 for stride in fast[-1].strides):
        return 1
    least = 16 // specs[0].dtype.accumulator.itemsize  # PoCL 3.0 miscompiles functions of two floats
    width = lanes
    while width >= least:
        if _fits(fast, slow, specs, width, aligned):
            return width
        width //= 2
    return 1


def _fits(fast: Sequence[Axis], slow: Sequence[Axis], specs: Sequence[TensorSpec], width: int, aligned: bool) -> bool:
    if fast[-1].size % width:
        return False
    nbytes = width * specs[0].dtype.itemsize
    others = [stride for axis in (*fast[:-1], *slow) if axis.size > 1 for stride in axis.strides]
    return not aligned or (
        all(stride % width == 0 for stride in others) and all(spec.alignment % nbytes == 0 for spec in specs)
    )


def _merged(specs: Sequence[TensorSpec], axes: Sequence[int]) -> list[Axis]:
    dims = tuple(specs[0].dims[axis] for axis in axes)
    if 0 in dims:
        return [Axis(0, (1,) * len(specs))]
    picked = [
        TensorSpec(spec.dtype, dims, tuple(spec.strides[axis] for axis in axes), spec.alignment) for spec in specs
    ]
    return coalesce(dims, picked)


def _nearness(axes: Sequence[Axis]) -> int:
    """Rank how contiguous axes are: the stride of the last one; a single element is as far apart as can be."""
    return sum(axes[-1].strides) if axes[-1].size > 1 else 1 << 40


def _in_vectors(axes: Sequence[Axis], width: int) -> list[Axis]:
    last = axes[-1]
    return [*axes[:-1], Axis(last.size // width, tuple(stride * width for stride in last.strides))]


def _count(axes: Sequence[Axis]) -> int:
    count = 1
    for axis in axes:
        count *= axis.size
    return count


def _up(a: int, b: int) -> int:
    return -(-a // b)


def _power(n: int) -> int:
    """Return the lowest power of two that is at least `n`."""
    return 1 << max(n - 1, 0).bit_length()


def storage_defines(spec: TensorSpec) -> dict[str, Any]:
    """Return the define of ``common/types.h`` for a tensor's storage."""
    return {f"DTYPE_{spec.dtype.name}": 1}
