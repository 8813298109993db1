"""The definition of ctc_loss in NumPy: A. Graves et al., "Connectionist temporal classification", ICML 2006."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from portadnn.ops.ctc_loss import CTCGradMode, CTCLoss, LossNormalizationMode
from portadnn.problem import Problem

from ..definition import Array, Arrays, Definition, Numbers

Label = npt.NDArray[np.int64]


def _logarithms(problem: CTCLoss, probs: Array) -> Array:
    """Return the logarithm of each class's probability."""
    if problem.normalization is LossNormalizationMode.NONE:
        return np.log(probs)
    away = probs - probs.max(-1, keepdims=True, initial=-np.inf)
    return away - np.log(np.exp(away).sum(-1, keepdims=True))  # type: ignore[no-any-return]


def _labels(problem: CTCLoss, tensors: Arrays) -> Iterator[tuple[Label, int] | None]:
    """Yield each sequence's label and steps; None for one whose numbers are out of bounds."""
    steps, _, classes = problem.probs.dims
    labels = tensors["labels"].astype(np.int64)
    lengths = tensors["label_lengths"].astype(np.int64)
    ends = np.maximum(lengths, 0).cumsum()
    for n, (length, used) in enumerate(zip(lengths, tensors["input_lengths"].astype(np.int64), strict=True)):
        label = labels[n, : max(length, 0)] if labels.ndim == 2 else labels[ends[n] - max(length, 0) : ends[n]]
        fits = 0 <= length <= problem.longest and 0 <= used <= steps and len(label) == length
        yield (label, int(used)) if fits and bool(((label >= 0) & (label < classes)).all()) else None


def _paths(emitted: Array, skips: npt.NDArray[np.bool_]) -> Array:
    """Return log alpha (6), (7) of the paper: for each step and state, of all paths that end there.

    Parameters
    ----------
    emitted
        For each step and state, the logarithm of the probability of the state's class.
    skips
        Of each state but the first two, whether a path may come from the state two before it.
    """
    alpha = np.full(emitted.shape, -np.inf)
    alpha[0, :2] = emitted[0, :2]
    for t in range(1, len(alpha)):
        before = alpha[t - 1]
        sums = before.copy()
        sums[1:] = np.logaddexp(sums[1:], before[:-1])
        sums[2:] = np.logaddexp(sums[2:], np.where(skips, before[:-2], -np.inf))
        alpha[t] = emitted[t] + sums
    return alpha


def _sequence(problem: CTCLoss, logs: Array, label: Label) -> tuple[float, Array, Label, float]:
    """Return the cost, each state's share in all paths at each step, the states' classes, and how far sums reach.

    The last is what the roundings of a path's logarithm are measured by, relative to the likeliest path at its step.
    """
    states = np.full(2 * len(label) + 1, problem.blank)
    states[1::2] = label
    emitted = logs[:, states]
    skips = (states[2:] != states[:-2]) & (states[2:] != problem.blank)  # from s to s + 2
    alpha = _paths(emitted, skips)
    beta = _paths(emitted[::-1, ::-1], skips[::-1])[::-1, ::-1]
    total = np.logaddexp.reduce(alpha[-1, -2:])
    shares = np.where(emitted == -np.inf, 0.0, np.exp(alpha + beta - emitted - total))
    tops = alpha.max(1, keepdims=True), beta.max(1, keepdims=True)
    matter = shares > 1e-4
    reach = max(
        (float((top - part)[matter].max(initial=0.0)) for top, part in zip(tops, (alpha, beta), strict=True)), default=0
    )
    return -float(total), shares, states, reach


def _zeros(problem: CTCLoss, tensors: Arrays) -> tuple[Array, Array]:
    kept = problem.gradient_mode is CTCGradMode.SKIP_OOB_GRADIENTS
    gradients = tensors["gradients"].copy() if kept and problem.gradients is not None else np.zeros(problem.probs.dims)
    return np.full(problem.costs.dims, np.nan), gradients


def _outcome(problem: CTCLoss, costs: Array, gradients: Array) -> Mapping[str, Any]:
    return {"costs": costs} if problem.gradients is None else {"costs": costs, "gradients": gradients}


def _values(problem: CTCLoss, numbers: Numbers, tensors: Arrays) -> Mapping[str, Any]:
    logs = _logarithms(problem, tensors["probs"])
    costs, gradients = _zeros(problem, tensors)
    for n, found in enumerate(_labels(problem, tensors)):
        if found is None:
            continue
        label, used = found
        if used == 0:
            costs[n] = 0.0 if len(label) == 0 else np.inf
        else:
            costs[n], shares, states, _ = _sequence(problem, logs[:used, n], label)
        if costs[n] == np.inf:
            continue
        gradients[:, n] = 0.0
        if used:
            gradients[:used, n] = np.exp(logs[:used, n])
            for s, c in enumerate(states):
                gradients[:used, n, c] -= shares[:, s]
    return _outcome(problem, costs, gradients)


def _rounded(problem: CTCLoss, probs: Array, logs: Array) -> Array:
    """Return the size of the numbers whose roundings a logarithm has: it is the softmax's input less its row's sum."""
    size = np.abs(np.nan_to_num(logs, neginf=0.0))
    if problem.normalization is LossNormalizationMode.NONE:
        return size
    finite = np.where(np.isfinite(probs), np.abs(probs), 0.0)
    return np.maximum(size, finite.max(-1, keepdims=True, initial=0.0))  # type: ignore[no-any-return]


def _terms(problem: CTCLoss, numbers: Numbers, tensors: Arrays) -> Mapping[str, Any]:
    logs = _logarithms(problem, tensors["probs"])
    costs, gradients = np.zeros(problem.costs.dims), np.zeros(problem.probs.dims)
    for n, found in enumerate(_labels(problem, tensors)):
        if found is None or found[1] == 0:
            continue
        label, used = found
        _, shares, states, reach = _sequence(problem, logs[:used, n], label)
        largest = np.abs(logs[:used, n][:, states])
        largest = np.where(np.isfinite(largest), largest, 0.0)
        costs[n] = largest.max(1).sum() + reach
        scale = 1 + 16 * largest.max() + reach  # kernels subtract a row's maximum each 16 steps
        gradients[:used, n] = np.exp(logs[:used, n]) * (
            1 + _rounded(problem, tensors["probs"][:used, n], logs[:used, n])
        )
        for s, c in enumerate(states):
            gradients[:used, n, c] += shares[:, s] * scale
    return _outcome(problem, costs, np.nan_to_num(gradients))


DEFINITIONS: dict[type[Problem], Definition] = {CTCLoss: Definition(_values, _terms)}
