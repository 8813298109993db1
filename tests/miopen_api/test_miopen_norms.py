"""Normalisations, dropout, reductions and operations on tensors with MIOpen's names, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from miopen_env import D, F, close, every_backend, gradient

import portadnn as dnn
from portadnn import miopen

N, EPS = (3, 4, 2, 5), 1e-3
SPATIAL, ACTIVATION = miopen.miopenBNSpatial, miopen.miopenBNPerActivation


def axes_of(mode):
    return (0, 2, 3) if mode == SPATIAL else (0,)


def normalise(x, scale, bias, mode, eps=EPS):
    x = np.asarray(x, float)
    mean = x.mean(axes_of(mode), keepdims=True)
    variance = x.var(axes_of(mode), keepdims=True)
    return scale * (x - mean) / np.sqrt(variance + eps) + bias


class Batch:
    """A batch normalisation on an environment."""

    def __init__(self, env, mode):
        self.env, self.h, self.mode = env, env.h, mode
        self.host = 2 + 3 * env.random(*N)
        self.xd, self.x = env.pair(self.host)
        self.yd, self.y = env.out(*N)
        self.pd = miopen.miopenCreateTensorDescriptor()
        miopen.miopenDeriveBNTensorDescriptor(self.pd, self.xd, mode)
        self.dims = miopen.miopenGetTensorDescriptor(self.pd)[1]
        self.numbers = [env.random(*self.dims) for _ in range(4)]
        self.scale, self.bias, self.mean, self.variance = map(env.dev, self.numbers)
        self.saved = env.out(*self.dims)[1], env.out(*self.dims)[1]

    def out(self):
        return self.env.out(*self.dims)[1]

    def check_statistics(self, mean, variance, before):
        count = self.host.size // np.prod(self.dims)
        x = self.host.astype(float)
        axes = axes_of(self.mode)
        close(self.env.host(mean), 0.25 * x.mean(axes, keepdims=True) + 0.75 * before[0])
        unbiased = x.var(axes, keepdims=True) * count / (count - 1)
        close(self.env.host(variance), 0.25 * unbiased + 0.75 * before[1])
        close(self.env.host(self.saved[0]), x.mean(axes, keepdims=True))
        close(self.env.host(self.saved[1]), 1 / np.sqrt(x.var(axes, keepdims=True) + EPS))


def bn_activation(name="RELU"):
    made = miopen.miopenCreateActivationDescriptor()
    miopen.miopenSetActivationDescriptor(made, getattr(miopen, f"miopenActivation{name}"), 0.5, 0, 0)
    return made


@pytest.mark.parametrize("mode", [SPATIAL, ACTIVATION])
def test_batch_normalisation(env, mode):
    check_batch_normalisation(env, mode)


@every_backend()
def test_batch_normalisation_on_every_backend(env):
    check_batch_normalisation(env, SPATIAL)


def check_batch_normalisation(env, mode):
    b = Batch(env, mode)
    scale, bias, mean, variance = b.numbers
    running = b.mean, b.variance
    head = (b.h, mode, 1, 0, b.xd, b.x, b.yd, b.y)
    miopen.miopenBatchNormalizationForwardTraining(*head, b.pd, b.scale, b.bias, 0.25, *running, EPS, *b.saved)
    close(env.host(b.y), normalise(b.host, scale, bias, mode))
    b.check_statistics(*running, (mean, variance))

    change = env.random(*N)
    (dyd, dy), (dxd, dx), dscale, dbias = env.pair(change), env.out(*N), b.out(), b.out()
    for saved in (b.saved, (None, None)):
        miopen.miopenBatchNormalizationBackward(
            b.h, mode, 1, 0, 1, 0, b.xd, b.x, dyd, dy, dxd, dx, b.pd, b.scale, dscale, dbias, EPS, *saved
        )
        close(env.host(dx), gradient(lambda v: (normalise(v, scale, bias, mode),), b.host, (change,)), atol=1e-5)
        unit = normalise(b.host, 1, 0, mode)
        close(env.host(dscale), (unit * change).sum(axes_of(mode), keepdims=True), atol=1e-5)
        close(env.host(dbias), change.astype(float).sum(axes_of(mode), keepdims=True), atol=1e-5)

    positive = env.dev(np.abs(variance))
    miopen.miopenBatchNormalizationForwardInference(*head, b.pd, b.scale, b.bias, env.dev(mean), positive, 1e-8)
    close(env.host(b.y), scale * (b.host - mean.astype(float)) / np.sqrt(np.abs(variance) + 1e-8) + bias, atol=1e-5)
    miopen.miopenBatchNormalizationForwardInference(*head, b.pd, b.scale, b.bias, None, None, EPS)
    close(env.host(b.y), normalise(b.host, scale, bias, mode))  # MIOpen takes the batch's statistics then


@every_backend()
def test_later_forms_of_batch_normalisation(env):
    b, mode, relu = Batch(env, SPATIAL), SPATIAL, bn_activation()
    scale, bias, mean, variance = b.numbers
    positive = np.abs(variance) + 0.1
    head, small = (b.h, mode, 1, 0, b.xd, b.x, b.yd, b.y), (b.pd,) * 4
    affine = (b.scale, b.bias)
    plain = normalise(b.host, scale, bias, mode)
    tail = (0.25, b.mean, b.variance, EPS, *b.saved)
    miopen.miopenBatchNormalizationForwardTraining_V2(*head, *small, *affine, *tail)
    close(env.host(b.y), plain)
    b.check_statistics(b.mean, b.variance, (mean, variance))
    after = b.out(), b.out()
    before = env.dev(mean), env.dev(variance)
    miopen.miopenBatchNormalizationForwardTraining_V3(*head, *small, *affine, 0.25, *before, *after, EPS, *b.saved)
    b.check_statistics(*after, (mean, variance))
    assert (env.host(before[0]) == mean).all()
    again = b.out(), b.out()
    miopen.miopenBatchNormForwardTrainingActivation(*head, *small, *affine, *tail, relu)
    close(env.host(b.y), np.maximum(plain, 0))
    miopen.miopenBatchNormForwardTrainingActivation_V2(
        *head, *small, *affine, 0.25, *before, *again, EPS, *b.saved, relu
    )
    b.check_statistics(*again, (mean, variance))
    close(env.host(b.y), np.maximum(plain, 0))

    want = scale * (b.host - mean.astype(float)) / np.sqrt(positive + EPS) + bias
    given, inverse = (env.dev(mean), env.dev(positive)), (env.dev(mean), env.dev(1 / np.sqrt(positive + EPS)))
    miopen.miopenBatchNormalizationForwardInference_V2(*head, *small, *affine, *given, EPS)
    close(env.host(b.y), want)
    miopen.miopenBatchNormForwardInferenceActivation(*head, *small, *affine, *given, EPS, relu)
    close(env.host(b.y), np.maximum(want, 0))
    miopen.miopenBatchNormalizationForwardInferenceInvVariance(*head, *small, *affine, *inverse)
    close(env.host(b.y), want)
    miopen.miopenBatchNormForwardInferenceActivationInvVariance(*head, *small, *affine, *inverse, relu)
    close(env.host(b.y), np.maximum(want, 0))


@every_backend()
@pytest.mark.parametrize("name", ["RELU", "LEAKYRELU"])
def test_gradients_of_later_forms(env, name):
    b, mode, change = Batch(env, SPATIAL), SPATIAL, env.random(*N)
    scale, bias, *_ = b.numbers
    slope = 0.0 if name == "RELU" else 0.5

    def both(v):
        z = normalise(v, scale, bias, mode)
        return (np.where(z > 0, z, slope * z),)

    (dyd, dy), (dxd, dx), dscale, dbias = env.pair(change), env.out(*N), b.out(), b.out()
    head, none = (b.h, mode, 1, 0, 1, 0, b.xd, b.x, dyd, dy, dxd, dx), (None, None)
    small = (b.pd,) * 4
    miopen.miopenBatchNormalizationBackward_V2(*head, *small, b.scale, dscale, dbias, EPS, *none)
    close(env.host(dx), gradient(lambda v: (normalise(v, scale, bias, mode),), b.host, (change,)), atol=1e-5)
    act = bn_activation(name)
    miopen.miopenBatchNormBackwardActivation(*head, *small, b.scale, b.bias, dscale, dbias, EPS, *none, act)
    close(env.host(dx), gradient(both, b.host, (change,)), atol=1e-5)
    z = normalise(b.host, scale, bias, mode)
    inner = np.where(z > 0, 1, slope) * change
    close(env.host(dbias), inner.sum(axes_of(mode), keepdims=True), atol=1e-5)


# Layer, group and T5 normalisation ----------------------------------------------------------------


def layer_norm(x, axes, weight=1.0, bias=0.0, shift=True):
    x = np.asarray(x, float)
    mean = x.mean(axes, keepdims=True) if shift else 0.0
    return weight * (x - mean) / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + EPS) + bias


@every_backend()
def test_layer_normalisation(env):
    x, second, weight, bias = env.random(3, 4, 5), env.random(3, 4, 5), env.random(4, 5), env.random(4, 5)
    (xd, a), (x2d, b), (wd, w), (bd, shift) = map(env.pair, (x, second, weight, bias))
    (yd, y), (md, mean), (rd, rstd) = env.out(3, 4, 5), env.out(3), env.out(3)
    tail = (yd, y, md, mean, rd, rstd)
    affine = (wd, w, bd, shift, EPS, 1)
    plain, weighted = miopen.MIOPEN_ELEMENTWISE_AFFINE, miopen.MIOPEN_WEIGHT_BIAS
    miopen.miopenLayerNormForward(env.h, weighted, xd, a, *affine, *tail)
    close(env.host(y), layer_norm(x, (1, 2), weight, bias))
    close(env.host(mean), x.astype(float).mean((1, 2)))
    close(env.host(rstd), 1 / np.sqrt(x.astype(float).var((1, 2)) + EPS))
    miopen.miopenLayerNormForward(env.h, plain, xd, a, *affine, yd, y, None, None, None, None)
    close(env.host(y), layer_norm(x, (1, 2)))
    fused = miopen.MIOPEN_WEIGHT_BIAS_FUSED_ADD
    miopen.miopenAddLayerNormForward(env.h, fused, xd, a, x2d, b, *affine, *tail)
    close(env.host(y), layer_norm(x + second, (1, 2), weight, bias))
    with pytest.raises(dnn.BadParam, match="MIOPEN_WEIGHT_BIAS_FUSED_ADD"):
        miopen.miopenAddLayerNormForward(env.h, weighted, xd, a, x2d, b, *affine, *tail)


@every_backend()
def test_group_normalisation(env):
    x, weight, bias = env.random(2, 6, 3, 4), env.random(6), env.random(6)
    (xd, a), (wd, w), (bd, b), (yd, y) = env.pair(x), env.pair(weight), env.pair(bias), env.out(2, 6, 3, 4)
    (md, mean), (rd, rstd) = env.out(2, 3), env.out(2, 3)
    miopen.miopenGroupNormForward(
        env.h, miopen.MIOPEN_WEIGHT_BIAS, xd, a, wd, w, bd, b, 3, EPS, yd, y, md, mean, rd, rstd
    )
    unit = layer_norm(x.reshape(2, 3, 2, 3, 4), (2, 3, 4)).reshape(x.shape)
    close(env.host(y), unit * weight[:, None, None] + bias[:, None, None])
    close(env.host(mean), x.astype(float).reshape(2, 3, -1).mean(-1))


@every_backend()
@pytest.mark.parametrize("weighted", [True, False])
def test_t5_normalisation(env, weighted):
    x, weight, change = env.random(3, 4, 5), env.random(5), env.random(3, 4, 5)
    (xd, a), (wd, w), (dyd, dy) = map(env.pair, (x, weight, change))
    (yd, y), (rd, rstd), (dxd, dx), (dwd, dw) = env.out(3, 4, 5), env.out(3, 4), env.out(3, 4, 5), env.out(5)
    mode = miopen.MIOPEN_WEIGHT_BIAS_T5 if weighted else miopen.MIOPEN_ELEMENTWISE_AFFINE_T5
    factor = weight if weighted else np.ones(5)
    miopen.miopenT5LayerNormForward(env.h, mode, xd, a, wd, w, EPS, yd, y, rd, rstd)
    close(env.host(y), layer_norm(x, 2, factor, shift=False))
    size = miopen.miopenGetT5LayerNormBackwardWorkspaceSize(env.h, mode, dyd, xd, wd, rd, dxd, dwd)
    miopen.miopenT5LayerNormBackward(env.h, mode, None, size, dyd, dy, xd, a, wd, w, rd, rstd, dxd, dx, dwd, dw)
    close(env.host(dx), gradient(lambda v: (layer_norm(v, 2, factor, shift=False),), x, (change,)), atol=1e-5)
    close(env.host(dw), (layer_norm(x, 2, shift=False) * change).sum((0, 1)), atol=1e-5)


# Dropout ------------------------------------------------------------------------------------------


@every_backend()
def test_dropout(env):
    rng, h = miopen.MIOPEN_RNG_PSEUDO_XORWOW, env.h
    x, change = np.ones((2, 3, 8, 8), np.float32), env.random(2, 3, 8, 8)
    (xd, a), (yd, y), (_, dy), (dxd, dx) = env.pair(x), env.out(*x.shape), env.pair(change), env.out(*x.shape)
    states, size = env.bytes(miopen.miopenDropoutGetStatesSize(h))
    mask = env.bytes(miopen.miopenDropoutGetReserveSpaceSize(xd))
    drop = miopen.miopenCreateDropoutDescriptor()
    miopen.miopenSetDropoutDescriptor(drop, h, 0.25, states, size, 11, False, False, rng)
    share, _, *rest = miopen.miopenGetDropoutDescriptor(drop, h)
    assert (share, *rest) == (0.25, 11, False, False, rng)
    miopen.miopenDropoutForward(h, drop, xd, xd, a, yd, y, *mask)
    kept = env.host(y) != 0
    assert 0.6 < kept.mean() < 0.9
    close(env.host(y), kept / 0.75)
    miopen.miopenDropoutBackward(h, drop, xd, yd, dy, dxd, dx, *mask)
    close(env.host(dx), kept * change / np.float64(0.75))
    miopen.miopenDropoutForward(h, drop, xd, xd, a, yd, y, None, 0)
    assert ((env.host(y) != 0) != kept).any()  # another draw
    miopen.miopenSetDropoutDescriptor(drop, h, 0.25, states, size, 11, True, False, rng)  # use_mask
    miopen.miopenDropoutForward(h, drop, xd, xd, a, yd, y, *mask)
    assert ((env.host(y) != 0) == kept).all()
    miopen.miopenRestoreDropoutDescriptor(drop, h, 0.25, states, size, 11, False, False, rng)
    other = env.bytes(mask[1])
    miopen.miopenDropoutForward(h, drop, xd, xd, a, yd, y, *other)
    assert ((env.host(y) != 0) == kept).all()  # the first draw of the seed again
    with pytest.raises(dnn.NotSupported, match="regular noise"):
        miopen.miopenDropoutForward(h, drop, env.desc(2, 1, 8, 8), xd, a, yd, y, *mask)


# Reductions and tensors ---------------------------------------------------------------------------


@every_backend()
def test_reductions(env):
    host = env.random(3, 4, 5)
    functions = {
        "ADD": lambda v: v.sum((1, 2), keepdims=True),
        "MAX": lambda v: v.max((1, 2), keepdims=True),
        "NORM2": lambda v: np.sqrt((v**2).sum((1, 2), keepdims=True)),
        "AVG": lambda v: v.mean((1, 2), keepdims=True),
    }
    for name, function in functions.items():
        (ad, a), (cd, c) = env.pair(host), env.out(3, 1, 1)
        desc = miopen.miopenCreateReduceTensorDescriptor()
        indices = int(name == "MAX")
        values = (getattr(miopen, f"MIOPEN_REDUCE_TENSOR_{name}"), F, miopen.MIOPEN_NOT_PROPAGATE_NAN, indices, 0)
        miopen.miopenSetReduceTensorDescriptor(desc, *values)
        assert miopen.miopenGetReduceTensorDescriptor(desc) == values
        scratch = env.bytes(miopen.miopenGetReductionWorkspaceSize(env.h, desc, ad, cd))
        places = env.bytes(miopen.miopenGetReductionIndicesSize(env.h, desc, ad, cd))
        assert places[1] == 12 * indices
        miopen.miopenReduceTensor(env.h, desc, *places, *scratch, 2, ad, a, 0, cd, c)
        close(env.host(c), 2 * function(host.astype(float)))
        if indices:
            assert (env.host(places[0]).view(np.int32) == host.reshape(3, -1).argmax(1)).all()
        miopen.miopenDestroyReduceTensorDescriptor(desc)


@every_backend()
def test_operations_on_tensors(env):
    host, other = env.random(2, 3, 4, 5), env.random(1, 3, 1, 1)
    (ad, a), (bd, b) = env.pair(host), env.pair(other)
    operations = {"Add": np.add, "Mul": np.multiply, "Min": np.minimum, "Max": np.maximum}
    for name, function in operations.items():
        before = env.random(2, 3, 4, 5)
        cd, c = env.pair(before)
        op = getattr(miopen, f"miopenTensorOp{name}")
        miopen.miopenOpTensor(env.h, op, 2, ad, a, -0.5, bd, b, 3, cd, c)
        close(env.host(c), function(2.0 * host, -0.5 * other) + 3 * before.astype(float), atol=1e-5)
    last = env.desc(2, 3, 4, 5, strides=(60, 1, 15, 3))
    y = env.dev(np.zeros(120, np.float32))
    miopen.miopenTransformTensor(env.h, 2, ad, a, 0, last, y)
    close(env.host(y).reshape(2, 4, 5, 3), 2 * host.transpose(0, 2, 3, 1).astype(float))
    miopen.miopenScaleTensor(env.h, ad, a, 3)
    close(env.host(a), 3 * host.astype(float))
    miopen.miopenSetTensor(env.h, ad, a, 1.5)
    assert (env.host(a) == 1.5).all()


@every_backend()
def test_memory_is_read_as_the_descriptor_says(env):
    """An array's own shape does not count, as a pointer of C has none."""
    host = env.random(2, 3, 4, 5)
    flat, (yd, y) = env.dev(host.ravel()), env.out(2, 3, 4, 5)
    miopen.miopenTransformTensor(env.h, 1, env.desc(2, 3, 4, 5), flat, 0, yd, y)
    assert (env.host(y) == host).all()
    with pytest.raises(dnn.BadParam, match=r"x.*"):
        miopen.miopenTransformTensor(env.h, 1, env.desc(3, 3, 4, 5), flat, 0, env.desc(3, 3, 4, 5), y)


