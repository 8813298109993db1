"""Definitions of gates, rotary embeddings, losses, concatenation and selection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from portadnn.enums import DataType
from portadnn.ops.gates import GLUBackward, GLUForward, PReLUBackward, RoPEBackward, RoPEForward
from portadnn.ops.indexing import CatForward, KthvalueForward
from portadnn.ops.losses import (
    LossReduction,
    MultiMarginLossForward,
    SoftMarginLossBackward,
    SoftMarginLossForward,
)
from portadnn.ops.optimizers import Adam
from portadnn.problem import Problem

from ..definition import Array, Arrays, Definition, Numbers, blended


def _sigmoid(v: Array) -> Array:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-v))


def _lost(dtype: DataType) -> float:
    """Return the terms of a factor that may become zero because it is subnormal."""
    limits = dtype.accumulator.limits
    return limits.smallest_normal / limits.eps


def _glu(problem: GLUForward, numbers: Numbers, x: Array) -> Array:
    a, b = np.split(x, 2, problem.dim)
    return a * _sigmoid(b)


def _glu_terms(problem: GLUForward, numbers: Numbers, x: Array) -> Array:
    a, b = np.split(x, 2, problem.dim)
    gate = _sigmoid(b) * (1 + np.abs(b))  # exp(b) is off by |b| rounding errors
    return cast(Array, np.abs(a) * (gate + _lost(problem.x.dtype)))


def _glu_gradient(problem: GLUBackward, numbers: Numbers, x: Array, dy: Array) -> Array:
    a, b = np.split(x, 2, problem.dim)
    return np.concatenate([_sigmoid(b) * dy, a * _sigmoid(b) * _sigmoid(-b) * dy], problem.dim)


def _glu_gradient_terms(problem: GLUBackward, numbers: Numbers, x: Array, dy: Array) -> Array:
    a, b = np.split(x, 2, problem.dim)
    open_, off, lost = _sigmoid(b), 1 + 2 * np.abs(b), _lost(problem.x.dtype)
    a, dy = np.abs(a), np.abs(dy)
    slope = (open_ * _sigmoid(-b) * off + lost) * dy + lost
    return np.concatenate([(open_ * off + lost) * dy, a * slope], problem.dim)


def _turned(problem: RoPEForward | RoPEBackward, x: Array, cos: Array, sin: Array, back: bool) -> Array:
    shape = problem.table
    cos, sin = cos.reshape(shape), sin.reshape(shape)
    even, odd = x[..., ::2], x[..., 1::2]
    y = x * cos
    if back:
        y[..., ::2] += odd * sin[..., 1::2]
        y[..., 1::2] -= even * sin[..., ::2]
    else:
        y[..., ::2] -= odd * sin[..., ::2]
        y[..., 1::2] += even * sin[..., 1::2]
    return y


def _rope_terms(problem: RoPEForward | RoPEBackward, x: Array, cos: Array, sin: Array, back: bool) -> Array:
    shape = problem.table
    x, cos, sin = np.abs(x), np.abs(cos).reshape(shape), np.abs(sin).reshape(shape)
    even, odd = x[..., ::2], x[..., 1::2]
    y = x * cos
    y[..., ::2] += odd * sin[..., 1 if back else 0 :: 2]
    y[..., 1::2] += even * sin[..., 0 if back else 1 :: 2]
    return y


def _rope(back: bool) -> Definition:
    def result(problem: Any, numbers: Numbers, x: Array, cos: Array, sin: Array) -> Array:
        return _turned(problem, x, cos, sin, back)

    def terms(problem: Any, numbers: Numbers, x: Array, cos: Array, sin: Array) -> Array:
        return _rope_terms(problem, x, cos, sin, back)

    return blended(result, terms)


def _soft_losses(x: Array, target: Array) -> Array:
    return cast(Array, np.logaddexp(0, -x * target))


def _reduced(reduction: LossReduction, losses: Array, count: int, dims: tuple[int, ...]) -> Array:
    if reduction is LossReduction.NONE:
        return losses
    total = losses.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.float64(total) / count
    return np.full(dims, total if reduction is LossReduction.SUM else mean)


def _soft_margin(problem: SoftMarginLossForward, numbers: Numbers, x: Array, target: Array) -> Array:
    return _reduced(problem.reduction, _soft_losses(x, target), x.size, problem.loss.dims)


def _soft_margin_terms(problem: SoftMarginLossForward, numbers: Numbers, x: Array, target: Array) -> Array:
    off = 1 + 2 * np.abs(x * target)
    return _reduced(problem.reduction, off, x.size, problem.loss.dims)


def _soft_gradient(problem: SoftMarginLossBackward, numbers: Numbers, x: Array, target: Array, dloss: Array) -> Array:
    count = x.size if problem.reduction is LossReduction.MEAN else 1
    return -target * _sigmoid(-x * target) * dloss / count


def _soft_gradient_terms(
    problem: SoftMarginLossBackward, numbers: Numbers, x: Array, target: Array, dloss: Array
) -> Array:
    count = x.size if problem.reduction is LossReduction.MEAN else 1
    v = x * target
    gate = _sigmoid(-v) * (1 + np.abs(v)) + _lost(problem.x.dtype)
    return cast(Array, np.abs(target * dloss) * gate / count)


def _multi_margin(problem: MultiMarginLossForward, numbers: Numbers, x: Array, target: Array, weight: Array) -> Array:
    return _multi(problem, x, target, weight, numbers["margin"], lambda a, b: a - b)


def _multi_margin_terms(
    problem: MultiMarginLossForward, numbers: Numbers, x: Array, target: Array, weight: Array
) -> Array:
    return _multi(problem, np.abs(x), target, np.abs(weight), abs(numbers["margin"]), lambda a, b: a + b)


def _multi(
    problem: MultiMarginLossForward,
    x: Array,
    target: Array,
    weight: Array,
    margin: float,
    joined: Callable[[Any, Any], Any],
) -> Array:
    batch, classes = x.shape
    losses = np.full(batch, np.nan)
    for n in range(batch):
        t = int(target[n])
        if 0 <= t < classes:
            m = joined(margin, x[n, t]) + x[n]
            m = np.where(m < 0, 0, m)
            m[t] = 0
            losses[n] = (weight[t] * m**problem.p).sum() / classes
    return _reduced(problem.reduction, losses, batch, problem.loss.dims)


def _prelu(problem: PReLUBackward, numbers: Numbers, t: Arrays) -> Mapping[str, Any]:
    x, dy = t["x"], t["dy"]
    found = {}
    if problem.dx is not None:
        found["dx"] = np.where(x > 0, dy, t["weight"] * dy)
    if problem.dweight is not None:
        axes = tuple(i for i, size in enumerate(problem.dweight.dims) if size == 1)
        found["dweight"] = np.where(x > 0, 0, x * dy).sum(axes, keepdims=True)
    return found


def _prelu_terms(problem: PReLUBackward, numbers: Numbers, t: Arrays) -> Mapping[str, Any]:
    positive = {"x": np.where(t["x"] > 0, 1.0, -np.abs(t["x"])), "dy": np.abs(t["dy"]), "weight": np.abs(t["weight"])}
    return {name: np.abs(value) for name, value in _prelu(problem, numbers, positive).items()}


def _cat(problem: CatForward, numbers: Numbers, t: Arrays) -> Mapping[str, Any]:
    return {"y": np.concatenate([t[name] for name in problem.parts], problem.dim)}


def _cat_terms(problem: CatForward, numbers: Numbers, t: Arrays) -> Mapping[str, Any]:
    return {"y": np.abs(_cat(problem, numbers, t)["y"])}


def _kth(problem: KthvalueForward, numbers: Numbers, t: Arrays) -> Mapping[str, Any]:
    x, axis = t["x"], problem.axis
    # -0 comes before 0: by the number, then by the sign; NaN last, whatever its sign
    order = np.lexsort((np.where(np.isnan(x), 0, ~np.signbit(x)), x), axis=axis)
    value = np.take_along_axis(x, np.take(order, [problem.k - 1], axis), axis)
    same = (x == value) & (np.signbit(x) == np.signbit(value)) | (np.isnan(x) & np.isnan(value))
    return {"y": value, "indices": np.expand_dims(same.argmax(axis), axis)}


def _kth_terms(problem: KthvalueForward, numbers: Numbers, t: Arrays) -> Mapping[str, Any]:
    return {"y": np.nan_to_num(np.abs(_kth(problem, numbers, t)["y"]))}


def _adam(problem: Adam, numbers: Numbers, t: Arrays) -> Mapping[str, Any]:
    p, m, v, top = (t.get(name) for name in ("param", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"))
    assert p is not None and m is not None and v is not None
    skipped = "found_inf" in t and t["found_inf"].item() != 0
    count = t["state_step"].item() + 1 if "state_step" in t else numbers["step"]
    if not skipped:
        scale = t["grad_scale"].item() if "grad_scale" in t else 1.0
        p, m, v, top = _adam_step(problem, numbers, p, t["grad"] / scale, m, v, top, count)
    found = {"param_out": p, "exp_avg_out": m, "exp_avg_sq_out": v}
    if top is not None:
        found["max_exp_avg_sq_out"] = top
    if problem.param_half is not None:
        found["param_half"] = p
    if "state_step" in t:
        found["state_step_out"] = t["state_step"] + (0 if skipped else 1)
    return found


def _adam_step(
    problem: Adam, numbers: Numbers, p: Array, g: Array, m: Array, v: Array, top: Array | None, count: float
) -> tuple[Array, Array, Array, Array | None]:
    """Return the parameters and averages after a step, number `count`."""
    lr, first, second = numbers["lr"], numbers["beta1"], numbers["beta2"]
    decay, eps = numbers["weight_decay"], numbers["eps"]
    g = -g if problem.maximize else g
    if problem.adamw:
        p = p - lr * decay * p
    elif not problem.transformers:
        g = g + decay * p
    m, v = first * m + (1 - first) * g, second * v + (1 - second) * g * g
    c1, c2 = 1 - first**count, 1 - second**count
    if problem.transformers:
        rate = numbers["step_size"]
        if rate < 0:
            rate = lr * np.sqrt(c2) / c1 if problem.correct_bias else lr
        p = p - rate * m / (np.sqrt(v) + eps)
        return p - lr * decay * p, m, v, top
    if top is not None:
        top = np.maximum(top, v)
    size = v if top is None else top
    return p - lr / c1 * m / (np.sqrt(size) / np.sqrt(c2) + eps), m, v, top


def _adam_terms(problem: Adam, numbers: Numbers, t: Arrays) -> Mapping[str, Any]:
    values = _adam(problem, numbers, t)
    scale = np.abs(t["grad_scale"].item()) if "grad_scale" in t else 1.0
    g = np.abs(t["grad"]) / scale + abs(numbers["weight_decay"]) * np.abs(t["param"])
    found = {name: np.abs(value) for name, value in values.items() if name != "state_step_out"}
    found["exp_avg_out"] = np.abs(t["exp_avg"]) + g
    found["exp_avg_sq_out"] = np.abs(t["exp_avg_sq"]) + 2 * g * g
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(values["param_out"] - t["param"]) * (found["exp_avg_out"] / np.abs(values["exp_avg_out"]) + 8)
    for name in ("param_out", "param_half"):
        if name in found:
            found[name] = np.abs(t["param"]) + np.nan_to_num(off)
    return found


DEFINITIONS: dict[type[Problem], Definition] = {
    Adam: Definition(_adam, _adam_terms),
    CatForward: Definition(_cat, _cat_terms),
    GLUBackward: blended(_glu_gradient, _glu_gradient_terms),
    GLUForward: blended(_glu, _glu_terms),
    KthvalueForward: Definition(_kth, _kth_terms),
    MultiMarginLossForward: blended(_multi_margin, _multi_margin_terms),
    PReLUBackward: Definition(_prelu, _prelu_terms),
    RoPEBackward: _rope(True),
    RoPEForward: _rope(False),
    SoftMarginLossBackward: blended(_soft_gradient, _soft_gradient_terms),
    SoftMarginLossForward: blended(_soft_margin, _soft_margin_terms),
}
