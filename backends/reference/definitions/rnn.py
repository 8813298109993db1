"""The definitions of recurrent networks (guide sections 3.31 and 4.107 to 4.110), step by step.

Beside every number stands what its rounding error is measured by: the sum of the absolute values of all terms behind
it, of earlier steps and layers as far as the derivatives let their errors through.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portadnn.ops.rnn.layout import Network, RNNMode, Step
from portadnn.ops.rnn.problems import (
    RNN,
    RNNBackwardData,
    RNNBackwardWeights,
    RNNForwardInference,
    RNNForwardTraining,
)

from ...philox import keep_mask
from ..definition import Array, Arrays, Definition, Numbers


@dataclass(frozen=True)
class Num:
    """Numbers and their error terms, which arithmetic carries along."""

    v: Array
    e: Array

    def __add__(self, other: Num) -> Num:
        return Num(self.v + other.v, self.e + other.e)

    def __mul__(self, other: Num) -> Num:
        v = self.v * other.v
        return Num(v, np.abs(self.v) * other.e + np.abs(other.v) * self.e + np.abs(v))

    def rest(self) -> Num:
        """1 - v, with the error of subtracting from 1."""
        return Num(1 - self.v, self.e + 1 + np.abs(self.v))

    def times(self, matrix: Array) -> Num:
        """Return v @ matrix, whose numbers are exact."""
        size = np.abs(matrix)
        return Num(self.v @ matrix, self.e @ size + np.abs(self.v) @ size)


def exact(v: Array) -> Num:
    """Return numbers without errors, which are terms of the next sum."""
    return Num(v, np.abs(v))


def given(v: Array) -> Num:
    """Return numbers without errors."""
    return Num(v, np.zeros_like(v))


def sigmoid(x: Num) -> Num:
    """Return 1 / (1 + exp(-x))."""
    v = 1 / (1 + np.exp(-x.v))
    return Num(v, v * (1 - v) * x.e + v)


def tanh(x: Num) -> Num:
    """Return the hyperbolic tangent."""
    v = np.tanh(x.v)
    return Num(v, (1 - v * v) * x.e + np.abs(v))


def relu(x: Num) -> Num:
    """Return max(x, 0)."""
    return Num(np.maximum(x.v, 0), x.e)


def _matrices(network: Network, w: Array, layer: int, direction: int) -> tuple[Array, Array, Array, Array]:
    """Return W, R and their biases of all gates, as (gates * hidden, inputs) and (gates * hidden,)."""
    rows = network.mode.gates * network.hidden

    def cut(first: int, columns: int) -> Array:
        return w[first : first + rows * columns].reshape(rows, columns)

    own = network.matrix(layer, direction, False), network.matrix(layer, direction, True)
    b_w, b_r = (
        cut(network.bias(layer, direction, part), 1)[:, 0] if network.has_bias(part) else np.zeros(rows)
        for part in (False, True)
    )
    return cut(own[0], network.inputs(layer)), cut(own[1], network.output), b_w, b_r


def _projection(network: Network, w: Array, layer: int, direction: int) -> Array:
    """Return P, as (proj, hidden)."""
    first = network.projection(layer, direction)
    return w[first : first + network.proj * network.hidden].reshape(network.proj, network.hidden)


def _clipped(c: Num, clip: tuple[float, float] | None) -> Num:
    """Return cells within their limits, as every read of them has them; NaN stays."""
    return c if clip is None else Num(np.where(np.isnan(c.v), c.v, np.clip(c.v, *clip)), c.e)


def _moving(gradient: Num, c: Array, clip: tuple[float, float] | None) -> Num:
    """Return the gradient of cells from that of what was read of them: a limit that is reached does not move."""
    if clip is None:
        return gradient
    stuck = (c <= clip[0]) | (c >= clip[1])
    return Num(np.where(stuck, 0.0, gradient.v), np.where(stuck, 0.0, gradient.e))


def _cell(
    mode: RNNMode, wx: list[Num], rh: list[Num], h: Num, c: Num, clip: tuple[float, float] | None
) -> tuple[Num, Num, list[Num]]:
    """One step of one direction: (hidden state, cells, what training keeps) of the gates' two halves."""
    if mode is RNNMode.LSTM:
        i, f, o = (sigmoid(wx[g] + rh[g]) for g in (0, 1, 3))
        new = tanh(wx[2] + rh[2])
        c = f * _clipped(c, clip) + i * new
        return o * tanh(_clipped(c, clip)), c, [i, f, new, o]
    if mode is RNNMode.GRU:
        r, update = (sigmoid(wx[g] + rh[g]) for g in (0, 1))
        new = tanh(wx[2] + r * rh[2])
        return update.rest() * new + update * h, c, [r, update, new, rh[2]]
    h = (relu if mode is RNNMode.RNN_RELU else tanh)(wx[0] + rh[0])
    return h, c, [h]


