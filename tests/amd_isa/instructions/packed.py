"""Packed and mixed math, dot products, conversions of pairs. Source: the guides' section "VOP3P instructions"."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .cases import vector
from .exact import bf16, fma, least, most, rounded
from .floats import F16, F32, clamped
from .integer import GFX9, GFX11, I16, I32, U16, U32, U64, big, low

BOTH = GFX11 + GFX9


def parts(dtype, bits=16):
    """Return a function that takes words apart, the lowest part first."""

    def apart(x):
        pieces = [
            x >> x.dtype.type(bits * i) & x.dtype.type((1 << bits) - 1) for i in range(x.dtype.itemsize * 8 // bits)
        ]
        return [piece.astype(f"u{bits // 8}").view(dtype) for piece in pieces]

    return apart


def joined(pieces):
    """Return words from their parts."""
    bits = pieces[0].dtype.itemsize * 8
    word = U32 if bits * len(pieces) == 32 else U64
    return sum(piece.view(f"u{bits // 8}").astype(word) << word(bits * i) for i, piece in enumerate(pieces))


def packed(mnemonic, dtype, sources, function, targets=BOTH, **more):
    """Register a packed operation, plain and with halves that op_sel chooses."""
    word = "u64" if dtype is F32 else "u32"
    apart = parts(dtype, 32 if dtype is F32 else 16)

    def plain(*words):
        x = [apart(v) for v in words]
        return joined([np.asarray(function(*(v[i] for v in x))).astype(dtype) for i in range(2)])

    def turned(*words):  # lower result: upper half of the first source; upper result: lower half of the last
        x = [apart(v) for v in words]
        lower = function(x[0][1], *(v[0] for v in x[1:]))
        upper = function(*(v[1] for v in x[:-1]), x[-1][0])
        return joined([np.asarray(y).astype(dtype) for y in (lower, upper)])

    signature = f"{' '.join([word] * sources)} -> {word}"
    ones, zeros = ["1"] * sources, ["0"] * sources
    selects = f" op_sel:[{','.join(['1', *zeros[1:]])}] op_sel_hi:[{','.join([*ones[1:], '0'])}]"
    operands = "{m} {d}, " + ", ".join("{" + x + "}" for x in "abc"[:sources])
    vector(mnemonic, signature, plain, targets=targets, text=operands, **more)
    vector(mnemonic, signature, turned, targets=targets, text=operands + selects, name=f"{mnemonic} op_sel", **more)
    if dtype in (F16, F32):
        signs = f" neg_lo:[{','.join(['1', *zeros[1:]])}] neg_hi:[{','.join([*zeros[1:], '1'])}]"

        def negated(*words):
            x = [apart(v) for v in words]
            x[0][0], x[-1][1] = -x[0][0], -x[-1][1]
            return joined([np.asarray(function(*(v[i] for v in x))).astype(dtype) for i in range(2)])

        vector(mnemonic, signature, negated, targets=targets, text=operands + signs, name=f"{mnemonic} neg", **more)


def finite(dtype):
    """Return what takes words whose parts are numbers, so that no NaN's bits have to agree."""
    apart = parts(dtype, 32 if dtype is F32 else 16)

    def take(*words):
        limit = dtype(1e4 if dtype is F32 else 100)
        return [joined([np.where(np.abs(p) < limit, p, dtype(1.5)).astype(dtype) for p in apart(w)]) for w in words]

    return take


for dtype, name in ((F16, "f16"), (F32, "f32")):
    targets = BOTH if dtype is F16 else GFX9
    for operation, sources, function in (("add", 2, np.add), ("mul", 2, np.multiply), ("fma", 3, fma)):
        packed(f"v_pk_{operation}_{name}", dtype, sources, function, targets, given=finite(dtype))
packed("v_pk_min_f16", F16, 2, least, given=finite(F16))
packed("v_pk_max_f16", F16, 2, most, given=finite(F16))
packed("v_pk_add_u16", U16, 2, np.add)
packed("v_pk_sub_u16", U16, 2, np.subtract)
packed("v_pk_add_i16", I16, 2, np.add)
packed("v_pk_sub_i16", I16, 2, np.subtract)
packed("v_pk_mul_lo_u16", U16, 2, np.multiply)
packed("v_pk_mad_u16", U16, 3, lambda a, b, c: a * b + c)
packed("v_pk_mad_i16", I16, 3, lambda a, b, c: a * b + c)
for kind, dtype in (("u16", U16), ("i16", I16)):
    packed(f"v_pk_min_{kind}", dtype, 2, np.minimum)
    packed(f"v_pk_max_{kind}", dtype, 2, np.maximum)
