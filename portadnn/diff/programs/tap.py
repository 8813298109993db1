"""Inside the program: every computation is looked at before and after, checked by the oracle, and noted in a file.

Begun by ``PORTADNN_DIFF_CALLS``, which names a folder; each process that computes writes a file of its own there. The
first calls of each problem are compared with the exact result for the inputs that they had; of all calls a sample of
every tensor is kept, by which runs on other targets are compared.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from ...bfloat16 import as_float64
from ...dispatch.choice import PLAN_HOOKS
from ...errors import DnnError
from ...handle import Handle
from ...hooks import CALL_HOOKS, Call, outside
from ...problem import Problem
from ..buffers import on_host
from ..compare import bounds
from ..compare import compare as compare_numbers
from ..data import places
from ..oracle import exact, terms
from ..results import facts_of, plain
from ..running import status_of

if TYPE_CHECKING:
    from portadnn_backends.base import Plan

FOLDER = "PORTADNN_DIFF_CALLS"
CHECKS = "PORTADNN_DIFF_CHECKS"  # how many calls of each problem the oracle checks
MOST_FLOPS = 2e8  # of a call that the oracle computes as well
KEPT = 64  # numbers of a tensor's sample


class Tap:
    """Notes the computations of one process.

    Parameters
    ----------
    folder
        Where the file goes.
    checks
        How many calls of each problem are compared with the exact result.
    """

    nested = False

    def __init__(self, folder: Path, checks: int) -> None:
        self._folder = folder
        self._checks = checks
        self._seen: Counter[Problem] = Counter()
        self._lock = threading.Lock()
        self._file: TextIO | None = None
        self._process = 0
        self._count = 0

    def install(self) -> None:
        """Look at every plan that calls make from now on, and at every call that fails."""
        PLAN_HOOKS.append(self.look)
        CALL_HOOKS.append(self)

    # calls that fail

    computing = None

    def before(self, call: Call) -> None:
        """Nothing is known yet."""

    def after(self, call: Call) -> None:
        """Note a call that failed."""
        if call.error is not None and isinstance(call.error, DnnError) and call.parent is None:
            frame = outside(sys._getframe(2))
            site = [frame.f_code.co_filename, frame.f_lineno]
            self._note(
                {
                    "function": f"{call.library}.{call.function}",
                    "site": site,
                    "status": status_of(call.error),
                    "message": str(call.error)[:300],
                }
            )

    # computations

    def look(self, handle: Handle, plan: Plan) -> Plan:
        """Return a plan that does the same and is looked at."""

        def call(arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
            before = [on_host(handle, array) for array in arrays]
            plan.run(arrays, scalars, workspace)
            after = [on_host(handle, array) for array in arrays]
            self._computed(handle, plan, before, after, scalars)

        return replace(plan, run=plan.run.instead(call))

    def _computed(
        self, handle: Handle, plan: Plan, before: Sequence[Any], after: Sequence[Any], scalars: Sequence[float]
    ) -> None:
        problem = plan.problem
        numbers = dict(zip(problem.scalars, map(float, scalars), strict=True))
        unread = problem.unread(numbers)
        inputs = {
            name: array
            for name, array in zip(problem.names, before, strict=True)
            if name not in unread and name not in problem.raw
        }
        outputs = {
            name: array
            for name, array in zip(problem.names, after, strict=True)
            if name in problem.written and name not in problem.raw
        }
        frame = outside(sys._getframe(2))
        facts: dict[str, Any] = {
            "problem": str(problem),
            "numbers": numbers,
            "site": [frame.f_code.co_filename, frame.f_lineno],
            "engine": plan.engine.name,
            "target": facts_of(handle)["backend"],
            "inputs": {name: _sample(name, array) for name, array in inputs.items()},
            "outputs": {name: _sample(name, array) for name, array in outputs.items()},
        }
        self._seen[problem] += 1
        if self._seen[problem] <= self._checks and problem.flops() <= MOST_FLOPS:
            facts["checked"] = self._check(plan, before, outputs, numbers)
        self._note(facts)

    @staticmethod
    def _check(plan: Plan, before: Sequence[Any], outputs: dict[str, Any], numbers: dict[str, float]) -> dict[str, Any]:
        """Return how each output differs from the exact result of the inputs that there were."""
        problem = plan.problem
        factor, transforms = plan.engine.error_factor(problem), plan.engine.transforms
        want, sums = exact(problem, before, numbers), terms(problem, before, numbers)
        with np.errstate(all="ignore"):
            largest = [np.abs(as_float64(t)).max(initial=0.0, where=np.isfinite(as_float64(t))) for t in before[:2]]
        product = float(np.prod(largest))
        found = {}
        for name in outputs.keys() & want.keys():
            due, bound, unknown = bounds(
                problem, name, want[name], sums.get(name), factor=factor, transforms=transforms, product=product
            )
            difference = compare_numbers(problem, name, outputs[name], due, bound, unknown)
            found[name] = plain({**asdict(difference), "said": str(difference)})
        return found

    def _note(self, facts: dict[str, Any]) -> None:
        with self._lock:
            if self._file is None or self._process != os.getpid():
                self._process, self._count = os.getpid(), 0
                path = self._folder / f"{time.time_ns()}-{self._process}.jsonl"
                self._file = path.open("w", encoding="utf-8")
            self._count += 1
            self._file.write(json.dumps({"call": self._count, **plain(facts)}) + "\n")
            self._file.flush()


def _sample(name: str, array: Any) -> dict[str, Any]:
    """Return a sample of a tensor's numbers, and how many there are."""
    flat = as_float64(np.ascontiguousarray(array)).reshape(-1)
    return {"size": flat.size, "values": flat[places(name, flat.size, KEPT)].tolist()}


def tap_as_asked() -> None:
    """Begin where the environment asks for it."""
    folder = os.environ.get(FOLDER)
    if folder:
        Tap(Path(folder), int(os.environ.get(CHECKS, "4"))).install()
