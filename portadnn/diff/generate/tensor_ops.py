"""Problems of transform, add, op, set and scale, and of reductions."""

from __future__ import annotations

from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, LAYOUTS, Tensors, tensor
from ...drawing.sizes import NAN, RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices
from ...enums import DataType, OpTensorOp, ReduceTensorOp
from .legacy import family

_STRATA = {"dtype": TYPES, "layout": CLASSES}
_TURNS = {"size": SIZES, "rank": RANKS}
_FIVE = {"size": SIZES, "rank": (4, 5, 4, 3)}
_BROADCASTS = ("channel", "none", "scalar", "row", "image", "any")
_EXTREMES = (ReduceTensorOp.MIN, ReduceTensorOp.MAX, ReduceTensorOp.AMAX)


@family("set_tensor", "scale_tensor", crossed=_STRATA, turns=_TURNS)
def _alone(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    return f"{op} y={Tensors(draws, choices['dtype'], choices['layout']).text(dims, written=True)}"


@family(
    "transform_tensor",
    crossed={"dtype": TYPES, "from": ("nchw", "nhwc", "mixed"), "to": ("nchw", "nhwc", "strided", "shifted")},
    turns=_TURNS,
)
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


@family("add_tensor", crossed={**_STRATA, "broadcast": _BROADCASTS}, turns=_FIVE)
def _add(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    small = _broadcast(draws, dims, choices["broadcast"])
    return f"{op} a={tensors.text(small)} c={tensors.text(dims, written=True)}"


@family(
    "op_tensor",
    crossed={**_STRATA, "operation": tuple(OpTensorOp)},
    turns={**_FIVE, "broadcast": _BROADCASTS, "nan": NAN},
)
def _op(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    small = tensors.text(_broadcast(draws, dims, choices["broadcast"]))
    rest = f"operation={choices['operation'].name.lower()}{choices['nan']}"
    return f"{op} a={tensors.text(dims)} b={small} c={tensors.text(dims, written=True)} {rest}"


_REDUCED = ("spatial", "any", "all", "channels", "batch", "last", "any", "none")


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


@family(
    "reduce_tensor",
    crossed={**_STRATA, "operation": tuple(ReduceTensorOp)},
    turns={"size": SIZES, "rank": RANKS, "reduced": _REDUCED, "nan": NAN, "indices": (False, True, False)},
)
def _reduce(draws: Draws, choices: Choices, op: str) -> str:
    operation = choices["operation"]
    dims = image_dims(draws, choices, empty=False)
    kept = _kept(draws, dims, choices["reduced"])
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    words = [op, f"a={tensors.text(dims)}", f"c={tensors.text(kept, written=True)}"]
    if choices["indices"] and operation in _EXTREMES:
        words.append(f"indices={tensor(DataType.INT32, kept, draws.choice(LAYOUTS) if draws.one_in(3) else 'nchw')}")
    return " ".join(words) + f" operation={operation.name.lower()}{choices['nan']}"
