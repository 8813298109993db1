"""Comparing a PyTorch program with another backend, call by call, while it runs.

Each call's inputs go to the other backend as well, so that rounding does not add up from layer to layer. Both results
are held against the exact one, which tells whose fault a difference is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ...bfloat16 import as_float64
from ...descriptors import TensorView
from ...diff.buffers import on_host
from ...diff.compare import bounds, compare
from ...diff.oracle import exact, terms
from ...dispatch.choice import choose
from ...dispatch.execute import execute
from ...enums import DataType
from ...errors import BadParam, DnnError
from ...graph.operation_graph import OperationGraph
from ...handle import Handle
from ...ops.batch_norm import BatchNormalizationForwardInference, BatchNormalizationForwardTraining
from ...ops.convolution.calls import Convolution
from ...ops.normalization import NormalizationForward
from ...ops.pooling import PoolingBackward
from ...problem import Problem, TensorSpec
from .computation import Apart, Computation, Operand
from .graph_comparing import GraphSides
from .watching import Made, Watch

TORCH = "torch"
MOST_FLOPS = 2e9  # of a convolution whose exact result is computed; larger ones are compared with each other
_UNITS = {DataType.HALF: 2.0**-11, DataType.BFLOAT16: 2.0**-8}  # the most that rounding to nearest changes, relatively
_BATCH_NORMS = (BatchNormalizationForwardInference, BatchNormalizationForwardTraining)
_NORMS = (*_BATCH_NORMS, NormalizationForward)
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Difference:
    """A call that is off.

    Attributes
    ----------
    call : int
        Its number among those that were seen, from 1.
    target : str
        Who is off: ``"torch"``, the target, or both with a comma where no exact result says which.
    module, function : str
        Name of the module, and the operator.
    site : (str, int)
        Where the program called it.
    problem : str
        Its line, with the numbers.
    message : str
        What is off, and by how much.
    """

    call: int
    target: str
    module: str
    function: str
    site: tuple[str, int]
    problem: str
    message: str

    def __str__(self) -> str:
        module = f"module {self.module}, " if self.module else ""
        place = f"{self.site[0]}:{self.site[1]}: " if self.site[0] else ""
        return f"call {self.call}, {place}{module}{self.function}\n  {self.problem}\n  {self.target}: {self.message}"


class Comparer(Watch):
    """Compares the calls of a PyTorch program with another backend.

    A context manager.

    Parameters
    ----------
    handle
        The other backend's, which the caller closes.
    name
        What reports call it.
    checks
        How many calls of each problem and module are compared.

    Attributes
    ----------
    differences : list of Difference
        In the order of the calls.
    compared_calls : Counter of str
        By kind.
    refused : Counter of (str, str)
        Problems' operations that the target does not compute, with its reasons.
    """

    compared = True

    def __init__(self, handle: Handle, name: str = "", *, checks: int = 2) -> None:
        super().__init__()
        if not isinstance(handle, Handle):
            raise BadParam(argument="handle", expected="a portadnn.Handle", got=type(handle).__name__)
        self.handle = handle
        self.name = name or handle.backend
        self.differences: list[Difference] = []
        self.compared_calls: Counter[str] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()
        self.seen = 0
        self._checks = checks
        self._known: Counter[Any] = Counter()
        self._graphs = GraphSides(handle)

    def _repr_html_(self) -> str:
        """Show in notebooks which calls are off."""
        from ..._page.cells import table

        head = ("call", "module", "function", "who is off", "problem", "what")
        rows = [(d.call, d.module, d.function, d.target, d.problem, d.message) for d in self.differences]
        count = self.compared_calls.total()
        said = f"{count} problems compared with {self.name}: {len(rows) or 'none'} off"
        return table(said, head if rows else (), rows)

    def made(self, call: Made) -> None:
        """Compute a call on the other backend, and compare."""
        self.seen += 1
        for computation in call.computations:
            key = (call.module, call.function, computation.problem)
            self._known[key] += 1
            if self._known[key] > self._checks:
                continue
            try:
                found = self._compare(computation)
            except DnnError as error:
                self.refused[computation.problem.op or str(computation.problem).partition(" ")[0], str(error)] += 1
                continue
            self.compared_calls[call.kind] += 1
            for target, message in found.items():
                numbers = (f"{name}={value!r}" for name, value in computation.numbers.items())
                line = " ".join((str(computation.problem), *numbers))
                self.differences.append(
                    Difference(self.seen, target, call.module, call.function, call.site, line, message)
                )

    def _compare(self, computation: Computation) -> dict[str, str]:
        """Return what is wrong by target.

        Raises
        ------
        DnnError
            The target does not compute the problem.
        """
        problem = computation.problem
        arrays = {name: _array(operand) for name, operand in computation.tensors.items()}
        if isinstance(problem, OperationGraph):
            found = self._graphs.differences(problem, arrays)
            return {TORCH if own else self.name: message for own, message in found.items()}
        engine = choose(self.handle, problem, None)
        results = self._run(problem, arrays, computation.numbers)
        sides: dict[str, Mapping[str, Any]] = {TORCH: arrays, self.name: results}
        if isinstance(problem, Convolution) and problem.flops() > MOST_FLOPS:
            return self._with_each_other(computation, sides)
        given = [self._given(problem, name, spec, arrays[name]) for name, spec in _specs(problem)]
        want, sums = exact(problem, given, computation.numbers), terms(problem, given, computation.numbers)
        with np.errstate(all="ignore"):
            product = float(np.prod([np.abs(as_float64(one)).max(initial=0.0) for one in given[:2]]))
        messages: dict[str, str] = {}
        for name in _checked(computation, want):
            for side, outputs in sides.items():
                if outputs.get(name) is None:
                    continue
                factor = engine.error_factor(problem)  # PyTorch's own algorithms are as exact as ours, at most
                how: dict[str, Any] = {
                    "factor": factor,
                    "transforms": engine.transforms or side == TORCH,
                    "product": product,
                }
                absolute, added = sums.get(name), None
                if side == TORCH:
                    absolute, added = _by_lines(problem, name, absolute), _added(computation.tensors[name])
                if added is not None and absolute is not None:
                    absolute = absolute + added
                due, bound, unknown = bounds(problem, name, want[name], absolute, **how)
                if added is not None:  # rounded with it, and again when it was taken off
                    bound = bound + computation.tensors[name].spec.dtype.limits.eps * (np.abs(want[name]) + added)
                if side == TORCH and name in sums:
                    bound = bound + _roundings(problem) * np.where(np.isfinite(sums[name]), np.abs(sums[name]), 0.0)
                off = compare(problem, name, outputs[name], due, bound, unknown)
                if off.wrong:
                    messages.setdefault(side, f"{name}: {off}")
        return messages

    @staticmethod
    def _given(problem: Problem, name: str, spec: TensorSpec, array: Array | None) -> Array:
        """Return a tensor as it was before the call: outputs are zeros, to which RNNs add their weights' gradients."""
        written = name in problem.written and name not in problem.raw
        return np.zeros(spec.dims, spec.dtype.storage) if array is None or written else array

    def _with_each_other(self, computation: Computation, sides: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
        """Compare a large convolution's results with each other; the sums of absolute terms are the target's, too."""
        problem = computation.problem
        arrays = sides[TORCH]
        absolute = {
            name: array if array is None or name in problem.written else np.abs(array) for name, array in arrays.items()
        }
        sums = self._run(problem, absolute, computation.numbers)
        (name,) = problem.written
        want = as_float64(sides[self.name][name])
        due, bound, unknown = bounds(problem, name, want, as_float64(sums[name]), transforms=True)
        off = compare(problem, name, arrays[name], due, 2 * bound, unknown)
        return {f"{TORCH}, {self.name}": f"{name} of both differ: {off}"} if off.wrong else {}

    def _run(self, problem: Problem, arrays: Mapping[str, Any], numbers: Mapping[str, float]) -> dict[str, Array]:
        """Compute a problem on the target, and return its outputs."""
        device = self.handle.device
        tensors = {}
        for name, spec in _specs(problem):
            array = None if name in problem.written and name not in problem.raw else arrays[name]
            memory = np.zeros(max(spec.span, 1), spec.dtype.storage)
            if array is not None:
                _strided(memory, spec)[...] = array
            tensors[name] = device.wrap(TensorView(spec, device.asarray(memory)), name)
        names = problem.tensor_names()
        params = tuple(getattr(problem, field.name) for field in fields(problem) if field.name not in names)
        given = tuple(tensors.get(name) for name in names)
        execute(self.handle, type(problem), given, params, tuple(numbers.values()))
        self.handle.synchronize()
        written = [(name, spec) for name, spec in _specs(problem) if name in problem.written]
        return {name: on_host(self.handle, tensors[name]).reshape(spec.dims) for name, spec in written}


def _roundings(problem: Problem) -> float:
    """Return by what share of the absolute terms PyTorch's own result may be off besides (docs/torch-differences.md).

    On CPUs its gradients of pooling are added up in 16 bits where windows overlap, with a rounding for each, and a
    batch norm with parameters of 16 bits is a line whose slope and offset are rounded to these.
    """
    unit = _UNITS.get(problem.tensors[0].dtype)
    if unit is None:
        return 0.0
    if isinstance(problem, _BATCH_NORMS):
        return 3 * unit
    if not isinstance(problem, PoolingBackward):
        return 0.0
    return unit * math.prod(-(-w // s) for w, s in zip(problem.window, problem.stride, strict=True))


def _by_lines(problem: Problem, name: str, sums: Array | None) -> Array | None:
    """Return the absolute terms that PyTorch's rounding is measured by: a norm's are those of a line.

    It computes ``x * a + b`` with one slope and offset for a channel or a row, so that a result near 0 is as far off as
    the largest with the same.
    """
    if name != "y" or sums is None or not sums.size or not isinstance(problem, _NORMS):
        return sums
    axes = (0, *range(2, sums.ndim)) if isinstance(problem, _BATCH_NORMS) else tuple(range(1, sums.ndim))
    return np.maximum(sums, np.where(np.isfinite(sums), sums, 0.0).max(axes, keepdims=True))


def _added(operand: Operand) -> Array | None:
    """Return the size of what a call added to a result before it was rounded."""
    if not isinstance(operand, Apart) or operand.added is None:
        return None
    found: Array = np.abs(operand.added().detach().double().cpu().numpy())
    return found


def _specs(problem: Problem) -> zip[tuple[str, TensorSpec]]:
    return zip(problem.names, problem.tensors, strict=True)


def _checked(computation: Computation, want: Mapping[str, Any]) -> list[str]:
    """Return the outputs that PyTorch has as well."""
    return [
        name
        for name, operand in computation.tensors.items()
        if name in want
        and name not in (*computation.unchecked, *computation.problem.raw)
        and not (isinstance(operand, Apart) and (operand.make is None or operand.rounded))
    ]


def _array(operand: Operand) -> Array | None:
    """Return a tensor's numbers on the host, as stored; None of memory that nobody has."""
    if isinstance(operand, Apart):
        if operand.make is None:
            return None
        operand = operand.make()
    host = operand.detach().cpu()
    if str(host.dtype) == "torch.bfloat16":
        return _bfloat16(host)
    return np.array(host.resolve_conj().resolve_neg().numpy())


def _bfloat16(host: Any) -> Array:
    import torch

    from ...enums import DataType

    found: Array = host.contiguous().view(torch.int16).numpy().view(DataType.BFLOAT16.storage)
    return found


def _strided(memory: Array, spec: TensorSpec) -> Array:
    size = spec.dtype.itemsize
    found: Array = np.ndarray(spec.dims, memory.dtype, memory, 0, tuple(size * step for step in spec.strides))
    return found


__all__ = ["Comparer", "Difference"]
