"""Text for what comes before a matrix product or a convolution: pointwise nodes, where its kernel reads an operand.

The operand never reaches memory: the kernel hands the text a place in it as if it lay there without gaps (prologue.h),
and gets the number at that place, or LANES neighbours from there on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from portadnn.graph.data_types import data_type
from portadnn.graph.enums import pointwise_mode
from portadnn.graph.layout import order_of
from portadnn.graph.operation_graph import Operation, OperationGraph, TensorInfo
from portadnn.problem import strides_in

from . import cpu
from . import expressions as c
from .body import INDENT
from .expand.region import expand
from .geometry import Place, Space, space_after
from .gpu.apart import loaded
from .launches import Stage
from .product.kernels import Text
from .values import STORAGE, Node, Value
from .words import BYTES, words_of
from .writer import Writer, added, without_unused

MOST_RUN = 8  # neighbours that a kernel asks for at once
PLAIN = (data_type.FLOAT, data_type.HALF, data_type.BFLOAT16)  # types that kernels multiply


@dataclass(frozen=True)
class Split:
    """A graph with one product, cut at that.

    Attributes
    ----------
    before : dict of str to OperationGraph
        By the product's port, the nodes that compute an operand, which is their one output; none where it is only
        converted.
    rest : OperationGraph
        The product, and the nodes after it.
    alone : OperationGraph
        The product, its operands of one type. Computed ones are tensors in memory, without gaps, in the order of the
        axes of the largest tensor that they are computed from.
    shared : TensorInfo or None
        A tensor of the nodes before that is needed elsewhere as well.
    """

    before: dict[str, OperationGraph]
    rest: OperationGraph
    alone: OperationGraph
    shared: TensorInfo | None

    @property
    def product(self) -> Operation:
        """The product."""
        return self.rest.operations[0]

    @property
    def nodes(self) -> tuple[Operation, ...]:
        """All nodes but the product."""
        return (*(node for graph in self.before.values() for node in graph.operations), *self.rest.operations[1:])


def split(graph: OperationGraph, kinds: Sequence[str]) -> Split | None:
    """Cut a graph at its product, which is of one of the kinds; None where there is not exactly one."""
    products = [operation for operation in graph.operations if operation.kind in kinds]
    if len(products) != 1:
        return None
    (product,) = products
    before = {port: _ancestors(graph, uid) for port, uid in product.inputs}
    early = {id(node) for nodes in before.values() for node in nodes}
    after = [one for one in graph.operations if one is not product and id(one) not in early]
    shared = _shared(graph, [one for one in graph.operations if id(one) in early], [product, *after], product)
    kind = _common([graph.by_uid[uid].data_type for _, uid in product.inputs])
    parts, operands = {}, {}
    for port, uid in product.inputs:
        info = graph.by_uid[uid]
        if before[port] or (info.data_type is not kind and not info.by_value):
            laid = _laid(graph, info, before[port])
            parts[port] = _part(graph, before[port], {uid: laid} if before[port] else {}, {uid})
            operands[uid] = replace(laid, data_type=kind)
    return Split(parts, _part(graph, [product, *after], {}), _part(graph, [product], operands), shared)


def _common(kinds: Sequence[data_type]) -> data_type:
    """Return the type of operands that a kernel multiplies: their own, if it is one that kernels have, else FLOAT."""
    return kinds[0] if len(set(kinds)) == 1 and kinds[0] in PLAIN else data_type.FLOAT


def _ancestors(graph: OperationGraph, uid: int) -> list[Operation]:
    """Return the nodes that a tensor is computed by, in order."""
    wanted, found = {uid}, []
    for operation in reversed(graph.operations):
        if any(one in wanted for _, one in operation.outputs):
            wanted |= {one for _, one in operation.inputs}
            found.append(operation)
    return found[::-1]


def _shared(
    graph: OperationGraph, early: Sequence[Operation], late: Sequence[Operation], product: Operation
) -> TensorInfo | None:
    made = {uid for node in early for _, uid in node.outputs}
    used = {uid for node in late if node is not product for _, uid in node.inputs}
    return next((graph.by_uid[uid] for uid in sorted(made) if uid in used or not graph.by_uid[uid].virtual), None)


def _laid(graph: OperationGraph, operand: TensorInfo, nodes: Sequence[Operation]) -> TensorInfo:
    """Return the operand as if it lay in memory."""
    made = {uid for node in nodes for _, uid in node.outputs}
    read = {uid: graph.by_uid[uid] for node in nodes for _, uid in node.inputs if uid not in made}
    like = next((info for info in read.values() if info.dims == operand.dims), operand)
    return replace(operand, strides=strides_in(operand.dims, order_of(like.dims, like.strides)), virtual=False)


def _part(
    graph: OperationGraph, nodes: Sequence[Operation], changed: dict[int, TensorInfo], more: Collection[int] = ()
) -> OperationGraph:
    used = {*more, *(uid for node in nodes for uid in node.uids.values())}
    tensors = tuple(changed.get(info.uid, info) for info in graph.infos if info.uid in used)
    return OperationGraph(graph.name, tuple(nodes), tensors)


class _Writer(Writer):
    """The function for an operand's number at a place, or a vector of `count` neighbours, "" being for numbers."""

    def __init__(self, stage: Stage, space: Space, count: str) -> None:
        super().__init__(stage, space, 1)
        self.count = count

    def load(self, place: Place) -> str:
        where = self.base[place.number]
        if not self.count:
            return loaded(place, where)
        return cpu.loaded(place, where, self.space.kept[-1].strides[place.number], self.count)

    def store(self, place: Place, name: str) -> None:
        self.text.add(f"return {c.rounded(name, place.value.register, place.value.kind)};")

    def function(self, name: str) -> Sequence[str]:
        """Return the text of the function."""
        self.base = self.offsets("b", self.space.kept, "item", {})
        self.store_rows()
        count = "" if self.count == "LANES" else ", const int count"
        head = f"DEVICE F {name}(const idx_t item{count}{self.parameters()[0]}) {{"
        return [head, *without_unused([*self.text.lines, "}"])]

    def title(self, name: str) -> Sequence[str]:
        """Return the comment above the text."""
        return [line for line in self.heading(name) if not line.startswith("//   writes")]

    def parameters(self) -> tuple[str, str]:
        """Return a function's parameters for tensors and numbers, and what passes them on."""
        tensors, numbers = self.body.tensors(), self.body.scalars()
        pointers = [f", GLOBAL {kind} *{one}" for kind, one in tensors]
        taken = "".join([*pointers, *(f", {kind} {one}" for kind, one in numbers)])
        return taken, "".join(f", {one}" for _, one in (*tensors, *numbers))

    def by_rows(self, name: str) -> Sequence[str]:
        """Return the function for vectors that may reach over the end of the innermost axis."""
        size, (taken, passed) = self.space.kept[-1].size, self.parameters()
        return (
            f"DEVICE F {name}(const idx_t item, const int count{taken}) {{",
            f"{INDENT}const int left = {size} - (int)(item % {size});",
            f"{INDENT}if (count == LANES && left >= LANES) return {name}_whole(item{passed});",
            f"{INDENT}if (left >= count) return {name}_in_row(item, count{passed});",
            f"{INDENT}F v = (F)(0.0f);",
            f"{INDENT}for (int j = 0; j < count; ++j)",
            f"{INDENT}{INDENT}if (item + j < {self.space.rows}) v[j] = {name}_in_row(item + j, 1{passed})[0];",
            f"{INDENT}return v;",
            "}",
        )


