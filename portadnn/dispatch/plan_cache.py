"""Plan cache of a handle, by Problem and by argument layouts; evicts the least recently used."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from portadnn_backends.base import Plan

    from ..problem import Problem, TensorSpec

MOST_PLANS = 8192
MOST_BYTES = 160 << 20  # of plans and their compiled programs, as devices estimate them
_OVERHEAD = 16 << 10  # bytes of a plan beside its programs

PlanKey = tuple[Any, Any]  # problem, algorithm


@dataclass(eq=False, slots=True)
class CachedPlan:
    """Plan, and the bound calls that depend on it.

    Attributes
    ----------
    nbytes : int
        What it takes, roughly.
    used : bool
        Whether a call used it since the cache last looked.
    entries : list
        The keys of the calls that it serves.
    """

    plan: Plan
    nbytes: int
    used: bool = True
    entries: list[Hashable] = field(default_factory=list)


@dataclass(slots=True)
class Entry:
    """Plan for certain argument layouts, with the remaining work of each call.

    Attributes
    ----------
    allocate : tuple of (int, TensorSpec)
        Outputs that the caller left out.
    skipped : tuple of (int, int)
        Optional inputs left out, and the numbers that must then be 0.
    present : tuple of int or None
        The tensors that the problem has; None for all.
    extents : tuple of int
        Bytes from the first to the last element of each tensor.
    single : bool
        Whether the run-time numbers are stored as float32 (guide section 2.6).
    apart : sequence of int
        The addresses of the last call whose memory was found apart.
    """

    cached: CachedPlan
    allocate: tuple[tuple[int, TensorSpec], ...]
    skipped: tuple[tuple[int, int], ...]
    present: tuple[int, ...] | None
    extents: tuple[int, ...]
    single: bool
    apart: Sequence[int] = ()

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self.cached.plan

    def used(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Return the arrays of the Problem's tensors."""
        return arrays if self.present is None else [arrays[i] for i in self.present]


@dataclass(frozen=True)
class CacheInfo:
    """Counts and sizes of a handle's caches.

    Attributes
    ----------
    plans, nbytes : int
        Plans, and the bytes that they take, roughly.
    calls : int
        Calls that are bound to their arguments.
    most_plans, most_bytes, most_calls : int
        The limits.
    evicted : int
        Plans that had to go.
    """

    plans: int
    nbytes: int
    calls: int
    most_plans: int
    most_bytes: int
    most_calls: int
    evicted: int


class PlanCache:
    """Plans of one handle; used under its lock.

    Parameters
    ----------
    dropped
        Is told of each plan that goes.
    """

    def __init__(self, dropped: Callable[[CachedPlan], None]) -> None:
        self._dropped = dropped
        self.most_plans, self.most_bytes = MOST_PLANS, MOST_BYTES
        self.nbytes = self.evicted = 0
        self._plans: dict[PlanKey, CachedPlan] = {}
        self._entries: dict[Hashable, Entry] = {}

    def __len__(self) -> int:
        return len(self._plans)

    def entry(self, key: Hashable) -> Entry | None:
        """Return the entry for calls with these layouts."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.cached.used = True
        return entry

    def add(self, key: Hashable, entry: Entry) -> None:
        """Add an entry for calls with these layouts."""
        self._entries[key] = entry
        entry.cached.entries.append(key)

    def plan(self, problem: Problem, algo: Any, prepare: Callable[[], Plan]) -> CachedPlan:
        """Return the plan for a Problem; prepare it if missing."""
        key = (problem, algo)
        cached = self._plans.get(key)
        if cached is None:
            plan = prepare()
            cached = CachedPlan(plan, _OVERHEAD + sum(_programs(plan)))
            self._make_room(cached.nbytes)
            self._plans[key] = cached
            self.nbytes += cached.nbytes
        cached.used = True
        return cached

    def _make_room(self, nbytes: int) -> None:
        """Evict least recently used plans; plans used since the last pass get a second chance."""
        while self._plans and (len(self._plans) >= self.most_plans or self.nbytes + nbytes > self.most_bytes):
            key = next(iter(self._plans))
            cached = self._plans.pop(key)
            if cached.used:
                cached.used = False
                self._plans[key] = cached
                continue
            self._forget(cached)
            self.evicted += 1

    def _forget(self, cached: CachedPlan) -> None:
        self.nbytes -= cached.nbytes
        for key in cached.entries:
            self._entries.pop(key, None)
        self._dropped(cached)

    def drop(self, problem: Problem) -> None:
        """Drop the plans of a problem, by any algorithm."""
        for key in [key for key in self._plans if key[0] == problem]:
            self._forget(self._plans.pop(key))

    def clear(self) -> None:
        """Drop all plans."""
        for cached in self._plans.values():
            self._forget(cached)
        self._plans.clear()


def _programs(plan: Plan) -> Iterable[int]:
    """Return the size in bytes of each compiled program of a plan."""
    programs = {id(launch.kernel.program): launch.kernel.program for launch in plan.launches}
    return [program.nbytes for program in programs.values()]
