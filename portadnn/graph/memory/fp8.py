"""FP8 numbers on the host: E4M3 (finite: 448 is the largest, no infinity) and E5M2 (as IEEE, 57344 is the largest).

NumPy has no such types. Arrays have the dtypes of ml_dtypes where it is installed, and else hold bytes.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt


class Format:
    """One of the two formats.

    Parameters
    ----------
    name
        The dtype's in ml_dtypes.
    mantissa
        Bits after the point.
    bias
        Of the exponent.
    largest
        The largest finite number.
    infinity
        The bits of infinity, or None where there is none.
    """

    def __init__(self, name: str, mantissa: int, bias: int, largest: float, infinity: int | None) -> None:
        self.name, self.mantissa, self.bias, self.largest, self.infinity = name, mantissa, bias, largest, infinity
        self.nan = 0x7F

    @functools.cached_property
    def table(self) -> npt.NDArray[np.float64]:
        """The number behind each byte."""
        bits = np.arange(256)
        exponent, fraction = bits >> self.mantissa & (0x7F >> self.mantissa), bits & ((1 << self.mantissa) - 1)
        significand = np.where(exponent == 0, 0, 1) + fraction / (1 << self.mantissa)
        values = np.ldexp(significand, np.maximum(exponent, 1) - self.bias)
        magnitude = bits & 0x7F
        if self.infinity is None:
            values[magnitude == self.nan] = np.nan
        else:
            values[magnitude == self.infinity] = np.inf
            values[magnitude > self.infinity] = np.nan
        table: npt.NDArray[np.float64] = np.where(bits & 0x80, -values, values)
        return table

    @property
    def storage(self) -> np.dtype[Any]:
        """ml_dtypes' dtype, or uint8 without it."""
        return _from_ml_dtypes(self.name) or np.dtype(np.uint8)

    def decoded(self, bits: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
        """Return the numbers that bytes stand for."""
        return self.table[bits]

    def encoded(self, values: npt.ArrayLike, *, saturate: bool = True) -> npt.NDArray[np.uint8]:
        """Return the bytes of the nearest numbers, ties to even; NaN stays NaN.

        Parameters
        ----------
        saturate
            What is beyond the largest number becomes that number, as on NVIDIA's devices. Otherwise it becomes
            infinity, or NaN where there is none.
        """
        with np.errstate(all="ignore"):
            exact = np.asarray(values, np.float64)
            magnitude = np.abs(exact)
            _, exponent = np.frexp(np.where(np.isfinite(magnitude), magnitude, 1.0))
            step = np.maximum(exponent - 1, 1 - self.bias) - self.mantissa  # of the last bit, as a power of two
            rounded = np.ldexp(np.rint(np.ldexp(magnitude, -step)), step)  # exact: the scaled number is below 2**53
            beyond = rounded > self.largest
            rounded = np.where(beyond, self.largest, rounded)
            _, exponent = np.frexp(rounded)
            biased = np.where(rounded == 0, 1, np.maximum(exponent - 1 + self.bias, 1))
            whole = np.ldexp(rounded, self.mantissa + self.bias - biased)  # significand with its leading one
            fraction = np.where(np.isnan(whole), 0, whole).astype(np.int64)
            bits = fraction + ((biased - 1) << self.mantissa)  # the leading one carries into the exponent
        if not saturate:
            bits = np.where(beyond, self.nan if self.infinity is None else self.infinity, bits)
        bits = np.where(np.isnan(exact), self.nan, bits)
        return (bits | np.where(np.signbit(exact), 0x80, 0)).astype(np.uint8)


@functools.cache
def _from_ml_dtypes(name: str) -> np.dtype[Any] | None:
    try:
        import ml_dtypes
    except ImportError:
        return None
    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return dtype


class PowersOfTwo:
    """E8M0: a power of two, from 2**-127 to 2**127, and NaN; scales of blocks."""

    storage = np.dtype(np.uint8)

    def decoded(self, bits: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
        """Return the numbers that bytes stand for."""
        powers = np.ldexp(1.0, bits.astype(np.int64) - 127)
        found: npt.NDArray[np.float64] = np.where(bits == 255, np.nan, powers)
        return found

    def encoded(self, values: npt.ArrayLike) -> npt.NDArray[np.uint8]:
        """Return the bytes of the nearest powers, the larger of two; what is not positive becomes 2**-127."""
        exact = np.asarray(values, np.float64)
        known = np.where(np.isfinite(exact) & (exact > 0), exact, 1.0)
        mantissa, exponent = np.frexp(known)  # from 0.5 on, below 1
        bits = np.clip(exponent - 1 + 127 + (mantissa >= 0.75), 0, 254)
        bits = np.where(exact <= 0, 0, np.where(np.isposinf(exact), 254, bits))
        return np.where(np.isnan(exact), 255, bits).astype(np.uint8)


class Nibbles:
    """E2M1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives, in four bits; there is no NaN, which becomes 6."""

    storage = np.dtype(np.uint8)

    def __init__(self) -> None:
        self._format = Format("", 1, 1, 6.0, None)

    def decoded(self, bits: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
        """Return the numbers that codes stand for, each in a byte."""
        return self._format.decoded(((bits & 7) | (bits & 8) << 4).astype(np.uint8))

    def encoded(self, values: npt.ArrayLike) -> npt.NDArray[np.uint8]:
        """Return the codes of the nearest numbers, ties to even, each in a byte."""
        exact = np.asarray(values, np.float64)
        bits = self._format.encoded(np.where(np.isnan(exact), 6.0, exact))
        return ((bits & 7) | (bits & 0x80) >> 4).astype(np.uint8)


E8M0, E2M1 = PowersOfTwo(), Nibbles()
E4M3 = Format("float8_e4m3fn", 3, 7, 448.0, None)
E5M2 = Format("float8_e5m2", 2, 15, 57344.0, 0x7C)
