"""Checks of graphs of cudnn_frontend: what MIOpen has for their nodes, and whether hipDNN takes them."""

from __future__ import annotations

from collections.abc import Iterator

from ...frontend.found import FoundNode
from ...frontend.judge import Judged, fusion, listed, main_node, without_call
from ..registry import graph_check
from ..situation import GraphHit


def _on_hipdnn(judged: Judged) -> str:
    """Return what hipDNN says to a graph, as the end of a sentence."""
    verdict = judged.hipdnn
    if verdict.answer == "yes":
        return "hipDNN takes the graph" + ("" if verdict.certainty == "proven" else ", if its sizes fit")
    if verdict.answer == "no":
        may = "do not take" if verdict.certainty == "proven" else "do not always take"
        return f"hipDNN's providers {may} the graph: {verdict.reason}"
    return "whether hipDNN takes the graph is not known" + (f": {verdict.reason}" if verdict.reason else "")


def _name(node: FoundNode) -> str:
    return f"cudnn_frontend::{node.method.name}"


@graph_check("nodes", "hipdnn", "instead")
def no_call_in_miopen(judged: Judged) -> Iterator[GraphHit]:
    """Find graphs with nodes for which MIOpen has no call."""
    nodes = without_call(judged.graph)
    if nodes:
        notes = dict.fromkeys(f"// {node.said}: {node.method.note}" for node in nodes)
        words = {"nodes": listed(nodes), "hipdnn": _on_hipdnn(judged), "instead": "\n".join(notes)}
        yield GraphHit(main_node(nodes).place, words=words, function=_name(main_node(nodes)))


@graph_check("nodes", "hipdnn", "instead")
def calls_of_miopen(judged: Judged) -> Iterator[GraphHit]:
    """Find graphs that are calls of MIOpen, one for each node, or a fusion plan."""
    nodes = judged.graph.nodes
    if judged.graph.backend or without_call(judged.graph):
        return
    operators = fusion(judged.graph)
    if operators:
        lines = ["miopenCreateFusionPlan(&plan, miopenVerticalFusion, xDesc);"]
        lines += [f"{operator}(plan, ...);" for operator in operators]
        lines += ["miopenCompileFusionPlan(handle, plan);  // where it fails: the plain calls, one after another"]
    else:
        lines = list(dict.fromkeys(_line(node) for node in nodes))
    words = {"nodes": listed(nodes), "hipdnn": _on_hipdnn(judged), "instead": "\n".join(lines)}
    main = main_node(nodes)
    yield GraphHit(main.place, words=words, function=_name(main))


def _line(node: FoundNode) -> str:
    call = node.method.call(node.mode)
    if call == "?":
        return f"// {node.said}: which call it is depends on the mode"
    if not call:
        return f"// {node.said}: {node.method.note}"
    return f"{call}(...);" + (f"  // {node.method.note}" if node.method.note and not node.method.modes else "")


@graph_check("nodes", "reason", "instead")
def refused_by_hipdnn(judged: Judged) -> Iterator[GraphHit]:
    """Find graphs that hipDNN's providers do not take."""
    if judged.hipdnn.answer == "no":
        yield _hit(judged)


@graph_check("nodes", "reason", "instead")
def unknown_to_hipdnn(judged: Judged) -> Iterator[GraphHit]:
    """Find graphs of which no source says whether hipDNN's providers take them."""
    if judged.hipdnn.answer == "unknown":
        yield _hit(judged)


def _hit(judged: Judged) -> GraphHit:
    nodes, verdict = judged.graph.nodes, judged.hipdnn
    lines = dict.fromkeys(_line(node) for node in nodes)
    reason = verdict.reason or "sizes and types are not known"
    words = {"nodes": listed(nodes), "reason": reason, "instead": "\n".join(lines)}
    main = main_node(nodes)
    return GraphHit(main.place, verdict.certainty, words, _name(main))


@graph_check("method", "does")
def scale_of_no_value(judged: Judged) -> Iterator[GraphHit]:
    """Find attention whose scale is a tensor that gets its number when the graph runs."""
    for node in judged.graph.nodes:
        (scale,) = node.settings.get("attn_scale", ())[:1] or (None,)
        tensor = judged.graph.tensors.get(str(scale.data)) if scale is not None else None
        if tensor is not None and tensor.settings and "value" not in tensor.settings:
            words = {
                "method": "set_attn_scale",
                "does": "takes no tensor without a value: it has to be known when the graph is built",
            }
            yield GraphHit(node.places.get("attn_scale", node.place), words=words, function=_name(node))


@graph_check("nodes", "instead")
def older_builders(judged: Judged) -> Iterator[GraphHit]:
    """Find graphs of cudnn_frontend's older builders."""
    if judged.graph.older and not judged.graph.backend:
        nodes = judged.graph.nodes
        calls = dict.fromkeys(f"graph.{node.method.name}({', '.join(node.inputs)}, attributes);" for node in nodes)
        words = {"nodes": listed(nodes), "instead": "\n".join(calls)}
        main = main_node(nodes)
        yield GraphHit(main.place, words=words, function=_name(main))
