"""What the texts for CPUs and GPUs share: offsets, sums under way, the kernel around them, joining slices of sums."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..engines.layouts import Axis
from . import expressions as c
from .body import Body, Text, Written, comment, signature
from .geometry import Place, Space, offset
from .launches import Stage
from .values import STORAGE, Node, Value

Offsets = Mapping[int, str]
_OFFSET = re.compile(r"^ *const idx_t (\w+) = .*;$")


def added(*terms: str) -> str:
    """Return C text of a sum."""
    return " + ".join(term for term in terms if term and term != "0") or "0"


def scratch_type(register: str) -> str:
    """Return the storage type of a register's partial sums."""
    return "f32" if register == "F" else "f64"


class Writer:
    """A launch's text under construction.

    Parameters
    ----------
    slices
        Parts into which the places of each result are cut, one for a work-group; several leave their sums in the
        workspace for :meth:`join`.

    Attributes
    ----------
    base, near : dict of int to str
        Offsets by a place's number: of a result, and within what is taken together for it.
    """

    def __init__(self, stage: Stage, space: Space, slices: int) -> None:
        self.stage, self.space, self.slices = stage, space, slices
        self.body = Body(stage, space, self.load)
        self.text = Text()
        self.base: Offsets = {}
        self.near: Offsets = {}
        self.shared = slices > 1  # whether sums of slices lie in the workspace
        self.sums = {node: f"a{i}" for i, node in enumerate(stage.reductions)}

    def load(self, place: Place) -> str:
        """Return the text of the register that a place gives."""
        raise NotImplementedError

    def store(self, place: Place, name: str) -> None:
        """Write what stores a register."""
        raise NotImplementedError

    def offsets(self, prefix: str, axes: Sequence[Axis], index: str, before: Offsets) -> Offsets:
        """Write the offsets of all places that move along some axes, and return everyone's."""
        found = {}
        for place in self.space.places:
            more = offset(axes, place.number, index)
            found[place.number] = before.get(place.number, "")
            if more:
                self.text.add(f"const idx_t {prefix}{place.number} = {added(found[place.number], more)};")
                found[place.number] = f"{prefix}{place.number}"
        return found

    # sums

    def begin(self, reductions: Sequence[Node]) -> None:
        """Declare the sums of a pass."""
        for node in reductions:
            start = "" if node.samples else f" = {c.splat(c.sum_of(node).neutral, node.arithmetic)}"
            self.text.add(f"{node.arithmetic} {self.sums[node]}{start};")

    def alone(self, nodes: Sequence[Node]) -> None:
        """Write what takes the first of the numbers, and its results."""
        self.begin(nodes)
        self.sample(nodes)
        for node in nodes:
            self.body.finish(self.text, node, self.sums[node])

    def sample(self, nodes: Sequence[Node]) -> None:
        """Write what takes the first of the numbers."""
        if not nodes:
            return
        self.text.open("")
        before, self.near = self.near, self.base
        self.body.state(self.text, self.body.inner_values([node.inputs[0] for node in nodes]))
        for node in nodes:
            first = self.first(node, self.body.operand(node.inputs[0], node.arithmetic))
            self.text.add(f"{self.sums[node]} = {first};")
        self.near = before
        self.text.close()

    def first(self, node: Node, value: str) -> str:
        """Return the first of a register's numbers, of those that are taken together."""
        return value

    def take(self, node: Node, value: str) -> None:
        """Add a value to a sum."""
        self.text.add(f"{self.sums[node]} = {c.joined(node, self.sums[node], value)};")

    def store_rows(self) -> None:
        """Write what is stored once for each result."""
        stores = [value for value in self.stage.stores if not self.stage.inner(value)]
        self.body.state(self.text, self.body.row_values(stores))
        for value in stores:
            self.store(self.body.stored[id(value)], self.body.names[id(value)])

    def join(self, item: str) -> None:
        """Write what adds up the slices' sums of result `item`, in order, and goes on with the result."""
        self.shared = True
        self.text.add(f"const idx_t item = {item};")
        self.base = self.offsets("b", self.space.kept, "item", {})
        self.alone([node for node in self.stage.reductions if node.samples])
        for i, node in enumerate(self.stage.totals):
            total = self.sums[node]
            self.text.add(f"{node.arithmetic} {total} = ({node.arithmetic})(w{i}[item]);")
            self.text.open(f"for (idx_t slice = 1; slice < {self.slices}; ++slice)")
            self.take(node, f"({node.arithmetic})(w{i}[slice * {self.space.rows} + item])")
            self.text.close()
            self.body.finish(self.text, node, total)
        self.store_rows()

    # the kernel

    def kernel(self, name: str, grid: tuple[int, ...], size: int, local: Sequence[str] = ()) -> Written:
        """Return what has been written as a kernel of `size` work-items in a group; `local` declares local memory."""
        listed, bound = self.body.parameters()
        scratch: tuple[tuple[str, int], ...] = ()
        if self.shared:
            scratch = tuple((node.arithmetic, self.slices * self.space.rows) for node in self.stage.totals)
        for i, (register, _) in enumerate(scratch):
            listed.append(f"TENSOR({c.SCALARS[register]}, w{i})")
            bound.append(f"BIND({c.SCALARS[register]}, w{i});")
        head = [*self.heading(name), signature(name, size, listed)]
        lines = [*(f"    {line}" for line in (*local, "GRID_WAIT();", *bound)), *self.text.lines, "}"]
        memory = tuple(place.value for place in self.space.places if place.memory)
        text = "\n".join([*head, *without_unused(lines)])
        return Written(name, text, memory, tuple(self.body.numbers), scratch, grid, (size, 1, 1))

    def heading(self, name: str) -> list[str]:
        """Return the comment above the text."""
        stage, places = self.stage, self.space.places
        loads = [place for place in places[: len(stage.loads)] if place.memory]
        stores = places[len(stage.loads) : len(stage.loads) + len(stage.stores)]
        shape = " x ".join(map(str, stage.dims))
        sums = f", taken together along axes {', '.join(map(str, stage.axes))}" if stage.sums else ""
        lines = [f"// {name}: {shape} places{sums}"]
        lines += [f"//   reads   {_told(place)}" for place in loads]
        lines += [f"//   reads   s{i} = {comment(value.name)}" for i, value in enumerate(self.body.numbers)]
        lines += [f"//   writes  {_told(place)}" for place in stores]
        return lines


def _told(place: Place) -> str:
    value: Value = place.value
    kind = STORAGE[value.memory_type]
    dims, strides = (",".join(map(str, numbers)) for numbers in (value.dims, value.strides))
    return f"p{place.number} = {comment(value.name)} ({kind}, dims {dims}, strides {strides})"


def without_unused(lines: Sequence[str]) -> list[str]:
    """Return a text's lines without the offsets that nothing reads."""
    kept = list(lines)
    while True:
        words = re.findall(r"\w+", "\n".join(kept))
        once = {word for word in set(words) if words.count(word) == 1}
        left = [line for line in kept if not ((found := _OFFSET.match(line)) and found[1] in once)]
        if len(left) == len(kept):
            return kept
        kept = left
