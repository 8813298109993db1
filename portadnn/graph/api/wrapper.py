"""``cudnn.Graph``: a graph whose operations take arrays for tensors, that is built by a ``with``, and called."""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from ...enums import plain_number
from ...errors import shown
from ...problem import TensorSpec
from ..data_types import torch_dtype
from ..enums import heur_mode
from ..memory import host as memory
from ..rules import fail
from ..tensor import tensor
from .arguments import is_array, listed, text, truth
from .handles import handle_of
from .pygraph import pygraph

_MADE_FOR_YOU = frozenset(
    {
        "build",
        "build_operation_graph",
        "build_plan_at_index",
        "build_plans",
        "check_support",
        "create_execution_plan",
        "create_execution_plans",
        "deselect_behavior_notes",
        "deselect_engines",
        "deselect_numeric_notes",
        "deselect_workspace_greater_than",
        "execute",
        "execute_plan_at_index",
        "get_behavior_notes",
        "get_behavior_notes_for_plan_at_index",
        "get_engine_count",
        "get_execution_plan_count",
        "get_knobs_for_engine",
        "get_plan_name_at_index",
        "key",
        "populate_cuda_graph",
        "select_behavior_notes",
        "select_numeric_notes",
        "update_cuda_graph",
        "validate",
    }
)
_TENSORS = frozenset({"tensor", "tensor_like", "tensor_scalar"})


