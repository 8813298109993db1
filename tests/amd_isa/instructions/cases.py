"""A case: code, the values of its registers, and what AMD's guides say of the results, written down in NumPy."""

from __future__ import annotations

import functools
import itertools
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .assembly import TARGETS, Snippet, wave

ITEMS = 256
POISON = 0xA5A5A5A5  # in every result register before the instruction
DTYPES: dict[str, type] = {
    **{"u32": np.uint32, "i32": np.int32, "f32": np.float32, "u64": np.uint64, "i64": np.int64, "f64": np.float64},
    **{"u16": np.uint16, "i16": np.int16, "f16": np.float16},
}
_INTEGERS = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0xFFFFFF, 0x7FFFFFFF, 0x80000000]
_INTEGERS += [0xFFFFFFFF, 0xFFFFFFFE, 0x00FF00FF, 0x12345678, 0xDEADBEEF]
_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 0.75, 1e-3, -7.25, np.inf, -np.inf, np.nan]
_EDGES = {
    "f32": [
        *_FLOATS,
        2**31,
        -(2**31),
        2**32,
        65520.0,
        65504.0,
        3.4e38,
        -3.4e38,
        1e-45,
        -1e-40,
        1.2e-38,
        255.5,
        8388609.5,
    ],
    "f64": [*_FLOATS, 2**31, -(2**31) - 0.5, 2**32, 1.7e308, -1.7e308, 5e-324, 2.3e-308, 4294967295.5, 1e-40],
    "f16": [*_FLOATS, 65504.0, -65504.0, 6e-8, 6.2e-5, -1e-7, 1000.5, 2049.0],
    "u64": [
        *_INTEGERS,
        0x123456789ABCDEF0,
        0x8000000000000000,
        0x7FFFFFFFFFFFFFFF,
        0xFFFFFFFFFFFFFFFF,
        0xFFFFFFFF00000000,
    ],
}
_EDGES["i64"] = _EDGES["u64"]


