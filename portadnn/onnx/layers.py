"""Normalisations, softmax, activations, arithmetic, reductions, products and sampling of ONNX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import portadnn as dnn

from .table import Array, Node, floats, onnx_operator

KEEPS_NAN = dnn.NanPropagation.PROPAGATE_NAN


def _accumulated(array: Array, x: Array, dims: Sequence[int]) -> Array:
    """Return a parameter in the type that problems have it in."""
    kind = np.float64 if x.dtype == np.float64 else np.float32
    return np.ascontiguousarray(array.astype(kind).reshape(dims))


# normalisations


@onnx_operator("BatchNormalization")
def _batch_norm(node: Node, x: Array, scale: Array, bias: Array, mean: Array, variance: Array) -> Any:
    dims = (1, x.shape[1], *[1] * max(x.ndim - 2, 2))
    images = x.reshape(*x.shape, *[1] * max(4 - x.ndim, 0))
    scale, bias, mean, variance = (_accumulated(one, x, dims) for one in (scale, bias, mean, variance))
    epsilon = float(node.get("epsilon", 1e-5))
    how: dict[str, Any] = {"epsilon": epsilon}
    if not node.get("training_mode", 0):
        function = dnn.batch_normalization_forward_inference
        return node.call(function, images, scale, bias, mean, variance, **how).reshape(x.shape)
    saved = [node.handle.empty(dims, scale.dtype) for _ in range(2)]
    y = node.handle.empty(images.shape, x.dtype)
    x_, scale_, bias_ = (node.put(one) for one in (images, scale, bias))
    mean_, deviation_ = saved
    dnn.batch_normalization_forward_training(
        node.handle, x_, scale_, bias_, y, saved_mean=mean_, saved_inv_variance=deviation_, **how
    )
    found_mean, deviation = (node.take(one) for one in saved)
    keeps = float(node.get("momentum", 0.9))
    found_variance = 1 / deviation.astype(np.float64) ** 2 - epsilon  # ONNX keeps the biased one
    running = [
        (old * keeps + new * (1 - keeps)).astype(x.dtype).reshape(-1)
        for old, new in ((mean, found_mean), (variance, found_variance))
    ]
    return node.take(y).reshape(x.shape), *running


def _normalize(node: Node, x: Array, scale: Array | None, bias: Array | None, **options: Any) -> Array:
    given = [None if one is None else node.put(one) for one in (scale, bias)]
    y = dnn.normalization_forward(node.handle, node.put(x), *given, epsilon=float(node.get("epsilon", 1e-5)), **options)
    return node.take(y)


@onnx_operator("InstanceNormalization")
def _instance_norm(node: Node, x: Array, scale: Array, bias: Array) -> Array:
    dims = (1, x.shape[1], *[1] * (x.ndim - 2))
    return _normalize(node, x, _accumulated(scale, x, dims), _accumulated(bias, x, dims), mode="INSTANCE_NORM")


@onnx_operator("GroupNormalization")
def _group_norm(node: Node, x: Array, scale: Array, bias: Array) -> Array:
    dims, groups = (1, x.shape[1], *[1] * (x.ndim - 2)), node.get("num_groups")
    if scale.size == groups:  # before opset 21
        scale, bias = (np.repeat(one, x.shape[1] // groups) for one in (scale, bias))
    scale, bias = _accumulated(scale, x, dims), _accumulated(bias, x, dims)
    return _normalize(node, x, scale, bias, mode="GROUP_NORM", groups=groups)


@onnx_operator("LayerNormalization", "RMSNormalization")
def _layer_norm(node: Node, x: Array, scale: Array, bias: Array | None = None) -> Any:
    axis = node.axis(node.get("axis", -1), x.ndim)
    outer, inner = x.shape[:axis], x.shape[axis:]
    rows = x.reshape(1, math.prod(outer), math.prod(inner))
    dims = (1, 1, math.prod(inner))
    scale = _accumulated(np.broadcast_to(scale, inner), x, dims)
    bias = None if bias is None else _accumulated(np.broadcast_to(bias, inner), x, dims)
    if node.op == "RMSNormalization":
        return _normalize(node, rows, scale, bias, mode="RMS_NORM", axis=2).reshape(x.shape)
    statistics = [node.handle.empty((1, rows.shape[1], 1), scale.dtype) for _ in range(2)]
    given = [node.put(rows), node.put(scale), None if bias is None else node.put(bias), None, *statistics]
    y = dnn.normalization_forward(node.handle, *given, axis=2, epsilon=float(node.get("epsilon", 1e-5)))
    found = [node.take(one).reshape(*outer, *[1] * len(inner)) for one in statistics]
    return node.take(y).reshape(x.shape), *found


@onnx_operator("LRN")
def _lrn(node: Node, x: Array) -> Array:
    size = node.get("size")
    if size % 2 == 0:
        raise node.refuse(f"a window of {size} channels; portadnn and ONNX place even ones differently")
    numbers = (node.get("alpha", 1e-4), node.get("beta", 0.75), node.get("bias", 1.0))
    return node.call(dnn.lrn_cross_channel_forward, x, dnn.LRNDescriptor(size, *map(float, numbers)))


# softmax


@onnx_operator("Softmax", "LogSoftmax")
def _softmax(node: Node, x: Array) -> Array:
    axis = node.axis(node.get("axis", -1 if node.opset >= 13 else 1), x.ndim)
    last = x.shape[axis + 1 :] if node.opset >= 13 else ()
    count = x.shape[axis] if node.opset >= 13 else math.prod(x.shape[axis:])
    dims = (math.prod(x.shape[:axis]), count, math.prod(last))
    algorithm = "LOG" if node.op == "LogSoftmax" else "ACCURATE"
    return node.call(dnn.softmax_forward, x.reshape(dims), algorithm=algorithm).reshape(x.shape)


# activations


def _activate(node: Node, x: Array, mode: str, **options: float) -> Array:
    descriptor = dnn.ActivationDescriptor(dnn.ActivationMode.parse(mode, "mode"), KEEPS_NAN, **options)
    return node.call(dnn.activation_forward, x.reshape(1, -1, 1), descriptor).reshape(x.shape)


@onnx_operator("Relu", "Sigmoid", "Tanh")
def _simple(node: Node, x: Array) -> Array:
    return _activate(node, x, node.op.upper())


@onnx_operator("Elu")
def _elu(node: Node, x: Array) -> Array:
    return _activate(node, x, "ELU", coef=float(node.get("alpha", 1.0)))


@onnx_operator("Swish")
def _swish(node: Node, x: Array) -> Array:
    return _activate(node, x, "SWISH", coef=float(node.get("alpha", 1.0)))


# arithmetic


def binary(node: Node, operation: str, a: Array, b: Array, **factors: float) -> Array:
    """Return op(a, b), broadcast as in NumPy."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    kind = a.dtype
    rank = max(len(shape), 3)
    dims = (1,) * (rank - len(shape)) + shape
    a = np.broadcast_to(floats(a), shape).reshape(dims)
    b = floats(b).reshape((1,) * (rank - b.ndim) + b.shape)
    if not a.size:
        return np.zeros(shape, kind)
    if rank > 8:
        raise node.refuse(f"tensors of {rank} dims; 8 at most")
    how = dnn.OpTensorDescriptor(dnn.OpTensorOp.parse(operation, "op"), nan_propagation=KEEPS_NAN)
    return (
        node.call(lambda handle, *given: dnn.op_tensor(handle, how, *given, **factors), a, b)
        .astype(kind)
        .reshape(shape)
    )


