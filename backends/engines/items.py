"""Operations on single numbers of tensors, sums of such terms, the k-th smallest of a row (kernels_shared/items)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from portadnn.enums import DataType
from portadnn.ops.gates import GLUBackward, GLUForward, PReLUBackward, RoPEBackward, RoPEForward
from portadnn.ops.indexing import CatForward, KthvalueForward
from portadnn.ops.losses import (
    LossReduction,
    MultiMarginLossForward,
    SoftMarginLossBackward,
    SoftMarginLossForward,
)
from portadnn.ops.optimizers import Adam
from portadnn.problem import Problem, TensorSpec

from ..base import ConstantArg, Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg, WorkspaceArg
from ..parameters import Parameter, bind, declare, number, tensor
from .layouts import Axis, coalesce, offset_expression

Defines = dict[str, int | float | str]

ITEMS = {"gpu": 128, "cpu": 1}  # of a work-group
GROUPS = 8  # for each of a CPU's cores
_LONGEST = {"gpu": 1 << 14, "cpu": 1 << 12}  # terms that a work-group adds


@dataclass(frozen=True)
class Operand:
    """A tensor of a kernel: its name there, its place among the problem's tensors, and where its numbers are.

    `places` is the body of AT_name, whose arguments are `of`.
    """

    name: str
    index: int
    spec: TensorSpec
    places: str = "(i)"
    of: str = "i"
    written: bool = False

    @property
    def parameter(self) -> Parameter:
        kind = f"ELEMENT({self.spec.dtype.name})"
        return tensor(kind if self.written else f"const {kind}", self.name, TensorArg(self.index))

    @property
    def defines(self) -> Defines:
        return {f"T_{self.name}": self.spec.dtype.name, f"AT_{self.name}({self.of})": self.places}


def _operands(problem: Problem, names: Sequence[str], axes: Sequence[Axis]) -> list[Operand]:
    """Return tensors whose strides the axes have, in that order."""
    return [
        Operand(
            _NAMES.get(name, name),
            problem.index(name),
            getattr(problem, name),
            offset_expression(axes, place, "i"),
            written=name in problem.outputs,
        )
        for place, name in enumerate(names)
    ]


_NAMES = {"cos": "cos_table", "sin": "sin_table"}  # which are functions in kernels


def _real(problem: Problem) -> DataType:
    return problem.dtype.accumulator


def launch(
    device: Device,
    problem: Problem,
    file: str,
    name: str,
    operands: Sequence[Operand],
    defines: Defines,
    groups: int,
    items: int,
    more: Sequence[Parameter] = (),
) -> Launch:
    """Return the launch of a kernel of a file on operands and `more` parameters."""
    parameters = [*(operand.parameter for operand in operands), *more]
    told: Defines = {f"DTYPE_{_real(problem).name}": 1, "ITEMS": items, **defines, **declare(parameters)}
    for operand in operands:
        told |= operand.defines
    return Launch(device.compile(f"shared/items/{file}.cl", name, told), (groups,), (items,), bind(parameters))


def each(
    device: Device, problem: Problem, operation: str, operands: Sequence[Operand], count: int, **more: int
) -> Launch:
    """Return the launch of an operation on each of `count` numbers."""
    items = ITEMS[device.info.schedule]
    groups = -(-count // items)
    if items == 1:
        groups = min(groups, device.info.compute_units * GROUPS)
    defines: Defines = {"OPERATION": operation, "COUNT": count, **more}
    return launch(device, problem, "each", "each", operands, defines, min(groups, 1 << 20), items)


def _like(spec: TensorSpec, dims: tuple[int, ...]) -> TensorSpec:
    """Return a tensor's strides with other dims: the first half of it."""
    return TensorSpec(spec.dtype, dims, spec.strides)


