"""Poolings of PyTorch as problems; windows that hang over one end only, and dilated ones, are graphs or left out."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...enums import NanPropagation, PoolingMode, ReduceTensorOp
from ...graph.enums import resample_mode
from ...ops.pooling import PoolingBackward, PoolingForward
from ...ops.reduce import ReduceTensor
from ...shapes import pooling_output_dims
from .computation import (
    Apart,
    Arguments,
    Computation,
    LeftOut,
    Tensor,
    aten,
    data_type,
    images,
    pose,
    scratch,
    spec_of,
    tuple_of,
)
from .graphs import Attributes, graph_of

Geometry = dict[str, Any]  # window, stride, padding

_MAX: dict[str, Any] = {"mode": PoolingMode.MAX, "nan_propagation": NanPropagation.PROPAGATE_NAN}
_AVERAGES = {
    True: PoolingMode.AVERAGE_COUNT_INCLUDE_PADDING,
    False: PoolingMode.AVERAGE_COUNT_EXCLUDE_PADDING,
}


def _window(a: Arguments, spatial: int) -> Geometry:
    """Return window, stride and padding of an operator over `spatial` dims, for images of two at least."""
    if any(step != 1 for step in tuple_of(a.get("dilation", 1), spatial)):
        raise LeftOut("a dilated window, which cuDNN's pooling does not have")
    window = tuple_of(a["kernel_size"], spatial)
    stride = tuple_of(a["stride"] or window, spatial)
    found = {"window": window, "stride": stride, "padding": tuple_of(a["padding"], spatial)}
    if spatial == 1:
        found = {name: (0 if name == "padding" else 1, *values) for name, values in found.items()}
    return found


def _batched(x: Tensor, spatial: int) -> Tensor:
    """Return images with a batch and two spatial dims at least."""
    return images(x if x.dim() == spatial + 2 else x.unsqueeze(0), max(spatial, 2))


def _overhang(x: Tensor, y: Tensor, geometry: Geometry) -> tuple[int, ...]:
    """Return by how much windows reach beyond the padding at the far ends, as with ceil_mode."""
    wanted = pooling_output_dims(tuple(x.shape), **geometry)
    if wanted == tuple(y.shape):
        return (0,) * len(geometry["window"])
    found = []
    for axis, (window, stride, pad) in enumerate(zip(*geometry.values(), strict=True), start=2):
        found.append(max((y.shape[axis] - 1) * stride + window - x.shape[axis] - 2 * pad, 0))
    return tuple(found)


def _pool(
    x: Tensor, y: Tensor, geometry: Geometry, mode: dict[str, Any], numbers: dict[str, float]
) -> list[Computation]:
    over = _overhang(x, y, geometry)
    if not any(over):
        return [pose(PoolingForward, {"x": x, "y": y}, numbers, **mode, **geometry)]
    _check_overhang(mode, numbers)
    return [graph_of("resample", {"X": x}, {"Y": y}, _resampling(mode["mode"], geometry, over))]


def _check_overhang(mode: dict[str, Any], numbers: dict[str, float]) -> None:
    if numbers or mode["mode"] is PoolingMode.AVERAGE_COUNT_INCLUDE_PADDING:
        raise LeftOut("an average over windows that hang over the end (ceil_mode), which count a part of the padding")


def _resampling(mode: PoolingMode, geometry: Geometry, over: tuple[int, ...]) -> Attributes:
    """Return the attributes of a graph's node, which pads both ends differently."""
    kind = resample_mode.MAXPOOL if mode is PoolingMode.MAX else resample_mode.AVGPOOL_EXCLUDE_PADDING
    post = tuple(pad + more for pad, more in zip(geometry["padding"], over, strict=True))
    return (
        ("mode", kind),
        ("window", geometry["window"]),
        ("pre_padding", geometry["padding"]),
        ("post_padding", post),
        ("stride", geometry["stride"]),
    )


def _maximum(spatial: int) -> Any:
    def translate(a: Arguments, out: Any, compared: bool) -> list[Computation]:
        x, y = a["self"], out[0] if isinstance(out, (tuple, list)) else out
        return _pool(_batched(x, spatial), _batched(y, spatial), _window(a, spatial), _MAX, {})

    return translate


def _maximum_gradient(spatial: int) -> Any:
    functions = {2: torch.nn.functional.max_pool2d, 3: torch.nn.functional.max_pool3d}

    def translate(a: Arguments, out: Any, compared: bool) -> list[Computation]:
        x, dy, dx = (_batched(tensor, spatial) for tensor in (a["self"], a["grad_output"], out))
        geometry = _window(a, spatial)
        over = _overhang(x, dy, geometry)
        if any(over):
            attributes = _resampling(PoolingMode.MAX, geometry, over)
            return [graph_of("resample_backward", {"DY": dy, "X": x}, {"DX": dx}, attributes)]
        dims = tuple(dy.shape)
        y = scratch(data_type(x), dims, lambda: functions[spatial](x, *geometry.values()).contiguous())
        tensors = {"y": y, "dy": dy if dy.is_contiguous() else scratch(data_type(x), dims, dy.contiguous), "x": x}
        if dx.stride() != x.stride():
            return [pose(PoolingBackward, {**tensors, "x": _like(x), "dx": _like(dx)}, **_MAX, **geometry)]
        return [pose(PoolingBackward, {**tensors, "dx": dx}, **_MAX, **geometry)]

    return translate


