"""Captured steps: replays compute what the calls would, and what cannot be captured or replayed says why."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from captures import convolved, expect, fill, numbers, pooled, relu, softmax
from helper import everywhere
from where import BACKENDS, open_handle

import portadnn as dnn
from portadnn.problem import TensorSpec
from portadnn_backends.opencl import command_buffer as opencl_command_buffer

RELU, POOL = dnn.ActivationDescriptor("relu"), dnn.PoolingDescriptor("max", window=(2, 2), stride=(2, 2))
CONV = dnn.ConvolutionDescriptor(padding=(1, 1))
SHAPE = (2, 3, 6, 8)


@pytest.fixture(params=BACKENDS)
def own(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A handle of the test's own, which it may close."""
    with open_handle(request.param) as handle:
        yield handle


class Network:
    """Convolution, bias, ReLU, pooling and softmax; all results are allocated by the calls."""

    def __init__(self, handle: Any, algo: str | None = None) -> None:
        self.handle = handle
        self.host = {"x": numbers(0, *SHAPE), "w": numbers(1, 4, 3, 3, 3), "bias": numbers(2, 1, 4, 1, 1)}
        self.arrays = {name: handle.asarray(values) for name, values in self.host.items()}
        self.algo = None if handle.backend == "reference" else algo

    def run(self) -> Any:
        handle, arrays = self.handle, self.arrays
        y = dnn.convolution_forward(handle, arrays["x"], arrays["w"], CONV, algo=self.algo)
        dnn.add_tensor(handle, arrays["bias"], y)
        dnn.activation_forward(handle, y, RELU, y)
        return dnn.softmax_forward(handle, dnn.pooling_forward(handle, y, POOL))

    def refill(self, seed: int) -> None:
        for i, (name, values) in enumerate(self.host.items()):
            self.host[name] = numbers(seed + i, *values.shape)
            fill(self.handle, self.arrays[name], self.host[name])

    def want(self) -> Any:
        return softmax(pooled(relu(convolved(self.host["x"], self.host["w"], 1) + self.host["bias"])))


@everywhere()
@pytest.mark.parametrize("algo", [None, "gemm"])
def test_replays_see_what_the_inputs_hold_then(handle: Any, algo: str | None) -> None:
    network = Network(handle, algo)
    with handle.capture() as step:
        y = network.run()
    assert len(step) == 5
    expect(handle, y, network.want())
    for seed in (10, 20, 30):
        network.refill(seed)
        step.replay()
        expect(handle, y, network.want())


@everywhere()
def test_replays_accumulate_and_work_in_place(handle: Any) -> None:
    x, total = handle.asarray(numbers(0, *SHAPE)), handle.zeros(SHAPE)
    with handle.capture() as step:
        dnn.scale_tensor(handle, x, 2.0)
        dnn.add_tensor(handle, x, total, alpha=0.5)
    for _ in range(3):
        step.replay()
    expect(handle, x, 16 * numbers(0, *SHAPE))
    expect(handle, total, (1 + 2 + 4 + 8) * numbers(0, *SHAPE))


@everywhere()
def test_calls_that_are_bound_already_are_recorded(handle: Any) -> None:
    x, y = handle.asarray(numbers(0, *SHAPE)), handle.zeros(SHAPE)
    for _ in range(4):
        dnn.activation_forward(handle, x, RELU, y)
    with handle.capture() as step:
        for _ in range(3):
            dnn.activation_forward(handle, x, RELU, y, beta=0.0)
            dnn.activation_forward(handle, x, RELU, y)
    assert len(step) == 6
    fill(handle, x, numbers(1, *SHAPE))
    step.replay()
    expect(handle, y, relu(numbers(1, *SHAPE)))
    for _ in range(3):  # and after the capture calls are bound as ever
        fill(handle, x, numbers(2, *SHAPE))
        dnn.activation_forward(handle, x, RELU, y)
        expect(handle, y, relu(numbers(2, *SHAPE)))


