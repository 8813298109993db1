"""Capability tables: what each backend implements, and what each foreign library does.

The tables are TOML files in the folder ``capabilities`` of the packages that register backends, and rules in the
records of other distributions' operations. docs/capabilities.md explains every field. A table is a set of rules; the
order in which they stand says nothing::

    table("miopen-1").judge(parse("convolution_forward x=f16:1x3x8x8 w=f16:4x3x3x3")).answer  # "no"
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .._io.toml import tomllib
from ..entry_points import foreign_records
from ..enums import DnnEnum
from ..errors import BadParam, NotSupported, shown
from ..problem import Problem
from ..registry import backend_names, backend_packages, package_folder
from .groups import came_with, mapped_rules, names
from .rules import Condition, Query, all_hold

if TYPE_CHECKING:
    from portadnn_backends.base import DeviceInfo, Engine

Answer = Literal["yes", "limits", "no"]
ANSWERS = ("yes", "limits", "no")
EFFECTS = ("refused", "ignored", "wrong", "random")
_MAPPING = "@mapping"
_UNMENTIONED = "the table says nothing of it"


@dataclass(frozen=True)
class Rule:
    """One statement of a table.

    Attributes
    ----------
    ops : tuple of str
        Patterns of operations' names (:func:`portadnn.capability.groups.names`).
    answer : {"yes", "limits", "no"}
    conditions : tuple of Condition
        All have to hold for the rule to say something of a problem.
    unless : tuple of tuple of Condition
        Cases that it does not speak of.
    beyond : tuple of tuple of Condition
        Of ``"limits"``: cases that are refused.
    reason, source : str
        Why, and where that is said. Empty for ``"yes"``.
    effect : str
        What a ``"no"`` means to who asks anyway: the call is ``"refused"``, an argument is ``"ignored"``, or the
        numbers come out ``"wrong"`` without a word, or ``"random"`` ones are others.
    message : str
        A part of the error that the library raises before it asks a table; empty where dispatch refuses.
    backend : str
        Whose engines patterns ask about; empty in tables of no backend.
    """

    ops: tuple[str, ...]
    answer: Answer
    conditions: tuple[Condition, ...] = ()
    unless: tuple[tuple[Condition, ...], ...] = ()
    beyond: tuple[tuple[Condition, ...], ...] = ()
    reason: str = ""
    source: str = ""
    effect: str = "refused"
    message: str = ""
    backend: str = ""

    @property
    def feature(self) -> str:
        """What the rule speaks of, in words."""
        return " ".join((",".join(self.ops), *map(str, self.conditions)))

    def names(self, op: str) -> bool:
        """Tell whether the rule speaks of an operation."""
        return names(self.ops, op, self.backend)

    def applies(self, query: Query) -> bool | None:
        """Tell whether the rule speaks of a problem whose operation it names; None where the device decides."""
        found = all_hold(self.conditions, query)
        for exception in self.unless if found is not False else ():
            held = all_hold(exception, query)
            if held:
                return False
            if held is None:
                found = None
        return found

    def says(self, query: Query) -> Answer | None:
        """Return what the rule says of a problem whose operation it names, if anything."""
        applies = self.applies(query)
        if applies is False:
            return None
        if self.answer == "limits" and applies:
            beyond = [all_hold(case, query) for case in self.beyond]
            return "no" if True in beyond else "limits"
        return self.answer if applies else "limits"  # what the device decides is a limit


@dataclass(frozen=True)
class Verdict:
    """What a table says of a problem.

    Attributes
    ----------
    answer : {"yes", "limits", "no"}
    reason, source : str
        Of the rules that decided; empty for ``"yes"``.
    feature : str
        What those rules speak of.
    rules : tuple of Rule
        The rules themselves: all that say no, or else all limits. None where the table says nothing.
    """

    answer: Answer
    reason: str = ""
    source: str = ""
    feature: str = ""
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class Table:
    """What one backend or library implements.

    Attributes
    ----------
    name, title : str
    runnable : bool
        Whether it is a backend, which dispatch asks and the tests put to the proof.
    sources : dict of str to str
        What the first words of rules' sources stand for.
    notes : tuple of str
        What no rule can say.
    otherwise : tuple of str
        Reason and source of the ``"no"`` to operations that the library lacks; and its name in the mapping table, which
        knows what later versions have.
    """

    name: str
    title: str
    runnable: bool
    rules: tuple[Rule, ...]
    sources: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    otherwise: tuple[str, str, str] = (_UNMENTIONED, "", "")

    @functools.cached_property
    def _of_op(self) -> dict[str, tuple[Rule, ...]]:
        return {}

    def rules_of(self, op: str) -> tuple[Rule, ...]:
        """Return the rules that speak of an operation."""
        found = self._of_op.get(op)
        if found is None:
            found = self._of_op[op] = tuple(rule for rule in self.rules if rule.names(op))
        return found

    def judge(
        self,
        problem: Problem,
        scalars: Mapping[str, float] | None = None,
        *,
        algo: DnnEnum | None = None,
        device: DeviceInfo | Mapping[str, Any] | None = None,
    ) -> Verdict:
        """Say what the table says of a problem.

        A ``"no"`` that applies wins over limits, and limits over ``"yes"``. What no ``"yes"`` covers is a ``"no"``.

        Parameters
        ----------
        problem
            What is to be computed.
        scalars
            Run-time numbers such as alpha and beta, where they are not the operation's own defaults.
        algo
            The algorithm that is asked for.
        device
            The device; what is not known of it makes limits of a ``"no"``.
        """
        if self.lacks(problem.op):
            reason, source, library = self.otherwise
            return Verdict("no", f"{reason}{came_with(library, problem.op)}", source, problem.op)
        query = Query(problem, scalars or {}, algo, device)
        return decide([(rule, rule.says(query)) for rule in self.rules_of(problem.op)])

    def lacks(self, op: str) -> bool:
        """Tell whether no rule says yes to an operation of portadnn's, and none why not: there is none like it."""
        rules = self.rules_of(op)
        return names(("@own",), op) and not any(
            rule.answer == "yes" or (rule.answer == "no" and not rule.conditions) for rule in rules
        )

    def algorithms(self, op: str) -> tuple[str, ...]:
        """Return the names of the algorithms by which the plainest problem of an operation can be computed."""
        from .features import features

        asked = [feature for feature in features(op) if feature.algo is not None]
        taken = [f for f in asked if self.judge(f.problem, f.scalars, algo=f.algo).answer != "no"]
        return tuple(str(feature.algo) for feature in taken)


