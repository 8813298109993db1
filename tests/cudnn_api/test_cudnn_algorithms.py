"""Algorithm descriptors of cuDNN 7.1 to 8: kept, copied, saved and restored; Find of recurrent networks."""

from __future__ import annotations

import numpy as np
import pytest
from helper import everywhere

from portadnn import BadParam, NotSupported, cudnn, trace
from portadnn.recording import read

STEPS, BATCH, FEATURES, HIDDEN = 3, 2, 4, 5


def described(algorithm):
    made = cudnn.cudnnCreateAlgorithmDescriptor()
    cudnn.cudnnSetAlgorithmDescriptor(made, algorithm)
    return made


def number(descriptor):
    return cudnn.cudnnGetAlgorithmDescriptor(descriptor).algo.RNNAlgo


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (cudnn.CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, 6),
        (cudnn.CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3, 3),
        (cudnn.CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, 1),
        (cudnn.CUDNN_RNN_ALGO_PERSIST_DYNAMIC, 2),
        (cudnn.CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC, 1),
        (5, 5),
    ],
)
def test_a_descriptor_keeps_a_value_of_each_enumeration(value, kept):
    assert number(described(value)) == kept


def test_the_structure_is_cs_union():
    algorithm = cudnn.cudnnAlgorithm_t()
    algorithm.algo.convFwdAlgo = cudnn.CUDNN_CONVOLUTION_FWD_ALGO_FFT  # 4
    assert algorithm.algo.RNNAlgo == algorithm.algo.CTCLossAlgo == algorithm.algo.convBwdDataAlgo == 4
    first, second = described(algorithm), cudnn.cudnnCreateAlgorithmDescriptor()
    algorithm.algo.RNNAlgo = 1  # the descriptor keeps a copy
    cudnn.cudnnCopyAlgorithmDescriptor(first, second)
    cudnn.cudnnDestroyAlgorithmDescriptor(first)
    assert number(second) == 4


def test_recordings_hold_the_number(tmp_path):
    algorithm, kept = cudnn.cudnnAlgorithm_t(), cudnn.cudnnCreateAlgorithmDescriptor()
    with trace(tmp_path / "calls.jsonl"):
        for each in (3, 1):  # from one place, by one object
            algorithm.algo.RNNAlgo = each
            cudnn.cudnnSetAlgorithmDescriptor(kept, algorithm)
    events = read(tmp_path / "calls.jsonl").events
    assert [event.arguments["algorithm"]["values"]["value"] for event in events] == [3, 1]


@pytest.mark.parametrize("wrong", [None, -1, 2**31, "FFT", 1.5, True, cudnn.CUDNN_DATA_HALF])
def test_other_values_are_refused(wrong):
    with pytest.raises(BadParam, match="algorithm"):
        described(wrong)


def test_what_was_not_set_or_is_gone_is_refused():
    new, gone = cudnn.cudnnCreateAlgorithmDescriptor(), described(1)
    cudnn.cudnnDestroyAlgorithmDescriptor(gone)
    for wrong in (new, gone, None, cudnn.cudnnCreateTensorDescriptor()):
        with pytest.raises(BadParam):
            cudnn.cudnnGetAlgorithmDescriptor(wrong)
        with pytest.raises(BadParam):
            cudnn.cudnnCopyAlgorithmDescriptor(wrong, new)
    with pytest.raises(BadParam):
        cudnn.cudnnCopyAlgorithmDescriptor(described(1), gone)


def test_performances_keep_what_they_are_given():
    first, second = cudnn.cudnnCreateAlgorithmPerformance(2)
    algo = described(3)
    cudnn.cudnnSetAlgorithmPerformance(first, algo, cudnn.CUDNN_STATUS_ALLOC_FAILED, 2.5, 1 << 33)
    assert cudnn.cudnnGetAlgorithmPerformance(first) == (algo, cudnn.CUDNN_STATUS_ALLOC_FAILED, 2.5, 1 << 33)
    with pytest.raises(BadParam, match="only created"):
        cudnn.cudnnGetAlgorithmPerformance(second)
    for wrong in ((None, 0, 1.0, 1), (algo, 12345, 1.0, 1), (algo, 0, "fast", 1), (algo, 0, 1.0, -1)):
        with pytest.raises(BadParam):
            cudnn.cudnnSetAlgorithmPerformance(second, *wrong)
    with pytest.raises(BadParam):
        cudnn.cudnnDestroyAlgorithmPerformance([first, second], 3)
    assert cudnn.cudnnGetAlgorithmPerformance(first)[0] is algo  # nothing was ended
    cudnn.cudnnDestroyAlgorithmPerformance([first, second], 1)
    with pytest.raises(BadParam, match="destroyed"):
        cudnn.cudnnGetAlgorithmPerformance(first)
    cudnn.cudnnSetAlgorithmPerformance(second, algo, 0, 1.0, 0)
    for count in (0, -1, 1.5, 1 << 40):
        with pytest.raises(BadParam):
            cudnn.cudnnCreateAlgorithmPerformance(count)


