"""Backend ``amd_isa`` of the test suite: kernels are compiled for AMD GPUs, and executed on the CPU on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import numpy as np

import portadnn as dnn
from amd_isa import clang
from amd_isa.executor.memory import allocate
from amd_isa.executor.run import Code, ExecutorError
from portadnn.errors import BadParam, CompileError, ExecutionFailed
from portadnn.problem import TensorSpec
from portadnn_backends.base import (
    MOST_COUNTERS,
    ConstantArg,
    CountersArg,
    DeviceInfo,
    Kernel,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
)
from portadnn_backends.kernel_backend import KernelBackend
from portadnn_backends.opencl.backend import BACKEND as OPENCL
from portadnn_backends.programs import Programs
from portadnn_backends.reference.backend import ReferenceDevice

TARGETS = {"gfx1100": (96, 32), "gfx942": (304, 64)}  # compute units and lanes of a wave
CHECKS = {"unwritten": 1, "races": 1, "reverse": 0}  # of the executor


class ExecutorDevice(ReferenceDevice):
    """A GPU of AMD's that the executor stands for. Launches are finished when they return."""

    binds = False

    def __init__(self, info: DeviceInfo) -> None:
        super().__init__(info)
        self._programs = Programs()
        self._counters = np.zeros(MOST_COUNTERS, np.int32)
        self.launched: list[str] = []  # the names of kernels, for tests

    def empty(self, spec: TensorSpec) -> Any:
        size = spec.dtype.itemsize
        memory = allocate(spec.span * size).view(spec.dtype.storage)
        return np.ndarray(spec.dims, memory.dtype, memory, strides=tuple(s * size for s in spec.strides))

    def asarray(self, array: np.ndarray[Any, Any]) -> Any:
        packed = np.array(array, order="K")
        memory = allocate(packed.nbytes).view(packed.dtype)
        made = np.ndarray(packed.shape, packed.dtype, memory, strides=packed.strides)
        made[...] = packed
        return made

    def workspace(self, nbytes: int) -> Any:
        return allocate(nbytes)

    def compile(self, file: str, name: str, defines: Any, text: str = "") -> Kernel:
        def build(source: str) -> tuple[Any, int]:
            try:
                return Code(clang.compile(source, self.info.arch), self.info.arch), 2 * len(source)
            except clang.Refused as error:
                raise CompileError(
                    f"clang refused a kernel for {self.info.arch}", source=source, log=str(error)
                ) from None

        return Kernel(name, self._programs.get(file, "opencl", defines, text, build))

    def binding(self, launches: Sequence[Any]) -> tuple[Callable[..., None], Callable[[], bool]]:
        def run(arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
            for launch in launches:
                arguments = [value for arg in launch.args for value in self._values(arg, arrays, scalars, workspace)]
                self.launched.append(launch.kernel.name)
                try:
                    launch.kernel.native.launch(launch.kernel.name, launch.grid, launch.block, arguments, **CHECKS)
                except ExecutorError as error:
                    raise ExecutionFailed(f"{self.info.arch}: {error}") from None

        return run, lambda: False

    def _values(self, arg: Any, arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> list[Any]:
        """Return what a kernel is handed for an argument: memory comes with the number of its first element."""
        if isinstance(arg, ConstantArg):
            return [arg.value]
        if isinstance(arg, ScalarArg):
            return [np.dtype(arg.dtype.storage).type(scalars[arg.index])]
        if isinstance(arg, CountersArg):
            return [self._counters[: arg.count], np.int64(0)]
        if isinstance(arg, WorkspaceArg):
            return [workspace, np.int64(arg.offset // arg.dtype.itemsize)]
        assert isinstance(arg, TensorArg)
        array = arrays[arg.index]
        return [array, np.int64(arg.offset // (array.itemsize if arg.dtype is None else arg.dtype.itemsize))]


class ExecutorBackend(KernelBackend):
    """GPUs that the executor stands for: one device a target."""

    name = "amd_isa"
    install = "apt install clang-22 lld-22 llvm-22 libclc-22"

    def why_unavailable(self) -> str | None:
        try:
            clang.find()
        except FileNotFoundError as error:
            return str(error)
        return None

    def devices(self) -> Sequence[DeviceInfo]:
        return [device_info(target, self.name) for target in TARGETS]

    def open(self, index: int, stream: Any = None) -> ExecutorDevice:
        if not 0 <= index < len(TARGETS):
            raise BadParam(argument="device", expected=f"0 to {len(TARGETS) - 1}", got=index)
        device = ExecutorDevice(self.devices()[index])
        device.set_stream(stream)
        return device


def open_handle(target: str) -> dnn.Handle:
    """Open a handle of the backend opencl, whose one device the executor stands for."""
    info = device_info(target, "opencl")
    patched = {"devices": lambda: [info], "open": lambda index, stream: ExecutorDevice(info)}
    with mock.patch.multiple(OPENCL, why_unavailable=lambda: None, **patched):
        return dnn.Handle("opencl", device=0)


def device_info(target: str, backend: str) -> DeviceInfo:
    """Return what AMD's OpenCL says of such a device: groups of 256 work-items, 64 KB of local memory."""
    units, lanes = TARGETS[target]
    return DeviceInfo(
        backend=backend,
        name=target,
        vendor="Advanced Micro Devices, Inc.",
        kind="gpu",
        driver="",
        version="OpenCL C 1.2",
        schedule="gpu",
        compute_units=units,
        simd_width=lanes,
        max_work_group=256,
        local_memory=64 << 10,
        global_memory=8 << 30,
        max_allocation=2 << 30,
        arch=target,
        features=frozenset({"atomic64"}),
    )


BACKEND = ExecutorBackend()
