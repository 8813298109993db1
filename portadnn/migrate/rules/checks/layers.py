"""Rules about what a forward call leaves for its backward call, and about settings that a later one resets."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from ...events import Event
from ...findings import Certainty
from ...model.state import Deed
from ...values import Value, constants, same
from ..conditions import is_enumerator
from ..convolutions import written
from ..journals import deeds, deeds_at, later, once
from ..registry import check
from ..situation import Hit, Situation

# S16: group count ------------------------------------------------------------------------------------------------


@check("groups", "after")
def group_count_is_lost(situation: Situation) -> Iterator[Hit]:
    """Yield where a convolution descriptor is set after its group count."""
    thing, event = situation.thing("convDesc"), situation.event
    if thing is None or (event.library == "cudnn" and event.argument("computeType", "dataType") is None):
        return  # the latter is how it was called before there were groups
    setters = [situation.journal[number] for number in thing.set_by if situation.in_order(number)]
    counts = [deed for deed in setters if deed.event.function.endswith("SetConvolutionGroupCount")]
    if not counts or (event.library == "miopen" and setters[-1] is not counts[-1]):
        return
    groups = counts[-1].event.argument("groupCount")
    values = (
        [] if groups is None else [option.data if option.kind == "known" else None for option in groups.value.options]
    )
    if groups is None or all(value == 1 for value in values):
        return
    after = written("miopenSetConvolutionGroupCount", event, groupCount=groups.text)
    sure = None not in values and 1 not in values
    yield Hit(
        "proven" if sure else "possible",
        words={"groups": groups.text, "after": after},
        related=((counts[-1], "the group count is set here"),),
        confirm=_not_set_again(event, thing.id),
    )


_SETS_CONVOLUTION = re.compile(r"(?:Set|Init)Convolution(?:2d|Nd)?Descriptor")


def _not_set_again(event: Event, id_: str) -> Callable[[Mapping[int, Deed]], bool]:
    def confirm(journal: Mapping[int, Deed]) -> bool:
        for deed in later(journal, event.number):
            function = deed.event.function
            if "ConvolutionMathType" in function or _SETS_CONVOLUTION.search(function):
                continue
            if any(thing.id == id_ for thing in deed.things.values()):
                return not function.endswith("SetConvolutionGroupCount") or _loses_it_too(journal, deed, event, id_)
        return True

    return confirm


def _loses_it_too(journal: Mapping[int, Deed], counted: Deed, event: Event, id_: str) -> bool:
    """Whether a group count that another method sets later is lost there in the same way."""
    thread = counted.event.thread
    return thread != event.thread and any(
        deed.event.thread == thread and _SETS_CONVOLUTION.search(deed.event.function)
        for deed in later(journal, counted.event.number)
        if any(thing.id == id_ for thing in deed.things.values())
    )


# S17 to S19: workspaces of pooling and LRN ----------------------------------------------------------------------

_FORWARDS = {
    "cudnnPoolingBackward": ("cudnnPoolingForward",),
    "miopenPoolingBackward": ("miopenPoolingForward",),
    "cudnnLRNCrossChannelBackward": ("cudnnLRNCrossChannelForward",),
    "miopenLRNBackward": ("miopenLRNForward",),
}
_MAXIMA = ("CUDNN_POOLING_MAX", "CUDNN_POOLING_MAX_DETERMINISTIC", "miopenPoolingMax")


def _takes_maxima(situation: Situation) -> bool | None:
    """Tell whether a pooling descriptor takes maxima; None where it may."""
    mode = situation.field("poolingDesc.mode" if situation.event.library == "cudnn" else "poolDesc.mode")
    said = [
        option.kind != "known" or any(is_enumerator(option.data, name, situation.event.library) for name in _MAXIMA)
        for option in mode.options
    ]
    return None if any(option.kind != "known" for option in mode.options) or any(said) != all(said) else all(said)


def _forwards(situation: Situation) -> list[tuple[Deed, bool]]:
    """Return the earlier forward calls with this descriptor and this output, as far as is known."""
    names = ("poolingDesc", "poolDesc", "normDesc", "lrnDesc")
    mine = situation.thing(*names)
    found = []
    for deed, always in situation.before(_FORWARDS[situation.event.function]):
        theirs = next((deed.things[name] for name in names if name in deed.things), None)
        if mine is not None and theirs is not None and mine.id != theirs.id:
            continue
        told = [_same_argument(situation, deed, name) is not False for name in ("x", "y")]
        if all(told) or (any(told) and mine is not None and theirs is not None):  # the input may be another buffer
            found.append((deed, always))
    return found


def _same_argument(situation: Situation, deed: Deed, name: str) -> bool | None:
    """Tell whether an argument is that of an earlier call."""
    now, then = situation.argument(name), deed.event.argument(name)
    if now is None or then is None:
        return None
    said = same(now.value, then.value)
    if said is None and {now.value.kind, then.value.kind} <= {"thing", "pointer"}:
        return bool(now.value.data == then.value.data)
    return said


@check("forward", "backward", "size")
def maxima_have_to_be_kept(situation: Situation) -> Iterator[Hit]:
    """Yield at cuDNN's backward max pooling, whose forward has to keep where the maxima were."""
    maxima = _takes_maxima(situation)
    forwards = _forwards(situation)
    if maxima is False or (maxima is None and re.search(r"avg|average|mean", situation.event.within, re.IGNORECASE)):
        return
    if forwards:
        deed = forwards[0][0]
        yield Hit(
            "proven" if maxima else "possible",
            words=_layer_calls(situation, deed),
            related=_made_here(forwards),
            confirm=None if maxima else _never_an_average(situation.event),
        )
        return
    for deed, _ in situation.before(_FORWARDS[situation.event.function]):  # with a descriptor made anew
        if _same_argument(situation, deed, "x") is not False:
            yield Hit("possible", words=_layer_calls(situation, deed), related=_made_here([(deed, False)]))
            return
    if situation.whole:
        yield Hit("possible", words=_layer_calls(situation), confirm=_in_the_same(situation, surely=bool(maxima)))


