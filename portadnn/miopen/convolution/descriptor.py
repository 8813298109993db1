"""Descriptors of convolutions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ...descriptors.layers import ConvolutionDescriptor
from ...errors import BadParam, NotSupported
from ...problem import TensorSpec
from ...shapes import convolution_output_dims
from ..descriptors import Opaque, made, value_of
from ..generated.enums import (
    miopenConvolutionAttrib_t,
    miopenConvolutionFindMode_t,
    miopenConvolutionMode_t,
    miopenF8RoundingMode_t,
    miopenPaddingMode_t,
)
from ..names import integer, integers, parse
from ..vectors import VectorSpec

DETERMINISTIC = miopenConvolutionAttrib_t.MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC
DEFAULT_FIND_MODE = miopenConvolutionFindMode_t.miopenConvolutionFindModeDefault
MATH_TYPE = miopenConvolutionAttrib_t.MIOPEN_CONVOLUTION_ATTRIB_MATH_TYPE
ROUNDING = miopenConvolutionAttrib_t.MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE
_UNSET = {  # what attributes are that were not set, where it is not 0
    miopenConvolutionAttrib_t.MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL: -1,
    ROUNDING: int(miopenF8RoundingMode_t.miopenF8RoundingModeStochastic),
}


@dataclass(frozen=True)
class ConvolutionSettings:
    """What a convolution descriptor was set to.

    Attributes
    ----------
    conv
        Geometry and groups, as portadnn has them.
    transposed
        Mode miopenTranspose: forward computes what the other mode's gradient by the input does.
    extra
        Output padding of the transposed mode.
    find_mode
        Whether Find measures, or estimates (miopenConvolutionFindModeFast).
    attributes
        By number.
    """

    conv: ConvolutionDescriptor
    transposed: bool
    extra: tuple[int, ...]
    find_mode: miopenConvolutionFindMode_t = field(default=DEFAULT_FIND_MODE, hash=False, compare=False)
    attributes: dict[int, int] = field(default_factory=dict, hash=False, compare=False)

    @property
    def mode(self) -> miopenConvolutionMode_t:
        """The mode."""
        modes = miopenConvolutionMode_t
        return modes.miopenTranspose if self.transposed else modes.miopenConvolution

    @property
    def deterministic(self) -> bool:
        """Whether only deterministic algorithms may be found."""
        return bool(self.attributes.get(DETERMINISTIC))


class miopenConvolutionDescriptor_t(Opaque):
    """Geometry, mode, groups and attributes of a convolution."""


def convolution_settings(convDesc: Any, argument: str = "convDesc") -> ConvolutionSettings:
    """Return what a convolution descriptor was set to."""
    return value_of(convDesc, miopenConvolutionDescriptor_t, argument)


def _change(convDesc: Any, **changes: Any) -> None:
    convolution_settings(convDesc)
    convDesc.value = replace(convDesc.value, **changes)


def _init(convDesc: Any, mode: Any, padding: Any, stride: Any, dilation: Any) -> None:
    """Set a descriptor afresh: like MIOpen, groups are 1 again (migration rule S16)."""
    desc = made(convDesc, miopenConvolutionDescriptor_t, "convDesc")
    parsed = parse(miopenConvolutionMode_t, mode, "c_mode")
    conv = ConvolutionDescriptor(padding, stride, dilation)
    desc.value = ConvolutionSettings(conv, parsed is miopenConvolutionMode_t.miopenTranspose, (0,) * len(padding))


def miopenInitConvolutionDescriptor(convDesc, mode, *sizes):
    _init(convDesc, mode, sizes[:2], sizes[2:4], sizes[4:])


def miopenGetConvolutionDescriptor(conv):
    if len(conv.conv.padding) != 2:
        raise BadParam(argument="convDesc", expected="2 spatial dims", got=len(conv.conv.padding))
    return conv.mode, *conv.conv.get_2d()[:6]


def miopenInitConvolutionNdDescriptor(convDesc, spatialDim, padA, strideA, dilationA, c_mode):
    count = integer(spatialDim, "spatialDim", 1)
    arrays = ((padA, "padA", 0), (strideA, "strideA", 1), (dilationA, "dilationA", 1))
    _init(convDesc, c_mode, *(integers(values, name, least, count) for values, name, least in arrays))


def miopenGetConvolutionNdDescriptor(conv, requestedSpatialDim):
    spatial = len(conv.conv.padding)
    if integer(requestedSpatialDim, "requestedSpatialDim", 1) < spatial:
        raise BadParam(argument="requestedSpatialDim", expected=f"at least {spatial}", got=requestedSpatialDim)
    _, padding, stride, dilation, _, _ = conv.conv.get_nd()
    return spatial, padding, stride, dilation, conv.mode


def miopenGetConvolutionSpatialDim(conv):
    return len(conv.conv.padding)


def miopenGetConvolutionPaddingMode(conv):
    return miopenPaddingMode_t.miopenPaddingDefault


def miopenSetConvolutionGroupCount(convDesc, groupCount):
    _change(convDesc, conv=replace(convolution_settings(convDesc).conv, groups=integer(groupCount, "groupCount", 1)))


def miopenGetConvolutionGroupCount(conv):
    return conv.conv.groups


def miopenSetTransposeConvOutputPadding(convDesc, *padding):
    _set_extra(convDesc, 2, padding)


def miopenSetTransposeConvNdOutputPadding(convDesc, spatialDim, adjA):
    count = integer(spatialDim, "spatialDim", 1)
    _set_extra(convDesc, count, integers(adjA, "adjA", 0, count))


def _set_extra(convDesc: Any, count: int, extra: tuple[int, ...]) -> None:
    settings = convolution_settings(convDesc)
    if len(settings.conv.padding) != count:
        raise BadParam(argument="convDesc", expected=f"{count} spatial dims", got=len(settings.conv.padding))
    _change(convDesc, extra=integers(extra, "adj"))


def miopenSetConvolutionAttribute(convDesc, attr, value):
    named = parse(miopenConvolutionAttrib_t, attr, "attr")
    least = {DETERMINISTIC: 0, MATH_TYPE: 0, ROUNDING: 0}.get(named, -(2**31))
    wanted = integer(value, "value", least)
    if named in (DETERMINISTIC, MATH_TYPE, ROUNDING) and wanted > 1:
        raise BadParam(argument="value", expected=f"0 or 1 for {named.name}", got=wanted)
    _change(convDesc, attributes={**convolution_settings(convDesc).attributes, named: wanted})


def miopenGetConvolutionAttribute(attr, conv):
    named = parse(miopenConvolutionAttrib_t, attr, "attr")
    return conv.attributes.get(named, _UNSET.get(named, 0))


def miopenSetConvolutionFindMode(convDesc, findMode):
    _change(convDesc, find_mode=parse(miopenConvolutionFindMode_t, findMode, "findMode"))


def miopenGetConvolutionFindMode(conv):
    return conv.find_mode


def output_dims(settings: ConvolutionSettings, x: TensorSpec, w: TensorSpec) -> tuple[int, ...]:
    """Return the dims of a convolution's output in either mode."""
    conv = settings.conv
    assert conv.stride is not None and conv.dilation is not None
    if isinstance(x, VectorSpec) or isinstance(w, VectorSpec):
        return _of_vectors(settings, x, w)
    if not settings.transposed:
        return convolution_output_dims(x.dims, w.dims, conv.padding, conv.stride, conv.dilation, conv.groups)
    if len(x.dims) != len(conv.padding) + 2 or len(w.dims) != len(x.dims):
        raise BadParam(argument="filterDesc", expected=f"{len(conv.padding) + 2} dims, as x", got=w.dims)
    if x.dims[1] != w.dims[0]:
        raise BadParam(argument="filterDesc", expected=f"{x.dims[1]} filters, the channels of x", got=w.dims[0])
    sizes = []
    for axis, (pad, stride, dilation, extra) in enumerate(
        zip(conv.padding, conv.stride, conv.dilation, settings.extra, strict=True), 2
    ):
        if extra >= stride:
            raise BadParam(argument="convDesc", expected=f"an output padding below the stride {stride}", got=extra)
        size = stride * (x.dims[axis] - 1) + 1 + dilation * (w.dims[axis] - 1) - 2 * pad + extra
        if size < 1:
            raise BadParam(argument="inputTensorDesc", expected="sizes that leave an output", got=x.dims)
        sizes.append(size)
    return (x.dims[0], w.dims[1] * conv.groups, *sizes)


