"""Recurrent networks over padded or packed batches of sequences (MIOpen 3).

Sequences lie step by step without padding (miopenRNNDataSeqMajorNotPadded), as portadnn takes them; or padded, (steps,
batch, features) or (batch, steps, features), and are then copied together and back. They are sorted from the longest
to the shortest.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from ...c_names.composed import check_output
from ...descriptors import TensorView
from ...dispatch.problems import check_handle
from ...enums import DataType
from ...errors import BadParam, NotSupported
from ...handle import Handle
from ...ops.tensor import set_tensor, transform_tensor
from ...problem import TensorSpec
from ..descriptors import (
    DATA_TYPES,
    MIOPEN_TYPES,
    Opaque,
    made,
    value_of,
    view,
)
from ..generated.enums import miopenDataType_t, miopenRNNBaseLayout_t, miopenRNNFWDMode_t
from ..names import integer, integers, parse, unified
from .descriptor import RNNSettings
from .passes import Pass, Steps, sizes

_PACKED = miopenRNNBaseLayout_t.miopenRNNDataSeqMajorNotPadded
_BATCH_MAJOR = miopenRNNBaseLayout_t.miopenRNNDataBatchMajorPadded


@dataclass(frozen=True)
class Sequences:
    """What a sequence descriptor was set to."""

    dtype: DataType
    layout: miopenRNNBaseLayout_t
    longest: int
    batch: int
    features: int
    lengths: tuple[int, ...]

    @property
    def batches(self) -> tuple[int, ...]:
        """The numbers of sequences of the steps."""
        return tuple(sum(length > t for length in self.lengths) for t in range(self.lengths[0]))

    def step(self, t: int, count: int) -> tuple[TensorSpec, int]:
        """Return the spec of a step's first sequences in padded memory, and where it starts."""
        batch, time = self.features, self.batch * self.features
        if self.layout is _BATCH_MAJOR:
            batch, time = self.longest * self.features, self.features
        return TensorSpec(self.dtype, (count, self.features, 1), (batch, 1, 1)), t * time

    @property
    def whole(self) -> tuple[TensorSpec, bool]:
        """The spec (steps, batch, features) of padded memory, and whether it is the packed one."""
        dims = (self.longest, self.batch, self.features)
        if self.layout is _BATCH_MAJOR:
            return TensorSpec(self.dtype, dims, (self.features, self.longest * self.features, 1)), False
        return TensorSpec.packed(self.dtype, dims), True


class miopenSeqTensorDescriptor_t(Opaque):
    """Layout and lengths of a batch of sequences."""


def _sequences(desc: Any, argument: str) -> Sequences:
    return value_of(desc, miopenSeqTensorDescriptor_t, argument)


def miopenSetRNNDataSeqTensorDescriptor(
    seqTensorDesc, dataType, layout, maxSequenceLen, batchSize, vectorSize, sequenceLenArray, paddingMarker
):
    desc = made(seqTensorDesc, miopenSeqTensorDescriptor_t, "seqTensorDesc")
    dtype = unified(DATA_TYPES, parse(miopenDataType_t, dataType, "dataType"), "dataType")
    named = parse(miopenRNNBaseLayout_t, layout, "layout")
    longest, batch = integer(maxSequenceLen, "maxSequenceLen", 1), integer(batchSize, "batchSize", 1)
    features = integer(vectorSize, "vectorSize", 1)
    lengths = integers(sequenceLenArray, "sequenceLenArray", 1, batch)
    if named is miopenRNNBaseLayout_t.miopenRNNDataUnknownLayout:
        raise BadParam(argument="layout", expected="a known layout", got=named.name)
    if paddingMarker is not None:
        raise NotSupported("not used by MIOpen either", argument="paddingMarker", expected="None", got=paddingMarker)
    if max(lengths) > longest:
        raise BadParam(argument="sequenceLenArray", expected=f"lengths up to {longest}", got=lengths)
    if any(a < b for a, b in itertools.pairwise(lengths)):
        raise NotSupported(
            "sort the sequences", argument="sequenceLenArray", expected="lengths that never increase", got=lengths
        )
    desc.value = Sequences(dtype, named, longest, batch, features, lengths)


def miopenGetRNNDataSeqTensorDescriptor(seqTensor, sequenceLenArrayLimit):
    lengths = seqTensor.lengths[: integer(sequenceLenArrayLimit, "sequenceLenArrayLimit")]
    sizes = (seqTensor.longest, seqTensor.batch, seqTensor.features)
    return MIOPEN_TYPES[seqTensor.dtype], seqTensor.layout, *sizes, lengths, None


def _steps(settings: RNNSettings, x: Sequences) -> Steps:
    if x.dtype is not DATA_TYPES[settings.data_type]:
        raise BadParam(argument="xDesc", expected=f"{settings.data_type.name}, as the network", got=x.dtype)
    return Steps(x.batches, x.features)


def _gathered(handle: Handle, s: Sequences, data: Any, name: str, read: bool = True) -> Any:
    """Return sequences as portadnn takes them: the caller's memory, or a copy of what is in it if it is to be read."""
    steps = Steps(s.batches, s.features)
    spec = steps.spec(s.dtype, s.features)
    if s.layout is _PACKED:
        return view(handle, spec, data, name)
    whole, same = s.whole
    even = s.lengths[-1] == s.longest
    if even and same:
        return view(handle, spec, data, name)
    packed = check_handle(handle).device.empty(spec)
    if read:
        if even:
            transform_tensor(handle, view(handle, whole, data, name), packed)
        else:
            for outside, inside in _pairs(s, data, packed):
                transform_tensor(handle, outside, inside)
    else:
        check_output(handle, view(handle, whole, data, name), name)
    return packed


