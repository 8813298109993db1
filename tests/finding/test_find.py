"""Find and Get: what they time, in which order, on whose memory, and what later calls make of it."""

from __future__ import annotations

import logging

import fake_engines
import numpy as np
import pytest
from fake_engines import FakeEngine
from helper import everywhere
from where import open_handle, scratch

import portadnn as dnn
from portadnn.enums import Status
from portadnn.errors import AllocFailed
from portadnn.finding import find

CONV = dnn.ConvolutionDescriptor((1, 1))
DIMS = {"x": (2, 6, 9, 8), "w": (5, 6, 3, 3), "y": (2, 5, 9, 8)}
ORDERS = {"forward": "xwy", "backward_data": "wyx", "backward_filter": "xyw"}
ALGOS = {
    "forward": dnn.ConvolutionFwdAlgo,
    "backward_data": dnn.ConvolutionBwdDataAlgo,
    "backward_filter": dnn.ConvolutionBwdFilterAlgo,
}
directions = pytest.mark.parametrize("direction", ORDERS)


def call(direction, form, handle, tensors, **options):
    """Call ``convolution_forward`` and the like: `form` is its name with {} for the direction."""
    first, second, last = tensors
    return getattr(dnn, form.format(f"convolution_{direction}"))(handle, first, second, CONV, last, **options)


def descriptors(direction):
    return [(dnn.FilterDescriptor if name == "w" else dnn.TensorDescriptor)(DIMS[name]) for name in ORDERS[direction]]


def arrays(handle, direction):
    random = np.random.default_rng(3)
    return [handle.asarray(random.standard_normal(DIMS[n]).astype(np.float32)) for n in ORDERS[direction]]


def expected(handle, direction, tensors):
    """Return the right result on the host."""
    with dnn.Handle("reference") as reference:
        hosts = [handle.to_numpy(tensor) for tensor in tensors]
        return call(direction, "{}", reference, [*hosts[:2], np.empty_like(hosts[2])])


@pytest.fixture
def crowded():
    """A handle of reference with fake engines, and these by name."""
    with open_handle("reference", find_db="") as handle:
        yield handle, fake_engines.install(handle)


def check_list(direction, found, count=None):
    """Every algorithm once, those that succeeded first and by time."""
    assert len(found) == min(count or 99, len(ALGOS[direction]))
    assert count or {perf.algo for perf in found} == set(ALGOS[direction])
    assert all(isinstance(perf.algo, ALGOS[direction]) for perf in found)
    good = [perf for perf in found if perf.status is Status.SUCCESS]
    assert found[: len(good)] == good
    assert [p.time for p in good] == sorted(p.time for p in good)
    assert all(p.time >= 0 and p.engine and not p.reason for p in good)
    assert all(p.time == -1 and p.reason for p in found[len(good) :])
    assert all(p.math_type is dnn.MathType.DEFAULT for p in found)
    return good


# every backend


@everywhere()
@directions
def test_cudnns_order(handle, direction):
    """Find from descriptors, ask for the workspace, run: each algorithm that succeeded is right."""
    found = call(direction, "find_{}_algorithm", handle, descriptors(direction))
    good = check_list(direction, found)
    assert good
    tensors = arrays(handle, direction)
    want = expected(handle, direction, tensors)
    for perf in good:
        assert call(direction, "get_{}_workspace_size", handle, descriptors(direction), algo=perf.algo) == perf.memory
        workspace = scratch(handle, perf.memory)
        result = handle.to_numpy(call(direction, "{}", handle, tensors, algo=perf.algo, workspace=workspace))
        np.testing.assert_allclose(result, want, rtol=1e-3, atol=1e-3)
        if perf.memory:
            with pytest.raises(dnn.BadParam, match=rf"at least {perf.memory} bytes, got {perf.memory - 1} bytes"):
                call(direction, "{}", handle, tensors, algo=perf.algo, workspace=scratch(handle, perf.memory - 1))


