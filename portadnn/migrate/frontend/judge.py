"""Who takes the graphs that were found: each library's answer, and which of its rules stand in the way."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..findings import Certainty
from .describe import Described, choices, describe
from .found import FoundGraph, FoundNode

Answer = Literal["yes", "no", "unknown"]
# Checks of portadnn.graph.other_libraries that look at sizes: where those are stand-ins, nothing follows.
_OF_SIZES = {"layouts", "one_layout", "innermost", "alignment", "rank", "size", "shape", "a_vector", "groups"}
_OF_SIZES |= {"broadcast_second"}
_MOST = 8  # of graphs of the same calls


@dataclass(frozen=True)
class Verdict:
    """What a library says to a graph: its answer, how certain that is, and why it does not take it."""

    answer: Answer
    certainty: Certainty
    reason: str = ""


@dataclass(frozen=True)
class Judged:
    """A graph, and what hipDNN says to it."""

    graph: FoundGraph
    hipdnn: Verdict


def judged(graphs: Iterable[FoundGraph]) -> list[Judged]:
    """Judge graphs, those of the same calls and with the same answer once."""
    found: dict[object, Judged] = {}
    times: Counter[object] = Counter()
    for graph in graphs:
        times[graph.key] += 1
        if times[graph.key] <= _MOST:
            said = verdict(graph, "hipdnn")
            found.setdefault((graph.key, said), Judged(graph, said))
    return list(found.values())


def verdict(found: FoundGraph, library: str) -> Verdict:
    """Ask a library (``"hipdnn"``, ``"miopen-3"``, ``"cudnn-9"``), for all values that the source leaves open."""
    if not found.whole:
        return Verdict("unknown", "possible", "which nodes are in one graph is not known")
    forms = [*((choice, False) for choice in range(choices(found))), (0, True)]
    said = [_answer(found, choice, least, library) for choice, least in forms]
    answers = {one.answer for one in said}
    refused = next((one for one in said if one.answer == "no"), None)
    if refused is not None:
        return Verdict("no", "proven" if answers == {"no"} else "possible", refused.reason)
    unclear = next((one for one in said if one.answer == "unknown"), None)
    guessed = next((one for one in said if one.certainty == "possible"), None)
    return unclear or guessed or said[0]


def _answer(found: FoundGraph, choice: int, least: bool, library: str) -> Verdict:
    try:
        return _asked(describe(found, choice, least=least), library)
    except Exception as error:  # the rest of the tree is to be judged in any case
        return Verdict("unknown", "possible", f"it was not described: {type(error).__name__}")


def _asked(described: Described | None, library: str) -> Verdict:
    from ...graph.other_libraries import judge
    from ...graph.other_libraries import library as of_name

    if described is None:
        return Verdict("unknown", "possible", "portadnn.graph has no such node")
    judged = judge(described.graph, library)
    if judged.answer == "yes":
        return Verdict("yes", "possible" if described.guessed or not described.valid else "proven")
    checks = {rule.id: rule.check for rule in of_name(library).rules}
    sure: list[str] = []
    unsure: list[str] = []
    for broken in judged.broken:
        of_sizes = checks.get(broken.rule) in _OF_SIZES and (
            not described.valid or broken.tensor is None or any(name in broken.tensor for name in described.guessed)
        )
        unset = "NOT_SET" in broken.got
        text = f"where they do, {broken.says} (expected {broken.expected}, got {broken.got})"
        if broken.rule == "form":
            text = f"none has the form {broken.got}"
        elif broken.answer == "unknown":
            text = f"{broken.says} (expected {broken.expected}, got {broken.got})"
        (unsure if broken.answer == "unknown" or of_sizes or unset else sure).append(text)
    if sure:
        return Verdict("no", "proven", sure[0])
    return Verdict("unknown", "possible", unsure[0] if unsure else "")


def without_call(found: FoundGraph) -> list[FoundNode]:
    """Return the nodes for which MIOpen has no call."""
    return [node for node in found.nodes if not node.method.call(node.mode)]


def fusion(found: FoundGraph) -> list[str]:
    """Return the operators of MIOpen's Fusion API for a convolution with bias and activation; empty for others."""
    nodes = found.nodes
    if not nodes or nodes[0].method.name != "conv_fprop" or not 2 <= len(nodes) <= 3:
        return []
    operators = ["miopenCreateOpConvForward"]
    for before, node in itertools.pairwise(nodes):
        if node.method.kind != "pointwise" or before.outputs.get("Y", before.outputs.get("OUT_0")) not in (
            node.inputs.values()
        ):
            return []
        if node.mode == "ADD" and len(operators) == 1:
            operators.append("miopenCreateOpBiasForward")
        elif node.method.call(node.mode) == "miopenActivationForward":
            operators.append("miopenCreateOpActivationForward")
        else:
            return []
    return operators


def main_node(nodes: Sequence[FoundNode]) -> FoundNode:
    """Return the node that a graph is about: the first that is not pointwise."""
    return next((node for node in nodes if node.method.kind != "pointwise"), nodes[0])


def listed(nodes: Iterable[FoundNode]) -> str:
    """Return nodes in words, each once."""
    return ", ".join(dict.fromkeys(node.said for node in nodes))
