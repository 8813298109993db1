"""The methods of :class:`~portadnn.graph.api.pygraph` that write graphs with their plans, and read them."""

from __future__ import annotations

import json
from typing import Any

from ...errors import DnnError, shown
from ..engine import checked
from ..enums import heur_mode
from ..files import FORMAT, VERSION, as_data, graph_of, plan_as_data, plan_of
from ..kernel_cache import read
from ..plans import engines_of
from ..rules import fail
from .builder import method
from .handles import handle_of
from .planned import Planned
from .plans import build_plans


@method
def to_json(self: Planned) -> str:
    """Return the graph, validated, and its plan if one is built, as JSON for people and for ``deserialize``."""
    self._graph.validate()
    frozen = self._frozen or self._graph.freeze()
    data = as_data(self._graph, frozen)
    if self._chosen is not None:
        plans = self._plans_on(self._handle)
        data["plan"] = plan_as_data(plans.plan(self._chosen), plans.config(self._chosen), plans.handle)
    return json.dumps(data, indent=1)


@method
def serialize(self: Planned) -> bytes:
    """Return :meth:`to_json` in UTF-8."""
    return to_json(self).encode()


@method
def deserialize(self: Planned, handle_or_data: Any, data: Any = None) -> None:
    """Become a graph that was written: ``deserialize(data)``, or ``deserialize(handle, data)`` for another device.

    Its tensors are found by uid. A plan that was written is prepared anew on the handle's device, by its engine and
    with its knobs; without one ``build`` makes one.

    Raises
    ------
    InvalidValue
        Something else (PG-FILE-001), or a knob's value that is not to be had here (PG-PLAN-006).
    cudnnGraphNotSupportedError
        The plan's engine is not there (PG-FILE-002), or does not take the graph here (PG-ENGINE-001). The graph is
        read nevertheless, and can be built.
    """
    if data is None:
        data = handle_or_data
    else:
        self._handle = handle_or_data
    text = read(data, FORMAT, VERSION, "data")
    try:
        made = graph_of(text)
        made.validate()
        frozen = made.freeze()
        hash(frozen)  # as engines do
    except DnnError:
        raise
    except Exception as error:  # values of other types, wherever they are met
        expected = "a graph's tensors and operations"
        raise fail("PG-FILE-001", argument="graph", expected=expected, got=shown(error)) from None
    self._graph, self._frozen = made, frozen
    self._drop_plans()
    self._modes, self._only, self._chosen = [], None, None
    if text.get("plan") is not None:
        _restore(self, *plan_of(text["plan"]), text["plan"])


def _restore(self: Planned, name: str, knobs: Any, said: Any) -> None:
    """Build the plan that was written."""
    handle = handle_of(self._handle)
    engines = {engine.name: engine for engine in engines_of(handle)}
    if name not in engines:
        raise fail(
            "PG-FILE-002",
            argument="plan",
            expected=f"one of {', '.join(engines)} on {handle.backend} ({handle.info.name})",
            got=f"{name}, of {said.get('device')}",
            fix="graph.build([heur_mode.A, heur_mode.FALLBACK]) makes a plan for this device",
        )
    assert self._frozen is not None
    reasons = list(engines[name].reasons(self._frozen, handle.info))
    if not reasons:
        checked(engines[name], self._frozen, handle.info, knobs)
    self._modes, self._only = list(heur_mode), (name, knobs)
    try:
        build_plans(self)
    except BaseException:
        self._modes, self._only = [], None
        self._drop_plans()
        raise
