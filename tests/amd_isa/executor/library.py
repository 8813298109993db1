"""The C part of the executor: compiled once, kept beside the kernel cache by the hash of its text."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import subprocess
import tempfile
from pathlib import Path

from portadnn._io import disk_cache

from .decode import RECORD

FOLDER = Path(__file__).parent / "c"
_COMMAND = ("-std=gnu11", "-O2", "-march=native", "-ffp-contract=off", "-shared", "-fPIC", "-w")
ERRORS = (
    *("", "address outside of every allocation", "store to memory that is read-only", "address outside of LDS"),
    *("read of LDS that no work-item of the group wrote", "access to LDS that races with another wave's"),
    *("address outside of scratch memory", "instruction that the executor does not have", "jump to where no code is"),
    *("trap", "more instructions than a wave may execute"),
)


class Launch(ctypes.Structure):
    """What c/state.h calls `launch`."""

    _fields_ = (
        *((n, ctypes.c_void_p) for n in ("records", "constants", "index", "allocations", "sgprs")),
        *((n, ctypes.c_uint64) for n in ("text", "load", "text_words", "limit")),
        *((n, ctypes.c_int32) for n in ("records_count", "allocations_count", "sgprs_count")),
        *((n, ctypes.c_int32) for n in ("group_ids", "width", "entry")),
        *((n, ctypes.c_uint32) for n in ("lds_bytes", "scratch_bytes")),
        *((n, ctypes.c_uint32 * 3) for n in ("grid", "group", "group_id_on")),
        *((n, ctypes.c_uint32) for n in ("flush32", "check_unwritten", "check_races", "reverse", "unused")),
        *((n, ctypes.c_int32) for n in ("error", "record", "lane", "size")),
        *((n, ctypes.c_uint64) for n in ("address", "group_index", "executed")),
    )


def _processor() -> str:
    """Return what -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith("flags")), "")


@functools.cache
def library() -> ctypes.CDLL:
    """Return the library, compiled if there is none."""
    files = sorted(FOLDER.iterdir())
    key = hashlib.sha256("\0".join([*_COMMAND, _processor(), *(f.read_text() for f in files)]).encode()).hexdigest()
    kernels = disk_cache.kernel_folder()
    folder = kernels.with_name("amdgcn") if kernels else disk_cache.process_folder()
    disk_cache.make_private(folder)
    if not disk_cache.trusted(folder):
        folder = disk_cache.process_folder()
    path = folder / f"executor-{key}.so"
    if not path.exists():
        handle, unfinished = tempfile.mkstemp(dir=folder, prefix=disk_cache.UNFINISHED)
        os.close(handle)
        compiler = os.environ.get("CC", "cc")
        line = [compiler, *_COMMAND, str(FOLDER / "executor.c"), "-o", unfinished, "-lm"]
        subprocess.run(line, check=True, timeout=600)
        Path(unfinished).replace(path)
    made = ctypes.CDLL(str(path))
    made.operation_name.restype = ctypes.c_char_p
    assert made.record_size() == RECORD.itemsize
    assert made.launch_size() == ctypes.sizeof(Launch)
    return made


@functools.cache
def operations() -> dict[str, int]:
    """Return the numbers of all operations by their names."""
    made = library()
    return {made.operation_name(i).decode(): i for i in range(made.operations())}