packed("v_pk_lshlrev_b16", U16, 2, lambda a, b: b << (a & U16(15)))
packed("v_pk_lshrrev_b16", U16, 2, lambda a, b: b >> (a & U16(15)))
packed("v_pk_ashrrev_i16", I16, 2, lambda a, b: b >> (a & I16(15)))
vector(
    "v_pk_mov_b32",
    "u64 u64 -> u64",
    lambda a, b: a >> U64(32) | b << U64(32),
    text="{m} {d}, {a}, {b} op_sel:[1,0]",
    targets=GFX9,
)
vector(
    "v_pk_add_f16",
    "u32 u32 -> u32",
    lambda a, b: joined([clamped(x + y) for x, y in zip(parts(F16)(a), parts(F16)(b), strict=True)]),
    text="{m} {d}, {a}, {b} clamp",
    name="v_pk_add_f16 clamp",
    given=finite(F16),
)
vector(
    "v_pk_fma_f32",
    "u64 u64 -> u64",
    lambda a, b: joined([x * y + F32(1) for x, y in zip(parts(F32, 32)(a), parts(F32, 32)(b), strict=True)]),
    text="v_pk_mul_f32 {d}, {a}, {b}\nv_pk_add_f32 {d}, {d}, 1.0 op_sel_hi:[1,0]",
    name="v_pk_add_f32 constant",
    targets=GFX9,
    given=finite(F32),
)


def mixed(selects, halves, negated=False):
    """Return a b + c of sources that are floats, or halves where `halves` says; `selects` chooses the upper ones."""

    def function(*words):
        x = []
        for word, select, half in zip(words, selects, halves, strict=True):
            x.append(parts(F16)(word)[select].astype(F32) if half else word.view(F32))
        return fma(-x[0] if negated else x[0], *x[1:])

    return function


def usual(*words):
    """Take floats and halves that are numbers of moderate size."""
    random = np.random.default_rng(9)
    made = []
    for word in words:
        numbers = random.normal(size=len(word)).astype(F32)
        pair = joined([random.normal(size=len(word)).astype(F16) for _ in range(2)])
        made.append(np.where(np.arange(len(word)) % 2, numbers.view(U32), pair))
    return made


MIX = "{m} {d}, {n}{a}, {b}, {c} op_sel:[%d,%d,%d] op_sel_hi:[%d,%d,%d]"
for selects, halves in (((0, 0, 0), (1, 1, 0)), ((1, 0, 1), (1, 1, 1)), ((0, 1, 0), (0, 1, 0)), ((0, 0, 0), (0, 0, 0))):
    for negated in (False, True):
        text = (MIX % (*selects, *halves)).replace("{n}", "-" * negated)
        label = f"{selects}{halves}{'-' * negated}"
        function = mixed(selects, halves, negated)
        vector("v_fma_mix_f32", "u32 u32 u32 -> f32", function, text=text, name=f"v_fma_mix_f32 {label}", given=usual)
        for half, place in (("lo", 0), ("hi", 16)):

            def into_half(a, b, c, d, f=function, place=place):
                result = f(a, b, c).astype(F16).view(U16).astype(U32)
                return d & ~(U32(0xFFFF) << U32(place)) | result << U32(place)

            vector(
                f"v_fma_mix{half}_f16",
                "u32 u32 u32 du32 -> u32",
                into_half,
                text=text,
                name=f"v_fma_mix{half}_f16 {label}",
                given=lambda a, b, c, d: [*usual(a, b, c), d],
                halves=False,
            )


def dot(dtype, bits, wrap=False):
    """Return the sum of products of the parts of two words and a third number."""
    apart = parts(dtype, bits)

    def function(a, b, c):
        x, y = apart(a), apart(b)
        if wrap:
            return low(sum(big(p) * big(q) for p, q in zip(x, y, strict=True)) + big(c))
        return sum(p.astype(float) * q for p, q in zip(x, y, strict=True)) + c

    return function


def nibbles(signed):
    def function(a, b, c):
        pieces = [[(x >> U32(4 * i) & U32(15)).astype(int) for i in range(8)] for x in (a, b)]
        if signed:
            pieces = [[p - 16 * (p > 7) for p in x] for x in pieces]
        return low(sum(p * q for p, q in zip(*pieces, strict=True)).astype(object) + big(c))

    return function


def halves_of_few_bits(a, b, c):
    """Take halves whose products and sums are exact."""
    random = np.random.default_rng(4)
    made = [joined([random.integers(-8, 8, len(a)).astype(F16) for _ in range(2)]) for _ in range(2)]
    return [*made, random.integers(-99, 99, len(a)).astype(c.dtype)]


