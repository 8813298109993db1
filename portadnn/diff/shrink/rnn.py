"""Changing a recurrent network's problem: every tensor follows from a few sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ...enums import DataType
from ...ops.dropout import STATES_SIZE
from ...ops.rnn.layout import RNNInputMode, RNNMode
from ...ops.rnn.problems import RNN, drops, network_of
from ...problem import TensorSpec


def sizes(problem: RNN) -> dict[str, int]:
    """Return the sizes that no field has: of steps, of sequences in the first one, and of features."""
    batches = problem.sequence.batches
    return {"steps": len(batches), "batch": batches[0], "features": problem.network.features}


def rnn_with(problem: RNN, changes: Mapping[str, Any]) -> RNN:
    """Return a network's problem with other fields or sizes, not yet validated.

    Parameters
    ----------
    changes
        By field, or by one of the names of `sizes`. None leaves a state out. Types and alignments stay, dims follow.
    """
    values = {f.name: getattr(problem, f.name) for f in fields(problem)}
    values.update({name: value for name, value in changes.items() if name in values})
    wanted = {**sizes(problem), **changes}
    batches = tuple(min(size, wanted["batch"]) for size in problem.sequence.batches[: wanted["steps"]])
    if changes.get("batch_sizes", problem.batch_sizes):
        values["batch_sizes"] = batches
    if values["input_mode"] is RNNInputMode.SKIP_INPUT:
        wanted["features"] = values["hidden_size"]
    if values["mode"] is not RNNMode.LSTM or values["proj_size"] >= values["hidden_size"]:
        values["proj_size"] = 0
    shaped = type("Shaped", (), values)
    network = network_of(shaped, wanted["features"])
    for name in problem.tensor_names():
        spec = values[name]
        if spec is None or name in problem.raw:
            continue
        if name in ("w", "dw"):
            dims: tuple[int, ...] = (network.size, 1, 1)
        elif name in ("x", "dx", "y", "dy"):
            columns = wanted["features"] if "x" in name else network.width
            dims = (sum(batches), columns, 1) if values["batch_sizes"] else (len(batches), batches[0], columns)
        else:
            numbers = network.hidden if "c" in name else network.output
            dims = (network.layers * network.directions, batches[0], numbers)
        values[name] = TensorSpec(spec.dtype, dims, TensorSpec.packed(spec.dtype, dims).strides, spec.alignment)
        if values["mode"] is not RNNMode.LSTM and name.lstrip("d") in ("cx", "cy"):
            values[name] = None
    values.pop("reserve", None)
    if "states" in values:
        needed = drops(values["dropout"], values["num_layers"])
        values["states"] = TensorSpec(DataType.UINT8, (STATES_SIZE,), (1,)) if needed else None
    type(problem).complete(values)
    return type(problem)(**values)
