"""Intel's offline compiler takes every kernel for its GPUs, where it is installed (Debian: intel-opencl-icd)."""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from small_problems import LINES
from source_recorder import SourceRecorder

from portadnn_backends.base import DeviceInfo

pytestmark = pytest.mark.long
TARGETS = ("dg2", "pvc")  # Arc, and Data Center GPU Max


def persona(target):
    """Return a GPU of Intel's as its OpenCL driver describes it."""
    return DeviceInfo(
        "opencl", target, "Intel(R) Corporation", "gpu", "", "", schedule="gpu", compute_units=64, simd_width=16,
        max_work_group=512, local_memory=64 << 10, global_memory=16 << 30, max_allocation=4 << 30,
        fp64=target == "pvc", features=frozenset({"atomic64"}),
    )  # fmt: skip


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("target", TARGETS)
def test_compiles(target, tmp_path):
    ocloc = shutil.which("ocloc")
    if ocloc is None:
        pytest.skip("ocloc, Intel's offline compiler, is not installed")
    info = persona(target)
    recorder = SourceRecorder(info).record(line for line in LINES if info.fp64 or "f64" not in line)
    kernels = {}  # one text of each
    for source, (file, name, line) in recorder.sources.items():
        kernels.setdefault((file, name), (source, line))
    assert len(kernels) > 50

    def refusal(item):
        number, ((file, name), (source, line)) = item
        text = tmp_path / f"{number}.cl"
        text.write_text(source, encoding="utf-8")
        command = [ocloc, "compile", "-file", text, "-device", target, "-options", "-cl-std=CL1.2"]
        done = subprocess.run(
            [*command, "-out_dir", tmp_path / "out"], capture_output=True, text=True, check=False, timeout=300
        )
        return f"{file} {name}, {line}: {done.stdout[-2000:]}" if done.returncode else ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        refused = [one for one in pool.map(refusal, enumerate(kernels.items())) if one]
    assert not refused, "\n".join(refused)
