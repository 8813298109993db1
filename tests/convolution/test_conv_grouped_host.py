"""Convolutions of groups of few channels on tensor cores, on the host: the kernels' texts with PTX's definitions."""

from __future__ import annotations

import numpy as np
import pytest
from helper import Case, compare, diff_case, make_buffers
from host_cuda_device import COMPILER, HostCuda

from portadnn.bfloat16 import as_float64
from portadnn.diff.compare import bounds
from portadnn_backends.engines.conv import grouped
from portadnn_backends.reference.outcomes import outcomes

BLEND = "alpha=2.0 beta=-1.0"
ENGINES = {engine.name.partition("_")[2]: engine for engine in grouped.ENGINES}
CASES = {  # x, filters, y, the rest
    "8 channels": ("f16:2x32x6x9", "f16:32x8x3x3", "f16:2x32x6x9", "padding=1,1 groups=4"),
    "4 channels, stride 2": ("bf16:1x72x9x8", "bf16:72x4x3x3", "bf16:1x72x5x4", "padding=1,1 stride=2,2 groups=18"),
    "16 channels, 5 x 5": ("f16:1x80x7x6", "f16:80x16x5x5", "f16:1x80x7x6", f"padding=2,2 groups=5 {BLEND}"),
    "24 channels": ("f16:1x72x17x5", "f16:72x24x3x3", "f16:1x72x17x5", "padding=1,1 groups=3"),
    "32 channels, mirrored": ("f16:1x64x5x5", "f16:64x32x3x3", "f16:1x64x3x3", "padding=0,0 groups=2 mode=convolution"),
    "unequal sides, dilation": ("f16:1x32x8x8", "f16:64x8x3x2", "f16:1x64x6x7", "padding=1,0 dilation=2,1 groups=4"),
    "1 x 1, stride 2": ("bf16:3x48x5x4", "bf16:32x24x1x1", "bf16:3x32x3x2", "padding=0,0 stride=2,2 groups=2"),
    "one group": ("f16:1x16x6x6", "f16:24x16x3x3", "f16:1x24x6x6", "padding=1,1"),
}


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("direction", ENGINES)
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.long] * (number > 1)) for number, one in enumerate(CASES)]
)
def test_grouped(name, direction, tmp_path):
    x, w, y, rest = CASES[name]
    names = {"forward": "x w y", "backward_data": "dx w dy", "backward_filter": "x dw dy"}[direction].split()
    words = " ".join(f"{name}={spec}:nhwc" for name, spec in zip(names, (x, w, y), strict=True))
    case = Case(f"convolution_{direction} {words} {rest}", "integer")
    problem, numbers = diff_case(case).problem, diff_case(case).numbers
    device = HostCuda(tmp_path)
    engine = ENGINES[direction]
    assert engine.refusal(problem, device.info) is None
    assert engine.seconds(problem, device.info) > 0
    plan = engine.prepare(problem, device)
    buffers = make_buffers(case)
    arrays = [buffers[one].array for one in problem.names]
    want = outcomes(problem, [array.copy() for array in arrays], tuple(numbers.values()))
    plan.run(arrays, list(numbers.values()), np.full(plan.workspace_size, 0xA5, np.uint8))
    for out, due in want.items():
        due, bound, _ = bounds(problem, out, due, None, factor=1.0, product=0.0)
        compare(as_float64(arrays[problem.index(out)]), due, bound, name)