class Graph:
    """A graph that is described inside a ``with``, built at its end, and then called with arrays.

    Operations are methods, those of :class:`pygraph`; where they take a tensor they take an array as well, of any
    library, whose dims, strides and type count. Tensors have names: ``"node::argument"`` or ``"node::0"`` by position,
    for outputs their own (``"node::Y"``); nodes without a name are ``"conv_fprop.0"``, ``"conv_fprop.1"`` and so on.

    Parameters
    ----------
    handle
        To build for and to run on, unless a call says otherwise; by default the best device's.
    inputs, outputs
        As :meth:`set_io_tuples` takes them.
    heuristics
        ``[heur_mode.A, heur_mode.FALLBACK]`` by default.
    workspace_alloc
        False demands a workspace of every call.
    **arguments
        Those of :class:`pygraph`.

    Raises
    ------
    InvalidValue
        Lists that are none (PG-WRAP-001).

    Notes
    -----
    The class of that name in cudnn-frontend's Python module (1.23); PyTorch is not needed here. Results are made by the
    library of the first array that comes in; those for CuPy's arrays by PyTorch where a program has imported it.
    """

    def __init__(
        self,
        *,
        handle: Any = None,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        heuristics: Sequence[heur_mode] | None = None,
        workspace_alloc: bool = True,
        **arguments: Any,
    ) -> None:
        inputs, outputs, modes = (
            _list(name, () if value is None else value)
            for name, value in (("inputs", inputs), ("outputs", outputs), ("heuristics", heuristics))
        )
        self._handle = None if isinstance(handle, str) and str.__str__(handle) == "auto" else handle
        self._modes = modes or [heur_mode.A, heur_mode.FALLBACK]
        self._own_workspace = truth(workspace_alloc, "workspace_alloc")
        self._arguments = arguments
        self._graph: pygraph | None = None
        self._built = False
        self._wanted = (inputs, outputs) if inputs or outputs else None
        self._order: tuple[list[tensor], list[tensor]] | None = None
        self._named: dict[str, tensor] = {}  # "node::argument": what goes in
        self._results: dict[str, tensor] = {}  # "node::Y": what comes out
        self._arrays: dict[int, tuple[weakref.ref[Any], tensor]] = {}  # by id, which is another's when they are gone
        self._nodes: set[str] = set()
        self._count: dict[str, int] = {}

    def __enter__(self) -> Graph:
        if self._graph is not None:
            raise fail("PG-WRAP-002", expected="one `with` a graph", got="a second one", fix="make a new Graph")
        self._graph = pygraph(handle=self._handle, **self._arguments)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._pygraph().build(self._modes)
            self._built = True
            if self._wanted is not None:
                self.set_io_tuples(*self._wanted)
        else:
            self._graph = None

    def _pygraph(self) -> pygraph:
        if self._graph is None:
            raise fail("PG-WRAP-002", expected="`with Graph(...) as graph:` first", got="no graph")
        return self._graph

    def __getattr__(self, name: str) -> Any:
        """Return a method of the graph; operations take arrays as well."""
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._pygraph(), name)
        if name in _MADE_FOR_YOU:
            raise fail("PG-WRAP-003", argument=name, expected="what the end of the `with` and a call do", got=name)
        if name in _TENSORS or not callable(found) or "name" not in inspect.signature(found).parameters:
            return found
        if self._built:
            raise fail("PG-WRAP-002", argument=name, expected="operations inside the `with`", got="one after it")
        return functools.partial(self._operation, name, found)

    # operations

    def _operation(self, kind: str, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Add an operation, with tensors for arrays, and take note of the tensors' names."""
        signature = inspect.signature(method)
        given = signature.bind_partial(*args, **kwargs).arguments
        number = self._count[kind] = self._count.get(kind, -1) + 1
        node = text(given.get("name") or "", "name") or f"{kind}.{number}"
        if node in self._nodes:
            raise fail("PG-GRAPH-002", node=f"{kind} '{node}'", argument="name", fix="give each node its own name")
        places = {name: index for index, name in enumerate(list(signature.parameters)[: len(args)])}
        taken = {name: self._taken(value) for name, value in given.items() if name != "name"}
        outputs = method(**taken, name=node)
        self._nodes.add(node)
        for name, value in taken.items():
            for label in (name, places.get(name)):
                if label is not None:
                    self._named.update(_labelled(f"{node}::{label}", value))
        for index, one in enumerate([outputs] if isinstance(outputs, tensor) else outputs):
            if isinstance(one, tensor):
                self._results[one.get_name() or f"{node}::{index}"] = one
        return outputs

    def _taken(self, value: Any) -> Any:
        """Return a tensor for an array, also in a list; anything else as it is."""
        if isinstance(value, (tuple, list)):
            items = [self._taken_one(one) for one in listed(value, "tensors")]
            return tuple(items) if isinstance(value, tuple) else items
        return self._taken_one(value)

    def _taken_one(self, value: Any) -> Any:
        if isinstance(value, tensor) or not is_array(value):
            return value
        known = self._of_array(value)
        if known is None:
            known = self._pygraph().tensor_like(value)
            try:
                self._arrays[id(value)] = weakref.ref(value), known
            except TypeError:
                got = type(value).__name__
                raise fail("PG-TENSOR-019", expected="an array that can be referred to weakly", got=got) from None
        return known

    def _of_array(self, value: Any) -> tensor | None:
        array, known = self._arrays.get(id(value), (None, None))
        return known if array is not None and array() is value else None

    # running

    def set_io_tuples(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Say in which order a call takes arrays and returns results.

        Parameters
        ----------
        inputs, outputs
            All that the graph takes and makes: names, tensors, uids, or the arrays that operations took.

        Raises
        ------
        InvalidValue
            One is unknown, virtual, twice there or left out (PG-WRAP-004).
        """
        inputs, outputs = _list("inputs", inputs), _list("outputs", outputs)
        if not self._built:
            self._wanted = inputs, outputs
            return
        order = (
            [self._find(one, self._named, "inputs") for one in inputs],
            [self._find(one, self._results, "outputs") for one in outputs],
        )
        _check_complete("inputs", order[0], self._named, made=self._results.values())
        _check_complete("outputs", order[1], self._results)
        self._order = order

    def _find(self, wanted: Any, known: Mapping[str, tensor], argument: str) -> tensor:
        word = str.__str__(wanted) if isinstance(wanted, str) else plain_number(wanted)
        for name, one in known.items():
            if one is wanted or (word not in (None, "") and word in (name, one.get_name(), one.get_uid())):
                return one
        found = self._of_array(wanted)
        if found is None:
            raise fail("PG-WRAP-004", argument=argument, expected=f"names of {', '.join(known)}", got=shown(wanted))
        return found

    def __call__(self, *args: Any, handle: Any = None, workspace: Any = None) -> Any:
        """Run the graph.

        Parameters
        ----------
        *args
            Arrays, in the order of :meth:`set_io_tuples`; or one dict of arrays by name, tensor or uid. Results that
            are missing in it are made and added by their names.
        handle, workspace
            As ``execute`` takes them.

        Returns
        -------
        array, list of arrays, or dict
            The result, the results, or the dict.

        Raises
        ------
        InvalidValue
            Before the end of the ``with``, without an order, or with another number of arrays (PG-WRAP-002, 005).
        InvalidVariantPack
            Something is missing (PG-PACK-001).
        """
        graph = self._pygraph()
        if not self._built:
            raise fail("PG-WRAP-002", expected="a call after the `with`", got="one inside")
        handle = self._handle if handle is None else handle
        if workspace is None and not self._own_workspace and graph.get_workspace_size():
            raise fail("PG-WRAP-005", argument="workspace", expected=f"{graph.get_workspace_size()} bytes", got="none")
        if len(args) == 1 and isinstance(args[0], dict):
            graph.execute(self._pack(args[0], handle), workspace, handle=handle)
            return args[0]
        if self._order is None or len(args) != len(self._order[0]):
            expected = "set_io_tuples() first" if self._order is None else f"{len(self._order[0])} arrays"
            raise fail("PG-WRAP-005", argument="*args", expected=expected, got=f"{len(args)} arrays")
        pack = {one: _no_address(one, array) for one, array in zip(self._order[0], args, strict=True)}
        results = [_empty(one, args, handle) for one in self._order[1]]
        graph.execute({**pack, **dict(zip(self._order[1], results, strict=True))}, workspace, handle=handle)
        return results[0] if len(results) == 1 else results

    def _pack(self, arrays: dict[Any, Any], handle: Any) -> dict[tensor, Any]:
        """Return a variant pack of a dict by any key; results that are missing are added to the dict."""
        pack = {}
        for name, one in (*self._named.items(), *self._results.items()):
            keys = [key for key in (name, one, one.get_name(), one.get_uid()) if key in arrays]
            if not one.get_is_virtual() and keys:
                pack[one] = _no_address(one, arrays[keys[0]])
        inputs = list(pack.values())
        for name, one in self._results.items():
            if not one.get_is_virtual() and one not in pack:
                pack[one] = arrays[name] = _empty(one, inputs, handle)
        return pack


def _no_address(one: tensor, array: Any) -> Any:
    """Refuse an integer for an array: execute() takes it for an address."""
    if isinstance(array, (int, np.integer)) and not one.get_is_pass_by_value():
        raise fail("PG-WRAP-005", argument=one.get_name() or "array", expected="an array", got=shown(array))
    return array


def _labelled(label: str, value: Any) -> dict[str, tensor]:
    """Return the names of a tensor, or of those in a tuple."""
    if isinstance(value, (tuple, list)):
        return {f"{label}::{index}": one for index, one in enumerate(value) if isinstance(one, tensor)}
    return {label: value} if isinstance(value, tensor) else {}


def _list(argument: str, value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise fail("PG-WRAP-001", argument=argument, expected="a list or a tuple", got=type(value).__name__)
    return listed(value, argument, "PG-WRAP-001")


def _check_complete(
    argument: str, order: Sequence[tensor], known: Mapping[str, tensor], made: Iterable[tensor] = ()
) -> None:
    """Demand each of the tensors that are in packs once; what the graph makes itself is no input."""
    elsewhere = {id(one) for one in made}
    needed = {id(one): name for name, one in known.items() if not _internal(one) and id(one) not in elsewhere}
    for place, one in enumerate(order):
        if needed.pop(id(one), None) is None:
            got = f"number {place}, {one!r}, which is virtual, has a value or came before"
            raise fail("PG-WRAP-004", argument=argument, expected="each tensor of variant packs once", got=got)
    if needed:
        left = ", ".join(needed.values())
        raise fail("PG-WRAP-004", argument=argument, expected="all tensors", got=f"none of {left}")


def _internal(one: tensor) -> bool:
    return one.get_is_virtual() or one.get_has_compile_time_constant()


def _empty(like: tensor, arrays: Sequence[Any], handle: Any) -> Any:
    """Return memory for a result, of the library of the first array; PyTorch's for CuPy's, as cudnn-frontend does."""
    dims, strides, kind = like.get_dim(), like.get_stride(), like.get_data_type()
    first = next(iter(arrays), None)
    library = type(first).__module__.split(".")[0]
    torch = sys.modules.get("torch")
    if torch is not None and (library == "torch" or (library == "cupy" and torch.cuda.is_available())):
        place = getattr(first, "device", None) if library == "torch" else "cuda"
        return torch.empty_strided(dims, strides, dtype=torch_dtype(kind), device=place)
    device = handle_of(handle).device
    if first is None or memory.is_host(first) or not device.owns(first):
        span = 1 + sum((size - 1) * step for size, step in zip(dims, strides, strict=True))
        steps = [step * kind.storage.itemsize for step in strides]
        return np.ndarray(dims, kind.storage, np.empty(span, kind.storage), strides=steps)
    known = kind.problem_type
    if known is None:
        expected = f"memory for '{like.get_name()}' of {kind.name}"
        raise fail("PG-WRAP-005", argument="results", expected=expected, got="none", fix="pass a dict with it")
    return device.empty(TensorSpec(known, tuple(dims), tuple(strides)))
