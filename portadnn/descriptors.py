"""Descriptors of chapter 3: immutable, hashable, validated when made.

They compare and hash by value, so one descriptor serves every tensor or layer that looks alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex, TypeVar

import numpy as np
import numpy.typing as npt

from .enums import (
    ActivationMode,
    ConvolutionMode,
    DataType,
    MathType,
    NanPropagation,
    OpTensorOp,
    PoolingMode,
    TensorFormat,
)
from .errors import BadParam, DnnError, NotSupported, public
from .problem import MAX_DIMS, MAX_SPAN, TensorSpec, packed_strides


def _integer(value: Any, argument: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise BadParam(argument=argument, expected="an integer", got=repr(value))
    number = int(value)
    if number < least:
        raise BadParam(argument=argument, expected=f"an integer >= {least}", got=number)
    return number


def _integers(values: Any, argument: str, least: int, count: int | None = None) -> tuple[int, ...]:
    try:
        if isinstance(values, (str, bytes)):
            raise TypeError
        values = tuple(values)
    except TypeError:
        raise BadParam(argument=argument, expected="a sequence of integers", got=repr(values)) from None
    if count is not None and len(values) != count:
        raise BadParam(argument=argument, expected=f"{count} integers", got=tuple(values))
    return tuple(_integer(v, f"{argument}[{i}]", least) for i, v in enumerate(values))


def make_spec(dims: Any, dtype: Any, format: Any = TensorFormat.NCHW, strides: Any = None) -> TensorSpec:
    """Return the spec that a :class:`TensorDescriptor` of these arguments has; the errors are its errors."""
    sizes = _integers(dims, "dims", 0)
    if len(sizes) > MAX_DIMS:
        raise NotSupported(argument="dims", expected=f"at most {MAX_DIMS} dims", got=sizes)
    if len(sizes) < 3:
        raise BadParam(argument="dims", expected="3 to 8 dims", got=sizes)
    layout = TensorFormat.parse(format, "format")
    steps = packed_strides(sizes, layout) if strides is None else _integers(strides, "strides", 0, len(sizes))
    spec = TensorSpec(DataType.of(dtype), sizes, steps)
    if spec.span > MAX_SPAN:
        raise NotSupported(argument="dims", expected="at most 2 Gi elements with gaps", got=spec.span)
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
        return TensorView(self.spec, buffer, _integer(offset, "offset", 0))


class TensorDescriptor(_Viewable):
    """Type, dims and strides of a tensor (guide sections 4.8 to 4.12).

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
        More than 8 dims, or more than 2 Gi elements with gaps.
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
        return cls(_integers(dims, "dims", 1), dtype, strides=strides)

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
        count = _integer(requested, "requested", 0)
        return (self.dtype, len(self.dims), self.dims[:count], self.strides[:count])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorDescriptor) and self.spec == other.spec

    def __hash__(self) -> int:
        return hash(self.spec)

    def __repr__(self) -> str:
        return f"TensorDescriptor({self.spec})"