def decide(said: Iterable[tuple[Rule, Answer | None]]) -> Verdict:
    """Return the verdict that follows from what each rule says of a problem."""
    found: dict[Answer, list[Rule]] = {"yes": [], "limits": [], "no": []}
    for rule, answer in said:
        if answer is not None:
            found[answer].append(rule)
    if found["no"]:
        return _verdict("no", found["no"])
    if not found["yes"] and not any(rule.answer == "yes" for rule in found["limits"]):
        return Verdict("no", _UNMENTIONED)
    return _verdict("limits", found["limits"]) if found["limits"] else Verdict("yes")


def _verdict(answer: Answer, rules: Sequence[Rule]) -> Verdict:
    def joined(texts: Iterable[str]) -> str:
        return "; ".join(dict.fromkeys(filter(None, texts)))

    return Verdict(
        answer,
        joined(rule.reason for rule in rules),
        joined(rule.source for rule in rules),
        joined(rule.feature for rule in rules),
        tuple(rules),
    )


# reading


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


def _conditions(values: Mapping[str, Any], prefix: str = "") -> tuple[Condition, ...]:
    found: list[Condition] = []
    for name, wanted in values.items():
        if isinstance(wanted, dict):
            found += _conditions(wanted, f"{prefix}{name}.")
        else:
            found.append(Condition(prefix + name, _listed(wanted)))
    return tuple(found)


def _rule(values: Mapping[str, Any], where: str) -> Rule:
    entry = dict(values)
    try:
        ops, answer = _listed(entry.pop("op")), entry.pop("answer")
    except KeyError as error:
        raise BadParam(argument=where, expected=f"{error} in every rule", got=values) from None
    reason, source = entry.pop("reason", ""), entry.pop("source", "")
    effect, message = entry.pop("effect", "refused"), entry.pop("message", "")
    beyond, unless = entry.pop("beyond", []), entry.pop("unless", [])
    if answer not in ANSWERS or effect not in EFFECTS:
        raise BadParam(argument=where, expected=f"one of {ANSWERS} and of {EFFECTS}", got=values)
    if (answer == "yes") is bool(reason and source) or bool(reason) is not bool(source):
        raise BadParam(argument=where, expected="reason and source of all but yes", got=values)
    if (beyond and answer != "limits") or (answer == "yes" and (effect != "refused" or message)):
        raise BadParam(argument=where, expected="beyond with limits only, effect not with yes", got=values)
    unless, beyond = (tuple(_conditions(case) for case in cases) for cases in (_listed(unless), _listed(beyond)))
    return Rule(ops, answer, _conditions(entry), unless, beyond, reason, source, effect, message)


