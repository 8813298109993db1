"""Arithmetic with one rounding, in Python's integers and fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

_FORMATS = {
    np.dtype(np.float16): (11, -14, 15),
    np.dtype(np.float32): (24, -126, 127),
    np.dtype(np.float64): (53, -1022, 1023),
}


def rounded(x: Fraction, dtype: Any, towards_zero: bool = False) -> Any:
    """Return the number of a type that is nearest to x, the even one of two."""
    precision, least, most = _FORMATS[np.dtype(dtype)]
    if x == 0:
        return dtype(0)
    magnitude = abs(x)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, least) - precision + 1)
    count = math.floor(magnitude / unit) if towards_zero else round(magnitude / unit)
    value = count * unit
    if value >= Fraction(2) ** (most + 1):
        big = np.finfo(dtype).max if towards_zero else np.inf
        return dtype(big if x > 0 else -big)
    return dtype(float(value) if x > 0 else -float(value))


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return a b + c, rounded once."""
    return np.array([_fma(*row) for row in zip(a, b, c, strict=True)], a.dtype)


def _fma(a: Any, b: Any, c: Any) -> Any:
    if not (np.isfinite(a) and np.isfinite(b) and np.isfinite(c)):
        product = a * b if not (np.isfinite(a) and np.isfinite(b)) else type(a)(0)
        return product + c
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    return a * b * 0 + c if exact == 0 and c == 0 else rounded(exact, type(a))


def to_integer(kind: type) -> Callable[[np.ndarray], np.ndarray]:
    """Return the conversion to an integer: towards zero, saturating, 0 from NaN."""
    limits = np.iinfo(kind)

    def convert(x: np.ndarray) -> np.ndarray:
        numbers = [0 if np.isnan(v) else float(v) if np.isinf(v) else math.trunc(float(v)) for v in x]
        return np.array([min(max(v, limits.min), limits.max) for v in numbers]).astype(kind)

    return convert


def least(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the smaller number; one NaN loses, -0 is below 0."""
    both = np.where((a == b) & np.signbit(a), a, np.where(a < b, a, b))
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, both))


def most(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the larger number; one NaN loses, 0 is above -0."""
    return -least(-a, -b)


def bf16(bits: np.ndarray) -> np.ndarray:
    """Return the numbers of upper halves of float32."""
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)
