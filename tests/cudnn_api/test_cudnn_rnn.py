"""Recurrent networks by cuDNN's names of every version give what portadnn's own calls give, on every backend."""

from __future__ import annotations

import numpy as np
import pytest
from helper import everywhere

import portadnn as dnn
from portadnn import cudnn

STEPS, BATCH, FEATURES, HIDDEN, LAYERS = 3, 2, 4, 5, 2
EVEN, UNEVEN = (3, 3), (3, 1)  # lengths of the sequences
PACKED, UNPACKED, BATCH_MAJOR = (
    cudnn.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
    cudnn.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
    cudnn.CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED,
)
STATES, PADDING = (2 * LAYERS, BATCH, HIDDEN), -3.0


def tensor_nd(*dims):
    desc = cudnn.cudnnCreateTensorDescriptor()
    cudnn.cudnnSetTensorNdDescriptor(desc, cudnn.CUDNN_DATA_FLOAT, 3, dims, (dims[1] * dims[2], dims[2], 1))
    return desc


def data_of(layout, lengths, features):
    desc = cudnn.cudnnCreateRNNDataDescriptor()
    sizes = (STEPS, BATCH, features)
    cudnn.cudnnSetRNNDataDescriptor(desc, cudnn.CUDNN_DATA_FLOAT, layout, *sizes, lengths, PADDING)
    return desc


def batches(lengths):
    return tuple(sum(length > t for length in lengths) for t in range(STEPS))


class Numbers:
    """Seeded inputs, and what portadnn's own calls make of them on the reference backend."""

    def __init__(self, lengths):
        rng = np.random.default_rng(3)
        self.lengths, self.rows = lengths, sum(lengths)
        self.rnn = dnn.RNNDescriptor(HIDDEN, LAYERS, "lstm", "bidirectional", compute_type="float32")
        self.batch_sizes = None if lengths == EVEN else batches(lengths)

        def normal(*dims):
            return rng.standard_normal(dims).astype(np.float32)

        self.x, self.dy = self.wide(normal(self.rows, FEATURES)), self.wide(normal(self.rows, 2 * HIDDEN))
        self.hx, self.cx, self.dhy, self.dcy = (normal(*STATES) for _ in range(4))
        with dnn.Handle("reference") as handle:
            count = dnn.get_rnn_params_size(handle, self.rnn, (BATCH, FEATURES, 1)) // 4
            self.w = normal(count, 1, 1) / 2
            self.wanted = self._compute(handle)

    def wide(self, rows):
        """Return rows as portadnn's calls take them."""
        return rows[:, :, None] if self.batch_sizes else rows.reshape(STEPS, BATCH, -1)

    def _compute(self, handle):
        options = {"batch_sizes": self.batch_sizes}
        given = (self.x, self.hx, self.cx, self.w, self.rnn)
        hy, cy, dhx, dcx = (np.empty(STATES, np.float32) for _ in range(4))
        y, hy, cy, reserve = dnn.rnn_forward_training(handle, *given, None, hy, cy, **options)
        back = (y, self.dy, self.dhy, self.dcy, self.w, self.hx, self.cx, self.rnn)
        dx, dhx, dcx, reserve = dnn.rnn_backward_data(
            handle, *back, np.empty_like(self.x), dhx, dcx, reserve, **options
        )
        dw = np.ones_like(self.w)
        dnn.rnn_backward_weights(handle, self.x, self.hx, y, reserve, self.rnn, dw, **options)
        return {"y": y, "hy": hy, "cy": cy, "dx": dx, "dhx": dhx, "dcx": dcx, "dw": dw}


NUMBERS = {lengths: Numbers(lengths) for lengths in (EVEN, UNEVEN)}


