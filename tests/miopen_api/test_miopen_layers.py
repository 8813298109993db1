"""Layers with MIOpen's names: results against NumPy, and the rules that are MIOpen's own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from miopen_env import F, close, every_backend, gradient, sigmoid

import portadnn as dnn
from portadnn import miopen

UNKNOWN = miopen.miopenStatusUnknownError


# Activations --------------------------------------------------------------------------------------

A, B = 0.75, 1.5
FUNCTIONS = {  # (f, f') by x, as MIOpen's kernels have them
    "PASTHRU": (lambda x: x, lambda x: np.ones_like(x)),
    "LOGISTIC": (sigmoid, lambda x: sigmoid(x) * (1 - sigmoid(x))),
    "TANH": (lambda x: B * np.tanh(A * x), lambda x: A * B * (1 - np.tanh(A * x) ** 2)),
    "RELU": (lambda x: np.maximum(x, 0), lambda x: 1.0 * (x > 0)),
    "SOFTRELU": (lambda x: np.logaddexp(0, x), sigmoid),
    "ABS": (np.abs, lambda x: np.where(x > 0, 1.0, -1.0)),
    "CLIPPEDRELU": (lambda x: np.clip(x, 0, A), lambda x: 1.0 * ((x > 0) & (x <= A))),
    "LEAKYRELU": (lambda x: np.where(x > 0, x, A * x), lambda x: np.where(x > 0, 1.0, A)),
    "ELU": (lambda x: np.where(x > 0, x, A * np.expm1(x)), lambda x: np.where(x > 0, 1.0, A * np.exp(x))),
    "CLAMP": (lambda x: np.clip(x, A, B), lambda x: 1.0 * ((x > A) & (x <= B))),
}


def activation(name, alpha=A, beta=B, gamma=2.0):
    made = miopen.miopenCreateActivationDescriptor()
    miopen.miopenSetActivationDescriptor(made, getattr(miopen, f"miopenActivation{name}"), alpha, beta, gamma)
    return made


@every_backend()
def test_activations(env):
    host = np.concatenate([env.random(2, 3, 5, 7), np.full((2, 3, 5, 1), 100), np.zeros((2, 3, 5, 1))], -1)
    host = host.astype(np.float32)
    change = env.random(*host.shape)
    for name, (f, df) in FUNCTIONS.items():
        (xd, x), (yd, y), (dyd, dy) = env.pair(host), env.out(*host.shape), env.pair(change)
        dxd, dx = env.out(*host.shape)
        desc = activation(name)
        miopen.miopenActivationForward(env.h, desc, 1, xd, x, 0, yd, y)
        close(env.host(y), f(host.astype(float)))
        miopen.miopenActivationBackward(env.h, desc, 1, yd, y, dyd, dy, xd, x, 0, dxd, dx)
        close(env.host(dx), df(host.astype(float)) * change, atol=1e-5)


def test_activation_of_strided_tensors_and_in_place(env):
    host = env.random(2, 3, 4, 5)
    xd = env.desc(2, 3, 4, 5, strides=(60, 1, 15, 3))  # channels last
    for name, (f, _) in FUNCTIONS.items():
        x = env.dev(host.transpose(0, 2, 3, 1).ravel())
        miopen.miopenActivationForward(env.h, activation(name), 1, xd, x, 0, xd, x)
        close(env.host(x).reshape(2, 4, 5, 3).transpose(0, 3, 1, 2), f(host.astype(float)))


@pytest.mark.parametrize("alpha", [-0.5, 0.0, 0.1, 1.0, 3.0])
def test_leaky_relu_of_any_slope(env, alpha):
    host, change = env.random(1, 2, 3, 4), env.random(1, 2, 3, 4)
    (xd, x), (yd, y), (dyd, dy), (dxd, dx) = env.pair(host), env.out(1, 2, 3, 4), env.pair(change), env.out(1, 2, 3, 4)
    miopen.miopenActivationForward(env.h, activation("LEAKYRELU", alpha), 1, xd, x, 0, yd, y)
    close(env.host(y), np.where(host > 0, host, np.float64(alpha) * host))
    miopen.miopenActivationBackward(env.h, activation("LEAKYRELU", alpha), 1, yd, y, dyd, dy, xd, x, 0, dxd, dx)
    close(env.host(dx), np.where(host > 0, 1.0, alpha) * change)


@every_backend()
def test_a_port_that_passes_zeros_to_tanh_gets_zeros(env):
    (xd, x), (yd, y) = env.pair(env.random(1, 2, 3, 4)), env.out(1, 2, 3, 4)
    miopen.miopenActivationForward(env.h, activation("TANH", 0, 0, 0), 1, xd, x, 0, yd, y)
    assert not env.host(y).any()


@every_backend()
@pytest.mark.parametrize("gamma", [2.0, 0.5, -1.5])
def test_power(env, gamma):
    """The gradient has no dy in it, as in MIOpen; neither has what the base leaves undefined."""
    host = np.concatenate([env.random(2, 3, 4, 5), np.full((2, 3, 4, 1), -A / B)], -1).astype(np.float32)
    base = A + B * host.astype(float)
    safe = np.where(base > 1e-6, base, 1.0)
    power, slope = (np.where(base > 1e-6, v, 0) for v in (safe**gamma, B * gamma * safe ** (gamma - 1)))
    (xd, x), (yd, y), (dyd, dy) = env.pair(host), env.out(*host.shape), env.pair(env.random(*host.shape))
    dxd, dx = env.out(*host.shape)
    desc = activation("POWER", gamma=gamma)
    miopen.miopenActivationForward(env.h, desc, 1, xd, x, 0, yd, y)
    near = np.abs(base) < 1e-3  # where rounding decides
    close(np.where(near, 0, env.host(y)), np.where(near, 0, power), rtol=1e-4)
    miopen.miopenActivationBackward(env.h, desc, 1, yd, y, dyd, dy, xd, x, 0, dxd, dx)
    close(np.where(near, 0, env.host(dx)), np.where(near, 0, slope), rtol=1e-4)
    miopen.miopenActivationForward(env.h, desc, 1, xd, x, 0, xd, x)  # in place
    close(env.host(x), env.host(y), rtol=0)


# Pooling ------------------------------------------------------------------------------------------


def pooling(mode, window, padding, stride):
    made = miopen.miopenCreatePoolingDescriptor()
    miopen.miopenSetNdPoolingDescriptor(made, mode, len(window), window, padding, stride)
    return made


def pool(x, mode, window, padding, stride):
    """Pool by loops."""
    spatial = x.shape[2:]
    out = [(s + 2 * p - w) // u + 1 for s, w, p, u in zip(spatial, window, padding, stride, strict=True)]
    y = np.zeros((*x.shape[:2], *out))
    for cell in itertools.product(*map(range, out)):
        starts = [c * u - p for c, u, p in zip(cell, stride, padding, strict=True)]
        inside = tuple(slice(max(a, 0), min(a + w, s)) for a, w, s in zip(starts, window, spatial, strict=True))
        values = x[(slice(None), slice(None), *inside)].reshape(*x.shape[:2], -1).astype(float)
        place = (slice(None), slice(None), *cell)
        if mode == miopen.miopenPoolingMax:
            y[place] = values.max(-1)
        else:
            inclusive = mode == miopen.miopenPoolingAverageInclusive
            y[place] = values.sum(-1) / (np.prod(window) if inclusive else values.shape[-1])
    return y


WINDOWS = [((2, 3), (1, 1), (2, 1)), ((3, 2, 2), (1, 0, 1), (1, 2, 1))]


@every_backend()
def test_pooling(env):
    for how in WINDOWS[: 1 if env.h.backend == "opencl" else None]:  # compiling takes long there
        check_pooling(env, how)


def check_pooling(env, how):
    host = env.random(2, 2, *((5, 6) if len(how[0]) == 2 else (4, 5, 3)))
    for mode in miopen.miopenPoolingMode_t:
        desc = pooling(mode, *how)
        xd, x = env.pair(host)
        want = pool(host, mode, *how)
        assert miopen.miopenGetPoolingNdForwardOutputDim(desc, xd, host.ndim) == want.shape
        (yd, y), (dyd, dy), (dxd, dx) = env.out(*want.shape), env.pair(env.random(*want.shape)), env.out(*host.shape)
        size = miopen.miopenPoolingGetWorkSpaceSizeV2(desc, yd)
        assert (size > 0) == (mode == miopen.miopenPoolingMax)
        workspace = env.bytes(size) if size else (None, 0)
        miopen.miopenPoolingForward(env.h, desc, 1, xd, x, 0, yd, y, True, *workspace)
        close(env.host(y), want)
        miopen.miopenPoolingBackward(env.h, desc, 1, yd, y, dyd, dy, xd, x, 0, dxd, dx, workspace[0])
        slope = gradient(lambda v, m=mode: (pool(v, m, *how),), host, (env.host(dy),), 1e-4)
        close(env.host(dx), slope, atol=1e-5)


def test_average_leaves_the_padding_out():
    """MIOpen's number 1 is cuDNN's exclusive mode 2, and the other way round (migration rules A24 and V15)."""
    assert (miopen.miopenPoolingAverage, miopen.miopenPoolingAverageInclusive) == (1, 2)


@every_backend()
@pytest.mark.parametrize(("mode", "corner"), [(1, 1.0), (2, 4 / 9)])
def test_averages_of_ones_with_padding(env, mode, corner):
    xd, x = env.pair(np.ones((1, 1, 3, 3), np.float32))
    yd, y = env.out(1, 1, 3, 3)
    desc = pooling(mode, (3, 3), (1, 1), (1, 1))
    miopen.miopenPoolingForward(env.h, desc, 1, xd, x, 0, yd, y, False, None, 0)
    close(env.host(y)[0, 0, 0, 0], np.float64(corner))


class Max:
    """A maximum pooling on an environment."""

    def __init__(self, env, window=(2, 2), dims=(1, 2, 4, 4)):
        self.env, self.desc = env, pooling(miopen.miopenPoolingMax, window, (0, 0), window)
        self.xd, self.x = env.pair(env.random(*dims))
        shape = miopen.miopenGetPoolingForwardOutputDim(self.desc, self.xd)
        (self.yd, self.y), (self.dyd, self.dy) = env.out(*shape), env.pair(env.random(*shape))
        self.dxd, self.dx = env.out(*dims)
        self.workspace = env.bytes(miopen.miopenPoolingGetWorkSpaceSizeV2(self.desc, self.yd))

    def forward(self, do_backward, workspace, size):
        where = (self.desc, 1, self.xd, self.x, 0, self.yd, self.y)
        miopen.miopenPoolingForward(self.env.h, *where, do_backward, workspace, size)

    def backward(self, workspace):
        where = (self.desc, 1, self.yd, self.y, self.dyd, self.dy, self.xd, self.x, 0, self.dxd, self.dx)
        miopen.miopenPoolingBackward(self.env.h, *where, workspace)


@every_backend()
def test_backward_needs_the_workspace_that_forward_filled(env):
    layer = Max(env)
    workspace, size = layer.workspace
    with pytest.raises(dnn.BadParam, match=r"workspace: .*miopenPoolingForward filled, with do_backward=True"):
        layer.backward(workspace)  # no forward call at all
    layer.forward(False, workspace, size)
    with pytest.raises(dnn.BadParam, match="got one that"):
        layer.backward(workspace)
    layer.forward(True, workspace, size)
    layer.backward(workspace)
    with pytest.raises(dnn.BadParam, match="got one that") as caught:
        layer.backward(env.bytes(size)[0])
    assert caught.value.status == UNKNOWN
    with pytest.raises(dnn.BadParam, match=r"workspace: .* got None"):
        layer.backward(None)


@every_backend()
def test_one_workspace_for_two_layers_is_refused(env):
    first, second = Max(env, dims=(1, 2, 4, 4)), Max(env, dims=(1, 2, 4, 8))
    workspace, size = second.workspace
    first.forward(True, workspace, size)
    second.forward(True, workspace, size)
    second.backward(workspace)
    with pytest.raises(dnn.BadParam, match="filled for another problem since"):
        first.backward(workspace)


@every_backend()
def test_workspace_sizes_and_index_types(env):
    layer = Max(env, (4, 4), (2, 3, 16, 16))
    sizes = []
    for kind in miopen.miopenIndexType_t:
        miopen.miopenSetPoolingIndexType(layer.desc, kind)
        assert miopen.miopenGetPoolingIndexType(layer.desc) is kind
        sizes.append(miopen.miopenPoolingGetWorkSpaceSizeV2(layer.desc, layer.yd))
    count = 2 * 3 * 4 * 4
    assert sizes == [count, 2 * count, 4 * count, 8 * count]
    assert miopen.miopenPoolingGetWorkSpaceSize(layer.yd) == count
    workspace, _ = env.bytes(8 * count)
    with pytest.raises(dnn.BadParam, match=f"at least {8 * count} bytes"):
        layer.forward(True, workspace, count)


@every_backend()
def test_index_range(env):
    wide = Max(env, (16, 16), (1, 1, 16, 16))  # 256 cells, of which uint8 indices count 254
    with pytest.raises(dnn.NotSupported, match=r"larger index type.*256 cells of the window") as caught:
        wide.forward(True, *wide.workspace)
    assert caught.value.status == UNKNOWN
    miopen.miopenSetPoolingIndexType(wide.desc, miopen.miopenIndexUint16)
    size = miopen.miopenPoolingGetWorkSpaceSizeV2(wide.desc, wide.yd)
    wide.forward(True, *env.bytes(size))
    small = Max(env, (2, 2), (1, 1, 16, 16))
    assert miopen.miopenGetPoolingWorkSpaceIndexMode(small.desc) == miopen.miopenPoolingWorkspaceIndexMask
    small.forward(True, *small.workspace)
    miopen.miopenSetPoolingWorkSpaceIndexMode(small.desc, miopen.miopenPoolingWorkspaceIndexImage)
    with pytest.raises(dnn.NotSupported, match="256 cells of the image"):
        small.forward(True, *small.workspace)


# Local response normalisation ---------------------------------------------------------------------


def lrn(x, within, n, alpha, beta, k):
    x = x.astype(float)
    scale = np.full_like(x, k)
    for place in itertools.product(*map(range, x.shape)):
        i, c, h, w = place
        before, after = (n - 1) // 2, n // 2 + 1
        if within:
            part = x[i, c, max(0, h - before) : h + after, max(0, w - before) : w + after]
        else:
            part = x[i, max(0, c - before) : c + after, h, w]
        scale[place] += alpha / (n * n if within else n) * (part**2).sum()
    return x * scale**-beta


@every_backend()
@pytest.mark.parametrize("within", [False, True])
def test_lrn(env, within, caplog):
    mode = miopen.miopenLRNWithinChannel if within else miopen.miopenLRNCrossChannel
    host, change = env.random(2, 4, 3, 4), env.random(2, 4, 3, 4)
    desc = miopen.miopenCreateLRNDescriptor()
    numbers = (3, 1.5, 0.75, 2.0)
    miopen.miopenSetLRNDescriptor(desc, mode, *numbers)
    assert miopen.miopenGetLRNDescriptor(desc) == (mode, *numbers)
    (xd, x), (yd, y), (dyd, dy), (dxd, dx) = (
        env.pair(host),
        env.out(*host.shape),
        env.pair(change),
        env.out(*host.shape),
    )
    size = miopen.miopenLRNGetWorkSpaceSize(yd)
    assert size == 4 * host.size
    workspace, _ = env.bytes(size)
    backward = (yd, y, dyd, dy, xd, x, 0, dxd, dx)
    miopen.miopenLRNForward(env.h, desc, 1, xd, x, 0, yd, y, False, None)
    close(env.host(y), lrn(host, within, *numbers))
    with pytest.raises(dnn.BadParam, match=r"workspace: .*miopenLRNForward filled"):
        miopen.miopenLRNBackward(env.h, desc, 1, *backward, workspace)
    assert "no effect" not in caplog.text
    miopen.miopenLRNForward(env.h, desc, 3, xd, x, 2, yd, y, True, workspace)
    assert "alpha=3 and beta=2 have no effect" in caplog.text
    close(env.host(y), lrn(host, within, *numbers))  # MIOpen ignores alpha and beta
    miopen.miopenLRNBackward(env.h, desc, 1, *backward, workspace)
    close(env.host(dx), gradient(lambda v: (lrn(v, within, *numbers),), host, (change,)), atol=1e-5)


@every_backend()
def test_lrn_refuses_what_miopen_refuses(env):
    desc = miopen.miopenCreateLRNDescriptor()
    miopen.miopenSetLRNDescriptor(desc, miopen.miopenLRNCrossChannel, 3, 1.0, 0.5, 0.0)
    (xd, x), (yd, y) = env.pair(env.random(1, 4, 2, 2)), env.out(1, 4, 2, 2)
    with pytest.raises(dnn.NotSupported, match="non-zero") as caught:
        miopen.miopenLRNForward(env.h, desc, 1, xd, x, 0, yd, y, False, None)
    assert caught.value.status == UNKNOWN
    miopen.miopenSetLRNDescriptor(desc, miopen.miopenLRNCrossChannel, 3, 1.0, 0.5, 1.0)
    gaps = env.desc(1, 4, 2, 2, strides=(32, 8, 4, 2))
    with pytest.raises(dnn.NotSupported, match="packed tensors only"):
        miopen.miopenLRNForward(env.h, desc, 1, gaps, env.dev(np.zeros(64, np.float32)), 0, yd, y, False, None)
    with pytest.raises(dnn.BadParam, match="a buffer of 64 bytes"):
        miopen.miopenLRNForward(env.h, desc, 1, xd, x, 0, yd, y, True, None)


# Softmax ------------------------------------------------------------------------------------------


@every_backend()
@pytest.mark.parametrize("mode", miopen.miopenSoftmaxMode_t)
@pytest.mark.parametrize("algorithm", miopen.miopenSoftmaxAlgorithm_t)
def test_softmax(env, algorithm, mode):
    host, change = env.random(2, 3, 2, 2), env.random(2, 3, 2, 2)
    axes = (1,) if mode == miopen.MIOPEN_SOFTMAX_MODE_CHANNEL else (1, 2, 3)

    def softmax(v):
        y = np.exp(v - v.max(axes, keepdims=True))
        y /= y.sum(axes, keepdims=True)
        return (np.log(y) if algorithm == miopen.MIOPEN_SOFTMAX_LOG else y,)

    (xd, x), (yd, y), (dyd, dy), (dxd, dx) = (
        env.pair(host),
        env.out(*host.shape),
        env.pair(change),
        env.out(*host.shape),
    )
    miopen.miopenSoftmaxForward_V2(env.h, 1, xd, x, 0, yd, y, algorithm, mode)
    close(env.host(y), softmax(host.astype(float))[0])
    miopen.miopenSoftmaxBackward_V2(env.h, 2, yd, y, dyd, dy, 0, dxd, dx, algorithm, mode)
    close(env.host(dx), 2 * gradient(softmax, host, (change,)), atol=1e-5)
    if axes == (1,) and algorithm == miopen.MIOPEN_SOFTMAX_ACCURATE:  # what the first form computes
        plain, back = env.out(*host.shape)[1], env.out(*host.shape)[1]
        miopen.miopenSoftmaxForward(env.h, 1, xd, x, 0, yd, plain)
        miopen.miopenSoftmaxBackward(env.h, 2, yd, plain, dyd, dy, 0, dxd, back)
        assert (env.host(plain) == env.host(y)).all()
        assert (env.host(back) == env.host(dx)).all()


# alpha and beta -----------------------------------------------------------------------------------


@every_backend()
def test_alpha_is_1_and_beta_is_0(env):
    """MIOpen insists, with the status that it has at each place (migration rules V02 to V04)."""
    (d, x), y = env.pair(env.random(1, 2, 4, 4)), env.out(1, 2, 4, 4)[1]
    (s, scale) = env.pair(np.ones((1, 2, 1, 1), np.float32))
    relu, desc = activation("RELU"), pooling(miopen.miopenPoolingAverage, (1, 1), (0, 0), (1, 1))
    bad, unknown, h = miopen.miopenStatusBadParm, UNKNOWN, env.h
    norm = (scale, scale, scale, scale, 1e-3)
    calls = {
        "activation": (lambda a, b: miopen.miopenActivationForward(h, relu, a, d, x, b, d, y), unknown),
        "gradient": (lambda a, b: miopen.miopenActivationBackward(h, relu, a, d, x, d, x, d, x, b, d, y), unknown),
        "pooling": (lambda a, b: miopen.miopenPoolingForward(h, desc, a, d, x, b, d, y, False, None, 0), unknown),
        "unpooling": (lambda a, b: miopen.miopenPoolingBackward(h, desc, a, d, x, d, x, d, x, b, d, y, None), unknown),
        "bias": (lambda a, b: miopen.miopenConvolutionBackwardBias(h, a, d, x, b, s, scale), unknown),
        "training": (
            lambda a, b: miopen.miopenBatchNormalizationForwardTraining(
                h, 1, a, b, d, x, d, y, s, scale, scale, 0.5, None, None, 1e-3, None, None
            ),
            unknown,
        ),
        "inference": (
            lambda a, b: miopen.miopenBatchNormalizationForwardInference(h, 1, a, b, d, x, d, y, s, *norm),
            bad,
        ),
    }
    for name, (call, status) in calls.items():
        for alpha, beta in ((0.5, 0), (1, 1)):
            with pytest.raises(dnn.NotSupported, match="alpha=1 and beta=0 only") as caught:
                call(alpha, beta)
            assert caught.value.status == status, name
    assert np.isnan(env.host(y)).all()


def test_float_is_1_and_half_is_0(env):
    """cuDNN's numbers of the types are others (migration rule A24): its members are refused."""
    assert (miopen.miopenHalf, miopen.miopenFloat) == (0, 1)
    desc = miopen.miopenCreateTensorDescriptor()
    with pytest.raises(dnn.BadParam, match=r"a miopenDataType_t .*got DataType.FLOAT"):
        miopen.miopenSet4dTensorDescriptor(desc, dnn.DataType.FLOAT, 1, 1, 1, 1)
    miopen.miopenSet4dTensorDescriptor(desc, 1, 1, 1, 1, 1)
    assert miopen.miopenGet4dTensorDescriptor(desc)[0] is F


def test_descriptors_say_what_they_were_set_to():
    pool = miopen.miopenCreatePoolingDescriptor()
    miopen.miopenSet2dPoolingDescriptor(pool, miopen.miopenPoolingAverageInclusive, 2, 3, 0, 1, 4, 5)
    mode = miopen.miopenPoolingAverageInclusive
    assert miopen.miopenGet2dPoolingDescriptor(pool) == (mode, 2, 3, 0, 1, 4, 5)
    assert miopen.miopenGetNdPoolingDescriptor(pool, 2) == (mode, 2, (2, 3), (0, 1), (4, 5))
    desc = activation("POWER", 1.0, 2.0, 3.0)
    assert miopen.miopenGetActivationDescriptor(desc) == (miopen.miopenActivationPOWER, 1.0, 2.0, 3.0)
