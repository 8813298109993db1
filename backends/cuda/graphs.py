"""The driver's functions for graphs that CuPy lacks, by ctypes."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from portadnn.errors import NotSupported

_CHILD_GRAPH = 4  # CU_GRAPH_NODE_TYPE_GRAPH


@functools.cache
def _driver() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise NotSupported(f"the driver's library cannot be loaded: {error}") from None


def _call(name: str, *args: Any) -> None:
    status = getattr(_driver(), name)(*args)
    if status:
        text = ctypes.c_char_p()
        _driver().cuGetErrorString(status, ctypes.byref(text))
        raise NotSupported(f"{name}: {(text.value or b'').decode()} ({status})")


def nodes_of(graph: int) -> list[int]:
    """Return the addresses of a graph's nodes."""
    count = ctypes.c_size_t()
    _call("cuGraphGetNodes", ctypes.c_void_p(graph), None, ctypes.byref(count))
    found = (ctypes.c_void_p * count.value)()
    if count.value:
        _call("cuGraphGetNodes", ctypes.c_void_p(graph), found, ctypes.byref(count))
    return [int(node or 0) for node in found]


def fill(graph: int, child: int, *, update: bool) -> None:
    """Make a copy of another graph the one node of a graph: of an empty one, or in place of such a node.

    Raises
    ------
    ValueError
        The graph has other nodes.
    NotSupported
        The driver refuses.
    """
    nodes = nodes_of(graph)
    kinds = []
    for node in nodes:
        kind = ctypes.c_int()
        _call("cuGraphNodeGetType", ctypes.c_void_p(node), ctypes.byref(kind))
        kinds.append(kind.value)
    if kinds != ([_CHILD_GRAPH] if update else []):
        raise ValueError(f"{len(nodes)} nodes of the kinds {kinds}")
    for node in nodes:
        _call("cuGraphDestroyNode", ctypes.c_void_p(node))
    made = ctypes.c_void_p()
    _call(
        "cuGraphAddChildGraphNode",
        ctypes.byref(made),
        ctypes.c_void_p(graph),
        None,
        ctypes.c_size_t(0),
        ctypes.c_void_p(child),
    )
