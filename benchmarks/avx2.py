"""Another module of this package, run as on a processor without AVX-512.

``python -m portadnn.benchmarks.avx2 drawn FOLDER --backend opencl`` has PoCL's compiler, oneDNN and PyTorch use vectors
of 256 bits, where PoCL does not know the processor's name and takes the one that `pocl_cpu` finds for it. The record
tells: its device's `simd_width` is 8, and `torch_vectors` AVX2.
"""

from __future__ import annotations

import os
import runpy
import sys

from portadnn_backends.opencl import pocl_cpu


def main() -> None:
    """Run the module that the first argument names."""
    flags = {flag for flag in pocl_cpu.processor_flags() if not flag.startswith("avx512")}
    pocl_cpu.processor_flags = lambda: flags
    os.environ.update(ATEN_CPU_CAPABILITY="avx2", ONEDNN_MAX_CPU_ISA="AVX2")
    _, module, *words = sys.argv
    sys.argv = [module, *words]
    runpy.run_module(f"portadnn.benchmarks.{module}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
