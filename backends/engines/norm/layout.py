"""Normalisations as tiles of common/reduce.h: what is normalised together, and by which parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from portadnn.ops.batch_norm import (
    BatchNormalizationBackward,
    BatchNormalizationForwardInference,
    BatchNormalizationForwardTraining,
)
from portadnn.ops.normalization import Normalization, NormalizationBackward, NormMode
from portadnn.problem import ALIGNMENT, Problem, TensorSpec, packed_strides

from ...base import DeviceInfo
from ..layouts import Axis, coalesce
from ..tiles import Tile, vector_lanes, vector_width

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
    slots : TensorSpec or None
        Where the parts of parameters' gradients lie that each image leaves (or each work-group, which then has a place
        of its own), as a tensor of the data's dims.
    """

    dims: tuple[int, ...]
    kept: tuple[int, ...]
    data: Mapping[str, TensorSpec]
    others: Mapping[str, TensorSpec]
    rms: bool = False
    slots: TensorSpec | None = None

    @property
    def count(self) -> int:
        """Numbers that are normalised together."""
        return math.prod(size for axis, size in enumerate(self.dims) if axis not in self.kept)

    @property
    def groups(self) -> int:
        """How many means there are."""
        return math.prod(self.dims[axis] for axis in self.kept)

    def type_of(self, name: str) -> str:
        """Return what kernels call the type of a parameter or statistic."""
        data = next(iter(self.data.values()))
        return stored_as(self.others[name], data) if name in self.others else "real"

    def statistics(self) -> TensorSpec:
        """Return where statistics lie that are packed one after another, as a tensor of the data's dims."""
        some = next(iter(self.data.values()))
        sizes = tuple(size if axis in self.kept else 1 for axis, size in enumerate(self.dims))
        return spread(TensorSpec(some.dtype.accumulator, sizes, packed_strides(sizes)), self.dims)


def stored_as(spec: TensorSpec, data: TensorSpec) -> str:
    """Return what kernels call the type of a parameter or statistic: ``"real"``, or ``"T"`` where it is the data's."""
    return "real" if spec.dtype is data.dtype.accumulator else "T"


def spread(spec: TensorSpec, dims: Sequence[int]) -> TensorSpec:
    """Return a tensor repeated along its dims of one."""
    strides = tuple(0 if d == 1 else s for d, s in zip(spec.dims, spec.strides, strict=True))
    return TensorSpec(spec.dtype, tuple(dims), strides, spec.alignment)


def shape_of(problem: Problem) -> Shape:
    """Return the shape of any normalisation problem; the last of the data tensors is the output."""
    if isinstance(problem, Normalization):
        return _shape_of_sample_norm(problem)
    assert isinstance(problem, _BATCH)
    x = problem.x
    others = {
        name.upper(): spread(getattr(problem, name), x.dims) for name in problem.names if name.upper() not in _DATA
    }
    kept = tuple(axis for axis in range(1, len(x.dims)) if axis == 1 or problem.scale.dims[axis] > 1)
    return Shape(x.dims, kept, _data(problem), others)


_DATA = ("X", "Y", "DY", "DX")


def _data(problem: Problem) -> dict[str, TensorSpec]:
    return {name: getattr(problem, name.lower()) for name in _DATA if name.lower() in problem.names}


def _shape_of_sample_norm(problem: Normalization) -> Shape:
    """Return the shape of a normalisation of each sample; groups cut the channels in two dims."""
    split = problem.mode is NormMode.GROUP_NORM
    cut = _cut_channels if split else lambda spec, groups: spec
    data = {name: cut(spec, problem.groups) for name, spec in _data(problem).items()}
    dims = data["X"].dims
    others = {
        name.upper(): spread(cut(getattr(problem, name), problem.groups), dims)
        for name in ("scale", "bias", "saved_mean", "saved_inv_variance")
        if name in problem.names
    }
    slots = None
    if isinstance(problem, NormalizationBackward) and problem.dscale is not None:
        for name in ("dscale", "dbias"):
            if name in problem.names:
                others[name.upper()] = spread(cut(getattr(problem, name), problem.groups), dims)
        sizes = problem.parameter_dims
        slots = spread(cut(TensorSpec(problem.dscale.dtype, sizes, packed_strides(sizes)), problem.groups), dims)
        if problem.mode in (NormMode.INSTANCE_NORM, NormMode.GROUP_NORM):
            slots = replace(slots, strides=(math.prod(sizes), *slots.strides[1:]))
    if problem.mode in (NormMode.INSTANCE_NORM, NormMode.GROUP_NORM):
        kept: tuple[int, ...] = (0, 1)
    else:
        kept = tuple(range(problem.axis % len(dims)))
    return Shape(dims, kept, data, others, problem.mode is NormMode.RMS_NORM, slots)


def _cut_channels(spec: TensorSpec, groups: int) -> TensorSpec:
    """(n, c, ...) -> (n, groups, c / groups, ...); a statistic of each group, or one channel, gets a dim of one."""
    n, c, *sizes = spec.dims
    step = spec.strides[1]
    each = max(c // groups, 1)
    dims = (n, c // each, each, *sizes)
    return TensorSpec(spec.dtype, dims, (spec.strides[0], step * each, step, *spec.strides[2:]), spec.alignment)


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
    narrow : bool
        Whether a GPU's loads are less than 16 bytes, so that more have to be in flight.
    """

    shape: Shape
    tile: Tile
    names: tuple[str, ...]
    steps: Mapping[str, int]
    per_reduce: bool
    vectors: bool
    narrow: bool = False

    def defines(self) -> Defines:
        """Return the macros of ``norm/norm.h`` and ``common/reduce.h``."""
        macros: Defines = {**self.tile.defines(self.names), "COUNT": f"{self.shape.count}u"}
        macros.update((f"{name}_STEP", f"{step}u") for name, step in self.steps.items())
        macros.update((f"{name}_TYPE", self.shape.type_of(name)) for name in self.steps)
        macros["PER_REDUCE"] = int(self.per_reduce)
        macros["RMS"] = int(self.shape.rms)
        if self.vectors:
            macros["PARAMETER_VECTORS"] = 1
        if self.narrow:
            macros["ROUNDS"] = 8
        macros.update((f"HAS_{name}", int(name in self.names)) for name in ("SCALE", "BIAS"))
        return macros

    def with_tile(self, tile: Tile) -> Layout:
        """Return the layout with another tile of the same axes."""
        return replace(self, tile=tile)


def make_layout(shape: Shape, info: DeviceInfo, *, vectors: bool = True) -> Layout:
    """Return the layout, still without work-items and, if so wanted, without vectors; see :func:`~.tiles.make_tile`."""
    others = {"STAT": shape.statistics(), **shape.others}
    if shape.slots is not None:
        others["SLOT"] = shape.slots
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
    per_reduce = any(axis.size > 1 and axis.strides[i] for axis in reduce for i in varying)
    whole = gpu and along_reduce and per_reduce and width > 1 and _aligned(fast, slow, specs, varying, width)
    if width > 1:
        last = fast[-1]
        fast = [*fast[:-1], Axis(last.size // width, tuple(stride * width for stride in last.strides))]
    outer, reduce = (slow, fast) if along_reduce else (fast, slow)
    tile = Tile(along_reduce, width, gpu and width > 1, tuple(outer), tuple(reduce))
    return Layout(shape, tile, names, steps, per_reduce, whole, gpu and width * data[0].dtype.itemsize < ALIGNMENT)


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
