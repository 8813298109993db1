"""Aligned copies of host arrays whose elements are misaligned."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadParam
from ..problem import Problem

if TYPE_CHECKING:
    from portadnn_backends.base import Device

_log = logging.getLogger("portadnn")
_told: set[str] = set()  # names of devices whose copies were logged

Originals = dict[int, tuple[Any, np.ndarray[Any, Any], np.ndarray[Any, Any]]]  # array, its memory, and the copy


def aligned(
    device: Device, kind: type[Problem], arrays: Sequence[Any], signatures: Sequence[Any]
) -> tuple[Sequence[Any], Sequence[Any], Originals]:
    """Replace misaligned arrays by copies; return arrays, signatures and the originals.

    Memory of a device is not copied; its Problem refuses it.
    """
    originals: Originals = {}
    for i, signature in enumerate(signatures):
        if signature is None or signature[3] % signature[2].itemsize == 0:
            continue
        if any(step % signature[2].itemsize for step in signature[1]):  # a field of packed records, to be refused
            continue
        host = device.host_view(arrays[i])
        if host is not None:
            originals[i] = (arrays[i], host, _copy(host))
    if not originals:
        return arrays, signatures, originals
    tell_of_copies(device)
    device.host_access("copies an array that is not aligned to its elements")
    names = kind.tensor_names()
    arrays = [device.wrap(originals[i][2], names[i]) if i in originals else array for i, array in enumerate(arrays)]
    return arrays, device.look(arrays), originals


def check_writable(problem: Problem, kind: type[Problem], originals: Originals) -> None:
    """Refuse read-only outputs: their aligned copies are writable."""
    for i, (_, host, _) in originals.items():
        name = kind.tensor_names()[i]
        if name in problem.written and not host.flags.writeable:
            raise BadParam(argument=name, expected="a writable array", got="a read-only one")


def put_back(problem: Problem, kind: type[Problem], arrays: Sequence[Any], originals: Originals) -> Sequence[Any]:
    """Copy results back into the caller's outputs, and return these."""
    names = kind.tensor_names()
    given = list(arrays)
    for i, (array, host, copy) in originals.items():
        given[i] = array
        if names[i] in problem.written:
            host[...] = copy
    return given


def _copy(host: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an aligned copy with the same strides."""
    steps = sum((d - 1) * s for d, s in zip(host.shape, host.strides, strict=True)) if host.size else 0
    memory = np.empty(steps // host.itemsize + 1, host.dtype)
    copy: np.ndarray[Any, Any] = np.ndarray(host.shape, host.dtype, memory, strides=host.strides)
    copy[...] = host
    return copy


def tell_of_copies(device: Device) -> None:
    """Log, once for each kind of device, that calls copy misaligned arrays."""
    if device.info.name not in _told:
        _told.add(device.info.name)
        _log.info("%s computes on copies of arrays that are not aligned to their elements", device.info.name)
