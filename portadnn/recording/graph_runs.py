"""Graphs in recordings: a graph is written once, each run of it with the memory of its tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import DnnError
from ..handle import Handle
from ..hooks import Call
from ..problem import TensorSpec
from .encode import spec_json

if TYPE_CHECKING:
    from ..graph.api.planned import Planned
    from ..graph.operation_graph import OperationGraph, TensorInfo

HOST = 1 << 62  # added to addresses of host memory: OpenCL's are as large (encode.place), and never these
_RUNS = ("execute", "execute_plan_at_index")
GRAPH_RUNS = frozenset(
    [f"{owner}.{name}" for owner in ("pygraph", "ExecuteMethods") for name in _RUNS] + ["cudnnBackendExecute"]
)  # functions; recordings of earlier versions have the second owner


@dataclass(frozen=True)
class Run:
    """One run of a graph, as a recording has it.

    Attributes
    ----------
    graph : OperationGraph
    data : callable
        Returns the graph as JSON has it.
    handle : Handle
        Where it ran.
    tensors : dict of str to dict
        The tensors by their uids, as forms have them.
    addresses : tuple of int
        Where they lie.
    scalars : dict of str to float
        What was passed by value, by uid.
    """

    graph: OperationGraph
    data: Callable[[], dict[str, Any]]
    handle: Handle
    tensors: dict[str, dict[str, Any]]
    addresses: tuple[int, ...]
    scalars: dict[str, float]


def run_of(call: Call) -> Run | None:
    """Return what a call ran, if it ran a graph; None of others, and where an array cannot be told."""
    if call.error is not None or "portadnn.graph.api.execution" not in sys.modules:
        return None
    given = _given(call)
    if given is None:
        return None
    from ..graph.api.handles import handle_of
    from ..graph.pack import by_uid

    planned, pack, handle = given
    frozen = planned._frozen
    if frozen is None:
        return None
    opened = handle_of(planned._handle if handle is None else handle)
    try:
        return _run(planned, frozen, opened, by_uid(frozen, pack, planned._known(), []))
    except (DnnError, AttributeError, TypeError, ValueError):
        return None


def _given(call: Call) -> tuple[Planned, Mapping[Any, Any], Any] | None:
    """Return the graph with its plan, the pack and the handle of a call that runs one."""
    from ..graph.api.planned import Planned

    if call.function == "cudnnBackendExecute":
        handle, plan, pack = (*call.arguments.values(), None, None, None)[:3]
        planned = getattr(plan, "value", None)
        pack = getattr(getattr(pack, "value", None), "buffers", None)
    elif call.args and call.function in GRAPH_RUNS:
        named = call.arguments
        planned, handle = call.args[0], named.get("handle")
        pack = named.get("tensor_to_device_buffer") or named.get("tensor_dict")
    else:
        return None
    if not isinstance(planned, Planned) or not isinstance(pack, Mapping):
        return None
    return planned, pack, getattr(handle, "handle", handle)


def _run(planned: Planned, frozen: OperationGraph, handle: Handle, values: Mapping[int, Any]) -> Run:
    from ..graph.files import as_data
    from ..graph.memory import host as memory

    tensors, addresses, scalars = {}, [], {}
    for info in frozen.packed:
        name, value = str(info.uid), values.get(info.uid, info.value)
        if info.by_value:
            scalars[name] = float(info.data_type.rounded(memory.number(value, info)).item())
        else:
            tensors[name] = spec_json(info.spec)
            addresses.append(_address(handle.device, value, info, info.spec))
    return Run(frozen, lambda: as_data(planned._graph, frozen), handle, tensors, tuple(addresses), scalars)


def _address(device: Any, value: Any, info: TensorInfo, spec: TensorSpec) -> int:
    """Return where a buffer of a pack lies."""
    from ..descriptors import TensorView
    from ..graph.memory import host as memory
    from ..graph.pack import works_on_host

    if device.owns(value):
        return int(device.address(value))
    if memory.is_host(value) or (isinstance(value, int) and works_on_host(device)):
        start = memory.view(value, info, output=False).ctypes.data
        return int(start) + (0 if works_on_host(device) else HOST)
    try:
        return int(device.address(device.wrap(value, info.name)))
    except DnnError:
        return int(device.address(device.wrap(TensorView(spec, value), info.name)))
