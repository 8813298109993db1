"""Smaller graphs that still fail: fewer nodes first, then smaller dims and plainer layouts."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...graph.errors import GraphError
from ...graph.files import as_data, graph_of
from ...graph.layout import row_major
from .cases import GraphCase

Data = dict[str, Any]
MOST_TRIED = 60
MOST_SECONDS = 60.0
_STATED = ("reduction", "reshape", "rng", "conv_dgrad", "conv_wgrad", "resample_backward")  # dims do not follow


def shrunk(case: GraphCase, fails: Callable[[GraphCase], bool], node: str = "", most: int = MOST_TRIED) -> GraphCase:
    """Return a graph that fails, as small as `most` attempts in a minute find.

    Parameters
    ----------
    case
        One that fails.
    fails
        Tells whether another one fails in the same way.
    node
        Name of the node that was off, if one was: it is tried alone first.
    """
    tried, end = 0, time.monotonic() + MOST_SECONDS
    while True:
        for data in _smaller(dict(case.data), node):
            if tried >= most or time.monotonic() > end:
                return case
            tried += 1
            smaller = replace(case, data=data)
            if fails(smaller):
                case = smaller
                break
        else:
            return case


def _smaller(data: Data, node: str) -> Iterator[Data]:
    """Yield valid graphs that are smaller, the smallest first."""
    steps = (_alone(data, node), _fewer(data), _narrower(data), _plainer(data))
    seen = {str(data)}
    for step in steps:
        for candidate in step:
            made = completed(candidate)
            if made is not None and str(made) not in seen:
                seen.add(str(made))
                yield made


def completed(data: Mapping[str, Any]) -> Data | None:
    """Return a graph with everything that follows filled in, or None where it cannot be."""
    try:
        graph = graph_of(data)
        graph.validate()
        return as_data(graph, graph.freeze())
    except GraphError:
        return None


def _alone(data: Data, node: str) -> Iterator[Data]:
    """Yield the node of a name alone, or each one, and what it is computed of from there backwards."""
    if len(data["operations"]) == 1:
        return
    named = [entry for entry in data["operations"] if entry["name"] == node]
    for entry in named or data["operations"]:
        results = set(entry["outputs"].values())
        yield pruned(data, results, set(entry["inputs"].values()))
        if named:
            yield pruned(data, results, set())


def _fewer(data: Data) -> Iterator[Data]:
    """Yield graphs with one result, and graphs in which what a node computes comes from outside."""
    computed = [uid for entry in data["operations"] for uid in entry["outputs"].values()]
    results = [entry["uid"] for entry in data["tensors"] if entry["uid"] in computed and not entry.get("virtual")]
    if len(results) > 1:
        yield from (pruned(data, {uid}, set()) for uid in results)
    if len(data["operations"]) > 1:
        read = {uid for entry in data["operations"] for uid in entry["inputs"].values()}
        yield from (pruned(data, set(results), {uid}) for uid in computed[::-1] if uid in read)
        yield from (pruned(data, {uid}, set()) for uid in computed if uid not in results)


def pruned(data: Data, results: Collection[int], given: Collection[int]) -> Data:
    """Return the part of a graph that computes some results, with some of its tensors given from outside."""
    needed, kept = set(results), []
    for entry in reversed(data["operations"]):
        wanted = needed & set(entry["outputs"].values())
        if wanted - set(given) or wanted & set(results):
            kept.append(entry)
            needed |= set(entry["inputs"].values())
    made = {uid for entry in kept for uid in entry["outputs"].values()}
    used = made | {uid for entry in kept for uid in entry["inputs"].values()}
    used |= {entry["ragged_offset"] for entry in data["tensors"] if entry["uid"] in used and "ragged_offset" in entry}
    tensors = []
    for entry in data["tensors"]:
        if entry["uid"] in used:
            virtual = entry["uid"] in made and entry["uid"] not in results
            tensors.append({**{key: value for key, value in entry.items() if key != "virtual"}, "virtual": virtual})
    return {**data, "operations": kept[::-1], "tensors": tensors}


def _narrower(data: Data) -> Iterator[Data]:
    """Yield graphs with a size halved wherever it stands, then with axes of single inputs cut."""
    computed = {uid for entry in data["operations"] for uid in entry["outputs"].values()}
    sizes = {size for entry in data["tensors"] for size in entry["dims"] if size > 1}
    for size in sorted(sizes, reverse=True):
        for less in dict.fromkeys((1, size // 2, size - 1)):
            yield _resized(data, _everywhere(size, less))
    for entry in data["tensors"]:
        for axis, size in enumerate(entry["dims"] if entry["uid"] not in computed else ()):
            if size > 1:
                yield _resized(data, _cut(entry["uid"], axis, size // 2))


def _everywhere(size: int, less: int) -> Callable[[int, list[int]], list[int]]:
    """Return what sets all dims of one size to another."""
    return lambda _, dims: [less if d == size else d for d in dims]


def _cut(uid: int, axis: int, size: int) -> Callable[[int, list[int]], list[int]]:
    """Return what sets the size of one axis of a tensor."""
    return lambda found, dims: [size if (found, i) == (uid, axis) else d for i, d in enumerate(dims)]


def _resized(data: Data, change: Callable[[int, list[int]], list[int]]) -> Data:
    """Return a graph whose inputs have other dims, in the order of their strides; what follows is left open."""
    made = copy.deepcopy(data)
    computed = {uid: entry["kind"] for entry in data["operations"] for uid in entry["outputs"].values()}
    for entry in made["tensors"]:
        kind = computed.get(entry["uid"])
        dims = change(entry["uid"], entry["dims"])
        if kind is not None:
            entry["dims"], entry["strides"] = dims if kind in _STATED else [], []
        elif dims != entry["dims"]:
            entry["dims"], entry["strides"] = dims, plain_strides({**entry, "dims": dims})
    return made


def plain_strides(entry: Mapping[str, Any]) -> list[int]:
    """Return the strides of a tensor in row-major order; of a ragged one, token by token."""
    if "ragged_offset" not in entry:
        return list(row_major(entry["dims"]))
    b, h, s, d = entry["dims"]
    first, row, head, last = row_major((b, s, h, d))
    return [first, head, row, last]


def _plainer(data: Data) -> Iterator[Data]:
    """Yield graphs with one tensor in row-major order."""
    for place, entry in enumerate(data["tensors"]):
        plain = plain_strides(entry)
        if entry["strides"] != plain:
            made = copy.deepcopy(data)
            made["tensors"][place]["strides"] = plain
            yield made
