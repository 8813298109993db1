"""Descriptors of tensors and filters, and what all descriptors share: immutable, hashable, validated when made.

They compare and hash by value, so one descriptor serves every tensor or layer that looks alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy.typing as npt

from ..arguments import as_integer, as_integers
from ..enums import DataType, TensorFormat
from ..errors import BadParam, DnnError, NotSupported, public, shown, written
from ..problem import MAX_DIMS, MAX_SPAN, TensorSpec, packed_strides


def make_spec(dims: Any, dtype: Any, format: Any = TensorFormat.NCHW, strides: Any = None) -> TensorSpec:
    """Return the spec that a :class:`TensorDescriptor` of these arguments has; the errors are its errors."""
    sizes = as_integers(dims, "dims", -(2**63))
    if len(sizes) > MAX_DIMS:
        raise NotSupported(argument="dims", expected=f"at most {MAX_DIMS} dims", got=sizes)
    if len(sizes) < 3:
        raise BadParam(argument="dims", expected="3 to 8 dims", got=sizes)
    as_integers(sizes, "dims", 0)
    layout = TensorFormat.parse(format, "format")
    steps = packed_strides(sizes, layout) if strides is None else as_integers(strides, "strides", 0, len(sizes))
    spec = TensorSpec(DataType.of(dtype), sizes, steps)
    if spec.span > MAX_SPAN:
        raise NotSupported(argument="dims", expected="at most 2**48 elements with gaps", got=spec.span)
    return spec


@dataclass(frozen=True)
class TensorView:
    """A backend's buffer or array read with a stated layout; made by ``descriptor.view(buffer)``.

    Attributes
    ----------
    spec : TensorSpec
        Type, dims and strides to read it with.
    base : object
        A native array or raw buffer of the backend.
    offset : int
        Elements to skip at the start of `base`.
    """

    spec: TensorSpec
    base: Any
    offset: int = 0

    def __post_init__(self) -> None:
        if type(self.spec) is not TensorSpec:
            raise BadParam(argument="spec", expected="a TensorSpec", got=shown(self.spec), call="TensorView")
        if type(self.offset) is not int or not 0 <= self.offset < 2**63:
            raise BadParam(argument="offset", expected="an integer >= 0", got=shown(self.offset), call="TensorView")


class _Viewable:
    """What tensor and filter descriptors share: queries and views."""

    spec: TensorSpec

    @property
    def dtype(self) -> DataType:
        """Storage type."""
        return self.spec.dtype

    @property
    def dims(self) -> tuple[int, ...]:
        """Dims in logical order."""
        return self.spec.dims

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides in elements, in the order of the dims."""
        return self.spec.strides

    @property
    def size_in_bytes(self) -> int:
        """Bytes from the first to the last element, gaps included."""
        return self.spec.span * self.spec.dtype.itemsize

    @public
    def view(self, buffer: Any, offset: int = 0) -> TensorView:
        """State how to read `buffer` (a native array or raw buffer of the backend), from element `offset` on.

        Raises
        ------
        BadParam
            `buffer` is None or `offset` is negative. A buffer that is too small is refused by the call.
        """
        if buffer is None:
            raise BadParam(argument="buffer", expected="a buffer or an array", got=None)
        return TensorView(self.spec, buffer, as_integer(offset, "offset", 0))


class TensorDescriptor(_Viewable):
    """Type, dims and strides of a tensor (guide sections 4.7 to 4.13).

    Parameters
    ----------
    dims
        3 to 8 sizes in logical order (n, c, [d,] h, w).
    dtype
        float16, bfloat16, float32 or float64, as NumPy dtype, name or :class:`DataType`.
    format
        Layout of a packed tensor.
    strides
        Elements between neighbours in each dimension, instead of `format`.

    Raises
    ------
    BadParam
        A wrong number of dims or strides, negative values, or an unknown type or format.
    NotSupported
        More than 8 dims, or more than 2**48 elements with gaps.
    """

    @public
    def __init__(
        self,
        dims: Sequence[int],
        dtype: npt.DTypeLike | DataType = DataType.FLOAT,
        *,
        format: TensorFormat | int | str = TensorFormat.NCHW,
        strides: Sequence[int] | None = None,
    ) -> None:
        self.spec = make_spec(dims, dtype, format, strides)

    @classmethod
    @public
    def set_4d(
        cls, format: TensorFormat | int | str, dtype: npt.DTypeLike | DataType, n: int, c: int, h: int, w: int
    ) -> TensorDescriptor:
        """Make a packed 4-D descriptor (guide section 4.8)."""
        return cls((n, c, h, w), dtype, format=format)

    @classmethod
    @public
    def set_4d_ex(
        cls,
        dtype: npt.DTypeLike | DataType,
        n: int,
        c: int,
        h: int,
        w: int,
        n_stride: int,
        c_stride: int,
        h_stride: int,
        w_stride: int,
    ) -> TensorDescriptor:
        """Make a strided 4-D descriptor (guide section 4.9)."""
        return cls((n, c, h, w), dtype, strides=(n_stride, c_stride, h_stride, w_stride))

    @classmethod
    @public
    def set_nd(cls, dtype: npt.DTypeLike | DataType, dims: Sequence[int], strides: Sequence[int]) -> TensorDescriptor:
        """Make an N-D descriptor; unlike the 4-D forms it refuses dims of 0 (guide section 4.11)."""
        if len(as_integers(dims, "dims", -(2**63))) <= MAX_DIMS:
            as_integers(dims, "dims", 1)
        return cls(dims, dtype, strides=strides)

    @public
    def get_4d(self) -> tuple[DataType, int, int, int, int, int, int, int, int]:
        """Return (dtype, n, c, h, w, n_stride, c_stride, h_stride, w_stride) (guide section 4.10).

        Raises
        ------
        BadParam
            The descriptor is not 4-D.
        """
        if len(self.dims) != 4:
            raise BadParam(argument="descriptor", expected="4 dims", got=self.dims)
        n, c, h, w = self.dims
        return (self.dtype, n, c, h, w, self.strides[0], self.strides[1], self.strides[2], self.strides[3])

    @public
    def get_nd(self, requested: int = MAX_DIMS) -> tuple[DataType, int, tuple[int, ...], tuple[int, ...]]:
        """Return (dtype, number of dims, the first `requested` dims, their strides) (guide section 4.12)."""
        count = as_integer(requested, "requested", 0)
        return (self.dtype, len(self.dims), self.dims[:count], self.strides[:count])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorDescriptor) and self.spec == other.spec

    def __hash__(self) -> int:
        return hash(self.spec)

    def __repr__(self) -> str:
        return f"TensorDescriptor({self.spec})"