def _rows(problem: RNN, array: Array) -> Array:
    """Return the steps' rows, one after the other."""
    return array.reshape(problem.sequence.rows, array.shape[1 if problem.batch_sizes else 2])


def _state(problem: RNN, arrays: Arrays, name: str) -> Array:
    """Return an initial or final state, zeros where there is none, as (layer, direction, batch, hidden)."""
    network = problem.network
    numbers = network.hidden if "c" in name else network.output
    dims = (network.layers, network.directions, problem.sequence.batch, numbers)
    return arrays[name].reshape(dims) if name in arrays else np.zeros(dims)


class Mask:
    """The dropout between layers: its seed and draw, from random states or a reserve space."""

    def __init__(self, problem: RNN, stored: Array) -> None:
        self._dropout = problem.dropout
        self.words = stored[:16].astype(np.uint8)
        self._seed, self._draw = map(int, self.words.view("<u8"))

    def factors(self, layer: int, outputs: Array) -> Array:
        """Return what each of a layer's outputs is multiplied by."""
        keep = keep_mask(outputs.size, self._dropout, self._seed, self._draw, layer).reshape(outputs.shape)
        return np.where(keep, 0.0 if self._dropout == 1 else 1 / (1 - self._dropout), 0.0)

    def next_states(self, states: Array) -> Array:
        """Return the states of the next draw."""
        after: Array = states.copy()
        after[:16] = np.array([self._seed, (self._draw + 1) % 2**64], "<u8").view(np.uint8)
        return after


class Kept:
    """The reserve space of a problem as arrays over its memory."""

    def __init__(self, problem: RNN, content: Array | None = None) -> None:
        self._layout = layout = problem.kept
        self._real = problem.dtype.accumulator.numpy
        self._rows = layout.rows
        self.memory = np.zeros(layout.size)
        self.mask: Mask | None = None
        if content is not None:
            stored = np.ascontiguousarray(content.astype(np.uint8)[: layout.size * self._real.itemsize])
            with np.errstate(invalid="ignore"):  # gaps and masks are no numbers
                self.memory[...] = stored.view(self._real)
            if layout.dropout:
                self.mask = Mask(problem, content[layout.draw * self._real.itemsize :])

    def _cut(self, first: int, *dims: int) -> Array:
        dims = (self._rows, self._layout.network.directions, *dims)
        return self.memory[first : first + int(np.prod(dims))].reshape(dims)

    def gates(self, layer: int) -> Array:
        return self._cut(self._layout.gates(layer), self._layout.network.mode.slots, self._layout.network.hidden)

    def cells(self, layer: int) -> Array:
        return self._cut(self._layout.cells(layer), self._layout.network.hidden)

    def hidden(self, layer: int) -> Array:
        return self._cut(self._layout.hidden(layer), self._layout.network.output)

    def dropped(self, layer: int) -> Array:
        return self._cut(self._layout.dropped(layer), self._layout.network.output)

    def unprojected(self, layer: int) -> Array:
        return self._cut(self._layout.unprojected(layer), self._layout.network.hidden)

    def gradient(self, layer: int) -> Array:
        return self._cut(self._layout.gradient(layer), self._layout.network.output)

    def bytes(self, size: int) -> Any:
        """Return what to store in a buffer of that many bytes."""
        stored = np.zeros(size, np.uint8)
        own = self.memory.astype(self._real).view(np.uint8)
        stored[: own.size] = own
        if self.mask is not None:
            first = self._layout.draw * self._real.itemsize
            stored[first : first + 16] = self.mask.words
        return stored


