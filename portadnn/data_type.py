"""Storage types: their sizes, ranges, rounding and names."""

from __future__ import annotations

import contextlib
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import bfloat16
from .enumeration import DnnEnum, named, plain_number
from .errors import BadParam, shown

if TYPE_CHECKING:
    import numpy.typing as npt

FLOATS = "float16, bfloat16, float32 or float64"  # as messages name the types that operations compute in


class Limits(NamedTuple):
    """What numbers of a type can be: as ``numpy.finfo``, which does not know all of them.

    Attributes
    ----------
    eps : float
        From 1 to the next number.
    lowest : float
        The lowest finite number.
    smallest_normal, smallest_subnormal : float
        The smallest positive numbers, with all digits and with one.
    """

    eps: float
    lowest: float
    smallest_normal: float
    smallest_subnormal: float


class DataType(DnnEnum):
    """Storage type of a tensor or filter (guide section 3.11; BFLOAT16 is of cuDNN 8).

    The integer types are those of indices and of byte buffers; operations compute in the others.
    """

    FLOAT = 0
    DOUBLE = 1
    HALF = 2
    INT8 = 3
    INT32 = 4
    UINT8 = 6
    BFLOAT16 = 9
    INT64 = 10

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype with the same storage; that of BFLOAT16 is ``ml_dtypes.bfloat16``.

        Raises
        ------
        NotSupported
            BFLOAT16, and ml_dtypes is not installed.
        """
        return bfloat16.numpy_dtype() if self is DataType.BFLOAT16 else _NUMPY_OF[self]

    @property
    def storage(self) -> np.dtype[Any]:
        """The dtype of arrays on devices: `numpy`, or two plain bytes for BFLOAT16 where ml_dtypes is missing."""
        return bfloat16.storage_dtype() if self is DataType.BFLOAT16 else _NUMPY_OF[self]

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return 2 if self is DataType.BFLOAT16 else _NUMPY_OF[self].itemsize

    @property
    def type_name(self) -> str:
        """The name of the NumPy dtype, such as ``"float32"``."""
        return "bfloat16" if self is DataType.BFLOAT16 else _NUMPY_OF[self].name

    @property
    def code(self) -> str:
        """The name in problem lines and capability tables, such as ``"f32"``."""
        return _CODES[self]

    @classmethod
    def of_code(cls, code: str) -> DataType | None:
        """Return the data type with that name in problem lines, or None."""
        return _OF_CODE.get(code)

    @property
    def is_float(self) -> bool:
        """Whether operations compute in this type."""
        return self not in (DataType.INT8, DataType.INT32, DataType.INT64, DataType.UINT8)

    @property
    def limits(self) -> Limits:
        """The type's precision and range."""
        if self is DataType.BFLOAT16:
            return Limits(2.0**-7, -(2 - 2.0**-7) * 2.0**127, 2.0**-126, 2.0**-133)
        info: np.finfo[Any] = np.finfo(_NUMPY_OF[self])
        return Limits(*map(float, (info.eps, info.min, info.smallest_normal, info.smallest_subnormal)))

    @property
    def accumulator(self) -> DataType:
        """The type in which sums are kept: float32 for the types of 16 bits, the type itself otherwise."""
        return DataType.FLOAT if self in (DataType.HALF, DataType.BFLOAT16) else self

    def stored(self, values: npt.ArrayLike) -> np.ndarray[Any, Any]:
        """Return numbers rounded to this type, as an array of the dtype `storage`."""
        if self is DataType.BFLOAT16:
            return bfloat16.rounded(values).view(self.storage)
        return np.asarray(values).astype(self.storage, copy=False)

    @classmethod
    def of(cls, dtype: npt.DTypeLike | DataType | int, argument: str = "dtype") -> DataType:
        """Return the data type of a NumPy dtype, a name such as ``"float16"``, or a member's name or number.

        Raises
        ------
        BadParam
            The dtype is none that portadnn computes in.
        """
        if isinstance(dtype, cls):
            found: DataType | None = dtype
        elif isinstance(dtype, int):
            number = plain_number(dtype, cls.c_enumeration())
            found = next((member for member in cls if member == number), None)
        else:
            found = cls._stored_as(dtype)
        if found is None or not found.is_float:
            expected = f"{FLOATS}, as a DataType or NumPy's" if isinstance(dtype, Enum) else FLOATS
            raise BadParam(argument=argument, expected=expected, got=named(dtype))
        return found

    @classmethod
    def of_array(cls, dtype: np.dtype[Any], argument: str) -> DataType:
        """Return the data type of an array, which may hold indices or bytes.

        Raises
        ------
        BadParam
            The dtype is none that portadnn stores.
        """
        found = cls._stored_as(dtype)
        if found is None:
            raise BadParam(argument=argument, expected=FLOATS, got=shown(dtype))
        return found

    @classmethod
    def _stored_as(cls, dtype: Any) -> DataType | None:
        found = cls._named(dtype) if isinstance(dtype, str) else None
        if found is None and dtype is not None:  # None is float64 to NumPy
            with contextlib.suppress(Exception):  # NumPy asks objects for an attribute
                kind = np.dtype(dtype)
                found = cls.BFLOAT16 if bfloat16.is_bfloat16(kind) else _DATA_TYPE_OF.get(kind)
        return found


_NUMPY_OF: dict[DataType, np.dtype[Any]] = {
    DataType.FLOAT: np.dtype(np.float32),
    DataType.DOUBLE: np.dtype(np.float64),
    DataType.HALF: np.dtype(np.float16),
    DataType.INT8: np.dtype(np.int8),
    DataType.INT32: np.dtype(np.int32),
    DataType.INT64: np.dtype(np.int64),
    DataType.UINT8: np.dtype(np.uint8),
}
_CODES = {
    DataType.FLOAT: "f32",
    DataType.DOUBLE: "f64",
    DataType.HALF: "f16",
    DataType.BFLOAT16: "bf16",
    DataType.INT8: "i8",
    DataType.INT32: "i32",
    DataType.INT64: "i64",
    DataType.UINT8: "u8",
}
_OF_CODE = {code: dtype for dtype, code in _CODES.items()}
_DATA_TYPE_OF: dict[np.dtype[Any], DataType] = {dtype: member for member, dtype in _NUMPY_OF.items()}
