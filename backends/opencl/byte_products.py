"""Products of four bytes in a step: whether a CPU has them, and its OpenCL compiler takes the instruction."""

from __future__ import annotations

import warnings
from typing import Any

from .. import kernel_cache
from ..engines.conv.cpu.bytes import FEATURE
from . import pocl_cache
from .pocl_cpu import NO_HEADER, processor_flags

_TEXT = """typedef int words __attribute__((ext_vector_type(16)));
__kernel void products(__global words *v) {
    words sum = v[0];
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(v[1]), "v"(v[2]));
    v[0] = sum;
}"""
_YES, _NO = b"yes", b"no"


def features(cl: Any, device: Any, options: str) -> frozenset[str]:
    """Return the feature, where PoCL's compiler takes the instruction for this processor.

    It is tried once for each version, and kept beside the compiled kernels.
    """
    if "Portable Computing" not in device.platform.name or "avx512_vnni" not in processor_flags():
        return frozenset()
    key = ("products of bytes", _TEXT, options, device.name, device.driver_version, device.version)
    answer = kernel_cache.load(key)
    if answer is None:
        answer = _YES if _compiles(cl, device, options) else _NO
        pocl_cache.disown()  # else it would be kept with the first program
        kernel_cache.store(key, answer)
    return frozenset({FEATURE} if answer == _YES else ())


def _compiles(cl: Any, device: Any, options: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyOpenCL's, about what the compiler remarks
            program = cl.Program(cl.Context([device]), _TEXT)
            # not built: PoCL would link its library, which takes ten times as long
            program.compile(f"{options} -w{NO_HEADER}".split(), devices=[device])
    except (cl.Error, cl.RuntimeError, cl.LogicError, cl.MemoryError):
        return False
    return True