_BINARY = {"Add": "ADD", "Mul": "MUL", "Sub": "ADD"}


_EXACT = 2**53  # whole numbers up to here are float64's


def _whole(node: Node, operation: str, a: Array, b: Array, **factors: float) -> Array:
    """Return op(a, b) of whole numbers, computed in float64 where that is exact; results wrap around as ONNX's do."""
    most = [max((abs(int(x.max())), abs(int(x.min()))) if x.size else (0,)) for x in (a, b)]
    if max(most[0] * most[1] if operation == "MUL" else sum(most), *most) > _EXACT:
        raise node.refuse(f"numbers of {a.dtype} beyond 2**53, which float64 does not hold")
    found = binary(node, operation, a.astype(np.float64), b.astype(np.float64), **factors)
    return found.astype(np.int64).astype(a.dtype)


@onnx_operator("Add", "Sub", "Mul")
def _arithmetic(node: Node, a: Array, b: Array) -> Array:
    call = binary if a.dtype.kind == "f" or a.dtype.name == "bfloat16" else _whole
    return call(node, _BINARY[node.op], a, b, **({"alpha2": -1.0} if node.op == "Sub" else {}))


@onnx_operator("Max", "Min", "Sum", "Mean")
def _several(node: Node, *given: Array) -> Array:
    call = _whole if given[0].dtype.kind in "iu" else binary
    operation = {"Max": "MAX", "Min": "MIN"}.get(node.op, "ADD")
    found = given[0]
    for other in given[1:]:
        found = call(node, operation, found, other)
    if node.op == "Mean":
        found = binary(node, "MUL", found, np.full((1,) * found.ndim, 1 / len(given), found.dtype))
    return found


