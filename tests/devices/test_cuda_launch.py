"""What the CUDA driver is handed for a launch; a C function of the same signature stands in for it."""

import ctypes
import gc
import types
import weakref

import numpy as np
import pytest

from portadnn.enums import DataType
from portadnn.errors import ExecutionFailed
from portadnn_backends.base import ConstantArg, Kernel, Launch, ScalarArg, TensorArg, WorkspaceArg
from portadnn_backends.cuda import device as cuda
from portadnn_backends.cuda import launch as cuda_launch
from portadnn_backends.cupy_devices import arrays
from portadnn_backends.cupy_devices import device as cupy_device
from portadnn_backends.programs import Program

NATIVE = types.SimpleNamespace(get_function=lambda name: types.SimpleNamespace(ptr=0x1234))


def step(kind=cuda_launch.EarlyStep, **more):
    args = (TensorArg(0), WorkspaceArg(256), ScalarArg(0, DataType.FLOAT), ConstantArg(np.int32(-7)))
    return kind(Launch(Kernel("k", Program(NATIVE, str, 0)), (5, 3), (64, 2), args, **more))


@pytest.fixture
def driver(monkeypatch):
    """Yield the calls that the driver got: what it finds behind the pointers."""
    pytest.importorskip("cupy")
    got = []

    def launch(config, function, table, extra):
        words = ctypes.cast(config, ctypes.POINTER(ctypes.c_uint))[:7]
        stream, attributes = ctypes.cast(config + 32, ctypes.POINTER(ctypes.c_uint64))[:2]
        count = ctypes.c_uint.from_address(config + 48).value
        attribute = (ctypes.c_uint.from_address(attributes).value, ctypes.c_int.from_address(attributes + 8).value)
        values = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[:4]
        got.append((words, stream, count, attribute, function, extra, bytes(ctypes.string_at(values[0], 32))))
        return 700

    kind = ctypes.CFUNCTYPE(ctypes.c_int, *(4 * [ctypes.c_void_p]))
    stub = kind(launch)
    free = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.cast(stub, ctypes.c_void_p).value)
    monkeypatch.setattr(cuda_launch, "_launch_early", lambda: free)
    yield got  # and not return: `free` does not keep the stub alive


def test_an_early_launch_is_told_everything(driver):
    one = step()
    call = one.on(0x7F0123456789)
    array = types.SimpleNamespace(data=types.SimpleNamespace(ptr=0x7E0000000010))
    one.pack([array], [2.5], 0x7D0000000000, 0)
    assert call() == 700
    values = np.array([0x7E0000000010, 0x7D0000000100], np.uint64).tobytes()
    values += np.float32(2.5).tobytes() + bytes(4) + np.int32(-7).tobytes() + bytes(4)
    # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION is 6
    assert driver == [([5, 3, 1, 64, 2, 1, 0], 0x7F0123456789, 1, (6, 1), 0x1234, None, values)]


def test_the_driver_without_that_function_launches_as_ever(monkeypatch):
    cupy = pytest.importorskip("cupy")
    got = []
    monkeypatch.setattr(cuda_launch, "_launch_early", lambda: None)
    monkeypatch.setattr(cupy.cuda.driver, "launchKernel", lambda *words: got.append(words))
    for kind in (cuda_launch.EarlyStep, cuda_launch.Step):
        step(kind).on(9)()
    assert [words[:9] for words in got] == 2 * [(0x1234, 5, 3, 1, 64, 2, 1, 0, 9)]


def test_a_launch_keeps_the_memory_of_its_arguments(driver, monkeypatch):
    cupy = pytest.importorskip("cupy")
    monkeypatch.setattr(cupy.cuda.driver, "launchKernel", lambda *words: None)
    for kind in (cuda_launch.EarlyStep, cuda_launch.Step):
        one = step(kind)
        call, known = one.on(9), weakref.ref(one)
        del one
        gc.collect()
        assert known() is not None
        del call
        gc.collect()
        assert known() is None


class DriverError(Exception):
    def __init__(self, status):
        super().__init__(f"status {status}")
        self.status = status


@pytest.fixture
def bound(monkeypatch):
    """Return a device's functions that launch and launch again, and what stands in for the driver."""
    context, asked = [0], []

    class Step:
        pack = staticmethod(lambda *words: None)

        def __init__(self, launch):
            pass

        def on(self, stream):
            return lambda: (asked.append(context[0]), 0 if context[0] else 201)[1]

    driver = types.SimpleNamespace(CUDADriverError=DriverError, ctxGetCurrent=lambda: context[0])
    stream = types.SimpleNamespace(ptr=5)
    runtime = types.SimpleNamespace(
        getDevice=lambda: 0, getDeviceCount=lambda: 1, free=lambda address: context.__setitem__(0, 7)
    )
    runtime.CUDARuntimeError = DriverError
    fake = types.SimpleNamespace(
        ndarray=object,
        cuda=types.SimpleNamespace(driver=driver, get_current_stream=lambda *_: stream, runtime=runtime),
    )
    for module, name in ((arrays, "_cupy"), (cupy_device, "_cupy"), (cuda, "cupy")):
        monkeypatch.setattr(module, name, lambda: fake)
    monkeypatch.setattr(cupy_device, "Step", Step)
    monkeypatch.setattr(cuda, "Step", Step)
    device = cuda.CudaDevice(0, types.SimpleNamespace(name="fake", features=frozenset()))
    launch = types.SimpleNamespace(args=())
    return (*device.binding([launch, launch]), context, asked, runtime)


def test_a_thread_without_a_context_gets_one(bound):
    """Threads that did nothing but launch were told that their context is invalid."""
    run, again, context, asked, _ = bound
    run([], [], None)
    assert asked == [0, 7, 7]
    context[0] = 0  # another thread
    assert again()
    assert asked == [0, 7, 7, 0, 7, 7]
    assert again()
    assert asked[6:] == [7, 7]


def test_a_context_that_cannot_be_had_is_an_error(bound):
    run, again, context, _, runtime = bound
    runtime.free = lambda address: None
    with pytest.raises(ExecutionFailed, match="status 201"):
        run([], [], None)
    context[0] = 7
    run([], [], None)
    context[0] = 0
    with pytest.raises(ExecutionFailed, match="status 201"):
        again()
