"""Data types of the Graph API: cudnn-frontend's names and values, how each is stored, and rounding into it."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import bfloat16
from ..enums import DataType
from .enums import GraphEnum
from .memory import fp8
from .rules import fail


class data_type(GraphEnum):
    """Type of a tensor's elements, or of a computation.

    Tensors can have those that say :attr:`is_stored`. BOOLEAN takes a byte, 0 or 1. The others exist by name.
    """

    NOT_SET = 0
    FLOAT = 1
    DOUBLE = 2
    HALF = 3
    INT8 = 4
    INT32 = 5
    INT8x4 = 6
    UINT8 = 7
    UINT8x4 = 8
    INT8x32 = 9
    BFLOAT16 = 10
    INT64 = 11
    BOOLEAN = 12
    FP8_E4M3 = 14
    FP8_E5M2 = 15
    FAST_FLOAT_FOR_FP8 = 16
    FP8_E8M0 = 17
    FP8_E5M3 = 18
    FP4_E2M1 = 19
    INT4 = 20

    @classmethod
    def parse(cls, value: Any, argument: str = "data_type") -> data_type:
        """Return the type that a member, name, number, NumPy or torch dtype or :class:`portadnn.DataType` means.

        None means NOT_SET, as in cudnn-frontend 1.32.

        Raises
        ------
        InvalidValue
            It means none (PG-NODE-004).
        """
        if value is None:
            return cls.NOT_SET
        if isinstance(value, DataType):
            return _OF_DATA_TYPE[value]
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.dtype):
            value = str(value).removeprefix("torch.")
        found = None if isinstance(value, cls) or not isinstance(value, str) else _OF_NAME.get(str.__str__(value))
        if found is None and isinstance(value, (np.dtype, type)):
            with contextlib.suppress(Exception):  # a class may call itself a dtype
                found = _OF_NAME.get(np.dtype(value).name)
        return super().parse(value, argument) if found is None else found

    @property
    def is_stored(self) -> bool:
        """Whether tensors can have it."""
        return self in _ITEMSIZE

    @property
    def is_float(self) -> bool:
        """Whether it has fractions."""
        return self in _FLOATS

    def holds(self, other: data_type) -> bool:
        """Tell whether every number of another type is one of this type."""
        return self is other or other in _HELD.get(self, ())

    @property
    def is_of_blocks(self) -> bool:
        """Whether only nodes of block scaling know it."""
        return self in _OF_BLOCKS

    @property
    def itemsize(self) -> int:
        """Bytes of one element; 1 where two share a byte."""
        return 1 if self in _OF_BLOCKS else _ITEMSIZE[self]

    @property
    def bits(self) -> int:
        """Bits of one element."""
        return 4 if self is data_type.FP4_E2M1 else 8 * self.itemsize

    @property
    def code(self) -> str:
        """The type's name in problem lines."""
        known = self.problem_type
        return _CODES.get(self, self.name) if known is None else known.code

    @classmethod
    def of_code(cls, code: str) -> data_type | None:
        """Return the type that a problem line names so, if there is one."""
        return _OF_CODE.get(code)

    @property
    def problem_type(self) -> DataType | None:
        """The type that Problems know it by; None where they do not."""
        return _TO_DATA_TYPE.get(self)

    @property
    def storage(self) -> np.dtype[Any]:
        """The dtype of host arrays."""
        known = self.problem_type
        if known is not None:
            return known.storage
        form = _FORMS.get(self)
        return _NUMPY[self] if form is None else form.storage

    def loaded(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return stored elements as numbers: float64, or int64 for INT64, which float64 does not hold."""
        form = _FORMS.get(self)
        if form is not None:
            return form.decoded(array.view(np.uint8))
        if self is data_type.BFLOAT16:
            return bfloat16.widened(array)
        if self is data_type.BOOLEAN:
            return np.asarray(array.view(np.uint8) != 0, np.float64)
        return array.astype(np.int64 if self is data_type.INT64 else np.float64)

    def stored(self, values: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return numbers rounded to this type, as an array of the dtype :attr:`storage`.

        Floats round to the nearest, ties to even; integers do so too and saturate, NaN becomes 0; FP8 saturates.
        BOOLEAN is 1 for everything but 0.
        """
        form = _FORMS.get(self)
        if form is not None:
            return form.encoded(values).view(form.storage)
        known = self.problem_type
        if known is not None and known.is_float:
            with np.errstate(all="ignore"):
                return known.stored(values)
        exact = np.asarray(values)
        if self is data_type.BOOLEAN:
            truth: npt.NDArray[Any] = exact != 0
            return truth
        if exact.dtype.kind == "i" and self is data_type.INT64:
            return exact.astype(np.int64)
        return _saturated(exact, self.storage)

    def rounded(self, values: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return numbers as they are after having been stored."""
        return self.loaded(self.stored(values))


def _saturated(values: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    limits = np.iinfo(dtype)
    whole = np.rint(np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
    inside = (whole > limits.min) & (whole < limits.max)  # float64 has no 2**63 - 1
    with np.errstate(invalid="ignore"):
        cast = np.where(inside, whole, 0.0).astype(dtype)
    ends = np.where(whole > 0, limits.max, limits.min).astype(dtype)
    saturated: npt.NDArray[Any] = np.where(inside, cast, ends)
    return saturated


_TO_DATA_TYPE = {
    data_type.FLOAT: DataType.FLOAT,
    data_type.DOUBLE: DataType.DOUBLE,
    data_type.HALF: DataType.HALF,
    data_type.BFLOAT16: DataType.BFLOAT16,
    data_type.INT32: DataType.INT32,
    data_type.UINT8: DataType.UINT8,
}
_CODES = {
    data_type.INT8: "i8",
    data_type.INT64: "i64",
    data_type.BOOLEAN: "bool",
    data_type.FP8_E4M3: "e4m3",
    data_type.FP8_E5M2: "e5m2",
    data_type.FP8_E8M0: "e8m0",
    data_type.FP4_E2M1: "e2m1",
}
_OF_DATA_TYPE = {known: member for member, known in _TO_DATA_TYPE.items()}
_OF_CODE = {member.code: member for member in (*_TO_DATA_TYPE, *_CODES)}
_FP8 = {data_type.FP8_E4M3: fp8.E4M3, data_type.FP8_E5M2: fp8.E5M2}
_OF_BLOCKS: dict[data_type, fp8.PowersOfTwo | fp8.Nibbles] = {
    data_type.FP8_E8M0: fp8.E8M0,
    data_type.FP4_E2M1: fp8.E2M1,
}
_FORMS: dict[data_type, fp8.Format | fp8.PowersOfTwo | fp8.Nibbles] = {**_FP8, **_OF_BLOCKS}
_NUMPY: dict[data_type, np.dtype[Any]] = {
    data_type.INT8: np.dtype(np.int8),
    data_type.INT64: np.dtype(np.int64),
    data_type.BOOLEAN: np.dtype(np.bool_),
}
_ITEMSIZE: dict[data_type, int] = {
    **{member: known.itemsize for member, known in _TO_DATA_TYPE.items()},
    **{member: dtype.itemsize for member, dtype in _NUMPY.items()},
    **dict.fromkeys(_FP8, 1),
}
_FLOATS = {data_type.FLOAT, data_type.DOUBLE, data_type.HALF, data_type.BFLOAT16, *_FORMS}
_HELD: dict[data_type, set[data_type]] = {
    data_type.FLOAT: {
        data_type.HALF,
        data_type.BFLOAT16,
        data_type.FP8_E4M3,
        data_type.FP8_E5M2,
        data_type.INT8,
        data_type.UINT8,
        data_type.BOOLEAN,
    }
}
_HELD[data_type.DOUBLE] = {*_HELD[data_type.FLOAT], data_type.FLOAT, data_type.INT32}
_OF_NAME = {
    "float16": data_type.HALF,
    "half": data_type.HALF,
    "bfloat16": data_type.BFLOAT16,
    "float32": data_type.FLOAT,
    "float": data_type.FLOAT,
    "float64": data_type.DOUBLE,
    "double": data_type.DOUBLE,
    "int8": data_type.INT8,
    "int32": data_type.INT32,
    "int64": data_type.INT64,
    "uint8": data_type.UINT8,
    "bool": data_type.BOOLEAN,
    "float8_e4m3fn": data_type.FP8_E4M3,
    "float8_e5m2": data_type.FP8_E5M2,
    "float8_e8m0fnu": data_type.FP8_E8M0,
    "float4_e2m1fn_x2": data_type.FP4_E2M1,
}


def of_problem(dtype: DataType) -> data_type:
    """Return the type that Problems know by another name."""
    return _OF_DATA_TYPE[dtype]


def torch_dtype(kind: data_type) -> Any:
    """Return the dtype of torch for a type; torch has been imported."""
    torch = sys.modules["torch"]
    found = [getattr(torch, name, None) for name, member in _OF_NAME.items() if member is kind]
    if not found or found[0] is None:
        raise fail("PG-TYPE-004", expected="a type that PyTorch has", got=kind.name, fix="pass a buffer for it")
    return found[0]


def of_dtype(dtype: np.dtype[Any], argument: str) -> data_type:
    """Return the type of an array's elements.

    Raises
    ------
    InvalidValue
        The Graph API has no such type (PG-TYPE-004).
    """
    if bfloat16.is_bfloat16(dtype):
        return data_type.BFLOAT16
    found = _OF_NAME.get(dtype.name)
    if found is None:
        names = ", ".join(member.storage.name for member in data_type if member.is_stored)
        raise fail("PG-TYPE-004", argument=argument, expected=names, got=dtype.name, fix="convert the array first")
    return found
