"""Recurrent networks as cuDNN 7.2's Ex calls have them: sequences by RNN data descriptors, parameters by a filter's."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ...errors import NotSupported
from ...handle import Handle
from ..calls import c_function
from ..descriptors import FilterDescriptor, TensorDescriptor
from ..memory import filter_, optional, raw, workspace
from .data import RNNDataDescriptor, data, data_like, data_value
from .descriptors import RNNDescriptor, rnn_value


def _no_attention(**memory: Any) -> None:
    for name, value in memory.items():
        if value is not None:
            raise NotSupported(
                "there is no attention, and cuDNN has none here either", argument=name, expected="NULL", got="memory"
            )


def _scratch(handle: Handle, memory: Any, size: Any) -> Any:
    return workspace(handle, memory, size)


def _forward(
    handle: Handle,
    rnn_desc: Any,
    x: tuple[Any, Any],
    y: tuple[Any, Any],
    states: tuple[Any, ...],
    weights: tuple[Any, Any],
    scratch: tuple[Any, Any],
    reserve: tuple[Any, Any] | None,
) -> None:
    rnn, sequences = rnn_value(rnn_desc), data_value(x[0], "xDesc")
    data_like(sequences, data_value(y[0], "yDesc"), "yDesc")
    hx, cx, hy, cy = (
        optional(handle, descriptor, memory, name)
        for (descriptor, memory), name in zip(states, ("hx", "cx", "hy", "cy"), strict=True)
    )
    w = filter_(handle, *weights, "w")
    inputs, _ = data(handle, *x, "x", "xDesc")
    outputs, back = data(handle, *y, "y", "yDesc", read=False)
    options: dict[str, Any] = {"batch_sizes": sequences.batches, "workspace": _scratch(handle, *scratch)}
    if reserve is None:
        dnn.rnn_forward_inference(handle, inputs, hx, cx, w, rnn, outputs, hy, cy, **options)
    else:
        kept = raw(handle, *reserve, "reserveSpace")
        dnn.rnn_forward_training(handle, inputs, hx, cx, w, rnn, outputs, hy, cy, kept, **options)
    back()


@c_function
def cudnnRNNForwardInferenceEx(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    xDesc: RNNDataDescriptor,
    x: Any,
    hxDesc: TensorDescriptor,
    hx: Any,
    cxDesc: TensorDescriptor,
    cx: Any,
    wDesc: FilterDescriptor,
    w: Any,
    yDesc: RNNDataDescriptor,
    y: Any,
    hyDesc: TensorDescriptor,
    hy: Any,
    cyDesc: TensorDescriptor,
    cy: Any,
    kDesc: Any,
    keys: Any,
    cDesc: Any,
    cAttn: Any,
    iDesc: Any,
    iAttn: Any,
    qDesc: Any,
    queries: Any,
    workSpace: Any,
    workSpaceSizeInBytes: int,
) -> None:
    """`keys`, `cAttn`, `iAttn` and `queries` are NULL, as cuDNN demands as well."""
    _no_attention(keys=keys, cAttn=cAttn, iAttn=iAttn, queries=queries)
    states = ((hxDesc, hx), (cxDesc, cx), (hyDesc, hy), (cyDesc, cy))
    scratch = (workSpace, workSpaceSizeInBytes)
    _forward(handle, rnnDesc, (xDesc, x), (yDesc, y), states, (wDesc, w), scratch, None)


@c_function
def cudnnRNNForwardTrainingEx(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    xDesc: RNNDataDescriptor,
    x: Any,
    hxDesc: TensorDescriptor,
    hx: Any,
    cxDesc: TensorDescriptor,
    cx: Any,
    wDesc: FilterDescriptor,
    w: Any,
    yDesc: RNNDataDescriptor,
    y: Any,
    hyDesc: TensorDescriptor,
    hy: Any,
    cyDesc: TensorDescriptor,
    cy: Any,
    kDesc: Any,
    keys: Any,
    cDesc: Any,
    cAttn: Any,
    iDesc: Any,
    iAttn: Any,
    qDesc: Any,
    queries: Any,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """`keys`, `cAttn`, `iAttn` and `queries` are NULL, as cuDNN demands as well."""
    _no_attention(keys=keys, cAttn=cAttn, iAttn=iAttn, queries=queries)
    states = ((hxDesc, hx), (cxDesc, cx), (hyDesc, hy), (cyDesc, cy))
    scratch, reserve = (workSpace, workSpaceSizeInBytes), (reserveSpace, reserveSpaceSizeInBytes)
    _forward(handle, rnnDesc, (xDesc, x), (yDesc, y), states, (wDesc, w), scratch, reserve)


@c_function
def cudnnRNNBackwardDataEx(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    yDesc: RNNDataDescriptor,
    y: Any,
    dyDesc: RNNDataDescriptor,
    dy: Any,
    dcDesc: Any,
    dcAttn: Any,
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
    dxDesc: RNNDataDescriptor,
    dx: Any,
    dhxDesc: TensorDescriptor,
    dhx: Any,
    dcxDesc: TensorDescriptor,
    dcx: Any,
    dkDesc: Any,
    dkeys: Any,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """`dcAttn` and `dkeys` are NULL, as cuDNN demands as well."""
    _no_attention(dcAttn=dcAttn, dkeys=dkeys)
    rnn, sequences = rnn_value(rnnDesc), data_value(dxDesc, "dxDesc")
    data_like(sequences, data_value(yDesc, "yDesc"), "yDesc")
    data_like(sequences, data_value(dyDesc, "dyDesc"), "dyDesc")
    outputs, _ = data(handle, yDesc, y, "y", "yDesc")
    gradients, _ = data(handle, dyDesc, dy, "dy", "dyDesc")
    inputs, back = data(handle, dxDesc, dx, "dx", "dxDesc", read=False)
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
        batch_sizes=sequences.batches,
        workspace=_scratch(handle, workSpace, workSpaceSizeInBytes),
    )
    back()


@c_function
def cudnnRNNBackwardWeightsEx(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    xDesc: RNNDataDescriptor,
    x: Any,
    hxDesc: TensorDescriptor,
    hx: Any,
    yDesc: RNNDataDescriptor,
    y: Any,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    dwDesc: FilterDescriptor,
    dw: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """The gradient is added to what `dw` holds, as in C."""
    rnn, sequences = rnn_value(rnnDesc), data_value(xDesc, "xDesc")
    data_like(sequences, data_value(yDesc, "yDesc"), "yDesc")
    inputs, _ = data(handle, xDesc, x, "x", "xDesc")
    outputs, _ = data(handle, yDesc, y, "y", "yDesc")
    dnn.rnn_backward_weights(
        handle,
        inputs,
        optional(handle, hxDesc, hx, "hx"),
        outputs,
        raw(handle, reserveSpace, reserveSpaceSizeInBytes, "reserveSpace"),
        rnn,
        filter_(handle, dwDesc, dw, "dw"),
        batch_sizes=sequences.batches,
        workspace=_scratch(handle, workSpace, workSpaceSizeInBytes),
    )
