"""Peer memory of CUDA devices: which device memory lies on, and access from another one."""

from __future__ import annotations

import functools
from typing import Any

from portadnn.descriptors import TensorView
from portadnn.errors import BadParam, NotSupported, shown
from portadnn.host_arrays import is_torch
from portadnn.problem import TensorSpec

from ..base import Device
from ..cupy_devices.library import cupy

_ALREADY_ENABLED = 704  # cudaErrorPeerAccessAlreadyEnabled
_ON_DEVICES = (2, 3)  # cudaMemoryTypeDevice, cudaMemoryTypeManaged


def peer_array(device: Device, value: Any, spec: TensorSpec, argument: str) -> Any:
    """Return a peer buffer on whichever device as a CuPy array.

    Raises
    ------
    BadParam
        It is no memory of a CUDA device, or too small.
    """
    if is_torch(value) and value.is_cuda:
        value = cupy().asarray(value.detach())
    wanted = "memory of a CUDA device, which the other ranks reach"
    try:
        array = device.wrap(TensorView(spec, value), argument)
    except BadParam as error:
        raise BadParam(argument=argument, expected=f"{wanted}; {error.expected}", got=error.got) from None
    if device_of(array) is None:
        raise BadParam(argument=argument, expected=wanted, got=shown(value))
    return array


def device_of(array: Any) -> int | None:
    """Return the number of the device that an array's memory lies on; None for the host's."""
    found = cupy().cuda.runtime.pointerGetAttributes(array.data.ptr)
    return int(found.device) if found.type in _ON_DEVICES else None


@functools.cache
def enable(index: int, other: int) -> None:
    """Let kernels of a device reach the memory of another one.

    Raises
    ------
    NotSupported
        They cannot.
    """
    runtime = cupy().cuda.runtime
    if not runtime.deviceCanAccessPeer(index, other):
        raise NotSupported(
            f"CUDA device {index} does not reach the memory of device {other} (cudaDeviceCanAccessPeer)",
            argument="peer_stats",
            expected="devices that are peers; or batch_normalization_statistics and batch_normalization_apply with a "
            "communicator between them",
        )
    with cupy().cuda.Device(index):
        try:
            runtime.deviceEnablePeerAccess(other)
        except runtime.CUDARuntimeError as error:
            if error.status != _ALREADY_ENABLED:
                raise NotSupported(f"CUDA device {index}: {error}", argument="peer_stats") from None
