"""Executing a graph with other dims and strides than it was built with: the same graph, laid out anew, with its plan.

What the program set holds but for the tensors that it names; what ``validate`` inferred is inferred again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..engine import Config
from ..enums import heur_mode
from ..errors import GraphError
from ..files import as_data, graph_of
from ..layout import Dims, like
from ..rules import fail
from .arguments import integers, listed
from .planned import Planned

Layouts: TypeAlias = tuple[tuple[int, Dims, Dims], ...]  # uid, dims, strides; no strides for packed ones
MOST_VARIANTS = 256  # of a graph, with their plans


@dataclass(frozen=True)
class Overrides:
    """The three arguments of ``execute`` that lay tensors out otherwise."""

    uids: Any = None
    shapes: Any = None
    strides: Any = None

    def layouts(self) -> Layouts:
        """Return uid, dims and strides of each tensor that is named.

        Raises
        ------
        InvalidValue
            No lists of one length, or a uid twice (PG-PLAN-007).
        """
        uids = integers(() if self.uids is None else self.uids, "override_uids", "PG-PLAN-007")
        lists = []
        for name in ("shapes", "strides"):
            argument, given = f"override_{name}", getattr(self, name)
            rows = listed(() if given is None else given, argument, "PG-PLAN-007")
            if len(rows) != len(uids):
                raise fail("PG-PLAN-007", argument=argument, expected=f"{len(uids)}, as override_uids", got=len(rows))
            lists.append([integers(row, f"{argument}[{i}]", "PG-PLAN-007") for i, row in enumerate(rows)])
        if len(set(uids)) != len(uids):
            raise fail("PG-PLAN-007", argument="override_uids", expected="each uid once", got=list(uids))
        return tuple(zip(uids, *lists, strict=True))


def with_layouts(self: Planned, layouts: Layouts, config: Config) -> Planned:
    """Return the graph with other layouts of some tensors, built; known from the second time on.

    It gets the engine and the knobs of `config`, or, where that engine does not take these dims, what the heuristics
    of the graph's modes choose.

    Raises
    ------
    cudnnGraphNotSupportedError
        The graph was not made for that (PG-PLAN-005).
    """
    if not self._flexible:
        fix = "pygraph(is_override_shape_enabled=True)"
        raise fail("PG-PLAN-005", argument="override_uids", expected="None: dims are the graph's", fix=fix)
    key = (layouts, config.name)
    found = self._variants.get(key)
    if found is None:
        found = _variant(self, layouts, config)
        if len(self._variants) >= MOST_VARIANTS:
            del self._variants[next(iter(self._variants))]
        self._variants[key] = found
    return found


def _variant(self: Planned, layouts: Layouts, config: Config) -> Planned:
    frozen = self._graph_frozen()
    data = as_data(self._graph, frozen)
    inferred = {one.get_uid(): one.inferred for one in self._graph.tensors() if one.has_uid()}
    entries = {entry["uid"]: entry for entry in data["tensors"]}
    for uid, entry in entries.items():
        entry.update((key, []) for key in inferred.get(uid, ()))
    for uid, dims, strides in layouts:
        if uid not in entries or frozen.by_uid[uid].by_value:
            names = ", ".join(f"{i.uid} ('{i.name}')" for i in frozen.memory)
            raise fail("PG-PLAN-007", argument="override_uids", expected=f"uids of {names}", got=uid)
        entries[uid] |= _layout(entries[uid], frozen.by_uid[uid].strides, dims, strides)
    made = Planned(graph_of(data), self._handle, self._cache)
    made._graph.validate()
    made._frozen, made._filters = made._graph.freeze(), self._filters
    made._modes, made._only = list(heur_mode), (config.engine.name, config.knobs)
    try:
        plans = made._plans_on(self._handle)
    except GraphError:
        made._modes, made._only = self._modes, None
        plans = made._plans_on(self._handle)
    made._chosen = plans.chosen(made._filters)[0]
    return made


def _layout(entry: Mapping[str, Any], before: Dims, dims: Dims, strides: Dims) -> dict[str, Any]:
    """Return new dims and strides of a tensor; a ragged one keeps its strides where there are no fitting others."""
    if strides and len(strides) != len(dims):
        if entry.get("ragged_offset") is None or len(before) != len(dims):
            uid = entry["uid"]
            raise fail("PG-PLAN-007", argument=f"uid {uid}", expected=f"{len(dims)} strides", got=list(strides))
        strides = before
    return {"dims": list(dims), "strides": list(strides or like(dims, dims, before))}
