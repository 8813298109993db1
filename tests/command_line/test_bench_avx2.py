"""Benchmarks as on a processor without AVX-512."""

from __future__ import annotations

import os
import subprocess
import sys

from portadnn_backends.opencl import pocl_cpu


def test_a_module_runs_as_without_wide_vectors():
    """The module that is run, `names`, does nothing by itself."""
    code = (
        "import os, sys; sys.argv = ['avx2', 'names']; from portadnn.benchmarks import avx2; avx2.main();"
        "from portadnn_backends.opencl import pocl_cpu;"
        "print(pocl_cpu.nearest_name(), os.environ['ONEDNN_MAX_CPU_ISA'], os.environ['ATEN_CPU_CAPABILITY'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    name, *settings = done.stdout.split()
    assert settings == ["AVX2", "avx2"]
    assert name != "skylake-avx512"
    assert name == pocl_cpu.nearest_name() or pocl_cpu.nearest_name() == "skylake-avx512"
