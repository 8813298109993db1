"""Descriptors of convolutions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import BadParam, NotSupported
from ...layer_descriptors import ConvolutionDescriptor
from ...problem import TensorSpec
from ...shapes import convolution_output_dims
from ..descriptors import Opaque, creator, destroy, made, miopenTensorDescriptor_t, spec_of, value_of
from ..enums import miopenConvolutionAttrib_t, miopenConvolutionFindMode_t, miopenConvolutionMode_t
from ..names import function, integer, integers, parse

DETERMINISTIC = miopenConvolutionAttrib_t.MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC
DEFAULT_FIND_MODE = miopenConvolutionFindMode_t.miopenConvolutionFindModeDefault
MATH_TYPE = miopenConvolutionAttrib_t.MIOPEN_CONVOLUTION_ATTRIB_MATH_TYPE


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


def convolution_settings(convDesc: Any) -> ConvolutionSettings:
    """Return what a convolution descriptor was set to."""
    return value_of(convDesc, miopenConvolutionDescriptor_t, "convDesc")  # type: ignore[no-any-return]


def _change(convDesc: Any, **changes: Any) -> None:
    convolution_settings(convDesc)
    convDesc.value = replace(convDesc.value, **changes)


def _init(convDesc: Any, mode: Any, padding: Any, stride: Any, dilation: Any) -> None:
    """Set a descriptor afresh: like MIOpen, groups are 1 again (migration rule S16)."""
    desc = made(convDesc, miopenConvolutionDescriptor_t, "convDesc")
    parsed = parse(miopenConvolutionMode_t, mode, "c_mode")
    conv = ConvolutionDescriptor(padding, stride, dilation)
    desc.value = ConvolutionSettings(conv, parsed is miopenConvolutionMode_t.miopenTranspose, (0,) * len(padding))


miopenCreateConvolutionDescriptor = creator("miopenCreateConvolutionDescriptor", miopenConvolutionDescriptor_t)


@function
def miopenInitConvolutionDescriptor(
    convDesc: miopenConvolutionDescriptor_t,
    mode: Any,
    pad_h: int,
    pad_w: int,
    u: int,
    v: int,
    upscalex: int,
    upscaley: int,
) -> None:
    """Describe a 2-D convolution with strides u, v and dilation upscalex (of h), upscaley (of w); groups become 1.

    miopenConvolution is cross-correlation. miopenGroupConv and miopenDepthwise are taken as miopenConvolution.
    """
    _init(convDesc, mode, (pad_h, pad_w), (u, v), (upscalex, upscaley))


@function
def miopenGetConvolutionDescriptor(
    convDesc: miopenConvolutionDescriptor_t,
) -> tuple[miopenConvolutionMode_t, int, int, int, int, int, int]:
    """Return (mode, pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w)."""
    settings = convolution_settings(convDesc)
    if len(settings.conv.padding) != 2:
        raise BadParam(argument="convDesc", expected="2 spatial dims", got=len(settings.conv.padding))
    return settings.mode, *settings.conv.get_2d()[:6]


@function
def miopenInitConvolutionNdDescriptor(
    convDesc: miopenConvolutionDescriptor_t,
    spatialDim: int,
    padA: Any,
    strideA: Any,
    dilationA: Any,
    c_mode: Any,
) -> None:
    """Describe a convolution of `spatialDim` dims; groups become 1."""
    count = integer(spatialDim, "spatialDim", 1)
    arrays = ((padA, "padA", 0), (strideA, "strideA", 1), (dilationA, "dilationA", 1))
    _init(convDesc, c_mode, *(integers(values, name, least, count) for values, name, least in arrays))


@function
def miopenGetConvolutionNdDescriptor(
    convDesc: miopenConvolutionDescriptor_t, requestedSpatialDim: int
) -> tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...], miopenConvolutionMode_t]:
    """Return (spatialDim, padA, strideA, dilationA, c_mode)."""
    settings = convolution_settings(convDesc)
    spatial = len(settings.conv.padding)
    if integer(requestedSpatialDim, "requestedSpatialDim", 1) < spatial:
        raise BadParam(argument="requestedSpatialDim", expected=f"at least {spatial}", got=requestedSpatialDim)
    _, padding, stride, dilation, _, _ = settings.conv.get_nd()
    return spatial, padding, stride, dilation, settings.mode


@function
def miopenGetConvolutionSpatialDim(convDesc: miopenConvolutionDescriptor_t) -> int:
    """Return the number of spatial dims."""
    return len(convolution_settings(convDesc).conv.padding)


@function
def miopenSetConvolutionGroupCount(convDesc: miopenConvolutionDescriptor_t, groupCount: int) -> None:
    """Set the number of groups, after the Init call, which sets it to 1."""
    _change(convDesc, conv=replace(convolution_settings(convDesc).conv, groups=integer(groupCount, "groupCount", 1)))


@function
def miopenGetConvolutionGroupCount(convDesc: miopenConvolutionDescriptor_t) -> int:
    """Return the number of groups."""
    return convolution_settings(convDesc).conv.groups


@function
def miopenSetTransposeConvOutputPadding(convDesc: miopenConvolutionDescriptor_t, adj_h: int, adj_w: int) -> None:
    """Add to the output's size in the mode miopenTranspose, which leaves less than a stride open."""
    _set_extra(convDesc, 2, (adj_h, adj_w))


