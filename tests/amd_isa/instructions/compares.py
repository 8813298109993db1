"""Vector compares, into a mask and (v_cmpx) into EXEC. Source: the guides' section "VOPC instructions"."""

from __future__ import annotations

import numpy as np

from .cases import vector
from .integer import GFX9, GFX11

INTEGERS = {
    "f": lambda a, b: a != a,
    "lt": np.less,
    "eq": np.equal,
    "le": np.less_equal,
    "gt": np.greater,
    "ne": np.not_equal,
    "ge": np.greater_equal,
    "t": lambda a, b: a == a,
}
FLOATS = {
    **{"f": lambda a, b: np.zeros(len(a), bool), "lt": np.less, "eq": np.equal, "le": np.less_equal, "gt": np.greater},
    **{"lg": lambda a, b: (a < b) | (a > b), "ge": np.greater_equal, "o": lambda a, b: ~(np.isnan(a) | np.isnan(b))},
    **{
        "u": lambda a, b: np.isnan(a) | np.isnan(b),
        "nge": lambda a, b: ~(a >= b),
        "nlg": lambda a, b: ~((a < b) | (a > b)),
    },
    **{"ngt": lambda a, b: ~(a > b), "nle": lambda a, b: ~(a <= b), "neq": np.not_equal, "nlt": lambda a, b: ~(a < b)},
}


def compare(operation, kind, function, b_kind="", given=None, targets=GFX11 + GFX9):
    """Register v_cmp and v_cmpx of an operation."""
    signature = f"{kind} {b_kind or kind} -> mask"
    plain, also = f"v_cmp_{operation}_{kind}", f"v_cmpx_{operation}_{kind}"
    e32 = "{m}_e32 {v}, {a}, {b}\ns_mov_b64 s[24:25], vcc"
    narrow = "s_mov_b32 s26, exec_lo\n{m} {a}, {b}\ns_mov_b32 s24, exec_lo\ns_mov_b32 exec_lo, s26"
    wide = "s_mov_b64 s[26:27], exec\n{m} s[22:23], {a}, {b}\ns_mov_b64 s[24:25], exec\ns_mov_b64 exec, s[26:27]"
    vector(plain, signature, function, text="{m} {t}, {a}, {b}", given=given, targets=targets)
    vector(plain, signature, function, text=e32, given=given, name=f"{plain} e32", targets=targets)
    for target, text in (("gfx1100", narrow), ("gfx942", wide)):
        if target in targets:
            vector(also, signature, function, text=text, given=given, targets=(target,))


def often_equal(a, b):
    return [a, np.where(np.arange(len(a)) % 5, b, a)]


for kind in ("u16", "i16", "u32", "i32", "u64", "i64"):
    for operation, function in INTEGERS.items():
        targets = GFX9 if kind.endswith("16") and operation in ("f", "t") else GFX11 + GFX9
        compare(operation, kind, function, given=often_equal, targets=targets)
for kind in ("f16", "f32", "f64"):
    for operation, function in FLOATS.items():
        compare(operation, kind, function)
    for name, targets in (("t", GFX11), ("tru", GFX9)):
        compare(name, kind, lambda a, b: np.ones(len(a)), targets=targets)


def classes(kind):
    """Return whether the class of a is among those that the bits of b name."""
    info = np.finfo({"f16": np.float16, "f32": np.float32, "f64": np.float64}[kind])
    bits = {"f16": (np.uint16, 9), "f32": (np.uint32, 22), "f64": (np.uint64, 51)}[kind]

    def one(x, quiet):
        if np.isnan(x):
            return 1 if quiet else 0
        order = ["-inf", "-normal", "-denormal", "-0", "0", "denormal", "normal", "inf"]
        size = "inf" if np.isinf(x) else "0" if x == 0 else "denormal" if abs(x) < info.tiny else "normal"
        return 2 + order.index("-" * bool(np.signbit(x)) + size)

    def function(a, b):
        quiet = a.view(bits[0]) >> bits[0](bits[1]) & bits[0](1)
        return np.array([int(y) >> one(x, q) & 1 for x, y, q in zip(a, b, quiet, strict=True)])

    return function


for kind in ("f16", "f32", "f64"):
    b = "u16" if kind == "f16" else "u32"
    compare("class", kind, classes(kind), b, given=lambda a, b: [a, b & b.dtype.type(1023)])