class FilterDescriptor(_Viewable):
    """Type, dims (k, c/groups, [t,] r, s) and layout of a gapless filter (guide sections 4.20 to 4.27).

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
        """Make a 4-D filter descriptor (guide section 4.20)."""
        return cls((k, c, r, s), dtype, format=format)

    @classmethod
    @public
    def set_nd(
        cls, dtype: npt.DTypeLike | DataType, format: TensorFormat | int | str, dims: Sequence[int]
    ) -> FilterDescriptor:
        """Make an N-D filter descriptor (guide section 4.26)."""
        return cls(dims, dtype, format=format)

    @public
    def get_4d(self) -> tuple[DataType, TensorFormat, int, int, int, int]:
        """Return (dtype, format, k, c, r, s) (guide section 4.21); BadParam when not 4-D."""
        if len(self.dims) != 4:
            raise BadParam(argument="descriptor", expected="4 dims", got=self.dims)
        k, c, r, s = self.dims
        return (self.dtype, self.format, k, c, r, s)

    @public
    def get_nd(self, requested: int = MAX_DIMS) -> tuple[DataType, TensorFormat, int, tuple[int, ...]]:
        """Return (dtype, format, number of dims, the first `requested` dims) (guide section 4.27)."""
        return (self.dtype, self.format, len(self.dims), self.dims[: _integer(requested, "requested", 0)])

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
        raise BadParam(argument=argument, expected=f"{article} {kind.__name__}", got=repr(value))
    return value


def check_activation(mode: ActivationMode, ceiling: float, coef: float) -> None:
    """Demand numbers that make sense where they are used; never NaN, with which equal descriptors would differ."""
    if math.isnan(coef) or (mode in (ActivationMode.ELU, ActivationMode.SWISH) and math.isinf(coef)):
        raise BadParam(argument="coef", expected="a finite number", got=coef)
    if math.isnan(ceiling) or (mode is ActivationMode.CLIPPED_RELU and not 0 <= ceiling < math.inf):
        raise BadParam(argument="ceiling", expected="a finite number >= 0", got=ceiling)


def logical_dims(value: Any, argument: str, kind: type[TensorDescriptor] | type[FilterDescriptor]) -> tuple[int, ...]:
    """Return the dims of a descriptor, or of what one can be made of; errors name `argument`."""
    if isinstance(value, kind):
        return value.dims
    if isinstance(value, _Viewable):
        raise BadParam(argument=argument, expected=f"a {kind.__name__} or dims", got=repr(value))
    try:
        return make_spec(value, DataType.FLOAT).dims
    except DnnError as error:
        error.argument = argument
        raise


class Parameters:
    """Base of the frozen parameter descriptors, here and beside the operations.

    It remembers the hash, which every plan lookup needs.
    """

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


@dataclass(frozen=True)
class ConvolutionDescriptor(Parameters):
    """Geometry and mode of a convolution (guide sections 4.34 to 4.38).

    Parameters
    ----------
    padding, stride, dilation
        One integer per spatial dimension, in the order ([depth,] height, width). `dilation` is what the guide
        calls upscale: cuDNN 6 and later read the same arguments as the dilation.
    groups
        Channels and filters are split into that many independent convolutions.
    mode
        CROSS_CORRELATION, or CONVOLUTION, which flips the filter.
    compute_type
        Type of the arithmetic; None takes the accumulator of the data type (float32 for float16 and bfloat16 data).
    math
        Which units and roundings are permitted (:class:`MathType`; cudnnSetConvolutionMathType). ``"tf32"`` lets
        float32 data be rounded to TF32. It is a permission: engines without tensor cores compute exactly.

    Raises
    ------
    BadParam
        Negative padding, stride or dilation below 1, lengths that differ, unknown mode or type.
    NotSupported
        More than 6 spatial dimensions.
    """

    padding: tuple[int, ...] = (0, 0)
    stride: tuple[int, ...] | None = None
    dilation: tuple[int, ...] | None = None
    groups: int = 1
    mode: ConvolutionMode = ConvolutionMode.CROSS_CORRELATION
    compute_type: DataType | None = None
    math: MathType = MathType.DEFAULT

    @public
    def __post_init__(self) -> None:
        padding = _integers(self.padding, "padding", 0)
        ones = (1,) * len(padding)
        if not padding:
            raise BadParam(argument="padding", expected="at least one spatial dimension", got=padding)
        if len(padding) > MAX_DIMS - 2:
            raise NotSupported(argument="padding", expected=f"at most {MAX_DIMS - 2} values", got=padding)
        self._set(
            padding=padding,
            stride=_integers(ones if self.stride is None else self.stride, "stride", 1, len(padding)),
            dilation=_integers(ones if self.dilation is None else self.dilation, "dilation", 1, len(padding)),
            groups=_integer(self.groups, "groups", 1),
            mode=ConvolutionMode.parse(self.mode, "mode"),
            compute_type=None if self.compute_type is None else DataType.of(self.compute_type, "compute_type"),
            math=MathType.parse(self.math, "math"),
        )

    __hash__ = Parameters.__hash__

    @property
    def params(self) -> tuple[Any, ...]:
        """The values in the order of the convolution Problems' fields."""
        return (self.padding, self.stride, self.dilation, self.groups, self.mode, self.compute_type, self.math)


