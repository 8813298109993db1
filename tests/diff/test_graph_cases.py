"""Random graphs as cases: the same everywhere; what is wrong is found, made small and named."""

from __future__ import annotations

import json
import signal
from contextlib import closing

import graph_engines
import pytest
from graph_engines import Broken, Writer
from typer.testing import CliRunner

import portadnn as dnn
from portadnn.cli import app
from portadnn.diff import campaign
from portadnn.diff.campaign import Setup
from portadnn.diff.generate.graphs import KINDS, random_graph
from portadnn.diff.graph_campaign import graph_runner, run_graphs, shrink_failures
from portadnn.diff.graph_cases import GraphCase, examine, random_case
from portadnn.diff.graph_shrink import shrunk
from portadnn.diff.verdict import Verdict
from portadnn.graph.node import KINDS as NODES
from portadnn.graph.plans import engines_of
from portadnn.registry import get_backend

(DEFINITION,) = get_backend("reference").graph_engines()
NOT_DRAWN = {"sdpa_fp8", "sdpa_fp8_backward"}


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


def run(count, *targets, jobs=1, timeout=30.0, shrink=True, told=lambda report: None, **options):
    """Run graphs with `options` in processes of their own and return the report."""
    setup = Setup(targets, opener=graph_engines.opened)
    with closing(graph_runner(setup, jobs=jobs, timeout=timeout)) as runner:
        report = run_graphs(runner, count, seed=1, told=told, **options)
        if shrink:
            shrink_failures(report, runner)
    return report


SMALL = {"kinds": ("unary", "binary", "reduce"), "most": 6}


def test_a_broken_engine_is_named():
    report = run(6, "broken", "reference", jobs=2, **SMALL)
    assert report.failures and not report.passed and report.complete
    assert {(one.target, one.engine) for one in report.failures} == {("broken", "broken")}
    assert all(one.node.startswith("reduction") for one in report.failures)
    assert report.verdicts["reference", "definition", "PASSED"] == report.graphs == 6
    assert report.plans["reference"] == {"runs": 12, "right": 12}  # by the definition and node by node
    assert report.plans["broken"] == {"runs": 18, "right": 18 - len(report.failures)}
    first = report.failures[0]
    assert len(first.smallest) == 1 and first.smallest[0].startswith("reduction ")
    assert [one for one in report.failures if one.script] == [first]
    compile(first.script, "script", "exec")


def test_jobs_make_no_difference():
    one, two = (run(8, "broken", jobs=jobs, shrink=False, **SMALL).as_json() for jobs in (1, 2))
    differing = {name for name in one if one[name] != two[name]}
    assert differing <= {"settings", "seconds", "started"} and one["failures"]


@pytest.mark.parametrize(
    ("target", "timeout", "why"),
    [
        ("crashes", 30, "the process was ended by SIGSEGV, with engine ending"),
        ("hangs", 0.5, "nothing for 0.5 s, with engine ending"),
        ("loses", 30, "illegal address"),
    ],
)
def test_an_end_of_a_process_costs_a_graph(target, timeout, why):
    """Each other graph, and the other target, has its results."""
    options = {**SMALL, "most": 2}
    report = run(4, target, "reference", timeout=timeout, **options)
    ended = {i for i in range(4) if any(name.startswith("reduc") for name in random_case(i, 1, **options).kinds)}
    assert 0 < len(ended) < 4 and report.graphs == 4
    assert {failure.number for failure in report.failures} == ended
    assert {failure.target for failure in report.failures} == {target}
    assert all(why in failure.message for failure in report.failures)
    assert report.plans["reference"] == {"runs": 8, "right": 8}
    assert report.verdicts[target, "ending", "PASSED"] == 4 - len(ended)
    if target != "loses":  # where there is no device any more, nothing is made small
        compile(report.failures[0].script, "script", "exec")


def test_a_graph_that_cannot_be_drawn_is_told():
    report = run(1, "reference", kinds=("no_such",))
    (failure,) = report.failures
    assert (failure.graph, failure.target) == ("1:0", "") and "no_such" in failure.message


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_ends_it_and_what_was_done_is_kept(number):
    def told(report):
        if report.graphs == 2:
            signal.raise_signal(number)

    report = run(50, "reference", told=told, **SMALL)
    assert report.graphs == 2 and report.interrupted and not report.complete
    assert report.plans["reference"]["runs"] == 4


def test_time_ends_it():
    setup = Setup(("reference",))
    with closing(graph_runner(setup)) as runner:
        report = run_graphs(runner, 10**6, seconds=0.2)
    assert report.graphs < 10**6 and not report.complete and not report.interrupted


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


def test_gaps_are_seen(monkeypatch):
    data = random_case(0, kinds=("unary",), most=1, plain=True).data
    for entry in data["tensors"]:
        entry["dims"], entry["strides"] = [2, 3], [4, 1]
    monkeypatch.setattr(type(get_backend("reference")), "graph_engines", lambda self: (DEFINITION, Writer()))
    with dnn.Handle("reference") as handle:
        found = {one.engine: one for one in examine(GraphCase("", data), handle)}
    assert found["broken"].verdict is Verdict.FAILED and "outside written" in found["broken"].message
    assert found["definition"].verdict is Verdict.PASSED


@pytest.fixture
def broken_command(monkeypatch):
    """The command, whose targets are those of the tests."""
    monkeypatch.setattr(campaign, "Setup", lambda words: Setup(words, opener=graph_engines.opened))


def invoke(*words):
    return CliRunner().invoke(app, ["diff", "graphs", *map(str, words)], env={"COLUMNS": "200"})


def test_command(tmp_path, broken_command):
    record = tmp_path / "record.json"
    ran = invoke("-t", "broken,reference", "--count", 8, "--nodes", 5, "--jobs", 2, "-o", record)
    facts = json.loads(record.read_text())
    assert facts["graphs"] == 8 and facts["targets"]["broken"]["backend"] == "reference"
    assert sum(facts["verdicts"]["broken"]["definition"].values()) == 8
    assert facts["failures"], "no reduction among eight graphs: take more"
    assert ran.exit_code == 1
    assert "reference: 16 of 16 runs of plans are right" in ran.output
    script = next(one["script"] for one in facts["failures"] if one["script"])
    assert script in ran.output
    compile(script, "script", "exec")
    ran = invoke("-t", "broken", "--count", 8, "--nodes", 5, "--no-shrink", "-o", record)
    assert not any(one["script"] for one in json.loads(record.read_text())["failures"])


def test_command_with_an_engine_that_is_right():
    ran = invoke("-t", "reference", "--count", 2, "--time", "50s")
    assert ran.exit_code == 0, ran.output
    for wrong in (("-t", "no such"), ("-t", "reference,reference"), ("--time", "soon"), ("--jobs", 0)):
        assert invoke(*wrong).exit_code == 2, wrong
