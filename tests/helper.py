"""The one test helper: run a problem on a backend and compare everything that can be compared.

``check(handle, line)`` takes a problem line, makes seeded inputs, poisons and guards every buffer, runs twice and
compares with an oracle. ``over(table)`` runs a test for every case of a table on every kernel backend.
"""

from __future__ import annotations

import functools
import os
import zlib
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import pairwise
import personas
import pytest
import vendor
from where import ALL, with_optimiser

import portadnn as dnn
from portadnn import diff
from portadnn.bfloat16 import as_float64
from portadnn.diff import inputs
from portadnn.diff import targets as opening
from portadnn.diff.cases import problem_line
from portadnn.diff.compare import bounds, measure
from portadnn.diff.running import call, upload, violations_of
from portadnn.registry import backend_names, default_backend_names, get_backend
from portadnn_backends.reference.outcomes import outcomes, terms

# which backends to test


@dataclass(frozen=True)
class Target:
    """Something to open a handle on.

    `slow` marks GPU-shaped kernels on a CPU: they get fewer cases. `optimised` is False where OpenCL's compiler is to
    leave its optimiser out, which takes a third of the time of a case.
    """

    name: str
    backend: str
    device: int = 0
    schedule: str | None = None
    missing: str | None = None
    slow: bool = False
    optimised: bool = True


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

    OpenCL CPU devices run with both schedules, so that CI checks the GPU kernels. Where the reference is all there is
    to test, the one target is a missing one.
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
                found.append(Target(f"{name}-gpu-schedule", name, index, "gpu", broken, slow=True, optimised=False))
    return tuple(found) or (Target("none", "opencl", missing="no other backend than the reference is to be tested"),)


def targets():
    """Return the targets that run portadnn's kernels; the others as missing.

    Kernels for CPUs are compiled without the optimiser, which takes most of the time of a test; `over` leaves it in
    for rows that together have every value of a table.
    """
    found = [replace(t, missing="it has no kernels") if get_backend(t.backend).vendor else t for t in every_target()]
    return [unoptimised(target) for target in found]


def optimised(target):
    """Return the target with kernels for CPUs compiled as users have them; other targets as they are."""
    return replace(target, optimised=True) if target.schedule == "cpu" else target


def unoptimised(target):
    """Return the target with kernels for CPUs compiled without the optimiser; other targets as they are."""
    return replace(target, optimised=False) if target.schedule == "cpu" else target


def cpu_targets():
    """Return the targets whose kernels are for CPUs; where there are none, a missing one that says so."""
    found = [target for target in targets() if target.schedule == "cpu" or target.missing]
    return found or [Target("no-cpu", "opencl", schedule="cpu", missing="no CPU is among the targets")]


def opencl_targets():
    """Return the targets of the backend opencl; where there are none, a missing one that says so."""
    found = [target for target in targets() if target.backend == "opencl"]
    return found or [Target("no-opencl", "opencl", missing="OpenCL is not among the targets")]


def opened(target):
    """Return a new handle of a target, or skip when its backend is missing; see also ``conftest.pytest_configure``."""
    if target.missing is not None:
        pytest.skip(f"{target.name} is not available: {target.missing}")
    handle = opening.Target(target.backend, target.device, target.schedule or "").open(profile=None)
    return with_optimiser(handle) if target.optimised else handle


@functools.cache
def open_handle(target):
    """Return the handle of a target, which all tests share."""
    return personas.assume(opened(target))


@dataclass(frozen=True)
class Case:
    """A row of a table: a problem line with its numbers, and how to fill the inputs.

    `data` is "normal", or "integer" for small integers, whose results must be exact and rounded once. `everywhere` is
    False for cases that the slow targets leave out. `alias` names an (output, input) pair that shares one buffer.
    `long` leaves a case to ``make test-all``, beside those that `over` leaves to it.
    """

    line: str
    data: str = "normal"
    everywhere: bool = True
    alias: tuple[str, str] | None = None
    long: bool = False

    def __str__(self):
        words = [self.line]
        if self.data != "normal":
            words.append(self.data)
        if self.alias:
            words.append(f"{self.alias[0]} in place of {self.alias[1]}")
        return " ".join(words)


def _demands(case, alone=False):
    """Return what only this case may have in its table."""
    return pairwise.demands_of_line(case.line, alone=alone, data=case.data, alias=case.alias)


def over(table, kernels=False):
    """Parametrise a test with ``handle`` and ``case``: the cases of the table on every target.

    On CPUs those are left out that bring no pair of values which the others lack, and those are ``long`` that bring
    pairs and no value; on GPUs the former are ``long``. See ``pairwise``. Kernels for CPUs are compiled with the
    optimiser for one case of each type and layout, and in `make test-all` of each mode.

    With `kernels` on those that run portadnn's kernels, for tests of certain engines.
    """
    params = []
    for target in targets() if kernels else every_target():
        rows = table[:1] if target.missing else [case for case in table if case.everywhere or not target.slow]
        if target.schedule is not None:  # a CPU
            rows = [rows[at] for at in pairwise.cover([_demands(case) for case in rows])]
        usual = pairwise.marks([_demands(case, alone=target.schedule is not None) for case in rows])
        compiled = pairwise.modes_of_line if ALL else pairwise.layouts_of_line
        run = [at for at, marks in enumerate(usual) if ALL or not marks]
        in_full = {run[at] for at in pairwise.cover([compiled(rows[at].line) for at in run])}
        for at, (case, marks) in enumerate(zip(rows, usual, strict=True)):
            marks = marks or [pytest.mark.long] * case.long
            which = optimised(target) if at in in_full else unoptimised(target)
            params.append(pytest.param(which, case, id=f"{target.name}-{case}", marks=marks))
    return pytest.mark.parametrize(("handle", "case"), params, indirect=["handle"])


