"""cuDNN's backend API (cuDNN 8 and later): graphs by descriptors, whose attributes are set by name.

Descriptors become what :mod:`portadnn.graph` has: tensors, nodes, engines, plans. docs/graph.md has a program.
"""

from __future__ import annotations

from typing import Any

from ...c_names.graph_descriptors import DESCRIBING, kinds
from ...errors import BadParam, NotInitialized, NotSupported, shown
from ...graph.api.handles import handle_of
from ...handle import Handle
from ..calls import c_function, c_value
from ..descriptors import destroy, made
from . import execution, values
from .finalizing import FINALIZERS
from .objects import BackendDescriptor, assign, attribute_of, demand_complete, hand_over
from .planning import RESULTS

__all__ = [
    "cudnnBackendCreateDescriptor",
    "cudnnBackendDestroyDescriptor",
    "cudnnBackendExecute",
    "cudnnBackendFinalize",
    "cudnnBackendGetAttribute",
    "cudnnBackendInitialize",
    "cudnnBackendSetAttribute",
]


@c_function
def cudnnBackendCreateDescriptor(descriptorType: int) -> BackendDescriptor:
    """Kinds of descriptors that portadnn's graphs have nothing for are CUDNN_STATUS_NOT_SUPPORTED."""
    member = c_value("cudnnBackendDescriptorType_t", descriptorType, "descriptorType")
    name = member.name.removeprefix("CUDNN_BACKEND_").removesuffix("_DESCRIPTOR")
    if name not in kinds():
        offered = ", ".join(kind.c_name for kind in kinds().values())
        raise NotSupported(argument="descriptorType", expected=f"one of {offered}", got=member.name)
    return BackendDescriptor(kinds()[name])


@c_function
def cudnnBackendDestroyDescriptor(descriptor: BackendDescriptor) -> None:
    """Descriptors that were made with it stay as they are. NULL is refused, as by cuDNN 9, unlike elsewhere."""
    made(descriptor, BackendDescriptor, "descriptor")
    destroy(descriptor, BackendDescriptor, "descriptor")


@c_function
def cudnnBackendInitialize(descriptor: BackendDescriptor) -> None:
    """The descriptor is as it was when created: nothing is set, and it is not finalized."""
    made(descriptor, BackendDescriptor, "descriptor")
    descriptor.given, descriptor.value = {}, None


@c_function
def cudnnBackendSetAttribute(
    descriptor: BackendDescriptor, attributeName: int, attributeType: int, elementCount: int, arrayOfElements: Any
) -> None:
    """`arrayOfElements` is a list, a tuple or an array; one element may stand by itself.

    Elements are numbers, members of enumerations, handles, finalized descriptors, or, of CUDNN_TYPE_VOID_PTR, arrays
    and buffers of the device, arrays of the host, and addresses. A fraction is a ``fractions.Fraction``, or numerator
    and denominator as a tuple. A finalized descriptor cannot be changed: CUDNN_STATUS_NOT_INITIALIZED, as in C.
    """
    assign(descriptor, attributeName, attributeType, elementCount, arrayOfElements)


@c_function
def cudnnBackendFinalize(descriptor: BackendDescriptor) -> None:
    """Checks everything that was set: missing attributes and values that do not fit are CUDNN_STATUS_BAD_PARAM."""
    made(descriptor, BackendDescriptor, "descriptor")
    if descriptor.value is not None:
        raise BadParam(argument="descriptor", expected="one that is not finalized", got=shown(descriptor))
    if descriptor.kind.name in DESCRIBING:
        raise BadParam(
            argument="descriptor", expected="one that a program sets", got=f"{descriptor.kind.c_name}, read only"
        )
    demand_complete(descriptor)
    descriptor.value = FINALIZERS[descriptor.kind.name](descriptor)


@c_function
def cudnnBackendGetAttribute(
    descriptor: BackendDescriptor,
    attributeName: int,
    attributeType: int,
    requestedElementCount: int,
    *,
    arrayOfElements: list[Any] | None = None,
) -> tuple[int, list[Any]]:
    """There are elementCount elements; arrayOfElements has at most `requestedElementCount` of them.

    Descriptors are new ones, or as in C those that the program made and passes as ``arrayOfElements=[...]``. Text,
    whose elements are characters, is one str. The descriptor asked has to be finalized, else
    CUDNN_STATUS_NOT_INITIALIZED.
    """
    made(descriptor, BackendDescriptor, "descriptor")
    if descriptor.value is None:
        raise NotInitialized(
            argument="descriptor", expected="a finalized descriptor (cudnnBackendFinalize)", got=shown(descriptor)
        )
    attribute = attribute_of(descriptor, attributeName)
    values.check_type(attribute, attributeType)
    given = descriptor.given.get(attribute.name)
    if given is not None:
        found = given.elements
    elif attribute.name in RESULTS:
        found = tuple(RESULTS[attribute.name](descriptor.value))
    else:
        found = ()
    return hand_over(found, requestedElementCount, arrayOfElements)


@c_function
def cudnnBackendExecute(handle: Handle, executionPlan: BackendDescriptor, variantPack: BackendDescriptor) -> None:
    """A plan that needs a workspace needs one in the pack; work is enqueued on the handle's stream."""
    execution.execute(handle_of(handle), executionPlan, variantPack)
