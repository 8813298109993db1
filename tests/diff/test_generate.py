"""The generated cases: valid, deterministic, and of every kind early."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest

import portadnn as dnn
from portadnn.diff import Case, Target, Verdict, examine
from portadnn.diff.data import ADVERSARIAL, DATA_MODES, kinds_for
from portadnn.diff.generate import SIZES, Mix, campaign, cases
from portadnn.diff.generate.broken import general_cases, rule_cases
from portadnn.diff.inputs import make_buffers
from portadnn.diff.verdict import expect
from portadnn.drawing.draws import Draws
from portadnn.drawing.layouts import INPUT_ONLY, LAYOUTS, tensor
from portadnn.enums import DataType, TensorFormat
from portadnn.operation import operations
from portadnn.problem import TensorSpec, every_problem

TYPES = (DataType.FLOAT, DataType.HALF, DataType.DOUBLE, DataType.BFLOAT16)
MODES = {  # the attribute that is an operation's mode
    "activation": "mode",
    "batch_normalization": "mode",
    "convolution_bias_activation_forward": "activation",
    "convolution_backward_data": "mode",
    "convolution_backward_filter": "mode",
    "convolution_forward": "mode",
    "normalization": "mode",
    "op_tensor": "operation",
    "pooling": "mode",
    "reduce_tensor": "operation",
    "rnn": "mode",
    "softmax": "algorithm",
}


def kind_of_layout(spec):
    """Tell layouts apart by strides and address, without the generator's names."""
    if spec.alignment < 16:
        return "shifted"
    if spec.format is TensorFormat.NCHW:
        return "nchw"
    return "nhwc" if spec.format is TensorFormat.NHWC else "strided"


@pytest.fixture(scope="module")
def sample():
    return list(cases(seed=11, count=115 * len(every_problem())))


def problems(sample, op):
    return [case.problem for case in sample if case.expect == "SUCCESS" and case.line.startswith(f"{op} ")]


def test_every_prefix_is_a_fair_sample(sample):
    for length in (400, 4_000):
        counts = Counter(case.line.split()[0] for case in sample[:length])
        assert set(counts) == set(every_problem())
        assert max(counts.values()) <= 1.5 * min(counts.values()) + 6


@pytest.mark.parametrize("op", sorted(every_problem()))
def test_each_mode_with_each_layout_and_type_comes_early(op):
    """Few hundred cases of an operation have all of it; layouts are those of the first tensor that has a choice."""
    plain = Mix(("random",), broken=False, algorithms=False)
    found = [case.problem for case in cases([op], seed=4, count=900, mix=plain)]
    prefix = next((p for p in MODES if op.startswith(p)), None)
    modes = set(type(getattr(found[0], MODES[prefix]))) if prefix else {None}
    if op == "set_dropout_descriptor":
        assert len({p.seed for p in found}) > 20
        return
    met = defaultdict(set)
    for problem in found:
        mode = getattr(problem, MODES[prefix]) if prefix else None
        for spec in problem.tensors:
            if spec.dtype.is_float:
                met[mode, problem.dtype].add(kind_of_layout(spec))
    assert set(met) == set(itertools.product(modes, TYPES))
    if not op.startswith("rnn_"):  # whose tensors are packed
        ranks = {len(spec.dims) for problem in found for spec in problem.tensors}
        wanted = {"nchw", "strided", "shifted"} | ({"nhwc"} if max(ranks) > 2 else set())  # rows of channels alone
        assert all(wanted <= kinds for kinds in met.values())


def test_kinds_of_shapes_and_options(sample):
    """Borders, odd sizes, single elements, empty tensors, broadcast and overlapping inputs, NaN options."""
    every = [case.problem for case in sample if case.expect == "SUCCESS"]
    tensors = [spec for problem in every for spec in problem.tensors if spec.dtype.is_float]
    assert {len(spec.dims) for spec in tensors} >= {3, 4, 5, 6}
    assert any(spec.size == 0 for spec in tensors)
    assert any(spec.size == 1 for spec in tensors)
    assert any(max(spec.dims) > 256 for spec in tensors)
    for dims in ((1, None), (None, 1)):
        assert any(all(want in (None, have) for want, have in zip(dims, s.dims, strict=False)) for s in tensors)
    inputs = [getattr(p, name) for p in every for name in p.inputs if getattr(p, name) is not None]
    assert sum(spec.overlapping for spec in inputs) > 100
    pools = problems(sample, "pooling_forward")
    assert any(pad >= window for p in pools for pad, window in zip(p.padding, p.window, strict=True))
    assert any(p.window == p.x.dims[2:] for p in pools)
    for op in ("op_tensor", "activation_forward", "pooling_backward", "reduce_tensor"):
        assert len({p.nan_propagation for p in problems(sample, op)}) == 2
    convolutions = problems(sample, "convolution_forward")
    assert {len(p.x.dims) for p in convolutions} == {4, 5}
    assert any(p.groups == p.x.dims[1] > 1 for p in convolutions)
    assert {type(p.math)(p.math) for p in convolutions} >= {dnn.MathType.TENSOR_OP_ALLOW_CONVERSION, dnn.MathType.FMA}
    assert any(p.batch_sizes for p in problems(sample, "rnn_forward_training"))
    assert any(p.indices for p in problems(sample, "reduce_tensor"))


