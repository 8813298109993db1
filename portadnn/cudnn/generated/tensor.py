"""Tensor descriptors: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ..calls import c_function
from ..descriptors import TensorDescriptor, destroy, value_of
from ..tensors import (
    cudnnGetTensor4dDescriptor as _GetTensor4dDescriptor,
    cudnnGetTensorNdDescriptor as _GetTensorNdDescriptor,
    cudnnGetTensorSizeInBytes as _GetTensorSizeInBytes,
    cudnnSetTensor4dDescriptor as _SetTensor4dDescriptor,
    cudnnSetTensor4dDescriptorEx as _SetTensor4dDescriptorEx,
    cudnnSetTensorNdDescriptor as _SetTensorNdDescriptor,
    cudnnSetTensorNdDescriptorEx as _SetTensorNdDescriptorEx,
)
from .enums.tensor import cudnnDataType_t


@c_function
def cudnnCreateTensorDescriptor() -> TensorDescriptor:
    """Return tensorDesc (guide 4.7, since 2.0).

    C: ``cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensorDesc)``

    In portadnn: ``TensorDescriptor``.
    """
    return TensorDescriptor()


@c_function
def cudnnSetTensor4dDescriptor(
    tensorDesc: TensorDescriptor, format: int, dataType: int, n: int, c: int, h: int, w: int
) -> None:
    """Return nothing (guide 4.8, since 1.0).

    C: ``cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensorDesc, cudnnTensorFormat_t format, cudnnDataType_t dataType, int n, int c, int h, int w)``

    In portadnn: ``TensorDescriptor.set_4d``.

    Sizes of 0 are allowed: the tensor is empty.
    """
    _SetTensor4dDescriptor(tensorDesc, format, dataType, n, c, h, w)


@c_function
def cudnnSetTensor4dDescriptorEx(
    tensorDesc: TensorDescriptor,
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
    """Return nothing (guide 4.9, since 1.0).

    C: ``cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t dataType, int n, int c, int h, int w, int nStride, int cStride, int hStride, int wStride)``

    In portadnn: ``TensorDescriptor.set_4d_ex``.
    """
    _SetTensor4dDescriptorEx(tensorDesc, dataType, n, c, h, w, nStride, cStride, hStride, wStride)


@c_function
def cudnnGetTensor4dDescriptor(
    tensorDesc: TensorDescriptor
) -> tuple[cudnnDataType_t, int, int, int, int, int, int, int, int]:
    """Return (dataType, n, c, h, w, nStride, cStride, hStride, wStride) (guide 4.10, since 1.0).

    C: ``cudnnStatus_t cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t *dataType, int *n, int *c, int *h, int *w, int *nStride, int *cStride, int *hStride, int *wStride)``

    In portadnn: ``TensorDescriptor.get_4d``.

    Of a descriptor that is not 4-D: BadParam.
    """
    return _GetTensor4dDescriptor(value_of(tensorDesc, TensorDescriptor, "tensorDesc"))


@c_function
def cudnnSetTensorNdDescriptor(
    tensorDesc: TensorDescriptor, dataType: int, nbDims: int, dimA: Any, strideA: Any
) -> None:
    """Return nothing (guide 4.11, since 2.0).

    C: ``cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t dataType, int nbDims, const int dimA[], const int strideA[])``

    In portadnn: ``TensorDescriptor.set_nd``.

    `dimA` and `strideA` are sequences of at least `nbDims` integers. Sizes of 0 are refused, as the guide says.
    """
    _SetTensorNdDescriptor(tensorDesc, dataType, nbDims, dimA, strideA)


@c_function
def cudnnSetTensorNdDescriptorEx(
    tensorDesc: TensorDescriptor, format: int, dataType: int, nbDims: int, dimA: Any
) -> None:
    """Return nothing (since 6.0).

    C: ``cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensorDesc, cudnnTensorFormat_t format, cudnnDataType_t dataType, int nbDims, const int dimA[])``

    In portadnn: ``TensorDescriptor``.
    """
    _SetTensorNdDescriptorEx(tensorDesc, format, dataType, nbDims, dimA)


@c_function
def cudnnGetTensorNdDescriptor(
    tensorDesc: TensorDescriptor, nbDimsRequested: int
) -> tuple[cudnnDataType_t, int, tuple[int, ...], tuple[int, ...]]:
    """Return (dataType, nbDims, dimA, strideA) (guide 4.12, since 2.0).

    C: ``cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensorDesc, int nbDimsRequested, cudnnDataType_t *dataType, int *nbDims, int dimA[], int strideA[])``

    In portadnn: ``TensorDescriptor.get_nd``.

    `dimA` and `strideA` are tuples of at most `nbDimsRequested` values; `nbDims` is the descriptor's own number.
    """
    return _GetTensorNdDescriptor(value_of(tensorDesc, TensorDescriptor, "tensorDesc"), nbDimsRequested)


@c_function
def cudnnGetTensorSizeInBytes(tensorDesc: TensorDescriptor) -> int:
    """Return size (since 6.0).

    C: ``cudnnStatus_t cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t tensorDesc, size_t *size)``

    In portadnn: ``TensorDescriptor.size_in_bytes``.

    The bytes from the first to the last element, gaps included.
    """
    return _GetTensorSizeInBytes(value_of(tensorDesc, TensorDescriptor, "tensorDesc"))


@c_function
def cudnnDestroyTensorDescriptor(tensorDesc: TensorDescriptor) -> None:
    """Return nothing (guide 4.13, since 2.0).

    C: ``cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensorDesc)``

    In portadnn: ``TensorDescriptor``.
    """
    destroy(tensorDesc, TensorDescriptor, "tensorDesc")
