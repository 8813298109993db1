"""Channels-last convolution on CPUs without transposition: tiles, groups, vectors, and what it leaves to others."""

from __future__ import annotations

import re

import pytest
from helper import Case, check
from test_conv_cpu import cpu, on_cpus, with_info

from portadnn.problem import parse
from portadnn_backends.engines.conv.cpu import channels_last
from portadnn_backends.engines.conv.cpu.channels_last_blocks import blocks_of, candidates

(ENGINE,) = channels_last.ENGINES
__all__ = ["cpu"]

LINES = {
    "one and a half tiles": "forward x=f32:2x20x9x21 w=f32:40x20x3x3:nhwc y=f32:2x40x9x21 padding=1,1 beta=0.5",
    "blocks of channels": "forward x=f32:1x300x7x7 w=f32:70x300x5x5 y=f32:1x70x7x7 padding=2,2",
    "in place": "forward x=f32:3x33x5x7 w=f32:600x33x1x1 y=f32:3x600x5x7 beta=1",
    "in place, strides": "forward x=f32:2x40x9x8 w=f32:24x40x1x1 y=f32:2x24x5x4 stride=2,2",
    "few pixels": "forward x=f32:1x24x2x3 w=f32:17x24x2x3 y=f32:1x17x1x1",
    "flipped, dilated": "forward x=f64:1x9x13x14 w=f64:10x9x3x2 y=f64:1x10x9x12 dilation=2,2 mode=convolution",
    "short rows": "forward x=f32:3x20x9x13 w=f32:40x20x3x3:nhwc y=f32:3x40x5x7 padding=1,1 stride=2,2",
    "short rows, three axes": "forward x=f32:2x17x5x6x7 w=f32:24x17x2x3x2 y=f32:2x24x3x3x4 padding=1,1,1 stride=2,2,2",
    "short rows of a gradient": "backward_data dx=f32:3x40x9x7 w=f32:24x40x3x3 dy=f32:3x24x5x4 padding=1,1 stride=2,2",
    "images in one row": "forward x=f32:5x16x3x3 w=f32:40x16x1x1 y=f32:5x40x3x3 beta=2",
    "groups in a vector": "forward x=f32:2x32x9x10 w=f32:32x4x3x3 y=f32:2x32x5x5 padding=1,1 stride=2,2 groups=8",
    "groups of one width": "forward x=f32:2x24x9x10 w=f32:24x8x3x3 y=f32:2x24x9x10 padding=1,1 groups=3",
    "groups of two widths": "forward x=f32:1x15x6x6 w=f32:60x5x3x3 y=f32:1x60x4x4 groups=3",
    "gradient": "backward_data dx=f32:2x33x14x15 w=f32:50x33x3x3:nhwc dy=f32:2x50x14x15 padding=1,1",
    "phases without taps": "backward_data dx=f32:2x20x9x10 w=f32:30x20x1x1 dy=f32:2x30x3x4 stride=3,3 beta=2",
    "phases": "backward_data dx=f32:1x64x11x12 w=f32:40x16x4x3 dy=f32:1x40x5x6 stride=2,2 padding=1,1 groups=4",
    "gradient, vector of groups": "backward_data dx=f32:1x64x8x8 w=f32:64x2x3x3 dy=f32:1x64x8x8 padding=1,1 groups=32",
    "halves": "forward x=f16:2x19x8x9 w=f16:21x19x3x3:nhwc y=f16:2x21x8x9 padding=1,1",
    "bfloat16": "backward_data dx=bf16:2x19x8x9 w=bf16:21x19x1x1 dy=bf16:2x21x8x9",
    "three axes": "forward x=f32:1x16x5x6x7 w=f32:16x16x3x2x3 y=f32:1x16x5x5x7 padding=1,0,1",
}


def problem_line(name: str) -> str:
    """Return a line with channels last in image and result."""
    return "convolution_" + re.sub(r"\b(d?[xy]=\S+)", r"\1:nhwc", LINES[name])


