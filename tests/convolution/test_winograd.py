"""Winograd for GPUs: every direction, layout and type on problems whose tiles, channels and filters fill nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helper import Case, check, open_handle, targets

import portadnn as dnn
from portadnn.dispatch.choice import candidates
from portadnn.problem import parse
from portadnn_backends.base import DeviceInfo
from portadnn_backends.engines.conv import by_choice
from portadnn_backends.engines.conv import gemm as conv_gemm
from portadnn_backends.engines.winograd import fused as winograd
from portadnn_backends.engines.winograd import gradient as winograd_gradient
from portadnn_backends.engines.winograd import nonfused as winograd_nonfused

# image, filter, the rest: pads from 0 to beyond the filter, groups, both modes, gaps, channels last, one pixel, nothing
CASES = (
    ("f32:2x35x7x6", "f32:37x35x3x3", "padding=1,1"),
    ("f32:3x32x5x9", "f32:34x16x3x3", "padding=0,2 groups=2 mode=convolution alpha=2 beta=-0.5"),
    ("f32:2x40x5x6:nhwc", "f32:36x20x3x3:nhwc", "padding=1,1 groups=2 alpha=0.5 beta=1"),
    ("f32:2x3x6x7/400,50,8,1", "f32:5x3x3x3/1,5,45,15", "padding=3,4 mode=convolution"),
    ("f32:1x1x1x1", "f32:1x1x3x3", "padding=1,1"),
    ("f32:0x3x5x5", "f32:4x3x3x3", "beta=0.5"),
    ("f16:2x33x5x7", "f16:18x33x3x3", "padding=1,0"),
    ("f64:2x19x5x6", "f64:21x19x3x3", "padding=1,1 mode=convolution beta=2"),
    ("f64:1x18x4x5:nhwc", "f64:18x18x3x3", "padding=1,1"),
)
ENGINES = FORWARD, DATA, FILTER = (*winograd.ENGINES, *winograd_gradient.ENGINES)
NONFUSED = dict(zip(ENGINES, winograd_nonfused.ENGINES, strict=True))
GPU_TARGETS = [t for t in targets() if t.schedule != "cpu"]
H200 = DeviceInfo(
    "cuda", "H200", "NVIDIA", "gpu", "", "", schedule="gpu", compute_units=132, simd_width=32,
    max_work_group=1024, local_memory=48 << 10, global_memory=1 << 37, max_allocation=1 << 37, flops=67e12,
    bandwidth=4.8e12,
)  # fmt: skip


def lines(x, w, rest):
    """The three directions of a convolution, with the engine of each."""
    y = parse(f"convolution_forward x={x} w={w} {rest.partition(' alpha')[0].partition(' beta')[0]}").y
    if "nhwc" in x:
        y = f"{str(y).partition('/')[0].removesuffix(':nhwc')}:nhwc"
    return {
        FORWARD: f"convolution_forward x={x} w={w} y={y} {rest}",
        DATA: f"convolution_backward_data w={w} dy={y} dx={x} {rest}",
        FILTER: f"convolution_backward_filter x={x} dy={y} dw={w} {rest}",
    }


def on_gpus(function):
    return pytest.mark.parametrize("target", GPU_TARGETS, ids=lambda t: t.name)(function)


def open_on(target, fenced=None):
    """A new handle: it must not hold a plan made before. `fenced`: whether work-groups read what others wrote."""
    handle = open_handle.__wrapped__(target)
    if fenced is not None:
        info = handle.device.info
        features = info.features | {"grid_fence"} if fenced else info.features - {"grid_fence"}
        handle.device.info = replace(info, features=features, flops=67e12, bandwidth=4.8e12)  # as of a large GPU
    return handle


@pytest.mark.parametrize(
    ("case", "fenced"),
    [
        pytest.param(case, fenced, id=f"{' '.join(case)}-{way}", marks=[pytest.mark.long] * (at % 2 != fenced))
        for at, case in enumerate(CASES)
        for fenced, way in ((False, "launches"), (True, "one launch"))
    ],
)
@on_gpus
def test_matches_the_definition(target, case, fenced):
    handle = open_on(target, fenced)
    for engine, line in lines(*case).items():
        if " beta" in line and "0x3" in line and engine is not FILTER:
            continue  # nothing to blend
        check(handle, line, engine=engine)
        assert len(engine.prepare(parse(line), handle.device).launches) <= (1 if fenced else 2)
        if not fenced:
            check(handle, line, engine=NONFUSED[engine])


@pytest.mark.parametrize("layout", ["", ":nhwc"])
@on_gpus
def test_integers_are_exact(monkeypatch, target, layout):
    monkeypatch.setattr(winograd, "BAKED", 0)  # and the geometry compiled in
    monkeypatch.setattr(winograd, "SUMMED", 1)
    handle = open_on(target)
    for engine, line in lines(f"f32:2x36x7x6{layout}", "f32:34x36x3x3", "padding=1,1").items():
        check(handle, Case(line, "integer"), engine=engine)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@on_gpus
def test_small_tile_and_split_sums(monkeypatch, target, dtype):
    monkeypatch.setattr(by_choice, "chosen", lambda choose, *of: choose(*of))  # what it keeps was chosen of all tiles
    for module, name in ((winograd, "TILES"), (winograd_gradient, "GRADIENT_TILES")):
        tiles = {kind: tiles[-1:] for kind, tiles in getattr(module, name).items()}
        monkeypatch.setattr(module, name, tiles)
    monkeypatch.setattr(winograd_gradient.WinogradBackwardFilter, "splits", lambda *_: 3)
    handle = open_on(target)
    for engine, line in lines(f"{dtype}:3x18x5x8", f"{dtype}:17x18x3x3", "padding=1,1 beta=1").items():
        check(handle, line, engine=engine)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@on_gpus
def test_nonfused_in_chunks_and_splits(monkeypatch, target, dtype):
    monkeypatch.setattr(winograd_nonfused, "CHUNK", 0)
    monkeypatch.setattr(winograd_nonfused, "TILES", {k: v[-1:] for k, v in winograd_nonfused.TILES.items()})
    handle = open_on(target)
    for engine, line in lines(f"{dtype}:9x17x16x15", f"{dtype}:2x17x3x3", "padding=1,1 beta=1").items():
        choice = replace(next(winograd_nonfused.choices(parse(line), handle.info)), splits=2)
        assert choice.chunks == 2
        monkeypatch.setattr(winograd_nonfused.WinogradNonfused, "choose", lambda *_, choice=choice: choice)
        check(handle, line, engine=NONFUSED[engine])


def test_reasons_against_it():
    line = "convolution_forward x=f32:1x4x9x9 w=f32:4x4x3x3"
    assert FORWARD.why_not(parse(line), H200) is None
    assert "GPU" in FORWARD.why_not(parse(line), H200.with_schedule("cpu"))
    assert "stride" in FORWARD.why_not(parse(line + " stride=2,1"), H200)
    assert "dilation" in FORWARD.why_not(parse(line + " dilation=1,2"), H200)
    assert "3 x 3" in FORWARD.why_not(parse("convolution_forward x=f32:1x4x9x9 w=f32:4x4x3x5"), H200)
    assert "2-D" in FORWARD.why_not(parse("convolution_forward x=f32:1x4x9x9x9 w=f32:4x4x3x3x3"), H200)
    assert "tile" in FORWARD.why_not(parse(line), replace(H200, local_memory=1024))
    assert "workspace" in FORWARD.why_not(parse(line), replace(H200, max_allocation=1024))


@pytest.mark.parametrize(("size", "wins"), [("64x256x14x14", True), ("1x512x7x7", False)])
def test_is_the_default_where_it_is_faster(size, wins):
    c = size.split("x")[1]
    problem = parse(f"convolution_forward x=f32:{size} w=f32:{c}x{c}x3x3 padding=1,1")
    engines = [e for e in (*conv_gemm.ENGINES, FORWARD) if isinstance(problem, e.problems)]
    assert (candidates(engines, problem, H200)[0] is FORWARD) == wins


def test_few_terms_are_left_to_others():
    few = parse("convolution_forward x=f32:64x3x56x56 w=f32:64x3x3x3 padding=1,1")
    assert FORWARD.error_factor(few) > 1
    with pytest.raises(dnn.NotSupported, match="only when asked for as WINOGRAD"):
        candidates([FORWARD], few, H200)
