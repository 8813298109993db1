"""Kernel launches on CUDA: arguments in one buffer, and what the driver takes made ready for each stream.

From compute capability 9.0 on a launch may begin while the one before it in its stream ends; every kernel waits in its
first statement (GRID_WAIT) until that has ended and what it wrote is there. That hides most of the way from launch to
launch, and the driver takes less time for such launches.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any

from portadnn.enums import DataType

from ..base import Arg, ConstantArg, CountersArg, Launch, ScalarArg, TensorArg

_STRUCT_CODES = {"i4": "i", "u4": "I", "i8": "q", "u8": "Q", "f4": "f", "f8": "d"}

_MOST_DYNAMIC_MEMORY = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class Step:
    """A launch ready for the driver: its argument values lie in one buffer, which every call fills anew.

    Attributes
    ----------
    pack : callable
        ``pack(arrays, scalars, workspace, counters)`` writes the values.
    """

    def __init__(self, launch: Launch) -> None:
        import cupy

        self._function = launch.kernel.native.get_function(launch.kernel.name)  # keeps the module loaded
        self._shape = (self._function.ptr, *_padded(launch.grid), *_padded(launch.block), launch.local_bytes)
        if launch.local_bytes:
            cupy.cuda.driver.funcSetAttribute(self._function.ptr, _MOST_DYNAMIC_MEMORY, launch.local_bytes)
        count = len(launch.args)
        self._values = ctypes.create_string_buffer(8 * count)
        first = ctypes.addressof(self._values)
        self._table = (ctypes.c_void_p * count)(*[first + 8 * i for i in range(count)])
        self._pointers = ctypes.addressof(self._table)
        self.pack = _packer(launch.args, self._values)

    def on(self, stream: int, early: bool) -> Callable[[], Any]:
        """Return a function that launches on a stream, and returns a status that is not 0, if any, or raises.

        With `early` it may begin while the launch before it ends.
        """
        function = _launch_early() if early else None
        if function is None:
            import cupy

            return self._kept(functools.partial(cupy.cuda.driver.launchKernel, *self._shape, stream, self._pointers, 0))
        code, *shape = self._shape
        config = _Config(*shape, stream, ctypes.addressof(_EARLY), 1)
        # as ctypes passes them on: it takes less time than for its numbers
        words = (ctypes.byref(config), *map(ctypes.c_void_p.from_param, (code, self._pointers)), None)
        return self._kept(functools.partial(function, *words))

    def _kept(self, launch: functools.partial[Any]) -> Callable[[], Any]:
        """Return a launch that keeps the memory of its arguments, which it knows by address."""
        launch.step = self  # type: ignore[attr-defined]
        return launch


class _Attribute(ctypes.Structure):
    """The driver's CUlaunchAttribute."""

    _fields_ = (("id", ctypes.c_uint), ("value", ctypes.c_int * 17))  # the value is 64 bytes, on a multiple of 8


class _Config(ctypes.Structure):
    """The driver's CUlaunchConfig."""

    _fields_ = (
        *((f"{of}_{axis}", ctypes.c_uint) for of in ("grid", "block") for axis in "xyz"),
        ("local_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    )


_EARLY = _Attribute(6, (0, 1))  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION


@functools.cache
def _launch_early() -> Any:
    """Return the driver's cuLaunchKernelEx; None where it cannot be found."""
    try:
        address = ctypes.cast(ctypes.CDLL("libcuda.so.1").cuLaunchKernelEx, ctypes.c_void_p).value
    except (OSError, AttributeError):  # another system, an older driver
        return None
    return ctypes.CFUNCTYPE(ctypes.c_int)(address or 0)


def _padded(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return (*sizes, *(1,) * (3 - len(sizes)))


def _packer(args: Sequence[Arg], values: Any) -> Callable[[Sequence[Any], Sequence[float], int, int], None]:
    """Return a function that writes a launch's arguments, 8 bytes each; generated, because it runs on every call."""
    names: dict[str, Any] = {"values": values}
    words, formats = [], []
    for i, arg in enumerate(args):
        code = "Q"  # an address
        if isinstance(arg, TensorArg):
            words.append(f"arrays[{arg.index}].data.ptr" + (f" + {arg.offset}" if arg.offset else ""))
        elif isinstance(arg, ScalarArg):
            code = "d" if arg.dtype is DataType.DOUBLE else "f"
            words.append(f"scalars[{arg.index}]")
        elif isinstance(arg, ConstantArg):
            code = _STRUCT_CODES[arg.value.dtype.str[1:]]
            names[f"c{i}"] = arg.value.item()
            words.append(f"c{i}")
        elif isinstance(arg, CountersArg):
            words.append("counters")
        else:
            words.append(f"workspace + {arg.offset}")
        formats.append(code + "x" * (8 - struct.calcsize("=" + code)))
    names["pack_into"] = struct.Struct("=" + "".join(formats)).pack_into
    return eval(f"lambda arrays, scalars, workspace, counters: pack_into(values, 0, {', '.join(words)})", names)  # type: ignore[no-any-return]
