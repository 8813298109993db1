"""Depthwise layers on GPUs: filters, strides and dilations, types, and widths of vectors."""

from __future__ import annotations

import pytest
from helper import Case, check, open_handle, targets

from portadnn.problem import parse
from portadnn_backends.engines.conv.depthwise import ENGINES

OPS = dict(zip(("forward", "backward_data", "backward_filter"), ENGINES, strict=True))
CASES = {  # type, n c h w, filter, the rest, channels of a vector
    "3x3": ("f16", "2x24x9x11", "3x3", "padding=1,1", 8),
    "7x7": ("f32", "3x40x12x10", "7x7", "padding=3,3", 4),
    "stride 2": ("bf16", "2x36x13x9", "5x5", "padding=2,2 stride=2,2", 4),
    "dilated": ("f32", "1x9x15x17", "3x4", "padding=2,3 dilation=2,3 stride=1,2", 1),
    "two channels": ("f64", "2x6x8x8", "2x2", "mode=convolution", 2),
    "wide": ("f32", "1x8x5x40", "1x31", "padding=0,15", 1),
    "many channels": ("f16", "2x520x3x3", "3x3", "padding=1,1", 8),
    "blended": ("f32", "4x8x6x6", "3x3", "alpha=0.5 beta=-2", 4),
}


def line(op, name):
    kind, dims, taps, rest, _ = CASES[name]
    c = dims.split("x")[1]
    x, w = {"forward": ("x", "w"), "backward_data": ("dx", "w"), "backward_filter": ("x", "dw")}[op]
    y = {"forward": " y={}", "backward_data": " dy={}"}.get(op, " dy={}")
    text = f"convolution_{op} {x}={kind}:{dims}:nhwc {w}={kind}:{c}x1x{taps} groups={c} {rest}"
    alike = f"convolution_forward x={kind}:{dims}:nhwc w={kind}:{c}x1x{taps} groups={c} {rest}"
    n, k, p, q = parse(alike).y.dims
    return text + y.format(f"{kind}:{n}x{k}x{p}x{q}:nhwc")


@pytest.mark.parametrize("data", ["integer", "normal"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("target", [t for t in targets() if t.schedule != "cpu"], ids=lambda t: t.name)
def test_directions(target, op, name, data):
    handle, problem, engine = open_handle(target), parse(line(op, name)), OPS[op]
    if CASES[name][0] == "f64" and not handle.info.fp64:
        pytest.skip("no float64")
    if op == "backward_data" and "stride" in CASES[name][3]:
        assert "stride 1" in engine.why_not(problem, handle.info)
        return
    assert engine.why_not(problem, handle.info) is None
    plan = engine.prepare(problem, handle.device)
    assert f"#define VW {CASES[name][-1]}\n" in plan.launches[-(op != "backward_filter")].kernel.source
    check(handle, Case(line(op, name), data), engine=engine)


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        ("x=f32:2x8x6x6 dw=f32:8x1x3x3 groups=8", "side by side"),
        ("x=f32:2x8x6x6:nhwc dw=f32:16x1x3x3 groups=8", "one filter for each channel"),
        ("x=f32:2x8x6x6:nhwc dw=f32:8x2x3x3 groups=4", "one filter for each channel"),
        ("x=f32:2x8x6x6x6:nhwc dw=f32:8x1x3x3x3 groups=8", "of images"),
        ("x=f32:1x8x6x200:nhwc dw=f32:8x1x3x129 groups=8", "does not fit the registers"),
    ],
)
def test_what_it_leaves_to_others(rest, why):
    (target, *_) = [t for t in targets() if t.schedule != "cpu"]
    handle = open_handle(target)
    assert why in str(ENGINES[-1].why_not(parse(f"convolution_backward_filter {rest}"), handle.info))
