"""Random graphs as cases: the same everywhere; what is wrong is found, made small and named."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import portadnn as dnn
from portadnn.cli import app
from portadnn.diff import graph_campaign
from portadnn.diff.generate.graphs import KINDS, random_graph
from portadnn.diff.graph_cases import GraphCase, examine, random_case
from portadnn.diff.graph_shrink import shrunk
from portadnn.diff.targets import Target
from portadnn.diff.verdict import Verdict
from portadnn.graph.engine import GraphEngine, GraphPlan
from portadnn.graph.node import KINDS as NODES
from portadnn.graph.plans import engines_of
from portadnn.registry import get_backend

(DEFINITION,) = get_backend("reference").graph_engines()
NOT_DRAWN = {"sdpa_fp8", "sdpa_fp8_backward"}


class Broken(GraphEngine):
    """By definition, but that a reduction's last number is 1 more than it should be."""

    name = "broken"

    def __init__(self, kind="reduction"):
        self.kind = kind

    def why_not(self, graph, handle):
        return DEFINITION.why_not(graph, handle)

    def seconds(self, graph, handle):
        return 0.0

    def prepare(self, graph, handle):
        plan = DEFINITION.prepare(graph, handle)
        wrong = [uid for each in graph.operations if each.kind == self.kind for _, uid in each.outputs]

        def run(arrays, workspace):
            plan.run(arrays, workspace)
            for uid in wrong:
                if not graph.by_uid[uid].virtual:
                    info = graph.by_uid[uid]
                    last = (-1,) * len(info.dims)
                    arrays[uid][last] = info.data_type.stored(info.data_type.loaded(arrays[uid][last]) + 1)

        return GraphPlan(self, graph, 0, run)


@pytest.fixture
def broken(monkeypatch):
    """The reference, with an engine that is off."""
    monkeypatch.setattr(type(get_backend("reference")), "graph_engines", lambda self: (DEFINITION, Broken()))


def test_the_same_graph_for_the_same_number():
    for number in range(40):
        one, other = random_case(number, 5), random_case(number, 5)
        assert one == other
    assert len({str(random_case(number, seed).data) for number in range(20) for seed in (0, 1)}) == 40


def test_all_operations_are_drawn():
    drawn = {node.kind.name for number in range(700) for node in random_graph(number).graph.nodes}
    assert set(NODES) - drawn == NOT_DRAWN


@pytest.mark.parametrize("kind", sorted(set(KINDS)))
def test_graphs_can_be_read_again(kind):
    """What a file says is the same graph, whatever its nodes are."""
    with dnn.Handle("reference") as handle:
        for number in range(8):
            drawn = random_graph(number, kinds=(kind, "unary"), most=4)
            case = GraphCase("", random_case(number, kinds=(kind, "unary"), most=4).data)
            assert case.opened(handle)._graph_frozen().digest == drawn.graph.freeze().digest


def test_the_definition_is_right():
    with dnn.Handle("reference") as handle:
        for number in range(12):
            found = [one.verdict for one in examine(random_case(number, 2), handle)]
            assert found and set(found) <= {Verdict.PASSED, Verdict.MISTRUSTED}, number
        assert [engine.name for engine in engines_of(handle)] == ["definition", "fallback"]


def test_a_broken_engine_is_named(broken):
    report = graph_campaign.run_graphs([Target("reference")], 6, seed=1, kinds=("unary", "binary", "reduce"), most=6)
    assert report.failures and not report.passed
    assert {one.engine for one in report.failures} == {"broken"}
    assert all(one.node.startswith("reduction") for one in report.failures)
    assert report.verdicts["reference", "definition", "PASSED"] == report.graphs == 6
    first = report.failures[0]
    assert len(first.smallest) == 1 and first.smallest[0].startswith("reduction ")
    assert [one for one in report.failures if one.script] == [first]


def test_the_smallest_graph_is_one_number(broken):
    """Nodes, dims and layouts that have nothing to do with it go."""
    with dnn.Handle("reference") as handle:

        def fails(case):
            return any(one.verdict is Verdict.FAILED for one in examine(case, handle, ["broken"]))

        number = next(i for i in range(50) if fails(random_case(i, 3, kinds=("reduce", "binary", "transpose"))))
        case = random_case(number, 3, kinds=("reduce", "binary", "transpose"))
        least = shrunk(case, fails)
    assert [each["kind"] for each in least.data["operations"]] == ["reduction"]
    assert all(size == 1 for each in least.data["tensors"] for size in each["dims"])


class Writer(Broken):
    """By definition, and then 0 between the elements of results."""

    def prepare(self, graph, handle):
        plan = DEFINITION.prepare(graph, handle)

        def run(arrays, workspace):
            plan.run(arrays, workspace)
            for uid in graph.written:
                kept = arrays[uid].copy()
                span = (graph.by_uid[uid].span,)
                np.lib.stride_tricks.as_strided(arrays[uid], span, (kept.itemsize,))[:] = 0
                arrays[uid][...] = kept

        return GraphPlan(self, graph, 0, run)


def test_gaps_are_seen(monkeypatch):
    data = random_case(0, kinds=("unary",), most=1, plain=True).data
    for entry in data["tensors"]:
        entry["dims"], entry["strides"] = [2, 3], [4, 1]
    monkeypatch.setattr(type(get_backend("reference")), "graph_engines", lambda self: (DEFINITION, Writer()))
    with dnn.Handle("reference") as handle:
        found = {one.engine: one for one in examine(GraphCase("", data), handle)}
    assert found["broken"].verdict is Verdict.FAILED and "outside written" in found["broken"].message
    assert found["definition"].verdict is Verdict.PASSED


def test_command(tmp_path, broken):
    record = tmp_path / "record.json"
    words = ["diff", "graphs", "-t", "reference", "--count", "8", "--nodes", "5", "-o", str(record)]
    ran = CliRunner().invoke(app, words)
    facts = json.loads(record.read_text())
    assert facts["graphs"] == 8 and facts["targets"]["reference"]["backend"] == "reference"
    assert sum(facts["verdicts"]["reference"]["definition"].values()) == 8
    assert ran.exit_code == (1 if facts["failures"] else 0)
    assert facts["failures"], "no reduction among eight graphs: take more"
    script = next(one["script"] for one in facts["failures"] if one["script"])
    assert script in ran.output
    compile(script, "script", "exec")


def test_command_with_an_engine_that_is_right():
    ran = CliRunner().invoke(app, ["diff", "graphs", "-t", "reference", "--count", "2", "--time", "50s"])
    assert ran.exit_code == 0, ran.output
    assert CliRunner().invoke(app, ["diff", "graphs", "-t", "no such"]).exit_code == 2