def values(kinds: list[str], seed: int, count: int = ITEMS) -> list[np.ndarray]:
    """Return `count` values of each type: pairs of edges first, then random bits and moderate numbers."""
    random = np.random.default_rng(seed)
    pools = [_pool(kind) for kind in kinds]
    picked = list(itertools.islice(itertools.product(*(range(len(pool)) for pool in pools)), 100_000))
    chosen = [picked[i] for i in random.permutation(len(picked))[: count * 3 // 4]]
    return [
        np.concatenate([pool[[row[i] for row in chosen]], _random(random, kind, count - len(chosen))])
        for i, (kind, pool) in enumerate(zip(kinds, pools, strict=True))
    ]


def _pool(kind: str) -> np.ndarray:
    wide = np.array(_EDGES.get(kind, _INTEGERS), np.float64 if kind[0] == "f" else np.uint64)
    with np.errstate(all="ignore"):
        return wide.astype(DTYPES[kind])


def _random(random: np.random.Generator, kind: str, count: int) -> np.ndarray:
    dtype = np.dtype(DTYPES[kind])
    raw = random.integers(0, 256, count * dtype.itemsize, np.uint8).view(dtype).copy()
    if kind[0] == "f":
        raw[::2] = (random.normal(size=len(raw[::2])) * 100).astype(dtype)
    return raw


def to_words(array: np.ndarray) -> np.ndarray:
    """Return values as (items, words) of uint32."""
    array = np.ascontiguousarray(array)
    if array.dtype.itemsize == 2:
        return array.view(np.uint16).astype(np.uint32)[:, None]
    return array.view(np.uint32).reshape(len(array), -1)


@dataclass
class Case:
    """A case for one target.

    Attributes
    ----------
    name : str
        Mnemonic, and what is special.
    snippet : Snippet
    expected : dict
        By output: an array of (waves, lanes, words), or with a leading part of the words.
    kind : str
        Type of the first output where it is a float, so that NaNs compare equal.
    ulp : int
        Units in the last place that a float may be off.
    """

    name: str
    target: str
    snippet: Snippet
    expected: dict[str, np.ndarray]
    kinds: dict[str, str] = field(default_factory=dict)
    ulp: float = 0

    def check(self, found: dict[str, np.ndarray]) -> None:
        """Compare outputs with what is expected."""
        for register, expected in self.expected.items():
            actual = found[register]
            expected = np.broadcast_to(expected.astype(np.uint32), actual.shape)
            right = _equal(actual, expected, self.kinds.get(register, ""), self.ulp)
            if not right.all():
                at = tuple(np.argwhere(~right)[0])
                given = {
                    r: self._words(v, at) for r, v in (*self.snippet.vectors.items(), *self.snippet.scalars.items())
                }
                raise AssertionError(
                    f"{self.target} {self.name}: {register} of wave {at[0]}, lane {at[1]} is {self._words(actual, at)}"
                    f", expected {self._words(expected, at)}; {(~right).sum()} wrong; inputs {given}"
                )

    @staticmethod
    def _words(array: np.ndarray, at: tuple[int, ...]) -> list[str]:
        row = array[at[0], at[1]] if array.ndim == 3 else array[at[0]]
        return [f"{int(x):#x}" for x in row[:8]]


def _equal(actual: np.ndarray, expected: np.ndarray, kind: str, ulp: float) -> np.ndarray:
    same = actual == expected
    if not kind:
        return same
    bits = {"f16": np.uint16, "f32": np.uint32, "f64": np.uint64}[kind]
    a, e = (_numbers(x, bits, DTYPES[kind]) for x in (actual, expected))
    with np.errstate(all="ignore"):
        close = (np.isnan(a) & np.isnan(e)) | (np.abs(a.astype(np.longdouble) - e) <= ulp * np.abs(np.spacing(e))) & (
            ulp > 0
        )
    if kind == "f16":
        close = close[..., None] if close.ndim < actual.ndim else close
        return same | close & (actual >> 16 == expected >> 16)
    return same | (close if close.shape == actual.shape else np.repeat(close, 2, -1))


def _numbers(words: np.ndarray, bits: type, dtype: type) -> np.ndarray:
    if bits is np.uint16:
        return words.astype(np.uint16).view(dtype)
    return np.ascontiguousarray(words).view(bits).view(dtype)


_CASES: list[tuple[str, tuple[str, ...], Callable[[str], Case]]] = []


def add(name: str, make: Callable[[str], Case], targets: tuple[str, ...] = TARGETS) -> None:
    """Register a case, made for a target when it is needed."""
    _CASES.append((name, targets, make))


def all_cases(target: str) -> list[tuple[str, Callable[[str], Case]]]:
    """Return names and makers of the cases of a target."""
    return [(name, make) for name, targets, make in _CASES if target in targets]


def masks(bits: np.ndarray, target: str) -> np.ndarray:
    """Return a truth value for each item as (waves, words), a mask for each wave."""
    packed = np.packbits(bits.astype(bool), bitorder="little").view(np.uint32)
    return packed.reshape(-1, wave(target) // 32)


def of_waves(array: np.ndarray, target: str) -> np.ndarray:
    """Return (items, words) as (waves, lanes, words)."""
    return array.reshape(-1, wave(target), array.shape[-1])


def vector(
    mnemonic: str,
    signature: str,
    function: Callable[..., Any],
    *,
    text: str = "",
    name: str = "",
    targets: tuple[str, ...] = TARGETS,
    ulp: float = 0,
    given: Callable[..., list[np.ndarray]] | None = None,
    above: str = "",
    halves: bool = True,
) -> None:
    """Register a vector instruction.

    Parameters
    ----------
    signature : str
        ``"f32 f32 -> f32"``; ``mask`` is a truth value for each lane, ``d`` in front of a type the old result.
    function : callable
        Of arrays of these types; returns the results.
    text : str
        ``"{m} {d}, {a}, {b}"`` where the order differs; masks are ``{s}`` (in) and ``{t}`` (out).
    given : callable, optional
        Changes the drawn values.
    above : str
        ``"old"`` where gfx9 leaves the upper half of a result of 16 bits as it was.
    halves : bool
        Whether gfx11 names halves of registers.
    """
    make = functools.partial(_vector, mnemonic, signature, function, text, name or mnemonic, ulp, given, above, halves)
    add(name or mnemonic, make, targets)


def _vector(mnemonic, signature, function, text, name, ulp, given, above, halves, target) -> Case:
    sources, results = (part.split() for part in signature.split("->"))
    numbers = [kind.lstrip("d") for kind in sources if kind != "mask"]
    seed = zlib.crc32(f"{mnemonic} {signature}".encode())
    drawn = values(numbers, seed)
    if given:
        drawn = given(*drawn)
    inputs: list[Any] = list(drawn)
    for i, kind in enumerate(sources):
        if kind == "mask":
            inputs.insert(i, np.random.default_rng(seed + 1).integers(0, 2, ITEMS).astype(bool))
    with np.errstate(all="ignore"):
        made = function(*(np.array(x) for x in inputs))
    made = made if isinstance(made, tuple) else (made,)
    wide = wave(target) == 64
    vectors, scalars, names, outputs, kinds = (
        {},
        {},
        {"m": mnemonic, "D": "v8", "v": "vcc" if wide else "vcc_lo"},
        {},
        {},
    )
    letters = iter("abc")
    for i, (kind, value) in enumerate(zip(sources, inputs, strict=True)):
        if kind == "mask":
            names["s"] = "s[20:21]" if wide else "s20"
            scalars[names["s"]] = masks(value, target)
            continue
        register = 8 if kind.startswith("d") else 10 + 2 * i
        whole = _register(register, kind.lstrip("d"))
        vectors[whole] = of_waves(to_words(value), target)
        if not kind.startswith("d"):
            half = ".l" if kind.endswith("16") and not wide and halves else ""
            names[next(letters)] = whole + half
    for kind, value in zip(results, made, strict=True):
        if kind == "mask":
            names["t"] = "s[24:25]" if wide else "s24"
            outputs[names["t"]] = masks(value, target)[:, None, :]
            continue
        register = _register(8, kind)
        names["d"] = register + (".l" if kind.endswith("16") and not wide and halves else "")
        expected = to_words(np.asarray(value, DTYPES[kind]))
        if kind.endswith("16") and (not wide or above == "old"):
            old = vectors[register].reshape(expected.shape) if register in vectors else np.uint32(POISON)
            expected = expected | old & np.uint32(0xFFFF0000)
        vectors.setdefault(
            register, np.full((ITEMS // wave(target), wave(target), expected.shape[1]), POISON, np.uint32)
        )
        outputs[register] = of_waves(expected, target)
        if kind[0] == "f":
            kinds[register] = kind
    if not text:
        text = "{m} " + ", ".join("{" + letter + "}" for letter in ["d", *(x for x in "abc" if x in names)])
    snippet = Snippet(text.format(**names), vectors, scalars, tuple(outputs))
    return Case(name, target, snippet, outputs, kinds, ulp)


def _register(number: int, kind: str) -> str:
    return f"v[{number}:{number + 1}]" if kind.endswith("64") else f"v{number}"


def scalar(
    mnemonic: str,
    signature: str,
    function: Callable[..., Any],
    *,
    text: str = "",
    name: str = "",
    targets: tuple[str, ...] = TARGETS,
    given: Callable[..., list[np.ndarray]] | None = None,
) -> None:
    """Register a scalar instruction.

    Parameters
    ----------
    signature : str
        ``"u32 u32 -> u32"``, ``"u32 u32 ->"`` where there is SCC alone; ``scc`` is a source as well.
    function : callable
        Of arrays; returns the result and SCC, or the result where SCC stays (as it then must).
    """
    add(
        name or mnemonic,
        functools.partial(_scalar, mnemonic, signature, function, text, name or mnemonic, given),
        targets,
    )


def _scalar(mnemonic, signature, function, text, name, given, target) -> Case:
    sources, results = (part.split() for part in signature.split("->"))
    kinds = [kind.lstrip("d") for kind in sources if kind != "scc"]
    count, seed = 128, zlib.crc32(f"{mnemonic} {signature}".encode())
    drawn = values(kinds, seed, count)
    drawn = iter(given(*drawn) if given else drawn)
    scc = np.random.default_rng(seed).integers(0, 2, count).astype(np.uint32)
    inputs = [scc if kind == "scc" else next(drawn) for kind in sources]
    with np.errstate(all="ignore"):
        made = function(*inputs)
    if not isinstance(made, tuple):
        made = (made, scc) if results else (made,)
    names, scalars, letters = {"m": mnemonic}, {"s30": scc[:, None]}, iter("abc")
    for i, (kind, value) in enumerate(zip(sources, inputs, strict=True)):
        if kind != "scc":
            register = _scalar_register(28 if kind.startswith("d") else 20 + 2 * i, kind.lstrip("d"))
            scalars[register] = to_words(value)
            if not kind.startswith("d"):
                names[next(letters)] = register
    expected = {"scc": np.asarray(made[-1]).astype(np.uint32)[:, None, None]}
    if results:
        names["d"] = _scalar_register(28, results[0])
        expected[names["d"]] = to_words(np.asarray(made[0]).astype(DTYPES[results[0]]))[:, None, :]
    if not text:
        text = "{m} " + ", ".join("{" + x + "}" for x in ["d"] * bool(results) + [x for x in "abc" if x in names])
    code = "s_cmp_lg_u32 s30, 0\n" + text.format(**names)
    return Case(name, target, Snippet(code, {}, scalars, tuple(expected)), expected)


def _scalar_register(number: int, kind: str) -> str:
    return f"s[{number}:{number + 1}]" if kind.endswith("64") else f"s{number}"
