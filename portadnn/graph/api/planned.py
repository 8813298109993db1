"""The state behind :class:`~portadnn.graph.api.pygraph`: a graph with its candidates and its plan on handles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...dispatch.bound_call import Marker
from ...handle import Handle
from ..engine import Config, GraphEngine, checked
from ..enums import cuda_graph_retention, heur_mode, knob_type
from ..errors import GraphError, cudnnGraphNotSupportedError
from ..kernel_cache import KernelCache
from ..operation_graph import OperationGraph
from ..plans import Filters, Plans, engines_of
from ..rules import fail
from ..tensor import tensor
from .arguments import whole
from .builder import Builder
from .core import Graph
from .handles import handle_of

_REFUSED_AT_ONCE = frozenset({"PG-SDPA-015"})  # cudnn-frontend refuses these graphs in validate()


class _PlansAlive(Marker):
    """Stands for the plans of a graph in the keys of calls: other plans, another object."""


class Planned(Builder):
    """A graph with its candidates on handles."""

    _exact_packs = False  # whether packs may have no buffers that nothing reads

    def __init__(self, graph: Graph, handle: Any, cache: KernelCache | None) -> None:
        super().__init__(graph)
        self._handle = handle
        self._cache = cache
        self._frozen: OperationGraph | None = None
        self._plans: dict[int, Plans] = {}  # by the handle's serial
        self._modes: list[heur_mode] = []
        self._only: tuple[str, Mapping[knob_type, int]] | None = None  # the one plan that the program asked for
        self._filters = Filters()
        self._chosen: int | None = None
        self._pinned: int | None = None  # the plan that the program selected by its number
        self._scratch: dict[tuple[int, int], Any] = {}  # by the handle's serial and the stream
        self._alive = _PlansAlive()
        self._unsupported: cudnnGraphNotSupportedError | None = None  # why no engine can take the graph
        self._flexible = False  # whether it may be executed with other dims and strides
        self._variants: dict[Any, Planned] = {}  # the graph with other dims and strides
        self._retention: cuda_graph_retention | None = None  # None: what the environment says
        self._cuda_graphs: dict[int, Any] = {}  # what graphs of the driver need, by address
        self._notes: dict[tuple[str, str | None], GraphError] = {}  # on packs
        self._operands: dict[tensor, Any] = {}  # arrays that were passed to operations, for packs without them

    def _known(self) -> dict[int, tensor]:
        """Return the program's tensors by uid."""
        return {one.get_uid(): one for one in self._graph.tensors() if one.has_uid()}

    def _validated(self) -> bool:
        """Validate the graph; return whether it is supported, else keep why not."""
        self._unsupported = None
        try:
            self._graph.validate()
        except cudnnGraphNotSupportedError as error:
            if error.id in _REFUSED_AT_ONCE:
                raise
            self._unsupported = error
        return self._unsupported is None

    def _graph_frozen(self) -> OperationGraph:
        if self._unsupported is not None:
            raise self._unsupported
        if self._frozen is None:
            raise fail(
                "PG-PLAN-001",
                expected="build_operation_graph() first",
                got="no frozen graph",
                fix="graph.build([heur_mode.A])",
            )
        return self._frozen

    def _as_it_is(self) -> OperationGraph:
        """Return the frozen graph, or what it would be now."""
        if self._frozen is not None:
            return self._frozen
        self._graph.validate()
        return self._graph.freeze()

    def _opened(self, handle: Any) -> Handle:
        """Return a handle, by default the graph's."""
        return handle_of(self._handle if handle is None else handle)

    def _plans_on(self, handle: Any) -> Plans:
        """Return the candidates on a handle, which need not be the graph's."""
        frozen = self._graph_frozen()
        if not self._modes:
            raise fail("PG-PLAN-001", expected="create_execution_plans([heur_mode.A]) first", got="no candidates")
        opened = handle_of(handle)
        found = self._plans.get(opened.serial)
        if found is None:
            found = Plans(frozen, opened)
            only = self._only or (None if self._cache is None else self._cache.known(frozen, opened))
            config = None
            if only is not None:
                named = [engine for engine in engines_of(opened) if engine.name == only[0]]
                config = checked(named[0], frozen, opened.info, only[1]) if named else None
            found.query(self._modes, config)
            self._plans[opened.serial] = found
        return found

    def _drop_plans(self) -> None:
        self._plans.clear()
        self._variants.clear()
        self._drop_calls()

    def _drop_calls(self) -> None:
        self._alive = _PlansAlive()

    def _wanted(self, plans: Plans) -> list[int]:
        """Return the numbers of the plans that the program's filters leave, or of the one that it selected."""
        return plans.chosen(self._filters) if self._pinned is None else [self._pinned]

    def _choose(self, plans: Plans, number: int) -> None:
        self._chosen = number
        if self._cache is not None:
            self._cache.add(plans.graph, plans.handle, plans.config(number))

    def _index(self, plans: Plans) -> int:
        """Return the chosen plan's number; on another handle than the graph's that of its own first choice."""
        if self._chosen is not None and plans.handle is handle_of(self._handle):
            return self._chosen
        return plans.chosen(self._filters)[0]

    def _config(self, index: int) -> Config:
        return self._plans_on(self._handle).config(index)

    def _engine(self, engine_id: int) -> GraphEngine:
        engines = engines_of(handle_of(self._handle))
        number = whole(engine_id, "engine_id", "PG-PLAN-006")
        if not 0 <= number < len(engines):
            raise fail("PG-PLAN-006", argument="engine_id", expected=f"0 to {len(engines) - 1}", got=number)
        return engines[number]
