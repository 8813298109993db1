"""`portadnn explain`, and the page of all rules that it writes."""

from __future__ import annotations

import re

from typer.testing import CliRunner

from portadnn.cli import app
from portadnn.migrate.rules.table import rules


def explain(*arguments, code=0):
    result = CliRunner().invoke(app, ["explain", *arguments], env={"COLUMNS": "120"})
    assert result.exit_code == code, result.output + result.stderr
    return result.stdout if code == 0 else result.stderr


def test_a_rule_and_a_function():
    assert rules()["V10"].title in explain("PD-V10") and rules()["V10"].title in explain("v10")
    assert "miopenPoolingForward" in explain("cudnnPoolingForward")
    assert explain("V10", "--format", "md").startswith("# PD-V10: ")


def test_mistakes():
    assert "did you mean cudnnPoolingForward" in explain("cudnnPolingForward", code=1)
    assert "not both" in explain("V10", "--all", code=2) and "not both" in explain(code=2)
    assert "md is expected" in explain("V10", "--format", "json", code=2)


def test_all_rules_on_one_page():
    text = explain("--all")
    headings = re.findall(r"(?m)^### (.*)$", text)
    assert sorted(headings) == sorted(rule.name for rule in rules().values())
    assert sorted(re.findall(r"\]\(#(.*?)\)", text)) == sorted(heading.lower() for heading in headings)
