"""Replaying: the calls of a recording, in their order, on another backend with seeded data."""

from __future__ import annotations

import functools
import inspect
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import portadnn as dnn

from .._io.outside import host_memory
from ..dispatch.execute import execute
from ..entry_points import foreign_records
from ..enums import Status
from ..errors import AllocFailed, BadParam, DnnError
from ..handle import Handle
from ..problem import Problem, TensorSpec, parse
from . import graphs
from .decode import Undecodable, decode, spec_of_json
from .leaving import left_out, not_made
from .memory import Memory
from .reader import Event, Recording, Step

UNSUPPORTED = ("NOT_SUPPORTED", "ARCH_MISMATCH")


@dataclass(frozen=True)
class Outcome:
    """How one call went: `kind` is ``"ok"``, ``"different"``, ``"unsupported"`` or ``"left out"``."""

    event: Event
    kind: str
    status: str = "SUCCESS"
    reason: str = ""
    seconds: float | None = None


@dataclass
class Row:
    """What came of all calls of one function; times are medians of host seconds, None where nothing was timed."""

    function: str
    calls: int = 0
    ok: int = 0
    different: int = 0
    unsupported: int = 0
    left_out: int = 0
    recorded: float | None = None
    replayed: float | None = None
    times: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []), repr=False)


@dataclass
class Report:
    """A replay: the device, a row for each function, and what did not go as recorded."""

    device: str
    nbytes: int
    rows: list[Row]
    outcomes: list[Outcome]

    def _repr_html_(self) -> str:
        """Show in notebooks what came of each function."""
        from .._page.cells import table

        head = ("function", "calls", "ok", "different", "unsupported", "left out", "µs then", "µs now")
        rows = [
            (
                *(row.function, row.calls, row.ok, row.different, row.unsupported, row.left_out),
                *(None if seconds is None else seconds * 1e6 for seconds in (row.recorded, row.replayed)),
            )
            for row in self.rows
        ]
        return table(f"replayed on {self.device}", head, rows)

    @property
    def same(self) -> bool:
        """Whether every call that was made ended with its recorded status."""
        return not any(outcome.kind in ("different", "unsupported") for outcome in self.outcomes)


@functools.lru_cache(4096)
def _problem(line: str) -> Problem:
    return parse(line)


def _specs(step: Step) -> Iterator[tuple[str, TensorSpec, int]]:
    problem = _problem(step.problem)
    if len(step.addresses) != len(problem.names):
        expected = f"{len(problem.names)} addresses, as {problem.op} has tensors"
        raise BadParam(argument="at", expected=expected, got=len(step.addresses))
    yield from zip(problem.names, problem.tensors, step.addresses, strict=True)


