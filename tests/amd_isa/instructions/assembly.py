"""One instruction, or a few, as a kernel: registers are loaded, the code runs, registers are stored."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from amd_isa import clang
from amd_isa.executor.memory import allocate
from amd_isa.executor.run import Code
from portadnn._io import disk_cache

TARGETS = ("gfx1100", "gfx942")  # for all instructions; "-64": waves of 64
MATRIX_TARGETS = ("gfx90a", "gfx1100-64", "gfx1201", "gfx1201-64")
ROW = 128  # words that a work-item has of inputs, and of outputs
_ADDRESS, _VALUE = "v255", "v254"  # what the frame uses; so are s0 to s13
_HEAD = """
s_load_dwordx4 s[4:7], s[0:1], 0x0
s_load_dwordx2 s[8:9], s[0:1], 0x10
s_lshl_b32 s10, s2, {wave_bits}
{add} v255, s10, v0
v_lshlrev_b32_e32 v255, 9, v255
s_lshl_b32 s10, s2, 9
s_waitcnt lgkmcnt(0)
s_add_u32 s8, s8, s10
s_addc_u32 s9, s9, 0
{loads}
s_waitcnt vmcnt(0) lgkmcnt(0)
{code}
s_waitcnt vmcnt(0) lgkmcnt(0)
s_cselect_b32 s11, 1, 0
{all_lanes}
{stores}
s_endpgm
"""
_KERNEL = """
.globl {name}
.p2align 8
.type {name},@function
{name}:
{text}
.section .rodata
.p2align 6
.amdhsa_kernel {name}
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_next_free_sgpr 102
.amdhsa_float_denorm_mode_32 3
.amdhsa_group_segment_fixed_size {local}
.amdhsa_private_segment_fixed_size {scratch}
{registers}
.end_amdhsa_kernel
.text
"""
_METADATA = """- {{.name: {name}, .symbol: {name}.kd, .kernarg_segment_size: 24, .group_segment_fixed_size: {local},
  .private_segment_fixed_size: {scratch}, .kernarg_segment_align: 8,
  .wavefront_size: {wave}, .sgpr_count: 102, .vgpr_count: 256,
  .sgpr_spill_count: 0, .vgpr_spill_count: 0, .max_flat_workgroup_size: {wave}, .args: [
  {{.value_kind: global_buffer, .size: 8, .offset: 0, .address_space: global}},
  {{.value_kind: global_buffer, .size: 8, .offset: 8, .address_space: global}},
  {{.value_kind: global_buffer, .size: 8, .offset: 16, .address_space: global}}]}}
