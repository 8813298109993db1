"""Checking a golden file: its cases on other targets, compared with what was recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ...bfloat16 import as_float64
from ...handle import Handle
from ..cases import Case
from ..compare import Difference, bounds, compare
from ..inputs import make_buffers
from ..known import known
from ..results import RunReport, environment, facts_of, now
from ..running import Ran, algorithm, run
from ..verdict import REFUSALS, CaseResult, Expected, Judgement, Verdict, expect, shows, vote
from .file import Entry, Golden, Output, aggregates, sample
from .record import inputs_digest

RECORDED = "recorded"


def check(golden: Golden, handles: Mapping[str, Handle], advance: Callable[[], None] = lambda: None) -> RunReport:
    """Run the cases of a golden file on some targets and compare with what was recorded.

    Equal bytes agree. Otherwise both results may be off by their own rounding: they agree within twice the tolerance.
    Known differences of the library that was recorded are told as such.

    Parameters
    ----------
    golden
        Of :func:`~portadnn.diff.golden.read`.
    handles
        Targets by name.
    advance
        Told after each case.
    """
    began = time.monotonic()
    report = RunReport({RECORDED: golden.target, **{name: facts_of(handle) for name, handle in handles.items()}})
    report.settings, report.environment, report.started = {"created": golden.created}, environment(), now()
    for entry in golden.entries:
        report.results.append(_examine(entry, handles, str(golden.target.get("backend", ""))))
        advance()
    report.seconds = time.monotonic() - began
    return report


def _examine(entry: Entry, handles: Mapping[str, Handle], recorded: str) -> CaseResult:
    case = Case.parse(entry.case)
    if inputs_digest(case) != entry.inputs:
        why = "its inputs are not those that were recorded: the formula has changed"
        return CaseResult(entry.case, Verdict.ERROR, (), why)
    buffers = make_buffers(case)
    if entry.status != case.expect:
        kind = Verdict.UNSUPPORTED if entry.status in REFUSALS else Verdict.SKIPPED
        return CaseResult(entry.case, kind, (), f"recorded as {entry.status}: {entry.message}")
    expected = expect(case, buffers) if entry.outputs else None
    ran = {name: run(handle, case, buffers) for name, handle in handles.items()}
    judgements = [_judge(name, case, entry, one, expected) for name, one in ran.items()]
    for one in judgements:
        theirs = known(recorded, case, shows(one), algorithm(case.problem, case.algo))
        if theirs is not None and one.verdict is Verdict.FAILED and not one.violations:
            one.verdict = Verdict.SKIPPED
            one.reason = f"known difference {theirs.id} of what was recorded: {theirs.why}: {one.reason}"
    return vote(case, judgements, {name: one for name, one in ran.items() if one.status == "SUCCESS"})


def _judge(target: str, case: Case, entry: Entry, ran: Ran, expected: Expected | None) -> Judgement:
    found = Judgement(target, Verdict.PASSED, "", ran.engine, ran.status, {}, ran.violations)
    if ran.status != entry.status:
        found.verdict = Verdict.UNSUPPORTED if ran.status in REFUSALS else Verdict.FAILED
        found.reason = f"{ran.status}, and {entry.status} was recorded: {ran.message}"
        return found
    for name, output in entry.outputs.items():
        found.differences[name] = _difference(case, name, ran, output, expected)
    if found.worst is not None:
        name, worst = found.worst
        found.verdict, found.reason = Verdict.FAILED, f"{name}: not as recorded: {worst}"
    elif ran.violations:
        found.verdict, found.reason = Verdict.FAILED, str(ran.violations[0])
    return found


def _difference(case: Case, name: str, ran: Ran, output: Output, expected: Expected | None) -> Difference:
    """Compare the kept numbers of an output, and its aggregates where not all are kept."""
    ours = np.ascontiguousarray(ran.outputs[name]).reshape(-1)
    kept = sample(name, ours.size)
    if expected is None or name not in expected.want:
        return Difference("none")
    sums = None if expected.sums is None else expected.sums.get(name)
    if sums is None and ran.error_factor != 1:
        sums = np.abs(expected.want[name])
    _, bound, unknown = bounds(
        case.problem,
        name,
        expected.want[name],
        sums,
        factor=ran.error_factor,
        transforms=ran.transforms,
        product=expected.product,
        overflows=case.data == "huge",
    )
    bound, unknown = 2 * bound.reshape(-1), unknown.reshape(-1)
    found = compare(case.problem, name, ours[kept], as_float64(output.values), bound[kept], unknown[kept])
    if not found.wrong and kept.size < ours.size and not unknown.any():
        with np.errstate(over="ignore"):
            allowed = float(bound.sum())
        gap = _aggregates_apart(aggregates(ours), output.aggregates, allowed)
        if gap:
            return replace(found, wrong=1, excess=np.inf, decided="tolerance", proves=gap)
    return found


def _aggregates_apart(ours: Mapping[str, float], theirs: Mapping[str, float], allowed: float) -> str:
    """Return which aggregate differs by more than all elements' tolerances together; "" where none does."""
    for name in ("nan", "infinite"):
        if ours[name] != theirs[name]:
            return f"{name}: {ours[name]:g} here, {theirs[name]:g} recorded"
    slack = allowed + 1e-12 * max(ours["absolute"], theirs["absolute"])
    for name in ("sum", "absolute", "largest"):
        if ours[name] != theirs[name] and abs(ours[name] - theirs[name]) > slack:
            return f"{name}: {ours[name]!r} here, {theirs[name]!r} recorded"
    return ""


__all__ = ["RECORDED", "check"]
