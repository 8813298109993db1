"""NVRTC: from CUDA C++ to machine code. It needs no GPU."""

from __future__ import annotations

import functools

from ..cupy_devices.compiler import compiled


def nvrtc_options(arch: str) -> tuple[str, ...]:
    """Return the compiler options for a target such as ``"sm_90"``; code for Hopper has what only that has (sm_90a)."""
    return (f"-arch={arch}{'a' * arch.endswith('_90')}", "--std=c++17", "-default-device")


def compile_cubin(source: str, arch: str) -> bytes:
    """Compile CUDA C++ to machine code with NVRTC, as :func:`compiled`."""
    from cupy.cuda import nvrtc

    with compiled(nvrtc, "NVRTC", source, arch, nvrtc_options(arch)) as program:
        return nvrtc.getCUBIN(program)  # type: ignore[no-any-return]


@functools.cache
def nvrtc_version() -> str:
    """Return the compiler's version."""
    from cupy.cuda import nvrtc

    return ".".join(map(str, nvrtc.getVersion()))
