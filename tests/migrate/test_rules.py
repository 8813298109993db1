"""Every rule on programs that break it and on near misses."""

from __future__ import annotations

import checking
import pytest

from portadnn.migrate.rules.table import rules

PROGRAMS = list(checking.programs())


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_program(program: checking.Program) -> None:
    found = checking.find(program.text, **program.options)
    wanted = {rule for _, rule, _ in program.expected} | {program.rule}
    told = {(f.place.line, f.rule, f.certainty) for f in found if f.rule in wanted}
    assert told == program.expected, f"line 1 is line {program.first_line + 1} of {program.rule}.txt"
    for finding in found:
        assert finding.message.strip() and finding.fix.strip()


@pytest.mark.parametrize("rule", rules())
def test_every_rule_has_programs(rule: str) -> None:
    kinds = [program.kind for program in PROGRAMS if program.rule == rule]
    assert "violates" in kinds and "harmless" in kinds
    if rule.startswith("S"):
        titles = " ".join(p.title for p in PROGRAMS if p.rule == rule and p.kind == "violates")
        for shape in ("straight line", "split over functions", "in a class"):
            assert shape in titles


def test_programs_are_named_after_rules() -> None:
    assert {program.rule for program in PROGRAMS} <= set(rules())
    for program in PROGRAMS:
        assert bool(program.expected) == (program.kind == "violates"), str(program)
