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
    creator,
    destroy,
    made,
    miopenTensorDescriptor_t,
    value_of,
    view,
)
from ..enums import miopenDataType_t, miopenRNNBaseLayout_t, miopenRNNFWDMode_t
from ..names import function, integer, integers, parse, unified
from .descriptor import RNNSettings, miopenRNNDescriptor_t, rnn_settings
from .passes import Pass, Steps, sizes

Desc = miopenTensorDescriptor_t
RNN = miopenRNNDescriptor_t
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


Seq = miopenSeqTensorDescriptor_t


def _sequences(desc: Any, argument: str) -> Sequences:
    return value_of(desc, miopenSeqTensorDescriptor_t, argument)  # type: ignore[no-any-return]


miopenCreateSeqTensorDescriptor = creator("miopenCreateSeqTensorDescriptor", miopenSeqTensorDescriptor_t)


@function
def miopenDestroySeqTensorDescriptor(tensorDesc: Seq) -> None:
    """Destroy a descriptor."""
    destroy(tensorDesc, miopenSeqTensorDescriptor_t, "tensorDesc")


@function
def miopenSetRNNDataSeqTensorDescriptor(
    seqTensorDesc: Seq,
    dataType: Any,
    layout: Any,
    maxSequenceLen: int,
    batchSize: int,
    vectorSize: int,
    sequenceLenArray: Any,
    paddingMarker: Any,
) -> None:
    """Describe a batch of sequences, sorted from the longest to the shortest; paddingMarker is None, as in MIOpen."""
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


@function
def miopenGetRNNDataSeqTensorDescriptor(
    seqTensorDesc: Seq, sequenceLenArrayLimit: int
) -> tuple[miopenDataType_t, miopenRNNBaseLayout_t, int, int, int, tuple[int, ...], None]:
    """Return (dataType, layout, maxSequenceLen, batchSize, vectorSize, sequenceLenArray, None).

    The sequenceLenArray has its first `sequenceLenArrayLimit` values.
    """
    s = _sequences(seqTensorDesc, "seqTensorDesc")
    lengths = s.lengths[: integer(sequenceLenArrayLimit, "sequenceLenArrayLimit")]
    return MIOPEN_TYPES[s.dtype], s.layout, s.longest, s.batch, s.features, lengths, None


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


@function
def miopenGetRNNTempSpaceSizes(handle: Handle, rnnDesc: RNN, xDesc: Seq, fwdMode: Any) -> tuple[int, int]:
    """Return the bytes of (workspace, reserve space); inference needs no reserve space."""
    settings = rnn_settings(rnnDesc)
    work, reserve = sizes(handle, settings, _steps(settings, _sequences(xDesc, "xDesc")))
    mode = parse(miopenRNNFWDMode_t, fwdMode, "fwdMode")
    return work, reserve if mode is miopenRNNFWDMode_t.miopenRNNTraining else 0


@function
def miopenRNNForward(
    handle: Handle,
    rnnDesc: RNN,
    fwdMode: Any,
    xDesc: Seq,
    x: Any,
    hDesc: Desc,
    hx: Any,
    hy: Any,
    cDesc: Desc,
    cx: Any,
    cy: Any,
    yDesc: Seq,
    y: Any,
    w: Any,
    weightSpaceSize: int,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> None:
    """Run a network over a batch of sequences, for training or inference; padding of y becomes 0."""
    settings = rnn_settings(rnnDesc)
    training = parse(miopenRNNFWDMode_t, fwdMode, "fwdMode") is miopenRNNFWDMode_t.miopenRNNTraining
    inside, outside = _sequences(xDesc, "xDesc"), _sequences(yDesc, "yDesc")
    steps = _steps(settings, inside)
    _check_output(settings, inside, outside)
    _check_weights(settings, steps, weightSpaceSize)
    run = Pass.make(handle, settings, steps, workSpace, workSpaceNumBytes)
    out = _gathered(handle, outside, y, "y", read=False)
    states = run.state(hDesc, hx, "hx", "hDesc"), run.state(cDesc, cx, "cx", "cDesc")
    last = run.state(hDesc, hy, "hy", "hDesc"), run.state(cDesc, cy, "cy", "cDesc")
    given = _gathered(handle, inside, x, "x")
    run.forward(training, given, *states, w, out, *last, reserveSpace, reserveSpaceNumBytes)
    _scatter(handle, outside, out, y)


@function
def miopenRNNBackwardSeqData(
    handle: Handle,
    rnnDesc: RNN,
    yDesc: Seq,
    y: Any,
    dy: Any,
    hDesc: Desc,
    hx: Any,
    dhy: Any,
    dhx: Any,
    cDesc: Desc,
    cx: Any,
    dcy: Any,
    dcx: Any,
    xDesc: Seq,
    dx: Any,
    w: Any,
    weightSpaceSize: int,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> None:
    """Compute the gradients by the input and the first states; padding of dx becomes 0."""
    settings = rnn_settings(rnnDesc)
    inside, outside = _sequences(xDesc, "xDesc"), _sequences(yDesc, "yDesc")
    steps = _steps(settings, inside)
    _check_output(settings, inside, outside)
    _check_weights(settings, steps, weightSpaceSize)
    run = Pass.make(handle, settings, steps, workSpace, workSpaceNumBytes)
    out = _gathered(handle, inside, dx, "dx", read=False)
    changes = run.state(hDesc, dhy, "dhy", "hDesc"), run.state(cDesc, dcy, "dcy", "cDesc")
    states = run.state(hDesc, hx, "hx", "hDesc"), run.state(cDesc, cx, "cx", "cDesc")
    first = run.state(hDesc, dhx, "dhx", "hDesc"), run.state(cDesc, dcx, "dcx", "cDesc")
    kept = run.reserve(reserveSpace, reserveSpaceNumBytes)
    given = _gathered(handle, outside, y, "y"), _gathered(handle, outside, dy, "dy")
    run.backward_data((*given, *changes), w, states, (out, *first), kept)
    _scatter(handle, inside, out, dx)


@function
def miopenRNNBackwardWeightsSeqTensor(
    handle: Handle,
    rnnDesc: RNN,
    xDesc: Seq,
    x: Any,
    hDesc: Desc,
    hx: Any,
    yDesc: Seq,
    y: Any,
    dw: Any,
    weightSpaceSize: int,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> None:
    """Add the gradient by the parameters to dw."""
    settings = rnn_settings(rnnDesc)
    inside, outside = _sequences(xDesc, "xDesc"), _sequences(yDesc, "yDesc")
    steps = _steps(settings, inside)
    _check_output(settings, inside, outside)
    _check_weights(settings, steps, weightSpaceSize)
    run = Pass.make(handle, settings, steps, workSpace, workSpaceNumBytes)
    kept = run.reserve(reserveSpace, reserveSpaceNumBytes)
    hidden = run.state(hDesc, hx, "hx", "hDesc")
    given = _gathered(handle, inside, x, "x"), _gathered(handle, outside, y, "y")
    run.backward_weights(given[0], hidden, given[1], kept, dw)
