"""Recorded values as arguments again: the counterpart of encode.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import portadnn as dnn

from ..descriptors import FilterDescriptor, Parameters, TensorDescriptor
from ..enums import DataType, DnnEnum
from ..errors import NotSupported
from ..problem import ALIGNMENT, TensorSpec
from .lines import number_of

_DESCRIPTORS = (Parameters, TensorDescriptor, FilterDescriptor)


class Undecodable(NotSupported):
    """A value that a recording does not hold, such as a stream; the text names it."""


def spec_of_json(facts: Mapping[str, Any]) -> TensorSpec:
    """Return the spec of a recorded tensor; its alignment follows from its address.

    Raises
    ------
    Undecodable
        A type or strides that no spec has.
    """
    name = facts["dtype"]
    known = {dtype.type_name: dtype for dtype in DataType}
    if name not in known or "strides" not in facts:
        raise Undecodable(f"a tensor of {name}, which portadnn does not store")
    dtype = known[name]
    alignment = ALIGNMENT if facts.get("at", 0) % ALIGNMENT == 0 else dtype.itemsize
    return TensorSpec(dtype, tuple(facts["shape"]), tuple(facts["strides"]), alignment)


def decode(value: Any, tensor: Callable[[Mapping[str, Any]], Any], handle: Callable[[int], Any]) -> Any:
    """Return a recorded value; `tensor` finds the memory of tensors, `handle` the handles.

    Raises
    ------
    Undecodable
        The recording does not hold it.
    DnnError
        It is a descriptor that cannot be made.
    """
    if isinstance(value, list):
        return tuple(decode(item, tensor, handle) for item in value)
    if not isinstance(value, Mapping):
        return value
    match next(iter(value), ""):
        case "enum":
            return _enum(value["enum"], value["name"])
        case "float":
            return number_of(value)
        case "handle":
            return handle(value["handle"])
        case "tensor":
            return tensor(value["tensor"])
        case "spec":
            return TensorSpec.parse(value["spec"])
        case "dtype":
            return DataType.of(value["dtype"])
        case "class":
            return _class(value["class"], object)
        case "host":
            return _host(value["host"])
        case "descriptor":
            return _descriptor(value, tensor, handle)
    raise Undecodable(f"{value.get('object', 'an unknown value')}, which recordings do not hold")


def _host(facts: Mapping[str, Any]) -> Any:
    if facts["dtype"] == "object":
        return [[0], [0, 0]]  # what NumPy refuses
    try:
        return np.zeros(facts["shape"], facts["dtype"])
    except TypeError:
        raise Undecodable(f"an array of {facts['dtype']}") from None


def _descriptor(
    value: Mapping[str, Any], tensor: Callable[[Mapping[str, Any]], Any], handle: Callable[[int], Any]
) -> Any:
    name, facts = value["descriptor"], value["values"]
    if not facts or not hasattr(dnn, name):
        raise Undecodable(f"a {name} without values")
    kind = _class(name, _DESCRIPTORS)
    if kind is dnn.TensorDescriptor:
        return kind(facts["shape"], facts["dtype"], strides=facts["strides"])
    if kind is dnn.FilterDescriptor:
        return kind(facts["shape"], facts["dtype"], format=facts["format"])
    try:
        return kind(**{key: decode(item, tensor, handle) for key, item in facts.items()})
    except TypeError as error:
        raise Undecodable(f"a {name} of other values: {error}") from None


def _class(name: str, base: type[Any] | tuple[type[Any], ...]) -> Any:
    """Return one of portadnn's public classes; a recording may come from anywhere, and reaches nothing else."""
    found = getattr(dnn, name, None) if name in dnn.__all__ else None
    if not isinstance(found, type) or not issubclass(found, base):
        raise Undecodable(f"{name}, which this portadnn does not have")
    return found


def _enum(kind: str, name: str) -> Any:
    members = _class(kind, DnnEnum).__members__
    if name not in members:
        raise Undecodable(f"{kind}.{name}, which this portadnn does not have")
    return members[name]
