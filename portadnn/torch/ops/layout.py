"""Layouts of tensors: those that PyTorch gives to results, and views in the forms that Problems take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from portadnn.errors import BadParam

_CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def memory_format(*tensors: torch.Tensor) -> torch.memory_format:
    """Return the format that PyTorch gives to a layer's result: channels-last if one of the tensors is only that."""
    for tensor in tensors:
        last = _CHANNELS_LAST.get(tensor.dim())
        if last is not None and not tensor.is_contiguous() and tensor.is_contiguous(memory_format=last):
            return last
    return torch.contiguous_format


def laid_out(x: torch.Tensor) -> torch.Tensor:
    """Return x packed in the format that PyTorch gives to a layer's result: x itself, or a copy."""
    return x.contiguous(memory_format=memory_format(x))


def new(like: torch.Tensor, dims: Sequence[Any], format: torch.memory_format) -> torch.Tensor:
    """Return an uninitialised tensor of other dims with the type and on the device of another."""
    return torch.empty(tuple(dims), dtype=like.dtype, device=like.device, memory_format=format)


def spread(value: int | Sequence[int], count: int, name: str) -> tuple[int, ...]:
    """Return one number for each spatial dimension."""
    if isinstance(value, (int, torch.SymInt)):
        return (int(value),) * count
    values = tuple(int(v) for v in value)
    if len(values) == 1:
        return values * count
    if len(values) != count:
        raise BadParam(argument=name, expected=f"one number, or {count}", got=tuple(values))
    return values


def _in_memory_order(x: torch.Tensor) -> torch.Tensor:
    return x.permute(sorted(range(x.dim()), key=lambda d: (-x.stride(d), -x.size(d))))


def flat(x: torch.Tensor) -> torch.Tensor:
    """Return a dense tensor's elements in the order of memory as (1, 1, count), a view."""
    return (x if x.is_contiguous() else _in_memory_order(x)).reshape(1, 1, -1)


def dense(x: torch.Tensor) -> torch.Tensor:
    """Return the tensor, or a packed copy of it if there are gaps or overlaps between its elements."""
    if x.is_contiguous() or _in_memory_order(x).is_contiguous():
        return x
    return x.contiguous()


def like(x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return x with the strides of another dense tensor of its dims: x itself, or a copy."""
    if x.stride() == other.stride():
        return x
    return torch.empty_like(other, dtype=x.dtype).copy_(x)


def per_channel(parameter: torch.Tensor, rank: int, dtype: torch.dtype) -> torch.Tensor:
    """Return a parameter for each channel as (1, c, 1, ...) in a type, packed."""
    return parameter.to(dtype).contiguous().view(1, -1, *[1] * (rank - 2))


def statistics_type(x: torch.Tensor) -> torch.dtype:
    """Return the type in which norms keep statistics and take parameters: float64 for float64, else float32."""
    return torch.float64 if x.dtype is torch.float64 else torch.float32


def check_rank(x: torch.Tensor, name: str, *ranks: int) -> None:
    """Demand a dense tensor of one of these numbers of dims."""
    if not torch.compiler.is_compiling() and (x.is_nested or x.layout is not torch.strided):
        got = "a nested one" if x.is_nested else f"one of layout {str(x.layout).removeprefix('torch.')}"
        raise BadParam(argument=name, expected="a dense tensor", got=got)
    if x.dim() not in ranks:
        raise BadParam(argument=name, expected=f"{' or '.join(map(str, ranks))} dims", got=tuple(x.shape))


def check_sizes(dims: Sequence[Any], sizes: Sequence[Any]) -> None:
    """Demand that a layer of an image has an output in each spatial dimension; symbolic sizes are not looked at."""
    if any(isinstance(size, int) and size < 1 for size in sizes):
        raise BadParam(
            argument="x",
            expected="an image with room for a window in each dimension",
            got=f"{tuple(dims)}, which makes outputs of {tuple(sizes)}",
        )


def empty_result(x: torch.Tensor, *parameters: torch.Tensor | None) -> torch.Tensor:
    """Return what a layer makes of an x without elements: the gradients by its parameters are zeros."""
    y = x.clone()
    for parameter in parameters:
        y = y if parameter is None else y + parameter.sum().to(y.dtype)
    return y


def volume(dims: Sequence[int]) -> int:
    """Return the number of elements."""
    return math.prod(dims)
