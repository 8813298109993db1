"""Golden files and recordings with fields that cannot be: refused by file, line and field, in little memory."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib

import peak_memory
import pytest
from recorded_programs import PROGRAMS
from test_files_from_outside import LINE, command

import portadnn as dnn
from portadnn.diff import Case, golden
from portadnn.diff.golden.file import CASES, HEADER, OUTPUTS, digest_of
from portadnn.migrate import baseline
from portadnn.recording import read

# golden files


@pytest.fixture
def whole(tmp_path, reference):
    golden.write(golden.record(reference, [Case.parse(LINE)]), tmp_path / "whole.pdg")
    with zipfile.ZipFile(tmp_path / "whole.pdg") as archive:
        return {name: archive.read(name) for name in (HEADER, CASES, OUTPUTS)}


def made(path, members, cases=None, outputs=None, **header):
    """Write a golden file with another case's line, other outputs or another header, under a digest that is right."""
    members = dict(members)
    if cases is not None:
        members[CASES] = json.dumps(cases).encode() if not isinstance(cases, bytes) else cases
    members[OUTPUTS] = members[OUTPUTS] if outputs is None else outputs
    values = {**json.loads(members[HEADER]), **header}
    values["digest"] = digest_of(values, members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, contents in {**members, HEADER: json.dumps(values).encode()}.items():
            archive.writestr(name, contents, zipfile.ZIP_LZMA if name == CASES else zipfile.ZIP_STORED)
    return path


def line_with(members, output=None, **values):
    line = json.loads(members[CASES])
    line["outputs"]["y"].update(output or {})
    return {**line, **values}


@pytest.mark.parametrize(
    ("output", "values", "said"),
    [
        ({}, {"case": 12}, r"cases.jsonl, line 1: case: expected a string, got 12"),
        ({}, {"case": "nonsense"}, r"line 1: case: .* expected an operation"),
        ({}, {"outputs": None}, r"line 1: outputs: expected an object, got None"),
        ({}, {"outputs": {"z": {}}}, r"line 1: outputs: expected some of y"),
        ({}, {"status": 3}, r"line 1: status: expected a string"),
        ({}, {"message": "\ud800"}, r"line 1: message: expected a string of Unicode"),
        ({"dims": [2, 3, 5, 2**40]}, {}, r"outputs: y: dims: expected \(2, 3, 5, 7\), as the case says"),
        ({"dims": "2x3"}, {}, r"outputs: y: dims: expected a list"),
        ({"dtype": "DOUBLE"}, {}, r"outputs: y: dtype: expected FLOAT"),
        ({"at": 10**9}, {}, r"outputs: y: at: expected an integer from 0"),
        ({"bytes": True}, {}, r"outputs: y: bytes: expected an integer"),
        ({"aggregates": {"sum": 10**400}}, {}, r"y: aggregates: sum: expected a number of float64"),
        ({"aggregates": None}, {}, r"y: aggregates: expected an object"),
        ({}, {"case": LINE.replace("2x3x5x7", "2048x1024x512x7")}, r"line 1: case: expected tensors of at most"),
    ],
)
def test_a_malformed_golden_file_is_refused_by_its_field(tmp_path, whole, output, values, said):
    path = made(tmp_path / "made.pdg", whole, line_with(whole, output, **values))
    with pytest.raises(dnn.BadParam, match=said):
        golden.read(path)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"target": None}, r"header.json: target: expected an object, got None"),
        ({"target": {"name": 3}}, r"header.json: target: name: expected a string"),
        ({"environment": []}, r"header.json: environment: expected an object"),
        ({"created": {}}, r"header.json: created: expected a string"),
    ],
)
def test_a_malformed_header_is_refused_by_its_field(tmp_path, whole, header, said):
    with pytest.raises(dnn.BadParam, match=said):
        golden.read(made(tmp_path / "made.pdg", whole, **header))


def test_nested_json_is_refused(tmp_path, whole):
    deep = b'{"case":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with pytest.raises(dnn.BadParam, match=r"line 1: expected at most 64 nested"):
        golden.read(made(tmp_path / "made.pdg", whole, deep))
    (tmp_path / "run.jsonl").write_bytes(b'{"portadnn_recording": 1}\n' + deep + b"\n{}\n")
    with pytest.raises(dnn.BadParam, match=r"run.jsonl:2: expected at most 64 nested"):
        read(tmp_path / "run.jsonl")
    (tmp_path / "known.json").write_bytes(deep)
    with pytest.raises(dnn.BadParam, match=r"known.json: more"):
        baseline.read(tmp_path / "known.json")


def bomb(tmp_path, whole, kind):
    """Return a small file that asks for gigabytes."""
    if kind == "output":  # 105 numbers that unpack to 1 GB
        packer = zlib.compressobj(9)
        packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(1000)) + packer.flush()
        line = line_with(whole, {"at": 0, "bytes": len(packed)})
        return made(tmp_path / "made.pdg", whole, line, packed)
    if kind == "case":
        return made(tmp_path / "made.pdg", whole, line_with(whole, case=LINE.replace("2x3x5x7", "4000x1000x1000x7")))
    path = made(tmp_path / "made.pdg", whole)
    data = bytearray(path.read_bytes())
    if kind == "dictionary":  # 4 GB that LZMA is to take before it unpacks a byte
        at = data.index(struct.pack("<HB", 5, 0x5D)) + 3
        data[at : at + 4] = struct.pack("<I", 0xFFFFFFFF)
    else:  # cases of 1 GB
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(HEADER, whole[HEADER])
            with archive.open(zipfile.ZipInfo(CASES), "w") as file:
                file._compressor = zipfile._get_compressor(zipfile.ZIP_DEFLATED)
                file._zinfo.compress_type = zipfile.ZIP_DEFLATED
                for _ in range(1000):
                    file.write(bytes(1 << 20))
            archive.writestr(OUTPUTS, whole[OUTPUTS])
        return path
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("kind", ["output", "case", "dictionary", "cases"])
def test_a_small_golden_file_takes_little_memory(tmp_path, whole, kind):
    path = bomb(tmp_path, whole, kind)
    assert path.stat().st_size < 2 << 20
    with pytest.raises(dnn.BadParam, match="cannot be used"):
        peak_memory.forget()
        before = peak_memory.held()
        golden.read(path)
    assert peak_memory.held() - before < 100 << 20