def _in_the_same(situation: Situation, *, surely: bool) -> Callable[[Mapping[int, Deed]], bool]:
    """Return what tells at the end that a class, or functions of a file, have forward calls with this descriptor too.

    In which order the two run, as when each is a branch of one function, is not known; the mode has to be.
    """
    event, mine = situation.event, situation.thing("poolingDesc", "poolDesc")
    may_be = surely or _may_take_maxima(situation)

    def confirm(journal: Mapping[int, Deed]) -> bool:
        for deed in deeds(journal, _FORWARDS[event.function]):
            theirs = deed.things.get("poolingDesc")
            if theirs is None or mine is None or _place_of(deed.event) != _place_of(event):
                continue
            made = journal.get(mine.created or 0)
            if made is not None and made.event.within == event.within != deed.event.within:
                continue  # a function's own
            if theirs.name == mine.name and (may_be or _may_take_maxima(situation, deed)):
                return True
        return False

    return confirm


def _place_of(event: Event) -> tuple[str, str]:
    return event.place.file, event.within.rpartition("::")[0]


def _may_take_maxima(situation: Situation, deed: Deed | None = None) -> bool:
    """Tell whether a descriptor's mode is known to be, or to be perhaps, one of the maxima."""
    thing = situation.thing("poolingDesc") if deed is None else deed.things.get("poolingDesc")
    mode = None if thing is None else thing.fields.get("mode")
    said = () if mode is None else constants(mode)
    return any(is_enumerator(one, name, situation.event.library) for one in said for name in _MAXIMA)


def _never_an_average(event: Event) -> Callable[[Mapping[int, Deed]], bool]:
    """Return what tells at the end that this call was not seen with averages alone, reached in another way."""

    def confirm(journal: Mapping[int, Deed]) -> bool:
        things = (deed.things.get("poolingDesc") for deed in deeds_at(journal, event))
        said = [
            m
            for thing in things
            if thing is not None and "mode" in thing.fields
            for m in constants(thing.fields["mode"])
        ]
        return not said or any(is_enumerator(mode, name, event.library) for mode in said for name in _MAXIMA)

    return confirm


@check("forward", "backward", "size")
def scales_have_to_be_kept(situation: Situation) -> Iterator[Hit]:
    """Yield at cuDNN's backward LRN, whose forward has to keep its scales."""
    forwards = _forwards(situation)
    functions = _FORWARDS[situation.event.function]
    if forwards:
        yield Hit(words=_layer_calls(situation, forwards[0][0]), related=_made_here(forwards))
    elif situation.whole and situation.mentioned & set(functions):  # in another class, or nobody knows when
        yield Hit("possible", words=_layer_calls(situation))


