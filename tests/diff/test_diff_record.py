"""The record of campaigns counts what the journals hold."""

from __future__ import annotations

import json

from portadnn.benchmarks import diff_record


def judgement(target, verdict, reason=""):
    return {"target": target, "verdict": verdict, "engine": "e", "reason": reason}


def result(case, verdict, *judgements, blamed=()):
    return {"number": 1, "result": {"case": case, "verdict": verdict, "blamed": list(blamed), "judgements": judgements}}


def test_counts_examples_and_failures(tmp_path):
    known = judgement("cudnn", "SKIPPED", "known difference cudnn-elu: exp(x) - 1: y: 2 of 3 are wrong")
    lines = [
        {"settings": {"seed": 1}, "targets": {"cuda": {"name": "GPU"}}},
        result("a x=1 ; data=exact", "PASSED", judgement("cuda", "PASSED"), known),
        result("a x=1 ; data=nan", "PASSED", judgement("cuda", "PASSED"), judgement("cudnn", "UNSUPPORTED", "no")),
        result("b x=2", "FAILED", judgement("cuda", "FAILED", "y: wrong"), blamed=("cuda",)),
    ]
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "journal.jsonl").write_text("\n".join(map(json.dumps, lines)) + '\n{"torn')
    output = tmp_path / "record.json"
    assert diff_record.main([str(folder), "--output", str(output)]) == 1
    found = json.loads(output.read_text())
    assert (found["cases"], found["problems"], found["verdicts"]) == (3, 2, {"PASSED": 2, "FAILED": 1})
    assert found["operations"]["a"] == {"cuda": {"PASSED": 2}, "cudnn": {"SKIPPED": 1, "UNSUPPORTED": 1}}
    assert found["known"]["cudnn-elu"]["cases"] == 1 and found["known"]["cudnn-elu"]["example"] == "a x=1 ; data=exact"
    assert [one["case"] for one in found["unexplained"]] == ["b x=2"]
    assert found["refusals"] == [["cudnn", "no", 1]]
    assert found["targets"] == {"cuda": {"name": "GPU"}} and found["settings"] == [{"seed": 1}]
