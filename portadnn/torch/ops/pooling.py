"""Pooling of one to three spatial dims, with PyTorch's ceil mode, and adaptive pooling."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch.nn import functional

import portadnn as dnn
from portadnn.errors import BadParam, NotSupported

from .handles import handle_for
from .layout import check_rank, check_sizes, dense, like, memory_format, new, spread, volume
from .library import autocast, operator, result
from .repeat import repeated
from .twice import again, pooling_gradient

Ints = Sequence[int]
Size: TypeAlias = "int | Ints"
_MAX, _PADDED = "max", "average_count_include_padding"
_UNPADDED = "average_count_exclude_padding"


@functools.lru_cache(4096)
def _descriptor(mode: str, window: Ints, padding: Ints, stride: Ints) -> dnn.PoolingDescriptor:
    if len(window) == 1:
        window, padding, stride = (1, *window), (0, *padding), (1, *stride)
    return dnn.PoolingDescriptor(mode, window, padding, stride, nan_propagation="propagate_nan")


def _run(call: Any, tensors: Sequence[torch.Tensor], geometry: Any, backend: str) -> None:
    """Call with a descriptor between all tensors and the last."""
    mode, window, padding, stride = geometry
    pooling = _descriptor(mode, tuple(window), tuple(padding), tuple(stride))
    if tensors[0].dim() == 3:
        tensors = [t.unsqueeze(2) for t in tensors]
    repeated(call)(handle_for(tensors[0], backend), *tensors[:-1], pooling, tensors[-1])


def _forward(x: torch.Tensor, mode: str, window: Ints, padding: Ints, stride: Ints, backend: str) -> torch.Tensor:
    y = _fake(x, mode, window, padding, stride, backend)
    if y.numel():
        _run(dnn.pooling_forward, (x, y), (mode, window, padding, stride), backend)
    return y


def _fake(x: torch.Tensor, mode: str, window: Ints, padding: Ints, stride: Ints, backend: str) -> torch.Tensor:
    sizes = [(h + 2 * p - k) // s + 1 for h, k, p, s in zip(x.shape[2:], window, padding, stride, strict=True)]
    check_sizes(x.shape, sizes)
    return new(x, [*x.shape[:2], *sizes], memory_format(x))


def _setup(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    x, *geometry = inputs
    ctx.geometry = geometry
    ctx.save_for_backward(x)


def _backward(ctx: Any, dy: torch.Tensor) -> tuple[Any, ...]:
    (x,) = ctx.saved_tensors
    y = dy  # averages' gradients do not read it
    if ctx.geometry[0] == "max":
        y = result(ctx, lambda: pooling(x, *ctx.geometry))
    return (pooling_backward(y, dy, x, *ctx.geometry), *[None] * 5)


def _gradient(y: torch.Tensor, dy: torch.Tensor, x: torch.Tensor, *geometry: Any) -> torch.Tensor:
    x = dense(x)
    dx = torch.empty_like(x)
    if y.numel() == 0:
        return dx.zero_()
    if x.numel():
        _run(dnn.pooling_backward, (y, like(dy, y), x, dx), geometry[:-1], geometry[-1])
    return dx


def _gradient_fake(y: torch.Tensor, dy: torch.Tensor, x: torch.Tensor, *geometry: Any) -> torch.Tensor:
    return torch.empty_like(dense(x))


def _fold(info: Any, in_dims: Any, x: torch.Tensor, *geometry: Any) -> Any:
    x = x.movedim(in_dims[0], 0)
    return pooling(x.flatten(0, 1), *geometry).unflatten(0, x.shape[:2]), 0


_GEOMETRY = "str mode, int[] window, int[] padding, int[] stride, str backend"
pooling_backward = operator(
    f"pooling_backward(Tensor y, Tensor dy, Tensor x, {_GEOMETRY}) -> Tensor",
    _gradient,
    _gradient_fake,
    *again(pooling_gradient),
)
pooling = operator(f"pooling(Tensor x, {_GEOMETRY}) -> Tensor", _forward, _fake, _backward, _setup, _fold, kept=True)


def _batched(spatial: int, x: torch.Tensor) -> torch.Tensor:
    check_rank(x, "x", spatial + 1, spatial + 2)
    return x.unsqueeze(0) if x.dim() == spatial + 1 else x


def _geometry(spatial: int, kernel_size: Size, stride: Size | None, padding: Size) -> tuple[tuple[int, ...], ...]:
    window = spread(kernel_size, spatial, "kernel_size")
    step = window if stride is None or stride in ((), []) else spread(stride, spatial, "stride")
    pad = spread(padding, spatial, "padding")
    for p, k in zip(pad, window, strict=True):
        if p < 0 or 2 * p > k:
            raise BadParam(argument="padding", expected="at most half of kernel_size", got=tuple(pad))
    return window, pad, step


def _behind(x: torch.Tensor, window: Ints, pad: Ints, step: Ints) -> list[int]:
    """Return how many elements ceil mode reads behind the padded image, for each dimension."""
    more = []
    for h, k, p, s in zip(x.shape[2:], window, pad, step, strict=True):
        count = -(-(h + 2 * p - k) // s) + 1
        if (count - 1) * s >= h + p:  # the last window would begin behind the image
            count -= 1
        more.append(max((count - 1) * s + k - (h + 2 * p), 0))
    return more


def _sides(before: Ints, behind: Ints) -> list[int]:
    """Return padding as functional.pad takes it: the last dimension first."""
    return [side for pair in zip(reversed(before), reversed(behind), strict=True) for side in pair]


def _max_pool(
    spatial: int,
    x: torch.Tensor,
    kernel_size: Size,
    stride: Size | None,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
    return_indices: bool,
    backend: str,
) -> torch.Tensor:
    if return_indices:
        raise NotSupported(argument="return_indices", expected="False: cuDNN's pooling has no indices", got=True)
    if any(d != 1 for d in spread(dilation, spatial, "dilation")):
        raise NotSupported(argument="dilation", expected="1: cuDNN's pooling has none", got=dilation)
    if spatial == 3:
        (x,) = autocast(x, to=torch.float32, on=("cpu",))
    given, x = x, _batched(spatial, x)
    window, pad, step = _geometry(spatial, kernel_size, stride, padding)
    more = _behind(x, window, pad, step) if ceil_mode else []
    if any(more):
        x = functional.pad(x, _sides(pad, [p + m for p, m in zip(pad, more, strict=True)]), value=float("-inf"))
        pad = (0,) * spatial
    y = pooling(x, _MAX, window, pad, step, backend)
    return y if given.dim() == y.dim() else y.squeeze(0)


def _avg_pool(
    spatial: int,
    x: torch.Tensor,
    kernel_size: Size,
    stride: Size | None,
    padding: Size,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    backend: str,
) -> torch.Tensor:
    if divisor_override == 0:
        raise BadParam(argument="divisor_override", expected="a number other than 0", got=0)
    if spatial == 3:
        (x,) = autocast(x, to=torch.float32, on=("cpu",))
    given, x = x, _batched(spatial, x)
    window, pad, step = _geometry(spatial, kernel_size, stride, padding)
    more = _behind(x, window, pad, step) if ceil_mode else [0] * spatial
    if not any(more) and divisor_override is None:
        y = pooling(x, _PADDED if count_include_pad else _UNPADDED, window, pad, step, backend)
    else:
        behind = [p + m for p, m in zip(pad, more, strict=True)]
        padded = functional.pad(x, _sides(pad, behind)) if any(behind) else x
        y = pooling(padded, _PADDED, window, [0] * spatial, step, backend)
        counted = pad if count_include_pad else [0] * spatial
        y = y * _share(x, window, pad, step, counted, y.shape[2:], divisor_override).to(y.dtype)
    return y if given.dim() == y.dim() else y.squeeze(0)


def _share(
    x: torch.Tensor, window: Ints, pad: Ints, step: Ints, counted: Ints, sizes: Ints, divisor: int | None
) -> torch.Tensor:
    """Return, for each output, the elements of a window over those that count."""
    total = float(volume(window))
    if divisor is not None:
        return torch.tensor(total / divisor, dtype=torch.float64, device=x.device)
    share = torch.ones((), dtype=torch.float64, device=x.device)
    for h, k, p, s, c, size in zip(x.shape[2:], window, pad, step, counted, sizes, strict=True):
        first = torch.arange(size, device=x.device) * s - p
        number = (first + k).clamp(max=h + c) - first.clamp(min=-c)
        share = share.unsqueeze(-1) * (k / number.to(torch.float64))
    return share


def max_pool1d(
    x: torch.Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Take maxima of (n, c, l), as ``torch.nn.functional.max_pool1d``; see :func:`max_pool2d`."""
    return _max_pool(1, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices, backend)


