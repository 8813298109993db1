"""The mapping table: cuDNN's functions, portadnn's and MIOpen's, side by side.

The files in ``portadnn/porting_guide/`` are data: signatures, rows that say which functions stand for each other, and
values of enumerations. What follows from two signatures (which arguments one lacks, has besides, or has elsewhere) is
computed here. docs/porting-guide.md explains every field.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ._io.toml import tomllib
from .arguments import as_integer
from .errors import BadParam, shown

FOLDER = Path(__file__).parent / "porting_guide"
Library = Literal["cudnn", "miopen"]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a C function.

    Attributes
    ----------
    name, type : str
        As in C; a pointer or an array in C shows in the type.
    direction : str
        ``"in"``, ``"out"`` or ``"inout"``.
    """

    name: str
    type: str
    direction: Literal["in", "out", "inout"]

    @property
    def c(self) -> str:
        """The parameter's declaration in C."""
        base, brackets = (self.type.removesuffix("[]"), "[]") if self.type.endswith("[]") else (self.type, "")
        return f"{base}{'' if base.endswith('*') else ' '}{self.name}{brackets}"


@dataclass(frozen=True)
class Change:
    """Another signature of a function in later versions.

    Attributes
    ----------
    version : str
        The first header read that has it.
    after : str
        The last header read that has the signature before; the change may be in any version between.
    parameters : tuple of Parameter
        The parameters from then on.
    """

    version: str
    after: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Function:
    """A function of cuDNN's or MIOpen's C interface.

    Attributes
    ----------
    name : str
        The name in C.
    library : str
        ``"cudnn"`` or ``"miopen"``.
    parameters : tuple of Parameter
        The first signature: the guide's where the guide has the function.
    headers : tuple of str
        The first and the last version among the headers read that declare it.
    section : str or None
        In the cuDNN v5 user guide.
    since, deprecated, removed : str or None
        Versions, where known.
    returns : str or None
        What it returns, where that is no status.
    changes : tuple of Change
        Later signatures, in order.
    remark : str or None
        What the functions of ``portadnn.cudnn`` and ``portadnn.miopen`` do otherwise or in detail.
    null : tuple of str
        Parameters that may be NULL.
    layouts, arguments : dict of str to str
        Descriptors of memory that are not called like it; parameters by what portadnn's own function calls them.
    """

    name: str
    library: Library
    parameters: tuple[Parameter, ...]
    headers: tuple[str, str]
    section: str | None = None
    since: str | None = None
    deprecated: str | None = None
    removed: str | None = None
    returns: str | None = None
    changes: tuple[Change, ...] = ()
    remark: str | None = None
    null: tuple[str, ...] = ()
    layouts: Mapping[str, str] = field(default_factory=dict, hash=False)
    arguments: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def signatures(self) -> tuple[tuple[Parameter, ...], ...]:
        """The parameters of every signature, the newest last."""
        return (self.parameters, *(change.parameters for change in self.changes))

    @property
    def latest(self) -> tuple[Parameter, ...]:
        """The parameters of the newest signature."""
        return self.changes[-1].parameters if self.changes else self.parameters

    @property
    def c(self) -> str:
        """The first declaration in C, on one line."""
        return c_declaration(self, self.parameters)

    @property
    def history(self) -> str:
        """Where it is documented, and the versions that have it, in words."""
        facts = [f"guide {self.section}"] if self.section else []
        facts += [f"{word} {v}" for word in ("since", "deprecated", "removed") if (v := getattr(self, word))]
        facts += [f"changed by {change.version}" for change in self.changes]
        return ", ".join(facts)

    @property
    def source(self) -> str:
        """Where the signature and the versions come from, in the short names of ``Table.sources``."""
        first, last = self.headers
        if self.library == "cudnn":
            told = [f"guide {self.section}"] if self.section else []
            told += [f"cudnn-headers {first} to {last}"] + ["hipify"] * bool(self.since)
            return "; ".join(told)
        if first.startswith("rocm"):
            return f"miopen-{first}"
        newest = f"; miopen-{last}" if last.startswith("rocm") else ""
        return f"miopen-headers {first} to {'3.3.0' if newest else last}{newest}"


