"""Sampling of images at the places of a grid."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

import portadnn as dnn
from portadnn.errors import BadParam, NotSupported

from .handles import handle_for
from .library import autocast, operator
from .repeat import repeated


def _transformer(x: torch.Tensor, grid: torch.Tensor) -> dnn.SpatialTransformerDescriptor:
    dims = (x.shape[0], x.shape[1], grid.shape[1], grid.shape[2])
    return dnn.SpatialTransformerDescriptor(dims, str(x.dtype).removeprefix("torch."))


def _forward(x: torch.Tensor, grid: torch.Tensor, backend: str) -> torch.Tensor:
    y = _fake(x, grid, backend)
    if y.numel():
        call = repeated(dnn.spatial_tf_sampler_forward)
        call(handle_for(x, backend), x, grid, _transformer(x, grid), y)
    return y


def _fake(x: torch.Tensor, grid: torch.Tensor, backend: str) -> torch.Tensor:
    return x.new_empty(x.shape[0], x.shape[1], grid.shape[1], grid.shape[2])


def _setup(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    x, grid, ctx.backend = inputs
    ctx.save_for_backward(x, grid)


def _gradient(ctx: Any, dy: torch.Tensor) -> tuple[Any, ...]:
    return (*sample_backward(*ctx.saved_tensors, dy, ctx.backend), None)


def _backward(x: torch.Tensor, grid: torch.Tensor, dy: torch.Tensor, backend: str) -> tuple[torch.Tensor, torch.Tensor]:
    dx, dgrid = _backward_fake(x, grid, dy, backend)
    if dy.numel() == 0:
        return dx.zero_(), dgrid.zero_()
    call = repeated(dnn.spatial_tf_sampler_backward)
    call(handle_for(x, backend), x, dy.contiguous(), grid, _transformer(x, grid), dx, dgrid)
    return dx, dgrid


def _backward_fake(x: torch.Tensor, grid: torch.Tensor, *_: Any) -> tuple[torch.Tensor, torch.Tensor]:
    format = torch.contiguous_format
    return torch.empty_like(x, memory_format=format), torch.empty_like(grid, memory_format=format)


sample_backward = operator(
    "grid_sample_backward(Tensor x, Tensor grid, Tensor dy, str backend) -> (Tensor, Tensor)", _backward, _backward_fake
)
sample = operator("grid_sample(Tensor x, Tensor grid, str backend) -> Tensor", _forward, _fake, _gradient, _setup)


def grid_sample(
    x: torch.Tensor,
    grid: torch.Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Sample images at places, as ``torch.nn.functional.grid_sample``.

    Parameters
    ----------
    x
        (n, c, h, w), float16, bfloat16, float32 or float64.
    grid
        (n, p, q, 2), x before y, the same type.
    mode, padding_mode
        ``"bilinear"`` and ``"zeros"``, which are all that cuDNN has.
    align_corners
        Whether -1 and 1 are the centres of the outer pixels, as in cuDNN, or the image's borders: places are converted.
    backend
        See :func:`conv2d`.

    Returns
    -------
    Tensor
        (n, c, p, q).

    Raises
    ------
    BadParam
        Shapes that do not fit.
    NotSupported
        Other modes, or images with a depth.
    """
    if mode != "bilinear" or padding_mode != "zeros":
        raise NotSupported(
            argument="mode", expected="bilinear with zeros, as cuDNN has", got=f"{mode} with {padding_mode}"
        )
    if x.dim() == 5:
        raise NotSupported(argument="x", expected="4 dims, as cuDNN has", got=tuple(x.shape))
    if x.dim() != 4 or grid.dim() != 4 or grid.shape[0] != x.shape[0] or grid.shape[3] != 2:
        raise BadParam(argument="grid", expected=f"({x.shape[0]}, p, q, 2)", got=tuple(grid.shape))
    x, grid = autocast(x, grid, to=torch.float32)
    if not align_corners:
        size = torch.tensor([x.shape[3], x.shape[2]], dtype=grid.dtype, device=grid.device)
        # an image of one row or column gets another of zeros, which is what lies beside it
        x = functional.pad(x, (0, int(x.shape[3] == 1), 0, int(x.shape[2] == 1)))
        grid = ((grid + 1) * size - 1) / (size.clamp(min=2) - 1) - 1
    return sample(x, grid, backend)
