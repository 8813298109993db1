"""Convolutions with MIOpen's names: results against NumPy, and MIOpen's rule that Find comes first."""

from __future__ import annotations

import numpy as np
import pytest
from miopen_env import D, Env, F, H, close, convolve, every_backend, gradient

import portadnn as dnn
from portadnn import miopen


def geometry(pad=(0, 0), stride=(1, 1), dilation=(1, 1), mode=miopen.miopenConvolution, groups=1):
    conv = miopen.miopenCreateConvolutionDescriptor()
    if len(pad) == 2:
        miopen.miopenInitConvolutionDescriptor(conv, mode, *pad, *stride, *dilation)
    else:
        miopen.miopenInitConvolutionNdDescriptor(conv, len(pad), pad, stride, dilation, mode)
    miopen.miopenSetConvolutionGroupCount(conv, groups)
    return conv


class Layer:
    """x, w, y of a convolution with their descriptors."""

    def __init__(self, env, x, w, conv):
        self.env, self.conv = env, conv
        self.xd, self.x = env.pair(x)
        self.wd, self.w = env.pair(w)
        dims = miopen.miopenGetConvolutionNdForwardOutputDim(conv, self.xd, self.wd)[1]
        self.y_dims = dims
        self.yd, self.y = env.out(*dims, dtype=F if x.dtype == np.float32 else D if x.dtype == np.float64 else H)

    def find(self, count=8, share=1.0):
        h = self.env.h
        size = miopen.miopenConvolutionForwardGetWorkSpaceSize(h, self.wd, self.xd, self.conv, self.yd)
        workspace, _ = self.env.bytes(size)
        found = miopen.miopenFindConvolutionForwardAlgorithm(
            h, self.xd, self.x, self.wd, self.w, self.conv, self.yd, self.y, count, workspace, int(size * share), False
        )
        return found[1], workspace, size

    def forward(self, algo, workspace, size, alpha=1, beta=0):
        args = (self.xd, self.x, self.wd, self.w, self.conv, algo, beta, self.yd, self.y, workspace, size)
        miopen.miopenConvolutionForward(self.env.h, alpha, *args)
        return self.env.host(self.y)


GEOMETRIES = [
    ((2, 3, 7, 6), (4, 3, 3, 3), {"pad": (1, 1)}),
    ((1, 4, 9, 8), (6, 2, 3, 2), {"pad": (1, 0), "stride": (2, 1), "dilation": (2, 1), "groups": 2}),
    ((2, 3, 5, 4, 6), (2, 3, 2, 3, 1), {"pad": (1, 0, 0), "stride": (1, 1, 2), "dilation": (1, 1, 1)}),
]


@every_backend()
def test_every_algorithm_found_computes_the_convolution(env):
    for x_dims, w_dims, how in GEOMETRIES[: 1 if env.h.backend == "opencl" else None]:  # it compiles every engine
        every_algorithm(env, x_dims, w_dims, how)


def every_algorithm(env, x_dims, w_dims, how):
    x, w = env.random(*x_dims), env.random(*w_dims)
    layer = Layer(env, x, w, geometry(**how))
    want = convolve(x, w, **how)
    assert layer.y_dims == want.shape
    perfs, workspace, size = layer.find()
    assert perfs
    assert [p.time for p in perfs] == sorted(p.time for p in perfs)
    for perf in perfs:
        assert perf.bwd_data_algo is None and perf.bwd_weights_algo is None and 0 <= perf.memory <= size
        close(layer.forward(perf.fwd_algo, workspace, size), want, atol=5e-5)  # transforms round more


