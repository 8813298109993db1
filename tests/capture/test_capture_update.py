"""``step.update(old, new)``: other arrays in recorded calls, with their views, and what is refused."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from captures import convolved, expect, fill, numbers, relu
from helper import everywhere
from where import scratch

import portadnn as dnn
from portadnn.problem import TensorSpec

RELU, CONV = dnn.ActivationDescriptor("relu"), dnn.ConvolutionDescriptor(padding=(1, 1))
SHAPE = (4, 3, 6, 8)


def part(base: Any, first: int, count: int = 1) -> dnn.TensorView:
    """Return images of a packed batch as a view."""
    size = int(np.prod(SHAPE[1:]))
    return dnn.TensorView(TensorSpec.packed(dnn.DataType.FLOAT, (count, *SHAPE[1:])), base, first * size)


@everywhere()
def test_inputs_outputs_and_results(handle: Any) -> None:
    x = [handle.asarray(numbers(seed, *SHAPE)) for seed in range(3)]
    y, middle = handle.empty(SHAPE), handle.empty(SHAPE)
    with handle.capture() as step:
        result = dnn.activation_forward(handle, x[0], RELU)
        dnn.scale_tensor(handle, result, -1.0)
        dnn.activation_forward(handle, result, dnn.ActivationDescriptor("tanh"), y)
    step.update(x[0], x[1])
    step.replay()
    expect(handle, y, np.tanh(-relu(numbers(1, *SHAPE))))
    other = handle.empty(SHAPE)
    step.update(y, other)
    step.update(result, middle)
    step.update(x[1], x[2])
    fill(handle, y, np.zeros(SHAPE, np.float32))
    for _ in range(2):
        step.replay()
        expect(handle, other, np.tanh(-relu(numbers(2, *SHAPE))))
    expect(handle, middle, -relu(numbers(2, *SHAPE)))
    expect(handle, y, np.zeros(SHAPE))


@everywhere()
def test_views_move_with_their_array(handle: Any) -> None:
    x, new = handle.asarray(numbers(0, *SHAPE)), handle.asarray(numbers(1, *SHAPE))
    y, w = handle.zeros(SHAPE), handle.asarray(numbers(2, 3, 3, 3, 3))
    first, rest = handle.empty((1, *SHAPE[1:])), handle.empty((3, *SHAPE[1:]))
    with handle.capture() as step:
        dnn.activation_forward(handle, part(x, 0), RELU, first)
        dnn.convolution_forward(handle, part(x, 1, 3), w, CONV, rest)
        dnn.activation_forward(handle, x, RELU, y)
        dnn.activation_forward(handle, part(x, 3), RELU, part(x, 3))
    step.update(x, new)
    fill(handle, x, np.full(SHAPE, np.nan, np.float32))
    step.replay()
    host = numbers(1, *SHAPE)
    expect(handle, first, relu(host[:1]))
    expect(handle, rest, convolved(host[1:], numbers(2, 3, 3, 3, 3), 1))
    expect(handle, y, relu(host))
    expect(handle, new, np.concatenate([host[:3], relu(host[3:])]))


@everywhere()
def test_views_in_place_of_views(handle: Any) -> None:
    x, y = handle.asarray(numbers(0, *SHAPE)), handle.empty((1, *SHAPE[1:]))
    with handle.capture() as step:
        dnn.activation_forward(handle, part(x, 0), RELU, y)
    for i in (1, 2, 3, 0):
        step.update(part(x, (i - 1) % 4), part(x, i))
        step.replay()
        expect(handle, y, relu(numbers(0, *SHAPE)[i : i + 1]))


@everywhere()
def test_arrays_with_gaps_move_alone(handle: Any) -> None:
    """Of interleaved channels each view is an array of its own; the range of one is no reason to move another."""
    spec = TensorSpec(dnn.DataType.FLOAT, (2, 1, 6, 8), (144, 48, 8, 1))
    x, new = handle.asarray(numbers(0, 2, 3, 6, 8)), handle.asarray(numbers(1, 2, 3, 6, 8))
    channels, others = ([dnn.TensorView(spec, base, 48 * c) for c in range(3)] for base in (x, new))
    outputs = [handle.empty((2, 1, 6, 8)) for _ in range(3)]
    with handle.capture() as step:
        for channel, out in zip(channels, outputs, strict=True):
            dnn.activation_forward(handle, channel, RELU, out)
    step.update(channels[1], others[1])
    step.replay()
    for c, seed in enumerate((0, 1, 0)):
        expect(handle, outputs[c], relu(numbers(seed, 2, 3, 6, 8)[:, c : c + 1]))


@everywhere()
def test_a_users_workspace(handle: Any) -> None:
    x, w, y = handle.asarray(numbers(0, *SHAPE)), handle.asarray(numbers(1, 5, 3, 3, 3)), handle.empty((4, 5, 6, 8))
    algo = None if handle.backend == "reference" else "gemm"
    size = max(64, dnn.get_convolution_forward_workspace_size(handle, x, w, CONV, y, algo or 0))
    old, new = handle.empty_bytes(size), handle.empty_bytes(size)
    with handle.capture() as step:
        dnn.convolution_forward(handle, x, w, CONV, y, algo=algo, workspace=old)
    if handle.backend == "reference":
        with pytest.raises(dnn.BadParam, match="none of them uses"):  # what was not needed is not kept
            step.update(old, new)
        return
    poison = np.full(size, 0xFF, np.uint8)
    fill(handle, old, poison)
    step.update(old, new)
    step.replay()
    expect(handle, y, convolved(numbers(0, *SHAPE), numbers(1, 5, 3, 3, 3), 1))
    np.testing.assert_array_equal(handle.to_numpy(old), poison)


@everywhere()
def test_what_is_replaced_is_not_kept(handle: Any) -> None:
    x, new, y = (handle.asarray(numbers(seed, *SHAPE)) for seed in range(3))
    host = numbers(3, *SHAPE) if handle.info.kind == "cpu" else None
    with handle.capture() as step:
        dnn.activation_forward(handle, x, RELU, y)
    known = weakref.ref(x)
    step.update(x, new)
    step.replay()
    del x
    gc.collect()
    assert known() is None
    if host is None:
        return
    step.update(new, host)
    step.replay()
    expect(handle, y, relu(host))
    known = weakref.ref(host)
    step.update(host, new)
    del host
    gc.collect()
    assert known() is None
    step.replay()
    expect(handle, y, relu(numbers(1, *SHAPE)))


@everywhere()
def test_in_place_stays_in_place(handle: Any) -> None:
    x, new = handle.asarray(numbers(0, *SHAPE)), handle.asarray(numbers(1, *SHAPE))
    with handle.capture() as step:
        dnn.activation_forward(handle, x, RELU, x)
    step.update(x, new)
    step.replay()
    expect(handle, new, relu(numbers(1, *SHAPE)))


# what is refused


NONSENSE = (
    *(None, 3, "x", b"abc", [1.0], object(), 10**400, float("nan"), np.float32(3), np.ones(())),
    np.ma.masked_array(np.ones(SHAPE, np.float32)),
    np.ones(SHAPE, complex),
    np.ones(SHAPE, ">f4"),
    dnn.TensorDescriptor(SHAPE),
    dnn.TensorDescriptor(SHAPE).view(b"x" * 100),
    np.lib.stride_tricks.as_strided(np.ones(30, np.float32), SHAPE, (0, 40, 16, 4)),
)


def _refused(step: Any, old: Any, new: Any, match: str) -> None:
    with pytest.raises(dnn.BadParam, match=match) as caught:
        step.update(old, new)
    assert str(caught.value).startswith("CapturedStep.update: ")


@everywhere()
def test_what_does_not_fit_is_refused_and_changes_nothing(handle: Any) -> None:
    x, y, new = handle.asarray(numbers(0, *SHAPE)), handle.empty(SHAPE), handle.asarray(numbers(1, *SHAPE))
    with handle.capture() as step:
        dnn.activation_forward(handle, x, RELU, y)
    _refused(step, x, handle.empty((4, 3, 8, 6)), r"new: expected old's layout, float32 \(4, 3, 6, 8\)")
    _refused(step, x, handle.empty(SHAPE, format="nhwc"), "strides")
    _refused(step, x, handle.empty(SHAPE, "float16"), "float16")
    large = handle.empty((5, *SHAPE[1:]))
    shifted = dnn.TensorView(TensorSpec.packed(dnn.DataType.FLOAT, SHAPE), large, 1)
    _refused(step, x, shifted, "at 4 mod 16")
    _refused(step, new, x, "old: .*none of them uses")
    _refused(step, x, y, "new: .*memory of another tensor")
    _refused(step, y, x, "new: .*memory of another tensor")
    for nonsense in NONSENSE:
        _refused(step, x, nonsense, "new")
        _refused(step, nonsense, x, "old")
    step.replay()
    expect(handle, y, relu(numbers(0, *SHAPE)))


@everywhere()
def test_a_part_of_what_is_used_whole_is_refused(handle: Any) -> None:
    x, y, new = handle.asarray(numbers(0, *SHAPE)), handle.empty(SHAPE), handle.asarray(numbers(1, *SHAPE))
    one = handle.empty((1, *SHAPE[1:]))
    with handle.capture() as step:
        dnn.activation_forward(handle, x, RELU, y)
        dnn.activation_forward(handle, part(x, 1), RELU, one)
    _refused(step, part(x, 1), part(new, 1), "old: .*larger array")
    step.update(x, new)
    step.replay()
    expect(handle, one, relu(numbers(1, *SHAPE)[1:2]))


@everywhere()
def test_memory_of_a_workspace_is_refused(handle: Any) -> None:
    if handle.backend == "reference":
        pytest.skip("the reference needs no workspace")
    x, w, y = handle.asarray(numbers(0, *SHAPE)), handle.asarray(numbers(1, 5, 3, 3, 3)), handle.empty((4, 5, 6, 8))
    size = dnn.get_convolution_forward_workspace_size(handle, x, w, CONV, y, "gemm")
    own = scratch(handle, max(size, x.nbytes))
    with handle.capture() as step:
        dnn.convolution_forward(handle, x, w, CONV, y, algo="gemm", workspace=own)
    _refused(step, x, dnn.TensorView(TensorSpec.packed(dnn.DataType.FLOAT, SHAPE), own), "memory of another tensor")


@everywhere()
def test_read_only_memory_is_refused(handle: Any) -> None:
    if handle.info.kind != "cpu":
        pytest.skip("all of the device's memory may be written")
    x, y, new = numbers(0, *SHAPE), numbers(1, *SHAPE), numbers(2, *SHAPE)
    new.flags.writeable = False
    with handle.capture() as step:
        dnn.activation_forward(handle, x, RELU, y)
    _refused(step, y, new, "new: expected a writable array")
