"""Scalar instructions. Source: the guides' section "Scalar ALU instructions"."""

from __future__ import annotations

import functools

import numpy as np

from .assembly import Snippet, wave
from .cases import Case, add, scalar, values
from .integer import GFX9, GFX11, I32, U32, U64, big, first_one, low, near_carries

pairs = functools.partial(zip, strict=True)


def nonzero(function):
    """Return a function whose SCC says that the result is not 0."""

    def with_scc(*arrays):
        result = function(*arrays)
        return result, result != 0

    return with_scc


def unsigned(function):
    """Return a function on integers without limits whose SCC says that the result leaves 32 bits."""

    def with_scc(*arrays):
        exact = function(*map(big, arrays))
        return low(exact), [not 0 <= x < 1 << 32 for x in exact]

    return with_scc


def signed(function):
    def with_scc(*arrays):
        exact = function(*map(big, arrays))
        return low(exact), [not -(1 << 31) <= x < 1 << 31 for x in exact]

    return with_scc


for bits, kind in ((32, "u32"), (64, "u64")):
    for operation, function in (
        ("and", lambda a, b: a & b),
        ("or", lambda a, b: a | b),
        ("xor", lambda a, b: a ^ b),
        ("nand", lambda a, b: ~(a & b)),
        ("nor", lambda a, b: ~(a | b)),
        ("xnor", lambda a, b: ~(a ^ b)),
    ):
        scalar(f"s_{operation}_b{bits}", f"{kind} {kind} -> {kind}", nonzero(function))
    for operation, function in (("and", lambda a, b: a & ~b), ("or", lambda a, b: a | ~b)):
        scalar(f"s_{operation}_not1_b{bits}", f"{kind} {kind} -> {kind}", nonzero(function), targets=GFX11)
        scalar(f"s_{operation}n2_b{bits}", f"{kind} {kind} -> {kind}", nonzero(function), targets=GFX9)
    scalar(f"s_not_b{bits}", f"{kind} -> {kind}", nonzero(lambda a: ~a))
    scalar(f"s_mov_b{bits}", f"{kind} -> {kind}", lambda a: a)
    scalar(f"s_cselect_b{bits}", f"scc {kind} {kind} -> {kind}", lambda c, a, b: np.where(c, a, b))
    scalar(f"s_cmov_b{bits}", f"scc {kind} d{kind} -> {kind}", lambda c, a, d: np.where(c, a, d), text="{m} {d}, {a}")
    one = U64(1) if bits == 64 else U32(1)
    place = functools.partial(lambda a, last: a & U32(last), last=bits - 1)
    scalar(
        f"s_bitset0_b{bits}",
        f"u32 d{kind} -> {kind}",
        lambda a, d, o=one, p=place: d & ~(o << p(a)),
        text="{m} {d}, {a}",
    )
    scalar(
        f"s_bitset1_b{bits}",
        f"u32 d{kind} -> {kind}",
        lambda a, d, o=one, p=place: d | (o << p(a)),
        text="{m} {d}, {a}",
    )
    scalar(f"s_bcnt1_i32_b{bits}", f"{kind} -> u32", nonzero(lambda a: np.array([int(x).bit_count() for x in a])))
    scalar(
        f"s_bcnt0_i32_b{bits}",
        f"{kind} -> u32",
        nonzero(lambda a, n=bits: np.array([n - int(x).bit_count() for x in a])),
    )
    scalar(f"s_lshl_b{bits}", f"{kind} u32 -> {kind}", nonzero(lambda a, b, n=bits: low(big(a) << big(b % U32(n)), n)))
    scalar(f"s_lshr_b{bits}", f"{kind} u32 -> {kind}", nonzero(lambda a, b, n=bits: low(big(a) >> big(b % U32(n)), n)))
    scalar(f"s_ashr_i{bits}", f"i{bits} u32 -> {kind}", nonzero(lambda a, b, n=bits: low(big(a) >> big(b % U32(n)), n)))
    scalar(
        f"s_bfm_b{bits}",
        f"u32 u32 -> {kind}",
        lambda a, b, n=bits: low([((1 << int(x) % n) - 1) << int(y) % n for x, y in pairs(a, b)], n),
    )


