"""The name that PoCL is given for a processor which its compiler does not know."""

import ctypes
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from portadnn_backends import pocl_cpu

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
    monkeypatch.setattr(pocl_cpu, "_flags", lambda: set(flags.split()))
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
from portadnn_backends import pocl_cpu
for platform in cl.get_platforms():
    if "Portable Computing" in platform.name:
        device = platform.get_devices()[0]
        print(device.version.endswith("-generic"), pocl_cpu.llvm_name(device))
        program = cl.Program(cl.Context([device]), "kernel void f(global float16 *x) { x[0] = fma(x[0], x[1], x[2]); }")
        print(program.build() is program)
"""


def test_pocl_builds_a_kernel_on_this_processor():
    environment = {**os.environ, "PYOPENCL_NO_CACHE": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=False)
    if not done.stdout:
        pytest.skip("there is no PoCL here")
    assert done.stdout.split()[-1] == "True", done.stderr
