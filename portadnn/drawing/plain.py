"""The plainest tensors that make one choice: a type, a layout, a rank, a size.

Axes are ``dtype``, ``rank``, ``layout`` and ``size``. Where a choice is not made, tensors are small, packed and of four
dims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..enums import TensorFormat
from ..problem import packed_strides

Choices = Mapping[str, Any]
Describe = Callable[[Choices], dict[str, str]]

RANKS = tuple(range(3, 10))
IMAGE_RANKS = (4, 5)
WINDOW_RANKS = (3, 4, 5, 6)
LAYOUTS = ("nchw", "nhwc", "strided", "mixed", "repeated", "overlapping")
NO_OUTPUT = ("nchw", "nhwc", "strided", "repeated")  # one tensor alone has a layout
SIZES = ("small", "empty", "large")
AREAS = {"large": (65536, 4097), "wide": (1, 2**24 + 1), "vast": (65536, 32768)}
BLENDED: dict[str, tuple[Any, ...]] = {"alpha": (1, 2), "beta": (0, 1)}
TYPES: dict[str, tuple[Any, ...]] = {"types": ("same", "mixed")}
_SPATIAL = (5, 4, 3, 2, 1, 2, 1)


def text(dtype: str, dims: tuple[int, ...], layout: str = "nchw") -> str:
    """Return a tensor's text form; "strided" has gaps everywhere, "repeated" the same memory for each n."""
    word = f"{dtype}:{'x'.join(map(str, dims))}"
    if layout == "nhwc":
        return f"{word}:nhwc" if packed_strides(dims) != packed_strides(dims, TensorFormat.NHWC) else word
    if layout == "nchw":
        return word
    strides = [2 * s for s in packed_strides(tuple(d + 1 for d in dims))] if layout == "strided" else [0]
    if layout == "repeated":
        strides += packed_strides(dims)[1:]
    return f"{word}/{','.join(map(str, strides))}"


def large_dims(c: Choices) -> tuple[int, ...]:
    """Return the dims of an image of more than 2 Gi elements."""
    spatial = c.get("rank", 4) - 2
    return (1, 8, 2**29) if spatial == 1 else (1, 8, *AREAS["large"], *(1,) * (spatial - 2))


def dims_of(c: Choices) -> tuple[int, ...]:
    """Return the dims of an image."""
    if c.get("size") == "large":
        return large_dims(c)
    return (0 if c.get("size") == "empty" else 2, 8, *_SPATIAL[: c.get("rank", 4) - 2])


def layouts_of(c: Choices) -> tuple[str, str]:
    """Return the layouts of the first input and of outputs."""
    layout = c.get("layout", "nchw")
    pairs = {"mixed": ("nhwc", "nchw"), "repeated": ("repeated", "nchw"), "overlapping": ("nchw", "repeated")}
    return pairs.get(layout, (layout, layout))


def stored_type(c: Choices) -> str:
    """Return the type of an output that need not have the inputs'."""
    return "f16" if c.get("types") == "mixed" else str(c["dtype"])


def parameter_type(c: Choices) -> str:
    """Return the type of a normalisation's parameters."""
    return "f64" if c["dtype"] == "f64" else "f32"


def images(*names: str) -> Describe:
    """Describe an operation whose tensors all have the same dims; those behind "|" share the outputs' layout."""
    bar = names.index("|")

    def tensors(c: Choices) -> dict[str, str]:
        layout_in, layout_out = layouts_of(c)
        dims = dims_of(c)
        inputs = {name: text(c["dtype"], dims, layout_in) for name in names[:bar]}
        return inputs | {name: text(c["dtype"], dims, layout_out) for name in names[bar + 1 :]}

    return tensors
