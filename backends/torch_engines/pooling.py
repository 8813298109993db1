"""Pooling: max_pool and avg_pool in two and three dims, and aten's gradients of them."""

from __future__ import annotations

from typing import Any

from portadnn.enums import NanPropagation, PoolingMode
from portadnn.ops.pooling import PoolingBackward, PoolingForward

from ..base import DeviceInfo
from .way import CPU, GPU, Bound, Numbers, Tensors, Way, Ways, blended, every


def _why_not(problem: Any, info: DeviceInfo) -> str | None:
    if any(2 * pad > size for pad, size in zip(problem.padding, problem.window, strict=True)):
        return "PyTorch pads by at most half a window"
    return None


def _why_not_gradient(problem: Any, info: DeviceInfo) -> str | None:
    reason = _why_not(problem, info)
    if reason is not None or info.kind == CPU:
        return reason
    overlaps = any(step < size for step, size in zip(problem.stride, problem.window, strict=True))
    gathers = problem.mode is not PoolingMode.MAX and (len(problem.window) == 2 or set(problem.stride) == {1})
    if overlaps and not gathers:
        return "on CUDA PyTorch adds the gradients of overlapping windows in any order: repeating gives other bits"
    return None


def _comparable(torch: Any, p: Any, x: Any, nan: float) -> Any:
    """Return x as the guide's maximum sees it: nothing is below the lowest number, NaN is `nan` unless it propagates.

    PyTorch's own maximum always propagates NaN.
    """
    lowest = p.x.dtype.limits.lowest
    if p.nan_propagation is NanPropagation.PROPAGATE_NAN:
        return x.clamp(min=lowest)
    return torch.nan_to_num(x, nan=nan, posinf=torch.inf, neginf=lowest)


def _includes(p: Any) -> bool:
    return p.mode is PoolingMode.AVERAGE_COUNT_INCLUDE_PADDING


def _forward(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    functional, flat = torch.nn.functional, len(p.window) == 2
    x, window = t["x"], (p.window, p.stride, p.padding)
    if p.mode is PoolingMode.MAX:
        maximum = functional.max_pool2d if flat else functional.max_pool3d
        pixels = _comparable(torch, p, x, p.x.dtype.limits.lowest)
        return lambda: {"y": maximum(pixels, *window)}
    average = functional.avg_pool2d if flat else functional.avg_pool3d
    return lambda: {"y": average(x, *window, False, _includes(p))}


def _backward(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    functional, aten, flat = torch.nn.functional, torch.ops.aten, len(p.window) == 2
    x, dy, window = t["x"], t["dy"], (p.window, p.stride, p.padding)
    if p.mode is PoolingMode.MAX:
        maximum = functional.max_pool2d if flat else functional.max_pool3d
        backward = aten.max_pool2d_with_indices_backward if flat else aten.max_pool3d_with_indices_backward
        pixels = _comparable(torch, p, x, -torch.inf)
        most, indices = maximum(pixels, *window, return_indices=True)
        dy = dy.masked_fill(most == -torch.inf, 0)  # of only NaN
        return lambda: {"dx": backward(dy, x, *window, [1] * len(p.window), False, indices)}
    average = aten.avg_pool2d_backward if flat else aten.avg_pool3d_backward
    return lambda: {"dx": average(dy, x, *window, False, _includes(p), None)}


WAYS: Ways = {
    PoolingForward: Way(_forward, _why_not, every(GPU), blended("y")),
    PoolingBackward: Way(_backward, _why_not_gradient, blends=blended("dx")),
}
