"""Batch, layer, group, instance and RMS normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch

import portadnn as dnn
from portadnn.errors import BadParam

from .handles import handle_for
from .layout import like, memory_format, per_channel, statistics_type, volume
from .library import autocast, operator
from .repeat import repeated

Maybe: TypeAlias = "torch.Tensor | None"
Ints = Sequence[int]


def _four(x: torch.Tensor) -> torch.Tensor:
    """Return (n, c) and (n, c, l) as (n, c, l, 1); a view."""
    return x.view(*x.shape, *[1] * (4 - x.dim())) if x.dim() < 4 else x


def _laid_out(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous(memory_format=memory_format(x))


def _parameter(given: Maybe, x: torch.Tensor, default: float) -> torch.Tensor:
    kind = statistics_type(x)
    if given is None:
        given = torch.full((x.shape[1],), default, dtype=kind, device=x.device)
    return per_channel(given, max(x.dim(), 4), kind)


# batch normalisation by the batch's own statistics


def _train(x: torch.Tensor, weight: Maybe, bias: Maybe, epsilon: float, backend: str) -> tuple[torch.Tensor, ...]:
    x = _laid_out(x)
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
    x = _laid_out(x)
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
    x = _laid_out(x)
    y = torch.empty_like(x)
    parameters = [_parameter(p, x, d) for p, d in ((weight, 1.0), (bias, 0.0), (mean, 0.0), (variance, 1.0))]
    call = repeated(dnn.batch_normalization_forward_inference)
    call(handle_for(x, backend), _four(x), *parameters, _four(y), epsilon=epsilon)
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
) -> torch.Tensor:
    """Normalise each channel over batch and image, as ``torch.nn.functional.batch_norm``.

    Parameters
    ----------
    x
        (n, c), (n, c, l), (n, c, h, w) or (n, c, d, h, w), float16, bfloat16, float32 or float64.
    running_mean, running_var
        (c,), read without `training` and updated with it; may be None with `training`.
    weight, bias
        (c,), or None for 1 and 0. What is not float32 (float64 for float64 data) is converted.
    training
        Whether the batch's statistics count.
    momentum
        Weight of the batch's statistics in the running ones.
    eps
        Added to the variance; 1e-5 or more, as in cuDNN.
    backend
        See :func:`conv2d`.

    Raises
    ------
    BadParam
        Shapes that do not fit, an `eps` that is too small, missing statistics, or one value for each channel in
        training.
    """
    if not 2 <= x.dim() <= 5:
        raise BadParam(argument="x", expected="2 to 5 dims", got=tuple(x.shape))
    for name, given in (
        ("weight", weight),
        ("bias", bias),
        ("running_mean", running_mean),
        ("running_var", running_var),
    ):
        if given is not None and given.shape != x.shape[1:2]:
            raise BadParam(argument=name, expected=f"({x.shape[1]},), a value for each channel", got=tuple(given.shape))
    if not training:
        if running_mean is None or running_var is None:
            raise BadParam(argument="running_mean", expected="statistics, without training", got=None)
        if x.numel() == 0:
            return torch.empty_like(x)
        return batch_norm_inference(x, weight, bias, running_mean, running_var, eps, backend)
    if volume(x.shape) == x.shape[1]:
        raise BadParam(argument="x", expected="more than 1 value per channel when training", got=tuple(x.shape))
    if x.numel() == 0:
        return x.clone()
    kind = statistics_type(x)  # here and not in the operator, so that its gradient reads the same ones
    weight, bias = (p if p is None or p.dtype is kind else p.to(kind) for p in (weight, bias))
    y, mean, variance, _, _ = batch_norm_training(x, weight, bias, eps, backend)
    with torch.no_grad():
        if running_mean is not None:
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
        if running_var is not None:
            running_var.lerp_(variance.to(running_var.dtype), momentum)
    return y


# normalisation of parts of a sample


def _as_given(x: torch.Tensor, mode: str) -> torch.Tensor:
    """Return x in one of the layouts that are read as they are: channels-last for groups, else packed."""
    return _laid_out(x) if mode in ("group_norm", "instance_norm") else x.contiguous()


def _ranked(x: torch.Tensor, mode: str) -> torch.Tensor:
    """Return x with 3 dims at least: (rows, columns, 1), or (n, c, l)."""
    if x.dim() > 2:
        return x
    return x.unsqueeze(2)


def _scale(given: Maybe, x: torch.Tensor) -> Maybe:
    return None if given is None else per_channel(given, max(x.dim(), 3), statistics_type(x))


def _norm(
    x: torch.Tensor, weight: Maybe, bias: Maybe, mode: str, groups: int, epsilon: float, backend: str
) -> tuple[torch.Tensor, ...]:
    x = _as_given(x, mode)
    y, mean, inverse = _norm_fake(x, weight, bias, mode, groups, epsilon, backend)
    rank = max(x.dim(), 3)
    saved = [None if mode == "rms_norm" else _statistic(mean, rank), _statistic(inverse, rank)]
    scale, offset = _scale(weight, x), _scale(bias, x)
    call = repeated(dnn.normalization_forward)
    parameters = (_ranked(x, mode), scale, offset, _ranked(y, mode), *saved)
    call(handle_for(x, backend), *parameters, mode=mode, groups=groups, epsilon=epsilon)
    if mode == "rms_norm":
        mean.zero_()
    return y, mean, inverse


def _statistic(s: torch.Tensor, rank: int) -> torch.Tensor:
    return s.view(*s.shape, *[1] * (rank - s.dim()))


def _norm_fake(
    x: torch.Tensor, weight: Maybe, bias: Maybe, mode: str, groups: int, *_: Any
) -> tuple[torch.Tensor, ...]:
    parts = {"group_norm": groups, "instance_norm": x.shape[1]}.get(mode, 1)
    format = memory_format(x) if mode in ("group_norm", "instance_norm") else torch.contiguous_format
    kind = statistics_type(x)
    mean, inverse = (torch.empty(x.shape[0], parts, dtype=kind, device=x.device) for _ in range(2))
    return torch.empty_like(x, memory_format=format), mean, inverse


def _norm_setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
    x, weight, bias, *ctx.options = inputs
    ctx.bias = bias is not None
    ctx.mark_non_differentiable(*output[1:])
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(x, weight, *output[1:])


def _norm_gradient(ctx: Any, dy: Maybe, *_: Any) -> tuple[Any, ...]:
    if dy is None:
        return (None,) * 7
    x, weight, mean, inverse = ctx.saved_tensors
    dx, dscale, dbias = norm_backward(x, dy, weight, mean, inverse, *ctx.options)
    if weight is None:
        return (dx, *[None] * 6)
    return dx, dscale.to(weight.dtype), dbias.to(weight.dtype) if ctx.bias else None, None, None, None, None


def _norm_backward(
    x: torch.Tensor,
    dy: torch.Tensor,
    weight: Maybe,
    mean: torch.Tensor,
    inverse: torch.Tensor,
    mode: str,
    groups: int,
    epsilon: float,
    backend: str,
) -> tuple[torch.Tensor, ...]:
    x = _as_given(x, mode)
    dx, dscale, dbias = _norm_backward_fake(x, dy, weight, mean, inverse, mode, groups, epsilon, backend)
    rank = max(x.dim(), 3)
    saved = [None if mode == "rms_norm" else _statistic(mean, rank), _statistic(inverse, rank)]
    gradients = [None, None]
    if weight is not None:
        gradients = [d.view(1, -1, *[1] * (rank - 2)) for d in (dscale, dbias)]
        if mode == "rms_norm":  # which has no bias
            dbias.zero_()
            gradients[1] = None
    tensors = (_ranked(x, mode), _ranked(like(dy, x), mode), _scale(weight, x), *saved, _ranked(dx, mode), *gradients)
    repeated(dnn.normalization_backward)(handle_for(x, backend), *tensors, mode=mode, groups=groups, epsilon=epsilon)
    return dx, dscale, dbias


def _norm_backward_fake(
    x: torch.Tensor, dy: torch.Tensor, weight: Maybe, mean: Any, inverse: Any, mode: str, *_: Any
) -> Any:
    format = memory_format(x) if mode in ("group_norm", "instance_norm") else torch.contiguous_format
    count = 0 if weight is None else x.shape[1]
    gradients = (torch.empty(count, dtype=statistics_type(x), device=x.device) for _ in range(2))
    return (torch.empty_like(x, memory_format=format), *gradients)


norm_backward = operator(
    "norm_backward(Tensor x, Tensor dy, Tensor? weight, Tensor mean, Tensor inverse, str mode, int groups,"
    " float epsilon, str backend) -> (Tensor, Tensor, Tensor)",
    _norm_backward,
    _norm_backward_fake,
)
norm = operator(
    "norm(Tensor x, Tensor? weight, Tensor? bias, str mode, int groups, float epsilon, str backend)"
    " -> (Tensor, Tensor, Tensor)",
    _norm,
    _norm_fake,
    _norm_gradient,
    _norm_setup,
)


def _with_scale(x: torch.Tensor, weight: Maybe, bias: Maybe, count: Any) -> Maybe:
    """Return the scale; a bias alone needs one, of ones."""
    for name, given in (("weight", weight), ("bias", bias)):
        if given is not None and given.numel() != count:
            raise BadParam(argument=name, expected=f"{count} values", got=tuple(given.shape))
    if weight is None and bias is not None:
        return torch.ones(count, dtype=bias.dtype, device=x.device)
    return weight


def _last_dims(x: torch.Tensor, normalized_shape: Ints | int) -> list[int]:
    shape = [normalized_shape] if isinstance(normalized_shape, (int, torch.SymInt)) else list(normalized_shape)
    if not shape or list(x.shape[-len(shape) :]) != shape:
        raise BadParam(argument="normalized_shape", expected=f"the last of {tuple(x.shape)}", got=tuple(shape))
    return shape


def _by_rows(
    x: torch.Tensor, shape: Ints, weight: Maybe, bias: Maybe, mode: str, eps: float, backend: str
) -> torch.Tensor:
    count = volume(shape)
    if x.numel() == 0:
        return x.clone()
    weight = _with_scale(x, weight, bias, count)
    flat = [None if p is None else p.reshape(-1) for p in (weight, bias)]
    y, _, _ = norm(x.reshape(-1, count), *flat, mode, 1, eps, backend)
    return y.view(x.shape)


def layer_norm(
    x: torch.Tensor,
    normalized_shape: Ints | int,
    weight: Maybe = None,
    bias: Maybe = None,
    eps: float = 1e-5,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Normalise the last dims of x together, as ``torch.nn.functional.layer_norm``.

    Parameters
    ----------
    x
        Any dims, float16, bfloat16, float32 or float64.
    normalized_shape
        The last of x's dims.
    weight, bias
        Of that shape, or None.
    eps, backend
        Added to the variance; see :func:`conv2d`.

    Raises
    ------
    BadParam
        Shapes that do not fit.
    """
    (x,) = autocast(x, to=torch.float32, on=("cuda",))
    return _by_rows(x, _last_dims(x, normalized_shape), weight, bias, "layer_norm", eps, backend)


