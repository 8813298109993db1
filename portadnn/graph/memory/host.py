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

from ...enums import plain_number
from ...errors import BadParam
from ...host_arrays import DLPACK_CPU, host_bytes, is_torch
from ..api.arguments import number as read_number
from ..data_types import data_type
from ..errors import GraphError
from ..operation_graph import TensorInfo
from ..rules import fail

EXPECTED = "an array in host memory, a DLPack object or an address"
_NUMBERS = (data_type.FLOAT, data_type.DOUBLE, data_type.HALF, data_type.INT32, data_type.INT64)
_SHARED = ("__dlpack__", "__array_interface__", "__cuda_array_interface__")  # by which arrays are shared
LOWEST, HIGHEST = 1 << 12, 1 << 56  # addresses that memory can have


def is_host(value: Any) -> bool:
    """Tell whether an array lies in the host's memory, whatever library it is of."""
    if isinstance(value, np.ndarray):
        return True
    try:
        return _shows_host_memory(value)
    except Exception:  # a user's attributes may raise anything
        return False


def _shows_host_memory(value: Any) -> bool:
    if is_torch(value):
        return bool(value.device.type == "cpu")
    if hasattr(value, "__dlpack_device__"):
        return int(value.__dlpack_device__()[0]) == DLPACK_CPU
    return hasattr(value, "__array_interface__") and not hasattr(value, "__cuda_array_interface__")


def opened(value: Any, info: TensorInfo) -> tuple[npt.NDArray[np.uint8], str]:
    """Return an array's bytes from its first element on, as far as they are its own, and its dtype's name."""
    try:
        return host_bytes(value, info.name, EXPECTED)
    except BadParam as error:
        expected, got = error.expected or "an array that can be shared", error.message or error.got
        raise fail("PG-PACK-006", tensor=info.describe(), expected=expected, got=got, fix="pass a copy") from error


def address_of(value: Any) -> int | None:
    """Return the address that an integer stands for; None for anything else."""
    number = plain_number(value) if isinstance(value, (int, np.integer)) else None
    return number if number is not None and LOWEST <= number < HIGHEST else None


def plain_tensor(value: Any, info: TensorInfo, notes: list[GraphError]) -> Any:
    """Return a torch tensor without grad, with a note, and FP8 on a device as bytes; anything else as it is.

    Of what only has torch's ``data_ptr()``, the address.
    """
    if not is_torch(value):
        return _pointed(value)
    if value.requires_grad:
        notes.append(fail("PG-PACK-013", tensor=info.describe(), fix="pass tensor.detach()"))
        value = value.detach()
    name = str(value.dtype).removeprefix("torch.")
    if name.startswith("float8") and value.device.type != "cpu":
        check_type(info, name)
        value = value.view(sys.modules["torch"].uint8)
    return value


def _pointed(value: Any) -> Any:
    try:
        pointer = getattr(value, "data_ptr", None)
        return value if pointer is None or any(hasattr(value, one) for one in _SHARED) else pointer()
    except Exception:  # a user's attributes may raise anything
        return value


def as_bits(value: Any, info: TensorInfo) -> Any:
    """Return a torch tensor of floats of 8 or 4 bits as one of bytes; anything else as it is."""
    if not is_torch(value) or not str(value.dtype).startswith(("torch.float8", "torch.float4")):
        return value
    check_type(info, str(value.dtype).removeprefix("torch."))
    return value.view(sys.modules["torch"].uint8)


