"""What a kernel of a single node is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from portadnn.graph.operation_graph import Operation, OperationGraph, TensorInfo

Defines = dict[str, int | float | str]
FLOATS = ("FLOAT", "DOUBLE", "HALF", "BFLOAT16", "FP8_E4M3", "FP8_E5M2")


@dataclass(frozen=True)
class NodeKernel:
    """The kernel of a kind of node.

    Attributes
    ----------
    source, name : str
        File and kernel.
    ports : tuple of str
        In the order of the kernel's arguments; what a node lacks is left out.
    defines : callable
        What the kernel is told of a node, with the COUNT of its items where these are not the first result's elements.
    types : dict
        Names of the types that a port may have, where these are not floating-point ones.
    why_not : callable
        Returns what else a node has that the kernel does not take.
    """

    source: str
    name: str
    ports: tuple[str, ...]
    defines: Callable[[OperationGraph, Operation], Defines]
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    why_not: Callable[[OperationGraph, Operation], str | None] = lambda graph, operation: None


def tensor(letter: str, info: TensorInfo) -> Defines:
    """Return a tensor's type and strides."""
    return {f"{letter}_T": info.data_type.name, **{f"{letter}_{axis}": step for axis, step in enumerate(info.strides)}}
