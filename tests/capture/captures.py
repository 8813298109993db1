"""What the tests of captures share."""

from __future__ import annotations

from typing import Any

import numpy as np

RNG = np.random.default_rng


def numbers(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    """Return normal float32 numbers."""
    return RNG(seed).standard_normal(shape).astype(np.float32)


def fill(handle: Any, array: Any, values: np.ndarray[Any, Any]) -> None:
    """Overwrite a packed array in place, without a call of portadnn's."""
    native = handle.device.wrap(array, "array")
    assert native.dtype == values.dtype
    handle.device.write_bytes(native, np.ascontiguousarray(values).view(np.uint8).ravel())


def expect(handle: Any, array: Any, want: np.ndarray[Any, Any], tolerance: float = 1e-5) -> None:
    """Compare an array with what NumPy computed."""
    np.testing.assert_allclose(handle.to_numpy(array), want, rtol=tolerance, atol=tolerance * max(1, abs(want).max()))


def relu(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return max(values, 0)."""
    return np.maximum(values, 0)


def convolved(x: np.ndarray[Any, Any], w: np.ndarray[Any, Any], pad: int) -> np.ndarray[Any, Any]:
    """Return the cross-correlation with stride 1."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], (2, 3))
    return np.einsum("ncpqrs,kcrs->nkpq", windows, w)


def pooled(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the maxima of 2x2 pixels."""
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))


def softmax(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the softmax over channels."""
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)
