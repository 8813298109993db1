"""Winograd for CPUs: both tiles, every direction, on problems whose tiles, channels and filters fill nothing."""

from __future__ import annotations

import pytest
from helper import Case, check, cpu_targets, open_handle
from test_conv_cpu import with_info

import portadnn as dnn
from portadnn.dispatch.choice import choose
from portadnn.problem import parse
from portadnn_backends.engines.winograd import channels_last_cpu as winograd_channels_last_cpu
from portadnn_backends.engines.winograd import cpu as winograd_cpu
from portadnn_backends.engines.winograd import filter_cpu as winograd_filter_cpu

CPUS = cpu_targets()
BOTH = winograd_cpu.ENGINES
FILTER = winograd_filter_cpu.ENGINES

# image, filter, the rest: pads from 0 to beyond the filter, groups, both modes, gaps, channels last, one pixel, nothing
CASES = (
    ("f32:2x35x7x6", "f32:37x35x3x3", "padding=1,1"),
    ("f32:3x32x5x9", "f32:34x16x3x3", "padding=0,2 groups=2 mode=convolution alpha=2 beta=-0.5"),
    ("f32:2x40x6x41:nhwc", "f32:36x20x3x3:nhwc", "padding=1,1 groups=2 alpha=0.5 beta=1"),
    ("f32:2x3x6x7/400,50,8,1", "f32:5x3x3x3/1,5,45,15", "padding=3,4 mode=convolution"),
    ("f32:1x1x1x1", "f32:1x1x3x3", "padding=1,1"),
    ("f32:0x3x5x5", "f32:4x3x3x3", "beta=0.5"),
    ("f32:2x0x5x5", "f32:4x0x3x3", "beta=0.5"),
    ("f16:2x33x9x7", "f16:18x33x3x3", "padding=1,0"),
    ("f64:2x19x5x20", "f64:21x19x3x3", "padding=1,1 mode=convolution beta=2"),
    ("f64:1x18x4x5:nhwc", "f64:18x18x3x3", "padding=1,1"),
    ("f32:3x5x20x4", "f32:300x5x3x3", "padding=2,1"),
    ("f32:1x700x3x4", "f32:4x700x3x3", "padding=1,1"),
    ("f32:1x130x9x300", "f32:7x130x3x3", "padding=1,1"),
    ("f32:5x140x9x8", "f32:130x140x3x3", "padding=1,1 beta=1"),
    ("f32:3x21x11x9:nhwc", "f32:70x21x3x3", "padding=1,1 beta=0.5"),
    ("f32:2x130x12x9:nhwc", "f32:35x130x3x3:nhwc", "padding=2,0 mode=convolution alpha=2"),
    ("f16:2x48x7x7:nhwc", "f16:24x24x3x3:nhwc", "padding=1,1 groups=2"),
    ("f32:1x5x3x4:nhwc", "f32:3x5x3x3", "padding=3,4 beta=-1"),
)


def lines(x, w, rest):
    """Forward, backward data and backward filter of a convolution."""
    y = parse(f"convolution_forward x={x} w={w} {rest.partition(' alpha')[0].partition(' beta')[0]}").y
    if "nhwc" in x:
        y = f"{str(y).partition('/')[0].removesuffix(':nhwc')}:nhwc"
    return (
        f"convolution_forward x={x} w={w} y={y} {rest}",
        f"convolution_backward_data w={w} dy={y} dx={x} {rest}",
        f"convolution_backward_filter x={x} dy={y} dw={w} {rest}",
    )


def on_cpus(function):
    return pytest.mark.parametrize("target", CPUS, ids=lambda t: t.name)(function)


def engines(function):
    return pytest.mark.parametrize("engine", (*BOTH, *FILTER), ids=lambda e: e.name)(function)


@on_cpus
@pytest.mark.parametrize("turn", range(len(CASES)), ids=[" ".join(case) for case in CASES])
def test_matches_the_definition(target, turn):
    for i, line in enumerate(lines(*CASES[turn])):
        check(open_handle(target), Case(line), engine=(FILTER if i == 2 else BOTH)[(turn + i) % 2])


@on_cpus
@pytest.mark.parametrize("simd_width", [4, 16])
def test_other_vectors_and_cores(target, simd_width):
    with with_info(open_handle(target), schedule="cpu", simd_width=simd_width, compute_units=3) as handle:
        forward, data, gradient = lines("f32:2x17x9x13", "f32:19x17x3x3", "padding=1,1")
        last, last_data, _ = lines("f32:2x17x9x13:nhwc", "f32:19x17x3x3", "padding=1,1")
        for line, engine in ((forward, BOTH[0]), (data, BOTH[1]), (last, BOTH[1]), (last_data, BOTH[0])):
            check(handle, Case(line), engine=engine)
        for engine in FILTER:
            check(handle, Case(gradient), engine=engine)


