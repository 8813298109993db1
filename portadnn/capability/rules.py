"""What the rules of a capability table say about a problem: facts by name, and conditions on them.

A condition is ``name = wanted``. It holds when any value of the fact fits any of the wanted ones: ``dtype = "f16"``
holds for a problem with a tensor of float16, ``stride = "!= 1"`` for one with a stride above 1 in any dimension.
"""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..enums import DataType, DnnEnum, TensorFormat
from ..problem import ALIGNMENT, Problem, TensorSpec, packed_strides

Values = tuple[Any, ...]
_COMPARISON = re.compile(r"(==|!=|<=|>=|<|>)\s*(\S+)")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


def fits(pattern: str, text: str) -> bool:
    """Tell whether a text is the pattern, or begins with it where that ends in a star."""
    return text == pattern or (pattern.endswith("*") and text.startswith(pattern[:-1]))


def _values(value: Any) -> Values:
    """Return a field's value as conditions compare it: names in small letters, codes of types, numbers."""
    if value is None:
        return ("none",)
    if isinstance(value, DataType):
        return (value.code,)
    if isinstance(value, DnnEnum):
        return (value.name.lower(),)
    if isinstance(value, (tuple, list, frozenset)):
        return tuple(atom for item in value for atom in _values(item))
    return (value,)


def _rows_packed(spec: TensorSpec, axes: int) -> bool:
    """Tell whether the last `axes` dims lie packed in row-major order."""
    plain = packed_strides(spec.dims)
    inner = list(zip(spec.dims, spec.strides, plain, strict=True))[len(spec.dims) - axes :]
    return all(d <= 1 or s == p for d, s, p in inner)


def _layout(spec: TensorSpec) -> str:
    return "strided" if spec.format is None else spec.format.name.lower()


_OF_TENSORS: dict[str, Callable[[TensorSpec], Any]] = {
    "dtype": lambda spec: spec.dtype,
    "rank": lambda spec: len(spec.dims),
    "layout": _layout,
    "packed": lambda spec: spec.is_packed(),
    "packed_nhwc": lambda spec: spec.is_packed(TensorFormat.NHWC),
    "chw_packed": lambda spec: _rows_packed(spec, len(spec.dims) - 1),
    "hw_packed": lambda spec: _rows_packed(spec, len(spec.dims) - 2),
    "w_stride": lambda spec: spec.strides[-1] if spec.dims[-1] > 1 else 1,
    "dims": lambda spec: spec.dims,
    "n": lambda spec: spec.dims[0],
    "c": lambda spec: spec.dims[1],
}


def _mixed(specs: Values) -> bool:
    """Tell whether packed tensors lie in different formats; one that fits both goes with either."""
    packed = [spec for spec in specs if spec.format is not None]
    return not any(all(spec.is_packed(format) for spec in packed) for format in TensorFormat)


@dataclass
class Query:
    """A problem with its run-time numbers, algorithm and device, whose facts conditions ask for.

    Attributes
    ----------
    device : mapping or object
        Its entries or attributes are the facts ``device.kind``, ``device.fp64`` ...; what it lacks is unknown.
    """

    problem: Problem
    scalars: Mapping[str, float]
    algo: DnnEnum | None = None
    device: Any = None

    def __post_init__(self) -> None:
        self.known: dict[str, Values | None] = {}
        self.numbers = {**self.problem.scalars, **self.scalars}

    def fact(self, name: str) -> Values | None:
        """Return a fact's values; none at all where the problem has no such thing, and None where it is unknown."""
        if name not in self.known:
            self.known[name] = self._fact(name)
        return self.known[name]

    def _fact(self, name: str) -> Values | None:
        first, dot, rest = name.partition(".")
        if first == "device":
            return self._of_device(rest)
        if dot:
            spec = getattr(self.problem, first, None)
            return _values(_OF_TENSORS[rest](spec)) if isinstance(spec, TensorSpec) else ()
        if name in _DERIVED:
            return _values(_DERIVED[name](self))
        if name in self.numbers:
            return (self.numbers[name],)
        value = getattr(self.problem, name, ()) if name in _field_names(type(self.problem)) else ()
        return () if isinstance(value, TensorSpec) else _values(value)

    def _of_device(self, name: str) -> Values | None:
        if isinstance(self.device, Mapping):
            value = self.device.get(name)
        else:
            value = getattr(self.device, name, None)
            if value is None and self.device is not None:
                value = name in self.device.features
        return None if value is None else _values(value)

    @property
    def specs(self) -> tuple[TensorSpec, ...]:
        """The tensors, without byte buffers."""
        p = self.problem
        return tuple(spec for name, spec in zip(p.names, p.tensors, strict=True) if name not in p.raw)


