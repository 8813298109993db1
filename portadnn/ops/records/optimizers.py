"""Record of Adam and what descends from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors, tensor
from ...drawing.sizes import RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...enums import DataType
from ...miopen_driver import form
from ...operation import BAD, Data, Features, Filling, Operation, Wrong
from ..optimizers import Adam, adam

_TURNS = {"size": SIZES, "rank": RANKS}
_SMALL = ("small", "empty")
_SPECIAL = ("nan", "inf", "huge", "denormal")


_LONG = {
    **{"dims": "d", "lr": "l", "beta1": "1", "beta2": "2", "eps": "e", "weight_decay": "W", "amsgrad": "a"},
    **{"maximize": "m", "scale": "s", "found_inf": "f"},
}


def _read_adam(options: form.Options, t: str) -> list[str]:
    """Read the options of driver/adam_driver.hpp; with scaled gradients ("amp") the step lies on the device."""
    name = options[""]
    x = form.tensor_text(t, form.wide(form.numbers_of(options.get("d", "64x32x128"))))
    words = [f"{tensor}={x}" for tensor in ("param", "grad", "exp_avg", "exp_avg_sq")]
    most = int(options.get("a", "0"))
    if most:
        words.append(f"max_exp_avg_sq={x} max_exp_avg_sq_out={x}")
    if name.startswith("amp"):
        half = x.replace(t, "f16", 1)
        words[1] = f"grad={half}"
        words.append("grad_scale=i32:1 found_inf=i32:1 state_step=i32:1 state_step_out=i32:1")
    words += ["amsgrad=yes"] if most else []
    words += ["adamw=yes"] if name.endswith("w") else []
    words += ["maximize=yes"] if int(options.get("m", "0")) else []
    return [f"adam {' '.join(words)}"]


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


RECORDS = (
    Operation(
        Adam,
        adam,
        Drawing(
            _adam,
            {"dtype": TYPES, "layout": CLASSES, "variant": ("plain", "amsgrad", "adamw", "transformers")},
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
        driver=form.Driver("adam", _adam_line, _read_adam, True, _LONG, ("adamw", "ampadam", "ampadamw")),
    ),
)
