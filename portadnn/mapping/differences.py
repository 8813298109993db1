"""What separates two signatures, one of each library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .records import Parameter


@dataclass(frozen=True)
class Differences:
    """What separates two signatures; names are cuDNN's, but for `added`, which are MIOpen's.

    Attributes
    ----------
    dropped, added : tuple of str
        Parameters that only cuDNN's, only MIOpen's signature has.
    reordered : tuple of str
        Parameters that stand elsewhere among the common ones: the fewest whose moving gives MIOpen's order.
    renamed : dict of str to str
        Parameters that MIOpen calls otherwise.
    retyped : dict of str to (str, str)
        Parameters whose types do not correspond: neither equal but for const, nor the two libraries' same type.
    """

    dropped: tuple[str, ...]
    added: tuple[str, ...]
    reordered: tuple[str, ...]
    renamed: Mapping[str, str]
    retyped: Mapping[str, tuple[str, str]]


def compare(
    cudnn: Sequence[Parameter],
    miopen: Sequence[Parameter],
    renamed: Mapping[str, Sequence[str]],
    same_types: frozenset[tuple[str, str]] = frozenset(),
) -> Differences:
    """Return what separates two signatures; `renamed` pairs parameters that have different names."""
    places = {p.name.lower(): i for i, p in enumerate(miopen)}
    others = {name.lower(): names for name, names in renamed.items()}
    pairs: dict[int, int] = {}  # of cuDNN's parameter: MIOpen's
    for i, parameter in enumerate(cudnn):
        for name in (*others.get(parameter.name.lower(), ()), parameter.name):
            place = places.get(name.lower())
            if place is not None and place not in pairs.values():
                pairs[i] = place
                break
    kept = _longest_rising(list(pairs.values()))
    both = {i: (cudnn[i], miopen[j]) for i, j in pairs.items()}
    return Differences(
        dropped=tuple(p.name for i, p in enumerate(cudnn) if i not in pairs),
        added=tuple(p.name for j, p in enumerate(miopen) if j not in pairs.values()),
        reordered=tuple(both[i][0].name for i, j in pairs.items() if j not in kept),
        renamed={a.name: b.name for a, b in both.values() if a.name.lower() != b.name.lower()},
        retyped={a.name: (a.type, b.type) for a, b in both.values() if not _same_type(a.type, b.type, same_types)},
    )


def _longest_rising(numbers: Sequence[int]) -> set[int]:
    """Return the members of the longest rising subsequence."""
    best: list[list[int]] = []
    for i, number in enumerate(numbers):
        before = [best[k] for k in range(i) if numbers[k] < number]
        best.append([*_longest(before), number])
    return set(_longest(best))


def _longest(lists: Sequence[list[int]]) -> list[int]:
    longest: list[int] = []
    for numbers in lists:
        if len(numbers) > len(longest):
            longest = numbers
    return longest


def _same_type(a: str, b: str, same_types: frozenset[tuple[str, str]]) -> bool:
    a, b = (" ".join(t.replace("[]", " *").replace("*", " * ").replace("const ", "").split()) for t in (a, b))
    a, b = (t.replace("unsigned int", "unsigned") for t in (a, b))
    bases = a.split()[0], b.split()[0]
    if bases in same_types:
        return a.count("*") == b.count("*")
    return a.removeprefix("cudnn") == b.removeprefix("miopen")
