"""Comparing runs of one program: the first call that computed something wrong, and the first at which runs part.

A call is wrong where it differs from the exact result of the inputs that it had in that run: rounding that earlier
calls left in its inputs does not count. Runs part where they make different calls, where a call fails on one of them
only, or where a call makes much more of its inputs' differences than rounding explains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..._io.outside import Fields, open_regular, parse_json
from ...enums import DataType
from ...errors import BadParam, DnnError
from ...problem import parse

GAIN = 1e4  # how much more an output may differ than its inputs, or than rounding explains


@dataclass(frozen=True)
class Divergence:
    """The first call at which something is off.

    Attributes
    ----------
    kind : str
        ``"wrong"`` (differs from the exact result), ``"parted"`` (differs between targets by more than its inputs do),
        ``"path"`` (another call is made), ``"status"`` (it fails on some targets) or ``"ended"`` (the program stopped
        early).
    call : int
        Its number, from 1 on.
    targets : tuple of str
        Where.
    site : str
        ``file:line`` in the program.
    what : str
        Problem line or function.
    message : str
    """

    kind: str
    call: int
    targets: tuple[str, ...]
    site: str
    what: str
    message: str

    def __str__(self) -> str:
        return f"call {self.call}, {self.site}: {self.what}\n  {', '.join(self.targets)}: {self.message}"


@dataclass
class ProgramRun:
    """What one run noted.

    Attributes
    ----------
    target : str
    calls : list of dict
        As :mod:`~portadnn.diff.programs.tap` wrote them.
    ended : str
        How it ended, if not well.
    """

    target: str
    calls: list[dict[str, Any]]
    ended: str = ""


@dataclass
class ProgramReport:
    """What came of a program on several targets.

    Attributes
    ----------
    runs : list of ProgramRun
    divergences : list of Divergence
        The first of each kind for each target, in the order of the calls.
    checked : int
        Calls that were compared with the exact result, of all runs.
    drift : list of float
        The largest relative difference between targets at each call.
    """

    runs: list[ProgramRun]
    divergences: list[Divergence] = field(default_factory=list)
    checked: int = 0
    drift: list[float] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing is off."""
        return not self.divergences


def read_run(target: str, folder: Path, ended: str) -> ProgramRun:
    """Read what the processes of a run wrote, in the order in which they began; a torn last line is left out."""
    calls = []
    for path in sorted(folder.glob("*.jsonl")):
        with open_regular(path) as file:
            for line in file:
                try:
                    calls.append(_call(Fields(parse_json(line, path.name), path.name)))
                except DnnError:
                    ended = ended or "a line is torn"
    return ProgramRun(target, calls, ended)


def _call(facts: Fields) -> dict[str, Any]:
    """Return a noted call that has what comparing looks at.

    Raises
    ------
    DnnError
        It has not.
    """
    site = facts.take("site", list, "[file, line]")
    if len(site) != 2:
        facts.refuse("site", "[file, line]", site)
    facts.text("status", "SUCCESS"), facts.text("message", "")
    if "problem" not in facts:
        facts.text("function")
        return facts.values
    parse(facts.text("problem"))
    facts.mapping("numbers")
    for name in ("inputs", "outputs"):
        for tensor, found in facts.mapping(name).items():
            values = Fields(found, tensor).take("values", list, "a list of numbers")
            try:
                [float(value) for value in values]
            except (TypeError, ValueError, OverflowError):
                raise BadParam(argument=tensor, expected="numbers", got=str(values)[:60]) from None
    for found in facts.mapping("checked", {}).values():
        checked = Fields(found, "checked")
        checked.integer("wrong"), checked.text("said")
    return facts.values


def compare(runs: Sequence[ProgramRun]) -> ProgramReport:
    """Compare runs of one program; the first is what the others are held against."""
    report = ProgramReport(list(runs))
    report.checked = sum("checked" in call for run in runs for call in run.calls)
    for run in runs:
        report.divergences += _first_wrong(run)
    for run in runs[1:]:
        report.divergences += _first_parted(runs[0], run, report.drift)
    for run in runs:
        if run.ended:
            last = run.calls[-1] if run.calls else {}
            found = Divergence(
                "ended", len(run.calls), (run.target,), _site(last), _what(last), f"the program: {run.ended}"
            )
            report.divergences.append(found)
    report.divergences.sort(key=lambda divergence: divergence.call)
    return report


