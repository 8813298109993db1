"""Elementwise engine: transform, add, op, set and scale tensor, and activations.

The iteration space is simplified first; what is left is one run of elements, or rows with baked-in geometry.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from portadnn.enums import ActivationMode, NanPropagation, OpTensorOp
from portadnn.ops.activation import ActivationBackward, ActivationForward
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward
from portadnn.ops.tensor import AddTensor, OpTensor, ScaleTensor, SetTensor, TransformTensor
from portadnn.problem import ALIGNMENT, Problem, TensorSpec

from ..base import Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg
from ..parameters import bind, declare, number, tensor
from .layouts import Axis, coalesce, in_runs, offset_expression, place_arg, place_defines, stream_defines

WORK_GROUP = 256
VECTORS_IN_FLIGHT = 4  # per work-item and input
CPU_VECTOR = 32  # bytes: PoCL 3.0 crashes on exp of 16 floats, and wider vectors move no more memory
CPU_CHUNK = 1 << 14  # elements of a CPU work-group: 64 KB of float32, enough to hide the launch


Activation = ActivationForward | ActivationBackward | ConvolutionBiasActivationForward


@dataclass(frozen=True)
class Recipe:
    """What the kernel is told: its operation, the tensors it reads (by problem index), and its constants."""

    op: str
    inputs: tuple[int, ...]
    constants: tuple[tuple[str, int | float | str], ...] = ()


_FEW_REGISTERS = ("SET", "COPY", "ADD", "MUL")  # on a CPU, several vectors of other functions do not fit
_EXTREMES = (OpTensorOp.MIN, OpTensorOp.MAX)
_RELUS = (ActivationMode.RELU, ActivationMode.CLIPPED_RELU)
_BACKWARD_READS_X = (ActivationMode.RELU, ActivationMode.CLIPPED_RELU, ActivationMode.SWISH)


def _constant(number: float, problem: Problem) -> float | str:
    """Return a number as a kernel has it; what the arithmetic's type cannot hold is infinite there."""
    if abs(number) <= float(np.finfo(problem.dtype.accumulator.numpy).max):
        return number
    return f"({'-' if number < 0 else ''}INFINITY_OF(real))"


def activation_defines(mode: ActivationMode, problem: Activation) -> dict[str, int | float | str]:
    """Return the defines of common/activation.h."""
    keeps_nan = problem.nan_propagation is NanPropagation.PROPAGATE_NAN and mode in _RELUS
    defines: dict[str, int | float | str] = {"ACTIVATION": f"{mode.name}{'_NAN' if keeps_nan else ''}"}
    if mode is ActivationMode.CLIPPED_RELU:
        defines["CEILING"] = _constant(problem.ceiling, problem)
    if mode in (ActivationMode.ELU, ActivationMode.SWISH):
        defines["COEF"] = _constant(problem.coef, problem)
    return defines


def recipe(problem: Problem) -> Recipe:
    """Return the recipe of an elementwise problem; its last scalar is beta unless it is set or scale."""
    if isinstance(problem, SetTensor):
        return Recipe("SET", ())
    if isinstance(problem, (ScaleTensor, TransformTensor, AddTensor)):
        return Recipe("COPY", (0,))
    if isinstance(problem, ConvolutionBiasActivationForward):  # what is left to do after the convolution
        function = activation_defines(problem.activation, problem)
        return Recipe("EPILOGUE", (2, 3), tuple(function.items()))
    if isinstance(problem, OpTensor):
        keeps_nan = problem.nan_propagation is NanPropagation.PROPAGATE_NAN and problem.operation in _EXTREMES
        reads = (0,) if problem.operation.unary else (0, 1)
        return Recipe(f"{problem.operation.name}{'_NAN' if keeps_nan else ''}", reads)
    if isinstance(problem, (ActivationForward, ActivationBackward)):
        function = activation_defines(problem.mode, problem)
        if isinstance(problem, ActivationForward):
            return Recipe("ACTIVATED", (0,), tuple(function.items()))
        if problem.mode is ActivationMode.IDENTITY:
            return Recipe("COPY", (1,))
        saved = 2 if problem.mode in _BACKWARD_READS_X else 0
        return Recipe(f"{problem.mode.name}_BACKWARD", (1, saved), tuple(function.items()))
    raise TypeError(f"{type(problem).__name__} is not elementwise")


