"""AMD's compiler takes every text of the backend hip: clang in its HIP mode.

Of the sources that differ in sizes only, one is looked at. All go through the compiler's front end for a GPU with waves
of 64 and one with waves of 32 lanes. One in `PORTADNN_AMDGCN_SHARE` of them (32 by default, 1 for all) becomes machine
code, another one for each target.
"""

from __future__ import annotations

import os

import pytest
from small_problems import uncovered

from amd_isa import clang, hip_texts
from amd_isa.resources import resources

pytestmark = pytest.mark.amd

SHARE = int(os.environ.get("PORTADNN_AMDGCN_SHARE") or 32)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_every_text_is_hip(target):
    clang.require()
    wave = 64 if target in clang.CDNA else 32
    recorder = hip_texts.recorded(wave)
    assert not recorder.refused, "no engine takes these"
    assert not uncovered(recorder.kernels, recorder.info), "add a line to small_problems"
    hip_texts.check([source for source, _, _ in hip_texts.texts(target)], target)


@pytest.mark.timeout(7200)  # all of them take minutes
@pytest.mark.parametrize("target", hip_texts.TARGETS)
def test_machine_code(target):
    """Local memory, work-items and lanes of a wave are as the host says, and nothing lies in scratch memory."""
    clang.require()
    wave = 64 if target in clang.CDNA else 32
    items = hip_texts.recorded(wave).items

    def check(text):
        source, name, line = text
        kernel = resources(hip_texts.compile(source, target))[name]
        assert kernel.local_memory <= 64 << 10, line
        assert kernel.most_items >= items.get((source, name), 1), line
        assert kernel.wave == wave, line
        assert not (kernel.vgpr_spills or kernel.scratch or kernel.dynamic_stack), line
        return name

    first = hip_texts.TARGETS.index(target) * SHARE // len(hip_texts.TARGETS)
    assert clang.over(check, hip_texts.texts(target)[first::SHARE])


def test_a_refusal_names_the_file():
    clang.require()
    with pytest.raises(clang.Refused, match=r"nonsense\.cl:7"):
        hip_texts.check(["", '#line 7 "nonsense.cl"\nnonsense', ""], "gfx1100")
