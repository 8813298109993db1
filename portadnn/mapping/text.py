"""The mapping table as text: JSON, Markdown and HTML, and the words that describe how two signatures differ."""

from __future__ import annotations

import functools
import html
import inspect
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from .._page import grid, tables
from . import Differences, Enumeration, Function, Note, Row, Table, Value, c_declaration

Item = Row | Enumeration


def thing(name: str) -> Any:
    """Return what a dotted name of the column portadnn stands for."""
    import portadnn

    return functools.reduce(getattr, name.split("."), portadnn)


def usage(name: str) -> str:
    """Return a name of portadnn as one calls it, with the names of its arguments."""
    found = thing(name)
    if not callable(found):
        return name
    names = [p for p in inspect.signature(found).parameters.values() if p.name not in ("self", "cls")]
    return f"{name}({', '.join(f'{p.name}=' if p.kind is p.KEYWORD_ONLY else p.name for p in names)})"


def words(differences: Differences) -> list[str]:
    """Say in words what a port has to change."""
    said = [
        f"{verb} {', '.join(names)}"
        for verb, names in (
            ("drops", differences.dropped),
            ("adds", differences.added),
            ("moves", differences.reordered),
        )
        if names
    ]
    if differences.renamed:
        said.append("renames " + ", ".join(f"{a} -> {b}" for a, b in differences.renamed.items()))
    said += [f"{name}: {a} -> {b}" for name, (a, b) in differences.retyped.items()]
    return said


def changes(table: Table, row: Row, other: Function) -> list[str]:
    """Say how MIOpen's function `other` differs from the row's cuDNN function, the first and the newest signatures."""
    first = table.differences(row, other)
    if first is None or row.cudnn is None:
        return []
    said = words(first) or ["same arguments"]
    if row.cudnn.changes or other.changes:
        newest = table.differences(row, other, cudnn_parameters=row.cudnn.latest, miopen_parameters=other.latest)
        if newest is not None and newest != first:
            said.append("in the newest versions: " + ("; ".join(words(newest)) or "same arguments"))
    return said


def noted(note: Note) -> str:
    """Return a note with its source and rule."""
    return f"{note.text} [{note.source}{f'; {note.rule}' if note.rule else ''}]"


def by_topic(table: Table, items: Sequence[Item]) -> list[tuple[str, list[Row], list[Enumeration]]]:
    """Return rows and enumerations under their topics, in the table's order."""
    return [
        (
            topic,
            [item for item in items if isinstance(item, Row) and item.topic == topic],
            [item for item in items if isinstance(item, Enumeration) and item.topic == topic],
        )
        for topic in table.titles
        if any(item.topic == topic for item in items)
    ]


# JSON ---------------------------------------------------------------------------------------------


def as_json(table: Table, items: Sequence[Item]) -> str:
    """Return rows and enumerations as JSON, with what is computed from the signatures."""
    topics = [
        {
            "topic": topic,
            "title": table.titles[topic],
            "rows": [_row(table, row) for row in rows],
            "enumerations": [asdict(enumeration) for enumeration in enumerations],
        }
        for topic, rows, enumerations in by_topic(table, items)
    ]
    return json.dumps({"sources": dict(table.sources), "topics": topics}, indent=1, ensure_ascii=False)


def _row(table: Table, row: Row) -> dict[str, Any]:
    differences = [table.differences(row, other) for other in row.miopen]
    return asdict(row) | {
        "usage": [usage(name) for name in row.portadnn],
        "function_sources": {f.name: f.source for f in (row.cudnn, *row.miopen) if f},
        "differences": [asdict(d) if d is not None else None for d in differences],
    }


# Markdown -----------------------------------------------------------------------------------------


def as_markdown(table: Table, items: Sequence[Item]) -> str:
    """Return rows and enumerations as Markdown tables."""
    lines = ["# The porting guide", ""]
    for topic, rows, enumerations in by_topic(table, items):
        lines += [f"## {table.titles[topic]}", ""]
        if rows:
            lines += _grid(("cuDNN", "portadnn", "MIOpen", "What changes"), (_cells(table, row) for row in rows))
        for enumeration in enumerations:
            lines += [f"### {heading(enumeration)}", ""]
            lines += _grid(VALUE_COLUMNS, (value_cells(value) for value in enumeration.values))
            lines += [f"- {_plain(noted(note))}" for note in enumeration.notes] + [""] * bool(enumeration.notes)
    lines += ["## Sources", "", *(f"- **{name}**: {_plain(text)}" for name, text in table.sources.items()), ""]
    return "\n".join(lines)