def _glu(problem: Problem, device: Device) -> Sequence[Launch]:
    assert isinstance(problem, (GLUForward, GLUBackward))
    dim = problem.dim
    half = problem.y if isinstance(problem, GLUForward) else problem.dy
    far = half.dims[dim] * problem.x.strides[dim]
    x = _like(problem.x, half.dims)
    if isinstance(problem, GLUForward):
        operands = _operands(problem, ("x", "y"), coalesce(half.dims, (x, half)))
        return [each(device, problem, "GLU", operands, half.size, X_HALF=far)]
    dx = _like(problem.dx, half.dims)
    operands = _operands(problem, ("x", "dy", "dx"), coalesce(half.dims, (x, half, dx)))
    more = {"X_HALF": far, "DX_HALF": half.dims[dim] * problem.dx.strides[dim]}
    return [each(device, problem, "GLU_BACKWARD", operands, half.size, **more)]


def _cat(problem: Problem, device: Device) -> Sequence[Launch]:
    assert isinstance(problem, CatForward)
    launches, first = [], 0
    for name in problem.parts:
        x = getattr(problem, name)
        if x.size:
            axes = coalesce(x.dims, (x, _like(problem.y, x.dims)))
            y = offset_expression(axes, 1, "i")
            operands = [
                Operand("x", problem.index(name), x, offset_expression(axes, 0, "i")),
                Operand("y", problem.index("y"), problem.y, f"({y} + (i64){first})", written=True),
            ]
            launches.append(each(device, problem, "COPY", operands, x.size))
        first += x.dims[problem.dim] * problem.y.strides[problem.dim]
    return launches


