"""cudnnMultiHeadAttn* by its C names: layouts, single steps, padding, groups of parameters, wrong arguments."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from helper import everywhere

import portadnn as dnn
from portadnn import cudnn

RNG = np.random.default_rng(3)
STEPS, KEYS, BATCH, BEAMS = 4, 5, 2, 2
SIZES, HEADS, PROJECTIONS = (4, 5, 6), 2, (3, 3, 2, 7)
LENGTHS, KEY_LENGTHS = (4, 2, 3, 4), (5, 3)  # batch by batch, beam by beam; keys have one beam
LO, HI = (0, 0, 1, 2), (3, 5, 4, 5)
AXES = ("TIME", "BATCH", "BEAM", "VECT")


def axes_of(text):
    return [getattr(cudnn, f"CUDNN_SEQDATA_{axis}_DIM") for axis in text.split()]


def sequences(dims, axes, lengths, padding=None):
    desc = cudnn.cudnnCreateSeqDataDescriptor()
    settings = (cudnn.CUDNN_DATA_FLOAT, 4, dims, axes_of(axes), len(lengths), lengths, padding)
    cudnn.cudnnSetSeqDataDescriptor(desc, *settings)
    assert cudnn.cudnnGetSeqDataDescriptor(desc, 4, 99)[2:] == (
        tuple(dims),
        tuple(axes_of(axes)),
        len(lengths),
        lengths,
        padding,
    )
    return desc


def laid(values, axes):
    """Return memory of values [time][batch][beam][vect] in an order of the axes."""
    return np.ascontiguousarray(values.transpose([int(a) for a in axes_of(axes)]))


def read(memory, axes):
    return memory.transpose(np.argsort([int(a) for a in axes_of(axes)]))


def attention(mode=cudnn.CUDNN_ATTN_ENABLE_PROJ_BIASES, projections=PROJECTIONS, drops=(None, None)):
    desc = cudnn.cudnnCreateAttnDescriptor()
    settings = (mode, HEADS, 0.5, cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_DEFAULT_MATH, *drops)
    settings += (*SIZES, *projections, STEPS, KEYS, BATCH, BEAMS)
    cudnn.cudnnSetAttnDescriptor(desc, *settings)
    assert cudnn.cudnnGetAttnDescriptor(desc) == settings
    return desc


class World:
    """Descriptors and memory of one setting, and what the formula gives."""

    def __init__(self, handle, axes="BATCH TIME BEAM VECT", padding=None):
        self.handle, self.axes = handle, axes
        self.attn = attention()
        self.sizes = cudnn.cudnnGetMultiHeadAttnBuffers(handle, self.attn)
        self.w = RNG.standard_normal(self.sizes[0] // 4).astype(np.float32)
        shapes = [(STEPS, BATCH, BEAMS, 4), (KEYS, BATCH, 1, 5), (KEYS, BATCH, 1, 6), (STEPS, BATCH, BEAMS, 7)]
        lengths = (LENGTHS, KEY_LENGTHS, KEY_LENGTHS, LENGTHS)
        self.values = [RNG.standard_normal(shape).astype(np.float32) for shape in shapes]
        self.residuals = self.values[3]
        self.descs = [
            sequences(shape, axes, length, padding if i == 3 else None)
            for i, (shape, length) in enumerate(zip(shapes, lengths, strict=True))
        ]
        self.memory = [handle.asarray(laid(values, axes)) for values in self.values]
        self.weights = handle.asarray(self.w)
        self.reserve = handle.empty_bytes(self.sizes[2])
        self.scratch = handle.empty_bytes(max(self.sizes[1], 1))
        self.lengths = [handle.device.asarray(np.array(n, np.int32)) for n in (LENGTHS, KEY_LENGTHS)]

    def forward(self, place=-1, training=True):
        out = self.handle.asarray(np.zeros_like(laid(self.values[3], self.axes)))
        q, k, v, o = self.descs
        given = (q, self.memory[0], self.memory[3], k, self.memory[1], v, self.memory[2], o, out)
        kept = (self.sizes[2], self.reserve) if training else (0, None)
        spaces = (self.sizes[0], self.weights, self.sizes[1], self.scratch, *kept)
        cudnn.cudnnMultiHeadAttnForward(self.handle, self.attn, place, LO, HI, *self.lengths, *given, *spaces)
        return read(self.handle.to_numpy(out), self.axes)

    def group(self, kind):
        desc = cudnn.cudnnCreateTensorDescriptor()
        part = cudnn.cudnnGetMultiHeadAttnWeights(self.handle, self.attn, kind, self.sizes[0], self.weights, desc)
        return self.handle.to_numpy(part)

    def wanted(self):
        """The formula, in loops."""
        q, k, v, residuals = (values.astype(np.float64) for values in self.values)
        (wq, wk, wv, wo), (bq, bk, bv, bo) = (
            [self.group(4 * bias + which).astype(np.float64) for which in range(4)] for bias in range(2)
        )
        out = np.zeros(residuals.shape)
        for t, n, b in itertools.product(range(STEPS), range(BATCH), range(BEAMS)):
            if t >= LENGTHS[n * BEAMS + b]:
                continue
            sums = bo[0, :, 0].copy()
            for h in range(HEADS):
                query = wq[h] @ q[t, n, b] + bq[h, :, 0]
                places = range(LO[t], min(HI[t], KEY_LENGTHS[n]))
                powers = [math.exp(0.5 * query @ (wk[h] @ k[s, n, 0] + bk[h, :, 0])) for s in places]
                for power, s in zip(powers, places, strict=True):
                    sums += power / sum(powers) * wo[h] @ (wv[h] @ v[s, n, 0] + bv[h, :, 0])
            out[t, n, b] = sums + residuals[t, n, b]
        return out


@everywhere()
@pytest.mark.parametrize("axes", ["TIME BATCH BEAM VECT", "BATCH TIME BEAM VECT", "BEAM BATCH TIME VECT"])
def test_forward_is_the_formula_in_every_layout(handle, axes):
    world = World(handle, axes)
    want = world.wanted()
    np.testing.assert_allclose(world.forward(), want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(world.forward(training=False), want, rtol=1e-4, atol=1e-5)


@everywhere()
def test_a_single_step_is_that_step_and_nothing_else(handle):
    world = World(handle)
    want = world.wanted()
    for place in range(STEPS):
        found = world.forward(place, training=False)
        np.testing.assert_allclose(found[place], want[place], rtol=1e-4, atol=1e-5)
        assert not np.delete(found, place, 0).any()
    with pytest.raises(dnn.BadParam, match="currIdx"):
        world.forward(STEPS, training=False)
    with pytest.raises(dnn.BadParam, match="currIdx"):
        world.forward(0)


@everywhere()
def test_padding_fills_what_lies_behind_the_lengths(handle):
    world = World(handle, padding=-3.5)
    out, want = world.forward(), world.wanted()
    for n, b in itertools.product(range(BATCH), range(BEAMS)):
        length = LENGTHS[n * BEAMS + b]
        assert (out[length:, n, b] == -3.5).all()
        np.testing.assert_allclose(out[:length, n, b], want[:length, n, b], rtol=1e-4, atol=1e-5)


@everywhere()
def test_gradients_are_the_unified_calls(handle):
    """Which are checked by finite differences; here the layouts and the mode of addition."""
    world = World(handle, "BEAM BATCH TIME VECT")
    world.forward()
    dout = RNG.standard_normal(world.values[3].shape).astype(np.float32)
    above = handle.asarray(laid(dout, world.axes))
    q, k, v, o = world.descs
    gradients = [handle.asarray(np.zeros_like(handle.to_numpy(m))) for m in world.memory[:3]]
    given = [o, above]
    for desc, gradient, memory in zip((q, k, v), gradients, world.memory[:3], strict=True):
        given += [desc, gradient, memory]
    spaces = (world.sizes[0], world.weights, world.sizes[1], world.scratch, world.sizes[2], world.reserve)
    cudnn.cudnnMultiHeadAttnBackwardData(handle, world.attn, LO, HI, *world.lengths, *given, *spaces)
    dw = handle.asarray(np.ones_like(world.w))
    triples = (q, world.memory[0], k, world.memory[1], v, world.memory[2], o, above)
    spaces = (world.sizes[0], world.weights, dw, *spaces[2:])
    for mode in (cudnn.CUDNN_WGRAD_MODE_SET, cudnn.CUDNN_WGRAD_MODE_ADD):
        cudnn.cudnnMultiHeadAttnBackwardWeights(handle, world.attn, mode, *triples, *spaces)
    with dnn.Handle("reference") as own:
        attn = dnn.AttnDescriptor(HEADS, 0.5, *PROJECTIONS, True)
        doubles = [values.astype(np.float64) for values in (*world.values[:3], world.w)]
        reserve = np.zeros(dnn.get_multi_head_attn_buffers(own, attn, *doubles[:3])[2], np.uint8)
        options = {"lengths_q": LENGTHS, "lengths_kv": KEY_LENGTHS}
        dnn.multi_head_attn_forward(own, *doubles, attn, windows=[LO, HI], reserve=reserve, **options)
        want = dnn.multi_head_attn_backward_data(
            own, dout.astype(np.float64), *doubles, attn, windows=[LO, HI], reserve=reserve, **options
        )
        want_w = np.zeros(world.w.size)
        above64 = dout.astype(np.float64)
        dnn.multi_head_attn_backward_weights(own, *doubles[:3], above64, reserve, attn, want_w, **options)
    for gradient, due in zip(gradients, want, strict=True):
        np.testing.assert_allclose(read(handle.to_numpy(gradient), world.axes), due, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(handle.to_numpy(dw), 2 * want_w, rtol=1e-3, atol=1e-4)


def test_constants_are_the_headers():
    assert cudnn.CUDNN_ATTN_QUERYMAP_ONE_TO_ONE == 1
    assert cudnn.CUDNN_ATTN_ENABLE_PROJ_BIASES == 2
    assert cudnn.CUDNN_SEQDATA_DIM_COUNT == 4
    assert cudnn.CUDNN_ATTN_WKIND_COUNT == len(cudnn.cudnnMultiHeadAttnWeightKind_t) == 8


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({0: 4}, "attnMode"),
        ({1: 0}, "nHeads"),
        ({2: -0.5}, "smScaler"),
        ({2: float("nan")}, "smScaler"),
        ({8: 0}, "qSize"),
        ({12: 2}, "kProjSize"),
        ({11: 0, 12: 3}, "kProjSize"),
        ({15: 0}, "qoMaxSeqLength"),
    ],
)
def test_wrong_settings_are_named(change, name):
    kind, math_ = cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_DEFAULT_MATH
    settings = [2, HEADS, 0.5, kind, kind, math_, None, None, *SIZES, *PROJECTIONS, STEPS, KEYS, BATCH, BEAMS]
    for place, value in change.items():
        settings[place] = value
    with pytest.raises(dnn.BadParam) as caught:
        cudnn.cudnnSetAttnDescriptor(cudnn.cudnnCreateAttnDescriptor(), *settings)
    assert caught.value.argument == name


def test_sequences_that_do_not_fit_are_named():
    desc, kind = cudnn.cudnnCreateSeqDataDescriptor(), cudnn.CUDNN_DATA_FLOAT
    whole = axes_of(" ".join(AXES))
    for change, name in (
        ((3, (2, 1, 1, 4), whole, 1, (2,), None), "nbDims"),
        ((4, (2, 1, 1, 0), whole, 1, (2,), None), "dimA"),
        ((4, (2, 1, 1, 4), [0, 0, 2, 3], 1, (2,), None), "axes"),
        ((4, (2, 1, 1, 4), whole, 2, (2, 2), None), "seqLengthArraySize"),
        ((4, (2, 1, 1, 4), whole, 1, (3,), None), "seqLengthArray"),
    ):
        with pytest.raises(dnn.BadParam) as caught:
            cudnn.cudnnSetSeqDataDescriptor(desc, kind, *change)
        assert caught.value.argument.startswith(name)
    with pytest.raises(dnn.NotSupported, match="axes"):
        cudnn.cudnnSetSeqDataDescriptor(desc, kind, 4, (2, 1, 1, 4), [3, 0, 1, 2], 1, (2,), None)


@everywhere()
def test_one_dropout_descriptor_serves_both(handle):
    """As in Dragon's operator: weights and outputs are dropped by masks that have nothing to do with each other."""
    heads, steps, batch, size, share = 2, 32, 2, 32, 0.5
    drop, desc = cudnn.cudnnCreateDropoutDescriptor(), cudnn.cudnnCreateAttnDescriptor()
    states = handle.empty_bytes(cudnn.cudnnDropoutGetStatesSize(handle))
    cudnn.cudnnSetDropoutDescriptor(drop, handle, share, states, cudnn.cudnnDropoutGetStatesSize(handle), 5)
    kind = cudnn.CUDNN_DATA_FLOAT
    settings = (0, heads, 0.0, kind, kind, cudnn.CUDNN_DEFAULT_MATH, drop, drop, *(size,) * 3, *(0,) * 4)
    cudnn.cudnnSetAttnDescriptor(desc, *settings, steps, steps, batch, 1)
    weights, room, kept = cudnn.cudnnGetMultiHeadAttnBuffers(handle, desc)
    assert weights == 0
    dims, lengths = (steps, batch, 1, size), handle.device.asarray(np.full(batch, steps, np.int32))
    x_desc = sequences(dims, "TIME BATCH BEAM VECT", (steps,) * batch)
    y_desc = sequences((*dims[:3], size * heads), "TIME BATCH BEAM VECT", (steps,) * batch)
    x, found = handle.asarray(np.ones(dims, np.float32)), []
    memory = 0, None, room, handle.empty_bytes(room), kept, handle.empty_bytes(kept)
    for _ in range(2):
        y = handle.asarray(np.zeros((*dims[:3], size * heads), np.float32))
        given = lengths, lengths, x_desc, x, None, x_desc, x, x_desc, x, y_desc, y
        cudnn.cudnnMultiHeadAttnForward(handle, desc, -1, [0] * steps, [steps] * steps, *given, *memory)
        found.append(handle.to_numpy(y))
    assert (found[0] != found[1]).any()
    for y in found:  # each number: the share of weights that was kept, twice, or 0
        assert abs((y == 0).mean() - share) < 0.05
        sums = [np.unique(row[row != 0]) for row in y.reshape(-1, heads, size).reshape(-1, size)]
        assert all(len(values) == 1 for values in sums if len(values))
        assert len(np.unique(np.concatenate(sums))) > 5
