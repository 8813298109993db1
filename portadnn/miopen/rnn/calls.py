"""Recurrent networks: sizes, and the passes over arrays of steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...arguments import as_items
from ...c_names.objects import Layout
from ...dispatch.problems import check_handle
from ...errors import BadParam, NotSupported, shown
from ...handle import Handle
from ..descriptors import DATA_TYPES, miopenTensorDescriptor_t, spec_of
from ..enums import miopenRNNPaddingMode_t
from ..names import function, integer
from .descriptor import RNNSettings, miopenRNNDescriptor_t, rnn_settings
from .parameters import features_of
from .passes import Pass, Steps, sizes

Desc = miopenTensorDescriptor_t
Descs = Sequence[miopenTensorDescriptor_t]
RNN = miopenRNNDescriptor_t


def _listed(settings: RNNSettings, length: Any, descs: Any, argument: str) -> Steps:
    """Return what the descriptors of the steps say together."""
    try:
        key = (length, settings.data_type)
        stamp, listed, steps = descs[0].sequences[key]
        if stamp == Layout.stamp and descs[:length] == listed:
            return steps  # type: ignore[no-any-return]
    except Exception:  # seen for the first time, or wrong
        pass
    stamp = Layout.stamp
    count = integer(length, "sequenceLen", 1)
    key = (count, settings.data_type)
    expected = f"a sequence of {count} descriptors, one for each step"
    if isinstance(descs, Desc) or not isinstance(descs, Sequence):
        raise BadParam(argument=argument, expected=expected, got=shown(descs))
    if type(descs) is not list:
        descs = as_items(descs, argument, expected)
    if len(descs) < count:
        raise BadParam(argument=argument, expected=expected, got=len(descs))
    listed = descs[:count]
    widths = {features_of(settings, desc, f"{argument}[{t}]") for t, desc in enumerate(listed)}
    if len(widths) > 1:
        raise BadParam(argument=argument, expected="steps of the same features", got=sorted(widths))
    for t, desc in enumerate(listed):
        if not spec_of(desc, argument).is_packed():
            raise BadParam(argument=f"{argument}[{t}]", expected="a packed step", got=desc.wide.strides)
    steps = Steps(tuple(desc.wide.dims[0] for desc in listed), widths.pop())
    if type(listed) in (list, tuple):
        descs[0].sequences[key] = stamp, listed, steps
    return steps


def _steps(settings: RNNSettings, length: Any, descs: Any, argument: str = "xDesc") -> Steps:
    if settings.padding is miopenRNNPaddingMode_t.miopenRNNIOWithPadding:
        raise NotSupported(
            "miopenRNNForward takes padded sequences",
            argument="rnnDesc",
            expected="miopenRNNIONotPadded",
            got="padding",
        )
    return _listed(settings, length, descs, argument)


def _check_output(settings: RNNSettings, steps: Steps, descs: Any, argument: str) -> int:
    """Demand output steps that fit those of the input, and return their features."""
    found = _listed(settings, len(steps.batches), descs, argument)
    wanted = settings.network(steps.features).width
    if found.batches != steps.batches or found.features != wanted:
        expected = f"steps of {steps.batches} sequences with {wanted} features"
        raise BadParam(argument=argument, expected=expected, got=f"{found.batches} with {found.features}")
    return wanted


@function
def miopenGetRNNWorkspaceSize(handle: Handle, rnnDesc: RNN, sequenceLen: int, xDesc: Descs) -> int:
    """Return the bytes of workspace that do for every pass."""
    settings = rnn_settings(rnnDesc)
    return sizes(handle, settings, _steps(settings, sequenceLen, xDesc))[0]


@function
def miopenGetRNNTrainingReserveSize(handle: Handle, rnnDesc: RNN, sequenceLen: int, xDesc: Descs) -> int:
    """Return the bytes of reserve space that training needs."""
    settings = rnn_settings(rnnDesc)
    return sizes(handle, settings, _steps(settings, sequenceLen, xDesc))[1]


@function
def miopenGetRNNInputTensorSize(handle: Handle, rnnDesc: RNN, seqLen: int, xDesc: Descs) -> int:
    """Return the bytes of the input of all steps."""
    _ = check_handle(handle).device
    settings = rnn_settings(rnnDesc)
    steps = _steps(settings, seqLen, xDesc)
    return sum(steps.batches) * steps.features * DATA_TYPES[settings.data_type].itemsize


@function
def miopenGetRNNHiddenTensorSize(handle: Handle, rnnDesc: RNN, seqLen: int, xDesc: Descs) -> int:
    """Return the bytes of a hidden state of all layers."""
    _ = check_handle(handle).device
    settings = rnn_settings(rnnDesc)
    steps = _steps(settings, seqLen, xDesc)
    width = settings.network(steps.features).width
    return settings.layers * steps.batches[0] * width * DATA_TYPES[settings.data_type].itemsize


@function
def miopenRNNForwardInference(
    handle: Handle,
    rnnDesc: RNN,
    sequenceLen: int,
    xDesc: Descs,
    x: Any,
    hxDesc: Desc,
    hx: Any,
    cxDesc: Desc,
    cx: Any,
    wDesc: Desc,
    w: Any,
    yDesc: Descs,
    y: Any,
    hyDesc: Desc,
    hy: Any,
    cyDesc: Desc,
    cy: Any,
    workSpace: Any,
    workSpaceNumBytes: int,
) -> None:
    """Run a network over sequences. States that are None are zero (hx, cx) or left out (hy, cy)."""
    settings = rnn_settings(rnnDesc)
    steps = _steps(settings, sequenceLen, xDesc)
    width = _check_output(settings, steps, yDesc, "yDesc")
    run = Pass.make(handle, settings, steps, workSpace, workSpaceNumBytes)
    given, out = run.sequences(x, "x", steps.features), run.sequences(y, "y", width)
    spec_of(wDesc, "wDesc")
    states = run.state(hxDesc, hx, "hx"), run.state(cxDesc, cx, "cx")
    last = run.state(hyDesc, hy, "hy"), run.state(cyDesc, cy, "cy")
    run.forward(False, given, *states, w, out, *last, None, 0)


@function
def miopenRNNForwardTraining(
    handle: Handle,
    rnnDesc: RNN,
    sequenceLen: int,
    xDesc: Descs,
    x: Any,
    hxDesc: Desc,
    hx: Any,
    cxDesc: Desc,
    cx: Any,
    wDesc: Desc,
    w: Any,
    yDesc: Descs,
    y: Any,
    hyDesc: Desc,
    hy: Any,
    cyDesc: Desc,
    cy: Any,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> None:
    """Run a network over sequences, and keep in the reserve space what the gradients need."""
    settings = rnn_settings(rnnDesc)
    steps = _steps(settings, sequenceLen, xDesc)
    width = _check_output(settings, steps, yDesc, "yDesc")
    run = Pass.make(handle, settings, steps, workSpace, workSpaceNumBytes)
    given, out = run.sequences(x, "x", steps.features), run.sequences(y, "y", width)
    spec_of(wDesc, "wDesc")
    states = run.state(hxDesc, hx, "hx"), run.state(cxDesc, cx, "cx")
    last = run.state(hyDesc, hy, "hy"), run.state(cyDesc, cy, "cy")
    run.forward(True, given, *states, w, out, *last, reserveSpace, reserveSpaceNumBytes)


@function
def miopenRNNBackwardData(
    handle: Handle,
    rnnDesc: RNN,
    sequenceLen: int,
    yDesc: Descs,
    y: Any,
    dyDesc: Descs,
    dy: Any,
    dhyDesc: Desc,
    dhy: Any,
    dcyDesc: Desc,
    dcy: Any,
    wDesc: Desc,
    w: Any,
    hxDesc: Desc,
    hx: Any,
    cxDesc: Desc,
    cx: Any,
    dxDesc: Descs,
    dx: Any,
    dhxDesc: Desc,
    dhx: Any,
    dcxDesc: Desc,
    dcx: Any,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> None:
    """Compute the gradients by the input and the first states; the reserve space is the forward pass's."""
    settings = rnn_settings(rnnDesc)
    steps = _steps(settings, sequenceLen, dxDesc, "dxDesc")
    width = _check_output(settings, steps, yDesc, "yDesc")
    _check_output(settings, steps, dyDesc, "dyDesc")
    run = Pass.make(handle, settings, steps, workSpace, workSpaceNumBytes)
    given = run.sequences(y, "y", width), run.sequences(dy, "dy", width)
    changes = run.state(dhyDesc, dhy, "dhy"), run.state(dcyDesc, dcy, "dcy")
    spec_of(wDesc, "wDesc")
    states = run.state(hxDesc, hx, "hx"), run.state(cxDesc, cx, "cx")
    out = run.sequences(dx, "dx", steps.features), run.state(dhxDesc, dhx, "dhx"), run.state(dcxDesc, dcx, "dcx")
    run.backward_data((*given, *changes), w, states, out, run.reserve(reserveSpace, reserveSpaceNumBytes))


@function
def miopenRNNBackwardWeights(
    handle: Handle,
    rnnDesc: RNN,
    sequenceLen: int,
    xDesc: Descs,
    x: Any,
    hxDesc: Desc,
    hx: Any,
    yDesc: Descs,
    y: Any,
    dwDesc: Desc,
    dw: Any,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> None:
    """Add the gradient by the parameters to dw; the reserve space is the backward data pass's."""
    settings = rnn_settings(rnnDesc)
    steps = _steps(settings, sequenceLen, xDesc)
    width = _check_output(settings, steps, yDesc, "yDesc")
    run = Pass.make(handle, settings, steps, workSpace, workSpaceNumBytes)
    given, out = run.sequences(x, "x", steps.features), run.sequences(y, "y", width)
    spec_of(dwDesc, "dwDesc")
    kept = run.reserve(reserveSpace, reserveSpaceNumBytes)
    run.backward_weights(given, run.state(hxDesc, hx, "hx"), out, kept, dw)
