"""What PoCL's compiler is told: the processor's name where it does not know it, and the functions that kernels use.

PoCL asks its LLVM what the processor is called. An LLVM older than the processor answers "generic", which PoCL then
hands to the compiler, and the compiler refuses: "unknown target CPU 'generic'" (pocl/pocl issues 512 and 1049), so that
no kernel can be built. PoCL 3.0, the one that pip brings, knows nothing newer than AMD's Zen 4 and has no setting
for it. Here the name in PoCL's description of the device is replaced by an older processor's with the same vectors.

Before every program PoCL 3 reads a megabyte of declarations, clang's opencl-c.h, which takes longer than most kernels.
Its include guard, defined beforehand, leaves them out; `builtins.h` declares what the kernels use.
"""

from __future__ import annotations

import ctypes
import functools
import platform
from pathlib import Path
from typing import Any

from .. import kernel_text
from ..base import DeviceInfo

NO_HEADER = " -D_OPENCL_H_"
BUILTINS = '#line 1 "builtins.h"\n' + kernel_text.read("opencl/builtins.h")


def takes_builtins(info: DeviceInfo) -> bool:
    """Tell whether a device's compiler takes `BUILTINS` for its header; kernels for other processors need more."""
    return "Portable Computing" in info.platform and info.driver.startswith("3.") and platform.machine() == "x86_64"


# Names that LLVM 14 knows, the widest vectors first, and the features that each needs (as Linux spells them). They are
# those by which PoCL chooses its built-in functions: code for another processor than theirs does not link with them.
_NAMES = (
    ("skylake-avx512", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}),
    ("haswell", {"avx2", "fma", "f16c"}),
    ("sandybridge", {"avx"}),
    ("penryn", {"sse4_1"}),
    ("core2", {"ssse3"}),
    ("x86-64", {"sse2"}),
)
_UNKNOWN = b"generic\0"
_REACH = 1024  # bytes of the description; the name is in the 640th of PoCL 3.0


def llvm_name(device: Any) -> str | None:
    """Return the name that kernels of a PoCL device are compiled for, given to it here; None where it has its own."""
    if not device.version.endswith("-generic") or platform.machine() != "x86_64":
        return None
    return _name(device.int_ptr)


@functools.cache
def _name(address: int) -> str | None:
    name = nearest_name()
    place = None if name is None else _place(address)
    if name is None or place is None:
        return None
    text = ctypes.create_string_buffer(name.encode())
    _TEXTS.append(text)
    ctypes.c_void_p.from_address(place).value = ctypes.addressof(text)
    return name


def nearest_name() -> str | None:
    """Return the name of a processor with the same vectors as this one's that PoCL's compiler knows."""
    flags = processor_flags()
    return next((name for name, needed in _NAMES if needed <= flags), None)


_TEXTS: list[Any] = []  # PoCL reads them as long as the process lives


def processor_flags() -> set[str]:
    """Return what this processor has, by Linux's names; nothing where it does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return set()
    return next((set(line.split(":", 1)[1].split()) for line in lines if line.startswith("flags")), set())


def _place(address: int) -> int | None:
    """Return where the device's description, at `address`, points to the name, if that is certain."""
    try:
        with Path("/proc/self/mem").open("rb", buffering=0) as memory:
            found = []
            for place in range(address, address + _REACH, 8):
                memory.seek(place)
                pointer = int.from_bytes(memory.read(8), "little")
                if 4096 < pointer < 1 << 47 and _text_at(memory, pointer) == _UNKNOWN:
                    found.append(place)
    except OSError:  # no such file, or the description is shorter
        return None
    return found[0] if len(found) == 1 else None


def _text_at(memory: Any, address: int) -> bytes:
    try:
        memory.seek(address)
        return bytes(memory.read(len(_UNKNOWN)))
    except OSError:  # no pointer, or not to anything of this process's
        return b""
