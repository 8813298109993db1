"""The rules: what the TOML files of this folder say, checked for what cannot be true.

A file has a table for each rule, with its ``title``, ``severity``, ``source`` and ``why``; ``per_call = true`` where
the rule is true of every call of its functions; ``before`` and ``after`` where `explain` cannot make an example. Each
``[[S01.case]]`` is one way to break it; what its cases have in common may stand in the rule itself:

``functions``
    names, or patterns (``"cudnnSetPooling*"``); ``"cudnn* gone in 9"``: those that version no longer has
``library``, ``targets``
    whose code is read (``"cudnn"``), and where it matters that it goes (both MIOpens)
``from``, ``until``, ``target_from``, ``target_until``
    versions of the library that is read and of the target; ``until`` is the first without it
``when``, ``unless``
    conditions (`conditions`): all of the first hold, and none of the second
``code``
    a check (`registry`), for what conditions cannot say; both have to agree
``reads = "source"``
    the code is a check of source files (`sources`) instead
``at = "end"``
    it is judged when the program has ended
``about``, ``message``, ``fix``, ``severity``
    the parameter to underline, and the texts, with words in braces: arguments by parameter name (``{mode}``), values
    (``{beta.value}``), what was set (``{xDesc.format}``), ``{target}``, ``{function}``, ``{call}``, and the check's own
"""

from __future__ import annotations

import functools
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args

from ... import mapping
from ..._io.toml import tomllib
from ..events import Library
from ..findings import SEVERITIES, Severity
from ..versions import numbers
from . import conditions, sets, targets
from .conditions import Condition
from .registry import CallCheck, GraphCheck, Registry, SourceCheck, check, graph_check, source_check
from .targets import Target

FOLDER = Path(__file__).parent / "tables"
ALWAYS = ("target", "function", "call")  # words that every message may use


@dataclass(frozen=True)
class Case:
    """One way to break a rule.

    Attributes
    ----------
    library : {"cudnn", "miopen"}
        Whose code is read.
    targets : tuple of str
        Where it matters that the code goes.
    functions : tuple of str
        Those that the patterns in the file stand for.
    since, until, target_since, target_until : str or None
        Versions of the library that is read and of the target for which it holds; `until` is the first without it.
    when : tuple of Condition
        All have to hold.
    apart : bool
        Programs choose the values that `when` asks for apart from each other: each may be the wrong one.
    unless : tuple of tuple of Condition
        None of these may hold.
    check : CallCheck or None
        What data cannot say; it has to agree.
    source : SourceCheck or None
        What looks at source files instead of calls; there are no functions and conditions then.
    graph : GraphCheck or None
        What looks at graphs of cudnn_frontend instead.
    end : bool
        Judged when the program has ended, with the state at its end.
    about : tuple of str
        The parameter to underline, by its names.
    message, fix : str
        With words in braces.
    severity : {"E", "W!", "W", "I"}
        The rule's where the case has none of its own.
    per_call : bool
        As that of the rule; the reverse check is never true of every call.
    """

    library: Library
    targets: tuple[str, ...]
    functions: tuple[str, ...]
    since: str | None
    until: str | None
    target_since: str | None
    target_until: str | None
    when: tuple[Condition, ...]
    unless: tuple[tuple[Condition, ...], ...]
    apart: bool
    check: CallCheck | None
    source: SourceCheck | None
    graph: GraphCheck | None
    end: bool
    about: tuple[str, ...]
    message: str
    fix: str
    severity: Severity
    per_call: bool

    def serves(self, target: Target) -> bool:
        """Tell whether it is about a target."""
        return target.name in self.targets and target.has(self.target_since, self.target_until)

    def holds_for(self, version: str | None) -> bool:
        """Tell whether it is about a version of the library that is read; one that is unknown is taken for any."""
        if version is None:
            return True
        read = numbers(version)
        after = self.since is None or read >= numbers(self.since)
        return after and (self.until is None or read < numbers(self.until))


@dataclass(frozen=True)
class Rule:
    """A rule.

    Attributes
    ----------
    id : str
        Without ``PD-``.
    title, why, source : str
        The mistake in a few words, what comes of it, and who says so.
    severity : {"E", "W!", "W", "I"}
    cases : tuple of Case
    per_call : bool
        Whether it is true of every call of its functions: such findings are work to do, not alarms.
    before, after : str
        An example; where the file has none, calls with the parameters' names (``explain`` makes them).
    """

    id: str
    title: str
    severity: Severity
    source: str
    why: str
    cases: tuple[Case, ...]
    per_call: bool = False
    before: str = ""
    after: str = ""

    @property
    def name(self) -> str:
        """The id as users see it."""
        return f"PD-{self.id}"


@functools.cache
def rules() -> Mapping[str, Rule]:
    """Return all rules by id."""
    return load(FOLDER)


def load(folder: Path) -> dict[str, Rule]:
    """Read the rules of a folder.

    Raises
    ------
    ValueError
        A file has a mistake; the message says where.
    """
    found: dict[str, Rule] = {}
    for path in sorted(folder.glob("*.toml")):
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
        for id_, entry in entries.items():
            try:
                rule = _rule(id_, entry)
            except (TypeError, ValueError, KeyError) as error:
                raise ValueError(f"{path.name}: {id_}: {error}") from error
            if id_ in found:
                raise ValueError(f"{path.name}: {id_} is there twice")
            found[id_] = rule
    return dict(sorted(found.items()))


