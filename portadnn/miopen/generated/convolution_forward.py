"""Convolution, forward: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..activation import miopenActivationDescriptor_t
from ..convolution.algorithms import miopenConvAlgoPerf_t, miopenConvSolution_t
from ..convolution.calls import (
    miopenConvolutionBiasActivationForward as _ConvolutionBiasActivationForward,
    miopenConvolutionForward as _ConvolutionForward,
    miopenConvolutionForwardGetWorkSpaceSize as _ConvolutionForwardGetWorkSpaceSize,
    miopenFindConvolutionForwardAlgorithm as _FindConvolutionForwardAlgorithm,
)
from ..convolution.descriptor import miopenConvolutionDescriptor_t
from ..convolution.immediate import (
    miopenConvolutionForwardCompileSolution as _ConvolutionForwardCompileSolution,
    miopenConvolutionForwardGetSolution as _ConvolutionForwardGetSolution,
    miopenConvolutionForwardGetSolutionCount as _ConvolutionForwardGetSolutionCount,
    miopenConvolutionForwardGetSolutionWorkspaceSize as _ConvolutionForwardGetSolutionWorkspaceSize,
    miopenConvolutionForwardImmediate as _ConvolutionForwardImmediate,
)
from ..descriptors import miopenTensorDescriptor_t, optional, tensor, value_of
from ..names import function


@function
def miopenFindConvolutionForwardAlgorithm(
    handle: Handle,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    convDesc: miopenConvolutionDescriptor_t,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    requestAlgoCount: int,
    workSpace: Any,
    workSpaceSize: int,
    exhaustiveSearch: bool,
) -> tuple[int, list[miopenConvAlgoPerf_t]]:
    """Time the algorithms, and return (returnedAlgoCount, perfResults), the fastest first.

    Return (returnedAlgoCount, perfResults) (since 1.0.0).

    C: ``miopenStatus_t miopenFindConvolutionForwardAlgorithm(miopenHandle_t handle, const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t wDesc, const void *w, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t yDesc, void *y, const int requestAlgoCount, int *returnedAlgoCount, miopenConvAlgoPerf_t *perfResults, void *workSpace, size_t workSpaceSize, bool exhaustiveSearch)``

    In cuDNN: ``cudnnFindConvolutionForwardAlgorithm``; what a port changes: adds x, w, y, workSpace, workSpaceSize, exhaustiveSearch; renames requestedAlgoCount -> requestAlgoCount; wDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t; perfResults: cudnnConvolutionFwdAlgoPerf_t * -> miopenConvAlgoPerf_t *.

    In portadnn: ``find_convolution_forward_algorithm``.

    y is overwritten. The convolution can run from now on, with this handle and descriptors like these. Nothing is
    tuned, so that `exhaustiveSearch` makes no difference.
    """
    return _FindConvolutionForwardAlgorithm(
        handle=handle,
        xDesc=xDesc,
        x=x,
        wDesc=wDesc,
        w=w,
        convDesc=convDesc,
        yDesc=yDesc,
        y=y,
        requestAlgoCount=requestAlgoCount,
        workSpace=workSpace,
        workSpaceSize=workSpaceSize,
        exhaustiveSearch=exhaustiveSearch,
    )


@function
def miopenConvolutionForwardGetSolution(
    handle: Handle,
    wDesc: miopenTensorDescriptor_t,
    xDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    yDesc: miopenTensorDescriptor_t,
    maxSolutionCount: int,
) -> tuple[int, list[miopenConvSolution_t]]:
    """Return (solutionCount, solutions) of the convolution, the fastest first by estimate.

    Return (solutionCount, solutions) (since 2.0.0).

    C: ``miopenStatus_t miopenConvolutionForwardGetSolution(miopenHandle_t handle, const miopenTensorDescriptor_t wDesc, const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t yDesc, const size_t maxSolutionCount, size_t *solutionCount, miopenConvSolution_t *solutions)``

    In cuDNN: ``cudnnGetConvolutionForwardAlgorithm``; what a port changes: drops preference, memoryLimitInBytes, algo; adds maxSolutionCount, solutionCount, solutions; moves wDesc; wDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t.

    In portadnn: ``get_convolution_forward_algorithm``.
    """
    return _ConvolutionForwardGetSolution(
        handle=handle, wDesc=wDesc, xDesc=xDesc, convDesc=convDesc, yDesc=yDesc, maxSolutionCount=maxSolutionCount
    )


@function
def miopenConvolutionForwardGetSolutionCount(
    handle: Handle,
    wDesc: miopenTensorDescriptor_t,
    xDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    yDesc: miopenTensorDescriptor_t,
) -> int:
    """Return how many solutions the convolution has.

    Return solutionCount (since 2.0.0).

    C: ``miopenStatus_t miopenConvolutionForwardGetSolutionCount(miopenHandle_t handle, const miopenTensorDescriptor_t wDesc, const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t yDesc, size_t *solutionCount)``

    In cuDNN: ``cudnnGetConvolutionForwardAlgorithmMaxCount``; what a port changes: adds wDesc, xDesc, convDesc, yDesc; renames count -> solutionCount; count: int * -> size_t *.

    In portadnn: ``get_convolution_forward_algorithm_max_count``.
    """
    return _ConvolutionForwardGetSolutionCount(handle=handle, wDesc=wDesc, xDesc=xDesc, convDesc=convDesc, yDesc=yDesc)


@function
def miopenConvolutionForwardGetWorkSpaceSize(
    handle: Handle,
    wDesc: miopenTensorDescriptor_t,
    xDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    yDesc: miopenTensorDescriptor_t,
) -> int:
    """Return the bytes with which Find can try every algorithm; they do for the convolution as well.

    Return workSpaceSize (since 1.0.0).

    C: ``miopenStatus_t miopenConvolutionForwardGetWorkSpaceSize(miopenHandle_t handle, const miopenTensorDescriptor_t wDesc, const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t yDesc, size_t *workSpaceSize)``

    In cuDNN: ``cudnnGetConvolutionForwardWorkspaceSize``; what a port changes: drops algo; moves wDesc; renames sizeInBytes -> workSpaceSize; wDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t.

    In portadnn: ``get_convolution_forward_workspace_size``, ``get_convolution_forward_find_workspace_size``.
    """
    return _ConvolutionForwardGetWorkSpaceSize(handle, convDesc, wDesc=wDesc, xDesc=xDesc, yDesc=yDesc)


@function
def miopenConvolutionForward(
    handle: Handle,
    alpha: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    convDesc: miopenConvolutionDescriptor_t,
    algo: int,
    beta: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    workSpace: Any,
    workSpaceSize: int,
) -> None:
    """Convolve: ``y = conv(x, w)``; with alpha = 1 and beta = 0, but for 3-D convolutions.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenConvolutionForward(miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t wDesc, const void *w, const miopenConvolutionDescriptor_t convDesc, miopenConvFwdAlgorithm_t algo, const void *beta, const miopenTensorDescriptor_t yDesc, void *y, void *workSpace, size_t workSpaceSize)``

    In cuDNN: ``cudnnConvolutionForward``; what a port changes: moves workSpace, workSpaceSizeInBytes; renames workSpaceSizeInBytes -> workSpaceSize; wDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t.

    In portadnn: ``convolution_forward``.

    Raises
    ------
    BadParam
        Find was not called for this problem with this handle, or did not find the algorithm; or the workspace is
        smaller than Find said.
    """
    _ConvolutionForward(
        handle=handle,
        alpha=alpha,
        xDesc=xDesc,
        x=x,
        wDesc=wDesc,
        w=w,
        convDesc=convDesc,
        algo=algo,
        beta=beta,
        yDesc=yDesc,
        y=y,
        workSpace=workSpace,
        workSpaceSize=workSpaceSize,
    )


@function
def miopenConvolutionBiasActivationForward(
    handle: Handle,
    alpha1: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    convDesc: miopenConvolutionDescriptor_t,
    algo: int,
    workspace: Any,
    workspaceSizeInBytes: int,
    alpha2: float,
    zDesc: miopenTensorDescriptor_t,
    z: Any,
    biasDesc: miopenTensorDescriptor_t,
    bias: Any,
    activationDesc: miopenActivationDescriptor_t,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
) -> None:
    """Compute ``y = relu(alpha1 * conv(x, w) + alpha2 * z + bias)``, without Find.

    Return nothing (since 2.19.0).

    C: ``miopenStatus_t miopenConvolutionBiasActivationForward(miopenHandle_t handle, const void *alpha1, const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t wDesc, const void *w, const miopenConvolutionDescriptor_t convDesc, miopenConvFwdAlgorithm_t algo, void *workspace, size_t workspaceSizeInBytes, const void *alpha2, const miopenTensorDescriptor_t zDesc, const void *z, const miopenTensorDescriptor_t biasDesc, const void *bias, const miopenActivationDescriptor_t activationDesc, const miopenTensorDescriptor_t yDesc, void *y)``

    In cuDNN: ``cudnnConvolutionBiasActivationForward``; what a port changes: wDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t.

    In portadnn: ``convolution_bias_activation_forward``.

    As in MIOpen, the activation is miopenActivationRELU and there is no workspace: the handle has one. z may be None
    where alpha2 is 0. The algorithm is one that portadnn may choose the kernels of.
    """
    _ConvolutionBiasActivationForward(
        handle,
        value_of(convDesc, miopenConvolutionDescriptor_t, "convDesc"),
        tensor(handle, xDesc, x, "x"),
        tensor(handle, wDesc, w, "w"),
        algo,
        workspace,
        workspaceSizeInBytes,
        value_of(activationDesc, miopenActivationDescriptor_t, "activationDesc"),
        optional(handle, zDesc, z, "z"),
        tensor(handle, yDesc, y, "y"),
        tensor(handle, biasDesc, bias, "bias"),
        alpha1,
        alpha2,
    )


@function
def miopenConvolutionForwardGetSolutionWorkspaceSize(
    handle: Handle,
    wDesc: miopenTensorDescriptor_t,
    xDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    yDesc: miopenTensorDescriptor_t,
    solution_id: int,
) -> int:
    """Return the bytes of workspace of a solution.

    Return workSpaceSize (since 2.0.0).

    C: ``miopenStatus_t miopenConvolutionForwardGetSolutionWorkspaceSize(miopenHandle_t handle, const miopenTensorDescriptor_t wDesc, const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t yDesc, const uint64_t solution_id, size_t *workSpaceSize)``

    In portadnn: ``get_convolution_forward_workspace_size``.
    """
    return _ConvolutionForwardGetSolutionWorkspaceSize(
        handle=handle, wDesc=wDesc, xDesc=xDesc, convDesc=convDesc, yDesc=yDesc, solution_id=solution_id
    )


@function
def miopenConvolutionForwardCompileSolution(
    handle: Handle,
    wDesc: miopenTensorDescriptor_t,
    xDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    yDesc: miopenTensorDescriptor_t,
    solution_id: int,
) -> None:
    """Compile a solution's kernels, which the first run would do otherwise.

    Return nothing (since 2.0.0).

    C: ``miopenStatus_t miopenConvolutionForwardCompileSolution(miopenHandle_t handle, const miopenTensorDescriptor_t wDesc, const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t yDesc, const uint64_t solution_id)``
    """
    _ConvolutionForwardCompileSolution(
        handle=handle, wDesc=wDesc, xDesc=xDesc, convDesc=convDesc, yDesc=yDesc, solution_id=solution_id
    )


@function
def miopenConvolutionForwardImmediate(
    handle: Handle,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    convDesc: miopenConvolutionDescriptor_t,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    workSpace: Any,
    workSpaceSize: int,
    solution_id: int,
) -> None:
    """Compute the convolution by a solution; Find is not needed.

    Return nothing (since 2.0.0).

    C: ``miopenStatus_t miopenConvolutionForwardImmediate(miopenHandle_t handle, const miopenTensorDescriptor_t wDesc, const void *w, const miopenTensorDescriptor_t xDesc, const void *x, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t yDesc, void *y, void *workSpace, size_t workSpaceSize, const uint64_t solution_id)``

    In portadnn: ``convolution_forward``.
    """
    _ConvolutionForwardImmediate(
        handle=handle,
        wDesc=wDesc,
        w=w,
        xDesc=xDesc,
        x=x,
        convDesc=convDesc,
        yDesc=yDesc,
        y=y,
        workSpace=workSpace,
        workSpaceSize=workSpaceSize,
        solution_id=solution_id,
    )
