"""What to write in place of a call: decided by what is known of its arguments, and of the whole program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ... import mapping
from ..answers import Answered, answer, told
from ..cpp import literals
from ..events import Argument, Event, Place
from ..names import translated, values_of_cudnn
from ..values import NULL, UNKNOWN, Value, known
from .calls import Call
from .layout import Part, bare, parts
from .newer import newer
from .program import LEAVE, Plan, Program
from .source import OPERATION_TYPE, Source


@dataclass(frozen=True)
class Helper:
    """A function of portadnn_miopen.h: its name, and which of cuDNN's arguments it takes, in order."""

    name: str
    arguments: tuple[int, ...]


_GRADIENT = (0, 1, 4, 5, 2, 3, 6, 10, 11, 12, 8, 9)
_CONVOLUTIONS = {
    "cudnnConvolutionForward": Helper("portadnn_convolution_forward", (0, 1, 2, 3, 4, 5, 6, 10, 11, 12, 8, 9)),
    "cudnnConvolutionBackwardData": Helper("portadnn_convolution_backward_data", _GRADIENT),
    "cudnnConvolutionBackwardFilter": Helper("portadnn_convolution_backward_weights", _GRADIENT),
}
_FUSED = Helper("portadnn_convolution_bias_activation_forward", (*range(7), *range(8, 18)))
_BIAS = Helper("portadnn_convolution_backward_bias", tuple(range(7)))
# With these betas not 0, which MIOpen does not take.
_SUMS = {
    "cudnnConvolutionBackwardBias": (_BIAS, ("beta",)),
    "cudnnBatchNormalizationBackward": (
        Helper("portadnn_batch_normalization_backward", tuple(range(19))),
        ("betaDataDiff", "betaParamDiff"),
    ),
}
_FORWARD = {
    "cudnnPoolingForward": (Helper("portadnn_pooling_forward", tuple(range(8))), "cudnnPoolingBackward", 3),
    "cudnnLRNCrossChannelForward": (
        Helper("portadnn_lrn_forward", (0, 1, 3, 4, 5, 6, 7, 8)),
        "cudnnLRNCrossChannelBackward",
        2,
    ),
}
_SET = {  # where the format is known when the program runs
    "cudnnSetTensor4dDescriptor": Helper("portadnn_set_4d_tensor", tuple(range(7))),
    "cudnnSetFilter4dDescriptor": Helper("portadnn_set_4d_tensor", (0, 2, 1, 3, 4, 5, 6)),
}
_ADD = Helper("portadnn_add_tensor", tuple(range(7)))
_BACKWARD = {
    "cudnnPoolingBackward": Helper("portadnn_pooling_backward", tuple(range(12))),
    "cudnnLRNCrossChannelBackward": Helper("portadnn_lrn_backward", (0, 1, *range(3, 13))),
}
_SURVIVING = frozenset(  # the rules of what is as wrong after the rewriting as before
    ("S07", "S09", "S11", "S16", "S20", "S21", "V06", "V08", "V09", "V19", "V20", "V23", "V24", "V26",
     "V27", "V31", "V34", "V35", "V36", "V37", "V38", "V39", "V41", "V43", "V44", "V46", "V48", "V52",
     "V53")
)  # fmt: skip
_CHOICE = re.compile(r"cudnn(Get|Find)(Convolution(?:Forward|BackwardData|BackwardFilter))Algorithm(Ex|_v7|MaxCount)?")


def plan(source: Source, call: Call, program: Program) -> Plan:
    """Decide on a call."""
    if call.name in program.own.get(source.name, ()) or call.kind in {"declaration", "member"}:
        return LEAVE
    if call.kind == "qualified":
        return Plan("mark", note="called through another name, which has to give MIOpen's function")
    if call.kind == "name":
        return _named(call, program)
    given = parts(source, call)
    declared = mapping.table().functions.get(call.name)
    if declared is None:
        return _marked(answer(_event(source, call, given), program.target))
    counts = {len(p) for p in declared.signatures}
    if len(given) not in counts:
        return Plan("mark", note="no version of cuDNN has it with these arguments")
    if program.target == "cudnn-9":
        event = _event(source, call, given)
        if (source.name, call.start) not in program.events and source.of_a_version(call.start):
            return LEAVE  # of a branch for older versions
        known_there = [_with_texts(one, given) for one in program.events.get((source.name, call.start), ())]
        return newer(source, call, given, [*(one for one in known_there if one is not None), event], program)
    followed = [_with_texts(event, given) for event in program.events.get((source.name, call.start), ())]
    events = [event for event in followed if event is not None] or [_event(source, call, given)]
    plans = list(dict.fromkeys(_one(source, event, given, program) for event in events))
    marks = [one for one in plans if one.kind == "mark"]
    if len(plans) == 1 or marks:
        return _remarked(source, call, (marks or plans)[0], program)
    what = _one(source, _event(source, call, given), given, program)  # what holds for all
    return _remarked(source, call, what, program)


