"""Problems of activation, softmax and dropout."""

from __future__ import annotations

from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors
from ...drawing.sizes import NAN, RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices
from ...enums import ActivationMode, SoftmaxAlgorithm, SoftmaxMode
from .legacy import family

_STRATA = {"dtype": TYPES, "layout": CLASSES}
_TURNS = {"size": SIZES, "rank": RANKS}


def parameters(draws: Draws, mode: ActivationMode) -> str:
    """Return the numbers of an activation, as a problem line has them."""
    if mode is ActivationMode.CLIPPED_RELU:
        return f" ceiling={draws.choice((0.5, 1.0, 2.0, 6.0, 0.0))}"
    if mode in (ActivationMode.ELU, ActivationMode.SWISH):
        return f" coef={draws.choice((1.0, 0.5, 1.75))}"
    return ""


@family(
    "activation_forward",
    "activation_backward",
    crossed={**_STRATA, "mode": tuple(ActivationMode)},
    turns={**_TURNS, "nan": NAN},
)
def _activation(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    mode = choices["mode"]
    rest = f"mode={mode.name.lower()}{parameters(draws, mode)}{choices['nan']}"
    if op == "activation_forward":
        return f"{op} x={tensors.text(dims)} y={tensors.text(dims, written=True)} {rest}"
    y, x = tensors.choose(), tensors.choose(written=True)
    y, x = tensors.text(dims, y), tensors.text(dims, x)
    return f"{op} y={y} dy={y} x={x} dx={x} {rest}"


@family(
    "softmax_forward",
    "softmax_backward",
    crossed={**_STRATA, "algorithm": tuple(SoftmaxAlgorithm), "mode": tuple(SoftmaxMode)},
    turns={**_TURNS, "size": (*SIZES, "endless", "endless")},
)
def _softmax(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    if choices["size"] == "endless":  # rows that are read in several blocks
        many, axes = draws.integers(8200, 12_500), choices["rank"] - 2
        channel = choices["mode"] is SoftmaxMode.CHANNEL
        dims = (draws.integers(1, 3), many, *(1,) * axes) if channel else (1, 2, *(1,) * (axes - 1), many // 2)
    elif choices["mode"] is SoftmaxMode.CHANNEL and choices["size"] in ("one", "channel 1", "point"):
        dims = (dims[0], draws.integers(2, 40), *dims[2:])  # of one number there is nothing to compare
    elif choices["size"] == "one":
        dims = (*dims[:-1], draws.integers(2, 9))
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    rest = f"algorithm={choices['algorithm'].name.lower()} mode={choices['mode'].name.lower()}"
    if op == "softmax_forward":
        return f"{op} x={tensors.text(dims)} y={tensors.text(dims, written=True)} {rest}"
    y = tensors.text(dims)
    return f"{op} y={y} dy={y} dx={tensors.text(dims, written=True)} {rest}"


_SHARES = (0.5, 0.25, 0.125, 0.9, 0.5, 0.0, 0.75, 0.1)


@family("dropout_forward", "dropout_backward", crossed=_STRATA, turns={**_TURNS, "dropout": _SHARES})
def _dropout(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    first, last = ("x", "y") if op == "dropout_forward" else ("dy", "dx")
    dropout = 1.0 if draws.one_in(100) else choices["dropout"]
    return f"{op} {first}={tensors.text(dims)} {last}={tensors.text(dims, written=True)} dropout={dropout}"


@family("set_dropout_descriptor", crossed={}, turns={"seed": (1, 2**32, 2**64 - 1, 5, 2**31)})
def _states(draws: Draws, choices: Choices, op: str) -> str:
    return f"{op} seed={0 if draws.one_in(50) else draws.choice((choices['seed'], draws.integers(2**63)))}"
