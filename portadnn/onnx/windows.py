"""Convolutions and poolings of ONNX: padding that differs at both ends is a copy, odd windows are gathered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import portadnn as dnn

from .table import Array, Node, floats, onnx_operator

Ends = list[tuple[int, int]]


def _sizes(node: Node, spatial: int, name: str, usual: int = 1) -> tuple[int, ...]:
    return tuple(node.get(name) or (usual,) * spatial)


def _pads(
    node: Node, sizes: Sequence[int], window: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Ends:
    """Return the padding before and behind each dim."""
    mode = node.get("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        pads = node.get("pads") or (0,) * (2 * len(sizes))
        return list(zip(pads[: len(sizes)], pads[len(sizes) :], strict=True))
    if mode == "VALID":
        return [(0, 0)] * len(sizes)
    found = []
    for size, reach, step, spread in zip(sizes, window, stride, dilation, strict=True):
        total = max((-(-size // step) - 1) * step + (reach - 1) * spread + 1 - size, 0)
        less, more = total // 2, total - total // 2
        found.append((more, less) if mode == "SAME_LOWER" else (less, more))
    return found


def _padded(x: Array, pads: Ends, value: float = 0.0) -> Array:
    return np.pad(x, [(0, 0), (0, 0), *pads], constant_values=x.dtype.type(value))


def _raised(x: Array) -> Array:
    """Return images of a height where there is one dim only."""
    return x[:, :, None] if x.ndim == 3 else x


def _two(values: Sequence[int], usual: int) -> tuple[int, ...]:
    return (usual, *values) if len(values) == 1 else tuple(values)


@onnx_operator("Conv")
def _conv(node: Node, x: Array, w: Array, bias: Array | None = None) -> Array:
    spatial = x.ndim - 2
    stride, dilation = _sizes(node, spatial, "strides"), _sizes(node, spatial, "dilations")
    pads = _pads(node, x.shape[2:], w.shape[2:], stride, dilation)
    padding = tuple(first for first, _ in pads)
    if any(first != last for first, last in pads):
        x, padding = _padded(x, pads), (0,) * spatial
    conv = dnn.ConvolutionDescriptor(
        padding=_two(padding, 0), stride=_two(stride, 1), dilation=_two(dilation, 1), groups=node.get("group", 1)
    )
    y = dnn.convolution_forward(node.handle, node.put(_raised(x)), node.put(_raised(w)), conv)
    if bias is not None:
        dnn.add_tensor(node.handle, node.put(bias.reshape(1, -1, *[1] * max(spatial, 2))), y)
    found = node.take(y)
    return found[:, :, 0] if spatial == 1 else found


@onnx_operator("ConvTranspose")
def _conv_transpose(node: Node, x: Array, w: Array, bias: Array | None = None) -> Array:
    spatial, groups = x.ndim - 2, node.get("group", 1)
    stride, dilation = _sizes(node, spatial, "strides"), _sizes(node, spatial, "dilations")
    more = _sizes(node, spatial, "output_padding", 0)
    reach = [(size - 1) * spread + 1 for size, spread in zip(w.shape[2:], dilation, strict=True)]
    full = [(size - 1) * step + span for size, step, span in zip(x.shape[2:], stride, reach, strict=True)]
    pads = _transposed_pads(node, x.shape[2:], stride, [a + b for a, b in zip(full, more, strict=True)])
    conv = dnn.ConvolutionDescriptor(
        padding=(0,) * max(spatial, 2), stride=_two(stride, 1), dilation=_two(dilation, 1), groups=groups
    )
    dims = (x.shape[0], w.shape[1] * groups, *_two(full, 1))
    dx = node.handle.empty(dims, x.dtype)
    found = node.take(dnn.convolution_backward_data(node.handle, node.put(_raised(w)), node.put(_raised(x)), conv, dx))
    if spatial == 1:
        found = found[:, :, 0]
    found = np.pad(found, [(0, 0), (0, 0), *((0, extra) for extra in more)])
    ends = [slice(first, size + extra - last) for (first, last), size, extra in zip(pads, full, more, strict=True)]
    cropped = (slice(None), slice(None), *ends)
    found = found[cropped]
    for axis, (first, last) in enumerate(pads):  # negative padding, which makes the output larger
        grown = [(0, 0)] * found.ndim
        grown[axis + 2] = (max(-first, 0), max(-last, 0))
        found = np.pad(found, grown)
    return found if bias is None else node.call(_added, found, bias.reshape(1, -1, *[1] * spatial))


def _added(handle: Any, a: Any, b: Any) -> Any:
    return dnn.op_tensor(handle, "ADD", a, b)


def _transposed_pads(node: Node, sizes: Sequence[int], stride: Sequence[int], full: Sequence[int]) -> Ends:
    mode, shape = node.get("auto_pad", "NOTSET"), node.get("output_shape")
    if shape is None and mode in ("SAME_UPPER", "SAME_LOWER"):
        shape = [size * step for size, step in zip(sizes, stride, strict=True)]
    if shape is None:
        return _pads(node, sizes, (1,) * len(sizes), stride, (1,) * len(sizes))
    found = []
    for size, wanted in zip(full, shape, strict=True):
        total = size - wanted
        less, more = total // 2, total - total // 2
        found.append((less, more) if mode == "SAME_UPPER" else (more, less))
    return found


# pooling


def _geometry(node: Node, x: Array) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], Ends, list[int]]:
    """Return window, stride, dilation, padding and the sizes of the output."""
    spatial = x.ndim - 2
    window, stride = tuple(node.get("kernel_shape")), _sizes(node, spatial, "strides")
    dilation = _sizes(node, spatial, "dilations")
    pads = _pads(node, x.shape[2:], window, stride, dilation)
    sizes = []
    for size, (first, last), reach, step, spread in zip(x.shape[2:], pads, window, stride, dilation, strict=True):
        room = size + first + last - (reach - 1) * spread - 1
        count = (-(-room // step) if node.get("ceil_mode", 0) else room // step) + 1
        if node.get("ceil_mode", 0) and (count - 1) * step >= size + first:
            count -= 1  # a window that begins in the padding behind
        sizes.append(count)
    return window, stride, dilation, pads, sizes


def _gathered(x: Array, value: float, geometry: Any) -> Array:
    """Return every window's numbers, (n * c, outputs, window, 1); `value` stands for what is outside."""
    window, stride, dilation, pads, sizes = geometry
    grown = []
    for size, (first, last), reach, step, spread, count in zip(
        x.shape[2:], pads, window, stride, dilation, sizes, strict=True
    ):
        needed = (count - 1) * step + (reach - 1) * spread + 1
        grown.append((first, max(last, needed - size - first)))
    whole = _padded(x, grown, value)
    axes = tuple(range(2, x.ndim))
    spans = [(reach - 1) * spread + 1 for reach, spread in zip(window, dilation, strict=True)]
    views = np.lib.stride_tricks.sliding_window_view(whole, spans, axes)
    starts = [slice(0, (count - 1) * step + 1, step) for count, step in zip(sizes, stride, strict=True)]
    inner = [slice(None, None, spread) for spread in dilation]
    chosen = (slice(None), slice(None), *starts, *inner)
    found: Array = views[chosen]
    return found.reshape(x.shape[0] * x.shape[1], math.prod(sizes), math.prod(window), 1)


