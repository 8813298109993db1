"""CPU schedule of convolution: every register tile, every loop over blocks, and how work is divided among cores."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helper import Case, check, cpu_targets, open_handle, over

import portadnn as dnn
from portadnn.problem import parse
from portadnn_backends.base import DeviceInfo
from portadnn_backends.engines.conv.cpu.gemm import ENGINES, blocks_of

CPUS = cpu_targets()

# What the general tables are too small for: several blocks of channels, of rows, of filters and of columns per tile
MANY_BLOCKS = (
    "convolution_forward x=f32:2x67x9x31 w=f32:11x67x3x3 padding=1,1 alpha=1 beta=1",
    "convolution_forward x=f32:1x9x3x700 w=f32:7x9x2x3 padding=0,1",
    "convolution_forward x=f32:2x5x9x9:nhwc w=f32:600x5x1x1",
    "convolution_forward x=f32:1x70x12x12:nhwc w=f32:20x70x3x3:nhwc stride=2,1 padding=1,2 alpha=-1 beta=0.5",
    "convolution_forward x=f64:1x3x40x41 w=f64:5x3x17x19 padding=3,2",
    "convolution_backward_data w=f32:40x19x5x3 dy=f32:2x40x11x15 dx=f32:2x19x23x29 stride=2,2 padding=1,1 beta=1",
    "convolution_backward_data w=f32:9x600x1x1 dy=f32:1x9x8x8 dx=f32:1x600x8x8",
    "convolution_backward_data w=f32:33x20x3x3 dy=f32:1x33x9x9:nhwc dx=f32:1x20x9x9:nhwc padding=1,1",
    "convolution_forward x=f32:1x40x6x6:nhwc w=f32:70x40x3x3:nhwc y=f32:1x70x3x3:nhwc stride=2,2 padding=1,1",
    "convolution_backward_data w=f32:150x13x3x3 dy=f32:1x150x7x8:nhwc dx=f32:1x13x13x15:nhwc stride=2,2 padding=1,1",
    "convolution_backward_filter x=f32:3x70x20x21 dy=f32:3x140x20x21 dw=f32:140x70x3x3 padding=1,1 alpha=2 beta=1",
    "convolution_backward_filter x=f32:2x19x30x31:nhwc dy=f32:2x37x15x16:nhwc dw=f32:37x19x3x3 padding=1,1 stride=2,2",
    "convolution_backward_filter x=f32:1x3x2x700 dy=f32:1x5x2x700 dw=f32:5x3x1x3 padding=0,1 mode=convolution",
    "convolution_backward_filter x=f16:1x300x6x6 dy=f16:1x20x4x4 dw=f16:20x300x3x3",
    "convolution_backward_filter x=bf16:1x300x6x6 dy=bf16:1x20x4x4 dw=bf16:20x300x3x3",
)


@pytest.fixture
def cpu(request):
    """A handle with the CPU schedule, whatever vectors and cores its device has."""
    return open_handle(request.param)


def on_cpus():
    return pytest.mark.parametrize("cpu", [pytest.param(t, id=t.name) for t in CPUS], indirect=True)


def with_info(handle, **changes):
    """Return another handle on the same device that believes in another one."""
    other = dnn.Handle(handle.backend)
    other.device.info = replace(handle.info, **changes)
    return other


@on_cpus()
@pytest.mark.parametrize("line", MANY_BLOCKS)
def test_many_blocks(cpu, line):
    check(cpu, Case(line))


@on_cpus()
@pytest.mark.parametrize("simd_width", [4, 8, 16])
@pytest.mark.parametrize(
    "line",
    [
        "convolution_forward x=f32:2x5x7x19 w=f32:13x5x3x3 padding=1,1",
        "convolution_forward x=f32:2x20x7x19:nhwc w=f32:19x20x3x3 stride=1,2",
        "convolution_backward_data w=f64:5x9x3x3 dy=f64:1x5x7x15 dx=f64:1x9x9x17",
        "convolution_backward_filter x=f32:2x17x9x18 dy=f32:2x21x9x18 dw=f32:21x17x1x1",
        "convolution_backward_filter x=f16:1x3x9x40 dy=f16:1x21x7x19 dw=f16:21x3x3x3 stride=1,2",
        "convolution_forward x=bf16:2x5x7x19 w=bf16:13x5x3x3 padding=1,1",
    ],
)
def test_every_vector_width(cpu, line, simd_width):
    with with_info(cpu, schedule="cpu", simd_width=simd_width) as handle:
        check(handle, Case(line))


@on_cpus()
@pytest.mark.parametrize("cores", [1, 3, 32])
@pytest.mark.parametrize(
    "line",
    [
        "convolution_forward x=f32:3x8x17x17 w=f32:6x8x3x3 padding=1,1",
        "convolution_backward_filter x=f32:5x4x9x9 dy=f32:5x6x9x9 dw=f32:6x4x3x3 padding=1,1",
    ],
)
def test_every_number_of_cores(cpu, line, cores):
    with with_info(cpu, schedule="cpu", compute_units=cores) as handle:
        check(handle, Case(line))


@over([Case("convolution_forward x=f32:2x3x8x8 w=f32:4x3x3x3")], kernels=True)
def test_only_for_cpus_and_opencl(handle, case):
    engine = ENGINES[0]
    suits = handle.info.schedule == "cpu" and handle.info.backend == "opencl"
    assert (engine.why_not(parse(case.line), handle.info) is None) == suits


@pytest.mark.parametrize("rows", range(1, 40))
def test_register_tiles_waste_little(rows):
    """Less than a third of the rows that a tile computes are padding, from 3 rows on."""
    info = DeviceInfo("opencl", "cpu", "", "cpu", "", "", simd_width=8)
    problem = parse(f"convolution_forward x=f32:1x3x8x8 w=f32:{rows}x3x3x3")
    padded = blocks_of(problem, info).defines["M_PADDED"]
    assert rows <= padded <= max(rows, rows * 4 / 3)
