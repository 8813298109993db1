"""RNN: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..descriptors import miopenTensorDescriptor_t, optional, value_of
from ..names import function
from ..rnn.calls import (
    miopenGetRNNHiddenTensorSize as _GetRNNHiddenTensorSize,
    miopenGetRNNInputTensorSize as _GetRNNInputTensorSize,
    miopenGetRNNTrainingReserveSize as _GetRNNTrainingReserveSize,
    miopenGetRNNWorkspaceSize as _GetRNNWorkspaceSize,
    miopenRNNBackwardData as _RNNBackwardData,
    miopenRNNBackwardWeights as _RNNBackwardWeights,
    miopenRNNForwardInference as _RNNForwardInference,
    miopenRNNForwardTraining as _RNNForwardTraining,
)
from ..rnn.descriptor import miopenRNNDescriptor_t
from ..rnn.parameters import (
    miopenGetRNNLayerBias as _GetRNNLayerBias,
    miopenGetRNNLayerBiasOffset as _GetRNNLayerBiasOffset,
    miopenGetRNNLayerBiasSize as _GetRNNLayerBiasSize,
    miopenGetRNNLayerParam as _GetRNNLayerParam,
    miopenGetRNNLayerParamOffset as _GetRNNLayerParamOffset,
    miopenGetRNNLayerParamSize as _GetRNNLayerParamSize,
    miopenGetRNNParamsDescriptor as _GetRNNParamsDescriptor,
    miopenGetRNNParamsSize as _GetRNNParamsSize,
    miopenSetRNNLayerBias as _SetRNNLayerBias,
    miopenSetRNNLayerParam as _SetRNNLayerParam,
)


@function
def miopenGetRNNWorkspaceSize(handle: Handle, rnnDesc: miopenRNNDescriptor_t, sequenceLen: int, xDesc: Any) -> int:
    """Return the bytes of workspace that do for every pass.

    Return numBytes (since 1.2.1).

    C: ``miopenStatus_t miopenGetRNNWorkspaceSize(miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, const int sequenceLen, miopenTensorDescriptor_t *xDesc, size_t *numBytes)``

    In cuDNN: ``cudnnGetRNNWorkspaceSize``; what a port changes: renames seqLength -> sequenceLen, sizeInBytes -> numBytes.

    In portadnn: ``get_rnn_workspace_size``.
    """
    return _GetRNNWorkspaceSize(handle, value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"), sequenceLen, xDesc)


@function
def miopenGetRNNTrainingReserveSize(
    handle: Handle, rnnDesc: miopenRNNDescriptor_t, sequenceLen: int, xDesc: Any
) -> int:
    """Return the bytes of reserve space that training needs.

    Return numBytes (since 1.2.1).

    C: ``miopenStatus_t miopenGetRNNTrainingReserveSize(miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, const int sequenceLen, miopenTensorDescriptor_t *xDesc, size_t *numBytes)``

    In cuDNN: ``cudnnGetRNNTrainingReserveSize``; what a port changes: renames seqLength -> sequenceLen, sizeInBytes -> numBytes.

    In portadnn: ``get_rnn_training_reserve_size``.
    """
    return _GetRNNTrainingReserveSize(handle, value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"), sequenceLen, xDesc)


@function
def miopenGetRNNParamsSize(
    handle: Handle, rnnDesc: miopenRNNDescriptor_t, xDesc: miopenTensorDescriptor_t, dtype: int
) -> int:
    """Return the bytes of the parameters.

    Return numBytes (since 1.2.1).

    C: ``miopenStatus_t miopenGetRNNParamsSize(miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, miopenTensorDescriptor_t xDesc, size_t *numBytes, miopenDataType_t dtype)``

    In cuDNN: ``cudnnGetRNNParamsSize``; what a port changes: renames sizeInBytes -> numBytes, dataType -> dtype.

    In portadnn: ``get_rnn_params_size``.
    """
    return _GetRNNParamsSize(handle, value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"), dtype, xDesc)


@function
def miopenGetRNNParamsDescriptor(
    handle: Handle,
    rnnDesc: miopenRNNDescriptor_t,
    xDesc: miopenTensorDescriptor_t,
    wDesc: miopenTensorDescriptor_t,
    dtype: int,
) -> None:
    """Fill the descriptor of the parameters, of two dims as MIOpen has it.

    Return nothing (since 1.2.1).

    C: ``miopenStatus_t miopenGetRNNParamsDescriptor(miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, miopenTensorDescriptor_t xDesc, miopenTensorDescriptor_t wDesc, miopenDataType_t dtype)``
    """
    _GetRNNParamsDescriptor(handle, value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"), dtype, xDesc, wDesc)


@function
def miopenGetRNNInputTensorSize(handle: Handle, rnnDesc: miopenRNNDescriptor_t, seqLen: int, xDesc: Any) -> int:
    """Return the bytes of the input of all steps.

    Return numBytes (since 1.2.1).

    C: ``miopenStatus_t miopenGetRNNInputTensorSize(miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, const int seqLen, miopenTensorDescriptor_t *xDesc, size_t *numBytes)``
    """
    return _GetRNNInputTensorSize(handle, value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"), seqLen, xDesc)


@function
def miopenGetRNNHiddenTensorSize(handle: Handle, rnnDesc: miopenRNNDescriptor_t, seqLen: int, xDesc: Any) -> int:
    """Return the bytes of a hidden state of all layers.

    Return numBytes (since 1.2.1).

    C: ``miopenStatus_t miopenGetRNNHiddenTensorSize(miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, const int seqLen, miopenTensorDescriptor_t *xDesc, size_t *numBytes)``
    """
    return _GetRNNHiddenTensorSize(handle, value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"), seqLen, xDesc)


@function
def miopenGetRNNLayerParam(
    handle: Handle,
    rnnDesc: miopenRNNDescriptor_t,
    layer: int,
    xDesc: miopenTensorDescriptor_t,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    paramID: int,
    paramDesc: miopenTensorDescriptor_t,
    layerParam: Any,
) -> None:
    """Fill the descriptor of a matrix, (hidden, columns), and copy it to `layerParam` unless that is None.

    Return nothing (since 1.2.1).

    C: ``miopenStatus_t miopenGetRNNLayerParam(miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, const int layer, miopenTensorDescriptor_t xDesc, miopenTensorDescriptor_t wDesc, const void *w, const int paramID, miopenTensorDescriptor_t paramDesc, void *layerParam)``

    In cuDNN: ``cudnnGetRNNLinLayerMatrixParams``; what a port changes: renames linLayerID -> paramID, linLayerMatDesc -> paramDesc, linLayerMat -> layerParam; wDesc: const cudnnFilterDescriptor_t -> miopenTensorDescriptor_t; linLayerMatDesc: cudnnFilterDescriptor_t -> miopenTensorDescriptor_t; linLayerMat: void ** -> void *; in the newest versions: renames pseudoLayer -> layer, linLayerID -> paramID, linLayerMatDesc -> paramDesc, linLayerMat -> layerParam; wDesc: const cudnnFilterDescriptor_t -> miopenTensorDescriptor_t; linLayerMatDesc: cudnnFilterDescriptor_t -> miopenTensorDescriptor_t; linLayerMat: void ** -> void *.

    In portadnn: ``get_rnn_lin_layer_matrix_params``.

    paramID: RNN 0 multiplies the input, 1 the hidden state. LSTM 0 and 4 input gate, 1 and 5 forget gate, 2 and 6
    output gate, 3 and 7 new memory. GRU 0 and 3 update gate, 1 and 4 reset gate, 2 and 5 new memory. layer: 2 * layer +
    direction of bidirectional networks.
    """
    _GetRNNLayerParam(
        handle,
        value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"),
        layer,
        xDesc,
        wDesc,
        w,
        paramID,
        paramDesc,
        layerParam,
    )


@function
def miopenGetRNNLayerParamOffset(
    rnnDesc: miopenRNNDescriptor_t,
    layer: int,
    xDesc: miopenTensorDescriptor_t,
    paramID: int,
    paramDesc: miopenTensorDescriptor_t,
) -> int:
    """Fill the descriptor of a matrix, and return where it lies among the parameters, in elements.

    Return layerParamOffset (since 1.3.0).

    C: ``miopenStatus_t miopenGetRNNLayerParamOffset(miopenRNNDescriptor_t rnnDesc, const int layer, miopenTensorDescriptor_t xDesc, const int paramID, miopenTensorDescriptor_t paramDesc, size_t *layerParamOffset)``

    In cuDNN: ``cudnnGetRNNLinLayerMatrixParams``; what a port changes: drops handle, wDesc, w; renames linLayerID -> paramID, linLayerMatDesc -> paramDesc, linLayerMat -> layerParamOffset; linLayerMatDesc: cudnnFilterDescriptor_t -> miopenTensorDescriptor_t; linLayerMat: void ** -> size_t *; in the newest versions: drops handle, wDesc, w; renames pseudoLayer -> layer, linLayerID -> paramID, linLayerMatDesc -> paramDesc, linLayerMat -> layerParamOffset; linLayerMatDesc: cudnnFilterDescriptor_t -> miopenTensorDescriptor_t; linLayerMat: void ** -> size_t *.

    In portadnn: ``get_rnn_lin_layer_matrix_params``.
    """
    return _GetRNNLayerParamOffset(
        value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"), layer, xDesc, paramID, paramDesc
    )


@function
def miopenSetRNNLayerParam(
    handle: Handle,
    rnnDesc: miopenRNNDescriptor_t,
    layer: int,
    xDesc: miopenTensorDescriptor_t,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    paramID: int,
    paramDesc: miopenTensorDescriptor_t,
    layerParam: Any,
) -> None:
    """Copy a matrix to its place; miopenGetRNNLayerParam tells the numbers.

    Return nothing (since 1.2.1).

    C: ``miopenStatus_t miopenSetRNNLayerParam(miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, const int layer, miopenTensorDescriptor_t xDesc, miopenTensorDescriptor_t wDesc, void *w, const int paramID, miopenTensorDescriptor_t paramDesc, const void *layerParam)``

    In portadnn: ``get_rnn_lin_layer_matrix_params``.
    """
    _SetRNNLayerParam(
        handle,
        value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"),
        layer,
        xDesc,
        wDesc,
        w,
        paramID,
        paramDesc,
        layerParam,
    )


@function
def miopenGetRNNLayerParamSize(
    handle: Handle, rnnDesc: miopenRNNDescriptor_t, layer: int, xDesc: miopenTensorDescriptor_t, paramID: int
) -> int:
    """Return the bytes of a matrix.

    Return numBytes (since 1.2.1).

    C: ``miopenStatus_t miopenGetRNNLayerParamSize(miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, const int layer, miopenTensorDescriptor_t xDesc, const int paramID, size_t *numBytes)``

    In portadnn: ``get_rnn_lin_layer_matrix_params``.
    """
    return _GetRNNLayerParamSize(handle, value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"), layer, xDesc, paramID)


@function
def miopenGetRNNLayerBias(
    handle: Handle,
    rnnDesc: miopenRNNDescriptor_t,
    layer: int,
    xDesc: miopenTensorDescriptor_t,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    biasID: int,
    biasDesc: miopenTensorDescriptor_t,
    layerBias: Any,
) -> None:
    """Fill the descriptor of a bias, (hidden,), and copy it; nothing happens with miopenRNNNoBias.

    Return nothing (since 1.2.1).

    C: ``miopenStatus_t miopenGetRNNLayerBias(miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, const int layer, miopenTensorDescriptor_t xDesc, miopenTensorDescriptor_t wDesc, const void *w, const int biasID, miopenTensorDescriptor_t biasDesc, void *layerBias)``

    In cuDNN: ``cudnnGetRNNLinLayerBiasParams``; what a port changes: renames linLayerID -> biasID, linLayerBiasDesc -> biasDesc, linLayerBias -> layerBias; wDesc: const cudnnFilterDescriptor_t -> miopenTensorDescriptor_t; linLayerBiasDesc: cudnnFilterDescriptor_t -> miopenTensorDescriptor_t; linLayerBias: void ** -> void *; in the newest versions: renames pseudoLayer -> layer, linLayerID -> biasID, linLayerBiasDesc -> biasDesc, linLayerBias -> layerBias; wDesc: const cudnnFilterDescriptor_t -> miopenTensorDescriptor_t; linLayerBiasDesc: cudnnFilterDescriptor_t -> miopenTensorDescriptor_t; linLayerBias: void ** -> void *.

    In portadnn: ``get_rnn_lin_layer_bias_params``.
    """
    _GetRNNLayerBias(
        handle, value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"), layer, xDesc, wDesc, w, biasID, biasDesc, layerBias
    )


@function
def miopenGetRNNLayerBiasOffset(
    rnnDesc: miopenRNNDescriptor_t,
    layer: int,
    xDesc: miopenTensorDescriptor_t,
    biasID: int,
    biasDesc: miopenTensorDescriptor_t,
) -> int:
    """Fill the descriptor of a bias, and return where it lies among the parameters, in elements.

    Return layerBiasOffset (since 1.3.0).

    C: ``miopenStatus_t miopenGetRNNLayerBiasOffset(miopenRNNDescriptor_t rnnDesc, const int layer, miopenTensorDescriptor_t xDesc, const int biasID, miopenTensorDescriptor_t biasDesc, size_t *layerBiasOffset)``

    In cuDNN: ``cudnnGetRNNLinLayerBiasParams``; what a port changes: drops handle, wDesc, w; renames linLayerID -> biasID, linLayerBiasDesc -> biasDesc, linLayerBias -> layerBiasOffset; linLayerBiasDesc: cudnnFilterDescriptor_t -> miopenTensorDescriptor_t; linLayerBias: void ** -> size_t *; in the newest versions: drops handle, wDesc, w; renames pseudoLayer -> layer, linLayerID -> biasID, linLayerBiasDesc -> biasDesc, linLayerBias -> layerBiasOffset; linLayerBiasDesc: cudnnFilterDescriptor_t -> miopenTensorDescriptor_t; linLayerBias: void ** -> size_t *.

    In portadnn: ``get_rnn_lin_layer_bias_params``.
    """
    return _GetRNNLayerBiasOffset(value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"), layer, xDesc, biasID, biasDesc)


@function
def miopenSetRNNLayerBias(
    handle: Handle,
    rnnDesc: miopenRNNDescriptor_t,
    layer: int,
    xDesc: miopenTensorDescriptor_t,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    biasID: int,
    biasDesc: miopenTensorDescriptor_t,
    layerBias: Any,
) -> None:
    """Copy a bias to its place; nothing happens with miopenRNNNoBias.

    Return nothing (since 1.2.1).

    C: ``miopenStatus_t miopenSetRNNLayerBias(miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, const int layer, miopenTensorDescriptor_t xDesc, miopenTensorDescriptor_t wDesc, void *w, const int biasID, miopenTensorDescriptor_t biasDesc, const void *layerBias)``

    In portadnn: ``get_rnn_lin_layer_bias_params``.
    """
    _SetRNNLayerBias(
        handle, value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"), layer, xDesc, wDesc, w, biasID, biasDesc, layerBias
    )


@function
def miopenGetRNNLayerBiasSize(handle: Handle, rnnDesc: miopenRNNDescriptor_t, layer: int, biasID: int) -> int:
    """Return the bytes of a bias.

    Return numBytes (since 1.2.1).

    C: ``miopenStatus_t miopenGetRNNLayerBiasSize(miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, const int layer, const int biasID, size_t *numBytes)``

    In portadnn: ``get_rnn_lin_layer_bias_params``.
    """
    return _GetRNNLayerBiasSize(handle, value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"), layer, biasID)


@function
def miopenRNNForwardInference(
    handle: Handle,
    rnnDesc: miopenRNNDescriptor_t,
    sequenceLen: int,
    xDesc: Any,
    x: Any,
    hxDesc: miopenTensorDescriptor_t,
    hx: Any,
    cxDesc: miopenTensorDescriptor_t,
    cx: Any,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    yDesc: Any,
    y: Any,
    hyDesc: miopenTensorDescriptor_t,
    hy: Any,
    cyDesc: miopenTensorDescriptor_t,
    cy: Any,
    workSpace: Any,
    workSpaceNumBytes: int,
) -> None:
    """Run a network over sequences. States that are None are zero (hx, cx) or left out (hy, cy).

    Return nothing (since 1.2.1).

    C: ``miopenStatus_t miopenRNNForwardInference(miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, const int sequenceLen, miopenTensorDescriptor_t *xDesc, const void *x, miopenTensorDescriptor_t hxDesc, const void *hx, miopenTensorDescriptor_t cxDesc, const void *cx, miopenTensorDescriptor_t wDesc, const void *w, miopenTensorDescriptor_t *yDesc, void *y, miopenTensorDescriptor_t hyDesc, void *hy, miopenTensorDescriptor_t cyDesc, void *cy, void *workSpace, size_t workSpaceNumBytes)``

    In cuDNN: ``cudnnRNNForwardInference``; what a port changes: renames seqLength -> sequenceLen, workSpaceSizeInBytes -> workSpaceNumBytes; wDesc: const cudnnFilterDescriptor_t -> miopenTensorDescriptor_t.

    In portadnn: ``rnn_forward_inference``.
    """
    _RNNForwardInference(
        handle=handle,
        rnnDesc=rnnDesc,
        sequenceLen=sequenceLen,
        xDesc=xDesc,
        x=x,
        hxDesc=hxDesc,
        hx=hx,
        cxDesc=cxDesc,
        cx=cx,
        wDesc=wDesc,
        w=w,
        yDesc=yDesc,
        y=y,
        hyDesc=hyDesc,
        hy=hy,
        cyDesc=cyDesc,
        cy=cy,
        workSpace=workSpace,
        workSpaceNumBytes=workSpaceNumBytes,
    )


@function
def miopenRNNForwardTraining(
    handle: Handle,
    rnnDesc: miopenRNNDescriptor_t,
    sequenceLen: int,
    xDesc: Any,
    x: Any,
    hxDesc: miopenTensorDescriptor_t,
    hx: Any,
    cxDesc: miopenTensorDescriptor_t,
    cx: Any,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    yDesc: Any,
    y: Any,
    hyDesc: miopenTensorDescriptor_t,
    hy: Any,
    cyDesc: miopenTensorDescriptor_t,
    cy: Any,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> None:
    """Run a network over sequences, and keep in the reserve space what the gradients need.

    Return nothing (since 1.2.1).

    C: ``miopenStatus_t miopenRNNForwardTraining(miopenHandle_t handle, const miopenRNNDescriptor_t rnnDesc, const int sequenceLen, miopenTensorDescriptor_t *xDesc, const void *x, const miopenTensorDescriptor_t hxDesc, const void *hx, const miopenTensorDescriptor_t cxDesc, const void *cx, const miopenTensorDescriptor_t wDesc, const void *w, miopenTensorDescriptor_t *yDesc, void *y, const miopenTensorDescriptor_t hyDesc, void *hy, const miopenTensorDescriptor_t cyDesc, void *cy, void *workSpace, size_t workSpaceNumBytes, void *reserveSpace, size_t reserveSpaceNumBytes)``

    In cuDNN: ``cudnnRNNForwardTraining``; what a port changes: renames seqLength -> sequenceLen, workSpaceSizeInBytes -> workSpaceNumBytes, reserveSpaceSizeInBytes -> reserveSpaceNumBytes; wDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t.

    In portadnn: ``rnn_forward_training``.
    """
    _RNNForwardTraining(
        reserveSpace,
        reserveSpaceNumBytes,
        handle=handle,
        rnnDesc=rnnDesc,
        sequenceLen=sequenceLen,
        xDesc=xDesc,
        x=x,
        hxDesc=hxDesc,
        hx=hx,
        cxDesc=cxDesc,
        cx=cx,
        wDesc=wDesc,
        w=w,
        yDesc=yDesc,
        y=y,
        hyDesc=hyDesc,
        hy=hy,
        cyDesc=cyDesc,
        cy=cy,
        workSpace=workSpace,
        workSpaceNumBytes=workSpaceNumBytes,
    )


@function
def miopenRNNBackwardData(
    handle: Handle,
    rnnDesc: miopenRNNDescriptor_t,
    sequenceLen: int,
    yDesc: Any,
    y: Any,
    dyDesc: Any,
    dy: Any,
    dhyDesc: miopenTensorDescriptor_t,
    dhy: Any,
    dcyDesc: miopenTensorDescriptor_t,
    dcy: Any,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    hxDesc: miopenTensorDescriptor_t,
    hx: Any,
    cxDesc: miopenTensorDescriptor_t,
    cx: Any,
    dxDesc: Any,
    dx: Any,
    dhxDesc: miopenTensorDescriptor_t,
    dhx: Any,
    dcxDesc: miopenTensorDescriptor_t,
    dcx: Any,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> None:
    """Compute the gradients by the input and the first states; the reserve space is the forward pass's.

    Return nothing (since 1.2.1).

    C: ``miopenStatus_t miopenRNNBackwardData(miopenHandle_t handle, const miopenRNNDescriptor_t rnnDesc, const int sequenceLen, miopenTensorDescriptor_t *yDesc, const void *y, miopenTensorDescriptor_t *dyDesc, const void *dy, const miopenTensorDescriptor_t dhyDesc, const void *dhy, const miopenTensorDescriptor_t dcyDesc, const void *dcy, const miopenTensorDescriptor_t wDesc, const void *w, const miopenTensorDescriptor_t hxDesc, const void *hx, const miopenTensorDescriptor_t cxDesc, const void *cx, miopenTensorDescriptor_t *dxDesc, void *dx, const miopenTensorDescriptor_t dhxDesc, void *dhx, const miopenTensorDescriptor_t dcxDesc, void *dcx, void *workSpace, size_t workSpaceNumBytes, void *reserveSpace, size_t reserveSpaceNumBytes)``

    In cuDNN: ``cudnnRNNBackwardData``; what a port changes: renames seqLength -> sequenceLen, workSpaceSizeInBytes -> workSpaceNumBytes, reserveSpaceSizeInBytes -> reserveSpaceNumBytes; wDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t.

    In portadnn: ``rnn_backward_data``.
    """
    _RNNBackwardData(
        handle,
        value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"),
        sequenceLen,
        yDesc,
        y,
        dyDesc,
        dy,
        optional(handle, dhyDesc, dhy, "dhy"),
        optional(handle, dcyDesc, dcy, "dcy"),
        wDesc,
        w,
        optional(handle, hxDesc, hx, "hx"),
        optional(handle, cxDesc, cx, "cx"),
        dxDesc,
        dx,
        optional(handle, dhxDesc, dhx, "dhx"),
        optional(handle, dcxDesc, dcx, "dcx"),
        workSpace,
        workSpaceNumBytes,
        reserveSpace,
        reserveSpaceNumBytes,
    )


@function
def miopenRNNBackwardWeights(
    handle: Handle,
    rnnDesc: miopenRNNDescriptor_t,
    sequenceLen: int,
    xDesc: Any,
    x: Any,
    hxDesc: miopenTensorDescriptor_t,
    hx: Any,
    yDesc: Any,
    y: Any,
    dwDesc: miopenTensorDescriptor_t,
    dw: Any,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> None:
    """Add the gradient by the parameters to dw; the reserve space is the backward data pass's.

    Return nothing (since 1.2.1).

    C: ``miopenStatus_t miopenRNNBackwardWeights(miopenHandle_t handle, const miopenRNNDescriptor_t rnnDesc, const int sequenceLen, miopenTensorDescriptor_t *xDesc, const void *x, const miopenTensorDescriptor_t hxDesc, const void *hx, miopenTensorDescriptor_t *yDesc, const void *y, const miopenTensorDescriptor_t dwDesc, void *dw, void *workSpace, size_t workSpaceNumBytes, const void *reserveSpace, size_t reserveSpaceNumBytes)``

    In cuDNN: ``cudnnRNNBackwardWeights``; what a port changes: moves dwDesc, dw; renames seqLength -> sequenceLen, workSpaceSizeInBytes -> workSpaceNumBytes, reserveSpaceSizeInBytes -> reserveSpaceNumBytes; dwDesc: const cudnnFilterDescriptor_t -> const miopenTensorDescriptor_t.

    In portadnn: ``rnn_backward_weights``.
    """
    _RNNBackwardWeights(
        handle,
        value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"),
        sequenceLen,
        xDesc,
        x,
        optional(handle, hxDesc, hx, "hx"),
        yDesc,
        y,
        dwDesc,
        dw,
        workSpace,
        workSpaceNumBytes,
        reserveSpace,
        reserveSpaceNumBytes,
    )
