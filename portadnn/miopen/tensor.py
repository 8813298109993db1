"""Tensor descriptors, which describe filters as well."""

from __future__ import annotations

from ..errors import NotSupported
from ..problem import TensorSpec
from .descriptors import layout_of, layout_spec, made, make_spec, miopenTensorDescriptor_t, type_of
from .generated.enums import miopenDataType_t
from .names import integer, integers, parse
from .narrow import NARROW, NarrowSpec
from .vectors import VectorSpec


def miopenSet4dTensorDescriptor(tensorDesc, dataType, *lengths):
    sizes = integers(lengths, "lens", 1)
    made(tensorDesc, miopenTensorDescriptor_t, "tensorDesc").set(make_spec(dataType, sizes))


def miopenSet4dTensorDescriptorEx(tensorDesc, dataType, *numbers):
    lengths, strides = integers(numbers[:4], "lens", 1), integers(numbers[4:], "strides", 1)
    made(tensorDesc, miopenTensorDescriptor_t, "tensorDesc").set(make_spec(dataType, lengths, strides))


def miopenGet4dTensorDescriptor(tensor):
    if len(tensor.dims) != 4:
        raise NotSupported(argument="tensorDesc", expected="4 dims", got=tensor.dims)
    return type_of(tensor), *tensor.dims, *tensor.strides


def miopenSetTensorDescriptor(tensorDesc, dataType, nbDims, dimsA, stridesA=None):
    count = integer(nbDims, "nbDims", 1)
    lengths = integers(dimsA, "dimsA", 1, count)
    strides = None if stridesA is None else integers(stridesA, "stridesA", 1, count)
    made(tensorDesc, miopenTensorDescriptor_t, "tensorDesc").set(make_spec(dataType, lengths, strides))


miopenSetTensorDescriptorV2 = miopenSetTensorDescriptor


def miopenSetNdTensorDescriptorWithLayout(tensorDesc, dataType, tensorLayout, lens, num_lens):
    lengths = integers(lens, "lens", 1, integer(num_lens, "num_lens", 1))
    made(tensorDesc, miopenTensorDescriptor_t, "tensorDesc").set(layout_spec(dataType, tensorLayout, lengths))


def miopenGetTensorDescriptor(tensor):
    return type_of(tensor), tensor.dims, tensor.strides


miopenGetTensorDescriptorV2 = miopenGetTensorDescriptor


def miopenGetTensorLayout(tensor):
    return layout_of(tensor)


def miopenGetTensorElementSpace(tensor):
    return tensor.span


def miopenIsTensorPacked(tensor):
    return tensor.span == tensor.size


def miopenGetTensorVectorLength(tensor):
    return tensor.vector if isinstance(tensor, VectorSpec) else 1


def miopenGetTensorDescriptorSize(tensor):
    return len(tensor.dims)


def miopenGetTensorNumBytes(tensor):
    return tensor.span * tensor.dtype.itemsize


def miopenSetTensorCastType(tensor, tensorDesc, cast_type):
    wanted, kind = parse(miopenDataType_t, cast_type, "cast_type"), type_of(tensor)
    layout = tensor.dtype, tensor.dims, tensor.strides
    if isinstance(tensor, VectorSpec):
        if wanted is not kind:
            raise NotSupported(argument="cast_type", expected=f"{kind.name} for vectors of channels", got=wanted.name)
    elif wanted is not kind:
        tensorDesc.set(NarrowSpec(*layout, kind=kind, cast=wanted))
    elif kind in NARROW:
        tensorDesc.set(NarrowSpec(*layout, kind=kind))
    else:
        tensorDesc.set(TensorSpec(*layout))
