"""Recurrent networks: the four passes (guide sections 4.107 to 4.110)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ...arguments import as_integers, as_items
from ...descriptors import TensorDescriptor, check_descriptor
from ...dispatch.execute import computes, execute
from ...errors import BadParam, shown
from ...handle import Handle
from .descriptor import RNNDescriptor
from .layout import RNNMode
from .problems import (
    RNNBackwardData,
    RNNBackwardWeights,
    RNNForwardInference,
    RNNForwardTraining,
    drops,
)

__all__ = ["rnn_backward_data", "rnn_backward_weights", "rnn_forward_inference", "rnn_forward_training"]

BatchSizes = Sequence[int] | Sequence[TensorDescriptor] | None


def checked_rnn(rnn: Any) -> RNNDescriptor:
    """Demand an RNN descriptor."""
    return check_descriptor(rnn, RNNDescriptor, "rnn")


def checked_batches(batch_sizes: BatchSizes) -> tuple[int, ...]:
    """Return the numbers of sequences of the steps; () where all steps have as many.

    Raises
    ------
    BadParam
        Neither integers nor the steps' descriptors, or none.
    """
    if batch_sizes is None:
        return ()
    if type(batch_sizes) is tuple and all(type(n) is int and n < 2**48 for n in batch_sizes):
        return batch_sizes or _no_steps()
    items = as_items(batch_sizes, "batch_sizes", "a sequence of integers")
    if any(isinstance(n, TensorDescriptor) for n in items):
        steps = [check_descriptor(step, TensorDescriptor, f"batch_sizes[{t}]") for t, step in enumerate(items)]
        for t, step in enumerate(steps):
            if step.dims[1:] != steps[0].dims[1:] or not step.spec.is_packed():
                expected = f"a packed step of dims (n, {', '.join(map(str, steps[0].dims[1:]))})"
                raise BadParam(argument=f"batch_sizes[{t}]", expected=expected, got=shown(step))
        sizes = tuple(step.dims[0] for step in steps)
    else:
        sizes = as_integers(items, "batch_sizes", 1)
    return sizes or _no_steps()


def _no_steps() -> NoReturn:
    raise BadParam(argument="batch_sizes", expected="at least one step", got=())


def _cells(rnn: RNNDescriptor, *tensors: Any) -> tuple[Any, ...]:
    """Return what was given for an LSTM's cells; other networks ignore it, as the library does."""
    return tensors if rnn.mode is RNNMode.LSTM else (None,) * len(tensors)


@computes
def rnn_forward_inference(
    handle: Handle,
    x: Any,
    hx: Any,
    cx: Any,
    w: Any,
    rnn: RNNDescriptor,
    y: Any = None,
    hy: Any = None,
    cy: Any = None,
    *,
    batch_sizes: BatchSizes = None,
    workspace: Any = None,
) -> tuple[Any, Any, Any]:
    """Run a recurrent network over sequences (guide section 4.107).

    Parameters
    ----------
    handle
        Where to compute.
    x
        Packed input, float16, bfloat16, float32 or float64, as are all tensors: (steps, batch, features), or with
        `batch_sizes` (rows, features, 1), the steps' rows one after the other.
    hx, cx
        Initial hidden state, and of an LSTM the initial cells: packed (num_layers * directions, batch, hidden_size), a
        layer's directions side by side; with a projection `hx` has proj_size numbers in place of hidden_size. None is
        zero. Networks other than LSTM ignore `cx` and `cy`.
    w
        Parameters: a packed tensor of ``get_rnn_params_size`` bytes; ``get_rnn_lin_layer_matrix_params`` and
        ``get_rnn_lin_layer_bias_params`` tell what lies where.
    rnn
        The network.
    y
        Output as `x`, with directions * hidden_size features (proj_size with a projection): the forward direction's
        first. None allocates it.
    hy, cy
        Final hidden state and cells as `hx`; each sequence's are those of its own last step. None leaves them out.
    batch_sizes
        For sequences of several lengths, sorted from the longest to the shortest: the number of those not yet over at
        each step, never increasing; or the steps' TensorDescriptors (n, features, 1), as the guide has them.
    workspace
        Scratch memory of at least ``get_rnn_workspace_size`` bytes; None lets the handle provide it.

    Returns
    -------
    y, hy, cy
        None for those left out.

    Raises
    ------
    BadParam
        Dims, types or sizes that do not fit, tensors that are not packed, or batch sizes that increase.
    """
    params = (checked_rnn(rnn), checked_batches(batch_sizes))
    cx, cy = _cells(rnn, cx, cy)
    tensors = (x, hx, cx, w, y, hy, cy)
    return execute(handle, RNNForwardInference, tensors, params, (), workspace=workspace)  # type: ignore[no-any-return]


