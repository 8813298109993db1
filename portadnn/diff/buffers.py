"""Guarded host buffers: a tensor of any strides inside memory whose other bytes have a known pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..handle import Handle
from ..problem import ALIGNMENT, TensorSpec

GUARD = 32  # elements at each end of every buffer, a multiple of 16 bytes


def on_host(handle: Handle, array: Any) -> npt.NDArray[Any]:
    """Copy a native array to the host as stored; of bfloat16 without ml_dtypes plain bytes, unlike Handle.to_numpy."""
    with handle.lock:
        found: npt.NDArray[Any] = handle.device.to_numpy(array)
    return found


@dataclass
class Buffer:
    """A tensor inside guarded memory.

    Attributes
    ----------
    spec : TensorSpec
    memory : numpy.ndarray
        One-dimensional, of the storage type, with `GUARD` elements or more before and behind the tensor.
    offset : int
        Elements before the tensor's first one.
    """

    spec: TensorSpec
    memory: npt.NDArray[Any]
    offset: int

    @classmethod
    def filled(cls, spec: TensorSpec, values: npt.ArrayLike) -> Buffer:
        """Return a buffer whose tensor has these values, and whose guards and gaps have a pattern."""
        offset = GUARD if spec.alignment == ALIGNMENT else GUARD + spec.alignment // spec.dtype.itemsize
        count = offset + spec.span + GUARD
        pattern = np.arange(count * spec.dtype.itemsize, dtype=np.int64) * 37 % 251
        buffer = cls(spec, pattern.astype(np.uint8).view(spec.dtype.storage), offset)
        buffer.array[...] = values
        return buffer

    def after(self, memory: npt.NDArray[Any]) -> Buffer:
        """Return the same tensor in what its memory became."""
        return Buffer(self.spec, memory, self.offset)

    @property
    def array(self) -> Any:
        """The tensor, in logical order."""
        size = self.spec.dtype.itemsize
        return np.ndarray(
            self.spec.dims,
            self.memory.dtype,
            self.memory,
            self.offset * size,
            tuple(s * size for s in self.spec.strides),
        )

    def outside(self) -> bytes:
        """Return the bytes that do not belong to the tensor."""
        mask = np.ones(self.memory.size, np.uint8)
        np.ndarray(self.spec.dims, np.uint8, mask, self.offset, self.spec.strides)[...] = 0
        outside: npt.NDArray[Any] = self.memory[mask != 0]
        return outside.tobytes()
