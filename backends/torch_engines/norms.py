"""Normalisations: batch, layer, instance, group, RMS, and local response across channels."""

from __future__ import annotations

import math
from typing import Any

from portadnn.enums import BatchNormMode
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
from portadnn.ops.batch_norm_stored import StoredBackward, StoredInference, StoredTraining
from portadnn.ops.divisive_norm import DivisiveNormalizationBackward, DivisiveNormalizationForward
from portadnn.ops.lrn import LRNCrossChannelBackward, LRNCrossChannelForward
from portadnn.ops.normalization import NormalizationBackward, NormalizationForward, NormMode

from ..base import DeviceInfo
from .way import Bind, Bound, Numbers, Tensors, Way, Ways, blended, gradient, lacking

_FLAT = ("scale", "bias", "estimated_mean", "estimated_variance", "saved_mean", "saved_inv_variance")


def _or_nothing(bind: Bind) -> Bind:
    """Return what binds as `bind` does, and an empty x as torch.mean and torch.sum have it, which operators refuse."""

    def bound(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
        if p.x.size:
            return bind(torch, p, numbers, t)
        sums = {"dscale": 0.0, "dbias": 0.0}
        return lambda: {name: torch.full_like(t[name], sums.get(name, math.nan)) for name in p.written}

    return bound


# batch normalisation


def _channels(p: Any, t: Tensors) -> Tensors:
    """Return the tensors with what is normalised together as a channel, and the parameters as vectors."""
    images = {name: t[name] for name in ("x", "dy") if name in t}
    if p.mode is BatchNormMode.PER_ACTIVATION:
        images = {name: image.flatten(1) for name, image in images.items()}
    return images | {name: t[name].flatten() for name in _FLAT if name in t}


def _training(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    c = _channels(p, t)
    factor, epsilon = numbers["exponential_average_factor"], numbers["epsilon"]
    running = [t[name] for name in ("running_mean", "running_variance") if name in t]
    if factor == 1:  # they are not to be read
        running = [torch.zeros_like(statistic) for statistic in running]

    def run() -> Tensors:
        keeps = [statistic.flatten().to(c["scale"].dtype, copy=True) for statistic in running]  # of 16 bits, too
        y, *saved = torch.ops.aten.native_batch_norm(
            c["x"], c["scale"], c["bias"], *(keeps or (None, None)), True, factor, epsilon
        )
        names = ("running_mean", "running_variance", "saved_mean", "saved_inv_variance")
        found = dict(zip(names, [*(keeps or (None, None)), *saved], strict=True))
        return {"y": y.view(p.y.dims)} | {n: found[n].view(getattr(p, n).dims) for n in names if n in t}

    return run


def _inference(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    c, function = _channels(p, t), torch.nn.functional.batch_norm
    parameters = (c["estimated_mean"], c["estimated_variance"], c["scale"], c["bias"])
    return lambda: {"y": function(c["x"], *parameters, False, 0.0, numbers["epsilon"]).view(p.y.dims)}


def _batch_gradients(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    c, aten, epsilon = _channels(p, t), torch.ops.aten, numbers["epsilon"]
    saved = [c[name] for name in ("saved_mean", "saved_inv_variance") if name in c]
    if not saved:
        saved = aten.native_batch_norm(c["x"], c["scale"], None, None, None, True, 0.0, epsilon)[1:]

    def run() -> Tensors:
        found = aten.native_batch_norm_backward(
            c["dy"], c["x"], c["scale"], None, None, *saved, True, epsilon, [True, True, True]
        )
        names = ("dx", "dscale", "dbias")
        return {name: value.view(getattr(p, name).dims) for name, value in zip(names, found, strict=True)}

    return run


# batch normalisation over several ranks


def _axes(p: Any) -> tuple[int, ...]:
    return (0,) if p.mode is BatchNormMode.PER_ACTIVATION else (0, *range(2, len(p.x.dims)))


def _statistics(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    def run() -> Tensors:
        if not t["x"].numel():
            return {name: torch.zeros_like(t[name]) for name in ("mean", "variance")}
        variance, mean = torch.var_mean(t["x"], _axes(p), correction=0, keepdim=True)
        return {"mean": mean, "variance": variance}

    return run


def _apply(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    counts = t["counts"]

    def run() -> Tensors:
        count = counts.sum()
        pivot = t["means"][:1]
        rest = (counts * (t["means"] - pivot)).sum(0, keepdim=True) / count
        away = t["means"] - pivot - rest
        variance = (counts * (t["variances"] + away.square())).sum(0, keepdim=True) / count
        inverse = (variance + numbers["epsilon"]).rsqrt()
        found = {"y": (t["x"] - pivot - rest) * (inverse * t["scale"]) + t["bias"]}
        if "saved_mean" in t:
            found |= {"saved_mean": pivot + rest, "saved_inv_variance": inverse}
        factor = numbers["exponential_average_factor"]
        new = {"running_mean": pivot + rest, "running_variance": variance * (count / (count - 1))}
        for name, value in new.items():
            if name in t:
                found[name] = value if factor == 1 else factor * value + (1 - factor) * t[name]
        return found

    return run


def _shares(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    def run() -> Tensors:
        z = (t["x"] - t["saved_mean"]) * t["saved_inv_variance"]
        dscale, dbias = ((t["dy"] * factor).sum(_axes(p), keepdim=True) for factor in (z, 1))
        return {"dscale": dscale, "dbias": dbias}

    return run


def _apply_gradients(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    def run() -> Tensors:
        count, inverse = t["counts"].sum(), t["saved_inv_variance"]
        dscale, dbias = (t[name].sum(0, keepdim=True) for name in ("dscales", "dbiases"))
        z = (t["x"] - t["saved_mean"]) * inverse
        found = {"dx": (t["dy"] - dbias / count - z * (dscale / count)) * (t["scale"] * inverse)}
        return found | ({"dscale": dscale, "dbias": dbias} if "dscale" in t else {})

    return run


# layer, instance, group and RMS normalisation


def _normalized_dims(p: Any) -> list[int]:
    """Return the dims that a layer's or an RMS normalisation is taken over."""
    return list(p.x.dims[p.axis % len(p.x.dims) :])


def _group_sizes(p: Any) -> tuple[int, int, int, int]:
    """Return images, channels, pixels and groups; an instance is a group of one channel."""
    n, channels, *spatial = p.x.dims
    return n, channels, math.prod(spatial), channels if p.mode is NormMode.INSTANCE_NORM else p.groups


def _parameters(p: Any, t: Tensors) -> tuple[Any, Any]:
    """Return scale and bias in PyTorch's dims, None for what is not there."""
    shape = _normalized_dims(p) if p.mode in (NormMode.LAYER_NORM, NormMode.RMS_NORM) else [p.x.dims[1]]
    scale, bias = (t[name].reshape(shape) if name in t else None for name in ("scale", "bias"))
    return scale, bias


def _rms(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    x, dims, (scale, bias) = t["x"], _normalized_dims(p), _parameters(p, t)
    axes = tuple(range(-len(dims), 0))

    def run() -> Tensors:
        y = torch.nn.functional.rms_norm(x, dims, scale, numbers["epsilon"])
        found = {"y": y if bias is None else y + bias}
        if "saved_inv_variance" in t:
            found["saved_inv_variance"] = (x.square().mean(axes, keepdim=True) + numbers["epsilon"]).rsqrt()
        return found

    return run


def _normalize(torch: Any, p: Any, numbers: Numbers, x: Any, scale: Any, bias: Any) -> Any:
    """Return y, mean and inverse deviation of a layer, instance or group normalisation."""
    aten = torch.ops.aten
    if p.mode is NormMode.LAYER_NORM:
        return aten.native_layer_norm(x, _normalized_dims(p), scale, bias, numbers["epsilon"])
    x = x.contiguous()  # of another layout it takes the numbers in their order in memory
    return aten.native_group_norm(x, scale, bias, *_group_sizes(p), numbers["epsilon"])


def _forward(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    if p.mode is NormMode.RMS_NORM:
        return _rms(torch, p, numbers, t)
    x, (scale, bias) = t["x"], _parameters(p, t)

    def run() -> Tensors:
        found = zip(
            ("y", "saved_mean", "saved_inv_variance"), _normalize(torch, p, numbers, x, scale, bias), strict=True
        )
        return {name: value.view(getattr(p, name).dims) for name, value in found if name in t}

    return run


def _why_not_gradients(problem: Any, info: DeviceInfo) -> str | None:
    if problem.mode is NormMode.RMS_NORM and problem.saved_inv_variance is not None:
        return "PyTorch's gradients of RMS_NORM take no saved deviations"
    return None


def _rms_gradients(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    x, dy, dims, scale = t["x"], t["dy"], _normalized_dims(p), _parameters(p, t)[0]
    inputs = (x,) if scale is None else (x, scale)
    compute = gradient(
        torch, lambda x, *w: torch.nn.functional.rms_norm(x, dims, *w, eps=numbers["epsilon"]), inputs, dy
    )

    def run() -> Tensors:
        found = dict(zip(("dx", "dscale"), compute(), strict=False))
        if "dbias" in t:
            found["dbias"] = dy.sum(tuple(range(len(p.x.dims) - len(dims))))
        return {name: value.view(getattr(p, name).dims) for name, value in found.items() if name in t}

    return run


def _gradients(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    if p.mode is NormMode.RMS_NORM:
        return _rms_gradients(torch, p, numbers, t)
    aten, layer = torch.ops.aten, p.mode is NormMode.LAYER_NORM
    x, dy, (scale, _) = t["x"], t["dy"], _parameters(p, t)
    saved = [t[name] for name in ("saved_mean", "saved_inv_variance") if name in t]
    if not saved:
        saved = _normalize(torch, p, numbers, x, scale, None)[1:]
    saved = [statistic.view(p.statistics_dims if layer else _group_sizes(p)[::3]) for statistic in saved]
    mask = [True, "dscale" in t, "dbias" in t]
    bias = None if scale is None else torch.zeros_like(scale)

    def run() -> Tensors:
        if layer:
            found = aten.native_layer_norm_backward(dy, x, _normalized_dims(p), *saved, scale, bias, mask)
        else:
            images = dy.contiguous(), x.contiguous()
            found = aten.native_group_norm_backward(*images, *saved, scale, *_group_sizes(p), mask)
        wanted = zip(("dx", "dscale", "dbias"), found, strict=True)
        return {name: value.view(getattr(p, name).dims) for name, value in wanted if name in t}

    return run


# local response normalisation


def _why_no_lrn(problem: Any, info: DeviceInfo) -> str | None:
    if problem.lrn_n % 2 == 0:
        return "PyTorch's window of an even n reaches one channel further before the centre, the guide's after it"
    return None


def _local_response(torch: Any, p: Any) -> Any:
    function = torch.nn.functional.local_response_norm
    return lambda x: function(x, p.lrn_n, p.lrn_alpha, p.lrn_beta, p.lrn_k)


def _lrn(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    function, x = _local_response(torch, p), t["x"]
    return lambda: {"y": function(x)}


def _lrn_gradient(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    compute = gradient(torch, _local_response(torch, p), (t["x"],), t["dy"])
    return lambda: {"dx": compute()[0]}


_PARAMETERS = ("alpha_param_diff", "beta_param_diff")
_BACKWARD = {"dx": ("alpha_data_diff", "beta_data_diff"), "dscale": _PARAMETERS, "dbias": _PARAMETERS}

_NO_DIVISION = lacking("PyTorch has no divisive normalisation")

WAYS: Ways = {
    BatchNormalizationForwardTraining: Way(_or_nothing(_training), blends=blended("y")),
    BatchNormalizationForwardInference: Way(_inference, blends=blended("y")),
    BatchNormalizationBackward: Way(_or_nothing(_batch_gradients), blends=_BACKWARD),
    StoredTraining: Way(_or_nothing(_training), blends=blended("y")),
    StoredInference: Way(_inference, blends=blended("y")),
    StoredBackward: Way(_or_nothing(_batch_gradients), blends=_BACKWARD),
    BatchNormalizationStatistics: Way(_statistics),
    BatchNormalizationApply: Way(_apply),
    BatchNormalizationBackwardStatistics: Way(_shares),
    BatchNormalizationBackwardApply: Way(_apply_gradients),
    NormalizationForward: Way(_or_nothing(_forward), blends=blended("y")),
    NormalizationBackward: Way(_or_nothing(_gradients), _why_not_gradients, blends=_BACKWARD),
    DivisiveNormalizationForward: _NO_DIVISION,
    DivisiveNormalizationBackward: _NO_DIVISION,
    LRNCrossChannelForward: Way(_lrn, _why_no_lrn, blends=blended("y")),
    LRNCrossChannelBackward: Way(_lrn_gradient, _why_no_lrn, blends=blended("dx")),
}
