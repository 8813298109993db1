"""Verdicts: what each target did with a case, and what the targets together say."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import capability
from ..bfloat16 import as_float64
from ..errors import DnnError
from ..handle import Handle
from ..operation import operation
from ..problem import Problem
from ..registry import default_backend_names
from .cases import Case
from .compare import Difference, bounds, compare
from .data import FINITE, LARGEST_WHOLE, exact_results
from .inputs import Buffers, make_buffers
from .known import known
from .oracle import exact, terms
from .running import NoSuchEngine, Ran, Violation, algorithm, run, status_of

REFUSALS = ("NOT_SUPPORTED", "ARCH_MISMATCH")


class Verdict(str, enum.Enum):
    """What can be said of a target, or of a case."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    MISTRUSTED = "MISTRUSTED"
    UNSUPPORTED = "UNSUPPORTED"
    ERROR = "ERROR"


@dataclass
class Judgement:
    """What came of a case on one target.

    Attributes
    ----------
    target : str
    verdict : Verdict
    reason : str
        Why, in a sentence; "" where it passed.
    engine : str
        What computed it.
    status : str
        How the call ended.
    differences : dict of str to Difference
        By output.
    violations : list of Violation
        Broken promises that are not about numbers.
    seconds : float or None
        Device time of a call, where it was measured.
    """

    target: str
    verdict: Verdict
    reason: str = ""
    engine: str = ""
    status: str = "SUCCESS"
    differences: dict[str, Difference] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)
    seconds: float | None = None

    @property
    def worst(self) -> tuple[str, Difference] | None:
        """The output that is off by most times its tolerance, and how; None where all are right."""
        wrong = [(name, found) for name, found in self.differences.items() if found.wrong]
        return max(wrong, key=lambda item: item[1].excess) if wrong else None


@dataclass
class CaseResult:
    """What came of a case.

    Attributes
    ----------
    case : str
        The case's line.
    verdict : Verdict
        FAILED where a target failed, ERROR where one broke, MISTRUSTED where all that there is to compare proves
        nothing, UNSUPPORTED or SKIPPED where no target computed it, else PASSED.
    blamed : tuple of str
        Targets that are wrong. ``"reference"`` where all others agree with each other and not with it.
    reason : str
    judgements : list of Judgement
        In the order of the targets.
    """

    case: str
    verdict: Verdict
    blamed: tuple[str, ...] = ()
    reason: str = ""
    judgements: list[Judgement] = field(default_factory=list)

    def _repr_html_(self) -> str:
        """Show in notebooks what each target did."""
        from .._page.cells import table

        head = ("target", "verdict", "engine", "output", "times the tolerance", "why")
        rows = []
        for one in self.judgements:
            found: list[Any] = [(name, off.excess) for name, off in one.differences.items()] or [("", None)]
            rows += [(one.target, one.verdict.value, one.engine, *measured, one.reason) for measured in found]
        return table(f"{self.verdict.value}: {self.case}", head, rows, note=self.reason)


@dataclass
class Expected:
    """The exact results of a case and what rounding errors are measured by; computed once for all targets.

    Attributes
    ----------
    want : dict of str to numpy.ndarray
        Exact numbers by output.
    sums : dict or None
        Sums of absolute terms by output; None where results have to be exact.
    product : float
        Largest product of two factors; infinite where an input holds NaN or infinities.
    failure : str
        Why there is nothing to compare with.
    """

    want: dict[str, npt.NDArray[Any]]
    sums: dict[str, npt.NDArray[Any]] | None = None
    product: float = 0.0


def expect(case: Case, buffers: Buffers) -> Expected:
    """Compute what is due for a case."""
    problem, numbers = case.problem, case.numbers
    tensors = [buffers[name].array.copy() for name in problem.names]
    want = exact(problem, tensors, numbers)
    opaque = operation(problem.op).data.opaque
    want = {name: value for name, value in want.items() if name not in opaque}
    small = all(abs(fill.value) <= LARGEST_WHOLE and not fill.value % 1 for fill in case.fills.values())
    if case.data == "exact" and small and exact_results(problem, numbers):
        return Expected(want)
    with np.errstate(all="ignore"):
        largest = [
            np.abs(as_float64(t)).max(initial=0.0)
            for t, name in zip(tensors, problem.names, strict=True)
            if name not in problem.unread(numbers)
        ]
        product = abs(next(iter(numbers.values()), 1.0)) * float(np.prod(largest[:2]))
    if not np.all(np.isfinite(largest)):
        product = np.inf
    return Expected(want, terms(problem, tensors, numbers), product)