def test_what_is_too_large_is_not_recorded_either(reference):
    with pytest.raises(dnn.BadParam, match="tensors of at most"):
        golden.record(reference, [Case.parse(LINE.replace("2x3x5x7", "2048x1024x512x7"))])


def test_a_case_beyond_the_hosts_memory_is_refused():
    huge = LINE.replace("2x3x5x7", "999999x99999x99x7")
    assert "bytes" in command("diff", "reproduce", huge, "-t", "reference", "--no-isolate")


# recordings


def recorded(tmp_path, name="training"):
    with dnn.trace(tmp_path / "run.jsonl"), dnn.Handle("reference") as handle:
        PROGRAMS[name](handle)
    return [json.loads(line) for line in (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()]


def change_tensor(facts, **values):
    next(iter(facts["tensors"].values())).update(values)


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("form", lambda f: f.update(site=3), r"site: expected \[file, line\], got 3"),
        ("form", lambda f: f.update(arguments=[]), r"arguments: expected an object"),
        ("form", lambda f: f["arguments"].update(x={"tensor": None}), r"arguments: x: tensor: expected an object"),
        ("form", lambda f: f["arguments"].update(x={"what": 1}), r"arguments: x: expected one of of, scalar"),
        ("form", lambda f: change_tensor(f, bytes=2**40), r"bytes: expected \d+, as shape and strides say"),
        ("form", lambda f: change_tensor(f, shape=[2**60]), r"shape: expected a list"),
        ("form", lambda f: change_tensor(f, dtype=7), r"dtype: expected a string"),
        ("form", lambda f: f.update(graph=7), r"graph: expected the number of a graph above"),
        ("call", lambda f: f.update(call=10**6), r"call: expected the number of a form above"),
        ("call", lambda f: f.update(at=[1.5]), r"at: expected a list"),
        ("call", lambda f: f.update(at=[0] * 9), r"at: expected \d addresses"),
        ("call", lambda f: f.update(start=10**400), r"start: expected a number of float64"),
        ("call", lambda f: f.update(seconds="x"), r"seconds: expected a number"),
        ("call", lambda f: f.update(scalars=[{"float": 3}]), r"scalars: expected a list of numbers"),
        ("call", lambda f: f.update(steps=[{}]), r"steps\[0\]: problem: expected a string"),
        ("handle", lambda f: f.update(backend=None), r"backend: expected a string"),
        ("portadnn_recording", lambda f: f.update(started="today"), r":1: started: expected a date"),
    ],
)
def test_a_malformed_recording_is_refused_by_file_line_and_field(tmp_path, kind, change, said):
    lines = recorded(tmp_path)
    number, facts = next(
        (n, f)
        for n, f in enumerate(lines, 1)
        if kind in f and (kind not in ("form", "call") or f.get("tensors") or "at" in f)
    )
    change(facts)
    (tmp_path / "made.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with pytest.raises(dnn.BadParam, match=rf"made\.jsonl:{number}: (tensors: \w+: )?{said.removeprefix(':1: ')}"):
        read(tmp_path / "made.jsonl")


def test_a_replay_needs_the_memory_before_it_begins(tmp_path):
    lines = recorded(tmp_path)
    problem = "activation_forward x=f32:4096x4096x4096x64 mode=relu"
    spec = {"dtype": "float32", "shape": [4096, 4096, 4096, 64], "strides": [2**30, 2**18, 64, 1], "bytes": 2**44}
    form = {
        "form": 10**6,
        "library": "portadnn",
        "function": "activation_forward",
        "arguments": {},
        "site": ["a.py", 1],
        "thread": 1,
        "handle": 1,
        "problem": problem,
        "tensors": {"x": spec, "y": spec},
        "scalars": ["alpha", "beta"],
    }
    call = {"call": 10**6, "start": 0, "seconds": 0, "at": [0, 2**50], "scalars": [1.0, 0.0]}
    path = tmp_path / "made.jsonl"
    path.write_text("\n".join(map(json.dumps, [lines[0], form, call])), encoding="utf-8")
    assert "the recording's tensors take" in command("replay", path, "--backend", "reference")


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("import_module", {"name": "antigravity"}),
        ("trace", {"path": "{folder}/made"}),
        ("Handle", {"backend": "reference", "find_db": "{folder}/made"}),
        ("get_version", {"x": {"descriptor": "trace", "values": {"path": "{folder}/made"}}}),
        ("get_version", {"x": {"descriptor": "Handle", "values": {"backend": "reference"}}}),
    ],
)
def test_a_replay_calls_nothing_that_cannot_be_recorded(tmp_path, function, arguments):
    said = json.loads(json.dumps(arguments).replace("{folder}", str(tmp_path)))
    form = {"form": 1, "library": "portadnn", "function": function, "arguments": said, "site": ["a.py", 1], "thread": 1}
    lines = [{"portadnn_recording": 1}, {**form, "handle": None}, {"call": 1, "start": 0, "seconds": 0}]
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    report = json.loads(command("replay", path, "--backend", "reference", "--format", "json", code=0))
    assert report["same"] and [one["kind"] for one in report["differences"]] in ([], ["left out"])
    assert not (tmp_path / "made").exists()
