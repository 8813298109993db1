"""The stream of generated cases: operations in turn, each geometry with several kinds of data and blends."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from ...drawing.draws import Draws
from ...enums import DnnEnum
from ...errors import BadParam, shown
from ...handle import Handle
from ...operation import operation, operations
from ...problem import Problem, parse
from ..cases import Case, problem_line
from ..data import DATA_MODES, exact_results, kinds_for
from . import broken
from .claims import Claims
from .numbers import half_way, numbers_of

PER_GEOMETRY = 4  # cases that share their kernels
BROKEN_EVERY = 4  # geometries, after which a call follows that must fail
_ALIAS_ONE_IN = 3  # cases whose tensors could share memory
_ALGO_EVERY = 3  # geometries of convolutions, of which the cases ask for an algorithm
_FFT_EVERY = 2  # of those that FFT takes; of those that Winograd takes all do
_ENGINE_EVERY = 2  # geometries, of which a case asks for an engine besides; of those that ask for no algorithm all do
_REFUSED_ONE_IN = 24  # problems that no target claims to compute


@dataclass(frozen=True)
class Mix:
    """What a stream consists of.

    Attributes
    ----------
    data : tuple of str
        Data modes; empty for exact, random and the adversarial kinds of each operation.
    broken, aliases, algorithms, engines : bool
        Whether there are calls that must fail, outputs in the memory of inputs, algorithms and engines asked for.
    """

    data: tuple[str, ...] = ()
    broken: bool = True
    aliases: bool = True
    algorithms: bool = True
    engines: bool = True


def cases(
    ops: Iterable[str] = (),
    *,
    seed: int = 0,
    count: int | None = None,
    data: Iterable[str] = (),
    handles: Iterable[Handle] = (),
    mix: Mix | None = None,
) -> Iterator[Case]:
    """Generate cases: small, valid, all different, the same on every machine.

    Operations take turns, a geometry each, so that every beginning is a fair sample. The first few hundred cases of
    an operation have each of its modes with each class of layouts and each type.

    Parameters
    ----------
    ops
        Operations, or patterns such as ``"convolution_*"``; none for all.
    seed
        Another seed gives other problems and other data.
    count
        How many; None goes on without end.
    data
        Data modes to take; none for exact, random and those adversarial kinds for which results are settled.
    handles
        Targets: problems are then such as one of their capability tables claims, and their engines are asked for by
        name. Which cases there are depends on them only by what they claim. Without any, the tables of all
        installed backends are asked.
    mix
        What else to leave out.

    Raises
    ------
    BadParam
        An unknown operation or data mode, or a count below 0.
    """
    kinds = _operations(ops)
    modes = tuple(data)
    if unknown := [mode for mode in modes if mode not in DATA_MODES]:
        raise BadParam(argument="data", expected=f"some of {', '.join(DATA_MODES)}", got=unknown)
    if count is not None and count < 0:
        raise BadParam(argument="count", expected="a number from 0 on", got=count)
    settings = mix or Mix()
    if modes:
        settings = dataclasses.replace(settings, data=modes)
    found = _endless(kinds, seed, settings, Claims(handles))
    return found if count is None else _first(found, count)


def campaign(size: str | int = "default", seed: int = 0, *, handles: Iterable[Handle] = ()) -> Iterator[Case]:
    """Return the cases of a campaign: all operations, kinds of data, algorithms, engines, and calls that must fail.

    Parameters
    ----------
    size : str or int
        ``"quick"``, ``"default"``, ``"thorough"``, ``"full"``, or a number of cases.
    seed, handles
        As for :func:`cases`.

    Raises
    ------
    BadParam
        No such size.
    """
    if isinstance(size, str) and size not in SIZES:
        raise BadParam(argument="campaign", expected=f"{', '.join(SIZES)}, or a number", got=shown(size))
    count = SIZES[size] if isinstance(size, str) else size
    return cases(seed=seed, count=count, handles=handles)


SIZES = {"quick": 1_000, "default": 6_000, "thorough": 20_000, "full": 50_000}


def _operations(ops: Iterable[str]) -> tuple[str, ...]:
    known = list(operations())
    wanted = [ops] if isinstance(ops, str) else list(ops)
    for word in wanted:
        if not any(fnmatch(op, word) for op in known):
            raise BadParam(argument="ops", expected=f"some of {', '.join(known)}", got=shown(word))
    return tuple(op for op in known if not wanted or any(fnmatch(op, word) for word in wanted))


def _first(found: Iterator[Case], count: int) -> Iterator[Case]:
    for _, case in zip(range(count), found, strict=False):
        yield case


def _endless(ops: Sequence[str], seed: int, mix: Mix, claims: Claims) -> Iterator[Case]:
    """Yield the groups of all operations in turn; the order of operations changes from round to round."""
    seen: dict[str, None] = {}
    next_number = dict.fromkeys(ops, 0)
    round_ = 0
    while True:
        for op in Draws(seed, "round", round_).shuffled(ops):
            number = next_number[op]
            problem = None
            while problem is None:
                problem, number = _problem(op, seed, number, claims), number + 1
            next_number[op] = number
            group = list(_group(problem, seed, number, mix, claims))
            if mix.broken and round_ % BROKEN_EVERY == BROKEN_EVERY - 1:
                group += broken.case_of(problem, seed, round_ // BROKEN_EVERY)
            for case in group:
                text = str(case)
                if text not in seen:
                    seen[text] = None
                    yield case
        round_ += 1
        if len(seen) > 2_000_000:
            seen.clear()


def _problem(op: str, seed: int, number: int, claims: Claims) -> Problem | None:
    """Return an operation's problem of a number; None for most of those that no target claims to compute."""
    problem = parse(operation(op).drawing.line(op, seed, number))
    if claims.taken(problem, problem.scalars) or Draws(seed, op, number, "refused").one_in(_REFUSED_ONE_IN):
        return problem
    return None


