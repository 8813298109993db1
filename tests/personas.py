"""Personas: the device that is here with another one's limits, so that engines choose what they would choose there.

``PORTADNN_TEST_PERSONA=small`` has every handle of the tests that runs kernels for GPUs assume one. What a persona
lacks, kernels cannot use: their compiler knows no ``double`` or no 64-bit atomics, and refuses more local memory than
there is.
"""

from __future__ import annotations

import copy
import functools
import os
from dataclasses import replace

from small_problems import LINES
from source_recorder import SourceRecorder, differing

from portadnn.diff import Case

VARIABLE = "PORTADNN_TEST_PERSONA"
_GPU = {"max_work_group": 256, "local_memory": 64 << 10, "simd_width": 32, "features": frozenset({"atomic64"})}
PERSONAS = {  # what drivers report
    "amd": {**_GPU, "compute_units": 60},  # ROCm and Adrenalin, whatever the size of their waves
    "arc": {**_GPU, "max_work_group": 1024, "compute_units": 32, "fp64": False},  # Intel's Arc has no float64
    "mali": {"max_work_group": 384, "local_memory": 32 << 10, "simd_width": 32, "compute_units": 10, "fp64": False}
    | {"features": frozenset()},
    "small": {**_GPU, "local_memory": 32 << 10, "compute_units": 4, "features": frozenset()},  # OpenCL 1.2, no more
}
_NO_DOUBLE = "#undef cl_khr_fp64\n#define double portadnn_no_double\n"
_NO_ATOMICS = "#undef cl_khr_int64_base_atomics\n#define atom_cmpxchg portadnn_no_atomics\n"


class NarrowCompiler:
    """A compiler that refuses what a persona's would refuse.

    Attributes
    ----------
    most : int
        Bytes of local memory of the kernel that takes most.
    """

    def __init__(self, compiler, info):
        self.compiler, self.options, self.info, self.most = compiler, compiler.options, info, 0
        self.lacks = _NO_DOUBLE * (not info.fp64) + _NO_ATOMICS * ("atomic64" not in info.features)

    def build(self, source):
        import pyopencl as cl

        program = self.compiler.build(self.lacks + source)
        (device,) = program.devices
        for kernel in program.all_kernels():
            local = kernel.get_work_group_info(cl.kernel_work_group_info.LOCAL_MEM_SIZE, device)
            self.most = max(self.most, local)
            assert local <= self.info.local_memory, f"{kernel.function_name} takes {local} bytes of local memory"
        return program


def info_of(name, info):
    """Return what a device tells of itself as that persona; its driver's name keeps compiled kernels apart."""
    return replace(info, **PERSONAS[name], driver=f"{info.driver} as {name}")


def assume(handle, name=None):
    """Have a handle whose kernels are for GPUs assume a persona, by default the variable's; return the handle."""
    name = os.environ.get(VARIABLE, "") if name is None else name
    device = handle.device
    if name and device.info.schedule == "gpu" and hasattr(device, "compiler"):
        device.info = info_of(name, device.info)
        device.compiler = NarrowCompiler(device.compiler, device.info)
    return handle


def takes(info, line):
    """Tell whether a device of that kind has the types of a problem."""
    return info.fp64 or "f64" not in line


@functools.cache
def recorded(info):
    """Return the sources that engines write for the small problems on such a device, and for which problem."""
    return SourceRecorder(info).record([line for line in LINES if takes(info, line)])


def chosen_otherwise(name, info, seen):
    """Yield the cases in which an engine writes something else for the persona than for the device itself.

    Sources with traits that were seen are left out; others are added there.
    """
    plain = recorded(info).sources
    recorder = copy.copy(recorded(info_of(name, info)))
    recorder.sources = {source: facts for source, facts in recorder.sources.items() if source not in plain}
    cases = (Case(line, engine=recorder.engines[source]) for source, _, line in differing(recorder, seen))
    return tuple(dict.fromkeys(cases))