def _made_here(forwards: list[tuple[Deed, bool]]) -> tuple[tuple[Deed, str], ...]:
    return ((forwards[0][0], "the forward call: it has to get the workspace too"),)


def _pooling_size(situation: Situation) -> str:
    return f"miopenPoolingGetWorkSpaceSize{'' if situation.target == 'miopen-1' else 'V2'}"


def _layer_calls(situation: Situation, forward: Deed | None = None) -> dict[str, str]:
    kind = "LRN" if "LRN" in situation.event.function else "Pooling"
    size = "miopenLRNGetWorkSpaceSize" if kind == "LRN" else _pooling_size(situation)
    event = situation.event if forward is None else forward.event
    return {
        "forward": written(f"miopen{kind}Forward", event),
        "backward": written(f"miopen{kind}Backward", situation.event),
        "size": written(size, event, workSpaceSize="&workspaceSize"),
    }


@check("what", "forward", "backward")
def workspace_is_not_handed_on(situation: Situation) -> Iterator[Hit]:
    """Yield where MIOpen's backward pooling or LRN does not get what its forward left."""
    pooling = "Pooling" in situation.event.function
    maxima = _takes_maxima(situation) if pooling else True
    if maxima is False:
        return
    forwards = _forwards(situation)
    kind = "Pooling" if pooling else "LRN"
    words = {"forward": f"miopen{kind}Forward", "backward": written(f"miopen{kind}Backward", situation.event)}
    sure: Certainty = "proven" if maxima else "possible"
    space = situation.argument("workspace", "workSpace")
    if space is not None and space.value.is_null:
        yield Hit(sure, "workspace", {**words, "what": "it gets no workspace"})
        return
    said = [_left(situation, deed) for deed, _ in forwards]
    if said and all(said):
        deed, always = forwards[0]
        words["forward"] = written(f"miopen{kind}Forward", deed.event, **_spaces(space.text if space else "workspace"))
        certainty: Certainty = sure if always else "possible"
        yield Hit(certainty, "workspace", {**words, "what": said[0]}, ((deed, "the forward call"),))


def _spaces(text: str) -> dict[str, str]:
    return {"workSpace": text, "workspace": text}


def _left(situation: Situation, deed: Deed) -> str:
    """Return why a forward call leaves nothing in the workspace of this backward call; "" where it does."""
    forward = deed.event
    keeps = forward.argument("do_backward")
    if keeps is not None and all(option.kind == "known" and not option.data for option in keeps.value.options):
        return "its forward call runs with do_backward = false and keeps nothing"
    theirs, mine = forward.argument("workSpace", "workspace"), situation.argument("workspace", "workSpace")
    if theirs is None or mine is None:
        return ""
    if theirs.value.is_null:
        return "its forward call gets no workspace"
    if _apart(theirs.value, mine.value):
        return f"its forward call filled {theirs.text}, and it reads {mine.text}"
    other = _overwritten(situation, deed, theirs.value)
    return f"another call ({other.event.function}) filled {mine.text} since its forward call" if other else ""


def _apart(a: Value, b: Value) -> bool:
    kinds = {a.kind, b.kind}
    return same(a, b) is False or (kinds <= {"thing", "pointer"} and len(kinds) == 1 and a.data != b.data)


def _overwritten(situation: Situation, deed: Deed, space: Value) -> Deed | None:
    """Return a forward call that used the workspace after another one."""
    functions = ("miopenPoolingForward", "miopenLRNForward")
    for other, always in situation.before(functions):
        if other.event.number <= deed.event.number or not always:
            continue
        keeps, theirs = other.event.argument("do_backward"), other.event.argument("workSpace", "workspace")
        kept = keeps is None or any(constant for constant in constants(keeps.value))
        if kept and theirs is not None and same(theirs.value, space):
            return other
    return None


