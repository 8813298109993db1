"""Block scaling against loops over elements, with tables of the formats written out."""

import itertools
import math

import ml_dtypes
import numpy as np
import pytest
from helper import everywhere

import portadnn.graph as cudnn
from portadnn.graph.lines import read as read_line

D = cudnn.data_type
TILED = cudnn.tensor_reordering.F8_128x4
E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
A = [cudnn.heur_mode.A]  # no host takes part


def eight_bits(exponents, fractions, bias, largest):
    """Return the number of each byte of a format with a sign, and of its largest finite byte."""
    values = {}
    for sign, exponent, fraction in itertools.product((0, 1), range(2**exponents), range(2**fractions)):
        size = (fraction / 2**fractions) * 2.0 ** (1 - bias)
        if exponent:
            size = (1 + fraction / 2**fractions) * 2.0 ** (exponent - bias)
        byte = sign << 7 | exponent << fractions | fraction
        values[byte] = (-size if sign else size) if size <= largest else math.nan
    return values


TABLES = {
    D.FP8_E4M3: eight_bits(4, 3, 7, 448.0),
    D.FP8_E5M2: eight_bits(5, 2, 15, 57344.0),
    D.FP4_E2M1: {code: -E2M1[code & 7] if code & 8 else E2M1[code] for code in range(16)},
    D.FP8_E8M0: {byte: 2.0 ** (byte - 127) if byte < 255 else math.nan for byte in range(256)},
}


