"""Problems of recurrent networks."""

from __future__ import annotations

from ...drawing.draws import Draws
from ...drawing.layouts import tensor
from ...drawing.strata import TYPES, Choices
from ...ops.rnn.layout import DirectionMode, Network, RNNInputMode, RNNMode
from .legacy import family

_SIZES = ("small", "odd", "one", "wide", "odd", "vector", "steps")
_STATES = ("all", "none", "in", "out", "any")


def _sizes(draws: Draws, size: str) -> tuple[int, int, int, list[int]]:
    """Return features, hidden size, layers and the sequences of each step."""
    layers = draws.choice((1, 2, 1, 2, 3))
    if size == "one":
        return draws.integers(1, 4), 1, layers, [1]
    if size == "wide":
        return draws.integers(1, 40), draws.integers(17, 36), 1, [draws.integers(1, 4), 1]
    if size == "vector":
        return 16, 16, layers, [4, 4]
    if size == "steps":
        return 2, draws.integers(2, 5), 1, [draws.integers(1, 4)] * draws.integers(17, 40)
    return draws.integers(1, 9), draws.integers(2, 9), layers, [draws.integers(1, 5)] * draws.integers(1, 5)


def _tensors_of(op: str) -> tuple[str, ...]:
    """Return the states that a pass may have."""
    if op == "rnn_backward_data":
        return ("dhy", "dcy", "hx", "cx", "dhx", "dcx")
    return ("hx",) if op == "rnn_backward_weights" else ("hx", "cx", "hy", "cy")


@family(
    "rnn_forward_inference",
    "rnn_forward_training",
    "rnn_backward_data",
    "rnn_backward_weights",
    crossed={
        "dtype": TYPES,
        "mode": tuple(RNNMode),
        "direction": tuple(DirectionMode),
        "input_mode": tuple(RNNInputMode),
        "packed": (False, True),
    },
    turns={"size": _SIZES, "states": _STATES, "dropout": (0.0, 0.5, 0.0, 0.25)},
)
def _recurrent(draws: Draws, choices: Choices, op: str) -> str:
    mode, dtype = choices["mode"], choices["dtype"]
    features, hidden, layers, batches = _sizes(draws, choices["size"])
    skip = choices["input_mode"] is RNNInputMode.SKIP_INPUT
    features = hidden if skip else features
    directions = 2 if choices["direction"] is DirectionMode.BIDIRECTIONAL else 1
    if choices["packed"]:  # sequences end one after the other
        for step in range(1, len(batches)):
            batches[step] = max(1, batches[step - 1] - draws.integers(0, 2))
    network = Network(mode, hidden, layers, directions, features, skip)

    def steps(width: int) -> str:
        dims = (sum(batches), width, 1) if choices["packed"] else (len(batches), batches[0], width)
        return tensor(dtype, dims)

    x, y, w = steps(features), steps(network.width), tensor(dtype, (network.size, 1, 1))
    tensors = {
        "rnn_backward_data": {"y": y, "dy": y, "w": w, "dx": x},
        "rnn_backward_weights": {"x": x, "y": y, "dw": w},
    }.get(op, {"x": x, "w": w, "y": y})
    for name in _tensors_of(op):
        wanted = {"all": True, "none": False, "in": "y" not in name, "out": "x" not in name}.get(
            choices["states"], draws.integers(2) == 1
        )
        if wanted and ("c" not in name or mode is RNNMode.LSTM):
            tensors[name] = tensor(dtype, (layers * directions, batches[0], hidden))
    words = [op, *(f"{name}={text}" for name, text in tensors.items())]
    words += [f"hidden_size={hidden}", f"num_layers={layers}", f"mode={mode.name.lower()}"]
    words += [f"direction={choices['direction'].name.lower()}", f"input_mode={choices['input_mode'].name.lower()}"]
    if choices["dropout"]:
        words.append(f"dropout={choices['dropout']}")
    if choices["packed"]:
        words.append(f"batch_sizes={','.join(map(str, batches))}")
    return " ".join(words)
