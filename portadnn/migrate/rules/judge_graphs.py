"""What the rules say of the graphs of cudnn_frontend that a program makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..findings import Finding
from ..frontend.judge import Judged
from . import targets
from .table import Rule, rules


def judge_graphs(
    graphs: Iterable[Judged], target: str = "miopen-3", table: Mapping[str, Rule] | None = None
) -> list[Finding]:
    """Return what the rules say of graphs, in their order."""
    judge = targets.TARGETS[target]
    known = (rules() if table is None else table).values()
    cases = [(rule, case) for rule in known for case in rule.cases if case.graph and case.serves(judge)]
    found: dict[object, Finding] = {}
    for graph in graphs:
        for rule, case in cases:
            for hit in case.graph.look(graph) if case.graph else ():
                words = {**hit.words, "target": judge.title}
                finding = Finding(
                    rule.id,
                    case.severity,
                    hit.certainty,
                    hit.place,
                    case.message.format_map(words),
                    case.fix.format_map(words),
                    hit.function,
                    per_call=case.per_call,
                )
                found.setdefault(finding.key, finding)
    return list(found.values())
