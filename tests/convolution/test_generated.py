"""A small sample of the generated problems (``tests/generated/run.py`` runs thousands), and the harness itself."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import fake_engines
import numpy as np
import pytest
from generated import draw, run, work
from helper import Target, open_handle, targets

import portadnn as dnn
from portadnn.drawing.draws import Draws
from portadnn.problem import parse_line
from portadnn_backends.base import Plan, Run
from portadnn_backends.engines import kernel_engines

SETTINGS = work.Settings("reference", variants=4)
ENGINES = [
    (target, engine, kind.op.removeprefix("convolution_"))
    for target in targets()
    for engine in kernel_engines()
    for kind in engine.problems
    if kind.op.removeprefix("convolution_") in draw.ROLES
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("target", "engine", "direction"), [pytest.param(t, e, d, id=f"{t.name}-{e.name}-{d}") for t, e, d in ENGINES]
)
def test_sample(target, engine, direction):
    """Each engine is right on what it takes, in four variants, and has a reason for what it refuses."""
    part = work.Part(engine.name, direction, 1)
    outcome = work.do_on(open_handle(target), engine, part, SETTINGS, 1)
    assert not outcome.failures, "\n".join(f"{f['line']} {f['data']}: {f['message']}" for f in outcome.failures)
    assert not outcome.silent
    assert outcome.geometries == 1 or sum(outcome.refused.values()) >= SETTINGS.hopeless
    assert outcome.problems == 4 * outcome.geometries


# what is drawn


def drawn(direction, count, seed=0, why_not=lambda problem: None):
    source = draw.Source(Draws(seed), direction, why_not)
    found = []
    while len(found) < count:
        line = source.next()
        if line:
            found.append(parse_line(line)[0])
    return source, found


@pytest.mark.parametrize("direction", draw.ROLES)
def test_all_kinds_of_problems_are_drawn(direction):
    _, problems = drawn(direction, 600)
    for kind in (
        lambda p: any(s > 1 for s in p.stride),
        lambda p: any(d > 1 for d in p.dilation),
        lambda p: any(2 * pad > r for pad, r in zip(p.padding, p.filter.dims[2:], strict=True)),
        lambda p: p.groups > 1,
        lambda p: p.groups == p.image.dims[1] > 1,
        lambda p: p.mode is dnn.ConvolutionMode.CONVOLUTION,
        lambda p: len(p.image.dims) == 5,
        lambda p: p.image.size == 0 or p.filter.size == 0,
        lambda p: all(t.format is dnn.TensorFormat.NHWC for t in (p.image, p.filter, p.result)),
        lambda p: any(t.format is None for t in p.tensors),
        lambda p: any(t.alignment < 16 for t in p.tensors),
        lambda p: any(t.overlapping for t in p.tensors[:2]),
        lambda p: p.filter.dims[2:] == (3, 3) and p.stride == p.dilation == (1, 1),
        lambda p: p.filter.dims[2:] == (1, 1),
        lambda p: max(p.image.dims[1], p.filter.dims[0]) > 64,
        lambda p: p.dtype is dnn.DataType.HALF,
        lambda p: p.dtype is dnn.DataType.BFLOAT16,
        lambda p: p.dtype is dnn.DataType.DOUBLE,
        lambda p: p.math is dnn.MathType.TENSOR_OP_ALLOW_CONVERSION,
        lambda p: p.math is dnn.MathType.FMA,
        lambda p: p.image.dims[2:] == (1, 1) or p.result.dims[2:] == (1, 1),
    ):
        assert any(map(kind, problems))
    assert len({str(problem) for problem in problems}) > 550
    assert sum(p.dtype is dnn.DataType.FLOAT for p in problems) > 200


def test_narrow_engines_get_their_problems():
    """An engine that takes one kind in hundreds is offered that kind more and more often."""

    def why_not(problem):
        fits = problem.filter.dims[2:] == (3, 3) and problem.stride == (1, 1) and problem.dtype is dnn.DataType.HALF
        return None if fits and problem.image.format is dnn.TensorFormat.NHWC else "it is 1 of 2"

    source, _ = drawn("forward", 60, why_not=why_not)
    assert sum(source.tried.values()) < 3000
    assert list(source.refused) == ["it is # of #"]


def test_the_same_seed_draws_the_same():
    one, two, other = (list(map(str, drawn("forward", 20, seed)[1])) for seed in (1, 1, 2))
    assert one == two != other


@pytest.mark.parametrize("variants", [1, 2, 6, 12])
def test_variants_differ(variants):
    found = draw.lines(Draws(0), "problem", variants)
    assert len(set(found)) == variants
    assert abs(sum(data == "integer" for _, data in found) - variants / 2) < 1
    fused = draw.lines(Draws(0), f"convolution_{draw.FUSED} activation=tanh", variants)
    assert len({line for line, _ in fused}) == variants
    assert all("alpha=" not in line and data == "normal" for line, data in fused)


# what is found


class Wrong(fake_engines.FakeEngine):
    """Right but for one thing: `spoil` is called with the result, the workspace and the input."""

    def __init__(self, spoil, **more):
        super().__init__("wrong", 0, **more)
        self.spoil = spoil

    def prepare(self, problem, device):
        plan = super().prepare(problem, device)

        def run(arrays, scalars, workspace):
            plan.run(arrays, scalars, workspace)
            if arrays[-1].size and arrays[0].size:
                self.spoil(arrays[-1], workspace, arrays[0])

        return Plan(problem, self, plan.workspace_size, Run(run))


def last_element(result, workspace, source):
    result[(-1,) * result.ndim] += 1


def sometimes(result, workspace, source):
    result[(0,) * result.ndim] *= 1 + time.perf_counter_ns() % 97 * 1e-3


def beyond(result, workspace, source):
    workspace[100] = 7


def on_input(result, workspace, source):
    source[(0,) * source.ndim] = 5


def no_number(result, workspace, source):
    result[(0,) * result.ndim] = np.nan


def refuses(result, workspace, source):
    raise dnn.ExecutionFailed("too many registers")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (last_element, "elements are wrong"),
        (sometimes, "two runs differ"),
        (beyond, "bytes behind the 100 that were asked for were written"),
        (on_input, "input written: x"),
        (no_number, "elements are wrong"),
        (refuses, "too many registers"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_mistakes_are_found(spoil, message):
    engine = Wrong(spoil, needs=100)
    handle = open_handle(Target("reference", "reference"))
    outcome = work.do_on(handle, engine, work.Part("wrong", "forward", 0), SETTINGS, 3)
    assert any(message in failure["message"] for failure in outcome.failures)


def test_a_lost_device_ends_the_process():
    handle = dnn.Handle("reference")
    engine = Wrong(lambda *rest: handle.close(), needs=100)
    with pytest.raises(work.DeviceLost):
        work.do_on(handle, engine, work.Part("wrong", "forward", 0), SETTINGS, 3)


def test_what_is_right_passes():
    handle = open_handle(Target("reference", "reference"))
    engine = fake_engines.FakeEngine("right", 0, needs=100)
    outcome = work.do_on(handle, engine, work.Part("right", "forward", 0), SETTINGS, 5)
    assert (outcome.problems, outcome.geometries, outcome.exact, outcome.failures) == (20, 5, 10, [])
    assert 0 < max(error for error, _ in outcome.worst.values()) <= 1


def test_refusing_in_silence_is_a_mistake():
    handle = open_handle(Target("reference", "reference"))
    engine = fake_engines.FakeEngine("silent", 0, no=" ")
    outcome = work.do_on(handle, engine, work.Part("silent", "forward", 0), SETTINGS, 5)
    assert outcome.silent and not outcome.problems


# processes


def fragile(channel, settings):
    """Serve parts, but die of problem "b", hang in problem "c" and lose the device in problem "d"."""
    _, skip = channel.receive()
    for line in "abcde":
        if line in skip:
            continue
        channel.begins(line)
        if line == "b":
            os._exit(7)
        if line == "c":
            time.sleep(60)
        if line == "d":
            channel.lost("illegal address")
    channel.says("done", dataclasses.asdict(work.Outcome(problems=2)))


def test_death_and_silence_are_survived():
    worker = work.Worker(SETTINGS, fragile)
    try:
        worker.start(work.Part("engine", "forward", 0))
        outcome = None
        while outcome is None:
            outcome = worker.poll(5)
            time.sleep(0.01)
    finally:
        worker.stop()
    assert outcome["problems"] == 5
    assert [(f["line"], f["message"]) for f in outcome["failures"]] == [
        ("b", "the process ended with 7"),
        ("c", "nothing for 5 s"),
        ("d", "illegal address"),
    ]


def test_run_and_resume(tmp_path):
    """The command, on the reference: a record is written, and a second run does nothing again."""
    output = tmp_path / "found.json"
    command = [sys.executable, Path(run.__file__), "--backend", "reference", "--count", "30", "--output", output]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads(output.read_text())
    assert record["complete"]
    (directions,) = record["engines"].values()
    assert set(directions) == set(draw.ROLES)
    assert sum(d["accepted"] for d in directions.values()) >= 30
    assert not any(d["wrong"] or d["refused_without_reason"] for d in directions.values())
    parts = output.with_suffix(".parts")
    parts.write_text(parts.read_text() + '[{"engine": "cut sho')
    again = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "problems in" not in again.stdout
    assert json.loads(output.read_text())["engines"] == record["engines"]
