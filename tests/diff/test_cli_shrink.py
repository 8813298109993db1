"""The commands that say more about a failing case."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import portadnn as dnn
import portadnn_backends.reference.backend as backend
from portadnn.cli.diff.app import app
from portadnn_backends.reference.outcomes import outcomes

CASE = "softmax_forward x=f32:2x3x4x4 algorithm=log ; data=exact"


@pytest.fixture
def command():
    """Return a function that runs a command and returns its exit code and what it printed."""

    def run(*arguments, isolate=False):
        if not isolate:
            arguments += ("--no-isolate",)
        found = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})
        assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
        return found.exit_code, found.output

    return run


@pytest.fixture
def faulty(monkeypatch):
    """Make the reference wrong where there are two channels or more."""

    def wrong(problem, tensors, scalars):
        found = outcomes(problem, tensors, scalars)
        return {"y": found["y"] + 1} if problem.x.dims[1] > 1 else found

    monkeypatch.setattr(backend, "outcomes", wrong)


def test_shrink(command, faulty, tmp_path):
    path = tmp_path / "program.py"
    code, said = command("shrink", CASE, "-t", "reference", "-o", str(path))
    assert code == 1
    assert said.splitlines()[0].startswith("softmax_forward x=f32:1x2x1x1 ")
    assert "reference: numbers: " in said and "cases were run; computed by definition" in said
    compile(path.read_text(), str(path), "exec")


def test_reproduce(command, faulty):
    code, said = command("reproduce", CASE, "--targets", "reference")
    assert code == 1 and said.startswith(f"# {CASE}\n# reference: y: 96 of 96 elements are wrong")
    compile(said, "program", "exec")


def test_bisect_over_engines(command, faulty):
    code, said = command("bisect", CASE, "-t", "reference")
    assert code == 1 and "definition (chosen)" in said and "FAILED" in said


@pytest.mark.parametrize("name", ["shrink", "reproduce", "bisect"])
def test_what_is_right_exits_with_0(command, faulty, name):
    """The fault is in this process, and cases run in another."""
    code, said = command(name, CASE, "-t", "reference", isolate=True)
    assert code == 0 and ("does not fail" in said or "PASSED" in said)


@pytest.mark.parametrize("name", ["shrink", "reproduce", "bisect"])
def test_what_is_no_case_exits_with_2(command, name):
    for arguments in (("nonsense", "-t", "reference"), (CASE, "-t", "nonsense"), (CASE, "-t", "reference,reference")):
        code, said = command(name, *arguments)
        assert code == 2 and said.startswith("portadnn: ")


def test_bisect_over_a_recording(command, tmp_path):
    path = tmp_path / "run.jsonl"
    with dnn.trace(path), dnn.Handle("reference") as handle:
        dnn.softmax_forward(handle, handle.zeros((1, 3, 2, 2)))
    code, said = command("bisect", str(path), "-t", "reference,reference:0")
    assert (code, said) == (0, "reference and reference:0 agree on every call.\n")
    code, said = command("bisect", str(path), "-t", "reference")
    assert code == 2 and "two targets" in said
