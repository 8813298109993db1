"""The methods and classes of cudnn_frontend that make graphs, read from ``nodes.toml`` and ``builders.toml``."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..._io.toml import tomllib

_FOLDER = Path(__file__).parent
_CLASS = re.compile(r"[A-Z]\w*_attributes|Graph|[A-Z]\w*Builder(?:_v8)?")
_OLD = re.compile(
    r"(?:Tensor|\w*Desc|Operation|OperationGraph|PointWise|MatMul|Reduction|Resample|Rng|Norm)\w*Builder(?:_v8)?"
)
_HOME = re.compile(r"(?:^|::)(?:graph|cudnn_frontend|fe|cudnn_fe|cudnn_frontend_v\w+)(?:::|$)")
GRAPH_TYPE = re.compile(
    r"\bgraph::Graph\b|\bcudnn_frontend::Graph\b|(?<![\w:])(?:std::)?(?:shared_ptr|unique_ptr)<Graph>"
)
TENSOR_TYPE = re.compile(r"\bTensor_attributes\b")
BUILT = re.compile(
    "build_operation_graph|build|validate|check_support|serialize|execute|build_plans?|create_execution_plans"
)
ALIASES = {"scaled_dot_product_flash_attention": "sdpa", "scaled_dot_product_flash_attention_backward": "sdpa_backward"}


@dataclass(frozen=True)
class Method:
    """A method of a graph that adds a node; see the head of ``nodes.toml``."""

    name: str
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    miopen: str = ""
    note: str = ""
    modes: Mapping[str, str] = field(default_factory=dict)

    def call(self, mode: str) -> str:
        """Return MIOpen's call for a mode; "" where there is none, ``"?"`` where the mode is not known."""
        if self.modes:
            return self.modes.get(mode, "") if mode else "?"
        return self.miopen


@dataclass(frozen=True)
class Operation:
    """An operation of the older builders: its method, and its ports by what sets them."""

    method: Method
    ports: Mapping[str, str]


@functools.cache
def methods() -> Mapping[str, Method]:
    """Return the methods that add nodes, by name."""
    read = tomllib.loads((_FOLDER / "nodes.toml").read_text(encoding="utf-8"))
    found = {
        name: Method(
            name,
            row.get("kind", name),
            tuple(row["inputs"]),
            tuple(row["outputs"]),
            row.get("miopen", ""),
            row.get("note", ""),
            row.get("modes", {}),
        )
        for name, row in read.items()
    }
    return {**found, **{old: found[new] for old, new in ALIASES.items()}}


@functools.cache
def makers() -> frozenset[str]:
    """Return the names of functions whose callers make graphs; without those that other libraries have, too."""
    common = {"reduction", "slice", "transpose", "reshape", "rng", "resample"}
    attributes = {f"{name.capitalize()}_attributes" for name in common | {"tensor"}}
    return frozenset(methods()) - common | attributes | {"OperationBuilder", "OperationGraphBuilder"}


@functools.cache
def operations() -> Mapping[str, Operation]:
    """Return the operations of the older builders, by the middle of the enumerator's name."""
    read = tomllib.loads((_FOLDER / "builders.toml").read_text(encoding="utf-8"))
    return {name: Operation(methods()[row["node"]], row["ports"]) for name, row in read.items()}


def class_named(name: str, simple: str) -> str:
    """Return the class of cudnn_frontend that a name, as written and without qualification, stands for; "" for none."""
    if not _CLASS.fullmatch(simple):
        return ""
    if simple.endswith("_attributes"):
        return simple
    if simple == "Graph":
        return simple if _HOME.search(name.rpartition("::")[0]) else ""
    return simple.removesuffix("_v8") if _OLD.fullmatch(simple) else ""


def operation_named(enumerator: str) -> Operation | None:
    """Return the operation that an enumerator of a descriptor names."""
    middle = enumerator.removeprefix("CUDNN_BACKEND_OPERATION_").removesuffix("_DESCRIPTOR")
    return operations().get(middle) if middle != enumerator else None
