"""The reports for machines and people, on findings made by hand, and on names that attack them."""

from __future__ import annotations

import io
import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from importlib.resources import files
from types import SimpleNamespace

import json_schema
import made_reports
import pytest
import sarif_schema
from made_reports import BROKEN, HOSTILE, NOTED, SILENT
from rich.cells import cell_len
from rich.console import Console

from portadnn.migrate import report as report_module
from portadnn.migrate import reports
from portadnn.migrate.events import Place
from portadnn.migrate.reports.terminal import show
from portadnn.migrate.reports.text import clean, excerpt
from portadnn.migrate.texts import Sources

RULES = {
    "V10": ("tanh has coefficients", False),
    "S04": ("no workspace", False),
    "V57": ("other rounding", False),
    "V14": ("NaN", False),
    "A03": ("arguments <moved>", True),
}


@pytest.fixture(autouse=True)
def rules(monkeypatch):
    """Titles of rules that these tests know, whatever the rules say."""
    table = {
        name: SimpleNamespace(
            id=name, name=f"PD-{name}", title=title, per_call=per_call, why="Because.", source="us", severity="W"
        )
        for name, (title, per_call) in RULES.items()
    }
    monkeypatch.setattr(report_module, "rules", lambda: table)


def drawn(report, width=100, **how):
    stream = io.StringIO()
    show(report, Console(file=stream, width=width, color_system=None), **how)
    return stream.getvalue()


def sarif_faults(text):
    return json_schema.faults(json.loads(text), sarif_schema.LOG, sarif_schema.LOG)


def page(text):
    """Return a page's elements as (tag, attributes) and its text by tag, as a browser's parser sees them."""
    tags, texts, inside = [], {}, []

    class Parser(HTMLParser):
        def handle_starttag(self, tag, attributes):
            tags.append((tag, dict(attributes)))
            if tag not in ("meta", "input"):
                inside.append(tag)

        def handle_startendtag(self, tag, attributes):
            tags.append((tag, dict(attributes)))

        def handle_endtag(self, tag):
            assert inside.pop() == tag

        def handle_data(self, data):
            if inside:
                texts.setdefault(inside[-1], []).append(data)

    Parser(convert_charrefs=True).feed(text)
    assert not inside
    return tags, texts


# Terminal -------------------------------------------------------------------------------------------------------


def test_terminal_underlines_the_argument():
    lines = drawn(made_reports.report()).splitlines()
    at = next(i for i, line in enumerate(lines) if "CUDNN_ACTIVATION_TANH," in line)
    under = lines[at + 1]
    assert lines[at][under.index("^") : under.rindex("^") + 1] == "CUDNN_ACTIVATION_TANH"


def test_terminal_underlines_behind_tabs_and_wide_letters():
    text = '\tf("漢字", x);\n'
    found = excerpt(Sources({"a": text}), Place("a", 1, text.index("x") + 1, 1, text.index("x") + 2))
    assert found.text[found.start : found.end] == "x"
    stream = io.StringIO()
    finding = made_reports.Finding("V10", "E", "proven", Place("a", 1, 10, 1, 11), "m", "", "f")
    show(
        made_reports.Report("miopen-3", findings=[finding], sources=Sources({"a": text})),
        Console(file=stream, width=80),
    )
    shown, under = (line.split("│ ")[1] for line in stream.getvalue().splitlines() if "│" in line)
    assert cell_len(under.rstrip("^")) == cell_len(shown[: shown.index("x")])


def test_terminal_groups_by_rule_the_gravest_first():
    text = drawn(made_reports.report())
    assert text.index("E S04") < text.index("W! V10") < text.index("I V57")
    assert "possibly: the workspace is never asked for" in text
    assert "src/a.cu:2:1: set here" in text
    assert re.search(r"fix: size_t size;\n +miopenPoolingGetWorkSpaceSize", text)


