"""The one test helper: run a problem on a backend and compare everything that can be compared.

``check(handle, line)`` takes a problem line, makes seeded inputs, poisons and guards every buffer, runs twice and
compares with an oracle. ``over(table)`` runs a test for every case of a table on every kernel backend.
"""

from __future__ import annotations

import functools
import os
import zlib
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
import vendor

import portadnn as dnn
from portadnn.plan import execute
from portadnn.problem import ALIGNMENT, TensorSpec, parse_line
from portadnn.registry import backend_names, default_backend_names, get_backend
from portadnn.tolerance import tolerance
from portadnn_backends.reference_ops import evaluate
from portadnn_backends.reference_outcomes import outcomes, terms

GUARD = 32  # elements at each end of every buffer, a multiple of 16 bytes


# which backends to test


@dataclass(frozen=True)
class Target:
    """Something to open a handle on. `slow` marks GPU-shaped kernels on a CPU: they get fewer cases."""

    name: str
    backend: str
    device: int = 0
    schedule: str | None = None
    missing: str | None = None
    slow: bool = False


def backends_in(variable):
    """Return the backends that an environment variable lists, or None when it is not set."""
    text = os.environ.get(variable)
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in backend_names():
            raise pytest.UsageError(f"{variable}: there is no backend {name!r}")
    return names


def gpu_schedule_broken(info):
    """Return why GPU-shaped kernels cannot be trusted on a CPU device, or None.

    Such a kernel is no user's way to run on a CPU; it only lets machines without a GPU check GPU kernels.
    """
    release = info.driver.split(".")[0]
    if "Portable Computing" in info.platform and release.isdecimal() and int(release) >= 5:
        return (
            f"PoCL {info.driver} compiles barriers in loops wrongly: with assertions its compiler stops in "
            "WorkitemLoops.cc (a PHI node at a region's entry), without them results differ from run to run; "
            "PoCL 3 is right"
        )
    return None


@functools.cache
def every_target():
    """Backends to test beside the reference, those of other vendors where they are named.

    OpenCL CPU devices run with both schedules, so that CI checks the GPU kernels.
    """
    wanted = backends_in("PORTADNN_TEST_BACKENDS")
    found = []
    for name in default_backend_names() if wanted is None else wanted:
        if name == "reference":
            continue  # its own tests compare it with independent code
        backend = get_backend(name)
        missing = backend.why_unavailable()
        if missing is not None:
            found.append(Target(name, name, missing=missing))
            continue
        first_cpu = True
        for index, info in enumerate(backend.devices()):
            if info.kind == "gpu":
                found.append(Target(f"{name}:{index}", name, index))
            elif first_cpu:
                first_cpu = False
                found.append(Target(f"{name}-cpu", name, index, None if name == "torch" else "cpu"))
                if name == "torch":
                    continue  # no kernels of portadnn's
                broken = gpu_schedule_broken(info)
                found.append(Target(f"{name}-gpu-schedule", name, index, "gpu", missing=broken, slow=True))
    return tuple(found)


def targets():
    """Return the targets that run portadnn's kernels; the others as missing."""
    return [replace(t, missing="it has no kernels") if get_backend(t.backend).vendor else t for t in every_target()]


@functools.cache
def open_handle(target):
    """Open the handle of a target, or skip when its backend is missing; see also ``conftest.pytest_configure``."""
    if target.missing is not None:
        pytest.skip(f"{target.name} is not available: {target.missing}")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PORTADNN_SCHEDULE", raising=False)
        if target.schedule is not None:
            patch.setenv("PORTADNN_SCHEDULE", target.schedule)
        handle = dnn.Handle(target.backend, target.device)
    if target.slow:  # make the choices that a large GPU would get; what a CPU's optimiser makes of them proves nothing
        handle.device.info = replace(handle.info, compute_units=132, simd_width=32)
        handle.device.build_options += " -cl-opt-disable"
    return handle


@dataclass(frozen=True)
class Case:
    """A row of a table: a problem line with its numbers, and how to fill the inputs.

    `data` is "normal", or "integer" for small integers, whose results must be exact and rounded once. `everywhere` is
    False for cases that the slow targets leave out. `alias` names an (output, input) pair that shares one buffer.
    """

    line: str
    data: str = "normal"
    everywhere: bool = True
    alias: tuple[str, str] | None = None

    def __str__(self):
        words = [self.line]
        if self.data != "normal":
            words.append(self.data)
        if self.alias:
            words.append(f"{self.alias[0]} in place of {self.alias[1]}")
        return " ".join(words)


def over(table, kernels=False):
    """Parametrise a test with ``handle`` and ``case``: every case of the table on every target.

    With `kernels` on those that run portadnn's kernels, for tests of certain engines.
    """
    params = [
        pytest.param(target, case, id=f"{target.name}-{case}")
        for target in (targets() if kernels else every_target())
        for case in (table[:1] if target.missing else table)  # one skip tells it all
        if case.everywhere or not target.slow
    ]
    return pytest.mark.parametrize(("handle", "case"), params, indirect=["handle"])


