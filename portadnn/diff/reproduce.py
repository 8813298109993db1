"""A program of a few lines for a case that fails: it exits with 1 where the failure shows, with 0 once it is mended.

Small cases become plain calls of portadnn on literal numbers, with the exact results beside them. What needs guarded
memory to be seen, or more numbers than a reader would look at, is left to :func:`portadnn.diff.examine`.
"""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..bfloat16 import as_float64
from ..enums import DataType, DnnEnum, TensorFormat
from ..problem import ALIGNMENT, Problem, TensorSpec
from .cases import Case
from .compare import bounds
from .inputs import Buffers, make_buffers
from .results import environment
from .shrink.shrink import kind_of_failure
from .targets import Target
from .verdict import CaseResult, Judgement, expect

LITERAL = 64  # numbers of a tensor that are written out
_TYPES = (DataType.HALF, DataType.FLOAT, DataType.DOUBLE)


class _Name:
    """Stands for an array in the text of a call."""

    def __init__(self, name: str) -> None:
        self.name = name


def program(
    case: Case, target: str, *, result: CaseResult | None = None, facts: Mapping[str, Any] | None = None
) -> str:
    """Return the source of a program that shows how a case fails.

    Parameters
    ----------
    case
        The (smallest) case.
    target
        Word of the target that is blamed; with ``"reference"`` all targets of `result` run.
    result
        What came of the case; tells what to look for.
    facts
        Of the target (:func:`portadnn.diff.results.facts_of`), for the comment at the top.
    """
    judgement = next((j for j in result.judgements if j.target == target), None) if result else None
    head = _comments(case, target, judgement, result.reason if result else "", facts)
    plain = _plain(case, target) if _can_be_plain(case, target, judgement) else None
    if plain is not None:
        return "\n".join([*head, *plain, ""])
    targets = [j.target for j in result.judgements] if result and _is_reference(target) else [target]
    return "\n".join([*head, *_examined(case, targets), ""])


def _comments(
    case: Case, target: str, judgement: Judgement | None, reason: str, facts: Mapping[str, Any] | None
) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in environment().items())
    lines = [
        str(case),
        f"{target}: {judgement.reason if judgement and judgement.reason else reason or 'fails'}",
        versions,
    ]
    if facts:
        lines.append(f"{target}: " + ", ".join(f"{name} {value}" for name, value in facts.items() if value))
    if judgement and judgement.engine:
        lines.append(f"computed by {judgement.engine}")
    return [f"# {' '.join(line.split())}" for line in lines]


def _is_reference(target: str) -> bool:
    """Tell whether a target is what exact results come from: then there is nothing else to compare it with."""
    return target.partition(":")[0] == "reference"


def _can_be_plain(case: Case, target: str, judgement: Judgement | None) -> bool:
    """Tell whether literal numbers and a plain call show the failure."""
    if case.expect != "SUCCESS" or _is_reference(target):
        return False
    if judgement is not None:
        if judgement.violations and kind_of_failure(judgement) != "numbers":
            return False
        if any(d.decided == "largest element's tolerance" for d in judgement.differences.values()):
            return False  # what is allowed is the engine's
    return all(
        spec.dtype in _TYPES and spec.format is not None and spec.alignment == ALIGNMENT and 0 < spec.size <= LITERAL
        for spec in case.problem.tensors
    )


def _plain(case: Case, target: str) -> list[str]:
    problem, buffers = case.problem, make_buffers(case)
    unread, alias = problem.unread(case.numbers), case.alias or ("", "")
    lines = []
    for name, spec in zip(problem.names, problem.tensors, strict=True):
        if name == alias[0]:
            continue
        nhwc = "" if spec.is_packed() else f', format="{TensorFormat.NHWC.name}"'
        told = "  # not to be read" if name in unread and name not in alias else ""
        lines.append(f"{name} = handle.asarray({_array(buffers[name].array)}{nhwc}){told}")
    if alias[0]:
        lines.append(f"{alias[0]} = {alias[1]}")
    lines += _call(case, problem)
    lines += ["wrong = 0", *_compared(case, buffers), "sys.exit(1 if wrong else 0)"]
    special = [name for name in ("inf", "nan") if re.search(rf"\b{name}\b", " ".join(lines))]
    more = [f"from numpy import {', '.join(special)}"] if special else []
    return ["import sys", "", "import numpy as np", *more, "", "import portadnn as dnn", "", _opened(target), *lines]