class Memory:
    """Inputs and outputs on a device, as a layout has them."""

    def __init__(self, handle, lengths, layout=PACKED):
        self.handle, self.numbers, self.layout = handle, NUMBERS[lengths], layout
        for name in ("x", "dy"):
            setattr(self, name, handle.asarray(self._laid_out(getattr(self.numbers, name))))
        for name in ("hx", "cx", "dhy", "dcy", "w"):
            setattr(self, name, handle.asarray(getattr(self.numbers, name)))
        self.y, self.dx = handle.zeros(self.dy.shape), handle.zeros(self.x.shape)
        self.hy, self.cy, self.dhx, self.dcx = (handle.zeros(STATES) for _ in range(4))
        self.dw = handle.asarray(np.ones_like(self.numbers.w))

    def _laid_out(self, values):
        if self.numbers.batch_sizes and self.layout != PACKED:
            padded = np.full((STEPS, BATCH, values.shape[1]), PADDING, np.float32)
            first = 0
            for step, rows in enumerate(self.numbers.batch_sizes):
                padded[step, :rows] = values[first : first + rows, :, 0]
                first += rows
            values = padded
        return np.ascontiguousarray(values.swapaxes(0, 1)) if self.layout == BATCH_MAJOR else values

    def check(self, *names):
        for name in names or self.numbers.wanted:
            got = self.handle.to_numpy(getattr(self, name))
            want = self.numbers.wanted[name]
            want = self._laid_out(want) if name in ("y", "dx") else want
            np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5, err_msg=name)


def rnn_of(handle, version):
    rnn, dropout = cudnn.cudnnCreateRNNDescriptor(), cudnn.cudnnCreateDropoutDescriptor()
    cudnn.cudnnSetDropoutDescriptor(dropout, handle, 0, None, 0, 0)
    how = (cudnn.CUDNN_LINEAR_INPUT, cudnn.CUDNN_BIDIRECTIONAL, cudnn.CUDNN_LSTM)
    if version == 8:
        cudnn.cudnnSetRNNDescriptor_v8(
            *(rnn, cudnn.CUDNN_RNN_ALGO_STANDARD, how[2], cudnn.CUDNN_RNN_DOUBLE_BIAS, how[1], how[0]),
            *(cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_DEFAULT_MATH),
            *(FEATURES, HIDDEN, HIDDEN, LAYERS, dropout, 0),
        )
    else:
        algo = cudnn.CUDNN_RNN_ALGO_STANDARD
        cudnn.cudnnSetRNNDescriptor_v6(handle, rnn, HIDDEN, LAYERS, dropout, *how, algo, cudnn.CUDNN_DATA_FLOAT)
    return rnn


def spaces(handle, work, reserve):
    return (handle.empty_bytes(work), work), (handle.empty_bytes(reserve), reserve)


@everywhere()
@pytest.mark.parametrize("lengths", [EVEN, UNEVEN])
def test_steps_by_tensor_descriptors(handle, lengths):
    """The guide's calls; with lengths that differ the steps' first dims decrease."""
    m, rnn, state = Memory(handle, lengths), rnn_of(handle, 6), tensor_nd(*STATES)
    xs = [tensor_nd(n, FEATURES, 1) for n in batches(lengths)]
    ys = [tensor_nd(n, 2 * HIDDEN, 1) for n in batches(lengths)]
    w_desc = cudnn.cudnnCreateFilterDescriptor()
    cudnn.cudnnSetFilterNdDescriptor(w_desc, cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_TENSOR_NCHW, 3, m.numbers.w.shape)
    work, reserve = spaces(
        handle,
        cudnn.cudnnGetRNNWorkspaceSize(handle, rnn, STEPS, xs),
        cudnn.cudnnGetRNNTrainingReserveSize(handle, rnn, STEPS, xs),
    )
    first, last = (state, m.hx, state, m.cx), (state, m.hy, state, m.cy)
    forward = (handle, rnn, STEPS, xs, m.x, *first, w_desc, m.w, ys, m.y, *last, *work)
    cudnn.cudnnRNNForwardInference(*forward)
    m.check("y", "hy", "cy")
    cudnn.cudnnRNNForwardTraining(*forward, *reserve)
    cudnn.cudnnRNNBackwardData(
        *(handle, rnn, STEPS, ys, m.y, ys, m.dy, state, m.dhy, state, m.dcy, w_desc, m.w, *first),
        *(xs, m.dx, state, m.dhx, state, m.dcx, *work, *reserve),
    )
    cudnn.cudnnRNNBackwardWeights(handle, rnn, STEPS, xs, m.x, state, m.hx, ys, m.y, *work, w_desc, m.dw, *reserve)
    m.check()


