"""AMD's compiler: clang of the system's packages (Debian, Ubuntu: clang-22 lld-22 llvm-22 libclc-22), without a GPU.

OpenCL C links libclc's library for amdgcn, HIP the same one where a text declares its functions. Machine code is kept
beside the kernel cache, by a hash of compiler, command and source.

Reading the library is a sixth of a compilation, so it is read without the functions that kernels do not call. Starting
the compiler is another sixth: one process compiles many sources where there are many.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from amd_isa.executor.elf import Elf
from portadnn._io import disk_cache

Item = TypeVar("Item")
Result = TypeVar("Result")
TARGETS = ("gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151", "gfx1201")
CDNA = frozenset({"gfx906", "gfx90a", "gfx942"})  # waves of 64; gfx906 is their ancestor
OLDEST = 19  # the first clang that knows all targets
_NEWEST = 40  # that is looked for
LIBRARY = Path("/usr/lib/clc/amdgcn-amd-amdhsa.bc")
_REALS = "(f+|d+|Dv2_d|Dv[48]_f)S?_?"
_CALLED = (  # the library's functions as kernels call them; sources that call others are compiled with all of it
    "^_Z[0-9]+(get_(group_id|local_id|num_groups)j|barrierj|atom(ic)?_(add|cmpxchg|inc)PU3AS[13]V[ijm]+|"
    "convert_u(int|short)[48]Dv[48]_[jt]|vload4mPU3AS1K[fd]|vstore4Dv4_[fd]mPU3AS1[fd]|"
    "vloada?_half[48]?mPU3AS[15]KDh|vstorea?_half[48]?_rte(f|Dv[48]_f)mPU3AS[15]Dh|"
    f"(ceil|cos|erf|exp|exp2|expm1|fabs|floor|fm(a|ax|in|od)|log|log1p|log2|pow|r?sqrt|rint|sin|tanh?|trunc){_REALS})$"
)
_TOGETHER = 25  # sources that one process compiles: its start takes as long as a small source
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


def compile_objects(sources: Sequence[str], target: str) -> list[Path | Refused]:
    """Return for each of many OpenCL sources what :func:`compile_object` returns or raises."""

    def alone(source: str) -> Path | Refused:
        try:
            return compile_object(source, target)
        except Refused as error:
            return error

    _compile_together([*command(target, "opencl"), "-c"], sources)
    return over(alone, sources)


def check(sources: Sequence[str], target: str) -> None:
    """Have the compiler's front end read many HIP sources; Refused if it refuses one."""
    line = command(target, "hip", ("-fsyntax-only",))
    if any(over(lambda part: not _accepted(line, part), _parts(sources))):
        over(lambda source: _run([*line, "-o", "-"], source), sources)  # says which


def over(function: Callable[[Item], Result], todo: Iterable[Item]) -> list[Result]:
    """Return what a function gives for each argument, computed on all processors."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, todo))


def _parts(sources: Sequence[str]) -> list[Sequence[str]]:
    return [sources[i : i + _TOGETHER] for i in range(0, len(sources), _TOGETHER)]


def _compile_together(line: list[str], sources: Sequence[str]) -> None:
    """Compile the sources whose machine code is not kept; the compiler leaves out those that it refuses."""
    library = ("-mlink-builtin-bitcode", str(_called()))

    def compile_part(part: Sequence[str]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            _front_end(line, part, Path(folder), library)
            for i, source in enumerate(part):
                made = Path(folder, f"{i}.o")
                if made.exists() and not Elf(made).undefined:
                    _kept([*line, source], _OBJECT, functools.partial(shutil.copyfile, made))

    over(compile_part, _parts([one for one in sources if not _place([*line, one], _OBJECT).exists()]))


def _accepted(line: list[str], sources: Sequence[str]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        return _front_end(line, sources, Path(folder)) == 0


def _front_end(line: list[str], sources: Sequence[str], folder: Path, options: tuple[str, ...] = ()) -> int:
    """Run what clang's driver would run, which takes many files, on files 0, 1 ... of a folder; return its status."""
    below = _below(tuple(line))
    for i, source in enumerate(sources):
        Path(folder, str(i)).write_text(source, encoding="utf-8")
    files = [str(i) for i in range(len(sources))]
    return subprocess.run(
        [*below[:2], *options, *below[2:], *files], cwd=folder, capture_output=True, timeout=600
    ).returncode


@functools.cache
def _below(line: tuple[str, ...]) -> list[str]:
    """Return the command that clang's driver would run for a command, without names of files."""
    said = subprocess.run([*line, "-###", "-o", "-"], check=True, capture_output=True, text=True, timeout=60).stderr
    below = shlex.split(said.splitlines()[-1])
    assert below[1] == "-cc1"
    assert below[-1] == "-"
    if "-o" in below:
        del below[below.index("-o") : below.index("-o") + 2]
    return [word for word in below[:-1] if word != "-disable-free"]


def _kept(key: list[str], suffix: str, make: Callable[[str], None]) -> Path:
    """Return the file that is kept by a key, made if there is none."""
    path = _place(key, suffix)
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


def _place(key: list[str], suffix: str) -> Path:
    return _folder() / (hashlib.sha256("\0".join([find().version, *key]).encode()).hexdigest() + suffix)


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
