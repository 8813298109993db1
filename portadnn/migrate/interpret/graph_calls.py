"""Calls of cudnn_frontend: objects that set and get what a graph is made of, and methods that add nodes to it.

An object is an unknown value whose key begins with ``fe~``; what was set on it are variables below that key, so that
branches that meet join them as they do all others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..events import Place
from ..frontend.backend import found_graph
from ..frontend.found import FoundGraph, FoundNode, FoundTensor
from ..frontend.methods import BUILT, GRAPH_TYPE, TENSOR_TYPE, Method, class_named, methods, operation_named
from ..model.state import Deed, Thing
from ..program import Expression, Invocation, Member, Name, Span
from ..values import UNKNOWN, Value, items, known, unknown
from . import types
from .objects import Objects

_MOST_VARIANTS = 4
_SETTER = re.compile(r"(?:set_?|add(?=[A-Z])|has_dbias)(?=[A-Za-z_]|$)")
_NODES = "#nodes"
_OUTPUTS = ("dxDesc", "dwDesc", "cMatDesc", "yDesc")  # what an operation of the older builders writes


@dataclass
class _Made:
    """An object of cudnn_frontend."""

    key: str
    type: str
    guards: int
    label: str = ""
    names: dict[str, None] = field(default_factory=dict)  # of what was set
    maybe: set[str] = field(default_factory=set)
    places: dict[str, Place] = field(default_factory=dict)

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor of either interface."""
        return self.type in ("Tensor_attributes", "TensorBuilder")


