"""Arrays in host memory, of any library: NumPy's, torch's, DLPack's and all that have an array interface.

They are shared without a copy, and looked at before anybody reads or writes them: what has a mask or requires grad is
refused, as is what leaves its memory.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from .bfloat16 import is_bfloat16, widened
from .enums import DataType
from .errors import BadParam, written

DLPACK_CPU = 1


def span_bytes(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """Return the bytes from the first to the last element, for non-negative byte strides."""
    if 0 in shape:
        return 0
    return itemsize + sum((d - 1) * s for d, s in zip(shape, strides, strict=True))


def _is_a(value: Any, module: str, name: str) -> bool:
    """Tell whether a value is of a class of a module, which may not be imported, or be about to be."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(value, kind)


def is_torch(value: Any) -> bool:
    """Tell whether a value is a torch tensor, without importing torch."""
    return _is_a(value, "torch", "Tensor")


@functools.cache
def _torch_types() -> dict[Any, np.dtype[Any] | None]:
    """Return NumPy's dtype for each of torch's; None for bfloat16."""
    import torch

    names = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]
    return {getattr(torch, name): np.dtype(name) for name in names} | {torch.bfloat16: None}


def _check_torch(tensor: Any, place: str, argument: str) -> int:
    """Demand a dense tensor without grad on a kind of device; return the bytes from its first element to their end."""
    if tensor.requires_grad:
        raise BadParam(
            argument=argument, expected="a tensor without grad: pass tensor.detach()", got="one that requires grad"
        )
    if tensor.device.type != place:
        raise BadParam(argument=argument, expected=f"a tensor on {place}", got=f"one on {tensor.device}")
    if str(tensor.layout) != "torch.strided" or tensor.is_conj() or tensor.is_neg():
        raise BadParam(
            argument=argument, expected="a dense tensor: pass tensor.to_dense() or a copy", got=str(tensor.layout)
        )
    return int(tensor.untyped_storage().nbytes() - tensor.storage_offset() * tensor.element_size())


def torch_layout(
    tensor: Any, place: str, argument: str
) -> tuple[int, tuple[int, ...], tuple[int, ...], np.dtype[Any] | None, int]:
    """Return address, shape, byte strides, dtype (None for bfloat16) and bytes up to the end of a tensor's storage.

    Raises
    ------
    BadParam
        It requires grad, is not dense, is on another kind of device than `place`, or has a type that NumPy lacks.
    """
    room = _check_torch(tensor, place, argument)
    if tensor.dtype not in _torch_types():
        raise BadParam(argument=argument, expected="a floating point or integer tensor", got=str(tensor.dtype))
    strides = tuple(step * tensor.element_size() for step in tensor.stride())
    return tensor.data_ptr(), tuple(tensor.shape), strides, _torch_types()[tensor.dtype], room


def host_array(value: Any, argument: str, expected: str) -> np.ndarray[Any, Any]:
    """Return another library's array in host memory as a NumPy array, without a copy.

    Raises
    ------
    BadParam
        It is none, or cannot be shared.
    """
    refuse_mask(value, argument)
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise BadParam(argument=argument, expected="an array of numbers", got=value.dtype)
        return value
    try:
        if is_torch(value):
            address, shape, strides, dtype, room = torch_layout(value, "cpu", argument)
            storage = DataType.BFLOAT16.storage if dtype is None else dtype
            check_extent(span_bytes(shape, strides, storage.itemsize), room, argument)
            return memory_at(value, address, shape, strides, storage)
        if hasattr(value, "__array_interface__"):
            return host_array(np.asarray(value), argument, expected)
        if hasattr(value, "__dlpack__"):
            kind = int(value.__dlpack_device__()[0])
            if kind != DLPACK_CPU:
                got = f"{type_name(value)} in the memory of a device of DLPack's type {kind}"
                raise BadParam(argument=argument, expected=expected, got=got)
            host = np.from_dlpack(value)
            if not host.flags.writeable and hasattr(value, "__array__"):  # some NumPys make all of them read-only
                again = np.asarray(value)
                host = again if again.ctypes.data == host.ctypes.data else host
            return host
    except BadParam:
        raise
    except Exception as error:  # what says that it is an array may raise anything
        raise BadParam(f"it cannot be shared: {written(str, error)}", argument=argument) from None
    raise BadParam(argument=argument, expected=expected, got=type_name(value))


def memory_at(
    owner: Any,
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype[Any],
    writable: bool = True,
) -> np.ndarray[Any, Any]:
    """Return memory at an address, which `owner` keeps alive, as a NumPy array."""
    if 0 in shape:
        return np.empty(shape, dtype)
    interface = {
        "version": 3,
        "shape": shape,
        "strides": strides,
        "typestr": f"<u{dtype.itemsize}",  # bfloat16 has no string
        "data": (address, not writable),
    }
    return np.asarray(_Memory(owner, interface)).view(dtype)


