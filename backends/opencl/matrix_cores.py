"""Matrix cores: whether a device's OpenCL compiler has their instructions, and on NVIDIA's whether they work."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from portadnn.enums import DataType

from .. import kernel_cache, kernel_text
from ..engines.conv.matrix_units import Unit, unit_of_target

_YES, _NO = b"yes", b"no"


def probes(unit: Unit) -> list[str]:
    """Return texts that a compiler takes where it has a unit's instructions: one for each type."""
    sizes = dict.fromkeys(("BM", "BN", "WM", "WN"), unit.fragment)
    copies = {"ASYNC": 1, "PENDING": 0} if unit.ptx else {}
    defines = {**sizes, **unit.defines(), **copies}
    return [
        kernel_text.assemble("shared/common/mma_probe.cl", "opencl", {**defines, f"DTYPE_{kind.name}": 1})
        for kind in unit.types
    ]


def features(cl: Any, device: Any, target: str, options: str) -> frozenset[str]:
    """Return the feature of a device's matrix unit, where its compiler takes the instructions.

    Drivers differ in that: it is tried once for each version, and kept beside the compiled kernels.
    """
    unit = unit_of_target(target)
    if unit is None:
        return frozenset()
    texts = probes(unit)
    key = ("matrix cores", *texts, options, device.name, device.driver_version, device.version)
    answer = kernel_cache.load(key)
    if answer is None:
        works = all(_works(cl, device, text, options, unit, kind) for text, kind in zip(texts, unit.types, strict=True))
        answer = _YES if works else _NO
        kernel_cache.store(key, answer)
    return frozenset({unit.feature} if answer == _YES else ())


def _works(cl: Any, device: Any, text: str, options: str, unit: Unit, kind: DataType) -> bool:
    """Tell whether a text compiles and, where its instructions are inline PTX, multiplies ones right."""
    try:
        context = cl.Context([device])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyOpenCL's, about what the compiler remarks
            program = cl.Program(context, text).build(f"{options} -w", devices=[device], cache_dir=False)
        return not unit.ptx or _multiplies(cl, context, program, unit, kind)
    except (cl.Error, cl.RuntimeError, cl.LogicError, cl.MemoryError):
        return False


def _multiplies(cl: Any, context: Any, program: Any, unit: Unit, kind: DataType) -> bool:
    chunks, depth = 2 * unit.fragment * 4, 64 // kind.itemsize
    ones = kind.stored(np.ones(chunks * 16 // kind.itemsize))
    sums = np.empty(unit.wave * unit.rows, np.float32)
    flags = cl.mem_flags
    queue = cl.CommandQueue(context)
    a = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=ones)
    out = cl.Buffer(context, flags.WRITE_ONLY, sums.nbytes)
    kernel = cl.Kernel(program, "mma_probe")
    kernel.set_args(a, np.int64(0), out, np.int64(0))
    cl.enqueue_nd_range_kernel(queue, kernel, (unit.wave,), (unit.wave,))
    cl.enqueue_copy(queue, sums, out)
    return bool((sums == depth).all())
