"""The definition of dropout in NumPy (guide sections 4.115 to 4.117)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from portadnn.ops.dropout import STATES_SIZE, DropoutBackward, DropoutForward, SetDropoutDescriptor
from portadnn.problem import Problem

from ...philox import keep_mask
from ..definition import Array, Arrays, Definition, Numbers


def _states(seed: int, draw: int) -> Array:
    """Return states as bytes: two numbers of 64 bits, and zeros."""
    return np.array([seed, draw % 2**64, 0, 0], "<u8").view(np.uint8).astype(np.float64)


def _scaled(x: Array, keep: npt.NDArray[Any], problem: DropoutForward | DropoutBackward) -> Array:
    scale = 0.0 if problem.dropout == 1 else 1 / (1 - problem.dropout)
    return np.where(keep.reshape(x.shape) != 0, x * scale, 0.0)


def _set(problem: SetDropoutDescriptor, numbers: Numbers, tensors: Arrays) -> Arrays:
    states = tensors["states"].copy()
    states[:STATES_SIZE] = _states(problem.seed, 0)
    return {"states": states}


def _forward(problem: DropoutForward, numbers: Numbers, tensors: Arrays) -> Arrays:
    x, mask, states = tensors["x"], tensors["reserve_space"].copy(), tensors["states"].copy()
    seed, draw = (int(word) for word in states[:16].astype(np.uint8).view("<u8"))
    keep = keep_mask(x.size, problem.dropout, seed, draw)
    if x.size:
        states[:STATES_SIZE] = _states(seed, draw + 1)
        bits = np.zeros(-(-x.size // 32) * 32, np.uint8)
        bits[: x.size] = keep
        mask[: bits.size // 8] = np.packbits(bits, bitorder="little")
    return {"y": _scaled(x, keep, problem), "reserve_space": mask, "states": states}


def _backward(problem: DropoutBackward, numbers: Numbers, tensors: Arrays) -> Arrays:
    dy = tensors["dy"]
    bits = np.unpackbits(tensors["reserve_space"].astype(np.uint8), bitorder="little")
    return {"dx": _scaled(dy, bits[: dy.size], problem)}


def _terms(problem: Problem, numbers: Numbers, tensors: Arrays) -> Arrays:
    """Return the results' sizes: each is one product."""
    values = DEFINITIONS[type(problem)].values(problem, numbers, tensors)
    return {name: np.abs(value) for name, value in values.items() if name in ("y", "dx")}


DEFINITIONS: dict[type[Problem], Definition] = {
    SetDropoutDescriptor: Definition(_set, _terms),
    DropoutForward: Definition(_forward, _terms),
    DropoutBackward: Definition(_backward, _terms),
}
