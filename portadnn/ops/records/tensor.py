"""Records of transform, add, op, set and scale."""

from __future__ import annotations

from typing import Any

from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors
from ...drawing.sizes import NAN, RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...enums import OpTensorOp
from ...miopen_driver import form
from ...operation import BAD, UNSUPPORTED, CCall, Data, Features, Operation, Wrong
from ..tensor import (
    AddTensor,
    OpTensor,
    ScaleTensor,
    SetTensor,
    TransformTensor,
    add_tensor,
    op_tensor,
    scale_tensor,
    set_tensor,
    transform_tensor,
)

EXACT = Data(exact=True)
_STRATA = {"dtype": TYPES, "layout": CLASSES}
_TURNS = {"size": SIZES, "rank": RANKS}
_FIVE = {"size": SIZES, "rank": (4, 5, 4, 3)}
_BROADCASTS = ("channel", "none", "scalar", "row", "image", "any")


def _alone(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    return f"{op} y={Tensors(draws, choices['dtype'], choices['layout']).text(dims, written=True)}"


def _transform(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    x, y = (Tensors(draws, choices["dtype"], choices[side]) for side in ("from", "to"))
    return f"{op} x={x.text(dims)} y={y.text(dims, written=True)}"


def _broadcast(draws: Draws, dims: tuple[int, ...], kind: str) -> tuple[int, ...]:
    """Return the dims of a tensor that is spread over one of `dims`."""
    kept = {
        "channel": (1,),
        "none": range(len(dims)),
        "scalar": (),
        "row": (len(dims) - 1,),
        "image": range(1, len(dims)),
        "any": [axis for axis in range(len(dims)) if draws.integers(2)],
    }[kind]
    return tuple(size if axis in kept else 1 for axis, size in enumerate(dims))


def _add(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    small = _broadcast(draws, dims, choices["broadcast"])
    return f"{op} a={tensors.text(small)} c={tensors.text(dims, written=True)}"


def _op(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    small = tensors.text(_broadcast(draws, dims, choices["broadcast"]))
    rest = f"operation={choices['operation'].name.lower()}{choices['nan']}"
    return f"{op} a={tensors.text(dims)} b={small} c={tensors.text(dims, written=True)} {rest}"


def _spread(c: Choices) -> dict[str, str]:
    layout_in, layout_out = plain.layouts_of(c)
    dims = plain.dims_of(c)
    small = (1, dims[1], *(1,) * (len(dims) - 2))
    return {"a": plain.text(c["dtype"], small, layout_in), "c": plain.text(c["dtype"], dims, layout_out)}


def _pairwise(c: Choices) -> dict[str, str]:
    layout_in, layout_out = plain.layouts_of(c)
    dims = plain.dims_of(c)
    small = dims if c.get("layout") in ("strided", "repeated") else (1, dims[1], *(1,) * (len(dims) - 2))
    return {
        "a": plain.text(c["dtype"], dims, layout_in),
        "b": plain.text(c["dtype"], small, layout_in),
        "c": plain.text(plain.stored_type(c), dims, layout_out),
    }


_LONG = {
    **{"batchsize": "n", "in_channels": "c", "in_h": "H", "in_w": "W", "alpha1": "A", "alpha2": "B", "beta": "G"},
    **{"tensor_op": "o", "tensor_val": "v"},
}


def _exact(problem: Any) -> bool:
    return problem.operation is not OpTensorOp.SQRT


_ALONE = Drawing(_alone, _STRATA, _TURNS)


def _read_line(options: form.Options, t: str) -> list[str]:
    """Read the options of driver/tensorop_driver.hpp: 0 sets, 1 scales, 2 and more are miopenTensorOp_t from 0 on."""
    dims = tuple(int(options.get(*one)) for one in zip("ncHW", ("64", "3", "32", "32"), strict=True))
    which, y = int(options.get("o", "0")), form.tensor_text(t, dims)
    if which < 2:
        return [f"{('set_tensor', 'scale_tensor')[which]} y={y}"]
    return [f"op_tensor a={y} b={y} c={y} operation={form.member('OpTensorOp', which - 2).lower()}"]


def _write(problem: Any, numbers: form.Numbers) -> str:
    spec = problem.tensors[-1]
    base = form.first_word("tensorop", spec)
    if problem.op == "set_tensor":
        return f"{base} {form.written(**form.image_options(spec), o=0, v=numbers['value'])}"
    if problem.op == "scale_tensor":
        return f"{base} {form.written(**form.image_options(spec), o=1, v=numbers['alpha'])}"
    if problem.op != "op_tensor" or problem.b.dims != problem.c.dims:
        raise form.NoLine("the driver broadcasts nothing")
    scale = {"A": numbers["alpha1"], "B": numbers["alpha2"], "G": numbers["beta"]}
    return f"{base} {form.written(**form.image_options(spec), **scale, o=2 + form.number(problem.operation))}"


_DRIVER = form.Driver("tensorop", _write, _read_line, blended=True, letters=_LONG)


_OP_SETTINGS = {
    "operation": "opTensorDesc.opTensorOp opTensorDesc.op opDesc.op",
    "nan_propagation": "opTensorDesc.opTensorNanOpt opTensorDesc.nanOpt opDesc.nanOpt",
}


RECORDS = (
    Operation(
        TransformTensor,
        transform_tensor,
        Drawing(
            _transform,
            crossed={"dtype": TYPES, "from": ("nchw", "nhwc", "mixed"), "to": ("nchw", "nhwc", "strided", "shifted")},
            turns=_TURNS,
        ),
        Features(plain.images("x", "|", "y"), more=plain.BLENDED),
        Wrong(
            "4.14",
            "x={t}:2x3x4x5 y={t}:2x3x4x5",
            {BAD: ("y={t}:2x3x4x6", "y={t}:2x3x20", "y={o}:2x3x4x5", "x={t}:1x3x4x5", "in_place=y:x")},
        ),
        EXACT,
        c_calls=(CCall("cudnnTransformTensor", "x y"),),
        benchmarks=("x={t} y={turned}",),
    ),
    Operation(
        AddTensor,
        add_tensor,
        Drawing(_add, crossed={**_STRATA, "broadcast": _BROADCASTS}, turns=_FIVE),
        Features(_spread, layouts=(*plain.LAYOUTS[:4], "overlapping"), more={"alpha": (1, 2), "beta": (1, 0)}),
        Wrong(
            "4.15",
            "a={t}:1x3x1x1 c={t}:2x3x4x5",
            {
                BAD: (
                    "a={t}:1x2x1x1",
                    "a={t}:1x4x1x1",
                    "a={t}:2x3x4x6",
                    "a={o}:1x3x1x1",
                    "a={t}:1x3x1",
                    "a={t}:2x3x4x5 in_place=c:a",
                ),
                UNSUPPORTED: ("a={t}:1x3x1x1x1x1 c={t}:2x3x4x5x1x1",),
            },
        ),
        EXACT,
        c_calls=(CCall("cudnnAddTensor", "a/biasDesc c/srcDestDesc"),),
        benchmarks=("a={c} c={t}",),
    ),
    Operation(
        OpTensor,
        op_tensor,
        Drawing(
            _op,
            crossed={**_STRATA, "operation": tuple(OpTensorOp)},
            turns={**_FIVE, "broadcast": _BROADCASTS, "nan": NAN},
        ),
        Features(
            _pairwise, {"operation": "add"}, more={**plain.TYPES, "alpha1": (1, 2), "alpha2": (1, 2), "beta": (0, 1)}
        ),
        Wrong(
            "4.16",
            "a={t}:2x3x4x5 b={t}:1x3x1x1 c={t}:2x3x4x5 operation=add",
            {
                BAD: (
                    "a={t}:1x3x1x1",
                    "b={t}:2x2x1x1",
                    "b={t}:1x4x1x1",
                    "c={t}:2x3x4x6",
                    "b={o}:1x3x1x1",
                    "b={t}:1x3x1",
                ),
                UNSUPPORTED: ("a={t}:2x3x4x5x1x1 b={t}:1x3x1x1x1x1 c={t}:2x3x4x5x1x1", "compute_type={wrong}"),
            },
        ),
        Data(
            (("MUL", ("huge",), "the product of an infinite and a vanished factor, which come in any order"),),
            exact=_exact,
        ),
        driver=_DRIVER,
        c_calls=(CCall("cudnnOpTensor", "a b/biasDesc c/destDesc", _OP_SETTINGS, ("operation",)),),
        benchmarks=("a={t} b={t} c={t} operation=add",),
    ),
    Operation(
        SetTensor,
        set_tensor,
        Drawing(_alone, _STRATA, _TURNS, {"value": (2.0, -1.5, 0.0, 65504.0, 0.1)}),
        Features(plain.images("|", "y"), {"value": 2}, layouts=(*plain.LAYOUTS[:3], "overlapping")),
        Wrong("4.17", "y={t}:2x3x4x5", {BAD: ("y=i32:2x3x4x5", "y={t}:2x3")}),
        EXACT,
        driver=_DRIVER,
        c_calls=(CCall("cudnnSetTensor", "y"),),
    ),
    Operation(
        ScaleTensor,
        scale_tensor,
        _ALONE,
        Features(plain.images("|", "y"), {"alpha": 2}, layouts=(*plain.LAYOUTS[:3], "overlapping")),
        Wrong("4.18", "y={t}:2x3x4x5", {BAD: ("y=u8:2x3x4x5", "y={t}:60")}),
        EXACT,
        driver=_DRIVER,
        c_calls=(CCall("cudnnScaleTensor", "y"),),
        benchmarks=("y={t}",),
    ),
)
