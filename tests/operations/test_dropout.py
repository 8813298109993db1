"""Dropout: every backend draws the same mask, which is random enough, and the gradient follows it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helper import Case, check, compare, everywhere, open_handle, over, targets
from ml_dtypes import bfloat16

import portadnn as dnn
from portadnn_backends.philox import random_words

SHAPES = (
    "2x3x5x7",
    "1x1x1",
    "3x4x33",  # one bit more than whole words
    "2x3x67x77",  # several work-groups
    "2x8x6x4:nhwc",
    "2x37x5x3:nhwc",
    "2x140x5x9:nhwc",
    "2x3x9x13/400,1,39,3",
    "2x3x2x5x4",
    "1x5x2x3x8:nhwc",
    "2x1x3x1x2x4",
    "2x3x5x7/300,64,8,1",
    "2x3x5x8/400,80,10,1",
    "2x3x5x7/1,2,6,30",
    "2x3x5x8@4",
    "0x3x5x7",
)
CASES = [
    *(
        Case(f"dropout_{direction}={dtype}:{shape} dropout={rate}", everywhere=dtype in ("f32", "f16"))
        for i, shape in enumerate(SHAPES)
        for dtype, rate in (("f32", 0.5), (("f64", 0.1), ("f16", 0.75), ("bf16", 0.3))[i % 3])
        for direction in ("forward x", "backward dy")
        if "@" not in shape or dtype == "f32"
    ),
    *(
        Case(f"dropout_{direction}={dtype}:{shape} dropout={rate}", "integer")
        for rate in (0.0, 0.5, 1.0)
        for dtype, shape in (("f32", "2x3x5x7"), ("f16", "2x8x6x4:nhwc"))
        for direction in ("forward x", "backward dy")
    ),
    Case("dropout_forward x=f32:2x3x5x7 y=f32:2x3x5x7:nhwc dropout=0.5"),
    Case("dropout_backward dy=f16:2x8x5x8:nhwc dx=f16:2x8x5x8 dropout=0.5"),
    Case("dropout_forward x=f32:2x3x5x7 reserve_space=u8:100 states=u8:48 dropout=0.5"),
    Case("dropout_backward dy=f32:2x3x5x7 reserve_space=u8:100 dropout=0.5"),
    Case("dropout_forward x=f32:2x3x5x7 dropout=0.5", alias=("y", "x")),
    Case("dropout_forward x=bf16:2x8x5x4:nhwc dropout=0.5", alias=("y", "x")),
    Case("dropout_backward dy=f64:2x3x5x7/300,64,8,1 dx=f64:2x3x5x7/300,64,8,1 dropout=0.5", alias=("dx", "dy")),
    Case("dropout_forward x=f32:1x4x0 dropout=0.5"),
    Case("dropout_forward x=f32:4x2x3x5/0,15,5,1 y=f32:4x2x3x5 dropout=0.5"),
    Case("set_dropout_descriptor seed=81985529216486895"),
    Case("set_dropout_descriptor states=u8:40 seed=18446744073709551615"),
]


@over(CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)


def forward(handle, x, descriptor, **options):
    y, mask = dnn.dropout_forward(handle, handle.asarray(x, **options), descriptor)
    return handle.to_numpy(y), handle.to_numpy(mask)


@everywhere()
def test_the_mask_by_hand(handle):
    """Kept elements are those with the larger words; the mask is their bits in logical order, zeros behind them."""
    seed, count = 0x123456789ABCDEF0, 2 * 3 * 5 * 7
    x = np.random.default_rng(1).standard_normal((2, 3, 5, 7)).astype(np.float32)
    descriptor = dnn.set_dropout_descriptor(handle, 0.25, seed=seed)
    for draw in range(3):
        keep = random_words(count, seed, draw) >= 2**30
        for format in ("nchw", "nhwc"):
            again = dnn.restore_dropout_descriptor(handle, 0.25, handle.to_numpy(descriptor.states))
            y, mask = forward(handle, x, again, format=format)
            np.testing.assert_array_equal(mask, np.packbits(np.append(keep, np.zeros(14, bool)), bitorder="little"))
            compare(y, np.where(keep.reshape(x.shape), x / np.float32(0.75), 0), 1e-6 * np.abs(x))
        forward(handle, x, descriptor)
    assert mask.size == dnn.dropout_get_reserve_space_size((2, 3, 5, 7)) == 28


@everywhere()
@pytest.mark.parametrize("dtype", [np.float32, bfloat16])
def test_mask_depends_on_nothing_but_seed_call_and_index(handle, dtype):
    """Types, layouts, ranks and the reference's arrays have the same mask, call after call."""
    masks = []
    shapes = ((4, 6, 8, 5), (24, 8, 5), (2, 2, 6, 2, 4, 5))
    for shape, format in itertools.product(shapes, ("nchw", "nhwc")):
        descriptor = dnn.set_dropout_descriptor(handle, 0.5, seed=7)
        masks.append([forward(handle, np.ones(shape, dtype), descriptor, format=format)[1].tobytes() for _ in range(3)])
    reference = dnn.Handle("reference")
    descriptor = dnn.set_dropout_descriptor(reference, 0.5, seed=7)
    masks.append([forward(reference, np.ones((960, 1, 1)), descriptor)[1].tobytes() for _ in range(3)])
    assert all(some == masks[0] for some in masks)
    assert len(set(masks[0])) == 3


