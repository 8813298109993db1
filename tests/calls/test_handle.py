"""Handles: choice of the device, streams, arrays, threads, and freeing what they own."""

from __future__ import annotations

import copy
import gc
import logging
import pickle
import threading
import weakref

import numpy as np
import pytest
from where import BACKENDS, open_handle

import portadnn as dnn

RELU = dnn.ActivationDescriptor("relu")
KERNELS = [name for name in BACKENDS if name != "reference"]


@pytest.fixture(params=BACKENDS)
def handle(request):
    with open_handle(request.param) as opened:
        yield opened


def numbers(dims, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(dims).astype(dtype)


def test_environment(monkeypatch):
    monkeypatch.setenv("PORTADNN_BACKEND", "reference")
    monkeypatch.setenv("PORTADNN_DEVICE", "0")
    assert dnn.Handle().backend == "reference"
    monkeypatch.setenv("PORTADNN_DEVICE", "7")
    with pytest.raises(dnn.BadParam, match=r"Handle: device: expected 0, got 7"):
        dnn.Handle()
    assert dnn.Handle(device=0).backend == "reference", "an argument wins over the environment"
    for text in ("one", "-1", "1.5"):
        monkeypatch.setenv("PORTADNN_DEVICE", text)
        with pytest.raises(dnn.BadParam, match=rf"Handle: PORTADNN_DEVICE: .*'{text}'"):
            dnn.Handle()
    monkeypatch.setenv("PORTADNN_DEVICE", "")
    monkeypatch.setenv("PORTADNN_BACKEND", "metal")
    with pytest.raises(dnn.BadParam, match=r"Handle: backend: .*reference.*'metal'"):
        dnn.Handle()
    monkeypatch.setenv("PORTADNN_BACKEND", "")
    assert dnn.Handle().backend in ("cuda", "hip", "opencl", "reference")


def test_schedule(monkeypatch):
    for schedule in ("gpu", "cpu"):
        monkeypatch.setenv("PORTADNN_SCHEDULE", schedule)
        assert dnn.Handle("reference").info.schedule == schedule
    monkeypatch.setenv("PORTADNN_SCHEDULE", "fpga")
    with pytest.raises(dnn.BadParam, match=r"PORTADNN_SCHEDULE: expected gpu or cpu, got 'fpga'"):
        dnn.Handle("reference")


def test_closing(handle):
    x = handle.asarray(numbers((1, 2, 3, 4)))
    y = dnn.activation_forward(handle, x, RELU)
    before = handle.to_numpy(y)
    handle.close()
    handle.close()
    assert "closed" in repr(handle)
    with pytest.raises(dnn.NotInitialized, match="activation_forward: handle: the handle is closed"):
        dnn.activation_forward(handle, x, RELU)
    with pytest.raises(dnn.NotInitialized):
        _ = handle.info
    with open_handle(handle.backend) as other:
        if handle.backend != "opencl":  # an OpenCL array belongs to its handle's context
            assert np.array_equal(other.to_numpy(y), before)
    if handle.backend == "opencl":
        assert np.array_equal(y.get(), before), "arrays outlive the handle"


def test_it_is_no_value(handle):
    """A shallow copy shared the device, which closing either one took from both."""
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="open another one"):
            copied(handle)


def test_asarray(handle):
    for dtype, stored in (("f2", "f2"), ("f4", "f4"), ("f8", "f8"), (">f8", "f8"), (">f4", "f4")):
        assert handle.to_numpy(handle.asarray(np.ones((1, 2, 3), dtype))).dtype == np.dtype(stored)
    for dtype in ("i1", "i8", "u2", "?", "g"):
        assert handle.to_numpy(handle.asarray(np.ones((1, 2, 3), dtype))).dtype == np.float32
    assert handle.to_numpy(handle.asarray([[[1, 2]]], "half")).dtype == np.float16
    host = numbers((2, 3, 4, 5))
    for layout in (
        host,
        host[::-1],
        host[:, ::2],
        host.transpose(0, 2, 3, 1),
        host.T,
        np.broadcast_to(host[:1], host.shape),
    ):
        copy = handle.asarray(layout)
        assert np.array_equal(handle.to_numpy(copy), layout)
        assert min(copy.strides) > 0
    channels_last = handle.asarray(host, format="nhwc")
    assert tuple(channels_last.strides) == (240, 4, 60, 12)
    assert np.array_equal(handle.to_numpy(channels_last), host)
    assert tuple(handle.zeros((2, 3, 4, 5), "double", format="nhwc").strides) == (480, 8, 120, 24)
    assert not handle.to_numpy(handle.zeros((2, 3, 4, 5))).any()
    assert tuple(handle.empty((2, 3, 4), "half").shape) == (2, 3, 4)
    assert handle.to_numpy(handle.zeros((0, 3, 4))).shape == (0, 3, 4)
    for scalar in (np.float32(3), np.array(3, "i4"), 3, 3.0):
        assert handle.to_numpy(handle.asarray(scalar)).shape == ()
        assert handle.to_numpy(handle.asarray(scalar)) == 3
    host[...] = 0
    assert handle.to_numpy(channels_last).any(), "asarray copies"


def test_plans_are_found_again(handle, caplog):
    x = handle.asarray(numbers((1, 2, 3, 4)))
    with caplog.at_level(logging.DEBUG, "portadnn"):
        for _ in range(3):
            dnn.activation_forward(handle, x, dnn.ActivationDescriptor("relu"))
        y = dnn.activation_forward(handle, x, RELU)
        dnn.activation_forward(handle, x, RELU, y)
    made = [r.getMessage() for r in caplog.records if r.name == "portadnn" and "activation_forward" in r.getMessage()]
    assert len(made) == 1 and made[0].startswith("activation_forward x=f32:1x2x3x4 y=f32:1x2x3x4 mode=relu: ")


