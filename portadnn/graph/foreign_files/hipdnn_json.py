"""hipDNN's JSON of a graph, to and from the tables of its FlatBuffers schema.

In JSON a node's fields lie in groups (``inputs``, ``outputs`` ...), which differ from node to node; a reader that looks
for a field in all of them also takes older files. Enumerations are lower case, upper case or numbers, as it happens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .hipdnn import ROWS
from .hipdnn_schema import MEMBERS, TABLES, UNIONS, VALUES, Field

_GROUPS = ("inputs", "outputs", "parameters", "attributes")
_OLD = {"compute_type": "compute_data_type", "io_type": "io_data_type", "intermediate_type": "intermediate_data_type"}
_LOWER = ("DataType", "PointwiseMode", "ResampleMode", "PaddingMode", "MoeGroupedMatmulMode")
_FLAT = ("ReductionAttributes", "ResampleFwdAttributes", "ResampleBwdAttributes", "CustomOpAttributes")
_PARAMETERS = {  # where fields go that are no tensors; nowhere means beside the groups
    **dict.fromkeys(("ConvolutionFwdAttributes", "ConvolutionBwdAttributes", "ConvolutionWrwAttributes"), "parameters"),
    **dict.fromkeys(("SdpaAttributes", "SdpaBackwardAttributes"), "attributes"),
    "PointwiseAttributes": "inputs",
}
_WITHOUT_NULLS = ("RMSNormAttributes", "RMSNormBackwardAttributes", "MoeGroupedMatmulAttributes")


def is_graph(data: Mapping[str, Any]) -> bool:
    """Tell whether JSON has the form of hipDNN's graphs."""
    return isinstance(data.get("nodes"), list) and isinstance(data.get("tensors"), list)


def read(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of a graph.

    Raises
    ------
    ValueError, KeyError, TypeError
        It is no such graph.
    """
    fields = {_OLD.get(name, name): value for name, value in data.items()}
    return {
        **_fields("Graph", {name: value for name, value in fields.items() if name not in ("nodes", "tensors")}),
        "tensors": [_tensor(one) for one in data["tensors"]],
        "nodes": [_node(one) for one in data["nodes"]],
    }


def _tensor(one: Mapping[str, Any]) -> dict[str, Any]:
    found = _fields("TensorAttributes", {name: value for name, value in one.items() if name != "value"})
    member = one.get("value_type")
    if member in (None, "NONE"):
        return found
    if member not in VALUES:
        raise ValueError(f"value_type {member!r}, which is none of {', '.join(VALUES)}")
    value = float(one["value"]) if VALUES[member] in ("float", "double") else int(one["value"])
    return {**found, "value": (member, value)}


def _node(one: Mapping[str, Any]) -> dict[str, Any]:
    type, fields = one["type"], {}
    if type in UNIONS["NodeAttributes"]:
        groups = [one, *(one[group] for group in _GROUPS if isinstance(one.get(group), dict))]
        fields = _fields(type, {name: value for group in groups for name, value in group.items()})
    return {**_fields("Node", {**one, "attributes": None}), "attributes": (str(type), fields)}


def _fields(table: str, given: Mapping[str, Any]) -> dict[str, Any]:
    return {field.name: _value(field, given.get(field.name)) for field in TABLES[table] if field.type != "struct"}


def _value(field: Field, value: Any) -> Any:
    """Return a field's value as the table has it."""
    if value is None or field.is_union:
        return field.default
    if field.type in MEMBERS:
        return _member(field.type, value)
    if field.type[0] == "[":
        if not isinstance(value, list) or not all(type(one) is int for one in value):
            raise ValueError(f"{field.name} {value!r:.60}, which is no list of integers")
        return value
    wanted: Any = {"bool": bool, "string": str, "float": (int, float)}.get(field.type, int)
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise ValueError(f"{field.name} {value!r:.60}, which is no {field.type}")
    return float(value) if field.type == "float" else value


def _member(type: str, value: Any) -> str:
    members = MEMBERS[type]
    if value.__class__ is int and 0 <= value < len(members):
        return members[value]
    name = str(value).upper()
    found = next((one for one in (name, f"{name}_OP") if one in members), None)
    if found is None:
        raise ValueError(f"{type} {value!r:.60}, which is none of {', '.join(members)}")
    return found


def write(record: Mapping[str, Any]) -> str:
    """Return a graph's table as JSON."""
    written = {**_named("Graph", record), "nodes": [_written(one) for one in record["nodes"]]}
    written["tensors"] = [_written_tensor(one) for one in record["tensors"]]
    return json.dumps(written, indent=1)


def _named(table: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that have values, with enumerations as JSON has them."""
    fields = ((field, record.get(field.name, field.default)) for field in TABLES[table])
    return {field.name: _spelled(field.type, value) for field, value in fields if value is not None}


def _spelled(type: str, value: Any) -> Any:
    if type == "NormFwdPhase":
        return MEMBERS[type].index(value)
    if type == "ReductionMode":
        return value.removesuffix("_OP")
    return value.lower() if type in _LOWER else value


def _written_tensor(record: Mapping[str, Any]) -> dict[str, Any]:
    written = _named("TensorAttributes", {**record, "value": None})
    if record.get("value") is not None:
        written["value_type"], written["value"] = record["value"]
    return written


def _written(node: Mapping[str, Any]) -> dict[str, Any]:
    type, fields = node["attributes"]
    written: dict[str, Any] = _named("Node", {**node, "attributes": None}) | {"type": type}
    for field in TABLES[type]:
        value = fields.get(field.name, field.default)
        value = None if value is None else _spelled(field.type, value)
        if type in _FLAT:
            group = ""
        elif field.name.endswith("_tensor_uid") and field.name != "axis_tensor_uid":
            stem = field.name.removesuffix("_tensor_uid")
            group = "outputs" if any(stem in row.outputs for row in ROWS[type]) else "inputs"
        else:
            group = _PARAMETERS.get(type, "")
        if group and group not in written:
            written[group] = {}
        place = written[group] if group else written
        if value is None and field.type[0] == "[":
            value = []
        if not field.name.startswith("umd_") and (value is not None or (group and type not in _WITHOUT_NULLS)):
            place[field.name] = value
    return written
