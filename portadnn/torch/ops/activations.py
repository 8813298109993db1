"""Activations, softmax, local response normalisation and dropout."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch

import portadnn as dnn
from portadnn.errors import BadParam

from .handles import handle_for
from .layout import check_rank, dense, flat, like, memory_format
from .library import autocast, operator, result
from .repeat import repeated
from .twice import activation_gradient, again, lrn_gradient, softmax_gradient

# whose gradients follow from the result alone, those of the others from the input, as in PyTorch: programs may
# write over what is not needed
_BY_RESULT = ("relu", "sigmoid", "tanh")


@functools.lru_cache(1024)
def _descriptor(mode: str, ceiling: float, coef: float) -> dnn.ActivationDescriptor:
    return dnn.ActivationDescriptor(mode, "propagate_nan", ceiling, coef)


@functools.lru_cache(64)
def _below(number: float, double: bool) -> float:
    """Return the largest number below a positive one in the type in which portadnn computes."""
    kind = np.float64 if double else np.float32
    return float(np.nextafter(kind(number), kind(0)))


def _activate(x: torch.Tensor, mode: str, ceiling: float, coef: float, backend: str) -> torch.Tensor:
    x = dense(x)
    y = torch.empty_like(x)
    if x.numel():
        call = repeated(dnn.activation_forward)
        call(handle_for(x, backend), flat(x), _descriptor(mode, ceiling, coef), flat(y))
    return y


def _activate_fake(x: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.empty_like(dense(x))


def _activate_setup(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    x, *ctx.options = inputs
    ctx.save_for_backward(output if ctx.options[0] in _BY_RESULT else x)


def _activate_gradient(ctx: Any, dy: torch.Tensor) -> tuple[Any, ...]:
    (x,) = ctx.saved_tensors  # or y, for those that have their gradients from it
    y = result(ctx, lambda: activation(x, *ctx.options)) if ctx.options[0] == "elu" else x
    return (activation_backward(y, dy, x, *ctx.options), *[None] * 4)


def _activate_backward(
    y: torch.Tensor, dy: torch.Tensor, x: torch.Tensor, mode: str, ceiling: float, coef: float, backend: str
) -> torch.Tensor:
    y = dense(y)
    dx = torch.empty_like(y)
    if y.numel():
        call = repeated(dnn.activation_backward)
        tensors = [flat(t) for t in (y, like(dy, y), like(x, y))]
        if mode == "clipped_relu":  # cuDNN's gradient passes at the ceiling itself, PyTorch's does not
            ceiling = _below(ceiling, x.dtype is torch.float64)
        call(handle_for(y, backend), *tensors, _descriptor(mode, ceiling, coef), flat(dx))
    return dx


def _activate_backward_fake(y: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.empty_like(dense(y))


def _activate_fold(info: Any, in_dims: Any, x: torch.Tensor, *options: Any) -> Any:
    return activation(x, *options), in_dims[0]


_OPTIONS = "str mode, float ceiling, float coef, str backend"
activation_backward = operator(
    f"activation_backward(Tensor y, Tensor dy, Tensor x, {_OPTIONS}) -> Tensor",
    _activate_backward,
    _activate_backward_fake,
    *again(activation_gradient),
)
activation = operator(
    f"activation(Tensor x, {_OPTIONS}) -> Tensor",
    _activate,
    _activate_fake,
    _activate_gradient,
    _activate_setup,
    _activate_fold,
    kept=True,
)


def relu(x: torch.Tensor, *, backend: str = "auto") -> torch.Tensor:
    """Return ``max(x, 0)``, as ``torch.nn.functional.relu``; x has any dims, and NaN stay NaN."""
    return activation(x, "relu", 0.0, 1.0, backend)


def relu6(x: torch.Tensor, *, backend: str = "auto") -> torch.Tensor:
    """Return ``min(max(x, 0), 6)``, as ``torch.nn.functional.relu6``."""
    return clipped_relu(x, 6.0, backend=backend)


def clipped_relu(x: torch.Tensor, ceiling: float, *, backend: str = "auto") -> torch.Tensor:
    """Return ``min(max(x, 0), ceiling)``."""
    return activation(x, "clipped_relu", float(ceiling), 1.0, backend)


def sigmoid(x: torch.Tensor, *, backend: str = "auto") -> torch.Tensor:
    """Return ``1 / (1 + exp(-x))``, as ``torch.sigmoid``."""
    return activation(x, "sigmoid", 0.0, 1.0, backend)


def tanh(x: torch.Tensor, *, backend: str = "auto") -> torch.Tensor:
    """Return the hyperbolic tangent, as ``torch.tanh``."""
    return activation(x, "tanh", 0.0, 1.0, backend)


def elu(x: torch.Tensor, alpha: float = 1.0, *, backend: str = "auto") -> torch.Tensor:
    """Return x above 0, else ``alpha * (exp(x) - 1)``, as ``torch.nn.functional.elu``."""
    return activation(x, "elu", 0.0, float(alpha), backend)


def silu(x: torch.Tensor, *, backend: str = "auto") -> torch.Tensor:
    """Return ``x / (1 + exp(-x))``, as ``torch.nn.functional.silu``."""
    return activation(x, "swish", 0.0, 1.0, backend)


# softmax


def _three(x: torch.Tensor, dim: int) -> torch.Tensor:
    """Return a packed tensor as (outer, classes, inner); a view."""
    before, after = x.shape[:dim], x.shape[dim + 1 :]
    return x.view(before.numel(), x.shape[dim], after.numel())


def _softmax(x: torch.Tensor, dim: int, logarithm: bool, backend: str) -> torch.Tensor:
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        how = {"algorithm": "log" if logarithm else "accurate", "mode": "channel"}
        repeated(dnn.softmax_forward)(handle_for(x, backend), _three(x, dim), _three(y, dim), **how)
    return y


def _softmax_fake(x: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _softmax_setup(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    _, *ctx.options = inputs
    ctx.save_for_backward(output)


def _softmax_gradient(ctx: Any, dy: torch.Tensor) -> tuple[Any, ...]:
    (y,) = ctx.saved_tensors
    return softmax_backward(y, dy, *ctx.options), None, None, None


def _softmax_backward(y: torch.Tensor, dy: torch.Tensor, dim: int, logarithm: bool, backend: str) -> torch.Tensor:
    y, dy = y.contiguous(), dy.contiguous()
    dx = torch.empty_like(y)
    if y.numel():
        how = {"algorithm": "log" if logarithm else "accurate", "mode": "channel"}
        tensors = [_three(t, dim) for t in (y, dy, dx)]
        repeated(dnn.softmax_backward)(handle_for(y, backend), *tensors, **how)
    return dx


def _softmax_fold(info: Any, in_dims: Any, x: torch.Tensor, dim: int, *options: Any) -> Any:
    return softmax_operator(x.movedim(in_dims[0], 0), dim + 1, *options), 0


softmax_backward = operator(
    "softmax_backward(Tensor y, Tensor dy, int dim, bool logarithm, str backend) -> Tensor",
    _softmax_backward,
    _softmax_fake,
    *again(softmax_gradient),
)
softmax_operator = operator(
    "softmax(Tensor x, int dim, bool logarithm, str backend) -> Tensor",
    _softmax,
    _softmax_fake,
    _softmax_gradient,
    _softmax_setup,
    _softmax_fold,
)


def softmax(x: torch.Tensor, dim: int, dtype: torch.dtype | None = None, *, backend: str = "auto") -> torch.Tensor:
    """Return exponentials over their sums along a dimension, as ``torch.nn.functional.softmax``.

    Parameters
    ----------
    x
        Any dims, float16, bfloat16, float32 or float64.
    dim
        The dimension.
    dtype
        What x is converted to first; None for its own type.
    backend
        See :func:`conv2d`.

    Raises
    ------
    BadParam
        x has no such dimension.
    """
    return _along(x, dim, dtype, False, backend)


def log_softmax(x: torch.Tensor, dim: int, dtype: torch.dtype | None = None, *, backend: str = "auto") -> torch.Tensor:
    """Return the logarithm of :func:`softmax`, as ``torch.nn.functional.log_softmax``."""
    return _along(x, dim, dtype, True, backend)


def _along(x: torch.Tensor, dim: int, dtype: torch.dtype | None, logarithm: bool, backend: str) -> torch.Tensor:
    if not -x.dim() <= dim < x.dim():
        raise BadParam(argument="dim", expected=f"a dimension of {tuple(x.shape)}", got=dim)
    if dtype is not None:
        x = x.to(dtype)
    else:
        (x,) = autocast(x, to=torch.float32, on=("cuda",))
    return softmax_operator(x, dim % x.dim(), logarithm, backend)


# local response normalisation


def _lrn(x: torch.Tensor, n: int, alpha: float, beta: float, k: float, backend: str) -> torch.Tensor:
    x = dense(x)
    y = torch.empty_like(x)
    if x.numel():
        how = dnn.LRNDescriptor(n, alpha, beta, k)
        repeated(dnn.lrn_cross_channel_forward)(handle_for(x, backend), x, how, y)
    return y


def _lrn_fake(x: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.empty_like(dense(x))


def _lrn_setup(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    x, *ctx.options = inputs
    ctx.save_for_backward(x)


def _lrn_gradient(ctx: Any, dy: torch.Tensor) -> tuple[Any, ...]:
    (x,) = ctx.saved_tensors
    y = result(ctx, lambda: lrn(x, *ctx.options))
    return (lrn_backward(y, dy, x, *ctx.options), *[None] * 5)


def _lrn_backward(
    y: torch.Tensor, dy: torch.Tensor, x: torch.Tensor, n: int, alpha: float, beta: float, k: float, backend: str
) -> torch.Tensor:
    y = dense(y)
    dx = torch.empty_like(y)
    if y.numel():
        how = dnn.LRNDescriptor(n, alpha, beta, k)
        repeated(dnn.lrn_cross_channel_backward)(handle_for(y, backend), y, like(dy, y), like(x, y), how, dx)
    return dx


_WINDOW = "int n, float alpha, float beta, float k, str backend"
lrn_backward = operator(
    f"lrn_backward(Tensor y, Tensor dy, Tensor x, {_WINDOW}) -> Tensor",
    _lrn_backward,
    _lrn_fake,
    *again(lrn_gradient),
)
lrn = operator(f"lrn(Tensor x, {_WINDOW}) -> Tensor", _lrn, _lrn_fake, _lrn_gradient, _lrn_setup, kept=True)


def local_response_norm(
    x: torch.Tensor,
    size: int,
    alpha: float = 1e-4,
    beta: float = 0.75,
    k: float = 1.0,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Normalise over neighbouring channels, as ``torch.nn.functional.local_response_norm``.

    Parameters
    ----------
    x
        (n, c, l), (n, c, h, w) or (n, c, d, h, w).
    size
        Channels of the window, 1 to 16. PyTorch's even windows reach one further before the centre, cuDNN's behind
        it: the channels are turned round for these, which are two copies.
    alpha, beta, k
        ``y = x / (k + alpha / size * sum of squares) ** beta``; beta from 0.01, k from 1e-5, as in cuDNN.
    backend
        See :func:`conv2d`.

    Raises
    ------
    BadParam
        Dims or numbers out of these bounds.
    """
    check_rank(x, "x", 3, 4, 5)
    (x,) = autocast(x, to=torch.float32, on=("cpu",))  # PyTorch's is made of avg_pool3d
    image = x.unsqueeze(-1) if x.dim() == 3 else x
    if size % 2 == 0:
        image = image.flip(1)
    image = image.contiguous(memory_format=memory_format(image))
    y = lrn(image, size, float(alpha), float(beta), float(k), backend)
    if size % 2 == 0:
        y = y.flip(1)
    return y.view(x.shape) if x.dim() == 3 else y


