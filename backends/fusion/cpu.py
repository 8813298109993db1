"""Kernels for CPUs: a work-group is one work-item, which goes over results in vectors of LANES numbers.

Along memory, a vector is LANES places of one result, whose sums are added up at the end. Across it, and where there are
no sums, a vector is LANES neighbouring results, each with its own sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from portadnn.graph.layout import Dims

from . import expressions as c
from .body import Written
from .geometry import Place, Space
from .launches import Stage
from .values import STORAGE, Node, Value
from .writer import Offsets, Writer, added, scratch_type

CHUNK = 1 << 14  # places of a work-group: enough to hide its start
PIECE = 1 << 12  # places of a row that a work-group takes at a time
KEPT = 1 << 12  # numbers that passes keep for later ones: 16 KB of a core's nearest cache
LONG = 1 << 15  # places of all results that are worth all cores


def splits(dims: Dims, axes: tuple[int, ...], cores: int) -> bool:
    """Tell whether results are so few that cores have to share each; see ``launches.cut``."""
    rows = math.prod(size for axis, size in enumerate(dims) if axis not in axes)
    return rows < cores and math.prod(dims) >= LONG


def loaded(place: Place, where: str, step: int, count: str) -> str:
    """Return the text of the vector at a place: from offset `where` on, `step` apart, with `count` lanes in use."""
    if not place.memory:
        return added(_times("FUSED_LANE", step), f"(I)((int)({where or '0'}))")
    kind = STORAGE[place.value.memory_type]
    pointer = added(f"p{place.number}", where)
    if step == 0:
        return f"splat_{kind}({pointer})"
    whole, part = f"load_{kind}({pointer})", f"part_{kind}({pointer}, {step}, {count})"
    if step != 1 or count.isdigit():
        return part
    return whole if count == "LANES" else f"{count} == LANES ? {whole} : {part}"


def stored(place: Place, where: str, step: int, count: str, name: str) -> list[str]:
    """Return the statements that store a vector; see :func:`loaded`."""
    kind = STORAGE[place.value.memory_type]
    pointer = added(f"p{place.number}", where)
    if step == 0:
        return [f"store_one_{kind}({pointer}, {name});"]
    whole, part = f"store_{kind}({pointer}, {name});", f"store_part_{kind}({pointer}, {step}, {count}, {name});"
    if step != 1 or count.isdigit():
        return [part]
    return [whole] if count == "LANES" else [f"if ({count} == LANES) {whole}", f"else {part}"]


class _Writer(Writer):
    def __init__(self, stage: Stage, space: Space, lanes: int, cores: int, slices: int) -> None:
        super().__init__(stage, space, slices)
        self.lanes, self.cores = lanes, cores
        self.within = False  # the loop over what is taken together
        self.index = "k"  # along the memory
        self.count = "LANES"  # lanes in use: of the reduced axes where `along`, else of the kept ones

    # memory

    def _place(self, place: Place) -> tuple[str, int, str]:
        """Return a place's offset, its step from lane to lane, and the lanes in use."""
        space = self.space
        if not space.along:
            return (
                (self.near if self.within else self.base)[place.number],
                space.kept[-1].strides[place.number],
                self.count,
            )
        if not self.within:
            return self.base[place.number], 0, "LANES"
        step = space.reduced[-1].strides[place.number]
        return added(self.near[place.number], _times(self.index, step)), step, self.count

    def load(self, place: Place) -> str:
        return loaded(place, *self._place(place))

    def store(self, place: Place, name: str) -> None:
        for line in stored(place, *self._place(place), name):
            self.text.add(line)

    # loops

    def rows(self) -> int:
        """Write the loop over results; returns the number of work-groups."""
        space, text = self.space, self.text
        inner = 1 if space.along else space.kept[-1].size
        wanted = self.lanes if self.stage.sums else PIECE
        piece = min(inner, -(-wanted // self.lanes) * self.lanes)
        pieces = -(-inner // piece)
        items = space.rows // inner * pieces
        weight = max(space.length, 1) * piece * max(self.stage.last_pass, 1)
        groups = max(1, min(items, items * weight // CHUNK))
        if groups > 1:
            groups = min(items, -(-groups // self.cores) * self.cores)
        each = -(-items // groups)
        text.add(f"const idx_t first = (idx_t)GRP(0) * {each};")
        text.add(f"const idx_t last = first + {each} < {items} ? first + {each} : {items};")
        text.open("for (idx_t item = first; item < last; ++item)")
        if space.along:
            self.base = self.offsets("b", space.kept, "item", {})
            self._row()
        else:
            self._pieces(inner, piece, pieces)
        text.close()
        return -(-items // each)

    def _pieces(self, inner: int, piece: int, pieces: int) -> None:
        """Write the loop over vectors of neighbouring results, of which `piece` are an item."""
        space, text = self.space, self.text
        outer = self.offsets("b", space.kept[:-1], "item" if pieces == 1 else f"(item / {pieces})", {})
        begin, end = "0", str(inner)
        if pieces > 1:
            text.add(f"const idx_t begin = item % {pieces} * {piece};")
            text.add(f"const idx_t end = begin + {piece} < {inner} ? begin + {piece} : {inner};")
            begin, end = "begin", "end"
        if inner >= self.lanes:
            text.open(f"for (idx_t i = {begin}; i + LANES <= {end}; i += LANES)")
            self._vector(outer, "i")
            text.close()
        rest = inner % self.lanes
        if rest:
            if pieces > 1:
                text.open(f"if (end == {inner})")
            self.count = str(rest)
            text.add(f"const idx_t i = {inner - rest};")
            self._vector(outer, "i")
            self.count = "LANES"
            if pieces > 1:
                text.close()

    def _vector(self, outer: Offsets, index: str) -> None:
        steps = self.space.kept[-1].strides
        self.base = {number: added(before, _times(index, steps[number])) for number, before in outer.items()}
        known = set(self.body.done)
        self._row()
        self.body.done = known

    def _row(self) -> None:
        """Write what happens to a result, or a vector of them: the passes, and what is stored once."""
        self._keep()
        for number in range(self.stage.last_pass + 1):
            self._pass(number)
        if self.slices == 1:
            self.store_rows()

    def _keep(self) -> None:
        """Declare arrays for what several passes compute, where these are short."""
        vectors = self.space.length if not self.space.along else -(-self.space.reduced[-1].size // self.lanes)
        if self.space.along:
            vectors *= self.space.length // self.space.reduced[-1].size
        if self.slices > 1 or vectors * self.lanes > KEPT:
            return
        for value in self.body.keep():
            self.text.add(f"{value.register} kept_{self.body.names[id(value)]}[{vectors}];")

    def _pass(self, number: int) -> None:
        body, text = self.body, self.text
        body.current = number
        reductions, stores = body.roots(number)
        roots: list[Value] = [*stores, *(node.inputs[0] for node in reductions)]
        body.state(text, body.row_values(roots))
        self.begin(reductions)
        self.within = True
        samples = [node for node in reductions if node.samples]
        sums = [node for node in reductions if not node.samples]
        self.sample(samples)
        if sums or stores:
            roots = [*stores, *(node.inputs[0] for node in sums)]
            self._together(lambda: self._places(roots, sums, stores))
        self.within = False
        for node in reductions:
            total = self.sums[node]
            if self.space.along and not node.samples:
                total = f"ACROSS_{c.sum_of(node).join.upper()}_{node.arithmetic}({total})"
            if self.slices > 1 and not node.samples:
                self._leave(node, total)
            else:
                body.finish(text, node, total)

    def sample(self, nodes: Sequence[Node]) -> None:
        inner = self.space.reduced[-1].size
        before = self.count
        if self.space.along and inner < self.lanes:
            self.count = str(inner)
        self.index, number, self.body.current = "0", self.body.current, 0
        super().sample(nodes)
        self.count, self.index, self.body.current = before, "k", number

    def first(self, node: Node, value: str) -> str:
        return f"FIRST_{node.arithmetic}({value})" if self.space.along else value

    def _slot(self) -> str:
        """Return the number of a vector among those that are taken together."""
        if not self.space.along:
            return "o" if self.space.length > 1 else "0"
        inner = self.space.reduced[-1].size
        outer = "" if inner == self.space.length else f"o * {-(-inner // self.lanes)}"
        return added(outer, "k / LANES")

    def _places(self, roots: list[Value], reductions: list[Node], stores: list[Value]) -> None:
        """Write what happens at a vector of places."""
        body = self.body
        body.slot = self._slot()
        body.state(self.text, body.inner_values(roots))
        for node in reductions:
            term = c.term(node, body.operand(node.inputs[0], node.arithmetic))
            if self.space.along and self.count != "LANES":
                neutral = c.splat(c.sum_of(node).neutral, node.arithmetic)
                term = f"KEEP_{node.arithmetic}({self.count}, {term}, {neutral})"
            self.take(node, term)
        for value in stores:
            self.store(body.stored[id(value)], body.names[id(value)])

    def _together(self, emit: Callable[[], None]) -> None:
        """Write the loop over what is taken together."""
        space, text = self.space, self.text
        axes = space.reduced[:-1] if space.along else space.reduced
        length = math.prod(axis.size for axis in axes)
        text.open("")  # names of a pass are its own
        if length > 1:
            low, high = self._slice(length, 1) if self.slices > 1 else ("0", str(length))
            text.open(f"for (idx_t o = {low}; o < {high}; ++o)")
        self.near = self.offsets("r", axes, "o", self.base)
        if space.along:
            self._run(length, emit)
        else:
            emit()
        if length > 1:
            text.close()
        text.close()

    def _run(self, length: int, emit: Callable[[], None]) -> None:
        """Write the loop along the memory."""
        text, inner = self.text, self.space.reduced[-1].size
        sliced = self.slices > 1 and length == 1
        low, high = self._slice(inner, self.lanes) if sliced else ("0", str(inner))
        if inner >= self.lanes:
            text.open(f"for (idx_t k = {low}; k + LANES <= {high}; k += LANES)")
            emit()
            text.close()
        rest = inner % self.lanes
        if rest:
            text.open(f"if ({low} < {high} && {high} == {inner})" if sliced else "")
            text.add(f"const idx_t k = {inner - rest};")
            self.count = str(rest)
            emit()
            self.count = "LANES"
            text.close()

    def _slice(self, length: int, unit: int) -> tuple[str, str]:
        each = -(-length // (self.slices * unit)) * unit
        self.text.add(f"const idx_t low = (idx_t)GRP(1) * {each} < {length} ? (idx_t)GRP(1) * {each} : {length};")
        self.text.add(f"const idx_t high = low + {each} < {length} ? low + {each} : {length};")
        return "low", "high"

    def _leave(self, node: Node, total: str) -> None:
        """Write what leaves a slice's part of a sum in the workspace."""
        space, kind = self.space, scratch_type(node.arithmetic)
        start = f"w{self.stage.totals.index(node)} + (idx_t)GRP(1) * {space.rows}"
        if space.along:
            self.text.add(f"store_one_{kind}({start} + item, {total});")
            return
        inner = space.kept[-1].size
        pieces = -(-inner // min(inner, self.lanes))
        row = "" if space.rows == inner else f" + item / {pieces} * {inner}"
        place = f"{start}{row} + i"
        if self.count == "LANES":
            self.text.add(f"store_{kind}({place}, {total});")
        else:
            self.text.add(f"store_part_{kind}({place}, 1, {self.count}, {total});")


class Join(Writer):
    """A work-group for each result, all lanes the same."""

    def load(self, place: Place) -> str:
        return f"splat_{STORAGE[place.value.memory_type]}({added(f'p{place.number}', self.base[place.number])})"

    def store(self, place: Place, name: str) -> None:
        pointer = added(f"p{place.number}", self.base[place.number])
        self.text.add(f"store_one_{STORAGE[place.value.memory_type]}({pointer}, {name});")


def _times(index: str, step: int) -> str:
    return "" if step == 0 or index == "0" else index if step == 1 else f"{index} * {step}"


def _slices(stage: Stage, space: Space, lanes: int, cores: int) -> int:
    """Return the number of work-groups that share each result: more than one where results are fewer than cores."""
    items = space.rows if space.along else space.rows // space.kept[-1].size * -(-space.kept[-1].size // lanes)
    if not stage.divisible or items >= cores or space.rows * space.length < LONG:
        return 1
    axes = space.reduced[:-1] if space.along else space.reduced
    length = math.prod(axis.size for axis in axes)
    return min(cores, length) if length > 1 else cores if space.along else 1


def write(stage: Stage, space: Space, name: str, lanes: int, cores: int) -> list[Written]:
    """Return a launch's kernels: one, or with several slices a second one that joins their sums."""
    slices = _slices(stage, space, lanes, cores) if stage.sums else 1
    writer = _Writer(stage, space, lanes, cores, slices)
    groups = writer.rows()
    kernels = [writer.kernel(name, (groups, slices, 1), 1)]
    if slices > 1:
        last = Join(stage, space, slices)
        last.join("GRP(0)")
        kernels.append(last.kernel(f"{name}_join", (space.rows, 1, 1), 1))
    return kernels
