"""Convolution descriptors and the dims of outputs (guide sections 4.33 to 4.40)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import portadnn as dnn

from ...arguments import as_integer
from ...enums import ConvolutionMode, MathType
from ...errors import BadParam
from ..calls import Choice, c_function, c_value
from ..descriptors import (
    ConvolutionDescriptor,
    FilterDescriptor,
    TensorDescriptor,
    creator,
    destroy,
    integers,
    made,
    value_of,
)
from ..tensors import data_type

convolution_mode = Choice("cudnnConvolutionMode_t", ConvolutionMode)
math_type = Choice("cudnnMathType_t", MathType)

cudnnCreateConvolutionDescriptor = creator("cudnnCreateConvolutionDescriptor", ConvolutionDescriptor)


@c_function
def cudnnDestroyConvolutionDescriptor(convDesc: ConvolutionDescriptor) -> None:
    destroy(convDesc, ConvolutionDescriptor, "convDesc")


def _set(descriptor: Any, padding: Any, stride: Any, dilation: Any, mode: Any, compute_type: Any) -> None:
    """Set the geometry; groups and math type, which have calls of their own, stay as they are."""
    made(descriptor, ConvolutionDescriptor, "convDesc")
    how = convolution_mode(mode, "mode")
    dtype = None if compute_type is None else data_type(compute_type, "computeType")
    value = dnn.ConvolutionDescriptor.set_nd(padding, stride, dilation, how, dtype)
    descriptor.value = replace(value, groups=descriptor.groups, math=descriptor.math)


def _changed(descriptor: Any, **values: Any) -> None:
    """Set what has a call of its own, before or after the geometry."""
    made(descriptor, ConvolutionDescriptor, "convDesc")
    vars(descriptor).update(values)
    if descriptor.value is not None:
        descriptor.value = replace(descriptor.value, **values)


def _value(descriptor: Any) -> dnn.ConvolutionDescriptor:
    return value_of(descriptor, ConvolutionDescriptor, "convDesc")  # type: ignore[no-any-return]


def _dtype(value: dnn.ConvolutionDescriptor) -> Any:
    """Return the compute type, which is that of the data where it was not set: float."""
    return data_type.c(dnn.DataType.FLOAT if value.compute_type is None else value.compute_type)


def _get_2d(descriptor: Any) -> tuple[Any, ...]:
    *sizes, mode = _value(descriptor).get_2d()
    return (*sizes, convolution_mode.c(mode))


@c_function
def cudnnSetConvolution2dDescriptor(
    convDesc: ConvolutionDescriptor,
    pad_h: int,
    pad_w: int,
    u: int,
    v: int,
    upscalex: int,
    upscaley: int,
    mode: int,
    computeType: int | None = None,
) -> None:
    """`upscalex` and `upscaley` are the dilation along h and w, which is what they mean since cuDNN 6.

    `computeType` is the ninth argument of cuDNN 6 and later.
    """
    _set(convDesc, (pad_h, pad_w), (u, v), (upscalex, upscaley), mode, computeType)


@c_function
def cudnnSetConvolution2dDescriptor_v4(
    convDesc: ConvolutionDescriptor,
    pad_h: int,
    pad_w: int,
    u: int,
    v: int,
    dilation_h: int,
    dilation_w: int,
    mode: int,
) -> None:
    _set(convDesc, (pad_h, pad_w), (u, v), (dilation_h, dilation_w), mode, None)


@c_function
def cudnnSetConvolution2dDescriptor_v5(
    convDesc: ConvolutionDescriptor,
    pad_h: int,
    pad_w: int,
    u: int,
    v: int,
    upscalex: int,
    upscaley: int,
    mode: int,
    dataType: int,
) -> None:
    _set(convDesc, (pad_h, pad_w), (u, v), (upscalex, upscaley), mode, dataType)


@c_function
def cudnnGetConvolution2dDescriptor(convDesc: ConvolutionDescriptor) -> tuple[Any, ...]:
    """The guide's seven values; cudnnGetConvolution2dDescriptor_v5 also returns the compute type."""
    return _get_2d(convDesc)


@c_function
def cudnnGetConvolution2dDescriptor_v4(convDesc: ConvolutionDescriptor) -> tuple[Any, ...]:
    return _get_2d(convDesc)


