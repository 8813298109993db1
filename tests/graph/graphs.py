"""What the graph tests share: small graphs, their data, and running them."""

from __future__ import annotations

import numpy as np

import portadnn.graph as cudnn
from portadnn.diff.generate.graphs import MOVING
from portadnn.diff.graphs.cases import examine, random_case
from portadnn.graph.layout import channels_last, row_major

D = cudnn.data_type
USUAL = (  # nodes of random graphs that portadnn's own operations compute
    *("unary", "binary", "binary", "scalar", "gradient", "matmul", "conv", "reduce", "layernorm", "pool"),
    *MOVING,
)


def new(handle="reference", io=D.FLOAT, intermediate=D.FLOAT, compute=D.FLOAT, **kwargs):
    """Return an empty graph on a new handle, or on one that is given."""
    handle = cudnn.create_handle(handle) if isinstance(handle, str) else handle
    return cudnn.pygraph(
        io_data_type=io, intermediate_data_type=intermediate, compute_data_type=compute, handle=handle, **kwargs
    )


def frozen(g, outs):
    """Return a graph with these outputs, ready for engines."""
    for one in outs:
        one.set_output(True)
    g.validate()
    g.build_operation_graph()
    return g._graph_frozen()


def given(g, dims, data_type=D.NOT_SET, *, nhwc=False, **kwargs):
    """Return an input of a graph, packed."""
    strides = channels_last(dims) if nhwc else row_major(dims)
    return g.tensor(dim=list(dims), stride=list(strides), data_type=data_type, **kwargs)


def scalar(g, value):
    """Return a number that is passed by value at run time."""
    return g.tensor_scalar(float(value), cudnn.scalar_type.RUNTIME_PARAM)


def buffer(one, values=None):
    """Return memory for a tensor of a built graph, with these values or poisoned, and a view of it in logical order."""
    kind = one.get_data_type()
    dims, strides = one.get_dim(), one.get_stride()
    span = 1 + sum((d - 1) * s for d, s in zip(dims, strides, strict=True))
    flat = np.empty(span, kind.storage)
    flat.view(np.uint8)[...] = 0xA5
    size = flat.itemsize
    view = np.ndarray(dims, flat.dtype, flat, strides=[s * size for s in strides])
    if values is not None:
        view[...] = kind.stored(np.asarray(values).reshape(dims))
    return flat, view


def run(g, feeds, outputs, modes=(cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK)):
    """Build and execute a graph; returns the outputs as numbers in logical order."""
    for out in outputs:
        out.set_output(True)
    g.build(list(modes))
    pack, views = {}, []
    for one, values in feeds.items():
        pack[one] = buffer(one, values)[0]
    for out in outputs:
        flat, view = buffer(out)
        pack[out] = flat
        views.append((out.get_data_type(), view))
    g.execute(pack)
    return [kind.loaded(view) for kind, view in views]


def numbers(dims, seed=0, low=None):
    """Return normal numbers that float32 holds; with `low` uniform ones from there on."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(dims) if low is None else low + rng.random(dims)
    return values.astype(np.float32).astype(np.float64)


def double(**kwargs):
    """Return a graph in float64, so that nothing is rounded."""
    return new(io=D.DOUBLE, intermediate=D.DOUBLE, compute=D.DOUBLE, **kwargs)


def close(got, want, tolerance=1e-12):
    """Demand equal numbers, of an array or of a torch tensor."""
    want = want.detach().numpy() if hasattr(want, "detach") else np.asarray(want)
    np.testing.assert_allclose(got, want.reshape(got.shape), rtol=tolerance, atol=tolerance)


def demand_right(handle, number, engine="", kinds=USUAL, plain=True):
    """Demand that an engine takes a random graph, `plain` for FLOAT alone, and that every node of it is right."""
    found = list(examine(random_case(number, kinds=kinds, plain=plain), handle, [engine] if engine else []))
    assert {(one.verdict.value, one.message) for one in found} == {("PASSED", "")}