def _of_vectors(settings: ConvolutionSettings, x: TensorSpec, w: TensorSpec) -> tuple[int, ...]:
    """Return the dims of a forward convolution's output, whose channels are counted in vectors as its operands' are."""
    if not isinstance(x, VectorSpec) or not isinstance(w, VectorSpec) or w.vector != x.vector:
        raise BadParam(argument="filterDesc", expected=f"vectors of channels as {x}", got=str(w))
    if settings.transposed:
        expected = "miopenConvolution for vectors of channels"
        raise NotSupported(argument="convDesc", expected=expected, got="miopenTranspose")
    n, k, *spatial = output_dims(settings, *(TensorSpec.packed(one.dtype, one.logical) for one in (x, w)))
    if k % x.vector:
        raise BadParam(argument="filterDesc", expected=f"filters in multiples of {x.vector}", got=k)
    return (n, k // x.vector, *spatial)


def miopenGetConvolutionForwardOutputDim(inputTensor, filter, conv):
    dims = output_dims(conv, inputTensor, filter)
    if len(dims) != 4:
        raise BadParam(argument="inputTensorDesc", expected="4 dims", got=len(dims))
    return dims


def miopenGetConvolutionNdForwardOutputDim(inputTensor, filter, conv):
    dims = output_dims(conv, inputTensor, filter)
    return len(dims), dims
