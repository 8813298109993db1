"""Find and Get results that detect reads of fields the library lacks (rules S11 and S12)."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, SupportsIndex

from ..enums import Status
from ..hooks import Call
from .calls import handle_of, role_of
from .checks import Check

_OURS = str(Path(__file__).parent.parent)
_NAMES = {"determinism": "deterministic", "mathType": "math_type"}  # cuDNN's names of portadnn's fields
_INSTEAD = {
    "status": "leave it out: only algorithms that succeeded are returned there",
    "deterministic": "leave it out; MIOpen 2.16 and later have an attribute of convolutions for it",
}


def succeeded(result: Any) -> Iterator[Any]:
    """Iterate over the results of algorithms that succeeded."""
    if isinstance(result, tuple) and len(result) == 2:
        result = result[1]
    for perf in result if isinstance(result, list) else ():
        if _fields(_class_of(perf)) and object.__getattribute__(perf, "status") == Status.SUCCESS:
            yield perf


def _class_of(value: Any) -> Any:
    return type(value)


@functools.cache
def _fields(kind: Any) -> frozenset[str]:
    """Return the fields of a result class; none for other classes."""
    names: Any = getattr(kind, "__dataclass_fields__", None) or getattr(kind, "_fields", ())
    return frozenset(names) if {"algo", "status", "memory"} <= set(names) else frozenset()


class Results(Check):
    """Check that gives programs results which report reads."""

    def after(self, call: Call) -> None:
        if call.parent is not None or call.error is not None or handle_of(call) is not self.watch.handle:
            return
        if role_of(call.library, call.function) not in ("find", "find_ex", "get"):
            return
        result = call.result
        if isinstance(result, list):
            call.result = self._watched(result, call)
        elif isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], list):  # C's count before them
            perfs = self._watched(result[1], call)
            call.result = perfs.count_there if isinstance(perfs, _Results) else result[0], perfs

    def _watched(self, perfs: list[Any], call: Call) -> Any:
        count = sum(1 for _ in succeeded(perfs))
        if perfs and not _fields(_class_of(perfs[0])):
            return perfs  # MIOpen's own: what is not there cannot be read

        def report(rule: str, site: tuple[str, int], **words: Any) -> None:
            self.watch.report(rule, call, words, site)

        return _Results([_copy(perf, report, self.profile.fields) for perf in perfs], report, count)


class _Results(list[Any]):
    """List of results, of which the library would return the first `count`."""

    def __init__(self, perfs: list[Any], report: Any, count: int) -> None:
        super().__init__(perfs)
        self._report, self.count_there = report, count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, SupportsIndex) and int(index) >= self.count_there:
            site = _reader()
            if site is not None:
                self._report("S11", site, index=int(index), count=self.count_there)
        return super().__getitem__(index)

    def __reduce__(self) -> Any:  # copies and pickles are plain again
        return list, (list(self),)


def _reader() -> tuple[str, int] | None:
    """Return the program's line that reads a result; None inside portadnn."""
    frame = sys._getframe(2)
    file = frame.f_code.co_filename
    return None if file.startswith((_OURS, "<")) else (file, frame.f_lineno)


@functools.cache
def _watched_class(kind: Any) -> Any:
    """Return a subclass of a result's class whose fields report reads."""

    def read(self: Any, name: str) -> Any:
        if name in _fields(kind):
            report, known, _ = object.__getattribute__(self, "_told")
            field = _NAMES.get(name, name)
            if field not in known:
                site = _reader()
                if site is not None:
                    instead = _INSTEAD.get(field, "leave it out")
                    report("S12", site, field=name, fields=", ".join(known), instead=instead)
        return object.__getattribute__(self, name)

    def reduce(self: Any, _: int) -> Any:
        return _itself, (object.__getattribute__(self, "_told")[2],)

    members = {"__getattribute__": read, "__reduce_ex__": reduce, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind,), members)


def _itself(perf: Any) -> Any:
    return perf


def _copy(perf: Any, report: Any, known: tuple[str, ...]) -> Any:
    """Return a copy of a result that reports reads of fields the library lacks."""
    kind = _watched_class(_class_of(perf))
    if isinstance(perf, tuple):
        copy = tuple.__new__(kind, perf)
    else:
        copy = object.__new__(kind)
        copy.__dict__.update(perf.__dict__)
    copy.__dict__["_told"] = (report, known, perf)
    return copy
