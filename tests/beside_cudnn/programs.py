"""All programs, and a pair of sides that makes them."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable
from typing import Any

import portadnn as dnn
from portadnn_backends.vendor_cudnn.connection import CupyConnection
from portadnn_backends.vendor_cudnn.library import load

from . import attention, fused, integers, sequences, tensors
from .judging import Verdict, verdict
from .sides import Answer, Ours, Real, Side, Stop

PROGRAMS: dict[str, Callable[[Side], None]] = {
    **integers.PROGRAMS,
    **tensors.PROGRAMS,
    **sequences.PROGRAMS,
    **attention.PROGRAMS,
    **fused.PROGRAMS,
}
OFTEN = {"cudnnConvolutionForward of bytes": 3, "cudnnRNN*": 3, "cudnnMultiHeadAttn*": 3, "callbacks and properties": 1}
WRONG = "wrong calls: "
WRONG_SHARE = 4  # one program in so many has a wrong argument


def _turns() -> list[str]:
    left = {name: OFTEN.get(name, 2) for name in PROGRAMS}
    found = []
    while any(left.values()):
        for name in [name for name, count in left.items() if count]:
            found.append(name)
            left[name] -= 1
    return found


TURNS = _turns()


def name_of(number: int, only: str = "") -> str:
    """Return which program a number makes; every fourth has a wrong argument."""
    turns = [name for name in TURNS if only.removeprefix(WRONG) in name]
    name = turns[number % len(turns)]
    return WRONG + name if number // len(turns) % WRONG_SHARE == WRONG_SHARE - 1 else name


class Pair:
    """portadnn and NVIDIA's library on one GPU.

    Parameters
    ----------
    backend
        portadnn's.
    itself
        portadnn on the second side, too.
    """

    def __init__(self, backend: str = "cuda", itself: bool = False) -> None:
        self.handle, self.lost, self.connection = dnn.Handle(backend), False, None
        if not itself:
            import cupy

            self.connection = CupyConnection(load(), cupy)

    def compare(self, number: int, seed: int, only: str = "") -> tuple[Answer, Verdict]:
        """Make a program on both sides."""
        name = name_of(number, only)
        drawn, wrong = zlib.crc32(f"{seed} {number}".encode()), name.startswith(WRONG)
        program = PROGRAMS[name.removeprefix(WRONG)]
        ours = self._run(Ours(self.handle, drawn, wrong), program)
        other: Any = self.connection and Real(self.connection, drawn, wrong)
        try:
            theirs = self._run(other or Ours(self.handle, drawn, wrong), program)
        except Exception as error:  # the context is lost, or the library lacks the function
            self.lost = not isinstance(error, dnn.NotSupported)
            return ours, Verdict("ended" if self.lost else "deliberate", f"{ours.calls[-1:]}: {error}")
        return ours, verdict(ours, theirs)

    def _run(self, side: Side, program: Callable[[Side], None]) -> Answer:
        with contextlib.suppress(Stop):
            program(side)
        return side.close()
