"""Recurrent networks on every backend against formulas walked number by number, with parameters that all differ."""

from __future__ import annotations

import brute_rnn
import helper
import numpy as np
import pytest
from helper import compare

import portadnn as dnn

CASES = [  # mode, both directions, skip, layers, hidden, features, lengths, projection
    ("lstm", True, False, 2, 4, 3, (4, 2, 2, 1), 0),
    ("gru", True, True, 2, 3, 3, (3, 3), 0),
    ("rnn_tanh", True, False, 3, 2, 4, (2, 1), 0),
    ("rnn_relu", False, True, 1, 5, 5, (3, 2, 1), 0),
    ("lstm", True, False, 2, 7, 3, (4, 2, 2, 1), 3),
    ("lstm", False, True, 3, 4, 4, (3, 3), 1),
]


@pytest.mark.parametrize("states", [True, False], ids=["states", "zeros"])
@pytest.mark.parametrize("case", CASES, ids=str)
@helper.everywhere()
def test_formulas(handle, case, states):
    mode, both, skip, layers, hidden, features, lengths, proj = case
    direction = "bidirectional" if both else "unidirectional"
    rnn = dnn.RNNDescriptor(hidden, layers, mode, direction, int(skip), proj_size=proj)
    rng = np.random.default_rng(5)
    host = dnn.Handle("reference")
    w = rng.standard_normal((dnn.get_rnn_params_size(host, rnn, (1, features, 1)) // 4, 1, 1)) / np.sqrt(hidden)
    sequences = [rng.standard_normal((length, features)) for length in lengths]
    shapes = [(layers * (1 + both), len(lengths), numbers) for numbers in (proj or hidden, hidden)]
    hx, cx = (rng.standard_normal(shape) * states for shape in shapes)
    want, hy, cy = brute_rnn.run(host, rnn, mode, sequences, hx, cx, w)
    batches = [sum(length > t for length in lengths) for t in range(lengths[0])]
    steps = [[s[t] for s in sequences[:n]] for t, n in enumerate(batches)]
    x = np.array([row for step in steps for row in step])[:, :, None]
    given = [handle.asarray(a) for a in (hx, cx)] if states else [None, None]
    outputs = [handle.zeros(shape, "float64") for shape in shapes]
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


@pytest.mark.parametrize(
    ("handle", "mode"),
    [
        pytest.param(
            target if mode == "lstm" else helper.unoptimised(target),
            mode,
            id=f"{target.name}-{mode}",
            marks=[pytest.mark.long] * (target.slow and mode != "lstm"),
        )
        for target in helper.every_target()
        for mode in brute_rnn.GATES
    ],
    indirect=["handle"],
)
def test_a_training_step_in_float64(handle, mode):
    """All passes after each other give the reference's numbers, as exact as float64 is, with the same masks."""
    batches, features, hidden, layers = (3, 3, 2, 1), 4, 5, 2
    rng = np.random.default_rng(8)
    rows, states = sum(batches), (2 * layers, batches[0], hidden)
    found = []
    shapes = [(rows, features, 1), states, states, (rows, 2 * hidden, 1), states, states]
    x, hx, cx, dy, dhy, dcy = (rng.standard_normal(shape) for shape in shapes)
    with dnn.Handle("reference") as reference:
        for h in (reference, handle):
            chance = 0 if handle.backend == "cudnn" else 0.3  # the library draws other masks
            drop = dnn.set_dropout_descriptor(h, chance, None, 11)
            rnn = dnn.RNNDescriptor(hidden, layers, mode, "bidirectional", dropout=drop)
            size = dnn.get_rnn_params_size(h, rnn, (1, features, 1), "float64") // 8
            w = h.asarray(np.random.default_rng(3).standard_normal((size, 1, 1)))
            hosts = {"x": x, "hx": hx, "cx": cx, "dy": dy, "dhy": dhy, "dcy": dcy}
            a = {name: h.asarray(host) for name, host in hosts.items()}
            z = {name: h.zeros(states, "float64") for name in ("hy", "cy", "dhx", "dcx")}
            more = {"batch_sizes": batches}
            call = dnn.rnn_forward_training
            y, _, _, reserve = call(h, a["x"], a["hx"], a["cx"], w, rnn, None, z["hy"], z["cy"], **more)
            inputs = [a[name] for name in ("dy", "dhy", "dcy")]
            call = dnn.rnn_backward_data
            dx, *_ = call(h, y, *inputs, w, a["hx"], a["cx"], rnn, None, z["dhx"], z["dcx"], reserve, **more)
            dw = dnn.rnn_backward_weights(h, a["x"], a["hx"], y, reserve, rnn, h.zeros(w.shape, "float64"), **more)
            found.append({name: h.to_numpy(v) for name, v in {**z, "y": y, "dx": dx, "dw": dw}.items()})
    for name, want in found[0].items():
        compare(found[1][name], want, 1e-11 * (1 + np.abs(want)), name)
        assert (want != 0).mean() > 0.3 or (mode != "lstm" and "c" in name)