def place(dims, strides, index, tiled):
    """Return where an element lies; in tiles, columns are along the last axis but one if its stride is the smaller."""
    if not tiled:
        return sum(i * s for i, s in zip(index, strides, strict=True))
    *batch, i, j = index
    *sizes, m, n = dims
    if strides[-2] < strides[-1]:
        i, j, m, n = j, i, n, m
    m, n = -(-m // 128) * 128, -(-n // 4) * 4
    entry = 0
    for b, size in zip(batch, sizes, strict=True):
        entry = entry * size + b
    return entry * m * n + (i // 128 * (n // 4) + j // 4) * 512 + i % 32 * 16 + i % 128 // 32 * 4 + j % 4


def bytes_of(dims, strides, kind, tiled):
    last = max(place(dims, strides, index, tiled) for index in np.ndindex(*dims)) + 1
    if tiled:
        last = -(-last // 512) * 512
    return -(-last // 2) if kind is D.FP4_E2M1 else last


def read(memory, dims, strides, kind, tiled=False):
    """Return the numbers of a tensor, element by element."""
    found = np.zeros(dims)
    for index in np.ndindex(*dims):
        at = place(dims, strides, index, tiled)
        code = memory[at // 2] >> 4 * (at % 2) & 15 if kind is D.FP4_E2M1 else memory[at]
        found[index] = TABLES[kind][int(code)]
    return found


def tensor(g, dims, strides, kind, tiled=False):
    order = TILED if tiled else cudnn.tensor_reordering.NONE
    return g.tensor(dim=dims, stride=strides, data_type=kind, reordering_type=order)


def codes(rng, kind, count):
    """Return random bytes of finite numbers."""
    if kind is D.FP4_E2M1:
        return rng.integers(0, 256, count, np.uint8)
    if kind is D.FP8_E8M0:
        return rng.integers(120, 134, count, np.uint8)
    return rng.integers(0, 0x7B, count, np.uint8) | rng.integers(0, 2, count, np.uint8) << 7


BACK = {  # type, dims, strides, type of scales, dims, strides, in tiles, block
    "rows": (D.FP8_E4M3, (2, 3, 8), (24, 8, 1), D.FP8_E8M0, (2, 3, 2), (6, 2, 1), False, [1, 4]),
    "nibbles": (D.FP4_E2M1, (2, 3, 8), (24, 8, 1), D.FP8_E4M3, (2, 3, 2), (6, 2, 1), False, [4]),
    "columns of nibbles": (D.FP4_E2M1, (1, 8, 3), (24, 1, 8), D.FP8_E4M3, (1, 2, 3), (6, 1, 2), False, [4, 1]),
    "tiles": (D.FP8_E5M2, (2, 130, 40), (5200, 40, 1), D.FP8_E8M0, (2, 256, 4), (1024, 4, 1), True, [1, 16]),
    "turned tiles": (D.FP8_E4M3, (1, 64, 5), (320, 1, 64), D.FP8_E8M0, (1, 4, 128), (512, 1, 4), True, [32, 1]),
    "few scales in a tile": (D.FP4_E2M1, (1, 5, 32), (160, 32, 1), D.FP8_E4M3, (1, 5, 2), (10, 2, 1), True, [1, 16]),
    "a block of both axes": (D.FP8_E4M3, (6, 10), (10, 1), D.FP8_E8M0, (3, 4), (4, 1), False, [2, 3]),
}


@everywhere()
@pytest.mark.parametrize("case", BACK)
def test_block_scale_dequantize(handle, case):
    kind, dims, strides, scale_kind, scale_dims, scale_strides, tiled, block = BACK[case]
    rng = np.random.default_rng(5)
    x = codes(rng, kind, bytes_of(dims, strides, kind, False))
    scale = codes(rng, scale_kind, bytes_of(scale_dims, scale_strides, scale_kind, tiled))
    g = cudnn.pygraph("back", D.FLOAT, D.FLOAT, D.FLOAT, handle)
    a, b = tensor(g, dims, strides, kind), tensor(g, scale_dims, scale_strides, scale_kind, tiled)
    y = g.identity(g.block_scale_dequantize(a, b, block)).set_output(True)
    y.set_dim(dims).set_stride(np.cumprod([1, *dims[:0:-1]])[::-1])
    g.build(A)
    out = np.full(dims, np.nan, np.float32)
    g.execute({a: x, b: scale, y: out})
    numbers = read(x, dims, strides, kind)
    scales = read(scale, scale_dims, scale_strides, scale_kind, tiled)
    whole = [1] * (len(dims) - len(block)) + block
    for index in np.ndindex(*dims):
        assert out[index] == numbers[index] * scales[tuple(i // s for i, s in zip(index, whole, strict=True))]


FORTH = {  # type, type of scales, dims, strides, block, axis, transposed, in tiles
    "MXFP8": (D.FP8_E4M3, D.FP8_E8M0, (2, 3, 64), (192, 64, 1), 32, None, False, False),
    "MXFP8, in tiles": (D.FP8_E5M2, D.FP8_E8M0, (1, 128, 128), (16384, 128, 1), 32, 2, False, True),
    "NVFP4": (D.FP4_E2M1, D.FP8_E4M3, (1, 6, 32), (192, 32, 1), 16, None, False, False),
    "NVFP4, in tiles": (D.FP4_E2M1, D.FP8_E4M3, (1, 128, 64), (8192, 64, 1), 16, -1, False, True),
    "along the rows": (D.FP8_E4M3, D.FP8_E8M0, (2, 8, 6), (48, 6, 1), 4, 1, False, False),
    "transposed": (D.FP4_E2M1, D.FP8_E8M0, (2, 8, 6), (48, 6, 1), 4, 1, True, False),
}
LARGEST = {D.FP8_E4M3: 448.0, D.FP8_E5M2: 57344.0, D.FP4_E2M1: 6.0}


def nearest(kind, value):
    """Return the number of a format that is nearest to a value, the even code of two."""
    table = {code: number for code, number in TABLES[kind].items() if not math.isnan(number)}
    code = min(table, key=lambda code: (abs(table[code] - value), code % 2))
    return table[code]


@everywhere()
@pytest.mark.parametrize("case", FORTH)
def test_block_scale_quantize(handle, case):
    kind, scale_kind, dims, strides, block, axis, transposed, tiled = FORTH[case]
    rng = np.random.default_rng(6)
    x = (rng.standard_normal(dims) * 2.0 ** rng.integers(-3, 4, dims)).astype(np.float32)
    x[0, 0, :block] = 0
    g = cudnn.pygraph("forth", D.FLOAT, D.FLOAT, D.FLOAT, handle)
    a = g.tensor(dim=dims, stride=strides, name="x")
    y, scale = g.block_scale_quantize(a, block, axis, transpose=transposed)
    y.set_output(True).set_data_type(kind).set_name("y")
    scale.set_output(True).set_data_type(scale_kind).set_name("scale")
    scale.set_reordering_type(TILED if tiled else cudnn.tensor_reordering.NONE)
    g.build(A)
    layouts = [(one.get_dim(), one.get_stride()) for one in (y, scale)]
    memory = np.full(bytes_of(*layouts[0], kind, False), 0xAA, np.uint8)
    scales = np.full(bytes_of(*layouts[1], scale_kind, tiled), 0xAA, np.uint8)
    g.execute({a: x, y: memory, scale: scales})
    axis = 2 if axis is None else axis % 3
    if transposed:
        assert y.get_stride()[axis] == scale.get_stride()[axis] == 1
    got, of_blocks = read(memory, *layouts[0], kind), read(scales, *layouts[1], scale_kind, tiled)
    for index in np.ndindex(*of_blocks.shape):
        part = tuple(slice(i * block, (i + 1) * block) if n == axis else i for n, i in enumerate(index))
        values = x[part].astype(np.float64)
        ideal = abs(values).max() / LARGEST[kind]
        if scale_kind is D.FP8_E8M0:  # the least power of two that is no smaller
            assert ideal <= of_blocks[index] < 2 * ideal or ideal == 0
        else:
            assert of_blocks[index] == nearest(scale_kind, ideal)
        for value, quantised in zip(values, got[part], strict=True):
            if of_blocks[index]:
                ratio = np.clip(value / of_blocks[index], -LARGEST[kind], LARGEST[kind])
                assert quantised == nearest(kind, ratio)
            else:
                assert quantised == 0


@everywhere()
def test_a_product_of_scaled_matrices(handle):
    """The workflow of NVFP4: both operands scaled back, multiplied, and the product quantised."""
    rng = np.random.default_rng(7)
    m, n, k, block = 5, 32, 48, 16
    g = cudnn.pygraph("product", D.HALF, D.FLOAT, D.FLOAT, handle)
    a, b = tensor(g, (1, m, k), (m * k, k, 1), D.FP4_E2M1), tensor(g, (1, k, n), (k * n, 1, k), D.FP4_E2M1)
    of_a = tensor(g, (1, 128, 4), (512, 4, 1), D.FP8_E4M3, True)
    of_b = tensor(g, (1, 4, 128), (512, 1, 4), D.FP8_E4M3, True)
    back_a = g.block_scale_dequantize(a, of_a, [1, block])
    back_b = g.block_scale_dequantize(b, of_b, [block, 1])
    c = g.matmul(back_a, back_b)
    y = g.identity(c).set_output(True).set_data_type(D.FLOAT)
    g.build(A)
    arrays = [codes(rng, D.FP4_E2M1, m * k // 2), codes(rng, D.FP4_E2M1, k * n // 2)]
    scales = [np.full(512, 0x38, np.uint8), np.full(512, 0x40, np.uint8)]  # 1 and 2
    out = np.full((1, m, n), np.nan, np.float32)
    g.execute({a: arrays[0], b: arrays[1], of_a: scales[0], of_b: scales[1], y: out})
    left = read(arrays[0], (m, k), (k, 1), D.FP4_E2M1)
    right = read(arrays[1], (k, n), (1, k), D.FP4_E2M1)
    np.testing.assert_array_equal(out[0], left @ right * 2)


def test_a_line_and_a_file_bring_the_graph_back():
    g = cudnn.pygraph("file", D.FLOAT, D.FLOAT, D.FLOAT, cudnn.create_handle("reference"))
    a = tensor(g, (1, 5, 32), (160, 32, 1), D.FP4_E2M1)
    b = tensor(g, (1, 128, 4), (512, 4, 1), D.FP8_E8M0, True)
    g.relu(g.block_scale_dequantize(a, b, [1, 8])).set_output(True)
    g.build(A)
    line = str(g._frozen)
    assert "X=e2m1:1x5x32" in line and "%F8_128x4" in line
    assert str(read_line(line)) == line
    other = cudnn.pygraph(handle=cudnn.create_handle("reference"))
    other.deserialize(g.serialize())
    assert str(other._frozen) == line


@everywhere()
def test_nibbles_of_two_blocks_in_a_byte(handle):
    """Work-items would write halves of one byte: the definition on the host computes it."""
    g = cudnn.pygraph("halves", D.FLOAT, D.FLOAT, D.FLOAT, handle)
    a = g.tensor(dim=[1, 4, 2], stride=[8, 2, 1])
    y, scale = g.block_scale_quantize(a, 4, 1)
    y.set_output(True).set_data_type(D.FP4_E2M1)
    scale.set_output(True).set_data_type(D.FP8_E8M0)
    g.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    memory, scales = np.zeros(4, np.uint8), np.zeros(2, np.uint8)
    x = np.array([[[6, 3], [-4, 1.5], [0.5, -3], [0, 12]]], np.float32)
    g.execute({a: x, y: memory, scale: scales})
    assert scales.tolist() == [127, 128]
    found = read(memory, (1, 4, 2), (8, 2, 1), D.FP4_E2M1) * [1, 2]
    np.testing.assert_array_equal(found, [[[6, 3], [-4, 2], [0.5, -3], [0, 12]]])


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -3e-39, 2.0**-126, 3e38]


@everywhere()
@pytest.mark.parametrize("kind", [D.FP8_E4M3, D.FP4_E2M1])
def test_the_scales_of_special_numbers(handle, kind):
    g = cudnn.pygraph("special", D.FLOAT, D.FLOAT, D.FLOAT, handle)
    x = np.array([[[value, 0.0] for value in SPECIAL]], np.float32)
    a = g.tensor_like(x)
    y, scale = g.block_scale_quantize(a, 2)
    y.set_output(True).set_data_type(kind)
    scale.set_output(True).set_data_type(D.FP8_E8M0)
    g.build(A)
    scales = np.zeros(len(SPECIAL), np.uint8)
    memory = np.zeros(2 * len(SPECIAL), np.uint8)
    g.execute({a: x.reshape(1, -1, 2), y: memory, scale: scales})
    top = math.ceil(math.log2(float(np.float32(3e38)) / LARGEST[kind])) + 127
    assert scales.tolist() == [255, 254, 254, 0, 0, 0, 0, 0, top]


def test_the_formats_are_those_of_ml_dtypes():
    values = np.concatenate([np.linspace(-8, 8, 1025), 2.0 ** np.linspace(-130, 128, 1000)])
    nibbles, powers = D.FP4_E2M1, D.FP8_E8M0
    small = values[np.abs(values) <= 6]
    want = small.astype(ml_dtypes.float4_e2m1fn).astype(np.float64)
    np.testing.assert_array_equal(nibbles.rounded(small), want)
    np.testing.assert_array_equal(nibbles.rounded([7, -1e9, np.inf, np.nan]), [6, -6, 6, 6])
    positive = values[(values >= 2.0**-126) & (values <= 2.0**127)].astype(np.float32)
    want = positive.astype(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    np.testing.assert_array_equal(powers.rounded(positive), want)


@everywhere()
def test_the_check_takes_block_scaling(handle):
    g = cudnn.pygraph("checked", D.FLOAT, D.FLOAT, D.FLOAT, handle)
    x = np.random.default_rng(8).standard_normal((1, 4, 32)).astype(np.float32)
    a, b = g.tensor_like(x), tensor(g, (1, 128, 4), (512, 4, 1), D.FP8_E8M0, True)
    c = tensor(g, (1, 4, 32), (128, 32, 1), D.FP4_E2M1)
    y, scale = g.block_scale_quantize(a, 16)
    y.set_output(True).set_data_type(D.FP4_E2M1)
    scale.set_output(True).set_data_type(D.FP8_E4M3).set_reordering_type(TILED)
    z = g.mul(g.block_scale_dequantize(c, b, [1, 8]), a).set_output(True)
    g.build(A)
    read_ones = {b: np.full(512, 127, np.uint8), c: np.full(64, 0x22, np.uint8)}  # 1 and 1
    out = np.zeros((1, 4, 32), np.float32)
    g.execute({a: x, **read_ones, y: np.zeros(64, np.uint8), scale: np.zeros(512, np.uint8), z: out}, check="reference")
    np.testing.assert_array_equal(out, x)


@everywhere()
def test_scales_that_nobody_reads(handle):
    """4 / 448, the largest magnitude by the largest number, rounds up to 1 / 64."""
    g = cudnn.pygraph("unread", D.FLOAT, D.FLOAT, D.FLOAT, handle)
    values = np.array([[1, 2, -3, 4]], np.float32)
    x = g.tensor_like(values)
    y, scale = g.block_scale_quantize(x, 4)
    y.set_output(True).set_data_type(D.FP8_E4M3)
    scale.set_data_type(D.FP8_E8M0)
    g.build()
    out = np.zeros((1, 4), np.uint8)
    g.execute({x: values, y: out})
    assert [TABLES[D.FP8_E4M3][byte] for byte in out[0]] == [64, 128, -192, 256]