def judge(target: str, handle: Handle, case: Case, ran: Ran, expected: Expected | None) -> Judgement:
    """Judge what came of a case on one target.

    Parameters
    ----------
    expected
        Of :func:`expect`; None for a case that must fail.
    """
    found = _judge(target, handle, case, ran, expected)
    if found.verdict in (Verdict.FAILED, Verdict.ERROR):
        theirs = known(handle.backend, case, shows(found), algorithm(case.problem, case.algo), handle)
        if theirs is not None:
            found.verdict = Verdict.SKIPPED
            found.reason = f"known difference {theirs.id}: {theirs.why}: {found.reason}"
    return found


def shows(found: Judgement) -> dict[str, None]:
    """Return the measures, broken promises and statuses by which a judgement fails."""
    wrong = [difference.decided for difference in found.differences.values() if difference.wrong]
    promises = [violation.kind for violation in found.violations]
    status = [] if found.status == "SUCCESS" else [found.status]
    return dict.fromkeys((*wrong, *promises, *status))


def _judge(target: str, handle: Handle, case: Case, ran: Ran, expected: Expected | None) -> Judgement:
    found = Judgement(target, Verdict.PASSED, "", ran.engine, ran.status, {}, ran.violations, ran.seconds)
    if ran.status != case.expect:
        return _other_status(found, handle, case, ran)
    if expected is not None:
        found.differences = differences(case, ran, expected)
    if found.worst is not None:
        name, worst = found.worst
        found.verdict, found.reason = Verdict.FAILED, f"{name}: {worst}{_poison(case, worst)}"
    elif ran.violations:
        found.verdict, found.reason = Verdict.FAILED, str(ran.violations[0])
    elif found.differences and all(d.proves or not d.size for d in found.differences.values()):
        found.verdict = Verdict.MISTRUSTED
        found.reason = "; ".join(f"{name}: {d.proves or 'empty'}" for name, d in found.differences.items())
    return found


def _poison(case: Case, worst: Difference) -> str:
    """Return a hint where a NaN came out that only the destination's poison can explain."""
    if worst.decided == "NaN" and np.isnan(worst.got) and case.data in FINITE and case.problem.unread(case.numbers):
        return "; a tensor that must not be read (beta = 0) held NaN"
    return ""


def _other_status(found: Judgement, handle: Handle, case: Case, ran: Ran) -> Judgement:
    """Judge a call that did not end as the case expects."""
    said = f"{ran.status}: {ran.message}" if ran.status != "SUCCESS" else "the call succeeded"
    if case.expect != "SUCCESS":
        if ran.status in REFUSALS and handle.backend not in default_backend_names():  # another library's reasons
            found.verdict, found.reason = Verdict.UNSUPPORTED, said
        else:
            found.verdict, found.reason = Verdict.FAILED, f"{case.expect} was due: {said}"
    elif ran.status in REFUSALS:
        found.verdict, found.reason = Verdict.UNSUPPORTED, ran.message
        if not case.engine and _promised(handle, case):
            found.verdict = Verdict.FAILED
            found.reason = f"refused, though {handle.backend}'s capability table says yes: {ran.message}"
    else:
        found.verdict, found.reason = (Verdict.FAILED if ran.status in _STATUSES else Verdict.ERROR), said
    if ran.violations and found.verdict is Verdict.UNSUPPORTED:
        found.verdict, found.reason = Verdict.FAILED, str(ran.violations[0])
    return found


_STATUSES = ("BAD_PARAM", "ALLOC_FAILED", "INTERNAL_ERROR", "EXECUTION_FAILED", "NOT_INITIALIZED")


def _promised(handle: Handle, case: Case) -> bool:
    """Tell whether the capability table of a backend says yes to a case; another library's is what was seen of it."""
    if handle.backend not in default_backend_names() or handle.backend not in capability.table_names():
        return False
    problem = case.problem
    found = capability.table(handle.backend).judge(
        problem, case.numbers, algo=algorithm(problem, case.algo), device=handle.info
    )
    return found.answer == "yes"


def differences(case: Case, ran: Ran, expected: Expected) -> dict[str, Difference]:
    """Compare every output of a run with what is due."""
    problem = case.problem
    found = {}
    factors = [abs(number) for name, number in case.numbers.items() if name.startswith("alpha") and name != "alpha2"]
    for name, want in expected.want.items():
        sums = None if expected.sums is None else expected.sums.get(name)
        if ran.error_factor != 1 and sums is None:
            sums = np.abs(want)
        due, bound, unknown = bounds(
            problem,
            name,
            want,
            sums,
            factor=ran.error_factor,
            transforms=ran.transforms,
            product=expected.product,
            overflows=case.data == "huge",
            scale=min([1.0, *factors]),
        )
        difference = compare(problem, name, ran.outputs[name], due, bound, unknown)
        if ran.error_factor != 1 and difference.decided == "tolerance":
            difference = replace(difference, decided="largest element's tolerance")
        found[name] = difference
    return found


