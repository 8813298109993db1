"""Fusion plans: every sequence that MIOpen compiles against NumPy, and those that it refuses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from miopen_env import F, H, close, convolve, every_backend, gradient

import portadnn as dnn
from portadnn import miopen
from portadnn.miopen.fusion.plan import SEQUENCES

EPSILON = 1e-3
NUMBERS = (0.3, 1.25, 2.0)
ACTIVATIONS = {
    "RELU": lambda x: np.maximum(x, 0),
    "LEAKYRELU": lambda x: np.where(x > 0, x, NUMBERS[0] * x),
    "CLIPPEDRELU": lambda x: np.clip(x, 0, NUMBERS[0]),
    "TANH": lambda x: NUMBERS[1] * np.tanh(NUMBERS[0] * x),
    "PASTHRU": lambda x: x,
}


class Builder:
    """A plan, its arguments, and beside it what NumPy computes."""

    def __init__(self, env, x, mode="RELU", conv=None, desc=None):
        self.env, self.mode = env, mode
        self.xd, self.x = env.pair(x) if desc is None else (desc, None)
        self.plan = miopen.miopenCreateFusionPlan(miopen.miopenVerticalFusion, self.xd)
        self.args = miopen.miopenCreateOperatorArgs()
        self.value = x.astype(float)
        self.kept = []
        self.dtype = x.dtype
        self.conv = conv or {}

    def data(self, host):
        desc, memory = self.env.pair(host.astype(self.dtype))
        self.kept.append(memory)
        return desc, memory

    def add_C(self):
        pad, stride, groups = (self.conv.get(k, d) for k, d in (("pad", 1), ("stride", 1), ("groups", 1)))
        c = self.value.shape[1]
        w = self.env.random(6, c // groups, 3, 3) / 3
        wd, memory = self.data(w)
        desc = miopen.miopenCreateConvolutionDescriptor()
        miopen.miopenInitConvolutionDescriptor(desc, miopen.miopenConvolution, pad, pad, stride, stride, 1, 1)
        miopen.miopenSetConvolutionGroupCount(desc, groups)
        op = miopen.miopenCreateOpConvForward(self.plan, desc, wd)
        miopen.miopenSetOpArgsConvForward(self.args, op, 1, 0, memory)
        self.value = convolve(self.value, w.astype(self.dtype), (pad, pad), (stride, stride), groups=groups)

    def add_B(self):
        bias = self.env.random(1, self.value.shape[1], 1, 1)
        desc, memory = self.data(bias)
        op = miopen.miopenCreateOpBiasForward(self.plan, desc)
        miopen.miopenSetOpArgsBiasForward(self.args, op, 1, 0, memory)
        self.value = self.value + bias.astype(self.dtype)

    def add_N(self):
        dims = (1, self.value.shape[1], 1, 1)
        scale, bias, mean = (self.env.random(*dims) for _ in range(3))
        variance = np.abs(self.env.random(*dims)) + 0.5
        (desc, *_), memory = zip(*[self.env.pair(a) for a in (scale, bias, mean, variance)], strict=True)
        self.kept.extend(memory)
        op = miopen.miopenCreateOpBatchNormInference(self.plan, miopen.miopenBNSpatial, desc)
        miopen.miopenSetOpArgsBatchNormInference(self.args, op, 1, 0, *memory, EPSILON)
        self.value = scale * (self.value - mean) / np.sqrt(variance + EPSILON) + bias

    def add_A(self):
        op = miopen.miopenCreateOpActivationForward(self.plan, getattr(miopen, f"miopenActivation{self.mode}"))
        miopen.miopenSetOpArgsActivForward(self.args, op, 1, 0, *NUMBERS)
        self.value = ACTIVATIONS[self.mode](self.value)

    def run(self, out=None):
        miopen.miopenCompileFusionPlan(self.env.h, self.plan)
        yd, y = out or self.env.pair(np.full(self.value.shape, np.nan, self.dtype))
        ends = (self.xd, self.x, yd, y)
        miopen.miopenExecuteFusionPlan(self.env.h, self.plan, *ends, self.args)
        return self.env.host(y)


FORWARD = [letters for letters in SEQUENCES if set(letters) <= set("CBNA")]


@every_backend()
def test_forward_sequences(env):
    modes = itertools.cycle(ACTIVATIONS)
    for letters in FORWARD:
        builder = Builder(env, env.random(2, 4, 3, 4), next(modes) if "A" in letters else "")
        for letter in letters:
            getattr(builder, f"add_{letter}")()
        close(builder.run(), builder.value, atol=1e-5)


@every_backend()
@pytest.mark.parametrize("letters", ["CBA", "CNA"])
def test_strides_groups_and_half(env, letters):
    for dtype, conv in ((np.float32, {"stride": 2, "pad": 2}), (np.float32, {"groups": 2}), (np.float16, {})):
        builder = Builder(env, env.random(1, 4, 7, 5).astype(dtype), "RELU", conv)
        for letter in letters:
            getattr(builder, f"add_{letter}")()
        close(builder.run(), builder.value, *((2e-2, 1e-2) if dtype is np.float16 else (2e-5, 1e-5)))


@every_backend()
def test_channels_last(env):
    x = env.random(2, 4, 5, 6)
    desc = env.desc(2, 4, 5, 6, strides=(120, 1, 24, 4))
    builder = Builder(env, x, desc=desc)
    builder.x = env.dev(x.transpose(0, 2, 3, 1).ravel())
    for letter in "CBA":
        getattr(builder, f"add_{letter}")()
    yd, y = env.desc(2, 6, 5, 6, strides=(180, 1, 36, 6)), env.dev(np.full(360, np.nan, np.float32))
    found = builder.run((yd, y)).reshape(2, 5, 6, 6).transpose(0, 3, 1, 2)
    close(found, builder.value, atol=1e-5)


@every_backend()
@pytest.mark.parametrize("mode", ["Spatial", "PerActivation"])
@pytest.mark.parametrize("running", [True, False])
def test_training_and_its_gradient(env, mode, running):
    shape, axes = (3, 2, 4, 2), (0, 2, 3) if mode == "Spatial" else (0,)
    small = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    x, scale, bias, change = env.random(*shape), env.random(*small), env.random(*small), env.random(*shape)
    bn_mode = getattr(miopen, f"miopenBN{mode}")

    def normalised(x, scale, bias):
        mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
        z = scale * (x - mean) / np.sqrt(variance + EPSILON) + bias
        return np.where(z > 0, z, NUMBERS[0] * z)

    wide = [a.astype(float) for a in (x, scale, bias)]
    (xd, xm), (_, sm), (_, bm) = (env.pair(a) for a in (x, scale, bias))
    _, mean = env.out(*small)
    _, inverse = env.out(*small)
    _, running_mean = env.pair(np.ones(small, np.float32))
    _, running_variance = env.pair(np.ones(small, np.float32))
    yd, y = env.out(*shape)
    plan = miopen.miopenCreateFusionPlan(miopen.miopenVerticalFusion, xd)
    norm = miopen.miopenCreateOpBatchNormForward(plan, bn_mode, running)
    act = miopen.miopenCreateOpActivationForward(plan, miopen.miopenActivationLEAKYRELU)
    args = miopen.miopenCreateOperatorArgs()
    averages = (running_mean, running_variance)
    miopen.miopenSetOpArgsBatchNormForward(args, norm, 1, 0, sm, bm, mean, inverse, *averages, 0.25, EPSILON)
    miopen.miopenSetOpArgsActivForward(args, act, 1, 0, *NUMBERS)
    miopen.miopenCompileFusionPlan(env.h, plan)
    miopen.miopenExecuteFusionPlan(env.h, plan, xd, xm, yd, y, args)
    close(env.host(y), normalised(*wide), atol=1e-5)
    close(env.host(mean), wide[0].mean(axes, keepdims=True), atol=1e-5)
    close(env.host(inverse), 1 / np.sqrt(wide[0].var(axes, keepdims=True) + EPSILON), rtol=1e-4)
    wanted = 0.75 + 0.25 * wide[0].mean(axes, keepdims=True) if running else np.ones(small)
    close(env.host(running_mean), wanted, atol=1e-5)

    back = miopen.miopenCreateFusionPlan(miopen.miopenVerticalFusion, yd)
    norm = miopen.miopenCreateOpBatchNormBackward(back, bn_mode)
    act = miopen.miopenCreateOpActivationBackward(back, miopen.miopenActivationLEAKYRELU)
    args = miopen.miopenCreateOperatorArgs()
    (_, ds), (_, db), (dxd, dx), (_, dy) = env.out(*small), env.out(*small), env.out(*shape), env.pair(change)
    miopen.miopenSetOpArgsBatchNormBackward(args, norm, 1, 0, xm, sm, bm, ds, db, mean, inverse)
    miopen.miopenSetOpArgsActivBackward(args, act, 1, 0, y, None, *NUMBERS)
    miopen.miopenCompileFusionPlan(env.h, back)
    miopen.miopenExecuteFusionPlan_v2(env.h, back, yd, dy, dxd, dx, args, None, 0)
    for i, found in enumerate((dx, ds, db)):

        def varied(value, i=i):
            return [normalised(*wide[:i], value, *wide[i + 1 :])]

        close(env.host(found), gradient(varied, wide[i], [change.astype(float)]), rtol=1e-3, atol=1e-4)


def add(plan, letter, xd):
    conv = miopen.miopenCreateConvolutionDescriptor()
    miopen.miopenInitConvolutionDescriptor(conv, miopen.miopenConvolution, 1, 1, 1, 1, 1, 1)
    made = {}
    for name, dims in (("w", (4, 4, 3, 3)), ("small", (1, 4, 1, 1))):
        made[name] = miopen.miopenCreateTensorDescriptor()
        miopen.miopenSet4dTensorDescriptor(made[name], F, *dims)
    return {
        "C": lambda: miopen.miopenCreateOpConvForward(plan, conv, made["w"]),
        "B": lambda: miopen.miopenCreateOpBiasForward(plan, made["small"]),
        "A": lambda: miopen.miopenCreateOpActivationForward(plan, miopen.miopenActivationRELU),
        "D": lambda: miopen.miopenCreateOpActivationBackward(plan, miopen.miopenActivationRELU),
        "N": lambda: miopen.miopenCreateOpBatchNormInference(plan, miopen.miopenBNSpatial, made["small"]),
        "T": lambda: miopen.miopenCreateOpBatchNormForward(plan, miopen.miopenBNSpatial, True),
        "G": lambda: miopen.miopenCreateOpBatchNormBackward(plan, miopen.miopenBNSpatial),
    }[letter]()


# The sequences of at most four operations that the solvers of src/solver compile and whose kernels keep the order.
COMPILED = {"C", "CB", "CA", "CBA", "CN", "CNA", "CBN", "CBNA", "NA", "TA", "GD"}


@every_backend()
def test_sequences_that_are_refused(env):
    """All sequences of up to three operations, and some of four."""
    xd = env.desc(2, 4, 5, 6)
    sequences = ["".join(s) for n in (1, 2, 3) for s in itertools.product("CBANTGD", repeat=n)]
    for letters in [*sequences, "CBNA", "CNBA", "CBAN", "CBNC"]:
        plan = miopen.miopenCreateFusionPlan(miopen.miopenVerticalFusion, xd)
        for letter in letters:
            add(plan, letter, xd)
        if letters in COMPILED:
            miopen.miopenCompileFusionPlan(env.h, plan)
            continue
        with pytest.raises(dnn.NotSupported, match="no kernel for these operations") as caught:
            miopen.miopenCompileFusionPlan(env.h, plan)
        assert caught.value.status is miopen.miopenStatusUnsupportedOp


def test_operations_algorithms_and_sizes(env):
    xd = env.desc(2, 4, 5, 6)
    plan = miopen.miopenCreateFusionPlan(miopen.miopenVerticalFusion, xd)
    ops = [add(plan, letter, xd) for letter in "CBA"]
    assert [miopen.miopenFusionPlanGetOp(plan, i) for i in range(3)] == ops
    with pytest.raises(dnn.BadParam, match="a place below 3"):
        miopen.miopenFusionPlanGetOp(plan, 3)
    direct, winograd = miopen.miopenConvolutionFwdAlgoDirect, miopen.miopenConvolutionFwdAlgoWinograd
    assert miopen.miopenFusionPlanConvolutionGetAlgo(plan, 5) == (2, (direct, winograd))
    assert miopen.miopenFusionPlanConvolutionGetAlgo(plan, 1) == (1, (direct,))
    assert miopen.miopenFusionPlanGetWorkSpaceSize(env.h, plan, direct) == 0
    with pytest.raises(dnn.NotSupported) as caught:
        miopen.miopenCreateFusionPlan(miopen.miopenHorizontalFusion, xd)
    assert caught.value.status is miopen.miopenStatusNotImplemented
    with pytest.raises(dnn.BadParam, match=r"wDesc|filterDesc|w\.dims|channels"):
        wrong = miopen.miopenCreateTensorDescriptor()
        miopen.miopenSet4dTensorDescriptor(wrong, F, 4, 3, 3, 3)
        conv = miopen.miopenCreateConvolutionDescriptor()
        miopen.miopenInitConvolutionDescriptor(conv, miopen.miopenConvolution, 1, 1, 1, 1, 1, 1)
        miopen.miopenCreateOpConvForward(plan, conv, wrong)
    with pytest.raises(dnn.BadParam, match=r"\(1, 4, 1, 1\)"):
        wrong = miopen.miopenCreateTensorDescriptor()
        miopen.miopenSet4dTensorDescriptor(wrong, F, 1, 5, 1, 1)
        miopen.miopenCreateOpBiasForward(plan, wrong)
    assert len([miopen.miopenFusionPlanGetOp(plan, i) for i in range(3)]) == 3  # failed calls added nothing


@every_backend()
def test_algorithms(env):
    """A convolution that Winograd takes, and one that it does not: NumPy takes all by every name."""
    for stride, refused in ((1, False), (3, True)):
        builder = Builder(env, env.random(1, 4, 8, 8), conv={"stride": stride})
        for letter in "CBA":
            getattr(builder, f"add_{letter}")()
        miopen.miopenFusionPlanConvolutionSetAlgo(builder.plan, miopen.miopenConvolutionFwdAlgoWinograd)
        if refused and env.h.backend != "reference":
            with pytest.raises(dnn.NotSupported) as caught:
                builder.run()
            assert caught.value.status is miopen.miopenStatusUnsupportedOp
        else:
            close(builder.run(), builder.value, rtol=1e-4, atol=1e-4)


@every_backend()
def test_a_plan_runs_again_with_other_arguments(env):
    """Filters that are set anew count, however often the plan ran before."""
    builder = Builder(env, env.random(1, 4, 6, 6), "PASTHRU")
    builder.add_C()
    builder.add_B()
    out = env.out(1, 6, 6, 6)
    first = [builder.run(out).copy() for _ in range(4)]
    for found in first:
        close(found, builder.value, atol=1e-5)
    op = miopen.miopenFusionPlanGetOp(builder.plan, 1)
    miopen.miopenSetOpArgsBiasForward(builder.args, op, 1, 0, env.dev(np.zeros((1, 6, 1, 1), np.float32)))
    ends = (builder.xd, builder.x, *out)
    for _ in range(3):
        miopen.miopenExecuteFusionPlan(env.h, builder.plan, *ends, builder.args)
    bias = env.host(builder.kept[1])
    close(env.host(out[1]), builder.value - bias, atol=1e-5)


@every_backend()
def test_what_execution_demands(env):
    builder = Builder(env, env.random(1, 4, 6, 6))
    builder.add_C()
    yd, y = env.out(1, 6, 6, 6)
    before = env.host(y).copy()
    run = (env.h, builder.plan, builder.xd, builder.x, yd, y, builder.args)
    with pytest.raises(dnn.BadParam, match="compiled for this handle"):
        miopen.miopenExecuteFusionPlan(*run)
    miopen.miopenCompileFusionPlan(env.h, builder.plan)
    miopen.miopenExecuteFusionPlan(*run)
    builder.add_B()  # another compilation
    with pytest.raises(dnn.BadParam, match="compiled for this handle"):
        miopen.miopenExecuteFusionPlan(*run)
    miopen.miopenCompileFusionPlan(env.h, builder.plan)
    with pytest.raises(dnn.BadParam, match=r"outputDesc.*the plan's"):
        miopen.miopenExecuteFusionPlan(*run[:4], env.desc(1, 6, 6, 5), y, builder.args)
    with pytest.raises(dnn.BadParam, match=r"miopenSetOpArgsConvForward at place 0, got none"):
        miopen.miopenExecuteFusionPlan(*run[:-1], miopen.miopenCreateOperatorArgs())
    with pytest.raises(dnn.BadParam, match="miopenCreateOpBiasForward"):
        op = miopen.miopenFusionPlanGetOp(builder.plan, 0)
        miopen.miopenSetOpArgsBiasForward(builder.args, op, 1, 0, y)
    other = miopen.miopenCreate(backend="reference")
    with pytest.raises(dnn.BadParam, match="compiled for this handle"):
        miopen.miopenExecuteFusionPlan(other, *run[1:])
    miopen.miopenDestroy(other)
    miopen.miopenDestroyOperatorArgs(builder.args)
    with pytest.raises(dnn.BadParam, match="destroyed"):
        miopen.miopenExecuteFusionPlan(*run)
    miopen.miopenDestroyFusionPlan(builder.plan)
    with pytest.raises(dnn.BadParam, match="destroyed"):
        miopen.miopenExecuteFusionPlan(*run)
    assert before.shape == env.host(y).shape


@every_backend()
def test_statistics_that_training_needs(env):
    plan = miopen.miopenCreateFusionPlan(miopen.miopenVerticalFusion, env.desc(2, 4, 5, 6, dtype=H))
    op = miopen.miopenCreateOpBatchNormForward(plan, miopen.miopenBNSpatial, True)
    args = miopen.miopenCreateOperatorArgs()
    _, small = env.out(1, 4, 1, 1)
    with pytest.raises(dnn.BadParam, match="runningMean"):
        miopen.miopenSetOpArgsBatchNormForward(args, op, 1, 0, small, small, None, None, None, None, 0.1, 1e-5)
    with pytest.raises(dnn.BadParam, match="both of the pair"):
        miopen.miopenSetOpArgsBatchNormForward(args, op, 1, 0, small, small, small, None, small, small, 0.1, 1e-5)
