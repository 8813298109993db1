"""A product with the nodes around it: the convolution that multiplies, and the text that its kernels are given."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

from portadnn.enums import DataType
from portadnn.errors import NotSupported
from portadnn.graph.data_types import data_type
from portadnn.graph.lowering import lower
from portadnn.graph.lowering.steps import View
from portadnn.graph.operation_graph import OperationGraph
from portadnn.ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.problem import Problem

from ...engines.conv.sums import Sums, sums_over
from ..before import Split, split, write
from ..prepare import BY_SIZE
from ..values import Value
from . import kernels
from .byte_pairs import as_pairs, with_float_sums
from .sums import Totals

PRODUCTS = ("conv_dgrad", "conv_fprop", "conv_wgrad", "matmul")
SUMS = ("genstats", "reduction")
AFTER = ("pointwise", *SUMS)
OPERANDS = ("image", "filter")
KINDS = (ConvolutionForward, ConvolutionBackwardData, ConvolutionBackwardFilter)


@functools.lru_cache(maxsize=256)
def split_at_product(graph: OperationGraph) -> Split | None:
    """Return the graph cut at its product; None where it has not just one, pointwise nodes around and sums after it."""
    parts = split(with_float_sums(graph), PRODUCTS)
    if parts is None or not parts.nodes:
        return None
    before = (node for one in parts.before.values() for node in one.operations)
    fits = all(one.kind == "pointwise" for one in before)
    return parts if fits and all(one.kind in AFTER for one in parts.rest.operations[1:]) else None


def must_split(graph: OperationGraph) -> Split:
    """Return the graph cut at its product, which it is known to have."""
    parts = split_at_product(graph)
    assert parts is not None
    return parts


def operand_of(problem: Problem, name: str) -> str:
    """Return what prologue.h calls the input `name` of a convolution: "filter" for the rows of the product."""
    rows = "dy" if isinstance(problem, ConvolutionBackwardFilter) else "w"
    return "filter" if name == rows else "image"


@dataclass(frozen=True)
class Operand:
    """An operand that a kernel computes as it reads it.

    Attributes
    ----------
    nodes : int
        The pointwise nodes that it computes.
    """

    text: kernels.Text
    nodes: int

    @property
    def storage(self) -> tuple[DataType, ...]:
        """Types as wide as the elements of the text's tensors."""
        return storage(self.text)


@dataclass(frozen=True)
class Fused:
    """The convolution of a graph, and the texts of what is around it.

    Attributes
    ----------
    plain : Convolution
        The convolution alone.
    views : tuple of View or None
        Its operands; None for those that are computed.
    after : Text
        What follows.
    before : dict of str to Operand
        The operands that are computed, in the order of `OPERANDS`.
    sums : Sums or None
        How the kernel takes sums of the results as they are stored.
    """

    plain: Convolution
    views: tuple[View | None, ...]
    after: kernels.Text
    before: dict[str, Operand]
    sums: Sums | None

    @property
    def texts(self) -> tuple[kernels.Text, ...]:
        """All texts in the order in which kernels take their tensors and numbers."""
        return (self.after, *(one.text for one in self.before.values()))

    @property
    def totals(self) -> Totals | None:
        """The sums over the product's results."""
        return self.after.totals

    @property
    def memory(self) -> list[Value]:
        """The tensors of all texts, and the results of sums."""
        own = [value for text in self.texts for value in text.memory]
        return [*own, *(self.totals.outputs if self.totals else ())]

    @property
    def numbers(self) -> list[Value]:
        """The numbers of all texts."""
        return [value for text in self.texts for value in text.numbers]

    @property
    def source(self) -> str:
        """What conv/epilogue.h and conv/prologue.h ask for."""
        return "\n".join(text.text for text in (*self.texts[1:], self.after))


@functools.lru_cache(maxsize=256)
def fused(graph: OperationGraph, vectors: bool, pairs: bool = False) -> Fused:
    """Return the convolution of a graph that its nodes, types and shapes allow, with texts for vectors or for numbers.

    With `pairs` it is one of bytes, pairs of which are elements (:mod:`.byte_pairs`).

    Raises
    ------
    NotSupported
        The product is no single convolution, or the texts cannot be.
    """
    parts = must_split(graph)
    single, first = parts.alone, parts.product
    if pairs:
        single, first = as_pairs(single), replace(first, compute_type=data_type.FLOAT)
    after = kernels.After.of(parts.rest)
    y = replace(after.result, data_type=single.by_uid[first.inputs[0][1]].data_type)
    low = lower(replace(single, infos=tuple(y if one.uid == y.uid else one for one in single.infos)), first)
    if len(low.problems) != 1 or low.temporaries or low.problems[0].kind not in KINDS:
        raise NotSupported(f"{first.label} takes {len(low.problems)} steps")
    (step,) = low.problems
    views = [view for view in step.tensors if view is not None]
    plain = step.kind.of([view.spec for view in views], step.params)
    assert isinstance(plain, Convolution)
    text = kernels.write(after, first.label, vectors)
    made = {} if pairs else {first.uids[port]: part for port, part in parts.before.items()}
    names = {operand_of(plain, name): view for name, view in zip(plain.inputs, views, strict=False)}
    before = {}
    for operand in OPERANDS:
        uid = names[operand].memory if made else None
        if uid in made:
            before[operand] = Operand(write(made[uid], uid, operand, vectors), len(made[uid].operations))
    found = Fused(
        plain,
        tuple(None if view.memory in made else view for view in views[:2]),
        text,
        before,
        _sums(text.totals, plain),
    )
    if any(one.wide for one in found.texts):
        raise NotSupported("a tensor has more than 2 Gi elements")
    if any(names[operand].offset for operand in before):
        raise NotSupported("a computed operand is read from its middle on")
    return found


def _sums(totals: Totals | None, problem: Convolution) -> Sums | None:
    """Return how the kernel takes sums."""
    if totals is None:
        return None
    over = sums_over(problem, totals.walked)
    if over is None:
        raise NotSupported("sums are over neither all columns nor all rows of the product")
    return Sums(len(totals.nodes), totals.results, *over)


def storage(text: kernels.Text) -> tuple[DataType, ...]:
    """Return types as wide as the elements of a text's tensors."""
    return tuple(BY_SIZE[value.memory_type.itemsize] for value in text.memory)