def _prelu(problem: Problem, device: Device) -> Sequence[Launch]:
    assert isinstance(problem, PReLUBackward)
    x, launches = problem.x, []
    if problem.dweight is not None and problem.dweight.size:
        channels = problem.dweight.dims[1]
        kept = channels > 1
        axes = [
            Axis(size, (x.strides[i], problem.dy.strides[i]))
            for i, size in enumerate(x.dims)
            if not (kept and i == 1) and size != 1
        ] or [Axis(1, (0, 0))]
        operands = [
            Operand(
                name,
                problem.index(name),
                spec,
                f"({offset_expression(axes, place, 'r')} + (o) * (i64){spec.strides[1] if kept else 0})",
                "o, r",
            )
            for place, (name, spec) in enumerate((("x", x), ("dy", problem.dy)))
        ]
        out = Operand(
            "out", problem.index("dweight"), problem.dweight, f"((o) * (i64){problem.dweight.strides[1]})", "o", True
        )
        launches += _sum(device, problem, "PRELU", operands, out, channels, x.size // channels)
    if problem.dx is not None and x.size:
        specs = (x, problem.weight, problem.dy, problem.dx)
        operands = _operands(problem, ("x", "weight", "dy", "dx"), coalesce(x.dims, specs))
        launches.append(each(device, problem, "PRELU_BACKWARD", operands, x.size))
    return launches


def _rope(problem: Problem, device: Device) -> Sequence[Launch]:
    assert isinstance(problem, (RoPEForward, RoPEBackward))
    names = (problem.inputs[0], problem.outputs[0])
    specs = [getattr(problem, name) for name in names]
    dims = specs[0].dims
    axes = [Axis(size, tuple(spec.strides[i] for spec in specs)) for i, size in enumerate(dims)]  # in logical order
    table = [
        Axis(size, (cos, sin))
        for size, cos, sin in zip(problem.cos.dims, problem.cos.strides, problem.sin.strides, strict=True)
    ]
    operands = _operands(problem, names, axes) + _operands(problem, ("cos", "sin"), table)
    direction = "ROPE" if isinstance(problem, RoPEForward) else "ROPE_BACKWARD"
    return [each(device, problem, direction, operands, specs[0].size, TABLE=problem.cos.size)]


def _soft_margin(problem: Problem, device: Device) -> Sequence[Launch]:
    assert isinstance(problem, SoftMarginLossForward)
    x = problem.x
    if problem.reduction is LossReduction.NONE:
        operands = _operands(problem, ("x", "target", "loss"), coalesce(x.dims, (x, problem.target, problem.loss)))
        return [each(device, problem, "SOFT_MARGIN", operands, x.size)]
    axes = coalesce(x.dims, (x, problem.target)) if x.size else [Axis(1, (0, 0))]
    operands = [
        Operand(name, place, getattr(problem, name), offset_expression(axes, place, "r"), "o, r")
        for place, name in enumerate(("x", "target"))
    ]
    out = Operand("out", problem.index("loss"), problem.loss, "0", "o", True)
    divisor = x.size if problem.reduction is LossReduction.MEAN else 1
    return _sum(device, problem, "SOFT_MARGIN", operands, out, 1, x.size, divisor)


def _soft_margin_backward(problem: Problem, device: Device) -> Sequence[Launch]:
    assert isinstance(problem, SoftMarginLossBackward)
    names = problem.names
    operands = _operands(problem, names, coalesce(problem.x.dims, problem.tensors))
    counted = problem.x.size if problem.reduction is LossReduction.MEAN else 1
    return [each(device, problem, "SOFT_MARGIN_BACKWARD", operands, problem.x.size, COUNTED=counted)]


def _multi_margin(problem: Problem, device: Device) -> Sequence[Launch]:
    assert isinstance(problem, MultiMarginLossForward)
    batch, classes = problem.x.dims
    rows = problem.reduction is LossReduction.NONE
    mean = problem.reduction is LossReduction.MEAN
    operands = [Operand(name, place, getattr(problem, name)) for place, name in enumerate(problem.inputs)]
    out = Operand(
        "out", problem.index("loss"), problem.loss, f"((o) * (i64){problem.loss.strides[0]})", "o", written=True
    )
    steps = (*problem.x.strides, *problem.target.strides, *problem.weight.strides)
    defines: Defines = {f"STEP_{letter}": f"(i64){step}" for letter, step in zip("nctw", steps, strict=True)}
    defines |= {"MULTI": 1, "CLASSES": classes, "P": problem.p, **({"ROWS": 1} if rows else {})}
    margin = [number("real", "margin", ScalarArg(0, _real(problem)))]
    results, terms = (batch, classes) if rows else (1, batch * classes)
    divisor = classes * (batch if mean else 1)
    return _sum(device, problem, "MULTI_MARGIN", operands, out, results, terms, divisor, defines, margin)


def _sum(
    device: Device,
    problem: Problem,
    operation: str,
    operands: Sequence[Operand],
    out: Operand,
    results: int,
    terms: int,
    divisor: int = 1,
    more: Defines | None = None,
    numbers: Sequence[Parameter] = (),
) -> list[Launch]:
    """Return the one or two launches of `results` sums of `terms` each."""
    items = ITEMS[device.info.schedule]
    slices, length = _slices(problem, device.info)
    parts = tensor("real", "parts", WorkspaceArg(0, _real(problem)))
    defines: Defines = {
        operation: 1,
        "RESULTS": results,
        "TERMS": terms,
        "SLICES": slices,
        "LENGTH": length,
        "DIVISOR": f"{divisor}.0" if divisor else "0.0",
        **(more or {}),
    }
    if slices == 1:
        made = [*operands, out]
        return [launch(device, problem, "sum", "sum_terms", made, defines, results, items, numbers)]
    first = launch(device, problem, "sum", "sum_terms", operands, defines, results * slices, items, (*numbers, parts))
    told: Defines = {
        "PARTS": 1,
        "RESULTS": results,
        "TERMS": slices,
        "SLICES": 1,
        "LENGTH": slices,
        "DIVISOR": defines["DIVISOR"],
    }
    second = launch(device, problem, "sum", "sum_terms", [out], told, results, items, (parts,))
    return [first, second]


def _sums(problem: Problem) -> tuple[int, int]:
    """Return the results of a problem that are sums, and the terms of each; no results where there are none."""
    if isinstance(problem, PReLUBackward) and problem.dweight is not None:
        channels = problem.dweight.dims[1]
        return channels, problem.x.size // max(channels, 1)
    if isinstance(problem, SoftMarginLossForward) and problem.reduction is not LossReduction.NONE:
        return 1, problem.x.size
    if isinstance(problem, MultiMarginLossForward):
        batch, classes = problem.x.dims
        return (batch, classes) if problem.reduction is LossReduction.NONE else (1, batch * classes)
    return 0, 0


def _slices(problem: Problem, info: DeviceInfo) -> tuple[int, int]:
    """Return in how many slices a sum is cut, and the terms of each."""
    results, terms = _sums(problem)
    slices = max(1, -(-terms // _LONGEST[info.schedule]))
    if results < 2 * info.compute_units:  # there is work for more groups
        fewest = 16 * ITEMS[info.schedule] if info.schedule == "gpu" else 1 << 10
        slices = max(slices, min(-(-2 * info.compute_units // max(results, 1)), -(-terms // fewest)))
    length = max(1, -(-terms // slices))
    return max(1, -(-terms // length)), length


def _kth(problem: Problem, device: Device) -> Sequence[Launch]:
    assert isinstance(problem, KthvalueForward)
    x, axis = problem.x, problem.axis
    names = ("x", "y", "indices")
    row = _like(x, problem.y.dims)
    if not problem.y.size:
        return []
    axes = coalesce(problem.y.dims, (row, problem.y, problem.indices))
    operands = _operands(problem, names, axes)
    items = 1 if device.info.schedule == "cpu" else min(256, 1 << max(5, (x.dims[axis] - 1).bit_length()))
    defines: Defines = {"COUNTED": x.dims[axis], "STEP": f"(i64){x.strides[axis]}"}
    k = [number("int", "K", ConstantArg(np.int32(problem.k)))]
    return [launch(device, problem, "select", "kth_value", operands, defines, problem.y.size, items, k)]


def _adam(problem: Problem, device: Device) -> Sequence[Launch]:
    assert isinstance(problem, Adam)
    single = ("state_step", "grad_scale", "found_inf", "state_step_out")
    many = [name for name in problem.names if name not in single]
    operands = _operands(problem, many, coalesce(problem.param.dims, [getattr(problem, name) for name in many]))
    ones = {
        name: Operand(name, problem.index(name), getattr(problem, name), "0", written=name in problem.outputs)
        for name in single
        if name in problem.names
    }
    read = [ones[name] for name in single[:3] if name in ones]
    numbers = [number("real", name, ScalarArg(i, _real(problem))) for i, name in enumerate(problem.scalars)]
    has: Defines = {"HAS_FOUND": 1} if "found_inf" in ones else {}
    told: Defines = {
        **has,
        **({"HAS_STEP": 1} if "state_step" in ones else {}),
        **({"HAS_SCALE": 1} if "grad_scale" in ones else {}),
        **({"HAS_HALF": 1} if problem.param_half is not None else {}),
        "COUNT": problem.param.size,
    }
    for flag in ("amsgrad", "maximize", "adamw", "transformers", "correct_bias"):
        told[flag.upper()] = int(getattr(problem, flag))
    items = ITEMS[device.info.schedule]
    groups = -(-problem.param.size // items)
    if items == 1:
        groups = min(groups, device.info.compute_units * GROUPS)
    launches = []
    if problem.param.size:
        made = [*operands, *read]
        groups = min(groups, 1 << 20)
        launches.append(launch(device, problem, "adam", "adam", made, told, groups, items, numbers))
    if "state_step" in ones:
        last = [ones[name] for name in ("state_step", "found_inf", "state_step_out") if name in ones]
        launches.append(launch(device, problem, "adam_step", "count_step", last, {**has, "COUNT": 1}, 1, 1))
    return launches


_LAUNCHES: dict[type[Problem], Callable[[Problem, Device], Sequence[Launch]]] = {
    Adam: _adam,
    CatForward: _cat,
    GLUBackward: _glu,
    GLUForward: _glu,
    KthvalueForward: _kth,
    MultiMarginLossForward: _multi_margin,
    PReLUBackward: _prelu,
    RoPEBackward: _rope,
    RoPEForward: _rope,
    SoftMarginLossBackward: _soft_margin_backward,
    SoftMarginLossForward: _soft_margin,
}


class Items(Engine):
    """All modes, dims and layouts. The same bits each time: nothing is added atomically."""

    name = "items"
    wide = True
    problems = tuple(_LAUNCHES)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        return None

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        results, _ = _sums(problem)
        slices, _ = _slices(problem, info)
        return results * slices * _real(problem).itemsize if results and slices > 1 else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        empty = not math.prod(getattr(problem, problem.written[0]).dims)
        launches = () if empty and len(problem.written) == 1 else tuple(_LAUNCHES[type(problem)](problem, device))
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


ENGINES = (Items(),)
