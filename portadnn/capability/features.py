"""The features that tables are asked about: each operation's choices, and a small problem line for each.

A feature is a choice along one axis (``dtype=f16``, ``layout=nhwc``, ``mode=max`` ...) with everything else as plain as
can be. :func:`line` combines choices freely, which the tests do.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from ..enums import DnnEnum
from ..errors import NotSupported
from ..operation import operation
from ..problem import FLOAT_TYPES, Problem, read_line

DTYPES = tuple(dtype.code for dtype in FLOAT_TYPES)


@dataclass(frozen=True)
class Feature:
    """One choice of an operation, and a problem that makes it.

    Attributes
    ----------
    op, axis, value : str
        Such as ``"softmax_forward"``, ``"dtype"``, ``"f16"``; axis and value are empty for the plainest problem.
    line : str
        A problem line, which need not be valid: how many dims a convolution takes is a feature, too.
    algo : DnnEnum or None
        The algorithm that is asked for.
    """

    op: str
    axis: str
    value: str
    line: str
    algo: DnnEnum | None = None

    @property
    def name(self) -> str:
        """The choice in words."""
        return f"{self.axis}={self.value}" if self.axis else "plain"

    @functools.cached_property
    def problem(self) -> Problem:
        """The problem, which is not validated."""
        return read_line(self.line, valid=False)[0]

    @functools.cached_property
    def possible(self) -> bool:
        """Whether portadnn's operation takes such a problem, whatever computes it."""
        try:
            self.problem.validate()
        except NotSupported:
            return False
        return True

    @functools.cached_property
    def scalars(self) -> dict[str, float]:
        """The run-time numbers that the line gives."""
        return read_line(self.line, valid=False)[1]


@functools.cache
def _enums(op: str) -> dict[str, type[DnnEnum]]:
    """Return the fields of an operation that are enumerations."""
    kind = operation(op).problem
    hints = get_type_hints(kind)
    return {
        f.name: hints[f.name]
        for f in fields(kind)
        if isinstance(hints[f.name], type) and issubclass(hints[f.name], DnnEnum)
    }


@functools.cache
def axes(op: str) -> dict[str, tuple[Any, ...]]:
    """Return the axes of choice of an operation, each with its values, the plain one first where there is one.

    Raises
    ------
    BadParam
        There is no such operation.
    """
    record = operation(op)
    made, kind = record.features, record.problem
    found: dict[str, tuple[Any, ...]] = {}
    if kind.tensor_names() != ("states",):
        found["dtype"] = DTYPES
    found |= {"rank": made.ranks, "layout": made.layouts, "size": made.sizes}
    found |= {name: tuple(m.name.lower() for m in members) for name, members in _enums(op).items()}
    if "compute_type" in {f.name for f in fields(kind)}:
        found["compute_type"] = ("none", "f32", "f64")
    found |= dict(made.more)
    if kind.algorithms is not None:
        found["algo"] = tuple(member.name.lower() for member in kind.algorithms)
    return {axis: values for axis, values in found.items() if len(values) > 1}


def line(op: str, **choices: Any) -> str:
    """Return the line of a small problem with these choices, which may be one that no backend takes."""
    made, kind = operation(op).features, operation(op).problem
    c: dict[str, Any] = {"op": op, "dtype": "f32", **made.given, **choices}
    spatial = c.get("rank", 4) - 2
    for name in ("stride", "dilation", "padding", "window"):
        if name in c:
            c[name] = (int(c[name]),) * spatial if not isinstance(c[name], tuple) else c[name]
    c.update(made.implied(c))
    tensors = made.tensors(c)
    known = {f.name for f in fields(kind)} - set(kind.tensor_names()) | set(kind.scalars)
    words = [op, *(f"{name}={text}" for name, text in tensors.items())]
    words += [
        f"{name}={_word(value)}"
        for name, value in c.items()
        if name in known - set(tensors) and value != () and (value != "none" or name in _enums(op))
    ]
    return " ".join(words)


def _word(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


@functools.cache
def features(op: str) -> tuple[Feature, ...]:
    """Return the plainest problem of an operation, and one for each choice.

    Raises
    ------
    BadParam
        There is no such operation.
    """
    found = [Feature(op, "", "", line(op))]
    for axis, values in axes(op).items():
        for value in values:
            if axis == "algo" and (algorithms := operation(op).algorithms) is not None:
                found.append(Feature(op, axis, value, line(op), algorithms.parse(value)))
            else:
                found.append(Feature(op, axis, _word(value) or "none", line(op, **{axis: value})))
    return tuple(found)
