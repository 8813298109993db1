"""RNN, padded sequences: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..calls import c_function
from ..descriptors import FilterDescriptor, TensorDescriptor, destroy, value_of
from ..memory import filter_, optional, raw, scratch
from ..rnn.data import (
    RNNDataDescriptor,
    cudnnGetRNNDataDescriptor as _GetRNNDataDescriptor,
    cudnnSetRNNDataDescriptor as _SetRNNDataDescriptor,
)
from ..rnn.descriptors import RNNDescriptor
from ..rnn.ex import (
    cudnnRNNBackwardDataEx as _RNNBackwardDataEx,
    cudnnRNNBackwardWeightsEx as _RNNBackwardWeightsEx,
    cudnnRNNForwardInferenceEx as _RNNForwardInferenceEx,
    cudnnRNNForwardTrainingEx as _RNNForwardTrainingEx,
)
from ..rnn.v8 import (
    cudnnGetRNNTempSpaceSizes as _GetRNNTempSpaceSizes,
    cudnnGetRNNWeightParams as _GetRNNWeightParams,
    cudnnGetRNNWeightSpaceSize as _GetRNNWeightSpaceSize,
    cudnnRNNBackwardData_v8 as _RNNBackwardData_v8,
    cudnnRNNBackwardWeights_v8 as _RNNBackwardWeights_v8,
    cudnnRNNForward as _RNNForward,
)
from .enums.rnn_sequences import cudnnRNNDataLayout_t
from .enums.tensor import cudnnDataType_t


@c_function
def cudnnCreateRNNDataDescriptor() -> RNNDataDescriptor:
    """Return RNNDataDesc (since 7.2.1).

    C: ``cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t *RNNDataDesc)``
    """
    return RNNDataDescriptor()


@c_function
def cudnnDestroyRNNDataDescriptor(RNNDataDesc: RNNDataDescriptor) -> None:
    """Return nothing (since 7.2.1).

    C: ``cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t RNNDataDesc)``
    """
    destroy(RNNDataDesc, RNNDataDescriptor, "RNNDataDesc")


@c_function
def cudnnSetRNNDataDescriptor(
    RNNDataDesc: RNNDataDescriptor,
    dataType: int,
    layout: int,
    maxSeqLength: int,
    batchSize: int,
    vectorSize: int,
    seqLengthArray: Any,
    paddingFill: Any,
) -> None:
    """Return nothing (since 7.2.1).

    C: ``cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t RNNDataDesc, cudnnDataType_t dataType, cudnnRNNDataLayout_t layout, int maxSeqLength, int batchSize, int vectorSize, const int seqLengthArray[], void *paddingFill)``

    Sequences of several lengths are sorted from the longest to the shortest, in every layout.

    Padded ones are packed and unpacked by copies, one for each step. `paddingFill` is a number that outputs are padded
    with, or NULL: what is there stays. They may have lengths of 0, as in cuDNN, but networks do not take such
    descriptors.
    """
    _SetRNNDataDescriptor(
        RNNDataDesc, dataType, layout, maxSeqLength, batchSize, vectorSize, seqLengthArray, paddingFill
    )


@c_function
def cudnnGetRNNDataDescriptor(
    RNNDataDesc: RNNDataDescriptor, arrayLengthRequested: int
) -> tuple[cudnnDataType_t, cudnnRNNDataLayout_t, int, int, int, tuple[int, ...], Any]:
    """Return (dataType, layout, maxSeqLength, batchSize, vectorSize, seqLengthArray, paddingFill) (since 7.2.1).

    C: ``cudnnStatus_t cudnnGetRNNDataDescriptor(cudnnRNNDataDescriptor_t RNNDataDesc, cudnnDataType_t *dataType, cudnnRNNDataLayout_t *layout, int *maxSeqLength, int *batchSize, int *vectorSize, int arrayLengthRequested, int seqLengthArray[], void *paddingFill)``

    `seqLengthArray` is a tuple of at most `arrayLengthRequested` lengths.
    """
    return _GetRNNDataDescriptor(value_of(RNNDataDesc, RNNDataDescriptor, "RNNDataDesc"), arrayLengthRequested)


@c_function
def cudnnGetRNNTempSpaceSizes(
    handle: Handle, rnnDesc: RNNDescriptor, fMode: int, xDesc: RNNDataDescriptor
) -> tuple[int, int]:
    """Return (workSpaceSize, reserveSpaceSize) (since 8.0.1, changed by 9.28.0).

    C: ``cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, cudnnForwardMode_t fMode, cudnnRNNDataDescriptor_t xDesc, size_t *workSpaceSize, size_t *reserveSpaceSize)``

    In cuDNN 9.28.0 the parameters are: handle, rnnDesc, fwdMode, xDesc, workSpaceSize, reserveSpaceSize.

    The reserve space of inference has 0 bytes.
    """
    return _GetRNNTempSpaceSizes(handle, value_of(rnnDesc, RNNDescriptor, "rnnDesc"), rnnDesc, fMode, xDesc)


@c_function
def cudnnGetRNNWeightSpaceSize(handle: Handle, rnnDesc: RNNDescriptor) -> int:
    """Return weightSpaceSize (since 8.0.1).

    C: ``cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, size_t *weightSpaceSize)``

    In portadnn: ``get_rnn_params_size``.

    Of a network that was set by cudnnSetRNNDescriptor_v8.
    """
    return _GetRNNWeightSpaceSize(handle, value_of(rnnDesc, RNNDescriptor, "rnnDesc"), rnnDesc)


@c_function
def cudnnGetRNNWeightParams(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    pseudoLayer: int,
    weightSpaceSize: int,
    weightSpace: Any,
    linLayerID: int,
    mDesc: TensorDescriptor,
    bDesc: TensorDescriptor,
) -> tuple[Any, Any]:
    """Return (mAddr, bAddr) (since 8.0.1).

    C: ``cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int32_t pseudoLayer, size_t weightSpaceSize, const void *weightSpace, int32_t linLayerID, cudnnTensorDescriptor_t mDesc, void **mAddr, cudnnTensorDescriptor_t bDesc, void **bAddr)``

    In portadnn: ``get_rnn_lin_layer_matrix_params``, ``get_rnn_lin_layer_bias_params``.

    `mAddr` and `bAddr` are arrays on the memory of `weightSpace`; `mDesc` and `bDesc` are set to their layouts.

    None, and dims of 0, for the first layer's input with CUDNN_SKIP_INPUT.
    """
    return _GetRNNWeightParams(handle, rnnDesc, pseudoLayer, weightSpaceSize, weightSpace, linLayerID, mDesc, bDesc)


@c_function
def cudnnRNNForward(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    fwdMode: int,
    devSeqLengths: Any,
    xDesc: RNNDataDescriptor,
    x: Any,
    yDesc: RNNDataDescriptor,
    y: Any,
    hDesc: TensorDescriptor,
    hx: Any,
    hy: Any,
    cDesc: TensorDescriptor,
    cx: Any,
    cy: Any,
    weightSpaceSize: int,
    weightSpace: Any,
    workSpaceSize: int,
    workSpace: Any,
    reserveSpaceSize: int,
    reserveSpace: Any,
) -> None:
    """Return nothing (since 8.0.1).

    C: ``cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, cudnnForwardMode_t fwdMode, const int32_t devSeqLengths[], cudnnRNNDataDescriptor_t xDesc, const void *x, cudnnRNNDataDescriptor_t yDesc, void *y, cudnnTensorDescriptor_t hDesc, const void *hx, void *hy, cudnnTensorDescriptor_t cDesc, const void *cx, void *cy, size_t weightSpaceSize, const void *weightSpace, size_t workSpaceSize, void *workSpace, size_t reserveSpaceSize, void *reserveSpace)``

    `devSeqLengths` has no effect: the lengths are those of `xDesc`.
    """
    _RNNForward(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        rnnDesc,
        fwdMode,
        xDesc,
        x,
        yDesc,
        y,
        optional(handle, hDesc, hx, "hx", "hDesc"),
        optional(handle, cDesc, cx, "cx", "cDesc"),
        optional(handle, hDesc, hy, "hy", "hDesc"),
        optional(handle, cDesc, cy, "cy", "cDesc"),
        weightSpaceSize,
        weightSpace,
        scratch(handle, workSpace, workSpaceSize),
        reserveSpaceSize,
        reserveSpace,
    )


@c_function
def cudnnRNNBackwardData_v8(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    devSeqLengths: Any,
    yDesc: RNNDataDescriptor,
    y: Any,
    dy: Any,
    xDesc: RNNDataDescriptor,
    dx: Any,
    hDesc: TensorDescriptor,
    hx: Any,
    dhy: Any,
    dhx: Any,
    cDesc: TensorDescriptor,
    cx: Any,
    dcy: Any,
    dcx: Any,
    weightSpaceSize: int,
    weightSpace: Any,
    workSpaceSize: int,
    workSpace: Any,
    reserveSpaceSize: int,
    reserveSpace: Any,
) -> None:
    """Return nothing (since 8.0.2).

    C: ``cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, const int32_t devSeqLengths[], cudnnRNNDataDescriptor_t yDesc, const void *y, const void *dy, cudnnRNNDataDescriptor_t xDesc, void *dx, cudnnTensorDescriptor_t hDesc, const void *hx, const void *dhy, void *dhx, cudnnTensorDescriptor_t cDesc, const void *cx, const void *dcy, void *dcx, size_t weightSpaceSize, const void *weightSpace, size_t workSpaceSize, void *workSpace, size_t reserveSpaceSize, void *reserveSpace)``

    `devSeqLengths` has no effect. The reserve space is changed and goes on to cudnnRNNBackwardWeights_v8.
    """
    _RNNBackwardData_v8(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        rnnDesc,
        yDesc,
        y,
        dy,
        xDesc,
        dx,
        optional(handle, hDesc, dhy, "dhy", "hDesc"),
        optional(handle, cDesc, dcy, "dcy", "cDesc"),
        optional(handle, hDesc, hx, "hx", "hDesc"),
        optional(handle, cDesc, cx, "cx", "cDesc"),
        optional(handle, hDesc, dhx, "dhx", "hDesc"),
        optional(handle, cDesc, dcx, "dcx", "cDesc"),
        weightSpaceSize,
        weightSpace,
        scratch(handle, workSpace, workSpaceSize),
        raw(handle, reserveSpace, reserveSpaceSize, "reserveSpace", "reserveSpaceSize"),
    )


@c_function
def cudnnRNNBackwardWeights_v8(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    addGrad: int,
    devSeqLengths: Any,
    xDesc: RNNDataDescriptor,
    x: Any,
    hDesc: TensorDescriptor,
    hx: Any,
    yDesc: RNNDataDescriptor,
    y: Any,
    weightSpaceSize: int,
    dweightSpace: Any,
    workSpaceSize: int,
    workSpace: Any,
    reserveSpaceSize: int,
    reserveSpace: Any,
) -> None:
    """Return nothing (since 8.0.2).

    C: ``cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, cudnnWgradMode_t addGrad, const int32_t devSeqLengths[], cudnnRNNDataDescriptor_t xDesc, const void *x, cudnnTensorDescriptor_t hDesc, const void *hx, cudnnRNNDataDescriptor_t yDesc, const void *y, size_t weightSpaceSize, void *dweightSpace, size_t workSpaceSize, void *workSpace, size_t reserveSpaceSize, void *reserveSpace)``

    CUDNN_WGRAD_MODE_ADD adds to what `dweightSpace` holds, CUDNN_WGRAD_MODE_SET replaces it.
    """
    _RNNBackwardWeights_v8(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        rnnDesc,
        addGrad,
        xDesc,
        x,
        optional(handle, hDesc, hx, "hx", "hDesc"),
        yDesc,
        y,
        weightSpaceSize,
        dweightSpace,
        scratch(handle, workSpace, workSpaceSize),
        raw(handle, reserveSpace, reserveSpaceSize, "reserveSpace", "reserveSpaceSize"),
    )


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
    kDesc: RNNDataDescriptor,
    keys: Any,
    cDesc: RNNDataDescriptor,
    cAttn: Any,
    iDesc: RNNDataDescriptor,
    iAttn: Any,
    qDesc: RNNDataDescriptor,
    queries: Any,
    workSpace: Any,
    workSpaceSizeInBytes: int,
) -> None:
    """Return nothing (since 7.2.1, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnRNNForwardInferenceEx(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const cudnnRNNDataDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t cxDesc, const void *cx, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnRNNDataDescriptor_t yDesc, void *y, const cudnnTensorDescriptor_t hyDesc, void *hy, const cudnnTensorDescriptor_t cyDesc, void *cy, const cudnnRNNDataDescriptor_t kDesc, const void *keys, const cudnnRNNDataDescriptor_t cDesc, void *cAttn, const cudnnRNNDataDescriptor_t iDesc, void *iAttn, const cudnnRNNDataDescriptor_t qDesc, void *queries, void *workSpace, size_t workSpaceSizeInBytes)``

    `keys`, `cAttn`, `iAttn` and `queries` are NULL, as cuDNN demands as well.
    """
    _RNNForwardInferenceEx(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        xDesc,
        x,
        yDesc,
        y,
        keys,
        cAttn,
        iAttn,
        queries,
        optional(handle, hxDesc, hx, "hx"),
        optional(handle, cxDesc, cx, "cx"),
        filter_(handle, wDesc, w, "w"),
        optional(handle, hyDesc, hy, "hy"),
        optional(handle, cyDesc, cy, "cy"),
        scratch(handle, workSpace, workSpaceSizeInBytes),
    )


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
    kDesc: RNNDataDescriptor,
    keys: Any,
    cDesc: RNNDataDescriptor,
    cAttn: Any,
    iDesc: RNNDataDescriptor,
    iAttn: Any,
    qDesc: RNNDataDescriptor,
    queries: Any,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """Return nothing (since 7.2.1, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnRNNForwardTrainingEx(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const cudnnRNNDataDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t cxDesc, const void *cx, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnRNNDataDescriptor_t yDesc, void *y, const cudnnTensorDescriptor_t hyDesc, void *hy, const cudnnTensorDescriptor_t cyDesc, void *cy, const cudnnRNNDataDescriptor_t kDesc, const void *keys, const cudnnRNNDataDescriptor_t cDesc, void *cAttn, const cudnnRNNDataDescriptor_t iDesc, void *iAttn, const cudnnRNNDataDescriptor_t qDesc, void *queries, void *workSpace, size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes)``

    `keys`, `cAttn`, `iAttn` and `queries` are NULL, as cuDNN demands as well.
    """
    _RNNForwardTrainingEx(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        xDesc,
        x,
        yDesc,
        y,
        optional(handle, hxDesc, hx, "hx"),
        optional(handle, cxDesc, cx, "cx"),
        filter_(handle, wDesc, w, "w"),
        optional(handle, hyDesc, hy, "hy"),
        optional(handle, cyDesc, cy, "cy"),
        scratch(handle, workSpace, workSpaceSizeInBytes),
        raw(handle, reserveSpace, reserveSpaceSizeInBytes, "reserveSpace"),
        keys,
        cAttn,
        iAttn,
        queries,
    )


@c_function
def cudnnRNNBackwardDataEx(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    yDesc: RNNDataDescriptor,
    y: Any,
    dyDesc: RNNDataDescriptor,
    dy: Any,
    dcDesc: RNNDataDescriptor,
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
    dkDesc: RNNDataDescriptor,
    dkeys: Any,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """Return nothing (since 7.2.1, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnRNNBackwardDataEx(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const cudnnRNNDataDescriptor_t yDesc, const void *y, const cudnnRNNDataDescriptor_t dyDesc, const void *dy, const cudnnRNNDataDescriptor_t dcDesc, const void *dcAttn, const cudnnTensorDescriptor_t dhyDesc, const void *dhy, const cudnnTensorDescriptor_t dcyDesc, const void *dcy, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t cxDesc, const void *cx, const cudnnRNNDataDescriptor_t dxDesc, void *dx, const cudnnTensorDescriptor_t dhxDesc, void *dhx, const cudnnTensorDescriptor_t dcxDesc, void *dcx, const cudnnRNNDataDescriptor_t dkDesc, void *dkeys, void *workSpace, size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes)``

    `dcAttn` and `dkeys` are NULL, as cuDNN demands as well.
    """
    _RNNBackwardDataEx(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        yDesc,
        y,
        dyDesc,
        dy,
        dxDesc,
        dx,
        optional(handle, dhyDesc, dhy, "dhy"),
        optional(handle, dcyDesc, dcy, "dcy"),
        filter_(handle, wDesc, w, "w"),
        optional(handle, hxDesc, hx, "hx"),
        optional(handle, cxDesc, cx, "cx"),
        optional(handle, dhxDesc, dhx, "dhx"),
        optional(handle, dcxDesc, dcx, "dcx"),
        raw(handle, reserveSpace, reserveSpaceSizeInBytes, "reserveSpace"),
        scratch(handle, workSpace, workSpaceSizeInBytes),
        dcAttn,
        dkeys,
    )


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
    """Return nothing (since 7.2.1, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnRNNBackwardWeightsEx(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const cudnnRNNDataDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnRNNDataDescriptor_t yDesc, const void *y, void *workSpace, size_t workSpaceSizeInBytes, const cudnnFilterDescriptor_t dwDesc, void *dw, void *reserveSpace, size_t reserveSpaceSizeInBytes)``

    The gradient is added to what `dw` holds, as in C.
    """
    _RNNBackwardWeightsEx(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        xDesc,
        x,
        yDesc,
        y,
        optional(handle, hxDesc, hx, "hx"),
        raw(handle, reserveSpace, reserveSpaceSizeInBytes, "reserveSpace"),
        filter_(handle, dwDesc, dw, "dw"),
        scratch(handle, workSpace, workSpaceSizeInBytes),
    )
