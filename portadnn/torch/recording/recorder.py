"""The recorder of PyTorch programs: what a :class:`~portadnn.torch.recording.watching.Watch` sees, in a file."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ...errors import BadParam
from ...handle import log
from .computation import Tensor
from .lines import Lines
from .seen import NOTHING, Kept, Pattern, look_up, pattern_of, remember
from .watching import Call, Made, Watch

_STORAGES = 64  # new ones, before those that are gone are forgotten: what is left of them keeps memory in pieces
_thread = threading.get_ident
_storage: Any = torch._C._storage_address


class Recorder(Watch):
    """Writes the calls of a PyTorch program that cuDNN has operations for to a file, as problems.

    A context manager; made by :func:`portadnn.torch.record`.

    Attributes
    ----------
    path : str
        The file.
    counts, posed : Counter
        Calls by kind, and those of them that became problems.
    left : Counter of (str, str, str)
        The others: kind, function and reason.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self._leaves: list[Tensor] = []  # of the operator that is being translated
        self._pattern: Pattern | None = None  # what it has become; None where that is of no use to others
        self._storages: dict[int, list[Any]] = {}  # a weak reference, and the version that was written last
        self._new_storages = 0
        self._threads: dict[int, int] = {}
        self.path = self._wanted = os.fspath(path)
        self._lines = self._new()

    def _new(self) -> Lines:
        """Return a file, which knows nothing of what another has."""
        return Lines(self._wanted, self._failed, super().count)

    def _failed(self, error: OSError) -> None:
        log.warning("the recording %s ends here: %s", self.path, error)

    def __enter__(self) -> Recorder:
        lines = self._new()
        try:
            lines.open()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            wanted = "a file that can be written"
            raise BadParam(argument="path", expected=wanted, got=f"{self._wanted}: {why}") from error
        self._lines = lines
        self.path = lines.path
        for counted in (self._counts, self._posed, self._left):
            counted.clear()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._lines.close()
        self._storages.clear()

    def settle(self) -> None:
        """Count the calls that are not written yet."""
        self._lines.drain()

    # calls

    def operator(self, func: Any, args: Any, kwargs: Any, out: Any, call: Call) -> None:
        """Keep a call of an operator as what the last of its kind was, or translate it."""
        told = look_up(func, args, kwargs, out)
        if told is None:
            super().operator(func, args, kwargs, out, call)
            return
        pattern = told.pattern
        if pattern is None:
            self._leaves, self._pattern = told.leaves, NOTHING
            super().operator(func, args, kwargs, out, call)
            self._leaves = []
            if self._pattern is not None:
                remember(told.key, self._pattern)
        elif pattern is not NOTHING:
            self._keep(call, pattern, told.leaves, told.addresses)

    def made(self, call: Made) -> None:
        """Keep a call that was translated."""
        pattern, leaves = pattern_of(call, self._leaves)
        self._pattern = pattern if pattern.repeats(len(self._leaves)) else None
        place = Call(call.module, call.site, call.start, call.seconds)
        self._keep(place, pattern, leaves, [leaf.data_ptr() for leaf in leaves] if pattern.problems else [])

    def count(self, kind: str, function: str, why_not: str) -> None:
        """Leave counting to those who write the calls."""

    def _keep(self, call: Call, pattern: Pattern, leaves: Sequence[Tensor], addresses: list[int]) -> None:
        """Keep what a call's lines need, and nothing of its memory."""
        fresh = self._fresh(pattern, leaves) if pattern.touched else ()
        thread = self._threads.get(_thread())
        if thread is None:
            thread = self._threads[_thread()] = threading.get_native_id()
        self._lines.queue.append(Kept(call, pattern, addresses, fresh, thread))

    def _fresh(self, pattern: Pattern, leaves: Sequence[Tensor]) -> list[tuple[int, int, int]]:
        """Return the memory whose contents come from elsewhere: which problem's, from where on, and its bytes."""
        found, known = [], self._storages
        for number, leaf, written in pattern.touched:
            tensor = leaves[leaf]
            place = _storage(tensor)
            version = 0 if tensor.is_inference() else tensor._version
            if written:
                version += pattern.in_place
            last = known.get(place)
            if last is None:
                self._remember(tensor.untyped_storage(), place, version)
                known = self._storages
            elif last[1] != version:
                last[1] = version
            else:
                continue
            if last is None or not written:
                storage = tensor.untyped_storage()
                found.append((number, storage.data_ptr(), storage.nbytes()))
        return found

    def _remember(self, storage: Any, place: int, version: int) -> None:
        self._new_storages += 1
        if self._new_storages >= _STORAGES:
            self._new_storages = 0
            self._storages = {key: known for key, known in self._storages.items() if not known[0].expired()}
        self._storages[place] = [StorageWeakRef(storage), version]


def shares(counts: Counter[str], posed: Counter[str]) -> dict[str, tuple[int, int]]:
    """Return calls and those that became problems by kind."""
    return {kind: (posed[kind], count) for kind, count in sorted(counts.items())}


__all__ = ["Recorder", "shares"]
