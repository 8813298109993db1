"""A bidirectional LSTM of two layers, forward and both gradients, with cuDNN's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from portadnn import cudnn
from portadnn.cudnn import (
    CUDNN_BIDIRECTIONAL,
    CUDNN_DATA_FLOAT,
    CUDNN_LINEAR_INPUT,
    CUDNN_LSTM,
    CUDNN_TENSOR_NCHW,
)

from . import data


def tensor_nd(*dims: int) -> Any:
    """Return a descriptor of a packed float tensor of three dims."""
    desc = cudnn.cudnnCreateTensorDescriptor()
    cudnn.cudnnSetTensorNdDescriptor(desc, CUDNN_DATA_FLOAT, 3, dims, (dims[1] * dims[2], dims[2], 1))
    return desc


def filter_nd(*dims: int) -> Any:
    """Return a descriptor of float parameters."""
    desc = cudnn.cudnnCreateFilterDescriptor()
    cudnn.cudnnSetFilterNdDescriptor(desc, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, len(dims), dims)
    return desc


def run(backend: str) -> dict[str, np.ndarray]:
    """Return outputs, final states, and the gradients of input, first states and each matrix and bias."""
    handle = cudnn.cudnnCreate(backend=backend)
    dropout = cudnn.cudnnCreateDropoutDescriptor()
    cudnn.cudnnSetDropoutDescriptor(dropout, handle, 0.0, None, 0, 0)
    rnn = cudnn.cudnnCreateRNNDescriptor()
    cudnn.cudnnSetRNNDescriptor(
        rnn,
        data.HIDDEN,
        data.LAYERS,
        dropout,
        CUDNN_LINEAR_INPUT,
        CUDNN_BIDIRECTIONAL,
        CUDNN_LSTM,
        CUDNN_DATA_FLOAT,
    )
    length = data.SEQUENCE
    step = tensor_nd(data.SEQUENCES, data.FEATURES, 1)
    x_desc = [step] * length
    y_desc = [tensor_nd(data.SEQUENCES, data.DIRECTIONS * data.HIDDEN, 1)] * length
    state = tensor_nd(data.LAYERS * data.DIRECTIONS, data.SEQUENCES, data.HIDDEN)
    given = {name: handle.asarray(values) for name, values in data.lstm_tensors().items()}
    x, dy, hx, cx, dhy, dcy = (given[name] for name in ("x", "dy", "hx", "cx", "dhy", "dcy"))

    count = cudnn.cudnnGetRNNParamsSize(handle, rnn, step, CUDNN_DATA_FLOAT) // 4
    w_desc = filter_nd(count, 1, 1)
    w, dw = handle.zeros((count, 1, 1)), handle.zeros((count, 1, 1))
    part = cudnn.cudnnCreateFilterDescriptor()

    def fill(memory: Any, values: np.ndarray) -> None:
        """Copy host values to a part of the parameters, which `part` describes."""
        _, _, _, dims = cudnn.cudnnGetFilterNdDescriptor(part, 3)
        desc = tensor_nd(*dims)
        cudnn.cudnnTransformTensor(handle, 1, desc, handle.asarray(values.reshape(dims)), 0, desc, memory)

    for (layer, number), (matrix, bias) in data.lstm_parameters().items():
        fill(cudnn.cudnnGetRNNLinLayerMatrixParams(handle, rnn, layer, step, w_desc, w, number, part), matrix)
        fill(cudnn.cudnnGetRNNLinLayerBiasParams(handle, rnn, layer, step, w_desc, w, number, part), bias)

    workspace_size = cudnn.cudnnGetRNNWorkspaceSize(handle, rnn, length, x_desc)
    reserve_size = cudnn.cudnnGetRNNTrainingReserveSize(handle, rnn, length, x_desc)
    scratch = (handle.empty_bytes(workspace_size), workspace_size)
    reserve = (handle.empty_bytes(reserve_size), reserve_size)
    y = handle.empty(dy.shape)
    hy, cy, dhx, dcx = (handle.empty(hx.shape) for _ in range(4))
    dx = handle.empty(x.shape)

    first = (state, hx, state, cx)
    final = (state, hy, state, cy)
    cudnn.cudnnRNNForwardTraining(
        handle, rnn, length, x_desc, x, *first, w_desc, w, y_desc, y, *final, *scratch, *reserve
    )
    cudnn.cudnnRNNBackwardData(
        handle,
        rnn,
        length,
        y_desc,
        y,
        y_desc,
        dy,
        state,
        dhy,
        state,
        dcy,
        w_desc,
        w,
        *first,
        x_desc,
        dx,
        state,
        dhx,
        state,
        dcx,
        *scratch,
        *reserve,
    )
    cudnn.cudnnRNNBackwardWeights(handle, rnn, length, x_desc, x, state, hx, y_desc, y, *scratch, w_desc, dw, *reserve)

    found = {"y": y, "hy": hy, "cy": cy, "dx": dx, "dhx": dhx, "dcx": dcx}
    for layer, number in data.lstm_parameters():
        place = (handle, rnn, layer, step, w_desc, dw, number, part)
        found[f"dw {layer}.{number}"] = cudnn.cudnnGetRNNLinLayerMatrixParams(*place)
        found[f"dbias {layer}.{number}"] = cudnn.cudnnGetRNNLinLayerBiasParams(*place)
    results = {name: handle.to_numpy(array) for name, array in found.items()}
    cudnn.cudnnDestroy(handle)
    return results
