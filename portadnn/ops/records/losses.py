"""Records of margin losses."""

from __future__ import annotations

import numpy as np

from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors, tensor
from ...drawing.sizes import RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...enums import DataType
from ...miopen_driver import form
from ...operation import BAD, CCall, Data, Features, Filling, Operation, Wrong
from ..losses import (
    LossReduction,
    MultiMarginLossForward,
    SoftMarginLossBackward,
    SoftMarginLossForward,
    multi_margin_loss_forward,
    soft_margin_loss_backward,
    soft_margin_loss_forward,
)

_TURNS = {"size": SIZES, "rank": RANKS}
_SMALL = ("small", "empty")
_SATURATED = Data((("*", ("nan", "inf", "huge", "denormal"), "exponentials overflow, or meet zeros"),))


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


def _read_soft_margin_loss(options: form.Options, t: str) -> list[str]:
    """Read the soft margin loss."""
    x = form.tensor_text(t, form.wide(form.numbers_of(options.get("D", "4x25x4x25"))))
    rest = f"x={x} target={x} reduction={options.get('R', 'none')}"
    more = {"forward": "", "backward": f" dloss={x}"}
    return [f"soft_margin_loss_{way} {rest}{more[way]}" for way in form.ways(options)]


def _read_multi_margin_loss(options: form.Options, t: str) -> list[str]:
    """Read the multi-margin loss; the driver draws p, which is 1 here."""
    rows, classes = form.numbers_of(options.get("D", "41x4"))
    rest = f"target=i64:{rows} weight={form.tensor_text(t, (classes,))} reduction={options.get('R', 'none')}"
    return [f"multi_margin_loss_forward x={form.tensor_text(t, (rows, classes))} {rest} p=1"]


_REDUCTIONS = tuple(LossReduction)
_SOFT = form.driver("softmarginloss", read=_read_soft_margin_loss, R=lambda p: p.reduction.name.lower())


RECORDS = (
    Operation(
        SoftMarginLossForward,
        soft_margin_loss_forward,
        Drawing(_soft, {"dtype": TYPES, "layout": CLASSES, "reduction": _REDUCTIONS}, _TURNS),
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
        Drawing(_soft, {"dtype": TYPES, "layout": CLASSES, "reduction": _REDUCTIONS}, _TURNS),
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
            {"dtype": TYPES, "layout": CLASSES, "reduction": _REDUCTIONS, "p": (1, 2)},
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
        driver=form.driver("multimarginloss", read=_read_multi_margin_loss, R=lambda p: p.reduction.name.lower()),
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
)