@computes
def rnn_forward_training(
    handle: Handle,
    x: Any,
    hx: Any,
    cx: Any,
    w: Any,
    rnn: RNNDescriptor,
    y: Any = None,
    hy: Any = None,
    cy: Any = None,
    reserve: Any = None,
    *,
    batch_sizes: BatchSizes = None,
    workspace: Any = None,
) -> tuple[Any, Any, Any, Any]:
    """Run a recurrent network over sequences, and keep what the gradients need (guide section 4.108).

    With dropout in `rnn`, elements of what a layer passes on to the next are 0 at random, the others divided by
    1 - p; each call draws another mask.

    Parameters
    ----------
    handle, x, hx, cx, w, rnn, y, hy, cy, batch_sizes, workspace
        As for :func:`rnn_forward_inference`.
    reserve
        Byte buffer of at least ``get_rnn_training_reserve_size`` bytes, aligned to 16; None allocates it.

    Returns
    -------
    y, hy, cy, reserve
        None for those left out.

    Raises
    ------
    BadParam
        As for :func:`rnn_forward_inference`, or a reserve space that is too small.
    """
    params = (checked_rnn(rnn), checked_batches(batch_sizes))
    cx, cy = _cells(rnn, cx, cy)
    states = None
    if rnn.dropout is not None and drops(rnn.dropout.dropout, rnn.num_layers):
        states = rnn.dropout.states
        if states is None:
            expected = "states, from set_dropout_descriptor or restore_dropout_descriptor"
            raise BadParam(argument="rnn.dropout.states", expected=expected, got=None)
    tensors = (x, hx, cx, w, y, hy, cy, reserve, states)
    *found, _ = execute(handle, RNNForwardTraining, tensors, params, (), workspace=workspace)
    return tuple(found)


@computes
def rnn_backward_data(
    handle: Handle,
    y: Any,
    dy: Any,
    dhy: Any,
    dcy: Any,
    w: Any,
    hx: Any,
    cx: Any,
    rnn: RNNDescriptor,
    dx: Any = None,
    dhx: Any = None,
    dcx: Any = None,
    reserve: Any = None,
    *,
    batch_sizes: BatchSizes = None,
    workspace: Any = None,
) -> tuple[Any, Any, Any, Any]:
    """Return a recurrent network's gradients with respect to its input and initial state (guide section 4.109).

    Parameters
    ----------
    handle, w, hx, cx, rnn, batch_sizes, workspace
        As for the forward pass.
    y, dy
        The forward pass's output and its gradient, dims as there.
    dhy, dcy
        Gradients of the final hidden state and cells; None is zero.
    dx
        Gradient of the input. None allocates it, with the features that the number of parameters tells.
    dhx, dcx
        Gradients of the initial hidden state and cells. None leaves them out.
    reserve
        What :func:`rnn_forward_training` left; it is overwritten with what :func:`rnn_backward_weights` needs.

    Returns
    -------
    dx, dhx, dcx, reserve
        None for those left out.

    Raises
    ------
    BadParam
        As for :func:`rnn_forward_training`, or no reserve space.
    """
    params = (checked_rnn(rnn), checked_batches(batch_sizes))
    if reserve is None:
        raise BadParam(argument="reserve", expected="the reserve space of the forward pass", got=None)
    cx, dcy, dcx = _cells(rnn, cx, dcy, dcx)
    tensors = (y, dy, dhy, dcy, w, hx, cx, dx, dhx, dcx, reserve)
    return execute(handle, RNNBackwardData, tensors, params, (), workspace=workspace)  # type: ignore[no-any-return]


@computes
def rnn_backward_weights(
    handle: Handle,
    x: Any,
    hx: Any,
    y: Any,
    reserve: Any,
    rnn: RNNDescriptor,
    dw: Any,
    *,
    batch_sizes: BatchSizes = None,
    workspace: Any = None,
) -> Any:
    """Add a recurrent network's gradient with respect to its parameters to dw (guide section 4.110).

    Parameters
    ----------
    handle, x, hx, y, rnn, batch_sizes, workspace
        As for the forward pass.
    reserve
        What :func:`rnn_backward_data` left.
    dw
        Laid out as the parameters; the gradient is added to what is there.

    Returns
    -------
    array
        `dw`.

    Raises
    ------
    BadParam
        As for :func:`rnn_forward_training`, or no dw.
    """
    params = (checked_rnn(rnn), checked_batches(batch_sizes))
    if dw is None:
        raise BadParam(argument="dw", expected="a tensor, because the gradient is added to it", got=None)
    return execute(handle, RNNBackwardWeights, (x, hx, y, reserve, dw), params, (), workspace=workspace)
