"""Convolutions of floats in planes by Hopper's warpgroups: on the host, by PTX's definitions, and assembled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helper import Case, check, compare, diff_case, make_buffers, open_handle
from host_cuda_device import COMPILER, HostCuda, before_nan
from test_conv_tensor_core import GPUS
from test_nvrtc import recorder_of, reports_no_loss

import portadnn as dnn
from portadnn.diff.compare import bounds
from portadnn_backends.engines.conv import planes, tensor_core_choice
from portadnn_backends.engines.conv.tensor_core_tiles import PLANES, Choice
from portadnn_backends.reference.outcomes import outcomes, terms

BLEND = "alpha=2.0 beta=-1.0"
FORWARD, DATA, FILTER = range(3)  # of the engines, those of three products follow
OPS = ("convolution_forward", "convolution_backward_data", "convolution_backward_filter")
CASES = {  # direction, line, splits, what the kernel has to be
    "3 x 3": (FORWARD, f"x=f32:2x7x7x6 w=f32:20x7x3x3 y=f32:2x20x7x6 padding=1,1 {BLEND}", 1, "FILTER_RUN 1"),
    "of filters": (
        FILTER,
        f"x=f32:2x7x7x6 dw=f32:20x7x3x3 dy=f32:2x20x7x6 padding=1,1 {BLEND}",
        1,
        "GRADIENT_RUN 1",
    ),
    "data": (DATA, f"dx=f32:2x20x7x6 w=f32:24x20x3x3 dy=f32:2x24x7x6 padding=1,1 {BLEND}", 1, "LANES_ALONG_ROWS 0"),
    "groups, parts": (
        FORWARD,
        "x=f32:2x66x8x6 w=f32:70x33x3x3 y=f32:2x70x8x6 padding=1,1 groups=2",
        2,
        "SPLITS 2",
    ),
    "runs of the filter": (FORWARD, "x=f32:1x40x6x8 w=f32:130x40x1x1 padding=0,0", 1, "FILTER_RUN 4"),
    "mirrored, stride 2": (
        FORWARD,
        "x=f32:2x3x17x16 w=f32:20x3x7x7 padding=3,3 stride=2,2 mode=convolution",
        1,
        "FLIP 1",
    ),
    "data, 1 x 1": (DATA, "dx=f32:1x70x4x8 w=f32:40x70x1x1 dy=f32:1x40x4x8 padding=0,0", 1, "LANES_ALONG_ROWS 1"),
    "data, stride 2": (
        DATA,
        "dx=f32:2x66x9x8 w=f32:70x33x3x3 dy=f32:2x70x5x4 padding=1,1 stride=2,2 groups=2",
        2,
        "PHASES 4",
    ),
    "data, volumes": (
        DATA,
        "dx=f32:1x10x4x5x6 w=f32:40x10x2x3x1 dy=f32:1x40x3x3x6 padding=0,0,0",
        1,
        "SIZE_D 2",
    ),
    "of filters, groups, parts": (
        FILTER,
        "x=f32:2x24x9x7 dw=f32:70x12x5x5 dy=f32:2x70x9x7 padding=2,2 groups=2",
        2,
        "SPLITS 2",
    ),
    "of filters, mirrored": (
        FILTER,
        "x=f32:3x9x11x6 dw=f32:8x9x3x2 dy=f32:3x8x6x6 padding=1,1 stride=2,1 dilation=1,2 mode=convolution",
        1,
        "FLIP 1",
    ),
    "of filters, runs": (FILTER, "x=f32:5x36x4x12 dw=f32:70x36x1x1 dy=f32:5x70x4x12 padding=0,0", 2, "IMAGE_RUN 4"),
    "of filters, volumes": (
        FILTER,
        "x=f32:1x4x4x5x6 dw=f32:16x4x2x3x3 dy=f32:1x16x5x5x6 padding=1,1,1",
        1,
        "SIZE_D 2",
    ),
    # five slices and more, so that places are filled again
    "loaders": (FORWARD, f"x=f32:1x18x9x8 w=f32:20x18x3x3 y=f32:1x20x9x8 padding=1,1 {BLEND}", 1, "LOADERS 8"),
    "loaders, filters": (FILTER, "x=f32:3x20x12x9 dw=f32:20x20x1x1 dy=f32:3x20x12x9 padding=0,0", 2, "LOADERS 8"),
}
QUICK = ("3 x 3", "of filters", "data", "loaders", "loaders, filters")


def tiles_of(direction, three):
    return PLANES[OPS[direction].partition("_")[2], 3 if three else 1]


def tile_of(name, direction, three):
    """Return a tile: the names take turns, but for those that say which."""
    found = tiles_of(direction, three)
    if name.startswith("loaders"):
        return next(tile for tile in found if tile.loaders)
    return found[list(CASES).index(name) % len(found)]


ON_HOST = [
    pytest.param(name, three, marks=[pytest.mark.long] * (name not in QUICK))
    for name in CASES
    for three in (False, True)
    if three or not name.startswith("loaders")
]


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize(("name", "three"), ON_HOST)
def test_planes(name, three, monkeypatch, tmp_path):
    direction, rest, splits, wanted = CASES[name]
    tile = tile_of(name, direction, three)
    monkeypatch.setattr(tensor_core_choice, "best_choice", lambda product, *_, **__: Choice(product, tile, splits))
    engine = planes.ENGINES[direction + 3 * three]
    device = HostCuda(tmp_path, ("wgmma",))
    for data in ("integer", "normal"):
        case = Case(f"{OPS[direction]} {rest}{'' if three else ' math=tf32'}", data)
        problem, numbers = diff_case(case).problem, tuple(diff_case(case).numbers.values())
        assert engine.why_not(problem, replace(device.info, max_allocation=1 << 30)) is None
        plan = engine.prepare(problem, device)
        assert f"#define {wanted}" in plan.launches[0].kernel.source
        buffers = make_buffers(case)
        arrays = [before_nan(buffers[one].array) for one in problem.names]
        given = [array.copy() for array in arrays]
        plan.run(arrays, list(numbers), np.full(plan.workspace_size, 0xA5, np.uint8))
        sums = {} if data == "integer" else terms(problem, given, numbers)
        for out, due in outcomes(problem, given, numbers).items():
            due, bound, _ = bounds(problem, out, due, sums.get(out), factor=1.0, product=0.0)
            compare(arrays[problem.index(out)], due, bound, f"{problem.op}, {data}")


@pytest.mark.parametrize("three", [False, True])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", GPUS, ids=lambda t: t.name)
def test_on_gpus(target, name, three):
    handle = open_handle(target)
    if "wgmma" not in handle.info.features:
        pytest.skip("no warpgroups")
    direction, rest, _, _ = CASES[name]
    for data in ("integer", "normal"):
        case = Case(f"{OPS[direction]} {rest}{'' if three else ' math=tf32'}", data)
        check(handle, case, engine=planes.ENGINES[direction + 3 * three])


REFUSED = {
    "halves": ("x=f16:2x8x6x6 w=f16:8x8x3x3 padding=1,1 math=tf32", "float32 alone"),
    "channels last": ("x=f32:2x8x6x6:nhwc w=f32:8x8x3x3 padding=1,1 math=tf32", "neighbours"),
    "not permitted": ("x=f32:2x8x6x6 w=f32:8x8x3x3 padding=1,1", "not permitted"),
    "forbidden": ("x=f32:2x8x6x6 w=f32:8x8x3x3 padding=1,1 math=fma", "forbids"),
    "many taps": ("x=f32:1x2x40x40 w=f32:8x2x31x3 padding=1,1 math=tf32", "too many taps"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    line, why = REFUSED[name]
    info = replace(recorder_of("sm_90").info, dynamic_memory=227 << 10)
    assert why in planes.ENGINES[FORWARD].why_not(dnn.parse(f"convolution_forward {line}"), info)


def test_older_gpus():
    problem = dnn.parse("convolution_forward x=f32:2x8x6x6 w=f32:8x8x3x3 padding=1,1 math=tf32")
    assert "warpgroups" in planes.ENGINES[FORWARD].why_not(problem, recorder_of("sm_80").info)


ASSEMBLED = (
    "convolution_backward_filter x=f32:9x136x10x10 dw=f32:376x136x5x5 dy=f32:9x376x10x10 padding=2,2",
    "convolution_forward x=f32:9x136x10x10 w=f32:376x136x5x5 padding=2,2",
    "convolution_backward_data dx=f32:8x768x7x7 w=f32:1024x768x1x1 dy=f32:8x1024x7x7 padding=0,0",
)


@pytest.mark.xdist_group("nvrtc")
@pytest.mark.parametrize("three", [False, True])
@pytest.mark.parametrize(
    "line", [pytest.param(one, marks=[pytest.mark.long] * (number > 0)) for number, one in enumerate(ASSEMBLED)]
)
def test_products_run_side_by_side(line, three, monkeypatch):
    engine = planes.ENGINES[OPS.index(line.split()[0]) + 3 * three]
    problem = dnn.parse(line + ("" if three else " math=tf32"))
    for tile in tiles_of(OPS.index(line.split()[0]), three):
        recorder = recorder_of("sm_90")
        recorder.info = replace(recorder.info, dynamic_memory=227 << 10)
        monkeypatch.setattr(tensor_core_choice, "best_choice", lambda product, *_, t=tile, **__: Choice(product, t, 1))
        engine.prepare(problem, recorder)
        (source,) = recorder.sources
        reports_no_loss(source)
