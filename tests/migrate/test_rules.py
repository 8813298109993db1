"""Every rule on programs that break it and on near misses."""

from __future__ import annotations

import re

import checking
import pytest
from miopen_header import OF_GRAPHS

from portadnn import mapping
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


@pytest.mark.parametrize("target", ["miopen-1", "miopen-3"])
def test_corrections_of_cudnn_call_what_the_target_has(target: str) -> None:
    functions, seen = mapping.table().functions, 0
    for program in PROGRAMS:
        if program.kind == "violates":
            for finding in checking.find(program.text, **{**program.options, "target": target}):
                if finding.function.startswith("cudnn"):
                    for name in re.findall(r"\bmiopen[A-Z]\w*(?=\()", finding.fix):
                        if name in OF_GRAPHS or finding.function.startswith("cudnn_frontend"):
                            continue  # what a node is there, whatever the version
                        since = functions[name].headers[0]
                        assert target == "miopen-3" or since.startswith("1."), f"{program}: {name} is since {since}"
                        seen += 1
    assert seen > 100


def test_programs_are_named_after_rules() -> None:
    assert {program.rule for program in PROGRAMS} <= set(rules())
    for program in PROGRAMS:
        assert bool(program.expected) == (program.kind == "violates"), str(program)


def _told(rule: str, title: str) -> dict[str, str]:
    """Return the corrections by the messages that a program of a rule gets."""
    program = next(p for p in PROGRAMS if p.rule == rule and p.title == title)
    return {finding.message: finding.fix for finding in checking.find(program.text) if finding.rule == rule}


def test_a_variable_is_told_with_its_value_and_stays_in_the_correction() -> None:
    told = _told("V22", "a wrapper that others tell what to compute")
    assert [message.partition(" is asked for")[0] for message in told] == ["algo_ (CUDNN_SOFTMAX_LOG)"]
    assert all(fix.endswith("out, algo_, mode_);") for fix in told.values())


def test_a_field_is_that_of_the_nearest_declaration() -> None:
    assert list(_told("S12", "one name for results of two kinds").values()) == ["it is called fwd_algo"]
