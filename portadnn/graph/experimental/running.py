"""Runs a graph on torch tensors; it is built for their layouts once."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias

from ...handle import Handle
from ..api.pygraph import pygraph
from ..data_types import data_type
from ..rules import fail
from ..tensor import tensor
from .needs_torch import torch

Tensors: TypeAlias = Mapping[str, Any]
Describe: TypeAlias = Callable[..., Mapping[str, tensor]]
Cache: TypeAlias = dict[Hashable, tuple[pygraph, dict[str, tensor]]]
_HANDLES: dict[tuple[int, Any], Handle] = {}


def handle_of(device: Any) -> Handle:
    """Return the handle for torch tensors of a device: one that follows torch's stream, or the best one for the CPU.

    Raises
    ------
    InvalidValue
        It is neither a GPU of CUDA or ROCm nor the CPU (PG-PLAN-003).
    """
    if device.type not in {"cpu", "cuda"}:
        expected = "tensors on a GPU of CUDA or ROCm, or on the CPU"
        raise fail("PG-PLAN-003", argument="device", expected=expected, got=str(device))
    key = (os.getpid(), device)  # a forked child needs its own
    if key not in _HANDLES:
        gpu = "cuda" if torch.version.hip is None else "hip"
        _HANDLES[key] = Handle() if device.type == "cpu" else Handle(gpu, device.index, stream="torch")
    return _HANDLES[key]


def run(describe: Describe, cache: Cache, inputs: Tensors, outputs: Tensors, **options: Hashable) -> None:
    """Run the graph that `describe` adds nodes to, on tensors by name.

    Parameters
    ----------
    describe
        A function (graph, graph's tensors by name, options) that returns the graph's outputs by name.
    cache
        Keeps graphs by the layouts, types and options that they were built for.
    inputs, outputs
        torch tensors on one device; inputs that are None are left out.
    """
    given = {name: one.detach() for name, one in inputs.items() if one is not None}
    handle = handle_of(next(iter(given.values())).device)
    layouts = [(name, tuple(one.shape), one.stride(), one.dtype) for name, one in (given | dict(outputs)).items()]
    key = (describe, handle.serial, *layouts, *options.items())
    found = cache.get(key)
    if found is None:
        found = cache[key] = _built(describe, handle, given, outputs, options)
    graph, known = found
    everything = (given | dict(outputs)).items()
    graph.execute({known[name]: _memory(known[name], one) for name, one in everything}, None, handle)


def _memory(of: tensor, one: Any) -> Any:
    """Return a torch tensor, or for packed sequences all memory from its first element on."""
    if of.get_ragged_offset() is None:
        return one
    room = one.untyped_storage().nbytes() // one.itemsize - one.storage_offset()
    return one.as_strided((room,), (1,))


def _built(
    describe: Describe, handle: Handle, inputs: Tensors, outputs: Tensors, options: Mapping[str, Any]
) -> tuple[pygraph, dict[str, tensor]]:
    wide = any(one.dtype is torch.float64 for one in inputs.values())
    kind = data_type.DOUBLE if wide else data_type.FLOAT
    graph = pygraph(intermediate_data_type=kind, compute_data_type=kind, handle=handle)
    known = {
        name: graph.tensor(list(one.shape), list(one.stride()), data_type.parse(one.dtype), name=name)
        for name, one in inputs.items()
    }
    for name, made in describe(graph, known, **options).items():
        like = outputs[name]
        known[name] = made.set_output(True).set_data_type(like.dtype).set_dim(list(like.shape))
        made.set_stride(list(like.stride()))
    graph.build()
    return graph, known


def refuse(function: str, what: str, expected: str, got: Any) -> ValueError:
    """Return the error of a wrong argument of a function."""
    return ValueError(f"{function}: {what} has to be {expected}, got {got}")


def demand_one_device(function: str, **tensors: Any) -> None:
    """Demand that tensors, those that are None left out, are on one device.

    Raises
    ------
    ValueError
        They are not.
    """
    places = {name: one.device for name, one in tensors.items() if one is not None}
    first = next(iter(places.values()))
    for name, place in places.items():
        if place != first:
            raise refuse(function, f"device of {name}", str(first), place)
