"""Definitions of the normalisations (batch: guide sections 4.95 to 4.97) in NumPy and float64."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from portadnn.ops.batch_norm import (
    BatchNormalizationBackward,
    BatchNormalizationForwardInference,
    BatchNormalizationForwardTraining,
)
from portadnn.ops.batch_norm_parts import (
    BatchNormalizationApply,
    BatchNormalizationBackwardApply,
    BatchNormalizationBackwardStatistics,
    BatchNormalizationStatistics,
)
from portadnn.ops.normalization import Normalization, NormalizationBackward, NormalizationForward, NormMode
from portadnn.problem import Problem

from ..definition import Array, Arrays, Definition, Numbers


def blend(alpha: float, value: Array, beta: float, prior: Array) -> Array:
    """Return alpha * value + beta * prior, where a beta of 0 leaves prior unread."""
    return alpha * value if beta == 0 else alpha * value + beta * prior


def total(a: Array, axes: tuple[int, ...]) -> Array:
    """Return the sum over `axes`, which stay as dims of one: in pairs, as NumPy adds up what lies side by side."""
    kept = [axis for axis in range(a.ndim) if axis not in axes]
    count = math.prod(a.shape[axis] for axis in axes)
    rows = np.ascontiguousarray(a.transpose(*kept, *axes)).reshape(*(a.shape[axis] for axis in kept), count)
    return cast(Array, rows.sum(-1).reshape([1 if axis in axes else size for axis, size in enumerate(a.shape)]))


def average(a: Array, axes: tuple[int, ...]) -> Array:
    """Return the mean over `axes`, which stay as dims of one; NaN over nothing."""
    return cast(Array, total(a, axes) / math.prod(a.shape[axis] for axis in axes))


def moments(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Return mean and (biased) variance over `axes`, and how far each x is from the mean.

    The mean's own rounding is taken out of the distances: large means of float64 numbers must not matter either.
    """
    mean = average(x, axes)
    rest = x - mean
    rest = rest - average(rest, axes)
    return mean, average(rest**2, axes), rest


_PARAMETERS = ("scale", "mean", "saved_mean")


def axes_of(problem: Any) -> tuple[int, ...]:
    """Return the axes that batch normalisation normalises over: those along which its parameters have one value."""
    parameters = next(s.dims for n, s in zip(problem.names, problem.tensors, strict=True) if n in _PARAMETERS)
    return tuple(axis for axis, size in enumerate(parameters) if axis == 0 or (axis > 1 and size == 1))


