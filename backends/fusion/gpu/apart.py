"""Texts for GPUs: what a work-item reads and writes of neighbours, and launches without sums."""

from __future__ import annotations

from collections.abc import Sequence

from ..geometry import Place, Space
from ..launches import Stage
from ..values import STORAGE
from ..writer import Offsets, Writer, added
from .shape import WORK_GROUP, Shape


def element(place: Place, at: str) -> str:
    """Return the text of an element in memory, from offset `at` on."""
    return f"p{place.number}[{at or '0'}]"


def loaded(place: Place, at: str, raw: str | None = None) -> str:
    """Return the text of the register that a place gives; `raw` is its element where that has been read already."""
    if not place.memory:
        return f"(I)({at or '0'})"
    return f"of_{STORAGE[place.value.memory_type]}({raw or element(place, at)})"


def stored(place: Place, where: str, name: str) -> str:
    """Return the statement that stores a register as the element `where`."""
    return f"{where} = as_{STORAGE[place.value.memory_type]}({name});"


class Apart(Writer):
    """A launch's text; each work-item has some neighbours j."""

    def __init__(self, stage: Stage, space: Space, shape: Shape) -> None:
        super().__init__(stage, space, shape.slices)
        self.shape, self.words = shape, shape.words
        self.places: Offsets = {}
        self.raw: dict[int, str] = {}  # elements that have been read already, by the place's number
        self.inside = False  # of the loop over neighbours j
        self.loads = space.places[: len(stage.loads)]
        self.holds = False

    def load(self, place: Place) -> str:
        return loaded(place, self._at(place), self.raw.get(place.number))

    def _at(self, place: Place) -> str:
        return added(self.places[place.number], self.words.step(place) if self.inside else "")

    def _element(self, place: Place) -> str:
        return element(place, self._at(place))

    def store(self, place: Place, name: str) -> None:
        whole = self.inside and place.number in self.words.whole
        self.text.add(stored(place, f"y{place.number}.e[j]" if whole else self._element(place), name))

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
        lines = [words.reading(p, f"x{p.number}{held}", self.places[p.number]) for p in whole]
        self._moved(whole, lines, "x{n}" + held + ".e[j] = {p};", tail or "j")

    def _moved(self, whole: Sequence[Place], lines: Sequence[list[str]], single: str, neighbour: str = "j") -> None:
        """Write what moves places in words where they are aligned; `single` moves element p of place n otherwise."""
        text = self.text
        if not whole:
            return
        text.open("if (wide)")
        for line in (one for of_place in lines for one in of_place):
            text.add(line)
        text.close()
        text.open("else")
        self._each_neighbour()
        for place in whole:
            at = added(self.places[place.number], neighbour)
            text.add(single.format(n=place.number, p=f"p{place.number}[{at}]"))
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
        whole = self._whole(places)
        lines = [self.words.writing(p, f"y{p.number}", self.places[p.number]) for p in whole]
        self._moved(whole, lines, condition + "{p} = y{n}.e[j];")

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
