"""AMD's compiler takes every OpenCL source that an AMD GPU can reach, and nothing spills to memory.

Of sources that differ in sizes only one is compiled. `make amd` compiles all of them for one target. For the others it
compiles those that can come out otherwise: what none before has, what names a target, and what takes many registers or
large groups. All of theirs, and more targets, are ``long``. Of 894 texts that gfx942 and gfx1100 have, 938
of gfx90a and gfx942, and 929 of gfx1100 and gfx1201, none was refused or spilled for one of the two alone, or had other
local memory or other work-items.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from small_problems import uncovered
from source_recorder import SourceRecorder, differing

from amd_isa import clang
from amd_isa.executor.memory import allocate
from amd_isa.executor.run import Code
from amd_isa.resources import resources
from amd_isa.sources import persona, recorded
from portadnn_backends import kernel_text

pytestmark = pytest.mark.amd
FIRST, OTHERS = "gfx1100", ("gfx1201", "gfx942", "gfx90a")
NAMES_A_TARGET = re.compile(r"__gfx\d|__GFX\d|mfma|wmma")
NEAR, SMALL = 128, 256  # registers of the 256 of a lane; work-items of a group, for which gfx942 and gfx90a have 512
EACH = [pytest.param(target, marks=[pytest.mark.long] * (target != FIRST)) for target in clang.TARGETS]


def faults(source, name, origin, made, recorder):
    """Yield what is wrong with a source's machine code."""
    if isinstance(made, clang.Refused):
        yield f"{origin}: refused: {made}"
        return
    kernel, items = resources(made)[name], recorder.items.get((source, name), 0)
    if kernel.vgpr_spills or kernel.scratch or kernel.dynamic_stack:  # spilled SGPRs lie in lanes of VGPRs
        yield f"{origin}: {name}: {kernel.vgpr_spills} VGPRs spilled, {kernel.scratch} bytes of scratch"
    if kernel.local_memory > recorder.info.local_memory:
        yield f"{origin}: {name}: {kernel.local_memory} bytes of local memory"
    if items > kernel.most_items:
        yield f"{origin}: {name}: launched with {items} work-items, compiled for {kernel.most_items}"


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("target", EACH)
def test_compiles(target):
    clang.require()
    wrong, needs = compiles(differing(recorded(target), set()), target)
    if target == FIRST:
        for other in OTHERS:
            found = differing(recorded(other), set())
            faulty, more = compiles((one for one in found if can_differ(one[0], needs.get(one[0]))), other)
            wrong, needs = wrong + faulty, needs | more
    assert not wrong, "\n".join(wrong)


def compiles(sources, target):
    """Compile sources; return what is wrong with them, and what each that is compiled needs."""
    todo, recorder = list(sources), recorded(target)
    made = clang.compile_objects([source for source, _, _ in todo], target)
    pairs = list(zip(todo, made, strict=True))
    wrong = [f"{target}: {fault}" for one, file in pairs for fault in faults(*one, file, recorder)]
    taken = [(one, file) for one, file in pairs if not isinstance(file, clang.Refused)]
    return wrong, {source: resources(file)[name] for (source, name, _), file in taken}


def can_differ(source, need):
    """Tell whether a source may come out otherwise than for a target before, where it needs this (None: not there)."""
    if need is None or NAMES_A_TARGET.search(source):
        return True
    return need.vgprs > NEAR or need.most_items > SMALL


WIDE = {  # what a listing has where 16 bytes are loaded at once; lines of memory-bound kernels of packed tensors
    "elementwise": "op_tensor a=f32:4x8x32x32 b=f32:4x8x32x32 c=f32:4x8x32x32 operation=add",
    "softmax": "softmax_forward x=f32:64x1024x1x1 algorithm=accurate mode=instance",
    "batch norm": "batch_normalization_forward_training x=f32:8x16x32x32",
    "reduction": "reduce_tensor a=f32:64x4096x1x1 c=f32:64x1x1x1 operation=add",
}


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
@pytest.mark.parametrize("name", WIDE)
def test_memory_bound_kernels_load_16_bytes_at_once(name, target):
    clang.require()
    recorder = SourceRecorder(persona(target)).record([WIDE[name]])
    assert recorder.sources
    listings = [clang.listing(clang.compile(source, target)) for source in recorder.sources]
    assert any(re.search(r"global_load_(dwordx4|b128)", text) for text in listings)


BUTTERFLY = """
KERNEL WG_SIZE(128, 1, 1) butterfly(GLOBAL float *single, GLOBAL double *twice) {
    const int lid = LID(0);
    for (int i = 0, step = 1; step < WARP; ++i, step *= 2) {
        single[i * 128 + lid] = exchange((float)lid, step);
        twice[i * 128 + lid] = exchange(lid + 1e-9, step);
    }
}
"""


@pytest.mark.parametrize("target", ["gfx1100", "gfx942"])
def test_lanes_exchange_numbers(target):
    """In waves of 32 and of 64."""
    clang.require()
    source = kernel_text.read("opencl/dialect.h") + BUTTERFLY
    code = Code(clang.compile(source, target), target)
    single, twice = allocate(5 * 128 * 4), allocate(5 * 128 * 8)
    code.launch("butterfly", (1,), (128,), [single, twice])
    want = np.arange(128)[None, :] ^ (1 << np.arange(5))[:, None]
    assert np.array_equal(single.view(np.float32).reshape(5, 128), want)
    assert np.array_equal(twice.view(np.float64).reshape(5, 128), want + 1e-9)


def test_every_kernel_is_reached():
    recorder = recorded("gfx1100")
    assert not recorder.refused, "no engine takes these"
    assert not uncovered(recorder.kernels, recorder.info), "add a line to small_problems"
