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


def result_from_json(values: Mapping[str, Any]) -> CaseResult:
    """Return the result of its JSON form."""
    judgements = [
        Judgement(
            **{
                **judgement,
                "verdict": Verdict(judgement["verdict"]),
                "differences": {name: _difference(d) for name, d in judgement["differences"].items()},
                "violations": [Violation(**violation) for violation in judgement["violations"]],
            }
        )
        for judgement in values["judgements"]
    ]
    rest = {"verdict": Verdict(values["verdict"]), "blamed": tuple(values["blamed"]), "judgements": judgements}
    return CaseResult(**{**values, **rest})


def report_as_json(report: RunReport) -> dict[str, Any]:
    """Return a report as values that JSON has."""
    whole = {f.name: getattr(report, f.name) for f in dataclasses.fields(report)}
    whole["results"] = [result_as_json(result) for result in report.results]
    whole["reproducers"] = {case: dataclasses.asdict(found) for case, found in report.reproducers.items()}
    return {"format": FORMAT, "counts": report.counts, **plain(whole)}


def report_from_json(values: Mapping[str, Any]) -> RunReport:
    """Return the report of its JSON form."""
    known = {f.name for f in dataclasses.fields(RunReport)}
    whole = {name: value for name, value in values.items() if name in known}
    whole["results"] = [result_from_json(result) for result in values["results"]]
    whole["reproducers"] = {case: Reproducer(**found) for case, found in values["reproducers"].items()}
    return RunReport(**whole)


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


def _difference(values: Mapping[str, Any]) -> Difference:
    found = dict(values)
    for name in _FLOATS:
        found[name] = float(found[name])
    for name in ("first", "worst", "histogram"):
        found[name] = tuple(found[name])
    found["profile"] = tuple(tuple(line) for line in found["profile"])
    return Difference(**found)


def by_operation(results: Iterable[CaseResult]) -> dict[str, dict[str, Counter[str]]]:
    """Return how often each target got each verdict, by operation and target."""
    found: dict[str, dict[str, Counter[str]]] = {}
    for result in results:
        row = found.setdefault(result.case.split(maxsplit=1)[0], {})
        for judgement in result.judgements:
            row.setdefault(judgement.target, Counter())[judgement.verdict.value] += 1
    return found
