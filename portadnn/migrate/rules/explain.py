"""The pages behind ``portadnn explain``: a rule, or a function of cuDNN or MIOpen."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from ... import mapping
from ...errors import BadParam
from ...mapping.text import changes, noted, signatures, usage
from ..answers import Answered, answer
from ..events import Argument, Event, Place
from ..findings import ANSWERS, SEVERITIES
from ..model.state import State
from ..values import UNKNOWN
from .engine import fill
from .situation import Situation
from .table import Case, Rule, placeholders, rules
from .targets import DEFAULT, TARGETS

LIBRARIES = {"cudnn": "cuDNN", "miopen": "MIOpen"}
_MOST_NAMES = 12


@dataclass(frozen=True)
class RulePage:
    """A rule, as users read it.

    Attributes
    ----------
    name, title : str
        ``"PD-S01"`` and the mistake.
    severity : str
        The letters and what they mean.
    why, source : str
        What comes of it, and who says so.
    applies : tuple of (str, tuple of str)
        Whose code, going where, in which versions; and the functions.
    before, after : str
        An example: what breaks the rule, and what to write instead.
    per_call : bool
        Whether every call of its functions has to be rewritten.
    """

    name: str
    title: str
    severity: str
    why: str
    source: str
    applies: tuple[tuple[str, tuple[str, ...]], ...]
    before: str
    after: str
    per_call: bool


@dataclass(frozen=True)
class FunctionPage:
    """A function, as users read it.

    Attributes
    ----------
    name, library : str
        The name in C, and ``"cuDNN"`` or ``"MIOpen"``.
    signatures : tuple of (str, str)
        Since when, and the declaration.
    answers : tuple of (str, Answered)
        Targets by title, and what becomes of a call there; of cuDNN's functions.
    counterparts : tuple of (str, tuple of str)
        The other library's functions by their declarations, and how the arguments differ.
    portadnn : tuple of str
        What portadnn calls it.
    notes : tuple of str
        What else the mapping table says.
    rules : tuple of (str, str, str)
        Names, severities and titles of the rules that look at its calls.
    """

    name: str
    library: str
    signatures: tuple[tuple[str, str], ...]
    answers: tuple[tuple[str, Answered], ...]
    counterparts: tuple[tuple[str, tuple[str, ...]], ...]
    portadnn: tuple[str, ...]
    notes: tuple[str, ...]
    rules: tuple[tuple[str, str, str], ...]


def page(name: str) -> RulePage | FunctionPage:
    """Return the page of a rule (``PD-S01``, ``S01``) or a function (``cudnnPoolingForward``).

    Raises
    ------
    BadParam
        There is no such rule or function; the message suggests near ones.
    """
    wanted = name.strip().removesuffix("()")
    rule = rules().get(wanted.upper().removeprefix("PD-"))
    if rule is not None:
        return _rule_page(rule)
    functions = {function.lower(): function for function in mapping.table().functions}
    if wanted.lower() in functions:
        return _function_page(mapping.table().functions[functions[wanted.lower()]])
    known = [*(one.name for one in rules().values()), *functions.values()]
    near = difflib.get_close_matches(wanted, known, 3, 0.6)
    others = "; portadnn explain --all prints the rules, and portadnn map explains types and values"
    hint = f"; did you mean {', '.join(near)}?" if near else others
    raise BadParam(
        argument="name", expected="a rule or a function of cuDNN or MIOpen", got=f"{name!r}{hint}", call="explain"
    )


# Rules -----------------------------------------------------------------------------------------------------------


def _rule_page(rule: Rule) -> RulePage:
    before, after = (rule.before, rule.after) if rule.before else _example(rule)
    return RulePage(
        rule.name,
        rule.title,
        f"{rule.severity}: {SEVERITIES[rule.severity]}",
        rule.why.strip(),
        rule.source,
        tuple(_applies(rule.cases)),
        before.strip(),
        after.strip(),
        rule.per_call,
    )


def _applies(cases: Sequence[Case]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield where cases apply, those with the same words together."""
    found: dict[str, dict[str, None]] = {}
    for case in cases:
        where = f"{LIBRARIES[case.library]} code{_between(case.since, case.until)}"
        to = " or ".join(TARGETS[target].title for target in case.targets)
        words = f"{where}, going to {to}{_between(case.target_since, case.target_until)}"
        found.setdefault(words, {}).update(dict.fromkeys(case.functions))
    for words, functions in found.items():
        yield words, tuple(functions) or ("what no call shows",)


def _between(since: str | None, until: str | None) -> str:
    words = [f" from {since} on" if since else "", f" before {until}" if until else ""]
    return "".join(words)


def _example(rule: Rule) -> tuple[str, str]:
    """Make an example by the parameters' names: of a case's fix, else of what becomes of a call."""
    known = [case for case in rule.cases if case.functions and case.functions[0] in mapping.table().functions]
    for case in known:
        event = sample(case.functions[0])
        if not (case.check and set(placeholders(case.fix)) & set(case.check.words)):
            words = {"target": TARGETS[case.targets[0]].title, "function": event.function, "call": event.text}
            return f"{event.text};", fill(case.fix, Situation(event, State(), {}, case.targets[0]), words)
    for case in known:
        event = sample(case.functions[0])
        lines = answer(event, case.targets[0]).text if case.library == "cudnn" else ""
        if lines:
            return f"{event.text};", lines
    return "", ""


