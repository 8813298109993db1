"""Records of reductions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, LAYOUTS, Tensors, tensor
from ...drawing.sizes import NAN, RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...enums import DataType, ReduceTensorOp
from ...errors import NotSupported
from ...miopen_driver import form
from ...operation import BAD, UNSUPPORTED, CCall, Data, Features, Operation, Wrong
from ..reduce import NEUTRAL, ReduceTensor, reduce_tensor

_EXTREMES = (ReduceTensorOp.MIN, ReduceTensorOp.MAX, ReduceTensorOp.AMAX)

_REDUCED = ("spatial", "any", "all", "channels", "batch", "last", "any", "none")

_EXACT = (ReduceTensorOp.ADD, ReduceTensorOp.NORM1, *_EXTREMES)


def _kept(draws: Draws, dims: tuple[int, ...], reduced: str) -> tuple[int, ...]:
    """Return the dims of a reduction's result."""
    axes = {
        "spatial": range(2, len(dims)),
        "all": range(len(dims)),
        "channels": (1,),
        "batch": (0,),
        "last": (len(dims) - 1,),
        "none": (),
        "any": [axis for axis in range(len(dims)) if draws.integers(2)],
    }[reduced]
    return tuple(1 if axis in axes else size for axis, size in enumerate(dims))


def _reduce(draws: Draws, choices: Choices, op: str) -> str:
    operation = choices["operation"]
    dims = image_dims(draws, choices, empty=False)
    kept = _kept(draws, dims, choices["reduced"])
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    words = [op, f"a={tensors.text(dims)}", f"c={tensors.text(kept, written=True)}"]
    if choices["indices"] and operation in _EXTREMES:
        words.append(f"indices={tensor(DataType.INT32, kept, draws.choice(LAYOUTS) if draws.one_in(3) else 'nchw')}")
    skipped = " skip_nan=yes" if choices["skip"] and operation in NEUTRAL else ""
    return " ".join(words) + f" operation={operation.name.lower()}{choices['nan']}{skipped}"


def _plain(c: Choices) -> dict[str, str]:
    layout_in, layout_out = plain.layouts_of(c)
    dims = plain.dims_of(c)
    kept = (dims[0], 1, *(1 for _ in dims[2:]))
    found = {"a": plain.text(c["dtype"], dims, layout_in), "c": plain.text(plain.stored_type(c), kept, layout_out)}
    return found | ({"indices": plain.text("i32", kept)} if c.get("indices") else {})


def _implied(c: Choices) -> Mapping[str, Any]:
    return {"operation": "max"} if c.get("indices") else {}


def _exact(problem: Any) -> bool:
    return problem.operation in _EXACT


def _read_line(options: form.Options, t: str) -> list[str]:
    """Read the options of driver/reduce_driver.hpp; -C is the type of the arithmetic."""
    dims = form.numbers_of(options.get("D", "100,60,16,240"))
    reduced = form.numbers_of(options.get("R", "0,2"))
    if any(not 0 <= dim < len(dims) for dim in reduced):
        raise NotSupported(argument="-R", expected=f"dims below {len(dims)}", got=reduced)
    name = form.member("ReduceTensorOp", form.numbers_of(options.get("O", "0"))[0])
    left = tuple(1 if i in reduced else size for i, size in enumerate(dims))
    indices = name in ("MIN", "MAX", "AMAX") and form.numbers_of(options.get("I", "0"))[0] == 1
    words = [f"reduce_tensor a={form.tensor_text(t, form.wide(dims))} c={form.tensor_text(t, form.wide(left))}"]
    words.append(f"operation={name.lower()}")
    if int(options.get("N", "0")):
        words.append("nan_propagation=propagate_nan")
    if indices:
        words.append(f"indices={form.tensor_text('i32', form.wide(left))}")
    return [" ".join(words)]


def _write(problem: Any, numbers: form.Numbers) -> str:
    a, c = problem.a, problem.c
    reduced = [str(i) for i, (p, q) in enumerate(zip(a.dims, c.dims, strict=True)) if q == 1 != p]
    if not reduced and 1 not in a.dims:
        raise form.NoLine("the driver reduces at least one dim")
    compute = problem.compute_type or a.dtype.accumulator
    options: dict[str, Any] = {"A": numbers["alpha"], "B": numbers["beta"], "C": form.number(compute)}
    options |= {"D": ",".join(map(str, a.dims)), "R": ",".join(reduced) or a.dims.index(1)}
    options |= {
        "O": form.number(problem.operation),
        "N": int(problem.nan_propagation),
        "I": int(problem.indices is not None),
    }
    return f"{form.first_word('reduce', a, (DataType.FLOAT, DataType.HALF, DataType.DOUBLE))} {form.written(**options)}"


_LONG = {
    **{"DimLengths": "D", "DimsToReduce": "R", "ReduceOp": "O", "CompType": "C", "NanPropagation": "N"},
    **{"IndicesUsed": "I", "alpha": "A", "beta": "B"},
}
_DRIVER = form.Driver("reduce", _write, _read_line, blended=True, letters=_LONG)


RECORDS = (
    Operation(
        ReduceTensor,
        reduce_tensor,
        Drawing(
            _reduce,
            crossed={"dtype": TYPES, "layout": CLASSES, "operation": tuple(ReduceTensorOp)},
            turns={
                "size": SIZES,
                "rank": RANKS,
                "reduced": _REDUCED,
                "nan": NAN,
                "indices": (False, True, False),
                "skip": (False, True),
            },
        ),
        Features(
            _plain,
            {"operation": "add"},
            more={"indices": (False, True), "skip_nan": ("no", "yes"), **plain.TYPES, **plain.BLENDED},
            implied=_implied,
        ),
        Wrong(
            "6.0, cudnnReduceTensor",
            "a={t}:2x3x4x5 c={t}:2x1x4x1 operation=max",
            {
                BAD: (
                    "c={t}:2x1x4",
                    "c={t}:2x3x4x4",
                    "c={t}:2x1x3x1",
                    "c={t}:2x3x2x5",
                    "a={t}:0x3x4x5 c={t}:1x3x4x5",
                    "indices=i32:2x3x4x5",
                    "indices=f32:2x1x4x1",
                    "operation=add indices=i32:2x1x4x1",
                    "skip_nan=yes",
                    "a={t}:3x5 c={t}:3x1",
                    "c={t}:2x3x4x5 in_place=c:a",
                ),
                UNSUPPORTED: ("c={o}:2x1x4x1", "compute_type={wrong}"),
            },
        ),
        Data(
            (
                ("MUL*", ("huge", "inf"), "products of many overflow or vanish, as their order is"),
                ("MUL*", ("cancelling",), "a product of many overflows, and alpha may be 0"),
                ("NORM2", ("huge", "denormal"), "squares overflow, or vanish"),
                ("AVG", ("huge",), "sums overflow before they are divided"),
            ),
            _exact,
        ),
        driver=_DRIVER,
        c_calls=(CCall("cudnnReduceTensor", "a c", {"operation": "reduceTensorDesc.reduceTensorOp"}, ("operation",)),),
    ),
)
