"""Stored algorithms: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..algorithms import (
    AlgorithmDescriptor,
    AlgorithmPerformance,
    cudnnAlgorithm_t,
    cudnnCopyAlgorithmDescriptor as _CopyAlgorithmDescriptor,
    cudnnCreateAlgorithmPerformance as _CreateAlgorithmPerformance,
    cudnnDestroyAlgorithmPerformance as _DestroyAlgorithmPerformance,
    cudnnGetAlgorithmDescriptor as _GetAlgorithmDescriptor,
    cudnnGetAlgorithmPerformance as _GetAlgorithmPerformance,
    cudnnGetAlgorithmSpaceSize as _GetAlgorithmSpaceSize,
    cudnnRestoreAlgorithm as _RestoreAlgorithm,
    cudnnSaveAlgorithm as _SaveAlgorithm,
    cudnnSetAlgorithmDescriptor as _SetAlgorithmDescriptor,
    cudnnSetAlgorithmPerformance as _SetAlgorithmPerformance,
)
from ..calls import c_function
from ..descriptors import FilterDescriptor, TensorDescriptor, destroy, value_of
from ..memory import filter_, optional, raw, scratch
from ..rnn.descriptors import RNNDescriptor
from ..rnn.find import (
    cudnnFindRNNBackwardDataAlgorithmEx as _FindRNNBackwardDataAlgorithmEx,
    cudnnFindRNNBackwardWeightsAlgorithmEx as _FindRNNBackwardWeightsAlgorithmEx,
    cudnnFindRNNForwardInferenceAlgorithmEx as _FindRNNForwardInferenceAlgorithmEx,
    cudnnFindRNNForwardTrainingAlgorithmEx as _FindRNNForwardTrainingAlgorithmEx,
    cudnnGetRNNBackwardDataAlgorithmMaxCount as _GetRNNBackwardDataAlgorithmMaxCount,
    cudnnGetRNNBackwardWeightsAlgorithmMaxCount as _GetRNNBackwardWeightsAlgorithmMaxCount,
    cudnnGetRNNForwardInferenceAlgorithmMaxCount as _GetRNNForwardInferenceAlgorithmMaxCount,
    cudnnGetRNNForwardTrainingAlgorithmMaxCount as _GetRNNForwardTrainingAlgorithmMaxCount,
)
from .enums.handle import cudnnStatus_t


@c_function
def cudnnGetRNNForwardInferenceAlgorithmMaxCount(handle: Handle, rnnDesc: RNNDescriptor) -> int:
    """Return count (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnGetRNNForwardInferenceAlgorithmMaxCount(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, int *count)``

    4: the algorithms of cudnnRNNAlgo_t, all of which run the engine that the backend chooses.
    """
    return _GetRNNForwardInferenceAlgorithmMaxCount(handle, value_of(rnnDesc, RNNDescriptor, "rnnDesc"))


@c_function
def cudnnFindRNNForwardInferenceAlgorithmEx(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    seqLength: int,
    xDesc: Any,
    x: Any,
    hxDesc: TensorDescriptor,
    hx: Any,
    cxDesc: TensorDescriptor,
    cx: Any,
    wDesc: FilterDescriptor,
    w: Any,
    yDesc: Any,
    y: Any,
    hyDesc: TensorDescriptor,
    hy: Any,
    cyDesc: TensorDescriptor,
    cy: Any,
    findIntensity: float,
    requestedAlgoCount: int,
    workspace: Any,
    workSpaceSizeInBytes: int,
) -> tuple[int, list[AlgorithmPerformance]]:
    """Return (returnedAlgoCount, perfResults) (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnFindRNNForwardInferenceAlgorithmEx(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength, const cudnnTensorDescriptor_t *xDesc, const void *x, const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t cxDesc, const void *cx, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t *yDesc, void *y, const cudnnTensorDescriptor_t hyDesc, void *hy, const cudnnTensorDescriptor_t cyDesc, void *cy, const float findIntensity, const int requestedAlgoCount, int *returnedAlgoCount, cudnnAlgorithmPerformance_t *perfResults, void *workspace, size_t workSpaceSizeInBytes)``

    The pass runs once, on the memory that is given; `perfResults` are as many new objects as algorithms are told of, the network's own first. All of them run one engine and so have one time, in milliseconds with what the first call of a process prepares, and one workspace. `findIntensity` changes nothing, because there is nothing else to search.
    """
    return _FindRNNForwardInferenceAlgorithmEx(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        rnnDesc,
        seqLength,
        xDesc,
        x,
        optional(handle, hxDesc, hx, "hx"),
        optional(handle, cxDesc, cx, "cx"),
        filter_(handle, wDesc, w, "w"),
        yDesc,
        y,
        optional(handle, hyDesc, hy, "hy"),
        optional(handle, cyDesc, cy, "cy"),
        findIntensity,
        requestedAlgoCount,
        scratch(handle, workspace, workSpaceSizeInBytes),
    )


@c_function
def cudnnGetRNNForwardTrainingAlgorithmMaxCount(handle: Handle, rnnDesc: RNNDescriptor) -> int:
    """Return count (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnGetRNNForwardTrainingAlgorithmMaxCount(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, int *count)``

    4: the algorithms of cudnnRNNAlgo_t, all of which run the engine that the backend chooses.
    """
    return _GetRNNForwardTrainingAlgorithmMaxCount(handle, value_of(rnnDesc, RNNDescriptor, "rnnDesc"))


@c_function
def cudnnFindRNNForwardTrainingAlgorithmEx(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    seqLength: int,
    xDesc: Any,
    x: Any,
    hxDesc: TensorDescriptor,
    hx: Any,
    cxDesc: TensorDescriptor,
    cx: Any,
    wDesc: FilterDescriptor,
    w: Any,
    yDesc: Any,
    y: Any,
    hyDesc: TensorDescriptor,
    hy: Any,
    cyDesc: TensorDescriptor,
    cy: Any,
    findIntensity: float,
    requestedAlgoCount: int,
    workspace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> tuple[int, list[AlgorithmPerformance]]:
    """Return (returnedAlgoCount, perfResults) (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnFindRNNForwardTrainingAlgorithmEx(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength, const cudnnTensorDescriptor_t *xDesc, const void *x, const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t cxDesc, const void *cx, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t *yDesc, void *y, const cudnnTensorDescriptor_t hyDesc, void *hy, const cudnnTensorDescriptor_t cyDesc, void *cy, const float findIntensity, const int requestedAlgoCount, int *returnedAlgoCount, cudnnAlgorithmPerformance_t *perfResults, void *workspace, size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes)``

    As cudnnFindRNNForwardInferenceAlgorithmEx; the reserve space holds what cudnnRNNForwardTraining leaves there.
    """
    return _FindRNNForwardTrainingAlgorithmEx(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        rnnDesc,
        seqLength,
        xDesc,
        x,
        optional(handle, hxDesc, hx, "hx"),
        optional(handle, cxDesc, cx, "cx"),
        filter_(handle, wDesc, w, "w"),
        yDesc,
        y,
        optional(handle, hyDesc, hy, "hy"),
        optional(handle, cyDesc, cy, "cy"),
        findIntensity,
        requestedAlgoCount,
        scratch(handle, workspace, workSpaceSizeInBytes),
        raw(handle, reserveSpace, reserveSpaceSizeInBytes, "reserveSpace"),
    )


@c_function
def cudnnGetRNNBackwardDataAlgorithmMaxCount(handle: Handle, rnnDesc: RNNDescriptor) -> int:
    """Return count (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnGetRNNBackwardDataAlgorithmMaxCount(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, int *count)``

    4: the algorithms of cudnnRNNAlgo_t, all of which run the engine that the backend chooses.
    """
    return _GetRNNBackwardDataAlgorithmMaxCount(handle, value_of(rnnDesc, RNNDescriptor, "rnnDesc"))


@c_function
def cudnnFindRNNBackwardDataAlgorithmEx(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    seqLength: int,
    yDesc: Any,
    y: Any,
    dyDesc: Any,
    dy: Any,
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
    dxDesc: Any,
    dx: Any,
    dhxDesc: TensorDescriptor,
    dhx: Any,
    dcxDesc: TensorDescriptor,
    dcx: Any,
    findIntensity: float,
    requestedAlgoCount: int,
    workspace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> tuple[int, list[AlgorithmPerformance]]:
    """Return (returnedAlgoCount, perfResults) (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnFindRNNBackwardDataAlgorithmEx(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength, const cudnnTensorDescriptor_t *yDesc, const void *y, const cudnnTensorDescriptor_t *dyDesc, const void *dy, const cudnnTensorDescriptor_t dhyDesc, const void *dhy, const cudnnTensorDescriptor_t dcyDesc, const void *dcy, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t cxDesc, const void *cx, const cudnnTensorDescriptor_t *dxDesc, void *dx, const cudnnTensorDescriptor_t dhxDesc, void *dhx, const cudnnTensorDescriptor_t dcxDesc, void *dcx, const float findIntensity, const int requestedAlgoCount, int *returnedAlgoCount, cudnnAlgorithmPerformance_t *perfResults, void *workspace, size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes)``

    As cudnnFindRNNForwardInferenceAlgorithmEx; the reserve space is changed once.
    """
    return _FindRNNBackwardDataAlgorithmEx(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        rnnDesc,
        seqLength,
        yDesc,
        y,
        dyDesc,
        dy,
        optional(handle, dhyDesc, dhy, "dhy"),
        optional(handle, dcyDesc, dcy, "dcy"),
        filter_(handle, wDesc, w, "w"),
        optional(handle, hxDesc, hx, "hx"),
        optional(handle, cxDesc, cx, "cx"),
        dxDesc,
        dx,
        optional(handle, dhxDesc, dhx, "dhx"),
        optional(handle, dcxDesc, dcx, "dcx"),
        findIntensity,
        requestedAlgoCount,
        scratch(handle, workspace, workSpaceSizeInBytes),
        raw(handle, reserveSpace, reserveSpaceSizeInBytes, "reserveSpace"),
    )


@c_function
def cudnnGetRNNBackwardWeightsAlgorithmMaxCount(handle: Handle, rnnDesc: RNNDescriptor) -> int:
    """Return count (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnGetRNNBackwardWeightsAlgorithmMaxCount(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, int *count)``

    4: the algorithms of cudnnRNNAlgo_t, all of which run the engine that the backend chooses.
    """
    return _GetRNNBackwardWeightsAlgorithmMaxCount(handle, value_of(rnnDesc, RNNDescriptor, "rnnDesc"))


@c_function
def cudnnFindRNNBackwardWeightsAlgorithmEx(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    seqLength: int,
    xDesc: Any,
    x: Any,
    hxDesc: TensorDescriptor,
    hx: Any,
    yDesc: Any,
    y: Any,
    findIntensity: float,
    requestedAlgoCount: int,
    workspace: Any,
    workSpaceSizeInBytes: int,
    dwDesc: FilterDescriptor,
    dw: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> tuple[int, list[AlgorithmPerformance]]:
    """Return (returnedAlgoCount, perfResults) (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnFindRNNBackwardWeightsAlgorithmEx(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength, const cudnnTensorDescriptor_t *xDesc, const void *x, const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t *yDesc, const void *y, const float findIntensity, const int requestedAlgoCount, int *returnedAlgoCount, cudnnAlgorithmPerformance_t *perfResults, const void *workspace, size_t workSpaceSizeInBytes, const cudnnFilterDescriptor_t dwDesc, void *dw, const void *reserveSpace, size_t reserveSpaceSizeInBytes)``

    As cudnnFindRNNForwardInferenceAlgorithmEx; the gradient is added to what `dw` holds, once.
    """
    return _FindRNNBackwardWeightsAlgorithmEx(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        rnnDesc,
        seqLength,
        xDesc,
        x,
        optional(handle, hxDesc, hx, "hx"),
        yDesc,
        y,
        findIntensity,
        requestedAlgoCount,
        scratch(handle, workspace, workSpaceSizeInBytes),
        filter_(handle, dwDesc, dw, "dw"),
        raw(handle, reserveSpace, reserveSpaceSizeInBytes, "reserveSpace"),
    )


@c_function
def cudnnCreateAlgorithmDescriptor() -> AlgorithmDescriptor:
    """Return algoDesc (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnCreateAlgorithmDescriptor(cudnnAlgorithmDescriptor_t *algoDesc)``
    """
    return AlgorithmDescriptor()


@c_function
def cudnnSetAlgorithmDescriptor(algoDesc: AlgorithmDescriptor, algorithm: Any) -> None:
    """Return nothing (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnSetAlgorithmDescriptor(cudnnAlgorithmDescriptor_t algoDesc, cudnnAlgorithm_t algorithm)``

    `algorithm` is a cudnnAlgorithm_t, or a value of one of the five enumerations in its union.
    """
    _SetAlgorithmDescriptor(algoDesc, algorithm)


@c_function
def cudnnGetAlgorithmDescriptor(algoDesc: AlgorithmDescriptor) -> cudnnAlgorithm_t:
    """Return algorithm (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnGetAlgorithmDescriptor(const cudnnAlgorithmDescriptor_t algoDesc, cudnnAlgorithm_t *algorithm)``

    `algorithm` is a new cudnnAlgorithm_t; `algorithm.algo.RNNAlgo` and the other members of the union are one number.
    """
    return _GetAlgorithmDescriptor(algoDesc)


@c_function
def cudnnCopyAlgorithmDescriptor(src: AlgorithmDescriptor, dest: AlgorithmDescriptor) -> None:
    """Return nothing (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnCopyAlgorithmDescriptor(const cudnnAlgorithmDescriptor_t src, cudnnAlgorithmDescriptor_t dest)``

    `src` must be set; `dest` need not be.
    """
    _CopyAlgorithmDescriptor(src, dest)


@c_function
def cudnnDestroyAlgorithmDescriptor(algoDesc: AlgorithmDescriptor) -> None:
    """Return nothing (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnDestroyAlgorithmDescriptor(cudnnAlgorithmDescriptor_t algoDesc)``
    """
    destroy(algoDesc, AlgorithmDescriptor, "algoDesc")


@c_function
def cudnnCreateAlgorithmPerformance(numberToCreate: int) -> list[AlgorithmPerformance]:
    """Return algoPerf (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnCreateAlgorithmPerformance(cudnnAlgorithmPerformance_t *algoPerf, int numberToCreate)``

    `algoPerf` is a list of `numberToCreate` objects, at most 1,048,576.
    """
    return _CreateAlgorithmPerformance(numberToCreate)


@c_function
def cudnnSetAlgorithmPerformance(
    algoPerf: AlgorithmPerformance, algoDesc: AlgorithmDescriptor, status: int, time: float, memory: int
) -> None:
    """Return nothing (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnSetAlgorithmPerformance(cudnnAlgorithmPerformance_t algoPerf, cudnnAlgorithmDescriptor_t algoDesc, cudnnStatus_t status, float time, size_t memory)``

    `time` is in milliseconds, `memory` in bytes.
    """
    _SetAlgorithmPerformance(algoPerf, algoDesc, status, time, memory)


@c_function
def cudnnGetAlgorithmPerformance(
    algoPerf: AlgorithmPerformance
) -> tuple[AlgorithmDescriptor, cudnnStatus_t, float, int]:
    """Return (algoDesc, status, time, memory) (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnGetAlgorithmPerformance(const cudnnAlgorithmPerformance_t algoPerf, cudnnAlgorithmDescriptor_t *algoDesc, cudnnStatus_t *status, float *time, size_t *memory)``

    `algoDesc` is the object that cudnnSetAlgorithmPerformance or a Find call gave.
    """
    return _GetAlgorithmPerformance(algoPerf)


@c_function
def cudnnDestroyAlgorithmPerformance(algoPerf: Any, numberToDestroy: int) -> None:
    """Return nothing (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnDestroyAlgorithmPerformance(cudnnAlgorithmPerformance_t *algoPerf, int numberToDestroy)``

    `algoPerf` is a list with at least `numberToDestroy` objects; the first of them are ended.
    """
    _DestroyAlgorithmPerformance(algoPerf, numberToDestroy)


@c_function
def cudnnGetAlgorithmSpaceSize(handle: Handle, algoDesc: AlgorithmDescriptor) -> int:
    """Return algoSpaceSizeInBytes (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnGetAlgorithmSpaceSize(cudnnHandle_t handle, cudnnAlgorithmDescriptor_t algoDesc, size_t *algoSpaceSizeInBytes)``

    16 bytes, on every backend.
    """
    return _GetAlgorithmSpaceSize(handle, algoDesc)


@c_function
def cudnnSaveAlgorithm(
    handle: Handle, algoDesc: AlgorithmDescriptor, algoSpace: Any, algoSpaceSizeInBytes: int
) -> None:
    """Return nothing (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnSaveAlgorithm(cudnnHandle_t handle, cudnnAlgorithmDescriptor_t algoDesc, void *algoSpace, size_t algoSpaceSizeInBytes)``

    `algoSpace` is host memory: an array or a writable buffer. 16 bytes of it are written.
    """
    _SaveAlgorithm(handle, algoDesc, algoSpace, algoSpaceSizeInBytes)


@c_function
def cudnnRestoreAlgorithm(
    handle: Handle, algoSpace: Any, algoSpaceSizeInBytes: int, algoDesc: AlgorithmDescriptor
) -> None:
    """Return nothing (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnRestoreAlgorithm(cudnnHandle_t handle, void *algoSpace, size_t algoSpaceSizeInBytes, cudnnAlgorithmDescriptor_t algoDesc)``

    Bytes that cudnnSaveAlgorithm did not write are CUDNN_STATUS_BAD_PARAM, those of another version CUDNN_STATUS_NOT_SUPPORTED.
    """
    _RestoreAlgorithm(handle, algoSpace, algoSpaceSizeInBytes, algoDesc)