def _training(problem: BatchNormalizationForwardTraining, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    axes = axes_of(problem)
    mean, variance, rest = moments(t["x"], axes)
    inverse = 1 / np.sqrt(variance + numbers["epsilon"])
    y = t["scale"] * (rest * inverse) + t["bias"]
    found = {"y": blend(numbers["alpha"], y, numbers["beta"], t["y"])}
    if "running_mean" in t:
        factor, count = numbers["exponential_average_factor"], problem.count
        unbiased = variance * count / (np.float64(count) - 1)
        found["running_mean"] = blend(factor, mean, 1 - factor, t["running_mean"])
        found["running_variance"] = blend(factor, unbiased, 1 - factor, t["running_variance"])
    if "saved_mean" in t:
        found.update(saved_mean=mean, saved_inv_variance=inverse)
    return found


def _training_terms(problem: BatchNormalizationForwardTraining, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    """Measure the mean's error by the standard deviation, not by the mean: large means must not matter."""
    axes = axes_of(problem)
    mean, variance, rest = moments(t["x"], axes)
    deviation = np.sqrt(variance)
    inverse = 1 / np.sqrt(variance + numbers["epsilon"])
    y = np.abs(t["scale"]) * (np.abs(rest) + deviation) * inverse + np.abs(t["bias"])
    found = {"y": blend(abs(numbers["alpha"]), y, abs(numbers["beta"]), np.abs(t["y"]))}
    if "running_mean" in t:
        factor, count = numbers["exponential_average_factor"], problem.count
        kept, unbiased = abs(1 - factor), variance * count / (np.float64(count) - 1)
        found["running_mean"] = blend(abs(factor), np.abs(mean) + deviation, kept, np.abs(t["running_mean"]))
        found["running_variance"] = blend(abs(factor), unbiased, kept, np.abs(t["running_variance"]))
    if "saved_mean" in t:
        found.update(saved_mean=np.abs(mean) + deviation, saved_inv_variance=inverse)
    return found


def _inference(problem: BatchNormalizationForwardInference, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    inverse = 1 / np.sqrt(t["estimated_variance"] + numbers["epsilon"])
    y = t["scale"] * ((t["x"] - t["estimated_mean"]) * inverse) + t["bias"]
    return {"y": blend(numbers["alpha"], y, numbers["beta"], t["y"])}


def _inference_terms(problem: BatchNormalizationForwardInference, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    inverse = 1 / np.sqrt(t["estimated_variance"] + numbers["epsilon"])
    y = np.abs(t["scale"] * (t["x"] - t["estimated_mean"]) * inverse) + np.abs(t["bias"])
    return {"y": blend(abs(numbers["alpha"]), y, abs(numbers["beta"]), np.abs(t["y"]))}


def _normalized(t: Arrays, epsilon: float, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the normalised x and the inverse standard deviation, by the saved statistics where there are any."""
    if "saved_mean" in t:
        return (t["x"] - t["saved_mean"]) * t["saved_inv_variance"], t["saved_inv_variance"]
    _, variance, rest = moments(t["x"], axes)
    inverse = 1 / np.sqrt(variance + epsilon)
    return rest * inverse, inverse


def _backward(problem: BatchNormalizationBackward, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    axes = axes_of(problem)
    z, inverse = _normalized(t, numbers["epsilon"], axes)
    dy = t["dy"]
    dx = t["scale"] * inverse * (dy - average(dy, axes) - z * average(dy * z, axes))
    alpha, beta = numbers["alpha_param_diff"], numbers["beta_param_diff"]
    return {
        "dx": blend(numbers["alpha_data_diff"], dx, numbers["beta_data_diff"], t["dx"]),
        "dscale": blend(alpha, total(dy * z, axes), beta, t["dscale"]),
        "dbias": blend(alpha, total(dy, axes), beta, t["dbias"]),
    }


def _backward_terms(problem: BatchNormalizationBackward, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    axes = axes_of(problem)
    z, inverse = _normalized(t, numbers["epsilon"], axes)
    z, dy = np.abs(z), np.abs(t["dy"])
    sizes, products = average(dy, axes), average(dy * z, axes)
    dx = np.abs(t["scale"]) * inverse * (dy + sizes + products + z * (sizes + products))
    alpha, beta = abs(numbers["alpha_param_diff"]), abs(numbers["beta_param_diff"])
    return {
        "dx": blend(abs(numbers["alpha_data_diff"]), dx, abs(numbers["beta_data_diff"]), np.abs(t["dx"])),
        "dscale": blend(alpha, total(dy * (z + 1), axes), beta, np.abs(t["dscale"])),
        "dbias": blend(alpha, total(dy, axes), beta, np.abs(t["dbias"])),
    }


# batch normalisation over several ranks


def _statistics(problem: BatchNormalizationStatistics, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    if not problem.count:
        return {name: np.zeros(t[name].shape) for name in ("mean", "variance")}
    mean, variance, _ = moments(t["x"], axes_of(problem))
    return {"mean": mean, "variance": variance}


def _statistics_terms(problem: BatchNormalizationStatistics, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    found = _statistics(problem, numbers, t)
    return {"mean": np.abs(found["mean"]) + np.sqrt(found["variance"]), "variance": found["variance"]}


def _merged(t: Arrays) -> tuple[Array, Array, Array]:
    """Return mean and variance of all ranks' numbers together, and how many there are."""
    counts = t["counts"]
    count = counts.sum(0, keepdims=True)
    mean = (counts * t["means"]).sum(0, keepdims=True) / count
    variance = (counts * (t["variances"] + (t["means"] - mean) ** 2)).sum(0, keepdims=True) / count
    return mean, variance, count


def _apply(problem: BatchNormalizationApply, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    mean, variance, count = _merged(t)
    inverse = 1 / np.sqrt(variance + numbers["epsilon"])
    found = {"y": t["scale"] * ((t["x"] - mean) * inverse) + t["bias"]}
    if "running_mean" in t:
        factor, unbiased = numbers["exponential_average_factor"], variance * (count / (count - 1))
        found["running_mean"] = blend(factor, mean, 1 - factor, t["running_mean"])
        found["running_variance"] = blend(factor, unbiased, 1 - factor, t["running_variance"])
    if "saved_mean" in t:
        found.update(saved_mean=mean, saved_inv_variance=inverse)
    return found


def _apply_terms(problem: BatchNormalizationApply, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    """Measure the merged mean's error by how far the ranks' means are apart, beside its own size where it is stored."""
    mean, variance, count = _merged(t)
    apart = (t["counts"] * np.abs(t["means"] - mean)).sum(0, keepdims=True) / count
    inverse = 1 / np.sqrt(variance + numbers["epsilon"])
    y = np.abs(t["scale"]) * (np.abs(t["x"] - mean) + apart + np.sqrt(variance)) * inverse + np.abs(t["bias"])
    found = {"y": y}
    if "running_mean" in t:
        factor, unbiased = numbers["exponential_average_factor"], variance * (count / (count - 1))
        kept = abs(1 - factor)
        found["running_mean"] = blend(abs(factor), np.abs(mean) + apart, kept, np.abs(t["running_mean"]))
        found["running_variance"] = blend(abs(factor), unbiased, kept, np.abs(t["running_variance"]))
    if "saved_mean" in t:
        found.update(saved_mean=np.abs(mean) + apart, saved_inv_variance=inverse)
    return found


def _shares(problem: BatchNormalizationBackwardStatistics, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    axes, z = axes_of(problem), (t["x"] - t["saved_mean"]) * t["saved_inv_variance"]
    return {"dscale": total(t["dy"] * z, axes), "dbias": total(t["dy"], axes)}


def _shares_terms(problem: BatchNormalizationBackwardStatistics, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    axes, z = axes_of(problem), np.abs((t["x"] - t["saved_mean"]) * t["saved_inv_variance"])
    dy = np.abs(t["dy"])
    return {"dscale": total(dy * (z + 1), axes), "dbias": total(dy, axes)}


def _backward_apply(problem: BatchNormalizationBackwardApply, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    count = t["counts"].sum(0, keepdims=True)
    dscale, dbias = (t[name].sum(0, keepdims=True) for name in ("dscales", "dbiases"))
    inverse = t["saved_inv_variance"]
    z = (t["x"] - t["saved_mean"]) * inverse
    found = {"dx": t["scale"] * inverse * (t["dy"] - dbias / count - z * (dscale / count))}
    return found | {name: value for name, value in (("dscale", dscale), ("dbias", dbias)) if name in t}


def _backward_apply_terms(problem: BatchNormalizationBackwardApply, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    count = t["counts"].sum(0, keepdims=True)
    dscale, dbias = (np.abs(t[name]).sum(0, keepdims=True) for name in ("dscales", "dbiases"))
    inverse = np.abs(t["saved_inv_variance"])
    z = np.abs(t["x"] - t["saved_mean"]) * inverse
    found = {"dx": np.abs(t["scale"]) * inverse * (np.abs(t["dy"]) + dbias / count + z * (dscale / count))}
    return found | {name: value for name, value in (("dscale", dscale), ("dbias", dbias)) if name in t}


# layer, instance, group and RMS normalisation


class _Parts:
    """A normalisation's tensors with the channels' groups as an axis of their own, and its statistics."""

    def __init__(self, problem: Normalization, epsilon: float, t: Arrays) -> None:
        self.problem = problem
        self.split = problem.mode is NormMode.GROUP_NORM
        dims = problem.x.dims
        if self.split:
            self.axes = tuple(range(2, len(dims) + 1))
        else:
            self.axes = tuple(axis for axis, size in enumerate(problem.statistics_dims) if size == 1)
        self.x = self.grouped(t["x"])
        self.scale = self.grouped(t["scale"]) if "scale" in t else np.float64(1)
        self.parameter_axes = tuple(
            axis for axis, size in enumerate(self.grouped(np.empty(problem.parameter_dims)).shape) if size == 1
        )
        self.mean, variance, self.rest = moments(self.x, self.axes)
        if problem.mode is NormMode.RMS_NORM:
            self.mean, variance, self.rest = np.zeros_like(self.mean), average(self.x**2, self.axes), self.x
        self.deviation = np.sqrt(variance)
        self.inverse = 1 / np.sqrt(variance + epsilon)

    def grouped(self, a: Array) -> Array:
        """(n, c, h, w) -> (n, g, c/g, h, w) for groups; dims of one split into two."""
        if not self.split:
            return a
        cut = (1, 1) if a.shape[1] == 1 else (self.problem.groups, a.shape[1] // self.problem.groups)
        return a.reshape(a.shape[0], *cut, *a.shape[2:])

    def saved(self, a: Array) -> Array:
        """Return statistics as the caller has them, with one dim for the channels."""
        return a.reshape(self.problem.statistics_dims)


def _forward(problem: NormalizationForward, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    parts = _Parts(problem, numbers["epsilon"], t)
    y = parts.scale * (parts.rest * parts.inverse)
    if "bias" in t:
        y = y + parts.grouped(t["bias"])
    found = {"y": blend(numbers["alpha"], y.reshape(problem.x.dims), numbers["beta"], t["y"])}
    if "saved_mean" in t:
        found["saved_mean"] = parts.saved(parts.mean)
    if "saved_inv_variance" in t:
        found["saved_inv_variance"] = parts.saved(parts.inverse)
    return found


def _forward_terms(problem: NormalizationForward, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    parts = _Parts(problem, numbers["epsilon"], t)
    y = np.abs(parts.scale) * (np.abs(parts.rest) + parts.deviation) * parts.inverse
    if "bias" in t:
        y = y + np.abs(parts.grouped(t["bias"]))
    found = {"y": blend(abs(numbers["alpha"]), y.reshape(problem.x.dims), abs(numbers["beta"]), np.abs(t["y"]))}
    if "saved_mean" in t:
        found["saved_mean"] = parts.saved(np.abs(parts.mean) + parts.deviation)
    if "saved_inv_variance" in t:
        found["saved_inv_variance"] = parts.saved(parts.inverse)
    return found


def _given(parts: _Parts, t: Arrays) -> tuple[Array, Array]:
    """Return the normalised x and the inverse deviation, by the saved statistics where there are any."""
    if "saved_inv_variance" not in t:
        return parts.rest * parts.inverse, parts.inverse
    shape = parts.mean.shape
    mean = t["saved_mean"].reshape(shape) if "saved_mean" in t else np.zeros(shape)
    inverse = t["saved_inv_variance"].reshape(shape)
    return (parts.x - mean) * inverse, inverse


def _gradients(problem: NormalizationBackward, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    parts = _Parts(problem, numbers["epsilon"], t)
    z, inverse = _given(parts, t)
    dy = parts.grouped(t["dy"])
    g = dy * parts.scale
    dx = g - z * average(g * z, parts.axes)
    if problem.mode is not NormMode.RMS_NORM:
        dx = dx - average(g, parts.axes)
    dx = (inverse * dx).reshape(problem.x.dims)
    found = {"dx": blend(numbers["alpha_data_diff"], dx, numbers["beta_data_diff"], t["dx"])}
    for name, terms in (("dscale", dy * z), ("dbias", dy)):
        if name in t:
            sums = total(terms, parts.parameter_axes).reshape(problem.parameter_dims)
            found[name] = blend(numbers["alpha_param_diff"], sums, numbers["beta_param_diff"], t[name])
    return found


def _gradients_terms(problem: NormalizationBackward, numbers: Numbers, t: Arrays) -> dict[str, Any]:
    parts = _Parts(problem, numbers["epsilon"], t)
    z, inverse = _given(parts, t)
    z, dy = np.abs(z), np.abs(parts.grouped(t["dy"]))
    g = dy * np.abs(parts.scale)
    sizes, products = average(g, parts.axes), average(g * z, parts.axes)
    dx = (inverse * (g + sizes + products + z * (sizes + products))).reshape(problem.x.dims)
    found = {"dx": blend(abs(numbers["alpha_data_diff"]), dx, abs(numbers["beta_data_diff"]), np.abs(t["dx"]))}
    for name, terms in (("dscale", dy * (z + 1)), ("dbias", dy)):
        if name in t:
            sums = total(terms, parts.parameter_axes).reshape(problem.parameter_dims)
            alpha, beta = abs(numbers["alpha_param_diff"]), abs(numbers["beta_param_diff"])
            found[name] = blend(alpha, sums, beta, np.abs(t[name]))
    return found


DEFINITIONS: dict[type[Problem], Definition] = {
    BatchNormalizationForwardTraining: Definition(_training, _training_terms),
    BatchNormalizationForwardInference: Definition(_inference, _inference_terms),
    BatchNormalizationBackward: Definition(_backward, _backward_terms),
    BatchNormalizationStatistics: Definition(_statistics, _statistics_terms),
    BatchNormalizationApply: Definition(_apply, _apply_terms),
    BatchNormalizationBackwardStatistics: Definition(_shares, _shares_terms),
    BatchNormalizationBackwardApply: Definition(_backward_apply, _backward_apply_terms),
    NormalizationForward: Definition(_forward, _forward_terms),
    NormalizationBackward: Definition(_gradients, _gradients_terms),
}
