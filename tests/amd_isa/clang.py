"""AMD's compiler: clang of the system's packages (Debian, Ubuntu: clang-22 lld-22 llvm-22 libclc-22), without a GPU.

OpenCL C links libclc's library for amdgcn, HIP the same one where a text declares its functions. Machine code is kept
beside the kernel cache, by a hash of compiler, command and source.

Reading the library is a third of a compilation, so it is read without the functions that kernels do not call.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from amd_isa.executor.elf import Elf
from portadnn._io import disk_cache

TARGETS = ("gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151", "gfx1201")
CDNA = frozenset({"gfx906", "gfx90a", "gfx942"})  # waves of 64; gfx906 is their ancestor
OLDEST = 19  # the first clang that knows all targets
_NEWEST = 40  # that is looked for
LIBRARY = Path("/usr/lib/clc/amdgcn-amd-amdhsa.bc")
_CALLED = (  # so begin names of the library's functions; OpenCL sources that call others are compiled with all of it
    "^_Z[0-9]+(get_|barrier|atom_cmp|atomic_(add|cmp|inc)|convert_u(int|short)[48]Dv|v(load|store)a?_half|vload4|vstore4|"
    "ceil|cos|erf|exp|f(abs|loor|m)|log|pow|r?sqrt|rint|sin|tan|trunc)"
)
_CACHE_LIMIT = 1 << 30
_SUFFIX, _OBJECT = ".elf", ".o"
_OPENCL = (
    *("-x", "cl", "-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt"),
    *("--target=amdgcn-amd-amdhsa", "-Xclang", "-fdeclare-opencl-builtins", "-Xclang", "-finclude-default-header"),
    *("-mllvm", "-amdgpu-internalize-symbols"),  # or clang 22 compiles each kernel a second time, as a function
)
_HIP = ("-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "-nogpuinc", "-std=c++17")
_BOTH = ("-O3", "-w", "-nogpulib", "-mcode-object-version=5")
_LINK = ("--no-undefined", "-shared")


class Refused(Exception):
    """The compiler refused a source; the text is its log."""


@dataclass(frozen=True)
class Tools:
    """A compiler and its companions, as paths; `version` is what the compiler says of itself."""

    clang: str
    objdump: str
    readelf: str
    mc: str
    extract: str
    lld: str
    version: str


@functools.cache
def find() -> Tools:
    """Return the newest clang with a linker, LLVM's tools and a library for amdgcn.

    Raises
    ------
    FileNotFoundError
        What is missing.
    """
    for version in range(_NEWEST, OLDEST - 1, -1):
        wanted = [f"{tool}-{version}" for tool in ("clang", "llvm-objdump", "llvm-readelf", "llvm-mc")]
        wanted += [f"{tool}-{version}" for tool in ("llvm-extract", "ld.lld")]
        paths = [shutil.which(name) for name in wanted]
        if None not in paths and LIBRARY.is_file():
            said = subprocess.run(
                [paths[0], "--version"], check=True, capture_output=True, text=True, timeout=60
            ).stdout
            return Tools(*map(str, paths), said)
    raise FileNotFoundError(
        f"clang-{OLDEST} or newer with lld, llvm and libclc (apt install clang-22 lld-22 llvm-22 libclc-22)"
    )


def require() -> Tools:
    """Return the compiler; skip the test without one, or fail where PORTADNN_REQUIRE_AMDGCN=1 demands it."""
    try:
        return find()
    except FileNotFoundError as error:
        if os.environ.get("PORTADNN_REQUIRE_AMDGCN") == "1":
            pytest.fail(f"a compiler for AMD GPUs is required: {error}")
        pytest.skip(f"a compiler for AMD GPUs: {error}")


def command(target: str, language: str, options: tuple[str, ...] = ()) -> list[str]:
    """Return the command that compiles standard input; library and output are left to be added."""
    arch = f"-mcpu={target}" if language == "opencl" else f"--offload-arch={target}"
    return [find().clang, *(_OPENCL if language == "opencl" else _HIP), *_BOTH, arch, *options, "-"]


def compile(source: str, target: str, language: str = "opencl", options: tuple[str, ...] = ()) -> Path:
    """Return the file of a source's machine code, a loadable ELF.

    Parameters
    ----------
    source : str
        OpenCL C 1.2 or HIP, everything included.
    target : str
        Such as ``"gfx1100"``.
    language : {"opencl", "hip"}
    options : tuple of str
        Of clang, behind the others.

    Raises
    ------
    Refused
        With the compiler's log.
    """
    line = command(target, language, options)
    if language == "hip":
        return _kept([*line, source], _SUFFIX, lambda made: _compile(line, source, made))
    part = compile_object(source, target, options)
    return _kept([*line, source], _SUFFIX, lambda made: _run([find().lld, *_LINK, str(part), "-o", made]))


def compile_object(source: str, target: str, options: tuple[str, ...] = ()) -> Path:
    """Return the file of an OpenCL source's machine code before it is linked: all of it, at no addresses yet."""
    line = [*command(target, "opencl", options), "-c"]
    return _kept([*line, source], _OBJECT, lambda made: _compile(line, source, made))


def _kept(key: list[str], suffix: str, make: Callable[[str], None]) -> Path:
    """Return the file that is kept by a key, made if there is none."""
    path = _folder() / (hashlib.sha256("\0".join([find().version, *key]).encode()).hexdigest() + suffix)
    if path.exists():
        disk_cache.touch(path)
        return path
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=disk_cache.UNFINISHED, suffix=suffix)
    os.close(handle)
    try:
        make(unfinished)
        Path(unfinished).replace(path)
    finally:
        Path(unfinished).unlink(missing_ok=True)
    return path


def _compile(line: list[str], source: str, made: str) -> None:
    """Compile a source with the functions that kernels call, or where others are missing with the whole library."""
    for library in (_called(), LIBRARY):
        _run([*line, "-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(library), "-o", made], source)
        undefined = Path(made).stat().st_size and Elf(Path(made)).undefined
        if not undefined:
            return
    raise Refused(f"nothing defines {', '.join(undefined)}")


def _run(line: list[str], source: str = "") -> None:
    done = subprocess.run(line, input=source, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise Refused(f"{' '.join(line)}: {done.stderr}")


@functools.cache
def _called() -> Path:
    """Return the file of the library's functions that kernels call, and of what these call."""
    line = [find().extract, "--recursive", f"--rfunc={_CALLED}", "--rglob=.", str(LIBRARY), "-o"]
    return _kept([*line, str(LIBRARY.stat().st_mtime)], ".bc", lambda made: _run([*line, made]))


@functools.cache
def _folder() -> Path:
    kernels = disk_cache.kernel_folder()
    folder = kernels.with_name("amdgcn") if kernels else disk_cache.process_folder()
    disk_cache.make_private(folder)
    if not disk_cache.trusted(folder):
        folder = disk_cache.process_folder()
    for suffix in (_SUFFIX, _OBJECT):
        disk_cache.prune(folder, suffix, _CACHE_LIMIT)
    return folder


def listing(elf: Path) -> str:
    """Return the disassembly of an ELF, by llvm-objdump."""
    line = [find().objdump, "--disassemble", "--no-show-raw-insn", str(elf)]
    return subprocess.run(line, check=True, capture_output=True, text=True, timeout=600).stdout
