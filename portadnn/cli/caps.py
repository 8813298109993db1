"""``portadnn caps``: what backends and foreign libraries take, and who takes a problem."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from ..capability.tables import Table, table, table_names
from ..capability.text import (
    as_html,
    as_json,
    as_markdown,
    columns,
    effects_of,
    operations,
    remarks,
    rows,
    summary,
)
from ..dispatch.choice import check_type
from ..enums import DnnEnum
from ..errors import ArchMismatch, BadParam, NotSupported
from ..problem import Problem, read_line
from ..registry import backend_names, get_backend
from .opinion import Opinion

COLOURS = {"yes": "green", "limits": "yellow", "no": "red"}


class Format(str, enum.Enum):
    """What ``--format`` takes."""

    MD = "md"
    JSON = "json"
    HTML = "html"


WRITERS = {Format.MD: as_markdown, Format.JSON: as_json, Format.HTML: as_html}


def written(format: Format, ops: Sequence[str], tables: Sequence[str]) -> str:
    """Return the matrix as a file.

    Raises
    ------
    BadParam
        No operation or no table has such a name.
    """
    return WRITERS[format](operations(ops), columns(tables))


def show(ops: Sequence[str], tables: Sequence[str]) -> None:
    """Print the matrix: a line for each operation, or for chosen operations one for each feature, and the reasons.

    Raises
    ------
    BadParam
        No operation or no table has such a name.
    """
    console, chosen = Console(highlight=False), columns(tables)
    grid = _grid(("", *(column.name for column in chosen)))
    for op in operations(ops):
        found = rows(op, chosen)
        if not ops:
            grid.add_row(op, *(coloured(summary(found, place)) for place in range(len(chosen))))
            continue
        grid = _grid((op, *(column.name for column in chosen)))
        for row in found:
            grid.add_row(escape(row.feature.name), *(coloured(verdict.answer) for verdict in row.verdicts))
        console.print(grid)
        for column, names, answer, why in remarks(found, chosen):
            console.print(f"- {column}: {escape(names)}: {coloured(answer)}: {escape(why)}", soft_wrap=True)
    if not ops:
        console.print(grid)
        console.print("`portadnn caps --op NAME` has an operation's features and reasons.", markup=False)


def _grid(names: Sequence[str]) -> Grid:
    grid = Grid()
    for name in names:
        grid.add_column(escape(name))
    return grid


def coloured(answer: str) -> str:
    """Return an answer in its colour, for Rich."""
    return f"[{COLOURS[answer]}]{answer}[/{COLOURS[answer]}]"


# who takes a problem


def opinions(line: str, algo: str | None, tables: Sequence[str]) -> tuple[Problem, str | None, list[Opinion]]:
    """Ask all tables, and the engines of the devices that there are.

    Returns
    -------
    problem : Problem
    refusal : str or None
        Why portadnn takes no such problem, whatever computes it.
    found : list of Opinion

    Raises
    ------
    BadParam
        No problem line, or no such table or algorithm.
    """
    problem, scalars = read_line(line, valid=False)
    if type(problem).op == "":
        from .caps_graphs import graph_opinions  # which takes a while to import

        if algo is not None:
            raise BadParam(argument="algo", expected="none for a graph, whose engines have no numbers", got=algo)
        return problem, None, list(graph_opinions(problem, tables))
    refusal = None
    try:
        problem.validate()
    except NotSupported as error:
        refusal = str(error)
    member = None if algo is None else problem.parse_algo(algo)
    found = [
        opinion
        for name in tables or table_names()
        for opinion in _opinions(table(name), problem, scalars, member, valid=refusal is None)
    ]
    return problem, refusal, found


def _opinions(
    asked: Table, problem: Problem, scalars: dict[str, float], algo: DnnEnum | None, *, valid: bool
) -> Iterator[Opinion]:
    def opinion(info: Any = None, **values: Any) -> Opinion:
        verdict = asked.judge(problem, scalars, algo=algo, device=info)
        return Opinion(asked.name, verdict.answer, verdict.reason, verdict.source, effects_of(verdict), **values)

    if asked.name not in backend_names():
        yield opinion(note="a foreign library: its table alone was asked")
        return
    backend = get_backend(asked.name)
    missing = backend.why_unavailable()
    if missing is not None:
        yield opinion(note=f"not on this machine, so its table alone was asked ({missing})")
        return
    for info in backend.devices():
        yield opinion(info, device=info.name, engines=_engines(backend, problem, algo, info) if valid else [])


def _engines(backend: Any, problem: Problem, algo: DnnEnum | None, info: Any) -> list[tuple[str, str | None]]:
    """Return engines with their reasons to decline."""
    try:
        check_type(problem, info)
    except ArchMismatch as error:
        return [("every engine", str(error))]
    takers, others = [], []
    for engine in backend.engines():
        if not isinstance(problem, engine.problems):
            continue
        number = engine.algo(problem)
        name = engine.name if number is None else f"{engine.name} ({number})"
        reason = engine.refusal(problem, info)
        if reason is None and not engine.serves(problem, algo):
            reason = f"only when asked for as {number}" if algo is None else f"it is not {algo}"
        if reason is None:
            takers.append((engine.seconds(problem, info), name))
        else:
            others.append((name, reason))
    return [*((name, None) for _, name in sorted(takers, key=lambda taker: taker[0])), *others]


def show_why(line: str, algo: str | None, tables: Sequence[str], *, as_json: bool = False) -> None:
    """Print who takes a problem and, of those that do not, why.

    Raises
    ------
    BadParam
        No problem line, or no such table or algorithm.
    """
    problem, refusal, found = opinions(line, algo, tables)
    console = Console(highlight=False, soft_wrap=True)
    if as_json:
        said = [
            {**vars(opinion), "engines": [{"engine": e, "why_not": r} for e, r in opinion.engines]} for opinion in found
        ]
        console.out(json.dumps({"problem": str(problem), "algo": algo, "refused": refusal, "opinions": said}, indent=1))
        return
    console.print(escape(str(problem)))
    if refusal is not None:
        console.print(f"[red]portadnn takes no such problem: {escape(refusal)}[/red]")
    for opinion in found:
        head = f"[bold]{opinion.name}[/bold]{f', {escape(opinion.device)}' if opinion.device else ''}"
        why = f": {escape(opinion.reason)}" if opinion.reason else ""
        source = f" [dim]({escape(opinion.source)})[/dim]" if opinion.source else ""
        effect = f" \\[{', '.join(opinion.effect)}]" if opinion.effect else ""
        console.print(f"{head}: {coloured(opinion.answer)}{why}{effect}{source}")
        if opinion.note:
            console.print(f"  [dim]{escape(opinion.note)}[/dim]")
        for engine, reason in opinion.engines:
            mark = "[green]takes it[/green]" if reason is None else f"no: {escape(reason)}"
            console.print(f"  {escape(engine)}: {mark}")