def everywhere():
    """Parametrise a test with ``handle``: the reference and every target that is not missing."""
    others = (t for t in every_target() if t.missing is None and t.backend not in vendor.BACKENDS)
    found = (Target("reference", "reference"), *others)
    params = [pytest.param(target, id=target.name) for target in found]
    return pytest.mark.parametrize("handle", params, indirect=True)


# buffers


@dataclass
class Buffer:
    """A guarded host buffer: a tensor of any strides inside memory whose other bytes have a known pattern."""

    spec: TensorSpec
    memory: np.ndarray
    offset: int

    @classmethod
    def filled(cls, spec, values):
        offset = GUARD if spec.alignment == ALIGNMENT else GUARD + spec.alignment // spec.dtype.itemsize
        count = offset + spec.span + GUARD
        pattern = np.arange(count * spec.dtype.itemsize, dtype=np.int64) * 37 % 251
        buffer = cls(spec, pattern.astype(np.uint8).view(spec.dtype.numpy), offset)
        buffer.array[...] = values
        return buffer

    @property
    def array(self):
        """The tensor, in logical order."""
        size = self.spec.dtype.itemsize
        return np.ndarray(
            self.spec.dims,
            self.memory.dtype,
            self.memory,
            self.offset * size,
            tuple(s * size for s in self.spec.strides),
        )

    def outside(self):
        """The bytes that do not belong to the tensor."""
        mask = Buffer(self.spec, np.ones(self.memory.shape, self.memory.dtype), self.offset)
        mask.array[...] = 0
        return self.memory[mask.memory != 0].tobytes()


# running and comparing


def random_values(spec, data, rng):
    """Return values for a tensor: rounded normal deviates, or small integers; any bytes for integer types."""
    if not spec.dtype.is_float:
        return rng.integers(0, 256, spec.dims)
    if data == "integer":
        return rng.integers(-3, 4, spec.dims).astype(spec.dtype.numpy)
    return rng.standard_normal(spec.dims).astype(spec.dtype.numpy)


PREPARE = {}  # by operation: functions that replace inputs which cannot be any numbers


def prepares(*operations):
    """Register a function (problem, numbers, buffers, rng) that replaces values in the buffers of an operation."""

    def register(function):
        PREPARE.update(dict.fromkeys(operations, function))
        return function

    return register


@prepares("activation_backward", "softmax_backward", "pooling_backward")
def _result_of_forward(problem, numbers, buffers, rng):
    """Replace the input y of a gradient by the output of the forward pass."""
    kind = dnn.problem.PROBLEMS[problem.op.replace("_backward", "_forward")]
    x = buffers.get("x", buffers["y"])
    parameters = {f.name: getattr(problem, f.name) for f in fields(kind) if f.name not in ("x", "y")}
    y = buffers["y"]
    y.array[...] = evaluate(kind(x=x.spec, y=y.spec, **parameters), [x.array.copy(), y.array], (1.0, 0.0))


@prepares("dropout_forward")
def _states(problem, numbers, buffers, rng):
    """A random seed, a draw whose low word is about to pass 32 bits, and no work-group that is through."""
    states = buffers["states"].array
    states[8:12] = 255
    states[16:32] = 0


def make_buffers(problem, numbers, case, seed):
    """Return a filled buffer for every tensor; those that are not read hold NaN."""
    unread = problem.unread(numbers)
    rng = np.random.default_rng([zlib.crc32(case.line.encode()), seed])
    buffers = {}
    for name, spec in zip(problem.names, problem.tensors, strict=True):
        values = random_values(spec, case.data, rng)
        if name in unread and (case.alias is None or name not in case.alias):
            values = np.full(spec.dims, np.nan if spec.dtype.is_float else 0xA5)
        buffers[name] = Buffer.filled(spec, values)
    if problem.op in PREPARE:
        PREPARE[problem.op](problem, numbers, buffers, rng)
    if case.alias is not None:
        buffers[case.alias[0]] = buffers[case.alias[1]]
    return buffers


def run_engine(handle, engine, problem, arrays, scalars):
    """Run one engine, whichever would be chosen, with a poisoned workspace and a guard after the bytes it asks for."""
    device = handle.device
    assert engine.why_not(problem, device.info) is None
    plan = engine.prepare(problem, device)
    assert plan.workspace_size == engine.workspace(problem, device.info)
    size, workspace = plan.workspace_size, None
    if size:
        workspace = device.asarray(np.append(np.full(size, 0xFF, np.uint8), np.full(GUARD, 0xA5, np.uint8)))
    plan.run(arrays, scalars, workspace)
    if size:
        beyond = device.to_numpy(workspace)[size:]
        assert np.all(beyond == 0xA5), f"{engine.name} wrote beyond its workspace of {size} bytes"


