"""The implicit-GEMM convolution for GPUs: every tile and the split sums, which small problems would not choose."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helper import check, open_handle, targets

import portadnn as dnn
from portadnn.dispatch.choice import candidates
from portadnn.problem import parse
from portadnn_backends.base import DeviceInfo
from portadnn_backends.cuda.devices import features
from portadnn_backends.engines.conv import gemm as conv_gemm
from portadnn_backends.engines.conv.gemm_tiles import TILES as TILES_OF
from portadnn_backends.engines.conv.gemm_tiles import Choice
from portadnn_backends.engines.conv.geometry import filter_vectors
from portadnn_backends.engines.pieces import shares_pieces

# two groups of 18 filters and 20 channels: rows and columns that fill no tile, channels that fill slices of 8
FORWARD = "x={t}:2x40x7x5{f} w={t}:36x20x3x2{f} y={t}:2x36x4x4{f} padding=1,0 stride=2,1 dilation=1,1 groups=2"
LINES = {
    "forward": "convolution_forward " + FORWARD,
    "data": "convolution_backward_data " + FORWARD.replace("x={t}", "dx={t}", 1).replace("y={t}", "dy={t}", 1),
    "filter": "convolution_backward_filter " + FORWARD.replace("w={t}", "dw={t}", 1).replace("y={t}", "dy={t}", 1),
}
ENGINES = dict(zip(LINES, conv_gemm.ENGINES[:3], strict=True))
PLAIN = dict(zip(LINES, conv_gemm.ENGINES[3:], strict=True))
TILES = [("f32", "", tile) for tile in TILES_OF[dnn.DataType.FLOAT]]
TILES += [("f64", ":nhwc", tile) for tile in TILES_OF[dnn.DataType.DOUBLE]]

H200 = DeviceInfo(
    "cuda", "H200", "NVIDIA", "gpu", "", "", schedule="gpu", compute_units=132, simd_width=32,
    max_work_group=1024, local_memory=48 << 10, global_memory=1 << 37, max_allocation=1 << 37,
    flops=67e12, bandwidth=4.8e12,
)  # fmt: skip


def line(direction, dtype="f32", layout=""):
    return LINES[direction].format(t=dtype, f=layout)


def force(monkeypatch, tile, splits, packs=True, fused=False):
    def choose(engine, problem, info):
        geometry, size = engine.geometry(problem), problem.dtype.accumulator.itemsize
        choice = Choice(geometry, tile, splits, geometry.packs and packs, False, size)
        if not packs:
            choice = choice.in_vectors(filter_vectors(problem, geometry))
        return choice.fuses_sums().packing_inside() if fused else choice

    monkeypatch.setattr(conv_gemm.ConvGemm, "choose", choose)


@pytest.mark.parametrize("direction", LINES)
@pytest.mark.parametrize(("dtype", "layout", "tile"), TILES, ids=lambda v: f"{v.bm}x{v.bn}" if hasattr(v, "bm") else v)
@pytest.mark.parametrize("target", [t for t in targets() if t.schedule != "cpu"], ids=lambda t: t.name)
def test_every_tile_with_split_sums(monkeypatch, target, dtype, layout, tile, direction):
    if direction == "filter" and tile.filter_share == 0:
        return
    force(monkeypatch, tile, 3)
    handle = open_handle(target)
    check(handle, f"{line(direction, dtype, layout)} alpha=2.0 beta=-0.5", engine=ENGINES[direction])


@pytest.mark.parametrize("direction", ["forward", "data"])
@pytest.mark.parametrize(("packs", "fused"), [(True, True), (False, False)], ids=["fused", "gathered"])
@pytest.mark.parametrize(("dtype", "layout", "tile"), [TILES[0], TILES[3], TILES[-1]], ids=["64x128", "32x128", "f64"])
@pytest.mark.parametrize("target", [t for t in targets() if t.schedule != "cpu"], ids=lambda t: t.name)
def test_other_ways_to_split_sums(monkeypatch, target, dtype, layout, tile, packs, fused, direction):
    force(monkeypatch, tile, 3, packs, fused)
    check(open_handle(target), f"{line(direction, dtype, layout)} alpha=2.0 beta=-0.5", engine=ENGINES[direction])


@pytest.mark.parametrize("direction", ["forward", "data"])
@pytest.mark.parametrize(("dtype", "layout", "tile"), TILES, ids=lambda v: f"{v.bm}x{v.bn}" if hasattr(v, "bm") else v)
@pytest.mark.parametrize("target", [t for t in targets() if t.schedule != "cpu"], ids=lambda t: t.name)
def test_every_tile_that_packs_inside(monkeypatch, target, dtype, layout, tile, direction):
    force(monkeypatch, tile, 1, fused=True)
    handle = open_handle(target)
    assert len(ENGINES[direction].prepare(parse(line(direction, dtype, layout)), handle.device).launches) == 1
    check(handle, f"{line(direction, dtype, layout)} alpha=2.0 beta=-0.5", engine=ENGINES[direction])


# filters whose rows or channels are neighbours: pointwise, channels last, and taps that a stride keeps apart
STRAIGHT = (
    "x=f32:2x40x5x6 w=f32:40x20x1x1 y=f32:2x40x5x6 groups=2",
    "x=f32:2x56x7x5 w=f32:56x28x3x2:nhwc y=f32:2x56x4x4 padding=1,0 stride=2,1 dilation=1,1 groups=2 mode=convolution",
    "x=f32:1x64x7x5:nhwc w=f32:72x64x3x3:nhwc y=f32:1x72x7x5:nhwc padding=1,1",
    "x=f32:2x12x6x8 w=f32:12x12x2x2:nhwc y=f32:2x12x3x4 stride=2,2",
    "x=f32:2x36x5x5 w=f32:68x36x1x1 y=f32:2x68x3x3 stride=2,2",
)


@pytest.mark.parametrize("rest", STRAIGHT, ids=lambda rest: rest.split()[1])
@pytest.mark.parametrize("direction", ["forward", "data"])
@pytest.mark.parametrize("target", [t for t in targets() if t.schedule != "cpu"], ids=lambda t: t.name)
def test_filters_read_in_vectors(monkeypatch, target, direction, rest):
    if direction == "data":
        rest = "backward_data " + rest.replace("x=", "dx=", 1).replace(" y=", " dy=", 1)
    text = f"convolution_{rest if direction == 'data' else 'forward ' + rest}"
    tiles, handle, alongs = TILES_OF[dnn.DataType.FLOAT], open_handle(target), set()
    for tile in (tiles[0], tiles[3], tiles[5]):
        force(monkeypatch, tile, 1 if tile is tiles[0] else 3, packs=False)
        alongs.add(ENGINES[direction].choose(parse(text), handle.info).along)
        check(handle, f"{text} alpha=2.0 beta=-0.5", engine=ENGINES[direction])
    forward_of_small_taps = direction == "forward" and "2x2" in rest
    assert alongs == ({""} if forward_of_small_taps else {"K" if direction == "forward" else "M"})


@pytest.mark.parametrize("direction", LINES)
@pytest.mark.parametrize("features", [(), ("grid_fence",)], ids=["plain", "grid_fence"])
def test_workspace_is_what_the_choice_says(direction, features):
    engine, problem = ENGINES[direction], parse(line(direction))
    info = replace(H200, features=frozenset(features))
    choice = engine.choose(problem, info)
    assert engine.workspace(problem, info) == choice.workspace
    parts = choice.work_groups * choice.tile.bm * choice.tile.bn * 4 if choice.splits > 1 else 0
    assert choice.workspace == choice.packed_size + parts
    assert choice.packed_size % 256 == 0


@pytest.mark.parametrize("images", [1, 4, 64])
@pytest.mark.parametrize("direction", LINES)
def test_two_launches_suffice_where_the_last_work_group_can_add_up(direction, images):
    dims = LINES[direction].format(t="f32", f="").replace("2x40", f"{images}x400").replace("36x20", "360x200")
    problem = parse(dims.replace("2x36", f"{images}x360"))
    assert ENGINES[direction].choose(problem, replace(H200, features=frozenset({"grid_fence"}))).launches <= 2


def test_a_split_filter_gradient_takes_one_launch_where_the_last_work_group_can_add_up():
    choice = ENGINES["filter"].choose(parse(line("filter")), replace(H200, features=frozenset({"grid_fence"})))
    assert choice.splits > 1 and choice.launches == 1


@pytest.mark.parametrize(("images", "launches"), [(1, 1), (64, 2)])
def test_short_products_pack_the_filter_in_their_launch(images, launches):
    problem = parse(f"convolution_forward x=f32:{images}x64x56x56 w=f32:64x64x5x5")
    choice = ENGINES["forward"].choose(problem, replace(H200, features=frozenset({"grid_fence"})))
    assert choice.packs and choice.launches == launches


@pytest.mark.parametrize(("major", "waits"), [(6, False), (7, True), (9, True)])
def test_work_groups_wait_for_each_other_on_devices_that_can(major, waits):
    assert shares_pieces(replace(H200, features=features(major))) == waits
    assert not shares_pieces(replace(H200, features=frozenset()))


@pytest.mark.parametrize("direction", LINES)
def test_without_a_workspace(direction):
    engine, problem = PLAIN[direction], parse(line(direction))
    assert engine.choose(problem, H200).launches == 1
    assert engine.workspace(problem, H200) == 0


@pytest.mark.parametrize("direction", LINES)
@pytest.mark.parametrize("target", [t for t in targets() if t.schedule != "cpu"], ids=lambda t: t.name)
def test_without_a_workspace_is_right(target, direction):
    check(open_handle(target), f"{line(direction)} alpha=2.0 beta=-0.5", engine=PLAIN[direction])


def test_small_problems_take_one_launch():
    small, large = (
        parse("convolution_forward x=f32:1x4x4x4 w=f32:4x4x3x3"),
        parse("convolution_forward x=f32:8x64x28x28 w=f32:64x64x3x3"),
    )
    for problem, best in ((small, PLAIN), (large, ENGINES)):
        assert candidates((ENGINES["forward"], PLAIN["forward"]), problem, H200)[0] is best["forward"]


def test_large_sums_are_split_to_fill_the_device():
    problem = parse("convolution_backward_filter x=f32:64x64x56x56 dy=f32:64x64x56x56 dw=f32:64x64x3x3 padding=1,1")
    choice = ENGINES["filter"].choose(problem, H200)
    assert choice.work_groups >= 2 * H200.compute_units


@pytest.mark.parametrize("direction", LINES)
def test_reasons_against_it(direction):
    engine, problem = ENGINES[direction], parse(line(direction))
    assert "GPU" in engine.why_not(problem, H200.with_schedule("cpu"))
    assert "tile" in engine.why_not(problem, DeviceInfo(**{**vars(H200), "local_memory": 1024}))


def test_too_little_memory_for_the_workspace():
    problem = parse(line("forward"))
    assert "workspace" in ENGINES["forward"].why_not(problem, DeviceInfo(**{**vars(H200), "max_allocation": 16}))
