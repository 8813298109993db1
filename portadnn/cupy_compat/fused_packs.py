"""The attributes of fused operations' packs by ``cupy.cuda.cudnn``'s names: a label says what an address stands for."""

from __future__ import annotations

import ctypes
from typing import Any

from portadnn import cudnn

from ..cudnn.enumerations import enumeration
from .errors import cudnn_errors
from .memory import address, as_number, at
from .objects import object_of

_NUMBERS = {"SIZE_T": ctypes.c_size_t, "INT64_T": ctypes.c_int64, "DOUBLE": ctypes.c_double}


def _name(of: str, label: int) -> str:
    """Return a label's name; of an unknown one nothing, as the function that takes it refuses it."""
    return next((one.name for one in enumeration(f"cudnnFusedOps{of}ParamLabel_t") if one == label), "")


@cudnn_errors
def setFusedOpsConstParamPackAttribute(constPack: int, paramLabel: int, param: int) -> None:
    """Set a descriptor by its integer, or a placeholder or a mode by its address."""
    pack, place = object_of(as_number(constPack), "constPack"), as_number(param)
    if _name("Const", paramLabel).endswith("DESC"):
        value = object_of(place, "param")
    else:
        value = ctypes.c_int.from_address(place).value if place else 0
    cudnn.cudnnSetFusedOpsConstParamPackAttribute(pack, paramLabel, value)


@cudnn_errors
def setFusedOpsVariantParamPackAttribute(varPack: int, paramLabel: int, ptr: int) -> None:
    """Set an array or a number by its address."""
    pack, place, name = object_of(as_number(varPack), "varPack"), as_number(ptr), _name("Variant", paramLabel)
    kind = _kind(name)
    value = kind.from_address(place).value if kind and place else at(place)
    cudnn.cudnnSetFusedOpsVariantParamPackAttribute(pack, paramLabel, value)


def _kind(name: str) -> Any:
    """Return the C type of a number of that label; None for arrays."""
    return next((kind for word, kind in _NUMBERS.items() if f"_SCALAR_{word}_" in name), None)


@cudnn_errors
def getFusedOpsConstParamPackAttribute(constPack: int, paramLabel: int, param: int) -> int:
    """Fill a descriptor, or the number at an address; return whether nothing was set."""
    pack, place = object_of(as_number(constPack), "constPack"), as_number(param)
    value, is_null = cudnn.cudnnGetFusedOpsConstParamPackAttribute(pack, paramLabel)
    if value is not None and _name("Const", paramLabel).endswith("DESC"):
        object_of(place, "param").value = value.value
    elif value is not None:
        ctypes.c_int.from_address(place).value = int(value)
    return int(is_null)


@cudnn_errors
def getFusedOpsVariantParamPackAttribute(varPack: int, paramLabel: int, ptr: int) -> None:
    """Write a number, or an array's address, to an address; 0 where nothing was set."""
    pack, place = object_of(as_number(varPack), "varPack"), as_number(ptr)
    value: Any = cudnn.cudnnGetFusedOpsVariantParamPackAttribute(pack, paramLabel)
    value = 0 if value is None else value
    kind = _kind(_name("Variant", paramLabel))
    if kind is None:
        kind, value = ctypes.c_size_t, value if isinstance(value, int) else address(value)
    kind.from_address(place).value = value


ATTRIBUTES = {
    one.__name__: one
    for one in (
        setFusedOpsConstParamPackAttribute,
        getFusedOpsConstParamPackAttribute,
        setFusedOpsVariantParamPackAttribute,
        getFusedOpsVariantParamPackAttribute,
    )
}
