"""Vector arithmetic on floats, and conversions.

Sources: the guides' section "VALU instructions"; for the upper half of results of 16 bits, and for v_fract, which stays
below 1, what LLVM relies on (GCNSubtarget::zeroesHigh16BitsOfDest, AMDGPUCodeGenPrepare). Tolerances of the
transcendental ones: AMD's 1 ULP (2^29 ULP for v_rcp_f64 and v_rsq_f64, which start Newton's steps).
"""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np

from .cases import DTYPES, vector
from .exact import fma, least, most, rounded, to_integer
from .integer import GFX9, GFX11, U32

F16, F32, F64 = np.float16, np.float32, np.float64


def fraction(a):
    below = np.nextafter(a.dtype.type(1), a.dtype.type(0))
    return np.where(np.isinf(a), np.nan, np.minimum(a - np.floor(a), below)).astype(a.dtype)


def scaled(a, n):
    """Return a 2^n, rounded once."""
    some = [
        v
        if not np.isfinite(v) or v == 0
        else rounded(Fraction(float(v)) * Fraction(2) ** max(min(int(k), 3000), -3000), type(v))
        for v, k in zip(a, n, strict=True)
    ]
    return np.where(np.asarray(some, a.dtype) == 0, np.copysign(a.dtype.type(0), a), np.asarray(some, a.dtype))


def normal(*arrays):
    """Take numbers that are no denormal ones, nor have such reciprocals."""
    info = np.finfo(arrays[0].dtype)
    usual = [np.where((np.abs(a) < info.tiny * 4) | (np.abs(a) > info.max / 8), a.dtype.type(1.5), a) for a in arrays]
    return [np.where(np.isfinite(a), u, a) for a, u in zip(arrays, usual, strict=True)]


