"""Names of types and values: what cuDNN's are called in MIOpen, in any text of C."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from .. import mapping
from .._io.toml import tomllib

# Comments, strings and characters, and what is left.
_LITERAL = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'|[A-Za-z_]\w*", re.DOTALL
)
_TYPE = re.compile(r"cudnn\w+_t")


@dataclass(frozen=True)
class Name:
    """What becomes of a name.

    Attributes
    ----------
    miopen : str or None
        Its counterpart; None where there is none.
    sure : bool
        Whether the counterpart means the same wherever the name may stand.
    note, rule : str
        Why there is none, or why it is not sure.
    """

    miopen: str | None
    sure: bool = True
    note: str = ""
    rule: str = ""


@functools.cache
def data() -> Mapping[str, Any]:
    """Return what answers.toml says."""
    read: Mapping[str, Any] = tomllib.loads((Path(__file__).parent / "answers.toml").read_text(encoding="utf-8"))
    return read


def offered(since: str | None, until: str | None, target: str) -> bool:
    """Tell whether a target has what MIOpen has from one version to another; None is always."""
    if target == "miopen-1":
        return since is None or since.startswith("1.")
    return until is None or until.startswith("rocm")


def in_portadnn(function: str) -> bool:
    """Tell whether portadnn has what a function of cuDNN does; graphs by descriptors are portadnn.cudnn's alone."""
    row = mapping.table().by_cudnn.get(function)
    return row is not None and (bool(row.portadnn) or (row.topic == "graph" and "CudaGraph" not in function))


def function_offered(function: mapping.Function, target: str) -> bool:
    """Tell whether a target has one of MIOpen's functions."""
    first, last = function.headers
    return offered(first, last if last < "3" else None, target)


@functools.cache
def types() -> Mapping[str, str]:
    """Return cuDNN's types and MIOpen's for the same, as the mapping table pairs them."""
    table = mapping.table()
    found = {name: e.miopen or "" for name, e in shared_enumerations().items()}
    for row in table.rows:
        for ours, theirs in _pairs(row):
            if _TYPE.fullmatch(ours) and theirs.startswith("miopen"):
                found.setdefault(ours, theirs)
    return {**found, **data()["types"]}


def _pairs(row: mapping.Row) -> Iterator[tuple[str, str]]:
    if row.cudnn is None or not row.miopen:
        return
    theirs = {p.name.lower(): p for p in row.miopen[0].latest}
    for parameters in row.cudnn.signatures:
        for parameter in parameters:
            for name in ((row.renamed or {}).get(parameter.name, ()), (parameter.name,)):
                for other in name:
                    if other.lower() in theirs:
                        yield _base(parameter.type), _base(theirs[other.lower()].type)


def _base(type_: str) -> str:
    return re.sub(r"\bconst\b|\*|\[\]", "", type_).strip()


@functools.cache
def values_of_cudnn() -> Mapping[str, tuple[mapping.Value, mapping.Enumeration]]:
    """Return cuDNN's values of enumerations, by name, each with its enumeration."""
    return {v.cudnn: (v, e) for e in mapping.table().enumerations for v in e.values if v.cudnn}


@functools.cache
def shared_enumerations() -> Mapping[str, mapping.Enumeration]:
    """Return the enumerations that both libraries have, by cuDNN's names."""
    return {e.cudnn: e for e in mapping.table().enumerations if e.cudnn and e.miopen}


@functools.cache
def enumerators_of() -> Mapping[str, frozenset[str]]:
    """Return the enumerators of cuDNN's enumerations, by their types."""
    return {e.cudnn: frozenset(v.cudnn for v in e.values if v.cudnn) for e in mapping.table().enumerations if e.cudnn}


@functools.cache
def type_of() -> Mapping[str, str]:
    """Return the types of cuDNN's enumerators, by their names."""
    return {name: type_ for type_, names in enumerators_of().items() for name in names}


@functools.cache
def values_of_both() -> Mapping[str, tuple[mapping.Value, ...]]:
    """Return the values of enumerations that carry a name, in either library."""
    found: dict[str, tuple[mapping.Value, ...]] = {}
    for enumeration in mapping.table().enumerations:
        for value in enumeration.values:
            for name in dict.fromkeys(filter(None, (value.cudnn, value.miopen))):
                found[name] = (*found.get(name, ()), value)
    return found


@functools.cache
def known_types() -> frozenset[str]:
    """Return every type of cuDNN that the mapping table mentions."""
    table = mapping.table()
    found = {e.cudnn for e in table.enumerations if e.cudnn}
    for function in table.functions.values():
        for parameters in function.signatures:
            found.update(_base(p.type) for p in parameters)
    return frozenset(name for name in found if _TYPE.fullmatch(name)) | {"cudnnStatus_t"}


@functools.cache
def look_up(name: str, target: str = "miopen-3") -> Name | None:
    """Return what becomes of a type or a value; None where the name is none of cuDNN's."""
    if name in known_types():
        return _said(name, types().get(name))
    if name in values_of_cudnn():
        return _said(name, _value(name, target))
    if name in data()["structs"]:
        return _said(name, data()["structs"][name] or None)
    if name in {"CUDNN_VERSION", "CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL"}:
        return _said(name, None)
    return None


def _value(name: str, target: str) -> str | None:
    value, enumeration = values_of_cudnn()[name]
    if value.miopen is None:  # an older name of the same value
        others = (v for v in enumeration.values if v.number == value.number and v.miopen and value.until)
        value = next(others, value)
    offer = offered(value.miopen_since, value.miopen_until, target)
    return value.miopen if offer else None


def _said(name: str, miopen: str | None) -> Name:
    for entry in data()["name"]:
        if any(fnmatchcase(name, pattern) for pattern in entry["names"]):
            if miopen is not None and entry.get("sure", True):
                return Name(miopen)
            return Name(miopen, entry.get("sure", True), entry["note"], entry.get("rule", ""))
    raise KeyError(name)


def translated(text: str, target: str = "miopen-3") -> tuple[str, list[tuple[str, Name]]]:
    """Return a text of C with the names of types and values of MIOpen, and those that have no sure counterpart.

    Comments and strings are left alone, and so is what has no counterpart.
    """
    doubtful: list[tuple[str, Name]] = []

    def one(match: re.Match[str]) -> str:
        word = match[0]
        name = look_up(word, target) if word.startswith(("cudnn", "CUDNN_")) else None
        if name is None:
            return word
        if name.miopen is None or not name.sure:
            doubtful.append((word, name))
        return name.miopen or word

    return _LITERAL.sub(one, text), doubtful