def test_threads_share_a_handle(handle, caplog):
    """Concurrent first calls make one plan; every thread gets its own right result."""
    x = [numbers((2, 3, 8, 8), seed=i) for i in range(6)]
    barrier, results, errors = threading.Barrier(len(x)), {}, []

    def work(i):
        try:
            mine = handle.asarray(x[i])
            barrier.wait()
            for _ in range(10):
                y = dnn.scale_tensor(handle, dnn.activation_forward(handle, mine, RELU), 2.0)
            results[i] = handle.to_numpy(y)
        except Exception as error:  # reported by the main thread
            errors.append(error)

    with caplog.at_level(logging.DEBUG, "portadnn"):
        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(x))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors
    for i, host in enumerate(x):
        assert np.array_equal(results[i], 2 * np.maximum(host, 0))
    assert sum("activation_forward" in r.getMessage() for r in caplog.records if r.name == "portadnn") == 1


def test_threads_share_the_workspace(handle):
    """Convolutions of several threads that need scratch memory do not disturb each other."""
    conv = dnn.ConvolutionDescriptor((1, 1))
    shapes = [(2, 16 + 16 * (i % 2), 14, 14) for i in range(4)]
    hosts = [(numbers(s, seed=i), numbers((32, s[1], 3, 3), seed=9)) for i, s in enumerate(shapes)]
    alone = [handle.to_numpy(dnn.convolution_forward(handle, *map(handle.asarray, pair), conv)) for pair in hosts]
    results = {}

    def work(i):
        x, w = map(handle.asarray, hosts[i])
        for _ in range(5):
            y = dnn.convolution_forward(handle, x, w, conv)
        results[i] = handle.to_numpy(y)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(hosts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(results[i], alone[i]) for i in range(len(hosts)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_handle_per_thread(backend):
    open_handle(backend).close()
    results, host = {}, numbers((2, 3, 8, 8))

    def work(i):
        with dnn.Handle(backend) as mine:
            for _ in range(5):
                y = dnn.activation_forward(mine, mine.asarray(host * i), RELU)
            results[i] = mine.to_numpy(y)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(results[i], np.maximum(host * i, 0)) for i in range(4))


@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_is_left_after_many_handles(backend):
    open_handle(backend).close()
    devices = []
    for _ in range(200):
        with dnn.Handle(backend) as handle:
            dnn.set_tensor(handle, handle.empty((1, 4, 8)), 1.0)
            handle.scratch(1 << 20)
            devices.append(weakref.ref(handle.device))
    del handle
    gc.collect()
    assert sum(device() is not None for device in devices) == 0


@pytest.mark.parametrize("backend", KERNELS)
def test_streams(backend):
    with open_handle(backend) as handle:
        if backend == "torch" and handle.info.kind == "cpu":
            pytest.skip("PyTorch has no streams on the CPU")
        mine = handle.get_stream()
        host = numbers((1, 2, 3, 4))
        x = handle.asarray(host)
        if backend == "opencl":
            import pyopencl as cl

            other = cl.CommandQueue(mine.context, mine.device)
            wrong = cl.CommandQueue(cl.Context([mine.device]))
            unordered = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
            with pytest.raises(dnn.BadParam, match=r"Handle.set_stream: stream: .*context"):
                handle.set_stream(wrong)
            if mine.device.queue_on_host_properties & unordered:
                with pytest.raises(dnn.NotSupported, match="in-order"):
                    handle.set_stream(cl.CommandQueue(mine.context, mine.device, properties=unordered))
        else:
            import cupy

            other = cupy.cuda.Stream(non_blocking=True)
        handle.synchronize()
        handle.set_stream(other)
        assert handle.get_stream() is other
        y = dnn.activation_forward(handle, x, RELU)
        assert np.array_equal(handle.to_numpy(y), np.maximum(host, 0))
        handle.set_stream(None)
        assert handle.get_stream() is not other
        with dnn.Handle(backend, stream=other) as guest:
            assert guest.get_stream() is other
            y = dnn.activation_forward(guest, x if backend != "opencl" else guest.asarray(host), RELU)
            assert np.array_equal(guest.to_numpy(y), np.maximum(host, 0))


def test_opencl_sub_buffers_share_memory():
    with open_handle("opencl") as handle:
        import pyopencl as cl

        whole = handle.device.workspace(4096)
        first, second = whole.get_sub_region(0, 2048), whole.get_sub_region(1024, 2048)
        both = dnn.TensorDescriptor((1, 8, 64))
        with pytest.raises(dnn.BadParam, match="y: expected memory of its own, apart from x"):
            dnn.transform_tensor(handle, both.view(first), both.view(second))
        dnn.set_tensor(handle, both.view(whole.get_sub_region(2048, 2048)), 3.0)
        assert isinstance(first, cl.Buffer)


def test_reference_takes_other_libraries_arrays():
    """DLPack and the array interface, without a copy."""
    torch = pytest.importorskip("torch")
    with dnn.Handle("reference") as handle:
        x, y = torch.randn(1, 2, 3, 4), torch.zeros(1, 2, 3, 4)
        assert dnn.activation_forward(handle, x, RELU, y) is y
        assert torch.equal(y, x.relu())
