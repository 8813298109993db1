"""The share of the matrix units' peak that a main loop can reach at best, counted from its listing.

A turn of the loop takes a SIMD at least as long as each of these would alone:

- its matrix instructions, at the rate of the published peaks;
- what goes through the vector issue port: on CDNA vector instructions run beside a matrix instruction that has been
  issued, on RDNA both run on the same units, one after the other;
- local memory and the first-level cache, of which the SIMDs of a compute unit have their share.

Latencies, waits and barriers count nothing: other waves are to fill them. Every instruction between the loop's first
and last is counted once, also those that are mostly jumped over.

Sources: AMD's white papers and instruction set manuals of CDNA, CDNA 2 and CDNA 3 (peaks, passes, 128 bytes a clock
of LDS, 64 of the vector cache, four SIMDs of 16 lanes),
https://gpuopen.com/learn/wmma_on_rdna3/ (512 operations a clock and
compute unit), and AMD's pages on RDNA 4 (twice as many); RDNA's compute units have two SIMDs of 32 lanes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(r"^\t(\S+)\s*(.*?)\s*// ([0-9A-F]{12}):", re.MULTILINE)
_LDS_BYTES, _CACHE_BYTES = 128, 64  # a clock, of a compute unit
_BYTES = {
    "b128": 16,
    "dwordx4": 16,
    "b96": 12,
    "dwordx3": 12,
    "b64": 8,
    "dwordx2": 8,
    "b32": 4,
    "dword": 4,
    "b16": 2,
    "u16": 2,
    "ushort": 2,
}
_SLOW = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_")
# clocks of a matrix instruction on its SIMD: passes of four clocks, or operations by those of a clock
_MATRIX = {
    "gfx908": {"v_mfma_f32_32x32x8f16": 64, "v_mfma_f32_32x32x4bf16": 64, "v_mfma_f32_32x32x2f32": 64},
    "gfx90a": {"v_mfma_f32_32x32x8f16": 64, "v_mfma_f32_32x32x8bf16_1k": 64, "v_mfma_f32_32x32x2f32": 64},
    "gfx942": {
        "v_mfma_f32_32x32x8_f16": 32,
        "v_mfma_f32_32x32x8_bf16": 32,
        "v_mfma_f32_32x32x2_f32": 64,
        "v_mfma_f32_32x32x4_xf32": 32,
    },
    "gfx1100": {"v_wmma_f32_16x16x16_f16": 32, "v_wmma_f32_16x16x16_bf16": 32},
    "gfx1201": {"v_wmma_f32_16x16x16_f16": 16, "v_wmma_f32_16x16x16_bf16": 16},
}


@dataclass(frozen=True)
class Turn:
    """A turn of a main loop: clocks of a SIMD by what takes them, and the instructions.

    Attributes
    ----------
    matrix, vector, local, memory : float
    issue : float
        Of matrix and vector instructions together.
    listing : tuple of str
    """

    matrix: float
    vector: float
    local: float
    memory: float
    issue: float
    listing: tuple[str, ...]

    @property
    def share(self) -> float:
        """Share of the matrix units' peak at best."""
        return self.matrix / max(self.matrix, self.issue, self.local, self.memory)


def main_loop(listing: str, kernel: str) -> list[tuple[str, str]]:
    """Return mnemonics and operands of a kernel's innermost loop that has most matrix instructions."""
    listing = listing.partition(f"<{kernel}>:\n")[2].partition(">:\n")[0]  # up to the next function
    lines = [(name, rest, int(address, 16)) for name, rest, address in _LINE.findall(listing)]
    loops: dict[int, int] = {}  # the last branch back to each start
    for name, rest, address in lines:
        words = int(rest) if name.startswith(("s_cbranch", "s_branch")) else 0
        if words >= 32768:
            loops[address + 4 + 4 * (words - 65536)] = address
    matrix = [address for name, _, address in lines if name.startswith(("v_mfma", "v_wmma"))]
    counts = {(start, end): sum(start <= one <= end for one in matrix) for start, end in loops.items()}
    inner = [loop for loop in counts if not any(counts[one] and _within(one, loop) for one in counts)]
    first, last = max(inner, key=lambda loop: (counts[loop], loop[0] - loop[1]))
    return [line[:2] for line in lines if first <= line[2] <= last]


def _within(inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    return inner != outer and outer[0] <= inner[0] and inner[1] <= outer[1]


def turn(listing: str, target: str, kernel: str) -> Turn:
    """Count a turn of the main loop in a kernel's listing."""
    rdna = not target.startswith("gfx9")
    lanes, simds, step = (
        (32, 2, 1) if rdna else (64, 4, 4)
    )  # of a wave, of a compute unit, clocks of a vector instruction
    loop = main_loop(listing, kernel)
    matrix = vector = local = memory = count = 0.0
    for name, _ in loop:
        nbytes = _BYTES.get(name.rpartition("_")[2], 4) * (2 if re.search(r"read2|write2|2addr", name) else 1)
        if name in _MATRIX[target]:
            matrix, count = matrix + _MATRIX[target][name], count + 1
        elif name.startswith("v_"):
            vector += step * (4 if _SLOW.match(name) else 1)
        elif name.startswith("ds_"):
            local += nbytes * lanes * simds / _LDS_BYTES
        elif name.startswith(("global_", "buffer_", "flat_")) and "gl" not in name.partition("_")[2][:3]:
            memory += nbytes * lanes * simds / _CACHE_BYTES
    issue = vector + (matrix if rdna else step * count)
    return Turn(matrix, vector, local, memory, issue, tuple(f"{name} {rest}".strip() for name, rest in loop))