def everywhere():
    """Parametrise a test with ``handle``: the reference and every target that is not missing."""
    others = (unoptimised(t) for t in every_target() if t.missing is None and t.backend not in vendor.BACKENDS)
    found = (Target("reference", "reference"), *others)
    params = [pytest.param(target, id=target.name) for target in found]
    return pytest.mark.parametrize("handle", params, indirect=True)


# running and comparing: the parts of portadnn.diff, with every mistake a failure


def diff_case(case, seed=0):
    """Return a row of a table as portadnn.diff has it; the seed is the line's own."""
    return diff.Case(
        case.line,
        data="exact" if case.data == "integer" else "random",
        seed=zlib.crc32(case.line.encode()) + seed,
        in_place=":".join(case.alias or ()),
    )


def make_buffers(case, seed=0):
    """Return a filled buffer for every tensor; those that are not read hold NaN."""
    return inputs.make_buffers(diff_case(case, seed))


def run_once(handle, wanted, buffers, engine=None):
    """Run a case of portadnn.diff on copies of the buffers; return every tensor's memory afterwards.

    An engine runs with a poisoned workspace of the size that it asks for, and a guard after it.
    """
    if engine is not None:
        wanted = replace(wanted, engine=engine.name)
        assert engine.why_not(wanted.problem, handle.info) is None
    arrays = upload(handle, buffers, wanted)
    memory, violations = call(handle, wanted, wanted.problem, buffers, arrays, engine, guarded=engine is not None)
    assert not violations, violations[0].message
    return memory


def check(handle, case, *, seed=0, oracle=outcomes, engine=None, strict=False):
    """Run a case twice on a handle and compare with the oracle, bit for bit where that can be asked.

    The oracle returns arrays by the names of outputs, or the one output. With an engine that one is run, not the one
    that would be chosen. Return the worst error, 1 being the most allowed.

    What another's library does not take is skipped with its reason, unless `strict`.
    """
    case = Case(case) if isinstance(case, str) else case
    wanted = diff_case(case, seed)
    problem, numbers = wanted.problem, wanted.numbers
    foreign = vendor.Case(handle, problem, numbers, strict) if handle.backend in vendor.BACKENDS else None
    if foreign is not None:
        problem, engine = foreign.problem, engine or foreign.engine
        wanted = wanted.with_line(problem_line(problem, numbers))
    buffers = inputs.make_buffers(wanted)
    tensors = [buffers[name].array.copy() for name in problem.names]
    want = oracle(problem, tensors, tuple(numbers.values()))
    want = want if isinstance(want, dict) else {problem.outputs[-1]: want}
    with foreign.refusals() if foreign else nullcontext():
        first = run_once(handle, wanted, buffers, engine)
    again = run_once(handle, wanted, buffers, engine)
    for violation in violations_of(wanted, buffers, first, again, engine is None or engine.deterministic):
        pytest.fail(f"{case}\n{violation}")
    if foreign is not None and foreign.differs:
        return 0.0
    factor = 1.0 if engine is None else engine.error_factor(problem)
    sums = {} if case.data == "integer" and factor == 1 else terms(problem, tensors, tuple(numbers.values()))
    product = 0.0
    if factor != 1:  # every element is made of the whole tile's numbers, also of those that it skips
        largest = [np.abs(as_float64(tensor)).max(initial=0.0) for tensor in tensors[:2]]
        product = abs(next(iter(numbers.values()))) * np.prod(largest)
    errors = [0.0]
    for out, due in want.items():
        got = buffers[out].after(first[out]).array
        due, bound, _ = bounds(problem, out, due, sums.get(out), factor=factor, product=product)
        if foreign is not None:
            bound = vendor.widened(bound)
        what = case if len(want) == 1 else f"{case}: {out}"
        errors.append(_judged(got, due, bound, problem.tensors[problem.index(out)].dtype, what))
    return max(errors)


def compare(got, want, bound, what=""):
    """Demand |got - want| <= bound everywhere, and NaN and infinities in the same places; return the worst quotient."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    return _judged(got, want, np.broadcast_to(np.asarray(bound, np.float64), want.shape), dnn.DataType.DOUBLE, what)


def _judged(got, want, bound, dtype, what):
    """Fail where a number is not within its bound; all of them are judged."""
    found = measure(got, want, bound, np.zeros(want.shape, bool), dtype)
    if found.wrong:
        pytest.fail(f"{what}\n{found}")
    return found.excess


def assert_same(got, want, message=""):
    """Demand the same numbers in arrays of one type; NaN equals NaN, also in bfloat16."""
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64), err_msg=message)
