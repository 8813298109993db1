"""RNN, padded sequences: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..descriptors import destroy, miopenTensorDescriptor_t, optional, value_of
from ..names import function
from ..rnn.descriptor import miopenRNNDescriptor_t
from ..rnn.sequences import (
    miopenGetRNNDataSeqTensorDescriptor as _GetRNNDataSeqTensorDescriptor,
    miopenGetRNNTempSpaceSizes as _GetRNNTempSpaceSizes,
    miopenRNNBackwardSeqData as _RNNBackwardSeqData,
    miopenRNNBackwardWeightsSeqTensor as _RNNBackwardWeightsSeqTensor,
    miopenRNNForward as _RNNForward,
    miopenSeqTensorDescriptor_t,
    miopenSetRNNDataSeqTensorDescriptor as _SetRNNDataSeqTensorDescriptor,
)
from .enums import miopenDataType_t, miopenRNNBaseLayout_t


@function
def miopenCreateSeqTensorDescriptor() -> miopenSeqTensorDescriptor_t:
    """Return tensorDesc (since 3.0.0).

    C: ``miopenStatus_t miopenCreateSeqTensorDescriptor(miopenSeqTensorDescriptor_t *tensorDesc)``

    In cuDNN: ``cudnnCreateRNNDataDescriptor``; what a port changes: renames RNNDataDesc -> tensorDesc; RNNDataDesc: cudnnRNNDataDescriptor_t * -> miopenSeqTensorDescriptor_t *.
    """
    return miopenSeqTensorDescriptor_t()


@function
def miopenDestroySeqTensorDescriptor(tensorDesc: miopenSeqTensorDescriptor_t) -> None:
    """Destroy a descriptor.

    Return nothing (since 3.0.0).

    C: ``miopenStatus_t miopenDestroySeqTensorDescriptor(miopenSeqTensorDescriptor_t tensorDesc)``

    In cuDNN: ``cudnnDestroyRNNDataDescriptor``; what a port changes: renames RNNDataDesc -> tensorDesc; RNNDataDesc: cudnnRNNDataDescriptor_t -> miopenSeqTensorDescriptor_t.
    """
    destroy(tensorDesc, miopenSeqTensorDescriptor_t, "tensorDesc")


@function
def miopenSetRNNDataSeqTensorDescriptor(
    seqTensorDesc: miopenSeqTensorDescriptor_t,
    dataType: int,
    layout: int,
    maxSequenceLen: int,
    batchSize: int,
    vectorSize: int,
    sequenceLenArray: Any,
    paddingMarker: Any,
) -> None:
    """Describe a batch of sequences, without padding sorted from the longest to the shortest; a length may be 0. paddingMarker is kept and not used, as in MIOpen.

    Return nothing (since 3.0.0).

    C: ``miopenStatus_t miopenSetRNNDataSeqTensorDescriptor(miopenSeqTensorDescriptor_t seqTensorDesc, miopenDataType_t dataType, miopenRNNBaseLayout_t layout, int maxSequenceLen, int batchSize, int vectorSize, const int *sequenceLenArray, void *paddingMarker)``

    In cuDNN: ``cudnnSetRNNDataDescriptor``; what a port changes: renames RNNDataDesc -> seqTensorDesc, maxSeqLength -> maxSequenceLen, seqLengthArray -> sequenceLenArray, paddingFill -> paddingMarker; RNNDataDesc: cudnnRNNDataDescriptor_t -> miopenSeqTensorDescriptor_t.
    """
    _SetRNNDataSeqTensorDescriptor(
        seqTensorDesc, dataType, layout, maxSequenceLen, batchSize, vectorSize, sequenceLenArray, paddingMarker
    )


@function
def miopenGetRNNDataSeqTensorDescriptor(
    seqTensorDesc: miopenSeqTensorDescriptor_t, sequenceLenArrayLimit: int
) -> tuple[miopenDataType_t, miopenRNNBaseLayout_t, int, int, int, int, Any]:
    """Return (dataType, layout, maxSequenceLen, batchSize, vectorSize, sequenceLenArray, None).

    Return (dataType, layout, maxSequenceLen, batchSize, vectorSize, sequenceLenArray, paddingMarker) (since 3.0.0).

    C: ``miopenStatus_t miopenGetRNNDataSeqTensorDescriptor(miopenSeqTensorDescriptor_t seqTensorDesc, miopenDataType_t *dataType, miopenRNNBaseLayout_t *layout, int *maxSequenceLen, int *batchSize, int *vectorSize, int sequenceLenArrayLimit, int *sequenceLenArray, void *paddingMarker)``

    In cuDNN: ``cudnnGetRNNDataDescriptor``; what a port changes: renames RNNDataDesc -> seqTensorDesc, maxSeqLength -> maxSequenceLen, arrayLengthRequested -> sequenceLenArrayLimit, seqLengthArray -> sequenceLenArray, paddingFill -> paddingMarker; RNNDataDesc: cudnnRNNDataDescriptor_t -> miopenSeqTensorDescriptor_t.

    The sequenceLenArray has its first `sequenceLenArrayLimit` values.
    """
    return _GetRNNDataSeqTensorDescriptor(
        value_of(seqTensorDesc, miopenSeqTensorDescriptor_t, "seqTensorDesc"), sequenceLenArrayLimit
    )


@function
def miopenGetRNNTempSpaceSizes(
    handle: Handle, rnnDesc: miopenRNNDescriptor_t, xDesc: miopenSeqTensorDescriptor_t, fwdMode: int
) -> tuple[int, int]:
    """Return the bytes of (workspace, reserve space); inference needs no reserve space.

    Return (workSpaceSize, reserveSpaceSize) (since 3.0.0).

    C: ``miopenStatus_t miopenGetRNNTempSpaceSizes(miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, miopenSeqTensorDescriptor_t xDesc, miopenRNNFWDMode_t fwdMode, size_t *workSpaceSize, size_t *reserveSpaceSize)``

    In cuDNN: ``cudnnGetRNNTempSpaceSizes``; what a port changes: moves xDesc; renames fMode -> fwdMode; xDesc: cudnnRNNDataDescriptor_t -> miopenSeqTensorDescriptor_t; in the newest versions: moves xDesc; xDesc: cudnnRNNDataDescriptor_t -> miopenSeqTensorDescriptor_t.
    """
    return _GetRNNTempSpaceSizes(
        handle,
        value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"),
        value_of(xDesc, miopenSeqTensorDescriptor_t, "xDesc"),
        fwdMode,
    )


@function
def miopenRNNForward(
    handle: Handle,
    rnnDesc: miopenRNNDescriptor_t,
    fwdMode: int,
    xDesc: miopenSeqTensorDescriptor_t,
    x: Any,
    hDesc: miopenTensorDescriptor_t,
    hx: Any,
    hy: Any,
    cDesc: miopenTensorDescriptor_t,
    cx: Any,
    cy: Any,
    yDesc: miopenSeqTensorDescriptor_t,
    y: Any,
    w: Any,
    weightSpaceSize: int,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> None:
    """Run a network over a batch of sequences, for training or inference; padding of y becomes 0.

    Return nothing (since 3.0.0).

    C: ``miopenStatus_t miopenRNNForward(miopenHandle_t handle, const miopenRNNDescriptor_t rnnDesc, miopenRNNFWDMode_t fwdMode, const miopenSeqTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t hDesc, const void *hx, void *hy, const miopenTensorDescriptor_t cDesc, const void *cx, void *cy, const miopenSeqTensorDescriptor_t yDesc, void *y, const void *w, size_t weightSpaceSize, void *workSpace, size_t workSpaceNumBytes, void *reserveSpace, size_t reserveSpaceNumBytes)``

    In cuDNN: ``cudnnRNNForward``; what a port changes: drops devSeqLengths; moves yDesc, y, weightSpace, workSpace, reserveSpace; renames weightSpace -> w, workSpaceSize -> workSpaceNumBytes, reserveSpaceSize -> reserveSpaceNumBytes; xDesc: cudnnRNNDataDescriptor_t -> const miopenSeqTensorDescriptor_t; yDesc: cudnnRNNDataDescriptor_t -> const miopenSeqTensorDescriptor_t.
    """
    _RNNForward(
        handle,
        value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"),
        fwdMode,
        xDesc,
        x,
        yDesc,
        y,
        optional(handle, hDesc, hx, "hx", "hDesc"),
        optional(handle, cDesc, cx, "cx", "cDesc"),
        optional(handle, hDesc, hy, "hy", "hDesc"),
        optional(handle, cDesc, cy, "cy", "cDesc"),
        w,
        weightSpaceSize,
        workSpace,
        workSpaceNumBytes,
        reserveSpace,
        reserveSpaceNumBytes,
    )


@function
def miopenRNNBackwardSeqData(
    handle: Handle,
    rnnDesc: miopenRNNDescriptor_t,
    yDesc: miopenSeqTensorDescriptor_t,
    y: Any,
    dy: Any,
    hDesc: miopenTensorDescriptor_t,
    hx: Any,
    dhy: Any,
    dhx: Any,
    cDesc: miopenTensorDescriptor_t,
    cx: Any,
    dcy: Any,
    dcx: Any,
    xDesc: miopenSeqTensorDescriptor_t,
    dx: Any,
    w: Any,
    weightSpaceSize: int,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> None:
    """Compute the gradients by the input and the first states; padding of dx becomes 0.

    Return nothing (since 3.0.0).

    C: ``miopenStatus_t miopenRNNBackwardSeqData(miopenHandle_t handle, const miopenRNNDescriptor_t rnnDesc, const miopenSeqTensorDescriptor_t yDesc, const void *y, const void *dy, const miopenTensorDescriptor_t hDesc, const void *hx, const void *dhy, void *dhx, const miopenTensorDescriptor_t cDesc, const void *cx, const void *dcy, void *dcx, const miopenSeqTensorDescriptor_t xDesc, void *dx, const void *w, size_t weightSpaceSize, void *workSpace, size_t workSpaceNumBytes, void *reserveSpace, size_t reserveSpaceNumBytes)``

    In cuDNN: ``cudnnRNNBackwardData_v8``; what a port changes: drops devSeqLengths; moves xDesc, dx, weightSpace, workSpace, reserveSpace; renames weightSpace -> w, workSpaceSize -> workSpaceNumBytes, reserveSpaceSize -> reserveSpaceNumBytes; yDesc: cudnnRNNDataDescriptor_t -> const miopenSeqTensorDescriptor_t; xDesc: cudnnRNNDataDescriptor_t -> const miopenSeqTensorDescriptor_t.
    """
    _RNNBackwardSeqData(
        handle,
        value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"),
        xDesc,
        dx,
        yDesc,
        y,
        dy,
        optional(handle, hDesc, dhy, "dhy", "hDesc"),
        optional(handle, cDesc, dcy, "dcy", "cDesc"),
        optional(handle, hDesc, hx, "hx", "hDesc"),
        optional(handle, cDesc, cx, "cx", "cDesc"),
        optional(handle, hDesc, dhx, "dhx", "hDesc"),
        optional(handle, cDesc, dcx, "dcx", "cDesc"),
        w,
        weightSpaceSize,
        workSpace,
        workSpaceNumBytes,
        reserveSpace,
        reserveSpaceNumBytes,
    )


@function
def miopenRNNBackwardWeightsSeqTensor(
    handle: Handle,
    rnnDesc: miopenRNNDescriptor_t,
    xDesc: miopenSeqTensorDescriptor_t,
    x: Any,
    hDesc: miopenTensorDescriptor_t,
    hx: Any,
    yDesc: miopenSeqTensorDescriptor_t,
    y: Any,
    dw: Any,
    weightSpaceSize: int,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> None:
    """Add the gradient by the parameters to dw.

    Return nothing (since 3.0.0).

    C: ``miopenStatus_t miopenRNNBackwardWeightsSeqTensor(miopenHandle_t handle, const miopenRNNDescriptor_t rnnDesc, const miopenSeqTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t hDesc, const void *hx, const miopenSeqTensorDescriptor_t yDesc, const void *y, void *dw, size_t weightSpaceSize, void *workSpace, size_t workSpaceNumBytes, const void *reserveSpace, size_t reserveSpaceNumBytes)``

    In cuDNN: ``cudnnRNNBackwardWeights_v8``; what a port changes: drops addGrad, devSeqLengths; moves dweightSpace, workSpace, reserveSpace; renames dweightSpace -> dw, workSpaceSize -> workSpaceNumBytes, reserveSpaceSize -> reserveSpaceNumBytes; xDesc: cudnnRNNDataDescriptor_t -> const miopenSeqTensorDescriptor_t; yDesc: cudnnRNNDataDescriptor_t -> const miopenSeqTensorDescriptor_t.
    """
    _RNNBackwardWeightsSeqTensor(
        handle,
        value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"),
        xDesc,
        x,
        optional(handle, hDesc, hx, "hx", "hDesc"),
        yDesc,
        y,
        dw,
        weightSpaceSize,
        workSpace,
        workSpaceNumBytes,
        reserveSpace,
        reserveSpaceNumBytes,
    )
