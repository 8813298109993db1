"""CTC loss: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..ctc_loss import (
    miopenCTCLoss as _CTCLoss,
    miopenCTCLossDescriptor_t,
    miopenGetCTCLossDescriptor as _GetCTCLossDescriptor,
    miopenGetCTCLossWorkspaceSize as _GetCTCLossWorkspaceSize,
    miopenSetCTCLossDescriptor as _SetCTCLossDescriptor,
)
from ..descriptors import destroy, miopenTensorDescriptor_t, tensor, value_of
from ..names import function
from .enums import miopenDataType_t


@function
def miopenCreateCTCLossDescriptor() -> miopenCTCLossDescriptor_t:
    """Return ctcLossDesc (since 2.0.0).

    C: ``miopenStatus_t miopenCreateCTCLossDescriptor(miopenCTCLossDescriptor_t *ctcLossDesc)``

    In cuDNN: ``cudnnCreateCTCLossDescriptor``; what a port changes: same arguments.

    In portadnn: ``CTCLossDescriptor``.
    """
    return miopenCTCLossDescriptor_t()


@function
def miopenSetCTCLossDescriptor(
    ctcLossDesc: miopenCTCLossDescriptor_t, dataType: int, blank_label_id: int, apply_softmax_layer: bool
) -> None:
    """Set a descriptor.

    Return nothing (since 2.0.0).

    C: ``miopenStatus_t miopenSetCTCLossDescriptor(miopenCTCLossDescriptor_t ctcLossDesc, miopenDataType_t dataType, const int blank_label_id, bool apply_softmax_layer)``

    In cuDNN: ``cudnnSetCTCLossDescriptor``; what a port changes: adds blank_label_id, apply_softmax_layer; renames compType -> dataType.

    In portadnn: ``CTCLossDescriptor``.
    """
    _SetCTCLossDescriptor(ctcLossDesc, dataType, blank_label_id, apply_softmax_layer)


@function
def miopenGetCTCLossDescriptor(ctcLossDesc: miopenCTCLossDescriptor_t) -> tuple[miopenDataType_t, int, bool]:
    """Return (dataType, blank_label_id, apply_softmax_layer).

    Return (dataType, blank_label_id, apply_softmax_layer) (since 2.0.0).

    C: ``miopenStatus_t miopenGetCTCLossDescriptor(miopenCTCLossDescriptor_t ctcLossDesc, miopenDataType_t *dataType, int *blank_label_id, bool *apply_softmax_layer)``

    In cuDNN: ``cudnnGetCTCLossDescriptor``; what a port changes: adds blank_label_id, apply_softmax_layer; renames compType -> dataType.

    In portadnn: ``CTCLossDescriptor``.
    """
    return _GetCTCLossDescriptor(value_of(ctcLossDesc, miopenCTCLossDescriptor_t, "ctcLossDesc"))


@function
def miopenDestroyCTCLossDescriptor(ctcLossDesc: miopenCTCLossDescriptor_t) -> None:
    """Destroy a descriptor.

    Return nothing (since 2.0.0).

    C: ``miopenStatus_t miopenDestroyCTCLossDescriptor(miopenCTCLossDescriptor_t ctcLossDesc)``

    In cuDNN: ``cudnnDestroyCTCLossDescriptor``; what a port changes: same arguments.
    """
    destroy(ctcLossDesc, miopenCTCLossDescriptor_t, "ctcLossDesc")


@function
def miopenGetCTCLossWorkspaceSize(
    handle: Handle,
    probsDesc: miopenTensorDescriptor_t,
    gradientsDesc: miopenTensorDescriptor_t,
    labels: Any,
    labelLengths: Any,
    inputLengths: Any,
    algo: int,
    ctcLossDesc: miopenCTCLossDescriptor_t,
) -> int:
    """Return the bytes of workspace, for activations that a softmax is applied to.

    Return workSpaceSize (since 2.0.0).

    C: ``miopenStatus_t miopenGetCTCLossWorkspaceSize(miopenHandle_t handle, const miopenTensorDescriptor_t probsDesc, const miopenTensorDescriptor_t gradientsDesc, const int *labels, const int *labelLengths, const int *inputLengths, miopenCTCLossAlgo_t algo, const miopenCTCLossDescriptor_t ctcLossDesc, size_t *workSpaceSize)``

    In cuDNN: ``cudnnGetCTCLossWorkspaceSize``; what a port changes: renames sizeInBytes -> workSpaceSize.

    In portadnn: ``get_ctc_loss_workspace_size``.
    """
    return _GetCTCLossWorkspaceSize(
        handle,
        value_of(probsDesc, miopenTensorDescriptor_t, "probsDesc"),
        value_of(gradientsDesc, miopenTensorDescriptor_t, "gradientsDesc"),
        labels,
        labelLengths,
        inputLengths,
        algo,
        value_of(ctcLossDesc, miopenCTCLossDescriptor_t, "ctcLossDesc"),
    )


@function
def miopenCTCLoss(
    handle: Handle,
    probsDesc: miopenTensorDescriptor_t,
    probs: Any,
    labels: Any,
    labelLengths: Any,
    inputLengths: Any,
    losses: Any,
    gradientsDesc: miopenTensorDescriptor_t,
    gradients: Any,
    algo: int,
    ctcLossDesc: miopenCTCLossDescriptor_t,
    workSpace: Any,
    workSpaceSize: int,
) -> None:
    """Compute costs and gradients of activations that a softmax is applied to.

    Return nothing (since 2.0.0).

    C: ``miopenStatus_t miopenCTCLoss(miopenHandle_t handle, const miopenTensorDescriptor_t probsDesc, const void *probs, const int *labels, const int *labelLengths, const int *inputLengths, void *losses, const miopenTensorDescriptor_t gradientsDesc, void *gradients, miopenCTCLossAlgo_t algo, const miopenCTCLossDescriptor_t ctcLossDesc, void *workSpace, size_t workSpaceSize)``

    In cuDNN: ``cudnnCTCLoss``; what a port changes: renames costs -> losses, workSpaceSizeInBytes -> workSpaceSize; in the newest versions: renames hostLabels -> labels, hostLabelLengths -> labelLengths, hostInputLengths -> inputLengths, costs -> losses, workSpaceSizeInBytes -> workSpaceSize.

    In portadnn: ``ctc_loss``.

    Labels and lengths are in host memory, and are copied to the device by each call. A label that does not fit into its steps is refused.
    """
    _CTCLoss(
        handle,
        probsDesc,
        tensor(handle, probsDesc, probs, "probs"),
        labels,
        labelLengths,
        inputLengths,
        losses,
        tensor(handle, gradientsDesc, gradients, "gradients"),
        algo,
        value_of(ctcLossDesc, miopenCTCLossDescriptor_t, "ctcLossDesc"),
        workSpace,
        workSpaceSize,
    )