def _vector_width(axes: list[Axis], specs: list[TensorSpec], info: DeviceInfo) -> int:
    """Return the lanes to use: 1 unless every tensor runs along, or repeats, the innermost axis."""
    if any(stride not in (0, 1) for stride in axes[-1].strides) or axes[-1].strides[-1] == 0:
        return 1
    itemsize = specs[-1].dtype.itemsize
    if info.schedule == "cpu":
        return max(min(info.simd_width * 4, CPU_VECTOR) // max(itemsize, 4), 1)
    width = ALIGNMENT // itemsize
    if any(spec.alignment < ALIGNMENT for spec in specs):
        return 1
    if len(axes) == 1:
        return width if 0 not in axes[0].strides else (width if axes[0].size % width == 0 else 1)
    fits = axes[-1].size % width == 0 and all(s % width == 0 for axis in axes[:-1] for s in axis.strides)
    repeats = all(  # a repeated value may stand anywhere
        s % width == 0 for axis in axes[:-1] for s, inner in zip(axis.strides, axes[-1].strides, strict=True) if inner
    )
    return width if axes[-1].size % width == 0 and (fits or repeats) else 1


def _in_runs(axes: list[Axis], specs: list[TensorSpec]) -> bool:
    """Tell whether vectors of the whole output meet at most two values of each repeated input (common/runs.h)."""
    flat = [i for i, stride in enumerate(axes[-1].strides) if stride or i == len(specs) - 1]
    aligned = all(specs[i].alignment >= ALIGNMENT for i in flat)
    return aligned and in_runs(axes, flat, ALIGNMENT // specs[-1].dtype.itemsize)


class ElementwiseEngine(Engine):
    """All elementwise problems, with any strides and broadcasting."""

    name = "elementwise"
    wide = True
    problems = (
        TransformTensor,
        AddTensor,
        OpTensor,
        SetTensor,
        ScaleTensor,
        ActivationForward,
        ActivationBackward,
    )

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        """Take everything."""
        return None

    def prepare(self, problem: Problem, device: Device) -> Plan:
        """Simplify the layout, choose vectors, and bake what is left into the kernel."""
        todo = recipe(problem)
        out_index = len(problem.tensors) - 1
        indices = [*todo.inputs, out_index]
        specs = [problem.tensors[i] for i in indices]
        if specs[-1].size == 0:
            return Plan(problem, self, 0, device.bind(()))
        axes = coalesce(specs[-1].dims, specs)
        flat = len(axes) == 1 and all(stride == 1 for stride in axes[0].strides)
        width = _vector_width(axes, specs, device.info)
        gpu = device.info.schedule == "gpu"
        runs = gpu and not flat and width == 1 and _in_runs(axes, specs)
        if runs:
            width = ALIGNMENT // specs[-1].dtype.itemsize
        dtype = specs[-1].dtype
        scalars = list(problem.scalars)
        defines: dict[str, int | float | str] = {
            "OP": todo.op,
            "PRIOR": "EPILOGUE" if todo.op == "EPILOGUE" else "BLENDED" if "beta" in scalars else "NONE",
            f"DTYPE_{dtype}": 1,
            "N_INPUTS": len(todo.inputs),
            "VW": width,
            **dict(todo.constants),
            **place_defines(problem),
        }
        if "beta" in scalars:
            defines["BETA"] = f"s{scalars.index('beta')}"
        defines["ITEMS"] = VECTORS_IN_FLIGHT if gpu or todo.op in _FEW_REGISTERS else 1
        if gpu:
            defines["WG"] = WORK_GROUP
            if width > 1:
                defines["VECTOR_ALIGNED"] = 1
        else:
            defines.update(stream_defines(specs))
        defines |= _layout_defines(axes, len(todo.inputs), flat=flat, runs=runs)
        size = math.prod(axis.size for axis in axes)
        parameters = [
            *(tensor("const T", f"in{i}", TensorArg(index)) for i, index in enumerate(todo.inputs)),
            tensor("T", "out", TensorArg(out_index)),
            *(number("real", f"s{i}", ScalarArg(i, dtype.accumulator)) for i in range(len(scalars))),
            number("idx_t", "n", place_arg(problem, size)),
        ]
        if gpu:
            file, block = "shared/tensor/elementwise.cl", WORK_GROUP
            groups = -(-size // (WORK_GROUP * VECTORS_IN_FLIGHT * width))
        else:
            file, block = "opencl/tensor/elementwise_cpu.cl", 1
            chunk, groups = _cpu_chunks(size, 1 if flat else axes[-1].size, device.info.compute_units)
            parameters.append(number("idx_t", "chunk", place_arg(problem, chunk)))
        kernel = device.compile(file, "elementwise", {**defines, **declare(parameters)})
        launch = Launch(kernel, (groups,), (block,), bind(parameters))
        return Plan(problem, self, 0, device.bind([launch]), (launch,))


def _layout_defines(axes: Sequence[Axis], inputs: int, *, flat: bool, runs: bool) -> dict[str, int | float | str]:
    """Return how tensors lie: side by side (`flat`), in runs of memory along the last axis, or anyhow."""
    defines: dict[str, int | float | str] = {}
    if flat or runs:
        defines["LAYOUT_FLAT"] = 1
    if not flat:
        defines["RUN" if runs else "INNER"] = f"{axes[-1].size}u"
        for i, name in enumerate([*(f"IN{j}" for j in range(inputs)), "OUT"]):
            defines[f"ROW_{name}(r)"] = offset_expression(axes[:-1], i)
            defines[f"STEP_{name}"] = axes[-1].strides[i]
        for j in range(inputs, 2):
            defines[f"ROW_IN{j}(r)"] = defines[f"STEP_IN{j}"] = 0
    return defines


def _cpu_chunks(size: int, inner: int, cores: int) -> tuple[int, int]:
    """Return the rows (or elements) per work-group and the number of work-groups, an even share for every core."""
    rows = size // inner
    groups = max(1, min(rows, -(-size // CPU_CHUNK)))
    if groups > 1:
        groups = min(rows, -(-groups // cores) * cores)
    chunk = -(-rows // groups)
    return chunk, -(-rows // chunk)


ENGINES = (ElementwiseEngine(),)