# dropout


def _drop(x: torch.Tensor, seed: torch.Tensor, p: float, backend: str) -> tuple[torch.Tensor, torch.Tensor]:
    x = dense(x)
    y, mask = _drop_fake(x, seed, p, backend)
    if x.numel():
        handle = handle_for(x, backend)
        how = dnn.DropoutDescriptor(p, states_of(seed))
        repeated(dnn.dropout_forward)(handle, flat(x), how, flat(y), mask)
    return y, mask


def _drop_fake(x: torch.Tensor, seed: torch.Tensor, p: float, backend: str) -> tuple[torch.Tensor, torch.Tensor]:
    words = (x.numel() + 31) // 32  # a bit for each element
    return torch.empty_like(dense(x)), torch.empty(words * 4, dtype=torch.uint8, device=x.device)


def _drop_setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
    _, _, ctx.p, ctx.backend = inputs
    y, mask = output
    ctx.mark_non_differentiable(mask)
    ctx.save_for_backward(mask)
    ctx.strides = y.stride()


def _drop_gradient(ctx: Any, dy: torch.Tensor, _: Any) -> tuple[Any, ...]:
    (mask,) = ctx.saved_tensors
    if dy.stride() != ctx.strides:
        dy = torch.empty_strided(dy.shape, ctx.strides, dtype=dy.dtype, device=dy.device).copy_(dy)
    return dropout_backward(dy, mask, ctx.p, ctx.backend), None, None, None


