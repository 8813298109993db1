"""Elements of attributes: what C has behind ``void *arrayOfElements``, for each type of attribute."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ...arguments import as_items, as_real
from ...c_names.graph_attributes import Attribute
from ...enums import plain_number
from ...errors import BadParam, NotSupported, shown
from ...graph import enums
from ...graph.api.handles import handle_of
from ...graph.data_types import data_type
from ...mapping import table
from ..calls import c_value
from ..enumerations import enumeration

# Of types whose elements are members of an enumeration that graphs have, too: what C's names of members begin with, and
# the enumeration of graphs.
_OF_GRAPHS: dict[str, tuple[str, type[enums.GraphEnum]]] = {
    "DATA_TYPE": ("CUDNN_DATA_", data_type),
    "CONVOLUTION_MODE": ("CUDNN_", enums.convolution_mode),
    "POINTWISE_MODE": ("CUDNN_POINTWISE_", enums.pointwise_mode),
    "REDUCTION_OPERATOR_TYPE": ("CUDNN_REDUCE_TENSOR_", enums.reduction_mode),
    "RESAMPLE_MODE": ("CUDNN_RESAMPLE_", enums.resample_mode),
    "PADDING_MODE": ("CUDNN_", enums.padding_mode),
    "RNG_DISTRIBUTION": ("CUDNN_RNG_DISTRIBUTION_", enums.rng_distribution),
    "HEUR_MODE": ("CUDNN_HEUR_MODE_", enums.heur_mode),
    "KNOB_TYPE": ("CUDNN_KNOB_TYPE_", enums.knob_type),
    "NUMERICAL_NOTE": ("CUDNN_NUMERICAL_NOTE_", enums.numerical_note),
    "BEHAVIOR_NOTE": ("CUDNN_BEHAVIOR_NOTE_", enums.behavior_note),
    "TENSOR_REORDERING_MODE": ("CUDNN_TENSOR_REORDERING_", enums.tensor_reordering),
    "NORM_FWD_PHASE": ("CUDNN_NORM_FWD_", enums.norm_forward_phase),
    "RESHAPE_MODE": ("CUDNN_RESHAPE_", enums.reshape_mode),
}
_C_NAMES = {found.attribute: found.cudnn for found in table().enumerations if found.attribute and found.cudnn}
_SAME = {"CUDNN_HEUR_MODE_INSTANT": "A", "CUDNN_RESAMPLE_AVGPOOL": "AVGPOOL_INCLUDE_PADDING"}  # older names


@functools.cache
def _members(type: str) -> dict[int, Any]:
    """Return the members of graphs by the numbers of C."""
    prefix, ours = _OF_GRAPHS[type]
    values = enumeration(_C_NAMES[type]).__members__
    names = {name: _SAME.get(name, name.removeprefix(prefix)) for name in values}
    return {values[name]: ours[member] for name, member in names.items() if member in ours.__members__}


def c_member(type: str, member: enums.GraphEnum) -> Any:
    """Return the member in C of one of graphs."""
    number = next(number for number, known in _members(type).items() if known is member)
    return enumeration(_C_NAMES[type])(number)


def _member(type: str, value: Any, argument: str) -> tuple[Any, Any]:
    c_name = _C_NAMES[type]
    kept = c_value(c_name, value, argument)
    if type not in _OF_GRAPHS:
        if kept.name.endswith("_COUNT"):
            raise BadParam(argument=argument, expected=f"a {c_name}", got=kept.name)
        return kept, kept
    meaning = _members(type).get(int(kept))
    if meaning is None:
        offered = ", ".join(enumeration(c_name)(number).name for number in _members(type))
        raise NotSupported(argument=argument, expected=f"one of {offered}", got=kept.name)
    return kept, meaning


def _integer(type: str, value: Any, argument: str) -> tuple[Any, Any]:
    bits = int(type.removeprefix("INT"))
    number = plain_number(value)
    if number is None or not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise BadParam(argument=argument, expected=f"an integer of {bits} bits (CUDNN_TYPE_{type})", got=shown(value))
    return number, number


def _number(type: str, value: Any, argument: str) -> tuple[Any, Any]:
    number = as_real(value, argument, f"a number (CUDNN_TYPE_{type})")
    return number, number


def _boolean(type: str, value: Any, argument: str) -> tuple[Any, Any]:
    number = bool(value) if isinstance(value, (bool, np.bool_)) else plain_number(value)
    if number in (0, 1):
        return bool(number), bool(number)
    raise BadParam(argument=argument, expected="True or False", got=shown(value))


def _fraction(type: str, value: Any, argument: str) -> tuple[Any, Any]:
    try:
        found = Fraction(*value) if isinstance(value, tuple) else Fraction(value)
    except Exception:  # infinity; a user's numbers may raise anything
        raise BadParam(
            argument=argument, expected="a Fraction, or (numerator, denominator)", got=shown(value)
        ) from None
    return found, found


def _handle(type: str, value: Any, argument: str) -> tuple[Any, Any]:
    return value, handle_of(value)


def _pointer(type: str, value: Any, argument: str) -> tuple[Any, Any]:
    return value, value


_READERS = {
    "INT64": _integer,
    "INT32": _integer,
    "DOUBLE": _number,
    "FLOAT": _number,
    "BOOLEAN": _boolean,
    "FRACTION": _fraction,
    "HANDLE": _handle,
    "VOID_PTR": _pointer,
    **dict.fromkeys(_C_NAMES, _member),
}


def element(type: str, value: Any, argument: str) -> tuple[Any, Any]:
    """Return an element as it is kept, and what it means to graphs.

    Raises
    ------
    BadParam
        It is none of the type.
    NotSupported
        It is a member of the enumeration that portadnn lacks.
    """
    return _READERS[type](type, value, argument)


def sequence(type: str, count: int, given: Any) -> Sequence[Any]:
    """Return the first `count` elements of what was given: of a sequence, or the one element itself.

    Raises
    ------
    BadParam
        There are fewer.
    """
    if type == "CHAR":
        if not isinstance(given, (str, bytes)):
            raise BadParam(argument="arrayOfElements", expected="text", got=shown(given))
        try:
            text = str.__str__(given) if isinstance(given, str) else bytes.decode(given)
        except UnicodeDecodeError:
            raise BadParam(argument="arrayOfElements", expected="text in UTF-8", got=shown(given)) from None
        return [text[:count]]
    if isinstance(given, np.ndarray) and type != "VOID_PTR":  # an array behind a pointer is one element
        given = given.ravel().tolist()
    several = isinstance(given, list) or (isinstance(given, tuple) and not (type == "FRACTION" and count == 1))
    elements = list(as_items(given, "arrayOfElements", "a list of elements")) if several else [given]
    if len(elements) < count:
        raise BadParam(
            argument="arrayOfElements", expected=f"at least elementCount = {count} elements", got=len(elements)
        )
    return elements[:count]


def check_type(attribute: Attribute, given: Any) -> str:
    """Return the type's name without ``CUDNN_TYPE_``; it has to be one of the attribute's.

    Raises
    ------
    BadParam
        It is another, or none.
    """
    name: str = c_value("cudnnBackendAttributeType_t", given, "attributeType").name.removeprefix("CUDNN_TYPE_")
    if name not in attribute.types:
        wanted = " or ".join(f"CUDNN_TYPE_{each}" for each in attribute.types)
        raise BadParam(argument="attributeType", expected=f"{wanted} for {attribute.c_name}", got=f"CUDNN_TYPE_{name}")
    return name
