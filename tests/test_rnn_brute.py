"""Recurrent networks on every backend against formulas walked number by number, with parameters that all differ."""

from __future__ import annotations

import brute_rnn
import helper
import numpy as np
import pytest
from helper import compare

import portadnn as dnn

CASES = [  # mode, both directions, skip, layers, hidden, features, lengths
    ("lstm", True, False, 2, 4, 3, (4, 2, 2, 1)),
    ("gru", True, True, 2, 3, 3, (3, 3)),
    ("rnn_tanh", True, False, 3, 2, 4, (2, 1)),
    ("rnn_relu", False, True, 1, 5, 5, (3, 2, 1)),
]


@pytest.mark.parametrize("states", [True, False], ids=["states", "zeros"])
@pytest.mark.parametrize("case", CASES, ids=str)
@helper.everywhere()
def test_formulas(handle, case, states):
    mode, both, skip, layers, hidden, features, lengths = case
    rnn = dnn.RNNDescriptor(hidden, layers, mode, "bidirectional" if both else "unidirectional", int(skip))
    rng = np.random.default_rng(5)
    host = dnn.Handle("reference")
    w = rng.standard_normal((dnn.get_rnn_params_size(host, rnn, (1, features, 1)) // 4, 1, 1)) / np.sqrt(hidden)
    sequences = [rng.standard_normal((length, features)) for length in lengths]
    shape = (layers * (1 + both), len(lengths), hidden)
    hx, cx = (rng.standard_normal(shape) * states for _ in range(2))
    want, hy, cy = brute_rnn.run(host, rnn, mode, sequences, hx, cx, w)
    batches = [sum(length > t for length in lengths) for t in range(lengths[0])]
    steps = [[s[t] for s in sequences[:n]] for t, n in enumerate(batches)]
    x = np.array([row for step in steps for row in step])[:, :, None]
    given = [handle.asarray(a) for a in (hx, cx)] if states else [None, None]
    outputs = [handle.zeros(shape, "float64") for _ in range(2)]
    got = dnn.rnn_forward_inference(
        handle, handle.asarray(x), *given, handle.asarray(w), rnn, None, *outputs, batch_sizes=batches
    )
    flat = np.array([want[n][t] for t, count in enumerate(batches) for n in range(count)])
    close(handle.to_numpy(got[0])[:, :, 0], flat)
    close(handle.to_numpy(outputs[0]), hy)
    if mode == "lstm":
        close(handle.to_numpy(outputs[1]), cy)
    else:
        assert got[2] is None  # cells are an LSTM's


def close(got, want):
    compare(got, want, 1e-13 * (1 + np.abs(want)))
