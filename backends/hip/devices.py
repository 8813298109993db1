"""The AMD GPUs of this machine, as CuPy for ROCm finds them."""

from __future__ import annotations

import functools

from ..base import DeviceInfo
from ..cupy_devices.library import cupy, gpu_info
from ..cupy_devices.library import why_unavailable as reason
from ..engines.conv.matrix_units import features_of_target
from .compiler import hiprtc_version

FEATURES = frozenset({"shuffle", "atomic64"})
_LANES = 64  # float32 lanes of a compute unit of CDNA, GCN and RDNA


def why_unavailable() -> str | None:
    """Return None when there is a GPU and what it takes, else the reason."""
    missing = reason("hip", "AMD")
    if missing is None:
        try:
            hiprtc_version()
        except RuntimeError as error:  # CuPy's, where it cannot load the library
            return f"ROCm's compiler library hiprtc cannot be used ({error})"
    return missing


def _describe(index: int) -> DeviceInfo:
    runtime = cupy().cuda.runtime
    properties = runtime.getDeviceProperties(index)
    return gpu_info(
        "hip",
        properties,
        vendor="AMD",
        version=f"HIP {runtime.runtimeGetVersion()}, hiprtc {hiprtc_version()}",
        platform="ROCm",
        arch=properties["gcnArchName"].decode(),
        flops=2e3 * properties["clockRate"] * _LANES * properties["multiProcessorCount"],  # clocks are in kHz
        bandwidth=2e3 * properties["memoryClockRate"] * properties["memoryBusWidth"] / 8,
        features=FEATURES | features_of_target(properties["gcnArchName"].decode()),
    )


@functools.cache
def devices() -> tuple[DeviceInfo, ...]:
    """Return what is known of each GPU."""
    return tuple(_describe(index) for index in range(cupy().cuda.runtime.getDeviceCount()))
