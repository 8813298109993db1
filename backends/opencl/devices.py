"""OpenCL devices: what there is, and what is known of each."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from portadnn import forking
from portadnn._io import disk_cache

from ..base import DeviceInfo
from ..libraries import imported
from . import byte_products, intel_cpu, matrix_cores, pocl_cache, pocl_cpu

# LLVM names of processors on which PoCL generates 512-bit vectors; on all others 256 bits are the most
_AVX512: tuple[str, ...] = (
    "skylake-avx512",
    "cascadelake",
    "cooperlake",
    "cannonlake",
    "icelake",
    "tigerlake",
)
_AVX512 += ("rocketlake", "sapphirerapids", "emeraldrapids", "graniterapids", "znver4", "znver5")


def _pin_threads() -> None:
    """Ask PoCL to pin its threads, one to a core, before it starts them.

    Left alone, Linux often wakes all of them on one core: 1.0 of two cores measured. Not where the process may not
    use some core, because there PoCL aborts. ``POCL_AFFINITY=0`` turns it off.
    """
    if hasattr(os, "sched_getaffinity") and os.sched_getaffinity(0) == set(range(os.cpu_count() or 0)):
        os.environ.setdefault("POCL_AFFINITY", "1")


@functools.cache
def opencl() -> Any:
    """Return PyOpenCL, imported at the first call.

    Raises
    ------
    ImportError
        It is missing or broken.
    """
    _pin_threads()
    imported("pyopencl.array")
    return imported("pyopencl")


def _simd_width(device: Any) -> int:
    """Return the float32 lanes that the compiler will use.

    PoCL overstates them for processors newer than its LLVM.
    """
    if "PoCL" in device.platform.name or "Portable Computing" in device.platform.name:
        compiled_for = pocl_cpu.llvm_name(device) or device.version
        return 16 if any(name in compiled_for for name in _AVX512) else 8
    return max(int(device.native_vector_width_float), 4)


def build_options(device: Any, info: DeviceInfo) -> str:
    """Return the compiler's options.

    GPUs shall round quotients and roots correctly where they can, as CUDA does: by default OpenCL allows single
    precision 2.5 units in the last place, and NVIDIA's compiler takes that for quotients of doubles, too, that are
    made of floats and rounded to one.
    """
    rounds = device.single_fp_config & opencl().device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    exact = " -cl-fp32-correctly-rounded-divide-sqrt" if rounds and info.kind == "gpu" else ""
    return f"-cl-std=CL1.2 -w{exact}"  # -w: some drivers print what their compilers remark


def _describe(device: Any) -> DeviceInfo:
    cl = opencl()
    extensions = device.extensions.split()
    gpu = bool(device.type & cl.device_type.GPU) and not device.type & cl.device_type.CPU  # simulators are both
    nvidia = "cl_nv_device_attribute_query" in extensions
    arch = f"sm_{device.compute_capability_major_nv}{device.compute_capability_minor_nv}" if nvidia else ""
    if gpu and device.name.startswith("gfx"):  # as AMD's own platform calls them, "gfx942:sramecc+:xnack-"
        arch = device.name.strip()
    simd = _simd_width(device)
    if gpu:
        simd = int(device.warp_size_nv) if nvidia else 32
    lanes = (128 if nvidia else 64) if gpu else 2 * simd  # of a compute unit; CPU cores have two multiply-add units
    flops = 2e6 * max(device.max_clock_frequency, 1000) * lanes * device.max_compute_units
    return DeviceInfo(
        backend="opencl",
        name=device.name.strip(),
        vendor=device.vendor.strip(),
        kind="gpu" if gpu else "cpu",
        driver=device.driver_version,
        version=device.version,
        platform=device.platform.name.strip(),
        schedule="gpu" if gpu else "cpu",
        compute_units=device.max_compute_units,
        simd_width=simd,
        max_work_group=device.max_work_group_size,
        local_memory=device.local_mem_size,
        global_memory=device.global_mem_size,
        max_allocation=device.max_mem_alloc_size,
        fp64=bool(device.double_fp_config),
        arch=arch,
        flops=flops,
        bandwidth=flops / (15 if gpu else 10),  # OpenCL does not tell; usual for their kind
        features=frozenset(
            (["inline_ptx"] if nvidia else [])
            + (["grid_fence"] if nvidia and device.compute_capability_major_nv >= 7 else [])  # as in cuda.py
            + (["atomic64"] if nvidia or "cl_khr_int64_base_atomics" in extensions else [])
        )
        | matrix_cores.features(cl, device, arch, "-cl-std=CL1.2")
        | (frozenset() if gpu else byte_products.features(cl, device, "-cl-std=CL1.2")),
    )


def lacks_linker(platform: Any) -> bool:
    """Tell whether PoCL would abort the process at the first kernel, because it finds no linker in PATH."""
    return "Portable Computing" in platform.name and shutil.which("ld", path=os.environ.get("PATH", "")) is None


def found_devices() -> tuple[tuple[Any, DeviceInfo], ...]:
    """All devices: GPUs before others, Intel's CPU last, else in platform order.

    Raises
    ------
    NotInitialized
        OpenCL was started before this process was forked, and does not work in the child.
    """
    forking.check("opencl")
    return _found_devices()


@functools.cache
def _found_devices() -> tuple[tuple[Any, DeviceInfo], ...]:
    cl = opencl()
    found: list[tuple[Any, DeviceInfo]] = []
    with pocl_cache.starting(), intel_cpu.starting():
        platforms = cl.get_platforms()
        for platform in platforms:
            if lacks_linker(platform):
                continue
            try:
                found += [(device, _describe(device)) for device in platform.get_devices()]
            except cl.Error:  # a platform without devices raises
                continue
    if not any(pocl_cache.is_pocl(info) for _, info in found):
        pocl_cache.not_needed()
    if found:
        forking.started("opencl")
    _leave_pyopencl_cache([info for _, info in found])
    return tuple(sorted(found, key=lambda pair: (pair[1].kind != "gpu", intel_cpu.is_ours(pair[0].platform))))


def _leave_pyopencl_cache(found: Sequence[DeviceInfo]) -> None:
    """Have PyOpenCL do without its database of pickled code in the home folder, as ``PYOPENCL_NO_CACHE=1`` does.

    Where that cannot be written, or is damaged, no kernel could be used. Writing the code again takes no time, and the
    programs of PoCL's devices are not kept there anyway; for others the folder is left as it is, if it is usable.
    """
    if not all(map(pocl_cache.is_pocl, found)):
        base = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111
        if disk_cache.unusable(base) is None:
            return
    opencl()._PYOPENCL_NO_CACHE = True


def why_no_devices() -> str:
    """Return why there is no device, where OpenCL is there."""
    cl = opencl()
    pocl = [platform for platform in cl.get_platforms() if "Portable Computing" in platform.name]
    if any(lacks_linker(platform) for platform in pocl):
        return "PoCL needs the linker `ld` in PATH (Debian and Ubuntu: apt install gcc libc6-dev)"
    if pocl:
        return (
            "PoCL has no folder that it can write kernels to "
            f"({pocl_cache.missing() or 'it was started before portadnn; set POCL_CACHE_DIR'})"
        )
    return "no OpenCL platform has a device"


def remarks() -> tuple[str, ...]:
    """Return what is wrong with runtimes that are installed."""
    said = intel_cpu.remark(platform.name for platform in opencl().get_platforms())
    return (said,) if said else ()
