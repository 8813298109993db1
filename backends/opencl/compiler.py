"""From OpenCL C to programs: the driver's compiler, and a cache on disk where the driver has none."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any

from portadnn.errors import CompileError

from .. import kernel_cache
from ..base import DeviceInfo
from . import pocl_cpu
from .devices import build_options, opencl


class Compiler:
    """The compiler of one device."""

    def __init__(self, context: Any, device: Any, info: DeviceInfo) -> None:
        self.info = info
        self.options = build_options(device, info)
        self._context = context
        self._device = device

    def build(self, source: str) -> Any:
        """Return the program of a text, from the cache on disk where that has it.

        Raises
        ------
        CompileError
            With source and log.
        """
        cl = opencl()
        info = self.info
        key = ("opencl", source, self.options, info.platform, info.name, info.driver, info.version)
        # PoCL has a cache of its own, and compiles every kernel for all work-group sizes when asked for its binary
        keep = "Portable Computing" not in info.platform and "PoCL" not in info.version
        binary = kernel_cache.load(key) if keep else None
        if binary is not None:
            try:
                program = cl.Program(self._context, [self._device], [binary])
                return self.compile(program)
            except cl.Error:
                pass  # the driver refuses the binary: build anew and replace it
        alone = pocl_cpu.takes_builtins(info)
        program = self.build_alone(source) if alone else None
        if program is not None:
            return program
        program = cl.Program(self._context, source)
        try:
            program = self.compile(program)
        except cl.Error as error:
            raise CompileError(f"OpenCL on {info.name} refused a kernel", source=source, log=str(error)) from None
        if alone:
            warnings.warn("a kernel needs more than builtins.h declares: it is compiled slowly", stacklevel=2)
        if keep:
            position = program.get_info(cl.program_info.DEVICES).index(self._device)
            kernel_cache.store(key, program.get_info(cl.program_info.BINARIES)[position])
        return program

    def build_alone(self, source: str) -> Any:
        """Build without the compiler's own header; None where the kernel needs more of it than ``builtins.h`` has."""
        cl = opencl()
        try:
            return self.compile(cl.Program(self._context, pocl_cpu.BUILTINS + source), pocl_cpu.NO_HEADER)
        except cl.Error:
            return None

    def compile(self, program: Any, option: str = "") -> Any:
        """Have the driver compile a program."""
        with _quiet():
            return program.build(self.options + option, devices=[self._device], cache_dir=False)


class _Quiet:
    """Keeps PyOpenCL from warning about compilers' remarks for as long as some thread compiles.

    Filters of warnings belong to the process: each thread for itself would put back what another one had set.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads = 0
        self._catching = contextlib.ExitStack()

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            self._threads += 1
            if self._threads == 1:
                self._catching.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore", opencl().CompilerWarning)
        try:
            yield
        finally:
            with self._lock:
                self._threads -= 1
                if not self._threads:
                    self._catching.close()


_quiet = _Quiet()
