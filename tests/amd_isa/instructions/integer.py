"""Vector instructions on integers.

Source: AMD, "RDNA3" and "CDNA3 Instruction Set Architecture" reference guides, section "VALU instructions".
"""

from __future__ import annotations

import functools

import numpy as np

from .cases import ITEMS, vector

U32, I32, U64, I64, U16, I16 = np.uint32, np.int32, np.uint64, np.int64, np.uint16, np.int16
GFX9, GFX11 = ("gfx942",), ("gfx1100",)
E64 = "{m}_e64 {d}, {a}, {b}"


def clip_range(dtype):
    """Return the least and the largest number of a type."""
    return np.iinfo(dtype).min, np.iinfo(dtype).max


def low(x, bits=32):
    """Return the lower bits of Python's integers."""
    return np.array([int(v) & ((1 << bits) - 1) for v in x], {32: U32, 64: U64, 16: U16}[bits])


def big(x):
    """Return Python's integers, which do not overflow."""
    return np.asarray(x).astype(object)


def bitfield(x, start, width, is_signed):
    """Return `width` bits from `start` on; at most 31 are asked for."""
    start, width = int(start) & 31, int(width) & 31
    part = (int(x) >> start) & ((1 << width) - 1)
    have = min(width, 32 - start)
    return part - (1 << have) if is_signed and have and part >> (have - 1) & 1 else part


def bytes_of(a, b, select):
    """Return the permutation of the eight bytes of a and b."""
    number, result = int(a) << 32 | int(b), 0
    for i in range(4):
        s = int(select) >> 8 * i & 255
        signs = {8: 1, 9: 3, 10: 5, 11: 7}
        byte = (
            number >> 8 * s & 255 if s < 8 else 255 * (number >> (8 * signs[s] + 7) & 1) if s < 12 else 255 * (s > 12)
        )
        result |= byte << 8 * i
    return result


def each(function):
    """Return a function of arrays from one of numbers, as 32 bits."""
    return lambda *arrays: low([function(*map(int, row)) for row in zip(*arrays, strict=True)])


def bits24(x, is_signed=False):
    x = int(x) & 0xFFFFFF
    return x - (x >> 23 << 24) if is_signed else x


def first_one(x, from_top=False):
    x = int(x)
    return -1 if x == 0 else 32 - x.bit_length() if from_top else (x & -x).bit_length() - 1


def name9(new, old):
    """Yield gfx11's and gfx9's name with their targets."""
    return ((new, GFX11), (old, GFX9))


def near_carries(a, b):
    """Take pairs whose sum or difference leaves 32 bits by what is carried in alone, among others."""
    i = np.arange(len(a)) % 4
    return [a, np.where(i == 0, ~a, np.where(i == 1, a, b))]


def carry(function, a, b, carried=0):
    """Return the low 32 bits of a sum or difference, and whether it leaves them."""
    exact = function(big(a), big(b)) + carried
    return low(exact), np.array([not 0 <= x < 1 << 32 for x in exact])


for operation, function in (
    ("add", lambda a, b: a + b),
    ("sub", lambda a, b: a - b),
    ("subrev", lambda a, b: b - a),
):
    for mnemonic, targets in name9(f"v_{operation}_nc_u32", f"v_{operation}_u32"):
        vector(mnemonic, "u32 u32 -> u32", function, targets=targets)
    vector(
        f"v_{operation}_co_u32",
        "u32 u32 -> u32 mask",
        lambda a, b, f=function: carry(f, a, b),
        text="{m} {d}, {t}, {a}, {b}",
    )
    infix = {"add": "addc", "sub": "subb", "subrev": "subbrev"}[operation]
    for mnemonic, targets in name9(f"v_{operation}_co_ci_u32", f"v_{infix}_co_u32"):
        vector(
            mnemonic,
            "u32 u32 mask -> u32 mask",
            lambda a, b, c, f=function, o=operation: carry(f, a, b, big(c.astype(int)) * (1 if o == "add" else -1)),
            text="{m} {d}, {t}, {a}, {b}, {s}",
            given=near_carries,
            targets=targets,
        )


