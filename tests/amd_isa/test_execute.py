"""Kernels for AMD GPUs compute the right numbers when their machine code is executed on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from amd_isa import clang
from amd_isa.executor.memory import allocate
from amd_isa.executor.run import Code, ExecutorError

TARGETS = ("gfx1100", "gfx942")
ADD = """
__kernel void add(__global const float *a, __global const float *b, __global float *c, int n) {
    int i = get_global_id(0);
    if (i < n) c[i] = a[i] + b[i];
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_adds(target):
    clang.require()
    code = Code(clang.compile(ADD, target), target)
    assert not code.program.unknown
    a, b, c = (allocate(4 * 1000) for _ in range(3))
    a.view(np.float32)[:] = np.arange(1000)
    b.view(np.float32)[:] = 0.5
    code.launch("add", (4,), (256,), [a, b, c, np.int32(1000)])
    assert np.array_equal(c.view(np.float32), np.arange(1000) + 0.5)
    with pytest.raises(ExecutorError, match=r"add: address outside of every allocation: 'global_load.*at 0x.*lane"):
        code.launch("add", (4,), (256,), [a, b, c, np.int32(1001)])
