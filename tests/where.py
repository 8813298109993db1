"""Which backends the tests of the core use, handles on them, and memory there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portadnn as dnn
from portadnn.registry import default_backend_names, get_backend

_CHOSEN = os.environ.get("PORTADNN_TEST_BACKENDS")
ALL = os.environ.get("PORTADNN_TEST_ALL") == "1"  # as `make test-all` has it
BACKENDS = default_backend_names() if _CHOSEN is None else tuple(filter(None, _CHOSEN.replace(" ", "").split(",")))


def among(*names: str) -> list[Any]:
    """Return those of these backends that are to be tested, for parametrize; one skip where none is."""
    found: list[Any] = [name for name in names if name in BACKENDS]
    reason = f"none of {', '.join(names)} is among the backends to be tested"
    return found or [pytest.param(names[0], marks=pytest.mark.skip(reason=reason))]


def open_handle(backend: str, *, optimised: bool = False, **options) -> dnn.Handle:
    """Return a new handle on a backend, or skip the test where it does not work (conftest fails if it must).

    On CPUs, OpenCL's compiler leaves its optimiser out if not `optimised`.
    """
    reason = get_backend(backend).why_unavailable()
    if reason is not None:
        pytest.skip(f"backend {backend}: {reason}")
    handle = dnn.Handle(backend, **options)
    return with_optimiser(handle) if optimised else handle


_NO_OPTIMISER = " -cl-opt-disable"


def leave_optimiser_out() -> None:
    """Have OpenCL's compiler for CPUs leave its optimiser out in this process, which takes a third of its time.

    It does for every handle that is opened from now on, also by programs that are tested; see `with_optimiser`.
    """
    from portadnn_backends.opencl import compiler, devices

    def options(device: Any, info: Any) -> str:
        return devices.build_options(device, info) + (_NO_OPTIMISER if info.kind == "cpu" else "")

    compiler.build_options = options


def link_quickly() -> None:
    """Have PoCL, here and in programs that tests start, link kernels by `linker/ld`, in a third of the time."""
    folder, linker = Path(__file__).parent / "linker", shutil.which("ld")
    if linker and os.access(folder / "ld", os.X_OK) and Path(linker).parent != folder:
        os.environ["PORTADNN_TEST_LINKER"] = linker
        os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"


def with_optimiser(handle: dnn.Handle) -> dnn.Handle:
    """Have OpenCL's compiler optimise, as it does for users; return the handle."""
    compiler = getattr(handle.device, "compiler", None)
    if handle.backend == "opencl" and compiler is not None:
        compiler.options = compiler.options.replace(_NO_OPTIMISER, "")
    return handle


def scratch(handle: dnn.Handle, nbytes: int) -> Any:
    """Return a workspace of `nbytes` as a user would pass it, of exactly that size; None where none is needed."""
    if not nbytes:
        return None
    if handle.backend == "cuda":  # a MemoryPointer knows its block of CuPy's pool, which is larger
        import cupy

        return cupy.empty(nbytes, np.uint8)
    return handle.device.workspace(nbytes)
