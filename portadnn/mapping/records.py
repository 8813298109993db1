"""What the mapping table holds: functions with their parameters and changes, rows, and enumerations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

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
    graph : str or None
        The backend descriptor by which cuDNN's graph API has it, where no function of cuDNN does.
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
    graph: str | None = None

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
    """An enumeration of both libraries; `portadnn` names the class, `headers` are as those of a :class:`Function`.

    Numbers of algorithms are `member` of the union in cudnnAlgorithm_t; `attribute` is the type of backend descriptors'
    attributes that have the enumeration's values, without its CUDNN_TYPE.
    """

    topic: str
    cudnn: str | None
    miopen: str | None
    portadnn: str | None
    section: str | None
    headers: tuple[str, str] | None
    miopen_headers: tuple[str, str] | None
    values: tuple[Value, ...]
    notes: tuple[Note, ...] = ()
    member: str | None = None
    attribute: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The types' names in C."""
        return tuple(name for name in (self.cudnn, self.miopen) if name)
