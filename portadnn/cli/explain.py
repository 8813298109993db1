"""``portadnn explain``: what a rule of the checker says and why, what becomes of a function; or all rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..migrate.findings import SEVERITIES
from ..migrate.rules import explain
from ..migrate.rules.table import rules

GROUPS = {"S": "The order of calls", "A": "Arguments", "V": "Values"}


def show(name: str, *, as_markdown: bool) -> None:
    """Print the page of a rule or a function.

    Raises
    ------
    BadParam
        Nothing has that name.
    """
    page = explain.page(name)
    if as_markdown:
        print(explain.as_markdown(page))
    else:
        explain.show(page)


def everything() -> str:
    """Return all rules as Markdown: docs/check-rules.md."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# The rules of portadnn check"
    yield ""
    yield "Written by `portadnn explain --all`; [check.md](check.md) explains the command."
    yield ""
    yield from ("| Severity | |", "|---|---|")
    yield from (f"| {severity} | {meaning} |" for severity, meaning in SEVERITIES.items())
    yield ""
    groups: dict[str, list[str]] = {}
    for name in rules():
        groups.setdefault(name.rstrip("0123456789"), []).append(name)
    for group, names in sorted(groups.items(), key=lambda one: list(GROUPS).index(one[0]) if one[0] in GROUPS else 9):
        yield f"## {GROUPS.get(group, group)}"
        yield ""
        yield from ("| Rule | Severity | |", "|---|---|---|")
        for name in names:
            rule = rules()[name]
            yield f"| [{rule.name}](#{rule.name.lower()}) | {rule.severity} | {rule.title} |"
        yield ""
        for name in names:
            yield from _rule(name)


def _rule(name: str) -> Iterator[str]:
    """Yield a rule's page two levels down, under a heading that is its id alone: what links go to."""
    rule = rules()[name]
    lines = explain.as_markdown(explain.page(name)).rstrip("\n").split("\n")
    yield f"### {rule.name}"
    yield ""
    yield f"**{rule.title}**"
    inside = False
    for line in lines[1:]:
        inside = inside is not line.startswith("```")
        yield line if inside else re.sub(r"^## (.*)", r"#### \1", line)
    yield ""
