"""Runs Python notebooks of cudnn-frontend with `import portadnn.graph as cudnn`.

    git clone https://github.com/NVIDIA/cudnn-frontend
    python tests/notebooks/run.py cudnn-frontend/samples/python --backend opencl

Each runs in a process of its own; its own assertions judge it. PyTorch is needed. Where there is no CUDA, the
notebooks' tensors are made on the CPU, NumPy stands for CuPy, and PyTorch's batch normalisation gets its statistics in
one dim, as it demands them there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ON_THE_CPU = """
import torch
torch.cuda.is_available = lambda: True
torch.cuda.synchronize = lambda *device: None
torch.cuda.get_device_capability = lambda *device: (9, 0)
def flat(function):
    def batch_norm(input, mean, variance, *others, **named):
        vectors = (one if one is None else one.flatten() for one in (mean, variance))
        named = {name: one.flatten() if isinstance(one, torch.Tensor) else one for name, one in named.items()}
        others = [one.flatten() if isinstance(one, torch.Tensor) else one for one in others]
        return function(input, *vectors, *others, **named)
    return batch_norm
torch.nn.functional.batch_norm = flat(torch.nn.functional.batch_norm)
"""
REPLACED = {
    '"cuda"': '"cpu"',
    ".cuda()": ".cpu()",
    "import cupy as cp": "import numpy as cp",
    "assert_close(Y_gpu,": "assert_close(torch.as_tensor(Y_gpu),",  # what NumPy's arrays give is NumPy's
}


def program(notebook: Path, cuda: bool) -> str:
    """Return a notebook's code, with the import line changed."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    text = re.sub(r"^(\s*)([!%].*)$", r"\1pass  # \2", text, flags=re.M)  # commands of the shell
    text = re.sub(r"^import cudnn$", "import portadnn.graph as cudnn", text, flags=re.M)
    if cuda:
        return text
    for old, new in REPLACED.items():
        text = text.replace(old, new)
    return ON_THE_CPU + text


def run(notebook: Path, backend: str, limit: float) -> str:
    """Run a notebook; return the reason why it fails, or ""."""
    environment = {**os.environ, "PORTADNN_BACKEND": backend}
    command = [sys.executable, "-c", program(notebook, backend == "cuda")]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return f"more than {limit:.0f} s"
    found = re.findall(
        r"^(\w[\w.]*(?:Error|Exception|Set|Name|Value|Pack|Failed)\b.*(?:\n\n?.+){0,2})", done.stderr, re.M
    )
    return "" if done.returncode == 0 else " ".join((found or [done.stderr[-300:]])[-1].split())


def main() -> int:
    """Run all notebooks of a folder and say which do not pass."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--backend", default="opencl")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one")
    options = parser.parse_args()
    failed = 0
    for notebook in sorted(options.folder.glob("*.ipynb")):
        began = time.monotonic()
        reason = run(notebook, options.backend, options.limit)
        failed += bool(reason)
        print(
            f"{'FAILED' if reason else 'passed'} {notebook.stem} {time.monotonic() - began:.0f} s {reason}", flush=True
        )
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