def _plain(x: Array, geometry: Any) -> bool:
    window, stride, dilation, pads, sizes = geometry
    wanted = [
        (size + 2 * first - reach) // step + 1
        for size, (first, _), reach, step in zip(x.shape[2:], pads, window, stride, strict=True)
    ]
    return all(first == last for first, last in pads) and set(dilation) == {1} and wanted == sizes


def _pool(node: Node, x: Array, geometry: Any, mode: str) -> Array:
    window, stride, _, pads, _ = geometry
    pooling = dnn.PoolingDescriptor(
        dnn.PoolingMode.parse(mode, "mode"),
        _two(window, 1),
        padding=_two([first for first, _ in pads], 0),
        stride=_two(stride, 1),
        nan_propagation=dnn.NanPropagation.PROPAGATE_NAN,
    )
    found = node.call(dnn.pooling_forward, _raised(x), pooling)
    return found[:, :, 0] if x.ndim == 3 else found


def _reduced(node: Node, operation: str, windows: Array, dims: tuple[int, ...]) -> Array:
    reduce = dnn.ReduceTensorDescriptor(dnn.ReduceTensorOp.parse(operation, "op"))
    out = node.handle.empty((*windows.shape[:2], 1, 1), windows.dtype)
    found = dnn.reduce_tensor(node.handle, reduce, node.put(windows), out)
    return node.take(found[0] if isinstance(found, tuple) else found).reshape(dims)