def _drop_backward(dy: torch.Tensor, mask: torch.Tensor, p: float, backend: str) -> torch.Tensor:
    dx = torch.empty_like(dy)
    if dy.numel():
        how = dnn.DropoutDescriptor(p, mask)  # it wants states, which a gradient does not read
        repeated(dnn.dropout_backward)(handle_for(dy, backend), flat(dy), how, mask, flat(dx))
    return dx


def _drop_backward_fake(dy: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.empty_like(dy)


def _drop_again_setup(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    _, mask, ctx.p, ctx.backend = inputs
    ctx.save_for_backward(mask)
    ctx.strides = output.stride()


def _drop_again(ctx: Any, g: torch.Tensor) -> tuple[Any, ...]:
    return (*_drop_gradient(ctx, g, None)[:1], None, None, None)


dropout_backward = operator(
    "dropout_backward(Tensor dy, Tensor mask, float p, str backend) -> Tensor",
    _drop_backward,
    _drop_backward_fake,
    _drop_again,
    _drop_again_setup,
)
dropout_operator = operator(
    "dropout(Tensor x, Tensor seed, float p, str backend) -> (Tensor, Tensor)",
    _drop,
    _drop_fake,
    _drop_gradient,
    _drop_setup,
)


def new_seed(x: torch.Tensor) -> torch.Tensor:
    """Return a seed of 63 bits on a tensor's device, drawn by PyTorch's generator: ``torch.manual_seed`` sets it."""
    return torch.randint(2**63 - 1, (1,), dtype=torch.int64, device=x.device)


def states_of(seed: torch.Tensor) -> torch.Tensor:
    """Return new states of random numbers that begin at a seed, as ``set_dropout_descriptor`` writes them.

    The seed is no part of a Problem here: each would have a plan.
    """
    words = torch.zeros(4, dtype=torch.int64, device=seed.device)  # 32 bytes: the seed, the draw, and counters
    words[:1] = seed
    return words.view(torch.uint8)


def dropout(x: torch.Tensor, p: float = 0.5, training: bool = True, *, backend: str = "auto") -> torch.Tensor:
    """Set elements to 0 with probability p and divide the others by 1 - p, as ``torch.nn.functional.dropout``.

    Parameters
    ----------
    x
        Any dims, float16, bfloat16, float32 or float64.
    p
        From 0 to 1.
    training
        Without it x is returned.
    backend
        See :func:`conv2d`. The mask follows from ``torch.manual_seed``, and is another than PyTorch's.

    Raises
    ------
    BadParam
        No such probability.
    """
    if not 0 <= p <= 1:
        raise BadParam(argument="p", expected="a probability, 0 to 1", got=p)
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    y, _ = dropout_operator(x, new_seed(x), float(p), backend)
    return y