@everywhere()
@pytest.mark.parametrize("kind", [bytearray, lambda n: np.zeros(n, np.uint8), lambda n: np.zeros(n // 4, np.int32)])
def test_an_algorithm_is_saved_and_restored(handle, kind):
    size = cudnn.cudnnGetAlgorithmSpaceSize(handle, described(2))
    assert size == 16
    space = kind(size + 4)
    cudnn.cudnnSaveAlgorithm(handle, described(2), space, size)
    assert bytes(space)[size:] == bytes(4)  # nothing behind it is written
    restored = cudnn.cudnnCreateAlgorithmDescriptor()
    cudnn.cudnnRestoreAlgorithm(handle, bytes(space), size, restored)
    assert number(restored) == 2


@everywhere()
def test_what_cannot_be_saved_or_restored_is_refused(handle):
    algo, space = described(2), bytearray(16)
    save, restore = cudnn.cudnnSaveAlgorithm, cudnn.cudnnRestoreAlgorithm
    for memory, size in ((None, 16), (space, 15), (bytearray(15), 16), (bytes(16), 16), (np.zeros(32, "u1")[::2], 16)):
        with pytest.raises(BadParam):
            save(handle, algo, memory, size)
    with pytest.raises(BadParam):
        save(handle, cudnn.cudnnCreateAlgorithmDescriptor(), space, 16)
    assert space == bytes(16)
    save(handle, algo, space, 16)
    kept = described(1)
    for place in range(16):  # any byte that changed is told
        damaged = bytearray(space)
        damaged[place] ^= 1
        with pytest.raises(BadParam, match="algoSpace"):
            restore(handle, damaged, 16, kept)
    with pytest.raises(BadParam):
        restore(handle, space, 15, kept)
    assert number(kept) == 1


@everywhere()
def test_another_versions_bytes_are_not_supported(handle, monkeypatch):
    from portadnn.cudnn import algorithms

    space = bytearray(16)
    cudnn.cudnnSaveAlgorithm(handle, described(2), space, 16)
    monkeypatch.setattr(algorithms, "VERSION", algorithms.VERSION + 1)
    with pytest.raises(NotSupported, match="version"):
        cudnn.cudnnRestoreAlgorithm(handle, space, 16, described(0))


class Network:
    """A tanh network of one layer, and its passes by brute force."""

    def __init__(self, handle):
        rng = np.random.default_rng(5)
        sizes = ((HIDDEN, FEATURES), (HIDDEN, HIDDEN), (HIDDEN,), (HIDDEN,))
        parts = [rng.standard_normal(size) / 2 for size in sizes]
        x, dy = rng.standard_normal((STEPS, BATCH, FEATURES)), rng.standard_normal((STEPS, BATCH, HIDDEN))
        hx = rng.standard_normal((1, BATCH, HIDDEN))
        self._compute(parts, x, hx, dy)
        self.handle = handle
        w = np.concatenate([part.ravel() for part in parts])[:, None, None]
        self.given = {"x": x, "dy": dy, "hx": hx, "w": w}
        self.memory = {name: handle.asarray(value.astype(np.float32)) for name, value in self.given.items()}
        for name, like in {"y": dy, "hy": hx, "dx": x, "dhx": hx}.items():
            self.memory[name] = handle.zeros(like.shape)
        self.memory["dw"] = handle.asarray(np.ones(w.shape, np.float32))

    def _compute(self, parts, x, hx, dy):
        matrix, recurrent, bias, other = parts
        states = [hx[0]]
        for step in x:
            states.append(np.tanh(step @ matrix.T + states[-1] @ recurrent.T + bias + other))
        y, dx, dh = np.stack(states[1:]), np.empty_like(x), np.zeros((BATCH, HIDDEN))
        grads = [np.zeros_like(part) for part in parts]
        for t in reversed(range(STEPS)):
            dz = (dy[t] + dh) * (1 - y[t] ** 2)
            dx[t], dh = dz @ matrix, dz @ recurrent
            for total, more in zip(grads, (dz.T @ x[t], dz.T @ states[t], dz.sum(0), dz.sum(0)), strict=True):
                total += more
        dw = 1 + np.concatenate([grad.ravel() for grad in grads])[:, None, None]
        self.wanted = {"y": y, "hy": y[-1:], "dx": dx, "dhx": dh[None], "dw": dw}

    def check(self, *names):
        for name in names:
            got = self.handle.to_numpy(self.memory[name])
            np.testing.assert_allclose(got, self.wanted[name], rtol=1e-4, atol=1e-5, err_msg=name)


def tensor_nd(*dims):
    desc = cudnn.cudnnCreateTensorDescriptor()
    cudnn.cudnnSetTensorNdDescriptor(desc, cudnn.CUDNN_DATA_FLOAT, 3, dims, (dims[1] * dims[2], dims[2], 1))
    return desc


def described_network(handle):
    rnn, dropout = cudnn.cudnnCreateRNNDescriptor(), cudnn.cudnnCreateDropoutDescriptor()
    cudnn.cudnnSetDropoutDescriptor(dropout, handle, 0, None, 0, 0)
    how = (cudnn.CUDNN_LINEAR_INPUT, cudnn.CUDNN_UNIDIRECTIONAL, cudnn.CUDNN_RNN_TANH)
    cudnn.cudnnSetRNNDescriptor_v6(handle, rnn, HIDDEN, 1, dropout, *how, 1, cudnn.CUDNN_DATA_FLOAT)
    return rnn


def check_results(handle, rnn, found, requested, workspace):
    count, results = found
    assert count == len(results) == requested
    numbers = []
    for result in results:
        algo, status, time, memory = cudnn.cudnnGetAlgorithmPerformance(result)
        assert status == cudnn.CUDNN_STATUS_SUCCESS and time > 0 and memory == workspace
        cudnn.cudnnSetRNNAlgorithmDescriptor(handle, rnn, algo)
        assert cudnn.cudnnGetRNNDescriptor(handle, rnn)[-2] == number(algo)
        numbers.append(number(algo))
    assert len(set(numbers)) == requested
    cudnn.cudnnSetRNNAlgorithmDescriptor(handle, rnn, described(1))
    assert numbers[0] == 1  # the network's own


@everywhere()
def test_find_runs_each_pass_once(handle):
    network, rnn, state = Network(handle), described_network(handle), tensor_nd(1, BATCH, HIDDEN)
    m = network.memory
    xs, ys = [tensor_nd(BATCH, FEATURES, 1)] * STEPS, [tensor_nd(BATCH, HIDDEN, 1)] * STEPS
    weights = cudnn.cudnnCreateFilterDescriptor()
    cudnn.cudnnSetFilterNdDescriptor(weights, 0, 0, 3, network.given["w"].shape)
    size = cudnn.cudnnGetRNNWorkspaceSize(handle, rnn, STEPS, xs)
    work = (handle.empty_bytes(size), size)
    size = cudnn.cudnnGetRNNTrainingReserveSize(handle, rnn, STEPS, xs)
    reserve = (handle.empty_bytes(size), size)
    first, last = (state, m["hx"], state, None), (state, m["hy"], state, None)
    forward = (handle, rnn, STEPS, xs, m["x"], *first, weights, m["w"], ys, m["y"], *last)
    most = cudnn.cudnnGetRNNForwardInferenceAlgorithmMaxCount(handle, rnn)
    check_results(handle, rnn, cudnn.cudnnFindRNNForwardInferenceAlgorithmEx(*forward, 1.0, most, *work), most, work[1])
    network.check("y", "hy")
    found = cudnn.cudnnFindRNNForwardTrainingAlgorithmEx(*forward, 0.0, 1, *work, *reserve)
    check_results(handle, rnn, found, 1, work[1])
    assert cudnn.cudnnGetRNNForwardTrainingAlgorithmMaxCount(handle, rnn) == most
    back = (handle, rnn, STEPS, ys, m["y"], ys, m["dy"], state, None, state, None, weights, m["w"], *first)
    back += (xs, m["dx"], state, m["dhx"], state, None)
    found = cudnn.cudnnFindRNNBackwardDataAlgorithmEx(*back, -1.0, 2, *work, *reserve)
    check_results(handle, rnn, found, 2, work[1])
    assert cudnn.cudnnGetRNNBackwardDataAlgorithmMaxCount(handle, rnn) == most
    grad = (handle, rnn, STEPS, xs, m["x"], state, m["hx"], ys, m["y"])
    found = cudnn.cudnnFindRNNBackwardWeightsAlgorithmEx(*grad, 1.0, 3, *work, weights, m["dw"], *reserve)
    check_results(handle, rnn, found, 3, work[1])
    assert cudnn.cudnnGetRNNBackwardWeightsAlgorithmMaxCount(handle, rnn) == most
    network.check("y", "hy", "dx", "dhx", "dw")
    for wrong in ((1.0, 0), (1.0, -1), ("much", 1), (None, 1)):
        with pytest.raises(BadParam):
            cudnn.cudnnFindRNNBackwardWeightsAlgorithmEx(*grad, *wrong, *work, weights, m["dw"], *reserve)
    network.check("dw")  # nothing was added
    with pytest.raises(BadParam, match="cudnnRNNAlgo_t"):
        cudnn.cudnnSetRNNAlgorithmDescriptor(handle, rnn, described(cudnn.CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD))
