"""Record of the gradient of indexing."""

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
from ...operation import BAD, CCall, Data, Features, Filling, Operation, Wrong
from ..getitem import GetitemBackward, getitem_backward


def _text(tensors: Tensors, dims: tuple[int, ...], written: bool = False) -> str:
    """Return a tensor's text form; layouts of images are for images."""
    return tensors.text(dims, written=written) if len(dims) > 2 else tensor(tensors.dtype, dims)


def _draw(draws: Draws, choices: Choices, op: str) -> str:
    dims = list(image_dims(draws, choices))
    rank, left, words = len(dims), dims[:], []
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    if choices["slices"] == "some" and all(dims):
        dim = draws.integers(rank)
        start, step = draws.integers(dims[dim]), draws.integers(1, 4)
        end = start + draws.integers(dims[dim] - start + 2)
        left[dim] = -(-(min(end, dims[dim]) - start) // step)
        offset = draws.integers(left[0] + 1)
        left[0] -= offset
        words = [f"slices={dim},{start},{end},{step}", f"offset={offset}"]
    first, count = draws.integers(rank), choices["indices"]
    count = min(count, rank - first)
    if count:
        rows = draws.choice((0, 1, 7, 40, 300))
        left[first : first + count] = [max(0, rows - draws.integers(3))]
        kind = draws.choice((DataType.INT64, DataType.INT32))
        words += [f"index{i}={tensor(kind, (rows,))}" for i in range(count)]
        words.append(f"dims={','.join(str(first + i) for i in range(count))}")
    dx = tensors.text(tuple(dims), written=True)
    return f"{op} dy={_text(tensors, tuple(left))} dx={dx} {' '.join(words)} add={'yes' if choices['add'] else 'no'}"


def _plain(c: Choices) -> dict[str, str]:
    dims, (layout_in, layout_out) = plain.dims_of(c), plain.layouts_of(c)
    dy, dx = plain.text(c["dtype"], dims, layout_in), plain.text(c["dtype"], dims, layout_out)
    return {"dy": dy, "dx": dx, "index0": f"i32:{dims[0]}"}


_LONG = {
    **{"doutput": "O", "indexs": "D", "dinput": "N", "indexcount": "1", "dimcount": "2", "dims": "3"},
    **{"slicecount": "4", "slices": "5", "offset": "6"},
}


def _read_line(options: form.Options, t: str) -> list[str]:
    """Read the options of driver/getitem_driver.hpp, which has gradients alone."""
    dy, dx = (form.tensor_text(t, form.wide(form.numbers_of(options.get(name, "128x128")))) for name in "ON")
    indices = options.get("D", "128").split(",")
    words = [f"index{i}=i32:{part}" for i, part in enumerate(indices)]
    words.append(f"dims={options.get('3', '0')}")
    if int(options.get("4", "0")):
        words.append(f"slices={','.join(map(str, form.numbers_of(options['5'])))}")
    if int(options.get("6", "0")):
        words.append(f"offset={int(options['6'])}")
    return [f"getitem_backward dy={dy} dx={dx} {' '.join(words)}"]


def _line(problem: Any, numbers: form.Numbers) -> str:
    """Return how MIOpenDriver names a problem: one index, which has no more than dims."""
    if len(problem.indices) != 1:
        raise form.NoLine(f"{len(problem.indices)} indices")
    tensors = {"O": problem.dy, "D": problem.index0, "N": problem.dx}
    said = {letter: "x".join(map(str, spec.dims)) for letter, spec in tensors.items()} | {"3": problem.dims[0]}
    if problem.slices:
        parts = ["x".join(map(str, problem.slices[i : i + 4])) for i in range(0, len(problem.slices), 4)]
        said |= {"4": len(parts), "5": ",".join(parts)}
    if problem.offset:
        said["6"] = problem.offset
    return f"{form.first_word('getitem', problem.dy, form.SHORT)} {form.written(**said)}"


def _fit(filling: Filling) -> None:
    """Make indices of the integers, counted from either end; one place too far now and then."""
    problem = filling.problem
    for name, dim in zip(problem.indices, problem.dims, strict=True):
        size = problem.spans[dim].size
        filling.store(name, np.abs(np.array(filling.arrays[name], np.int64)) % (2 * size + 1) - size)


RECORDS = (
    Operation(
        GetitemBackward,
        getitem_backward,
        Drawing(
            _draw,
            {"dtype": TYPES, "layout": CLASSES, "indices": (1, 0, 2, 3)},
            {"size": SIZES, "rank": RANKS, "add": (False, True), "slices": ("none", "some", "some")},
        ),
        Features(_plain, {"dims": "0"}, sizes=("small", "empty")),
        Wrong(
            "MIOpen, miopenGetitemBackward",
            "dy={t}:6x4x5 dx={t}:2x3x4x5 index0=i64:6 index1=i64:6 dims=0,1",
            {
                BAD: (
                    "dims=0",
                    "dims=1,0",
                    "dims=0,2",
                    "dims=3,4",
                    "dy={t}:7x4x5",
                    "dy={t}:6x5x4",
                    "dy={t}:6x4x5x1",
                    "dx={o}:2x3x4x5",
                    "index1=i64:5",
                    "index1=i32:6",
                    "index1={t}:6",
                    "error=i32:3",
                    "offset=-1",
                    "slices=2,0,4",
                    "slices=2,0,4,0",
                    "slices=4,0,4,1",
                    "slices=2,3,2,1",
                    "slices=2,0,3,1",
                )
            },
        ),
        Data((("*", ("huge", "inf", "nan"), "sums overflow, or meet NaN"),), exact=True, fit=_fit),
        driver=form.Driver("getitem", _line, _read_line, letters=_LONG),
        c_calls=(CCall("miopenGetitemBackward", "dy dx"),),
    ),
)
