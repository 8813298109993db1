"""Convolution engines that the estimates seldom choose: every one of them on problems with corners."""

from __future__ import annotations

import numpy as np
import pytest
from cases import DOUBLE, FLOAT, HALF, Turns
from cases_convolution import CONVOLUTIONS, DIRECTIONS, EMPTY_CONVOLUTIONS, convolution
from helper import Case, check, cpu_targets, open_handle, over, targets

import portadnn as dnn
from portadnn.dispatch.choice import candidates
from portadnn.problem import parse, parse_line
from portadnn_backends.base import DeviceInfo
from portadnn_backends.engines import kernel_engines
from portadnn_backends.engines.conv import atomic as conv_atomic
from portadnn_backends.engines.conv import direct as conv_direct
from portadnn_backends.engines.conv import im2col as conv_im2col
from portadnn_backends.engines.conv.cpu import depthwise as conv_depthwise_cpu
from portadnn_backends.engines.conv.cpu import direct as conv_direct_cpu
from portadnn_backends.engines.conv.cpu import direct_filter as conv_direct_filter_cpu

IM2COL = conv_im2col.ENGINES[0]


def cases(direction, step=1, start=0):
    """Yield every step-th geometry with the types, layouts and numbers in turn."""
    turn = Turns()
    for number, geometry in enumerate((*CONVOLUTIONS, *EMPTY_CONVOLUTIONS)):
        dtype, layout, numbers = turn(direction)
        often = number % (2 * step) == start
        if number % step == start:
            yield Case(convolution(direction, geometry, dtype, layout, numbers), everywhere=often)


@over(tuple(cases("forward", 4)), kernels=True)
def test_im2col(handle, case):
    check(handle, case, engine=IM2COL)


def test_the_matrix_of_im2col_has_a_block_for_every_tap():
    problem = parse("convolution_forward x=f16:2x6x9x8 w=f16:4x3x3x2 groups=2 stride=2,1 padding=1,0")
    assert problem.y.dims == (2, 4, 5, 7)
    product = conv_im2col.spelt_out(problem)
    product.validate()
    assert product.x.dims == (2, 6, 3 * 5, 2 * 7)
    assert (product.w, product.y) == (problem.w, problem.y)


DIRECT = {
    "forward": conv_direct_cpu.ENGINES[0],
    "backward_data": conv_direct_cpu.ENGINES[2],
    "backward_filter": conv_direct_filter_cpu.ENGINES[0],
}
CPUS = cpu_targets()
DIRECT_LINES = (  # several bands, segments, blocks of channels and of filters; images that need no copy
    "convolution_forward x=f32:1x40x21x23 w=f32:70x40x3x3 padding=1,1 alpha=2 beta=-1",
    "convolution_forward x=f32:1x2x3x3500 w=f32:3x2x2x5 stride=1,2 padding=0,2",
    "convolution_forward x=f16:2x24x9x9:nhwc w=f16:24x1x5x5 groups=24 padding=2,2 mode=convolution",
    "convolution_backward_data w=f32:12x1x3x3 dy=f32:2x12x10x9 dx=f32:2x6x19x17 groups=6 stride=2,2 padding=1,1",
    "convolution_backward_filter x=f32:2x40x21x23 dy=f32:2x37x21x23 dw=f32:37x40x3x3 padding=1,1 alpha=2 beta=-1",
    "convolution_backward_filter x=f32:1x2x3x3500 dy=f32:1x3x2x1750 dw=f32:3x2x2x5 stride=1,2 padding=0,2",
    "convolution_backward_filter x=f64:3x9x20x9:nhwc dy=f64:3x9x20x9:nhwc dw=f64:9x1x3x3 groups=9 padding=1,1",
)


def direct(line):
    """Return the engine for a line's direction."""
    return DIRECT[parse_line(line)[0].op.removeprefix("convolution_")]


@pytest.mark.parametrize("target", CPUS, ids=lambda target: target.name)
@pytest.mark.parametrize(
    "case", [case for number, direction in enumerate(DIRECT) for case in cases(direction, 5, number)], ids=str
)
def test_direct_on_cpus(target, case):
    check(open_handle(target), case, engine=direct(case.line))


