"""The spatial transformer: affine_grid and grid_sample with aligned corners and zeros outside, as the guide has it."""

from __future__ import annotations

from typing import Any

from portadnn.ops.spatial_sampler import SpatialTfSamplerBackward, SpatialTfSamplerForward
from portadnn.ops.spatial_transformer import SpatialTfGridGeneratorBackward, SpatialTfGridGeneratorForward

from ..base import DeviceInfo
from .way import CPU, Bound, Numbers, Tensors, Way, Ways, blended

_BILINEAR, _ZEROS, _ALIGNED = 0, 0, True


def _why_no_grid(problem: Any, info: DeviceInfo) -> str | None:
    if 1 in problem.grid_spec.dims[1:3]:
        return "PyTorch puts the only pixel of a size of 1 at 0, the guide at -1"
    return None


def _why_no_sample(problem: Any, info: DeviceInfo) -> str | None:
    return None if problem.x.size or not problem.x.dims[0] else "PyTorch samples no images without pixels"


def _why_no_gradients(problem: Any, info: DeviceInfo) -> str | None:
    if info.kind != CPU:
        return "on CUDA PyTorch adds the gradients of samples in any order: repeating gives other bits"
    return _why_no_sample(problem, info)


def _size(p: Any) -> list[int]:
    n, h, w, _ = p.grid_spec.dims
    return [n, 1, h, w]


def _grid(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    theta, size = t["theta"], _size(p)
    return lambda: {"grid": torch.nn.functional.affine_grid(theta, size, align_corners=_ALIGNED)}


def _theta(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    dgrid, size = t["dgrid"], _size(p)
    return lambda: {"dtheta": torch.ops.aten.affine_grid_generator_backward(dgrid, size, _ALIGNED)}


def _sample(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    x, grid, function = t["x"], t["grid"], torch.ops.aten.grid_sampler_2d
    return lambda: {"y": function(x, grid, _BILINEAR, _ZEROS, _ALIGNED)}


def _gradients(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    x, dy, grid, function = t["x"], t["dy"], t["grid"], torch.ops.aten.grid_sampler_2d_backward

    def run() -> Tensors:
        dx, dgrid = function(dy, x, grid, _BILINEAR, _ZEROS, _ALIGNED, [True, True])
        return {"dx": dx, "dgrid": dgrid}

    return run


WAYS: Ways = {
    SpatialTfGridGeneratorForward: Way(_grid, _why_no_grid),
    SpatialTfGridGeneratorBackward: Way(_theta, _why_no_grid),
    SpatialTfSamplerForward: Way(_sample, _why_no_sample, blends=blended("y")),
    SpatialTfSamplerBackward: Way(
        _gradients, _why_no_gradients, blends={**blended("dx"), "dgrid": ("alpha_dgrid", "beta_dgrid")}
    ),
}
