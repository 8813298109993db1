"""Operations run on the backend hip: its own host code, CuPy's stand-in, and the executor of AMD's machine code.

`make amd` runs each engine on one problem of each operation, every second of them on the other target.
`PORTADNN_HIP_STAND_IN=gfx1100 PORTADNN_TEST_BACKENDS=hip` has any other test run so.
"""

from __future__ import annotations

import helper
import pytest

import portadnn as dnn
from amd_isa import hip_texts, stand_in
from amd_isa.cases import cases, comparable, param

pytestmark = pytest.mark.amd


def _sample():
    """Yield the cases: those that every run has alternate between the targets."""
    for turn, target in enumerate(stand_in.WAVES):
        for arch, engine, line, new in cases(hip_texts.persona(target)):
            turn += new
            yield arch, engine, line, new and turn % 2 == 0


CASES = list(_sample())


@pytest.fixture(scope="module")
def handle(request):
    """Yield a handle on the stand-in for a GPU."""
    with stand_in.installed(request.param), dnn.Handle("hip", profile=None) as opened:
        yield opened


@pytest.mark.parametrize(("handle", "engine", "line"), [param("hip", *case) for case in CASES], indirect=["handle"])
def test_small_problems(handle, engine, line):
    helper.check(handle, line, engine=engine, oracle=comparable)
