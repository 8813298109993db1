"""Sequences of calls that public programs make of MIOpen, on small tensors: what one of them refuses is an error.

Each test names its program and says what is particular to it; values are compared with NumPy.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from miopen_env import F, close, convolve, every_backend, recurrent

import portadnn as dnn
from portadnn import miopen

TRAINING = miopen.miopenRNNTraining


@every_backend()
@pytest.mark.parametrize("directions", [1, 2])
def test_jax_lstm(env, directions):
    """jaxlib/gpu/rnn_kernels.cc: descriptors of dropout 0, a padding marker, lengths that the data brings."""
    h, steps, batch, features, hidden, layers = env.h, 5, 3, 4, 3, 2
    dropout, size = miopen.miopenCreateDropoutDescriptor(), miopen.miopenDropoutGetStatesSize(h)
    options = (0.0, h.empty_bytes(size), size, 123, False, False, miopen.MIOPEN_RNG_PSEUDO_XORWOW)
    miopen.miopenSetDropoutDescriptor(dropout, h, *options)
    rnn = miopen.miopenCreateRNNDescriptor()
    modes = (miopen.miopenRNNlinear, directions - 1, miopen.miopenLSTM, miopen.miopenRNNwithBias)
    miopen.miopenSetRNNDescriptor_V2(rnn, hidden, layers, dropout, *modes, miopen.miopenRNNdefault, F)

    def sequences(width, lengths):
        desc, layout = miopen.miopenCreateSeqTensorDescriptor(), miopen.miopenRNNDataSeqMajorPadded
        miopen.miopenSetRNNDataSeqTensorDescriptor(desc, F, layout, steps, batch, width, lengths, 0.0)
        return desc

    work, reserve = miopen.miopenGetRNNTempSpaceSizes(h, rnn, sequences(features, [steps] * batch), TRAINING)
    lengths, width = [3, 5, 0], hidden * directions
    xd, yd = sequences(features, lengths), sequences(width, lengths)
    state, step = env.desc(directions * layers, batch, hidden), env.desc(batch, features)
    count = miopen.miopenGetRNNParamsSize(h, rnn, step, F) // 4
    host = env.random(count) * np.float32(0.3)
    w = env.dev(host)
    matrices, biases = {}, {}
    for pseudo, number in itertools.product(range(directions * layers), range(8)):
        inputs = features if pseudo < directions else width
        part, dims = env.desc(1), (hidden, inputs if number < 4 else hidden)
        place = miopen.miopenGetRNNLayerParamOffset(rnn, pseudo, step, number, part)
        matrices[pseudo, number] = host[place : place + dims[0] * dims[1]].reshape(dims)
        place = miopen.miopenGetRNNLayerBiasOffset(rnn, pseudo, step, number, part)
        biases[pseudo, number] = host[place : place + hidden]
    dims = (directions * layers, batch, hidden)
    x, hx, cx = env.random(steps, batch, features), env.random(*dims), env.random(*dims)
    given, first, cells = (env.dev(a) for a in (x, hx, cx))
    y, hy, cy = env.out(steps, batch, width)[1], env.out(*dims)[1], env.out(*dims)[1]
    scratch = (h.empty_bytes(work), work, h.empty_bytes(reserve), reserve)
    states = (state, first, hy, state, cells, cy)
    miopen.miopenRNNForward(h, rnn, TRAINING, xd, given, *states, yd, y, w, 4 * count, *scratch)
    for i, length in enumerate(lengths):
        if not length:
            assert not env.host(hy)[:, i].any()
            continue
        own = (x[:length, i : i + 1], hx[:, i : i + 1], cx[:, i : i + 1])
        want, last, cell = recurrent("lstm", *own, matrices, biases, directions)
        close(env.host(y)[:length, i], want[:, 0])
        close(env.host(hy)[:, i], last[:, 0])
        close(env.host(cy)[:, i], cell[:, 0])
    dx, dhx, dcx = env.out(*x.shape)[1], env.out(*dims)[1], env.out(*dims)[1]
    dhy, dcy, dy, dw = (env.dev(env.random(*d)) for d in (dims, dims, (steps, batch, width), (count,)))
    gradients = (state, first, dhy, dhx, state, cells, dcy, dcx, xd, dx)
    miopen.miopenRNNBackwardSeqData(h, rnn, yd, y, dy, *gradients, w, 4 * count, *scratch)
    miopen.miopenRNNBackwardWeightsSeqTensor(h, rnn, xd, given, state, first, yd, y, dw, 4 * count, *scratch)
    assert np.isfinite(env.host(dw)).all()
    assert not env.host(dx)[3:, 0].any()


@every_backend()
def test_onednn_convolution(env):
    """oneDNN, gpu/amd: one dim as two, a solution without workspace, and the bias with alpha1 = 0 and beta = 1."""
    h, pad, one = env.h, (0, 1), (1, 1)
    for groups in (1, 2):
        conv = miopen.miopenCreateConvolutionDescriptor()
        miopen.miopenInitConvolutionNdDescriptor(conv, 2, pad, one, one, miopen.miopenConvolution)
        if groups > 1:
            miopen.miopenSetConvolutionGroupCount(conv, groups)
        x, w, b = env.random(2, 4, 1, 9), env.random(6, 4 // groups, 1, 3), env.random(1, 6, 1, 1)
        (xd, xs), (wd, ws), (bd, bs) = env.pair(x), env.pair(w), env.pair(b)
        count, dims = miopen.miopenGetConvolutionNdForwardOutputDim(conv, xd, wd)
        assert count == 4
        yd, y = env.out(*dims)
        count = miopen.miopenConvolutionForwardGetSolutionCount(h, wd, xd, conv, yd)
        _, found = miopen.miopenConvolutionForwardGetSolution(h, wd, xd, conv, yd, count)
        number = next(one for one in found if not one.workspace_size).solution_id
        assert miopen.miopenConvolutionForwardGetSolutionWorkspaceSize(h, wd, xd, conv, yd, number) == 0
        miopen.miopenConvolutionForwardCompileSolution(h, wd, xd, conv, yd, number)
        miopen.miopenConvolutionForwardImmediate(h, wd, ws, xd, xs, conv, yd, y, None, 0, number)
        miopen.miopenOpTensor(h, miopen.miopenTensorOpAdd, 0.0, yd, y, 1.0, bd, bs, 1.0, yd, y)
        miopen.miopenScaleTensor(h, yd, y, 2.0)
        close(env.host(y), 2 * (convolve(x, w, pad, groups=groups) + b))


@every_backend()
@pytest.mark.parametrize("kind", ["miopenFloat", "miopenHalf", "miopenInt8", "miopenInt32"])
def test_onednn_reorder(env, kind):
    """oneDNN's reorder primitive: miopenTransformTensor between layouts of one type, integers as well."""
    dtype = {"miopenFloat": "f4", "miopenHalf": "f2", "miopenInt8": "i1", "miopenInt32": "i4"}[kind]
    host = env.rng.integers(-100, 100, (2, 4, 3, 5)).astype(dtype)
    if kind == "miopenInt32":
        host[0, 0, 0] = [2**31 - 1, -(2**31), 2**24 + 1, 0, -1]
    xd, yd = (env.desc(2, 4, 3, 5, dtype=getattr(miopen, kind), strides=s) for s in ((60, 15, 5, 1), (60, 1, 20, 4)))
    y = env.h.device.asarray(np.zeros((2, 3, 5, 4), dtype))
    miopen.miopenTransformTensor(env.h, 1.0, xd, env.h.device.asarray(host), 0.0, yd, y)
    np.testing.assert_array_equal(env.host(y), host.transpose(0, 2, 3, 1))