@onnx_operator("Sqrt")
def _sqrt(node: Node, x: Array) -> Array:
    return node.call(lambda handle, a: dnn.op_tensor(handle, "SQRT", a), x.reshape(1, -1, 1)).reshape(x.shape)


# reductions

_REDUCTIONS = {
    "ReduceSum": "ADD",
    "ReduceMean": "AVG",
    "ReduceMax": "MAX",
    "ReduceMin": "MIN",
    "ReduceProd": "MUL",
    "ReduceL1": "NORM1",
    "ReduceL2": "NORM2",
}


@onnx_operator(*_REDUCTIONS)
def _reduce(node: Node, x: Array, axes: Array | None = None) -> Array:
    kind = x.dtype
    operation = _REDUCTIONS[node.op]
    if kind.kind not in "fui" + "b" * (operation in ("MAX", "MIN")) or (kind.kind != "f" and kind.itemsize > 4):
        raise node.refuse(f"numbers of {kind}")
    chosen = node.get("axes") if axes is None else axes.tolist()
    if not chosen and node.get("noop_with_empty_axes", 0):
        return x
    reduced = {node.axis(axis, x.ndim) for axis in chosen} if chosen else set(range(x.ndim))
    kept = tuple(1 if axis in reduced else size for axis, size in enumerate(x.shape))
    shape = kept if node.get("keepdims", 1) else tuple(s for axis, s in enumerate(x.shape) if axis not in reduced)
    front = (1,) * max(3 - x.ndim, 0)
    if not x.size:
        return np.full(shape, _of_nothing(node, operation, kind), kind)
    out = node.handle.empty((*front, *kept), floats(x).dtype)
    reduce = dnn.ReduceTensorDescriptor(dnn.ReduceTensorOp.parse(operation, "op"), nan_propagation=KEEPS_NAN)
    found = dnn.reduce_tensor(node.handle, reduce, node.put(floats(x).reshape(*front, *x.shape)), out)
    return node.take(found[0] if isinstance(found, tuple) else found).astype(kind).reshape(shape)


def _of_nothing(node: Node, operation: str, kind: Any) -> Any:
    """Return what a reduction begins with."""
    if operation == "AVG":
        raise node.refuse("a mean of nothing")
    if operation not in ("MAX", "MIN"):
        return 1 if operation == "MUL" else 0
    if kind.kind == "f":
        return -np.inf if operation == "MAX" else np.inf
    lowest, highest = (False, True) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
    return lowest if operation == "MAX" else highest


# products


