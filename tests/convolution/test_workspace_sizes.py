"""A workspace has the bytes that the C names say it has: no call uses more, whatever lies behind them."""

from __future__ import annotations

import numpy as np
import pytest
from helper import everywhere
from miopen_env import F

import portadnn as dnn
from portadnn import cudnn, miopen

FILL = 0xA5
BEHIND = 256  # bytes of the memory behind a workspace
DIMS = {"x": (2, 6, 9, 8), "w": (5, 6, 3, 3), "y": (2, 5, 9, 8)}
ORDERS = {"Forward": "xwy", "BackwardFilter": "xyw", "BackwardData": "wyx"}
ALGOS = {"Forward": range(8), "BackwardFilter": range(7), "BackwardData": range(6)}
directions = pytest.mark.parametrize("direction", ORDERS)


def filled(handle, nbytes):
    """Return memory of bytes that all have one value."""
    return handle.device.asarray(np.full(nbytes, FILL, np.uint8))


def untouched(handle, memory, first=0):
    return (handle.to_numpy(memory)[first:] == FILL).all()


def tensor_desc(*dims):
    desc = cudnn.cudnnCreateTensorDescriptor()
    strides = [int(np.prod(dims[i + 1 :])) for i in range(len(dims))]
    cudnn.cudnnSetTensorNdDescriptor(desc, cudnn.CUDNN_DATA_FLOAT, len(dims), dims, strides)
    return desc


class Convolution:
    """One direction of a convolution by cuDNN's names."""

    def __init__(self, handle, direction):
        rng = np.random.default_rng(5)
        self.handle, self.direction = handle, direction
        self.conv = cudnn.cudnnCreateConvolutionDescriptor()
        cudnn.cudnnSetConvolution2dDescriptor(self.conv, 1, 1, 1, 1, 1, 1, 1)
        self.memory = {n: handle.asarray(rng.standard_normal(DIMS[n]).astype(np.float32)) for n in "xwy"}
        self.descs = {n: tensor_desc(*DIMS[n]) for n in "xy"}
        self.descs["w"] = cudnn.cudnnCreateFilterDescriptor()
        cudnn.cudnnSetFilter4dDescriptor(self.descs["w"], 0, 0, *DIMS["w"])
        self.names = ORDERS[direction]

    def size(self, algo):
        first, second, last = (self.descs[n] for n in self.names)
        call = getattr(cudnn, f"cudnnGetConvolution{self.direction}WorkspaceSize")
        return call(self.handle, first, second, self.conv, last, algo)

    def sizes(self):
        """Return the bytes of each algorithm that takes the problem."""
        found = {}
        for algo in ALGOS[self.direction]:
            try:
                found[algo] = self.size(algo)
            except dnn.NotSupported:
                continue
        return found

    def find(self, workspace, size):
        first, second, last = ((self.descs[n], self.memory[n]) for n in self.names)
        call = getattr(cudnn, f"cudnnFindConvolution{self.direction}AlgorithmEx")
        return call(self.handle, *first, *second, self.conv, *last, 99, workspace, size)[1]

    def run(self, algo, workspace, size):
        first, second, last = ((self.descs[n], self.memory[n]) for n in self.names)
        call = getattr(cudnn, f"cudnnConvolution{self.direction}")
        call(self.handle, 1.0, *first, *second, self.conv, algo, workspace, size, 0.0, *last)
        return self.result()

    def result(self):
        return self.handle.to_numpy(self.memory[self.names[2]])


