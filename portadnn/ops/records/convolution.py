"""Records of convolutions."""

from __future__ import annotations

from typing import Any

from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.geometries import SHAPES, Geometry, shape_of
from ...drawing.layouts import CLASSES, STRIDED, Tensors, any_layout, tensor
from ...drawing.sizes import EMPTY_ONE_IN, NAN, RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...enums import ActivationMode, ConvolutionMode, DataType
from ...miopen_driver.convolution import CONVOLUTION
from ...miopen_driver.convolution import FUSED as FUSED_DRIVER
from ...operation import BAD, UNSUPPORTED, CCall, Data, Features, Operation, Wrong
from ...problem import PROBLEMS
from ...shapes import window_output
from ..convolution.calls import (
    ConvolutionBackwardBias,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
    convolution_backward_bias,
    convolution_backward_data,
    convolution_backward_filter,
    convolution_forward,
)
from ..convolution.fused import ConvolutionBiasActivationForward, convolution_bias_activation_forward
from .activation import EXACT, UNSETTLED, implied, parameters

FUSED = "bias_activation_forward"
ROLES = {  # names of image, filter and result
    "forward": ("x", "w", "y"),
    "backward_data": ("dx", "w", "dy"),
    "backward_filter": ("x", "dw", "dy"),
    FUSED: ("x", "w", "y"),
}
STORAGES = (*((dtype, None) for dtype in TYPES), (DataType.FLOAT, "tf32"))  # type and permitted math
MOST_WORK = 150_000  # multiplications of a case

_WRONG = (
    "stride=0,1",
    "dilation=1,0",
    "padding=1",
    "stride=1,1,1",
    "groups=2",
    "groups=0",
    "padding=0,0",  # the result is then smaller
)


def line_of(
    draws: Draws, direction: str, g: Geometry, dtype: DataType, layout: str, math: str | None, activation: str = ""
) -> str:
    """Return the problem line of a geometry, with layouts drawn for its tensors.

    Parameters
    ----------
    direction
        One of `ROLES`.
    layout : {"nchw", "nhwc", "strided", "shifted", "mixed"}
        With all but "mixed" every tensor has this one but for now and then an odd address.
    math
        Such as ``"tf32"``; None leaves it out.
    activation
        The activation's words, of the fused direction.
    """
    x, w, y = ROLES[direction]
    dims = {x: g.image, w: g.filter, y: g.result}
    if direction == FUSED:
        dims |= {"z": dims[y], "bias": (1, dims[y][1], *(1 for _ in g.size))}
    words = [f"convolution_{direction}"]
    order = PROBLEMS[words[0]].tensor_names()
    strided = draws.choice(STRIDED)
    for name in order:
        chosen = strided if layout == "strided" else layout
        if layout == "mixed":
            chosen = any_layout(draws, name == order[-1])
        elif draws.one_in(8):
            chosen = "shifted"
        words.append(f"{name}={tensor(dtype, dims[name], chosen)}")
    for name, values in (("padding", g.padding), ("stride", g.stride), ("dilation", g.dilation)):
        words.append(f"{name}={','.join(map(str, values))}")
    if g.groups > 1:
        words.append(f"groups={g.groups}")
    if g.flipped:
        words.append("mode=convolution")
    if math is None and draws.one_in(12):
        math = "fma"
    if math is not None:
        words.append(f"math={math}")
    return " ".join([*words, activation] if activation else words)


def _layout(choices: Choices) -> str:
    """Return the class of layouts: channels that are to lie side by side do, but for a few."""
    return "nhwc" if choices["shape"] == "side by side" and choices["layout"] != "strided" else str(choices["layout"])


def _geometry(draws: Draws, choices: Choices) -> Geometry:
    return shape_of(draws, "empty" if draws.one_in(EMPTY_ONE_IN) else choices["shape"], MOST_WORK)


def _convolution(draws: Draws, choices: Choices, op: str) -> str:
    dtype, math = choices["storage"]
    g = _geometry(draws, choices)
    line = line_of(draws, op.removeprefix("convolution_"), g, dtype, _layout(choices), math)
    line = line.replace(" mode=convolution", "")
    return f"{line} mode={choices['mode'].name.lower()}"


def _fused(draws: Draws, choices: Choices, op: str) -> str:
    dtype, math = choices["storage"]
    mode = choices["activation"]
    rest = f"activation={mode.name.lower()}{parameters(draws, mode)}{choices['nan']}"
    return line_of(draws, FUSED, _geometry(draws, choices), dtype, _layout(choices), math, rest)


def _bias_gradient(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices, empty=False)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    db = (1, dims[1], *(1 for _ in dims[2:]))
    return f"{op} dy={tensors.text(dims)} db={tensors.text(db, written=True)}"


_STRATA = {"storage": STORAGES, "layout": CLASSES}
_SHAPES = tuple(name for name in SHAPES if name != "empty")
_DRAWING = Drawing(_convolution, {**_STRATA, "mode": tuple(ConvolutionMode)}, {"shape": _SHAPES})

_FILTERS = {"3": (3, 3, 3, 3), "1": (1, 1, 1, 1), "5": (5, 5, 5, 5), "65": (65, 65, 1, 1)}

