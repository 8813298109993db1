"""Replays: a recording's calls go the same way on every backend, on memory that overlaps as it did."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from json_schema import faults
from recorded_programs import PROGRAMS
from test_recording_formats import parse_log
from typer.testing import CliRunner

import portadnn as dnn
from portadnn.cli.main import app
from portadnn.examples.lenet import LeNet
from portadnn.hooks import watched
from portadnn.problem import TensorSpec
from portadnn.recording import read, recorder
from portadnn.recording.cudnn_log import cudnn_log
from portadnn.recording.memory import Memory, Ranges
from portadnn.recording.replay import Replay
from portadnn.registry import default_backend_names, get_backend

CHOSEN = tuple(filter(None, os.environ.get("PORTADNN_TEST_BACKENDS", "").split(","))) or default_backend_names()
BACKENDS = [name for name in default_backend_names() if name in CHOSEN and get_backend(name).why_unavailable() is None]
NOBODY = pytest.param("", marks=pytest.mark.skip(reason="no other backend is there"))


def record(path, program, backend="reference"):
    with dnn.trace(path), dnn.Handle(backend) as handle:
        program(handle)
    return read(path)


def replay(recording, backend="reference", **options):
    run = Replay(recording, backend, **options)
    try:
        return run.run()
    finally:
        run.close()


def command(*arguments, code=0):
    result = CliRunner().invoke(app, ["replay", *map(str, arguments)], env={"COLUMNS": "300"})
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_recording_of_the_reference_goes_the_same_way(tmp_path, name, backend):
    recording = record(tmp_path / "run.jsonl", PROGRAMS[name])
    report = replay(recording, backend)
    assert [o for o in report.outcomes if o.kind in ("different", "unsupported")] == []
    left_out = [o for o in report.outcomes if o.kind == "left out"]
    assert {o.event.function for o in left_out} <= {"view"}
    assert sum(row.calls for row in report.rows) == len(recording.events)


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "reference"] or [NOBODY])
def test_a_recording_of_another_backend_goes_the_same_way_on_the_reference(tmp_path, backend):
    assert replay(record(tmp_path / "run.jsonl", PROGRAMS["training"], backend)).same


@pytest.mark.parametrize("backend", BACKENDS)
def test_lenet(tmp_path, backend):
    def program(handle: Any) -> None:
        net = LeNet(handle, 8, 8, seed=1)
        images = np.random.default_rng(0).normal(size=(8, 1, 8, 8)).astype(np.float32)
        list(net.train(images, np.arange(8), epochs=1, batch=4, seed=1))

    recording = record(tmp_path / "run.jsonl", program)
    report = replay(recording, backend)
    assert report.same
    assert all(o.kind == "ok" for o in report.outcomes)
    assert len(recording.events) > 100


def test_the_same_memory_gives_the_same_numbers(tmp_path):
    """Replayed on two backends, or recorded and replayed again, the program's outputs agree."""
    results = []
    path = tmp_path / "run.jsonl"
    recording = record(path, PROGRAMS["training"])
    last = [event for event in recording.events if event.function == "add_tensor"][-1]
    spec, at = TensorSpec.parse("f32:3x1x3x3"), last.tensors["c"]["at"]
    for backend in BACKENDS:
        run = Replay(recording, backend, seed=5)
        run.run()
        memory = run._memories["reference: " + recording.handles[last.handle]["device"]]
        results.append(np.asarray(memory.handle.to_numpy(memory.array(spec, at))))
        run.close()
    assert np.abs(results[0]).max() > 0.05
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-4, atol=1e-5)


def test_what_ends_otherwise_is_told(tmp_path):
    path = tmp_path / "run.jsonl"
    record(path, PROGRAMS["mistaken"])
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"status":"BAD_PARAM"', '"status":"NOT_SUPPORTED"', 1), encoding="utf-8")
    printed = command(path, "--backend", "reference", code=1)
    assert "convolution_forward: NOT_SUPPORTED, here BAD_PARAM: convolution_forward: x.dims[1]" in printed
    facts = json.loads(command(path, "--backend", "reference", "--format", "json", code=1))
    assert not facts["same"]
    (difference,) = [d for d in facts["differences"] if d["kind"] == "different"]
    assert (difference["recorded"], difference["replayed"]) == ("NOT_SUPPORTED", "BAD_PARAM")