def c_declaration(function: Function, parameters: Sequence[Parameter]) -> str:
    """Return the declaration of `function` with some version's parameters."""
    returns = function.returns or f"{function.library}Status_t"
    return f"{returns} {function.name}({', '.join(p.c for p in parameters) or 'void'})"


@dataclass(frozen=True)
class Note:
    """A remark: its text, where the fact comes from, the migration rule it belongs to, the argument it speaks of."""

    text: str
    source: str
    rule: str | None = None
    argument: str | None = None


@dataclass(frozen=True)
class Differences:
    """What separates two signatures; names are cuDNN's, but for `added`, which are MIOpen's.

    Attributes
    ----------
    dropped, added : tuple of str
        Parameters that only cuDNN's, only MIOpen's signature has.
    reordered : tuple of str
        Parameters that stand elsewhere among the common ones: the fewest whose moving gives MIOpen's order.
    renamed : dict of str to str
        Parameters that MIOpen calls otherwise.
    retyped : dict of str to (str, str)
        Parameters whose types do not correspond: neither equal but for const, nor the two libraries' same type.
    """

    dropped: tuple[str, ...]
    added: tuple[str, ...]
    reordered: tuple[str, ...]
    renamed: Mapping[str, str]
    retyped: Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class Row:
    """Functions that stand for each other.

    Attributes
    ----------
    topic : str
        The file it is in.
    cudnn : Function or None
        cuDNN's function; None where only MIOpen has one.
    miopen : tuple of Function
        MIOpen's: the porting guide's first, then what today's MIOpen offers besides.
    portadnn : tuple of str
        Names of portadnn, dotted where they are attributes; empty where it has none.
    guide_row : int or None
        The row of the MIOpen porting guide.
    source : str or None
        Who says that the two libraries' functions correspond.
    also : tuple of str
        Other spellings.
    renamed : dict of str to tuple of str
        cuDNN's parameter names and MIOpen's for the same argument, by signature.
    notes : tuple of Note
        Where arguments mean something else, and more.
    """

    topic: str
    cudnn: Function | None
    miopen: tuple[Function, ...]
    portadnn: tuple[str, ...]
    guide_row: int | None = None
    source: str | None = None
    also: tuple[str, ...] = ()
    renamed: Mapping[str, tuple[str, ...]] | None = None
    notes: tuple[Note, ...] = ()

    @property
    def name(self) -> str:
        """The name in cuDNN, or in MIOpen where cuDNN has none."""
        return self.cudnn.name if self.cudnn else self.miopen[0].name

    @property
    def names(self) -> tuple[str, ...]:
        """Every C name and spelling."""
        return (*([self.cudnn.name] if self.cudnn else ()), *(f.name for f in self.miopen), *self.also)


@dataclass(frozen=True)
class Value:
    """A value of an enumeration: its name and number in both libraries, None where one lacks it.

    Attributes
    ----------
    cudnn, miopen, portadnn : str or None
        Names.
    number, miopen_number : int or None
        Their numbers in cuDNN and MIOpen. portadnn's is cuDNN's.
    since, until, miopen_since, miopen_until : str or None
        The versions that have it, where not all do.
    changes : tuple of (str, int)
        Versions in which cuDNN's number became another.
    note : str or None
        How far the two correspond.
    """

    cudnn: str | None = None
    number: int | None = None
    miopen: str | None = None
    miopen_number: int | None = None
    portadnn: str | None = None
    since: str | None = None
    until: str | None = None
    miopen_since: str | None = None
    miopen_until: str | None = None
    changes: tuple[tuple[str, int], ...] = ()
    note: str | None = None


