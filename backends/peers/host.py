"""Ranks that are threads of one process exchange statistics over the host, whatever their devices and backends are."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from portadnn.errors import BadParam, ExecutionFailed

from ..device import Device
from ..peer_buffers import HostPeer
from .size import ExchangeSize, patience


class HostExchange:
    """An exchange for which every rank has a thread of its own; it returns once all ranks have come.

    Attributes
    ----------
    recordable : bool
        Whether a recorder of the device sees all that it does.
    """

    recordable = False

    def __init__(self, device: Device, size: ExchangeSize) -> None:
        self._device = device
        self._size = size

    def __call__(self, rank: int, own: Sequence[Any], gathered: Sequence[Any], peers: Sequence[HostPeer]) -> None:
        """Bring the arrays of `own`; fill two of `gathered` in the order of the ranks, and the third with counts.

        Raises
        ------
        BadParam
            Two peer buffers are one, two ranks have one number, or ranks bring different sizes.
        ExecutionFailed
            A rank has not come in time.
        """
        device, size = self._device, self._size
        keys = tuple(peer.key for peer in peers)
        if len(set(keys)) < len(keys):
            raise BadParam(argument="peer_stats", expected="a buffer for each rank", got="one buffer for two of them")
        content = tuple(np.ascontiguousarray(device.to_numpy(array)) for array in own)
        brought = _meet(keys, rank, (size, content))
        for place, (other, _) in enumerate(brought):
            if other != size:
                raise BadParam(
                    argument="peer_stats",
                    expected=f"the same sizes on all ranks: {size.numbers} channels of {size.count} elements",
                    got=f"{other.numbers} of {other.count} on rank {place}",
                )
        for which in range(2):
            whole = np.concatenate([arrays[which].reshape(-1) for _, arrays in brought])
            device.write_bytes(gathered[which], whole.view(np.uint8))
        counts = np.full(size.ranks, size.count, size.dtype.storage)
        device.write_bytes(gathered[2], counts.view(np.uint8))


class _Meeting:
    """Where ranks meet again and again; each round has a dict of its own.

    Attributes
    ----------
    users : int
        Ranks that are here.
    """

    def __init__(self) -> None:
        self.users = 0
        self.changed = threading.Condition(_LOCK)
        self.round: dict[int, Any] = {}


_LOCK = threading.Lock()
_MEETINGS: dict[tuple[Hashable, ...], _Meeting] = {}


def _meet(keys: tuple[Hashable, ...], rank: int, content: Any) -> list[Any]:
    """Return what all ranks brought, in their order."""
    ranks, seconds = len(keys), patience()
    with _LOCK:
        meeting = _MEETINGS.setdefault(keys, _Meeting())
        meeting.users += 1
        try:
            brought = meeting.round
            if rank in brought:
                raise BadParam(argument="peer_rank", expected=f"one rank of number {rank}", got="two")
            brought[rank] = content
            if len(brought) == ranks:
                meeting.round = {}
                meeting.changed.notify_all()
            elif not meeting.changed.wait_for(lambda: len(brought) == ranks, seconds):
                del brought[rank]
                missing = sorted(set(range(ranks)) - set(brought) - {rank})
                raise ExecutionFailed(
                    f"rank {rank} of {ranks} has waited {seconds:g} seconds (PORTADNN_PEER_SECONDS) for ranks "
                    f"{missing}: each calls in a thread of its own"
                )
        finally:
            meeting.users -= 1
            if not meeting.users:
                _MEETINGS.pop(keys, None)
    return [brought[place] for place in range(ranks)]
