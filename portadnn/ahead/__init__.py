"""``handle.prepare``: plans ahead of calls, whose kernels are built side by side (docs/first-calls.md)."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import as_items
from ..descriptors import TensorView
from ..dispatch.choice import choose
from ..dispatch.choice import prepare as make_plan
from ..dispatch.prepared import Prepared
from ..enums import DnnEnum
from ..errors import BadParam, DnnError, shown
from ..handle import Handle, prepare_handles_by
from ..problem import Problem, TensorSpec, parse
from .helpers import dealt, started, wait

if TYPE_CHECKING:
    from portadnn_backends.base import Device, Plan

    from ..recording import Recording


Wanted = tuple[Problem, "DnnEnum | None"]  # and the algorithm that is asked for


def prepare(handle: Handle, what: Any) -> Prepared:
    """Make plans ahead of calls; see :meth:`portadnn.Handle.prepare`."""
    recording = _recording(what)
    wanted = list(dict.fromkeys(_problems(what) if recording is None else _computed(recording)))
    refused = _plans(handle, wanted)
    if recording is None:
        return Prepared(len(wanted), refused=refused)
    refused.update(_graphs(handle, recording))
    return Prepared(len(wanted), len(recording.graphs), refused)


prepare_handles_by(prepare)


def _recording(what: Any) -> Recording | None:
    from ..recording.reader import Recording, read

    if isinstance(what, os.PathLike) or (isinstance(what, str) and _is_file(what)):
        return read(what)
    return what if isinstance(what, Recording) else None


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # a long problem line
        return False


def _problems(what: Any) -> Iterable[Wanted]:
    """Return Problems and problem lines as Problems."""
    if isinstance(what, (str, Problem)):
        what = (what,)
    items = as_items(what, "what", "problems, problem lines, a recording or the path of one")
    for number, one in enumerate(items):
        problem = parse(one) if isinstance(one, str) else one
        if not isinstance(problem, Problem):
            raise BadParam(argument=f"what[{number}]", expected="a Problem or a problem line", got=shown(one))
        problem.validate()
        yield problem, None


def _computed(recording: Recording) -> Iterable[Wanted]:
    """Yield the problems that the calls of a recording computed."""
    for event in recording.events:
        asked = event.arguments.get("algo")
        name = str(asked.get("name", "")) if isinstance(asked, Mapping) else ""
        for step in event.steps if event.status == "SUCCESS" else ():
            problem, algo = parse(step.problem), None
            if name:
                with suppress(BadParam):
                    algo = problem.parse_algo(name)
            yield problem, algo


def _plans(handle: Handle, wanted: Sequence[Wanted]) -> dict[str, str]:
    """Make the plans that are missing; return why some could not be made."""
    refused: dict[str, str] = {}
    with handle.lock:
        device = handle.device
        device.host_access("prepares plans")
        scout = device.scout()
        if scout is not None:
            for problem, algo in wanted:
                scout.visit(functools.partial(_chosen_prepares, handle, problem, algo))
        shares, later = dealt(handle, wanted) if device.compiles_late else ([], set())
        helpers = started(handle, shares)
        for problem, algo in sorted(wanted, key=lambda one: one[0] in later):
            if helpers and problem in later:
                wait(helpers)
                helpers = []
            try:
                cached = handle.plans.plan(problem, algo, functools.partial(make_plan, handle, problem, algo))
                if device.compiles_late:
                    run_once(device, cached.plan)
            except DnnError as error:
                refused[str(problem)] = str(error)
    return refused


def _chosen_prepares(handle: Handle, problem: Problem, algo: DnnEnum | None, device: Any) -> None:
    choose(handle, problem, algo).prepare(problem, device)


def help_out() -> None:
    """Prepare what standard input names, for the kernel cache, in a process of :mod:`portadnn.ahead.helpers`."""
    asked = json.load(sys.stdin)
    with Handle(asked["backend"], asked["device"], profile="") as handle:
        prepare(handle, asked["lines"])


def run_once(device: Device, plan: Plan) -> None:
    """Run a plan on zeros, so that its kernels are compiled where that happens at launch; not where memory is short."""
    with suppress(MemoryError):
        arrays = [_zeros(device, spec) for spec in plan.problem.tensors]
        workspace = device.workspace(plan.workspace_size) if plan.workspace_size else None
        plan.run(arrays, list(plan.problem.scalars.values()), workspace)
        device.synchronize()


def _zeros(device: Device, spec: TensorSpec) -> Any:
    if not spec.size:
        return device.empty(spec)
    return device.wrap(TensorView(spec, device.asarray(np.zeros(spec.span, spec.dtype.storage))), "tensor")


def _graphs(handle: Handle, recording: Recording) -> dict[str, str]:
    """Build the graphs of a recording once; their kernels stay in the kernel cache."""
    from ..recording.building import built

    refused = {}
    for number, data in recording.graphs.items():
        try:
            built(data, handle)
        except DnnError as error:
            refused[f"graph {number}"] = str(error)
    return refused
