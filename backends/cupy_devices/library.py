"""CuPy, and which GPUs its build reaches."""

from __future__ import annotations

import functools
from typing import Any

from portadnn import forking

from .. import kernel_cache
from ..base import DeviceInfo
from ..libraries import imported


@functools.cache
def cupy() -> Any:
    """Return CuPy.

    Raises
    ------
    ImportError
        It is missing or broken.
    """
    with kernel_cache.cupy_folder():
        module = imported("cupy")
    if getattr(module, "is_stand_in", False):
        raise ImportError("portadnn.cupy_compat's stand-in has its place")

    return module


def why_unavailable(backend: str, vendor: str) -> str | None:
    """Return None when CuPy is a build for ``"cuda"`` or ``"hip"``, as asked, and finds a GPU; else the reason."""
    try:
        runtime = cupy().cuda.runtime
    except ImportError as error:
        first_line = (str(error).strip() or "ImportError").splitlines()[0]
        return f"CuPy cannot be imported ({first_line})"
    if runtime.is_hip != (backend == "hip"):
        return f"CuPy is a build for {'ROCm' if runtime.is_hip else 'CUDA'}"
    forking.check(backend)
    try:
        if not runtime.getDeviceCount():
            return f"there is no {vendor} GPU"
        forking.started(backend)
        return None
    except runtime.CUDARuntimeError as error:
        return f"the {backend.upper()} driver does not answer ({error})"


def gpu_info(backend: str, properties: dict[str, Any], **more: Any) -> DeviceInfo:
    """Return what is known of a GPU: what `more` says, and what CuPy's properties of it say for CUDA and HIP alike."""
    return DeviceInfo(
        backend=backend,
        name=properties["name"].decode(),
        kind="gpu",
        driver=str(cupy().cuda.runtime.driverGetVersion()),
        schedule="gpu",
        compute_units=properties["multiProcessorCount"],
        simd_width=properties["warpSize"],
        max_work_group=properties["maxThreadsPerBlock"],
        local_memory=properties["sharedMemPerBlock"],
        global_memory=properties["totalGlobalMem"],
        max_allocation=properties["totalGlobalMem"],
        fp64=True,
        **more,
    )
