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

from ._version import __version__
from .errors import DnnError
from .handle import Handle
from .registry import backend_names, get_backend

PACKAGES = ("numpy", "pyopencl", "pocl-binary-distribution", "cupy-cuda12x", "cupy-cuda13x", "cupy")
VARIABLES = ("PORTADNN_BACKEND", "PORTADNN_DEVICE", "PORTADNN_SCHEDULE", "PORTADNN_CACHE_DIR")


def collect() -> dict[str, Any]:
    """Return everything that ``portadnn info`` tells."""
    return {
        "portadnn": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": _packages(),
        "environment": {name: os.environ[name] for name in VARIABLES if name in os.environ},
        "default": _default(),
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


def _default() -> str:
    """Say what ``Handle()`` takes, by opening one."""
    try:
        with Handle() as handle:
            return f"{handle.backend}: {handle.info.name}"
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
        "install": backend.install,
        "devices": [{**asdict(device), "features": sorted(device.features)} for device in devices],
    }


def as_json() -> str:
    """Return it as JSON text."""
    return json.dumps(collect(), indent=1) + "\n"


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**10:.0f} KiB"


def show() -> None:
    """Print it as tables."""
    facts = collect()
    console = Console()
    table = Table(title="Devices", title_justify="left")
    for heading in ("backend", "number", "device", "kind", "units", "memory", "platform, driver, version"):
        table.add_column(heading, overflow="fold")
    for backend in facts["backends"]:
        for number, device in enumerate(backend["devices"]):
            versions = [device[key] for key in ("platform", "driver", "version") if device[key]]
            memory = _size(device["global_memory"]) if device["global_memory"] else ""
            row = (device["name"], device["kind"], str(device["compute_units"]), memory, "\n".join(versions))
            table.add_row(backend["name"], str(number), *row)
    console.print(table)

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False)

    for backend in facts["backends"]:
        if not backend["available"]:
            say(f"{backend['name']} is not available: {backend['reason']}")
            if backend["install"]:
                say(f"    to get it: {backend['install']}")
    say(f"Handle() takes {facts['default']}" if "fails" not in facts["default"] else f"Handle() {facts['default']}")
    for name, value in facts["environment"].items():
        say(f"{name}={value}")
    packages = ", ".join(f"{name} {number}" for name, number in facts["packages"].items())
    say(f"portadnn {facts['portadnn']}, Python {facts['python']}, {packages}")
    say(facts["system"])
