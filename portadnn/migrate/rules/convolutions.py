"""What the calls around a convolution have in common: directions, the problem they are about, the calls in MIOpen."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...mapping import table
from ..events import Event, Library
from ..model.state import Deed, Thing
from ..values import Value, same
from .situation import Situation

_HEURISTIC = ("cudnnGetConvolution{}Algorithm", "cudnnGetConvolution{}Algorithm_v7")
_FINDS = ("cudnnFindConvolution{}Algorithm", "cudnnFindConvolution{}AlgorithmEx")


@dataclass(frozen=True)
class Direction:
    """Forward, backward data or backward filter.

    Attributes
    ----------
    name : str
        In words.
    cudnn, miopen : str
        What the functions' names have: ``"BackwardFilter"``, ``"BackwardWeights"``.
    roles : tuple of tuple of str
        The parameters that make the problem, each with all of its names.
    output : tuple of str
        The parameter that the convolution writes.
    algorithm : str
        The field of MIOpen's results.
    """

    name: str
    cudnn: str
    miopen: str
    roles: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]
    algorithm: str

    def finds(self, library: Library) -> tuple[str, ...]:
        """Return the functions that measure algorithms."""
        if library == "miopen":
            return (f"miopenFindConvolution{self.miopen}Algorithm",)
        return tuple(name.format(self.cudnn) for name in _FINDS)

    def heuristics(self) -> tuple[str, ...]:
        """Return cuDNN's functions that choose an algorithm from descriptors alone."""
        return tuple(name.format(self.cudnn) for name in _HEURISTIC)

    def queries(self, library: Library) -> tuple[str, ...]:
        """Return the functions that tell the size of the workspace."""
        if library == "miopen":
            start = f"miopenConvolution{self.miopen}Get"
            return (f"{start}WorkSpaceSize", f"{start}SolutionWorkspaceSize")
        return (f"cudnnGetConvolution{self.cudnn}WorkspaceSize",)

    def runs(self, library: Library) -> tuple[str, ...]:
        """Return the functions that convolve with an algorithm."""
        if library == "miopen":
            return (f"miopenConvolution{self.miopen}",)
        fused = ("cudnnConvolutionBiasActivationForward",) if self.cudnn == "Forward" else ()
        return (f"cudnnConvolution{self.cudnn}", *fused)


_X, _W, _Y = ("xDesc", "srcDesc"), ("wDesc", "filterDesc"), ("dyDesc", "diffDesc")
FORWARD = Direction("forward", "Forward", "Forward", (_X, _W, ("convDesc",), ("yDesc", "destDesc")), ("y",), "fwd_algo")
DATA = Direction(
    "backward data",
    "BackwardData",
    "BackwardData",
    (_W, _Y, ("convDesc",), ("dxDesc", "gradDesc")),
    ("dx",),
    "bwd_data_algo",
)
FILTER = Direction(
    "backward filter",
    "BackwardFilter",
    "BackwardWeights",
    (_X, _Y, ("convDesc",), ("dwDesc", "gradDesc")),
    ("dw",),
    "bwd_weights_algo",
)
DIRECTIONS = (FORWARD, DATA, FILTER)


def direction_of(function: str) -> Direction | None:
    """Return the direction of a function about convolutions; None of others."""
    if "Convolution" not in function or "Bias" in function.replace("BiasActivationForward", ""):
        return None
    for direction in DIRECTIONS:
        if direction.cudnn in function or direction.miopen in function:
            return direction
    return None


# Problems --------------------------------------------------------------------------------------------------------


class Match(enum.IntEnum):
    """How the problem of an earlier call stands to that of this one; the worst of its parts counts."""

    SAME = 0
    UNSURE = 1
    """nothing is known that separates them"""
    APART = 2
    """other descriptors, of which not enough is known"""
    SET_AGAIN = 3
    """a descriptor was set again in between, perhaps to the same"""
    OTHER = 4
    """other descriptors, set to something else"""
    CHANGED = 5
    """a descriptor was set to something else in between"""


# What is set on a descriptor and does not change which problem it is to MIOpen.
_ASIDE = frozenset(
    ["mathType", "math", "reorderType", "computeType", "maxpoolingNanOpt", "algo", "reluNanOpt", "attr", "value"]
)


def match(deed: Deed, situation: Situation, direction: Direction) -> Match:
    """Compare the problem of an earlier call with that of this one."""
    key = ("match", deed.event.number, direction.name)
    if key not in situation.memo:
        situation.memo[key] = max(match_role(deed, situation, names) for names in direction.roles)
    found: Match = situation.memo[key]
    return found


def match_role(deed: Deed, situation: Situation, names: tuple[str, ...]) -> Match:
    """Compare a descriptor of an earlier call, as it was then, with this call's as it is now."""
    now = situation.thing(*names)
    then = next((deed.things[name] for name in names if name in deed.things), None)
    if then is None or now is None:
        return Match.UNSURE
    if then.id == now.id:
        if not situation.set_since(deed, now):
            return Match.SAME if then.version == now.version else Match.UNSURE
        equal = same_settings(then, now)
        return Match.SAME if equal else Match.CHANGED if equal is False else Match.SET_AGAIN
    equal = same_settings(then, now)
    if equal is False:
        return Match.OTHER
    if equal:
        return Match.SAME
    own = all(thing.created is not None and not thing.many and thing.fields for thing in (then, now))
    return Match.APART if own else Match.UNSURE


