"""Plans ahead of calls: what handle.prepare makes is what calls find, and kernels are built side by side."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from helper import everywhere
from where import BACKENDS, open_handle

import portadnn as dnn
from portadnn_backends.build_pool import cores
from portadnn_backends.opencl.compiler import Compiler

LINES = (
    "activation_forward x=f32:2x3x5x7 mode=TANH",
    "pooling_forward x=f32:2x3x8x8 mode=MAX window=2,2 stride=2,2",
    "convolution_forward x=f32:1x3x9x9 w=f32:4x3x3x3 padding=1,1",
)
WAIT = 60  # seconds for the other thread


def plans(handle):
    return handle.cache_info().plans


def as_another_device(handle):
    """Make the backend take PoCL for a device whose compiler is asked by several threads."""
    info = dataclasses.replace(handle.info, platform="other", version="1.2")
    handle.device.info = handle.device.compiler.info = info


@pytest.fixture
def several(monkeypatch):
    """An OpenCL handle whose compiler builds nothing before two threads ask it."""
    monkeypatch.setenv("PORTADNN_CACHE_DIR", "")
    asked, several_ask, build = [], threading.Event(), Compiler.build
    one_at_a_time = threading.Lock()  # PoCL's, in this process

    def builds(self, source):
        asked.append(source)
        if len(asked) > 1:
            several_ask.set()
        assert several_ask.wait(WAIT), "nobody else builds meanwhile"
        with one_at_a_time:
            return build(self, source)

    with open_handle("opencl", optimised=True) as handle:
        as_another_device(handle)
        monkeypatch.setattr(Compiler, "build", builds)
        yield handle


@everywhere()
def test_calls_find_the_plans(handle):
    handle.clear_cache()
    made = handle.prepare(LINES)
    assert (made.problems, made.graphs, made.refused) == (3, 0, {})
    before = plans(handle)
    x = handle.asarray(np.linspace(-2, 2, 210, dtype=np.float32).reshape(2, 3, 5, 7))
    y = dnn.activation_forward(handle, x, dnn.ActivationDescriptor("tanh"))
    np.testing.assert_allclose(handle.to_numpy(y), np.tanh(handle.to_numpy(x)), rtol=1e-5)
    assert plans(handle) == before == 3
    handle.prepare(map(dnn.parse, LINES))
    assert plans(handle) == 3


@everywhere()
def test_a_recording(handle, tmp_path):
    path = tmp_path / "calls.jsonl"
    x = handle.asarray(np.ones((1, 2, 6, 6), np.float32))
    with dnn.trace(path):
        dnn.pooling_forward(handle, x, dnn.PoolingDescriptor("max", (2, 2), stride=(2, 2)))
        dnn.softmax_forward(handle, x)
    handle.clear_cache()
    made = handle.prepare(path)
    assert made.problems == 2 and not made.refused
    assert handle.prepare(str(path)) == made
    assert plans(handle) == 2


def test_what_no_engine_takes_is_named():
    with open_handle("opencl", optimised=True) as handle:
        line = "convolution_forward x=f32:1x3x9x9 w=f32:4x3x3x3 y=f64:1x4x7x7"
        with pytest.raises(dnn.DnnError):
            handle.prepare([line])
        assert plans(handle) == 0
        for wrong in (7, [7], ["pool"], None):
            with pytest.raises(dnn.BadParam):
                handle.prepare(wrong)
        with handle.capture(), pytest.raises(dnn.NotSupported, match="prepares plans"):
            handle.prepare(LINES)
    with pytest.raises(dnn.NotInitialized):
        handle.prepare(LINES)


def test_problems_are_built_side_by_side(several):
    assert not several.prepare(LINES[:2]).refused
    assert plans(several) == 2


def test_kernels_of_a_plan_are_built_side_by_side(several):
    """The first is not waited for before the second is asked for; what is wrong with one is said when it is used."""
    device = several.device
    kernels = [
        device.compile(file, name, {})  # which lack all defines
        for file, name in (("shared/tensor/random_numbers.cl", "random_numbers"), ("shared/softmax/rows.cl", "softmax"))
    ]
    for kernel in kernels:
        for _ in range(2):
            with pytest.raises(dnn.CompileError):
                _ = kernel.native


def test_find_builds_engines_side_by_side(several):
    x = several.asarray(np.ones((1, 4, 8, 8), np.float32))
    w = several.asarray(np.ones((4, 4, 3, 3), np.float32))
    found = dnn.find_convolution_forward_algorithm(several, x, w, dnn.ConvolutionDescriptor(padding=(1, 1)))
    assert any(one.status is dnn.Status.SUCCESS for one in found)


def test_no_remarks_of_compilers(monkeypatch, capfd):
    """Neither the driver's on the terminal nor PyOpenCL's warnings; filters of warnings stay as they were."""
    monkeypatch.setenv("PORTADNN_CACHE_DIR", "")
    before = list(warnings.filters)
    with open_handle("opencl", optimised=True) as handle:
        as_another_device(handle)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            handle.prepare(LINES)
            text = "#warning a remark\n__kernel void f(__global int *x) { int unused; x[0] = 1; }\n"
            handle.device.compiler.build(text)
    assert not caught
    assert "warning" not in "".join(capfd.readouterr())
    assert warnings.filters == before


HELPED = """
import os, portadnn as dnn
from portadnn.ahead import helpers as ahead_helpers
ahead_helpers._LEAST = 1
started, begun = ahead_helpers.subprocess.Popen, []
def popen(*args, **options):
    begun.append(started(*args, **options))
    return begun[-1]
ahead_helpers.subprocess.Popen = popen
lines = [f"activation_forward x=f32:2x3x5x7 mode={mode}" for mode in ("TANH", "RELU", "SIGMOID", "ELU")]
with dnn.Handle("opencl") as handle:
    shares, later = ahead_helpers.dealt(handle, [(dnn.parse(line), None) for line in lines])
    assert len(shares) == 1 and 0 < len(later) < 4, (shares, later)
    assert not handle.prepare(lines).refused and handle.cache_info().plans == 4
    assert [process.returncode for process in begun] == [0]
    assert ahead_helpers.dealt(handle, [(dnn.parse(line), None) for line in shares[0]]) == ([], set()), "all is kept"
"""


@pytest.mark.long
def test_processes_compile_for_each_other(tmp_path):
    """On PoCL, whose compiler takes one kernel at a time; what they made is in the kernel cache."""
    if "opencl" not in BACKENDS or cores() < 2:
        pytest.skip("PoCL on two cores is needed")
    environment = {**os.environ, "PORTADNN_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("POCL_CACHE_DIR", None)
    done = subprocess.run([sys.executable, "-c", HELPED], env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
