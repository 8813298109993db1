"""What docs/check.md shows is what `portadnn check` does."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from typer.testing import CliRunner

from portadnn._io.toml import tomllib
from portadnn.cli.check import outputs
from portadnn.cli.main import app
from portadnn.migrate import Config, check_text
from portadnn.migrate.config import from_table
from portadnn.migrate.reports import FORMATS
from portadnn.migrate.rules.targets import TARGETS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", TEXT, re.DOTALL)


def test_the_first_example_prints_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tanh.cu").write_text(next(text for language, text in BLOCKS if language == "cpp"))
    result = CliRunner().invoke(app, ["check", "tanh.cu"], env={"COLUMNS": "100"})
    shown = BLOCKS[2][1]

    def timeless(text):
        return re.sub(r"in \d+\.\d s", "in 0.0 s", text).strip()

    assert timeless(result.stdout) == timeless(shown)


def test_every_option_is_on_the_page():
    result = CliRunner().invoke(app, ["check", "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    options = set(re.findall(r"--[a-z][a-z-]+", result.stdout)) - {"--help", "--progress"}
    assert options <= set(re.findall(r"--[a-z][a-z-]+", TEXT))


def test_every_format_and_target_is_on_the_page():
    assert all(f"`{name}`" in TEXT for name in (*FORMATS, *TARGETS))


def test_the_settings_on_the_page_are_settings():
    (text,) = (text for language, text in BLOCKS if language == "toml")
    table = tomllib.loads(text)["tool"]["portadnn"]["check"]
    config = from_table(table, ROOT / "pyproject.toml")
    assert config.fail_on == "W!"
    assert {key.replace("-", "_") for key in table} == {field.name for field in fields(Config)} - {"root"}


def test_the_comments_on_the_page_silence():
    (text,) = (text for language, text in BLOCKS if "portadnn: ignore[" in text)
    report = check_text(f"#include <cudnn.h>\nvoid f() {{\n{text}}}\n", "x.cu")
    assert not list(report.alarms)


@pytest.mark.parametrize("name", ["report.html", "results.sarif"])
def test_the_files_on_the_page_have_formats(name):
    assert name in TEXT and outputs([name], None)[0].path == name
