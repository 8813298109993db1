"""cudnnRNNForward and its gradients over sequences of any order and length: each is what it is by itself."""

from __future__ import annotations

import numpy as np
import pytest
from helper import everywhere

import portadnn as dnn
from portadnn import cudnn

FEATURES, HIDDEN, LAYERS, STEPS = 3, 4, 2, 5
CASES = [(2, 5, 3, 3), (0, 4, 2, 0), (5, 5, 0, 5), (1, 2, 3, 4), (0, 0), (3, 0, 5)]
LAYOUTS = {
    "seq": cudnn.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
    "batch": cudnn.CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED,
}
FILL = -7.0


class World:
    """Descriptors, memory and numbers of one network over padded sequences."""

    def __init__(self, handle, mode, layout, lengths, bias, clip=None, proj=0):
        self.handle, self.lengths, self.batch, self.layout = handle, lengths, len(lengths), layout
        self.mode, self.bias, self.clip, self.proj = mode, bias, clip, proj
        width = proj or HIDDEN
        rng = np.random.default_rng(1)
        self.rnn = cudnn.cudnnCreateRNNDescriptor()
        kind = cudnn.CUDNN_DATA_FLOAT
        sizes = (FEATURES, HIDDEN, width, LAYERS, None, cudnn.CUDNN_RNN_PADDED_IO_ENABLED)
        how = (cudnn.CUDNN_RNN_ALGO_STANDARD, mode, bias, cudnn.CUDNN_BIDIRECTIONAL, cudnn.CUDNN_LINEAR_INPUT)
        cudnn.cudnnSetRNNDescriptor_v8(self.rnn, *how, kind, kind, cudnn.CUDNN_DEFAULT_MATH, *sizes)
        if clip:
            cudnn.cudnnRNNSetClip_v9(self.rnn, cudnn.CUDNN_RNN_CLIP_MINMAX, *clip)
        self.size = cudnn.cudnnGetRNNWeightSpaceSize(handle, self.rnn)
        self.w = (rng.standard_normal(self.size // 4) / 2).astype(np.float32)
        self.x = rng.standard_normal((STEPS, self.batch, FEATURES)).astype(np.float32)
        self.dy = rng.standard_normal((STEPS, self.batch, 2 * width)).astype(np.float32)
        for n, length in enumerate(lengths):
            self.x[length:, n] = self.dy[length:, n] = np.nan
        dims = {name: (2 * LAYERS, self.batch, HIDDEN if "c" in name else width) for name in ("hx", "cx", "dhy", "dcy")}
        self.states = {name: rng.standard_normal(state).astype(np.float32) for name, state in dims.items()}
        self.state, self.cells = (cudnn.cudnnCreateTensorDescriptor() for _ in range(2))
        for desc, numbers in ((self.state, width), (self.cells, HIDDEN)):
            strides = (self.batch * numbers, numbers, 1)
            cudnn.cudnnSetTensorNdDescriptor(desc, kind, 3, (2 * LAYERS, self.batch, numbers), strides)
        self.x_desc, self.y_desc = (self.data(width) for width in (FEATURES, 2 * (proj or HIDDEN)))
        self.device_lengths = handle.device.asarray(np.array(lengths, np.int32))

    def data(self, width):
        desc = cudnn.cudnnCreateRNNDataDescriptor()
        settings = (cudnn.CUDNN_DATA_FLOAT, self.layout, STEPS, self.batch, width, self.lengths, FILL)
        cudnn.cudnnSetRNNDataDescriptor(desc, *settings)
        return desc

    def put(self, array):
        batch_first = self.layout == LAYOUTS["batch"] and array.ndim == 3 and array.shape[:2] == (STEPS, self.batch)
        return self.handle.asarray(np.ascontiguousarray(array.swapaxes(0, 1) if batch_first else array))

    def get(self, array, padded=False):
        found = self.handle.to_numpy(array)
        return found.swapaxes(0, 1) if padded and self.layout == LAYOUTS["batch"] else found

    def run(self):
        """Return what all passes give, by name."""
        sizes = cudnn.cudnnGetRNNTempSpaceSizes(self.handle, self.rnn, cudnn.CUDNN_FWD_MODE_TRAINING, self.x_desc)
        work, reserve = (self.handle.empty_bytes(max(size, 16)) for size in sizes)
        x, w, dy = self.put(self.x), self.handle.asarray(self.w), self.put(self.dy)
        hx, cx, dhy, dcy = (self.handle.asarray(self.states[name]) for name in ("hx", "cx", "dhy", "dcy"))
        y, dx = (self.put(np.zeros_like(a)) for a in (self.dy, self.x))
        ends = {
            name: self.handle.asarray(np.full_like(self.states["cx" if "c" in name else "hx"], 9))
            for name in ("hy", "cy", "dhx", "dcx")
        }
        hy, cy, dhx, dcx = ends.values()
        lstm = self.mode == cudnn.CUDNN_LSTM
        cells = (self.cells, cx, cy) if lstm else (None, None, None)
        spaces = (sizes[0], work, sizes[1], reserve)
        cudnn.cudnnRNNForward(
            *(self.handle, self.rnn, cudnn.CUDNN_FWD_MODE_TRAINING, self.device_lengths),
            *(self.x_desc, x, self.y_desc, y, self.state, hx, hy, *cells, self.size, w, *spaces),
        )
        cells = (self.cells, cx, dcy, dcx) if lstm else (None, None, None, None)
        cudnn.cudnnRNNBackwardData_v8(
            *(self.handle, self.rnn, self.device_lengths, self.y_desc, y, dy, self.x_desc, dx),
            *(self.state, hx, dhy, dhx, *cells, self.size, w, *spaces),
        )
        dw = self.handle.asarray(np.ones_like(self.w))
        cudnn.cudnnRNNBackwardWeights_v8(
            *(self.handle, self.rnn, cudnn.CUDNN_WGRAD_MODE_SET, self.device_lengths, self.x_desc, x, self.state, hx),
            *(self.y_desc, y, self.size, dw, *spaces),
        )
        found = {name: self.get(array) for name, array in ends.items()}
        return {**found, "y": self.get(y, True), "dx": self.get(dx, True), "dw": self.get(dw)}

    def wanted(self):
        """The same of each sequence by itself, in float64 on the reference."""
        names = {cudnn.CUDNN_LSTM: "lstm", cudnn.CUDNN_GRU: "gru"}
        more = {"bias_mode": int(self.bias), "clip": self.clip, "proj_size": self.proj}
        rnn = dnn.RNNDescriptor(HIDDEN, LAYERS, names[self.mode], "bidirectional", **more)
        lstm = rnn.mode.name == "LSTM"
        found = {
            name: np.empty(self.states["cx" if "c" in name else "hx"].shape) for name in ("hy", "cy", "dhx", "dcx")
        }
        found |= {"y": np.full(self.dy.shape, FILL), "dx": np.full(self.x.shape, FILL)}
        w = self.w.astype(np.float64)[:, None, None]
        dw = np.zeros_like(w)
        with dnn.Handle("reference") as own:
            for n, length in enumerate(self.lengths):
                one = {name: state[:, n : n + 1].astype(np.float64) for name, state in self.states.items()}
                if not length:
                    for to, from_ in (("hy", "hx"), ("cy", "cx"), ("dhx", "dhy"), ("dcx", "dcy")):
                        found[to][:, n] = one[from_][:, 0]
                    continue
                x, dy = (a[:length, n : n + 1].astype(np.float64) for a in (self.x, self.dy))
                cells = (one["cx"], one["dcy"]) if lstm else (None, None)
                hy, cy = np.empty_like(one["hx"]), np.empty_like(one["cx"]) if lstm else None
                y, hy, cy, reserve = dnn.rnn_forward_training(own, x, one["hx"], cells[0], w, rnn, hy=hy, cy=cy)
                ends = [np.empty_like(hy), np.empty_like(cy) if lstm else None]
                dx, dhx, dcx, reserve = dnn.rnn_backward_data(
                    *(own, y, dy, one["dhy"], cells[1], w, one["hx"], cells[0], rnn, np.empty_like(x), *ends, reserve)
                )
                dnn.rnn_backward_weights(own, x, one["hx"], y, reserve, rnn, dw)
                found["y"][:length, n], found["dx"][:length, n] = y[:, 0], dx[:, 0]
                for name, state in (("hy", hy), ("cy", cy), ("dhx", dhx), ("dcx", dcx)):
                    if state is not None:
                        found[name][:, n] = state[:, 0]
        return {**found, "dw": dw[:, 0, 0]}


def compare(world):
    found, want = world.run(), world.wanted()
    for name, due in want.items():
        if world.mode == cudnn.CUDNN_LSTM or "c" not in name:
            np.testing.assert_allclose(found[name], due, rtol=2e-4, atol=2e-5, err_msg=name)


@everywhere()
@pytest.mark.parametrize("lengths", CASES, ids=str)
def test_each_sequence_is_by_itself(handle, lengths):
    layout = LAYOUTS["batch" if lengths[0] % 2 else "seq"]
    mode = cudnn.CUDNN_GRU if len(lengths) == 3 else cudnn.CUDNN_LSTM
    compare(World(handle, mode, layout, lengths, cudnn.CUDNN_RNN_DOUBLE_BIAS))


@everywhere()
@pytest.mark.parametrize("bias", ["NO_BIAS", "SINGLE_INP_BIAS", "SINGLE_REC_BIAS"])
def test_fewer_biases_and_clipped_cells(handle, bias):
    mode = getattr(cudnn, f"CUDNN_RNN_{bias}")
    world = World(handle, cudnn.CUDNN_LSTM, LAYOUTS["seq"], (5, 3, 1), mode, (-0.25, 0.25))
    compare(world)
    m, b = cudnn.cudnnCreateTensorDescriptor(), cudnn.cudnnCreateTensorDescriptor()
    weights = handle.asarray(world.w)
    for part in range(8):
        matrix, vector = cudnn.cudnnGetRNNWeightParams(handle, world.rnn, 1, world.size, weights, part, m, b)
        assert matrix is not None
        there = bias == "SINGLE_INP_BIAS" if part < 4 else bias == "SINGLE_REC_BIAS"
        assert (vector is not None) == there
        assert cudnn.cudnnGetTensorNdDescriptor(b, 3)[2] == ((1, HIDDEN, 1) if there else (0, 0, 0))


@everywhere()
def test_projections(handle):
    """Each sequence by itself, and the projection as one more matrix of cudnnGetRNNWeightParams."""
    world = World(handle, cudnn.CUDNN_LSTM, LAYOUTS["batch"], (2, 5, 0, 3), cudnn.CUDNN_RNN_DOUBLE_BIAS, proj=3)
    compare(world)
    m, b = cudnn.cudnnCreateTensorDescriptor(), cudnn.cudnnCreateTensorDescriptor()
    where = (handle, world.rnn, 1, world.size, handle.asarray(world.w))
    matrix, vector = cudnn.cudnnGetRNNWeightParams(*where, 8, m, b)
    assert vector is None and cudnn.cudnnGetTensorNdDescriptor(m, 3)[2] == (1, 3, HIDDEN) == matrix.shape
    assert cudnn.cudnnGetRNNDescriptor_v8(world.rnn)[10:12] == (3, LAYERS)
    with pytest.raises(dnn.BadParam, match="lin_layer_id: expected 0 to 8"):
        cudnn.cudnnGetRNNWeightParams(*where, 9, m, b)


def test_packed_sequences_are_sorted():
    desc = cudnn.cudnnCreateRNNDataDescriptor()
    packed = (cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, STEPS, 2, FEATURES)
    with pytest.raises(dnn.BadParam, match="never increase"):
        cudnn.cudnnSetRNNDataDescriptor(desc, *packed, (2, 3), None)
    with pytest.raises(dnn.BadParam, match="seqLengthArray"):
        cudnn.cudnnSetRNNDataDescriptor(desc, *packed, (2, 0), None)
