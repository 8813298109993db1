"""Texts for GPUs: launches with sums, of which work-items share the places of a result."""

from __future__ import annotations

from collections.abc import Sequence

from .. import expressions as c
from ..geometry import Place
from ..values import Node, Value
from ..writer import scratch_type
from .apart import Apart
from .shape import HELD, NEIGHBOURS, WORK_GROUP, power


class Together(Apart):
    """A launch's text; the passes over what is taken together, one after the other."""

    lists = False  # whether sums are arrays of those of neighbours

    def together(self) -> None:
        """Write a launch with sums."""
        text, space, shape = self.text, self.space, self.shape
        self._begin(shape.results, shape.together, along=space.along)
        text.add(f"const int slot = r * {shape.together} + t;")
        if self.words.whole:
            text.add(f"const bool wide = {self.words.aligned(space.places)};")
        self._hold()
        for number in range(self.stage.last_pass + 1):
            self._pass(number)
        if self.slices == 1:
            text.open("if (there && t == 0)")
            self.store_rows()
            text.close()

    def _begin(self, results: int, together: int, count: int = 1, along: bool = False) -> None:
        """Write which results a work-item has a part of, `count` of them; `along`: neighbours share a result."""
        text, rows = self.text, self.space.rows
        r, t = (f"lid / {together}", f"lid % {together}") if along else (f"lid % {results}", f"lid / {results}")
        own = f"(idx_t)GRP(0) * {results} + r"
        text.add("const int lid = LID(0);")
        text.add(f"const int r = {r}, t = {t};")
        text.add(f"const idx_t own = ({own}) * {count};" if count > 1 else f"const idx_t own = {own};")
        text.add(f"const bool there = own < {rows};")
        text.add(f"const idx_t item = there ? own : {rows - count};")
        self.base = self.places = self.offsets("b", self.space.kept, "item", {})

    def _limits(self, unit: int) -> None:
        """Write where the slice of a work-group begins and ends, at multiples of `unit` places."""
        length = self.space.length
        each = -(-length // (self.slices * unit)) * unit
        self.text.add(f"const idx_t low = (idx_t)GRP(1) * {each};")
        self.text.add(f"const idx_t high = low + {each} < {length} ? low + {each} : {length};")

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
        sums = [node for node in reductions if not node.samples]
        samples = [node for node in reductions if node.samples]
        self.alone(samples)
        if samples and any(self.stage.inner(value) for value in self.stage.stores):
            text.add("BARRIER();")  # before anything is written, which may be in an input's place
        self.begin(sums)
        if sums or stores:
            self._together(sums, stores)

    def _together(self, reductions: list[Node], stores: list[Value]) -> None:
        """Write the loop over what is taken together, and what comes of it."""
        body = self.body
        values = body.inner_values([*stores, *(node.inputs[0] for node in reductions)])
        read = [body.loaded[id(value)] for value in values if id(value) in body.loaded]
        if self.slices > 1:
            self._limits(self.words.count)
        self._loop()
        if not self.holds:
            self._read(read)
        self._neighbours(read, values, reductions, stores)
        self._end()
        for node in reductions:
            self._total(node)

    def _neighbours(
        self, read: list[Place], values: list[Value], nodes: list[Node], stores: list[Value], known: Sequence[Node] = ()
    ) -> None:
        """Write what happens to neighbours that have been read; of each, `known` reductions have their numbers."""
        body, text, count = self.body, self.text, self.words.count
        self._common(read)
        held = "[u]" if self.holds else ""
        self.raw.update({place.number: f"x{place.number}{held}.e[j]" for place in self._whole(read)})
        written = {body.names[id(value)]: body.stored[id(value)] for value in stores}
        whole = self._whole(list(written.values()))
        for place in whole:
            text.add(self.words.declared(place, f"y{place.number}"))
        if count > 1 or self.lists:
            self._each_neighbour()
        self.inside = count > 1
        for node in known:
            body.finish(text, node, self.sums[node])
        body.state(text, values)
        for node in nodes:
            self.take(node, c.term(node, body.operand(node.inputs[0], node.arithmetic)))
        for name, place in written.items():
            if place in whole:
                self.store(place, name)
        if len(whole) < len(written):
            text.open("if (there)")
            for name, place in written.items():
                if place not in whole:
                    self.store(place, name)
            text.close()
        self.inside = False
        self.raw = {}
        if count > 1 or self.lists:
            text.close()
        if whole:
            text.open("if (there)")
            self._write(whole)
            text.close()

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
        number = self.stage.totals.index(node)
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
        """Write the launch that joins slices: work-items share those of a result."""
        text, space = self.text, self.space
        together, results = self.joining
        self.shared = True
        self._begin(results, together)
        self.alone([node for node in self.stage.reductions if node.samples])
        self.begin(self.stage.totals)
        for i, node in enumerate(self.stage.totals):
            total = self.sums[node]
            memory = f"shared_{node.arithmetic}"
            text.open(f"for (idx_t slice = t; slice < {self.slices}; slice += {together})")
            self.take(node, f"({node.arithmetic})(w{i}[slice * {space.rows} + item])")
            text.close()
            text.add(f"{memory}[lid] = {total};")
            text.add("BARRIER();")
            text.open(f"for (int gap = {together // 2}; gap > 0; gap /= 2)")
            both = c.joined(node, f"{memory}[lid]", f"{memory}[lid + gap * {results}]")
            text.add(f"if (t < gap) {memory}[lid] = {both};")
            text.add("BARRIER();")
            text.close()
            text.add(f"{total} = {memory}[r];")
            text.add("BARRIER();")
            self.body.finish(text, node, total)
        text.open("if (there && t == 0)")
        self.store_rows()
        text.close()

    @property
    def joining(self) -> tuple[int, int]:
        """The work-items that share a result's slices, and the results of a work-group."""
        together = power(self.slices, NEIGHBOURS)
        return together, WORK_GROUP // together

    def store_rows(self) -> None:
        self.places = self.base
        super().store_rows()
