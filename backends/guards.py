"""Whether arrays still are what a cached call was bound to: the same memory in the same layout.

Every guard looks only at what a program can change of an array that stays alive. It keeps no memory alive itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from portadnn.host_arrays import is_torch

Guard = Callable[[], bool]
Refs = Sequence[Callable[[], Any]]  # weak references, whose arrays are alive while a guard runs


def guard(arrays: Refs, native: type, holds: Callable[[Refs], Guard]) -> Guard | None:
    """Return the guard of arrays: `holds` makes that of the native ones; None where one cannot be guarded."""
    own = [ref for ref in arrays if type(ref()) is native]
    others = [ref for ref in arrays if type(ref()) is not native]
    host = [ref for ref in others if type(ref()) is np.ndarray]
    tensors = [ref for ref in others if is_torch(ref())]
    if len(host) + len(tensors) < len(others):
        return None
    kinds = ((own, holds), (host, _numpy), (tensors, _torch))
    guards = [make(refs) for refs, make in kinds if refs]
    if len(guards) == 1:
        return guards[0]

    def all_hold() -> bool:
        for one in guards:  # noqa: SIM110  # a generator takes twice as long
            if not one():
                return False
        return True

    return all_hold


def holds_shape(arrays: Refs) -> Guard:
    """Return the guard of CuPy arrays: only their shape can be set."""
    known = [(ref, ref().shape) for ref in arrays]
    if len(known) == 2:  # the most common, in half the time of a loop
        (first, shape), (second, other) = known
        return lambda: first().shape == shape and second().shape == other

    def hold() -> bool:
        for ref, shape in known:  # noqa: SIM110
            if ref().shape != shape:
                return False
        return True

    return hold


def _numpy(arrays: Refs) -> Guard:
    """Guard NumPy arrays. They cannot be resized while a weak reference to them exists."""
    known = [(ref, a.shape, a.strides, a.dtype, a.flags.writeable) for ref, a in ((ref, ref()) for ref in arrays)]

    def hold() -> bool:
        for ref, shape, strides, dtype, writable in known:
            array = ref()
            if (
                array.shape != shape
                or array.strides != strides
                or array.dtype is not dtype
                or array.flags.writeable is not writable
            ):
                return False
        return True

    return hold


def _torch(tensors: Refs) -> Guard:
    """Guard torch tensors: ``set_``, ``resize_``, ``transpose_``, ``data =`` and ``requires_grad_`` change them."""
    known = [(ref, t.data_ptr(), t.shape, t.stride()) for ref, t in ((ref, ref()) for ref in tensors)]

    def hold() -> bool:
        for ref, address, shape, strides in known:
            tensor = ref()
            if (
                tensor.data_ptr() != address
                or tensor.requires_grad
                or tensor.shape != shape
                or tensor.stride() != strides
            ):
                return False
        return True

    return hold
