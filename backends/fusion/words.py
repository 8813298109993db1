"""Neighbours in whole words of up to 16 bytes: what GPUs read and write at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..engines.layouts import Axis
from .geometry import Place
from .values import STORAGE

BYTES = 16  # of a word, at most
_WORDS = {16: "uint4", 8: "uint2", 4: "uint", 2: "unsigned short", 1: "unsigned char"}


@dataclass(frozen=True)
class Words:
    """How the places of a launch are met, `count` neighbours along one axis at a time.

    Attributes
    ----------
    axis : Axis
        The one along which neighbours are.
    whole : frozenset of int
        Numbers of the places whose neighbours are words; others are met one by one.
    """

    count: int
    axis: Axis
    whole: frozenset[int] = frozenset()

    def step(self, place: Place) -> str:
        """Return C text of what is added to an offset for neighbour j."""
        stride = self.axis.strides[place.number]
        return "" if self.count == 1 or not stride else "j" if stride == 1 else f"j * {stride}"

    def shared(self, place: Place) -> bool:
        """Tell whether neighbours have one element in common."""
        return not self.axis.strides[place.number]

    def declared(self, place: Place, name: str) -> str:
        """Return a declaration of a place's neighbours, or an array of them: words w, elements e."""
        kind = place.value.memory_type
        size = min(self.count * kind.itemsize, BYTES)
        words = self.count * kind.itemsize // size
        return f"union {{ {_WORDS[size]} w[{words}]; {STORAGE[kind]}_s e[{self.count}]; }} {name};"

    def reading(self, place: Place, name: str, at: str) -> list[str]:
        """Return statements that read whole words."""
        return [f"{name}.w[{i}] = {word};" for i, word in enumerate(self._words(place, "const ", at))]

    def writing(self, place: Place, name: str, at: str) -> list[str]:
        """Return statements that write whole words."""
        return [f"{word} = {name}.w[{i}];" for i, word in enumerate(self._words(place, "", at))]

    def _words(self, place: Place, const: str, at: str) -> list[str]:
        size = self.count * place.value.memory_type.itemsize
        word = _WORDS[min(size, BYTES)]
        where = f"p{place.number} + {at}" if at else f"p{place.number}"
        return [f"(({const}GLOBAL {word} *)({where}))[{i}]" for i in range(max(size // BYTES, 1))]

    def aligned(self, places: Iterable[Place]) -> str:
        """Return C text that tells whether the memory of some places begins at whole words."""
        found = [place for place in places if place.number in self.whole]
        most = max(min(self.count * place.value.memory_type.itemsize, BYTES) for place in found)
        return f"(({' | '.join(f'(u64)p{place.number}' for place in found)}) & {most - 1}) == 0"


def words_of(
    places: Sequence[Place], axis: Axis, others: Sequence[Axis], most: int, tail: bool = False, each: int = 1
) -> Words:
    """Return how places are met along an axis.

    Parameters
    ----------
    others
        The other axes over which the places move.
    most
        Neighbours at most, a power of two.
    tail
        Whether the last neighbours may be fewer, where all places are in words or have one element in common.
    each
        Words that the shortest neighbours may take.
    """
    memory = [place for place in places if place.memory]
    sizes = [place.value.memory_type.itemsize for place in memory if axis.strides[place.number] == 1]
    count = min(most, each * BYTES // min(sizes, default=BYTES))
    while count > 1:
        whole = frozenset(p.number for p in memory if _whole(p, axis, others, count))
        simple = all(p.number in whole or not axis.strides[p.number] for p in places)
        if whole and (axis.size % count == 0 or (tail and simple and axis.size > count)):
            return Words(count, axis, whole)
        count //= 2
    return Words(1, axis)


def _whole(place: Place, axis: Axis, others: Sequence[Axis], count: int) -> bool:
    n = place.number
    return axis.strides[n] == 1 and all(one.strides[n] % count == 0 for one in others if one.size > 1)
