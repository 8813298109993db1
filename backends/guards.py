"""Whether arrays still are what a cached call was bound to: the same memory in the same layout.

Every guard looks only at what a program can change of an array that stays alive. It keeps no memory alive itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Guard = Callable[[], bool]
Refs = Sequence[Callable[[], Any]]  # weak references, whose arrays are alive while a guard runs


def guard(arrays: Refs, native: type, holds: Callable[[Refs], Guard]) -> Guard | None:
    """Return the guard of arrays: `holds` makes that of the native ones; None where one cannot be guarded."""
    own = [ref for ref in arrays if type(ref()) is native]
    guards = [holds(own)] if own else []
    for ref in arrays:
        array = ref()
        if type(array) is native:
            continue
        if type(array) is np.ndarray:
            guards.append(_numpy(ref, array))
        elif _is_tensor(array):
            guards.append(_torch(ref, array))
        else:
            return None
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


def _numpy(ref: Callable[[], Any], array: np.ndarray[Any, Any]) -> Guard:
    """Guard a NumPy array. It cannot be resized while a weak reference to it exists."""
    shape, strides, dtype, writable = array.shape, array.strides, array.dtype, array.flags.writeable

    def holds() -> bool:
        array = ref()
        return (
            array.shape == shape
            and array.strides == strides
            and array.dtype is dtype
            and array.flags.writeable is writable
        )

    return holds


def _is_tensor(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _torch(ref: Callable[[], Any], tensor: Any) -> Guard:
    """Guard a torch tensor: ``set_``, ``resize_``, ``transpose_``, ``data =`` and ``requires_grad_`` change it."""
    address, shape, strides = tensor.data_ptr(), tensor.shape, tensor.stride()

    def holds() -> bool:
        tensor = ref()
        return (
            tensor.data_ptr() == address
            and tensor.shape == shape
            and tensor.stride() == strides
            and not tensor.requires_grad
        )

    return holds
