"""Command buffers: what the driver is asked, by functions that write it down.

Where a device has the extension, as PoCL from 3.1 on does, the tests of captured steps run on the driver's own.
"""

from __future__ import annotations

import ctypes
import gc
import types
from typing import Any

import numpy as np
import pytest
from captures import expect, fill, numbers, relu
from helper import opencl_targets

import portadnn as dnn
from portadnn_backends.opencl import command_buffer as opencl_command_buffer

RELU, SHAPE = dnn.ActivationDescriptor("relu"), (2, 3, 6, 8)


class Driver:
    """The extension's functions; `status` is what the one named `fails` returns."""

    def __init__(self) -> None:
        self.said: list[tuple[Any, ...]] = []
        self.fails, self.points = "", 0

    def functions(self, platform: int) -> dict[str, Any]:
        called = {
            "clCreateCommandBufferKHR": self.create,
            "clCommandNDRangeKernelKHR": self.command,
            "clFinalizeCommandBufferKHR": lambda buffer: self.noted("finalize", buffer),
            "clEnqueueCommandBufferKHR": self.enqueue,
            "clReleaseCommandBufferKHR": lambda buffer: self.noted("release", buffer),
        }
        assert called.keys() == opencl_command_buffer._TYPES.keys()
        return called

    def noted(self, *words: Any) -> int:
        self.said.append(words)
        return -59 if words[0] == self.fails else 0

    def create(self, count: int, queues: Any, flags: Any, status: int) -> int:
        ctypes.c_int32.from_address(status).value = self.noted("create", list(queues)[:count], list(flags))
        return 0xB0F

    def command(self, buffer: int, queue: Any, properties: Any, kernel: Any, dims: int, offset: Any, *rest: Any) -> int:
        size, block, waits, wait, point, handle = rest
        assert (queue, properties, offset, handle) == (None, None, None, None)
        before = [ctypes.c_uint32.from_address(wait).value] if waits else []
        self.points += 1
        ctypes.c_uint32.from_address(point).value = 100 + self.points
        sizes = [list((ctypes.c_size_t * dims).from_address(_number(place))) for place in (size, block)]
        return self.noted("command", buffer, *sizes, before)

    def enqueue(self, count: int, queues: Any, buffer: int, waits: int, wait: Any, event: Any) -> int:
        assert (waits, wait, event) == (0, None, None)
        return self.noted("enqueue", list(queues)[:count], buffer)


def _number(word: Any) -> int:
    """Return what ctypes passes on for a word of a launch."""
    got: list[int] = []
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(got.append)(word)
    return got[0]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver()
    monkeypatch.setattr(opencl_command_buffer, "_functions", made.functions)
    monkeypatch.setattr(opencl_command_buffer, "why_not", lambda device: None)
    return made


opencl = pytest.mark.parametrize("handle", opencl_targets(), indirect=True, ids=lambda t: t.name)


@opencl
def test_what_the_driver_is_asked(handle: Any, driver: Driver) -> None:
    x, y = handle.asarray(numbers(0, *SHAPE)), handle.empty(SHAPE)
    with handle.capture() as step:
        dnn.activation_forward(handle, x, RELU, y)
        dnn.scale_tensor(handle, y, 2.0)
        dnn.scale_tensor(handle, y, 3.0)
    assert (step.mode, step.reason) == ("command buffer", "")
    launches = [launch for one, *_ in step.bound_launches() for launch in one]
    assert len(launches) == 3
    queue = handle.get_stream().int_ptr
    create, *commands, finalize = driver.said
    simultaneous = [0x1293, 1, 0]  # CL_COMMAND_BUFFER_FLAGS_KHR, CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR
    assert create == ("create", [queue], simultaneous)
    for number, (command, launch) in enumerate(zip(commands, launches, strict=True)):
        size = [g * b for g, b in zip(launch.grid, launch.block, strict=True)]
        before = [100 + number] if number else []  # the point of the command before
        assert command == ("command", 0xB0F, size, list(launch.block), before)
    assert finalize == ("finalize", 0xB0F)
    driver.said.clear()
    step.replay()
    step.replay()
    assert driver.said == 2 * [("enqueue", [queue], 0xB0F)]
    expect(handle, y, 6 * relu(numbers(0, *SHAPE)))  # as the calls left it: nothing was enqueued but the buffer
    driver.said.clear()
    del step
    gc.collect()
    assert driver.said == [("release", 0xB0F)]


@opencl
def test_other_arrays_make_another_buffer(handle: Any, driver: Driver) -> None:
    x, y, new = (handle.asarray(numbers(seed, *SHAPE)) for seed in range(3))
    with handle.capture() as step:
        dnn.activation_forward(handle, x, RELU, y)
    driver.said.clear()
    step.update(x, new)
    step.replay()
    assert [words[0] for words in driver.said] == ["create", "command", "finalize", "release", "enqueue"]


@opencl
@pytest.mark.parametrize("fails", ["create", "command", "finalize"])
def test_what_the_driver_refuses_is_launched(handle: Any, driver: Driver, fails: str) -> None:
    driver.fails = fails
    x, y = handle.asarray(numbers(0, *SHAPE)), handle.empty(SHAPE)
    with handle.capture() as step:
        dnn.activation_forward(handle, x, RELU, y)
    assert step.mode == "launches"
    assert step.reason.endswith("KHR: status -59")
    fill(handle, x, numbers(1, *SHAPE))
    step.replay()
    expect(handle, y, relu(numbers(1, *SHAPE)))


@opencl
def test_a_buffer_that_cannot_be_enqueued_is_an_error(handle: Any, driver: Driver) -> None:
    driver.fails = "enqueue"
    x = handle.asarray(numbers(0, *SHAPE))
    with handle.capture() as step:
        dnn.activation_forward(handle, x, RELU, x)
    with pytest.raises(dnn.ExecutionFailed, match="clEnqueueCommandBufferKHR: status -59"):
        step.replay()


@opencl
def test_arrays_in_host_memory_are_launched_with_waits(handle: Any, driver: Driver) -> None:
    if handle.info.kind != "cpu":
        pytest.skip(f"{handle.info.name} does not compute in the host's memory")
    x, y = numbers(0, *SHAPE), np.empty(SHAPE, np.float32)
    with handle.capture() as step:
        dnn.activation_forward(handle, x, RELU, y)
    assert not driver.said
    assert "wait for their end" in step.reason
    x[...], y[...] = numbers(1, *SHAPE), np.nan
    step.replay()
    np.testing.assert_array_equal(y, relu(x))


def test_devices_without_the_extension() -> None:
    platform = types.SimpleNamespace(extensions="cl_khr_icd")
    device = types.SimpleNamespace(extensions="cl_khr_fp64 cl_khr_command_buffer_multi_device", platform=platform)
    assert opencl_command_buffer.why_not(device) == "the device does not have cl_khr_command_buffer"
