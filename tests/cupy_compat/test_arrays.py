"""The functions of ``cupyx.cudnn`` over NumPy's arrays, against NumPy, SciPy and finite differences."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import signal, special

from portadnn.cupy_compat import cudnn
from portadnn.cupy_compat import libcudnn as lib

NCHW, NHWC = lib.CUDNN_TENSOR_NCHW, lib.CUDNN_TENSOR_NHWC
TUNING = {"auto_tune": False, "tensor_core": "auto"}


def _random(*shape: int, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def _close(found: Any, wanted: Any, tolerance: float = 1e-9) -> None:
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, tolerance, tolerance)


def _summed(image: Any, filters: Any) -> Any:
    """Return the correlation of an image with as many channels as the filter has."""
    return sum(signal.correlate(channel, of_it, "valid") for channel, of_it in zip(image, filters, strict=False))


def _correlated(x: Any, w: Any, stride: int, dilation: int, groups: int) -> Any:
    """Return the convolution with padding 1, by SciPy."""
    holes = np.zeros((*w.shape[:2], *(dilation * (size - 1) + 1 for size in w.shape[2:])))
    holes[(..., *(slice(None, None, dilation),) * (w.ndim - 2))] = w
    padded = np.pad(x, [(0, 0), (0, 0), *[(1, 1)] * (x.ndim - 2)])
    per_x, per_w = x.shape[1] // groups, w.shape[0] // groups
    out = np.array([[_summed(image[k // per_w * per_x :], holes[k]) for k in range(len(w))] for image in padded])
    return out[(..., *(slice(None, None, stride),) * (x.ndim - 2))]


@pytest.mark.parametrize(
    "dims, groups, stride, dilation, layout",
    [(2, 1, 1, 1, NCHW), (2, 2, 2, 1, NCHW), (2, 1, 1, 2, NCHW), (3, 1, 2, 1, NCHW), (2, 1, 2, 1, NHWC)],
)
def test_convolution(dims: int, groups: int, stride: int, dilation: int, layout: int) -> None:
    x, w, b = _random(2, 4, *range(7, 7 + dims)), _random(6, 4 // groups, *(3, 2, 3)[:dims]), _random(6)
    wanted = _correlated(x, w, stride, dilation, groups)
    sizes = [(1,) * dims, (stride,) * dims, (dilation,) * dims]
    last = [0, *range(2, dims + 2), 1]
    laid = [np.ascontiguousarray(a.transpose(last)) if layout == NHWC else a for a in (x, w, wanted)]
    layouts, y, gy = {"d_layout": layout, "w_layout": layout}, np.full_like(laid[2], np.nan), _random(*laid[2].shape)
    cudnn.convolution_forward(laid[0], laid[1], b, y, *sizes, groups, **TUNING, **layouts)
    in_order = [0, dims + 1, *range(1, dims + 1)]
    _close(y.transpose(in_order) if layout == NHWC else y, wanted + b.reshape(-1, *(1,) * dims))
    # a gradient g is right if <g, direction> is the change of <y, gy> in that direction, which is linear
    gx, gw = np.full_like(laid[0], np.nan), np.full_like(laid[1], np.nan)
    tuning = {**TUNING, **layouts, "deterministic": True}
    cudnn.convolution_backward_data(laid[1], gy, None, gx, *sizes, groups, **tuning)
    cudnn.convolution_backward_filter(laid[0], gy, gw, *sizes, groups, **tuning)
    assert np.isclose((gx * laid[0]).sum(), (laid[2] * gy).sum())
    assert np.isclose((gw * laid[1]).sum(), (laid[2] * gy).sum())


def test_bias_of_backward_data_is_added() -> None:
    w, x, b, y = _random(3, 2, 3, 3), _random(1, 3, 4, 4), _random(2), np.empty((1, 2, 6, 6))
    without = np.empty_like(y)
    sizes = [(0, 0), (1, 1), (1, 1), 1]
    cudnn.convolution_backward_data(w, x, b, y, *sizes, deterministic=False, **TUNING)
    cudnn.convolution_backward_data(w, x, None, without, *sizes, deterministic=False, **TUNING)
    _close(y, without + b.reshape(1, 2, 1, 1))


def test_the_least_workspace_is_taken_where_none_is_permitted(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w, y = _random(1, 2, 9, 9), _random(5, 2, 3, 3), np.empty((1, 5, 7, 7))
    monkeypatch.setattr("portadnn.cupy_compat.descriptors._workspace_limit", -1)
    assert cudnn.get_max_workspace_size() == -1
    with pytest.warns(RuntimeWarning, match="no conv forward algo needs at most -1 bytes"):
        cudnn.convolution_forward(x, w, None, y, (0, 0), (1, 1), (1, 1), 1, **TUNING)
    _close(y, np.array([[_summed(x[0], each) for each in w]]))


def test_no_algorithm_at_all_is_a_runtime_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import portadnn as dnn

    monkeypatch.setattr(dnn, "get_convolution_forward_algorithm_v7", lambda *_: [])
    with pytest.raises(RuntimeError, match="No conv forward algo"):
        cudnn.convolution_forward(
            *(_random(1, 2, 8, 9), _random(5, 2, 3, 3), None, np.empty((1, 5, 6, 7)), (0, 0), (1, 1), (1, 1), 1),
            **TUNING,
        )


def test_wrong_dims_carry_a_status_and_the_arrays() -> None:
    x, w, y = _random(1, 2, 5, 5), _random(5, 3, 3, 3), np.empty((1, 5, 3, 3))
    with pytest.raises(lib.CuDNNError) as caught:
        cudnn.convolution_forward(x, w, None, y, (0, 0), (1, 1), (1, 1), 1, **TUNING)
    assert caught.value.status == 3
    with pytest.raises(ValueError, match="tensor_core"):
        cudnn.convolution_forward(x, w, None, y, (0, 0), (1, 1), (1, 1), 1, auto_tune=False, tensor_core="maybe")
    with pytest.raises(TypeError, match="int32"):
        cudnn.activation_forward(np.int32([[1]]), 1)


ACTIVATIONS = [
    ("SIGMOID", special.expit, lambda x: special.expit(x) * special.expit(-x), 0.0),
    ("RELU", lambda x: np.maximum(x, 0), lambda x: (x > 0) * 1.0, 0.0),
    ("TANH", np.tanh, lambda x: 1 - np.tanh(x) ** 2, 0.0),
    ("CLIPPED_RELU", lambda x: np.clip(x, 0, 0.75), lambda x: ((x > 0) & (x < 0.75)) * 1.0, 0.75),
    ("ELU", lambda x: np.where(x > 0, x, 0.5 * np.expm1(x)), lambda x: np.where(x > 0, 1, 0.5 * np.exp(x)), 0.5),
]


@pytest.mark.parametrize("name, of, slope, coef", ACTIVATIONS, ids=[row[0] for row in ACTIVATIONS])
def test_activation(name: str, of: Any, slope: Any, coef: float) -> None:
    mode, x, gy = getattr(lib, f"CUDNN_ACTIVATION_{name}"), _random(3, 4, 5), _random(3, 5, 4).reshape(3, 4, 5)
    y = cudnn.activation_forward(x, mode, coef)
    _close(y, of(x))
    _close(cudnn.activation_backward(x, y, gy, mode, coef), gy * slope(x))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(axis: int) -> None:
    x, gy = _random(3, 4, 5), _random(5, 4, 3).reshape(3, 4, 5)
    y = cudnn.softmax_forward(x[:, ::-1], axis, lib.CUDNN_SOFTMAX_ACCURATE)
    wanted = special.softmax(x[:, ::-1], axis)
    _close(y, wanted)
    _close(cudnn.softmax_forward(x, axis, lib.CUDNN_SOFTMAX_LOG), special.log_softmax(x, axis))
    gx = cudnn.softmax_backward(y, gy, axis, lib.CUDNN_SOFTMAX_ACCURATE)
    _close(gx, wanted * (gy - (gy * wanted).sum(axis, keepdims=True)))


@pytest.mark.parametrize("dims", [2, 3])
def test_pooling(dims: int) -> None:
    x = _random(2, 3, *(4,) * dims)
    blocks = x.reshape(2, 3, *(2,) * (2 * dims))
    inner = tuple(range(3, 3 + 2 * dims, 2))
    y, window = np.empty((2, 3, *(2,) * dims)), ((2,) * dims, (2,) * dims, (0,) * dims)
    assert cudnn.pooling_forward(x, y, *window, lib.CUDNN_POOLING_MAX) is y
    _close(y, blocks.max(inner))
    gx = cudnn.pooling_backward(x, y, y, *window, lib.CUDNN_POOLING_MAX)
    _close(gx, np.where(np.isin(x, y), x, 0))
    average = lib.CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
    _close(cudnn.pooling_forward(x, y, *window, average), blocks.mean(inner))
    with pytest.raises(ValueError, match="contiguous"):
        cudnn.pooling_forward(x, y[:, ::-1], *window, average)


@pytest.mark.parametrize("mode", ["MAX", "AVERAGE_COUNT_INCLUDE_PADDING"])
@pytest.mark.parametrize("out", [2, 3, 1])
def test_pooling_into_any_size(mode: str, out: int) -> None:
    """The last of three windows is half outside of five numbers; the formula gives two."""
    x, y, gy = _random(1, 2, 5, 4), np.empty((1, 2, out, 2)), _random(1, 2, out, 2)
    pooling = ((2, 2), (2, 2), (0, 0), getattr(lib, f"CUDNN_POOLING_{mode}"))
    windows = [[x[:, :, 2 * p : 2 * p + 2, 2 * q : 2 * q + 2] for q in range(2)] for p in range(out)]
    of = (lambda w: w.max((2, 3))) if mode == "MAX" else (lambda w: w.sum((2, 3)) / 4)
    wanted_y = np.array([[of(window) for window in row] for row in windows]).transpose(2, 3, 0, 1)
    _close(cudnn.pooling_forward(x, y, *pooling), wanted_y)
    gx, wanted = cudnn.pooling_backward(x, y, gy, *pooling), np.zeros_like(x)
    for p, q in itertools.product(range(out), range(2)):
        window, place = windows[p][q], (slice(None), slice(None), slice(2 * p, 2 * p + 2), slice(2 * q, 2 * q + 2))
        share = (window == window.max((2, 3), keepdims=True)) if mode == "MAX" else 0.25
        wanted[place] += share * gy[:, :, p : p + 1, q : q + 1]
    _close(gx, wanted)


@pytest.mark.parametrize("layout, dtype", [(NCHW, np.float64), (NHWC, np.float32), (NCHW, np.float16)])
def test_batch_normalization_of_images(layout: int, dtype: Any) -> None:
    x, gy = _random(4, 3, 5, 2), _random(4, 3, 2, 5).reshape(4, 3, 5, 2)
    gamma, beta = np.array([0.5, 1, 2]), np.array([1.0, 2, 3])
    mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
    shape, close = (1, 3, 1, 1), 1e-9 if dtype is np.float64 else 1e-4 if dtype is np.float32 else 2e-2
    hat = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + 1e-3)
    laid = [np.ascontiguousarray(a.transpose(0, 2, 3, 1)) if layout == NHWC else a for a in (x, gy, hat)]
    laid = [a.astype(dtype) for a in laid]
    of_parameters = [a.astype(dtype) for a in (gamma, beta)]
    running = [np.zeros(3, dtype), np.ones(3, dtype)]
    mode = (1e-3, 0.75, True, lib.CUDNN_BATCHNORM_SPATIAL, False, layout)
    y, saved_mean, saved_inv_std = cudnn.batch_normalization_forward_training(
        laid[0], *of_parameters, *running, None, None, *mode
    )
    channels = (1, 1, 1, 3) if layout == NHWC else shape
    _close(y, laid[2] * gamma.reshape(channels) + beta.reshape(channels), close)
    _close(saved_mean, mean, close)
    _close(saved_inv_std, 1 / np.sqrt(var + 1e-3), close)
    _close(running[0], 0.25 * mean, close)
    _close(running[1], 0.75 + 0.25 * var * 40 / 39, close)
    ggamma, gbeta = (gy * hat).sum((0, 2, 3)), gy.sum((0, 2, 3))
    of_x = hat * ggamma.reshape(shape) + gbeta.reshape(shape)
    gx = gamma.reshape(shape) / np.sqrt(var.reshape(shape) + 1e-3) * (gy - of_x / 40)
    found = cudnn.batch_normalization_backward(
        *(laid[0], of_parameters[0], laid[1], saved_mean, saved_inv_std, 1e-3, True, 1, False, layout)
    )
    _close(found[0], gx.transpose(0, 2, 3, 1) if layout == NHWC else gx, close)
    _close(found[1], ggamma, 10 * close)
    _close(found[2], gbeta, 10 * close)
    assert {array.dtype for array in found} == {np.dtype(dtype)}


def test_batch_normalization_of_rows() -> None:
    x, gamma, beta, mean, var = _random(6, 4), _random(4), _random(2, 2).ravel(), _random(4), np.arange(1.0, 5)
    wanted = (x - mean) / np.sqrt(var + 1e-3) * gamma + beta
    found = cudnn.batch_normalization_forward_inference(x, gamma, beta, mean, var, 1e-3, False, 0)
    _close(found, wanted)
    reserve, y, _, _ = cudnn.batch_normalization_forward_training_ex(
        x, gamma, beta, mean.copy(), var.copy(), None, None, 1e-3, 0.9, False, 0, False
    )
    assert reserve is None
    _close(y, (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-3) * gamma + beta)


def test_running_statistics_without_a_share_may_be_any_memory() -> None:
    """Chainer's group normalization passes one array for the bias and both running statistics, with a decay of 1."""
    x, gamma, dummy = _random(1, 6, 20, 1), np.ones(6), np.zeros(6)
    y, mean, _ = cudnn.batch_normalization_forward_training(
        x, gamma, dummy, dummy, dummy, None, None, 1e-5, 1.0, True, lib.CUDNN_BATCHNORM_SPATIAL, False
    )
    _close(mean, x.mean((0, 2, 3)))
    _close(y, (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5))
    assert not dummy.any()


