"""Records of multi-head attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from ...bfloat16 import as_float64
from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors, tensor
from ...drawing.strata import TYPES, Choices, Drawing
from ...enums import DataType
from ...operation import BAD, UNSUPPORTED, Before, Data, Features, Filling, Operation, Wrong, counterpart
from ...problem import Problem
from ...specs import TensorSpec
from ..attention.calls import (
    multi_head_attn_backward_data,
    multi_head_attn_backward_weights,
    multi_head_attn_forward,
)
from ..attention.layout import AttnQueryMap, Heads, Reserve
from ..attention.problems import (
    Attention,
    MultiHeadAttnBackwardData,
    MultiHeadAttnBackwardWeights,
    MultiHeadAttnForward,
)
from ..dropout import STATES_SIZE

# Steps of queries and of keys, batch, beams
_SIZES = ((3, 4, 2, 1), (5, 2, 1, 3), (1, 1, 1, 1), (2, 19, 3, 2), (17, 5, 2, 1), (4, 4, 2, 2))
_PROJECTIONS = ("all", "none", "out", "in", "values", "all")
_EXTRAS = ("all", "none", "lengths", "windows", "residuals")
_RESTS = ("", " scale=0.25", " attn_dropout=0.25", " post_dropout=0.5", " attn_dropout=0.5 post_dropout=0.25 scale=0.5")


class _Laid(Tensors):
    """Tensors of a call; "batch first" has the sequences' batch outermost, as most programs have it."""

    def text(self, dims: Sequence[int], layout: str = "", *, written: bool = False) -> str:
        if self.layout != "batch first":
            return super().text(dims, layout, written=written)
        t, n, b, c = dims
        return f"{self.dtype.code}:{t}x{n}x{b}x{c}/{b * c},{t * b * c},{c},1"


def _sizes(draws: Draws, projections: str) -> tuple[tuple[int, int, int], tuple[int, int, int, int]]:
    """Return the sizes of queries, keys and values, and what they are projected to."""
    if projections == "none":
        same = draws.integers(1, 8)
        return (same, same, draws.integers(1, 8)), (0, 0, 0, 0)
    given = (draws.integers(1, 9), draws.integers(1, 9), draws.integers(1, 9))
    head, value, out = draws.integers(1, 8), draws.integers(1, 8), draws.integers(1, 12)
    if projections in ("out", "values"):
        return (given[0], given[0], given[2]), (0, 0, value if projections == "values" else 0, out)
    return given, (head, head, value, out if projections == "all" else 0)


def _line(draws: Draws, choices: Choices, op: str) -> str:
    dtype = choices["dtype"]
    tensors = _Laid(draws, dtype, choices["layout"])
    queries, keys, batch, beams = choices["size"]
    own = choices["query_map"] is AttnQueryMap.ONE_TO_ONE
    sizes, projections = _sizes(draws, choices["projections"])
    heads = draws.choice((1, 2, 3))
    layout = Heads(heads, sizes, projections, choices["biases"] == 1)
    key_beams = beams if own else 1
    dims = {"q": (queries, batch, beams, sizes[0])}
    dims |= {"k": (keys, batch, key_beams, sizes[1]), "v": (keys, batch, key_beams, sizes[2])}
    words = [op, *(f"{name}={tensors.text(shape)}" for name, shape in dims.items())]
    out = (queries, batch, beams, layout.out)
    if op.endswith("forward"):
        words.append(f"out={tensors.text(out, written=True)}")
        if choices["extras"] in ("all", "residuals"):
            words.append(f"residuals={tensors.text(out)}")
    else:
        words.append(f"dout={tensors.text(out)}")
    if op.endswith("data"):
        words += [f"d{name}={tensors.text(shape, written=True)}" for name, shape in dims.items()]
    if op.endswith("weights"):
        words.append(f"dw={tensor(dtype, (max(layout.size, 1),))}")
    elif layout.size:
        words.append(f"w={tensor(dtype, (layout.size,))}")
    if choices["extras"] in ("all", "lengths"):
        words += [f"lengths_q=i32:{batch * beams}", f"lengths_kv=i32:{batch * key_beams}"]
    if choices["extras"] in ("all", "windows") and not op.endswith("weights"):
        words.append(f"windows=i32:2x{queries}")
    words.append(f"heads={heads}")
    words += [f"{n}_proj={size}" for n, size in zip("qkvo", projections, strict=True) if size]
    words += [f"biases={choices['biases']}", f"query_map={choices['query_map'].name.lower()}"]
    rest: str = choices["rest"]
    if op.endswith("forward") and choices["training"]:
        rows = batch * beams * queries, batch * key_beams * keys
        words.append(f"reserve=u8:{Reserve(layout, rows, dtype).size}")
        words += [f"{name}_states=u8:{STATES_SIZE}" for name in ("attn", "post") if f"{name}_dropout" in rest]
    return " ".join(words) + rest


