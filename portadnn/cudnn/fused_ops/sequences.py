"""The seven fused operators as graphs. A pointer whose placeholder is NULL, or was not set, leaves its part out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...enums import ActivationMode
from ...errors import BadParam, NotSupported
from ...handle import Handle
from ..descriptors import ActivationDescriptor, ConvolutionDescriptor, FilterDescriptor, TensorDescriptor
from ..integer_graphs import Composed, composed, memory_of
from ..storage import Stored, stored

TENSOR = TensorDescriptor
KINDS: dict[str, Any] = {
    "ACTIVATION_DESC": ActivationDescriptor,
    "CONV_DESC": ConvolutionDescriptor,
    "WDESC": FilterDescriptor,
    "DWDESC": FilterDescriptor,
}
CONV_BNSTATS, WGRAD, FINALIZE_TRAINING, FINALIZE_INFERENCE, CONV_ADD, GEN_BITMASK, DBATCHNORM = range(7)

_BEFORE = "XDESC XDATA BN_MODE BN_EQSCALEBIAS_DESC BN_EQSCALE BN_EQBIAS ACTIVATION_DESC "
_FINALIZED = (
    "BN_MODE BN_SCALEBIAS_MEANVAR_DESC BN_SCALE BN_BIAS "
    "BN_RUNNING_MEAN BN_RUNNING_VAR BN_EQSCALEBIAS_DESC BN_EQSCALE BN_EQBIAS "
)
_WORDS = (
    _BEFORE + "CONV_DESC WDESC WDATA YDESC YDATA YSTATS_DESC YSUM YSQSUM",
    _BEFORE + "CONV_DESC DWDESC DWDATA DYDESC DYDATA",
    _FINALIZED + "YSTATS_DESC YSUM YSQSUM BN_SAVED_MEAN BN_SAVED_INVSTD",
    _FINALIZED,
    _BEFORE + "CONV_DESC WDESC WDATA ZDESC ZDATA YDESC YDATA",
    _BEFORE
    + "ZDESC ZDATA BN_Z_EQSCALEBIAS_DESC BN_Z_EQSCALE BN_Z_EQBIAS YDESC YDATA "
    + "ACTIVATION_BITMASK_DESC ACTIVATION_BITMASK",
    "XDESC XDATA BN_MODE ACTIVATION_DESC BN_SCALEBIAS_MEANVAR_DESC BN_SCALE BN_BIAS BN_SAVED_MEAN BN_SAVED_INVSTD "
    "DYDESC DYDATA DXDESC DXDATA DZDESC DZDATA BN_DSCALE BN_DBIAS ACTIVATION_BITMASK_DESC ACTIVATION_BITMASK",
)
LABELS = tuple(
    {word if word.endswith("DESC") or word == "BN_MODE" else f"{word}_PLACEHOLDER" for word in words.split()}
    for words in _WORDS
)
SCALARS = {
    FINALIZE_TRAINING: (
        "SCALAR_INT64_T_BN_ACCUMULATION_COUNT",
        "SCALAR_DOUBLE_BN_EXP_AVG_FACTOR",
        "SCALAR_DOUBLE_BN_EPSILON",
    ),
    FINALIZE_INFERENCE: ("SCALAR_DOUBLE_BN_EPSILON",),
}
_BITS = np.left_shift(1, np.arange(8)).astype(np.uint8)


@dataclass
class Sequence:
    """One operator with its constant parameters, by the labels' names."""

    ops: int
    values: dict[str, Any]

    def has(self, pointer: str) -> bool:
        """Tell whether a pointer takes part."""
        return bool(self.values.get(f"{pointer}_PLACEHOLDER"))

    def demand(self, *pointers: str) -> None:
        """Refuse a plan that lacks one of several pointers."""
        missing = [one for one in pointers if not self.has(one)]
        if missing:
            raise BadParam(argument="constPack", expected=f"CUDNN_PARAM_{missing[0]}_PLACEHOLDER", got="CUDNN_PTR_NULL")

    def desc(self, name: str) -> Any:
        """Return what a descriptor was set to."""
        found = self.values.get(name)
        if found is None:
            raise BadParam(argument="constPack", expected=f"CUDNN_PARAM_{name}", got="NULL")
        return found.value

    def place(self, name: str) -> Stored:
        """Return the layout of a descriptor."""
        return stored(self.desc(name))

    def planned(self, handle: Handle) -> Composed:
        """Return the operator's graph, planned for a handle."""
        settings = tuple(
            (name, value if isinstance(value, int) or value is None else repr(value.value))
            for name, value in sorted(self.values.items())
        )
        return composed(handle, ("fused", self.ops, settings), lambda: _BUILDERS[self.ops](self, handle))

    def run(self, handle: Handle, given: dict[str, Any]) -> None:
        """Compute with a variant pack."""
        graph = self.planned(handle)
        arguments: dict[str, Any] = {}
        for name in graph.names:
            source = name.removesuffix("_NEXT")
            if name == "BITS":
                arguments[name] = handle.device.asarray(_BITS)
            elif source.startswith("SCALAR_"):
                if source not in given:
                    raise BadParam(argument="varPack", expected=f"CUDNN_{source}", got="nothing")
                arguments[name] = given[source]
            else:
                arguments[name] = memory_of(handle, given.get(f"PTR_{source}"), f"CUDNN_PTR_{source}")
        graph.run(arguments)


