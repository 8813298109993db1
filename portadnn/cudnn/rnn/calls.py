"""Recurrent networks: sizes, parameters and the four passes (guide sections 4.102 to 4.110)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import portadnn as dnn

from ...arguments import as_integer, as_items
from ...c_names.objects import Layout
from ...errors import BadParam, shown
from ...handle import Handle
from ...ops.rnn.calls import checked_batches
from ...problem import TensorSpec
from ..calls import c_function
from ..descriptors import FilterDescriptor, TensorDescriptor, made, value_of
from ..memory import filter_, optional, raw, view, workspace
from ..tensors import data_type
from .descriptors import RNNDescriptor, rnn_value


def steps(descriptors: Any, length: Any, name: str) -> list[dnn.TensorDescriptor]:
    """Return the descriptors of the steps from C's array of at least `length`."""
    count = as_integer(length, "seqLength", 1)
    expected = f"a sequence of {count} tensor descriptors, one for each step"
    if not isinstance(descriptors, Sequence):
        raise BadParam(argument=name, expected=expected, got=shown(descriptors))
    descriptors = as_items(descriptors, name, expected)
    if len(descriptors) < count:
        raise BadParam(argument=name, expected=expected, got=len(descriptors))
    first = descriptors[0]
    value = value_of(first, TensorDescriptor, f"{name}[0]")
    found = [
        value if step is first else value_of(step, TensorDescriptor, f"{name}[{t}]")
        for t, step in enumerate(descriptors[:count])
    ]
    for t, step in enumerate(found):
        if step is not value and step.dtype is not value.dtype:
            raise BadParam(argument=f"{name}[{t}]", expected=f"{value.dtype} as the first step", got=str(step.dtype))
    return found


def sequence(
    handle: Handle, descriptors: Any, length: Any, memory: Any, name: str
) -> tuple[Any, tuple[int, ...] | None]:
    """Return all steps' memory as one array, and the numbers of sequences where they differ."""
    try:  # the descriptors of an earlier call, with an array that has their layout
        found = descriptors[0].sequences[length]
        if found.stamp == Layout.stamp and descriptors[:length] == found.steps:
            if memory.shape == found.dims and memory.dtype is found.storage and memory.strides == found.strides:
                return memory, found.batches
        else:
            found = None
    except Exception:  # seen for the first time, or wrong
        found = None
    found = found or _examine(descriptors, length, name)
    if memory is None:
        raise BadParam(argument=name, expected=f"memory of {found.dims}", got="NULL")
    return view(handle, descriptors[0].views, memory, found.spec, name, found.dims), found.batches


class _Steps(NamedTuple):
    """What the descriptors of some steps say together, as long as no descriptor is set again."""

    stamp: int
    steps: Any  # a copy of the list
    dims: tuple[int, ...]
    storage: Any
    strides: tuple[int, ...]
    batches: tuple[int, ...] | None  # None where all are as many
    spec: TensorSpec


def _examine(descriptors: Any, length: Any, name: str) -> _Steps:
    stamp = Layout.stamp
    values = steps(descriptors, length, f"{name}Desc")
    first = values[0]
    if all(value is first for value in values):
        batches: tuple[int, ...] = (first.dims[0],) * len(values)
        checked_batches(values[:1])
    else:
        batches = checked_batches(values)
    if len(first.dims) != 3 or first.dims[2] != 1 or not first.spec.is_packed():
        raise BadParam(argument=f"{name}Desc[0]", expected="packed steps of dims (n, features, 1)", got=shown(first))
    uneven = any(n != batches[0] for n in batches)
    dims = (sum(batches), first.dims[1], 1) if uneven else (len(values), first.dims[0], first.dims[1])
    spec = TensorSpec.packed(first.dtype, dims)
    strides = tuple(stride * spec.dtype.itemsize for stride in spec.strides)
    listed = descriptors[: len(values)]
    found = _Steps(stamp, listed, dims, spec.dtype.storage, strides, batches if uneven else None, spec)
    if type(listed) in (list, tuple):
        descriptors[0].sequences[len(values)] = found
    return found


def together(x: tuple[int, ...] | None, y: tuple[int, ...] | None, name: str) -> tuple[int, ...] | None:
    """Demand that two sequences have the same numbers of sequences at each step."""
    if x != y:
        raise BadParam(argument=name, expected=f"steps of {x} sequences", got=f"steps of {y}")
    return x


@c_function
def cudnnGetRNNWorkspaceSize(handle: Handle, rnnDesc: RNNDescriptor, seqLength: int, xDesc: Any) -> int:
    """`xDesc` is a sequence of at least `seqLength` tensor descriptors, as in the passes."""
    return dnn.get_rnn_workspace_size(handle, rnn_value(rnnDesc), steps(xDesc, seqLength, "xDesc"))


