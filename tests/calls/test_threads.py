"""Threads that share a handle: none sees another's numbers, none ends the process, and each gets its own answers."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from where import BACKENDS, open_handle

import portadnn as dnn
from portadnn.dispatch.bound_call import CallRecorder
from portadnn.dispatch.call_cache import CallCache

STORM = Path(__file__).parents[1] / "thread_storm.py"
SECONDS = float(os.environ.get("PORTADNN_THREADS_SECONDS", "3"))  # of each backend; 60 for a long look
JOBS = {
    *("relu", "add", "bias gradient", "convolution", "cudnnConvolutionForward", "cudnnActivationForward", "graph"),
    *("shared_output", "output_left_out", "refused", "clear", "collect"),
}
RELU = dnn.ActivationDescriptor("relu")
SHAPE = (2, 3, 5, 7)


@pytest.fixture(params=[name for name in BACKENDS if name in ("reference", "opencl", "cuda")])
def handle(request):
    with open_handle(request.param) as handle:
        yield handle


@pytest.mark.timeout(SECONDS + 250)
def test_a_storm(handle):
    """In a process of its own, which it may not end: see thread_storm.py."""
    binds = handle.device.binds
    done = subprocess.run(
        [sys.executable, str(STORM), handle.backend, str(SECONDS)],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS + 200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    facts = json.loads(done.stdout)
    assert facts["seconds"] >= SECONDS
    assert JOBS - {"collect"} <= set(facts["counts"]), "each was made"
    assert facts["evicted"] > 0
    assert facts["replaced"] > 0
    assert (facts["bound"] > 0) is binds
    sizes = facts["workspaces"]
    assert len(set(sizes)) == len(sizes) or not binds, "the convolutions' scratch memory grows"


def in_a_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join(60)
    assert len(found) == 1, "it waits"
    return found[0]


def test_what_other_threads_do_is_none_of_a_recorded_call(handle):
    """Their copies kept the call from being bound, and their memory was kept alive with it."""
    with handle.lock:
        handle.device.recorder = recorder = CallRecorder()
        try:
            in_a_thread(lambda: (handle.asarray(np.ones(SHAPE, np.float32)), handle.empty(SHAPE)))
            assert (recorder.kept, recorder.reason) == ([], "")
            mine = handle.empty(SHAPE)
            handle.asarray(np.ones(SHAPE, np.float32))
            if handle.device.binds:
                assert recorder.kept and recorder.reason
        finally:
            handle.device.recorder = None
    del mine


def test_a_thread_may_do_nothing_but_launch(handle):
    """A new one has no CUDA context before it asks for memory or waits."""
    x, y = handle.asarray(-np.ones(SHAPE, np.float32)), handle.empty(SHAPE)
    for made in range(4):  # prepared by the first thread; bound by the second; then launched again
        dnn.set_tensor(handle, y, 5.0)
        assert in_a_thread(lambda: dnn.activation_forward(handle, x, RELU, y)) is y, made
        assert not handle.to_numpy(y).any()


def test_other_threads_copy_while_one_captures(handle):
    """They were refused, as if the capture were theirs."""
    x, y = handle.asarray(-np.ones(SHAPE, np.float32)), handle.empty(SHAPE)
    with handle.capture() as step:
        dnn.activation_forward(handle, x, RELU, y)
        other = in_a_thread(lambda: handle.asarray(np.ones(SHAPE, np.float32)))
    dnn.set_tensor(handle, y, 5.0)
    step.replay()
    assert not handle.to_numpy(y).any()
    assert handle.to_numpy(other).all()


def test_two_threads_that_bind_the_same_call():
    """The second one found that the first had taken its note away."""
    cache = CallCache()
    values, key = (np.ones(3), 1.0), ("call", 1, 2)

    class Racing(dict):
        def get(self, key, default=None):
            value = super().get(key, default)
            self.pop(key, None)  # as another thread does
            return value

    assert not cache._again(key, values)
    cache._seen = Racing(cache._seen)
    assert cache._again(key, values)


def test_arrays_that_go_while_a_plan_is_dropped():
    """Before Python 3.12 garbage is collected in the midst of any allocation, and calls go with their arrays."""
    cache = CallCache()
    cache.update({("call", number): type("Call", (), {"plans": ()})() for number in range(100)})

    class Array:
        def __del__(self):
            cache.drop(("call", 0))

    thresholds = gc.get_threshold()
    gc.collect()
    array = Array()
    array.cycle = array
    del array
    gc.set_threshold(50)
    try:
        cache.drop_plan(object())
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    assert ("call", 0) not in cache
    assert len(cache) == 99
