"""Execution of a call: Problem, plan, checks of memory and numbers, launches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from ..arguments import as_real
from ..descriptors import TensorView
from ..enums import DataType, DnnEnum
from ..errors import BadParam, public
from ..handle import Handle
from ..hooks import CALL_HOOKS, computed, computing
from ..problem import Problem
from .alignment import Originals, aligned, check_writable, put_back
from .arrays import spec_of
from .call_cache import cached_call
from .choice import prepare
from .overlap import check_apart, check_memory, check_workspace_alignment, extents_of
from .plan_cache import Entry
from .problems import check_handle, make_problem, native

if TYPE_CHECKING:
    from portadnn_backends.base import Device

P = ParamSpec("P")
R = TypeVar("R")

FLOAT_MAX = float(np.finfo(np.float32).max)


def computes(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a public function that only passes its arguments to `execute`.

    Its calls are cached by the identities of their arguments.
    """
    return cached_call(function, public(function), Handle)


def execute(
    handle: Handle,
    kind: type[Problem],
    tensors: tuple[Any, ...],
    params: Any,
    scalars: tuple[Any, ...],
    *,
    algo: DnnEnum | None = None,
    workspace: Any = None,
) -> Any:
    """Run a problem on a handle and return its output, or a tuple of all outputs with None for those it lacks.

    Parameters
    ----------
    kind
        The Problem class.
    tensors
        Inputs then outputs, as ``kind.tensor_names()``. None stands for an optional input, for a tensor that the
        problem is to do without (``kind.absent``), or else for an output that is to be allocated.
    params
        Hashable: a descriptor with ``.params``, or a tuple of such descriptors and of values, in the order of the
        Problem's other fields.
    scalars
        Run-time numbers in the order of ``kind.scalars``.
    algo
        Only engines for this algorithm.
    workspace
        Scratch memory; None lets the handle provide it.
    """
    numbers: Sequence[float] = scalars
    for number in scalars:
        if type(number) is not float:
            numbers = [as_real(value, name) for name, value in zip(kind.scalars, scalars, strict=True)]
            break
    with check_handle(handle).lock:
        device = handle.device
        arrays, signatures = native(device, kind, tensors)
        originals: Originals = {}
        if device.host_memory:
            arrays, signatures, originals = aligned(device, kind, arrays, signatures)
        key = (kind, params, algo, *signatures)
        if handle.collector is not None:
            handle.collector.append(_problem(handle, kind, signatures, params))
            return _results(kind, tensors, arrays)
        entry = handle.plans.entry(key)
        if entry is None:
            entry = _make_entry(handle, kind, signatures, params, algo)
            handle.plans.add(key, entry)
        arrays = _complete(handle, kind, entry, arrays, numbers)
        used = entry.used(arrays)
        _check(handle, entry, used, numbers)
        check_writable(entry.plan.problem, kind, originals)
        scratch = _scratch(handle, entry, used, workspace)
        if CALL_HOOKS:
            computed(entry.plan.problem, tuple(numbers), list(map(device.address, used)))
        recorder: Any = device.recorder
        if recorder is not None:
            recorder.planned(entry.cached)
            recorder.operands((*tensors, workspace))
        run_recorded(device, entry.plan.run, entry.plan.run.recordable, used, numbers, scratch)
        if originals:
            arrays = put_back(entry.plan.problem, kind, arrays, originals)
    return _results(kind, tensors, arrays)


def run_recorded(device: Device, run: Callable[..., None], recordable: bool, *args: Any) -> None:
    """Run a plan; report to the device's recorder if it does more than launch."""
    recorder: Any = device.recorder
    if recorder is None or recordable:
        run(*args)
    else:
        recorder.opaque(run, *args)


def _results(kind: type[Problem], tensors: Sequence[Any], arrays: Sequence[Any]) -> Any:
    """Return the outputs: the caller's objects, or arrays allocated for them."""
    if len(kind.outputs) == 1:
        return _result(kind, tensors, tensors[-1], arrays[-1])
    first = len(kind.inputs)
    outputs = zip(tensors[first:], arrays[first:], strict=True)
    return tuple([_result(kind, tensors, tensor, array) for tensor, array in outputs])


