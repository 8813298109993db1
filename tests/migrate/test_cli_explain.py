"""`portadnn explain`, and the page of all rules that it writes."""

from __future__ import annotations

import re
from pathlib import Path

from typer.testing import CliRunner

from portadnn.cli.main import app
from portadnn.migrate.rules.table import rules

RULES = Path(__file__).resolve().parents[2] / "docs" / "check-rules.md"


def explain(*arguments, code=0):
    result = CliRunner().invoke(app, ["explain", *arguments], env={"COLUMNS": "120"})
    assert result.exit_code == code, result.output + result.stderr
    return result.stdout if code == 0 else result.stderr


def test_a_rule_and_a_function():
    assert rules()["V10"].title in explain("PD-V10") and rules()["V10"].title in explain("v10")
    assert "miopenPoolingForward" in explain("cudnnPoolingForward")
    assert explain("V10", "--format", "md").startswith("# PD-V10: ")


def test_mistakes():
    assert "portadnn explain --all" in explain("nonsense", code=1)
    assert "did you mean cudnnPoolingForward" in explain("cudnnPolingForward", code=1)
    assert "not both" in explain("V10", "--all", code=2) and "not both" in explain(code=2)
    assert "md is expected" in explain("V10", "--format", "json", code=2)


def test_the_page_of_all_rules_is_current():
    assert RULES.read_text(encoding="utf-8") == explain("--all"), "portadnn explain --all > docs/check-rules.md"


def test_the_page_has_every_rule_once_and_its_links_lead_somewhere():
    text = RULES.read_text(encoding="utf-8")
    headings = re.findall(r"(?m)^### (.*)$", text)
    assert sorted(headings) == sorted(rule.name for rule in rules().values())
    assert sorted(re.findall(r"\]\(#(.*?)\)", text)) == sorted(heading.lower() for heading in headings)
