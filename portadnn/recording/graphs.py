"""Graphs of recordings, replayed: each is built once for a handle, and run with the memory of its tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..handle import Handle
from ..problem import TensorSpec
from .building import built
from .decode import Undecodable, spec_of_json
from .encode import GRAPHS
from .graph_runs import GRAPH_RUNS
from .memory import Memory
from .reader import Event, Recording


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
            self._built[key] = built(self._recording.graphs[event.graph], handle)
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
            if info.uid in frozen.results:
                written.append((spec, facts["at"]))
            else:
                memory.read(spec, facts["at"], info.name)
            pack[info.uid] = memory.tensor(facts)

        def run() -> None:
            graph.execute(pack)
            for spec, at in written:
                memory.wrote(spec, at)

        return run
