"""The programs of docs/from-pytorch.md run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")

PAGE = (Path(__file__).parents[2] / "docs" / "from-pytorch.md").read_text(encoding="utf-8")
PROGRAMS = [code for code in re.findall(r"```python\n(.*?)```", PAGE, flags=re.S) if code.startswith("import torch\n")]
# the entry point is not there before the next install
REGISTERED = "from portadnn.torch import compile_backend\n"


def test_programs(tmp_path):
    """One after another in one process: most of the time is torch's import."""
    for i, code in enumerate(PROGRAMS):
        (tmp_path / f"program_{i}.py").write_text(REGISTERED + code if "torch.compile(" in code else code)
    names = [path.stem for path in sorted(tmp_path.glob("*.py"))]
    done = subprocess.run(
        [sys.executable, "-c", f"for name in {names}: __import__(name)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
    )
    assert done.returncode == 0, done.stderr
    assert len(PROGRAMS) >= 3
    for line in ("4 modules are computed by portadnn, 2 are left to PyTorch", "4: portadnn has no Flatten"):
        assert line in done.stdout and line in PAGE
    assert float(re.search(r"largest difference: (\S+)", done.stdout).group(1)) < 1e-4
    assert "torch.Size([1, 8, 14, 14])" in done.stdout
