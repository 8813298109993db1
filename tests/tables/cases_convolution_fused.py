"""Cases of convolution with bias and activation in one call."""

from __future__ import annotations

import itertools

from cases import FLOAT, HALF, LAYOUTS, TYPES, Turns, tensor
from cases_convolution import CONVOLUTIONS, EMPTY_CONVOLUTIONS, convolution
from helper import Case

ACTIVATIONS = (
    "activation=relu",
    "activation=tanh",
    "activation=clipped_relu ceiling=0.75",
    "activation=sigmoid",
    "activation=identity",
    "activation=elu coef=0.5",
    "activation=swish coef=1.5",
    "activation=relu nan_propagation=propagate_nan",
    "activation=clipped_relu ceiling=1.5 nan_propagation=propagate_nan",
)
NUMBERS = ("alpha1=1 alpha2=0", "alpha1=0.5 alpha2=1", "alpha1=-1.25 alpha2=-0.5", "alpha1=1 alpha2=1", "alpha2=2")
INTEGER = "activation=clipped_relu ceiling=9 alpha1=2 alpha2=-1"
IN_PLACE = ("y", "z")


def fused(geometry, dtype, layout, rest, others=None, bias="nchw"):
    """Return the line of a fused convolution; `others` is the layout of z."""
    line = convolution("forward", geometry, dtype, layout, rest).replace("_forward", "_bias_activation_forward", 1)
    words = dict(word.split("=") for word in line.split()[1:])
    dims = tuple(
        map(int, words["y"].partition(":")[2].partition("/")[0].partition(":")[0].partition("@")[0].split("x"))
    )
    others = f" z={tensor(dtype, dims, others)}" if others else ""
    return f"{line}{others} bias={tensor(dtype, (1, dims[1], *[1] * (len(dims) - 2)), bias)}"


def _cases():
    turn, activations, numbers = Turns(), itertools.cycle(ACTIVATIONS), itertools.cycle(NUMBERS)
    for number, geometry in enumerate(CONVOLUTIONS):
        dtype, layout, _ = turn()
        rest, bias = f"{next(activations)} {next(numbers)}", "reversed" if number % 3 else "nchw"
        yield Case(fused(geometry, dtype, layout, rest, bias=bias), everywhere=number % 2 == 0)
        yield Case(fused(geometry, dtype, layout, INTEGER), "integer", alias=IN_PLACE, everywhere=number % 2 == 1)
    for geometry in EMPTY_CONVOLUTIONS:
        yield Case(fused(geometry, FLOAT, "nchw", "activation=sigmoid alpha2=1"))
    geometry = ((2, 8, 6, 5), 8, (3, 3), "padding=1,1 stride=1,2")
    for number, layout in enumerate(LAYOUTS):
        dtype, others, _ = turn("layouts")
        rest = f"{next(activations)} {next(numbers)}"
        yield Case(fused(geometry, dtype, layout, rest, others), everywhere=number % 3 == 0)
    many = ((2, 8, 4, 8), 32, (1, 1), "")  # whole vectors of pixels and of channels
    for layout, dtype in itertools.product(("nchw", "nhwc"), TYPES):
        yield Case(fused(many, dtype, layout, f"{next(activations)} alpha2=1"), alias=IN_PLACE)
    yield Case(fused(many, FLOAT, "nhwc", INTEGER, "shifted"), "integer")
    yield Case(fused(many, HALF, "nchw", INTEGER, "shifted"), "integer")


FUSED_CASES = tuple(_cases())