@pytest.mark.parametrize("target", CPUS, ids=lambda target: target.name)
@pytest.mark.parametrize("line", DIRECT_LINES)
def test_direct_on_cpus_in_blocks(target, line):
    check(open_handle(target), Case(line), engine=direct(line))


@pytest.mark.parametrize("target", CPUS, ids=lambda target: target.name)
def test_not_a_number_stays_where_it_belongs(target):
    """A row's vectors run into the next row; what is there must not reach the sums."""
    line = "convolution_backward_filter x=f32:1x1x3x5 dy=f32:1x1x3x3 dw=f32:1x1x1x3"
    problem = parse(line)
    x, dy = np.zeros(problem.x.dims, np.float32), np.ones(problem.dy.dims, np.float32)
    x[0, 0, 1, 0] = np.nan  # only the first tap meets it
    handle, device = open_handle(target), open_handle(target).device
    arrays = [handle.asarray(x), handle.asarray(dy), device.empty(problem.dw)]
    DIRECT["backward_filter"].prepare(problem, device).run(arrays, (1.0, 0.0), None)
    np.testing.assert_array_equal(handle.to_numpy(arrays[2]).ravel(), [np.nan, 0, 0])


def test_a_window_too_large_for_the_stack_is_refused():
    info = DeviceInfo("opencl", "cpu", "", "cpu", "", "", simd_width=8)
    for line in (
        "convolution_forward x=f32:1x1x700x700 w=f32:1x1x9x9 dilation=80,80",
        "convolution_backward_filter x=f32:1x1x700x700 dy=f32:1x1x60x60 dw=f32:1x1x9x9 dilation=80,80",
    ):
        assert "scratch" in direct(line).why_not(parse(line), info)


SCATTER, SUMS, INDEXED = conv_atomic.ENGINES


@over(tuple(cases("backward_data", 6)), kernels=True)
def test_atomic_data_gradient(handle, case):
    check(handle, case, engine=SCATTER)


@over(tuple(cases("backward_filter", 6, 1)), kernels=True)
def test_atomic_filter_gradient(handle, case):
    check(handle, case, engine=SUMS)


@over(tuple(cases("backward_filter", 6, 2)), kernels=True)
def test_atomic_filter_gradient_with_a_table(handle, case):
    check(handle, case, engine=INDEXED)


def test_atomics_are_only_for_those_who_ask():
    info = DeviceInfo("cuda", "gpu", "", "gpu", "", "", schedule="gpu", max_allocation=1 << 30)
    data = "convolution_backward_data w={0}:4x3x3x3 dy={0}:2x4x7x7 dx={0}:2x3x9x9"
    problem = parse(data.format("f32"))
    assert SCATTER.why_not(problem, info) is None
    with pytest.raises(dnn.NotSupported, match="only when asked for as ALGO_0"):
        candidates((SCATTER,), problem, info)
    assert candidates((SCATTER,), problem, info, dnn.ConvolutionBwdDataAlgo.ALGO_0) == [SCATTER]
    assert "64 bits" in SCATTER.why_not(parse(data.format("f64")), info)
    assert SCATTER.workspace(parse(data.format("f16")), info) == 4 * 2 * 3 * 9 * 9
    gradient = parse("convolution_backward_filter x=f16:2x3x9x9 dy=f16:2x4x7x7 dw=f16:4x3x3x3")
    assert SUMS.workspace(gradient, info) == 4 * gradient.dw.size
    assert INDEXED.workspace(gradient, info) == 1024 + 4 * gradient.dw.size  # 5 numbers for each of 49 pixels


