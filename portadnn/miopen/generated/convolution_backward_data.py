"""Convolution, backward data: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..convolution.algorithms import miopenConvAlgoPerf_t, miopenConvSolution_t
from ..convolution.calls import (
    miopenConvolutionBackwardData as _ConvolutionBackwardData,
    miopenConvolutionBackwardDataGetWorkSpaceSize as _ConvolutionBackwardDataGetWorkSpaceSize,
    miopenFindConvolutionBackwardDataAlgorithm as _FindConvolutionBackwardDataAlgorithm,
)
from ..convolution.descriptor import miopenConvolutionDescriptor_t
from ..convolution.immediate import (
    miopenConvolutionBackwardDataCompileSolution as _ConvolutionBackwardDataCompileSolution,
    miopenConvolutionBackwardDataGetSolution as _ConvolutionBackwardDataGetSolution,
    miopenConvolutionBackwardDataGetSolutionCount as _ConvolutionBackwardDataGetSolutionCount,
    miopenConvolutionBackwardDataGetSolutionWorkspaceSize as _ConvolutionBackwardDataGetSolutionWorkspaceSize,
    miopenConvolutionBackwardDataImmediate as _ConvolutionBackwardDataImmediate,
)
from ..descriptors import miopenTensorDescriptor_t
from ..names import function


@function
def miopenFindConvolutionBackwardDataAlgorithm(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    convDesc: miopenConvolutionDescriptor_t,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
    requestAlgoCount: int,
    workSpace: Any,
    workSpaceSize: int,
    exhaustiveSearch: bool,
) -> tuple[int, list[miopenConvAlgoPerf_t]]:
    """Time the algorithms of the gradient by the input: miopenFindConvolutionForwardAlgorithm tells the rest.

    Return (returnedAlgoCount, perfResults) (since 1.0.0).

    C: ``miopenStatus_t miopenFindConvolutionBackwardDataAlgorithm(miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const void *dy, const miopenTensorDescriptor_t wDesc, const void *w, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, const void *dx, const int requestAlgoCount, int *returnedAlgoCount, miopenConvAlgoPerf_t *perfResults, void *workSpace, size_t workSpaceSize, bool exhaustiveSearch)``

    In cuDNN: ``cudnnFindConvolutionBackwardDataAlgorithm``; what a port changes: adds dy, w, dx, workSpace, workSpaceSize, exhaustiveSearch; moves dyDesc; renames requestedAlgoCount -> requestAlgoCount; wDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t; perfResults: cudnnConvolutionBwdDataAlgoPerf_t * -> miopenConvAlgoPerf_t *.

    In portadnn: ``find_convolution_backward_data_algorithm``.
    """
    return _FindConvolutionBackwardDataAlgorithm(
        handle=handle,
        dyDesc=dyDesc,
        dy=dy,
        wDesc=wDesc,
        w=w,
        convDesc=convDesc,
        dxDesc=dxDesc,
        dx=dx,
        requestAlgoCount=requestAlgoCount,
        workSpace=workSpace,
        workSpaceSize=workSpaceSize,
        exhaustiveSearch=exhaustiveSearch,
    )


@function
def miopenConvolutionBackwardDataGetSolution(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    wDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    dxDesc: miopenTensorDescriptor_t,
    maxSolutionCount: int,
) -> tuple[int, list[miopenConvSolution_t]]:
    """Return (solutionCount, solutions) of the gradient by the input, the fastest first by estimate.

    Return (solutionCount, solutions) (since 2.0.0).

    C: ``miopenStatus_t miopenConvolutionBackwardDataGetSolution(miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t wDesc, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, const size_t maxSolutionCount, size_t *solutionCount, miopenConvSolution_t *solutions)``

    In cuDNN: ``cudnnGetConvolutionBackwardDataAlgorithm``; what a port changes: drops preference, memoryLimitInBytes, algo; adds maxSolutionCount, solutionCount, solutions; moves dyDesc; wDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t.

    In portadnn: ``get_convolution_backward_data_algorithm``.
    """
    return _ConvolutionBackwardDataGetSolution(
        handle=handle, dyDesc=dyDesc, wDesc=wDesc, convDesc=convDesc, dxDesc=dxDesc, maxSolutionCount=maxSolutionCount
    )


@function
def miopenConvolutionBackwardDataGetSolutionCount(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    wDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    dxDesc: miopenTensorDescriptor_t,
) -> int:
    """Return how many solutions the gradient by the input has.

    Return solutionCount (since 2.0.0).

    C: ``miopenStatus_t miopenConvolutionBackwardDataGetSolutionCount(miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t wDesc, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, size_t *solutionCount)``

    In cuDNN: ``cudnnGetConvolutionBackwardDataAlgorithmMaxCount``; what a port changes: adds dyDesc, wDesc, convDesc, dxDesc; renames count -> solutionCount; count: int * -> size_t *.

    In portadnn: ``get_convolution_backward_data_algorithm_max_count``.
    """
    return _ConvolutionBackwardDataGetSolutionCount(
        handle=handle, dyDesc=dyDesc, wDesc=wDesc, convDesc=convDesc, dxDesc=dxDesc
    )


@function
def miopenConvolutionBackwardDataGetWorkSpaceSize(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    wDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    dxDesc: miopenTensorDescriptor_t,
) -> int:
    """Return the bytes with which Find can try every algorithm.

    Return workSpaceSize (since 1.0.0).

    C: ``miopenStatus_t miopenConvolutionBackwardDataGetWorkSpaceSize(miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t wDesc, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, size_t *workSpaceSize)``

    In cuDNN: ``cudnnGetConvolutionBackwardDataWorkspaceSize``; what a port changes: drops algo; moves dyDesc; renames sizeInBytes -> workSpaceSize; wDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t.

    In portadnn: ``get_convolution_backward_data_workspace_size``, ``get_convolution_backward_data_find_workspace_size``.
    """
    return _ConvolutionBackwardDataGetWorkSpaceSize(handle, convDesc, dyDesc=dyDesc, wDesc=wDesc, dxDesc=dxDesc)


@function
def miopenConvolutionBackwardData(
    handle: Handle,
    alpha: float,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    convDesc: miopenConvolutionDescriptor_t,
    algo: int,
    beta: float,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
    workSpace: Any,
    workSpaceSize: int,
) -> None:
    """Compute the gradient by the input; miopenConvolutionForward tells what it demands.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenConvolutionBackwardData(miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t dyDesc, const void *dy, const miopenTensorDescriptor_t wDesc, const void *w, const miopenConvolutionDescriptor_t convDesc, miopenConvBwdDataAlgorithm_t algo, const void *beta, const miopenTensorDescriptor_t dxDesc, void *dx, void *workSpace, size_t workSpaceSize)``

    In cuDNN: ``cudnnConvolutionBackwardData``; what a port changes: moves dyDesc, dy, workSpace, workSpaceSizeInBytes; renames workSpaceSizeInBytes -> workSpaceSize; wDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t.

    In portadnn: ``convolution_backward_data``.
    """
    _ConvolutionBackwardData(
        handle=handle,
        alpha=alpha,
        dyDesc=dyDesc,
        dy=dy,
        wDesc=wDesc,
        w=w,
        convDesc=convDesc,
        algo=algo,
        beta=beta,
        dxDesc=dxDesc,
        dx=dx,
        workSpace=workSpace,
        workSpaceSize=workSpaceSize,
    )


@function
def miopenConvolutionBackwardDataGetSolutionWorkspaceSize(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    wDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    dxDesc: miopenTensorDescriptor_t,
    solution_id: int,
) -> int:
    """Return the bytes of workspace of a solution.

    Return workSpaceSize (since 2.0.0).

    C: ``miopenStatus_t miopenConvolutionBackwardDataGetSolutionWorkspaceSize(miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t wDesc, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, const uint64_t solution_id, size_t *workSpaceSize)``

    In portadnn: ``get_convolution_backward_data_workspace_size``.
    """
    return _ConvolutionBackwardDataGetSolutionWorkspaceSize(
        handle=handle, dyDesc=dyDesc, wDesc=wDesc, convDesc=convDesc, dxDesc=dxDesc, solution_id=solution_id
    )


@function
def miopenConvolutionBackwardDataCompileSolution(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    wDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    dxDesc: miopenTensorDescriptor_t,
    solution_id: int,
) -> None:
    """Compile a solution's kernels, which the first run would do otherwise.

    Return nothing (since 2.0.0).

    C: ``miopenStatus_t miopenConvolutionBackwardDataCompileSolution(miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t wDesc, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, const uint64_t solution_id)``
    """
    _ConvolutionBackwardDataCompileSolution(
        handle=handle, dyDesc=dyDesc, wDesc=wDesc, convDesc=convDesc, dxDesc=dxDesc, solution_id=solution_id
    )


@function
def miopenConvolutionBackwardDataImmediate(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    convDesc: miopenConvolutionDescriptor_t,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
    workSpace: Any,
    workSpaceSize: int,
    solution_id: int,
) -> None:
    """Compute the gradient by the input by a solution; Find is not needed.

    Return nothing (since 2.0.0).

    C: ``miopenStatus_t miopenConvolutionBackwardDataImmediate(miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const void *dy, const miopenTensorDescriptor_t wDesc, const void *w, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, void *dx, void *workSpace, size_t workSpaceSize, const uint64_t solution_id)``

    In portadnn: ``convolution_backward_data``.
    """
    _ConvolutionBackwardDataImmediate(
        handle=handle,
        dyDesc=dyDesc,
        dy=dy,
        wDesc=wDesc,
        w=w,
        convDesc=convDesc,
        dxDesc=dxDesc,
        dx=dx,
        workSpace=workSpace,
        workSpaceSize=workSpaceSize,
        solution_id=solution_id,
    )