@dataclass(frozen=True)
class PoolingDescriptor(Parameters):
    """Mode and window of a pooling (guide sections 4.60 to 4.63).

    Parameters
    ----------
    mode
        MAX, AVERAGE_COUNT_INCLUDE_PADDING or AVERAGE_COUNT_EXCLUDE_PADDING.
    window
        Sizes in the order ([depth,] height, width).
    padding, stride
        As `window`; no padding and stride = 1 by default.
    nan_propagation
        Whether a NaN in a window wins in MAX mode; averages always propagate.

    Raises
    ------
    BadParam
        Window or stride below 1, negative padding, lengths that differ, unknown mode or option.
    NotSupported
        More than 6 spatial dimensions.
    """

    mode: PoolingMode
    window: tuple[int, ...]
    padding: tuple[int, ...] | None = None
    stride: tuple[int, ...] | None = None
    nan_propagation: NanPropagation = NanPropagation.NOT_PROPAGATE_NAN

    @public
    def __post_init__(self) -> None:
        window = _integers(self.window, "window", 1)
        if not window:
            raise BadParam(argument="window", expected="at least one spatial dimension", got=window)
        if len(window) > MAX_DIMS - 2:
            raise NotSupported(argument="window", expected=f"at most {MAX_DIMS - 2} values", got=window)
        count = len(window)
        self._set(
            mode=PoolingMode.parse(self.mode, "mode"),
            window=window,
            padding=_integers((0,) * count if self.padding is None else self.padding, "padding", 0, count),
            stride=_integers((1,) * count if self.stride is None else self.stride, "stride", 1, count),
            nan_propagation=NanPropagation.parse(self.nan_propagation, "nan_propagation"),
        )

    __hash__ = Parameters.__hash__

    @property
    def params(self) -> tuple[Any, ...]:
        """The values in the order of the pooling Problems' fields."""
        return (self.mode, self.window, self.padding, self.stride, self.nan_propagation)


@dataclass(frozen=True)
class ActivationDescriptor(Parameters):
    """Mode of an activation (guide sections 4.80 and 4.81).

    Parameters
    ----------
    mode
        SIGMOID, RELU, TANH, CLIPPED_RELU, ELU, SWISH or IDENTITY.
    nan_propagation
        Whether RELU and CLIPPED_RELU keep NaN; the others always do.
    ceiling
        Upper bound of CLIPPED_RELU.
    coef
        The alpha of ELU (x above 0, else ``alpha * (exp(x) - 1)``) or the beta of SWISH (``x / (1 + exp(-beta * x))``).
        C has one number for it and the ceiling.

    Raises
    ------
    BadParam
        Unknown mode or option, or a ceiling or coef that is not a finite number (>= 0) where it is used.
    """

    mode: ActivationMode
    nan_propagation: NanPropagation = NanPropagation.NOT_PROPAGATE_NAN
    ceiling: float = 0.0
    coef: float = 1.0

    @public
    def __post_init__(self) -> None:
        mode = ActivationMode.parse(self.mode, "mode")
        for name in ("ceiling", "coef"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, (int, float, np.integer, np.floating)):
                raise BadParam(argument=name, expected="a number", got=repr(number))
        ceiling, coef = float(self.ceiling), float(self.coef)
        check_activation(mode, ceiling, coef)
        self._set(
            mode=mode,
            nan_propagation=NanPropagation.parse(self.nan_propagation, "nan_propagation"),
            ceiling=ceiling,
            coef=coef,
        )

    __hash__ = Parameters.__hash__

    @property
    def params(self) -> tuple[Any, ...]:
        """The values in the order of the activation Problems' fields."""
        return (self.mode, self.nan_propagation, self.ceiling, self.coef)


@dataclass(frozen=True)
class OpTensorDescriptor(Parameters):
    """Operation of :func:`~portadnn.op_tensor` (guide sections 3.10 and 4.16).

    Parameters
    ----------
    op
        ADD, MUL, MIN or MAX.
    compute_type
        float32, or float64 for float64 destinations; None takes what the destination needs.
    nan_propagation
        Whether MIN and MAX keep NaN.

    Raises
    ------
    BadParam
        Unknown operation, type or option.
    """

    op: OpTensorOp
    compute_type: DataType | None = None
    nan_propagation: NanPropagation = NanPropagation.NOT_PROPAGATE_NAN

    @public
    def __post_init__(self) -> None:
        self._set(
            op=OpTensorOp.parse(self.op, "op"),
            compute_type=None if self.compute_type is None else DataType.of(self.compute_type, "compute_type"),
            nan_propagation=NanPropagation.parse(self.nan_propagation, "nan_propagation"),
        )

    __hash__ = Parameters.__hash__

    @property
    def params(self) -> tuple[Any, ...]:
        """The values in the order of the OpTensor Problem's fields."""
        return (self.op, self.compute_type, self.nan_propagation)
