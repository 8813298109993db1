"""Every CUDA kernel compiles for sm_80 and sm_90 with NVRTC, on machines without a GPU.

Of the sources that differ in sizes only, one is compiled, and those of kernels_shared/ for one architecture, because
inline PTX is all that could depend on it. `make test` compiles so many for the newest one that every define of every
kernel is among them, those of kernels_shared/ to PTX and with little of the optimiser. `make test-all` gives those to
the whole optimiser, and the rest to the other architecture.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import source_recorder
from small_problems import LINES, uncovered
from source_recorder import SourceRecorder, differing, traits
from where import ALL

import portadnn as dnn
from portadnn_backends.base import DeviceInfo
from portadnn_backends.cuda import device as cuda
from portadnn_backends.cuda.compiler import nvrtc_options
from portadnn_backends.cuda.devices import features
from portadnn_backends.cupy_devices.compiler import compiled

ARCHITECTURES = {  # an A100's and an H100's facts, by NVIDIA's data sheets: what engines' estimates choose by
    "sm_80": {"compute_units": 108, "flops": 19.5e12, "bandwidth": 1.555e12},
    "sm_90": {"compute_units": 132, "flops": 66.9e12, "bandwidth": 3.35e12},
}
NEWEST = max(ARCHITECTURES)
EACH = [pytest.param(arch, marks=[pytest.mark.long] * (arch != NEWEST)) for arch in ARCHITECTURES]
LACKING = {"sm_80": {"grid_fence"}}  # so that what stands in for it is compiled, too


def nvrtc_missing():
    """Return why NVRTC cannot be used, or None."""
    try:
        cuda.compile_cubin('extern "C" __global__ void f() {}', "sm_80")
    except (ImportError, OSError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return None


def require_nvrtc():
    """Skip the test without NVRTC, or fail where the environment demands it."""
    missing = nvrtc_missing()
    if missing is not None:
        if os.environ.get("PORTADNN_REQUIRE_NVRTC") == "1":
            pytest.fail(f"NVRTC is required: {missing}")
        pytest.skip(f"NVRTC: {missing}")


class Recorder(SourceRecorder):
    """Stands for NVIDIA's GPU of an architecture."""

    def __init__(self, arch):
        info = DeviceInfo(
            backend="cuda",
            name=arch,
            vendor="NVIDIA",
            kind="gpu",
            driver="",
            version="",
            schedule="gpu",
            simd_width=32,
            max_work_group=1024,
            local_memory=48 << 10,
            dynamic_memory=160 << 10,
            global_memory=40 << 30,
            max_allocation=40 << 30,
            arch=arch,
            features=features(int(arch[3:-1])) - LACKING.get(arch, set()),
            **ARCHITECTURES[arch],
        )
        super().__init__(info)

    def bind(self, launches):
        for launch in launches:
            assert all(0 < g < 2**16 for g in launch.grid[1:]), "CUDA's limit in y and z"
        return super().bind(launches)


def recorder_of(arch):
    """Return what records the sources for an architecture; skips or fails without NVRTC as :func:`require_nvrtc`."""
    require_nvrtc()
    return Recorder(arch)


@functools.cache
def quick_options():
    """Return the option of NVRTC that leaves most of its optimiser out, in a third of the time, if it has one."""
    option = ("--Ofast-compile=max",)
    try:
        compile_ptx('extern "C" __global__ void f() {}', NEWEST, option)
    except dnn.CompileError:
        return ()
    return option


def compile_ptx(source, arch, options=()):
    """Return the PTX of a source. It takes half the time of machine code, whose assembler checks inline PTX."""
    from cupy.cuda import nvrtc

    options = (*nvrtc_options(arch.replace("sm_", "compute_")), *options)
    with compiled(nvrtc, "NVRTC", source, arch, options) as program:
        return nvrtc.getPTX(program)


