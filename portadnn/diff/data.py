"""Inputs by formula: a number is a function of seed, tensor and position, the same on every machine.

Position i of tensor t is hashed with integers alone (SplitMix64's finaliser [1]_), and numbers are made of the hash by
sums and powers of two, so that no library's generator, and no rounding, decides what a case feeds.

References
----------
.. [1] G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..enums import DataType, MathType
from ..errors import BadParam, shown
from ..operation import operation
from ..problem import TensorSpec

Words = npt.NDArray[np.uint64]
Reals = npt.NDArray[np.float64]

LARGEST_WHOLE = 3  # of exact data
DENSITY = 0.75  # share of exact data that is not 0
_EXACT_LIMITS = {DataType.FLOAT: 2.0**24, DataType.DOUBLE: 2.0**53}  # whole numbers that an accumulator holds


def words(seed: int, tensor: str, count: int) -> Words:
    """Return 64 random bits for each of the first `count` positions of a tensor."""
    start = (zlib.crc32(tensor.encode()) << 32) ^ (seed * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)
    with np.errstate(over="ignore"):
        z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(start)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Words = z ^ (z >> np.uint64(31))
    return mixed


def _bell(bits: Words) -> Reals:
    """Return numbers of mean 0 and standard deviation 1.15: sums of four uniform ones, with digits for any type.

    What float64 has beyond float32, and float32 beyond TF32, decides whether a kernel reads all of a number.
    """
    quarters = [(bits >> np.uint64(shift)) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48)]
    total = quarters[0] + quarters[1] + quarters[2] + quarters[3]
    with np.errstate(over="ignore"):
        fine = (bits * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(29)  # 35 bits below the last one of the sum
    numbers: Reals = (total.astype(np.float64) - 131070.0) / 2.0**15 + fine.astype(np.float64) / 2.0**50
    return numbers


def _exact(bits: Words, spec: TensorSpec) -> Reals:
    span = 2 * LARGEST_WHOLE
    whole = (bits % np.uint64(span)).astype(np.float64) - LARGEST_WHOLE
    whole += whole >= 0  # from -3 to 3 without 0
    return np.where((bits >> np.uint64(40)) % np.uint64(100) < np.uint64(round(100 * DENSITY)), whole, 0.0)


def _random(bits: Words, spec: TensorSpec) -> Reals:
    return _bell(bits)


def _ties(bits: Words, spec: TensorSpec) -> Reals:
    """Return few different numbers, 0 and -0 among them: maxima and ranks are shared by many."""
    numbers: Reals = np.array([-1.0, -0.0, 0.0, 1.0, 1.0, 2.0])[(bits % np.uint64(6)).astype(np.intp)]
    return numbers


def _some(bits: Words, values: Reals, special: tuple[float, ...], one_in: int = 0) -> Reals:
    """Replace one number of `one_in` by one of the special ones; by default about three of all."""
    one_in = one_in or max(16, bits.size // 3)
    chosen = np.array(special)[((bits >> np.uint64(20)) % np.uint64(len(special))).astype(np.intp)]
    return np.where((bits >> np.uint64(32)) % np.uint64(one_in) == 1, chosen, values)


def _nan(bits: Words, spec: TensorSpec) -> Reals:
    return _some(bits, _bell(bits), (np.nan,))


def _inf(bits: Words, spec: TensorSpec) -> Reals:
    return _some(bits, _bell(bits), (np.inf, -np.inf))


def _denormal(bits: Words, spec: TensorSpec) -> Reals:
    """Return numbers around the smallest normal one, most of them below it."""
    limits = spec.dtype.limits
    return _bell(bits) * limits.smallest_normal / 4


def _huge(bits: Words, spec: TensorSpec) -> Reals:
    """Return some numbers up to the type's largest among ordinary ones: most sums of many numbers meet few of them."""
    limits = spec.dtype.limits
    largest = -limits.lowest
    return _some(
        bits, _bell(bits), (largest, -largest, largest / 2, -largest / 4, largest / 1024), max(4, bits.size // 12)
    )


def _cancelling(bits: Words, spec: TensorSpec) -> Reals:
    """Return large numbers that come in pairs of opposite sign along memory, with small ones on top."""
    size = 2.0 ** (min(-np.log2(spec.dtype.limits.eps), 20) // 2)
    pairs = np.repeat(_bell(bits[: (bits.size + 1) // 2]) * size, 2)[: bits.size]
    signs = np.where(np.arange(bits.size) % 2, -1.0, 1.0)
    return pairs * signs + _bell(bits) / 16


_MODES: dict[str, Callable[[Words, TensorSpec], Reals]] = {
    "exact": _exact,
    "random": _random,
    "ties": _ties,
    "nan": _nan,
    "inf": _inf,
    "denormal": _denormal,
    "huge": _huge,
    "cancelling": _cancelling,
}
DATA_MODES = tuple(_MODES)
FORMULA = 1  # counts the versions of what this module makes: golden files name theirs
ADVERSARIAL = DATA_MODES[2:]
FINITE = ("exact", "random", "ties", "denormal", "cancelling")  # modes without NaN, infinities and overflow

_MODE_NAMES = ("activation", "operation", "mode")


def kinds_for(op: str, problem: Any = None) -> tuple[str, ...]:
    """Return the adversarial kinds of data for which an operation's results are settled.

    Parameters
    ----------
    op
        An operation.
    problem
        Its problem, where the mode is to count: of the operation alone all kinds are returned that a mode takes.
    """
    mode = next((m.name for m in (getattr(problem, name, None) for name in _MODE_NAMES) if m is not None), "")
    without = operation(op).data.unsettled_kinds(mode)
    if getattr(problem, "math", None) is MathType.TENSOR_OP_ALLOW_CONVERSION:
        without.add("huge")  # the largest float32 numbers are rounded to infinity
    return tuple(kind for kind in ADVERSARIAL if kind not in without)


def kind_of(op: str, name: str, data: str) -> str:
    """Return how one tensor of an operation is filled in a mode."""
    known = operation(op).data
    if data == "cancelling" and name in known.moderate:
        return "random"
    if data in ("nan", "inf") and known.special is not None and name not in known.special:
        return "random"
    return data


def places(name: str, size: int, count: int) -> npt.NDArray[np.intp]:
    """Return `count` places of a tensor of `size` elements or fewer, in order; all of a small one, always the last."""
    if size <= count:
        return np.arange(size)
    chosen = (words(size, f"{name} sample", count) % np.uint64(size)).astype(np.intp)
    return np.unique(np.append(chosen[:-1], size - 1))


def values(spec: TensorSpec, data: str, seed: int, name: str) -> Any:
    """Return a tensor's numbers, rounded to its type, in logical order.

    Parameters
    ----------
    spec
        Of the tensor. Integer types get any bytes.
    data
        One of :data:`DATA_MODES`.
    seed, name
        With the position they decide each number.
    """
    bits = words(seed, name, spec.size)
    if not spec.dtype.is_float:
        return (bits >> np.uint64(24)).astype(spec.dtype.storage).reshape(spec.dims)
    with np.errstate(over="ignore"):
        return spec.dtype.stored(_MODES[data](bits, spec)).reshape(spec.dims)


@dataclass(frozen=True)
class Fill:
    """What a tensor holds in place of numbers by formula.

    Attributes
    ----------
    value : float
    place : int or None
        The only place that has the value, counted in logical order, all others being 0; None for all places.
    """

    value: float
    place: int | None = None

    def __str__(self) -> str:
        text = f"{self.value:g}" if float(f"{self.value:g}") == self.value else repr(self.value)
        return text if self.place is None else f"{text}@{self.place}"

    @classmethod
    def parse(cls, text: str) -> Fill:
        """Read the text form back.

        Raises
        ------
        BadParam
            It is none.
        """
        value, at, place = text.partition("@")
        try:
            if at and not place.isdecimal():
                raise ValueError
            return cls(float(value), int(place) if at else None)
        except ValueError:
            raise BadParam(argument="fill", expected="tensor:number or tensor:number@place", got=shown(text)) from None

    def array(self, spec: TensorSpec) -> Any:
        """Return the tensor's numbers, as stored."""
        found = np.full(spec.dims, self.value if self.place is None else 0.0)
        if self.place is not None:
            found.flat[self.place] = self.value
        with np.errstate(over="ignore"):
            return spec.dtype.stored(found)


def exact_results(problem: Any, numbers: Mapping[str, float]) -> bool:
    """Tell whether small whole numbers have whole results that every sum, in any order, finds without rounding."""
    exact = operation(problem.op).data.exact_for(problem)
    if not exact or any(4 * number % 1 for number in (*numbers.values(), getattr(problem, "ceiling", 0.0))):
        return False
    factors = LARGEST_WHOLE**2 * (max(map(abs, numbers.values()), default=1.0) + 1) ** 2 * 16
    length = max(problem.reduction_length(name) for name in problem.written)
    return bool(length * factors < _EXACT_LIMITS[problem.dtype.accumulator])