def _forward(problem: Any, arrays: Arrays) -> tuple[dict[str, Num], Kept | None]:
    network, sequence = problem.network, problem.sequence
    mode, hidden = network.mode, network.hidden
    w = arrays["w"].reshape(-1)
    hx, cx = _state(problem, arrays, "hx"), _state(problem, arrays, "cx")
    hy, cy = (Num(np.zeros(s.shape), np.zeros(s.shape)) for s in (hx, cx))
    kept = Kept(problem) if problem.training else None
    mask = Mask(problem, arrays["states"]) if "states" in arrays else None
    if kept is not None:
        kept.mask = mask
    below = given(_rows(problem, arrays["x"]))
    for layer in range(network.layers):
        out, cells = (
            Num(*(np.zeros((sequence.rows, network.directions, numbers)) for _ in range(2)))
            for numbers in (network.output, hidden)
        )
        for d in range(network.directions):
            w_in, r, b_w, b_r = _matrices(network, w, layer, d)
            for step in sequence.steps(d):
                x = Num(*(a[step.first : step.first + step.rows] for a in (below.v, below.e)))
                h, c = (_previous(step, all_, d, first[layer, d]) for all_, first in ((out, hx), (cells, cx)))
                wx = x.times(w_in.T) if network.inputs(layer) else Num(*(np.tile(a, mode.gates) for a in (x.v, x.e)))
                inputs, recurrent = (_gates(s + exact(b), hidden) for s, b in ((wx, b_w), (h.times(r.T), b_r)))
                h, c, saved = _cell(mode, inputs, recurrent, h, c, problem.clip)
                rows = slice(step.first, step.first + step.rows)
                if network.proj:
                    if kept is not None:
                        kept.unprojected(layer)[rows, d] = h.v
                    h = h.times(_projection(network, w, layer, d).T)
                for to, value in ((out, h), (cells, c)):
                    to.v[rows, d], to.e[rows, d] = value.v, value.e
                ends = slice(step.after_rows, step.rows)
                for to, value in ((hy, h), (cy, c)):
                    to.v[layer, d, ends], to.e[layer, d, ends] = value.v[ends], value.e[ends]
                if kept is not None:
                    kept.gates(layer)[rows, d] = np.stack([s.v for s in saved], 1)
        if kept is not None:
            if mode is RNNMode.LSTM:
                kept.cells(layer)[...] = cells.v
            if layer < network.layers - 1:
                kept.hidden(layer)[...] = out.v
        below = Num(*(a.reshape(sequence.rows, network.width) for a in (out.v, out.e)))
        if kept is not None and mask is not None and layer < network.layers - 1:
            below = below * given(mask.factors(layer, below.v))
            kept.dropped(layer)[...] = below.v.reshape(out.v.shape)
    found = {"y": below, "hy": hy, "cy": cy}
    shaped = {
        name: Num(*(a.reshape(getattr(problem, name).dims) for a in (num.v, num.e)))
        for name, num in found.items()
        if getattr(problem, name) is not None
    }
    return shaped, kept


def _gates(num: Num, hidden: int) -> list[Num]:
    """Cut the gates apart."""
    count = num.v.shape[1] // hidden
    return [Num(num.v[:, g * hidden : (g + 1) * hidden], num.e[:, g * hidden : (g + 1) * hidden]) for g in range(count)]


def _previous(step: Step, outputs: Num, d: int, initial: Array) -> Num:
    """Return the state that each row of a step starts from: another step's, or the initial one."""
    begin = initial[step.before_rows : step.rows]
    before = slice(step.before, step.before + step.before_rows)
    parts = [np.concatenate([a[before, d], b]) for a, b in ((outputs.v, begin), (outputs.e, 0 * begin))]
    return Num(parts[0], parts[1])


def _cell_gradient(problem: Any, saved: Array, dh: Num, carry: Num, h: Array, h0: Array, c: Array, c0: Array) -> Any:
    """Return (gradients of the slots, of the cells or the hidden state that is carried on) of one step.

    h and c are the step's state, h0 and c0 the one before; `saved` is (rows, slots, hidden).
    """
    mode = problem.network.mode
    if mode is RNNMode.LSTM:
        i, f, new, o = (given(saved[:, s]) for s in range(4))
        tanh_c = tanh(_clipped(given(c), problem.clip))
        dc = carry + _moving(dh * o * (tanh_c * tanh_c).rest(), c, problem.clip)
        slots = [
            dc * new * i * i.rest(),
            dc * _clipped(given(c0), problem.clip) * f * f.rest(),
            dc * i * (new * new).rest(),
            dh * tanh_c * o * o.rest(),
        ]
        return slots, _moving(dc * f, c0, problem.clip)
    if mode is RNNMode.GRU:
        r, update, new, q = (given(saved[:, s]) for s in range(4))
        d_new = dh * update.rest() * (new * new).rest()
        d_update = dh * (exact(h0) + exact(-saved[:, 2])) * update * update.rest()
        return [d_new * q * r * r.rest(), d_update, d_new, d_new * r], dh * update
    if mode is RNNMode.RNN_RELU:
        return [Num(np.where(h > 0, dh.v, 0), np.where(h > 0, dh.e, 0))], given(np.zeros_like(h))
    return [dh * (given(h) * given(h)).rest()], given(np.zeros_like(h))