def rms_norm(
    x: torch.Tensor,
    normalized_shape: Ints | int,
    weight: Maybe = None,
    eps: float | None = None,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Divide the last dims of x by their root mean square, as ``torch.nn.functional.rms_norm``.

    Without `eps` it is the epsilon of x's type. Other parameters and errors are those of :func:`layer_norm`.
    """
    epsilon = torch.finfo(x.dtype).eps if eps is None else eps
    return _by_rows(x, _last_dims(x, normalized_shape), weight, None, "rms_norm", epsilon, backend)


def group_norm(
    x: torch.Tensor,
    num_groups: int,
    weight: Maybe = None,
    bias: Maybe = None,
    eps: float = 1e-5,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Normalise the groups of each sample's channels, as ``torch.nn.functional.group_norm``.

    Parameters
    ----------
    x
        (n, c, ...), float16, bfloat16, float32 or float64.
    num_groups
        A divisor of c.
    weight, bias
        (c,), or None.
    eps, backend
        Added to the variance; see :func:`conv2d`.

    Raises
    ------
    BadParam
        Shapes that do not fit.
    """
    if x.dim() < 2 or num_groups < 1 or x.shape[1] % num_groups:
        raise BadParam(argument="num_groups", expected=f"a divisor of the channels of {tuple(x.shape)}", got=num_groups)
    (x,) = autocast(x, to=torch.float32, on=("cuda",))
    if x.numel() == 0:
        return x.clone()
    weight = _with_scale(x, weight, bias, x.shape[1])
    y, _, _ = norm(_few_dims(x), weight, bias, "group_norm", num_groups, eps, backend)
    return y.view(x.shape)


def _few_dims(x: torch.Tensor) -> torch.Tensor:
    return x if x.dim() <= 5 else x.flatten(2)


def instance_norm(
    x: torch.Tensor,
    running_mean: Maybe = None,
    running_var: Maybe = None,
    weight: Maybe = None,
    bias: Maybe = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Normalise each sample's channels, as ``torch.nn.functional.instance_norm``.

    Parameters
    ----------
    x
        (n, c, l), (n, c, h, w) or (n, c, d, h, w).
    running_mean, running_var, use_input_stats, momentum
        As there: the means over the batch of the samples' statistics, or what is taken instead of these.
    weight, bias
        (c,), or None.
    eps, backend
        Added to the variance; see :func:`conv2d`.

    Raises
    ------
    BadParam
        Shapes that do not fit, or one value for each channel of a sample.
    """
    if not 3 <= x.dim() <= 5:
        raise BadParam(argument="x", expected="3 to 5 dims", got=tuple(x.shape))
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps, backend=backend)
    count = volume(x.shape[2:])
    if count == 1:
        raise BadParam(argument="x", expected="more than 1 value for each channel of a sample", got=tuple(x.shape))
    if x.numel() == 0:
        return x.clone()
    weight = _with_scale(x, weight, bias, x.shape[1])
    y, mean, inverse = norm(x, weight, bias, "instance_norm", 1, eps, backend)
    with torch.no_grad():
        if running_mean is not None:
            running_mean.lerp_(mean.mean(0).to(running_mean.dtype), momentum)
        if running_var is not None:
            variance = (inverse.pow(-2) - eps).clamp(min=0) * (count / (count - 1))
            running_var.lerp_(variance.mean(0).to(running_var.dtype), momentum)
    return y