def test_terminal_tells_the_effort_and_what_it_did_not_read():
    text = drawn(made_reports.report())
    assert "To MIOpen 3.6: 3 calls of 3 functions, 4 lines to touch in 1 file" in text
    assert re.search(r"move arguments +1 +33%", text)
    assert "1 call without an answer" in text and "cudnnFrobnicate" in text
    assert "src/broken.cu: no permission" in text and "src/a.cu:12: unbalanced braces" in text
    assert "3 findings: 1 E (breaks), 1 W! (silently wrong), 1 I (to know); 1 silenced." in text


def rewritten(number):
    place = [made_reports.place(n, 1, n, 5) for n in range(1, number + 1)]
    return [
        made_reports.Finding("A03", "E", "proven", p, f"moves {p.line}", "", "cudnnA", per_call=True) for p in place
    ]


def test_rewrites_are_folded_and_no_alarms():
    report = made_reports.report(findings=rewritten(40))
    text = drawn(report)
    assert "(40 calls)" in text and "moves 1" in text and "moves 2" not in text
    assert "also at src/a.cu:2, :3, :4, :5, :6, :7, :8, :9, :10, :11 and 29 more" in " ".join(text.split())
    assert "0 findings; 40 rewrites" in text
    assert "moves 33" in drawn(report, verbose=True)
    assert not report.failed and drawn(report, quiet=True) == ""


def said(line, message, fix, certainty="proven"):
    where = made_reports.place(line, 1, line, 5)
    return made_reports.Finding("S04", "E", certainty, where, message, fix, "cudnnA")


def test_findings_of_a_place_are_folded_and_a_fix_is_printed_once():
    """Callers and branches of the preprocessor give a call several messages; their fixes are much alike."""
    fix = "\n".join(f"line {i};" for i in range(6))
    findings = [
        said(1, "for one caller", fix, "possible"),
        said(1, "for another", fix),
        said(1, "for a third", fix),
        said(2, "for another", fix),
        said(3, "elsewhere", fix.replace("line 0", "other 0")),
    ]
    text = drawn(made_reports.report(findings=findings, calls=[]))
    assert "(3 times)" in text  # places
    assert text.count("for another") == 1 and "or: " in text
    assert "and 1 more for other callers or branches (--verbose)" in text
    assert text.index("for another") < text.index("for a third")  # what is proven first
    assert text.count("line 5;") == 1 and "fix: as above" in text
    assert "other 0;" in text and "... 5 more lines (--verbose)" in text
    everything = drawn(made_reports.report(findings=findings, calls=[]), verbose=True)
    assert all(one.message in everything for one in findings) and everything.count("line 5;") == 3
    tags, texts = page(reports.write(made_reports.report(findings=findings, calls=[]), "html"))
    assert sum("finding" in attributes.get("class", "").split() for _, attributes in tags) == 3
    assert "2 more, for other callers or branches" in texts["summary"]


def test_quiet_is_a_line_for_each_finding():
    lines = drawn(made_reports.report(), quiet=True).splitlines()
    assert [line.split(": ")[:3] for line in lines] == [
        ["src/a.cu:3:39", "W! V10", lines[0].split(": ")[2]],
        ["src/a.cu:4:2", "E S04", "the workspace is never asked for"],
        ["src/a.cu:4:2", "I V57", "other rounding"],
    ]


def test_verbose_lists_every_call():
    text = drawn(made_reports.report(), verbose=True)
    assert "src/a.cu:4:2 cudnnPoolingForward: needs a recipe" in text
    assert "miopenPoolingForward(...)" in text and "two more" in text
    assert "a comment that ignores S01 silences nothing" in text


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_terminal_keeps_to_its_width(width):
    found = drawn(made_reports.report(), width=width).splitlines()
    free = re.compile(r" *(src/|fix: |miopen)| +(map|move|need|no|without) .*%")  # to click on and to copy; the bar
    assert all(cell_len(line) <= max(width, 40) for line in found if not free.match(line))
    marked = [line for line in found if "│" in line]
    assert marked and all(cell_len(line) <= max(width, 40) for line in marked)