def max_pool2d(
    x: torch.Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Take the maxima of windows, as ``torch.nn.functional.max_pool2d``.

    Parameters
    ----------
    x
        (n, c, h, w) or (c, h, w), float16, bfloat16, float32 or float64.
    kernel_size, stride, padding, ceil_mode
        As there; the stride is the window's size where it is left out. Where ceil mode adds outputs, the image is
        padded first, which is a copy.
    dilation, return_indices
        1 and False: cuDNN has neither.
    backend
        See :func:`conv2d`.

    Raises
    ------
    BadParam
        Numbers that do not fit, or padding of more than half of the window.
    NotSupported
        Dilation or indices.
    """
    return _max_pool(2, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices, backend)


def max_pool3d(
    x: torch.Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Take maxima of (n, c, d, h, w), as ``torch.nn.functional.max_pool3d``; see :func:`max_pool2d`."""
    return _max_pool(3, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices, backend)


def avg_pool1d(
    x: torch.Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Take means of (n, c, l), as ``torch.nn.functional.avg_pool1d``; see :func:`avg_pool2d`."""
    return _avg_pool(1, x, kernel_size, stride, padding, ceil_mode, count_include_pad, None, backend)


def avg_pool2d(
    x: torch.Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Take the means of windows, as ``torch.nn.functional.avg_pool2d``.

    Parameters
    ----------
    x
        (n, c, h, w) or (c, h, w), float16, bfloat16, float32 or float64.
    kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        As there. Where ceil mode adds outputs, or a divisor is given, the image is padded first, which is a copy.
    backend
        See :func:`conv2d`.

    Raises
    ------
    BadParam
        Numbers that do not fit, or padding of more than half of the window.
    """
    return _avg_pool(2, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, backend)


def avg_pool3d(
    x: torch.Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Take means of (n, c, d, h, w), as ``torch.nn.functional.avg_pool3d``; see :func:`avg_pool2d`."""
    return _avg_pool(3, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, backend)


def adaptive_pool(x: torch.Tensor, output_size: Any, spatial: int, mode: str, backend: str = "auto") -> torch.Tensor:
    """Pool to a size, as PyTorch's adaptive pooling of one to three spatial dims.

    Output i of m takes the elements from ``floor(i * h / m)`` up to ``ceil((i + 1) * h / m)``. Where these windows are
    alike, one call computes all; else windows are pooled one by one, one dimension after another.

    Parameters
    ----------
    x
        (n, c, ...) or (c, ...).
    output_size
        A number or one for each dimension; None keeps that dimension's size.
    spatial
        The number of spatial dims.
    mode
        ``"max"`` or ``"average"``.

    Raises
    ------
    BadParam
        Another mode, or sizes below 1.
    """
    if mode not in ("max", "average"):
        raise BadParam(argument="mode", expected="max or average", got=mode)
    if spatial == 3 and mode == "average":
        (x,) = autocast(x, to=torch.float32, on=("cpu",))
    given, x = x, _batched(spatial, x)
    if output_size is None or isinstance(output_size, (int, torch.SymInt)):
        output_size = [output_size] * spatial
    pairs = zip(spread(output_size_or(x, output_size), spatial, "output_size"), x.shape[2:], strict=True)
    wanted = [(m, int(h)) for m, h in pairs]
    if any(m < 1 or h < 1 for m, h in wanted):
        raise BadParam(argument="output_size", expected="1 or more, of an image that is not empty", got=output_size)
    how = _MAX if mode == "max" else _PADDED
    regular = [_regular(h, m) for m, h in wanted]
    if all(regular):
        window, step = zip(*regular, strict=True)
        y = pooling(x, how, window, [0] * spatial, step, backend)
    else:
        y = x
        for i, (m, h) in enumerate(wanted):
            y = _along(y, 2 + i, m, h, how, backend)
    return y if given.dim() == y.dim() else y.squeeze(0)


def output_size_or(x: torch.Tensor, sizes: Sequence[int | None]) -> list[int]:
    """Return the wanted sizes; None keeps the image's."""
    if len(sizes) not in (1, x.dim() - 2):
        raise BadParam(argument="output_size", expected=f"one number, or {x.dim() - 2}", got=tuple(sizes))
    sizes = list(sizes) * (x.dim() - 2) if len(sizes) == 1 else sizes
    return [int(h) if m is None else int(m) for m, h in zip(sizes, x.shape[2:], strict=True)]


def _spans(h: int, m: int) -> list[tuple[int, int]]:
    return [(i * h // m, -(-(i + 1) * h // m)) for i in range(m)]


def _regular(h: int, m: int) -> tuple[int, int] | None:
    """Return window and stride that make the outputs' spans, or None."""
    spans = _spans(h, m)
    lengths = {end - start for start, end in spans}
    steps = {spans[i + 1][0] - spans[i][0] for i in range(m - 1)}  # torch 2.4 traces no itertools.pairwise
    if len(lengths) > 1 or len(steps) > 1 or 0 in steps:
        return None
    length, step = lengths.pop(), (steps.pop() if steps else h)
    return (length, step) if (h - length) // step + 1 == m else None


def _along(x: torch.Tensor, dim: int, m: int, h: int, how: str, backend: str) -> torch.Tensor:
    """Pool one dimension."""
    if m == h:
        return x
    parts = []
    for start, end in _spans(h, m):
        window = [1] * (x.dim() - 2)
        window[dim - 2] = end - start
        parts.append(pooling(x.narrow(dim, start, end - start), how, window, [0] * len(window), window, backend))
    return torch.cat(parts, dim)


def adaptive_avg_pool2d(x: torch.Tensor, output_size: Any, *, backend: str = "auto") -> torch.Tensor:
    """Average to a size, as ``torch.nn.functional.adaptive_avg_pool2d``; see :func:`adaptive_pool`."""
    return adaptive_pool(x, output_size, 2, "average", backend)


def adaptive_max_pool2d(x: torch.Tensor, output_size: Any, *, backend: str = "auto") -> torch.Tensor:
    """Take maxima to a size, as ``torch.nn.functional.adaptive_max_pool2d``; see :func:`adaptive_pool`."""
    return adaptive_pool(x, output_size, 2, "max", backend)
