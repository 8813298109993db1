"""What a check takes of memory: less than 2 GB, whatever it reads."""

import json
import sys
from pathlib import Path

import peak_memory
import pytest

from portadnn.migrate import cpp, limits
from portadnn.migrate.checker import check, check_text
from portadnn.migrate.cpp import mentions, reader
from portadnn.migrate.cpp.parsing import parse
from portadnn.migrate.files import reading
from portadnn.migrate.files.discover import Found
from portadnn.migrate.files.reading import looks
from portadnn.migrate.interpret import entries
from portadnn.migrate.limits import Exhausted, Limits
from portadnn.migrate.program import Skipped, Unit

CALL = b"void f(cudnnHandle_t h) { cudnnDestroy(h); }\n"
MOST = 2 << 30
BROKEN = {
    "templates": CALL + b"void g(){" + b"a<b<c<" * 170_000,  # 3 GB to parse
    "casts": CALL + b"void g(){" + (b"(a)(b)(c)*" * 6_000)[:-8],  # which ends the parser
}


def reasons(report):
    return [one.reason for one in report.skipped]


@pytest.mark.parametrize("name", BROKEN)
def test_broken_texts_are_searched_for_calls_in_bounded_memory(tmp_path, tmp_path_factory, name):
    (tmp_path / "broken.cu").write_bytes(BROKEN[name])
    (tmp_path / "whole.cu").write_bytes(CALL)
    command = [sys.executable, "-m", "portadnn", "check", str(tmp_path), "--format", "json", "--jobs", "1"]
    out, most = peak_memory.of(command, tmp_path_factory.mktemp("peak"))
    said = json.loads(out)
    assert [(Path(one["file"]).name, one["reason"]) for one in said["skipped"]] == [("broken.cu", cpp.STARVED)]
    assert sorted(Path(call["place"]["file"]).name for call in said["calls"]) == ["broken.cu", "whole.cu"]
    assert most < MOST


def test_a_parse_is_given_up_where_memory_grows(monkeypatch):
    held = iter(range(0, 10**9, 1 << 20))
    monkeypatch.setattr(limits, "resident", lambda: next(held))
    text = CALL * 10_000
    assert parse(text, Limits(memory=100 << 20)).type == "translation_unit"
    with pytest.raises(Exhausted, match="memory"):
        parse(text, Limits(memory=10 << 20))


def test_statements_are_given_up_where_memory_grows(monkeypatch):
    held = iter(range(0, 10**9, 1 << 20))
    monkeypatch.setattr(limits, "resident", lambda: next(held))
    unit = cpp.read(b"void f() {" + b"cudnnCreate(&h);\n" * 2_000 + b"}", "a.cu", memory=10 << 20)
    assert [one.reason for one in unit.skipped] == [cpp.STARVED]
    assert len(unit.mentions) == 2_000


def test_what_starves_beside_others_is_read_again_alone(tmp_path, monkeypatch):
    def read(text, file, *, memory, **_):
        starved = "large" in file and memory < limits.MEMORY
        return Unit(file, skipped=[Skipped(file, cpp.STARVED)] if starved else [])

    monkeypatch.setattr(reading.cpp, "read", read)
    sources = [Found(f"{name}.cu", "c++", text=CALL) for name in ("large", "small")]
    found = list(looks(sources, jobs=2))
    assert sorted(one.name for one in found) == ["large.cu", "small.cu"]
    assert not any(one.unit.skipped for one in found)


@pytest.mark.parametrize("jobs", [1, 2])
def test_sources_for_which_no_memory_is_left_are_named(tmp_path, monkeypatch, jobs):
    monkeypatch.setattr(reading, "KEPT", -1)
    monkeypatch.setattr(reading, "BATCH", 1)
    for number in range(40):
        Path(tmp_path, f"{number}.cu").write_bytes(CALL)
    report = check([tmp_path], jobs=jobs)
    unread = {one.file for one in report.skipped if one.reason == "not read: the others take all the memory"}
    assert unread and report.missing
    assert len(unread) + len({call.place.file for call in report.calls}) == 40


def test_functions_for_which_no_memory_is_left_are_named(monkeypatch):
    monkeypatch.setattr(entries, "FOLLOWING", -1)
    report = check_text(CALL)
    assert reasons(report) == ["f: too little memory is left to follow it"]
    assert report.coverage.by_name == len(report.calls) == 1


def test_calls_of_a_file_are_told_up_to_a_number(monkeypatch):
    monkeypatch.setattr(mentions, "MOST", 3)
    monkeypatch.setattr(reader, "MOST", 3)
    unit = cpp.read(b"void f() {" + b"cudnnCreate(&h);\n" * 5 + b"}", "a.cu")
    assert len(unit.mentions) == 3
    assert [one.reason for one in unit.skipped] == ["3 calls or more: the others are not told of"]


def test_what_is_nested_too_deeply_to_be_handed_over_is_told(tmp_path, monkeypatch):
    """A result that pickle does not take; that of another source of the same batch is kept."""
    look = reading.look

    def nested(source, *rest):
        found = look(source, *rest)
        if source.shown.endswith("deep.cu"):
            for _ in range(100_000):
                found.skipped = [found.skipped]
        return found

    monkeypatch.setattr(reading, "look", nested)
    monkeypatch.setattr(reading, "SMALL", 0)
    (tmp_path / "deep.cu").write_bytes(CALL)
    (tmp_path / "whole.cu").write_bytes(CALL)
    report = check([tmp_path], jobs=1)
    assert [Path(call.place.file).name for call in report.calls] == ["whole.cu"]
    assert [(Path(one.file).name, "too deeply" in one.reason) for one in report.skipped] == [("deep.cu", True)]
