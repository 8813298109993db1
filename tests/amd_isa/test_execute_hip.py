"""Operations run on the backend hip: its own host code, CuPy's stand-in, and the executor of AMD's machine code.

`PORTADNN_HIP_STAND_IN=gfx1100 PORTADNN_TEST_BACKENDS=hip` has any other test run so.
"""

from __future__ import annotations

import os

import helper
import pytest
from small_problems import LINES, branches

import portadnn as dnn
from amd_isa import clang, stand_in
from portadnn.operation import operation
from portadnn_backends.reference.outcomes import outcomes

pytestmark = pytest.mark.amd

ALL = os.environ.get("PORTADNN_AMD_ISA_ALL") == "1"  # every small problem, in place of every 20th
EVERY = 1 if ALL else 20


@pytest.fixture(scope="module", params=stand_in.WAVES)
def gpu(request):
    """Yield the stand-in for a GPU."""
    clang.require()
    with stand_in.installed(request.param) as found:
        yield found


@pytest.fixture
def handle(gpu):
    """Yield a handle on it."""
    with dnn.Handle("hip", profile=None) as opened:
        yield opened


def comparable(problem, tensors, numbers):
    """Return the outputs that every backend makes alike."""
    found, opaque = outcomes(problem, tensors, numbers), operation(problem.op).data.opaque
    return {name: value for name, value in found.items() if name not in opaque}


@pytest.mark.timeout(7200 if ALL else 300)
def test_small_problems(handle):
    """Every engine that takes a problem is right, where its kernels have branches that were not met before."""
    seen, wrong = set(), []
    for line in LINES[::EVERY]:
        problem = dnn.parse(line)
        for engine in handle.engines_for(problem):
            if engine.why_not(problem, handle.info) is not None:
                continue
            launches = engine.prepare(problem, handle.device).launches
            kernels = {launch.kernel.name + branches(launch.kernel.source) for launch in launches}
            if kernels <= seen:
                continue
            seen |= kernels
            try:
                helper.check(handle, line, engine=engine, oracle=comparable)
            except (AssertionError, dnn.DnnError, pytest.fail.Exception) as error:
                wrong.append(f"{engine.name}: {line}: {error}")
    assert seen
    assert not wrong, "\n".join(wrong)