for operation, function in (
    ("and_b32", lambda a, b: a & b),
    ("or_b32", lambda a, b: a | b),
    ("xor_b32", lambda a, b: a ^ b),
    ("xnor_b32", lambda a, b: ~(a ^ b)),
    ("lshlrev_b32", lambda a, b: b << (a & U32(31))),
    ("lshrrev_b32", lambda a, b: b >> (a & U32(31))),
    ("min_u32", np.minimum),
    ("max_u32", np.maximum),
):
    vector(f"v_{operation}", "u32 u32 -> u32", function)
    vector(f"v_{operation}", "u32 u32 -> u32", function, text=E64, name=f"v_{operation} e64")
vector("v_ashrrev_i32", "u32 i32 -> i32", lambda a, b: b >> (a & U32(31)).astype(I32))
vector("v_min_i32", "i32 i32 -> i32", np.minimum)
vector("v_max_i32", "i32 i32 -> i32", np.maximum)
vector("v_not_b32", "u32 -> u32", lambda a: ~a)
vector("v_bfrev_b32", "u32 -> u32", each(lambda a: int(f"{a:032b}"[::-1], 2)))
for (new, old), top in ((("v_ctz_i32_b32", "v_ffbl_b32"), False), (("v_clz_i32_u32", "v_ffbh_u32"), True)):
    for mnemonic, targets in name9(new, old):
        vector(mnemonic, "u32 -> i32", lambda a, t=top: np.array([first_one(x, t) for x in a], I32), targets=targets)
for mnemonic, targets in name9("v_cls_i32", "v_ffbh_i32"):
    vector(
        mnemonic,
        "i32 -> i32",
        lambda a: np.array([next((i for i in range(1, 32) if (x >> (31 - i)) & 1 != (x < 0)), -1) for x in a], I32),
        targets=targets,
    )
for kind in ("u32", "i32"):
    suffix = "_e64" if kind == "u32" else ""
    for operation, sign in (("add", 1), ("sub", -1)):
        for mnemonic, targets in name9(f"v_{operation}_nc_{kind}", f"v_{operation}_{kind}"):
            vector(
                mnemonic,
                f"{kind} {kind} -> {kind}",
                lambda a, b, s=sign: np.clip(a.astype(I64) + s * b.astype(I64), *clip_range(a.dtype)).astype(a.dtype),
                text=f"{{m}}{suffix} {{d}}, {{a}}, {{b}} clamp",
                name=f"{mnemonic} clamp",
                targets=targets,
            )
vector("v_bcnt_u32_b32", "u32 u32 -> u32", each(lambda a, b: a.bit_count() + b), text=E64)
vector("v_mul_lo_u32", "u32 u32 -> u32", lambda a, b: a * b)
vector("v_mul_hi_u32", "u32 u32 -> u32", each(lambda a, b: a * b >> 32))
vector("v_mul_hi_i32", "i32 i32 -> u32", each(lambda a, b: a * b >> 32))
vector("v_mul_u32_u24", "u32 u32 -> u32", each(lambda a, b: bits24(a) * bits24(b)))
vector("v_mul_hi_u32_u24", "u32 u32 -> u32", each(lambda a, b: bits24(a) * bits24(b) >> 32))
vector("v_mul_i32_i24", "u32 u32 -> u32", each(lambda a, b: bits24(a, True) * bits24(b, True)))
vector("v_mul_hi_i32_i24", "u32 u32 -> u32", each(lambda a, b: bits24(a, True) * bits24(b, True) >> 32))
vector("v_mad_u32_u24", "u32 u32 u32 -> u32", each(lambda a, b, c: bits24(a) * bits24(b) + c))
vector("v_mad_i32_i24", "u32 u32 u32 -> u32", each(lambda a, b, c: bits24(a, True) * bits24(b, True) + c))
for operation, function in (
    ("add3_u32", lambda a, b, c: a + b + c),
    ("lshl_add_u32", lambda a, b, c: (a << (b & 31)) + c),
    ("add_lshl_u32", lambda a, b, c: (a + b) << (c & 31)),
    ("lshl_or_b32", lambda a, b, c: (a << (b & 31)) | c),
    ("and_or_b32", lambda a, b, c: (a & b) | c),
    ("or3_b32", lambda a, b, c: a | b | c),
    ("xad_u32", lambda a, b, c: (a ^ b) + c),
    ("bfi_b32", lambda a, b, c: (a & b) | (~a & c)),
    ("bfe_u32", lambda a, b, c: bitfield(a, b, c, False)),
    ("bfe_i32", lambda a, b, c: bitfield(a, b, c, True)),
    ("alignbit_b32", lambda a, b, c: (a << 32 | b) >> (c & 31)),
    ("alignbyte_b32", lambda a, b, c: (a << 32 | b) >> 8 * (c & 3)),
    ("min3_u32", min),
    ("max3_u32", max),
    ("med3_u32", lambda *x: sorted(x)[1]),
    ("sad_u32", lambda a, b, c: abs(a - b) + c),
):
    vector(f"v_{operation}", "u32 u32 u32 -> u32", each(function))
