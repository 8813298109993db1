"""Libraries that are installed and do not work: each says so as its backend's reason, and harms no other."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

BROKEN = {
    "opencl": ("pyopencl", "OSError('libOpenCL.so.1: cannot open shared object file')"),
    "cuda": ("cupy", "AttributeError(\"module 'numpy' has no attribute 'bool8'\")"),
    "torch": ("torch", "RuntimeError('no driver')"),
}
PROGRAM = """
import portadnn as dnn
import portadnn.cupy_compat

with dnn.Handle() as handle:
    print(handle.backend)
try:
    dnn.Handle({backend!r})
except dnn.NotSupported as error:
    print(error)
"""


@pytest.mark.parametrize("backend", BROKEN)
def test_a_broken_library(backend, tmp_path):
    for name, error in BROKEN.values():
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise {error}\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(backend=backend)],
        env={**os.environ, "PYTHONPATH": path, "PORTADNN_BACKEND": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    taken, reason = done.stdout.splitlines()
    assert taken == "reference"
    kind, _, text = BROKEN[backend][1].partition("(")
    assert "cannot be imported" in reason and f"{kind}: {text[1:9]}" in reason
