"""The record of campaigns counts what the journals hold."""

from __future__ import annotations

import json
from dataclasses import asdict

from portadnn.benchmarks import diff_record
from portadnn.diff import Difference, Judgement, Verdict


def result(case, verdict, *judgements, blamed=()):
    found = {"case": case, "verdict": verdict, "blamed": list(blamed), "reason": "", "judgements": list(judgements)}
    return {"number": 1, "result": found}


ELU = "activation_forward x=f32:2x3x5x7 mode=elu"
RELU = "activation_forward x=f32:2x3x5x7 mode=relu"


def test_counts_examples_and_failures(tmp_path):
    def judged(target, verdict, reason="", wrong=0):
        difference = asdict(Difference("tolerance", wrong=wrong, size=210))
        one = asdict(Judgement(target, Verdict(verdict), reason, "e", "SUCCESS", {}))
        return {**one, "verdict": verdict, "differences": {"y": difference}}

    known = judged("cudnn", "SKIPPED", "known difference cudnn-elu: exp(x) - 1: y: 2 of 3 are wrong")
    lines = [
        {"settings": {"seed": 1}, "targets": {"cuda": {"name": "GPU"}}},
        result(f"{ELU} ; data=exact", "PASSED", judged("cuda", "PASSED"), known),
        result(f"{ELU} ; data=nan", "PASSED", judged("cuda", "PASSED"), judged("cudnn", "UNSUPPORTED", "no")),
        # understood after the run: told as known now
        result(ELU, "FAILED", judged("cuda", "PASSED"), judged("cudnn", "FAILED", "y: wrong", 2), blamed=("cudnn",)),
        result(RELU, "FAILED", judged("cuda", "FAILED", "y: wrong", 2), blamed=("cuda",)),
    ]
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "journal.jsonl").write_text("\n".join(map(json.dumps, lines)) + '\n{"torn')
    output = tmp_path / "record.json"
    assert diff_record.main([str(folder), "--output", str(output)]) == 1
    found = json.loads(output.read_text())
    assert (found["cases"], found["problems"], found["verdicts"]) == (4, 2, {"PASSED": 3, "FAILED": 1})
    table = found["operations"]["activation_forward"]
    assert table == {"cuda": {"PASSED": 3, "FAILED": 1}, "cudnn": {"SKIPPED": 2, "UNSUPPORTED": 1}}
    assert found["known"]["cudnn-elu"]["cases"] == 2
    assert found["known"]["cudnn-elu"]["example"] == f"{ELU} ; data=exact"
    assert [one["case"] for one in found["unexplained"]] == [RELU]
    assert found["refusals"] == [["cudnn", "no", 1]]
    assert found["targets"] == {"cuda": {"name": "GPU"}} and found["settings"] == [{"seed": 1}]
