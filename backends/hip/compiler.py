"""hiprtc, as CuPy for ROCm binds it: from HIP C++ to machine code. It needs no GPU."""

from __future__ import annotations

import functools

from ..cupy_devices.compiler import compiled
from ..cupy_devices.library import cupy


def hiprtc_options(arch: str) -> tuple[str, ...]:
    """Return the compiler options for a target such as ``"gfx942:sramecc+:xnack-"``."""
    # "-O3" is hiprtc's own default; version 5 of code objects has the hidden arguments that NGRP reads
    return (f"--offload-arch={arch}", "-std=c++17", "-mcode-object-version=5")


def compile_code(source: str, arch: str) -> bytes:
    """Compile HIP C++ to a code object with hiprtc, as :func:`compiled`."""
    nvrtc = cupy().cuda.nvrtc  # CuPy for ROCm calls hiprtc under this name
    with compiled(nvrtc, "hiprtc", source, arch, hiprtc_options(arch)) as program:
        code: bytes = nvrtc.getPTX(program)  # hiprtcGetCode, whose last byte CuPy takes for the end of a text
        return code + b"\0"


@functools.cache
def hiprtc_version() -> str:
    """Return the compiler's version.

    Raises
    ------
    RuntimeError
        The library cannot be loaded.
    """
    return ".".join(map(str, cupy().cuda.nvrtc.getVersion()))
