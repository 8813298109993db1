"""Descriptors of layers (chapter 3): immutable, hashable, validated when made. Others stand beside their operations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ..arguments import as_integer, as_integers, as_real
from ..enums import (
    ActivationMode,
    ConvolutionMode,
    DataType,
    MathType,
    NanPropagation,
    OpTensorOp,
    PoolingMode,
    plain_number,
)
from ..errors import BadParam, NotSupported, public
from ..problem import MAX_DIMS
from . import Parameters


def _first(values: tuple[int, ...], requested: int) -> tuple[int, ...]:
    """Return the first values of a descriptor, at most as many as C's arrays may hold."""
    if as_integer(requested, "requested", 0) > MAX_DIMS:
        raise NotSupported(argument="requested", expected=f"at most {MAX_DIMS}", got=requested)
    return values[:requested]


Sizes = tuple[int, ...]


def _three(**arrays: Sequence[int]) -> tuple[Sizes, Sizes, Sizes]:
    """Return C's three arrays as tuples; none may be left out."""
    first, second, third = (as_integers(values, name, 0) for name, values in arrays.items())
    return first, second, third


def _demand_2d(values: tuple[int, ...]) -> None:
    if len(values) != 2:
        raise BadParam(argument="descriptor", expected="2 spatial dimensions", got=len(values))


def check_activation(mode: ActivationMode, ceiling: float, coef: float) -> None:
    """Demand numbers, as cuDNN does not; NaN would make equal descriptors differ."""
    for argument, number in (("coef", coef), ("ceiling", ceiling)):
        if math.isnan(number):
            raise BadParam(argument=argument, expected="a number", got=number)


def _arithmetic(compute_type: Any) -> DataType | None:
    """Return a convolution's compute type: a float type, or INT32 for those of bytes."""
    number = plain_number(compute_type, "cudnnDataType_t")
    if compute_type is None or compute_type is DataType.INT32 or number == DataType.INT32:
        return None if compute_type is None else DataType.INT32
    return DataType.of(compute_type, "compute_type")


@dataclass(frozen=True)
class ConvolutionDescriptor(Parameters):
    """Geometry and mode of a convolution (guide sections 4.33 to 4.40).

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
        padding = as_integers(self.padding, "padding", 0)
        ones = (1,) * len(padding)
        if not padding:
            raise BadParam(argument="padding", expected="at least one spatial dimension", got=padding)
        if len(padding) > MAX_DIMS - 2:
            raise NotSupported(argument="padding", expected=f"at most {MAX_DIMS - 2} values", got=padding)
        self._set(
            padding=padding,
            stride=as_integers(ones if self.stride is None else self.stride, "stride", 1, len(padding)),
            dilation=as_integers(ones if self.dilation is None else self.dilation, "dilation", 1, len(padding)),
            groups=as_integer(self.groups, "groups", 1),
            mode=ConvolutionMode.parse(self.mode, "mode"),
            compute_type=_arithmetic(self.compute_type),
            math=MathType.parse(self.math, "math"),
        )

    __hash__ = Parameters.__hash__

    @classmethod
    @public
    def set_2d(
        cls,
        pad_h: int,
        pad_w: int,
        stride_h: int,
        stride_w: int,
        dilation_h: int = 1,
        dilation_w: int = 1,
        mode: ConvolutionMode | int | str = ConvolutionMode.CROSS_CORRELATION,
        compute_type: npt.DTypeLike | DataType | None = None,
    ) -> ConvolutionDescriptor:
        """Make a 2-D descriptor with C's arguments in C's order (guide section 4.34).

        The guide's upscalex and upscaley are the dilation along h and w, as since cuDNN 6.
        """
        kind = _arithmetic(compute_type)
        how = ConvolutionMode.parse(mode, "mode")
        return cls((pad_h, pad_w), (stride_h, stride_w), (dilation_h, dilation_w), 1, how, kind)

    @classmethod
    @public
    def set_nd(
        cls,
        padding: Sequence[int],
        stride: Sequence[int],
        dilation: Sequence[int],
        mode: ConvolutionMode | int | str = ConvolutionMode.CROSS_CORRELATION,
        compute_type: npt.DTypeLike | DataType | None = None,
    ) -> ConvolutionDescriptor:
        """Make an N-D descriptor with C's arguments in C's order (guide section 4.37)."""
        kind = _arithmetic(compute_type)
        how = ConvolutionMode.parse(mode, "mode")
        return cls(*_three(padding=padding, stride=stride, dilation=dilation), 1, how, kind)

    @public
    def get_2d(self) -> tuple[int, int, int, int, int, int, ConvolutionMode]:
        """Return (pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, mode) (guide section 4.35).

        Raises
        ------
        BadParam
            The descriptor is not 2-D.
        """
        _demand_2d(self.padding)
        assert self.stride is not None and self.dilation is not None
        (pad_h, pad_w), (stride_h, stride_w), (dilation_h, dilation_w) = self.padding, self.stride, self.dilation
        return (pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, self.mode)

    @public
    def get_nd(
        self, requested: int = MAX_DIMS
    ) -> tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...], ConvolutionMode, DataType | None]:
        """Return (spatial dims, the first `requested` of padding, stride and dilation, mode, compute type).

        Guide section 4.38. NotSupported for more than 8 requested values, BadParam for less than 0.
        """
        padding, stride, dilation = (
            _first(v, requested) for v in (self.padding, self.stride or (), self.dilation or ())
        )
        return (len(self.padding), padding, stride, dilation, self.mode, self.compute_type)

    @property
    def params(self) -> tuple[Any, ...]:
        """The values in the order of the convolution Problems' fields."""
        return (self.padding, self.stride, self.dilation, self.groups, self.mode, self.compute_type, self.math)