class GraphCalls:
    """Follows calls of cudnn_frontend.

    Parameters
    ----------
    walk : Objects
        What follows everything else.
    graphs : list of FoundGraph
        Gets all that were found.
    """

    def __init__(self, walk: Objects, graphs: list[FoundGraph]) -> None:
        self.walk, self.graphs = walk, graphs
        self._begin()

    def _begin(self) -> None:
        """Forget the graphs of what was followed before."""
        self.made: dict[str, _Made] = {}
        self.nodes: list[FoundNode] = []
        self.pending: list[FoundNode] = []
        self.said: dict[str, Value] = {}
        self.shown: set[str] = set()  # graphs that were looked at when the program built them

    def _where(self, span: Span) -> Place:
        return Place.of(self.walk.frame.unit.file, span)

    # Which call it is -------------------------------------------------------------------------------------------

    def invoke(self, call: Invocation) -> Value | None:
        """Follow a call of cudnn_frontend; None where it is none."""
        callee = call.callee
        if isinstance(callee, Name):
            class_ = class_named(
                self.walk.index.resolved(callee.name), types.simple(self.walk.index.resolved(callee.name))
            )
            return self._new_object(class_, call) if class_ else self._of_itself(callee.name, call)
        if not isinstance(callee, Member):
            return None
        name = types.simple(callee.name)
        is_node = name in methods() or name in ("tensor", "tensor_like")
        is_getter = name.startswith("get_") or name == "getOutputTensor"
        if not (is_node or is_getter or name == "reset" or _SETTER.match(name) or BUILT.fullmatch(name)):
            return None
        base = self._object_at(callee.base)
        if base is None and name in methods():
            base = self._by_attributes(callee.base, call)
        if base is None:
            return None
        if name == "reset":
            path = self.walk.place(callee.base)
            if base.type != "Graph" or path is None or len(call.arguments) != 1:
                return None
            self.walk.write(path, self.walk.evaluate(call.arguments[0]))
            return UNKNOWN
        return self._told(base, name, call)

    def _told(self, base: _Made, name: str, call: Invocation) -> Value | None:
        this = unknown(base.key, base.type)
        if base.type == "Graph":
            if name in methods():
                return self._node(base, methods()[name], call)
            if name in ("tensor", "tensor_like"):
                return self._tensor_of(call)
            if BUILT.fullmatch(name):
                self._look(base)
                return None
        if base.type.endswith("Builder") and name == "build":
            return self._built(base, call)
        if _SETTER.match(name):
            self._set(base, _SETTER.sub("", name, count=1) or name, call)
            return this
        if name == "getOutputTensor":
            found = (self._peek(base.key, setting) for setting in _OUTPUTS)
            return next((value.data[0] for value in found if value is not None and value.data), None)
        if name in ("get_dim", "get_stride", "get_uid", "get_data_type"):
            value = self._peek(base.key, name.removeprefix("get_"))
            return value.data[0] if value is not None and value.data else None
        return None

    def _of_itself(self, name: str, call: Invocation) -> Value | None:
        """Follow what a class that is a graph calls of the graph in its methods: ``Graph::tensor(...)``."""
        own, frame = types.simple(name), self.walk.frame
        if (own not in methods() and own not in ("tensor", "tensor_like")) or not frame.this or not frame.this_class:
            return None
        bases = {base for class_ in self.walk.index.lineage(frame.this_class) for base in class_.bases}
        if not any(GRAPH_TYPE.search(self.walk.index.resolved(base)) for base in bases):
            return None
        if "::" not in name and self.walk.index.found_methods(frame.this_class, own):
            return None
        return self._told(self.made.get(frame.this) or self._make("Graph", frame.this), own, call)

    # Objects ----------------------------------------------------------------------------------------------------

    def _new_object(self, class_: str, call: Invocation) -> Value:
        made = self._make(class_, f"fe~{self.walk.fresh()}")
        values = [self.walk.evaluate(argument) for argument in call.arguments]
        old = self._lookup(values[0]) if values else None
        if old is not None and old.type == class_:
            self._copy(old, made)
        elif values and class_ == "OperationBuilder":
            self._write(made, "operation", values)
        elif values and class_ == "Tensor_attributes":
            self._write(made, "value", values)
        return unknown(made.key, class_)

    def _make(self, class_: str, key: str) -> _Made:
        made = self.made[key] = _Made(key, class_, self.walk.guards)
        if class_ == "Graph":
            self.walk.state.variables[f"{key}.{_NODES}"] = items(())
        return made

    def _copy(self, old: _Made, new: _Made) -> None:
        new.label, new.maybe, new.places = old.label, set(old.maybe), dict(old.places)
        for name in old.names:
            value = self._peek(old.key, name)
            if value is not None:
                self._write(new, name, value.data)

    def _lookup(self, value: Value) -> _Made | None:
        for option in value.options:
            data = str(option.data)
            if option.kind in ("unknown", "pointer") and data in self.made:
                return self.made[data]
            if option.kind == "pointer":
                inner = self.walk.peek(data)
                if inner is not None and inner.kind == "unknown" and str(inner.data) in self.made:
                    return self.made[str(inner.data)]
        return None

    def _object_at(self, base: Expression) -> _Made | None:
        """Return the object that a method is called on."""
        if isinstance(base, Invocation):
            return self._lookup(self.walk.evaluate(base)) if self._begins_here(base) else None
        if isinstance(base, Name) and base.name == "this":
            return None
        path = self.walk.place(base)
        value = self.walk.value_at(path) if path is not None else self.walk.evaluate(base)
        found = self._lookup(value)
        if found is None and path is not None and (found := self.made.get(path)) is None:
            found = self._adopt(path, value)
        return found

    def _begins_here(self, base: Invocation) -> bool:
        """Whether the first of a chain of calls is of cudnn_frontend, so that the chain is evaluated once."""
        current: Expression = base
        while isinstance(current, Invocation | Member):
            if isinstance(current, Invocation) and isinstance(current.callee, Name):
                name = self.walk.index.resolved(current.callee.name)
                return bool(class_named(name, types.simple(name)))
            current = current.callee if isinstance(current, Invocation) else current.base
        return isinstance(current, Name) and current.name != "this" and self._object_at(current) is not None

    def _adopt(self, path: str, value: Value) -> _Made | None:
        """Return an object that was declared, or came from outside, by the type of the variable that holds it."""
        type_ = self.walk.index.resolved(types.bare(self.walk.types.get(path, "")))
        class_ = "Graph" if GRAPH_TYPE.search(type_) else "Tensor_attributes" if TENSOR_TYPE.search(type_) else ""
        if not class_:
            bare = types.simple(type_.removesuffix("*").strip())
            class_ = class_named(type_, bare)
        if not class_ or "unordered_map" in type_ or types.is_array(type_):
            return None
        if value.kind != "unknown" or value.data is None:
            self.walk.state.variables[path] = unknown(path, class_)
            return self._make(class_, path)
        return self._make(class_, str(value.data))

    def _by_attributes(self, base: Expression, call: Invocation) -> _Made | None:
        """Return the graph of a call whose last argument are attributes of cudnn_frontend."""
        if not call.arguments or not isinstance(base, Name | Member):
            return None
        last, path = call.arguments[-1], self.walk.place(base)
        here = self._begins_here(last) if isinstance(last, Invocation) else (
            isinstance(last, Name | Member) and self._object_at(last) is not None)  # fmt: skip
        if path is None or not here:
            return None
        self.walk.state.variables[path] = unknown(path, "Graph")
        return self._make("Graph", path)

    # What is set ------------------------------------------------------------------------------------------------

    def _set(self, made: _Made, name: str, call: Invocation) -> None:
        values = [self._given(argument) for argument in call.arguments]
        made.places[name] = self._where(call.arguments[0].span if call.arguments else call.span)
        if name == "name" and values and isinstance(values[0].data, str):
            made.label = values[0].data if values[0].kind == "known" else made.label
        if self.walk.guards > made.guards and name not in made.names:
            made.maybe.add(name)
        self._write(made, name, values)

    def _given(self, argument: Expression) -> Value:
        if (
            isinstance(argument, Invocation)
            and isinstance(argument.callee, Name)
            and argument.callee.name.startswith(("std::get", "get<"))
        ):  # std::get<2>(tensors): one of a tuple
            return unknown(f"{' '.join(argument.text.split())}#{self.walk.frame.turn}")
        value = self.walk.evaluate(argument)
        if (
            value.kind == "unknown"
            and value.data is not None
            and types.is_array(self.walk.types.get(str(value.data), ""))
        ):
            return self.walk.elements(str(value.data)) or value
        if value.kind == "pointer" and self._lookup(value) is None:
            return self.walk.content(value, array=True) or value
        return value

    def _write(self, made: _Made, name: str, values: Sequence[Value]) -> None:
        made.names[name] = None
        path, value = f"{made.key}.{name}", items(values)
        before = self.walk.state.variables.get(path)
        if before is not None and before.kind == "one of" and name == _NODES:
            return
        self.walk.state.variables[path] = self.said[path] = value

    def _peek(self, key: str, name: str) -> Value | None:
        path = f"{key}.{name}"
        value = self.walk.state.variables.get(path)
        if value is None:
            value = self.said.get(path)
        if value is not None and value.kind == "one of":  # argument by argument
            options = [option.data for option in value.options if option.kind == "items"]
            if options and len({len(option) for option in options}) == 1:
                return items([self.walk.joined(column) for column in zip(*options, strict=True)])
            return (options and items(options[-1])) or None
        return value if value is not None and value.kind == "items" else None

    def _settings(self, made: _Made) -> dict[str, tuple[Value, ...]]:
        found = ((name, self._peek(made.key, name)) for name in made.names if not name.startswith("#"))
        return {name: tuple(value.data) for name, value in found if value is not None}

    # Tensors and nodes ------------------------------------------------------------------------------------------

    def _tensor_of(self, call: Invocation) -> Value:
        values = [self.walk.evaluate(argument) for argument in call.arguments]
        made = self._make("Tensor_attributes", f"fe~{self.walk.fresh()}")
        old = self._lookup(values[0]) if values else None
        if old is not None:
            self._copy(old, made)
        elif values:
            self._write(made, "value", values[:1])
        return unknown(made.key, made.type)

    def _node(self, graph: _Made, method: Method, call: Invocation) -> Value:
        values = [self._given(argument) for argument in call.arguments]
        attributes = self._lookup(values[-1]) if values else None
        if attributes is not None and attributes.is_tensor:
            attributes = None
        tensors = values[:-1] if attributes is not None or len(values) > len(method.inputs) else values
        inputs = self._inputs(method, tensors)
        settings = {} if attributes is None else self._settings(attributes)
        outputs = {}
        for port in method.outputs:
            out = self._make("Tensor_attributes", f"fe~{self.walk.fresh()}")
            outputs[port] = out.key
        node = FoundNode(method, self._where(call.span), call.text, self.walk.frame.label, inputs, outputs, settings)
        if attributes is not None:
            node = replace(node, maybe=frozenset(attributes.maybe), places=dict(attributes.places))
        self._append(graph, node)
        given = [unknown(key, "Tensor_attributes") for key in outputs.values()]
        return given[0] if len(given) == 1 else items(given, "Tensor_attributes[]")

    def _inputs(self, method: Method, values: Sequence[Value]) -> dict[str, str]:
        if method.name == "concatenate" and values:
            listed = values[0].data if values[0].kind == "items" else ()
            return {f"IN_{i}": self._key_of(value) for i, value in enumerate(listed)}
        pairs = zip(method.inputs, values, strict=False)
        return {port: self._key_of(value) for port, value in pairs if not value.is_null}

    def _key_of(self, value: Value) -> str:
        """Return the key of a tensor; one that came from elsewhere is made."""
        found = self._lookup(value)
        if found is None:
            key = str(value.data) if value.kind == "unknown" and value.data is not None else f"fe~{self.walk.fresh()}"
            found = self._make("Tensor_attributes", key)
        return found.key

    def _numbers(self, graph: _Made) -> Value:
        """Return the numbers of a graph's nodes; where too many paths meet, those of the last one."""
        path = f"{graph.key}.{_NODES}"
        value = self.walk.state.variables.get(path)
        known_ = value is not None and value.kind in ("items", "one of")
        return value if value is not None and known_ else self.said.get(path, items(()))

    def _append(self, graph: _Made, node: FoundNode) -> None:
        path = f"{graph.key}.{_NODES}"
        before = self._numbers(graph)
        number = known(len(self.nodes))
        self.nodes.append(node)
        options = []
        for option in before.options[:_MOST_VARIANTS]:
            numbers = option.data if option.kind == "items" else ()
            again = any(self.nodes[one.data].place == node.place for one in numbers) if self.walk.loops else False
            options.append(items(numbers if again else (*numbers, number)))
        self.walk.state.variables[path] = self.said[path] = self.walk.joined(options)
        self.shown.discard(graph.key)

    # The older builders -----------------------------------------------------------------------------------------

    def _built(self, made: _Made, call: Invocation) -> Value:
        if made.type == "OperationBuilder":
            self._operation(made, call)
        elif made.type == "OperationGraphBuilder" and self.pending:
            self._keep(tuple(self.pending), {}, older=True)
            self.pending = []
        return unknown(made.key, made.type)

    def _operation(self, made: _Made, call: Invocation) -> None:
        settings = self._settings(made)
        named = settings.get("operation", (UNKNOWN,))[0]
        operation = operation_named(str(named.data)) if named.kind == "known" else None
        if operation is None:
            return
        method = operation.method
        inputs: dict[str, str] = {}
        outputs: dict[str, str] = {}
        backward = "dyDesc" in settings
        rest: dict[str, tuple[Value, ...]] = {}
        for name, values in settings.items():
            port = operation.ports.get(name)
            if port is not None and values:
                if method.kind == "pointwise" and backward and name == "xDesc":
                    port = "IN_1"
                (outputs if port in method.outputs else inputs)[port] = self._key_of(values[0])
            elif values and (inner := self._lookup(values[0])) is not None:
                rest |= self._settings(inner)
            else:
                rest[name] = values
        if backward and "dxDesc" not in settings and method.name == "conv_dgrad" and "xDesc" in settings:
            outputs["DX"] = self._key_of(settings["xDesc"][0])
        span = call.span
        node = FoundNode(method, self._where(span), call.text, self.walk.frame.label, inputs, outputs, rest)
        if not any(one.place == node.place for one in self.pending):
            self.pending.append(node)

    # Whole graphs -----------------------------------------------------------------------------------------------

    def _look(self, graph: _Made) -> None:
        """Keep a graph as it is now, in all forms that it may have."""
        if graph.key in self.shown:
            return
        self.shown.add(graph.key)
        settings = self._settings(graph)
        for option in self._numbers(graph).options[:_MOST_VARIANTS]:
            nodes = tuple(self.nodes[one.data] for one in option.data) if option.kind == "items" else ()
            if nodes:
                self._keep(nodes, settings)

    def _keep(
        self,
        nodes: tuple[FoundNode, ...],
        settings: dict[str, tuple[Value, ...]],
        *,
        older: bool = False,
        whole: bool = True,
    ) -> None:
        keys = {key for node in nodes for key in (*node.inputs.values(), *node.outputs.values())}
        for node in nodes:  # tensors that attributes name: a bias, an epsilon
            for values in node.settings.values():
                keys |= {one.key for value in values if (one := self._lookup(value)) is not None and one.is_tensor}
        tensors = {key: FoundTensor(key, self.made[key].label, self._settings(self.made[key])) for key in keys}
        self.graphs.append(FoundGraph(nodes, tensors, settings, older, whole=whole))

    def finalized(self, thing: Thing, journal: Mapping[int, Deed]) -> None:
        """Keep the graph that a backend descriptor is of, once it is finalized."""
        found = found_graph(thing, self.walk.state, journal)
        if found is not None:
            self.graphs.append(found)

    def end(self) -> None:
        """Keep the graphs that the program did not build where it was followed."""
        for made in list(self.made.values()):
            if made.type == "Graph":
                self._look(made)
        if self.pending:
            self._keep(tuple(self.pending), {}, older=True)
        kept = {id(node) for graph in self.graphs for node in graph.nodes}
        left = [node for node in self.nodes if id(node) not in kept]
        if left:
            self._keep(tuple(left), {}, whole=False)
        self._begin()
