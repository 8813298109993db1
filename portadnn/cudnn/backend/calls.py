"""cuDNN's backend API (cuDNN 8 and later): graphs by descriptors, whose attributes are set by name.

Descriptors become what :mod:`portadnn.graph` has: tensors, nodes, engines, plans. docs/graph.md has a program.
"""

from __future__ import annotations

from typing import Any

from ...c_names.graph_descriptors import DESCRIBING, kinds
from ...errors import BadParam, NotInitialized, NotSupported, shown
from ...graph.api.handles import handle_of
from ..calls import c_value
from ..descriptors import destroy, made
from . import execution, values
from .finalizing import FINALIZERS
from .objects import BackendDescriptor, assign, attribute_of, demand_complete, hand_over
from .planning import RESULTS


def cudnnBackendCreateDescriptor(descriptorType):
    member = c_value("cudnnBackendDescriptorType_t", descriptorType, "descriptorType")
    name = member.name.removeprefix("CUDNN_BACKEND_").removesuffix("_DESCRIPTOR")
    if name not in kinds():
        offered = ", ".join(kind.c_name for kind in kinds().values())
        raise NotSupported(argument="descriptorType", expected=f"one of {offered}", got=member.name)
    return BackendDescriptor(kinds()[name])


def cudnnBackendDestroyDescriptor(descriptor):
    made(descriptor, BackendDescriptor, "descriptor")
    destroy(descriptor, BackendDescriptor, "descriptor")


def cudnnBackendInitialize(descriptor):
    made(descriptor, BackendDescriptor, "descriptor")
    descriptor.given, descriptor.value = {}, None


def cudnnBackendSetAttribute(descriptor, *rest):
    assign(descriptor, *rest)


def cudnnBackendFinalize(descriptor):
    made(descriptor, BackendDescriptor, "descriptor")
    if descriptor.value is not None:
        raise BadParam(argument="descriptor", expected="one that is not finalized", got=shown(descriptor))
    if descriptor.kind.name in DESCRIBING:
        raise BadParam(
            argument="descriptor", expected="one that a program sets", got=f"{descriptor.kind.c_name}, read only"
        )
    demand_complete(descriptor)
    descriptor.value = FINALIZERS[descriptor.kind.name](descriptor)


def cudnnBackendGetAttribute(
    descriptor, attributeName, attributeType, requestedElementCount, *, arrayOfElements: list[Any] | None = None
):
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


def cudnnBackendExecute(handle, executionPlan, variantPack):
    execution.execute(handle_of(handle), executionPlan, variantPack)
