"""Fused graphs beside the same graphs node by node: blocks of ResNet, U-Net and transformers.

Graphs are built through the methods that ``portadnn.graph`` shares with cudnn-frontend's Python module, so that both
can build them. ``portadnn bench graphs DIR`` measures and writes the record.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import portadnn.graph as pg
from portadnn.graph.data_types import data_type
from portadnn.graph.memory import number
from portadnn.handle import Handle

from .runner import geometric_mean
from .timing import Side, alternate, processor_ratio, ratio

EPSILON = 1e-5
BATCH = 200  # calls of a small graph between two waits


class Block:
    """A graph under construction, of module `api`: portadnn.graph, or cudnn-frontend's.

    Attributes
    ----------
    size : int
        Images, or sequences.
    """

    def __init__(self, api: Any, graph: Any, size: int) -> None:
        self.api, self.g, self.size = api, graph, size

    def image(self, channels: int, side: int) -> Any:
        """Return an input of images, channels last."""
        c, p = channels, side * side
        return self.g.tensor(dim=[self.size, c, side, side], stride=[c * p, 1, side * c, c])

    def filters(self, count: int, channels: int, window: int) -> Any:
        """Return square filters, channels last."""
        c = channels
        return self.g.tensor(dim=[count, c, window, window], stride=[c * window * window, 1, window * c, c])

    def channels(self, count: int) -> Any:
        """Return a number for each channel."""
        return self.g.tensor(dim=[1, count, 1, 1], stride=[count, 1, count, count])

    def rows(self, *dims: int) -> Any:
        """Return a packed input."""
        strides = [math.prod(dims[i + 1 :]) for i in range(len(dims))]
        return self.g.tensor(dim=list(dims), stride=strides)

    def scalar(self, value: float) -> Any:
        """Return a constant."""
        return self.g.tensor_scalar(value) if self.api is pg else self.g.tensor_like(np.full((1, 1, 1, 1), value))

    def conv(self, x: Any, w: Any, padding: int, stride: int = 1) -> Any:
        """Return a convolution."""
        return self.g.conv_fprop(
            image=x, weight=w, padding=[padding, padding], stride=[stride, stride], dilation=[1, 1]
        )


def _conv_bias_relu(b: Block) -> list[Any]:
    return [b.g.relu(b.g.bias(b.conv(b.image(64, 28), b.filters(64, 64, 3), 1), b.channels(64)))]


def _conv_scale_add_relu(b: Block) -> list[Any]:
    y = b.conv(b.image(64, 28), b.filters(256, 64, 1), 0)
    y = b.g.add(b.g.scale(y, b.channels(256)), b.channels(256))
    return [b.g.relu(b.g.add(y, b.image(256, 28)))]


def _norm_add_relu(b: Block) -> list[Any]:
    y = b.g.batchnorm_inference(b.image(128, 28), *(b.channels(128) for _ in range(4)))
    return [b.g.relu(b.g.add(y, b.image(128, 28)))]


def _batchnorm_relu(b: Block) -> list[Any]:
    x = b.image(64, 28)
    parameters = [b.channels(64) for _ in range(4)]
    y, mean, inverse, *running = b.g.batchnorm(x, *parameters, b.scalar(EPSILON), b.scalar(0.1))
    return [b.g.relu(y), mean, inverse, *running]


def _relu_gradient_add(b: Block) -> list[Any]:
    dy = b.g.add(b.image(128, 28), b.image(128, 28))
    return [dx := b.g.relu_backward(dy, b.image(128, 28)), b.g.mul(dx, b.channels(128))]


def _conv_bias_swish(b: Block) -> list[Any]:
    return [b.g.swish(b.g.bias(b.conv(b.image(32, 32), b.filters(32, 32, 3), 1), b.channels(32)))]


def _instancenorm_leaky(b: Block) -> list[Any]:
    scale, bias = b.channels(32), b.channels(32)
    y, _, _ = b.g.instancenorm(pg.norm_forward_phase.INFERENCE, b.image(32, 32), scale, bias, b.scalar(EPSILON))
    return [b.g.leaky_relu(y, negative_slope=0.01)]


def _gate(b: Block) -> list[Any]:
    x, skip = b.image(64, 32), b.image(64, 32)
    return [b.g.mul(skip, b.g.sigmoid(b.g.add(b.g.mul(x, b.channels(64)), b.channels(64))))]


def _matmul_bias_gelu(b: Block) -> list[Any]:
    y = b.g.matmul(b.rows(1, 32 * b.size, 256), b.rows(1, 256, 1024))
    return [b.g.gelu_approx_tanh(b.g.add(y, b.rows(1, 1, 1024)))]


def _scale_mask_softmax(b: Block) -> list[Any]:
    scores = b.g.add(b.g.mul(b.rows(b.size, 8, 128, 128), b.scalar(0.125)), b.rows(1, 1, 128, 128))
    top = b.g.reduction(scores, mode=b.api.reduction_mode.MAX)
    powers = b.g.exp(b.g.sub(scores, top.set_dim([b.size, 8, 128, 1]).set_stride([1024, 128, 1, 1])))
    total = b.g.reduction(powers, mode=b.api.reduction_mode.ADD)
    return [b.g.div(powers, total.set_dim([b.size, 8, 128, 1]).set_stride([1024, 128, 1, 1]))]


def _residual_layernorm(b: Block) -> list[Any]:
    total = b.g.add(b.rows(64 * b.size, 512, 1, 1), b.rows(64 * b.size, 512, 1, 1))
    scale, bias = b.rows(1, 512, 1, 1), b.rows(1, 512, 1, 1)
    y, _, _ = b.g.layernorm(pg.norm_forward_phase.INFERENCE, total, scale, bias, b.scalar(EPSILON))
    return [y, total]


def _swiglu(b: Block) -> list[Any]:
    return [b.g.mul(b.g.swish(b.rows(64 * b.size, 1024)), b.rows(64 * b.size, 1024))]


GRAPHS: dict[str, Callable[[Block], list[Any]]] = {
    "ResNet: convolution, bias, relu": _conv_bias_relu,
    "ResNet: convolution, scale, bias, residual, relu": _conv_scale_add_relu,
    "ResNet: batch norm, residual, relu": _norm_add_relu,
    "ResNet: batch norm (training), relu": _batchnorm_relu,
    "ResNet: gradient of residual, relu and scale": _relu_gradient_add,
    "U-Net: convolution, bias, swish": _conv_bias_swish,
    "U-Net: instance norm, leaky relu": _instancenorm_leaky,
    "U-Net: gated skip": _gate,
    "transformer: product, bias, gelu": _matmul_bias_gelu,
    "transformer: scale, mask, softmax": _scale_mask_softmax,
    "transformer: residual, layer norm": _residual_layernorm,
    "transformer: swiglu": _swiglu,
}


@dataclass(frozen=True)
class GraphRow:
    """One graph: seconds of the device fused and node by node, how often as fast, and the host's for a call.

    On CPUs that other processes share, the ratio of processor time tells more.
    """

    graph: str
    plan: str
    seconds: float
    node_by_node: float
    ratio: float
    processor_ratio: float
    host_seconds: float


def build(handle: Handle, name: str, size: int, dtype: data_type, without: tuple[str, ...] = ()) -> Any:
    """Return a built graph; `without` names engines that are left out."""
    g = pg.pygraph(
        name=name,
        io_data_type=dtype,
        intermediate_data_type=data_type.FLOAT,
        compute_data_type=data_type.FLOAT,
        handle=handle,
    )
    for out in GRAPHS[name](Block(pg, g, size)):
        out.set_output(True)
    g.deselect_engines(list(without))
    g.build([pg.heur_mode.A, pg.heur_mode.FALLBACK])
    return g


def _call(g: Any, handle: Handle) -> Callable[[], None]:
    """Return a call on new memory of the handle's device, of random numbers."""
    rng, pack = np.random.default_rng(0), {}
    for info in g._graph_frozen().packed:
        if info.by_value:
            pack[info.uid] = number(info.value, info)
            continue
        values = info.data_type.stored(rng.standard_normal(info.span) / 2)
        pack[info.uid] = handle.asarray(values.reshape(1, 1, -1))
    return lambda: g.execute(pack)


