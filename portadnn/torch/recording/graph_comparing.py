"""Graphs of a PyTorch program on another backend: products and attention."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...bfloat16 import as_float64
from ...graph.api.pygraph import pygraph
from ...graph.checks.checking import TOGETHER, bound, difference
from ...graph.enums import heur_mode
from ...graph.operation_graph import OperationGraph
from ...handle import Handle
from .graphs import as_json

Array = npt.NDArray[Any]


class GraphSides:
    """Computes graphs on a target and by their definitions.

    Parameters
    ----------
    handle
        The target's.
    """

    def __init__(self, handle: Handle) -> None:
        self._handles = {False: handle}
        self._built: dict[tuple[OperationGraph, bool], Any] = {}

    def _run(self, graph: OperationGraph, arrays: Mapping[str, Any], exact: bool) -> dict[str, Array]:
        """Return the results of a graph on the target, or by definition."""
        if exact and True not in self._handles:
            self._handles[True] = Handle("reference", profile="")
        handle = self._handles[exact]
        if (graph, exact) not in self._built:
            made = pygraph(handle=handle)
            made.deserialize(json.dumps(as_json(graph)))
            made.build([heur_mode.A, heur_mode.FALLBACK])
            self._built[graph, exact] = made
        pack = {}
        for info in graph.memory:
            memory = np.zeros(info.span, info.spec.dtype.storage)
            size = memory.itemsize
            view = np.ndarray(info.dims, memory.dtype, memory, 0, tuple(size * step for step in info.strides))
            array = arrays[str(info.uid)]
            if info.uid not in graph.results and array is not None:
                view[...] = array
            pack[info.uid] = view
        self._built[graph, exact].execute(pack)
        handle.synchronize()
        return {str(uid): pack[uid] for uid in graph.results if uid in pack}

    def differences(self, graph: OperationGraph, arrays: Mapping[str, Any]) -> dict[bool, str]:
        """Return what is off: under True PyTorch's results, under False the target's.

        Raises
        ------
        DnnError
            The target does not take the graph.
        """
        results = self._run(graph, arrays, exact=False)
        want = self._run(graph, arrays, exact=True)
        first = graph.operations[0]
        sums: dict[str, Array] = {}
        if first.kind == "matmul":
            sums = self._run(graph, {name: None if a is None else np.abs(a) for name, a in arrays.items()}, exact=True)
        found: dict[bool, str] = {}
        for own, side in ((True, arrays), (False, results)):
            for name, due in want.items():
                if side.get(name) is None:
                    continue
                exact = as_float64(due)
                info = graph.by_uid[int(name)]
                limit = TOGETHER * bound(graph, first, info, exact, as_float64(sums[name]) if sums else None)
                off = difference(as_float64(side[name]), exact, limit)
                if off is not None:
                    found.setdefault(own, f"{info.name}: {off}")
        return found
