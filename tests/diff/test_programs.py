"""A program on two targets: the first call that is wrong is named, with its place in the program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from portadnn.diff import Target
from portadnn.diff.programs import compare, run
from portadnn.diff.programs.compare import ProgramRun

PROGRAM = """
import os, sys
import numpy as np
import portadnn as dnn
rng = np.random.default_rng(0)
with dnn.Handle() as handle:
    x = handle.asarray(rng.normal(size=(2, 3, 8, 8)), "float32")
    w = handle.asarray(rng.normal(size=(4, 3, 3, 3)), "float32")
    for step in range(3):
        y = dnn.convolution_forward(handle, x, w, dnn.ConvolutionDescriptor(padding=(1, 1)))
        z = dnn.activation_forward(handle, y, dnn.ActivationDescriptor("tanh"))
        dw = handle.empty(w.shape)
        dnn.convolution_backward_filter(handle, x, z, dnn.ConvolutionDescriptor(padding=(1, 1)), dw)
        dnn.add_tensor(handle, dw, w, alpha=-0.01)
    try:
        dnn.activation_forward(handle, x, dnn.ActivationDescriptor("relu"), y)
    except dnn.BadParam:
        pass
    if "stop" in sys.argv and handle.backend == "opencl":
        raise SystemExit(3)
    dnn.softmax_forward(handle, z)
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    return str(path)


def targets():
    return [Target.parse("reference"), Target.parse("opencl")]


def test_a_program_that_agrees(program):
    report = run([program], targets())
    assert report.passed, report.divergences
    assert [len(one.calls) for one in report.runs] == [3 * 4 + 2] * 2
    assert report.checked == 2 * (3 * 4 + 1)
    assert 0 < max(report.drift) < 1e-4
    line = next(n for n, text in enumerate(PROGRAM.splitlines(), 1) if "convolution_forward" in text)
    assert report.runs[0].calls[0]["site"] == [program, line]


def test_a_program_that_ends_early_is_told(program):
    report = run([program, "stop"], targets())
    kinds = {(divergence.kind, divergence.targets) for divergence in report.divergences}
    assert ("ended", ("opencl",)) in kinds
    assert "exit status 3" in str(report.divergences[-1])


def test_another_path_is_told(tmp_path):
    path = tmp_path / "other.py"
    path.write_text(PROGRAM.replace("range(3)", "range(3 if handle.backend == 'reference' else 2)"))
    found = run([str(path)], targets()).divergences[0]
    assert (found.kind, found.call) == ("path", 9)


# a run that was changed afterwards stands for a backend that computes something else


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "train.py"
    path.write_text(PROGRAM)
    return run([str(path)], targets()).runs


def changed(one, number, change):
    calls = json.loads(json.dumps(one.calls))
    change(calls[number - 1])
    return replace(one, calls=calls)


def test_the_first_call_whose_outputs_part_is_named(honest):
    def lie(call):
        call["outputs"]["y"]["values"][3] += 0.5

    found = compare([honest[0], changed(honest[1], 6, lie)]).divergences[0]
    assert (found.kind, found.call, found.targets) == ("parted", 6, ("reference", "opencl"))
    assert found.what.startswith("activation_forward") and "train.py:" in found.site


def test_differences_that_come_with_the_inputs_are_no_fault(honest):
    def drift(call):
        for tensor in (*call["inputs"].values(), *call["outputs"].values()):
            tensor["values"] = [value * 1.01 for value in tensor["values"]]

    assert compare([honest[0], changed(honest[1], 6, drift)]).passed


def test_a_wrong_result_is_named_for_its_run_alone(honest):
    def wrong(call):
        call["checked"]["y"].update(wrong=2, said="2 of 512 elements are wrong")

    found = compare([honest[0], changed(honest[1], 5, wrong)]).divergences
    assert [(d.kind, d.call, d.targets) for d in found] == [("wrong", 5, ("opencl",))]


def test_an_error_on_one_target_is_told(honest):
    calls = honest[1].calls
    failed = {"function": "portadnn.convolution_forward", "site": calls[0]["site"], "status": "NOT_SUPPORTED"}
    other = replace(honest[1], calls=[{**failed, "message": "no"}, *calls[1:]])
    found = compare([honest[0], other]).divergences[0]
    assert (found.kind, found.call) == ("status", 1)


def test_the_oracle_inside_the_program_sees_a_wrong_kernel(tmp_path):
    """The kernel that a program computes with is changed: the run on that target alone is blamed."""
    path = tmp_path / "wrong.py"
    path.write_text(
        "import portadnn_backends.reference.backend as reference\n"
        "honest = reference.outcomes\n"
        "def lie(problem, *rest):\n"
        "    found = honest(problem, *rest)\n"
        "    return {k: v + 0.01 for k, v in found.items()} if problem.op == 'activation_forward' else found\n"
        "reference.outcomes = lie\n" + PROGRAM
    )
    found = run([str(path)], targets()).divergences
    assert [(d.kind, d.targets) for d in found if d.kind == "wrong"] == [("wrong", ("reference",))]
    assert found[0].call == 2


def test_nothing_is_looked_at_unless_asked():
    code = "import sys, portadnn, portadnn.dispatch.choice as c; print(c.PLAN_HOOKS, 'portadnn.diff' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ}, check=True)
    assert done.stdout.split() == ["[]", "False"]


def test_runs_without_calls_say_so():
    found = compare([ProgramRun("one", [], "exit status 1"), ProgramRun("two", [], "exit status 1")])
    assert [d.kind for d in found.divergences] == ["ended", "ended"]