def test_data_numbers_algorithms_and_memory(sample):
    good = [case for case in sample if case.expect == "SUCCESS"]
    assert {case.data for case in good} == set(DATA_MODES)
    for op in every_problem():
        assert {case.data for case in good if case.line.startswith(f"{op} ")} >= set(kinds_for(op)) | {
            "exact",
            "random",
        }
        assert all(
            case.data in kinds_for(op) for case in good if case.line.startswith(f"{op} ") and case.data in ADVERSARIAL
        )
    algorithms = {case.algo for case in good if case.line.startswith("convolution_forward ")}
    assert {"winograd", "fft", "gemm", "implicit_gemm"} <= algorithms
    aliases = {(case.line.split()[0], case.in_place) for case in good if case.in_place}
    assert {("activation_forward", "y:x"), ("softmax_backward", "dx:dy"), ("op_tensor", "c:a")} <= aliases
    for op in every_problem():
        betas = {v for c in good if c.line.startswith(f"{op} ") for n, v in c.numbers.items() if n.startswith("beta")}
        assert not betas or {0.0} < betas
    assert all(case.problem.tensors[0].size < 200_000 for case in good)


def test_some_exact_results_lie_half_way_between_numbers_of_bfloat16():
    """Where rounding ties up is wrong: at 64.25, between 64 and 64.5, of which the first is even."""
    drawn = cases(["scale_tensor", "transform_tensor"], seed=3, count=200, data=["exact"])
    tied = 0
    for case in drawn:
        written = case.problem.tensors[case.problem.index(case.problem.written[0])]
        if written.dtype is DataType.BFLOAT16 and case.expect == "SUCCESS" and case.problem.tensors[0].size:
            want = expect(case, make_buffers(case))
            bits = np.abs(next(iter(want.want.values()))).astype(np.float32).view(np.uint32)
            tied += want.sums is None and bool(np.any(bits & 0x1FFFF == 0x8000))
    assert tied > 5


def test_calls_that_must_fail_are_a_small_share(sample):
    wrong = [case for case in sample if case.expect != "SUCCESS"]
    assert 0.05 < Fraction(len(wrong), len(sample)) < 0.2
    assert {case.expect for case in wrong} == {"BAD_PARAM", "NOT_SUPPORTED"}
    assert {case.line.split()[0] for case in wrong} == set(every_problem())
    assert not any(case.expect != "SUCCESS" for case in cases(count=500, mix=Mix(broken=False)))


def test_text_form_comes_back(sample):
    assert all(Case.parse(str(case)) == case for case in sample[::7])
    assert len(set(map(str, sample))) == len(sample)


