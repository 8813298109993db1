"""Cases: a problem with its numbers, the data to feed it and what is expected of it, as one line of text.

A case prints as a problem line, and behind a semicolon what differs from the defaults::

    activation_forward x=f32:2x3x5x5 mode=tanh beta=1 ; data=exact seed=7 in_place=y:x
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, fields, replace

from ..enums import Status
from ..errors import BadParam, shown
from ..problem import Problem, read_line
from .data import DATA_MODES, Fill

_SEPARATOR = ";"


@dataclass(frozen=True)
class Case:
    """One thing to compute and to compare.

    Attributes
    ----------
    line : str
        A problem line with its run-time numbers; see :func:`portadnn.parse_line`.
    data : str
        How inputs are filled: ``"exact"``, ``"random"`` or an adversarial kind
        (:data:`portadnn.diff.data.DATA_MODES`).
    seed : int
        Of the data.
    algo : str
        The guide's algorithm to ask for, such as ``"winograd"``; "" leaves the choice to each backend.
    engine : str
        Name of the engine to run, on backends that have it; "" leaves the choice to dispatch.
    in_place : str
        ``"output:input"`` for a pair that shares one buffer, or "".
    fill : str
        Tensors that are not filled by formula: ``"x:0,w:1,dy:nan@5"`` makes x all 0, w all 1, and dy 0 but for the NaN
        at place 5 of its logical order.
    expect : str
        Name of the status that is due, such as ``"BAD_PARAM"`` for a call that must fail.
    """

    line: str
    data: str = "random"
    seed: int = 0
    algo: str = ""
    engine: str = ""
    in_place: str = ""
    fill: str = ""
    expect: str = "SUCCESS"

    def __post_init__(self) -> None:
        if self.data not in DATA_MODES:
            raise BadParam(argument="data", expected=f"one of {', '.join(DATA_MODES)}", got=shown(self.data))
        if self.expect not in Status.__members__:
            raise BadParam(
                argument="expect", expected=f"one of {', '.join(Status.__members__)}", got=shown(self.expect)
            )
        if self.in_place and len(self.in_place.split(":")) != 2:
            raise BadParam(argument="in_place", expected="output:input", got=shown(self.in_place))
        _ = self.fills

    @functools.cached_property
    def fills(self) -> dict[str, Fill]:
        """What tensors hold that are not filled by formula."""
        words = (word.partition(":") for word in self.fill.split(",") if word)
        return {name: Fill.parse(text) for name, _, text in words}

    @property
    def problem(self) -> Problem:
        """The problem; not validated where the call must fail.

        Raises
        ------
        BadParam, NotSupported
            The line is no problem line, or its problem is not valid.
        """
        return _parsed(self.line, self.expect == "SUCCESS")[0]

    @property
    def numbers(self) -> dict[str, float]:
        """All run-time numbers in the problem's order."""
        problem, given = _parsed(self.line, self.expect == "SUCCESS")
        return {**problem.scalars, **given}

    @property
    def alias(self) -> tuple[str, str] | None:
        """The output and the input that share a buffer, if two do."""
        output, _, given = self.in_place.partition(":")
        return (output, given) if output else None

    def with_line(self, line: str) -> Case:
        """Return the same case with another problem line."""
        return replace(self, line=line)

    def __str__(self) -> str:
        words = [f"{f.name}={getattr(self, f.name)}" for f in fields(self)[1:] if getattr(self, f.name) != f.default]
        return f"{self.line} {_SEPARATOR} {' '.join(words)}" if words else self.line

    @classmethod
    def parse(cls, text: str) -> Case:
        """Read the text form back; a plain problem line is a case with random data.

        Raises
        ------
        BadParam, NotSupported
            It is no case, or its problem is not valid.
        """
        line, _, rest = text.partition(_SEPARATOR)
        known = {f.name: f.type for f in fields(cls)[1:]}
        values: dict[str, str | int] = {}
        for word in rest.split():
            name, equals, value = word.partition("=")
            if not equals or name not in known or name in values:
                raise BadParam(
                    argument="case", expected=f"each of {', '.join(known)} once at most", got=shown(word[:60])
                )
            if name == "seed" and not (value.isdecimal() and len(value) < 20):
                raise BadParam(argument="seed", expected="a number from 0 on", got=shown(value[:60]))
            values[name] = int(value) if name == "seed" else value
        case = cls(" ".join(line.split()), **values)  # type: ignore[arg-type]  # by name
        problem = case.problem
        if case.alias is not None:
            for tensor in case.alias:
                if tensor not in problem.names:
                    raise BadParam(
                        argument="in_place", expected=f"two of {', '.join(problem.names)}", got=case.in_place
                    )
            if case.expect == "SUCCESS" and not one_memory(problem, case.alias):
                got = f"{case.in_place} of {problem}"
                raise BadParam(argument="in_place", expected="two tensors of one type and layout", got=got)
        for name, fill in case.fills.items():
            if name not in problem.names:
                raise BadParam(argument="fill", expected=f"tensors of {', '.join(problem.names)}", got=shown(name))
            size = problem.tensors[problem.index(name)].size
            if fill.place is not None and fill.place >= size:
                raise BadParam(argument="fill", expected=f"a place below {size} in {name}", got=fill.place)
        return case


def one_memory(problem: Problem, pair: tuple[str, str]) -> bool:
    """Tell whether two tensors of a problem can be one: they have one type, and elements at the same places."""
    output, given = (problem.tensors[problem.index(name)] for name in pair)
    return output.dtype is given.dtype and output.same_strides(given)


@functools.lru_cache(4096)
def _parsed(line: str, valid: bool) -> tuple[Problem, dict[str, float]]:
    problem, numbers = read_line(line, valid=valid)
    if not problem.op:
        expected = "the line of one operation; `portadnn diff graphs --line` runs graphs"
        raise BadParam(argument="case", expected=expected, got=shown(line[:60]))
    return problem, numbers


def problem_line(problem: Problem, numbers: dict[str, float] | None = None) -> str:
    """Return a problem's line with those run-time numbers that are not the defaults."""
    given = ((n, v) for n, v in (numbers or {}).items() if v != problem.scalars.get(n))
    return " ".join(itertools.chain([str(problem)], (f"{name}={value!r}" for name, value in given)))