def test_tensor_descriptors(env):
    desc = miopen.miopenCreateTensorDescriptor()
    miopen.miopenSet4dTensorDescriptor(desc, miopen.miopenHalf, 2, 3, 4, 5)
    assert miopen.miopenGet4dTensorDescriptor(desc) == (0, 2, 3, 4, 5, 60, 20, 5, 1)
    assert miopen.miopenGetTensorNumBytes(desc) == 240
    miopen.miopenSet4dTensorDescriptorEx(desc, F, 2, 3, 4, 5, 100, 30, 6, 1)
    assert miopen.miopenGetTensorDescriptor(desc) == (F, (2, 3, 4, 5), (100, 30, 6, 1))
    assert miopen.miopenGetTensorNumBytes(desc) == 4 * (100 + 60 + 18 + 4 + 1)
    layout = miopen.miopenTensorNHWC
    miopen.miopenSetNdTensorDescriptorWithLayout(desc, F, layout, (2, 3, 4, 5), 4)
    assert miopen.miopenGetTensorDescriptor(desc)[2] == (60, 1, 15, 3)
    miopen.miopenSetTensorDescriptorV2(desc, D, 5, (2, 3, 4, 5, 6), (360, 120, 30, 6, 1))
    assert miopen.miopenGetTensorDescriptorSize(desc) == 5
    miopen.miopenSetTensorCastType(desc, D)
    with pytest.raises(dnn.BadParam, match="cast_type"):
        miopen.miopenSetTensorCastType(desc, 77)
    miopen.miopenDestroyTensorDescriptor(desc)
    with pytest.raises(dnn.BadParam, match="destroyed"):
        miopen.miopenGetTensorDescriptor(desc)


