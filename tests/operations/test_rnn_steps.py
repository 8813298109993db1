"""Whole training steps of recurrent networks on every backend, each with the reserve space that it keeps itself."""

from __future__ import annotations

import helper
import numpy as np
import pairwise
import pytest

import portadnn as dnn

BATCHES, STEPS = (4, 2, 1), 7
HIDDEN, LAYERS = 6, 2
OPTIONS = [
    (mode, direction, input_mode)
    for mode in dnn.RNNMode
    for direction, input_mode in (("unidirectional", "linear_input"), ("bidirectional", "skip_input"))
]
BOTH = pairwise.every_other(OPTIONS[::2]) + pairwise.every_other(OPTIONS[1::2], first=1)  # each mode, each direction


def numbers(handle, rnn, dtype):
    """Return all results of a training step, by name."""
    ways = 2 if rnn.direction is dnn.DirectionMode.BIDIRECTIONAL else 1
    features = HIDDEN if rnn.input_mode is dnn.RNNInputMode.SKIP_INPUT else 5
    rng = np.random.default_rng(3)

    def values(*dims):
        return handle.asarray(0.5 * rng.standard_normal(dims), dtype)

    def states(*names):
        found = {name: values(LAYERS * ways, BATCHES[0], HIDDEN) for name in names}
        cells = rnn.mode is dnn.RNNMode.LSTM
        return [array if cells or "c" not in name else None for name, array in found.items()]

    x = values(STEPS, features, 1)
    w = values(dnn.get_rnn_params_size(handle, rnn, (4, features, 1), dtype) // np.dtype(dtype).itemsize, 1, 1)
    dw = values(*w.shape)
    dy = values(STEPS, ways * HIDDEN, 1)
    hx, cx, dhy, dcy = states("hx", "cx", "dhy", "dcy")
    hy, cy, dhx, dcx = states("hy", "cy", "dhx", "dcx")
    size = dnn.get_rnn_training_reserve_size(handle, rnn, x, batch_sizes=BATCHES)
    y, _, _, reserve = dnn.rnn_forward_training(handle, x, hx, cx, w, rnn, None, hy, cy, batch_sizes=BATCHES)
    assert reserve.nbytes >= size
    more = {"reserve": reserve, "batch_sizes": BATCHES}
    dx, *_ = dnn.rnn_backward_data(handle, y, dy, dhy, dcy, w, hx, cx, rnn, None, dhx, dcx, **more)
    dnn.rnn_backward_weights(handle, x, hx, y, reserve, rnn, dw, batch_sizes=BATCHES)
    found = {"y": y, "hy": hy, "cy": cy, "dx": dx, "dhx": dhx, "dcx": dcx, "dw": dw}
    return {name: handle.to_numpy(array) for name, array in found.items() if array is not None}


@pytest.mark.parametrize(("mode", "direction", "input_mode"), BOTH)
@pytest.mark.parametrize("target", [t for t in helper.targets() if not t.slow], ids=lambda target: target.name)
def test_a_training_step_is_the_references(target, mode, direction, input_mode, reference):
    handle = helper.open_handle(target)
    dtype = "float64" if handle.info.fp64 else "float32"
    rnn = dnn.RNNDescriptor(HIDDEN, LAYERS, mode, direction, input_mode)
    want, got = (numbers(h, rnn, dtype) for h in (reference, handle))
    assert want.keys() == got.keys()
    unit = 1e3 * np.finfo(dtype).eps
    for name, values in want.items():
        np.testing.assert_allclose(got[name], values, rtol=unit, atol=unit, err_msg=name)


@pytest.mark.parametrize("target", [t for t in helper.targets() if not t.slow], ids=lambda target: target.name)
def test_a_step_with_dropout_has_the_gradient_of_its_mask(target):
    """Whatever the mask is: the same states give the same one, and dy . dy/dx v is dx . v for what the step gives."""
    handle = helper.open_handle(target)
    if not handle.info.fp64:
        pytest.skip("differences need float64")
    rng = np.random.default_rng(5)
    x, v = rng.standard_normal((2, STEPS, 5, 1))
    dy = rng.standard_normal((STEPS, HIDDEN, 1))
    state = dnn.set_dropout_descriptor(handle, 0.5, seed=11)
    saved = handle.to_numpy(state.states)
    w = None

    def step(x):
        nonlocal w
        dropout = dnn.restore_dropout_descriptor(handle, 0.5, saved.copy())
        rnn = dnn.RNNDescriptor(HIDDEN, LAYERS, "rnn_tanh", dropout=dropout)
        if w is None:
            count = dnn.get_rnn_params_size(handle, rnn, (4, 5, 1), "float64") // 8
            w = handle.asarray(0.3 * rng.standard_normal((count, 1, 1)))
        given = handle.asarray(x)
        y, _, _, reserve = dnn.rnn_forward_training(handle, given, None, None, w, rnn, batch_sizes=BATCHES)
        return rnn, handle.to_numpy(y), y, reserve

    rnn, value, y, reserve = step(x)
    assert np.array_equal(step(x)[1], value)
    more = {"reserve": reserve, "batch_sizes": BATCHES}
    dx, *_ = dnn.rnn_backward_data(handle, y, handle.asarray(dy), None, None, w, None, None, rnn, **more)
    h = 1e-5
    slope = ((step(x + h * v)[1] - step(x - h * v)[1]) * dy).sum() / (2 * h)
    np.testing.assert_allclose((handle.to_numpy(dx) * v).sum(), slope, rtol=1e-6)
