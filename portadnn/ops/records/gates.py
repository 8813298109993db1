"""Records of gated linear units, PReLU and rotary embeddings."""

from __future__ import annotations

from typing import Any

from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors, tensor
from ...drawing.sizes import RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...errors import NotSupported
from ...miopen_driver import form
from ...operation import BAD, CCall, Data, Features, Operation, Wrong
from ..gates import (
    GLUBackward,
    GLUForward,
    PReLUBackward,
    RoPEBackward,
    RoPEForward,
    glu_backward,
    glu_forward,
    prelu_backward,
    rope_backward,
    rope_forward,
)

_TURNS = {"size": SIZES, "rank": RANKS}
_SMALL = ("small", "empty")
_SATURATED = Data((("*", ("nan", "inf", "huge", "denormal"), "exponentials overflow, or meet zeros"),))


def _halves(x: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (*x[:dim], x[dim] // 2, *x[dim + 1 :])


def _even(dims: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (*dims[:dim], dims[dim] + dims[dim] % 2, *dims[dim + 1 :])


def _glu(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    dim = draws.integers(len(dims))
    dims = _even(dims, dim)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    half, x = _halves(dims, dim), tensors.text(dims)
    if op == "glu_forward":
        return f"{op} x={x} y={tensors.text(half, written=True)} dim={dim}"
    return f"{op} x={x} dy={tensors.text(half)} dx={tensors.text(dims, written=True)} dim={dim}"


def _plain_glu(*names: str) -> plain.Describe:
    def tensors(c: Choices) -> dict[str, str]:
        dims, (layout_in, layout_out) = plain.dims_of(c), plain.layouts_of(c)
        layouts = {"y": layout_out, "dx": layout_out}
        return {
            name: plain.text(
                c["dtype"], _halves(dims, 1) if name in ("y", "dy") else dims, layouts.get(name, layout_in)
            )
            for name in names
        }

    return tensors


def _prelu(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    weight = (1, dims[1] if choices["each"] else 1, *(1,) * (len(dims) - 2))
    words = [op, f"x={tensors.text(dims)}", f"weight={tensor(choices['dtype'], weight)}", f"dy={tensors.text(dims)}"]
    if choices["outputs"] != "dweight":
        words.append(f"dx={tensors.text(dims, written=True)}")
    if choices["outputs"] != "dx":
        words.append(f"dweight={tensor(choices['dtype'], weight)}")
    return " ".join(words)


def _plain_prelu(c: Choices) -> dict[str, str]:
    dims = plain.dims_of(c)
    weight = (1, dims[1], *(1,) * (len(dims) - 2))
    layout_in, layout_out = plain.layouts_of(c)
    x = plain.text(c["dtype"], dims, layout_in)
    small = plain.text(c["dtype"], weight)
    return {"x": x, "weight": small, "dy": x, "dx": plain.text(c["dtype"], dims, layout_out), "dweight": small}


def _rope(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    dims = _even(dims, len(dims) - 1)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    kept = draws.integers(len(dims))
    table = tensor(choices["dtype"], (*(1,) * kept, *dims[kept:]))
    if draws.one_in(3) or 0 in dims:
        table = tensor(choices["dtype"], (*(1,) * (len(dims) - 1), dims[-1]))
    first, last = ("x", "y") if op == "rope_forward" else ("dy", "dx")
    return f"{op} {first}={tensors.text(dims)} cos={table} sin={table} {last}={tensors.text(dims, written=True)}"


def _plain_rope(first: str, last: str) -> plain.Describe:
    def tensors(c: Choices) -> dict[str, str]:
        dims, (layout_in, layout_out) = plain.dims_of(c), plain.layouts_of(c)
        dims = _even(dims, len(dims) - 1)
        table = plain.text(c["dtype"], (*(1,) * (len(dims) - 1), dims[-1]))
        x, y = (plain.text(c["dtype"], dims, layout) for layout in (layout_in, layout_out))
        return {first: x, "cos": table, "sin": table, last: y}

    return tensors


def _read_glu(options: form.Options, t: str) -> list[str]:
    """Read gated linear units: without ``-F 1`` the driver runs both directions."""
    x = form.tensor_text(t, form.wide(form.numbers_of(options.get("D", "256x512"))))
    ways = ("forward", "backward") if int(options.get("F", "1")) != 1 else ("forward",)
    return [f"glu_{way} x={x} dim={int(options.get('R', '0'))}" for way in ways]


def _read_prelu(options: form.Options, t: str) -> list[str]:
    """Read PReLU, of which MIOpen has the gradients alone."""
    if "backward" not in form.ways(options):
        raise NotSupported(argument="-F", expected="0 or 2, for the gradients", got=options.get("F", "1"))
    dims = form.wide(form.numbers_of(options.get("D", "256x4x1x1x8723")))
    x = form.tensor_text(t, dims)
    weight = form.tensor_text(t, (1, int(options.get("P", "1")), *(1,) * (len(dims) - 2)))
    return [f"prelu_backward x={x} weight={weight} dy={x} dx={x} dweight={weight}"]


def _read_rope(options: form.Options, t: str) -> list[str]:
    """Read rotary embeddings: the tables have the dims of the input but for the first."""
    dims = form.numbers_of(options.get("X", "100x3x32x32"))
    x, table = form.tensor_text(t, dims), form.tensor_text(t, (1, *dims[1:]))
    names = {"forward": "x", "backward": "dy"}
    return [f"rope_{way} {names[way]}={x} cos={table} sin={table}" for way in form.ways(options)]


_BOTH: dict[str, Any] = {"F": lambda p: 0 if p.op == "glu_backward" else None}  # the driver's directions
_AXIS = form.driver("glu", read=_read_glu, R=lambda p: p.dim, **_BOTH)
_ROTARY = form.driver("rope", "X", read=_read_rope)


RECORDS = (
    Operation(
        GLUForward,
        glu_forward,
        Drawing(_glu, {"dtype": TYPES, "layout": CLASSES}, _TURNS),
        Features(_plain_glu("x", "y"), {"dim": 1}, sizes=_SMALL),
        Wrong(
            "MIOpen, miopenGLUForward",
            "x={t}:4x6x2x2 y={t}:4x3x2x2 dim=1",
            {
                BAD: (
                    "dim=0",
                    "dim=4",
                    "dim=-1",
                    "x={t}:4x5x2x2 y={t}:4x2x2x2",
                    "y={t}:4x4x2x2",
                    "y={o}:4x3x2x2",
                    "y={t}:4x3x4",
                )
            },
        ),
        _SATURATED,
        driver=_AXIS,
        c_calls=(CCall("miopenGLUForward", "x/inputDesc", {"dim": "dim"}, ("dim",)),),
    ),
    Operation(
        GLUBackward,
        glu_backward,
        Drawing(_glu, {"dtype": TYPES, "layout": CLASSES}, _TURNS),
        Features(_plain_glu("x", "dy", "dx"), {"dim": 1}, sizes=_SMALL),
        Wrong(
            "MIOpen, miopenGLUBackward",
            "x={t}:4x6x2x2 dy={t}:4x3x2x2 dx={t}:4x6x2x2 dim=1",
            {BAD: ("dim=0", "dim=4", "dy={t}:4x6x2x2", "dx={t}:4x3x2x2", "dx={o}:4x6x2x2", "in_place=dx:x")},
        ),
        _SATURATED,
        driver=_AXIS,
        c_calls=(CCall("miopenGLUBackward", "x/inputDesc dy/outputGradDesc", {"dim": "dim"}, ("dim",)),),
    ),
    Operation(
        PReLUBackward,
        prelu_backward,
        Drawing(
            _prelu,
            {"dtype": TYPES, "layout": CLASSES, "each": (True, False)},
            {**_TURNS, "outputs": ("both", "dx", "both", "dweight")},
        ),
        Features(_plain_prelu, sizes=_SMALL),
        Wrong(
            "MIOpen, miopenPReLUBackward",
            "x={t}:2x3x4x5 weight={t}:1x3x1x1 dy={t}:2x3x4x5 dx={t}:2x3x4x5 dweight={t}:1x3x1x1",
            {
                BAD: (
                    "weight={t}:1x2x1x1",
                    "weight={o}:1x3x1x1",
                    "dweight={t}:1x1x1x1",
                    "dy={t}:2x3x5x4",
                    "dx={o}:2x3x4x5",
                    "in_place=dx:dy",
                )
            },
        ),
        Data((("*", ("huge", "inf", "nan"), "products overflow, or meet NaN in sums"),)),
        driver=form.driver("prelu", read=_read_prelu, P=lambda p: p.weight.size),
        c_calls=(CCall("miopenPReLUBackward", "x/inputDesc weight dy/doutputDesc dx/dinputDesc dweight", {}, ()),),
    ),
    Operation(
        RoPEForward,
        rope_forward,
        Drawing(_rope, {"dtype": TYPES, "layout": CLASSES}, _TURNS),
        Features(_plain_rope("x", "y"), sizes=_SMALL),
        Wrong(
            "MIOpen, miopenRoPEForward",
            "x={t}:2x3x4x6 cos={t}:1x1x4x6 sin={t}:1x1x4x6 y={t}:2x3x4x6",
            {
                BAD: (
                    "sin={t}:1x1x1x6",
                    "cos={t}:1x1x1x4 sin={t}:1x1x1x4",
                    "cos={o}:1x1x4x6 sin={o}:1x1x4x6",
                    "y={t}:2x3x6x4",
                    "y={o}:2x3x4x6",
                    "x={t}:2x3x6x3 cos={t}:1x1x6x3 sin={t}:1x1x6x3 y={t}:2x3x6x3",
                    "in_place=y:x",
                )
            },
        ),
        Data((("*", ("huge", "inf"), "products overflow before they cancel"),)),
        driver=_ROTARY,
        c_calls=(CCall("miopenRoPEForward", "x cos sin", {}, ()),),
    ),
    Operation(
        RoPEBackward,
        rope_backward,
        Drawing(_rope, {"dtype": TYPES, "layout": CLASSES}, _TURNS),
        Features(_plain_rope("dy", "dx"), sizes=_SMALL),
        Wrong(
            "MIOpen, miopenRoPEBackward",
            "dy={t}:2x3x4x6 cos={t}:1x1x4x6 sin={t}:1x1x4x6 dx={t}:2x3x4x6",
            {BAD: ("sin={t}:1x1x1x6", "dx={t}:2x3x6x4", "dx={o}:2x3x4x6", "in_place=dx:dy")},
        ),
        Data((("*", ("huge", "inf"), "products overflow before they cancel"),)),
        driver=_ROTARY,
        c_calls=(CCall("miopenRoPEBackward", "dy cos sin", {}, ()),),
    ),
)
