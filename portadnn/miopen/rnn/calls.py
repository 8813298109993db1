"""Recurrent networks: sizes, and the passes over arrays of steps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ...arguments import as_items
from ...c_names.objects import Layout
from ...dispatch.problems import check_handle
from ...errors import BadParam, shown
from ...handle import Handle
from ..descriptors import DATA_TYPES, miopenTensorDescriptor_t, optional, spec_of
from ..generated.enums import miopenRNNBaseLayout_t, miopenRNNPaddingMode_t
from ..names import integer
from .descriptor import RNNSettings, rnn_settings
from .parameters import features_of
from .passes import Pass, Steps, sizes
from .sequences import Sequences, gathered, scatter

Desc = miopenTensorDescriptor_t


def _listed(settings: RNNSettings, length: Any, descs: Any, argument: str) -> Steps:
    """Return what the descriptors of the steps say together."""
    try:
        key = (length, settings.data_type)
        stamp, listed, steps = descs[0].sequences[key]
        if stamp == Layout.stamp and descs[:length] == listed:
            return steps
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
    return _listed(settings, length, descs, argument)


def _layout(settings: RNNSettings, steps: Steps, features: int) -> Sequences | None:
    """Return how padded sequences lie, as many in each step as in the first; None without padding."""
    if settings.padding is not miopenRNNPaddingMode_t.miopenRNNIOWithPadding or steps.sizes is None:
        return None
    lengths = tuple(sum(count > n for count in steps.batches) for n in range(steps.batches[0]))
    if any(later > earlier for earlier, later in itertools.pairwise(steps.batches)):
        raise BadParam(argument="xDesc", expected="numbers of sequences that never increase", got=steps.batches)
    layout = miopenRNNBaseLayout_t.miopenRNNDataSeqMajorPadded
    sizes = len(steps.batches), steps.batches[0], features
    return Sequences(DATA_TYPES[settings.data_type], layout, *sizes, lengths)


def _taken(run: Pass, data: Any, name: str, features: int, read: bool = True) -> Any:
    """Return sequences as portadnn takes them."""
    layout = _layout(run.settings, run.steps, features)
    if layout is None:
        return run.sequences(data, name, features)
    return gathered(run.handle, layout, data, name, read=read)


def _put_back(run: Pass, packed: Any, data: Any, features: int) -> None:
    """Copy outputs to padded memory, whose padding stays as it was."""
    layout = _layout(run.settings, run.steps, features)
    if layout is not None:
        scatter(run.handle, layout, packed, data, zero=False)


def _check_output(settings: RNNSettings, steps: Steps, descs: Any, argument: str) -> int:
    """Demand output steps that fit those of the input, and return their features."""
    found = _listed(settings, len(steps.batches), descs, argument)
    wanted = settings.network(steps.features).width
    if found.batches != steps.batches or found.features != wanted:
        expected = f"steps of {steps.batches} sequences with {wanted} features"
        raise BadParam(argument=argument, expected=expected, got=f"{found.batches} with {found.features}")
    return wanted


def miopenGetRNNWorkspaceSize(handle, rnn, sequenceLen, xDesc):
    return sizes(handle, rnn, _steps(rnn, sequenceLen, xDesc))[0]


def miopenGetRNNTrainingReserveSize(handle, rnn, sequenceLen, xDesc):
    return sizes(handle, rnn, _steps(rnn, sequenceLen, xDesc))[1]


def miopenGetRNNInputTensorSize(handle, rnn, seqLen, xDesc):
    _ = check_handle(handle).device
    steps = _steps(rnn, seqLen, xDesc)
    padded = rnn.padding is miopenRNNPaddingMode_t.miopenRNNIOWithPadding
    rows = len(steps.batches) * steps.batches[0] if padded else sum(steps.batches)
    return rows * steps.features * DATA_TYPES[rnn.data_type].itemsize


def miopenGetRNNHiddenTensorSize(handle, rnn, seqLen, xDesc):
    _ = check_handle(handle).device
    steps = _steps(rnn, seqLen, xDesc)
    return rnn.layers * steps.batches[0] * rnn.network(steps.features).width * DATA_TYPES[rnn.data_type].itemsize


def miopenRNNForwardInference(**c):
    _forward(False, reserve=(None, 0), **c)


def miopenRNNForwardTraining(reserveSpace, reserveSpaceNumBytes, **c):
    _forward(True, reserve=(reserveSpace, reserveSpaceNumBytes), **c)


def _forward(
    training: bool,
    reserve: tuple[Any, Any],
    handle: Handle,
    rnnDesc: Any,
    sequenceLen: Any,
    xDesc: Any,
    x: Any,
    wDesc: Any,
    w: Any,
    yDesc: Any,
    y: Any,
    workSpace: Any,
    workSpaceNumBytes: Any,
    **states: Any,
) -> None:
    settings = rnn_settings(rnnDesc)
    steps = _steps(settings, sequenceLen, xDesc)
    width = _check_output(settings, steps, yDesc, "yDesc")
    run = Pass.make(handle, settings, steps, workSpace, workSpaceNumBytes)
    given, out = _taken(run, x, "x", steps.features), _taken(run, y, "y", width, read=False)
    spec_of(wDesc, "wDesc")
    hx, cx, hy, cy = (optional(handle, states[f"{n}Desc"], states[n], n) for n in ("hx", "cx", "hy", "cy"))
    run.forward(training, given, hx, cx, w, out, hy, cy, *reserve)
    _put_back(run, out, y, width)


def miopenRNNBackwardData(
    handle,
    rnn,
    sequenceLen,
    yDesc,
    y,
    dyDesc,
    dy,
    dhy,
    dcy,
    wDesc,
    raw_w,
    hx,
    cx,
    dxDesc,
    dx,
    dhx,
    dcx,
    workSpace,
    workSpaceNumBytes,
    reserveSpace,
    reserveSpaceNumBytes,
):
    steps = _steps(rnn, sequenceLen, dxDesc, "dxDesc")
    width = _check_output(rnn, steps, yDesc, "yDesc")
    _check_output(rnn, steps, dyDesc, "dyDesc")
    run = Pass.make(handle, rnn, steps, workSpace, workSpaceNumBytes)
    given = _taken(run, y, "y", width), _taken(run, dy, "dy", width), dhy, dcy
    spec_of(wDesc, "wDesc")
    out = _taken(run, dx, "dx", steps.features, read=False), dhx, dcx
    run.backward_data(given, raw_w, (hx, cx), out, run.reserve(reserveSpace, reserveSpaceNumBytes))
    _put_back(run, out[0], dx, steps.features)


def miopenRNNBackwardWeights(
    handle,
    rnn,
    sequenceLen,
    xDesc,
    x,
    hx,
    yDesc,
    y,
    dwDesc,
    raw_dw,
    workSpace,
    workSpaceNumBytes,
    reserveSpace,
    reserveSpaceNumBytes,
):
    steps = _steps(rnn, sequenceLen, xDesc)
    width = _check_output(rnn, steps, yDesc, "yDesc")
    run = Pass.make(handle, rnn, steps, workSpace, workSpaceNumBytes)
    given, out = _taken(run, x, "x", steps.features), _taken(run, y, "y", width)
    spec_of(dwDesc, "dwDesc")
    run.backward_weights(given, hx, out, run.reserve(reserveSpace, reserveSpaceNumBytes), raw_dw)
