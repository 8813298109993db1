"""Recurrent networks with MIOpen's names: against a NumPy network that numbers gates as MIOpen's header does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from miopen_env import F, close, every_backend, gradient, recurrent

import portadnn as dnn
from portadnn import miopen

MODES = {"relu": miopen.miopenRNNRELU, "tanh": miopen.miopenRNNTANH, "lstm": miopen.miopenLSTM, "gru": miopen.miopenGRU}
HIDDEN, FEATURES, LAYERS = 3, 4, 2


class Net:
    """A network with random parameters, by MIOpen's numbers, on an environment."""

    def __init__(self, env, mode, directions=1, bias=True, skip=False, layers=LAYERS, dropout=None):
        self.env, self.mode, self.directions, self.layers, self.skip = env, mode, directions, layers, skip
        self.bias, self.gates = bias, {"lstm": 4, "gru": 3}.get(mode, 1)
        self.features = HIDDEN if skip else FEATURES
        self.width = directions * HIDDEN
        self.rnn = miopen.miopenCreateRNNDescriptor()
        modes = (int(skip), directions - 1, MODES[mode], int(bias), miopen.miopenRNNdefault, F)
        miopen.miopenSetRNNDescriptor_V2(self.rnn, HIDDEN, layers, dropout, *modes)
        self.step = env.desc(2, self.features)
        self.w_desc = env.desc(1)
        miopen.miopenGetRNNParamsDescriptor(env.h, self.rnn, self.step, self.w_desc, F)
        self.size = miopen.miopenGetRNNParamsSize(env.h, self.rnn, self.step, F)
        assert miopen.miopenGetTensorNumBytes(self.w_desc) == self.size
        self.w = env.dev(np.full(self.size // 4, np.nan, np.float32))
        self.matrices, self.biases = {}, {}
        for pseudo, number in itertools.product(range(layers * directions), range(2 * self.gates)):
            self._set(pseudo, number)
        assert np.isfinite(env.host(self.w)).all()  # every parameter has its place

    def _set(self, pseudo, number):
        env, h, part = self.env, self.env.h, self.env.desc(1)
        inputs = self.features if pseudo < self.directions else self.width
        columns = inputs if number < self.gates else HIDDEN
        where = (h, self.rnn, pseudo, self.step, self.w_desc, self.w, number, part)
        if not (self.skip and pseudo < self.directions and number < self.gates):
            miopen.miopenGetRNNLayerParam(*where, None)
            assert miopen.miopenGetTensorDescriptor(part)[1] == (HIDDEN, columns)
            size = miopen.miopenGetRNNLayerParamSize(h, self.rnn, pseudo, self.step, number)
            assert size == 4 * HIDDEN * columns
            matrix = self.matrices[pseudo, number] = 0.7 * env.random(HIDDEN, columns)
            miopen.miopenSetRNNLayerParam(*where, env.dev(matrix))
            place = miopen.miopenGetRNNLayerParamOffset(self.rnn, pseudo, self.step, number, part)
            assert (env.host(self.w)[place : place + matrix.size] == matrix.ravel()).all()
        vector = self.biases[pseudo, number] = env.random(HIDDEN) if self.bias else np.zeros(HIDDEN, np.float32)
        if self.bias:
            assert miopen.miopenGetRNNLayerBiasSize(h, self.rnn, pseudo, number) == 4 * HIDDEN
            miopen.miopenGetRNNLayerBias(*where, None)
            assert miopen.miopenGetTensorDescriptor(part)[1] == (HIDDEN,)
        miopen.miopenSetRNNLayerBias(*where, env.dev(vector))
        if self.bias:
            place = miopen.miopenGetRNNLayerBiasOffset(self.rnn, pseudo, self.step, number, part)
            assert (env.host(self.w)[place : place + HIDDEN] == vector).all()

    def numpy(self, x, hx, cx, matrices=None):
        return recurrent(self.mode, x, hx, cx, matrices or self.matrices, self.biases, self.directions)

    def parts(self, w):
        """Return the matrices and biases in a buffer, by MIOpen's numbers."""
        env, part, found = self.env, self.env.desc(1), {}
        for pseudo, number in self.matrices:
            where = (env.h, self.rnn, pseudo, self.step, self.w_desc, w, number, part)
            out = env.out(*self.matrices[pseudo, number].shape)[1]
            miopen.miopenGetRNNLayerParam(*where, out)
            found["matrix", pseudo, number] = env.host(out)
        for pseudo, number in self.biases if self.bias else ():
            where = (env.h, self.rnn, pseudo, self.step, self.w_desc, w, number, part)
            out = env.out(HIDDEN)[1]
            miopen.miopenGetRNNLayerBias(*where, out)
            found["bias", pseudo, number] = env.host(out)
        return found


def train(net, steps=4, batch=2):
    """Run all passes; return what went in and what came out."""
    env, h, rnn = net.env, net.env.h, net.rnn
    x, dy = env.random(steps, batch, net.features), env.random(steps, batch, net.width)
    hx, cx, dhy, dcy = (env.random(net.layers * net.directions, batch, HIDDEN) for _ in range(4))
    state = env.desc(*hx.shape)
    xd, yd = [env.desc(batch, net.features)] * steps, [env.desc(batch, net.width)] * steps
    assert miopen.miopenGetRNNInputTensorSize(h, rnn, steps, xd) == x.nbytes
    assert miopen.miopenGetRNNHiddenTensorSize(h, rnn, steps, xd) == hx.nbytes
    scratch = env.bytes(miopen.miopenGetRNNWorkspaceSize(h, rnn, steps, xd))
    reserve = env.bytes(miopen.miopenGetRNNTrainingReserveSize(h, rnn, steps, xd))
    dev = {name: env.dev(v) for name, v in {"x": x, "dy": dy, "hx": hx, "cx": cx, "dhy": dhy, "dcy": dcy}.items()}
    y, dx = env.out(*dy.shape)[1], env.out(*x.shape)[1]
    hy, cy, dhx, dcx = (env.out(*hx.shape)[1] for _ in range(4))
    dw = env.dev(np.zeros(net.size // 4, np.float32))
    first, last = (state, dev["hx"], state, dev["cx"]), (state, hy, state, cy)
    forward = (h, rnn, steps, xd, dev["x"], *first, net.w_desc, net.w, yd, y, *last, *scratch)
    miopen.miopenRNNForwardInference(*forward)
    inferred = env.host(y).copy()
    miopen.miopenRNNForwardTraining(*forward, *reserve)
    changes, outs = (state, dev["dhy"], state, dev["dcy"]), (state, dhx, state, dcx)
    given = (yd, y, yd, dev["dy"], *changes, net.w_desc, net.w, *first)
    miopen.miopenRNNBackwardData(h, rnn, steps, *given, xd, dx, *outs, *scratch, *reserve)
    miopen.miopenRNNBackwardWeights(
        h, rnn, steps, xd, dev["x"], state, dev["hx"], yd, y, net.w_desc, dw, *scratch, *reserve
    )
    results = {"y": y, "hy": hy, "cy": cy, "dx": dx, "dhx": dhx, "dcx": dcx}
    return (x, hx, cx), (dy, dhy, dcy), {k: env.host(v) for k, v in results.items()} | {"inferred": inferred, "dw": dw}


def check(net):
    (x, hx, cx), (dy, dhy, dcy), found = train(net)
    y, hy, cy = net.numpy(x, hx, cx)
    loss = (dy, dhy, dcy)
    close(found["y"], y)
    close(found["inferred"], y)
    close(found["hy"], hy)
    close(found["dx"], gradient(lambda v: net.numpy(v, hx, cx), x, loss), atol=2e-5)
    close(found["dhx"], gradient(lambda v: net.numpy(x, v, cx), hx, loss), atol=2e-5)
    if net.mode == "lstm":
        close(found["cy"], cy)
        close(found["dcx"], gradient(lambda v: net.numpy(x, hx, v), cx, loss), atol=2e-5)
    parts = net.parts(found["dw"])
    for (kind, *key), part in parts.items():
        values = net.matrices if kind == "matrix" else net.biases
        old = values[tuple(key)]

        def changed(v, values=values, key=tuple(key)):
            values[key] = v
            return net.numpy(x, hx, cx)

        close(part, gradient(changed, old, loss), atol=3e-5)
        values[tuple(key)] = old


@every_backend()
@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_gates_are_in_miopens_order(env, mode):
    check(Net(env, mode, directions=2))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("bias", "skip"), [(True, True), (False, False), (False, True)])
def test_without_bias_and_with_skipped_input(env, mode, bias, skip):
    check(Net(env, mode, bias=bias, skip=skip))


@every_backend()
def test_the_orders_differ_from_cudnns(env):
    """Numbers 2 and 3 of an LSTM are swapped, and 0 and 1 of a GRU (migration rule V50)."""
    for mode, ours in (("lstm", (0, 1, 3, 2)), ("gru", (1, 0, 2))):
        net = Net(env, mode, layers=1)
        memory, size, rnn = env.host(net.w), HIDDEN * FEATURES, dnn.RNNDescriptor(HIDDEN, 1, mode)
        for number, same in enumerate(ours):
            assert (memory[number * size :][:size] == net.matrices[0, number].ravel()).all()
            found = dnn.get_rnn_lin_layer_matrix_params(env.h, rnn, 0, (2, FEATURES, 1), net.w, same)
            assert number == same or (env.host(found)[0] != net.matrices[0, number]).any()


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_parameters_lie_as_miopens(env, mode, directions, skip):
    """By the sizes of the parts that MIOpen's src/rnn.cpp adds up: both directions' W, then both R; biases likewise."""
    net = Net(env, mode, directions=directions, skip=skip)
    at, part = 0, env.desc(1)
    for layer in range(LAYERS):
        for state, direction, gate in itertools.product((0, 1), range(directions), range(net.gates)):
            number, pseudo = state * net.gates + gate, layer * directions + direction
            if (pseudo, number) in net.matrices:
                assert miopen.miopenGetRNNLayerParamOffset(net.rnn, pseudo, net.step, number, part) == at
                at += net.matrices[pseudo, number].size
    for layer in range(LAYERS):
        for state, direction, gate in itertools.product((0, 1), range(directions), range(net.gates)):
            number, pseudo = state * net.gates + gate, layer * directions + direction
            assert miopen.miopenGetRNNLayerBiasOffset(net.rnn, pseudo, net.step, number, part) == at
            at += HIDDEN
    assert 4 * at == net.size


@every_backend()
@pytest.mark.parametrize("padding", [miopen.miopenRNNIONotPadded, miopen.miopenRNNIOWithPadding])
def test_padded_steps(env, padding):
    """With padding each step has as many rows as the first; what lies behind a step's own stays as it was."""
    net, h, lengths = Net(env, "lstm", directions=2), env.h, (4, 3, 1)
    miopen.miopenSetRNNPaddingMode(net.rnn, padding)
    batches = [sum(length > t for length in lengths) for t in range(4)]
    x, dy = env.random(4, 3, FEATURES), env.random(4, 3, net.width)
    hx, cx = (env.random(2 * LAYERS, 3, HIDDEN) for _ in range(2))
    mask = np.array([[length > t for length in lengths] for t in range(4)])
    padded = padding == miopen.miopenRNNIOWithPadding
    xd, yd = ([env.desc(n, width) for n in batches] for width in (FEATURES, net.width))
    assert miopen.miopenGetRNNInputTensorSize(h, net.rnn, 4, xd) == 4 * FEATURES * (12 if padded else mask.sum())
    scratch = env.bytes(miopen.miopenGetRNNWorkspaceSize(h, net.rnn, 4, xd))
    reserve = env.bytes(miopen.miopenGetRNNTrainingReserveSize(h, net.rnn, 4, xd))
    given, change = (v if padded else v[mask] for v in (x, dy))
    x_dev, dy_dev, hx_dev, cx_dev = map(env.dev, (given, change, hx, cx))
    y, dx = env.dev(np.full(change.shape, 7, np.float32)), env.dev(np.full(given.shape, 7, np.float32))
    hy, cy, dhx, dcx = (env.out(*hx.shape)[1] for _ in range(4))
    state = env.desc(*hx.shape)
    first, last, outs = ((state, a, state, b) for a, b in ((hx_dev, cx_dev), (hy, cy), (dhx, dcx)))
    forward = (h, net.rnn, 4, xd, x_dev, *first, net.w_desc, net.w, yd, y, *last, *scratch, *reserve)
    miopen.miopenRNNForwardTraining(*forward)
    nothing = (state, None, state, None)
    back = (yd, y, yd, dy_dev, *nothing, net.w_desc, net.w, *first, xd, dx, *outs, *scratch, *reserve)
    miopen.miopenRNNBackwardData(h, net.rnn, 4, *back)
    dw = env.dev(np.zeros(net.size // 4, np.float32))
    weights = (xd, x_dev, state, hx_dev, yd, y, net.w_desc, dw, *scratch, *reserve)
    miopen.miopenRNNBackwardWeights(h, net.rnn, 4, *weights)
    got_y, got_dx = env.host(y), env.host(dx)
    if padded:
        assert (got_y[~mask] == 7).all() and (got_dx[~mask] == 7).all()
        got_y, got_dx = got_y[mask], got_dx[mask]
    want, slope = np.zeros(dy.shape), np.zeros(x.shape)
    for i, length in enumerate(lengths):
        one = (x[:length, i : i + 1], hx[:, i : i + 1], cx[:, i : i + 1])
        out = net.numpy(*one)
        want[:length, i] = out[0][:, 0]
        loss = (dy[:length, i : i + 1], np.zeros_like(one[1]), np.zeros_like(one[2]))
        slope[:length, i] = gradient(lambda v, one=one: net.numpy(v, *one[1:]), one[0], loss)[:, 0]
        close(env.host(hy)[:, i], out[1][:, 0])
    close(got_y, want[mask])
    close(got_dx, slope[mask], atol=2e-5)
    assert all(part.any() for part in net.parts(dw).values())


def test_sequences_of_several_lengths(env):
    net = Net(env, "gru")
    lengths, h = (4, 2, 1), env.h
    batches = [3, 2, 1, 1]
    xd, yd = [env.desc(n, FEATURES) for n in batches], [env.desc(n, net.width) for n in batches]
    rows = [env.random(n, FEATURES) for n in batches]
    x, y = env.dev(np.concatenate(rows)), env.out(sum(batches), net.width)[1]
    scratch = env.bytes(miopen.miopenGetRNNWorkspaceSize(h, net.rnn, 4, xd))
    state, hy = env.desc(LAYERS, 3, HIDDEN), env.out(LAYERS, 3, HIDDEN)[1]
    none = (state, None, state, None)
    miopen.miopenRNNForwardInference(
        h, net.rnn, 4, xd, x, *none, net.w_desc, net.w, yd, y, state, hy, state, None, *scratch
    )
    found, starts = env.host(y), np.cumsum([0, *batches])
    for i, length in enumerate(lengths):
        own = np.stack([rows[t][i] for t in range(length)])[:, None]
        zero = np.zeros((LAYERS, 1, HIDDEN))
        want, last, _ = net.numpy(own, zero, zero)
        close(np.stack([found[starts[t] + i] for t in range(length)]), want[:, 0])
        close(env.host(hy)[:, i], last[:, 0])


LAYOUTS = (
    miopen.miopenRNNDataSeqMajorNotPadded,
    miopen.miopenRNNDataSeqMajorPadded,
    miopen.miopenRNNDataBatchMajorPadded,
)


def sequences(layout, features, longest, lengths):
    made = miopen.miopenCreateSeqTensorDescriptor()
    miopen.miopenSetRNNDataSeqTensorDescriptor(made, F, layout, longest, len(lengths), features, lengths, None)
    assert miopen.miopenGetRNNDataSeqTensorDescriptor(made, 9) == (
        F,
        layout,
        longest,
        len(lengths),
        features,
        tuple(lengths),
        None,
    )
    return made


def lay(layout, values, lengths):
    """Return (steps, batch, features) as a layout has it, and which of its numbers count."""
    mask = np.zeros(values.shape, bool)
    for i, length in enumerate(lengths):
        mask[:length, i] = True
    if layout == miopen.miopenRNNDataSeqMajorNotPadded:
        rows = [values[t, i] for t in range(len(values)) for i, length in enumerate(lengths) if length > t]
        return np.stack(rows), np.ones((len(rows), values.shape[-1]), bool)
    if layout == miopen.miopenRNNDataBatchMajorPadded:
        return values.transpose(1, 0, 2), mask.transpose(1, 0, 2)
    return values, mask


@every_backend()
def test_every_steps_descriptor_is_looked_at(env):
    """What was found of all steps at once holds until one of them is another object or says something else."""
    net = Net(env, "gru", layers=1)
    x, hx = env.random(6, FEATURES), env.random(1, 2, HIDDEN)
    state, hx_dev, x_dev = env.desc(*hx.shape), env.dev(hx), env.dev(x)
    steps = [[env.desc(2, features) for _ in range(3)] for features in (FEATURES, HIDDEN)]

    def forward(batches, xs, ys):
        out, rows = env.out(sum(batches), HIDDEN)[1], x_dev[: sum(batches)]
        work = env.bytes(miopen.miopenGetRNNWorkspaceSize(env.h, net.rnn, 3, xs))
        given = (env.h, net.rnn, 3, xs, rows, state, hx_dev, None, None, net.w_desc, net.w, ys, out)
        miopen.miopenRNNForwardInference(*given, None, None, None, None, *work)
        return env.host(out)

    for batches in ((2, 2, 2), (2, 2, 1), (2, 2, 2), (2, 1, 1)):
        for number, n in enumerate(batches[1:], 1):  # never the first, which keeps what was found
            for descs, features in zip(steps, (FEATURES, HIDDEN), strict=True):
                miopen.miopenSetTensorDescriptor(descs[number], F, 2, (n, features), None)
        results = [forward(batches, *steps) for _ in range(2)]
        for sequence, length in enumerate(sum(n > s for n in batches) for s in range(2)):
            places = [sum(batches[:t]) + sequence for t in range(length)]
            own = hx[:, sequence : sequence + 1]
            y = net.numpy(x[places][:, None], own, own)[0]
            for result in results:
                close(result[places][:, None], y)
        right, steps[0][1] = steps[0][1], env.desc(1, FEATURES + 1)
        with pytest.raises(dnn.BadParam, match="steps of the same features"):
            forward(batches, *steps)
        steps[0][1] = right
    miopen.miopenDestroyTensorDescriptor(steps[0][2])
    with pytest.raises(dnn.BadParam, match=r"xDesc\[2\].*destroyed"):
        forward(batches, *steps)


@pytest.mark.parametrize("lengths", [(3, 3), (3, 1), (2, 1), (1, 3), (1, 2), (2, 0), (0, 2)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_batches_of_sequences(env, layout, lengths):
    if layout == miopen.miopenRNNDataSeqMajorNotPadded and lengths[0] < lengths[1]:
        with pytest.raises(dnn.BadParam, match="sorted lengths"):
            sequences(layout, FEATURES, 3, lengths)
        return
    net, h = Net(env, "lstm", directions=2, bias=False), env.h
    x, dy = env.random(3, 2, FEATURES), env.random(3, 2, net.width)
    hx, cx, dhy, dcy = (env.random(2 * LAYERS, 2, HIDDEN) for _ in range(4))
    xd, yd = sequences(layout, FEATURES, 3, lengths), sequences(layout, net.width, 3, lengths)
    state = env.desc(*hx.shape)
    work, reserve = miopen.miopenGetRNNTempSpaceSizes(h, net.rnn, xd, miopen.miopenRNNTraining)
    assert miopen.miopenGetRNNTempSpaceSizes(h, net.rnn, xd, miopen.miopenRNNInference) == (work, 0)
    scratch, kept = env.bytes(work), env.bytes(reserve)
    laid, _ = lay(layout, x, lengths)
    change, mask = lay(layout, dy, lengths)
    dev = {
        name: env.dev(v) for name, v in {"x": laid, "dy": change, "hx": hx, "cx": cx, "dhy": dhy, "dcy": dcy}.items()
    }
    y, dx = env.out(*change.shape)[1], env.out(*laid.shape)[1]
    hy, cy, dhx, dcx = (env.out(*hx.shape)[1] for _ in range(4))
    states = (state, dev["hx"], hy, state, dev["cx"], cy)
    for mode in (miopen.miopenRNNInference, miopen.miopenRNNTraining):
        end = kept if mode == miopen.miopenRNNTraining else (None, 0)
        miopen.miopenRNNForward(h, net.rnn, mode, xd, dev["x"], *states, yd, y, net.w, net.size, *scratch, *end)
    gradients = (state, dev["hx"], dev["dhy"], dhx, state, dev["cx"], dev["dcy"], dcx, xd, dx)
    miopen.miopenRNNBackwardSeqData(h, net.rnn, yd, y, dev["dy"], *gradients, net.w, net.size, *scratch, *kept)
    dw = env.dev(np.zeros(net.size // 4, np.float32))
    miopen.miopenRNNBackwardWeightsSeqTensor(
        h, net.rnn, xd, dev["x"], state, dev["hx"], yd, y, dw, net.size, *scratch, *kept
    )

    want, last = np.zeros((3, 2, net.width)), np.zeros(hx.shape)
    slope = np.zeros(x.shape)
    for i, length in enumerate(lengths):
        if not length:
            continue
        one = (x[:length, i : i + 1], hx[:, i : i + 1], cx[:, i : i + 1])
        loss = (dy[:length, i : i + 1], dhy[:, i : i + 1], dcy[:, i : i + 1])
        out = net.numpy(*one)
        want[:length, i], last[:, i] = out[0][:, 0], out[1][:, 0]
        slope[:length, i] = gradient(lambda v, one=one: net.numpy(v, *one[1:]), one[0], loss)[:, 0]
    expected = lay(layout, want, lengths)[0]
    close(np.where(mask, env.host(y), 0), np.where(mask, expected, 0))
    assert not env.host(y)[~mask].any()  # padding
    close(env.host(hy), last)
    close(env.host(dx), lay(layout, slope, lengths)[0], atol=2e-5)
    for i, length in enumerate(lengths):  # states are in the caller's order
        if not length:
            assert not env.host(dhx)[:, i].any() and not env.host(dcx)[:, i].any()
            continue
        one = (x[:length, i : i + 1], hx[:, i : i + 1], cx[:, i : i + 1])
        loss = (dy[:length, i : i + 1], dhy[:, i : i + 1], dcy[:, i : i + 1])
        close(
            env.host(dhx)[:, i],
            gradient(lambda v, one=one: net.numpy(one[0], v, one[2]), one[1], loss)[:, 0],
            atol=2e-5,
        )
    assert all(part.any() for part in net.parts(dw).values())


@every_backend()
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sequences_without_steps(env, layout):
    net, h = Net(env, "gru"), env.h
    xd, yd = sequences(layout, FEATURES, 3, (0, 0)), sequences(layout, net.width, 3, (0, 0))
    assert miopen.miopenGetRNNTempSpaceSizes(h, net.rnn, xd, miopen.miopenRNNTraining) == (0, 0)
    state, hx = env.pair(env.random(LAYERS, 2, HIDDEN))
    hy, y, x = env.out(LAYERS, 2, HIDDEN)[1], env.out(3, 2, net.width)[1], env.dev(env.random(3, 2, FEATURES))
    states = (state, hx, hy, state, None, None)
    end = (net.w, net.size, None, 0, None, 0)
    miopen.miopenRNNForward(h, net.rnn, miopen.miopenRNNTraining, xd, x, *states, yd, y, *end)
    assert not env.host(hy).any()
    assert np.isnan(env.host(y)).all() if layout == LAYOUTS[0] else not env.host(y).any()


@pytest.mark.parametrize("marker", [0.0, np.float32(-1.5), np.array([2.0], np.float32), float("nan")])
def test_the_padding_marker_is_kept(env, marker):
    """MIOpen stores it and gives it back; its passes do not look at it."""
    made = miopen.miopenCreateSeqTensorDescriptor()
    miopen.miopenSetRNNDataSeqTensorDescriptor(made, F, LAYOUTS[1], 3, 2, FEATURES, (3, 1), marker)
    found = miopen.miopenGetRNNDataSeqTensorDescriptor(made, 2)
    np.testing.assert_equal(found[-1], float(np.asarray(marker).ravel()[0]))
    with pytest.raises(dnn.BadParam, match="paddingMarker"):
        miopen.miopenSetRNNDataSeqTensorDescriptor(made, F, LAYOUTS[1], 3, 2, FEATURES, (3, 1), "0")


@every_backend()
def test_dropout_between_layers(env):
    dropout = miopen.miopenCreateDropoutDescriptor()
    states, size = env.bytes(miopen.miopenDropoutGetStatesSize(env.h))
    options = (False, False, miopen.MIOPEN_RNG_PSEUDO_XORWOW)
    miopen.miopenSetDropoutDescriptor(dropout, env.h, 0.5, states, size, 3, *options)
    net = Net(env, "tanh", dropout=dropout)
    (x, hx, cx), _, found = train(net)
    close(found["inferred"], net.numpy(x, hx, cx)[0])  # inference drops nothing
    assert np.abs(found["y"] - found["inferred"]).max() > 1e-3
    assert miopen.miopenGetRNNDescriptor_V2(net.rnn)[2] is dropout


@every_backend()
def test_descriptors(env):
    rnn = miopen.miopenCreateRNNDescriptor()
    modes = (miopen.miopenRNNskip, miopen.miopenRNNbidirection, miopen.miopenGRU, miopen.miopenRNNNoBias)
    miopen.miopenSetRNNDescriptor(rnn, 5, 2, *modes, miopen.miopenRNNfundamental, F)
    assert miopen.miopenGetRNNDescriptor(rnn) == (
        modes[2],
        miopen.miopenRNNfundamental,
        modes[0],
        modes[1],
        modes[3],
        5,
        2,
    )
    assert miopen.miopenGetRNNDescriptor_V2(rnn) == (5, 2, None, *modes, miopen.miopenRNNfundamental, F)
    miopen.miopenSetRNNPaddingMode(rnn, miopen.miopenRNNIOWithPadding)
    assert miopen.miopenGetRNNPaddingMode(rnn) is miopen.miopenRNNIOWithPadding
    assert miopen.miopenGetRNNInputTensorSize(env.h, rnn, 2, [env.desc(2, 5), env.desc(1, 5)]) == 4 * 4 * 5
