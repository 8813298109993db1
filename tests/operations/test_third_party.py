"""An operation of another distribution, that of docs/operations.md: its record brings it to every tool."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "operations.md"
LINE = "toy_hypot a=f32:2x3x4x5 b=f32:2x3x4x5"


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Return an environment in which the distribution is installed."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "toy_dnn").mkdir()
    for name, text in re.findall(r"`toy_dnn/(\w+\.py)`:\n\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        (folder / "toy_dnn" / name).write_text(text)
    (folder / "toy_dnn-1.dist-info").mkdir()
    (folder / "toy_dnn-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-dnn\nVersion: 1\n")
    (folder / "toy_dnn-1.dist-info" / "entry_points.txt").write_text(
        "[portadnn.operations]\ntoy = toy_dnn.record:RECORDS\n"
    )
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", "")))}


@pytest.fixture
def run(environment, tmp_path):
    def run(*command):
        words = [sys.executable, *map(str, command)]
        done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=250)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_capability_tables_speak_of_it(run):
    matrix = run("-m", "portadnn", "caps", "--op", "toy_*", "--backend", "reference", "--format", "json")
    assert '"dtype=f16"' in matrix or '"f16"' in matrix
    opinion = run("-m", "portadnn", "caps", "--why", LINE, "--backend", "reference", "--backend", "miopen-1")
    assert "definition" in opinion
    assert "says nothing of it" in opinion


def test_cases_are_drawn_and_compared(run):
    found = run("-m", "portadnn", "diff", "--op", "toy_hypot", "--targets", "reference", "--count", 60)
    assert "60" in found
    lines = run("-c", "from portadnn.diff.generate import cases\nfor c in cases(['toy_*'], count=60): print(c)")
    assert {"BAD_PARAM" in line for line in lines.splitlines()} == {True, False}
    assert "data=huge" not in lines


def test_problem_lines_are_timed(run):
    found = run("-m", "portadnn", "bench", "run", LINE, "--backend", "reference", "--peer", "none", "--rounds", 3)
    assert "toy_hypot" in found
    assert "definition" in found
    assert "toy_hypot" in run("-m", "portadnn", "bench", "sets")


def test_calls_are_recorded_and_replayed(run, tmp_path):
    code = (
        "import numpy as np, portadnn as dnn, toy_dnn\n"
        "with dnn.trace('calls.jsonl'), dnn.Handle('reference') as handle:\n"
        "    c = toy_dnn.toy_hypot(handle, np.full((1, 1, 2), 3.0), np.full((1, 1, 2), 4.0), alpha=2)\n"
        "assert c.tolist() == [[[10, 10]]]\n"
    )
    run("-c", code)
    (recording,) = tmp_path.glob("calls*")
    assert "toy_hypot" in run("-m", "portadnn", "replay", recording, "--backend", "reference")
    assert "toy_hypot a=f64:1x1x2 b=f64:1x1x2" in recording.read_text()


def test_the_reference_has_its_page(run, tmp_path):
    pytest.importorskip("pdoc")
    code = (
        f"import pathlib, sys; sys.path.insert(0, {str(ROOT / 'docs')!r}); import reference\n"
        "reference.write(pathlib.Path('pages'), [name for name in reference.modules() if name.startswith('toy')])\n"
    )
    run("-c", code)
    assert "hypotenuse" in (tmp_path / "pages" / "toy_dnn.html").read_text()
