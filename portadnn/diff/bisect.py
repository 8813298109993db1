"""Bisecting: which of a target's engines fail a case, and which call of a recording is the first that goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..dispatch.choice import choose
from ..handle import Handle
from ..recording.reader import Event, Recording
from .bisect_calls import Sides
from .cases import Case
from .programs.compare import Divergence
from .running import algorithm
from .targets import Target
from .verdict import CaseResult, Verdict
from .verdict import examine as examine_here


@dataclass(frozen=True)
class EngineRow:
    """How one engine of a target does with a case.

    Attributes
    ----------
    engine : str
    algo : str
        The guide's algorithm that asks for it; "" where there is none.
    chosen : bool
        Whether the case, as it is, is computed by it.
    verdict : Verdict
        SKIPPED where it declines the problem.
    reason : str
    """

    engine: str
    algo: str
    chosen: bool
    verdict: Verdict
    reason: str


def by_engine(
    case: Case, target: str, handle: Handle, *, examine: Callable[[Case], CaseResult] | None = None
) -> list[EngineRow]:
    """Run a case on every engine that a target has for its operation.

    Parameters
    ----------
    case
        Its own engine and algorithm only tell which row is `chosen`.
    target, handle
        The target's name and what it opened.
    examine
        Runs a case on the target, where it may crash; by default it runs here.

    Raises
    ------
    NotSupported
        The target computes the problem in no way.
    """
    problem = case.problem
    chosen = case.engine or choose(handle, problem, algorithm(problem, case.algo)).name
    look = examine or (lambda case: examine_here(case, {target: handle}))
    rows = []
    for engine in handle.engines_for(problem):
        algo = engine.algo(problem) if problem.algorithms is not None else None
        name = algo.name.lower() if algo is not None else ""
        reason = engine.refusal(problem, handle.info)
        if reason is not None:
            rows.append(EngineRow(engine.name, name, False, Verdict.SKIPPED, reason))
            continue
        result = look(replace(case, engine=engine.name, algo=""))
        judgement = next(j for j in result.judgements if j.target == target)
        told = judgement.reason or "; ".join(f"{output}: {d}" for output, d in judgement.differences.items())
        rows.append(EngineRow(engine.name, name, engine.name == chosen, judgement.verdict, told))
    return rows


@dataclass(frozen=True)
class FirstDivergence:
    """The first call of a recording that two targets do not agree on.

    Attributes
    ----------
    divergence : Divergence
        The call, its place in the program, and what is wrong with it on which target.
    needed : tuple of Event
        The fewest calls, ending with that one, that show it when they are made alone.
    case : str
        The call as a case of its own, where it needs no other; "" where it does.
    compared : int
        Calls that were compared.
    """

    divergence: Divergence
    needed: tuple[Event, ...]
    case: str
    compared: int


def first_divergence(
    recording: Recording, one: Target, other: Target, *, seed: int = 0, prefixes: bool | None = None
) -> FirstDivergence | None:
    """Return the first call whose results differ between two targets by more than rounding; None where none does.

    Both replay the recording, and every call gets the inputs that it had on the first target, so that rounding does
    not add up from call to call. What differs is held against the exact result, which tells whose fault it is.

    Parameters
    ----------
    recording
        Of :func:`portadnn.recording.read`.
    one, other
        Where to replay.
    seed
        Of the data.
    prefixes
        True replays parts of the recording from its beginning, chosen by binary search, and compares what memory holds
        after them; False compares after every call; None takes what moves less data.

    Raises
    ------
    DnnError
        A target does not open.
    """
    sides = Sides(recording, (one, other), seed)
    events = recording.events
    wanted = sides.prefixes_cost_less() if prefixes is None else prefixes
    found = sides.search(events) if wanted else None
    found = found or sides.walk(events)
    if found is None:
        return None
    last = next(i for i, event in enumerate(events) if event.number == found.call)
    needed = fewest(events[:last], lambda chosen: sides.diverges([*chosen, events[last]]))
    event = events[last]
    case = ""
    if not needed and len(event.steps) == 1 and found.kind == "wrong":
        step = event.steps[0]
        case = " ".join((step.problem, *(f"{name}={value!r}" for name, value in event.scalars.items())))
    return FirstDivergence(found, (*needed, event), case, sides.compared)


def fewest(items: Sequence[Event], fails: Callable[[Sequence[Event]], bool]) -> list[Event]:
    """Return fewest of the items that still fail, in their order: none can be left out of them (ddmin [1]_).

    References
    ----------
    .. [1] A. Zeller and R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 28(2), 2002.
    """
    if fails([]):
        return []
    kept, parts = list(items), 2
    while len(kept) > 1:
        size = -(-len(kept) // parts)
        chunks = [kept[i : i + size] for i in range(0, len(kept), size)]
        rests = [[item for chunk in chunks if chunk is not left for item in chunk] for left in chunks]
        smaller = next((chosen for chosen in (*chunks, *rests) if len(chosen) < len(kept) and fails(chosen)), None)
        if smaller is not None:
            parts = 2 if smaller in chunks else max(parts - 1, 2)
            kept = smaller
        elif parts >= len(kept):
            break
        else:
            parts = min(2 * parts, len(kept))
    return kept
