"""Philox4x32-10: the published vectors, NumPy's generator of the same family, and the kernels' header."""

from __future__ import annotations

import numpy as np
import pytest
from test_nvrtc import require_nvrtc
from where import open_handle

from portadnn_backends import kernel_text, philox
from portadnn_backends.cuda import device as cuda

# counter, key, words: "philox4x32 10" of the file kat_vectors that comes with Random123
KNOWN = (
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
)
LANES = 8
PROBE = """
#include "common/philox.h"
KERNEL WG_SIZE(1, 1, 1) scalar(TENSOR(const u32, counters), TENSOR(u32, out), const u32 key0, const u32 key1) {
    BIND(const u32, counters);
    BIND(u32, out);
    u32 words[4];
    UNROLL for (int j = 0; j < 4; ++j) words[j] = counters[GRP(0) * 4 + j];
    philox4x32(words, key0, key1);
    UNROLL for (int j = 0; j < 4; ++j) out[GRP(0) * 4 + j] = words[j];
}
#ifdef PHILOX_LANES
KERNEL WG_SIZE(1, 1, 1) lanes(TENSOR(const u32, counters), TENSOR(u32, out), const u32 key0, const u32 key1) {
    BIND(const u32, counters);
    BIND(u32, out);
    philox_lanes words[4];
    for (int l = 0; l < PHILOX_LANES; ++l)
        for (int j = 0; j < 4; ++j) ((u64 *)&words[j])[l] = counters[(GRP(0) * PHILOX_LANES + l) * 4 + j];
    philox4x32_lanes(words, key0, key1);
    for (int l = 0; l < PHILOX_LANES; ++l)
        for (int j = 0; j < 4; ++j) out[(GRP(0) * PHILOX_LANES + l) * 4 + j] = (u32)((u64 *)&words[j])[l];
}
#endif
"""


def words(text):
    return [int(word, 16) for word in text.split()]


def seed_of(key):
    low, high = words(key)
    return low | high << 32


def by_the_paper(counter, key, bits, multipliers, weyl):
    """Return Philox4x`bits`-10 of one counter in Python's integers, as the paper's figure has it."""
    mask = (1 << bits) - 1
    x, k = list(counter), list(key)
    for _ in range(10):
        high0, low0 = divmod(multipliers[0] * x[0], 1 << bits)
        high1, low1 = divmod(multipliers[1] * x[2], 1 << bits)
        x = [high1 ^ x[1] ^ k[0], low1, high0 ^ x[3] ^ k[1], low0]
        k = [(k[0] + weyl[0]) & mask, (k[1] + weyl[1]) & mask]
    return x


def assemble(dialect, monkeypatch, defines):
    read = kernel_text.read
    monkeypatch.setattr(kernel_text, "read", lambda file: PROBE if file == "shared/probe.cl" else read(file))
    kernel_text._expand.cache_clear()
    try:
        return kernel_text.assemble("shared/probe.cl", dialect, defines)
    finally:
        kernel_text._expand.cache_clear()


@pytest.mark.parametrize(("counter", "key", "want"), KNOWN)
def test_known_answers(counter, key, want):
    assert philox.philox4x32(words(counter), seed_of(key)).tolist() == words(want)


def test_same_family_as_numpy():
    """With 64-bit words and constants, the paper's round is NumPy's Philox; with 32-bit ones it is ours."""
    multipliers, weyl = (0xD2E7470EE14C6C93, 0xCA5A826395121157), (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
    counter, key = [5, 6, 7, 8], [1 << 63, 12345]
    theirs = np.random.Philox(counter=counter, key=key).random_raw(4).tolist()
    counter[0] += 1  # NumPy counts before it draws
    assert by_the_paper(counter, key, 64, multipliers, weyl) == theirs
    random = np.random.default_rng(1)
    for counter, key in zip(random.integers(0, 2**32, (9, 4)), random.integers(0, 2**32, (9, 2)), strict=True):
        counter, key = counter.tolist(), key.tolist()
        want = by_the_paper(counter, key, 32, philox.MULTIPLIERS, philox.WEYL)
        assert philox.philox4x32(counter, key[0] | key[1] << 32).tolist() == want


def test_elements():
    """Element i has word i % 4 of block i / 4; another draw or stream gives other words."""
    seed, draw = 0x0123456789ABCDEF, 0xFEDCBA9876543210
    got = philox.random_words(11, seed, draw, stream=7)
    for i in range(11):
        assert got[i] == philox.philox4x32([i // 4, 7, 0x76543210, 0xFEDCBA98], seed)[i % 4]
    draws = [philox.random_words(64, seed, d, s).tobytes() for d in (0, 1, 2**32) for s in (0, 1)]
    assert len(set(draws)) == len(draws)


def test_threshold():
    assert philox.threshold(0.0) == 0 and philox.threshold(1.0) == 2**32
    assert philox.keep_mask(1000, 0.0, 1, 2).all() and not philox.keep_mask(1000, 1.0, 1, 2).any()
    some, more = philox.keep_mask(1000, 0.3, 1, 2), philox.keep_mask(1000, 0.2, 1, 2)
    assert (some <= more).all() and some.sum() < more.sum()


def test_statistics():
    """Bits are even in every word and place, and neighbours, draws and streams are not correlated."""
    n = 1 << 16
    drawn = [philox.random_words(n, 99, d, s) for d, s in ((0, 0), (1, 0), (0, 1))]
    for some in drawn:
        ones = np.array([(some >> np.uint32(bit) & 1).sum() for bit in range(32)])
        assert np.abs(ones - n / 2).max() < 5 * np.sqrt(n / 4)
    uniform = [some / 2**32 - 0.5 for some in drawn]
    pairs = [(uniform[0], uniform[1]), (uniform[0], uniform[2]), *((u[:-k], u[k:]) for u in uniform for k in (1, 4))]
    for a, b in pairs:
        assert abs((a * b).sum()) < 5 * np.sqrt(a.size) / 12


def test_opencl(monkeypatch):
    """The header draws the same words, one by one and in the lanes of a vector."""
    import pyopencl as cl

    random = np.random.default_rng(2)
    counters = random.integers(0, 2**32, (5 * LANES, 4)).astype(np.uint32)
    counters[:3] = [words(counter) for counter, _, _ in KNOWN]
    with open_handle("opencl") as handle:
        queue = handle.get_stream()
        program = handle.device.compiler.build(assemble("opencl", monkeypatch, {"PHILOX_LANES": LANES}))
        source = cl.array.to_device(queue, counters)
        for seed in (0, 2**64 - 1, seed_of(KNOWN[2][1])):
            want = philox.philox4x32(counters, seed)
            for name, groups in (("scalar", len(counters)), ("lanes", len(counters) // LANES)):
                out = cl.array.zeros_like(source)
                tensors = (source.data, np.int64(0), out.data, np.int64(0))
                key = (np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32))
                cl.Kernel(program, name)(queue, (groups,), (1,), *tensors, *key)
                np.testing.assert_array_equal(out.get(), want, err_msg=name)


@pytest.mark.xdist_group("nvrtc")
def test_nvrtc(monkeypatch):
    """CUDA compiles the header."""
    require_nvrtc()
    cuda.compile_cubin(assemble("cuda", monkeypatch, {}), "sm_90")
