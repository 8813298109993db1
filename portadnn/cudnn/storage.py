"""Layouts that cuDNN stores and no Problem has: integers and vectors of channels.

Convolutions of bytes and transforms read them (:mod:`.integer_graphs`); every other function refuses them, by the
type's name. A layout of vectors, NCHW_VECT_C, has its 4 or 32 channels innermost: ``N x (C/v) x H x W x v``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import portadnn as dnn

from ..arguments import as_integers
from ..enums import FLOATS, TensorFormat, named, plain_number
from ..errors import BadParam, NotSupported
from ..problem import MAX_DIMS, packed_strides
from .enumerations import enumeration

VECTORS = 2  # CUDNN_TENSOR_NCHW_VECT_C
# Types by cuDNN's number: the Graph API's name of an element, its bytes, and the channels of a vector.
_TYPES = {
    3: ("INT8", 1, 1),
    4: ("INT32", 4, 1),
    5: ("INT8", 1, 4),
    6: ("UINT8", 1, 1),
    7: ("UINT8", 1, 4),
    8: ("INT8", 1, 32),
}
_FLOAT_TYPES = {0: "FLOAT", 1: "DOUBLE", 2: "HALF", 9: "BFLOAT16"}


@dataclass(frozen=True)
class Stored:
    """How a tensor or a filter lies in memory, for graphs.

    Attributes
    ----------
    type : str
        The Graph API's name of an element's type.
    lanes : int
        Channels of a vector, 1 where there are none.
    dims : tuple of int
        In logical order, all channels counted.
    places, steps : tuple of int
        Dims and strides in elements of the array in memory. Vectors split the channels: (n, c / v, v, h, w).
    """

    type: str
    lanes: int
    dims: tuple[int, ...]
    places: tuple[int, ...]
    steps: tuple[int, ...]


class _Integers:
    """What tensors and filters of types that are stored only share."""

    dtype: Any = None  # a cudnnDataType_t
    dims: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    def _set(self, number: int, dims: Sequence[int], layout: int, strides: Sequence[int] | None) -> None:
        self.dtype = enumeration("cudnnDataType_t")(number)
        self._type, self._size, self.lanes = _TYPES[number]
        self.block = self.lanes if layout == VECTORS else 1
        self.dims = _checked(dims, self.lanes, layout, self.dtype.name)
        if strides is not None:
            self.strides = as_integers(strides, "strides", 0, len(self.dims))
        else:
            order = TensorFormat.NHWC if layout == TensorFormat.NHWC else TensorFormat.NCHW
            self.strides = packed_strides(self._vectors, order)

    @property
    def _vectors(self) -> tuple[int, ...]:
        """Dims with vectors counted in place of their channels; outside of NCHW_VECT_C each element is a vector."""
        return (self.dims[0], self.dims[1] // self.block, *self.dims[2:])

    def __getattr__(self, name: str) -> Any:
        """Refuse what operations compute in floats alone for: they read `spec`, which integers do not have."""
        if name == "spec":
            raise NotSupported(argument="dataType", expected=FLOATS, got=self.dtype.name)
        raise AttributeError(name)

    @property
    def stored(self) -> Stored:
        """How it lies in memory.

        Raises
        ------
        BadParam
            Vectors outside of NCHW_VECT_C.
        """
        if self.lanes != self.block:
            raise BadParam(argument="format", expected=f"NCHW_VECT_C for {self.dtype.name}", got="another layout")
        if self.lanes == 1:
            return Stored(self._type, 1, self.dims, self.dims, self.strides)
        dims, steps = self._vectors, tuple(step * self.lanes for step in self.strides)
        places = (*dims[:2], self.lanes, *dims[2:])
        return Stored(self._type, self.lanes, self.dims, places, (*steps[:2], 1, *steps[2:]))

    @property
    def size_in_bytes(self) -> int:
        """Bytes from the first to the last element."""
        last = sum((d - 1) * s for d, s in zip(self._vectors, self.strides, strict=True))
        return (last + 1) * self._size * self.lanes

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((self.dtype, self.dims, self.strides))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dtype.name}, {self.dims}, strides={self.strides})"


class IntegerTensor(_Integers, dnn.TensorDescriptor):
    """What a tensor descriptor of integers or vectors was set to; strides count vectors."""

    def __init__(self, number: int, dims: Sequence[int], layout: int = 0, strides: Sequence[int] | None = None) -> None:
        self._set(number, dims, layout, strides)


class IntegerFilter(_Integers, dnn.FilterDescriptor):
    """What a filter descriptor of integers or vectors was set to."""

    def __init__(self, number: int, dims: Sequence[int], layout: int) -> None:
        self.format: Any = enumeration("cudnnTensorFormat_t")(layout)
        self._set(number, dims, layout, None)


def integer_type(value: Any) -> int | None:
    """Return the number of a type that is stored only; None for floats and for what is no type."""
    number = plain_number(value, "cudnnDataType_t")
    return number if number in _TYPES else None


def format_number(value: Any) -> int:
    """Return the number of a cudnnTensorFormat_t, vectors included."""
    number = int(value) if isinstance(value, TensorFormat) else plain_number(value, "cudnnTensorFormat_t")
    if number is None or number not in (0, 1, VECTORS):
        names = ", ".join(enumeration("cudnnTensorFormat_t").__members__)
        raise BadParam(argument="format", expected=f"a cudnnTensorFormat_t ({names})", got=named(value))
    return number


def stored(value: dnn.TensorDescriptor | dnn.FilterDescriptor) -> Stored:
    """Return how the tensor or filter of a descriptor lies in memory."""
    if isinstance(value, _Integers):
        return value.stored
    spec = value.spec
    return Stored(_FLOAT_TYPES[int(spec.dtype)], 1, spec.dims, spec.dims, spec.strides)


def itemsize(place: Stored) -> int:
    """Return the bytes of an element."""
    return {"INT8": 1, "UINT8": 1, "HALF": 2, "BFLOAT16": 2, "DOUBLE": 8}.get(place.type, 4)


def span(place: Stored) -> int:
    """Return the bytes from the first to the last element."""
    last = sum((d - 1) * s for d, s in zip(place.places, place.steps, strict=True))
    return (last + 1) * itemsize(place) if 0 not in place.places else 0


def is_integer(*values: Any) -> bool:
    """Tell whether one of several descriptors' values is of integers or vectors."""
    return any(isinstance(value, _Integers) for value in values)


