"""Multi-head attention: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...errors import NotSupported
from ...handle import Handle
from ..calls import c_function
from ..descriptors import DropoutDescriptor, TensorDescriptor
from .enums.tensor import cudnnDataType_t, cudnnMathType_t


@c_function
def cudnnCreateSeqDataDescriptor() -> Any:
    """Not supported: there is no attention; cudnnSetRNNDataDescriptor describes sequences of RNNs.

    C: ``cudnnStatus_t cudnnCreateSeqDataDescriptor(cudnnSeqDataDescriptor_t *seqDataDesc)``
    """
    raise NotSupported("there is no attention; cudnnSetRNNDataDescriptor describes sequences of RNNs")


@c_function
def cudnnDestroySeqDataDescriptor(seqDataDesc: Any) -> None:
    """Not supported: there is no attention; cudnnSetRNNDataDescriptor describes sequences of RNNs.

    C: ``cudnnStatus_t cudnnDestroySeqDataDescriptor(cudnnSeqDataDescriptor_t seqDataDesc)``
    """
    raise NotSupported("there is no attention; cudnnSetRNNDataDescriptor describes sequences of RNNs")


@c_function
def cudnnSetSeqDataDescriptor(
    seqDataDesc: Any,
    dataType: int,
    nbDims: int,
    dimA: Any,
    axes: Any,
    seqLengthArraySize: int,
    seqLengthArray: Any,
    paddingFill: Any,
) -> None:
    """Not supported: there is no attention; cudnnSetRNNDataDescriptor describes sequences of RNNs.

    C: ``cudnnStatus_t cudnnSetSeqDataDescriptor(cudnnSeqDataDescriptor_t seqDataDesc, cudnnDataType_t dataType, int nbDims, const int dimA[], const cudnnSeqDataAxis_t axes[], size_t seqLengthArraySize, const int seqLengthArray[], void *paddingFill)``
    """
    raise NotSupported("there is no attention; cudnnSetRNNDataDescriptor describes sequences of RNNs")


@c_function
def cudnnGetSeqDataDescriptor(
    seqDataDesc: Any, nbDimsRequested: int, seqLengthSizeRequested: int, paddingFill: Any
) -> tuple[cudnnDataType_t, int, tuple[int, ...], tuple[Any, ...], int, tuple[int, ...]]:
    """Not supported: there is no attention; cudnnSetRNNDataDescriptor describes sequences of RNNs.

    C: ``cudnnStatus_t cudnnGetSeqDataDescriptor(const cudnnSeqDataDescriptor_t seqDataDesc, cudnnDataType_t *dataType, int *nbDims, int nbDimsRequested, int dimA[], cudnnSeqDataAxis_t axes[], size_t *seqLengthArraySize, size_t seqLengthSizeRequested, int seqLengthArray[], void *paddingFill)``
    """
    raise NotSupported("there is no attention; cudnnSetRNNDataDescriptor describes sequences of RNNs")


@c_function
def cudnnCreateAttnDescriptor() -> Any:
    """Not supported: there is no attention; matrix products are convolutions with 1 x 1 filters.

    C: ``cudnnStatus_t cudnnCreateAttnDescriptor(cudnnAttnDescriptor_t *attnDesc)``
    """
    raise NotSupported("there is no attention; matrix products are convolutions with 1 x 1 filters")


@c_function
def cudnnDestroyAttnDescriptor(attnDesc: Any) -> None:
    """Not supported: there is no attention; matrix products are convolutions with 1 x 1 filters.

    C: ``cudnnStatus_t cudnnDestroyAttnDescriptor(cudnnAttnDescriptor_t attnDesc)``
    """
    raise NotSupported("there is no attention; matrix products are convolutions with 1 x 1 filters")


@c_function
def cudnnSetAttnDescriptor(
    attnDesc: Any,
    attnMode: int,
    nHeads: int,
    smScaler: float,
    dataType: int,
    computePrec: int,
    mathType: int,
    attnDropoutDesc: DropoutDescriptor,
    postDropoutDesc: DropoutDescriptor,
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
    """Not supported: there is no attention; matrix products are convolutions with 1 x 1 filters.

    C: ``cudnnStatus_t cudnnSetAttnDescriptor(cudnnAttnDescriptor_t attnDesc, unsigned attnMode, int nHeads, double smScaler, cudnnDataType_t dataType, cudnnDataType_t computePrec, cudnnMathType_t mathType, cudnnDropoutDescriptor_t attnDropoutDesc, cudnnDropoutDescriptor_t postDropoutDesc, int qSize, int kSize, int vSize, int qProjSize, int kProjSize, int vProjSize, int oProjSize, int qoMaxSeqLength, int kvMaxSeqLength, int maxBatchSize, int maxBeamSize)``
    """
    raise NotSupported("there is no attention; matrix products are convolutions with 1 x 1 filters")


@c_function
def cudnnGetAttnDescriptor(
    attnDesc: Any
) -> tuple[int, int, float, cudnnDataType_t, cudnnDataType_t, cudnnMathType_t, DropoutDescriptor, DropoutDescriptor, int, int, int, int, int, int, int, int, int, int, int]:
    """Not supported: there is no attention; matrix products are convolutions with 1 x 1 filters.

    C: ``cudnnStatus_t cudnnGetAttnDescriptor(cudnnAttnDescriptor_t attnDesc, unsigned *attnMode, int *nHeads, double *smScaler, cudnnDataType_t *dataType, cudnnDataType_t *computePrec, cudnnMathType_t *mathType, cudnnDropoutDescriptor_t *attnDropoutDesc, cudnnDropoutDescriptor_t *postDropoutDesc, int *qSize, int *kSize, int *vSize, int *qProjSize, int *kProjSize, int *vProjSize, int *oProjSize, int *qoMaxSeqLength, int *kvMaxSeqLength, int *maxBatchSize, int *maxBeamSize)``
    """
    raise NotSupported("there is no attention; matrix products are convolutions with 1 x 1 filters")


@c_function
def cudnnGetMultiHeadAttnBuffers(handle: Handle, attnDesc: Any) -> tuple[int, int, int]:
    """Not supported: there is no attention; matrix products are convolutions with 1 x 1 filters.

    C: ``cudnnStatus_t cudnnGetMultiHeadAttnBuffers(cudnnHandle_t handle, const cudnnAttnDescriptor_t attnDesc, size_t *weightSizeInBytes, size_t *workSpaceSizeInBytes, size_t *reserveSpaceSizeInBytes)``
    """
    raise NotSupported("there is no attention; matrix products are convolutions with 1 x 1 filters")


@c_function
def cudnnGetMultiHeadAttnWeights(
    handle: Handle, attnDesc: Any, wKind: Any, weightSizeInBytes: int, weights: Any, wDesc: TensorDescriptor
) -> Any:
    """Not supported: there is no attention; matrix products are convolutions with 1 x 1 filters.

    C: ``cudnnStatus_t cudnnGetMultiHeadAttnWeights(cudnnHandle_t handle, const cudnnAttnDescriptor_t attnDesc, cudnnMultiHeadAttnWeightKind_t wKind, size_t weightSizeInBytes, const void *weights, cudnnTensorDescriptor_t wDesc, void **wAddr)``
    """
    raise NotSupported("there is no attention; matrix products are convolutions with 1 x 1 filters")


@c_function
def cudnnMultiHeadAttnForward(
    handle: Handle,
    attnDesc: Any,
    currIdx: int,
    loWinIdx: Any,
    hiWinIdx: Any,
    devSeqLengthsQO: Any,
    devSeqLengthsKV: Any,
    qDesc: Any,
    queries: Any,
    residuals: Any,
    kDesc: Any,
    keys: Any,
    vDesc: Any,
    values: Any,
    oDesc: Any,
    out: Any,
    weightSizeInBytes: int,
    weights: Any,
    workSpaceSizeInBytes: int,
    workSpace: Any,
    reserveSpaceSizeInBytes: int,
    reserveSpace: Any,
) -> None:
    """Not supported: there is no attention; matrix products are convolutions with 1 x 1 filters.

    C: ``cudnnStatus_t cudnnMultiHeadAttnForward(cudnnHandle_t handle, const cudnnAttnDescriptor_t attnDesc, int currIdx, const int loWinIdx[], const int hiWinIdx[], const int devSeqLengthsQO[], const int devSeqLengthsKV[], const cudnnSeqDataDescriptor_t qDesc, const void *queries, const void *residuals, const cudnnSeqDataDescriptor_t kDesc, const void *keys, const cudnnSeqDataDescriptor_t vDesc, const void *values, const cudnnSeqDataDescriptor_t oDesc, void *out, size_t weightSizeInBytes, const void *weights, size_t workSpaceSizeInBytes, void *workSpace, size_t reserveSpaceSizeInBytes, void *reserveSpace)``
    """
    raise NotSupported("there is no attention; matrix products are convolutions with 1 x 1 filters")


@c_function
def cudnnMultiHeadAttnBackwardData(
    handle: Handle,
    attnDesc: Any,
    loWinIdx: Any,
    hiWinIdx: Any,
    devSeqLengthsDQDO: Any,
    devSeqLengthsDKDV: Any,
    doDesc: Any,
    dout: Any,
    dqDesc: Any,
    dqueries: Any,
    queries: Any,
    dkDesc: Any,
    dkeys: Any,
    keys: Any,
    dvDesc: Any,
    dvalues: Any,
    values: Any,
    weightSizeInBytes: int,
    weights: Any,
    workSpaceSizeInBytes: int,
    workSpace: Any,
    reserveSpaceSizeInBytes: int,
    reserveSpace: Any,
) -> None:
    """Not supported: there is no attention; matrix products are convolutions with 1 x 1 filters.

    C: ``cudnnStatus_t cudnnMultiHeadAttnBackwardData(cudnnHandle_t handle, const cudnnAttnDescriptor_t attnDesc, const int loWinIdx[], const int hiWinIdx[], const int devSeqLengthsDQDO[], const int devSeqLengthsDKDV[], const cudnnSeqDataDescriptor_t doDesc, const void *dout, const cudnnSeqDataDescriptor_t dqDesc, void *dqueries, const void *queries, const cudnnSeqDataDescriptor_t dkDesc, void *dkeys, const void *keys, const cudnnSeqDataDescriptor_t dvDesc, void *dvalues, const void *values, size_t weightSizeInBytes, const void *weights, size_t workSpaceSizeInBytes, void *workSpace, size_t reserveSpaceSizeInBytes, void *reserveSpace)``
    """
    raise NotSupported("there is no attention; matrix products are convolutions with 1 x 1 filters")


@c_function
def cudnnMultiHeadAttnBackwardWeights(
    handle: Handle,
    attnDesc: Any,
    addGrad: int,
    qDesc: Any,
    queries: Any,
    kDesc: Any,
    keys: Any,
    vDesc: Any,
    values: Any,
    doDesc: Any,
    dout: Any,
    weightSizeInBytes: int,
    weights: Any,
    dweights: Any,
    workSpaceSizeInBytes: int,
    workSpace: Any,
    reserveSpaceSizeInBytes: int,
    reserveSpace: Any,
) -> None:
    """Not supported: there is no attention; matrix products are convolutions with 1 x 1 filters.

    C: ``cudnnStatus_t cudnnMultiHeadAttnBackwardWeights(cudnnHandle_t handle, const cudnnAttnDescriptor_t attnDesc, cudnnWgradMode_t addGrad, const cudnnSeqDataDescriptor_t qDesc, const void *queries, const cudnnSeqDataDescriptor_t kDesc, const void *keys, const cudnnSeqDataDescriptor_t vDesc, const void *values, const cudnnSeqDataDescriptor_t doDesc, const void *dout, size_t weightSizeInBytes, const void *weights, void *dweights, size_t workSpaceSizeInBytes, void *workSpace, size_t reserveSpaceSizeInBytes, void *reserveSpace)``
    """
    raise NotSupported("there is no attention; matrix products are convolutions with 1 x 1 filters")
