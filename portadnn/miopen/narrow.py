"""8-bit floats, which MIOpen has in convolutions alone: what descriptors say of them, and their numbers in graphs.

miopenFloat8 has 4 bits of exponent with the bias 8 and 3 of mantissa, miopenBFloat8 5 with the bias 16 and 2; the byte
0x80 is NaN, there is no infinity and no negative zero (src/CMakeLists.txt: MIOPEN_FP8_IEEE_EXPONENT_BIAS is off).
Graphs know the formats of OCP, whose bias is one less: a number is rounded as its double is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import graph as graphs
from ..problem import TensorSpec
from .generated.enums import miopenDataType_t

FLOAT8, BFLOAT8 = miopenDataType_t.miopenFloat8_fnuz, miopenDataType_t.miopenBFloat8_fnuz
NARROW = (FLOAT8, BFLOAT8)


@dataclass(frozen=True)
class NarrowSpec(TensorSpec):
    """A tensor of bytes that are 8-bit floats, or one that convolutions round to them.

    Attributes
    ----------
    kind
        MIOpen's type of the elements.
    cast
        What convolutions round them to first; None for nothing.
    """

    kind: miopenDataType_t = miopenDataType_t.miopenFloat
    cast: miopenDataType_t | None = None

    @property
    def stored(self) -> bool:
        """Whether the elements are 8-bit floats."""
        return self.kind in NARROW


def plain(spec: TensorSpec) -> TensorSpec:
    """Return the layout alone."""
    return TensorSpec(spec.dtype, spec.dims, spec.strides) if isinstance(spec, NarrowSpec) else spec


@dataclass(frozen=True)
class Format:
    """One of the two types.

    Attributes
    ----------
    ocp
        OCP's type with as many bits.
    largest
        The largest number.
    bound
        Below it (E4M3: up to it) a number's double is one of OCP's type.
    step
        Between numbers near 0.
    share
        Of a number, more than half of the step to the next and less than one and a half, wherever it lies.
    """

    ocp: Any
    largest: float
    bound: float
    step: float
    share: float


FORMATS = {
    FLOAT8: Format(graphs.data_type.FP8_E4M3, 240.0, 232.0, 2.0**-10, 0.078125),
    BFLOAT8: Format(graphs.data_type.FP8_E5M2, 57344.0, 16384.0, 2.0**-17, 0.15625),
}


def near(graph: Any, x: Any, kind: miopenDataType_t) -> Any:
    """Return numbers rounded to the nearest, ties to even; saturated, but NaN for infinity (hip_f8_impl.hpp)."""
    form, size = FORMATS[kind], graph.abs(x)
    small = graph.mul(graph.identity(graph.mul(x, 2.0)).set_data_type(form.ocp), 0.5)
    if kind is FLOAT8:
        ends = graph.binary_select(form.largest, -form.largest, graph.cmp_gt(x, 0.0))
        found = graph.binary_select(ends, small, graph.cmp_gt(size, form.bound))
    else:
        large = graph.identity(x).set_data_type(form.ocp)
        found = graph.binary_select(large, small, graph.cmp_gt(size, form.bound))
    return graph.add(found, graph.sub(x, x))


def drawn(graph: Any, x: Any, kind: miopenDataType_t, seed: int) -> Any:
    """Return numbers rounded to one of their neighbours, by chance: in the mean they are what they were."""
    form, first = FORMATS[kind], near(graph, x, kind)
    rest = graph.sub(x, first)
    step = graph.max(graph.mul(graph.abs(first), form.share), 0.75 * form.step)
    towards = graph.binary_select(step, graph.neg(step), graph.cmp_gt(rest, 0.0))
    second = near(graph, graph.add(first, towards), kind)
    gap = graph.abs(graph.sub(second, first))
    chance = graph.rng(x.get_dim(), graphs.rng_distribution.UNIFORM, seed)
    return graph.binary_select(second, first, graph.cmp_lt(graph.mul(chance, gap), graph.abs(rest)))


def decoded(graph: Any, number: Any, byte: Any, kind: miopenDataType_t) -> Any:
    """Return the numbers of bytes, given as OCP's numbers and as signed integers."""
    found = graph.binary_select(graph.div(number, number), graph.mul(number, 0.5), graph.cmp_eq(byte, -128.0))
    if kind is FLOAT8:  # what is NaN in OCP's
        found = graph.binary_select(240.0, found, graph.cmp_eq(byte, 127.0))
        return graph.binary_select(-240.0, found, graph.cmp_eq(byte, -1.0))
    high = graph.mul(graph.sub(byte, 120.0), 8192.0)  # infinity and NaN in OCP's: 2**15 and more
    low = graph.mul(graph.add(byte, 8.0), -8192.0)
    found = graph.binary_select(high, found, graph.cmp_ge(byte, 124.0))
    return graph.binary_select(low, found, graph.logical_and(graph.cmp_ge(byte, -4.0), graph.cmp_lt(byte, 0.0)))


def doubled(graph: Any, y: Any, kind: miopenDataType_t) -> Any:
    """Return numbers, rounded before, as they are stored in OCP's type: the first step to their bytes."""
    return graph.mul(y, 2.0).set_data_type(FORMATS[kind].ocp)


def encoded(graph: Any, y: Any, byte: Any, kind: miopenDataType_t) -> Any:
    """Return the bytes of numbers, as signed integers, given those of :func:`doubled`."""
    form, above = FORMATS[kind], graph.cmp_gt(y, 0.0)
    if kind is FLOAT8:
        far = graph.binary_select(127.0, -1.0, above)
    else:
        steps = graph.mul(y, 1 / 8192)
        far = graph.binary_select(graph.add(steps, 120.0), graph.sub(-8.0, steps), above)
    found = graph.binary_select(far, byte, graph.cmp_gt(graph.abs(y), form.bound * (1 if kind is FLOAT8 else 1.75)))
    found = graph.binary_select(0.0, found, graph.cmp_eq(y, 0.0))
    return graph.binary_select(found, -128.0, graph.cmp_eq(y, y))
