"""What a library's function does: to its things, and to the variables whose addresses it gets.

Most follows from the signatures in the mapping table: what is created and destroyed, which fields a Set function sets,
what a Get function tells. ``outputs`` knows the values that come back.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import replace

from ...mapping import Parameter
from ..events import Argument, Event, Place
from ..values import UNKNOWN, Value, join, known, thing, unknown
from . import outputs
from .fields import completed
from .kinds import kind_of, library_of
from .state import Deed, State, Thing

Write = Callable[[str, Value], None]

# Set functions that change one setting and leave the others: what they set outlives the next whole setting in cuDNN.
_WHOLE = re.compile(r"^(cudnn|miopen)(Set|Init|Restore|Derive)\w*?(2d|4d|Nd)?\w*Descriptor(Ex|V2|WithLayout|_[vV]\d)?$")
_PARTIAL = frozenset(
    {"cudnnSetActivationDescriptorSwishBeta", "cudnnSetRNNAlgorithmDescriptor", "miopenSetProblemTensorDescriptor"}
)
_KEPT = frozenset(
    {"groupCount", "mathType", "reorderType", "swish_beta", "math", "biasMode", "paddingMode", "clipMode", "clipNanOpt"}
    | {"lclip", "rclip", "recProjSize", "outProjSize", "algoDesc", "plan", "index_type", "workspace_index"}
)
_AT_CREATION: dict[tuple[str, str], dict[str, Value]] = {
    ("cudnn", "convolution"): {"groupCount": known(1, "int"), "mathType": known("CUDNN_DEFAULT_MATH")},
    ("cudnn", "backend"): {"finalized": known(False, "bool")},
    ("miopen", "convolution"): {"groupCount": known(1, "int")},
    ("miopen", "pooling"): {
        "index_type": known("miopenIndexUint8"),
        "workspace_index": known("miopenPoolingWorkspaceIndexMask"),
    },
}
_EXACT = re.compile(r"\[\d+\]$")
_RESETS: dict[tuple[str, str], dict[str, Value]] = {  # what a whole setting sets besides its parameters
    ("miopen", "convolution"): {"groupCount": known(1, "int"), "adj_h": known(0, "int"), "adj_w": known(0, "int")},
}


def apply(event: Event, state: State, journal: MutableMapping[int, Deed], write: Write) -> Value:
    """Let a call happen: change the state, enter it in the journal, and return what the function returns.

    Parameters
    ----------
    event : Event
        The call.
    state : State
        What held before it; changed in place.
    journal : dict of int to Deed
        Gets the call, with its things as they were before it.
    write : callable
        Sets the variable at a path; ``x[*]`` are all elements of `x`.
    """
    journal[event.number] = Deed(event, dict(things_of(event, state)))
    state.note(event.function, event.number)
    for parameter, argument in _given(event):
        if _is_creation(event, parameter):
            _create(event, state, parameter, argument, write)
    if re.match(r"(cudnn|miopen)(Backend)?Destroy", event.function):
        _destroy(event, state)
    else:
        _set(event, state)
        _tell(event, state, write)
    return _returned(event)


def things_of(event: Event, state: State) -> Iterator[tuple[str, Thing]]:
    """Yield the things that a call refers to, each with the parameter's name."""
    for name, argument in event.by_name.items():
        if argument.value.kind == "thing" and argument.value.data in state.things:
            yield name, state.things[argument.value.data]
        elif (
            argument.content is not None and argument.content.kind == "thing" and argument.content.data in state.things
        ):
            yield name, state.things[argument.content.data]


def _given(event: Event) -> Iterator[tuple[Parameter, Argument]]:
    for parameter in event.parameters:
        argument = event.by_name.get(parameter.name)
        if argument is not None:
            yield parameter, argument


def _returned(event: Event) -> Value:
    declared = event.declared
    if declared is not None and declared.returns:
        return unknown(event.function, declared.returns)
    return unknown(f"status@{event.number}", f"{event.library}Status_t")


# Creating and destroying ----------------------------------------------------------------------------------------


def _is_creation(event: Event, parameter: Parameter) -> bool:
    creates = re.match(r"(cudnn|miopen)(Backend)?Create", event.function) is not None
    return creates and parameter.direction == "out" and parameter.type.rstrip().endswith("*")


def _create(event: Event, state: State, parameter: Parameter, argument: Argument, write: Write) -> None:
    if argument.value.kind != "pointer":
        return
    path = argument.value.data
    kind = kind_of(parameter.type)
    library = library_of(parameter.type)
    made = Thing(
        id=f"{path}@{event.number}",
        kind=kind,
        name=argument.text.lstrip("&( ").rstrip(") ") or path,
        library=library,
        fields=dict(_AT_CREATION.get((library or "", kind), {})),
        created=event.number,
        many=event.in_loop and _EXACT.search(path) is None,
    )
    fields = dict(made.fields)
    for other, given in _given(event):
        if other is not parameter:
            fields[other.name] = given.read
    made = replace(made, fields=fields)
    state.things[made.id] = made
    write(path, thing(made.id, parameter.type.replace("*", "").strip()))


def _destroy(event: Event, state: State) -> None:
    for argument in event.arguments[:1]:
        value = argument.read
        sure = value.kind == "thing"
        for option in value.options:
            if option.kind == "thing" and (old := state.things.get(option.data)) is not None:
                for gone in (old, *_belonging(old, state)):
                    state.things[gone.id] = replace(gone, destroyed=event.number, certain=gone.certain and sure)


