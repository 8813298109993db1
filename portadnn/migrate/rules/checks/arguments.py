"""Rules on arguments that data cannot say: strides, constant pointers, numbers for enumerators."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...events import Event
from ...names import shared_enumerations
from ..registry import check
from ..shapes import number, packed
from ..situation import Hit, Situation
from .translation import in_miopen

_AXES = (("n", "nStride"), ("c", "cStride"), ("h", "hStride"), ("w", "wStride"))


@check("strides", "type")
def strided(situation: Situation) -> Iterator[Hit]:
    """Find a 4-D tensor whose strides are not those of a packed one in NCHW."""
    known = [(number(situation.value(dim)), number(situation.value(stride))) for dim, stride in _AXES]
    dims, strides = ([pair[i] for pair in known] for i in (0, 1))
    if None not in dims and None not in strides:
        plain = packed(tuple(int(d) for d in dims if d is not None), "nchw")
        gaps = any(d != 1 and s != p for d, s, p in zip(dims, strides, plain, strict=True))
    else:
        channels_last = strides[1] == 1 and strides[3] is None and dims[1] != 1
        gaps = (
            channels_last
            or (strides[3] not in (None, 1) and dims[3] not in (None, 1))
            or more_channels(situation.event)
        )
    if gaps:
        texts = [a.text for _, stride in _AXES if (a := situation.argument(stride))]
        yield Hit(words={"strides": ", ".join(texts), "type": in_miopen(situation, "dataType")})


def more_channels(event: Event) -> bool:
    """Whether the stride of images is written as another number of channels times height and width."""
    texts = {name: a.text for name in ("nStride", "c", "h", "w") if (a := event.argument(name)) is not None}
    if len(texts) < 4:
        return False
    stride, dims = factors_of(texts["nStride"]), [factors_of(texts[name]) for name in ("c", "h", "w")]
    for factor in (*dims[1], *dims[2]):
        if factor not in stride:
            return False
        stride.remove(factor)
    return bool(stride) and sorted(stride) != sorted(dims[0]) and not any(f.isdigit() for f in (*dims[1], *dims[2]))


def factors_of(text: str) -> list[str]:
    """Return the factors of a product as it is written: ``["a", "f(b)"]`` of ``a * f(b)``."""
    result, depth, last = [], 0, 0
    text = re.sub(r"\s+", "", text)
    while text.startswith("(") and text.endswith(")") and _closes(text) == len(text) - 1:
        text = text[1:-1]
    for place, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if (
            depth == 0
            and letter in "+-/%?:"
            and text[place : place + 2] not in ("->", "::")
            and text[place - 1 : place + 1] not in ("->", "::")
        ):
            return [text]
        if depth == 0 and letter == "*":
            result.append(text[last:place])
            last = place + 1
    return [*result, text[last:]]


def _closes(text: str) -> int:
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            return place
    return -1


@check("number", "parameter", "was", "becomes", "instead")
def number_for_enumerator(situation: Situation) -> Iterator[Hit]:
    """Find an enumerator by a number that is another one's in MIOpen."""
    if situation.event.origin != "source":
        return  # logs have what the library read
    if situation.event.function.endswith("WorkspaceSize"):
        return  # MIOpen's takes no algorithm
    for parameter in situation.event.parameters:
        enumeration = shared_enumerations().get(parameter.type)
        value = situation.value(parameter.name)
        if enumeration is None or value.kind != "known" or not isinstance(value.data, int):
            continue
        if isinstance(value.data, bool):
            continue  # false is no enumerator: another function of that name is called, such as torch::name
        was = next((v for v in enumeration.values if v.cudnn and v.number == value.data), None)
        if was is None or was.miopen_number == value.data:
            continue
        other = next((v.miopen for v in enumeration.values if v.miopen and v.miopen_number == value.data), None)
        argument = situation.argument(parameter.name)
        yield Hit(
            about=parameter.name,
            words={
                "number": argument.text if argument else str(value.data),
                "parameter": parameter.name,
                "was": was.cudnn or "",
                "becomes": other or "nothing",
                "instead": was.miopen or f"no counterpart of {was.cudnn}",
            },
        )
