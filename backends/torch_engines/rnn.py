"""Recurrent networks, by the functions behind torch.nn's LSTM, GRU and RNN, whose gates stand in portadnn's order."""

from __future__ import annotations

import warnings
from typing import Any

from portadnn.ops.rnn.layout import RNNMode
from portadnn.ops.rnn.problems import RNNBackwardData, RNNBackwardWeights, RNNForwardInference, RNNForwardTraining

from .way import Bound, Numbers, Tensors, Way, Ways, lacking

_FUNCTIONS = {
    RNNMode.RNN_RELU: "rnn_relu",
    RNNMode.RNN_TANH: "rnn_tanh",
    RNNMode.LSTM: "lstm",
    RNNMode.GRU: "gru",
}


def weights(torch: Any, p: Any, w: Any) -> list[Any]:
    """Return the parameters as PyTorch's functions take them: W, R, b_W and b_R of each layer's directions, and P."""
    network, w = p.network, w.flatten()
    rows = network.mode.gates * network.hidden

    def cut(first: int, columns: int) -> Any:
        return w[first : first + rows * columns].view(rows, columns)

    found = []
    for layer in range(network.layers):
        for direction in range(network.directions):
            if network.inputs(layer):
                found.append(cut(network.matrix(layer, direction, False), network.inputs(layer)))
            else:  # SKIP_INPUT adds x itself to every gate
                found.append(torch.eye(network.hidden, dtype=w.dtype, device=w.device).repeat(network.mode.gates, 1))
            found.append(cut(network.matrix(layer, direction, True), network.output))
            for part in (False, True):
                zeros = w.new_zeros(rows)
                found.append(
                    cut(network.bias(layer, direction, part), 1).flatten() if network.has_bias(part) else zeros
                )
            if network.proj:
                first = network.projection(layer, direction)
                found.append(w[first : first + network.proj * network.hidden].view(network.proj, network.hidden))
    return found


def _forward(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    network, sequence, function = p.network, p.sequence, getattr(torch._VF, _FUNCTIONS[p.mode])
    lstm = p.mode is RNNMode.LSTM
    states = network.layers * network.directions, sequence.batch
    kind = {"dtype": t["x"].dtype, "device": t["x"].device}
    hx, cx = (
        t[name] if name in t else torch.zeros((*states, numbers), **kind)
        for name, numbers in (("hx", network.output), ("cx", network.hidden))
    )
    parameters = weights(torch, p, t["w"])
    x, start = t["x"], (hx, cx) if lstm else hx
    options = True, network.layers, 0.0, False, network.directions == 2

    def compute() -> Any:
        if p.batch_sizes:
            batches = torch.tensor(p.batch_sizes, device="cpu")
            return function(x.flatten(1), batches, start, parameters, *options)
        return function(x, start, parameters, *options, False)  # steps come first

    def run() -> Tensors:
        with warnings.catch_warnings():  # cuDNN wants its weights in one piece, and copies others
            warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")
            warnings.filterwarnings("ignore", "LSTM with projections is not supported with oneDNN")
            found = dict(zip(("y", "hy", "cy"), compute(), strict=False))
        return {name: value.view(getattr(p, name).dims) for name, value in found.items() if name in t}

    return run


def _no_clip(problem: Any, info: Any) -> str | None:
    return None if problem.clip is None else "PyTorch does not clip cells"


_NO_TRAINING = lacking(
    "the reserve space holds the gates of every step, which PyTorch's recurrent functions do not give out"
)

WAYS: Ways = {
    RNNForwardInference: Way(_forward, _no_clip),
    RNNForwardTraining: _NO_TRAINING,
    RNNBackwardData: _NO_TRAINING,
    RNNBackwardWeights: _NO_TRAINING,
}
