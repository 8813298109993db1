"""How much of each call was known when it was judged: what a report's silence is worth."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .events import Argument, Event
from .model.kinds import kind_of
from .model.state import State

Known = Literal["fully", "partly", "by name"]
MEANINGS: dict[Known, str] = {
    "fully": "judged fully: how its descriptors were set, its modes and its scalars are known",
    "partly": "judged partly: something of that comes from outside of what was read",
    "by name": "judged by name only: following the program did not reach it",
}
_SCALAR = frozenset(
    ("alpha", "beta", "alpha1", "alpha2", "alphaDataDiff", "betaDataDiff", "alphaParamDiff", "betaParamDiff")
)
_MODE = re.compile(
    r"\b(?:cudnn|miopen)\w*(?:Mode|Algo|Format|Type|Op|Propagation|Math|Layout|Direction|Policy|Determinism)\w*_t\b"
)
_WITHOUT_SETTINGS = frozenset(("handle", "memory", "backend", ""))
_ASKS = re.compile(r"(?:cudnn|miopen)(?:Create|Destroy|Get(?!Convolution|Reduction|RNN))\w*")


@dataclass(frozen=True)
class Coverage:
    """How many calls were judged fully, partly and by name only (:data:`MEANINGS`)."""

    fully: int = 0
    partly: int = 0
    by_name: int = 0

    @property
    def counts(self) -> dict[Known, int]:
        """The numbers by their words."""
        return {"fully": self.fully, "partly": self.partly, "by name": self.by_name}

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(self.fully + other.fully, self.partly + other.partly, self.by_name + other.by_name)

    def __bool__(self) -> bool:
        return bool(self.fully or self.partly or self.by_name)

    def __str__(self) -> str:
        return f"{self.fully:,} judged fully, {self.partly:,} partly, {self.by_name:,} by name only"


def how_known(event: Event, state: State) -> Known:
    """Tell how much of a call is known.

    Parameters
    ----------
    event : Event
        The call.
    state : State
        What holds before it.
    """
    if not event.followed:
        return "by name"
    if _ASKS.fullmatch(event.function):
        return "fully"
    types: Mapping[str, str] = {parameter.name: parameter.type for parameter in event.parameters}
    outputs = {parameter.name for parameter in event.parameters if parameter.direction == "out"}
    for name, argument in event.by_name.items():
        if name not in outputs and not _is_known(name, argument, types.get(name, ""), event, state):
            return "partly"
    return "fully"


def _is_known(name: str, argument: Argument, type_: str, event: Event, state: State) -> bool:
    kind = kind_of(type_)
    if kind and kind not in _WITHOUT_SETTINGS:
        if re.match(r"(?:cudnn|miopen)(?:Set|Init|Restore)", event.function):
            return True  # it is set here
        return all(_is_set(option.data, state) for option in argument.read.options if not option.is_null)
    if name in _SCALAR or _MODE.search(type_):
        return all(option.kind == "known" for option in argument.read.options)
    return True


def _is_set(id_: object, state: State) -> bool:
    thing = state.things.get(str(id_))
    return thing is not None and bool(thing.set_by or thing.fields)
