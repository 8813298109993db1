"""Golden files: recorded here, checked there; damage of every kind is refused with its reason."""

from __future__ import annotations

import contextlib
import json
import zipfile

import numpy as np
import pytest
from lies import lying

import portadnn as dnn
import portadnn.diff.inputs
from portadnn.diff import Case, Verdict
from portadnn.diff.golden import check, read, record, write
from portadnn.diff.golden.file import KEPT, Output, sample
from portadnn.enums import DataType

LINES = (
    "convolution_forward x=f32:2x3x5x5 w=f32:4x3x3x3 y=f32:2x4x3x3/80,20,6,2 beta=1.0",
    "activation_forward x=f16:2x3x5x7 mode=tanh ; data=nan seed=3",
    "pooling_forward x=bf16:2x3x9x7 mode=max window=2,2 stride=2,2 ; data=ties",
    "softmax_forward x=f64:2x5x3x7 algorithm=log mode=channel",
    "batch_normalization_forward_training x=f32:3x4x2x4",
    "reduce_tensor a=f32:3x4x5x6 c=f32:3x1x5x1 indices=i32:3x1x5x1 operation=max ; data=exact",
    "activation_forward x=f32:8x16x16x16 mode=sigmoid",
    "activation_forward x=f32:2x3x5x7 y=f32:2x3x5x8 mode=relu ; expect=BAD_PARAM",
    "dropout_forward x=f32:1x2x3x7 dropout=0.5",
)
CASES = [Case.parse(line) for line in LINES]


@pytest.fixture
def recorded(reference):
    return record(reference, CASES)


def test_a_file_holds_what_was_recorded(recorded, tmp_path):
    path = tmp_path / "ref.pdg"
    write(recorded, path)
    again = read(path)
    assert again == recorded
    for entry, other in zip(recorded.entries, again.entries, strict=True):
        for name, output in entry.outputs.items():
            assert output.values.tobytes() == other.outputs[name].values.tobytes()
    write(recorded, tmp_path / "same.pdg")
    assert path.read_bytes() == (tmp_path / "same.pdg").read_bytes()


def test_the_same_backend_agrees_bit_by_bit(recorded, reference):
    report = check(recorded, {"reference": reference})
    assert [result.verdict for result in report.results] == [Verdict.PASSED] * len(CASES)
    assert all(d.absolute == 0 for r in report.results for j in r.judgements for d in j.differences.values())


def test_another_backend_agrees_within_both_roundings(recorded):
    with dnn.Handle("opencl", profile="") as handle:
        report = check(recorded, {"opencl": handle})
    assert [result.verdict for result in report.results] == [Verdict.PASSED] * len(CASES)


def test_a_wrong_result_is_found(recorded):
    def lie(problem, tensors, workspace, run):
        name = problem.outputs[0]
        if tensors[name].dtype.kind == "f":
            tensors[name].reshape(-1)[-1] += 1
            if problem.op == "convolution_forward":
                tensors[name][1, 2, 0, 1] += 0.001

    with lying(lie) as handle:
        report = check(recorded, {"liar": handle})
    found = {result.case.split()[0]: result for result in report.results}
    assert found["convolution_forward"].verdict is Verdict.FAILED
    assert found["convolution_forward"].blamed == ("liar",)
    assert "not as recorded" in found["convolution_forward"].reason
    assert found["softmax_forward"].verdict is Verdict.FAILED
    assert found["batch_normalization_forward_training"].verdict is Verdict.FAILED


def test_what_the_sample_leaves_out_shows_in_the_aggregates(recorded):
    large = next(i for i, case in enumerate(CASES) if "8x16x16x16" in str(case))
    size = 8 * 16 * 16 * 16
    kept = set(sample("y", size))
    outside = next(i for i in range(size) if i not in kept)

    def lie(problem, tensors, workspace, run):
        if problem.x.size == size:
            tensors["y"].reshape(-1)[outside] += 1.0

    with lying(lie) as handle:
        result = check(recorded, {"liar": handle}).results[large]
    assert result.verdict is Verdict.FAILED
    assert result.judgements[0].differences["y"].proves.startswith("sum:")


def test_a_sample_is_in_order_and_has_the_ends_of_small_tensors():
    assert sample("y", 10).tolist() == list(range(10))
    chosen = sample("y", 10**6)
    assert KEPT // 2 < chosen.size <= KEPT and chosen[-1] == 10**6 - 1 and np.all(np.diff(chosen) > 0)


def test_aggregates_are_those_of_their_names():
    array = np.array([1.0, -3.0, np.nan, np.inf, 0.5], np.float32)
    found = Output.of(array, DataType.FLOAT, "y").aggregates
    assert found == {"sum": -1.5, "absolute": 4.5, "largest": 3.0, "nan": 1, "infinite": 1}


def rewritten(path, change):
    """Write the archive again with members that a function has changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, contents in members.items():
            archive.writestr(name, contents)


def header(**values):
    def change(members):
        found = json.loads(members["header.json"])
        found.update(values)
        members["header.json"] = json.dumps(found).encode()

    return change


def flipped(members):
    outputs = bytearray(members["outputs.bin"])
    outputs[len(outputs) // 2] ^= 1
    members["outputs.bin"] = bytes(outputs)


def shortened(members):
    members["cases.jsonl"] = b"\n".join(members["cases.jsonl"].splitlines()[:-1])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (flipped, "SHA-256"),
        (shortened, "SHA-256"),
        (header(created="another day"), "SHA-256"),
        (header(format=99), "format is 99"),
        (header(formula=99), "formula is 99"),
        (header(magic="something"), "no golden file"),
        (lambda members: members.pop("outputs.bin"), "damaged"),
        (lambda members: members.update({"header.json": b"{"}), "damaged"),
    ],
)
def test_a_damaged_file_is_refused_with_the_reason(recorded, tmp_path, change, reason):
    path = tmp_path / "ref.pdg"
    write(recorded, path)
    rewritten(path, change)
    with pytest.raises(dnn.BadParam, match=reason):
        read(path)


def test_every_cut_and_every_flipped_byte_is_refused(recorded, tmp_path):
    path = tmp_path / "ref.pdg"
    write(recorded, path)
    whole = path.read_bytes()
    for cut in (0, 1, len(whole) // 3, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(dnn.BadParam, match="cannot be used"):
            read(path)
    for at in range(0, len(whole), 97):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        path.write_bytes(damaged)
        with contextlib.suppress(dnn.BadParam):
            assert read(path) == recorded  # dates and the like say nothing of the contents


def test_other_last_bits_of_computed_inputs_are_the_same_inputs(reference, monkeypatch):
    """Gradients read what the forward pass computes, in which processors and NumPys differ."""
    line = "softmax_backward y=f64:2x5x3x7 dy=f64:2x5x3x7 dx=f64:2x5x3x7"
    recorded = record(reference, [Case.parse(line)])
    exact = dnn.diff.inputs.exact
    monkeypatch.setattr(
        dnn.diff.inputs, "exact", lambda *given: {name: np.nextafter(y, 1) for name, y in exact(*given).items()}
    )
    (result,) = check(recorded, {"reference": reference}).results
    assert result.verdict is Verdict.PASSED
    assert any(d.absolute > 0 for judgement in result.judgements for d in judgement.differences.values())


def test_changed_inputs_are_no_failure_of_the_backend(recorded, reference, monkeypatch):
    monkeypatch.setattr("portadnn.diff.data.LARGEST_WHOLE", 2)
    result = next(r for r in check(recorded, {"reference": reference}).results if "data=exact" in r.case)
    assert result.verdict is Verdict.ERROR and "formula has changed" in result.reason
