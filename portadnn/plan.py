"""From a call to a launch: find or make the plan for the arrays at hand, check memory, run.

A call made before with arrays of the same shapes is a dictionary lookup, an overlap check and a launch.
"""

from __future__ import annotations

import functools
import math
import struct
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from .descriptors import TensorView
from .enums import DataType, DnnEnum
from .errors import ArchMismatch, BadParam, DnnError, NotSupported, public, shown
from .handle import Handle, log
from .overlap import check_apart, check_memory, extents_of
from .problem import ALIGNMENT, Problem, TensorSpec
from .recent import Made, Recent, remember, remember_as_given
from .runs import Runs
from .watching import WATCHERS, computed, computing

FLOAT_MAX = float(np.finfo(np.float32).max)
_PACK_DOUBLES = [struct.Struct(f"{count}d").pack for count in range(33)]

if TYPE_CHECKING:
    from collections.abc import Callable

    from portadnn_backends.base import Device, DeviceInfo, Engine, Plan, Run

    Look = Callable[[Handle, Plan], Plan]

P = ParamSpec("P")
R = TypeVar("R")

LOOKING: list[Look] = []  # functions that see every plan that calls make, and may return another one in its place


@dataclass
class Entry:
    """A cached plan with what each call still has to do around it."""

    plan: Plan
    allocate: tuple[tuple[int, TensorSpec], ...]  # outputs that the caller left out
    skipped: tuple[tuple[int, int], ...]  # optional inputs left out, and the numbers that must then be 0
    present: tuple[int, ...] | None  # the tensors that the problem has, None for all
    extents: tuple[int, ...]  # bytes from the first to the last element of each tensor
    single: bool  # whether the run-time numbers are stored as float32 (guide section 2.6)
    runs: Runs  # entries of one plan share them
    checked: Sequence[int] = ()  # the addresses of the last call whose memory was found apart

    def used(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Return the arrays of the tensors that the problem has."""
        return arrays if self.present is None else [arrays[i] for i in self.present]


def _parameter_names(kind: Any) -> tuple[str, ...]:
    tensors = set(kind.tensor_names())
    return tuple(field.name for field in fields(kind) if field.name not in tensors)


class _Notes(threading.local):
    """The runs of the function under way, marked by :func:`computes`, that can be repeated from now on."""

    made: list[Made] | None = None


_NOTES = _Notes()


def computes(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a public function as :func:`~portadnn.errors.public` does, one that only hands its arguments to `execute`.

    What it is given again and again, for tensors that end with its last positional argument, is not looked at any
    more: the run that it led to is repeated.
    """
    call = function.__name__

    @functools.wraps(function)
    def noting(*args: P.args, **kwargs: P.kwargs) -> R:
        made = _NOTES.made = []
        try:
            result = function(*args, **kwargs)
        finally:
            _NOTES.made = None
        if len(made) == 1 and len(args) > 1 and type(handle := args[0]) is Handle:
            again = remember_as_given(made[0], args, kwargs, result)
            with handle.lock:
                if again is not None and made[0].key in handle.recent:  # neither closed nor told of a faster engine
                    handle.recent.keep((call, id(args[1]), id(args[-1])), Recent(again, made[0].stamp))
        return result

    named = public(noting)

    @functools.wraps(function)
    def known(*args: P.args, **kwargs: P.kwargs) -> R:
        if len(args) > 1 and type(args[0]) is Handle:
            recent = args[0].recent.get((call, id(args[1]), id(args[-1])))
            if recent is not None:
                try:
                    result = recent.again(args, kwargs)
                except DnnError as error:
                    error.call = call
                    raise
                if result is not None:
                    return result  # type: ignore[no-any-return]
        return named(*args, **kwargs)

    return known


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
    recent_key = kind, id(tensors[0]), id(tensors[-1])
    recent = handle.recent.get(recent_key) if type(handle) is Handle else None
    if recent is not None:  # a closed handle has none
        result = recent.again(handle, tensors, params, algo, scalars, workspace)
        if result is not None:
            return result
    device = check_handle(handle).device
    numbers: Sequence[float] = scalars
    for number in scalars:
        if type(number) is not float:
            numbers = [_number(s, n) for s, n in zip(scalars, kind.scalars, strict=True)]
            break
    try:
        signatures, places = device.look(tensors)
        arrays: Sequence[Any] = tensors
    except (AttributeError, TypeError, BadParam):  # not all are native arrays of this device
        arrays = wrapped(device, kind, tensors)
        signatures, places = device.look(arrays)
    key = (kind, params, algo, *signatures)
    entry = handle.entries.get(key)
    with handle.lock:
        if entry is None:
            entry = handle.entries[key] = _make_entry(handle, kind, arrays, params, algo)
        run = entry.runs.last
        stamp = None
        if run.repeat is not None:
            scratch = handle.scratches if workspace is None else device.workspace_place(workspace)
            if scratch is not None:
                stamp = (places, _PACK_DOUBLES[len(numbers)](*numbers), scratch)  # as bytes_of
                if not entry.allocate and (run.stamp is None or run.stamp[0] != places):
                    run = entry.runs.at(device, places)
        anew = stamp is None or stamp != run.stamp  # what the last call was made with needs no second look
        if WATCHERS and not anew:
            computing(entry.plan.problem, numbers, run.addresses)
            computed(entry.plan.problem, tuple(numbers), run.addresses)
        if anew or not run.repeat():  # type: ignore[misc]
            stays = stamp is not None and run.stamp is not None and stamp[0] == run.stamp[0]
            arrays = _run_anew(handle, entry, run, kind, arrays, numbers, workspace, stays)
            run.stamp = None if entry.allocate else stamp
        elif (
            arrays is tensors
            and (recent is None or recent.stamp is not run.stamp)
            and handle.recent.due(recent_key, run.stamp)
        ):
            again = remember(handle, run, tensors, params, algo, scalars, len(kind.inputs))
            handle.recent.keep(recent_key, Recent(again, run.stamp))
            entry.runs.keep(places)
            if _NOTES.made is not None:
                _NOTES.made.append(Made(run, run.stamp, tensors, recent_key))
    if len(kind.outputs) == 1:
        return _given(tensors[-1], arrays[-1])
    first = len(kind.inputs)
    return tuple(map(_given, tensors[first:], arrays[first:]))


def _run_anew(
    handle: Handle,
    entry: Entry,
    run: Run,
    kind: type[Problem],
    tensors: Sequence[Any],
    numbers: Sequence[float],
    workspace: Any,
    stays: bool,
) -> Sequence[Any]:
    """Check everything that a plan does not fix and run it; returns the tensors with those that were allocated.

    With `stays` the tensors lie where those of the run's last call did.
    """
    device, plan = handle.device, entry.plan
    if entry.skipped:
        _check_skipped(kind, entry, numbers)
    arrays = tensors
    if entry.allocate or entry.skipped:
        arrays = list(tensors)
        for i, spec in entry.allocate:
            arrays[i] = device.empty(spec)
        for i, _ in entry.skipped:
            arrays[i] = arrays[-1]
    used = entry.used(arrays)
    addresses = run.addresses if stays else list(map(device.address, used))
    if WATCHERS:
        computing(plan.problem, numbers, addresses)
    if not stays and addresses != entry.checked:
        check_memory(plan.problem, entry.extents, addresses)
        entry.checked = addresses
    if entry.single:
        for number in numbers:
            if not -FLOAT_MAX <= number <= FLOAT_MAX:
                _check_single(kind, numbers)
    if plan.workspace_size:
        if workspace is None:
            workspace = handle.scratch(plan.workspace_size)
        else:
            _check_workspace(device, entry, used, workspace)
    elif workspace is not None:
        device.workspace_size(workspace)  # not needed, but it must be one
    if WATCHERS:
        computed(plan.problem, tuple(numbers), addresses)
    run.stamp, run.addresses = None, addresses
    run.call(used, numbers, workspace)
    return arrays


def bound(
    handle: Handle,
    kind: type[Problem],
    tensors: tuple[Any, ...],
    params: Any,
    scalars: tuple[float, ...],
    plan: Plan | None = None,
) -> Callable[[], bool] | None:
    """Return what computes a problem on these arrays as often as it is called, as cheaply as possible.

    It returns False, and does nothing, where arguments are not bound any longer: on another stream, say. It keeps no
    memory alive, and tells nobody who watches. None stands for plans without launches.

    Parameters
    ----------
    tensors, params, scalars
        As for :func:`execute`, all outputs given.
    plan
        To be run instead of the handle's own.
    """
    device = handle.device
    signatures, _ = device.look(tensors)
    key = (kind, params, None, *signatures)
    entry = handle.entries.get(key)
    if entry is None:
        entry = handle.entries[key] = _make_entry(handle, kind, tensors, params, None)
    plan = plan or entry.plan
    if not plan.launches or LOOKING or entry.allocate:
        return None
    arrays = list(tensors)
    for i, _ in entry.skipped:
        arrays[i] = arrays[-1]
    used: Sequence[Any] | None = entry.used(arrays)
    del arrays
    check_memory(plan.problem, entry.extents, list(map(device.address, used or ())))
    run, size = device.bind(plan.launches), plan.workspace_size
    scratch, known = handle.scratch(size) if size else None, handle.scratches

    def again() -> bool:
        nonlocal used, scratch
        if size and handle.scratches != known:
            return False
        if used is not None:
            run.call(used, scalars, scratch)
            used = scratch = None
            return True
        return run.repeat is not None and run.repeat()

    return again


def bytes_of(numbers: Sequence[float]) -> bytes:
    """Return the numbers' bytes: -0.0 and 0.0 are equal, but not the same argument."""
    return _PACK_DOUBLES[len(numbers)](*numbers)


def _given(tensor: Any, array: Any) -> Any:
    """Return what the caller passed as an output, or the array that was made of it or for it."""
    return array if tensor is None or isinstance(tensor, TensorView) else tensor


def check_handle(handle: Any) -> Handle:
    """Demand a handle; a closed one raises when its device is asked for."""
    if not isinstance(handle, Handle):
        raise BadParam(argument="handle", expected="a portadnn.Handle", got=shown(handle))
    return handle


def _number(value: Any, name: str) -> float:
    if isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise BadParam(argument=name, expected="a number that float64 can hold", got="a larger one") from None
    raise BadParam(argument=name, expected="a number", got=shown(value))


def _check_skipped(kind: type[Problem], entry: Entry, numbers: Sequence[float]) -> None:
    """Demand the optional inputs that would be read."""
    for i, number in entry.skipped:
        if numbers[number] != 0:
            name = kind.tensor_names()[i]
            raise BadParam(argument=name, expected=f"a tensor, because {kind.optional[name]} is not 0", got=None)


def _check_single(kind: type[Problem], numbers: Sequence[float]) -> None:
    """Refuse finite numbers that float32 cannot hold."""
    for name, number in zip(kind.scalars, numbers, strict=True):
        if math.isfinite(number) and abs(number) > FLOAT_MAX:
            raise BadParam(argument=name, expected="a number that float32 can hold", got=number)


def wrapped(device: Device, kind: type[Problem], tensors: Sequence[Any]) -> list[Any]:
    """Turn views and other libraries' tensors into native arrays; errors name the argument."""
    arrays = []
    for name, tensor in zip(kind.tensor_names(), tensors, strict=True):
        array = tensor if tensor is None or device.owns(tensor) else device.wrap(tensor, name)
        if array is not None:
            try:
                device.signature(array)
            except BadParam as error:
                error.argument = name
                raise
        arrays.append(array)
    return arrays


def spec_of(signature: tuple[Any, ...], name: str) -> TensorSpec:
    """Turn a device's signature (shape, byte strides, dtype, address mod 16) into a TensorSpec.

    Raises
    ------
    BadParam
        A dtype that portadnn does not store, or strides or an address that are no multiples of the element.
    """
    shape, byte_strides, dtype, misalignment = signature
    data_type = DataType.of_array(dtype, f"{name}.dtype") if dtype.isnative else None
    if data_type is None:
        raise BadParam(argument=f"{name}.dtype", expected="native byte order", got=dtype)
    size = data_type.itemsize
    if misalignment % size:
        raise BadParam(
            argument=name,
            expected=f"an address that is a multiple of {size} bytes",
            got=f"{misalignment} mod 16",
        )
    # the stride of a dimension of one says nothing, and NumPy lets it be anything
    strides = [0 if d == 1 and (s < 0 or s % size) else s for d, s in zip(shape, byte_strides, strict=True)]
    if any(stride % size for stride in strides):
        raise BadParam(argument=f"{name}.strides", expected=f"multiples of {size} bytes", got=byte_strides)
    alignment = ALIGNMENT if misalignment == 0 else size
    return TensorSpec(data_type, tuple(shape), tuple(s // size for s in strides), alignment)


def _words(params: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return parameters with each descriptor replaced by its values."""
    return tuple(word for param in params for word in getattr(param, "params", (param,)))


def make_problem(handle: Handle, kind: type[Problem], tensors: Sequence[Any], params: Any) -> Problem:
    """Build and validate the Problem of a call; specs of outputs that are None are inferred."""
    device = check_handle(handle).device
    names = kind.tensor_names()
    values: dict[str, Any] = {}
    for name, tensor in zip(names, tensors, strict=True):
        if tensor is None:
            if name in kind.inputs and name not in kind.optional and name not in kind.absent:
                raise BadParam(argument=name, expected="a tensor", got=None)
        elif isinstance(tensor, TensorSpec):
            values[name] = tensor
        else:
            array = tensor if device.owns(tensor) else device.wrap(tensor, name)
            values[name] = spec_of(device.signature(array), name)
    words = _words(params if isinstance(params, tuple) else (params,))
    if len(words) != len(_parameter_names(kind)):
        raise BadParam(argument="descriptor", expected=f"the descriptor of {kind.op}", got=shown(params))
    values.update(zip(_parameter_names(kind), words, strict=True))
    kind.complete(values)
    missing = [name for name in names if name not in values and name not in kind.absent]
    if missing:
        raise BadParam(argument=missing[0], expected="a tensor, because its shape does not follow", got=None)
    problem = kind(**values)
    problem.validate()
    left_out = {name for name, tensor in zip(names, tensors, strict=True) if tensor is None}
    return with_room(handle, problem, left_out.intersection(kind.raw, problem.written))


def with_room(handle: Handle, problem: Problem, buffers: Collection[str]) -> Problem:
    """Return the problem with these byte buffers as large as the engines of the handle want them."""
    grown = {}
    for name in buffers:
        spec: TensorSpec = getattr(problem, name)
        size = raw_size(handle, problem, name)
        if size > spec.size:
            grown[name] = TensorSpec(spec.dtype, (size,), spec.strides, spec.alignment)
    return replace(problem, **grown) if grown else problem


def raw_size(handle: Handle, problem: Problem, name: str) -> int:
    """Return the bytes that the engines of a handle need of a byte buffer: those of the problem, or more."""
    info = handle.device.info
    return max((engine.raw_size(problem, name, info) for engine in handle.engines_for(problem)), default=0)


def check_type(problem: Problem, info: DeviceInfo) -> None:
    """Raise ArchMismatch where the device cannot compute in the problem's type."""
    if not info.fp64 and any(spec.dtype is DataType.DOUBLE for spec in problem.tensors):
        raise ArchMismatch(
            f"{info.name} has no float64", argument="dtype", expected="FLOAT, HALF or BFLOAT16", got="DOUBLE"
        )


def serves(engine: Engine, problem: Problem, algo: DnnEnum | None) -> bool:
    """Tell whether an engine may be chosen: its algorithm if one is asked for, else if it is exact and repeatable.

    One without an algorithm's number cannot be asked for.
    """
    own = engine.algo(problem)
    if algo is not None:
        return own == algo
    return own is None or (engine.deterministic and engine.error_factor(problem) == 1)


def candidates(
    engines: Sequence[Engine], problem: Problem, info: DeviceInfo, algo: DnnEnum | None = None
) -> list[Engine]:
    """Return the engines that take the problem, the one with the least estimated time first.

    With an algorithm, all of its engines; without one, those that are deterministic and sum exact products.

    Raises
    ------
    ArchMismatch
        The device cannot compute in the problem's type.
    NotSupported
        The backend's capability table refuses it, or no engine takes it; the message gives every engine's reason.
    """
    from . import capability  # read when the first plan is made

    check_type(problem, info)
    capability.check(engines, problem, info, algo)
    takers, reasons, offered = [], [], []
    for engine in engines:
        if algo is not None and engine.algo(problem) != algo:
            offered.append(str(engine.algo(problem)))
            continue
        reason = engine.refusal(problem, info)
        if reason is None and not serves(engine, problem, algo):
            reason = f"only when asked for as {engine.algo(problem)}"
        if reason is None:
            takers.append(engine)
        reasons.append(f"{engine.name}: {reason}")
    if takers:
        return sorted(takers, key=lambda engine: engine.seconds(problem, info)) if len(takers) > 1 else takers
    if algo is not None and not reasons:
        nearest = f"; available: {', '.join(dict.fromkeys(offered))}" if offered else ""
        raise NotSupported(f"no engine of {info.backend} implements {algo}{nearest}", argument="algo")
    raise NotSupported(f"no engine of {info.backend} takes it ({'; '.join(reasons) or 'none is registered'})")


def choose(handle: Handle, problem: Problem, algo: DnnEnum | None = None) -> Engine:
    """Return the one of :func:`candidates` that Find measured as the fastest, or else the first."""
    info = check_handle(handle).device.info
    return handle.found.best(candidates(handle.engines_for(problem), problem, info, algo), problem, info)


def prepare(handle: Handle, problem: Problem, algo: DnnEnum | None = None) -> Plan:
    """Make a new plan for a problem on a handle's device."""
    device = handle.device
    engine = choose(handle, problem, algo)
    log.debug("%s: %s on %s", problem, engine.name, device.info.name)
    plan = engine.prepare(problem, device)
    for look in LOOKING:
        plan = look(handle, plan)
    return plan


def workspace_size(handle: Handle, problem: Problem, algo: DnnEnum | None = None) -> int:
    """Return the exact workspace bytes of the engine that would take the problem."""
    return choose(handle, problem, algo).workspace(problem, handle.device.info)


def _make_entry(handle: Handle, kind: type[Problem], arrays: Sequence[Any], params: Any, algo: DnnEnum | None) -> Entry:
    problem = make_problem(handle, kind, arrays, params)
    names = kind.tensor_names()
    present = tuple(i for i, name in enumerate(names) if getattr(problem, name) is not None)
    left_out = [i for i in present if arrays[i] is None]
    inputs = len(kind.inputs)
    allocate = tuple((i, getattr(problem, names[i])) for i in left_out if i >= inputs)
    numbers = list(kind.scalars)
    skipped = tuple((i, numbers.index(kind.optional[names[i]])) for i in left_out if i < inputs)
    plan_key = (problem, algo)
    found = handle.entries.get(plan_key)
    plan = found.plan if found is not None else prepare(handle, problem, algo)
    entry = Entry(
        plan,
        allocate,
        skipped,
        present if len(present) < len(names) else None,
        extents_of(problem),
        problem.dtype.accumulator is DataType.FLOAT,
        Runs(plan.run, plan.launches) if found is None else found.runs,
    )
    handle.entries.setdefault(plan_key, entry)
    return entry


def _check_workspace(device: Device, entry: Entry, arrays: Sequence[Any], workspace: Any) -> None:
    """Demand a workspace of the caller's that is large enough and lies apart from the tensors."""
    needed, size = entry.plan.workspace_size, device.workspace_size(workspace)
    if size < needed:
        raise BadParam(argument="workspace", expected=f"at least {needed} bytes", got=f"{size} bytes")
    check_apart(device, entry.plan.problem, entry.extents, arrays, workspace, needed)
