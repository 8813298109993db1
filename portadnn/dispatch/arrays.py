"""Conversion of tensor arguments to native arrays and TensorSpecs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import as_integers
from ..enums import DataType
from ..errors import BadParam, DnnError
from ..problem import ALIGNMENT, TensorSpec

if TYPE_CHECKING:
    from portadnn_backends.base import Device


def wrap(device: Device, value: Any, name: str) -> Any:
    """Turn a view or another library's tensor into a native array.

    Raises
    ------
    BadParam
        It is none of these, or it raised something when it was asked for its memory.
    """
    try:
        return device.wrap(value, name)
    except (DnnError, MemoryError):
        raise
    except Exception as error:  # a user's attributes may raise anything
        raise _unreadable(value, name) from error


def wrapped_one(device: Device, tensor: Any, name: str) -> Any:
    """Return a tensor as a native array that lies on the device and within its memory; errors name the argument."""
    array = tensor if device.owns(tensor) else wrap(device, tensor, name)
    try:
        device.signature(array)
    except BadParam as error:
        error.argument = name
        raise
    except Exception as error:
        raise _unreadable(tensor, name) from error
    return array


def integers_on_device(device: Device, values: Any, name: str) -> Any:
    """Return integers of the host, a sequence or a NumPy array, as an int32 array of the device; others as they are."""
    if isinstance(values, (list, tuple)):
        values = np.array(as_integers(values, name, -(2**63)), np.int64)
    elif not isinstance(values, np.ndarray) or device.owns(values):
        return values
    if values.dtype.kind not in "iu" or (np.abs(values.astype(np.float64)) >= 2**31).any():
        raise BadParam(argument=f"{name}.dtype", expected="integers of 32 bits", got=values.dtype)
    if values.size == 0:
        values = np.zeros([max(size, 1) for size in values.shape])  # devices have no empty memory
    return device.asarray(values.astype(np.int32))


def dtype_of(value: Any) -> Any:
    """Return an object's ``dtype`` attribute, or None."""
    try:
        return value.dtype
    except Exception:  # a raw buffer; an object whose attributes raise anything
        return None


def _unreadable(value: Any, name: str) -> BadParam:
    kind = type(value)
    got = f"a {kind.__module__}.{kind.__name__} that cannot be read"
    return BadParam(argument=name, expected="an array of the device", got=got)


def spec_of(signature: tuple[Any, ...], name: str) -> TensorSpec:
    """Turn a device's signature (shape, byte strides, dtype, address mod 16) into a TensorSpec.

    Raises
    ------
    BadParam
        A dtype that portadnn does not store, or strides or an address that are no multiples of the element.
    """
    shape, byte_strides, dtype, misalignment = signature
    data_type = DataType.of_array(dtype, f"{name}.dtype") if dtype.isnative else None
    if data_type is None:
        raise BadParam(argument=f"{name}.dtype", expected="native byte order", got=dtype)
    size = data_type.itemsize
    if misalignment % size:
        raise BadParam(
            argument=name,
            expected=f"an address that is a multiple of {size} bytes",
            got=f"{misalignment} mod 16",
        )
    # the stride of a dimension of one says nothing, and NumPy lets it be anything
    strides = [0 if d == 1 and (s < 0 or s % size) else s for d, s in zip(shape, byte_strides, strict=True)]
    if any(stride % size for stride in strides):
        raise BadParam(argument=f"{name}.strides", expected=f"multiples of {size} bytes", got=byte_strides)
    alignment = ALIGNMENT if misalignment == 0 else size
    return TensorSpec(data_type, tuple(shape), tuple(s // size for s in strides), alignment)