@c_function
def cudnnGetRNNTrainingReserveSize(handle: Handle, rnnDesc: RNNDescriptor, seqLength: int, xDesc: Any) -> int:
    """`xDesc` is a sequence of at least `seqLength` tensor descriptors, as in the passes."""
    return dnn.get_rnn_training_reserve_size(handle, rnn_value(rnnDesc), steps(xDesc, seqLength, "xDesc"))


def _step(descriptor: Any) -> dnn.TensorDescriptor:
    value: dnn.TensorDescriptor = value_of(descriptor, TensorDescriptor, "xDesc")
    if not value.spec.is_packed():
        raise BadParam(argument="xDesc", expected="a packed step", got=shown(value))
    return value


@c_function
def cudnnGetRNNParamsSize(handle: Handle, rnnDesc: RNNDescriptor, xDesc: TensorDescriptor, dataType: int) -> int:
    """`xDesc` is one step's descriptor."""
    dtype = data_type(dataType, "dataType")
    return dnn.get_rnn_params_size(handle, rnn_value(rnnDesc), _step(xDesc), dtype)


def _set_part(handle: Handle, descriptor: FilterDescriptor, part: Any) -> None:
    """Give a filter descriptor the dims of a part of the parameters: zeros where there is none."""
    dims = (0, 0, 0) if part is None else tuple(part.shape)
    dtype = dnn.DataType.FLOAT if part is None else handle.device.signature(part)[2]
    descriptor.set(dnn.FilterDescriptor(dims, dtype))


@c_function
def cudnnGetRNNLinLayerMatrixParams(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    layer: int,
    xDesc: TensorDescriptor,
    wDesc: FilterDescriptor,
    w: Any,
    linLayerID: int,
    linLayerMatDesc: FilterDescriptor,
) -> Any:
    """`linLayerMat` is an array (1, hidden size, columns) on the memory of `w`; `linLayerMatDesc` is set to its layout.

    None, and dims of 0, for the first layer's input with CUDNN_SKIP_INPUT.
    """
    made(linLayerMatDesc, FilterDescriptor, "linLayerMatDesc")
    parameters, step = filter_(handle, wDesc, w, "w"), _step(xDesc)
    part = dnn.get_rnn_lin_layer_matrix_params(handle, rnn_value(rnnDesc), layer, step, parameters, linLayerID)
    _set_part(handle, linLayerMatDesc, part)
    return part


@c_function
def cudnnGetRNNLinLayerBiasParams(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    layer: int,
    xDesc: TensorDescriptor,
    wDesc: FilterDescriptor,
    w: Any,
    linLayerID: int,
    linLayerBiasDesc: FilterDescriptor,
) -> Any:
    """`linLayerBias` is an array (1, hidden size, 1) on the memory of `w`; `linLayerBiasDesc` is set to its layout."""
    made(linLayerBiasDesc, FilterDescriptor, "linLayerBiasDesc")
    parameters, step = filter_(handle, wDesc, w, "w"), _step(xDesc)
    part = dnn.get_rnn_lin_layer_bias_params(handle, rnn_value(rnnDesc), layer, step, parameters, linLayerID)
    _set_part(handle, linLayerBiasDesc, part)
    return part


@c_function
def cudnnRNNForwardInference(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    seqLength: int,
    xDesc: Any,
    x: Any,
    hxDesc: TensorDescriptor,
    hx: Any,
    cxDesc: TensorDescriptor,
    cx: Any,
    wDesc: FilterDescriptor,
    w: Any,
    yDesc: Any,
    y: Any,
    hyDesc: TensorDescriptor,
    hy: Any,
    cyDesc: TensorDescriptor,
    cy: Any,
    workspace: Any,
    workSpaceSizeInBytes: int,
) -> None:
    """`xDesc` and `yDesc` are sequences of tensor descriptors (n, features, 1), one for each step.

    States are (layers * directions, n, hidden size), and may be NULL: zeros, or not wanted.
    """
    rnn = rnn_value(rnnDesc)
    inputs, batches = sequence(handle, xDesc, seqLength, x, "x")
    outputs, batches_y = sequence(handle, yDesc, seqLength, y, "y")
    dnn.rnn_forward_inference(
        handle,
        inputs,
        optional(handle, hxDesc, hx, "hx"),
        optional(handle, cxDesc, cx, "cx"),
        filter_(handle, wDesc, w, "w"),
        rnn,
        outputs,
        optional(handle, hyDesc, hy, "hy"),
        optional(handle, cyDesc, cy, "cy"),
        batch_sizes=together(batches, batches_y, "yDesc"),
        workspace=_scratch(handle, workspace, workSpaceSizeInBytes),
    )