def test_nothing_found_is_said():
    assert "No calls of cuDNN or MIOpen found (3 files, 12 lines" in drawn(
        made_reports.Report("miopen-3", files=3, lines=12)
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_moves_the_cursor(name):
    report = made_reports.hostile(HOSTILE[name])
    for how in ({}, {"quiet": True}, {"verbose": True}):
        text = drawn(report, **how)
        assert not [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Cn")]
    if name == "markup":
        assert "[bold]f[/bold] [/]" in drawn(report)


def test_clean_shows_bytes_and_controls():
    assert clean("a\x1b[0m\udce9\u202e\tb\u2003c\n") == "a\\x1b[0m\\xe9\\u202e    b c\n"


# JSON -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [None, *HOSTILE])
def test_json_follows_its_schema_and_says_everything(name):
    report = made_reports.report() if name is None else made_reports.hostile(HOSTILE[name])
    schema = json.loads(files("portadnn.migrate.reports").joinpath("schema.json").read_text())
    text = reports.write(report, "json")
    assert text.isascii()
    data = json.loads(text)
    assert json_schema.faults(data, schema, schema) == []
    for told, finding in zip(data["findings"], report.findings, strict=True):
        place, where = told["place"], finding.place
        assert [told["message"], told["fix"], told["rule"]] == [finding.message, finding.fix, finding.rule]
        assert (place["file"], place["line"], place["end_column"]) == (where.file, where.line, where.end_column)
    assert [call["becomes"] for call in data["calls"]] == [call.becomes for call in report.calls]
    assert len(data["silenced"]) == len(report.silenced)


def test_json_numbers():
    data = json.loads(reports.write(made_reports.report(), "json"))
    assert data["effort"] == {
        "calls": 3,
        "functions": 3,
        "answers": {"same": 0, "moves": 1, "recipe": 1, "none": 0},
        "unrecognised": 1,
        "judged": 0,
        "lines": 4,
        "files": 1,
    }
    assert data["severities"] == {"E": 1, "W!": 1, "W": 0, "I": 1}


# SARIF ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [None, *HOSTILE])
def test_sarif_is_valid(name):
    report = made_reports.report() if name is None else made_reports.hostile(HOSTILE[name])
    text = reports.write(report, "sarif")
    assert sarif_faults(text) == []
    assert text.isascii()


def test_the_sarif_schema_finds_faults():
    data = json.loads(reports.write(made_reports.report(), "sarif"))
    data["runs"][0]["results"][0]["level"] = "fatal"
    data["runs"][0]["results"][1]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    assert len(json_schema.faults(data, sarif_schema.LOG, sarif_schema.LOG)) == 2


def test_sarif_tells_rules_levels_places_and_what_is_silenced():
    run = json.loads(reports.write(made_reports.report(), "sarif"))["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    results = run["results"]
    assert [rules[result["ruleIndex"]]["id"] for result in results] == [result["ruleId"] for result in results]
    levels = {result["ruleId"]: result["level"] for result in results}
    assert levels == {"PD-V10": "warning", "PD-S04": "error", "PD-V57": "note", "PD-V14": "warning"}
    silenced = {result["ruleId"]: result["suppressions"] for result in results}
    assert silenced == {"PD-V10": [], "PD-S04": [], "PD-V57": [], "PD-V14": [{"kind": "inSource"}]}
    broken = next(result for result in results if result["ruleId"] == "PD-S04")
    where = broken["locations"][0]["physicalLocation"]
    assert where["artifactLocation"]["uri"] == "src/a.cu"
    assert where["region"] == {"startLine": 4, "startColumn": 2, "endLine": 5, "endColumn": 41}
    assert broken["relatedLocations"][0]["message"]["text"] == "set here"
    assert broken["message"]["text"].startswith("Possibly: the workspace")
    notices = run["invocations"][0]["toolExecutionNotifications"]
    assert [notice["message"]["text"] for notice in notices] == [
        "not read: no permission",
        "not read: unbalanced braces",
    ]


def test_sarif_has_rewrites_below_and_replacements_for_alarms_whose_fix_is_the_call():
    report = made_reports.report(findings=[*rewritten(2), SILENT])
    report.calls[0] = made_reports.Call(
        SILENT.function, SILENT.event.place, SILENT.event.text, answer="moves", becomes=SILENT.fix, certain=True
    )
    run = json.loads(reports.write(report, "sarif"))["runs"][0]
    assert [result["properties"]["rewrite"] for result in run["results"]] == [False, False, True, True]
    fixes = [result["fixes"] for result in run["results"] if result["ruleId"] == "PD-V10"]
    assert [one["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"] for one in fixes[0]] == [SILENT.fix]


def test_json_has_the_calls_of_miopen():
    from portadnn import migrate

    text = "void f(miopenHandle_t* h, cudnnHandle_t* c) {\n  miopenCreate(h);\n  cudnnCreate(c);\n}\n"
    data = json.loads(reports.write(migrate.check_text(text, "a.cpp"), "json"))
    assert [(call["function"], call["place"]["line"], call["within"]) for call in data["miopen_calls"]] == [
        ("miopenCreate", 2, "f")
    ]
    assert [call["function"] for call in data["calls"]] == ["cudnnCreate"]
    assert data["effort"]["judged"] == 1


def test_sarif_offers_certain_calls_as_replacements():
    place = made_reports.TANH.place
    finding = made_reports.Finding("A03", "E", "proven", place, "moves", "", "cudnnA", made_reports.TANH, per_call=True)
    (result,) = json.loads(reports.write(made_reports.report(findings=[finding], silenced=[]), "sarif"))["runs"][0][
        "results"
    ]
    (change,) = result["fixes"][0]["artifactChanges"]
    (replacement,) = change["replacements"]
    assert replacement["insertedContent"]["text"].startswith("miopenSetActivationDescriptor(act, ")
    assert replacement["deletedRegion"] == {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 88}
    assert result["level"] == "note"


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("src/a b.cu", "src/a%20b.cu"),
        ("caf\udce9.cu", "caf%E9.cu"),
        ("x:y/a.cu", "./x%3Ay/a.cu"),
        ("/tmp/ä#?.cu", "file:///tmp/%C3%A4%23%3F.cu"),
        ("../a.cu", "../a.cu"),
    ],
)
def test_names_of_files_become_uris(file, uri):
    from portadnn.migrate.reports.as_sarif import uri as of

    assert of(file) in (uri, uri.removeprefix("./"))


# JUnit ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fail_on", ["E", "W!", "W", "I", "never"])
def test_junit_fails_where_the_check_does(fail_on):
    report = made_reports.report(fail_on=fail_on)
    root = ET.fromstring(reports.write(report, "junit"))
    failures = root.findall(".//failure")
    expected = {"E": 1, "W!": 2, "W": 2, "I": 3, "never": 0}[fail_on]
    assert len(failures) == expected == int(root.get("failures"))
    assert report.failed is bool(expected)
    assert {failure.get("type") for failure in failures} <= {"E", "W!", "I"}
    cases = root.findall(".//testcase")
    assert int(root.get("tests")) == len(cases) == sum(int(suite.get("tests")) for suite in root.findall("testsuite"))
    assert len(root.findall(".//skipped")) == 2


def test_junit_of_a_clean_file_is_a_test_that_passes():
    root = ET.fromstring(reports.write(made_reports.report(findings=[], skipped=[]), "junit"))
    (case,) = root.findall(".//testcase")
    assert case.get("classname") == "src/a.cu" and not list(case)


@pytest.mark.parametrize("name", HOSTILE)
def test_junit_is_xml(name):
    root = ET.fromstring(reports.write(made_reports.hostile(HOSTILE[name]), "junit").encode("utf-8"))
    assert root.find(".//failure").text.startswith("src/")


# Markdown -------------------------------------------------------------------------------------------------------


def test_markdown():
    text = reports.write(made_reports.report(), "md")
    assert "| maps, with arguments that move, go or come | 1 | 33% |" in text
    assert "## PD-S04: no workspace" in text
    assert "```cpp\nsize_t size;\nmiopenPoolingGetWorkSpaceSize(yDesc, &size);\n```" in text


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_has_no_foreign_markup(name):
    text = reports.write(made_reports.hostile(HOSTILE[name]), "md")
    text.encode("utf-8")
    fences = re.findall(r"(?m)^(`{3,})", text)
    outside = re.sub(r"(?ms)^(`{3,})\w*\n.*?\n\1$", "", text)
    outside = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)
    assert len(fences) % 2 == 0
    assert not re.search(r"(?<!\\)[<\[]", outside)


