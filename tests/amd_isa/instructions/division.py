"""Division of floats in the steps that LLVM makes of it: right to the last bit, with denormal and infinite results.

Sources: the guides' v_div_scale, v_div_fmas and v_div_fixup;
for the order of steps LLVM's SITargetLowering::LowerFDIV32.
"""

from __future__ import annotations

import numpy as np

from .cases import vector

STEPS = """v_div_scale_{k} {scaled}, {v}, {bottom}, {bottom}, {top}
v_rcp_{k}_e32 {inverse}, {scaled}
v_fma_{k} {error}, -{scaled}, {inverse}, 1.0
v_fma_{k} {inverse}, {inverse}, {error}, {inverse}
v_fma_{k} {error}, -{scaled}, {inverse}, 1.0
v_fma_{k} {inverse}, {inverse}, {error}, {inverse}
v_div_scale_{k} {numerator}, {v}, {top}, {bottom}, {top}
v_mul_{k} {error}, {numerator}, {inverse}
v_fma_{k} {rest}, -{scaled}, {error}, {numerator}
v_fma_{k} {error}, {rest}, {inverse}, {error}
v_fma_{k} {rest}, -{scaled}, {error}, {numerator}
v_div_fmas_{k} {error}, {rest}, {inverse}, {error}
v_div_fixup_{k} {{d}}, {error}, {bottom}, {top}"""


def fixup(q, d, n):
    """Return the quotient n / d with the special cases and the sign put right."""
    sign = np.where(np.signbit(d) != np.signbit(n), -1, 1).astype(q.dtype)
    nothing = ((d == 0) & (n == 0)) | (np.isinf(d) & np.isinf(n)) | np.isnan(d) | np.isnan(n)
    result = np.where((d == 0) | np.isinf(n), np.inf, np.where(np.isinf(d) | (n == 0), 0, np.abs(q)))
    return np.where(nothing, np.nan, sign * result).astype(q.dtype)


def near(q, d, n):
    """Take quotients that are far from the limits."""
    return [q, d, np.where(np.abs(np.frexp(n)[1] - np.frexp(d)[1]) > 90, d * 3, n)]


for kind, words in (("f32", 1), ("f64", 2)):
    vector(f"v_div_fixup_{kind}", f"{kind} {kind} {kind} -> {kind}", fixup, given=near)
    names = {"top": 10, "bottom": 12, "scaled": 30, "inverse": 32, "error": 34, "numerator": 36, "rest": 38}
    registers = {name: f"v{i}" if words == 1 else f"v[{i}:{i + 1}]" for name, i in names.items()}
    steps = STEPS.format(k=kind, v="{v}", **registers)
    vector(f"v_div_scale_{kind}", f"{kind} {kind} -> {kind}", lambda a, b: a / b, text=steps)
vector(
    "v_div_fixup_f16",
    "f16 f16 f16 -> f16",
    fixup,
    above="old",
    given=lambda q, d, n: [q, d, np.where(np.isfinite(n), d * 3, n)],
)
