"""CTC loss: the reference against all alignments, PyTorch and finite differences; kernels against the reference."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import vendor
from helper import Case, check, everywhere, over
from where import BACKENDS, open_handle

import portadnn as dnn
import portadnn.cudnn as cudnn

TYPES = ("f32", "f16", "f64", "bf16")


def line(steps, batch, classes, labels, *, dtype="f32", probs="", gradients="", **rest):
    dims = f"{dtype}:{steps}x{batch}x{classes}"
    words = [f"ctc_loss probs={dims}{probs} labels=i32:{labels} label_lengths=i32:{batch} input_lengths=i32:{batch}"]
    words.append(f"costs={dtype}:{batch}")
    if gradients is not None:
        words.append(f"gradients={dims}{gradients}")
    return " ".join([*words, *(f"{name}={value}" for name, value in rest.items())])


def _cases():
    for dtype, normalization in itertools.product(TYPES, ("softmax", "none")):
        yield Case(line(19, 3, 11, "3x5", dtype=dtype, normalization=normalization))
    yield Case(line(7, 5, 6, "20", blank=5))
    yield Case(line(7, 5, 6, "20", gradients=None, blank=2, normalization="none"))
    yield Case(line(9, 4, 5, "4x4/9,2", probs="/64,1,6", gradients="/41,10,2", gradient_mode="skip_oob_gradients"))
    yield Case(line(1, 1, 2, "1x1"))
    yield Case(line(1, 3, 2, "3x1", blank=1))
    yield Case(line(40, 2, 2, "2x30", max_label_length=13))
    yield Case(line(5, 3, 700, "3x3", probs=":nhwc", gradients=":nhwc"))
    yield Case(line(3, 0, 4, "0x2"))
    yield Case(line(0, 2, 4, "2x2"))
    yield Case(line(70, 17, 33, "340"), everywhere=False)
    yield Case(line(1100, 2, 37, "2x300"), everywhere=False)
    yield Case(line(600, 1, 5, "1x257", gradients=None, dtype="f64"), everywhere=False)
    yield Case(line(6, 2, 4, "2x5000", max_label_length=4999))


@over(tuple(_cases()))
def test_agrees_with_the_reference(handle, case):
    if handle.backend in vendor.BACKENDS:
        pytest.skip("drawn labels are empty or hold blanks, which cuDNN gets wrong: test_real_cudnn has others")
    check(handle, case)


def next_states(states, s, blank):
    """Yield the states that may follow one: itself, the next, and the one after it if that is no blank and differs."""
    yield s
    if s + 1 < len(states):
        yield s + 1
    if s + 2 < len(states) and states[s + 2] not in (blank, states[s]):
        yield s + 2


def alignments(probabilities, label, blank):
    """Return the cost and, of each step and class, the share of the alignments, each by itself."""
    states = [blank, *itertools.chain.from_iterable((c, blank) for c in label)]
    steps = len(probabilities)
    paths = [[s] for s in range(min(2, len(states)))]
    for _ in range(steps - 1):
        paths = [[*path, s] for path in paths for s in next_states(states, path[-1], blank)]
    total, shares = 0.0, np.zeros(probabilities.shape)
    for path in paths:
        if path[-1] >= len(states) - 2:
            product = np.prod([probabilities[t, states[s]] for t, s in enumerate(path)])
            total += product
            for t, s in enumerate(path):
                shares[t, states[s]] += product
    return (-np.log(total), shares / total) if total else (np.inf, None)


def softmax(x):
    away = np.exp(x - x.max(-1, keepdims=True))
    return away / away.sum(-1, keepdims=True)


LABELS = ([], [1], [1, 1], [1, 3, 1], [3, 3, 3], [1, 1, 1, 1], [1, 2], [2, 2])
STEPS = np.int32([5, 5, 5, 5, 5, 5, 3, 4])
LENGTHS = np.int32([len(label) for label in LABELS])


@everywhere()
@pytest.mark.parametrize("blank", [0, 2])
@pytest.mark.parametrize("normalization", ["SOFTMAX", "NONE"])
@pytest.mark.parametrize("padded", [False, True])
def test_agrees_with_a_sum_over_all_alignments(handle, blank, normalization, padded):
    """Also for labels that hold the blank, which the recursion allows, and for one that has no alignment."""
    x = 2 * np.random.default_rng(3).standard_normal((5, len(LABELS), 4))
    y = softmax(x)
    labels = np.int32([*itertools.chain(*LABELS)])
    if padded:
        labels = np.full((len(LABELS), 6), -7, np.int32)
        for row, label in zip(labels, LABELS, strict=True):
            row[: len(label)] = label
    probs = handle.asarray(x if normalization == "SOFTMAX" else y)
    loss = dnn.CTCLossDescriptor(normalization, blank=blank)
    costs, gradients = map(handle.to_numpy, dnn.ctc_loss(handle, probs, labels, LENGTHS, STEPS, loss))
    alone, nothing = dnn.ctc_loss(handle, probs, labels, LENGTHS, STEPS, loss, costs_only=True)
    assert nothing is None
    np.testing.assert_array_equal(handle.to_numpy(alone), costs)
    for n, (label, steps) in enumerate(zip(LABELS, STEPS, strict=True)):
        cost, shares = alignments(y[:steps, n], label, blank)
        want = np.zeros((5, 4))
        if shares is not None:
            want[:steps] = y[:steps, n] - shares
        np.testing.assert_allclose(costs[n], cost, rtol=1e-13)
        np.testing.assert_allclose(gradients[:, n], want, atol=1e-13)


@pytest.mark.skipif("cudnn" not in BACKENDS, reason="the backend cudnn is not tested")
@pytest.mark.parametrize("normalization", ["SOFTMAX", "NONE"])
@pytest.mark.parametrize(
    ("steps", "batch", "classes", "longest"), [(9, 3, 5, 4), (40, 7, 29, 18), (130, 16, 500, 40), (400, 2, 3, 90)]
)
def test_real_cudnn(steps, batch, classes, longest, normalization):
    """NVIDIA's library gives the same costs, and the same gradients of activations."""
    x, labels, lengths, used = drawn(np.random.default_rng(steps), steps, batch, classes, longest, least=1)
    if normalization == "NONE":
        x = softmax(x)
    loss = dnn.CTCLossDescriptor(normalization, max_label_length=longest)
    got = {}
    for backend in ("reference", "cudnn", *({"cuda", "opencl"} & set(BACKENDS))):
        with open_handle(backend) as handle:
            probs = handle.asarray(x.astype(np.float32))
            got[backend] = [handle.to_numpy(one) for one in dnn.ctc_loss(handle, probs, labels, lengths, used, loss)]
    want, slopes = got.pop("reference")
    for backend, (costs, gradients) in got.items():
        np.testing.assert_allclose(costs, want, rtol=2e-5)
        if backend != "cudnn":
            np.testing.assert_allclose(gradients, slopes, atol=2e-4)
        elif normalization == "SOFTMAX":  # it adds logarithms as large as the cost in float32
            np.testing.assert_allclose(gradients, slopes, atol=max(2e-4, 8 * np.finfo(np.float32).eps * want.max()))


