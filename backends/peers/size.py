"""What an exchange among ranks is about, which rank a device is, and how long it waits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from portadnn.enums import DataType
from portadnn.errors import BadParam, shown

from ..device import Device

_SECONDS = 60.0  # as documented in docs/several-devices.md


@dataclass(frozen=True)
class ExchangeSize:
    """What every rank brings: two arrays of `numbers` numbers, and how many elements they summarise.

    Attributes
    ----------
    count : int
        Elements of a rank that are normalised together: the same on all ranks.
    dtype : DataType
        FLOAT or DOUBLE.
    """

    ranks: int
    numbers: int
    count: int
    dtype: DataType


def patience() -> float:
    """Return the seconds that a rank waits for the others: ``PORTADNN_PEER_SECONDS``, by default 60.

    Raises
    ------
    BadParam
        It is no positive number.
    """
    text = os.environ.get("PORTADNN_PEER_SECONDS") or str(_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 1e6:
        raise BadParam(argument="PORTADNN_PEER_SECONDS", expected="seconds, up to 1e6", got=shown(text))
    return seconds


def rank_of(device: Device, peers: Sequence[Any], stated: int | None) -> int:
    """Return the rank that a device is: the stated one, or that of the only peer buffer that lies on it.

    Raises
    ------
    BadParam
        None is stated, and none or several lie on the device.
    """
    if stated is not None:
        return stated
    own = [rank for rank, peer in enumerate(peers) if device.is_home(peer)]
    if len(own) != 1:
        raise BadParam(
            argument="peer_rank",
            expected=f"a number below {len(peers)}: which peer buffer is this rank's does not follow from its device",
            got=f"None, with buffers {own} on {device.info.name}",
        )
    return own[0]