@everywhere()
@directions
def test_find_reports_what_fits(handle, direction):
    """With 0 bytes, with some, with all; nothing behind them is used."""
    layer = Convolution(handle, direction)
    largest = max(layer.sizes().values())
    for size in sorted({0, 1, largest // 2, largest}):
        memory = filled(handle, largest + BEHIND)
        found = layer.find(memory, size)
        good = [perf for perf in found if perf.status == cudnn.CUDNN_STATUS_SUCCESS]
        assert good
        assert all(perf.memory <= size for perf in good)
        short = [perf for perf in found if perf.status == cudnn.CUDNN_STATUS_ALLOC_FAILED]
        assert all(perf.memory > size for perf in short)
        assert untouched(handle, memory, size)
        null = layer.find(None, size)
        assert {perf.algo for perf in null if perf.time >= 0} == {perf.algo for perf in good}
        for perf in good:
            layer.run(perf.algo, memory, size)
        assert untouched(handle, memory, size)
    with pytest.raises(dnn.BadParam, match="workSpaceSizeInBytes"):
        layer.find(None, -1)
    with pytest.raises(dnn.BadParam):
        layer.find(filled(handle, 16), 17 + largest)


@everywhere()
@directions
def test_convolutions_use_what_they_are_given(handle, direction):
    """Too little is refused before anything is written; what lies behind enough is not touched."""
    layer = Convolution(handle, direction)
    for algo, size in layer.sizes().items():
        memory, before = filled(handle, size + BEHIND), layer.result().copy()
        for short in {0, size // 2, size - 1} if size else ():
            with pytest.raises(dnn.BadParam, match=f"at least {size} bytes"):
                layer.run(algo, memory, short)
            assert untouched(handle, memory)
            assert np.array_equal(layer.result(), before)
        exact = layer.run(algo, memory, size).copy()
        assert untouched(handle, memory, size)
        for workspace, given in ((memory, size + BEHIND // 2), (None, 0)):  # not all algorithms repeat bits
            np.testing.assert_allclose(layer.run(algo, workspace, given), exact, rtol=1e-4, atol=1e-4)


@everywhere()
def test_reductions_use_what_they_are_given(handle):
    a, c = tensor_desc(1, 1, 1, 100_000), tensor_desc(1, 1, 1, 1)
    values = np.random.default_rng(0).standard_normal((1, 1, 1, 100_000)).astype(np.float32)
    reduce = cudnn.cudnnCreateReduceTensorDescriptor()
    cudnn.cudnnSetReduceTensorDescriptor(reduce, cudnn.CUDNN_REDUCE_TENSOR_ADD, 0, 0, 0, 0)
    size = cudnn.cudnnGetReductionWorkspaceSize(handle, reduce, a, c)
    memory, x, y = filled(handle, size + BEHIND), handle.asarray(values), handle.asarray(np.full((1, 1, 1, 1), 7.0))
    y = handle.asarray(np.full((1, 1, 1, 1), 7.0, np.float32))
    for short in {0, size - 1} if size else ():
        with pytest.raises(dnn.BadParam, match=f"at least {size} bytes"):
            cudnn.cudnnReduceTensor(handle, reduce, None, 0, memory, short, 1.0, a, x, 0.0, c, y)
        assert untouched(handle, memory)
        assert handle.to_numpy(y).item() == 7.0
    cudnn.cudnnReduceTensor(handle, reduce, None, 0, memory, size, 1.0, a, x, 0.0, c, y)
    assert untouched(handle, memory, size)
    np.testing.assert_allclose(handle.to_numpy(y).item(), values.astype(np.float64).sum(), rtol=1e-4)


STEPS, BATCH, FEATURES, HIDDEN = 3, 2, 4, 5


class Network:
    """A recurrent network by cuDNN 8's names."""

    def __init__(self, handle):
        rng = np.random.default_rng(6)
        self.handle = handle
        self.rnn = cudnn.cudnnCreateRNNDescriptor()
        cudnn.cudnnSetRNNDescriptor_v8(self.rnn, 0, 2, 2, 0, 0, 0, 0, 0, FEATURES, HIDDEN, HIDDEN, 1, None, 0)
        self.xd, self.yd = (cudnn.cudnnCreateRNNDataDescriptor() for _ in range(2))
        for desc, features in ((self.xd, FEATURES), (self.yd, HIDDEN)):
            cudnn.cudnnSetRNNDataDescriptor(desc, 0, 1, STEPS, BATCH, features, (STEPS,) * BATCH, None)
        self.weights = cudnn.cudnnGetRNNWeightSpaceSize(handle, self.rnn)
        self.x = handle.asarray(rng.standard_normal((STEPS, BATCH, FEATURES)).astype(np.float32))
        self.w = handle.asarray(rng.standard_normal(self.weights // 4).astype(np.float32))
        self.y = handle.asarray(np.full((STEPS, BATCH, HIDDEN), 7.0, np.float32))
        self.dw = handle.asarray(np.full(self.weights // 4, 7.0, np.float32))

    def sizes(self, training):
        return cudnn.cudnnGetRNNTempSpaceSizes(self.handle, self.rnn, training, self.xd)

    def forward(self, training, work, reserve):
        states = (None,) * 6
        cudnn.cudnnRNNForward(
            *(self.handle, self.rnn, training, None, self.xd, self.x, self.yd, self.y, *states),
            *(self.weights, self.w, work[1], work[0], reserve[1], reserve[0]),
        )

    def gradient(self, mode, work, reserve):
        cudnn.cudnnRNNBackwardWeights_v8(
            *(self.handle, self.rnn, mode, None, self.xd, self.x, None, None, self.yd, self.y),
            *(self.weights, self.dw, work[1], work[0], reserve[1], reserve[0]),
        )


@everywhere()
@pytest.mark.parametrize("training", [0, 1])
def test_networks_use_what_they_are_given(handle, training):
    net = Network(handle)
    size, kept = net.sizes(training)
    memory, reserve = filled(handle, size + BEHIND), filled(handle, kept + BEHIND)
    if size:  # which does for the gradients, too: a pass may need less
        with pytest.raises(dnn.BadParam, match=r"at least \d+ bytes, got 0 bytes"):
            net.forward(training, (memory, 0), (reserve, kept))
    for short in {0, kept - 1} if kept else ():
        with pytest.raises(dnn.BadParam, match="reserve"):
            net.forward(training, (memory, size), (reserve, short))
    assert untouched(handle, memory) and untouched(handle, reserve)
    assert (handle.to_numpy(net.y) == 7.0).all()
    net.forward(training, (memory, size), (reserve, kept))
    assert untouched(handle, memory, size) and untouched(handle, reserve, kept)


@everywhere()
@pytest.mark.parametrize("mode", [cudnn.CUDNN_WGRAD_MODE_ADD, cudnn.CUDNN_WGRAD_MODE_SET])
def test_a_refused_gradient_leaves_the_weights_alone(handle, mode):
    """CUDNN_WGRAD_MODE_SET begins with zeros, but not where the call is refused."""
    net = Network(handle)
    size, kept = net.sizes(1)
    memory, reserve = filled(handle, size + BEHIND), filled(handle, kept + BEHIND)
    wrong = [(memory, size, reserve, kept - 1), (memory, size, net.dw, kept)]
    if size:
        wrong += [(memory, 0, reserve, kept), (reserve, kept, reserve, kept)]
    for work, work_size, space, space_size in wrong:
        with pytest.raises(dnn.BadParam):
            net.gradient(mode, (work, work_size), (space, space_size))
        assert (handle.to_numpy(net.dw) == 7.0).all()


@everywhere()
def test_miopens_find_uses_what_it_is_given(handle):
    """Find is told a part of its buffer, and does not touch the rest."""
    rng = np.random.default_rng(7)
    conv = miopen.miopenCreateConvolutionDescriptor()
    miopen.miopenInitConvolutionDescriptor(conv, miopen.miopenConvolution, 1, 1, 1, 1, 1, 1)
    descs, memory = {}, {}
    for name in "xwy":
        descs[name] = miopen.miopenCreateTensorDescriptor()
        miopen.miopenSetTensorDescriptor(descs[name], F, 4, DIMS[name], None)
        memory[name] = handle.asarray(rng.standard_normal(DIMS[name]).astype(np.float32))
    xd, wd, yd = (descs[n] for n in "xwy")
    largest = miopen.miopenConvolutionForwardGetWorkSpaceSize(handle, wd, xd, conv, yd)
    tensors = (xd, memory["x"], wd, memory["w"])
    for size in sorted({0, largest // 2, largest}):
        work = filled(handle, largest + BEHIND)
        result = (yd, memory["y"])
        found = miopen.miopenFindConvolutionForwardAlgorithm(handle, *tensors, conv, *result, 9, work, size, False)[1]
        assert untouched(handle, work, size)
        for perf in found:
            assert perf.memory <= size
            miopen.miopenConvolutionForward(handle, 1, *tensors, conv, perf.fwd_algo, 0, *result, work, size)
            assert untouched(handle, work, size)
            if perf.memory:
                with pytest.raises(dnn.BadParam, match=f"at least {perf.memory} bytes"):
                    miopen.miopenConvolutionForward(
                        handle, 1, *tensors, conv, perf.fwd_algo, 0, *result, work, perf.memory - 1
                    )


@everywhere()
def test_workspaces_in_arenas(handle):
    """A slice of a larger array is a workspace like any other."""
    layer = Convolution(handle, "Forward")
    for algo, size in layer.sizes().items():
        if not size:
            continue
        arena = filled(handle, size + 3 * BEHIND)
        want = layer.run(algo, None, 0).copy()
        found = layer.run(algo, arena[BEHIND : BEHIND + size], size)
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)
        assert untouched(handle, arena[:BEHIND]) and untouched(handle, arena[BEHIND + size :])
