"""Random graphs described once more, by backend descriptors: the same bits come out."""

from __future__ import annotations

import numpy as np
import pytest
from descriptors import T, make, run
from graphs import USUAL, numbers
from graphs import run as run_graph

from portadnn import cudnn
from portadnn.c_names.graph_descriptors import PARAMETERS, kinds
from portadnn.cudnn.backend.values import c_member
from portadnn.diff.generate.graphs import random_graph
from portadnn.graph.api.cudnn_handle import create_handle
from portadnn.graph.enums import GraphEnum
from portadnn.graph.pointwise_modes import MODES

PORTS = {
    False: ("XDESC", "BDESC", "TDESC", "YDESC"),
    True: ("DYDESC", "XDESC", "", "DXDESC"),
}  # of pointwise operations


def short(attribute):
    """Return a name that `make` finds: the whole one, after the first word."""
    return attribute.name.partition("_")[2]


def stated(kind, values):
    """Return a kind's attributes for the values of a node, those that there are."""
    found = {}
    for attribute in kind.attributes.values():
        value = values.get(attribute.node)
        if value is None or not attribute.node:
            continue
        if isinstance(value, GraphEnum):
            value = None if value.name == "NOT_SET" else c_member(attribute.types[0], value)
        found[short(attribute)] = list(value) if isinstance(value, tuple) else value
    return found


def parameters(name, values, rank):
    """Return a descriptor of parameters."""
    kind = kinds()[name]
    given = stated(kind, values)
    spatial = f"{name}_SPATIAL_DIMS"
    return make(name, **given, **({"SPATIAL_DIMS": rank - 2} if spatial in kind.attributes else {}))


def tensors(operation, kind, known):
    """Return the tensors of an operation by the names of its descriptor's attributes."""
    if operation.kind == "pointwise":
        *names, out = PORTS[MODES[operation["mode"]].backward]
        ports = dict(zip(("IN_0", "IN_1", "IN_2"), names, strict=True)) | {"OUT_0": out}
        return {ports[port]: known[uid] for port, uid in operation.uids.items()}
    found = {}
    for attribute in kind.attributes.values():
        port = attribute.input or attribute.output
        if attribute.most > 1 and port:
            several = [known[uid] for name, uid in operation.inputs if name.startswith(f"{port}_")]
            found |= {short(attribute): several} if several else {}
        elif port in operation.uids:
            found[short(attribute)] = known[operation.uids[port]]
    return found


def described(operation, known, dims):
    """Return the descriptor of an operation of a frozen graph, whose first input has these dims."""
    more = {}
    if operation.kind == "layernorm":
        kind = kinds()["OPERATION_NORM_FORWARD"]
        more = {"MODE": cudnn.CUDNN_LAYER_NORM, "PHASE": c_member("NORM_FWD_PHASE", operation["phase"])}
    else:
        (kind,) = (each for each in kinds().values() if each.node == operation.kind)
    values = operation.values | {"compute": operation.compute_type}
    if operation.kind == "slice":
        whole = [slice(*part).indices(size) for part, size in zip(operation["slices"], dims, strict=True)]
        names = ("START_INDICES", "LIMIT_INDICES", "SLICE_STRIDES")
        more = dict(zip(names, map(list, zip(*whole, strict=True)), strict=True))
    for attribute in kind.attributes.values():
        if attribute.of in {each.name for each in PARAMETERS}:
            more[short(attribute)] = parameters(attribute.of, values, len(dims))
        if attribute.name.endswith(("_ALPHA", "_BETA")):
            more[short(attribute)] = float(attribute.name.endswith("_ALPHA"))
    return make(kind.name, **stated(kind, values), **tensors(operation, kind, known), **more)


def tensor(info):
    """Return the descriptor of a tensor of a frozen graph."""
    more = {"CONSTANT_VALUE": info.value} if info.constant else {}
    virtual = info.virtual or None
    return T(info.dims, uid=info.uid, kind=info.data_type.name, strides=info.strides, virtual=virtual, **more)


@pytest.mark.parametrize("seed", range(40))
def test_the_same_bits(seed):
    draw = random_graph(seed, kinds=USUAL, most=9, plain=True, handle=create_handle("reference"))
    g = draw.pygraph
    outs = [out for node in draw.graph.nodes for out in node.outputs.values() if not out.get_is_virtual()]
    feeds = {one: numbers(one.get_dim(), 100 * seed + i) for i, one in enumerate(draw.inputs)}
    want = run_graph(g, feeds, outs)
    assert want

    frozen = g._graph_frozen()
    known = {info.uid: tensor(info) for info in frozen.infos}
    first = [frozen.by_uid[operation.inputs[0][1]].dims for operation in frozen.operations]
    operations = [described(op, known, d) for op, d in zip(frozen.operations, first, strict=True)]
    given = {known[one.get_uid()]: values for one, values in feeds.items()}
    got = run(operations[::-1], given, [known[one.get_uid()] for one in outs])
    for ours, theirs in zip(got, want, strict=True):
        np.testing.assert_array_equal(ours, theirs)
