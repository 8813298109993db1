"""Records of dropout."""

from __future__ import annotations

from typing import Any

from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors
from ...drawing.sizes import RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...miopen_driver import form
from ...operation import BAD, Before, Data, Features, Filling, Operation, Wrong, counterpart
from ...specs import TensorSpec
from ..dropout import (
    STATES_SIZE,
    DropoutBackward,
    DropoutForward,
    SetDropoutDescriptor,
    dropout_backward,
    dropout_forward,
    set_dropout_descriptor,
)

_SHARES = (0.5, 0.25, 0.125, 0.9, 0.5, 0.0, 0.75, 0.1)


def _dropout(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    first, last = ("x", "y") if op == "dropout_forward" else ("dy", "dx")
    dropout = 1.0 if draws.one_in(100) else choices["dropout"]
    return f"{op} {first}={tensors.text(dims)} {last}={tensors.text(dims, written=True)} dropout={dropout}"


def _states(draws: Draws, choices: Choices, op: str) -> str:
    return f"{op} seed={0 if draws.one_in(50) else draws.choice((choices['seed'], draws.integers(2**63)))}"


def _seed(filling: Filling) -> None:
    """Keep a random seed, and let a draw's low word be about to pass 32 bits and no work-group be through."""
    states = filling.arrays["states"]
    states[8:12] = 255
    states[16:32] = 0


_DRAWING = Drawing(
    _dropout, crossed={"dtype": TYPES, "layout": CLASSES}, turns={"size": SIZES, "rank": RANKS, "dropout": _SHARES}
)


def _read_line(options: form.Options, t: str) -> list[str]:
    """Read the options of driver/dropout_driver.hpp; seeds are the data's."""
    dims = form.numbers_of(options.get("d", "4"))
    x, share = form.tensor_text(t, form.wide(dims)), float(options.get("p", "0.5"))
    names = {"forward": "x", "backward": "dy"}
    ways = form.directions(options, {1: "forward", 2: "backward"})
    return [f"dropout_{way} {names[way]}={x} dropout={share}" for way in ways]


def _write(problem: Any, numbers: form.Numbers) -> str:
    spec = problem.x if problem.op == "dropout_forward" else problem.dy
    if len(spec.dims) > 5:
        raise form.NoLine(f"{len(spec.dims)} dims")
    options = {"F": form.direction(problem), "d": ",".join(map(str, spec.dims)), "p": problem.dropout}
    return f"{form.first_word('dropout', spec)} {form.written(**options)}"


_DRIVER = form.Driver("dropout", _write, _read_line, letters={"forw": "F", "input_dim": "d", "dropout": "p"})


def _before(problem: Any) -> Before:
    states = TensorSpec.packed(problem.reserve_space.dtype, (STATES_SIZE,))
    yield counterpart(DropoutForward, problem, {"x": "dy", "y": "dx"}, states=states)


RECORDS = (
    Operation(
        DropoutForward,
        dropout_forward,
        _DRAWING,
        Features(plain.images("x", "|", "y"), {"dropout": 0.5}),
        Wrong(
            "4.116",
            "x={t}:2x3x4x5 y={t}:2x3x4x5 reserve_space=u8:16 states=u8:32 dropout=0.5",
            {
                BAD: (
                    "reserve_space=<",
                    "states=<",
                    "y={t}:2x3x4x6",
                    "y={o}:2x3x4x5",
                    "reserve_space=u8:12",
                    "dropout=1.001",
                    "dropout=-0.001",
                )
            },
        ),
        Data(fit=_seed),
        driver=_DRIVER,
        benchmarks=("x={t} dropout=0.5",),
    ),
    Operation(
        DropoutBackward,
        dropout_backward,
        _DRAWING,
        Features(plain.images("dy", "|", "dx"), {"dropout": 0.5}),
        Wrong(
            "4.117",
            "dy={t}:2x3x4x5 reserve_space=u8:16 dx={t}:2x3x4x5 dropout=0.5",
            {
                BAD: (
                    "reserve_space=<",
                    "dx={t}:2x3x4x6",
                    "dx={o}:2x3x4x5",
                    "dropout=1.001",
                    "reserve_space=u8:12",
                    "reserve_space=f32:4x1x1",
                )
            },
        ),
        driver=_DRIVER,
        benchmarks=("dy={t} dropout=0.5",),
        before=_before,
    ),
    Operation(
        SetDropoutDescriptor,
        set_dropout_descriptor,
        Drawing(_states, crossed={}, turns={"seed": (1, 2**32, 2**64 - 1, 5, 2**31)}),
        Features(lambda c: {}, {"seed": 5}, ranks=(), layouts=(), sizes=()),
        Wrong(
            "4.115", "states=u8:32 seed=1", {BAD: ("states=<", "seed=-1", "seed=18446744073709551616", "states=i32:8")}
        ),
    ),
)
