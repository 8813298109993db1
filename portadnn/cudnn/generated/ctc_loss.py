"""CTC loss: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..calls import c_function
from ..ctc_loss import (
    CTCLossDescriptor,
    cudnnCTCLoss as _CTCLoss,
    cudnnCTCLoss_v8 as _CTCLoss_v8,
    cudnnGetCTCLossDescriptor as _GetCTCLossDescriptor,
    cudnnGetCTCLossDescriptorEx as _GetCTCLossDescriptorEx,
    cudnnGetCTCLossDescriptor_v8 as _GetCTCLossDescriptor_v8,
    cudnnGetCTCLossDescriptor_v9 as _GetCTCLossDescriptor_v9,
    cudnnGetCTCLossWorkspaceSize as _GetCTCLossWorkspaceSize,
    cudnnGetCTCLossWorkspaceSize_v8 as _GetCTCLossWorkspaceSize_v8,
    cudnnSetCTCLossDescriptor as _SetCTCLossDescriptor,
    cudnnSetCTCLossDescriptorEx as _SetCTCLossDescriptorEx,
    cudnnSetCTCLossDescriptor_v8 as _SetCTCLossDescriptor_v8,
    cudnnSetCTCLossDescriptor_v9 as _SetCTCLossDescriptor_v9,
)
from ..descriptors import TensorDescriptor, destroy, value_of
from ..memory import optional, scratch, tensor
from .enums.ctc_loss import cudnnCTCGradMode_t, cudnnLossNormalizationMode_t
from .enums.tensor import cudnnDataType_t, cudnnNanPropagation_t


@c_function
def cudnnCreateCTCLossDescriptor() -> CTCLossDescriptor:
    """Return ctcLossDesc (since 7.0.5).

    C: ``cudnnStatus_t cudnnCreateCTCLossDescriptor(cudnnCTCLossDescriptor_t *ctcLossDesc)``

    In portadnn: ``CTCLossDescriptor``.
    """
    return CTCLossDescriptor()


@c_function
def cudnnSetCTCLossDescriptor(ctcLossDesc: CTCLossDescriptor, compType: int) -> None:
    """Return nothing (since 7.0.5, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetCTCLossDescriptor(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t compType)``

    In portadnn: ``CTCLossDescriptor``.

    Then `probs` of the call are probabilities, and gradients of a label that fits into no alignment are 0.
    """
    _SetCTCLossDescriptor(ctcLossDesc, compType)


@c_function
def cudnnSetCTCLossDescriptorEx(ctcLossDesc: CTCLossDescriptor, compType: int, normMode: int, gradMode: int) -> None:
    """Return nothing (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t compType, cudnnLossNormalizationMode_t normMode, cudnnNanPropagation_t gradMode)``

    In portadnn: ``CTCLossDescriptor``.

    CUDNN_PROPAGATE_NAN leaves gradients of a label that fits into no alignment as they are; else they are 0.
    """
    _SetCTCLossDescriptorEx(ctcLossDesc, compType, normMode, gradMode)


@c_function
def cudnnSetCTCLossDescriptor_v8(
    ctcLossDesc: CTCLossDescriptor, compType: int, normMode: int, gradMode: int, maxLabelLength: int
) -> None:
    """Return nothing (since 8.0.1, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t compType, cudnnLossNormalizationMode_t normMode, cudnnNanPropagation_t gradMode, int maxLabelLength)``

    In portadnn: ``CTCLossDescriptor``.
    """
    _SetCTCLossDescriptor_v8(ctcLossDesc, compType, normMode, gradMode, maxLabelLength)


@c_function
def cudnnSetCTCLossDescriptor_v9(
    ctcLossDesc: CTCLossDescriptor, compType: int, normMode: int, ctcGradMode: int, maxLabelLength: int
) -> None:
    """Return nothing (since 9.0.0).

    C: ``cudnnStatus_t cudnnSetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t compType, cudnnLossNormalizationMode_t normMode, cudnnCTCGradMode_t ctcGradMode, int maxLabelLength)``

    In portadnn: ``CTCLossDescriptor``.
    """
    _SetCTCLossDescriptor_v9(ctcLossDesc, compType, normMode, ctcGradMode, maxLabelLength)


@c_function
def cudnnGetCTCLossDescriptor(ctcLossDesc: CTCLossDescriptor) -> cudnnDataType_t:
    """Return compType (since 7.0.5, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetCTCLossDescriptor(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t *compType)``

    In portadnn: ``CTCLossDescriptor``.
    """
    return _GetCTCLossDescriptor(value_of(ctcLossDesc, CTCLossDescriptor, "ctcLossDesc"))


@c_function
def cudnnGetCTCLossDescriptorEx(
    ctcLossDesc: CTCLossDescriptor
) -> tuple[cudnnDataType_t, cudnnLossNormalizationMode_t, cudnnNanPropagation_t]:
    """Return (compType, normMode, gradMode) (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t *compType, cudnnLossNormalizationMode_t *normMode, cudnnNanPropagation_t *gradMode)``

    In portadnn: ``CTCLossDescriptor``.
    """
    return _GetCTCLossDescriptorEx(value_of(ctcLossDesc, CTCLossDescriptor, "ctcLossDesc"))


@c_function
def cudnnGetCTCLossDescriptor_v8(
    ctcLossDesc: CTCLossDescriptor
) -> tuple[cudnnDataType_t, cudnnLossNormalizationMode_t, cudnnNanPropagation_t, int]:
    """Return (compType, normMode, gradMode, maxLabelLength) (since 8.0.1, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t *compType, cudnnLossNormalizationMode_t *normMode, cudnnNanPropagation_t *gradMode, int *maxLabelLength)``

    In portadnn: ``CTCLossDescriptor``.
    """
    return _GetCTCLossDescriptor_v8(value_of(ctcLossDesc, CTCLossDescriptor, "ctcLossDesc"))


@c_function
def cudnnGetCTCLossDescriptor_v9(
    ctcLossDesc: CTCLossDescriptor
) -> tuple[cudnnDataType_t, cudnnLossNormalizationMode_t, cudnnCTCGradMode_t, int]:
    """Return (compType, normMode, ctcGradMode, maxLabelLength) (since 9.0.0).

    C: ``cudnnStatus_t cudnnGetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t *compType, cudnnLossNormalizationMode_t *normMode, cudnnCTCGradMode_t *ctcGradMode, int *maxLabelLength)``

    In portadnn: ``CTCLossDescriptor``.
    """
    return _GetCTCLossDescriptor_v9(value_of(ctcLossDesc, CTCLossDescriptor, "ctcLossDesc"))


@c_function
def cudnnDestroyCTCLossDescriptor(ctcLossDesc: CTCLossDescriptor) -> None:
    """Return nothing (since 7.0.5).

    C: ``cudnnStatus_t cudnnDestroyCTCLossDescriptor(cudnnCTCLossDescriptor_t ctcLossDesc)``
    """
    destroy(ctcLossDesc, CTCLossDescriptor, "ctcLossDesc")


@c_function
def cudnnGetCTCLossWorkspaceSize(
    handle: Handle,
    probsDesc: TensorDescriptor,
    gradientsDesc: TensorDescriptor,
    labels: Any,
    labelLengths: Any,
    inputLengths: Any,
    algo: int,
    ctcLossDesc: CTCLossDescriptor,
) -> int:
    """Return sizeInBytes (since 7.0.5).

    C: ``cudnnStatus_t cudnnGetCTCLossWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t probsDesc, const cudnnTensorDescriptor_t gradientsDesc, const int *labels, const int *labelLengths, const int *inputLengths, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctcLossDesc, size_t *sizeInBytes)``

    In portadnn: ``get_ctc_loss_workspace_size``.
    """
    return _GetCTCLossWorkspaceSize(
        handle,
        value_of(probsDesc, TensorDescriptor, "probsDesc"),
        value_of(gradientsDesc, TensorDescriptor, "gradientsDesc"),
        labels,
        labelLengths,
        inputLengths,
        algo,
        value_of(ctcLossDesc, CTCLossDescriptor, "ctcLossDesc"),
    )


@c_function
def cudnnGetCTCLossWorkspaceSize_v8(
    handle: Handle,
    algo: int,
    ctcLossDesc: CTCLossDescriptor,
    probsDesc: TensorDescriptor,
    gradientsDesc: TensorDescriptor,
) -> int:
    """Return sizeInBytes (since 8.0.1).

    C: ``cudnnStatus_t cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctcLossDesc, const cudnnTensorDescriptor_t probsDesc, const cudnnTensorDescriptor_t gradientsDesc, size_t *sizeInBytes)``

    In portadnn: ``get_ctc_loss_workspace_size``.
    """
    return _GetCTCLossWorkspaceSize_v8(
        handle,
        algo,
        value_of(ctcLossDesc, CTCLossDescriptor, "ctcLossDesc"),
        value_of(probsDesc, TensorDescriptor, "probsDesc"),
        value_of(gradientsDesc, TensorDescriptor, "gradientsDesc"),
    )


@c_function
def cudnnCTCLoss(
    handle: Handle,
    probsDesc: TensorDescriptor,
    probs: Any,
    labels: Any,
    labelLengths: Any,
    inputLengths: Any,
    costs: Any,
    gradientsDesc: TensorDescriptor,
    gradients: Any,
    algo: int,
    ctcLossDesc: CTCLossDescriptor,
    workspace: Any,
    workSpaceSizeInBytes: int,
) -> None:
    """Return nothing (since 7.0.5, changed by 8.2.1).

    C: ``cudnnStatus_t cudnnCTCLoss(cudnnHandle_t handle, const cudnnTensorDescriptor_t probsDesc, const void *probs, const int *labels, const int *labelLengths, const int *inputLengths, void *costs, const cudnnTensorDescriptor_t gradientsDesc, const void *gradients, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctcLossDesc, void *workspace, size_t workSpaceSizeInBytes)``

    In cuDNN 8.2.1 the parameters are: handle, probsDesc, probs, hostLabels, hostLabelLengths, hostInputLengths, costs, gradientsDesc, gradients, algo, ctcLossDesc, workspace, workSpaceSizeInBytes.

    In portadnn: ``ctc_loss``.

    Labels and lengths are in host memory, and are copied to the device by each call. Without `gradients` (NULL) there are costs only. Both algorithms give the same bits each time.
    """
    _CTCLoss(
        handle,
        probsDesc,
        tensor(handle, probsDesc, probs, "probs"),
        labels,
        labelLengths,
        inputLengths,
        costs,
        optional(handle, gradientsDesc, gradients, "gradients"),
        algo,
        value_of(ctcLossDesc, CTCLossDescriptor, "ctcLossDesc"),
        scratch(handle, workspace, workSpaceSizeInBytes),
    )


@c_function
def cudnnCTCLoss_v8(
    handle: Handle,
    algo: int,
    ctcLossDesc: CTCLossDescriptor,
    probsDesc: TensorDescriptor,
    probs: Any,
    labels: Any,
    labelLengths: Any,
    inputLengths: Any,
    costs: Any,
    gradientsDesc: TensorDescriptor,
    gradients: Any,
    workSpaceSizeInBytes: int,
    workspace: Any,
) -> None:
    """Return nothing (since 8.0.1).

    C: ``cudnnStatus_t cudnnCTCLoss_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctcLossDesc, const cudnnTensorDescriptor_t probsDesc, const void *probs, const int labels[], const int labelLengths[], const int inputLengths[], void *costs, const cudnnTensorDescriptor_t gradientsDesc, void *gradients, size_t workSpaceSizeInBytes, void *workspace)``

    In portadnn: ``ctc_loss``.

    Labels, one behind the other, and lengths are in device memory. Where one is out of bounds, the cost is NaN. Without `gradients` (NULL) there are costs only.
    """
    _CTCLoss_v8(
        handle,
        algo,
        value_of(ctcLossDesc, CTCLossDescriptor, "ctcLossDesc"),
        probsDesc,
        tensor(handle, probsDesc, probs, "probs"),
        labels,
        labelLengths,
        inputLengths,
        costs,
        optional(handle, gradientsDesc, gradients, "gradients"),
        scratch(handle, workspace, workSpaceSizeInBytes),
    )
