"""Programs that the tests of recordings run; each takes a handle and makes some calls."""

from __future__ import annotations

from typing import Any

import numpy as np

import portadnn as dnn


def training(handle: Any) -> None:
    """Train a small network: two steps with in-place calls, views of a part, and gradients that are added."""
    rng = np.random.default_rng(0)
    conv = dnn.ConvolutionDescriptor(padding=(1, 1))
    pool, relu = dnn.PoolingDescriptor("max", (2, 2), stride=(2, 2)), dnn.ActivationDescriptor("relu")
    images = handle.asarray(rng.normal(size=(4, 1, 8, 8)), "float32")
    w = handle.asarray(rng.normal(size=(3, 1, 3, 3)), "float32")
    dw = handle.zeros(w.shape)
    for i in range(2):
        x = images[2 * i : 2 * i + 2]
        y = dnn.convolution_forward(handle, x, w, conv)
        dnn.activation_forward(handle, y, relu, y)
        z = dnn.pooling_forward(handle, y, pool)
        p = dnn.softmax_forward(handle, z)
        dz = dnn.softmax_backward(handle, p, p)
        dy = dnn.pooling_backward(handle, z, dz, y, pool)
        dnn.activation_backward(handle, y, dy, y, relu, dy)
        dnn.convolution_backward_filter(handle, x, dy, conv, dw, beta=0.5)
        dnn.add_tensor(handle, dw, w, alpha=-0.1 * (i + 1))
    handle.to_numpy(w)


def normalising(handle: Any) -> None:
    """Batch normalisation with running statistics, on memory of the program's own."""
    descriptor = dnn.TensorDescriptor((2, 3, 2, 2), strides=(16, 4, 2, 1))
    memory = handle.empty((1, 1, 64))
    x, y = descriptor.view(memory), descriptor.view(memory, 32)
    scale, bias = handle.asarray(np.ones((1, 3, 1, 1)), "float32"), handle.zeros((1, 3, 1, 1))
    mean, variance = handle.zeros(scale.shape), handle.asarray(np.ones((1, 3, 1, 1)), "float32")
    dnn.set_tensor(handle, x, 2.0)
    dnn.batch_normalization_forward_training(
        handle, x, scale, bias, y, mean, variance, exponential_average_factor=0.3, beta=0.5
    )
    dnn.batch_normalization_forward_inference(handle, x, scale, bias, mean, variance, y)


def recurrent(handle: Any) -> None:
    """A bidirectional LSTM with dropout, all four passes; and dropout by itself."""
    rng = np.random.default_rng(0)
    x = handle.asarray(rng.normal(size=(3, 2, 4)), "float32")
    dropout = dnn.set_dropout_descriptor(handle, 0.5, seed=3)
    rnn = dnn.RNNDescriptor(4, 2, direction="bidirectional", dropout=dropout)
    count = dnn.get_rnn_params_size(handle, rnn, (2, 4, 1)) // 4
    w = handle.asarray(rng.normal(size=(1, 1, count)), "float32")
    reserve = handle.empty_bytes(dnn.get_rnn_training_reserve_size(handle, rnn, x))
    y, _, _, reserve = dnn.rnn_forward_training(handle, x, None, None, w, rnn, reserve=reserve)
    _, _, _, reserve = dnn.rnn_backward_data(handle, y, y, None, None, w, None, None, rnn, reserve=reserve)
    dnn.rnn_backward_weights(handle, x, None, y, reserve, rnn, handle.zeros((1, 1, count)))
    dnn.rnn_forward_inference(handle, x, None, None, w, rnn)
    z, mask = dnn.dropout_forward(handle, y, dropout)
    dnn.dropout_backward(handle, z, dropout, mask)


def finding(handle: Any) -> None:
    """Find, Get and a workspace."""
    x, w = handle.zeros((1, 2, 5, 5)), handle.zeros((3, 2, 3, 3))
    conv = dnn.ConvolutionDescriptor()
    y = handle.empty((1, 3, 3, 3))
    dnn.find_convolution_forward_algorithm(handle, x, w, conv, y)
    size = dnn.get_convolution_forward_find_workspace_size(handle, x, w, conv, y)
    scratch = handle.empty_bytes(size + 64)
    found = dnn.find_convolution_forward_algorithm_ex(handle, x, w, conv, y, workspace=scratch)
    dnn.convolution_forward(handle, x, w, conv, y, algo=found[0].algo, workspace=scratch)
    reduce = dnn.ReduceTensorDescriptor("max", indices="flattened_indices")
    dnn.reduce_tensor(handle, reduce, y, dnn.TensorDescriptor((1, 3, 1, 1)))


def mistaken(handle: Any) -> None:
    """Wrong calls of many kinds; each raises."""
    x = handle.zeros((1, 2, 4, 4))
    conv, relu = dnn.ConvolutionDescriptor(), dnn.ActivationDescriptor("relu")
    wrong: list[Any] = [
        lambda: dnn.convolution_forward(handle, x, handle.zeros((4, 3, 3, 3)), conv),
        lambda: dnn.activation_forward(handle, x, relu, handle.zeros((1, 2, 4, 5))),
        lambda: dnn.activation_forward(handle, x, relu, alpha=float("nan"), beta="b"),
        lambda: dnn.PoolingDescriptor("max", (0, 1)),
        lambda: dnn.TensorDescriptor((1,)),
        lambda: dnn.TensorDescriptor.set_4d("nchw", "float32", 1, 1, 1, -1),
        lambda: dnn.set_tensor(handle, x),
        lambda: dnn.set_tensor(handle, None, 1.0),
        lambda: handle.asarray([[1], [1, 2]]),
        lambda: dnn.reduce_tensor(handle, dnn.ReduceTensorDescriptor("add"), x, None),
        lambda: dnn.convolution_forward(handle, x, handle.zeros((1, 2, 3, 3)), conv, workspace=3),
    ]
    for call in wrong:
        try:
            call()
        except (dnn.DnnError, TypeError):
            continue
        raise AssertionError("a wrong call succeeded")


PROGRAMS = {program.__name__: program for program in (training, normalising, recurrent, finding, mistaken)}
