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
from ...problem import TensorSpec
from ..calls import c_function, c_value
from ..descriptors import TensorDescriptor, made
from ..memory import optional, raw, view, workspace
from .data import RNNDataDescriptor, data, data_like, data_value
from .descriptors import RNNDescriptor, rnn_value

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


@c_function
def cudnnGetRNNWeightSpaceSize(handle: Handle, rnnDesc: RNNDescriptor) -> int:
    """Of a network that was set by cudnnSetRNNDescriptor_v8."""
    return dnn.get_rnn_params_size(handle, rnn_value(rnnDesc), _step(rnnDesc))


@c_function
def cudnnGetRNNWeightParams(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    pseudoLayer: int,
    weightSpaceSize: int,
    weightSpace: Any,
    linLayerID: int,
    mDesc: TensorDescriptor,
    bDesc: TensorDescriptor,
) -> tuple[Any, Any]:
    """`mAddr` and `bAddr` are arrays on the memory of `weightSpace`; `mDesc` and `bDesc` are set to their layouts.

    None, and dims of 0, for the first layer's input with CUDNN_SKIP_INPUT.
    """
    made(mDesc, TensorDescriptor, "mDesc")
    made(bDesc, TensorDescriptor, "bDesc")
    parameters = _weights(handle, rnnDesc, weightSpace, weightSpaceSize, "weightSpace")
    place = (handle, rnn_value(rnnDesc), pseudoLayer, _step(rnnDesc), parameters, linLayerID)
    matrix, bias = dnn.get_rnn_lin_layer_matrix_params(*place), dnn.get_rnn_lin_layer_bias_params(*place)
    for descriptor, part in ((mDesc, matrix), (bDesc, bias)):
        dims = (0, 0, 0) if part is None else tuple(part.shape)
        descriptor.set(dnn.TensorDescriptor(dims, rnnDesc.dtype))
    return matrix, bias


@c_function
def cudnnGetRNNTempSpaceSizes(
    handle: Handle, rnnDesc: RNNDescriptor, fMode: int, xDesc: RNNDataDescriptor
) -> tuple[int, int]:
    """The reserve space of inference has 0 bytes."""
    rnn, sequences = rnn_value(rnnDesc), data_value(xDesc, "xDesc")
    _check_input(rnnDesc, sequences)
    training = c_value("cudnnForwardMode_t", fMode, "fMode") == _TRAINING
    x = dnn.TensorDescriptor(sequences.spec.dims, sequences.dtype)
    size = dnn.get_rnn_workspace_size(handle, rnn, x, batch_sizes=sequences.batches)
    if not training:
        return size, 0
    return size, dnn.get_rnn_training_reserve_size(handle, rnn, x, batch_sizes=sequences.batches)


def _scratch(handle: Handle, memory: Any, size: Any) -> Any:
    return workspace(handle, memory, size)


@c_function
def cudnnRNNForward(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    fwdMode: int,
    devSeqLengths: Any,
    xDesc: RNNDataDescriptor,
    x: Any,
    yDesc: RNNDataDescriptor,
    y: Any,
    hDesc: TensorDescriptor,
    hx: Any,
    hy: Any,
    cDesc: TensorDescriptor,
    cx: Any,
    cy: Any,
    weightSpaceSize: int,
    weightSpace: Any,
    workSpaceSize: int,
    workSpace: Any,
    reserveSpaceSize: int,
    reserveSpace: Any,
) -> None:
    """`devSeqLengths` has no effect: the lengths are those of `xDesc`."""
    rnn, sequences = rnn_value(rnnDesc), data_value(xDesc, "xDesc")
    training = c_value("cudnnForwardMode_t", fwdMode, "fwdMode") == _TRAINING
    _check_input(rnnDesc, sequences)
    data_like(sequences, data_value(yDesc, "yDesc"), "yDesc")
    weights = _weights(handle, rnnDesc, weightSpace, weightSpaceSize, "weightSpace")
    h, c = optional(handle, hDesc, hx, "hx", "hDesc"), optional(handle, cDesc, cx, "cx", "cDesc")
    last_h, last_c = optional(handle, hDesc, hy, "hy", "hDesc"), optional(handle, cDesc, cy, "cy", "cDesc")
    inputs, _ = data(handle, xDesc, x, "x", "xDesc")
    outputs, back = data(handle, yDesc, y, "y", "yDesc", read=False)
    options: dict[str, Any] = {
        "batch_sizes": sequences.batches,
        "workspace": _scratch(handle, workSpace, workSpaceSize),
    }
    if training:
        reserve = raw(handle, reserveSpace, reserveSpaceSize, "reserveSpace", "reserveSpaceSize")
        dnn.rnn_forward_training(handle, inputs, h, c, weights, rnn, outputs, last_h, last_c, reserve, **options)
    else:
        dnn.rnn_forward_inference(handle, inputs, h, c, weights, rnn, outputs, last_h, last_c, **options)
    back()


