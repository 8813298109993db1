"""Rules about call sequences on logs, in which every number is known: calls made by hand."""

from __future__ import annotations

from dataclasses import replace

from checking import make

from portadnn.migrate.events import Event
from portadnn.migrate.findings import Finding
from portadnn.migrate.model import effects
from portadnn.migrate.model.state import Deed, State
from portadnn.migrate.rules.engine import Judge

GEMM = "CUDNN_CONVOLUTION_FWD_ALGO_GEMM"


def judged(*events: Event) -> list[Finding]:
    judge, state = Judge("miopen-3"), State()
    journal: dict[int, Deed] = {}
    for event in events:
        logged = replace(event, origin="log")
        judge.call(logged, state, journal)
        effects.apply(logged, state, journal, lambda path, value: None)
    judge.finish(state, journal)
    return [finding for finding in judge.findings if finding.rule in {"S01", "S06", "S07", "S14"}]


FIND = make(1, "cudnnFindConvolutionForwardAlgorithm", "h", "x", "w", "c", "y", 1, None, None)
QUERY = make(2, "cudnnGetConvolutionForwardWorkspaceSize", "h", "x", "w", "c", "y", GEMM, None)
RUN = make(3, "cudnnConvolutionForward", "h", 1.0, "x", 4096, "w", 8192, "c", GEMM, 99, 64, 0.0, "y", 16384)


def test_an_algorithm_after_find_is_no_choice_of_the_program() -> None:
    assert [(f.rule, f.place.line) for f in judged(FIND, QUERY, RUN)] == [("S06", 2)]


def test_an_algorithm_that_nothing_chose_before() -> None:
    missing, fixed = judged(RUN)
    assert (missing.rule, missing.certainty) == ("S01", "proven")
    assert "nothing in what was checked searches for algorithms" in missing.message
    assert (fixed.rule, fixed.severity) == ("S14", "W")


def test_a_size_that_was_asked_for_nothing_chosen() -> None:
    assert [f.rule for f in judged(QUERY)] == []
