"""Gradients of gradients, which cuDNN's kind of library does not have: PyTorch's own operators compute them.

An operator that is a gradient (``portadnn::batch_norm_backward``) says here which function of its inputs it computes,
in operators that PyTorch can differentiate; where nobody could, its gradient is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.func import vjp
from torch.nn import functional

from portadnn.errors import NotSupported

from .layout import statistics_type

Ints = Sequence[int]


def again(function: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return `backward` and `setup` of an operator that computes `function` of its arguments but the last, its backend.

    What the function does not read of them follows from the others.
    """

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.places = [i for i, one in enumerate(inputs) if isinstance(one, torch.Tensor)]
        ctx.others = [None if isinstance(one, torch.Tensor) else one for one in inputs]
        ctx.save_for_backward(*(inputs[i] for i in ctx.places))

    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[Any, ...]:
        def computed(*tensors: torch.Tensor) -> Any:
            args = list(ctx.others)
            for place, tensor in zip(ctx.places, tensors, strict=True):
                args[place] = tensor
            return function(*args[:-1])

        _, pull = vjp(computed, *ctx.saved_tensors)
        found: list[Any] = [None] * len(ctx.others)
        for place, gradient in zip(ctx.places, pull(gradients if len(gradients) > 1 else gradients[0]), strict=True):
            found[place] = gradient
        return tuple(found)

    return backward, setup


def refusal(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return `setup` and `backward` of an operator whose gradient is NotSupported."""

    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotSupported(
            f"portadnn.torch has no gradient of {name}: let PyTorch compute this module (Substitution.restore)"
        )

    return lambda ctx, inputs, output: None, backward


def forward_mode_refusal(name: str) -> Callable[..., Any]:
    """Return an operator's derivative in forward mode, which is NotSupported."""

    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise NotSupported(
            f"portadnn.torch has no forward-mode derivative of {name} (jvp, jacfwd, hessian, dual numbers): use"
            " reverse mode (vjp, jacrev), or let PyTorch compute this module (Substitution.restore)"
        )

    return jvp


def activation_gradient(
    y: torch.Tensor, dy: torch.Tensor, x: torch.Tensor, mode: str, ceiling: float, coef: float
) -> torch.Tensor:
    """Return dy times an activation's slope; sigmoid and tanh have it from their result."""
    if mode == "sigmoid":
        return dy * y * (1 - y)
    if mode == "tanh":
        return dy * (1 - y * y)
    if mode == "elu":
        return dy * torch.where(x > 0, torch.ones_like(x), coef * torch.exp(x.clamp(max=0)))
    if mode == "swish":
        s = torch.sigmoid(x)
        return dy * s * (1 + x * (1 - s))
    inside = y > 0 if mode == "relu" else (y > 0) & (y < ceiling)
    return dy * inside.to(dy.dtype)


def softmax_gradient(y: torch.Tensor, dy: torch.Tensor, dim: int, logarithm: bool) -> torch.Tensor:
    """Return the gradient of a softmax, or of its logarithm, from its result."""
    if logarithm:
        return dy - torch.exp(y) * dy.sum(dim, keepdim=True)
    return y * (dy - (dy * y).sum(dim, keepdim=True))


def lrn_gradient(
    y: torch.Tensor, dy: torch.Tensor, x: torch.Tensor, n: int, alpha: float, beta: float, k: float
) -> torch.Tensor:
    """Return the gradient of local response normalisation; windows of even sizes lie the other way round in cuDNN."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        if n % 2:
            return functional.local_response_norm(x, n, alpha, beta, k)
        return functional.local_response_norm(x.flip(1), n, alpha, beta, k).flip(1)

    _, pull = vjp(forward, x)
    (dx,) = pull(dy)
    return dx


def batch_norm_gradients(
    x: torch.Tensor, dy: torch.Tensor, weight: torch.Tensor | None, mean: Any, inverse: Any, epsilon: float
) -> tuple[torch.Tensor, ...]:
    """Return dx and the parameters' gradients of a batch norm by the batch's statistics, which follow from x."""

    def forward(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return functional.batch_norm(x, None, None, w, b, True, 0.0, epsilon)

    return _by_channel(forward, x, dy, weight)


def norm_gradients(
    x: torch.Tensor,
    dy: torch.Tensor,
    weight: torch.Tensor | None,
    mean: Any,
    inverse: Any,
    mode: str,
    groups: int,
    epsilon: float,
) -> tuple[torch.Tensor, ...]:
    """Return dx and the parameters' gradients, empty ones without a weight, of layer, group, instance and RMS norm."""
    parts = {"group_norm": groups, "instance_norm": x.shape[1]}.get(mode, 1)

    def forward(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        if mode == "rms_norm":
            others = list(range(1, x.dim()))
            by_channel = (1, -1, *[1] * (x.dim() - 2))
            return x * torch.rsqrt((x * x).mean(others, keepdim=True) + epsilon) * w.view(by_channel)
        return functional.group_norm(x, parts, w, b, epsilon)

    dx, dscale, dbias = _by_channel(forward, x, dy, weight)
    return (dx, dscale, dbias) if weight is not None else (dx, dscale[:0], dbias[:0])


def _by_channel(forward: Any, x: torch.Tensor, dy: torch.Tensor, weight: torch.Tensor | None) -> tuple[Any, ...]:
    """Return gradients of x and of a scale and an offset for each channel, these in the type of statistics."""
    kind = statistics_type(x)
    scale = torch.ones(x.shape[1], dtype=kind, device=x.device) if weight is None else weight.to(kind)
    _, pull = vjp(forward, x.to(kind), scale, torch.zeros_like(scale))
    dx, dscale, dbias = pull(dy.to(kind))
    return dx.to(x.dtype), dscale, dbias


def pooling_gradient(
    y: torch.Tensor, dy: torch.Tensor, x: torch.Tensor, mode: str, window: Ints, padding: Ints, stride: Ints
) -> torch.Tensor:
    """Return the gradient of a pooling."""
    name = f"{'max' if mode == 'max' else 'avg'}_pool{len(window)}d"
    options = {} if mode == "max" else {"count_include_pad": mode == "average_count_include_padding"}
    pool = getattr(functional, name)
    _, pull = vjp(lambda x: pool(x, tuple(window), tuple(stride), tuple(padding), **options), x)
    (dx,) = pull(dy)
    return dx
