"""What kernels of an AMDGPU ELF need: registers, memory and arguments, from the metadata in its note."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NOTE = b"\x20\0\0\0AMDGPU\0\0"  # type 32 and the name, behind the sizes of name and text
_SIZED = {
    0xD9: ("text", 1),
    0xDA: ("text", 2),
    0xDC: ("list", 2),
    0xDD: ("list", 4),
    0xDE: ("map", 2),
    0xDF: ("map", 4),
}


@dataclass(frozen=True)
class Argument:
    """An argument in the kernarg segment, with LLVM's kind: ``"global_buffer"``, ``"hidden_block_count_x"`` ..."""

    kind: str
    offset: int
    size: int


@dataclass(frozen=True)
class Resources:
    """What a kernel needs.

    Attributes
    ----------
    vgprs, agprs, sgprs : int
        Registers of a lane and of a wave; on gfx90a and later CDNA `vgprs` counts the accumulators as well.
    vgpr_spills, sgpr_spills, scratch : int
        Registers spilled, and bytes of scratch memory of a work-item.
    local_memory, wave, most_items, kernarg_bytes : int
        Bytes of LDS, lanes of a wave, work-items that a group may have, and bytes of the kernarg segment.
    group : tuple of int
        The size that reqd_work_group_size demands, or ().
    """

    name: str
    symbol: str
    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    scratch: int
    dynamic_stack: bool
    local_memory: int
    wave: int
    most_items: int
    group: tuple[int, ...]
    kernarg_bytes: int
    arguments: tuple[Argument, ...]


def resources(elf: Path | bytes) -> dict[str, Resources]:
    """Return what each kernel of an ELF needs, by its name."""
    return {kernel[".name"]: _resources(kernel) for kernel in metadata(elf).get("amdhsa.kernels", [])}


def metadata(elf: Path | bytes) -> dict[str, Any]:
    """Return the metadata of an ELF, as https://llvm.org/docs/AMDGPUUsage.html#code-object-metadata describes them."""
    code = elf if isinstance(elf, bytes) else elf.read_bytes()
    place = code.index(_NOTE)
    (size,) = struct.unpack_from("<I", code, place - 4)
    return _Unpacker(code[place + len(_NOTE) : place + len(_NOTE) + size]).value()  # type: ignore[no-any-return]


def _resources(kernel: dict[str, Any]) -> Resources:
    return Resources(
        name=kernel[".name"],
        symbol=kernel[".symbol"],
        vgprs=kernel[".vgpr_count"],
        agprs=kernel.get(".agpr_count", 0),
        sgprs=kernel[".sgpr_count"],
        vgpr_spills=kernel[".vgpr_spill_count"],
        sgpr_spills=kernel[".sgpr_spill_count"],
        scratch=kernel[".private_segment_fixed_size"],
        dynamic_stack=kernel.get(".uses_dynamic_stack", False),
        local_memory=kernel[".group_segment_fixed_size"],
        wave=kernel[".wavefront_size"],
        most_items=kernel[".max_flat_workgroup_size"],
        group=tuple(kernel.get(".reqd_workgroup_size", ())),
        kernarg_bytes=kernel[".kernarg_segment_size"],
        arguments=tuple(Argument(a[".value_kind"], a[".offset"], a[".size"]) for a in kernel.get(".args", [])),
    )


def waves(target: str, vgprs: int) -> int:
    """Return how many waves of a kernel the registers of a SIMD hold (LLVM's AMDGPU backend: GCNSubtarget)."""
    total, granule, most = {
        "gfx906": (256, 4, 10),
        "gfx90a": (512, 8, 8),
        "gfx942": (512, 8, 8),
        "gfx1030": (1024, 8, 16),
    }.get(target, (1536, 24, 16))
    return min(most, total // (-(-max(vgprs, 1) // granule) * granule))


class _Unpacker:
    """Reads the part of MessagePack that LLVM writes: maps, lists, text, unsigned numbers and truth values."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def number(self, size: int) -> int:
        self.place += size
        return int.from_bytes(self.data[self.place - size : self.place], "big")

    def value(self) -> Any:
        kind = self.number(1)
        if kind < 0x80:
            return kind
        if kind < 0x90:
            return self.map(kind & 15)
        if kind < 0xA0:
            return self.list(kind & 15)
        if kind < 0xC0:
            return self.text(kind & 31)
        if kind in (0xC2, 0xC3):
            return kind == 0xC3
        if 0xCC <= kind <= 0xCF:
            return self.number(1 << (kind - 0xCC))
        if kind in _SIZED:
            method, size = _SIZED[kind]
            return getattr(self, method)(self.number(size))
        raise ValueError(f"MessagePack type {kind:#x}")

    def map(self, count: int) -> dict[Any, Any]:
        return {self.value(): self.value() for _ in range(count)}

    def list(self, count: int) -> list[Any]:
        return [self.value() for _ in range(count)]

    def text(self, size: int) -> str:
        self.place += size
        return self.data[self.place - size : self.place].decode()
