"""The definitions once more, one element at a time in plain Python: what the reference backend is checked against.

Shares nothing with ``backends/reference/definitions``. Slow, so for small tensors only.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from portadnn.enums import ConvolutionMode, DataType, NanPropagation, PoolingMode

LOWEST = {
    DataType.HALF: -65504.0,
    DataType.BFLOAT16: -(2 - 2**-7) * 2.0**127,
    DataType.FLOAT: -(2 - 2**-23) * 2.0**127,
    DataType.DOUBLE: -(2 - 2**-52) * 2.0**1023,
}


def grid(sizes):
    return itertools.product(*map(range, sizes))


def evaluate(problem, tensors, scalars):
    """Return the output of a problem, as ``reference_ops.evaluate`` does."""
    numbers = dict(zip(problem.scalars, scalars, strict=True))
    inputs = [np.asarray(t, np.float64) for t in tensors[: len(problem.inputs)]]
    prior = np.asarray(tensors[-1], np.float64)
    out = np.zeros(prior.shape)
    if problem.op == "set_tensor":
        out[...] = numbers["value"]
        return out
    if problem.op == "scale_tensor":
        return prior * numbers["alpha"]
    result = globals()[problem.op](problem, numbers, *inputs)
    for index in grid(out.shape):
        value = numbers.get("alpha", 1.0) * float(result[index])
        out[index] = value + numbers["beta"] * float(prior[index]) if numbers.get("beta") else value
    return out


def transform_tensor(problem, numbers, x):
    return x


def _pick(a, index):
    return float(a[tuple(0 if d == 1 else i for d, i in zip(a.shape, index, strict=True))])


def add_tensor(problem, numbers, a):
    out = np.empty(problem.c.dims)
    for index in grid(out.shape):
        out[index] = _pick(a, index)
    return out


def op_tensor(problem, numbers, a, b):
    out = np.empty(problem.c.dims)
    for index in grid(out.shape):
        u, v = numbers["alpha1"] * float(a[index]), numbers["alpha2"] * _pick(b, index)
        name = problem.operation.name
        root = math.sqrt(u) if u >= 0 else math.nan
        values = {"ADD": u + v, "MUL": u * v, "MIN": v if v < u else u, "MAX": v if v > u else u}
        out[index] = {**values, "SQRT": root, "NOT": 1 - u}[name]
    return out


def _activate(problem, v, name):
    if name == "IDENTITY":
        return v
    if name == "SIGMOID":
        return 1 / (1 + math.exp(-v)) if v >= 0 else math.exp(v) / (1 + math.exp(v))
    if name == "TANH":
        return math.tanh(v)
    if name == "RELU":
        return v if v > 0 else 0.0
    if name == "ELU":
        return v if v > 0 else problem.coef * math.expm1(v)
    if name == "SWISH":
        return v / (1 + math.exp(-problem.coef * v))
    return problem.ceiling if v > problem.ceiling else (v if v > 0 else 0.0)


def activation_forward(problem, numbers, x):
    return np.array([_activate(problem, float(v), problem.mode.name) for v in x.ravel()]).reshape(x.shape)


def activation_backward(problem, numbers, y, dy, x):
    out = np.empty(x.shape)
    for index in grid(x.shape):
        u, v = float(y[index]), float(x[index])
        gate = 1 / (1 + math.exp(-problem.coef * v))
        slope = {
            "IDENTITY": 1.0,
            "ELU": 1.0 if u > 0 else u + problem.coef,
            "SWISH": gate * (1 + problem.coef * v * (1 - gate)),
            "SIGMOID": u * (1 - u),
            "TANH": 1 - u * u,
            "RELU": 1.0 if v > 0 else 0.0,
            "CLIPPED_RELU": 1.0 if 0 < v <= problem.ceiling else 0.0,
        }[problem.mode.name]
        out[index] = float(dy[index]) * slope
    return out


def _runs(problem, dims):
    """Lists of the indices that one softmax normalises."""
    if problem.mode.name == "INSTANCE":
        return [[(n, *rest) for rest in grid(dims[1:])] for n in range(dims[0])]
    return [[(n, c, *place) for c in range(dims[1])] for n in range(dims[0]) for place in grid(dims[2:])]


def softmax_forward(problem, numbers, x):
    out = np.empty(x.shape)
    for run in _runs(problem, x.shape):
        top = max((float(x[i]) for i in run), default=0.0)
        total = math.fsum(math.exp(float(x[i]) - top) for i in run)
        for i in run:
            shifted = float(x[i]) - top
            out[i] = shifted - math.log(total) if problem.algorithm.name == "LOG" else math.exp(shifted) / total
    return out


def softmax_backward(problem, numbers, y, dy):
    out = np.empty(y.shape)
    log = problem.algorithm.name == "LOG"
    for run in _runs(problem, y.shape):
        for i in run:  # row i of the Jacobian times dy
            terms = []
            for j in run:
                p_i, same = (math.exp(y[i]) if log else float(y[i])), 1.0 if i == j else 0.0
                slope = same - p_i if log else p_i * (same - float(y[j]))
                terms.append(slope * float(dy[j]))
            out[i] = math.fsum(terms)
    return out


def _products(problem):
    """Every multiplication of a convolution: indices into the image, the filter and the result."""
    image, filter, result = problem.image.dims, problem.filter.dims, problem.result.dims
    per_group = filter[0] // problem.groups
    for n, k, c, place, tap in itertools.product(
        range(result[0]), range(filter[0]), range(filter[1]), list(grid(result[2:])), list(grid(filter[2:]))
    ):
        pixel = tuple(
            p * stride - pad + r * dilation
            for p, r, stride, pad, dilation in zip(
                place, tap, problem.stride, problem.padding, problem.dilation, strict=True
            )
        )
        if any(not 0 <= i < size for i, size in zip(pixel, image[2:], strict=True)):
            continue
        if problem.mode is ConvolutionMode.CONVOLUTION:
            tap = tuple(size - 1 - r for r, size in zip(tap, filter[2:], strict=True))
        yield (n, k // per_group * filter[1] + c, *pixel), (k, c, *tap), (n, k, *place)


def convolution_forward(problem, numbers, x, w):
    y = np.zeros(problem.y.dims)
    for i, j, o in _products(problem):
        y[o] += x[i] * w[j]
    return y


def convolution_bias_activation_forward(problem, numbers, x, w, z, bias):
    y = convolution_forward(problem, numbers, x, w)
    for index in grid(y.shape):
        v = numbers["alpha1"] * y[index] + float(bias[(0, index[1], *[0] * (y.ndim - 2))])
        if numbers["alpha2"]:
            v += numbers["alpha2"] * float(z[index])
        y[index] = _activate(problem, v, problem.activation.name)
    return y


def convolution_backward_data(problem, numbers, w, dy):
    dx = np.zeros(problem.dx.dims)
    for i, j, o in _products(problem):
        dx[i] += w[j] * dy[o]
    return dx


def convolution_backward_filter(problem, numbers, x, dy):
    dw = np.zeros(problem.dw.dims)
    for i, j, o in _products(problem):
        dw[j] += x[i] * dy[o]
    return dw


def convolution_backward_bias(problem, numbers, dy):
    db = np.zeros(problem.db.dims)
    for index in grid(dy.shape):
        db[(0, index[1], *[0] * (dy.ndim - 2))] += dy[index]
    return db


def _windows(problem):
    """For each output, the indices of its window that lie inside the image, in row-major order."""
    for out in grid(problem.y.dims):
        first = [p * stride - pad for p, stride, pad in zip(out[2:], problem.stride, problem.padding, strict=True)]
        inside = [
            range(max(low, 0), min(low + length, size))
            for low, length, size in zip(first, problem.window, problem.x.dims[2:], strict=True)
        ]
        cells = [(*out[:2], *pixel) for pixel in itertools.product(*inside)]
        yield out, cells


def _winner(problem, x, cells):
    """The index of a window's maximum, or None."""
    best, value = None, -math.inf
    for cell in cells:
        v = float(x[cell])
        if math.isnan(v):
            if problem.nan_propagation is NanPropagation.PROPAGATE_NAN:
                return cell
        elif best is None or v > value:
            best, value = cell, v
    return best


def _divisor(problem, cells):
    include = problem.mode is PoolingMode.AVERAGE_COUNT_INCLUDE_PADDING
    return math.prod(problem.window) if include else len(cells)


def pooling_forward(problem, numbers, x):
    y = np.zeros(problem.y.dims)
    for out, cells in _windows(problem):
        if problem.mode is PoolingMode.MAX:
            winner = _winner(problem, x, cells)
            y[out] = LOWEST[problem.x.dtype] if winner is None or np.isneginf(x[winner]) else x[winner]
        elif cells:
            y[out] = math.fsum(x[cell] for cell in cells) / _divisor(problem, cells)
    return y


def pooling_backward(problem, numbers, y, dy, x):
    dx = np.zeros(x.shape)
    for out, cells in _windows(problem):
        if problem.mode is PoolingMode.MAX:
            winner = _winner(problem, x, cells)
            if winner is not None:
                dx[winner] += dy[out]
        else:
            for cell in cells:
                dx[cell] += dy[out] / _divisor(problem, cells)
    return dx
