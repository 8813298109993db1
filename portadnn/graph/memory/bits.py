"""BOOLEAN tensors with a bit for each element in memory, as cuDNN's engines for bit masks have them.

A buffer says so by its size: bytes for just an eighth of the elements from the first to the last. Element i of the
memory is bit ``i % 8``, counted from the lowest, of byte ``i // 8``. Kernels take a byte for each element, so that the
bits are copied before and after.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..data_types import data_type
from ..operation_graph import TensorInfo
from . import host as memory

if TYPE_CHECKING:
    from portadnn_backends.base import Device

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Bits:
    """Memory with a bit for each element.

    Attributes
    ----------
    read, write
        Return the bytes, and take others.
    """

    info: TensorInfo
    read: Callable[[], Bytes]
    write: Callable[[Bytes], None]

    def opened(self) -> Bytes:
        """Return a byte, 0 or 1, for each element from the first to the last."""
        return np.unpackbits(self.read(), count=self.info.extent, bitorder="little")


@dataclass(frozen=True)
class Packed:
    """A result, and the device's array of a byte for each element."""

    bits: Bits
    flat: Any

    def fetch(self, device: Device) -> None:
        """Write the result's bits, and no others."""
        info, whole = self.bits.info, self.bits.opened()
        memory.write(info, whole, device.read_bytes(self.flat), whole.copy())
        self.bits.write(np.packbits(whole != 0, bitorder="little"))


def of_host(value: Any, info: TensorInfo, *, output: bool) -> Bits | None:
    """Return an array in host memory as bits; None where it is no such array.

    Raises
    ------
    InvalidVariantPack
        It is an output and read-only (PG-PACK-007).
    """
    if not _may_be(info) or not memory.is_host(value):
        return None
    raw, name = memory.opened(value, info)
    if name not in {"uint8", "int8"} or raw.nbytes != -(-info.extent // 8):
        return None
    if output and not raw.flags.writeable:
        raise memory.read_only(info)

    def write(content: Bytes) -> None:
        raw[...] = content

    return Bits(info, lambda: raw, write)


def of_device(device: Device, array: Any, info: TensorInfo) -> Bits | None:
    """Return a native array of a device as bits; None where it is no such array."""
    if not _may_be(info):
        return None
    dims, steps, dtype, _ = device.signature(array)
    room = 1 + sum((size - 1) * step for size, step in zip(dims, steps, strict=True))
    if dtype.name not in {"uint8", "int8"} or room != -(-info.extent // 8):
        return None
    return Bits(info, lambda: device.read_bytes(array), lambda content: device.write_bytes(array, content))


def _may_be(info: TensorInfo) -> bool:
    return info.data_type is data_type.BOOLEAN and info.extent > 1 and info.ragged_offset is None
