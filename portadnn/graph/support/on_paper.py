"""Handles of devices that need not be there: their engines can be asked, and nothing runs."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...finding.found import Found
from ...handle import Handle
from ...registry import get_backend

if TYPE_CHECKING:
    from portadnn_backends.base import DeviceInfo

_GIB = 1 << 30
_CPU: dict[str, Any] = {"kind": "cpu", "schedule": "cpu", "compute_units": 16, "simd_width": 16, "max_work_group": 4096}
_GPU: dict[str, Any] = {"kind": "gpu", "schedule": "gpu", "compute_units": 64, "simd_width": 32, "max_work_group": 1024}
_MEMORY: dict[str, Any] = {"global_memory": 16 * _GIB, "max_allocation": 4 * _GIB, "fp64": True}
DEVICES: dict[str, dict[str, Any]] = {
    "opencl, CPU": {"backend": "opencl", "local_memory": 1 << 20, "features": {"atomic64"}, **_CPU, **_MEMORY},
    "opencl, GPU": {"backend": "opencl", "local_memory": 48 << 10, "features": (), **_GPU, **_MEMORY},
    "cuda": {
        "backend": "cuda",
        "local_memory": 48 << 10,
        "dynamic_memory": 227 << 10,
        "arch": "sm_90",
        "features": {"shuffle", "inline_ptx", "mma"},
        **_GPU,
        **_MEMORY,
    },
    "hip": {
        "backend": "hip",
        "local_memory": 64 << 10,
        "arch": "gfx942",
        "features": {"shuffle", "atomic64"},
        **_GPU,
        **_MEMORY,
        "simd_width": 64,
    },
}


class _PaperDevice:
    """A device of which nothing but its description exists."""

    binds = False

    def __init__(self, info: DeviceInfo) -> None:
        self.info = info

    def owns(self, array: Any) -> bool:
        """Own nothing."""
        return False


class PaperHandle(Handle):
    """A handle that engines can be asked about.

    Parameters
    ----------
    name
        One of :data:`DEVICES`.
    """

    def __init__(self, name: str) -> None:
        facts = dict(DEVICES[name])
        model = get_backend("reference").devices()[0]
        features = frozenset(facts.pop("features"))
        info = replace(model, name=name, vendor="", driver="1", version="", platform="", features=features, **facts)
        self.serial = -1
        self.backend = info.backend
        self._device: Any = _PaperDevice(info)
        self._judge = None
        chosen = get_backend(self.backend)
        self.engines = tuple(chosen.engines())
        self.found = Found(None, lambda: "")
        self.lock = threading.RLock()
        self._start_caches()
