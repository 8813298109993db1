"""Stored algorithms: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...errors import NotSupported
from ...handle import Handle
from ..calls import c_function
from ..descriptors import FilterDescriptor, TensorDescriptor
from ..rnn.descriptors import RNNDescriptor
from .enums.handle import cudnnStatus_t


@c_function
def cudnnGetRNNForwardInferenceAlgorithmMaxCount(handle: Handle, rnnDesc: RNNDescriptor) -> int:
    """Not supported: a network's engine is chosen by itself; cudnnRNNForwardTraining runs it.

    C: ``cudnnStatus_t cudnnGetRNNForwardInferenceAlgorithmMaxCount(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, int *count)``
    """
    raise NotSupported("a network's engine is chosen by itself; cudnnRNNForwardTraining runs it")


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
) -> tuple[int, Any]:
    """Not supported: a network's engine is chosen by itself; cudnnRNNForwardTraining runs it.

    C: ``cudnnStatus_t cudnnFindRNNForwardInferenceAlgorithmEx(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength, const cudnnTensorDescriptor_t *xDesc, const void *x, const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t cxDesc, const void *cx, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t *yDesc, void *y, const cudnnTensorDescriptor_t hyDesc, void *hy, const cudnnTensorDescriptor_t cyDesc, void *cy, const float findIntensity, const int requestedAlgoCount, int *returnedAlgoCount, cudnnAlgorithmPerformance_t *perfResults, void *workspace, size_t workSpaceSizeInBytes)``
    """
    raise NotSupported("a network's engine is chosen by itself; cudnnRNNForwardTraining runs it")


@c_function
def cudnnGetRNNForwardTrainingAlgorithmMaxCount(handle: Handle, rnnDesc: RNNDescriptor) -> int:
    """Not supported: a network's engine is chosen by itself; cudnnRNNForwardTraining runs it.

    C: ``cudnnStatus_t cudnnGetRNNForwardTrainingAlgorithmMaxCount(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, int *count)``
    """
    raise NotSupported("a network's engine is chosen by itself; cudnnRNNForwardTraining runs it")


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
) -> tuple[int, Any]:
    """Not supported: a network's engine is chosen by itself; cudnnRNNForwardTraining runs it.

    C: ``cudnnStatus_t cudnnFindRNNForwardTrainingAlgorithmEx(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength, const cudnnTensorDescriptor_t *xDesc, const void *x, const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t cxDesc, const void *cx, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t *yDesc, void *y, const cudnnTensorDescriptor_t hyDesc, void *hy, const cudnnTensorDescriptor_t cyDesc, void *cy, const float findIntensity, const int requestedAlgoCount, int *returnedAlgoCount, cudnnAlgorithmPerformance_t *perfResults, void *workspace, size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes)``
    """
    raise NotSupported("a network's engine is chosen by itself; cudnnRNNForwardTraining runs it")


@c_function
def cudnnGetRNNBackwardDataAlgorithmMaxCount(handle: Handle, rnnDesc: RNNDescriptor) -> int:
    """Not supported: a network's engine is chosen by itself; cudnnRNNForwardTraining runs it.

    C: ``cudnnStatus_t cudnnGetRNNBackwardDataAlgorithmMaxCount(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, int *count)``
    """
    raise NotSupported("a network's engine is chosen by itself; cudnnRNNForwardTraining runs it")


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
) -> tuple[int, Any]:
    """Not supported: a network's engine is chosen by itself; cudnnRNNForwardTraining runs it.

    C: ``cudnnStatus_t cudnnFindRNNBackwardDataAlgorithmEx(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength, const cudnnTensorDescriptor_t *yDesc, const void *y, const cudnnTensorDescriptor_t *dyDesc, const void *dy, const cudnnTensorDescriptor_t dhyDesc, const void *dhy, const cudnnTensorDescriptor_t dcyDesc, const void *dcy, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t cxDesc, const void *cx, const cudnnTensorDescriptor_t *dxDesc, void *dx, const cudnnTensorDescriptor_t dhxDesc, void *dhx, const cudnnTensorDescriptor_t dcxDesc, void *dcx, const float findIntensity, const int requestedAlgoCount, int *returnedAlgoCount, cudnnAlgorithmPerformance_t *perfResults, void *workspace, size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes)``
    """
    raise NotSupported("a network's engine is chosen by itself; cudnnRNNForwardTraining runs it")


@c_function
def cudnnGetRNNBackwardWeightsAlgorithmMaxCount(handle: Handle, rnnDesc: RNNDescriptor) -> int:
    """Not supported: a network's engine is chosen by itself; cudnnRNNForwardTraining runs it.

    C: ``cudnnStatus_t cudnnGetRNNBackwardWeightsAlgorithmMaxCount(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, int *count)``
    """
    raise NotSupported("a network's engine is chosen by itself; cudnnRNNForwardTraining runs it")


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
) -> tuple[int, Any]:
    """Not supported: a network's engine is chosen by itself; cudnnRNNForwardTraining runs it.

    C: ``cudnnStatus_t cudnnFindRNNBackwardWeightsAlgorithmEx(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength, const cudnnTensorDescriptor_t *xDesc, const void *x, const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t *yDesc, const void *y, const float findIntensity, const int requestedAlgoCount, int *returnedAlgoCount, cudnnAlgorithmPerformance_t *perfResults, const void *workspace, size_t workSpaceSizeInBytes, const cudnnFilterDescriptor_t dwDesc, void *dw, const void *reserveSpace, size_t reserveSpaceSizeInBytes)``
    """
    raise NotSupported("a network's engine is chosen by itself; cudnnRNNForwardTraining runs it")


@c_function
def cudnnCreateAlgorithmDescriptor() -> Any:
    """Not supported: algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors.

    C: ``cudnnStatus_t cudnnCreateAlgorithmDescriptor(cudnnAlgorithmDescriptor_t *algoDesc)``
    """
    raise NotSupported("algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors")


@c_function
def cudnnSetAlgorithmDescriptor(algoDesc: Any, algorithm: Any) -> None:
    """Not supported: algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors.

    C: ``cudnnStatus_t cudnnSetAlgorithmDescriptor(cudnnAlgorithmDescriptor_t algoDesc, cudnnAlgorithm_t algorithm)``
    """
    raise NotSupported("algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors")


@c_function
def cudnnGetAlgorithmDescriptor(algoDesc: Any) -> Any:
    """Not supported: algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors.

    C: ``cudnnStatus_t cudnnGetAlgorithmDescriptor(const cudnnAlgorithmDescriptor_t algoDesc, cudnnAlgorithm_t *algorithm)``
    """
    raise NotSupported("algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors")


@c_function
def cudnnCopyAlgorithmDescriptor(src: Any, dest: Any) -> None:
    """Not supported: algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors.

    C: ``cudnnStatus_t cudnnCopyAlgorithmDescriptor(const cudnnAlgorithmDescriptor_t src, cudnnAlgorithmDescriptor_t dest)``
    """
    raise NotSupported("algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors")


@c_function
def cudnnDestroyAlgorithmDescriptor(algoDesc: Any) -> None:
    """Not supported: algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors.

    C: ``cudnnStatus_t cudnnDestroyAlgorithmDescriptor(cudnnAlgorithmDescriptor_t algoDesc)``
    """
    raise NotSupported("algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors")


@c_function
def cudnnCreateAlgorithmPerformance(numberToCreate: int) -> Any:
    """Not supported: algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors.

    C: ``cudnnStatus_t cudnnCreateAlgorithmPerformance(cudnnAlgorithmPerformance_t *algoPerf, int numberToCreate)``
    """
    raise NotSupported("algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors")


@c_function
def cudnnSetAlgorithmPerformance(algoPerf: Any, algoDesc: Any, status: int, time: float, memory: int) -> None:
    """Not supported: algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors.

    C: ``cudnnStatus_t cudnnSetAlgorithmPerformance(cudnnAlgorithmPerformance_t algoPerf, cudnnAlgorithmDescriptor_t algoDesc, cudnnStatus_t status, float time, size_t memory)``
    """
    raise NotSupported("algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors")


@c_function
def cudnnGetAlgorithmPerformance(algoPerf: Any) -> tuple[Any, cudnnStatus_t, float, int]:
    """Not supported: algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors.

    C: ``cudnnStatus_t cudnnGetAlgorithmPerformance(const cudnnAlgorithmPerformance_t algoPerf, cudnnAlgorithmDescriptor_t *algoDesc, cudnnStatus_t *status, float *time, size_t *memory)``
    """
    raise NotSupported("algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors")


@c_function
def cudnnDestroyAlgorithmPerformance(algoPerf: Any, numberToDestroy: int) -> None:
    """Not supported: algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors.

    C: ``cudnnStatus_t cudnnDestroyAlgorithmPerformance(cudnnAlgorithmPerformance_t *algoPerf, int numberToDestroy)``
    """
    raise NotSupported("algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors")


@c_function
def cudnnGetAlgorithmSpaceSize(handle: Handle, algoDesc: Any) -> int:
    """Not supported: algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors.

    C: ``cudnnStatus_t cudnnGetAlgorithmSpaceSize(cudnnHandle_t handle, cudnnAlgorithmDescriptor_t algoDesc, size_t *algoSpaceSizeInBytes)``
    """
    raise NotSupported("algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors")


@c_function
def cudnnSaveAlgorithm(handle: Handle, algoDesc: Any, algoSpace: Any, algoSpaceSizeInBytes: int) -> None:
    """Not supported: algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors.

    C: ``cudnnStatus_t cudnnSaveAlgorithm(cudnnHandle_t handle, cudnnAlgorithmDescriptor_t algoDesc, void *algoSpace, size_t algoSpaceSizeInBytes)``
    """
    raise NotSupported("algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors")


@c_function
def cudnnRestoreAlgorithm(handle: Handle, algoSpace: Any, algoSpaceSizeInBytes: int, algoDesc: Any) -> None:
    """Not supported: algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors.

    C: ``cudnnStatus_t cudnnRestoreAlgorithm(cudnnHandle_t handle, void *algoSpace, size_t algoSpaceSizeInBytes, cudnnAlgorithmDescriptor_t algoDesc)``
    """
    raise NotSupported("algorithms are saved by the find database (PORTADNN_FIND_DB), not through descriptors")
