"""Which findings a user wants to see: rules by pattern, comments in the source, a baseline."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from pathspec import GitIgnoreSpec

from ..errors import BadParam, shown
from .findings import SEVERITIES, Finding
from .wildcards import spec_of

LONGEST = 4096  # characters of a pattern


def rules_of(patterns: Sequence[str], known: Collection[str], argument: str) -> frozenset[str]:
    """Return the rules that patterns name: ``"S01"``, ``"PD-S01"``, ``"V1*"``, ``"S"`` (all of that letter), ``"all"``.

    Raises
    ------
    BadParam
        A pattern fits no rule.
    """
    found: set[str] = set()
    for pattern in patterns:
        wanted = pattern.strip().upper().removeprefix("PD-")
        fitting = set(known) if wanted in ("ALL", "*") else {name for name in known if _fits(name, wanted)}
        if not fitting:
            near = difflib.get_close_matches(wanted, known, 3, 0.6)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise BadParam(argument=argument, expected="rules such as S01, S or V1*", got=f"{pattern!r}{hint}")
        found |= fitting
    return frozenset(found)


def _fits(name: str, wanted: str) -> bool:
    if wanted.isalpha():  # a group of rules
        return name.rstrip("0123456789") == wanted
    try:
        return fnmatchcase(name, wanted)
    except re.error:  # [z-a], before Python 3.11
        return False


def check_patterns(patterns: Iterable[str], argument: str) -> GitIgnoreSpec:
    """Return patterns as in .gitignore, compiled.

    Raises
    ------
    BadParam
        One of them is none, or is longer than any path.
    """
    good = tuple(patterns)
    for pattern in good:
        try:
            if len(pattern) > LONGEST:
                raise ValueError
            spec_of([pattern])
        except (ValueError, re.error, OverflowError, RecursionError):
            raise BadParam(argument=argument, expected="patterns as in .gitignore", got=shown(pattern)) from None
    return spec_of(good)


def chosen(select: Sequence[str], ignore: Sequence[str], known: Collection[str]) -> frozenset[str]:
    """Return the rules that are selected (all, if none is named) and not ignored.

    Raises
    ------
    BadParam
        A pattern fits no rule.
    """
    wanted = rules_of(select, known, "select") if select else frozenset(known)
    return wanted - rules_of(ignore, known, "ignore")


@dataclass
class Comments:
    """Comments that silence findings, and which of them did.

    Parameters
    ----------
    lines : dict of str to dict of int to frozenset of str
        By file and line the rules; an empty set silences all.
    """

    lines: Mapping[str, Mapping[int, frozenset[str]]]
    used: set[tuple[str, int]] = field(default_factory=set)

    def silences(self, finding: Finding) -> bool:
        """Tell whether a comment silences a finding: on a line of what is underlined, or where its call begins."""
        lines = self.lines.get(finding.place.file)
        if not lines:
            return False
        place = finding.place
        near = set(range(place.line, min(max(place.line, place.end_line), place.line + 100) + 1))
        if finding.event is not None and finding.event.place.file == place.file:
            near.add(finding.event.place.line)
        for line in near:
            rules = lines.get(line)
            if rules is not None and (not rules or finding.rule in rules):
                self.used.add((place.file, line))
                return True
        return False

    def unused(self) -> list[tuple[str, int, tuple[str, ...]]]:
        """Return the comments that silenced nothing."""
        return [
            (file, line, tuple(sorted(rules)))
            for file, lines in sorted(self.lines.items())
            for line, rules in sorted(lines.items())
            if (file, line) not in self.used
        ]


def check_severity(value: str, argument: str) -> str:
    """Return the value where it is a severity or ``"never"``, in capitals.

    Raises
    ------
    BadParam
        It is neither.
    """
    name = value.strip()
    name = "never" if name.lower() == "never" else name.upper()
    if name not in (*SEVERITIES, "never"):
        raise BadParam(argument=argument, expected=f"{', '.join(SEVERITIES)} or never", got=shown(value))
    return name


def one_of(value: str, options: Iterable[str], argument: str) -> str:
    """Return the value where it is an option.

    Raises
    ------
    BadParam
        It is not; the message suggests a near one.
    """
    options = tuple(options)
    if value not in options:
        near = difflib.get_close_matches(value, options, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise BadParam(argument=argument, expected=f"one of {', '.join(options)}", got=f"{value!r}{hint}")
    return value
