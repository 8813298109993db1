"""Graphs and plans as versioned JSON that people can read, and back."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from .._version import __version__
from ..errors import shown
from .api.core import Graph
from .data_types import data_type
from .engine import Config, GraphPlan
from .enums import GraphEnum, knob_type, scalar_type, tensor_reordering
from .errors import GraphError
from .kernel_cache import properties_of
from .operation_graph import Operation, OperationGraph, TensorInfo
from .rules import fail
from .tensor import tensor

FORMAT, VERSION = "portadnn.graph", 1


def as_data(graph: Graph, frozen: OperationGraph) -> dict[str, Any]:
    """Return a frozen graph, and the program's graph that it was made of, as plain data."""
    defaults = ("io_data_type", "intermediate_data_type", "compute_data_type")
    return {
        "format": FORMAT,
        "version": VERSION,
        "library": f"portadnn {__version__}",
        "name": frozen.name,
        **{name: getattr(graph, name).name for name in defaults},
        "tensors": [_tensor(info) for info in frozen.infos],
        "operations": [_operation(operation) for operation in frozen.operations],
    }


def plan_as_data(plan: GraphPlan, config: Config, handle: Any) -> dict[str, Any]:
    """Return a plan as plain data: what makes it again, and where it was made."""
    return {
        "engine": config.engine.name,
        "knobs": {kind.name: value for kind, value in config.knobs.items()},
        "workspace": plan.workspace_size,
        "device": {
            name: properties_of(handle).values[name] for name in ("backend", "name", "vendor", "driver", "arch")
        },
    }


def plan_of(data: Mapping[str, Any]) -> tuple[str, dict[knob_type, int]]:
    """Return a plan's engine and knobs."""
    try:
        return str(data["engine"]), {knob_type[name]: int(value) for name, value in data["knobs"].items()}
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise fail("PG-FILE-001", argument="plan", expected="engine and knobs", got=shown(error)) from None


def _tensor(info: TensorInfo) -> dict[str, Any]:
    """Return a tensor; what is as usual is left out."""
    said: dict[str, Any] = {
        "uid": info.uid,
        "name": info.name,
        "type": info.data_type.name,
        "dims": list(info.dims),
        "strides": list(info.strides),
    }
    for name, usual in (("virtual", False), ("by_value", False), ("value", None), ("constant", False)):
        if getattr(info, name) != usual:
            said[name] = getattr(info, name)
    if info.alignment != 16:
        said["alignment"] = info.alignment
    if info.reordering is not tensor_reordering.NONE:
        said["reordering"] = info.reordering.name
    if info.ragged_offset is not None:
        said["ragged_offset"] = info.ragged_offset
        said["ragged_multiplier"] = info.ragged_multiplier
    return said


def _operation(operation: Operation) -> dict[str, Any]:
    said: dict[str, Any] = {"kind": operation.kind, "name": operation.name}
    if operation.compute_type is not data_type.NOT_SET:
        said["compute"] = operation.compute_type.name
    attributes = {name: _plain(value) for name, value in operation.attributes}
    return {
        **said,
        "inputs": dict(operation.inputs),
        "outputs": dict(operation.outputs),
        "attributes": attributes,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, GraphEnum):
        return value.name
    return str(value) if isinstance(value, Fraction) else value


def graph_of(data: Mapping[str, Any]) -> Graph:
    """Make a graph of what :func:`as_data` returned.

    Raises
    ------
    InvalidValue
        The data is no graph (PG-FILE-001).
    GraphValidationError
        An operation or a tensor that cannot be.
    """
    try:
        made = Graph(data["name"], data["io_data_type"], data["intermediate_data_type"], data["compute_data_type"])
        tensors = {entry["uid"]: _made(entry) for entry in data["tensors"]}
        for entry in data["tensors"]:
            if entry.get("ragged_offset") is not None:
                tensors[entry["uid"]].set_ragged_offset(tensors[entry["ragged_offset"]])
                tensors[entry["uid"]].set_ragged_offset_multiplier(entry["ragged_multiplier"])
        for entry in data["operations"]:
            made.add(
                entry["kind"],
                {port: tensors[uid] for port, uid in entry["inputs"].items()},
                {name: _restored(value) for name, value in entry["attributes"].items() if value is not None},
                outputs={port: tensors[uid] for port, uid in entry["outputs"].items()},
                compute_type=entry.get("compute", data_type.NOT_SET),
                name=entry["name"],
            )
        return made
    except GraphError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, IndexError) as error:
        raise fail(
            "PG-FILE-001", argument="graph", expected="a graph's tensors and operations", got=shown(error)
        ) from None


def _made(entry: Mapping[str, Any]) -> tensor:
    made = tensor(entry["name"]).set_uid(entry["uid"]).set_data_type(entry["type"])
    made.set_dim(entry["dims"]).set_stride(entry["strides"]).set_is_virtual(entry.get("virtual", False))
    made.set_alignment(entry.get("alignment", 16)).set_reordering_type(entry.get("reordering", "NONE"))
    if entry.get("value") is not None:
        constant = entry.get("constant", False)
        made.set_value(entry["value"], scalar_type.COMPILE_TIME_CONST if constant else scalar_type.RUNTIME_PARAM)
    return made.set_is_pass_by_value(entry.get("by_value", False))


def _restored(value: Any) -> Any:
    return tuple(_restored(part) for part in value) if isinstance(value, list) else value
