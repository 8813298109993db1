"""Filter descriptors: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..calls import c_function
from ..convolution.reorder import cudnnReorderFilterAndBias as _ReorderFilterAndBias
from ..descriptors import FilterDescriptor, destroy, value_of
from ..filters import (
    cudnnGetFilter4dDescriptor as _GetFilter4dDescriptor,
    cudnnGetFilter4dDescriptor_v3 as _GetFilter4dDescriptor_v3,
    cudnnGetFilter4dDescriptor_v4 as _GetFilter4dDescriptor_v4,
    cudnnGetFilterNdDescriptor as _GetFilterNdDescriptor,
    cudnnGetFilterNdDescriptor_v3 as _GetFilterNdDescriptor_v3,
    cudnnGetFilterNdDescriptor_v4 as _GetFilterNdDescriptor_v4,
    cudnnGetFilterSizeInBytes as _GetFilterSizeInBytes,
    cudnnSetFilter4dDescriptor as _SetFilter4dDescriptor,
    cudnnSetFilter4dDescriptor_v3 as _SetFilter4dDescriptor_v3,
    cudnnSetFilter4dDescriptor_v4 as _SetFilter4dDescriptor_v4,
    cudnnSetFilterNdDescriptor as _SetFilterNdDescriptor,
    cudnnSetFilterNdDescriptor_v3 as _SetFilterNdDescriptor_v3,
    cudnnSetFilterNdDescriptor_v4 as _SetFilterNdDescriptor_v4,
)
from ..folding import TensorTransformDescriptor, cudnnTransformFilter as _TransformFilter
from .enums.tensor import cudnnDataType_t, cudnnTensorFormat_t


@c_function
def cudnnCreateFilterDescriptor() -> FilterDescriptor:
    """Return filterDesc (guide 4.19, since 1.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *filterDesc)``

    In portadnn: ``FilterDescriptor``.
    """
    return FilterDescriptor()


@c_function
def cudnnSetFilter4dDescriptor(
    filterDesc: FilterDescriptor, dataType: int, format: int, k: int, c: int, h: int, w: int
) -> None:
    """Return nothing (guide 4.20, since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filterDesc, cudnnDataType_t dataType, cudnnTensorFormat_t format, int k, int c, int h, int w)``

    In portadnn: ``FilterDescriptor.set_4d``.
    """
    _SetFilter4dDescriptor(filterDesc, dataType, format, k, c, h, w)


@c_function
def cudnnGetFilter4dDescriptor(
    filterDesc: FilterDescriptor
) -> tuple[cudnnDataType_t, cudnnTensorFormat_t, int, int, int, int]:
    """Return (dataType, format, k, c, h, w) (guide 4.21, since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetFilter4dDescriptor(const cudnnFilterDescriptor_t filterDesc, cudnnDataType_t *dataType, cudnnTensorFormat_t *format, int *k, int *c, int *h, int *w)``

    In portadnn: ``FilterDescriptor.get_4d``.
    """
    return _GetFilter4dDescriptor(value_of(filterDesc, FilterDescriptor, "filterDesc"))


@c_function
def cudnnSetFilter4dDescriptor_v3(filterDesc: FilterDescriptor, dataType: int, k: int, c: int, h: int, w: int) -> None:
    """Return nothing (guide 4.22).

    C: ``cudnnStatus_t cudnnSetFilter4dDescriptor_v3(cudnnFilterDescriptor_t filterDesc, cudnnDataType_t dataType, int k, int c, int h, int w)``

    In portadnn: ``FilterDescriptor``.

    The layout is KCRS (CUDNN_TENSOR_NCHW).
    """
    _SetFilter4dDescriptor_v3(filterDesc, dataType, k, c, h, w)


@c_function
def cudnnGetFilter4dDescriptor_v3(filterDesc: FilterDescriptor) -> tuple[cudnnDataType_t, int, int, int, int]:
    """Return (dataType, k, c, h, w) (guide 4.23).

    C: ``cudnnStatus_t cudnnGetFilter4dDescriptor_v3(const cudnnFilterDescriptor_t filterDesc, cudnnDataType_t *dataType, int *k, int *c, int *h, int *w)``

    In portadnn: ``FilterDescriptor.get_4d``.
    """
    return _GetFilter4dDescriptor_v3(value_of(filterDesc, FilterDescriptor, "filterDesc"))


@c_function
def cudnnSetFilter4dDescriptor_v4(
    filterDesc: FilterDescriptor, dataType: int, format: int, k: int, c: int, h: int, w: int
) -> None:
    """Return nothing (guide 4.24).

    C: ``cudnnStatus_t cudnnSetFilter4dDescriptor_v4(cudnnFilterDescriptor_t filterDesc, cudnnDataType_t dataType, cudnnTensorFormat_t format, int k, int c, int h, int w)``

    In portadnn: ``FilterDescriptor.set_4d``.
    """
    _SetFilter4dDescriptor_v4(filterDesc, dataType, format, k, c, h, w)


@c_function
def cudnnGetFilter4dDescriptor_v4(
    filterDesc: FilterDescriptor
) -> tuple[cudnnDataType_t, cudnnTensorFormat_t, int, int, int, int]:
    """Return (dataType, format, k, c, h, w) (guide 4.25).

    C: ``cudnnStatus_t cudnnGetFilter4dDescriptor_v4(const cudnnFilterDescriptor_t filterDesc, cudnnDataType_t *dataType, cudnnTensorFormat_t *format, int *k, int *c, int *h, int *w)``

    In portadnn: ``FilterDescriptor.get_4d``.
    """
    return _GetFilter4dDescriptor_v4(value_of(filterDesc, FilterDescriptor, "filterDesc"))


@c_function
def cudnnSetFilterNdDescriptor(
    filterDesc: FilterDescriptor, dataType: int, format: int, nbDims: int, filterDimA: Any
) -> None:
    """Return nothing (guide 4.26, since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filterDesc, cudnnDataType_t dataType, cudnnTensorFormat_t format, int nbDims, const int filterDimA[])``

    In portadnn: ``FilterDescriptor.set_nd``.

    `filterDimA` is a sequence of at least `nbDims` integers.
    """
    _SetFilterNdDescriptor(filterDesc, dataType, format, nbDims, filterDimA)


@c_function
def cudnnGetFilterNdDescriptor(
    filterDesc: FilterDescriptor, nbDimsRequested: int
) -> tuple[cudnnDataType_t, cudnnTensorFormat_t, int, tuple[int, ...]]:
    """Return (dataType, format, nbDims, filterDimA) (guide 4.27, since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filterDesc, int nbDimsRequested, cudnnDataType_t *dataType, cudnnTensorFormat_t *format, int *nbDims, int filterDimA[])``

    In portadnn: ``FilterDescriptor.get_nd``.

    `filterDimA` is a tuple of at most `nbDimsRequested` sizes; `nbDims` is the descriptor's own number.
    """
    return _GetFilterNdDescriptor(value_of(filterDesc, FilterDescriptor, "filterDesc"), nbDimsRequested)


@c_function
def cudnnSetFilterNdDescriptor_v3(filterDesc: FilterDescriptor, dataType: int, nbDims: int, filterDimA: Any) -> None:
    """Return nothing (guide 4.28).

    C: ``cudnnStatus_t cudnnSetFilterNdDescriptor_v3(cudnnFilterDescriptor_t filterDesc, cudnnDataType_t dataType, int nbDims, const int filterDimA[])``

    In portadnn: ``FilterDescriptor``.

    The layout is KCRS (CUDNN_TENSOR_NCHW).
    """
    _SetFilterNdDescriptor_v3(filterDesc, dataType, nbDims, filterDimA)


@c_function
def cudnnGetFilterNdDescriptor_v3(
    filterDesc: FilterDescriptor, nbDimsRequested: int
) -> tuple[cudnnDataType_t, int, tuple[int, ...]]:
    """Return (dataType, nbDims, filterDimA) (guide 4.29).

    C: ``cudnnStatus_t cudnnGetFilterNdDescriptor_v3(const cudnnFilterDescriptor_t filterDesc, int nbDimsRequested, cudnnDataType_t *dataType, int *nbDims, int filterDimA[])``

    In portadnn: ``FilterDescriptor.get_nd``.
    """
    return _GetFilterNdDescriptor_v3(value_of(filterDesc, FilterDescriptor, "filterDesc"), nbDimsRequested)


@c_function
def cudnnSetFilterNdDescriptor_v4(
    filterDesc: FilterDescriptor, dataType: int, format: int, nbDims: int, filterDimA: Any
) -> None:
    """Return nothing (guide 4.30).

    C: ``cudnnStatus_t cudnnSetFilterNdDescriptor_v4(cudnnFilterDescriptor_t filterDesc, cudnnDataType_t dataType, cudnnTensorFormat_t format, int nbDims, const int filterDimA[])``

    In portadnn: ``FilterDescriptor.set_nd``.

    `filterDimA` is a sequence of at least `nbDims` integers.
    """
    _SetFilterNdDescriptor_v4(filterDesc, dataType, format, nbDims, filterDimA)


@c_function
def cudnnGetFilterNdDescriptor_v4(
    filterDesc: FilterDescriptor, nbDimsRequested: int
) -> tuple[cudnnDataType_t, cudnnTensorFormat_t, int, tuple[int, ...]]:
    """Return (dataType, format, nbDims, filterDimA) (guide 4.31).

    C: ``cudnnStatus_t cudnnGetFilterNdDescriptor_v4(const cudnnFilterDescriptor_t filterDesc, int nbDimsRequested, cudnnDataType_t *dataType, cudnnTensorFormat_t *format, int *nbDims, int filterDimA[])``

    In portadnn: ``FilterDescriptor.get_nd``.
    """
    return _GetFilterNdDescriptor_v4(value_of(filterDesc, FilterDescriptor, "filterDesc"), nbDimsRequested)


@c_function
def cudnnGetFilterSizeInBytes(filterDesc: FilterDescriptor) -> int:
    """Return size (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetFilterSizeInBytes(const cudnnFilterDescriptor_t filterDesc, size_t *size)``

    In portadnn: ``FilterDescriptor.size_in_bytes``.
    """
    return _GetFilterSizeInBytes(value_of(filterDesc, FilterDescriptor, "filterDesc"))


@c_function
def cudnnTransformFilter(
    handle: Handle,
    transDesc: TensorTransformDescriptor,
    alpha: float,
    srcDesc: FilterDescriptor,
    srcData: Any,
    beta: float,
    destDesc: FilterDescriptor,
    destData: Any,
) -> None:
    """Return nothing (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnTransformFilter(cudnnHandle_t handle, const cudnnTensorTransformDescriptor_t transDesc, const void *alpha, const cudnnFilterDescriptor_t srcDesc, const void *srcData, const void *beta, const cudnnFilterDescriptor_t destDesc, void *destData)``
    """
    _TransformFilter(handle, transDesc, alpha, srcDesc, srcData, beta, destDesc, destData)


@c_function
def cudnnReorderFilterAndBias(
    handle: Handle,
    filterDesc: FilterDescriptor,
    reorderType: int,
    filterData: Any,
    reorderedFilterData: Any,
    reorderBias: int,
    biasData: Any,
    reorderedBiasData: Any,
) -> None:
    """Return nothing (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnReorderFilterAndBias(cudnnHandle_t handle, const cudnnFilterDescriptor_t filterDesc, cudnnReorderType_t reorderType, const void *filterData, void *reorderedFilterData, int reorderBias, const void *biasData, void *reorderedBiasData)``
    """
    _ReorderFilterAndBias(
        handle,
        value_of(filterDesc, FilterDescriptor, "filterDesc"),
        reorderType,
        filterData,
        reorderedFilterData,
        reorderBias,
        biasData,
        reorderedBiasData,
    )


@c_function
def cudnnDestroyFilterDescriptor(filterDesc: FilterDescriptor) -> None:
    """Return nothing (guide 4.32, since 1.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filterDesc)``

    In portadnn: ``FilterDescriptor``.
    """
    destroy(filterDesc, FilterDescriptor, "filterDesc")
