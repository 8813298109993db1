"""Loads, stores and atomics.

Source: the guides' sections "Scalar memory instructions", "Flat memory instructions" and "Data share instructions".
"""

from __future__ import annotations

import functools

import numpy as np

from .assembly import Snippet, wave
from .cases import POISON, Case, add
from .integer import GFX9, GFX11, I32, U32, U64
from .lanes import mask_of

WAIT = "s_waitcnt vmcnt(0) lgkmcnt(0)\ns_waitcnt_vscnt null, 0x0\n"
ROW = "v255, s[6:7] offset:256"  # memory of a lane, behind the outputs
WHOLE = "v_add_co_u32_e64 v20, {c}, s6, v255\nv_mov_b32 v21, s7\nv_add{x}_co_{ci}u32_e64 v21, {c}, v21, 0, {c}\n"
OPEN = {"gfx1100": WHOLE.format(c="s20", x="", ci="ci_"), "gfx942": WHOLE.format(c="s[20:21]", x="c", ci="")}
SPACES = {  # how memory of a lane is named; flat addresses are in v[20:21], those of LDS and scratch in v20
    "global": ("global_load_{} {}, v255, s[6:7] offset:{}", "global_store_{1} v255, {0}, s[6:7] offset:{2}", 256),
    "flat": ("flat_load_{} {}, v[20:21] offset:{}", "flat_store_{1} v[20:21], {0} offset:{2}", 256),
    "scratch": ("scratch_load_{} {}, v20, off offset:{}", "scratch_store_{1} v20, {0}, off offset:{2}", 4),
}
LOADS = {  # bytes, whether with a sign, the half that is written
    **{"ubyte": (1, False, ""), "sbyte": (1, True, ""), "ushort": (2, False, ""), "sshort": (2, True, "")},
    **{"ubyte_d16": (1, False, "l"), "ubyte_d16_hi": (1, False, "h"), "sbyte_d16": (1, True, "l")},
    **{"sbyte_d16_hi": (1, True, "h"), "short_d16": (2, False, "l"), "short_d16_hi": (2, False, "h")},
    **{"dword": (4, False, ""), "dwordx2": (8, False, ""), "dwordx3": (12, False, ""), "dwordx4": (16, False, "")},
}
STORES = {"byte": (1, 0), "byte_d16_hi": (1, 16), "short": (2, 0), "short_d16_hi": (2, 16), "dword": (4, 0)}
STORES |= {"dwordx2": (8, 0), "dwordx3": (12, 0), "dwordx4": (16, 0)}


def waits(code, target):
    """Return code with a wait for memory where it says WAIT."""
    wait = WAIT if target == "gfx1100" else WAIT.partition("\n")[0] + "\n"
    return code.replace("WAIT\n", wait)


def data(target, words, seed=0):
    """Return random words of two waves, (2, lanes, words)."""
    return np.random.default_rng(seed).integers(0, 1 << 32, (2, wave(target), words), np.uint32)


def group(first, words):
    return f"v[{first}:{first + words - 1}]" if words > 1 else f"v{first}"


