"""Logs as a check reads them: any size, any bytes, from files and pipes."""

from __future__ import annotations

import io
import os
import sys
import threading
import tracemalloc

import pytest

from portadnn.migrate import check, streams
from portadnn.migrate.rules.engine import Judge
from portadnn.migrate.streams import lines

RECORD = """
I! CuDNN (v8905) function cudnnPoolingForward() called:
i!     handle: type=cudnnHandle_t; streamId=(nil) (defaultStream);
i!     poolingDesc: type=cudnnPoolingDescriptor_t:
i!         mode: type=cudnnPoolingMode_t; val=CUDNN_POOLING_MAX (0);
i!         maxpoolingNanOpt: type=cudnnNanPropagation_t; val=CUDNN_PROPAGATE_NAN (1);
i!         nbDims: type=int; val=2;
i!         windowDimA: type=int; val=[2,2];
i!         paddingA: type=int; val=[0,0];
i!         strideA: type=int; val=[2,2];
i!     alpha: type=CUDNN_DATA_FLOAT; val=1.000000;
i!     xData: location=dev; addr=0x7f{number:010x};
i! Time: 2026-01-01T00:00:00.000001 (0d+0h+0m+0s since start)
i! Process=100; Thread=100; GPU=0; Handle=0x55d0c0de0000; StreamId=(nil) (defaultStream).


"""


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("text", [b"", b"\n", b"a", b"a\n", b"a\nb", b"\n\na\n\n", "ä\né\n".encode(), b"\xff\n\x00"])
def test_lines_are_those_of_the_text(monkeypatch, piece, text):
    monkeypatch.setattr(streams, "PIECE", piece)
    expected = text.decode("utf-8", "replace").split("\n")
    assert list(lines(io.BytesIO(text))) == (expected[:-1] if expected[-1] == "" else expected)


@pytest.mark.parametrize("piece", [1, 5, 64])
def test_a_long_line_is_cut_and_the_next_one_whole(monkeypatch, piece):
    monkeypatch.setattr(streams, "PIECE", piece)
    monkeypatch.setattr(streams, "LONGEST", 10)
    long, *others = lines(io.BytesIO(b"x" * 1000 + b"\nshort\n" + b"last"))
    assert set(long) == {"x"} and 10 < len(long) <= 10 + max(piece, 2)
    assert others == ["short", "last"]


def log(path, calls):
    with path.open("w") as file:
        for number in range(calls):
            file.write(RECORD.format(number=number % 50))
    return path


def test_a_finding_is_told_once_with_its_number(tmp_path):
    report = check([log(tmp_path / "calls.log", 50)])
    assert report.lines == 50 * RECORD.count("\n")
    (call,) = report.calls
    assert (call.function, call.times) == ("cudnnPoolingForward", 50)
    assert report.findings
    assert len({(finding.rule, finding.message) for finding in report.findings}) == len(report.findings)
    assert {report.repeats[finding.key] for finding in report.findings} == {49}


def test_memory_does_not_grow_with_a_log(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["portadnn.migrate.logs.follow"], "_KEPT", 50)  # earlier calls that are remembered

    monkeypatch.setattr(streams, "PIECE", 4096)

    def peak(calls):
        path = log(tmp_path / f"{calls}.log", calls)
        tracemalloc.start()
        check([path])
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(10)
    assert peak(4000) < 1_000_000 < (tmp_path / "4000.log").stat().st_size


def test_a_log_through_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "".join(RECORD.format(number=number) for number in range(2000)).encode()
    writer = threading.Thread(target=pipe.write_bytes, args=(text,))
    writer.start()
    report = check([pipe])
    writer.join()
    assert report.calls[0].times == 2000


def test_a_log_that_is_cut_off(tmp_path):
    path = log(tmp_path / "calls.log", 3)
    path.write_bytes(path.read_bytes()[:-250])
    report = check([path])
    assert report.calls[0].times in (2, 3)
    assert [item.reason for item in report.skipped] == ["the record of a call is cut off"]


def test_calls_that_repeat_are_judged_a_few_times_and_counted_always(tmp_path, monkeypatch):
    def told(alike):
        monkeypatch.setattr(streams, "ALIKE", alike)
        report = check([log(tmp_path / "calls.log", 40)])
        return [(finding, report.repeats.get(finding.key)) for finding in report.findings], judged

    judged = 0

    def call(self, *what):
        nonlocal judged
        judged += 1
        original(self, *what)

    original = Judge.call
    monkeypatch.setattr(Judge, "call", call)
    every, few = told(1000), told(3)
    assert [(f.rule, f.message, times) for f, times in every[0]] == [(f.rule, f.message, times) for f, times in few[0]]
    assert every[1] == 40 and few[1] == 43
