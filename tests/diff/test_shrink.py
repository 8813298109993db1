"""Shrinking, with faults put into a target on purpose: the smallest case that shows one is known by reasoning."""

from __future__ import annotations

import numpy as np
import pytest
import small_problems

import portadnn as dnn
import portadnn_backends.reference.backend as backend
from portadnn.diff import Case, CaseResult, Judgement, Verdict, examine
from portadnn.diff.data import Fill
from portadnn.diff.shrink.problem import derived, places, resized, size_at
from portadnn.diff.shrink.shrink import Failure, failures, shrink
from portadnn.diff.shrink.steps import capped, data_steps, plain_steps, shortened, size_steps, smaller
from portadnn.errors import BadParam
from portadnn.ops.rnn.layout import Network, RNNMode
from portadnn_backends.reference.outcomes import outcomes


@pytest.fixture
def spoiled(monkeypatch):
    """Return a function that shrinks a case on a target whose results a function has changed."""
    opened = []

    def run(text, spoil, **options):
        def wrong(problem, tensors, scalars):
            found = outcomes(problem, tensors, scalars)
            names = dict(zip(problem.names, tensors, strict=True))
            return {**found, **(spoil(problem, names, dict(zip(problem.scalars, scalars, strict=True)), found) or {})}

        monkeypatch.setattr(backend, "outcomes", wrong)
        handle = dnn.Handle("reference")
        opened.append(handle)
        look = lambda case: examine(case, {"faulty": handle})  # noqa: E731
        found = shrink(Case.parse(text), look, **options)
        if found is not None and found.finished and not found.flaky:
            check_minimal(found, look)
        return found

    yield run
    for handle in opened:
        handle.close()


def check_minimal(found, look):
    """Check that no step from the smallest case leads to one that fails in the same way."""
    for steps in (plain_steps, size_steps, data_steps):
        for name, step in steps(found.smallest):
            for candidate in step(found.smallest):
                assert found.failure not in failures(look(candidate)), f"{name}: {candidate}"


def test_padding_with_groups(spoiled):
    """Wrong where padding > 0 and groups > 1: two groups of one channel and filter, one row of padding, no more."""

    def spoil(problem, tensors, numbers, found):
        if problem.groups > 1 and max(problem.padding) > 0:
            return {"y": found["y"] + 1}

    line = "convolution_forward x=f16:3x12x9x8:nhwc w=f16:9x4x3x2 groups=3 padding=2,1 stride=2,1 dilation=1,2"
    found = spoiled(f"{line} alpha=0.5 beta=2 ; seed=7", spoil)
    assert found.failure == Failure("faulty", "numbers") and found.engine == "definition"
    problem = found.smallest.problem
    assert (problem.x.dims, problem.w.dims, problem.groups) == ((1, 2, 1, 1), (2, 1, 1, 1), 2)
    assert sorted(problem.padding) == [0, 1] and problem.stride == problem.dilation == (1, 1)
    assert str(found.smallest).startswith("convolution_forward x=f32:1x2x1x1 w=f32:2x1x1x1 padding=")
    assert found.smallest.fills == {"x": Fill(0), "w": Fill(0)} and found.smallest.data == "exact"
    assert found.tried < 150


def test_one_channel(spoiled):
    """Wrong in channel 5 alone: six channels are needed, of which each has one filter tap."""

    def spoil(problem, tensors, numbers, found):
        if problem.x.dims[1] > 5:
            y = found["y"].copy()
            x = np.asarray(tensors["x"], np.float64)
            y[:, 0] += x[:, 5, : y.shape[2], : y.shape[3]].sum() * 4
            return {"y": y}

    found = spoiled("convolution_forward x=f32:2x64x7x7 w=f32:8x64x3x3 padding=1,1", spoil)
    problem = found.smallest.problem
    assert (problem.x.dims, problem.w.dims) == ((1, 6, 1, 1), (1, 6, 1, 1))
    assert found.smallest.fills == {"x": Fill(1), "w": Fill(0)}


def test_a_wrong_beta(spoiled):
    """The prior value is added whole whatever beta is: with beta 1 that is right, and 2 is the next."""

    def spoil(problem, tensors, numbers, found):
        if numbers["beta"]:
            return {"y": found["y"] + (1 - numbers["beta"]) * np.asarray(tensors["y"], np.float64)}

    found = spoiled("softmax_forward x=bf16:2x5x3x4/60,12,4,1 algorithm=log mode=channel alpha=3 beta=0.25", spoil)
    assert found.smallest.numbers == {"alpha": 1.0, "beta": 2.0}
    assert found.smallest.line == "softmax_forward x=f32:1x1x1x1 beta=2.0"
    assert found.smallest.fills == {"x": Fill(0), "y": Fill(1)}


