"""Pooling, softmax and bias gradients on each engine that takes them, not only on the one that would be chosen."""

import pytest
from helper import Case, check, over

import portadnn as dnn
from portadnn.dispatch.choice import candidates
from portadnn.problem import parse_line
from portadnn_backends.engines.softmax import general as softmax
from portadnn_backends.engines.softmax import rows as softmax_rows

MODES = ("max", "average_count_include_padding", "average_count_exclude_padding")
SHAPES = [  # vectors and rests of them, every kind of stride, padding that windows fill
    ("f32:2x3x9x8", "window=3,3 padding=1,1 stride=2,2"),
    ("f32:1x2x5x57", "window=3,3 padding=1,1 stride=2,2"),
    ("f16:2x3x9x36", "window=3,3 padding=1,1 stride=2,2 beta=1"),
    ("f32:1x2x7x68", "window=2,2"),
    ("f64:2x3x13x12", "window=3,2 padding=1,0 stride=3,2"),
    ("f32:1x2x8x42", "window=3,3 padding=2,2 stride=3,3 nan_propagation=propagate_nan"),
    ("f32:2x2x10x8/400,100,10,1", "window=3,3 padding=0,1"),
    ("bf16:1x2x6x24", "window=1,1 stride=2,2"),
    ("f32:1x1x20x23", "window=2,2 padding=1,1 stride=5,5"),
    ("f32:2x3x7x7", "window=7,7"),
]
POOLING = [
    Case(f"pooling_{direction} x={x} mode={mode} {rest}", everywhere=mode == "max" or i % 3 == 0)
    for i, (x, rest) in enumerate(SHAPES)
    for mode in ("max", MODES[1 + i % 2])
    for direction in ("forward", "backward")
]
MAXIMA = [  # exact, so that a wrong winner among equals shows
    Case(f"pooling_backward x={x} mode=max {rest}", "integer", everywhere=i == 0)
    for i, (x, rest) in enumerate(SHAPES)
    if "beta" not in rest
]
LONG_ROWS = [
    Case("softmax_forward x=f32:2x4x100x104 mode=instance"),
    Case("softmax_forward x=f16:1x1x181x184 mode=instance algorithm=log beta=1"),
    Case("softmax_forward x=f64:2x33000x1x1 algorithm=fast"),
    Case("softmax_forward x=f32:5x1x183x185 mode=instance beta=1"),  # rows that begin anywhere
    Case("softmax_forward x=f16:9x33001x1x1 algorithm=log"),
    Case("softmax_forward x=bf16:3x1x1x40003 mode=instance"),
    Case("softmax_forward x=f64:3x33001x1x1 algorithm=fast beta=1"),
    Case("softmax_forward x=f32:3x34000x1x1/34001,1,1,1 y=f32:3x34000x1x1/34005,1,1,1"),
]
SOFTMAX = [
    Case(f"softmax_forward x={x} mode={mode} algorithm={algorithm}{blend}", everywhere=False)
    for i, (x, mode) in enumerate(
        [
            ("f32:3x3x61x53", "instance"),
            ("f64:2x9001x1x1", "channel"),
            ("bf16:3x65536x1x1", "channel"),
            ("f32:2x64x9x15", "channel"),
            ("f64:2x7x5x6", "channel"),
            ("f16:1x7x5x16", "channel"),
            ("f32:2x5x4x20/900,160,30,1", "channel"),
            ("f32:1x700x3x41", "channel"),
        ]
    )
    for algorithm in ("accurate", "log", "fast")
    for blend in ("", " alpha=2 beta=0.5")[: 1 + i % 2]
]
BIASES = [
    Case(f"convolution_backward_bias dy={dy}", everywhere=False)
    for dy in (
        "f32:3x5x7x72",
        "f32:3x5x8x37/2000,300,37,1",
        "f64:5x3x20x20",
        "f32:40x3x7x72/9000,700,80,1",
        "f32:3x32x7x5:nhwc",
        "f32:70x320x1x1",
        "f16:3x16x9x5:nhwc",
        "f32:0x16x9x5:nhwc",
        "f64:3x8x9x5/400,1,44,8",
    )
]
IN_PLACE = [
    Case(f"softmax_forward x={x} mode={mode} algorithm={algorithm}", alias=("y", "x"), everywhere=False)
    for x, mode in (("f32:3x3x61x53", "instance"), ("f32:2x64x9x15", "channel"), ("f16:1x7x5x16", "channel"))
    for algorithm in ("accurate", "log")
]


@over(POOLING + MAXIMA + SOFTMAX + BIASES + IN_PLACE, kernels=True)
def test_every_engine(handle, case):
    problem, _ = parse_line(case.line)
    takers = [e for e in handle.engines_for(problem) if e.refusal(problem, handle.info) is None]
    assert takers
    for engine in takers:
        check(handle, case, engine=engine)


@over(LONG_ROWS, kernels=True)
def test_long_rows(handle, case):
    """The engine for many long rows, on few of them."""
    problem, _ = parse_line(case.line)
    (engine,) = softmax_rows.ENGINES
    reason = engine.refusal(problem, handle.info)
    if handle.info.schedule == "cpu":
        assert "on a GPU" in reason
        return
    if handle.info.max_work_group < softmax_rows.GROUP:
        pytest.skip(f"{handle.info.name} has work-groups of {handle.info.max_work_group}")
    assert reason is None
    check(handle, case, engine=engine)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("softmax_forward x=f32:100x200704x1x1", None),
        ("softmax_forward x=f32:8192x4096x1x1", "fit one work-group"),
        ("softmax_forward x=f32:2x200704x3x3", "contiguous"),
    ],
)
def test_who_takes_long_rows(line, reason):
    from test_nvrtc import Recorder

    got = softmax_rows.ENGINES[0].refusal(dnn.parse(line), Recorder("sm_90").info)
    assert got is None if reason is None else reason in got


@pytest.mark.parametrize(("rows", "first"), [(100, True), (140, False), (264, True), (2, False)])
def test_long_rows_are_for_as_many_as_keep_the_device_busy(rows, first):
    from test_nvrtc import Recorder

    problem, info = dnn.parse(f"softmax_forward x=f32:{rows}x200704x1x1"), Recorder("sm_90").info
    best = candidates((*softmax_rows.ENGINES, *softmax.ENGINES), problem, info)[0]
    assert (best is softmax_rows.ENGINES[0]) == first
