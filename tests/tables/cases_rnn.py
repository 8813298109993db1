"""Cases of recurrent networks: cells, directions, layers, input modes, lengths, states and types in turn."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from cases import TYPES
from helper import Case

from portadnn.ops.rnn.layout import DirectionMode, RNNBiasMode, RNNInputMode, RNNMode
from portadnn.ops.rnn.problems import network_of
from portadnn.problem import TensorSpec, parse
from portadnn_backends.reference.outcomes import outcomes

MODES = tuple(RNNMode)
# (steps, batch) or the batch sizes of the steps; features; hidden; layers
SHAPES = (
    ((4, 3), 5, 6, 2),
    ([3, 2, 2, 1], 3, 17, 1),
    ((1, 1), 1, 1, 1),
    ([5, 5, 1], 7, 4, 3),
    ((3, 9), 4, 33, 1),
    ((2, 1), 6, 70, 2),
)
_STATES = ("hx", "cx", "hy", "cy", "dhy", "dcy", "dhx", "dcx")


def words(
    mode, dtype, shape, *, both=False, skip=False, states=True, dropout=0.0, bias=RNNBiasMode.DOUBLE_BIAS, proj=0
):
    """Return a pass's words by name: tensors of the given shape, and parameters."""
    lengths, features, hidden, layers = shape
    features = hidden if skip else features
    found = {"hidden_size": hidden, "num_layers": layers, "mode": mode, "bias_mode": bias, "proj_size": proj}
    found["direction"] = DirectionMode.BIDIRECTIONAL if both else DirectionMode.UNIDIRECTIONAL
    found["input_mode"] = RNNInputMode.SKIP_INPUT if skip else RNNInputMode.LINEAR_INPUT
    network = network_of(type("Parameters", (), found), features)
    if dropout:
        found["dropout"] = dropout
    if isinstance(lengths, list):
        found["batch_sizes"] = tuple(lengths)
        batch, wide = lengths[0], lambda numbers: (sum(lengths), numbers, 1)
    else:
        batch, wide = lengths[1], lambda numbers: (*lengths, numbers)
    dims = {name: wide(features) for name in ("x", "dx")} | {name: wide(network.width) for name in ("y", "dy")}
    dims |= dict.fromkeys(("w", "dw"), (network.size, 1, 1))
    if states:
        cells = mode is RNNMode.LSTM
        numbers = {name: hidden if "c" in name else network.output for name in _STATES if cells or "c" not in name}
        dims |= {name: (layers * network.directions, batch, size) for name, size in numbers.items()}
    return found | {name: TensorSpec.packed(dtype, sizes) for name, sizes in dims.items()}


def line(kind, found):
    """Return the line of a pass with those of the words that it has."""
    values = {f.name: found[f.name] for f in fields(kind) if f.name in found}
    kind.complete(values)
    problem = kind(**values)
    assert parse(str(problem)) == problem
    return str(problem)


def cases(kind, count):
    """Return that many cases: cells, shapes, types and options in turns of different lengths."""
    found = []
    for n in range(count):
        turn = n + n // len(MODES)  # each cell meets every other option
        mode, shape, dtype = MODES[n % 4], SHAPES[5 * turn % len(SHAPES)], TYPES[turn % 4]
        dropout = 0.4 if shape[3] > 1 and n % 3 != 1 and "inference" not in kind.op else 0.0
        bias = RNNBiasMode((2, 2, 1, 2, 3, 2, 0)[n % 7])
        options = {"bias": bias, "both": turn % 3 != 1, "skip": n % 5 == 2, "states": n % 3 != 2, "dropout": dropout}
        given = words(mode, dtype, shape, **options)
        if mode is RNNMode.LSTM and n % 8 == 4:
            given |= {"clip_min": -0.3, "clip_max": 0.2}
        found.append(Case(line(kind, given), everywhere=n % 3 > 0))
    return found


def projected(kind):
    """Return cases of LSTMs whose hidden states are projected: shapes, types, directions and clipped cells in turn."""
    found = []
    for n, (shape, proj) in enumerate(zip((SHAPES[0], SHAPES[1], SHAPES[3], SHAPES[5]), (4, 5, 1, 33), strict=True)):
        dropout = 0.4 if n == 0 and "inference" not in kind.op else 0.0
        given = words(
            RNNMode.LSTM, TYPES[n], shape, both=n % 2 == 0, states=n != 3, dropout=dropout, skip=n == 2, proj=proj
        )
        if n == 1:
            given |= {"clip_min": -0.3, "clip_max": 0.2}
        found.append(Case(line(kind, given), everywhere=n in (0, 3)))
    return found


def contents(problem, stored):
    """Return the numbers of a reserve space that mean something, by section."""
    from portadnn_backends.reference.definitions.rnn import Kept

    kept, network = Kept(problem, np.asarray(stored)), problem.network
    found = {}
    for layer in range(network.layers):
        if network.mode.gates > 1 or problem.op == "rnn_backward_data":
            found[f"gates {layer}"] = kept.gates(layer)
        if network.mode is RNNMode.LSTM:
            found[f"cells {layer}"] = kept.cells(layer)
        if network.proj:
            found[f"unprojected {layer}"] = kept.unprojected(layer)
            if problem.op == "rnn_backward_data":
                found[f"gradient {layer}"] = kept.gradient(layer)
        if layer < network.layers - 1:
            found[f"hidden {layer}"] = kept.hidden(layer)
            found[f"dropped {layer}"] = kept.dropped(layer)
    return found


def without_reserve(problem, tensors, scalars):
    """The oracle for what is compared number by number; :func:`contents` are compared apart."""
    return {name: v for name, v in outcomes(problem, tensors, scalars).items() if name != "reserve"}
