"""A checker for the part of JSON Schema that portadnn/recording/schema.json uses, written from the specification."""

from __future__ import annotations

from typing import Any

_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "null": type(None),
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}
_KNOWN = {
    *("$schema", "$defs", "$ref", "title", "oneOf", "type", "const", "enum", "minimum", "required", "properties"),
    *("additionalProperties", "minProperties", "maxProperties", "items", "prefixItems"),
}


def _is(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and not (isinstance(value, bool) and name in ("integer", "number"))


def faults(value: Any, schema: Any, root: Any, path: str = "$") -> list[str]:
    """Return why a value does not conform; nothing where it does."""
    if isinstance(schema, bool):
        return [] if schema else [f"{path}: not allowed"]
    assert schema.keys() <= _KNOWN, schema.keys() - _KNOWN
    found: list[str] = []
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        found += faults(value, root["$defs"][name], root, path)
    if "oneOf" in schema:
        tried = [faults(value, option, root, path) for option in schema["oneOf"]]
        if sum(not option for option in tried) != 1:
            found.append(f"{path}: {value!r} fits {sum(not option for option in tried)} alternatives: {tried}")
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        return [*found, f"{path}: {value!r} is no {' or '.join(kinds)}"]
    if "const" in schema and value != schema["const"]:
        found.append(f"{path}: {value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {value!r} is none of {schema['enum']}")
    if "minimum" in schema and _is(value, "number") and value < schema["minimum"]:
        found.append(f"{path}: {value} is below {schema['minimum']}")
    if isinstance(value, dict):
        found += _object(value, schema, root, path)
    if isinstance(value, list):
        first = schema.get("prefixItems", [])
        for i, item in enumerate(value):
            found += faults(item, first[i] if i < len(first) else schema.get("items", True), root, f"{path}[{i}]")
    return found


def _object(value: dict[str, Any], schema: Any, root: Any, path: str) -> list[str]:
    found = [f"{path}: lacks {name}" for name in schema.get("required", ()) if name not in value]
    if not schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", len(value)):
        found.append(f"{path}: has {len(value)} properties")
    for name, item in value.items():
        rule = schema.get("properties", {}).get(name, schema.get("additionalProperties", True))
        found += faults(item, rule, root, f"{path}.{name}")
    return found
