"""Scratch memory of a handle: one block for each stream, shared by its calls in stream order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from portadnn_backends.base import Device


class Lease:
    """Lease of scratch memory that bound launches hold; checked under the handle's lock.

    Attributes
    ----------
    valid : bool
        False once the handle was closed or the memory was replaced.
    memory : object
        The block of scratch memory, kept alive; None for launches without, and once it is not valid.
    size : int
        Bytes.
    """

    __slots__ = ("memory", "size", "valid")

    def __init__(self, memory: Any = None, size: int = 0) -> None:
        self.valid = True
        self.memory = memory
        self.size = size

    def end(self) -> None:
        """End the lease: no launch uses the memory any more."""
        self.valid = False
        self.memory = None


class ScratchPool:
    """Scratch memory of a handle; used under its lock."""

    def __init__(self) -> None:
        self._blocks: dict[int, Lease] = {}
        self.base = Lease()  # of launches that need no scratch memory

    def get(self, device: Device, nbytes: int) -> Lease:
        """Return the current stream's block, grown to at least `nbytes`; in a capture of PyTorch's, a new one."""
        if device.capturing():
            return Lease(device.workspace(nbytes), nbytes)
        key = device.stream_key()
        lease = self._blocks.get(key)
        if lease is None or lease.size < nbytes:
            if lease is not None:
                self._drop(device, key)
            lease = self._blocks[key] = Lease(device.workspace(nbytes), nbytes)
        return lease

    def blocks(self) -> list[Lease]:
        """Return the blocks that there are."""
        return list(self._blocks.values())

    def _drop(self, device: Device, key: int) -> None:
        device.synchronize()  # what is enqueued may still use it
        self._blocks.pop(key).end()

    def clear(self, device: Device) -> None:
        """Drop all blocks and the calls bound to them."""
        if self._blocks:
            device.synchronize()
        self.end()

    def end(self) -> None:
        """End the lease without waiting: the device is idle."""
        for lease in (*self._blocks.values(), self.base):
            lease.end()
        self._blocks.clear()
        self.base = Lease()

    def invalidate(self) -> None:
        """Invalidate the lease, and keep the memory."""
        for lease in (*self._blocks.values(), self.base):
            lease.valid = False
