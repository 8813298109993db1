"""Rules on arguments that data cannot say: strides, constant pointers, numbers for enumerators."""

from __future__ import annotations

from collections.abc import Iterator

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
        gaps = strides[3] not in (None, 1) and dims[3] not in (None, 1)
    if gaps:
        texts = [a.text for _, stride in _AXES if (a := situation.argument(stride))]
        yield Hit(words={"strides": ", ".join(texts), "type": in_miopen(situation, "dataType")})


@check("number", "parameter", "was", "becomes", "instead")
def number_for_enumerator(situation: Situation) -> Iterator[Hit]:
    """Find an enumerator by a number that is another one's in MIOpen."""
    if situation.event.origin != "source":
        return  # logs have what the library read
    for parameter in situation.event.parameters:
        enumeration = shared_enumerations().get(parameter.type)
        value = situation.value(parameter.name)
        if enumeration is None or value.kind != "known" or not isinstance(value.data, int):
            continue
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