@everywhere()
@pytest.mark.parametrize(
    ("lengths", "layout"),
    [(EVEN, UNPACKED), (EVEN, BATCH_MAJOR), (UNEVEN, PACKED), (UNEVEN, UNPACKED), (UNEVEN, BATCH_MAJOR)],
)
def test_the_calls_of_cudnn_8(handle, lengths, layout):
    m, rnn, state = Memory(handle, lengths, layout), rnn_of(handle, 8), tensor_nd(*STATES)
    x, y = data_of(layout, lengths, FEATURES), data_of(layout, lengths, 2 * HIDDEN)
    training = cudnn.CUDNN_FWD_MODE_TRAINING
    sizes = cudnn.cudnnGetRNNTempSpaceSizes(handle, rnn, training, x)
    assert cudnn.cudnnGetRNNTempSpaceSizes(handle, rnn, cudnn.CUDNN_FWD_MODE_INFERENCE, x) == (sizes[0], 0)
    work, reserve = (pair[::-1] for pair in spaces(handle, *sizes))
    count = cudnn.cudnnGetRNNWeightSpaceSize(handle, rnn)
    assert count == m.numbers.w.nbytes
    inference, mode = cudnn.CUDNN_FWD_MODE_INFERENCE, (count, m.w)
    ends = (state, m.hx, m.hy, state, m.cx, m.cy)
    cudnn.cudnnRNNForward(handle, rnn, inference, None, x, m.x, y, m.y, *ends, *mode, *work, 0, None)
    m.check("y", "hy", "cy")
    cudnn.cudnnRNNForward(handle, rnn, training, None, x, m.x, y, m.y, *ends, *mode, *work, *reserve)
    ends = (state, m.hx, m.dhy, m.dhx, state, m.cx, m.dcy, m.dcx)
    cudnn.cudnnRNNBackwardData_v8(handle, rnn, None, y, m.y, m.dy, x, m.dx, *ends, *mode, *work, *reserve)
    kept = handle.to_numpy(reserve[1])
    for how, before in ((1, 7), (0, 1)):  # replace, then add to ones
        m.dw = handle.asarray(np.full(m.numbers.w.shape, before, np.float32))
        space = (reserve[0], handle.device.asarray(kept))
        weights = (handle, rnn, how, None, x, m.x, state, m.hx, y, m.y, count, m.dw, *work, *space)
        cudnn.cudnnRNNBackwardWeights_v8(*weights)
        want = m.numbers.wanted["dw"] - how  # which was added to ones
        np.testing.assert_allclose(handle.to_numpy(m.dw), want, rtol=2e-4, atol=2e-5)
    m.check("y", "dx", "dhx", "dcx")
    with pytest.raises(dnn.BadParam, match="addGrad"):
        cudnn.cudnnRNNBackwardWeights_v8(handle, rnn, 2, *weights[3:])


@everywhere()
@pytest.mark.parametrize(("lengths", "layout"), [(EVEN, BATCH_MAJOR), (UNEVEN, PACKED)])
def test_the_ex_calls_of_cudnn_7(handle, lengths, layout):
    m, rnn, state = Memory(handle, lengths, layout), rnn_of(handle, 6), tensor_nd(*STATES)
    x, y = data_of(layout, lengths, FEATURES), data_of(layout, lengths, 2 * HIDDEN)
    w_desc = cudnn.cudnnCreateFilterDescriptor()
    cudnn.cudnnSetFilterNdDescriptor(w_desc, cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_TENSOR_NCHW, 3, m.numbers.w.shape)
    steps = [tensor_nd(n, FEATURES, 1) for n in batches(lengths)]
    reserve_size = cudnn.cudnnGetRNNTrainingReserveSize(handle, rnn, STEPS, steps)
    reserve = (handle.empty_bytes(reserve_size), reserve_size)
    first, last, nothing = (state, m.hx, state, m.cx), (state, m.hy, state, m.cy), (None,) * 8
    forward = (handle, rnn, x, m.x, *first, w_desc, m.w, y, m.y, *last, *nothing, None, 0)
    cudnn.cudnnRNNForwardInferenceEx(*forward)
    m.check("y", "hy", "cy")
    cudnn.cudnnRNNForwardTrainingEx(*forward, *reserve)
    cudnn.cudnnRNNBackwardDataEx(
        *(handle, rnn, y, m.y, y, m.dy, None, None, state, m.dhy, state, m.dcy, w_desc, m.w, *first),
        *(x, m.dx, state, m.dhx, state, m.dcx, None, None, None, 0, *reserve),
    )
    cudnn.cudnnRNNBackwardWeightsEx(handle, rnn, x, m.x, state, m.hx, y, m.y, None, 0, w_desc, m.dw, *reserve)
    m.check()
    with pytest.raises(dnn.NotSupported, match="keys: there is no attention"):
        cudnn.cudnnRNNForwardInferenceEx(*forward[:-9], m.x, *forward[-8:])


