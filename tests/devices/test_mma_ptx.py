"""NVIDIA's tensor cores from OpenCL: texts compiled for nvptx64 by clang, and the lanes' layout computed on the CPU."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cases_rnn
import pytest
from source_recorder import SourceRecorder, differing

import portadnn as dnn
from portadnn.enums import DataType
from portadnn.ops.rnn.layout import RNNMode
from portadnn.ops.rnn.problems import RNNForwardInference
from portadnn_backends import kernel_text
from portadnn_backends.base import DeviceInfo
from portadnn_backends.engines import kernel_engines
from portadnn_backends.engines.conv.matrix_units import MMA_PTX, unit_of_target
from portadnn_backends.opencl import matrix_cores

HERE = Path(__file__).parent
LIBRARY = Path("/usr/lib/clc/nvptx64--nvidiacl.bc")  # libclc's functions, so that the assembler finds no holes
INFO = DeviceInfo(
    backend="opencl",
    name="sm_90",
    vendor="NVIDIA",
    kind="gpu",
    driver="",
    version="",
    schedule="gpu",
    compute_units=132,
    simd_width=32,
    max_work_group=1024,
    local_memory=48 << 10,
    global_memory=80 << 30,
    max_allocation=20 << 30,
    arch="sm_90",
    flops=67e12,
    bandwidth=3.3e12,
    features=frozenset({"inline_ptx", "grid_fence", "atomic64", "mma_ptx"}),
)
SHAPE = ((64, 64), 512, 512, 1)  # rows of each step, features, hidden units, layers
CONVOLUTIONS = (
    "convolution_forward x={t}:8x64x56x56{f} w={t}:64x64x3x3{f} padding=1,1",
    "convolution_forward x={t}:64x256x28x28{f} w={t}:256x256x3x3{f} padding=1,1",
    "convolution_forward x={t}:3x20x13x11{f} w={t}:36x20x3x3{f} stride=2,2",
    "convolution_backward_data w={t}:64x64x3x3{f} dy={t}:8x64x28x28{f} dx={t}:8x64x56x56{f} padding=1,1 stride=2,2",
    "convolution_backward_filter x={t}:8x64x56x56{f} dy={t}:8x64x56x56{f} dw={t}:64x64x3x3{f} padding=1,1",
)
LINES = [
    line.format(t=kind, f=layout) + (" math=tf32" if kind == "f32" else "")
    for kind in ("f16", "bf16", "f32")
    for layout in (":nhwc", "")
    for line in CONVOLUTIONS
]


def tool(name):
    """Return the newest clang; skip the test without one."""
    found = next(filter(None, (shutil.which(f"{name}-{version}") for version in range(40, 18, -1))), None)
    if found is None:
        pytest.skip(f"{name} of LLVM 19 or newer")
    return found


def ptx_of(source):
    """Return the PTX of an OpenCL source; NVIDIA's compiler knows ``__asm__`` as ``asm``, and defines a macro."""
    words = [tool("clang"), "-x", "cl", "-cl-std=CL1.2", "--target=nvptx64-nvidia-cuda", "-nogpulib", "-O3", "-w"]
    for word in ("-target-cpu", "sm_80", "-target-feature", "+ptx71", "-fdeclare-opencl-builtins"):
        words += ["-Xclang", word]
    words += ["-Xclang", "-finclude-default-header", "-Dasm=__asm__", "-D__NV_CL_C_VERSION=120"]
    if LIBRARY.is_file():
        words += ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(LIBRARY)]
    made = subprocess.run([*words, "-S", "-o", "-", "-"], input=source, capture_output=True, text=True, check=False)
    assert not made.returncode, made.stderr[:3000]
    return made.stdout


def assemble(ptx):
    """Assemble for sm_90, where NVIDIA's assembler is there; return what it says of the kernel."""
    assembler = shutil.which("ptxas")
    if assembler is None or not LIBRARY.is_file():
        return ""
    for more in ((), ("-c",)):  # libclc calls functions of CUDA's library for some
        words = [assembler, "-arch=sm_90", "-v", *more, "-o", os.devnull, "-"]
        made = subprocess.run(words, input=ptx, capture_output=True, text=True, check=False)
        if not made.returncode:
            return "" if more else made.stderr
    raise AssertionError(made.stderr[:3000])


