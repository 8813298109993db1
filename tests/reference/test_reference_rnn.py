"""The reference's recurrent networks against PyTorch with its gradients, ONNX, and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from helper import compare
from test_gradients import agree

import portadnn as dnn

torch = pytest.importorskip("torch", reason="torch is not installed")
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
MODES = tuple(GATES)
PROJECTED = [*((mode, 0) for mode in MODES), ("lstm", 2)]  # and the size of the projection


def close(got, want):
    compare(got, want, 1e-11 * (1 + np.abs(want)))


def parts(handle, rnn, features, w):
    """Yield (torch's name, gate, the array in w) of every matrix and bias: PyTorch has cuDNN's order of gates."""
    gates, both = rnn.mode.gates, 1 + (rnn.direction == 1)
    for number in range(rnn.num_layers * both):
        for lin in range(2 * gates):
            end = f"{'hh' if lin >= gates else 'ih'}_l{number // both}{'_reverse' * (number % both)}"
            for get, name in (
                (dnn.get_rnn_lin_layer_matrix_params, "weight"),
                (dnn.get_rnn_lin_layer_bias_params, "bias"),
            ):
                array = get(handle, rnn, number, (1, features, 1), w, lin)[0]
                yield f"{name}_{end}", lin % gates, array if name == "weight" else array[:, 0]
        if rnn.proj_size:
            end = f"hr_l{number // both}{'_reverse' * (number % both)}"
            get = dnn.get_rnn_lin_layer_matrix_params
            yield f"weight_{end}", 0, get(handle, rnn, number, (1, features, 1), w, 2 * gates)[0]


def network(mode, features, hidden, layers, both, proj):
    """Return PyTorch's module in float64."""
    kind = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}.get(mode, torch.nn.RNN)
    more = {"nonlinearity": mode[4:]} if mode.startswith("rnn") else {"proj_size": proj} if proj else {}
    torch.manual_seed(3)
    return kind(features, hidden, layers, bidirectional=both, dtype=torch.float64, **more)


