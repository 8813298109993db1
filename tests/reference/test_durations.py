"""CPU seconds of tests are measured where they run, and summed where they are printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import durations

PROGRAM = """
import subprocess, sys, time
import pytest

@pytest.mark.long
def test_itself():
    while time.process_time() < 0.3 + SINCE: pass

def test_child():
    subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.4: pass"], check=True)

SINCE = time.process_time()
"""
CONFTEST = """
import durations

def pytest_configure(config):
    config.addinivalue_line("markers", "long: as here")
    config.pluginmanager.register(durations.Durations(5))
"""


def test_lines_are_sorted_and_summed_by_file():
    spent = {"a.py::test_x[1]": 1.0, "a.py::test_x[2]": 2.0, "b.py::test_y": 2.5, "b.py::test_z": 0.1}
    assert durations.table(spent, 2, {"b.py::test_y", "b.py::test_z"}) == [
        "     5.60 s in 4 tests",
        "     2.60 s in 2 tests of `make test`",
        "",
        "     3.00 s a.py",
        "     2.60 s b.py",
        "",
        "     2.50 s b.py::test_y",
        "     2.00 s a.py::test_x[2]",
    ]


def test_workers_and_their_children_are_measured(tmp_path):
    (tmp_path / "test_busy.py").write_text(PROGRAM)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    words = ["-m", "pytest", "-n", "1", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    environment = {"PYTHONPATH": str(Path(durations.__file__).parent)}
    done = subprocess.run(
        [sys.executable, *words], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    lines = done.stdout[done.stdout.index("CPU seconds") :].splitlines()
    spent = {words[2]: float(words[0]) for words in map(str.split, lines) if len(words) == 3 and words[1] == "s"}
    assert spent["test_busy.py::test_itself"] >= 0.25
    assert spent["test_busy.py::test_child"] >= 0.35
    assert spent["test_busy.py"] >= 0.6
    assert lines[2].endswith("s in 1 tests of `make test`") and "2 tests" in lines[1]
