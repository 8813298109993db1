"""A device of the tests that runs the text of CUDA kernels on the host.

It is C++ for g++, work-items are fibers and tensor cores go by their definition (tests/host_cuda/): slow, right about
barriers and about which lane has what.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from portadnn_backends import kernel_text
from portadnn_backends.base import ConstantArg, CountersArg, Device, DeviceInfo, Kernel, TensorArg, WorkspaceArg
from portadnn_backends.programs import Program

FOLDER = Path(__file__).parent / "host_cuda"
COMPILER = shutil.which("g++")
OPTIONS = ("-std=gnu++14", "-O1", "-w", "-fpermissive", "-fPIC", "-fno-exceptions")
OPTIONS += ("-U_FORTIFY_SOURCE",)  # which takes jumps to another fiber for a mistake
if shutil.which("ld.gold"):
    OPTIONS += ("-fuse-ld=gold",)  # links in half of the time
LIBRARIES: dict[str, ctypes.CDLL] = {}  # what was compiled, of all devices


def text_of(file, written=""):
    """Return a kernel file with its includes: those of the host first, then CUDA's and the shared ones.

    `written` stands for what is written at run time.
    """

    def found(name):
        if (FOLDER / name).is_file():
            return (FOLDER / name).read_text(encoding="utf-8")
        for folder in ("cuda", "shared"):
            try:
                return kernel_text.read(f"{folder}/{name}")
            except FileNotFoundError:
                continue
        raise ValueError(name)

    def expand(text, within):
        def include(match):
            name = match[1]
            if name == kernel_text.GENERATED:
                return written
            return "" if name in within else expand(found(name), within | {name})

        return re.sub(r'^[ \t]*#include "([^"]+)"[ \t]*$', include, text, flags=re.MULTILINE)

    return expand(kernel_text.read(file), frozenset())


@functools.cache
def standard_headers():
    """Return g++'s options for the standard headers, compiled once in this process: half of the time of a kernel."""
    folder = tempfile.TemporaryDirectory(prefix="portadnn-headers-")
    atexit.register(folder.cleanup)
    header = Path(folder.name) / "standard.h"
    names = re.findall(r"^#include <.+>$", (FOLDER / "dialect.h").read_text(encoding="utf-8"), re.MULTILINE)
    header.write_text("\n".join([*names, ""]), encoding="utf-8")
    subprocess.run([COMPILER, *OPTIONS, "-x", "c++-header", "-o", f"{header}.gch", header], check=True)
    return "-include", header


def before_nan(array):
    """Return a copy with the same strides, behind which memory is NaN: what is read there shows even times zero."""
    span = sum((size - 1) * step for size, step in zip(array.shape, array.strides, strict=True)) + array.itemsize
    memory = np.full(span + (1 << 16), 0xFF, np.uint8)
    copy = np.ndarray(array.shape, array.dtype, memory, strides=array.strides)
    copy[...] = array
    return copy


class HostCuda(Device):
    """Memory is NumPy's; `folder` receives what is compiled, `more` are features beside those of sm_80."""

    def __init__(self, folder, more=()):
        self.info = DeviceInfo(
            backend="cuda",
            name="host",
            vendor="",
            kind="gpu",
            driver="",
            version="",
            schedule="gpu",
            compute_units=1,
            simd_width=32,
            max_work_group=1024,
            local_memory=48 << 10,
            dynamic_memory=227 << 10 if more else 160 << 10,
            features=frozenset({"mma", "inline_ptx", "shuffle", *more}),
        )
        self.folder = folder
        self.counters = np.zeros(1 << 10, np.int32)

    def compile(self, file, name, defines):
        given = dict(defines)
        written = str(given.pop("GENERATED", ""))
        lines = [f"#define {key} {value}" for key, value in sorted(given.items())]
        text = "\n".join([*lines, (FOLDER / "dialect.h").read_text(encoding="utf-8"), text_of(file, written)])
        text = re.sub(r"extern\s+__shared__ __align__\(\d+\) unsigned char tiles\[\];", "", text)
        text += '\nextern "C" void launch(void **args, int groups, int items, int local_bytes) { '
        text += f"launch_kernel({name}, args, groups, items, local_bytes); }}\n"
        if text not in LIBRARIES:
            source = self.folder / f"{len(LIBRARIES)}.cpp"
            source.write_text(text, encoding="utf-8")
            made = source.with_suffix(".so")
            subprocess.run([COMPILER, *OPTIONS, *standard_headers(), "-shared", "-o", made, source], check=True)
            LIBRARIES[text] = ctypes.CDLL(str(made))
        return Kernel(name, Program(LIBRARIES[text], lambda: text, 0))

    def binding(self, launches):
        def value_of(arg, arrays, scalars, workspace):
            if isinstance(arg, TensorArg):
                return np.uint64(arrays[arg.index].ctypes.data + arg.offset)
            if isinstance(arg, WorkspaceArg):
                return np.uint64(workspace.ctypes.data + arg.offset)
            if isinstance(arg, ConstantArg):
                return arg.value
            if isinstance(arg, CountersArg):
                return np.uint64(self.counters.ctypes.data)
            return arg.dtype.numpy.type(scalars[arg.index])

        def run(arrays, scalars, workspace):
            for launch in launches:
                values = [np.array([value_of(arg, arrays, scalars, workspace)]) for arg in launch.args]
                pointers = (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values))
                launch.kernel.native.launch(pointers, launch.grid[0], launch.block[0], launch.local_bytes)
                assert not self.counters.any()

        return run, None

    def signature(self, array):
        return array.shape, array.strides, array.dtype, None

    owns = wrap = look = address = room = empty = asarray = to_numpy = workspace = workspace_size = None
    synchronize = time = stream = set_stream = close = None