def _channels(made: Composed, sequence: Sequence, name: str, desc: str) -> Any:
    return made.tensor(name, sequence.place(desc))


def _activated(made: Composed, sequence: Sequence, value: Any) -> Any:
    held = sequence.values.get("ACTIVATION_DESC")
    if held is None or held.value.mode is ActivationMode.IDENTITY:
        return value
    if held.value.mode is not ActivationMode.RELU:
        raise NotSupported(argument="ACTIVATION_DESC", expected="RELU or IDENTITY", got=held.value.mode.name)
    return made.graph.relu(value)


def _scaled(made: Composed, sequence: Sequence, value: Any, prefix: str = "BN_") -> Any:
    """Return scale * value + bias for each channel, without what has no pointer."""
    desc = f"{prefix}EQSCALEBIAS_DESC"
    if sequence.has(f"{prefix}EQSCALE"):
        value = made.graph.mul(value, _channels(made, sequence, f"{prefix}EQSCALE", desc))
    if sequence.has(f"{prefix}EQBIAS"):
        value = made.graph.add(value, _channels(made, sequence, f"{prefix}EQBIAS", desc))
    return value


def _before(made: Composed, sequence: Sequence) -> Any:
    """Return the image as a convolution reads it: scaled, rounded to its type, activated."""
    place = sequence.place("XDESC")
    image = made.tensor("XDATA", place)
    scaled = _scaled(made, sequence, image)
    if scaled is not image:
        scaled.set_data_type(made.type(place.type))
    active = _activated(made, sequence, scaled)
    return active if active is image else active.set_data_type(made.type(place.type))


def _geometry(sequence: Sequence) -> dict[str, Any]:
    from ...graph import convolution_mode

    conv = sequence.desc("CONV_DESC")
    if conv.groups != 1:
        raise NotSupported(argument="CONV_DESC", expected="one group", got=conv.groups)
    sizes = {"padding": conv.padding, "stride": conv.stride, "dilation": conv.dilation}
    mode = convolution_mode[conv.mode.name]
    return {**{name: list(values) for name, values in sizes.items()}, "convolution_mode": mode}


def _conv_bnstats(sequence: Sequence, handle: Handle) -> Composed:
    sequence.demand("XDATA", "WDATA", "YDATA")
    made = Composed(handle)
    image = _before(made, sequence)
    y = made.graph.conv_fprop(image, made.tensor("WDATA", sequence.place("WDESC")), **_geometry(sequence))
    made.result("YDATA", sequence.place("YDESC"), y)
    if sequence.has("YSUM") or sequence.has("YSQSUM"):
        sequence.demand("YSUM", "YSQSUM")
        for name, value in zip(("YSUM", "YSQSUM"), made.graph.genstats(y), strict=True):
            made.result(name, sequence.place("YSTATS_DESC"), value)
    return made


def _wgrad(sequence: Sequence, handle: Handle) -> Composed:
    sequence.demand("XDATA", "DWDATA", "DYDATA")
    made = Composed(handle)
    image = _before(made, sequence)
    dw = made.graph.conv_wgrad(image, made.tensor("DYDATA", sequence.place("DYDESC")), **_geometry(sequence))
    made.result("DWDATA", sequence.place("DWDESC"), dw)
    return made


