"""Kernels for GPUs: a work-item for a few places, or some of a work-group for each result that takes many together.

Along memory, T = 1 to 256 neighbours share the places of one result: r = lid / T, t = lid % T. Across it, R = 32
neighbours (256 where results are many) have a result each, which T = 1 to 8 work-items share: r = lid % R, t = lid / R.
"""

from __future__ import annotations

from dataclasses import dataclass

from portadnn.graph.layout import Dims

from ..base import DeviceInfo
from . import expressions as c
from .body import Written
from .geometry import Place, Space
from .launches import Stage
from .values import STORAGE, Node, Value
from .writer import Offsets, Writer, scratch_type

WORK_GROUP = 256
ITEMS = (4, 1, 2, 8)  # places of a work-item
NEIGHBOURS = 32  # work-items side by side whose accesses are one
LONG = 8192  # places of a result that several work-groups share where results are few
SLICE = 1024  # places that are worth a work-group
WAVES = 4  # work-groups for each multiprocessor that keep it busy


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
    slices: int = 1


def _shape(stage: Stage, space: Space, units: int) -> _Shape:
    rows, length = space.rows, space.length
    if space.along:
        together = _power(-(-length // 4), WORK_GROUP)
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
    return _Shape(results, together, slices)


class _Writer(Writer):
    def __init__(self, stage: Stage, space: Space, shape: _Shape) -> None:
        super().__init__(stage, space, shape.slices)
        self.shape = shape
        self.places: Offsets = {}
        self.raw: dict[int, str] = {}  # elements that have been read already, by the place's number

    def load(self, place: Place) -> str:
        if not place.memory:
            return f"(I)({self.places[place.number] or '0'})"
        kind = STORAGE[place.value.memory_type]
        return f"of_{kind}({self.raw.get(place.number) or self._element(place)})"

    def _element(self, place: Place) -> str:
        return f"p{place.number}[{self.places[place.number] or '0'}]"

    def store(self, place: Place, name: str) -> None:
        self.text.add(f"{self._element(place)} = as_{STORAGE[place.value.memory_type]}({name});")

    # launches without sums

    def apart(self, items: int) -> None:
        """Write a launch without sums: all of a work-item's elements are asked for before the first is used."""
        text, stage, space = self.text, self.stage, self.space
        size = WORK_GROUP * items
        text.add(f"const idx_t first = (idx_t)GRP(0) * {size} + LID(0);")
        loads = [place for place in space.places[: len(stage.loads)] if any(space.steps(place))]
        if items > 1:
            for place in loads:
                text.add(f"{STORAGE[place.value.memory_type]}_s x{place.number}[{items}];")
            self._each(items)
            for place in loads:
                text.add(f"x{place.number}[j] = {self._element(place)};")
            self._end()
            self.raw = {place.number: f"x{place.number}[j]" for place in loads}
        self._each(items)
        self.body.state(text, self.body.row_values(stage.stores))
        for value in stage.stores:
            self.store(self.body.stored[id(value)], self.body.names[id(value)])
        self._end()

    def _each(self, items: int) -> None:
        self.text.add("UNROLL")
        self.text.open(f"for (int j = 0; j < {items}; ++j)")
        self.text.add(f"const idx_t item = first + j * {WORK_GROUP};")
        self.text.open(f"if (item < {self.space.rows})")
        self.places = self.offsets("b", self.space.kept, "item", {})

    def _end(self) -> None:
        self.text.close()
        self.text.close()

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
        for number in range(1, self.stage.last_pass + 1):
            self._pass(number)
        if self.slices == 1:
            text.open("if (there && t == 0)")
            self.store_rows()
            text.close()

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
        body, text, space = self.body, self.text, self.space
        roots = [*stores, *(node.inputs[0] for node in reductions)]
        low, high = "t", str(space.length)
        if self.slices > 1:
            each = -(-space.length // self.slices)
            text.add(f"const idx_t low = (idx_t)GRP(1) * {each};")
            text.add(f"const idx_t high = low + {each} < {high} ? low + {each} : {high};")
            low, high = "low + t", "high"
        text.open(f"for (idx_t o = {low}; o < {high}; o += {self.shape.together})")
        self.places = self.offsets("r", space.reduced, "o", self.base)
        body.state(text, body.inner_values(roots))
        for node in reductions:
            self.take(node, c.term(node, body.operand(node.inputs[0], node.arithmetic)))
        if stores:
            text.open("if (there)")
            for value in stores:
                self.store(body.stored[id(value)], body.names[id(value)])
            text.close()
        text.close()
        self.places = self.base
        for node in reductions:
            self._total(node)

    def _total(self, node: Node) -> None:
        """Write what joins the work-items' sums: in a tree, so that the result does not depend on their order."""
        text, shape, memory = self.text, self.shape, f"shared_{node.arithmetic}"
        total = self.sums[node]
        if shape.together > 1:
            text.add(f"{memory}[slot] = {total};")
            text.add("BARRIER();")
            text.open(f"for (int gap = {shape.together // 2}; gap > 0; gap /= 2)")
            text.add(f"if (t < gap) {memory}[slot] = {c.joined(node, f'{memory}[slot]', f'{memory}[slot + gap]')};")
            text.add("BARRIER();")
            text.close()
            text.add(f"{total} = {memory}[r * {shape.together}];")
            text.add("BARRIER();")
        if self.slices == 1:
            self.body.finish(text, node, total)
            return
        kind = scratch_type(node.arithmetic)
        number = self.stage.reductions.index(node)
        text.add(f"if (there && t == 0) w{number}[(idx_t)GRP(1) * {self.space.rows} + own] = as_{kind}({total});")

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
        items = items if rows >= items * WORK_GROUP * info.compute_units else 1
        writer = _Writer(stage, space, _Shape(WORK_GROUP, 1))
        writer.apart(items)
        return [writer.kernel(name, (-(-rows // (WORK_GROUP * items)), 1, 1), WORK_GROUP)]
    shape = _shape(stage, space, info.compute_units)
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
