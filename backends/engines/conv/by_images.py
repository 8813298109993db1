"""Convolutions done some images at a time, so that what an engine lays out anew stays small."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardFilter
from portadnn.problem import ALIGNMENT, TensorSpec

from ...base import Launch, TensorArg
from .epilogue import WithEpilogue

TILE_SET = 64 << 20  # bytes of images in another layout or type that lie in the workspace at a time


@dataclass(frozen=True)
class Part:
    """Some images of a convolution.

    Attributes
    ----------
    problem : Convolution
        Of these images.
    offsets : dict
        For each tensor's number the bytes from its start to the first of them.
    """

    problem: Convolution
    offsets: Mapping[int, int]

    def moved(self, launches: Iterable[Launch]) -> Iterator[Launch]:
        """Turn launches for this part's problem into launches on the tensors of the whole."""
        for launch in launches:
            yield replace(launch, args=tuple(map(self._arg, launch.args)))

    def _arg(self, arg: Any) -> Any:
        return replace(arg, offset=self.offsets.get(arg.index, 0)) if isinstance(arg, TensorArg) else arg


def images_at_a_time(images: int, nbytes: int, limit: int) -> int:
    """Return how many of `images`, `nbytes` in all, to do at a time: even shares of at most `limit`, or one."""
    most = max(1, images * limit // max(nbytes, 1))
    return -(-images // -(-images // most)) if images else 1


def by_images(problem: Convolution, each: int) -> Iterator[Part]:
    """Cut a convolution into parts of `each` images; the last may have fewer."""
    images = problem.image.dims[0]
    batched = [*(problem.roles[0], problem.roles[2]), *(name for name in ("z",) if name in problem.names)]
    for first in range(0, images, each):
        count = min(each, images - first)
        offsets: dict[int, int] = {}
        specs: dict[str, Any] = {}
        for name in batched:
            spec: TensorSpec = getattr(problem, name)
            offset = first * spec.strides[0] * spec.dtype.itemsize
            offsets[problem.index(name)] = offset
            alignment = min(spec.alignment, offset & -offset or ALIGNMENT)
            specs[name] = replace(spec, dims=(count, *spec.dims[1:]), alignment=alignment)
        if not isinstance(problem, ConvolutionBackwardFilter) and isinstance(problem, WithEpilogue):
            specs["first"] = problem.first + first * problem.tensors[-1].strides[0]
        yield Part(replace(problem, **specs), offsets)


def launches_by_images(
    problem: Convolution, each: int, launches_of: Callable[[Convolution], Iterable[Launch]]
) -> Iterator[Launch]:
    """Yield the launches of all parts in turn; they share the workspace."""
    for part in by_images(problem, each):
        yield from part.moved(launches_of(part.problem))