def view(value: Any, info: TensorInfo, *, output: bool, notes: list[GraphError] | None = None) -> npt.NDArray[Any]:
    """Return host memory as an array of a tensor's type, dims and strides.

    Parameters
    ----------
    value
        A NumPy array, torch tensor or DLPack object in host memory, or an address. An address is trusted to have room.
    output
        Whether it will be written.
    notes
        Receives what is unusual about it.

    Returns
    -------
    array
        In the tensor's dims; all memory there is, in one dim, for ragged tensors; bytes for those of `coded` elements.

    Raises
    ------
    InvalidVariantPack
        It is no memory, too short, of another type, or read-only (PG-PACK-004 to 007).
    """
    address = address_of(value)
    if address is not None:
        content = (ctypes.c_uint8 * _room(info)).from_address(address)
        raw, name = np.ctypeslib.as_array(content), info.data_type.storage.name
    elif is_host(value):
        raw, name = opened(value, info)
    else:
        raise fail(
            "PG-PACK-006",
            tensor=info.describe(),
            expected=EXPECTED,
            got=f"{type(value).__module__}.{type(value).__name__}",
            fix="copy it to where the handle's device is",
        )
    check_type(info, name, notes)
    ragged = info.ragged_offset is not None
    if not ragged:
        check_room(info, raw.nbytes)
    if output and not raw.flags.writeable:
        raise read_only(info)
    storage = info.data_type.storage
    if info.coded:
        return raw[: info.extent]
    if ragged:
        return raw[: raw.size // storage.itemsize * storage.itemsize].view(storage)
    strides = [s * storage.itemsize if d > 1 else 0 for d, s in zip(info.dims, info.strides, strict=True)]
    array: npt.NDArray[Any] = np.ndarray(info.dims, storage, raw[: info.extent], strides=strides)
    return array


def _room(info: TensorInfo) -> int:
    """Return the bytes that a tensor may take behind an address, where nothing else says so."""
    if info.ragged_offset is None:
        return info.extent
    sequence = sum(size * step for size, step in zip(info.dims[1:], info.strides[1:], strict=True))
    return info.data_type.itemsize * (1 + info.dims[0] * sequence)


def read_only(info: TensorInfo) -> GraphError:
    """Return the error of an output that cannot be written."""
    return fail(
        "PG-PACK-007", tensor=info.describe(), expected="a writable array", got="a read-only one", fix="copy it"
    )


def flat(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the memory behind an array, gaps included, in one dim."""
    length = 1 + sum((d - 1) * s for d, s in zip(array.shape, array.strides, strict=True)) // array.itemsize
    bits = array.view(f"u{array.itemsize}")  # NumPy's function does not know all of ml_dtypes' types
    return np.lib.stride_tricks.as_strided(bits, (length,), (array.itemsize,)).view(array.dtype)


def write(
    info: TensorInfo, content: npt.NDArray[np.uint8], computed: npt.NDArray[np.uint8], before: npt.NDArray[np.uint8]
) -> None:
    """Write a tensor's elements into its memory, and nothing that lies between them.

    Parameters
    ----------
    content
        All bytes of the memory, which are written.
    computed, before
        The same bytes after the computation and before it, in memory of their own. The rows of a ragged tensor are
        those that differ, as are the bytes of elements that do not lie at strides of bytes.
    """
    if info.ragged_offset is not None or info.coded:
        np.copyto(content, computed, where=computed != before)
        return
    size = info.data_type.storage.itemsize
    strides = [s * size if d > 1 else 0 for d, s in zip(info.dims, info.strides, strict=True)]
    where, what = (np.ndarray(info.dims, f"u{size}", each, strides=strides) for each in (content, computed))
    where[...] = what


def is_dense(info: TensorInfo) -> bool:
    """Tell whether a tensor has no gaps between its elements."""
    return info.coded or (info.ragged_offset is None and info.extent == info.data_type.storage.itemsize * info.size)


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


def check_type(info: TensorInfo, name: str, notes: list[GraphError] | None = None) -> bool:
    """Demand that elements of a dtype of that name can be read as the tensor's: of its own type, or raw bits.

    Returns
    -------
    bool
        Whether they are of another type of 16 bits, whose memory is taken as cuDNN takes pointers, with a note.
    """
    wanted = info.data_type
    names = {wanted.storage.name, "uint8"}
    if wanted is data_type.BFLOAT16:
        names |= {"bfloat16", "uint16", "int16"}
    elif wanted in (data_type.FP8_E4M3, data_type.FP8_E5M2):
        names.add("float8_e4m3fn" if wanted is data_type.FP8_E4M3 else "float8_e5m2")
    elif wanted.is_of_blocks:
        names |= {"float8_e8m0fnu"} if wanted is data_type.FP8_E8M0 else {"float4_e2m1fn_x2", "int8"}
    elif wanted is data_type.BOOLEAN:
        names.add("int8")
    if name in names:
        return False
    other = wanted in (data_type.HALF, data_type.BFLOAT16) and name in ("float16", "bfloat16", "int16", "uint16")
    error = fail(
        "PG-PACK-005",
        tensor=info.describe(),
        expected=f"elements of {wanted.storage.name}, or bytes",
        got=name + (", whose bits are taken as they are" if other else ""),
        fix=f"convert the array, or set_data_type to what {name} is",
    )
    if not other:
        raise error
    if notes is not None:
        notes.append(error)
    return True


def number(value: Any, info: TensorInfo, notes: list[GraphError] | None = None) -> float | int:
    """Return the number of a tensor that is passed by value; an array of another type is read as what it is.

    Raises
    ------
    InvalidVariantPack
        It is neither a number nor an array of one element in host memory (PG-PACK-006).
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, float)):
        return read_number(value, info.describe(), "PG-PACK-006")
    if isinstance(value, np.number) and not isinstance(value, np.complexfloating):
        return read_number(value.item(), info.describe(), "PG-PACK-006")
    if is_host(value):
        other = _number_of_another_type(value, info, notes)
        if other is not None:
            return other
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


def _number_of_another_type(value: Any, info: TensorInfo, notes: list[GraphError] | None) -> float | int | None:
    """Return the number of an array whose type is wider than the tensor's, or narrower, with a note; else None."""
    raw, name = opened(value, info)
    kind = next((kind for kind in _NUMBERS if kind.storage.name == name), None)
    if kind is None or kind.itemsize == info.data_type.itemsize or raw.nbytes < kind.itemsize:
        return None
    if notes is not None:
        wanted = f"elements of {info.data_type.storage.name}"
        got, fix = f"{name}, whose number is taken", f"set_data_type to what {name} is"
        notes.append(fail("PG-PACK-005", tensor=info.describe(), expected=wanted, got=got, fix=fix))
    return kind.loaded(raw[: kind.itemsize].view(kind.storage)).reshape(()).item()  # type: ignore[no-any-return]
