"""The fused operators of cuDNN 7.6, against their formulas in NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helper import everywhere
from integer_layouts import filter_descriptor, tensor_descriptor, upload

import portadnn as dnn
from portadnn import cudnn

RNG = np.random.default_rng(76)
N, C, H, W, K = 2, 8, 4, 3, 16
NHWC = cudnn.CUDNN_TENSOR_NHWC
TYPES = {np.dtype(np.float16): "HALF", np.dtype(np.float32): "FLOAT"}


def halves(*dims):
    return (RNG.integers(-8, 9, dims) / 4).astype(np.float16)


def floats(*dims):
    return (RNG.integers(-8, 9, dims) / 4).astype(np.float32)


def image(array):
    return tensor_descriptor(TYPES[array.dtype], array.shape, NHWC)


def rows(array):
    """Return an image's elements with channels last."""
    return np.ascontiguousarray(np.moveaxis(array, 1, -1))


class Fused:
    """One operator: what is set, made and executed."""

    def __init__(self, handle, name):
        self.handle, ops = handle, getattr(cudnn, f"CUDNN_FUSED_{name}")
        self.const = cudnn.cudnnCreateFusedOpsConstParamPack(ops)
        self.variant = cudnn.cudnnCreateFusedOpsVariantParamPack(ops)
        self.plan = cudnn.cudnnCreateFusedOpsPlan(ops)
        self.memory = {}

    def const_values(self, **values):
        for name, value in values.items():
            label = getattr(cudnn, f"CUDNN_PARAM_{name}")
            cudnn.cudnnSetFusedOpsConstParamPackAttribute(self.const, label, value)

    def pointers(self, **arrays):
        for name, array in arrays.items():
            self.memory[name] = upload(self.handle, rows(array) if array.ndim == 4 else array)
            self.const_values(**{f"{name}_PLACEHOLDER": cudnn.CUDNN_PTR_16B_ALIGNED})
            label = getattr(cudnn, f"CUDNN_PTR_{name}")
            cudnn.cudnnSetFusedOpsVariantParamPackAttribute(self.variant, label, self.memory[name])

    def scalars(self, **values):
        for name, value in values.items():
            label = getattr(cudnn, f"CUDNN_SCALAR_{name}")
            cudnn.cudnnSetFusedOpsVariantParamPackAttribute(self.variant, label, value)

    def run(self):
        assert cudnn.cudnnMakeFusedOpsPlan(self.handle, self.plan, self.const) == 0
        cudnn.cudnnFusedOpsExecute(self.handle, self.plan, self.variant)

    def result(self, name, like):
        flat = self.handle.to_numpy(self.memory[name]).view(like.dtype)
        n, c, h, w = like.shape
        return flat.reshape(n, h, w, c).transpose(0, 3, 1, 2).astype(float)


def relu():
    desc = cudnn.cudnnCreateActivationDescriptor()
    cudnn.cudnnSetActivationDescriptor(desc, cudnn.CUDNN_ACTIVATION_RELU, 0, 0.0)
    return desc


def convolution():
    desc = cudnn.cudnnCreateConvolutionDescriptor()
    cudnn.cudnnSetConvolution2dDescriptor(desc, 1, 1, 1, 1, 1, 1, cudnn.CUDNN_CROSS_CORRELATION, 0)
    return desc


def taps(x):
    """Yield each tap of 3 x 3 and the image that it sees."""
    wide = np.pad(x.astype(float), ((0, 0), (0, 0), (1, 1), (1, 1)))
    for r, s in itertools.product(range(3), range(3)):
        yield (r, s), wide[:, :, r : r + H, s : s + W]


def convolved(x, w):
    return sum(np.einsum("nchw,kc->nkhw", part, w[:, :, r, s].astype(float)) for (r, s), part in taps(x))


def seen(x, scale, bias):
    return np.maximum((x.astype(float) * scale + bias).astype(np.float16), 0)


