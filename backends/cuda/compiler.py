"""NVRTC: from CUDA C++ to machine code. It needs no GPU."""

from __future__ import annotations

import functools

from portadnn.errors import CompileError


def nvrtc_options(arch: str) -> tuple[str, ...]:
    """Return the compiler options for a target such as ``"sm_90"``."""
    return (f"-arch={arch}", "--std=c++17", "-default-device")


def compile_cubin(source: str, arch: str) -> bytes:
    """Compile CUDA C++ to machine code with NVRTC; needs no GPU.

    Raises
    ------
    CompileError
        With source and log.
    """
    from cupy.cuda import nvrtc

    program = nvrtc.createProgram(source, "portadnn.cu", (), ())
    try:
        try:
            nvrtc.compileProgram(program, nvrtc_options(arch))
        except nvrtc.NVRTCError:
            log = nvrtc.getProgramLog(program)
            raise CompileError(f"NVRTC refused a kernel for {arch}", source=source, log=log) from None
        return nvrtc.getCUBIN(program)  # type: ignore[no-any-return]
    finally:
        nvrtc.destroyProgram(program)


@functools.cache
def nvrtc_version() -> str:
    """Return the compiler's version."""
    from cupy.cuda import nvrtc

    return ".".join(map(str, nvrtc.getVersion()))
