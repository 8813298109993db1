"""Words for the corrected calls: MIOpen's names for what the program writes in cuDNN's."""

from __future__ import annotations

from collections.abc import Iterator

from .registry import check
from .shapes import enumerator, miopen_name
from .situation import Hit, Situation


def _translated(situation: Situation, *names: str) -> str:
    argument = situation.argument(*names)
    if argument is None:
        return names[0]
    text = " ".join(argument.text.split())
    known = enumerator(argument.value)
    return miopen_name(known or text.rpartition("::")[2]) if known or text.rpartition("::")[2] != text else miopen_name(text)


@check("type", "mode", "algo")
def translated(situation: Situation) -> Iterator[Hit]:
    """Always true; brings MIOpen's names for types, modes and algorithms."""
    yield Hit(
        words={
            "type": _translated(situation, "dataType", "mathPrec", "compType"),
            "mode": _translated(situation, "mode", "cellMode", "lrnMode"),
            "algo": _translated(situation, "algo"),
        }
    )
