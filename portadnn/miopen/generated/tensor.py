"""Tensor descriptors: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ..descriptors import destroy, miopenTensorDescriptor_t, value_of
from ..names import function
from ..tensor import (
    miopenGet4dTensorDescriptor as _Get4dTensorDescriptor,
    miopenGetTensorDescriptor as _GetTensorDescriptor,
    miopenGetTensorDescriptorSize as _GetTensorDescriptorSize,
    miopenGetTensorDescriptorV2 as _GetTensorDescriptorV2,
    miopenGetTensorElementSpace as _GetTensorElementSpace,
    miopenGetTensorLayout as _GetTensorLayout,
    miopenGetTensorNumBytes as _GetTensorNumBytes,
    miopenGetTensorVectorLength as _GetTensorVectorLength,
    miopenIsTensorPacked as _IsTensorPacked,
    miopenSet4dTensorDescriptor as _Set4dTensorDescriptor,
    miopenSet4dTensorDescriptorEx as _Set4dTensorDescriptorEx,
    miopenSetNdTensorDescriptorWithLayout as _SetNdTensorDescriptorWithLayout,
    miopenSetTensorCastType as _SetTensorCastType,
    miopenSetTensorDescriptor as _SetTensorDescriptor,
    miopenSetTensorDescriptorV2 as _SetTensorDescriptorV2,
)
from .enums import miopenDataType_t, miopenTensorLayout_t


@function
def miopenCreateTensorDescriptor() -> miopenTensorDescriptor_t:
    """Return tensorDesc (since 1.0.0).

    C: ``miopenStatus_t miopenCreateTensorDescriptor(miopenTensorDescriptor_t *tensorDesc)``

    In cuDNN: ``cudnnCreateTensorDescriptor``; what a port changes: same arguments.

    In portadnn: ``TensorDescriptor``.
    """
    return miopenTensorDescriptor_t()


@function
def miopenSet4dTensorDescriptor(
    tensorDesc: miopenTensorDescriptor_t, dataType: int, n: int, c: int, h: int, w: int
) -> None:
    """Describe a packed NCHW tensor, or a KCRS filter.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenSet4dTensorDescriptor(miopenTensorDescriptor_t tensorDesc, miopenDataType_t dataType, int n, int c, int h, int w)``

    In cuDNN: ``cudnnSetTensor4dDescriptor``; what a port changes: drops format.

    In portadnn: ``TensorDescriptor.set_4d``.
    """
    _Set4dTensorDescriptor(tensorDesc, dataType, n, c, h, w)


@function
def miopenSet4dTensorDescriptorEx(
    tensorDesc: miopenTensorDescriptor_t,
    dataType: int,
    n: int,
    c: int,
    h: int,
    w: int,
    nStride: int,
    cStride: int,
    hStride: int,
    wStride: int,
) -> None:
    """Describe a 4-D tensor with strides, in elements.

    Return nothing (since 2.18.0).

    C: ``miopenStatus_t miopenSet4dTensorDescriptorEx(miopenTensorDescriptor_t tensorDesc, miopenDataType_t dataType, int n, int c, int h, int w, int nStride, int cStride, int hStride, int wStride)``

    In cuDNN: ``cudnnSetTensor4dDescriptorEx``; what a port changes: same arguments.

    In portadnn: ``TensorDescriptor.set_4d_ex``.
    """
    _Set4dTensorDescriptorEx(tensorDesc, dataType, n, c, h, w, nStride, cStride, hStride, wStride)


@function
def miopenGet4dTensorDescriptor(
    tensorDesc: miopenTensorDescriptor_t
) -> tuple[miopenDataType_t, int, int, int, int, int, int, int, int]:
    """Return type, lengths and strides of a 4-D descriptor.

    Return (dataType, n, c, h, w, nStride, cStride, hStride, wStride) (since 1.0.0).

    C: ``miopenStatus_t miopenGet4dTensorDescriptor(miopenTensorDescriptor_t tensorDesc, miopenDataType_t *dataType, int *n, int *c, int *h, int *w, int *nStride, int *cStride, int *hStride, int *wStride)``

    In cuDNN: ``cudnnGetTensor4dDescriptor``; what a port changes: same arguments.

    In portadnn: ``TensorDescriptor.get_4d``.
    """
    return _Get4dTensorDescriptor(value_of(tensorDesc, miopenTensorDescriptor_t, "tensorDesc"))


@function
def miopenSetTensorDescriptor(
    tensorDesc: miopenTensorDescriptor_t, dataType: int, nbDims: int, dimsA: Any, stridesA: Any = None
) -> None:
    """Describe a tensor of 1 to 5 dims; without strides (C's null pointer) it is packed.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenSetTensorDescriptor(miopenTensorDescriptor_t tensorDesc, miopenDataType_t dataType, int nbDims, int *dimsA, int *stridesA)``

    In cuDNN: ``cudnnSetTensorNdDescriptor``; what a port changes: renames dimA -> dimsA, strideA -> stridesA.

    In portadnn: ``TensorDescriptor.set_nd``.
    """
    _SetTensorDescriptor(tensorDesc, dataType, nbDims, dimsA, stridesA)


@function
def miopenSetTensorDescriptorV2(
    tensorDesc: miopenTensorDescriptor_t, dataType: int, nbDims: int, dimsA: Any, stridesA: Any = None
) -> None:
    """Describe a tensor, as miopenSetTensorDescriptor with 64-bit sizes.

    Return nothing (since 3.2.0).

    C: ``miopenStatus_t miopenSetTensorDescriptorV2(miopenTensorDescriptor_t tensorDesc, miopenDataType_t dataType, int nbDims, const size_t *dimsA, const size_t *stridesA)``

    In cuDNN: ``cudnnSetTensorNdDescriptor``; what a port changes: renames dimA -> dimsA, strideA -> stridesA; dimA: const int[] -> const size_t *; strideA: const int[] -> const size_t *.

    In portadnn: ``TensorDescriptor.set_nd``.
    """
    _SetTensorDescriptorV2(tensorDesc, dataType, nbDims, dimsA, stridesA)


@function
def miopenSetNdTensorDescriptorWithLayout(
    tensorDesc: miopenTensorDescriptor_t, dataType: int, tensorLayout: int, lens: Any, num_lens: int
) -> None:
    """Describe a packed tensor NCHW, NHWC, NCDHW or NDHWC, or NCHWc and for filters CHWNc with vectors of 4 or 8 channels, which forward convolutions of miopenHalf read; lengths are in the order n, c, [d,] h, w for all of them.

    Return nothing (since 2.18.0).

    C: ``miopenStatus_t miopenSetNdTensorDescriptorWithLayout(miopenTensorDescriptor_t tensorDesc, miopenDataType_t dataType, miopenTensorLayout_t tensorLayout, int *lens, int num_lens)``

    In cuDNN: ``cudnnSetTensorNdDescriptorEx``; what a port changes: moves dataType, dimA; renames format -> tensorLayout, nbDims -> num_lens, dimA -> lens.

    In portadnn: ``TensorDescriptor``.
    """
    _SetNdTensorDescriptorWithLayout(tensorDesc, dataType, tensorLayout, lens, num_lens)


@function
def miopenGetTensorDescriptor(tensorDesc: miopenTensorDescriptor_t) -> tuple[miopenDataType_t, int, int]:
    """Return type, lengths and strides.

    Return (dataType, dimsA, stridesA) (since 1.0.0).

    C: ``miopenStatus_t miopenGetTensorDescriptor(miopenTensorDescriptor_t tensorDesc, miopenDataType_t *dataType, int *dimsA, int *stridesA)``

    In cuDNN: ``cudnnGetTensorNdDescriptor``; what a port changes: drops nbDimsRequested, nbDims; renames dimA -> dimsA, strideA -> stridesA.

    In portadnn: ``TensorDescriptor.get_nd``.
    """
    return _GetTensorDescriptor(value_of(tensorDesc, miopenTensorDescriptor_t, "tensorDesc"))


@function
def miopenGetTensorDescriptorV2(tensorDesc: miopenTensorDescriptor_t) -> tuple[miopenDataType_t, int, int]:
    """Return type, lengths and strides, as miopenGetTensorDescriptor with 64-bit sizes.

    Return (dataType, dimsA, stridesA) (MIOpen).

    C: ``miopenStatus_t miopenGetTensorDescriptorV2(miopenTensorDescriptor_t tensorDesc, miopenDataType_t *dataType, size_t *dimsA, size_t *stridesA)``

    In cuDNN: ``cudnnGetTensorNdDescriptor``; what a port changes: drops nbDimsRequested, nbDims; renames dimA -> dimsA, strideA -> stridesA; dimA: int[] -> size_t *; strideA: int[] -> size_t *.

    In portadnn: ``TensorDescriptor.get_nd``.
    """
    return _GetTensorDescriptorV2(value_of(tensorDesc, miopenTensorDescriptor_t, "tensorDesc"))


@function
def miopenGetTensorDescriptorSize(tensorDesc: miopenTensorDescriptor_t) -> int:
    """Return the number of dims.

    Return size (since 1.0.0).

    C: ``miopenStatus_t miopenGetTensorDescriptorSize(miopenTensorDescriptor_t tensorDesc, int *size)``

    In portadnn: ``TensorDescriptor.get_nd``.
    """
    return _GetTensorDescriptorSize(value_of(tensorDesc, miopenTensorDescriptor_t, "tensorDesc"))


@function
def miopenGetTensorNumBytes(tensorDesc: miopenTensorDescriptor_t) -> int:
    """Return the bytes from the first to the last element.

    Return numBytes (since 1.2.1).

    C: ``miopenStatus_t miopenGetTensorNumBytes(miopenTensorDescriptor_t tensorDesc, size_t *numBytes)``

    In cuDNN: ``cudnnGetTensorSizeInBytes``; what a port changes: renames size -> numBytes.

    In portadnn: ``TensorDescriptor.size_in_bytes``.
    """
    return _GetTensorNumBytes(value_of(tensorDesc, miopenTensorDescriptor_t, "tensorDesc"))


@function
def miopenGetTensorLayout(tensorDesc: miopenTensorDescriptor_t) -> miopenTensorLayout_t:
    """Return the layout whose packed strides the tensor has, of NCHW, NHWC, NCDHW and NDHWC, or that of vectors which it was given.

    Return layout (MIOpen).

    C: ``miopenStatus_t miopenGetTensorLayout(miopenTensorDescriptor_t tensorDesc, miopenTensorLayout_t *layout)``

    In portadnn: ``TensorDescriptor.get_nd``.
    """
    return _GetTensorLayout(value_of(tensorDesc, miopenTensorDescriptor_t, "tensorDesc"))


@function
def miopenGetTensorElementSpace(tensorDesc: miopenTensorDescriptor_t) -> int:
    """Return the elements from the first to the last.

    Return elementSpace (MIOpen).

    C: ``miopenStatus_t miopenGetTensorElementSpace(miopenTensorDescriptor_t tensorDesc, size_t *elementSpace)``

    In portadnn: ``TensorDescriptor.size_in_bytes``.
    """
    return _GetTensorElementSpace(value_of(tensorDesc, miopenTensorDescriptor_t, "tensorDesc"))


@function
def miopenIsTensorPacked(tensorDesc: miopenTensorDescriptor_t) -> bool:
    """Tell whether there is no element of another tensor between the first and the last.

    Return isPacked (MIOpen).

    C: ``miopenStatus_t miopenIsTensorPacked(miopenTensorDescriptor_t tensorDesc, bool *isPacked)``

    In portadnn: ``TensorDescriptor.get_nd``.
    """
    return _IsTensorPacked(value_of(tensorDesc, miopenTensorDescriptor_t, "tensorDesc"))


@function
def miopenGetTensorVectorLength(tensorDesc: miopenTensorDescriptor_t) -> int:
    """Return how many channels lie in a vector: 4 or 8 of NCHWc and CHWNc, else 1.

    Return vectorLength (MIOpen).

    C: ``miopenStatus_t miopenGetTensorVectorLength(miopenTensorDescriptor_t tensorDesc, size_t *vectorLength)``
    """
    return _GetTensorVectorLength(value_of(tensorDesc, miopenTensorDescriptor_t, "tensorDesc"))


@function
def miopenSetTensorCastType(tensorDesc: miopenTensorDescriptor_t, cast_type: int) -> None:
    """Demand another type for the arithmetic: only the tensor's own is possible.

    Return nothing (since 3.0.0).

    C: ``miopenStatus_t miopenSetTensorCastType(miopenTensorDescriptor_t tensorDesc, miopenDataType_t cast_type)``
    """
    _SetTensorCastType(value_of(tensorDesc, miopenTensorDescriptor_t, "tensorDesc"), tensorDesc, cast_type)


@function
def miopenDestroyTensorDescriptor(tensorDesc: miopenTensorDescriptor_t) -> None:
    """Destroy a descriptor.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenDestroyTensorDescriptor(miopenTensorDescriptor_t tensorDesc)``

    In cuDNN: ``cudnnDestroyTensorDescriptor``; what a port changes: same arguments.

    In portadnn: ``TensorDescriptor``.
    """
    destroy(tensorDesc, miopenTensorDescriptor_t, "tensorDesc")
