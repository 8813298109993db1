"""Normalisations, their gradients and the parts of batch normalisation as primitive nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from portadnn.graph.data_types import data_type
from portadnn.graph.enums import pointwise_mode as mode
from portadnn.graph.enums import reduction_mode
from portadnn.graph.layout import Dims
from portadnn.graph.operation_graph import TensorInfo
from portadnn.graph.ops.layer_norm import statistics_dims

from ..values import Sample, Value
from .expander import Expander

AVG, SUM = reduction_mode.AVG, reduction_mode.ADD
DEFAULT_EPSILON = 1e-5  # of the gradient of an instance normalisation that saved nothing


def _number(e: Expander, value: float) -> Value:
    """Return a number of the host's that the kernel has as a literal."""
    kind = data_type.DOUBLE if e.computes() == "D" else data_type.FLOAT
    info = TensorInfo(0, f"{value:g}", (1,), (1,), kind, by_value=True, value=value, constant=True)
    return Value(info.name, (1,) * e.program.rank, kind, info, (1,) * e.program.rank)


def _emit(e: Expander, port: str, value: Value) -> Value:
    """Let a value be what an output is, rounded to its type, where there is such an output."""
    return e.point(mode.IDENTITY, value, out=e.output(port)) if e.has(port) else value


def _statistics(e: Expander) -> Dims:
    info, scale = e.info("X"), e.info("SCALE")
    dims = statistics_dims(e.operation.kind, info.dims, scale.dims)
    return (*(1,) * (e.program.rank - len(dims)), *dims)


def _channels(e: Expander) -> Dims:
    """Return (1, c, 1, ...) for X."""
    rank = len(e.info("X").dims)
    dims = [1] * e.program.rank
    dims[e.program.rank - rank + 1] = e.info("X").dims[1]
    return tuple(dims)


def _moments(e: Expander, x: Value, dims: Sequence[int]) -> tuple[Value, Value, Value]:
    """Return the mean, x less it, and the variance.

    The first of the numbers is taken away from all beforehand: a mean much larger than the deviation costs no digits.
    """
    first = e.reduce(Sample.FIRST, x, dims)
    rough = e.point(mode.SUB, x, first)
    rest = e.reduce(AVG, rough, dims)
    squares = e.reduce(AVG, e.point(mode.MUL, rough, rough), dims)
    variance = e.point(mode.SUB, squares, e.point(mode.MUL, rest, rest))
    variance = e.point(mode.MAX, variance, _number(e, 0.0))
    return e.point(mode.ADD, first, rest), e.point(mode.SUB, rough, rest), variance


def _inverse(e: Expander, variance: Value, epsilon: Value) -> Value:
    return e.point(mode.RSQRT, e.point(mode.ADD, variance, epsilon))


def _scaled(e: Expander, z: Value, port: str = "Y") -> None:
    y = e.point(mode.MUL, z, e.input("SCALE"))
    _emit(e, port, e.point(mode.ADD, y, e.input("BIAS")) if e.has("BIAS") else y)


def _running(e: Expander, mean: Value, variance: Value, factor: Value) -> None:
    """(1 - momentum) * previous + momentum * new, with the unbiased variance: `factor` times the biased one."""
    if not e.has("PREV_RUNNING_MEAN"):
        return
    momentum = e.input("MOMENTUM")
    rest = e.point(mode.SUB, _number(e, 1.0), momentum)
    unbiased = e.point(mode.MUL, variance, factor)
    for name, new in (("MEAN", mean), ("VAR", unbiased)):
        before = e.point(mode.MUL, rest, e.input(f"PREV_RUNNING_{name}"))
        _emit(e, f"NEXT_RUNNING_{name}", e.point(mode.ADD, before, e.point(mode.MUL, momentum, new)))


def _batchnorm(e: Expander) -> None:
    x, dims = e.input("X"), _channels(e)
    mean, centred, variance = _moments(e, x, dims)
    inverse = _inverse(e, variance, e.input("EPSILON"))
    _emit(e, "MEAN", mean)
    _emit(e, "INV_VARIANCE", inverse)
    count = x.size // math.prod(dims)
    _running(e, mean, variance, _number(e, count / (count - 1) if count > 1 else math.inf))
    _scaled(e, e.point(mode.MUL, centred, inverse))


def _inference(e: Expander) -> None:
    centred = e.point(mode.SUB, e.input("X"), e.input("MEAN"))
    _scaled(e, e.point(mode.MUL, centred, e.input("INV_VARIANCE")))


def _forward(e: Expander) -> None:
    x, dims = e.input("X"), _statistics(e)
    if e.operation.kind == "rmsnorm":
        centred, variance = x, e.reduce(AVG, e.point(mode.MUL, x, x), dims)
    else:
        mean, centred, variance = _moments(e, x, dims)
        _emit(e, "MEAN", mean)
    inverse = _inverse(e, variance, e.input("EPSILON"))
    _emit(e, "INV_VARIANCE", inverse)
    _scaled(e, e.point(mode.MUL, centred, inverse))


