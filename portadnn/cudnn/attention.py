"""Multi-head attention (cuDNN 7.5 and later)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import portadnn as dnn

from ..arguments import as_integer, as_integers, as_real
from ..c_names.enumerations import CEnum
from ..descriptors import TensorView
from ..dispatch.problems import check_handle
from ..enums import DataType
from ..errors import BadParam, NotSupported, shown
from ..handle import Handle
from ..ops.attention.calls import group_of
from ..ops.attention.layout import AttnQueryMap, MultiHeadAttnWeightKind
from ..problem import TensorSpec
from .calls import Choice, c_value
from .convolution.descriptors import math_type
from .descriptors import Descriptor, DropoutDescriptor, TensorDescriptor, made, value_of
from .memory import raw, view
from .tensors import data_type

weight_kind = Choice("cudnnMultiHeadAttnWeightKind_t", MultiHeadAttnWeightKind)
_TIME, _BATCH, _BEAM, _VECT = range(4)  # cudnnSeqDataAxis_t
_BIASES = 2  # CUDNN_ATTN_ENABLE_PROJ_BIASES
_SET = 1  # CUDNN_WGRAD_MODE_SET


class SeqDataDescriptor(Descriptor):
    """A ``cudnnSeqDataDescriptor_t``."""

    what = "sequence data descriptor"
    made_by = "cudnnCreateSeqDataDescriptor"

    def __init__(self) -> None:
        self.views: dict[Any, Any] = {}


@dataclass(frozen=True)
class Sequences:
    """What such a descriptor says: dims of time, batch, beam and vector, their order in memory, and the lengths."""

    spec: TensorSpec
    axes: tuple[CEnum, ...]
    lengths: tuple[int, ...]
    padding: Any = None

    @property
    def whole(self) -> bool:
        """Whether every sequence has all steps."""
        return set(self.lengths) == {self.spec.dims[_TIME]}

    def step(self, place: int) -> TensorSpec:
        """Return the layout of one step."""
        return TensorSpec(self.spec.dtype, (1, *self.spec.dims[1:]), self.spec.strides)


def cudnnSetSeqDataDescriptor(
    seqDataDesc, dataType, nbDims, dimA, axes, seqLengthArraySize, seqLengthArray, paddingFill
):
    made(seqDataDesc, SeqDataDescriptor, "seqDataDesc")
    dtype = data_type(dataType, "dataType")
    if as_integer(nbDims, "nbDims", 1) != 4:
        raise BadParam(argument="nbDims", expected="4 (CUDNN_SEQDATA_DIM_COUNT)", got=nbDims)
    dims, order = as_integers(dimA, "dimA", 1)[:4], list(axes)[:4] if axes is not None else []
    kinds = tuple(c_value("cudnnSeqDataAxis_t", axis, "axes") for axis in order)
    if len(dims) < 4:
        raise BadParam(argument="dimA", expected="4 sizes", got=dims)
    if sorted(map(int, kinds)) != [0, 1, 2, 3]:
        raise BadParam(argument="axes", expected="each of the 4 axes once", got=shown(kinds))
    if kinds[3] != _VECT:
        raise NotSupported(argument="axes", expected="CUDNN_SEQDATA_VECT_DIM as the last", got=kinds[3].name)
    count = dims[_BATCH] * dims[_BEAM]
    if as_integer(seqLengthArraySize, "seqLengthArraySize", 1) != count:
        raise BadParam(argument="seqLengthArraySize", expected=f"{count}, sequences", got=seqLengthArraySize)
    lengths = as_integers(seqLengthArray, "seqLengthArray", 0)[:count]
    if len(lengths) < count or max(lengths) > dims[_TIME]:
        raise BadParam(argument="seqLengthArray", expected=f"{count} lengths of at most {dims[_TIME]}", got=lengths)
    if paddingFill is not None:
        as_real(paddingFill, "paddingFill")
    strides, step = [0] * 4, 1
    for axis in reversed(kinds):
        strides[axis] = step
        step *= dims[axis]
    spec = TensorSpec(dtype, dims, tuple(strides))
    seqDataDesc.value, seqDataDesc.views = Sequences(spec, kinds, lengths, paddingFill), {}


def cudnnGetSeqDataDescriptor(seqDataDesc, nbDimsRequested, seqLengthSizeRequested):
    value = _sequences(seqDataDesc, "seqDataDesc")
    dims = value.spec.dims[: as_integer(nbDimsRequested, "nbDimsRequested", 0)]
    lengths = value.lengths[: as_integer(seqLengthSizeRequested, "seqLengthSizeRequested", 0)]
    kind = data_type.c(value.spec.dtype)
    return kind, 4, dims, value.axes[: len(dims)], len(value.lengths), lengths, value.padding


def _sequences(descriptor: Any, name: str) -> Sequences:
    return value_of(descriptor, SeqDataDescriptor, name)


@dataclass(frozen=True)
class Settings:
    """What ``cudnnSetAttnDescriptor`` was given, in its order."""

    mode: int
    heads: int
    scaler: float
    dtype: DataType
    compute: DataType
    math: Any
    dropouts: tuple[DropoutDescriptor | None, DropoutDescriptor | None]
    sizes: tuple[int, int, int]
    projections: tuple[int, int, int, int]
    most: tuple[int, int, int, int]  # steps of queries, of keys; batch, beams

    @property
    def query_map(self) -> AttnQueryMap:
        """Which keys a beam's queries meet."""
        return AttnQueryMap(self.mode & 1)

    def attention(self) -> dnn.AttnDescriptor:
        """Return portadnn's descriptor; dropouts are as they were last set, as in C."""
        attention, post = (None if d is None else value_of(d, DropoutDescriptor, "dropoutDesc") for d in self.dropouts)
        how = (bool(self.mode & _BIASES), self.query_map, attention, post)
        return dnn.AttnDescriptor(self.heads, self.scaler, *self.projections, *how)

    @property
    def largest(self) -> list[TensorSpec]:
        """The largest queries, keys and values."""
        queries, keys, batch, beams = self.most
        own = beams if self.query_map is AttnQueryMap.ONE_TO_ONE else 1
        shapes = ((queries, beams), (keys, own), (keys, own))
        return [
            TensorSpec.packed(self.dtype, (steps, batch, many, size))
            for (steps, many), size in zip(shapes, self.sizes, strict=True)
        ]


