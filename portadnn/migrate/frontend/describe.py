"""A found graph as one of portadnn.graph, with stand-ins for sizes that the source does not show."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..values import Value
from .found import FoundGraph, FoundNode, FoundTensor, Settings, enumerator

if TYPE_CHECKING:
    from ...graph.api.core import Graph
    from ...graph.operation_graph import OperationGraph
    from ...graph.tensor import tensor

_STAND_IN = 64  # equal sizes, and divisible ones, fit most
_WORD = re.compile(r"[^-+*/%()\s]+")
_FORMULA = re.compile(r"[-+*/%()\s\w.#\[\]>~:]+")
_LONGEST = 200
_FEW = 3  # types, of which one may be any
_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SCALARS = {"EPSILON", "MOMENTUM", "ATTN_SCALE", "SEED", "OFFSET", "ACCUM_COUNT", "DROPOUT_SCALE", "DROPOUT_SCALE_INV"}
_VECTORS = {"SCALE", "BIAS", "MEAN", "INV_VARIANCE", "PREV_RUNNING_MEAN", "PREV_RUNNING_VAR", "SUM", "SQ_SUM"}
_RENAMED = {
    "forward_phase": "phase", "resampling_mode": "mode", "alibi_mask": "use_alibi_mask",
    "padding_mask": "use_padding_mask", "sliding_window_length": "left_bound", "strides": "stride",
    "diagonal_band_left_bound": "left_bound", "diagonal_band_right_bound": "right_bound",
    "paged_attention_max_seq_len_kv": "max_seq_len_kv", "math_mode": "convolution_mode", "dilations": "dilation",
    "spatial_stride": "stride", "reduction_op": "mode", "resample_mode": "mode",
}  # fmt: skip
_PORTS = {
    "epsilon": ("EPSILON",), "previous_running_stats": ("PREV_RUNNING_MEAN", "PREV_RUNNING_VAR", "MOMENTUM"),
    "saved_mean_and_inv_variance": ("MEAN", "INV_VARIANCE"), "bias": ("BIAS",), "attn_scale": ("ATTN_SCALE",),
    "seq_len_q": ("SEQ_LEN_Q",), "seq_len_kv": ("SEQ_LEN_KV",), "sink_token": ("SINK_TOKEN",),
    "block_mask": ("BLOCK_MASK",), "paged_attention_k_table": ("PAGE_TABLE_K",),
    "paged_attention_v_table": ("PAGE_TABLE_V",),
}  # fmt: skip


_USUAL = {  # attributes that a node must have
    "pre_padding": (0, 0), "post_padding": (0, 0), "stride": (1, 1), "dilation": (1, 1), "window": (2, 2),
    "phase": "INFERENCE", "axis": 1, "block_size": 32, "distribution": "BERNOULLI",
}  # fmt: skip


@dataclass
class Described:
    """A graph for those who judge it.

    Attributes
    ----------
    graph : OperationGraph
    guessed : set of str
        Names of tensors whose sizes are stand-ins, and of those that follow from them.
    valid : bool
        Whether portadnn's own checks of graphs find nothing wrong; else sizes and strides tell nothing.
    why : str
        What they found.
    """

    graph: OperationGraph
    guessed: set[str] = field(default_factory=set)
    valid: bool = True
    why: str = ""


def describe(found: FoundGraph, choice: int = 0, *, least: bool = False) -> Described | None:
    """Return a graph as portadnn.graph has it.

    Parameters
    ----------
    found : FoundGraph
    choice : int
        Which of several values that are possible counts.
    least : bool
        Whether what only some paths set is left out.

    Returns
    -------
    Described or None
        None where portadnn.graph does not have such a node.
    """
    return _Describing(found, choice, least=least).described()


class _Describing:
    def __init__(self, found: FoundGraph, choice: int, *, least: bool) -> None:
        self.found, self.choice, self.least = found, choice, least
        self.tensors: dict[str, tensor] = {}
        self.guessed: set[str] = set()
        self.why = ""
        self.ports = {key: port for node in found.nodes for port, key in node.inputs.items()}

    def described(self) -> Described | None:
        from ...graph.api.core import Graph
        from ...graph.errors import GraphError

        types = {f"{name}_data_type": self._type(self.found.settings, f"{name}_data_type") for name in _KINDS_OF_TYPES}
        graph = Graph("", **types)
        try:
            for node in self.found.nodes:
                self._add(graph, node)
        except GraphError:
            return None
        graph.give_uids()
        try:
            graph.validate()
            valid = True
        except GraphError as error:
            valid = False
            self.why = str(error)
            self._unchecked(graph)
        try:
            frozen = graph.freeze()
        except (GraphError, ValueError, KeyError):
            return None
        self._spread(graph)
        return Described(frozen, self.guessed, valid, self.why)

    def _spread(self, graph: Graph) -> None:
        """Count what follows from stand-ins as guessed, too."""
        for node in graph.nodes:
            if any(one.get_name() in self.guessed for one in node.inputs.values()):
                self.guessed |= {one.get_name() for one in node.outputs.values()}

    def _unchecked(self, graph: Graph) -> None:
        """Give tensors the graph's types, as validation would, and stand-ins for sizes that it did not settle."""
        from ...graph.data_types import data_type

        for node in graph.nodes:
            for one in (*node.inputs.values(), *node.outputs.values()):
                if one.get_data_type() is data_type.NOT_SET:
                    one.set_data_type(graph.intermediate_data_type if one.get_is_virtual() else graph.io_data_type)
                if not one.get_dim():
                    one.set_dim([_STAND_IN] * (3 if node.kind.name == "matmul" else 4))
                if len(one.get_stride()) != len(one.get_dim()):
                    one.set_stride(_packed(one.get_dim()))

    # Nodes ------------------------------------------------------------------------------------------------------

    def _add(self, graph: Graph, node: FoundNode) -> None:
        from ...graph.node import KINDS

        kind = KINDS[node.method.kind]
        attributes: dict[str, Any] = {}
        inputs: dict[str, Any] = {port: self._tensor(key, port) for port, key in node.inputs.items()}
        known = {attribute.name for attribute in kind.attributes}
        ports = {port.name for port in kind.inputs}
        for name, values in self._settings(node):
            attributes |= {their: value for their, value in self._attributes(node, name, values) if their in known}
            for port, value in zip(_PORTS.get(name, ()), values, strict=False):
                if port in ports and (given := self._port(value, port)) is not None:
                    inputs[port] = given
        self._fill(node, inputs, attributes, ports)
        outputs = {port: self._output(key, port, node) for port, key in node.outputs.items() if self._has(node, port)}
        graph.add(
            node.method.kind,
            inputs,
            attributes,
            results=outputs,
            compute_type=self._type(node.settings, *_COMPUTE),
            name=f"{node.method.name}@{node.place.line}.{node.place.column}",
        )

    def _settings(self, node: FoundNode) -> Iterator[tuple[str, tuple[Value, ...]]]:
        for name, values in node.settings.items():
            if not (self.least and name in node.maybe) and values:
                yield _CAMEL.sub("_", name).lower(), values

    def _attributes(self, node: FoundNode, name: str, values: tuple[Value, ...]) -> Iterator[tuple[str, Any]]:
        """Yield attributes of portadnn's node for one that was set."""
        value, sdpa = values[-1], node.method.kind.startswith("sdpa")
        if name == "padding" and node.method.kind != "matmul":
            yield "pre_padding", self._list(value)
            yield "post_padding", self._list(value)
        elif name.startswith("causal_mask"):
            if self._truth(value):
                yield "right_bound", 0
                yield "diagonal_alignment", "BOTTOM_RIGHT" if name.endswith("right") else "TOP_LEFT"
        elif name == "is_inference":
            yield "generate_stats" if sdpa else "generate_index", not self._truth(value)
        elif name == "dropout" and len(values) == 3:
            yield "dropout_probability", self._number(values[0], 0.5)
        elif name == "slices":
            parts = [self._list(part) for part in value.data] if value.kind == "items" else []
            if parts and all(len(part) == 2 for part in parts):
                yield name, tuple((start, stop, 1) for start, stop in parts)
        elif name in ("compute_data_type", "name", "block_size"):
            if name == "block_size":
                yield name, self._list(value) if value.kind == "items" else int(self._number(value, 32))
        else:
            plain = self._plain(value)
            if plain is not None:
                yield _RENAMED.get(name, name), plain

    def _plain(self, value: Value) -> Any:
        option = value.options[self.choice % len(value.options)]
        if option.kind == "items":
            return self._list(option)
        if option.kind == "known" and not isinstance(option.data, str):
            return option.data
        name = enumerator(option)
        return name.removeprefix("PADDING_") if name else None

    def _fill(self, node: FoundNode, inputs: dict[str, Any], attributes: dict[str, Any], ports: Iterable[str]) -> None:
        """Give a node what it must have, where the source sets it in a way that was not followed."""
        from ...graph.node import KINDS, REQUIRED

        kind = KINDS[node.method.kind]
        for port in kind.inputs:
            if not port.optional and not port.many and port.name not in inputs:
                inputs[port.name] = self._tensor(f"{node.place}~{port.name}", port.name)
        given = () if self.least and "dropout" in node.maybe else node.settings.get("dropout", ())
        if len(given) == 3 and "SEED" in ports:
            for name, value in zip(("SEED", "OFFSET"), given[1:], strict=True):
                inputs[name] = self._port(value, name) or self._tensor(f"{node.place}~{name}", name)
        for attribute in kind.attributes:
            usual = _USUAL.get(attribute.name)
            if attribute.default is REQUIRED and attribute.name not in attributes and usual is not None:
                attributes[attribute.name] = usual

    def _has(self, node: FoundNode, port: str) -> bool:
        """Whether a node has an output that only some settings give it."""
        if port in ("STATS", "INDEX", "NEXT_RUNNING_MEAN", "NEXT_RUNNING_VAR", "Dbias"):
            wanted = {
                "STATS": self._stats(node),
                "INDEX": self._set(node, "generate_index"),
                "Dbias": self._set(node, "has_dbias"),
            }
            return wanted.get(port, "previous_running_stats" in node.settings)
        if node.method.kind in ("layernorm", "rmsnorm", "instancenorm", "adalayernorm") and port != "Y":
            phase = node.settings.get("forward_phase")
            return phase is not None and enumerator(phase[0]) == "TRAINING"
        return True

    def _stats(self, node: FoundNode) -> bool:
        if "generate_stats" in node.settings:
            return self._set(node, "generate_stats")
        return "is_inference" in node.settings and not self._set(node, "is_inference")

    def _set(self, node: FoundNode, name: str) -> bool:
        return bool(node.settings.get(name)) and self._truth(node.settings[name][0])

    # Tensors ----------------------------------------------------------------------------------------------------

    def _port(self, value: Value, port: str) -> Any:
        for option in value.options:
            if option.kind in ("unknown", "pointer") and str(option.data) in self.found.tensors:
                return self._tensor(str(option.data), port)
        if value.kind == "known" and isinstance(value.data, int | float) and port in _SCALARS:
            return float(value.data)
        return None if value.is_null else self._tensor(f"{value.data}~{port}", port)

    def _tensor(self, key: str, port: str) -> tensor:
        if key not in self.tensors:
            self.tensors[key] = self._made(key, port)
        return self.tensors[key]

    def _output(self, key: str, port: str, node: FoundNode) -> tensor:
        made = self._tensor(key, port)
        told = self.found.tensors.get(key)
        settings = {} if told is None else told.settings
        read = any(key in other.inputs.values() for other in self.found.nodes)
        if self.found.older:
            virtual = "Virtual" in settings and (not settings["Virtual"] or self._truth(settings["Virtual"][-1]))
        elif "is_virtual" in settings:
            virtual = self._truth(settings["is_virtual"][0])
        else:
            virtual = not ("output" in settings and self._truth(settings["output"][0]))
            virtual = virtual and (read or self.found.whole)
        return made.set_is_virtual(virtual)

    def _made(self, key: str, port: str) -> tensor:
        from ...graph.data_types import data_type
        from ...graph.tensor import tensor

        told = self.found.tensors.get(key, FoundTensor(key, "", {}))
        made = tensor(f"{told.name or port}~{len(self.tensors)}")
        made.set_data_type(self._type(told.settings, "data_type", "DataType", "data_type_"))
        produced = any(key in node.outputs.values() for node in self.found.nodes)
        dims = self._sizes(told.settings, ("dim", "Dim"))
        strides = self._sizes(told.settings, ("stride", "Stride", "Strides"))
        if dims is None and not produced:
            dims, strides = self._usual(key, port), None
            self.guessed.add(made.get_name())
        if dims is not None:
            made.set_dim(dims)
            if not produced and (strides is None or len(strides) != len(dims)):
                strides = _packed(dims)
                self.guessed.add(made.get_name())
            if strides is not None and len(strides) == len(dims):
                made.set_stride(strides)
        if not self._all_known(told.settings, ("dim", "Dim", "stride", "Stride", "Strides")):
            self.guessed.add(made.get_name())
        by_value = told.settings.get("is_pass_by_value") or told.settings.get("ByValue")
        if "value" in told.settings or (by_value and self._truth(by_value[-1])):
            made.set_is_pass_by_value(True)
        if port in _SCALARS and made.get_data_type() is data_type.NOT_SET:
            made.set_data_type("INT64" if port in ("SEED", "OFFSET") else "FLOAT")
        return made

    def _usual(self, key: str, port: str) -> list[int]:
        told = self.found.tensors.get(key)
        if port in _SCALARS or port.startswith(("SCALE_", "DESCALE_")) or (told is not None and _is_number(told)):
            return [1, 1, 1, 1]
        if port == "STATS":
            return [_STAND_IN] * 3 + [1]
        if port in _VECTORS:
            return [1, _STAND_IN, 1, 1]
        if port.startswith("SEQ_LEN"):
            return [_STAND_IN, 1, 1, 1]
        readers = [node for node in self.found.nodes if key in node.inputs.values()]
        if any(node.method.kind == "matmul" for node in readers):
            return [_STAND_IN] * 3
        return [_STAND_IN] * 4

    def _sizes(self, settings: Settings, names: Iterable[str]) -> list[int] | None:
        for name in names:
            if settings.get(name):
                value = settings[name][-1]
                option = value.options[self.choice % len(value.options)]
                if option.kind == "items" and option.data:
                    return list(self._list(option))
        return None

    def _all_known(self, settings: Settings, names: Iterable[str]) -> bool:
        given = [settings[name][-1] for name in names if settings.get(name)]
        listed = [value.data for value in given if value.kind == "items"]
        return len(listed) == len(given) and all(one.kind == "known" for values in listed for one in values)

    # Values -----------------------------------------------------------------------------------------------------

    def _list(self, value: Value) -> tuple[int, ...]:
        parts = value.data if value.kind == "items" else (value,)
        return tuple(int(self._number(part, _STAND_IN)) for part in parts)

    def _number(self, value: Value, otherwise: float) -> float:
        option = value.options[self.choice % len(value.options)]
        if option.kind == "known" and isinstance(option.data, int | float):
            return option.data
        return _stand_in(str(option.data)) if option.kind == "unknown" and option.data else otherwise

    def _truth(self, value: Value) -> bool:
        option = value.options[self.choice % len(value.options)]
        return bool(option.data) if option.kind == "known" else not self.least

    def _type(self, settings: Settings, *names: str) -> str:
        from ...graph.data_types import data_type

        for name in names:
            if settings.get(name):
                if len(settings[name][-1].options) > _FEW:
                    return "NOT_SET"
                said = enumerator(settings[name][-1], self.choice)
                if said in data_type.__members__:
                    return said
        return "NOT_SET"


