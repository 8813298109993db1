"""The support table is what the engines say today, and its handles on paper say what real ones do."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_graph_fallback import over

from portadnn.graph.node import KINDS
from portadnn.graph.patterns import PATTERNS
from portadnn.graph.plans import engines_of
from portadnn.graph.pointwise_modes import MODES
from portadnn.graph.support.cases import cases, computes
from portadnn.graph.support.on_paper import PaperHandle
from portadnn.graph.support.table import TYPES, table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "graph-support.md"


@pytest.fixture(scope="module")
def page():
    return table()


@pytest.mark.long
def test_the_page_is_current(page):
    assert PAGE.read_text(encoding="utf-8") == page, "python -m portadnn.graph.support > docs/graph-support.md"


@pytest.mark.long
def test_everything_is_asked_and_runs(page):
    """All kinds, modes and patterns are there, and FALLBACK has a plan for each."""
    known = list(cases())
    assert {case.kind for case in known} == set(KINDS)
    assert {case.attributes["mode"] for case in known if case.kind == "pointwise"} == set(MODES)
    for name in PATTERNS:
        assert f"\n| {name} |" in page
    for kind in TYPES:
        assert f" {kind} |" in page
    assert "none" not in page


@over(["FLOAT", "HALF", "FP8_E4M3", "INT8"])
def test_handles_on_paper_say_what_real_ones_say(handle, name):
    """Asked of a real device of the same sort, each engine gives the same answer."""
    sort = handle.backend if handle.backend in ("cuda", "hip") else f"opencl, {handle.info.schedule.upper()}"
    paper = PaperHandle(sort)
    asked = 0
    for case in list(cases())[::7]:
        try:
            graph = case.graph(name, "rows", computes(name)[0])
        except ValueError:
            continue
        for real, other in zip(engines_of(handle), engines_of(paper), strict=True):
            assert bool(real.reasons(graph, handle.info)) == bool(other.reasons(graph, paper.info)), (
                case.label,
                real.name,
            )
            asked += 1
    assert asked > 20
