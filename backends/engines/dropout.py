"""Dropout: one pass over tensors that are one run in logical order, else a pass for the mask and one to apply it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portadnn.ops.dropout import DropoutBackward, DropoutForward, SetDropoutDescriptor
from portadnn.problem import ALIGNMENT, Problem, TensorSpec, packed_strides

from ..base import Arg, ConstantArg, Device, DeviceInfo, Engine, Launch, Plan, TensorArg
from ..philox import threshold
from .layouts import Axis, coalesce, offset_expression
from .tiles import storage_defines, vector_lanes

_WORK_GROUP = 256
_LOADS = 4  # vectors of 16 bytes that a GPU work-item has in flight
_CPU_CHUNK = 1 << 14  # elements of a CPU work-group
_TALL = {"gpu": 16, "cpu": 32}  # neighbouring bits of the mask that a work-item takes where memory runs across them

Defines = dict[str, int | float | str]


class Dropout(Engine):
    """All of dropout, in any layout."""

    name = "dropout"
    problems = (DropoutForward, DropoutBackward, SetDropoutDescriptor)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        return None

    def prepare(self, problem: Problem, device: Device) -> Plan:
        launches: tuple[Launch, ...] = ()
        if isinstance(problem, SetDropoutDescriptor):
            launches = (_seed(problem, device),)
        elif problem.tensors[0].size:
            assert isinstance(problem, (DropoutForward, DropoutBackward))
            launches = _Passes(problem, device).launches()
        return Plan(problem, self, 0, device.bind(launches), launches)


def _seed(problem: SetDropoutDescriptor, device: Device) -> Launch:
    kernel = device.compile("shared/tensor/dropout.cl", "dropout_seed", {"DTYPE_FLOAT": 1})
    low, high = (ConstantArg(np.uint32(problem.seed >> shift & 0xFFFFFFFF)) for shift in (0, 32))
    return Launch(kernel, (1,), (1,), (TensorArg(0), low, high))


@dataclass(frozen=True)
class _Passes:
    """What one problem launches. The source and the destination are x and y, or dy and dx."""

    problem: DropoutForward | DropoutBackward
    device: Device

    @property
    def _source(self) -> TensorSpec:
        return self.problem.tensors[0]

    @property
    def _destination(self) -> TensorSpec:
        return self.problem.y if isinstance(self.problem, DropoutForward) else self.problem.dx

    @property
    def _forward(self) -> bool:
        return isinstance(self.problem, DropoutForward)

    @property
    def _gpu(self) -> bool:
        return self.device.info.schedule == "gpu"

    def launches(self) -> tuple[Launch, ...]:
        axes = _axes(self._source, self._destination)
        flat = len(axes) == 1 and set(axes[0].strides) == {1}
        passes = []
        if flat or self._forward:
            passes.append(self._units(draw=self._forward, apply=flat))
        if not flat:
            passes.append(self._rows(axes))
        if self._forward and not self._counts(passes[0].grid[0]):
            advance = self.device.compile("shared/tensor/dropout.cl", "dropout_advance", {"DTYPE_FLOAT": 1})
            passes.append(Launch(advance, (1,), (1,), (self._tensor("states"),)))
        return tuple(passes)

    def _counts(self, groups: int) -> bool:
        """Tell whether the launch that draws can count the draw: when all its groups have read the states."""
        return groups == 1 or (self._gpu and "grid_fence" in self.device.info.features)

    def _tensor(self, name: str) -> TensorArg:
        return TensorArg(self.problem.index(name))

    def _tensors(self) -> tuple[Arg, ...]:
        """Return source, destination and what kept numbers are multiplied by."""
        dropout = self.problem.dropout
        scale = self.problem.dtype.accumulator.numpy.type(0 if dropout == 1 else 1 / (1 - dropout))
        return (TensorArg(0), self._tensor("y" if self._forward else "dx"), ConstantArg(scale))

    def _defines(self, width: int) -> Defines:
        defines: Defines = {**storage_defines(self._source)}
        if not self._gpu:
            defines["VW"] = vector_lanes(self._source.dtype, self.device.info)
        else:
            defines.update(VW=width, WG=_WORK_GROUP)
            if width > 1:
                defines["VECTOR_ALIGNED"] = 1
        return defines

    def _units(self, *, draw: bool, apply: bool) -> Launch:
        """Draw the mask, apply one to flat tensors, or both."""
        size, itemsize = self._source.size, self._source.dtype.itemsize
        aligned = min(self._source.alignment, self._destination.alignment) == ALIGNMENT
        defines = self._defines(ALIGNMENT // itemsize if aligned else 1)
        share: tuple[Arg, ...] = ()
        if self._gpu:
            defines["ITEMS"] = items = max(2, _LOADS * ALIGNMENT // (8 * itemsize))
            groups = -(-size // (8 * items * _WORK_GROUP))
        else:
            chunk, groups = _shares(-(-size // 32), _CPU_CHUNK // 32, self.device.info)
            share = (ConstantArg(np.uint32(chunk)),)
        args: tuple[Arg, ...] = (self._tensor("reserve_space"), ConstantArg(np.uint32(size)))
        if apply:
            defines["APPLY"] = 1
            args = (*self._tensors(), *args)
        if draw:
            limit = threshold(self.problem.dropout)
            defines["DRAW"] = 1
            if limit in (0, 2**32):
                defines["CONSTANT_BITS"] = 0 if limit else 255
            if self._counts(groups):
                defines["COUNTS_DRAW"] = 1
                if groups > 1:
                    defines["GRID_FENCED"] = 1
            args = (*args, self._tensor("states"), ConstantArg(np.uint32(limit & 0xFFFFFFFF)))
        return self._launch("dropout", defines, groups, (*args, *share))

    def _rows(self, axes: list[Axis]) -> Launch:
        """Apply the mask to tensors of any strides, in the order of the destination's memory."""
        inner, size = axes[-1], self._source.size
        tall = _tall(axes)
        others = [axis for axis in axes[:-1] if axis is not tall]
        width = _vector_width(axes, (self._source, self._destination))
        defines = self._defines(width)
        defines["INNER"] = f"{inner.size}u"
        for i, name in enumerate(("BITS", "X", "Y")):
            defines[f"ROW_{name}(r)"] = offset_expression(others, i)
            defines[f"STEP_{name}"] = f"{inner.strides[i]}u" if tall else inner.strides[i]
        rows, item = size // inner.size, inner.size  # a CPU's work-group takes some rows of that many elements
        if tall is not None:
            height = _TALL[self.device.info.schedule]
            blocks = -(-tall.size // height)
            defines.update({"TALL": height, "HEIGHT": f"{tall.size}u", "BLOCKS": f"{blocks}u"})
            defines.update({"TALL_X": f"{tall.strides[1]}u", "TALL_Y": f"{tall.strides[2]}u"})
            rows, item = rows // tall.size * blocks, item * min(height, tall.size)
        args = (*self._tensors(), self._tensor("reserve_space"))
        if not self._gpu:
            chunk, groups = _shares(rows, max(1, _CPU_CHUNK // item), self.device.info)
            counts = (ConstantArg(np.uint32(rows)), ConstantArg(np.uint32(chunk)))
            return self._launch("dropout_apply", defines, groups, (*args, *counts))
        if tall is not None:
            items = rows * (inner.size // width)
            return self._launch(
                "dropout_apply", defines, -(-items // _WORK_GROUP), (*args, ConstantArg(np.uint32(items)))
            )
        defines["ITEMS"] = _LOADS
        groups = -(-size // (_WORK_GROUP * _LOADS * width))
        return self._launch("dropout_apply", defines, groups, (*args, ConstantArg(np.uint32(size))))

    def _launch(self, name: str, defines: Defines, groups: int, args: tuple[Arg, ...]) -> Launch:
        file = "shared/tensor/dropout.cl" if self._gpu else "opencl/tensor/dropout_cpu.cl"
        kernel = self.device.compile(file, name, defines)
        return Launch(kernel, (groups,), (_WORK_GROUP if self._gpu else 1,), args)


def _axes(source: TensorSpec, destination: TensorSpec) -> list[Axis]:
    """Return the axes of a loop over the destination's memory, with the strides of the mask's bits first."""
    bits = TensorSpec(source.dtype, source.dims, packed_strides(source.dims))
    return coalesce(source.dims, (bits, source, destination))


def _tall(axes: list[Axis]) -> Axis | None:
    """Return the axis along which the mask's bits are neighbours, where they are not along the last one."""
    if axes[-1].strides[0] == 1 or axes[-1].strides[1:] != (1, 1):
        return None
    return next((axis for axis in axes[:-1] if axis.strides[0] == 1 and axis.size >= 8), None)


def _vector_width(axes: list[Axis], tensors: tuple[TensorSpec, ...]) -> int:
    """Return the lanes of a GPU's vector: 16 aligned bytes along the last axis in both tensors, or 1."""
    width = ALIGNMENT // tensors[0].dtype.itemsize
    others = [stride for axis in axes[:-1] for stride in axis.strides[1:]]
    along = axes[-1].strides[1:] == (1, 1) and axes[-1].size % width == 0
    fits = along and all(s % width == 0 for s in others) and all(s.alignment == ALIGNMENT for s in tensors)
    return width if fits else 1


def _shares(units: int, most: int, info: DeviceInfo) -> tuple[int, int]:
    """Return the units of a CPU work-group, about `most`, and the number of groups: an even share for every core."""
    groups = -(-units // most)
    if groups > 1:
        groups = min(units, -(-groups // info.compute_units) * info.compute_units)
    chunk = -(-units // groups)
    return chunk, -(-units // chunk)


ENGINES = (Dropout(),)
