"""Checks of aliasing between tensors and workspaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadParam
from ..problem import ALIGNMENT, Problem, TensorSpec

if TYPE_CHECKING:
    from portadnn_backends.base import Device

SEARCH_LIMIT = 100_000  # candidates to try when two strided tensors interleave


def extents_of(problem: Problem) -> tuple[int, ...]:
    """Return the memory extent of each tensor."""
    return tuple(spec.span * spec.dtype.itemsize for spec in problem.tensors)


def check_memory(problem: Problem, extents: Sequence[int], addresses: Sequence[int]) -> None:
    """Refuse outputs that alias an input, except in-place pairs of the operation."""
    for out in range(len(addresses) - len(problem.written), len(addresses)):
        start = addresses[out]
        end = start + extents[out]
        for other in range(out):
            place = addresses[other]
            if place < end and start < place + extents[other]:
                _check_shared(problem, out, other, addresses)


def _check_shared(problem: Problem, out: int, other: int, addresses: Sequence[int]) -> None:
    specs = problem.tensors
    names = problem.names
    pair = (names[out], names[other])
    if pair in problem.in_place and addresses[out] == addresses[other]:
        needed = problem.together.get(pair)
        if needed is not None and addresses[names.index(needed)] != addresses[out]:
            raise BadParam(
                argument=needed,
                expected=f"{names[out]} as well, because {names[other]} is",
                got="another tensor",
            )
        if specs[out].dtype is specs[other].dtype and specs[out].same_strides(specs[other]):
            return
        raise BadParam(
            f"in place needs the layout of {names[other]}",
            argument=f"{names[out]}.strides",
            expected=str(specs[other]),
            got=str(specs[out]),
        )
    if share_memory(Extent.of(specs[out], addresses[out]), Extent.of(specs[other], addresses[other])):
        raise BadParam(
            argument=names[out], expected=f"memory of its own, apart from {names[other]}", got="shared memory"
        )


def check_apart(
    device: Device, problem: Problem, extents: Sequence[int], arrays: Sequence[Any], workspace: Any, size: int
) -> None:
    """Demand that the first `size` bytes of a workspace alias no tensor."""
    start = device.address(workspace)
    for name, array, extent in zip(problem.names, arrays, extents, strict=True):
        if extent and device.address(array) < start + size and start < device.address(array) + extent:
            raise BadParam(argument="workspace", expected=f"memory of its own, apart from {name}", got="shared memory")


@dataclass(frozen=True)
class Extent:
    """Memory extent of a tensor: address, dims, strides and element size in bytes."""

    address: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int

    @classmethod
    def of(cls, spec: TensorSpec, address: int) -> Extent:
        """Return the extent of a tensor at an address."""
        size = spec.dtype.itemsize
        return cls(address, spec.dims, tuple(s * size for s in spec.strides), size)

    @property
    def end(self) -> int:
        """Address after the last element."""
        if 0 in self.dims:
            return self.address
        return self.address + self.itemsize + sum((d - 1) * s for d, s in zip(self.dims, self.strides, strict=True))

    @property
    def gapless(self) -> bool:
        """Tell whether elements fill the extent without gaps or overlaps."""
        length = self.itemsize
        for stride, dim in sorted((s, d) for d, s in zip(self.dims, self.strides, strict=True) if d != 1):
            if stride != length:
                return False
            length *= dim
        return True


def share_memory(one: Extent, other: Extent) -> bool:
    """Tell whether two tensors alias."""
    if one.end <= other.address or other.end <= one.address:
        return False
    base = min(one.address, other.address) - ALIGNMENT  # device addresses need not fit the host's
    try:
        return np.shares_memory(
            np.asarray(_Phantom(one, base)),
            np.asarray(_Phantom(other, base)),
            max_work=SEARCH_LIMIT,  # type: ignore[arg-type]  # NumPy's stub lists two of the values
        )
    except np.exceptions.TooHardError:
        return True  # the memory interleaves in a way nobody means


def check_workspace_alignment(device: Device, workspace: Any) -> None:
    """Demand that a workspace is aligned for vectors of any type."""
    misaligned = device.address(workspace) % ALIGNMENT
    if misaligned:
        expected = f"an address that is a multiple of {ALIGNMENT} bytes"
        raise BadParam(argument="workspace", expected=expected, got=f"{misaligned} mod {ALIGNMENT}")


class _Phantom:
    """Array interface of memory that only NumPy's address arithmetic may use."""

    def __init__(self, extent: Extent, base: int) -> None:
        self.__array_interface__ = {
            "version": 3,
            "shape": extent.dims,
            "strides": extent.strides,
            "typestr": f"|V{extent.itemsize}",
            "data": (extent.address - base, True),
        }