def _recurrent(mode: RNNMode, slots: Any) -> list[int]:
    """Return the slots whose gradients R's rows get: of a GRU's new memory its own."""
    return [0, 1, 3] if mode is RNNMode.GRU else list(range(mode.gates))


def _outputs(problem: Any, arrays: Arrays, kept: Kept, layer: int) -> Array:
    """Return a layer's outputs as (rows, direction, hidden)."""
    if layer < problem.network.layers - 1:
        return kept.hidden(layer)
    return arrays["y"].reshape(problem.sequence.rows, problem.network.directions, problem.network.output)


def _layer_gradient(
    problem: Any, arrays: Arrays, kept: Kept, after: Kept, layer: int, dy: Num, ends: dict[str, Num]
) -> list[Num]:
    """Go through a layer backwards; return each direction's gradients of the slots, as (rows, slots, hidden)."""
    network, sequence, mode = problem.network, problem.sequence, problem.network.mode
    states = {name: _state(problem, arrays, name)[layer] for name in ("hx", "cx", "dhy", "dcy")}
    outputs, all_gates = _outputs(problem, arrays, kept, layer), kept.gates(layer)
    lstm = mode is RNNMode.LSTM
    cells = kept.cells(layer) if lstm else np.zeros_like(outputs)
    states_h = kept.unprojected(layer) if network.proj else outputs
    w = arrays["w"].reshape(-1)
    found = []
    for d in range(network.directions):
        _, r, _, _ = _matrices(network, w, layer, d)
        slots = Num(*(np.zeros((sequence.rows, mode.slots, network.hidden)) for _ in range(2)))
        carry = given(states["dcy"][d].copy())
        back = given(states["dhy"][d].copy())  # of each sequence's state, so far
        for step in reversed(sequence.steps(d)):
            rows = slice(step.first, step.first + step.rows)
            live = slice(0, step.rows)
            dh = Num(back.v[live], back.e[live]) + exact(_cut(dy, rows, d).v) + Num(0.0 * dy.v[rows, d], dy.e[rows, d])
            if network.proj:
                after.gradient(layer)[rows, d] = dh.v
                dh = dh.times(_projection(network, w, layer, d))
            h0, c0 = (_previous(step, given(a), d, states[n][d]).v for a, n in ((outputs, "hx"), (cells, "cx")))
            old = Num(carry.v[live], carry.e[live])
            grads, on = _cell_gradient(problem, all_gates[rows, d], dh, old, states_h[rows, d], h0, cells[rows, d], c0)
            for s, grad in enumerate(grads):
                slots.v[rows, s], slots.e[rows, s] = grad.v, grad.e
            recurrent = _recurrent(mode, grads)
            through = Num(*(np.concatenate([getattr(grads[s], p) for s in recurrent], 1) for p in "ve")).times(r)
            if lstm:
                carry.v[live], carry.e[live] = on.v, on.e
            else:
                through = through + on
            back.v[live], back.e[live] = through.v, through.e
        for name, num in (("dhx", back), ("dcx", carry)):
            ends[name].v[layer, d], ends[name].e[layer, d] = num.v, num.e
        found.append(slots)
    return found


def _cut(num: Num, rows: slice, d: int) -> Num:
    return Num(num.v[rows, d], num.e[rows, d])


