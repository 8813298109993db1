"""The support surface of the graph engine `product`."""

from __future__ import annotations

from collections.abc import Iterator

from portadnn.errors import DnnError
from portadnn.graph.data_types import data_type
from portadnn.graph.engine import SupportRule
from portadnn.graph.errors import GraphError
from portadnn.graph.operation_graph import OperationGraph
from portadnn.graph.rules import fail

from ...base import DeviceInfo
from ..expand.region import expand
from ..values import STORAGE, register_of
from . import kernels as product
from .choice import chosen_for
from .texts import AFTER, PRODUCTS, SUMS, must_split, split_at_product

_FIX = "leave the graph to the engine 'regions', which computes the nodes around the product apart"


def _nodes(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    if split_at_product(graph) is None:
        products = [one for one in graph.operations if one.kind in PRODUCTS]
        wrong = [one for one in graph.operations if one.kind != "pointwise" and one not in products[:1]]
        wrong.sort(key=lambda one: one.kind in AFTER)
        yield fail(
            "PG-PRODUCT-001",
            node=(wrong or graph.operations)[0].label,
            argument="operations",
            expected=f"{' or '.join(PRODUCTS)}, pointwise nodes, and reduction or genstats after it",
            got=wrong[0].kind if wrong else "one node" if products else "no product",
            fix=_FIX,
        )


def _types(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    parts = split_at_product(graph)
    if parts is None:
        return
    first = parts.product
    kinds = {graph.by_uid[uid].data_type for _, uid in first.inputs}
    known = {kind for kind in STORAGE if register_of(kind) == "F" and kind is not data_type.BOOLEAN}
    texts = (product.After.of(parts.rest).graph, *parts.before.values())
    wide = any(expand(one).needs_doubles for one in texts)
    if not kinds <= known or first.compute_type is data_type.DOUBLE or wide:
        got = "numbers of 64 bits" if wide else ", ".join(sorted(map(str, kinds)))
        yield fail(
            "PG-PRODUCT-002",
            node=first.label,
            argument="types",
            expected="numbers of at most 16 bits or FLOAT, and no DOUBLE, INT32 or INT64 in between",
            got=got,
            fix=_FIX,
        )


def _shapes(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    parts = split_at_product(graph)
    if parts is None:
        return
    first = parts.product
    result = graph.by_uid[first.outputs[0][1]]
    gaps = not result.virtual and result.span != result.size
    places = (one for one in parts.rest.operations if one.kind not in SUMS)
    outputs = [graph.by_uid[uid] for operation in places for _, uid in operation.outputs]
    wrong = next((one for one in outputs if not one.virtual and one.dims != result.dims), result if gaps else None)
    ragged = next((one for one in graph.infos if one.ragged_offset is not None or one.size == 0), None)
    wrong = wrong or ragged
    if wrong is not None:
        yield fail(
            "PG-PRODUCT-003",
            node=first.label,
            tensor=wrong.describe(),
            expected=f"outputs of dims {list(result.dims)}, a product's result without gaps, nothing empty or ragged",
            got=list(wrong.dims),
            fix=_FIX,
        )


def _shared(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    parts = split_at_product(graph)
    if parts is not None and parts.shared is not None:
        yield fail(
            "PG-PRODUCT-005",
            node=parts.product.label,
            tensor=parts.shared.describe(),
            expected="tensors before the product that are virtual and that nothing after it reads",
            got="a virtual tensor that is read after it" if parts.shared.virtual else "an output",
            fix="leave the graph to the engine 'regions', which stores that tensor",
        )


def _sums(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    parts = split_at_product(graph)
    if parts is None:
        return
    nodes = [one for one in parts.rest.operations if one.kind in SUMS]
    made = {uid for one in nodes for _, uid in one.outputs}
    late = next((one for one in parts.rest.operations if any(uid in made for _, uid in one.inputs)), None)
    totals = product.totals_of(product.After.of(parts.rest)) if nodes and late is None else None
    gradient = parts.product.kind == "conv_wgrad"
    if late is not None or (totals is not None and (gradient or not totals.allowed())):
        yield fail(
            "PG-PRODUCT-006",
            node=(late or nodes[0]).label,
            expected="sums at the end, all over the same axes of the product's result, and not of a filter's gradient",
            got="a node after a sum" if late else "a filter's gradient" if gradient else "sums of other dims or axes",
            fix="leave the graph to the engine 'regions', which computes the sums apart",
        )


def _device(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    others = (_types, _shapes, _shared, _sums)
    if split_at_product(graph) is None or any(True for rule in others for _ in rule(graph, info)):
        return
    try:
        chosen_for(graph, info)
    except DnnError as error:
        yield fail(
            "PG-PRODUCT-004",
            node=must_split(graph).product.label,
            argument=info.name,
            expected="one convolution, by an engine that takes written text for its operands and its sums",
            got=str(error),
            fix=_FIX,
        )


RULES = (
    SupportRule(
        "PG-PRODUCT-001",
        "one node is a matmul or a convolution, the others are pointwise, or reduction and genstats",
        _nodes,
    ),
    SupportRule("PG-PRODUCT-002", "its numbers are FLOAT or of at most 16 bits, and so are all others", _types),
    SupportRule("PG-PRODUCT-003", "outputs have the dims of the product's result, which has no gaps", _shapes),
    SupportRule("PG-PRODUCT-004", "the product is one convolution by an engine that takes text", _device),
    SupportRule("PG-PRODUCT-005", "what comes before the product is virtual and needed by the product alone", _shared),
    SupportRule("PG-PRODUCT-006", "reduction and genstats come last, over the same axes of the result", _sums),
)
