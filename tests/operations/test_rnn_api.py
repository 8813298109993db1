"""Recurrent networks: sizes, places of parameters, steps, empty batches, and how steps are cut into work-groups."""

from __future__ import annotations

import helper
import numpy as np
import pytest
from test_nvrtc import Recorder

import portadnn as dnn
from portadnn import DataType
from portadnn.ops.rnn.layout import Network, RNNMode, Sequence
from portadnn_backends.engines.rnn.backward import beginnings
from portadnn_backends.engines.rnn.steps import cpu_tile, gpu_tile
from portadnn_backends.engines.rnn.weights import runs

LENGTHS = ([3, 3, 3], [5, 3, 3, 1], [1], [4, 4, 2, 2])


@pytest.mark.parametrize("batches", LENGTHS, ids=str)
@pytest.mark.parametrize("direction", [0, 1])
def test_every_row_has_the_row_before_it(batches, direction):
    sequence = Sequence(tuple(batches))
    place = {(t, r): sequence.firsts[t] + r for t, n in enumerate(batches) for r in range(n)}
    found, ends, begins = {}, {}, {}
    for step in sequence.steps(direction):
        for r in range(step.rows):
            found[step.first + r] = ("step", step.before + r) if r < step.before_rows else ("state", r)
            if r >= step.after_rows:
                ends[r] = step.first + r
    want = {}
    for (t, r), row in place.items():
        before = place.get((t + 1 if direction else t - 1, r))
        want[row] = ("state", r) if before is None else ("step", before)
    assert found == want
    last = [sum(n > r for n in batches) - 1 for r in range(batches[0])]
    assert ends == {r: place[0 if direction else t, r] for r, t in enumerate(last)}
    for step in beginnings(sequence.steps(direction)):
        begins |= {r: step.after + r for r in range(step.before_rows, step.rows)}
    assert begins == {r: place[t if direction else 0, r] for r, t in enumerate(last)}
    copied = {}
    for initial, row, source, count in runs(sequence.steps(direction)):
        copied |= {row + i: ("state" if initial else "step", source + i) for i in range(count)}
    assert copied == want


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("mode", RNNMode)
def test_parameters_fill_the_space_once(reference, mode, skip):
    rnn = dnn.RNNDescriptor(3, 2, mode, "bidirectional", int(skip))
    step = dnn.TensorDescriptor((7, 3, 1), "float64")
    w = np.zeros((1, dnn.get_rnn_params_size(reference, rnn, step) // 8, 1))
    number, columns = 0, []
    for layer in range(4):
        for lin in range(2 * mode.gates):
            for get in (dnn.get_rnn_lin_layer_matrix_params, dnn.get_rnn_lin_layer_bias_params):
                part = get(reference, rnn, layer, step, w, lin)
                if part is None:
                    assert skip and layer < 2 and lin < mode.gates
                    continue
                columns.append(part.shape[2])
                part += 1
                number += part.size
    assert number == w.size and (w == 1).all()
    assert set(columns) == {1, 3, 6}


@helper.everywhere()
def test_workspace_and_reserve_of_the_sizes_asked_for(handle):
    steps = [dnn.TensorDescriptor((n, 4, 1)) for n in (3, 2)]
    rnn = dnn.RNNDescriptor(5, 2, "gru", "bidirectional")
    size = dnn.get_rnn_training_reserve_size(handle, rnn, steps)
    assert size == dnn.get_rnn_training_reserve_size(handle, rnn, dnn.TensorDescriptor((5, 4, 1)), batch_sizes=(3, 2))
    x = handle.asarray(np.ones((5, 4, 1), np.float32))
    workspace = handle.empty_bytes(dnn.get_rnn_workspace_size(handle, rnn, x, batch_sizes=steps))
    w = handle.asarray(np.ones((dnn.get_rnn_params_size(handle, rnn, steps[0]) // 4, 1, 1), np.float32))
    more = {"batch_sizes": steps, "workspace": workspace}
    y, hy, cy, reserve = dnn.rnn_forward_training(
        handle, x, None, None, w, rnn, reserve=handle.empty_bytes(size), **more
    )
    assert y.shape == (5, 10, 1) and hy is None and cy is None
    dx, *_ = dnn.rnn_backward_data(handle, y, y, None, None, w, None, None, rnn, reserve=reserve, **more)
    assert dx.shape == x.shape
    dw = handle.zeros(w.shape)
    assert dnn.rnn_backward_weights(handle, x, None, y, reserve, rnn, dw, **more) is dw
    assert np.isfinite(handle.to_numpy(dw)).all()


@helper.everywhere()
def test_no_sequences(handle):
    rnn, x, state = dnn.RNNDescriptor(3), handle.zeros((2, 0, 4)), handle.zeros((1, 0, 3))
    w = handle.zeros((4 * 3 * 9, 1, 1))
    y, hy, _, reserve = dnn.rnn_forward_training(handle, x, state, None, w, rnn, None, handle.zeros((1, 0, 3)))
    assert y.shape == (2, 0, 3) and hy.shape == (1, 0, 3)
    dx, *_ = dnn.rnn_backward_data(handle, y, y, None, None, w, state, None, rnn, reserve=reserve)
    assert dx.shape == x.shape
    dw = handle.asarray(np.ones(w.shape, np.float32))
    dnn.rnn_backward_weights(handle, x, state, y, reserve, rnn, dw)
    assert (handle.to_numpy(dw) == 1).all()


def test_tiles_fit_every_size():
    info = Recorder("sm_90").info
    for mode in RNNMode:
        for hidden in (1, 5, 64, 512, 3000):
            network = Network(mode, hidden, 1, 2, hidden, False)
            for rows in (1, 7, 64, 500):
                for turned in (False, True):
                    for dtype in (DataType.FLOAT, DataType.DOUBLE, DataType.HALF):
                        tile = gpu_tile(network, dtype, rows, info, turned)
                        assert tile.panels(hidden) * tile.units >= hidden
                        assert tile.local_reals * dtype.accumulator.itemsize <= info.local_memory
                        cpu = cpu_tile(network, dtype, rows, info, turned)
                        assert cpu.columns % (cpu.lanes * cpu.vectors) == 0 and 1 <= cpu.rows <= 6
                        assert cpu.panels(hidden) * cpu.units >= hidden
