"""Reports of a run, each read back as its readers would, from a report whose facts are known."""

from __future__ import annotations

import json
import random
import shlex
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import json_schema
import made_report as made
import pytest

from portadnn.diff import reports
from portadnn.diff.reports import summary
from portadnn.diff.reports.drawing import histogram, strip
from portadnn.diff.reports.html_failures import axis_name
from portadnn.diff.reports.timing import duration
from portadnn.diff.results import report_from_json
from portadnn.diff.verdict import CaseResult, Verdict
from portadnn.errors import BadParam

ROOT = Path(__file__).resolve().parents[2]
HTML = "{http://www.w3.org/1999/xhtml}"
HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x>',
    "a\x1b[31mb\x00\udcff",
    "[red]x[/nope]",
    "]]>&amp;",
    "a\nb",
]


def page(report):
    return ET.fromstring(reports.write(report, "html").removeprefix("<!DOCTYPE html>"))


def texts(element):
    return " ".join(" ".join(element.itertext()).split())


# Writing


@pytest.mark.parametrize("suffix", [".html", ".json", ".xml", ".txt"])
def test_a_file_is_what_write_returns(tmp_path, suffix):
    path = tmp_path / f"report{suffix}"
    reports.save(made.report(), path)
    assert path.read_text(encoding="utf-8") == reports.write(made.report(), reports.SUFFIXES[suffix])
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "report.json"
    path.write_text("old")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        reports.save(made.report(), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_unknown_formats_are_told(tmp_path):
    with pytest.raises(BadParam, match=r"format.*terminal, json, junit, html.*'pdf'"):
        reports.write(made.report(), "pdf")
    with pytest.raises(BadParam, match=r"\.html.*'report\.pdf'"):
        reports.save(made.report(), tmp_path / "report.pdf")


@pytest.mark.parametrize("format", reports.FORMATS)
@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_drivers_say_breaks_a_report(format, text):
    written = reports.write(made.hostile(text), format)
    assert "\x1b" not in written
    assert "\x00" not in written
    written.encode("utf-8")
    if format == "json":
        assert json.loads(written)["results"][3]["blamed"] == [text]
    if format == "junit":
        ET.fromstring(written.encode())
    if format == "html":
        root = ET.fromstring(written.removeprefix("<!DOCTYPE html>"))
        assert [s.get("type") for s in root.iter(f"{HTML}script")] == ["application/json", None]
        assert not list(root.iter(f"{HTML}img"))


@pytest.mark.parametrize("format", reports.FORMATS)
def test_a_run_of_nothing_has_a_report(format):
    assert reports.write(made.report(results=[], targets={}, reproducers={}), format)


# What they tell


def test_reasons_that_differ_in_numbers_are_one():
    (reason,) = summary.reasons(made.report(), Verdict.UNSUPPORTED)
    assert (reason.text, list(reason.targets)) == ("windows of 17 elements; at most 16", ["opencl"])
    assert list(reason.cases) == [f"{made.POOL} ; seed={i}" for i in (1, 2)]


def test_the_command_runs_the_smallest_case_on_the_targets_that_ran_it():
    report = made.report()
    failed = next(result for result in report.results if result.case == made.BAD)
    words = shlex.split(summary.command(report, failed))
    assert words == ["portadnn", "diff", "--targets", "cuda,opencl", made.SMALLEST]


def test_failures_are_told_by_kinds_first():
    report = made.report()
    copy = next(result for result in report.results if result.case == made.BAD)
    report.results = [
        *(
            CaseResult(f"{made.POOL} ; data=nan seed={i}", copy.verdict, copy.blamed, "", copy.judgements)
            for i in range(9)
        ),
        *report.results,
    ]
    first = [result.case for result in summary.ranked(report)][:3]
    assert {made.BAD, made.GAPS, made.CRASH} == set(first)


def test_the_terminal_has_counts_failures_and_reasons():
    text = reports.write(made.report(), "terminal")
    rows = {words[1]: words[3:-1] for words in (line.split() for line in text.splitlines()) if words[:1] == ["│"]}
    assert rows["activation_forward"] == ["3✓", "1✗", "│", "4✓", "1!"]
    assert rows["pooling_forward"] == ["1✓", "│", "1✗", "1?", "2–", "1○"]
    assert "FAILED opencl (y: NaN)\n  " + made.BAD in text
    assert "FAILED cuda (outside written)" in text
    assert "ERROR opencl (CRASHED)" in text
    assert f"reproduce: portadnn diff --targets cuda,opencl '{made.SMALLEST}'" in text
    assert "     1 opencl: y: all zeros" in text
    assert "     2 opencl: windows of 17 elements; at most 16" in text
    assert "3 of 10 cases failed. 3 passed, 2 failed, 1 skipped, 1 mistrusted, 2 unsupported, 1 error; 12.5 s." in text


def test_the_terminal_sums_up_what_it_does_not_show():
    report = made.report()
    bad = next(result for result in report.results if result.case == made.BAD)
    report.results += [
        CaseResult(f"{made.BAD}{i}", bad.verdict, bad.blamed, bad.reason, bad.judgements) for i in range(40)
    ]
    text = reports.write(report, "terminal")
    assert text.count("reproduce:") == 20
    assert "and 23 failures more:" in text
    assert "23 of pooling_forward on opencl: y: NaN" in text


# JSON


def test_json_reads_back_and_fits_its_schema():
    report = made.report(seconds=1e-5)
    values = json.loads(reports.write(report, "json"))
    schema = json.loads((ROOT / "portadnn/diff/reports/schema.json").read_text())
    assert json_schema.faults(values, schema, schema) == []
    again = report_from_json(values)
    assert again.counts == report.counts
    assert again.results[3].judgements[1].differences["y"].profile == made.WRONG.profile
    assert again.reproducers == report.reproducers


def test_the_schema_refuses_what_is_none():
    values = json.loads(reports.write(made.report(), "json"))
    values["results"][0]["verdict"] = "FINE"
    values["more"] = 1
    del values["counts"]
    schema = json.loads((ROOT / "portadnn/diff/reports/schema.json").read_text())
    assert len(json_schema.faults(values, schema, schema)) == 3


def test_json_has_a_line_for_each_result():
    lines = reports.write(made.report(), "json").splitlines()
    assert sum(line.startswith('  {"case"') for line in lines) == 10


# JUnit


def test_junit_has_a_suite_for_each_operation_and_a_test_for_each_case():
    root = ET.fromstring(reports.write(made.report(), "junit"))
    assert {s.get("name"): s.get("tests") for s in root} == {"activation_forward": "5", "pooling_forward": "5"}
    assert {key: root.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "10",
        "failures": "2",
        "errors": "1",
        "skipped": "4",
    }
    case = next(c for c in root.iter("testcase") if c.get("name") == made.BAD)
    assert (
        case.find("failure")
        .get("message")
        .startswith("opencl (y: NaN): opencl: y: 4 of 2400 elements are wrong by NaN")
    )
    assert made.SMALLEST in case.find("failure").text
    assert made.SCRIPT.rstrip() in case.find("failure").text


# HTML


def test_the_page_needs_nothing_else():
    text = reports.write(made.report(), "html")
    root = ET.fromstring(text.removeprefix("<!DOCTYPE html>"))
    for element in root.iter():
        assert not {"src", "srcset", "onclick", "onload"} & set(element.keys())
        assert element.get("href", "#").startswith("#")
    assert "http://" not in text.replace("http://www.w3.org/1999/xhtml", "")
    assert "https://" not in text
    policy = next(m.get("content") for m in root.iter(f"{HTML}meta") if m.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    HTMLParser().feed(text)


def test_the_matrix_says_in_words_what_it_shows_in_colours():
    cells = {b.get("aria-label"): b for b in page(made.report()).iter(f"{HTML}button") if b.get("data-op")}
    assert list(cells) == [
        "activation_forward on cuda: 1 failed, 3 passed",
        "activation_forward on opencl: 1 error, 4 passed",
        "pooling_forward on cuda: 1 passed",
        "pooling_forward on opencl: 1 failed, 1 mistrusted, 2 unsupported, 1 skipped",
    ]
    assert [b.get("class") for b in cells.values()] == ["fill FAILED", "fill ERROR", "fill PASSED", "fill FAILED"]


def test_a_failure_has_measures_pictures_and_reproducer():
    root = page(made.report())
    cards = {texts(c.find(f"{HTML}summary")): c for c in root.iter(f"{HTML}details") if c.get("id")}
    card = next(card for head, card in cards.items() if made.BAD in head)
    rows = {texts(row[0]): row for row in card.iter(f"{HTML}tr")}
    deciding = [head for head, row in rows.items() if row.get("class") == "deciding"]
    assert deciding == ["worst"]
    assert texts(rows["worst"][1]) == "got 0.0, expected nan at (1, 2, 3, 99) decided: NaN"
    assert texts(rows["ulp"][1]) == "7.5"
    assert texts(rows["wrong"][1]) == "4 of 2,400"
    assert [texts(rows[axis]) for axis in "ncpq"] == [
        f"{axis} {size} axis {axis}, {size} long{parts}: worst at {place}, beyond any measure at {place}"
        for axis, size, parts, place in (
            ("n", 2, "", "1"),
            ("c", 3, "", "2"),
            ("p", 4, "", "3"),
            ("q", 100, ", in 64 parts", "98 to 99"),
        )
    ]
    (copied, script) = (texts(pre) for pre in card.iter(f"{HTML}pre"))
    assert shlex.split(copied)[-1] == made.SMALLEST
    assert script == " ".join(made.SCRIPT.split())


def test_the_data_has_every_case():
    report = made.report()
    root = page(report)
    data = json.loads(next(s.text for s in root.iter(f"{HTML}script") if s.get("id") == "data"))
    cards = {c.get("id"): texts(c.find(f"{HTML}summary")) for c in root.iter(f"{HTML}details") if c.get("id")}
    found = {}
    for op, lines in data["cases"].items():
        for codes, rest, card in (line.split("\t") for line in lines):
            verdicts = dict(zip(data["targets"], codes, strict=True))
            found[f"{op} {rest}"] = {t: data["codes"][c] for t, c in verdicts.items() if c != "-"}
            assert (f"{op} {rest}" in cards[f"f{card}"]) if card else True
    assert found == {r.case: {j.target: j.verdict.value for j in r.judgements} for r in report.results}


def test_a_page_of_twenty_thousand_cases_stays_small():
    rng = random.Random(0)
    report = made.report()
    passed, failed = report.results[0].judgements, report.results[3].judgements
    for i in range(20_000):
        shape = f"{rng.randrange(9)}x64x{i}x7"
        line = f"convolution_forward x=f32:{shape} w=f32:64x64x3x3 y=f32:2x64x5x5 padding=1,1 ; seed={i}"
        verdict = Verdict.FAILED if i % 20 == 0 else Verdict.PASSED
        report.results.append(
            CaseResult(line, verdict, ("opencl",) * (i % 20 == 0), "", failed if i % 20 == 0 else passed)
        )
    text = reports.write(report, "html")
    assert len(text.encode()) < 5_000_000
    root = ET.fromstring(text.removeprefix("<!DOCTYPE html>"))
    assert sum(1 for _ in root.iter()) < 60_000
    shown = sum(1 for c in root.iter(f"{HTML}details") if c.get("id"))
    assert 100 < shown < 1003
    data = json.loads(next(s.text for s in root.iter(f"{HTML}script") if s.get("id") == "data"))
    assert sum(map(len, data["cases"].values())) + data["left_out"] == 20_010


def test_pictures_say_what_they_show():
    assert 'd="M0 0h2v14h-2z"' in strip([0.2, 0.4, 3.0], 3, "w")
    assert "worst at 2, 3 of what is allowed" in strip([0.2, 0.4, 3.0], 3, "w")
    assert "12 0 to 0.5, 3 4 to 16" in histogram([12, 0, 0, 0, 3, 0, 0, 0])


@pytest.mark.parametrize(
    ("op", "tensor", "rank", "letters"),
    [
        ("convolution_forward", "y", 4, "nkpq"),
        ("convolution_forward", "y", 5, "nkopq"),
        ("convolution_backward_filter", "dw", 5, "kctrs"),
        ("convolution_backward_data", "dx", 4, "nchw"),
        ("pooling_forward", "y", 5, "ncopq"),
        ("softmax_forward", "y", 4, "nchw"),
        ("rnn_backward_data", "dhx", 3, "layernh"),
        ("", "y", 4, "nchw"),
        ("set_tensor", "y", 3, "012"),
    ],
)
def test_axes_have_the_letters_of_the_house(op, tensor, rank, letters):
    assert "".join(axis_name(op, tensor, rank, axis) for axis in range(rank)) == letters


# Times


def test_times_become_rates():
    report = made.report(seconds=1e-6)
    nbytes, flops = 2 * 4 * 210, 210  # x read and y written; an operation for each element
    first, second = json.loads(reports.write(report, "json"))["performance"][:2]
    assert (first["target"], first["bytes"], first["flops"]) == ("cuda", nbytes, flops)
    assert first["gigabytes_per_second"] == pytest.approx(nbytes / 1e-6 / 1e9)
    assert second["teraflops_per_second"] == pytest.approx(flops / 2e-6 / 1e12)
    text = reports.write(report, "terminal")
    assert text.count(f"{nbytes / 1e3:.4g}") == 3
    html = texts(page(report))
    assert "activation_forward cuda 3 1 us 1.68 1.68" in html
    assert 'id="times"' not in reports.write(made.report(), "html")


@pytest.mark.parametrize(("seconds", "text"), [(2.5e-6, "2.5 us"), (0.0123, "12.3 ms"), (75.0, "75 s"), (0.0, "0 us")])
def test_durations_have_units(seconds, text):
    assert duration(seconds) == text