def _result(kind: type[Problem], tensors: Sequence[Any], tensor: Any, array: Any) -> Any:
    if tensor is not None:
        return array if isinstance(tensor, TensorView) else tensor
    if kind.matrices and array is not None and getattr(tensors[0], "ndim", 0) == 2:
        return array.reshape(array.shape[:2])
    return array


def _problem(handle: Handle, kind: type[Problem], signatures: Sequence[Any], params: Any) -> Problem:
    names = kind.tensor_names()
    specs = [None if seen is None else spec_of(seen, name) for seen, name in zip(signatures, names, strict=True)]
    return make_problem(handle, kind, specs, params)


def _make_entry(
    handle: Handle, kind: type[Problem], signatures: Sequence[Any], params: Any, algo: DnnEnum | None
) -> Entry:
    names = kind.tensor_names()
    problem = _problem(handle, kind, signatures, params)
    present = tuple(i for i, name in enumerate(names) if getattr(problem, name) is not None)
    left_out = [i for i in present if signatures[i] is None]
    inputs = len(kind.inputs)
    numbers = list(kind.scalars)
    return Entry(
        handle.plans.plan(problem, algo, lambda: prepare(handle, problem, algo)),
        allocate=tuple((i, getattr(problem, names[i])) for i in left_out if i >= inputs),
        skipped=tuple((i, numbers.index(kind.optional[names[i]])) for i in left_out if i < inputs),
        present=present if len(present) < len(names) else None,
        extents=extents_of(problem),
        single=problem.dtype.accumulator is DataType.FLOAT,
    )


def _complete(
    handle: Handle, kind: type[Problem], entry: Entry, tensors: Sequence[Any], numbers: Sequence[float]
) -> Sequence[Any]:
    """Allocate omitted outputs, and substitute inputs that are not read."""
    if not (entry.allocate or entry.skipped):
        return tensors
    for i, number in entry.skipped:
        if numbers[number] != 0:
            name = kind.tensor_names()[i]
            raise BadParam(argument=name, expected=f"a tensor, because {kind.optional[name]} is not 0", got=None)
    arrays = list(tensors)
    for i, spec in entry.allocate:
        arrays[i] = handle.device.empty(spec)
    for i, _ in entry.skipped:
        arrays[i] = arrays[-1]
    return arrays


def _check(handle: Handle, entry: Entry, arrays: Sequence[Any], numbers: Sequence[float]) -> None:
    """Check what a plan does not fix: addresses and run-time numbers."""
    device, problem = handle.device, entry.plan.problem
    addresses = [device.address(array) for array in arrays]
    if CALL_HOOKS:
        computing(problem, numbers, addresses)
    if addresses != entry.apart:
        check_memory(problem, entry.extents, addresses)
        entry.apart = addresses
    if device.host_memory:
        for name, array in zip(problem.names, arrays, strict=True):
            if name in problem.written and not device.writable(array):
                raise BadParam(argument=name, expected="a writable array", got="a read-only one")
    if entry.single:
        for number in numbers:
            if not -FLOAT_MAX <= number <= FLOAT_MAX:
                _check_single(problem, numbers)


def _check_single(problem: Problem, numbers: Sequence[float]) -> None:
    """Refuse finite numbers that overflow float32."""
    for name, number in zip(problem.scalars, numbers, strict=True):
        if math.isfinite(number) and abs(number) > FLOAT_MAX:
            raise BadParam(argument=name, expected="a number that float32 can hold", got=number)


def _scratch(handle: Handle, entry: Entry, arrays: Sequence[Any], workspace: Any) -> Any:
    """Return the workspace: the caller's after checks, or the handle's."""
    device, plan = handle.device, entry.plan
    if workspace is None:
        return handle.scratch(plan.workspace_size) if plan.workspace_size else None
    workspace = device.native_workspace(workspace)
    size = device.workspace_size(workspace)
    if not plan.workspace_size:
        return None  # not needed, but it had to be one
    if size < plan.workspace_size:
        raise BadParam(argument="workspace", expected=f"at least {plan.workspace_size} bytes", got=f"{size} bytes")
    check_workspace_alignment(device, workspace)
    check_apart(device, plan.problem, entry.extents, arrays, workspace, plan.workspace_size)
    return workspace
