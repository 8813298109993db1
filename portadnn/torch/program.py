"""A model's code as steps: what portadnn computes in one go, and what PyTorch computes between.

Everything here is plain data by the names of modules, so that copies of a model share it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import fx, nn

from .chains import NO_ACTIVATION, links, named_modules
from .layers import why_not

_POOLS = (nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool2d, nn.AvgPool3d)
_ADAPTIVE = (nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d)
_LEAST = 2  # convolutions from which a segment pays


@dataclass(frozen=True)
class Value:
    """The result of a node, by the node's number."""

    index: int


@dataclass(frozen=True)
class Fused:
    """A convolution, its norm, what is added to it and its activation, by the names of the modules."""

    conv: str
    norm: str | None
    activation: tuple[str, float]
    x: int
    z: int | None
    out: int


@dataclass(frozen=True)
class Pooled:
    """A layer of pooling."""

    module: str
    x: int
    out: int


@dataclass(frozen=True)
class Foreign:
    """A node that runs as it was traced."""

    op: str
    target: Any
    args: Any
    kwargs: Any
    reads: frozenset[int]
    out: int


@dataclass(frozen=True)
class Segment:
    """Steps that portadnn computes one after another; values by their numbers.

    Attributes
    ----------
    nodes : tuple of Foreign
        The same as it was traced.
    inputs, outputs : tuple of int
        What it reads from outside, and what others read.
    """

    steps: tuple[Fused | Pooled, ...]
    nodes: tuple[Foreign, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """A model's code.

    Attributes
    ----------
    inputs : int
        Positional arguments, the first values.
    parts : tuple
        Segments and foreign nodes, each with the values that nobody reads afterwards.
    result
        The structure that is returned, with Values in it.
    """

    inputs: int
    parts: tuple[tuple[Segment | Foreign, tuple[int, ...]], ...]
    result: Any


def program(model: nn.Module, graph: fx.Graph) -> Program | None:
    """Return a traced model's program; None where no part of it is worth one, or where tracing computed tensors."""
    nodes = [node for node in graph.nodes if node.op != "output"]
    number = {node: i for i, node in enumerate(nodes)}
    count = sum(node.op == "placeholder" for node in nodes)
    if any(node.op == "placeholder" for node in nodes[count:]) or any(node.args for node in nodes[:count]):
        return None  # arguments with defaults
    if any(node.op == "get_attr" and str(node.target).startswith("_tensor_constant") for node in nodes):
        return None  # PyTorch computed it while it traced: it may be random
    end = next(node for node in graph.nodes if node.op == "output")
    read = {number[node] for node in end.all_input_nodes}
    made: list[tuple[Segment | Foreign, tuple[int, ...]]] = []
    for run in reversed(_runs(nodes[count:], _steps(model, nodes[count:], number), number)):
        part = run if isinstance(run, Foreign) else _segment(*run, read)
        reads = set(part.reads if isinstance(part, Foreign) else part.inputs)
        made.append((part, tuple(sorted(reads - read))))
        read |= reads
    if not any(isinstance(part, Segment) for part, _ in made):
        return None
    return Program(count, tuple(reversed(made)), fx.node.map_arg(end.args[0], lambda node: Value(number[node])))


def _steps(
    model: nn.Module, nodes: Sequence[fx.Node], number: dict[fx.Node, int]
) -> dict[fx.Node, Fused | Pooled | None]:
    """Return the step that ends at a node; None for the other nodes of a chain."""
    named = named_modules(model)
    nodes_of: dict[fx.Node, list[fx.Node]] = {}
    taken: set[fx.Node] = set()
    pools = {node for node in nodes if node.op == "call_module" and _pools(named[str(node.target)]) and _alone(node)}
    for node in nodes:
        found = links(node, named, functions=True)
        if found is not None:
            nodes_of[node] = _until(found.nodes, taken)
            taken.update(nodes_of[node])
    while True:  # a chain ends where a foreign node lies between its nodes
        mine = pools.union(*nodes_of.values())
        foreign = {node for node in nodes if node not in mine}
        cut = {first: _before(chain, nodes, foreign) for first, chain in nodes_of.items()}
        if cut == nodes_of:
            break
        nodes_of = cut
    steps: dict[fx.Node, Fused | Pooled | None] = {
        node: Pooled(str(node.target), number[_node(node.args[0])], number[node]) for node in pools
    }
    for first, chain in nodes_of.items():
        steps.update(dict.fromkeys(chain))
        found = links(first, named, functions=True)
        assert found is not None
        norm = str(found.norm.target) if found.norm in chain and found.norm is not None else None
        added = found.nodes.index(found.added_at) < len(chain) if found.added_at is not None else False
        z = number[found.added] if added and found.added is not None else None
        activation = found.activation if len(chain) == len(found.nodes) else NO_ACTIVATION
        steps[chain[-1]] = Fused(
            str(first.target), norm, activation, number[_node(first.args[0])], z, number[chain[-1]]
        )
    return steps


def _pools(module: Any) -> bool:
    """Tell whether a module pools in one call."""
    if type(module) in _ADAPTIVE:
        return module.output_size in (1, (1, 1), (1, 1, 1))  # others take a call for each output
    return type(module) in _POOLS and why_not(module) is None and not module.ceil_mode


def _until(chain: list[fx.Node], taken: set[fx.Node]) -> list[fx.Node]:
    """Return a chain's nodes before the first that another one has."""
    return list(itertools.takewhile(lambda node: node not in taken, chain))


def _before(chain: list[fx.Node], nodes: Sequence[fx.Node], foreign: set[fx.Node]) -> list[fx.Node]:
    """Return a chain's nodes before the first foreign one behind its beginning."""
    start, kept = nodes.index(chain[0]), set(chain)
    between = itertools.takewhile(lambda node: node not in foreign, nodes[start:])
    return [node for node in between if node in kept]


def _node(found: Any) -> fx.Node:
    assert isinstance(found, fx.Node)
    return found


def _alone(node: fx.Node) -> bool:
    return len(node.args) == 1 and isinstance(node.args[0], fx.Node) and not node.kwargs


_Run = tuple[list[Fused | Pooled], list[Foreign]]


def _runs(
    nodes: Sequence[fx.Node], steps: dict[fx.Node, Fused | Pooled | None], number: dict[fx.Node, int]
) -> list[_Run | Foreign]:
    """Return runs of steps that are worth it, with their nodes, and other nodes, in their order."""
    runs: list[_Run | Foreign] = []
    for mine, some in itertools.groupby(nodes, lambda node: node in steps):
        group = list(some)
        traced = [_foreign(node, number) for node in group]
        found = [step for step in (steps[node] for node in group) if step is not None] if mine else []
        if sum(isinstance(step, Fused) for step in found) >= _LEAST:
            runs.append((found, traced))
        else:
            runs.extend(traced)
    return runs


def _foreign(node: fx.Node, number: dict[fx.Node, int]) -> Foreign:
    args, kwargs = fx.node.map_arg((node.args, node.kwargs), lambda one: Value(number[one]))
    reads = frozenset(number[one] for one in node.all_input_nodes)
    return Foreign(node.op, node.target, args, kwargs, reads, number[node])


def _segment(steps: list[Fused | Pooled], nodes: list[Foreign], read_later: set[int]) -> Segment:
    made = {step.out for step in steps}
    read = {step.x for step in steps} | {step.z for step in steps if isinstance(step, Fused) and step.z is not None}
    outputs = tuple(step.out for step in steps if step.out in read_later)
    return Segment(tuple(steps), tuple(nodes), tuple(sorted(read - made)), outputs)
