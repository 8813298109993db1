"""Ranks exchange statistics through each other's memory, by a kernel: no host stands in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from portadnn.enums import DataType
from portadnn.errors import BadParam

from ..device import Device, LaunchRun
from ..launch import ConstantArg, Launch, TensorArg
from ..parameters import bind, declare, number, tensor
from .size import ExchangeSize, patience

_WG = 128
_MOST_GROUPS = 16  # work-groups that wait: few, so that other ranks of the device find room
_STORED = {DataType.FLOAT: np.float32, DataType.DOUBLE: np.float64}


class KernelExchange:
    """An exchange that is one launch, which waits on the device.

    Attributes
    ----------
    recordable : bool
        Whether a recorder of the device sees all that it does.
    """

    recordable = True

    def __init__(self, device: Device, size: ExchangeSize) -> None:
        self._device = device
        self._size = size
        self._runs: dict[int, LaunchRun] = {}

    def __call__(self, rank: int, own: Sequence[Any], gathered: Sequence[Any], peers: Sequence[Any]) -> None:
        """Bring the arrays of `own`; fill two of `gathered` in the order of the ranks, and the third with counts.

        Raises
        ------
        BadParam
            Two peer buffers are one.
        NotSupported
            The device does not reach the memory of one.
        """
        device = self._device
        addresses = {device.address(peer) for peer in peers}
        if len(addresses) < len(peers):
            raise BadParam(argument="peer_stats", expected="a buffer for each rank", got="one buffer for two of them")
        for peer in peers:
            device.reach(peer)
        if rank not in self._runs:
            self._runs[rank] = device.bind((self._launch(rank),))
        self._runs[rank]([*own, *gathered, *peers], (), None)

    def _launch(self, rank: int) -> Launch:
        size, real = self._size, _STORED[self._size.dtype]
        names = ("first", "second", "first_all", "second_all", "counts")
        peers = [f"peer{i}" for i in range(size.ranks)]
        given = [tensor("real", name, TensorArg(i)) for i, name in enumerate((*names, *peers))]
        given += [
            number("int", "rank", ConstantArg(np.int32(rank))),
            number("real", "count", ConstantArg(real(size.count))),
            number("u64", "patience", ConstantArg(np.uint64(patience() * 1e9))),
        ]
        defines: dict[str, int | float | str] = {
            f"DTYPE_{size.dtype.name}": 1,
            "REAL_BYTES": size.dtype.itemsize,
            "WG": _WG,
            "RANKS": size.ranks,
            "NUMBERS": f"{size.numbers}u",
            "PEERS": ", ".join(peers),
        }
        kernel = self._device.compile("cuda/norm/exchange.cu", "norm_exchange", {**defines, **declare(given)})
        groups = min(-(-2 * size.numbers // _WG), _MOST_GROUPS)
        return Launch(kernel, (groups,), (_WG,), bind(given))