def _like(tensor: Tensor) -> Any:
    """Return a packed copy: gradients have their tensors' strides in cuDNN."""
    return scratch(data_type(tensor), tuple(tensor.shape), tensor.contiguous)


def _averaging(a: Arguments, geometry: Geometry) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the mode, and the factor that makes another divisor of it."""
    divisor = a["divisor_override"]
    if divisor is None:
        return {"mode": _AVERAGES[bool(a["count_include_pad"])]}, {}
    return {"mode": _AVERAGES[True]}, {"alpha": math.prod(geometry["window"]) / divisor}


def _unpadded(a: Arguments, geometry: Geometry) -> Arguments:
    """Return the arguments of an average: where nothing is padded, windows that hang over count what is there."""
    if any(geometry["padding"]) or a["divisor_override"] is not None:
        return a
    return {**a, "count_include_pad": False}


def _average(spatial: int) -> Any:
    def translate(a: Arguments, out: Any, compared: bool) -> list[Computation]:
        geometry = _window(a, spatial)
        a = _unpadded(a, geometry)
        return _pool(_batched(a["self"], spatial), _batched(out, spatial), geometry, *_averaging(a, geometry))

    return translate


def _average_gradient(spatial: int) -> Any:
    def translate(a: Arguments, out: Any, compared: bool) -> list[Computation]:
        geometry = _window(a, spatial)
        a = _unpadded(a, geometry)
        x, dy, dx = (_batched(tensor, spatial) for tensor in (a["self"], a["grad_output"], out))
        mode, numbers = _averaging(a, geometry)
        over = _overhang(x, dy, geometry)
        if any(over):
            _check_overhang(mode, numbers)
            return [graph_of("resample_backward", {"DY": dy}, {"DX": dx}, _resampling(mode["mode"], geometry, over))]
        return [_average_backward(x, dy, dx, geometry, mode, numbers)]

    return translate


def _average_backward(
    x: Tensor, dy: Tensor, dx: Tensor, geometry: dict[str, Any], mode: dict[str, Any], numbers: dict[str, float]
) -> Computation:
    """Return the problem of an average's gradient, which reads neither x nor y: memory of no contents, and dy."""
    tensors = {"y": dy, "dy": dy, "x": Apart(spec_of(dx)), "dx": dx}
    return pose(PoolingBackward, tensors, numbers, **mode, **geometry)


for _dims in (1, 2, 3):
    aten("pooling", f"max_pool{_dims}d.default", f"max_pool{_dims}d_with_indices.default")(_maximum(_dims))
    aten("pooling", f"avg_pool{_dims}d.default")(_average(_dims))
for _dims in (2, 3):
    aten("pooling", f"max_pool{_dims}d_with_indices_backward.default")(_maximum_gradient(_dims))
    aten("pooling", f"avg_pool{_dims}d_backward.default")(_average_gradient(_dims))


# adaptive pooling, and means over images


def _adapted(x: Tensor, y: Tensor) -> Geometry:
    """Return the window of an adaptive pooling, where all have one size."""
    sizes, outputs = x.shape[2:], y.shape[2:]
    if any(size % count for size, count in zip(sizes, outputs, strict=True)):
        sizes_told, counts_told = ("x".join(map(str, found)) for found in (sizes, outputs))
        raise LeftOut(f"an adaptive pooling of {sizes_told} to {counts_told}, whose windows differ in size")
    window = tuple(size // count for size, count in zip(sizes, outputs, strict=True))
    return {"window": window, "stride": window, "padding": (0,) * len(window)}


def _adaptive(spatial: int, mode: dict[str, Any]) -> Any:
    def translate(a: Arguments, out: Any, compared: bool) -> list[Computation]:
        x, y = a["self"], out[0] if isinstance(out, (tuple, list)) else out
        x, y = _batched(x, spatial), _batched(y, spatial)
        return [pose(PoolingForward, {"x": x, "y": y}, **mode, **_adapted(x, y))]

    return translate


def _adaptive_gradient(spatial: int) -> Any:
    def translate(a: Arguments, out: Any, compared: bool) -> list[Computation]:
        x, dy, dx = (_batched(tensor, spatial) for tensor in (a["self"], a["grad_output"], out))
        return [_average_backward(x, dy, dx, _adapted(x, dy), {"mode": _AVERAGES[True]}, {})]

    return translate


for _dims in (2, 3):
    aten("pooling", f"_adaptive_avg_pool{_dims}d.default")(_adaptive(_dims, {"mode": _AVERAGES[True]}))
    aten("pooling", f"adaptive_max_pool{_dims}d.default")(_adaptive(_dims, _MAX))
    aten("pooling", f"_adaptive_avg_pool{_dims}d_backward.default")(_adaptive_gradient(_dims))


@aten("pooling", "mean.dim")
def _mean(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    """Translate the mean over all pixels, which is what an adaptive average pooling to one pixel becomes."""
    x, rank = a["self"], a["self"].dim()
    axes = {axis % rank for axis in a["dim"] or range(rank)}
    if rank not in (4, 5) or axes != set(range(2, rank)) or a["dtype"] not in (None, x.dtype):
        return []
    y = out if a["keepdim"] else out.view(*out.shape, *[1] * (rank - 2))
    return [pose(ReduceTensor, {"a": x, "c": y}, operation=ReduceTensorOp.AVG)]