def loaded(x, size, signed, half, start):
    """Return what a load of bytes from `start` on leaves in registers that were POISON."""
    if size >= 4:
        return x[..., : size // 4]
    raw = np.ascontiguousarray(x).view(np.uint8).reshape(*x.shape[:2], -1)[..., start : start + size]
    value = np.ascontiguousarray(raw).view(f"{'i' if signed else 'u'}{size}")
    word = value.astype(I32).view(U32) if signed else value.astype(U32)
    if not half:
        return word
    low = word & U32(0xFFFF)
    return low | U32(POISON & 0xFFFF0000) if half == "l" else low << U32(16) | U32(POISON & 0xFFFF)


def opened(space, target):
    return OPEN[target] if space == "flat" else "v_mov_b32 v20, 4\n" if space == "scratch" else ""


def load_case(space, name, masked, target):
    """Return the case of a load: four words are stored, some bytes loaded."""
    size, signed, half = LOADS[name]
    load, store, base = SPACES[space]
    x, start, words = data(target, 4), 1 if size == 1 else 2 if size == 2 else 0, max(size // 4, 1)
    on, mask = mask_of(target) if masked else (np.ones(wave(target), bool), "")
    code = opened(space, target) + store.format("v[10:13]", "dwordx4", base) + "\nWAIT\n" + mask
    code += load.format(name, group(30, words), base + start)
    expected = np.where(on[None, :, None], loaded(x, size, signed, half, start), U32(POISON))
    vectors = {"v[10:13]": x, group(30, words): np.full((2, wave(target), words), POISON, U32)}
    snippet = Snippet(waits(code, target), vectors, {}, (group(30, words),), scratch=64 * (space == "scratch"))
    return Case(f"{space}_load_{name}", target, snippet, {group(30, words): expected})


def store_case(space, name, masked, target):
    """Return the case of a store over poison, read back in words."""
    size, shift = STORES[name]
    load, store, base = SPACES[space]
    words = max(size // 4, 1)
    x = data(target, words)
    on, mask = mask_of(target) if masked else (np.ones(wave(target), bool), "")
    code = opened(space, target) + store.format("v[30:33]", "dwordx4", base) + "\nWAIT\n" + mask
    code += (
        store.format(group(10, words), name, base + (4 - size) % 4)
        + "\ns_mov_b32 exec_lo, -1\ns_mov_b32 exec_hi, -1\nWAIT\n"
    )
    code += load.format("dwordx4", "v[40:43]", base)
    expected = np.full((2, wave(target), 4), POISON, U32)
    if size >= 4:
        expected[..., :words] = x
    else:
        at = (4 - size) * 8
        value = (x[..., 0] >> U32(shift) & U32((1 << 8 * size) - 1)) << U32(at)
        expected[..., 0] = value | U32(POISON) & ~U32(((1 << 8 * size) - 1) << at)
    expected[:, ~on] = POISON
    vectors = {group(10, words): x, "v[30:33]": np.full((2, wave(target), 4), POISON, U32)}
    snippet = Snippet(waits(code, target), vectors, {}, ("v[40:43]",), scratch=64 * (space == "scratch"))
    return Case(f"{space}_store_{name}", target, snippet, {"v[40:43]": expected})


for space in SPACES:
    for masked in (False, True):
        for name in LOADS:
            add(f"{space}_load_{name}{' masked' * masked}", functools.partial(load_case, space, name, masked))
        for name in STORES:
            add(f"{space}_store_{name}{' masked' * masked}", functools.partial(store_case, space, name, masked))

DS_LOADS = {
    "u8": "ubyte",
    "i8": "sbyte",
    "u16": "ushort",
    "i16": "sshort",
    "b32": "dword",
    "b64": "dwordx2",
    "b96": "dwordx3",
}
DS_LOADS |= {"b128": "dwordx4", "u8_d16": "ubyte_d16", "u8_d16_hi": "ubyte_d16_hi", "i8_d16": "sbyte_d16"}
DS_LOADS |= {"i8_d16_hi": "sbyte_d16_hi", "u16_d16": "short_d16", "u16_d16_hi": "short_d16_hi"}
LDS_ROW = "v_lshlrev_b32 v20, 4, v0\n"  # 16 bytes of a lane; waves are groups


def ds_load_case(name, target):
    """Return the case of a load from LDS."""
    size, signed, half = LOADS[DS_LOADS[name]]
    x, start, words = data(target, 4), 1 if size == 1 else 2 if size == 2 else 0, max(size // 4, 1)
    code = f"{LDS_ROW}ds_write_b128 v20, v[10:13] offset:32\nWAIT\n"
    code += f"ds_read_{name} {group(30, words)}, v20 offset:{32 + start}"
    vectors = {"v[10:13]": x, group(30, words): np.full((2, wave(target), words), POISON, U32)}
    snippet = Snippet(waits(code, target), vectors, {}, (group(30, words),), 16 * 64 + 64)
    return Case(f"ds_read_{name}", target, snippet, {group(30, words): loaded(x, size, signed, half, start)})


def ds_store_case(name, size, shift, target):
    """Return the case of a store to LDS over poison."""
    words = max(size // 4, 1)
    x = data(target, words)
    code = f"{LDS_ROW}ds_write_b128 v20, v[30:33] offset:32\nds_write_{name} v20, {group(10, words)} offset:32\nWAIT\n"
    code += "ds_read_b128 v[40:43], v20 offset:32"
    expected = np.full((2, wave(target), 4), POISON, U32)
    mask = U32((1 << 8 * min(size, 4)) - 1)
    expected[..., :words] = x >> U32(shift) & mask | U32(POISON) & ~mask
    vectors = {group(10, words): x, "v[30:33]": np.full((2, wave(target), 4), POISON, U32)}
    return Case(
        f"ds_write_{name}",
        target,
        Snippet(waits(code, target), vectors, {}, ("v[40:43]",), 16 * 64 + 64),
        {"v[40:43]": expected},
    )


def ds_two_case(bits, stride, target):
    """Return the case of two stores and two loads of one instruction, the second pair the other way around."""
    words, scale = bits // 32, "st64" if stride else ""
    x, y = data(target, words), data(target, words, 1)
    a, b, c = group(10, words), group(14, words), group(30, 2 * words)
    shift = 3 if bits == 64 else 2
    code = f"v_lshlrev_b32 v20, {shift}, v0\n" if stride else f"v_lshlrev_b32 v20, {shift + 1}, v0\n"
    code += f"ds_write2{scale}_b{bits} v20, {a}, {b} offset0:2 offset1:3\nWAIT\n"
    code += f"ds_read2{scale}_b{bits} {c}, v20 offset0:3 offset1:2"
    expected = np.concatenate([y, x], axis=-1)
    return Case(
        f"ds_read2{scale}_b{bits}", target, Snippet(waits(code, target), {a: x, b: y}, {}, (c,), 4096), {c: expected}
    )


for name in DS_LOADS:
    add(f"ds_read_{name}", functools.partial(ds_load_case, name))
for name, size, shift in (
    ("b8", 1, 0),
    ("b16", 2, 0),
    ("b8_d16_hi", 1, 16),
    ("b16_d16_hi", 2, 16),
    ("b32", 4, 0),
    ("b64", 8, 0),
    ("b96", 12, 0),
    ("b128", 16, 0),
):
    add(f"ds_write_{name}", functools.partial(ds_store_case, name, size, shift))
for bits in (32, 64):
    for stride in (False, True):
        add(f"ds_read2 ds_write2 {bits} {stride}", functools.partial(ds_two_case, bits, stride))

ATOMICS = {  # what memory m becomes with x; old names
    "swap": ("b", lambda m, x: x),
    "add": ("u", lambda m, x: m + x),
    "sub": ("u", lambda m, x: m - x),
    "and": ("b", lambda m, x: m & x),
    "or": ("b", lambda m, x: m | x),
    "xor": ("b", lambda m, x: m ^ x),
    "umin": ("u", np.minimum),
    "umax": ("u", np.maximum),
    "smin": ("i", lambda m, x: np.minimum(signed(m), signed(x)).view(m.dtype)),
    "smax": ("i", lambda m, x: np.maximum(signed(m), signed(x)).view(m.dtype)),
    "inc": ("u", lambda m, x: np.where(m >= x, 0, m + m.dtype.type(1))),
    "dec": ("u", lambda m, x: np.where((m == 0) | (m > x), x, m - m.dtype.type(1))),
}


def signed(x):
    return x.view(f"i{x.dtype.itemsize}")


def atomic_operands(function, bits, target):
    """Return memory, operand and what memory becomes, each as words; some operands equal memory, or are 0."""
    dtype = U64 if bits == 64 else U32
    m, x = (np.ascontiguousarray(data(target, bits // 32, seed)).view(dtype) for seed in (0, 1))
    x[:, ::4], m[:, 1::8] = m[:, ::4], 0
    if function is None:
        return m, x, x
    return m, x, np.asarray(function(m, x)).astype(dtype)


def atomic_case(space, mnemonic, function, bits, returns, target):
    """Return the case of an atomic in each lane's memory: the old value, where it is returned, and memory then."""
    words = bits // 32
    m, x, new = atomic_operands(function, bits, target)
    old, operand, held, back = (group(i, words) for i in (30, 10, 14, 40))
    flag = "" if not returns else " sc0" if target == "gfx942" else " glc"
    result = f"{old}, " * returns
    wide = "dwordx2" if bits == 64 else "dword"
    load, store, base = SPACES["global" if space == "global" else "flat"]
    if space == "ds":
        code = f"{LDS_ROW}ds_write_b{bits} v20, {held} offset:32\n{mnemonic} {result}v20, {operand} offset:32\nWAIT\n"
        code += f"ds_read_b{bits} {back}, v20 offset:32"
    else:
        where = f"v255, {operand}, s[6:7]" if space == "global" else f"v[20:21], {operand}"
        code = opened(space, target) + store.format(held, wide, base) + "\nWAIT\n"
        code += f"{mnemonic} {result}{where} offset:{base}{flag}\nWAIT\n" + load.format(wide, back, base)
    vectors = {held: m.view(U32), operand: x.view(U32), old: np.full_like(m.view(U32), POISON)}
    expected = {back: new.view(U32), old: m.view(U32) if returns else vectors[old]}
    snippet = Snippet(waits(code, target), vectors, {}, (back, old), 16 * 64 + 64 if space == "ds" else 0)
    return Case(mnemonic, target, snippet, expected)


for returns in (False, True):
    label = " returns" * returns
    for name, (_, function) in ATOMICS.items():
        for bits, suffix in ((32, ""), (64, "_x2")):
            for space in ("global", "flat"):
                mnemonic = f"{space}_atomic_{name}{suffix}"
                if bits == 64 and name in ("inc", "dec"):
                    continue
                add(mnemonic + label, functools.partial(atomic_case, space, mnemonic, function, bits, returns))
    for name, function in (
        *((f"{n}_u32", ATOMICS[n][1]) for n in ("add", "sub", "inc", "dec")),
        *((f"{n}_b32", ATOMICS[n][1]) for n in ("and", "or", "xor")),
        *((f"{n[1:]}_{n[0].replace('s', 'i')}32", ATOMICS[n][1]) for n in ("umin", "umax", "smin", "smax")),
        ("add_u64", ATOMICS["add"][1]),
    ):
        operation, _, kind = name.rpartition("_")
        mnemonic = f"ds_{operation}{'_rtn' * returns}_{kind}"
        bits = int(kind[1:])
        add(mnemonic, functools.partial(atomic_case, "ds", mnemonic, function, bits, returns))
for bits in (32, 64):
    mnemonic = f"ds_wrxchg_rtn_b{bits}"
    add(mnemonic, functools.partial(atomic_case, "ds", mnemonic, ATOMICS["swap"][1], bits, True))


def swap_case(space, bits, returns, target):
    """Return the case of compare and swap: new value, then the one expected; in every other lane that is there."""
    words = bits // 32
    m, x, expected = data(target, words), data(target, words, 1), data(target, words, 2)
    expected[:, ::2] = m[:, ::2]
    mnemonic = f"{space}_atomic_cmpswap" + "_x2" * (bits == 64)
    both = np.concatenate([x, expected], axis=-1)
    old, operand, held, back = group(30, words), group(10, 2 * words), group(14, words), group(40, words)
    flag = "" if not returns else " sc0" if target == "gfx942" else " glc"
    load, store, base = SPACES[space]
    wide = "dwordx2" if bits == 64 else "dword"
    where = f"v255, {operand}, s[6:7]" if space == "global" else f"v[20:21], {operand}"
    code = opened(space, target) + store.format(held, wide, base) + "\nWAIT\n"
    code += f"{mnemonic} {f'{old}, ' * returns}{where} offset:{base}{flag}\nWAIT\n" + load.format(wide, back, base)
    vectors = {held: m, operand: both, old: np.full_like(m, POISON)}
    new = np.where(np.arange(wave(target))[None, :, None] % 2 == 0, x, m)
    return Case(
        mnemonic,
        target,
        Snippet(waits(code, target), vectors, {}, (back, old)),
        {back: new, old: m if returns else vectors[old]},
    )


for space in ("global", "flat"):
    for bits in (32, 64):
        for returns in (False, True):
            name = f"{space}_atomic_cmpswap{bits}{' returns' * returns}"
            add(name, functools.partial(swap_case, space, bits, returns))


def float_atomic(space, bits, target):
    """Return the case of a float's sum in memory."""
    dtype, wide = (np.float64, "dwordx2") if bits == 64 else (np.float32, "dword")
    m, x = (np.random.default_rng(i).normal(size=(2, wave(target), 1)).astype(dtype) for i in range(2))
    words = bits // 32
    operand, held, back = group(10, words), group(14, words), group(40, words)
    if space == "ds":
        code = (
            f"{LDS_ROW}ds_write_b{bits} v20, {held}\nds_add_f{bits} v20, {operand}\nWAIT\nds_read_b{bits} {back}, v20"
        )
    else:
        load, store, base = SPACES[space]
        where = f"v255, {operand}, s[6:7]" if space == "global" else f"v[20:21], {operand}"
        code = opened(space, target) + store.format(held, wide, base) + "\nWAIT\n"
        code += f"{space}_atomic_add_f{bits} {where} offset:{base}\nWAIT\n" + load.format(wide, back, base)
    vectors = {held: m.view(U32), operand: x.view(U32)}
    snippet = Snippet(waits(code, target), vectors, {}, (back,), 16 * 64 + 64 if space == "ds" else 0)
    return Case(f"{space} add f{bits}", target, snippet, {back: (m + x).view(U32)})


for space in ("global", "flat", "ds"):
    for bits in (32, 64):
        add(f"{space} add f{bits}", functools.partial(float_atomic, space, bits), GFX9 if bits == 64 else GFX9 + GFX11)


def same_place(target):
    """Return the case of all active lanes that add 1 to the same word: the old values are different numbers."""
    on, mask = mask_of(target)
    lanes = wave(target)
    code = (
        "v_mov_b32 v20, 0\nv_mov_b32 v21, 1\nds_write_b32 v20, v20\nWAIT\n"
        + mask
        + "ds_add_rtn_u32 v8, v20, v21\nWAIT\n"
    )
    expected = np.full((2, lanes, 1), POISON, U32)
    expected[:, on, 0] = np.arange(on.sum())
    vectors = {"v8": np.full((2, lanes, 1), POISON, U32)}
    return Case("ds_add_rtn_u32", target, Snippet(waits(code, target), vectors, {}, ("v8",), 64), {"v8": expected})


add("ds_add_rtn_u32 same place", same_place)


def scalar_load(words, target):
    """Return the case of a scalar load, by a number and by a register."""
    row = np.random.default_rng(0).integers(0, 1 << 32, (4, 24), np.uint32)
    size = f"x{words}" if words > 1 else ""
    name = f"s[48:{47 + words}]" if words > 1 else "s48"
    code = f"s_mov_b32 s44, 8\ns_load_dword{size} {name}, s[8:9], s44\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s46, s48\n"
    code += f"s_load_dword{size} {name}, s[8:9], 0x10"
    expected = {"s46": row[:, None, 2:3], name: row[:, None, 4 : 4 + words]}
    return Case(f"s_load_dword{size}", target, Snippet(code, {}, {"s[20:43]": row}, ("s46", name)), expected)


for words in (1, 2, 4, 8, 16):
    add(f"s_load_dwordx{words}", functools.partial(scalar_load, words))
