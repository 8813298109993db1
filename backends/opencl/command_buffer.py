"""Launches as one command buffer (cl_khr_command_buffer), which PyOpenCL does not wrap: through ctypes.

An OpenCL object begins with a pointer to its driver's table of functions (cl_icd.h), of which one gives the addresses
of those that belong to extensions.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Sequence
from typing import Any

from portadnn.errors import NotSupported

from .launch import Step

EXTENSION = "cl_khr_command_buffer"

_GET_DEVICE_INFO = 3  # the place of clGetDeviceInfo in the table
_GET_ADDRESS = 107  # that of clGetExtensionFunctionAddressForPlatform
_CAPABILITIES = 0x12A9  # CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR
_QUEUE_PROPERTIES = 0x12AA  # CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR
_SIMULTANEOUS_CAPABILITY = 1 << 2
_FLAGS, _SIMULTANEOUS = 0x1293, 1  # CL_COMMAND_BUFFER_FLAGS_KHR, CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR

_POINTER, _UINT, _INT = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int32
_TYPES: dict[str, tuple[Any, ...]] = {  # what each function returns, and its arguments
    "clCreateCommandBufferKHR": (_POINTER, _UINT, _POINTER, _POINTER, _POINTER),
    "clCommandNDRangeKernelKHR": (_INT, *(4 * [_POINTER]), _UINT, *(3 * [_POINTER]), _UINT, *(3 * [_POINTER])),
    "clFinalizeCommandBufferKHR": (_INT, _POINTER),
    "clEnqueueCommandBufferKHR": (_INT, _UINT, _POINTER, _POINTER, _UINT, _POINTER, _POINTER),
    "clReleaseCommandBufferKHR": (_INT, _POINTER),
}


def _of_table(place: int, platform: int, *types: Any) -> Any:
    """Return a function of the table that a platform begins with."""
    table = _POINTER.from_address(platform).value or 0
    return ctypes.CFUNCTYPE(*types)(_POINTER.from_address(table + place * ctypes.sizeof(_POINTER)).value or 0)


@functools.cache
def _functions(platform: int) -> dict[str, Any]:
    """Return the extension's functions by name."""
    address_of = _of_table(_GET_ADDRESS, platform, _POINTER, _POINTER, ctypes.c_char_p)
    addresses = {name: address_of(platform, name.encode()) for name in _TYPES}
    missing = [name for name, address in addresses.items() if not address]
    if missing:
        raise NotSupported(f"the driver does not have {', '.join(missing)}")
    return {name: ctypes.CFUNCTYPE(*_TYPES[name])(address) for name, address in addresses.items()}


def why_not(device: Any) -> str | None:
    """Return why a PyOpenCL device cannot take command buffers that are enqueued again while they run."""
    if EXTENSION not in device.extensions.split() or "cl_khr_icd" not in device.platform.extensions.split():
        return f"the device does not have {EXTENSION}"
    types = (_INT, _POINTER, _UINT, ctypes.c_size_t, _POINTER, _POINTER)
    get = _of_table(_GET_DEVICE_INFO, device.platform.int_ptr, *types)
    values = []
    for what in (_CAPABILITIES, _QUEUE_PROPERTIES):
        value = ctypes.c_uint64()
        if status := get(device.int_ptr, what, ctypes.sizeof(value), ctypes.addressof(value), None):
            return f"clGetDeviceInfo: status {status}"
        values.append(value.value)
    if not values[0] & _SIMULTANEOUS_CAPABILITY:
        return f"{EXTENSION} of the device does not enqueue a command buffer that still runs"
    if values[1]:
        return f"{EXTENSION} of the device asks for queues with properties {values[1]:#x}"
    return None


class CommandBuffer:
    """Kernels one after another, recorded with the arguments that are set now.

    Raises
    ------
    NotSupported
        The driver refused.
    """

    def __init__(self, device: Any, queue: Any, steps: Sequence[Step]) -> None:
        self._steps = steps  # whose kernel objects the commands use
        functions = _functions(device.platform.int_ptr)
        queues, flags = (_POINTER * 1)(queue.int_ptr), (ctypes.c_uint64 * 3)(_FLAGS, _SIMULTANEOUS, 0)
        status = _INT()
        buffer = functions["clCreateCommandBufferKHR"](1, queues, flags, ctypes.addressof(status))
        _demand(status.value, "clCreateCommandBufferKHR")
        weakref.finalize(self, functions["clReleaseCommandBufferKHR"], buffer).atexit = False
        point: Any = None  # of the command before, for which the next one waits
        for step in steps:
            kernel, dims, _, size, block, *_ = step.words
            before, point = point, _UINT()
            wait = (0, None) if before is None else (1, ctypes.addressof(before))
            words = (None, None, kernel, dims, None, size, block, *wait, ctypes.addressof(point), None)
            _demand(functions["clCommandNDRangeKernelKHR"](buffer, *words), "clCommandNDRangeKernelKHR")
        _demand(functions["clFinalizeCommandBufferKHR"](buffer), "clFinalizeCommandBufferKHR")
        self._enqueue, self._buffer = functions["clEnqueueCommandBufferKHR"], buffer

    def __call__(self, queue: Any) -> int:
        """Enqueue it; return a status that is not 0 where that failed."""
        return self._enqueue(1, (_POINTER * 1)(queue.int_ptr), self._buffer, 0, None, None)  # type: ignore[no-any-return]


def _demand(status: int, name: str) -> None:
    if status:
        raise NotSupported(f"{name}: status {status}")