def _pairs(s: Sequences, data: Any, packed: Any) -> list[tuple[TensorView, TensorView]]:
    """Return each step in the padded and in the packed memory."""
    found, first = [], 0
    for t, count in enumerate(s.batches):
        spec, start = s.step(t, count)
        inside = TensorSpec.packed(s.dtype, (count, s.features, 1))
        found.append((TensorView(spec, data, start), TensorView(inside, packed, first * s.features)))
        first += count
    return found


def _scatter(handle: Handle, s: Sequences, packed: Any, data: Any) -> None:
    """Copy sequences back to the caller's memory, whose padding becomes 0."""
    whole, same = s.whole
    even = s.lengths[-1] == s.longest
    if s.layout is _PACKED or (even and same):
        return
    if even:
        transform_tensor(handle, packed, TensorView(whole, data))
        return
    set_tensor(handle, TensorView(whole, data), 0.0)
    for outside, inside in _pairs(s, data, packed):
        transform_tensor(handle, inside, outside)


def _check_weights(settings: RNNSettings, steps: Steps, size: Any) -> None:
    network = settings.network(steps.features)
    needed = settings.count(network) * DATA_TYPES[settings.data_type].itemsize
    if integer(size, "weightSpaceSize") < needed:
        raise BadParam(argument="weightSpaceSize", expected=f"at least {needed} bytes", got=size)


def _check_output(settings: RNNSettings, x: Sequences, y: Sequences) -> None:
    width = settings.network(x.features).width
    if y.lengths != x.lengths or y.features != width or y.dtype is not x.dtype:
        raise BadParam(argument="yDesc", expected=f"the lengths {x.lengths} and vectors of {width}", got=str(y))


def _run(
    handle: Handle, settings: RNNSettings, x: Sequences, y: Sequences, weights: Any, workspace: Any, size: Any
) -> Pass:
    """Check what all passes are given, and return the pass."""
    steps = _steps(settings, x)
    _check_output(settings, x, y)
    _check_weights(settings, steps, weights)
    return Pass.make(handle, settings, steps, workspace, size)


def miopenGetRNNTempSpaceSizes(handle, rnn, x, fwdMode):
    work, reserve = sizes(handle, rnn, _steps(rnn, x))
    mode = parse(miopenRNNFWDMode_t, fwdMode, "fwdMode")
    return work, reserve if mode is miopenRNNFWDMode_t.miopenRNNTraining else 0


def miopenRNNForward(
    handle,
    rnn,
    fwdMode,
    xDesc,
    x,
    yDesc,
    y,
    hx,
    cx,
    hy,
    cy,
    w,
    weightSpaceSize,
    workSpace,
    workSpaceNumBytes,
    reserveSpace,
    reserveSpaceNumBytes,
):
    training = parse(miopenRNNFWDMode_t, fwdMode, "fwdMode") is miopenRNNFWDMode_t.miopenRNNTraining
    inside, outside = _sequences(xDesc, "xDesc"), _sequences(yDesc, "yDesc")
    run = _run(handle, rnn, inside, outside, weightSpaceSize, workSpace, workSpaceNumBytes)
    out = _gathered(handle, outside, y, "y", read=False)
    given = _gathered(handle, inside, x, "x")
    run.forward(training, given, hx, cx, w, out, hy, cy, reserveSpace, reserveSpaceNumBytes)
    _scatter(handle, outside, out, y)


def miopenRNNBackwardSeqData(
    handle,
    rnn,
    xDesc,
    dx,
    yDesc,
    y,
    dy,
    dhy,
    dcy,
    hx,
    cx,
    dhx,
    dcx,
    w,
    weightSpaceSize,
    workSpace,
    workSpaceNumBytes,
    reserveSpace,
    reserveSpaceNumBytes,
):
    inside, outside = _sequences(xDesc, "xDesc"), _sequences(yDesc, "yDesc")
    run = _run(handle, rnn, inside, outside, weightSpaceSize, workSpace, workSpaceNumBytes)
    out = _gathered(handle, inside, dx, "dx", read=False)
    kept = run.reserve(reserveSpace, reserveSpaceNumBytes)
    given = _gathered(handle, outside, y, "y"), _gathered(handle, outside, dy, "dy")
    run.backward_data((*given, dhy, dcy), w, (hx, cx), (out, dhx, dcx), kept)
    _scatter(handle, inside, out, dx)


def miopenRNNBackwardWeightsSeqTensor(
    handle,
    rnn,
    xDesc,
    x,
    hx,
    yDesc,
    y,
    dw,
    weightSpaceSize,
    workSpace,
    workSpaceNumBytes,
    reserveSpace,
    reserveSpaceNumBytes,
):
    inside, outside = _sequences(xDesc, "xDesc"), _sequences(yDesc, "yDesc")
    run = _run(handle, rnn, inside, outside, weightSpaceSize, workSpace, workSpaceNumBytes)
    kept = run.reserve(reserveSpace, reserveSpaceNumBytes)
    given = _gathered(handle, inside, x, "x"), _gathered(handle, outside, y, "y")
    run.backward_weights(given[0], hx, given[1], kept, dw)