vector("v_xor3_b32", "u32 u32 u32 -> u32", lambda a, b, c: a ^ b ^ c, targets=GFX11)
vector(
    "v_perm_b32",
    "u32 u32 u32 -> u32",
    each(bytes_of),
    given=lambda a, b, c: [a, b, c % U32(1 << 28) & U32(0x0F0F0F0F)],
)
for operation, function in (("min3_i32", min), ("max3_i32", max), ("med3_i32", lambda *x: sorted(x)[1])):
    vector(f"v_{operation}", "i32 i32 i32 -> u32", each(function))
vector("v_bfm_b32", "u32 u32 -> u32", each(lambda a, b: ((1 << (a & 31)) - 1) << (b & 31)))
vector(
    "v_lshl_add_u64",
    "u64 u32 u64 -> u64",
    lambda a, b, c: low((big(a) << big(b)) + big(c), 64),
    targets=GFX9,
    given=lambda a, b, c: [a, b % U32(5), c],
)
for operation, function in (
    ("lshlrev_b64", lambda a, b: low(big(b) << big(a & U32(63)), 64)),
    ("lshrrev_b64", lambda a, b: low(big(b) >> big(a & U32(63)), 64)),
):
    vector(f"v_{operation}", "u32 u64 -> u64", function)
vector("v_ashrrev_i64", "u32 i64 -> u64", lambda a, b: low(big(b) >> big(a & U32(63)), 64))


def mad64(kind):
    """Return the low 64 bits of a b + c, and whether the sum leaves them."""
    limits = np.iinfo(kind)

    def function(a, b, c):
        exact = big(a) * big(b) + big(c)
        return low(exact, 64), np.array([not limits.min <= x <= limits.max for x in exact])

    return function


vector("v_mad_u64_u32", "u32 u32 u64 -> u64 mask", mad64(U64), text="{m} {d}, {t}, {a}, {b}, {c}")
vector("v_mad_i64_i32", "i32 i32 i64 -> u64 mask", mad64(I64), text="{m} {d}, {t}, {a}, {b}, {c}")

# 16 bits
for new, old, function in (
    ("v_add_nc_u16", "v_add_u16", lambda a, b: a + b),
    ("v_sub_nc_u16", "v_sub_u16", lambda a, b: a - b),
    ("v_mul_lo_u16", "v_mul_lo_u16", lambda a, b: a * b),
    ("v_lshlrev_b16", "v_lshlrev_b16", lambda a, b: b << (a & U16(15))),
    ("v_lshrrev_b16", "v_lshrrev_b16", lambda a, b: b >> (a & U16(15))),
    ("v_min_u16", "v_min_u16", np.minimum),
    ("v_max_u16", "v_max_u16", np.maximum),
):
    for mnemonic, targets in name9(new, old):
        vector(mnemonic, "u16 u16 -> u16", function, targets=targets)
vector("v_subrev_u16", "u16 u16 -> u16", lambda a, b: b - a, targets=GFX9)
vector("v_ashrrev_i16", "u16 i16 -> i16", lambda a, b: b >> (a & U16(15)).astype(I16))
vector("v_min_i16", "i16 i16 -> i16", np.minimum)
vector("v_max_i16", "i16 i16 -> i16", np.maximum)
vector("v_mad_u16", "u16 u16 u16 -> u16", lambda a, b, c: a * b + c, targets=GFX11)
vector("v_mad_legacy_u16", "u16 u16 u16 -> u16", lambda a, b, c: a * b + c, targets=GFX9)
for operation, function in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)):
    vector(f"v_{operation}_b16", "u16 u16 -> u16", function, targets=GFX11)