def sample(function: str) -> Event:
    """Return a call of a function with its parameters' names as arguments, by its newest signature."""
    declared = mapping.table().functions[function]
    arguments = tuple(Argument(parameter.name, UNKNOWN) for parameter in declared.latest)
    text = f"{function}({', '.join(argument.text for argument in arguments)})"
    return Event(0, function, arguments, Place("", 0), text)


# Functions -------------------------------------------------------------------------------------------------------


def _function_page(function: mapping.Function) -> FunctionPage:
    table = mapping.table()
    rows = [row for row in table.rows if row.cudnn is function or function in row.miopen]
    event = sample(function.name)
    answers: dict[Answered, list[str]] = {}
    for target in DEFAULT if function.library == "cudnn" else ():
        answers.setdefault(answer(event, target), []).append(TARGETS[target].title)
    return FunctionPage(
        function.name,
        LIBRARIES[function.library],
        tuple(signatures(function)),
        tuple((" and ".join(titles), found) for found, titles in answers.items()),
        tuple(pair for row in rows for pair in _counterparts(table, row, function)),
        tuple(dict.fromkeys(usage(name) for row in rows for name in row.portadnn)),
        tuple(dict.fromkeys(noted(note) for row in rows for note in row.notes)),
        tuple(_rules_of(function.name)),
    )


def _counterparts(
    table: mapping.Table, row: mapping.Row, function: mapping.Function
) -> Iterator[tuple[str, tuple[str, ...]]]:
    if row.cudnn is function:
        for other in row.miopen:
            yield other.c, tuple(changes(table, row, other))
    elif row.cudnn is not None:
        yield row.cudnn.c, tuple(changes(table, row, function))


def _rules_of(function: str) -> Iterator[tuple[str, str, str]]:
    for rule in rules().values():
        severities = dict.fromkeys(case.severity for case in rule.cases if function in case.functions)
        if severities:
            yield rule.name, "/".join(severities), rule.title


# Texts -----------------------------------------------------------------------------------------------------------


def as_markdown(shown: RulePage | FunctionPage) -> str:
    """Return a page as Markdown."""
    sections = _rule_sections(shown) if isinstance(shown, RulePage) else _function_sections(shown)
    title = f"{shown.name}: {shown.title}" if isinstance(shown, RulePage) else f"{shown.name} ({shown.library})"
    lines = [f"# {title}", ""]
    for heading, texts, code in sections:
        lines += [f"## {heading}", ""]
        lines += ["```c", *texts, "```", ""] if code else [*(f"- {text}" for text in texts), ""]
        if not code and len(texts) == 1:
            lines[-2] = texts[0]
    return "\n".join(lines)


def show(shown: RulePage | FunctionPage, console: Console | None = None) -> None:
    """Print a page in the terminal."""
    console = console or Console(highlight=False)
    title = f"{shown.name}  {shown.title}" if isinstance(shown, RulePage) else f"{shown.name}  {shown.library}"
    console.print(f"[bold]{escape(title)}[/bold]")
    sections = _rule_sections(shown) if isinstance(shown, RulePage) else _function_sections(shown)
    for heading, texts, code in sections:
        console.print(f"\n[bold cyan]{heading}[/bold cyan]")
        for text in texts:
            if code:
                console.print(f"  {escape(text)}", style="green", soft_wrap=True)
            else:
                console.print(Padding(escape(text), (0, 0, 0, 2)))


Section = tuple[str, Sequence[str], bool]  # its heading, its texts, and whether they are code


_REWRITTEN = "every such call has to be rewritten: this is work to do, no alarm"


def _rule_sections(shown: RulePage) -> Iterator[Section]:
    yield "Severity", [shown.severity], False
    yield "Why", [shown.why], False
    yield "Where", [f"{words}: {_listed(functions)}" for words, functions in shown.applies], False
    if shown.per_call:
        told = (
            "it is told of every such call, among the rewrites; nothing has to be rewritten for it"
            if shown.severity.startswith("I:")
            else _REWRITTEN
        )
        yield "How often", [told], False
    if shown.before:
        yield "Instead of", shown.before.split("\n"), True
    if shown.after:
        yield "Write", shown.after.split("\n"), True
    yield "Source", [shown.source], False


def _listed(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMES - 2])} and {len(names) - _MOST_NAMES + 2} more"


def _function_sections(shown: FunctionPage) -> Iterator[Section]:
    yield (
        "Signature",
        [f"{declaration};{f'  // {when}' if when else ''}" for when, declaration in shown.signatures],
        True,
    )
    for title, found in shown.answers:
        yield f"On {title}", [f"{ANSWERS[found.kind]}{f'. {found.note}' if found.note else ''}"], False
        if found.text:
            yield f"The call on {title}", found.text.split("\n"), True
    for declaration, differences in shown.counterparts:
        yield "Corresponds to", [f"{declaration};"], True
        if differences:
            yield "What changes", differences, False
    if shown.portadnn:
        yield "In portadnn", shown.portadnn, True
    if shown.notes:
        yield "Notes", shown.notes, False
    if shown.rules:
        yield "Rules", [f"{name} ({severity}): {title}" for name, severity, title in shown.rules], False