class AttnDescriptor(Descriptor):
    """A ``cudnnAttnDescriptor_t``; `needed` remembers the bytes that its largest tensors need on a device."""

    what = "attention descriptor"
    made_by = "cudnnCreateAttnDescriptor"

    def __init__(self) -> None:
        self.views: dict[Any, Any] = {}
        self.needed: dict[Any, tuple[int, int, int]] = {}
        self.own: tuple[Any, Any] = (None, None)  # a dropout, and what stands for it; see _apart


def cudnnSetAttnDescriptor(
    attnDesc,
    attnMode,
    nHeads,
    smScaler,
    dataType,
    computePrec,
    mathType,
    attnDropoutDesc,
    postDropoutDesc,
    qSize,
    kSize,
    vSize,
    qProjSize,
    kProjSize,
    vProjSize,
    oProjSize,
    qoMaxSeqLength,
    kvMaxSeqLength,
    maxBatchSize,
    maxBeamSize,
):
    made(attnDesc, AttnDescriptor, "attnDesc")
    mode = as_integer(attnMode, "attnMode", 0)
    if mode > 3:
        raise BadParam(argument="attnMode", expected="a query map and whether there are biases", got=mode)
    scaler = as_real(smScaler, "smScaler")
    if not 0 <= scaler < float("inf"):
        raise BadParam(argument="smScaler", expected="a finite number >= 0", got=smScaler)
    dtype, compute = data_type(dataType, "dataType"), data_type(computePrec, "computePrec")
    if compute not in (dtype.accumulator, dtype):
        raise NotSupported(argument="computePrec", expected=f"{dtype.accumulator} for {dtype}", got=compute)
    for name, dropout in (("attnDropoutDesc", attnDropoutDesc), ("postDropoutDesc", postDropoutDesc)):
        if dropout is not None:
            value_of(dropout, DropoutDescriptor, name)
    sizes = {"qSize": qSize, "kSize": kSize, "vSize": vSize}
    projections = {"qProjSize": qProjSize, "kProjSize": kProjSize, "vProjSize": vProjSize, "oProjSize": oProjSize}
    most = {"qoMaxSeqLength": qoMaxSeqLength, "kvMaxSeqLength": kvMaxSeqLength}
    most |= {"maxBatchSize": maxBatchSize, "maxBeamSize": maxBeamSize}
    settings = Settings(
        mode,
        as_integer(nHeads, "nHeads", 1),
        scaler,
        dtype,
        compute,
        math_type(mathType, "mathType"),
        (attnDropoutDesc, postDropoutDesc),
        tuple(as_integer(value, name, 1) for name, value in sizes.items()),  # type: ignore[arg-type]
        tuple(as_integer(value, name, 0) for name, value in projections.items()),  # type: ignore[arg-type]
        tuple(as_integer(value, name, 1) for name, value in most.items()),  # type: ignore[arg-type]
    )
    query, key = (settings.projections[i] or settings.sizes[i] for i in range(2))
    if query != key:
        raise BadParam(argument="kProjSize", expected=f"keys of {query} numbers as queries", got=key)
    attnDesc.value, attnDesc.views, attnDesc.needed = settings, {}, {}