def type_name(value: Any) -> str:
    """Return the name of a descriptor's type without its prefix, such as ``INT8x4``."""
    if isinstance(value, _Integers):
        return value.dtype.name.removeprefix("CUDNN_DATA_")
    return _FLOAT_TYPES[int(value.spec.dtype)]


def _checked(dims: Sequence[int], lanes: int, layout: int, name: str) -> tuple[int, ...]:
    sizes = as_integers(dims, "dims", -(2**63))
    if len(sizes) > MAX_DIMS - (lanes > 1):
        raise NotSupported(argument="dims", expected=f"at most {MAX_DIMS - (lanes > 1)} dims", got=sizes)
    if len(sizes) < 3:
        raise BadParam(argument="dims", expected="3 to 8 dims", got=sizes)
    as_integers(sizes, "dims", 1)
    if lanes == 1 and layout == VECTORS:
        raise BadParam(argument="format", expected=f"NCHW or NHWC for {name}", got="CUDNN_TENSOR_NCHW_VECT_C")
    if layout == VECTORS and sizes[1] % lanes:
        raise BadParam(argument="dims[1]", expected=f"a multiple of {lanes} for {name}", got=sizes[1])
    if math.prod(sizes) >= 2**31:
        raise NotSupported(argument="dims", expected="fewer than 2 Gi elements", got=sizes)
    return sizes
