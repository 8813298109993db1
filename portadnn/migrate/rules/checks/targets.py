"""Functions that a target lacks, other signatures, and problems that its capability table refuses."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .... import capability, mapping
from ....capability.groups import came_with
from ...answers import answer, hipdnn_entry
from ...names import function_offered
from ..problems import problem_of
from ..registry import check
from ..sets import gone
from ..situation import Hit, Situation

_TABLES = {"portadnn-opencl": "opencl", "portadnn-cuda": "cuda"}
_NAMED = re.compile(r"\brules.*?\b[SAV]\d\d\b|key difference")


_SPEAKS = re.compile(r"[VK]|A(?!24)|S04|S13")  # A24 is about whatever has an enumerator


@functools.cache
def _told(target: str) -> frozenset[str]:
    """Return the functions of which a rule on arguments or values knows when they matter."""
    from ..table import rules

    every = ((rule, case) for rule in rules().values() for case in rule.cases if target in case.targets)
    cases = (case for rule, case in every if _SPEAKS.match(rule.id))
    return frozenset(function for case in cases for function in case.functions)


def _remark(note: str) -> str:
    return f"// {note if note[1].isupper() else note[0].lower() + note[1:]}"


@check("since", "instead")
def lacking(situation: Situation) -> Iterator[Hit]:
    """Find functions for which nothing stands in the target."""
    row = mapping.table().by_cudnn.get(situation.event.function)
    if row is None or row.name in _told(situation.target):
        return
    there = [f for f in row.miopen if function_offered(f, situation.target)]
    later = [f for f in row.miopen if f not in there]
    if there or (later and situation.target != "miopen-1"):
        return
    if later:
        since = later[0].headers[0]
        words = {"since": f" before {since}", "instead": f"// {later[0].name}, from MIOpen {since} on"}
    else:
        note = next((note.text for note in row.notes), "nothing stands for it: leave it out, or a kernel of your own")
        words = {"since": "", "instead": _remark(note)}
    yield Hit(words=words)


@functools.cache
def _replaced() -> frozenset[str]:
    """Return the functions that are gone from cuDNN 9 and have advice of their own."""
    from ..table import rules

    cases = (case for case in rules()["F01"].cases if "cudnn-9" in case.targets and case.check is None)
    return frozenset(function for case in cases for function in case.functions)


@check("last", "instead")
def removed_in_9(situation: Situation) -> Iterator[Hit]:
    """Find functions that cuDNN 9 no longer has."""
    declared = situation.event.declared
    if declared is None or not gone(declared) or declared.name in _replaced():
        return
    instead = answer(situation.event, "cudnn-9").call
    words = {"last": f"cuDNN {declared.headers[1]}", "instead": f"{instead};" if instead else "// leave it out"}
    yield Hit(words=words)


@check("instead")
def not_in_hipdnn(situation: Situation) -> Iterator[Hit]:
    """Find functions for which hipDNN has neither a function nor nodes."""
    if hipdnn_entry(situation.event.function) is None:
        row = mapping.table().by_cudnn.get(situation.event.function)
        theirs = row.miopen[0].name if row is not None and row.miopen else ""
        yield Hit(words={"instead": f"{theirs} of MIOpen" if theirs else "leave it out, or a kernel of your own"})


@check("nodes", "calls")
def graph_on_hipdnn(situation: Situation) -> Iterator[Hit]:
    """Find functions that are nodes of a graph on hipDNN."""
    entry = hipdnn_entry(situation.event.function)
    if entry is not None and "nodes" in entry:
        nodes = entry["nodes"]
        calls = [f"graph.{node.partition(' ')[0]}(...);" for node in nodes]
        yield Hit(words={"nodes": ", ".join(nodes), "calls": "\n".join([*calls, *_remarks(entry)])})


def _remarks(entry: Mapping[str, Any]) -> list[str]:
    return [f"// {entry['note']}"] if entry.get("note") else []


@check("instead")
def not_in_portadnn(situation: Situation) -> Iterator[Hit]:
    """Find functions that portadnn does not have."""
    row = mapping.table().by_cudnn.get(situation.event.function)
    if row is not None and not row.portadnn:
        note = next((note.text for note in row.notes if "portadnn" in note.text), "nothing stands for it: leave it out")
        yield Hit(words={"instead": _remark(note)})


_FILLED = {"computeType": "CUDNN_DATA_FLOAT"}


@check("given", "version", "wanted", "corrected")
def older_signature(situation: Situation) -> Iterator[Hit]:
    """Find calls with the arguments of an older version's signature."""
    event, declared = situation.event, situation.event.declared
    if declared is None or not declared.changes or gone(declared) or event.origin != "source":
        return
    latest = declared.latest
    if len(event.arguments) == len(latest) or len(event.arguments) != len(event.parameters):
        return
    names = {p.name for p in latest}
    moved = {i: event.arguments[i].text for i, p in enumerate(event.parameters) if p.name not in names}
    texts = [
        a.text if (a := event.argument(p.name)) else moved.get(i, _FILLED.get(p.name, p.name))
        for i, p in enumerate(latest)
    ]
    words = {"given": str(len(event.arguments)), "wanted": str(len(latest)), "version": declared.changes[-1].version}
    yield Hit(words={**words, "corrected": f"{declared.name}({', '.join(' '.join(t.split()) for t in texts)});"})