# HTML -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [None, *HOSTILE])
def test_html_is_one_page_that_runs_nothing_foreign(name):
    report = made_reports.report() if name is None else made_reports.hostile(HOSTILE[name])
    text = reports.write(report, "html")
    ET.fromstring(text.removeprefix("<!DOCTYPE html>"))
    tags, texts = page(text)
    assert [attributes for tag, attributes in tags if tag in ("link", "img", "iframe")] == []
    assert not [a for _, attributes in tags for a in attributes if a in ("src", "href") or a.startswith("on")]
    assert sum(tag == "script" for tag, _ in tags) == 1
    assert "url(" not in "".join(texts["style"]) and "@import" not in "".join(texts["style"])
    if name == "script":
        assert any("<script>alert(1)" in part for part in texts["p"])


def test_html_allows_only_its_own_script():
    import base64
    import hashlib

    text = reports.write(made_reports.report(), "html")
    tags, texts = page(text)
    (policy,) = (a["content"] for tag, a in tags if tag == "meta" and "http-equiv" in a)
    digest = base64.b64encode(hashlib.sha256("".join(texts["script"]).encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def test_html_shows_source_call_and_findings_side_by_side():
    root = ET.fromstring(reports.write(made_reports.report(), "html").removeprefix("<!DOCTYPE html>"))
    ns = {"h": "http://www.w3.org/1999/xhtml"}
    cards = root.findall(".//h:section[@class='call']", ns)
    assert [card.find("h:header/h:code", ns).text for card in cards] == [
        "cudnnSetActivationDescriptor",
        "cudnnPoolingForward",
        "cudnnFrobnicate",
    ]
    first = cards[0]
    left, right = first.find("h:div[@class='sides']", ns)
    assert left.find("h:mark", ns).text == "CUDNN_ACTIVATION_TANH"
    assert "".join(right.itertext()) == "miopenSetActivationDescriptor(act, miopenActivationTANH, 1.0, 1.0, 0.0)"
    assert [f.get("data-rule") for card in cards for f in card.findall("h:div[@data-rule]", ns)] == [
        "V10",
        "S04",
        "V57",
    ]
    bar = root.find(".//h:div[@class='bar']", ns)
    assert {part.get("class"): part.get("style") for part in bar} == {
        "moves": "flex: 1",
        "recipe": "flex: 1",
        "unknown": "flex: 1",
    }
    boxes = root.findall(".//h:input[@name='severity']", ns)
    assert [box.get("value") for box in boxes] == ["E", "W!", "W", "I"]


# The report itself ----------------------------------------------------------------------------------------------


def test_findings_in_order_of_gravity():
    report = made_reports.report()
    assert list(report.by_rule([SILENT, NOTED, BROKEN])) == ["S04", "V10", "V57"]
    assert report.title("V10") == "tanh has coefficients" and report.title("X99") == ""
    assert len(report.every) == 4
