"""Descriptors of sequences for recurrent networks, and memory in their layouts (cuDNN 7.2 and later)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import portadnn as dnn

from ...arguments import as_integer, as_integers, as_real
from ...c_names.composed import check_output
from ...c_names.enumerations import CEnum
from ...descriptors import TensorView
from ...dispatch.problems import check_handle
from ...enums import DataType
from ...errors import BadParam
from ...handle import Handle
from ...ops.rnn.unsorted import longest_first, runs
from ...problem import TensorSpec
from ..calls import c_value
from ..descriptors import Descriptor, made, value_of
from ..memory import view
from ..tensors import data_type

SEQ_MAJOR_UNPACKED, SEQ_MAJOR_PACKED, BATCH_MAJOR_UNPACKED = range(3)  # cudnnRNNDataLayout_t


@dataclass(frozen=True)
class Sequences:
    """What an RNN data descriptor says.

    Attributes
    ----------
    dtype, layout, steps, batch, features
        Its arguments.
    lengths : tuple of int
        Of each sequence.
    padding : object
        What C's `paddingFill` points to, or None.
    """

    dtype: DataType
    layout: CEnum
    steps: int
    batch: int
    features: int
    lengths: tuple[int, ...]
    padding: Any = None
    uniform: bool = field(init=False)
    order: tuple[int, ...] = field(init=False)  # the sequences, longest first; those without steps last

    def __post_init__(self) -> None:
        object.__setattr__(self, "uniform", set(self.lengths) == {self.steps})
        object.__setattr__(self, "order", longest_first(self.lengths))

    @property
    def sorted(self) -> bool:
        """Whether the sequences lie longest first, each with a step: as portadnn's networks take them."""
        return self.order == tuple(range(self.batch)) and self.lengths[-1] > 0

    @property
    def count(self) -> int:
        """Number of sequences that have steps."""
        return sum(length > 0 for length in self.lengths)

    @property
    def batches(self) -> tuple[int, ...] | None:
        """The numbers of sequences not yet over at each step; None where all are as long."""
        if self.uniform:
            return None
        return tuple(sum(length > t for length in self.lengths) for t in range(max(self.lengths)))

    @property
    def spec(self) -> TensorSpec:
        """The layout that portadnn's networks take."""
        if self.uniform:
            return TensorSpec.packed(self.dtype, (self.steps, self.batch, self.features))
        return TensorSpec.packed(self.dtype, (sum(self.lengths), self.features, 1))


class RNNDataDescriptor(Descriptor):
    """A ``cudnnRNNDataDescriptor_t``."""

    what = "RNN data descriptor"
    made_by = "cudnnCreateRNNDataDescriptor"

    def __init__(self) -> None:
        self.views: dict[Any, Any] = {}


def cudnnSetRNNDataDescriptor(
    RNNDataDesc, dataType, layout, maxSeqLength, batchSize, vectorSize, seqLengthArray, paddingFill
):
    made(RNNDataDesc, RNNDataDescriptor, "RNNDataDesc")
    steps, batch = as_integer(maxSeqLength, "maxSeqLength", 1), as_integer(batchSize, "batchSize", 1)
    how = c_value("cudnnRNNDataLayout_t", layout, "layout")
    lengths = as_integers(seqLengthArray, "seqLengthArray", 1 if how == SEQ_MAJOR_PACKED else 0)[:batch]
    if len(lengths) < batch or max(lengths) > steps:
        raise BadParam(argument="seqLengthArray", expected=f"{batch} lengths of at most {steps}", got=lengths)
    dtype, features = data_type(dataType, "dataType"), as_integer(vectorSize, "vectorSize", 1)
    if paddingFill is not None:
        as_real(paddingFill, "paddingFill")
    if how == SEQ_MAJOR_PACKED and list(lengths) != sorted(lengths, reverse=True):
        raise BadParam(argument="seqLengthArray", expected="lengths that never increase", got=lengths)
    value = Sequences(dtype, how, steps, batch, features, lengths, paddingFill)
    RNNDataDesc.value, RNNDataDesc.views = value, {}


def cudnnGetRNNDataDescriptor(RNNData, arrayLengthRequested):
    lengths = RNNData.lengths[: as_integer(arrayLengthRequested, "arrayLengthRequested", 0)]
    sizes = (RNNData.steps, RNNData.batch, RNNData.features)
    return (data_type.c(RNNData.dtype), RNNData.layout, *sizes, lengths, RNNData.padding)


def data_value(descriptor: Any, name: str) -> Sequences:
    """Return what a descriptor says of sequences."""
    return value_of(descriptor, RNNDataDescriptor, name)


