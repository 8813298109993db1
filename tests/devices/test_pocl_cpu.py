"""What PoCL's compiler is told: a processor's name that it knows, and the functions that kernels use."""

import ctypes
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from where import open_handle

from portadnn_backends import kernel_text
from portadnn_backends.opencl import devices, pocl_cpu

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


class Description:
    """Memory laid out as PoCL's description of a device, with pointers to some texts."""

    def __init__(self, **texts: bytes) -> None:
        self.words = (ctypes.c_void_p * 256)()
        self.kept = []
        for place, text in texts.items():
            self.kept.append(ctypes.create_string_buffer(text))
            self.words[int(place[1:])] = ctypes.addressof(self.kept[-1])
        self.words[200] = 0x7FFF00000008  # points nowhere
        self.device = SimpleNamespace(version="OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-generic", int_ptr=0)
        self.device.int_ptr = ctypes.addressof(self.words)

    def name(self) -> bytes:
        return ctypes.string_at(self.words[80])


def named(monkeypatch: pytest.MonkeyPatch, flags: str, description: Description) -> str | None:
    monkeypatch.setattr(pocl_cpu, "processor_flags", lambda: set(flags.split()))
    monkeypatch.setattr(pocl_cpu.platform, "machine", lambda: "x86_64")
    pocl_cpu._name.cache_clear()
    return pocl_cpu.llvm_name(description.device)


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ("sse2 ssse3 sse4_1 avx avx2 fma f16c avx512f avx512bw avx512cd avx512dq avx512vl", "skylake-avx512"),
        ("sse2 ssse3 sse4_1 avx avx2 fma f16c avx512f", "haswell"),
        ("sse2 ssse3 sse4_1 avx", "sandybridge"),
        ("sse2", "x86-64"),
    ],
)
def test_the_name_follows_from_the_vectors(monkeypatch, flags, name):
    description = Description(_79=b"x86_64-unknown-linux-gnu", _80=b"generic")
    assert named(monkeypatch, flags, description) == name
    assert description.name() == name.encode()


def test_nothing_is_written_where_the_place_is_not_certain(monkeypatch):
    description = Description(_80=b"generic", _90=b"generic")
    assert named(monkeypatch, "sse2", description) is None
    assert description.name() == b"generic"
    assert named(monkeypatch, "sse2", Description(_80=b"znver3")) is None


def test_a_known_processor_keeps_its_name(monkeypatch):
    description = Description(_80=b"generic")
    description.device.version = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-znver3"
    assert named(monkeypatch, "sse2", description) is None
    assert description.name() == b"generic"


PROGRAM = """
import pyopencl as cl
from portadnn_backends.opencl import devices, pocl_cpu
for platform in cl.get_platforms():
    if "Portable Computing" in platform.name:
        device = platform.get_devices()[0]
        print(device.version.endswith("-generic"), pocl_cpu.llvm_name(device))
        program = cl.Program(cl.Context([device]), "kernel void f(global float16 *x) { x[0] = fma(x[0], x[1], x[2]); }")
        print(program.build() is program)
"""
QUIET = """
import os
import numpy as np
import portadnn as dnn
with dnn.Handle("opencl") as handle:
    x = handle.asarray(np.ones((2, 3, 4, os.getpid() % 89 + 2), "float32"))
    dnn.activation_forward(handle, x, dnn.ActivationDescriptor("tanh"))
"""


def test_pocl_builds_a_kernel_on_this_processor():
    environment = {**os.environ, "PYOPENCL_NO_CACHE": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=False)
    if not done.stdout:
        pytest.skip("there is no PoCL here")
    assert done.stdout.split()[-1] == "True", done.stderr


def test_the_compiler_has_nothing_to_say_of_our_declarations(tmp_path):
    """It would say so on the user's terminal, a line for each kernel."""
    with open_handle("opencl", optimised=True) as handle:
        if not pocl_cpu.takes_builtins(handle.device.info):
            pytest.skip("this OpenCL reads declarations of its own")
    environment = {**os.environ, "POCL_CACHE_DIR": str(tmp_path), "PYOPENCL_NO_CACHE": "1"}
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")


