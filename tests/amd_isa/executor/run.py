"""Kernels of an ELF, and their launches on the executor."""

from __future__ import annotations

import ctypes
import functools
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from amd_isa import clang
from amd_isa.resources import Resources, resources

from .decode import Instruction, Program, decode, instructions
from .elf import Elf
from .library import ERRORS, Launch, library, operations
from .memory import allocate, around, region, table

LIMIT = 100_000_000  # instructions of a wave
_HIDDEN = {"block_count": "<I", "group_size": "<H", "remainder": "<H", "global_offset": "<Q"}


class ExecutorError(Exception):
    """What a kernel did wrong, or what the executor does not have."""


class Code:
    """The code of an ELF, loaded into memory."""

    def __init__(self, path: Path, target: str, language: str = "opencl") -> None:
        self.elf = Elf(path)
        self.libclc = language == "opencl"
        self.kernels: dict[str, Resources] = resources(path)
        self.program: Program = _decoded(path, target)
        image = self.elf.image()
        self.image = allocate(len(image))
        self.image[:] = image
        self.load = self.image.ctypes.data
        for place, number in self.elf.relocations():
            self.image[place : place + 8] = np.frombuffer(struct.pack("<Q", self.load + number), np.uint8)
        self.image.flags.writeable = False

    def launch(
        self,
        name: str,
        grid: tuple[int, ...],
        group: tuple[int, ...],
        arguments: list[Any],
        local_bytes: int = 0,
        **checks: int,
    ) -> Launch:
        """Run `grid` work-groups of `group` work-items.

        Parameters
        ----------
        arguments : list
            NumPy arrays, whose memory from the first to the last element may be read and, where they are writeable,
            written; and NumPy numbers.
        local_bytes : int
            Of local memory, beside what the kernel declares.
        checks : int
            ``unwritten=0`` and ``races=0`` leave out checks of LDS, ``reverse=1`` runs groups and waves backwards.

        Raises
        ------
        ExecutorError
            Naming kernel, instruction, lane and address.
        """
        kernel = self.kernels[name]
        descriptor = self.elf.descriptor(kernel.symbol)
        grid, group = (tuple(x) + (1,) * (3 - len(x)) for x in (grid, group))
        kernarg = allocate(-(-kernel.kernarg_bytes // 64) * 64)  # loads are widened up to its alignment
        kernarg[:] = np.frombuffer(
            _kernarg(kernel, grid, group, arguments, self.libclc).ljust(len(kernarg), b"\0"), np.uint8
        )
        packet = allocate(64)
        items = [count * size for count, size in zip(grid, group, strict=True)]
        packet[:24] = np.frombuffer(struct.pack("<6H3I", 2, 3, *group, 0, *items), np.uint8)
        values = {"kernarg_segment_ptr": kernarg.ctypes.data, "dispatch_ptr": packet.ctypes.data}
        sgprs = np.zeros(32, np.uint32)
        place = 0
        for register, words in descriptor.user_registers:
            sgprs[place : place + words] = [values.get(register, 0) >> 32 * i & 0xFFFFFFFF for i in range(words)]
            place += words
        kernarg.flags.writeable = packet.flags.writeable = False
        touched = [kernarg, packet, self.image, *(a for a in arguments if isinstance(a, np.ndarray))]
        program, allocations = self.program, table(map(region, touched))
        n = Launch(
            **{k: getattr(program, k).ctypes.data for k in ("records", "constants", "index")},
            allocations=allocations.ctypes.data,
            sgprs=sgprs.ctypes.data,
            text=program.start,
            load=self.load,
            text_words=len(program.index),
            limit=LIMIT,
            records_count=len(program.records),
            allocations_count=len(allocations),
            sgprs_count=place,
            group_ids=descriptor.user_count,
            width=kernel.wave,
            entry=program.index[(descriptor.entry - program.start) // 4],
            lds_bytes=descriptor.local_memory + local_bytes,
            scratch_bytes=descriptor.scratch + 16384 * kernel.dynamic_stack,
            grid=grid,
            group=group,
            group_id_on=descriptor.group_ids,
            flush32=descriptor.flushes32,
            check_unwritten=checks.get("unwritten", 1),
            check_races=checks.get("races", 1),
            reverse=checks.get("reverse", 0),
        )
        if library().execute(ctypes.byref(n)):
            raise ExecutorError(self._words(name, n, allocations))
        return n

    def _words(self, name: str, n: Launch, allocations: np.ndarray) -> str:
        line: Instruction = self.program.lines[n.record]
        text = f"{name}: {ERRORS[n.error]}: {line.text!r} at {line.address:#x}"
        if n.size:
            text += f", {n.size} bytes at {n.address:#x}"
        if n.error in (1, 2):
            text += f" ({around(allocations, n.address)})"
        return f"{text}, lane {n.lane}, work-group {n.group_index}"


@functools.lru_cache(256)
def _decoded(path: Path, target: str) -> Program:
    line = [clang.find().objdump, "--disassemble", str(path)]
    text = subprocess.run(line, check=True, capture_output=True, text=True, timeout=600).stdout
    generation = int(re.match(r"gfx(\d+)\w\w$", target)[1])
    return decode(instructions(text), operations(), generation)


def _kernarg(
    kernel: Resources, grid: tuple[int, ...], group: tuple[int, ...], arguments: list[Any], libclc: bool
) -> bytes:
    """Return the kernarg segment: the arguments, and hidden ones of which LLVM's kinds tell what they are.

    libclc has a layout of its own: words 1 to 3 of the hidden ones are the first work-item's number, which is 0.
    """
    data = bytearray(kernel.kernarg_bytes)
    given = iter(arguments)
    for argument in kernel.arguments:
        if not argument.kind.startswith("hidden_"):
            value = next(given)
            raw = struct.pack("<Q", value.ctypes.data) if isinstance(value, np.ndarray) else value.tobytes()
            assert len(raw) == argument.size, (kernel.name, argument, value)
            data[argument.offset : argument.offset + argument.size] = raw
            continue
        kind, _, axis = argument.kind.removeprefix("hidden_").rpartition("_")
        if libclc and kind == "block_count" and axis != "x":
            continue
        if kind in ("block_count", "group_size"):
            value = (grid if kind == "block_count" else group)["xyz".index(axis)]
            struct.pack_into(_HIDDEN[kind], data, argument.offset, value)
        elif argument.kind == "hidden_grid_dims":
            struct.pack_into("<H", data, argument.offset, 3)
    assert next(given, None) is None, f"{kernel.name}: too many arguments"
    return bytes(data)
