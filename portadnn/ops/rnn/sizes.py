"""Recurrent networks: sizes and the places of parameters (guide sections 4.102 to 4.106)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from ...arguments import as_integer, as_items
from ...descriptors import FilterDescriptor, TensorDescriptor, data_type_of, logical_dims
from ...dispatch.arrays import spec_of, wrapped_one
from ...dispatch.choice import workspace_size
from ...dispatch.problems import check_handle, make_problem, raw_size
from ...enums import DataType
from ...errors import BadParam, public
from ...handle import Handle
from ...problem import TensorSpec
from ..dropout import STATES_SIZE
from .calls import BatchSizes, checked_batches, checked_rnn
from .descriptor import RNNDescriptor
from .layout import Network, Reserve, RNNInputMode
from .problems import (
    RNN,
    RNNBackwardData,
    RNNBackwardWeights,
    RNNForwardInference,
    RNNForwardTraining,
    drops,
    network_of,
)

__all__ = [
    "get_rnn_lin_layer_bias_params",
    "get_rnn_lin_layer_matrix_params",
    "get_rnn_params_size",
    "get_rnn_training_reserve_size",
    "get_rnn_workspace_size",
]

Step = TensorDescriptor | Sequence[int]


def network_of_step(rnn: RNNDescriptor, x: Step) -> Network:
    """Return a network whose input has the features of a step."""
    dims = logical_dims(x, "x", TensorDescriptor)
    if len(dims) != 3 or dims[2] != 1 or dims[1] < 1:
        raise BadParam(argument="x.dims", expected="(n, features, 1), the dims of one step", got=dims)
    network = network_of(rnn, dims[1])
    if rnn.input_mode is RNNInputMode.SKIP_INPUT and network.features != network.hidden:
        expected = f"{network.hidden} features, the hidden size, because input_mode is SKIP_INPUT"
        raise BadParam(argument="x.dims", expected=expected, got=dims)
    return network


@public
def get_rnn_params_size(
    handle: Handle, rnn: RNNDescriptor, x: Step, dtype: npt.DTypeLike | DataType | None = None
) -> int:
    """Return the bytes of a network's parameters (guide section 4.104).

    Parameters
    ----------
    handle
        Any handle.
    rnn
        The network.
    x
        One step of the input: a tensor of dims (n, features, 1), its TensorDescriptor, or such dims.
    dtype
        Type of the parameters; None takes that of `x`, or float32.

    Raises
    ------
    BadParam
        `x` is no step, or its features do not fit SKIP_INPUT, or its type differs from `dtype`.
    """
    check_handle(handle)
    own = data_type_of(x, "x")
    wanted = (own or DataType.FLOAT) if dtype is None else DataType.of(dtype)
    if own not in (None, wanted):
        raise BadParam(argument="dtype", expected=f"{own} as x", got=wanted)
    return network_of_step(checked_rnn(rnn), x).size * wanted.itemsize


def _sizing_problem(
    handle: Handle, kind: type[RNN], rnn: RNNDescriptor, x: TensorSpec, batch_sizes: tuple[int, ...]
) -> RNN:
    """Return the pass over an input of that spec, with everything that could be left out."""
    if len(x.dims) != 3:
        raise BadParam(argument="x.dims", expected="3 dims", got=x.dims)
    network = network_of(rnn, max(x.dims[1 if batch_sizes else 2], 1))
    batch = batch_sizes[0] if batch_sizes else x.dims[1]
    state, cells = (
        TensorSpec.packed(x.dtype, (network.layers * network.directions, batch, numbers))
        for numbers in (network.output, network.hidden)
    )
    wide = (x.dims[0], network.width, 1) if batch_sizes else (*x.dims[:2], network.width)
    known: dict[str, TensorSpec | None] = {
        **dict.fromkeys(("x", "dx"), x),
        **dict.fromkeys(("y", "dy"), TensorSpec.packed(x.dtype, wide)),
        **dict.fromkeys(("w", "dw"), TensorSpec.packed(x.dtype, (network.size, 1, 1))),
    }
    rows = x.dims[0] if batch_sizes else x.dims[0] * batch
    dropping = rnn.dropout is not None and drops(rnn.dropout.dropout, rnn.num_layers)
    size = Reserve(network, rows, dropping).size * x.dtype.accumulator.itemsize
    known["reserve"] = TensorSpec.packed(DataType.UINT8, (size,))
    known["states"] = TensorSpec.packed(DataType.UINT8, (STATES_SIZE,)) if dropping else None
    lstm = network.mode.name == "LSTM"
    tensors = [known.get(name, state if "c" not in name else cells if lstm else None) for name in kind.tensor_names()]
    problem = make_problem(handle, kind, tensors, (rnn, batch_sizes))
    assert isinstance(problem, RNN)
    return problem


def _input(handle: Handle, x: Any, batch_sizes: BatchSizes) -> tuple[TensorSpec, tuple[int, ...]]:
    """Return the spec of the whole input, which may be given as the steps' descriptors, and the batch sizes."""
    batches = checked_batches(batch_sizes)
    if isinstance(x, TensorDescriptor):
        return x.spec, batches
    steps = as_items(x, "x", "a tensor, or the steps' descriptors") if isinstance(x, (list, tuple)) else ()
    if any(isinstance(step, TensorDescriptor) for step in steps):
        batches = checked_batches(steps)
        return TensorSpec.packed(steps[0].dtype, (sum(batches), *steps[0].dims[1:])), batches
    device = check_handle(handle).device
    return spec_of(device.signature(wrapped_one(device, x, "x")), "x"), batches


