"""Random graphs in random types, each node checked against its definition.

``python tests/graph/random_types.py 0 1000 opencl`` draws a thousand and tells what is off.
"""

from __future__ import annotations

import sys
from unittest import mock

import numpy as np
import random_graphs
from graphs import D, buffer, new, numbers

import portadnn.graph as cudnn

DATA = (D.FLOAT, D.HALF, D.BFLOAT16, D.DOUBLE)
INPUTS = (*DATA, D.INT8, D.UINT8, D.INT32, D.BOOLEAN, D.FP8_E4M3, D.FP8_E5M2)


def drawn(handle, seed, most=8):
    """Return a graph of up to so many nodes and its inputs, whose types are drawn as well; None for an empty one."""
    rng = np.random.default_rng(seed + 77)
    io, between = DATA[rng.integers(len(DATA))], DATA[rng.integers(len(DATA))]
    double = D.DOUBLE in (io, between) or rng.random() < 0.1
    types = {"io": io, "intermediate": between, "compute": D.DOUBLE if double else D.FLOAT}
    with mock.patch.object(random_graphs, "new", lambda where: new(where, **types)):
        draw = random_graphs.Draw(handle, seed)
    for _ in range(int(draw.rng.integers(1, most + 1))):
        draw.node()
    g, nodes = draw.g, draw.g._graph.nodes
    read = {id(one) for node in nodes for one in node.inputs.values()}
    fixed = {id(one) for node in nodes if node.kind.same_type for one in node.inputs.values()}
    used = [one for one in draw.inputs if id(one) in read]
    for one in used:
        if id(one) not in fixed and rng.random() < 0.3:
            one.set_data_type(INPUTS[rng.integers(len(INPUTS))])
    for one, *_ in draw.values:
        if one.producer is not None and id(one) not in read:
            one.set_output(True)
    g._graph.declared[:] = used
    return (g, used) if nodes else None


def check(handle, seed):
    """Run a graph and check it; returns the plan's name, or why there is none."""
    made = drawn(handle, seed)
    if made is None:
        return "empty"
    g, used = made
    try:
        g.build()
    except cudnn.GraphValidationError as error:  # types that an operation does not join
        return error.id
    pack = {one: buffer(one, numbers(one.get_dim(), 1000 * seed + i) / 2)[0] for i, one in enumerate(used)}
    outs = [one for one in g._graph.tensors() if one.producer is not None and not one.get_is_virtual()]
    g.execute({**pack, **{one: buffer(one)[0] for one in outs}}, check="reference")
    return g.get_plan_name()


if __name__ == "__main__":
    import portadnn as dnn

    with dnn.Handle(sys.argv[3] if len(sys.argv) > 3 else "opencl") as target:
        for number in range(int(sys.argv[1]), int(sys.argv[2])):
            try:
                check(target, number)
            except cudnn.GraphError as error:
                print(f"seed {number}: {error}", flush=True)
