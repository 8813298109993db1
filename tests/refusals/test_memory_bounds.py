"""Calls on random views of one arena write the elements of their outputs and the given workspace, and nothing else.

Operands have random offsets, strides and gaps, outputs lie between other tensors' elements, and workspaces are slices
whose sizes are said right and wrong: tests/memory_bounds/. Every case is made three times, on the same bytes. A success
equals the reference on packed copies. ``python -m tests.memory_bounds --backend opencl --count 5000 --seed 7`` makes
more, and ``--start N --count 1`` makes one again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from memory_bounds.arena import Place
from memory_bounds.cases import DRAWN, VARIANTS, Case, kinds_of
from where import BACKENDS, among, open_handle

import portadnn as dnn

SEED = 0
COUNT = {"reference": 558, "opencl": 372}  # whole rounds of all operations
RUN = [backend for backend in COUNT if backend in BACKENDS]


@pytest.fixture(scope="module")
def outcomes():
    """Return what came of all cases on a backend, which are made once."""
    made: dict[str, list] = {}

    def get(backend):
        if backend not in made:
            with open_handle(backend) as handle:
                made[backend] = [Case(handle, SEED, number).run() for number in range(COUNT[backend])]
        return made[backend]

    return get


@pytest.mark.xdist_group("memory_bounds")
@pytest.mark.parametrize("backend", among(*COUNT))
def test_nothing_else_is_written(outcomes, backend):
    wrong = [f"{o.number}: {o.what}: {o.ended}: {'; '.join(o.faults)}" for o in outcomes(backend) if o.faults]
    assert not wrong, f"{len(wrong)} cases:\n" + "\n".join(wrong[:20])


@pytest.mark.xdist_group("memory_bounds")
@pytest.mark.parametrize("backend", among(*COUNT))
def test_all_kinds_of_cases_are_made(outcomes, backend):
    """Most calls compute, and each kind of memory, workspace and fault is among the cases that do or do not."""
    cases = outcomes(backend)
    with open_handle(backend) as handle:
        kinds, host = set(kinds_of(handle)), handle.device.host_memory
    computed = [o for o in cases if o.ended == "computed"]
    assert COUNT[backend] % (VARIANTS * len(DRAWN)) == 0
    assert len(computed) > 0.5 * len(cases)
    assert {o.kind for o in computed} == kinds
    assert {o.named for o in computed} == {True, False}
    assert sum(o.interleaved > 0 for o in computed) > 30
    assert {"none", "exact", "larger", "misaligned"} <= {o.workspace for o in computed}
    refused = Counter(o.fault for o in cases if o.ended != "computed")
    assert all(refused[fault] for fault in ("outside", "negative", "short memory"))
    assert refused["read-only"] or not host
    assert any(o.fault == "misaligned" for o in computed) is host
    if backend == "opencl":
        assert refused["misaligned"]
        assert any(o.workspace in ("short", "half", "zero") for o in cases if o.ended.startswith("BadParam"))


@pytest.mark.parametrize("backend", among(*COUNT))
def test_a_write_outside_is_seen(backend):
    """A call that writes elsewhere, or the wrong numbers, is found out."""
    with open_handle(backend) as handle:
        case = next(c for n in range(100) if not ((c := Case(handle, SEED, n)).broken or c.named))
        operation, arena = case.scene.operation, case.arena
        end = max(place.extent[1] for place in case.places.values())
        beside = arena.tensor(Place(-(-end // 16) * 16 + 4096, (4, 1, 1), (4, 4, 4), np.dtype(np.float32)))

        def wrong(given):
            operation.unified(given)
            dnn.set_tensor(handle, beside, 1.0)

        case.scene = replace(case.scene, operation=replace(operation, unified=wrong))
        (fault,) = case.run().faults
        assert "(16 of them) were written outside" in fault
        case.scene = replace(case.scene, operation=replace(operation, unified=lambda given: None))
        assert all("is wrong" in fault for fault in case.run().faults)
