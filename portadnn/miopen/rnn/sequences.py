"""Recurrent networks over padded or packed batches of sequences (MIOpen 3).

Sequences lie step by step without padding (miopenRNNDataSeqMajorNotPadded), as portadnn takes them; or padded, (steps,
batch, features) or (batch, steps, features), and are then copied together and back. Padded sequences may lie in any
order of lengths. A sequence may have no steps: MIOpen makes its final state and the gradient of its initial one 0.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, field, replace
from typing import Any

from ...arguments import as_real
from ...c_names.composed import check_output
from ...descriptors import TensorView
from ...dispatch.problems import check_handle
from ...enums import DataType
from ...errors import BadParam
from ...handle import Handle
from ...ops.rnn.unsorted import States, longest_first, runs
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
    marker: Any = field(default=None, compare=False)

    @property
    def batches(self) -> tuple[int, ...]:
        """The numbers of sequences of the steps."""
        return tuple(sum(length > t for length in self.lengths) for t in range(max(self.lengths)))

    @functools.cached_property
    def order(self) -> tuple[int, ...]:
        """The sequences, longest first."""
        return longest_first(self.lengths)

    @property
    def in_place(self) -> bool:
        """Whether they lie so."""
        return self.order == tuple(range(self.batch))

    @property
    def sorted(self) -> bool:
        """Whether they lie so, and each has a step."""
        return self.in_place and self.lengths[-1] > 0

    @property
    def count(self) -> int:
        """Number of sequences with steps."""
        return sum(length > 0 for length in self.lengths)

    @property
    def in_order(self) -> Sequences:
        """The same sequences, longest first and step by step, padded."""
        lengths = tuple(self.lengths[place] for place in self.order)
        return replace(self, layout=miopenRNNBaseLayout_t.miopenRNNDataSeqMajorPadded, lengths=lengths)

    @property
    def even(self) -> bool:
        """Whether all sequences are as long as memory is made for."""
        return min(self.lengths) == self.longest

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
    lengths = integers(sequenceLenArray, "sequenceLenArray", 0, batch)
    if named is miopenRNNBaseLayout_t.miopenRNNDataUnknownLayout:
        raise BadParam(argument="layout", expected="a known layout", got=named.name)
    if max(lengths) > longest:
        raise BadParam(argument="sequenceLenArray", expected=f"lengths up to {longest}", got=lengths)
    if named is _PACKED and any(a < b for a, b in itertools.pairwise(lengths)):
        raise BadParam(argument="sequenceLenArray", expected="without padding, sorted lengths", got=lengths)
    desc.value = Sequences(dtype, named, longest, batch, features, lengths, _marker(paddingMarker))


def _marker(value: Any) -> float | None:
    """Return the value of the padding, which MIOpen keeps and does not use."""
    if value is None:
        return None
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "size", 0) == 1:
        value = item()
    return as_real(value, "paddingMarker")


def miopenGetRNNDataSeqTensorDescriptor(seqTensor, sequenceLenArrayLimit):
    lengths = seqTensor.lengths[: integer(sequenceLenArrayLimit, "sequenceLenArrayLimit")]
    sizes = (seqTensor.longest, seqTensor.batch, seqTensor.features)
    return MIOPEN_TYPES[seqTensor.dtype], seqTensor.layout, *sizes, lengths, seqTensor.marker


def _steps(settings: RNNSettings, x: Sequences) -> Steps:
    if x.dtype is not DATA_TYPES[settings.data_type]:
        raise BadParam(argument="xDesc", expected=f"{settings.data_type.name}, as the network", got=x.dtype)
    return Steps(x.batches, x.features)


def gathered(handle: Handle, s: Sequences, data: Any, name: str, read: bool = True) -> Any:
    """Return sequences as portadnn takes them: the caller's memory, or a copy of what is in it if it is to be read."""
    steps = Steps(s.batches, s.features)
    spec = steps.spec(s.dtype, s.features)
    if s.layout is _PACKED:
        return view(handle, spec, data, name)
    whole, same = s.whole
    if s.even and same:
        return view(handle, spec, data, name)
    if not s.in_place:
        if not read:
            check_output(handle, view(handle, whole, data, name), name)
        return gathered(handle, s.in_order, _reordered(handle, s, data, name, read=read), name, read=read)
    packed = check_handle(handle).device.empty(spec)
    if read:
        if s.even:
            transform_tensor(handle, view(handle, whole, data, name), packed)
        else:
            for outside, inside in _pairs(s, data, packed):
                transform_tensor(handle, outside, inside)
    else:
        check_output(handle, view(handle, whole, data, name), name)
    return packed


def _reordered(handle: Handle, s: Sequences, data: Any, name: str, read: bool) -> Any:
    """Return memory for the sequences longest first, step by step and padded; filled if it is to be read."""
    spec, _ = s.in_order.whole
    array = check_handle(handle).device.empty(spec)
    if read:
        view(handle, s.whole[0], data, name)  # checks it
        for outside, inside in _whole_pairs(s, data, array):
            transform_tensor(handle, outside, inside)
    return array