def same_settings(a: Thing, b: Thing) -> bool | None:
    """Tell whether two descriptors are set to the same, as far as it makes the problem; None where that is unknown."""
    names = (a.fields.keys() | b.fields.keys()) - _ASIDE
    sure = bool(names)
    for name in names:
        said = same(a.fields[name], b.fields[name]) if name in a.fields and name in b.fields else None
        if said is False:
            return False
        sure = sure and said is True
    return True if sure else None


def same_handle(deed: Deed, situation: Situation) -> bool | None:
    """Tell whether an earlier call had this call's handle; None where that is not known."""
    then, now = deed.things.get("handle"), situation.thing("handle")
    if then is None or now is None:
        return None
    if then.id == now.id:
        return None if now.many else True
    mine = situation.argument("handle")
    if mine is None or "(" in mine.text or then.id.partition("@")[0] == now.id.partition("@")[0]:
        return None  # what a function gives, or the same variable once more
    return False if then.created is not None and now.created is not None and not (then.many or now.many) else None


@dataclass
class Earlier:
    """Earlier calls of some functions, by how their problems stand to this one; with whether on all paths."""

    by_match: dict[Match, list[tuple[Deed, bool]]] = field(default_factory=dict)

    def of(self, *matches: Match) -> list[tuple[Deed, bool]]:
        """Return those that stand so, the latest first."""
        return [pair for one in matches for pair in self.by_match.get(one, [])]

    def fits(self) -> bool | None:
        """Tell whether one is for this problem as far as is known: on all paths; None if on some."""
        found = self.of(Match.SAME, Match.UNSURE)
        if any(always for _, always in found):
            return True
        return None if found else False


def earlier(situation: Situation, functions: tuple[str, ...], direction: Direction) -> Earlier:
    """Return the earlier calls of some functions on this path."""
    result = Earlier()
    for deed, always in situation.before(functions):
        result.by_match.setdefault(match(deed, situation, direction), []).append((deed, always))
    return result


_CONVERTED = re.compile(r"[\w:.>-]+\(.*\w.*\)$", re.DOTALL)


def is_choice(situation: Situation, option: Value) -> bool:
    """Tell whether an algorithm is one that the program names itself.

    What a function makes of its argument is not (a translation of the program's own names), nor is the other
    library's. In a log all algorithms are known: there it is one where nothing chose one before.
    """
    argument, direction = situation.argument("algo"), direction_of(situation.event.function)
    if option.kind != "known" or not isinstance(option.data, str) or argument is None or direction is None:
        return False
    if situation.event.origin != "source":
        chosen = (*direction.finds(situation.event.library), *direction.heuristics())
        return not any(True for _ in situation.before(chosen))
    own = option.data.startswith("miopen") == (situation.event.library == "miopen")
    return own and _CONVERTED.match(argument.text.strip()) is None


def origins(situation: Situation, value: Value) -> Iterator[Deed]:
    """Yield the calls that a value came from."""
    for number in value.origins:
        deed = situation.journal.get(number)
        if deed is not None:
            yield deed


def changed(deed: Deed, situation: Situation, direction: Direction) -> tuple[str, ...]:
    """Return the descriptors, as the program writes them, that were set again since an earlier call."""
    return tuple(
        argument.text
        for names in direction.roles
        if match_role(deed, situation, names) in {Match.SET_AGAIN, Match.CHANGED}
        and (argument := situation.argument(*names)) is not None
    )


# Calls in MIOpen -------------------------------------------------------------------------------------------------

_DEFAULTS = {
    "requestAlgoCount": "1",
    "returnedAlgoCount": "&found",
    "perfResults": "&perf",
    "exhaustiveSearch": "false",
    "workSpace": "workspace",
    "workspace": "workspace",
    "workSpaceSize": "workspaceSize",
    "do_backward": "true",
}
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "xDesc": ("srcDesc",),
    "wDesc": ("filterDesc",),
    "yDesc": ("destDesc",),
    "dyDesc": ("diffDesc",),
    "dxDesc": ("gradDesc",),
    "dwDesc": ("gradDesc",),
    "poolDesc": ("poolingDesc",),
    "lrnDesc": ("normDesc",),
}


def written(function: str, event: Event, **fixed: str) -> str:
    """Return a call of MIOpen with the arguments of a call of cuDNN, as the program writes them."""
    parts = []
    for parameter in table().functions[function].latest:
        name = parameter.name
        argument = event.argument(name, *_OTHER_NAMES.get(name, ()))
        if name in fixed:
            parts.append(fixed[name])
        elif argument is not None and name not in _DEFAULTS:
            parts.append(" ".join(argument.text.split()))
        else:
            parts.append(_DEFAULTS.get(name, name))
    return f"{function}({', '.join(parts)});"


def find_call(direction: Direction, event: Event) -> str:
    """Return MIOpen's Find for the problem of a call."""
    return written(f"miopenFindConvolution{direction.miopen}Algorithm", event)


def size_call(direction: Direction, event: Event) -> str:
    """Return MIOpen's query of the workspace for the problem of a call."""
    return written(f"miopenConvolution{direction.miopen}GetWorkSpaceSize", event, workSpaceSize="&workspaceSize")


def run_call(direction: Direction, event: Event, algorithm: str = "") -> str:
    """Return MIOpen's convolution for the problem of a call."""
    algorithm = algorithm or f"perf.{direction.algorithm}"
    own = event.argument("workSpace"), event.argument("workSpaceSizeInBytes", "workSpaceSize")
    space = {
        name: argument.text
        for name, argument in zip(("workSpace", "workSpaceSize"), own, strict=True)
        if argument is not None and not (own[0] and own[0].value.is_null)  # an algorithm that is found may need one
    }
    return written(f"miopenConvolution{direction.miopen}", event, algo=algorithm, **space)