ONE_ARGUMENT = ("exp", "expm1", "log", "log2", "tanh", "sqrt", "rsqrt", "fabs")
CALLS = (*(f"{name}(v)" for name in ONE_ARGUMENT), "fma(v, w, v)", "fmax(v, w)", "fmin(v, w)")
FUNCTIONS = """
KERNEL functions(const __global TYPE *x, const __global TYPE *y, __global TYPE *out, __global half *halves) {{
    const int i = GRP(0) * LSZ(0) + LID(0), n = NGRP(0) * LSZ(0);
    const TYPE v = x[i], w = y[i];
{stores}
    vstore{a}_half{width}_rte(v, 0, halves + i * {lanes});
    out[{last} * n + i] = {widened};
    BARRIER();
}}
"""


def functions(real, width):
    stores = "\n".join(f"    out[{number} * n + i] = {call};" for number, call in enumerate(CALLS))
    words = {"stores": stores, "last": len(CALLS), "width": width, "lanes": width or 1, "a": "a" if width else ""}
    halves = f"vload{words['a']}_half{width}(0, halves + i * {width or 1})"
    words["widened"] = f"__builtin_convertvector({halves}, TYPE)" if width else halves
    return kernel_text.read("opencl/dialect.h") + FUNCTIONS.format(**words).replace("TYPE", f"{real}{width}")


@pytest.mark.parametrize("width", ["", 2, 4, 8], ids=str)
@pytest.mark.parametrize("real", ["float", "double"])
def test_declared_functions_are_those_of_the_compilers_own_header(real, width):
    """They are linked by their names and types: one that was declared otherwise would be another, or none."""
    import pyopencl as cl

    with open_handle("opencl", optimised=True) as handle:
        if not pocl_cpu.takes_builtins(handle.info):
            pytest.skip(f"{handle.info.platform} {handle.info.driver} reads its own header")
        if np.dtype(real).itemsize * (width or 1) > 4 * handle.info.simd_width:
            pytest.skip("longer than this processor's vectors: no kernel uses them, and PoCL 3 fails to compile them")
        numbers = np.array([0.0, -0.0, 1.0, -2.5, np.nan, np.inf, -np.inf, 1e-40, 7e4, 0.3], real)
        x, y = (values.ravel() for values in np.meshgrid(numbers, numbers))
        pad = np.ones(-x.size % (4 * (width or 1)), real)
        x, y = np.append(x, pad), np.append(y, pad)
        text, queue = functions(real, width), handle.get_stream()
        results = []
        for program in (
            handle.device.compiler.build_alone(text),
            handle.device.compiler.compile(cl.Program(queue.context, text)),
        ):
            out = cl.array.zeros(queue, (len(CALLS) + 1) * x.size, real)
            halves = cl.array.zeros(queue, x.size, np.uint16)
            arrays = [cl.array.to_device(queue, x), cl.array.to_device(queue, y), out, halves]
            program.functions(queue, (x.size // (width or 1),), (4,), *(array.data for array in arrays))
            results.append((out.get().tobytes(), halves.get().tobytes()))
        assert results[0] == results[1]
        assert np.isfinite(out.get()).sum() > out.size / 2


def test_pocl_is_left_out_where_its_linker_is_not_in_path(monkeypatch, tmp_path):
    """PoCL's compiler looks for ``ld`` in PATH alone, not in the system's usual folders where PATH is not set."""
    pocl = SimpleNamespace(name="Portable Computing Language")
    monkeypatch.delenv("PATH")
    assert devices.lacks_linker(pocl)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert devices.lacks_linker(pocl)
    (tmp_path / "ld").touch(mode=0o755)
    assert not devices.lacks_linker(pocl)
    assert not devices.lacks_linker(SimpleNamespace(name="NVIDIA CUDA"))
