"""Each instruction of the executor gives what AMD's instruction set guides say."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from amd_isa import clang
from amd_isa.instructions import compares, division, floats, integer, lanes, matrix, packed, scalars  # noqa: F401
from amd_isa.instructions.assembly import MATRIX_TARGETS, TARGETS, Assembled
from amd_isa.instructions.cases import all_cases

pytestmark = pytest.mark.xdist_group("amd_instructions")


@functools.cache
def assembled(target):
    clang.require()
    with np.errstate(all="ignore"):
        cases = [make(target) for _, make in all_cases(target)]
    return cases, Assembled([case.snippet for case in cases], target)


ALL = [(target, i, name) for target in TARGETS + MATRIX_TARGETS for i, (name, _) in enumerate(all_cases(target))]


@pytest.mark.parametrize(("target", "number"), [x[:2] for x in ALL], ids=[f"{t}-{i}-{n}" for t, i, n in ALL])
def test_instruction(target, number):
    cases, code = assembled(target)
    with np.errstate(all="ignore"):
        cases[number].check(code.run(number))
