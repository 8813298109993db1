# ruff: noqa: E501 -- one row, one line
"""Wrong calls of recurrent networks; see bad_calls. The right ones are LSTMs of 2 steps, 3 sequences, 4 features and hidden size 5."""

from __future__ import annotations

import numpy as np
from bad_calls import Row, bad, unsupported

import portadnn as dnn

R = dnn.RNNDescriptor
RNN = R(5)
T, N, F, H = 2, 3, 4, 5
SIZE = 4 * H * (F + H + 2)
X, Y, S, W = (T, N, F), (T, N, H), (1, N, H), (SIZE, 1, 1)
RESERVE = 4 * (128 + 64)  # bytes: gates and cells, each in whole 256 bytes
STEP = dnn.TensorDescriptor((N, F, 1))


def _bytes(env, count):
    return env.keep(env.h.device.asarray(np.zeros(count, np.uint8)))


def _tensors(env, given, **right):
    """Return the right arguments but for those given; tuples are dims, and a number is a size in bytes."""
    values = {**right, **given}
    made = {n: env.t(v) if isinstance(v, tuple) and n != "batch_sizes" else v for n, v in values.items()}
    return {n: _bytes(env, v) if type(v) is int and n == "reserve" else v for n, v in made.items()}


def inference(env, h="", rnn=RNN, **given):
    a = _tensors(env, given, x=X, hx=S, cx=S, w=W, y=Y, hy=S, cy=S, batch_sizes=None, workspace=None)
    more = {name: a[name] for name in ("batch_sizes", "workspace")}
    inputs, outputs = [a[n] for n in ("x", "hx", "cx", "w")], [a[n] for n in ("y", "hy", "cy")]
    return dnn.rnn_forward_inference(env.h if h == "" else h, *inputs, rnn, *outputs, **more)


def training(env, rnn=RNN, **given):
    a = _tensors(env, given, x=X, hx=S, cx=S, w=W, y=Y, hy=S, cy=S, reserve=RESERVE)
    inputs, outputs = [a[n] for n in ("x", "hx", "cx", "w")], [a[n] for n in ("y", "hy", "cy", "reserve")]
    return dnn.rnn_forward_training(env.h, *inputs, rnn, *outputs)


def data(env, rnn=RNN, **given):
    right = dict.fromkeys(("y", "dy"), Y) | dict.fromkeys(("dhy", "dcy", "hx", "cx", "dhx", "dcx"), S)
    a = _tensors(env, given, **right, w=W, dx=X, reserve=RESERVE)
    inputs = [a[n] for n in ("y", "dy", "dhy", "dcy", "w", "hx", "cx")]
    return dnn.rnn_backward_data(env.h, *inputs, rnn, *(a[n] for n in ("dx", "dhx", "dcx", "reserve")))


def weights(env, rnn=RNN, **given):
    a = _tensors(env, given, x=X, hx=S, y=Y, reserve=RESERVE, dw=W)
    return dnn.rnn_backward_weights(env.h, *(a[n] for n in ("x", "hx", "y", "reserve")), rnn, a["dw"])


def matrix(env, get=dnn.get_rnn_lin_layer_matrix_params, rnn=RNN, layer=0, x=STEP, w=W, number=0):
    return get(env.h, rnn, layer, x, env.t(w) if isinstance(w, tuple) else w, number)


def _line(text):
    return lambda env: dnn.parse(f"rnn_forward_inference {text}")


STEPS = (dnn.TensorDescriptor((3, 4, 1)), dnn.TensorDescriptor((2, 3, 1)))
DROPS = R(5, 2, dropout=dnn.DropoutDescriptor(0.5))
DESCRIPTOR, SIZES = "RNNDescriptor", ("get_rnn_workspace_size", "get_rnn_training_reserve_size")
INFER, TRAIN, DATA, WEIGHTS = (
    "rnn_forward_inference",
    "rnn_forward_training",
    "rnn_backward_data",
    "rnn_backward_weights",
)
PARAMS, MATRIX, BIAS = "get_rnn_params_size", "get_rnn_lin_layer_matrix_params", "get_rnn_lin_layer_bias_params"