@every_backend()
@pytest.mark.parametrize(("x_dims", "w_dims", "how"), GEOMETRIES)
def test_gradients(env, x_dims, w_dims, how):
    x, w = env.random(*x_dims), env.random(*w_dims)
    layer = Layer(env, x, w, geometry(**how))
    change = env.random(*layer.y_dims)
    dyd, dy = env.pair(change)
    dxd, dx = env.out(*x_dims)
    dwd, dw = env.out(*w_dims)
    h, conv = env.h, layer.conv
    if h.backend == "opencl":  # Find compiles every engine
        miopen.miopenSetConvolutionFindMode(conv, miopen.miopenConvolutionFindModeFast)

    size = miopen.miopenConvolutionBackwardDataGetWorkSpaceSize(h, dyd, layer.wd, conv, dxd)
    workspace, _ = env.bytes(size)
    count, perfs = miopen.miopenFindConvolutionBackwardDataAlgorithm(
        h, dyd, dy, layer.wd, layer.w, conv, dxd, dx, 1, workspace, size, True
    )
    assert count == len(perfs) == 1
    algo = perfs[0].bwd_data_algo
    miopen.miopenConvolutionBackwardData(h, 1, dyd, dy, layer.wd, layer.w, conv, algo, 0, dxd, dx, workspace, size)
    # the convolution is linear: a difference quotient is exact for any step
    close(env.host(dx), gradient(lambda v: (convolve(v, w, **how),), x, (change,), 1.0), atol=1e-5)

    size = miopen.miopenConvolutionBackwardWeightsGetWorkSpaceSize(h, dyd, layer.xd, conv, dwd)
    workspace, _ = env.bytes(size)
    _, perfs = miopen.miopenFindConvolutionBackwardWeightsAlgorithm(
        h, dyd, dy, layer.xd, layer.x, conv, dwd, dw, 5, workspace, size, False
    )
    algo = perfs[0].bwd_weights_algo
    miopen.miopenConvolutionBackwardWeights(h, 1, dyd, dy, layer.xd, layer.x, conv, algo, 0, dwd, dw, workspace, size)
    close(env.host(dw), gradient(lambda v: (convolve(x, v, **how),), w, (change,), 1.0), atol=1e-5)


@every_backend()
def test_bias_is_added_with_beta_0(env):
    """MIOpen's ForwardBias is alpha * y + alpha * b + beta * y: cuDNN's beta = 1 doubles y (migration rule V07)."""
    y, bias = env.random(2, 3, 4, 5), env.random(1, 3, 1, 1)
    for alpha, beta in ((1, 0), (1, 1), (0.5, 0.25)):
        (bd, b), (yd, out) = env.pair(bias), env.pair(y)
        miopen.miopenConvolutionForwardBias(env.h, alpha, bd, b, beta, yd, out)
        close(env.host(out), (alpha + beta) * y.astype(float) + alpha * bias)


@every_backend()
def test_bias_gradient(env):
    dy = env.random(2, 3, 4, 5)
    (dyd, given), (dbd, db) = env.pair(dy), env.out(1, 3, 1, 1)
    miopen.miopenConvolutionBackwardBias(env.h, 1, dyd, given, 0, dbd, db)
    close(env.host(db)[0, :, 0, 0], dy.astype(float).sum((0, 2, 3)))


def small(env):
    return Layer(env, env.random(2, 3, 5, 5), env.random(4, 3, 3, 3), geometry((1, 1)))


@every_backend()
def test_without_find_there_is_no_convolution(env):
    layer = small(env)
    with pytest.raises(dnn.BadParam, match="call miopenFindConvolutionForwardAlgorithm first") as caught:
        layer.forward(miopen.miopenConvolutionFwdAlgoImplicitGEMM, None, 0)
    assert caught.value.status == miopen.miopenStatusBadParm and "it was not called" in str(caught.value)
    assert np.isnan(env.host(layer.y)).all()


def test_find_counts_for_its_problem_only(env):
    layer = small(env)
    perfs, workspace, size = layer.find()
    algo = perfs[0].fwd_algo
    again = small(env)  # other descriptors and memory, the same problem
    again.forward(algo, workspace, size)
    last = Layer(env, env.random(1, 3, 5, 5), env.random(4, 3, 3, 3), layer.conv)  # a last, smaller batch
    with pytest.raises(dnn.BadParam, match="called for other descriptors"):
        last.forward(algo, workspace, size)
    miopen.miopenInitConvolutionDescriptor(layer.conv, miopen.miopenConvolution, 1, 1, 1, 1, 2, 2)
    with pytest.raises(dnn.BadParam, match="called for other descriptors"):
        layer.forward(algo, workspace, size)


@every_backend()
def test_find_counts_for_its_direction_and_handle_only(env):
    layer = small(env)
    perfs, workspace, size = layer.find()
    dxd, dx = env.out(2, 3, 5, 5)
    with pytest.raises(dnn.BadParam, match="call miopenFindConvolutionBackwardDataAlgorithm first"):
        miopen.miopenConvolutionBackwardData(
            env.h, 1, layer.yd, layer.y, layer.wd, layer.w, layer.conv, 1, 0, dxd, dx, workspace, size
        )
    with Env(env.h.backend) as other, pytest.raises(dnn.BadParam, match="not called with this handle"):
        small(other).forward(perfs[0].fwd_algo, *other.bytes(size))