def _conv_add(sequence: Sequence, handle: Handle) -> Composed:
    sequence.demand("XDATA", "WDATA", "YDATA")
    made = Composed(handle)
    weight = made.tensor("WDATA", sequence.place("WDESC"))
    value = made.graph.conv_fprop(made.tensor("XDATA", sequence.place("XDESC")), weight, **_geometry(sequence))
    value = _scaled(made, sequence, value.set_data_type(made.type("FLOAT")))
    if sequence.has("ZDATA"):
        value = made.graph.add(value, made.tensor("ZDATA", sequence.place("ZDESC")))
    made.result("YDATA", sequence.place("YDESC"), _activated(made, sequence, made.graph.identity(value)))
    return made


def _finalize_training(sequence: Sequence, handle: Handle) -> Composed:
    sequence.demand("YSUM", "YSQSUM", "BN_SCALE", "BN_BIAS", "BN_EQSCALE", "BN_EQBIAS")
    made = Composed(handle)
    moments, parameters = sequence.place("YSTATS_DESC"), sequence.place("BN_SCALEBIAS_MEANVAR_DESC")
    sums = [made.tensor(name, moments) for name in ("YSUM", "YSQSUM")]
    scale, bias = (made.tensor(name, parameters) for name in ("BN_SCALE", "BN_BIAS"))
    epsilon, count = (
        made.number(f"SCALAR_{name}", 4) for name in ("DOUBLE_BN_EPSILON", "INT64_T_BN_ACCUMULATION_COUNT")
    )
    running: dict[str, Any] = {}
    if sequence.has("BN_RUNNING_MEAN") or sequence.has("BN_RUNNING_VAR"):
        sequence.demand("BN_RUNNING_MEAN", "BN_RUNNING_VAR")
        running["in_running_mean"] = made.tensor("BN_RUNNING_MEAN", parameters)
        running["in_running_var"] = made.tensor("BN_RUNNING_VAR", parameters)
        running["momentum"] = made.number("SCALAR_DOUBLE_BN_EXP_AVG_FACTOR", 4)
    moments_of = sums[0], sums[1], scale, bias, epsilon, count
    results = made.graph.bn_finalize(*moments_of, **running)
    names = (
        "BN_EQSCALE",
        "BN_EQBIAS",
        "BN_SAVED_MEAN",
        "BN_SAVED_INVSTD",
        "BN_RUNNING_MEAN_NEXT",
        "BN_RUNNING_VAR_NEXT",
    )
    for name, value in zip(names, results, strict=True):
        if value is not None and sequence.has(name.removesuffix("_NEXT")):
            place = sequence.place("BN_EQSCALEBIAS_DESC") if "EQ" in name else parameters
            made.result(name, place, value)
    return made


def _finalize_inference(sequence: Sequence, handle: Handle) -> Composed:
    names = ("BN_SCALE", "BN_BIAS", "BN_RUNNING_MEAN", "BN_RUNNING_VAR")
    sequence.demand(*names, "BN_EQSCALE", "BN_EQBIAS")
    made = Composed(handle)
    parameters, out = sequence.place("BN_SCALEBIAS_MEANVAR_DESC"), sequence.place("BN_EQSCALEBIAS_DESC")
    scale, bias, mean, variance = (made.tensor(name, parameters) for name in names)
    graph = made.graph
    inverse = graph.rsqrt(graph.add(variance, made.number("SCALAR_DOUBLE_BN_EPSILON", 4)))
    factor = graph.mul(scale, inverse)
    made.result("BN_EQSCALE", out, graph.identity(factor))
    made.result("BN_EQBIAS", out, graph.sub(bias, graph.mul(mean, factor)))
    return made


