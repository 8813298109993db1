"""Forked processes: what the parent opened raises, and a new handle works or raises at once; nothing hangs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from where import BACKENDS, open_handle

from portadnn import forking
from portadnn.registry import get_backend

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

USE = """
import os, sys
import numpy as np, portadnn as dnn
RELU = dnn.ActivationDescriptor("relu")

def use(handle):
    x, y = handle.asarray(np.arange(-3, 3, dtype=np.float32).reshape(1, 2, 3, 1)), handle.empty((1, 2, 3, 1))
    for _ in range(6):  # the last ones are repeated calls
        dnn.activation_forward(handle, x, RELU, y)
    assert handle.to_numpy(y).ravel().tolist() == [0, 0, 0, 0, 1, 2]
    return x, y

def lost(function, *arguments):
    try:
        function(*arguments)
    except dnn.NotInitialized as error:
        assert "spawn" in str(error), error
    else:
        raise SystemExit("it did not raise")

def fork(child):
    number = os.fork()
    if number == 0:
        if child is not None:
            child()
        sys.stdout.flush()
        sys.exit(0)  # in order, with all that is torn down then
    assert os.waitpid(number, 0)[1] == 0
"""


def run(program, backend):
    environment = {**os.environ, "PORTADNN_BACKEND": backend, "PORTADNN_CACHE_DIR": ""}
    environment["PYTHONWARNINGS"] = "ignore::DeprecationWarning"  # Python 3.12 warns of every fork beside threads
    done = subprocess.run(
        [sys.executable, "-c", USE + program], env=environment, capture_output=True, text=True, check=False, timeout=100
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


KERNELS = [name for name in BACKENDS if name in ("opencl", "cuda")]


@pytest.fixture(params=[name for name in BACKENDS if name in ("reference", "opencl", "cuda")])
def backend(request):
    open_handle(request.param).close()
    return request.param


@pytest.fixture(params=KERNELS)
def kernels(request):
    open_handle(request.param).close()
    return request.param


def test_a_handle_of_the_parent_raises(backend):
    """It waited for ever."""
    program = """
handle = dnn.Handle()
x, y = use(handle)
def child():
    lost(dnn.activation_forward, handle, x, RELU, y)
    lost(dnn.activation_forward, handle, x, RELU)
    lost(handle.to_numpy, y)
    lost(handle.asarray, np.zeros(3, np.float32))
    lost(handle.synchronize)
    lost(handle.set_stream, None)
    handle.close()
    print("child")
fork(child)
use(handle)
handle.close()
"""
    assert run(program, backend) == ["child"]


def test_graphs_of_the_parent_raise(backend):
    program = """
from portadnn import graph as cudnn
handle = dnn.Handle()
x, y = use(handle)
g = cudnn.pygraph(handle=handle, io_data_type=cudnn.data_type.FLOAT, compute_data_type=cudnn.data_type.FLOAT)
a = g.tensor(name="a", dim=[1, 2, 3, 1], stride=[6, 3, 1, 1])
b = g.relu(input=a)
b.set_output(True)
g.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
def execute():
    g.execute({a: x, b: y})
for _ in range(6):
    execute()
bound = g.bind({a: x, b: y})
bound()
fork(lambda: (lost(execute), lost(bound)))
execute()
bound()
"""
    assert run(program, backend) == []


def test_what_is_left_open_does_not_keep_a_child_from_ending(backend):
    program = """
handle = dnn.Handle()
large = handle.zeros((8, 64, 64, 64))
out = handle.empty((8, 64, 64, 64))
for _ in range(20):
    dnn.activation_forward(handle, large, dnn.ActivationDescriptor("tanh"), out)  # still under way
def child():
    global handle, large, out
    del handle, large, out
fork(child)
fork(None)
handle.synchronize()
"""
    assert run(program, backend) == []


def test_a_new_handle_in_the_child_raises_at_once(kernels):
    program = """
handle = dnn.Handle()
use(handle)
def child():
    lost(dnn.Handle, BACKEND)
    lost(dnn.Handle)  # and is not NumPy without a word
    use(dnn.Handle("reference"))
fork(child)
handle.close()
fork(lambda: lost(dnn.Handle, BACKEND))
"""
    run(program.replace("BACKEND", repr(kernels)), kernels)


def test_auto_raises_where_the_parent_used_a_device(kernels):
    if kernels == "opencl" and get_backend("cuda").why_unavailable() is None:
        pytest.skip("Handle() takes cuda, which the parent did not start")
    program = f"use(dnn.Handle({kernels!r}))\nfork(lambda: lost(dnn.Handle))"
    assert run(program, "") == []


def test_a_child_of_a_parent_without_devices_works(backend):
    """Nothing was started before the fork but the import, and NumPy."""
    program = """
handle = dnn.Handle("reference")
x, y = use(handle)
def child():
    lost(dnn.activation_forward, handle, x, RELU, y)
    own = dnn.Handle()
    use(own)
    print(own.backend)
    sys.stdout.flush()
    fork(lambda: lost(use, own))
fork(child)
fork(lambda: use(dnn.Handle()))
"""
    assert run(program, backend) == [backend]


def test_pools(backend):
    """Forked workers may have handles of their own where the parent has none yet."""
    program = f"""
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
def work(number):
    with dnn.Handle({backend!r}) as handle:
        return float(handle.to_numpy(handle.asarray(np.full(3, number, np.float32))).sum())
with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
    print(*pool.map(work, range(4)))
use(dnn.Handle({backend!r}))
"""
    assert run(program, backend) == ["0.0", "3.0", "6.0", "9.0"]


def test_forks_while_other_threads_compute(backend):
    """Nothing that one of them holds at that moment may be waited for in the child."""
    program = """
import threading
handle = dnn.Handle()
stop, errors = threading.Event(), []
def work():
    try:
        while not stop.is_set():
            use(handle)
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
def child():
    lost(handle.synchronize)
    lost(handle.asarray, np.zeros(3, np.float32))
    lost(dnn.activation_forward, handle, None, RELU)
for _ in range(10):
    fork(child)
stop.set()
for thread in threads:
    thread.join()
assert not errors, errors
print("forked")
"""
    assert run(program, backend) == ["forked"]


def test_opencl_that_the_program_started_itself():
    open_handle("opencl").close()
    program = """
import pyopencl
pyopencl.get_platforms()[0].get_devices()
fork(lambda: lost(dnn.Handle, "opencl"))
"""
    assert run(program, "opencl") == []


def test_check_reads_sources_in_processes_while_a_handle_is_open(backend, tmp_path):
    """`portadnn check` forks workers, which do not touch a device."""
    for number in range(40):
        (tmp_path / f"{number}.cu").write_text("void f() { cudnnHandle_t h; cudnnCreate(&h); cudnnDestroy(h); }\n")
    program = f"""
from portadnn.cli.main import main
handle = dnn.Handle()
x, y = use(handle)
try:
    main(["check", "--jobs", "2", "-q", {str(tmp_path)!r}])
except SystemExit as end:
    print(end.code)
use(handle)
"""
    assert run(program, backend)[-1] == "0"


def test_closed_handles_say_so():
    handle = open_handle("reference")
    handle.close()
    assert forking.reason(handle) == "the handle is closed"
