"""Check of the order of a convolution's calls: size, Find, run (rules S01 to S08, S10, S14, S15, S20)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..enums import DnnEnum
from ..errors import BadParam
from ..hooks import Call
from ..ops.convolution.algorithms import largest_workspace
from ..ops.convolution.calls import Convolution
from ..problem import Problem
from .calls import DIRECTIONS, argument, handle_of, op_of, role_of, words
from .checks import Check, Event, Recent, Watch, where
from .reports import root_of
from .results import succeeded

_PLAIN_RUN = re.compile("miopenConvolution(Forward|BackwardData|BackwardWeights)")
_WORKSPACES = ("workspace", "workSpace")
_SIZES = ("workSpaceSizeInBytes", "workSpaceSize")


@dataclass
class _Search:
    """Find call that ran: algorithms, workspaces, call site, filter, and whether it was used."""

    memory: dict[DnnEnum, int]
    where: str
    filter: int | None
    used: bool = False


class Sequences(Check):
    """Sequence of calls for each problem of a handle, from workspace size to convolution."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._searches: Recent[Problem, _Search] = Recent()
        self._elsewhere: Recent[Problem, str] = Recent()
        self._sizes: Recent[Problem, str] = Recent()
        self._failed: dict[str, tuple[str, str]] = {}  # by direction: where and what
        self._asked: dict[Call, Event] = {}  # Finds and queries under way

    def before(self, call: Call) -> None:
        if call.library == "portadnn" or not _finds_or_runs(call):  # portadnn's own calls have no sizes
            return
        given = call.arguments
        size = next((given[name] for name in _SIZES if name in given), None)
        if size is None or "workSpace" not in given:
            return
        memory, bytes_ = self._memory(call, given["workSpace"]), _number(size)
        if bytes_ is not None and (memory > 0) is not (bytes_ > 0):
            what = f"a workspace with size {bytes_}" if memory else f"no workspace with size {bytes_}"
            self.report("S08", call, what=what)

    def computing(self, event: Event) -> None:
        if not isinstance(event.problem, Convolution):
            return
        if event.role:
            self._asked[event.call] = event
        if not event.mine or root_of(event.call) in self.watch.refused:
            return
        if event.role == "find_ex":
            self._find(event)
        elif event.role == "size":
            algo = argument(event.call, "algo")
            if algo is not None:
                what = f"the size is asked for one algorithm ({self._named(event, algo)})"
                self.report("S06", event.call, what=what, **words(event.problem.op, event.problem))
        elif event.scalars:
            root = root_of(event.call)
            if root.library != "miopen" or _PLAIN_RUN.fullmatch(root.function):
                self._run(event)

    def after(self, call: Call) -> None:
        role = role_of(call.library, call.function)
        event = self._asked.pop(call, None)
        if role == "size":
            self._note_size(call, event)
        elif event is not None and call.error is None and role in ("find", "find_ex"):
            named = ((self._named(event, perf.algo), perf.memory) for perf in succeeded(call.result))
            memory = {algo: nbytes for algo, nbytes in named if algo is not None}
            if event.mine:
                filter = event.addresses.get(DIRECTIONS[event.problem.op].filter)
                self._searches[event.problem] = _Search(memory, where(call), filter)
            else:
                self._elsewhere[event.problem] = "on another handle"

    def _note_size(self, call: Call, event: Event | None) -> None:
        handle = handle_of(call)
        if handle is not None and handle is not self.watch.handle:
            return
        op = op_of(call.function)
        if call.error is not None:
            self._failed[op] = where(call), str(call.error).splitlines()[0]
        elif event is not None:
            self._sizes[event.problem] = where(call)
            self._failed.pop(op, None)

    def _find(self, event: Event) -> None:
        problem, call = event.problem, event.call
        facts = words(problem.op, problem)
        before = self._searches.get(problem)
        filter = event.addresses.get(DIRECTIONS[problem.op].filter)
        if before is not None and before.used and before.filter == filter:
            self.report("S10", call, where=before.where, **facts)
        need, given = largest_workspace(event.handle, event.exact), self._given(call)
        if given < need:
            self._short(
                event, need, given, facts, f"Find runs with {given} of {need} bytes, and nobody asked for the size"
            )

    def _run(self, event: Event) -> None:
        problem, call = event.problem, event.call
        facts = words(problem.op, problem)
        search = self._searches.get(problem)
        if search is None:
            self._unfound(event, facts)
            return
        search.used = True
        if root_of(call).library == "miopen":
            return  # its functions demand the algorithm and the workspace themselves
        algo = argument(call, "algo")
        member = None if algo is None else self._named(event, algo)
        if member is not None and member not in search.memory:
            found = ", ".join(map(str, search.memory)) or "none"
            self.report("S14", call, algo=member, found=found, **facts)
            return
        given = self._given(call)
        failed = self._failed.get(problem.op)
        if failed is not None and not given:
            self.report("S15", call, where=failed[0], failure=failed[1], **facts)
            return
        need = search.memory[member] if member is not None else next(iter(search.memory.values()), 0)
        if given < need:
            self._short(event, need, given, facts, "")

    def _unfound(self, event: Event, facts: dict[str, str]) -> None:
        problem, handle = event.problem, event.handle
        assert isinstance(problem, Convolution)
        elsewhere = self._elsewhere.get(problem)
        if elsewhere is None and handle.found.stored(event.exact, handle.info):
            elsewhere = "in another process, which left its times in the find database"
        if elsewhere is not None:
            self.report("S03", event.call, elsewhere=elsewhere, **facts)
            return
        for other, search in tuple(self._searches.items()):  # other threads may Find
            if other.op == problem.op and isinstance(other, Convolution) and other.filter.dims == problem.filter.dims:
                self.report("S02", event.call, other=other, where=search.where, **facts)
                return
        self.report("S01", event.call, **facts)

    def _short(self, event: Event, need: int, given: int, facts: dict[str, str], unasked: str) -> None:
        """Report a workspace that is too small, or that was never queried."""
        facts = {**facts, "need": str(need), "given": str(given)}
        other = next((p for p in tuple(self._sizes) if p.op == event.problem.op), None)
        if event.problem in self._sizes or (other is None and not unasked):
            self.report("S07", event.call, **facts)
        elif other is not None:
            self.report("S20", event.call, other=other, where=self._sizes[other], **facts)
        else:
            self.report("S06", event.call, what=unasked, **facts)

    def _named(self, event: Event, algo: Any) -> DnnEnum | None:
        try:
            return DIRECTIONS[event.problem.op].algos.parse(algo)
        except BadParam:  # the call says so itself
            return None

    def _given(self, call: Call) -> int:
        return self._memory(call, argument(call, *_WORKSPACES))

    def _memory(self, call: Call, workspace: Any) -> int:
        """Return the bytes of a workspace; None if it is no memory."""
        handle = handle_of(call)
        if workspace is None or handle is None:
            return 0
        try:
            return handle.device.workspace_size(workspace)
        except (BadParam, AttributeError, TypeError):
            return 0


def _finds_or_runs(call: Call) -> bool:
    """Tell whether a call finds or runs a convolution."""
    name = call.function.removeprefix(call.library)
    return role_of(call.library, call.function) == "find_ex" or bool(re.match("Convolution(Forward|Backward)", name))


def _number(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
