"""What a run of many cases leaves behind, and its JSON form."""

from __future__ import annotations

import dataclasses
import math
import platform
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import numpy as np

from .._io.outside import Fields
from .._version import __version__
from ..handle import Handle
from .compare import Difference
from .running import Violation
from .verdict import CaseResult, Judgement, Verdict

FORMAT = 1  # of the JSON form


@dataclass(frozen=True)
class Reproducer:
    """The smallest case that still fails in the way another one did.

    Attributes
    ----------
    case : str
        The line of the case that failed.
    smallest : str
        The line of the smallest one.
    script : str
        A program of a few lines that shows the failure.
    tried : int
        How many cases were run to find it.
    """

    case: str
    smallest: str
    script: str = ""
    tried: int = 0


@dataclass
class RunReport:
    """A run of many cases.

    Attributes
    ----------
    targets : dict of str to dict
        Facts of each target by its name: backend, device, driver, version, kind; see :func:`facts_of`.
    settings : dict
        What was asked for: seed, counts, data modes, where cases came from.
    results : list of CaseResult
    reproducers : dict of str to Reproducer
        By the failing case's line.
    started : str
        UTC, ISO 8601.
    seconds : float
    complete : bool
        False where time ran out or the run was interrupted.
    environment : dict of str to str
        Versions of portadnn, Python, NumPy and the system.
    """

    targets: dict[str, dict[str, Any]]
    settings: dict[str, Any] = field(default_factory=dict)
    results: list[CaseResult] = field(default_factory=list)
    reproducers: dict[str, Reproducer] = field(default_factory=dict)
    started: str = ""
    seconds: float = 0.0
    complete: bool = True
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """How many cases have each verdict."""
        found = Counter(result.verdict.value for result in self.results)
        return {verdict.value: found[verdict.value] for verdict in Verdict}

    def _repr_html_(self) -> str:
        """Show in notebooks how many cases of each operation had which verdict."""
        from .._page.cells import table

        verdicts = [verdict.value for verdict in Verdict]
        rows: dict[str, Counter[str]] = {}
        for result in self.results:
            rows.setdefault(result.case.partition(" ")[0], Counter())[result.verdict.value] += 1
        cells = [(op, *(counts[verdict] for verdict in verdicts)) for op, counts in sorted(rows.items())]
        return table(f"{len(self.results)} cases on {', '.join(self.targets)}", ("operation", *verdicts), cells)

    @property
    def passed(self) -> bool:
        """Whether no case failed or broke."""
        return not any(result.verdict in (Verdict.FAILED, Verdict.ERROR) for result in self.results)