def _site(call: dict[str, Any]) -> str:
    file, line = call.get("site", ("?", 0))
    return f"{file}:{line}"


def _what(call: dict[str, Any]) -> str:
    if "problem" not in call:
        return str(call.get("function", "?"))
    given = (f"{name}={value!r}" for name, value in call["numbers"].items())
    return " ".join((call["problem"], *given))


def _operation(call: dict[str, Any]) -> str:
    if "problem" in call:
        return str(call["problem"]).partition(" ")[0]
    return str(call.get("function", "?")).rpartition(".")[2]


def _first_wrong(run: ProgramRun) -> Iterator[Divergence]:
    for number, call in enumerate(run.calls, 1):
        for name, found in call.get("checked", {}).items():
            if found["wrong"]:
                message = f"{call['engine']}: {name}: {found['said']}"
                yield Divergence("wrong", number, (run.target,), _site(call), _what(call), message)
                return


def _first_parted(one: ProgramRun, other: ProgramRun, drift: list[float]) -> Iterator[Divergence]:
    """Yield the first call at which two runs part; `drift` gets the larger of what it has and what is found."""
    both = (one.target, other.target)
    for number, (a, b) in enumerate(zip(one.calls, other.calls, strict=False), 1):
        path = (_operation(a), a["site"][1]) != (_operation(b), b["site"][1])
        if path or ("problem" in a and "problem" in b and _what(a) != _what(b)):
            message = f"{other.target} computes {_what(b)} ({_site(b)})"
            yield Divergence("path", number, both, _site(a), _what(a), message)
            return
        if a.get("status") != b.get("status"):
            said = " / ".join(call.get("status", "SUCCESS") for call in (a, b))
            message = f"{said}: {a.get('message') or b.get('message')}"
            yield Divergence("status", number, both, _site(a), _what(a), message)
            return
        if "problem" not in a:
            continue
        before, after = _apart(a["inputs"], b["inputs"]), _apart(a["outputs"], b["outputs"])
        while len(drift) < number:
            drift.append(0.0)
        drift[number - 1] = max(drift[number - 1], after)
        allowed = GAIN * max(before, _rounding(a["problem"]))
        if after > allowed:
            message = f"its outputs differ by {after:.3g} of their size, its inputs by {before:.3g}"
            yield Divergence("parted", number, both, _site(a), _what(a), message)
            return
    if len(one.calls) != len(other.calls) and not (one.ended or other.ended):
        shorter, longer = sorted((one, other), key=lambda run: len(run.calls))
        extra = longer.calls[len(shorter.calls)]
        message = f"{len(shorter.calls)} calls, and {len(longer.calls)} on {longer.target}"
        yield Divergence("path", len(shorter.calls) + 1, (shorter.target,), _site(extra), _what(extra), message)


def _rounding(line: str) -> float:
    dtypes = [spec.dtype for spec in parse(line).tensors if spec.dtype.is_float]
    return max((dtype.limits.eps for dtype in dtypes), default=DataType.FLOAT.limits.eps)


def _apart(one: dict[str, Any], other: dict[str, Any]) -> float:
    """Return the largest relative L2 difference of tensors' samples; infinite where NaN or infinities are elsewhere."""
    worst = 0.0
    for name, found in one.items():
        a, b = (np.array([float(value) for value in tensor["values"]]) for tensor in (found, other.get(name, found)))
        if a.shape != b.shape:
            return float("inf")
        finite = np.isfinite(a) & np.isfinite(b)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if not np.all(finite | same):
            return float("inf")
        with np.errstate(all="ignore"):
            size = float(np.linalg.norm(a[finite]))
            gap = float(np.linalg.norm((a - b)[finite]))
        worst = max(worst, gap / size if size else gap)
    return worst