@every_backend()
def test_ctc_loss(env):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((6, 2, 5)).astype(np.float32)
    labels, lengths, used = [1, 1, 3], [2, 1], [5, 6]
    loss = miopen.miopenCreateCTCLossDescriptor()
    miopen.miopenSetCTCLossDescriptor(loss, F, 4, True)
    assert miopen.miopenGetCTCLossDescriptor(loss) == (F, 4, True)
    desc, host = env.desc(*x.shape), (labels, lengths, used)
    size = miopen.miopenGetCTCLossWorkspaceSize(env.h, desc, desc, *host, 0, loss)
    losses, gradients = env.h.zeros((1, 1, 2)), env.h.zeros(x.shape)
    work = env.h.device.workspace(size) if size else None
    miopen.miopenCTCLoss(env.h, desc, env.h.asarray(x), *host, losses, desc, gradients, 0, loss, work, size)
    with dnn.Handle("reference") as exact:
        want = dnn.ctc_loss(exact, x.astype(np.float64), *host, dnn.CTCLossDescriptor(blank=4))
    np.testing.assert_allclose(env.h.to_numpy(losses).ravel(), want[0], rtol=1e-5)
    np.testing.assert_allclose(env.h.to_numpy(gradients), want[1], atol=1e-5)
    rest = (0, loss)
    with pytest.raises(dnn.BadParam, match="3 steps for a label") as caught:
        miopen.miopenGetCTCLossWorkspaceSize(env.h, desc, desc, labels, lengths, [2, 6], *rest)
    assert caught.value.status == miopen.miopenStatusBadParm
    with pytest.raises(dnn.BadParam, match="labels: expected 3 integers from 0 to 4"):
        miopen.miopenGetCTCLossWorkspaceSize(env.h, desc, desc, [1, 5, 3], lengths, used, *rest)
    miopen.miopenSetCTCLossDescriptor(loss, F, 4, False)
    with pytest.raises(dnn.NotSupported, match="apply_softmax_layer = true") as caught:
        miopen.miopenGetCTCLossWorkspaceSize(env.h, desc, desc, *host, *rest)
    assert caught.value.status == miopen.miopenStatusNotImplemented
    miopen.miopenDestroyCTCLossDescriptor(loss)