def _gradients(e: Expander, z: Value, inverse: Value, dims: Sequence[int], *, centred: bool = True) -> tuple[str, ...]:
    """Add dx = inverse * (g - mean(g) - z * mean(g * z)) with g = dy * scale, the second term if `centred`."""
    g = e.point(mode.MUL, e.input("DY"), e.input("SCALE"))
    along = e.reduce(AVG, e.point(mode.MUL, g, z), dims)
    rest = e.point(mode.SUB, g, e.reduce(AVG, g, dims)) if centred else g
    _emit(e, "DX", e.point(mode.MUL, inverse, e.point(mode.SUB, rest, e.point(mode.MUL, z, along))))
    return ("DSCALE", "DBIAS") if e.operation.kind != "rmsnorm_backward" else ("Dscale", "Dbias")


def _parameters(e: Expander, z: Value, ports: Sequence[str]) -> None:
    """Add the sums of dy * z and of dy."""
    for port, summed in zip(ports, (e.point(mode.MUL, e.input("DY"), z), e.input("DY")), strict=True):
        if e.has(port):
            e.reduce(SUM, summed, e.dims(port), e.output(port))


def _backward(e: Expander) -> None:
    x, dims = e.input("X"), _statistics(e)
    if e.operation.kind == "rmsnorm_backward":
        centred, inverse = x, e.input("INV_VARIANCE")
    elif e.has("MEAN"):
        centred, inverse = e.point(mode.SUB, x, e.input("MEAN")), e.input("INV_VARIANCE")
    else:
        _, centred, variance = _moments(e, x, dims)
        inverse = _inverse(e, variance, _number(e, DEFAULT_EPSILON))
    z = e.point(mode.MUL, centred, inverse)
    ports = _gradients(e, z, inverse, dims, centred=e.operation.kind != "rmsnorm_backward")
    _parameters(e, z, ports)


def _batchnorm_backward(e: Expander) -> None:
    inverse, dims = e.input("INV_VARIANCE"), _channels(e)
    z = e.point(mode.MUL, e.point(mode.SUB, e.input("X"), e.input("MEAN")), inverse)
    dy = e.input("DY")
    dscale = e.reduce(SUM, e.point(mode.MUL, dy, z), dims)
    dbias = e.reduce(SUM, dy, dims)
    _emit(e, "DSCALE", dscale)
    _emit(e, "DBIAS", dbias)
    share = _number(e, 1.0 / (dy.size / math.prod(dims)))
    along = e.point(mode.MUL, z, e.point(mode.MUL, dscale, share))
    rest = e.point(mode.SUB, e.point(mode.SUB, dy, e.point(mode.MUL, dbias, share)), along)
    factor = e.point(mode.MUL, inverse, e.input("SCALE"))
    _emit(e, "DX", e.point(mode.MUL, factor, rest))


def _finalize(e: Expander) -> None:
    """Batch normalisation's statistics from genstats' sums, and y = EQ_SCALE * x + EQ_BIAS."""
    count = e.input("ACCUM_COUNT")
    mean = e.point(mode.DIV, e.input("SUM"), count)
    squares = e.point(mode.DIV, e.input("SQ_SUM"), count)
    variance = e.point(mode.SUB, squares, e.point(mode.MUL, mean, mean))
    inverse = _inverse(e, variance, e.input("EPSILON"))
    scale = e.point(mode.MUL, e.input("SCALE"), inverse)
    _emit(e, "EQ_SCALE", scale)
    _emit(e, "EQ_BIAS", e.point(mode.SUB, e.input("BIAS"), e.point(mode.MUL, mean, scale)))
    _emit(e, "MEAN", mean)
    _emit(e, "INV_VARIANCE", inverse)
    _running(e, mean, variance, e.point(mode.DIV, count, e.point(mode.SUB, count, _number(e, 1.0))))


def _weight(e: Expander) -> None:
    """Gradients of scale and bias, and dx = EQ_SCALE_DY * dy + EQ_SCALE_X * x + EQ_BIAS."""
    inverse, dims, dy = e.input("INV_VARIANCE"), _channels(e), e.input("DY")
    mean = e.input("MEAN")
    z = e.point(mode.MUL, e.point(mode.SUB, e.input("X"), mean), inverse)
    dscale = e.reduce(SUM, e.point(mode.MUL, dy, z), dims)
    dbias = e.reduce(SUM, dy, dims)
    _emit(e, "DSCALE", dscale)
    _emit(e, "DBIAS", dbias)
    a = e.point(mode.MUL, e.input("SCALE"), inverse)
    share = e.point(mode.MUL, a, _number(e, -1.0 / (dy.size / math.prod(dims))))
    b = e.point(mode.MUL, e.point(mode.MUL, share, inverse), dscale)
    _emit(e, "EQ_SCALE_DY", a)
    _emit(e, "EQ_SCALE_X", b)
    _emit(e, "EQ_BIAS", e.point(mode.SUB, e.point(mode.MUL, share, dbias), e.point(mode.MUL, b, mean)))


RULES: dict[str, Callable[[Expander], None]] = {
    "batchnorm": _batchnorm,
    "batchnorm_inference": _inference,
    "batchnorm_backward": _batchnorm_backward,
    "bn_finalize": _finalize,
    "dbn_weight": _weight,
    **dict.fromkeys(("layernorm", "adalayernorm", "rmsnorm", "instancenorm"), _forward),
    **dict.fromkeys(
        ("layernorm_backward", "adalayernorm_backward", "rmsnorm_backward", "instancenorm_backward"), _backward
    ),
}