@dataclass(frozen=True)
class PoolingDescriptor(Parameters):
    """Mode and window of a pooling (guide sections 4.59 to 4.72).

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
        window = as_integers(self.window, "window", 1)
        if not window:
            raise BadParam(argument="window", expected="at least one spatial dimension", got=window)
        if len(window) > MAX_DIMS - 2:
            raise NotSupported(argument="window", expected=f"at most {MAX_DIMS - 2} values", got=window)
        count = len(window)
        self._set(
            mode=PoolingMode.parse(self.mode, "mode"),
            window=window,
            padding=as_integers((0,) * count if self.padding is None else self.padding, "padding", 0, count),
            stride=as_integers((1,) * count if self.stride is None else self.stride, "stride", 1, count),
            nan_propagation=NanPropagation.parse(self.nan_propagation, "nan_propagation"),
        )

    __hash__ = Parameters.__hash__

    @classmethod
    @public
    def set_2d(
        cls,
        mode: PoolingMode | int | str,
        nan_propagation: NanPropagation | int | str,
        window_h: int,
        window_w: int,
        pad_h: int,
        pad_w: int,
        stride_h: int,
        stride_w: int,
    ) -> PoolingDescriptor:
        """Make a 2-D descriptor with C's arguments in C's order (guide sections 4.60 and 4.68)."""
        return cls.set_nd(mode, nan_propagation, (window_h, window_w), (pad_h, pad_w), (stride_h, stride_w))

    @classmethod
    @public
    def set_nd(
        cls,
        mode: PoolingMode | int | str,
        nan_propagation: NanPropagation | int | str,
        window: Sequence[int],
        padding: Sequence[int],
        stride: Sequence[int],
    ) -> PoolingDescriptor:
        """Make an N-D descriptor with C's arguments in C's order (guide sections 4.62 and 4.70)."""
        nan = NanPropagation.parse(nan_propagation, "nan_propagation")
        return cls(PoolingMode.parse(mode, "mode"), *_three(window=window, padding=padding, stride=stride), nan)

    @public
    def get_2d(self) -> tuple[PoolingMode, NanPropagation, int, int, int, int, int, int]:
        """Return (mode, nan_propagation, window_h, window_w, pad_h, pad_w, stride_h, stride_w).

        Guide sections 4.61, 4.65 and 4.69.

        Raises
        ------
        BadParam
            The descriptor is not 2-D.
        """
        _demand_2d(self.window)
        assert self.padding is not None and self.stride is not None
        (window_h, window_w), (pad_h, pad_w), (stride_h, stride_w) = self.window, self.padding, self.stride
        return (self.mode, self.nan_propagation, window_h, window_w, pad_h, pad_w, stride_h, stride_w)

    @public
    def get_nd(
        self, requested: int = MAX_DIMS
    ) -> tuple[PoolingMode, NanPropagation, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Return (mode, nan_propagation, spatial dims, the first `requested` of window, padding and stride).

        Guide sections 4.63, 4.67 and 4.71. NotSupported for more than 8 requested values, BadParam for less than 0.
        """
        window, padding, stride = (_first(v, requested) for v in (self.window, self.padding or (), self.stride or ()))
        return (self.mode, self.nan_propagation, len(self.window), window, padding, stride)

    @property
    def params(self) -> tuple[Any, ...]:
        """The values in the order of the pooling Problems' fields."""
        return (self.mode, self.window, self.padding, self.stride, self.nan_propagation)


@dataclass(frozen=True)
class ActivationDescriptor(Parameters):
    """Mode of an activation (guide sections 4.79 to 4.82).

    Parameters
    ----------
    mode
        SIGMOID, RELU, TANH, CLIPPED_RELU, ELU, SWISH or IDENTITY.
    nan_propagation
        Whether RELU and CLIPPED_RELU keep NaN; the others always do.
    ceiling
        Upper bound of CLIPPED_RELU, ``min(max(x, 0), ceiling)``: any number, as in cuDNN.
    coef
        The alpha of ELU (x above 0, else ``alpha * (exp(x) - 1)``) or the beta of SWISH (``x / (1 + exp(-beta * x))``).
        C has one number for it and the ceiling.

    Raises
    ------
    BadParam
        Unknown mode or option, or a ceiling or coef that is NaN.
    """

    mode: ActivationMode
    nan_propagation: NanPropagation = NanPropagation.NOT_PROPAGATE_NAN
    ceiling: float = 0.0
    coef: float = 1.0

    @public
    def __post_init__(self) -> None:
        mode = ActivationMode.parse(self.mode, "mode")
        ceiling, coef = as_real(self.ceiling, "ceiling"), as_real(self.coef, "coef")
        check_activation(mode, ceiling, coef)
        self._set(
            mode=mode,
            nan_propagation=NanPropagation.parse(self.nan_propagation, "nan_propagation"),
            ceiling=ceiling,
            coef=coef,
        )

    __hash__ = Parameters.__hash__

    @public
    def get(self) -> tuple[ActivationMode, NanPropagation, float]:
        """Return (mode, nan_propagation, ceiling or, for ELU and SWISH, coef) (guide section 4.81)."""
        number = self.coef if self.mode in (ActivationMode.ELU, ActivationMode.SWISH) else self.ceiling
        return (self.mode, self.nan_propagation, number)

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
        ADD, MUL, MIN, MAX, SQRT or NOT.
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