@pytest.mark.parametrize("both", [False, True], ids=["one", "both"])
@pytest.mark.parametrize(("mode", "proj"), PROJECTED)
def test_packed_sequences_and_gradients(reference, mode, proj, both):
    features, hidden, layers, lengths = 4, 3, 2, torch.tensor([5, 3, 3, 1])
    rng = np.random.default_rng(2)
    module = network(mode, features, hidden, layers, both, proj)
    rnn = dnn.RNNDescriptor(hidden, layers, mode, int(both), proj_size=proj)
    w = np.zeros((dnn.get_rnn_params_size(reference, rnn, (1, features, 1)) // 4, 1, 1))
    own = dict(module.named_parameters())
    for name, gate, array in parts(reference, rnn, features, w):
        array[...] = own[name].detach().numpy()[gate * hidden : (gate + 1) * hidden]
    states, cells = ((layers * (1 + both), len(lengths), numbers) for numbers in (proj or hidden, hidden))
    x, hx, cx = (torch.tensor(rng.standard_normal(s), requires_grad=True) for s in ((5, 4, features), states, cells))
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths)
    batches = packed.batch_sizes.tolist()
    lstm = mode == "lstm"
    out, end = module(packed, (hx, cx) if lstm else hx)
    ends = list(end) if lstm else [end]
    data = packed.data.detach().numpy()[:, :, None]
    h0, c0 = hx.detach().numpy(), cx.detach().numpy()
    hy, dhx, cy, dcx = (np.zeros(dims) for dims in (states, states, cells, cells))
    y, _, _, reserve = dnn.rnn_forward_training(reference, data, h0, c0, w, rnn, None, hy, cy, batch_sizes=batches)
    close(y[:, :, 0], out.data.detach().numpy())
    for got, want in zip((hy, cy), ends, strict=False):
        close(got, want.detach().numpy())
    dy, *d_ends = (torch.tensor(rng.standard_normal(t.shape)) for t in (out.data, *ends))
    torch.autograd.backward([out.data, *ends], [dy, *d_ends])
    dhy, dcy = (t.numpy() for t in (d_ends * 2)[:2])
    args = (y, dy.numpy()[:, :, None], dhy, dcy, w, h0, c0, rnn)
    dx, *_ = dnn.rnn_backward_data(reference, *args, None, dhx, dcx, reserve, batch_sizes=batches)
    close(dx[:, :, 0], torch.nn.utils.rnn.pack_padded_sequence(x.grad, lengths).data.numpy())
    close(dhx, hx.grad.numpy())
    if lstm:
        close(dcx, cx.grad.numpy())
    dw = np.full(w.shape, 0.25)  # what is there is added to
    dnn.rnn_backward_weights(reference, data, h0, y, reserve, rnn, dw, batch_sizes=batches)
    for name, gate, array in parts(reference, rnn, features, dw - 0.25):
        close(array, own[name].grad.numpy()[gate * hidden : (gate + 1) * hidden])


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize(("mode", "proj"), PROJECTED)
def test_gradients_are_slopes(reference, mode, proj, dropout):
    rng = np.random.default_rng(7)
    skip = mode in ("gru", "rnn_tanh")
    features, hidden, layers, batches = 3, 3, 2, [3, 3, 1]
    rnn = dnn.RNNDescriptor(hidden, layers, mode, "bidirectional", int(skip), proj_size=proj)
    size = dnn.get_rnn_params_size(reference, rnn, (1, features, 1), "float64") // 8
    states, cells = ((layers * 2, batches[0], numbers) for numbers in (proj or hidden, hidden))
    x, hx, cx, w = (rng.standard_normal(s) for s in ((sum(batches), features, 1), states, cells, (size, 1, 1)))
    weights = [rng.standard_normal(s) for s in ((sum(batches), 2 * states[2], 1), states, cells)]

    def forward(x, hx, cx, w):
        drop = dnn.set_dropout_descriptor(reference, dropout, None, 9)
        own = dnn.RNNDescriptor(hidden, layers, mode, "bidirectional", int(skip), drop, proj_size=proj)
        outputs = [np.zeros(dims) for dims in (states, cells)]
        call = dnn.rnn_forward_training
        return call(reference, x, hx, cx, w, own, None, *outputs, batch_sizes=batches), own, outputs

    def loss(**changed):
        (y, *_), _, ends = forward(**{"x": x, "hx": hx, "cx": cx, "w": w, **changed})
        return sum((a * b).sum() for a, b in zip((y, *ends), weights, strict=True))

    (y, _, _, reserve), own, _ = forward(x, hx, cx, w)
    dhx, dcx, dw = np.zeros(states), np.zeros(cells), np.zeros(w.shape)
    call = dnn.rnn_backward_data
    dx, *_ = call(reference, y, *weights, w, hx, cx, own, None, dhx, dcx, reserve, batch_sizes=batches)
    dnn.rnn_backward_weights(reference, x, hx, y, reserve, own, dw, batch_sizes=batches)
    gradients = {"x": dx, "hx": dhx, "w": dw} | ({"cx": dcx} if mode == "lstm" else {})
    for name, gradient in gradients.items():
        values = {"x": x, "hx": hx, "cx": cx, "w": w}[name]
        agree(lambda v, name=name: loss(**{name: v}), gradient, values, rng)


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
def test_onnx(reference, mode):
    """ONNX's evaluator has one direction of one layer; its gates are in another order (LSTM i o f c, GRU z r h)."""
    from test_reference_onnx import evaluate

    features, hidden = 3, 4
    rng = np.random.default_rng(4)
    rnn = dnn.RNNDescriptor(hidden, 1, mode)
    w = rng.standard_normal((dnn.get_rnn_params_size(reference, rnn, (1, features, 1)) // 4, 1, 1))
    x = rng.standard_normal((3, 2, features))
    order = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_tanh": (0,)}[mode]
    gates = len(order)

    def stacked(get, first):
        return np.concatenate([get(reference, rnn, 0, (1, features, 1), w, first + g)[0] for g in order])

    matrices = [stacked(dnn.get_rnn_lin_layer_matrix_params, first)[None] for first in (0, gates)]
    biases = np.concatenate([stacked(dnn.get_rnn_lin_layer_bias_params, first)[:, 0] for first in (0, gates)])[None]
    more = {"linear_before_reset": 1} if mode == "gru" else {}
    want = evaluate(mode.upper().removesuffix("_TANH"), x, *matrices, biases, hidden_size=hidden, **more)
    got, *_ = dnn.rnn_forward_inference(reference, x, None, None, w, rnn)
    close(got, want[:, 0])


def test_dropout_draws_anew_and_leaves_inference_alone(reference):
    rng = np.random.default_rng(1)
    drop = dnn.set_dropout_descriptor(reference, 0.5, None, 3)
    rnn = dnn.RNNDescriptor(6, 2, "lstm", dropout=drop)
    x = rng.standard_normal((3, 2, 5))
    w = rng.standard_normal((dnn.get_rnn_params_size(reference, rnn, (1, 5, 1)) // 4, 1, 1))
    first, second = (dnn.rnn_forward_training(reference, x, None, None, w, rnn)[0] for _ in range(2))
    plain = dnn.rnn_forward_inference(reference, x, None, None, w, rnn)[0]
    without = dnn.rnn_forward_training(reference, x, None, None, w, dnn.RNNDescriptor(6, 2, "lstm"))[0]
    assert np.array_equal(plain, without)
    assert not np.allclose(first, second) and not np.allclose(first, plain)
