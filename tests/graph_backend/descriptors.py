"""Backend descriptors for tests: made in one call each, joined to graphs, and run on data."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from portadnn import cudnn
from portadnn.c_names.graph_descriptors import kinds
from portadnn.cudnn.backend.objects import BackendDescriptor
from portadnn.graph.layout import row_major

OF_VALUE = {BackendDescriptor: "BACKEND_DESCRIPTOR", Fraction: "FRACTION"}
UIDS = itertools.count(100)


def name(kind, key):
    """Return the attribute of a kind of descriptor whose name ends so, the shortest of several."""
    found = [each for each in kinds()[kind].attributes if f"_{each}".endswith(f"_{key}")]
    return min(found, key=len)


def created(kind):
    """Return a descriptor on which nothing is set."""
    return cudnn.cudnnBackendCreateDescriptor(getattr(cudnn, f"CUDNN_BACKEND_{kind}_DESCRIPTOR"))


def assign(made, key, values, type=None):
    """Set an attribute by the end of its name; where it may have several types, the type is that of the first value."""
    whole = name(made.kind.name, key)
    values = values if isinstance(values, list) else [values]
    types = kinds()[made.kind.name].attributes[whole].types
    type = type or (OF_VALUE.get(values[0].__class__) if len(types) > 1 else None) or types[0]
    whole, type = getattr(cudnn, f"CUDNN_ATTR_{whole}"), getattr(cudnn, f"CUDNN_TYPE_{type}")
    cudnn.cudnnBackendSetAttribute(made, whole, type, len(values), values)


def make(kind, **attributes):
    """Return a finalized descriptor; what is None is not set."""
    made = created(kind)
    for key, values in attributes.items():
        if values is not None:
            assign(made, key, values)
    cudnn.cudnnBackendFinalize(made)
    return made


def get(made, key, most=100_000):
    """Return the elements of an attribute."""
    whole = name(made.kind.name, key)
    kind = kinds()[made.kind.name].attributes[whole].types[0]
    whole, kind = getattr(cudnn, f"CUDNN_ATTR_{whole}"), getattr(cudnn, f"CUDNN_TYPE_{kind}")
    return cudnn.cudnnBackendGetAttribute(made, whole, kind, most)[1]


def T(dims, *, uid=None, kind="DOUBLE", strides=None, virtual=None, **more):
    """Return a tensor descriptor, row-major unless strides are given."""
    return make(
        "TENSOR",
        UNIQUE_ID=next(UIDS) if uid is None else uid,
        DATA_TYPE=getattr(cudnn, f"CUDNN_DATA_{kind}"),
        BYTE_ALIGNMENT=16,
        DIMENSIONS=list(dims),
        STRIDES=list(strides or row_major(tuple(dims))),
        IS_VIRTUAL=virtual,
        **more,
    )


def number():
    """Return a tensor of one element that is passed by value."""
    return T([1, 1, 1, 1], IS_BY_VALUE=True)


def pointwise(mode, x, y=None, b=None, t=None, dx=None, dy=None, prec="DOUBLE", alpha1=None, alpha2=None, **more):
    """Return a pointwise operation."""
    how = make("POINTWISE", MODE=getattr(cudnn, f"CUDNN_POINTWISE_{mode}"), MATH_PREC=data(prec), **more)
    tensors = {"XDESC": x, "YDESC": y, "BDESC": b, "TDESC": t, "DXDESC": dx, "DYDESC": dy}
    return make("OPERATION_POINTWISE", PW_DESCRIPTOR=how, ALPHA1=alpha1, ALPHA2=alpha2, **tensors)


def data(kind):
    """Return a data type's number."""
    return getattr(cudnn, f"CUDNN_DATA_{kind}")


def graph_of(handle, *operations):
    """Return a finalized graph of operations."""
    return make("OPERATIONGRAPH", HANDLE=handle, OPS=list(operations))


def plan_of(handle, graph, mode=cudnn.CUDNN_HEUR_MODE_A):
    """Return the plan of the heuristics' first configuration."""
    heuristics = make("ENGINEHEUR", OPERATION_GRAPH=graph, MODE=mode)
    return make("EXECUTION_PLAN", HANDLE=handle, ENGINE_CONFIG=get(heuristics, "RESULTS")[:1])


def memory(tensor, values=None):
    """Return memory for a tensor descriptor, with these values or poisoned, and a view of it in logical order."""
    info = tensor.value.info
    flat = np.empty(info.span, info.data_type.storage)
    flat.view(np.uint8)[...] = 0xA5
    view = np.ndarray(info.dims, flat.dtype, flat, strides=[s * flat.itemsize for s in info.strides])
    if values is not None:
        view[...] = info.data_type.stored(np.asarray(values, np.float64).reshape(info.dims))
    return flat, view


def run(operations, feeds, outputs, backend="reference"):
    """Run a graph on values by tensor descriptor; returns the outputs as float64 in logical order."""
    handle = cudnn.cudnnCreate(backend=backend)
    plan = plan_of(handle, graph_of(handle, *operations))
    workspace = np.empty(get(plan, "WORKSPACE_SIZE")[0], np.uint8)
    buffers = {one: memory(one, values)[0] for one, values in feeds.items()}
    views = {}
    for one in outputs:
        buffers[one], views[one] = memory(one)
    uids = [one.value.uid for one in buffers]
    pack = make("VARIANT_PACK", UNIQUE_IDS=uids, DATA_POINTERS=list(buffers.values()), WORKSPACE=[workspace])
    cudnn.cudnnBackendExecute(handle, plan, pack)
    cudnn.cudnnDestroy(handle)
    return [one.value.info.data_type.loaded(views[one]) for one in outputs]


def numbers(dims, seed=0, low=None):
    """Return numbers of both signs, or with `low` uniform ones from there on."""
    rng = np.random.default_rng([seed, *dims])
    return rng.standard_normal(dims) if low is None else low + rng.random(dims)


def close(got, want, tolerance=1e-11):
    """Demand equal numbers."""
    np.testing.assert_allclose(got, np.broadcast_to(want, got.shape), rtol=tolerance, atol=tolerance)
