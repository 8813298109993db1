"""Layouts of vectors, NCHWc and for filters CHWNc: 4 or 8 channels lie side by side. Forward convolutions read them.

MIOpen counts the channels of such a tensor in vectors, and has the lengths of CHWNc in the order c, h, w, n
(src/tensor.cpp). Its one solver of them is ConvAsmImplicitGemmGTCDynamicFwdDlopsNCHWC, for halves.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..enums import DataType
from ..errors import BadParam
from ..problem import TensorSpec, packed_strides
from .generated.enums import miopenTensorLayout_t

IMAGES = {miopenTensorLayout_t.miopenTensorNCHWc4: 4, miopenTensorLayout_t.miopenTensorNCHWc8: 8}
FILTERS = {miopenTensorLayout_t.miopenTensorCHWNc4: 4, miopenTensorLayout_t.miopenTensorCHWNc8: 8}
VECTORS = IMAGES | FILTERS


@dataclass(frozen=True)
class VectorSpec(TensorSpec):
    """A packed tensor of vectors: lengths in MIOpen's order, strides in elements.

    Attributes
    ----------
    layout
        One of VECTORS.
    """

    layout: miopenTensorLayout_t = miopenTensorLayout_t.miopenTensorNCHWc4

    @property
    def vector(self) -> int:
        """Channels of a vector."""
        return VECTORS[self.layout]

    @functools.cached_property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.dims) * self.vector

    @functools.cached_property
    def span(self) -> int:
        """Elements from the first to the last one."""
        return self.size

    @property
    def _by_name(self) -> dict[str, tuple[int, int]]:
        order = "nchw" if self.layout in IMAGES else "chwn"
        return {name: (self.dims[place], self.strides[place]) for place, name in enumerate(order)}

    @functools.cached_property
    def logical(self) -> tuple[int, ...]:
        """Lengths in the order n, c, h, w, channels counted one by one."""
        n, c, h, w = (self._by_name[name][0] for name in "nchw")
        return n, c * self.vector, h, w

    @functools.cached_property
    def unfolded(self) -> TensorSpec:
        """The same memory as a tensor of five dims: n, vectors of channels, channels of a vector, h, w."""
        found = {**self._by_name, "v": (self.vector, 1)}
        dims, strides = zip(*(found[name] for name in "ncvhw"), strict=True)
        return TensorSpec(self.dtype, dims, strides)


def vector_spec(dtype: DataType, layout: miopenTensorLayout_t, lengths: Sequence[int]) -> VectorSpec:
    """Return the packed tensor of lengths in the order n, c, h, w.

    Raises
    ------
    BadParam
        Not four lengths, or channels that do not fill vectors.
    """
    if len(lengths) != 4:
        raise BadParam(argument="num_lens", expected=f"4 for {layout.name}", got=len(lengths))
    vector = VECTORS[layout]
    n, c, h, w = lengths
    if c % vector:
        raise BadParam(argument="lens", expected=f"channels in multiples of {vector}", got=c)
    dims = (n, c // vector, h, w) if layout in IMAGES else (c // vector, h, w, n)
    return VectorSpec(dtype, dims, tuple(step * vector for step in packed_strides(dims)), layout=layout)
