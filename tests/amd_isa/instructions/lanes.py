"""Exchange between lanes: DPP, swizzles, permutations, single lanes; and that lanes that are off are left alone.

Sources: the guides' sections "DPP" and "Data share instructions"; for the names of patterns AMD's "AMD GCN assembly:
cross-lane operations".
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from .assembly import TARGETS, Snippet, wave
from .cases import POISON, Case, add
from .integer import GFX9, GFX11, U32

Source = Callable[[int, int], int | None]  # of a lane, and of the number of lanes: the lane that it reads, or nobody


def numbers(target, seed=0):
    """Return random words of two waves, (2, lanes)."""
    return np.random.default_rng(seed).integers(0, 1 << 32, (2, wave(target)), np.uint32)


def mask_of(target, pattern=0xF0F3A5C7):
    """Return which lanes are on, and the code that turns the others off."""
    lanes = wave(target)
    bits = pattern if lanes == 32 else pattern | 0x3C965AF1 << 32
    on = np.array([bits >> i & 1 for i in range(lanes)], bool)
    code = f"s_mov_b32 exec_lo, {bits & 0xFFFFFFFF:#x}\n" + (
        f"s_mov_b32 exec_hi, {bits >> 32:#x}\n" if lanes == 64 else ""
    )
    return on, code


def exchange(name, text, source, targets=TARGETS, *, masked=False, gives_0=False, fetches_off=False, writes=None):
    """Register a pattern: lane i gets what lane source(i) has, nobody's value is 0 or leaves the lane as it was.

    Parameters
    ----------
    text : str
        With ``{d}`` and ``{a}``.
    masked : bool
        Whether some lanes are off.
    gives_0, fetches_off : bool
        bound_ctrl, and fi: a lane that is off, or nobody, gives 0; lanes that are off are read.
    writes : callable, optional
        Of a lane: whether row_mask and bank_mask let it be written.
    """
    arguments = (name, text, source, masked, gives_0, fetches_off, writes)
    add(name, functools.partial(_exchange, *arguments), targets)


def _exchange(name, text, source, masked, gives_0, fetches_off, writes, target):
    x, lanes = numbers(target), wave(target)
    on, code = mask_of(target) if masked else (np.ones(lanes, bool), "")
    expected = np.full_like(x, POISON)
    for lane in np.flatnonzero(on):
        if writes and not writes(lane):
            continue
        other = source(int(lane), lanes)
        if other is not None and (on[other] or fetches_off):
            expected[:, lane] = x[:, other]
        elif gives_0:
            expected[:, lane] = 0
    vectors = {"v8": np.full_like(x, POISON)[..., None], "v10": x[..., None]}
    snippet = Snippet(code + text.format(d="v8", a="v10"), vectors, {}, ("v8",))
    return Case(name, target, snippet, {"v8": expected[..., None]})


def in_row(offset):
    """Return the lane that is `offset` further on in the same row of 16."""
    return lambda i, n: i + offset if 0 <= i % 16 + offset < 16 else None


PATTERNS: dict[str, tuple[Source, tuple[str, ...]]] = {
    "quad_perm:[1,0,3,2]": (lambda i, n: i ^ 1, TARGETS),
    "quad_perm:[3,3,1,0]": (lambda i, n: i // 4 * 4 + (3, 3, 1, 0)[i % 4], TARGETS),
    "row_shl:1": (in_row(1), TARGETS),
    "row_shl:11": (in_row(11), TARGETS),
    "row_shr:1": (in_row(-1), TARGETS),
    "row_shr:8": (in_row(-8), TARGETS),
    "row_ror:3": (lambda i, n: i // 16 * 16 + (i - 3) % 16, TARGETS),
    "row_mirror": (lambda i, n: i // 16 * 16 + 15 - i % 16, TARGETS),
    "row_half_mirror": (lambda i, n: i // 8 * 8 + 7 - i % 8, TARGETS),
    "wave_shl:1": (lambda i, n: i + 1 if i + 1 < n else None, GFX9),
    "wave_rol:1": (lambda i, n: (i + 1) % n, GFX9),
    "wave_shr:1": (lambda i, n: i - 1 if i else None, GFX9),
    "wave_ror:1": (lambda i, n: (i - 1) % n, GFX9),
    "row_bcast:15": (lambda i, n: i // 16 * 16 - 1 if i >= 16 else None, GFX9),
    "row_bcast:31": (lambda i, n: 31 if i >= 32 else None, GFX9),
    "row_newbcast:5": (lambda i, n: i // 16 * 16 + 5, GFX9),
    "row_share:5": (lambda i, n: i // 16 * 16 + 5, GFX11),
    "row_xmask:6": (lambda i, n: i ^ 6, GFX11),
}
for pattern, (source, targets) in PATTERNS.items():
    dpp = "v_mov_b32_dpp {d}, {a} " + pattern
    all_on = f"{dpp} row_mask:0xf bank_mask:0xf"
    for masked in (False, True):
        label = f"v_mov_b32 {pattern}{' masked' * masked}"
        exchange(label, all_on, source, targets, masked=masked)
        exchange(
            f"{label} bound_ctrl",
            f"{all_on} bound_ctrl:1",
            source,
            targets,
            masked=masked,
            gives_0=True,
        )
    exchange(
        f"{pattern} fi",
        f"{all_on} fi:1",
        source,
        tuple(t for t in targets if t in GFX11),
        masked=True,
        fetches_off=True,
    )
    exchange(
        f"{pattern} masks",
        f"{dpp} row_mask:0x2 bank_mask:0x5",
        source,
        targets,
        writes=lambda i: i // 16 == 1 and i // 4 % 4 in (0, 2),
    )
exchange(
    "v_mov_b32 dpp8",
    "v_mov_b32_dpp {d}, {a} dpp8:[7,6,1,0,3,3,2,5]",
    lambda i, n: i // 8 * 8 + (7, 6, 1, 0, 3, 3, 2, 5)[i % 8],
    GFX11,
)
# of the source that is moved alone, with the other one and the carry where they are
exchange(
    "v_sub_u32 dpp",
    "v_mov_b32 v20, 0\nv_sub_nc_u32_dpp {d}, {a}, v20 row_ror:3 row_mask:0xf bank_mask:0xf",
    PATTERNS["row_ror:3"][0],
    GFX11,
)
exchange(
    "v_add_co_u32 dpp",
    "v_mov_b32 v20, 0\nv_add_co_u32_dpp {d}, vcc, {a}, v20 row_ror:3 row_mask:0xf bank_mask:0xf",
    PATTERNS["row_ror:3"][0],
    GFX9,
)

SWIZZLES: dict[str, Source] = {
    "swizzle(QUAD_PERM,2,1,0,3)": lambda i, n: i // 4 * 4 + (2, 1, 0, 3)[i % 4],
    'swizzle(BITMASK_PERM,"01pi1")': lambda i, n: i // 32 * 32 + (0b01001 | i & 0b00100 | ~i & 0b00010),
    "swizzle(SWAP,4)": lambda i, n: i ^ 4,
    "swizzle(REVERSE,8)": lambda i, n: i ^ 7,
    "swizzle(BROADCAST,16,3)": lambda i, n: i // 16 * 16 + 3,
}
for pattern, source in SWIZZLES.items():
    for masked in (False, True):
        exchange(
            f"ds_swizzle_b32 {pattern}{' masked' * masked}",
            "ds_swizzle_b32 {d}, {a} offset:" + pattern,
            source,
            masked=masked,
            gives_0=True,
        )
NIBBLES = [3, 1, 4, 1, 5, 9, 2, 6, 15, 3, 5, 8, 9, 7, 0, 12]
SELECTS = [sum(n << 4 * i for i, n in enumerate(NIBBLES[half : half + 8])) for half in (0, 8)]
for name, flip in (("v_permlane16_b32", 0), ("v_permlanex16_b32", 16)):
    code = f"s_mov_b32 s20, {SELECTS[0]:#x}\ns_mov_b32 s21, {SELECTS[1]:#x}\n{name} {{d}}, {{a}}, s20, s21"
    source = functools.partial(lambda i, n, flip: (i // 16 * 16 ^ flip) + NIBBLES[i % 16], flip=flip)
    exchange(name, code, source, GFX11)
    exchange(f"{name} masked", code, source, GFX11, masked=True)
    exchange(f"{name} fi", code + " op_sel:[1,0]", source, GFX11, masked=True, fetches_off=True)
    name = name.replace("_b32", "_var_b32")
    code = f"v_mbcnt_lo_u32_b32 v20, -1, 0\nv_mul_u32_u24 v20, 7, v20\n{name} {{d}}, {{a}}, v20"
    variable = functools.partial(lambda i, n, flip: (i // 16 * 16 ^ flip) + 7 * i % 16, flip=flip)
    exchange(name, code, variable, ("gfx1201",))
exchange("v_permlane64_b32", "v_permlane64_b32 {d}, {a}", lambda i, n: None, GFX11)  # nothing, in a wave of 32


def permuted(forwards, masked, target):
    """Return the case of ds_bpermute (each lane reads) or ds_permute (each lane sends; the highest one wins)."""
    x, lanes = numbers(target), wave(target)
    to = np.random.default_rng(1).integers(0, 4 * lanes, (2, lanes), np.uint32) * U32(4) + U32(2)
    on, code = mask_of(target) if masked else (np.ones(lanes, bool), "")
    expected = np.full_like(x, POISON)
    for w in range(2):
        got = dict.fromkeys(range(lanes), 0)
        for lane in np.flatnonzero(on):
            other = (int(to[w, lane]) + 8) // 4 % lanes
            if forwards:
                got[other] = x[w, lane]
            elif on[other]:
                got[lane] = x[w, other]
        for lane in np.flatnonzero(on):
            expected[w, lane] = got[lane]
    name = "ds_permute_b32" if forwards else "ds_bpermute_b32"
    vectors = {"v8": np.full_like(x, POISON)[..., None], "v10": x[..., None], "v12": to[..., None]}
    snippet = Snippet(f"{code}{name} v8, v12, v10 offset:8", vectors, {}, ("v8",))
    return Case(name, target, snippet, {"v8": expected[..., None]})


for forwards in (False, True):
    for masked in (False, True):
        name = "ds_permute_b32" if forwards else "ds_bpermute_b32"
        add(name + " masked" * masked, functools.partial(permuted, forwards, masked))


def single_lanes(target):
    """Return the case of v_readfirstlane, v_readlane and v_writelane, with lanes off."""
    x, lanes = numbers(target), wave(target)
    on, code = mask_of(target, 0xF0F3A5C0)
    code += "v_readfirstlane_b32 s20, v10\nv_readlane_b32 s21, v10, 3\n"
    code += "s_mov_b32 s22, 0x47\nv_readlane_b32 s23, v10, s22\n"
    code += "s_mov_b32 s24, 0x12345\nv_writelane_b32 v8, s24, 5"
    expected = np.full_like(x, POISON)
    expected[:, 5] = 0x12345
    first = int(np.flatnonzero(on)[0])
    scalars = {"s20": x[:, first], "s21": x[:, 3], "s23": x[:, 0x47 % lanes]}
    vectors = {"v8": np.full_like(x, POISON)[..., None], "v10": x[..., None]}
    found = {"v8": expected[..., None], **{name: value[:, None, None] for name, value in scalars.items()}}
    return Case("v_readfirstlane_b32", target, Snippet(code, vectors, {}, tuple(found)), found)


add("v_readfirstlane_b32 v_readlane_b32 v_writelane_b32", single_lanes)


def left_alone(name, text, function, target):
    """Return the case of an instruction with lanes off: they keep the result, their bits of a mask are 0."""
    x, y, lanes = numbers(target), numbers(target, 1), wave(target)
    on, code = mask_of(target)
    result, bits = function(x, y)
    expected = np.where(on, result, U32(POISON))
    words = np.packbits(bits & on, axis=1, bitorder="little").view(np.uint32)
    mask = "s[20:21]" if lanes == 64 else "s20"
    vectors = {"v8": np.full_like(x, POISON)[..., None], "v10": x[..., None], "v12": y[..., None]}
    snippet = Snippet(code + text.format(t=mask), vectors, {}, ("v8", mask))
    return Case(name, target, snippet, {"v8": expected[..., None], mask: words[:, None]})


def carried(x, y):
    return x + y, x + y < x


add(
    "v_add_co_u32 lanes off",
    functools.partial(left_alone, "v_add_co_u32", "v_add_co_u32_e64 v8, {t}, v10, v12", carried),
)
add(
    "v_cmp_lt_u32 lanes off",
    functools.partial(
        left_alone, "v_cmp_lt_u32", "v_mov_b32 v8, v10\nv_cmp_lt_u32_e64 {t}, v10, v12", lambda x, y: (x, x < y)
    ),
)

SELECTED = {"BYTE_0": (0, 8), "BYTE_3": (24, 8), "WORD_0": (0, 16), "WORD_1": (16, 16), "DWORD": (0, 32)}


def part(x, select, signed=False):
    start, bits = SELECTED[select]
    y = x >> U32(start) & U32((1 << bits) - 1)
    return np.where(signed & (y >> U32(bits - 1) == 1) & (bits < 32), y | ~U32((1 << bits) - 1), y).astype(U32)


def sdwa(label, text, function, target):
    """Return the case of an SDWA instruction of v10 and v12 (of v8 where it keeps parts)."""
    x, y, old = (numbers(target, i) for i in range(3))
    vectors = {"v8": old[..., None], "v10": x[..., None], "v12": y[..., None]}
    expected = function(x, y, old).astype(U32)
    return Case(label, target, Snippet(text, vectors, {}, ("v8",)), {"v8": expected[..., None]})


def register_sdwa():
    """Register selections of sources and of the result."""
    plain = "v_add_u32_sdwa v8, {a}, {b} dst_sel:{d} dst_unused:{u} src0_sel:{s} src1_sel:{t}"
    for s in SELECTED:
        for signed in (False, True):
            text = plain.format(a="sext(v10)" if signed else "v10", b="v12", d="DWORD", u="UNUSED_PAD", s=s, t="BYTE_3")
            function = functools.partial(
                lambda x, y, old, s, signed: part(x, s, signed) + part(y, "BYTE_3"), s=s, signed=signed
            )
            add(f"v_add_u32 sdwa {s} {signed}", functools.partial(sdwa, "v_add_u32", text, function), GFX9)
    for d in ("BYTE_0", "BYTE_3", "WORD_0", "WORD_1"):
        for u in ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"):
            text = plain.format(a="v10", b="v12", d=d, u=u, s="DWORD", t="DWORD")
            add(
                f"v_add_u32 sdwa {d} {u}",
                functools.partial(sdwa, "v_add_u32", text, functools.partial(into, d=d, u=u)),
                GFX9,
            )
    text = "v_and_b32 v10, 0xfbff7bff, v10\n"
    text += "v_cvt_f32_f16_sdwa v8, -v10 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1"
    add("v_cvt_f32_f16 sdwa", functools.partial(sdwa, "v_cvt_f32_f16", text, widened), GFX9)


def into(x, y, old, d, u):
    """Return the sum where the result's selection puts it."""
    start, bits = SELECTED[d]
    value, field = part(x + y, f"{d[:4]}_0"), U32((1 << bits) - 1) << U32(start)
    if u == "UNUSED_PRESERVE":
        return value << U32(start) | old & ~field
    if u == "UNUSED_SEXT":
        return (part(x + y, f"{d[:4]}_0", True) << U32(start)).astype(U32)
    return value << U32(start)


def widened(x, y, old):
    """Return the upper halves, of which none is infinite or NaN, as floats with the other sign."""
    halves = (x >> U32(16) & U32(0xFBFF)).astype(np.uint16).view(np.float16)
    return (-halves.astype(np.float32)).view(U32)


register_sdwa()


def dual(target):
    """Return the case of two instructions issued together, each of which reads what the other writes."""
    x, y = numbers(target), numbers(target, 1)
    vectors = {"v10": x[..., None], "v13": y[..., None], "v16": x[..., None], "v19": y[..., None]}
    code = "v_dual_mov_b32 v10, v13 :: v_dual_mov_b32 v13, v10\nv_dual_mov_b32 v16, 1 :: v_dual_lshlrev_b32 v19, 4, v16"
    found = {"v10": y, "v13": x, "v16": np.ones_like(x), "v19": x << U32(4)}
    return Case(
        "v_dual_mov_b32", target, Snippet(code, vectors, {}, tuple(found)), {k: v[..., None] for k, v in found.items()}
    )


add("v_mov_b32 dual", dual, GFX11)