def product(node: Node, a: Array, b: Array) -> Array:
    """Return a @ b of matrices, as a convolution of one pixel."""
    conv = dnn.ConvolutionDescriptor(padding=(0, 0))
    w = np.ascontiguousarray(b.T)[:, :, None, None]
    return node.call(dnn.convolution_forward, a[:, :, None, None], w, conv)[:, :, 0, 0]


@onnx_operator("MatMul")
def _matmul(node: Node, a: Array, b: Array) -> Array:
    if a.dtype.kind != "f":
        raise node.refuse(f"numbers of {a.dtype}")
    left, right = a.ndim == 1, b.ndim == 1
    a, b = (a[None] if left else a), (b[:, None] if right else b)
    outer = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    many_a = np.broadcast_to(a, (*outer, *a.shape[-2:])).reshape(-1, *a.shape[-2:])
    many_b = np.broadcast_to(b, (*outer, *b.shape[-2:])).reshape(-1, *b.shape[-2:])
    found = [product(node, one, other) for one, other in zip(many_a, many_b, strict=True)]
    whole = np.stack(found).reshape(*outer, a.shape[-2], b.shape[-1])
    whole = whole[..., 0, :] if left else whole
    return whole[..., 0] if right else whole


@onnx_operator("Gemm")
def _gemm(node: Node, a: Array, b: Array, c: Array | None = None) -> Array:
    a, b = (one.T if node.get(flag, 0) else one for one, flag in ((a, "transA"), (b, "transB")))
    found = product(node, a, b)
    alpha, beta = float(node.get("alpha", 1.0)), float(node.get("beta", 1.0))
    if c is None:
        return binary(node, "MUL", found, np.full((1, 1), alpha, found.dtype)) if alpha != 1 else found
    return binary(node, "ADD", found, c, alpha1=alpha, alpha2=beta)


# the rest


@onnx_operator("Dropout")
def _dropout(node: Node, x: Array, ratio: Array | None = None, training: Array | None = None) -> Any:
    chance = float(node.get("ratio", 0.5) if ratio is None else ratio)
    if training is not None and bool(training) and chance:
        raise node.refuse("training, whose random numbers no two libraries share")
    return x, np.ones(x.shape, bool)


@onnx_operator("Identity")
def _identity(node: Node, x: Any) -> Array:
    if not isinstance(x, (np.ndarray, np.generic)):
        raise node.refuse("what is no tensor")
    return np.asarray(x)


def _within(place: Array, size: int, padding: str, corners: int) -> Array:
    """Return where outside of an image is taken from, in pixels."""
    if padding == "reflection":
        first, span = (0.0, size - 1.0) if corners else (-0.5, float(size))
        turned = np.mod(place - first, 2 * span)
        place = np.where(turned > span, 2 * span - turned, turned) + first
    return np.clip(place, 0, size - 1) if padding in ("border", "reflection") else place


@onnx_operator("GridSample")
def _grid_sample(node: Node, x: Array, grid: Array) -> Array:
    mode, padding, corners = node.get("mode", "linear"), node.get("padding_mode", "zeros"), node.get("align_corners", 0)
    if mode not in ("linear", "bilinear", "nearest") or x.ndim != 4:
        raise node.refuse("another sampling than bilinear or nearest of images")
    if min(x.shape[2:]) < 2:
        raise node.refuse("images of one pixel")
    axes = []
    for axis, size in enumerate(x.shape[:1:-1]):
        place = grid[..., axis].astype(np.float64) + 1
        place = place / 2 * (size - 1) if corners else (place * size - 1) / 2
        place = _within(np.rint(place) if mode == "nearest" else place, size, padding, corners)
        axes.append(place * 2 / (size - 1) - 1)  # cuDNN's -1 and 1 are the outermost pixels' centres
    how = dnn.SpatialTransformerDescriptor((*x.shape[:2], *grid.shape[1:3]))
    return node.call(dnn.spatial_tf_sampler_forward, x, np.stack(axes, -1).astype(x.dtype), how)
