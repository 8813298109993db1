"""The kernel texts that AMD GPUs meet through the backend hip, and clang in hiprtc's place."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from small_problems import LINES
from source_recorder import SourceRecorder, differing

from amd_isa import clang
from portadnn_backends.base import DeviceInfo
from portadnn_backends.hip.devices import FEATURES

TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")
FUNCTIONS = (Path(__file__).parent / "hip_functions.h").read_text(encoding="utf-8") + '#line 1 "portadnn.hip"\n'


def compile(source: str, target: str) -> Path:
    """Return the file of a source's machine code; see :func:`clang.compile`."""
    return clang.compile(FUNCTIONS + source, target, "hip")


def check(sources: Sequence[str], target: str) -> None:
    """Have the compiler's front end read sources; see :func:`clang.check`."""
    clang.check([FUNCTIONS + source for source in sources], target)


def persona(target: str) -> DeviceInfo:
    """Return an AMD GPU as the backend hip describes it, without its matrix cores."""
    return DeviceInfo(
        backend="hip",
        name="",
        vendor="AMD",
        kind="gpu",
        driver="",
        version="",
        schedule="gpu",
        compute_units=60,
        simd_width=64 if target in clang.CDNA else 32,
        max_work_group=1024,
        local_memory=64 << 10,
        global_memory=16 << 30,
        max_allocation=16 << 30,
        arch=target,
        features=FEATURES,
    )


@functools.cache
def recorded(wave: int) -> SourceRecorder:
    """Return a recorder that every engine prepared every small problem on, as a GPU with waves of 32 or 64 lanes."""
    return SourceRecorder(persona("gfx942" if wave == 64 else "gfx1100")).record(LINES)


@functools.cache
def texts(target: str) -> tuple[tuple[str, str, str], ...]:
    """Return sources with distinct branches for a target, each with a kernel's name and the problem's line."""
    return tuple(differing(recorded(64 if target in clang.CDNA else 32), set()))
