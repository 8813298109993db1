"""Plans inside of a plan: their launches, with the outer plan's memory in place of their tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from portadnn.enums import DataType

from ..base import Arg, ConstantArg, Launch, ScalarArg, TensorArg, WorkspaceArg


@dataclass(frozen=True)
class Place:
    """Memory of a plan, whose elements are of a type.

    Attributes
    ----------
    alignment : int
        Bytes that its address is a multiple of.
    """

    arg: TensorArg | WorkspaceArg
    dtype: DataType
    alignment: int = 16


def moved(
    launches: Iterable[Launch], places: Sequence[Place], start: int, numbers: Sequence[float] = ()
) -> Iterable[Launch]:
    """Yield launches with `places` as their tensors, their workspace from byte `start` on, and their numbers stated."""

    def there(arg: Arg) -> Arg:
        if isinstance(arg, WorkspaceArg):
            return replace(arg, offset=start + arg.offset)
        if isinstance(arg, ScalarArg):
            return ConstantArg(arg.dtype.numpy.type(numbers[arg.index]))
        if not isinstance(arg, TensorArg):
            return arg
        place = places[arg.index]
        dtype = place.dtype if arg.dtype is None else arg.dtype
        return replace(place.arg, offset=place.arg.offset + arg.offset, dtype=dtype)

    for launch in launches:
        yield replace(launch, args=tuple(map(there, launch.args)))
