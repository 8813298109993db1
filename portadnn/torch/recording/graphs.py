"""Calls that only graphs say: products, attention, and pooling that pads one end."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from ...enums import DataType
from ...errors import DnnError
from ...graph.api.core import Graph
from ...graph.enums import pointwise_mode
from ...graph.files import as_data
from ...graph.operation_graph import OperationGraph
from ...graph.tensor import tensor as graph_tensor
from ...problem import TensorSpec
from .computation import Apart, Arguments, Computation, LeftOut, Operand, Tensor, aten, data_type, scratch, spec_of

Specs = tuple[tuple[str, TensorSpec], ...]
Attributes = tuple[tuple[str, Any], ...]


def _tensor(name: str, spec: TensorSpec) -> graph_tensor:
    made = graph_tensor(name).set_dim(list(spec.dims)).set_stride(list(spec.strides))
    return made.set_data_type(spec.dtype.name).set_is_virtual(False)


@functools.lru_cache(2048)
def _frozen(
    kind: str, inputs: Specs, outputs: Specs, attributes: Attributes, numbers: Attributes
) -> tuple[OperationGraph, dict[str, str]]:
    """Return the graph of one node, and the uids of its tensors by port; ADDED is added to a product.

    Raises
    ------
    DnnError
        The node is not valid.
    """
    double = any(spec.dtype is DataType.DOUBLE for _, spec in inputs)
    compute = "DOUBLE" if double else "FLOAT"
    graph = Graph("", "NOT_SET", compute, compute)
    made = {port: _tensor(port, spec) for port, spec in (*inputs, *outputs)}
    results = {port: made[port] for port, _ in outputs}
    given: dict[str, Any] = {port: made[port] for port, _ in inputs if port != "ADDED"} | dict(numbers)
    if "ADDED" not in made:
        graph.add(kind, given, dict(attributes), outputs=results)
    else:
        (product,) = graph.add(kind, given, dict(attributes)).outputs.values()
        added = {"IN_0": product, "IN_1": made["ADDED"]}
        graph.add("pointwise", added, {"mode": pointwise_mode.ADD}, outputs={"OUT_0": results["C"]})
    graph.validate()
    frozen = graph.freeze()
    return frozen, {port: str(one.get_uid()) for port, one in made.items()}


def graph_of(
    kind: str,
    inputs: Mapping[str, Operand | None],
    outputs: Mapping[str, Operand | None],
    attributes: Attributes = (),
    numbers: Attributes = (),
) -> Computation:
    """Return a node as the problem of a graph; an input ADDED is added to its result.

    Raises
    ------
    LeftOut
        portadnn refuses it; the reason is portadnn's.
    """
    tensors = {port: tensor for port, tensor in {**inputs, **outputs}.items() if tensor is not None}
    specs = [
        tuple((port, spec_of(tensor)) for port, tensor in some.items() if tensor is not None)
        for some in (inputs, outputs)
    ]
    if not all(spec.size for some in specs for _, spec in some):
        raise LeftOut("an empty tensor")
    try:
        frozen, uids = _frozen(kind, specs[0], specs[1], attributes, numbers)
    except DnnError as error:
        raise LeftOut(str(error)) from None
    ports = {uid: port for port, uid in uids.items()}
    return Computation(frozen, {uid: tensors[ports[uid]] for uid in frozen.names}, {})


# products


def _product(a: Tensor, b: Tensor, c: Tensor, added: Tensor | None = None) -> list[Computation]:
    """Return the problem of c = a @ b + added, all with a batch dim."""
    a, b, c = (tensor.unsqueeze(0) if tensor.dim() == 2 else tensor for tensor in (a, b, c))
    if added is not None:
        added = _unexpanded(added, 3)
    return [graph_of("matmul", {"A": a, "B": b, "ADDED": added}, {"C": c})]


def _unexpanded(tensor: Tensor, rank: int) -> Tensor:
    """Return a view of `rank` dims, of which those that repeat are 1."""
    while tensor.dim() < rank:
        tensor = tensor.unsqueeze(0)
    return tensor[tuple(slice(0, 1 if step == 0 else None) for step in tensor.stride())]


@aten("product", "mm.default", "bmm.default")
def _mm(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    return _product(a["self"], a["mat2"], out)


@aten("product", "addmm.default", "baddbmm.default")
def _addmm(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    first, second = ("batch1", "batch2") if "batch1" in a else ("mat1", "mat2")
    if a["alpha"] != 1 or a["beta"] not in (0, 1):
        raise LeftOut("a product with factors")
    return _product(a[first], a[second], out, a["self"] if a["beta"] else None)


# attention


def _options(a: Arguments) -> tuple[Attributes, Attributes]:
    """Return attributes and numbers of an attention's node."""
    if a.get("dropout_p"):
        raise LeftOut("attention with dropout, whose random numbers are PyTorch's own")
    scale = a.get("scale")
    scale = 1 / math.sqrt(a["query"].shape[-1]) if scale is None else float(scale)
    return ((("right_bound", 0),) if a["is_causal"] else ()), (("ATTN_SCALE", scale),)


def _statistics(found: Tensor | None, query: Tensor) -> Operand | None:
    """Return the logarithms of sums as graphs have them, (b, h, s, 1)."""
    if found is None or not found.numel():
        return None
    dims = (*query.shape[:3], 1)
    if tuple(found.shape) == dims[:3]:
        return found.unsqueeze(-1)
    return scratch(data_type(found), dims)


def _mask(a: Arguments) -> Tensor | None:
    mask = a.get("attn_mask", a.get("attn_bias"))
    return None if mask is None else _unexpanded(mask, 4)


@aten(
    "attention",
    "_scaled_dot_product_flash_attention_for_cpu.default",
    "_scaled_dot_product_flash_attention.default",
    "_scaled_dot_product_efficient_attention.default",
    "_scaled_dot_product_cudnn_attention.default",
    "_scaled_dot_product_fused_attention_overrideable.default",
)
def _attention(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    attributes, numbers = _options(a)
    inputs = {"Q": a["query"], "K": a["key"], "V": a["value"], "BIAS": _mask(a)}
    statistics = None if compared else _statistics(out[1], a["query"])
    if statistics is not None:
        attributes = (*attributes, ("generate_stats", True))
    return [graph_of("sdpa", inputs, {"O": out[0], "STATS": statistics}, attributes, numbers)]


@aten(
    "attention",
    "_scaled_dot_product_flash_attention_for_cpu_backward.default",
    "_scaled_dot_product_flash_attention_backward.default",
    "_scaled_dot_product_efficient_attention_backward.default",
    "_scaled_dot_product_cudnn_attention_backward.default",
    "_scaled_dot_product_fused_attention_overrideable_backward.default",
)
def _attention_backward(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    attributes, numbers = _options(a)
    dy = a.get("grad_out", a.get("grad_out_"))
    statistics = _statistics(a["logsumexp"], a["query"])
    if compared and isinstance(statistics, Apart):
        raise LeftOut("statistics of another layout")
    forward = {"Q": a["query"], "K": a["key"], "V": a["value"], "O": a["out"], "DO": dy}
    inputs = {**forward, "STATS": statistics, "BIAS": _mask(a)}
    outputs = dict(zip(("DQ", "DK", "DV"), out, strict=False))
    return [graph_of("sdpa_backward", inputs, outputs, attributes, numbers)]


def as_json(graph: OperationGraph) -> dict[str, Any]:
    """Return a graph as recordings hold it."""
    return as_data(Graph(), graph)
