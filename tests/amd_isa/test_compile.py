"""AMD's compiler takes every OpenCL source that an AMD GPU can reach, and nothing spills to memory.

Of sources that differ in sizes only one is compiled. `make amd` compiles all of them for one GPU with waves of 64 and
for one with waves of 32 lanes. For their twins, which have the same registers and take the same texts, it compiles
those that name a target and those that come near to spilling; all of theirs, and the other targets, are ``long``. Of
the 1,867 texts that name no target none was refused or spilled for a twin alone, or had other local memory or other
work-items; a twin took at most 14 registers more.
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
TWINS = {"gfx942": "gfx90a", "gfx1100": "gfx1201"}
NAMES_A_TARGET = re.compile(r"__gfx\d|__GFX\d|mfma|wmma")
NEAR = 128  # of the 256 registers of a lane
LATER = {"gfx906", "gfx1030", "gfx1151", *TWINS.values()}
EACH = [pytest.param(target, marks=[pytest.mark.long] * (target in LATER)) for target in clang.TARGETS]


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
    recorder = recorded(target)
    todo = list(differing(recorder, set()))
    wrong, near = compiles(todo, recorder, target)
    if target in TWINS:
        named = {one for one in todo if NAMES_A_TARGET.search(one[0])}
        assert named
        assert near
        assert recorded(TWINS[target]).sources.keys() == recorder.sources.keys()
        wrong += compiles([one for one in todo if one in named or one in near], recorder, TWINS[target])[0]
    assert not wrong, "\n".join(wrong)


def compiles(todo, recorder, target):
    """Compile sources; return what is wrong with them, and those that take many registers."""
    made = clang.compile_objects([source for source, _, _ in todo], target)
    wrong = [f"{target}: {x}" for one, file in zip(todo, made, strict=True) for x in faults(*one, file, recorder)]
    files = [(one, file) for one, file in zip(todo, made, strict=True) if not isinstance(file, clang.Refused)]
    return wrong, {one for one, file in files if resources(file)[one[1]].vgprs > NEAR}


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
