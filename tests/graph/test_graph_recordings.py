"""Graphs in recordings: written with the memory of their tensors, and made again on every backend."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from descriptors import T, pointwise, run
from json_schema import faults
from typer.testing import CliRunner

import portadnn as dnn
from portadnn import graph
from portadnn.cli.main import app
from portadnn.problem import TensorSpec
from portadnn.recording import read
from portadnn.recording.replay import Replay
from portadnn.registry import default_backend_names, get_backend

CHOSEN = tuple(filter(None, os.environ.get("PORTADNN_TEST_BACKENDS", "").split(","))) or default_backend_names()
BACKENDS = [name for name in default_backend_names() if name in CHOSEN and get_backend(name).why_unavailable() is None]
FLOAT = graph.data_type.FLOAT
SCHEMA = Path(dnn.__file__).parent / "recording" / "schema.json"


def replay(recording, backend="reference"):
    made = Replay(recording, backend)
    try:
        return made.run()
    finally:
        made.close()


def command(*arguments):
    result = CliRunner().invoke(app, ["replay", *map(str, arguments)], env={"COLUMNS": "300"})
    assert result.exit_code == 0, result.output
    return result.output


def product(handle):
    """Return relu(a @ b + 2.5) as a graph, whose number is passed by value, with its tensors."""
    made = graph.pygraph(io_data_type=FLOAT, intermediate_data_type=FLOAT, compute_data_type=FLOAT, handle=handle)
    a = made.tensor(name="a", dim=[2, 3, 4], stride=[12, 4, 1])
    b = made.tensor(name="b", dim=[2, 4, 5], stride=[20, 5, 1])
    number = made.tensor(name="number", dim=[1, 1, 1], stride=[1, 1, 1], is_pass_by_value=True)
    c = made.relu(made.add(made.matmul(a, b), number))
    c.set_output(True)
    made.build([graph.heur_mode.A, graph.heur_mode.FALLBACK])
    return made, a, b, number, c


def recorded(path, backend, on_host=False, explained=False):
    with dnn.trace(path), dnn.Handle(backend) as handle:
        made, a, b, number, c = product(handle)
        rng = np.random.default_rng(1)
        arrays = [rng.normal(size=dims).astype(np.float32) for dims in ((2, 3, 4), (2, 4, 5), (2, 3, 5))]
        x, y, z = arrays if on_host else map(handle.asarray, arrays)
        for _ in range(2):
            made.execute({a: x, b: y, number: 2.5, c: z})
        if not on_host:
            dnn.scale_tensor(handle, z, -1.0)  # a unified call on the graph's result
        if explained:
            made.explain()
    return read(path)


def numbers(made, event, name):
    facts = event.tensors[name]
    spec = TensorSpec(dnn.DataType.FLOAT, tuple(facts["shape"]), tuple(facts["strides"]))
    return np.asarray(made.memory(event).load(spec, facts["at"]), np.float64)


@pytest.mark.parametrize("explained", [False, True])
@pytest.mark.parametrize("on_host", [False, True])
@pytest.mark.parametrize("there", BACKENDS)
@pytest.mark.parametrize("here", BACKENDS)
def test_a_graph_is_computed_again(tmp_path, here, there, on_host, explained):
    recording = recorded(tmp_path / "run.jsonl", there, on_host, explained)
    made = Replay(recording, here)
    try:
        report = made.run()
        assert report.same
        runs = [outcome for outcome in report.outcomes if outcome.event.function == "pygraph.execute"]
        assert [outcome.kind for outcome in runs] == ["ok", "ok"]
        event = runs[-1].event
        a, b, c = (numbers(made, event, name) for name in event.tensors)
    finally:
        made.close()
    assert len(recording.graphs) == 1
    due = np.maximum(a @ b + 2.5, 0)
    assert np.count_nonzero(due) > 0 and np.abs(a).max() > 0.1
    np.testing.assert_allclose(c, due if on_host else -due, rtol=1e-5, atol=1e-6)


def test_what_is_not_made_again_is_said(tmp_path):
    path = tmp_path / "run.jsonl"
    with dnn.trace(path), dnn.Handle("reference") as handle:
        made, a, b, number, c = product(handle)
        x, y, z = np.ones((2, 3, 4), "f"), np.ones((2, 4, 5), "f"), np.ones((2, 3, 5), "f")
        made.bind({a: x, b: y, number: 1.0, c: z})
        with pytest.raises(dnn.BadParam):
            made.execute({a: x})
    report = replay(read(path))
    said = {outcome.event.function: outcome.reason for outcome in report.outcomes if outcome.kind == "left out"}
    assert said["pygraph.bind"] == "the calls of what bind() returns are not recorded"
    assert said["pygraph.execute"] == "an error of a graph, whose checks are not replayed"
    assert "graphs are replayed where they run" in said["pygraph.build"]
    assert all(outcome.kind in ("ok", "left out") for outcome in report.outcomes)


def test_a_graph_that_no_engine_takes_here_is_unsupported(tmp_path, monkeypatch):
    recording = recorded(tmp_path / "run.jsonl", "reference")
    monkeypatch.setattr("portadnn.graph.plans.engines_of", lambda handle: [])
    kinds = {o.kind for o in replay(recording).outcomes if o.event.function == "pygraph.execute"}
    assert kinds == {"unsupported"}


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("here", BACKENDS)
def test_backend_descriptors_are_computed_again(tmp_path, here, nested):
    path = tmp_path / "run.jsonl"
    x, y = T([2, 3, 4, 5], kind="FLOAT"), T([2, 3, 4, 5], kind="FLOAT")
    with dnn.trace(path, nested=nested):
        run([pointwise("RELU_FWD", x, y, prec="FLOAT")], {x: np.ones((2, 3, 4, 5))}, [y])
    report = replay(read(path), here)
    assert report.same
    assert sum(o.kind == "ok" and o.event.graph is not None for o in report.outcomes) == 1


def test_lines_are_as_the_schema_says(tmp_path):
    recorded(tmp_path / "run.jsonl", "reference", explained=True)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for line in (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines():
        assert faults(json.loads(line), schema, schema) == []


def test_other_forms_of_the_recording(tmp_path):
    recorded(tmp_path / "run.jsonl", "reference", explained=True)
    command(tmp_path / "run.jsonl", "--as", "cudnn-log")
    command(tmp_path / "run.jsonl", "--as", "miopen-driver")
    assert "scale_tensor" in command(tmp_path / "run.jsonl", "--backend", "reference")
