"""NVRTC, or hiprtc, which CuPy for ROCm binds under the same name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from portadnn.errors import CompileError


@contextmanager
def compiled(nvrtc: Any, compiler: str, source: str, arch: str, options: tuple[str, ...]) -> Iterator[Any]:
    """Yield the program that a compiler of that name makes of a source; needs no GPU.

    Raises
    ------
    CompileError
        With source and log.
    """
    program = nvrtc.createProgram(source, "portadnn.cu", (), ())
    try:
        try:
            nvrtc.compileProgram(program, options)
        except nvrtc.NVRTCError:
            log = nvrtc.getProgramLog(program)
            raise CompileError(f"{compiler} refused a kernel for {arch}", source=source, log=log) from None
        yield program
    finally:
        nvrtc.destroyProgram(program)
