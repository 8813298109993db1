"""Convolution descriptors: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ..convolution.descriptor import (
    miopenConvolutionDescriptor_t,
    miopenGetConvolutionAttribute as _GetConvolutionAttribute,
    miopenGetConvolutionDescriptor as _GetConvolutionDescriptor,
    miopenGetConvolutionFindMode as _GetConvolutionFindMode,
    miopenGetConvolutionForwardOutputDim as _GetConvolutionForwardOutputDim,
    miopenGetConvolutionGroupCount as _GetConvolutionGroupCount,
    miopenGetConvolutionNdDescriptor as _GetConvolutionNdDescriptor,
    miopenGetConvolutionNdForwardOutputDim as _GetConvolutionNdForwardOutputDim,
    miopenGetConvolutionPaddingMode as _GetConvolutionPaddingMode,
    miopenGetConvolutionSpatialDim as _GetConvolutionSpatialDim,
    miopenInitConvolutionDescriptor as _InitConvolutionDescriptor,
    miopenInitConvolutionNdDescriptor as _InitConvolutionNdDescriptor,
    miopenSetConvolutionAttribute as _SetConvolutionAttribute,
    miopenSetConvolutionFindMode as _SetConvolutionFindMode,
    miopenSetConvolutionGroupCount as _SetConvolutionGroupCount,
    miopenSetTransposeConvNdOutputPadding as _SetTransposeConvNdOutputPadding,
    miopenSetTransposeConvOutputPadding as _SetTransposeConvOutputPadding,
)
from ..descriptors import destroy, miopenTensorDescriptor_t, value_of
from ..names import function
from .enums import miopenConvolutionFindMode_t, miopenConvolutionMode_t, miopenPaddingMode_t


@function
def miopenCreateConvolutionDescriptor() -> miopenConvolutionDescriptor_t:
    """Return convDesc (since 1.0.0).

    C: ``miopenStatus_t miopenCreateConvolutionDescriptor(miopenConvolutionDescriptor_t *convDesc)``

    In cuDNN: ``cudnnCreateConvolutionDescriptor``; what a port changes: same arguments.

    In portadnn: ``ConvolutionDescriptor``.
    """
    return miopenConvolutionDescriptor_t()


@function
def miopenInitConvolutionDescriptor(
    convDesc: miopenConvolutionDescriptor_t,
    mode: int,
    pad_h: int,
    pad_w: int,
    u: int,
    v: int,
    upscalex: int,
    upscaley: int,
) -> None:
    """Describe a 2-D convolution with strides u, v and dilation upscalex (of h), upscaley (of w); groups become 1.

    Return nothing (since 1.0.0, changed by 1.0.0, changed by 1.3.0, changed by 1.8.0).

    C: ``miopenStatus_t miopenInitConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc, miopenConvolutionMode_t mode, int pad_h, int pad_w, int u, int v, int upscalex, int upscaley)``

    In MIOpen 1.8.0 the parameters are: convDesc, c_mode, pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w.

    In cuDNN: ``cudnnSetConvolution2dDescriptor``; what a port changes: moves mode; in the newest versions: drops computeType; moves mode; renames u -> stride_h, v -> stride_w, mode -> c_mode.

    In portadnn: ``ConvolutionDescriptor.set_2d``.

    miopenConvolution is cross-correlation. miopenGroupConv and miopenDepthwise are taken as miopenConvolution.
    """
    _InitConvolutionDescriptor(convDesc, mode, pad_h, pad_w, u, v, upscalex, upscaley)


@function
def miopenGetConvolutionDescriptor(
    convDesc: miopenConvolutionDescriptor_t
) -> tuple[miopenConvolutionMode_t, int, int, int, int, int, int]:
    """Return (mode, pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w).

    Return (mode, pad_h, pad_y, u, v, upscalex, upscaley) (since 1.0.0, changed by 1.0.0, changed by 1.3.0, changed by 1.8.0).

    C: ``miopenStatus_t miopenGetConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc, miopenConvolutionMode_t *mode, int *pad_h, int *pad_y, int *u, int *v, int *upscalex, int *upscaley)``

    In MIOpen 1.8.0 the parameters are: convDesc, c_mode, pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w.

    In cuDNN: ``cudnnGetConvolution2dDescriptor``; what a port changes: moves mode; renames pad_w -> pad_y; in the newest versions: drops computeType; moves mode; renames u -> stride_h, v -> stride_w, mode -> c_mode.

    In portadnn: ``ConvolutionDescriptor.get_2d``.
    """
    return _GetConvolutionDescriptor(value_of(convDesc, miopenConvolutionDescriptor_t, "convDesc"))


@function
def miopenGetConvolutionForwardOutputDim(
    convDesc: miopenConvolutionDescriptor_t,
    inputTensorDesc: miopenTensorDescriptor_t,
    filterDesc: miopenTensorDescriptor_t,
) -> tuple[int, int, int, int]:
    """Return (n, c, h, w) of a 2-D convolution's output.

    Return (n, c, h, w) (since 1.0.0).

    C: ``miopenStatus_t miopenGetConvolutionForwardOutputDim(miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t inputTensorDesc, const miopenTensorDescriptor_t filterDesc, int *n, int *c, int *h, int *w)``

    In cuDNN: ``cudnnGetConvolution2dForwardOutputDim``; what a port changes: filterDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t.

    In portadnn: ``get_convolution_2d_forward_output_dim``.
    """
    return _GetConvolutionForwardOutputDim(
        value_of(inputTensorDesc, miopenTensorDescriptor_t, "inputTensorDesc"),
        value_of(filterDesc, miopenTensorDescriptor_t, "filterDesc"),
        value_of(convDesc, miopenConvolutionDescriptor_t, "convDesc"),
    )


@function
def miopenInitConvolutionNdDescriptor(
    convDesc: miopenConvolutionDescriptor_t, spatialDim: int, padA: Any, strideA: Any, dilationA: Any, c_mode: int
) -> None:
    """Describe a convolution of `spatialDim` dims; groups become 1.

    Return nothing (since 1.8.0).

    C: ``miopenStatus_t miopenInitConvolutionNdDescriptor(miopenConvolutionDescriptor_t convDesc, int spatialDim, int *padA, int *strideA, int *dilationA, miopenConvolutionMode_t c_mode)``

    In cuDNN: ``cudnnSetConvolutionNdDescriptor``; what a port changes: drops dataType; renames arrayLength -> spatialDim, filterStrideA -> strideA, upscaleA -> dilationA, mode -> c_mode; in the newest versions: drops computeType; renames arrayLength -> spatialDim, filterStrideA -> strideA, mode -> c_mode.

    In portadnn: ``ConvolutionDescriptor.set_nd``.
    """
    _InitConvolutionNdDescriptor(convDesc, spatialDim, padA, strideA, dilationA, c_mode)


@function
def miopenGetConvolutionNdDescriptor(
    convDesc: miopenConvolutionDescriptor_t, requestedSpatialDim: int
) -> tuple[int, int, int, int, miopenConvolutionMode_t]:
    """Return (spatialDim, padA, strideA, dilationA, c_mode).

    Return (spatialDim, padA, strideA, dilationA, c_mode) (since 1.8.0).

    C: ``miopenStatus_t miopenGetConvolutionNdDescriptor(miopenConvolutionDescriptor_t convDesc, int requestedSpatialDim, int *spatialDim, int *padA, int *strideA, int *dilationA, miopenConvolutionMode_t *c_mode)``

    In cuDNN: ``cudnnGetConvolutionNdDescriptor``; what a port changes: drops dataType; renames arrayLengthRequested -> requestedSpatialDim, arrayLength -> spatialDim, upscaleA -> dilationA, mode -> c_mode; in the newest versions: drops computeType; renames arrayLengthRequested -> requestedSpatialDim, arrayLength -> spatialDim, mode -> c_mode.

    In portadnn: ``ConvolutionDescriptor.get_nd``.
    """
    return _GetConvolutionNdDescriptor(
        value_of(convDesc, miopenConvolutionDescriptor_t, "convDesc"), requestedSpatialDim
    )


@function
def miopenGetConvolutionNdForwardOutputDim(
    convDesc: miopenConvolutionDescriptor_t,
    inputTensorDesc: miopenTensorDescriptor_t,
    filterDesc: miopenTensorDescriptor_t,
) -> tuple[int, int]:
    """Return (nDim, outputTensorDimA) of a convolution's output.

    Return (nDim, outputTensorDimA) (since 1.8.0).

    C: ``miopenStatus_t miopenGetConvolutionNdForwardOutputDim(miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t inputTensorDesc, const miopenTensorDescriptor_t filterDesc, int *nDim, int *outputTensorDimA)``

    In cuDNN: ``cudnnGetConvolutionNdForwardOutputDim``; what a port changes: renames nbDims -> nDim, tensorOuputDimA -> outputTensorDimA; filterDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t; nbDims: int -> int *.

    In portadnn: ``get_convolution_nd_forward_output_dim``.
    """
    return _GetConvolutionNdForwardOutputDim(
        value_of(inputTensorDesc, miopenTensorDescriptor_t, "inputTensorDesc"),
        value_of(filterDesc, miopenTensorDescriptor_t, "filterDesc"),
        value_of(convDesc, miopenConvolutionDescriptor_t, "convDesc"),
    )


@function
def miopenSetConvolutionGroupCount(convDesc: miopenConvolutionDescriptor_t, groupCount: int) -> None:
    """Set the number of groups, after the Init call, which sets it to 1.

    Return nothing (since 1.5.0).

    C: ``miopenStatus_t miopenSetConvolutionGroupCount(miopenConvolutionDescriptor_t convDesc, int groupCount)``

    In cuDNN: ``cudnnSetConvolutionGroupCount``; what a port changes: same arguments.

    In portadnn: ``ConvolutionDescriptor``.
    """
    _SetConvolutionGroupCount(convDesc, groupCount)


@function
def miopenGetConvolutionGroupCount(convDesc: miopenConvolutionDescriptor_t) -> int:
    """Return the number of groups.

    Return groupCount (since 3.0.0).

    C: ``miopenStatus_t miopenGetConvolutionGroupCount(miopenConvolutionDescriptor_t convDesc, int *groupCount)``

    In cuDNN: ``cudnnGetConvolutionGroupCount``; what a port changes: same arguments.

    In portadnn: ``ConvolutionDescriptor.groups``.
    """
    return _GetConvolutionGroupCount(value_of(convDesc, miopenConvolutionDescriptor_t, "convDesc"))


@function
def miopenGetConvolutionPaddingMode(convDesc: miopenConvolutionDescriptor_t) -> miopenPaddingMode_t:
    """Return how padding is stated: always by numbers (miopenPaddingDefault).

    Return paddingMode (MIOpen).

    C: ``miopenStatus_t miopenGetConvolutionPaddingMode(miopenConvolutionDescriptor_t convDesc, miopenPaddingMode_t *paddingMode)``
    """
    return _GetConvolutionPaddingMode(value_of(convDesc, miopenConvolutionDescriptor_t, "convDesc"))


@function
def miopenSetTransposeConvOutputPadding(convDesc: miopenConvolutionDescriptor_t, adj_h: int, adj_w: int) -> None:
    """Add to the output's size in the mode miopenTranspose, which leaves less than a stride open.

    Return nothing (since 1.8.0).

    C: ``miopenStatus_t miopenSetTransposeConvOutputPadding(miopenConvolutionDescriptor_t convDesc, int adj_h, int adj_w)``
    """
    _SetTransposeConvOutputPadding(convDesc, adj_h, adj_w)


@function
def miopenSetTransposeConvNdOutputPadding(convDesc: miopenConvolutionDescriptor_t, spatialDim: int, adjA: Any) -> None:
    """Add to the output's size in the mode miopenTranspose.

    Return nothing (since 1.8.0).

    C: ``miopenStatus_t miopenSetTransposeConvNdOutputPadding(miopenConvolutionDescriptor_t convDesc, int spatialDim, int *adjA)``
    """
    _SetTransposeConvNdOutputPadding(convDesc, spatialDim, adjA)


@function
def miopenGetConvolutionSpatialDim(convDesc: miopenConvolutionDescriptor_t) -> int:
    """Return the number of spatial dims.

    Return spatialDim (since 2.20.0).

    C: ``miopenStatus_t miopenGetConvolutionSpatialDim(miopenConvolutionDescriptor_t convDesc, int *spatialDim)``

    In portadnn: ``ConvolutionDescriptor.get_nd``.
    """
    return _GetConvolutionSpatialDim(value_of(convDesc, miopenConvolutionDescriptor_t, "convDesc"))


@function
def miopenSetConvolutionAttribute(convDesc: miopenConvolutionDescriptor_t, attr: int, value: int) -> None:
    """Set an attribute: DETERMINISTIC to 1 keeps algorithms with atomic sums out.

    Return nothing (since 2.16.0).

    C: ``miopenStatus_t miopenSetConvolutionAttribute(miopenConvolutionDescriptor_t convDesc, const miopenConvolutionAttrib_t attr, int value)``

    In portadnn: ``ConvolutionDescriptor``.

    FP16_ALT_IMPL is kept and has no effect. FP8_ROUNDING_MODE other than 0 is refused, and so is any MATH_TYPE but 0
    and 1 (default and pedantic are the same here: float32 data is never rounded).
    """
    _SetConvolutionAttribute(convDesc, attr, value)


@function
def miopenGetConvolutionAttribute(convDesc: miopenConvolutionDescriptor_t, attr: int) -> int:
    """Return an attribute; 0, or -1 for FP16_ALT_IMPL, where it was not set.

    Return value (since 2.16.0).

    C: ``miopenStatus_t miopenGetConvolutionAttribute(miopenConvolutionDescriptor_t convDesc, const miopenConvolutionAttrib_t attr, int *value)``

    In portadnn: ``ConvolutionDescriptor``.
    """
    return _GetConvolutionAttribute(attr, value_of(convDesc, miopenConvolutionDescriptor_t, "convDesc"))


@function
def miopenSetConvolutionFindMode(convDesc: miopenConvolutionDescriptor_t, findMode: int) -> None:
    """Choose how Find works: it measures, but for miopenConvolutionFindModeFast, which estimates.

    Return nothing (MIOpen).

    C: ``miopenStatus_t miopenSetConvolutionFindMode(miopenConvolutionDescriptor_t convDesc, miopenConvolutionFindMode_t findMode)``
    """
    _SetConvolutionFindMode(convDesc, findMode)


@function
def miopenGetConvolutionFindMode(convDesc: miopenConvolutionDescriptor_t) -> miopenConvolutionFindMode_t:
    """Return how Find works.

    Return findMode (MIOpen).

    C: ``miopenStatus_t miopenGetConvolutionFindMode(miopenConvolutionDescriptor_t convDesc, miopenConvolutionFindMode_t *findMode)``
    """
    return _GetConvolutionFindMode(value_of(convDesc, miopenConvolutionDescriptor_t, "convDesc"))


@function
def miopenDestroyConvolutionDescriptor(convDesc: miopenConvolutionDescriptor_t) -> None:
    """Destroy a descriptor.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenDestroyConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc)``

    In cuDNN: ``cudnnDestroyConvolutionDescriptor``; what a port changes: same arguments.

    In portadnn: ``ConvolutionDescriptor``.
    """
    destroy(convDesc, miopenConvolutionDescriptor_t, "convDesc")