def recorded():
    recorder = SourceRecorder(INFO)
    recorder.record(LINES)
    return recorder


def test_every_text_compiles():
    """Every source of these convolutions, with every define once; its tensor-core loop is in the machine code."""
    tool("clang")
    recorder = recorded()
    assert not recorder.refused
    found = [one for one in differing(recorder, set()) if recorder.engines[one[0]].startswith("tensor_core")]
    assert sum("conv_matrix" in name for _, name, _ in found) >= 6

    def check(one):
        source, name, origin = one
        ptx = ptx_of(source)
        assert f".entry {name}" in ptx, origin
        if name != "conv_matrix":
            return
        assert "mma.sync.aligned.m16n8k" in ptx, origin
        assert ("cp.async" in ptx) == ("#define ASYNC 1" in source), origin
        said = assemble(ptx)
        spilled = re.search(r"Compiling entry function.*?(\d+) bytes spill stores", said, re.DOTALL)
        assert spilled is None or spilled[1] == "0", f"{origin}: {said}"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(check, found))


@pytest.mark.parametrize(("dtype", "taken"), [("HALF", True), ("BFLOAT16", True), ("FLOAT", False)])
def test_products_of_recurrent_layers_compile(dtype, taken):
    """In half and bfloat16 they are on tensor cores; float32 stays exact."""
    tool("clang")
    problem = dnn.parse(cases_rnn.line(RNNForwardInference, cases_rnn.words(RNNMode.LSTM, DataType[dtype], SHAPE)))
    recorder = SourceRecorder(INFO)
    for engine in kernel_engines():
        if isinstance(problem, engine.problems) and engine.why_not(problem, INFO) is None:
            engine.prepare(problem, recorder)
    found = [source for source, (_, name, _) in recorder.sources.items() if name == "gemm_matrix"]
    assert bool(found) == taken
    for source in found:
        ptx = ptx_of(source)
        assert "mma.sync" in ptx
        assemble(ptx)


@pytest.mark.parametrize("text", range(3))
def test_the_probe_compiles(text):
    ptx = ptx_of(matrix_cores.probes(MMA_PTX)[text])
    assert "mma.sync" in ptx
    assert "cp.async" in ptx
    assemble(ptx)


@pytest.mark.parametrize(("bm", "bn", "wm", "wn"), [(16, 16, 16, 16), (128, 64, 64, 32), (64, 128, 32, 64)])
def test_lanes_hold_what_the_layout_says(tmp_path, bm, bn, wm, wn):
    text = tmp_path / "tile.h"
    text.write_text(kernel_text.expanded("shared/common/mma_tile.h", "opencl"))
    sizes = {"BM": bm, "BN": bn, "WM": wm, "WN": wn}
    words = [tool("clang"), "-O1", "-w", f'-DTEXT="{text}"', *(f"-D{name}={size}" for name, size in sizes.items())]
    subprocess.run([*words, "-o", tmp_path / "run", HERE / "mma_ptx.c"], check=True)
    assert subprocess.run([tmp_path / "run"], capture_output=True, text=True, check=False).stdout == "0\n"


def test_who_has_them():
    """From compute capability 8.0 on; float32 only where it may be rounded."""
    assert unit_of_target("sm_75") is None
    assert all(unit_of_target(target) is MMA_PTX for target in ("sm_80", "sm_89", "sm_90", "sm_120"))
    recorder = SourceRecorder(INFO)
    recorder.record(["convolution_forward x=f32:8x64x56x56:nhwc w=f32:64x64x3x3:nhwc padding=1,1"])
    assert not any(engine.startswith("tensor_core") for engine in recorder.engines.values())
    product = dnn.parse("convolution_forward x=f16:8x64x56x56:nhwc w=f16:64x64x3x3:nhwc padding=1,1 math=fma")
    takers = [one for one in kernel_engines() if isinstance(product, one.problems)]
    engines = [one for one in takers if one.name.startswith("tensor_core")]
    reasons = {"the math type forbids tensor cores", "the device has no warpgroups that multiply"}
    assert {one.why_not(product, INFO) for one in engines} == reasons
