"""The gradient of indexing: chains of what goes to the same place, then sums along them (kernels_shared/items)."""

from __future__ import annotations

from collections.abc import Sequence

from portadnn.enums import DataType
from portadnn.ops.getitem import GetitemBackward
from portadnn.problem import Problem

from ..base import Device, DeviceInfo, Engine, Launch, Plan, WorkspaceArg
from ..parameters import Parameter, tensor
from .items import GROUPS, ITEMS, Defines, Operand, each, launch
from .layouts import Axis, coalesce, offset_expression

_MOST_OWNERS = 1 << 15  # work-items of a GPU that look for their rows


def _place(problem: GetitemBackward) -> DataType:
    """Return the type of places in chains."""
    return DataType.INT64 if max(problem.rows, problem.dy.dims[problem.first]) >= 1 << 31 else DataType.INT32


def _lists(problem: GetitemBackward) -> tuple[list[Parameter], int]:
    """Return the parameters head and next, and the bytes that they need."""
    place = _place(problem)
    after = -(-problem.rows * place.itemsize // 256) * 256
    kind = f"ELEMENT({place.name})"
    made = [tensor(kind, "head", WorkspaceArg(0, place)), tensor(kind, "next", WorkspaceArg(after, place))]
    return made, after + max(1, problem.dy.dims[problem.first]) * place.itemsize


def _chains(problem: GetitemBackward, device: Device) -> Launch:
    index0, error, spans = problem.index0, problem.error, problem.spans
    assert index0 is not None and error is not None
    items, rows = ITEMS[device.info.schedule], problem.rows
    owners = device.info.compute_units if items == 1 else _MOST_OWNERS
    each_has = max(1, -(-rows // owners))
    groups = max(1, -(-rows // (each_has * items)))
    operands = [Operand(name, problem.index(name), getattr(problem, name)) for name in problem.indices]
    operands.append(Operand("error", problem.index("error"), error, written=True))
    defines: Defines = {
        "PLACE": _place(problem).name,
        "INDICES": len(problem.indices),
        "COUNTED": index0.dims[0],
        "USED": problem.dy.dims[problem.first],
        "ROWS": rows,
        "PER": each_has,
        "STEP_error": error.strides[0],
    }
    for name, dim in zip(problem.indices, problem.dims, strict=True):
        defines |= {f"STEP_{name}": getattr(problem, name).strides[0], f"SIZE_{name}": spans[dim].size}
    return launch(device, problem, "chains", "chains", operands, defines, groups, items, _lists(problem)[0])


def _sums(problem: GetitemBackward, device: Device) -> tuple[list[Launch], int]:
    """Return the launch that adds dy to what is pointed at, and how many numbers that are."""
    dims, spans, chained = problem.dims, problem.spans, bool(problem.indices)
    axes, base, row = [], 0, problem.rows
    others = [i for i in range(len(problem.dy.dims)) if not (chained and i == problem.first)]
    for i, span in enumerate(spans):
        base += span.first * problem.dx.strides[i]
        step = span.step * problem.dx.strides[i]
        if i in dims:
            row //= max(1, span.size)
            axes.append(Axis(span.size, (step, 0, row)))
        else:
            dim = others.pop(0)
            axes.append(Axis(problem.dy.dims[dim], (step, problem.dy.strides[dim], 0)))
    count = 1
    for axis in axes:
        count *= axis.size
    if not count:
        return [], 0
    axes = [axis for axis in axes if axis.size > 1] or [Axis(1, (0, 0, 0))]
    dx, dy, head = (offset_expression(axes, i, "i") for i in range(3))
    operands = [
        Operand("dy", 0, problem.dy, dy),
        Operand("dx", problem.index("dx"), problem.dx, f"({dx} + (i64){base})", written=True),
    ]
    defines: Defines = {"COUNT": count, "ADD": int(problem.add)}
    more: list[Parameter] = []
    if chained:
        defines |= {"CHAINED": 1, "AT_head(i)": head, "ROW": problem.dy.strides[problem.first]}
        more = _lists(problem)[0]
    items = ITEMS[device.info.schedule]
    groups = -(-count // items)
    if items == 1:
        groups = min(groups, device.info.compute_units * GROUPS)
    made = launch(device, problem, "getitem", "getitem", operands, defines, min(groups, 1 << 20), items, more)
    return [made], count


def _launches(problem: GetitemBackward, device: Device) -> Sequence[Launch]:
    made, count = _sums(problem, device)
    launches = []
    if not problem.add and problem.dx.size and (problem.indices or count != problem.dx.size):
        axes = coalesce(problem.dx.dims, (problem.dx,))
        dx = Operand("dx", problem.index("dx"), problem.dx, offset_expression(axes, 0, "i"), written=True)
        launches.append(each(device, problem, "ZERO", [dx], problem.dx.size))
    if problem.indices:
        launches.append(_chains(problem, device))
    return [*launches, *made]


class Getitem(Engine):
    """All indices, slices, dims and strides. The same bits each time: nothing is added atomically."""

    name = "getitem"
    wide = True
    problems = (GetitemBackward,)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        return None

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, GetitemBackward)
        return _lists(problem)[1] if problem.indices else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, GetitemBackward)
        launches = tuple(_launches(problem, device))
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


ENGINES = (Getitem(),)
