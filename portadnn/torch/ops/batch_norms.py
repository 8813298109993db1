"""Batch normalisation."""

from __future__ import annotations

from typing import Any

import torch

import portadnn as dnn
from portadnn.errors import BadParam
from portadnn.hooks import CALL_HOOKS
from portadnn.ops import batch_norm_stored

from .handles import handle_for
from .layout import empty_result, laid_out, like, memory_format, per_channel, statistics_type, volume
from .library import operator
from .places import Place
from .repeat import repeated
from .replay import Repeating
from .twice import again, batch_norm_gradients
from .updating import Maybe, Updating, changed

_STORED_BY = ("cuda", "hip", "opencl", "reference")  # backends that take parameters as they are stored


def _four(x: torch.Tensor) -> torch.Tensor:
    """Return (n, c) and (n, c, l) as (n, c, l, 1); a view."""
    return x.view(*x.shape, *[1] * (4 - x.dim())) if x.dim() < 4 else x


def _parameter(given: Maybe, x: torch.Tensor, default: float, stored: bool = False) -> torch.Tensor:
    kind = statistics_type(x)
    if given is None:
        given = torch.full((x.shape[1],), default, dtype=kind, device=x.device)
    return per_channel(given, max(x.dim(), 4), given.dtype if stored else kind)


def _stored(handle: dnn.Handle, x: torch.Tensor, *kinds: torch.dtype | None) -> bool:
    """Tell whether kernels are to read and write parameters of these types as they are stored, without conversions.

    Whoever watches calls sees those that cuDNN would take.
    """
    if CALL_HOOKS or handle.collector is not None or handle.info.backend not in _STORED_BY:
        return False
    return set(kinds) - {None, statistics_type(x)} == {x.dtype}


# batch normalisation by the batch's own statistics


def _train(x: torch.Tensor, weight: Maybe, bias: Maybe, epsilon: float, backend: str) -> tuple[torch.Tensor, ...]:
    x = laid_out(x)
    y, *statistics = _train_fake(x, weight, bias, epsilon, backend)
    ours = [s.view(1, -1, *[1] * (max(x.dim(), 4) - 2)) for s in statistics]
    repeated(dnn.batch_normalization_forward_training)(
        handle_for(x, backend),
        _four(x),
        _parameter(weight, x, 1.0),
        _parameter(bias, x, 0.0),
        _four(y),
        *ours,
        epsilon=epsilon,
    )
    return y, *statistics


def _train_fake(x: torch.Tensor, weight: Maybe, bias: Maybe, epsilon: float, backend: str) -> tuple[torch.Tensor, ...]:
    kind = statistics_type(x)
    y = torch.empty_like(x, memory_format=memory_format(x))
    return (y, *(torch.empty(x.shape[1], dtype=kind, device=x.device) for _ in range(4)))


def _train_setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
    x, weight, bias, ctx.epsilon, ctx.backend = inputs
    ctx.bias = bias is not None
    ctx.mark_non_differentiable(*output[1:])
    ctx.set_materialize_grads(False)  # zeros for all of these
    ctx.save_for_backward(x, weight, *output[3:])


def _train_backward(ctx: Any, dy: Maybe, *_: Any) -> tuple[Any, ...]:
    if dy is None:
        return (None,) * 5
    x, weight, mean, inverse = ctx.saved_tensors
    dx, dscale, dbias = batch_norm_backward(x, dy, weight, mean, inverse, ctx.epsilon, ctx.backend)
    scale = None if weight is None else dscale.to(weight.dtype)
    return dx, scale, dbias.to(dscale.dtype if weight is None else weight.dtype) if ctx.bias else None, None, None


def _gradients(
    x: torch.Tensor,
    dy: torch.Tensor,
    weight: Maybe,
    mean: torch.Tensor,
    inverse: torch.Tensor,
    epsilon: float,
    backend: str,
) -> tuple[torch.Tensor, ...]:
    x = laid_out(x)
    dx, dscale, dbias = _gradients_fake(x, dy, weight, mean, inverse, epsilon, backend)
    rank = max(x.dim(), 4)
    parts = [t.view(1, -1, *[1] * (rank - 2)) for t in (mean, inverse, dscale, dbias)]
    repeated(dnn.batch_normalization_backward)(
        handle_for(x, backend),
        _four(x),
        _four(like(dy, x)),
        _parameter(weight, x, 1.0),
        *parts[:2],
        _four(dx),
        *parts[2:],
        epsilon=epsilon,
    )
    return dx, dscale, dbias


def _gradients_fake(x: torch.Tensor, dy: torch.Tensor, weight: Maybe, mean: torch.Tensor, *_: Any) -> Any:
    return torch.empty_like(x, memory_format=memory_format(x)), torch.empty_like(mean), torch.empty_like(mean)


