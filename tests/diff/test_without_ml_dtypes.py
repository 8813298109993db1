"""portadnn diff where ml_dtypes is not installed: bfloat16 is compared by its bits, like any other type."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LINE = "pooling_forward x=bf16:2x3x9x7 mode=max window=2,2 stride=2,2"

EXAMINED = f"""
from lies import lying

import portadnn as dnn
from portadnn.bfloat16 import BITS
from portadnn.diff import Case, Verdict, examine
from portadnn.diff.generate import Mix, cases
from portadnn.diff.shrink.shrink import shrink

assert dnn.DataType.BFLOAT16.storage == BITS, "ml_dtypes is there"
with dnn.Handle("reference", profile="") as handle:
    bf16 = [c for c in cases(seed=3, count=600, mix=Mix(broken=False)) if "=bf16:" in c.line]
    verdicts = [examine(case, {{"reference": handle}}).verdict for case in bf16]
    assert len(bf16) > 50 and verdicts.count(Verdict.PASSED) > 0.8 * len(bf16), verdicts
    assert not {{Verdict.FAILED, Verdict.ERROR, Verdict.SKIPPED}} & set(verdicts), verdicts


def lie(problem, tensors, workspace, run):
    tensors["y"].view("u2").reshape(-1)[-1] ^= 0x4000


with lying(lie) as handle:
    found = shrink(Case.parse("{LINE}"), lambda case: examine(case, {{"liar": handle}}), budget=60)
    assert found is not None and found.tried > 5, found
"""

FIXTURE = f"""
import pytest

def test_agree(portadnn_diff):
    assert portadnn_diff.agree("{LINE}", targets="reference")[0].verdict.value == "PASSED"

def test_check(portadnn_diff):
    portadnn_diff.check(lambda x: x, "{LINE}")

@pytest.mark.portadnn_diff_cases("op_tensor", count=30, data="exact")
def test_generated(portadnn_diff, portadnn_case):
    portadnn_diff.agree(portadnn_case, targets="reference")
"""


@pytest.fixture
def without(tmp_path):
    """Return a function that runs a command in an environment without ml_dtypes."""
    (tmp_path / "missing").mkdir()
    (tmp_path / "missing" / "ml_dtypes.py").write_text('raise ImportError("not installed")\n', encoding="utf-8")
    path = os.pathsep.join((str(tmp_path / "missing"), str(HERE)))

    def run(*command, code=0):
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": "", "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


def test_cases_are_judged_and_shrunk(without):
    without(sys.executable, "-c", EXAMINED)


def test_a_campaign_runs_them_in_its_processes(without):
    command = [sys.executable, "-m", "portadnn", "diff", "-t", "reference", "--no-progress"]
    assert "1 passed" in without(*command, LINE)


def test_the_fixture_compares_them(without, tmp_path):
    (tmp_path / "test_it.py").write_text(FIXTURE, encoding="utf-8")
    plugin = ("-p", "portadnn.diff.pytest_plugin", "-p", "no:portadnn_diff", "-p", "no:cacheprovider")
    said = without(sys.executable, "-m", "pytest", "-q", "-rs", *plugin, "test_it.py")
    assert "31 passed, 1 skipped" in said
    assert "NumPy has no bfloat16 of its own" in said