def run_once(handle, problem, numbers, buffers, alias=None, engine=None):
    """Run a problem on copies of the buffers; return every tensor's memory afterwards."""
    native = {}
    for name, buffer in buffers.items():
        native[name] = native[alias[1]] if alias and name == alias[0] else handle.device.asarray(buffer.memory)
    views = {n: dnn.TensorView(buffers[n].spec, native[n], buffers[n].offset) for n in problem.names}
    if alias or engine:  # in place means one array, not two views
        views = {name: handle.device.wrap(view, name) for name, view in views.items()}
    names = problem.tensor_names()
    parameters = tuple(getattr(problem, f.name) for f in fields(problem) if f.name not in names)
    scalars = tuple(map(float, numbers.values()))
    if engine is not None:
        run_engine(handle, engine, problem, tuple(views.values()), scalars)
    else:
        execute(handle, type(problem), tuple(map(views.get, names)), parameters, scalars)
    return {name: handle.to_numpy(array) for name, array in native.items()}


def check(handle, case, *, seed=0, oracle=outcomes, engine=None, strict=False):
    """Run a case twice on a handle and compare with the oracle, bit for bit where that can be asked.

    The oracle returns arrays by the names of outputs, or the one output. With an engine that one is run, not the one
    that would be chosen. Return the worst error, 1 being the most allowed.

    What another's library does not take is skipped with its reason, unless `strict`.
    """
    case = Case(case) if isinstance(case, str) else case
    problem, given = parse_line(case.line)
    numbers = {**problem.scalars, **given}
    foreign = vendor.Case(handle, problem, numbers, strict) if handle.backend in vendor.BACKENDS else None
    if foreign is not None:
        problem, engine = foreign.problem, engine or foreign.engine
    buffers = make_buffers(problem, numbers, case, seed)
    tensors = [buffers[name].array.copy() for name in problem.names]
    want = oracle(problem, tensors, tuple(numbers.values()))
    wanted = want if isinstance(want, dict) else {problem.outputs[-1]: want}
    with foreign.refusals() if foreign else nullcontext():
        first = run_once(handle, problem, numbers, buffers, case.alias, engine)
    again = run_once(handle, problem, numbers, buffers, case.alias, engine)
    deterministic = engine is None or engine.deterministic
    for name, buffer in buffers.items():
        after = Buffer(buffer.spec, first[name], buffer.offset)
        if deterministic:
            assert first[name].tobytes() == again[name].tobytes(), f"{name}: two runs differ"
        if name in problem.written or (case.alias and name in case.alias):
            assert after.outside() == buffer.outside(), f"{name}: bytes outside the tensor were written"
        else:
            assert first[name].tobytes() == buffer.memory.tobytes(), f"{name}: an input was written"
    if foreign is not None and foreign.differs:
        return 0.0
    factor = 1.0 if engine is None else engine.error_factor(problem)
    sums = {} if case.data == "integer" and factor == 1 else terms(problem, tensors, tuple(numbers.values()))
    errors = [0.0]
    for out, want in wanted.items():
        buffer = buffers[out]
        got = Buffer(buffer.spec, first[out], buffer.offset).array.astype(np.float64)
        with np.errstate(over="ignore"):
            stored = buffer.spec.dtype.stored(want).astype(np.float64)
        what = case if len(wanted) == 1 else f"{case}: {out}"
        if not sums or not buffer.spec.dtype.is_float:  # sums are exact, and rounded once
            errors.append(compare(got, stored, np.zeros(want.shape), what))
            continue
        bound = sums[out]
        if factor != 1 and bound.size:  # every element is made of the whole tile's numbers, also of those that it skips
            largest = [np.abs(tensor.astype(np.float64)).max(initial=0.0) for tensor in tensors[:2]]
            product = abs(next(iter(numbers.values()))) * np.prod(largest)
            bound = np.full_like(bound, factor * max(bound.max(), product))
        want = np.where(np.isinf(stored), stored, want)  # beyond what the type can hold
        limits = tolerance(problem, want, bound, out)
        errors.append(compare(got, want, limits if foreign is None else vendor.widened(limits), what))
    return max(errors)


def compare(got, want, bound, what=""):
    """Demand |got - want| <= bound everywhere, and NaN and infinities in the same places; return the worst quotient."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    if want.size == 0:
        return 0.0
    with np.errstate(all="ignore"):
        error = np.abs(got - want)
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        excess = np.where(same, 0.0, error / np.broadcast_to(bound, want.shape))
    excess = np.where(np.isnan(excess), np.inf, excess)
    if excess.max() <= 1:
        return float(excess.max())
    worst = tuple(map(int, np.unravel_index(excess.argmax(), want.shape)))
    finite = np.isfinite(got) & np.isfinite(want)
    norm = np.linalg.norm(want[finite]) or 1.0
    wrong = int((excess > 1).sum())
    pytest.fail(
        f"{what}\n{wrong} of {want.size} elements are wrong, first at {first_index(excess > 1)}; worst at {worst}: "
        f"got {float(got[worst])!r}, expected {float(want[worst])!r}, {excess[worst]:.3g} times the tolerance; "
        f"relative L2 error {np.linalg.norm((got - want)[finite]) / norm:.3g}"
    )


def assert_same(got, want, message=""):
    """Demand the same numbers in arrays of one type; NaN equals NaN, also in bfloat16."""
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64), err_msg=message)


def first_index(mask):
    return tuple(map(int, np.argwhere(mask)[0]))
