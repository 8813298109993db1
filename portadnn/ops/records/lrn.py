"""Records of local response normalisation across channels."""

from __future__ import annotations

from typing import Any

from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors
from ...drawing.sizes import RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...errors import NotSupported
from ...miopen_driver import form
from ...operation import BAD, UNSUPPORTED, CCall, Data, Features, Operation, Wrong, forward_call
from ..lrn import (
    LRNCrossChannelBackward,
    LRNCrossChannelForward,
    lrn_cross_channel_backward,
    lrn_cross_channel_forward,
)

NUMBERS = (
    "",
    " lrn_alpha=1.0 lrn_beta=0.5 lrn_k=1.0",
    " lrn_alpha=0.5 lrn_beta=0.6",
    " lrn_alpha=2.0 lrn_beta=1.0 lrn_k=0.5",
    " lrn_alpha=0.1",
)
MORE = {"lrn_n": (5, 4), **plain.BLENDED}
WRONG = ("lrn_n=17", "lrn_n=0", "lrn_k=9.9e-6", "lrn_beta=0.0099", "lrn_k=0.0")
DATA = Data(unsettled=(("*", ("huge",), "squares overflow"),))


def _lrn(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    rest = f"lrn_n={choices['n']}{choices['numbers']}"
    if op.endswith("forward"):
        return f"{op} x={tensors.text(dims)} y={tensors.text(dims, written=True)} {rest}"
    inputs = " ".join(f"{name}={tensors.text(dims)}" for name in ("y", "dy", "x"))
    return f"{op} {inputs} dx={tensors.text(dims, written=True)} {rest}"


_DRAWING = Drawing(
    _lrn,
    crossed={"dtype": TYPES, "layout": CLASSES},
    turns={"size": SIZES, "rank": RANKS, "n": (5, 4, 1, 2, 3, 16, 7), "numbers": NUMBERS},
)


def _write(problem: Any, numbers: form.Numbers) -> str:
    options = {
        **form.image_options(problem.x),
        "m": "cross",
        "N": problem.lrn_n,
        "A": problem.lrn_alpha,
        "B": problem.lrn_beta,
    }
    return f"{form.first_word('lrn', problem.x)} {form.written(**options, K=problem.lrn_k, F=form.direction(problem))}"


def _read(options: form.Options, t: str) -> list[str]:
    if options.get("m", "cross") != "cross":
        raise NotSupported(argument="-m", expected="cross", got=options["m"])
    numbers = {"lrn_n": "N", "lrn_alpha": "A", "lrn_beta": "B", "lrn_k": "K"}
    rest = " ".join(f"{name}={options[letter]}" for name, letter in numbers.items() if letter in options)
    names = form.directions(options, {1: "forward", 2: "backward"})
    return [f"lrn_cross_channel_{name} x={form.tensor_text(t, form.image_dims(options))} {rest}" for name in names]


_DRIVER = form.Driver("lrn", _write, _read)


_SETTINGS = {
    "lrn_n": "normDesc.lrnN",
    "lrn_alpha": "normDesc.lrnAlpha",
    "lrn_beta": "normDesc.lrnBeta",
    "lrn_k": "normDesc.lrnK",
}

RECORDS = (
    Operation(
        LRNCrossChannelForward,
        lrn_cross_channel_forward,
        _DRAWING,
        Features(plain.images("x", "|", "y"), {"lrn_n": 5}, more=MORE),
        Wrong(
            "4.91",
            "x={t}:2x3x4x5 y={t}:2x3x4x5",
            {BAD: (*WRONG, "in_place=y:x"), UNSUPPORTED: ("y={t}:2x3x4x6", "y={o}:2x3x4x5")},
        ),
        DATA,
        driver=_DRIVER,
        c_calls=(CCall("cudnnLRNCrossChannelForward", "x y", _SETTINGS),),
        benchmarks=("x={t} lrn_n=5",),
    ),
    Operation(
        LRNCrossChannelBackward,
        lrn_cross_channel_backward,
        _DRAWING,
        Features(plain.images("y", "dy", "|", "x", "dx"), {"lrn_n": 5}, more=MORE),
        Wrong(
            "4.92",
            "y={t}:2x3x4x5 dy={t}:2x3x4x5 x={t}:2x3x4x5 dx={t}:2x3x4x5",
            {BAD: (*WRONG, "in_place=dx:x"), UNSUPPORTED: ("dy={t}:2x3x4x6", "dx={o}:2x3x4x5", "x={t}:2x4x4x5")},
        ),
        DATA,
        driver=_DRIVER,
        c_calls=(CCall("cudnnLRNCrossChannelBackward", "y dy x dx", _SETTINGS),),
        benchmarks=("x={t} lrn_n=5",),
        before=forward_call(LRNCrossChannelForward),
    ),
)
