"""Elements that do not lie at strides of whole bytes: nibbles, and scales in tiles; in host memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..enums import tensor_reordering
from ..operation_graph import TensorInfo
from . import blocks

Bytes = npt.NDArray[np.uint8]


def _places(info: TensorInfo) -> npt.NDArray[np.int64]:
    return blocks.places(info.dims, info.strides, info.reordering is tensor_reordering.F8_128x4)


def loaded(info: TensorInfo, memory: Bytes) -> npt.NDArray[Any]:
    """Return a tensor's numbers, in its dims."""
    at = _places(info)
    if info.data_type.bits == 8:
        return info.data_type.loaded(memory[at])
    return info.data_type.loaded(memory[at // 2] >> (at % 2 * 4).astype(np.uint8) & 15)


def store(info: TensorInfo, memory: Bytes, values: npt.NDArray[Any]) -> None:
    """Write numbers where a tensor's elements lie; padding of tiles becomes zeros."""
    at, codes = _places(info), info.data_type.stored(values).view(np.uint8)
    if info.data_type.bits == 8:
        memory[...] = 0
        memory[at] = codes
        return
    for half in (0, 1):  # of each byte
        here = at % 2 == half
        place = at[here] // 2
        memory[place] = memory[place] & (0xF0 >> 4 * half) | codes[here] << 4 * half