@function
def miopenSetTransposeConvNdOutputPadding(convDesc: miopenConvolutionDescriptor_t, spatialDim: int, adjA: Any) -> None:
    """Add to the output's size in the mode miopenTranspose."""
    count = integer(spatialDim, "spatialDim", 1)
    _set_extra(convDesc, count, integers(adjA, "adjA", 0, count))


def _set_extra(convDesc: Any, count: int, extra: tuple[int, ...]) -> None:
    settings = convolution_settings(convDesc)
    if len(settings.conv.padding) != count:
        raise BadParam(argument="convDesc", expected=f"{count} spatial dims", got=len(settings.conv.padding))
    _change(convDesc, extra=integers(extra, "adj"))


@function
def miopenSetConvolutionAttribute(convDesc: miopenConvolutionDescriptor_t, attr: Any, value: int) -> None:
    """Set an attribute: DETERMINISTIC to 1 keeps algorithms with atomic sums out.

    FP16_ALT_IMPL is kept and has no effect. FP8_ROUNDING_MODE other than 0 is refused, and so is any MATH_TYPE but 0
    and 1 (default and pedantic are the same here: float32 data is never rounded).
    """
    named = parse(miopenConvolutionAttrib_t, attr, "attr")
    least = {DETERMINISTIC: 0, MATH_TYPE: 0}.get(named, -(2**31))
    wanted = integer(value, "value", least)
    if named in (DETERMINISTIC, MATH_TYPE) and wanted > 1:
        raise BadParam(argument="value", expected=f"0 or 1 for {named.name}", got=wanted)
    if named is miopenConvolutionAttrib_t.MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE and wanted:
        raise NotSupported("there is no float8", argument="value", expected="0", got=wanted)
    _change(convDesc, attributes={**convolution_settings(convDesc).attributes, named: wanted})


@function
def miopenGetConvolutionAttribute(convDesc: miopenConvolutionDescriptor_t, attr: Any) -> int:
    """Return an attribute; 0, or -1 for FP16_ALT_IMPL, where it was not set."""
    named = parse(miopenConvolutionAttrib_t, attr, "attr")
    alternative = miopenConvolutionAttrib_t.MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL
    return convolution_settings(convDesc).attributes.get(named, -1 if named is alternative else 0)


@function
def miopenSetConvolutionFindMode(convDesc: miopenConvolutionDescriptor_t, findMode: Any) -> None:
    """Choose how Find works: it measures, but for miopenConvolutionFindModeFast, which estimates."""
    _change(convDesc, find_mode=parse(miopenConvolutionFindMode_t, findMode, "findMode"))


@function
def miopenGetConvolutionFindMode(convDesc: miopenConvolutionDescriptor_t) -> miopenConvolutionFindMode_t:
    """Return how Find works."""
    return convolution_settings(convDesc).find_mode


@function
def miopenDestroyConvolutionDescriptor(convDesc: miopenConvolutionDescriptor_t) -> None:
    """Destroy a descriptor."""
    destroy(convDesc, miopenConvolutionDescriptor_t, "convDesc")


def output_dims(settings: ConvolutionSettings, x: TensorSpec, w: TensorSpec) -> tuple[int, ...]:
    """Return the dims of a convolution's output in either mode."""
    conv = settings.conv
    assert conv.stride is not None and conv.dilation is not None
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


@function
def miopenGetConvolutionForwardOutputDim(
    convDesc: miopenConvolutionDescriptor_t,
    inputTensorDesc: miopenTensorDescriptor_t,
    filterDesc: miopenTensorDescriptor_t,
) -> tuple[int, int, int, int]:
    """Return (n, c, h, w) of a 2-D convolution's output."""
    x, w = spec_of(inputTensorDesc, "inputTensorDesc"), spec_of(filterDesc, "filterDesc")
    dims = output_dims(convolution_settings(convDesc), x, w)
    if len(dims) != 4:
        raise BadParam(argument="inputTensorDesc", expected="4 dims", got=len(dims))
    return dims


@function
def miopenGetConvolutionNdForwardOutputDim(
    convDesc: miopenConvolutionDescriptor_t,
    inputTensorDesc: miopenTensorDescriptor_t,
    filterDesc: miopenTensorDescriptor_t,
) -> tuple[int, tuple[int, ...]]:
    """Return (nDim, outputTensorDimA) of a convolution's output."""
    x, w = spec_of(inputTensorDesc, "inputTensorDesc"), spec_of(filterDesc, "filterDesc")
    dims = output_dims(convolution_settings(convDesc), x, w)
    return len(dims), dims