def _remarked(source: Source, call: Call, what: Plan, program: Program) -> Plan:
    """Add to a call that is rewritten what is wrong with it all the same."""
    if what.kind == "mark" or what.note:
        return what
    for finding in program.findings.get((source.name, call.start), ()):
        proven = finding.certainty == "proven" and finding.severity in {"E", "W!"}
        if proven and finding.rule in _SURVIVING:
            return replace(what, rule=finding.rule, note=finding.message)
    return what


def _named(call: Call, program: Program) -> Plan:
    """Decide on a function that is named without being called."""
    known_function = mapping.table().functions.get(call.name)
    if known_function is not None:
        arguments = tuple(Argument(p.name, UNKNOWN) for p in known_function.latest)
        found = answer(Event(0, call.name, arguments, Place("", 0)), program.target)
        if found.kind == "same" and found.sure:
            return Plan("replace", found.function)
    return Plan("mark", note="named without being called: MIOpen's function takes other arguments")


def _event(source: Source, call: Call, given: Sequence[Part]) -> Event:
    """Return the call with what its text alone says."""
    arguments = tuple(Argument(bare(part.text), _literal(bare(part.text))) for part in given)
    return Event(0, call.name, arguments, Place(source.name, 0, start=call.start, end=call.end))


def _literal(text: str) -> Value:
    if text in values_of_cudnn():
        return known(text)
    if text in {"NULL", "nullptr"}:
        return NULL
    found = literals.number(text)
    return UNKNOWN if found is None else known(found[0])


def _with_texts(event: Event, given: Sequence[Part]) -> Event | None:
    """Return a followed call with the arguments as written; None where they are not the same ones."""
    if len(event.arguments) != len(given):
        return None
    pairs = zip(event.arguments, given, strict=True)
    return replace(event, arguments=tuple(_known(replace(a, text=bare(part.text))) for a, part in pairs), named=None)


def _known(argument: Argument) -> Argument:
    """Return an argument with what its text says, where following the program said nothing."""
    literal = _literal(argument.text)
    return replace(argument, value=literal) if argument.read.kind == "unknown" and literal is not UNKNOWN else argument


def _one(source: Source, event: Event, given: Sequence[Part], program: Program) -> Plan:
    found = answer(event, program.target)
    special = _special(source, event, found, program)
    if special is not None:
        return _doubted(special, given, program)
    if found.falls_away:
        return Plan("remove")
    if not found.sure:
        return _marked(found)
    note = found.note if found.remark else ""
    if not found.function:
        return Plan("expression", found.call, rule=_first(found.rules), note=note)
    numbers = _numbers(found.arguments, given, program.target)
    header = any(item == "&zero" for item in numbers)
    arguments = tuple("&portadnn_zero" if item == "&zero" and header else item for item in numbers)
    return Plan("replace", found.function, arguments, _casts(event, found, numbers), header, _first(found.rules), note)


def _doubted(what: Plan, given: Sequence[Part], program: Program) -> Plan:
    """Return a comment instead, where an argument that goes on names something without a sure counterpart."""
    for number in what.arguments:
        doubts = translated(bare(given[number].text), program.target)[1] if isinstance(number, int) else []
        for word, name in doubts:
            return Plan("mark", rule=name.rule, note=f"{word}: {name.note}")
    return what


