"""The faults fit the sources they are made for, and the harness makes what it says."""

from __future__ import annotations

import subprocess
import sys

import harness
import pytest

from portadnn.diff import generate

FAULTS = harness.read_faults()


def test_there_are_many_faults_of_many_kinds():
    assert len(FAULTS) >= 60
    assert len({fault.id for fault in FAULTS}) == len(FAULTS)
    assert len({fault.kind for fault in FAULTS}) >= 20


def test_a_shadow_differs_by_the_fault_alone(tmp_path):
    fault = next(fault for fault in FAULTS if fault.file == "portadnn/shapes.py")
    harness.shadow(tmp_path, fault)
    changed = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()]
    assert [path.name for path in changed] == ["shapes.py"]
    before, after = (harness.ROOT / fault.file).read_text("utf-8"), changed[0].read_text("utf-8")
    assert before != after and before.replace(fault.old, fault.new) == after
    program = "import portadnn.shapes, portadnn_backends.base as b; print(portadnn.shapes.__file__, b.__file__)"
    environment = harness._environment(tmp_path, tmp_path)
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert all(str(tmp_path) in place for place in said.stdout.split())


def test_a_fault_that_does_not_fit_is_refused():
    fault = harness.Fault("x", "kind", "*", "portadnn/shapes.py", "no such text", "")
    with pytest.raises(ValueError, match="0 times"):
        fault.changed("some text")
    twice = harness.Fault("x", "kind", "*", "portadnn/shapes.py", "a", "b")
    with pytest.raises(ValueError, match="2 times"):
        twice.changed("a a")
    assert harness.Fault("x", "kind", "*", "f", "a", "b", nth=2).changed("a a a") == "a b a"


def test_a_share_has_the_cases_of_the_whole_campaign():
    fault = harness.Fault("x", "kind", "pooling_* softmax_forward", "f", "a", "b")
    words = harness.share(fault, 2000)
    assert words[:5] == ["--op", "pooling_*", "--op", "softmax_forward", "--count"]
    whole = [str(case) for case in generate.cases(count=2000)]
    share = [str(case) for case in generate.cases(words[1:4:2], count=int(words[5]))]
    for op in ("pooling_forward ", "pooling_backward ", "softmax_forward "):
        one, other = ([case for case in cases if case.startswith(op)] for cases in (whole, share))
        few = min(len(one), len(other))
        assert one[:few] == other[:few] and abs(len(one) - len(other)) <= 0.25 * few
