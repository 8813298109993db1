"""RNN descriptors: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..algorithms import AlgorithmDescriptor
from ..calls import c_function
from ..descriptors import DropoutDescriptor, destroy, value_of
from ..rnn.descriptors import (
    PersistentRNNPlan,
    RNNDescriptor,
    cudnnBuildRNNDynamic as _BuildRNNDynamic,
    cudnnCreatePersistentRNNPlan as _CreatePersistentRNNPlan,
    cudnnGetRNNBiasMode as _GetRNNBiasMode,
    cudnnGetRNNDescriptor as _GetRNNDescriptor,
    cudnnGetRNNDescriptor_v6 as _GetRNNDescriptor_v6,
    cudnnGetRNNDescriptor_v8 as _GetRNNDescriptor_v8,
    cudnnGetRNNMatrixMathType as _GetRNNMatrixMathType,
    cudnnGetRNNPaddingMode as _GetRNNPaddingMode,
    cudnnGetRNNProjectionLayers as _GetRNNProjectionLayers,
    cudnnRNNGetClip as _RNNGetClip,
    cudnnRNNGetClip_v8 as _RNNGetClip_v8,
    cudnnRNNGetClip_v9 as _RNNGetClip_v9,
    cudnnRNNSetClip as _RNNSetClip,
    cudnnRNNSetClip_v8 as _RNNSetClip_v8,
    cudnnRNNSetClip_v9 as _RNNSetClip_v9,
    cudnnSetPersistentRNNPlan as _SetPersistentRNNPlan,
    cudnnSetRNNBiasMode as _SetRNNBiasMode,
    cudnnSetRNNDescriptor as _SetRNNDescriptor,
    cudnnSetRNNDescriptor_v5 as _SetRNNDescriptor_v5,
    cudnnSetRNNDescriptor_v6 as _SetRNNDescriptor_v6,
    cudnnSetRNNDescriptor_v8 as _SetRNNDescriptor_v8,
    cudnnSetRNNMatrixMathType as _SetRNNMatrixMathType,
    cudnnSetRNNPaddingMode as _SetRNNPaddingMode,
    cudnnSetRNNProjectionLayers as _SetRNNProjectionLayers,
)
from ..rnn.find import cudnnSetRNNAlgorithmDescriptor as _SetRNNAlgorithmDescriptor
from .enums.rnn_descriptor import (
    cudnnDirectionMode_t,
    cudnnRNNAlgo_t,
    cudnnRNNBiasMode_t,
    cudnnRNNClipMode_t,
    cudnnRNNInputMode_t,
    cudnnRNNMode_t,
    cudnnRNNPaddingMode_t,
)
from .enums.tensor import cudnnDataType_t, cudnnMathType_t, cudnnNanPropagation_t


@c_function
def cudnnCreateRNNDescriptor() -> RNNDescriptor:
    """Return rnnDesc (guide 4.99, since 5.0).

    C: ``cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t *rnnDesc)``

    In portadnn: ``RNNDescriptor``.
    """
    return RNNDescriptor()


@c_function
def cudnnDestroyRNNDescriptor(rnnDesc: RNNDescriptor) -> None:
    """Return nothing (guide 4.100, since 5.0).

    C: ``cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t rnnDesc)``

    In portadnn: ``RNNDescriptor``.
    """
    destroy(rnnDesc, RNNDescriptor, "rnnDesc")


@c_function
def cudnnSetRNNDescriptor(
    rnnDesc: RNNDescriptor,
    hiddenSize: int,
    numLayers: int,
    dropoutDesc: DropoutDescriptor,
    inputMode: int,
    direction: int,
    mode: int,
    dataType: int,
    *later: Any,
) -> None:
    """Return nothing (guide 4.101, since 5.0, deprecated 7.6.5, removed 8.0.1, changed by 7.0.15, changed by 7.6.5).

    C: ``cudnnStatus_t cudnnSetRNNDescriptor(cudnnRNNDescriptor_t rnnDesc, int hiddenSize, int numLayers, cudnnDropoutDescriptor_t dropoutDesc, cudnnRNNInputMode_t inputMode, cudnnDirectionMode_t direction, cudnnRNNMode_t mode, cudnnDataType_t dataType)``

    In cuDNN 7.6.5 the parameters are: handle, rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, algo, mathPrec.

    In portadnn: ``RNNDescriptor``.

    The arguments of cuDNN 7, which begin with a handle and have an algorithm before the type, are taken as well.
    """
    _SetRNNDescriptor(rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, dataType, *later)


@c_function
def cudnnGetRNNDescriptor(
    cudnnHandle: Handle, rnnDesc: RNNDescriptor
) -> tuple[int, int, DropoutDescriptor, cudnnRNNInputMode_t, cudnnDirectionMode_t, cudnnRNNMode_t, cudnnRNNAlgo_t, cudnnDataType_t]:
    """Return (hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, algo, dataType) (since 7.0.5, deprecated 7.6.5, removed 8.0.1, changed by 7.2.1, changed by 7.6.5).

    C: ``cudnnStatus_t cudnnGetRNNDescriptor(cudnnHandle_t cudnnHandle, cudnnRNNDescriptor_t rnnDesc, int *hiddenSize, int *numLayers, cudnnDropoutDescriptor_t *dropoutDesc, cudnnRNNInputMode_t *inputMode, cudnnDirectionMode_t *direction, cudnnRNNMode_t *mode, cudnnRNNAlgo_t *algo, cudnnDataType_t *dataType)``

    In cuDNN 7.6.5 the parameters are: handle, rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, algo, mathPrec.

    In portadnn: ``RNNDescriptor``.
    """
    return _GetRNNDescriptor(cudnnHandle, value_of(rnnDesc, RNNDescriptor, "rnnDesc"), rnnDesc)


@c_function
def cudnnSetRNNDescriptor_v5(
    rnnDesc: RNNDescriptor,
    hiddenSize: int,
    numLayers: int,
    dropoutDesc: DropoutDescriptor,
    inputMode: int,
    direction: int,
    mode: int,
    dataType: int,
) -> None:
    """Return nothing (since 7.0.5, deprecated 7.6.5, removed 8.0.1, changed by 7.6.5).

    C: ``cudnnStatus_t cudnnSetRNNDescriptor_v5(cudnnRNNDescriptor_t rnnDesc, int hiddenSize, int numLayers, cudnnDropoutDescriptor_t dropoutDesc, cudnnRNNInputMode_t inputMode, cudnnDirectionMode_t direction, cudnnRNNMode_t mode, cudnnDataType_t dataType)``

    In cuDNN 7.6.5 the parameters are: rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, mathPrec.

    In portadnn: ``RNNDescriptor``.
    """
    _SetRNNDescriptor_v5(rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, dataType)


@c_function
def cudnnSetRNNDescriptor_v6(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    hiddenSize: int,
    numLayers: int,
    dropoutDesc: DropoutDescriptor,
    inputMode: int,
    direction: int,
    mode: int,
    algo: int,
    dataType: int,
) -> None:
    """Return nothing (since 6.0, deprecated 8.0.1, removed 9.0.0, changed by 7.6.5, changed by 8.2.1).

    C: ``cudnnStatus_t cudnnSetRNNDescriptor_v6(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, const int hiddenSize, const int numLayers, cudnnDropoutDescriptor_t dropoutDesc, cudnnRNNInputMode_t inputMode, cudnnDirectionMode_t direction, cudnnRNNMode_t mode, cudnnRNNAlgo_t algo, cudnnDataType_t dataType)``

    In cuDNN 8.2.1 the parameters are: handle, rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, direction, cellMode, algo, mathPrec.

    In portadnn: ``RNNDescriptor``.

    `algo` is kept: all algorithms compute the same, and portadnn chooses by itself.
    """
    _SetRNNDescriptor_v6(
        handle, rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, algo, dataType
    )


@c_function
def cudnnGetRNNDescriptor_v6(
    handle: Handle, rnnDesc: RNNDescriptor
) -> tuple[int, int, DropoutDescriptor, cudnnRNNInputMode_t, cudnnDirectionMode_t, cudnnRNNMode_t, cudnnRNNAlgo_t, cudnnDataType_t]:
    """Return (hiddenSize, numLayers, dropoutDesc, inputMode, direction, cellMode, algo, mathPrec) (since 8.0.1, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnGetRNNDescriptor_v6(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int *hiddenSize, int *numLayers, cudnnDropoutDescriptor_t *dropoutDesc, cudnnRNNInputMode_t *inputMode, cudnnDirectionMode_t *direction, cudnnRNNMode_t *cellMode, cudnnRNNAlgo_t *algo, cudnnDataType_t *mathPrec)``

    In portadnn: ``RNNDescriptor``.
    """
    return _GetRNNDescriptor_v6(handle, value_of(rnnDesc, RNNDescriptor, "rnnDesc"), rnnDesc)


@c_function
def cudnnSetRNNDescriptor_v8(
    rnnDesc: RNNDescriptor,
    algo: int,
    cellMode: int,
    biasMode: int,
    dirMode: int,
    inputMode: int,
    dataType: int,
    mathPrec: int,
    mathType: int,
    inputSize: int,
    hiddenSize: int,
    projSize: int,
    numLayers: int,
    dropoutDesc: DropoutDescriptor,
    auxFlags: int,
) -> None:
    """Return nothing (since 8.0.1).

    C: ``cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNAlgo_t algo, cudnnRNNMode_t cellMode, cudnnRNNBiasMode_t biasMode, cudnnDirectionMode_t dirMode, cudnnRNNInputMode_t inputMode, cudnnDataType_t dataType, cudnnDataType_t mathPrec, cudnnMathType_t mathType, int32_t inputSize, int32_t hiddenSize, int32_t projSize, int32_t numLayers, cudnnDropoutDescriptor_t dropoutDesc, uint32_t auxFlags)``

    In portadnn: ``RNNDescriptor``.

    A `projSize` below `hiddenSize` projects an LSTM's hidden state; 0 and `hiddenSize` project nothing.
    """
    _SetRNNDescriptor_v8(
        rnnDesc,
        algo,
        cellMode,
        biasMode,
        dirMode,
        inputMode,
        dataType,
        mathPrec,
        mathType,
        inputSize,
        hiddenSize,
        projSize,
        numLayers,
        dropoutDesc,
        auxFlags,
    )


@c_function
def cudnnGetRNNDescriptor_v8(
    rnnDesc: RNNDescriptor
) -> tuple[cudnnRNNAlgo_t, cudnnRNNMode_t, cudnnRNNBiasMode_t, cudnnDirectionMode_t, cudnnRNNInputMode_t, cudnnDataType_t, cudnnDataType_t, cudnnMathType_t, int, int, int, int, DropoutDescriptor, int]:
    """Return (algo, cellMode, biasMode, dirMode, inputMode, dataType, mathPrec, mathType, inputSize, hiddenSize, projSize, numLayers, dropoutDesc, auxFlags) (since 8.0.1).

    C: ``cudnnStatus_t cudnnGetRNNDescriptor_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNAlgo_t *algo, cudnnRNNMode_t *cellMode, cudnnRNNBiasMode_t *biasMode, cudnnDirectionMode_t *dirMode, cudnnRNNInputMode_t *inputMode, cudnnDataType_t *dataType, cudnnDataType_t *mathPrec, cudnnMathType_t *mathType, int32_t *inputSize, int32_t *hiddenSize, int32_t *projSize, int32_t *numLayers, cudnnDropoutDescriptor_t *dropoutDesc, uint32_t *auxFlags)``

    In portadnn: ``RNNDescriptor``.
    """
    return _GetRNNDescriptor_v8(value_of(rnnDesc, RNNDescriptor, "rnnDesc"), rnnDesc)


@c_function
def cudnnSetRNNMatrixMathType(desc: RNNDescriptor, math: int) -> None:
    """Return nothing (since 7.0.5, deprecated 8.0.1, removed 9.0.0, changed by 7.2.1).

    C: ``cudnnStatus_t cudnnSetRNNMatrixMathType(cudnnRNNDescriptor_t desc, cudnnMathType_t math)``

    In cuDNN 7.2.1 the parameters are: rnnDesc, mType.

    It is kept and has no effect: recurrent networks compute in float.
    """
    _SetRNNMatrixMathType(desc, math)


@c_function
def cudnnGetRNNMatrixMathType(rnnDesc: RNNDescriptor) -> cudnnMathType_t:
    """Return mType (since 7.1.3, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnGetRNNMatrixMathType(cudnnRNNDescriptor_t rnnDesc, cudnnMathType_t *mType)``
    """
    return _GetRNNMatrixMathType(rnnDesc)


@c_function
def cudnnSetRNNBiasMode(rnnDesc: RNNDescriptor, biasMode: int) -> None:
    """Return nothing (since 7.5.0, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnSetRNNBiasMode(cudnnRNNDescriptor_t rnnDesc, cudnnRNNBiasMode_t biasMode)``

    Which biases a cell has; the parameters have no others.
    """
    _SetRNNBiasMode(rnnDesc, biasMode)


@c_function
def cudnnGetRNNBiasMode(rnnDesc: RNNDescriptor) -> cudnnRNNBiasMode_t:
    """Return biasMode (since 7.5.0, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnGetRNNBiasMode(cudnnRNNDescriptor_t rnnDesc, cudnnRNNBiasMode_t *biasMode)``
    """
    return _GetRNNBiasMode(rnnDesc)


@c_function
def cudnnSetRNNPaddingMode(rnnDesc: RNNDescriptor, paddingMode: int) -> None:
    """Return nothing (since 7.2.1, deprecated 8.0.1, removed 9.0.0, changed by 8.2.1).

    C: ``cudnnStatus_t cudnnSetRNNPaddingMode(cudnnRNNDescriptor_t rnnDesc, cudnnRNNPaddingMode_t paddingMode)``

    It is kept: whether sequences are padded is told by the RNN data descriptors.
    """
    _SetRNNPaddingMode(rnnDesc, paddingMode)


@c_function
def cudnnGetRNNPaddingMode(rnnDesc: RNNDescriptor) -> cudnnRNNPaddingMode_t:
    """Return paddingMode (since 7.2.1, deprecated 8.0.1, removed 9.0.0, changed by 8.2.1).

    C: ``cudnnStatus_t cudnnGetRNNPaddingMode(cudnnRNNDescriptor_t rnnDesc, cudnnRNNPaddingMode_t *paddingMode)``
    """
    return _GetRNNPaddingMode(rnnDesc)


@c_function
def cudnnRNNSetClip(
    handle: Handle, rnnDesc: RNNDescriptor, clipMode: int, clipNanOpt: int, lclip: float, rclip: float
) -> None:
    """Return nothing (since 7.2.1, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnRNNSetClip(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t clipMode, cudnnNanPropagation_t clipNanOpt, double lclip, double rclip)``

    Limits of an LSTM's cells; a limit that is reached has no gradient, and NaN stays NaN.
    """
    _RNNSetClip(handle, rnnDesc, clipMode, clipNanOpt, lclip, rclip)


@c_function
def cudnnRNNGetClip(
    handle: Handle, rnnDesc: RNNDescriptor
) -> tuple[cudnnRNNClipMode_t, cudnnNanPropagation_t, float, float]:
    """Return (clipMode, clipNanOpt, lclip, rclip) (since 7.2.1, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnRNNGetClip(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t *clipMode, cudnnNanPropagation_t *clipNanOpt, double *lclip, double *rclip)``
    """
    return _RNNGetClip(handle, rnnDesc)


@c_function
def cudnnRNNSetClip_v8(rnnDesc: RNNDescriptor, clipMode: int, clipNanOpt: int, lclip: float, rclip: float) -> None:
    """Return nothing (since 8.0.1).

    C: ``cudnnStatus_t cudnnRNNSetClip_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t clipMode, cudnnNanPropagation_t clipNanOpt, double lclip, double rclip)``

    Limits of an LSTM's cells; a limit that is reached has no gradient, and NaN stays NaN.
    """
    _RNNSetClip_v8(rnnDesc, clipMode, clipNanOpt, lclip, rclip)


@c_function
def cudnnRNNGetClip_v8(rnnDesc: RNNDescriptor) -> tuple[cudnnRNNClipMode_t, cudnnNanPropagation_t, float, float]:
    """Return (clipMode, clipNanOpt, lclip, rclip) (since 8.0.1).

    C: ``cudnnStatus_t cudnnRNNGetClip_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t *clipMode, cudnnNanPropagation_t *clipNanOpt, double *lclip, double *rclip)``
    """
    return _RNNGetClip_v8(rnnDesc)


@c_function
def cudnnRNNSetClip_v9(rnnDesc: RNNDescriptor, clipMode: int, lclip: float, rclip: float) -> None:
    """Return nothing (since 9.0.0).

    C: ``cudnnStatus_t cudnnRNNSetClip_v9(cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t clipMode, double lclip, double rclip)``

    Limits of an LSTM's cells; a limit that is reached has no gradient, and NaN stays NaN.
    """
    _RNNSetClip_v9(rnnDesc, clipMode, lclip, rclip)


@c_function
def cudnnRNNGetClip_v9(rnnDesc: RNNDescriptor) -> tuple[cudnnRNNClipMode_t, float, float]:
    """Return (clipMode, lclip, rclip) (since 9.0.0).

    C: ``cudnnStatus_t cudnnRNNGetClip_v9(cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t *clipMode, double *lclip, double *rclip)``
    """
    return _RNNGetClip_v9(rnnDesc)


@c_function
def cudnnSetRNNProjectionLayers(handle: Handle, rnnDesc: RNNDescriptor, recProjSize: int, outProjSize: int) -> None:
    """Return nothing (since 7.1.3, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnSetRNNProjectionLayers(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, const int recProjSize, const int outProjSize)``

    A `recProjSize` below the hidden size projects an LSTM's hidden state; `outProjSize` is 0, as in cuDNN.
    """
    _SetRNNProjectionLayers(handle, rnnDesc, recProjSize, outProjSize)


@c_function
def cudnnGetRNNProjectionLayers(handle: Handle, rnnDesc: RNNDescriptor) -> tuple[int, int]:
    """Return (recProjSize, outProjSize) (since 7.1.3, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnGetRNNProjectionLayers(cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, int *recProjSize, int *outProjSize)``
    """
    return _GetRNNProjectionLayers(handle, rnnDesc)


@c_function
def cudnnSetRNNAlgorithmDescriptor(handle: Handle, rnnDesc: RNNDescriptor, algoDesc: AlgorithmDescriptor) -> None:
    """Return nothing (since 7.1.3, deprecated 8.0.2, removed 9.0.0).

    C: ``cudnnStatus_t cudnnSetRNNAlgorithmDescriptor(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, cudnnAlgorithmDescriptor_t algoDesc)``

    The network keeps the algorithm; all of cudnnRNNAlgo_t run the engine that the backend chooses.
    """
    _SetRNNAlgorithmDescriptor(handle, rnnDesc, algoDesc)


@c_function
def cudnnCreatePersistentRNNPlan(rnnDesc: RNNDescriptor, minibatch: int, dataType: int) -> PersistentRNNPlan:
    """Return plan (since 6.0, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnCreatePersistentRNNPlan(cudnnRNNDescriptor_t rnnDesc, const int minibatch, const cudnnDataType_t dataType, cudnnPersistentRNNPlan_t *plan)``

    Nothing is to be built: plans are made, and kept, when a network is first used.
    """
    return _CreatePersistentRNNPlan(rnnDesc, minibatch, dataType)


@c_function
def cudnnSetPersistentRNNPlan(rnnDesc: RNNDescriptor, plan: PersistentRNNPlan) -> None:
    """Return nothing (since 6.0, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnSetPersistentRNNPlan(cudnnRNNDescriptor_t rnnDesc, cudnnPersistentRNNPlan_t plan)``

    It has no effect.
    """
    _SetPersistentRNNPlan(rnnDesc, plan)


@c_function
def cudnnDestroyPersistentRNNPlan(plan: PersistentRNNPlan) -> None:
    """Return nothing (since 6.0, deprecated 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnDestroyPersistentRNNPlan(cudnnPersistentRNNPlan_t plan)``
    """
    destroy(plan, PersistentRNNPlan, "plan")


@c_function
def cudnnBuildRNNDynamic(handle: Handle, rnnDesc: RNNDescriptor, miniBatch: int) -> None:
    """Return nothing (since 8.0.1).

    C: ``cudnnStatus_t cudnnBuildRNNDynamic(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int miniBatch)``

    Nothing is to be built: plans are made, and kept, when a network is first used.
    """
    _BuildRNNDynamic(handle, rnnDesc, miniBatch)
