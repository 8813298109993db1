"""Random graphs as cases: the same everywhere; what is wrong is found, made small and named."""

from __future__ import annotations

import json
import signal
from collections import Counter
from contextlib import closing

import graph_engines
import numpy as np
import pytest
from graph_engines import Broken, Writer
from typer.testing import CliRunner

import portadnn as dnn
from portadnn.cli.main import app
from portadnn.diff import campaign
from portadnn.diff.campaign import Setup
from portadnn.diff.generate.graphs import KINDS, random_graph
from portadnn.diff.graphs.campaign import graph_runner, run_graphs, shrink_failures
from portadnn.diff.graphs.cases import GraphCase, case_of_line, examine, random_case, reproducer
from portadnn.diff.graphs.shrink import shrunk
from portadnn.diff.verdict import Verdict
from portadnn.graph.engine import GraphPlan
from portadnn.graph.enums import diagonal_alignment
from portadnn.graph.node import KINDS as NODES
from portadnn.graph.plans import engines_of
from portadnn.graph.sample import special
from portadnn.graph.support.cases import cases
from portadnn.registry import get_backend
from portadnn_backends.base import Run

(DEFINITION,) = get_backend("reference").graph_engines()


@pytest.fixture
def broken(monkeypatch):
    """The reference, with an engine that is off."""
    monkeypatch.setattr(type(get_backend("reference")), "graph_engines", lambda self: (DEFINITION, Broken()))


def test_the_same_graph_for_the_same_number():
    for number in range(40):
        one, other = random_case(number, 5), random_case(number, 5)
        assert one == other
    assert len({str(random_case(number, seed).data) for number in range(20) for seed in (0, 1)}) == 40


TELLING = ("mode", "reshape_mode", "distribution", "phase", "generate_index", "use_stats", "use_padding_mask")
OPTIONS = ("left_bound", "right_bound", "use_alibi_mask", "dropout_probability", "generate_stats", "use_padding_mask")
PORTS = ("BIAS", "SINK_TOKEN", "DROPOUT_MASK", "SEED", "RNG_DUMP")


def told_of(kind, attributes, inputs):
    """Return what the table of support tells apart: kind, modes and the options that count."""
    told = {name: attributes.get(name) for name in TELLING}
    told["dropout"] = attributes.get("dropout_probability") is not None
    if kind == "conv_fprop":
        x, w = inputs["X"], inputs["W"]
        told |= {"grouped": x[1] != w[1], "spatial": len(x) - 2}
        pads = [attributes.get(name, ()) for name in ("pre_padding", "post_padding")]
        told["uneven"] = list(pads[0]) != list(pads[1])
    return (kind, *((name, value) for name, value in told.items() if value))


def drawn_nodes(count):
    return (node for number in range(count) for node in random_graph(number).graph.nodes)


def test_all_operations_are_drawn():
    """Every row of the table of support, and every kind of node."""
    wanted = {told_of(c.kind, c.attributes, c.inputs): c.label for c in cases()}
    drawn = Counter()
    for node in drawn_nodes(2500):
        inputs = {port: one.dims for port, one in node.inputs.items()}
        drawn[told_of(node.kind.name, node.attributes, inputs)] += 1
    assert len(wanted) > 90
    assert not [label for told, label in wanted.items() if not drawn[told]]
    assert set(NODES) == {told[0] for told in drawn}


@pytest.mark.parametrize("kind", ["sdpa", "sdpa_backward", "sdpa_fp8", "sdpa_fp8_backward"])
def test_all_of_attention_is_drawn(kind):
    """Masks, lengths, pages, dropout, results beside the main one, and tensors without padding."""
    seen = Counter()
    nodes = (n for number in range(500) for n in random_graph(number, kinds=("attention", "fp8_attention")).graph.nodes)
    for node in nodes:
        if node.kind.name == kind:
            ports = {**node.inputs, **node.outputs}
            seen.update([*ports, *(name for name in OPTIONS if node.attributes.get(name) not in (None, False))])
            seen.update(["bottom right"] if node["diagonal_alignment"] is diagonal_alignment.BOTTOM_RIGHT else [])
            seen.update(f"{port} ragged" for port, one in ports.items() if one.get_ragged_offset() is not None)
            seen.update(["shared"] if node.dims("Q")[1] > node.dims("V")[1] else [])
    forward = ("BLOCK_MASK", "PAGE_TABLE_K", "PAGE_TABLE_V", "MAX", "SUM_EXP", "STATS", "Q ragged", "O ragged")
    forward += ("CU_SEQ_LEN_Q", "CU_SEQ_LEN_KV")
    more = ("DBIAS", "DSINK_TOKEN", "DQ ragged", "K ragged") if "backward" in kind else (*forward, "generate_stats")
    wanted = [*PORTS, *OPTIONS[:4], "use_padding_mask", "bottom right", "shared", *more]
    assert not [name for name in wanted if not seen[name]]


