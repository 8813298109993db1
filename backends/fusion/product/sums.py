"""Text for sums over a product's results, which its kernel takes as it stores them, and what joins their parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from portadnn.enums import DataType
from portadnn.graph.layout import order_of
from portadnn.problem import strides_in

from ...base import Arg, Device, DeviceInfo, Launch, TensorArg, WorkspaceArg
from ...engines.conv.sums import Parts, Sums
from .. import cpu
from .. import expressions as c
from ..body import INDENT, Written
from ..geometry import offset, space_after, space_of
from ..gpu.shape import NEIGHBOURS, WORK_GROUP, Shape
from ..gpu.together import Together
from ..launches import Stage
from ..prepare import BY_SIZE, widths
from ..values import Node, Program, Value
from ..words import Words
from ..writer import Writer


class Within(Stage):
    """What a product's kernel does: it leaves sums to a launch of their own."""

    @property
    def sums(self) -> bool:
        return False


class _Joined(Stage):
    """The launch that joins the parts of sums: it reads nothing else."""

    def cone(self, roots: Iterable[Value]) -> list[Value]:
        return [node.out for node in self.reductions]


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over a product's results, all over the same axes.

    Attributes
    ----------
    product : Value
        The product's result.
    nodes : tuple of Node
        What is summed, each over values of the product's dims.
    """

    product: Value
    nodes: tuple[Node, ...]

    @classmethod
    def of(cls, program: Program, product: Value) -> Totals | None:
        """Return those of a program that are its outputs; None where it has none."""
        nodes = tuple(node for node in program.nodes if node.reduces and node.out in program.outputs)
        return cls(product, nodes) if nodes else None

    @property
    def axes(self) -> tuple[int, ...]:
        """What the sums are over."""
        return self.nodes[0].axes

    @property
    def outputs(self) -> tuple[Value, ...]:
        """Their results."""
        return tuple(node.out for node in self.nodes)

    @property
    def results(self) -> int:
        """Results of each."""
        return self.nodes[0].out.size

    @property
    def walked(self) -> dict[int, tuple[int, bool]]:
        """The product's axes by their strides: their sizes, and whether they are summed over."""
        sizes = zip(self.product.strides, self.product.dims, strict=True)
        return {step: (size, axis in self.axes) for axis, (step, size) in enumerate(sizes) if size > 1}

    def allowed(self) -> bool:
        """Tell whether nothing follows them, and all are over the same axes of the product."""
        one = {(node.axes, node.out.dims) for node in self.nodes}
        whole = all(node.inputs[0].dims == self.product.dims and not node.samples for node in self.nodes)
        return len(one) == 1 and bool(self.axes) and whole

    # the launch that joins the parts

    @cached_property
    def _stage(self) -> Stage:
        stage = _Joined(self.product.dims, self.axes, list(self.nodes), list(self.outputs))
        stage.passes = dict.fromkeys(self.nodes, 1)
        stage.settle(set())
        return stage

    def joined(self, slices: int, info: DeviceInfo) -> Written:
        """Return the kernel that adds up so many parts of each result in order."""
        space = space_of(self._stage, NEIGHBOURS)
        if info.schedule == "cpu":
            each = cpu.Join(self._stage, space, slices)
            each.join("GRP(0)")
            return each.kernel("sums_join", (space.rows, 1, 1), 1)
        shape = Shape(NEIGHBOURS, WORK_GROUP // NEIGHBOURS, Words(1, space.kept[-1]), slices)
        last = Together(self._stage, space, shape)
        last.joined()
        groups = -(-space.rows // last.joining[1])
        local = [f"LOCAL {c.SCALARS['F']} shared_F[{WORK_GROUP}];"]
        return last.kernel("sums_join", (groups, 1, 1), WORK_GROUP, local)

    # text for the product's kernel

    def place(self) -> str:
        """Return C text of the result that place `item` of the product belongs to, as the other launch counts them."""
        like = self.outputs[0]
        laid = Value("result", like.dims, like.kind, None, strides_in(like.dims, order_of(like.dims, like.strides)))
        stage = Stage(self.product.dims, stores=[laid])
        stage.settle(set())
        stage.loads = [self.product]
        space = space_after(stage, self.product)
        return offset(space.kept, 1, "item") or "0"

    def functions(self, vectors: bool) -> Sequence[str]:
        """Return the functions that conv/sums.h asks for."""

        def chosen(texts: Sequence[str]) -> str:
            *others, last = texts
            return "".join(f"s == {i} ? {text} : " for i, text in enumerate(others)) + last

        neutral = chosen([c.splat(c.sum_of(node).neutral, "F") for node in self.nodes])
        two = chosen([c.joined(node, "a", "b") for node in self.nodes])
        across = chosen([f"ACROSS_{c.sum_of(node).join.upper()}_F(v)" for node in self.nodes])
        lines = [
            f"#define SUMS_RESULTS {self.results}",
            f"DEVICE F sums_neutral(const int s) {{ return {neutral}; }}",
            f"DEVICE F sums_two(const int s, const F a, const F b) {{ return {two}; }}",
            f"DEVICE idx_t sums_place(const idx_t item) {{ return {self.place()}; }}",
        ]
        return [*lines, f"DEVICE F sums_across(const int s, const F v) {{ return {across}; }}"] if vectors else lines


class Adding:
    """What writers of the text at places of the product's result do about sums, where there are some."""

    def __init__(self, writer: Writer, totals: Totals | None) -> None:
        self.writer, self.nodes = writer, totals.nodes if totals else ()
        writer.body.read |= {id(node.inputs[0]) for node in self.nodes}  # which is rounded before it is summed

    @property
    def parameter(self) -> str:
        """The parameter of the function at a place."""
        return ", F *sums" if self.nodes else ""

    def add(self, at: str, keep: bool) -> None:
        """Write what adds the terms of a place to the sums from `at` on; `keep`: of `count` lanes."""
        body, text = self.writer.body, self.writer.text
        body.state(text, body.row_values([node.inputs[0] for node in self.nodes]))
        for i, node in enumerate(self.nodes):
            term = c.term(node, body.operand(node.inputs[0], "F"))
            if keep:
                term = f"KEEP_F(count, {term}, {c.splat(c.sum_of(node).neutral, 'F')})"
            one = f"sums[{at}{i}]"
            text.add(f"{one} = {c.joined(node, one, term)};")

    def by_lanes(self, call: str) -> Sequence[str]:
        """Return what calls the function for lane j alone, whose sums are in that lane."""
        if not self.nodes:
            return (f"{INDENT}{INDENT}for (int j = 0; j < count; ++j) {call});",)
        two = [f"sums[{i}][j] = sums_two({i}, sums[{i}], (F)(one[{i}][0]))[j];" for i in range(len(self.nodes))]
        neutral = ", ".join(f"sums_neutral({i})" for i in range(len(self.nodes)))
        return (
            f"{INDENT}{INDENT}for (int j = 0; j < count; ++j) {{",
            f"{INDENT * 3}F one[] = {{{neutral}}};",
            f"{INDENT * 3}{call}, one);",
            *(f"{INDENT * 3}{line}" for line in two),
            f"{INDENT}{INDENT}}}",
        )


def join_launch(totals: Totals, sums: Sums, parts: Parts, tensors: int, device: Device) -> tuple[Written, Launch]:
    """Return the launch that joins the parts of a product's sums, and its text.

    Parameters
    ----------
    tensors
        Of the plan: the last of them are the sums' results, in order.
    """
    kernel = totals.joined(parts.slices, device.info)
    lanes = widths(device.info)[0] if device.info.schedule == "cpu" else 1
    compiled = device.compile("shared/fusion/fused.h", kernel.name, {"LANES": lanes}, kernel.text)
    outputs = totals.outputs
    first, pitch = tensors - len(outputs), 4 * sums.pitch(parts.slices)
    args: tuple[Arg, ...] = (
        *(TensorArg(first + outputs.index(one), 0, BY_SIZE[one.memory_type.itemsize]) for one in kernel.memory),
        *(WorkspaceArg(parts.offset + number * pitch, DataType.FLOAT) for number in range(len(kernel.scratch))),
    )
    return kernel, Launch(compiled, kernel.grid, kernel.block, args)