@everywhere()
@directions
def test_miopens_order(handle, direction):
    """Ask for the workspace, find with it on the caller's arrays, run with the same workspace."""
    size = call(direction, "get_{}_find_workspace_size", handle, descriptors(direction))
    workspace = scratch(handle, size)
    tensors = arrays(handle, direction)
    want = expected(handle, direction, tensors)
    before = [handle.to_numpy(tensor) for tensor in tensors[:2]]
    found = call(direction, "find_{}_algorithm_ex", handle, tensors, workspace=workspace)
    good = check_list(direction, found)
    assert good and not any(perf.status is Status.ALLOC_FAILED for perf in found)
    assert all(np.array_equal(handle.to_numpy(t), b) for t, b in zip(tensors, before, strict=False))
    for algo in (good[0].algo, None):
        result = handle.to_numpy(call(direction, "{}", handle, tensors, algo=algo, workspace=workspace))
        np.testing.assert_allclose(result, want, rtol=1e-3, atol=1e-3)


@everywhere()
@directions
def test_get_agrees_with_itself(handle, direction):
    tensors = descriptors(direction)
    ranked = call(direction, "get_{}_algorithm_v7", handle, tensors)
    good = check_list(direction, ranked)
    assert call(direction, "get_{}_algorithm", handle, tensors) is good[0].algo
    assert call(direction, "get_{}_algorithm", handle, tensors, preference="prefer_fastest") is good[0].algo
    least = min(good, key=lambda perf: perf.memory)
    limited = call(direction, "get_{}_algorithm", handle, tensors, memory_limit=least.memory)
    assert next(p for p in good if p.memory <= least.memory).algo is limited
    if least.memory == 0:
        free = call(direction, "get_{}_algorithm", handle, tensors, preference=0)
        assert call(direction, "get_{}_workspace_size", handle, tensors, algo=free) == 0
    else:
        with pytest.raises(dnn.NotSupported, match=f"preference: expected at least {least.memory} bytes .* got 0"):
            call(direction, "get_{}_algorithm", handle, tensors, preference="NO_WORKSPACE")
    assert getattr(dnn, f"get_convolution_{direction}_algorithm_max_count")(handle) == len(ALGOS[direction])


@everywhere()
def test_engines_have_names_of_their_own(handle):
    for kind in fake_engines.ALL:
        names = [engine.name for engine in handle.engines if kind in engine.problems]
        assert len(set(names)) == len(names)


@everywhere()
def test_empty_and_strided_tensors(handle):
    w, conv = dnn.FilterDescriptor((4, 3, 3, 3)), CONV
    empty = dnn.TensorDescriptor((0, 3, 8, 8))
    assert dnn.find_convolution_forward_algorithm(handle, empty, w, conv)[0].status is Status.SUCCESS
    gaps = dnn.TensorDescriptor((2, 3, 8, 8), strides=(1000, 200, 20, 2))
    assert dnn.find_convolution_forward_algorithm(handle, gaps, w, conv)[0].status is Status.SUCCESS


# the search, on fake engines


@directions
def test_sorted_by_what_was_measured(crowded, direction):
    handle, _ = crowded
    found = call(direction, "find_{}_algorithm", handle, descriptors(direction))
    good = check_list(direction, found)
    assert [perf.engine for perf in good] == ["atomic", "rounding", "quick"], "one for each algorithm, its fastest"
    assert [perf.deterministic for perf in good] == [False, True, True]
    assert [perf.memory for perf in good] == [0, 5000, 1000]
    assert [perf.time for perf in good] == pytest.approx([0.5, 1, 4]), "milliseconds"
    (broken,) = (perf for perf in found if perf.algo == 3)
    assert (broken.status, broken.engine) == (Status.EXECUTION_FAILED, "broken")
    assert "it broke" in broken.reason
    assert len(call(direction, "find_{}_algorithm", handle, descriptors(direction), requested=2)) == 2


