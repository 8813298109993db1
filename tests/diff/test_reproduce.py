"""Programs that show a failure: they run, they fail while the fault is there, and they pass once it is mended."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest

import portadnn as dnn
import portadnn_backends.reference.backend as backend
from portadnn.diff import Case, Verdict, examine
from portadnn.diff.reproduce import program
from portadnn_backends.reference.outcomes import outcomes


@pytest.fixture(autouse=True)
def _ordinary(monkeypatch):
    """Let the reference backend, which the tests spoil, be a target like any other."""
    monkeypatch.setattr("portadnn.diff.reproduce._is_reference", lambda target: target == "reference:0")


def executed(source):
    """Run a program; return its exit code and what it printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as end:
        exec(compile(source, "program", "exec"), {"__name__": "__main__"})
    return end.value.code, out.getvalue()


@pytest.fixture
def spoil(monkeypatch):
    """Return a function that makes the reference backend's results wrong, until it is told to stop."""

    def start(change):
        def wrong(problem, tensors, scalars):
            names = dict(zip(problem.names, tensors, strict=True))
            return {**(found := outcomes(problem, tensors, scalars)), **change(found, names)}

        monkeypatch.setattr(backend, "outcomes", wrong)
        return lambda: monkeypatch.setattr(backend, "outcomes", outcomes)

    return start


def shown_and_mended(case, target, spoil, change):
    """Check that a program fails with a fault and passes without it; return its source and what it printed."""
    mend = spoil(change)
    with dnn.Handle("reference") as handle:
        result = examine(case, {target: handle})
    assert result.verdict is Verdict.FAILED
    source = program(case, target, result=result, facts={"driver": "1.2"})
    code, printed = executed(source)
    assert code == 1
    mend()
    assert executed(source)[0] == 0
    return source, printed


def test_wrong_numbers_are_shown_with_literal_ones(spoil):
    case = Case.parse("convolution_forward x=f32:1x2x1x1 w=f32:2x1x1x1 groups=2 padding=0,1 ; data=exact fill=x:1,w:0")
    source, printed = shown_and_mended(case, "reference", spoil, lambda found, _: {"y": found["y"] + 3})
    assert "portadnn.diff" not in source and len(source.splitlines()) < 30
    assert "x = handle.asarray(np.full((1, 2, 1, 1), 1.0, np.float32))" in source
    assert "dnn.ConvolutionDescriptor(padding=(0, 1), groups=2)" in source
    assert printed.splitlines()[0] == "y [0, 0, 0, 0] got 3.0 expected 0.0"
    assert source.startswith(f"# {case}\n# reference: y: 6 of 6 elements are wrong") and "driver 1.2" in source
    assert "numpy" in source.splitlines()[2] and "# computed by definition" in source


CASES = (
    "softmax_forward x=f16:1x5x2x3:nhwc mode=channel alpha=2 beta=0.5",
    "activation_forward x=f64:1x2x3x3 mode=clipped_relu ceiling=0.5 ; in_place=y:x",
    "activation_forward x=f32:1x2x3x3 mode=relu nan_propagation=propagate_nan ; data=nan fill=x:nan@3",
    "pooling_backward x=f32:1x2x4x4 mode=average_count_exclude_padding window=2,2 padding=1,1 ; engine=definition",
    "softmax_forward x=bf16:1x5x2x3",  # no type of NumPy
    "softmax_forward x=f32:1x5x2x3/99,19,7,2",  # gaps
    "softmax_forward x=f32:2x40x2x3",  # too many numbers
)


@pytest.mark.parametrize("line", CASES)
def test_every_kind_of_program_runs(line, spoil):
    case = Case.parse(line)
    change = lambda found, _: {name: np.where(np.isnan(value), 0, value) + 1 for name, value in found.items()}  # noqa: E731
    source, _ = shown_and_mended(case, "reference", spoil, change)
    assert ("examine" in source) == (CASES.index(line) > 3)


def test_a_broken_promise_is_shown(spoil):
    """An input that is written to does not show in numbers: the program looks at all memory."""

    def change(found, tensors):
        tensors["x"][...] = 7
        return {}

    _, printed = shown_and_mended(Case.parse("softmax_forward x=f32:1x2x3x3"), "reference", spoil, change)
    assert "input written: x" in printed


def test_a_wrong_status_is_shown(spoil):
    case = Case.parse("softmax_forward x=f32:1x2x3x3 alpha=nan ; expect=BAD_PARAM")
    with dnn.Handle("reference") as handle:
        source = program(case, "reference", result=examine(case, {"reference": handle}))
    assert executed(source)[0] == 1  # such a call succeeds
    mended = source.replace("alpha=nan", "alpha=1").replace("BAD_PARAM", "SUCCESS")
    assert executed(mended)[0] == 0


def test_where_the_reference_is_blamed_all_targets_run():
    case = Case.parse("softmax_forward x=f32:1x2x3x3")
    with dnn.Handle("reference") as handle:
        source = program(case, "reference:0", result=examine(case, {"reference": handle, "reference:0": handle}))
    assert '"reference": Target' in source and '"reference:0": Target' in source
    assert executed(source)[0] == 0
