"""The table as a whole, read from the files in ``portadnn/porting_guide/``."""

from __future__ import annotations

import difflib
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._io.toml import tomllib
from ..arguments import as_integer
from ..errors import BadParam, shown
from .differences import Differences, compare
from .records import Change, Enumeration, Function, Library, Note, Parameter, Row, Value

_NEWEST = "9.28.0"  # of the headers read
FOLDER = Path(__file__).parents[1] / "porting_guide"


@dataclass(frozen=True)
class Table:
    """The whole table.

    Attributes
    ----------
    titles : dict of str to str
        Topics, in the guide's order, and their titles.
    rows, enumerations : tuple
        In the guide's order.
    functions : dict of str to Function
        By name, of both libraries.
    sources : dict of str to str
        What the sources' short names stand for.
    rules : dict of str to tuple of dict
        By capability table its rules about the operations of a topic, as in the table's file.
    """

    titles: Mapping[str, str]
    rows: tuple[Row, ...]
    enumerations: tuple[Enumeration, ...]
    functions: Mapping[str, Function]
    sources: Mapping[str, str]
    rules: Mapping[str, tuple[Mapping[str, Any], ...]]

    def find(self, name: str) -> list[Row | Enumeration]:
        """Return the rows and enumerations that carry a name: of a C function, type or value, or of portadnn.

        Raises
        ------
        BadParam
            Nothing has that name; the message suggests near ones.
        """
        if not isinstance(name, str):
            raise BadParam(argument="name", expected="a name of the mapping table", got=shown(name), call="map")
        name = str.__str__(name)
        found: list[Row | Enumeration] = self._index.get(name) or self._index.get(_folded(name)) or []
        if not found:
            near = self.suggest(name)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise BadParam(argument="name", expected="a name of the mapping table", got=f"{name!r}{hint}", call="map")
        return found

    def suggest(self, name: str, count: int = 3) -> list[str]:
        """Return names of the table that resemble `name`, the nearest first."""
        if not isinstance(name, str):
            raise BadParam(argument="name", expected="a name", got=shown(name), call="map")
        name, count = str.__str__(name), as_integer(count, "count", 1)
        known = {key.lower(): key for key in self._index if key != _folded(key)}
        near = difflib.get_close_matches(name.lower(), known, count, 0.6)
        near += [key for key in known if name.lower() in key and key not in near and len(name) > 3]
        return [known[key] for key in near[:count]]

    @functools.cached_property
    def _index(self) -> dict[str, list[Row | Enumeration]]:
        index: dict[str, list[Row | Enumeration]] = {}
        items: list[Row | Enumeration] = [*self.rows, *self.enumerations]
        for item in items:
            for name in _names(item):
                for key in {name, _folded(name)}:
                    index.setdefault(key, [])
                    if item not in index[key]:
                        index[key].append(item)
        return index

    @functools.cached_property
    def by_cudnn(self) -> Mapping[str, Row]:
        """Rows by cuDNN's functions."""
        return {row.cudnn.name: row for row in self.rows if row.cudnn}

    @functools.cached_property
    def by_type(self) -> Mapping[str, Enumeration]:
        """Enumerations by their types' names in C."""
        return {name: enumeration for enumeration in self.enumerations for name in enumeration.names}

    @functools.cached_property
    def of_cudnn(self) -> frozenset[str]:
        """Functions of portadnn that a function of cuDNN's legacy interface stands for."""
        return frozenset(name for row in self.rows if row.cudnn for name in row.portadnn)

    @functools.cached_property
    def same_types(self) -> frozenset[tuple[str, str]]:
        """Pairs of types, cuDNN's and MIOpen's, that have a value map."""
        return frozenset((e.cudnn, e.miopen) for e in self.enumerations if e.cudnn and e.miopen)

    def differences(
        self,
        row: Row,
        miopen: Function | None = None,
        *,
        cudnn_parameters: Sequence[Parameter] | None = None,
        miopen_parameters: Sequence[Parameter] | None = None,
    ) -> Differences | None:
        """Compare the signatures of a row: by default the first ones, the two guides'.

        Parameters
        ----------
        row : Row
            The row.
        miopen : Function, optional
            Which of MIOpen's functions; the first by default.
        cudnn_parameters, miopen_parameters : sequence of Parameter, optional
            Those of other versions: ``function.latest`` or a change's.

        Returns
        -------
        Differences or None
            None where one of the libraries has no function.
        """
        if row.cudnn is None or not row.miopen:
            return None
        ours = row.cudnn.parameters if cudnn_parameters is None else cudnn_parameters
        theirs = (miopen or row.miopen[0]).parameters if miopen_parameters is None else miopen_parameters
        return compare(ours, theirs, row.renamed or {}, self.same_types)


