"""Multi-head attention: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..attention import (
    AttnDescriptor,
    SeqDataDescriptor,
    cudnnGetAttnDescriptor as _GetAttnDescriptor,
    cudnnGetMultiHeadAttnBuffers as _GetMultiHeadAttnBuffers,
    cudnnGetMultiHeadAttnWeights as _GetMultiHeadAttnWeights,
    cudnnGetSeqDataDescriptor as _GetSeqDataDescriptor,
    cudnnMultiHeadAttnBackwardData as _MultiHeadAttnBackwardData,
    cudnnMultiHeadAttnBackwardWeights as _MultiHeadAttnBackwardWeights,
    cudnnMultiHeadAttnForward as _MultiHeadAttnForward,
    cudnnSetAttnDescriptor as _SetAttnDescriptor,
    cudnnSetSeqDataDescriptor as _SetSeqDataDescriptor,
)
from ..calls import c_function
from ..descriptors import DropoutDescriptor, TensorDescriptor, destroy
from .enums.tensor import cudnnDataType_t, cudnnMathType_t


@c_function
def cudnnCreateSeqDataDescriptor() -> SeqDataDescriptor:
    """Return seqDataDesc (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnCreateSeqDataDescriptor(cudnnSeqDataDescriptor_t *seqDataDesc)``
    """
    return SeqDataDescriptor()


@c_function
def cudnnDestroySeqDataDescriptor(seqDataDesc: SeqDataDescriptor) -> None:
    """Return nothing (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnDestroySeqDataDescriptor(cudnnSeqDataDescriptor_t seqDataDesc)``
    """
    destroy(seqDataDesc, SeqDataDescriptor, "seqDataDesc")


@c_function
def cudnnSetSeqDataDescriptor(
    seqDataDesc: SeqDataDescriptor,
    dataType: int,
    nbDims: int,
    dimA: Any,
    axes: Any,
    seqLengthArraySize: int,
    seqLengthArray: Any,
    paddingFill: Any,
) -> None:
    """Return nothing (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetSeqDataDescriptor(cudnnSeqDataDescriptor_t seqDataDesc, cudnnDataType_t dataType, int nbDims, const int dimA[], const cudnnSeqDataAxis_t axes[], size_t seqLengthArraySize, const int seqLengthArray[], void *paddingFill)``

    `dimA` is by axis, `axes` from the outermost to the innermost, which is the vector. Lengths are batch by batch, beam by beam. A padding fills the outputs behind the lengths, which are 0 without one.
    """
    _SetSeqDataDescriptor(seqDataDesc, dataType, nbDims, dimA, axes, seqLengthArraySize, seqLengthArray, paddingFill)


@c_function
def cudnnGetSeqDataDescriptor(
    seqDataDesc: SeqDataDescriptor, nbDimsRequested: int, seqLengthSizeRequested: int
) -> tuple[cudnnDataType_t, int, tuple[int, ...], tuple[Any, ...], int, tuple[int, ...], Any]:
    """Return (dataType, nbDims, dimA, axes, seqLengthArraySize, seqLengthArray, paddingFill) (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetSeqDataDescriptor(const cudnnSeqDataDescriptor_t seqDataDesc, cudnnDataType_t *dataType, int *nbDims, int nbDimsRequested, int dimA[], cudnnSeqDataAxis_t axes[], size_t *seqLengthArraySize, size_t seqLengthSizeRequested, int seqLengthArray[], void *paddingFill)``
    """
    return _GetSeqDataDescriptor(seqDataDesc, nbDimsRequested, seqLengthSizeRequested)


@c_function
def cudnnCreateAttnDescriptor() -> AttnDescriptor:
    """Return attnDesc (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnCreateAttnDescriptor(cudnnAttnDescriptor_t *attnDesc)``

    In portadnn: ``AttnDescriptor``.
    """
    return AttnDescriptor()


@c_function
def cudnnDestroyAttnDescriptor(attnDesc: AttnDescriptor) -> None:
    """Return nothing (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnDestroyAttnDescriptor(cudnnAttnDescriptor_t attnDesc)``
    """
    destroy(attnDesc, AttnDescriptor, "attnDesc")


@c_function
def cudnnSetAttnDescriptor(
    attnDesc: AttnDescriptor,
    attnMode: int,
    nHeads: int,
    smScaler: float,
    dataType: int,
    computePrec: int,
    mathType: int,
    attnDropoutDesc: DropoutDescriptor | None,
    postDropoutDesc: DropoutDescriptor | None,
    qSize: int,
    kSize: int,
    vSize: int,
    qProjSize: int,
    kProjSize: int,
    vProjSize: int,
    oProjSize: int,
    qoMaxSeqLength: int,
    kvMaxSeqLength: int,
    maxBatchSize: int,
    maxBeamSize: int,
) -> None:
    """Return nothing (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetAttnDescriptor(cudnnAttnDescriptor_t attnDesc, unsigned attnMode, int nHeads, double smScaler, cudnnDataType_t dataType, cudnnDataType_t computePrec, cudnnMathType_t mathType, cudnnDropoutDescriptor_t attnDropoutDesc, cudnnDropoutDescriptor_t postDropoutDesc, int qSize, int kSize, int vSize, int qProjSize, int kProjSize, int vProjSize, int oProjSize, int qoMaxSeqLength, int kvMaxSeqLength, int maxBatchSize, int maxBeamSize)``

    In portadnn: ``AttnDescriptor``.

    `attnMode` is a query map, with CUDNN_ATTN_ENABLE_PROJ_BIASES added for biases.
    """
    _SetAttnDescriptor(
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
    )


@c_function
def cudnnGetAttnDescriptor(
    attnDesc: AttnDescriptor
) -> tuple[int, int, float, cudnnDataType_t, cudnnDataType_t, cudnnMathType_t, DropoutDescriptor, DropoutDescriptor, int, int, int, int, int, int, int, int, int, int, int]:
    """Return (attnMode, nHeads, smScaler, dataType, computePrec, mathType, attnDropoutDesc, postDropoutDesc, qSize, kSize, vSize, qProjSize, kProjSize, vProjSize, oProjSize, qoMaxSeqLength, kvMaxSeqLength, maxBatchSize, maxBeamSize) (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetAttnDescriptor(cudnnAttnDescriptor_t attnDesc, unsigned *attnMode, int *nHeads, double *smScaler, cudnnDataType_t *dataType, cudnnDataType_t *computePrec, cudnnMathType_t *mathType, cudnnDropoutDescriptor_t *attnDropoutDesc, cudnnDropoutDescriptor_t *postDropoutDesc, int *qSize, int *kSize, int *vSize, int *qProjSize, int *kProjSize, int *vProjSize, int *oProjSize, int *qoMaxSeqLength, int *kvMaxSeqLength, int *maxBatchSize, int *maxBeamSize)``

    In portadnn: ``AttnDescriptor``.
    """
    return _GetAttnDescriptor(attnDesc)


@c_function
def cudnnGetMultiHeadAttnBuffers(handle: Handle, attnDesc: AttnDescriptor) -> tuple[int, int, int]:
    """Return (weightSizeInBytes, workSpaceSizeInBytes, reserveSpaceSizeInBytes) (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetMultiHeadAttnBuffers(cudnnHandle_t handle, const cudnnAttnDescriptor_t attnDesc, size_t *weightSizeInBytes, size_t *workSpaceSizeInBytes, size_t *reserveSpaceSizeInBytes)``

    In portadnn: ``get_multi_head_attn_buffers``.

    Bytes of parameters, workspace and reserve space, of the largest tensors that the descriptor allows.
    """
    return _GetMultiHeadAttnBuffers(handle, attnDesc)


@c_function
def cudnnGetMultiHeadAttnWeights(
    handle: Handle, attnDesc: AttnDescriptor, wKind: int, weightSizeInBytes: int, weights: Any, wDesc: TensorDescriptor
) -> Any:
    """Return wAddr (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetMultiHeadAttnWeights(cudnnHandle_t handle, const cudnnAttnDescriptor_t attnDesc, cudnnMultiHeadAttnWeightKind_t wKind, size_t weightSizeInBytes, const void *weights, cudnnTensorDescriptor_t wDesc, void **wAddr)``

    In portadnn: ``get_multi_head_attn_weights``.

    Return a group of parameters, in the memory of `weights`; NULL where there is none, and `wDesc` gets dims of 0.
    """
    return _GetMultiHeadAttnWeights(handle, attnDesc, wKind, weightSizeInBytes, weights, wDesc)


@c_function
def cudnnMultiHeadAttnForward(
    handle: Handle,
    attnDesc: AttnDescriptor,
    currIdx: int,
    loWinIdx: Any,
    hiWinIdx: Any,
    devSeqLengthsQO: Any,
    devSeqLengthsKV: Any,
    qDesc: SeqDataDescriptor,
    queries: Any,
    residuals: Any,
    kDesc: SeqDataDescriptor,
    keys: Any,
    vDesc: SeqDataDescriptor,
    values: Any,
    oDesc: SeqDataDescriptor,
    out: Any,
    weightSizeInBytes: int,
    weights: Any,
    workSpaceSizeInBytes: int,
    workSpace: Any,
    reserveSpaceSizeInBytes: int,
    reserveSpace: Any,
) -> None:
    """Return nothing (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnMultiHeadAttnForward(cudnnHandle_t handle, const cudnnAttnDescriptor_t attnDesc, int currIdx, const int loWinIdx[], const int hiWinIdx[], const int devSeqLengthsQO[], const int devSeqLengthsKV[], const cudnnSeqDataDescriptor_t qDesc, const void *queries, const void *residuals, const cudnnSeqDataDescriptor_t kDesc, const void *keys, const cudnnSeqDataDescriptor_t vDesc, const void *values, const cudnnSeqDataDescriptor_t oDesc, void *out, size_t weightSizeInBytes, const void *weights, size_t workSpaceSizeInBytes, void *workSpace, size_t reserveSpaceSizeInBytes, void *reserveSpace)``

    In portadnn: ``multi_head_attn_forward``.

    Lengths are in device memory, windows in host memory. With `currIdx` >= 0 one step is computed, with the descriptor's lengths of queries. The workspace is the handle's.
    """
    _MultiHeadAttnForward(
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
    )


@c_function
def cudnnMultiHeadAttnBackwardData(
    handle: Handle,
    attnDesc: AttnDescriptor,
    loWinIdx: Any,
    hiWinIdx: Any,
    devSeqLengthsDQDO: Any,
    devSeqLengthsDKDV: Any,
    doDesc: SeqDataDescriptor,
    dout: Any,
    dqDesc: SeqDataDescriptor,
    dqueries: Any,
    queries: Any,
    dkDesc: SeqDataDescriptor,
    dkeys: Any,
    keys: Any,
    dvDesc: SeqDataDescriptor,
    dvalues: Any,
    values: Any,
    weightSizeInBytes: int,
    weights: Any,
    workSpaceSizeInBytes: int,
    workSpace: Any,
    reserveSpaceSizeInBytes: int,
    reserveSpace: Any,
) -> None:
    """Return nothing (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnMultiHeadAttnBackwardData(cudnnHandle_t handle, const cudnnAttnDescriptor_t attnDesc, const int loWinIdx[], const int hiWinIdx[], const int devSeqLengthsDQDO[], const int devSeqLengthsDKDV[], const cudnnSeqDataDescriptor_t doDesc, const void *dout, const cudnnSeqDataDescriptor_t dqDesc, void *dqueries, const void *queries, const cudnnSeqDataDescriptor_t dkDesc, void *dkeys, const void *keys, const cudnnSeqDataDescriptor_t dvDesc, void *dvalues, const void *values, size_t weightSizeInBytes, const void *weights, size_t workSpaceSizeInBytes, void *workSpace, size_t reserveSpaceSizeInBytes, void *reserveSpace)``

    In portadnn: ``multi_head_attn_backward_data``.

    It leaves what cudnnMultiHeadAttnBackwardWeights needs in the reserve space. The gradient of residuals is `dout`.
    """
    _MultiHeadAttnBackwardData(
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
    )


@c_function
def cudnnMultiHeadAttnBackwardWeights(
    handle: Handle,
    attnDesc: AttnDescriptor,
    addGrad: int,
    qDesc: SeqDataDescriptor,
    queries: Any,
    kDesc: SeqDataDescriptor,
    keys: Any,
    vDesc: SeqDataDescriptor,
    values: Any,
    doDesc: SeqDataDescriptor,
    dout: Any,
    weightSizeInBytes: int,
    weights: Any,
    dweights: Any,
    workSpaceSizeInBytes: int,
    workSpace: Any,
    reserveSpaceSizeInBytes: int,
    reserveSpace: Any,
) -> None:
    """Return nothing (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnMultiHeadAttnBackwardWeights(cudnnHandle_t handle, const cudnnAttnDescriptor_t attnDesc, cudnnWgradMode_t addGrad, const cudnnSeqDataDescriptor_t qDesc, const void *queries, const cudnnSeqDataDescriptor_t kDesc, const void *keys, const cudnnSeqDataDescriptor_t vDesc, const void *values, const cudnnSeqDataDescriptor_t doDesc, const void *dout, size_t weightSizeInBytes, const void *weights, void *dweights, size_t workSpaceSizeInBytes, void *workSpace, size_t reserveSpaceSizeInBytes, void *reserveSpace)``

    In portadnn: ``multi_head_attn_backward_weights``.

    It reads the gradients that cudnnMultiHeadAttnBackwardData left in the reserve space; lengths are the descriptors'.
    """
    _MultiHeadAttnBackwardWeights(
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
    )
