"""All programs, and a pair of sides that makes them."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable
from typing import Any

import portadnn as dnn
from portadnn_backends.vendor_cudnn.connection import CupyConnection
from portadnn_backends.vendor_cudnn.library import load

from . import attention, descriptors, fused, integers, layers, normalizations, queries, sequences, tensors
from .judging import Verdict, refused, verdict
from .sides import Answer, Ours, Real, Side, Stop

PROGRAMS: dict[str, Callable[[Side], None]] = {
    **integers.PROGRAMS,
    **tensors.PROGRAMS,
    **sequences.PROGRAMS,
    **attention.PROGRAMS,
    **fused.PROGRAMS,
    **layers.PROGRAMS,
    **normalizations.PROGRAMS,
    **queries.PROGRAMS,
    **descriptors.PROGRAMS,
}
OFTEN = {
    "cudnnConvolutionForward of bytes": 3,
    "cudnnRNN*": 3,
    "cudnnMultiHeadAttn*": 3,
    "callbacks and properties": 1,
    "cudnnFusedOps* CONV_BNSTATS": 1,
    "fresh descriptors": 1,
    "cudnnDestroy* of NULL": 1,
    "descriptors, set and got": 3,
}
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
        ours = self.ours(number, seed, only)
        return ours, self.beside(ours, number, seed, only)

    def ours(self, number: int, seed: int, only: str = "") -> Answer:
        """Make a program with portadnn."""
        drawn, wrong, program = self._drawn(number, seed, only)
        return self._run(Ours(self.handle, drawn, wrong), program)

    def beside(self, ours: Answer, number: int, seed: int, only: str = "") -> Verdict:
        """Make a program with the other side, and compare what it gives with portadnn's answer."""
        drawn, wrong, program = self._drawn(number, seed, only)
        other: Any = self.connection and Real(self.connection, drawn, wrong)
        try:
            theirs = self._run(other or Ours(self.handle, drawn, wrong), program)
            if theirs.status == "ExecutionFailed":  # of an error of CUDA's that an earlier call left
                theirs = self._run(
                    (other and Real(self.connection, drawn, wrong)) or Ours(self.handle, drawn, wrong), program
                )
        except (ArithmeticError, IndexError, MemoryError, ValueError) as error:  # sizes that are none
            return Verdict("deliberate" if refused(ours) else "ended", f"{ours.calls[-1:]}: {error}")
        except Exception as error:  # the context is lost, or the library lacks the function
            self.lost = not isinstance(error, dnn.NotSupported)
            known = refused(ours) or not self.lost
            return Verdict("deliberate" if known else "ended", f"{ours.calls[-1:]}: {error}")
        return verdict(ours, theirs)

    def _drawn(self, number: int, seed: int, only: str) -> tuple[int, bool, Callable[[Side], None]]:
        name = name_of(number, only)
        drawn = zlib.crc32(f"{seed} {number}".encode())
        return drawn, name.startswith(WRONG), PROGRAMS[name.removeprefix(WRONG)]

    def _run(self, side: Side, program: Callable[[Side], None]) -> Answer:
        with contextlib.suppress(Stop):
            program(side)
        return side.close()
