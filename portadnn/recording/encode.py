"""Values as JSON: how arguments, descriptors, tensors and results stand in a recording (docs/recordings.md)."""

from __future__ import annotations

import dataclasses
import enum
import math
from typing import Any

import numpy as np

from ..descriptors import FilterDescriptor, TensorDescriptor, TensorView
from ..dispatch.arrays import spec_of
from ..enums import DnnEnum
from ..errors import DnnError
from ..handle import Handle
from ..problem import TensorSpec

MOST_ITEMS = 64  # of a sequence; longer ones are data
MOST_TEXT = 2000  # characters of a message or a string
GRAPHS = ("portadnn.graph.", "portadnn.cudnn.backend.")  # modules of graphs and what belongs to them


_LARGEST = 2**52  # what every JSON reader holds exactly
_SHIFT = 40  # bits of an offset inside an OpenCL buffer (Device.address)
_BUFFERS: dict[int, int] = {}


def place(address: int) -> int:
    """Return an address as it is recorded: OpenCL's, too long for other JSON readers, by the buffer's number."""
    if address < _LARGEST:
        return address
    buffer = address >> _SHIFT
    number = _BUFFERS.get(buffer) or _BUFFERS.setdefault(buffer, len(_BUFFERS) + 1)
    return (number << _SHIFT) + (address & ((1 << _SHIFT) - 1))


def spec_json(spec: TensorSpec) -> dict[str, Any]:
    """Return a tensor's type, shape, strides in elements, and bytes from its first element to its last."""
    return {
        "dtype": spec.dtype.type_name,
        "shape": list(spec.dims),
        "strides": list(spec.strides),
        "bytes": spec.span * spec.dtype.itemsize,
    }


def tensor_json(device: Any, value: Any) -> dict[str, Any] | None:
    """Return what a native array, a view or another library's tensor is and where it lies; None for anything else."""
    try:
        array = value if device.owns(value) else device.wrap(value, "tensor")
        signature, address = device.signature(array), device.address(array)
    except (DnnError, AttributeError, TypeError):
        return None
    try:
        facts = spec_json(spec_of(signature, "tensor"))
    except DnnError:  # a type or strides that portadnn refuses: the call says so
        shape, strides, dtype, _ = signature
        facts = {"dtype": str(dtype), "shape": list(shape), "byte_strides": list(strides), "bytes": int(value.nbytes)}
    return {"tensor": {**facts, "at": place(address)}}


def encode(value: Any, device: Any = None) -> Any:
    """Return a value as JSON; `device` knows the tensors. What recordings do not hold becomes its type's name."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, DnnEnum):
        return {"enum": type(value).__name__, "name": value.name}
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else {"float": repr(number)}
    if isinstance(value, str):
        return value if len(value) <= MOST_TEXT else {"object": "str"}
    if isinstance(value, Handle):
        return {"handle": getattr(value, "serial", None)}
    if isinstance(value, (tuple, list)):
        if len(value) > MOST_ITEMS:
            return {"object": type(value).__name__, "length": len(value)}
        return [encode(item, device) for item in value]
    found = _described(value, device)
    if found is None and device is not None:
        found = tensor_json(device, value)
    if found is None and isinstance(value, np.ndarray):
        found = {"host": {"dtype": str(value.dtype), "shape": list(value.shape)}}
    return {"object": f"{type(value).__module__}.{type(value).__qualname__}"} if found is None else found


def _described(value: Any, device: Any) -> dict[str, Any] | None:
    """Return a descriptor, a type or a record by its values."""
    if isinstance(value, (TensorDescriptor, FilterDescriptor)):
        spec = getattr(value, "spec", None)  # a constructor that failed has left none
        facts = {} if spec is None else spec_json(spec)
        if isinstance(value, FilterDescriptor) and spec is not None:
            facts["format"] = value.format.name
        return {"descriptor": type(value).__name__, "values": facts}
    if isinstance(value, TensorSpec):
        return {"spec": str(value)}
    if isinstance(value, np.dtype):
        return {"dtype": value.name}
    if isinstance(value, type):
        if issubclass(value, np.generic):
            return {"dtype": np.dtype(value).name}
        return {"class": value.__name__}
    if type(value).__module__.startswith(GRAPHS) and not isinstance(value, enum.Enum):
        return None  # a graph is recorded whole where it runs: see graphs.py
    if type(value).__module__.startswith("portadnn.") and not isinstance(value, (TensorView, enum.Enum)):
        facts = {name: encode(item, device) for name, item in fields_of(value).items()}
        return {"descriptor": type(value).__name__, "values": facts}
    return None


_DERIVED = ("dims", "strides", "storage", "views", "sequences", "needed")  # what is kept at hand of their value


def fields_of(value: Any) -> dict[str, Any]:
    """Return what an object holds: a dataclass's fields; of a C library's its value and what is set apart."""
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name, None) for f in dataclasses.fields(value)}
    held = {"value": getattr(value, "value", None), **getattr(value, "__dict__", {})}
    return {name: item for name, item in held.items() if not name.startswith("_") and name not in _DERIVED}