@everywhere()
def test_weights_are_found_as_the_guides_calls_find_them(handle):
    """By the parameters' numbers, on the memory of the weight space."""
    rnn, old = rnn_of(handle, 8), rnn_of(handle, 6)
    w = NUMBERS[EVEN].w
    space = handle.device.asarray(np.arange(w.size, dtype=np.float32))
    matrix_desc, bias_desc = (cudnn.cudnnCreateTensorDescriptor() for _ in range(2))
    w_desc, part = (cudnn.cudnnCreateFilterDescriptor() for _ in range(2))
    cudnn.cudnnSetFilterNdDescriptor(w_desc, cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_TENSOR_NCHW, 3, w.shape)
    step = tensor_nd(BATCH, FEATURES, 1)
    for layer in range(2 * LAYERS):
        for number in range(8):
            place = (handle, rnn, layer, w.nbytes, space, number, matrix_desc, bias_desc)
            found = map(handle.to_numpy, cudnn.cudnnGetRNNWeightParams(*place))
            place = (handle, old, layer, step, w_desc, space, number, part)
            wanted = cudnn.cudnnGetRNNLinLayerMatrixParams(*place), cudnn.cudnnGetRNNLinLayerBiasParams(*place)
            for a, b in zip(found, wanted, strict=True):
                assert (a == handle.to_numpy(b)).all()
            inputs = HIDDEN if number > 3 else FEATURES if layer < 2 else 2 * HIDDEN
            assert cudnn.cudnnGetTensorNdDescriptor(matrix_desc, 3)[2] == (1, HIDDEN, inputs)
            assert cudnn.cudnnGetTensorNdDescriptor(bias_desc, 3)[2] == (1, HIDDEN, 1)


@everywhere()
def test_steps_are_looked_at_again_when_their_descriptor_is_set(handle):
    """Arrays with the steps' layout are used as they are, as long as the descriptor says the same."""
    m, rnn, state = Memory(handle, EVEN), rnn_of(handle, 6), tensor_nd(*STATES)
    x, y = tensor_nd(BATCH, FEATURES, 1), tensor_nd(BATCH, 2 * HIDDEN, 1)
    w_desc = cudnn.cudnnCreateFilterDescriptor()
    cudnn.cudnnSetFilterNdDescriptor(w_desc, cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_TENSOR_NCHW, 3, m.numbers.w.shape)

    def forward(count):
        ends = (state, m.hx, state, m.cx), (state, m.hy, state, m.cy)
        steps = ([x] * count, [y] * count)
        cudnn.cudnnRNNForwardInference(
            *(handle, rnn, STEPS, steps[0], m.x, *ends[0], w_desc, m.w, steps[1], m.y, *ends[1], None, 0)
        )

    for _ in range(3):
        forward(STEPS + 1)  # more descriptors than steps
    m.check("y", "hy", "cy")
    cudnn.cudnnSetTensorNdDescriptor(x, cudnn.CUDNN_DATA_FLOAT, 3, (BATCH, FEATURES + 1, 1), (FEATURES + 1, 1, 1))
    with pytest.raises(dnn.BadParam, match="cudnnRNNForwardInference: x: expected a buffer of at least"):
        forward(STEPS)
    cudnn.cudnnDestroyTensorDescriptor(x)
    with pytest.raises(dnn.BadParam, match="one that was destroyed"):
        forward(STEPS)
    x = tensor_nd(BATCH, FEATURES, 1)
    with pytest.raises(dnn.BadParam, match="a sequence of 3 tensor descriptors"):
        forward(STEPS - 1)


