"""What a handle keeps: plans within limits, calls as long as their arrays and plans, nothing after a clear."""

from __future__ import annotations

import gc
import logging
import weakref

import numpy as np
import pytest
from thread_storm import World, jobs_of, make_again
from where import BACKENDS, open_handle

import portadnn as dnn
from portadnn.dispatch import plan_cache

RELU = dnn.ActivationDescriptor("relu")
CHOSEN = [name for name in BACKENDS if name in ("reference", "opencl", "cuda")]


@pytest.fixture(params=CHOSEN)
def handle(request):
    with open_handle(request.param) as handle:
        yield handle


def relu(handle, width):
    """Make a call that has a plan of its own for each width, three times; see that it is right."""
    host = np.arange(-width, width, dtype=np.float32).reshape(1, 1, 2, width)
    x, y = handle.asarray(host), handle.empty(host.shape)
    for _ in range(3):
        dnn.activation_forward(handle, x, RELU, y)
    np.testing.assert_array_equal(handle.to_numpy(y), np.maximum(host, 0))
    return x, y


def prepared(caplog):
    """Return the widths whose plans were made, in order."""
    lines = [record.getMessage() for record in caplog.records if "activation_forward" in record.getMessage()]
    return [int(line.split("x=f32:1x1x2x")[1].split()[0]) for line in lines]


def test_info_and_clear(handle):
    kept = [relu(handle, width) for width in (2, 3, 4)]
    info = handle.cache_info()
    assert (info.plans, info.evicted) == (3, 0)
    assert (info.most_plans, info.most_bytes) == (plan_cache.MOST_PLANS, plan_cache.MOST_BYTES)
    assert 0 < info.nbytes < 3 << 20
    assert info.calls == (3 if handle.device.binds else 0)
    handle.clear_cache()
    info = handle.cache_info()
    assert (info.plans, info.nbytes, info.calls) == (0, 0, 0)
    for x, y in kept:
        dnn.activation_forward(handle, x, RELU, y)
    assert handle.cache_info().plans == 3


def test_a_clear_frees_programs_and_scratch_memory(handle):
    world = World(handle)
    for job in jobs_of(world):
        make_again(world, job, 3)
    programs = getattr(handle.device, "_programs", None)
    blocks = [lease for lease in handle.scratches._blocks.values() if lease.memory is not None]
    assert handle.device.binds is (programs is not None) is bool(blocks)
    world.graph = world.ports = job = None  # a graph has plans of its own
    handle.clear_cache()
    gc.collect()
    assert not len(programs._known if programs else ())
    assert [lease.memory for lease in blocks] == [None] * len(blocks)


def test_nothing_keeps_the_arrays_of_calls(handle):
    """Unified calls, C names and graphs, all of them repeated."""
    world = World(handle)
    jobs = jobs_of(world)
    for job in jobs:
        make_again(world, job, 4)
    handle.synchronize()
    arrays = {f"{job.name} {i}": weakref.ref(array) for job in jobs for i, array in enumerate(job.outputs)}
    assert len(arrays) >= 7
    del job, jobs
    gc.collect()
    assert [name for name, array in arrays.items() if array() is not None] == []


def test_the_least_recently_used_plan_goes_first(handle, caplog):
    handle.plans.most_plans = 3
    with caplog.at_level(logging.DEBUG, "portadnn"):
        for width in (2, 3, 4, 2, 5, 2, 6, 2, 7, 2):
            relu(handle, width)
            assert handle.cache_info().plans <= 3
    made = prepared(caplog)
    assert handle.cache_info().evicted == len(made) - 3
    assert sorted(set(made)) == [2, 3, 4, 5, 6, 7]
    assert len(made) <= 7, "what is used all the time is made anew once at most"


def test_bytes_are_bounded(handle):
    relu(handle, 2)
    room = 5 * handle.cache_info().nbytes // 2
    with open_handle(handle.backend, cache_bytes=room) as small:
        for width in (2, 3, 4, 5, 2):
            relu(small, width)
            assert small.cache_info().nbytes <= room
        info = small.cache_info()
    assert (info.plans, info.most_bytes) == (2, room)
    assert info.evicted >= 2


def test_no_room_at_all(handle):
    with open_handle(handle.backend, cache_bytes=0) as small:
        for width in (2, 3, 2, 3):
            relu(small, width)
        assert small.cache_info().plans <= 1


@pytest.mark.parametrize("value", [-1, 1.5, True, "1 GB", 2**63, np.float64(3)], ids=str)
def test_wrong_numbers_of_bytes(value):
    with pytest.raises(dnn.BadParam, match="cache_bytes"):
        dnn.Handle("reference", cache_bytes=value)


def test_calls_go_with_their_plan(handle):
    """A bound call keeps its kernels: it would keep what was evicted."""
    if not handle.device.binds:
        pytest.skip("nothing is bound")
    first = relu(handle, 2)
    second = relu(handle, 3)
    assert handle.cache_info().calls == 2
    handle.plans.most_plans = 2
    relu(handle, 4)
    relu(handle, 5)
    info = handle.cache_info()
    assert info.plans == 2
    assert info.calls <= 2
    for x, y in (first, second):
        dnn.set_tensor(handle, y, 7.0)
        dnn.activation_forward(handle, x, RELU, y)
        np.testing.assert_array_equal(handle.to_numpy(y), np.maximum(handle.to_numpy(x), 0))