def test_rank_layout_and_tied_sizes(spoiled):
    """Wrong in a tensor with gaps only: the gaps stay, and everything else goes."""

    def spoil(problem, tensors, numbers, found):
        if problem.x.format is None:
            return {"y": found["y"] * 2 + 1}

    line = "batch_normalization_forward_training x=f32:2x3x2x3x4/99,30,14,4,1 mode=spatial "
    found = spoiled(line + "saved_mean=f32:1x3x1x1x1 saved_inv_variance=f32:1x3x1x1x1", spoil)
    problem = found.smallest.problem
    assert len(problem.x.dims) == 4 and problem.x.size == 2  # a gap needs two elements
    assert problem.saved_mean is None and problem.scale.size == 1


def test_a_recurrent_network(spoiled):
    """Wrong in the second layer of an LSTM with two steps."""

    def spoil(problem, tensors, numbers, found):
        if problem.num_layers > 1 and len(problem.sequence.batches) > 1 and problem.mode.name == "LSTM":
            return {"y": found["y"] + 1}

    size = Network(RNNMode.LSTM, 6, 3, 2, 4, False).size
    rest = "hidden_size=6 num_layers=3 batch_sizes=3,2,2 cx=f32:6x3x6 direction=bidirectional"
    found = spoiled(f"rnn_forward_inference x=f32:7x4x1 w=f32:{size}x1x1 {rest}", spoil)
    problem = found.smallest.problem
    assert (problem.hidden_size, problem.num_layers, problem.sequence.batches) == (1, 2, (1, 1))
    assert problem.network.features == 1 and problem.network.directions == 1 and problem.cx is None
    assert not problem.batch_sizes


def test_a_special_value(spoiled):
    """A NaN is taken for 0: one NaN is enough, among zeros."""

    def spoil(problem, tensors, numbers, found):
        return {"y": np.nan_to_num(found["y"])}

    found = spoiled("activation_forward x=f32:2x3x5x7 mode=relu nan_propagation=propagate_nan ; data=nan", spoil)
    assert found.smallest.problem.x.dims == (1, 1, 1, 1)
    assert np.isnan(found.smallest.fills["x"].value) and found.smallest.fills["x"].place == 0


def test_a_status(spoiled):
    """An error is shrunk like wrong numbers are, and wrong numbers are no substitute for it."""

    def spoil(problem, tensors, numbers, found):
        if problem.window == (1, 1):
            return {"y": found["y"] + 1}
        if problem.window[1] > 2:
            raise ZeroDivisionError("a window of three")

    found = spoiled("pooling_forward x=f32:2x3x9x7 mode=max window=3,3 padding=1,1 stride=2,2", spoil)
    assert found.failure == Failure("faulty", "ZeroDivisionError")
    problem = found.smallest.problem
    assert problem.window[0] == 1 and problem.window[1] == 3 and problem.padding[0] == 0
    assert problem.x.dims[:3] == (1, 1, 1) and problem.y.dims[3] == 1


def test_a_crash_is_shrunk_from_outside():
    """Processes that die tell no more than that: six rows of images end this one."""

    def look(case):
        dead = case.problem.x.dims[2] >= 6
        judgement = Judgement(
            "gpu", Verdict.ERROR if dead else Verdict.PASSED, "", status="CRASHED" if dead else "SUCCESS"
        )
        return CaseResult(str(case), judgement.verdict, ("gpu",) if dead else (), "", [judgement])

    found = shrink(Case.parse("activation_forward x=f16:2x3x40x30:nhwc mode=tanh alpha=2"), look)
    assert found.failure == Failure("gpu", "CRASHED") and found.engine == ""
    assert str(found.smallest) == "activation_forward x=f32:1x1x6x1 mode=relu ; data=exact fill=x:0"


def test_a_case_that_fails_at_random_is_told(spoiled):
    turn = iter(range(10**6))

    def spoil(problem, tensors, numbers, found):
        if next(turn) // 2 % 2:  # both runs of every second look
            return {"y": found["y"] + 1}

    found = spoiled("softmax_forward x=f32:2x3x4x4", spoil)
    assert found.flaky and "fails at random" in str(found)


def test_what_does_not_fail_is_not_shrunk(spoiled):
    assert spoiled("softmax_forward x=f32:2x3x4x4", lambda *rest: None) is None