def _backward(problem: RNNBackwardData, arrays: Arrays) -> tuple[dict[str, Num], Kept]:
    network, sequence, mode = problem.network, problem.sequence, problem.network.mode
    kept = Kept(problem, arrays["reserve"])
    after = Kept(problem, arrays["reserve"])
    shape = (network.layers, network.directions, sequence.batch)
    ends = {
        name: Num(*(np.zeros((*shape, numbers)) for _ in range(2)))
        for name, numbers in (("dhx", network.output), ("dcx", network.hidden))
    }
    above = given(_rows(problem, arrays["dy"]))
    for layer in reversed(range(network.layers)):
        dy = Num(*(a.reshape(sequence.rows, network.directions, network.output) for a in (above.v, above.e)))
        slots = _layer_gradient(problem, arrays, kept, after, layer, dy, ends)
        above = given(np.zeros((sequence.rows, network.inputs(layer) or network.hidden)))
        for d, gradient in enumerate(slots):
            after.gates(layer)[:, d] = gradient.v
            w_in = _matrices(network, arrays["w"].reshape(-1), layer, d)[0]
            flat = Num(
                *(
                    a[:, : mode.gates].reshape(sequence.rows, mode.gates * network.hidden)
                    for a in (gradient.v, gradient.e)
                )
            )
            if network.inputs(layer):
                above = above + flat.times(w_in)
            else:
                for gate in _gates(flat, network.hidden):
                    above = above + gate + Num(np.zeros_like(gate.v), np.abs(gate.v))
        if layer and kept.mask is not None:
            above = above * given(kept.mask.factors(layer - 1, above.v))
    found = {"dx": above, **ends}
    shaped = {
        name: Num(*(a.reshape(getattr(problem, name).dims) for a in (num.v, num.e)))
        for name, num in found.items()
        if getattr(problem, name) is not None
    }
    return shaped, after


def _weights(
    problem: RNNBackwardWeights, numbers: Numbers, arrays: Arrays, size: Any = lambda a: a
) -> dict[str, Array]:
    """Return dw; with ``size=np.abs`` the sum of its terms' absolute values."""
    network, sequence, mode = problem.network, problem.sequence, problem.network.mode
    kept = Kept(problem, arrays["reserve"])
    hx = _state(problem, arrays, "hx")
    dw = size(arrays["dw"].reshape(-1)).copy()
    below = _rows(problem, arrays["x"])
    for layer in range(network.layers):
        outputs = _outputs(problem, arrays, kept, layer)
        for d in range(network.directions):
            slots = kept.gates(layer)[:, d]
            previous = np.zeros((sequence.rows, network.output))
            for step in sequence.steps(d):
                rows = slice(step.first, step.first + step.rows)
                previous[rows] = _previous(step, given(outputs), d, hx[layer, d]).v
            for part, chosen, source in (
                (False, list(range(mode.gates)), below),
                (True, _recurrent(mode, None), previous),
            ):
                gradient = size(slots[:, chosen].reshape(sequence.rows, mode.gates * network.hidden))
                columns = network.output if part else network.inputs(layer)
                first, count = network.matrix(layer, d, part), gradient.shape[1] * columns
                if count:
                    dw[first : first + count] += (gradient.T @ size(source)).reshape(-1)
                if network.has_bias(part):
                    first = network.bias(layer, d, part)
                    dw[first : first + gradient.shape[1]] += gradient.sum(0)
            if network.proj:
                product = size(kept.gradient(layer)[:, d]).T @ size(kept.unprojected(layer)[:, d])
                first = network.projection(layer, d)
                dw[first : first + product.size] += product.reshape(-1)
        if layer < network.layers - 1:
            below = kept.dropped(layer).reshape(sequence.rows, network.width)
    return {"dw": dw.reshape(problem.dw.dims)}


def _values(function: Any) -> Any:
    def values(problem: Any, numbers: Numbers, arrays: Arrays) -> dict[str, Any]:
        found, kept = function(problem, arrays)
        more = {} if kept is None else {"reserve": kept.bytes(problem.reserve.size)}
        if kept is not None and kept.mask is not None and "states" in arrays:
            more["states"] = kept.mask.next_states(arrays["states"])
        return {**{name: num.v for name, num in found.items()}, **more}

    return values


def _terms(function: Any) -> Any:
    def terms(problem: Any, numbers: Numbers, arrays: Arrays) -> dict[str, Array]:
        return {name: num.e for name, num in function(problem, arrays)[0].items()}

    return terms


DEFINITIONS = {
    RNNForwardInference: Definition(_values(_forward), _terms(_forward)),
    RNNForwardTraining: Definition(_values(_forward), _terms(_forward)),
    RNNBackwardData: Definition(_values(_backward), _terms(_backward)),
    RNNBackwardWeights: Definition(_weights, lambda p, n, a: _weights(p, n, a, np.abs)),
}
