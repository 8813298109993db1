"""The order in which nodes can run, and the cycles that allow none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .node import Node
from .rules import fail
from .tensor import tensor


def identity(one: tensor) -> Any:
    """Return what tells a tensor from others: its uid where it has one, else itself."""
    return one.get_uid() if one.has_uid() else id(one)


def dependencies(nodes: Sequence[Node]) -> dict[int, list[int]]:
    """Return, for the number of each node, the numbers of the nodes that it needs; itself where it works in place."""
    producers = {identity(out): number for number, node in enumerate(nodes) for out in node.outputs.values()}
    return {
        number: sorted({producers[key] for key in map(identity, node.inputs.values()) if key in producers})
        for number, node in enumerate(nodes)
    }


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """Return nodes so that each comes after those whose results it needs, and otherwise as they were added.

    Raises
    ------
    InvalidValue
        Nodes need each other (PG-GRAPH-004).
    """
    needed = dependencies(nodes)
    done: dict[int, bool] = {}  # False while its needs are being placed
    placed: list[Node] = []
    for start in range(len(nodes)):
        stack = [(start, iter(needed[start]))] if start not in done else []
        done.setdefault(start, False)
        while stack:
            number, rest = stack[-1]
            for need in rest:
                if need == number:
                    continue  # in place, which is for other rules
                if need not in done:
                    done[need] = False
                    stack.append((need, iter(needed[need])))
                    break
                if not done[need]:
                    raise _cycle(nodes, [step for step, _ in stack], need)
            else:
                done[number] = True
                placed.append(nodes[number])
                stack.pop()
    return placed


def _cycle(nodes: Sequence[Node], path: list[int], again: int) -> Exception:
    ring = [nodes[number].label for number in reversed(path[path.index(again) :])]
    return fail(
        "PG-GRAPH-004",
        node=nodes[again].label,
        expected="nodes that can run one after another",
        got=" -> ".join([*ring, ring[0]]),
        fix="let one of them read another tensor",
    )
