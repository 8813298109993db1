"""A KeyboardInterrupt, or a signal handler that raises, in the middle of a call."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
from where import BACKENDS, open_handle

import portadnn as dnn

SHAPE = (2, 3, 5, 7)
RELU = dnn.ActivationDescriptor("relu")


@pytest.fixture(params=[name for name in BACKENDS if name in ("reference", "opencl")])
def handle(request):
    with open_handle(request.param) as handle:
        yield handle


@pytest.mark.parametrize("calls", [1, 2, 4], ids=["first", "bound", "repeated"])
def test_what_was_launched_on_the_hosts_memory_ends_first(handle, calls, monkeypatch):
    """It was computed later, in memory that its owner had freed by then."""
    if not handle.device.host_memory or handle.backend == "reference":
        pytest.skip("it computes nothing later")
    x, y = np.ones(SHAPE, np.float32), np.zeros(SHAPE, np.float32)
    for _ in range(calls - 1):
        dnn.activation_forward(handle, x, RELU, y)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(handle.device._host, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            dnn.activation_forward(handle, x, RELU, y)
    y[...] = 7  # somebody else has the memory now
    handle.synchronize()
    assert (y == 7).all()
    dnn.activation_forward(handle, x, RELU, y)
    assert (y == 1).all()


def test_other_threads_go_on_after_an_interrupt(handle):
    """The lock was kept for ever by a call that was interrupted right behind taking it."""
    x, y = handle.asarray(np.ones(SHAPE, np.float32)), handle.empty(SHAPE)
    for _ in range(4):
        dnn.activation_forward(handle, x, RELU, y)

    def interrupt(frame, event, what):
        if event == "c_return" and getattr(what, "__name__", "") == "acquire":
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(interrupt)
    try:
        dnn.activation_forward(handle, x, RELU, y)
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    thread = threading.Thread(target=lambda: dnn.activation_forward(handle, x, RELU, y), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "it waits for the lock"


DAEMON = """
import threading, time
import numpy as np
import portadnn as dnn

handle, begun = dnn.Handle({backend!r}), threading.Event()
x, y = np.ones((1, 2, 300, 400), np.float32), np.ones((1, 2, 300, 400), np.float32)

def compute():
    while True:
        dnn.softmax_forward(handle, x, y)
        begun.set()

for _ in range(3):
    threading.Thread(target=compute, daemon=True).start()
begun.wait(60)
time.sleep(0.1)
"""


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name in ("reference", "opencl")])
def test_daemon_threads_that_compute_at_the_end(backend):
    """The process was aborted: a thread came back from PyOpenCL after the interpreter's end."""
    command = [sys.executable, "-c", DAEMON.format(backend=backend)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