def field(bits, is_signed):
    """Return the bitfield that bits 4:0 (5:0) and 22:16 of the second source choose."""

    def one(x, control):
        start, width = control % bits, control >> 16 & 127
        width = min(width, bits - start)
        part = (x >> start) & ((1 << width) - 1)
        return part - (1 << width) if is_signed and width and part >> (width - 1) & 1 else part

    return nonzero(lambda a, b: low([one(int(x) & ((1 << bits) - 1), int(y)) for x, y in zip(a, b, strict=True)], bits))


def controls(a, b):
    return [a, (b & U32(63)) | (np.roll(b, 3) % U32(66)) << U32(16)]


for bits in (32, 64):
    for letter in "ui":
        function = field(bits, letter == "i")
        scalar(f"s_bfe_{letter}{bits}", f"{letter}{bits} u32 -> u{bits}", function, given=controls)
for new, old, kind, function in (
    ("s_ctz_i32_b32", "s_ff1_i32_b32", "u32", first_one),
    ("s_ctz_i32_b64", "s_ff1_i32_b64", "u64", first_one),
    ("s_clz_i32_u32", "s_flbit_i32_b32", "u32", lambda x: first_one(x, True)),
    ("s_clz_i32_u64", "s_flbit_i32_b64", "u64", lambda x: -1 if not x else 64 - int(x).bit_length()),
):
    for name, targets in ((new, GFX11), (old, GFX9)):
        scalar(name, f"{kind} -> i32", lambda a, f=function: np.array([f(x) for x in a], I32), targets=targets)
scalar("s_brev_b32", "u32 -> u32", lambda a: low([int(f"{int(x):032b}"[::-1], 2) for x in a]))
scalar("s_abs_i32", "i32 -> u32", nonzero(lambda a: low([abs(int(x)) for x in a])))
scalar("s_sext_i32_i8", "u32 -> i32", lambda a: a.astype(np.int8).astype(I32))
scalar("s_sext_i32_i16", "u32 -> i32", lambda a: a.astype(np.int16).astype(I32))
scalar("s_add_u32", "u32 u32 -> u32", unsigned(lambda a, b: a + b))
scalar("s_sub_u32", "u32 u32 -> u32", unsigned(lambda a, b: a - b))
scalar("s_addc_u32", "scc u32 u32 -> u32", unsigned(lambda c, a, b: a + b + c), given=near_carries)
scalar("s_subb_u32", "scc u32 u32 -> u32", unsigned(lambda c, a, b: a - b - c), given=near_carries)
scalar("s_add_i32", "i32 i32 -> u32", signed(lambda a, b: a + b))
scalar("s_sub_i32", "i32 i32 -> u32", signed(lambda a, b: a - b))
scalar("s_mul_i32", "u32 u32 -> u32", lambda a, b: a * b)
scalar("s_mul_hi_u32", "u32 u32 -> u32", lambda a, b: low(big(a) * big(b) >> 32))
scalar("s_mul_hi_i32", "i32 i32 -> u32", lambda a, b: low(big(a) * big(b) >> 32))
for n in (1, 2, 3, 4):
    scalar(f"s_lshl{n}_add_u32", "u32 u32 -> u32", unsigned(lambda a, b, n=n: a * 2**n + b))
for kind in ("u32", "i32"):
    scalar(f"s_min_{kind}", f"{kind} {kind} -> {kind}", lambda a, b: (np.minimum(a, b), a < b))
    scalar(f"s_max_{kind}", f"{kind} {kind} -> {kind}", lambda a, b: (np.maximum(a, b), a > b))
