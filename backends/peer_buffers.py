"""Peer buffers: memory by which the ranks of one computation find each other."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from portadnn.descriptors import TensorView
from portadnn.errors import BadParam, shown


@dataclass(frozen=True)
class HostPeer:
    """A rank's peer buffer, which only says who meets whom.

    Attributes
    ----------
    key : hashable
        The same for the same memory.
    home : bool
        Whether it is known to belong to the device that asked.
    """

    key: Hashable
    home: bool = False


def peer_key(value: Any, argument: str) -> Hashable:
    """Return what tells memory from other memory.

    Raises
    ------
    BadParam
        It is no array or buffer.
    """
    if isinstance(value, TensorView):
        return peer_key(value.base, argument), value.offset
    if type(value) is int and value > 0:
        return "address", value
    if hasattr(value, "base_data"):  # a pyopencl Array
        return "opencl", value.base_data.int_ptr, int(value.offset)
    if hasattr(value, "int_ptr"):
        return "opencl", value.int_ptr, 0
    for name in ("__array_interface__", "__cuda_array_interface__"):
        if not isinstance(value, type) and hasattr(value, name):
            return "address", getattr(value, name)["data"][0]
    if hasattr(value, "data_ptr"):
        return "address", value.data_ptr()
    raise BadParam(argument=argument, expected="an array or a buffer", got=shown(value))
