"""Products on AMD's matrix cores: MFMA's and WMMA's machine code, executed, gives the reference's numbers."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from helper import Case, check
from source_recorder import SourceRecorder

from amd_isa import clang, hip_texts
from amd_isa.device import open_handle
from amd_isa.rates import turn
from amd_isa.resources import resources
from portadnn.problem import parse
from portadnn_backends.base import DeviceInfo
from portadnn_backends.engines.conv import tensor_core, tensor_core_choice
from portadnn_backends.engines.conv.matrix_units import WMMA, unit_of_target
from portadnn_backends.engines.conv.tensor_core_tiles import Choice, Product
from portadnn_backends.opencl.matrix_cores import probes

pytestmark = pytest.mark.amd

TARGETS = ("gfx942", "gfx1100")
OPS = {
    "forward": ("convolution_forward", ("x", "w", "y")),
    "data": ("convolution_backward_data", ("dx", "w", "dy")),
    "filter": ("convolution_backward_filter", ("x", "dw", "dy")),
}
ENGINES = dict(zip(OPS, tensor_core.ENGINES, strict=True))
# channels that fill chunks and slices or do not, strides, dilations, groups, three dimensions, true convolutions
SHAPES = (
    "{x}={t}:2x24x9x8{f} {w}={t}:40x24x3x3{f} {y}={t}:2x40x9x8{f} padding=1,1",
    "{x}={t}:1x64x6x7{f} {w}={t}:16x64x3x2{f} {y}={t}:1x16x3x6{f} padding=1,0 stride=2,1",
    "{x}={t}:2x20x7x5{f} {w}={t}:36x10x3x2{f} {y}={t}:2x36x4x4{f} padding=1,0 stride=2,1 groups=2 mode=convolution",
    "{x}={t}:1x9x4x5x6{f} {w}={t}:5x9x2x3x3{f} {y}={t}:1x5x5x3x6{f} padding=1,1,1 stride=1,2,1",
    "{x}={t}:1x16x10x10{f} {w}={t}:32x16x3x3{f} {y}={t}:1x32x6x6{f} padding=0,0 dilation=2,2",
)
SAMPLE = (("f16", "", 0), ("bf16", ":nhwc", 0))
CASES = [
    pytest.param(*case, marks=[] if case[2:] in SAMPLE else pytest.mark.long)
    for case in itertools.product(TARGETS, OPS, ("f16", "bf16", "f32"), ("", ":nhwc"), range(len(SHAPES)))
    if case[2] != "f32" or unit_of_target(case[0]) is not WMMA
]


def handle_of(target):
    """Open a handle on a GPU with matrix cores that the executor stands for."""
    clang.require()
    handle = open_handle(target)
    handle.device.info = replace(handle.info, features=handle.info.features | {unit_of_target(target).feature})
    return handle


def line(direction, shape, dtype, layout):
    op, (x, w, y) = OPS[direction]
    return f"{op} {shape.format(x=x, w=w, y=y, t=dtype, f=layout)}"


@pytest.mark.parametrize(("target", "direction", "dtype", "layout", "shape"), CASES)
def test_convolution(target, direction, dtype, layout, shape):
    with handle_of(target) as handle:
        text = line(direction, SHAPES[shape], dtype, layout)
        check(handle, Case(f"{text} alpha=2.0 beta=-0.5"), engine=ENGINES[direction])
        assert "conv_matrix" in handle.device.launched


@pytest.mark.long
@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("direction", OPS)
@pytest.mark.parametrize("target", TARGETS)
def test_every_tile(monkeypatch, target, direction, splits):
    with handle_of(target) as handle:
        for tile in tiles_of(target, direction):
            monkeypatch.setattr(
                tensor_core_choice,
                "best_choice",
                lambda product, info, whole=False, tile=tile: Choice(product, tile, splits),
            )
            for layout in ("", ":nhwc"):
                check(handle, line(direction, SHAPES[0], "f16", layout), engine=ENGINES[direction])


LARGE = "{x}={t}:32x256x28x28:nhwc {w}={t}:256x256x3x3:nhwc {y}={t}:32x256x28x28:nhwc padding=1,1"
LOOP_SAMPLE = (("gfx942", "f16", 0), ("gfx1201", "f16", 0))
LOOPS = [
    pytest.param(target, direction, dtype, i, marks=[] if (target, dtype, i) in LOOP_SAMPLE else pytest.mark.long)
    for target in ("gfx908", "gfx90a", "gfx942", "gfx1100", "gfx1201")
    for direction in OPS
    for dtype in ("f16", "bf16", "f32")
    for i in range(1 if direction == "filter" else 4)
    if dtype != "f32" or unit_of_target(target) is not WMMA
]


def main_source(monkeypatch, target, direction, dtype, tile, backend):
    """Return the text of the product's kernel, of a problem that fills tiles."""
    unit = unit_of_target(target)
    monkeypatch.setattr(tensor_core_choice, "best_choice", lambda product, info, whole=False: Choice(product, tile, 1))
    recorder = SourceRecorder(
        DeviceInfo(
            backend, target, "AMD", "gpu", "", "", schedule="gpu", compute_units=60, simd_width=unit.wave,
            max_work_group=256, local_memory=64 << 10, global_memory=1 << 36, max_allocation=1 << 36,
            arch=target, features=frozenset({unit.feature}),
        )
    )  # fmt: skip
    ENGINES[direction].prepare(parse(line(direction, LARGE, dtype, "")), recorder)
    return next(source for source, (_, name, _) in recorder.sources.items() if name == "conv_matrix")


def tiles_of(target, direction):
    return Product(1, 1, 1, 1, 2, 0, 0, direction == "filter", unit_of_target(target)).tiles


@pytest.mark.parametrize(("target", "direction", "dtype", "number"), LOOPS)
def test_main_loops_reach_their_share(monkeypatch, target, direction, dtype, number):
    """60 percent of the matrix units' peak or more by count, no spills, and waves to hide latencies behind."""
    clang.require()
    tile = tiles_of(target, direction)[number]
    elf = clang.compile(main_source(monkeypatch, target, direction, dtype, tile, "opencl"), target)
    need = resources(elf)["conv_matrix"]
    assert need.vgpr_spills == need.scratch == 0 and need.local_memory <= 64 << 10
    assert need.vgprs + need.agprs <= (320 if need.agprs else 256)
    assert turn(clang.listing(elf), target, "conv_matrix").share >= 0.6


@pytest.mark.parametrize("target", ["gfx90a", "gfx1201"])
def test_hip(monkeypatch, target):
    clang.require()
    for direction in OPS:
        tile = tiles_of(target, direction)[0]
        elf = hip_texts.compile(main_source(monkeypatch, target, direction, "f16", tile, "hip"), target)
        assert resources(elf)["conv_matrix"].scratch == 0


def test_probes_are_taken_where_there_are_matrix_cores():
    clang.require()
    for target in ("gfx90a", "gfx1100"):
        for text in probes(unit_of_target(target)):
            clang.compile(text, target)
            for other in ("gfx906", "gfx1030"):
                with pytest.raises(clang.Refused):
                    clang.compile(text, other)
