"""Records of softmax."""

from __future__ import annotations

from typing import Any

from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors
from ...drawing.sizes import RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...enums import SoftmaxAlgorithm, SoftmaxMode
from ...miopen_driver import form
from ...operation import BAD, CCall, Data, Features, Operation, Wrong, output_of_forward
from ..softmax import SoftmaxBackward, SoftmaxForward, softmax_backward, softmax_forward


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


_DRAWING = Drawing(
    _softmax,
    crossed={"dtype": TYPES, "layout": CLASSES, "algorithm": tuple(SoftmaxAlgorithm), "mode": tuple(SoftmaxMode)},
    turns={"size": (*SIZES, "endless", "endless"), "rank": RANKS},
)


def _write(problem: Any, numbers: form.Numbers) -> str:
    spec = problem.x if problem.op == "softmax_forward" else problem.dx
    options = {
        **form.image_options(spec),
        "F": form.direction(problem),
        "a": form.number(problem.algorithm),
        "m": form.number(problem.mode),
    }
    return f"{form.first_word('softmax', spec)} {form.written(**options, A=numbers['alpha'], B=numbers['beta'])}"


def _read(options: form.Options, t: str) -> list[str]:
    algorithm = ("fast", "accurate", "log")[int(options.get("a", "1"))]
    mode = ("instance", "channel")[int(options.get("m", "1"))]
    blend = f"alpha={float(options.get('A', '1'))} beta={float(options.get('B', '0'))}"
    rest = f"{form.tensor_text(t, form.image_dims(options))} algorithm={algorithm} mode={mode} {blend}"
    names = {"forward": "x", "backward": "y"}
    return [f"softmax_{name} {names[name]}={rest}" for name in form.directions(options, {1: "forward", 2: "backward"})]


_DRIVER = form.Driver("softmax", _write, _read, blended=True)


def _calls(tensors: str, *functions: str) -> tuple[CCall, ...]:
    settings = {"algorithm": "algo", "mode": "mode"}
    return tuple(CCall(function, tensors, settings, ("algorithm", "mode")) for function in functions)


RECORDS = (
    Operation(
        SoftmaxForward,
        softmax_forward,
        _DRAWING,
        Features(plain.images("x", "|", "y"), {"algorithm": "accurate", "mode": "channel"}, more=plain.BLENDED),
        Wrong(
            "4.69",
            "x={t}:2x3x4x5 y={t}:2x3x4x5",
            {BAD: ("y={t}:2x3x4x6", "y={t}:2x3x5x4", "y={o}:2x3x4x5", "y={t}:2x3x20", "x={t}:2x3")},
        ),
        driver=_DRIVER,
        c_calls=_calls("x y", "cudnnSoftmaxForward", "miopenSoftmaxForward_V2"),
        benchmarks=("x={t} mode=channel", "x={t} mode=instance", "x={rows} mode=channel"),
    ),
    Operation(
        SoftmaxBackward,
        softmax_backward,
        _DRAWING,
        Features(plain.images("y", "dy", "|", "dx"), {"algorithm": "accurate", "mode": "channel"}, more=plain.BLENDED),
        Wrong(
            "4.70",
            "y={t}:2x3x4x5 dy={t}:2x3x4x5 dx={t}:2x3x4x5",
            {BAD: ("dy={t}:2x3x5x4", "dy={t}:2x3x4x5:nhwc", "dx={o}:2x3x4x5", "dx={t}:2x3x4x6", "in_place=dx:y")},
        ),
        Data((("*", ("huge",), "products overflow before they cancel"),), fit=output_of_forward(SoftmaxForward)),
        driver=_DRIVER,
        c_calls=_calls("y dy dx", "cudnnSoftmaxBackward", "miopenSoftmaxBackward_V2"),
        benchmarks=("y={t} mode=channel",),
    ),
)
