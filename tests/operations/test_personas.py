"""Engines keep within the limits of devices that are not here, and compute right there."""

from __future__ import annotations

import helper
import personas
import pytest
from small_problems import LINES
from source_recorder import few

import portadnn as dnn
from portadnn import diff
from portadnn.cli.selftest.selection import GRAPHS, Selection
from portadnn.diff.graphs import cases as graphs
from portadnn.errors import ArchMismatch, CompileError
from portadnn.problem import parse

FAMILIES = tuple({parse(line).op: line for line in reversed(LINES) if "f64" not in line}.values())


def opened(name):
    """Return a handle on PoCL with kernels for GPUs that assumes a persona; skips where there is none."""
    found = [target for target in helper.opencl_targets() if target.schedule == "gpu" or target.missing]
    if not found:
        pytest.skip("OpenCL's first CPU is not among the targets")
    return personas.assume(helper.opened(found[0]), name)


@pytest.fixture(scope="module")
def handles():
    """Handles by persona."""
    found = {}
    yield lambda name: found.get(name) or found.setdefault(name, opened(name))
    for handle in found.values():
        handle.close()


def run(handle, case):
    """Run a case and hold it against the definition."""
    found = diff.examine(case, {"persona": handle})
    assert found.verdict in (diff.Verdict.PASSED, diff.Verdict.MISTRUSTED), f"{case}: {found.reason} {found.judgements}"


@pytest.mark.parametrize("name", personas.PERSONAS)
def test_every_problem_has_an_engine_within_the_limits(handles, name):
    recorder = personas.recorded(handles(name).info)
    assert not recorder.refused
    assert 256 <= max(recorder.items.values()) <= personas.PERSONAS[name]["max_work_group"]


@pytest.mark.long
def test_what_is_chosen_otherwise_is_right(handles):
    seen = set()
    for name in personas.PERSONAS:
        handle = handles(name)
        cases = personas.chosen_otherwise(name, handles("").info, seen)
        assert cases
        for case in cases:
            run(handle, case)


def test_every_operation_is_right_within_the_least(handles):
    for line in FAMILIES:
        run(handles("mali"), diff.Case(line))


def test_graphs_are_right_within_the_least(handles):
    """Attention, its gradient, and what is fused, of the self-test's selection."""
    for line in GRAPHS[:7]:
        results = list(graphs.examine(graphs.case_of_line(line), handles("mali")))
        assert results, line
        for result in results:
            assert not result.wrong, f"{line}: {result.engine}: {result.message}"


def test_self_test_asks_for_no_type_that_the_device_lacks(handles):
    types = {case.problem.dtype.name for case in Selection().cases({"persona": handles("mali")})}
    assert types == {"FLOAT", "HALF", "BFLOAT16", "UINT8"}


@pytest.mark.parametrize("line", [line for line in LINES if "=f64:" in line][::40])
def test_no_engine_computes_in_float64_where_there_is_none(handles, line):
    handle, problem = handles("arc"), parse(line)
    assert {engine.refusal(problem, handle.info) for engine in handle.engines_for(problem)} == {
        "the device has no float64"
    }
    case = diff.Case(line, engine=handle.engines_for(problem)[0].name)
    assert diff.examine(case, {"persona": handle}).verdict is diff.Verdict.SKIPPED
    assert diff.examine(diff.Case(line), {"persona": handle}).verdict is diff.Verdict.UNSUPPORTED


@pytest.mark.long
def test_kernels_take_what_there_is(handles):
    """Kernels with all of their defines compile without float64 and 64-bit atomics, in 32 KB of local memory."""
    handle = handles("mali")
    sources = few(personas.recorded(handle.info))
    assert len(sources) > 50
    for source, _, _ in sources:
        handle.device.compiler.build(source)
    assert 8 << 10 < handle.device.compiler.most <= 32 << 10


def test_what_a_persona_lacks_is_refused(handles):
    handle = handles("mali")
    with pytest.raises(CompileError):
        handle.device.compiler.build("kernel void f(global double *x) { x[0] = 1; }")
    with pytest.raises(CompileError):
        handle.device.compiler.build("kernel void f(global long *x) { atom_cmpxchg(x, 0L, 1L); }")
    with pytest.raises(AssertionError, match="local memory"):
        handle.device.compiler.build(
            "kernel void f(global float *x) { local float a[9000]; a[0] = x[0]; x[1] = a[0]; }"
        )
    with pytest.raises(ArchMismatch, match="float64"):
        dnn.scale_tensor(handle, handle.zeros((1, 2, 3, 4), "float64"), 2.0)