@pytest.mark.parametrize(("limit", "most"), [({"budget": 5}, 5 + 3), ({"seconds": 0.0}, 3 + 3)], ids=str)
def test_the_budget_is_kept(spoiled, limit, most):
    spoil = lambda problem, tensors, numbers, found: {"y": found["y"] + 1}  # noqa: E731
    found = spoiled("softmax_forward x=f32:64x3x40x40 alpha=2 ; seed=5", spoil, **limit)
    assert found.tried <= most and not found.finished and "budget" in str(found)


@pytest.mark.parametrize("witness", [False, True])
def test_a_call_that_must_fail(witness):
    """It shrinks as long as another target refuses it; where none does, a smaller one may be right."""

    def judged(case):
        rightly = Judgement("other", Verdict.PASSED, status="BAD_PARAM" if case.problem.x.dims[1] > 2 else "SUCCESS")
        wrongly = Judgement("faulty", Verdict.FAILED, "it was called", status="SUCCESS")
        return CaseResult(str(case), Verdict.FAILED, ("faulty",), "", [wrongly, rightly] if witness else [wrongly])

    found = shrink(Case.parse("softmax_forward x=f32:2x7x4x4 ; expect=BAD_PARAM"), judged)
    assert found.failure == Failure("faulty", "SUCCESS")
    assert found.smallest.problem.x.dims == ((1, 3, 1, 1) if witness else (2, 7, 4, 4))


def test_sizes_fall_by_halves_first_and_then_keep_remainders():
    steps = list(smaller(68, 1))
    assert steps[:2] == [1, 34] and {64, 52, 36, 4, 67} <= set(steps)
    assert list(smaller(1, 1)) == [] and list(smaller(2, 1)) == [1]


def test_ties_are_found():
    """A channel more or less belongs to x and to w; a filter to w alone, whose result follows."""
    problem = Case.parse("convolution_backward_data w=f32:5x3x3x3 dy=f32:2x5x6x6 dx=f32:2x3x8x8").problem
    assert derived(problem) == ("dy",)
    assert ("dx", 1) in places(problem) and size_at(problem, ("dx", 1)) == 3
    fewer = next(resized(problem, ("dx", 1), 2))
    assert fewer.w.dims == (5, 2, 3, 3) and fewer.dx.dims == (2, 2, 8, 8)
    assert next(resized(problem, ("w", 0), 1)).dy.dims == (2, 1, 6, 6)


def _one_of_each_operation():
    found = {line.split()[0]: line for line in small_problems.LINES}
    found.pop("set_dropout_descriptor")  # has no sizes
    return list(found.values())


def _smallest(problem, name, rank):
    """Return the smallest dims that a tensor may have, written here and not found by trying."""
    least = [1] * rank
    if problem.op.startswith("glu_") and name in ("x", "dx"):
        least[problem.dim] = 2  # a unit and its gate
    elif problem.op.startswith("rope_"):
        least[-1] = 2  # pairs
    return tuple(least)


@pytest.mark.parametrize("line", _one_of_each_operation())
def test_every_operation_can_be_made_as_small_as_it_may_be(line):
    """All sizes of all tensors go down to 1, but for what is fixed: two coordinates, six numbers of an affine map.

    What has halves or pairs goes down to 2: a gated unit's dim, and the last one of rotary embeddings.
    """
    case = Case.parse(line)
    if "bidirectional" in line:
        case = next(dict(plain_steps(case))["direction"](case))
    problem = capped(case, 1).problem
    fixed = {(2, 3), (1, 2, 3), (1, 1, 1, 2), (2, 1)}  # (2, 1): the first and the last key of one query's window
    for name, spec in zip(problem.names, problem.tensors, strict=True):
        if name not in problem.raw and spec.dims not in fixed:
            follows = name in derived(problem) or name in ("w", "dw")  # a border of padding, parameters of a cell
            assert follows or spec.dims == _smallest(problem, name, len(spec.dims)), f"{name}: {problem}"


def test_what_follows_is_left_out_of_the_line():
    case = Case.parse("convolution_forward x=f32:1x2x3x3 w=f32:4x2x1x1 y=f32:1x4x3x3 padding=0,0 alpha=1 ; data=exact")
    assert str(shortened(case)) == "convolution_forward x=f32:1x2x3x3 w=f32:4x2x1x1 ; data=exact"


def test_fills_are_read_and_checked():
    case = Case.parse("softmax_forward x=f32:1x2x3x3 ; fill=x:nan@3")
    assert np.isnan(case.fills["x"].value) and str(case).endswith("fill=x:nan@3")
    for wrong in ("x", "x:1@18", "z:1", "x:1@-1", "x:one"):
        with pytest.raises(BadParam):
            Case.parse(f"softmax_forward x=f32:1x2x3x3 ; fill={wrong}")
