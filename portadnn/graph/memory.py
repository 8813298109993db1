"""Host memory of any origin as arrays with a graph's dims and strides: NumPy, torch, DLPack, pointers.

A graph's tensor says how its buffer is read, not the array that holds it: one of other dims will do if it is long
enough.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from .data_types import data_type
from .errors import fail
from .operation_graph import TensorInfo

_DLPACK_CPU = 1


class _Memory:
    """Shows `nbytes` of memory from an address on, which `owner` keeps alive, to NumPy."""

    def __init__(self, owner: Any, address: int, nbytes: int, writable: bool) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, not writable),
        }


def _bytes_of(owner: Any, address: int, nbytes: int, writable: bool) -> npt.NDArray[np.uint8]:
    if nbytes == 0:
        return np.empty(0, np.uint8)
    return np.asarray(_Memory(owner, address, nbytes, writable))


def is_host(value: Any) -> bool:
    """Tell whether an array lies in the host's memory, whatever library it is of."""
    if isinstance(value, np.ndarray):
        return True
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return bool(value.device.type == "cpu")
    if hasattr(value, "__dlpack_device__"):
        return int(value.__dlpack_device__()[0]) == _DLPACK_CPU
    return hasattr(value, "__array_interface__") and not hasattr(value, "__cuda_array_interface__")


def _opened(value: Any) -> tuple[npt.NDArray[np.uint8], str]:
    """Return an array's bytes from its first element on, as far as they are its own, and its dtype's name."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach()
        size = value.element_size()
        room = value.untyped_storage().nbytes() - value.storage_offset() * size
        return _bytes_of(value, value.data_ptr(), room, True), str(value.dtype).removeprefix("torch.")
    array = value if isinstance(value, np.ndarray) else _numpy(value)
    if min(array.strides, default=0) < 0:
        raise fail("PG-PACK-006", expected="an array without negative strides", got=array.strides, fix="copy it")
    steps = sum((d - 1) * s for d, s in zip(array.shape, array.strides, strict=True)) if array.size else -array.itemsize
    interface = array.__array_interface__["data"]
    return _bytes_of(array, interface[0], steps + array.itemsize, array.flags.writeable), array.dtype.name


def _numpy(value: Any) -> npt.NDArray[Any]:
    return np.asarray(value) if hasattr(value, "__array_interface__") else np.from_dlpack(value)


def view(value: Any, info: TensorInfo, *, output: bool) -> npt.NDArray[Any]:
    """Return host memory as an array of a tensor's type, dims and strides.

    Parameters
    ----------
    value
        A NumPy array, torch tensor or DLPack object in host memory, or an address. An address is trusted to have room.
    output
        Whether it will be written.

    Returns
    -------
    array
        In the tensor's dims; all memory there is, in one dim, for ragged tensors.

    Raises
    ------
    InvalidVariantPack
        It is no memory, too short, of another type, or read-only (PG-PACK-004 to 007).
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        content = (ctypes.c_uint8 * info.extent).from_address(int(value))
        raw, name = np.ctypeslib.as_array(content), info.data_type.storage.name
    elif is_host(value):
        raw, name = _opened(value)
    else:
        raise fail(
            "PG-PACK-006",
            tensor=info.describe(),
            expected="an array in host memory, a DLPack object or an address",
            got=f"{type(value).__module__}.{type(value).__name__}",
            fix="copy it to where the handle's device is",
        )
    check_type(info, name)
    ragged = info.ragged_offset is not None
    if not ragged:
        check_room(info, raw.nbytes)
    if output and not raw.flags.writeable:
        raise fail(
            "PG-PACK-007", tensor=info.describe(), expected="a writable array", got="a read-only one", fix="copy it"
        )
    storage = info.data_type.storage
    if ragged:
        return raw[: raw.size // storage.itemsize * storage.itemsize].view(storage)
    strides = [s * storage.itemsize if d > 1 else 0 for d, s in zip(info.dims, info.strides, strict=True)]
    array: npt.NDArray[Any] = np.ndarray(info.dims, storage, raw[: info.extent], strides=strides)
    return array


def flat(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the memory behind an array, gaps included, in one dim."""
    length = 1 + sum((d - 1) * s for d, s in zip(array.shape, array.strides, strict=True)) // array.itemsize
    bits = array.view(f"u{array.itemsize}")  # NumPy's function does not know all of ml_dtypes' types
    return np.lib.stride_tricks.as_strided(bits, (length,), (array.itemsize,)).view(array.dtype)


def check_room(info: TensorInfo, nbytes: int) -> None:
    """Demand that a buffer holds a tensor's elements with their gaps."""
    if nbytes < info.extent:
        raise fail(
            "PG-PACK-004",
            tensor=info.describe(),
            expected=f"at least {info.extent} bytes ({info.span} elements from the first to the last)",
            got=f"{nbytes} bytes",
            fix="pass a longer buffer, or build the graph with the buffer's dims and strides",
        )


def check_type(info: TensorInfo, name: str) -> None:
    """Demand that elements of a dtype of that name can be read as the tensor's: of its own type, or raw bits."""
    wanted = info.data_type
    names = {wanted.storage.name, "uint8"}
    if wanted is data_type.BFLOAT16:
        names |= {"bfloat16", "uint16", "int16"}
    elif wanted in (data_type.FP8_E4M3, data_type.FP8_E5M2):
        names.add("float8_e4m3fn" if wanted is data_type.FP8_E4M3 else "float8_e5m2")
    elif wanted is data_type.BOOLEAN:
        names.add("int8")
    if name not in names:
        raise fail(
            "PG-PACK-005",
            tensor=info.describe(),
            expected=f"elements of {wanted.storage.name}, or bytes",
            got=name,
            fix=f"convert the array, or set_data_type to what {name} is",
        )


def number(value: Any, info: TensorInfo) -> float | int:
    """Return the number of a tensor that is passed by value.

    Raises
    ------
    InvalidVariantPack
        It is neither a number nor an array of one element in host memory (PG-PACK-006).
    """
    if isinstance(value, (bool, int, float, np.generic)):
        return value if isinstance(value, (int, float)) else value.item()
    if is_host(value):
        array = view(value, info, output=False)
        return info.data_type.loaded(array).reshape(()).item()  # type: ignore[no-any-return]
    got = f"{type(value).__module__}.{type(value).__name__}"
    raise fail(
        "PG-PACK-006",
        tensor=info.describe(),
        expected="a number or one element in host memory",
        got=got,
        fix="pass a float",
    )
