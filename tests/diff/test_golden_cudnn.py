"""What NVIDIA's own library computed on an H200, held against portadnn on this machine; no GPU is needed.

``cudnn-nvidia-h200.pdg`` was written there by ``portadnn diff record --backend cudnn``. Known differences of that
library (portadnn/diff/known.toml) are told as such; they may not be what most cases come to.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from helper import Target, targets
from vendor import NO_CALL

from portadnn.diff import Verdict
from portadnn.diff.golden import check, read
from portadnn.problem import every_problem

FILE = Path(__file__).with_name("cudnn-nvidia-h200.pdg")
GOLDEN = read(FILE)
ENTRIES = defaultdict(list)
for _entry in GOLDEN.entries:
    ENTRIES[_entry.case.split(maxsplit=1)[0]].append(_entry)
ITS_OWN = (
    "dropout_forward",
    "set_dropout_descriptor",
    "rnn_backward_data",
    "rnn_backward_weights",
)  # states and reserve
EVERY = 12
PARTS = {"half": range(0, EVERY, 2), "a twelfth": (0,), "a quarter": (1, 2, 3)}  # of those that were drawn
LATER = ("ctc_loss",)  # the file is older
TAKEN = "ceiling=-"  # portadnn refused it before cuDNN saw it, which takes it


def test_the_file_has_every_operation_of_the_library():
    assert FILE.stat().st_size <= 5_000_000
    assert GOLDEN.target["backend"] == "cudnn" and "H200" in GOLDEN.target["name"]
    computed = {op for op, entries in ENTRIES.items() if any(entry.outputs for entry in entries)}
    assert computed >= set(every_problem()) - {*NO_CALL, *LATER, "set_dropout_descriptor"}


@pytest.mark.parametrize(
    ("handle", "op", "part"),
    [
        pytest.param(
            target, op, part, id=f"{target.name}-{op}-{part}", marks=[pytest.mark.long] * (part == "a quarter")
        )
        for target in (Target("reference", "reference"), *targets())
        if not target.slow
        for op in ENTRIES
        for part in (["half"] if target.backend == "reference" else ["a twelfth", "a quarter"])
    ],
    indirect=["handle"],
)
def test_agrees_with_what_was_recorded(handle, op, part):
    """The reference is held against half; kernels, which other tests hold against the reference, against a sample."""
    entries = tuple(entry for at, entry in enumerate(ENTRIES[op]) if at % EVERY in PARTS[part])
    entries = tuple(entry for entry in entries if entry.status != "BAD_PARAM" or TAKEN not in str(entry.case))
    report = check(replace(GOLDEN, entries=entries), {"here": handle})
    wrong = [f"{r.case}\n    {r.reason}" for r in report.results if r.verdict in (Verdict.FAILED, Verdict.ERROR)]
    assert not wrong, "\n".join(wrong)
    computed = sum(entry.status == "SUCCESS" for entry in entries)
    agreed = sum(result.verdict is Verdict.PASSED for result in report.results)
    assert part == "a twelfth" or op in (*ITS_OWN, *NO_CALL) or agreed >= computed / 2
