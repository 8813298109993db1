"""Reading recordings back: the header, the handles, and every call in order."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from .._io.outside import Fields, open_regular, parse_json
from ..errors import BadParam
from .lines import (
    LONGEST,
    addresses,
    check_form,
    check_handle,
    check_header,
    check_times,
    check_value,
    numbers,
)


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
    graph : int or None
        The graph that it ran, one of ``Recording.graphs``; its tensors are then named by their uids.
    module : str
        Of a PyTorch program: the module that made the call.
    why_not : str
        Of a PyTorch program: why no problem stands for the call.
    fresh : sequence of (int, int)
        Of a PyTorch program: addresses and sizes of memory that was written by something that is not recorded.
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
    graph: int | None = None
    module: str = ""
    why_not: str = ""
    fresh: Sequence[tuple[int, int]] = ()

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
    graphs : dict of int to dict
        The graphs that ran, as ``pygraph.to_json`` has them.
    """

    header: Mapping[str, Any]
    handles: dict[int, Mapping[str, Any]]
    events: list[Event]
    complete: bool = False
    graphs: dict[int, Mapping[str, Any]] = field(default_factory=dict)


def read(path: str | os.PathLike[str]) -> Recording:
    """Read a recording; of one that was cut off, all whole lines.

    Raises
    ------
    BadParam
        The file is no recording, is of a newer version, or has a wrong line; file, line and field are named.
    OSError
        The file cannot be read.
    """
    with io.TextIOWrapper(open_regular(path, "recording"), "utf-8", "replace") as file:
        lines = _lines(file, os.fspath(path))
        _, head = next(lines, (0, {}))
        recording = Recording(check_header(head, os.fspath(path)), {}, [])
        forms: dict[int, Mapping[str, Any]] = {}
        for number, values in lines:
            facts = Fields(values, f"{os.fspath(path)}:{number}")
            if "call" in facts:
                form = forms.get(facts.integer("call"))
                if form is None:
                    facts.refuse("call", "the number of a form above", values["call"])
                recording.events.append(_event(len(recording.events) + 1, form, facts))
            elif "form" in facts:
                forms[check_form(facts, recording.graphs)] = values
            elif "graph" in facts:
                recording.graphs[facts.integer("graph")] = facts.mapping("data")
            elif "end" in facts:
                recording.complete = True
            elif "handle" in facts:
                recording.handles[check_handle(facts)] = values
            else:
                facts.refuse("", "a line of a recording", next(iter(values), "an empty object"))
    return recording


def _lines(file: TextIO, path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the lines with their numbers; the last may be cut off."""
    broken, why = 0, ""
    number = 0
    while line := file.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            raise BadParam(argument=f"{path}:{number}", expected=f"at most {LONGEST:,} characters", got="a longer line")
        if broken == 1:
            return  # no recording at all
        if broken:
            raise BadParam(argument=f"{path}:{broken}", expected="a JSON object", got=why)
        try:
            facts = parse_json(line, f"{path}:{number}")
        except BadParam as error:
            if line.endswith("\n") and str(error.expected) != "JSON":
                raise
            broken, why = number, f"another line: {error.got}"
            continue
        if not isinstance(facts, dict):
            broken, why = number, "another value"
            continue
        yield number, facts


def _event(number: int, form: Mapping[str, Any], facts: Fields) -> Event:
    at, given = addresses(facts), numbers(facts, "scalars")
    earlier = facts.take("steps", list, "a list", [])
    steps = [_step(step, f"{facts.place}: steps[{i}]") for i, step in enumerate(earlier)]
    specs = form.get("tensors", {})
    if len(at) != len(specs):
        facts.refuse("at", f"{len(specs)} addresses, one of each tensor of form {form['form']}", at)
    tensors = {name: {**spec, "at": address} for (name, spec), address in zip(specs.items(), at, strict=True)}
    names = form.get("scalars", ())
    if len(given) != len(names) and "problem" in form:
        facts.refuse("scalars", f"{len(names)} numbers, as form {form['form']} has names", given)
    if "problem" in form:
        steps.append(Step(form["problem"], given, at))
    if "result" in facts:
        check_value(facts.values["result"], f"{facts.place}: result")
    start, seconds = check_times(facts)
    fresh = addresses(facts, "fresh")
    file, line = form["site"]
    return Event(
        number=number,
        library=form["library"],
        function=form["function"],
        arguments=form["arguments"],
        site=(file, line),
        thread=form["thread"],
        handle=form["handle"],
        start=start,
        seconds=seconds,
        status=facts.text("status", "SUCCESS"),
        message=facts.take("message", str, "a string", ""),
        tensors=tensors,
        scalars=dict(zip(names, given, strict=False)),
        steps=tuple(steps),
        result=facts.values.get("result"),
        inside=form.get("inside"),
        graph=form.get("graph"),
        module=form.get("module", ""),
        why_not=form.get("why_not", ""),
        fresh=tuple(zip(fresh[::2], fresh[1::2], strict=False)),
    )


def _step(values: Any, place: str) -> Step:
    facts = Fields(values, place)
    return Step(facts.text("problem"), numbers(facts, "scalars"), addresses(facts))
