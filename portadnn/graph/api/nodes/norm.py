"""The methods of :class:`~portadnn.graph.api.pygraph` for normalisations.

``epsilon`` and ``momentum`` are tensors that are passed by value, or numbers. Statistics of a forward call are None for
``norm_forward_phase.INFERENCE``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...enums import norm_forward_phase
from ...tensor import tensor
from ..arguments import listed
from ..builder import NOT_SET, Builder

Maybe = tensor | None


def _peers(peer_stats: Any) -> dict[str, tensor]:
    return {
        f"PEER_STATS_{i}": one for i, one in enumerate(listed(() if peer_stats is None else peer_stats, "peer_stats"))
    }


def batchnorm(
    self: Builder,
    input: tensor,
    scale: tensor,
    bias: tensor,
    in_running_mean: Maybe = None,
    in_running_var: Maybe = None,
    epsilon: Any = None,
    momentum: Any = None,
    peer_stats: Sequence[tensor] = (),
    compute_data_type: Any = NOT_SET,
    name: str = "",
    *,
    peer_rank: int | None = None,
) -> list[Maybe]:
    """Return y, mean, inverse deviation and the next running mean and variance, None without running ones.

    ``running = (1 - momentum) * running + momentum * new``, with the unbiased variance.

    With `peer_stats` the statistics are those of several devices' inputs, of equal sizes: a buffer for each, in one
    order on all of them, of ``len(peer_stats) * 4 * c`` numbers that are zeros when they are first used. `peer_rank`
    is portadnn's own: which of them is this device's, where the memory does not say so.
    """
    inputs = {
        "X": input,
        "SCALE": scale,
        "BIAS": bias,
        "EPSILON": epsilon,
        "PREV_RUNNING_MEAN": in_running_mean,
        "PREV_RUNNING_VAR": in_running_var,
        "MOMENTUM": momentum if in_running_mean is not None or in_running_var is not None else None,
        **_peers(peer_stats),
    }
    out = self._add("batchnorm", inputs, compute_data_type, name, peer_rank=peer_rank)
    running = (out["NEXT_RUNNING_MEAN"], out["NEXT_RUNNING_VAR"]) if in_running_mean is not None else (None, None)
    return [out["Y"], out["MEAN"], out["INV_VARIANCE"], *running]


def batchnorm_inference(
    self: Builder,
    input: tensor,
    mean: tensor,
    inv_variance: tensor,
    scale: tensor,
    bias: tensor,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> tensor:
    """Return ``scale * (input - mean) * inv_variance + bias``."""
    inputs = {"X": input, "MEAN": mean, "INV_VARIANCE": inv_variance, "SCALE": scale, "BIAS": bias}
    return self._add("batchnorm_inference", inputs, compute_data_type, name)["Y"]


def batchnorm_backward(
    self: Builder,
    grad: tensor,
    input: tensor,
    scale: tensor,
    mean: tensor,
    inv_variance: tensor,
    peer_stats: Sequence[tensor] = (),
    compute_data_type: Any = NOT_SET,
    name: str = "",
    *,
    peer_rank: int | None = None,
) -> list[tensor]:
    """Return the gradients to input, scale and bias; with `peer_stats` the latter two are those of all devices."""
    inputs = {"DY": grad, "X": input, "SCALE": scale, "MEAN": mean, "INV_VARIANCE": inv_variance, **_peers(peer_stats)}
    out = self._add("batchnorm_backward", inputs, compute_data_type, name, peer_rank=peer_rank)
    return [out[port] for port in ("DX", "DSCALE", "DBIAS")]


def bn_finalize(
    self: Builder,
    sum: tensor,
    sq_sum: tensor,
    scale: tensor,
    bias: tensor,
    epsilon: Any,
    accum_count: Any,
    in_running_mean: Maybe = None,
    in_running_var: Maybe = None,
    momentum: Any = None,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> list[Maybe]:
    """Return EQ_SCALE and EQ_BIAS of y = EQ_SCALE * x + EQ_BIAS, mean, inverse deviation and the next running.

    `sum` and `sq_sum` are those of ``genstats``, `accum_count` is the number of elements behind each.
    """
    inputs = {
        "SUM": sum,
        "SQ_SUM": sq_sum,
        "SCALE": scale,
        "BIAS": bias,
        "EPSILON": epsilon,
        "ACCUM_COUNT": accum_count,
        "PREV_RUNNING_MEAN": in_running_mean,
        "PREV_RUNNING_VAR": in_running_var,
        "MOMENTUM": momentum,
    }
    out = self._add("bn_finalize", inputs, compute_data_type, name)
    running = (out["NEXT_RUNNING_MEAN"], out["NEXT_RUNNING_VAR"]) if in_running_mean is not None else (None, None)
    return [out["EQ_SCALE"], out["EQ_BIAS"], out["MEAN"], out["INV_VARIANCE"], *running]


def dbn_weight(
    self: Builder,
    dy: tensor,
    input: tensor,
    mean: tensor,
    inv_variance: tensor,
    scale: tensor,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> list[tensor]:
    """Return the gradients to scale and bias, and A, B and C of ``dx = A * dy + B * input + C``."""
    inputs = {"DY": dy, "X": input, "MEAN": mean, "INV_VARIANCE": inv_variance, "SCALE": scale}
    out = self._add("dbn_weight", inputs, compute_data_type, name)
    return [out[port] for port in ("DSCALE", "DBIAS", "EQ_SCALE_DY", "EQ_SCALE_X", "EQ_BIAS")]


def layernorm(
    self: Builder,
    norm_forward_phase: norm_forward_phase,
    input: tensor,
    scale: tensor,
    bias: tensor,
    epsilon: Any,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> list[Maybe]:
    """Return y, mean and inverse deviation; normalised is over the axes along which scale has the input's size."""
    return _norm(self, "layernorm", norm_forward_phase, input, scale, bias, epsilon, compute_data_type, name)