def _drawing(op: str) -> Drawing:
    projections = tuple(p for p in _PROJECTIONS if not (op.endswith("weights") and p == "none"))
    crossed = {"dtype": TYPES, "layout": (*CLASSES, "batch first"), "query_map": tuple(AttnQueryMap)}
    turns = {"size": _SIZES, "biases": (0, 1), "projections": projections, "extras": _EXTRAS, "rest": _RESTS}
    return Drawing(_line, crossed=crossed, turns={**turns, "training": (True, False)})


def _plain(*names: str) -> plain.Describe:
    def tensors(c: Choices) -> dict[str, str]:
        beams = 2 if c.get("query_map") == "one_to_one" else 1
        biased = 16 if c.get("biases") == 1 else 0
        sizes = {"q": (3, 2, 2, 4), "k": (5, 2, beams, 4), "v": (5, 2, beams, 4), "w": (64 + biased,)}
        sizes |= {"out": (3, 2, 2, 4), "dout": (3, 2, 2, 4), "dw": sizes["w"]}
        sizes |= {f"d{name}": sizes[name] for name in "qkv"}
        found = {name: plain.text(c["dtype"], sizes[name]) for name in names}
        if "out" in names and (c.get("attn_dropout") or c.get("post_dropout")):
            layout = Heads(2, (4, 4, 4), (2, 2, 2, 4), biased > 0)
            kept = Reserve(layout, (12, 10 * beams), TensorSpec.parse(f"{c['dtype']}:1").dtype)
            found["reserve"] = f"u8:{kept.size}"
            for name in ("attn", "post"):
                if c.get(f"{name}_dropout"):
                    found[f"{name}_states"] = f"u8:{STATES_SIZE}"
        return found

    return tensors


_GIVEN = {"heads": 2, "q_proj": 2, "k_proj": 2, "v_proj": 2, "o_proj": 4}


def _features(*names: str) -> Features:
    more = {"biases": (0, 1), "attn_dropout": (0.0, 0.5), "post_dropout": (0.0, 0.5)}
    return Features(_plain(*names), given=_GIVEN, ranks=(), layouts=(), sizes=("small",), more=more)


def _before(*kinds: type[Problem]) -> Callable[[Any], Before]:
    def before(problem: Attention) -> Before:
        layout = problem.layout
        w = TensorSpec.packed(problem.dtype, (layout.size,)) if layout.size else None
        out = TensorSpec.packed(problem.dtype, (*problem.q.dims[:3], layout.out))
        states = TensorSpec.packed(DataType.UINT8, (STATES_SIZE,))
        more: dict[str, Any] = {"out": out, "dout": out, "w": w, "residuals": None, "windows": None}
        more |= {f"d{name}": getattr(problem, name) for name in "qkv"}
        more |= {f"{n}_states": states if getattr(problem, f"{n}_dropout") else None for n in ("attn", "post")}
        for kind in kinds:
            wanted = {
                name: spec for name, spec in more.items() if name in kind.tensor_names() and not hasattr(problem, name)
            }
            yield counterpart(kind, problem, **wanted)

    return before


def _training(problem: Any, kind: type[Problem]) -> Any:
    """Return the pass that leaves what a gradient's problem reads; its outputs are packed."""
    layout = problem.layout
    w = TensorSpec.packed(problem.dtype, (layout.size,)) if layout.size else None
    out = TensorSpec.packed(problem.dtype, (*problem.q.dims[:3], layout.out))
    states = TensorSpec.packed(DataType.UINT8, (STATES_SIZE,))
    values: dict[str, Any] = {field.name: getattr(problem, field.name, None) for field in fields(kind)}
    made: Mapping[str, Any] = {"out": out, "dout": out, "w": w, **{f"d{n}": getattr(problem, n) for n in "qkv"}}
    values |= {name: spec for name, spec in made.items() if name in values and values[name] is None}
    if kind is MultiHeadAttnForward:
        values |= {f"{n}_states": states if getattr(problem, f"{n}_dropout") else None for n in ("attn", "post")}
    return kind(**values)


