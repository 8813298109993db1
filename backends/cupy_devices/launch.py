"""Kernel launches through CuPy: arguments in one buffer, and what the driver takes made ready for each stream."""

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
    shape, pointers : tuple, int
        What the driver takes: function, sizes and local memory, and where the table of the values' addresses lies.
    """

    def __init__(self, launch: Launch) -> None:
        import cupy

        self._function = launch.kernel.native.get_function(launch.kernel.name)  # keeps the module loaded
        self.shape = (self._function.ptr, *_padded(launch.grid), *_padded(launch.block), launch.local_bytes)
        if launch.local_bytes:
            cupy.cuda.driver.funcSetAttribute(self._function.ptr, _MOST_DYNAMIC_MEMORY, launch.local_bytes)
        count = len(launch.args)
        self._values = ctypes.create_string_buffer(8 * count)
        first = ctypes.addressof(self._values)
        self._table = (ctypes.c_void_p * count)(*[first + 8 * i for i in range(count)])
        self.pointers = ctypes.addressof(self._table)
        self.pack = _packer(launch.args, self._values)

    def on(self, stream: int) -> Callable[[], Any]:
        """Return a function that launches on a stream, and returns a status that is not 0, if any, or raises."""
        import cupy

        return self.kept(functools.partial(cupy.cuda.driver.launchKernel, *self.shape, stream, self.pointers, 0))

    def kept(self, launch: functools.partial[Any]) -> Callable[[], Any]:
        """Return a launch that keeps the memory of its arguments, which it knows by address."""
        launch.step = self  # type: ignore[attr-defined]
        return launch


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
