"""``portadnn diff``: its options, what it prints and leaves in the folder, and its exit codes."""

from __future__ import annotations

import json
import math
import signal

import pytest
from typer.testing import CliRunner

from portadnn.cli.diff import run as cli_diff_run
from portadnn.cli.main import app
from portadnn.diff import Case
from portadnn.diff.campaign import Journal, Setup
from portadnn.diff.results import report_from_json
from portadnn.diff.verdict import Verdict

LINES = [
    "softmax_forward x=f32:2x3x4x4",
    "scale_tensor y=f32:1x2x3 alpha=2 ; data=exact",
    "activation_forward x=f32:1x2x3x4 mode=relu",
]


def invoke(*arguments, code=0):
    """Run the command and return what it printed on both streams, unfolded."""
    result = CliRunner().invoke(app, ["diff", *map(str, arguments)], env={"COLUMNS": "300"})
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


@pytest.fixture
def fragile_targets(monkeypatch):
    import fragile

    monkeypatch.setattr(cli_diff_run, "Setup", lambda *rest: Setup(*rest, opener=fragile.opened))


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("# cases\n\n" + "\n".join(LINES) + "\n")
    return path


def test_cases_from_everywhere(tmp_path, lines):
    folder = tmp_path / "out"
    text = invoke("-t", "reference", "--lines", lines, "set_tensor y=f32:1x2x4 value=3", lines, "-o", folder)
    assert "4 passed" in text
    report = report_from_json(json.loads((folder / "report.json").read_text()))
    assert [result.case for result in report.results] == ["set_tensor y=f32:1x2x4 value=3", *LINES]
    assert report.complete and list(report.targets) == ["reference"]
    assert "<testsuite" in (folder / "junit.xml").read_text() and "<html" in (folder / "report.html").read_text()
    assert "--resume" in invoke("-t", "reference", lines, "-o", folder, code=2)
    assert "cases as in" in invoke("-t", "reference", lines, "-o", folder, "--resume", code=2)


def test_a_failure_is_told(fragile_targets, tmp_path):
    text = invoke("run", *LINES, "-t", "lies,reference", "--format", "json", "--no-shrink", code=1)
    report = report_from_json(json.loads(text))
    assert [result.verdict for result in report.results] == [Verdict.PASSED, Verdict.PASSED, Verdict.FAILED]
    assert report.results[2].blamed == ("lies",)
    assert report.reproducers == {}
    text = invoke(LINES[2], "-t", "lies", "--format", "json", code=1)
    (smallest,) = report_from_json(json.loads(text)).reproducers.values()
    assert smallest.case == LINES[2] and math.prod(Case.parse(smallest.smallest).problem.y.dims) == 1
    text = invoke(LINES[2], "-t", "lies", "--no-shrink", code=1)
    assert "FAILED" in text and LINES[2] in text and "elements are wrong" in text


def test_interrupted_and_gone_on_with(tmp_path, lines, monkeypatch):
    folder, add = tmp_path / "out", Journal.add

    def interrupted(self, number, result):
        add(self, number, result)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Journal, "add", interrupted)
    command = ("run", lines, "-t", "reference", "-o", folder)
    text = invoke(*command, code=130)
    assert "give the same command with --resume" in text
    assert (folder / "journal.jsonl").read_text().count("\n") == 2
    monkeypatch.undo()
    assert "3 passed" in invoke(*command, "--resume")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nonsense"], "an operation"),
        (["-t", "abacus", LINES[0]], "abacus"),
        (["-t", "reference,reference", LINES[0]], "different ones"),
        (["--resume", LINES[0]], "--output is expected"),
        (["--time", "soon", LINES[0]], "90s, 5m or 2h"),
        (["--time", "-5m", LINES[0]], "90s, 5m or 2h"),
        (["--format", "poem", LINES[0]], "poem"),
        (["--lines", "/no/such/file"], "No such file"),
        (["--jobs", "0", LINES[0]], "--jobs"),
    ],
)
def test_what_cannot_be_right_is_refused(arguments, message):
    assert message in invoke(*arguments, code=2)


def test_bad_lines_are_told_by_number(lines):
    lines.write_text(f"{LINES[0]}\n\nsoftmax x=1\n")
    assert "3" in invoke(lines, code=2)


def test_it_names_its_commands():
    assert "run" in invoke("--help")
    assert "--scheduler" in invoke("run", "--help")
