"""Records of batch normalisation over several ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...bfloat16 import as_float64
from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors, tensor
from ...drawing.sizes import IMAGE_RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...enums import BatchNormMode
from ...operation import BAD, Data, Features, Filling, Operation, Wrong
from ...problem import Problem
from ..batch_norm_parts import (
    BatchNormalizationApply,
    BatchNormalizationBackwardApply,
    BatchNormalizationBackwardStatistics,
    BatchNormalizationStatistics,
    batch_normalization_apply,
    batch_normalization_backward_apply,
    batch_normalization_backward_statistics,
    batch_normalization_statistics,
)
from .batch_norm import EPSILON, enough, images

_SECTION = "docs/several-devices.md"
_KINDS: Mapping[str, type[Problem]] = {
    kind.op: kind
    for kind in (
        BatchNormalizationStatistics,
        BatchNormalizationApply,
        BatchNormalizationBackwardStatistics,
        BatchNormalizationBackwardApply,
    )
}
_GATHERED = ("means", "variances", "dscales", "dbiases", "counts")
_IMAGES = ("x", "dy", "y", "dx")
_OPTIONAL = {
    "running": ("running_mean", "running_variance"),
    "saved": ("saved_mean", "saved_inv_variance"),
    "totals": ("dscale", "dbias"),
}


def _shapes(kind: type[Problem], dims: tuple[int, ...], per_activation: bool, ranks: int) -> dict[str, tuple[int, ...]]:
    """Return the dims of all tensors that are no images."""
    shape = dims[1:] if per_activation else (dims[1], *(1 for _ in dims[2:]))
    found = {}
    for name in kind.tensor_names():
        if name not in _IMAGES:
            found[name] = (1, *shape) if name not in _GATHERED else (ranks, *shape)
        if name == "counts":
            found[name] = (ranks, *(1 for _ in dims[1:]))
    return found


def _left_out(kind: type[Problem], kept: tuple[str, ...]) -> set[str]:
    names = {name for group, names in _OPTIONAL.items() if group not in kept for name in names}
    return names & set(kind.absent)


def _line(draws: Draws, choices: Choices, op: str) -> str:
    kind, dtype, mode = _KINDS[op], choices["dtype"], choices["mode"]
    dims = image_dims(draws, choices)
    per_activation = mode is BatchNormMode.PER_ACTIVATION
    if dims[0]:
        dims = enough(dims, 0 if per_activation else len(dims) - 1)
    tensors = Tensors(draws, dtype, choices["layout"])
    out = kind.outputs
    given = [name for name in _IMAGES if name in kind.tensor_names()]
    words = [images(tensors, dims, [n for n in given if n not in out], [n for n in given if n in out])]
    shapes = _shapes(kind, dims, per_activation, draws.integers(1, 5))
    gone = _left_out(kind, choices["optional"])
    words += [f"{name}={tensor(dtype.accumulator, shape)}" for name, shape in shapes.items() if name not in gone]
    return f"{op} {' '.join(words)} mode={mode.name.lower()}"


def _drawing(kind: type[Problem]) -> Drawing:
    numbers: dict[str, tuple[float, ...]] = {"epsilon": EPSILON} if "epsilon" in kind.scalars else {}
    if "exponential_average_factor" in kind.scalars:
        numbers["exponential_average_factor"] = (1.0, 0.5, 0.1, 1.0, 0.0)
    return Drawing(
        _line,
        crossed={"dtype": TYPES, "layout": CLASSES, "mode": tuple(BatchNormMode)},
        turns={
            "size": SIZES,
            "rank": IMAGE_RANKS,
            "optional": (("running", "saved", "totals"), ("saved",), (), ("running", "totals")),
        },
        numbers=numbers,
    )


def _described(kind: type[Problem]) -> plain.Describe:
    def tensors(c: Choices) -> dict[str, str]:
        layout_in, layout_out = plain.layouts_of(c)
        dims, p = plain.dims_of(c), plain.parameter_type(c)
        found = {
            name: plain.text(c["dtype"], dims, layout_out if name in kind.outputs else layout_in)
            for name in _IMAGES
            if name in kind.tensor_names()
        }
        kept = tuple(group for group in _OPTIONAL if c.get(group))
        gone = _left_out(kind, kept)
        per_activation = not c.get("mode", "spatial").startswith("spatial")
        shapes = _shapes(kind, dims, per_activation, c.get("ranks", 1))
        return found | {name: plain.text(p, shape) for name, shape in shapes.items() if name not in gone}

    return tensors


def _plausible(filling: Filling) -> None:
    """Make variances positive and counts whole numbers, and saved statistics those of x."""
    arrays, problem = filling.arrays, filling.problem
    for name in arrays.keys() - problem.unread(filling.numbers):
        if name in ("variances", "running_variance", "saved_inv_variance"):
            filling.store(name, np.abs(as_float64(arrays[name])) + 0.25)
    if "counts" in arrays:
        ranks = problem.counts.dims[0]
        filling.store("counts", (2.0 + np.arange(ranks) * 3 % 7).reshape(problem.counts.dims))
    if "saved_mean" in problem.inputs and problem.x.size:
        dims, x = problem.saved_mean.dims, as_float64(arrays["x"])
        axes = tuple(i for i, (a, b) in enumerate(zip(x.shape, dims, strict=True)) if b == 1 != a)
        with np.errstate(all="ignore"):
            filling.store("saved_mean", x.mean(axes).reshape(dims))
            filling.store("saved_inv_variance", 1 / np.sqrt(x.var(axes) + 1e-3).reshape(dims))


_DATA = Data((("*", ("inf", "huge"), "statistics of infinite data, and squares that overflow"),), fit=_plausible)
_IMAGE_CHANGES = ("x={o}:2x3x4x5", "mode=per_activation")
_RIGHT = {
    "batch_normalization_statistics": "x={t}:2x3x4x5 mean={p}:1x3x1x1 variance={p}:1x3x1x1 mode=spatial",
    "batch_normalization_apply": (
        "x={t}:2x3x4x5 y={t}:2x3x4x5 scale={p}:1x3x1x1 bias={p}:1x3x1x1 means={p}:2x3x1x1 variances={p}:2x3x1x1 "
        "counts={p}:2x1x1x1 running_mean={p}:1x3x1x1 running_variance={p}:1x3x1x1 saved_mean={p}:1x3x1x1 "
        "saved_inv_variance={p}:1x3x1x1 mode=spatial"
    ),
    "batch_normalization_backward_statistics": (
        "x={t}:2x3x4x5 dy={t}:2x3x4x5 saved_mean={p}:1x3x1x1 saved_inv_variance={p}:1x3x1x1 dscale={p}:1x3x1x1 "
        "dbias={p}:1x3x1x1 mode=spatial"
    ),
    "batch_normalization_backward_apply": (
        "x={t}:2x3x4x5 dy={t}:2x3x4x5 dx={t}:2x3x4x5 scale={p}:1x3x1x1 saved_mean={p}:1x3x1x1 "
        "saved_inv_variance={p}:1x3x1x1 dscales={p}:2x3x1x1 dbiases={p}:2x3x1x1 counts={p}:2x1x1x1 "
        "dscale={p}:1x3x1x1 dbias={p}:1x3x1x1 mode=spatial"
    ),
}
_WRONG = {
    "batch_normalization_statistics": ("mode=per_activation", "mean={p}:1x4x1x1", "variance={wrong}:1x3x1x1"),
    "batch_normalization_apply": (
        *_IMAGE_CHANGES,
        "y={t}:2x3x5x4",
        "means={p}:3x3x1x1",
        "variances={p}:2x4x1x1",
        "counts={p}:1x1x1x1",
        "counts={p}:2x3x1x1",
        "means={wrong}:2x3x1x1",
        "saved_mean=",
        "running_variance=",
    ),
    "batch_normalization_backward_statistics": (
        *_IMAGE_CHANGES,
        "dy={t}:2x3x5x4",
        "saved_mean={p}:1x4x1x1",
        "dbias={p}:1x3x1",
    ),
    "batch_normalization_backward_apply": (
        *_IMAGE_CHANGES,
        "dy={t}:2x3x5x4",
        "dx={o}:2x3x4x5",
        "dscales={p}:3x3x1x1",
        "counts={p}:1x1x1x1",
        "dbias=",
        "in_place=dx:x",
    ),
}
_MORE: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "batch_normalization_statistics": {},
    "batch_normalization_apply": {"running": (False, True), "saved": (False, True), "ranks": (1, 3)},
    "batch_normalization_backward_statistics": {"saved": (True,)},
    "batch_normalization_backward_apply": {"totals": (False, True), "ranks": (1, 3)},
}


def _record(kind: type[Problem], function: Any, *benchmarks: str) -> Operation:
    op = kind.op
    return Operation(
        kind,
        function,
        _drawing(kind),
        Features(_described(kind), ranks=plain.IMAGE_RANKS, more=_MORE[op]),
        Wrong(_SECTION, _RIGHT[op], {BAD: _WRONG[op]}),
        _DATA,
        benchmarks=benchmarks,
    )


RECORDS = (
    _record(BatchNormalizationStatistics, batch_normalization_statistics, "x={t}"),
    _record(BatchNormalizationApply, batch_normalization_apply),
    _record(BatchNormalizationBackwardStatistics, batch_normalization_backward_statistics, "x={t}"),
    _record(BatchNormalizationBackwardApply, batch_normalization_backward_apply),
)