"""


def wave(target: str) -> int:
    """Return the lanes of a wave."""
    return 64 if target.startswith("gfx9") or target.endswith("-64") else 32


def words(register: str) -> list[str]:
    """Return the registers of a word each that ``"v[2:3]"``, ``"s5"``, ``"vcc"`` or ``"scc"`` name."""
    if match := re.fullmatch(r"([sva])\[(\d+):(\d+)\]", register):
        return [f"{match[1]}{i}" for i in range(int(match[2]), int(match[3]) + 1)]
    return {"vcc": ["vcc_lo", "vcc_hi"], "exec": ["exec_lo", "exec_hi"]}.get(register, [register])


@dataclass(frozen=True)
class Snippet:
    """Code between loads and stores.

    Attributes
    ----------
    code : str
        Lines of assembly.
    vectors : dict
        By register: an array of (waves, lanes, words) of uint32.
    scalars : dict
        By register: an array of (waves, words).
    outputs : tuple of str
        Registers; ``"scc"`` and ``"exec"`` are as the code left them.
    local, scratch : int
        Bytes of LDS and of scratch memory.
    """

    code: str
    vectors: dict[str, np.ndarray]
    scalars: dict[str, np.ndarray]
    outputs: tuple[str, ...]
    local: int = 0
    scratch: int = 0

    def kernel(self, name: str, target: str) -> str:
        """Return the assembly of its kernel."""
        loads, stores = [], []
        for i, register in enumerate(r for name in self.vectors for r in words(name)):
            loads.append(f"global_load_dword {register}, {_ADDRESS}, s[4:5] offset:{4 * i}")
        for i, register in enumerate(r for name in self.scalars for r in words(name)):
            loads.append(f"s_load_dword {register}, s[8:9], {4 * i:#x}")
        outputs = [r for name in self.outputs for r in words(name)]
        saved = {"scc": "s11", "exec_lo": "s12", "exec_hi": "s13"}
        for i, register in enumerate(outputs):
            if not register.startswith(("v", "a")) or register.startswith("vcc"):
                stores.append(f"v_mov_b32_e32 {_VALUE}, {saved.get(register, register)}")
            elif register.startswith("a"):
                stores.append(f"v_accvgpr_read_b32 {_VALUE}, {register}")
            stored = register if re.fullmatch(r"v\d+", register) else _VALUE
            stores.append(f"global_store_dword {_ADDRESS}, {stored}, s[6:7] offset:{4 * i}")
        narrow = wave(target) == 32
        text = _HEAD.format(
            wave_bits=5 if narrow else 6,
            add="v_add_u32_e32" if target.startswith("gfx9") else "v_add_nc_u32_e32",
            loads="\n".join(loads),
            code=self.code,
            all_lanes="s_mov_b32 s12, exec_lo\ns_mov_b32 s13, exec_hi\ns_mov_b32 exec_lo, -1\ns_mov_b32 exec_hi, -1",
            stores="\n".join(stores),
        )
        if target.startswith("gfx12"):  # waits and sums have other names, the group's number another register
            text = re.sub("s_waitcnt.*", "s_wait_loadcnt 0x0\ns_wait_kmcnt 0x0", text).replace("s10, s2", "s10, ttmp9")
            text = text.replace("s_add_u32", "s_add_co_u32").replace("s_addc_u32", "s_add_co_ci_u32")
        registers = ".amdhsa_next_free_vgpr 256"
        if target.startswith("gfx9"):
            registers = ".amdhsa_next_free_vgpr 512\n.amdhsa_accum_offset 256"
        elif not narrow:
            registers += "\n.amdhsa_wavefront_size32 0"
        return _KERNEL.format(name=name, text=text, registers=registers, local=self.local, scratch=self.scratch)


class Assembled:
    """Snippets as the kernels of one ELF."""

    def __init__(self, snippets: Sequence[Snippet], target: str) -> None:
        self.snippets, self.target = snippets, target
        self.code = Code(_assemble(_source(snippets, target), target), target.removesuffix("-64"))

    def run(self, number: int) -> dict[str, np.ndarray]:
        """Run a snippet and return each output as (waves, lanes, words) of uint32."""
        snippet, lanes = self.snippets[number], wave(self.target)
        waves = next(iter([*snippet.vectors.values(), *snippet.scalars.values()])).shape[0]
        inputs, outputs, scalars = (allocate(4 * ROW * count) for count in (waves * lanes, waves * lanes, waves))
        _fill(inputs.view(np.uint32).reshape(waves, lanes, ROW), snippet.vectors)
        _fill(scalars.view(np.uint32).reshape(waves, ROW), snippet.scalars)
        self.code.launch(f"k{number}", (waves,), (lanes,), [inputs, outputs, scalars])
        stored, found, place = np.array(outputs).view(np.uint32).reshape(waves, lanes, ROW), {}, 0
        for name in snippet.outputs:
            count = len(words(name))
            found[name] = stored[:, :, place : place + count]
            place += count
        return found


def _fill(memory: np.ndarray, registers: dict[str, np.ndarray]) -> None:
    memory[...] = 0
    place = 0
    for name, values in registers.items():
        count = len(words(name))
        memory[..., place : place + count] = values
        place += count


def _source(snippets: Sequence[Snippet], target: str) -> str:
    lanes = wave(target)
    kernels = "".join(snippet.kernel(f"k{i}", target) for i, snippet in enumerate(snippets))
    data = "".join(
        _METADATA.format(name=f"k{i}", local=s.local, scratch=s.scratch, wave=lanes) for i, s in enumerate(snippets)
    )
    processor = target.removesuffix("-64")
    head = f'.amdgcn_target "amdgcn-amd-amdhsa--{processor}"\n.amdhsa_code_object_version 5\n.text\n'
    tail = f".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n{data}...\n.end_amdgpu_metadata\n"
    return head + kernels + tail


@functools.cache
def _assemble(source: str, target: str) -> Path:
    """Return the ELF of assembly, kept beside the other machine code."""
    processor = target.removesuffix("-64")
    path = clang.compile(" ", processor).parent / f"{hashlib.sha256(source.encode()).hexdigest()}-{target}.elf"
    if not path.exists():
        handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=disk_cache.UNFINISHED)
        os.close(handle)
        line = [clang.find().clang, "-x", "assembler", "--target=amdgcn-amd-amdhsa", f"-mcpu={processor}"]
        line += ["-mwavefrontsize64"] * (target != processor)
        done = subprocess.run([*line, "-", "-o", unfinished], input=source, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        Path(unfinished).replace(path)
    return path