def drawn(rng, steps, batch, classes, longest, blank=0, least=0):
    """Return activations, labels without blanks one behind the other, and lengths that fit."""
    x = 3 * rng.standard_normal((steps, batch, classes))
    lengths = rng.integers(least, longest + 1, batch)
    labels = rng.integers(0, classes - 1, lengths.sum())
    return (
        x,
        np.int32(labels + (labels >= blank)),
        np.int32(lengths),
        np.int32(rng.integers(steps // 2, steps + 1, batch)),
    )


@pytest.mark.parametrize(("steps", "classes", "longest", "blank"), [(12, 5, 4, 0), (60, 29, 20, 28), (400, 3, 90, 1)])
def test_agrees_with_torch(reference, steps, classes, longest, blank):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x, labels, lengths, used = drawn(np.random.default_rng(5), steps, 6, classes, longest, blank)
    given = torch.tensor(x, requires_grad=True)
    logs = torch.log_softmax(given, -1)
    want = torch.nn.functional.ctc_loss(
        logs, torch.tensor(labels), torch.tensor(used), torch.tensor(lengths), blank, "none", zero_infinity=False
    )
    fits = torch.isfinite(want)
    want[fits].sum().backward()
    costs, gradients = dnn.ctc_loss(reference, x, labels, lengths, used, dnn.CTCLossDescriptor(blank=blank))
    np.testing.assert_allclose(costs, want.detach().numpy(), rtol=1e-11)
    np.testing.assert_allclose(gradients[:, fits], given.grad.numpy()[:, fits], atol=1e-10)
    assert fits.any()


def test_gradient_is_the_slope_of_the_costs(reference):
    rng = np.random.default_rng(7)
    x, labels, lengths, used = drawn(rng, 9, 3, 5, 4)
    _, gradients = dnn.ctc_loss(reference, x, labels, lengths, used)
    for _ in range(5):
        away = rng.standard_normal(x.shape)
        ends = [dnn.ctc_loss(reference, x + h * away, labels, lengths, used, costs_only=True)[0] for h in (1e-5, -1e-5)]
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-5, (gradients * away).sum((0, 2)), rtol=1e-6, atol=1e-8)


@everywhere()
def test_numbers_out_of_bounds_cost_nan(handle):
    """They are on the device, where nobody looks at them before the launch; nothing beyond the tensors is read."""
    x = np.random.default_rng(9).standard_normal((4, 7, 3)).astype(np.float32)
    labels = np.tile(np.int32([1, 2]), (7, 1))
    labels[0, 1], labels[1, 0] = 3, -1
    lengths, used = np.int32([2, 1, 3, -1, 2, 2, 2]), np.int32([4, 4, 4, 4, 5, -1, 4])
    costs, gradients = map(handle.to_numpy, dnn.ctc_loss(handle, handle.asarray(x), labels, lengths, used))
    np.testing.assert_array_equal(np.isnan(costs), [True] * 6 + [False])
    assert (gradients[:, :6] == 0).all()
    assert np.abs(gradients[:, 6]).max() > 0
    costs, _ = dnn.ctc_loss(handle, handle.asarray(x), [1, 2, 1], [1] * 7, [4] * 7)  # too few labels
    np.testing.assert_array_equal(np.isnan(handle.to_numpy(costs)), [False] * 3 + [True] * 4)


@everywhere()
@pytest.mark.parametrize("mode", ["ZERO_OOB_GRADIENTS", "SKIP_OOB_GRADIENTS"])
def test_labels_that_do_not_fit(handle, mode):
    x = np.random.default_rng(11).standard_normal((3, 4, 4)).astype(np.float32)
    labels, lengths, used = [1, 1, 1, 2, 1, 2, 3, 3], [2, 2, 3, 1], [2, 2, 3, 0]
    gradients = handle.asarray(np.full(x.shape, 7, np.float32))
    loss = dnn.CTCLossDescriptor(gradient_mode=mode)
    costs, given = dnn.ctc_loss(handle, handle.asarray(x), labels, lengths, used, loss, gradients=gradients)
    assert given is gradients
    np.testing.assert_array_equal(np.isinf(handle.to_numpy(costs)), [True, False, False, True])
    left = 7 if mode.startswith("SKIP") else 0
    np.testing.assert_array_equal(handle.to_numpy(gradients)[:, [0, 3]], np.full((3, 2, 4), left))
    assert (handle.to_numpy(gradients)[2:, 1] == 0).all()


@everywhere()
def test_no_steps_and_no_labels(handle):
    x = np.random.default_rng(13).standard_normal((2, 2, 3)).astype(np.float32)
    costs, gradients = dnn.ctc_loss(handle, handle.asarray(x), [], [0, 0], [0, 2])
    blanks = np.log(softmax(x[:, 1].astype(np.float64)))[:, 0].sum()
    np.testing.assert_allclose(handle.to_numpy(costs), [0, -blanks], rtol=1e-5)
    assert (handle.to_numpy(gradients)[:, 0] == 0).all()


@everywhere()
def test_float32_keeps_its_digits_in_long_sequences(handle):
    """Costs are in the thousands; shares of paths are as exact as of short ones."""
    x, labels, lengths, used = drawn(np.random.default_rng(15), 1500, 2, 20, 300)
    narrow = x.astype(np.float32)
    costs, gradients = dnn.ctc_loss(handle, handle.asarray(narrow), labels, lengths, used)
    with dnn.Handle("reference") as exact:
        want, slopes = dnn.ctc_loss(exact, narrow.astype(np.float64), labels, lengths, used)
    np.testing.assert_allclose(handle.to_numpy(costs), want, rtol=3e-6)
    np.testing.assert_allclose(handle.to_numpy(gradients), slopes, atol=2e-3)


@everywhere()
@pytest.mark.parametrize("costs_only", [False, True])
def test_states_that_local_memory_has_no_room_for(handle, monkeypatch, costs_only):
    monkeypatch.setattr(handle.device, "info", replace(handle.device.info, local_memory=64))
    x, labels, lengths, used = drawn(np.random.default_rng(21), 37, 3, 6, 9)
    found = dnn.ctc_loss(handle, handle.asarray(x), labels, lengths, used, costs_only=costs_only)
    with dnn.Handle("reference") as exact:
        want = dnn.ctc_loss(exact, x, labels, lengths, used, costs_only=costs_only)
    for got, due in zip(found[: 2 - costs_only], want, strict=False):
        np.testing.assert_allclose(handle.to_numpy(got), due, atol=1e-11)


@everywhere()
def test_workspace_of_the_size_that_is_asked_for(handle):
    x, labels, lengths, used = drawn(np.random.default_rng(17), 20, 3, 6, 5)
    probs = handle.asarray(x)
    size = dnn.get_ctc_loss_workspace_size(handle, probs, labels, lengths, used)
    want = handle.to_numpy(dnn.ctc_loss(handle, probs, labels, lengths, used)[0])
    given = dnn.ctc_loss(handle, probs, labels, lengths, used, workspace=handle.device.workspace(size))[0]
    np.testing.assert_array_equal(handle.to_numpy(given), want)
    assert handle.backend == "reference" or size > 0
    with pytest.raises(dnn.BadParam, match="workspace") if size else nullcontext():
        dnn.ctc_loss(handle, probs, labels, lengths, used, workspace=handle.empty_bytes(size)[: max(size - 1, 0)])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": [1.5]}, "labels"),
        ({"labels": np.float32([1])}, "labels.dtype: expected int"),
        ({"labels": np.zeros((3, 2), np.int32)}, r"labels.dims: expected \(2, longest\)"),
        ({"label_lengths": [1]}, r"label_lengths.dims: expected \(2,\)"),
        ({"input_lengths": [[1, 1]]}, r"input_lengths"),
        ({"costs": np.zeros(3, np.float32)}, r"costs.dims: expected \(2,\)"),
        ({"costs": np.zeros(2)}, "costs.dtype: expected FLOAT"),
        ({"gradients": np.zeros((4, 2, 3))}, "gradients.dtype"),
        ({"costs_only": 1}, "costs_only: expected True or False"),
        ({"costs_only": True, "gradients": np.zeros((4, 2, 3), np.float32)}, "gradients: expected None"),
        ({"loss": dnn.LRNDescriptor()}, "loss: expected a CTCLossDescriptor"),
        ({"loss": dnn.CTCLossDescriptor(blank=3)}, "blank: expected a class of the 3"),
        ({"loss": dnn.CTCLossDescriptor(max_label_length=2), "labels": [[1], [2]]}, "labels"),
        (
            {"loss": dnn.CTCLossDescriptor(max_label_length=2), "labels": np.int32([[1], [2]])},
            "max_label_length: expected 0 to 1",
        ),
    ],
)
def test_wrong_calls(reference, change, words):
    right = {
        "probs": np.zeros((4, 2, 3), np.float32),
        "labels": np.int32([1, 2]),
        "label_lengths": [1, 1],
        "input_lengths": [4, 4],
    }
    with pytest.raises(dnn.BadParam, match=words):
        dnn.ctc_loss(reference, **{**right, **change})


