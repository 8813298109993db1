"""Recurrent networks as cuDNN 8 and 9 call them: sequences by RNN data descriptors, parameters in a weight space."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ...arguments import as_integer
from ...dispatch.choice import workspace_size
from ...dispatch.overlap import check_apart, check_memory, extents_of
from ...dispatch.problems import make_problem
from ...errors import BadParam
from ...handle import Handle
from ...ops.rnn.problems import RNNBackwardWeights
from ...ops.rnn.unsorted import States
from ...problem import TensorSpec
from ..calls import c_value
from ..descriptors import TensorDescriptor, made
from ..memory import raw, view
from .data import data, data_like, data_value
from .descriptors import rnn_value

_TRAINING = 1  # CUDNN_FWD_MODE_TRAINING
_SET = 1  # CUDNN_WGRAD_MODE_SET


def _step(descriptor: Any) -> dnn.TensorDescriptor:
    """Return one step of a network that was set as cuDNN 8 does, with the size of its input."""
    rnn_value(descriptor)
    if not descriptor.input_size:
        raise BadParam(argument="rnnDesc", expected="one set by cudnnSetRNNDescriptor_v8", got="one without inputSize")
    return dnn.TensorDescriptor((1, descriptor.input_size, 1), descriptor.dtype)


def _weights(handle: Handle, descriptor: Any, memory: Any, size: Any, name: str) -> Any:
    """Return a weight space as an array of parameters."""
    needed = dnn.get_rnn_params_size(handle, rnn_value(descriptor), _step(descriptor))
    if as_integer(size, "weightSpaceSize", 0) < needed:
        raise BadParam(argument="weightSpaceSize", expected=f"at least {needed}", got=size)
    if memory is None:
        raise BadParam(argument=name, expected=f"memory of {needed} bytes", got="NULL")
    dims = (needed // descriptor.dtype.itemsize, 1, 1)
    return view(handle, descriptor.views, memory, TensorSpec.packed(descriptor.dtype, dims), name, dims)


def _check_input(descriptor: Any, sequences: Any) -> None:
    _step(descriptor)
    if sequences.features != descriptor.input_size or sequences.dtype is not descriptor.dtype:
        raise BadParam(
            argument="xDesc",
            expected=f"{descriptor.dtype} vectors of {descriptor.input_size}",
            got=f"{sequences.dtype} of {sequences.features}",
        )


def cudnnGetRNNWeightSpaceSize(handle, rnn, rnnDesc):
    return dnn.get_rnn_params_size(handle, rnn, _step(rnnDesc))


def cudnnGetRNNWeightParams(handle, rnnDesc, pseudoLayer, weightSpaceSize, weightSpace, linLayerID, mDesc, bDesc):
    made(mDesc, TensorDescriptor, "mDesc")
    made(bDesc, TensorDescriptor, "bDesc")
    parameters = _weights(handle, rnnDesc, weightSpace, weightSpaceSize, "weightSpace")
    place = (handle, rnnDesc.value, pseudoLayer, _step(rnnDesc), parameters, linLayerID)
    matrix, bias = dnn.get_rnn_lin_layer_matrix_params(*place), dnn.get_rnn_lin_layer_bias_params(*place)
    for descriptor, part in ((mDesc, matrix), (bDesc, bias)):
        dims = (0, 0, 0) if part is None else tuple(part.shape)
        descriptor.set(dnn.TensorDescriptor(dims, rnnDesc.dtype))
    return matrix, bias


def cudnnGetRNNTempSpaceSizes(handle, rnn, rnnDesc, fMode, xDesc):
    sequences = data_value(xDesc, "xDesc")
    _check_input(rnnDesc, sequences)
    training = c_value("cudnnForwardMode_t", fMode, "fMode") == _TRAINING
    if not sequences.count:
        return 0, 0
    x = dnn.TensorDescriptor(sequences.spec.dims, sequences.dtype)
    size = dnn.get_rnn_workspace_size(handle, rnn, x, batch_sizes=sequences.batches)
    if not training:
        return size, 0
    return size, dnn.get_rnn_training_reserve_size(handle, rnn, x, batch_sizes=sequences.batches)


def cudnnRNNForward(
    handle,
    rnn,
    rnnDesc,
    fwdMode,
    xDesc,
    x,
    yDesc,
    y,
    hx,
    cx,
    hy,
    cy,
    weightSpaceSize,
    weightSpace,
    workSpace,
    reserveSpaceSize,
    reserveSpace,
):
    sequences = data_value(xDesc, "xDesc")
    training = c_value("cudnnForwardMode_t", fwdMode, "fwdMode") == _TRAINING
    _check_input(rnnDesc, sequences)
    data_like(sequences, data_value(yDesc, "yDesc"), "yDesc")
    weights = _weights(handle, rnnDesc, weightSpace, weightSpaceSize, "weightSpace")
    inputs, _ = data(handle, xDesc, x, "x", "xDesc")
    outputs, back = data(handle, yDesc, y, "y", "yDesc", read=False)
    reserve = raw(handle, reserveSpace, reserveSpaceSize, "reserveSpace", "reserveSpaceSize") if training else None
    forward(handle, rnn, sequences, (inputs, outputs), (hx, cx, hy, cy), weights, reserve, workSpace)
    back()


def forward(
    handle: Handle,
    rnn: Any,
    sequences: Any,
    steps: tuple[Any, Any],
    states: tuple[Any, ...],
    weights: Any,
    reserve: Any,
    scratch: Any,
) -> None:
    """Run a network over sequences of any order; without a reserve space it is inference."""
    hx, cx, hy, cy = states
    inputs, outputs = steps
    ordered = States(handle, sequences)
    own_hy, own_cy = ordered.room(hy, cy)
    if sequences.count:
        own_hx, own_cx = ordered.read(hx, cx)
        given = (inputs, own_hx, own_cx, weights, rnn, outputs, own_hy, own_cy)
        options = {"batch_sizes": sequences.batches, "workspace": scratch}
        if reserve is None:
            dnn.rnn_forward_inference(handle, *given, **options)
        else:
            dnn.rnn_forward_training(handle, *given, reserve, **options)
    ordered.write(hy, own_hy, hx)
    ordered.write(cy, own_cy, cx)


def cudnnRNNBackwardData_v8(
    handle,
    rnn,
    rnnDesc,
    yDesc,
    y,
    dy,
    xDesc,
    dx,
    dhy,
    dcy,
    hx,
    cx,
    dhx,
    dcx,
    weightSpaceSize,
    weightSpace,
    workSpace,
    reserveSpace,
):
    sequences = data_value(xDesc, "xDesc")
    _check_input(rnnDesc, sequences)
    data_like(sequences, data_value(yDesc, "yDesc"), "yDesc")
    weights = _weights(handle, rnnDesc, weightSpace, weightSpaceSize, "weightSpace")
    outputs, _ = data(handle, yDesc, y, "y", "yDesc")
    gradients, _ = data(handle, yDesc, dy, "dy", "yDesc")
    inputs, back = data(handle, xDesc, dx, "dx", "xDesc", read=False)
    states = (hx, cx, dhy, dcy, dhx, dcx)
    backward_data(handle, rnn, sequences, (outputs, gradients, inputs), states, weights, reserveSpace, workSpace)
    back()


def backward_data(
    handle: Handle,
    rnn: Any,
    sequences: Any,
    steps: tuple[Any, Any, Any],
    states: tuple[Any, ...],
    weights: Any,
    reserve: Any,
    scratch: Any,
) -> None:
    """Compute the gradients of inputs and states of sequences of any order."""
    hx, cx, dhy, dcy, dhx, dcx = states
    outputs, gradients, inputs = steps
    ordered = States(handle, sequences)
    own_dhx, own_dcx = ordered.room(dhx, dcx)
    if sequences.count:
        own_hx, own_cx, own_dhy, own_dcy = ordered.read(hx, cx, dhy, dcy)
        given = (outputs, gradients, own_dhy, own_dcy, weights, own_hx, own_cx, rnn, inputs, own_dhx, own_dcx, reserve)
        dnn.rnn_backward_data(handle, *given, batch_sizes=sequences.batches, workspace=scratch)
    ordered.write(dhx, own_dhx, dhy)
    ordered.write(dcx, own_dcx, dcy)


def _check_gradient(handle: Handle, tensors: tuple[Any, ...], params: tuple[Any, ...], scratch: Any) -> None:
    """Raise what the gradient by the weights would raise, before zeros are written to what it is added to."""
    problem = make_problem(handle, RNNBackwardWeights, tensors, params)
    device, needed = handle.device, workspace_size(handle, problem)
    present = [tensor for tensor in tensors if tensor is not None]
    check_memory(problem, extents_of(problem), list(map(device.address, present)))
    if scratch is None or not needed:
        return
    given = device.workspace_size(scratch)
    if given < needed:
        raise BadParam(argument="workSpaceSize", expected=f"at least {needed} bytes", got=f"{given} bytes")
    check_apart(device, problem, extents_of(problem), present, scratch, needed)


def cudnnRNNBackwardWeights_v8(
    handle,
    rnn,
    rnnDesc,
    addGrad,
    xDesc,
    x,
    hx,
    yDesc,
    y,
    weightSpaceSize,
    dweightSpace,
    workSpace,
    reserveSpace,
):
    sequences = data_value(xDesc, "xDesc")
    replace = c_value("cudnnWgradMode_t", addGrad, "addGrad") == _SET
    _check_input(rnnDesc, sequences)
    data_like(sequences, data_value(yDesc, "yDesc"), "yDesc")
    gradient = _weights(handle, rnnDesc, dweightSpace, weightSpaceSize, "dweightSpace")
    inputs, _ = data(handle, xDesc, x, "x", "xDesc")
    outputs, _ = data(handle, yDesc, y, "y", "yDesc")
    batches = sequences.batches
    if not sequences.count:
        if replace:
            dnn.set_tensor(handle, gradient, 0.0)
        return
    (hx,) = States(handle, sequences).read(hx)
    if replace:
        _check_gradient(handle, (inputs, hx, outputs, reserveSpace, gradient), (rnn, batches or ()), workSpace)
        dnn.set_tensor(handle, gradient, 0.0)
    options = {"batch_sizes": batches, "workspace": workSpace}
    dnn.rnn_backward_weights(handle, inputs, hx, outputs, reserveSpace, rnn, gradient, **options)