def _bits_of(sequence: Sequence, made: Composed) -> tuple[Any, tuple[int, ...], Stored]:
    """Return the weights of a byte's bits, the dims (n, h, w, c / 8, 8), and the layout of the image."""
    place = sequence.place("XDESC")
    n, c, h, w = place.dims
    if c % 8 or place.steps[1] != 1:
        raise NotSupported(argument="XDESC", expected="NHWC with channels in eights", got=place.dims)
    bits = made.laid_out("BITS", "UINT8", (1, 1, 1, 1, 8), (8, 8, 8, 8, 1))
    return bits, (n, h, w, c // 8, 8), place


def _turned(place: Stored) -> tuple[int, ...]:
    """Return an image's strides as (n, h, w, c / 8, 8)."""
    n, c, h, w = place.steps
    return (n, h, w, 8 * c, c)


def _mask_steps(dims: tuple[int, ...]) -> tuple[int, ...]:
    _, h, w, c, _ = dims
    return (h * w * c, w * c, c, 1, 1)


def _gen_bitmask(sequence: Sequence, handle: Handle) -> Composed:
    sequence.demand("XDATA", "YDATA", "ACTIVATION_BITMASK")
    made = Composed(handle)
    bits, dims, place = _bits_of(sequence, made)
    per_channel = (1, 1, 1, *dims[3:])

    def of_channels(name: str) -> Any:
        desc = "BN_Z_EQSCALEBIAS_DESC" if "_Z_" in name else "BN_EQSCALEBIAS_DESC"
        kind, c = sequence.place(desc), place.dims[1]
        return made.laid_out(name, kind.type, per_channel, (c, c, c, 8 * kind.steps[1], kind.steps[1]))

    def affine(value: Any, prefix: str) -> Any:
        if sequence.has(f"{prefix}EQSCALE"):
            value = made.graph.mul(value, of_channels(f"{prefix}EQSCALE"))
        return made.graph.add(value, of_channels(f"{prefix}EQBIAS")) if sequence.has(f"{prefix}EQBIAS") else value

    total = affine(made.laid_out("XDATA", place.type, dims, _turned(place)), "BN_")
    if sequence.has("ZDATA"):
        z = sequence.place("ZDESC")
        total = made.graph.add(total, affine(made.laid_out("ZDATA", z.type, dims, _turned(z)), "BN_Z_"))
    y = sequence.place("YDESC")
    made.stored("YDATA", made.type(y.type), dims, _turned(y), _activated(made, sequence, made.graph.identity(total)))
    from ...graph import reduction_mode

    positive = made.graph.cmp_gt(total, 0.0).set_data_type(made.type("FLOAT"))
    packed = made.graph.reduction(made.graph.mul(positive, bits), mode=reduction_mode.ADD)
    made.stored("ACTIVATION_BITMASK", made.type("UINT8"), (*dims[:4], 1), _mask_steps(dims), packed)
    return made


def _dbatchnorm(sequence: Sequence, handle: Handle) -> Composed:
    sequence.demand("XDATA", "DYDATA", "DXDATA", "BN_SCALE", "BN_SAVED_MEAN", "BN_SAVED_INVSTD", "ACTIVATION_BITMASK")
    sequence.demand("BN_DSCALE", "BN_DBIAS")
    made = Composed(handle)
    bits, dims, place = _bits_of(sequence, made)
    graph, dy = made.graph, sequence.place("DYDESC")
    mask = made.laid_out("ACTIVATION_BITMASK", "UINT8", (*dims[:4], 1), _mask_steps(dims))
    bit = graph.mod(graph.floor(graph.div(mask, bits)), 2.0)
    dz = graph.mul(made.laid_out("DYDATA", dy.type, dims, _turned(dy)), bit)
    from ...graph import reshape_mode

    n, c, h, w = place.dims
    rows = graph.reshape(dz, reshape_mode=reshape_mode.LOGICAL)
    rows = rows.set_dim([n * h * w, c, 1, 1]).set_stride([c, 1, 1, 1]).set_data_type(made.type("FLOAT"))
    if sequence.has("DZDATA"):
        out = sequence.place("DZDESC")
        made.stored("DZDATA", made.type(out.type), (n * h * w, c, 1, 1), _rows(out), graph.identity(rows))
    parameters = sequence.place("BN_SCALEBIAS_MEANVAR_DESC")
    image = made.laid_out("XDATA", place.type, (n * h * w, c, 1, 1), _rows(place))
    scale, mean, inverse = (made.tensor(one, parameters) for one in ("BN_SCALE", "BN_SAVED_MEAN", "BN_SAVED_INVSTD"))
    dx, dscale, dbias = graph.batchnorm_backward(rows, image, scale, mean, inverse)
    out = sequence.place("DXDESC")
    made.stored("DXDATA", made.type(out.type), (n * h * w, c, 1, 1), _rows(out), dx)
    made.result("BN_DSCALE", parameters, dscale)
    made.result("BN_DBIAS", parameters, dbias)
    return made


def _rows(place: Stored) -> tuple[int, ...]:
    """Return the strides of an image as a row of channels for each pixel; it must be NHWC without gaps."""
    c = place.dims[1]
    n, one, h, w = place.steps
    if (one, w, h, n) != (1, c, c * place.dims[3], c * place.dims[3] * place.dims[2]):
        raise NotSupported(argument="XDESC", expected="NHWC without gaps", got=place.steps)
    return (c, 1, 1, 1)


_BUILDERS = (
    _conv_bnstats,
    _wgrad,
    _finalize_training,
    _finalize_inference,
    _conv_add,
    _gen_bitmask,
    _dbatchnorm,
)
