"""LSTM, GRU and RNN of ONNX, step by step: cuDNN's networks have no peepholes, and no GRUs that reset first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .layers import binary, product
from .table import OPERATORS, Array, Node, onnx_operator

_USUAL = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
_ACTIVATIONS = ("Relu", "Sigmoid", "Tanh", "Elu")


class _Cell:
    """One direction of a network.

    Attributes
    ----------
    w, r, b, p
        Weights of the input and of the state, both biases, and an LSTM's peepholes or None.
    """

    def __init__(self, node: Node, w: Array, r: Array, b: Array | None, p: Array | None, names: Sequence[str]) -> None:
        self.node, self.w, self.r, self.p = node, w, r, p
        self.names = [name.capitalize() for name in names]
        if unknown := [name for name in self.names if name not in _ACTIVATIONS]:
            raise node.refuse(f"an activation {unknown[0]}; portadnn has {', '.join(_ACTIVATIONS)}")
        rows = len(w)
        self.wb, self.rb = (np.zeros(rows, w.dtype),) * 2 if b is None else (b[:rows], b[rows:])

    def add(self, a: Array, b: Array) -> Array:
        """Return the sum."""
        return binary(self.node, "ADD", a, b)

    def times(self, a: Array, b: Array) -> Array:
        """Return the product, number by number."""
        return binary(self.node, "MUL", a, b)

    def f(self, place: int, x: Array) -> Array:
        """Return the activation of a gate."""
        clip = self.node.get("clip")
        x = x if clip is None else np.clip(x, -clip, clip)
        inner = Node(self.node.handle, self.names[place], {}, (True,), self.node.opset)
        found: Array = OPERATORS[self.names[place]](inner, x)
        return found

    def gates(self, x: Array, h: Array, count: int) -> list[Array]:
        """Return what each gate is given."""
        whole = self.add(product(self.node, x, self.w.T), product(self.node, h, self.r.T))
        return np.split(self.add(whole, (self.wb + self.rb)[None]), count, axis=1)

    def rnn(self, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        """Return the next state of a plain network."""
        return self.f(0, self.gates(x, h, 1)[0]), c

    def gru(self, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        """Return the next state of a GRU, which resets before or after its product."""
        size = h.shape[1]
        update, reset, _ = self.gates(x, h, 3)
        z, r = self.f(0, update), self.f(0, reset)
        wx = self.add(product(self.node, x, self.w[2 * size :].T), self.wb[None, 2 * size :])
        rw, rb = self.r[2 * size :].T, self.rb[None, 2 * size :]
        if self.node.get("linear_before_reset", 0):
            state = self.times(r, self.add(product(self.node, h, rw), rb))
        else:
            state = self.add(product(self.node, self.times(r, h), rw), rb)
        new = self.f(1, self.add(wx, state))
        return self.add(self.times(binary(self.node, "ADD", np.ones_like(z), z, alpha2=-1.0), new), self.times(z, h)), c

    def lstm(self, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        """Return the next state and cell of an LSTM."""
        i, o, f, new = self.gates(x, h, 4)
        peeps = None if self.p is None else [part[None] for part in np.split(self.p, 3)]  # i, o, f
        if peeps is not None:
            i, f = self.add(i, self.times(c, peeps[0])), self.add(f, self.times(c, peeps[2]))
        i, f, new = self.f(0, i), self.f(0, f), self.f(1, new)
        if self.node.get("input_forget", 0):
            f = 1 - i
        c = self.add(self.times(f, c), self.times(i, new))
        if peeps is not None:
            o = self.add(o, self.times(c, peeps[1]))
        return self.times(self.f(0, o), self.f(2, c)), c


def _steps(
    step: Callable[..., tuple[Array, Array]], x: Array, h: Array, c: Array, lengths: Array
) -> tuple[Array, Array, Array]:
    """Run over the steps; sequences that are over keep their state and give zeros."""
    found = []
    for t in range(len(x)):
        new_h, new_c = step(x[t], h, c)
        there = (t < lengths)[:, None]
        h, c = np.where(there, new_h, h), np.where(there, new_c, c)
        found.append(np.where(there, new_h, 0).astype(x.dtype))
    return np.stack(found), h, c


def _turned(x: Array, lengths: Array) -> Array:
    """Return sequences in the opposite order, each within its length."""
    found: Array = x.copy()
    for n, length in enumerate(lengths):
        found[:length, n] = x[:length, n][::-1]
    return found


@onnx_operator("LSTM", "GRU", "RNN")
def _recurrent(
    node: Node,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Array | None = None,
    initial_h: Array | None = None,
    initial_c: Array | None = None,
    p: Array | None = None,
) -> Any:
    first = node.get("layout", 0) == 1  # batches come first
    x = x.transpose(1, 0, 2) if first else x
    steps, batch, _ = x.shape
    directions, size = len(w), r.shape[2]
    lengths = np.full(batch, steps) if lengths is None else lengths
    state = (directions, batch, size)
    starts = [
        np.zeros(state, x.dtype) if one is None else one.transpose(1, 0, 2) if first else one
        for one in (initial_h, initial_c)
    ]
    given = node.get("activations") or _USUAL[node.op] * directions
    names = [name.decode() if isinstance(name, bytes) else name for name in given]
    each = len(names) // directions
    outputs, last_h, last_c = [], [], []
    for d in range(directions):
        parts = [None if one is None else one[d] for one in (b, p)]
        cell = _Cell(node, w[d], r[d], parts[0], parts[1], names[d * each : (d + 1) * each])
        backwards = d == 1 or node.get("direction", "forward") == "reverse"
        seen = _turned(x, lengths) if backwards else x
        y, h, c = _steps(getattr(cell, node.op.lower()), seen, starts[0][d], starts[1][d], lengths)
        outputs.append(_turned(y, lengths) if backwards else y)
        last_h.append(h)
        last_c.append(c)
    y, h, c = np.stack(outputs, 1), np.stack(last_h), np.stack(last_c)
    if first:
        y, h, c = y.transpose(2, 0, 1, 3), h.transpose(1, 0, 2), c.transpose(1, 0, 2)
    return (y, h, c) if node.op == "LSTM" else (y, h)
