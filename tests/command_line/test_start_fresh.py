"""The page for beginners has the program of examples/start_fresh.py, which learns on every backend."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import portadnn as dnn
from portadnn.registry import default_backend_names, get_backend

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "examples" / "start_fresh.py"
PAGE = (ROOT / "docs" / "start-fresh.md").read_text(encoding="utf-8")
CHOSEN = tuple(filter(None, os.environ.get("PORTADNN_TEST_BACKENDS", "").split(","))) or default_backend_names()


def test_the_page_has_the_program():
    assert f"```python\n{PROGRAM.read_text(encoding='utf-8')}```" in PAGE


@pytest.mark.parametrize("backend", CHOSEN)
def test_the_program_learns(backend, tmp_path):
    reason = get_backend(backend).why_unavailable()
    if reason is not None:
        pytest.skip(f"backend {backend}: {reason}")
    environment = {**os.environ, "PORTADNN_BACKEND": backend}
    printed = subprocess.run(
        [sys.executable, PROGRAM],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    losses = [float(number) for number in re.findall(r"loss (\d\.\d+)", printed)]
    assert losses == pytest.approx([1.020, 0.149, 0.045, 0.015], abs=0.0015)  # the same everywhere
    assert "100% of the last images" in printed


def test_names_on_the_page_exist():
    names = set(re.findall(r"`(?:dnn\.)?([a-z]+(?:_[a-z0-9]+)+)[`(]", PAGE))
    assert names
    assert [name for name in names if not hasattr(dnn, name) and not hasattr(dnn.Handle, name)] == []


def test_the_error_on_the_page_is_the_librarys():
    with dnn.Handle("reference") as handle, pytest.raises(dnn.BadParam) as caught:
        dnn.convolution_forward(
            handle, handle.zeros((1, 3, 8, 8)), handle.zeros((4, 5, 3, 3)), dnn.ConvolutionDescriptor()
        )
    assert f"portadnn.errors.BadParam: {caught.value}" in PAGE
