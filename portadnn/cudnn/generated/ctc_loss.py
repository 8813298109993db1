"""CTC loss: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...errors import NotSupported
from ...handle import Handle
from ..calls import c_function
from ..descriptors import TensorDescriptor
from .enums.ctc_loss import cudnnLossNormalizationMode_t
from .enums.tensor import cudnnDataType_t, cudnnNanPropagation_t


@c_function
def cudnnCreateCTCLossDescriptor() -> Any:
    """Not supported: there is no CTC loss.

    C: ``cudnnStatus_t cudnnCreateCTCLossDescriptor(cudnnCTCLossDescriptor_t *ctcLossDesc)``
    """
    raise NotSupported("there is no CTC loss")


@c_function
def cudnnSetCTCLossDescriptor(ctcLossDesc: Any, compType: int) -> None:
    """Not supported: there is no CTC loss.

    C: ``cudnnStatus_t cudnnSetCTCLossDescriptor(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t compType)``
    """
    raise NotSupported("there is no CTC loss")


@c_function
def cudnnSetCTCLossDescriptorEx(ctcLossDesc: Any, compType: int, normMode: int, gradMode: int) -> None:
    """Not supported: there is no CTC loss.

    C: ``cudnnStatus_t cudnnSetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t compType, cudnnLossNormalizationMode_t normMode, cudnnNanPropagation_t gradMode)``
    """
    raise NotSupported("there is no CTC loss")


@c_function
def cudnnSetCTCLossDescriptor_v8(
    ctcLossDesc: Any, compType: int, normMode: int, gradMode: int, maxLabelLength: int
) -> None:
    """Not supported: there is no CTC loss.

    C: ``cudnnStatus_t cudnnSetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t compType, cudnnLossNormalizationMode_t normMode, cudnnNanPropagation_t gradMode, int maxLabelLength)``
    """
    raise NotSupported("there is no CTC loss")


@c_function
def cudnnSetCTCLossDescriptor_v9(
    ctcLossDesc: Any, compType: int, normMode: int, ctcGradMode: Any, maxLabelLength: int
) -> None:
    """Not supported: there is no CTC loss.

    C: ``cudnnStatus_t cudnnSetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t compType, cudnnLossNormalizationMode_t normMode, cudnnCTCGradMode_t ctcGradMode, int maxLabelLength)``
    """
    raise NotSupported("there is no CTC loss")


@c_function
def cudnnGetCTCLossDescriptor(ctcLossDesc: Any) -> cudnnDataType_t:
    """Not supported: there is no CTC loss.

    C: ``cudnnStatus_t cudnnGetCTCLossDescriptor(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t *compType)``
    """
    raise NotSupported("there is no CTC loss")


@c_function
def cudnnGetCTCLossDescriptorEx(
    ctcLossDesc: Any
) -> tuple[cudnnDataType_t, cudnnLossNormalizationMode_t, cudnnNanPropagation_t]:
    """Not supported: there is no CTC loss.

    C: ``cudnnStatus_t cudnnGetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t *compType, cudnnLossNormalizationMode_t *normMode, cudnnNanPropagation_t *gradMode)``
    """
    raise NotSupported("there is no CTC loss")


@c_function
def cudnnGetCTCLossDescriptor_v8(
    ctcLossDesc: Any
) -> tuple[cudnnDataType_t, cudnnLossNormalizationMode_t, cudnnNanPropagation_t, int]:
    """Not supported: there is no CTC loss.

    C: ``cudnnStatus_t cudnnGetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t *compType, cudnnLossNormalizationMode_t *normMode, cudnnNanPropagation_t *gradMode, int *maxLabelLength)``
    """
    raise NotSupported("there is no CTC loss")


@c_function
def cudnnGetCTCLossDescriptor_v9(ctcLossDesc: Any) -> tuple[cudnnDataType_t, cudnnLossNormalizationMode_t, Any, int]:
    """Not supported: there is no CTC loss.

    C: ``cudnnStatus_t cudnnGetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t *compType, cudnnLossNormalizationMode_t *normMode, cudnnCTCGradMode_t *ctcGradMode, int *maxLabelLength)``
    """
    raise NotSupported("there is no CTC loss")


@c_function
def cudnnDestroyCTCLossDescriptor(ctcLossDesc: Any) -> None:
    """Not supported: there is no CTC loss.

    C: ``cudnnStatus_t cudnnDestroyCTCLossDescriptor(cudnnCTCLossDescriptor_t ctcLossDesc)``
    """
    raise NotSupported("there is no CTC loss")


@c_function
def cudnnGetCTCLossWorkspaceSize(
    handle: Handle,
    probsDesc: TensorDescriptor,
    gradientsDesc: TensorDescriptor,
    labels: Any,
    labelLengths: Any,
    inputLengths: Any,
    algo: int,
    ctcLossDesc: Any,
) -> int:
    """Not supported: there is no CTC loss.

    C: ``cudnnStatus_t cudnnGetCTCLossWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t probsDesc, const cudnnTensorDescriptor_t gradientsDesc, const int *labels, const int *labelLengths, const int *inputLengths, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctcLossDesc, size_t *sizeInBytes)``
    """
    raise NotSupported("there is no CTC loss")


@c_function
def cudnnGetCTCLossWorkspaceSize_v8(
    handle: Handle, algo: int, ctcLossDesc: Any, probsDesc: TensorDescriptor, gradientsDesc: TensorDescriptor
) -> int:
    """Not supported: there is no CTC loss.

    C: ``cudnnStatus_t cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctcLossDesc, const cudnnTensorDescriptor_t probsDesc, const cudnnTensorDescriptor_t gradientsDesc, size_t *sizeInBytes)``
    """
    raise NotSupported("there is no CTC loss")


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
    ctcLossDesc: Any,
    workspace: Any,
    workSpaceSizeInBytes: int,
) -> None:
    """Not supported: there is no CTC loss.

    C: ``cudnnStatus_t cudnnCTCLoss(cudnnHandle_t handle, const cudnnTensorDescriptor_t probsDesc, const void *probs, const int *labels, const int *labelLengths, const int *inputLengths, void *costs, const cudnnTensorDescriptor_t gradientsDesc, const void *gradients, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctcLossDesc, void *workspace, size_t workSpaceSizeInBytes)``

    In cuDNN 8.2.1 the parameters are: handle, probsDesc, probs, hostLabels, hostLabelLengths, hostInputLengths, costs, gradientsDesc, gradients, algo, ctcLossDesc, workspace, workSpaceSizeInBytes.
    """
    raise NotSupported("there is no CTC loss")


@c_function
def cudnnCTCLoss_v8(
    handle: Handle,
    algo: int,
    ctcLossDesc: Any,
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
    """Not supported: there is no CTC loss.

    C: ``cudnnStatus_t cudnnCTCLoss_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctcLossDesc, const cudnnTensorDescriptor_t probsDesc, const void *probs, const int labels[], const int labelLengths[], const int inputLengths[], void *costs, const cudnnTensorDescriptor_t gradientsDesc, void *gradients, size_t workSpaceSizeInBytes, void *workspace)``
    """
    raise NotSupported("there is no CTC loss")
