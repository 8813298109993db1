"""Products of convolutions by Hopper's warpgroups: on the host, by PTX's definitions, and what the assembler says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helper import Case
from host_cuda_device import COMPILER
from test_conv_mma_host import BLEND, DATA, FILTER, FORWARD, FUSED, run_with
from test_nvrtc import recorder_of, reports_no_loss

import portadnn as dnn
from portadnn_backends.engines.conv import tensor_core_choice
from portadnn_backends.engines.conv.tensor_core_tiles import FILTER_WARPGROUPS, IMAGE_WARPGROUPS, Choice

BACKWARD = {DATA: "convolution_backward_data", FILTER: "convolution_backward_filter"}
WARPGROUPS = {  # of Hopper: line, tile (with the rows and columns of a sub-group, and stages), splits
    "3 x 3": (f"x=f16:2x72x7x6:nhwc w=f16:136x72x3x3:nhwc padding=1,1 {BLEND}", (128, 128, 16, 128, 3), 1),
    "two by two": ("x=bf16:1x40x12x13:nhwc w=bf16:200x40x3x2:nhwc padding=1,0 stride=2,1", (128, 256, 32, 128, 4), 1),
    "wide": ("x=f16:1x192x13x11:nhwc w=f16:208x192x1x1:nhwc padding=0,0", (128, 256, 16, 256, 4), 1),
    "parts": (f"x=f16:1x520x5x6:nhwc w=f16:48x520x1x1:nhwc padding=0,0 {BLEND}", (64, 64, 16, 64, 4), 3),
    "groups": ("x=f16:2x48x5x6:nhwc w=f16:144x16x3x3:nhwc padding=1,1 groups=3", (64, 64, 16, 64, 4), 1),
    "an epilogue": ("x=f16:1x24x8x9:nhwc w=f16:96x24x3x3:nhwc padding=1,1 activation=relu", (64, 128, 16, 128, 4), 1),
    "one by one": ("x=f16:1x24x8x9:nhwc w=f16:37x24x3x3 padding=1,1", (128, 64, 16, 64, 4), 1),
    "rows of pixels": (
        f"x=bf16:1x40x16x8:nhwc w=bf16:130x40x3x3 y=bf16:1x130x16x8 padding=1,1 {BLEND}",
        (256, 128, 32, 128, 4),
        1,
    ),
    "rows of pixels, parts": (
        "x=f16:2x136x6x6:nhwc w=f16:72x136x3x3 y=f16:2x72x6x6 padding=1,1",
        (128, 128, 32, 64, 3),
        2,
    ),
    "along, two by two": (
        "dx=f16:1x133x6x7:nhwc w=f16:24x133x3x3:nhwc dy=f16:1x24x6x7:nhwc padding=1,1",
        (128, 256, 32, 128, 4),
        1,
    ),
    "planes": (f"x=f16:2x72x12x12 w=f16:136x72x1x1 padding=0,0 {BLEND}", (128, 128, 32, 64, 3), 1),
    "planes, stored one by one": (
        "x=bf16:1x40x6x10 w=bf16:70x40x1x1 y=bf16:1x70x6x10:nhwc padding=0,0",
        (64, 64, 16, 64, 4),
        1,
    ),
    "planes, wide": ("x=f16:1x40x16x17 w=f16:136x40x1x1 padding=0,0", (256, 128, 32, 128, 4), 1),
    "planes, across": (
        "dx=f16:2x136x6x10 w=f16:40x136x1x1:nhwc dy=f16:2x40x6x10 padding=0,0",
        (128, 256, 32, 128, 4),
        1,
    ),
    "across": (
        f"dx=f16:2x72x5x6:nhwc w=f16:40x72x3x3:nhwc dy=f16:2x40x5x6:nhwc padding=1,1 {BLEND}",
        (128, 128, 16, 128, 3),
        1,
    ),
    "across, two by two": (
        "dx=bf16:1x192x5x5:nhwc w=bf16:72x192x1x1:nhwc dy=bf16:1x72x5x5:nhwc padding=0,0",
        (128, 256, 32, 128, 4),
        1,
    ),
    "across, stride 2": (
        "dx=f16:1x80x7x9:nhwc w=f16:48x80x3x3:nhwc dy=f16:1x48x4x5:nhwc padding=1,1 stride=2,2",
        (64, 64, 16, 64, 4),
        2,
    ),
    "of filters": (
        f"x=f16:2x72x7x6:nhwc dw=f16:136x72x3x3:nhwc dy=f16:2x136x7x6:nhwc padding=1,1 {BLEND}",
        (128, 128, 16, 128, 3),
        1,
    ),
    "of filters, wide": (
        "x=bf16:1x40x9x12:nhwc dw=bf16:200x40x3x2 dy=bf16:1x200x4x13:nhwc padding=0,1 stride=2,1",
        (128, 256, 16, 256, 4),
        2,
    ),
    "of filters, groups": (
        "x=f16:2x32x13x11:nhwc dw=f16:96x16x1x1:nhwc dy=f16:2x96x13x11:nhwc padding=0,0 groups=2",
        (64, 64, 16, 64, 4),
        1,
    ),
    "of filters, columns that share no rows": (
        "x=f16:2x72x7x6:nhwc dw=f16:72x72x3x3:nhwc dy=f16:2x72x7x6:nhwc padding=1,1",
        (128, 192, 16, 192, 4),
        1,
    ),
    "along, single taps": (
        "dx=f16:1x33x7x9:nhwc w=f16:72x33x3x3:nhwc dy=f16:1x72x7x9:nhwc padding=1,1",
        (128, 192, 16, 192, 4),
        1,
    ),
}


def tile_of(size):
    (tile,) = (one for one in IMAGE_WARPGROUPS if (one.bm, one.bn, one.wm, one.wn, one.stages) == size)
    return tile


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.long] * (number % 4 > 0)) for number, one in enumerate(WARPGROUPS)]
)
def test_warpgroups(name, monkeypatch, tmp_path):
    rest, size, splits = WARPGROUPS[name]
    engine = DATA if "dx=" in rest else FILTER if "dw=" in rest else FORWARD
    op = BACKWARD[engine] if "dy=" in rest else FUSED if "activation" in rest else "convolution_forward"
    case = Case(f"{op} {rest}", "integer")
    product, launches = run_with(tile_of(size), engine, case, splits, monkeypatch, tmp_path)
    assert "#define WARPGROUPS 1" in product
    assert ("#define FILTER_ACROSS 1" in product) == ("across" in name)
    assert ("conv_mma_filter" if engine is FILTER else "conv_mma") in launches


TAKEN = {  # of a GPU, and whether warpgroups multiply
    "half": ("sm_90", "x=f16:32x256x14x14:nhwc w=f16:256x256x3x3:nhwc padding=1,1", True),
    "planes": ("sm_90", "x=f16:32x768x8x8 w=f16:768x768x1x1 padding=0,0", True),
    "packed floats": ("sm_90", "x=f32:64x256x14x14 w=f32:256x256x3x3 padding=1,1 math=tf32", True),
    "a float filter as it lies": (
        "sm_90",
        "x=f32:64x1024x28x28 w=f32:1024x1024x1x1 padding=0,0 stride=2,2 math=tf32",
        True,
    ),
    "floats as they lie": ("sm_90", "x=f32:64x256x14x14:nhwc w=f32:256x256x3x3:nhwc padding=1,1 math=tf32", False),
    "an older GPU": ("sm_80", "x=f16:32x256x14x14:nhwc w=f16:256x256x3x3:nhwc padding=1,1", False),
}


@pytest.mark.xdist_group("nvrtc")
@pytest.mark.parametrize("name", TAKEN)
def test_what_warpgroups_take(name):
    """Floats that they read have been rounded by packing."""
    arch, rest, taken = TAKEN[name]
    recorder = recorder_of(arch)
    recorder.info = replace(recorder.info, dynamic_memory=227 << 10)
    FORWARD.prepare(dnn.parse(f"convolution_forward {rest}"), recorder)
    (source,) = (source for source, (file, *_) in recorder.sources.items() if file == "cuda/conv/mma.cu")
    assert ("#define WARPGROUPS 1" in source) == taken
    assert not (taken and ("#define ROUND_IMAGE" in source or "#define ROUND_FILTER" in source))


LAYER = "x=f16:9x136x10x10:nhwc w=f16:376x136x5x5:nhwc padding=2,2"
GRADIENTS = LAYER + " dy=f16:9x376x10x10:nhwc"
ASSEMBLED = {
    "forward": (FORWARD, f"convolution_forward {LAYER}"),
    "data": (DATA, f"convolution_backward_data {GRADIENTS.replace('x=', 'dx=', 1)}"),
    "TF32": (FORWARD, f"convolution_forward {LAYER.replace('f16', 'f32').replace(':nhwc', '')} math=tf32"),
    "filter": (FILTER, f"convolution_backward_filter {GRADIENTS.replace(' w=', ' dw=')}"),
}


@pytest.mark.xdist_group("nvrtc")
@pytest.mark.parametrize(
    "direction", [pytest.param(one, marks=[pytest.mark.long] * (one != "filter")) for one in ASSEMBLED]
)
def test_products_run_side_by_side(direction, monkeypatch):
    engine, line = ASSEMBLED[direction]
    fewest = 32 if "tf32" in line else 16
    for tile in FILTER_WARPGROUPS if engine is FILTER else IMAGE_WARPGROUPS:
        if tile.wm < fewest:
            continue
        recorder = recorder_of("sm_90")
        recorder.info = replace(recorder.info, dynamic_memory=227 << 10)
        choice = lambda product, info, whole=False, tile=tile: Choice(product, tile, 1)  # noqa: E731
        monkeypatch.setattr(tensor_core_choice, "best_choice", choice)
        engine.prepare(dnn.parse(line), recorder)
        found = [source for source, (file, _, _) in recorder.sources.items() if file.startswith("cuda/conv/mma")]
        assert found
        for source in found:
            assert "#define WARPGROUPS 1" in source
            reports_no_loss(source)
