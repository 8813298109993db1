"""What the tests of MIOpen's names share: a handle with short cuts, and NumPy's word on what MIOpen computes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from where import BACKENDS

from portadnn import miopen

F, H, D = miopen.miopenFloat, miopen.miopenHalf, miopen.miopenDouble
DTYPES = {F: np.float32, H: np.float16, D: np.float64, miopen.miopenInt32: np.int32, miopen.miopenInt64: np.int64}


class Env:
    """A handle of a backend, and tensors on it."""

    def __init__(self, backend="reference"):
        self.h = miopen.miopenCreate(backend=backend)
        self.rng = np.random.default_rng(7)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        miopen.miopenDestroy(self.h)

    def desc(self, *dims, dtype=F, strides=None):
        made = miopen.miopenCreateTensorDescriptor()
        miopen.miopenSetTensorDescriptor(made, dtype, len(dims), dims, strides)
        return made

    def random(self, *dims, dtype=F):
        return self.rng.standard_normal(dims).astype(DTYPES[dtype])

    def dev(self, host):
        put = self.h.asarray if np.asarray(host).dtype.kind == "f" else self.h.device.asarray  # which keeps integers
        return put(np.ascontiguousarray(host))

    def pair(self, host):
        """Return (descriptor, data) of a host array."""
        dtype = next(key for key, value in DTYPES.items() if value == host.dtype)
        return self.desc(*host.shape, dtype=dtype), self.dev(host)

    def out(self, *dims, dtype=F):
        """Return (descriptor, data) of an output that is full of NaN."""
        return self.pair(np.full(dims, np.nan, DTYPES[dtype]))

    def bytes(self, size):
        return self.h.empty_bytes(size), size

    def host(self, data):
        return np.asarray(self.h.to_numpy(data))


def close(found, want, rtol=2e-5, atol=2e-6):
    """Compare with what NumPy says: relative to each number, and to the largest."""
    assert np.shape(found) == np.shape(want)
    np.testing.assert_allclose(np.asarray(found, float), want, rtol=rtol, atol=atol * max(1.0, np.abs(want).max()))


def convolve(x, w, pad=(0, 0), stride=(1, 1), dilation=(1, 1), groups=1):
    """Cross-correlate, by loops over the filter's cells."""
    x, w = x.astype(float), w.astype(float)
    n, _, *sizes = x.shape
    k, share, *cells = w.shape
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    reach = [d * (r - 1) + 1 for d, r in zip(dilation, cells, strict=True)]
    out = [(s + 2 * p - e) // u + 1 for s, p, e, u in zip(sizes, pad, reach, stride, strict=True)]
    y = np.zeros((n, k, *out))
    for cell in itertools.product(*map(range, cells)):
        places = tuple(
            slice(d * i, d * i + u * (o - 1) + 1, u) for d, i, u, o in zip(dilation, cell, stride, out, strict=True)
        )
        part = padded[(slice(None), slice(None), *places)]
        for g in range(groups):
            rows = slice(g * k // groups, (g + 1) * k // groups)
            inputs = part[:, g * share : (g + 1) * share]
            y[:, rows] += np.einsum("nc...,kc->nk...", inputs, w[(rows, slice(None), *cell)])
    return y


def gradient(function, at, change, step=1e-6):
    """Return the gradient of sum(function(at) * change) by central differences."""
    at = np.array(at, float)
    found = np.zeros_like(at)
    for place in itertools.product(*map(range, at.shape)):
        old = at[place]
        sums = []
        for sign in (1, -1):
            at[place] = old + sign * step
            sums.append(sum(np.vdot(y, dy) for y, dy in zip(function(at), change, strict=True)))
        at[place] = old
        found[place] = (sums[0] - sums[1]) / (2 * step)
    return found


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def recurrent(mode, x, hx, cx, matrices, biases, directions):
    """Run a network as MIOpen's header describes it.

    `matrices` and `biases` are by (pseudo-layer, MIOpen's paramID): LSTM i, f, o, new memory; GRU z, r, new memory.
    Returns y, hy, cy.
    """
    gates = {"lstm": 4, "gru": 3}.get(mode, 1)
    layers = hx.shape[0] // directions
    hy, cy = np.zeros(hx.shape), np.zeros(hx.shape)
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            pseudo = layer * directions + direction
            h, c = hx[pseudo].astype(float), cx[pseudo].astype(float)
            steps = range(len(x))[:: -1 if direction else 1]
            y = np.zeros((len(x), *h.shape))
            for t in steps:

                def linear(number, v, p=pseudo):
                    return (v if (p, number) not in matrices else v @ matrices[p, number].T) + biases[p, number]

                into = [linear(g, x[t]) for g in range(gates)]
                back = [linear(gates + g, h) for g in range(gates)]
                if mode == "lstm":
                    i, f, o = (sigmoid(into[g] + back[g]) for g in range(3))
                    c = f * c + i * np.tanh(into[3] + back[3])
                    h = o * np.tanh(c)
                elif mode == "gru":
                    z, r = (sigmoid(into[g] + back[g]) for g in range(2))
                    h = (1 - z) * np.tanh(into[2] + r * back[2]) + z * h
                else:
                    v = into[0] + back[0]
                    h = np.tanh(v) if mode == "tanh" else np.maximum(v, 0)
                y[t] = h
            hy[pseudo], cy[pseudo] = h, c
            outputs.append(y)
        x = np.concatenate(outputs, axis=-1)
    return x, hy, cy


def every_backend():
    """Parametrise a test with `env`: an open :class:`Env` on each backend."""
    return pytest.mark.parametrize("env", BACKENDS, indirect=True)