def _functions(stage: Stage, space: Space, operand: str, vectors: bool) -> tuple[_Writer, list[str]]:
    """Return a function's writer and the text."""
    name = f"prologue_{operand}"
    first = _Writer(stage, space, "count" if vectors else "")
    lines = [*first.function(f"{name}_in_row" if vectors else name)]
    if vectors:
        lines += [*_Writer(stage, space, "LANES").function(f"{name}_whole"), *first.by_rows(name)]
    macros = _macros(operand, first.body.tensors(), first.body.scalars())
    return first, [*first.title(name), *lines, *macros]


class _RunWriter(_Writer):
    """The function for PROLOGUE_RUN neighbours, whose memory GPUs read in whole words where it is aligned."""

    def __init__(self, stage: Stage, space: Space) -> None:
        super().__init__(stage, space, "")
        self.words = words_of(space.places, space.kept[-1], space.kept[:-1], MOST_RUN, each=2)
        self.loads = [place for place in space.places if place.memory and place.number in self.words.whole]

    def load(self, place: Place) -> str:
        where = added(self.base[place.number], self.words.step(place))
        return loaded(place, where, f"x{place.number}.e[j]" if place in self.loads else None)

    def store(self, place: Place, name: str) -> None:
        self.text.add(f"made[j] = {c.rounded(name, place.value.register, place.value.kind)};")

    def written(self, operand: str) -> str:
        """Return the text; none where neighbours are no words."""
        text, space = self.text, self.space
        if self.words.count == 1 or not self.loads:
            return ""
        self.base = self.offsets("b", space.kept, "item", {})
        for place in self.loads:
            text.add(f"{STORAGE[place.value.memory_type]}_lot x{place.number};")
        pointers = " | ".join(f"(u64)p{place.number}" for place in self.loads)
        text.add(f"const bool wide = item % PROLOGUE_RUN == 0 && (({pointers}) & {BYTES - 1}) == 0;")
        for place in self.loads:
            kind, where = STORAGE[place.value.memory_type], added(f"p{place.number}", self.base[place.number])
            text.add(f"if (wide) x{place.number} = *(const GLOBAL {kind}_lot *)({where});")
            text.add("else")
            each = f"x{place.number}.e[j] = ({where})[j];"
            text.add(f"{INDENT}UNROLL for (int j = 0; j < PROLOGUE_RUN; ++j) {each}")
        text.open("UNROLL for (int j = 0; j < PROLOGUE_RUN; ++j)")
        self.store_rows()
        text.close()
        name, parameters = f"prologue_{operand}_run", self.parameters()[0]
        kinds = {STORAGE[place.value.memory_type]: place.value.memory_type.itemsize for place in self.loads}
        return "\n".join(
            [
                f"#if defined(PROLOGUE_RUN) && {self.words.count} % PROLOGUE_RUN == 0",
                *(f"FUSED_LOT({kind}, {size})" for kind, size in kinds.items()),
                f"DEVICE void {name}(F *made, const idx_t item{parameters}) {{",
                *without_unused([*text.lines, "}"]),
                f"#define {operand.upper()}_RUN(made, item) {name}(made, item {operand.upper()}_ARGS)",
                "#endif",
            ]
        )


