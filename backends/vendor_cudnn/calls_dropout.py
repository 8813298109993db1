"""cuDNN's legacy calls of dropout.

portadnn's states are 32 bytes: a seed, and how often something was drawn. cuDNN's take megabytes and are a generator's
own, so they are made anew in the workspace for each draw, from seed and draw: the same ones give the same mask again,
which is cuDNN's and no other backend's. The call waits for the states, which the host has to read.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from portadnn.ops.dropout import STATES_SIZE

from .setting import Calls, Makers, Memory, Setting

_WORDS = struct.Struct("<2Q")  # the seed and the draw
_MASK = 2**64 - 1


def mixed(seed: int, draw: int) -> int:
    """Return the seed of one draw: splitmix64 (Steele, Lea, Flood 2014) of a seed's stream."""
    z = (seed + (draw + 1) * 0x9E3779B97F4A7C15) & _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)


def stateless(s: Setting, dropout: float) -> Any:
    """Return a descriptor without states: where nothing is dropped, or only sizes are asked for."""
    return s.descriptor("Dropout", "", s.handle, dropout, None, 0, 0)


def silent(s: Setting, dropout: float) -> Any:
    """Return a descriptor that draws nothing, for gradients: cuDNN wants states of it, and does not look at them."""
    size = s.library.size("cudnnDropoutGetStatesSize", s.handle)
    how = s.descriptor("Dropout")
    restore = s.library.bound("cudnnRestoreDropoutDescriptor", how, s.handle, dropout, s.scratch(size), size, 0)
    s.before.append(lambda device: restore())
    return how


def drawing(s: Setting, dropout: float) -> Any:
    """Return a descriptor whose states are made before each call, from the problem's ``states``."""
    size = s.library.size("cudnnDropoutGetStatesSize", s.handle)
    how, memory, given, seed = s.descriptor("Dropout"), s.scratch(size), s.data("states"), ctypes.c_ulonglong()
    start = s.library.bound("cudnnSetDropoutDescriptor", how, s.handle, dropout, memory, size, seed)

    def draw(device: Memory) -> None:
        known = device.read(given.value, STATES_SIZE)
        first, count = _WORDS.unpack_from(known)
        seed.value = mixed(first, count)
        start()
        device.write(given.value, _WORDS.pack(first, (count + 1) & _MASK) + known[_WORDS.size :])

    s.before.append(draw)
    return how


def _forward(s: Setting) -> Calls:
    p = s.problem
    reserved = s.library.size("cudnnDropoutGetReserveSpaceSize", s.tensor("x"))
    s.least["reserve_space"] = reserved
    args = drawing(s, p.dropout), *s.pairs("x", "y"), s.data("reserve_space"), reserved
    return s.one("cudnnDropoutForward", *args)


def _backward(s: Setting) -> Calls:
    reserved = s.library.size("cudnnDropoutGetReserveSpaceSize", s.tensor("dy"))
    s.least["reserve_space"] = reserved
    args = silent(s, s.problem.dropout), *s.pairs("dy", "dx"), s.data("reserve_space"), reserved
    return s.one("cudnnDropoutBackward", *args)


def _start(s: Setting) -> Calls:
    """Write portadnn's states: no call of cuDNN does it."""
    data, states = _WORDS.pack(s.problem.seed, 0).ljust(STATES_SIZE, b"\0"), s.data("states")
    s.before.append(lambda device: device.write(states.value, data))
    return {}


CALLS: Makers = {
    "dropout_backward": _backward,
    "dropout_forward": _forward,
    "set_dropout_descriptor": _start,
}