class FilterDescriptor(_Viewable):
    """Type, dims (k, c/groups, [t,] r, s) and layout of a gapless filter (guide sections 4.19 to 4.32).

    Parameters
    ----------
    dims
        3 to 8 sizes in logical order.
    dtype
        float16, bfloat16, float32 or float64.
    format
        NCHW means KCRS, NHWC means KRSC.

    Raises
    ------
    BadParam, NotSupported
        As :class:`TensorDescriptor`.
    """

    @public
    def __init__(
        self,
        dims: Sequence[int],
        dtype: npt.DTypeLike | DataType = DataType.FLOAT,
        *,
        format: TensorFormat | int | str = TensorFormat.NCHW,
    ) -> None:
        self.format = TensorFormat.parse(format, "format")
        self.spec = make_spec(dims, dtype, self.format)

    @classmethod
    @public
    def set_4d(
        cls, dtype: npt.DTypeLike | DataType, format: TensorFormat | int | str, k: int, c: int, r: int, s: int
    ) -> FilterDescriptor:
        """Make a 4-D filter descriptor (guide sections 4.20 and 4.24)."""
        return cls((k, c, r, s), dtype, format=format)

    @classmethod
    @public
    def set_nd(
        cls, dtype: npt.DTypeLike | DataType, format: TensorFormat | int | str, dims: Sequence[int]
    ) -> FilterDescriptor:
        """Make an N-D filter descriptor (guide sections 4.26 and 4.30)."""
        return cls(dims, dtype, format=format)

    @public
    def get_4d(self) -> tuple[DataType, TensorFormat, int, int, int, int]:
        """Return (dtype, format, k, c, r, s) (guide sections 4.21, 4.23 and 4.25); BadParam when not 4-D."""
        if len(self.dims) != 4:
            raise BadParam(argument="descriptor", expected="4 dims", got=self.dims)
        k, c, r, s = self.dims
        return (self.dtype, self.format, k, c, r, s)

    @public
    def get_nd(self, requested: int = MAX_DIMS) -> tuple[DataType, TensorFormat, int, tuple[int, ...]]:
        """Return (dtype, format, dims, the first `requested` sizes) (guide sections 4.27, 4.29 and 4.31)."""
        return (self.dtype, self.format, len(self.dims), self.dims[: as_integer(requested, "requested", 0)])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FilterDescriptor) and (self.spec, self.format) == (other.spec, other.format)

    def __hash__(self) -> int:
        return hash((self.spec, self.format))

    def __repr__(self) -> str:
        return f"FilterDescriptor({self.spec})"


D = TypeVar("D")


def check_descriptor(value: Any, kind: type[D], argument: str) -> D:
    """Demand a descriptor of that kind."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AO" else "a"
        raise BadParam(argument=argument, expected=f"{article} {kind.__name__}", got=shown(value))
    return value


def logical_dims(value: Any, argument: str, kind: type[TensorDescriptor] | type[FilterDescriptor]) -> tuple[int, ...]:
    """Return the dims of a descriptor, a view or an array, or of what a descriptor can be made of.

    Errors name `argument`.
    """
    if isinstance(value, kind):
        return value.dims
    if isinstance(value, _Viewable):
        raise BadParam(argument=argument, expected=f"a {kind.__name__}, a tensor or dims", got=shown(value))
    if isinstance(value, TensorView):
        return value.spec.dims
    try:
        return make_spec(tuple(value.shape) if _is_array(value) else value, DataType.FLOAT).dims
    except DnnError as error:
        error.argument = argument
        raise


def _is_array(value: Any) -> bool:
    """Tell whether a value is a tensor of any library: a list of dims may be an array, too, of one dim."""
    try:
        return isinstance(getattr(value, "shape", None), tuple) and len(value.shape) > 1
    except Exception:  # a user's attributes may raise anything
        return False


def data_type_of(value: Any, argument: str) -> DataType | None:
    """Return the data type of a descriptor, a view or an array; None for dims, which have none."""
    if isinstance(value, (_Viewable, TensorView)):
        return value.spec.dtype
    if not _is_array(value):
        return None
    name = written(str, getattr(value, "dtype", None)).rpartition(".")[2]
    return DataType.of(name, f"{argument}.dtype")


class Parameters:
    """Base of the frozen parameter descriptors, here and beside the operations.

    It remembers the hash, which every plan lookup needs.

    Attributes
    ----------
    by_value : bool
        Whether equal ones mean the same.
    """

    by_value: ClassVar[bool] = True
    _hash: int

    @property
    def params(self) -> tuple[Any, ...]:
        """The values in the order of the Problems' fields."""
        raise NotImplementedError

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_hash", hash(self.params))

    def __hash__(self) -> int:
        return self._hash