@everywhere()
@pytest.mark.parametrize("kind", [list, tuple])
def test_every_steps_descriptor_is_looked_at(handle, kind):
    """What was found of all steps at once holds until one of them is another object or says something else."""
    rnn, state, float_type = rnn_of(handle, 6), tensor_nd(*STATES), cudnn.CUDNN_DATA_FLOAT
    steps = [[tensor_nd(BATCH, features, 1) for _ in range(STEPS)] for features in (FEATURES, 2 * HIDDEN)]
    w_desc = cudnn.cudnnCreateFilterDescriptor()
    cudnn.cudnnSetFilterNdDescriptor(w_desc, float_type, cudnn.CUDNN_TENSOR_NCHW, 3, NUMBERS[EVEN].w.shape)

    def forward(m, length=STEPS):
        ends = (state, m.hx, state, m.cx), (state, m.hy, state, m.cy)
        x, y = map(kind, steps)
        cudnn.cudnnRNNForwardInference(handle, rnn, length, x, m.x, *ends[0], w_desc, m.w, y, m.y, *ends[1], None, 0)

    for lengths in (EVEN, UNEVEN, EVEN, UNEVEN):
        for number, n in enumerate(batches(lengths)[1:], 1):  # never the first, which keeps what was found
            for descs, features in zip(steps, (FEATURES, 2 * HIDDEN), strict=True):
                cudnn.cudnnSetTensorNdDescriptor(descs[number], float_type, 3, (n, features, 1), (features, 1, 1))
        for _ in range(3):
            m = Memory(handle, lengths)
            forward(m)
            m.check("y", "hy", "cy")
        steps[0][1], right = tensor_nd(1, FEATURES + 1, 1), steps[0][1]
        with pytest.raises(dnn.BadParam, match="packed step of dims"):
            forward(m)
        steps[0][1] = right
    with pytest.raises(dnn.BadParam, match="a sequence of 4 tensor descriptors"):
        forward(m, STEPS + 1)
    cudnn.cudnnDestroyTensorDescriptor(steps[0][2])
    with pytest.raises(dnn.BadParam, match=r"xDesc\[2\]: expected a tensor descriptor, got one that was destroyed"):
        forward(m)


def test_persistent_plans_are_taken(reference):
    rnn = rnn_of(reference, 6)
    plan = cudnn.cudnnCreatePersistentRNNPlan(rnn, BATCH, cudnn.CUDNN_DATA_FLOAT)
    cudnn.cudnnSetPersistentRNNPlan(rnn, plan)
    cudnn.cudnnDestroyPersistentRNNPlan(plan)
    with pytest.raises(dnn.BadParam, match="plan: expected a persistent RNN plan, got one that was destroyed"):
        cudnn.cudnnSetPersistentRNNPlan(rnn, plan)


def test_data_descriptors():
    desc = data_of(PACKED, UNEVEN, 4)
    assert cudnn.cudnnGetRNNDataDescriptor(desc, 1) == (0, PACKED, STEPS, BATCH, 4, (3,), PADDING)
    arguments = [desc, cudnn.CUDNN_DATA_FLOAT, UNPACKED, STEPS, BATCH, 4, UNEVEN, None]
    cudnn.cudnnSetRNNDataDescriptor(*arguments[:6], UNEVEN[::-1], None)
    assert cudnn.cudnnGetRNNDataDescriptor(desc, 9)[5] == UNEVEN[::-1]
    for place, value, message in (
        (2, 9, "layout"),
        (3, 0, "maxSeqLength"),
        (4, 3, "3 lengths of at most 3"),
        (5, 0, "vectorSize"),
        (6, (1, 3), "never increase"),
        (6, (4, 1), "lengths of at most 3"),
        (7, "x", "paddingFill"),
    ):
        wrong = [*arguments]
        wrong[2], wrong[place] = PACKED, value
        with pytest.raises(dnn.BadParam, match=message):
            cudnn.cudnnSetRNNDataDescriptor(*wrong)
    cudnn.cudnnDestroyRNNDataDescriptor(desc)


def test_networks_of_other_sizes_are_refused(reference):
    rnn, x, y = rnn_of(reference, 8), data_of(UNPACKED, EVEN, FEATURES), data_of(UNPACKED, EVEN, 2 * HIDDEN)
    m, state = Memory(reference, EVEN), tensor_nd(*STATES)
    count = m.numbers.w.nbytes

    def forward(x_desc, y_desc, size, network=rnn):
        ends = (state, m.hx, m.hy, state, m.cx, m.cy)
        cudnn.cudnnRNNForward(reference, network, 0, None, x_desc, m.x, y_desc, m.y, *ends, size, m.w, 0, None, 0, None)

    forward(x, y, count)
    for arguments, message in (
        ((data_of(UNPACKED, EVEN, FEATURES + 1), y, count), "xDesc"),
        ((x, data_of(PACKED, UNEVEN, 2 * HIDDEN), count), "yDesc"),
        ((x, y, count - 1), "weightSpaceSize"),
        ((x, y, count, rnn_of(reference, 6)), "cudnnSetRNNDescriptor_v8"),
    ):
        with pytest.raises(dnn.BadParam, match=message):
            forward(*arguments)