_CASE_KEYS = {
    *(
        "library",
        "targets",
        "functions",
        "from",
        "until",
        "target_from",
        "target_until",
        "when",
        "apart",
        "unless",
        "code",
    ),
    *("reads", "at", "about", "message", "fix", "severity"),
}
_RULE_KEYS = {field.name for field in fields(Rule)} - {"id", "cases"} | {"case"}


def _rule(id_: str, entry: dict[str, Any]) -> Rule:
    """Return a rule; what its cases have in common may stand in the rule itself."""
    _only(entry, _RULE_KEYS | _CASE_KEYS)
    common = {key: value for key, value in entry.items() if key in _CASE_KEYS}
    own = {key: value for key, value in entry.items() if key in _RULE_KEYS - {"case"}}
    for case in entry.get("case", ()):
        _only(case, _CASE_KEYS | {"per_call"})
    per_call = entry.get("per_call", False)
    cases = tuple(_case({**common, **case}, case.get("per_call", per_call)) for case in entry.get("case", [{}]))
    return Rule(id_, **{**own, "severity": _severity(entry["severity"])}, cases=cases)


def _only(entry: Mapping[str, Any], keys: Iterable[str]) -> None:
    if strange := sorted(set(entry) - set(keys)):
        raise ValueError(f"unknown key {', '.join(strange)}")


def _severity(text: str) -> Severity:
    for severity in SEVERITIES:
        if severity == text:
            return severity
    raise ValueError(f"severity {text!r} is none of {', '.join(SEVERITIES)}")


_REGISTRIES: Mapping[str, Registry[Any]] = {"call": check, "source": source_check, "graph": graph_check}


def _case(entry: dict[str, Any], per_call: bool) -> Case:
    library: Library = entry.get("library", "cudnn")
    if library not in get_args(Library):
        raise ValueError(f"library {library!r} is none of {', '.join(get_args(Library))}")
    for target in entry.get("targets", ()):
        if target not in targets.TARGETS:
            raise ValueError(f"target {target!r} is none of {', '.join(targets.TARGETS)}")
    if entry.get("at", "call") not in {"call", "end"}:
        raise ValueError(f"at = {entry['at']!r} is neither 'call' nor 'end'")
    reads = entry.get("reads", "call")
    if reads not in _REGISTRIES:
        raise ValueError(f"reads = {reads!r} is none of {', '.join(_REGISTRIES)}")
    code = entry.get("code")
    if code is not None and code not in _REGISTRIES[reads].all():
        raise ValueError(f"no check is called {code!r}")
    about = entry.get("about", "") if reads == "call" else ""
    case = Case(
        library,
        tuple(entry.get("targets", targets.DEFAULT)),
        tuple(sets.functions(library, entry["functions"])) if reads == "call" else (),
        entry.get("from"),
        entry.get("until"),
        entry.get("target_from"),
        entry.get("target_until"),
        conditions.parse(entry.get("when", {})),
        tuple(conditions.parse(one) for one in entry.get("unless", ())),
        bool(entry.get("apart", False)),
        check.all()[code] if code and reads == "call" else None,
        source_check.all()[code] if code and reads == "source" else None,
        graph_check.all()[code] if code and reads == "graph" else None,
        entry.get("at") == "end",
        tuple(about.split("|")) if about else (),
        entry["message"],
        entry["fix"],
        _severity(entry["severity"]),
        per_call and library == "cudnn",
    )
    _names_exist(case)
    return case


def _names_exist(case: Case) -> None:
    """Refuse names that a function of the case does not have, and words that nothing fills."""
    asked = [c.names for c in case.when] + [c.names for one in case.unless for c in one]
    asked += [case.about] if case.about else []
    words = set(ALWAYS) | set(case.check.words if case.check else ())
    for text in (case.message, case.fix):
        asked += [tuple(name.split("|")) for name in placeholders(text) if name not in words]
    other = case.source or case.graph
    unfilled = [name for names in asked for name in names if other and name not in {"target", *other.words}]
    if unfilled:
        raise ValueError(f"no check fills {', '.join(unfilled)}")
    for function in case.functions:
        own = parameters(function)
        for names in asked:
            parts = [name.partition(".") for name in names if not name.startswith("@")]
            if parts and not any(parameter in own for parameter, _, _ in parts):
                raise ValueError(f"{function} has no parameter {'|'.join(names)}, and no check fills that word")
            for _, _, attribute in parts:
                if attribute and attribute not in all_parameters() | {"size", "value"}:
                    raise ValueError(f"no function sets {attribute} ({'|'.join(names)})")


@functools.cache
def parameters(function: str) -> frozenset[str]:
    """Return the names of a function's parameters, in all versions."""
    declared = mapping.table().functions.get(function)
    if declared is None:
        return frozenset()
    return frozenset(parameter.name for signature in declared.signatures for parameter in signature)


@functools.cache
def all_parameters() -> frozenset[str]:
    """Return the names of all functions' parameters: what a descriptor can have set."""
    return frozenset(name for function in mapping.table().functions for name in parameters(function))


def placeholders(text: str) -> list[str]:
    """Return the words in braces."""
    return [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
