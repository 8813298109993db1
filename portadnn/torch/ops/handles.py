"""The handles that the operators compute with: one for each backend and device, on PyTorch's current stream."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from portadnn.errors import BadParam, NotSupported
from portadnn.handle import Handle
from portadnn.registry import backend_names, get_backend

_LOCK, _ALONE = threading.Lock(), threading.Lock()
_HANDLES: dict[tuple[str, str, int | None], Handle] = {}
_COLLECTING: list[dict[Handle, list[Any]]] = []  # where problems go, while calls are collected


def handle_for(tensor: torch.Tensor, backend: str) -> Handle:
    """Return the handle that computes with a tensor, where the tensor lies.

    Parameters
    ----------
    tensor
        On a GPU, or in the host's memory.
    backend
        A backend's name, or that and a device's number, as ``"opencl:1"``. ``"auto"`` is cuda (hip, where torch is
        built for ROCm) for tensors on GPUs, and for others OpenCL on the CPU, or else the reference.

    Raises
    ------
    BadParam
        An unknown backend, or one that does not compute in the tensor's memory.
    NotSupported
        The backend does not work on this machine, or tensors of that kind of device have none.
    """
    device = tensor.device
    key = (backend, device.type, device.index)
    handle = _HANDLES.get(key)
    if handle is None or handle._device is None:  # a forked child has lost it
        with _LOCK:
            handle = _HANDLES.get(key)
            if handle is None or handle._device is None:
                handle = _HANDLES[key] = _open(backend, device)
    if _COLLECTING and handle.collector is None:
        handle.lock.acquire()
        handle.collector = _COLLECTING[0][handle] = []
    return handle


@contextmanager
def collecting() -> Iterator[dict[Handle, list[Any]]]:
    """Compute nothing: note the problems of this thread's calls, by handle; those of other threads wait."""
    with _ALONE:
        found: dict[Handle, list[Any]] = {}
        _COLLECTING.append(found)
        try:
            yield found
        finally:
            _COLLECTING.clear()
            for handle in found:
                handle.collector = None
                handle.lock.release()


def check_backend(backend: str) -> str:
    """Demand a backend's name, without opening it."""
    name = backend.partition(":")[0] if isinstance(backend, str) else backend
    if name != "auto" and name not in backend_names():
        raise BadParam(argument="backend", expected=f"auto or one of {', '.join(backend_names())}", got=str(backend))
    return backend


def _open(backend: str, device: torch.device) -> Handle:
    check_backend(backend)
    name, _, number = backend.partition(":")
    if number and not number.isdecimal():
        raise BadParam(argument="backend", expected="a device's number behind the colon", got=backend)
    if device.type == "cuda":
        return _on_gpu(name, device)
    if device.type != "cpu":
        raise NotSupported(argument="backend", expected="tensors on cuda or cpu", got=str(device))
    if name == "auto":
        return _on_cpu()
    handle = Handle(name, int(number) if number else _first_cpu(name))
    if handle.device.host_memory or handle.info.kind == "cpu":
        return handle
    info = handle.info.name
    handle.close()
    raise BadParam(argument="backend", expected="one that computes in the host's memory", got=f"{backend} ({info})")


def _on_gpu(name: str, device: torch.device) -> Handle:
    gpu = "hip" if torch.version.hip else "cuda"
    chosen = gpu if name == "auto" else name
    if chosen in ("reference", "opencl"):
        expected = f"{gpu} for tensors on {device}: they are not copied (pass tensor.cpu() to compute on the CPU)"
        raise BadParam(argument="backend", expected=expected, got=name)
    return Handle(chosen, device.index or 0, stream="torch")


def _on_cpu() -> Handle:
    number = _first_cpu("opencl")
    if number is not None:
        return Handle("opencl", number)
    return Handle("reference")


def _first_cpu(name: str) -> int | None:
    """Return the number of a backend's first CPU, or None."""
    chosen = get_backend(name)
    if chosen.why_unavailable() is not None:
        return None
    return next((i for i, info in enumerate(chosen.devices()) if info.kind == "cpu"), None)