@every_backend()
@pytest.mark.parametrize("kind", ["miopenInt8", "miopenInt32"])
def test_integers_are_set_and_scaled(env, kind):
    """src/ocl/tensorocl.cpp: SetTensor takes integers of both sizes, ScaleTensor and sums those of 32 bits."""
    dtype, number = ("i1", 100) if kind == "miopenInt8" else ("i4", 2**30 + 4)
    desc = env.desc(2, 3, 4, dtype=getattr(miopen, kind), strides=(24, 8, 2))
    y = env.h.device.asarray(np.full((2, 3, 8), 7, dtype))
    miopen.miopenSetTensor(env.h, desc, y, number)
    assert (env.host(y)[..., ::2] == number).all() and (env.host(y)[..., 1::2] == 7).all()
    miopen.miopenScaleTensor(env.h, desc, y, -0.5)
    assert (env.host(y)[..., ::2] == -number // 2).all() and (env.host(y)[..., 1::2] == 7).all()
    if kind == "miopenInt32":
        x = env.h.device.asarray(np.full((2, 3, 8), 5, dtype))
        miopen.miopenTransformTensor(env.h, 3.0, desc, x, 2.0, desc, y)
        assert (env.host(y)[..., ::2] == 15 - number).all() and (env.host(y)[..., 1::2] == 7).all()


@every_backend()
def test_channels_of_bytes_are_padded(env):
    """MIOpen's own tests of int8: channels up to the next multiple of 4, whose rest is 0, and back."""
    host = env.rng.integers(-128, 128, (2, 5, 3, 2)).astype(np.int8)
    kind = {"dtype": miopen.miopenInt8}
    narrow, wide = env.desc(2, 5, 3, 2, **kind), env.desc(2, 8, 3, 2, **kind)
    x, y = env.h.device.asarray(host), env.h.device.asarray(np.full((2, 8, 3, 2), 77, np.int8))
    miopen.miopenTransformTensor(env.h, 1.0, narrow, x, 0.0, wide, y)
    np.testing.assert_array_equal(env.host(y), np.pad(host, [(0, 0), (0, 3), (0, 0), (0, 0)]))
    back = env.h.device.asarray(np.zeros_like(host))
    miopen.miopenTransformTensor(env.h, 1.0, wide, y, 0.0, narrow, back)
    np.testing.assert_array_equal(env.host(back), host)
    with pytest.raises(dnn.NotSupported, match="alpha") as caught:
        miopen.miopenTransformTensor(env.h, 2.0, narrow, x, 0.0, wide, y)
    assert caught.value.status is miopen.miopenStatusNotImplemented
    with pytest.raises(dnn.BadParam, match="8 channels of 3"):
        miopen.miopenTransformTensor(env.h, 1.0, env.desc(2, 3, 3, 2, **kind), x, 0.0, wide, y)


@every_backend()
@pytest.mark.parametrize("spatial", [2, 3])
@pytest.mark.parametrize("mode", ["miopenPoolingMax", "miopenPoolingAverage", "miopenPoolingAverageInclusive"])
def test_onednn_pooling(env, mode, spatial):
    """oneDNN's pooling: a workspace in front of other memory, whatever the mode, and 0 bytes of it in inference."""
    pool = miopen.miopenCreatePoolingDescriptor()
    sizes = ((2,) * spatial, (1,) * spatial, (2,) * spatial)
    miopen.miopenSetNdPoolingDescriptor(pool, getattr(miopen, mode), spatial, *sizes)
    miopen.miopenSetPoolingIndexType(pool, miopen.miopenIndexUint32)
    miopen.miopenSetPoolingWorkSpaceIndexMode(pool, miopen.miopenPoolingWorkspaceIndexImage)
    xd, x = env.pair(env.random(2, 3, *(6,) * spatial))
    yd, y = env.out(*miopen.miopenGetPoolingNdForwardOutputDim(pool, xd, spatial + 2))
    size = miopen.miopenPoolingGetWorkSpaceSizeV2(pool, yd)
    workspace = env.h.empty_bytes(size + 4096)
    miopen.miopenPoolingForward(env.h, pool, 1.0, xd, x, 0.0, yd, y, True, workspace, size)
    first = env.host(y).copy()
    dx = env.out(2, 3, *(6,) * spatial)[1]
    miopen.miopenPoolingBackward(env.h, pool, 1.0, yd, y, yd, y, xd, x, 0.0, xd, dx, workspace)
    if mode != "miopenPoolingAverage":  # windows of 2 with stride 2 share no cell
        weight = 1 if mode == "miopenPoolingMax" else 2**-spatial
        assert np.isclose((env.host(dx).astype(float) ** 2).sum(), weight * (first.astype(float) ** 2).sum(), rtol=0.7)
    miopen.miopenPoolingForward(env.h, pool, 1.0, xd, x, 0.0, yd, y, False, env.h.empty_bytes(0), 0)
    np.testing.assert_array_equal(env.host(y), first)


@every_backend()
def test_onednn_batch_normalization(env):
    """oneDNN: the variance is scaled afterwards, ReLU works in place, and its gradient reads what was saved as x."""
    h, dims = env.h, (2, 3, 4, 5)
    x = env.random(*dims)
    (xd, xs), small = env.pair(x), miopen.miopenCreateTensorDescriptor()
    miopen.miopenDeriveBNTensorDescriptor(small, xd, miopen.miopenBNSpatial)
    ones, mean, var, saved, inverse, shift = (env.dev(np.full(3, v, np.float32)) for v in (1, 0, 1, 0, 0, 0))
    y, kept, dx, dz = (env.out(*dims)[1] for _ in range(4))
    blend, norm = (miopen.miopenBNSpatial, 1.0, 0.0), (small, ones, shift, 1.0, mean, var, 1e-5, saved, inverse)
    miopen.miopenBatchNormalizationForwardTraining(h, *blend, xd, xs, xd, y, *norm)
    miopen.miopenScaleTensor(h, small, var, 39 / 40)
    close(env.host(var), x.astype(float).var((0, 2, 3)), rtol=1e-4)
    relu = miopen.miopenCreateActivationDescriptor()
    miopen.miopenSetActivationDescriptor(relu, miopen.miopenActivationRELU, 1.0, 0.0, 0.0)
    miopen.miopenOpTensor(h, miopen.miopenTensorOpAdd, 1.0, xd, y, 0.0, xd, y, 0.0, xd, kept)
    miopen.miopenActivationForward(h, relu, 1.0, xd, y, 0.0, xd, y)
    z = (x - x.mean((0, 2, 3), keepdims=True)) / np.sqrt(x.astype(float).var((0, 2, 3), keepdims=True) + 1e-5)
    close(env.host(kept), z, rtol=1e-3, atol=1e-5)
    close(env.host(y), np.maximum(z, 0), rtol=1e-3, atol=1e-5)
    miopen.miopenActivationBackward(h, relu, 1.0, xd, kept, xd, xs, xd, kept, 0.0, xd, dz)
    dw, db = (env.out(3)[1] for _ in range(2))
    rest = (small, ones, dw, db, 1e-5, saved, inverse)
    miopen.miopenBatchNormalizationBackward(h, *blend, 1.0, 0.0, xd, xs, xd, dz, xd, dx, *rest)
    close(env.host(db), np.where(z > 0, x, 0).sum((0, 2, 3)), rtol=1e-3, atol=1e-5)


@every_backend()
def test_onednn_reduction(env):
    """A type of indices that does not matter, because none are asked for, is taken and given back."""
    x = env.random(2, 3, 4, 5)
    a, c = env.pair(x), env.out(2, 1, 4, 1)
    for op, want in (("ADD", x.sum((1, 3))), ("MAX", x.max((1, 3))), ("NORM2", np.sqrt((x**2).sum((1, 3))))):
        reduce = miopen.miopenCreateReduceTensorDescriptor()
        none = (miopen.MIOPEN_NOT_PROPAGATE_NAN, miopen.MIOPEN_REDUCE_TENSOR_NO_INDICES, miopen.MIOPEN_8BIT_INDICES)
        setting = (getattr(miopen, f"MIOPEN_REDUCE_TENSOR_{op}"), F, *none)
        miopen.miopenSetReduceTensorDescriptor(reduce, *setting)
        assert miopen.miopenGetReduceTensorDescriptor(reduce) == setting
        size = miopen.miopenGetReductionWorkspaceSize(env.h, reduce, a[0], c[0])
        scratch = (env.h.empty_bytes(size) if size else None, size)
        miopen.miopenReduceTensor(env.h, reduce, None, 0, *scratch, 1.0, *a, 0.0, *c)
        close(env.host(c[1])[:, 0, :, 0], want)
    half = (miopen.MIOPEN_REDUCE_TENSOR_MAX, miopen.miopenHalf, *none)  # MIOpen's tests compare halves in half
    miopen.miopenSetReduceTensorDescriptor(reduce, *half)
    assert miopen.miopenGetReduceTensorDescriptor(reduce) == half
    x = env.random(2, 3, 4, 5, dtype=miopen.miopenHalf)
    a, c = env.pair(x), env.out(2, 1, 4, 1, dtype=miopen.miopenHalf)
    miopen.miopenReduceTensor(env.h, reduce, None, 0, None, 0, 1.0, *a, 0.0, *c)
    np.testing.assert_array_equal(env.host(c[1])[:, 0, :, 0], x.max((1, 3)))
    with pytest.raises(dnn.NotSupported, match="8BIT"):
        flat = (miopen.MIOPEN_REDUCE_TENSOR_FLATTENED_INDICES, miopen.MIOPEN_8BIT_INDICES)
        miopen.miopenSetReduceTensorDescriptor(reduce, *setting[:3], *flat)


@every_backend()
def test_dihydrogen(env):
    """Its outputs are blended in place of B, and a pooling's index type is set before the pooling and after."""
    x, y = env.random(2, 3, 4, 5), env.random(2, 3, 4, 5)
    (desc, a), b = env.pair(x), env.dev(y)
    miopen.miopenOpTensor(env.h, miopen.miopenTensorOpAdd, 2.0, desc, a, 0.5, desc, b, 0.0, desc, b)
    close(env.host(b), 2 * x.astype(float) + 0.5 * y)
    pool = miopen.miopenCreatePoolingDescriptor()
    miopen.miopenSetPoolingIndexType(pool, miopen.miopenIndexUint64)
    window = ((2, 2, 2), (0, 0, 0), (2, 2, 2))
    miopen.miopenSetNdPoolingDescriptor(pool, miopen.miopenPoolingMax, 3, *window)
    assert miopen.miopenGetPoolingIndexType(pool) is miopen.miopenIndexUint8  # as MIOpen sets it
    miopen.miopenSetPoolingIndexType(pool, miopen.miopenIndexUint64)
    assert miopen.miopenGetPoolingIndexType(pool) is miopen.miopenIndexUint64
    assert miopen.miopenGetNdPoolingDescriptor(pool, 3) == (miopen.miopenPoolingMax, 3, *window)


@every_backend()
def test_fused_grouped_convolution_in_nhwc(env):
    """A grouped convolution of bfloat16 in NHWC is fused with bias and clipped ReLU; the plan is made twice."""
    h, nhwc, kind = env.h, miopen.miopenTensorNHWC, miopen.miopenBFloat16
    conv = miopen.miopenCreateConvolutionDescriptor()
    miopen.miopenInitConvolutionNdDescriptor(conv, 2, (0, 0), (2, 2), (1, 1), miopen.miopenConvolution)
    miopen.miopenSetConvolutionGroupCount(conv, 4)
    xd, wd, yd, bd = (miopen.miopenCreateTensorDescriptor() for _ in range(4))
    miopen.miopenSetNdTensorDescriptorWithLayout(xd, kind, nhwc, (2, 8, 9, 9), 4)
    args = miopen.miopenCreateOperatorArgs()
    miopen.miopenCreateFusionPlan(miopen.miopenVerticalFusion, xd)
    miopen.miopenSetNdTensorDescriptorWithLayout(wd, kind, nhwc, (16, 2, 3, 3), 4)
    _, dims = miopen.miopenGetConvolutionNdForwardOutputDim(conv, xd, wd)
    miopen.miopenSetNdTensorDescriptorWithLayout(yd, kind, nhwc, dims, 4)
    miopen.miopenSetTensorDescriptor(bd, kind, 4, (1, dims[1], 1, 1), None)
    plan = miopen.miopenCreateFusionPlan(miopen.miopenVerticalFusion, xd)
    first = miopen.miopenCreateOpConvForward(plan, conv, wd)
    second = miopen.miopenCreateOpBiasForward(plan, bd)
    third = miopen.miopenCreateOpActivationForward(plan, miopen.miopenActivationCLIPPEDRELU)
    x, w, b = (env.rng.integers(-2, 3, d).astype(np.float32) for d in ((2, 9, 9, 8), (16, 3, 3, 2), (16,)))
    memory = [h.asarray(a, "bfloat16") for a in (x, w, b, np.zeros((2, 4, 4, 16)))]
    miopen.miopenSetOpArgsConvForward(args, first, 1.0, 0.0, memory[1])
    miopen.miopenSetOpArgsBiasForward(args, second, 1.0, 0.0, memory[2])
    miopen.miopenSetOpArgsActivForward(args, third, 1.0, 0.0, 3.0, 1.0, 0.0)
    miopen.miopenCompileFusionPlan(h, plan)
    miopen.miopenExecuteFusionPlan(h, plan, xd, memory[0], yd, memory[3], args)
    want = convolve(x.transpose(0, 3, 1, 2), w.transpose(0, 3, 1, 2), stride=(2, 2), groups=4) + b[:, None, None]
    np.testing.assert_array_equal(env.host(memory[3]).astype(float).transpose(0, 3, 1, 2), np.clip(want, 0, 3))


@every_backend()
def test_amdgpu_jl(env):
    """AMDGPU.jl: activations of matrices, and the normalisation of each feature of a matrix."""
    x = env.random(3, 4)
    (desc, xs), y = env.pair(x), env.out(3, 4)[1]
    activation = miopen.miopenCreateActivationDescriptor()
    functions = {
        "RELU": np.maximum(x, 0),
        "LEAKYRELU": np.where(x > 0, x, 0.25 * x),
        "ELU": np.where(x > 0, x, 0.25 * np.expm1(x)),
        "CLIPPEDRELU": np.clip(x, 0, 0.25),
        "ABS": np.abs(x),
        "LOGISTIC": 1 / (1 + np.exp(-x)),
        "SOFTRELU": np.log1p(np.exp(x)),
    }
    for name, want in functions.items():
        miopen.miopenSetActivationDescriptor(activation, getattr(miopen, f"miopenActivation{name}"), 0.25, 0.0, 0.0)
        miopen.miopenActivationForward(env.h, activation, 1.0, desc, xs, 0.0, desc, y)
        close(env.host(y), want, rtol=1e-4)
    image, small = env.desc(3, 4, 1, 1), miopen.miopenCreateTensorDescriptor()
    mode = miopen.miopenBNPerActivation
    miopen.miopenDeriveBNTensorDescriptor(small, image, mode)
    ones, mean, var, saved, inverse, shift = (env.dev(np.full(4, v, np.float32)) for v in (1, 0, 1, 0, 0, 0))
    norm = (small, ones, shift, 1.0, mean, var, 1e-5, saved, inverse)
    miopen.miopenBatchNormalizationForwardTraining(env.h, mode, 1.0, 0.0, image, xs, image, y, *norm)
    close(env.host(y), (x - x.mean(0)) / np.sqrt(x.astype(float).var(0) + 1e-5), rtol=1e-3, atol=1e-5)


@every_backend()
@pytest.mark.parametrize("direction", ["Forward", "Backward", "BackwardWeights"])
def test_hipdnn_plugin(env, direction):
    """hipDNN's MIOpen plugin: a problem without options, the best solution alone, and tensors without descriptors."""
    conv = miopen.miopenCreateConvolutionDescriptor()
    miopen.miopenInitConvolutionNdDescriptor(conv, 2, (1, 1), (1, 1), (1, 1), miopen.miopenConvolution)
    problem = miopen.miopenCreateConvProblem(conv, getattr(miopen, f"miopenProblemDirection{direction}"))
    x, w, y = env.random(2, 3, 5, 5), env.random(4, 3, 3, 3), env.random(2, 4, 5, 5)
    arguments = []
    for name, host in (("X", x), ("W", w), ("Y", y)):
        id = getattr(miopen, f"miopenTensorConvolution{name}")
        desc, data = env.pair(host)
        miopen.miopenSetProblemTensorDescriptor(problem, id, desc)
        arguments.append(miopen.miopenTensorArgument_t(id, None, data))
    (solution,), count = miopen.miopenFindSolutions(env.h, problem, None, 1)
    size = miopen.miopenGetSolutionWorkspaceSize(solution)
    scratch = (env.h.empty_bytes(size) if size else None, size)
    miopen.miopenRunSolution(env.h, solution, 3, arguments, *scratch)
    assert count == 1
    found = [env.host(argument.buffer).astype(float) for argument in arguments]
    # <y, conv(x, w)> is the same number whichever of the three was computed from the other two
    product = np.vdot(y, convolve(x, w, (1, 1)))
    want = {"Forward": np.vdot(convolve(x, w, (1, 1)), y), "Backward": product, "BackwardWeights": product}[direction]
    given = {"Forward": (2, y), "Backward": (0, x), "BackwardWeights": (1, w)}[direction]
    np.testing.assert_allclose(np.vdot(found[given[0]], given[1]), want, rtol=1e-4)
