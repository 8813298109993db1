"""The names of cuDNN 6 to 9 that real programs use: the later forms agree with the guide's, and with formulas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cudnn_world import World
from helper import everywhere

import portadnn as dnn
from portadnn import cudnn

RNG = np.random.default_rng(7)
X = RNG.standard_normal((3, 4, 5, 2)).astype(np.float32)
DY, Z = (RNG.standard_normal(X.shape).astype(np.float32) for _ in range(2))
SCALE, BIAS, RUNNING = (RNG.standard_normal((1, 4, 1, 1)).astype(np.float32) for _ in range(3))
EPSILON = 1e-3


def scripts(part: int):
    """Return the lines of a part of cudnn_later.txt."""
    text = Path(__file__).with_name("cudnn_later.txt").read_text(encoding="utf-8")
    found = text.split("\n# ")[part].splitlines()[1:]
    return [pytest.param(line, id=line.split()[0]) for line in found if line]


SCRIPTS, UNSUPPORTED = scripts(1), scripts(2)


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_is_set_comes_back(reference, script):
    World(reference).run(script)


@pytest.mark.parametrize("script", UNSUPPORTED)
def test_what_is_valid_and_not_there_is_not_supported(reference, script):
    with pytest.raises(dnn.NotSupported, match=script.split()[0]):
        World(reference).run(script)


def descriptor(dims, create=cudnn.cudnnCreateTensorDescriptor):
    desc = create()
    if create is cudnn.cudnnCreateTensorDescriptor:
        strides = [int(np.prod(dims[i + 1 :])) for i in range(len(dims))]
        cudnn.cudnnSetTensorNdDescriptor(desc, cudnn.CUDNN_DATA_FLOAT, len(dims), dims, strides)
    else:
        cudnn.cudnnSetFilterNdDescriptor(desc, cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_TENSOR_NCHW, len(dims), dims)
    return desc


# Reductions and fused convolutions ----------------------------------------------------------------


@everywhere()
def test_reduction_with_indices(handle):
    reduce = cudnn.cudnnCreateReduceTensorDescriptor()
    settings = (cudnn.CUDNN_REDUCE_TENSOR_MAX, cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_NOT_PROPAGATE_NAN)
    settings += (cudnn.CUDNN_REDUCE_TENSOR_FLATTENED_INDICES, cudnn.CUDNN_32BIT_INDICES)
    cudnn.cudnnSetReduceTensorDescriptor(reduce, *settings)
    assert cudnn.cudnnGetReduceTensorDescriptor(reduce) == settings
    a_desc, c_desc = descriptor(X.shape), descriptor((1, 4, 1, 1))
    size = cudnn.cudnnGetReductionIndicesSize(handle, reduce, a_desc, c_desc)
    scratch = cudnn.cudnnGetReductionWorkspaceSize(handle, reduce, a_desc, c_desc)
    assert size == 16
    indices, a, c = handle.empty_bytes(size), handle.asarray(X), handle.asarray(np.ones((1, 4, 1, 1), np.float32))
    workspace = handle.empty_bytes(scratch)
    cudnn.cudnnReduceTensor(handle, reduce, indices, size, workspace, scratch, 2, a_desc, a, 0.5, c_desc, c)
    flat = X.transpose(1, 0, 2, 3).reshape(4, -1)
    np.testing.assert_allclose(handle.to_numpy(c).ravel(), 2 * flat.max(1) + 0.5, rtol=1e-6)
    assert handle.to_numpy(indices).view(np.int32).tolist() == flat.argmax(1).tolist()
    cudnn.cudnnDestroyReduceTensorDescriptor(reduce)


@everywhere()
def test_convolution_with_bias_and_activation(handle):
    """A 1 x 1 convolution is a matrix product."""
    conv, relu = cudnn.cudnnCreateConvolutionDescriptor(), cudnn.cudnnCreateActivationDescriptor()
    cudnn.cudnnSetConvolution2dDescriptor(conv, 0, 0, 1, 1, 1, 1, cudnn.CUDNN_CROSS_CORRELATION)
    cudnn.cudnnSetActivationDescriptor(relu, cudnn.CUDNN_ACTIVATION_RELU, cudnn.CUDNN_NOT_PROPAGATE_NAN, 0)
    w = RNG.standard_normal((4, 4, 1, 1)).astype(np.float32)
    image, parameters = descriptor(X.shape), descriptor((1, 4, 1, 1))
    w_desc = descriptor(w.shape, cudnn.cudnnCreateFilterDescriptor)
    x, z, weights, bias = map(handle.asarray, (X, Z, w, BIAS))
    y = handle.empty(X.shape)
    algo = cudnn.CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM
    first = (handle, 2, image, x, w_desc, weights, conv, algo, None, 0)
    last = (parameters, bias, relu, image, y)
    cudnn.cudnnConvolutionBiasActivationForward(*first, 0.5, image, z, *last)
    product = 2 * np.einsum("kc,nchw->nkhw", w[:, :, 0, 0], X) + BIAS
    np.testing.assert_allclose(handle.to_numpy(y), np.maximum(product + Z / 2, 0), rtol=1e-4, atol=1e-5)
    cudnn.cudnnConvolutionBiasActivationForward(*first, 0, None, None, *last)
    np.testing.assert_allclose(handle.to_numpy(y), np.maximum(product, 0), rtol=1e-4, atol=1e-5)


# Fused batch normalisation ------------------------------------------------------------------------


def batch_norm(ops):
    """Return y, and the gradients (dx, dz, dscale, dbias) of sum(y * DY), from the formulas."""
    x, dy = X.astype(float), DY.astype(float)
    axes, count = (0, 2, 3), X.size // 4
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    inverse = 1 / np.sqrt(variance + EPSILON)
    normal = (x - mean) * inverse
    y = SCALE * normal + BIAS
    if ops:
        y = np.maximum(y + (Z if ops == 2 else 0), 0)
        dy = dy * (y > 0)
    dbias, dscale = dy.sum(axes, keepdims=True), (dy * normal).sum(axes, keepdims=True)
    dx = SCALE * inverse * (dy - dbias / count - normal * dscale / count)
    return y, (dx, dy, dscale, dbias), (mean, inverse, variance * count / (count - 1))


@everywhere()
@pytest.mark.parametrize("form", ["Ex", "v8"])
@pytest.mark.parametrize("ops", range(3))
def test_fused_batch_normalisation(handle, ops, form):
    image, parameters, relu = descriptor(X.shape), cudnn.cudnnCreateTensorDescriptor(), None
    spatial = cudnn.CUDNN_BATCHNORM_SPATIAL
    if form == "Ex":
        cudnn.cudnnDeriveBNTensorDescriptor(parameters, image, spatial)
    else:
        other = cudnn.cudnnCreateTensorDescriptor()
        cudnn.cudnnDeriveNormTensorDescriptor(parameters, other, image, cudnn.CUDNN_NORM_PER_CHANNEL, 1)
    assert cudnn.cudnnGetTensor4dDescriptor(parameters)[1:5] == (1, 4, 1, 1)
    if ops:
        relu = cudnn.cudnnCreateActivationDescriptor()
        cudnn.cudnnSetActivationDescriptor(relu, cudnn.CUDNN_ACTIVATION_RELU, cudnn.CUDNN_NOT_PROPAGATE_NAN, 0)
    x, z, dy, scale, bias = map(handle.asarray, (X, Z, DY, SCALE, BIAS))
    running, running_variance = handle.asarray(RUNNING), handle.asarray(np.abs(RUNNING))
    saved, inverse, dscale, dbias = (handle.empty(SCALE.shape) for _ in range(4))
    y, dx, dz = (handle.empty(X.shape) for _ in range(3))
    add = (image, z) if ops == 2 else (None, None)
    per = (cudnn.CUDNN_NORM_PER_CHANNEL, ops, cudnn.CUDNN_NORM_ALGO_STANDARD)
    if form == "Ex":
        size = cudnn.cudnnGetBatchNormalizationBackwardExWorkspaceSize(
            handle, spatial, ops, image, image, image, image, image, parameters, relu
        )
        zeros = (
            cudnn.cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
                handle, spatial, ops, image, image, image, parameters, relu
            ),
            cudnn.cudnnGetBatchNormalizationTrainingExReserveSpaceSize(handle, spatial, ops, relu, image),
        )
        cudnn.cudnnBatchNormalizationForwardTrainingEx(
            *(handle, spatial, ops, 1, 0, image, x, *add, image, y, parameters, scale, bias, 0.25),
            *(running, running_variance, EPSILON, saved, inverse, relu, None, 0, None, 0),
        )
    else:
        size = cudnn.cudnnGetNormalizationBackwardWorkspaceSize(
            *(handle, *per, image, image, image, image, image, parameters, relu, parameters, 1)
        )
        zeros = (
            cudnn.cudnnGetNormalizationForwardTrainingWorkspaceSize(
                handle, *per, image, image, image, parameters, relu, parameters, 1
            ),
            cudnn.cudnnGetNormalizationTrainingReserveSpaceSize(handle, *per, relu, image, 1),
        )
        cudnn.cudnnNormalizationForwardTraining(
            *(handle, *per, 1, 0, image, x, parameters, scale, bias, 0.25, parameters, running, running_variance),
            *(EPSILON, saved, inverse, relu, *add, image, y, None, 0, None, 0, 1),
        )
    assert zeros == (0, 0)
    assert size == (X.nbytes if ops == 1 else 0)
    want, gradients, (mean, want_inverse, unbiased) = batch_norm(ops)
    for got, wanted in ((y, want), (saved, mean), (inverse, want_inverse)):
        np.testing.assert_allclose(handle.to_numpy(got), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(handle.to_numpy(running), 0.25 * mean + 0.75 * RUNNING, rtol=1e-4, atol=1e-5)
    want_variance = 0.25 * unbiased + 0.75 * np.abs(RUNNING)
    np.testing.assert_allclose(handle.to_numpy(running_variance), want_variance, rtol=1e-4, atol=1e-5)
    back = (image, dz) if ops == 2 else (None, None)
    for workspace in (None, handle.empty_bytes(size)):
        if form == "Ex":
            cudnn.cudnnBatchNormalizationBackwardEx(
                *(handle, spatial, ops, 1, 0, 1, 0, image, x, image, y, image, dy, *back, image, dx, parameters),
                *(scale, bias, dscale, dbias, EPSILON, saved, inverse, relu, workspace, size, None, 0),
            )
        else:
            cudnn.cudnnNormalizationBackward(
                *(handle, *per, 1, 0, 1, 0, image, x, image, y, image, dy, *back, image, dx, parameters),
                *(scale, bias, dscale, dbias, EPSILON, parameters, saved, inverse, relu, workspace, size, None, 0, 1),
            )
        for got, wanted in zip((dx, dz, dscale, dbias), gradients, strict=True):
            if got is not dz or ops == 2:
                np.testing.assert_allclose(handle.to_numpy(got), wanted, rtol=1e-3, atol=1e-4)
    if ops == 1:
        small = (handle.empty_bytes(size), size - 1)
        with pytest.raises(dnn.BadParam, match=f"at least {size}"):
            cudnn.cudnnNormalizationBackward(
                *(handle, *per, 1, 0, 1, 0, image, x, image, y, image, dy, None, None, image, dx, parameters),
                *(scale, bias, dscale, dbias, EPSILON, parameters, saved, inverse, relu, *small, None, 0, 1),
            )


@everywhere()
def test_fused_inference(handle):
    image, parameters = descriptor(X.shape), descriptor((1, 4, 1, 1))
    relu = cudnn.cudnnCreateActivationDescriptor()
    cudnn.cudnnSetActivationDescriptor(relu, cudnn.CUDNN_ACTIVATION_RELU, cudnn.CUDNN_NOT_PROPAGATE_NAN, 0)
    variance = np.abs(RUNNING) + 0.5
    x, z, scale, bias, mean, var = map(handle.asarray, (X, Z, SCALE, BIAS, RUNNING, variance))
    y = handle.empty(X.shape)
    plain = SCALE * (X - RUNNING) / np.sqrt(variance + EPSILON) + BIAS
    for ops, want in enumerate((plain, np.maximum(plain, 0), np.maximum(plain + Z, 0))):
        mode = (cudnn.CUDNN_NORM_PER_CHANNEL, ops, cudnn.CUDNN_NORM_ALGO_STANDARD)
        cudnn.cudnnNormalizationForwardInference(
            *(handle, *mode, 1, 0, image, x, parameters, scale, bias, parameters, mean, var, image, z, relu),
            *(image, y, EPSILON, 1),
        )
        np.testing.assert_allclose(handle.to_numpy(y), want, rtol=1e-4, atol=1e-5)


def test_fused_calls_refuse_what_they_cannot(reference):
    image, parameters = descriptor(X.shape), descriptor((1, 4, 1, 1))
    sigmoid = cudnn.cudnnCreateActivationDescriptor()
    cudnn.cudnnSetActivationDescriptor(sigmoid, cudnn.CUDNN_ACTIVATION_SIGMOID, cudnn.CUDNN_NOT_PROPAGATE_NAN, 0)
    memory = reference.zeros(X.shape)

    def call(ops, alpha, activation, groups):
        cudnn.cudnnNormalizationForwardInference(
            *(reference, 1, ops, 0, alpha, 0, image, memory, parameters, memory, memory, parameters, memory, memory),
            *(image, memory, activation, image, reference.zeros(X.shape), EPSILON, groups),
        )

    for arguments, message in (
        ((1, 1, sigmoid, 1), "CUDNN_ACTIVATION_RELU"),
        ((0, 1, None, 2), "groupCnt"),
    ):
        with pytest.raises(dnn.NotSupported, match=message):
            call(*arguments)
    cudnn.cudnnSetActivationDescriptor(sigmoid, cudnn.CUDNN_ACTIVATION_RELU, cudnn.CUDNN_NOT_PROPAGATE_NAN, 0)
    with pytest.raises(dnn.NotSupported, match="alpha: fused calls do not blend"):
        call(1, 2, sigmoid, 1)
    with pytest.raises(dnn.BadParam, match="normOps: expected a cudnnNormOps_t"):
        call(3, 1, sigmoid, 1)
