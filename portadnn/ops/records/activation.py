"""Records of activations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors
from ...drawing.sizes import NAN, RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...enums import ActivationMode
from ...errors import NotSupported
from ...miopen_driver import form
from ...operation import BAD, UNSUPPORTED, CCall, Data, Features, Operation, Wrong, output_of_forward
from ..activation import ActivationBackward, ActivationForward, activation_backward, activation_forward

EXACT = (ActivationMode.RELU, ActivationMode.CLIPPED_RELU, ActivationMode.IDENTITY)  # whole numbers stay whole
UNSETTLED = ("SWISH", ("cancelling",), "a sigmoid below the smallest normal number, times a large one")


def parameters(draws: Draws, mode: ActivationMode) -> str:
    """Return the numbers of an activation, as a problem line has them."""
    if mode is ActivationMode.CLIPPED_RELU:
        return f" ceiling={draws.choice((0.5, 1.0, 2.0, 6.0, 0.0))}"
    if mode in (ActivationMode.ELU, ActivationMode.SWISH):
        return f" coef={draws.choice((1.0, 0.5, 1.75))}"
    return ""


def implied(c: Choices) -> Mapping[str, Any]:
    """Return the ceiling that a clipped activation needs."""
    return {"ceiling": 0.5} if "clipped_relu" in (c.get("mode"), c.get("activation")) else {}


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


def _exact(problem: Any) -> bool:
    return problem.mode in EXACT


_DRAWING = Drawing(
    _activation,
    crossed={"dtype": TYPES, "layout": CLASSES, "mode": tuple(ActivationMode)},
    turns={"size": SIZES, "rank": RANKS, "nan": NAN},
)


_NUMBERED = ("identity", "sigmoid", "tanh", "relu", "", "", "", "clipped_relu", "", "elu")


def _write(problem: Any, numbers: form.Numbers) -> str:
    alpha = {"CLIPPED_RELU": problem.ceiling, "ELU": problem.coef}.get(problem.mode.name, 1.0)
    options = {**form.image_options(problem.x), "m": form.number(problem.mode), "forw": form.direction(problem)}
    return f"{form.first_word('activ', problem.x)} {form.written(**options, A=float(alpha), B=1.0, G=1.0)}"


def _read(options: form.Options, t: str) -> list[str]:
    chosen = int(options.get("m", "3"))
    mode = _NUMBERED[chosen] if 0 <= chosen < len(_NUMBERED) else ""
    if not mode:
        raise NotSupported(argument="-m", expected="an activation that portadnn has", got=chosen)
    alpha = float(options.get("A", "0") or 0)
    rest = f" ceiling={alpha}" if mode == "clipped_relu" else f" coef={alpha}" if mode == "elu" else ""
    names = form.directions(options, {1: "forward", 2: "backward"})
    return [f"activation_{name} x={form.tensor_text(t, form.image_dims(options))} mode={mode}{rest}" for name in names]


_DRIVER = form.Driver("activ", _write, _read)


_SETTINGS = {
    "mode": "activationDesc.mode",
    "nan_propagation": "activationDesc.reluNanOpt",
    "ceiling": "activationDesc.coef",
    "coef": "activationDesc.coef",
}

RECORDS = (
    Operation(
        ActivationForward,
        activation_forward,
        _DRAWING,
        Features(plain.images("x", "|", "y"), {"mode": "relu"}, more=plain.BLENDED, implied=implied),
        Wrong(
            "4.84",
            "x={t}:2x3x4x5 y={t}:2x3x4x5 mode=clipped_relu ceiling=1",
            {BAD: ("y={t}:2x3x4x6", "y={o}:2x3x4x5", "ceiling=nan", "mode=elu coef=nan")},
        ),
        Data((UNSETTLED,), _exact),
        driver=_DRIVER,
        c_calls=(CCall("cudnnActivationForward", "x y", _SETTINGS, ("mode",)),),
        benchmarks=("x={t} mode=relu", "x={t} mode=sigmoid", "x={t} mode=tanh"),
    ),
    Operation(
        ActivationBackward,
        activation_backward,
        _DRAWING,
        Features(plain.images("y", "dy", "|", "x", "dx"), {"mode": "relu"}, more=plain.BLENDED, implied=implied),
        Wrong(
            "4.85",
            "y={t}:2x3x4x5 dy={t}:2x3x4x5 x={t}:2x3x4x5 dx={t}:2x3x4x5 mode=relu",
            {
                BAD: ("mode=clipped_relu ceiling=nan", "in_place=dx:x"),
                UNSUPPORTED: (
                    "dy={t}:2x3x4x6",
                    "dy={t}:2x3x4x5:nhwc",
                    "x={o}:2x3x4x5 dx={o}:2x3x4x5",
                    "dx={t}:2x3x4x5:nhwc",
                    "y={t}:2x3x5x4 dy={t}:2x3x5x4",
                ),
            },
        ),
        Data(
            (UNSETTLED, ("*", ("huge",), "alpha * dy overflows before a derivative of 0 multiplies it, or behind it")),
            _exact,
            fit=output_of_forward(ActivationForward),
        ),
        driver=_DRIVER,
        c_calls=(CCall("cudnnActivationBackward", "y dy x dx", _SETTINGS, ("mode",)),),
        benchmarks=("x={t} mode=relu",),
    ),
)
