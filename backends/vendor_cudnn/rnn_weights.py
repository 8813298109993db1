"""Where cuDNN keeps each part of a recurrent network's parameters, beside where portadnn does."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from portadnn.ops.rnn.layout import Network

from .library import Descriptor, Library

BASE = 1 << 20  # an address that nothing reads: cuDNN only adds to it


@dataclass(frozen=True)
class Piece:
    """Elements that lie together: from where in portadnn's parameters, from where in cuDNN's, and how many."""

    ours: int
    theirs: int
    count: int


def _asked(library: Library, handle: Any, rnn: Any, size: int, layer: int, gate: int) -> tuple[int | None, ...]:
    """Return the byte offsets of the matrix and the bias of one pseudo-layer and gate; None for one that is not."""
    shapes = [Descriptor(library, "Tensor") for _ in range(2)]
    places = [ctypes.c_void_p() for _ in range(2)]
    outs = [word for shape, place in zip(shapes, places, strict=True) for word in (shape.pointer, ctypes.byref(place))]
    library.call("cudnnGetRNNWeightParams", handle, rnn, layer, size, BASE, gate, *outs)
    return tuple(None if place.value is None else place.value - BASE for place in places)


def pieces(library: Library, handle: Any, rnn: Any, size: int, network: Network, itemsize: int) -> tuple[Piece, ...]:
    """Return what lies where, neighbours joined.

    Parameters
    ----------
    rnn
        The network's descriptor in cuDNN.
    size
        Bytes of cuDNN's weight space.
    """
    found = []
    hidden, gates = network.hidden, network.mode.gates
    for pseudo in range(network.layers * network.directions):
        layer, direction = divmod(pseudo, network.directions)
        for lin in range(2 * gates):
            recurrent, gate = divmod(lin, gates)
            matrix, bias = _asked(library, handle, rnn, size, pseudo, lin)
            columns = network.output if recurrent else network.inputs(layer)
            ours = network.matrix(layer, direction, bool(recurrent)) + gate * hidden * columns
            if matrix is not None and columns:
                found.append(Piece(ours, matrix // itemsize, hidden * columns))
            ours = network.bias(layer, direction, bool(recurrent)) + gate * hidden
            if bias is not None:
                found.append(Piece(ours, bias // itemsize, hidden))
        if network.proj:
            matrix, _ = _asked(library, handle, rnn, size, pseudo, 2 * gates)
            if matrix is not None:
                found.append(Piece(network.projection(layer, direction), matrix // itemsize, network.proj * hidden))
    return _joined(sorted(found, key=lambda piece: piece.ours))


def _joined(found: list[Piece]) -> tuple[Piece, ...]:
    joined: list[Piece] = []
    for piece in found:
        last = joined[-1] if joined else None
        if last and (last.ours + last.count, last.theirs + last.count) == (piece.ours, piece.theirs):
            joined[-1] = Piece(last.ours, last.theirs, last.count + piece.count)
        else:
            joined.append(piece)
    return tuple(joined)
