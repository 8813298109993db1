"""Record of the CTC loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors, tensor
from ...drawing.plain import Choices as PlainChoices
from ...drawing.plain import dims_of, layouts_of, text
from ...drawing.strata import TYPES, Choices, Drawing
from ...enums import DataType
from ...miopen_driver import form
from ...operation import BAD, Data, Features, Filling, Operation, Wrong
from ..ctc_loss import CTCLoss, LossNormalizationMode, ctc_loss

# Steps, sequences, classes and the longest label
_SIZES = (
    (7, 3, 5, 3),
    (1, 2, 4, 1),
    (30, 1, 2, 9),
    (12, 5, 41, 6),
    (19, 4, 3, 0),
    (5, 7, 9, 8),
    (90, 2, 27, 33),
    (11, 33, 6, 4),
    (6, 2, 300, 5),
    (33, 3, 17, 16),
    (1, 1, 1, 0),
    (8, 0, 5, 3),
)
_LABELS = ("padded", "concatenated", "spread", "concatenated")
_RESTS = ("", " blank=last", " gradient_mode=skip_oob_gradients", " max_label_length=longest")


def _line(draws: Draws, choices: Choices, op: str) -> str:
    steps, batch, classes, longest = choices["size"]
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    dims, lengths = (steps, batch, classes), f"i32:{batch}"
    room = max(longest, 1)
    if choices["labels"] == "concatenated":
        labels = f"i32:{max(batch, 1) * room}"
    else:
        labels = tensor(DataType.INT32, (batch, room), "spread" if choices["labels"] == "spread" else "nchw")
    words = [f"{op} probs={tensors.text(dims)} labels={labels} label_lengths={lengths} input_lengths={lengths}"]
    words.append(f"costs={tensor(choices['dtype'], (batch,), draws.choice(('nchw', 'spread')))}")
    if choices["gradients"]:
        words.append(f"gradients={tensors.text(dims, written=True)}")
    words.append(f"normalization={choices['normalization'].name.lower()}")
    rest: str = choices["rest"].replace("last", str(classes - 1)).replace("longest", str(longest))
    return " ".join(words) + rest


def _plain(c: PlainChoices) -> dict[str, str]:
    layout_in, layout_out = layouts_of(c)
    batch, _, _ = dims_of({**c, "rank": 3})
    dims, lengths = (6, batch, 5), f"i32:{batch}"
    probs, gradients = text(c["dtype"], dims, layout_in), text(c["dtype"], dims, layout_out)
    words = {"probs": probs, "labels": f"i32:{batch}x3", "label_lengths": lengths, "input_lengths": lengths}
    return {**words, "costs": f"{c['dtype']}:{batch}", "gradients": gradients}


def _fit(filling: Filling) -> None:
    """Make labels and lengths of the integers, most of which fit, and probabilities where they are asked for."""
    problem: CTCLoss = filling.problem
    arrays = filling.arrays
    steps, _, classes = problem.probs.dims
    drawn = {name: np.abs(np.array(arrays[name], np.int64)) for name in ("labels", "label_lengths", "input_lengths")}
    longest = problem.longest
    if len(problem.labels.dims) == 1:
        longest = min(longest, problem.labels.dims[0] // max(problem.probs.dims[1], 1))
    lengths = drawn["label_lengths"] % (longest + 1)
    spare = np.maximum(steps - np.minimum(lengths + lengths // 4, steps), 0)
    filling.store("labels", drawn["labels"] % classes)
    filling.store("label_lengths", lengths)
    filling.store("input_lengths", steps - drawn["input_lengths"] % (spare + 1))
    if problem.normalization is LossNormalizationMode.NONE:
        probs = np.array(arrays["probs"], np.float64)
        away = np.exp(np.maximum(probs - probs.max(-1, keepdims=True, initial=-np.inf), -8.0))
        filling.store("probs", away / away.sum(-1, keepdims=True))


def _read_driver(options: form.Options, t: str) -> list[str]:
    """Read the options of driver/ctc_driver.hpp: labels and lengths are data; the longest ones make the sizes."""
    batch, classes = int(options.get("n", "4")), int(options.get("c", "9")) + 1
    steps, longest = (max(form.numbers_of(options.get(*one))[:batch]) for one in (("k", "20"), ("l", "5")))
    probs, lengths = form.tensor_text("f32", (steps, batch, classes)), f"i32:{batch}"
    given = f"probs={probs} labels=i32:{batch}x{longest} label_lengths={lengths} input_lengths={lengths}"
    how = "softmax" if int(options.get("m", "1")) == 1 else "none"
    rest = f"normalization={how} blank={int(options.get('b', '0'))}"
    return [f"ctc_loss {given} costs=f32:{batch} gradients={probs} {rest}"]


def _write_driver(problem: Any, numbers: form.Numbers) -> str:
    """Return the options of a CTC loss; of labels and lengths, which are data, the longest."""
    steps, batch, classes = problem.probs.dims
    if problem.gradients is None:
        raise form.NoLine("the driver computes gradients always")
    options = {"F": 1, "n": batch, "k": steps, "l": problem.longest, "c": classes - 1, "b": problem.blank}
    softmax = int(problem.normalization.name == "SOFTMAX")
    return f"{form.first_word('ctc', problem.probs, (problem.probs.dtype.FLOAT,))} {form.written(**options, m=softmax)}"


_LETTERS = {
    **{"forw": "F", "apply_softmax_layer": "m", "blank_label_id": "b", "input_len": "k", "label_len": "l"},
    **{"num_class": "c", "batchsize": "n"},
}
_RIGHT = "probs={t}:6x2x5 labels=i32:2x3 label_lengths=i32:2 input_lengths=i32:2 costs={t}:2 gradients={t}:6x2x5"

_WRONG = (
    "probs={t}:6x2x5x1",
    "probs={t}:6x3x5",
    "probs={t}:6x2x0 gradients={t}:6x2x0",
    "labels={t}:2x3",
    "labels=i32:3x3",
    "labels=i32:2x3x1",
    "label_lengths=i32:3",
    "label_lengths=i32:2x1",
    "input_lengths=i32:1",
    "input_lengths={t}:2",
    "costs={t}:3",
    "costs={o}:2",
    "gradients={t}:6x2x4",
    "gradients={o}:6x2x5",
    "blank=5",
    "blank=-1",
    "max_label_length=4",
    "max_label_length=-1",
    "in_place=gradients:probs",
)


RECORDS = (
    Operation(
        CTCLoss,
        ctc_loss,
        Drawing(
            _line,
            crossed={"dtype": TYPES, "normalization": tuple(LossNormalizationMode), "gradients": (True, False)},
            turns={"size": _SIZES, "layout": CLASSES, "labels": _LABELS, "rest": _RESTS},
        ),
        Features(_plain, ranks=(), sizes=("small", "empty"), more={"normalization": ("softmax", "none")}),
        Wrong("cuDNN 7", _RIGHT, {BAD: _WRONG}),
        Data(
            unsettled=(
                ("*", ("nan", "inf", "huge"), "a step without probabilities spoils more or fewer of the others"),
            ),
            fit=_fit,
        ),
        driver=form.Driver("ctc", _write_driver, _read_driver, letters=_LETTERS),
    ),
)
