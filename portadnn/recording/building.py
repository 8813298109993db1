"""Graphs of recordings, built again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..handle import Handle


def built(data: Mapping[str, Any], handle: Handle) -> Any:
    """Return a graph, as recordings have it, with its plans for a handle.

    Raises
    ------
    DnnError
        The graph is wrong, or no engine of the handle takes it.
    """
    from ..graph import heur_mode, pygraph

    graph = pygraph(handle=handle)
    graph.deserialize(json.dumps(data))
    graph.build([heur_mode.A, heur_mode.FALLBACK])
    return graph