def upper_floats(a, b, c):
    """Take bf16 whose products and sums are exact."""
    random = np.random.default_rng(4)
    words = [[random.integers(-8, 8, len(a)).astype(F32).view(U32) >> U32(16) for _ in range(2)] for _ in range(2)]
    return [*(x | y << U32(16) for x, y in words), random.integers(-99, 99, len(a)).astype(F32)]


vector("v_dot2_f32_f16", "u32 u32 f32 -> f32", dot(F16, 16), given=halves_of_few_bits)
vector("v_dot2c_f32_f16", "u32 u32 df32 -> f32", dot(F16, 16), given=halves_of_few_bits, targets=GFX9)
vector(
    "v_dot2_f32_bf16",
    "u32 u32 f32 -> f32",
    lambda a, b, c: sum(bf16(x) * bf16(y) for x, y in zip(parts(U16)(a), parts(U16)(b), strict=True)) + c,
    given=upper_floats,
    targets=GFX11,
)
vector("v_dot2_i32_i16", "u32 u32 i32 -> u32", dot(I16, 16, True), targets=GFX9)
vector("v_dot2_u32_u16", "u32 u32 u32 -> u32", dot(U16, 16, True), targets=GFX9)
vector("v_dot4_i32_i8", "u32 u32 i32 -> u32", dot(np.int8, 8, True), targets=GFX9)
vector("v_dot4_u32_u8", "u32 u32 u32 -> u32", dot(np.uint8, 8, True))
vector("v_dot8_i32_i4", "u32 u32 i32 -> u32", nibbles(True), targets=GFX9)
vector("v_dot8_u32_u4", "u32 u32 u32 -> u32", nibbles(False))
SIGNED = "{m} {d}, {a}, {b}, {c} neg_lo:[1,1,0]"
vector("v_dot4_i32_iu8", "u32 u32 i32 -> u32", dot(np.int8, 8, True), text=SIGNED, targets=GFX11)
vector("v_dot4_i32_iu8", "u32 u32 i32 -> u32", dot(np.uint8, 8, True), name="v_dot4_i32_iu8 unsigned", targets=GFX11)
vector("v_dot8_i32_iu4", "u32 u32 i32 -> u32", nibbles(True), text=SIGNED, targets=GFX11)

# pairs
vector(
    "v_pack_b32_f16",
    "u16 u16 -> u32",
    lambda a, b: joined([a, b]),
    given=lambda a, b: [a % U16(0x7C00), b % U16(0x7C00)],
)


def towards_zero(x):
    plain = [F16(v) if not np.isfinite(v) or v == 0 else rounded(Fraction(float(v)), F16, True) for v in x]
    return np.copysign(np.array(plain, F16), x).astype(F16)


numbers = {"given": lambda a, b: [np.where(np.isnan(x), F32(1), x) for x in (a, b)]}
for mnemonic, targets in (("v_cvt_pk_rtz_f16_f32", GFX11), ("v_cvt_pkrtz_f16_f32", GFX9)):
    vector(
        mnemonic, "f32 f32 -> u32", lambda a, b: joined([towards_zero(a), towards_zero(b)]), targets=targets, **numbers
    )
for letter, least_, scale in (("i", -1, 32767), ("u", 0, 65535)):

    def norm(a, b, least_=least_, scale=scale):
        pieces = [np.rint(np.clip(x, least_, 1) * F32(scale)).astype(I32).astype(U16) for x in (a, b)]
        return joined(pieces)

    for mnemonic, targets in ((f"v_cvt_pk_norm_{letter}16_f32", GFX11), (f"v_cvt_pknorm_{letter}16_f32", GFX9)):
        vector(mnemonic, "f32 f32 -> u32", norm, targets=targets, **numbers)
vector(
    "v_cvt_pk_i16_i32", "i32 i32 -> u32", lambda a, b: joined([np.clip(x, -32768, 32767).astype(I16) for x in (a, b)])
)
vector(
    "v_cvt_pk_u16_u32", "u32 u32 -> u32", lambda a, b: joined([np.minimum(x, U32(65535)).astype(U16) for x in (a, b)])
)

# sums with the old result, and in halves
vector("v_dot2c_i32_i16", "u32 u32 di32 -> u32", dot(I16, 16, True), targets=GFX9)
vector("v_dot4c_i32_i8", "u32 u32 di32 -> u32", dot(np.int8, 8, True), targets=GFX9)
vector("v_dot8c_i32_i4", "u32 u32 di32 -> u32", nibbles(True), targets=GFX9)
vector(
    "v_dot2_f16_f16",
    "u32 u32 f16 -> f16",
    lambda a, b, c: dot(F16, 16)(a, b, c).astype(F16),
    given=halves_of_few_bits,
    targets=GFX11,
)
