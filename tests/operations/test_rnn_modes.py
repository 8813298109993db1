"""Recurrent networks with fewer biases and with clipped cells, against formulas walked number by number and PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
from helper import Case, check, everywhere, over

import portadnn as dnn
from portadnn.ops.rnn.layout import RNNBiasMode

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
SIZES = "hidden_size=5 num_layers=2"


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def walk(rnn, parts, x, clip=(-np.inf, np.inf), cx=0.0):
    """Return outputs and last cells of one layer, one direction and no hidden state before, by the guide's formulas.

    The limits are cuDNN 9.19's: of cells where they are read, by the next step and by tanh.
    """
    mode, hidden = rnn.mode.name.lower(), rnn.hidden_size
    gates = GATES[mode]
    w, r, b_w, b_r = parts
    h, c, outputs = np.zeros((x.shape[1], hidden)), np.zeros((x.shape[1], hidden)) + cx, []
    for step in x:
        wx = [step @ w[g].T + b_w[g] for g in range(gates)]
        rh = [h @ r[g].T + b_r[g] for g in range(gates)]
        if mode == "lstm":
            i, f, o = (sigmoid(wx[g] + rh[g]) for g in (0, 1, 3))
            c = f * np.minimum(np.maximum(c, clip[0]), clip[1]) + i * np.tanh(wx[2] + rh[2])
            h = o * np.tanh(np.minimum(np.maximum(c, clip[0]), clip[1]))
        elif mode == "gru":
            reset, update = (sigmoid(wx[g] + rh[g]) for g in (0, 1))
            h = (1 - update) * np.tanh(wx[2] + reset * rh[2]) + update * h
        else:
            total = wx[0] + rh[0]
            h = np.tanh(total) if mode == "rnn_tanh" else np.maximum(total, 0)
        outputs.append(h)
    return np.array(outputs), c


def pieces(handle, rnn, step, w):
    """Return W, R and both biases of each gate; zeros where there are none."""
    gates = GATES[rnn.mode.name.lower()]
    found = []
    for get in (dnn.get_rnn_lin_layer_matrix_params, dnn.get_rnn_lin_layer_bias_params):
        for half in range(2):
            parts = [get(handle, rnn, 0, step, w, half * gates + g) for g in range(gates)]
            found.append([np.zeros(rnn.hidden_size) if p is None else handle.to_numpy(p)[0].squeeze() for p in parts])
    return found


@pytest.mark.parametrize("bias", list(RNNBiasMode), ids=str)
@pytest.mark.parametrize("mode", GATES)
def test_the_reference_has_the_biases_that_are_asked_for(mode, bias):
    rnn = dnn.RNNDescriptor(5, mode=mode, bias_mode=bias)
    rng = np.random.default_rng(4)
    with dnn.Handle("reference") as handle:
        count = dnn.get_rnn_params_size(handle, rnn, (3, 4, 1), "float64") // 8
        assert count == GATES[mode] * 5 * (4 + 5 + bias.count)
        w, x = rng.standard_normal((count, 1, 1)), rng.standard_normal((6, 3, 4))
        y, _, _ = dnn.rnn_forward_inference(handle, x, None, None, w, rnn)
        parts = pieces(handle, rnn, (3, 4, 1), w)
    np.testing.assert_allclose(y, walk(rnn, parts, x)[0], rtol=1e-12, atol=1e-13)
    assert [np.any(part) for part in parts[2:]] == [bias.of_input, bias.of_state]


@pytest.mark.parametrize("bias", [RNNBiasMode.NO_BIAS, RNNBiasMode.SINGLE_REC_BIAS], ids=str)
@pytest.mark.parametrize(("mode", "clip"), [("lstm", (-0.2, 0.1)), ("gru", None)])
def test_gradients_are_the_derivatives(mode, clip, bias):
    rnn = dnn.RNNDescriptor(3, 2, mode, "bidirectional", bias_mode=bias, clip=clip)
    rng = np.random.default_rng(9)
    with dnn.Handle("reference") as handle:
        count = dnn.get_rnn_params_size(handle, rnn, (2, 4, 1), "float64") // 8
        w, x = rng.standard_normal((count, 1, 1)), rng.standard_normal((4, 2, 4))
        dy = rng.standard_normal((4, 2, 6))
        y, _, _, reserve = dnn.rnn_forward_training(handle, x, None, None, w, rnn)
        dx, _, _, reserve = dnn.rnn_backward_data(
            handle, y, dy, None, None, w, None, None, rnn, np.empty_like(x), reserve=reserve
        )
        dw = dnn.rnn_backward_weights(handle, x, None, y, reserve, rnn, np.zeros_like(w))
        for tensor, gradient in ((x, dx), (w, dw)):
            flat = tensor.reshape(-1)
            for place in rng.choice(flat.size, 15, replace=False):
                kept, losses = flat[place], []
                for away in (1e-6, -1e-6):
                    flat[place] = kept + away
                    losses.append((dnn.rnn_forward_inference(handle, x, None, None, w, rnn)[0] * dy).sum())
                flat[place] = kept
                slope = (losses[0] - losses[1]) / 2e-6
                assert abs(gradient.reshape(-1)[place] - slope) < 1e-6 * (1 + abs(slope))


def test_cells_are_clipped_and_nan_stays():
    rng = np.random.default_rng(2)
    clip = (-0.1, 0.05)
    rnn = dnn.RNNDescriptor(5, clip=clip)
    with dnn.Handle("reference") as handle:
        w, x = rng.standard_normal((220, 1, 1)), 3 * rng.standard_normal((6, 3, 4))
        cx, cy = rng.standard_normal((1, 3, 5)), np.empty((1, 3, 5))
        y, _, _ = dnn.rnn_forward_inference(handle, x, None, cx, w, rnn, cy=cy)
        outputs, cells = walk(rnn, pieces(handle, rnn, (3, 4, 1), w), x, clip, cx[0])
        np.testing.assert_allclose(y, outputs, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(cy[0], cells, rtol=1e-12, atol=1e-14)
        assert (cy > clip[1]).any() and (cy < clip[0]).any()
        x[2, 1, 0] = np.nan
        y, _, _ = dnn.rnn_forward_inference(handle, x, None, None, w, rnn, cy=cy)
        assert np.isnan(cy[0, 1]).all()


@pytest.mark.parametrize("clip", [(1, 0), (0,), 3, (0, float("nan")), ("a", 1)])
def test_wrong_limits_are_named(clip):
    with pytest.raises(dnn.BadParam) as caught:
        dnn.RNNDescriptor(3, clip=clip)
    assert caught.value.argument == "clip"


def _cases():
    passes = {
        "rnn_forward_training": "x={t}:4x3x6 w={t}:{n}x1x1 hx={t}:4x3x5 cy={t}:4x3x5",
        "rnn_forward_inference": "x={t}:4x3x6 w={t}:{n}x1x1 hy={t}:4x3x5 cx={t}:4x3x5",
        "rnn_backward_data": "y={t}:4x3x10 dy={t}:4x3x10 w={t}:{n}x1x1 dx={t}:4x3x6 dcy={t}:4x3x5 dhx={t}:4x3x5",
        "rnn_backward_weights": "x={t}:4x3x6 y={t}:4x3x10 dw={t}:{n}x1x1",
    }
    for place, (op, words) in enumerate(passes.items()):
        for turn, bias in enumerate(RNNBiasMode):
            mode = "gru" if turn % 2 and "cy" not in words and "cx" not in words else "lstm"
            gates = GATES[mode]
            count = 2 * gates * 5 * ((6 + 5) + (10 + 5) + 2 * bias.count)
            dtype = "f16" if (place + turn) % 4 == 3 else "f32"
            clip = " clip_min=-0.2 clip_max=0.3" if mode == "lstm" and turn != 2 else ""
            rest = f"{SIZES} mode={mode} direction=bidirectional bias_mode={bias.name.lower()}{clip}"
            yield Case(f"{op} {words.format(t=dtype, n=count)} {rest}", everywhere=turn == place % 4)


def without_reserve(problem, tensors, scalars):
    from portadnn_backends.reference.outcomes import outcomes

    return {name: v for name, v in outcomes(problem, tensors, scalars).items() if name != "reserve"}


@over(tuple(_cases()))
def test_kernels_agree_with_the_reference(handle, case):
    check(handle, case, oracle=without_reserve)


@everywhere()
def test_a_network_without_biases_is_pytorchs(handle):
    torch = pytest.importorskip("torch")
    layer = torch.nn.LSTM(4, 5, num_layers=2, bias=False)
    x = torch.randn(6, 3, 4)
    want, _ = layer(x)
    w = np.concatenate([p.detach().numpy().reshape(-1) for p in layer.parameters()])[:, None, None]
    rnn = dnn.RNNDescriptor(5, 2, bias_mode="no_bias")
    y, _, _ = dnn.rnn_forward_inference(handle, handle.asarray(x.numpy()), None, None, handle.asarray(w), rnn)
    np.testing.assert_allclose(handle.to_numpy(y), want.detach().numpy(), rtol=1e-4, atol=1e-5)
