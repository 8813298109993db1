"""Matrix instructions: products of random matrices, which lie in registers as AMD's layouts say.

The numbers have few bits, so that every sum is exact and NumPy's float64 product is the result to the last bit.
Source of the layouts: AMD's matrix instruction calculator (ROCm/amd_matrix_instruction_calculator), with which these
functions agree for all its instructions of gfx908, gfx90a, gfx942, gfx11 and gfx12 without sparsity.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .assembly import Snippet, wave
from .cases import Case, add

BITS = {"f64": 64, "i32": 32, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "u8": 8, "i4": 4, "u4": 4}
BITS |= dict.fromkeys(("fp8", "bf8", "fp8_fnuz", "bf8_fnuz"), 8)
Place = tuple[int, int, int]  # row (of A; column of B), inner index, block; or row, column, block
Layout = Callable[[int, int], Place]  # of a lane, and of the number of an element in it


def mfma_source(m: int, k: int, blocks: int) -> Layout:
    """Return where elements of A lie, and of B with columns for rows: blocks side by side, then inner indices."""
    per_lane = k * m * blocks // 64
    return lambda lane, i: (lane % m, lane // (m * blocks) * per_lane + i, lane // m % blocks)


def mfma_result(m: int, blocks: int, bits: int) -> Layout:
    """Return where elements of C and D lie: four rows by all columns side by side; f64 row by row."""
    if m == 4:
        return lambda lane, i: (lane // 16 if bits == 64 else i, lane % 4, lane // 4 % blocks)
    if bits == 64:
        return lambda lane, i: (4 * i + lane // 16, lane % 16, 0)
    if m == 16:
        return lambda lane, i: (4 * (lane // 16) + i % 4, lane % 16, i // 4)
    return lambda lane, i: (8 * (i // 4 % 4) + 4 * (lane // 32) + i % 4, lane % 32, i // 16)


def wmma11_source(lane: int, i: int) -> Place:
    """A row in a lane; every 16 lanes the same."""
    return lane % 16, i, 0


def wmma11_result(lanes: int) -> Layout:
    """Rows alternate between groups of 16 lanes."""
    return lambda lane, i: (lanes // 16 * i + lane // 16, lane % 16, 0)


def wmma12_source(lanes: int, k: int, bits: int) -> Layout:
    """Return gfx12's layout of A and B: nothing twice."""
    if lanes == 32:
        run = {16: 4, 8: 8, 4: k // 2}[bits]
        return lambda lane, i: (lane % 16, i // run * 2 * run + lane // 16 * run + i % run, 0)
    if bits == 16:
        return lambda lane, i: (lane % 16, lane // 32 * 8 + lane // 16 % 2 * 4 + i, 0)
    run = k // 4
    return lambda lane, i: (lane % 16, lane // 16 % 2 * 2 * run + lane // 32 * run + i, 0)


def wmma12_result(lanes: int) -> Layout:
    """Return gfx12's layout of C and D: 8 rows (4 of a wave of 64) in a lane."""
    if lanes == 32:
        return lambda lane, i: (lane // 16 * 8 + i, lane % 16, 0)
    return lambda lane, i: (lane // 16 % 2 * 8 + lane // 32 * 4 + i, lane % 16, 0)


@dataclass(frozen=True)
class Shape:
    """An instruction's sizes, types and layouts; `count` elements of a source and `results` of the result in a lane."""

    m: int
    n: int
    k: int
    blocks: int
    a: str
    b: str
    d: str
    count: int
    results: int
    source_a: Layout
    source_b: Layout
    result: Layout
    half: int = 0  # of a word, that alone holds a result of 16 bits; 2: both do


def mfma(m: int, k: int, blocks: int, a: str, b: str = "", d: str = "f32") -> Shape:
    """Return the shape of an MFMA."""
    source, bits = mfma_source(m, k, blocks), BITS[d]
    return Shape(
        m,
        m,
        k,
        blocks,
        a,
        b or a,
        d,
        k * m * blocks // 64,
        m * m * blocks // 64,
        source,
        source,
        mfma_result(m, blocks, bits),
        2,
    )


def wmma(lanes: int, a: str, d: str, half: int = 0) -> Shape:
    """Return the shape of gfx11's WMMA."""
    result = wmma11_result(lanes)
    return Shape(16, 16, 16, 1, a, a, d, 16, 256 // lanes, wmma11_source, wmma11_source, result, half)


def wmma12(lanes: int, a: str, b: str, d: str, k: int = 16) -> Shape:
    """Return the shape of gfx12's WMMA."""
    source = wmma12_source(lanes, k, BITS[a])
    return Shape(16, 16, k, 1, a, b, d, 16 * k // lanes, 256 // lanes, source, source, wmma12_result(lanes), 2)


def small_float(kind: str) -> np.ndarray:
    """Return the numbers of all bytes of an 8-bit float type; NaN where it has no number."""
    mantissa = 2 if kind.startswith("bf8") else 3
    bias = {"fp8": 7, "bf8": 15, "fp8_fnuz": 8, "bf8_fnuz": 16}[kind]
    numbers = []
    for byte in range(256):
        e, f = byte >> mantissa & ((1 << 7 - mantissa) - 1), byte & ((1 << mantissa) - 1)
        size = (f + (1 << mantissa) * bool(e)) * 2.0 ** (max(e, 1) - bias - mantissa)
        numbers.append(-size if byte >> 7 else size)
    return np.array(numbers)


def encode(numbers: np.ndarray, kind: str) -> np.ndarray:
    """Return numbers as unsigned integers of a type's bits."""
    if kind in ("f64", "f32", "f16"):
        dtype = {"f64": np.float64, "f32": np.float32, "f16": np.float16}[kind]
        return numbers.astype(dtype).view(f"u{BITS[kind] // 8}").astype(np.uint64)
    if kind in ("bf16", "xf32"):
        words = numbers.astype(np.float32).view(np.uint32)
        return (words >> 16 if kind == "bf16" else words).astype(np.uint64)
    if kind.startswith(("fp8", "bf8")):
        table = {x: i for i, x in reversed(list(enumerate(small_float(kind))))}
        return np.array([table[x] for x in numbers.ravel()], np.uint64).reshape(numbers.shape)
    return (numbers.astype(np.int64) & ((1 << BITS[kind]) - 1)).astype(np.uint64)


def registers(matrix: np.ndarray, kind: str, layout: Layout, lanes: int, count: int, half: int = 2) -> np.ndarray:
    """Return a matrix (rows, inner, blocks) as (lanes, words)."""
    bits, coded = BITS[kind], encode(matrix, kind)
    step = 2 if bits == 16 and half < 2 else 1
    words = np.zeros((lanes, max(count * step * bits // 32, 1)), np.uint64)
    for lane in range(lanes):
        for i in range(count):
            value, place = int(coded[layout(lane, i)]), i * step + (half if step == 2 else 0)
            for part in range(max(bits // 32, 1)):
                words[lane, place * bits // 32 + part] |= np.uint64(
                    (value >> 32 * part & 0xFFFFFFFF) << place * bits % 32
                )
    return words.astype(np.uint32)


def matrices(shape: Shape, seed: int) -> list[np.ndarray]:
    """Return A (m, k, blocks), B (n, k, blocks) and C (m, n, blocks) of numbers with few bits."""
    random = np.random.default_rng(seed)
    sizes = ((shape.m, shape.k), (shape.n, shape.k), (shape.m, shape.n))
    made = []
    for kind, size in zip((shape.a, shape.b, shape.d), sizes, strict=True):
        low, high = (0, 4) if kind[0] == "u" else (-4, 4)
        made.append(random.integers(low, high, (*size, shape.blocks)).astype(float))
    if shape.a[0] in "fbx":
        made[0] /= 4
    return made


def product(shape: Shape, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return A B + C of each block, in float64."""
    return np.einsum("mkx,nkx->mnx", a, b) + c


def case(mnemonic: str, shape: Shape, words: str, accumulators: bool, target: str) -> Case:
    """Return the case of an instruction with random matrices."""
    lanes = wave(target)
    a, b, c = matrices(shape, 3)
    d = product(shape, a, b, c)
    sources = {}
    for name, first, matrix, kind, layout, count in (
        *(("a", 8, a, shape.a, shape.source_a, shape.count), ("b", 24, b, shape.b, shape.source_b, shape.count)),
        ("c", 64, c, shape.d, shape.result, shape.results),
    ):
        packed = registers(matrix, kind, layout, lanes, count, shape.half if name == "c" else 2)
        bank = "a" if accumulators and name == "c" else "v"
        last = first + packed.shape[1] - 1
        sources[name] = (f"{bank}[{first}:{last}]" if last > first else f"{bank}{first}", packed)
    result = (
        sources["c"][0]
        .replace("64", "128")
        .replace(str(63 + sources["c"][1].shape[1]), str(127 + sources["c"][1].shape[1]))
    )
    expected = registers(d, shape.d, shape.result, lanes, shape.results, shape.half)
    code = f"{mnemonic} {result}, {sources['a'][0]}, {sources['b'][0]}, {sources['c'][0]} {words}"
    vectors = {name: packed[None] for name, packed in sources.values()}
    if shape.half < 2 and shape.d in ("f16", "bf16"):
        vectors[result] = np.zeros_like(expected)[None]
    return Case(
        f"{mnemonic} {words}",
        target,
        Snippet(f"{code}\ns_nop 15\ns_nop 15", vectors, {}, (result,)),
        {result: expected[None]},
    )


def register(mnemonic: str, shape: Shape, targets: tuple[str, ...], words: str = "") -> None:
    """Register a case, with accumulators where the target has them."""
    for accumulators in (False, True) if mnemonic.startswith("v_mfma") else (False,):
        name = f"{mnemonic} {words}{' accumulators' * accumulators}".strip()
        add(name, functools.partial(case, mnemonic, shape, words, accumulators), targets)


SIZES = {  # m, k, blocks of each instruction
    "f32": ((32, 1, 2), (16, 1, 4), (4, 1, 16), (32, 2, 1), (16, 4, 1)),
    "f16": ((32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1)),
    "bf16_1k": ((32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1)),
    "bf16": ((32, 2, 2), (16, 2, 4), (4, 2, 16), (32, 4, 1), (16, 8, 1)),
    "i8": ((32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1)),
}
for kind, sizes in SIZES.items():
    result = "i32" if kind == "i8" else "f32"
    for m, k, blocks in sizes:
        shape = mfma(m, k, blocks, kind.removesuffix("_1k"), d=result)
        register(f"v_mfma_{result}_{m}x{m}x{k}{kind}", shape, ("gfx90a",))
        new = f"v_mfma_{result}_{m}x{m}x{k}_{f'{blocks}b_' * (blocks > 1)}{kind.removesuffix('_1k')}"
        if kind != "bf16" and (kind != "i8" or blocks > 1):
            register(new, shape, ("gfx942",))
for m, k, blocks, kind in ((32, 16, 1, "i8"), (16, 32, 1, "i8")):
    register(f"v_mfma_i32_{m}x{m}x{k}_{kind}", mfma(m, k, blocks, kind, d="i32"), ("gfx942",))
for m, k in ((16, 8), (32, 4)):
    register(f"v_mfma_f32_{m}x{m}x{k}_xf32", mfma(m, k, 1, "xf32"), ("gfx942",))
register("v_mfma_f64_16x16x4_f64", mfma(16, 4, 1, "f64", d="f64"), ("gfx942",))
register("v_mfma_f64_4x4x4_4b_f64", mfma(4, 4, 4, "f64", d="f64"), ("gfx942",))
for a in ("fp8", "bf8"):
    for b in ("fp8", "bf8"):
        for m, k in ((16, 32), (32, 16)):
            register(f"v_mfma_f32_{m}x{m}x{k}_{a}_{b}", mfma(m, k, 1, f"{a}_fnuz", f"{b}_fnuz"), ("gfx942",))
for target, lanes in (("gfx1100", 32), ("gfx1100-64", 64)):
    register("v_wmma_f32_16x16x16_f16", wmma(lanes, "f16", "f32"), (target,))
    register("v_wmma_f32_16x16x16_bf16", wmma(lanes, "bf16", "f32"), (target,))
    for kind in ("f16", "bf16"):
        register(f"v_wmma_{kind}_16x16x16_{kind}", wmma(lanes, kind, kind), (target,))
        register(f"v_wmma_{kind}_16x16x16_{kind}", wmma(lanes, kind, kind, 1), (target,), "op_sel:[0,0,1]")
    for signed in (False, True):
        words = "neg_lo:[1,1,0]" if signed else ""
        for bits in (8, 4):
            register(f"v_wmma_i32_16x16x16_iu{bits}", wmma(lanes, f"{'ui'[signed]}{bits}", "i32"), (target,), words)
for target, lanes in (("gfx1201", 32), ("gfx1201-64", 64)):
    register("v_wmma_f32_16x16x16_f16", wmma12(lanes, "f16", "f16", "f32"), (target,))
    register("v_wmma_f32_16x16x16_bf16", wmma12(lanes, "bf16", "bf16", "f32"), (target,))
    for kind in ("f16", "bf16"):
        register(f"v_wmma_{kind}_16x16x16_{kind}", wmma12(lanes, kind, kind, kind), (target,))
    register("v_wmma_i32_16x16x16_iu8", wmma12(lanes, "i8", "i8", "i32"), (target,), "neg_lo:[1,1,0]")
    register("v_wmma_i32_16x16x32_iu4", wmma12(lanes, "u4", "u4", "i32", 32), (target,))
    for a in ("fp8", "bf8"):
        for b in ("fp8", "bf8"):
            register(f"v_wmma_f32_16x16x16_{a}_{b}", wmma12(lanes, a, b, "f32"), (target,))
register("v_wmma_i32_16x16x16_iu4", wmma12(32, "u4", "u4", "i32"), ("gfx1201",))
