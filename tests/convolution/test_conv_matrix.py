"""Convolutions on AMD's matrix cores of gfx12: on a CPU, with a loop in place of the instruction.

The loop is written from the layout of the result in AMD's manual (lane and register of a row and a column), and takes
the operands from where the wave's lanes have them in local memory. tests/amd_isa/test_matrix.py executes other targets.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from helper import Case, check, open_handle, opencl_targets
from test_conv_tensor_core import ENGINES, OPS, SHAPES, line

import portadnn as dnn
from portadnn.problem import parse
from portadnn_backends.base import DeviceInfo
from portadnn_backends.engines.conv.matrix_units import MFMA, WMMA, unit_of_target
from portadnn_backends.opencl.compiler import Compiler

GPU = DeviceInfo(
    "opencl", "gfx", "AMD", "gpu", "", "", schedule="gpu", compute_units=304, simd_width=64, max_work_group=256,
    local_memory=64 << 10, global_memory=1 << 37, max_allocation=1 << 37, flops=80e12, bandwidth=5e12,
)  # fmt: skip
LOOP = """
typedef struct { const LOCAL Chunk *tile; int at; } Fragment;
DEVICE Fragment load_fragment(const LOCAL Chunk *tile, int at) { Fragment f; f.tile = tile; f.at = at; return f; }
DEVICE int at_row(int row, int chunk) { return (row * 4) ^ ((row / 2 ^ row / 8) % 2 * 4) ^ (row / 2 % 4) ^ chunk; }
DEVICE float element(Fragment f, int row, int k, int lane) {
    const int first = f.at / 64 * 64, chunk = ((f.at ^ at_row(lane % 16, 0)) & 2) + k / VE;
    const LOCAL E *p = (const LOCAL E *)(f.tile + first + at_row(row, chunk));
#ifdef DTYPE_HALF
    return vload_half(k % VE, (const LOCAL half *)p);
#else
    return as_float((u32)p[k % VE] << 16);
#endif
}
DEVICE Sums multiply(Fragment a, Fragment b, Sums acc) {
    const int lane = (int)get_local_id(0) % WAVE;
    for (int e = 0; e < 8; ++e) {
        for (int k = 0; k < 16; ++k) {
            acc[e] = fma(element(a, lane / 16 * 8 + e, k, lane), element(b, lane % 16, k, lane), acc[e]);
        }
    }
    return acc;
}
"""
_BUILTINS = re.compile(r'#line 1 "common/mma_builtins.h"\n.*?\n(?=#line \d+ "shared/common/mma_fragment.h")', re.DOTALL)


def looped(source):
    return _BUILTINS.sub(lambda _: LOOP, source)


@pytest.fixture
def device(monkeypatch):
    """A handle on a CPU that takes its kernels for those of an AMD GPU."""
    build = Compiler.build
    monkeypatch.setattr(Compiler, "build", lambda self, source: build(self, looped(source)))
    with dnn.Handle(open_handle(opencl_targets()[0]).backend) as handle:  # for programs of its own
        # optimised by PoCL 3, filter gradients vary; tests/amd_isa/test_matrix.py finds no race in them
        handle.device.compiler.options += " -cl-opt-disable"
        handle.device.info = replace(
            handle.info, schedule="gpu", simd_width=32, arch="gfx1201", features=frozenset({WMMA.feature})
        )
        yield handle


@pytest.mark.parametrize("dtype", ["f16", pytest.param("bf16", marks=pytest.mark.long)])
@pytest.mark.parametrize("layout", ["", ":nhwc"], ids=["nchw", "nhwc"])
@pytest.mark.parametrize("shape", [pytest.param(i, marks=[pytest.mark.long] * (i > 0)) for i in range(len(SHAPES))])
@pytest.mark.parametrize("direction", OPS)
def test_gfx12(device, direction, shape, layout, dtype):
    text = line(direction, SHAPES[shape], dtype, layout)
    check(device, Case(text + " alpha=2.0 beta=-1.0", "integer"), engine=ENGINES[direction])


def test_units_of_targets():
    for target in ("gfx908", "gfx90a", "gfx942"):
        assert unit_of_target(target) is MFMA
    for target in ("gfx1100", "gfx1151", "gfx1201"):
        assert unit_of_target(target) is WMMA
    assert unit_of_target("gfx906") is unit_of_target("gfx1030") is None


@pytest.mark.parametrize("direction", OPS)
def test_what_they_decline(direction):
    engine = ENGINES[direction]
    info = replace(GPU, features=frozenset({MFMA.feature}), arch="gfx942")
    assert engine.why_not(parse(line(direction, dtype="f32", rest="math=default")), info) is None, (
        "products of float32 are exact"
    )
    assert "forbids" in engine.why_not(parse(line(direction, rest="math=fma")), info)
    info = replace(info, features=frozenset({WMMA.feature}), arch="gfx1100")
    assert engine.why_not(parse(line(direction)), info) is None
    assert "do not take" in engine.why_not(parse(line(direction, dtype="f32", rest="math=tf32")), info)
    assert "no tensor cores" in engine.why_not(parse(line(direction)), replace(info, features=frozenset()))