GPUS = [target for target in targets() if target.schedule != "cpu"]
ON_GPUS = {
    "forward": conv_direct.ENGINES[0],
    "backward_data": conv_direct.ENGINES[2],
    "backward_filter": conv_direct.ENGINES[3],
}
DEPTHWISE = (  # channels side by side, runs of columns that do not divide the width, taps in registers and not, slices
    "convolution_forward x=f32:2x33x9x11:nhwc w=f32:33x1x3x3 y=f32:2x33x9x11:nhwc groups=33 padding=1,1"
    " alpha=2 beta=-1",
    "convolution_forward x=f16:1x5x12x9 w=f16:10x1x7x7 groups=5 padding=3,3 stride=2,1 mode=convolution",
    "convolution_forward x=f32:1x3x14x9 w=f32:6x3x11x3 padding=5,1 dilation=1,2",
    "convolution_backward_data w=f32:34x1x3x3 dy=f32:1x34x5x6:nhwc dx=f32:1x34x9x11:nhwc groups=34 padding=1,1"
    " stride=2,2",
    "convolution_backward_data w=f64:6x1x2x3x3 dy=f64:1x6x3x5x6 dx=f64:1x3x4x9x11 groups=3 padding=0,1,1 stride=1,2,2",
    "convolution_backward_filter x=f32:3x33x20x21:nhwc dy=f32:3x33x10x11:nhwc dw=f32:33x1x3x3 groups=33 padding=1,1"
    " stride=2,2 alpha=2 beta=-1",
    "convolution_backward_filter x=f32:2x3x30x21 dy=f32:2x6x30x21 dw=f32:6x1x5x5 groups=3 padding=2,2 mode=convolution",
)


@pytest.mark.parametrize("target", GPUS, ids=lambda target: target.name)
@pytest.mark.parametrize(
    "case", [case for number, direction in enumerate(ON_GPUS) for case in cases(direction, 5, number)], ids=str
)
def test_direct_on_gpus(target, case):
    check(open_handle(target), case, engine=ON_GPUS[parse_line(case.line)[0].op.removeprefix("convolution_")])


@pytest.mark.parametrize("target", GPUS, ids=lambda target: target.name)
@pytest.mark.parametrize("line", DEPTHWISE)
def test_depthwise_on_gpus(target, line):
    check(open_handle(target), Case(line), engine=ON_GPUS[parse_line(line)[0].op.removeprefix("convolution_")])


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_direction_works_without_a_workspace(schedule, direction):
    """The guide's NO_WORKSPACE is always served, with the same bits every time."""
    info = DeviceInfo(
        "opencl", schedule, "", schedule, "", "", schedule=schedule, max_work_group=1024, local_memory=48 << 10,
        max_allocation=1 << 30, compute_units=16, simd_width=8,
    )  # fmt: skip
    for geometry in CONVOLUTIONS:
        problem = parse(convolution(direction, geometry, HALF, "gaps", ""))
        takers = [engine for engine in kernel_engines() if isinstance(problem, engine.problems)]
        takers = [e for e in takers if e.why_not(problem, info) is None and e.error_factor(problem) == 1]
        assert any(e.deterministic and e.workspace(problem, info) == 0 for e in takers)


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_depthwise_layers_are_not_padded_to_matrices(schedule, direction):
    info = DeviceInfo(
        "opencl", schedule, "", schedule, "", "", schedule=schedule, max_work_group=1024, local_memory=48 << 10,
        max_allocation=1 << 30, compute_units=16, simd_width=8, flops=1e12, bandwidth=1e11,
    )  # fmt: skip
    for channels, size in ((32, 112), (1024, 7)):
        geometry = ((8, channels, size, size), channels, (3, 3), f"padding=1,1 groups={channels}")
        problem = parse(convolution(direction, geometry, FLOAT, "nchw", ""))
        engines = [engine for engine in kernel_engines() if isinstance(problem, engine.problems)]
        assert candidates(engines, problem, info)[0].name.startswith(("direct", "depthwise"))


