"""The device that a handle opens: what a program asks for, or the environment."""

from __future__ import annotations

import os
from typing import Literal

from .enums import plain_number
from .errors import BadParam, NotSupported, shown
from .registry import backend_names, get_backend


def chosen_device(backend: str, device: int | None) -> tuple[str, int]:
    """Return the name of a backend and the number of its device, as asked for or as the environment says."""
    if not isinstance(backend, str):
        raise BadParam(argument="backend", expected="a backend's name", got=shown(backend))
    backend = str.__str__(backend)
    if backend == "auto":
        backend = os.environ.get("PORTADNN_BACKEND") or "auto"
    number = _device_from_environment() if device is None else plain_number(device)
    if number is None:
        raise BadParam(argument="device", expected="a device number", got=shown(device))
    if backend != "auto":
        return backend, number
    for name in ("cuda", "hip", "opencl", "reference"):  # opencl lists its GPUs first
        if name in backend_names() and get_backend(name).why_unavailable() is None:
            return name, number
    raise NotSupported("no backend is available on this machine")


def _device_from_environment() -> int:
    text = os.environ.get("PORTADNN_DEVICE") or "0"
    if not text.isdecimal() or len(text) > 9:
        raise BadParam(argument="PORTADNN_DEVICE", expected="a device number", got=shown(text))
    return int(text)


def chosen_schedule() -> Literal["gpu", "cpu"] | None:
    """Return the shape of kernels that ``PORTADNN_SCHEDULE`` asks for, if any."""
    text = os.environ.get("PORTADNN_SCHEDULE") or None
    if text == "gpu":
        return "gpu"
    if text == "cpu":
        return "cpu"
    if text is None:
        return None
    raise BadParam(argument="PORTADNN_SCHEDULE", expected="gpu or cpu", got=shown(text))