@every_backend()
def test_an_algorithm_that_find_did_not_find(env):
    layer = small(env)
    perfs, workspace, size = layer.find()
    found = {perf.fwd_algo for perf in perfs}
    missing = next(algo for algo in miopen.miopenConvFwdAlgorithm_t if algo not in found)
    with pytest.raises(dnn.BadParam, match="one that miopenFindConvolutionForwardAlgorithm found"):
        layer.forward(missing, workspace, size)


def test_blending_is_refused_for_images_and_done_for_volumes(env):
    layer = small(env)
    perfs, workspace, size = layer.find()
    for alpha, beta in ((2, 0), (1, 1)):
        with pytest.raises(dnn.NotSupported, match="alpha=1 and beta=0 only") as caught:
            layer.forward(perfs[0].fwd_algo, workspace, size, alpha, beta)
        assert caught.value.status == miopen.miopenStatusNotImplemented
    x, w, how = env.random(1, 2, 3, 4, 4), env.random(2, 2, 2, 2, 2), {"pad": (0, 0, 0), "stride": (1, 1, 1)}
    volume = Layer(env, x, w, geometry(**how, dilation=(1, 1, 1)))
    perfs, workspace, size = volume.find()
    once = volume.forward(perfs[0].fwd_algo, workspace, size)
    twice = volume.forward(perfs[0].fwd_algo, workspace, size, alpha=2, beta=0.5)
    close(twice, 2.5 * once.astype(float))


@every_backend()
def test_a_workspace_that_is_too_small(env):
    layer = small(env)
    perfs, _, _ = layer.find()
    for perf in perfs:
        if perf.memory:
            with pytest.raises(dnn.BadParam, match=f"at least {perf.memory} bytes"):
                layer.forward(perf.fwd_algo, *env.bytes(perf.memory - 1))
            with pytest.raises(dnn.BadParam, match="workSpace: expected a buffer"):
                layer.forward(perf.fwd_algo, None, 0)
    perfs, _, _ = layer.find(share=0.0)
    assert all(perf.memory == 0 for perf in perfs)


def test_group_count_is_reset_by_init():
    conv = geometry(groups=4)
    assert miopen.miopenGetConvolutionGroupCount(conv) == 4
    miopen.miopenInitConvolutionDescriptor(conv, miopen.miopenConvolution, 0, 0, 1, 1, 1, 1)
    assert miopen.miopenGetConvolutionGroupCount(conv) == 1


def test_transposed_mode(env):
    """Forward of miopenTranspose is the gradient by the input of the other mode, and the other way round."""
    x, w = env.random(2, 4, 5, 4), env.random(4, 3, 3, 3)
    conv = geometry((1, 1), (2, 2), mode=miopen.miopenTranspose)
    miopen.miopenSetTransposeConvOutputPadding(conv, 1, 0)
    layer = Layer(env, x, w, conv)
    assert layer.y_dims == (2, 3, 10, 7)
    perfs, workspace, size = layer.find()
    found = layer.forward(perfs[0].fwd_algo, workspace, size)
    zero = np.zeros((2, 3, 10, 7))
    close(found, gradient(lambda v: (convolve(v, w, (1, 1), (2, 2)),), zero, (x.astype(float),), 1.0), atol=1e-5)

    dy = env.random(2, 3, 10, 7)
    (dyd, change), (dxd, dx), (dwd, dw) = env.pair(dy), env.out(*x.shape), env.out(*w.shape)
    size = miopen.miopenConvolutionBackwardDataGetWorkSpaceSize(env.h, dyd, layer.wd, conv, dxd)
    workspace, _ = env.bytes(size)
    where = (dyd, change, layer.wd, layer.w, conv)
    _, perfs = miopen.miopenFindConvolutionBackwardDataAlgorithm(env.h, *where, dxd, dx, 9, workspace, size, False)
    miopen.miopenConvolutionBackwardData(env.h, 1, *where, perfs[0].bwd_data_algo, 0, dxd, dx, workspace, size)
    close(env.host(dx), convolve(dy, w, (1, 1), (2, 2)), atol=1e-5)
    size = miopen.miopenConvolutionBackwardWeightsGetWorkSpaceSize(env.h, dyd, layer.xd, conv, dwd)
    workspace, _ = env.bytes(size)
    where = (dyd, change, layer.xd, layer.x, conv)
    _, perfs = miopen.miopenFindConvolutionBackwardWeightsAlgorithm(env.h, *where, dwd, dw, 9, workspace, size, False)
    miopen.miopenConvolutionBackwardWeights(env.h, 1, *where, perfs[0].bwd_weights_algo, 0, dwd, dw, workspace, size)
    want = gradient(lambda v: (convolve(dy, v, (1, 1), (2, 2)),), w, (x.astype(float),), 1.0)
    close(env.host(dw), want, atol=1e-5)