def _host_seconds(call: Callable[[], None], handle: Handle) -> float:
    """Return the seconds of the host for a call that is only enqueued."""
    rounds = []
    for _ in range(7):
        handle.synchronize()
        start = time.perf_counter()
        for _ in range(BATCH):
            call()
        rounds.append((time.perf_counter() - start) / BATCH)
    handle.synchronize()
    return statistics.median(rounds)


def measure(handle: Handle, name: str, size: int, dtype: data_type, rounds: int) -> GraphRow:
    """Time one graph, fused and node by node in turn."""
    fused = build(handle, name, size, dtype)
    apart = build(handle, name, size, dtype, ("fusion", "regions"))
    sides = [
        Side(label, _call(g, handle), handle.device.time) for label, g in (("fused", fused), ("node by node", apart))
    ]
    ours, others = alternate(sides, rounds)
    small = _call(build(handle, name, 1, dtype), handle)
    return GraphRow(
        name,
        fused.get_plan_name(),
        ours.median,
        others.median,
        ratio(ours, others),
        processor_ratio(ours, others),
        _host_seconds(small, handle),
    )


def as_record(rows: list[GraphRow], size: int, dtype: data_type) -> dict[str, Any]:
    """Return what a record says of the rows."""
    return {
        "size": size,
        "type": dtype.name,
        "geometric_mean_ratio": geometric_mean([row.ratio for row in rows]),
        "geometric_mean_processor_ratio": geometric_mean([row.processor_ratio for row in rows]),
        "graphs": [asdict(row) for row in rows],
    }