DEPTHWISE = (  # a last vector of channels that meets the one before, borders, phases, short rows, three dimensions
    ((2, 19, 9, 13), 19, (3, 3), "padding=1,1 groups=19"),
    ((1, 70, 6, 5), 70, (5, 5), "padding=2,2 groups=70 mode=convolution"),
    ((1, 9, 12, 14), 9, (3, 2), "padding=2,1 groups=9 stride=1,3 dilation=2,1"),
    ((1, 17, 4, 5, 9), 17, (2, 3, 3), "padding=1,1,0 groups=17 stride=2,1,2"),
    ((1, 16, 4, 37), 16, (2, 7), "padding=1,3 groups=16 stride=3,2"),
    ((1, 17, 60, 70), 17, (3, 3), "padding=1,1 groups=17 stride=2,2"),  # several bands
    ((2, 24, 7, 33), 24, (5, 5), "padding=2,2 groups=24 stride=2,2"),  # half a last vector, several tiles of a row
    ((1, 40, 6, 31), 40, (3, 3), "padding=1,1 groups=40"),
    ((1, 20, 9, 11), 20, (3, 3), "padding=4,4 groups=20 dilation=4,4"),  # borders of several tiles
    ((1, 20, 5, 31), 20, (1, 4), "padding=0,2 groups=20 mode=convolution"),
    ((2, 16, 1, 1), 16, (3, 3), "padding=1,1 groups=16"),
)


@pytest.mark.parametrize("target", CPUS, ids=lambda target: target.name)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("layouts", (("nhwc", "nhwc gaps"), ("nchw", "nchw")), ids=("channels last", "plain"))
@pytest.mark.parametrize("number", range(len(DEPTHWISE)))
def test_depthwise_on_cpus(target, direction, layouts, number):
    dtype, layout = (FLOAT, HALF, DOUBLE)[number % 3], layouts[number % 2]
    line = convolution(direction, DEPTHWISE[number], dtype, layout, "alpha=2 beta=-0.5")
    check(open_handle(target), Case(line), engine=conv_depthwise_cpu.ENGINES[0])


def test_depthwise_is_refused_elsewhere():
    info = DeviceInfo("opencl", "cpu", "", "cpu", "", "", simd_width=8)
    engine = conv_depthwise_cpu.ENGINES[0]
    for rest, reason in (
        ("x=f32:1x16x9x9/5184,2,576,64 w=f32:16x1x3x3 groups=16", "side by side"),
        ("x=f32:1x16x9x9:nhwc w=f32:32x1x3x3 groups=16", "one filter"),
        ("x=f32:1x3x9x9:nhwc w=f32:3x1x3x3 groups=3", "at least 8 channels"),
    ):
        assert reason in engine.why_not(parse("convolution_forward " + rest), info)


SOME_IMAGES = (
    "w=f16:12x5x3x3 dy=f16:5x12x9x8 dx=f16:5x5x9x8 padding=1,1",
    "w=bf16:8x4x3x3 dy=bf16:3x8x4x4:nhwc dx=bf16:3x4x8x8:nhwc padding=1,1 stride=2,2",
)


@pytest.mark.parametrize("shape", SOME_IMAGES)
@pytest.mark.parametrize("target", targets(), ids=lambda t: t.name)
def test_scattering_some_images_at_a_time(monkeypatch, target, shape):
    """The float32 sums of two images at a time fit in what is granted."""
    monkeypatch.setattr(conv_atomic, "TILE_SET", 2 * 4 * 9 * 8 * 5)
    case = Case(f"convolution_backward_data {shape} alpha=2.0 beta=-1.0", "integer")
    handle, engine = open_handle(target), conv_atomic.ENGINES[0]
    problem = parse(case.line.partition(" alpha")[0])
    assert len(engine.prepare(problem, handle.device).launches) > 3
    check(handle, case, engine=engine)


def test_half_sums_do_not_grow_with_the_batch():
    sizes = []
    for images in (64, 1024):
        problem = parse(
            f"convolution_backward_data w=f16:64x256x1x1 dy=f16:{images}x64x56x56 dx=f16:{images}x256x56x56"
        )
        sizes.append(
            conv_atomic.ENGINES[0].workspace(problem, DeviceInfo("cuda", "", "", "gpu", "", "", schedule="gpu"))
        )
    assert max(sizes) <= conv_atomic.TILE_SET