# Capability tables -----------------------------------------------------------------------------------------------

_INSTEAD = {
    "dtype": "// convert the data to a type that the target computes in",
    "rank": "// describe the tensors with the dims that the target takes",
    "layout": "// copy the tensors into packed ones in NCHW first",
    "algo": "// take another algorithm, or let Find choose",
    "mode": "// take a mode that the target has",
    "groups": "// convolve group by group",
    "alpha": "// compute with alpha = 1, and scale afterwards",
    "beta": "// compute into a buffer of its own with beta = 0, and add",
}


def _may_come(target: str, op: str) -> bool:
    """Tell whether a table is to speak of an operation that it lacks: of calls that MIOpen has not at all, V49 does."""
    return not target.startswith("miopen") or bool(came_with("miopen", op))


def _by_table(situation: Situation, effect: str) -> Iterator[Hit]:
    posed = problem_of(situation)
    if posed is None:
        return
    problem, scalars, algo = posed
    target = situation.target
    table = capability.table(_TABLES.get(target, target))
    verdict = table.judge(problem, scalars, algo=None if target.startswith("miopen") else algo)
    if effect == "refused" and table.lacks(problem.op) and _may_come(target, problem.op):
        words = {"reason": verdict.reason, "problem": str(problem), "instead": f"// portadnn caps {problem.op}"}
        yield Hit(words=words)
    for rule in verdict.rules:
        if rule.effect != effect or (effect == "refused" and verdict.answer != "no"):
            continue
        if target.startswith("miopen") and _NAMED.search(rule.source):
            continue
        names = [condition.name.rpartition(".")[2] for condition in rule.conditions]
        instead = next((_INSTEAD[name] for name in names if name in _INSTEAD), f"// portadnn caps {problem.op}")
        yield Hit(words={"reason": rule.reason, "problem": str(problem), "instead": instead})


_WORDS = ("reason", "problem", "instead")


@check(*_WORDS)
def refused_by_table(situation: Situation) -> Iterator[Hit]:
    """Find problems that the target's capability table refuses."""
    yield from _by_table(situation, "refused")


@check(*_WORDS)
def wrong_by_table(situation: Situation) -> Iterator[Hit]:
    """Find problems for which the target computes something else."""
    yield from _by_table(situation, "wrong")


@check(*_WORDS)
def ignored_by_table(situation: Situation) -> Iterator[Hit]:
    """Find problems of which the target ignores a part."""
    yield from _by_table(situation, "ignored")