def test_what_a_backend_lacks_is_unsupported(tmp_path, monkeypatch):
    recording = record(tmp_path / "run.jsonl", PROGRAMS["training"])

    def refuse(*_: Any, **__: Any) -> None:
        raise dnn.NotSupported("not on Sundays")

    monkeypatch.setattr(dnn, "softmax_forward", refuse)
    report = replay(recording)
    assert {o.reason for o in report.outcomes if o.kind == "unsupported"} == {"not on Sundays"}
    assert not report.same


def test_the_command_prints_a_table(tmp_path):
    path = tmp_path / "run.jsonl"
    record(path, PROGRAMS["training"])
    printed = " ".join(command(path, "--backend", "reference", "--repeat", "2", "--sync").split())
    assert "pooling_forward 4 4" in printed
    assert "Recorded on reference" in printed
    facts = json.loads(command(path, "--backend", "reference", "--format", "json"))
    rows = {row["function"]: row for row in facts["functions"]}
    assert rows["convolution_forward"]["recorded"] > 0 < rows["convolution_forward"]["replayed"]
    assert "table or json" in command(path, "--format", "xml", code=2)
    assert "expected a recording" in command(__file__, code=2)
    assert "No such file" in command(tmp_path / "none.jsonl", code=2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_calls_of_other_libraries_are_replayed_as_their_problems(tmp_path, backend):
    def cudnn_scale(handle: Any, value: float, y: Any) -> None:
        dnn.set_tensor(handle, y, value)
        dnn.scale_tensor(handle, y, 2.0)

    def program(handle: Any) -> None:
        y = handle.empty((1, 1, 2, 2))
        watched("cudnn", "cudnnScaleTensor", cudnn_scale, (handle, 3.0, y), {})
        watched("cudnn", "cudnnGetVersion", dnn.get_version, (), {})

    recording = record(tmp_path / "run.jsonl", program)
    run = Replay(recording, backend)
    report = run.run()
    rows = {row.function: row for row in report.rows}
    assert (rows["cudnnScaleTensor"].ok, rows["cudnnGetVersion"].left_out) == (1, 1)
    last = recording.events[-2]
    memory = run._memories[run._place(last)]
    values = memory.handle.to_numpy(memory.tensor(last.tensors["y"]))
    run.close()
    assert np.all(np.asarray(values) == 6)


def test_nested_recordings_replay_the_calls_inside(tmp_path):
    def cudnn_find(handle: Any, x: Any, w: Any) -> None:
        dnn.find_convolution_forward_algorithm(handle, x, w, dnn.ConvolutionDescriptor())

    with dnn.Handle("reference") as handle, dnn.trace(tmp_path / "run.jsonl", nested=True):
        x, w = handle.zeros((1, 1, 3, 3)), handle.zeros((1, 1, 2, 2))
        watched("cudnn", "cudnnFindConvolutionForwardAlgorithm", cudnn_find, (handle, x, w), {})
    report = replay(read(tmp_path / "run.jsonl"))
    kinds = {o.event.function: o.kind for o in report.outcomes if o.event.function != "Handle.asarray"}
    assert kinds["find_convolution_forward_algorithm"] == "ok"
    assert kinds["cudnnFindConvolutionForwardAlgorithm"] == "left out"


@pytest.mark.parametrize("form", ["cudnn", "miopen"])
@pytest.mark.parametrize("program", ["lenet", "lstm", "residual"])
@pytest.mark.parametrize("nested", [False, True], ids=["problems", "nested"])
def test_programs_with_the_names_of_c(tmp_path, program, form, nested):
    module = importlib.import_module(f"portadnn.examples.three_ways.{program}_{form}")
    with dnn.trace(tmp_path / "run.jsonl", nested=nested):
        module.run("reference")
    recording = read(tmp_path / "run.jsonl")
    schema = json.loads((Path(recorder.__file__).parent / "schema.json").read_text(encoding="utf-8"))
    lines = (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()
    assert [fault for line in lines for fault in faults(json.loads(line), schema, schema)] == []
    assert {event.library for event in recording.events} >= {form}
    report = replay(recording)
    assert report.same
    done = [o.event for o in report.outcomes if o.kind == "ok"]
    computed = [
        event for event in recording.events if event.steps and event.library == ("portadnn" if nested else form)
    ]
    assert len(computed) > 10
    if not nested:
        assert {event.number for event in computed} <= {event.number for event in done}
    steps = [step for event in done for step in event.steps]
    assert len(steps) == sum(len(event.steps) for event in recording.events if not event.inside)
    logged = {record.function for record in parse_log("\n".join(cudnn_log(recording)))}
    wanted = {"lenet": "cudnnSoftmaxBackward", "lstm": "cudnnRNNBackwardWeights", "residual": "cudnnConvolutionForward"}
    assert wanted[program] in logged


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "reference"] or [NOBODY])
def test_a_program_with_the_names_of_c_elsewhere(tmp_path, backend):
    with dnn.trace(tmp_path / "run.jsonl"):
        importlib.import_module("portadnn.examples.three_ways.lenet_cudnn").run("reference")
    assert replay(read(tmp_path / "run.jsonl"), backend).same


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_handles(tmp_path, backend):
    with dnn.trace(tmp_path / "run.jsonl"), dnn.Handle("reference") as one, dnn.Handle("reference") as two:
        x, y = one.zeros((1, 1, 2, 2)), two.zeros((1, 1, 2, 2))
        dnn.set_tensor(one, x, 1.0)
        dnn.set_tensor(two, y, 2.0)
        dnn.add_tensor(two, x, y)  # host memory: either handle's
    recording = read(tmp_path / "run.jsonl")
    assert [event.handle for event in recording.events if event.problem] == [one.serial, two.serial, two.serial]
    assert replay(recording, backend).same