def data_like(first: Any, other: Any, name: str) -> None:
    """Demand sequences of the same lengths as those of `first`."""
    if first.lengths != other.lengths or first.steps != other.steps or first.dtype is not other.dtype:
        raise BadParam(
            argument=name,
            expected=f"{first.dtype} sequences of {first.lengths} steps",
            got=f"{other.dtype} of {other.lengths}",
        )


def _nothing() -> None:
    """There is nothing to copy back."""


def data(
    handle: Handle, descriptor: Any, memory: Any, name: str, desc: str, read: bool = True
) -> tuple[Any, Callable[[], None]]:
    """Return sequences as portadnn's networks take them, and what is to be called once they were written.

    Batch-major and padded memory is copied: from it where it is read, and back to it.
    """
    value = data_value(descriptor, desc)
    spec = value.spec
    if not value.count:
        return None, lambda: _fill(handle, value, view(handle, descriptor.views, memory, _padded(value), name))
    if memory is None:
        raise BadParam(argument=name, expected=f"memory of {spec.size} elements", got="NULL")
    if value.layout == SEQ_MAJOR_PACKED or (value.uniform and value.layout == SEQ_MAJOR_UNPACKED):
        return view(handle, descriptor.views, memory, spec, name), _nothing
    padded = _padded(value)
    own = view(handle, descriptor.views, memory, padded, name)
    device = check_handle(handle).device
    packed = device.empty(spec)
    between, columns = (own, padded) if value.sorted else _reordered(handle, value, own, padded, read=read)
    if read:
        for theirs, ours in _steps(handle, value, columns, between, packed):
            dnn.transform_tensor(handle, theirs, ours)
    else:
        check_output(handle, own, name)

    def back() -> None:
        _fill(handle, value, own)
        for theirs, ours in _steps(handle, value, columns, between, packed):
            dnn.transform_tensor(handle, ours, theirs)
        if not value.sorted:
            _put_back(handle, value, own, padded, between, columns)

    return packed, back


def _fill(handle: Handle, value: Sequences, own: Any) -> None:
    """Write the padding to all steps, before the sequences' own follow."""
    if value.padding is not None and not value.uniform:
        dnn.set_tensor(handle, own, float(value.padding))


def _columns(handle: Handle, value: Sequences, array: Any, spec: TensorSpec, first: int, rows: int, steps: int) -> Any:
    """Return `steps` steps of `rows` sequences from number `first` on."""
    part = TensorSpec(spec.dtype, (steps, rows, value.features), spec.strides)
    return handle.device.wrap(TensorView(part, array, first * spec.strides[1]), "data")


def _reordered(handle: Handle, value: Sequences, own: Any, padded: TensorSpec, *, read: bool) -> tuple[Any, TensorSpec]:
    """Return memory for the sequences with steps, longest first, filled where it is read, and its layout."""
    spec = TensorSpec.packed(value.dtype, (max(value.lengths), value.count, value.features))
    array = handle.device.empty(spec)
    if read:
        for from_, to, rows in runs([(value.order[place], place) for place in range(value.count)]):
            steps = spec.dims[0]
            theirs = _columns(handle, value, own, padded, from_, rows, steps)
            dnn.transform_tensor(handle, theirs, _columns(handle, value, array, spec, to, rows, steps))
    return array, spec


def _put_back(handle: Handle, value: Sequences, own: Any, padded: TensorSpec, array: Any, spec: TensorSpec) -> None:
    """Write sequences in their order, each as far as it goes."""
    for place in range(value.count):
        at = value.order[place]
        steps = value.lengths[at]
        theirs = _columns(handle, value, own, padded, at, 1, steps)
        dnn.transform_tensor(handle, _columns(handle, value, array, spec, place, 1, steps), theirs)


def _padded(value: Sequences) -> TensorSpec:
    """Return the layout of unpacked memory as dims (steps, batch, features)."""
    dims = (value.steps, value.batch, value.features)
    if value.layout == SEQ_MAJOR_UNPACKED:
        return TensorSpec.packed(value.dtype, dims)
    return TensorSpec(value.dtype, dims, (value.features, value.steps * value.features, 1))


def _steps(handle: Handle, value: Sequences, padded: TensorSpec, own: Any, packed: Any) -> Iterator[tuple[Any, Any]]:
    """Return pairs of the same numbers in both layouts: everything at once, or the rows of each step."""
    if value.batches is None:
        yield own, packed
        return
    wrap, first = handle.device.wrap, 0
    after, between, _ = padded.strides
    for step, rows in enumerate(value.batches):
        dims = (rows, value.features, 1)
        theirs = TensorSpec(value.dtype, dims, (between, 1, 1))
        yield (
            wrap(TensorView(theirs, own, step * after), "data"),
            wrap(TensorView(TensorSpec.packed(value.dtype, dims), packed, first * value.features), "data"),
        )
        first += rows
