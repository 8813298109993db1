"""Settings in files, rules by pattern, comments, baselines."""

from __future__ import annotations

import json
from dataclasses import replace

import made_reports
import pytest
from made_reports import BROKEN, SILENT

from portadnn.errors import BadParam
from portadnn.migrate import baseline, config
from portadnn.migrate.config import Config
from portadnn.migrate.events import Place
from portadnn.migrate.selection import Comments, chosen

KNOWN = ("A01", "A02", "S01", "S11", "V10", "V11", "V50")


def section(tmp_path, text, name="pyproject.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return config.read(path)


def test_every_key_of_a_project():
    assert set(config.KEYS) == {
        "target",
        "cudnn-version",
        "fail-on",
        "incomplete",
        "select",
        "ignore",
        "exclude",
        "baseline",
    }


def test_a_project_file(tmp_path):
    found = section(
        tmp_path,
        """
[tool.portadnn.check]
target = "miopen-1"
cudnn-version = "7.6.5"
fail-on = "w!"
select = ["S", "V1*"]
ignore = ["V11"]
exclude = ["third_party/"]
baseline = "known.json"
""",
    )
    assert found == Config(
        "miopen-1",
        "7.6.5",
        "W!",
        ("S", "V1*"),
        ("V11",),
        ("third_party/",),
        tmp_path / "known.json",
        tmp_path,
    )


def test_an_own_file_wins_over_a_project_file(tmp_path):
    deep = tmp_path / "src" / "deep"
    deep.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.portadnn.check]\ntarget = 'miopen-1'\n")
    assert config.find(deep) == tmp_path / "pyproject.toml"
    (tmp_path / "src" / "pyproject.toml").write_text("[tool.other]\nx = 1\n")  # says nothing of a check
    assert config.find(deep) == tmp_path / "pyproject.toml"
    (tmp_path / ".portadnn.toml").write_text("[check]\ntarget = 'cudnn-9'\n")
    assert config.find(deep) == tmp_path / ".portadnn.toml"
    assert config.read(tmp_path / ".portadnn.toml").target == "cudnn-9"


def test_the_command_line_wins(tmp_path):
    found = section(tmp_path, "[check]\ntarget = 'miopen-1'\nfail-on = 'W'\n", ".portadnn.toml")
    assert found.with_options(target="cudnn-9", fail_on=None).target == "cudnn-9"
    assert found.with_options(target="cudnn-9", fail_on=None).fail_on == "W"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[check]\ntarget = 'miopen'\n", "did you mean miopen-1?|did you mean miopen-3?"),
        ("[check]\ntraget = 'miopen-1'\n", "did you mean target?"),
        ("[check]\nfail_on = 'E'\n", "did you mean fail-on?"),
        ("[check]\nfail-on = 'F'\n", "E, W!, W, I or never"),
        ("[check]\nselect = 'S01'\n", "a list of strings"),
        ("[check]\ncudnn-version = 8.9\n", 'cudnn-version = "8.9"'),
        ("[check]\ncudnn-version = 'eight'\n", "a version such as 8.9"),
        ("[chekc]\n", "[check]"),
        ("check = 3\n", "a table"),
        ("[check\n", "TOML"),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path, text, said):
    with pytest.raises(BadParam) as caught:
        section(tmp_path, text, ".portadnn.toml")
    assert ".portadnn.toml" in str(caught.value)
    assert any(words in str(caught.value) for words in said.split("|")), str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(BadParam, match="No such file"):
        config.read(tmp_path / "x.toml")


def test_other_tables_of_a_project_file_are_mistakes(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.portadnn.chekc]\nfail-on = 'W'\n")
    with pytest.raises(BadParam, match=r"expected \[tool.portadnn.check\], got \[tool.portadnn.chekc\]"):
        config.find(tmp_path)


def test_a_broken_project_file_is_another_tools_business(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool\n")
    assert config.find(tmp_path) != tmp_path / "pyproject.toml"


# Rules by pattern -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("select", "ignore", "left"),
    [
        ((), (), set(KNOWN)),
        (("S",), (), {"S01", "S11"}),
        (("PD-S01", "v1*"), (), {"S01", "V10", "V11"}),
        (("all",), ("A", "V?1"), {"S01", "S11", "V10", "V50"}),
        ((), ("S*",), set(KNOWN) - {"S01", "S11"}),
    ],
)
def test_patterns(select, ignore, left):
    assert chosen(select, ignore, KNOWN) == left


def test_a_pattern_that_fits_nothing():
    with pytest.raises(BadParam, match=r"select: .*'S91'; did you mean S11"):
        chosen(("S91",), (), KNOWN)


# Comments -------------------------------------------------------------------------------------------------------


def test_comments_silence_their_lines_and_rules():
    comments = Comments({"src/a.cu": {3: frozenset({"V10"}), 4: frozenset({"S01"}), 6: frozenset()}})
    assert comments.silences(SILENT)
    assert not comments.silences(BROKEN)  # another rule
    assert comments.unused() == [("src/a.cu", 4, ("S01",)), ("src/a.cu", 6, ())]
    assert Comments({"src/a.cu": {4: frozenset()}}).silences(BROKEN)


def test_a_comment_anywhere_at_the_call_counts():
    argument = replace(SILENT, place=Place("src/a.cu", 5, 25, 5, 30), event=made_reports.POOL)
    assert Comments({"src/a.cu": {4: frozenset()}}).silences(argument)  # where the call begins
    assert Comments({"src/a.cu": {5: frozenset()}}).silences(BROKEN)  # where it ends
    assert not Comments({"src/b.cu": {5: frozenset()}}).silences(BROKEN)


# Baselines ------------------------------------------------------------------------------------------------------


def moved(finding, lines):
    place = replace(finding.place, line=finding.place.line + lines, end_line=finding.place.end_line + lines)
    event = replace(finding.event, place=place, text=finding.event.text.replace(", ", ",\n      "))
    return replace(finding, place=place, event=event)


def prints(findings, root=None):
    return [mark for _, mark in baseline.fingerprints(findings, root)]


def test_fingerprints_survive_moved_lines_and_white_space():
    assert prints([SILENT, BROKEN]) == prints([moved(SILENT, 100), moved(BROKEN, 7)])


def test_fingerprints_tell_what_differs():
    other = replace(SILENT, event=replace(SILENT.event, within="backward"))
    found = [SILENT, SILENT, BROKEN, replace(SILENT, rule="V11"), other]
    assert len(set(prints(found))) == 5


def test_fingerprints_do_not_depend_on_where_a_checkout_lies(tmp_path):
    def at(folder):
        place = replace(SILENT.place, file=str(folder / "src" / "a.cu"))
        return prints([replace(SILENT, place=place)], folder)

    assert at(tmp_path / "one") == at(tmp_path / "two")


def test_a_baseline_is_written_and_read(tmp_path):
    path = tmp_path / "known.json"
    assert baseline.write(path, [SILENT, BROKEN]) == 2
    assert baseline.read(path) == set(prints([SILENT, BROKEN]))
    assert {entry["rule"] for entry in json.loads(path.read_text())["findings"]} == {"V10", "S04"}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"portadnn-baseline": 2}', '{"portadnn-baseline": 1, "findings": [3]}']
)
def test_what_is_no_baseline(tmp_path, text):
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(BadParam, match=r"known\.json"):
        baseline.read(path)
