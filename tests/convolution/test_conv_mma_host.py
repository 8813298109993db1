"""Products on tensor cores from planes of pixels, on the host: the kernel's text with PTX's definitions.

Which lane has what is checked without a GPU.
"""

from __future__ import annotations

import numpy as np
import pytest
from helper import Case, compare, diff_case, make_buffers
from host_cuda_device import COMPILER, HostCuda, before_nan

from portadnn.bfloat16 import as_float64
from portadnn.diff.compare import bounds
from portadnn_backends.engines.conv import tensor_core as conv_tensor_core
from portadnn_backends.engines.conv import tensor_core_choice as conv_tensor_core_choice
from portadnn_backends.engines.conv.tensor_core_tiles import FILTER_TILES, IMAGE_TILES, Choice
from portadnn_backends.reference.outcomes import outcomes

FORWARD, DATA, FILTER, ROWS, BYTES = conv_tensor_core.ENGINES
FUSED = "convolution_bias_activation_forward"
PRODUCTS = ("conv_mma", "conv_mma_filter")
BLEND = "alpha=2.0 beta=-1.0"
CASES = {  # engine, line, tile, splits, what the kernel has to be
    "half": (FORWARD, "x=f16:2x37x4x12 w=f16:50x37x1x1", (64, 64, 64), 1, "STORE_ROWS"),
    "bfloat16": (FORWARD, f"x=bf16:1x72x5x24 w=bf16:40x72x1x1 {BLEND}", (128, 128, 64), 1, "STORE_ROWS"),
    "slices of 128 bytes": (FORWARD, f"x=f16:1x67x2x36 w=f16:70x67x1x1 {BLEND}", (64, 128, 128), 1, "STORE_ROWS"),
    "rows of 256": (FORWARD, "x=f16:3x40x8x13 w=f16:66x40x1x1", (256, 64, 64), 1, "STORE_ROWS"),
    "channels in a row": (
        FORWARD,
        "x=f16:2x24x4x6 w=f16:40x24x1x1 y=f16:2x40x4x6:nhwc",
        (128, 64, 64),
        1,
        "STORE_COLUMNS",
    ),
    "one by one": (FORWARD, "x=f16:2x9x4x6 w=f16:5x9x1x1 y=f16:2x5x4x6/123,24,6,1@2", (128, 32, 64), 1, "GROUPS"),
    "runs of four": (FORWARD, f"x=f16:3x44x7x4 w=f16:40x44x1x1 {BLEND}", (128, 128, 64), 1, "STORE_ROWS"),
    "runs of four, rows of 256": (FORWARD, "x=bf16:2x34x14x14 w=bf16:66x34x1x1", (256, 64, 64), 1, "STORE_ROWS"),
    "stores of four": (
        FORWARD,
        "x=f16:2x9x4x6 w=f16:5x9x1x1 y=f16:2x5x4x6/124,24,6,1@8",
        (128, 64, 64),
        1,
        "STORE_ROWS",
    ),
    "parts of rows": (FORWARD, f"x=f16:1x600x2x20 w=f16:9x600x1x1 {BLEND}", (64, 64, 64), 3, "PARTS_BY_ROWS"),
    "parts": (FORWARD, "x=f16:1x600x2x20 w=f16:9x600x1x1 y=f16:1x9x2x20:nhwc", (64, 64, 128), 2, "SPLITS"),
    "groups": (FORWARD, f"x=f16:1x30x2x20 w=f16:21x10x1x1 groups=3 {BLEND}", (64, 64, 128), 1, "STORE_ROWS"),
    "a data gradient": (DATA, "dx=bf16:2x24x4x10 w=bf16:35x24x1x1 dy=bf16:2x35x4x10", (64, 64, 64), 1, "STORE_ROWS"),
    "an epilogue": (FORWARD, "x=f16:2x16x8x8 w=f16:24x16x1x1 activation=relu alpha2=1", (128, 64, 128), 1, "EPILOGUE"),
}


