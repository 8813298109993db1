"""Where tensors and workspaces of a call may lie, and which may share memory; the others are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadParam
from ..problem import ALIGNMENT, Problem, TensorSpec

if TYPE_CHECKING:
    from portadnn_backends.base import Device

SEARCH_LIMIT = 100_000  # candidates to try when two strided tensors interleave


def extents_of(problem: Problem) -> tuple[int, ...]:
    """Return the bytes from the first to the last element of each tensor."""
    return tuple(spec.span * spec.dtype.itemsize for spec in problem.tensors)


def check_memory(problem: Problem, extents: Sequence[int], addresses: Sequence[int]) -> None:
    """Refuse outputs that share memory with an input, except in place where the operation allows it."""
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
    base = min(addresses[out], addresses[other]) - ALIGNMENT  # device addresses need not fit the host's
    try:
        shared = np.shares_memory(
            _phantom(specs[out], addresses[out] - base),
            _phantom(specs[other], addresses[other] - base),
            max_work=SEARCH_LIMIT,  # type: ignore[arg-type]  # NumPy's stub lists two of the values
        )
    except np.exceptions.TooHardError:
        shared = True  # the memory interleaves in a way nobody means
    if shared:
        raise BadParam(
            argument=names[out], expected=f"memory of its own, apart from {names[other]}", got="shared memory"
        )


def check_apart(
    device: Device, problem: Problem, extents: Sequence[int], arrays: Sequence[Any], workspace: Any, size: int
) -> None:
    """Demand that the first `size` bytes of a workspace belong to no tensor."""
    start = device.address(workspace)
    for name, array, extent in zip(problem.names, arrays, extents, strict=True):
        if extent and device.address(array) < start + size and start < device.address(array) + extent:
            raise BadParam(argument="workspace", expected=f"memory of its own, apart from {name}", got="shared memory")


def check_workspace_alignment(device: Device, workspace: Any) -> None:
    """Demand that a workspace begins where vectors of any type may lie."""
    misaligned = device.address(workspace) % ALIGNMENT
    if misaligned:
        expected = f"an address that is a multiple of {ALIGNMENT} bytes"
        raise BadParam(argument="workspace", expected=expected, got=f"{misaligned} mod {ALIGNMENT}")


class _Phantom:
    """Stands for memory that NumPy must not touch: only its addresses are compared."""

    def __init__(self, spec: TensorSpec, address: int) -> None:
        size = spec.dtype.itemsize
        self.__array_interface__ = {
            "version": 3,
            "shape": spec.dims,
            "strides": tuple(s * size for s in spec.strides),
            "typestr": f"|V{size}",
            "data": (address, True),
        }


def _phantom(spec: TensorSpec, address: int) -> np.ndarray[Any, Any]:
    return np.asarray(_Phantom(spec, address))
