"""``portadnn map``: rows of the mapping table, side by side in the terminal or as a file."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from ..mapping import Enumeration, Function, Row, Table, table
from ..mapping.text import (
    VALUE_COLUMNS,
    Item,
    as_html,
    as_json,
    as_markdown,
    changes,
    heading,
    noted,
    usage,
    value_cells,
)


class Format(str, enum.Enum):
    """What ``--format`` takes."""

    MD = "md"
    JSON = "json"
    HTML = "html"


WRITERS = {Format.MD: as_markdown, Format.JSON: as_json, Format.HTML: as_html}


def written(name: str | None, format: Format) -> str:
    """Return the items that carry a name, or all of them, as a file.

    Raises
    ------
    BadParam
        Nothing has that name.
    """
    guide = table()
    items: Sequence[Item] = (*guide.rows, *guide.enumerations) if name is None else guide.find(name)
    return WRITERS[format](guide, items)


def show(name: str) -> None:
    """Print the items that carry a name.

    Raises
    ------
    BadParam
        Nothing has that name.
    """
    guide = table()
    console = Console(highlight=False)
    for item in guide.find(name):
        if isinstance(item, Row):
            _show_row(console, guide, item)
        else:
            _show_enumeration(console, item)


def _show_row(console: Console, guide: Table, row: Row) -> None:
    title = f"{guide.titles[row.topic]}{f', row {row.guide_row} of the MIOpen porting guide' if row.guide_row else ''}"
    console.print(f"\n[bold]{escape(title)}[/bold]")
    for other in row.miopen or (None,):
        console.print(_side_by_side(guide, row, other))
        for text in changes(guide, row, other) if other else ():
            console.print(f"  {escape(text)}")
    names = ", ".join(usage(name) for name in row.portadnn)
    console.print(f"portadnn: [green]{escape(names)}[/green]" if names else "portadnn: none")
    for function in filter(None, (row.cudnn, *row.miopen)):
        console.print(f"[dim]{function.name}: {escape(function.source)}[/dim]")
    if row.source and not row.guide_row:
        console.print(f"[dim]That they correspond: {escape(row.source)}[/dim]")
    for note in row.notes:
        console.print(f"- {escape(note.argument + ': ' if note.argument else '')}{escape(noted(note))}")


def _side_by_side(guide: Table, row: Row, other: Function | None) -> Grid:
    """Draw cuDNN's parameters in order, each beside MIOpen's for the same, and then those that MIOpen adds."""
    grid = Grid()
    for library, function in (("cuDNN", row.cudnn), ("MIOpen", other)):
        facts = function.history if function else ""
        head = f"{function.name if function else f'{library} has none'}{f' ({facts})' if facts else ''}"
        grid.add_column("", justify="right", style="dim")
        grid.add_column(escape(head), overflow="fold")
        grid.add_column("", style="dim")
    ours = row.cudnn.parameters if row.cudnn else ()
    theirs = other.parameters if other else ()
    left = {p.name: (str(i), escape(p.c), p.direction) for i, p in enumerate(ours, 1)}
    right = {p.name.lower(): (str(i), escape(p.c), p.direction) for i, p in enumerate(theirs, 1)}
    differences = guide.differences(row, other) if other else None
    for parameter in ours:
        target = differences.renamed.get(parameter.name, parameter.name).lower() if differences else ""
        matched = differences is not None and parameter.name not in differences.dropped
        grid.add_row(*left[parameter.name], *(right.pop(target) if matched else ("", "", "")))
    for cells in right.values():
        grid.add_row("", "", "", *cells)
    return grid


def _show_enumeration(console: Console, enumeration: Enumeration) -> None:
    console.print(f"\n[bold]{escape(heading(enumeration))}[/bold]")
    grid = Grid()
    for column in VALUE_COLUMNS:
        grid.add_column(column, justify="right" if column == "number" else "left", overflow="fold")
    for value in enumeration.values:
        grid.add_row(*map(escape, value_cells(value)))
    console.print(grid)
    for note in enumeration.notes:
        console.print(f"- {escape(noted(note))}")
