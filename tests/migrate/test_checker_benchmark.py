"""What the benchmark of `portadnn check` writes is C++ and a log, the same each time, and is read whole."""

from __future__ import annotations

import json

import pytest

from portadnn.migrate import check

inputs = pytest.importorskip("portadnn.benchmarks.sets.checker_inputs")


def test_a_tree(tmp_path):
    lines = inputs.write_tree(tmp_path / "a", 9000)
    assert 9000 <= lines < 9000 + 2 * inputs.LINES
    report = check([tmp_path / "a"])
    assert report.lines == lines and not report.skipped
    assert report.effort.unrecognised == 0 and len(report.calls) > 50
    assert {"V10", "A02"} <= {finding.rule for finding in report.findings}
    inputs.write_tree(tmp_path / "b", 9000)
    for path in (tmp_path / "a").rglob("*.c*"):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes()


def test_a_log(tmp_path):
    size = inputs.write_log(tmp_path / "calls.log", 100_000)
    assert size == (tmp_path / "calls.log").stat().st_size
    report = check([tmp_path / "calls.log"])
    assert not report.skipped
    assert {call.function: call.times for call in report.calls}.keys() == {
        "cudnnCreateTensorDescriptor",
        "cudnnActivationForward",
        "cudnnPoolingForward",
    }


def test_a_record(tmp_path, capsys):
    from portadnn.benchmarks import checker

    checker.main(["--lines", "1500", "--megabytes", "--output", str(tmp_path / "record.json")])
    record = json.loads((tmp_path / "record.json").read_text())
    (row,) = record["sources"]
    assert row["lines"] >= 1500 and row["seconds"] > 0 and row["peak_mib"] > 20 and record["logs"] == []
    assert "1.00 x" in capsys.readouterr().out