def _field_names(kind: type[Problem]) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind))


def _sizes(query: Query, *names: str) -> Values:
    """Return the spatial sizes of the first of these tensors that there is."""
    specs = (getattr(query.problem, name, None) for name in names)
    return next((spec.dims[2:] for spec in specs if isinstance(spec, TensorSpec)), ())


def _image_size(query: Query) -> Values:
    return _sizes(query, "image", "x")


def _padded(query: Query) -> Values:
    padding = getattr(query.problem, "padding", ())
    return tuple(size + 2 * pad for size, pad in zip(_image_size(query), padding, strict=False))


def _where(query: Query, field: str, tensor: str) -> Values:
    """Return a field's numbers in the dimensions in which a tensor is larger than 1."""
    values = getattr(query.problem, field, ())
    return tuple(value for value, size in zip(values, _sizes(query, tensor), strict=False) if size > 1)


def _depthwise(query: Query) -> bool:
    image = getattr(query.problem, "image", None)
    groups = getattr(query.problem, "groups", 1)
    return image is not None and groups > 1 and groups == image.dims[1]


def _foreign_compute_type(query: Query) -> bool:
    """Tell whether sums are to be kept in another type than the one that belongs to the data's."""
    wanted = getattr(query.problem, "compute_type", None)
    return wanted is not None and wanted is not query.problem.dtype.accumulator


def _grid_size(query: Query) -> Values:
    spec = getattr(query.problem, "grid_spec", None)
    return () if spec is None else spec.dims[1:3]


def _gates(query: Query) -> Any:
    network = getattr(query.problem, "network", None)
    rows = query.problem.sequence.rows if network is not None else 0  # type: ignore[attr-defined]
    return () if network is None else network.mode.slots * network.units * rows


def _self_overlapping(query: Query) -> bool:
    problem = query.problem
    return any(getattr(problem, name).overlapping for name in problem.written if name not in problem.raw)


def _differing(query: Query) -> Values:
    """Return the names of inputs whose dims are not those of the first output."""
    problem = query.problem
    out = getattr(problem, problem.written[0]).dims if problem.written else ()
    inputs = [name for name in problem.names if name in problem.inputs and name not in problem.raw]
    return tuple(name for name in inputs if getattr(problem, name).dims != out)


