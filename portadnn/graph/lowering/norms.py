"""Normalisations by the Problems of batch, layer, RMS and instance normalisation."""

from __future__ import annotations

import math

from ...enums import BatchNormMode, OpTensorOp
from ...ops.batch_norm import BatchNormalizationBackward, BatchNormalizationForwardTraining
from ...ops.batch_norm_parts import (
    BatchNormalizationApply,
    BatchNormalizationBackwardApply,
    BatchNormalizationBackwardStatistics,
    BatchNormalizationStatistics,
)
from ...ops.normalization import NormalizationBackward, NormalizationForward, NormMode
from .pointwise import combine
from .steps import Exchange, Lowering, View

_MODES = {"layernorm": NormMode.LAYER_NORM, "rmsnorm": NormMode.RMS_NORM, "instancenorm": NormMode.INSTANCE_NORM}


def _parameter(low: Lowering, port: str, x: View) -> View | None:
    """Return a parameter or statistic, which has the type in which x is summed up."""
    return low.view(port, x.spec.dtype.accumulator) if low.has(port) else None


def _gathered(low: Lowering, x: View, first: View, second: View) -> tuple[View, View, View]:
    """Exchange two tensors of a number for each channel; return those of all ranks, and the counts of elements."""
    peers = [port for port, _ in low.operation.inputs if port.startswith("PEER_STATS_")]
    for port in peers:
        _parameter(low, port, x)
    shape, real = first.dims[1:], x.spec.dtype.accumulator
    all_first, all_second = (low.temporary((len(peers), *shape), real) for _ in range(2))
    counts = low.temporary((len(peers), *(1,) * len(shape)), real)
    uids = tuple(low.operation.uids[port] for port in sorted(peers, key=lambda port: int(port.rpartition("_")[2])))
    count = math.prod(x.dims) // max(x.dims[1], 1)
    rank = low.operation["peer_rank"]
    low.steps.append(Exchange((first, second), (all_first, all_second, counts), count, uids, rank))
    return all_first, all_second, counts


def _with_peers(low: Lowering) -> bool:
    return low.has("PEER_STATS_0")


def _batchnorm(low: Lowering) -> None:
    x = low.view("X")
    low.check_compute(x.spec.dtype)
    y = low.view("Y", x.spec.dtype)
    running: list[View | None] = [None, None]
    momentum: object = 1.0
    if low.has("PREV_RUNNING_MEAN"):
        momentum = low.number("MOMENTUM")
        for i, name in enumerate(("MEAN", "VAR")):
            before = _parameter(low, f"PREV_RUNNING_{name}", x)
            running[i] = after = _parameter(low, f"NEXT_RUNNING_{name}", x)
            assert before is not None and after is not None
            if before.memory != after.memory:
                low.copy(before, after)
    named = [_parameter(low, port, x) for port in ("SCALE", "BIAS")]
    saved = [_parameter(low, port, x) for port in ("MEAN", "INV_VARIANCE")]
    if _with_peers(low):
        shape = (1, x.dims[1], *(1,) * (len(x.dims) - 2))
        own = [low.temporary(shape, x.spec.dtype.accumulator) for _ in range(2)]
        low.emit(BatchNormalizationStatistics, (x, *own), (BatchNormMode.SPATIAL,))
        gathered = _gathered(low, x, own[0], own[1])
        tensors = (x, *named, *gathered, y, *running, *saved)
        low.emit(BatchNormalizationApply, tensors, (BatchNormMode.SPATIAL,), (momentum, low.number("EPSILON")))  # type: ignore[arg-type]
        return
    numbers = (1.0, 0.0, momentum, low.number("EPSILON"))
    tensors = (x, *named, y, *running, *saved)
    low.emit(BatchNormalizationForwardTraining, tensors, (BatchNormMode.SPATIAL,), numbers)  # type: ignore[arg-type]


def _batchnorm_inference(low: Lowering) -> None:
    """(x - mean) * inv_variance * scale + bias, one after another; x and the parameters have one type."""
    y = low.view("Y")
    low.check_compute(y.spec.dtype)
    ports = ("X", "MEAN", "INV_VARIANCE", "SCALE", "BIAS")
    x, mean, inverse, scale, bias = (low.view(port, y.spec.dtype) for port in ports)
    work = low.work(x.dims, y.spec.dtype, x.strides)
    combine(low, OpTensorOp.ADD, x, mean, work, (1.0, -1.0))
    combine(low, OpTensorOp.MUL, work, inverse, work)
    combine(low, OpTensorOp.MUL, work, scale, work)
    combine(low, OpTensorOp.ADD, work, bias, y)