ROWS: list[Row] = [
    bad("4.101", DESCRIPTOR, lambda e: R(0), "hidden_size", ">= 1", "0"),
    bad("4.101", DESCRIPTOR, lambda e: R(2.5), "hidden_size", "an integer", "2.5"),
    bad("4.101", DESCRIPTOR, lambda e: R(5, -1), "num_layers", ">= 1", "-1"),
    bad("4.101", DESCRIPTOR, lambda e: R(5, 1, "elman"), "mode", "RNN_RELU, RNN_TANH, LSTM, GRU", "elman"),
    bad("4.101", DESCRIPTOR, lambda e: R(5, direction=2), "direction", "BIDIRECTIONAL", "2"),
    bad("4.101", DESCRIPTOR, lambda e: R(5, input_mode="none"), "input_mode", "SKIP_INPUT", "none"),
    bad("4.101", DESCRIPTOR, lambda e: R(5, dropout=0.5), "dropout", "DropoutDescriptor", "0.5"),
    bad("4.101", DESCRIPTOR, lambda e: R(5, compute_type="int8"), "compute_type", "float32", "int8"),
    bad("4.102", SIZES[0], lambda e: dnn.get_rnn_workspace_size(None, RNN, dnn.TensorDescriptor(X)), "handle", "portadnn.Handle", "None"),
    bad("4.102", SIZES[0], lambda e: dnn.get_rnn_workspace_size(e.h, None, dnn.TensorDescriptor(X)), "rnn", "RNNDescriptor", "None"),
    bad("4.102", SIZES[0], lambda e: dnn.get_rnn_workspace_size(e.h, RNN, STEPS), "batch_sizes[1]", "(n, 4, 1)", "3x1"),
    bad("4.102", SIZES[0], lambda e: dnn.get_rnn_workspace_size(e.h, RNN, (*STEPS[:1], dnn.TensorDescriptor((4, 4, 1)))), "batch_sizes", "never increase", "(3, 4)"),
    bad("4.103", SIZES[1], lambda e: dnn.get_rnn_training_reserve_size(e.h, RNN, dnn.TensorDescriptor((2, 3, 4, 1))), "x.dims", "3 dims", "(2, 3, 4, 1)"),
    bad("4.103", SIZES[1], lambda e: dnn.get_rnn_training_reserve_size(e.h, RNN, dnn.TensorDescriptor((5, 4, 1)), batch_sizes=(3, 1)), "x.dims", "(4, features, 1)", "(5, 4, 1)"),
    bad("4.104", PARAMS, lambda e: dnn.get_rnn_params_size(e.h, RNN, (3, 4)), "x", "3 to 8 dims", "(3, 4)"),
    bad("4.104", PARAMS, lambda e: dnn.get_rnn_params_size(e.h, RNN, X), "x.dims", "(n, features, 1)", "(2, 3, 4)"),
    bad("4.104", PARAMS, lambda e: dnn.get_rnn_params_size(e.h, RNN, STEP, "half"), "dtype", "FLOAT as x", "HALF"),
    bad("4.104", PARAMS, lambda e: dnn.get_rnn_params_size(e.h, R(5, input_mode=1), STEP), "x.dims", "5 features", "SKIP_INPUT"),
    bad("4.105", MATRIX, lambda e: matrix(e, layer=1), "layer", "0 to 0", "1"),
    bad("4.105", MATRIX, lambda e: matrix(e, number=8), "lin_layer_id", "0 to 7", "8"),
    bad("4.105", MATRIX, lambda e: matrix(e, number=-1), "lin_layer_id", ">= 0", "-1"),
    bad("4.105", MATRIX, lambda e: matrix(e, w=None), "w", "a tensor", "None"),
    bad("4.105", MATRIX, lambda e: matrix(e, w=(219, 1, 1)), "w.dims", f"{SIZE} parameters", "219"),
    bad("4.106", BIAS, lambda e: matrix(e, dnn.get_rnn_lin_layer_bias_params, R(5, 1, "gru"), number=6, w=(165, 1, 1)), "lin_layer_id", "0 to 5", "6"),
    bad("4.107", INFER, lambda e: inference(e, h=None), "handle", "portadnn.Handle", "None"),
    bad("4.107", INFER, lambda e: inference(e, rnn=None), "rnn", "RNNDescriptor", "None"),
    bad("4.107", INFER, lambda e: inference(e, x=None), "x", "a tensor", "None"),
    bad("4.107", INFER, lambda e: inference(e, x=(2, 3, 4, 1)), "x.dims", "3 dims", "(2, 3, 4, 1)"),
    bad("4.107", INFER, lambda e: inference(e, x=(0, 3, 4), y=None), "x.dims", "at least one step", "(0, 3, 4)"),
    bad("4.107", INFER, lambda e: inference(e, x=e.view(X, (24, 8, 2))), "x.strides", "packed", "(24, 8, 2)"),
    bad("4.107", INFER, lambda e: inference(e, w=(4, 7, 7)), "w.dims", f"{SIZE} parameters", "(4, 7, 7)"),
    bad("4.107", INFER, lambda e: inference(e, w=e.t(W, "float16")), "w.dtype", "FLOAT as x", "HALF"),
    bad("4.107", INFER, lambda e: inference(e, hx=(3, 1, 5)), "hx.dims", "(1, 3, 5)", "(3, 1, 5)"),
    bad("4.107", INFER, lambda e: inference(e, cx=(1, 3, 4)), "cx.dims", "(1, 3, 5)", "(1, 3, 4)"),
    bad("4.107", INFER, lambda e: inference(e, y=(2, 3, 4)), "y.dims", "(2, 3, 5)", "(2, 3, 4)"),
    bad("4.107", INFER, lambda e: inference(e, hy=(1, 2, 5)), "hy.dims", "(1, 3, 5)", "(1, 2, 5)"),
    bad("4.107", INFER, lambda e: inference(e, cy=(2, 3, 5)), "cy.dims", "(1, 3, 5)", "(2, 3, 5)"),
    bad("4.107", INFER, lambda e: inference(e, hy=(s := e.t(S)), cy=s), "cy", "apart from hy", "shared"),
    bad("4.107", INFER, lambda e: inference(e, batch_sizes=(3, 3)), "x.dims", "(6, features, 1)", "(2, 3, 4)"),
    bad("4.107", INFER, lambda e: inference(e, batch_sizes=(1, 2)), "batch_sizes", "never increase", "(1, 2)"),
    bad("4.107", INFER, lambda e: inference(e, batch_sizes=()), "batch_sizes", "at least one", "()"),
    bad("4.107", INFER, lambda e: inference(e, batch_sizes=(3, 0)), "batch_sizes", ">= 1", "(3, 0)"),
    bad("4.107", INFER, lambda e: inference(e, batch_sizes=6), "batch_sizes", "sequence of integers", "6"),
    bad("4.107", INFER, lambda e: inference(e, rnn=R(5, input_mode=1)), "x", "5 features", "SKIP_INPUT"),
    unsupported("4.107", INFER, lambda e: inference(e, rnn=R(5, compute_type="double")), "rnn.compute_type", "FLOAT", "DOUBLE"),
    bad("4.107", INFER, lambda e: inference(e, workspace=e.h.empty_bytes(4)), "workspace", "at least", "4 bytes", backends=("opencl", "cuda")),
    bad("4.108", TRAIN, lambda e: training(e, reserve=RESERVE - 4), "reserve", f"at least {RESERVE} bytes", f"{RESERVE - 4} bytes"),
    bad("4.108", TRAIN, lambda e: training(e, reserve=e.t((192, 1, 1))), "reserve.dtype", "uint8", "float32"),
    bad("4.108", TRAIN, lambda e: training(e, rnn=DROPS), "rnn.dropout.states", "set_dropout_descriptor", "None"),
    bad("4.109", DATA, lambda e: data(e, reserve=None), "reserve", "the forward pass", "None"),
    bad("4.109", DATA, lambda e: data(e, reserve=16), "reserve", f"at least {RESERVE} bytes", "16 bytes"),
    bad("4.109", DATA, lambda e: data(e, dy=(2, 3, 6)), "dy.dims", "(2, 3, 5)", "(2, 3, 6)"),
    bad("4.109", DATA, lambda e: data(e, dhy=(1, 3, 6)), "dhy.dims", "(1, 3, 5)", "(1, 3, 6)"),
    bad("4.109", DATA, lambda e: data(e, dcx=(1, 3, 6)), "dcx.dims", "(1, 3, 5)", "(1, 3, 6)"),
    bad("4.109", DATA, lambda e: data(e, dx=(2, 3, 3)), "w.dims", "200 parameters", "(220, 1, 1)"),
    bad("4.109", DATA, lambda e: data(e, dx=None, w=(221, 1, 1)), "dx", "does not follow", "None"),
    bad("4.109", DATA, lambda e: data(e, dhx=(s := e.t(S)), hx=s), "dhx", "apart from hx", "shared"),
    bad("4.110", WEIGHTS, lambda e: weights(e, dw=None), "dw", "added to it", "None"),
    bad("4.110", WEIGHTS, lambda e: weights(e, dw=(219, 1, 1)), "dw.dims", f"{SIZE} parameters", "(219, 1, 1)"),
    bad("4.110", WEIGHTS, lambda e: weights(e, reserve=None), "reserve", "a tensor", "None"),
    bad("4.110", WEIGHTS, lambda e: weights(e, hx=(2, 3, 5)), "hx.dims", "(1, 3, 5)", "(2, 3, 5)"),
    bad("4.110", WEIGHTS, lambda e: weights(e, y=(3, 3, 5)), "y.dims", "(2, 3, 5)", "(3, 3, 5)"),
    bad("4.107", "parse", _line("x=f32:2x3x4 w=f32:220x1x1 hidden_size=0"), "rnn.hidden_size", ">= 1", "0", backends=("reference",)),
    bad("4.109", "parse", lambda e: dnn.parse("rnn_backward_data y=f32:2x3x4 w=f32:220x1x1 hidden_size=0"), "rnn_backward_data", "dx, reserve in the line", "hidden_size=0", backends=("reference",)),
    bad("4.107", "parse", _line("x=f32:2x3x4 w=f32:220x1x1 hidden_size=5 dropout=2"), "rnn.dropout", "0 to 1", "2", backends=("reference",)),
    bad("4.107", "parse", _line("x=f32:2x3x4 w=f32:55x1x1 hidden_size=5 mode=rnn_tanh cx=f32:1x3x5"), "cx", "only an LSTM", "1x3x5", backends=("reference",)),
]  # fmt: skip
RIGHT = (inference, training, data, weights, matrix)  # calls from which the wrong ones differ in one thing