@everywhere()
def test_states_can_be_saved(handle):
    """The same draws follow saved states; the states may lie in the caller's memory, and set starts again."""
    x = np.ones((2, 3, 8, 8), np.float32)
    states = handle.device.asarray(np.full(dnn.dropout_get_states_size(handle), 99, np.uint8))
    descriptor = dnn.set_dropout_descriptor(handle, 0.5, states, seed=3)
    assert descriptor.states is states and dnn.get_dropout_descriptor(descriptor) == (0.5, states, 3)
    first = [forward(handle, x, descriptor)[1].tobytes() for _ in range(2)]
    saved = handle.to_numpy(states)
    later = [forward(handle, x, descriptor)[1].tobytes() for _ in range(2)]
    restored = dnn.restore_dropout_descriptor(handle, 0.5, handle.device.asarray(saved), 3)
    assert later == [forward(handle, x, restored)[1].tobytes() for _ in range(2)]
    again = dnn.set_dropout_descriptor(handle, 0.5, states, seed=3)
    assert first == [forward(handle, x, again)[1].tobytes() for _ in range(2)]
    assert len({*first, *later}) == 4


@everywhere()
def test_rates_are_those_asked_for(handle):
    """Shares of dropped elements are within five standard deviations; calls are not correlated; zeros stay zero."""
    x = np.ones((8, 16, 32, 32), np.float32)
    masks = []
    for rate in (0.1, 0.5, 0.5, 0.9):
        if len(masks) != 2:
            descriptor = dnn.set_dropout_descriptor(handle, rate, seed=11)
        y, mask = forward(handle, x, descriptor)
        keep = np.unpackbits(mask, bitorder="little").astype(bool)
        masks.append(keep)
        assert abs((~keep).sum() - rate * x.size) < 5 * np.sqrt(x.size * rate * (1 - rate))
        np.testing.assert_array_equal(y.ravel() != 0, keep)
        compare(y.mean(), 1, 5 * np.sqrt(rate / (1 - rate) / x.size))
    a, b = (mask - 0.5 for mask in masks[1:3])
    for shift in (0, 1, 4, 32, 1024):
        assert abs((a[shift:] * b[: a.size - shift]).sum()) < 5 * np.sqrt(a.size) / 4
        if shift:
            assert abs((a[shift:] * a[:-shift]).sum()) < 5 * np.sqrt(a.size) / 4


@everywhere()
def test_dropped_infinities_and_nans_are_zero(handle):
    x = np.full((2, 3, 5, 7), np.nan, np.float32)
    x[0] = np.inf
    for rate, some in ((0.0, 210), (0.5, None), (1.0, 0)):
        y, mask = forward(handle, x, dnn.set_dropout_descriptor(handle, rate, seed=1))
        keep = np.unpackbits(mask, bitorder="little")[: x.size].reshape(x.shape).astype(bool)
        np.testing.assert_array_equal(y, np.where(keep, x, 0))
        assert some is None or keep.sum() == some


@everywhere()
def test_gradient(handle):
    """Finite differences of sum(dropout(x) * g), with the same draw each time, are what the backward call returns."""
    rng = np.random.default_rng(5)
    x, g = rng.standard_normal((2, 2, 3, 2, 4))[..., 0], rng.standard_normal((2, 2, 3, 2))
    descriptor = dnn.set_dropout_descriptor(handle, 0.4, seed=2)
    saved = handle.to_numpy(descriptor.states)

    def value(x):
        again = dnn.restore_dropout_descriptor(handle, 0.4, handle.device.asarray(saved))
        return (forward(handle, x, again)[0] * g).sum()

    _, mask = dnn.dropout_forward(handle, handle.asarray(x), descriptor)
    got = handle.to_numpy(dnn.dropout_backward(handle, handle.asarray(g), descriptor, mask))
    for place in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[place] = 1e-3
        compare(got[place], (value(x + step) - value(x - step)) / 2e-3, 1e-9)


def test_many_calls_on_a_gpu_schedule_count():
    """Each call counts once, with one work-group and with many."""
    for target in targets():
        if target.missing is None:
            handle = open_handle(target)
            descriptor = dnn.set_dropout_descriptor(handle, 0.5, seed=1)
            for _ in range(3):
                forward(handle, np.ones((1, 2, 3), np.float32), descriptor)
                forward(handle, np.ones((8, 64, 64), np.float32), descriptor)
            assert handle.to_numpy(descriptor.states)[:24].view("<u8").tolist() == [1, 6, 0]


def test_against_torch():
    """torch draws other numbers, but what it makes of a mask is the same."""
    torch = pytest.importorskip("torch")
    handle = dnn.Handle("reference")
    x = np.random.default_rng(3).standard_normal((4, 3, 5, 6)).astype(np.float32)
    descriptor = dnn.set_dropout_descriptor(handle, 0.3, seed=4)
    y, mask = forward(handle, x, descriptor)
    keep = torch.from_numpy(np.unpackbits(mask, bitorder="little")[: x.size].reshape(x.shape).astype(bool))
    compare(y, torch.where(keep, torch.from_numpy(x) / 0.7, 0).numpy(), 1e-6)
    got = handle.to_numpy(dnn.dropout_backward(handle, x, descriptor, mask))
    compare(got, torch.ops.aten.native_dropout_backward(torch.from_numpy(x), keep, 1 / 0.7).numpy(), 1e-6)