class Program:
    """A program of C names: descriptors of x, of activations, and of the loss."""

    def __init__(self, handle, x):
        self.handle, self.x = handle, handle.asarray(x)
        self.desc, self.loss = cudnn.cudnnCreateTensorDescriptor(), cudnn.cudnnCreateCTCLossDescriptor()
        strides = [x.shape[1] * x.shape[2], x.shape[2], 1]
        cudnn.cudnnSetTensorNdDescriptor(self.desc, cudnn.CUDNN_DATA_FLOAT, 3, x.shape, strides)
        self.costs, self.gradients = handle.zeros((1, 1, x.shape[1])), handle.zeros(x.shape)

    def host(self, labels, lengths, used, gradients=True):
        """Call the function of cuDNN 7 and return costs and gradients."""
        arrays = self.x, labels, lengths, used
        algo = cudnn.CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC
        sizes = cudnn.cudnnGetCTCLossWorkspaceSize(self.handle, self.desc, self.desc, *arrays[1:], algo, self.loss)
        into = self.gradients if gradients else None
        work = self.handle.device.workspace(sizes) if sizes else None
        last = into, algo, self.loss, work, sizes
        cudnn.cudnnCTCLoss(self.handle, self.desc, *arrays, self.costs, self.desc, *last)
        return self.handle.to_numpy(self.costs).ravel(), self.handle.to_numpy(self.gradients)

    def device(self, labels, lengths, used):
        """Call the function of cuDNN 8 and return costs and gradients."""
        algo = cudnn.CUDNN_CTC_LOSS_ALGO_DETERMINISTIC
        size = cudnn.cudnnGetCTCLossWorkspaceSize_v8(self.handle, algo, self.loss, self.desc, self.desc)
        arrays = [self.handle.device.asarray(np.int32(values)) for values in (labels, lengths, used)]
        work = self.handle.device.workspace(size) if size else None
        outputs = self.costs, self.desc, self.gradients
        cudnn.cudnnCTCLoss_v8(self.handle, algo, self.loss, self.desc, self.x, *arrays, *outputs, size, work)
        return self.handle.to_numpy(self.costs).ravel(), self.handle.to_numpy(self.gradients)


