"""Backend descriptors (graph API): the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...errors import NotSupported
from ...handle import Handle
from ..backend.calls import (
    cudnnBackendCreateDescriptor as _BackendCreateDescriptor,
    cudnnBackendDestroyDescriptor as _BackendDestroyDescriptor,
    cudnnBackendExecute as _BackendExecute,
    cudnnBackendFinalize as _BackendFinalize,
    cudnnBackendGetAttribute as _BackendGetAttribute,
    cudnnBackendInitialize as _BackendInitialize,
    cudnnBackendSetAttribute as _BackendSetAttribute,
)
from ..backend.objects import BackendDescriptor
from ..calls import c_function


@c_function
def cudnnBackendCreateDescriptor(descriptorType: int) -> BackendDescriptor:
    """Return descriptor (since 8.0.1).

    C: ``cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t descriptorType, cudnnBackendDescriptor_t *descriptor)``

    Kinds of descriptors that portadnn's graphs have nothing for are CUDNN_STATUS_NOT_SUPPORTED.
    """
    return _BackendCreateDescriptor(descriptorType)


@c_function
def cudnnBackendDestroyDescriptor(descriptor: BackendDescriptor) -> None:
    """Return nothing (since 8.0.1).

    C: ``cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)``

    Descriptors that were made with it stay as they are. NULL is refused, as by cuDNN 9, unlike elsewhere.
    """
    _BackendDestroyDescriptor(descriptor)


@c_function
def cudnnBackendInitialize(descriptor: BackendDescriptor) -> None:
    """Return nothing (since 8.0.1, deprecated 9.3.0).

    C: ``cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor)``

    The descriptor is as it was when created: nothing is set, and it is not finalized.
    """
    _BackendInitialize(descriptor)


@c_function
def cudnnBackendFinalize(descriptor: BackendDescriptor) -> None:
    """Return nothing (since 8.0.1).

    C: ``cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)``

    Checks everything that was set: missing attributes and values that do not fit are CUDNN_STATUS_BAD_PARAM.
    """
    _BackendFinalize(descriptor)


@c_function
def cudnnBackendSetAttribute(
    descriptor: BackendDescriptor, attributeName: int, attributeType: int, elementCount: int, arrayOfElements: Any
) -> None:
    """Return nothing (since 8.0.1).

    C: ``cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t attributeName, cudnnBackendAttributeType_t attributeType, int64_t elementCount, const void *arrayOfElements)``

    `arrayOfElements` is a list, a tuple or an array; one element may stand by itself.

    Elements are numbers, members of enumerations, handles, finalized descriptors, or, of CUDNN_TYPE_VOID_PTR, arrays
    and buffers of the device, arrays of the host, and addresses. A fraction is a ``fractions.Fraction``, or numerator
    and denominator as a tuple. A finalized descriptor cannot be changed: CUDNN_STATUS_NOT_INITIALIZED, as in C.
    """
    _BackendSetAttribute(descriptor, attributeName, attributeType, elementCount, arrayOfElements)


@c_function
def cudnnBackendGetAttribute(
    descriptor: BackendDescriptor,
    attributeName: int,
    attributeType: int,
    requestedElementCount: int,
    *,
    arrayOfElements: list[Any] | None = None,
) -> tuple[int, Any]:
    """Return (elementCount, arrayOfElements) (since 8.0.1).

    C: ``cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t attributeName, cudnnBackendAttributeType_t attributeType, int64_t requestedElementCount, int64_t *elementCount, void *arrayOfElements)``

    There are elementCount elements; arrayOfElements has at most `requestedElementCount` of them.

    Descriptors are new ones, or as in C those that the program made and passes as ``arrayOfElements=[...]``. Text,
    whose elements are characters, is one str. The descriptor asked has to be finalized, else
    CUDNN_STATUS_NOT_INITIALIZED.
    """
    return _BackendGetAttribute(
        descriptor, attributeName, attributeType, requestedElementCount, arrayOfElements=arrayOfElements
    )


@c_function
def cudnnBackendExecute(handle: Handle, executionPlan: BackendDescriptor, variantPack: BackendDescriptor) -> None:
    """Return nothing (since 8.0.1).

    C: ``cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan, cudnnBackendDescriptor_t variantPack)``

    A plan that needs a workspace needs one in the pack; work is enqueued on the handle's stream.
    """
    _BackendExecute(handle, executionPlan, variantPack)


@c_function
def cudnnBackendPopulateCudaGraph(
    handle: Handle, executionPlan: BackendDescriptor, variantPack: BackendDescriptor, graph: Any
) -> None:
    """Not supported: plans are not recorded into CUDA graphs; cudnnBackendExecute runs them.

    C: ``cudnnStatus_t cudnnBackendPopulateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan, cudnnBackendDescriptor_t variantPack, cudaGraph_t graph)``
    """
    raise NotSupported("plans are not recorded into CUDA graphs; cudnnBackendExecute runs them")


@c_function
def cudnnBackendUpdateCudaGraph(
    handle: Handle, executionPlan: BackendDescriptor, variantPack: BackendDescriptor, graph: Any
) -> None:
    """Not supported: plans are not recorded into CUDA graphs; cudnnBackendExecute runs them.

    C: ``cudnnStatus_t cudnnBackendUpdateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan, cudnnBackendDescriptor_t variantPack, cudaGraph_t graph)``
    """
    raise NotSupported("plans are not recorded into CUDA graphs; cudnnBackendExecute runs them")