def test_dropout_keeps_its_place_between_ratios() -> None:
    first, second = (cudnn.DropoutStates(None, 7) for _ in range(2))
    x = np.ones((8, 64), np.float32)
    for ratio in (0.0, 0.5, 0.25):
        reserve, y = first.forward(None, x, ratio)
        _, same = second.forward(None, x, ratio)
        np.testing.assert_array_equal(y, same)
        assert set(np.unique(y)) == ({1.0} if ratio == 0 else {0.0, np.float32(1 / (1 - ratio))})
        np.testing.assert_array_equal(first.backward(None, x, ratio, reserve), y)
    _, again = first.forward(None, x, 0.25)
    assert (again != y).any()


def _gates(states: Any, mode: int, x: int, h: int, dtype: Any) -> tuple[Any, list[Any], list[Any]]:
    """Return a network's parameters, all random, and its matrices and biases as views."""
    handle = cudnn.get_handle()
    rnn = cudnn.create_rnn_descriptor(h, 1, states._desc, 0, 0, mode, cudnn.get_data_type(np.dtype(dtype)))
    step = cudnn.create_tensor_nd_descriptor(np.empty((1, x, 1), dtype))
    size = lib.getRNNParamsSize(handle, rnn.value, step.value, cudnn.get_data_type(np.dtype(dtype)))
    w = _random(size // np.dtype(dtype).itemsize, 1, 1, dtype=dtype) / 3
    desc = cudnn.create_filter_descriptor(w)
    parts = 8 if mode == lib.CUDNN_LSTM else 2
    given = [(handle, rnn, 0, step, desc, w, part) for part in range(parts)]
    matrices = [cudnn.get_rnn_lin_layer_matrix_params(*each).reshape(h, -1) for each in given]
    return w, matrices, [cudnn.get_rnn_lin_layer_bias_params(*each).ravel() for each in given]


def _recurrent(mode: int, x: Any, h: Any, c: Any, w: list[Any], b: list[Any]) -> tuple[Any, Any]:
    """Return a step of an LSTM or of tanh, by its formula."""
    if mode == lib.CUDNN_RNN_TANH:
        return np.tanh(x @ w[0].T + b[0] + h @ w[1].T + b[1]), c
    i, f, g, o = (x @ w[k].T + b[k] + h @ w[k + 4].T + b[k + 4] for k in range(4))
    c = special.expit(f) * c + special.expit(i) * np.tanh(g)
    return special.expit(o) * np.tanh(c), c


@pytest.mark.parametrize("mode", [lib.CUDNN_RNN_TANH, lib.CUDNN_LSTM])
@pytest.mark.parametrize("padded", [False, True])
def test_recurrent_network(mode: int, padded: bool) -> None:
    states, dtype = cudnn.DropoutStates(None, 1), np.float64
    steps_of = [3, 2, 1]  # of each sequence
    rows = [3, 2, 1]  # of each step
    w, matrices, biases = _gates(states, mode, 4, 5, dtype)
    hx, cx = _random(1, 3, 5), _random(3, 1, 5).reshape(1, 3, 5) if mode == lib.CUDNN_LSTM else None
    whole = _random(3, 3, 4)
    xs = whole if padded else np.concatenate([whole[t, :n] for t, n in enumerate(rows)])
    ending, lengths = ("_ex", np.array(steps_of, np.int32)) if padded else ("", rows)
    h, c, outputs = hx[0].copy(), np.zeros((3, 5)) if cx is None else cx[0].copy(), []
    for t, n in enumerate(rows):
        h[:n], c[:n] = _recurrent(mode, whole[t, :n], h[:n], c[:n], matrices, biases)
        outputs.append(h[:n].copy())
    call = (states, 0, mode, hx, cx, w, xs, lengths)
    reserve, hy, cy, ys = getattr(cudnn, f"rnn_forward_training{ending}")(*call)
    found = np.concatenate([ys[t, :n] for t, n in enumerate(rows)]) if padded else ys
    _close(found, np.concatenate(outputs))
    _close(hy[0], h)
    assert cy.size == 0 if cx is None else np.allclose(cy[0], c)
    inference = getattr(cudnn, f"rnn_forward_inference{ending}")
    _close(inference(*call)[0], hy)
    dhy, dys = _random(3, 5, 1).reshape(1, 3, 5), np.zeros_like(ys)
    back = (states, 0, mode, hx, cx, w, xs, ys, reserve, dhy, None if cx is None else np.zeros_like(dhy), dys, lengths)
    dhx, _, dxs = getattr(cudnn, f"rnn_backward_data{ending}")(*back)
    dw = getattr(cudnn, f"rnn_backward_weights{ending}")(states, 0, mode, xs, hx, ys, w, reserve, lengths)
    for place, gradient in ((3, dhx), (5, dw), (6, dxs)):
        way, sides = _random(*gradient.shape), []
        for step in (1e-6, -1e-6):
            moved = list(call)
            moved[place] = call[place] + step * way
            sides.append((inference(*moved)[0] * dhy).sum())
        valid = gradient * way
        if padded and place == 6:
            valid = np.concatenate([valid[t, :n] for t, n in enumerate(rows)])
        assert np.isclose(valid.sum(), (sides[0] - sides[1]) / 2e-6, rtol=1e-5, atol=1e-7)


def test_recurrent_network_of_halves_sums_in_floats() -> None:
    states = cudnn.DropoutStates(None, 1)
    w, matrices, biases = _gates(states, lib.CUDNN_RNN_TANH, 4, 5, np.float16)
    hx, xs = _random(1, 2, 5, dtype=np.float16), _random(2, 4, dtype=np.float16)
    hy, _, ys = cudnn.rnn_forward_inference(states, 0, lib.CUDNN_RNN_TANH, hx, None, w, xs, [2])
    wide = [array.astype(np.float64) for array in (xs, hx[0], *matrices, *biases)]
    wanted, _ = _recurrent(lib.CUDNN_RNN_TANH, wide[0], wide[1], None, wide[2:4], wide[4:])
    _close(ys, wanted, 2e-3)
    np.testing.assert_array_equal(hy[0], ys)


def test_ctc_loss_sums_over_all_paths() -> None:
    probs = special.softmax(_random(4, 1, 3), -1).astype(np.float32)
    label = [1, 2]
    wanted = 0.0
    for path in itertools.product(range(3), repeat=4):
        kept = [p for p, before in zip(path, (None, *path), strict=False) if p != before]
        if [p for p in kept if p] == label:
            wanted += np.prod([probs[t, 0, p] for t, p in enumerate(path)])
    counts = (np.array(label, np.int32), np.array([2], np.int32), np.array([4], np.int32))
    loss, gradients = cudnn.ctc_loss(probs, *counts, lib.CUDNN_CTC_LOSS_ALGO_DETERMINISTIC)
    _close(loss, np.array([-np.log(wanted)]), 1e-5)
    assert gradients.shape == probs.shape
    assert loss.dtype == np.float32


def test_algorithms_are_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import portadnn as dnn

    asked = []
    find = dnn.find_convolution_forward_algorithm
    monkeypatch.setattr(dnn, "find_convolution_forward_algorithm", lambda *args: asked.append(1) or find(*args))
    x, w, y = _random(1, 3, 6, 5), _random(2, 3, 3, 3), np.empty((1, 2, 4, 3))
    for _ in range(2):
        cudnn.convolution_forward(x, w, None, y, (0, 0), (1, 1), (1, 1), 1, auto_tune=True, tensor_core="never")
    assert asked == [1]
    wanted = np.array([[_summed(x[0], each) for each in w]])
    _close(y, wanted)
