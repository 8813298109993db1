"""Reading recordings back: the header, the handles, and every call in order."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import BadParam
from .writer import SCHEMA_VERSION


@dataclass(frozen=True)
class Step:
    """A problem that a call computed: its line, its run-time numbers, and the addresses of its tensors by name."""

    problem: str
    scalars: Sequence[float]
    addresses: Sequence[int]


@dataclass(frozen=True)
class Event:
    """A recorded call.

    Attributes
    ----------
    number : int
        Its place in the recording, from 1; calls stand in the order in which they ended.
    library, function : str
        Whose name the caller used, and the name.
    arguments : dict
        By name, as docs/recordings.md says; ``{"of": name}`` is one of `tensors`, ``{"scalar": name}`` of `scalars`.
    site : (str, int)
        File and line of the caller.
    thread : int
        The system's number of the thread.
    handle : int or None
        The handle, one of ``Recording.handles``.
    start, seconds : float
        Since the recording began, and how long the call took the host.
    status : str
        ``"SUCCESS"``, another name of a cuDNN status, or the class of another exception.
    message : str
        Of the error.
    tensors : dict
        Tensors by name, the problem's or else those among the arguments: dtype, shape, strides, bytes, and ``at``.
    scalars : dict
        The run-time numbers by name.
    steps : tuple of Step
        What it computed, in order; most calls one problem.
    result : object
        What it returned, where that is no output of a computation.
    inside : str or None
        The public call that made this one; only in recordings with nested calls.
    """

    number: int
    library: str
    function: str
    arguments: Mapping[str, Any]
    site: tuple[str, int]
    thread: int
    handle: int | None
    start: float
    seconds: float
    status: str = "SUCCESS"
    message: str = ""
    tensors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    scalars: Mapping[str, float] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    result: Any = None
    inside: str | None = None

    @property
    def problem(self) -> str | None:
        """The line of the (last) problem that it computed."""
        return self.steps[-1].problem if self.steps else None


@dataclass
class Recording:
    """A recording.

    Attributes
    ----------
    header : dict
        The first line: versions, platform, process, command line, time.
    handles : dict of int to dict
        Backend and device of each handle that took part.
    events : list of Event
        The calls.
    complete : bool
        Whether the recording was ended, not cut off.
    """

    header: Mapping[str, Any]
    handles: dict[int, Mapping[str, Any]]
    events: list[Event]
    complete: bool = False


def read(path: str | os.PathLike[str]) -> Recording:
    """Read a recording; of one that was cut off, all whole lines.

    Raises
    ------
    BadParam
        The file is no recording, is of a newer version, or has a wrong line.
    OSError
        The file cannot be read.
    """
    with Path(path).open(encoding="utf-8", errors="replace") as file:
        lines = _lines(file, str(path))
        _, head = next(lines, (0, {}))
        _check_header(head, str(path))
        recording = Recording(head, {}, [])
        forms: dict[int, Mapping[str, Any]] = {}
        for number, facts in lines:
            try:
                if "call" in facts:
                    recording.events.append(_event(len(recording.events) + 1, forms[facts["call"]], facts))
                elif "form" in facts:
                    forms[facts["form"]] = facts
                elif "end" in facts:
                    recording.complete = True
                elif "handle" in facts:
                    recording.handles[facts["handle"]] = facts
                else:
                    raise KeyError("an unknown line")
            except (KeyError, TypeError, ValueError) as error:
                raise BadParam(argument=f"{path}:{number}", expected="a line of a recording", got=str(error)) from None
    return recording


def _check_header(head: Mapping[str, Any], path: str) -> None:
    version = head.get("portadnn_recording")
    if not isinstance(version, int):
        raise BadParam(
            argument=path, expected="a recording, whose first line has portadnn_recording", got="another file"
        )
    if version > SCHEMA_VERSION:
        made = head.get("portadnn", "unknown")
        raise BadParam(
            f"a newer portadnn ({made}) made this recording; please update",
            argument=path,
            expected=f"version {SCHEMA_VERSION} or less",
            got=version,
        )


def _lines(file: Iterator[str], path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the lines with their numbers; the last may be cut off."""
    broken = 0
    for number, line in enumerate(file, 1):
        if broken == 1:
            return  # no recording at all
        if broken:
            raise BadParam(argument=f"{path}:{broken}", expected="a JSON object", got="another line")
        try:
            facts = json.loads(line)
        except ValueError:
            broken = number
            continue
        if not isinstance(facts, dict):
            broken = number
            continue
        yield number, facts


def number_of(value: Any) -> float:
    """Return a number from JSON, where not all can stand as themselves."""
    return float(value["float"]) if isinstance(value, Mapping) else float(value)


def _event(number: int, form: Mapping[str, Any], facts: Mapping[str, Any]) -> Event:
    addresses = facts.get("at", ())
    numbers = [number_of(value) for value in facts.get("scalars", ())]
    steps = [
        Step(step["problem"], [number_of(value) for value in step["scalars"]], step["at"])
        for step in facts.get("steps", ())
    ]
    specs = zip(form.get("tensors", {}).items(), addresses, strict=True)
    tensors = {name: {**spec, "at": address} for (name, spec), address in specs}
    if "problem" in form:
        steps.append(Step(form["problem"], numbers, addresses))
    file, line = form["site"]
    return Event(
        number=number,
        library=form["library"],
        function=form["function"],
        arguments=form["arguments"],
        site=(file, line),
        thread=form["thread"],
        handle=form["handle"],
        start=facts["start"],
        seconds=facts["seconds"],
        status=facts.get("status", "SUCCESS"),
        message=facts.get("message", ""),
        tensors=tensors,
        scalars=dict(zip(form.get("scalars", ()), numbers, strict=False)),
        steps=tuple(steps),
        result=facts.get("result"),
        inside=form.get("inside"),
    )
