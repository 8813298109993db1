"""Graphs in recordings: a graph is written once, each run of it with the memory of its tensors, and replayed so."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import DnnError
from ..handle import Handle
from ..problem import TensorSpec
from ..watching import Call
from .decode import Undecodable, spec_of_json
from .encode import GRAPHS, spec_json
from .memory import Memory
from .reader import Event, Recording

if TYPE_CHECKING:
    from ..graph.api.execute import ExecuteMethods
    from ..graph.operation_graph import OperationGraph, TensorInfo

HOST = 1 << 62  # added to addresses of host memory: OpenCL's are as large (encode.place), and never these
GRAPH_RUNS = frozenset(
    ("ExecuteMethods.execute", "ExecuteMethods.execute_plan_at_index", "cudnnBackendExecute")
)  # functions


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
    if call.error is not None or "portadnn.graph.api.execute" not in sys.modules:
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
        return _run(planned, frozen, opened, by_uid(frozen, pack, planned._known()))
    except (DnnError, AttributeError, TypeError, ValueError):
        return None


def _given(call: Call) -> tuple[ExecuteMethods, Mapping[Any, Any], Any] | None:
    """Return the graph with its plan, the pack and the handle of a call that runs one."""
    from ..graph.api.execute import ExecuteMethods

    if call.function == "cudnnBackendExecute":
        handle, plan, pack = (*call.arguments.values(), None, None, None)[:3]
        planned = getattr(plan, "value", None)
        pack = getattr(getattr(pack, "value", None), "buffers", None)
    elif call.args and call.function in GRAPH_RUNS:
        named = call.arguments
        planned, pack, handle = call.args[0], named.get("tensor_to_device_buffer"), named.get("handle")
    else:
        return None
    if not isinstance(planned, ExecuteMethods) or not isinstance(pack, Mapping):
        return None
    return planned, pack, getattr(handle, "handle", handle)


def _run(planned: ExecuteMethods, frozen: OperationGraph, handle: Handle, values: Mapping[int, Any]) -> Run:
    from ..graph import memory
    from ..graph.files import as_data
    from ..graph.pack import spec_of

    tensors, addresses, scalars = {}, [], {}
    for info in frozen.packed:
        name, value = str(info.uid), values.get(info.uid, info.value)
        if info.by_value:
            scalars[name] = float(info.data_type.rounded(memory.number(value, info)).item())
        else:
            tensors[name] = spec_json(spec_of(info))
            addresses.append(_address(handle.device, value, info, spec_of(info)))
    return Run(frozen, lambda: as_data(planned._graph, frozen), handle, tensors, tuple(addresses), scalars)


def _address(device: Any, value: Any, info: TensorInfo, spec: TensorSpec) -> int:
    """Return where a buffer of a pack lies."""
    from ..descriptors import TensorView
    from ..graph import memory
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


# replaying


def left_out(event: Event) -> str:
    """Return why a call of the Graph API is not made again; "" of those that ran a graph, and of others' calls."""
    owner = event.arguments.get("self")
    of_graphs = isinstance(owner, Mapping) and str(owner.get("object", "")).startswith(GRAPHS)
    if event.graph is not None or not (of_graphs or event.function.startswith("cudnnBackend")):
        return ""
    method = event.function.rpartition(".")[2]
    if event.function in GRAPH_RUNS:
        if event.status != "SUCCESS":
            return "an error of a graph, whose checks are not replayed"
        return "a graph that the recording does not hold"
    if method == "bind":
        return "the calls of what bind() returns are not recorded"
    return "builds a graph or asks about it: graphs are replayed where they run"


class Graphs:
    """The graphs of a recording, built for the handles that replay them."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._built: dict[tuple[int, int], Any] = {}

    def prepare(self, event: Event, handle: Handle, memory: Memory) -> Callable[[], Any]:
        """Return the run of a graph, ready to be made.

        Raises
        ------
        Undecodable
            The recording does not hold all of its tensors.
        DnnError
            The graph is wrong, or no engine of the handle takes it.
        """
        assert event.graph is not None
        key = (event.graph, handle.serial)
        if key not in self._built:
            self._built[key] = self._build(event.graph, handle)
        graph = self._built[key]
        frozen = graph._frozen
        pack: dict[int, Any] = {}
        written: list[tuple[TensorSpec, int]] = []
        for info in frozen.packed:
            name = str(info.uid)
            if info.by_value:
                if name in event.scalars:
                    pack[info.uid] = event.scalars[name] if info.data_type.is_float else int(event.scalars[name])
                continue
            if name not in event.tensors:
                raise Undecodable(f"the tensor {name} of the graph")
            facts = event.tensors[name]
            spec = spec_of_json(facts)
            if info.uid in frozen.written:
                written.append((spec, facts["at"]))
            else:
                memory.read(spec, facts["at"], info.name)
            pack[info.uid] = memory.tensor(facts)

        def run() -> None:
            graph.execute(pack)
            for spec, at in written:
                memory.wrote(spec, at)

        return run

    def _build(self, number: int, handle: Handle) -> Any:
        from ..graph import heur_mode, pygraph

        graph = pygraph(handle=handle)
        graph.deserialize(json.dumps(self._recording.graphs[number]))
        graph.build([heur_mode.A, heur_mode.FALLBACK])
        return graph