def _batchnorm_backward(low: Lowering) -> None:
    x = low.view("X")
    low.check_compute(x.spec.dtype)
    dy, dx = low.view("DY", x.spec.dtype), low.view("DX", x.spec.dtype)
    scale, mean, inverse, dscale, dbias = (
        _parameter(low, port, x) for port in ("SCALE", "MEAN", "INV_VARIANCE", "DSCALE", "DBIAS")
    )
    if _with_peers(low):
        shape = (1, x.dims[1], *(1,) * (len(x.dims) - 2))
        own = [low.temporary(shape, x.spec.dtype.accumulator) for _ in range(2)]
        low.emit(BatchNormalizationBackwardStatistics, (x, dy, mean, inverse, *own), (BatchNormMode.SPATIAL,))
        gathered = _gathered(low, x, own[0], own[1])
        tensors = (x, dy, scale, mean, inverse, *gathered, dx, dscale, dbias)
        low.emit(BatchNormalizationBackwardApply, tensors, (BatchNormMode.SPATIAL,))
        return
    low.emit(BatchNormalizationBackward, (x, dy, scale, mean, inverse, dx, dscale, dbias), (BatchNormMode.SPATIAL,))


def _axis(low: Lowering, x: View, scale: View) -> int:
    """Return the axis from which on scale has the size of x, and before which it is 1."""
    wide = [axis for axis, (s, d) in enumerate(zip(scale.dims, x.dims, strict=True)) if s == d and d != 1]
    first = wide[0] if wide else len(x.dims) - 1
    if scale.dims != (*(1,) * first, *x.dims[first:]):
        raise low.refuse("PG-ENGINE-004", "SCALE", expected="ones, then the last dims of X", got=list(scale.dims))
    return first


def _mode(low: Lowering, x: View, scale: View) -> tuple[NormMode, int, int]:
    mode = _MODES[low.operation.kind.removesuffix("_backward")]
    return mode, 1 if mode is NormMode.INSTANCE_NORM else _axis(low, x, scale), 1


def _forward(low: Lowering) -> None:
    x = low.view("X")
    low.check_compute(x.spec.dtype)
    y, scale, bias = low.view("Y", x.spec.dtype), _parameter(low, "SCALE", x), _parameter(low, "BIAS", x)
    assert scale is not None
    saved = [_parameter(low, port, x) for port in ("MEAN", "INV_VARIANCE")]
    numbers = (1.0, 0.0, low.number("EPSILON"))
    low.emit(NormalizationForward, (x, scale, bias, y, *saved), _mode(low, x, scale), numbers)


def _backward(low: Lowering) -> None:
    x = low.view("X")
    low.check_compute(x.spec.dtype)
    dy, dx, scale = low.view("DY", x.spec.dtype), low.view("DX", x.spec.dtype), _parameter(low, "SCALE", x)
    assert scale is not None
    rms = low.operation.kind == "rmsnorm_backward"
    ports = ("MEAN", "INV_VARIANCE", *(("Dscale", "Dbias") if rms else ("DSCALE", "DBIAS")))
    mean, inverse, dscale, dbias = (_parameter(low, port, x) for port in ports)
    low.emit(NormalizationBackward, (x, dy, scale, mean, inverse, dx, dscale, dbias), _mode(low, x, scale))


def _adaptive(low: Lowering) -> None:
    """Normalise without parameters, then scale and shift by those of each entry of the batch."""
    x = low.view("X")
    low.check_compute(x.spec.dtype)
    y, scale = low.view("Y", x.spec.dtype), low.view("SCALE", x.spec.dtype)
    batch = len(x.dims) - len(low.info("X").dims)  # behind the ones that make up the least rank
    pattern = scale.seen_as((*(1,) * (batch + 1), *scale.dims[batch + 1 :]), scale.strides)
    axis = _axis(low, x, pattern)
    saved = [_parameter(low, port, x) for port in ("MEAN", "INV_VARIANCE")]
    work = low.work(x.dims, x.spec.dtype)
    numbers = (1.0, 0.0, low.number("EPSILON"))
    low.emit(NormalizationForward, (x, None, None, work, *saved), (NormMode.LAYER_NORM, axis, 1), numbers)
    if not low.has("BIAS"):
        combine(low, OpTensorOp.MUL, work, scale, y)
        return
    combine(low, OpTensorOp.MUL, work, scale, work)
    combine(low, OpTensorOp.ADD, work, low.view("BIAS", x.spec.dtype), y)


LOWERINGS = {
    "batchnorm": _batchnorm,
    "batchnorm_inference": _batchnorm_inference,
    "batchnorm_backward": _batchnorm_backward,
    "layernorm": _forward,
    "layernorm_backward": _backward,
    "rmsnorm": _forward,
    "rmsnorm_backward": _backward,
    "instancenorm": _forward,
    "instancenorm_backward": _backward,
    "adalayernorm": _adaptive,
}
