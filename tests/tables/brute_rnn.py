"""Recurrent networks number by number, from the formulas alone: nothing is shared with the reference.

Every matrix and bias is asked for by layer and linLayerID, and every sequence is walked by itself.
"""

from __future__ import annotations

import numpy as np

import portadnn as dnn

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def relu(v):
    return np.maximum(v, 0)


class Cell:
    """One direction of one layer."""

    def __init__(self, handle, rnn, mode, pseudo_layer, step, w):
        def part(get, number):
            found = get(handle, rnn, pseudo_layer, step, w, number)
            return None if found is None else np.array(found[0], float)

        numbers = range(2 * GATES[mode])
        get = dnn.get_rnn_lin_layer_matrix_params
        self.projection = part(get, len(numbers)) if rnn.proj_size else None
        self.mode = mode
        self.matrices = [part(dnn.get_rnn_lin_layer_matrix_params, n) for n in numbers]
        self.biases = [part(dnn.get_rnn_lin_layer_bias_params, n)[:, 0] for n in numbers]

    def of(self, number, vector):
        """One linear layer; without a matrix the input itself."""
        matrix = self.matrices[number]
        return (vector if matrix is None else matrix @ vector) + self.biases[number]

    def step(self, x, h, c):
        if self.mode == "lstm":
            i = sigmoid(self.of(0, x) + self.of(4, h))
            f = sigmoid(self.of(1, x) + self.of(5, h))
            new = np.tanh(self.of(2, x) + self.of(6, h))
            o = sigmoid(self.of(3, x) + self.of(7, h))
            c = f * c + i * new
            h = o * np.tanh(c)
            return (h if self.projection is None else self.projection @ h), c
        if self.mode == "gru":
            r = sigmoid(self.of(0, x) + self.of(3, h))
            update = sigmoid(self.of(1, x) + self.of(4, h))
            new = np.tanh(self.of(2, x) + r * self.of(5, h))
            return (1 - update) * new + update * h, c
        function = relu if self.mode == "rnn_relu" else np.tanh
        return function(self.of(0, x) + self.of(1, h)), c


def run(handle, rnn, mode, sequences, hx, cx, w):
    """Return (outputs of each sequence, hy, cy) of sequences of (steps, features); `w` is a NumPy array."""
    both = 2 if rnn.direction == 1 else 1
    hy, cy = np.zeros_like(hx), np.zeros_like(cx)
    features = sequences[0].shape[1]
    found = []
    for n, sequence in enumerate(sequences):
        below = list(sequence)
        for layer in range(rnn.num_layers):
            halves = []
            for d in range(both):
                number = layer * both + d
                cell = Cell(handle, rnn, mode, number, (1, features, 1), w)
                h, c = hx[number, n], cx[number, n]
                out = []
                for x in reversed(below) if d else below:
                    h, c = cell.step(x, h, c)
                    out.append(h)
                hy[number, n], cy[number, n] = h, c
                halves.append(out[::-1] if d else out)
            below = [np.concatenate(parts) for parts in zip(*halves, strict=True)]
        found.append(np.array(below))
    return found, hy, cy
