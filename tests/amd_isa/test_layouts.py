"""The layouts of matrix instructions are those that AMD publishes.

The facts are what AMD's matrix instruction calculator (ROCm/amd_matrix_instruction_calculator at 2ef91896, option
--get-register) says of some elements of each instruction that kernels use. The executor is tested by the
same layouts.
"""

from __future__ import annotations

import re

import pytest

from amd_isa.instructions.matrix import BITS, mfma, wmma, wmma12

SHAPES = {
    "v_mfma_f32_32x32x8f16": mfma(32, 8, 1, "f16"),
    "v_mfma_f32_32x32x4bf16": mfma(32, 4, 1, "bf16"),
    "v_mfma_f32_32x32x8bf16_1k": mfma(32, 8, 1, "bf16"),
    "v_mfma_f32_32x32x8_f16": mfma(32, 8, 1, "f16"),
    "v_mfma_f32_32x32x2_f32": mfma(32, 2, 1, "f32"),
    "v_mfma_f32_32x32x4_xf32": mfma(32, 4, 1, "xf32"),
    "v_wmma_f32_16x16x16_f16": wmma(32, "f16", "f32"),
    "v_wmma_f32_16x16x16_bf16": wmma(32, "bf16", "f32"),
    "v_wmma_f32_16x16x16_f16 of gfx12": wmma12(32, "f16", "f16", "f32"),
    "v_wmma_f32_16x16x16_bf16 of gfx12": wmma12(32, "bf16", "bf16", "f32"),
}
PUBLISHED = {  # element = register {lane} and bits
    "v_mfma_f32_32x32x8f16": (
        "A[5][1] = v0{5}.[31:16], A[31][4] = v0{63}.[15:0], B[7][6] = v1{38}.[31:16], B[3][29] = v1{29}.[31:16], "
        "D[13][6] = v5{38}, D[31][30] = v15{62}"
    ),
    "v_mfma_f32_32x32x4bf16": (
        "A[5][1] = v0{5}.[31:16], A[31][2] = v0{63}.[15:0], B[3][6] = v0{38}.[31:16], B[1][29] = v0{29}.[31:16], "
        "D[13][6] = v5{38}, D[31][30] = v15{62}"
    ),
    "v_mfma_f32_32x32x8bf16_1k": (
        "A[5][1] = v0{5}.[31:16], A[31][4] = v0{63}.[15:0], B[7][6] = v1{38}.[31:16], B[3][29] = v1{29}.[31:16], "
        "D[13][6] = v5{38}, D[31][30] = v15{62}"
    ),
    "v_mfma_f32_32x32x8_f16": (
        "A[5][1] = v0{5}.[31:16], A[31][4] = v0{63}.[15:0], B[7][6] = v1{38}.[31:16], B[3][29] = v1{29}.[31:16], "
        "D[13][6] = v5{38}, D[31][30] = v15{62}"
    ),
    "v_mfma_f32_32x32x2_f32": (
        "A[5][1] = v0{37}, A[31][1] = v0{63}, B[1][6] = v0{38}, B[0][29] = v0{29}, "
        "D[13][6] = v5{38}, D[31][30] = v15{62}"
    ),
    "v_mfma_f32_32x32x4_xf32": (
        "A[5][1] = v1{5}, A[31][2] = v0{63}, B[3][6] = v1{38}, B[1][29] = v1{29}, "
        "D[13][6] = v5{38}, D[31][30] = v15{62}"
    ),
    "v_wmma_f32_16x16x16_f16": (
        "A[5][1] = v0{5}.[31:16], A[15][8] = v4{15}.[15:0], B[15][6] = v7{6}.[31:16], B[7][13] = v3{13}.[31:16], "
        "D[13][6] = v6{22}, D[15][14] = v7{30}"
    ),
    "v_wmma_f32_16x16x16_bf16": (
        "A[5][1] = v0{5}.[31:16], A[15][8] = v4{15}.[15:0], B[15][6] = v7{6}.[31:16], B[7][13] = v3{13}.[31:16], "
        "D[13][6] = v6{22}, D[15][14] = v7{30}"
    ),
    "v_wmma_f32_16x16x16_f16 of gfx12": (
        "A[5][1] = v0{5}.[31:16], A[15][8] = v2{15}.[15:0], B[15][6] = v3{22}.[31:16], B[7][13] = v1{29}.[31:16], "
        "D[13][6] = v5{22}, D[15][14] = v7{30}"
    ),
    "v_wmma_f32_16x16x16_bf16 of gfx12": (
        "A[5][1] = v0{5}.[31:16], A[15][8] = v2{15}.[15:0], B[15][6] = v3{22}.[31:16], B[7][13] = v1{29}.[31:16], "
        "D[13][6] = v5{22}, D[15][14] = v7{30}"
    ),
}
_FACT = re.compile(r"([ABD])\[(\d+)\]\[(\d+)\] = v(\d+)\{(\d+)\}(?:\.\[\d+:(\d+)\])?")


@pytest.mark.parametrize("name", SHAPES)
def test_layout(name):
    shape = SHAPES[name]
    facts = _FACT.findall(PUBLISHED[name])
    assert [matrix for matrix, *_ in facts] == list("AABBDD")
    for matrix, *numbers, bit in facts:
        row, column, register, lane = map(int, numbers)
        bits = BITS[shape.d if matrix == "D" else shape.a]
        element = (register * 32 + int(bit or 0)) // bits
        layout = {"A": shape.source_a, "B": shape.source_b, "D": shape.result}[matrix]
        assert layout(lane, element) == ((column, row, 0) if matrix == "B" else (row, column, 0))
