"""Parts of split sums, float32 in the workspace: the launch that adds them up (kernels_shared/conv/mma_reduce.cl)."""

from __future__ import annotations

from collections.abc import Mapping

from ...base import Arg, Device, Launch
from ..rounding import ceil_div

_ITEMS = 256


def adding(device: Device, defines: Mapping[str, int | float | str], results: int, parts: Arg, *blended: Arg) -> Launch:
    """Return the launch that adds up the parts of so many results in order, and blends them into the output."""
    kernel = device.compile("shared/conv/mma_reduce.cl", "conv_mma_reduce", defines)
    return Launch(kernel, (ceil_div(results, _ITEMS),), (_ITEMS,), (parts, *blended))
