"""Graphs of backend descriptors, in the form of those of cudnn_frontend."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..model.effects import parts
from ..model.state import Deed, State, Thing
from ..values import Value
from .found import FoundGraph, FoundNode, FoundTensor
from .methods import Method, operations

_DESCRIPTOR = re.compile(r"CUDNN_BACKEND_(\w+)_DESCRIPTOR")
_PORT = re.compile(r"CUDNN_ATTR_OPERATION_\w+?_(DX|DY|DW|X|W|Y|A|B|C|T)(?:DESC)?")
_MATRICES = {"A": "aMatDesc", "B": "bMatDesc", "C": "cMatDesc"}
_TENSOR = {"DIMENSIONS": "Dim", "STRIDES": "Stride", "DATA_TYPE": "DataType", "IS_VIRTUAL": "Virtual",
           "IS_BY_VALUE": "ByValue"}  # fmt: skip
_SETTINGS = {
    "CONVOLUTION_PRE_PADDINGS": "PrePadding", "CONVOLUTION_POST_PADDINGS": "PostPadding",
    "CONVOLUTION_FILTER_STRIDES": "SpatialStride", "CONVOLUTION_DILATIONS": "Dilation",
    "CONVOLUTION_CONV_MODE": "MathMode", "CONVOLUTION_COMP_TYPE": "ComputeType", "POINTWISE_MODE": "Mode",
    "POINTWISE_MATH_PREC": "ComputeType", "MATMUL_COMP_TYPE": "ComputeType", "REDUCTION_OPERATOR": "ReductionOp",
    "REDUCTION_COMP_TYPE": "ComputeType", "RESAMPLE_MODE": "ResampleMode", "RESAMPLE_COMP_TYPE": "ComputeType",
    "RESAMPLE_WINDOW_DIMS": "Window", "RESAMPLE_PRE_PADDINGS": "PrePadding", "RESAMPLE_STRIDES": "SpatialStride",
    "RESAMPLE_POST_PADDINGS": "PostPadding", "RESAMPLE_PADDING_MODE": "PaddingMode",
}  # fmt: skip


_OPTIONAL = {"IN_1", "IN_2", "INDEX"}


def found_graph(graph: Thing, state: State, journal: Mapping[int, Deed]) -> FoundGraph | None:
    """Return the graph that a descriptor is of, where all of its operations are known; else None."""
    if _middle(graph) != "OPERATIONGRAPH" or graph.many:
        return None
    listed = graph.fields.get("CUDNN_ATTR_OPERATIONGRAPH_OPS")
    things = [_thing(value, state) for value in (() if listed is None else parts(listed))]
    nodes: list[FoundNode] = []
    tensors: dict[str, FoundTensor] = {}
    for thing in things:
        node = None if thing is None or thing.many else _node(thing, state, journal, tensors)
        if node is None:
            return None
        nodes.append(node)
    return FoundGraph(tuple(nodes), tensors, older=True, backend=True) if nodes else None


def _middle(thing: Thing) -> str:
    said = thing.fields.get("descriptorType")
    match = _DESCRIPTOR.fullmatch(str(said.data)) if said is not None and said.kind == "known" else None
    return match[1] if match else ""


def _thing(value: Value, state: State) -> Thing | None:
    return state.things.get(value.data) if value.kind == "thing" else None


def _node(thing: Thing, state: State, journal: Mapping[int, Deed], tensors: dict[str, FoundTensor]) -> FoundNode | None:
    middle = _middle(thing).removeprefix("OPERATION_")
    names = {
        "CONVOLUTION_BACKWARD_DATA": "CONVOLUTION_BWD_DATA",
        "CONVOLUTION_BACKWARD_FILTER": "CONVOLUTION_BWD_FILTER",
    }
    operation = operations().get(middle)
    deed = next((journal[number] for number in reversed(thing.set_by) if number in journal), None)
    if operation is None or deed is None:
        return None
    inputs: dict[str, str] = {}
    outputs: dict[str, str] = {}
    settings: dict[str, tuple[Value, ...]] = {}
    backward = f"CUDNN_ATTR_OPERATION_{names.get(middle, middle)}_DYDESC" in thing.fields
    for name, value in thing.fields.items():
        other = next((found for part in parts(value) if (found := _thing(part, state)) is not None), None)
        if other is None:
            continue
        match = _PORT.fullmatch(name)
        if match is None or _middle(other) != "TENSOR":
            settings |= _settings(other)
            continue
        setter = _MATRICES[match[1]] if operation.method.kind == "matmul" else f"{match[1].lower()}Desc"
        port = _ported(operation.ports, operation.method, setter, backward=backward)
        if port:
            tensors[other.id] = _tensor(other)
            (outputs if port in operation.method.outputs else inputs)[port] = other.id
    if set(operation.ports.values()) - _OPTIONAL - {*inputs, *outputs}:
        return None  # set where the program was not followed
    place, text = deed.event.place, deed.event.text
    return FoundNode(operation.method, place, text, deed.event.within, inputs, outputs, settings)


def _ported(ports: Mapping[str, str], method: Method, setter: str, *, backward: bool) -> str:
    """Return the port that an attribute sets."""
    if method.kind == "pointwise" and backward and setter == "xDesc":
        return "IN_1"
    return ports.get(setter, "")


def _settings(thing: Thing) -> dict[str, tuple[Value, ...]]:
    given = ((name.removeprefix("CUDNN_ATTR_"), value) for name, value in thing.fields.items())
    return {_SETTINGS[name]: (value,) for name, value in given if name in _SETTINGS}


def _tensor(thing: Thing) -> FoundTensor:
    given = ((name.removeprefix("CUDNN_ATTR_TENSOR_"), value) for name, value in thing.fields.items())
    return FoundTensor(thing.id, "", {_TENSOR[name]: (value,) for name, value in given if name in _TENSOR})
