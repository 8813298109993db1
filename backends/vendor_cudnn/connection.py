"""A cuDNN handle on one CUDA device, and what steps around its calls do to CuPy's memory."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np

from .library import Library

COPY = 4  # cudaMemcpyDefault: addresses tell which way


class CupyConnection:
    """A handle of the library on CuPy's current device. Calls of several threads need one each.

    Parameters
    ----------
    cupy
        CuPy, or what stands for it in tests.
    """

    def __init__(self, library: Library, cupy: Any) -> None:
        self.library = library
        self.cupy = cupy
        self.stream = 0
        handle = ctypes.c_void_p()
        library.call("cudnnCreate", ctypes.byref(handle))
        self.handle = handle.value
        weakref.finalize(self, library.function("cudnnDestroy"), handle)

    def use(self, stream: int) -> None:
        """Enqueue on the stream at that address from now on."""
        if stream != self.stream:
            self.library.call("cudnnSetStream", self.handle, stream)
            self.stream = stream

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Enqueue a copy from one address to another."""
        self.cupy.cuda.runtime.memcpyAsync(target, source, nbytes, COPY, self.stream)

    def read(self, source: int, nbytes: int) -> bytes:
        """Return bytes of the device, once everything enqueued has written them."""
        buffer = ctypes.create_string_buffer(nbytes)
        self.copy(ctypes.addressof(buffer), source, nbytes)
        self.cupy.cuda.runtime.streamSynchronize(self.stream)
        return buffer.raw

    def write(self, target: int, data: bytes) -> None:
        """Enqueue a copy of some bytes to the device; they are read before the call returns."""
        buffer = ctypes.create_string_buffer(data, len(data))
        self.copy(target, ctypes.addressof(buffer), len(data))

    def store(self, data: bytes) -> Any:
        """Return a device array of these bytes."""
        return self.cupy.asarray(np.frombuffer(data, np.uint8))