@dataclass(frozen=True)
class Enumeration:
    """An enumeration of both libraries; `portadnn` names the class, `headers` are as those of a :class:`Function`."""

    topic: str
    cudnn: str | None
    miopen: str | None
    portadnn: str | None
    section: str | None
    headers: tuple[str, str] | None
    miopen_headers: tuple[str, str] | None
    values: tuple[Value, ...]
    notes: tuple[Note, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The types' names in C."""
        return tuple(name for name in (self.cudnn, self.miopen) if name)


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
    """

    titles: Mapping[str, str]
    rows: tuple[Row, ...]
    enumerations: tuple[Enumeration, ...]
    functions: Mapping[str, Function]
    sources: Mapping[str, str]

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


def compare(
    cudnn: Sequence[Parameter],
    miopen: Sequence[Parameter],
    renamed: Mapping[str, Sequence[str]],
    same_types: frozenset[tuple[str, str]] = frozenset(),
) -> Differences:
    """Return what separates two signatures; `renamed` pairs parameters that have different names."""
    places = {p.name.lower(): i for i, p in enumerate(miopen)}
    others = {name.lower(): names for name, names in renamed.items()}
    pairs: dict[int, int] = {}  # of cuDNN's parameter: MIOpen's
    for i, parameter in enumerate(cudnn):
        for name in (*others.get(parameter.name.lower(), ()), parameter.name):
            place = places.get(name.lower())
            if place is not None and place not in pairs.values():
                pairs[i] = place
                break
    kept = _longest_rising(list(pairs.values()))
    both = {i: (cudnn[i], miopen[j]) for i, j in pairs.items()}
    return Differences(
        dropped=tuple(p.name for i, p in enumerate(cudnn) if i not in pairs),
        added=tuple(p.name for j, p in enumerate(miopen) if j not in pairs.values()),
        reordered=tuple(both[i][0].name for i, j in pairs.items() if j not in kept),
        renamed={a.name: b.name for a, b in both.values() if a.name.lower() != b.name.lower()},
        retyped={a.name: (a.type, b.type) for a, b in both.values() if not _same_type(a.type, b.type, same_types)},
    )


def _longest_rising(numbers: Sequence[int]) -> set[int]:
    """Return the members of the longest rising subsequence."""
    best: list[list[int]] = []
    for i, number in enumerate(numbers):
        before = [best[k] for k in range(i) if numbers[k] < number]
        best.append([*_longest(before), number])
    return set(_longest(best))


def _longest(lists: Sequence[list[int]]) -> list[int]:
    longest: list[int] = []
    for numbers in lists:
        if len(numbers) > len(longest):
            longest = numbers
    return longest


def _same_type(a: str, b: str, same_types: frozenset[tuple[str, str]]) -> bool:
    a, b = (" ".join(t.replace("[]", " *").replace("*", " * ").replace("const ", "").split()) for t in (a, b))
    a, b = (t.replace("unsigned int", "unsigned") for t in (a, b))
    bases = a.split()[0], b.split()[0]
    if bases in same_types:
        return a.count("*") == b.count("*")
    return a.removeprefix("cudnn") == b.removeprefix("miopen")


# Reading ------------------------------------------------------------------------------------------


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
    )


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
    return Row(
        topic,
        functions[entry["cudnn"]] if "cudnn" in entry else None,
        tuple(functions[name] for name in entry.get("miopen", ())),
        tuple(entry.get("portadnn", ())),
        entry.get("guide_row"),
        entry.get("source"),
        tuple(entry.get("also", ())),
        {a: (b,) if isinstance(b, str) else tuple(b) for a, b in entry.get("renamed", {}).items()},
        tuple(Note(**note) for note in entry.get("notes", ())),
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
    )


def _pair(versions: Sequence[str] | None) -> tuple[str, str] | None:
    return None if versions is None else (versions[0], versions[1])
