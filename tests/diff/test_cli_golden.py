"""The commands that keep golden files and run programs."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from portadnn.cli.diff.app import app

LINE = "activation_forward x=f32:2x3x5x7 mode=tanh ; data=exact seed=4"


def diff(*words):
    return CliRunner().invoke(app, list(words))


@pytest.fixture
def golden(tmp_path):
    path = tmp_path / "ref.pdg"
    done = diff("record", LINE, "--backend", "reference", "-o", str(path))
    assert done.exit_code == 0 and "1 cases, 1 of them computed" in done.output, done.output
    return path


def test_a_golden_file_is_recorded_and_checked(golden, tmp_path):
    report = tmp_path / "report.json"
    done = diff("check", str(golden), "--backend", "reference", "-o", str(report), "--format", "json")
    assert done.exit_code == 0, done.output
    values = json.loads(report.read_text())
    assert json.loads(done.output) == values
    assert values["counts"]["PASSED"] == 1 and values["settings"]["file"] == "ref.pdg"
    assert values["targets"]["recorded"]["backend"] == "reference"


def test_cases_are_generated_where_none_are_given(tmp_path):
    path = tmp_path / "some.pdg"
    words = ("--backend", "reference", "--op", "softmax_*", "--count", "4", "-o", str(path))
    assert "8 of them computed" in diff("record", *words).output
    assert diff("check", str(path), "-t", "reference").exit_code == 0


def test_what_cannot_be_used_exits_with_2(golden, tmp_path):
    damaged = tmp_path / "damaged.pdg"
    damaged.write_bytes(golden.read_bytes()[:-40])
    for words, reason in (
        (("check", str(damaged), "-t", "reference"), "cannot be used"),
        (("check", str(tmp_path / "none.pdg"), "-t", "reference"), "No such file"),
        (("check", str(golden), "-t", "nowhere"), "target"),
        (("record", "nonsense", "-t", "reference", "-o", str(tmp_path / "x")), "an operation"),
        (("record", "--op", "nonsense", "-t", "reference", "-o", str(tmp_path / "x")), "nonsense"),
        (("check", str(golden), "--format", "xml"), "table or json"),
    ):
        done = diff(*words)
        assert done.exit_code == 2 and reason in done.output, (words, done.output)
    assert not (tmp_path / "x").exists()


def test_a_program_runs_on_each_target(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, portadnn as dnn\n"
        "with dnn.Handle() as handle:\n"
        "    dnn.softmax_forward(handle, handle.asarray(np.eye(4).reshape(1, 4, 4, 1), 'float32'))\n"
    )
    done = diff("-t", "reference,opencl", "--format", "json", "--", "python", str(program))
    values = json.loads(done.stdout)
    assert done.exit_code == 0 and values["passed"]
    assert values["calls"] == {"reference": 1, "opencl": 1} and values["checked"] == 2
    program.write_text("raise SystemExit(5)\n")
    done = diff("-t", "reference", "--", str(program))
    assert done.exit_code == 1 and "exit status 5" in done.output