def _whole_pairs(s: Sequences, data: Any, array: Any) -> list[tuple[TensorView, TensorView]]:
    """Return runs of sequences, with their padding, in the caller's memory and in that of :func:`_reordered`."""
    theirs, ours = s.whole[0].strides, s.in_order.whole[0].strides
    return [
        (
            TensorView(TensorSpec(s.dtype, (s.longest, rows, s.features), theirs), data, place * theirs[1]),
            TensorView(TensorSpec(s.dtype, (s.longest, rows, s.features), ours), array, to * ours[1]),
        )
        for place, to, rows in runs([(place, to) for to, place in enumerate(s.order)])
    ]


def _pairs(s: Sequences, data: Any, packed: Any) -> list[tuple[TensorView, TensorView]]:
    """Return each step in the padded and in the packed memory."""
    found, first = [], 0
    for t, count in enumerate(s.batches):
        spec, start = s.step(t, count)
        inside = TensorSpec.packed(s.dtype, (count, s.features, 1))
        found.append((TensorView(spec, data, start), TensorView(inside, packed, first * s.features)))
        first += count
    return found


def scatter(handle: Handle, s: Sequences, packed: Any, data: Any, zero: bool = True) -> None:
    """Copy sequences back to the caller's memory, whose padding becomes 0 with `zero`."""
    whole, same = s.whole
    if s.layout is _PACKED or (s.even and same):
        return
    if s.even:
        transform_tensor(handle, packed, TensorView(whole, data))
        return
    if not s.in_place:
        array = _reordered(handle, s, None, "", read=False)
        scatter(handle, s.in_order, packed, array)
        for outside, inside in _whole_pairs(s, data, array):
            transform_tensor(handle, inside, outside)
        return
    if zero:
        set_tensor(handle, TensorView(whole, data), 0.0)
    for outside, inside in _pairs(s, data, packed):
        transform_tensor(handle, inside, outside)


def _check_weights(settings: RNNSettings, steps: Steps, size: Any) -> None:
    network = settings.network(steps.features)
    needed = network.size * DATA_TYPES[settings.data_type].itemsize
    if integer(size, "weightSpaceSize") < needed:
        raise BadParam(argument="weightSpaceSize", expected=f"at least {needed} bytes", got=size)


def _check_output(settings: RNNSettings, x: Sequences, y: Sequences) -> None:
    width = settings.network(x.features).width
    if y.lengths != x.lengths or y.features != width or y.dtype is not x.dtype:
        raise BadParam(argument="yDesc", expected=f"the lengths {x.lengths} and vectors of {width}", got=str(y))


def _run(
    handle: Handle, settings: RNNSettings, x: Sequences, y: Sequences, weights: Any, workspace: Any, size: Any
) -> Pass | None:
    """Check what all passes are given, and return the pass; None where no sequence has a step."""
    steps = _steps(settings, x)
    _check_output(settings, x, y)
    _check_weights(settings, steps, weights)
    if not x.count:
        return None
    return Pass.make(handle, settings, steps, workspace, size)


def _clear(handle: Handle, s: Sequences, data: Any, name: str, *states: Any) -> None:
    """Write what passes over sequences without steps write: zeros."""
    arrays = [] if s.layout is _PACKED else [view(handle, s.whole[0], data, name)]
    for array in (*arrays, *(state for state in states if state is not None)):
        set_tensor(handle, array, 0.0)


def miopenGetRNNTempSpaceSizes(handle, rnn, x, fwdMode):
    steps = _steps(rnn, x)
    mode = parse(miopenRNNFWDMode_t, fwdMode, "fwdMode")
    if not x.count:
        return 0, 0
    work, reserve = sizes(handle, rnn, steps)
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
    if run is None:
        _clear(handle, outside, y, "y", hy, cy)
        return
    out = gathered(handle, outside, y, "y", read=False)
    given = gathered(handle, inside, x, "x")
    states = States(handle, inside)
    (own_hx, own_cx), (own_hy, own_cy) = states.read(hx, cx), states.room(hy, cy)
    run.forward(training, given, own_hx, own_cx, w, out, own_hy, own_cy, reserveSpace, reserveSpaceNumBytes)
    states.write(hy, own_hy, None)
    states.write(cy, own_cy, None)
    scatter(handle, outside, out, y)


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
    if run is None:
        _clear(handle, inside, dx, "dx", dhx, dcx)
        return
    out = gathered(handle, inside, dx, "dx", read=False)
    kept = run.reserve(reserveSpace, reserveSpaceNumBytes)
    given = gathered(handle, outside, y, "y"), gathered(handle, outside, dy, "dy")
    states = States(handle, inside)
    own_dhx, own_dcx = states.room(dhx, dcx)
    run.backward_data((*given, *states.read(dhy, dcy)), w, tuple(states.read(hx, cx)), (out, own_dhx, own_dcx), kept)
    states.write(dhx, own_dhx, None)
    states.write(dcx, own_dcx, None)
    scatter(handle, inside, out, dx)


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
    if run is None:
        return
    kept = run.reserve(reserveSpace, reserveSpaceNumBytes)
    given = gathered(handle, inside, x, "x"), gathered(handle, outside, y, "y")
    (own_hx,) = States(handle, inside).read(hx)
    run.backward_weights(given[0], own_hx, given[1], kept, dw)
