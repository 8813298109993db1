"""bfloat16 on the host. NumPy has no such type: its dtype is that of ml_dtypes, imported when first needed.

Without ml_dtypes, views of other memory still work: their arrays then have the dtype :data:`BITS`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import NotSupported

BITS = np.dtype([("bfloat16", np.uint16)])


@functools.cache
def _from_ml_dtypes() -> np.dtype[Any] | None:
    try:
        from ml_dtypes import bfloat16
    except ImportError:
        return None
    dtype: np.dtype[Any] = np.dtype(bfloat16)
    return dtype


def numpy_dtype() -> np.dtype[Any]:
    """Return ``ml_dtypes.bfloat16`` as a dtype.

    Raises
    ------
    NotSupported
        ml_dtypes is not installed.
    """
    dtype = _from_ml_dtypes()
    if dtype is None:
        raise NotSupported('NumPy has no bfloat16 of its own; try: pip install "portadnn[bfloat16]" (ml_dtypes)')
    return dtype


def storage_dtype() -> np.dtype[Any]:
    """Return what arrays on a device have as dtype: ml_dtypes' where it is installed, else :data:`BITS`."""
    return _from_ml_dtypes() or BITS


def is_bfloat16(dtype: np.dtype[Any]) -> bool:
    """Tell whether a dtype means bfloat16; needs no ml_dtypes."""
    return dtype.itemsize == 2 and (dtype.name == "bfloat16" or dtype == BITS)


def widened(array: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the numbers of an array, which all are float64 numbers too."""
    bits = array.view(np.uint16).astype(np.uint32) << 16
    with np.errstate(invalid="ignore"):  # signalling NaN
        return bits.view(np.float32).astype(np.float64)


def rounded(values: npt.ArrayLike) -> npt.NDArray[np.uint16]:
    """Return the bits of the nearest bfloat16 numbers, ties to even; NaN stays NaN.

    Rounded once. By way of float32, rounded to nearest as well, some float64 numbers would end one step off: this goes
    by way of float32 rounded to odd, which never lands on a tie by accident [1]_.

    .. [1] S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
       odd", IEEE Trans. Computers 57(4), 2008.
    """
    with np.errstate(all="ignore"):
        exact = np.asarray(values, np.float64)
        single = exact.astype(np.float32)
        bits = single.view(np.uint32)
        toward_zero = bits - (np.abs(single) > np.abs(exact)).astype(np.uint32)
        odd = toward_zero | (single != exact).astype(np.uint32)
        nearest = (odd + 0x7FFF + (odd >> 16 & 1)) >> 16
    return np.where(np.isnan(exact), bits >> 16 | 0x40, nearest).astype(np.uint16)


def as_float64(tensor: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return a stored tensor's numbers, whatever its type."""
    return widened(tensor) if is_bfloat16(tensor.dtype) else tensor.astype(np.float64, copy=False)