def _data_of(problem: Problem, number: int, mix: Mix) -> list[str]:
    """Return the data modes of a geometry's cases: exact and random ones, and two adversarial kinds in turn."""
    if mix.data:
        return [mix.data[(number + i) % len(mix.data)] for i in range(min(PER_GEOMETRY, 2 * len(mix.data)))]
    kinds = kinds_for(problem.op, problem)
    return ["exact", kinds[2 * number % len(kinds)], "random", kinds[(2 * number + 1) % len(kinds)]]


def _group(problem: Problem, seed: int, number: int, mix: Mix, claims: Claims) -> Iterator[Case]:
    """Yield the cases of a geometry."""
    op = problem.op
    draws = Draws(seed, op, number, "cases")
    aliases = _aliases(problem) if mix.aliases else ()
    algo = _algorithm(draws, problem, number, claims) if mix.algorithms else None
    engines = claims.engines(problem) if mix.engines and (algo is None or number % _ENGINE_EVERY == 0) else ()
    asked = draws.integers(PER_GEOMETRY)
    vanish = len(problem.scalars) > 1 or draws.one_in(8)  # of scale_tensor nothing is left then
    for i, data in enumerate(_data_of(problem, number, mix)):
        numbers = numbers_of(draws, problem, number + i, whole=data == "exact", vanish=vanish and data != "huge")
        if data == "exact" and not exact_results(problem, {**problem.scalars, **numbers}):
            numbers = numbers_of(draws, problem, number + i)
        if data == "exact" and number % 2 and exact_results(problem, tied := half_way(problem, numbers)):
            numbers = tied
        alias = draws.choice(aliases) if aliases and draws.one_in(_ALIAS_ONE_IN) else ""
        case = Case(problem_line(problem, numbers), data, draws.integers(1_000_000), in_place=alias)
        if engines and i == asked and not alias:
            case = dataclasses.replace(case, engine=draws.choice(engines))
        elif algo is not None and i >= PER_GEOMETRY // 2:
            case = dataclasses.replace(case, algo=algo.name.lower())
        yield case


def _aliases(problem: Problem) -> tuple[str, ...]:
    """Return the pairs of tensors that may share memory and have the same layout."""
    pairs = [pair for pair in problem.in_place if pair not in problem.together]
    return tuple(
        f"{output}:{given}"
        for output, given in pairs
        if getattr(problem, output) is not None and getattr(problem, output) == getattr(problem, given)
    )


def _algorithm(draws: Draws, problem: Problem, number: int, claims: Claims) -> DnnEnum | None:
    """Return an algorithm to ask for, which a target claims to have for the problem; rather one with conditions."""
    taken = [algo for algo in dict.fromkeys(problem.algorithms or ()) if claims.taken(problem, problem.scalars, algo)]
    choosy = [algo for algo in taken if algo.name.startswith("WINOGRAD")]
    if not choosy and number % _FFT_EVERY == 0:
        choosy = [algo for algo in taken if algo.name.startswith("FFT")]
    if not taken or (number % _ALGO_EVERY and not choosy):
        return None
    return draws.choice(choosy if choosy and draws.integers(3) else taken)
