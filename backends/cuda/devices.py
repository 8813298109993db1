"""The NVIDIA GPUs of this machine, as CuPy finds them."""

from __future__ import annotations

import functools

from ..base import DeviceInfo
from ..cupy_devices.library import cupy, gpu_info
from ..cupy_devices.library import why_unavailable as reason
from .compiler import nvrtc_version


def why_unavailable() -> str | None:
    """Return None when there is a GPU and what it takes, else the reason."""
    return reason("cuda", "NVIDIA")


def features(major: int) -> frozenset[str]:
    """Return what kernels may ask of a GPU with that major compute capability."""
    least = {
        "mma": 8,  # mma.sync of half, bfloat16 and TF32, and cp.async
        "clusters": 9,
        "atomic64": 6,
        "grid_fence": 7,  # acquire and release; every work-item that began goes on
        "early_launches": 9,
        "cooperative": 9,  # of 6, where the driver has cuLaunchKernelEx: backends/cuda/launch.py
        "peer_memory": 7,  # acquire and release among devices (PTX's scope .sys)
    }
    newer = {name for name, generation in least.items() if major >= generation}
    own = {"wgmma"} if major == 9 else set()  # sm_90a: kernels_cuda/common/wgmma.h
    return frozenset({"shuffle", "inline_ptx"} | newer | own)


def _describe(index: int) -> DeviceInfo:
    runtime = cupy().cuda.runtime
    properties = runtime.getDeviceProperties(index)
    clock, memory_clock, bus_width = (runtime.deviceGetAttribute(attribute, index) for attribute in (13, 36, 37))
    lanes = 64 if (properties["major"], properties["minor"]) in ((7, 0), (7, 5), (8, 0)) else 128
    return gpu_info(
        "cuda",
        properties,
        vendor="NVIDIA",
        version=f"CUDA {runtime.runtimeGetVersion()}, NVRTC {nvrtc_version()}",
        platform="CUDA",
        dynamic_memory=runtime.deviceGetAttribute(97, index),  # cudaDevAttrMaxSharedMemoryPerBlockOptin
        arch=f"sm_{properties['major']}{properties['minor']}",
        flops=2e3 * clock * lanes * properties["multiProcessorCount"],  # clocks are in kHz
        bandwidth=2e3 * memory_clock * bus_width / 8,
        features=features(properties["major"]),
    )


@functools.cache
def devices() -> tuple[DeviceInfo, ...]:
    """Return what is known of each GPU."""
    return tuple(_describe(index) for index in range(cupy().cuda.runtime.getDeviceCount()))


def index_of(name: str) -> int | None:
    """Return the number of the first device of that name; None where there is none."""
    if why_unavailable() is not None:
        return None
    return next((index for index, info in enumerate(devices()) if info.name == name), None)
