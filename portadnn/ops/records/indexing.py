"""Records of concatenation and of the k-th smallest value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, LAYOUTS, Tensors, tensor
from ...drawing.sizes import RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...enums import DataType
from ...miopen_driver import form
from ...operation import BAD, CCall, Data, Features, Operation, Wrong
from ..indexing import CatForward, KthvalueForward, cat_forward, kthvalue_forward

_TURNS = {"size": SIZES, "rank": RANKS}
_SMALL = ("small", "empty")


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


def _read_cat(options: form.Options, t: str) -> list[str]:
    """Read the options of driver/cat_driver.hpp: up to 8 tensors."""
    default = {"1": "2x32x128x128x128", "2": "2x32x128x128x128"}
    parts = [options.get(str(i), default.get(str(i), "")) for i in range(1, 9)]
    dims = [form.numbers_of(part) for part in parts if part]
    words = [f"x{i}={form.tensor_text(t, form.wide(part))}" for i, part in enumerate(dims)]
    dim, count = int(options.get("d", "0")), len(form.numbers_of(parts[0]))
    return [f"cat_forward {' '.join(words)} dim={dim + count if dim < 0 else dim}"]


def _read_kthvalue(options: form.Options, t: str) -> list[str]:
    """Read the k-th smallest number."""
    dims, dim = form.numbers_of(options.get("D", "256x4x2")), int(options.get("d", "-1"))
    place = dim + len(dims) if dim < 0 else dim
    return [f"kthvalue_forward x={form.tensor_text(t, form.wide(dims))} k={int(options.get('k', '1'))} dim={place}"]


_LONG = {"dim": "d", **{f"input{i}": str(i) for i in range(1, 9)}}


def _part(place: int) -> Callable[[Any], str | None]:
    """Return what tells a part's dims; the driver has a second part of its own where none is given."""

    def said(problem: Any) -> str | None:
        if place < len(problem.parts):
            return "x".join(map(str, problem.tensors[place].dims))
        if place == 1:
            raise form.NoLine("the driver joins two tensors or more")
        return None

    return said


_MORE_PARTS: dict[str, Any] = {str(i + 1): _part(i) for i in range(1, 8)}


RECORDS = (
    Operation(
        CatForward,
        cat_forward,
        Drawing(_cat, {"dtype": TYPES, "layout": CLASSES}, _TURNS),
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
        driver=replace(form.driver("cat", "1", read=_read_cat, **_MORE_PARTS, d=lambda p: p.dim), letters=_LONG),
    ),
    Operation(
        KthvalueForward,
        kthvalue_forward,
        Drawing(_kth, {"dtype": TYPES, "layout": CLASSES}, _TURNS),
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
        driver=form.driver("kthvalue", read=_read_kthvalue, k=lambda p: p.k, d=lambda p: p.dim),
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
