"""RNN: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..calls import c_function
from ..descriptors import FilterDescriptor, TensorDescriptor, value_of
from ..memory import filter_, optional, raw, scratch
from ..rnn.calls import (
    cudnnGetRNNLinLayerBiasParams as _GetRNNLinLayerBiasParams,
    cudnnGetRNNLinLayerMatrixParams as _GetRNNLinLayerMatrixParams,
    cudnnGetRNNParamsSize as _GetRNNParamsSize,
    cudnnGetRNNTrainingReserveSize as _GetRNNTrainingReserveSize,
    cudnnGetRNNWorkspaceSize as _GetRNNWorkspaceSize,
    cudnnRNNBackwardData as _RNNBackwardData,
    cudnnRNNBackwardWeights as _RNNBackwardWeights,
    cudnnRNNForwardInference as _RNNForwardInference,
    cudnnRNNForwardTraining as _RNNForwardTraining,
)
from ..rnn.descriptors import RNNDescriptor


@c_function
def cudnnGetRNNWorkspaceSize(handle: Handle, rnnDesc: RNNDescriptor, seqLength: int, xDesc: Any) -> int:
    """Return sizeInBytes (guide 4.102, since 5.0, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnGetRNNWorkspaceSize(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength, const cudnnTensorDescriptor_t *xDesc, size_t *sizeInBytes)``

    In portadnn: ``get_rnn_workspace_size``.

    `xDesc` is a sequence of at least `seqLength` tensor descriptors, as in the passes.
    """
    return _GetRNNWorkspaceSize(handle, value_of(rnnDesc, RNNDescriptor, "rnnDesc"), seqLength, xDesc)


@c_function
def cudnnGetRNNTrainingReserveSize(handle: Handle, rnnDesc: RNNDescriptor, seqLength: int, xDesc: Any) -> int:
    """Return sizeInBytes (guide 4.103, since 5.0, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnGetRNNTrainingReserveSize(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength, const cudnnTensorDescriptor_t *xDesc, size_t *sizeInBytes)``

    In portadnn: ``get_rnn_training_reserve_size``.

    `xDesc` is a sequence of at least `seqLength` tensor descriptors, as in the passes.
    """
    return _GetRNNTrainingReserveSize(handle, value_of(rnnDesc, RNNDescriptor, "rnnDesc"), seqLength, xDesc)


@c_function
def cudnnGetRNNParamsSize(handle: Handle, rnnDesc: RNNDescriptor, xDesc: TensorDescriptor, dataType: int) -> int:
    """Return sizeInBytes (guide 4.104, since 5.0, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnGetRNNParamsSize(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const cudnnTensorDescriptor_t xDesc, size_t *sizeInBytes, cudnnDataType_t dataType)``

    In portadnn: ``get_rnn_params_size``.

    `xDesc` is one step's descriptor.
    """
    return _GetRNNParamsSize(
        handle, value_of(rnnDesc, RNNDescriptor, "rnnDesc"), value_of(xDesc, TensorDescriptor, "xDesc"), dataType
    )


@c_function
def cudnnGetRNNLinLayerMatrixParams(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    layer: int,
    xDesc: TensorDescriptor,
    wDesc: FilterDescriptor,
    w: Any,
    linLayerID: int,
    linLayerMatDesc: FilterDescriptor,
) -> Any:
    """Return linLayerMat (guide 4.105, since 5.0, deprecated 8.0.1, removed 9.0.0, changed by 7.1.1).

    C: ``cudnnStatus_t cudnnGetRNNLinLayerMatrixParams(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int layer, const cudnnTensorDescriptor_t xDesc, const cudnnFilterDescriptor_t wDesc, const void *w, const int linLayerID, cudnnFilterDescriptor_t linLayerMatDesc, void **linLayerMat)``

    In cuDNN 7.1.1 the parameters are: handle, rnnDesc, pseudoLayer, xDesc, wDesc, w, linLayerID, linLayerMatDesc, linLayerMat.

    In portadnn: ``get_rnn_lin_layer_matrix_params``.

    `linLayerMat` is an array (1, hidden size, columns) on the memory of `w`; `linLayerMatDesc` is set to its layout.

    None, and dims of 0, for the first layer's input with CUDNN_SKIP_INPUT.
    """
    return _GetRNNLinLayerMatrixParams(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        layer,
        value_of(xDesc, TensorDescriptor, "xDesc"),
        filter_(handle, wDesc, w, "w"),
        linLayerID,
        linLayerMatDesc,
    )


@c_function
def cudnnGetRNNLinLayerBiasParams(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    layer: int,
    xDesc: TensorDescriptor,
    wDesc: FilterDescriptor,
    w: Any,
    linLayerID: int,
    linLayerBiasDesc: FilterDescriptor,
) -> Any:
    """Return linLayerBias (guide 4.106, since 5.0, deprecated 8.0.1, removed 9.0.0, changed by 7.1.1).

    C: ``cudnnStatus_t cudnnGetRNNLinLayerBiasParams(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int layer, const cudnnTensorDescriptor_t xDesc, const cudnnFilterDescriptor_t wDesc, const void *w, const int linLayerID, cudnnFilterDescriptor_t linLayerBiasDesc, void **linLayerBias)``

    In cuDNN 7.1.1 the parameters are: handle, rnnDesc, pseudoLayer, xDesc, wDesc, w, linLayerID, linLayerBiasDesc, linLayerBias.

    In portadnn: ``get_rnn_lin_layer_bias_params``.

    `linLayerBias` is an array (1, hidden size, 1) on the memory of `w`; `linLayerBiasDesc` is set to its layout.
    """
    return _GetRNNLinLayerBiasParams(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        layer,
        value_of(xDesc, TensorDescriptor, "xDesc"),
        filter_(handle, wDesc, w, "w"),
        linLayerID,
        linLayerBiasDesc,
    )


@c_function
def cudnnRNNForwardInference(
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
    workspace: Any,
    workSpaceSizeInBytes: int,
) -> None:
    """Return nothing (guide 4.107, since 5.0, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnRNNForwardInference(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength, const cudnnTensorDescriptor_t *xDesc, const void *x, const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t cxDesc, const void *cx, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t *yDesc, void *y, const cudnnTensorDescriptor_t hyDesc, void *hy, const cudnnTensorDescriptor_t cyDesc, void *cy, void *workspace, size_t workSpaceSizeInBytes)``

    In portadnn: ``rnn_forward_inference``.

    `xDesc` and `yDesc` are sequences of tensor descriptors (n, features, 1), one for each step.

    States are (layers * directions, n, hidden size), and may be NULL: zeros, or not wanted.
    """
    _RNNForwardInference(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        seqLength,
        xDesc,
        x,
        yDesc,
        y,
        optional(handle, hxDesc, hx, "hx"),
        optional(handle, cxDesc, cx, "cx"),
        filter_(handle, wDesc, w, "w"),
        optional(handle, hyDesc, hy, "hy"),
        optional(handle, cyDesc, cy, "cy"),
        scratch(handle, workspace, workSpaceSizeInBytes),
    )


@c_function
def cudnnRNNForwardTraining(
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
    workspace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """Return nothing (guide 4.108, since 5.0, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnRNNForwardTraining(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength, const cudnnTensorDescriptor_t *xDesc, const void *x, const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t cxDesc, const void *cx, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t *yDesc, void *y, const cudnnTensorDescriptor_t hyDesc, void *hy, const cudnnTensorDescriptor_t cyDesc, void *cy, void *workspace, size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes)``

    In portadnn: ``rnn_forward_training``.

    As cudnnRNNForwardInference; the reserve space goes on to cudnnRNNBackwardData.
    """
    _RNNForwardTraining(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        seqLength,
        xDesc,
        x,
        yDesc,
        y,
        optional(handle, hxDesc, hx, "hx"),
        optional(handle, cxDesc, cx, "cx"),
        filter_(handle, wDesc, w, "w"),
        optional(handle, hyDesc, hy, "hy"),
        optional(handle, cyDesc, cy, "cy"),
        raw(handle, reserveSpace, reserveSpaceSizeInBytes, "reserveSpace"),
        scratch(handle, workspace, workSpaceSizeInBytes),
    )


@c_function
def cudnnRNNBackwardData(
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
    workspace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """Return nothing (guide 4.109, since 5.0, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnRNNBackwardData(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength, const cudnnTensorDescriptor_t *yDesc, const void *y, const cudnnTensorDescriptor_t *dyDesc, const void *dy, const cudnnTensorDescriptor_t dhyDesc, const void *dhy, const cudnnTensorDescriptor_t dcyDesc, const void *dcy, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t cxDesc, const void *cx, const cudnnTensorDescriptor_t *dxDesc, void *dx, const cudnnTensorDescriptor_t dhxDesc, void *dhx, const cudnnTensorDescriptor_t dcxDesc, void *dcx, void *workspace, size_t workSpaceSizeInBytes, const void *reserveSpace, size_t reserveSpaceSizeInBytes)``

    In portadnn: ``rnn_backward_data``.

    Gradients of states may be NULL. The reserve space is changed and goes on to cudnnRNNBackwardWeights.
    """
    _RNNBackwardData(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        seqLength,
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
        scratch(handle, workspace, workSpaceSizeInBytes),
    )


@c_function
def cudnnRNNBackwardWeights(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    seqLength: int,
    xDesc: Any,
    x: Any,
    hxDesc: TensorDescriptor,
    hx: Any,
    yDesc: Any,
    y: Any,
    workspace: Any,
    workSpaceSizeInBytes: int,
    dwDesc: FilterDescriptor,
    dw: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """Return nothing (guide 4.110, since 5.0, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnRNNBackwardWeights(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength, const cudnnTensorDescriptor_t *xDesc, const void *x, const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t *yDesc, const void *y, const void *workspace, size_t workSpaceSizeInBytes, const cudnnFilterDescriptor_t dwDesc, void *dw, const void *reserveSpace, size_t reserveSpaceSizeInBytes)``

    In portadnn: ``rnn_backward_weights``.

    The gradient is added to what `dw` holds, as in C.
    """
    _RNNBackwardWeights(
        handle,
        value_of(rnnDesc, RNNDescriptor, "rnnDesc"),
        seqLength,
        xDesc,
        x,
        optional(handle, hxDesc, hx, "hx"),
        yDesc,
        y,
        raw(handle, reserveSpace, reserveSpaceSizeInBytes, "reserveSpace"),
        filter_(handle, dwDesc, dw, "dw"),
        scratch(handle, workspace, workSpaceSizeInBytes),
    )