def now() -> str:
    """Return the time, as reports give it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def environment() -> dict[str, str]:
    """Return the versions that results depend on."""
    return {
        "portadnn": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def facts_of(handle: Handle) -> dict[str, Any]:
    """Return what a report says of a target."""
    info = handle.info
    names = ("backend", "name", "vendor", "kind", "driver", "version", "platform", "schedule", "arch")
    return {name: getattr(info, name) for name in names}


def result_as_json(result: CaseResult) -> dict[str, Any]:
    """Return a result as values that JSON has; infinite and undefined numbers become strings."""
    found: dict[str, Any] = plain(dataclasses.asdict(result))
    return found


def result_from_json(values: Any, place: str = "result") -> CaseResult:
    """Return the result of its JSON form.

    Raises
    ------
    BadParam
        It is none; `place` and the field are named.
    """
    facts = Fields(values, place)
    case = facts.text("case")
    if not case.split():
        facts.refuse("case", "a case", case)
    judgements = facts.take("judgements", list, "a list of objects")
    return CaseResult(
        case,
        _verdict(facts),
        _texts(facts, "blamed"),
        facts.text("reason"),
        [_judgement(Fields(one, f"{place}: judgements[{i}]")) for i, one in enumerate(judgements)],
    )


def _verdict(facts: Fields) -> Verdict:
    word = facts.text("verdict")
    if word not in Verdict.__members__:  # which are the values
        facts.refuse("verdict", f"one of {', '.join(Verdict.__members__)}", word)
    return Verdict(word)


def _texts(facts: Fields, name: str) -> tuple[str, ...]:
    found = facts.take(name, list, "a list of strings")
    if not all(isinstance(item, str) for item in found):
        facts.refuse(name, "a list of strings", found)
    return tuple(found)


def _judgement(facts: Fields) -> Judgement:
    differences, violations = facts.mapping("differences"), facts.take("violations", list, "a list of objects")
    seconds = None if facts.values.get("seconds") is None else facts.number("seconds")
    return Judgement(
        facts.text("target"),
        _verdict(facts),
        facts.text("reason"),
        facts.text("engine"),
        facts.text("status"),
        {name: _difference(Fields(one, f"{facts.place}: differences: {name}")) for name, one in differences.items()},
        [_violation(Fields(one, f"{facts.place}: violations[{i}]")) for i, one in enumerate(violations)],
        seconds,
    )


def _violation(facts: Fields) -> Violation:
    return Violation(facts.text("kind"), facts.text("tensor"), facts.text("message"))


def report_as_json(report: RunReport) -> dict[str, Any]:
    """Return a report as values that JSON has."""
    whole = {f.name: getattr(report, f.name) for f in dataclasses.fields(report)}
    whole["results"] = [result_as_json(result) for result in report.results]
    whole["reproducers"] = {case: dataclasses.asdict(found) for case, found in report.reproducers.items()}
    return {"format": FORMAT, "counts": report.counts, **plain(whole)}


def report_from_json(values: Any, place: str = "report") -> RunReport:
    """Return the report of its JSON form.

    Raises
    ------
    BadParam
        It is none; `place` and the field are named.
    """
    facts = Fields(values, place)
    results = facts.take("results", list, "a list of objects")
    targets = facts.mapping("targets")
    for name, found in targets.items():
        Fields(found, f"{place}: targets: {name}")
    return RunReport(
        targets=targets,
        settings=facts.mapping("settings"),
        results=[result_from_json(one, f"{place}: results[{i}]") for i, one in enumerate(results)],
        reproducers={
            case: _reproducer(Fields(one, f"{place}: reproducers: {case[:60]}"))
            for case, one in facts.mapping("reproducers").items()
        },
        started=facts.text("started"),
        seconds=facts.number("seconds"),
        complete=facts.take("complete", bool, "true or false"),
        environment=facts.mapping("environment"),
    )


def _reproducer(facts: Fields) -> Reproducer:
    return Reproducer(facts.text("case"), facts.text("smallest"), facts.text("script"), facts.integer("tried"))


def plain(value: Any) -> Any:
    """Return a value without enumerations, tuples and numbers that JSON lacks."""
    if isinstance(value, Verdict):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


_FLOATS = ("excess", "absolute", "relative", "ulp", "rms", "l2", "got", "want")


def _difference(facts: Fields) -> Difference:
    found = dict(facts.values)
    unknown = found.keys() - {f.name for f in dataclasses.fields(Difference)}
    if unknown:
        facts.refuse(min(unknown), "no such field", found[min(unknown)])
    for name in ("decided", "proves"):
        facts.text(name)
    for name in ("wrong", "size", "left_out"):
        facts.integer(name)
    for name in _FLOATS:
        found[name] = _float(facts, name)
    for name in ("first", "worst", "histogram"):
        found[name] = facts.integers(name, length=1 << 12)
    lines = facts.take("profile", list, "a list of lists of numbers")
    found["profile"] = tuple(tuple(_floats(facts, "profile", line)) for line in lines)
    return Difference(**found)


def _float(facts: Fields, name: str) -> float:
    return _floats(facts, name, [facts.values.get(name)])[0]


def _floats(facts: Fields, name: str, values: Any) -> list[float]:
    """Return numbers, of which those that JSON lacks are strings."""
    try:
        if not isinstance(values, list) or any(isinstance(value, bool) for value in values):
            raise TypeError
        return [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        facts.refuse(name, "numbers", values)


def by_operation(results: Iterable[CaseResult]) -> dict[str, dict[str, Counter[str]]]:
    """Return how often each target got each verdict, by operation and target."""
    found: dict[str, dict[str, Counter[str]]] = {}
    for result in results:
        row = found.setdefault(result.case.split(maxsplit=1)[0], {})
        for judgement in result.judgements:
            row.setdefault(judgement.target, Counter())[judgement.verdict.value] += 1
    return found
