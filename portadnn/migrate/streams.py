"""Logs and recordings, judged call by call, in memory that does not grow with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from ..errors import DnnError
from .collect import Collector
from .coverage import Coverage
from .events import Argument, Event
from .files.discover import Found
from .findings import Finding
from .logs import Summary, follow
from .model.listener import Listener
from .model.state import Deed, State
from .program import Skipped
from .recordings import follow_recording
from .report import Call, Checked
from .rules.engine import Judge
from .rules.table import Rule

Progress = Callable[[str, int, int], None]
"""Told what is done now, how much of it is done, and how much there is in all (0: not known)."""
LONGEST = 2**20  # bytes of a line that are kept, at least
PIECE = 2**18  # bytes that are read at once
ALIKE = 8  # calls just like each other that are judged; the others are only counted
KEYS = 2**16  # different calls that are remembered
WAITING = 4096  # findings that wait for the end of a log
_ADDRESS = re.compile(r"\b(?:0x)?[0-9a-fA-F]{6,}\b")


@dataclass
class Judged:
    """What a log or a recording gave."""

    name: str
    findings: list[Finding] = field(default_factory=list)
    repeats: dict[tuple[str, str, int, int, str], int] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    ported: list[Call] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)
    checked: Checked | None = None
    skipped: list[Skipped] = field(default_factory=list)


class LogJudge(Judge):
    """Keeps a finding once, however often a log has it: the first time, and how often it came again."""

    def __init__(self, target: str, table: Mapping[str, Rule]) -> None:
        super().__init__(target, whole=True, table=table)
        self._first: dict[tuple[str, ...], tuple[object, ...]] = {}
        self._again: dict[tuple[str, ...], int] = {}
        self._judged: dict[object, int] = {}  # how often a call was judged
        self._told: dict[object, set[tuple[str, ...]]] = {}  # what its findings are
        self._call: object = None

    def call(self, event: Event, state: State, journal: Mapping[int, Deed]) -> None:
        """Judge a call, unless one just like it was judged often enough."""
        self._call = key = (event.function, event.status, tuple(_seen(argument) for argument in event.arguments))
        times = self._judged.get(key, 0)
        if times >= ALIKE:
            for alike in self._told.get(key, ()):
                self._again[alike] = self._again.get(alike, 0) + 1
            return
        if len(self._judged) < KEYS:
            self._judged[key] = times + 1
        super().call(event, state, journal)
        if len(self._waiting) > WAITING:
            self._waiting = list({_alike(finding): (finding, hit) for finding, hit in self._waiting}.values())

    def finish(self, state: State, journal: Mapping[int, Deed]) -> None:
        """Judge what can be told only at the end."""
        self._call = None
        super().finish(state, journal)

    def _add(self, finding: Finding) -> None:
        alike = _alike(finding)
        if self._call in self._judged:
            self._told.setdefault(self._call, set()).add(alike)
        if alike not in self._first:
            self._first[alike] = finding.key
            super()._add(finding)
        else:
            self._again[alike] = self._again.get(alike, 0) + 1

    @property
    def repeats(self) -> dict[tuple[str, str, int, int, str], int]:
        """How often findings came again."""
        return {self._first[alike]: times for alike, times in self._again.items()}  # type: ignore[misc]


def _seen(argument: Argument) -> object:
    """Return what two arguments have in common that are alike: addresses may differ."""
    value = argument.value
    return value.data if value.kind in ("known", "thing") else value.kind


def _alike(finding: Finding) -> tuple[str, ...]:
    return (finding.rule, finding.certainty, finding.function, _ADDRESS.sub("", finding.message))


def judge_log(found: Found, target: str, table: Mapping[str, Rule], progress: Progress) -> Judged:
    """Judge a log as it comes."""

    def read(listeners: list[Listener]) -> Summary:
        with found.open() as stream:
            return follow(
                lines(stream),
                found.shown,
                listeners,
                progress=lambda number: progress(f"reading {found.shown}", number, 0),
            )

    return _judged(found, target, table, read)


def judge_recording(found: Found, target: str, table: Mapping[str, Rule]) -> Judged:
    """Judge a recording of portadnn."""
    if found.path is None:
        return Judged(found.shown, skipped=[Skipped(found.shown, "a recording has to be in a file")])
    path = found.path
    return _judged(found, target, table, lambda listeners: follow_recording(path, found.shown, listeners))


def _judged(source: Found, target: str, table: Mapping[str, Rule], read: Callable[[list[Listener]], Summary]) -> Judged:
    name = source.shown
    judge, collector = LogJudge(target, table), Collector(target, by_place=False)
    found = Judged(name)
    try:
        summary = read([judge, collector])
        found.skipped += [Skipped(name, "the record of a call is cut off", line) for line in summary.cut]
        found.checked = Checked(name, source.kind, summary.lines)
        if not summary.calls:
            found.skipped.append(Skipped(name, f"the {source.kind} has no calls of cuDNN or MIOpen"))
    except OSError as error:
        found.skipped.append(Skipped(name, error.strerror or str(error)))
    except DnnError as error:
        found.skipped.append(Skipped(name, str(error)))
    except Exception as error:  # other files are to be checked in any case
        found.skipped.append(Skipped(name, f"not read to its end: {type(error).__name__}: {error}"))
    found.findings, found.repeats = judge.findings, judge.repeats
    found.calls, found.ported, found.coverage = collector.calls, collector.ported, collector.coverage
    return found


def lines(stream: BinaryIO) -> Iterator[str]:
    """Yield the lines of a log as they come, those that are too long cut; what is no text becomes other characters."""
    read = getattr(stream, "read1", stream.read)
    rest, cut = b"", False
    while part := read(PIECE):
        whole, end, after = part.rpartition(b"\n")
        if end:
            texts = (rest + whole).decode("utf-8", "replace").split("\n")
            yield from texts[1:] if cut else texts
            rest, cut = after, False
        else:
            rest += part
        if len(rest) > LONGEST:
            if not cut:
                yield rest.decode("utf-8", "replace")
            rest, cut = b"", True
    if rest and not cut:
        yield rest.decode("utf-8", "replace")
