"""A stand-in for a device that starts to build kernels and binds nothing, so that many are built side by side."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from portadnn.errors import DnnError

from . import kernel_text
from .launch import Kernel, Launch, Run
from .programs import Program


class Scout:
    """Stands for a device while engines prepare plans that are thrown away.

    Parameters
    ----------
    device : Device
        One whose ``compile`` returns while the kernel is being built.

    Attributes
    ----------
    kernels : list of Kernel
        What was asked for. As long as the list is kept, the device has them in memory.
    """

    def __init__(self, device: Any) -> None:
        self._device = device
        self.info = device.info
        self.kernels: list[Kernel] = []

    def compile(self, file: str, name: str, defines: Mapping[str, int | float | str], text: str = "") -> Kernel:
        """Have the device start to build a kernel."""
        kernel: Kernel = self._device.compile(file, name, defines, text)
        self.kernels.append(kernel)
        return kernel

    def bind(self, launches: Sequence[Launch]) -> Run:
        """Return what runs nothing."""
        return Run(_nothing)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def visit(self, prepare: Callable[[Any], object]) -> None:
        """Have ``prepare(scout)`` make a plan; what goes wrong goes wrong again when the plan is made in earnest."""
        with contextlib.suppress(Exception):
            prepare(self)

    def wait(self) -> None:
        """Wait until all builds have ended; those that failed fail again when their plans are made."""
        for kernel in self.kernels:
            with contextlib.suppress(DnnError):
                _ = kernel.native


class TextScout:
    """Stands for a device likewise, but only notes which texts its kernels have.

    Parameters
    ----------
    info : DeviceInfo
        The device's.
    missing
        Tells of a text whether it has to be compiled.

    Attributes
    ----------
    texts : set of bytes
        Digests.
    """

    def __init__(self, info: Any, dialect: str, missing: Callable[[str], bool]) -> None:
        self.info = info
        self.texts: set[bytes] = set()
        self._dialect = dialect
        self._missing = missing

    def compile(self, file: str, name: str, defines: Mapping[str, int | float | str], text: str = "") -> Kernel:
        """Note a kernel's text."""
        source = kernel_text.assemble(file, self._dialect, dict(defines), text)
        if self._missing(source):
            self.texts.add(hashlib.sha256(source.encode()).digest())
        return Kernel(name, Program(None, str, 0))

    def bind(self, launches: Sequence[Launch]) -> Run:
        """Return what runs nothing."""
        return Run(_nothing)


def _nothing(arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
    return