batch_norm_backward = operator(
    "batch_norm_backward(Tensor x, Tensor dy, Tensor? weight, Tensor mean, Tensor inverse, float epsilon, str backend)"
    " -> (Tensor, Tensor, Tensor)",
    _gradients,
    _gradients_fake,
    *again(batch_norm_gradients),
)
batch_norm_training = operator(
    "batch_norm_training(Tensor x, Tensor? weight, Tensor? bias, float epsilon, str backend)"
    " -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    _train,
    _train_fake,
    _train_backward,
    _train_setup,
)


# batch normalisation by given statistics


def _infer(
    x: torch.Tensor,
    weight: Maybe,
    bias: Maybe,
    mean: torch.Tensor,
    variance: torch.Tensor,
    epsilon: float,
    backend: str,
) -> torch.Tensor:
    x = laid_out(x)
    y = torch.empty_like(x)
    handle, given = handle_for(x, backend), (weight, bias, mean, variance)
    stored = _stored(handle, x, *(None if p is None else p.dtype for p in given))
    parameters = [_parameter(p, x, d, stored) for p, d in zip(given, (1.0, 0.0, 0.0, 1.0), strict=True)]
    call = batch_norm_stored.forward_inference if stored else dnn.batch_normalization_forward_inference
    repeated(call)(handle, _four(x), *parameters, _four(y), epsilon=epsilon)
    return y