def _fit(filling: Filling) -> None:
    """Make lengths and windows of the integers, small parameters, and what earlier passes would have left."""
    problem: Attention = filling.problem
    arrays = filling.arrays
    scale = 1 / np.sqrt(max(*problem.layout.sizes, problem.layout.merged))

    def stored(spec: TensorSpec, name: str) -> Any:
        return spec.dtype.stored((scale if name == "w" else 1.0) * as_float64(filling.draw(spec, name)))

    for side, name in enumerate(("lengths_q", "lengths_kv")):
        if name in arrays:
            filling.store(name, np.abs(np.array(arrays[name], np.int64)) % (problem.steps[side] + 2))
    if "windows" in arrays:
        keys = problem.steps[1]
        first, last = np.abs(np.array(arrays["windows"], np.int64))
        filling.store("windows", np.stack([first % (keys + 1), first % (keys + 1) + last % (keys + 1)]))
    if "w" in arrays:
        arrays["w"][...] = stored(problem.w, "w")  # type: ignore[attr-defined]
    left: dict[str, Any] = {}
    if "backward" in problem.op:
        left = {name: arrays[name] for name in arrays if name not in ("dq", "dk", "dv", "dw", "reserve")}
        for kind in (MultiHeadAttnForward, MultiHeadAttnBackwardData)[: 2 if problem.op.endswith("weights") else 1]:
            earlier = _training(problem, kind)
            for name, spec in zip(earlier.names, earlier.tensors, strict=True):
                if name in left:
                    continue
                if spec.dtype is DataType.UINT8:
                    left[name] = filling.draw(spec, name) if "states" in name else np.zeros(spec.dims, np.uint8)
                else:
                    left[name] = stored(spec, name)
            found = filling.exact(earlier, [left[name].copy() for name in earlier.names], {})
            left["reserve"] = found["reserve"]
        arrays["reserve"][...] = left["reserve"]


_DATA = Data(
    (
        ("*", ("nan", "inf", "huge"), "a maximum may pass over NaN, and what no weight reaches is multiplied by 0"),
        ("*", ("cancelling",), "the softmax magnifies the rounding of large sums"),
    ),
    opaque=("reserve",),
    fit=_fit,
)

_RIGHT = "q={t}:3x2x2x4 k={t}:5x2x1x4 v={t}:5x2x1x4 heads=2 q_proj=2 k_proj=2 v_proj=2 o_proj=4"
_SHAPES = (
    "q={t}:3x2x2x0 w={t}:48",
    "k={t}:5x2x2x4",
    "k={t}:5x1x1x4",
    "v={t}:4x2x1x4",
    "q={t}:3x2x2",
    "heads=0",
    "k_proj=3",
    "biases=2",
    "scale=-1",
    "query_map=one_to_one",
    "attn_dropout=1.5",
)

RECORDS = (
    Operation(
        MultiHeadAttnForward,
        multi_head_attn_forward,
        _drawing("multi_head_attn_forward"),
        _features("q", "k", "v", "w", "out"),
        Wrong(
            "cuDNN 7.5",
            f"{_RIGHT} w={{t}}:64 out={{t}}:3x2x2x4",
            {
                BAD: (
                    *_SHAPES,
                    "w={t}:63",
                    "out={t}:3x2x2x5",
                    "out={o}:3x2x2x4",
                    "residuals={t}:3x2x2x3",
                    "lengths_q=i32:3",
                    "lengths_kv=i32:4",
                    "lengths_q={t}:4",
                    "windows=i32:2x5",
                    "windows=i32:3x3",
                ),
                UNSUPPORTED: ("compute_type={wrong}",),
            },
        ),
        _DATA,
    ),
    Operation(
        MultiHeadAttnBackwardData,
        multi_head_attn_backward_data,
        _drawing("multi_head_attn_backward_data"),
        _features("dout", "q", "k", "v", "w", "dq", "dk", "dv"),
        Wrong(
            "cuDNN 7.5",
            f"{_RIGHT} w={{t}}:64 dout={{t}}:3x2x2x4",
            {
                BAD: ("w={t}:63", "dout={t}:3x2x2x5", "reserve=<", "dk={t}:5x2x1x3", "dv={o}:5x2x1x4", "k_proj=3"),
                UNSUPPORTED: ("compute_type={wrong}",),
            },
        ),
        _DATA,
        before=_before(MultiHeadAttnForward),
    ),
    Operation(
        MultiHeadAttnBackwardWeights,
        multi_head_attn_backward_weights,
        _drawing("multi_head_attn_backward_weights"),
        _features("q", "k", "v", "dout", "dw"),
        Wrong(
            "cuDNN 7.5",
            f"{_RIGHT} dw={{t}}:64 dout={{t}}:3x2x2x4",
            {
                BAD: ("dw={t}:63", "dw={o}:64", "dout={t}:3x2x2x5", "reserve=<", "k_proj=3", "lengths_q=i32:3"),
                UNSUPPORTED: ("compute_type={wrong}",),
            },
        ),
        _DATA,
        before=_before(MultiHeadAttnForward, MultiHeadAttnBackwardData),
    ),
)