VALUE_COLUMNS = ("cuDNN", "number", "portadnn", "MIOpen", "number", "remarks")


def heading(enumeration: Enumeration) -> str:
    """Return the names of an enumeration."""
    names = " / ".join(filter(None, (enumeration.cudnn, enumeration.portadnn, enumeration.miopen)))
    return f"{names} (guide {enumeration.section})" if enumeration.section else names


def value_cells(value: Value) -> tuple[str, ...]:
    """Return a value of an enumeration as the cells of a table; a side that lacks it has a dash."""
    versions = [f"cuDNN {value.since}" if value.since else "", f"cuDNN to {value.until}" if value.until else ""]
    versions += [f"{number} in cuDNN {version}" for version, number in value.changes]
    versions += [f"MIOpen {value.miopen_since}" if value.miopen_since else ""]
    versions += [f"MIOpen to {value.miopen_until}" if value.miopen_until else "", value.note or ""]
    numbers = ["-" if n is None else str(n) for n in (value.number, value.miopen_number)]
    return (
        value.cudnn or "-",
        numbers[0],
        value.portadnn or "-",
        value.miopen or "-",
        numbers[1],
        "; ".join(filter(None, versions)),
    )


def _cells(table: Table, row: Row) -> tuple[str, ...]:
    remarks = [text for other in row.miopen for text in _labelled(row, other, changes(table, row, other))]
    return (
        _code(row.cudnn) if row.cudnn else "-",
        "<br>".join(f"`{usage(name)}`" for name in row.portadnn) or "-",
        "<br><br>".join(map(_code, row.miopen)) or "-",
        "<br>".join(_plain(text) for text in [*remarks, *map(noted, row.notes)]),
    )


def _labelled(row: Row, other: Function, texts: Iterable[str]) -> list[str]:
    return [f"{other.name}: {text}" if len(row.miopen) > 1 else text for text in texts]


def signatures(function: Function) -> list[tuple[str, str]]:
    """Return every declaration of a function with the words that say since when."""
    told = [(function.history, function.c)]
    return told + [(f"by {c.version}", c_declaration(function, c.parameters)) for c in function.changes]


def _code(function: Function) -> str:
    return "<br>".join(f"`{text}`" + (f" ({when})" if when else "") for when, text in signatures(function))


def _plain(text: str) -> str:
    """Return text without what Markdown would take for markup."""
    return "".join("\\" + c if c in "\\|*_`<>[]" else c for c in text)


def _grid(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    cells = (" | ".join(cell.replace("|", "\\|") if "`" in cell else cell for cell in row) for row in rows)
    return [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns), *(f"| {row} |" for row in cells), ""]


# HTML ---------------------------------------------------------------------------------------------


def as_html(table: Table, items: Sequence[Item]) -> str:
    """Return rows and enumerations as one HTML page that can be searched, which is also well-formed XML."""
    sections = []
    for topic, rows, enumerations in by_topic(table, items):
        body = []
        if rows:
            lines = (_html_line(_html_row(table, row)) for row in rows)
            body.append(grid(("cuDNN", "portadnn", "MIOpen", "What changes"), lines))
        for enumeration in enumerations:
            body.append(f"<h3>{_text(heading(enumeration))}</h3>")
            values = (_html_line([_text(cell) for cell in value_cells(value)]) for value in enumeration.values)
            body.append(grid(VALUE_COLUMNS, values))
            body += [f"<p>{_text(noted(note))}</p>" for note in enumeration.notes]
        sections.append((topic, table.titles[topic], "\n".join(body)))
    sources = "".join(f"<dt>{_text(name)}</dt><dd>{_text(text)}</dd>" for name, text in table.sources.items())
    return tables("The porting guide", sections, after=f"<h2>Sources</h2><dl>{sources}</dl>")


def _text(text: str) -> str:
    return html.escape(text, quote=False)


def _html_row(table: Table, row: Row) -> list[str]:
    remarks = [text for other in row.miopen for text in _labelled(row, other, changes(table, row, other))]
    return [
        _html_code(row.cudnn) if row.cudnn else "-",
        "<br/>".join(f"<code>{_text(usage(name))}</code>" for name in row.portadnn) or "-",
        "<br/>".join(map(_html_code, row.miopen)) or "-",
        "<br/>".join(_text(text) for text in [*remarks, *map(noted, row.notes)]),
    ]


def _html_code(function: Function) -> str:
    return "<br/>".join(
        f"<code>{_text(text)}</code>{f' ({_text(when)})' if when else ''}" for when, text in signatures(function)
    )


def _html_line(cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