@c_function
def cudnnGetConvolution2dDescriptor_v5(convDesc: ConvolutionDescriptor) -> tuple[Any, ...]:
    return (*_get_2d(convDesc), _dtype(convDesc.value))


@c_function
def cudnnGetConvolution2dForwardOutputDim(
    convDesc: ConvolutionDescriptor, inputTensorDesc: TensorDescriptor, filterDesc: FilterDescriptor
) -> tuple[int, int, int, int]:
    conv, x, w = _three(convDesc, inputTensorDesc, filterDesc)
    return dnn.get_convolution_2d_forward_output_dim(conv, x, w)  # type: ignore[return-value]


@c_function
def cudnnSetConvolutionNdDescriptor(
    convDesc: ConvolutionDescriptor,
    arrayLength: int,
    padA: Any,
    filterStrideA: Any,
    upscaleA: Any,
    mode: int,
    dataType: int,
) -> None:
    """The arrays are sequences of at least `arrayLength` integers; `upscaleA` is the dilation, as since cuDNN 6."""
    arrays = (("padA", padA), ("filterStrideA", filterStrideA), ("upscaleA", upscaleA))
    padding, stride, dilation = (integers(array, arrayLength, name, "arrayLength") for name, array in arrays)
    _set(convDesc, padding, stride, dilation, mode, data_type(dataType, "dataType"))


@c_function
def cudnnGetConvolutionNdDescriptor(convDesc: ConvolutionDescriptor, arrayLengthRequested: int) -> tuple[Any, ...]:
    """The arrays are tuples of at most `arrayLengthRequested` values; `arrayLength` is the descriptor's own number."""
    value = _value(convDesc)
    requested = as_integer(arrayLengthRequested, "arrayLengthRequested", 0)
    count, padding, stride, dilation, mode, _ = value.get_nd(requested)
    return count, padding, stride, dilation, convolution_mode.c(mode), _dtype(value)


@c_function
def cudnnGetConvolutionNdForwardOutputDim(
    convDesc: ConvolutionDescriptor, inputTensorDesc: TensorDescriptor, filterDesc: FilterDescriptor, nbDims: int
) -> tuple[int, ...]:
    conv, x, w = _three(convDesc, inputTensorDesc, filterDesc)
    dims = dnn.get_convolution_nd_forward_output_dim(conv, x, w)
    if as_integer(nbDims, "nbDims", 1) != len(dims):
        raise BadParam(argument="nbDims", expected=str(len(dims)), got=nbDims)
    return dims


def _three(conv: Any, x: Any, w: Any) -> tuple[Any, Any, Any]:
    return (
        _value(conv),
        value_of(x, TensorDescriptor, "inputTensorDesc"),
        value_of(w, FilterDescriptor, "filterDesc"),
    )


@c_function
def cudnnSetConvolutionGroupCount(convDesc: ConvolutionDescriptor, groupCount: int) -> None:
    """Setting the geometry keeps the groups."""
    _changed(convDesc, groups=as_integer(groupCount, "groupCount", 1))


@c_function
def cudnnGetConvolutionGroupCount(convDesc: ConvolutionDescriptor) -> int:
    return int(made(convDesc, ConvolutionDescriptor, "convDesc").groups)


@c_function
def cudnnSetConvolutionMathType(convDesc: ConvolutionDescriptor, mathType: int) -> None:
    """Float data is rounded to TF32 with CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION only."""
    _changed(convDesc, math=math_type(mathType, "mathType"))


@c_function
def cudnnGetConvolutionMathType(convDesc: ConvolutionDescriptor) -> Any:
    return math_type.c(made(convDesc, ConvolutionDescriptor, "convDesc").math)


@c_function
def cudnnSetConvolutionReorderType(convDesc: ConvolutionDescriptor, reorderType: int) -> None:
    """It is kept and has no effect: it concerns int8 filters."""
    made(convDesc, ConvolutionDescriptor, "convDesc").reorder = c_value(
        "cudnnReorderType_t", reorderType, "reorderType"
    )


@c_function
def cudnnGetConvolutionReorderType(convDesc: ConvolutionDescriptor) -> Any:
    return c_value("cudnnReorderType_t", int(made(convDesc, ConvolutionDescriptor, "convDesc").reorder), "reorderType")
