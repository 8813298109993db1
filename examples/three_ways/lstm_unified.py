"""A bidirectional LSTM of two layers, forward and both gradients, with portadnn's own names."""

from __future__ import annotations

import numpy as np

import portadnn as dnn

from . import data


def run(backend: str) -> dict[str, np.ndarray]:
    """Return outputs, final states, and the gradients of input, first states and each matrix and bias."""
    with dnn.Handle(backend) as handle:
        rnn = dnn.RNNDescriptor(data.HIDDEN, data.LAYERS, "lstm", "bidirectional", "linear_input")
        step = dnn.TensorDescriptor((data.SEQUENCES, data.FEATURES, 1))
        tensors = {name: handle.asarray(values) for name, values in data.lstm_tensors().items()}
        x, dy, hx, cx = (tensors[name] for name in ("x", "dy", "hx", "cx"))
        count = dnn.get_rnn_params_size(handle, rnn, step) // 4
        w, dw = handle.zeros((count, 1, 1)), handle.zeros((count, 1, 1))
        for (layer, number), (matrix, bias) in data.lstm_parameters().items():
            place = dnn.get_rnn_lin_layer_matrix_params(handle, rnn, layer, step, w, number)
            dnn.transform_tensor(handle, handle.asarray(matrix[None]), place)
            place = dnn.get_rnn_lin_layer_bias_params(handle, rnn, layer, step, w, number)
            dnn.transform_tensor(handle, handle.asarray(bias[None, :, None]), place)

        hy, cy, dhx, dcx = (handle.empty(hx.shape) for _ in range(4))
        y, hy, cy, reserve = dnn.rnn_forward_training(handle, x, hx, cx, w, rnn, None, hy, cy)
        dx, dhx, dcx, reserve = dnn.rnn_backward_data(
            handle, y, dy, tensors["dhy"], tensors["dcy"], w, hx, cx, rnn, handle.empty(x.shape), dhx, dcx, reserve
        )
        dnn.rnn_backward_weights(handle, x, hx, y, reserve, rnn, dw)

        found = {"y": y, "hy": hy, "cy": cy, "dx": dx, "dhx": dhx, "dcx": dcx}
        for layer, number in data.lstm_parameters():
            place = f"{layer}.{number}"
            found[f"dw {place}"] = dnn.get_rnn_lin_layer_matrix_params(handle, rnn, layer, step, dw, number)
            found[f"dbias {place}"] = dnn.get_rnn_lin_layer_bias_params(handle, rnn, layer, step, dw, number)
        return {name: handle.to_numpy(array) for name, array in found.items()}
