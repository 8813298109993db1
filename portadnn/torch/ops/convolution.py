"""Convolutions of one to three spatial dims, transposed ones too; differentiable as often as wanted."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional

import portadnn as dnn
from portadnn.errors import BadParam

from .handles import handle_for
from .layout import check_rank, check_sizes, memory_format, new, per_channel, spread
from .library import autocast, operator
from .places import Place
from .repeat import repeated
from .replay import Repeating, hashable

_IDENTITY = dnn.ActivationDescriptor("identity")
_TUNED: set[Any] = set()  # problems that Find was asked about
Ints = Sequence[int]


@functools.lru_cache(4096)
def _descriptor(stride: Ints, padding: Ints, dilation: Ints, groups: int, tf32: bool) -> dnn.ConvolutionDescriptor:
    if len(stride) == 1:
        stride, padding, dilation = (1, *stride), (0, *padding), (1, *dilation)
    return dnn.ConvolutionDescriptor(padding, stride, dilation, groups, math="tf32" if tf32 else "default")


def setting(x: torch.Tensor, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> dnn.ConvolutionDescriptor:
    """Return the descriptor; float32 on GPUs may be rounded to TF32 where PyTorch's own convolutions may."""
    tf32 = x.is_cuda and x.dtype is torch.float32 and torch.backends.cudnn.allow_tf32
    return _descriptor(tuple(stride), tuple(padding), tuple(dilation), groups, tf32)


def _as_2d(*tensors: torch.Tensor) -> Sequence[torch.Tensor]:
    return [t.unsqueeze(2) for t in tensors] if tensors[0].dim() == 3 else tensors


def _tune(handle: dnn.Handle, find: str, tensors: Sequence[torch.Tensor], conv: dnn.ConvolutionDescriptor) -> None:
    """Time the engines of a new problem, where ``torch.backends.cudnn.benchmark`` asks for it."""
    key = (handle.serial, find, conv, *((t.shape, t.stride(), t.dtype) for t in tensors))
    if key not in _TUNED and handle.collector is None:
        _TUNED.add(key)
        first, second, out = tensors
        getattr(dnn, find)(handle, first, second, conv, out)


def _run(call: str, first: torch.Tensor, second: torch.Tensor, out: torch.Tensor, geometry: Any, backend: str) -> None:
    """Run one of the three directions; tensors in the order of its call."""
    if out.numel() == 0:
        return
    if first.numel() == 0 or second.numel() == 0:
        out.zero_()
        return
    handle = handle_for(out, backend)
    conv = setting(out, *geometry)
    tensors = _as_2d(first, second, out)
    if torch.backends.cudnn.benchmark and out.is_cuda:
        _tune(handle, f"find_{call}_algorithm_ex", tensors, conv)
    repeated(getattr(dnn, call))(handle, tensors[0], tensors[1], conv, tensors[2])


def output_dims(x: Ints, w: Ints, stride: Ints, padding: Ints, dilation: Ints) -> list[Any]:
    """Return the dims of a convolution's result; they may be symbolic."""
    spatial = [
        (size + 2 * p - d * (window - 1) - 1) // s + 1
        for size, window, s, p, d in zip(x[2:], w[2:], stride, padding, dilation, strict=True)
    ]
    check_sizes(x, spatial)
    return [x[0], w[0], *spatial]


# y = conv(x, w) + bias


def _forward(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
    backend: str,
) -> torch.Tensor:
    y = _forward_fake(x, w, bias, stride, padding, dilation, groups, backend)
    if bias is None or x.numel() == 0 or w.numel() == 0:
        _run("convolution_forward", x, w, y, (stride, padding, dilation, groups), backend)
        return y if bias is None else y.add_(per_channel(bias, y.dim(), y.dtype))
    if y.numel():
        handle, conv = handle_for(y, backend), setting(y, stride, padding, dilation, groups)
        ours = _as_2d(x, w, y)
        if torch.backends.cudnn.benchmark and y.is_cuda:
            _tune(handle, "find_convolution_forward_algorithm_ex", ours, conv)
        offset = per_channel(bias, ours[2].dim(), y.dtype)
        call = repeated(dnn.convolution_bias_activation_forward)
        call(handle, ours[0], ours[1], conv, offset, _IDENTITY, ours[2])
    return y


def _forward_fake(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
    backend: str,
) -> torch.Tensor:
    return new(x, output_dims(x.shape, w.shape, stride, padding, dilation), memory_format(x, w))


