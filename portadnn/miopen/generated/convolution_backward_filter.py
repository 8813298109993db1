"""Convolution, backward filter and bias: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..convolution.algorithms import miopenConvAlgoPerf_t, miopenConvSolution_t
from ..convolution.calls import (
    miopenConvolutionBackwardBias as _ConvolutionBackwardBias,
    miopenConvolutionBackwardWeights as _ConvolutionBackwardWeights,
    miopenConvolutionBackwardWeightsGetWorkSpaceSize as _ConvolutionBackwardWeightsGetWorkSpaceSize,
    miopenFindConvolutionBackwardWeightsAlgorithm as _FindConvolutionBackwardWeightsAlgorithm,
)
from ..convolution.descriptor import miopenConvolutionDescriptor_t
from ..convolution.immediate import (
    miopenConvolutionBackwardWeightsCompileSolution as _ConvolutionBackwardWeightsCompileSolution,
    miopenConvolutionBackwardWeightsGetSolution as _ConvolutionBackwardWeightsGetSolution,
    miopenConvolutionBackwardWeightsGetSolutionCount as _ConvolutionBackwardWeightsGetSolutionCount,
    miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize as _ConvolutionBackwardWeightsGetSolutionWorkspaceSize,
    miopenConvolutionBackwardWeightsImmediate as _ConvolutionBackwardWeightsImmediate,
)
from ..descriptors import miopenTensorDescriptor_t, tensor
from ..names import function


@function
def miopenConvolutionBackwardBias(
    handle: Handle,
    alpha: float,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    beta: float,
    dbDesc: miopenTensorDescriptor_t,
    db: Any,
) -> None:
    """Compute the gradient by the bias, with alpha = 1 and beta = 0. MIOpen's own returns miopenStatusNotImplemented since 3.6.0: portable programs call :func:`miopenReduceTensor`.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenConvolutionBackwardBias(miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t dyDesc, const void *dy, const void *beta, const miopenTensorDescriptor_t dbDesc, void *db)``

    In cuDNN: ``cudnnConvolutionBackwardBias``; what a port changes: same arguments.

    In portadnn: ``convolution_backward_bias``.
    """
    _ConvolutionBackwardBias(handle, tensor(handle, dyDesc, dy, "dy"), tensor(handle, dbDesc, db, "db"), alpha, beta)


@function
def miopenFindConvolutionBackwardWeightsAlgorithm(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    convDesc: miopenConvolutionDescriptor_t,
    dwDesc: miopenTensorDescriptor_t,
    dw: Any,
    requestAlgoCount: int,
    workSpace: Any,
    workSpaceSize: int,
    exhaustiveSearch: bool,
) -> tuple[int, list[miopenConvAlgoPerf_t]]:
    """Time the algorithms of the gradient by the filter: miopenFindConvolutionForwardAlgorithm tells the rest.

    Return (returnedAlgoCount, perfResults) (since 1.0.0).

    C: ``miopenStatus_t miopenFindConvolutionBackwardWeightsAlgorithm(miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const void *dy, const miopenTensorDescriptor_t xDesc, const void *x, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, void *dw, const int requestAlgoCount, int *returnedAlgoCount, miopenConvAlgoPerf_t *perfResults, void *workSpace, size_t workSpaceSize, bool exhaustiveSearch)``

    In cuDNN: ``cudnnFindConvolutionBackwardFilterAlgorithm``; what a port changes: adds dy, x, dw, workSpace, workSpaceSize, exhaustiveSearch; moves dyDesc; renames requestedAlgoCount -> requestAlgoCount; dwDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t; perfResults: cudnnConvolutionBwdFilterAlgoPerf_t * -> miopenConvAlgoPerf_t *.

    In portadnn: ``find_convolution_backward_filter_algorithm``.
    """
    return _FindConvolutionBackwardWeightsAlgorithm(
        handle=handle,
        dyDesc=dyDesc,
        dy=dy,
        xDesc=xDesc,
        x=x,
        convDesc=convDesc,
        dwDesc=dwDesc,
        dw=dw,
        requestAlgoCount=requestAlgoCount,
        workSpace=workSpace,
        workSpaceSize=workSpaceSize,
        exhaustiveSearch=exhaustiveSearch,
    )


@function
def miopenConvolutionBackwardWeightsGetSolution(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    xDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    dwDesc: miopenTensorDescriptor_t,
    maxSolutionCount: int,
) -> tuple[int, list[miopenConvSolution_t]]:
    """Return (solutionCount, solutions) of the gradient by the filter, the fastest first by estimate.

    Return (solutionCount, solutions) (since 2.0.0).

    C: ``miopenStatus_t miopenConvolutionBackwardWeightsGetSolution(miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, const size_t maxSolutionCount, size_t *solutionCount, miopenConvSolution_t *solutions)``

    In cuDNN: ``cudnnGetConvolutionBackwardFilterAlgorithm``; what a port changes: drops preference, memoryLimitInBytes, algo; adds maxSolutionCount, solutionCount, solutions; moves dyDesc; dwDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t.

    In portadnn: ``get_convolution_backward_filter_algorithm``.
    """
    return _ConvolutionBackwardWeightsGetSolution(
        handle=handle, dyDesc=dyDesc, xDesc=xDesc, convDesc=convDesc, dwDesc=dwDesc, maxSolutionCount=maxSolutionCount
    )


@function
def miopenConvolutionBackwardWeightsGetSolutionCount(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    xDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    dwDesc: miopenTensorDescriptor_t,
) -> int:
    """Return how many solutions the gradient by the filter has.

    Return solutionCount (since 2.0.0).

    C: ``miopenStatus_t miopenConvolutionBackwardWeightsGetSolutionCount(miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, size_t *solutionCount)``

    In cuDNN: ``cudnnGetConvolutionBackwardFilterAlgorithmMaxCount``; what a port changes: adds dyDesc, xDesc, convDesc, dwDesc; renames count -> solutionCount; count: int * -> size_t *.

    In portadnn: ``get_convolution_backward_filter_algorithm_max_count``.
    """
    return _ConvolutionBackwardWeightsGetSolutionCount(
        handle=handle, dyDesc=dyDesc, xDesc=xDesc, convDesc=convDesc, dwDesc=dwDesc
    )


@function
def miopenConvolutionBackwardWeightsGetWorkSpaceSize(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    xDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    dwDesc: miopenTensorDescriptor_t,
) -> int:
    """Return the bytes with which Find can try every algorithm.

    Return workSpaceSize (since 1.0.0).

    C: ``miopenStatus_t miopenConvolutionBackwardWeightsGetWorkSpaceSize(miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, size_t *workSpaceSize)``

    In cuDNN: ``cudnnGetConvolutionBackwardFilterWorkspaceSize``; what a port changes: drops algo; moves dyDesc; renames gradDesc -> dwDesc, sizeInBytes -> workSpaceSize; gradDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t.

    In portadnn: ``get_convolution_backward_filter_workspace_size``, ``get_convolution_backward_filter_find_workspace_size``.
    """
    return _ConvolutionBackwardWeightsGetWorkSpaceSize(handle, convDesc, dyDesc=dyDesc, xDesc=xDesc, dwDesc=dwDesc)


@function
def miopenConvolutionBackwardWeights(
    handle: Handle,
    alpha: float,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    convDesc: miopenConvolutionDescriptor_t,
    algo: int,
    beta: float,
    dwDesc: miopenTensorDescriptor_t,
    dw: Any,
    workSpace: Any,
    workSpaceSize: int,
) -> None:
    """Compute the gradient by the filter; miopenConvolutionForward tells what it demands.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenConvolutionBackwardWeights(miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t dyDesc, const void *dy, const miopenTensorDescriptor_t xDesc, const void *x, const miopenConvolutionDescriptor_t convDesc, miopenConvBwdWeightsAlgorithm_t algo, const void *beta, const miopenTensorDescriptor_t dwDesc, void *dw, void *workSpace, size_t workSpaceSize)``

    In cuDNN: ``cudnnConvolutionBackwardFilter``; what a port changes: moves dyDesc, dy, workSpace, workSpaceSizeInBytes; renames workSpaceSizeInBytes -> workSpaceSize; dwDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t.

    In portadnn: ``convolution_backward_filter``.
    """
    _ConvolutionBackwardWeights(
        handle=handle,
        alpha=alpha,
        dyDesc=dyDesc,
        dy=dy,
        xDesc=xDesc,
        x=x,
        convDesc=convDesc,
        algo=algo,
        beta=beta,
        dwDesc=dwDesc,
        dw=dw,
        workSpace=workSpace,
        workSpaceSize=workSpaceSize,
    )


@function
def miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    xDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    dwDesc: miopenTensorDescriptor_t,
    solution_id: int,
) -> int:
    """Return the bytes of workspace of a solution.

    Return workSpaceSize (since 2.0.0).

    C: ``miopenStatus_t miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, const uint64_t solution_id, size_t *workSpaceSize)``

    In portadnn: ``get_convolution_backward_filter_workspace_size``.
    """
    return _ConvolutionBackwardWeightsGetSolutionWorkspaceSize(
        handle=handle, dyDesc=dyDesc, xDesc=xDesc, convDesc=convDesc, dwDesc=dwDesc, solution_id=solution_id
    )


@function
def miopenConvolutionBackwardWeightsCompileSolution(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    xDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    dwDesc: miopenTensorDescriptor_t,
    solution_id: int,
) -> None:
    """Compile a solution's kernels, which the first run would do otherwise.

    Return nothing (since 2.0.0).

    C: ``miopenStatus_t miopenConvolutionBackwardWeightsCompileSolution(miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, const uint64_t solution_id)``
    """
    _ConvolutionBackwardWeightsCompileSolution(
        handle=handle, dyDesc=dyDesc, xDesc=xDesc, convDesc=convDesc, dwDesc=dwDesc, solution_id=solution_id
    )


@function
def miopenConvolutionBackwardWeightsImmediate(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    convDesc: miopenConvolutionDescriptor_t,
    dwDesc: miopenTensorDescriptor_t,
    dw: Any,
    workSpace: Any,
    workSpaceSize: int,
    solution_id: int,
) -> None:
    """Compute the gradient by the filter by a solution; Find is not needed.

    Return nothing (since 2.0.0).

    C: ``miopenStatus_t miopenConvolutionBackwardWeightsImmediate(miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const void *dy, const miopenTensorDescriptor_t xDesc, const void *x, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, void *dw, void *workSpace, size_t workSpaceSize, const uint64_t solution_id)``

    In portadnn: ``convolution_backward_filter``.
    """
    _ConvolutionBackwardWeightsImmediate(
        handle=handle,
        dyDesc=dyDesc,
        dy=dy,
        xDesc=xDesc,
        x=x,
        convDesc=convDesc,
        dwDesc=dwDesc,
        dw=dw,
        workSpace=workSpace,
        workSpaceSize=workSpaceSize,
        solution_id=solution_id,
    )
