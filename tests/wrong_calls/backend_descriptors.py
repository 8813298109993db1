"""The right calls of cuDNN's backend descriptors: every attribute of every kind, and a graph from tensors to memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portadnn import cudnn
from portadnn.c_names.graph_descriptors import kinds

from .graph_nodes import without_address
from .scene import IMAGE, WORKSPACE, Call, Scene

ATTRIBUTES = [
    (kind.name, name, attribute.types)
    for kind in kinds().values()
    for name, attribute in kind.attributes.items()
    if hasattr(cudnn, f"CUDNN_BACKEND_{kind.name}_DESCRIPTOR")
]
STRIDES = [32, 16, 4, 1]


def created(kind: str) -> Any:
    """Return a descriptor on which nothing is set."""
    return cudnn.cudnnBackendCreateDescriptor(getattr(cudnn, f"CUDNN_BACKEND_{kind}_DESCRIPTOR"))


def given(descriptor: Any, name: str, word: str, elements: Any) -> None:
    """Set an attribute."""
    what = getattr(cudnn, f"CUDNN_ATTR_{name}"), getattr(cudnn, f"CUDNN_TYPE_{word}")
    count = len(elements) if type(elements) in (list, tuple) else 4
    cudnn.cudnnBackendSetAttribute(descriptor, *what, count, elements)


def made(kind: str, **attributes: tuple[str, Any]) -> Any:
    """Return a finalized descriptor; attributes are types and elements by the ends of their names."""
    descriptor = created(kind)
    for name, (word, elements) in attributes.items():
        given(descriptor, name, word, elements)
    cudnn.cudnnBackendFinalize(descriptor)
    return descriptor


def tensor(uid: Any, dims: Any = IMAGE, strides: Any = STRIDES, kind: Any = 0, alignment: Any = 16) -> Any:
    """Return a finalized tensor."""
    return made(
        "TENSOR",
        TENSOR_UNIQUE_ID=("INT64", [uid]),
        TENSOR_DATA_TYPE=("DATA_TYPE", [kind]),
        TENSOR_BYTE_ALIGNMENT=("INT64", [alignment]),
        TENSOR_DIMENSIONS=("INT64", dims),
        TENSOR_STRIDES=("INT64", strides),
    )


def _element(scene: Scene, type: str) -> Any:
    simple = {"INT64": 1, "INT32": 1, "DOUBLE": 1.0, "FLOAT": 1.0, "BOOLEAN": True, "HANDLE": scene.handle}
    if type == "BACKEND_DESCRIPTOR":
        return tensor(7)
    return scene.array(IMAGE) if type == "VOID_PTR" else simple.get(type, 0)


def set_attribute(scene: Scene) -> Call:
    """Return the call that sets an attribute of some kind of descriptor, which is finalized and read then."""
    kind, name, types = ATTRIBUTES[int(scene.rng.integers(len(ATTRIBUTES)))]
    type = types[int(scene.rng.integers(len(types)))]

    def run(descriptor: Any, attributeName: Any, attributeType: Any, elementCount: Any, arrayOfElements: Any) -> None:
        what = attributeName, attributeType, elementCount
        cudnn.cudnnBackendSetAttribute(descriptor, *what, arrayOfElements)
        cudnn.cudnnBackendFinalize(descriptor)
        cudnn.cudnnBackendGetAttribute(descriptor, *what)

    run.__name__ = run.__qualname__ = "cudnnBackendSetAttribute"
    values = {
        "descriptor": created(kind),
        "attributeName": getattr(cudnn, f"CUDNN_ATTR_{name}"),
        "attributeType": getattr(cudnn, f"CUDNN_TYPE_{type}"),
        "elementCount": 1,
        "arrayOfElements": [_element(scene, type)],
    }
    return Call("cudnnBackendSetAttribute", run, values)


def backend_graph(
    handle: Any,
    uid: Any,
    dims: Any,
    strides: Any,
    dataType: Any,
    alignment: Any,
    mode: Any,
    precision: Any,
    clip: Any,
    heuristic: Any,
    uids: Any,
    pointers: Any,
    workspace: Any,
) -> None:
    """Build and run a graph of one pointwise operation."""
    x, y = tensor(uid, dims, strides, dataType, alignment), tensor(2, dims, strides, dataType, alignment)
    how = made(
        "POINTWISE",
        POINTWISE_MODE=("POINTWISE_MODE", [mode]),
        POINTWISE_MATH_PREC=("DATA_TYPE", [precision]),
        POINTWISE_RELU_LOWER_CLIP=("DOUBLE", [clip]),
    )
    node = made(
        "OPERATION_POINTWISE",
        OPERATION_POINTWISE_PW_DESCRIPTOR=("BACKEND_DESCRIPTOR", [how]),
        OPERATION_POINTWISE_XDESC=("BACKEND_DESCRIPTOR", [x]),
        OPERATION_POINTWISE_YDESC=("BACKEND_DESCRIPTOR", [y]),
    )
    whole = made(
        "OPERATIONGRAPH",
        OPERATIONGRAPH_HANDLE=("HANDLE", [handle]),
        OPERATIONGRAPH_OPS=("BACKEND_DESCRIPTOR", [node]),
    )
    found = made(
        "ENGINEHEUR",
        ENGINEHEUR_OPERATION_GRAPH=("BACKEND_DESCRIPTOR", [whole]),
        ENGINEHEUR_MODE=("HEUR_MODE", [heuristic]),
    )
    what = cudnn.CUDNN_ATTR_ENGINEHEUR_RESULTS, cudnn.CUDNN_TYPE_BACKEND_DESCRIPTOR
    configurations = cudnn.cudnnBackendGetAttribute(found, *what, 1)[1]
    plan = made(
        "EXECUTION_PLAN",
        EXECUTION_PLAN_HANDLE=("HANDLE", [handle]),
        EXECUTION_PLAN_ENGINE_CONFIG=("BACKEND_DESCRIPTOR", configurations),
    )
    pack = made(
        "VARIANT_PACK",
        VARIANT_PACK_UNIQUE_IDS=("INT64", uids),
        VARIANT_PACK_DATA_POINTERS=("VOID_PTR", _without_addresses(pointers)),
        VARIANT_PACK_WORKSPACE=("VOID_PTR", [workspace]),
    )
    cudnn.cudnnBackendExecute(handle, plan, pack)


def _without_addresses(pointers: Any) -> Any:
    """Return pointers with 0 for integers that may be addresses: these are trusted."""
    if type(pointers) not in (list, tuple, range):
        return pointers
    return [without_address(one) for one in pointers[:9]]


def _graph(scene: Scene) -> Call:
    values = {
        "handle": scene.handle,
        "uid": 1,
        "dims": list(IMAGE),
        "strides": STRIDES,
        "dataType": cudnn.CUDNN_DATA_FLOAT,
        "alignment": 16,
        "mode": cudnn.CUDNN_POINTWISE_RELU_FWD,
        "precision": cudnn.CUDNN_DATA_FLOAT,
        "clip": 0.0,
        "heuristic": cudnn.CUDNN_HEUR_MODE_A,
        "uids": [1, 2],
        "pointers": [scene.array(IMAGE), scene.array(IMAGE)],
        "workspace": scene.buffer(WORKSPACE),
    }
    return Call("backend_graph", backend_graph, values)


CALLS: dict[str, Callable[[Scene], Call]] = {
    "cudnnBackendSetAttribute of any kind": set_attribute,
    "backend_graph": _graph,
}