@every_backend()
def test_deterministic_attribute_keeps_atomics_out(env):
    """GEMM is portadnn's ALGO_0, which adds by atomics; NumPy computes it without."""
    layer = small(env)
    dxd, dx = env.out(2, 3, 5, 5)
    attribute = miopen.MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC
    miopen.miopenSetConvolutionAttribute(layer.conv, attribute, 1)
    size = miopen.miopenConvolutionBackwardDataGetWorkSpaceSize(env.h, layer.yd, layer.wd, layer.conv, dxd)
    workspace, _ = env.bytes(size)
    _, perfs = miopen.miopenFindConvolutionBackwardDataAlgorithm(
        env.h, layer.yd, layer.y, layer.wd, layer.w, layer.conv, dxd, dx, 9, workspace, size, False
    )
    found = {perf.bwd_data_algo for perf in perfs}
    assert (miopen.miopenConvolutionBwdDataAlgoGEMM in found) == (env.h.backend == "reference")
    assert miopen.miopenConvolutionBwdDataAlgoDirect in found


@every_backend()
def test_immediate_mode_needs_no_find(env):
    layer = small(env)
    want = convolve(env.host(layer.x), env.host(layer.w), (1, 1))
    where = (layer.wd, layer.xd, layer.conv, layer.yd)
    count = miopen.miopenConvolutionForwardGetSolutionCount(env.h, *where)
    number, solutions = miopen.miopenConvolutionForwardGetSolution(env.h, *where, 2)
    assert number == len(solutions) == min(2, count) > 0
    for solution in solutions:
        size = miopen.miopenConvolutionForwardGetSolutionWorkspaceSize(env.h, *where, solution.solution_id)
        assert size == solution.workspace_size
        miopen.miopenConvolutionForwardCompileSolution(env.h, *where, solution.solution_id)
        data = (layer.wd, layer.w, layer.xd, layer.x, layer.conv, layer.yd, layer.y)
        miopen.miopenConvolutionForwardImmediate(env.h, *data, *env.bytes(size), solution.solution_id)
        close(env.host(layer.y), want, atol=1e-5)
    with pytest.raises(dnn.BadParam, match="solution_id"):
        miopen.miopenConvolutionForwardCompileSolution(env.h, *where, 99)


@every_backend()
def test_fast_find_mode_estimates(env):
    layer = small(env)
    miopen.miopenSetConvolutionFindMode(layer.conv, miopen.miopenConvolutionFindModeFast)
    perfs, workspace, size = layer.find()
    assert np.isnan(env.host(layer.y)).all()  # nothing ran
    found = layer.forward(perfs[0].fwd_algo, workspace, size)
    close(found, convolve(env.host(layer.x), env.host(layer.w), (1, 1)), atol=1e-5)


@every_backend()
def test_convolution_bias_activation(env):
    x, w, bias, z = env.random(2, 3, 5, 5), env.random(4, 3, 3, 3), env.random(1, 4, 1, 1), env.random(2, 4, 5, 5)
    layer = Layer(env, x, w, geometry((1, 1)))
    relu = miopen.miopenCreateActivationDescriptor()
    miopen.miopenSetActivationDescriptor(relu, miopen.miopenActivationRELU, 0, 0, 0)
    (bd, b), (zd, added) = env.pair(bias), env.pair(z)
    head = (layer.xd, layer.x, layer.wd, layer.w, layer.conv, miopen.miopenConvolutionFwdAlgoImplicitGEMM, None, 0)
    miopen.miopenConvolutionBiasActivationForward(env.h, 2, *head, 0.5, zd, added, bd, b, relu, layer.yd, layer.y)
    close(env.host(layer.y), np.maximum(2 * convolve(x, w, (1, 1)) + 0.5 * z + bias, 0), atol=1e-5)
    miopen.miopenSetActivationDescriptor(relu, miopen.miopenActivationTANH, 1, 1, 0)
    with pytest.raises(dnn.NotSupported, match="miopenActivationRELU"):
        miopen.miopenConvolutionBiasActivationForward(env.h, 1, *head, 0, None, None, bd, b, relu, layer.yd, layer.y)


@pytest.mark.parametrize("dtype", [H, D])
def test_other_types(env, dtype):
    x, w = env.random(1, 3, 5, 5, dtype=dtype), env.random(4, 3, 3, 3, dtype=dtype)
    layer = Layer(env, x, w, geometry((1, 1)))
    perfs, workspace, size = layer.find()
    close(layer.forward(perfs[0].fwd_algo, workspace, size), convolve(x, w, (1, 1)), rtol=2e-3, atol=2e-3)