_MORE: dict[str, tuple[Any, ...]] = {
    "stride": ("1", "2"),
    "dilation": ("1", "2"),
    "filter": ("3", "1", "5", "65"),
    "groups": (1, 2, 8),
    "image": ("small", "large"),
}


def _tensors(c: Choices, output: str) -> dict[str, str]:
    layout_in, layout_out = plain.layouts_of(c)
    rank = c.get("rank", 4)
    spatial = rank - 2
    image = (
        plain.large_dims(c)
        if c.get("size") == "large"
        else (plain.dims_of(c)[0], 8, *(11, 9, 10, 8, 3, 3, 3)[:spatial])
    )
    taps = _FILTERS[c.get("filter", "3")][:spatial]
    if c.get("filter") == "65":
        image = (1, 8, *(130, 129, 1, 1)[:spatial])
    if c.get("image") == "large":
        image = (*image[:2], *(300,) * min(spatial, 2), *(3,) * (spatial - 2))
    groups = c.get("groups", 1)
    filters = 16 if groups == 8 else 6
    pads, steps, holes = (tuple(c.get(k, (d,) * spatial)) for k, d in (("padding", 0), ("stride", 1), ("dilation", 1)))
    axes = zip(image[2:], taps, pads, steps, holes, strict=True)
    out = tuple(max(window_output(*axis), 0) for axis in axes)
    t = c["dtype"]
    dims = {"image": image, "filter": (filters, 8 // groups, *taps), "result": (image[0], filters, *out)}
    layouts = {role: layout_out if role == output else layout_in for role in dims}
    if c.get("layout") == "repeated":  # there is no n in a filter
        layouts["filter"] = "nchw"
    return {role: plain.text(t, dims[role], layouts[role]) for role in dims}


def _plain(image: str, filter: str, result: str) -> plain.Describe:
    """Describe a convolution by the names of its tensors, that of the output with a star."""
    names = {"image": image.strip("*"), "filter": filter.strip("*"), "result": result.strip("*")}
    stars = {"image": image, "filter": filter, "result": result}
    output = next(role for role, name in stars.items() if name.endswith("*"))
    return lambda c: {names[role]: text for role, text in _tensors(c, output).items()}


def _plain_bias(c: Choices) -> dict[str, str]:
    return {"dy": plain.text(c["dtype"], plain.dims_of(c), plain.layouts_of(c)[0])}


def _one_off(x: str, w: str, *results: str) -> tuple[str, ...]:
    """Return changes by which a filter is one larger than the padded image, or channels are one too many or too few."""

    def change(image: str, filters: str, result: str, rest: str = "") -> str:
        words = {x: image, w: filters, **dict.fromkeys(results, result)}
        return " ".join((*(f"{name}={{t}}:{dims}" for name, dims in words.items()), rest)).strip()

    return (
        change("2x3x8x7", "4x3x11x3", "2x4x0x7"),
        change("2x3x8x7", "4x4x3x3", "2x4x8x7"),
        change("2x3x8x7", "4x2x3x3", "2x4x8x7"),
        change("2x3x8x7", "4x3x3x10", "2x4x8x0"),
        change("2x6x8x7", "4x2x3x3", "2x4x8x7", "groups=3"),
        change("2x5x8x7", "4x2x3x3", "2x4x8x7", "groups=2"),
        change("2x3x8x7", "4x3x3x3", "2x4x0x7", "dilation=5,1"),
    )


def _exact_activation(problem: Any) -> bool:
    return problem.activation in EXACT


_SETTINGS = {
    "padding": "convDesc.padA",
    "stride": "convDesc.filterStrideA",
    "dilation": "convDesc.dilationA",
    "groups": "convDesc.groupCount",
    "mode": "convDesc.mode",
    "math": "convDesc.mathType",
}
_OF_MIOPEN = {**{name: field for name, field in _SETTINGS.items() if name != "math"}, "stride": "convDesc.strideA"}


RECORDS = (
    Operation(
        ConvolutionForward,
        convolution_forward,
        _DRAWING,
        Features(_plain("x", "w", "y*"), ranks=plain.WINDOW_RANKS, more={**_MORE, **plain.BLENDED}),
        Wrong(
            "4.43",
            "x={t}:2x3x8x7 w={t}:4x3x3x3 y={t}:2x4x8x7 padding=1,1",
            {
                BAD: (
                    *_one_off("x", "w", "y"),
                    "w={o}:4x3x3x3",
                    "y={t}:2x4x8x8",
                    "y={t}:2x5x8x7",
                    "y={t}:1x4x8x7",
                    "y={o}:2x4x8x7",
                    "w={t}:4x3x3",
                    *_WRONG,
                ),
                UNSUPPORTED: (
                    "compute_type={wrong}",
                    "x={t}:2x3x8x7x1x1 w={t}:4x3x3x3x1x1 y={t}:2x4x8x7x1x1 padding=1,1,0,0",
                    "x={t}:2x3x8 w={t}:4x3x3 y={t}:2x4x8 padding=1",
                ),
            },
        ),
        Data(exact=True, special=("x", "y")),
        driver=CONVOLUTION,
        c_calls=(
            CCall("cudnnConvolutionForward", "x w y", _SETTINGS),
            CCall("miopenConvolutionForward", "x w y", _OF_MIOPEN),
        ),
    ),
    Operation(
        ConvolutionBackwardData,
        convolution_backward_data,
        _DRAWING,
        Features(_plain("dx*", "w", "dy"), ranks=plain.WINDOW_RANKS, more={**_MORE, **plain.BLENDED}),
        Wrong(
            "4.58",
            "w={t}:4x3x3x3 dy={t}:2x4x8x7 dx={t}:2x3x8x7 padding=1,1",
            {
                BAD: (
                    *_one_off("dx", "w", "dy"),
                    "dy={o}:2x4x8x7",
                    "dx={t}:2x3x8x8",
                    "dx={t}:2x2x8x7",
                    "dy={t}:3x4x8x7",
                    *_WRONG,
                ),
                UNSUPPORTED: ("compute_type={wrong}",),
            },
        ),
        Data(exact=True, special=("dy", "dx")),
        driver=CONVOLUTION,
        c_calls=(
            CCall("cudnnConvolutionBackwardData", "w dy dx", _SETTINGS),
            CCall("miopenConvolutionBackwardData", "w dy dx", _OF_MIOPEN),
        ),
    ),
    Operation(
        ConvolutionBackwardFilter,
        convolution_backward_filter,
        _DRAWING,
        Features(_plain("x", "dw*", "dy"), ranks=plain.WINDOW_RANKS, more={**_MORE, **plain.BLENDED}),
        Wrong(
            "4.52",
            "x={t}:2x3x8x7 dy={t}:2x4x8x7 dw={t}:4x3x3x3 padding=1,1",
            {
                BAD: (
                    *_one_off("x", "dw", "dy"),
                    "dw={t}:4x3x3x2",
                    "dw={t}:5x3x3x3",
                    "dw={o}:4x3x3x3",
                    "dy={t}:2x4x7x7",
                    "x={t}:2x4x8x7",
                    *_WRONG,
                ),
                UNSUPPORTED: ("compute_type={wrong}",),
            },
        ),
        Data(exact=True, special=("x", "dw")),
        driver=CONVOLUTION,
        c_calls=(
            CCall("cudnnConvolutionBackwardFilter", "x dy dw", _SETTINGS),
            CCall("miopenConvolutionBackwardWeights", "x dy dw", _OF_MIOPEN),
        ),
    ),
    Operation(
        ConvolutionBackwardBias,
        convolution_backward_bias,
        Drawing(_bias_gradient, {"dtype": TYPES, "layout": CLASSES}, {"size": SIZES, "rank": RANKS}),
        Features(_plain_bias, layouts=plain.NO_OUTPUT, more=plain.BLENDED),
        Wrong(
            "4.47",
            "dy={t}:2x4x8x7 db={t}:1x4x1x1",
            {
                BAD: (
                    "db={t}:1x3x1x1",
                    "db={t}:1x5x1x1",
                    "db={t}:2x4x1x1",
                    "db={o}:1x4x1x1",
                    "db={t}:1x4x1",
                    "db={t}:1x4x8x7",
                )
            },
        ),
        Data(exact=True),
        c_calls=(
            CCall("cudnnConvolutionBackwardBias", "dy db"),
            CCall("miopenConvolutionBackwardBias", "dy db"),
        ),
        benchmarks=("dy={t}",),
    ),
    Operation(
        ConvolutionBiasActivationForward,
        convolution_bias_activation_forward,
        Drawing(_fused, {**_STRATA, "activation": tuple(ActivationMode)}, {"shape": _SHAPES, "nan": NAN}),
        Features(
            _plain("x", "w", "y*"),
            {"activation": "relu"},
            ranks=plain.WINDOW_RANKS,
            more={**_MORE, "alpha1": (1, 2), "alpha2": (0, 1)},
            implied=implied,
        ),
        Wrong(
            "8.0, cudnnConvolutionBiasActivationForward",
            "x={t}:2x3x8x7 w={t}:4x3x3x3 z={t}:2x4x8x7 bias={t}:1x4x1x1 y={t}:2x4x8x7 padding=1,1 activation=relu",
            {
                BAD: (
                    *_one_off("x", "w", "z", "y"),
                    "z={t}:2x4x8x8",
                    "z={o}:2x4x8x7",
                    "bias={t}:1x3x1x1",
                    "bias={o}:1x4x1x1",
                    "activation=clipped_relu ceiling=nan",
                    "activation=elu coef=nan",
                    *_WRONG,
                ),
                UNSUPPORTED: ("compute_type={wrong}",),
            },
        ),
        Data((UNSETTLED,), _exact_activation, special=("x", "z", "bias", "y")),
        driver=FUSED_DRIVER,
        c_calls=(
            CCall(
                "cudnnConvolutionBiasActivationForward",
                "x w y",
                {**_SETTINGS, "activation": "activationDesc.mode"},
                ("mode", "activation"),
            ),
        ),
    ),
)
