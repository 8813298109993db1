"""Recurrent networks of PyTorch as problems: torch.lstm, gru, rnn_tanh and rnn_relu, and their gradients.

On CPUs PyTorch computes them of smaller operators, so they are met as functions, above autograd.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from ...diff.oracle import exact
from ...enums import DataType
from ...ops.dropout import STATES_SIZE
from ...ops.rnn.layout import DirectionMode, Network, Reserve, RNNMode
from ...ops.rnn.problems import (
    RNNBackwardData,
    RNNBackwardWeights,
    RNNForwardInference,
    RNNForwardTraining,
    drops,
)
from ...problem import TensorSpec
from .computation import Apart, Computation, LeftOut, Operand, Tensor, data_type, is_tensor, packed, pose

MODES = {
    "lstm": RNNMode.LSTM,
    "gru": RNNMode.GRU,
    "rnn_tanh": RNNMode.RNN_TANH,
    "rnn_relu": RNNMode.RNN_RELU,
}


@dataclass(frozen=True)
class Recurrent:
    """A call of a recurrent network."""

    mode: RNNMode
    function: Callable[..., Any]
    args: tuple[Any, ...]
    x: Tensor
    states: tuple[Tensor, ...]
    weights: Sequence[Tensor]
    biases: bool
    layers: int
    dropout: float
    train: bool
    bidirectional: bool
    batch_first: bool
    batches: tuple[int, ...]
    out: tuple[Tensor, ...]

    @property
    def hidden(self) -> int:
        """Numbers of a hidden state."""
        return int(self.weights[1].shape[1])

    @property
    def network(self) -> Network:
        """The layers."""
        directions = 2 if self.bidirectional else 1
        return Network(self.mode, self.hidden, self.layers, directions, int(self.x.shape[-1]), False)

    @property
    def dropped(self) -> float:
        """The probability with which numbers are dropped between layers."""
        return float(self.dropout) if self.train and drops(self.dropout, self.layers) else 0.0

    @property
    def options(self) -> dict[str, Any]:
        """The parameters of its problems."""
        direction = DirectionMode.BIDIRECTIONAL if self.bidirectional else DirectionMode.UNIDIRECTIONAL
        found = {"hidden_size": self.hidden, "num_layers": self.layers, "mode": self.mode, "direction": direction}
        return {**found, "dropout": self.dropped, "batch_sizes": self.batches}


def recurrent(name: str, function: Callable[..., Any], args: tuple[Any, ...], out: Any) -> Recurrent:
    """Return the call of torch.lstm or one of the others.

    Raises
    ------
    LeftOut
        A projection, which cuDNN v5 does not have, or arguments of another form.
    """
    mode = MODES[name]
    sequences = len(args) == 9 and is_tensor(args[0])
    if sequences and isinstance(args[3], (list, tuple)):  # of packed sequences
        x, batch_sizes, states, weights, biases, layers, dropout, train, both = args
        batches, batch_first = tuple(int(size) for size in batch_sizes), False
    elif sequences:
        x, states, weights, biases, layers, dropout, train, both, batch_first = args
        batches = ()
    else:
        raise LeftOut("a recurrent network called in another way than torch.nn calls it")
    states = tuple(states) if mode is RNNMode.LSTM else (states,)
    each = (4 if biases else 2) * (2 if both else 1) * layers
    if len(weights) != each:
        raise LeftOut("a recurrent network with a projection")
    return Recurrent(
        mode, function, args, x, states, weights, bool(biases), layers, dropout, train, both, batch_first, batches, out
    )


def _steps(call: Recurrent, tensor: Tensor) -> Operand:
    """Return the input or the output as problems have it: steps first, without gaps."""
    if call.batches:
        return packed(tensor.unsqueeze(-1))
    return packed(tensor.transpose(0, 1) if call.batch_first else tensor)


def _weights(call: Recurrent, parts: Callable[[], Sequence[Tensor | None]], key: Any) -> Apart:
    """Return the parameters, or their gradients, in one piece: matrices of all layers, then their biases."""
    network = call.network

    def joined() -> Tensor:
        given = list(parts())
        each = len(given) // (network.layers * network.directions)
        matrices, biases = [], []
        for first in range(0, len(given), each):
            matrices += given[first : first + 2]
            biases += given[first + 2 : first + 4] if each == 4 else [call.x.new_zeros(call.weights[0].shape[0])] * 2
        return torch.cat([part.detach().reshape(-1) for part in (*matrices, *biases) if part is not None])

    spec = TensorSpec.packed(data_type(call.x), (network.size, 1, 1))
    return Apart(spec, lambda: joined().reshape(network.size, 1, 1), key)


def _given(call: Recurrent) -> dict[str, Operand | None]:
    states = dict(zip(("hx", "cx"), (packed(state) for state in call.states), strict=False))
    key = ("weights", *(weight.data_ptr() for weight in call.weights))
    return {"x": _steps(call, call.x), **states, "w": _weights(call, lambda: call.weights, key)}


def _raw(size: int, key: Any) -> Apart:
    return Apart(TensorSpec(DataType.UINT8, (size,), (1,)), None, key)


def _reserve(call: Recurrent, key: Any) -> Apart:
    rows = sum(call.batches) or call.x.shape[0] * call.x.shape[1]
    kept = Reserve(call.network, rows, drops(call.dropped, call.layers))
    return _raw(kept.size * data_type(call.x).accumulator.itemsize, key)


def forward(call: Recurrent, reserve: Any, compared: bool) -> list[Computation]:
    """Return the problem of the forward pass; `reserve` is the key of its reserve space, None in inference.

    Raises
    ------
    LeftOut
        portadnn refuses it.
    """
    if compared and call.dropped:
        return []  # the random numbers are PyTorch's own
    given = _given(call)
    names = ("y", "hy", "cy")
    outputs: dict[str, Operand | None] = dict(
        zip(names, (_steps(call, call.out[0]), *map(packed, call.out[1:])), strict=False)
    )
    if reserve is None or compared:
        options = {**call.options, "dropout": 0.0}
        return [pose(RNNForwardInference, {**given, **outputs}, **options)]
    outputs["reserve"] = _reserve(call, reserve)
    if drops(call.dropped, call.layers):
        outputs["states"] = _raw(STATES_SIZE, "states")
    return [pose(RNNForwardTraining, {**given, **outputs}, **call.options)]


def backward(call: Recurrent, reserve: Any, dy: Tensor, compared: bool) -> list[Computation]:
    """Return the problems of the gradients, of y's alone.

    Raises
    ------
    LeftOut
        portadnn refuses them.
    """
    if compared and call.dropped:
        return []  # as well
    given = _given(call)
    gradients = functools.lru_cache(None)(lambda: _gradients(call, dy))
    kind = data_type(call.x)

    def gradient(name: str, like: Operand) -> Apart:
        dims = like.spec.dims if isinstance(like, Apart) else tuple(like.shape)
        return Apart(TensorSpec.packed(kind, dims), lambda: gradients()[name], None)

    y, kept = _steps(call, call.out[0]), _reserve(call, reserve)
    if compared:
        kept = replace(kept, make=functools.lru_cache(None)(lambda: _left(forward(call, reserve, False)[0])))
    states: dict[str, Any] = {name: given[name] for name in ("hx", "cx") if name in given}
    results: dict[str, Operand] = {f"d{name}": gradient(name, given[name]) for name in ("x", *states)}
    tensors: dict[str, Any] = {"y": y, "dy": _steps(call, dy), "w": given["w"], **states, **results, "reserve": kept}
    data = pose(RNNBackwardData, tensors, **call.options)
    key = ("gradients", *(weight.data_ptr() for weight in call.weights))
    dw = _weights(call, lambda: gradients()["w"], key)
    if compared:
        kept = replace(kept, make=lambda: _left(data))
    weights = {"x": given["x"], "hx": given["hx"], "y": y, "reserve": kept, "dw": dw}
    return [data, pose(RNNBackwardWeights, weights, **call.options)]


def _left(computation: Computation) -> Tensor:
    """Return what a pass leaves in the reserve space, by its definition."""
    arrays = []
    for name, spec in zip(computation.problem.names, computation.problem.tensors, strict=True):
        operand = computation.tensors[name]
        unknown = isinstance(operand, Apart) and operand.make is None
        arrays.append(np.zeros(spec.dims, spec.dtype.storage) if unknown else _made(operand).detach().cpu().numpy())
    return torch.from_numpy(exact(computation.problem, arrays, computation.numbers)["reserve"].copy())


def _gradients(call: Recurrent, dy: Tensor) -> dict[str, Any]:
    """Return PyTorch's own gradients of y alone, by running it again."""
    parameters = list(call.weights)
    if not call.biases:  # problems have biases, and their gradients
        pairs = zip(call.weights[::2], call.weights[1::2], strict=True)
        parameters = [one for w, u in pairs for one in (w, u, *[w.new_zeros(w.shape[0]) for _ in range(2)])]
    x, *rest = (tensor.detach().requires_grad_() for tensor in (call.x, *call.states, *parameters))
    states, weights = rest[: len(call.states)], rest[len(call.states) :]
    args = list(call.args)
    place = 3 if call.batches else 2
    args[0], args[place], args[place + 1] = x, weights, True
    args[place - 1] = tuple(states) if call.mode is RNNMode.LSTM else states[0]
    with torch.enable_grad():
        y = call.function(*args)[0]
    found = torch.autograd.grad(y, [x, *states, *weights], dy, allow_unused=True)
    plain = [one if grad is None else grad for one, grad in zip((x * 0, *states, *weights), found, strict=True)]
    named: Mapping[str, Any] = {
        "x": _made(_steps(call, plain[0])),
        "w": plain[1 + len(states) :],
        **{name: _made(packed(grad)) for name, grad in zip(("hx", "cx"), plain[1:], strict=False)},
    }
    return dict(named)


def _made(operand: Operand) -> Tensor:
    if isinstance(operand, Apart):
        assert operand.make is not None
        return operand.make()
    return operand


__all__ = ["MODES", "Recurrent", "backward", "forward", "recurrent"]