def vote(case: Case, judgements: Sequence[Judgement], runs: Mapping[str, Ran]) -> CaseResult:
    """Say what the targets together say of a case.

    Parameters
    ----------
    runs
        By target; of those at least whose numbers are wrong.
    """
    result = CaseResult(str(case), Verdict.PASSED, (), "", list(judgements))
    kinds = [j.verdict for j in judgements]
    failed = [j for j in judgements if j.verdict in (Verdict.FAILED, Verdict.ERROR)]
    if failed:
        numeric = [j for j in failed if j.worst is not None]
        others = [j for j in judgements if j.verdict is Verdict.PASSED and j.differences]
        independent = [j for j in numeric if not j.target.startswith("reference")]
        if len(independent) > 1 and len(numeric) == len(failed) and not _without_reference(others):
            outputs = [runs[j.target].outputs for j in independent]
            if all(_alike(case.problem, a, b) for a, b in itertools.combinations(outputs, 2)):
                result.verdict, result.blamed = Verdict.FAILED, ("reference",)
                agree = ", ".join(j.target for j in independent)
                result.reason = f"{agree} agree with each other, and not with the exact result; {failed[0].reason}"
                return result
        result.blamed = tuple(j.target for j in failed)
        result.verdict = Verdict.ERROR if all(j.verdict is Verdict.ERROR for j in failed) else Verdict.FAILED
        result.reason = f"{failed[0].target}: {failed[0].reason}"
        return result
    for verdict in (Verdict.PASSED, Verdict.MISTRUSTED, Verdict.UNSUPPORTED, Verdict.SKIPPED):
        if verdict in kinds:
            result.verdict = verdict
            result.reason = next((j.reason for j in judgements if j.verdict is verdict), "")
            break
    return result


def _without_reference(judgements: Sequence[Judgement]) -> list[Judgement]:
    return [j for j in judgements if not j.target.startswith("reference")]


def _alike(problem: Problem, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether two targets' outputs are the same but for what rounding makes of ordinary sums."""
    for name in one.keys() & other.keys():
        a, b = as_float64(one[name]), as_float64(other[name])
        dtype = problem.tensors[problem.index(name)].dtype
        near = 64 * dtype.limits.eps if dtype.is_float else 0.0
        with np.errstate(all="ignore"):
            scale = np.abs(a).max(initial=0.0, where=np.isfinite(a))
            if not np.all((np.abs(a - b) <= near * scale) | (a == b) | (np.isnan(a) & np.isnan(b))):
                return False
    return True


def attempt(
    case: Case,
    handles: Mapping[str, Handle],
    *,
    perf: bool = False,
    expected: Callable[[Case, Buffers], Expected] = expect,
    tell: Callable[[str], None] | None = None,
) -> tuple[list[Judgement], dict[str, Ran]]:
    """Run a case on some targets; return a judgement of each, and the runs that :func:`vote` needs.

    Parameters
    ----------
    handles
        Opened targets by the names that reports call them.
    perf
        Measure times as well.
    expected
        Makes what is due, as :func:`expect` does.
    tell
        Called with each target's name before the case runs there, and with "" before the exact result is computed.

    Raises
    ------
    BadParam, NotSupported
        The case's line is none.
    """
    tell = tell or (lambda name: None)
    tell("")
    buffers = make_buffers(case)
    due = expected(case, buffers) if case.expect == "SUCCESS" else None
    judgements: list[Judgement] = []
    runs: dict[str, Ran] = {}
    for name, handle in handles.items():
        tell(name)
        try:
            ran = run(handle, case, buffers, perf=perf)
        except Exception as error:  # of the second run, or of a device that has no memory left
            ran = Ran(status_of(error), str(error) or type(error).__name__)
        if case.engine and ran.status == "NOT_SUPPORTED" and not ran.engine:
            judgements.append(Judgement(name, Verdict.SKIPPED, ran.message, status=ran.status))
            continue
        judgements.append(judge(name, handle, case, ran, due))
        if judgements[-1].worst is not None:
            runs[name] = ran
    return judgements, runs


def examine(case: Case, handles: Mapping[str, Handle], *, perf: bool = False) -> CaseResult:
    """Run a case on every target and return what came of it.

    Parameters
    ----------
    handles
        Opened targets by the names that reports call them.
    perf
        Measure times as well.

    Raises
    ------
    BadParam, NotSupported
        The case's line is none.
    """
    return vote(case, *attempt(case, handles, perf=perf))


__all__ = [
    "CaseResult",
    "DnnError",
    "Expected",
    "Judgement",
    "NoSuchEngine",
    "Verdict",
    "attempt",
    "examine",
    "expect",
    "judge",
    "vote",
]