@every_backend()
def test_immediate_gradients(env):
    layer = small(env)
    h, conv = env.h, layer.conv
    change = env.random(*layer.y_dims)
    dyd, dy = env.pair(change)
    (dxd, dx), (dwd, dw) = env.out(2, 3, 5, 5), env.out(4, 3, 3, 3)
    x, w = env.host(layer.x), env.host(layer.w)

    where = (dyd, layer.wd, conv, dxd)
    assert miopen.miopenConvolutionBackwardDataGetSolutionCount(h, *where) >= 1
    _, (solution, *_) = miopen.miopenConvolutionBackwardDataGetSolution(h, *where, 9)
    size = miopen.miopenConvolutionBackwardDataGetSolutionWorkspaceSize(h, *where, solution.solution_id)
    miopen.miopenConvolutionBackwardDataCompileSolution(h, *where, solution.solution_id)
    data = (dyd, dy, layer.wd, layer.w, conv, dxd, dx)
    miopen.miopenConvolutionBackwardDataImmediate(h, *data, *env.bytes(size), solution.solution_id)
    close(env.host(dx), gradient(lambda v: (convolve(v, w, (1, 1)),), x, (change,), 1.0), atol=1e-5)

    where = (dyd, layer.xd, conv, dwd)
    assert miopen.miopenConvolutionBackwardWeightsGetSolutionCount(h, *where) >= 1
    _, (solution, *_) = miopen.miopenConvolutionBackwardWeightsGetSolution(h, *where, 9)
    size = miopen.miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(h, *where, solution.solution_id)
    miopen.miopenConvolutionBackwardWeightsCompileSolution(h, *where, solution.solution_id)
    data = (dyd, dy, layer.xd, layer.x, conv, dwd, dw)
    miopen.miopenConvolutionBackwardWeightsImmediate(h, *data, *env.bytes(size), solution.solution_id)
    close(env.host(dw), gradient(lambda v: (convolve(x, v, (1, 1)),), w, (change,), 1.0), atol=1e-5)


def test_descriptors_say_what_they_were_set_to():
    conv = geometry((1, 2), (3, 4), (5, 6), mode=miopen.miopenTranspose, groups=2)
    mode = miopen.miopenTranspose
    assert miopen.miopenGetConvolutionDescriptor(conv) == (mode, 1, 2, 3, 4, 5, 6)
    assert miopen.miopenGetConvolutionNdDescriptor(conv, 2) == (2, (1, 2), (3, 4), (5, 6), mode)
    assert miopen.miopenGetConvolutionSpatialDim(conv) == 2
    attribute = miopen.MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL
    assert miopen.miopenGetConvolutionAttribute(conv, attribute) == -1
    miopen.miopenSetConvolutionAttribute(conv, attribute, 1)
    assert miopen.miopenGetConvolutionAttribute(conv, attribute) == 1
    assert miopen.miopenGetConvolutionFindMode(conv) is miopen.miopenConvolutionFindModeDefault
    volume = geometry((0, 0, 0), (2, 2, 2), (1, 1, 1), mode=miopen.miopenTranspose)
    miopen.miopenSetTransposeConvNdOutputPadding(volume, 3, (1, 0, 1))
    with Env() as env:
        x, w = env.desc(1, 2, 3, 3, 3), env.desc(2, 4, 2, 2, 2)
        assert miopen.miopenGetConvolutionNdForwardOutputDim(volume, x, w) == (5, (1, 4, 7, 6, 7))
        miopen.miopenSetTransposeConvNdOutputPadding(volume, 3, (2, 0, 0))
        with pytest.raises(dnn.BadParam, match="output padding below the stride 2"):
            miopen.miopenGetConvolutionNdForwardOutputDim(volume, x, w)


@every_backend()
def test_a_later_find_counts(env, monkeypatch):
    """What an earlier Find found of the same problem does not go on to run."""
    from portadnn.miopen.convolution import algorithms as convolution_algorithms

    layer = small(env)
    perfs, workspace, size = layer.find()
    layer.forward(perfs[0].fwd_algo, workspace, size)
    monkeypatch.setattr(convolution_algorithms.ours, "find_ex", lambda *_: [])
    with pytest.raises(dnn.NotSupported, match="no suitable algorithm") as caught:
        layer.find()
    assert caught.value.status == miopen.miopenStatusUnknownError
    with pytest.raises(dnn.BadParam, match=r"algo: .*found: none"):
        layer.forward(perfs[0].fwd_algo, workspace, size)
