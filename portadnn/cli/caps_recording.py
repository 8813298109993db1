"""``portadnn caps --recording``: who takes the problems of a recording, and why not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from ..recording import read
from ..recording.problems import Posed, posed
from .caps import coloured, opinions
from .opinion import Opinion

EXAMPLES = 3  # problems that are shown of each reason
PRODUCT = "product"


@dataclass
class Judged:
    """A problem of a recording, and what the tables say of it."""

    problem: Posed
    opinions: list[Opinion] = field(default_factory=list)


def judged(path: Path, tables: Sequence[str]) -> list[Judged]:
    """Return the problems of a recording, the most frequent first, each with the opinions of tables.

    Raises
    ------
    DnnError, OSError
        The file is no recording, or there is no such table.
    """
    found = [Judged(one, opinions(one.line, None, tables)[2]) for one in posed(read(path)).values()]
    return sorted(found, key=lambda one: -one.problem.calls)


def show(path: Path, tables: Sequence[str], *, as_json: bool = False) -> None:
    """Print what is not simply taken, by reason, with problems, their layouts and where they are called; then the sums.

    Raises
    ------
    DnnError, OSError
        As :func:`judged`.
    """
    found = judged(path, tables)
    console = Console(highlight=False, soft_wrap=True)
    if as_json:
        console.out(json.dumps([_facts(one) for one in found], indent=1))
        return
    products = [one for one in found if one.problem.kind == PRODUCT]
    others = [one for one in found if one.problem.kind != PRODUCT]
    for name in tables:
        _show(console, name, others)
    console.print(f"layouts, by calls: {_layouts(others)}")
    if products:
        count = sum(one.problem.calls for one in products)
        console.print(f"products: {len(products)} problems of {count} calls, which are left to BLAS libraries there")
    if any(name.startswith("miopen") for name in tables):
        command = f"portadnn replay {escape(str(path))} --as miopen-driver"
        console.print(f"[dim]workspaces are those of MIOpen's solvers, which MIOpenDriver prints: {command}[/dim]")


def _show(console: Console, name: str, found: Sequence[Judged]) -> None:
    answers: Counter[str] = Counter()
    reasons: dict[tuple[str, str, str, str], list[Posed]] = {}
    for one in found:
        for opinion in one.opinions:
            if opinion.name == name:
                answers[opinion.answer] += one.problem.calls
                key = (opinion.answer, opinion.reason, ", ".join(opinion.effect), opinion.source)
                reasons.setdefault(key, []).append(one.problem)
    calls = sum(one.problem.calls for one in found)
    told = ", ".join(f"{answer} {count}" for answer, count in sorted(answers.items(), reverse=True))
    console.print(f"[bold]{name}[/bold]: {len(found)} problems of {calls} calls; by calls: {told or 'none'}")
    for (answer, reason, effect, source), problems in sorted(reasons.items(), key=lambda item: -len(item[1])):
        if answer == "yes":
            continue
        count, effects = sum(problem.calls for problem in problems), f" [{effect}]" if effect else ""
        console.print(f"{coloured(answer)} {count} calls: {escape(reason + effects)} [dim]({escape(source)})[/dim]")
        for problem in problems[:EXAMPLES]:
            where = f" in {', '.join(problem.modules[:EXAMPLES])}" if problem.modules else ""
            console.print(f"  {problem.calls} x {escape(problem.line)} [dim]{problem.layout}{escape(where)}[/dim]")
        if len(problems) > EXAMPLES:
            console.print(f"  [dim]and {len(problems) - EXAMPLES} more (--format json has all)[/dim]")


def _layouts(found: Sequence[Judged]) -> str:
    counts: dict[str, int] = {}
    for one in found:
        counts[one.problem.layout] = counts.get(one.problem.layout, 0) + one.problem.calls
    return ", ".join(f"{layout} {count}" for layout, count in sorted(counts.items(), key=lambda item: -item[1]))


def _facts(one: Judged) -> dict[str, Any]:
    return {**vars(one.problem), "opinions": [vars(opinion) for opinion in one.opinions]}
