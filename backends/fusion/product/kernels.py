"""Text for what follows a matrix product or a convolution: pointwise nodes, where that one's kernel stores its sums.

The product's sums never reach memory unless they are a result: the kernel hands them to the text (epilogue.h), LANES
neighbours of the product's result at a time, with the place of the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from portadnn.graph.layout import Dims, order_of
from portadnn.graph.operation_graph import OperationGraph, TensorInfo
from portadnn.problem import strides_in

from .. import cpu
from .. import expressions as c
from ..body import INDENT
from ..expand.region import expand
from ..geometry import Place, Space, space_after
from ..gpu.apart import element, loaded, stored
from ..launches import Stage
from ..values import STORAGE, Value
from ..words import BYTES, words_of
from ..writer import Writer, added, without_unused
from .sums import Adding, Totals, Within

MOST_RUN = 8  # of a kernel's VW


@dataclass(frozen=True)
class After:
    """What follows a product.

    Attributes
    ----------
    graph : OperationGraph
        Its nodes, of which the product's result is an input.
    result : TensorInfo
        The product's result: without gaps, in the order of the first output's axes.
    stored : bool
        Whether the product's result is an output as well.
    """

    graph: OperationGraph
    result: TensorInfo
    stored: bool

    @classmethod
    def of(cls, graph: OperationGraph) -> After:
        """Split a graph that begins with its product."""
        product, *others = graph.operations
        info = graph.by_uid[product.outputs[0][1]]
        result = info if not info.virtual else replace(info, strides=_packed(graph, info), virtual=False)
        used = {uid for operation in others for uid in operation.uids.values()}
        tensors = (result if one.uid == info.uid else one for one in graph.infos if one.uid in used)
        return cls(OperationGraph(graph.name, tuple(others), tuple(tensors)), result, not info.virtual)


def _packed(graph: OperationGraph, result: TensorInfo) -> Dims:
    """Return strides without gaps for the product's result, in the order of the first output of its dims."""
    outputs = (info for info in graph.infos if info.uid in graph.results and not info.virtual)
    like = next((info for info in outputs if info.dims == result.dims), result)
    return strides_in(result.dims, order_of(like.dims, like.strides))


@dataclass(frozen=True)
class Text:
    """The text and what it is called with.

    Attributes
    ----------
    text : str
        What conv/epilogue.h asks for.
    memory, numbers : tuple of Value
        Its tensors and its numbers of the host's, in order.
    wide : bool
        Whether a tensor takes places of more than 32 bits.
    totals : Totals or None
        The sums that it takes.
    """

    text: str
    memory: tuple[Value, ...]
    numbers: tuple[Value, ...]
    wide: bool
    totals: Totals | None = None


class _Writer(Writer):
    """The function at one place of the product's result, a number or a vector of them."""

    def __init__(self, stage: Stage, space: Space, product: Value, vectors: bool, totals: Totals | None) -> None:
        super().__init__(stage, space, 1)
        self.product, self.vectors, self.totals = product, vectors, totals
        self.adding = Adding(self, totals)

    def load(self, place: Place) -> str:
        if place.value is self.product:
            return c.rounded("sum", "F", self.product.kind)
        where = self.base[place.number]
        return cpu.loaded(place, where, self._step(place), "count") if self.vectors else loaded(place, where)

    def store(self, place: Place, name: str) -> None:
        where = self.base[place.number]
        if self.vectors:
            for line in cpu.stored(place, where, self._step(place), "count", name):
                self.text.add(line)
        else:
            self.text.add(stored(place, element(place, where), name))

    def _step(self, place: Place) -> int:
        return self.space.kept[-1].strides[place.number]

    def written(self, label: str, run: Sequence[str]) -> str:
        """Return the text, with the function for runs of numbers."""
        self.base = self.offsets("b", self.space.kept, "item", {})
        self.store_rows()
        self.adding.add("", self.vectors)
        listed, bound = self.body.parameters()
        tensors, numbers = self.body.tensors(), self.body.scalars()
        passed = "".join(f", {name}" for _, name in (*tensors, *numbers))
        taken = _taken(tensors, numbers)
        head = self.heading("epilogue")
        apart = self.vectors and len(self.space.kept) > 1
        name = "epilogue_in_row" if apart else "epilogue"
        parameters = f"(const F sum, const idx_t item, const int count{taken}{self.adding.parameter})"
        functions = self.totals.functions(self.vectors) if self.totals else ()
        out = ("TENSOR(float, sums_out)", "BIND(float, sums_out);") if self.totals else ()
        lines = without_unused([*self.text.lines, "}"])
        return "\n".join(
            [
                f"{head[0]}, after {label}",
                *head[1:],
                *functions,
                f"DEVICE void {name}{parameters} {{",
                *lines,
                *(self._by_rows(parameters, passed) if apart else ()),
                *run,
                f"#define EPILOGUE_TENSORS {''.join(f', {word}' for word in (*listed, *out[:1]))}",
                f"#define EPILOGUE_BIND {' '.join((*bound, *out[1:]))} i64 epilogue_first = EPILOGUE_FIRST;",
                f"#define EPILOGUE_PARAMS {taken}, const i64 epilogue_first",
                f"#define EPILOGUE_ARGS {passed}",
            ]
        )

    def _by_rows(self, parameters: str, passed: str) -> Sequence[str]:
        """Return the function for vectors that may reach over the end of the innermost axis."""
        size = self.space.kept[-1].size
        sums = ", sums" if self.totals else ""
        return (
            f"DEVICE void epilogue{parameters} {{",
            f"{INDENT}if (item % {size} + count <= {size}) epilogue_in_row(sum, item, count{passed}{sums});",
            f"{INDENT}else",
            *self.adding.by_lanes(f"epilogue_in_row((F)(sum[j]), item + j, 1{passed}"),
            "}",
        )


