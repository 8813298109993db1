"""Convolution on CPUs through channels-last copies, and the transpositions by themselves."""

from __future__ import annotations

import pytest
from helper import Case, check
from test_conv_cpu import cpu, on_cpus, with_info

from portadnn.problem import parse
from portadnn_backends.engines.conv.cpu.transposed import ENGINES
from portadnn_backends.engines.transpose import TransposeCpuEngine

(ENGINE,) = ENGINES
TRANSPOSE = TransposeCpuEngine()
__all__ = ["cpu"]

LINES = {
    "blended": "forward x=f32:2x20x9x21 w=f32:40x20x3x3 y=f32:2x40x9x21 padding=1,1 alpha=-2 beta=0.5",
    "strides, images apart": "forward x=f32:2x33x9x9/9000,81,9,1 w=f32:70x33x1x1 y=f32:2x70x5x5/4000,26,5,1 stride=2,2",
    "short rows": "forward x=f32:3x90x7x7 w=f32:70x90x3x3 y=f32:3x70x7x7 padding=1,1",
    "flipped, float64": "forward x=f64:1x19x13x14 w=f64:10x19x3x2 y=f64:1x10x9x12 dilation=2,2 mode=convolution",
    "groups in a vector": "forward x=f32:2x32x9x10 w=f32:32x4x3x3 y=f32:2x32x5x5 padding=1,1 stride=2,2 groups=8",
    "three axes": "forward x=f32:1x16x5x6x7 w=f32:16x16x3x2x3 y=f32:1x16x5x5x7 padding=1,0,1",
    "gradient": "backward_data dx=f32:2x33x14x15 w=f32:50x33x3x3 dy=f32:2x50x14x15 padding=1,1",
    "phases": "backward_data dx=f32:1x64x11x12 w=f32:40x16x4x3 dy=f32:1x40x5x6 stride=2,2 padding=1,1 groups=4 beta=2",
    "phases without taps": "backward_data dx=f32:2x20x9x10 w=f32:30x20x1x1 dy=f32:2x30x3x4 stride=3,3 alpha=2 beta=2",
    "more taps than lanes": "backward_data dx=f32:2x20x9x10 w=f32:17x20x5x5 dy=f32:2x17x5x5 padding=2,2 stride=2,2",
    "blocks of channels": "backward_data dx=f32:1x70x6x6 w=f32:300x70x5x3 dy=f32:1x300x4x4 padding=1,1 dilation=1,2",
}


def problem_line(name: str) -> str:
    return "convolution_" + LINES[name]


@on_cpus()
@pytest.mark.parametrize("name", LINES)
def test_both_directions(cpu, name):
    check(cpu, Case(problem_line(name)), engine=ENGINE)


@on_cpus()
@pytest.mark.parametrize("simd_width", [4, 8, 16])
@pytest.mark.parametrize("name", ["blended", "phases", "more taps than lanes", "flipped, float64"])
def test_every_vector_width(cpu, name, simd_width):
    with with_info(cpu, schedule="cpu", simd_width=simd_width) as handle:
        check(handle, Case(problem_line(name)), engine=ENGINE)


@on_cpus()
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("convolution_forward x=f32:1x16x8x8:nhwc w=f32:16x16x3x3 y=f32:1x16x6x6:nhwc", "same contiguous axis"),
        ("convolution_forward x=f32:1x3x8x8 w=f32:16x3x3x3", "elements along both axes"),
        ("convolution_forward x=f16:1x32x8x8 w=f16:32x32x3x3", "in the type of tensors"),
        ("convolution_forward x=f32:0x32x8x8 w=f32:32x32x3x3", "nothing to transpose"),
    ],
)
def test_what_it_leaves_to_others(cpu, line, reason):
    assert reason in ENGINE.why_not(parse(line), cpu.info)


@on_cpus()
@pytest.mark.parametrize("simd_width", [4, 8, 16])
@pytest.mark.parametrize(
    "line",
    [
        "transform_tensor x=f32:2x70x9x17 y=f32:2x70x9x17:nhwc",
        "transform_tensor x=f64:3x37x5x13:nhwc y=f64:3x37x5x13 alpha=2 beta=1",
        "transform_tensor x=f16:2x16x3x7 y=f16:2x16x3x7:nhwc alpha=3 beta=0.5",
        "transform_tensor x=bf16:1x67x65x3/20000,1,210,70 y=bf16:1x67x65x3 beta=-1",
        "transform_tensor x=f32:2x8x3x9x11 y=f32:2x8x3x9x11:nhwc",
    ],
)
def test_transpositions(cpu, line, simd_width):
    with with_info(cpu, schedule="cpu", simd_width=simd_width) as handle:
        check(handle, Case(line), engine=TRANSPOSE)
