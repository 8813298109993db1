"""What becomes of a node of a graph on each target."""

from __future__ import annotations

from ..findings import Answer
from .found import FoundNode
from .judge import Verdict


def answer_of_node(node: FoundNode, hipdnn: Verdict, target: str) -> tuple[Answer | None, str, str]:
    """Return what becomes of a node, as ``findings.ANSWERS`` has it; the call that it becomes, and a note."""
    if target.startswith("miopen"):
        call = node.method.call(node.mode)
        if call == "?":
            return "recipe", "", "which call it is depends on the mode"
        return ("recipe", f"{call}(...)", node.method.note if not node.method.modes else "") if call else (
            "none", "", node.method.note)  # fmt: skip
    if target == "hipdnn":
        if hipdnn.answer == "unknown":
            return None, "", hipdnn.reason
        return ("same" if hipdnn.answer == "yes" else "none"), "", hipdnn.reason
    if target == "cudnn-9":
        return "same", "", ""
    return "recipe", f"graph.{node.method.kind}(...)", "portadnn.graph has the nodes in Python"
