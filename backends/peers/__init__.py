"""The exchange of statistics among the ranks of a computation: through peer memory, or over the host."""

from __future__ import annotations

from ..device import Device
from .host import HostExchange
from .kernel import KernelExchange
from .size import ExchangeSize, patience, rank_of

__all__ = ["ExchangeSize", "HostExchange", "KernelExchange", "exchange_on", "patience", "rank_of"]


def exchange_on(device: Device, size: ExchangeSize) -> HostExchange | KernelExchange:
    """Return the exchange that a device's ranks make: kernels where these reach other devices' memory."""
    made = KernelExchange if "peer_memory" in device.info.features else HostExchange
    return made(device, size)
