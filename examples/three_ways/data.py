"""What the programs start from: the same seeded numbers for all forms, as host arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]

# LeNet: (n, c, h, w) images, (k, c, r, s) filters with their padding; two are convolutions, two fully connected
BATCH, SIDE, CLASSES, STEPS = 4, 16, 10, 3
FILTERS = ((6, 1, 5, 5), (16, 6, 5, 5), (32, 16, 4, 4), (CLASSES, 32, 1, 1))
PADDING = (2, 2, 0, 0)
LEARNING_RATE, MOMENTUM = 0.5, 0.75

# The recurrent network: two layers, both directions
SEQUENCE, SEQUENCES, FEATURES, HIDDEN, LAYERS, DIRECTIONS, GATES = 5, 3, 4, 6, 2, 2, 4

# The residual block
BLOCK, BLOCK_STEPS, AVERAGING, EPSILON = (3, 8, 7, 7), 2, 0.25, 1e-3


def _normal(rng: np.random.Generator, dims: tuple[int, ...], scale: float = 1.0) -> Array:
    return (scale * rng.standard_normal(dims)).astype(np.float32)


def lenet_batches() -> list[tuple[Array, Array]]:
    """Return (images, targets) for each step: (n, 1, h, w), and (n, classes, 1, 1) with a one for the class."""
    rng = np.random.default_rng(1)
    batches = []
    for _ in range(STEPS):
        targets = np.eye(CLASSES, dtype=np.float32)[rng.integers(0, CLASSES, BATCH)]
        batches.append((_normal(rng, (BATCH, 1, SIDE, SIDE)), targets[:, :, None, None]))
    return batches


def lenet_filters() -> list[tuple[Array, Array]]:
    """Return each layer's filter (k, c, r, s) and bias (1, k, 1, 1)."""
    rng = np.random.default_rng(2)
    return [
        (_normal(rng, dims, (2 / np.prod(dims[1:])) ** 0.5), _normal(rng, (1, dims[0], 1, 1), 0.1)) for dims in FILTERS
    ]


def lstm_tensors() -> dict[str, Array]:
    """Return x and dy, (steps, batch, features), and the states and their gradients, (layers * 2, batch, hidden)."""
    rng = np.random.default_rng(3)
    states = (LAYERS * DIRECTIONS, SEQUENCES, HIDDEN)
    return {
        "x": _normal(rng, (SEQUENCE, SEQUENCES, FEATURES)),
        "dy": _normal(rng, (SEQUENCE, SEQUENCES, DIRECTIONS * HIDDEN)),
        **{name: _normal(rng, states) for name in ("hx", "cx", "dhy", "dcy")},
    }


def lstm_parameters() -> dict[tuple[int, int], tuple[Array, Array]]:
    """Return the matrix (hidden, columns) and the bias (hidden,) by pseudo-layer and cuDNN's number of the matrix.

    Numbers 0 to 3 multiply the layer's input, 4 to 7 its hidden state: input gate, forget gate, new memory and output
    gate. Pseudo-layer 2 * layer + direction.
    """
    rng = np.random.default_rng(4)
    found = {}
    for pseudo_layer in range(LAYERS * DIRECTIONS):
        inputs = FEATURES if pseudo_layer < DIRECTIONS else DIRECTIONS * HIDDEN
        for number in range(2 * GATES):
            columns = inputs if number < GATES else HIDDEN
            found[pseudo_layer, number] = _normal(rng, (HIDDEN, columns), 0.5), _normal(rng, (HIDDEN,), 0.5)
    return found


def residual_tensors() -> dict[str, Array]:
    """Return x, dy, the filters w1 and w2, and scale and bias of both normalisations."""
    rng = np.random.default_rng(5)
    channels = BLOCK[1]
    parameters = (1, channels, 1, 1)
    return {
        "x": _normal(rng, BLOCK),
        "dy": _normal(rng, BLOCK),
        **{name: _normal(rng, (channels, channels, 3, 3), 0.2) for name in ("w1", "w2")},
        **{name: _normal(rng, parameters) for name in ("scale1", "bias1", "scale2", "bias2")},
    }