HALF = U32(0xFFFF)
UPPER = ~HALF
scalar("s_pack_ll_b32_b16", "u32 u32 -> u32", lambda a, b: (a & HALF) | b << U32(16))
scalar("s_pack_lh_b32_b16", "u32 u32 -> u32", lambda a, b: (a & HALF) | b & UPPER)
scalar("s_pack_hh_b32_b16", "u32 u32 -> u32", lambda a, b: a >> U32(16) | b & UPPER)
scalar("s_pack_hl_b32_b16", "u32 u32 -> u32", lambda a, b: a >> U32(16) | b << U32(16), targets=GFX11)
COMPARES = {
    "eq": np.equal,
    "lg": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
}
for name, function in COMPARES.items():
    for kind, constant in (("i32", -300), ("u32", 40000)):
        scalar(f"s_cmp_{name}_{kind}", f"{kind} {kind} ->", function)
        scalar(
            f"s_cmpk_{name}_{kind}",
            f"{kind} ->",
            lambda a, f=function, c=constant: f(a, a.dtype.type(c)),
            text=f"{{m}} {{a}}, {constant if constant < 0 else hex(constant)}",
        )
scalar("s_cmp_eq_u64", "u64 u64 ->", np.equal)
scalar("s_cmp_lg_u64", "u64 u64 ->", np.not_equal)
scalar("s_bitcmp0_b32", "u32 u32 ->", lambda a, b: a >> (b % U32(32)) & U32(1) == 0)
scalar("s_bitcmp1_b32", "u32 u32 ->", lambda a, b: a >> (b % U32(32)) & U32(1))
scalar("s_movk_i32", "scc -> i32", lambda c: np.full(len(c), -1234), text="{m} {d}, 0xfb2e")
scalar("s_addk_i32", "di32 -> u32", signed(lambda d: d - 1234), text="{m} {d}, 0xfb2e")
scalar("s_mulk_i32", "di32 -> u32", lambda d: low(big(d) * -1234), text="{m} {d}, 0xfb2e")

# EXEC: the source is in s[20:21], the old EXEC in s[24:25], the result in s[28:29]
EXEC_OPERATIONS = {
    "and": lambda s, e: s & e,
    "or": lambda s, e: s | e,
    "xor": lambda s, e: s ^ e,
    "nand": lambda s, e: ~(s & e),
    "nor": lambda s, e: ~(s | e),
    "xnor": lambda s, e: ~(s ^ e),
}
NOTS = {"not0": ("n1", lambda s, e, o: o(~s, e)), "not1": ("n2", lambda s, e, o: o(s, ~e))}


def exec_case(mnemonic, function, saves, target):
    """Return the case of an instruction that changes EXEC: what EXEC and the result become."""
    bits = wave(target)
    kind = f"u{bits}"
    before, source = (x.astype({32: U32, 64: U64}[bits]) for x in values([kind, kind], 5, 128))
    source[:8] = ~before[:8]
    after = function(source, before)
    result = before if saves else after

    def words(x):
        return np.ascontiguousarray(x).view(U32).reshape(len(x), -1)

    s, e, d = (r if bits == 64 else r.split(":")[0].replace("[", "") for r in ("s[20:21]", "s[24:25]", "s[28:29]"))
    live = "exec" if bits == 64 else "exec_lo"
    code = f"s_mov_b{bits} {live}, {e}\n{mnemonic} {d}, {s}"
    expected = {live: words(after)[:, None], d: words(result)[:, None], "scc": (after != 0)[:, None, None]}
    outputs = (d, live, "scc")
    return Case(mnemonic, target, Snippet(code, {}, {s: words(source), e: words(before)}, outputs), expected)


for operation, function in EXEC_OPERATIONS.items():
    for bits, targets in ((32, GFX11), (64, GFX9)):
        name = f"s_{operation}_saveexec_b{bits}"
        add(name, functools.partial(exec_case, name, function, True), targets)
        if operation not in ("and", "or"):
            continue
        for new, (old, turn) in NOTS.items():
            name = f"s_{operation}_{new}_saveexec_b32" if bits == 32 else f"s_{operation}{old}_saveexec_b64"
            turned = functools.partial(lambda s, e, t, f: t(s, e, f), t=turn, f=function)
            add(name, functools.partial(exec_case, name, turned, True), targets)
            if operation == "and":
                name = name.replace("saveexec", "wrexec")
                add(name, functools.partial(exec_case, name, turned, False), targets)
