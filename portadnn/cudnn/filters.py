"""Filter descriptors (guide sections 4.19 to 4.32)."""

from __future__ import annotations

import portadnn as dnn

from ..arguments import as_integer
from ..enums import TensorFormat
from .descriptors import FilterDescriptor, fixed, integers, made
from .storage import IntegerFilter, format_number, integer_type
from .tensors import data_type, tensor_format

_KCRS = int(TensorFormat.NCHW)  # the one layout before version 4


def cudnnSetFilter4dDescriptor(filterDesc, dataType, format, *dims):
    made(filterDesc, FilterDescriptor, "filterDesc")
    number = integer_type(dataType)
    if number is not None:
        filterDesc.set_unread(IntegerFilter(number, dims, format_number(format)))
        return
    kind, layout = data_type(dataType, "dataType"), tensor_format(format, "format")
    filterDesc.set(dnn.FilterDescriptor(dims, kind, format=layout))


def cudnnSetFilter4dDescriptor_v3(filterDesc, dataType, *dims):
    cudnnSetFilter4dDescriptor(filterDesc, dataType, _KCRS, *dims)


def cudnnSetFilterNdDescriptor(filterDesc, dataType, format, nbDims, filterDimA):
    cudnnSetFilter4dDescriptor(filterDesc, dataType, format, *integers(filterDimA, nbDims, "filterDimA"))


def cudnnSetFilterNdDescriptor_v3(filterDesc, dataType, nbDims, filterDimA):
    cudnnSetFilterNdDescriptor(filterDesc, dataType, _KCRS, nbDims, filterDimA)


def cudnnGetFilter4dDescriptor(filter):
    dtype, layout, _, dims = filter.get_nd(4)
    return (data_type.c(dtype), tensor_format.c(layout), *fixed(dims, 4))


def cudnnGetFilter4dDescriptor_v3(filter):
    dtype, _, *dims = cudnnGetFilter4dDescriptor(filter)
    return (dtype, *dims)


def cudnnGetFilterNdDescriptor(filter, nbDimsRequested):
    dtype, layout, *rest = filter.get_nd(as_integer(nbDimsRequested, "nbDimsRequested", 0))
    return (data_type.c(dtype), tensor_format.c(layout), *rest)


def cudnnGetFilterNdDescriptor_v3(filter, nbDimsRequested):
    dtype, _, *rest = cudnnGetFilterNdDescriptor(filter, nbDimsRequested)
    return (dtype, *rest)


cudnnSetFilter4dDescriptor_v4 = cudnnSetFilter4dDescriptor
cudnnSetFilterNdDescriptor_v4 = cudnnSetFilterNdDescriptor
cudnnGetFilter4dDescriptor_v4 = cudnnGetFilter4dDescriptor
cudnnGetFilterNdDescriptor_v4 = cudnnGetFilterNdDescriptor


def cudnnGetFilterSizeInBytes(filter):
    return filter.size_in_bytes
