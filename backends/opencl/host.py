"""Arrays in host memory as buffers of an OpenCL CPU device, which computes in that memory: NumPy's, torch's, DLPack's.

Such buffers keep no memory alive: whoever passes an array has it for as long as the call takes, and calls with such
arrays wait for their end.
"""

from __future__ import annotations

import ctypes
import functools
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from portadnn.errors import AllocFailed, BadParam
from portadnn.host_arrays import check_host, span_bytes

from .devices import opencl

_log = logging.getLogger("portadnn")


class _Place:
    """Where a buffer lies in the host's memory, and whether it may be written."""

    __slots__ = ("address", "writable")

    def __init__(self, address: int, writable: bool) -> None:
        self.address = address
        self.writable = writable


class HostMemory:
    """The host's memory as a context sees it.

    OpenCL lets a device keep a copy of such memory. PoCL does not; with one that does, contents are handed over before
    and after each call.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self._shared: bool | None = None  # whether the device computes in the host's memory; None until first needed

    def buffer(self, host: np.ndarray[Any, Any], argument: str) -> tuple[Any, int]:
        """Return a buffer that holds an array, and the byte in it where the array begins.

        Raises
        ------
        BadParam
            Negative strides.
        AllocFailed
            The device cannot use the memory.
        """
        if any(step < 0 and dim > 1 for dim, step in zip(host.shape, host.strides, strict=True)):
            raise BadParam(argument=argument, expected="an array without negative strides", got=host.strides)
        extent = span_bytes(host.shape, tuple(max(step, 0) for step in host.strides), host.itemsize)
        if extent == 0:
            return None, 0
        check_host(host, argument)
        return self.at(host.__array_interface__["data"][0], extent, host.flags.writeable, argument)

    def at(self, address: int, extent: int, writable: bool = True, argument: str = "array") -> tuple[Any, int]:
        """Return a buffer that holds so many bytes of memory from an address on, and the byte in it where they begin.

        Raises
        ------
        AllocFailed
            The device cannot use the memory.
        """
        if extent == 0:
            return None, 0
        offset = address & 15  # kernels are told of the alignment by the offset
        cl = opencl()
        memory = (ctypes.c_uint8 * (offset + extent)).from_address(address - offset)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        try:
            buffer = _buffer_type()(self._context, flags, hostbuf=memory)
        except (cl.MemoryError, cl.LogicError, cl.RuntimeError) as error:
            raise AllocFailed(f"{argument}: {extent} bytes of host memory: {error}") from None
        buffer.portadnn_host = _Place(address - offset, writable)
        return buffer, offset

    def wait(self, queue: Any, buffers: Sequence[Any]) -> None:
        """Wait for a call's end; the buffers' contents are in the host's memory then."""
        queue.finish()
        if not self._shares(queue, buffers[0]):
            for buffer in buffers:
                self._map(queue, buffer, opencl().map_flags.READ)

    def written(self, queue: Any, buffers: Sequence[Any]) -> None:
        """Hand the host memory's contents to the device, before a call with buffers that it knows."""
        if not self._shares(queue, buffers[0]):
            for buffer in buffers:
                self._map(queue, buffer, opencl().map_flags.WRITE)

    def _shares(self, queue: Any, buffer: Any) -> bool:
        if self._shared is None:
            self._shared = self._map(queue, buffer, opencl().map_flags.READ) == buffer.portadnn_host.address
            if not self._shared:
                _log.info("%s copies arrays in host memory before and after each call", queue.device.name)
        return self._shared

    @staticmethod
    def _map(queue: Any, buffer: Any, flags: int) -> int:
        """Map a buffer and unmap it again; return where it was mapped."""
        mapped, _ = opencl().enqueue_map_buffer(queue, buffer, flags, 0, (buffer.size,), np.uint8, is_blocking=True)
        address: int = mapped.__array_interface__["data"][0]
        mapped.base.release(queue)
        return address


@functools.cache
def _buffer_type() -> Any:
    class HostBuffer(opencl().Buffer):  # type: ignore[misc]
        """A buffer in the host's memory, as a class that takes attributes."""

    return HostBuffer
