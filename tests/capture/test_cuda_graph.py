"""How a CUDA graph is made of launches, with stand-ins for CuPy and the driver that write down what they are asked."""

from __future__ import annotations

import gc
import types
import weakref
from typing import Any

import numpy as np
import pytest

import portadnn as dnn
from portadnn.enums import DataType
from portadnn_backends.base import CountersArg, DeviceInfo, Kernel, Launch, ScalarArg, TensorArg, WorkspaceArg
from portadnn_backends.cuda import device as cuda
from portadnn_backends.cupy_devices import arrays
from portadnn_backends.cupy_devices import device as cupy_device
from portadnn_backends.programs import Program


class DriverError(RuntimeError):
    """A CUDADriverError or CUDARuntimeError."""


class Pointer:
    """A CuPy MemoryPointer."""

    def __init__(self, ptr: int) -> None:
        self.ptr = ptr


class Array:
    """A CuPy array."""

    def __init__(self, ptr: int) -> None:
        self.data = Pointer(ptr)


class World:
    """A CuPy that notes what it is asked, and a driver that fails when it is told to."""

    def __init__(self) -> None:
        self.said: list[tuple[Any, ...]] = []
        self.launched: list[tuple[int, tuple[Any, ...]]] = []
        self.fails = 0
        world = self

        class Stream:
            def __init__(self, ptr: int = 0xCA, non_blocking: bool = True) -> None:
                self.ptr = ptr

            def __enter__(self) -> Any:
                return self

            def __exit__(self, *_: Any) -> None:
                pass

            def synchronize(self) -> None:
                world.said.append(("synchronize", self.ptr))

            def begin_capture(self) -> None:
                world.said.append(("begin", self.ptr))

            def end_capture(self) -> Any:
                world.said.append(("end", self.ptr))
                launch = lambda stream: world.said.append(("graph", stream.ptr))  # noqa: E731
                return types.SimpleNamespace(launch=launch)

        self.current = Stream(0x1)
        runtime = types.SimpleNamespace(
            CUDARuntimeError=DriverError,
            getDevice=lambda: 0,
            memsetAsync=lambda ptr, value, size, stream: self.said.append(("clear", ptr, size, stream)),
        )
        self.cupy = types.SimpleNamespace(
            ndarray=Array,
            cuda=types.SimpleNamespace(
                Stream=Stream,
                alloc=lambda size: self.said.append(("alloc", size)) or Pointer(0xC0),
                memory=types.SimpleNamespace(OutOfMemoryError=MemoryError),
                runtime=runtime,
                driver=types.SimpleNamespace(CUDADriverError=DriverError),
                get_current_stream=lambda *_: self.current,
            ),
        )

    def step(self, launch: Launch) -> Any:
        """Stand for what a launch is made of."""
        world = self

        class Step:
            def pack(self, arrays: Any, scalars: Any, workspace: int, counters: int) -> None:
                self.values = ([array.data.ptr for array in arrays], list(scalars), workspace, counters)

            def on(self, stream: int) -> Any:
                def call() -> int:
                    world.said.append(("launch", launch.kernel.name, stream))
                    world.launched.append((stream, self.values))
                    return world.fails

                return call

        self.last = Step()
        return self.last


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    for module in (arrays, cupy_device):
        monkeypatch.setattr(module, "_cupy", lambda: made.cupy)
    monkeypatch.setattr(cuda, "EarlyStep", made.step)
    return made


def device(world: World, stream: Any = None) -> Any:
    info = DeviceInfo("cuda", "fake", "", "gpu", "", "", features=frozenset({"early_launches"}))
    return cuda.CudaDevice(0, info, stream)


def launch(name: str) -> Launch:
    args = (TensorArg(0), WorkspaceArg(256), ScalarArg(0, DataType.FLOAT), CountersArg(1))
    return Launch(Kernel(name, Program(None, str, 0)), (1,), (32,), args)


def calls() -> list[Any]:
    return [
        ((launch("a"), launch("b")), [Array(0x10)], (1.0,), Pointer(0x500)),
        ((launch("c"),), [Array(0x20), Array(0x30)], (), None),
    ]


def test_launches_are_captured_on_a_stream_of_their_own(world: World) -> None:
    graph = device(world).graph(calls())
    bytes_of_counters = 4 * 65536
    assert world.said == [
        ("synchronize", 0x1),
        ("alloc", bytes_of_counters),
        ("clear", 0xC0, bytes_of_counters, 0xCA),
        ("synchronize", 0xCA),  # nothing is cleared inside of the graph
        ("begin", 0xCA),
        ("launch", "a", 0xCA),
        ("launch", "b", 0xCA),
        ("launch", "c", 0xCA),
        ("end", 0xCA),
    ]
    assert [values for _, values in world.launched] == [
        ([0x10], [1.0], 0x500, 0xC0),
        ([0x10], [1.0], 0x500, 0xC0),
        ([0x20, 0x30], [], 0, 0xC0),
    ]
    world.said.clear()
    graph()
    world.current = world.cupy.cuda.Stream(0x2)
    graph()
    assert world.said == [("graph", 0x1), ("graph", 0x2)]


def test_a_handles_stream_stays_as_it_is(world: World) -> None:
    own = world.cupy.cuda.Stream(0x7)
    opened = device(world, own)
    graph = opened.graph(calls())
    assert opened.stream is own
    graph()
    assert world.said[-1] == ("graph", 0x7)


def test_what_the_driver_refuses_is_told_and_the_capture_ended(world: World) -> None:
    world.fails = 900
    with pytest.raises(dnn.NotSupported, match="fake: 900"):
        device(world).graph(calls())
    assert world.said[-1] == ("end", 0xCA)


def test_a_graph_keeps_what_its_launches_point_to(world: World) -> None:
    graph = device(world).graph(calls())
    known = weakref.ref(world.last)
    del world.last
    gc.collect()
    assert known() is not None
    del graph
    gc.collect()
    assert known() is None


def test_a_step_falls_back_to_launches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reason, as what a device cannot capture can still be launched."""
    with dnn.Handle("reference") as handle:
        x = handle.asarray(np.ones((1, 2, 3, 4), np.float32))
        with handle.capture() as step:
            dnn.scale_tensor(handle, x, 2.0)
        monkeypatch.setattr(handle.device, "graph", lambda _: (_ for _ in ()).throw(dnn.NotSupported("not today")))
        monkeypatch.setattr(type(step._parts[0]), "bound", lambda _: None)
        step.update(x, x)
        step.replay()
        assert (step.mode, step.reason) == ("launches", "not today")
        np.testing.assert_array_equal(x, np.full(x.shape, 4))
        graphs: list[Any] = []
        monkeypatch.setattr(handle.device, "graph", lambda calls: graphs.append(calls) or (lambda: graphs.append(1)))
        monkeypatch.setattr(handle.device, "graph_mode", "cuda graph")
        step.update(x, x)
        for _ in range(3):
            step.replay()
        assert graphs == [[None], 1, 1, 1]  # made once
        assert (step.mode, step.reason) == ("cuda graph", "")
