"""Records of divisive normalisation."""

from __future__ import annotations

from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors
from ...drawing.sizes import IMAGE_RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...operation import BAD, CCall, Features, Operation, Wrong
from ..divisive_norm import (
    DivisiveNormalizationBackward,
    DivisiveNormalizationForward,
    divisive_normalization_backward,
    divisive_normalization_forward,
)
from .lrn import DATA, MORE, NUMBERS, WRONG


def _divisive(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    forward = op.endswith("forward")
    inputs = ["x", *(["means"] if choices["means"] else []), *([] if forward else ["dy"])]
    outputs = ["y"] if forward else ["dx", *(["dmeans"] if draws.integers(3) else [])]
    words = [f"{name}={tensors.text(dims)}" for name in inputs]
    words += [f"{name}={tensors.text(dims, written=True)}" for name in outputs]
    return f"{op} {' '.join(words)} lrn_n={choices['n']}{choices['numbers']}"


_DRAWING = Drawing(
    _divisive,
    crossed={"dtype": TYPES, "layout": CLASSES, "means": (True, False)},
    turns={"size": SIZES, "rank": IMAGE_RANKS, "n": (3, 5, 2, 1, 4), "numbers": NUMBERS},
)

RECORDS = (
    Operation(
        DivisiveNormalizationForward,
        divisive_normalization_forward,
        _DRAWING,
        Features(plain.images("x", "|", "y"), {"lrn_n": 5}, plain.IMAGE_RANKS, more=MORE),
        Wrong(
            "4.93",
            "x={t}:2x3x4x5 y={t}:2x3x4x5 means={t}:2x3x4x5",
            {
                BAD: (
                    *WRONG,
                    "y={t}:2x3x4x6",
                    "means={o}:2x3x4x5",
                    "means={t}:1x3x4x5",
                    "x={t}:2x3x4 y={t}:2x3x4 means={t}:2x3x4",
                )
            },
        ),
        DATA,
        c_calls=(CCall("cudnnDivisiveNormalizationForward", "x y", {"lrn_n": "normDesc.lrnN"}),),
    ),
    Operation(
        DivisiveNormalizationBackward,
        divisive_normalization_backward,
        _DRAWING,
        Features(plain.images("x", "dy", "|", "dx"), {"lrn_n": 5}, plain.IMAGE_RANKS, more=MORE),
        Wrong(
            "4.94",
            "x={t}:2x3x4x5 dy={t}:2x3x4x5 dx={t}:2x3x4x5 means={t}:2x3x4x5 dmeans={t}:2x3x4x5",
            {BAD: (*WRONG, "dy={t}:2x3x4x6", "dmeans={o}:2x3x4x5", "dx={t}:2x3x5x5", "in_place=dx:x")},
        ),
        DATA,
    ),
)
