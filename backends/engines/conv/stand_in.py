"""Names of algorithms that cuDNN has for more convolutions than portadnn's transforms take.

WINOGRAD_NONFUSED is cuDNN's for filters of 3 x 3 and 5 x 5, FFT_TILING for strides of 1 and 2 and for filters as long
as 256 in one direction. Where the engine of such a name does not go so far, the exact engines take the name: a call
that asks for it computes what cuDNN does.
"""

from __future__ import annotations

from portadnn.enums import DnnEnum
from portadnn.ops.convolution.calls import Convolution
from portadnn.problem import Problem

from ...base import Engine

_TILE = 64  # taps that fit into a tile of spectra


def stands_in(problem: Convolution, algo: DnnEnum) -> bool:
    """Tell whether exact engines take an algorithm's name for a problem, which its own engine does not take."""
    taps = problem.filter.dims[2:]
    if algo.name == "WINOGRAD_NONFUSED":
        plain = all(size == 1 for size in (*problem.stride, *problem.dilation))
        return len(taps) == 2 and plain and all(3 <= tap <= 5 for tap in taps) and max(taps) > 3
    if algo.name != "FFT_TILING":
        return False
    strides = [s for s, out in zip(problem.stride, problem.result.dims[2:], strict=True) if out > 1]
    dilated = any(d > 1 and tap > 1 for d, tap in zip(problem.dilation, taps, strict=True))
    return not dilated and (max(strides, default=1) > 1 or max(taps) > _TILE)


class StandIn(Engine):
    """An exact engine of convolutions, which takes such names."""

    def implements(self, problem: Problem, algo: DnnEnum) -> bool:
        return super().implements(problem, algo) or (isinstance(problem, Convolution) and stands_in(problem, algo))