def _special(source: Source, event: Event, found: Answered, program: Program) -> Plan | None:
    """Decide where the program around the call matters; None where it does not."""
    name = event.function
    choice = _CHOICE.fullmatch(name)
    if choice is not None and choice[3] != "Ex":
        return _choice(choice, program)
    if name in _CONVOLUTIONS:
        direct = found.sure and found.kind == "moves" and _is_zero(event, "beta") and program.finds(name)
        return None if direct else _helped(_CONVOLUTIONS[name])
    if name == "cudnnConvolutionBiasActivationForward":
        return _helped(_FUSED)
    if name == "cudnnConvolutionBackwardBias" and program.target != "miopen-1":
        return _helped(_BIAS)
    if name in _SUMS and not all(_is_zero(event, parameter) for parameter in _SUMS[name][1]):
        return _helped(_SUMS[name][0])
    if name in _FORWARD and found.rules[0] in {"S17", "S19"}:
        helper, backward, added = _FORWARD[name]
        if backward in program.mentioned or helper.name.replace("forward", "backward") in program.mentioned:
            return _helped(helper)
        rest = ("false", "NULL", "0")[:added]
        return Plan("replace", found.function, (*helper.arguments, *rest))
    if name in _BACKWARD and found.rules[0] in {"S17", "S19"}:
        return _helped(_BACKWARD[name])
    if name in _SET and program.target != "miopen-1" and len(event.arguments) == 7 and _is_plain(event, "format"):
        return _helped(_SET[name])
    if (
        name == "cudnnAddTensor"
        and found.function != "miopenConvolutionForwardBias"
        and not _is_not_zero(event, "beta")
    ):
        return _helped(_ADD)
    if name == "cudnnOpTensor":
        return Plan("replace", found.function, tuple(range(len(event.arguments))))
    if (
        name == "cudnnSetOpTensorDescriptor"
        and _operation_parameter(source, event.place.start, event.arguments[0].text) is not None
        and operation_reference(source, event.place.start, event.arguments[0].text, program) is None
    ):
        return Plan("mark", rule="A15", note="the operation would be lost: the descriptor is the function's parameter")
    return None


def _choice(choice: re.Match[str], program: Program) -> Plan:
    """Decide on a search for algorithms."""
    helper = _CONVOLUTIONS[f"cudnn{choice[2]}"].name
    if choice[1] == "Get" and choice[3] is None:
        return Plan("remove")
    told = f"{helper} finds the algorithm itself: this search and what reads its results can go"
    return Plan("mark", rule="S05" if choice[1] == "Find" else "S04", note=told)


def _helped(helper: Helper) -> Plan:
    return Plan("replace", helper.name, helper.arguments, header=True)


def _marked(found: Answered) -> Plan:
    return Plan("mark", rule=_first(found.rules), note=found.note or found.call)


def _first(rules: Sequence[str]) -> str:
    return rules[0] if rules else ""


def _is_zero(event: Event, parameter: str) -> bool:
    given = event.argument(parameter)
    return given is not None and told(given) == [0]


def _is_not_zero(event: Event, parameter: str) -> bool:
    given = event.argument(parameter)
    values = [] if given is None else told(given)
    return bool(values) and all(isinstance(value, int | float) and value != 0 for value in values)


def _is_plain(event: Event, parameter: str) -> bool:
    """Tell whether a format is not known where the call stands, and none of vectors as far as it is."""
    given = event.argument(parameter)
    values = [] if given is None else told(given)
    return len(values) != 1 and {"CUDNN_TENSOR_NCHW", "CUDNN_TENSOR_NHWC"}.issuperset(values)


def _numbers(wanted: Sequence[str], given: Sequence[Part], target: str) -> tuple[int | str, ...]:
    """Return arguments as numbers of the old ones where they are old ones."""
    texts = [translated(bare(part.text), target)[0] for part in given]
    left = list(range(len(texts)))
    found: list[int | str] = []
    for text in wanted:
        number = next((i for i in left if texts[i] == text), None)
        if number is not None:
            left.remove(number)
        found.append(text if number is None else number)
    return tuple(found)


def _casts(event: Event, found: Answered, numbers: Sequence[int | str]) -> frozenset[int]:
    """Return the old arguments that cuDNN does not write to, but MIOpen declares as if it did."""
    theirs = mapping.table().functions[found.function].latest
    ours = event.parameters
    return frozenset(
        item
        for item, parameter in zip(numbers, theirs, strict=True)
        if isinstance(item, int) and ours[item].type == "const void *" and parameter.type == "void *"
    )


def _operation_parameter(source: Source, offset: int, name: str) -> tuple[str, int] | None:
    """Return the function around a place that has a descriptor of an operation as parameter, and where that stands."""
    for block in source.blocks_around(offset):
        for match in source.of_operations.get(block, ()):
            parameter = re.search(rf"{OPERATION_TYPE}({re.escape(name)})\b", match[2])
            if parameter is not None:
                return match[1], match.start(2) + parameter.start(1)
    return None


def operation_reference(source: Source, offset: int, name: str, program: Program) -> int | None:
    """Return where a parameter stands that a function sets to an operation, if it may become a reference.

    That is so in C++, for functions that are declared once in the program.
    """
    found = _operation_parameter(source, offset, name)
    if found is None or source.name.endswith((".c", ".h")) or program.with_operations.get(found[0], 0) > 1:
        return None
    return found[1]
