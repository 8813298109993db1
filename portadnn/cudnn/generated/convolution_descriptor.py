"""Convolution descriptors: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...errors import NotSupported
from ...handle import Handle
from ..calls import c_function
from ..convolution.descriptors import (
    cudnnGetConvolution2dDescriptor as _GetConvolution2dDescriptor,
    cudnnGetConvolution2dDescriptor_v4 as _GetConvolution2dDescriptor_v4,
    cudnnGetConvolution2dDescriptor_v5 as _GetConvolution2dDescriptor_v5,
    cudnnGetConvolution2dForwardOutputDim as _GetConvolution2dForwardOutputDim,
    cudnnGetConvolutionGroupCount as _GetConvolutionGroupCount,
    cudnnGetConvolutionMathType as _GetConvolutionMathType,
    cudnnGetConvolutionNdDescriptor as _GetConvolutionNdDescriptor,
    cudnnGetConvolutionNdForwardOutputDim as _GetConvolutionNdForwardOutputDim,
    cudnnGetConvolutionReorderType as _GetConvolutionReorderType,
    cudnnSetConvolution2dDescriptor as _SetConvolution2dDescriptor,
    cudnnSetConvolution2dDescriptor_v4 as _SetConvolution2dDescriptor_v4,
    cudnnSetConvolution2dDescriptor_v5 as _SetConvolution2dDescriptor_v5,
    cudnnSetConvolutionGroupCount as _SetConvolutionGroupCount,
    cudnnSetConvolutionMathType as _SetConvolutionMathType,
    cudnnSetConvolutionNdDescriptor as _SetConvolutionNdDescriptor,
    cudnnSetConvolutionReorderType as _SetConvolutionReorderType,
)
from ..convolution.reorder import cudnnIm2Col as _Im2Col
from ..descriptors import ConvolutionDescriptor, FilterDescriptor, TensorDescriptor, destroy, value_of
from ..folding import TensorTransformDescriptor
from .enums.convolution_descriptor import cudnnConvolutionMode_t, cudnnReorderType_t
from .enums.tensor import cudnnDataType_t, cudnnMathType_t


@c_function
def cudnnCreateConvolutionDescriptor() -> ConvolutionDescriptor:
    """Return convDesc (guide 4.33, since 1.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *convDesc)``

    In portadnn: ``ConvolutionDescriptor``.
    """
    return ConvolutionDescriptor()


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
    """Return nothing (guide 4.34, since 2.0, deprecated 9.0.0, changed by 6.0.2).

    C: ``cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convDesc, int pad_h, int pad_w, int u, int v, int upscalex, int upscaley, cudnnConvolutionMode_t mode)``

    In cuDNN 6.0.2 the parameters are: convDesc, pad_h, pad_w, u, v, dilation_h, dilation_w, mode, computeType.

    In portadnn: ``ConvolutionDescriptor.set_2d``.

    `upscalex` and `upscaley` are the dilation along h and w, which is what they mean since cuDNN 6.

    `computeType` is the ninth argument of cuDNN 6 and later.
    """
    _SetConvolution2dDescriptor(convDesc, pad_h, pad_w, u, v, upscalex, upscaley, mode, computeType)


@c_function
def cudnnSetConvolution2dDescriptor_v4(
    convDesc: ConvolutionDescriptor, pad_h: int, pad_w: int, u: int, v: int, dilation_h: int, dilation_w: int, mode: int
) -> None:
    """Return nothing (cuDNN).

    C: ``cudnnStatus_t cudnnSetConvolution2dDescriptor_v4(cudnnConvolutionDescriptor_t convDesc, int pad_h, int pad_w, int u, int v, int dilation_h, int dilation_w, cudnnConvolutionMode_t mode)``

    In portadnn: ``ConvolutionDescriptor.set_2d``.
    """
    _SetConvolution2dDescriptor_v4(convDesc, pad_h, pad_w, u, v, dilation_h, dilation_w, mode)


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
    """Return nothing (changed by 6.0.2).

    C: ``cudnnStatus_t cudnnSetConvolution2dDescriptor_v5(cudnnConvolutionDescriptor_t convDesc, int pad_h, int pad_w, int u, int v, int upscalex, int upscaley, cudnnConvolutionMode_t mode, cudnnDataType_t dataType)``

    In cuDNN 6.0.2 the parameters are: convDesc, pad_h, pad_w, u, v, dilation_h, dilation_w, mode, computeType.

    In portadnn: ``ConvolutionDescriptor.set_2d``.
    """
    _SetConvolution2dDescriptor_v5(convDesc, pad_h, pad_w, u, v, upscalex, upscaley, mode, dataType)


@c_function
def cudnnGetConvolution2dDescriptor(
    convDesc: ConvolutionDescriptor
) -> tuple[int, int, int, int, int, int, cudnnConvolutionMode_t]:
    """Return (pad_h, pad_w, u, v, upscalex, upscaley, mode) (guide 4.35, since 2.0, deprecated 9.0.0, changed by 6.0.2).

    C: ``cudnnStatus_t cudnnGetConvolution2dDescriptor(const cudnnConvolutionDescriptor_t convDesc, int *pad_h, int *pad_w, int *u, int *v, int *upscalex, int *upscaley, cudnnConvolutionMode_t *mode)``

    In cuDNN 6.0.2 the parameters are: convDesc, pad_h, pad_w, u, v, dilation_h, dilation_w, mode, computeType.

    In portadnn: ``ConvolutionDescriptor.get_2d``.

    The guide's seven values; cudnnGetConvolution2dDescriptor_v5 also returns the compute type.
    """
    return _GetConvolution2dDescriptor(value_of(convDesc, ConvolutionDescriptor, "convDesc"))


@c_function
def cudnnGetConvolution2dDescriptor_v4(
    convDesc: ConvolutionDescriptor
) -> tuple[int, int, int, int, int, int, cudnnConvolutionMode_t]:
    """Return (pad_h, pad_w, u, v, dilation_h, dilation_w, mode) (cuDNN).

    C: ``cudnnStatus_t cudnnGetConvolution2dDescriptor_v4(const cudnnConvolutionDescriptor_t convDesc, int *pad_h, int *pad_w, int *u, int *v, int *dilation_h, int *dilation_w, cudnnConvolutionMode_t *mode)``

    In portadnn: ``ConvolutionDescriptor.get_2d``.
    """
    return _GetConvolution2dDescriptor_v4(value_of(convDesc, ConvolutionDescriptor, "convDesc"))


@c_function
def cudnnGetConvolution2dDescriptor_v5(
    convDesc: ConvolutionDescriptor
) -> tuple[int, int, int, int, int, int, cudnnConvolutionMode_t, cudnnDataType_t]:
    """Return (pad_h, pad_w, u, v, upscalex, upscaley, mode, dataType) (changed by 6.0.2).

    C: ``cudnnStatus_t cudnnGetConvolution2dDescriptor_v5(const cudnnConvolutionDescriptor_t convDesc, int *pad_h, int *pad_w, int *u, int *v, int *upscalex, int *upscaley, cudnnConvolutionMode_t *mode, cudnnDataType_t *dataType)``

    In cuDNN 6.0.2 the parameters are: convDesc, pad_h, pad_w, u, v, dilation_h, dilation_w, mode, computeType.

    In portadnn: ``ConvolutionDescriptor.get_2d``.
    """
    return _GetConvolution2dDescriptor_v5(value_of(convDesc, ConvolutionDescriptor, "convDesc"))


@c_function
def cudnnGetConvolution2dForwardOutputDim(
    convDesc: ConvolutionDescriptor, inputTensorDesc: TensorDescriptor, filterDesc: FilterDescriptor
) -> tuple[int, int, int, int]:
    """Return (n, c, h, w) (guide 4.36, since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t inputTensorDesc, const cudnnFilterDescriptor_t filterDesc, int *n, int *c, int *h, int *w)``

    In portadnn: ``get_convolution_2d_forward_output_dim``.
    """
    return _GetConvolution2dForwardOutputDim(
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        value_of(inputTensorDesc, TensorDescriptor, "inputTensorDesc"),
        value_of(filterDesc, FilterDescriptor, "filterDesc"),
    )


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
    """Return nothing (guide 4.37, since 2.0, deprecated 9.0.0, changed by 6.0.2).

    C: ``cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convDesc, int arrayLength, const int padA[], const int filterStrideA[], const int upscaleA[], cudnnConvolutionMode_t mode, cudnnDataType_t dataType)``

    In cuDNN 6.0.2 the parameters are: convDesc, arrayLength, padA, filterStrideA, dilationA, mode, computeType.

    In portadnn: ``ConvolutionDescriptor.set_nd``.

    The arrays are sequences of at least `arrayLength` integers; `upscaleA` is the dilation, as since cuDNN 6.
    """
    _SetConvolutionNdDescriptor(convDesc, arrayLength, padA, filterStrideA, upscaleA, mode, dataType)


@c_function
def cudnnGetConvolutionNdDescriptor(
    convDesc: ConvolutionDescriptor, arrayLengthRequested: int
) -> tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...], cudnnConvolutionMode_t, cudnnDataType_t]:
    """Return (arrayLength, padA, strideA, upscaleA, mode, dataType) (guide 4.38, since 2.0, deprecated 9.0.0, changed by 6.0.2).

    C: ``cudnnStatus_t cudnnGetConvolutionNdDescriptor(const cudnnConvolutionDescriptor_t convDesc, int arrayLengthRequested, int *arrayLength, int padA[], int strideA[], int upscaleA[], cudnnConvolutionMode_t *mode, cudnnDataType_t *dataType)``

    In cuDNN 6.0.2 the parameters are: convDesc, arrayLengthRequested, arrayLength, padA, strideA, dilationA, mode, computeType.

    In portadnn: ``ConvolutionDescriptor.get_nd``.

    The arrays are tuples of at most `arrayLengthRequested` values; `arrayLength` is the descriptor's own number.
    """
    return _GetConvolutionNdDescriptor(value_of(convDesc, ConvolutionDescriptor, "convDesc"), arrayLengthRequested)


@c_function
def cudnnGetConvolutionNdForwardOutputDim(
    convDesc: ConvolutionDescriptor, inputTensorDesc: TensorDescriptor, filterDesc: FilterDescriptor, nbDims: int
) -> tuple[int, ...]:
    """Return tensorOuputDimA (guide 4.39, since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t inputTensorDesc, const cudnnFilterDescriptor_t filterDesc, int nbDims, int tensorOuputDimA[])``

    In portadnn: ``get_convolution_nd_forward_output_dim``.
    """
    return _GetConvolutionNdForwardOutputDim(
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        value_of(inputTensorDesc, TensorDescriptor, "inputTensorDesc"),
        value_of(filterDesc, FilterDescriptor, "filterDesc"),
        nbDims,
    )


@c_function
def cudnnSetConvolutionGroupCount(convDesc: ConvolutionDescriptor, groupCount: int) -> None:
    """Return nothing (since 7.0.5, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convDesc, int groupCount)``

    In portadnn: ``ConvolutionDescriptor``.

    Setting the geometry keeps the groups.
    """
    _SetConvolutionGroupCount(convDesc, groupCount)


@c_function
def cudnnGetConvolutionGroupCount(convDesc: ConvolutionDescriptor) -> int:
    """Return groupCount (since 7.0.5, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetConvolutionGroupCount(cudnnConvolutionDescriptor_t convDesc, int *groupCount)``

    In portadnn: ``ConvolutionDescriptor.groups``.
    """
    return _GetConvolutionGroupCount(convDesc)


@c_function
def cudnnSetConvolutionMathType(convDesc: ConvolutionDescriptor, mathType: int) -> None:
    """Return nothing (since 7.0.5, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convDesc, cudnnMathType_t mathType)``

    In portadnn: ``ConvolutionDescriptor``.

    Float data is rounded to TF32 with CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION only.
    """
    _SetConvolutionMathType(convDesc, mathType)


@c_function
def cudnnGetConvolutionMathType(convDesc: ConvolutionDescriptor) -> cudnnMathType_t:
    """Return mathType (since 7.0.5, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t convDesc, cudnnMathType_t *mathType)``

    In portadnn: ``ConvolutionDescriptor.math``.
    """
    return _GetConvolutionMathType(convDesc)


@c_function
def cudnnSetConvolutionReorderType(convDesc: ConvolutionDescriptor, reorderType: int) -> None:
    """Return nothing (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetConvolutionReorderType(cudnnConvolutionDescriptor_t convDesc, cudnnReorderType_t reorderType)``

    With NO_REORDER, filters and biases of INT8x32 are read as `cudnnReorderFilterAndBias` leaves them.
    """
    _SetConvolutionReorderType(convDesc, reorderType)


@c_function
def cudnnGetConvolutionReorderType(convDesc: ConvolutionDescriptor) -> cudnnReorderType_t:
    """Return reorderType (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetConvolutionReorderType(cudnnConvolutionDescriptor_t convDesc, cudnnReorderType_t *reorderType)``
    """
    return _GetConvolutionReorderType(convDesc)


@c_function
def cudnnGetFoldedConvBackwardDataDescriptors(
    handle: Handle,
    filterDesc: FilterDescriptor,
    diffDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    gradDesc: TensorDescriptor,
    transformFormat: int,
    foldedFilterDesc: FilterDescriptor,
    paddedDiffDesc: TensorDescriptor,
    foldedConvDesc: ConvolutionDescriptor,
    foldedGradDesc: TensorDescriptor,
    filterFoldTransDesc: TensorTransformDescriptor,
    diffPadTransDesc: TensorTransformDescriptor,
    gradFoldTransDesc: TensorTransformDescriptor,
    gradUnfoldTransDesc: TensorTransformDescriptor,
) -> None:
    """Not supported: strided gradients need no folding: cudnnConvolutionBackwardData takes every stride.

    C: ``cudnnStatus_t cudnnGetFoldedConvBackwardDataDescriptors(const cudnnHandle_t handle, const cudnnFilterDescriptor_t filterDesc, const cudnnTensorDescriptor_t diffDesc, const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t gradDesc, const cudnnTensorFormat_t transformFormat, cudnnFilterDescriptor_t foldedFilterDesc, cudnnTensorDescriptor_t paddedDiffDesc, cudnnConvolutionDescriptor_t foldedConvDesc, cudnnTensorDescriptor_t foldedGradDesc, cudnnTensorTransformDescriptor_t filterFoldTransDesc, cudnnTensorTransformDescriptor_t diffPadTransDesc, cudnnTensorTransformDescriptor_t gradFoldTransDesc, cudnnTensorTransformDescriptor_t gradUnfoldTransDesc)``
    """
    raise NotSupported("strided gradients need no folding: cudnnConvolutionBackwardData takes every stride")


@c_function
def cudnnIm2Col(
    handle: Handle,
    xDesc: TensorDescriptor,
    x: Any,
    wDesc: FilterDescriptor,
    convDesc: ConvolutionDescriptor,
    colBuffer: Any,
) -> None:
    """Return nothing (since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnIm2Col(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnFilterDescriptor_t wDesc, const cudnnConvolutionDescriptor_t convDesc, void *colBuffer)``

    Rows are pixels (n, p, q) and columns (c, r, s), row-major: times the filters as they lie they are the convolution.
    """
    _Im2Col(
        handle,
        xDesc,
        x,
        value_of(wDesc, FilterDescriptor, "wDesc"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        colBuffer,
    )


@c_function
def cudnnDestroyConvolutionDescriptor(convDesc: ConvolutionDescriptor) -> None:
    """Return nothing (guide 4.40, since 1.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convDesc)``

    In portadnn: ``ConvolutionDescriptor``.
    """
    destroy(convDesc, ConvolutionDescriptor, "convDesc")