_DERIVED: dict[str, Callable[[Query], Any]] = {
    "algo": lambda q: q.algo,
    "dtype": lambda q: tuple({spec.dtype: 0 for spec in q.specs}),
    "rank": lambda q: len(q.specs[0].dims) if q.specs else (),
    "layout": lambda q: tuple({_layout(spec): 0 for spec in q.specs}),
    "mixed_layouts": lambda q: _mixed(q.specs),
    "mixed_types": lambda q: len({spec.dtype for spec in q.specs if spec.dtype.is_float}) > 1,
    "foreign_compute_type": _foreign_compute_type,
    "overlapping": lambda q: any(spec.overlapping for spec in q.specs),
    "self_overlapping": _self_overlapping,
    "zero_stride": lambda q: any(s == 0 and d > 1 for x in q.specs for d, s in zip(x.dims, x.strides, strict=True)),
    "empty": lambda q: any(spec.size == 0 for spec in q.specs),
    "elements": lambda q: max((max(spec.span, spec.size) for spec in q.specs), default=0),
    "present": lambda q: q.problem.names,
    "differing": _differing,
    "filter_size": lambda q: _sizes(q, "filter"),
    "image_size": _image_size,
    "image_points": lambda q: math.prod(_image_size(q)),
    "padded_size": _padded,
    "misaligned": lambda q: any(spec.alignment < ALIGNMENT for spec in q.specs),
    "doubled_padding": lambda q: tuple(2 * pad for pad in getattr(q.problem, "padding", ())),
    "result_size": lambda q: _sizes(q, "result"),
    "true_stride": lambda q: _where(q, "stride", "result"),
    "true_dilation": lambda q: _where(q, "dilation", "filter"),
    "window_size": lambda q: math.prod(getattr(q.problem, "window", ())),
    "depthwise": _depthwise,
    "grid_size": _grid_size,
    "grid_points": lambda q: math.prod(_grid_size(q)),
    "gates": _gates,
    "batches": lambda q: len(set(getattr(q.problem, "batch_sizes", ()))),
}


def is_fact(name: str, kind: type[Problem]) -> bool:
    """Tell whether problems of a class have such a fact."""
    first, dot, rest = name.partition(".")
    if first == "device":
        return bool(rest)
    if dot:
        return rest in _OF_TENSORS and (first in kind.tensor_names() or first in ("image", "filter", "result"))
    return name in _DERIVED or name in kind.scalars or name in _field_names(kind) - set(kind.tensor_names())


@dataclass(frozen=True)
class Condition:
    """A fact's name, and the values or comparisons of which one has to hold."""

    name: str
    wanted: Values

    def holds(self, query: Query) -> bool | None:
        """Tell whether the condition holds; None where that is unknown."""
        values = query.fact(self.name)
        if values is None:
            return None
        return any(_fits(want, values, query) for want in self.wanted)

    def __str__(self) -> str:
        words = [str(want).lower() if isinstance(want, bool) else str(want) for want in self.wanted]
        if len(words) == 1 and _COMPARISON.fullmatch(words[0]):
            return f"{self.name} {words[0]}"
        return f"{self.name}={','.join(words)}"


def _fits(want: Any, values: Values, query: Query) -> bool:
    return _test(want)(values, query) if isinstance(want, str) else want in values


@functools.cache
def _test(want: str) -> Callable[[Values, Query], bool]:
    """Return what a wanted text demands of a fact's values; tables hold few different ones and ask for them often."""
    comparison = _COMPARISON.fullmatch(want)
    if comparison is None:
        return _name_test(want)
    test, text = _OPERATORS[comparison[1]], comparison[2]
    try:
        number = float(text)
    except ValueError:
        return lambda values, query: _compares(test, values, text, query)
    return lambda values, query: any(test(value, number) for value in values if not isinstance(value, str))


def _name_test(want: str) -> Callable[[Values, Query], bool]:
    def text_fits(values: Values, query: Query) -> bool:
        if want.endswith("*"):
            return any(isinstance(value, str) and fits(want, value) for value in values)
        return want in values

    def parity_fits(values: Values, query: Query) -> bool:
        if values and isinstance(values[0], int):
            return any(value % 2 == (want == "odd") for value in values)
        return text_fits(values, query)

    return parity_fits if want in ("even", "odd") else text_fits


def _compares(test: Callable[[Any, Any], bool], values: Values, text: str, query: Query) -> bool:
    others = query.fact(text)
    if others:  # another fact, compared dimension by dimension
        return any(map(test, values, others if len(others) == len(values) else others * len(values)))
    return any(test(value, text) for value in values)


def all_hold(conditions: tuple[Condition, ...], query: Query) -> bool | None:
    """Tell whether all conditions hold; None where that depends on what is unknown."""
    found: bool | None = True
    for condition in conditions:
        held = condition.holds(query)
        if held is False:
            return False
        if held is None:
            found = None
    return found
