"""``portadnn info``: what is here, what is missing, and what would bring it."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rich.console import Console
from rich.table import Table

from .._io import disk_cache
from .._version import __version__
from ..advice import advice
from ..errors import DnnError
from ..handle import Handle
from ..registry import backend_names, get_backend

PACKAGES = (
    "numpy",
    "pyopencl",
    "pocl-binary-distribution",
    "intel-opencl-rt",
    "intel-cmplr-lib-rt",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "cupy",
    "nvidia-cudnn-cu12",
    "nvidia-cudnn-cu13",
)
VARIABLES = (
    "PORTADNN_BACKEND",
    "PORTADNN_DEVICE",
    "PORTADNN_SCHEDULE",
    "PORTADNN_CACHE_DIR",
    "PORTADNN_CACHE_SIZE",
    "POCL_CACHE_DIR",
    "PORTADNN_FIND_DB",
    "PORTADNN_VENDOR",
    "PORTADNN_TRACE",
    "OCL_ICD_VENDORS",
    "HSA_OVERRIDE_GFX_VERSION",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
)


def collect() -> dict[str, Any]:
    """Return everything that ``portadnn info`` tells."""
    return {
        "portadnn": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": _packages(),
        "environment": {name: os.environ[name] for name in VARIABLES if name in os.environ},
        "default": _default(),
        "kernels": _kernels(),
        "backends": [_backend(name) for name in backend_names()],
    }


def _packages() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _kernels() -> str:
    """Say where compiled kernels are kept."""
    folder = disk_cache.kernel_folder()
    if folder is None:
        return "are not kept on disk"
    fault = disk_cache.unusable(folder)
    if fault is None:
        return f"are kept in {folder}"
    return f"are not kept on disk, and built in a temporary folder: {folder} is not used, because {fault}"


def _default() -> str:
    """Say what ``Handle()`` does, by opening one."""
    try:
        with Handle() as handle:
            return f"takes {handle.backend}: {handle.info.name}"
    except DnnError as error:
        return f"fails: {error}"


def _backend(name: str) -> dict[str, Any]:
    backend = get_backend(name)
    reason = backend.why_unavailable()
    devices = [] if reason is not None else backend.devices()
    return {
        "name": name,
        "available": reason is None,
        "reason": reason,
        "install": None if reason is None else advice(backend),
        "remarks": [] if reason is not None else list(backend.remarks()),
        "devices": [{**asdict(device), "features": sorted(device.features)} for device in devices],
    }


def as_json() -> str:
    """Return it as JSON text."""
    return json.dumps(collect(), indent=1) + "\n"


def _details(device: dict[str, Any]) -> str:
    """Return what is worth knowing of a device, in a few lines."""
    memory = f"{device['global_memory'] / 2**30:.1f} GiB" if device["global_memory"] else ""
    lanes = f"{device['simd_width']} float lanes" if device["simd_width"] > 1 else ""
    types = "" if device["fp64"] else "no float64"
    lines = (
        [device["kind"], f"{device['compute_units']} units", lanes, memory, types, device["arch"]],
        [f"{device['platform']} {device['driver']}".strip()],
        [device["version"]],
    )
    return "\n".join(filter(None, (", ".join(filter(None, line)) for line in lines)))


def show() -> None:
    """Print it as a table, and below it what is missing."""
    facts = collect()
    console = Console()
    table = Table()
    for heading in ("backend", "number", "device"):
        table.add_column(heading)
    table.add_column("details", overflow="fold")
    for backend in facts["backends"]:
        for number, device in enumerate(backend["devices"]):
            table.add_row(backend["name"], str(number), device["name"], _details(device), end_section=True)
    console.print(table)

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    for backend in facts["backends"]:
        for remark in backend["remarks"]:
            say(remark)
        if not backend["available"]:
            say(f"{backend['name']} is not available: {backend['reason']}")
            if backend["install"]:
                say(f"  what brings it: {backend['install']}")
    say(f"Handle() {facts['default']}")
    say(f"Compiled kernels {facts['kernels']}")
    for name, value in facts["environment"].items():
        say(f"{name}={value}")
    packages = ", ".join(f"{name} {number}" for name, number in facts["packages"].items())
    say(f"portadnn {facts['portadnn']}, Python {facts['python']}, {packages}")
    say(facts["system"])