def _opened(target: str) -> str:
    """Return the line that opens a handle on a target."""
    found = Target.parse(target)
    if found.schedule:
        return f'from portadnn.diff import Target\n\nhandle = Target.parse("{target}").open()'
    return f'handle = dnn.Handle("{found.backend}", {found.device})'


def _array(values: npt.NDArray[Any]) -> str:
    """Return the source of an array, with as many digits as tell its numbers apart in its type."""
    dtype = f"np.{values.dtype.name}"
    real = as_float64(values)
    first = float(real.flat[0])
    if np.all((real == first) | (np.isnan(real) & np.isnan(first))):
        return f"np.full({real.shape}, {first!r}, {dtype})"
    shape = "" if values.ndim == 1 else f".reshape{values.shape}"
    numbers = ", ".join(str(number) for number in values.ravel())
    return "\n    ".join(textwrap.wrap(f"np.array([{numbers}], {dtype}){shape}", 110, break_long_words=False))


def _call(case: Case, problem: Problem) -> list[str]:
    """Return the lines of the call."""
    numbers = {name: value for name, value in case.numbers.items() if value != problem.scalars[name]}
    if case.engine:
        tensors = ", ".join(problem.names)
        return [
            f'problem = dnn.parse("{problem}")',
            f'engine = next(e for e in handle.engines_for(problem) if e.name == "{case.engine}")',
            "plan = engine.prepare(problem, handle.device)",
            "workspace = handle.empty_bytes(plan.workspace_size) if plan.workspace_size else None",
            f"plan.run([{tensors}], {list(case.numbers.values())}, workspace)",
        ]
    given, named = problem.call_arguments({name: _Name(name) for name in problem.names})
    words = [_source(value) for value in given]
    words += [f"{name}={_source(value)}" for name, value in {**named, **numbers}.items()]
    if case.algo and problem.algorithms is not None:
        words.append(f'algo="{case.algo}"')
    return [f"dnn.{problem.op}(handle, {', '.join(words)})"]


def _source(value: Any) -> str:
    """Return the source of an argument."""
    if isinstance(value, _Name):
        return value.name
    if isinstance(value, DataType):
        return f"dnn.DataType.{value.name}"
    if isinstance(value, DnnEnum):
        return f'"{value.name.lower()}"'
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, TensorSpec)):
        kind: Any = type(value)
        given = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        for name in reversed(list(given)):
            fewer = {other: item for other, item in given.items() if other != name}
            try:
                same = all(getattr(kind(**fewer), other) == item for other, item in vars(value).items())
            except (TypeError, ValueError, AttributeError):
                continue
            if same:
                given = fewer
        return f"dnn.{kind.__name__}({', '.join(f'{name}={_source(item)}' for name, item in given.items())})"
    return repr(value)


def _compared(case: Case, buffers: Buffers) -> Iterable[str]:
    """Yield the lines that compare each output with what is due."""
    problem = case.problem
    expected = expect(case, buffers)
    for name, want in expected.want.items():
        sums = None if expected.sums is None else expected.sums.get(name)
        due, bound, unknown = bounds(problem, name, want, sums, overflows=case.data == "huge")
        allowed = np.where(unknown, np.inf, np.vectorize(_rounded_up)(bound))
        most = repr(float(allowed.flat[0])) if np.all(allowed == allowed.flat[0]) else _array(allowed)
        yield f"got = handle.to_numpy({name})"
        yield f"expected = {_array(due)}"
        yield f"allowed = {most}"
        yield "same = (got == expected) | (np.isnan(got) & np.isnan(expected)) | (abs(got - expected) <= allowed)"
        yield "for place in np.argwhere(~same)[:10].tolist():"
        yield f'    print("{name}", place, "got", got[tuple(place)], "expected", expected[tuple(place)])'
        yield "wrong += np.count_nonzero(~same)"


def _rounded_up(number: float) -> float:
    """Return a number with three digits that is not below."""
    return float(f"{1.005 * number:.3g}")


def _examined(case: Case, targets: Iterable[str]) -> list[str]:
    opened = ", ".join(f'"{word}": Target.parse("{word}").open()' for word in targets)
    return [
        "import sys",
        "",
        "from portadnn.diff import Case, Target, examine",
        "",
        f'case = Case.parse("{case}")',
        f"result = examine(case, {{{opened}}})",
        "print(result.verdict.value, *result.blamed, result.reason)",
        'sys.exit(1 if result.verdict.value in ("FAILED", "ERROR") else 0)',
    ]
