"""The gradient of indexing and slicing (MIOpen's getitem)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..arguments import as_integer, as_integers
from ..dispatch.execute import computes, execute
from ..enums import DataType
from ..errors import BadParam, NotSupported, shown
from ..handle import Handle
from ..problem import FLOAT_TYPES, Problem, TensorSpec
from .indexing import INDEX_TYPES

__all__ = ["getitem_backward"]

MOST_INDICES = 5
_INDICES = tuple(f"index{i}" for i in range(MOST_INDICES))
_RANKS = {"dy": (1, 8), "dx": (1, 8), "error": (1, 1), **dict.fromkeys(_INDICES, (1, 1))}


class Span(NamedTuple):
    """What slices and the offset leave of a dim of dx."""

    first: int
    step: int
    size: int

    @property
    def places(self) -> slice:
        """The same for Python's sequences."""
        return slice(self.first, self.first + self.step * self.size, self.step)


@dataclass(frozen=True)
class GetitemBackward(Problem):
    """dx[slices][offset:][..., index0, index1, ..., ...] += dy, each as often as it is named.

    error[i] = -1 where index i has a number out of range, whose rows of dy count nowhere.
    """

    op: ClassVar[str] = "getitem_backward"
    inputs: ClassVar[tuple[str, ...]] = ("dy", *_INDICES)
    outputs: ClassVar[tuple[str, ...]] = ("dx", "error")
    scalars: ClassVar[dict[str, float]] = {}
    absent: ClassVar[tuple[str, ...]] = (*_INDICES, "error")
    ranks: ClassVar[dict[str, tuple[int, int]]] = _RANKS
    letters: ClassVar[Mapping[str, Sequence[str]]] = {"error": "e", **dict.fromkeys(_INDICES, "s")}

    dy: TensorSpec
    dx: TensorSpec
    index0: TensorSpec | None = None
    index1: TensorSpec | None = None
    index2: TensorSpec | None = None
    index3: TensorSpec | None = None
    index4: TensorSpec | None = None
    error: TensorSpec | None = None
    dims: tuple[int, ...] = ()
    slices: tuple[int, ...] = ()
    offset: int = 0
    add: bool = False

    @property
    def indices(self) -> tuple[str, ...]:
        """Names of the indices that there are."""
        return tuple(name for name in _INDICES if getattr(self, name) is not None)

    @property
    def first(self) -> int:
        """The dim of dy that the indices count along; 0 without any."""
        return self.dims[0] if self.dims else 0

    @property
    def spans(self) -> tuple[Span, ...]:
        """What the slices and the offset leave of dx, for each dim."""
        spans = [Span(0, 1, size) for size in self.dx.dims]
        for dim, start, end, step in zip(*(self.slices[i::4] for i in range(4)), strict=True):
            old = spans[dim]
            size = -(-max(0, min(end, old.size) - start) // step)
            spans[dim] = Span(old.first + start * old.step, old.step * step, size)
        old = spans[0]
        spans[0] = Span(old.first + self.offset * old.step, old.step, max(0, old.size - self.offset))
        return tuple(spans)

    @property
    def rows(self) -> int:
        """In how many places of dx the indices can point."""
        return math.prod(self.spans[dim].size for dim in self.dims)

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        count = sum(values.get(name) is not None for name in _INDICES)
        if count and values.get("error") is None:
            values["error"] = TensorSpec.packed(DataType.INT32, (count,))

    def types(self, name: str) -> tuple[DataType, ...]:
        if name == "error":
            return (DataType.INT32,)
        return INDEX_TYPES if name in _INDICES else FLOAT_TYPES

    def validate(self) -> None:
        super().validate()
        count, rank = len(self.indices), len(self.dx.dims)
        if self.dy.dtype is not self.dx.dtype:
            raise BadParam(argument="dx.dtype", expected=f"{self.dy.dtype} as dy", got=self.dx.dtype)
        if self.indices != _INDICES[:count]:
            raise BadParam(argument="indices", expected="no gap among them", got=self.indices)
        if len(self.dims) != count or any(not 0 <= dim < rank for dim in self.dims):
            raise BadParam(argument="dims", expected=f"a dim of dx, below {rank}, for each index", got=self.dims)
        if self.dims != tuple(range(self.first, self.first + count)):
            raise BadParam(argument="dims", expected="dims one behind the other", got=self.dims)
        for name in self.indices:
            spec, wanted = getattr(self, name), self.index0
            assert wanted is not None
            if spec.dims != wanted.dims or spec.dtype is not wanted.dtype:
                raise BadParam(argument=name, expected=f"dims and type of index0, {wanted}", got=spec)
        if (self.error.dims if self.error else (0,)) != (count,):
            expected = f"({count},), one for each index" if count else "None without indices"
            raise BadParam(argument="error", expected=expected, got=shown(self.error))
        self._check_slices(rank)
        self._check_dy(count)

    def _check_slices(self, rank: int) -> None:
        if len(self.slices) % 4:
            raise BadParam(argument="slices", expected="dim, start, end, step of each", got=self.slices)
        for i in range(0, len(self.slices), 4):
            dim, start, end, step = one = self.slices[i : i + 4]
            if not 0 <= dim < rank or not 0 <= start <= end or step < 1:
                expected = f"a dim below {rank}, 0 <= start <= end, and a step from 1"
                raise BadParam(argument=f"slices[{i // 4}]", expected=expected, got=one)
        if self.offset < 0:
            raise BadParam(argument="offset", expected="0 or more", got=self.offset)

    def _check_dy(self, count: int) -> None:
        spans, dy = self.spans, self.dy.dims
        left = [span.size for i, span in enumerate(spans) if i not in self.dims]
        if count:
            assert self.index0 is not None
            left.insert(self.first, self.index0.dims[0])
        if len(dy) != len(left) or any(size > most for size, most in zip(dy, left, strict=True)):
            expected = f"at most {tuple(left)}, by dx, slices, offset and indices"
            raise BadParam(argument="dy.dims", expected=expected, got=dy)

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        return {"error"} & set(self.written) if self.add else set(self.written)

    def flops(self) -> int:
        return self.dy.size

    def reduction_length(self, output: str) -> int:
        return (self.dy.dims[self.first] if self.indices else 1) + self.add

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        indices = [arrays[name] for name in self.indices]
        words = {name: getattr(self, name) for name in ("dims", "slices", "offset", "add")}
        return [arrays["dy"], indices, arrays["dx"], arrays.get("error")], words


@computes
def getitem_backward(
    handle: Handle,
    dy: Any,
    indices: Sequence[Any],
    dx: Any,
    error: Any = None,
    *,
    dims: Sequence[int] = (),
    slices: Sequence[int] = (),
    offset: int = 0,
    add: bool = False,
) -> tuple[Any, Any]:
    """Compute the gradient of y = x[slices][offset:][..., index0, index1, ..., ...] (miopenGetitemBackward).

    Parameters
    ----------
    handle
        Where to compute.
    dy
        Tensor of 1 to 8 dims, float16, bfloat16, float32 or float64, any strides: dims as what is left of dx, but with
        one dim, along which the indices count, in place of the dims that they index. Each dim may be smaller; then the
        first places are meant.
    indices
        Up to 5 tensors of one dim and one size, int64 or int32. Negative numbers count from the end. A row of dy one of
        whose numbers is out of range counts nowhere.
    dx
        The gradient; type as dy, any strides.
    error
        int32, as many as indices: -1 for each that has a number out of range, else 0. None allocates it.
    dims
        The dims of dx that the indices are of, one behind the other.
    slices
        dim, start, end and step for each slice, one behind the other; an end behind the last place means the last.
    offset
        How many places of the first dim, after the slices, to pass over.
    add
        Whether to add to what dx holds; without it dx is 0 where nothing points.

    Returns
    -------
    (array, array)
        dx and error, which is None without indices. What points to one place is added in the order of dy, so that
        results are the same each time.

    Raises
    ------
    BadParam
        Dims or types that do not match, or slices that are none.
    NotSupported
        More than 5 indices.
    """
    if not isinstance(indices, (list, tuple)):
        raise BadParam(argument="indices", expected="a list of tensors", got=shown(indices))
    if len(indices) > MOST_INDICES:
        raise NotSupported(argument="indices", expected=f"at most {MOST_INDICES} tensors", got=len(indices))
    for i, index in enumerate(indices):
        if index is None:
            raise BadParam(argument=f"indices[{i}]", expected="a tensor", got=None)
    if not isinstance(add, bool):
        raise BadParam(argument="add", expected="True or False", got=shown(add))
    given = (*indices, *(None,) * (MOST_INDICES - len(indices)))
    words = (as_integers(dims, "dims", 0), as_integers(slices, "slices", 0), as_integer(offset, "offset"), add)
    found: tuple[Any, Any] = execute(handle, GetitemBackward, (dy, *given, dx, error), words, ())
    return found