@check("forward", "size")
def forward_is_elsewhere(situation: Situation) -> Iterator[Hit]:
    """Yield where a backward pooling has no forward before it, so that nobody has kept the maxima."""
    event = situation.event
    if _takes_maxima(situation) is False or list(situation.before(_FORWARDS[event.function])):
        return
    mentioned = bool(situation.mentioned & set(_FORWARDS[event.function]))
    if not situation.whole:
        return
    words = {
        "forward": written("miopenPoolingForward", event),
        "size": written(_pooling_size(situation), event, workSpaceSize="&workspaceSize"),
    }
    owner = event.within.rpartition("::")[0]
    has_forward = _in_the_same(situation, surely=_takes_maxima(situation) is True)  # of that S17 is told

    def confirm(journal: Mapping[int, Deed]) -> bool:
        if event.library == "cudnn" and has_forward(journal):
            return False
        functions = _FORWARDS[event.function]
        owners = once(journal, ("owners", functions), lambda journal: frozenset(_owners(deeds(journal, functions))))
        if not owners:
            return not mentioned
        if not owner:  # of free functions each may run long after the other; of one class the order is known
            return not owners & {""} or event.within not in _functions(deeds(journal, functions))
        return not owners & {owner, ""}

    yield Hit("possible" if mentioned else "proven", words=words, confirm=confirm)


def _functions(found: Iterable[Deed]) -> frozenset[str]:
    return frozenset(deed.event.within for deed in found)


def _owners(found: Iterable[Deed]) -> Iterator[str]:
    """Yield the classes whose methods make calls; "" for free functions."""
    for deed in found:
        yield deed.event.within.rpartition("::")[0]


# S21: saved mean and inverse variance ---------------------------------------------------------------------------


@check("what")
def saved_are_no_pair(situation: Situation) -> Iterator[Hit]:
    """Yield where a backward batch normalisation gets something else than the two that one forward call saved."""
    mean, variance = situation.argument("savedMean"), situation.argument("savedInvVariance")
    if mean is None or variance is None:
        return
    if mean.value.is_null != variance.value.is_null:
        given, missing = (variance, "savedMean") if mean.value.is_null else (mean, "savedInvVariance")
        known_ = given.value.kind in {"thing", "pointer"}
        if known_ or _NULL.fullmatch((variance if given is mean else mean).text):
            what = f"{given.text} is given without the other of the two"
            yield Hit("proven" if known_ else "possible", missing, {"what": what})
        return
    if mean.value.is_null:
        return
    forwards = [deed for deed, _ in situation.before(_trainings(situation))]
    what = _mixed_up(mean.value, variance.value, forwards)
    certainty: Certainty = "proven"
    if not what and "one of" in (mean.value.kind, variance.value.kind):
        pairs = itertools.product(mean.value.options, variance.value.options)
        what = next((_RUNNING for m, v in pairs if _mixed_up(m, v, forwards) == _RUNNING), "")
        certainty = "possible"
    if what:
        yield Hit(certainty, "savedMean", {"what": what}, ((forwards[0], "the forward call"),))


_NULL = re.compile("NULL|nullptr|0")
_RUNNING = "the running statistics are passed, which are no statistics of this batch"


def _trainings(situation: Situation) -> tuple[str, ...]:
    library = situation.event.library
    return (
        ("miopenBatchNormalizationForwardTraining", "miopenBatchNormalizationForwardTraining_V2")
        if library == ("miopen")
        else ("cudnnBatchNormalizationForwardTraining", "cudnnBatchNormalizationForwardTrainingEx")
    )


def _mixed_up(mean: Value, variance: Value, forwards: list[Deed]) -> str:
    def is_(value: Value, deed: Deed, name: str) -> bool:
        argument = deed.event.argument(name)
        return argument is not None and not argument.value.is_null and same(argument.value, value) is True

    means = [deed for deed in forwards if is_(mean, deed, "resultSaveMean")]
    variances = [deed for deed in forwards if is_(variance, deed, "resultSaveInvVariance")]
    if means and variances:
        if not {deed.event.number for deed in means} & {deed.event.number for deed in variances}:
            return "the mean was saved by one forward call and the inverse variance by another"
        return ""
    for deed in forwards:
        if is_(mean, deed, "resultSaveInvVariance") and is_(variance, deed, "resultSaveMean"):
            return "the saved mean and the saved inverse variance are exchanged"
        if is_(mean, deed, "resultRunningMean") or is_(variance, deed, "resultRunningVariance"):
            return _RUNNING
    return ""