@onnx_operator("MaxPool")
def _max_pool(node: Node, x: Array) -> Any:
    kind, x = x.dtype, floats(x)
    geometry = _geometry(node, x)
    dims = (*x.shape[:2], *geometry[-1])
    if _plain(x, geometry) and len(node.wanted) == 1:
        return _pool(node, x, geometry, "MAX").astype(kind)
    lowest = float(np.finfo(x.dtype).min) if x.dtype.kind == "f" else -np.inf
    windows = _gathered(x, lowest, geometry)
    y = _reduced(node, "MAX", windows, dims).astype(kind)
    if len(node.wanted) == 1:
        return y
    return y, _places(node, x, windows, geometry).reshape(dims)


def _places(node: Node, x: Array, windows: Array, geometry: Any) -> Array:
    """Return where each maximum is among all numbers of x."""
    numbers = np.arange(math.prod(x.shape[2:]), dtype=np.float64)
    shape = x.shape[2:]
    if node.get("storage_order", 0):
        numbers = np.ascontiguousarray(numbers.reshape(shape[::-1]).transpose()).reshape(-1)
    where = _gathered(numbers.reshape(1, 1, *shape), -1, geometry)[0, :, :, 0].astype(np.int64)
    best = windows[..., 0].argmax(2)
    place = where[np.arange(where.shape[0])[None], best]
    planes = np.arange(windows.shape[0])[:, None] * math.prod(shape)
    found: Array = (place + planes).astype(np.int64)
    return found


@onnx_operator("AveragePool")
def _average_pool(node: Node, x: Array) -> Array:
    geometry, counts = _geometry(node, x), bool(node.get("count_include_pad", 0))
    if _plain(x, geometry):
        return _pool(node, x, geometry, f"AVERAGE_COUNT_{'INCLUDE' if counts else 'EXCLUDE'}_PADDING")
    dims = (*x.shape[:2], *geometry[-1])
    sums = _reduced(node, "ADD", _gathered(x, 0, geometry), dims)
    there = np.ones((1, 1, *x.shape[2:]))
    pads = geometry[3]
    if counts:
        there = _padded(there, pads, 1.0)
        geometry = (*geometry[:3], [(0, 0)] * len(pads), geometry[-1])
    count = _gathered(there, 0, geometry).sum((2, 3)).reshape(1, 1, *dims[2:])
    return node.call(_product, sums, (1 / count).astype(x.dtype))


def _product(handle: Any, a: Any, b: Any) -> Any:
    return dnn.op_tensor(handle, "MUL", a, b)


@onnx_operator("LpPool")
def _lp_pool(node: Node, x: Array) -> Array:
    power = node.get("p", 2)
    if power not in (1, 2, 4):
        raise node.refuse(f"p={power}; cuDNN's reductions have 1 and 2, of squares 4")
    geometry = _geometry(node, x)
    windows, dims = _gathered(x, 0, geometry), (*x.shape[:2], *geometry[-1])
    if power < 4:
        return _reduced(node, f"NORM{power}", windows, dims)
    found = _reduced(node, "NORM2", node.call(dnn.op_tensor, "MUL", windows, windows), dims)
    return node.call(dnn.op_tensor, "SQRT", found.reshape(1, -1, 1)).reshape(dims)


@onnx_operator("GlobalAveragePool", "GlobalMaxPool")
def _global_pool(node: Node, x: Array) -> Array:
    flat = x.reshape(*x.shape[:2], -1, 1)
    operation = "AVG" if node.op == "GlobalAveragePool" else "MAX"
    return _reduced(node, operation, flat, (*x.shape[:2], *[1] * (x.ndim - 2)))
