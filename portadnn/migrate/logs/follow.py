"""A log, read call by call in memory that does not grow with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field

from ... import mapping
from ..events import Event, Place
from ..model import effects
from ..model.listener import Listener
from ..model.state import Deed, State
from . import cudnn, miopen, traces
from .calls import to_event
from .records import Record

_INNER = {
    "cudnnSetTensor4dDescriptor": "cudnnSetTensor4dDescriptorEx",
    "cudnnSetPooling2dDescriptor": "cudnnSetPoolingNdDescriptor",
    "cudnnSetConvolution2dDescriptor": "cudnnSetConvolutionNdDescriptor",
    "cudnnSetFilter4dDescriptor": "cudnnSetFilterNdDescriptor",
}
_BUFFERS = frozenset({"x", "w", "y", "dx", "dw", "dy"})
_BUFFERS |= {"xData", "wData", "yData", "srcData", "filterData", "destData", "diffData", "gradData"}
_KEPT = 1024  # earlier calls of a function, on different things, that are remembered
_THINGS = 1 << 16  # descriptors and other things that are remembered: programs leak them
_LONGEST = 1 << 20  # characters of a line that are looked at


@dataclass
class Summary:
    """What a log held: its lines, calls, versions of the library, and whether it was cut off."""

    lines: int = 0
    calls: int = 0
    own: int = 0
    versions: set[str] = field(default_factory=set)
    cut: list[int] = field(default_factory=list)


def records(lines: Iterable[str], summary: Summary) -> Iterator[Record]:
    """Yield the calls of a log in order, whichever libraries wrote it."""
    readers = (cudnn.Reader(), miopen.Reader(), traces.Reader())
    for number, line in enumerate(lines, 1):
        summary.lines = number
        text = line[:_LONGEST].rstrip("\r\n")
        for reader in readers:
            yield from reader.take(number, text)
    for reader in readers:
        yield from reader.end()


def follow(
    lines: Iterable[str],
    file: str,
    listeners: Sequence[Listener],
    *,
    origin: str = "log",
    place: Callable[[int], Place] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Summary:
    """Read a log and tell the listeners of every call that the program made.

    Parameters
    ----------
    lines : iterable of str
        The log; it is read as it comes, from a pipe too.
    file : str
        What it is called.
    listeners
        They are told of each call before it happens, and of the end.
    origin : {"log", "recording"}
        What the events say of themselves.
    place : callable, optional
        Where the line of a number was written, if not in this file.
    progress : callable, optional
        Called now and then with the number of lines read.

    Returns
    -------
    Summary
    """
    summary = Summary()
    state = State()
    journal: dict[int, Deed] = {}
    latest: dict[object, int] = {}
    own = _Own()
    for record in records(lines, summary):
        if not record.complete:
            summary.cut.append(record.line)
        if own.made(record):
            summary.own += 1
            continue
        summary.calls += 1
        if record.version:
            summary.versions.add(record.version)
        where = Place(file, record.line) if place is None else place(record.line)
        event = to_event(record, summary.calls, where, state, origin)
        for listener in listeners:
            listener.call(event, state, journal)
        effects.apply(event, state, journal, _nowhere)
        _forget(event, state, journal, latest)
        if progress is not None and summary.calls % 1000 == 0:
            progress(summary.lines)
    for listener in listeners:
        listener.finish(state, journal)
    return summary


def _nowhere(path: str, value: object) -> None:
    """Write nothing: logs have no variables."""


def _forget(event: Event, state: State, journal: MutableMapping[int, Deed], latest: dict[object, int]) -> None:
    """Keep the latest call on the same things, and not more than some of a function, nor things long unused."""
    done, things = state.done[event.function], journal[event.number].things
    for thing in things.values():
        if thing.id in state.things:  # the one used last stands last
            state.things[thing.id] = state.things.pop(thing.id)
    while len(state.things) > _THINGS:
        del state.things[next(iter(state.things))]
    key = (event.function, *((name, thing.id) for name, thing in things.items()))
    before = latest.get(key)
    latest[key] = event.number
    for number in (before, next(iter(done)) if len(done) > _KEPT else None):
        if number is not None and number in done:
            del done[number]
            journal.pop(number, None)
    if len(latest) > 16 * _KEPT:
        latest.clear()


class _Own:
    """Tells calls that the library makes inside of the program's from the program's, which logs do not do."""

    def __init__(self) -> None:
        self._last = Record("", 0)
        self._info = False
        self._find = ""
        self._buffers: tuple[str, ...] | None = None

    def made(self, record: Record) -> bool:
        """Tell whether the library made a call itself, or the record only says more of the one before."""
        self._info |= record.level == "I"
        if (record.level != "I" and self._info) or cudnn.INTERNAL.search(record.function):
            return True
        last, self._last = self._last, record
        if record.function == last.function and record.status and not last.status and _told_later(record):
            return True
        if record.thread == last.thread and _INNER.get(last.function) == record.function:
            return True
        return self._trial(record)

    def _trial(self, record: Record) -> bool:
        """Tell whether a Find makes the call: they follow it at once, and all are on the same buffers."""
        direction = re.search(r"Convolution(Forward|BackwardData|BackwardFilter)", record.function)
        if "Find" in record.function:
            self._find, self._buffers = record.function, None
            return False
        if not direction or not self._find or direction[1] not in self._find or "Get" in record.function:
            self._find = ""
            return False
        buffers = tuple(logged.text for name, logged in record.arguments.items() if name in _BUFFERS)
        if self._buffers is None:
            self._buffers = buffers
        if self._buffers == buffers and not self._find.endswith("Ex"):
            return True
        self._find = ""
        return False


def _told_later(record: Record) -> bool:
    """Tell whether a record has none of a call's own arguments: version 9 tells the status in one of its own."""
    function = mapping.table().functions.get(record.function)
    return function is not None and not {p.name for p in function.latest} & record.arguments.keys()