def _belonging(plan: Thing, state: State) -> list[Thing]:
    """Return the operators that a fusion plan takes with it."""
    made_in = ((one, one.fields.get("fusePlanDesc", UNKNOWN)) for one in state.things.values() if one.kind == "fusion")
    return [one for one, owner in made_in if owner.kind == "thing" and owner.data == plan.id]


# Setting --------------------------------------------------------------------------------------------------------


def is_whole(function: str) -> bool:
    """Whether a function sets a descriptor as a whole: all that does not outlive such a setting is set anew."""
    return _WHOLE.match(function) is not None and function not in _PARTIAL


def _set(event: Event, state: State) -> None:
    targets = [
        (parameter, argument)
        for parameter, argument in _given(event)
        if parameter.direction != "in" and kind_of(parameter.type) and not parameter.type.rstrip().endswith(("*", "]"))
    ]
    if re.match(r"(cudnn|miopen)(RNN)?Get", event.function) and not event.function.startswith(_GETTERS_THAT_SET):
        return
    for parameter, argument in targets:
        options = argument.read.options
        for option in options:
            old = state.things.get(option.data) if option.kind == "thing" else None
            if old is not None:
                state.things[old.id] = _newly_set(event, state, parameter, old, sure=len(options) == 1)
    if event.function.endswith("BackendGetAttribute"):
        _fill(event, state)


def _fill(event: Event, state: State) -> None:
    """Note that a query has filled the backend descriptors that the program passed."""
    places = event.argument("arrayOfElements")
    for option in () if places is None else (one for part in parts(places.read) for one in part.options):
        old = state.things.get(option.data) if option.kind == "thing" else None
        if old is not None:
            fields = {**old.fields, "finalized": known(True, "bool")}
            state.things[old.id] = replace(old, fields=fields, set_by=(*old.set_by, event.number))


def parts(value: Value) -> Sequence[Value]:
    """Return the elements of an array, or the one value."""
    return value.data if value.kind == "items" else (value,)


_GETTERS_THAT_SET = (
    "cudnnGetFoldedConv", "cudnnGetRNNLinLayer", "cudnnGetRNNWeightParams", "cudnnGetMultiHeadAttnWeights",
    "miopenGetRNNParamsDescriptor", "miopenGetRNNLayer",
)  # fmt: skip


def _newly_set(event: Event, state: State, target: Parameter, old: Thing, *, sure: bool) -> Thing:
    kind = old.kind or kind_of(target.type)
    whole = is_whole(event.function)
    fields = dict(old.fields)
    if whole:
        fields = {} if event.library == "miopen" and kind != "pooling" else _kept(old)
        fields.update(_RESETS.get((event.library, kind), {}))
    derived = outputs.derived_fields(event, state, target)
    given = derived if derived is not None else _settings(event, target)
    fields.update(completed(kind, given) if whole else given)
    if not sure:
        fields = {
            name: join([old.fields[name], fields[name]]) if name in old.fields else fields[name] for name in fields
        }
    return replace(
        old,
        kind=kind,
        library=old.library or library_of(target.type),
        fields=fields,
        set_by=(*old.set_by, event.number),
        certain=sure if whole else old.certain and sure,
    )


def _kept(old: Thing) -> dict[str, Value]:
    return {name: value for name, value in old.fields.items() if name in _KEPT}


def _settings(event: Event, target: Parameter) -> dict[str, Value]:
    """Return what a Set function's arguments say, by the parameters' names; arrays as long as another says."""
    settings = {
        parameter.name: argument.read
        for parameter, argument in _given(event)
        if parameter is not target and kind_of(parameter.type) != "handle" and parameter.direction != "out"
    }
    for name in ("nbDims", "num_lens", "arrayLength", "spatialDim", "elementCount"):
        count = settings.get(name)
        if count is not None and count.kind == "known" and isinstance(count.data, int):
            settings = {key: _cut(value, count.data) for key, value in settings.items()}
    if "mathType" not in settings and "math" in settings:
        settings["mathType"] = settings["math"]
    for attribute, value in (("attr", "value"), ("attributeName", "arrayOfElements"), ("id", "descriptor")):
        if attribute in settings and settings[attribute].kind == "known":
            settings[str(settings[attribute].data)] = settings.get(value, UNKNOWN)
    return settings


def _cut(value: Value, count: int) -> Value:
    if value.kind == "items" and 0 < count < len(value.data):
        return replace(value, data=value.data[:count])
    return value


# Telling --------------------------------------------------------------------------------------------------------


def _tell(event: Event, state: State, write: Write) -> None:
    """Write what a function gives back through pointers."""
    for parameter, argument in _given(event):
        if argument.value.kind != "pointer" or _is_creation(event, parameter):
            continue
        if not outputs.is_output(parameter):
            continue
        for suffix, value in outputs.values_of(event, state, parameter):
            path = argument.value.data + suffix
            if not suffix and outputs.is_array(parameter) and value.kind == "unknown":
                path = f"{path.removesuffix('[0]')}[*]"
            write(path, value)


@functools.cache
def signature(function: str, count: int) -> tuple[Parameter, ...]:
    """Return the parameters of a function that is called with so many arguments, as ``Event.parameters`` chooses."""
    return Event(0, function, (_BLANK,) * count, Place("", 0)).parameters


_BLANK = Argument("", UNKNOWN)
