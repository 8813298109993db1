"""Batch normalisation, its gradient, and its parts for fusion: bn_finalize and dbn_weight."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..api.arguments import maybe_whole
from ..layout import channels_last, span
from ..node import Attribute, Kind, Node, Port, register
from .reduction import channel_dims

_PER_CHANNEL = "one for each channel"
RUNNING = ("PREV_RUNNING_MEAN", "PREV_RUNNING_VAR", "MOMENTUM")


def demand_scalars(node: Node, *ports: str) -> None:
    """Demand one element."""
    for port in ports:
        if node.has(port) and math.prod(node.dims(port)) != 1:
            raise node.fail(
                "PG-NORM-001", port, expected="one element", got=list(node.dims(port)), fix="use dims [1, 1, 1, 1]"
            )


def _per_channel(node: Node, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    dims = channel_dims(node, "X")
    for port in inputs:
        node.demand_dims(port, dims, _PER_CHANNEL)
    for port in outputs:
        node.settle(port, dims, channels_last(dims), _PER_CHANNEL)


MOST_PEERS = 32


def _check_peers(node: Node) -> None:
    """Demand a buffer of ``ranks * 4 * c`` numbers for each rank, one after another."""
    ports, rank = node.many("PEER_STATS"), node["peer_rank"]
    ranks = len(ports)
    if ranks > MOST_PEERS:
        raise node.fail("PG-NORM-004", argument="peer_stats", expected=f"{MOST_PEERS} tensors at most", got=ranks)
    if rank is not None and not 0 <= rank < ranks:
        wanted = f"None or a rank from 0 to {ranks - 1}" if ranks else "None without peer_stats"
        raise node.fail("PG-NORM-004", argument="peer_rank", expected=wanted, got=rank)
    wanted_size = ranks * 4 * node.dims("X")[1]
    for port in ports:
        dims, strides = node.dims(port), node.strides(port)
        if math.prod(dims) != wanted_size or (wanted_size and span(dims, strides) != wanted_size):
            raise node.fail(
                "PG-NORM-004",
                port,
                expected=f"{ranks} * 4 * {node.dims('X')[1]} packed elements: tensors * 4 * channels",
                got=f"dims {list(dims)} with strides {list(strides)}",
                fix=f"use dims [{ranks}, {4 * node.dims('X')[1]}, 1, 1]",
            )


def check_running(node: Node) -> None:
    """Demand running mean, running variance and momentum together or not at all."""
    given = [port for port in RUNNING if node.has(port)]
    if given and len(given) < len(RUNNING):
        missing = next(port for port in RUNNING if not node.has(port))
        raise node.fail(
            "PG-NORM-003",
            missing,
            expected=f"a tensor, because {given[0]} is one",
            fix="pass all three or none of them",
        )
    for port in ("NEXT_RUNNING_MEAN", "NEXT_RUNNING_VAR"):
        if not given:
            node.outputs.pop(port, None)


def _batchnorm(node: Node) -> None:
    _check_peers(node)
    check_running(node)
    demand_scalars(node, "EPSILON", "MOMENTUM")
    node.settle_like("Y", "X")
    _per_channel(
        node,
        ("SCALE", "BIAS", "PREV_RUNNING_MEAN", "PREV_RUNNING_VAR"),
        ("MEAN", "INV_VARIANCE", "NEXT_RUNNING_MEAN", "NEXT_RUNNING_VAR"),
    )


def _inference(node: Node) -> None:
    node.settle_like("Y", "X")
    _per_channel(node, ("MEAN", "INV_VARIANCE", "SCALE", "BIAS"), ())


def _backward(node: Node) -> None:
    _check_peers(node)
    node.demand_dims("DY", node.dims("X"), "as X")
    node.settle("DX", node.dims("X"), channels_last(node.dims("X")), "as X")
    _per_channel(node, ("SCALE", "MEAN", "INV_VARIANCE"), ("DSCALE", "DBIAS"))


def _finalize(node: Node) -> None:
    check_running(node)
    demand_scalars(node, "EPSILON", "MOMENTUM", "ACCUM_COUNT")
    dims = node.dims("SUM")
    for port in ("SQ_SUM", "SCALE", "BIAS", "PREV_RUNNING_MEAN", "PREV_RUNNING_VAR"):
        node.demand_dims(port, dims, "as SUM")
    for port in node.outputs:
        node.settle_like(port, "SUM")


def _weight(node: Node) -> None:
    node.demand_dims("DY", node.dims("X"), "as X")
    outputs = ("DSCALE", "DBIAS", "EQ_SCALE_DY", "EQ_SCALE_X", "EQ_BIAS")
    _per_channel(node, ("SCALE", "MEAN", "INV_VARIANCE"), outputs)


def _ports(*names: str) -> tuple[Port, ...]:
    return tuple(Port(name) for name in names)


_RUNNING_PORTS = (
    Port("PREV_RUNNING_MEAN", optional=True),
    Port("PREV_RUNNING_VAR", optional=True),
    Port("MOMENTUM", optional=True, scalar=True),
)
_NEXT = (Port("NEXT_RUNNING_MEAN", optional=True), Port("NEXT_RUNNING_VAR", optional=True))
_PEERS = Port("PEER_STATS", optional=True, many=True)
_PEER_RANK = Attribute("peer_rank", maybe_whole, None)

register(
    Kind(
        "batchnorm",
        (*_ports("X", "SCALE", "BIAS"), Port("EPSILON", scalar=True), *_RUNNING_PORTS, _PEERS),
        (*_ports("Y", "MEAN", "INV_VARIANCE"), *_NEXT),
        _batchnorm,
        (_PEER_RANK,),
    )
)
register(Kind("batchnorm_inference", _ports("X", "MEAN", "INV_VARIANCE", "SCALE", "BIAS"), _ports("Y"), _inference))
register(
    Kind(
        "batchnorm_backward",
        (*_ports("DY", "X", "SCALE", "MEAN", "INV_VARIANCE"), _PEERS),
        _ports("DX", "DSCALE", "DBIAS"),
        _backward,
        (_PEER_RANK,),
    )
)
register(
    Kind(
        "bn_finalize",
        (
            *_ports("SUM", "SQ_SUM", "SCALE", "BIAS"),
            Port("EPSILON", scalar=True),
            Port("ACCUM_COUNT", scalar=True),
            *_RUNNING_PORTS,
        ),
        (*_ports("EQ_SCALE", "EQ_BIAS", "MEAN", "INV_VARIANCE"), *_NEXT),
        _finalize,
    )
)
register(
    Kind(
        "dbn_weight",
        _ports("DY", "X", "MEAN", "INV_VARIANCE", "SCALE"),
        _ports("DSCALE", "DBIAS", "EQ_SCALE_DY", "EQ_SCALE_X", "EQ_BIAS"),
        _weight,
    )
)
