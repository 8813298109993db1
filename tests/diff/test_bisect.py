"""Bisecting over engines and over the calls of a recording, with engines that are wrong on purpose."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from lies import Liar, lying

import portadnn as dnn
from portadnn.diff import Case, Target, Verdict
from portadnn.diff.bisect import by_engine, fewest, first_divergence
from portadnn.diff.bisect_calls import Sides
from portadnn.recording import read


class LyingTarget:
    """A reference whose engine lies, as a target."""

    def __init__(self, lie):
        self.lie = lie

    def open(self, **options):
        handle = dnn.Handle("reference", **{"profile": "", **options})
        handle.engines = (Liar(self.lie),)
        return handle

    def __str__(self):
        return "liar"


def network(handle):
    """Four computations; the third one's line is `LINE`."""
    rng = np.random.default_rng(3)
    x = handle.asarray(rng.normal(size=(2, 3, 6, 6)), "float32")
    w = handle.asarray(rng.normal(size=(4, 3, 3, 3)), "float32")
    y = dnn.convolution_forward(handle, x, w, dnn.ConvolutionDescriptor(), alpha=20)
    dnn.activation_forward(handle, y, dnn.ActivationDescriptor("tanh"), y)
    z = dnn.pooling_forward(handle, y, dnn.PoolingDescriptor("max", (2, 2), stride=(2, 2)))
    dnn.softmax_forward(handle, z)


LINE = inspect.getsourcelines(network)[1] + inspect.getsource(network).split("\n").index(
    next(line for line in inspect.getsource(network).split("\n") if "pooling_forward" in line)
)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("recorded") / "run.jsonl"
    with dnn.trace(path), dnn.Handle("reference") as handle:
        network(handle)
    return read(path)


def wrong_pooling(problem, tensors, workspace, run):
    if problem.op == "pooling_forward":
        tensors["y"][1, 2, 0, 1] += 0.5


@pytest.mark.parametrize("prefixes", [False, True, None])
@pytest.mark.parametrize("liar_first", [False, True])
def test_the_first_call_that_differs_is_named(recording, prefixes, liar_first):
    """The softmax of what pooling spoiled differs as well, but is right for what it was given."""
    targets = (Target("reference"), LyingTarget(wrong_pooling))
    found = first_divergence(recording, *(targets[::-1] if liar_first else targets), prefixes=prefixes)
    divergence = found.divergence
    event = next(event for event in recording.events if event.function == "pooling_forward")
    assert divergence.call == event.number and divergence.kind == "wrong" and divergence.targets == ("liar",)
    assert divergence.site == f"{__file__}:{LINE}"
    assert divergence.what.startswith("pooling_forward: pooling_forward x=f32:2x4x4x4 ")
    assert "1 of 32 elements are wrong" in divergence.message and "(1, 2, 0, 1)" in divergence.message
    assert found.needed == (event,)
    case = Case.parse(found.case)
    assert case.problem.op == "pooling_forward" and case.problem.x.dims == (2, 4, 4, 4)


def test_binary_search_names_it_by_itself(recording):
    sides = Sides(recording, (Target("reference"), LyingTarget(wrong_pooling)), 0)
    found = sides.search(recording.events)
    assert found.what.startswith("pooling_forward") and found.targets == ("liar",)
    assert Sides(recording, (Target("reference"),) * 2, 0).search(recording.events) is None


def test_targets_that_agree_have_no_divergence(recording):
    for prefixes in (False, True):
        assert first_divergence(recording, Target("reference"), Target("reference"), prefixes=prefixes) is None


def test_rounding_is_no_divergence(recording):
    """Results that are off by a unit in the last place differ, and are right."""

    def round_up(problem, tensors, workspace, run):
        for name in problem.written:
            tensors[name][...] = np.nextafter(tensors[name], np.float32(np.inf))

    assert first_divergence(recording, Target("reference"), LyingTarget(round_up), prefixes=False) is None


def test_a_call_that_fails_on_one_target_is_named(recording):
    def refuse(problem, tensors, workspace, run):
        if problem.op == "activation_forward":
            raise dnn.ExecutionFailed("out of order")

    found = first_divergence(recording, Target("reference"), LyingTarget(refuse))
    assert found.divergence.kind == "status" and found.divergence.message.endswith("out of order")
    assert "SUCCESS" in found.divergence.message and "EXECUTION_FAILED" in found.divergence.message
    assert found.divergence.what.startswith("activation_forward: activation_forward ")


def test_the_calls_that_a_divergence_needs_are_kept(recording):
    """Pooling is wrong for results of a convolution only (seeded data are small): that call is needed, tanh is not."""

    def after_convolution(problem, tensors, workspace, run):
        if problem.op == "pooling_forward" and np.abs(tensors["x"]).max() > 0.5:
            tensors["y"][...] += 1

    found = first_divergence(recording, Target("reference"), LyingTarget(after_convolution))
    computed = [event.function for event in found.needed if event.steps]
    assert computed[-1] == "pooling_forward" and len(computed) == 2 and found.case == ""
    assert len(found.needed) == 2


def test_fewest_finds_what_is_needed_and_nothing_else():
    for needed in ({3}, {0, 9}, {2, 3, 7}, set(range(10)), set()):
        tried = []

        def fails(chosen, needed=needed, tried=tried):
            tried.append(chosen)
            return needed <= set(chosen)

        assert set(fewest(range(10), fails)) == needed
        assert len(tried) < 80


def test_every_engine_of_a_target_is_tried():
    """The first engine is wrong, the second one right, and the third declines."""

    def wrong(problem, tensors, workspace, run):
        tensors["y"] += 1

    with lying(wrong) as handle:
        bad, good, shy = handle.engines[0], Liar(lambda *_: None), Liar(wrong, why="not today")
        for engine, name in ((bad, "bad"), (good, "good"), (shy, "shy")):
            engine.name = name
        handle.engines = (good, bad, shy)
        case = Case.parse("convolution_forward x=f32:1x2x5x5 w=f32:3x2x3x3 ; engine=bad data=exact")
        rows = {row.engine: row for row in by_engine(case, "here", handle)}
    assert {name: row.verdict for name, row in rows.items()} == {
        "good": Verdict.PASSED,
        "bad": Verdict.FAILED,
        "shy": Verdict.SKIPPED,
    }
    assert "27 of 27 elements are wrong" in rows["bad"].reason and rows["shy"].reason == "not today"
    assert [name for name, row in rows.items() if row.chosen] == ["bad"]
    assert rows["good"].algo == "implicit_gemm"
