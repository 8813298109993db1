"""Kernels for GPUs: a work-item for a few neighbours, or some of a work-group for each result that takes many together.

Along memory, T = 1 to 256 neighbours share the places of one result: r = lid / T, t = lid % T. What they read of a
result that is not too long stays in registers from one pass to the next. Across memory, R = 32 neighbours (256 where
results are many) have a result each, which T = 1 to 8 work-items share: r = lid % R, t = lid / R.

Neighbours are read and written in words of up to 16 bytes (.words), where arrays are aligned to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from portadnn.graph.layout import Dims

from ..base import DeviceInfo
from . import expressions as c
from .body import Written
from .geometry import Place, Space
from .launches import Stage
from .values import STORAGE, Node, Value
from .words import Words, words_of
from .writer import Offsets, Writer, added, scratch_type

WORK_GROUP = 256
ITEMS = (8, 1, 2, 4)  # neighbours of a work-item
NEIGHBOURS = 32  # work-items side by side whose accesses are one
LONG = 8192  # places of a result that several work-groups share where results are few
SLICE = 1024  # places that are worth a work-group
WAVES = 4  # work-groups for each multiprocessor that keep it busy
HELD = 256  # bytes of what a work-item reads that stay in its registers


def splits(dims: Dims, axes: tuple[int, ...], units: int) -> bool:
    """Tell whether results are so few and long that several work-groups have to share each; see ``launches.cut``."""
    rows, length = _sizes(dims, axes)
    return length >= LONG and rows < units


def _sizes(dims: Dims, axes: tuple[int, ...]) -> tuple[int, int]:
    rows = length = 1
    for axis, size in enumerate(dims):
        if axis in axes:
            length *= size
        else:
            rows *= size
    return rows, length


def _power(value: int, most: int) -> int:
    """Return the power of two from `value` on, at most `most`."""
    return min(1 << max(value - 1, 0).bit_length(), most)


@dataclass(frozen=True)
class _Shape:
    """How a work-group is shared: `results` of them, `together` work-items for each; `slices` groups for the same."""

    results: int
    together: int
    words: Words
    slices: int = 1


def _shape(stage: Stage, space: Space, units: int, items: int) -> _Shape:
    rows, length = space.rows, space.length
    words = Words(1, space.kept[-1])
    if space.along:
        words = words_of(space.places, space.reduced[-1], [*space.kept, *space.reduced[:-1]], items)
        chunks = -(-length // words.count)
        together = _power(-(-chunks // (4 if words.count < 4 else 2)), WORK_GROUP)
        while together < _power(chunks, WORK_GROUP) and rows * together < units * 2 * WORK_GROUP:
            together *= 2
        results = WORK_GROUP // together
    elif rows >= units * 4 * WORK_GROUP:
        together, results = 1, WORK_GROUP
    else:
        together = _power(length, WORK_GROUP // NEIGHBOURS)
        results = NEIGHBOURS
    groups = -(-rows // results)
    slices = 1
    if stage.divisible and length >= LONG and groups < units * WAVES:
        slices = max(1, min(units * WAVES // groups, length // SLICE))
    return _Shape(results, together, words, slices)


class _Writer(Writer):
    def __init__(self, stage: Stage, space: Space, shape: _Shape) -> None:
        super().__init__(stage, space, shape.slices)
        self.shape, self.words = shape, shape.words
        self.places: Offsets = {}
        self.raw: dict[int, str] = {}  # elements that have been read already, by the place's number
        self.inside = False  # of the loop over neighbours j
        self.loads = space.places[: len(stage.loads)]
        self.holds = False

    def load(self, place: Place) -> str:
        if not place.memory:
            return f"(I)({self._at(place)})"
        kind = STORAGE[place.value.memory_type]
        return f"of_{kind}({self.raw.get(place.number) or self._element(place)})"

    def _at(self, place: Place) -> str:
        return added(self.places[place.number], self.words.step(place) if self.inside else "")

    def _element(self, place: Place) -> str:
        return f"p{place.number}[{self._at(place)}]"

    def store(self, place: Place, name: str) -> None:
        whole = self.inside and place.number in self.words.whole
        element = f"y{place.number}.e[j]" if whole else self._element(place)
        self.text.add(f"{element} = as_{STORAGE[place.value.memory_type]}({name});")

    # neighbours

    def _whole(self, places: Sequence[Place]) -> list[Place]:
        return [place for place in places if place.number in self.words.whole]

    def _read(self, places: Sequence[Place], held: str = "", tail: str = "") -> None:
        """Write what reads neighbours: words, and what they have in common; `held` indexes arrays of them."""
        text, words = self.text, self.words
        whole = self._whole(places)
        if not held:
            for place in whole:
                text.add(words.declared(place, f"x{place.number}"))
        if whole:
            text.open("if (wide)")
            for place in whole:
                for line in words.reading(place, f"x{place.number}{held}", self.places[place.number]):
                    text.add(line)
            text.close()
            text.open("else")
            self._each_neighbour()
            for place in whole:
                at = added(self.places[place.number], tail or "j")
                text.add(f"x{place.number}{held}.e[j] = p{place.number}[{at}];")
            text.close()
            text.close()

    def _common(self, places: Sequence[Place]) -> None:
        """Write what reads the one element that neighbours have in common."""
        for place in places:
            if self.words.count > 1 and place.memory and self.words.shared(place):
                kind = STORAGE[place.value.memory_type]
                self.text.add(f"const {kind}_s x{place.number} = {self._element(place)};")
                self.raw[place.number] = f"x{place.number}"

    def _each_neighbour(self) -> None:
        self.text.add("UNROLL")
        self.text.open(f"for (int j = 0; j < {self.words.count}; ++j)")

    def _write(self, places: Sequence[Place], condition: str = "") -> None:
        """Write what stores the words of neighbours; `condition` tells of neighbour j whether it is there."""
        text, words = self.text, self.words
        whole = self._whole(places)
        if not whole:
            return
        text.open("if (wide)")
        for place in whole:
            for line in words.writing(place, f"y{place.number}", self.places[place.number]):
                text.add(line)
        text.close()
        text.open("else")
        self._each_neighbour()
        for place in whole:
            at = added(self.places[place.number], "j")
            text.add(f"{condition}p{place.number}[{at}] = y{place.number}.e[j];")
        text.close()
        text.close()

    # launches without sums

    def apart(self) -> None:
        """Write a launch without sums: all of a work-item's elements are read before the first is written."""
        text, stage, space, words = self.text, self.stage, self.space, self.words
        rows, count = space.rows, words.count
        item = f"((idx_t)GRP(0) * {WORK_GROUP} + LID(0))"
        text.add(f"const idx_t item = {item} * {count};" if count > 1 else f"const idx_t item = {item};")
        text.add(f"if (item >= {rows}) return;")
        self.places = self.offsets("b", space.kept, "item", {})
        rest = rows % count and len(space.kept) == 1
        if words.whole:
            there = f" && item + {count} <= {rows}" if rest else ""
            text.add(f"const bool wide = {words.aligned(space.places)}{there};")
        self._read(self.loads, tail=f"(item + j < {rows} ? j : 0)" if rest else "")
        self._common(self.loads)
        self.raw.update({place.number: f"x{place.number}.e[j]" for place in self._whole(self.loads)})
        stored = [self.body.stored[id(value)] for value in stage.stores]
        for place in self._whole(stored):
            text.add(words.declared(place, f"y{place.number}"))
        if count > 1:
            self._each_neighbour()
        self.inside = count > 1
        self.body.state(text, self.body.row_values(stage.stores))
        for value, place in zip(stage.stores, stored, strict=True):
            self.store(place, self.body.names[id(value)])
        self.inside = False
        if count > 1:
            text.close()
        self._write(stored, f"if (item + j < {rows}) " if rest else "")

    # launches with sums

    def together(self) -> None:
        """Write a launch with sums."""
        text, space, shape = self.text, self.space, self.shape
        outer, inner = ("lid / {0}", "lid % {0}") if space.along else ("lid % {1}", "lid / {1}")
        sizes = (shape.together, shape.results)
        text.add("const int lid = LID(0);")
        text.add(f"const int r = {outer.format(*sizes)}, t = {inner.format(*sizes)};")
        text.add(f"const int slot = r * {shape.together} + t;")
        text.add(f"const idx_t own = (idx_t)GRP(0) * {shape.results} + r;")
        text.add(f"const bool there = own < {space.rows};")
        text.add(f"const idx_t item = there ? own : {space.rows - 1};")
        self.base = self.places = self.offsets("b", space.kept, "item", {})
        if self.words.whole:
            text.add(f"const bool wide = {self.words.aligned(space.places)};")
        self._hold()
        for number in range(1, self.stage.last_pass + 1):
            self._pass(number)
        if self.slices == 1:
            text.open("if (there && t == 0)")
            self.store_rows()
            text.close()

    @property
    def _chunks(self) -> int:
        """How many times a work-item takes neighbours."""
        return -(-self.space.length // (self.shape.together * self.words.count))

    def _hold(self) -> None:
        """Write what reads words into registers, where they are few enough to stay there."""
        whole, count = self._whole(self.loads), self.words.count
        size = self._chunks * count * sum(place.value.memory_type.itemsize for place in whole)
        self.holds = bool(whole) and self.slices == 1 and size <= HELD
        if not self.holds:
            return
        for place in whole:
            self.text.add(self.words.declared(place, f"x{place.number}[{self._chunks}]"))
        self._loop()
        self._read(whole, held="[u]")
        self._end()

    def _loop(self) -> None:
        """Open the loop over what a work-item takes together."""
        text, space, count, together = self.text, self.space, self.words.count, self.shape.together
        own = f"t * {count}" if count > 1 else "t"
        if self.holds:
            text.add("UNROLL")
            text.open(f"for (int u = 0; u < {self._chunks}; ++u)")
            text.add(f"const idx_t o = (idx_t)u * {together * count} + {own};")
            text.open(f"if (o < {space.length})")
        else:
            low, high = own, str(space.length)
            if self.slices > 1:
                low, high = f"low + {own}", "high"
            text.open(f"for (idx_t o = {low}; o < {high}; o += {together * count})")
        self.places = self.offsets("r", space.reduced, "o", self.base)

    def _end(self) -> None:
        if self.holds:
            self.text.close()
        self.text.close()
        self.places = self.base

    def _pass(self, number: int) -> None:
        body, text = self.body, self.text
        reductions, stores = body.roots(number)
        roots: list[Value] = [*stores, *(node.inputs[0] for node in reductions)]
        body.state(text, body.row_values(roots))
        self.begin(reductions)
        samples = [node for node in reductions if node.samples]
        sums = [node for node in reductions if not node.samples]
        self.sample(samples)
        for node in samples:
            body.finish(text, node, self.sums[node])
        if sums or stores:
            self._together(sums, stores)

    def _together(self, reductions: list[Node], stores: list[Value]) -> None:
        """Write the loop over what is taken together, and what comes of it."""
        body, text, space, count = self.body, self.text, self.space, self.words.count
        values = body.inner_values([*stores, *(node.inputs[0] for node in reductions)])
        read = [body.loaded[id(value)] for value in values if id(value) in body.loaded]
        if self.slices > 1:
            each = -(-space.length // (self.slices * count)) * count
            text.add(f"const idx_t low = (idx_t)GRP(1) * {each};")
            text.add(f"const idx_t high = low + {each} < {space.length} ? low + {each} : {space.length};")
        self._loop()
        if not self.holds:
            self._read(read)
        self._common(read)
        held = "[u]" if self.holds else ""
        self.raw.update({place.number: f"x{place.number}{held}.e[j]" for place in self._whole(read)})
        written = [body.stored[id(value)] for value in stores]
        for place in self._whole(written):
            text.add(self.words.declared(place, f"y{place.number}"))
        if count > 1:
            self._each_neighbour()
        self.inside = count > 1
        body.state(text, values)
        for node in reductions:
            self.take(node, c.term(node, body.operand(node.inputs[0], node.arithmetic)))
        apart = [(value, place) for value, place in zip(stores, written, strict=True) if place not in self._whole(written)]
        for value, place in zip(stores, written, strict=True):
            if (value, place) not in apart:
                self.store(place, body.names[id(value)])
        if apart:
            text.open("if (there)")
            for value, place in apart:
                self.store(place, body.names[id(value)])
            text.close()
        self.inside = False
        self.raw = {}
        if count > 1:
            text.close()
        if self._whole(written):
            text.open("if (there)")
            self._write(written)
            text.close()
        self._end()
        for node in reductions:
            self._total(node)

    def _total(self, node: Node) -> None:
        """Write what joins the work-items' sums: always in the same order, so that the result depends on nothing else.

        CUDA's sub-groups pass them on without local memory: every work-item ends up with the sum of its own.
        """
        text, shape, memory = self.text, self.shape, f"shared_{node.arithmetic}"
        total, together = self.sums[node], shape.together
        if together > 1:
            if self.space.along:
                self.text.lines.append("#ifdef PD_CUDA")
                self._shuffled(node, memory)
                self.text.lines.append("#else")
            text.add(f"{memory}[slot] = {total};")
            text.add("BARRIER();")
            text.open(f"for (int gap = {together // 2}; gap > 0; gap /= 2)")
            text.add(f"if (t < gap) {memory}[slot] = {c.joined(node, f'{memory}[slot]', f'{memory}[slot + gap]')};")
            text.add("BARRIER();")
            text.close()
            text.add(f"{total} = {memory}[r * {together}];")
            text.add("BARRIER();")
            if self.space.along:
                self.text.lines.append("#endif")
        if self.slices == 1:
            self.body.finish(text, node, total)
            return
        kind = scratch_type(node.arithmetic)
        number = self.stage.reductions.index(node)
        text.add(f"if (there && t == 0) w{number}[(idx_t)GRP(1) * {self.space.rows} + own] = as_{kind}({total});")

    def _shuffled(self, node: Node, memory: str) -> None:
        text, total, together = self.text, self.sums[node], self.shape.together
        text.add("UNROLL")
        text.open(f"for (int gap = {min(together, NEIGHBOURS) // 2}; gap > 0; gap /= 2)")
        text.add(f"const {node.arithmetic} other = __shfl_xor_sync(0xffffffffu, {total}, gap);")
        text.add(f"{total} = {c.joined(node, total, 'other')};")
        text.close()
        parts = together // NEIGHBOURS
        if parts > 1:
            text.add(f"if (lid % {NEIGHBOURS} == 0) {memory}[lid / {NEIGHBOURS}] = {total};")
            text.add("BARRIER();")
            text.add(f"{total} = {memory}[r * {parts}];")
            text.add("UNROLL")
            text.open(f"for (int part = 1; part < {parts}; ++part)")
            text.add(f"{total} = {c.joined(node, total, f'{memory}[r * {parts} + part]')};")
            text.close()
            text.add("BARRIER();")

    def joined(self) -> None:
        """Write the launch that joins slices."""
        self.text.add(f"if (GRP(0) * {WORK_GROUP} + LID(0) >= {self.space.rows}) return;")
        self.join(f"GRP(0) * {WORK_GROUP} + LID(0)")

    def store_rows(self) -> None:
        self.places = self.base
        super().store_rows()


def write(stage: Stage, space: Space, name: str, items: int, info: DeviceInfo) -> list[Written]:
    """Return a launch's kernels: one, or with several slices a second one that joins their sums."""
    rows = space.rows
    if not stage.sums:
        while items > 1 and rows < items * WORK_GROUP * info.compute_units:
            items //= 2
        words = words_of(space.places, space.kept[-1], space.kept[:-1], items, tail=len(space.kept) == 1)
        writer = _Writer(stage, space, _Shape(WORK_GROUP, 1, words))
        writer.apart()
        return [writer.kernel(name, (-(-rows // (WORK_GROUP * words.count)), 1, 1), WORK_GROUP)]
    shape = _shape(stage, space, info.compute_units, items)
    writer = _Writer(stage, space, shape)
    writer.together()
    size = shape.results * shape.together
    registers = sorted({node.arithmetic for node in stage.reductions}) if shape.together > 1 else []
    local = [f"LOCAL {c.SCALARS[register]} shared_{register}[{size}];" for register in registers]
    groups = -(-rows // shape.results)
    kernels = [writer.kernel(name, (groups, shape.slices, 1), size, local)]
    if shape.slices > 1:
        last = _Writer(stage, space, shape)
        last.joined()
        kernels.append(last.kernel(f"{name}_join", (-(-rows // WORK_GROUP), 1, 1), WORK_GROUP))
    return kernels