def test_all_processes_generate_the_same(sample):
    code = (
        "import hashlib; from portadnn.diff.generate import cases;"
        "print(hashlib.sha256('\\n'.join(map(str, cases(seed=11, count=1500))).encode()).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    here = hashlib.sha256("\n".join(map(str, sample[:1500])).encode()).hexdigest()
    assert out.stdout.strip() == here
    assert list(map(str, cases(seed=12, count=200))) != list(map(str, sample[:200]))


def test_asking_for_operations_data_and_sizes():
    some = list(cases(["lrn_*", "softmax_forward"], count=60, data=["ties"], mix=Mix(broken=False)))
    assert {c.line.split()[0] for c in some} == {
        "lrn_cross_channel_forward",
        "lrn_cross_channel_backward",
        "softmax_forward",
    }
    assert {c.data for c in some} == {"ties"}
    assert len(list(campaign(17))) == 17
    assert list(campaign("quick", 3))[:50] == list(cases(seed=3, count=50)) and SIZES["default"] < SIZES["full"]
    for wrong in ({"ops": ["convolve"]}, {"data": ["fuzzy"]}, {"count": -1}):
        with pytest.raises(dnn.BadParam):
            cases(**wrong)
    with pytest.raises(dnn.BadParam):
        campaign("enormous")


def test_targets_decide_what_is_asked_for():
    """Engines come from the handles; what no target claims is rare."""
    with Target.parse("reference").open() as handle:
        asked = [c for c in cases(["pooling_*"], count=200, handles=[handle]) if c.engine]
        names = {engine.name for c in asked for engine in handle.engines_for(c.problem)}
        assert asked and {c.engine for c in asked} <= names


@pytest.mark.parametrize("op", operations())
def test_what_must_fail_fails(op):
    """Each rule's call, and each general one, ends with the status that is due and leaves memory alone."""
    handles = {"reference": Target.parse("reference").open()}
    dtype = TYPES[len(op) % 4]
    wanted = sum(map(len, operations()[op].wrong.changes.values()))
    found = list(rule_cases(op, dtype))
    assert len(found) == wanted  # each can be said in a line
    found += general_cases(next(iter(cases([op], count=1))).problem)
    for case in found:
        result = examine(case, handles)
        assert result.verdict is Verdict.PASSED, f"{case}: {result.reason}"
    right = Case(operations()[op].wrong.right.join((f"{op} ", "")).format(t="f32", o="f16", p="f32", wrong="f64"))
    right.problem.validate()


def test_rules_are_broken_by_one():
    """Off by one where a rule has a bound, and with all else in order: no other check may catch it."""

    def broken(op):
        return [case.problem for case in rule_cases(op, DataType.FLOAT)]

    def result(x, window, padding, stride):
        return tuple(1 + (s + 2 * p - w) // t for s, w, p, t in zip(x, window, padding, stride, strict=True))

    pools = [p for p in broken("pooling_forward") if len(p.window) == len(p.padding) == len(p.stride) == 2]
    assert any(
        p.window[0] == p.x.dims[2] + 2 * p.padding[0] + 1
        and p.y.dims[2:] == result(p.x.dims[2:], p.window, p.padding, p.stride)
        for p in pools
        if min(p.stride) > 0
    )
    convolutions = [p for p in broken("convolution_forward") if p.groups and len(p.w.dims) == len(p.x.dims) == 4]
    assert {p.x.dims[1] - p.w.dims[1] * p.groups for p in convolutions} >= {-1, 0, 1}
    assert any(p.w.dims[0] % p.groups == 1 for p in convolutions)
    assert any(p.w.dims[2] == p.x.dims[2] + 2 * p.padding[0] + 1 and p.y.dims[2] == 0 for p in convolutions)
    assert {p.reserve_space.size for p in broken("dropout_forward")} >= {15, 16}  # 120 bits, in words of 32
    training = {p.reserve.size for p in broken("rnn_forward_training") if p.reserve is not None}
    assert any(size + 1 in training for size in training)


def test_what_must_fail_is_never_the_problem_itself():
    problem = dnn.problem.parse("reduce_tensor a=f32:2x3x1 c=f32:2x1x1 operation=amax indices=i32:2x1x1")
    assert str(problem) not in {c.line for seed in range(60) for c in general_cases(problem, seed)}


def test_outputs_overlap_by_one_element():
    problem = dnn.problem.parse("scale_tensor y=f32:2x3x4x5")
    found = {c.problem.y.strides for seed in range(60) for c in general_cases(problem, seed) if c.problem.y.overlapping}
    assert found >= {(59, 20, 5, 1), (60, 19, 5, 1), (60, 20, 4, 1), (60, 20, 5, 0), (0, 20, 5, 1)}


# drawing


def test_draws_are_spread_evenly():
    draws = Draws("evenly")
    counts = Counter(draws.integers(10) for _ in range(20_000))
    assert set(counts) == set(range(10)) and max(counts.values()) < 2300
    sizes = Counter(draws.few(33) for _ in range(6000))
    assert set(sizes) == set(range(1, 34)) and sizes[1] > 5 * sizes[20]
    assert Counter(draws.weighted((1, 0, 3)) for _ in range(4000))[1] == 0
    assert sorted(draws.shuffled(range(9))) == list(range(9))
    assert Draws(1, 23).integers(2**60) != Draws(12, 3).integers(2**60)
    assert {draws.integers(-3, 4) for _ in range(300)} == set(range(-3, 4))


@pytest.mark.parametrize("layout", (*LAYOUTS, *INPUT_ONLY))
def test_layouts_are_what_they_are_called(layout):
    spec = TensorSpec.parse(tensor(DataType.HALF, (2, 3, 4, 5), layout))
    assert spec.overlapping is (layout in INPUT_ONLY)
    if layout in ("nchw", "nhwc", "reversed"):
        assert spec.span == spec.size
    assert (spec.alignment == 2) is (layout == "shifted")
    if layout == "nhwc":
        assert spec.strides == (60, 1, 15, 3)
