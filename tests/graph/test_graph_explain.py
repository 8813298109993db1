"""``explain``: every engine's reasons, all of them, as text, as data and in the exception."""

from __future__ import annotations

import json

import pytest
from graphs import given, new

import portadnn.graph as cudnn
from portadnn.graph.engine import GraphEngine, GraphPlan, SupportRule
from portadnn.graph.rules import fail
from portadnn.registry import get_backend
from portadnn_backends.base import Run

N = cudnn.numerical_note


def no_relu(graph, info):
    for operation in graph.operations:
        if operation["mode"] is cudnn.pointwise_mode.RELU_FWD:
            yield fail("PG-ENGINE-002", node=operation.label, expected="no RELU", got="RELU", fix="use tanh")


def even_dims(graph, info):
    for one in graph.infos:
        if any(d % 2 for d in one.dims):
            yield fail("PG-ENGINE-004", tensor=one.describe(), expected="even dims", got=list(one.dims), fix="pad it")


class Picky(GraphEngine):
    name = "picky"
    modes = frozenset({cudnn.heur_mode.A})
    numerical_notes = frozenset({N.WINOGRAD})
    rules = (
        SupportRule("PG-ENGINE-002", "no relu", no_relu),
        SupportRule("PG-ENGINE-004", "even dims", even_dims),
        SupportRule("PG-ENGINE-005", "a device", lambda graph, info: ()),
    )

    def estimate(self, graph, info):
        return 2e-6

    def knobs(self, graph, info):
        return (cudnn.knob(cudnn.knob_type.STAGES, 4, 1),)

    def remarks(self, graph, info):
        return [fail("PG-ENGINE-005", node=graph.operations[0].label, got="a slow step")]

    def tuned(self, graph, device, knobs):
        return GraphPlan(graph, self, 640, Run(lambda arrays, numbers, workspace: None))


@pytest.fixture(autouse=True)
def picky(monkeypatch):
    """Handles of the reference have the picky engine, and the fallback, which takes what its kernels have."""
    monkeypatch.setattr(type(get_backend("reference")), "graph_engines", lambda self: [Picky()])


def graph_of(size, method="tanh"):
    """Two nodes on tensors of one dim: one of the mode and erf, which the fallback's kernels do not have."""
    g = new(name="small")
    x = given(g, (size,), name="x")
    g.erf(getattr(g, method)(x, name="act"), name="last").set_output(True).set_name("y")
    return g


def test_all_rules_of_all_engines():
    found = graph_of(3, "relu").explain().as_dict()
    assert (found["graph"], found["backend"], found["supported"]) == ("small", "reference", False)
    picky, fallback = found["engines"][:2]
    assert [reason["id"] for reason in picky["reasons"]] == ["PG-ENGINE-002", *["PG-ENGINE-004"] * 3]
    assert picky["reasons"][0] == {
        "id": "PG-ENGINE-002",
        "message": cudnn.RULES["PG-ENGINE-002"].meaning,
        "node": "pointwise 'act'",
        "tensor": None,
        "argument": None,
        "expected": "no RELU",
        "got": "RELU",
        "fix": "use tanh",
        "reasons": [],
    }
    assert [reason["tensor"].split("'")[1] for reason in picky["reasons"][1:]] == ["x", "act::OUT_0", "y"]
    assert [rule["broken"] for rule in picky["rules"]] == [1, 3, 0]
    assert picky["seconds"] is None
    assert (fallback["engine"], fallback["takes"]) == ("fallback", False)
    assert [reason["node"] for reason in fallback["reasons"]] == ["pointwise 'last'"]


def test_the_text_has_it_all():
    text = str(graph_of(3, "relu").explain())
    for words in ("does not run", "picky does not take it", "no RELU", "fix: pad it", "'last'"):
        assert words in text
    text = str(graph_of(4).explain())
    for words in ("picky takes it, about 2.0 us (heuristics A)", "note WINOGRAD", "knob STAGES", "slowly", "slow step"):
        assert words in text


def test_a_graph_that_an_engine_takes():
    g = graph_of(4)
    before = g.explain()
    assert (before.supported, before.plan) == (True, None)
    g.build()
    assert g.explain().plan == "eng_picky"
    data = json.loads(g.explain().to_json())["engines"][0]
    assert data["takes"]
    assert (data["notes"], data["modes"]) == (["WINOGRAD"], ["A"])
    assert data["knobs"] == ["STAGES from 1 to 4"]


@pytest.mark.parametrize(
    ("exclude", "word"),
    [
        (lambda g: g.deselect_numeric_notes([N.WINOGRAD]), "WINOGRAD"),
        (lambda g: g.select_numeric_notes([N.FFT]), "FFT"),
        (lambda g: g.deselect_engines(["icky"]), "icky"),
        (lambda g: g.deselect_workspace_greater_than(600), "640"),
    ],
)
def test_filters_count(exclude, word):
    g = exclude(graph_of(4)).deselect_engines(["fallback"])
    found = g.explain()
    assert not found.supported
    assert found.answers[0].takes
    assert word in str(found)
    with pytest.raises(cudnn.cudnnGraphNotSupportedError, match=word) as caught:
        g.build()
    assert caught.value.explanation.as_dict() == found.as_dict()


def test_the_exception_has_the_same():
    g = graph_of(3, "relu")
    with pytest.raises(cudnn.cudnnGraphNotSupportedError) as caught:
        g.build()
    explained = g.explain()
    assert caught.value.explanation.as_dict() == explained.as_dict()
    assert caught.value.as_dict()["explanation"] == explained.as_dict()
    for line in explained.refusals().splitlines():
        assert line in str(caught.value)
    assert json.loads(json.dumps(caught.value.as_dict()))["explanation"]["supported"] is False


def test_a_wrong_graph_is_no_question_of_engines():
    g = new()
    g.relu(given(g, (3,)))
    with pytest.raises(cudnn.GraphValidationError):
        g.explain()


def test_reasons_alike_share_a_line():
    g = new()
    x = given(g, (4,))
    for _ in range(9):
        x = g.relu(x)
    x.set_output(True)
    explanation = g.explain()
    answer = explanation.answers[0]
    assert sum(reason.id == "PG-ENGINE-002" for reason in answer.reasons) == 9
    (line,) = [line for line in str(explanation).splitlines() if "expected no RELU" in line]
    assert line.endswith("(the same for pointwise '1', pointwise '2' and 6 more)")
