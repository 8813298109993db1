"""What a campaign's process does: it opens the targets once, and runs one case after another on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from ... import scale_tensor
from ...errors import DnnError
from ...handle import Handle
from ..results import facts_of
from ..running import Ran
from ..targets import Target
from ..verdict import Expected, Judgement, attempt, expect
from .cache import ExactResults
from .process import STARTING, Channel

_UNSETTLING = ("EXECUTION_FAILED", "INTERNAL_ERROR")  # statuses after which a device may be lost


class Order(NamedTuple):
    """A case that a process is to run.

    Attributes
    ----------
    number : int
        Of the case in its campaign.
    case : Case
        Or what else the process's function takes.
    targets : tuple of str
        Those to run it on, of the ones that the process has.
    """

    number: int
    case: Any
    targets: tuple[str, ...]


class Answer(NamedTuple):
    """What came of an order.

    Attributes
    ----------
    number : int
    judgements : list of Judgement
        In the order of the targets.
    runs : dict of str to Ran
        Of the targets whose numbers are wrong, for the vote.
    problem : str
        Why the case could not be run anywhere; "" where it was.
    """

    number: int
    judgements: list[Judgement]
    runs: dict[str, Ran]
    problem: str = ""


def open_target(word: str) -> Handle:
    """Open a target by its word.

    Raises
    ------
    BadParam, NotSupported
        There is no such target, or it does not work here.
    """
    return Target.parse(word).open()


@dataclass(frozen=True)
class Setup:
    """What a process needs to know before its first case.

    Attributes
    ----------
    targets : tuple of str
        Words of the targets, which are also the names that reports call them.
    perf : bool
        Measure times as well.
    cache : str
        Folder of exact results, or "".
    opener : callable
        Opens a target by its word; a function of an importable module.
    """

    targets: tuple[str, ...]
    perf: bool = False
    cache: str = ""
    opener: Callable[[str], Handle] = open_target


def open_targets(channel: Channel, setup: Setup) -> dict[str, Handle] | None:
    """Open all targets and tell the parent their facts; None where one cannot be opened, which it is told, too."""
    handles = {}
    for word in setup.targets:
        channel.begins((None, word), STARTING)
        try:
            handles[word] = setup.opener(word)
        except DnnError as error:
            channel.says("closed", error)
            return None
    channel.says("opened", {word: facts_of(handle) for word, handle in handles.items()})
    return handles


def survey(channel: Channel, opener: Callable[[str], Handle]) -> None:
    """Tell the "facts" of each target whose word comes, or the "reason" why it cannot be opened."""
    while True:
        word = channel.receive()
        channel.begins((None, word), STARTING)
        try:
            with opener(word) as handle:
                channel.says("facts", facts_of(handle))
        except DnnError as error:
            channel.says("reason", str(error))


def serve(channel: Channel, setup: Setup) -> None:
    """Run cases as they come, in lists of :class:`Order`; each gives an :class:`Answer`."""
    handles = open_targets(channel, setup)
    if handles is None:
        return
    due = ExactResults(Path(setup.cache)).expect if setup.cache else expect
    while True:
        orders: Sequence[Order] = channel.receive()
        for order in orders:
            chosen = {word: handles[word] for word in order.targets}
            answer = _answer(channel, order, chosen, setup, due)
            channel.says("answers", answer)
            for word in _unwell(chosen, answer.judgements):
                channel.lost(f"{word} does not compute any more after {order.case}")


def _answer(
    channel: Channel,
    order: Order,
    handles: Mapping[str, Handle],
    setup: Setup,
    due: Callable[..., Expected],
) -> Answer:
    def tell(target: str) -> None:
        channel.begins((order.number, target))

    try:
        judgements, runs = attempt(order.case, handles, perf=setup.perf, expected=due, tell=tell)
    except Exception as error:  # nothing was run: the line is none, or inputs cannot be made
        return Answer(order.number, [], {}, f"{type(error).__name__}: {error}")
    return Answer(order.number, [slim(judgement) for judgement in judgements], runs)


def slim(judgement: Judgement) -> Judgement:
    """Return a judgement without the error profiles of what is right, which are most of its size."""
    differences = {
        name: found if found.wrong else replace(found, profile=()) for name, found in judgement.differences.items()
    }
    return replace(judgement, differences=differences)


def _unwell(handles: Mapping[str, Handle], judgements: Sequence[Judgement]) -> list[str]:
    """Return the targets that do not compute any more, of those whose call ended in a way that makes one ask."""
    return [
        judgement.target
        for judgement in judgements
        if (judgement.verdict.value == "ERROR" or judgement.status in _UNSETTLING)
        and not is_well(handles[judgement.target])
    ]


def is_well(handle: Handle) -> bool:
    """Tell whether a device still computes."""
    try:
        return not handle.to_numpy(scale_tensor(handle, handle.zeros((1, 1, 8)), 2.0)).any()
    except Exception:
        return False
