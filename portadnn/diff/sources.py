"""Where cases come from, other than generators: problem lines, named sets, recordings, and logs of cuDNN and MIOpen.

What several calls of a recording or log pose is one case with a count. Calls that could not become problems are
counted as well, with the reason.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .. import mapping
from .._io.outside import open_regular, read_text
from ..errors import BadParam, DnnError, NotSupported, shown
from ..migrate.events import Event
from ..migrate.logs import follow
from ..migrate.model.state import Deed, State
from ..migrate.rules.problems import posed, problem_of
from ..migrate.rules.situation import Situation
from ..migrate.streams import lines as pieces
from ..problem import Problem, every_problem
from ..recording.c_calls import problem_of as problem_of_line
from ..recording.reader import read
from .cases import Case, problem_line
from .command_lines import from_benchdnn_line, from_driver_line, is_benchdnn_line, is_driver_line

DIRECTIONS = ("forward", "backward_data", "backward_filter")
_RANDOM = ("random",)


@dataclass
class Imported:
    """Cases that were read.

    Attributes
    ----------
    counts : dict of Case to int
        How often each was posed, in the order in which they came first.
    left_out : Counter of (str, str)
        Calls that did not become cases: what was called, and why it did not.
    """

    counts: dict[Case, int] = field(default_factory=dict)
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, case: Case) -> None:
        """Count a case once more."""
        self.counts[case] = self.counts.get(case, 0) + 1

    def cases(self, data: Sequence[str] = _RANDOM, *, seed: int = 0) -> Iterator[Case]:
        """Yield the cases once each, with several kinds of data; those that say what data they want keep it."""
        for case in self.counts:
            if case.data != "random" or case.expect != "SUCCESS":
                yield case
                continue
            for kind in data:
                yield replace(case, data=kind, seed=case.seed or seed)

    def __len__(self) -> int:
        return len(self.counts)


def from_lines(lines: Iterable[str], name: str = "lines") -> Imported:
    """Read cases, problem lines, command lines of MIOpenDriver and convolutions of benchdnn, one a line.

    Parameters
    ----------
    lines
        What is behind ``#`` is a comment; empty lines are passed over.
    name
        For messages.

    Raises
    ------
    BadParam, NotSupported
        A line is none of that; the message says which.
    """
    found = Imported()
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        try:
            for case in _cases_of(text):
                found.add(case)
        except (BadParam, NotSupported) as error:
            kind = BadParam if isinstance(error, BadParam) else NotSupported
            raise kind(f"{name}, line {number}: {error}") from None
    return found


def _cases_of(text: str) -> list[Case]:
    if is_driver_line(text):
        return [Case.parse(line) for line in from_driver_line(text)]
    if is_benchdnn_line(text):
        return [Case.parse(from_benchdnn_line(text))]
    return [Case.parse(text)]


def from_file(path: str | os.PathLike[str]) -> Imported:
    """Read a file of lines as :func:`from_lines` takes them; ``"-"`` is standard input.

    Raises
    ------
    BadParam, NotSupported
        A line is none, or the file is no text.
    OSError
        The file cannot be read.
    """
    if os.fspath(path) == "-":
        try:
            return from_lines(sys.stdin, "standard input")
        except UnicodeDecodeError:
            raise BadParam(argument="path", expected="text in UTF-8", got="standard input of other bytes") from None
    return from_lines(read_text(path).splitlines(), str(path))


# named sets


def set_names() -> tuple[str, ...]:
    """Return the names of networks, whose convolutions are cases, and of the benchmarks' sets.

    Raises
    ------
    NotSupported
        The benchmarks are not installed.
    """
    return (*_benchmarks("sets.layers").NETWORKS, *_benchmarks("sets").SETS)


def _benchmarks(module: str) -> Any:
    if importlib.util.find_spec("portadnn.benchmarks") is None:
        raise NotSupported("named sets are portadnn.benchmarks', which is not installed")
    return importlib.import_module(f"portadnn.benchmarks.{module}")


def from_set(
    name: str,
    *,
    batch: int = 1,
    dtype: str = "f32",
    layout: str = "nchw",
    directions: Iterable[str] = DIRECTIONS,
    most_flops: float | None = None,
) -> Imported:
    """Return the cases of a named set.

    Parameters
    ----------
    name
        A network, such as ``"resnet50"``: its convolutions; or a set of the benchmarks, such as ``"calls-tiny"``.
    batch, dtype, layout, directions
        Of a network's convolutions; the benchmarks' sets have their own.
    most_flops
        Leave out problems that need more operations.

    Raises
    ------
    BadParam
        There is no such set or direction.
    NotSupported
        The benchmarks are not installed.
    """
    networks, sets = _benchmarks("sets.layers").NETWORKS, _benchmarks("sets").SETS
    wanted = tuple(directions)
    if unknown := [direction for direction in wanted if direction not in DIRECTIONS]:
        raise BadParam(argument="directions", expected=f"some of {', '.join(DIRECTIONS)}", got=unknown)
    if name in networks:
        make = _benchmarks("sets.layers").problem_line
        lines = [make(layer, direction, batch, dtype, layout) for direction in wanted for layer in networks[name]]
    elif name in sets:
        lines = list(sets[name])
    else:
        raise BadParam(argument="set", expected=f"one of {', '.join(set_names())}", got=shown(name))
    found = Imported()
    for line in lines:
        case = Case.parse(line)
        if most_flops is not None and case.problem.flops() > most_flops:
            found.left_out[case.problem.op, f"more than {most_flops:g} operations"] += 1
        else:
            found.add(case)
    return found


# recordings and logs


def from_recording(path: str | os.PathLike[str]) -> Imported:
    """Return the problems that a recording's calls computed, with their blends.

    Raises
    ------
    BadParam
        The file is no recording.
    OSError
        It cannot be read.
    """
    found = Imported()
    for event in read(path).events:
        if event.inside and event.library == "portadnn":  # is counted with the call around it
            continue
        if event.steps and event.status != "SUCCESS":
            found.left_out[event.function, f"it failed: {event.status}"] += 1
            continue
        for step in event.steps:
            try:
                problem = problem_of_line(step.problem)
            except DnnError as error:
                raise BadParam(f"{path}, call {event.number}: {error}") from None
            found.add(_case(problem, dict(zip(problem.scalars, step.scalars, strict=False))))
    return found


def _case(problem: Problem, numbers: Mapping[str, float]) -> Case:
    return Case(problem_line(problem, dict(numbers)))


@dataclass
class _Collector:
    """Hears of a log's calls and turns those that compute into cases."""

    found: Imported

    def call(self, event: Event, state: State, journal: dict[int, Deed]) -> None:
        """Hear of a call."""
        if event.function not in _computing():
            return
        failed = event.status not in ("unknown", "CUDNN_STATUS_SUCCESS", "miopenStatusSuccess")
        if failed:
            self.found.left_out[event.function, f"it failed: {event.status}"] += 1
            return
        if event.function not in posed(event.library):
            self.found.left_out[event.function, "a log does not tell enough of such a call"] += 1
            return
        found = problem_of(Situation(event, state, journal, ""), event.library)
        if found is None:
            self.found.left_out[event.function, "the log does not tell all of its tensors and settings"] += 1
            return
        problem, numbers, _ = found
        try:
            problem.validate()
        except (BadParam, NotSupported) as error:
            self.found.left_out[event.function, str(error)] += 1
            return
        self.found.add(_case(problem, numbers))

    def finish(self, state: State, journal: dict[int, Deed]) -> None:
        """Hear of the end."""