def layernorm_backward(
    self: Builder,
    grad: tensor,
    input: tensor,
    scale: tensor,
    mean: tensor,
    inv_variance: tensor,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> list[tensor]:
    """Return the gradients to input, scale and bias."""
    return _norm_backward(self, "layernorm", grad, input, scale, mean, inv_variance, compute_data_type, name)


def adalayernorm(
    self: Builder,
    norm_forward_phase: norm_forward_phase,
    input: tensor,
    scale: tensor,
    bias: Maybe = None,
    epsilon: Any = None,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> list[Maybe]:
    """Return y, mean and inverse deviation, as layernorm with a scale and a bias for each entry of the batch."""
    return _norm(self, "adalayernorm", norm_forward_phase, input, scale, bias, epsilon, compute_data_type, name)


def adalayernorm_backward(
    self: Builder,
    grad: tensor,
    input: tensor,
    scale: tensor,
    mean: tensor,
    inv_variance: tensor,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> list[tensor]:
    """Return the gradients to input, scale and bias."""
    return _norm_backward(self, "adalayernorm", grad, input, scale, mean, inv_variance, compute_data_type, name)


def instancenorm(
    self: Builder,
    norm_forward_phase: norm_forward_phase,
    input: tensor,
    scale: tensor,
    bias: tensor,
    epsilon: Any,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> list[Maybe]:
    """Return y, mean and inverse deviation; normalised is over the spatial dims of each image's channel."""
    return _norm(self, "instancenorm", norm_forward_phase, input, scale, bias, epsilon, compute_data_type, name)


def instancenorm_backward(
    self: Builder,
    grad: tensor,
    input: tensor,
    scale: tensor,
    mean: Maybe = None,
    inv_variance: Maybe = None,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> list[tensor]:
    """Return the gradients to input, scale and bias; statistics left out are computed with an epsilon of 1e-5."""
    return _norm_backward(self, "instancenorm", grad, input, scale, mean, inv_variance, compute_data_type, name)


def rmsnorm(
    self: Builder,
    norm_forward_phase: norm_forward_phase,
    input: tensor,
    scale: tensor,
    bias: Maybe = None,
    epsilon: Any = None,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> list[Maybe]:
    """Return ``scale * input / sqrt(mean(input**2) + epsilon) + bias``, and the inverse root."""
    return _norm(self, "rmsnorm", norm_forward_phase, input, scale, bias, epsilon, compute_data_type, name)


def rmsnorm_backward(
    self: Builder,
    grad: tensor,
    input: tensor,
    scale: tensor,
    inv_variance: tensor,
    has_dbias: bool,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> list[Maybe]:
    """Return the gradients to input, scale and, with `has_dbias`, bias, else None."""
    inputs = {"DY": grad, "X": input, "SCALE": scale, "INV_VARIANCE": inv_variance}
    out = self._add("rmsnorm_backward", inputs, compute_data_type, name, has_dbias=has_dbias)
    return [out["DX"], out["Dscale"], out["Dbias"] if has_dbias else None]


def _norm(
    self: Builder,
    kind: str,
    phase: norm_forward_phase,
    input: tensor,
    scale: tensor,
    bias: Maybe,
    epsilon: Any,
    compute: Any,
    name: str,
) -> list[Maybe]:
    inputs = {"X": input, "SCALE": scale, "BIAS": bias, "EPSILON": epsilon}
    out = self._add(kind, inputs, compute, name, phase=phase)
    training = phase == norm_forward_phase.TRAINING
    return [one if training or port == "Y" else None for port, one in out.items()]


def _norm_backward(
    self: Builder,
    kind: str,
    grad: tensor,
    input: tensor,
    scale: tensor,
    mean: Maybe,
    inverse: Maybe,
    compute: Any,
    name: str,
) -> list[tensor]:
    inputs = {"DY": grad, "X": input, "SCALE": scale, "MEAN": mean, "INV_VARIANCE": inverse}
    out = self._add(f"{kind}_backward", inputs, compute, name)
    return [out[port] for port in ("DX", "DSCALE", "DBIAS")]
