"""Recurrent networks as cuDNN 7.2's Ex calls have them: sequences by RNN data descriptors, parameters by a filter's."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ...errors import NotSupported
from ...ops.rnn.unsorted import States
from .data import data, data_like, data_value
from .v8 import backward_data, forward


def _no_attention(**memory: Any) -> None:
    for name, value in memory.items():
        if value is not None:
            raise NotSupported(
                "there is no attention, and cuDNN has none here either", argument=name, expected="NULL", got="memory"
            )


def cudnnRNNForwardInferenceEx(
    handle, rnn, xDesc, x, yDesc, y, keys, cAttn, iAttn, queries, hx, cx, w, hy, cy, workSpace
):
    attention = {"keys": keys, "cAttn": cAttn, "iAttn": iAttn, "queries": queries}
    cudnnRNNForwardTrainingEx(handle, rnn, xDesc, x, yDesc, y, hx, cx, w, hy, cy, workSpace, None, **attention)


def cudnnRNNForwardTrainingEx(
    handle,
    rnn,
    xDesc,
    x,
    yDesc,
    y,
    hx,
    cx,
    w,
    hy,
    cy,
    workSpace,
    reserveSpace,
    keys,
    cAttn,
    iAttn,
    queries,
):
    _no_attention(keys=keys, cAttn=cAttn, iAttn=iAttn, queries=queries)
    sequences = data_value(xDesc, "xDesc")
    data_like(sequences, data_value(yDesc, "yDesc"), "yDesc")
    inputs, _ = data(handle, xDesc, x, "x", "xDesc")
    outputs, back = data(handle, yDesc, y, "y", "yDesc", read=False)
    forward(handle, rnn, sequences, (inputs, outputs), (hx, cx, hy, cy), w, reserveSpace, workSpace)
    back()


def cudnnRNNBackwardDataEx(
    handle,
    rnn,
    yDesc,
    y,
    dyDesc,
    dy,
    dxDesc,
    dx,
    dhy,
    dcy,
    w,
    hx,
    cx,
    dhx,
    dcx,
    reserveSpace,
    workSpace,
    dcAttn,
    dkeys,
):
    _no_attention(dcAttn=dcAttn, dkeys=dkeys)
    sequences = data_value(dxDesc, "dxDesc")
    data_like(sequences, data_value(yDesc, "yDesc"), "yDesc")
    data_like(sequences, data_value(dyDesc, "dyDesc"), "dyDesc")
    outputs, _ = data(handle, yDesc, y, "y", "yDesc")
    gradients, _ = data(handle, dyDesc, dy, "dy", "dyDesc")
    inputs, back = data(handle, dxDesc, dx, "dx", "dxDesc", read=False)
    states = (hx, cx, dhy, dcy, dhx, dcx)
    backward_data(handle, rnn, sequences, (outputs, gradients, inputs), states, w, reserveSpace, workSpace)
    back()


def cudnnRNNBackwardWeightsEx(handle, rnn, xDesc, x, yDesc, y, hx, reserveSpace, dw, workSpace):
    sequences = data_value(xDesc, "xDesc")
    data_like(sequences, data_value(yDesc, "yDesc"), "yDesc")
    inputs, _ = data(handle, xDesc, x, "x", "xDesc")
    outputs, _ = data(handle, yDesc, y, "y", "yDesc")
    options = {"batch_sizes": sequences.batches, "workspace": workSpace}
    if not sequences.count:
        return
    (hx,) = States(handle, sequences).read(hx)
    dnn.rnn_backward_weights(handle, inputs, hx, outputs, reserveSpace, rnn, dw, **options)
