"""Convolution by Fourier transforms: every length of tile, every direction, tiles that overlap, and memory."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from helper import Case, check, open_handle, over, targets
from where import scratch

import portadnn as dnn
from portadnn.problem import parse
from portadnn_backends.base import DeviceInfo
from portadnn_backends.engines.fft import engine as conv_fft
from portadnn_backends.engines.fft import setup as conv_fft_setup
from portadnn_backends.engines.fft.geometry import LENGTHS, Window, _reach

WHOLE, TILING = conv_fft.ENGINES

# x, w, the rest, the length of a tile that holds the whole image (forward)
LAYERS = (
    ("f32:2x3x7x6", "f32:5x3x3x3", "padding=1,1", 8),
    ("f32:1x1x1x1", "f32:1x1x3x3", "padding=1,1", 8),
    ("f32:3x5x1x1", "f32:4x5x1x1", "", 8),
    ("f32:1x2x2x3", "f32:3x2x1x1", "padding=4,3 mode=convolution alpha=2 beta=1", 16),
    ("f64:2x4x13x9", "f64:6x2x5x2", "padding=0,1 groups=2 mode=convolution", 16),
    ("f16:2x6x13x9:nhwc", "f16:9x2x5x4:nhwc", "padding=2,1 groups=3 alpha=-0.5 beta=0.5", 16),
    ("f32:2x3x6x7/400,50,8,1", "f32:4x3x3x3/1,4,12,36", "", 8),
    ("f32:1x4x31x28", "f32:3x4x11x11", "padding=5,5", 64),
    ("bf16:2x3x14x9", "bf16:4x3x3x5", "padding=1,2 beta=1", 16),
    ("f64:1x1x30x30", "f64:2x1x2x31", "mode=convolution padding=0,2", 32),
    ("f32:2x4x3x9x8", "f32:6x2x2x5x3", "padding=1,2,1 groups=2 alpha=2 beta=-1", 16),
    ("f32:1x2x60x50", "f32:2x2x7x7", "padding=3,3", 64),
    ("f64:1x1x45x50", "f64:1x1x15x3", "padding=3,1 beta=1", 64),
    ("f32:1x1x100x128", "f32:1x1x3x1", "", 128),
    ("f16:1x1x3x200", "f16:1x1x3x9", "padding=0,4", 256),
)


def lines(x, w, rest):
    """Return the three directions of a layer."""
    y = parse(f"convolution_forward x={x} w={w} {rest.split('alpha')[0]}").y
    return (
        f"convolution_forward x={x} w={w} y={y} {rest}",
        f"convolution_backward_data w={w} dy={y} dx={x} {rest}",
        f"convolution_backward_filter x={x} dy={y} dw={w} {rest}",
    )


SLOW = (0, 5, 10, 11, 13)  # rows for GPU kernels on a CPU, whose compilation takes seconds: a row for each length
FIRST = {row[3]: i for i, row in reversed(list(enumerate(LAYERS)))}  # of each length; the others have a direction each
TABLE = [
    Case(line, everywhere=i in SLOW, long=i not in FIRST.values() and i % 3 != direction)
    for i, row in enumerate(LAYERS)
    for direction, line in enumerate(lines(*row[:3]))
]
H200 = DeviceInfo(
    "cuda", "H200", "NVIDIA", "gpu", "", "", schedule="gpu", compute_units=132, simd_width=32,
    max_work_group=1024, local_memory=48 << 10, global_memory=1 << 37, max_allocation=1 << 37,
)  # fmt: skip


@over(TABLE, kernels=True)
def test_whole_images(handle, case):
    check(handle, case, engine=WHOLE)


@over([replace(case, everywhere="f32:1x2x60x50" in case.line) for case in TABLE], kernels=True)
def test_overlapping_tiles(handle, case):
    check(handle, case, engine=TILING)


@pytest.mark.parametrize(("x", "w", "rest", "length"), LAYERS)
def test_the_table_reaches_every_length(x, w, rest, length):
    assert WHOLE.work(parse(lines(x, w, rest.split("alpha")[0])[0]), H200).setup.tiling.length == length
    assert {row[3] for row in LAYERS} == set(LENGTHS)


@pytest.mark.parametrize("target", targets(), ids=lambda t: t.name)
@pytest.mark.parametrize("line", lines("f32:7x4x12x9", "f32:6x2x5x5", "groups=2 alpha=2 beta=1"))
def test_several_parts(monkeypatch, target, line):
    """With little memory images are taken a few at a time; a filter gradient is added up."""
    handle, engine = open_handle.__wrapped__(target), WHOLE
    problem = parse(line.split("alpha")[0])
    whole = engine.work(problem, handle.info).workspace
    monkeypatch.setattr(conv_fft_setup, "MEMORY", whole // 2)
    work = engine.work(problem, handle.info)
    assert 1 <= work.images < 7
    assert engine.workspace(problem, handle.info) == work.workspace <= whole // 2 < whole
    check(handle, line, engine=engine)


@pytest.mark.parametrize("target", [t for t in targets() if not t.slow], ids=lambda t: t.name)
@pytest.mark.parametrize("line", lines("f32:2x2x50x19", "f32:3x2x5x5", "padding=1,2 alpha=2 beta=1 mode=convolution"))
def test_bands_of_tiles(monkeypatch, target, line):
    """Where even one image is too large, rows of its tiles are taken."""
    handle, engine = open_handle.__wrapped__(target), TILING
    problem = parse(line.split("alpha")[0])
    monkeypatch.setattr(engine, "tilings", lambda scheme: [scheme.window.tiled(16)])
    whole = engine.work(problem, handle.info)
    monkeypatch.setattr(conv_fft_setup, "MEMORY", whole.workspace // 4)
    work = engine.work(problem, handle.info)
    assert work.images == 1
    assert 1 <= work.bands < whole.bands
    assert len(work.parts) == work.count
    check(handle, line, engine=engine)


@pytest.mark.parametrize("line", lines("f32:2x3x9x9", "f32:4x3x3x3", "padding=1,1"))
@pytest.mark.parametrize("engine", conv_fft.ENGINES, ids=lambda e: e.name)
def test_a_device_with_little_local_memory(engine, line):
    """Transforms then run in global memory, a bounded number of them at a time."""
    small = replace(H200, local_memory=1 << 10)
    problem = parse(line)
    assert engine.work(problem, H200).setup.scratch == "LOCAL"
    work = engine.work(problem, small)
    assert work.setup.scratch == "GLOBAL"
    assert work.sizes[3] >= work.setup.scratch_groups * 2 * 4 * work.setup.tiling.length**2
    assert work.workspace == sum(work.sizes)


def test_reach_is_enough_and_no_more():
    """With that period the circular sum is the linear one; with one less, some sum is not."""
    rng = np.random.default_rng(1)
    for src, dst, taps, pad in product(range(1, 6), range(1, 6), range(1, 5), range(-3, 6)):
        if src + 2 * pad - taps + 1 > dst + 4:
            continue
        window = Window.of((src, 1), (dst, 1), (taps, 1), (pad, 0), False)
        skipped, kept, left = window.skipped[0], window.taps[0], window.pad[0]
        image, weights = rng.standard_normal(src), rng.standard_normal(taps)

        def at(i, image=image, src=src):
            return image[i] if 0 <= i < src else 0.0

        want = [sum(at(p + r - pad) * weights[r] for r in range(taps)) for p in range(dst)]
        period = _reach(src, dst, kept, left)
        extent = min(period, dst + kept - 1)
        tile = np.array([at(u - left) if u < extent else 0.0 for u in range(period)])
        got = [sum(tile[(p + r) % period] * weights[skipped + r] for r in range(kept)) for p in range(dst)]
        np.testing.assert_allclose(got, want, atol=1e-12, err_msg=f"{src} {dst} {taps} {pad}")


@pytest.mark.parametrize(
    ("line", "engine", "words"),
    [
        ("convolution_forward x=f32:1x1x9x9 w=f32:1x1x3x3 stride=2,1", WHOLE, "stride"),
        ("convolution_forward x=f32:1x1x9x9 w=f32:1x1x3x3 dilation=1,2", TILING, "dilation"),
        ("convolution_forward x=f32:1x1x300x9 w=f32:1x1x3x3", WHOLE, "256 x 256"),
        ("convolution_forward x=f32:1x1x300x100 w=f32:1x1x3x65", TILING, "64 x 64"),
        ("convolution_forward x=f32:1x4096x200x200 w=f32:4096x4096x3x3 padding=1,1", WHOLE, "bytes of workspace"),
    ],
)
def test_reasons_against_it(line, engine, words):
    assert words in engine.why_not(parse(line), H200)
    assert words in engine.why_not(parse(line), H200.with_schedule("cpu"))


@pytest.mark.parametrize("line", ["1x1x9x9 w=f32:1x1x9x9 stride=2,3", "1x1x9x9 w=f32:1x1x1x1 dilation=2,3"])
def test_strides_and_dilations_that_say_nothing(line):
    assert WHOLE.why_not(parse(f"convolution_forward x=f32:{line}"), H200) is None


@over([Case("convolution_forward x=f32:2x3x9x9 w=f32:4x3x3x3")], kernels=True)
def test_asked_for_by_algorithm(handle, case):
    rng = np.random.default_rng(2)
    problem = parse(case.line)
    x, w = (rng.standard_normal(spec.dims).astype(np.float32) for spec in (problem.x, problem.w))
    conv = dnn.ConvolutionDescriptor((0, 0))
    with dnn.Handle("reference") as reference:
        want = dnn.convolution_forward(reference, x, w, conv)
    x, w = handle.asarray(x), handle.asarray(w)
    for algo in ("fft", "fft_tiling"):
        size = dnn.get_convolution_forward_workspace_size(handle, x, w, conv, algo=algo)
        got = dnn.convolution_forward(handle, x, w, conv, algo=algo, workspace=scratch(handle, size))
        np.testing.assert_allclose(handle.to_numpy(got), want, atol=1e-4)
        with pytest.raises(dnn.BadParam, match=f"at least {size} bytes"):
            dnn.convolution_forward(handle, x, w, conv, algo=algo, workspace=scratch(handle, size - 1))
        dilated = dnn.ConvolutionDescriptor((0, 0), (1, 1), (2, 2))
        with pytest.raises(dnn.NotSupported, match="dilation"):
            dnn.convolution_forward(handle, x, w, dilated, algo=algo)
    with pytest.raises(dnn.NotSupported, match="stride"):
        dnn.convolution_forward(handle, x, w, dnn.ConvolutionDescriptor((0, 0), (2, 2)), algo="fft")


@over(
    [Case("convolution_backward_data w=f32:2x3x1x1 dy=f32:1x2x1x1 dx=f32:1x3x1x1 padding=1,1 stride=3,3")], kernels=True
)
def test_what_only_meets_padding_leaves_no_rounding_errors(handle, case):
    problem = parse(case.line)
    w, dy = (handle.asarray(np.full(spec.dims, 0.1, np.float32)) for spec in (problem.w, problem.dy))
    conv = dnn.ConvolutionDescriptor((1, 1), (3, 3))
    for algo in ("fft", "fft_tiling"):
        dx = dnn.convolution_backward_data(handle, w, dy, conv, dnn.TensorDescriptor(problem.dx.dims), algo=algo)
        assert not handle.to_numpy(dx).any()
    check(handle, case, engine=WHOLE)


def test_never_chosen_unless_asked_for():
    problem = parse("convolution_forward x=f32:8x64x56x56 w=f32:64x64x11x11 padding=5,5")
    assert all(engine.error_factor(problem) > 1 for engine in conv_fft.ENGINES)
    assert WHOLE.algo(problem) is dnn.ConvolutionFwdAlgo.FFT
    assert TILING.algo(problem) is dnn.ConvolutionFwdAlgo.FFT_TILING
