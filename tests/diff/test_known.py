"""Known differences: theirs, and told as such; never portadnn's own."""

from __future__ import annotations

import pytest
from lies import lying

from portadnn.capability.rules import is_fact
from portadnn.diff import Case, Verdict, examine
from portadnn.diff.data import DATA_MODES
from portadnn.diff.known import differences
from portadnn.problem import every_problem
from portadnn.registry import backend_names, default_backend_names

MEASURES = ("bits", "tolerance", "largest element's tolerance", "NaN", "infinity")
PROMISES = ("not repeatable", "failed call wrote")
STATUSES = ("BAD_PARAM", "EXECUTION_FAILED")


def test_every_difference_speaks_of_something():
    ids = [one.id for one in differences()]
    assert len(set(ids)) == len(ids) >= 20
    for one in differences():
        assert one.backend in backend_names() and one.backend not in default_backend_names()
        assert one.by <= {*MEASURES, *PROMISES, *STATUSES} and one.data <= set(DATA_MODES)
        kinds = [kind for op, kind in every_problem().items() if any(_fits(pattern, op) for pattern in one.ops)]
        assert kinds, one.id
        for condition in one.conditions:
            assert any(is_fact(condition.name, kind) for kind in kinds), (one.id, condition)


def _fits(pattern, op):
    return op.startswith(pattern[:-1]) if pattern.endswith("*") else op == pattern


def _off(problem, tensors, workspace, run):
    tensors["y"][0, 0, 0, 0] += 0.01


@pytest.mark.parametrize(
    ("backend", "line", "verdict"),
    [
        ("cudnn", "activation_forward x=f32:2x3x5x7 mode=elu", Verdict.SKIPPED),
        ("cudnn", "activation_forward x=f32:2x3x5x7 mode=relu", Verdict.FAILED),
        ("torch", "activation_forward x=f32:2x3x5x7 mode=elu", Verdict.FAILED),
        ("reference", "activation_forward x=f32:2x3x5x7 mode=elu", Verdict.FAILED),
    ],
)
def test_only_what_is_listed_is_excused(backend, line, verdict):
    with lying(_off) as handle:
        handle.backend = backend
        judgement = examine(Case.parse(line), {"one": handle}).judgements[0]
    assert judgement.verdict is verdict
    assert judgement.reason.startswith("known difference cudnn-elu") is (verdict is Verdict.SKIPPED)


def test_a_difference_excuses_no_other_failure():
    def outside(problem, tensors, workspace, run):
        tensors["x"][0, 0, 0, 0] += 1
        _off(problem, tensors, workspace, run)

    with lying(outside) as handle:
        handle.backend = "cudnn"
        line = "activation_forward x=f32:2x3x5x7 mode=elu"
        assert examine(Case.parse(line), {"one": handle}).judgements[0].verdict is Verdict.FAILED