@public
def get_rnn_workspace_size(handle: Handle, rnn: RNNDescriptor, x: Any, *, batch_sizes: BatchSizes = None) -> int:
    """Return the bytes of workspace that suffice for every pass of a network (guide section 4.102).

    Parameters
    ----------
    handle
        Where the passes will run.
    rnn
        The network.
    x
        The input, or its TensorDescriptor, or the TensorDescriptors (n, features, 1) of its steps.
    batch_sizes
        As for the passes.

    Raises
    ------
    BadParam
        As the passes do.
    """
    kinds = (RNNForwardInference, RNNForwardTraining, RNNBackwardData, RNNBackwardWeights)
    checked_rnn(rnn)
    spec, batches = _input(handle, x, batch_sizes)
    return max(workspace_size(handle, _sizing_problem(handle, kind, rnn, spec, batches)) for kind in kinds)


@public
def get_rnn_training_reserve_size(handle: Handle, rnn: RNNDescriptor, x: Any, *, batch_sizes: BatchSizes = None) -> int:
    """Return the bytes of the reserve space of a network's training (guide section 4.103).

    Parameters and errors are those of :func:`get_rnn_workspace_size`.
    """
    checked_rnn(rnn)
    spec, batches = _input(handle, x, batch_sizes)
    problem = _sizing_problem(handle, RNNForwardTraining, rnn, spec, batches)
    return max(problem.kept.size * problem.dtype.accumulator.itemsize, raw_size(handle, problem, "reserve"))


def place_of_part(network: Network, layer: int, lin_layer_id: int, bias: bool) -> tuple[int, int, int]:
    """Return at which of the parameters a matrix or a bias begins, its rows, and its columns: none where there is none.

    Raises
    ------
    BadParam
        No such layer or matrix.
    """
    gates, hidden = network.mode.gates, network.hidden
    for name, value, count in (
        ("layer", layer, network.layers * network.directions),
        ("lin_layer_id", lin_layer_id, 2 * gates + (network.proj > 0)),
    ):
        if as_integer(value, name, 0) >= count:
            raise BadParam(argument=name, expected=f"0 to {count - 1}", got=value)
    own, direction = divmod(layer, network.directions)
    recurrent, gate = divmod(lin_layer_id, gates)
    if recurrent > 1:
        return (0, 0, 0) if bias else (network.projection(own, direction), network.proj, hidden)
    if bias and not network.has_bias(bool(recurrent)):
        return 0, 0, 0
    columns = 1 if bias else network.output if recurrent else network.inputs(own)
    place = network.bias if bias else network.matrix
    return place(own, direction, bool(recurrent)) + gate * hidden * columns, hidden, columns


def _part(handle: Handle, rnn: RNNDescriptor, layer: int, x: Step, w: Any, lin_layer_id: int, bias: bool) -> Any:
    network = network_of_step(checked_rnn(rnn), x)
    device = check_handle(handle).device
    first, rows, columns = place_of_part(network, layer, lin_layer_id, bias)
    if w is None:
        raise BadParam(argument="w", expected="a tensor", got=None)
    array = wrapped_one(device, w, "w")
    spec = spec_of(device.signature(array), "w")
    if spec.size != network.size or not spec.is_packed():
        raise BadParam(argument="w.dims", expected=f"{network.size} parameters, packed", got=str(spec))
    if not columns:
        return None
    return device.wrap(FilterDescriptor((1, rows, columns), spec.dtype).view(array, first), "w")


@public
def get_rnn_lin_layer_matrix_params(
    handle: Handle, rnn: RNNDescriptor, layer: int, x: Step, w: Any, lin_layer_id: int
) -> Any:
    """Return one matrix of a network's parameters (guide section 4.105).

    Parameters
    ----------
    handle
        Where `w` lives.
    rnn
        The network.
    layer
        The pseudo-layer: layer * directions + direction.
    x
        One step of the input: a TensorDescriptor of dims (n, features, 1), or such dims.
    w
        The parameters.
    lin_layer_id
        Which matrix. Plain cells: 0 multiplies the input, 1 the hidden state. LSTM: 0 and 4 input gate, 1 and 5 forget
        gate, 2 and 6 new memory, 3 and 7 output gate, 8 the projection of a network that has one. GRU:
        0 and 3 reset gate, 1 and 4 update gate, 2 and 5 new memory. (The guide's list for LSTM matrices is in another
        order; this is the library's.)

    Returns
    -------
    array or None
        (1, hidden_size, columns), of the projection (1, proj_size, hidden_size), in the memory of `w`; None for the
        first layer's input with SKIP_INPUT.

    Raises
    ------
    BadParam
        No such layer or matrix, or parameters of another size.
    """
    return _part(handle, rnn, layer, x, w, lin_layer_id, bias=False)


@public
def get_rnn_lin_layer_bias_params(
    handle: Handle, rnn: RNNDescriptor, layer: int, x: Step, w: Any, lin_layer_id: int
) -> Any:
    """Return one bias of a network's parameters (guide section 4.106).

    Parameters and errors are those of :func:`get_rnn_lin_layer_matrix_params`.

    Returns
    -------
    array or None
        (1, hidden_size, 1), in the memory of `w`; None where the network's bias_mode has no such bias, as for the
        projection.
    """
    return _part(handle, rnn, layer, x, w, lin_layer_id, bias=True)
