"""Arguments of cuDNN's functions as ctypes has them, from the declarations of the mapping table."""

from __future__ import annotations

import ctypes
import functools
import re
from typing import Any

from portadnn.mapping import table

_TYPES: tuple[tuple[str, Any], ...] = (  # the first whose pattern is found in the type in C; others are enumerations
    (r"[*\[]|Descriptor_t|cudnnHandle_t|cudaStream_t", ctypes.c_void_p),
    ("size_t", ctypes.c_size_t),
    ("long long", ctypes.c_ulonglong),
    ("unsigned|uint32", ctypes.c_uint),
    ("double", ctypes.c_double),
    ("float", ctypes.c_float),
)


def argument_type(kind: str) -> Any:
    """Return the type of ctypes for a type in C."""
    return next((found for pattern, found in _TYPES if re.search(pattern, kind)), ctypes.c_int)


@functools.cache
def argument_types(function: str) -> list[Any]:
    """Return the types of a function's arguments, as the first version that has it declares them."""
    return [argument_type(parameter.type) for parameter in table().functions[function].parameters]