@on_cpus()
@pytest.mark.parametrize("name", LINES)
def test_tiles(cpu, name):
    check(cpu, Case(problem_line(name)), engine=ENGINE)


@on_cpus()
@pytest.mark.parametrize("simd_width", [4, 8, 16])
@pytest.mark.parametrize("name", ["in place", "groups in a vector", "phases", "flipped, dilated"])
def test_every_vector_width(cpu, name, simd_width):
    with with_info(cpu, schedule="cpu", simd_width=simd_width) as handle:
        if ENGINE.why_not(parse(problem_line(name)), handle.info) is None:
            check(handle, Case(problem_line(name)), engine=ENGINE)


@on_cpus()
@pytest.mark.parametrize("cores", [1, 32])
def test_every_number_of_cores(cpu, cores):
    with with_info(cpu, schedule="cpu", compute_units=cores) as handle:
        check(handle, Case(problem_line("gradient")), engine=ENGINE)


@on_cpus()
@pytest.mark.parametrize("simd_width", [8, 16])
@pytest.mark.parametrize(
    "name", [name for name in LINES if "short rows" in name or "group" in name or "phases" in name]
)
def test_every_cut(cpu, name, simd_width, monkeypatch):
    problem = parse(problem_line(name).partition(" beta")[0])
    with with_info(cpu, schedule="cpu", simd_width=simd_width) as handle:
        if ENGINE.why_not(problem, handle.info) is not None:
            return
        cuts = list(candidates(problem, handle.info))
    assert {cut.gathered for cut in cuts} == {False, True}
    for cut in {(cut.gathered, cut.scattered): cut for cut in cuts}.values():
        monkeypatch.setattr(channels_last, "blocks_of", lambda problem, info, cut=cut: cut)
        with with_info(cpu, schedule="cpu", simd_width=simd_width) as handle:
            check(handle, Case(problem_line(name)), engine=ENGINE)


@on_cpus()
def test_small_groups_share_a_tile(cpu):
    """Vectors of whole groups where they fill one; several units in a tile, so that stores are of many channels."""
    with with_info(cpu, schedule="cpu", simd_width=16) as handle:
        narrow = blocks_of(parse(problem_line("groups in a vector")), handle.info)
        wide = blocks_of(parse(problem_line("groups of one width")), handle.info)
    assert (narrow.group_ch, narrow.units, narrow.tile_units) == (4, 2, 2)
    assert (wide.group_ch, wide.units, wide.tile_units, wide.tile.lanes) == (0, 3, 3, 8)


@on_cpus()
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("convolution_forward x=f32:1x16x8x8 w=f32:16x16x3x3", "channels that lie side by side"),
        ("convolution_forward x=f32:1x16x8x8:nhwc w=f32:1x16x3x3 y=f32:1x1x6x6:nhwc", "at least"),
        ("convolution_backward_filter x=f32:1x8x8x8:nhwc dw=f32:8x8x1x1 dy=f32:1x8x8x8:nhwc", None),
    ],
)
def test_what_it_leaves_to_others(cpu, line, reason):
    problem = parse(line)
    if reason is None:
        assert not isinstance(problem, ENGINE.problems)
    else:
        assert reason in ENGINE.why_not(problem, cpu.info)


@on_cpus()
@pytest.mark.parametrize(
    "line",
    [
        "convolution_forward x=f32:2x0x5x5:nhwc w=f32:40x0x3x3:nhwc y=f32:2x40x3x3:nhwc beta=0.5",
        "convolution_backward_data w=f32:0x9x3x1:nhwc dy=f32:4x0x5x10:nhwc dx=f32:4x9x15x10:nhwc stride=3,1",
    ],
)
def test_sums_of_nothing_are_left_to_others(cpu, line):
    assert ENGINE.why_not(parse(line.removesuffix(" beta=0.5")), cpu.info) == "there is nothing to add up"
    check(cpu, Case(line))