@on_cpus
@pytest.mark.parametrize("near", [1 << 20, 1])
def test_channels_last_planes_in_and_beyond_the_cache(monkeypatch, target, near):
    """Products of one panel of channels at a time, or of several, where all planes together are too large."""
    monkeypatch.setattr(winograd_channels_last_cpu, "_SOURCE", near)
    monkeypatch.setattr(winograd_channels_last_cpu, "_BLOCK", 1024)
    with with_info(open_handle(target), schedule="cpu", simd_width=4, compute_units=1) as handle:
        forward, data, _ = lines("f32:3x150x9x7:nhwc", "f32:40x150x3x3:nhwc", "padding=1,1 beta=1")
        defines = winograd_channels_last_cpu.blocks_of(parse(forward), handle.info, BOTH[0].variant).defines
        assert (defines["CHUNK"] > 4 * defines["NV"]) == (near == 1)
        assert defines["CH"] > defines["BLOCK_CH"]
        check(handle, Case(forward), engine=BOTH[0])
        check(handle, Case(data), engine=BOTH[0])


FUSED = (
    "x=f32:2x17x9x13 w=f32:19x17x3x3 padding=1,1 activation=relu alpha1=2 alpha2=1",
    "x=f32:1x20x6x7:nhwc w=f32:24x20x3x3 y=f32:1x24x6x7:nhwc padding=1,1 activation=tanh alpha2=0.5",
    "x=f16:1x18x6x7 w=f16:10x9x3x3 z=f16:1x10x4x5:nhwc groups=2 activation=sigmoid alpha2=-1",
)


@on_cpus
@pytest.mark.parametrize("turn", range(len(FUSED)), ids=FUSED)
def test_finishes_what_it_stores(target, turn):
    check(open_handle(target), Case(f"convolution_bias_activation_forward {FUSED[turn]}"), engine=BOTH[turn % 2])


@on_cpus
def test_whole_numbers_are_exact(target):
    for i, line in enumerate(lines("f32:2x70x9x9", "f32:13x70x3x3", "padding=1,1 beta=1")):
        check(open_handle(target), Case(line, "integer"), engine=(FILTER if i == 2 else BOTH)[0])


@on_cpus
def test_the_default_is_the_exact_one(target):
    handle = open_handle(target)
    layer, few = ("f32:1x64x56x56", "f32:64x64x3x3", "padding=1,1"), ("f32:1x3x6x6", "f32:64x3x3x3", "padding=1,1")
    for direction, pair, algo in ((0, BOTH, dnn.ConvolutionFwdAlgo), (2, FILTER, dnn.ConvolutionBwdFilterAlgo)):
        problem = parse(lines(*layer)[direction])
        assert [engine.error_factor(problem) for engine in pair] == [1, 8]
        assert choose(handle, problem) is pair[0]
        assert choose(handle, problem, algo.WINOGRAD_NONFUSED) is pair[1]
        assert choose(handle, parse(lines(*few)[direction])) not in pair


@on_cpus
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("convolution_forward x=f32:1x4x5x5 w=f32:4x4x5x5", "3 x 3"),
        ("convolution_forward x=f32:1x4x7x7 w=f32:4x4x3x3 stride=2,1", "stride 1"),
        ("convolution_forward x=f32:1x4x7x7 w=f32:4x4x3x3 dilation=1,2", "dilation 1"),
        ("convolution_forward x=f32:1x4x7x7x7 w=f32:4x4x3x3x3", "2-D"),
    ],
)
@engines
def test_declines_the_rest(target, engine, line, reason):
    assert reason in engine.why_not(parse(line), open_handle(target).info)


@on_cpus
@pytest.mark.parametrize("line", [lines("f32:2x9x7x30", "f32:11x9x3x3", "padding=1,1")[2]])
def test_a_filter_gradient_in_many_jobs(monkeypatch, target, line):
    """Blocks of channels and filters, several units a share, and what is left over of each."""
    monkeypatch.setattr(winograd_filter_cpu, "SUM_ELEMENTS", 16 * 16 * 4)
    monkeypatch.setattr(winograd_filter_cpu, "TILE_ELEMENTS", 16 * 60)
    with with_info(open_handle(target), schedule="cpu", simd_width=4, compute_units=1) as handle:
        for engine in FILTER:
            defines = winograd_filter_cpu.blocks_of(parse(line), handle.info, engine.variant).defines
            assert defines["C_BLOCKS"] > 1 and defines["K_BLOCKS"] > 1 and defines["UNITS"] > 2 * defines["SPLITS"]
            check(handle, Case(line), engine=engine)
