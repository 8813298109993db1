"""Normalisations of PyTorch as problems: batch, layer, group, instance and RMS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ...ops.batch_norm import (
    BatchNormalizationBackward,
    BatchNormalizationForwardInference,
    BatchNormalizationForwardTraining,
)
from ...ops.normalization import NormalizationBackward, NormalizationForward, NormMode
from .computation import (
    Arguments,
    Computation,
    LeftOut,
    Operand,
    Tensor,
    aten,
    converted,
    data_type,
    images,
    is_tensor,
    pose,
    scratch,
)

# batch normalisation


def _channels(tensor: Tensor | None, x: Tensor, usual: float | None = None) -> Operand | None:
    """Return a parameter or statistic with the dims (1, c, 1, ...): without one, `usual` in all channels."""
    dtype = data_type(x).accumulator
    dims = (1, x.shape[1], *[1] * (x.dim() - 2))
    if tensor is None or not tensor.numel():
        if usual is None:
            return None
        return scratch(dtype, dims, lambda: torch.full(dims, usual, dtype=_torch(dtype), device=x.device))
    return converted(tensor.view(dims), dtype)


def _torch(dtype: Any) -> torch.dtype:
    return torch.float64 if dtype.itemsize == 8 else torch.float32


def _epsilon(a: Arguments) -> float:
    return float(a.get("eps", a.get("epsilon")))


@aten(
    "norm",
    "native_batch_norm.default",
    "_native_batch_norm_legit.default",
    "_native_batch_norm_legit.no_stats",
    "_native_batch_norm_legit_no_training.default",
    "_batch_norm_no_update.default",
    "cudnn_batch_norm.default",
    "miopen_batch_norm.default",
)
def _batch_norm(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    x, y = images(a["input"]), images(out[0])
    training = a.get("training", a.get("running_mean") is None)
    epsilon = _epsilon(a)
    parameters = {"scale": _channels(a["weight"], x, 1.0), "bias": _channels(a["bias"], x, 0.0)}
    mean, variance = a.get("running_mean"), a.get("running_var")
    if not training:
        statistics = {"estimated_mean": _channels(mean, x), "estimated_variance": _channels(variance, x)}
        tensors = {"x": x, **parameters, **statistics, "y": y}
        return [pose(BatchNormalizationForwardInference, tensors, {"epsilon": epsilon})]
    running = (None, None) if compared else (mean, variance)  # compared: PyTorch has updated them already
    statistics = {
        "running_mean": _channels(running[0], x),
        "running_variance": _channels(running[1], x),
        "saved_mean": _channels(out[1], x),
        "saved_inv_variance": _channels(out[2], x),
    }
    factor = a.get("momentum", a.get("exponential_average_factor", 0.0))
    numbers = {"epsilon": epsilon, "exponential_average_factor": 1.0 if compared else float(factor)}
    return [pose(BatchNormalizationForwardTraining, {"x": x, **parameters, "y": y, **statistics}, numbers)]


@aten("norm", "_batch_norm_with_update.default")
def _batch_norm_updating(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    return _batch_norm({**a, "training": True}, out, compared)


@aten(
    "norm",
    "native_batch_norm_backward.default",
    "batch_norm_backward.default",
    "cudnn_batch_norm_backward.default",
    "miopen_batch_norm_backward.default",
)
def _batch_norm_backward(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    if not a.get("train", a.get("update", True)):
        raise LeftOut("gradients of a batch normalisation by running statistics, which cuDNN does not have")
    x, dy = images(a["input"]), images(a.get("grad_out", a.get("grad_output")))
    mean, deviation = a.get("save_mean"), a.get("save_invstd", a.get("save_var"))
    gradients = _gradients(out, x, lambda like: _channels(like, x), (1, x.shape[1], *[1] * (x.dim() - 2)))
    tensors = {
        "x": x,
        "dy": dy,
        "scale": _channels(a["weight"], x, 1.0),
        "saved_mean": _channels(mean, x),
        "saved_inv_variance": _channels(deviation, x),
        **gradients,
    }
    return [pose(BatchNormalizationBackward, tensors, {"epsilon": _epsilon(a)})]


def _gradients(out: Any, x: Tensor, shaped: Any, dims: tuple[int, ...]) -> dict[str, Operand | None]:
    """Return dx, dscale and dbias; what was not asked for is scratch memory."""
    dx, dscale, dbias = (*out, None, None)[:3]
    whole = scratch(data_type(x), tuple(x.shape)) if dx is None else dx.view(x.shape)
    spare = scratch(data_type(x).accumulator, dims)
    return {
        "dx": whole,
        "dscale": spare if dscale is None else shaped(dscale),
        "dbias": spare if dbias is None else shaped(dbias),
    }


# layer, group and RMS normalisation


def _ranked(x: Tensor) -> Tensor:
    """Return a view of 3 dims at least: dims of 1 are put in front."""
    while x.dim() < 3:
        x = x.unsqueeze(0)
    return x


def _shaped(tensor: Tensor | None, x: Tensor, dims: tuple[int, ...]) -> Operand | None:
    """Return a parameter or statistic of those dims, in the type that problems have it in."""
    if tensor is None:
        return None
    return converted(tensor.reshape(dims), data_type(x).accumulator)


def _layer(x: Tensor, count: int) -> tuple[dict[str, Any], tuple[int, ...], tuple[int, ...]]:
    """Return parameters, dims of scale and dims of statistics of a normalisation over the last `count` dims."""
    axis = x.dim() - count
    dims = tuple(x.shape)
    options = {"mode": NormMode.LAYER_NORM, "axis": axis}
    return options, (*[1] * axis, *dims[axis:]), (*dims[:axis], *[1] * count)


def _affine(a: Mapping[str, Any], x: Tensor, dims: tuple[int, ...]) -> dict[str, Operand | None]:
    scale, bias = _shaped(a["weight"], x, dims), _shaped(a.get("bias"), x, dims)
    if scale is None and bias is not None:
        kind = data_type(x).accumulator
        scale = scratch(kind, dims, lambda: torch.ones(dims, dtype=_torch(kind), device=x.device))
    return {"scale": scale, "bias": bias}


@aten("norm", "native_layer_norm.default")
def _layer_norm(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    x, (y, mean, deviation) = _ranked(a["input"]), out
    options, dims, statistics = _layer(x, len(a["normalized_shape"]))
    tensors = {"x": x, **_affine(a, x, dims), "y": y.view(x.shape)}
    tensors |= _saved(mean, deviation, x, statistics)
    return [pose(NormalizationForward, tensors, {"epsilon": float(a["eps"])}, **options)]


def _saved(mean: Tensor | None, deviation: Tensor | None, x: Tensor, dims: tuple[int, ...]) -> dict[str, Any]:
    if mean is None or not mean.numel():
        return {}
    return {"saved_mean": _shaped(mean, x, dims), "saved_inv_variance": _shaped(deviation, x, dims)}


@aten("norm", "native_layer_norm_backward.default")
def _layer_norm_backward(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    x = _ranked(a["input"])
    options, dims, statistics = _layer(x, len(a["normalized_shape"]))
    return _norm_backward(a, out, x, a["grad_out"], dims, _saved(a["mean"], a["rstd"], x, statistics), options)


def _norm_backward(
    a: Arguments, out: Any, x: Tensor, dy: Tensor, dims: tuple[int, ...], saved: dict[str, Any], options: dict[str, Any]
) -> list[Computation]:
    scale = _affine({"weight": a["weight"]}, x, dims)["scale"]
    gradients = _gradients(out, x, lambda like: _shaped(like, x, dims), dims)
    if scale is None:
        gradients = {"dx": gradients["dx"]}
    tensors = {"x": x, "dy": dy.reshape(x.shape), "scale": scale, **saved, **gradients}
    return [pose(NormalizationBackward, tensors, **options)]


def _groups(a: Arguments, x: Tensor) -> tuple[dict[str, Any], tuple[int, ...], tuple[int, ...]]:
    ones = [1] * (x.dim() - 2)
    options = {"mode": NormMode.GROUP_NORM, "groups": a["group"]}
    return options, (1, x.shape[1], *ones), (x.shape[0], a["group"], *ones)


@aten("norm", "native_group_norm.default")
def _group_norm(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    x = images(a["input"], 1)
    options, dims, statistics = _groups(a, x)
    tensors = {"x": x, **_affine(a, x, dims), "y": out[0].view(x.shape), **_saved(out[1], out[2], x, statistics)}
    return [pose(NormalizationForward, tensors, {"epsilon": float(a["eps"])}, **options)]


@aten("norm", "native_group_norm_backward.default")
def _group_norm_backward(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    x = images(a["input"], 1)
    options, dims, statistics = _groups(a, x)
    return _norm_backward(a, out, x, a["grad_out"], dims, _saved(a["mean"], a["rstd"], x, statistics), options)


def rms_norm(x: Tensor, count: int, weight: Tensor | None, epsilon: float, y: Operand) -> list[Computation]:
    """Return the problem of an RMS normalisation over the last `count` dims."""
    ranked = _ranked(x)
    options, dims, _ = _layer(ranked, count)
    tensors = {
        "x": ranked,
        "scale": _shaped(weight, x, dims),
        "y": y.view(ranked.shape) if is_tensor(y) else y,
    }
    return [pose(NormalizationForward, tensors, {"epsilon": epsilon}, **options | {"mode": NormMode.RMS_NORM})]


def rms_norm_backward(
    x: Tensor, dy: Tensor, count: int, weight: Tensor | None, epsilon: float, gradients: Any
) -> list[Computation]:
    """Return the problem of its gradients; `gradients` returns PyTorch's of x and the weight, when asked."""
    ranked = _ranked(x)
    options, dims, _ = _layer(ranked, count)
    kind = data_type(x)
    tensors: dict[str, Operand | None] = {"x": ranked, "dy": dy.reshape(ranked.shape)}
    tensors["dx"] = scratch(kind, tuple(ranked.shape), lambda: gradients()[0].reshape(ranked.shape))
    if weight is not None:
        tensors["scale"] = _shaped(weight, x, dims)
        tensors["dscale"] = scratch(kind.accumulator, dims, lambda: gradients()[1].reshape(dims))
    found = pose(NormalizationBackward, tensors, {"epsilon": epsilon}, **options | {"mode": NormMode.RMS_NORM})
    return [found]


@aten("norm", "_fused_rms_norm.default")
def _fused_rms_norm(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    x, epsilon = a["input"], a["eps"]
    epsilon = torch.finfo(x.dtype).eps if epsilon is None else float(epsilon)
    return rms_norm(x, len(a["normalized_shape"]), a["weight"], epsilon, out[0])


@aten("norm", "_fused_rms_norm_backward.default")
def _fused_rms_norm_backward(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    x = _ranked(a["input"])
    options, dims, statistics = _layer(x, len(a["normalized_shape"]))
    saved = {"saved_inv_variance": _shaped(a["rstd"], x, statistics)}
    found = _norm_backward(a, out, x, a["grad_out"], dims, saved, options | {"mode": NormMode.RMS_NORM})
    return found