@directions
def test_the_engine_that_was_timed_runs(crowded, direction):
    handle, engines = crowded
    tensors = arrays(handle, direction)
    call(direction, "{}", handle, tensors)
    assert engines["slow"].runs == 1, "without Find the estimate decides"
    call(direction, "{}", handle, tensors, algo=0)
    assert engines["slow"].runs == 2
    found = call(direction, "find_{}_algorithm", handle, tensors)
    for algo, name in ((0, "quick"), (1, "atomic"), (2, "rounding"), (None, "quick")):
        before = {key: engine.runs for key, engine in engines.items()}
        call(direction, "{}", handle, tensors, algo=algo)
        ran = [key for key, engine in engines.items() if engine.runs != before[key]]
        assert ran == [name], "without an algorithm only exact, deterministic engines run"
        size = call(direction, "get_{}_workspace_size", handle, tensors, algo=algo)
        assert size == engines[name].needs
    assert next(perf for perf in found if perf.algo == 0).engine == "quick"


def test_other_problems_are_not_affected(crowded):
    handle, engines = crowded
    call("forward", "find_{}_algorithm", handle, descriptors("forward"))
    x, w = handle.zeros((1, 6, 9, 8)), handle.zeros(DIMS["w"])
    before = engines["slow"].runs
    dnn.convolution_forward(handle, x, w, CONV)
    assert engines["slow"].runs == before + 1


def test_find_again_measures_again(crowded):
    handle, engines = crowded
    call("forward", "find_{}_algorithm", handle, descriptors("forward"))
    engines["quick"].takes = 0.05
    call("forward", "find_{}_algorithm", handle, descriptors("forward"))
    before = engines["slow"].runs
    call("forward", "{}", handle, arrays(handle, "forward"))
    assert engines["slow"].runs == before + 1


def test_the_workspace_decides_which_engines_run(crowded):
    handle, engines = crowded
    tensors = arrays(handle, "forward")
    found = call("forward", "find_{}_algorithm_ex", handle, tensors, workspace=np.empty(0, np.uint8))
    good = check_list("forward", found)
    assert [perf.engine for perf in good] == ["atomic", "slow"]
    (short,) = (perf for perf in found if perf.status is Status.ALLOC_FAILED)
    assert (short.engine, short.memory) == ("rounding", 5000)
    assert short.reason == "needs 5000 bytes of workspace, 0 bytes are given"
    assert not engines["rounding"].prepared and not engines["quick"].runs
    call("forward", "{}", handle, tensors, workspace=None)
    workspace = handle.device.workspace(1000)
    found = call("forward", "find_{}_algorithm_ex", handle, tensors, workspace=workspace)
    assert "quick" in [perf.engine for perf in check_list("forward", found)]
    assert np.shares_memory(engines["quick"].given, workspace)


def test_without_a_workspace_find_has_the_handles_own(crowded):
    """As the call has: what is found first is not slower than what runs without an algorithm."""
    handle, engines = crowded
    tensors = arrays(handle, "forward")
    found = call("forward", "find_{}_algorithm_ex", handle, tensors)
    assert [perf.engine for perf in check_list("forward", found)] == ["atomic", "rounding", "quick"]
    assert engines["rounding"].given is not None
    assert not any(perf.status is Status.ALLOC_FAILED for perf in found)
    before = engines["quick"].runs
    call("forward", "{}", handle, tensors)
    assert engines["quick"].runs == before + 1


def test_the_callers_arrays(crowded):
    """The plain form leaves them alone, the other overwrites the output and nothing else."""
    handle, _ = crowded
    tensors = arrays(handle, "forward")
    before = [tensor.copy() for tensor in tensors]
    call("forward", "find_{}_algorithm", handle, tensors)
    assert all(np.array_equal(a, b) for a, b in zip(tensors, before, strict=True))
    call("forward", "find_{}_algorithm_ex", handle, tensors)
    assert all(np.array_equal(a, b) for a, b in zip(tensors[:2], before, strict=False))
    assert not np.array_equal(tensors[2], before[2])


