"""Convolutions on tensor cores: what they take, what they need, and on NVIDIA GPUs every tile with split sums."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helper import Case, Target, check, open_handle, targets

from portadnn.dispatch.choice import candidates
from portadnn.enums import MathType
from portadnn.problem import parse
from portadnn_backends.base import DeviceInfo
from portadnn_backends.cuda.devices import features
from portadnn_backends.engines.conv import gemm as conv_gemm
from portadnn_backends.engines.conv import tensor_core as conv_tensor_core
from portadnn_backends.engines.conv import tensor_core_choice as conv_tensor_core_choice
from portadnn_backends.engines.conv.tensor_core_tiles import FILTER_TILES, IMAGE_TILES, Choice

H200 = DeviceInfo(
    "cuda", "H200", "NVIDIA", "gpu", "", "", schedule="gpu", compute_units=132, simd_width=32,
    max_work_group=1024, local_memory=48 << 10, dynamic_memory=227 << 10, global_memory=1 << 37,
    max_allocation=1 << 37, flops=67e12, bandwidth=4.8e12, arch="sm_90", features=features(9),
)  # fmt: skip

# channels that fill chunks and some that do not, strides and dilations that share factors, two groups
SHAPES = (
    "{x}={t}:2x40x7x5{f} {w}={t}:36x20x3x2{f} {y}={t}:2x36x4x4{f} padding=1,0 stride=2,1 dilation=1,1 groups=2",
    "{x}={t}:2x16x9x8{f} {w}={t}:24x16x3x3{f} {y}={t}:2x24x9x8{f} padding=1,1 mode=convolution",
    "{x}={t}:1x3x12x12{f} {w}={t}:7x3x5x5{f} {y}={t}:1x7x6x6{f} padding=2,2 stride=2,2",
    "{x}={t}:1x9x4x5x6{f} {w}={t}:5x9x2x3x3{f} {y}={t}:1x5x5x3x6{f} padding=1,1,1 stride=1,2,1",
    "{x}={t}:3x8x6x8{f} {w}={t}:16x8x1x1{f} {y}={t}:3x16x6x8{f} padding=0,0",
)
# 1 x 1 filters over planes of neighbouring pixels: channels that fill no chunk or no slice, runs of eight and of four,
# few pixels, a sum that is split
PLANES = (
    "{x}={t}:2x37x4x12{a} {w}={t}:50x37x1x1 {y}={t}:2x50x4x12{b} padding=0,0",
    "{x}={t}:3x44x7x4{a} {w}={t}:40x44x1x1 {y}={t}:3x40x7x4{b} padding=0,0",
    "{x}={t}:2x30x14x14{a} {w}={t}:27x10x1x1 {y}={t}:2x27x14x14{b} padding=0,0 groups=3",
    "{x}={t}:1x9x1x8{a} {w}={t}:5x9x1x1 {y}={t}:1x5x1x8{b} padding=0,0",
    "{x}={t}:1x2100x1x40{a} {w}={t}:200x2100x1x1 {y}={t}:1x200x1x40{b} padding=0,0",
    "{x}={t}:2x20x3x5x8{a} {w}={t}:72x20x1x1x1 {y}={t}:2x72x3x5x8{b} padding=0,0,0",
)
FUSED = (
    "convolution_bias_activation_forward x={t}:2x37x{p} w={t}:50x37x1x1 z={t}:2x50x{p}{f} {rest} alpha1=0.5 alpha2=1"
)
OPS = {
    "forward": ("convolution_forward", ("x", "w", "y")),
    "data": ("convolution_backward_data", ("dx", "w", "dy")),
    "filter": ("convolution_backward_filter", ("x", "dw", "dy")),
}
ENGINES = dict(zip(OPS, conv_tensor_core.ENGINES[:3], strict=True))
GPUS = [target for target in targets() if target.backend == "cuda"]
GPUS = GPUS or [Target("cuda", "cuda", missing="it is not among the backends to test")]


def line(direction, shape=SHAPES[0], dtype="f16", layout="", rest=""):
    op, (x, w, y) = OPS[direction]
    math = " math=tf32" if dtype == "f32" and "math" not in rest else ""
    return f"{op} {shape.format(x=x, w=w, y=y, t=dtype, f=layout)}{math} {rest}".strip()


def tiles(direction):
    return FILTER_TILES if direction == "filter" else IMAGE_TILES


@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("layout", ["", ":nhwc"], ids=["nchw", "nhwc"])
@pytest.mark.parametrize("shape", range(len(SHAPES)))
@pytest.mark.parametrize("direction", OPS)
@pytest.mark.parametrize("target", GPUS, ids=lambda t: t.name)
def test_chosen_tile(target, direction, shape, layout, dtype):
    text = line(direction, SHAPES[shape], dtype, layout)
    handle = open_handle(target)
    if "mma" not in handle.info.features:
        pytest.skip("no tensor cores")
    check(handle, text, engine=ENGINES[direction])
    check(handle, Case(text + " alpha=2.0 beta=-1.0", "integer"), engine=ENGINES[direction])


@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("direction", OPS)
@pytest.mark.parametrize("target", GPUS, ids=lambda t: t.name)
def test_some_images_at_a_time(monkeypatch, target, direction, dtype):
    """Five images in parts of two, two and one, packed anew and as they are."""
    handle = open_handle(target)
    if "mma" not in handle.info.features:
        pytest.skip("no tensor cores")
    monkeypatch.setattr(conv_tensor_core, "images_at_a_time", lambda images, nbytes, limit: 2)
    for shape in SHAPES:
        for layout in ("", ":nhwc"):
            text = line(direction, shape, dtype, layout, "alpha=2.0 beta=-0.5")
            for images in ("=" + dtype + ":1x", "=" + dtype + ":2x", "=" + dtype + ":3x"):
                text = text.replace(images, "=" + dtype + ":5x")
            check(handle, text, engine=ENGINES[direction])


@pytest.mark.parametrize("direction", OPS)
def test_the_workspace_does_not_grow_with_the_batch(direction):
    shape = "{x}={t}:%dx256x56x56 {w}={t}:64x256x1x1 {y}={t}:%dx64x56x56 padding=0,0"
    sizes = [ENGINES[direction].workspace(parse(line(direction, shape % (n, n))), H200) for n in (64, 256, 1024)]
    assert max(sizes) < 2 * conv_tensor_core.TILE_SET


@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("direction", OPS)
@pytest.mark.parametrize("target", GPUS, ids=lambda t: t.name)
def test_every_tile(monkeypatch, target, direction, dtype, splits):
    handle = open_handle(target)
    if "mma" not in handle.info.features:
        pytest.skip("no tensor cores")
    for tile in tiles(direction):
        monkeypatch.setattr(
            conv_tensor_core_choice,
            "best_choice",
            lambda product, info, whole=False, tile=tile: Choice(product, tile, splits),
        )
        for layout in ("", ":nhwc"):
            text = line(direction, SHAPES[1], dtype, layout, "alpha=2.0 beta=-0.5")
            check(handle, text, engine=ENGINES[direction])


@pytest.mark.parametrize("direction", OPS)
def test_workspace_is_what_is_packed_and_split(direction):
    engine, problem = ENGINES[direction], parse(line(direction))
    setup = engine.setup(problem, H200)
    packed = sum(image.nbytes for image in setup.images) + setup.filter_size
    assert engine.workspace(problem, H200) == packed + setup.choice.parts_size
    assert packed > 0 and packed % 256 == 0


def test_channels_last_is_read_where_it_lies():
    for direction in OPS:
        setup = ENGINES[direction].setup(parse(line(direction, SHAPES[4], layout=":nhwc")), H200)
        assert all(image.native for image in setup.images)
        packed = ENGINES[direction].setup(parse(line(direction, SHAPES[1])), H200)
        assert not any(image.native for image in packed.images)
    assert ENGINES["forward"].workspace(parse(line("forward", SHAPES[4], layout=":nhwc")), H200) == 0


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("direction", ["forward", "data"])
def test_planes_of_a_1x1_filter_are_read_where_they_lie(direction, dtype):
    for space in ("x6x8", "x2x2", "x7x4"):
        problem = parse(line(direction, SHAPES[4].replace("x6x8", space), dtype))
        (image,) = ENGINES[direction].setup(problem, H200).images
        assert image.native and image.planes
    odd = parse(line(direction, SHAPES[4].replace("x6x8", "x7x7"), dtype))
    assert not ENGINES[direction].setup(odd, H200).images[0].native


def _planes(direction, shape, dtype, result=""):
    """Return a line whose image is NCHW, and whose result has the layout `result`."""
    layouts = {"a": "", "b": result} if direction == "forward" else {"a": result, "b": ""}
    op, (x, w, y) = OPS[direction]
    math = " math=tf32" if dtype == "f32" else ""
    return f"{op} {shape.format(x=x, w=w, y=y, t=dtype, **layouts)}{math}"


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("shape", range(len(PLANES)))
@pytest.mark.parametrize("direction", ["forward", "data"])
@pytest.mark.parametrize("target", GPUS, ids=lambda t: t.name)
def test_planes(target, direction, shape, dtype):
    handle, engine = open_handle(target), ENGINES[direction]
    if "mma" not in handle.info.features:
        pytest.skip("no tensor cores")
    for result in ("", ":nhwc"):
        text = _planes(direction, PLANES[shape], dtype, result)
        (image,) = engine.setup(parse(text), handle.info).images
        assert image.planes
        check(handle, text, engine=engine)
        check(handle, Case(text + " alpha=2.0 beta=-1.0", "integer"), engine=engine)


@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("target", GPUS, ids=lambda t: t.name)
def test_every_tile_of_planes(monkeypatch, target, dtype, splits):
    handle = open_handle(target)
    if "mma" not in handle.info.features:
        pytest.skip("no tensor cores")
    for number, tile in enumerate(IMAGE_TILES):
        choose = lambda product, info, whole=False, tile=tile: Choice(product, tile, splits)  # noqa: E731
        monkeypatch.setattr(conv_tensor_core_choice, "best_choice", choose)
        for result in ("", ":nhwc"):
            text = _planes("forward", PLANES[number % 2].replace("37", "437"), dtype, result) + " alpha=2.0 beta=-0.5"
            check(handle, text, engine=ENGINES["forward"])


@pytest.mark.parametrize("rest", ["activation=relu", "activation=sigmoid", "activation=clipped_relu ceiling=0.75"])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("target", GPUS, ids=lambda t: t.name)
def test_planes_with_bias_and_activation(target, dtype, rest):
    handle = open_handle(target)
    if "mma" not in handle.info.features:
        pytest.skip("no tensor cores")
    for space, layout in (("8x6", ""), ("14x2", ""), ("8x6", ":nhwc")):
        text = FUSED.format(t=dtype, p=space, f=layout, rest=rest) + (" math=tf32" if dtype == "f32" else "")
        assert ENGINES["forward"].setup(parse(text), handle.info).images[0].planes
        check(handle, text, engine=ENGINES["forward"])


@pytest.mark.parametrize("direction", OPS)
def test_what_they_decline(direction):
    engine = ENGINES[direction]
    assert engine.why_not(parse(line(direction)), H200) is None
    assert engine.why_not(parse(line(direction, dtype="f32")), H200) is None
    for math in MathType:
        permitted = math is MathType.TENSOR_OP_ALLOW_CONVERSION
        reason = engine.why_not(parse(line(direction, dtype="f32", rest=f"math={math.name}")), H200)
        assert (reason is None) == permitted
    assert "forbids" in engine.why_not(parse(line(direction, rest="math=fma")), H200)
    assert "DOUBLE" in engine.why_not(parse(line(direction, dtype="f64")), H200)
    old = replace(H200, features=features(7))
    assert "no tensor cores" in engine.why_not(parse(line(direction)), old)
    assert "no tile" in engine.why_not(parse(line(direction)), replace(H200, dynamic_memory=1024))


@pytest.mark.parametrize("direction", OPS)
def test_chosen_for_large_problems_in_half_and_tf32_only(direction):
    shape = "{x}={t}:32x64x28x28{f} {w}={t}:64x64x3x3{f} {y}={t}:32x64x28x28{f} padding=1,1"
    index = list(OPS).index(direction)
    engines = (conv_gemm.ENGINES[index], ENGINES[direction])
    choose = lambda problem: candidates(engines, problem, H200)[0]  # noqa: E731
    for dtype, layout, rest in (("f16", ":nhwc", ""), ("f16", "", ""), ("f32", "", "math=tf32")):
        assert choose(parse(line(direction, shape, dtype, layout, rest))) is ENGINES[direction]
    for dtype, rest in (("f32", "math=default"), ("f16", "math=fma")):
        assert choose(parse(line(direction, shape, dtype, "", rest))) is engines[0]