def _is_number(told: FoundTensor) -> bool:
    """Whether a tensor is a number of the host: ``graph.tensor(1.0f)``."""
    return "value" in told.settings or "is_pass_by_value" in told.settings or "ByValue" in told.settings


_COMPUTE = ("compute_data_type", "ComputeType", "MathPrecision", "DataType", "ComputePrecision")
_KINDS_OF_TYPES = ("io", "intermediate", "compute")


def _packed(dims: list[int]) -> list[int]:
    strides = [1]
    for size in reversed(dims[1:]):
        strides.insert(0, strides[0] * size)
    return strides


def _stand_in(key: str) -> int:
    """Return a number for a size of which only the formula is known: the same for the same formula."""
    if len(key) > _LONGEST or not _FORMULA.fullmatch(key):
        return _STAND_IN
    formula = _WORD.sub(lambda match: match[0] if match[0].isdecimal() else str(_STAND_IN), key)
    try:
        result = _computed(ast.parse(formula, mode="eval").body)
    except (SyntaxError, ArithmeticError, ValueError, RecursionError):
        return _STAND_IN
    return result if 0 < result < 1 << 62 else _STAND_IN


def _computed(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return int(_OPERATORS[type(node.op)](_computed(node.left), _computed(node.right)))
    raise ValueError(ast.dump(node))


def choices(found: FoundGraph) -> int:
    """Return how many values the most uncertain setting has."""

    def options(settings: Mapping[str, tuple[Value, ...]]) -> Iterator[int]:
        for values in settings.values():
            for value in values:
                yield len(value.options)

    every = [found.settings, *(node.settings for node in found.nodes), *(t.settings for t in found.tensors.values())]
    return max((count for settings in every for count in options(settings) if count <= _FEW), default=1)
