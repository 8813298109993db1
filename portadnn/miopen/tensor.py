"""Tensor descriptors, which describe filters as well."""

from __future__ import annotations

from typing import Any

from ..errors import NotSupported
from .descriptors import MIOPEN_TYPES, creator, destroy, layout_spec, made, make_spec, miopenTensorDescriptor_t, spec_of
from .enums import miopenDataType_t
from .names import function, integer, integers, parse

miopenCreateTensorDescriptor = creator("miopenCreateTensorDescriptor", miopenTensorDescriptor_t)


@function
def miopenSet4dTensorDescriptor(
    tensorDesc: miopenTensorDescriptor_t, dataType: Any, n: int, c: int, h: int, w: int
) -> None:
    """Describe a packed NCHW tensor, or a KCRS filter."""
    lengths = integers((n, c, h, w), "lens", 1)
    made(tensorDesc, miopenTensorDescriptor_t, "tensorDesc").set(make_spec(dataType, lengths))


@function
def miopenSet4dTensorDescriptorEx(
    tensorDesc: miopenTensorDescriptor_t,
    dataType: Any,
    n: int,
    c: int,
    h: int,
    w: int,
    nStride: int,
    cStride: int,
    hStride: int,
    wStride: int,
) -> None:
    """Describe a 4-D tensor with strides, in elements."""
    lengths = integers((n, c, h, w), "lens", 1)
    strides = integers((nStride, cStride, hStride, wStride), "strides", 1)
    made(tensorDesc, miopenTensorDescriptor_t, "tensorDesc").set(make_spec(dataType, lengths, strides))


@function
def miopenGet4dTensorDescriptor(
    tensorDesc: miopenTensorDescriptor_t,
) -> tuple[miopenDataType_t, int, int, int, int, int, int, int, int]:
    """Return type, lengths and strides of a 4-D descriptor."""
    spec = spec_of(tensorDesc, "tensorDesc")
    if len(spec.dims) != 4:
        raise NotSupported(argument="tensorDesc", expected="4 dims", got=spec.dims)
    n, c, h, w = spec.dims
    return MIOPEN_TYPES[spec.dtype], n, c, h, w, *spec.strides  # type: ignore[return-value]


@function
def miopenSetTensorDescriptor(
    tensorDesc: miopenTensorDescriptor_t, dataType: Any, nbDims: int, dimsA: Any, stridesA: Any = None
) -> None:
    """Describe a tensor of 1 to 5 dims; without strides (C's null pointer) it is packed."""
    _set_nd(tensorDesc, dataType, nbDims, dimsA, stridesA)


def _set_nd(tensorDesc: Any, dataType: Any, nbDims: Any, dimsA: Any, stridesA: Any) -> None:
    count = integer(nbDims, "nbDims", 1)
    lengths = integers(dimsA, "dimsA", 1, count)
    strides = None if stridesA is None else integers(stridesA, "stridesA", 1, count)
    made(tensorDesc, miopenTensorDescriptor_t, "tensorDesc").set(make_spec(dataType, lengths, strides))


@function
def miopenSetTensorDescriptorV2(
    tensorDesc: miopenTensorDescriptor_t, dataType: Any, nbDims: int, dimsA: Any, stridesA: Any = None
) -> None:
    """Describe a tensor, as miopenSetTensorDescriptor with 64-bit sizes."""
    _set_nd(tensorDesc, dataType, nbDims, dimsA, stridesA)


@function
def miopenSetNdTensorDescriptorWithLayout(
    tensorDesc: miopenTensorDescriptor_t, dataType: Any, tensorLayout: Any, lens: Any, num_lens: int
) -> None:
    """Describe a packed tensor NCHW, NHWC, NCDHW or NDHWC; lengths are in the order n, c, [d,] h, w for all of them."""
    lengths = integers(lens, "lens", 1, integer(num_lens, "num_lens", 1))
    made(tensorDesc, miopenTensorDescriptor_t, "tensorDesc").set(layout_spec(dataType, tensorLayout, lengths))


@function
def miopenGetTensorDescriptor(
    tensorDesc: miopenTensorDescriptor_t,
) -> tuple[miopenDataType_t, tuple[int, ...], tuple[int, ...]]:
    """Return type, lengths and strides."""
    spec = spec_of(tensorDesc, "tensorDesc")
    return MIOPEN_TYPES[spec.dtype], spec.dims, spec.strides


@function
def miopenGetTensorDescriptorSize(tensorDesc: miopenTensorDescriptor_t) -> int:
    """Return the number of dims."""
    return len(spec_of(tensorDesc, "tensorDesc").dims)


@function
def miopenGetTensorNumBytes(tensorDesc: miopenTensorDescriptor_t) -> int:
    """Return the bytes from the first to the last element."""
    spec = spec_of(tensorDesc, "tensorDesc")
    return spec.span * spec.dtype.itemsize


@function
def miopenSetTensorCastType(tensorDesc: miopenTensorDescriptor_t, cast_type: Any) -> None:
    """Demand another type for the arithmetic: only the tensor's own is possible."""
    spec = spec_of(tensorDesc, "tensorDesc")
    wanted = parse(miopenDataType_t, cast_type, "cast_type")
    if wanted is not MIOPEN_TYPES[spec.dtype]:
        raise NotSupported(
            "operands are not rounded to other types (float8)",
            argument="cast_type",
            expected=MIOPEN_TYPES[spec.dtype].name,
            got=wanted.name,
        )


@function
def miopenDestroyTensorDescriptor(tensorDesc: miopenTensorDescriptor_t) -> None:
    """Destroy a descriptor."""
    destroy(tensorDesc, miopenTensorDescriptor_t, "tensorDesc")
