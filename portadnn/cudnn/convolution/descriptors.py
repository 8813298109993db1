"""Convolution descriptors and the dims of outputs (guide sections 4.33 to 4.40)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import portadnn as dnn

from ...arguments import as_integer
from ...enums import ConvolutionMode, MathType
from ...errors import BadParam
from ..calls import Choice, c_value
from ..descriptors import ConvolutionDescriptor, fixed, integers, made
from ..tensors import data_type

convolution_mode = Choice("cudnnConvolutionMode_t", ConvolutionMode)
math_type = Choice("cudnnMathType_t", MathType)


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


def _dtype(value: dnn.ConvolutionDescriptor) -> Any:
    """Return the compute type, which is that of the data where it was not set: float."""
    return data_type.c(dnn.DataType.FLOAT if value.compute_type is None else value.compute_type)


def cudnnSetConvolution2dDescriptor(
    convDesc, pad_h, pad_w, u, v, upscalex, upscaley, mode, computeType: int | None = None
):
    _set(convDesc, (pad_h, pad_w), (u, v), (upscalex, upscaley), mode, computeType)


def cudnnSetConvolution2dDescriptor_v4(convDesc, *numbers):
    cudnnSetConvolution2dDescriptor(convDesc, *numbers)


cudnnSetConvolution2dDescriptor_v5 = cudnnSetConvolution2dDescriptor_v4


def cudnnGetConvolution2dDescriptor(conv):
    _, padding, stride, dilation, mode, _ = conv.get_nd(2)
    return (*fixed(padding, 2), *fixed(stride, 2), *fixed(dilation, 2), convolution_mode.c(mode))


cudnnGetConvolution2dDescriptor_v4 = cudnnGetConvolution2dDescriptor


def cudnnGetConvolution2dDescriptor_v5(conv):
    return (*cudnnGetConvolution2dDescriptor(conv), _dtype(conv))


def cudnnGetConvolution2dForwardOutputDim(conv, inputTensor, filter):
    return dnn.get_convolution_2d_forward_output_dim(conv, inputTensor, filter)


def cudnnSetConvolutionNdDescriptor(convDesc, arrayLength, padA, filterStrideA, upscaleA, mode, dataType):
    arrays = (("padA", padA), ("filterStrideA", filterStrideA), ("upscaleA", upscaleA))
    padding, stride, dilation = (integers(array, arrayLength, name, "arrayLength") for name, array in arrays)
    _set(convDesc, padding, stride, dilation, mode, data_type(dataType, "dataType"))


def cudnnGetConvolutionNdDescriptor(conv, arrayLengthRequested):
    *arrays, mode, _ = conv.get_nd(as_integer(arrayLengthRequested, "arrayLengthRequested", 0))
    return (*arrays, convolution_mode.c(mode), _dtype(conv))


def cudnnGetConvolutionNdForwardOutputDim(conv, inputTensor, filter, nbDims):
    dims = dnn.get_convolution_nd_forward_output_dim(conv, inputTensor, filter)
    if as_integer(nbDims, "nbDims", 1) != len(dims):
        raise BadParam(argument="nbDims", expected=str(len(dims)), got=nbDims)
    return dims


def cudnnSetConvolutionGroupCount(convDesc, groupCount):
    _changed(convDesc, groups=as_integer(groupCount, "groupCount", 1))


def cudnnGetConvolutionGroupCount(convDesc):
    return int(made(convDesc, ConvolutionDescriptor, "convDesc").groups)


def cudnnSetConvolutionMathType(convDesc, mathType):
    _changed(convDesc, math=math_type(mathType, "mathType"))


def cudnnGetConvolutionMathType(convDesc):
    return math_type.c(made(convDesc, ConvolutionDescriptor, "convDesc").math)


def cudnnSetConvolutionReorderType(convDesc, reorderType):
    order = c_value("cudnnReorderType_t", reorderType, "reorderType")
    made(convDesc, ConvolutionDescriptor, "convDesc").reorder = order


def cudnnGetConvolutionReorderType(convDesc):
    return c_value("cudnnReorderType_t", int(made(convDesc, ConvolutionDescriptor, "convDesc").reorder), "reorderType")