def read(text: str, where: str, folder: Path | None = None) -> Table:
    """Read the text of a table. Files that it includes lie in `folder`; "@mapping" are its rules in the mapping table.

    Raises
    ------
    BadParam
        It is no table.
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadParam(argument=where, expected="TOML", got=error) from None
    rules = [_rule(entry, where) for entry in values.pop("rule", [])]
    sources = dict(values.pop("sources", {}))
    notes = list(values.pop("notes", []))
    otherwise = {"reason": _UNMENTIONED, "source": "", "library": "", **values.pop("otherwise", {})}
    for name in values.pop("include", []):
        if name == _MAPPING:
            rules += [_rule(entry, where) for entry in mapped_rules(where)]
            continue
        if folder is None:
            raise BadParam(argument=where, expected="no include", got=name)
        other = read((folder / f"{name}.toml").read_text("utf-8"), name, folder)
        rules += other.rules
        sources = {**other.sources, **sources}
        notes += other.notes
    for record in foreign_records():
        rules += [_rule({"op": record.op, **entry}, record.op) for entry in record.rules.get(where, ())]
    title, runnable = values.pop("title", ""), values.pop("runnable", False)
    if values or bool(title) is where.startswith("_"):
        expected = "title, runnable, include, notes, otherwise, sources and rules"
        raise BadParam(argument=where, expected=expected, got=list(values))
    if runnable:
        rules = [replace(rule, backend=where) for rule in rules]
    absent = otherwise["reason"], otherwise["source"], otherwise["library"]
    return Table(where, title, runnable, tuple(rules), sources, tuple(notes), absent)


@functools.cache
def files() -> dict[str, Path]:
    """Return the files of all tables by name; those whose names begin with an underscore are parts of others."""
    found: dict[str, Path] = {}
    for package in dict.fromkeys(backend_packages().values()):
        folder = package_folder(package)
        for path in sorted((folder / "capabilities").glob("[!_]*.toml")) if folder else ():
            found.setdefault(path.stem, path)
    return found


def table_names() -> tuple[str, ...]:
    """Return the names of all tables, those of backends first."""
    names = sorted(files())
    return tuple(sorted(names, key=lambda name: name not in backend_names()))


def table(name: str) -> Table:
    """Read the table of a backend or of a foreign library.

    Raises
    ------
    BadParam
        There is none of that name.
    """
    if type(name) is not str or name not in files():
        raise BadParam(argument="table", expected=f"one of {', '.join(table_names())}", got=shown(name))
    return _read_table(name)


@functools.cache
def _read_table(name: str) -> Table:
    path = files()[name]
    return read(path.read_text("utf-8"), name, path.parent)


# dispatch


@functools.cache
def _table_of(backend: str) -> Table | None:
    """Return a backend's table; a backend of others may come without one."""
    folder = package_folder(backend_packages()[backend]) if backend in backend_packages() else None
    path = None if folder is None else folder / "capabilities" / f"{backend}.toml"
    return None if path is None or not path.is_file() else read(path.read_text("utf-8"), backend, path.parent)


def check(engines: Sequence[Engine], problem: Problem, info: DeviceInfo, algo: DnnEnum | None = None) -> None:
    """Refuse what the table of a device's backend says no to. It speaks of the backend's own engines, and of no others.

    Raises
    ------
    NotSupported
        With the table's reason.
    """
    found = _table_of(info.backend)
    own = backend_packages().get(info.backend, "")
    if not all(type(engine).__module__.startswith(own) for engine in engines):
        return
    verdict = found.judge(problem, algo=algo, device=info) if found else None
    if not found or not verdict or verdict.answer != "no":
        return
    if algo is None or found.judge(problem, device=info).answer == "no":
        raise NotSupported(f"{info.backend} does not take it: {verdict.reason}")
    others = ", ".join(name for name in found.algorithms(problem.op) if name != str(algo))
    raise NotSupported(
        f"{info.backend} does not take it by {algo}: {verdict.reason}; available: {others}", argument="algo"
    )


__all__ = ["Answer", "Rule", "Table", "Verdict", "check", "read", "table", "table_names"]
