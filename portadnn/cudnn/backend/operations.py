"""Operations: from descriptors to nodes of graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...c_names.graph_attributes import DescriptorKind
from ...errors import BadParam
from ...graph.api.core import Graph
from ...graph.data_types import data_type
from ...graph.enums import pointwise_mode
from ...graph.tensor import tensor
from .hooks import HOOKS
from .node import NodeCall
from .objects import BackendDescriptor
from .tensors import Described, Tensors


@dataclass(frozen=True)
class Operation:
    """What a finalized descriptor of an operation stands for.

    Attributes
    ----------
    inputs, outputs : dict of str to Described
        Tensors by the node's ports.
    scales : dict of str to float
        Factors of inputs by port; ``""`` is that of the output.
    """

    kind: str
    inputs: dict[str, Described]
    outputs: dict[str, Described]
    attributes: dict[str, Any]
    compute: data_type
    scales: dict[str, float] = field(default_factory=dict)

    def apart(self) -> Operation:
        """Return it with tensors that are not virtual."""
        inputs, outputs = ({port: one.apart() for port, one in of.items()} for of in (self.inputs, self.outputs))
        return Operation(self.kind, inputs, outputs, self.attributes, self.compute, self.scales)

    def add(self, graph: Graph, tensors: Tensors, name: str, *, alone: bool) -> None:
        """Add the node to a graph, with a product before or behind it for each factor.

        Parameters
        ----------
        alone
            Whether it is the graph's only node: then a tensor may be read and written.
        """
        inputs: dict[str, Any] = {port: tensors.get(one) for port, one in self.inputs.items()}
        read = {one.uid for one in self.inputs.values()}
        outputs = {
            port: _in_place(one) if alone and one.uid in read else tensors.get(one)
            for port, one in self.outputs.items()
        }
        for port, factor in self.scales.items():
            if port:
                inputs[port] = self._scaled(graph, inputs[port], factor, f"{name}.{port}")
        if "" not in self.scales:
            self._node(graph, inputs, outputs, name)
            return
        ((port, out),) = outputs.items()
        product = self._between(f"{name}.{port}", out)
        self._node(graph, inputs, {port: product}, name)
        self._product(graph, product, self.scales[""], f"{name}.alpha", {"OUT_0": out})

    def _node(self, graph: Graph, inputs: dict[str, Any], outputs: dict[str, tensor], name: str) -> None:
        graph.add(self.kind, inputs, self.attributes, results=outputs, compute_type=self.compute, name=name)

    def _between(self, name: str, model: tensor) -> tensor:
        """Return a virtual tensor that lies as another one, of a type that loses nothing."""
        kind = self.compute if self.compute.is_float else data_type.FLOAT
        return tensor(name).set_dim(model.dims).set_stride(model.strides).set_data_type(kind).set_is_virtual(True)

    def _scaled(self, graph: Graph, one: tensor, factor: float, name: str) -> tensor:
        out = self._between(f"{name}_scaled", one)
        self._product(graph, one, factor, name, {"OUT_0": out})
        return out

    def _product(self, graph: Graph, one: tensor, factor: float, name: str, outputs: dict[str, tensor]) -> None:
        inputs = {"IN_0": one, "IN_1": factor}
        kind = self.compute if self.compute.is_float else data_type.FLOAT
        graph.add("pointwise", inputs, {"mode": pointwise_mode.MUL}, outputs=outputs, compute_type=kind, name=name)


def _in_place(one: Described) -> tensor:
    """Return the output that lies where an input lies."""
    return one.made().set_name(f"{one.info.name}, written")


def finalize_operation(descriptor: BackendDescriptor) -> Operation:
    """Check an operation by itself and return it.

    Raises
    ------
    BadParam
        Tensors or parameters that do not fit.
    NotSupported
        Something that portadnn's graphs lack.
    """
    call = _call(descriptor)
    hook: Callable[[BackendDescriptor, NodeCall], None] | None = HOOKS.get(descriptor.kind.name)
    if hook is not None:
        hook(descriptor, call)
    if call.compute is data_type.NOT_SET:
        double = any(one.info.data_type is data_type.DOUBLE for one in call.inputs.values())
        call.compute = data_type.DOUBLE if double else data_type.FLOAT
    scales = {port: factor for port, factor in call.scales.items() if factor != 1.0}
    made = Operation(call.kind, call.inputs, call.outputs, call.attributes, call.compute, scales)
    graph = new_graph()
    made.apart().add(graph, Tensors(), descriptor.kind.name.removeprefix("OPERATION_").lower(), alone=True)
    graph.validate()
    return made


def new_graph() -> Graph:
    """Return an empty graph; tensors that no descriptor states are FLOAT."""
    return Graph("backend", intermediate_data_type=data_type.FLOAT)


def _call(descriptor: BackendDescriptor) -> NodeCall:
    """Return what the table of attributes says of an operation."""
    call = NodeCall(descriptor.kind.node)
    for name, attribute in descriptor.kind.attributes.items():
        found = descriptor.many(name)
        if not found:
            continue
        if attribute.input or attribute.output:
            port, places = attribute.input or attribute.output, call.inputs if attribute.input else call.outputs
            if attribute.most > 1:
                places.update({f"{port}_{i}": one for i, one in enumerate(found)})
            else:
                places[port] = found[0]
        elif attribute.node:
            call.attributes[attribute.node] = found[0] if attribute.most == 1 else found
        elif attribute.of and isinstance(found[0], dict):
            call.attributes.update(found[0])
    call.compute = call.attributes.pop("compute", data_type.NOT_SET)
    return call


def finalize_parameters(descriptor: BackendDescriptor) -> dict[str, Any]:
    """Return the node's attributes that a descriptor of parameters states.

    Raises
    ------
    BadParam
        A number of values that differs from that of the spatial dims.
    """
    kind: DescriptorKind = descriptor.kind
    spatial = descriptor.one(f"{kind.name}_SPATIAL_DIMS")
    stated: dict[str, Any] = {}
    for name, attribute in kind.attributes.items():
        found = descriptor.many(name)
        if attribute.most > 1 and spatial is not None and len(found) != spatial:
            raise BadParam(
                argument=attribute.c_name,
                expected=f"{spatial} elements, as CUDNN_ATTR_{kind.name}_SPATIAL_DIMS says",
                got=len(found),
            )
        if found and attribute.node:
            stated[attribute.node] = found[0] if attribute.most == 1 else found
    return stated
