"""Products on AMD's matrix cores: MFMA's and WMMA's machine code, executed, gives the reference's numbers."""

from __future__ import annotations

import itertools

import pytest
from helper import Case, check

from amd_isa import clang, hip_texts
from amd_isa.matrix_loops import ENGINES, OPS, convolution, gpu_of, line, reaches, tiles_of
from amd_isa.resources import resources
from portadnn_backends.engines.conv import tensor_core_choice
from portadnn_backends.engines.conv.matrix_units import WMMA, unit_of_target
from portadnn_backends.engines.conv.tensor_core_tiles import Choice
from portadnn_backends.opencl.matrix_cores import probes

pytestmark = pytest.mark.amd

TARGETS = ("gfx942", "gfx1100")
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


@pytest.mark.parametrize(("target", "direction", "dtype", "layout", "shape"), CASES)
def test_convolution(target, direction, dtype, layout, shape):
    with gpu_of(target) as handle:
        text = line(direction, SHAPES[shape], dtype, layout)
        check(handle, Case(f"{text} alpha=2.0 beta=-0.5"), engine=ENGINES[direction])
        assert "conv_matrix" in handle.device.launched


@pytest.mark.long
@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("direction", OPS)
@pytest.mark.parametrize("target", TARGETS)
def test_every_tile(monkeypatch, target, direction, splits):
    with gpu_of(target) as handle:
        for tile in tiles_of(target, direction):
            monkeypatch.setattr(
                tensor_core_choice,
                "best_choice",
                lambda product, info, whole=False, tile=tile: Choice(product, tile, splits),
            )
            for layout in ("", ":nhwc"):
                check(handle, line(direction, SHAPES[0], "f16", layout), engine=ENGINES[direction])


LOOP_SAMPLE = (("gfx942", "f16", 0), ("gfx1201", "f16", 0))
LOOPS = [
    pytest.param(target, direction, dtype, i, marks=[] if (target, dtype, i) in LOOP_SAMPLE else pytest.mark.long)
    for target in ("gfx908", "gfx90a", "gfx942", "gfx1100", "gfx1201")
    for direction in OPS
    for dtype in ("f16", "bf16", "f32")
    for i in range(1 if direction == "filter" else 4)
    if dtype != "f32" or unit_of_target(target) is not WMMA
]


@pytest.mark.parametrize(("target", "direction", "dtype", "number"), LOOPS)
def test_main_loops_reach_their_share(target, direction, dtype, number):
    reaches(convolution(target, direction, dtype, tiles_of(target, direction)[number]), target, "conv_matrix")


@pytest.mark.parametrize("target", ["gfx90a", "gfx1201"])
def test_hip(target):
    clang.require()
    for direction in OPS:
        text = convolution(target, direction, "f16", tiles_of(target, direction)[0], "hip")
        elf = hip_texts.compile(text, target)
        assert resources(elf)["conv_matrix"].scratch == 0


def test_probes_are_taken_where_there_are_matrix_cores():
    clang.require()
    for target in ("gfx90a", "gfx1100"):
        for text in probes(unit_of_target(target)):
            clang.compile(text, target)
            for other in ("gfx906", "gfx1030"):
                with pytest.raises(clang.Refused):
                    clang.compile(text, other)
