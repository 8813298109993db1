"""Problems of convolutions, plain and with bias and activation."""

from __future__ import annotations

from ...drawing.draws import Draws
from ...drawing.geometries import SHAPES, Geometry, shape_of
from ...drawing.layouts import CLASSES, STRIDED, any_layout, tensor
from ...drawing.sizes import EMPTY_ONE_IN, NAN
from ...drawing.strata import TYPES, Choices
from ...enums import ActivationMode, ConvolutionMode, DataType
from ...problem import PROBLEMS
from .elementwise import parameters
from .legacy import family

FUSED = "bias_activation_forward"
ROLES = {  # names of image, filter and result
    "forward": ("x", "w", "y"),
    "backward_data": ("dx", "w", "dy"),
    "backward_filter": ("x", "dw", "dy"),
    FUSED: ("x", "w", "y"),
}
STORAGES = (*((dtype, None) for dtype in TYPES), (DataType.FLOAT, "tf32"))  # type and permitted math
MOST_WORK = 150_000  # multiplications of a case


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


_STRATA = {"storage": STORAGES, "layout": CLASSES}
_SHAPES = tuple(name for name in SHAPES if name != "empty")


def _layout(choices: Choices) -> str:
    """Return the class of layouts: channels that are to lie side by side do, but for a few."""
    return "nhwc" if choices["shape"] == "side by side" and choices["layout"] != "strided" else str(choices["layout"])


def _geometry(draws: Draws, choices: Choices) -> Geometry:
    return shape_of(draws, "empty" if draws.one_in(EMPTY_ONE_IN) else choices["shape"], MOST_WORK)


@family(
    "convolution_forward",
    "convolution_backward_data",
    "convolution_backward_filter",
    crossed={**_STRATA, "mode": tuple(ConvolutionMode)},
    turns={"shape": _SHAPES},
)
def _convolution(draws: Draws, choices: Choices, op: str) -> str:
    dtype, math = choices["storage"]
    g = _geometry(draws, choices)
    line = line_of(draws, op.removeprefix("convolution_"), g, dtype, _layout(choices), math)
    line = line.replace(" mode=convolution", "")
    return f"{line} mode={choices['mode'].name.lower()}"


@family(
    "convolution_bias_activation_forward",
    crossed={**_STRATA, "activation": tuple(ActivationMode)},
    turns={"shape": _SHAPES, "nan": NAN},
)
def _fused(draws: Draws, choices: Choices, op: str) -> str:
    dtype, math = choices["storage"]
    mode = choices["activation"]
    rest = f"activation={mode.name.lower()}{parameters(draws, mode)}{choices['nan']}"
    return line_of(draws, FUSED, _geometry(draws, choices), dtype, _layout(choices), math, rest)
