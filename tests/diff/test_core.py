"""Cases, formula data, comparison and verdicts, each against something worked out by other means."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zlib

import numpy as np
import pytest
from lies import lying, whole

import portadnn as dnn
from portadnn import capability
from portadnn.diff import Case, Target, Verdict, examine
from portadnn.diff.compare import bounds, compare
from portadnn.diff.data import DATA_MODES, exact_results, values, words
from portadnn.diff.inputs import make_buffers
from portadnn.diff.results import result_as_json, result_from_json
from portadnn.enums import DataType
from portadnn.problem import TensorSpec, parse
from portadnn.registry import get_backend
from portadnn_backends.reference.definitions.tensor import DEFINITIONS

RELU = "activation_forward x=f32:2x3x5x7 mode=relu"
CONV = "convolution_forward x=f32:2x3x5x5 w=f32:4x3x3x3 y=f32:2x4x3x3/80,20,6,2"


# cases


@pytest.mark.parametrize(
    "text",
    [
        RELU,
        f"{CONV} alpha=2.0 ; data=exact seed=7",
        f"{RELU} ; data=nan in_place=y:x",
        f"{CONV} ; algo=gemm",
        "activation_forward x=f32:2x3x5x7 y=f32:2x3x5x8 mode=relu ; expect=BAD_PARAM",
    ],
)
def test_a_case_reads_back_what_it_prints(text):
    case = Case.parse(text)
    assert str(case) == text
    assert Case.parse(str(case)) == case


@pytest.mark.parametrize(
    "text",
    [
        f"{RELU} ; data=tidy",
        f"{RELU} ; seed=-1",
        f"{RELU} ; seed=1 seed=2",
        f"{RELU} ; colour=red",
        f"{RELU} ; in_place=y",
        f"{RELU} ; in_place=y:w",
        f"{RELU} ; expect=MAYBE",
        f"{RELU} mode=tanh",
        "",
    ],
)
def test_a_wrong_case_is_refused(text):
    with pytest.raises(dnn.BadParam):
        Case.parse(text)


def test_targets_are_named_and_wrong_ones_refused():
    assert Target.parse("reference") == Target("reference", word="reference")
    assert Target.parse("reference:0").device == 0
    with Target.parse("reference/gpu").open() as handle:
        assert handle.info.schedule == "gpu"
    for word in ("nothing", "reference-gpu", "opencl:x", ""):
        with pytest.raises((dnn.BadParam, dnn.NotSupported)):
            Target.parse(word)


# data


def splitmix(seed, tensor, position):
    """SplitMix64's output for one position, in Python's own integers."""
    most = (1 << 64) - 1
    start = (zlib.crc32(tensor.encode()) << 32) ^ (seed * 0x9E3779B97F4A7C15 & most)
    z = (start + (position + 1) * 0x9E3779B97F4A7C15) & most
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & most
    z = (z ^ z >> 27) * 0x94D049BB133111EB & most
    return z ^ z >> 31


def test_the_formula_is_the_published_one():
    for seed, name in ((0, "x"), (7, "w"), (2**40, "dy")):
        assert words(seed, name, 50).tolist() == [splitmix(seed, name, i) for i in range(50)]


def test_data_is_the_same_in_another_process():
    program = (
        "import zlib; from portadnn.diff.data import *\n"
        "from portadnn.enums import DataType; from portadnn.problem import *\n"
        "spec = TensorSpec.packed(DataType.HALF, (3, 5, 7))\n"
        "print([zlib.crc32(values(spec, mode, 3, 'x').tobytes()) for mode in DATA_MODES])"
    )
    there = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    spec = TensorSpec.packed(DataType.HALF, (3, 5, 7))
    assert eval(there) == [zlib.crc32(values(spec, mode, 3, "x").tobytes()) for mode in DATA_MODES]


def test_each_mode_makes_what_it_is_for():
    spec = TensorSpec.packed(DataType.FLOAT, (4, 25, 100))
    made = {mode: values(spec, mode, 1, "x").astype(np.float64).ravel() for mode in DATA_MODES}
    assert set(made["exact"]) == set(range(-3, 4)) and 0.2 < np.mean(made["exact"] == 0) < 0.3
    assert abs(made["random"].mean()) < 0.05 and 1.1 < made["random"].std() < 1.2
    assert np.unique(made["random"]).size > 9000
    assert set(made["ties"]) == {-1, 0, 1, 2}
    assert 1 <= np.isnan(made["nan"]).sum() <= 12 and np.isfinite(made["nan"]).sum() > 9900
    assert 1 <= np.isinf(made["inf"]).sum() <= 12
    assert np.mean(np.abs(made["denormal"]) < np.finfo(np.float32).tiny) > 0.5
    assert np.abs(made["huge"]).max() == np.finfo(np.float32).max
    sums = made["cancelling"].reshape(-1, 2).sum(1)
    assert np.abs(sums).max() < 0.5 < 100 < np.abs(made["cancelling"]).max()


def test_whole_numbers_are_exact_only_where_no_sum_rounds():
    assert exact_results(parse(CONV), {"alpha": 2.0, "beta": 1.0})
    assert not exact_results(parse(CONV), {"alpha": 0.3, "beta": 0.0})
    assert not exact_results(parse("softmax_forward x=f32:2x3x5x7"), {"alpha": 1.0, "beta": 0.0})
    long = parse("convolution_forward x=f32:1x60000x3x3 w=f32:1x60000x3x3")
    assert not exact_results(long, {"alpha": 1.0, "beta": 0.0})


def test_what_is_not_read_holds_nan():
    buffers = make_buffers(Case.parse(CONV))
    assert np.isnan(buffers["y"].array).all() and np.isfinite(buffers["x"].array).all()
    assert np.isfinite(make_buffers(Case.parse(f"{CONV} beta=1.0"))["y"].array).all()


# comparison


def test_measures_are_those_of_their_definitions():
    problem = parse("activation_forward x=f32:2x1x2x2 mode=tanh")
    want = np.array([[1.0, 2.0, -4.0, 8.0], [0.5, 0.25, 1.0, 1.0]]).reshape(2, 1, 2, 2)
    got = want.copy()
    got[0, 0, 1, 1] += 8 * 3 * 2.0**-23  # three units in the last place of 8
    found = compare(problem, "y", got.astype(np.float32), want, np.full(want.shape, 1e-6), np.zeros(want.shape, bool))
    error = 24 * 2.0**-23
    assert (found.wrong, found.size, found.first, found.worst) == (1, 8, (0, 0, 1, 1), (0, 0, 1, 1))
    assert found.decided == "tolerance"
    assert found.ulp == 3 and found.absolute == error and found.relative == error / 8
    assert found.excess == pytest.approx(error / 1e-6)
    assert found.rms == pytest.approx(error / np.sqrt(8) / 8)
    assert found.l2 == pytest.approx(error / np.linalg.norm(want))
    assert sum(found.histogram) == 8 and found.histogram[3] == 1  # from 2 to 4 units
    assert [np.argmax(line) for line in found.profile] == [0, 0, 1, 1]


def test_nan_and_infinity_have_their_places():
    problem = parse("activation_forward x=f32:1x1x1x4 mode=tanh")
    want = np.array([np.nan, np.inf, -np.inf, 1.0]).reshape(1, 1, 1, 4)
    bound, judged = np.full(want.shape, 1e-3), np.zeros(want.shape, bool)
    assert compare(problem, "y", want.astype(np.float32), want, bound, judged).wrong == 0
    for place, value, measure in (
        (0, 1.0, "NaN"),
        (1, -np.inf, "infinity"),
        (3, np.nan, "NaN"),
        (3, np.inf, "infinity"),
    ):
        got = want.copy()
        got.flat[place] = value
        found = compare(problem, "y", got.astype(np.float32), want, bound, judged)
        assert (found.wrong, found.decided, found.worst[-1]) == (1, measure, place)


def test_what_overflows_on_the_way_is_not_judged():
    problem = parse("convolution_backward_bias dy=f32:1x1x1x4 db=f32:1x1x1x1")
    want, sums = np.full((1, 1, 1, 1), 1.0), np.full((1, 1, 1, 1), 1e39)
    assert bounds(problem, "db", want, sums)[2].all()
    assert not bounds(problem, "db", want, np.full((1, 1, 1, 1), 1e30))[2].any()


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_root_of_what_overflows_is_not_judged(dtype):
    """The root itself is far inside the range: alpha1 * a is not, in float32."""
    problem = parse("op_tensor a={t}:1x1x2 b={t}:1x1x2 c={t}:1x1x2 operation=sqrt".replace("{t}", dtype))
    a = np.array([[[3.3e38, 2.0]]])
    sums = DEFINITIONS[type(problem)].terms(problem, {"alpha1": 1.25, "beta": 0.0}, {"a": a, "b": a, "c": a})
    assert bounds(problem, "c", np.sqrt(1.25 * a), sums["c"])[2].tolist() == [[[True, False]]]


def test_transforms_spread_what_is_beyond_the_range():
    """An exact engine that transforms its data is judged by elements, but for NaN, infinities and huge numbers."""
    problem = parse(CONV)
    want, sums = np.ones((2, 4, 3, 3)), np.ones((2, 4, 3, 3))
    sums[0, 0, 0, 0] = 1e6
    how = {"transforms": True, "product": 1.0}
    assert np.unique(bounds(problem, "y", want, sums, **how)[1]).size == 2
    assert np.unique(bounds(problem, "y", want, sums, **how, overflows=True)[1]).size == 1
    assert bounds(problem, "y", want, sums, transforms=True, product=np.inf)[2].all()
    assert not bounds(problem, "y", want, sums, product=np.inf)[2].any()
    engines = {engine.name: engine.transforms for engine in get_backend("opencl").engines()}
    transforming = {name for name, transforms in engines.items() if transforms}
    splitting = {name for name in engines if name.startswith("tensor_core") and ("planes" in name or "three" in name)}
    assert transforming == splitting | {name for name in engines if "winograd" in name or "fft" in name}


def test_outputs_that_prove_nothing_are_named():
    with dnn.Handle("reference", profile="") as handle:
        for line, reason in (
            ("scale_tensor y=f32:2x3x5x7 alpha=0", "all zeros"),
            ("activation_forward x=f32:0x3x5x7 mode=relu", "empty"),
        ):
            result = examine(Case.parse(line), {"reference": handle})
            assert result.verdict is Verdict.MISTRUSTED and reason in result.reason


# verdicts: every lie is found, and an honest engine passes


def found(lie, text, **how):
    with lying(lie, **how) as handle:
        return examine(Case.parse(text), {"liar": handle}).judgements[0]


def test_an_honest_engine_passes():
    for data in ("exact", "random", "nan"):
        judgement = found(lambda *_: None, f"{CONV} ; data={data}", workspace=100)
        assert judgement.verdict is Verdict.PASSED, judgement.reason


def one_off(problem, tensors, workspace, run):
    tensors["y"][1, 2, 0, 1] += 0.001


def outside(problem, tensors, workspace, run):
    memory = whole(tensors["y"])
    memory[-1] ^= 1


def gap(problem, tensors, workspace, run):
    memory = whole(tensors["y"]).view(np.float32)
    memory[32 + 1] = 5.0


def input_written(problem, tensors, workspace, run):
    tensors["x"][0, 0, 0, 0] += 1


def overrun(problem, tensors, workspace, run):
    if workspace.nbytes > 100:  # the handle's own has no room behind it
        workspace[100] = 0


def drifting(problem, tensors, workspace, run):
    tensors["y"][0, 0, 0, 0] *= np.float32(1 + run * 2.0**-23)


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (one_off, r"1 of 72 elements are wrong by tolerance, first at \(1, 2, 0, 1\)"),
        (outside, "outside written: y"),
        (gap, "outside written: y"),
        (input_written, "input written: x"),
        (overrun, "workspace overrun"),
        (drifting, "not repeatable: y"),
    ],
)
def test_a_lie_is_found_and_named(lie, reason):
    judgement = found(lie, CONV, workspace=100)
    assert judgement.verdict is Verdict.FAILED
    assert re.search(reason, judgement.reason), judgement.reason


def test_an_engine_that_does_not_claim_to_repeat_need_not():
    line = f"{CONV} ; engine=definition"
    assert found(drifting, line, deterministic=False).verdict is Verdict.PASSED
    assert found(drifting, line).verdict is Verdict.FAILED


def test_reading_what_beta_0_leaves_alone_is_found():
    def reads(problem, tensors):
        self.update(y=tensors["y"].copy())

    def adds(problem, tensors, workspace, run):
        tensors["y"] += 0 * self["y"]

    self = {}
    judgement = found(adds, CONV, before=reads)
    assert judgement.verdict is Verdict.FAILED and "beta = 0" in judgement.reason


def test_a_refusal_is_no_failure_unless_the_table_says_yes(monkeypatch):
    judgement = found(one_off, CONV, why="too tired")
    assert judgement.verdict is Verdict.FAILED and "capability table says yes" in judgement.reason
    judgement = found(one_off, f"{CONV} ; algo=winograd", algos=("GEMM",))
    assert judgement.verdict is Verdict.FAILED and "capability table says yes" in judgement.reason
    assert found(one_off, f"{CONV} ; algo=winograd").verdict is Verdict.FAILED, "it stands for every algorithm"
    kernels = capability.table("opencl")
    monkeypatch.setattr(capability, "table", lambda _: kernels)  # which has limits that NumPy's has not
    line = "convolution_forward x=f32:2x3x7x7 w=f32:4x3x3x3 stride=2,2 ; algo=winograd"
    judgement = found(one_off, line, algos=("GEMM",))
    assert judgement.verdict is Verdict.UNSUPPORTED and "WINOGRAD" in judgement.reason, judgement


def test_a_failed_call_that_wrote_is_found():
    def breaks(problem, tensors, workspace, run):
        raise dnn.ExecutionFailed("half way")

    judgement = found(breaks, CONV)
    assert judgement.verdict is Verdict.FAILED and judgement.status == "EXECUTION_FAILED"
    assert [v.kind for v in judgement.violations] == ["failed call wrote"]


def test_a_must_fail_case_compares_statuses():
    line = "activation_forward x=f32:2x3x5x7 y=f32:2x3x5x8 mode=relu"
    assert found(lambda *_: None, f"{line} ; expect=BAD_PARAM").verdict is Verdict.PASSED
    assert found(lambda *_: None, f"{line} ; expect=ALLOC_FAILED").verdict is Verdict.FAILED
    assert found(lambda *_: None, f"{RELU} ; expect=BAD_PARAM").reason == "BAD_PARAM was due: the call succeeded"


def test_another_refusal_than_the_one_due_fails_but_for_other_libraries(monkeypatch):
    line = f"activation_forward x=f32:{'1x' * 8}1 mode=relu ; expect=BAD_PARAM"  # too many dims are not supported
    judgement = found(lambda *_: None, line)
    assert judgement.verdict is Verdict.FAILED and judgement.reason.startswith("BAD_PARAM was due: NOT_SUPPORTED")
    monkeypatch.setattr(get_backend("reference"), "vendor", "another", raising=False)
    assert found(lambda *_: None, line).verdict is Verdict.UNSUPPORTED


# the vote


def voted(text, **lies):
    handles, contexts = {}, []
    for name, lie in lies.items():
        context = lying(lie)
        handles[name] = context.__enter__()
        contexts.append(context)
    try:
        return examine(Case.parse(text), handles)
    finally:
        for context in contexts:
            context.__exit__(None, None, None)


def test_the_failing_backend_is_named():
    result = voted(CONV, one=lambda *_: None, two=one_off, three=lambda *_: None)
    assert (result.verdict, result.blamed) == (Verdict.FAILED, ("two",))
    assert [j.verdict.value for j in result.judgements] == ["PASSED", "FAILED", "PASSED"]


def test_where_all_others_agree_the_oracle_is_in_doubt():
    assert voted(CONV, one=one_off, two=one_off).blamed == ("reference",)

    def another(problem, tensors, workspace, run):
        tensors["y"][0, 0, 0, 0] += 0.5

    assert voted(CONV, one=one_off, two=another).blamed == ("one", "two")


def test_a_result_survives_json():
    result = voted(f"{CONV} ; data=nan", one=lambda *_: None, two=one_off)
    assert result_from_json(json.loads(json.dumps(result_as_json(result)))) == result