for kind in ("f16", "f32", "f64"):
    two, three = f"{kind} {kind} -> {kind}", f"{kind} {kind} {kind} -> {kind}"
    vector(f"v_add_{kind}", two, lambda a, b: a + b)
    vector(f"v_mul_{kind}", two, lambda a, b: a * b)
    if kind != "f64":
        vector(f"v_sub_{kind}", two, lambda a, b: a - b)
        vector(f"v_subrev_{kind}", two, lambda a, b: b - a)
    vector(f"v_min_{kind}", two, least)
    vector(f"v_max_{kind}", two, most)
    vector(f"v_fma_{kind}", three, fma, above="old")
    for name, function in (("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("rndne", np.rint)):
        vector(f"v_{name}_{kind}", f"{kind} -> {kind}", function)
    vector(f"v_fract_{kind}", f"{kind} -> {kind}", fraction)
    vector(f"v_frexp_mant_{kind}", f"{kind} -> {kind}", lambda a: np.where(np.isfinite(a), np.frexp(a)[0], a))
    integer = "i16" if kind == "f16" else "i32"
    vector(
        f"v_frexp_exp_{integer}_{kind}", f"{kind} -> {integer}", lambda a: np.where(np.isfinite(a), np.frexp(a)[1], 0)
    )
    shift = (lambda a, b: [a, (b.astype(np.int64) % 300 - 150).astype(b.dtype)]) if kind != "f64" else None
    vector(f"v_ldexp_{kind}", f"{kind} {integer} -> {kind}", scaled, given=shift)
    exact = kind == "f64"
    vector(f"v_rcp_{kind}", f"{kind} -> {kind}", lambda a: 1 / a, ulp=2.0**29 if exact else 1, given=normal)
    vector(
        f"v_rsq_{kind}",
        f"{kind} -> {kind}",
        lambda a: (1 / np.sqrt(a)).astype(a.dtype),
        ulp=2.0**29 if exact else 1,
        given=normal,
    )
    vector(f"v_sqrt_{kind}", f"{kind} -> {kind}", np.sqrt, ulp=2.0**29 if exact else 1, given=normal)
for kind, targets in (("f16", GFX11), ("f32", ("gfx1100", "gfx942"))):
    three = f"{kind} {kind} {kind} -> {kind}"
    vector(f"v_max3_{kind}", three, lambda a, b, c: most(most(a, b), c), targets=targets)
    vector(f"v_min3_{kind}", three, lambda a, b, c: least(least(a, b), c), targets=targets)
    vector(f"v_med3_{kind}", three, lambda a, b, c: middle(a, b, c), targets=targets)


def middle(a, b, c):
    """Return the median; with a NaN the smallest number."""
    order = np.sort(np.stack([a, b, c]), axis=0)[1]
    anyone = np.isnan(a) | np.isnan(b) | np.isnan(c)
    median = most(least(a, b), least(most(a, b), c))
    assert np.array_equal(order[~anyone], median[~anyone])
    return np.where(anyone, least(least(a, b), c), median)


vector("v_rcp_iflag_f32", "f32 -> f32", lambda a: 1 / a, ulp=1, given=normal)
vector(
    "v_exp_f32",
    "f32 -> f32",
    lambda a: np.exp2(a.astype(F64)),
    ulp=1,
    given=lambda a: [np.where(np.abs(a) > 100, F32(3), a)],
)
vector("v_exp_f16", "f16 -> f16", lambda a: np.exp2(a.astype(F64)).astype(F16), ulp=1)
vector("v_log_f16", "f16 -> f16", lambda a: np.log2(a.astype(F64)).astype(F16), ulp=1, given=normal)
vector("v_log_f32", "f32 -> f32", lambda a: np.log2(a.astype(F64)), ulp=2, given=normal)
TURN = 2 * np.pi
turns = functools.partial(np.linspace, num=256, dtype=F32)
vector(
    "v_sin_f32",
    "f32 -> f32",
    lambda a: np.sin(a.astype(F64) * TURN),
    ulp=64,
    given=lambda a: [turns(0.01, 0.49)],
)
vector(
    "v_cos_f32",
    "f32 -> f32",
    lambda a: np.cos(a.astype(F64) * TURN),
    ulp=64,
    given=lambda a: [turns(0.26, 0.74)],
)
for kind, targets in (("f32", ("gfx1100", "gfx942")), ("f64", GFX9), ("f16", GFX11)):
    vector(f"v_fmac_{kind}", f"{kind} {kind} d{kind} -> {kind}", lambda a, b, d: fma(a, b, d), targets=targets)
K = F32(2.5)
vector(
    "v_fmaak_f32", "f32 f32 -> f32", lambda a, b: fma(a, b, np.full_like(a, K)), text="{m} {d}, {a}, {b}, 0x40200000"
)
vector(
    "v_fmamk_f32", "f32 f32 -> f32", lambda a, b: fma(a, np.full_like(a, K), b), text="{m} {d}, {a}, 0x40200000, {b}"
)
for name, targets in (("v_mul_dx9_zero_f32", GFX11), ("v_mul_legacy_f32", GFX9)):
    vector(name, "f32 f32 -> f32", lambda a, b: np.where((a == 0) | (b == 0), F32(0), a * b), targets=targets)


def clamped(x):
    return np.where(x > 1, 1, np.where(x > 0, x, 0)).astype(x.dtype)


def small(a, b):
    """Take factors whose product is far from the limits."""
    return normal(*(np.where(np.abs(x) > 1e18, 3, x).astype(F32) for x in (a, b)))


# modifiers of VOP3: |a|, -a, omod, clamp
MODIFIERS = {
    "-{a}, {b}": lambda a, b: -a + b,
    "|{a}|, {b}": lambda a, b: np.abs(a) + b,
    "-|{a}|, -{b}": lambda a, b: -np.abs(a) - b,
}
for kind in ("f16", "f32", "f64"):
    for text, function in MODIFIERS.items():
        vector(
            f"v_add_{kind}",
            f"{kind} {kind} -> {kind}",
            function,
            text="{m}_e64 {d}, " + text if kind != "f64" else "{m} {d}, " + text,
            name=f"v_add_{kind} {text}",
        )
    e64 = "_e64" if kind != "f64" else ""
    vector(
        f"v_add_{kind}",
        f"{kind} {kind} -> {kind}",
        lambda a, b: clamped(a + b),
        text=f"{{m}}{e64} {{d}}, {{a}}, {{b}} clamp",
        name=f"v_add_{kind} clamp",
    )
for text, factor in (("mul:2", 2), ("mul:4", 4), ("div:2", 0.5)):
    vector(
        "v_mul_f32",
        "f32 f32 -> f32",
        lambda a, b, f=factor: a * b * F32(f),
        text=f"{{m}}_e64 {{d}}, {{a}}, {{b}} {text}",
        name=f"v_mul_f32 {text}",
        given=small,
    )


# conversions
for source in ("f32", "f64"):
    for result in ("i32", "u32"):
        vector(f"v_cvt_{result}_{source}", f"{source} -> {result}", to_integer(DTYPES[result]))
        vector(f"v_cvt_{source}_{result}", f"{result} -> {source}", lambda a, t=DTYPES[source]: a.astype(t))
for result in ("i16", "u16"):
    vector(f"v_cvt_{result}_f16", f"f16 -> {result}", to_integer(DTYPES[result]))
    vector(f"v_cvt_f16_{result}", f"{result} -> f16", lambda a: a.astype(F16))
for source, result in (("f16", "f32"), ("f32", "f16"), ("f32", "f64"), ("f64", "f32")):
    vector(f"v_cvt_{result}_{source}", f"{source} -> {result}", lambda a, t=DTYPES[result]: a.astype(t))
for i in range(4):
    vector(f"v_cvt_f32_ubyte{i}", "u32 -> f32", lambda a, i=i: (a >> U32(8 * i) & U32(255)).astype(F32))
for name, targets in (("v_cvt_floor_i32_f32", GFX11), ("v_cvt_flr_i32_f32", GFX9)):
    vector(name, "f32 -> i32", lambda a: to_integer(np.int32)(np.floor(a)), targets=targets)
