"""Texts for GPUs: sums of a slice of the places, across memory."""

from __future__ import annotations

from .. import expressions as c
from ..values import Node
from ..writer import scratch_type
from .shape import WORK_GROUP
from .together import Together


class Slice(Together):
    """Sums of a slice across memory: each work-item has those of neighbouring results."""

    lists = True

    def together(self) -> None:
        text, space, shape, count = self.text, self.space, self.shape, self.words.count
        self._begin(shape.results, shape.together, count)
        if self.words.whole:
            text.add(f"const bool wide = {self.words.aligned(space.places)};")
        for node in self.stage.reductions:
            text.add(f"{node.arithmetic} {self.sums[node]}[{count}];")
        self.sums = {node: f"{name}[j]" for node, name in self.sums.items()}
        self._each_neighbour()
        self.inside = True
        self.sample(self._samples)
        self.inside = False
        for node in self.stage.totals:
            text.add(f"{self.sums[node]} = {c.splat(c.sum_of(node).neutral, node.arithmetic)};")
        text.close()
        self._add()
        for number, node in enumerate(self.stage.totals):
            self._leave(number, node)

    @property
    def _samples(self) -> list[Node]:
        return [node for node in self.stage.reductions if node.samples]

    def _add(self) -> None:
        body, text, space = self.body, self.text, self.space
        stage = self.stage
        stores = [value for value in stage.stores if stage.inner(value)]
        roots = [*stores, *(node.inputs[0] for node in stage.totals)]
        values = [*body.row_values(roots), *body.inner_values(roots)]
        read = [body.loaded[id(value)] for value in values if id(value) in body.loaded]
        self._limits(1)
        text.open(f"for (idx_t o = low + t; o < high; o += {self.shape.together})")
        self.places = self.offsets("r", space.reduced, "o", self.base)
        self._read(read)
        self._neighbours(read, values, stage.totals, stores, self._samples)
        text.close()

    def _leave(self, number: int, node: Node) -> None:
        """Write what joins the sums of a work-group, and leaves them in the workspace."""
        text, shape, memory = self.text, self.shape, f"shared_{node.arithmetic}"
        self._each_neighbour()
        text.add(f"{memory}[j * {WORK_GROUP} + lid] = {self.sums[node]};")
        text.close()
        text.add("BARRIER();")
        text.open(f"for (int gap = {shape.together // 2}; gap > 0; gap /= 2)")
        text.open("if (t < gap)")
        self._each_neighbour()
        ours = f"{memory}[j * {WORK_GROUP} + lid]"
        theirs = f"{memory}[j * {WORK_GROUP} + lid + gap * {shape.results}]"
        text.add(f"{ours} = {c.joined(node, ours, theirs)};")
        text.close()
        text.close()
        text.add("BARRIER();")
        text.close()
        text.open("if (there && t == 0)")
        self._each_neighbour()
        place = f"(idx_t)GRP(1) * {self.space.rows} + own + j"
        text.add(f"w{number}[{place}] = as_{scratch_type(node.arithmetic)}({memory}[j * {WORK_GROUP} + lid]);")
        text.close()
        text.close()
        if number + 1 < len(self.stage.totals):
            text.add("BARRIER();")
