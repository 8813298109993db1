"""oclgrind's compiler with the optimiser, which has kernels for GPUs simulated in a third of the time.

What is optimised away is what devices' compilers leave out as well: a load whose value nobody uses. All other accesses
stay, so that races and those out of bounds are found as without the optimiser (faults.py).

oclgrind 21.10 stops at intrinsics that it lacks and that the optimiser makes (usub.sat). Texts with others than those
that it has are compiled without.
"""

from __future__ import annotations

import copy
import re

_NAME = re.compile(rb"llvm\.(?:(?!llvm\.)[a-z.])+")  # they stand one behind the other
_KNOWN = (  # of oclgrind 21.10: src/core/WorkItemBuiltins.cpp; loop, module and ident are names of metadata
    *(b"llvm.bswap.", b"llvm.dbg.", b"llvm.fabs.f", b"llvm.lifetime.start", b"llvm.lifetime.end", b"llvm.memcpy"),
    *(b"llvm.memmove", b"llvm.memset", b"llvm.fmuladd", b"llvm.smax", b"llvm.smin", b"llvm.umax", b"llvm.umin"),
    *(b"llvm.trap", b"llvm.loop.", b"llvm.module.flags", b"llvm.ident"),
)


class Optimiser:
    """A device's compiler that optimises the texts whose intrinsics oclgrind has; it prints what others call."""

    def __init__(self, compiler):
        self.options = compiler.options
        self.quick, self.slow = copy.copy(compiler), copy.copy(compiler)
        self.quick.options, self.slow.options = f"{self.options} -O1", f"{self.options} -O0"

    def build(self, source):
        program = self.quick.build(source)
        lacks = {name.decode() for name in _NAME.findall(self._code(program)) if not name.startswith(_KNOWN)}
        if not lacks:
            return program
        print("not optimised:", *sorted(lacks), flush=True)
        return self.slow.build(source)

    @staticmethod
    def _code(program):
        import pyopencl as cl

        (code,) = program.get_info(cl.program_info.BINARIES)
        return code


def optimise(handle):
    """Have a handle whose device is oclgrind's compile kernels for GPUs with the optimiser; return the handle.

    Kernels for CPUs have so few work-items that the optimiser takes longer than what it saves.
    """
    device = handle.device
    if "Oclgrind" in handle.info.name and handle.info.schedule == "gpu":
        device.compiler = Optimiser(device.compiler)
    elif "Oclgrind" in handle.info.name:
        device.compiler.options += " -O0"  # it would optimise for size
    return handle
