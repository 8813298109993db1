"""docs/diff.md names what there is, and nothing else."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from typer.main import get_command

from portadnn.cli.diff.app import app
from portadnn.diff import Case, Verdict, reports
from portadnn.diff.data import DATA_MODES

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "diff.md").read_text(encoding="utf-8")
COMMANDS = get_command(app).commands
OPTIONS = {
    option
    for command in COMMANDS.values()
    for parameter in command.params
    for option in (*parameter.opts, *parameter.secondary_opts)
}
SELDOM = {
    "--backend",
    "--output",
    "--progress",
    "--no-progress",
    "--isolate",
    "--no-isolate",
    "--budget",
    "--shrink",
    "--recording",
}


def test_every_subcommand_is_shown():
    told = set(re.findall(r"portadnn diff (?:(\w+) |-- )", TEXT))
    assert set(COMMANDS) - {"run", "script"} <= told
    assert "portadnn diff -- python" in TEXT


def test_options_exist():
    pytest_options = {"--portadnn-diff-targets", "--portadnn-diff-seed", "--portadnn-diff-count"}
    told = set(re.findall(r"--[a-z][a-z-]*", TEXT))
    assert told - pytest_options - {"--why"} <= OPTIONS
    missing = {o for o in OPTIONS if o.startswith("--") and o not in told} - SELDOM
    assert not missing


def test_words_of_cases_kinds_of_data_verdicts_and_formats_are_explained():
    for field in fields(Case)[1:]:
        assert f"| `{field.name}=` |" in TEXT
    for mode in DATA_MODES:
        assert f"`{mode}`" in TEXT
    for verdict in Verdict:
        assert f"| {verdict.value} |" in TEXT
    for name in reports.FORMATS:
        assert f"- `{name}`:" in TEXT


def test_cases_are_cases():
    lines = re.findall(r"portadnn diff '(\w+_\w+ [^']+)'", TEXT) + re.findall(
        r"^(\w+_\w+ x=.*;.*)$", TEXT, re.MULTILINE
    )
    assert len(lines) == 2
    for line in lines:
        assert str(Case.parse(line)) == line


@pytest.mark.parametrize(
    "kind",
    ["input written", "outside written", "workspace overrun", "workspace size", "not repeatable", "failed call wrote"],
)
def test_promises_are_those_that_are_looked_at(kind):
    source = Path(reports.__file__).parents[1] / "running.py"
    assert f'"{kind}"' in source.read_text()
    assert kind in TEXT
