"""The methods of :class:`~portadnn.graph.api.pygraph` that write graphs with their plans, and read them."""

from __future__ import annotations

import json
from typing import Any

from ..._io.outside import integer_of_64_bits, parse_json
from ...errors import DnnError, shown, written
from .. import foreign_files
from ..engine import checked
from ..enums import heur_mode
from ..files import FORMAT, VERSION, as_data, graph_of, plan_as_data, plan_of
from ..kernel_cache import checked as checked_format
from ..operation_graph import OperationGraph
from ..plans import engines_of
from ..rules import fail
from .arguments import also_named, truth
from .builder import method
from .core import Graph
from .handles import handle_of
from .planned import Planned
from .plans import build_plans


def data_of(content: Any) -> dict[str, Any]:
    """Return a graph that was written, here or by another library, as plain data.

    Parameters
    ----------
    content
        str, bytes, or a list of the bytes' numbers, as cudnn-frontend returns it.

    Raises
    ------
    InvalidValue
        It is something else, or of a later version (PG-FILE-001).
    cudnnGraphNotSupportedError
        Another library's graph has nodes that do not exist here; all are listed (PG-FILE-003).
    """
    try:
        known = bytes(content) if isinstance(content, (list, tuple, bytearray, memoryview)) else content
        known = known.encode() if isinstance(known, str) else known
        if not isinstance(known, bytes):
            raise TypeError(type(content).__name__)
        found = parse_json(known, "data", integer_of_64_bits) if foreign_files.is_json(known) else None
    except Exception as error:  # no JSON; a user's list may raise anything
        expected = f"a graph in the format {FORMAT}, or of another library"
        raise fail("PG-FILE-001", argument="data", expected=expected, got=written(str, error)) from None
    if isinstance(found, dict) and "format" in found:
        return dict(checked_format(found, FORMAT, VERSION, "data"))
    return foreign_files.read(known if found is None else found)


def graph_and_frozen(data: dict[str, Any]) -> tuple[Graph, OperationGraph]:
    """Make a graph of plain data, validated, and as engines see it.

    Raises
    ------
    InvalidValue
        The data is no graph (PG-FILE-001).
    GraphValidationError
        An operation or a tensor that cannot be.
    """
    try:
        made = graph_of(data)
        made.validate()
        frozen = made.freeze()
        hash(frozen)  # as engines do
    except DnnError:
        raise
    except Exception as error:  # values of other types, wherever they are met
        expected = "a graph's tensors and operations"
        raise fail("PG-FILE-001", argument="graph", expected=expected, got=shown(error)) from None
    return made, frozen


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
def serialize(self: Planned, *, as_bytes: bool = True, include_kernels: bool = True) -> bytes:
    """Return :meth:`to_json` in UTF-8; the arguments are cudnn-frontend's, and change nothing."""
    return to_json(self).encode()


@method
def serialize_as(self: Planned, format: str) -> bytes:
    """Return the graph, validated, in another library's format: ``hipdnn``, ``hipdnn-json`` or ``cudnn-frontend``.

    Raises
    ------
    cudnnGraphNotSupportedError
        The format has no words for something; all of it is listed (PG-FILE-004). ``hipdnn`` needs the package
        ``flatbuffers``, which ``portadnn[hipdnn]`` brings (PG-FILE-005).
    """
    self._graph.validate()
    return foreign_files.write(as_data(self._graph, self._frozen or self._graph.freeze()), format)


@also_named(handle_="handle_or_data", pyobj="data")
@method
def deserialize(self: Planned, handle_or_data: Any = None, data: Any = None, enforce_precompiled: bool = False) -> None:
    """Become a graph that was written: ``deserialize(data)``, or ``deserialize(handle, data)`` for another device.

    The data may be cudnn-frontend's or hipDNN's as well, in their formats. Tensors are found by uid. A plan that was
    written is prepared anew on the handle's device, by its engine and with its knobs; without one ``build`` makes one.

    Raises
    ------
    InvalidValue
        Something else (PG-FILE-001), or a knob's value that is not to be had here (PG-PLAN-006).
    cudnnGraphNotSupportedError
        Another library's graph has nodes that do not exist here; all are listed (PG-FILE-003). The plan's engine is
        not there (PG-FILE-002), or does not take the graph here (PG-ENGINE-001). The graph is
        read nevertheless, and can be built.
    """
    truth(enforce_precompiled, "enforce_precompiled")  # kernels are compiled here anyway
    if data is None:
        data = handle_or_data
    elif handle_or_data is not None:
        self._handle = handle_or_data
    text = data_of(data)
    self._graph, self._frozen = graph_and_frozen(text)
    self._unsupported = None
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
