"""The executor finds a fault of each kind in portadnn's own kernels: each text is right until it is changed."""

from __future__ import annotations

import re

import helper
import pytest
from small_problems import run

import portadnn as dnn
from amd_isa import clang
from amd_isa.device import TARGETS, open_handle

pytestmark = pytest.mark.amd

SOFTMAX = "softmax_forward x=f32:2x1500x1x1 algorithm=accurate mode=instance"  # a row is shared by 128 work-items
TRANSPOSE = "transform_tensor x=f32:1x37x5x13:nhwc y=f32:1x37x5x13"
DROPOUT = "dropout_forward x=f32:1x2x3x7 dropout=0.5"
UNWRITTEN, RACE = "read of LDS that no work-item of the group wrote", "access to LDS that races with another wave's"
PRODUCT = "const u64 p0 = (u64)c0 * PHILOX_MULTIPLIER_0"
WITHOUT_CARRY = """
    const u32 low0 = c0 & 0xFFFFu, low1 = PHILOX_MULTIPLIER_0 & 0xFFFFu;
    const u32 high0 = c0 >> 16, high1 = PHILOX_MULTIPLIER_0 >> 16;
    const u64 p0 = (u64)(high0 * high1 + (low0 * high1 >> 16) + (high0 * low1 >> 16)) << 32 | c0 * PHILOX_MULTIPLIER_0
"""
IN_WARPS = r"(if \(lid % WARP == 0\) scratch\[lid / WARP\] = v;\s*\\\n\s*)BARRIER\(\);"
FAULTS = {  # kind: line, pattern and what takes its place in a text, how it is found: "numbers" by a wrong result
    "missing barrier": (SOFTMAX, IN_WARPS, r"\1;", f"{UNWRITTEN}|{RACE}"),
    "missing barrier of a tile": (TRANSPOSE, r"\n    BARRIER\(\);", "", f"{UNWRITTEN}|{RACE}"),
    "wrong lane mask": (
        SOFTMAX,
        r"v = OP\(v, exchange\(v, step\)\)",
        "if (lid % WARP < 24) v = OP(v, exchange(v, step))",
        "numbers",
    ),
    "read of LDS that is not written": (
        SOFTMAX,
        r"lid % WARP == 0\) scratch",
        "lid % (2 * WARP) == 0) scratch",
        UNWRITTEN,
    ),
    "read out of bounds": (TRANSPOSE, r" && b < SIZE_B\)\n(\s*tile)", r")\n\1", "address outside of every allocation"),
    "lost carry": (DROPOUT, re.escape(PRODUCT), WITHOUT_CARRY.strip(), "numbers"),
}


@pytest.fixture
def change(monkeypatch):
    """Return a function that puts a fault into every text compiled from now on, and the texts that have it."""
    plain, changed = clang.compile, []

    def into(pattern, text):
        def compile(source, target):
            other = re.sub(pattern, text, source)
            changed.extend([other] * (other != source))
            return plain(other, target)

        monkeypatch.setattr(clang, "compile", compile)
        return changed

    return into


def found(target, line):
    """Run a line, and return what is wrong: what the executor says, "numbers", or ""."""
    with open_handle(target) as handle:
        problem = dnn.parse(line)
        engine = next(e for e in handle.engines_for(problem) if e.why_not(problem, handle.info) is None)
        try:
            run(handle, line)  # in memory of exactly the size needed
            helper.check(handle, line, engine=engine)
        except dnn.ExecutionFailed as error:
            return str(error)
        except (AssertionError, pytest.fail.Exception):
            return "numbers"
    return ""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", FAULTS)
def test_is_found(kind, target, change):
    clang.require()
    line, pattern, text, how = FAULTS[kind]
    assert found(target, line) == ""
    changed = change(pattern, text)
    assert re.search(how, found(target, line))
    assert changed


def test_assumed_wave_of_64(change):
    """Sums over 64 lanes are right in waves of 64 alone."""
    clang.require()
    changed = change("#define WARP 32\nDEVICE int pd", "#define WARP 64\nDEVICE int pd")
    assert found("gfx942", SOFTMAX) == ""
    assert found("gfx1100", SOFTMAX) != ""
    assert len(changed) >= 2
