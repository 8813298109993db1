"""A bidirectional LSTM of two layers, forward and both gradients, with MIOpen's names.

MIOpen numbers an LSTM's gates input, forget, output, new memory; ``data.py`` has cuDNN's numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from portadnn import miopen
from portadnn.miopen import (
    miopenFloat,
    miopenLSTM,
    miopenRNNbidirection,
    miopenRNNdefault,
    miopenRNNlinear,
    miopenRNNwithBias,
)

from . import data

GATES = (0, 1, 3, 2)  # MIOpen's numbers of cuDNN's gates


def tensor_nd(*dims: int) -> Any:
    """Return a descriptor of a packed float tensor."""
    desc = miopen.miopenCreateTensorDescriptor()
    miopen.miopenSetTensorDescriptor(desc, miopenFloat, len(dims), dims, None)
    return desc


def number_of(number: int) -> int:
    """Return MIOpen's number of a matrix that has cuDNN's number."""
    recurrent, gate = divmod(number, data.GATES)
    return recurrent * data.GATES + GATES[gate]


def run(backend: str) -> dict[str, np.ndarray]:
    """Return outputs, final states, and the gradients of input, first states and each matrix and bias."""
    handle = miopen.miopenCreate(backend=backend)
    rnn = miopen.miopenCreateRNNDescriptor()
    miopen.miopenSetRNNDescriptor(
        rnn,
        data.HIDDEN,
        data.LAYERS,
        miopenRNNlinear,
        miopenRNNbidirection,
        miopenLSTM,
        miopenRNNwithBias,
        miopenRNNdefault,
        miopenFloat,
    )
    length = data.SEQUENCE
    step = tensor_nd(data.SEQUENCES, data.FEATURES)
    x_desc = [step] * length
    y_desc = [tensor_nd(data.SEQUENCES, data.DIRECTIONS * data.HIDDEN)] * length
    state = tensor_nd(data.LAYERS * data.DIRECTIONS, data.SEQUENCES, data.HIDDEN)
    given = {name: handle.asarray(values) for name, values in data.lstm_tensors().items()}
    x, dy, hx, cx, dhy, dcy = (given[name] for name in ("x", "dy", "hx", "cx", "dhy", "dcy"))

    w_desc, part = miopen.miopenCreateTensorDescriptor(), miopen.miopenCreateTensorDescriptor()
    miopen.miopenGetRNNParamsDescriptor(handle, rnn, step, w_desc, miopenFloat)
    count = miopen.miopenGetRNNParamsSize(handle, rnn, step, miopenFloat) // 4
    w, dw = handle.zeros((count, 1, 1)), handle.zeros((count, 1, 1))
    for (layer, number), (matrix, bias) in data.lstm_parameters().items():
        miopen.miopenGetRNNLayerParam(handle, rnn, layer, step, w_desc, w, number_of(number), part, None)
        where = (handle, rnn, layer, step, w_desc, w, number_of(number), part)
        miopen.miopenSetRNNLayerParam(*where, handle.asarray(matrix))
        miopen.miopenGetRNNLayerBias(*where, None)
        miopen.miopenSetRNNLayerBias(*where, handle.asarray(bias))

    workspace_size = miopen.miopenGetRNNWorkspaceSize(handle, rnn, length, x_desc)
    reserve_size = miopen.miopenGetRNNTrainingReserveSize(handle, rnn, length, x_desc)
    scratch = (handle.empty_bytes(workspace_size), workspace_size)
    reserve = (handle.empty_bytes(reserve_size), reserve_size)
    y, dx = handle.empty(dy.shape), handle.empty(x.shape)
    hy, cy, dhx, dcx = (handle.empty(hx.shape) for _ in range(4))

    first = (state, hx, state, cx)
    final = (state, hy, state, cy)
    changes = (state, dhy, state, dcy)
    gradients = (state, dhx, state, dcx)
    miopen.miopenRNNForwardTraining(
        handle, rnn, length, x_desc, x, *first, w_desc, w, y_desc, y, *final, *scratch, *reserve
    )
    outputs = (y_desc, y, y_desc, dy)
    miopen.miopenRNNBackwardData(
        handle, rnn, length, *outputs, *changes, w_desc, w, *first, x_desc, dx, *gradients, *scratch, *reserve
    )
    miopen.miopenRNNBackwardWeights(
        handle, rnn, length, x_desc, x, state, hx, y_desc, y, w_desc, dw, *scratch, *reserve
    )

    found = {"y": y, "hy": hy, "cy": cy, "dx": dx, "dhx": dhx, "dcx": dcx}
    for (layer, number), (matrix, _) in data.lstm_parameters().items():
        where = (handle, rnn, layer, step, w_desc, dw, number_of(number), part)
        found[f"dw {layer}.{number}"] = gradient = handle.empty((1, *matrix.shape))
        miopen.miopenGetRNNLayerParam(*where, gradient)
        found[f"dbias {layer}.{number}"] = gradient = handle.empty((1, data.HIDDEN, 1))
        miopen.miopenGetRNNLayerBias(*where, gradient)
    results = {name: handle.to_numpy(array) for name, array in found.items()}
    miopen.miopenDestroy(handle)
    return results