def test_a_profile_is_replayed(tmp_path):
    with (
        dnn.trace(tmp_path / "run.jsonl"),
        dnn.Handle("reference", profile="miopen-1", mode="error") as handle,
        pytest.raises(dnn.DnnError),
    ):
        dnn.convolution_forward(
            handle, handle.zeros((1, 1, 3, 3)), handle.zeros((1, 1, 2, 2)), dnn.ConvolutionDescriptor()
        )
    report = replay(read(tmp_path / "run.jsonl"))
    assert report.same
    assert report.outcomes[-1].event.status != "SUCCESS"


# Memory -------------------------------------------------------------------------------------------


def test_ranges_against_sets():
    rng = np.random.default_rng(0)
    ranges, numbers = Ranges(), set()
    for _ in range(500):
        start, length = int(rng.integers(0, 60)), int(rng.integers(0, 12))
        if rng.random() < 0.6:
            ranges.add(start, start + length)
            numbers.update(range(start, start + length))
        else:
            ranges.remove(start, start + length)
            numbers.difference_update(range(start, start + length))
        assert {n for a, b in ranges for n in range(a, b)} == numbers
        start, length = int(rng.integers(0, 60)), int(rng.integers(1, 12))
        assert ranges.meets(start, start + length) == any(n in numbers for n in range(start, start + length))


def test_memory_keeps_distances(reference):
    base = 1 << 41
    ranges = [(base + 16, base + 80), (base + 48, base + 144), (base + 144, base + 160), (base + 300, base + 316)]
    memory = Memory(reference, ranges, seed=0)
    row = TensorSpec.parse("f32:1x1x4")
    address = {at: memory.array(row, base + at).__array_interface__["data"][0] for at in (16, 64, 128, 144, 300)}
    assert address[64] - address[16] == 48
    assert address[128] - address[16] == 112
    assert all(value % 16 == at % 16 for at, value in address.items())
    memory.fill(row, base + 48)
    values = memory.array(row, base + 48).copy()
    assert values.any()
    memory.read(row, base + 48, "x")
    assert (memory.array(row, base + 48) == values).all()
    memory.read(row, base + 300, "running_variance")
    assert (memory.array(row, base + 300) >= 0.5).all()


def test_of_captured_steps_the_calls_of_their_blocks_are_made(tmp_path):
    def program(handle):
        x, other = (handle.asarray(np.full((1, 2, 3, 4), value, np.float32)) for value in (1, 2))
        with handle.capture() as step:
            dnn.scale_tensor(handle, x, 2.0)
        step.replay()
        step.update(x, other)
        step.replay()

    report = replay(record(tmp_path / "run.jsonl", program))
    reasons = {o.event.function: o.reason for o in report.outcomes if o.kind == "left out"}
    assert set(reasons) == {"Handle.capture", "CapturedStep.replay", "CapturedStep.update"}
    assert set(reasons.values()) == {"of a captured step only the calls of its block are recorded"}
    assert [o.event.function for o in report.outcomes if o.kind == "ok"][-1:] == ["scale_tensor"]
