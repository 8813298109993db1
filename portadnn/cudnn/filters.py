"""Filter descriptors (guide sections 4.19 to 4.32)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ..arguments import as_integer
from .calls import c_function
from .descriptors import FilterDescriptor, creator, destroy, integers, made, value_of
from .tensors import data_type, tensor_format

cudnnCreateFilterDescriptor = creator("cudnnCreateFilterDescriptor", FilterDescriptor)


def _set(descriptor: Any, dtype: Any, format: Any, dims: tuple[int, ...]) -> None:
    made(descriptor, FilterDescriptor, "filterDesc")
    kind, layout = data_type(dtype, "dataType"), tensor_format(format, "format")
    descriptor.set(dnn.FilterDescriptor(dims, kind, format=layout))


def _get_4d(descriptor: Any) -> tuple[Any, ...]:
    dtype, layout, *dims = value_of(descriptor, FilterDescriptor, "filterDesc").get_4d()
    return (data_type.c(dtype), tensor_format.c(layout), *dims)


def _get_nd(descriptor: Any, requested: Any) -> tuple[Any, ...]:
    value = value_of(descriptor, FilterDescriptor, "filterDesc")
    dtype, layout, count, dims = value.get_nd(as_integer(requested, "nbDimsRequested", 0))
    return data_type.c(dtype), tensor_format.c(layout), count, dims


@c_function
def cudnnSetFilter4dDescriptor(
    filterDesc: FilterDescriptor, dataType: int, format: int, k: int, c: int, h: int, w: int
) -> None:
    _set(filterDesc, dataType, format, (k, c, h, w))


@c_function
def cudnnGetFilter4dDescriptor(filterDesc: FilterDescriptor) -> tuple[Any, ...]:
    return _get_4d(filterDesc)


@c_function
def cudnnSetFilter4dDescriptor_v3(filterDesc: FilterDescriptor, dataType: int, k: int, c: int, h: int, w: int) -> None:
    """The layout is KCRS (CUDNN_TENSOR_NCHW)."""
    _set(filterDesc, dataType, 0, (k, c, h, w))


@c_function
def cudnnGetFilter4dDescriptor_v3(filterDesc: FilterDescriptor) -> tuple[Any, ...]:
    dtype, _, *dims = _get_4d(filterDesc)
    return (dtype, *dims)


@c_function
def cudnnSetFilter4dDescriptor_v4(
    filterDesc: FilterDescriptor, dataType: int, format: int, k: int, c: int, h: int, w: int
) -> None:
    _set(filterDesc, dataType, format, (k, c, h, w))


@c_function
def cudnnGetFilter4dDescriptor_v4(filterDesc: FilterDescriptor) -> tuple[Any, ...]:
    return _get_4d(filterDesc)


@c_function
def cudnnSetFilterNdDescriptor(
    filterDesc: FilterDescriptor, dataType: int, format: int, nbDims: int, filterDimA: Any
) -> None:
    """`filterDimA` is a sequence of at least `nbDims` integers."""
    _set(filterDesc, dataType, format, integers(filterDimA, nbDims, "filterDimA"))


@c_function
def cudnnGetFilterNdDescriptor(filterDesc: FilterDescriptor, nbDimsRequested: int) -> tuple[Any, ...]:
    """`filterDimA` is a tuple of at most `nbDimsRequested` sizes; `nbDims` is the descriptor's own number."""
    return _get_nd(filterDesc, nbDimsRequested)


@c_function
def cudnnSetFilterNdDescriptor_v3(filterDesc: FilterDescriptor, dataType: int, nbDims: int, filterDimA: Any) -> None:
    """The layout is KCRS (CUDNN_TENSOR_NCHW)."""
    _set(filterDesc, dataType, 0, integers(filterDimA, nbDims, "filterDimA"))


@c_function
def cudnnGetFilterNdDescriptor_v3(filterDesc: FilterDescriptor, nbDimsRequested: int) -> tuple[Any, ...]:
    dtype, _, count, dims = _get_nd(filterDesc, nbDimsRequested)
    return dtype, count, dims


@c_function
def cudnnSetFilterNdDescriptor_v4(
    filterDesc: FilterDescriptor, dataType: int, format: int, nbDims: int, filterDimA: Any
) -> None:
    """`filterDimA` is a sequence of at least `nbDims` integers."""
    _set(filterDesc, dataType, format, integers(filterDimA, nbDims, "filterDimA"))


@c_function
def cudnnGetFilterNdDescriptor_v4(filterDesc: FilterDescriptor, nbDimsRequested: int) -> tuple[Any, ...]:
    return _get_nd(filterDesc, nbDimsRequested)


@c_function
def cudnnGetFilterSizeInBytes(filterDesc: FilterDescriptor) -> int:
    return value_of(filterDesc, FilterDescriptor, "filterDesc").size_in_bytes  # type: ignore[no-any-return]


@c_function
def cudnnDestroyFilterDescriptor(filterDesc: FilterDescriptor) -> None:
    destroy(filterDesc, FilterDescriptor, "filterDesc")