class _Memory:
    """Shows memory that `owner` keeps alive to NumPy."""

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def host_extent(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Return the addresses of an array's first byte and of the end of its last, wherever its strides lead."""
    first = int(array.__array_interface__["data"][0])
    if array.size == 0:
        return first, first
    steps = [(d - 1) * s for d, s in zip(array.shape, array.strides, strict=True)]
    return first + sum(s for s in steps if s < 0), first + sum(s for s in steps if s > 0) + array.itemsize


def host_room(array: np.ndarray[Any, Any]) -> int:
    """Return the bytes from an array's first element to the end of the array that it is a view of, at the last."""
    return host_extent(_owner(array))[1] - int(array.__array_interface__["data"][0])


def check_host(array: np.ndarray[Any, Any], argument: str) -> None:
    """Demand that an array does not leave the memory of the array that it is a view of, at the last."""
    if array.base is None or array.size == 0:
        return
    (start, end), (first, last) = host_extent(array), host_extent(_owner(array))
    if start < first or end > last:
        expected = f"an array within its memory of {last - first} bytes"
        raise BadParam(argument=argument, expected=expected, got=f"bytes {start - first} to {end - first}")


def _owner(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    while (base := _viewed(array)) is not None:
        array = base
    return array


def _viewed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """Return the array that another is a view of, also where ``as_strided`` made it; None where NumPy knows none."""
    base = array.base
    if not isinstance(base, np.ndarray) and hasattr(base, "__array_interface__"):
        base = getattr(base, "base", None)
    return base if isinstance(base, np.ndarray) else None


def check_extent(extent: int, room: int, argument: str) -> None:
    """Demand that an array does not leave its memory."""
    if extent > room:
        raise BadParam(argument=argument, expected=f"an array within its memory of {room} bytes", got=f"{extent} bytes")


def is_masked(value: Any) -> bool:
    """Tell whether a value is a masked array, without importing numpy.ma: a fork meanwhile would hang the child."""
    return _is_a(value, "numpy.ma", "MaskedArray")


def refuse_mask(value: Any, argument: str) -> None:
    """Refuse masked arrays, whose masks nothing that computes on memory would see."""
    if is_masked(value):
        raise BadParam(
            argument=argument, expected="an array without a mask: pass array.filled(value)", got="a masked array"
        )


def host_flat(value: Any, argument: str, expected: str) -> np.ndarray[Any, Any]:
    """Return an array, or another object with host memory, as a NumPy array: of bytes where it has no elements.

    Raises
    ------
    BadParam
        It is none, or cannot be shared.
    """
    if not isinstance(value, np.ndarray):
        try:
            return np.frombuffer(value, np.uint8)
        except Exception:  # it is no buffer; a user's object may raise anything
            pass
    return host_array(value, argument, expected)


def host_workspace(value: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return a workspace in host memory as bytes.

    Raises
    ------
    BadParam
        It has a mask, gaps or no memory, is read-only, or leaves its memory.
    """
    array = host_flat(value, "workspace", "an array or a buffer")
    if not array.flags.forc:
        raise BadParam(argument="workspace", expected="a contiguous array", got=f"strides {array.strides}")
    if not array.flags.writeable:
        raise BadParam(argument="workspace", expected="a writable array", got="a read-only one")
    check_host(array, "workspace")
    if array.size == 0:
        return np.empty(0, np.uint8)
    return array.reshape(-1, order="A").view(np.uint8)


def host_bytes(value: Any, argument: str, expected: str) -> tuple[np.ndarray[Any, np.dtype[np.uint8]], str]:
    """Return an array's bytes from its first element on, as far as they are its own, and the name of its type.

    Unlike :func:`host_array` it takes all of torch's types.

    Raises
    ------
    BadParam
        It cannot be shared, has negative strides, or leaves its memory.
    """
    if is_torch(value):
        room = _check_torch(value, "cpu", argument)
        name = str(value.dtype).removeprefix("torch.")
        return memory_at(value, value.data_ptr(), (max(room, 0),), (1,), np.dtype(np.uint8)), name
    array = host_array(value, argument, expected)
    if min(array.strides, default=0) < 0:
        raise BadParam(argument=argument, expected="an array without negative strides", got=array.strides)
    check_host(array, argument)
    start, end = host_extent(array)
    raw = memory_at(array, start, (end - start,), (1,), np.dtype(np.uint8), array.flags.writeable)
    return raw, array.dtype.name


def type_name(value: Any) -> str:
    """Return a value's type with its module, for messages."""
    return f"{type(value).__module__}.{type(value).__name__}"


def stored_array(array: Any, dtype: npt.DTypeLike | DataType | None) -> np.ndarray[Any, Any]:
    """Return host data as a NumPy array of a type that portadnn stores."""
    refuse_mask(array, "array")
    try:
        host = host_array(array, "array", "a tensor on the CPU") if is_torch(array) else np.asarray(array)
    except (BadParam, MemoryError):
        raise
    except Exception as error:  # ragged lists, device arrays that refuse, whatever users' objects raise
        raise BadParam(argument="array", expected="host data that NumPy understands", got=written(str, error)) from None
    stored = is_bfloat16(host.dtype)
    if host.dtype.kind not in "fiub" and not stored:
        raise BadParam(argument="array.dtype", expected="real numbers", got=host.dtype)
    if dtype is not None:
        wanted = DataType.of(dtype)
    elif stored or (host.dtype.kind == "f" and host.dtype.itemsize <= 8):
        wanted = DataType.of(host.dtype.newbyteorder("="))
    else:
        wanted = DataType.FLOAT
    _ = wanted.numpy  # there must be one: the result is to be a usual array
    return wanted.stored(widened(host) if stored else host)