def _scratch(handle: Handle, memory: Any, size: Any) -> Any:
    return workspace(handle, memory, size)


@c_function
def cudnnRNNForwardTraining(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    seqLength: int,
    xDesc: Any,
    x: Any,
    hxDesc: TensorDescriptor,
    hx: Any,
    cxDesc: TensorDescriptor,
    cx: Any,
    wDesc: FilterDescriptor,
    w: Any,
    yDesc: Any,
    y: Any,
    hyDesc: TensorDescriptor,
    hy: Any,
    cyDesc: TensorDescriptor,
    cy: Any,
    workspace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """As cudnnRNNForwardInference; the reserve space goes on to cudnnRNNBackwardData."""
    rnn = rnn_value(rnnDesc)
    inputs, batches = sequence(handle, xDesc, seqLength, x, "x")
    outputs, batches_y = sequence(handle, yDesc, seqLength, y, "y")
    dnn.rnn_forward_training(
        handle,
        inputs,
        optional(handle, hxDesc, hx, "hx"),
        optional(handle, cxDesc, cx, "cx"),
        filter_(handle, wDesc, w, "w"),
        rnn,
        outputs,
        optional(handle, hyDesc, hy, "hy"),
        optional(handle, cyDesc, cy, "cy"),
        raw(handle, reserveSpace, reserveSpaceSizeInBytes, "reserveSpace"),
        batch_sizes=together(batches, batches_y, "yDesc"),
        workspace=_scratch(handle, workspace, workSpaceSizeInBytes),
    )


@c_function
def cudnnRNNBackwardData(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    seqLength: int,
    yDesc: Any,
    y: Any,
    dyDesc: Any,
    dy: Any,
    dhyDesc: TensorDescriptor,
    dhy: Any,
    dcyDesc: TensorDescriptor,
    dcy: Any,
    wDesc: FilterDescriptor,
    w: Any,
    hxDesc: TensorDescriptor,
    hx: Any,
    cxDesc: TensorDescriptor,
    cx: Any,
    dxDesc: Any,
    dx: Any,
    dhxDesc: TensorDescriptor,
    dhx: Any,
    dcxDesc: TensorDescriptor,
    dcx: Any,
    workspace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """Gradients of states may be NULL. The reserve space is changed and goes on to cudnnRNNBackwardWeights."""
    rnn = rnn_value(rnnDesc)
    outputs, batches = sequence(handle, yDesc, seqLength, y, "y")
    gradients, batches_dy = sequence(handle, dyDesc, seqLength, dy, "dy")
    inputs, batches_dx = sequence(handle, dxDesc, seqLength, dx, "dx")
    together(batches, batches_dy, "dyDesc")
    dnn.rnn_backward_data(
        handle,
        outputs,
        gradients,
        optional(handle, dhyDesc, dhy, "dhy"),
        optional(handle, dcyDesc, dcy, "dcy"),
        filter_(handle, wDesc, w, "w"),
        optional(handle, hxDesc, hx, "hx"),
        optional(handle, cxDesc, cx, "cx"),
        rnn,
        inputs,
        optional(handle, dhxDesc, dhx, "dhx"),
        optional(handle, dcxDesc, dcx, "dcx"),
        raw(handle, reserveSpace, reserveSpaceSizeInBytes, "reserveSpace"),
        batch_sizes=together(batches, batches_dx, "dxDesc"),
        workspace=_scratch(handle, workspace, workSpaceSizeInBytes),
    )


@c_function
def cudnnRNNBackwardWeights(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    seqLength: int,
    xDesc: Any,
    x: Any,
    hxDesc: TensorDescriptor,
    hx: Any,
    yDesc: Any,
    y: Any,
    workspace: Any,
    workSpaceSizeInBytes: int,
    dwDesc: FilterDescriptor,
    dw: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """The gradient is added to what `dw` holds, as in C."""
    rnn = rnn_value(rnnDesc)
    inputs, batches = sequence(handle, xDesc, seqLength, x, "x")
    outputs, batches_y = sequence(handle, yDesc, seqLength, y, "y")
    dnn.rnn_backward_weights(
        handle,
        inputs,
        optional(handle, hxDesc, hx, "hx"),
        outputs,
        raw(handle, reserveSpace, reserveSpaceSizeInBytes, "reserveSpace"),
        rnn,
        filter_(handle, dwDesc, dw, "dw"),
        batch_sizes=together(batches, batches_y, "yDesc"),
        workspace=_scratch(handle, workspace, workSpaceSizeInBytes),
    )
