"""An AMDGPU ELF: its image in memory, and what a kernel's descriptor says."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_LOAD, _RELA, _SYMTAB = 1, 4, 2
_R_ABS64, _R_RELATIVE64 = 3, 13
# user registers, in their order: name, words, bit of the kernel's code properties
USER_REGISTERS = (
    ("private_segment_buffer", 4, 0),
    ("dispatch_ptr", 2, 1),
    ("queue_ptr", 2, 2),
    ("kernarg_segment_ptr", 2, 3),
    ("dispatch_id", 2, 4),
    ("flat_scratch_init", 2, 5),
    ("private_segment_size", 1, 6),
)


@dataclass(frozen=True)
class Descriptor:
    """A kernel's descriptor: https://llvm.org/docs/AMDGPUUsage.html#kernel-descriptor.

    Attributes
    ----------
    local_memory, scratch : int
        Bytes of a work-group and of a work-item.
    entry : int
        Address of the first instruction.
    user_registers : tuple of (str, int)
        Those that are set, with their words.
    user_count : int
        Registers before the numbers of the work-group.
    group_ids : tuple of bool
        Whether x, y and z are handed over.
    flushes32 : bool
        Whether denormal numbers of 32 bits become 0.
    """

    local_memory: int
    scratch: int
    entry: int
    user_registers: tuple[tuple[str, int], ...]
    user_count: int
    group_ids: tuple[bool, ...]
    flushes32: bool


class Elf:
    """An ELF file of a target such as ``"gfx1100"``; `undefined` are the symbols that another file has to define."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = data = path.read_bytes()
        self.programs = self._table(
            "<IIQQQQQQ", *struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54)
        )
        self.sections = self._table(
            "<IIQQQQIIQQ", *struct.unpack_from("<Q", data, 40), *struct.unpack_from("<HH", data, 58)
        )
        self.symbols = {name: value for name, _, value in self._symbols()}
        self.undefined = [name for name, section, _ in self._symbols() if name and section == 0]

    def _table(self, form: str, start: int, size: int, count: int) -> list[tuple[int, ...]]:
        return [struct.unpack_from(form, self.data, start + i * size) for i in range(count)]

    def _symbols(self):
        for _, kind, _, _, offset, size, link, _, _, entry in self.sections:
            if kind == _SYMTAB:
                names = self.sections[link][4]
                for name, _, _, section, value, _ in self._table("<IBBHQQ", offset, entry, size // entry):
                    start = names + name
                    yield self.data[start : self.data.index(b"\0", start)].decode(), section, value

    def image(self) -> np.ndarray:
        """Return the loaded segments, from address 0 on."""
        end = max(address + size for kind, _, _, address, _, _, size, _ in self.programs if kind == _LOAD)
        image = np.zeros(end, np.uint8)
        for kind, _, offset, address, _, size, _, _ in self.programs:
            if kind == _LOAD:
                image[address : address + size] = np.frombuffer(self.data, np.uint8, size, offset)
        return image

    def relocations(self) -> list[tuple[int, int]]:
        """Return places that hold the image's address plus a number, and these numbers."""
        found = []
        for _, kind, _, _, offset, size, link, _, _, entry in self.sections:
            for place, info, addend in self._table("<QQq", offset, entry, size // entry) if kind == _RELA else ():
                symbol = 0
                if info >> 32:
                    table = self.sections[link]
                    symbol = struct.unpack_from("<Q", self.data, table[4] + (info >> 32) * table[9] + 8)[0]
                if info & 0xFFFFFFFF not in (_R_ABS64, _R_RELATIVE64):
                    raise NotImplementedError(f"{self.path}: relocation {info & 0xFFFFFFFF}")
                found.append((place, symbol + addend))
        return found

    def descriptor(self, symbol: str) -> Descriptor:
        """Return a kernel's descriptor, by the name of its symbol."""
        address = self.symbols[symbol]
        raw = self.image()[address : address + 64].tobytes()
        local, scratch, _, _, entry = struct.unpack_from("<IIIIq", raw)
        _, first, second, properties, preload = struct.unpack_from("<IIIHH", raw, 44)
        if preload:
            raise NotImplementedError(f"{symbol}: arguments that are loaded into registers")
        return Descriptor(
            local_memory=local,
            scratch=scratch,
            entry=address + entry,
            user_registers=tuple((name, words) for name, words, bit in USER_REGISTERS if properties >> bit & 1),
            user_count=second >> 1 & 31,
            group_ids=tuple(bool(second >> bit & 1) for bit in (7, 8, 9)),
            flushes32=first >> 16 & 3 != 3,
        )