@everywhere()
def test_scale_bias_activation_convolution_and_statistics(handle):
    x, scale, bias, w = halves(N, C, H, W), halves(1, C, 1, 1), halves(1, C, 1, 1), halves(K, C, 3, 3)
    y, statistics = np.zeros((N, K, H, W), np.float16), np.zeros((1, K, 1, 1), np.float32)
    fused = Fused(handle, "SCALE_BIAS_ACTIVATION_CONV_BNSTATS")
    fused.const_values(
        XDESC=image(x), BN_EQSCALEBIAS_DESC=image(scale), ACTIVATION_DESC=relu(), CONV_DESC=convolution()
    )
    fused.const_values(WDESC=filter_descriptor("HALF", w.shape, NHWC), YDESC=image(y), YSTATS_DESC=image(statistics))
    fused.const_values(BN_MODE=cudnn.CUDNN_BATCHNORM_SPATIAL)
    fused.pointers(XDATA=x, BN_EQSCALE=scale, BN_EQBIAS=bias, WDATA=w, YDATA=y, YSUM=statistics, YSQSUM=statistics)
    fused.run()
    exact = convolved(seen(x, scale, bias), w)
    got = fused.result("YDATA", y)
    np.testing.assert_allclose(got, exact, rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(fused.result("YSUM", statistics).ravel(), got.sum((0, 2, 3)), rtol=1e-5)
    np.testing.assert_allclose(fused.result("YSQSUM", statistics).ravel(), (got**2).sum((0, 2, 3)), rtol=1e-5)


@everywhere()
def test_scale_bias_activation_and_filter_gradient(handle):
    x, scale, bias, dy = halves(N, C, H, W), halves(1, C, 1, 1), halves(1, C, 1, 1), halves(N, K, H, W)
    dw = np.zeros((K, C, 3, 3), np.float16)
    fused = Fused(handle, "SCALE_BIAS_ACTIVATION_WGRAD")
    fused.const_values(
        XDESC=image(x), BN_EQSCALEBIAS_DESC=image(scale), ACTIVATION_DESC=relu(), CONV_DESC=convolution()
    )
    fused.const_values(DWDESC=filter_descriptor("HALF", dw.shape, NHWC), DYDESC=image(dy))
    fused.pointers(XDATA=x, BN_EQSCALE=scale, BN_EQBIAS=bias, DYDATA=dy, DWDATA=dw)
    fused.run()
    wanted = np.zeros(dw.shape)
    for (r, s), part in taps(seen(x, scale, bias)):
        wanted[:, :, r, s] = np.einsum("nchw,nkhw->kc", part, dy.astype(float))
    np.testing.assert_allclose(fused.result("DWDATA", dw), wanted, rtol=2e-3, atol=2e-2)


@everywhere()
def test_batch_norms_statistics_are_finalized(handle):
    mean, variance = floats(K), abs(floats(K)) + 1
    count, factor, epsilon = 32, 0.25, 1e-3
    total, squares = mean * count, (variance + mean**2) * count
    scale, bias, running_mean, running_variance = floats(K) + 3, floats(K), floats(K), abs(floats(K)) + 1
    empty, half = np.zeros(K, np.float32), np.zeros(K, np.float16)
    parameters, out = (tensor_descriptor(kind, (1, K, 1, 1), NHWC) for kind in ("FLOAT", "HALF"))
    inverse = 1 / np.sqrt(variance + epsilon)
    fused = Fused(handle, "BN_FINALIZE_STATISTICS_TRAINING")
    fused.const_values(YSTATS_DESC=parameters, BN_SCALEBIAS_MEANVAR_DESC=parameters, BN_EQSCALEBIAS_DESC=out)
    fused.pointers(YSUM=total, YSQSUM=squares, BN_SCALE=scale, BN_BIAS=bias, BN_SAVED_MEAN=empty)
    fused.pointers(BN_SAVED_INVSTD=empty, BN_RUNNING_MEAN=running_mean, BN_RUNNING_VAR=running_variance)
    fused.pointers(BN_EQSCALE=half, BN_EQBIAS=half)
    fused.scalars(INT64_T_BN_ACCUMULATION_COUNT=count, DOUBLE_BN_EXP_AVG_FACTOR=factor, DOUBLE_BN_EPSILON=epsilon)
    fused.run()
    wanted = {
        "BN_EQSCALE": scale * inverse,
        "BN_EQBIAS": bias - mean * scale * inverse,
        "BN_SAVED_MEAN": mean,
        "BN_SAVED_INVSTD": inverse,
        "BN_RUNNING_MEAN": 0.75 * running_mean + 0.25 * mean,
        "BN_RUNNING_VAR": 0.75 * running_variance + 0.25 * variance * count / (count - 1),
    }
    for name, values in wanted.items():
        dtype = np.float16 if "EQ" in name else np.float32
        got = handle.to_numpy(fused.memory[name]).view(dtype)
        np.testing.assert_allclose(got, values, rtol=1e-3 if dtype == np.float16 else 1e-4, atol=2e-3)
    fused = Fused(handle, "BN_FINALIZE_STATISTICS_INFERENCE")
    fused.const_values(BN_SCALEBIAS_MEANVAR_DESC=parameters, BN_EQSCALEBIAS_DESC=out)
    fused.pointers(BN_SCALE=scale, BN_BIAS=bias, BN_RUNNING_MEAN=running_mean, BN_RUNNING_VAR=running_variance)
    fused.pointers(BN_EQSCALE=half, BN_EQBIAS=half)
    fused.scalars(DOUBLE_BN_EPSILON=epsilon)
    fused.run()
    factor = scale / np.sqrt(running_variance + epsilon)
    for name, values in (("BN_EQSCALE", factor), ("BN_EQBIAS", bias - running_mean * factor)):
        got = handle.to_numpy(fused.memory[name]).view(np.float16)
        np.testing.assert_allclose(got, values, rtol=2e-3, atol=2e-3)


@everywhere()
def test_convolution_scale_bias_add_activation(handle):
    x, w, z = floats(N, C, H, W), floats(K, C, 3, 3), floats(N, K, H, W)
    scale, bias, y = floats(1, K, 1, 1), floats(1, K, 1, 1), np.zeros((N, K, H, W), np.float32)
    fused = Fused(handle, "CONV_SCALE_BIAS_ADD_ACTIVATION")
    fused.const_values(XDESC=image(x), WDESC=filter_descriptor("FLOAT", w.shape, NHWC), CONV_DESC=convolution())
    fused.const_values(BN_EQSCALEBIAS_DESC=image(scale), ZDESC=image(z), ACTIVATION_DESC=relu(), YDESC=image(y))
    fused.pointers(XDATA=x, WDATA=w, BN_EQSCALE=scale, BN_EQBIAS=bias, ZDATA=z, YDATA=y)
    fused.run()
    wanted = np.maximum(convolved(x, w) * scale + bias + z, 0)
    np.testing.assert_allclose(fused.result("YDATA", y), wanted, rtol=1e-5, atol=1e-4)


@everywhere()
def test_bitmask_is_what_the_gradient_reads(handle):
    x, z, dy = floats(N, K, H, W), floats(N, K, H, W), floats(N, K, H, W)
    scale, bias, z_scale, z_bias = (floats(1, K, 1, 1) for _ in range(4))
    y, mask = np.zeros_like(x), np.zeros(x.size // 32, np.int32)
    mask_desc = tensor_descriptor("INT32", (1, 1, 1, x.size // 32))
    fused = Fused(handle, "SCALE_BIAS_ADD_ACTIVATION_GEN_BITMASK")
    fused.const_values(XDESC=image(x), BN_EQSCALEBIAS_DESC=image(scale), ZDESC=image(z), YDESC=image(y))
    fused.const_values(BN_Z_EQSCALEBIAS_DESC=image(scale), ACTIVATION_DESC=relu(), ACTIVATION_BITMASK_DESC=mask_desc)
    fused.pointers(XDATA=x, BN_EQSCALE=scale, BN_EQBIAS=bias, ZDATA=z, BN_Z_EQSCALE=z_scale, BN_Z_EQBIAS=z_bias)
    fused.pointers(YDATA=y, ACTIVATION_BITMASK=mask)
    fused.run()
    total = x.astype(float) * scale + bias + z.astype(float) * z_scale + z_bias
    np.testing.assert_allclose(fused.result("YDATA", y), np.maximum(total, 0), rtol=1e-5, atol=1e-5)
    bits = np.unpackbits(handle.to_numpy(fused.memory["ACTIVATION_BITMASK"]), bitorder="little")
    np.testing.assert_array_equal(bits, rows(total).ravel() > 0)

    back = Fused(handle, "DACTIVATION_FORK_DBATCHNORM")
    mean = x.astype(float).mean((0, 2, 3), keepdims=True)
    inverse = 1 / np.sqrt(x.astype(float).var((0, 2, 3), keepdims=True) + 1e-3)
    back.const_values(XDESC=image(x), DYDESC=image(dy), DXDESC=image(x), DZDESC=image(x), ACTIVATION_DESC=relu())
    back.const_values(BN_SCALEBIAS_MEANVAR_DESC=image(scale), ACTIVATION_BITMASK_DESC=mask_desc)
    back.pointers(XDATA=x, DYDATA=dy, DXDATA=y, DZDATA=y, BN_SCALE=scale, BN_SAVED_MEAN=mean.astype(np.float32))
    back.pointers(BN_SAVED_INVSTD=inverse.astype(np.float32), BN_DSCALE=scale, BN_DBIAS=bias)
    mask = handle.to_numpy(fused.memory["ACTIVATION_BITMASK"]).view(np.int32)
    back.pointers(ACTIVATION_BITMASK=mask)
    back.run()
    dz = np.where(total > 0, dy.astype(float), 0)
    normal, count = (x - mean) * inverse, N * H * W
    dbias, dscale = dz.sum((0, 2, 3), keepdims=True), (dz * normal).sum((0, 2, 3), keepdims=True)
    dx = scale * inverse * (dz - dbias / count - normal * dscale / count)
    for name, wanted in (("DZDATA", dz), ("DXDATA", dx), ("BN_DSCALE", dscale), ("BN_DBIAS", dbias)):
        like = np.zeros(wanted.shape, np.float32)
        np.testing.assert_allclose(back.result(name, like), wanted, rtol=1e-3, atol=1e-3)


def test_packs_keep_what_they_were_given(reference):
    fused, x = Fused(reference, "SCALE_BIAS_ACTIVATION_CONV_BNSTATS"), halves(N, C, H, W)
    desc = image(x)
    fused.const_values(XDESC=desc, XDATA_PLACEHOLDER=cudnn.CUDNN_PTR_16B_ALIGNED)
    cudnn.cudnnSetTensor4dDescriptor(desc, 0, 0, 1, 1, 1, 1)  # which does not change the pack's
    back, is_null = cudnn.cudnnGetFusedOpsConstParamPackAttribute(fused.const, cudnn.CUDNN_PARAM_XDESC)
    assert is_null == 0
    assert cudnn.cudnnGetTensorNdDescriptor(back, 4)[2] == x.shape
    get = cudnn.cudnnGetFusedOpsConstParamPackAttribute
    assert get(fused.const, cudnn.CUDNN_PARAM_XDATA_PLACEHOLDER) == (cudnn.CUDNN_PTR_16B_ALIGNED, 0)
    assert get(fused.const, cudnn.CUDNN_PARAM_YDESC) == (None, 1)
    cudnn.cudnnSetFusedOpsVariantParamPackAttribute(fused.variant, cudnn.CUDNN_PTR_XDATA, x)
    assert cudnn.cudnnGetFusedOpsVariantParamPackAttribute(fused.variant, cudnn.CUDNN_PTR_XDATA) is x


def test_wrong_uses_of_packs_and_plans(reference):
    fused, other = (
        Fused(reference, "SCALE_BIAS_ACTIVATION_CONV_BNSTATS"),
        Fused(reference, "BN_FINALIZE_STATISTICS_INFERENCE"),
    )
    with pytest.raises(dnn.BadParam, match="CUDNN_PARAM_XDESC"):
        other.const_values(XDESC=image(halves(1, 1, 1, 1)))
    with pytest.raises(dnn.BadParam, match="paramLabel"):
        other.scalars(DOUBLE_BN_EXP_AVG_FACTOR=0.5)
    with pytest.raises(dnn.NotInitialized):
        cudnn.cudnnFusedOpsExecute(reference, fused.plan, fused.variant)
    with pytest.raises(dnn.BadParam, match="constPack"):
        cudnn.cudnnMakeFusedOpsPlan(reference, other.plan, fused.const)
    with pytest.raises(dnn.BadParam, match="XDATA"):
        cudnn.cudnnMakeFusedOpsPlan(reference, fused.plan, fused.const)
    for destroy, one in (
        (cudnn.cudnnDestroyFusedOpsConstParamPack, fused.const),
        (cudnn.cudnnDestroyFusedOpsVariantParamPack, fused.variant),
        (cudnn.cudnnDestroyFusedOpsPlan, fused.plan),
    ):
        destroy(one)
