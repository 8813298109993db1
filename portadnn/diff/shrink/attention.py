"""Changing a multi-head attention's problem: every tensor follows from a few sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ...enums import DataType
from ...ops.attention.layout import AttnQueryMap
from ...ops.attention.problems import Attention
from ...ops.dropout import STATES_SIZE
from ...problem import TensorSpec

_SIZES = {"q": "query_size", "k": "key_size", "v": "value_size"}


def attention_sizes(problem: Attention) -> dict[str, int]:
    """Return the sizes that no field has by itself: queries' and keys' projections have one size together."""
    steps, layout = problem.steps, problem.layout
    found = {"queries": steps[0], "keys": steps[1], "batch": problem.batch, "beams": problem.beams[0]}
    found["head"] = layout.head(0)
    given = dict(zip("qkv", layout.sizes, strict=True))
    return found | {size: given[name] for name, size in _SIZES.items() if _own(problem, name)}


def attention_numbers(problem: Attention) -> tuple[str, ...]:
    """Return the fields that are sizes: where nothing is projected there is none."""
    return ("heads", *(name for name in ("v_proj", "o_proj") if getattr(problem, name)))


def _own(problem: Attention, name: str) -> bool:
    """Tell whether vectors have a size besides that of the heads' queries and keys."""
    return name == "v" or getattr(problem, f"{name}_proj") > 0


def attention_with(problem: Attention, changes: Mapping[str, Any]) -> Attention:
    """Return an attention's problem with other fields or sizes, not yet validated.

    Parameters
    ----------
    changes
        By field, or by one of the names of `attention_sizes`. None leaves a tensor out. Types and alignments stay, dims
        follow.
    """
    values = {f.name: getattr(problem, f.name) for f in fields(problem)}
    values.update({name: value for name, value in changes.items() if name in values})
    wanted = {**attention_sizes(problem), **changes}
    for name in ("q", "k"):
        if _own(problem, name) and f"{name}_proj" not in changes:
            values[f"{name}_proj"] = wanted["head"]
    own = wanted["beams"] if values["query_map"] is AttnQueryMap.ONE_TO_ONE else 1
    steps, batch, beams = (wanted["queries"], wanted["keys"]), wanted["batch"], (wanted["beams"], own)
    for name, size in _SIZES.items():
        side = name != "q"
        dims = (steps[side], batch, beams[side], wanted[size if _own(problem, name) else "head"])
        for tensor in (name, f"d{name}"):
            _resize(values, tensor, dims)
    shaped = type(problem)(**values)  # whose layout knows the sizes
    for name in ("out", "dout", "residuals"):
        _resize(values, name, (steps[0], batch, beams[0], shaped.layout.out))
    for name in ("w", "dw"):
        _resize(values, name, (shaped.layout.size,))
    if values.get("w") is not None and not shaped.layout.size:
        values["w"] = None
    _resize(values, "lengths_q", (batch * beams[0],))
    _resize(values, "lengths_kv", (batch * beams[1],))
    _resize(values, "windows", (2, steps[0]))
    _memory(type(problem)(**values), values)
    return type(problem)(**values)


def _memory(shaped: Attention, values: dict[str, Any]) -> None:
    """Make the reserve space and random states anew."""
    if values.get("reserve") is not None:
        size = shaped.kept.size * shaped.dtype.accumulator.itemsize
        values["reserve"] = TensorSpec(DataType.UINT8, (size,), (1,))
    for name in ("attn", "post"):
        if f"{name}_states" in values:
            needed = values["reserve"] is not None and values[f"{name}_dropout"] > 0
            values[f"{name}_states"] = TensorSpec(DataType.UINT8, (STATES_SIZE,), (1,)) if needed else None


def _resize(values: dict[str, Any], name: str, dims: tuple[int, ...]) -> None:
    """Give a tensor other dims, if it is there; one with gaps loses them."""
    spec = values.get(name)
    if spec is not None and spec.dims != dims:
        values[name] = TensorSpec(spec.dtype, dims, spec.like(dims).strides, spec.alignment)