def _folded(name: str) -> str:
    return name.lower().replace("_", "")


def _names(item: Row | Enumeration) -> Iterator[str]:
    yield from item.names
    if isinstance(item, Row):
        yield from item.portadnn
    else:
        if item.portadnn:
            yield item.portadnn
        for value in item.values:
            yield from (name for name in (value.cudnn, value.miopen) if name)


@functools.cache
def table() -> Table:
    """Return the mapping table, read once."""
    files = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.toml"))}
    sources = files.pop("sources")
    topics = sorted(files, key=lambda topic: int(files[topic]["order"]))
    functions: dict[str, Function] = {}
    libraries: tuple[Library, Library] = ("cudnn", "miopen")
    for topic in topics:
        for library in libraries:
            for name, entry in files[topic].get(library, {}).items():
                if name in functions:
                    raise ValueError(f"porting_guide/{topic}.toml: {name} is there twice")
                functions[name] = _function(name, library, entry)
    return Table(
        titles={topic: files[topic]["title"] for topic in topics},
        rows=tuple(_row(topic, entry, functions) for topic in topics for entry in files[topic].get("row", ())),
        enumerations=tuple(_enumeration(topic, entry) for topic in topics for entry in files[topic].get("enum", ())),
        functions=functions,
        sources=sources,
        rules=_rules(files[topic].get("rules", {}) for topic in topics),
    )


def _rules(given: Iterable[Mapping[str, list[Any]]]) -> dict[str, tuple[Mapping[str, Any], ...]]:
    found: dict[str, tuple[Mapping[str, Any], ...]] = {}
    for table, rules in itertools.chain.from_iterable(rules.items() for rules in given):
        found[table] = (*found.get(table, ()), *rules)
    return found


def _function(name: str, library: Library, entry: dict[str, Any]) -> Function:
    changes = tuple(
        Change(change["version"], change["after"], _parameters(change["parameters"]))
        for change in entry.pop("changes", ())
    )
    first, last = entry.pop("headers")
    entry["null"] = tuple(entry.get("null", ()))
    return Function(name, library, _parameters(entry.pop("parameters")), (first, last), changes=changes, **entry)


def _parameters(entries: Sequence[Sequence[Any]]) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, type_, direction) for name, type_, direction in entries)


def _row(topic: str, entry: dict[str, Any], functions: Mapping[str, Function]) -> Row:
    notes, graph = [Note(**note) for note in entry.get("notes", ())], entry.get("graph")
    if graph is not None:
        notes.append(Note(f"cuDNN has it in its graph API only: {graph}.", f"cudnn-headers {_NEWEST}"))
    return Row(
        topic,
        functions[entry["cudnn"]] if "cudnn" in entry else None,
        tuple(functions[name] for name in entry.get("miopen", ())),
        tuple(entry.get("portadnn", ())),
        entry.get("guide_row"),
        entry.get("source"),
        tuple(entry.get("also", ())),
        {a: (b,) if isinstance(b, str) else tuple(b) for a, b in entry.get("renamed", {}).items()},
        tuple(notes),
        graph,
    )


def _enumeration(topic: str, entry: dict[str, Any]) -> Enumeration:
    values = tuple(
        Value(**{**value, "changes": tuple((version, number) for version, number in value.get("changes", ()))})
        for value in entry["values"]
    )
    return Enumeration(
        topic,
        cudnn=entry.get("cudnn"),
        miopen=entry.get("miopen"),
        portadnn=entry.get("portadnn"),
        section=entry.get("section"),
        headers=_pair(entry.get("headers")),
        miopen_headers=_pair(entry.get("miopen_headers")),
        values=values,
        notes=tuple(Note(**note) for note in entry.get("notes", ())),
        member=entry.get("member"),
        attribute=entry.get("attribute"),
    )


def _pair(versions: Sequence[str] | None) -> tuple[str, str] | None:
    return None if versions is None else (versions[0], versions[1])