def _taken(tensors: Sequence[tuple[str, str]], numbers: Sequence[tuple[str, str]]) -> str:
    """Return a helper's parameters after its own."""
    pointers = [f", GLOBAL {kind} *{name}" for kind, name in tensors]
    return "".join([*pointers, *(f", {kind} {name}" for kind, name in numbers)])


class _RunWriter(Writer):
    """The function at VW neighbours, whose memory GPUs read and write in whole words where it is aligned."""

    def __init__(self, stage: Stage, space: Space, product: Value, totals: Totals | None) -> None:
        super().__init__(stage, space, 1)
        self.product = product
        self.adding = Adding(self, totals)
        self.words = words_of(space.places, space.kept[-1], space.kept[:-1], MOST_RUN, each=2)
        self.loads = self._whole(space.places[: len(stage.loads)])
        self.stores = self._whole(space.places[len(stage.loads) :])

    def _whole(self, places: Sequence[Place]) -> list[Place]:
        return [place for place in places if place.number in self.words.whole]

    def load(self, place: Place) -> str:
        if place.value is self.product:
            return c.rounded("sum", "F", self.product.kind)
        return loaded(place, self._at(place), f"x{place.number}.e[j]" if place in self.loads else None)

    def store(self, place: Place, name: str) -> None:
        where = f"y{place.number}.e[j]" if place in self.stores else element(place, self._at(place))
        self.text.add(stored(place, where, name))

    def _at(self, place: Place) -> str:
        return added(self.base[place.number], self.words.step(place))

    def written(self) -> Sequence[str]:
        """Return the text; none where neighbours are no words."""
        text, words = self.text, self.words
        if words.count == 1:
            return ()
        whole = [*self.loads, *self.stores]
        kinds = {STORAGE[place.value.memory_type]: place.value.memory_type.itemsize for place in whole}
        self.base = self.offsets("b", self.space.kept, "item", {})
        for name, place in [*(("x", one) for one in self.loads), *(("y", one) for one in self.stores)]:
            text.add(f"{STORAGE[place.value.memory_type]}_run {name}{place.number};")
        pointers = " | ".join(f"(u64)p{place.number}" for place in whole)
        text.add(f"const bool wide = item % VW == 0 && (({pointers}) & {BYTES - 1}) == 0;")
        self._move(self.loads, "x{n} = *(const GLOBAL {kind}_run *)({p});", "x{n}.e[j] = ({p})[j];")
        text.add("UNROLL")
        text.open("for (int j = 0; j < VW; ++j)")
        text.add("const F sum = values[j];")
        self.store_rows()
        self.adding.add("j * step + ", False)
        text.close()
        self._move(self.stores, "*(GLOBAL {kind}_run *)({p}) = y{n};", "({p})[j] = y{n}.e[j];")
        taken = _taken(self.body.tensors(), self.body.scalars())
        passed = "".join(f", {name}" for _, name in (*self.body.tensors(), *self.body.scalars()))
        more, given = (", F *sums, const int step", ", sums, step") if self.adding.nodes else ("", "")
        return [
            f"#if VW > 1 && {words.count} % VW == 0",
            *(f"FUSED_RUN({kind}, {size})" for kind, size in kinds.items()),
            f"DEVICE void epilogue_run(const F *values, const idx_t item{taken}{more}) {{",
            *without_unused([*text.lines, "}"]),
            f"#define EPILOGUE_RUN(values, item{given}) epilogue_run(values, item{passed}{given})",
            "#endif",
        ]

    def _move(self, places: Sequence[Place], whole: str, single: str) -> None:
        """Write what copies places' neighbours, in words or one by one."""
        if not places:
            return

        def lines(pattern: str) -> None:
            for place in places:
                where = added(f"p{place.number}", self.base[place.number])
                kind = STORAGE[place.value.memory_type]
                self.text.add(pattern.format(n=place.number, kind=kind, p=where))

        self.text.open("if (wide)")
        lines(whole)
        self.text.close()
        self.text.open("else")
        self.text.add("UNROLL")
        self.text.open("for (int j = 0; j < VW; ++j)")
        lines(single)
        self.text.close()
        self.text.close()


def _product(after: After) -> Value:
    """Return the product's result, which nodes may follow."""
    values = expand(after.graph).values()
    info = after.result
    found = next((value for value in values if value.info is not None and value.info.uid == info.uid), None)
    return found or Value(info.name or f"tensor {info.uid}", info.dims, info.data_type, info, info.strides)


def totals_of(after: After) -> Totals | None:
    """Return the sums over a product's results; None where there are none."""
    return Totals.of(expand(after.graph), _product(after))


def write(after: After, label: str, vectors: bool) -> Text:
    """Return the text of what follows a product.

    Parameters
    ----------
    label
        Of the product, for a comment.
    vectors
        Whether it is for vectors, else for one number at a time.
    """
    product = _product(after)
    program = expand(after.graph)
    totals = totals_of(after)
    outputs = [value for value in program.outputs if totals is None or value not in totals.outputs]
    stage = Within(product.dims, (), list(totals.nodes) if totals else [])
    stage.stores = [*([product] if after.stored else []), *outputs]
    stage.settle(set())
    space = space_after(stage, product)
    writer = _Writer(stage, space, product, vectors, totals)
    text = writer.written(label, () if vectors else _RunWriter(stage, space, product, totals).written())
    memory = tuple(place.value for place in space.places if place.memory)
    return Text(text, memory, tuple(writer.body.numbers), space.wide, totals)
