"""Layer, group, instance and RMS normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch

import portadnn as dnn
from portadnn.errors import BadParam

from .batch_norms import batch_norm
from .handles import handle_for
from .layout import empty_result, laid_out, like, memory_format, per_channel, statistics_type, volume
from .library import autocast, operator
from .repeat import repeated
from .twice import again, norm_gradients

Maybe: TypeAlias = "torch.Tensor | None"
Ints = Sequence[int]


def _as_given(x: torch.Tensor, mode: str) -> torch.Tensor:
    """Return x in one of the layouts that are read as they are: channels-last for groups, else packed."""
    return laid_out(x) if mode in ("group_norm", "instance_norm") else x.contiguous()


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
    *again(norm_gradients),
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
        return empty_result(x, weight, bias)
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
        Shapes that do not fit, or one sample with one value in each group, as PyTorch has it.
    """
    if x.dim() < 2:
        raise BadParam(argument="x", expected="at least 2 dims", got=tuple(x.shape))
    if num_groups < 1 or x.shape[1] % num_groups:
        raise BadParam(argument="num_groups", expected=f"a divisor of the channels of {tuple(x.shape)}", got=num_groups)
    if volume(x.shape) == num_groups:
        raise BadParam(argument="x", expected="more than 1 value per group", got=tuple(x.shape))
    (x,) = autocast(x, to=torch.float32, on=("cuda",))
    if x.numel() == 0:
        return empty_result(x, weight, bias)
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
        return empty_result(x, weight, bias)
    weight = _with_scale(x, weight, bias, x.shape[1])
    y, mean, inverse = norm(x, weight, bias, "instance_norm", 1, eps, backend)
    with torch.no_grad():
        if running_mean is not None:
            running_mean.lerp_(mean.mean(0).to(running_mean.dtype), momentum)
        if running_var is not None:
            variance = (inverse.pow(-2) - eps).clamp(min=0) * (count / (count - 1))
            running_var.lerp_(variance.mean(0).to(running_var.dtype), momentum)
    return y