@everywhere()
def test_views_and_empty_tensors(handle: Any) -> None:
    whole, y = handle.asarray(numbers(0, 4, 4, 4, 4)), handle.zeros((2, 4, 4, 4))
    view = dnn.TensorView(TensorSpec.packed(dnn.DataType.FLOAT, (2, 4, 4, 4)), whole, 128)
    none = handle.empty((0, 4, 4, 4))
    with handle.capture() as step:
        dnn.activation_forward(handle, view, RELU, y)
        dnn.activation_forward(handle, none, RELU, none)
    fill(handle, whole, numbers(1, 4, 4, 4, 4))
    step.replay()
    expect(handle, y, relu(numbers(1, 4, 4, 4, 4)[2:]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_host_arrays_are_read_and_written_where_they_lie(backend: str) -> None:
    with open_handle(backend) as handle:
        if handle.info.kind != "cpu":
            pytest.skip(f"{handle.info.name} does not compute in the host's memory")
        x, y = numbers(0, *SHAPE), np.zeros(SHAPE, np.float32)
        with handle.capture() as step:
            dnn.activation_forward(handle, x, RELU, y)
        for seed in (1, 2):
            x[...], y[...] = numbers(seed, *SHAPE), np.nan
            step.replay()
            handle.synchronize()
            np.testing.assert_array_equal(y, relu(x))
        known, y[...] = weakref.ref(x), np.nan
        del x
        gc.collect()
        assert known() is not None
        step.replay()
        np.testing.assert_array_equal(y, relu(numbers(2, *SHAPE)))


@everywhere()
def test_an_empty_capture_replays_to_nothing(handle: Any) -> None:
    with handle.capture() as step:
        pass
    step.replay()
    assert len(step) == 0


@everywhere()
def test_a_step_keeps_its_arrays_alive_and_lets_go_of_them(handle: Any) -> None:
    x, y = handle.asarray(numbers(0, *SHAPE)), handle.zeros(SHAPE)
    with handle.capture() as step:
        middle = dnn.activation_forward(handle, x, RELU)
        dnn.activation_forward(handle, middle, RELU, y)
    known = [weakref.ref(array) for array in (x, middle)]
    del x, middle
    gc.collect()
    others = [handle.asarray(np.full(SHAPE, np.nan, np.float32)) for _ in range(20)]  # in memory that was freed, if any
    fill(handle, y, np.zeros(SHAPE, np.float32))
    step.replay()
    expect(handle, y, relu(numbers(0, *SHAPE)))
    assert all(ref() is not None for ref in known)
    del step, others
    gc.collect()
    assert all(ref() is None for ref in known)


def test_an_array_that_was_set_to_other_memory(own: Any) -> None:
    if own.backend != "opencl":
        pytest.skip("only PyOpenCL's arrays can be set to another buffer")
    x, y = own.asarray(numbers(0, *SHAPE)), own.zeros(SHAPE)
    other = own.asarray(numbers(1, *SHAPE))
    with own.capture() as step:
        dnn.activation_forward(own, x, RELU, y)
    x.base_data = other.base_data
    gc.collect()
    others = [own.asarray(np.full(SHAPE, np.nan, np.float32)) for _ in range(20)]
    fill(own, y, np.zeros(SHAPE, np.float32))
    step.replay()
    expect(own, y, relu(numbers(0, *SHAPE)))
    assert len(others) == 20


@everywhere()
def test_other_calls_may_grow_the_handles_scratch_memory(handle: Any) -> None:
    network = Network(handle, "gemm")
    with handle.capture() as step:
        y = network.run()
    large, w = handle.asarray(numbers(5, 4, 8, 21, 21)), handle.asarray(numbers(6, 8, 8, 3, 3))
    algo = None if handle.backend == "reference" else "gemm"
    for seed in (10, 20):
        dnn.convolution_forward(handle, large, w, CONV, algo=algo)
        network.refill(seed)
        step.replay()
        expect(handle, y, network.want())
        handle.clear_cache()


@everywhere()
def test_a_step_in_a_step(handle: Any) -> None:
    network, total = Network(handle, "gemm"), handle.zeros((2, 4, 3, 4))
    with handle.capture() as inner:
        y = network.run()
    with handle.capture() as outer:
        inner.replay()
        dnn.add_tensor(handle, y, total)
    assert len(outer) == len(inner) + 1
    due = network.want()
    del inner
    for seed in (10, 20):
        network.refill(seed)
        due += network.want()
        outer.replay()
        expect(handle, total, due)


@everywhere()
def test_how_it_replays_is_told(handle: Any) -> None:
    x = handle.asarray(numbers(0, *SHAPE))
    with handle.capture() as step:
        dnn.activation_forward(handle, x, RELU)
    if handle.backend == "cuda":
        assert (step.mode, step.reason) == ("cuda graph", "")
    elif handle.backend == "reference":
        assert (step.mode, step.reason) == ("launches", "a call computes outside of kernels")
    else:
        reason = opencl_command_buffer.why_not(handle.device._device)
        assert step.mode == ("launches" if reason else "command buffer")
        assert step.reason == (f"{handle.info.name}: {reason}" if reason else "")


# what is refused


@everywhere()
def test_what_the_host_does_is_refused_and_the_rest_recorded(handle: Any) -> None:
    x, y = handle.asarray(numbers(0, *SHAPE)), handle.zeros(SHAPE)
    w = handle.zeros((3, 3, 3, 3))
    host = {
        "copies an array from the host": lambda: handle.asarray(numbers(1, *SHAPE)),
        "copies an array to the host": lambda: handle.to_numpy(x),
        "copies bytes": lambda: handle.device.write_bytes(x, np.zeros(4, np.uint8)),
        "sets the stream": lambda: handle.set_stream(None),
        "closes the handle": handle.close,
        "measures engines": lambda: dnn.find_convolution_forward_algorithm(handle, x, w, CONV, y),
    }
    with handle.capture() as step:
        dnn.activation_forward(handle, x, RELU, y)
        for what, call in host.items():
            with pytest.raises(dnn.NotSupported, match=what) as caught:
                call()
            assert "handle.capture()" in str(caught.value)
    assert len(step) == 1
    fill(handle, x, numbers(1, *SHAPE))
    step.replay()
    expect(handle, y, relu(numbers(1, *SHAPE)))


@everywhere()
def test_captures_do_not_nest_and_record_once(handle: Any) -> None:
    x, y = handle.asarray(numbers(0, *SHAPE)), handle.zeros(SHAPE)
    with handle.capture() as step:
        dnn.activation_forward(handle, x, RELU, y)
        with pytest.raises(dnn.NotSupported, match="captures do not nest"), handle.capture():
            pass
        with pytest.raises(dnn.NotSupported, match="still being recorded"):
            step.replay()
        with pytest.raises(dnn.NotSupported, match="still being recorded"):
            step.update(x, y)
        dnn.activation_forward(handle, x, RELU, y)
    with pytest.raises(dnn.NotSupported, match="records once"), step:
        pass
    assert len(step) == 2
    step.replay()


@everywhere()
def test_a_step_that_was_not_recorded_is_no_step(handle: Any) -> None:
    x = handle.asarray(numbers(0, *SHAPE))
    with pytest.raises(dnn.NotSupported, match="has not begun"):
        handle.capture().replay()
    step = handle.capture()
    with pytest.raises(ZeroDivisionError), step:
        dnn.activation_forward(handle, x, RELU)
        raise ZeroDivisionError
    with pytest.raises(dnn.NotSupported, match="raised ZeroDivisionError"):
        step.replay()
    with handle.capture() as step:  # the handle records again
        dnn.activation_forward(handle, x, RELU, x)
    step.replay()


@everywhere()
def test_a_call_that_was_refused_is_not_part_of_it(handle: Any) -> None:
    x, y = handle.asarray(numbers(0, *SHAPE)), handle.zeros(SHAPE)
    with handle.capture() as step:
        with pytest.raises(dnn.BadParam, match="alpha"):
            dnn.activation_forward(handle, x, RELU, y, alpha=1e300)
        dnn.activation_forward(handle, x, RELU, y)
    assert len(step) == 1
    step.replay()
    expect(handle, y, relu(numbers(0, *SHAPE)))


@everywhere()
def test_a_call_that_failed_half_way_spoils_the_step(handle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    network, y = Network(handle, "gemm"), handle.empty((2, 4, 6, 8))
    x, w = network.arrays["x"], network.arrays["w"]

    def gone(*_: Any) -> None:
        raise dnn.AllocFailed("gone")

    with handle.capture() as step:
        with monkeypatch.context() as patch:
            patch.setattr("portadnn_backends.reference.backend.outcomes", gone)
            patch.setattr(handle.device, "workspace", gone)
            with pytest.raises(dnn.AllocFailed, match="gone"):
                dnn.convolution_forward(handle, x, w, CONV, y, algo=network.algo)
        dnn.convolution_forward(handle, x, w, CONV, y, algo=network.algo)
    with pytest.raises(dnn.NotSupported, match=r"a call failed while it was recorded: .*gone"):
        step.replay()


def test_nothing_replays_on_a_closed_handle(own: Any) -> None:
    x = own.asarray(numbers(0, *SHAPE))
    with own.capture() as step:
        dnn.activation_forward(own, x, RELU)
    own.close()
    for call in (step.replay, lambda: step.update(x, x)):
        with pytest.raises(dnn.NotInitialized, match="the handle is closed"):
            call()
    with pytest.raises(dnn.NotInitialized):
        own.capture()


# streams and threads


def test_replays_go_to_the_stream_of_the_moment(own: Any) -> None:
    first = own.get_stream()
    if own.backend == "cuda":
        import cupy

        second = cupy.cuda.Stream(non_blocking=True)
    elif own.backend == "opencl":
        import pyopencl as cl

        second = cl.CommandQueue(first.context, first.device)
    else:
        second = None
    network = Network(own, "gemm")
    sums = own.asarray(numbers(3, 8, 6, 24, 24))  # groups that count each other
    with own.capture() as step:
        y = network.run()
        total = dnn.convolution_backward_bias(own, sums)
    for seed, stream in ((10, second), (20, second), (30, first)):
        own.synchronize()
        own.set_stream(stream)
        network.refill(seed)
        fill(own, sums, numbers(seed, 8, 6, 24, 24))
        step.replay()
        expect(own, y, network.want())
        expect(own, total, numbers(seed, 8, 6, 24, 24).sum((0, 2, 3), keepdims=True), 1e-4)


@everywhere()
def test_other_threads_wait_or_copy_and_are_not_recorded(handle: Any) -> None:
    network, x = Network(handle), handle.asarray(numbers(9, *SHAPE))
    found: list[Any] = []
    begun = threading.Event()

    def other() -> None:
        copy = handle.asarray(numbers(8, *SHAPE))  # not refused: it is no call of the recording thread
        begun.set()
        y = dnn.activation_forward(handle, x, RELU)
        found.extend(map(handle.to_numpy, (copy, y)))

    thread = threading.Thread(target=other)
    with handle.capture() as step:
        y = network.run()
        thread.start()
        assert begun.wait(30)
        thread.join(0.05)
        assert not found
        dnn.scale_tensor(handle, y, 2.0)
    thread.join(30)
    assert len(step) == 6
    np.testing.assert_array_equal(found[0], numbers(8, *SHAPE))
    np.testing.assert_array_equal(found[1], relu(numbers(9, *SHAPE)))
    network.refill(10)
    step.replay()
    expect(handle, y, 2 * network.want())


@everywhere()
def test_threads_share_a_step(handle: Any) -> None:
    one, total = handle.asarray(np.ones(SHAPE, np.float32)), handle.zeros(SHAPE)
    with handle.capture() as step:
        dnn.add_tensor(handle, one, total)

    def replay() -> None:
        for _ in range(50):
            step.replay()

    threads = [threading.Thread(target=replay) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(handle, total, np.full(SHAPE, 201, np.float32))