def _forward_setup(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    x, w, bias, *geometry = inputs
    ctx.save_for_backward(x, w)
    ctx.geometry, ctx.bias = geometry, bias is not None


def _forward_backward(ctx: Any, dy: torch.Tensor) -> tuple[Any, ...]:
    x, w = ctx.saved_tensors
    needs = ctx.needs_input_grad
    if needs[0] and needs[1] and not torch.is_grad_enabled():
        tensors = (x, w, dy)
        forward = getattr(ctx, "call", None)  # what PyTorch's dispatcher called has none
        if forward is None:
            call = _both_gradients.at(Place(), hashable(ctx.geometry), tensors)
        else:
            call = _both_gradients.at(forward.backward, forward.numbers, tensors)
        if call is not None:
            dx, dw = call(tensors)
            return dx, dw, convolution_bias(dy, ctx.geometry[-1]) if ctx.bias and needs[2] else None, *[None] * 5
    dx = convolution_data(w, dy, x.shape, *ctx.geometry) if needs[0] else None
    dw = convolution_filter(x, dy, w.shape, *ctx.geometry) if needs[1] else None
    db = convolution_bias(dy, ctx.geometry[-1]) if ctx.bias and needs[2] else None
    return (dx, dw, db, *[None] * 5)


def _forward_fold(info: Any, in_dims: Any, x: torch.Tensor, w: torch.Tensor, bias: Any, *geometry: Any) -> Any:
    """Take a mapped dimension of images into their batch; with filters of their own, samples become groups."""
    dx, dw, db, *_ = in_dims
    count = info.batch_size
    stride, padding, dilation, groups, backend = geometry
    if dw is None and db is None:
        x = x.movedim(dx, 0)
        y = convolution(x.flatten(0, 1), w, bias, *geometry)
        return y.unflatten(0, (count, x.shape[1])), 0
    x = x.movedim(dx, 0) if dx is not None else x.unsqueeze(0).expand(count, *x.shape)
    w = w.movedim(dw, 0) if dw is not None else w.unsqueeze(0).expand(count, *w.shape)
    if bias is not None:
        bias = bias.movedim(db, 0) if db is not None else bias.unsqueeze(0).expand(count, *bias.shape)
        bias = bias.flatten()
    joined = x.transpose(0, 1).flatten(1, 2)
    y = convolution(joined, w.flatten(0, 1), bias, stride, padding, dilation, groups * count, backend)
    return y.unflatten(1, (count, -1)), 1


_GEOMETRY = "int[] stride, int[] padding, int[] dilation, int groups, str backend"


# the gradient with respect to x, which is the transposed convolution


def _data(w: torch.Tensor, dy: torch.Tensor, dims: Ints, *geometry: Any) -> torch.Tensor:
    dx = _data_fake(w, dy, dims, *geometry)
    dy = dy.contiguous(memory_format=memory_format(dy, w))
    _run("convolution_backward_data", w, dy, dx, geometry[:4], geometry[4])
    return dx


def _data_fake(w: torch.Tensor, dy: torch.Tensor, dims: Ints, *geometry: Any) -> torch.Tensor:
    check_sizes(dy.shape, dims[2:])
    return new(dy, dims, memory_format(dy, w))


def _data_setup(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    w, dy, _, *geometry = inputs
    ctx.save_for_backward(w, dy)
    ctx.geometry = geometry


def _data_backward(ctx: Any, g: torch.Tensor) -> tuple[Any, ...]:
    w, dy = ctx.saved_tensors
    dw = convolution_filter(g, dy, w.shape, *ctx.geometry) if ctx.needs_input_grad[0] else None
    ddy = convolution(g, w, None, *ctx.geometry) if ctx.needs_input_grad[1] else None
    return (dw, ddy, *[None] * 6)


# the gradient with respect to w


def _filter(x: torch.Tensor, dy: torch.Tensor, dims: Ints, *geometry: Any) -> torch.Tensor:
    dw = _filter_fake(x, dy, dims, *geometry)
    dy = dy.contiguous(memory_format=memory_format(dy, x))
    _run("convolution_backward_filter", x, dy, dw, geometry[:4], geometry[4])
    return dw


def _filter_fake(x: torch.Tensor, dy: torch.Tensor, dims: Ints, *geometry: Any) -> torch.Tensor:
    return new(x, dims, memory_format(x, dy))


def _filter_setup(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    x, dy, _, *geometry = inputs
    ctx.save_for_backward(x, dy)
    ctx.geometry = geometry


def _filter_backward(ctx: Any, g: torch.Tensor) -> tuple[Any, ...]:
    x, dy = ctx.saved_tensors
    dx = convolution_data(g, dy, x.shape, *ctx.geometry) if ctx.needs_input_grad[0] else None
    ddy = convolution(x, g, None, *ctx.geometry) if ctx.needs_input_grad[1] else None
    return (dx, ddy, *[None] * 6)


def _both(x: torch.Tensor, w: torch.Tensor, dy: torch.Tensor, *geometry: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return _data(w, dy, x.shape, *geometry), _filter(x, dy, w.shape, *geometry)


_both_gradients = Repeating(_both)


# the gradient with respect to the bias


def _bias(dy: torch.Tensor, backend: str) -> torch.Tensor:
    if dy.numel() == 0:
        return dy.new_zeros(dy.shape[1])
    db = dy.new_empty(1, dy.shape[1], *[1] * (max(dy.dim(), 4) - 2))
    dy = dy.contiguous(memory_format=memory_format(dy))
    (dy,) = _as_2d(dy)
    repeated(dnn.convolution_backward_bias)(handle_for(dy, backend), dy, db)
    return db.view(-1)


def _bias_fake(dy: torch.Tensor, backend: str) -> torch.Tensor:
    return dy.new_empty(dy.shape[1])


def _bias_setup(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    ctx.dims = inputs[0].shape


def _bias_backward(ctx: Any, g: torch.Tensor) -> tuple[Any, ...]:
    return g.view(1, -1, *[1] * (len(ctx.dims) - 2)).expand(ctx.dims), None


convolution = operator(
    f"convolution(Tensor x, Tensor w, Tensor? bias, {_GEOMETRY}) -> Tensor",
    _forward,
    _forward_fake,
    _forward_backward,
    _forward_setup,
    _forward_fold,
)
convolution_data = operator(
    f"convolution_data(Tensor w, Tensor dy, SymInt[] dims, {_GEOMETRY}) -> Tensor",
    _data,
    _data_fake,
    _data_backward,
    _data_setup,
)
convolution_filter = operator(
    f"convolution_filter(Tensor x, Tensor dy, SymInt[] dims, {_GEOMETRY}) -> Tensor",
    _filter,
    _filter_fake,
    _filter_backward,
    _filter_setup,
)
convolution_bias = operator(
    "convolution_bias(Tensor dy, str backend) -> Tensor", _bias, _bias_fake, _bias_backward, _bias_setup
)


# the public functions


def _prepared(
    spatial: int, x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None, *numbers: tuple[Any, str]
) -> tuple[Any, ...]:
    """Check the ranks; return batched tensors, whether there was no batch, and numbers by dims."""
    check_rank(x, "x", spatial + 1, spatial + 2)
    check_rank(w, "w", spatial + 2)
    single = x.dim() == spatial + 1
    return (x.unsqueeze(0) if single else x, w, bias, single, *(spread(v, spatial, name) for v, name in numbers))


def _convolve(
    spatial: int, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, backend: str
) -> torch.Tensor:
    given, tensors = (spatial, stride, padding, dilation, groups, backend), autocast(x, w, bias)
    again = convolution.again(given, tensors)
    if again is not None:
        return again
    numbers = ((stride, "stride"), (dilation, "dilation"))
    x, w, bias, single, stride, dilation = _prepared(spatial, *tensors, *numbers)
    if isinstance(padding, str):
        x, padding = _named_padding(x, w, padding, stride, dilation)
    else:
        padding = spread(padding, spatial, "padding")
    _check_channels(x, w, w.shape[1] * groups, "w.shape[1] * groups")
    y = convolution(x, w, bias, stride, padding, dilation, groups, backend)
    if x is tensors[0]:
        convolution.note(given, tensors, (stride, padding, dilation, groups, backend))
    return y.squeeze(0) if single else y


def _check_channels(x: torch.Tensor, w: torch.Tensor, channels: int, what: str) -> None:
    if x.shape[1] != channels:
        raise BadParam(argument="x.shape[1]", expected=f"{channels} ({what})", got=x.shape[1])
    if x.dtype is not w.dtype:
        raise BadParam(argument="w.dtype", expected=f"{x.dtype} as x", got=w.dtype)


def _named_padding(
    x: torch.Tensor, w: torch.Tensor, padding: str, stride: Ints, dilation: Ints
) -> tuple[torch.Tensor, tuple[int, ...]]:
    """Return the image and the padding for ``"valid"`` and ``"same"``; odd totals have one more behind."""
    if padding == "valid":
        return x, (0,) * len(stride)
    if padding != "same":
        raise BadParam(argument="padding", expected="numbers, 'valid' or 'same'", got=padding)
    if any(s != 1 for s in stride):
        raise BadParam(argument="stride", expected="1, because padding is 'same'", got=tuple(stride))
    totals = [d * (window - 1) for d, window in zip(dilation, w.shape[2:], strict=True)]
    if any(total % 2 for total in totals):
        odd = [side for total in reversed(totals) for side in (0, total % 2)]
        x = functional.pad(x, odd)
    return x, tuple(total // 2 for total in totals)


def conv1d(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int | Ints = 1,
    padding: int | Ints | str = 0,
    dilation: int | Ints = 1,
    groups: int = 1,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Convolve (n, c, l) or (c, l) with filters (k, c/groups, s), as ``torch.nn.functional.conv1d``."""
    return _convolve(1, x, w, bias, stride, padding, dilation, groups, backend)


def conv2d(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int | Ints = 1,
    padding: int | Ints | str = 0,
    dilation: int | Ints = 1,
    groups: int = 1,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Convolve, as ``torch.nn.functional.conv2d``.

    Parameters
    ----------
    x
        (n, c, h, w) or (c, h, w), float16, bfloat16, float32 or float64, on a GPU or a CPU, any strides.
    w
        (k, c/groups, r, s), same type.
    bias
        (k,), or None.
    stride, padding, dilation
        One number, or one for each spatial dimension; padding also ``"valid"`` or ``"same"``.
    groups
        Channels and filters are split into so many independent convolutions.
    backend
        What computes, such as ``"opencl"``; ``"auto"`` is cuda (hip, on ROCm) for tensors on a GPU, OpenCL on the CPU
        for others, or the reference where there is none.

    Returns
    -------
    Tensor
        (n, k, p, q), channels-last where x or w is; differentiable any number of times.

    Raises
    ------
    BadParam
        Shapes or types that do not fit, or a backend that does not compute where the tensors lie.
    NotSupported
        The backend does not work here, or does not take the problem.
    """
    return _convolve(2, x, w, bias, stride, padding, dilation, groups, backend)


def conv3d(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int | Ints = 1,
    padding: int | Ints | str = 0,
    dilation: int | Ints = 1,
    groups: int = 1,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Convolve (n, c, d, h, w) with filters (k, c/groups, t, r, s), as ``torch.nn.functional.conv3d``."""
    return _convolve(3, x, w, bias, stride, padding, dilation, groups, backend)


def _transposed(
    spatial: int, x: Any, w: Any, bias: Any, numbers: Sequence[Any], groups: int, backend: str
) -> torch.Tensor:
    names = ("stride", "padding", "output_padding", "dilation")
    x, w, bias, single, stride, padding, extra, dilation = _prepared(
        spatial, *autocast(x, w, bias), *zip(numbers, names, strict=True)
    )
    _check_channels(x, w, w.shape[0], "w.shape[0]")
    for more, s, d in zip(extra, stride, dilation, strict=True):
        if not 0 <= more < max(s, d):
            raise BadParam(argument="output_padding", expected="less than stride or dilation", got=tuple(extra))
    sizes = [
        (size - 1) * s - 2 * p + d * (window - 1) + more + 1
        for size, s, p, d, window, more in zip(x.shape[2:], stride, padding, dilation, w.shape[2:], extra, strict=True)
    ]
    # with more of an output than a step leaves over, there would be more inputs: these are 0
    behind = [more // s for more, s in zip(extra, stride, strict=True)]
    if any(behind):
        x = functional.pad(x, [side for count in reversed(behind) for side in (0, count)])
    dims = [x.shape[0], w.shape[1] * groups, *sizes]
    if torch.jit.is_tracing():  # whose sizes are tensors
        dims = [int(n) for n in dims]
    y = convolution_data(w, x, dims, stride, padding, dilation, groups, backend)
    if bias is not None:
        y = y + bias.view(1, -1, *[1] * spatial)
    return y.squeeze(0) if single else y


def conv_transpose1d(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int | Ints = 1,
    padding: int | Ints = 0,
    output_padding: int | Ints = 0,
    groups: int = 1,
    dilation: int | Ints = 1,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Convolve (n, c, l) transposed with (c, k/groups, s), as ``torch.nn.functional.conv_transpose1d``."""
    return _transposed(1, x, w, bias, (stride, padding, output_padding, dilation), groups, backend)


def conv_transpose2d(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int | Ints = 1,
    padding: int | Ints = 0,
    output_padding: int | Ints = 0,
    groups: int = 1,
    dilation: int | Ints = 1,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Convolve (n, c, h, w) transposed with (c, k/groups, r, s), as ``torch.nn.functional.conv_transpose2d``.

    It is the gradient of a convolution of (n, k, p, q) with respect to its input, where
    ``p = (h - 1) * stride - 2 * padding + dilation * (r - 1) + output_padding + 1``.
    """
    return _transposed(2, x, w, bias, (stride, padding, output_padding, dilation), groups, backend)


def conv_transpose3d(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int | Ints = 1,
    padding: int | Ints = 0,
    output_padding: int | Ints = 0,
    groups: int = 1,
    dilation: int | Ints = 1,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Convolve (n, c, d, h, w) transposed with (c, k/groups, t, r, s), as ``functional.conv_transpose3d``."""
    return _transposed(3, x, w, bias, (stride, padding, output_padding, dilation), groups, backend)