def _macros(operand: str, tensors: Sequence[tuple[str, str]], numbers: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the macros of conv/prologue.h; a kernel's parameters have the operand's name before their own."""
    word = operand.upper()
    own = [(kind, f"{operand}_{name}") for kind, name in tensors]
    values = [(kind, f"{operand}_{name}") for kind, name in numbers]
    scalars = "".join(f", {kind} {name}" for kind, name in values)
    yield f"#define {word}_TENSORS {''.join(f', TENSOR({kind}, {name})' for kind, name in own)}{scalars}"
    yield f"#define {word}_BIND {' '.join(f'BIND({kind}, {name});' for kind, name in own)}"
    yield f"#define {word}_PARAMS {''.join(f', GLOBAL {kind} *{name}' for kind, name in own)}{scalars}"
    yield f"#define {word}_ARGS {''.join(f', {name}' for _, name in (*own, *values))}"


def _operand(graph: OperationGraph, uid: int) -> Value:
    """Return the operand's value: a node's result, where it is only converted as well."""
    if graph.operations:
        return next(one for one in expand(graph).values() if one.info is not None and one.info.uid == uid)
    info = graph.by_uid[uid]
    source = Value(info.name or f"tensor {uid}", info.dims, info.data_type, info, info.strides)
    strides = strides_in(info.dims, order_of(info.dims, info.strides))
    made = Value(f"{source.name}, converted", info.dims, data_type.FLOAT, None, strides)
    made.node = Node(pointwise_mode.IDENTITY, (source,), made, "F", label="the product")
    return made


def write(graph: OperationGraph, uid: int, operand: str, vectors: bool) -> Text:
    """Return the text of what computes an operand.

    Parameters
    ----------
    graph
        Pointwise nodes; the operand lies in memory. Without nodes it is that one tensor, to be converted.
    operand : {"image", "filter"}
        What the product's kernel calls it.
    vectors
        Whether it is for vectors, else for one number at a time.
    """
    value = _operand(graph, uid)
    stage = Stage(value.dims, stores=[value])
    stage.settle(set())
    space = space_after(stage, value)
    for place in space.places[len(stage.loads) :]:
        place.memory = False
    writer, lines = _functions(stage, space, operand, vectors)
    text = "\n".join(lines)
    if operand == "image" and not vectors:
        text = "\n".join(filter(None, [text, _RunWriter(stage, space).written(operand)]))
    text = f"#ifdef PROLOGUE_{operand.upper()}\n{text}\n#endif"
    memory = tuple(place.value for place in space.places if place.memory)
    return Text(text, memory, tuple(writer.body.numbers), space.wide)
