"""Records of gated units, PReLU, rotary embeddings, margin losses, concatenation and selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, LAYOUTS, Tensors, tensor
from ...drawing.sizes import RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...enums import DataType
from ...miopen_driver import form, younger
from ...operation import BAD, CCall, Data, Features, Filling, Operation, Wrong
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
from ..indexing import CatForward, KthvalueForward, cat_forward, kthvalue_forward
from ..losses import (
    LossReduction,
    MultiMarginLossForward,
    SoftMarginLossBackward,
    SoftMarginLossForward,
    multi_margin_loss_forward,
    soft_margin_loss_backward,
    soft_margin_loss_forward,
)
from ..optimizers import Adam, adam

_TURNS = {"size": SIZES, "rank": RANKS}
_SMALL = ("small", "empty")
_SPECIAL = ("nan", "inf", "huge", "denormal")
_SATURATED = Data((("*", _SPECIAL, "exponentials overflow, or meet zeros"),))


def _driver(
    base: str, dims: str = "D", types: Sequence[DataType] = form.SHORT, read: form.Read | None = None, **options: Any
) -> form.Driver:
    """Return how MIOpenDriver names an operation: its dims, direction, and what `options` say of a problem."""

    def write(problem: Any, numbers: form.Numbers) -> str:
        first = problem.tensors[0]
        said = {
            dims: "x".join(map(str, first.dims)),
            "F": 2 if problem.op.endswith("backward") else 1,
            **{letter: said for letter, value in options.items() if (said := value(problem)) is not None},
        }
        return f"{form.first_word(base, first, types)} {form.written(**said)}"

    return form.Driver(base, write, read, letters={})


def _adam_line(problem: Any, numbers: form.Numbers) -> str:
    """Return the options of the driver of Adam, AdamW, or either with scaled gradients ("amp")."""
    if problem.transformers:
        raise form.NoLine("the driver of Transformers' AdamW is another")
    scaled = problem.grad_scale is not None or problem.found_inf is not None
    name = f"{'amp' if scaled else ''}adam{'w' if problem.adamw else ''}"
    types = (DataType.FLOAT,) if scaled else (DataType.FLOAT, DataType.HALF)
    said = {"F": 1, "d": "x".join(map(str, problem.param.dims)), "l": numbers["lr"]}
    said |= {"1": numbers["beta1"], "2": numbers["beta2"], "e": numbers["eps"], "W": numbers["weight_decay"]}
    said |= {"a": int(problem.amsgrad), "m": int(problem.maximize)}
    return f"{form.first_word(name, problem.param, types)} {form.written(**said)}"


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


def _soft(draws: Draws, choices: Choices, op: str) -> str:
    dims, reduction = image_dims(draws, choices, empty=False), choices["reduction"]
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    words = [op, f"x={tensors.text(dims)}", f"target={tensors.text(dims)}"]
    if op == "soft_margin_loss_forward":
        each = reduction is LossReduction.NONE
        loss = tensors.text(dims, written=True) if each else tensor(choices["dtype"], (1,) * len(dims))
        words.append(f"loss={loss}")
    else:
        words += [f"dloss={tensors.text(dims)}", f"dx={tensors.text(dims, written=True)}"]
    return " ".join([*words, f"reduction={reduction.name.lower()}"])


def _plain_soft(*names: str) -> plain.Describe:
    def tensors(c: Choices) -> dict[str, str]:
        dims, (layout_in, layout_out) = plain.dims_of(c), plain.layouts_of(c)
        found = {name: plain.text(c["dtype"], dims, layout_in) for name in names[:-1]}
        whole = c.get("reduction", "none") == "none" or names[-1] != "loss"
        last = plain.text(c["dtype"], dims if whole else (1,) * len(dims), layout_out if whole else "nchw")
        return {**found, names[-1]: last}

    return tensors


_OF_ONE_DIM = ("nchw", "shifted", "spread")  # the layouts that differ


def _multi(draws: Draws, choices: Choices, op: str) -> str:
    batch, classes = choices["rows"]
    dtype = choices["dtype"]
    each = choices["reduction"] is LossReduction.NONE
    tensors = Tensors(draws, dtype, choices["layout"])
    index = draws.choice((DataType.INT64, DataType.INT32))
    rows, weights, losses = (draws.choice(_OF_ONE_DIM) for _ in range(3))
    words = [op, f"x={tensors.text((batch, classes))}", f"target={tensor(index, (batch,), rows)}"]
    words.append(f"weight={tensor(dtype, (classes,), weights)}")
    words += [f"loss={tensor(dtype, (batch if each else 1,), losses)}", f"p={choices['p']}"]
    return " ".join([*words, f"reduction={choices['reduction'].name.lower()}"])


def _plain_multi(c: Choices) -> dict[str, str]:
    batch = 0 if c.get("size") == "empty" else 3
    loss = batch if c.get("reduction", "none") == "none" else 1
    t = c["dtype"]
    return {"x": f"{t}:{batch}x5", "target": f"i64:{batch}", "weight": f"{t}:5", "loss": f"{t}:{loss}"}


def _fit_targets(filling: Filling) -> None:
    """Make classes of the integers."""
    classes = max(filling.problem.x.dims[1], 1)
    filling.store("target", np.abs(np.array(filling.arrays["target"], np.int64)) % classes)


def _cat(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    dim, count = draws.integers(len(dims)), draws.integers(1, 9)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    sizes = [draws.integers(1, 5) for _ in range(count)]
    words = [f"x{i}={tensors.text((*dims[:dim], size, *dims[dim + 1 :]))}" for i, size in enumerate(sizes)]
    y = tensors.text((*dims[:dim], sum(sizes), *dims[dim + 1 :]), written=True)
    return f"{op} {' '.join(words)} y={y} dim={dim}"


def _plain_cat(c: Choices) -> dict[str, str]:
    dims, (layout_in, layout_out) = plain.dims_of(c), plain.layouts_of(c)
    x = plain.text(c["dtype"], dims, layout_in)
    y = plain.text(c["dtype"], (dims[0], 2 * dims[1], *dims[2:]), layout_out)
    return {"x0": x, "x1": x, "y": y}


def _kth(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices, empty=False)
    dim = draws.integers(len(dims))
    k = draws.integers(1, dims[dim] + 1)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    left = (*dims[:dim], 1, *dims[dim + 1 :])
    places = tensor(draws.choice((DataType.INT64, DataType.INT32)), left, draws.choice(LAYOUTS))
    return f"{op} x={tensors.text(dims)} y={tensors.text(left, written=True)} indices={places} k={k} dim={dim}"


def _plain_kth(c: Choices) -> dict[str, str]:
    dims, (layout_in, layout_out) = plain.dims_of(c), plain.layouts_of(c)
    left = (dims[0], 1, *dims[2:])
    return {
        "x": plain.text(c["dtype"], dims, layout_in),
        "y": plain.text(c["dtype"], left, layout_out),
        "indices": plain.text("i64", left),
    }


def _crossed(**more: Any) -> Mapping[str, Any]:
    return {"dtype": TYPES, "layout": CLASSES, **more}


def _adam(draws: Draws, choices: Choices, op: str) -> str:
    dims, variant = image_dims(draws, choices, empty=False), choices["variant"]
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    names = ["param", "grad", "exp_avg", "exp_avg_sq"]
    outputs = ["param_out", "exp_avg_out", "exp_avg_sq_out"]
    if variant == "amsgrad":
        names.append("max_exp_avg_sq")
        outputs.append("max_exp_avg_sq_out")
    words = [f"{name}={tensors.text(dims)}" for name in names]
    words += [f"{name}={tensors.text(dims, written=True)}" for name in outputs]
    if choices["mixed"]:
        words += [f"param_half={tensor(DataType.HALF, dims)}", "grad_scale=i32:1", "found_inf=u8:1"]
        words += ["state_step=i32:1", "state_step_out=i32:1"]
    flags = {"amsgrad": " amsgrad=yes", "adamw": " adamw=yes maximize=yes", "transformers": " transformers=yes"}
    return f"{op} {' '.join(words)}{flags.get(variant, '')}"


def _plain_adam(c: Choices) -> dict[str, str]:
    dims, (layout_in, layout_out) = plain.dims_of(c), plain.layouts_of(c)
    x, y = (plain.text(c["dtype"], dims, layout) for layout in (layout_in, layout_out))
    read = dict.fromkeys(("param", "grad", "exp_avg", "exp_avg_sq"), x)
    return {**read, **dict.fromkeys(("param_out", "exp_avg_out", "exp_avg_sq_out"), y)}


def _fit_adam(filling: Filling) -> None:
    """Make averages of squares of what would have none otherwise, and steps, scales and flags of the integers."""
    for name in ("exp_avg_sq", "max_exp_avg_sq"):
        if name in filling.arrays:
            filling.store(name, np.abs(np.array(filling.arrays[name], np.float64)) + 0.25)
    for name, value in (("grad_scale", 4), ("found_inf", 0), ("state_step", 3)):
        if name in filling.arrays:
            filling.store(name, np.full(filling.arrays[name].shape, value))


_REDUCTIONS = tuple(LossReduction)
_MORE_PARTS: dict[str, Any] = {
    str(i + 1): lambda p, i=i: "x".join(map(str, p.tensors[i].dims)) if i < len(p.parts) else None for i in range(1, 8)
}
_AXIS = _driver(
    "glu", read=younger.glu, R=lambda p: p.dim, F=lambda p: 0 if p.op == "glu_backward" else None
)  # 0 is both directions
_ROTARY = _driver("rope", "X", read=younger.rope)
_SOFT = _driver("softmarginloss", read=younger.soft_margin_loss, R=lambda p: p.reduction.name.lower())


RECORDS = (
    Operation(
        GLUForward,
        glu_forward,
        Drawing(_glu, _crossed(), _TURNS),
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
        Drawing(_glu, _crossed(), _TURNS),
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
        Drawing(_prelu, _crossed(each=(True, False)), {**_TURNS, "outputs": ("both", "dx", "both", "dweight")}),
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
        driver=_driver("prelu", read=younger.prelu, P=lambda p: p.weight.size),
        c_calls=(CCall("miopenPReLUBackward", "x/inputDesc weight dy/doutputDesc dx/dinputDesc dweight", {}, ()),),
    ),
    Operation(
        RoPEForward,
        rope_forward,
        Drawing(_rope, _crossed(), _TURNS),
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
        Drawing(_rope, _crossed(), _TURNS),
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
    Operation(
        SoftMarginLossForward,
        soft_margin_loss_forward,
        Drawing(_soft, _crossed(reduction=_REDUCTIONS), _TURNS),
        Features(_plain_soft("x", "target", "loss"), {"reduction": "none"}, sizes=("small",)),
        Wrong(
            "MIOpen, miopenSoftMarginLossForward",
            "x={t}:2x3x4x5 target={t}:2x3x4x5 loss={t}:1x1x1x1 reduction=mean",
            {
                BAD: (
                    "reduction=none",
                    "loss={t}:2x3x4x5",
                    "target={t}:2x3x5x4",
                    "target={o}:2x3x4x5",
                    "loss={o}:1x1x1x1",
                )
            },
        ),
        _SATURATED,
        driver=_SOFT,
        c_calls=(
            CCall(
                "miopenSoftMarginLossForward",
                "x/inputDesc target loss/outputDesc",
                {"reduction": "reduction"},
                ("reduction",),
            ),
        ),
    ),
    Operation(
        SoftMarginLossBackward,
        soft_margin_loss_backward,
        Drawing(_soft, _crossed(reduction=_REDUCTIONS), _TURNS),
        Features(_plain_soft("x", "target", "dloss", "dx"), {"reduction": "none"}, sizes=_SMALL),
        Wrong(
            "MIOpen, miopenSoftMarginLossBackward",
            "x={t}:2x3x4x5 target={t}:2x3x4x5 dloss={t}:2x3x4x5 dx={t}:2x3x4x5 reduction=mean",
            {BAD: ("dloss={t}:1x1x1x1", "target={t}:2x3x5x4", "dx={o}:2x3x4x5", "in_place=dx:x")},
        ),
        _SATURATED,
        driver=_SOFT,
        c_calls=(
            CCall(
                "miopenSoftMarginLossBackward",
                "x/inputDesc target dloss/doutputDesc",
                {"reduction": "reduction"},
                ("reduction",),
            ),
        ),
    ),
    Operation(
        MultiMarginLossForward,
        multi_margin_loss_forward,
        Drawing(
            _multi,
            _crossed(reduction=_REDUCTIONS, p=(1, 2)),
            {"rows": ((3, 5), (17, 1), (1, 300), (200, 33), (7, 8), (1100, 2))},
            {"margin": (1.0, 0.5, 2.0)},
        ),
        Features(_plain_multi, {"reduction": "none"}, ranks=(), layouts=(), sizes=_SMALL, more={"p": (1, 2)}),
        Wrong(
            "MIOpen, miopenMultiMarginLossForward",
            "x={t}:3x5 target=i64:3 weight={t}:5 loss={t}:1 p=1 reduction=mean",
            {
                BAD: (
                    "p=0",
                    "p=3",
                    "target=i64:5",
                    "target={t}:3",
                    "weight={t}:3",
                    "weight={o}:5",
                    "loss={t}:3",
                    "reduction=none",
                    "x={t}:3x5x1",
                )
            },
        ),
        Data((("*", ("huge", "inf", "nan"), "squares overflow; some terms are left out"),), fit=_fit_targets),
        driver=_driver("multimarginloss", read=younger.multi_margin_loss, R=lambda p: p.reduction.name.lower()),
        c_calls=(
            CCall(
                "miopenMultiMarginLossForward",
                "x/inputDesc target weight loss/outputDesc",
                {"p": "p", "reduction": "reduction"},
                (
                    "p",
                    "reduction",
                ),
            ),
        ),
    ),
    Operation(
        Adam,
        adam,
        Drawing(
            _adam,
            _crossed(variant=("plain", "amsgrad", "adamw", "transformers")),
            {**_TURNS, "mixed": (False, True)},
            {
                "step": (1.0, 3.0),
                "lr": (0.125,),
                "beta1": (0.875, 0.0, 0.5),
                "beta2": (0.9921875, 0.0, 0.75),
                "weight_decay": (0.0, 0.25),
                "eps": (0.0078125,),
            },
        ),
        Features(_plain_adam, sizes=_SMALL),
        Wrong(
            "MIOpen, miopenFusedAdam",
            "param={t}:2x3x4 grad={t}:2x3x4 exp_avg={t}:2x3x4 exp_avg_sq={t}:2x3x4 "
            "param_out={t}:2x3x4 exp_avg_out={t}:2x3x4 exp_avg_sq_out={t}:2x3x4",
            {
                BAD: (
                    "grad={t}:2x4x3",
                    "exp_avg={o}:2x3x4",
                    "exp_avg_sq_out={t}:2x3x5",
                    "amsgrad=yes",
                    "found_inf={t}:1x1x1",
                    "grad_scale=i32:2",
                    "param_half=f32:2x3x4",
                )
            },
        ),
        Data((("*", (*_SPECIAL, "cancelling"), "roots of differences, and quotients"),), fit=_fit_adam),
        driver=form.Driver("adam", _adam_line, blended=True),
    ),
    Operation(
        CatForward,
        cat_forward,
        Drawing(_cat, _crossed(), _TURNS),
        Features(_plain_cat, {"dim": 1}, sizes=_SMALL),
        Wrong(
            "MIOpen, miopenCatForward",
            "x0={t}:2x3x4 x1={t}:2x2x4 y={t}:2x5x4 dim=1",
            {
                BAD: (
                    "dim=0",
                    "dim=3",
                    "dim=-1",
                    "x1={t}:2x2x5",
                    "x1={o}:2x2x4",
                    "y={t}:2x6x4",
                    "y={o}:2x5x4",
                    "x1={t}:2x2x4x1",
                )
            },
        ),
        Data(exact=True),
        driver=_driver("cat", "1", **_MORE_PARTS, d=lambda p: p.dim),
    ),
    Operation(
        KthvalueForward,
        kthvalue_forward,
        Drawing(_kth, _crossed(), _TURNS),
        Features(_plain_kth, {"k": 2, "dim": 1}, sizes=_SMALL),
        Wrong(
            "MIOpen, miopenKthvalueForward",
            "x={t}:2x3x4x5 y={t}:2x1x4x5 indices=i64:2x1x4x5 k=2 dim=1",
            {
                BAD: (
                    "k=0",
                    "k=4",
                    "dim=4",
                    "dim=-5",
                    "dim=2",
                    "y={t}:2x3x4x5",
                    "y={o}:2x1x4x5",
                    "indices=i64:2x4x5",
                    "indices={t}:2x1x4x5",
                )
            },
        ),
        Data(exact=True),
        driver=_driver("kthvalue", read=younger.kthvalue, k=lambda p: p.k, d=lambda p: p.dim),
        c_calls=(
            CCall(
                "miopenKthvalueForward",
                "x/inputDesc",
                {"k": "k", "dim": "dim"},
                (
                    "k",
                    "dim",
                ),
            ),
        ),
    ),
)