def _computing() -> Mapping[str, bool]:
    """Return the functions of both libraries that compute what is an operation here."""
    if not _COMPUTING:
        for row in mapping.table().rows:
            if any(name in every_problem() for name in row.portadnn):
                functions = [*row.miopen, *([row.cudnn] if row.cudnn else [])]
                _COMPUTING.update((function.name, True) for function in functions)
        _COMPUTING.update(dict.fromkeys((*posed("cudnn"), *posed("miopen")), True))
    return _COMPUTING


_COMPUTING: dict[str, bool] = {}


def from_log(path: str | os.PathLike[str] | Iterable[str]) -> Imported:
    """Return the problems that the calls in a log of cuDNN or MIOpen, or in a trace of them, posed.

    Data types, dims, strides and settings are those of the descriptors that the log shows, alpha and beta those of the
    call. What a log does not tell, such as the statistics that batch normalisation is to save, is left out.

    Parameters
    ----------
    path
        A log's file, ``"-"`` for standard input, or its lines.

    Raises
    ------
    OSError
        The file cannot be read.
    """
    collector = _Collector(Imported())
    if not isinstance(path, (str, os.PathLike)):
        follow(path, "log", [collector])
    elif os.fspath(path) == "-":
        stdin = getattr(sys.stdin, "buffer", None)
        follow(sys.stdin if stdin is None else pieces(stdin), "standard input", [collector])
    else:
        with open_regular(path) as stream:
            follow(pieces(stream), str(path), [collector])
    return collector.found
