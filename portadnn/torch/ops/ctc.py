"""Connectionist temporal classification."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch

import portadnn as dnn
from portadnn.errors import BadParam

from .handles import handle_for
from .library import autocast, operator
from .repeat import repeated


@functools.lru_cache(256)
def _descriptor(blank: int, longest: int) -> dnn.CTCLossDescriptor:
    return dnn.CTCLossDescriptor("softmax", "zero_oob_gradients", longest, blank)


def _forward(
    x: torch.Tensor, labels: torch.Tensor, steps: torch.Tensor, lengths: torch.Tensor, blank: int, backend: str
) -> tuple[torch.Tensor, torch.Tensor]:
    costs, gradients = _fake(x, labels, steps, lengths, blank, backend)
    if x.numel():
        x = x.contiguous()
        call = repeated(dnn.ctc_loss)
        how = _descriptor(blank, labels.shape[1])
        if labels.shape[1] == 0:
            labels = labels.new_zeros(labels.shape[0], 1)
        call(handle_for(x, backend), x, labels, lengths, steps, how, costs=costs, gradients=gradients)
    return costs, gradients


def _fake(x: torch.Tensor, *_: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return x.new_empty(x.shape[1]), torch.empty_like(x, memory_format=torch.contiguous_format)


def _setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
    ctx.mark_non_differentiable(output[1])
    ctx.backend = inputs[-1]
    ctx.save_for_backward(inputs[0], output[1])


def _backward(ctx: Any, dcosts: torch.Tensor, _: Any) -> tuple[Any, ...]:
    return (ctc_loss_backward(*ctx.saved_tensors, dcosts, ctx.backend), *[None] * 5)


def _weighted(x: torch.Tensor, gradients: torch.Tensor, dcosts: torch.Tensor, backend: str) -> torch.Tensor:
    weights = dcosts.view(1, -1, 1)
    return torch.where(weights == 0, 0.0, gradients * weights).to(gradients.dtype)


def _weighted_fake(x: torch.Tensor, gradients: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.empty_like(gradients)


ctc_loss_backward = operator(  # it takes x so that its own gradient is refused
    "ctc_loss_backward(Tensor x, Tensor gradients, Tensor dcosts, str backend) -> Tensor", _weighted, _weighted_fake
)

loss = operator(
    "ctc_loss(Tensor x, Tensor labels, Tensor steps, Tensor lengths, int blank, str backend) -> (Tensor, Tensor)",
    _forward,
    _fake,
    _backward,
    _setup,
)


def ctc_loss(
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: torch.Tensor | Sequence[int],
    target_lengths: torch.Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Compute the CTC loss, as ``torch.nn.functional.ctc_loss``.

    Parameters
    ----------
    log_probs
        (t, n, c) or (t, c), logarithms of probabilities, float32 or float64 (float16 and bfloat16 are taken). They are
        normalised again, so that the gradient is the loss's own: PyTorch's holds for what a softmax has normalised.
    targets
        (n, longest), or all labels one behind the other, integers.
    input_lengths, target_lengths
        Steps and labels of each sequence.
    blank
        The class between labels.
    reduction
        ``"none"``, ``"sum"``, or ``"mean"``: of the losses divided by the labels' lengths.
    zero_infinity
        Whether infinite losses, of labels that do not fit into their steps, become 0. The gradient is 0 either way.
    backend
        See :func:`conv2d`.

    Returns
    -------
    Tensor
        () or (n,).

    Raises
    ------
    BadParam
        Shapes or numbers that do not fit.
    """
    if reduction not in ("none", "mean", "sum"):
        raise BadParam(argument="reduction", expected="none, mean or sum", got=reduction)
    if log_probs.dim() not in (2, 3):
        raise BadParam(argument="log_probs", expected="2 or 3 dims", got=tuple(log_probs.shape))
    (log_probs,) = autocast(log_probs, to=torch.float32)
    single = log_probs.dim() == 2
    x = log_probs.unsqueeze(1) if single else log_probs
    steps, lengths = (
        torch.as_tensor(n, dtype=torch.int32).reshape(-1).to(x.device) for n in (input_lengths, target_lengths)
    )
    for name, given in (("input_lengths", steps), ("target_lengths", lengths)):
        if given.shape[0] != x.shape[1]:
            raise BadParam(argument=name, expected=f"{x.shape[1]} numbers", got=tuple(given.shape))
    labels = _rows(targets.to(x.device), lengths, x.shape[1])
    costs, _ = loss(x, labels, steps, lengths, blank, backend)
    if zero_infinity:
        costs = torch.where(torch.isinf(costs), torch.zeros_like(costs), costs)
    if reduction == "sum":
        return costs.sum()
    if reduction == "mean":
        return (costs / lengths.clamp(min=1).to(costs.dtype)).mean()
    return costs.squeeze(0) if single else costs


def _rows(targets: torch.Tensor, lengths: torch.Tensor, batch: int) -> torch.Tensor:
    """Return the labels as int32 rows of a matrix."""
    if targets.dim() == 2:
        if targets.shape[0] != batch:
            raise BadParam(argument="targets", expected=f"{batch} rows", got=tuple(targets.shape))
        return targets.to(torch.int32).contiguous()
    if targets.dim() != 1:
        raise BadParam(argument="targets", expected="1 or 2 dims", got=tuple(targets.shape))
    longest = int(lengths.max()) if batch else 0
    if int(lengths.sum()) != targets.shape[0]:
        raise BadParam(argument="targets", expected=f"{int(lengths.sum())} labels", got=tuple(targets.shape))
    rows = torch.zeros(batch, longest, dtype=torch.int32, device=targets.device)
    rows[torch.arange(longest, device=targets.device) < lengths.unsqueeze(1)] = targets.to(torch.int32)
    return rows
