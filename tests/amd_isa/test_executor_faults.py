"""The executor finds what is wrong in a kernel: each fault is put into a text that is right without it."""

from __future__ import annotations

import numpy as np
import pytest

from amd_isa import clang
from amd_isa.device import TARGETS
from amd_isa.executor.memory import allocate
from amd_isa.executor.run import Code, ExecutorError

pytestmark = pytest.mark.amd

SUM = """
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void total(__global const float *x, __global float *y) {
    __local float part[256];
    int lid = get_local_id(0);
    part[lid] = x[lid + 256 * get_group_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 128; s > 0; s /= 2) {
        if (lid < s) part[lid] += part[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) y[get_group_id(0)] = part[0];
}
"""
COUNT = """
__kernel void total(__global const uint *x, __global uint *y) {
    uint low = x[0], high = 0, i = get_global_id(0);
    low += i << 24;
    if (low < i << 24) high++;
    y[2 * i] = low; y[2 * i + 1] = high;
}
"""
LOOP = "        if (lid < s) part[lid] += part[lid + s];\n        barrier(CLK_LOCAL_MEM_FENCE);"
FREE = "        if (lid < s) part[lid] += part[lid + s];\n        if (s > {}) barrier(CLK_LOCAL_MEM_FENCE);"


def sums(target, text):
    """Run the kernel on two groups; return the greatest error."""
    code = Code(clang.compile(text, target), target)
    x, y = allocate(4 * 512).view(np.float32), allocate(4 * 2).view(np.float32)
    x[:] = np.arange(512)
    code.launch("total", (2,), (256,), [x, y])
    return np.abs(y - x.reshape(2, 256).sum(1)).max()


@pytest.fixture(params=list(TARGETS))
def target(request):
    """A target, where there is a compiler."""
    clang.require()
    return request.param


def test_right_without_a_fault(target):
    assert sums(target, SUM) == 0


def test_missing_barrier(target):
    """Neither the one before the first read nor one in the loop may be left out."""
    first, rest = SUM.split("    barrier(CLK_LOCAL_MEM_FENCE);\n", 1)
    with pytest.raises(ExecutorError, match=r"total: (read of LDS that no|access to LDS that races).*'ds_(load|read)"):
        sums(target, first + rest)
    with pytest.raises(ExecutorError, match=r"access to LDS that races.*lane"):
        sums(target, SUM.replace(LOOP, FREE.format(128)))


def test_wrong_lane_mask(target):
    assert sums(target, SUM.replace("lid < s)", "(lid & 63) < s)").replace("int s = 128", "int s = 32")) > 0


def test_assumed_wave_of_64():
    """The last steps of a sum may do without barriers only where one wave makes them all."""
    clang.require()
    text = SUM.replace(LOOP, FREE.format(64).replace("part[lid]", "(*(volatile __local float *)&part[lid])"))
    assert sums("gfx942", text) == 0
    with pytest.raises(ExecutorError, match="access to LDS that races with another wave's"):
        sums("gfx1100", text)


def test_read_out_of_bounds(target):
    with pytest.raises(ExecutorError, match=r"outside of every allocation: 'global_load.*lane \d+, work-group 1"):
        sums(target, SUM.replace("x[lid +", "x[lid + 1 +"))


def test_lost_carry(target):
    """The high word of a sum of 64 bits that does without the carry is wrong."""
    for text, right in ((COUNT, True), (COUNT.replace("if (low < i << 24) high++;", ""), False)):
        code = Code(clang.compile(text, target), target)
        x, y = allocate(4).view(np.uint32), allocate(8 * 64).view(np.uint64)
        x[:] = 0xF8000000
        code.launch("total", (1,), (64,), [x, y.view(np.uint32)])
        assert np.array_equal(y, 0xF8000000 + (np.arange(64, dtype=np.uint64) << np.uint64(24))) == right


def test_unknown_instruction_is_named(target):
    text = COUNT.replace("low += i << 24;", '__asm__ volatile("s_memtime s[10:11]" ::: "s10", "s11");')
    if target == "gfx1100":
        text = text.replace("s_memtime s[10:11]", "s_getreg_b32 s10, hwreg(HW_REG_SHADER_CYCLES)")
    code = Code(clang.compile(text, target), target)
    with pytest.raises(ExecutorError, match=r"instruction that the executor does not have: 's_(memtime|getreg)"):
        code.launch("total", (1,), (64,), [allocate(4), allocate(8 * 64)])