def compile_cubin(source, arch, options):
    """Return the machine code of a source, compiled with more options than users' are."""
    from cupy.cuda import nvrtc

    with compiled(nvrtc, "NVRTC", source, arch, (*nvrtc_options(arch), *options)) as program:
        return nvrtc.getCUBIN(program)


def reports_no_loss(source):
    """Demand that the assembler lets products of warpgroups run while others are issued."""
    from cupy.cuda import nvrtc

    options = (*nvrtc_options("sm_90"), "--ptxas-options=-v")
    with compiled(nvrtc, "NVRTC", source, "sm_90", options) as program:
        log = nvrtc.getProgramLog(program)
    assert "serialized" not in log, log


def compile_sources(found, arch, assembled=lambda source: True, quick=lambda source: False):
    """Compile sources, each of which has a kernel of a name; `found` has both, and where they are from.

    `assembled` tells for which machine code is made, not only PTX; `quick` for which the optimiser is left out.
    """

    def compiles(one):
        source, name, origin = one
        options = quick_options() if quick(source) else ()
        if assembled(source):
            code = compile_cubin(source, arch, options) if options else cuda.compile_cubin(source, arch)
            assert code[:4] == b"\x7fELF", origin
        else:
            code = compile_ptx(source, arch, options)
        assert name.encode() in code, f"{origin}: no kernel {name}"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compiles, found))


def compile_recorded(recorder, most=None):
    """Compile the first `most` sources that were recorded, or all."""
    found = [(source, name, file) for source, (file, name, _) in recorder.sources.items()][:most]
    assert found
    compile_sources(found, recorder.info.arch)


@functools.cache
def record(arch):
    """Return a recorder that every engine was asked to prepare every small problem on."""
    return Recorder(arch).record(LINES)


@functools.cache
def few(arch):
    """Return as few sources as have every define of every kernel, with and without it; all of kernels_cuda/."""
    return source_recorder.few(record(arch), "cuda/")


def is_shared(source, arch=NEWEST):
    """Tell whether a source that was recorded for an architecture is of kernels_shared/."""
    return record(arch).sources[source][0].startswith("shared/")


@pytest.mark.timeout(1200)  # the cores may be busy
@pytest.mark.xdist_group("nvrtc")
@pytest.mark.parametrize("arch", EACH)
def test_compiles(arch):
    require_nvrtc()
    recorder, seen = record(arch), set()
    if arch != NEWEST:
        for source, _, _ in few(NEWEST):
            if is_shared(source):
                seen |= traits(source, record(NEWEST).sources[source][0])
    if arch == NEWEST:
        quick = (lambda source: False) if ALL else is_shared
        compile_sources(few(arch), arch, lambda source: not is_shared(source), quick)
    else:
        compile_sources(
            differing(recorder, seen), arch, lambda source: not is_shared(source, arch), lambda source: True
        )
    assert not recorder.refused, "no engine takes these"
    assert not uncovered(recorder.kernels, recorder.info), "add a line to small_problems"


def compile_all(line):
    """Compile the kernels of every engine that takes a problem."""
    recorder = Recorder("sm_90").record([line])
    compile_recorded(recorder)


@pytest.mark.xdist_group("nvrtc")
def test_a_shape_on_which_the_compiler_crashed():
    """NVRTC 13.0 to 13.5 ended the process on loops that have one turn at most."""
    require_nvrtc()
    filters, images = "w=f16:7x2x1x3x1", "dy=f16:17x7x4x2x14:nhwc dx=f16:17x2x7x4x14"
    line = f"convolution_backward_data {filters} {images} padding=0,0,0 stride=2,1,1"
    code = f"import test_nvrtc; test_nvrtc.compile_all({line!r})"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=300)


def test_refusal_shows_the_log():
    require_nvrtc()
    with pytest.raises(dnn.CompileError, match="sm_90") as caught:
        cuda.compile_cubin('#line 7 "kernel.cl"\nnonsense', "sm_90")
    assert "kernel.cl(7)" in caught.value.log
    assert "nonsense" in caught.value.source