@everywhere()
def test_cudnns_functions(handle):
    x, labels, lengths, used = drawn(np.random.default_rng(19), 8, 3, 5, 3)
    x = x.astype(np.float32)
    with dnn.Handle("reference") as exact:
        want, slopes = dnn.ctc_loss(exact, x.astype(np.float64), labels, lengths, used)
    program = Program(handle, x)
    words = cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_LOSS_NORMALIZATION_SOFTMAX
    cudnn.cudnnSetCTCLossDescriptor_v9(program.loss, *words, cudnn.CUDNN_CTC_ZERO_OOB_GRADIENTS, 4)
    known = cudnn.cudnnGetCTCLossDescriptor_v9(program.loss)
    assert known == (*words, cudnn.CUDNN_CTC_ZERO_OOB_GRADIENTS, 4)
    for call in (program.host, program.device):
        costs, gradients = call(labels, lengths, used)
        np.testing.assert_allclose(costs, want, rtol=1e-5)
        np.testing.assert_allclose(gradients, slopes, atol=1e-5)
    cudnn.cudnnSetCTCLossDescriptorEx(program.loss, *words, cudnn.CUDNN_PROPAGATE_NAN)
    assert cudnn.cudnnGetCTCLossDescriptorEx(program.loss) == (*words, cudnn.CUDNN_PROPAGATE_NAN)
    with pytest.raises(dnn.BadParam, match="set with maxLabelLength"):
        program.device(labels, lengths, used)
    long = np.full(x.shape[1], 9), np.ones(9 * x.shape[1], int)  # 9 equal classes: more than fit
    costs, gradients = program.host(long[1], long[0], used)
    assert np.isinf(costs).all()
    np.testing.assert_allclose(gradients, slopes, atol=1e-5)  # as they were
    program.x = handle.asarray(softmax(x.astype(np.float64)).astype(np.float32))
    cudnn.cudnnSetCTCLossDescriptor(program.loss, cudnn.CUDNN_DATA_FLOAT)
    assert cudnn.cudnnGetCTCLossDescriptor(program.loss) == cudnn.CUDNN_DATA_FLOAT
    np.testing.assert_allclose(program.host(labels, lengths, used, gradients=False)[0], want, rtol=1e-4)
    cudnn.cudnnSetCTCLossDescriptor_v8(program.loss, *words, cudnn.CUDNN_NOT_PROPAGATE_NAN, 3)
    assert cudnn.cudnnGetCTCLossDescriptor_v8(program.loss) == (*words, cudnn.CUDNN_NOT_PROPAGATE_NAN, 3)
    cudnn.cudnnDestroyCTCLossDescriptor(program.loss)


