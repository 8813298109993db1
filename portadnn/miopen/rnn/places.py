"""Where MIOpen keeps a recurrent network's parameters, beside where portadnn does (MIOpen 3.6, src/rnn.cpp).

Of each layer MIOpen has the input's matrices of both directions, then the hidden state's of both; behind the matrices
of all layers the biases in the same order. Gates stand as its paramID numbers them: LSTM input, forget, output, new
memory; GRU update, reset, new memory.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ...enums import DataType
from ...ops.rnn.layout import Network, RNNMode
from ...problem import TensorSpec

# gates that are neighbours in both orders: MIOpen's first, portadnn's first, how many
_RUNS = {RNNMode.LSTM: ((0, 0, 2), (2, 3, 1), (3, 2, 1)), RNNMode.GRU: ((0, 1, 1), (1, 0, 1), (2, 2, 1))}


def matrix(network: Network, layer: int, direction: int, recurrent: bool) -> int:
    """Return where MIOpen has W or R of all gates."""
    rows = network.mode.gates * network.hidden
    inputs = network.inputs(layer)
    first = network.matrix(layer, 0, False)
    if not recurrent:
        return first + direction * rows * inputs
    return first + rows * (network.directions * inputs + direction * network.hidden)


def bias(network: Network, layer: int, direction: int, recurrent: bool) -> int:
    """Return where MIOpen has the bias of W or R of all gates."""
    number = (2 * layer + recurrent) * network.directions + direction
    return network.bias(0, 0, False) + number * network.mode.gates * network.hidden


@dataclass(frozen=True)
class Piece:
    """Parameters that are copied at once: dims, and both places' first element and strides."""

    dims: tuple[int, ...]
    theirs: tuple[int, tuple[int, ...]]
    ours: tuple[int, tuple[int, ...]]

    def specs(self, dtype: DataType) -> tuple[tuple[TensorSpec, int], tuple[TensorSpec, int]]:
        """Return spec and first element in MIOpen's parameters and in portadnn's."""
        return tuple((TensorSpec(dtype, self.dims, strides), first) for first, strides in (self.theirs, self.ours))  # type: ignore[return-value]


@functools.lru_cache(256)
def pieces(network: Network) -> tuple[Piece, ...]:
    """Return what lies where; () where both have the same order."""
    if network.directions == 1 and network.mode not in _RUNS:
        return ()
    runs = _RUNS.get(network.mode, ((0, 0, network.mode.gates),))
    found = []
    for layer in range(network.layers):
        for recurrent in (False, True):
            columns = network.hidden if recurrent else network.inputs(layer)
            if columns:
                found += [_matrices(network, layer, recurrent, columns, run) for run in runs]
    if network.bias_mode.count:
        found += [_biases(network, run) for run in runs]
    return tuple(found)


def _matrices(network: Network, layer: int, recurrent: bool, columns: int, run: tuple[int, int, int]) -> Piece:
    """Return a run of gates of W or R, of both directions."""
    theirs, ours, gates = run
    gate = network.hidden * columns
    between = network.matrix(layer, 1, False) - network.matrix(layer, 0, False)
    first = matrix(network, layer, 0, recurrent), network.matrix(layer, 0, recurrent)
    return Piece(
        (network.directions, gates * gate, 1),
        (first[0] + theirs * gate, (network.mode.gates * gate, 1, 1)),
        (first[1] + ours * gate, (between, 1, 1)),
    )


def _biases(network: Network, run: tuple[int, int, int]) -> Piece:
    """Return a run of gates of all biases: [layer][direction][of W, of R][gate * hidden]."""
    theirs, ours, gates = run
    first, rows, both = network.bias(0, 0, False), network.mode.gates * network.hidden, network.directions
    return Piece(
        (network.layers, both, 2, gates * network.hidden),
        (first + theirs * network.hidden, (2 * both * rows, rows, both * rows, 1)),
        (first + ours * network.hidden, (2 * both * rows, 2 * rows, rows, 1)),
    )