def cudnnGetAttnDescriptor(attnDesc):
    value: Settings = value_of(attnDesc, AttnDescriptor, "attnDesc")
    kinds = data_type.c(value.dtype), data_type.c(value.compute), math_type.c(value.math)
    return (
        *(value.mode, value.heads, value.scaler, *kinds, *value.dropouts),
        *(*value.sizes, *value.projections, *value.most),
    )


def _needed(handle: Handle, attnDesc: Any) -> tuple[Settings, tuple[int, int, int]]:
    settings: Settings = value_of(attnDesc, AttnDescriptor, "attnDesc")
    device = check_handle(handle).device
    found = attnDesc.needed.get(device)
    if found is None:
        found = dnn.get_multi_head_attn_buffers(handle, settings.attention(), *settings.largest)
        attnDesc.needed[device] = found
    return settings, found


def cudnnGetMultiHeadAttnBuffers(handle, attnDesc):
    return _needed(handle, attnDesc)[1]


def cudnnGetMultiHeadAttnWeights(handle, attnDesc, wKind, weightSizeInBytes, weights, wDesc):
    settings, _ = _needed(handle, attnDesc)
    made(wDesc, TensorDescriptor, "wDesc")
    kind = weight_kind(wKind, "wKind")
    memory = _weights(handle, attnDesc, settings, weights, weightSizeInBytes, "weights")
    first, spec = group_of(settings.attention().layout(settings.sizes), kind, settings.dtype)
    if spec is None or memory is None:
        wDesc.set(dnn.TensorDescriptor((0, 0, 0), settings.dtype))
        return None
    descriptor = dnn.TensorDescriptor(spec.dims, spec.dtype, strides=spec.strides)
    wDesc.set(descriptor)
    return handle.device.wrap(descriptor.view(memory, first), "weights")