ACROSS = {  # of data gradients whose filter is read as it lies: line, tile, splits
    "3 x 3": ("dx=f16:2x24x5x6:nhwc w=f16:16x24x3x3:nhwc dy=f16:2x16x5x6:nhwc padding=1,1", (64, 64, 128), 1),
    "rows of 32 columns": (
        f"dx=bf16:1x40x4x6:nhwc w=bf16:24x40x2x3:nhwc dy=bf16:1x24x3x4:nhwc {BLEND}",
        (128, 32, 64),
        1,
    ),
    "stride 2": (
        "dx=f16:1x16x7x9:nhwc w=f16:24x16x3x3:nhwc dy=f16:1x24x4x5:nhwc padding=1,1 stride=2,2",
        (128, 64, 64),
        1,
    ),
    "parts": (
        f"dx=f16:2x72x4x4:nhwc w=f16:152x72x3x2:nhwc dy=f16:2x152x4x3:nhwc padding=1,0 {BLEND}",
        (64, 128, 128),
        3,
    ),
    "groups, mirrored": (
        "dx=f16:1x32x5x4:nhwc w=f16:32x16x3x3:nhwc dy=f16:1x32x5x4:nhwc padding=1,1 groups=2 mode=convolution",
        (64, 64, 64),
        1,
    ),
    "dilation": (
        "dx=bf16:1x136x7x6:nhwc w=bf16:8x136x3x2:nhwc dy=bf16:1x8x3x4:nhwc dilation=2,2 padding=0,0",
        (128, 128, 64),
        1,
    ),
    "slices of single taps": (
        "dx=f16:2x24x5x6:nhwc w=f16:120x24x3x3:nhwc dy=f16:2x120x3x3:nhwc padding=1,1 stride=2,2",
        (128, 32, 64),
        2,
    ),
    "rows of 96 columns": (
        "dx=bf16:1x104x4x6:nhwc w=bf16:40x104x2x3:nhwc dy=bf16:1x40x3x4:nhwc padding=0,0",
        (128, 96, 64),
        1,
    ),
    "planes": ("dx=f16:2x48x4x4 w=f16:33x48x1x1:nhwc dy=f16:2x33x4x4 padding=0,0", (64, 64, 64), 1),
}


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("name", CASES)
def test_planes(name, monkeypatch, tmp_path):
    engine, rest, (bm, bn, slice), splits, wanted = CASES[name]
    op = "convolution_backward_data" if engine is DATA else FUSED if "activation" in rest else "convolution_forward"
    case = Case(f"{op} {rest} padding=0,0", "integer")
    product, launches = _run_on_host(engine, case, (bm, bn, slice), splits, monkeypatch, tmp_path)
    assert "#define PLANES 1" in product
    assert f"#define {wanted} " in product
    assert "pack_image" not in launches


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.long] * (number % 3 > 0)) for number, one in enumerate(ACROSS)]
)
def test_filters_as_they_lie(name, monkeypatch, tmp_path):
    rest, tile, splits = ACROSS[name]
    case = Case(f"convolution_backward_data {rest}", "integer")
    product, launches = _run_on_host(DATA, case, tile, splits, monkeypatch, tmp_path)
    assert "#define FILTER_ACROSS 1" in product
    assert ("#define TAPS_INNER 1" in product) == ("single" in name)
    assert "pack_filter" not in launches


STORED = {  # of filter gradients that are stored at once
    "pairs": f"x=f16:2x24x5x6:nhwc dw=f16:16x24x3x2:nhwc dy=f16:2x16x5x5:nhwc padding=1,0 {BLEND}",
    "pixel gaps": "x=f16:2x32x5x6:nhwc dw=f16:16x16x3x2:nhwc dy=f16:2x16x5x5/600,1,120,24 padding=1,0 groups=2",
    "one by one": "x=bf16:1x16x4x4:nhwc dw=bf16:24x16x3x3 dy=bf16:1x24x4x4:nhwc padding=1,1 mode=convolution",
    "groups": "x=f16:1x80x3x3:nhwc dw=f16:144x40x2x2:nhwc dy=f16:1x144x2x2:nhwc padding=0,0 groups=2",
}


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.long] * (number > 1)) for number, one in enumerate(STORED)]
)
def test_filter_gradients_without_parts(name, monkeypatch, tmp_path):
    case = Case(f"convolution_backward_filter {STORED[name]}", "integer")
    product, launches = _run_on_host(FILTER, case, (64, 64, 128), 1, monkeypatch, tmp_path)
    assert "#define STORE_FILTER 1" in product
    assert launches == ["conv_mma_filter"]


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("dw", ["40x24x1x1", pytest.param("40x24x1x1/1,40,1,1", marks=pytest.mark.long)])
def test_filter_gradients_of_planes(dw, splits, monkeypatch, tmp_path):
    case = Case(
        f"convolution_backward_filter x=f16:3x24x9x16 dw=f16:{dw} dy=f16:3x40x9x16 padding=0,0 {BLEND}", "integer"
    )
    product, launches = _run_on_host(ROWS, case, (64, 64, 64), splits, monkeypatch, tmp_path)
    assert "#define TAPS_INNER 1" in product
    assert launches == ["conv_mma", *["conv_mma_reduce"] * (splits > 1)]


def _run_on_host(engine, case, size, splits, monkeypatch, tmp_path):
    """Run with the tile of such a size, as :func:`run_with`."""
    tiles = FILTER_TILES if engine is FILTER else IMAGE_TILES
    (tile,) = (tile for tile in tiles if (tile.bm, tile.bn, tile.slice) == size)
    return run_with(tile, engine, case, splits, monkeypatch, tmp_path)


def run_with(tile, engine, case, splits, monkeypatch, tmp_path):
    """Compare results on the host with the reference's; return the product's text and all kernels' names."""
    problem, numbers = diff_case(case).problem, diff_case(case).numbers
    monkeypatch.setattr(
        conv_tensor_core_choice, "best_choice", lambda product, info, whole=False: Choice(product, tile, splits)
    )
    plan = engine.prepare(problem, HostCuda(tmp_path, ("wgmma",) if tile.warpgroups else ()))
    buffers = make_buffers(case)
    arrays = [before_nan(buffers[one].array) for one in problem.names]
    want = outcomes(problem, [array.copy() for array in arrays], tuple(numbers.values()))
    plan.run(arrays, list(numbers.values()), np.full(plan.workspace_size, 0xA5, np.uint8))
    for out, due in want.items():
        due, bound, _ = bounds(problem, out, due, None, factor=1.0, product=0.0)
        compare(as_float64(arrays[problem.index(out)]), due, bound, problem.op)
    product = next(launch.kernel.source for launch in plan.launches if launch.kernel.name in PRODUCTS)
    return product, [launch.kernel.name for launch in plan.launches]
