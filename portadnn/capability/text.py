"""The capability tables side by side, as rows of features, and as Markdown, JSON and HTML."""

from __future__ import annotations

import functools
import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from .._page import grid, tables
from ..errors import BadParam, shown
from ..operation import operations as records
from .features import Feature, features
from .tables import Table, Verdict, decide, table, table_names


@dataclass(frozen=True)
class Column:
    """A table, and the kind of device for which it is read where a backend has several."""

    name: str
    table: Table
    kind: str | None = None

    def judge(self, feature: Feature) -> Verdict:
        """Say what the table says of a feature."""
        device = None if self.kind is None else {"kind": self.kind, "schedule": self.kind}
        return self.table.judge(feature.problem, feature.scalars, algo=feature.algo, device=device)


@dataclass(frozen=True)
class Row:
    """A feature and what each column says of it; limits of the operation as a whole stand in its plainest row only."""

    feature: Feature
    verdicts: tuple[Verdict, ...]


KINDS = {"opencl": ("gpu", "cpu")}  # backends whose devices differ


@functools.cache
def _of_table(name: str) -> tuple[Column, ...]:
    kinds = KINDS.get(name)
    if kinds is None:
        return (Column(name, table(name)),)
    return tuple(Column(f"{name} {kind}", table(name), kind) for kind in kinds)


def columns(names: Sequence[str] = ()) -> tuple[Column, ...]:
    """Return the columns of these tables, or of all.

    Raises
    ------
    BadParam
        There is no table of such a name.
    """
    return tuple(column for name in names or table_names() for column in _of_table(name))


def operations(patterns: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the operations whose names fit one of the patterns, or all.

    Raises
    ------
    BadParam
        A pattern fits none.
    """
    known = records()
    for pattern in patterns:
        if not any(fnmatchcase(op, pattern) for op in known):
            raise BadParam(argument="op", expected=f"one of {', '.join(known)}", got=shown(pattern))
    return tuple(op for op in known if not patterns or any(fnmatchcase(op, pattern) for pattern in patterns))


def rows(op: str, chosen: Sequence[Column]) -> tuple[Row, ...]:
    """Return the features of an operation with what the columns say of them."""
    plain = [column.judge(features(op)[0]) for column in chosen]
    found = [Row(features(op)[0], tuple(plain))]
    for feature in features(op)[1:]:
        verdicts = zip((column.judge(feature) for column in chosen), plain, strict=True)
        found.append(Row(feature, tuple(_without(verdict, known) for verdict, known in verdicts)))
    return tuple(found)


def _without(verdict: Verdict, plain: Verdict) -> Verdict:
    """Return a verdict without the limits that the plainest problem has."""
    if verdict.answer != "limits" or plain.answer != "limits":
        return verdict
    left = [rule for rule in verdict.rules if rule not in plain.rules]
    return replace(decide([(rule, "limits") for rule in left]), answer="limits") if left else Verdict("yes")


def summary(found: Sequence[Row], place: int) -> str:
    """Return what a column says of an operation in one word: of the features that portadnn has."""
    answers = {row.verdicts[place].answer for row in found if row.feature.possible}
    if found[0].verdicts[place].answer == "no":
        return "no"
    return "yes" if answers == {"yes"} else "limits"


def remarks(found: Sequence[Row], chosen: Sequence[Column]) -> Iterator[tuple[str, str, str, str]]:
    """Yield column, features, answer and reason of all that is not a plain yes; equal reasons once."""
    for place, column in enumerate(chosen):
        told: dict[tuple[str, str], list[str]] = {}
        for row in found:
            verdict = row.verdicts[place]
            if verdict.answer != "yes":
                why = f"{verdict.reason} ({verdict.source})" if verdict.source else verdict.reason
                told.setdefault((verdict.answer, why), []).append(row.feature.name)
        for (answer, why), names in told.items():
            yield column.name, ", ".join(names), answer, why


def as_json(ops: Sequence[str], chosen: Sequence[Column]) -> str:
    """Return everything as JSON: for each operation its features, and for each of those what each column says."""
    found = []
    for op in ops:
        for row in rows(op, chosen):
            feature = row.feature
            answers = {
                column.name: {
                    "answer": verdict.answer,
                    **({"reason": verdict.reason, "source": verdict.source} if verdict.answer != "yes" else {}),
                    **({"effect": effects} if (effects := effects_of(verdict)) else {}),
                }
                for column, verdict in zip(chosen, row.verdicts, strict=True)
            }
            algo = {} if feature.algo is None else {"algo": str(feature.algo)}
            found.append({"op": op, "feature": feature.name, "line": feature.line, **algo, "answers": answers})
    titles = {column.name: column.table.title for column in chosen}
    return json.dumps({"tables": titles, "features": found}, indent=1) + "\n"


def effects_of(verdict: Verdict) -> list[str]:
    """Return what happens to who asks for it anyway, where the call is not simply refused."""
    return [effect for effect in dict.fromkeys(rule.effect for rule in verdict.rules) if effect != "refused"]


def _escaped(text: str) -> str:
    """Return text without what Markdown would take for markup."""
    return "".join("\\" + c if c in "\\|*_`<>[]" else c for c in text)


def as_markdown(ops: Sequence[str], chosen: Sequence[Column]) -> str:
    """Return a matrix for each operation, and the reasons below it."""
    lines = ["# Capabilities", "", *(f"- {column.name}: {_escaped(column.table.title)}" for column in chosen), ""]
    for op in ops:
        found = rows(op, chosen)
        names = " | ".join(column.name for column in chosen)
        lines += [f"## {_escaped(op)}", "", f"| | {names} |", "|" + "---|" * (1 + len(chosen))]
        for row in found:
            answers = " | ".join(verdict.answer for verdict in row.verdicts)
            lines.append(f"| {_escaped(row.feature.name)} | {answers} |")
        told = (
            f"- {column}: {_escaped(f'{names}: {answer}: {why}')}"
            for column, names, answer, why in remarks(found, chosen)
        )
        lines += ["", *told, ""]
    return "\n".join(lines)


def as_html(ops: Sequence[str], chosen: Sequence[Column]) -> str:
    """Return one page that can be searched, which is also well-formed XML; reasons show where the pointer rests."""
    listed = "".join(
        f"<li><b>{html.escape(column.name)}</b>: {html.escape(column.table.title)}</li>" for column in chosen
    )
    sections = []
    for op in ops:
        lines = (
            f'<tr><th title="{html.escape(row.feature.line)}">{html.escape(row.feature.name)}</th>'
            + "".join(map(_cell, row.verdicts))
            + "</tr>"
            for row in rows(op, chosen)
        )
        sections.append((op, op, grid(("", *(column.name for column in chosen)), lines)))
    return tables("Capabilities", sections, before=f"<ul>{listed}</ul>")


def _cell(verdict: Verdict) -> str:
    why = "; ".join(filter(None, (verdict.reason, verdict.source)))
    title = f' title="{html.escape(why)}"' if why else ""
    return f'<td class="{verdict.answer}"{title}>{verdict.answer}</td>'