@c_function
def cudnnRNNBackwardData_v8(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    devSeqLengths: Any,
    yDesc: RNNDataDescriptor,
    y: Any,
    dy: Any,
    xDesc: RNNDataDescriptor,
    dx: Any,
    hDesc: TensorDescriptor,
    hx: Any,
    dhy: Any,
    dhx: Any,
    cDesc: TensorDescriptor,
    cx: Any,
    dcy: Any,
    dcx: Any,
    weightSpaceSize: int,
    weightSpace: Any,
    workSpaceSize: int,
    workSpace: Any,
    reserveSpaceSize: int,
    reserveSpace: Any,
) -> None:
    """`devSeqLengths` has no effect. The reserve space is changed and goes on to cudnnRNNBackwardWeights_v8."""
    rnn, sequences = rnn_value(rnnDesc), data_value(xDesc, "xDesc")
    _check_input(rnnDesc, sequences)
    data_like(sequences, data_value(yDesc, "yDesc"), "yDesc")
    weights = _weights(handle, rnnDesc, weightSpace, weightSpaceSize, "weightSpace")
    outputs, _ = data(handle, yDesc, y, "y", "yDesc")
    gradients, _ = data(handle, yDesc, dy, "dy", "yDesc")
    inputs, back = data(handle, xDesc, dx, "dx", "xDesc", read=False)
    dnn.rnn_backward_data(
        handle,
        outputs,
        gradients,
        optional(handle, hDesc, dhy, "dhy", "hDesc"),
        optional(handle, cDesc, dcy, "dcy", "cDesc"),
        weights,
        optional(handle, hDesc, hx, "hx", "hDesc"),
        optional(handle, cDesc, cx, "cx", "cDesc"),
        rnn,
        inputs,
        optional(handle, hDesc, dhx, "dhx", "hDesc"),
        optional(handle, cDesc, dcx, "dcx", "cDesc"),
        raw(handle, reserveSpace, reserveSpaceSize, "reserveSpace", "reserveSpaceSize"),
        batch_sizes=sequences.batches,
        workspace=_scratch(handle, workSpace, workSpaceSize),
    )
    back()


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


@c_function
def cudnnRNNBackwardWeights_v8(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    addGrad: int,
    devSeqLengths: Any,
    xDesc: RNNDataDescriptor,
    x: Any,
    hDesc: TensorDescriptor,
    hx: Any,
    yDesc: RNNDataDescriptor,
    y: Any,
    weightSpaceSize: int,
    dweightSpace: Any,
    workSpaceSize: int,
    workSpace: Any,
    reserveSpaceSize: int,
    reserveSpace: Any,
) -> None:
    """CUDNN_WGRAD_MODE_ADD adds to what `dweightSpace` holds, CUDNN_WGRAD_MODE_SET replaces it."""
    rnn, sequences = rnn_value(rnnDesc), data_value(xDesc, "xDesc")
    replace = c_value("cudnnWgradMode_t", addGrad, "addGrad") == _SET
    _check_input(rnnDesc, sequences)
    data_like(sequences, data_value(yDesc, "yDesc"), "yDesc")
    gradient = _weights(handle, rnnDesc, dweightSpace, weightSpaceSize, "dweightSpace")
    inputs, _ = data(handle, xDesc, x, "x", "xDesc")
    outputs, _ = data(handle, yDesc, y, "y", "yDesc")
    states = optional(handle, hDesc, hx, "hx", "hDesc")
    reserve = raw(handle, reserveSpace, reserveSpaceSize, "reserveSpace", "reserveSpaceSize")
    scratch = _scratch(handle, workSpace, workSpaceSize)
    batches = sequences.batches
    if replace:
        _check_gradient(handle, (inputs, states, outputs, reserve, gradient), (rnn, batches or ()), scratch)
        dnn.set_tensor(handle, gradient, 0.0)
    dnn.rnn_backward_weights(
        handle, inputs, states, outputs, reserve, rnn, gradient, batch_sizes=batches, workspace=scratch
    )