def _tensors(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the tensors inside a recorded value."""
    if isinstance(value, Mapping):
        if "tensor" in value and isinstance(value["tensor"], Mapping):
            if "at" in value["tensor"]:
                yield value["tensor"]
            return
        inside = value.get("values") if "descriptor" in value else None  # whose names are no tags
        for item in (value if not isinstance(inside, Mapping) else inside).values():
            yield from _tensors(item)
    elif isinstance(value, list):
        for item in value:
            yield from _tensors(item)


def _ranges(event: Event) -> Iterator[tuple[int, int]]:
    """Yield the memory of a call's tensors, from the first byte of each up to its end."""
    for step in event.steps:
        for _, spec, at in _specs(step):
            if spec.span:
                yield at, at + spec.span * spec.dtype.itemsize
    for facts in (*_tensors([*event.arguments.values(), event.result]), *event.tensors.values()):
        if facts.get("bytes"):
            yield facts["at"], facts["at"] + facts["bytes"]


class Replay:
    """A recording on its way on another backend.

    Parameters
    ----------
    recording
        What :func:`portadnn.recording.read` returned.
    backend, device
        As for :class:`portadnn.Handle`.
    seed
        Of the data.
    sync
        Wait for the device after every call, so that times are its times.
    open
        What opens handles, in place of :class:`portadnn.Handle` with `backend` and `device`.
    """

    def __init__(
        self,
        recording: Recording,
        backend: str = "auto",
        device: int | None = None,
        *,
        seed: int = 0,
        sync: bool = False,
        open: Callable[..., Handle] | None = None,
    ) -> None:
        self._recording = recording
        self._open = functools.partial(Handle, backend, device) if open is None else open
        self._first = self._open(profile="")
        self._handles: dict[int, Handle] = {}
        self._sync = sync
        self._left = not_made(recording.events)
        self._graphs = graphs.Graphs(recording)
        try:
            self._memories = self._allocate(seed)
        except BaseException:
            self._first.close()
            raise

    def _place(self, event: Event) -> str:
        """Return the device whose addresses a call has."""
        facts = self._recording.handles.get(event.handle or 0, {})
        return f"{facts.get('backend')}: {facts.get('device')}" if facts else self._default_place

    @functools.cached_property
    def _default_place(self) -> str:
        for facts in self._recording.handles.values():
            return f"{facts.get('backend')}: {facts.get('device')}"
        return ""

    def _allocate(self, seed: int) -> dict[str, Memory]:
        ranges: dict[str, set[tuple[int, int]]] = {"": set()}
        for event in self._recording.events:
            try:
                ranges.setdefault(self._place(event), set()).update(_ranges(event))
            except DnnError as error:
                raise BadParam(f"call {event.number} of the recording, {event.function}: {error}") from None
        memories = {name: Memory(self._first, found, seed) for name, found in ranges.items()}
        needed, there = sum(memory.nbytes for memory in memories.values()), self._room()
        if there and needed > there:
            raise AllocFailed(f"the recording's tensors take {needed:,} bytes; {self._first.info.name} has {there:,}")
        return memories

    def _room(self) -> int:
        """Return the bytes of the device's memory; 0 where that is not known."""
        return self._first.info.global_memory or host_memory()

    def close(self) -> None:
        """Close the handles."""
        self._graphs = graphs.Graphs(self._recording)
        for handle in {self._first, *self._handles.values()}:
            handle.close()

    def run(self, repeat: int = 1, advance: Callable[[], None] = lambda: None) -> Report:
        """Make every call, `repeat` times one after another; `advance` is told after each."""
        outcomes = []
        for _ in range(repeat):
            for event in self._recording.events:
                outcomes.append(self.make(event))
                advance()
            self._first.synchronize()
        info = self._first.info
        nbytes = sum(memory.nbytes for memory in self._memories.values())
        return Report(f"{self._first.backend}: {info.name}", nbytes, summary(outcomes), outcomes)

    def _handle(self, number: int | None) -> Handle:
        """Return the handle for a recorded one: the same for all but those with a profile."""
        return self._handles.get(number or 0, self._first)

    def _open_like(self, event: Event) -> None:
        """Open a handle with the profile that a recorded one was given."""
        rules = {name: event.arguments[name] for name in ("profile", "mode") if event.arguments.get(name)}
        if rules and event.handle is not None and event.handle not in self._handles:
            self._handles[event.handle] = self._open(stream=self._first.get_stream(), **rules)

    @property
    def handle(self) -> Handle:
        """The handle that computes."""
        return self._first

    def memory(self, event: Event) -> Memory:
        """Return the memory that a call works on."""
        return self._memories[self._place(event)]

    def make(self, event: Event) -> Outcome:
        """Make one call; those before it should have been made."""
        reason = self._left.get(event.number) or left_out(event)
        if reason:
            return Outcome(event, "left out", reason=reason)
        memory = self.memory(event)
        started = None
        try:
            call = self._prepare(event, memory)
            if call is None:
                return Outcome(event, "ok")
            started = time.perf_counter()
            call()
            if self._sync:
                self._first.synchronize()
        except Undecodable as error:
            return Outcome(event, "left out", reason=str(error))
        except Exception as error:
            seconds = None if started is None else time.perf_counter() - started
            status = Status(error.status).name if isinstance(error, DnnError) else type(error).__name__
            if status == event.status:
                return Outcome(event, "ok", status, seconds=seconds)
            kind = "unsupported" if event.status == "SUCCESS" and status in UNSUPPORTED else "different"
            return Outcome(event, kind, status, str(error), seconds)
        seconds = time.perf_counter() - started
        for step in event.steps:
            for name, spec, at in _specs(step):
                if name in _problem(step.problem).outputs:
                    memory.wrote(spec, at)
        if event.status != "SUCCESS":
            return Outcome(event, "different", reason=f"recorded: {event.message}", seconds=seconds)
        return Outcome(event, "ok", seconds=seconds)

    def _prepare(self, event: Event, memory: Memory) -> Callable[[], Any] | None:
        """Return the call, ready to be made; None for one that was only about memory."""
        handle = self._handle(event.handle)
        for start, size in event.fresh:
            memory.renew(start, size)
        if event.status == "SUCCESS" and event.function.startswith("Handle"):
            _, _, method = event.function.partition(".")
            if not method:
                self._open_like(event)
                return None
            if method in ("asarray", "empty", "empty_bytes", "zeros"):
                self._provide(method, event, memory)
                return None
        for step in event.steps:
            problem = _problem(step.problem)
            numbers = dict(zip(problem.scalars, step.scalars, strict=True))
            for name, spec, at in _specs(step):
                if name not in problem.unread(numbers):
                    memory.read(spec, at, name)
        if event.graph is not None:
            return self._graphs.prepare(event, handle, memory)
        if event.library != "portadnn":
            return functools.partial(_run, handle, memory, event.steps)
        return self._by_name(event, memory)

    @staticmethod
    def _provide(method: str, event: Event, memory: Memory) -> None:
        for facts in _tensors(event.result):
            spec, at = spec_of_json(facts), facts["at"]
            if method in ("asarray", "zeros"):
                memory.fill(spec, at, value=0.0 if method == "zeros" else None)
            else:
                memory.forget(spec, at)

    def _by_name(self, event: Event, memory: Memory) -> Callable[[], Any] | None:
        """Return the call of the function that was called, with arrays for everything that its problem has."""

        def tensor(facts: Mapping[str, Any]) -> Any:
            memory.read(spec_of_json(facts), facts["at"], "")
            return memory.tensor(facts)

        arguments: dict[str, Any] = {}
        tensors = {name: memory.array(spec, at) for step in event.steps for name, spec, at in _specs(step)}
        if not event.steps:
            tensors = {name: tensor(facts) for name, facts in event.tensors.items()}
        for name, value in event.arguments.items():
            match next(iter(value), "") if isinstance(value, Mapping) else "":
                case "scalar":
                    arguments[name] = event.scalars[name]
                case "of":
                    arguments[name] = tensors[name]
                case "workspace":
                    # one that sufficed there need not suffice here: the handle has one that does
                    given = event.steps and event.status == "SUCCESS"
                    arguments[name] = None if given else self._first.device.workspace(value["workspace"])
                case _:
                    if name == "self" and _is_class(event.function) and not _complete(value):
                        continue
                    arguments[name] = decode(value, tensor, self._handle)
        function = _function(event.function, arguments)
        if function is None:
            return None
        known = inspect.signature(function).parameters
        arguments.update({name: array for name, array in tensors.items() if name in known})
        return functools.partial(_call, function, known, arguments)


def _call(function: Callable[..., Any], known: Mapping[str, inspect.Parameter], arguments: Mapping[str, Any]) -> Any:
    """Call by name; what the function does not know, as wrong calls have it, by position."""
    extra = [value for name, value in arguments.items() if name not in known and name.isdecimal()]
    return function(*extra, **{name: value for name, value in arguments.items() if not name.isdecimal()})


def _is_class(function: str) -> bool:
    return inspect.isclass(getattr(dnn, function, None))


def _complete(value: Mapping[str, Any]) -> bool:
    """Tell whether a constructor's object is there: of one that failed, descriptors of tensors have nothing."""
    return bool(value.get("values"))


def _function(name: str, arguments: dict[str, Any]) -> Callable[..., Any] | None:
    """Return the function or bound method; None for a constructor, whose object is already there.

    A recording may come from anywhere: only functions that can be recorded are called.
    """
    if "self" in arguments and _is_class(name):
        return None
    method = name.rpartition(".")[2]
    if "cls" in arguments or "self" in arguments:
        owner = arguments.pop("cls") if "cls" in arguments else arguments.pop("self")
        function = getattr(owner, method, None)
        known = hasattr(function, "__wrapped__") and not method.startswith("_")  # errors.public
    else:
        foreign = {record.op: record.function for record in foreign_records()}
        function = foreign.get(name) or getattr(dnn, name, None)
        known = name in foreign or (name in dnn.__all__ and name not in ("trace", "Handle"))
    if function is None or not known:
        raise Undecodable(f"{name}, which this portadnn does not have")
    return function  # type: ignore[no-any-return]


def _run(handle: Handle, memory: Memory, steps: Sequence[Step]) -> None:
    """Compute the problems that a function of another library's names computed."""
    for step in steps:
        problem = _problem(step.problem)
        arrays = {name: memory.array(spec, at) for name, spec, at in _specs(step)}
        names = problem.tensor_names()
        params = tuple(getattr(problem, field.name) for field in fields(problem) if field.name not in names)
        execute(handle, type(problem), tuple(arrays.get(name) for name in names), params, tuple(step.scalars))


def summary(outcomes: list[Outcome]) -> list[Row]:
    """Return a row for each function, in the order of their first calls."""
    rows: dict[str, Row] = {}
    for outcome in outcomes:
        event = outcome.event
        row = rows.setdefault(event.function, Row(event.function))
        row.calls += 1
        name = outcome.kind.replace(" ", "_")
        setattr(row, name, getattr(row, name) + 1)
        if outcome.kind != "left out":
            row.times[0].append(event.seconds)
        if outcome.seconds is not None:
            row.times[1].append(outcome.seconds)
    for row in rows.values():
        recorded, replayed = row.times
        row.recorded = statistics.median(recorded) if recorded else None
        row.replayed = statistics.median(replayed) if replayed else None
    return list(rows.values())