@pytest.mark.parametrize(
    ("labels", "lengths", "used", "words"),
    [
        ([1, 5], [1, 1], [3, 3], "labels: expected 2 integers from 0 to 4"),
        ([1], [1, 1], [3, 3], "labels: expected 2 integers"),
        ([1, 1], [1], [3, 3], "labelLengths: expected 2 integers"),
        ([1, 1], [1, -1], [3, 3], "labelLengths"),
        ([1, 1], [1, 1], [3, 4], "inputLengths: expected 2 integers from 0 to 3"),
        (None, [1, 1], [3, 3], "labels"),
    ],
)
def test_cudnn_refuses_host_labels_that_are_out_of_bounds(reference, labels, lengths, used, words):
    program = Program(reference, np.zeros((3, 2, 5), np.float32))
    cudnn.cudnnSetCTCLossDescriptor(program.loss, cudnn.CUDNN_DATA_FLOAT)
    with pytest.raises(dnn.BadParam, match=words):
        program.host(labels, lengths, used)
    cudnn.cudnnSetCTCLossDescriptor(program.loss, cudnn.CUDNN_DATA_DOUBLE)
    with pytest.raises(dnn.NotSupported, match="FLOAT for FLOAT"):
        program.host([1, 1], [1, 1], [3, 3])
