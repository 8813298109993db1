"""Which cases prove something: those whose exact result is not such as nearly any wrong one would be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .cases import Case
from .inputs import make_buffers
from .running import Ran
from .verdict import differences, expect

PATIENCE = 64  # cases in a row that prove nothing, after which one is taken as it is


def proves_nothing(case: Case) -> str:
    """Return why right results of a case prove nothing, such as ``"c: all zeros"``; "" where one does.

    A factor of 0 leaves zeros, the smaller of two numbers one of which is 0 often does: ``op_tensor`` with
    ``alpha1=0`` for instance.
    """
    if case.expect != "SUCCESS":
        return ""
    problem, due = case.problem, expect(case, make_buffers(case))
    dtypes = dict(zip(problem.names, (spec.dtype for spec in problem.tensors), strict=True))
    right = Ran("SUCCESS", outputs={name: dtypes[name].stored(want) for name, want in due.want.items()})
    found = differences(case, right, due)
    if not found or not all(one.proves or not one.size for one in found.values()):
        return ""
    return "; ".join(f"{name}: {one.proves or 'empty'}" for name, one in found.items())


def proving(cases: Iterable[Case]) -> Iterator[Case]:
    """Yield the cases that prove something, and of an operation none of whose cases do every `PATIENCE`-th."""
    vain = 0
    for case in cases:
        vain = vain + 1 if proves_nothing(case) else 0
        if not vain or vain % PATIENCE == 0:
            yield case


__all__ = ["proves_nothing", "proving"]