def _weights(handle: Handle, attnDesc: Any, settings: Settings, memory: Any, size: Any, name: str) -> Any:
    """Return parameters as an array; None where there are none."""
    needed = _needed(handle, attnDesc)[1][0]
    if as_integer(size, "weightSizeInBytes", 0) < needed:
        raise BadParam(argument="weightSizeInBytes", expected=f"at least {needed}", got=size)
    if not needed:
        return None
    if memory is None:
        raise BadParam(argument=name, expected=f"memory of {needed} bytes", got="NULL")
    dims = (needed // settings.dtype.itemsize,)
    return view(handle, attnDesc.views, memory, TensorSpec.packed(settings.dtype, dims), name, dims)


def _check_size(value: Any, needed: int, name: str) -> None:
    if as_integer(value, name, 0) < needed:
        raise BadParam(argument=name, expected=f"at least {needed} bytes", got=value)


def _reserve(handle: Handle, memory: Any, size: Any, needed: int) -> Any:
    _check_size(size, needed, "reserveSpaceSizeInBytes")
    return raw(handle, memory, size, "reserveSpace", "reserveSpaceSizeInBytes")


def _data(handle: Handle, descriptor: Any, memory: Any, name: str, settings: Settings, which: int) -> Any:
    """Return sequences' memory, which fits the attention descriptor: queries (0), keys, values or outputs (3)."""
    value = _sequences(descriptor, f"{name}'s descriptor")
    queries, keys, batch, beams = settings.most
    steps = keys if which in (1, 2) else queries
    size = (*settings.sizes, settings.attention().layout(settings.sizes).out)[which]
    dims, dtype = value.spec.dims, value.spec.dtype
    if dtype is not settings.dtype or dims[_VECT] != size:
        raise BadParam(argument=name, expected=f"{settings.dtype} vectors of {size}", got=f"{dtype} of {dims[_VECT]}")
    if dims[_TIME] > steps or dims[_BATCH] > batch or dims[_BEAM] > beams:
        raise BadParam(argument=name, expected=f"at most {steps} steps, batch {batch}, beam {beams}", got=dims)
    if memory is None:
        raise BadParam(argument=name, expected=f"memory of {value.spec.size} elements", got="NULL")
    return view(handle, descriptor.views, memory, value.spec, name)


def _windows(lo: Any, hi: Any, queries: int, keys: int) -> Any:
    """Return both arrays of C; None where every query sees all keys."""
    found = []
    for values, name in ((lo, "loWinIdx"), (hi, "hiWinIdx")):
        numbers = as_integers(values, name, -(2**31))[:queries]
        if len(numbers) < queries or max(numbers) >= 2**31:
            raise BadParam(argument=name, expected=f"{queries} indices of keys", got=shown(numbers))
        found.append(numbers)
    if max(found[0]) <= 0 and min(found[1]) >= keys:
        return None
    return np.array(found, np.int32)


def _lengths(handle: Handle, memory: Any, count: int, name: str) -> Any:
    """Return lengths in device memory, or of a list."""
    if memory is None:
        raise BadParam(argument=name, expected=f"memory of {count} lengths", got="NULL")
    if isinstance(memory, (list, tuple)):
        return as_integers(memory, name, 0)[:count]
    return view(handle, {}, memory, TensorSpec.packed(DataType.INT32, (count,)), name)


def _step(handle: Handle, value: Sequences, array: Any, place: int) -> Any:
    """Return one step of sequences."""
    offset = place * value.spec.strides[_TIME]
    return handle.device.wrap(TensorView(value.step(place), array, offset), "data")


def _apart(handle: Handle, attnDesc: AttnDescriptor, attn: dnn.AttnDescriptor) -> dnn.AttnDescriptor:
    """Return a descriptor whose second dropout has states of its own, where both have the same: two draws need two."""
    first, post = attn.attn_dropout, attn.post_dropout
    if first is None or post is None or not (first.dropout and post.dropout) or first.states is None:
        return attn
    if handle.device.address(first.states) != handle.device.address(post.states):
        return attn
    if attnDesc.own[0] is not post:
        states = handle.empty_bytes(dnn.dropout_get_states_size(handle))
        attnDesc.own = post, dnn.set_dropout_descriptor(handle, post.dropout, states, (post.seed + 1) % 2**64)
    return replace(attn, post_dropout=attnDesc.own[1])


def cudnnMultiHeadAttnForward(
    handle,
    attnDesc,
    currIdx,
    loWinIdx,
    hiWinIdx,
    devSeqLengthsQO,
    devSeqLengthsKV,
    qDesc,
    queries,
    residuals,
    kDesc,
    keys,
    vDesc,
    values,
    oDesc,
    out,
    weightSizeInBytes,
    weights,
    workSpaceSizeInBytes,
    workSpace,
    reserveSpaceSizeInBytes,
    reserveSpace,
):
    settings, needed = _needed(handle, attnDesc)
    q = _data(handle, qDesc, queries, "queries", settings, 0)
    k = _data(handle, kDesc, keys, "keys", settings, 1)
    v = _data(handle, vDesc, values, "values", settings, 2)
    y = _data(handle, oDesc, out, "out", settings, 3)
    added = None if residuals is None else view(handle, oDesc.views, residuals, oDesc.value.spec, "residuals")
    w = _weights(handle, attnDesc, settings, weights, weightSizeInBytes, "weights")
    _check_size(workSpaceSizeInBytes, needed[1], "workSpaceSizeInBytes")
    training = reserveSpace is not None
    kept = _reserve(handle, reserveSpace, reserveSpaceSizeInBytes, needed[2]) if training else None
    steps, place = qDesc.value.spec.dims[_TIME], as_integer(currIdx, "currIdx", -(2**31))
    if place >= steps or (training and place >= 0):
        expected = "a negative number in training" if training else f"at most {steps - 1}"
        raise BadParam(argument="currIdx", expected=expected, got=place)
    windows = _windows(loWinIdx, hiWinIdx, steps if place < 0 else place + 1, kDesc.value.spec.dims[_TIME])
    count = [len(desc.value.lengths) for desc in (qDesc, kDesc)]
    lengths: list[Any] = [_lengths(handle, devSeqLengthsQO, count[0], "devSeqLengthsQO")]
    lengths.append(_lengths(handle, devSeqLengthsKV, count[1], "devSeqLengthsKV"))
    if place >= 0:
        q, y = _step(handle, qDesc.value, q, place), _step(handle, oDesc.value, y, place)
        added = None if added is None else _step(handle, oDesc.value, added, place)
        windows = None if windows is None else windows[:, place : place + 1].copy()
        lengths[0] = [int(place < length) for length in qDesc.value.lengths]
    options = {"lengths_q": lengths[0], "lengths_kv": lengths[1], "windows": windows, "residuals": added}
    attn = _apart(handle, attnDesc, settings.attention()) if training else settings.attention()
    dnn.multi_head_attn_forward(handle, q, k, v, w, attn, out=y, reserve=kept, **options)
    if oDesc.value.padding is not None and place < 0:
        _pad(handle, oDesc.value, y)


def _pad(handle: Handle, value: Sequences, array: Any) -> None:
    """Fill the steps behind the lengths with the padding."""
    steps, _, beams, size = value.spec.dims
    for place, length in enumerate(value.lengths):
        if length == steps:
            continue
        n, b = divmod(place, beams)
        first = sum(map(int.__mul__, (length, n, b), value.spec.strides[:3]))
        spec = TensorSpec(value.spec.dtype, (steps - length, 1, size), (value.spec.strides[_TIME], size, 1))
        tail = handle.device.wrap(TensorView(spec, array, first), "out")
        dnn.set_tensor(handle, tail, float(value.padding))


def cudnnMultiHeadAttnBackwardData(
    handle,
    attnDesc,
    loWinIdx,
    hiWinIdx,
    devSeqLengthsDQDO,
    devSeqLengthsDKDV,
    doDesc,
    dout,
    dqDesc,
    dqueries,
    queries,
    dkDesc,
    dkeys,
    keys,
    dvDesc,
    dvalues,
    values,
    weightSizeInBytes,
    weights,
    workSpaceSizeInBytes,
    workSpace,
    reserveSpaceSizeInBytes,
    reserveSpace,
):
    settings, needed = _needed(handle, attnDesc)
    above = _data(handle, doDesc, dout, "dout", settings, 3)
    given: list[Any] = []
    gradients: list[Any] = []
    for which, (desc, memory, gradient, name) in enumerate(
        (
            (dqDesc, queries, dqueries, "queries"),
            (dkDesc, keys, dkeys, "keys"),
            (dvDesc, values, dvalues, "values"),
        )
    ):
        given.append(_data(handle, desc, memory, name, settings, which))
        gradients.append(_data(handle, desc, gradient, f"d{name}", settings, which))
    w = _weights(handle, attnDesc, settings, weights, weightSizeInBytes, "weights")
    _check_size(workSpaceSizeInBytes, needed[1], "workSpaceSizeInBytes")
    kept = _reserve(handle, reserveSpace, reserveSpaceSizeInBytes, needed[2])
    windows = _windows(loWinIdx, hiWinIdx, *(desc.value.spec.dims[_TIME] for desc in (dqDesc, dkDesc)))
    options: dict[str, Any] = {
        "lengths_q": _lengths(handle, devSeqLengthsDQDO, len(dqDesc.value.lengths), "devSeqLengthsDQDO"),
        "lengths_kv": _lengths(handle, devSeqLengthsDKDV, len(dkDesc.value.lengths), "devSeqLengthsDKDV"),
        "windows": windows,
        **dict(zip(("dq", "dk", "dv"), gradients, strict=True)),
    }
    q, k, v = given
    dnn.multi_head_attn_backward_data(handle, above, q, k, v, w, settings.attention(), reserve=kept, **options)


def cudnnMultiHeadAttnBackwardWeights(
    handle,
    attnDesc,
    addGrad,
    qDesc,
    queries,
    kDesc,
    keys,
    vDesc,
    values,
    doDesc,
    dout,
    weightSizeInBytes,
    weights,
    dweights,
    workSpaceSizeInBytes,
    workSpace,
    reserveSpaceSizeInBytes,
    reserveSpace,
):
    settings, needed = _needed(handle, attnDesc)
    replace = c_value("cudnnWgradMode_t", addGrad, "addGrad") == _SET
    triples = ((qDesc, queries, "queries"), (kDesc, keys, "keys"), (vDesc, values, "values"))
    given = [_data(handle, desc, memory, name, settings, i) for i, (desc, memory, name) in enumerate(triples)]
    above = _data(handle, doDesc, dout, "dout", settings, 3)
    gradient = _weights(handle, attnDesc, settings, dweights, weightSizeInBytes, "dweights")
    _check_size(workSpaceSizeInBytes, needed[1], "workSpaceSizeInBytes")
    kept = _reserve(handle, reserveSpace, reserveSpaceSizeInBytes, needed[2])
    if gradient is None:
        return
    lengths = [None if desc.value.whole else list(desc.value.lengths) for desc in (qDesc, kDesc)]
    attn = settings.attention()
    options: dict[str, Any] = {"lengths_q": lengths[0], "lengths_kv": lengths[1]}
    if replace:
        dnn.set_tensor(handle, dnn.TensorDescriptor((1, 1, gradient.size), settings.dtype).view(gradient), 0.0)
    q, k, v = given
    dnn.multi_head_attn_backward_weights(handle, q, k, v, above, kept, attn, gradient, **options)
