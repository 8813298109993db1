"""The page for those with MIOpen code has the program of examples/from_miopen.py, which runs on every backend."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from miopen_env import close, convolve, gradient
from where import BACKENDS

from portadnn import miopen
from portadnn.registry import get_backend

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "examples" / "from_miopen.py"
PAGE = (ROOT / "docs" / "from-miopen.md").read_text(encoding="utf-8")


def test_the_page_has_the_program():
    assert f"```python\n{PROGRAM.read_text(encoding='utf-8')}```" in PAGE


def by_numpy():
    """Return the sums that the program prints."""
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(d).astype(np.float32) for d in ((2, 3, 8, 8), (4, 3, 3, 3), (1, 4, 1, 1)))

    def forward(w):
        y = np.maximum(convolve(x, w, (1, 1)) + b, 0)
        return (y.reshape(2, 4, 4, 2, 4, 2).max((3, 5)),)

    (pooled,) = forward(w)
    return np.abs(pooled).sum(), np.abs(gradient(forward, w, (np.ones_like(pooled),))).sum()


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_program_runs(backend, tmp_path):
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
    assert re.search(r"^miopenConvolutionFwdAlgo\w+: \d+\.\d+ ms, \d+ bytes$", printed, re.MULTILINE)
    sums = [float(number) for number in re.findall(r"(?:forward|gradient): (\d+\.\d+)", printed)]
    close(sums, np.array(by_numpy()), rtol=1e-4)


def test_the_program_of_opencl_runs(tmp_path):
    reason = get_backend("opencl").why_unavailable()
    if reason is not None:
        pytest.skip(f"backend opencl: {reason}")
    (program,) = (text for text in re.findall("```python\n(.*?)```", PAGE, re.DOTALL) if "import pyopencl" in text)
    command = [sys.executable, "-c", program]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120).stdout
    image = 3 * np.linspace(-1, 1, 2 * 3 * 8 * 8).reshape(2, 3, 4, 2, 4, 2)
    close([float(printed.removeprefix("sum: "))], np.array([np.maximum(image, 0).max((3, 5)).sum()]), rtol=1e-5)


def test_names_on_the_page_exist():
    names = set(re.findall(r"\b(miopen\w+|MIOPEN_\w+)", PAGE))
    assert len(names) > 30
    assert [name for name in names if not hasattr(miopen, name)] == []