def _infer_fake(x: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.empty_like(x, memory_format=memory_format(x))


def _infer_setup(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    x, weight, bias, mean, variance, ctx.epsilon, _ = inputs
    ctx.bias = None if bias is None else bias.dtype
    ctx.save_for_backward(x, weight, mean, variance)


def _infer_backward(ctx: Any, dy: torch.Tensor) -> tuple[Any, ...]:
    """Return the gradients of y = x * a + b, with PyTorch's own operators."""
    x, weight, mean, variance = ctx.saved_tensors
    kind, shape = statistics_type(x), (1, -1, *[1] * (x.dim() - 2))
    inverse = (variance.to(kind) + ctx.epsilon).rsqrt()
    others = [d for d in range(x.dim()) if d != 1]
    wide = dy.to(kind)
    dx = dscale = dbias = None
    if ctx.needs_input_grad[0]:
        factor = inverse if weight is None else inverse * weight.to(kind)
        dx = (wide * factor.view(shape)).to(x.dtype)
    if weight is not None and ctx.needs_input_grad[1]:
        dscale = (wide * (x.to(kind) - mean.to(kind).view(shape)) * inverse.view(shape)).sum(others).to(weight.dtype)
    if ctx.bias is not None and ctx.needs_input_grad[2]:
        dbias = wide.sum(others).to(ctx.bias)
    return dx, dscale, dbias, None, None, None, None


batch_norm_inference = operator(
    "batch_norm_inference(Tensor x, Tensor? weight, Tensor? bias, Tensor mean, Tensor variance, float epsilon,"
    " str backend) -> Tensor",
    _infer,
    _infer_fake,
    _infer_backward,
    _infer_setup,
)


# batch normalisation that updates the running statistics in the same launches


def update(
    x: torch.Tensor,
    weight: Maybe,
    bias: Maybe,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
    momentum: float,
    epsilon: float,
    backend: str,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return y, and the mean and inverse deviation (2, c) that the gradients read; update the running statistics."""
    x = laid_out(x)
    y = torch.empty_like(x)
    handle, kind, running = handle_for(x, backend), statistics_type(x), (running_mean, running_var)
    stored = _stored(handle, x, *(None if p is None else p.dtype for p in (weight, bias, *running)))
    updated = running if stored else [s.to(kind) for s in running]  # themselves, where they have that type
    saved = torch.empty(2, x.shape[1], dtype=kind, device=x.device)
    statistics = [s.view(1, -1, *[1] * (max(x.dim(), 4) - 2)) for s in (*updated, *saved)]
    parameters = _parameter(weight, x, 1.0, stored), _parameter(bias, x, 0.0, stored)
    call = batch_norm_stored.forward_training if stored else dnn.batch_normalization_forward_training
    numbers = {"exponential_average_factor": momentum, "epsilon": epsilon}
    repeated(call)(handle, _four(x), *parameters, _four(y), *statistics, **numbers)
    for own, wide in zip(running, updated, strict=True):
        if own is not wide:
            own.copy_(wide)
    return y, saved


def update_gradients(
    x: torch.Tensor,
    dy: torch.Tensor,
    weight: Maybe,
    saved: torch.Tensor,
    epsilon: float,
    kinds: tuple[torch.dtype | None, ...],
    backend: str,
) -> tuple[torch.Tensor, ...]:
    """Return dx and the gradients of weight and bias in their types."""
    handle = handle_for(x, backend)
    if not _stored(handle, x, *kinds):
        dx, *gradients = _gradients(x, dy, weight, *saved, epsilon, backend)
        return dx, *(d if k is None else d.to(k) for d, k in zip(gradients, kinds, strict=True))
    x = laid_out(x)
    dx = torch.empty_like(x)
    made = [torch.empty(x.shape[1], dtype=k or saved.dtype, device=x.device) for k in kinds]
    parts = [t.view(1, -1, *[1] * (max(x.dim(), 4) - 2)) for t in (*saved, *made)]
    tensors = (_four(x), _four(like(dy, x)), _parameter(weight, x, 1.0, True), *parts[:2], _four(dx), *parts[2:])
    repeated(batch_norm_stored.backward)(handle, *tensors, epsilon=epsilon)
    return dx, *made


_updated_gradients = Repeating(update_gradients)


def _update_forward(ctx: Any, x: torch.Tensor, weight: Maybe, bias: Maybe, *rest: Any) -> torch.Tensor:
    mean, variance, call = rest
    changed(mean, variance)
    y, saved = call((x, weight, bias, mean, variance))
    ctx.call = call
    ctx.save_for_backward(x, weight, saved)
    return y


def _update_backward(ctx: Any, dy: torch.Tensor) -> tuple[Any, ...]:
    x, weight, saved = ctx.saved_tensors
    call, tensors = ctx.call, (x, dy, weight, saved)
    numbers = (call.numbers[1], call.kinds, call.numbers[2])
    known = None
    if not (torch.is_grad_enabled() or torch.compiler.is_compiling()):
        known = _updated_gradients.at(call.backward, numbers, tensors)
    dx, scale, bias = known(tensors) if known else differentiable_gradients(*tensors, *numbers)
    scale_kind, bias_kind = call.kinds
    return dx, scale if scale_kind else None, bias if bias_kind else None, None, None, None


def differentiable_gradients(
    x: torch.Tensor, dy: torch.Tensor, weight: Maybe, saved: torch.Tensor, epsilon: float, kinds: Any, backend: str
) -> tuple[Any, ...]:
    """Return what :func:`update_gradients` does, by operators: others see these, and they have gradients."""
    wide = None if weight is None else weight.to(saved.dtype)
    dx, *gradients = batch_norm_backward(x, dy, wide, *saved, epsilon, backend)
    return dx, *(d if k is None else d.to(k) for d, k in zip(gradients, kinds, strict=True))


batch_norm_updating = Updating("batch_norm_updating", update, _update_forward, _update_backward)


def _check_shapes(x: torch.Tensor, **statistics: Maybe) -> None:
    """Refuse data of other dims, and what has not one value for each channel."""
    if not 2 <= x.dim() <= 5:
        raise BadParam(argument="x", expected="2 to 5 dims", got=tuple(x.shape))
    for name, given in statistics.items():
        if given is not None and given.shape != x.shape[1:2]:
            raise BadParam(argument=name, expected=f"({x.shape[1]},), a value for each channel", got=tuple(given.shape))


def batch_norm(
    x: torch.Tensor,
    running_mean: Maybe,
    running_var: Maybe,
    weight: Maybe = None,
    bias: Maybe = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *,
    backend: str = "auto",
    place: Place | None = None,
) -> torch.Tensor:
    """Normalise each channel over batch and image, as ``torch.nn.functional.batch_norm``.

    Parameters
    ----------
    x
        (n, c), (n, c, l), (n, c, h, w) or (n, c, d, h, w), float16, bfloat16, float32 or float64.
    running_mean, running_var
        (c,), read without `training` and updated with it; may be None with `training`.
    weight, bias
        (c,), or None for 1 and 0. What is neither float32 (float64 for float64 data) nor of x's type is converted.
    training
        Whether the batch's statistics count.
    momentum
        Weight of the batch's statistics in the running ones.
    eps
        Added to the variance; not negative.
    backend
        See :func:`conv2d`.
    place
        Of a layer: what it keeps of its calls.

    Raises
    ------
    BadParam
        Shapes that do not fit, a negative `eps`, missing statistics, or one value for each channel in
        training.
    """
    tensors, numbers = (x, weight, bias, running_mean, running_var), (momentum, eps, backend)
    call = batch_norm_updating.known(tensors, numbers, place) if training else None
    if call is not None:
        return batch_norm_updating.apply(*tensors, call)
    _check_shapes(x, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var)
    if not training:
        if running_mean is None or running_var is None:
            raise BadParam(argument="running_mean", expected="statistics, without training", got=None)
        if x.numel() == 0:
            return empty_result(x, weight, bias)
        return batch_norm_inference(x, weight, bias, running_mean, running_var, eps, backend)
    if volume(x.shape) == x.shape[1]:
        raise BadParam(argument="x", expected="more than 1 value per channel when training", got=tuple(x.shape))
    if x.numel() == 0:
        return empty_result(x, weight, bias)
    call = batch_norm_updating.new(tensors, numbers, momentum)
    if call is not None:
        return batch_norm_updating.apply(*tensors, call)
    kind = statistics_type(x)  # here and not in the operator, so that its gradient reads the same ones
    weight, bias = (p if p is None or p.dtype is kind else p.to(kind) for p in (weight, bias))
    y, mean, variance, _, _ = batch_norm_training(x, weight, bias, eps, backend)
    with torch.no_grad():
        if running_mean is not None:
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
        if running_var is not None:
            running_var.lerp_(variance.to(running_var.dtype), momentum)
    return y