@pytest.mark.parametrize(
    ("fails", "status", "words"),
    [
        (AllocFailed, Status.ALLOC_FAILED, "no memory for tables"),
        (MemoryError, Status.ALLOC_FAILED, "it broke"),
        (ZeroDivisionError, Status.INTERNAL_ERROR, "ZeroDivisionError: it broke"),
        (dnn.BadParam, Status.BAD_PARAM, "it broke"),
    ],
)
def test_failures_do_not_stop_the_search(crowded, fails, status, words, caplog):
    handle, engines = crowded
    engines["atomic"].fails = fails
    with caplog.at_level(logging.WARNING, "portadnn"):
        found = call("forward", "find_{}_algorithm", handle, descriptors("forward"))
    (perf,) = (perf for perf in found if perf.engine == "atomic")
    assert (perf.status, perf.time) == (status, -1)
    assert words in perf.reason
    assert [perf.engine for perf in check_list("forward", found)] == ["rounding", "quick"]
    assert any("atomic failed in Find" in record.getMessage() for record in caplog.records)


def test_no_memory_for_a_workspace(crowded, monkeypatch):
    handle, _ = crowded

    def refuse(nbytes):
        raise AllocFailed(f"no {nbytes} bytes")

    monkeypatch.setattr(handle.device, "workspace", refuse)
    found = call("forward", "find_{}_algorithm", handle, descriptors("forward"))
    assert [perf.engine for perf in check_list("forward", found)] == ["atomic", "slow"]
    (perf,) = (perf for perf in found if perf.algo == 2)
    assert (perf.status, perf.memory) == (Status.ALLOC_FAILED, 5000)


def test_hopeless_engines_run_twice(crowded):
    handle, engines = crowded
    engines["rounding"].takes = 0.2
    call("forward", "find_{}_algorithm", handle, descriptors("forward"))
    assert engines["rounding"].runs == 2, "once to warm up, once to see that it is hopeless"
    assert engines["atomic"].runs >= 1 + 1 + find.ROUNDS


def test_get_estimates_without_running(crowded):
    handle, engines = crowded
    engines["broken"].no = "it is broken"
    tensors = descriptors("forward")
    ranked = check_list("forward", call("forward", "get_{}_algorithm_v7", handle, tensors))
    assert [(perf.engine, perf.time) for perf in ranked] == [("slow", 0.1), ("atomic", 0.3), ("rounding", 0.4)]
    broken = next(p for p in call("forward", "get_{}_algorithm_v7", handle, tensors) if p.algo == 3)
    assert (broken.status, broken.reason) == (Status.NOT_SUPPORTED, "broken: it is broken")
    assert not any(engine.runs or engine.prepared for engine in engines.values())
    engines["slow"].no = "away"
    assert call("forward", "get_{}_algorithm", handle, tensors).value == 0, "quick has the least estimate"
    assert call("forward", "get_{}_algorithm", handle, tensors, memory_limit=999).value == 1
    assert call("forward", "get_{}_algorithm", handle, tensors, preference="no_workspace").value == 1
    assert call("forward", "get_{}_algorithm", handle, tensors, preference=1, memory_limit=0).value == 0
    engines["atomic"].no = "away"
    with pytest.raises(dnn.NotSupported, match=r"memory_limit: expected at least 1000 bytes .*IMPLICIT_GEMM.* 999"):
        call("forward", "get_{}_algorithm", handle, tensors, preference=2, memory_limit=999)
    handle.engines = (FakeEngine("none", 0, no="on holiday"),)
    with pytest.raises(dnn.NotSupported, match="none: on holiday"):
        call("forward", "get_{}_algorithm", handle, tensors)
