"""What normalisations have in common, as tiles of reduce.h: who is normalised with whom, and by which parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from portadnn.ops.batch_norm import (
    BatchNormalizationBackward,
    BatchNormalizationForwardInference,
    BatchNormalizationForwardTraining,
)
from portadnn.problem import ALIGNMENT, Problem, TensorSpec, packed_strides

from ..base import DeviceInfo
from .layouts import Axis, coalesce
from .tiles import Tile, vector_lanes, vector_width

Defines = dict[str, int | float | str]
_BATCH = (BatchNormalizationForwardTraining, BatchNormalizationForwardInference, BatchNormalizationBackward)


@dataclass(frozen=True)
class Shape:
    """A normalisation without its layout.

    Attributes
    ----------
    dims : tuple of int
        The data's dims; a dim that groups cut in two appears as two.
    kept : tuple of int
        Axes along which statistics differ.
    data, others : dict
        The data tensors, and parameters and statistics, by name: specs of those dims, with stride 0 where they have one
        value for all.
    rms : bool
        Whether the mean stays.
    """

    dims: tuple[int, ...]
    kept: tuple[int, ...]
    data: Mapping[str, TensorSpec]
    others: Mapping[str, TensorSpec]
    rms: bool = False

    @property
    def count(self) -> int:
        """Numbers that are normalised together."""
        return math.prod(size for axis, size in enumerate(self.dims) if axis not in self.kept)

    @property
    def groups(self) -> int:
        """How many means there are."""
        return math.prod(self.dims[axis] for axis in self.kept)

    def statistics(self) -> TensorSpec:
        """Return where statistics lie that are packed one after another, as a tensor of the data's dims."""
        some = next(iter(self.data.values()))
        sizes = tuple(size if axis in self.kept else 1 for axis, size in enumerate(self.dims))
        return spread(TensorSpec(some.dtype.accumulator, sizes, packed_strides(sizes)), self.dims)


def spread(spec: TensorSpec, dims: Sequence[int]) -> TensorSpec:
    """Return a tensor repeated along its dims of one."""
    strides = tuple(0 if d == 1 else s for d, s in zip(spec.dims, spec.strides, strict=True))
    return TensorSpec(spec.dtype, tuple(dims), strides, spec.alignment)


def shape_of(problem: Problem) -> Shape:
    """Return the shape of any normalisation problem; the last of the data tensors is the output."""
    assert isinstance(problem, _BATCH)
    x = problem.x
    data = {"X": x, "DX": problem.dx} if isinstance(problem, BatchNormalizationBackward) else {"X": x, "Y": problem.y}
    if isinstance(problem, BatchNormalizationBackward):
        data = {"X": x, "DY": problem.dy, "DX": problem.dx}
    names = [name for name in problem.names if name.upper() not in data]
    others = {name.upper(): spread(getattr(problem, name), x.dims) for name in names}
    kept = tuple(axis for axis in range(1, len(x.dims)) if axis == 1 or problem.scale.dims[axis] > 1)
    return Shape(x.dims, kept, data, others)


@dataclass(frozen=True)
class Layout:
    """A shape laid over work-groups.

    Attributes
    ----------
    names : tuple of str
        The tensors in the order of the axes' strides.
    steps : dict
        Distance between the lanes of each parameter or statistic.
    per_reduce : bool
        Whether scale and bias change along the reduced dimensions.
    vectors : bool
        Whether they are read there as aligned vectors.
    """

    shape: Shape
    tile: Tile
    names: tuple[str, ...]
    steps: Mapping[str, int]
    per_reduce: bool
    vectors: bool

    def defines(self) -> Defines:
        """Return the macros of ``norm.h`` and ``reduce.h``."""
        macros: Defines = {**self.tile.defines(self.names), "COUNT": f"{self.shape.count}u"}
        macros.update((f"{name}_STEP", f"{step}u") for name, step in self.steps.items())
        if self.per_reduce:
            macros["PER_REDUCE"] = 1
        if self.vectors:
            macros["PARAMETER_VECTORS"] = 1
        if self.shape.rms:
            macros["RMS"] = 1
        if "SCALE" in self.names:
            macros["HAS_SCALE"] = 1
        if "BIAS" in self.names:
            macros["HAS_BIAS"] = 1
        return macros

    def with_tile(self, tile: Tile) -> Layout:
        """Return the layout with another tile of the same axes."""
        return replace(self, tile=tile)


def make_layout(shape: Shape, info: DeviceInfo, *, vectors: bool = True) -> Layout:
    """Return the layout, still without work-items and, if so wanted, without vectors; see :func:`~.tiles.make_tile`."""
    others = {**shape.others, "STAT": shape.statistics()}
    names = (*others, *shape.data)
    specs = (*others.values(), *shape.data.values())
    data = tuple(shape.data.values())
    outer = _merged(specs, [axis for axis in range(len(shape.dims)) if axis in shape.kept], shape.dims)
    reduce = _merged(specs, [axis for axis in range(len(shape.dims)) if axis not in shape.kept], shape.dims)
    along_reduce = _nearness(reduce, len(data)) < _nearness(outer, len(data))
    fast, slow = (reduce, outer) if along_reduce else (outer, reduce)
    gpu = info.schedule == "gpu"
    own_fast, own_slow = ([Axis(a.size, a.strides[-len(data) :]) for a in axes] for axes in (fast, slow))
    lanes = vector_lanes(data[0].dtype, info) if vectors else 1
    width = vector_width(own_fast, own_slow, data, lanes, aligned=gpu)
    steps = {name: fast[-1].strides[i] for i, name in enumerate(others)}
    varying = [i for i, name in enumerate(others) if name in ("SCALE", "BIAS")]
    per_reduce = any(axis.strides[i] for axis in reduce for i in varying)
    whole = gpu and along_reduce and per_reduce and width > 1 and _aligned(fast, slow, specs, varying, width)
    if width > 1:
        last = fast[-1]
        fast = [*fast[:-1], Axis(last.size // width, tuple(stride * width for stride in last.strides))]
    outer, reduce = (slow, fast) if along_reduce else (fast, slow)
    tile = Tile(along_reduce, width, gpu and width > 1, tuple(outer), tuple(reduce))
    return Layout(shape, tile, names, steps, per_reduce, whole)


def _merged(specs: Sequence[TensorSpec], axes: Sequence[int], dims: tuple[int, ...]) -> list[Axis]:
    sizes = tuple(dims[axis] for axis in axes)
    if 0 in sizes:
        return [Axis(0, (1,) * len(specs))]
    return coalesce(sizes, [TensorSpec(s.dtype, sizes, tuple(s.strides[axis] for axis in axes)) for s in specs])


def _nearness(axes: Sequence[Axis], data: int) -> int:
    """Rank how contiguous axes are in the data tensors, the last ones; a single element is as far apart as can be."""
    return sum(axes[-1].strides[-data:]) if axes[-1].size > 1 else 1 << 40


def _aligned(
    fast: Sequence[Axis], slow: Sequence[Axis], specs: Sequence[TensorSpec], which: Sequence[int], width: int
) -> bool:
    """Tell whether those parameters lie in whole aligned vectors along the fast axis."""
    return all(
        fast[-1].strides[i] == 1
        and specs[i].alignment == ALIGNMENT
        and all(axis.strides[i] % width == 0 for axis in (*fast[:-1], *slow))
        for i in which
    )


def with_tensors(defines: Defines, **present: Any) -> Defines:
    """Return the defines with ``HAS_NAME`` for what is true."""
    return {**defines, **{name: 1 for name, yes in present.items() if yes}}
