"""Layouts of generated tensors: packed, with gaps, turned round, at odd addresses, and overlapping where allowed."""

from __future__ import annotations

from collections.abc import Sequence

from ..enums import DataType, TensorFormat
from ..problem import ALIGNMENT, TensorSpec, packed_strides
from .draws import Draws

PLAIN = ("nchw", "nhwc")
STRIDED = ("gaps", "spread", "reversed", "nhwc gaps")
LAYOUTS = ("nchw", "nhwc", "gaps", "shifted", "spread", "reversed", "nhwc gaps")
INPUT_ONLY = ("repeat", "overlap", "constant")  # different elements at one address
CLASSES = ("nchw", "nhwc", "strided", "shifted", "mixed")  # of a call: of all its tensors


def _nested(dims: Sequence[int], order: Sequence[int], gap: int = 0, step: int = 1) -> tuple[int, ...]:
    """Return strides with the axes of `order` from slow to fast, `gap` unused elements after each run."""
    strides = [0] * len(dims)
    for axis in reversed(order):
        strides[axis] = step
        step = step * max(dims[axis], 1) + gap
    return tuple(strides)


def strides_of(dims: tuple[int, ...], layout: str) -> tuple[int, ...]:
    """Return the strides, in elements, of a tensor in one of the layouts."""
    rank = len(dims)
    plain, nhwc = range(rank), (0, *range(2, rank), 1)
    if layout == "nhwc":
        return packed_strides(dims, TensorFormat.NHWC)
    if layout == "gaps":
        return _nested(dims, plain, gap=3)
    if layout == "spread":
        return _nested(dims, plain, step=2)
    if layout == "nhwc gaps":
        return _nested(dims, nhwc, gap=5)
    if layout == "reversed":
        return _nested(dims, tuple(reversed(plain)))
    if layout == "constant":
        return (0,) * rank
    strides = list(packed_strides(dims))
    if layout == "repeat":
        strides[0] = 0
    elif layout == "overlap":
        strides[-2] = 1  # each row starts one element after the one before
    elif layout not in ("nchw", "shifted"):
        raise ValueError(f"{layout} is no layout")
    return tuple(strides)


def tensor(dtype: DataType, dims: Sequence[int], layout: str = "nchw") -> str:
    """Return the text form of a tensor in one of the layouts; "shifted" starts off a 16-byte boundary."""
    alignment = dtype.itemsize if layout == "shifted" else ALIGNMENT
    return str(TensorSpec(dtype, tuple(dims), strides_of(tuple(dims), layout), alignment))


def any_layout(draws: Draws, written: bool) -> str:
    """Draw a layout for an output or an input; seldom the one that gives all elements one address."""
    if written:
        return draws.choice(LAYOUTS)
    layout = draws.choice((*LAYOUTS, *INPUT_ONLY))
    return layout if layout != "constant" or draws.one_in(4) else "repeat"


class Tensors:
    """Lays out the tensors of one call as its class of layouts says.

    Parameters
    ----------
    draws
        Decide among the layouts of the class ``"strided"`` (one for all tensors of the call) and ``"mixed"`` (each
        tensor has its own, inputs also overlapping ones).
    dtype
        Of the tensors, unless a call of `text` says otherwise.
    layout : {"nchw", "nhwc", "strided", "shifted", "mixed"}
    """

    def __init__(self, draws: Draws, dtype: DataType, layout: str) -> None:
        self.draws = draws
        self.dtype = dtype
        self.layout = draws.choice(STRIDED) if layout == "strided" else layout

    def choose(self, written: bool = False) -> str:
        """Return the layout of the next tensor, an output or not."""
        if self.layout != "mixed":
            return self.layout
        return any_layout(self.draws, written)

    def text(self, dims: Sequence[int], layout: str = "", *, written: bool = False) -> str:
        """Return a tensor's text form, in a layout that is drawn unless it is given."""
        return tensor(self.dtype, dims, layout or self.choose(written))
