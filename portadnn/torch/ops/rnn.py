"""Recurrent networks: RNN, LSTM and GRU of one or more layers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, TypeAlias

import torch

import portadnn as dnn
from portadnn.errors import BadParam

from .activations import new_seed, states_of
from .handles import handle_for
from .library import autocast, operator
from .repeat import repeated

Maybe: TypeAlias = "torch.Tensor | None"
_MODES = ("RNN_TANH", "RNN_RELU", "LSTM", "GRU")


@functools.lru_cache(256)
def _plain(mode: str, hidden: int, proj: int, layers: int, bidirectional: bool) -> dnn.RNNDescriptor:
    direction = "bidirectional" if bidirectional else "unidirectional"
    return dnn.RNNDescriptor(hidden, layers, mode, direction, proj_size=proj)


def _descriptor(
    mode: str, hidden: int, proj: int, layers: int, bidirectional: bool, dropout: float, seed: Maybe = None
) -> dnn.RNNDescriptor:
    plain = _plain(mode, hidden, proj, layers, bidirectional)
    if not dropout:
        return plain
    drops = dnn.DropoutDescriptor(dropout, None if seed is None else states_of(seed))
    return dataclasses.replace(plain, dropout=drops)


def _batches(batch_sizes: Sequence[int] | None) -> dict[str, Any]:
    return {"batch_sizes": tuple(batch_sizes) if batch_sizes else None}


def _sizes(
    x: torch.Tensor, hidden: int, proj: int, layers: int, bidirectional: bool, batch_sizes: Any
) -> tuple[Any, Any, Any]:
    """Return the dims of y, of the states and of the cells."""
    directions = 2 if bidirectional else 1
    width, batch = directions * (proj or hidden), batch_sizes[0] if batch_sizes else x.shape[1]
    y = (x.shape[0], width, 1) if batch_sizes else (*x.shape[:2], width)
    return y, (layers * directions, batch, proj or hidden), (layers * directions, batch, hidden)


def _infer(x: torch.Tensor, hx: Maybe, cx: Maybe, w: torch.Tensor, *options: Any) -> tuple[torch.Tensor, ...]:
    mode, hidden, proj, layers, bidirectional, batch_sizes, backend = options
    y, hy, cy = _infer_fake(x, hx, cx, w, *options)
    how = _plain(mode, hidden, proj, layers, bidirectional)
    given = (x, hx, cx, w.view(-1, 1, 1))
    outputs = (y, hy, cy if mode == "LSTM" else None)
    repeated(dnn.rnn_forward_inference)(handle_for(x, backend), *given, how, *outputs, **_batches(batch_sizes))
    return y, hy, cy


def _infer_fake(x: torch.Tensor, hx: Maybe, cx: Maybe, w: torch.Tensor, *options: Any) -> tuple[torch.Tensor, ...]:
    mode, hidden, proj, layers, bidirectional, batch_sizes, _ = options
    y, state, cell = _sizes(x, hidden, proj, layers, bidirectional, batch_sizes)
    return x.new_empty(y), x.new_empty(state), x.new_empty(cell if mode == "LSTM" else (0,))


def _train(x: torch.Tensor, hx: Maybe, cx: Maybe, w: torch.Tensor, seed: Maybe, *options: Any) -> Any:
    mode, hidden, proj, layers, bidirectional, dropout, batch_sizes, backend = options
    y, hy, cy, reserve = _train_fake(x, hx, cx, w, seed, *options)
    how = _descriptor(mode, hidden, proj, layers, bidirectional, dropout, seed)
    outputs = (y, hy, cy if mode == "LSTM" else None, reserve)
    call = repeated(dnn.rnn_forward_training)
    call(handle_for(x, backend), x, hx, cx, w.view(-1, 1, 1), how, *outputs, **_batches(batch_sizes))
    return y, hy, cy, reserve


def _train_fake(x: torch.Tensor, hx: Maybe, cx: Maybe, w: torch.Tensor, seed: Maybe, *options: Any) -> Any:
    mode, hidden, proj, layers, bidirectional, dropout, batch_sizes, backend = options
    outputs = _infer_fake(x, hx, cx, w, mode, hidden, proj, layers, bidirectional, batch_sizes, backend)
    spec = dnn.TensorDescriptor(tuple(int(d) for d in x.shape), str(x.dtype).removeprefix("torch."))
    how = _descriptor(mode, hidden, proj, layers, bidirectional, dropout)
    count = dnn.get_rnn_training_reserve_size(handle_for(x, backend), how, spec, **_batches(batch_sizes))
    return (*outputs, torch.empty(max(count, 16), dtype=torch.uint8, device=x.device))


def _train_setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
    x, hx, cx, w, _, *ctx.options = inputs
    y, _, _, reserve = output
    ctx.mark_non_differentiable(reserve)
    ctx.save_for_backward(x, hx, cx, w, y, reserve)


def _train_gradient(ctx: Any, dy: torch.Tensor, dhy: torch.Tensor, dcy: torch.Tensor, _: Any) -> tuple[Any, ...]:
    x, hx, cx, w, y, reserve = ctx.saved_tensors
    dx, dhx, dcx, dw = rnn_backward(x, hx, cx, w, y, reserve, dy, dhy, dcy, *ctx.options)
    return (dx, None if hx is None else dhx, None if cx is None else dcx, dw, *[None] * 9)


def _backward(
    x: torch.Tensor,
    hx: Maybe,
    cx: Maybe,
    w: torch.Tensor,
    y: torch.Tensor,
    reserve: torch.Tensor,
    dy: torch.Tensor,
    dhy: torch.Tensor,
    dcy: torch.Tensor,
    *options: Any,
) -> tuple[torch.Tensor, ...]:
    mode, hidden, proj, layers, bidirectional, dropout, batch_sizes, backend = options
    dx, dhx, dcx, dw = _backward_fake(x, hx, cx, w, y, reserve, dy, dhy, dcy, *options)
    handle, how = handle_for(x, backend), _descriptor(mode, hidden, proj, layers, bidirectional, dropout)
    lstm = mode == "LSTM"
    cells = (dcy.contiguous() if lstm else None, dcx if lstm else None)
    kept = reserve.clone()  # which the gradients overwrite: the graph may be gone through again
    sizes = _batches(batch_sizes)
    repeated(dnn.rnn_backward_data)(
        *(
            handle,
            y,
            dy.contiguous(),
            dhy.contiguous(),
            cells[0],
            w.view(-1, 1, 1),
            hx,
            cx,
            how,
            dx,
            dhx,
            cells[1],
            kept,
        ),
        **sizes,
    )
    dw.zero_()
    repeated(dnn.rnn_backward_weights)(handle, x, hx, y, kept, how, dw.view(-1, 1, 1), **sizes)
    return dx, dhx, dcx, dw


def _backward_fake(
    x: torch.Tensor, hx: Maybe, cx: Maybe, w: torch.Tensor, y: torch.Tensor, reserve: Any, *rest: Any
) -> tuple[torch.Tensor, ...]:
    _, dhy, dcy, *_ = rest
    return torch.empty_like(x), x.new_empty(dhy.shape), x.new_empty(dcy.shape), torch.empty_like(w)


_OPTIONS = "str mode, int hidden, int proj, int layers, bool bidirectional"
_END = "int[]? batch_sizes, str backend"
rnn_inference = operator(
    f"rnn_inference(Tensor x, Tensor? hx, Tensor? cx, Tensor w, {_OPTIONS}, {_END}) -> (Tensor, Tensor, Tensor)",
    _infer,
    _infer_fake,
)
rnn_backward = operator(
    "rnn_backward(Tensor x, Tensor? hx, Tensor? cx, Tensor w, Tensor y, Tensor reserve, Tensor dy, Tensor dhy,"
    f" Tensor dcy, {_OPTIONS}, float dropout, {_END}) -> (Tensor, Tensor, Tensor, Tensor)",
    _backward,
    _backward_fake,
)
rnn_training = operator(
    f"rnn_training(Tensor x, Tensor? hx, Tensor? cx, Tensor w, Tensor? seed, {_OPTIONS}, float dropout, {_END})"
    " -> (Tensor, Tensor, Tensor, Tensor)",
    _train,
    _train_fake,
    _train_gradient,
    _train_setup,
)


def flat_weights(
    weights: Sequence[torch.Tensor], layers: int, bidirectional: bool, biases: bool, projected: bool = False
) -> torch.Tensor:
    """Return PyTorch's weights of a network, in the order of its modules, as cuDNN's one tensor of parameters.

    Parameters
    ----------
    weights
        For each layer and direction w_ih and w_hh, with `biases` b_ih and b_hh, and if `projected` w_hr.
    """
    pseudo = layers * (2 if bidirectional else 1)
    each = (4 if biases else 2) + projected
    if len(weights) != pseudo * each:
        raise BadParam(argument="weights", expected=f"{pseudo * each} tensors", got=len(weights))
    parts = [weights[i * each : i * each + each] for i in range(pseudo)]
    matrices = [w for part in parts for w in (*part[:2], *part[each - projected :])]
    if biases:
        rest = [w for part in parts for w in part[2:4]]
    else:
        rest = [part[0].new_zeros(part[0].shape[0]) for part in parts for _ in range(2)]
    return torch.cat([w.reshape(-1) for w in (*matrices, *rest)])


def _check_input(x: torch.Tensor, features: int, batch_sizes: Any) -> None:
    layout = "(steps, batch, features)" if batch_sizes is None else "(rows, features)"
    if x.dim() != layout.count(",") + 1:
        raise BadParam(argument="x", expected=layout, got=tuple(x.shape))
    if x.shape[-1] != features:
        raise BadParam(argument="x", expected=f"{features} features, as w_ih", got=tuple(x.shape))


def rnn(
    x: torch.Tensor,
    hx: Maybe,
    cx: Maybe,
    weights: Sequence[torch.Tensor],
    mode: str,
    *,
    layers: int = 1,
    bidirectional: bool = False,
    biases: bool = True,
    dropout: float = 0.0,
    batch_sizes: Sequence[int] | None = None,
    backend: str = "auto",
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Run a recurrent network over sequences, as PyTorch's modules RNN, LSTM and GRU.

    Parameters
    ----------
    x
        (steps, batch, features), or with `batch_sizes` (rows, features), as a PackedSequence's data.
    hx, cx
        Initial states (layers * directions, batch, hidden), or None for zeros; cx of an LSTM only. With a projection
        hx has proj_size numbers in place of hidden.
    weights
        The module's, in its order: for each layer and direction w_ih, w_hh, with `biases` b_ih, b_hh, and of an LSTM
        with a projection w_hr.
    mode
        ``"RNN_TANH"``, ``"RNN_RELU"``, ``"LSTM"`` or ``"GRU"``.
    layers, bidirectional, biases
        As the module's num_layers, bidirectional and bias.
    dropout
        The probability with which a layer's outputs are dropped on their way to the next.
    batch_sizes
        The numbers of sequences of each step, never increasing.
    backend
        See :func:`conv2d`.

    Returns
    -------
    (Tensor, Tensor, Tensor)
        Outputs, final states, and an LSTM's final cells (of others an empty tensor).

    Raises
    ------
    BadParam
        Shapes that do not fit, or an unknown mode.
    """
    if mode not in _MODES:
        raise BadParam(argument="mode", expected=f"one of {', '.join(_MODES)}", got=mode)
    if not weights:
        raise BadParam(argument="weights", expected="a network's weights", got=())
    rows, columns = weights[1].shape
    hidden = rows // {"LSTM": 4, "GRU": 3}.get(mode, 1)
    proj = columns if columns != hidden else 0
    if proj and mode != "LSTM":
        raise BadParam(argument="weights", expected=f"({rows}, {hidden}) for w_hh", got=tuple(weights[1].shape))
    _check_input(x, weights[0].shape[1], batch_sizes)
    kept = x.dtype if mode == "GRU" and x.is_cpu else None  # PyTorch's on CPUs returns the input's type
    x, hx, cx, *weights = autocast(x, hx, cx, *weights, to=kept)
    w = flat_weights(weights, layers, bidirectional, biases, proj > 0)
    given = x.contiguous() if batch_sizes is None else x.contiguous().unsqueeze(2)
    hx, cx = (None if s is None else s.contiguous() for s in (hx, cx))
    tensors = [t for t in (x, hx, cx, w) if t is not None]
    options = (mode, hidden, proj, layers, bidirectional)
    end = (None if batch_sizes is None else list(batch_sizes), backend)
    drops = float(dropout) if layers > 1 else 0.0
    if drops or (torch.is_grad_enabled() and any(t.requires_grad for t in tensors)):
        seed = new_seed(x) if drops else None
        y, hy, cy, _ = rnn_training(given, hx, cx, w, seed, *options, drops, *end)
    else:
        y, hy, cy = rnn_inference(given, hx, cx, w, *options, *end)
    return (y if batch_sizes is None else y.squeeze(2)), hy, cy