def test_numbers_that_cannot_be_any():
    """Lengths, offsets, pages and factors are such that a graph can run."""
    seen = Counter()
    for number in range(300):
        graph = random_graph(number, kinds=("attention", "fp8_attention")).graph.freeze()
        values = special(graph, 0)
        for op in graph.operations:
            tensors = {port: graph.by_uid[uid] for port, uid in (*op.inputs, *op.outputs)}
            for port, info in tensors.items():
                found = values.get(info.uid)
                if port == "SEQ_LEN_Q":
                    assert (found >= 0).all() and (found <= tensors["Q"].dims[2]).all()
                elif port in ("PAGE_TABLE_K", "PAGE_TABLE_V"):
                    assert (found >= 0).all() and (found < tensors[port[-1]].dims[0]).all()
                elif port.startswith(("SCALE_", "DESCALE_")) and not info.by_value:
                    assert (found > 0).all()
                elif port == "CU_SEQ_LEN_Q":
                    steps = np.diff(found.ravel())
                    assert found.ravel()[0] == 0
                    assert (steps >= 0).all() and (steps <= tensors["Q"].dims[2]).all()
                elif port not in ("SEQ_LEN_KV", "CU_SEQ_LEN_KV", "BLOCK_MASK"):
                    assert found is None
                if port in ("Q", "O") and info.ragged_offset is not None:
                    steps = np.diff(values[info.ragged_offset].ravel()) * info.ragged_multiplier
                    summed = "CU_SEQ_LEN_Q" in tensors
                    lengths = values[tensors["CU_SEQ_LEN_Q" if summed else "SEQ_LEN_Q"].uid].ravel()
                    lengths = np.diff(lengths) if summed else lengths
                    np.testing.assert_array_equal(steps, lengths * info.strides[2])
                seen[port] += found is not None
    assert (
        min(seen[port] for port in ("SEQ_LEN_Q", "CU_SEQ_LEN_Q", "PAGE_TABLE_K", "BLOCK_MASK", "SCALE_S", "DESCALE_Q"))
        > 10
    )


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


def test_from_a_number_on():
    every, last = run(4, "broken", shrink=False, **SMALL), run(2, "broken", shrink=False, first=2, **SMALL)
    assert last.failures == [one for one in every.failures if one.number > 1] and last.failures
    assert last.graphs == 2 and last.complete


def test_jobs_make_no_difference():
    one, two = (run(8, "broken", jobs=jobs, shrink=False, **SMALL).as_json() for jobs in (1, 2))
    differing = {name for name in one if one[name] != two[name]}
    assert differing <= {"settings", "seconds", "started"} and one["failures"]


@pytest.mark.parametrize(
    ("target", "timeout", "why"),
    [
        ("crashes", 30, "the process was ended by SIGSEGV, with engine ending"),
        ("hangs", 2, "nothing for 2 s, with engine ending"),
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


@pytest.mark.parametrize("word", ["ragged_offset", "PAGE_TABLE_V", "DESCALE_Q"])
def test_programs_of_numbers_that_cannot_be_any(word, capsys):
    """They run by themselves, on the same numbers."""
    options = {"kinds": ("attention", "fp8_attention"), "most": 1}
    case = next(one for one in (random_case(i, 4, **options) for i in range(200)) if word in str(one.data))
    with dnn.Handle("reference") as handle:
        script = reproducer(case, handle, "definition")
        graph = case.opened(handle)._graph_frozen()
    found = {"__name__": "script"}
    exec(script, found)
    values = {uid: one.ravel().tolist() for uid, one in special(graph, case.seed).items()}
    assert values and found["VALUES"] == values
    found["main"]("reference")
    assert "_O: mean" in capsys.readouterr().out


class Beyond(Broken):
    """By definition, and then something behind the last row of tensors without padding."""

    def tuned(self, graph, device, knobs):
        plan = DEFINITION.prepare(graph, device)

        def run(given, numbers, workspace):
            plan.run(given, numbers, workspace)
            arrays = graph.keyed(given, numbers)
            for uid in graph.results:
                if graph.by_uid[uid].ragged_offset is not None:
                    arrays[uid][-1] = 0

        return GraphPlan(graph, self, 0, Run(run))


def test_what_is_behind_rows_is_seen(monkeypatch):
    """Graphs of tensors without padding are judged node by node as well."""
    monkeypatch.setattr(type(get_backend("reference")), "graph_engines", lambda self: (DEFINITION, Beyond()))
    ragged = (random_case(number, kinds=("attention",), most=1) for number in range(500))
    ragged = [case for case in ragged if any("ragged_offset" in one for one in case.data["tensors"])]
    told = []
    with dnn.Handle("reference") as handle:
        for case in ragged[:12]:
            found = {one.engine: one for one in examine(case, handle)}
            assert found["definition"].verdict in (Verdict.PASSED, Verdict.MISTRUSTED)
            told.append("outside written" in found["broken"].message)
    assert sum(told) > 3 and len(told) == 12


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


def test_the_graph_of_a_line(broken_command):
    """A line's graph has the same nodes and tensors; its runs differ by their data."""
    line = "matmul A=f32:2x3x4 B=f32:2x4x5 C=#1:~f32:2x3x5 ; reduction X=#1 Y=f32:2x3x1 mode=ADD"
    case = case_of_line(line, 3, 7)
    assert case.kinds == ["matmul", "reduction ADD"] and case.seed == 10
    assert str(case.opened(dnn.Handle("reference"))._graph.freeze()) == line
    with pytest.raises(dnn.BadParam, match="line of a graph"):
        case_of_line("activation_forward x=f32:1x2x3x3 y=f32:1x2x3x3 mode=relu")
    ran = invoke("-t", "broken", "--line", line, "--count", 2, "--no-shrink")
    assert ran.exit_code == 1 and "broken: 4 of 6 runs of plans are right" in ran.output
    assert invoke("-t", "reference", "--line", line).exit_code == 0
    assert invoke("-t", "reference", "--line", "matmul A=f32:2x3x4").exit_code == 2