vector("v_not_b16", "u16 -> u16", lambda a: ~a, targets=GFX11)
vector("v_mov_b16", "u16 -> u16", lambda a: a, targets=GFX11)

# moves and selections
vector("v_mov_b32", "u32 -> u32", lambda a: a)
vector("v_mov_b64", "u64 -> u64", lambda a: a, targets=GFX9)
vector("v_cndmask_b32", "u32 u32 mask -> u32", lambda a, b, m: np.where(m, b, a), text="{m} {d}, {a}, {b}, {s}")
vector(
    "v_cndmask_b16",
    "u16 u16 mask -> u16",
    lambda a, b, m: np.where(m, b, a),
    text="{m} {d}, {a}, {b}, {s}",
    targets=GFX11,
)


def counted(mask, added, lanes):
    """Return the number of bits of a mask below a lane, and what is added."""
    return low([(int(x) & ((1 << n) - 1)).bit_count() + int(y) for x, y, n in zip(mask, added, lanes, strict=True)])


for width, targets in ((32, GFX11), (64, GFX9)):
    lane = np.arange(ITEMS) % width
    for half, below in (("lo", np.minimum(lane, 32)), ("hi", np.maximum(lane - 32, 0))):
        function = functools.partial(counted, lanes=below)
        vector(f"v_mbcnt_{half}_u32_b32", "u32 u32 -> u32", function, text=E64, targets=targets)

for new, old, function in (
    ("v_add_nc_i32", "v_add_i32", lambda a, b: a + b),
    ("v_sub_nc_i32", "v_sub_i32", lambda a, b: a - b),
):
    for mnemonic, targets in name9(new, old):
        vector(mnemonic, "u32 u32 -> u32", function, targets=targets)
ACCUMULATORS = "v_accvgpr_write_b32 a7, {a}\nv_accvgpr_mov_b32 a200, a7\nv_accvgpr_read_b32 {d}, a200"
vector("v_accvgpr_read_b32", "u32 -> u32", lambda a: a, text=ACCUMULATORS, targets=GFX9)
vector("v_swap_b32", "u32 du32 -> u32", lambda a, d: a - d, text="{m} {a}, v8\nv_sub_nc_u32 v8, v8, {a}", targets=GFX11)
vector("v_swap_b32", "u32 du32 -> u32", lambda a, d: a - d, text="{m} {a}, v8\nv_sub_u32 v8, v8, {a}", targets=GFX9)


def saturated(function, kind):
    """Return sums or differences that stay within a type."""
    limits = np.iinfo(kind)
    return lambda a, b: np.array([min(max(x, limits.min), limits.max) for x in function(big(a), big(b))]).astype(kind)


for new, old, kind in (
    ("v_add_nc_i16", "v_add_i16", I16),
    ("v_sub_nc_i16", "v_sub_i16", I16),
    ("v_add_nc_u16", "v_add_u16", U16),
    ("v_sub_nc_u16", "v_sub_u16", U16),
    ("v_add_nc_i32", "v_add_i32", I32),
    ("v_sub_nc_i32", "v_sub_i32", I32),
    ("v_add_nc_u32", "v_add_u32", U32),
    ("v_sub_nc_u32", "v_sub_u32", U32),
):
    function = np.add if "add" in new else np.subtract
    name = new.rpartition("_")[2]
    for mnemonic, targets in name9(new, old):
        e64 = "_e64" if name[0] == "u" else ""
        text = f"{{m}}{e64} {{d}}, {{a}}, {{b}} clamp"
        clamped = saturated(function, kind)
        vector(mnemonic, f"{name} {name} -> {name}", clamped, text=text, name=f"{mnemonic} clamp", targets=targets)
    if name == "i16":
        for mnemonic, targets in name9(new, old):
            vector(mnemonic, "i16 i16 -> i16", function, targets=targets)
