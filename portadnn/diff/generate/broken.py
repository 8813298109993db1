"""Cases that must fail: calls that break one rule of the guide, with the status that is due."""

from __future__ import annotations

from collections.abc import Iterator

from ...drawing.draws import Draws
from ...drawing.strata import TYPES
from ...enums import DataType
from ...errors import BadParam, NotSupported
from ...operation import BAD, UNSUPPORTED, operation
from ...problem import Problem, TensorSpec, parse
from ..cases import Case, problem_line
from ..shrink.steps import capped

RULES_AT_ONCE = 2
MOST = 3  # along a dim of problems that break what holds for every tensor: nothing says whether a smaller one must fail
_GENERAL = ("type", "dims", "too many dims", "overlap")


def rule_cases(op: str, dtype: DataType, seed: int = 0) -> Iterator[Case]:
    """Yield a case for every rule of an operation, with tensors of one type."""
    rules = operation(op).wrong
    others = [other for other in TYPES if other is not dtype]
    wrong = DataType.DOUBLE if dtype.accumulator is DataType.FLOAT else DataType.FLOAT
    codes = {
        "t": dtype.code,
        "o": others[seed % len(others)].code,
        "p": dtype.accumulator.code,
        "wrong": wrong.code,
    }
    if dtype is DataType.DOUBLE:  # of which narrower data is no other case than a wrong type
        codes["o"] = "f32"
    for status, changes in rules.changes.items():
        for change in changes:
            words = {
                name: text for name, _, text in (w.partition("=") for w in (*rules.right.split(), *change.split()))
            }
            alias = words.pop("in_place", "")
            for name in [name for name, text in words.items() if text == "<"]:
                words[name] = _one_less(f"{op} {rules.right}".format(**codes), name)
            line = " ".join([op, *(f"{name}={text}" for name, text in words.items() if text)]).format(**codes)
            if (case := _expressible(line, status, seed, alias)) is not None:
                yield case


def _one_less(line: str, name: str) -> str:
    """Return the text of a byte buffer with a byte less than the problem of a line has."""
    spec = _spec(parse(line), name)
    return str(TensorSpec.packed(spec.dtype, (spec.size - 1,)))


def general_cases(problem: Problem, seed: int = 0) -> Iterator[Case]:
    """Yield cases that break what holds for every tensor, each in one tensor of a valid problem.

    Types must be such as operations compute in, images have 3 to 8 dims (guide sections 4.8 and 4.11), and outputs
    must not overlap themselves (2.3.7).
    """
    draws = Draws(seed, str(problem))
    for kind in _GENERAL:
        names = [n for n in problem.names if n not in problem.raw]
        if kind == "overlap":
            names = [n for n in problem.written if n in names and max(_spec(problem, n).dims, default=0) > 1]
            names = [n for n in names if _spec(problem, n).size]
        elif kind in ("dims", "too many dims"):
            names = [n for n in names if n not in problem.ranks]
        elif kind == "type":
            names = [n for n in names if _spec(problem, n).dtype.is_float]
        if not names:
            continue
        name = draws.choice(names)
        wrong, status = _broken_tensor(draws, _spec(problem, name), kind)
        words = [f"{name}={wrong}" if word.startswith(f"{name}=") else word for word in str(problem).split()]
        if (case := _expressible(" ".join(words), status, draws.integers(1_000_000))) is not None:
            yield case


def _spec(problem: Problem, name: str) -> TensorSpec:
    return problem.tensors[problem.index(name)]


def _broken_tensor(draws: Draws, spec: TensorSpec, kind: str) -> tuple[str, str]:
    """Return the text of a tensor that breaks a rule, and the status that is due."""
    code = spec.dtype.code
    if kind == "type":
        return str(spec).replace(code, "u8" if draws.integers(2) else "i32", 1).partition("@")[0], BAD
    if kind == "dims":
        return f"{code}:{'x'.join(map(str, spec.dims[:2]))}", BAD
    if kind == "too many dims":
        return f"{code}:{'x'.join(map(str, (*spec.dims, *(1,) * 9)[:9]))}", UNSUPPORTED
    strides, axis = list(spec.strides), draws.choice([i for i, size in enumerate(spec.dims) if size > 1])
    strides[axis] = draws.choice((0, _overlapping_by_one(spec, axis), _overlapping_by_one(spec, axis)))
    return f"{code}:{'x'.join(map(str, spec.dims))}/{','.join(map(str, strides))}", UNSUPPORTED


def _overlapping_by_one(spec: TensorSpec, axis: int) -> int:
    """Return the stride of an axis with which the last element of what lies within it meets the next first one."""
    strides = zip(spec.dims, spec.strides, strict=True)
    return sum((size - 1) * stride for size, stride in strides if stride < spec.strides[axis])


def _expressible(line: str, status: str, seed: int, alias: str = "") -> Case | None:
    """Return the case, if a line can say it: what is inferred from the wrong tensor may already be refused."""
    case = Case(line, seed=seed, in_place=alias, expect=status)
    try:
        case.problem  # noqa: B018  # parses
        case.numbers  # noqa: B018
    except (BadParam, NotSupported):
        return None
    return case


def case_of(problem: Problem, seed: int, turn: int) -> list[Case]:
    """Return the cases that must fail which follow a problem's: some of its operation's, in turn, and a general one."""
    draws = Draws(seed, problem.op, "broken", turn)
    small = capped(Case(problem_line(problem)), MOST).problem
    general = list(general_cases(small, seed)) if "int32" not in str(problem) else []
    rules = list(rule_cases(problem.op, draws.choice(TYPES), draws.integers(1000)))
    first = turn * RULES_AT_ONCE
    found = [rules[place % len(rules)] for place in range(first, first + min(RULES_AT_ONCE, len(rules)))]
    return found + ([draws.choice(general)] if general else [])
