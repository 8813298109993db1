"""The forward pass that a recurrent network's gradient belongs to."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ..enums import DataType
from ..ops.dropout import STATES_SIZE
from ..ops.rnn.layout import RNNMode
from ..ops.rnn.problems import RNNForwardTraining
from ..problem import TensorSpec


def forward_of(problem: Any) -> RNNForwardTraining:
    """Return the training pass whose results a gradient's problem reads; states and weights are packed."""
    names = [f.name for f in fields(RNNForwardTraining) if f.name not in RNNForwardTraining.outputs]
    values: dict[str, Any] = {name: getattr(problem, name, None) for name in names}
    dtype, network = problem.dtype, problem.network
    values["x"] = problem.data
    values["w"] = TensorSpec.packed(dtype, (network.size, 1, 1))
    values["y"] = problem.y
    values["reserve"] = problem.reserve
    if problem.kept.dropout:
        values["states"] = TensorSpec(DataType.UINT8, (STATES_SIZE,), (1,))
    state = TensorSpec.packed(dtype, (network.layers * network.directions, problem.sequence.batch, network.hidden))
    if problem.op == "rnn_backward_weights" and problem.hx is not None and problem.mode is RNNMode.LSTM:
        values["cx"] = state
    return RNNForwardTraining(**values)
