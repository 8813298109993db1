"""The reverse check: what goes wrong in code that has been ported to MIOpen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from ...model.state import Deed, Thing
from ...values import UNKNOWN
from ..hints import FILTER, IMAGE, RESULT, factors, identifiers, last_identifier, parts, subscripts
from ..journals import deeds, deeds_within, once
from ..registry import check
from ..shapes import Shape, enumerator, number, of_thing
from ..situation import Hit, Situation
from .networks import GATES, IN_MIOPEN, networks

_ROLES = {"w": FILTER, "dy": RESULT, "x": IMAGE}
_FORWARD = ("miopenConvolutionForward", "miopenFindConvolutionForwardAlgorithm")
_DECONVOLUTION = re.compile("deconv|transpose", re.IGNORECASE)


def _rewritten(situation: Situation, moved: dict[int, int]) -> str:
    """Return the call with arguments at other places."""
    texts = [" ".join(argument.text.split()) for argument in situation.event.arguments]
    return f"{situation.event.function}({', '.join(texts[moved.get(i, i)] for i in range(len(texts)))});"


def _then(situation: Situation, name: str) -> Thing | None:
    """Return what a parameter referred to at the time of the call."""
    deed = situation.journal.get(situation.event.number)
    return situation.thing(name) if deed is None else deed.things.get(name, situation.thing(name))


# Exchanged tensors -----------------------------------------------------------------------------------------------


@check("first", "second", "first_name", "second_name", "reason", "order", "corrected")
def exchanged(situation: Situation) -> Iterator[Hit]:
    """Find two tensors in cuDNN's order, which MIOpen takes the other way round."""
    names = [parameter.name for parameter in situation.event.parameters]
    if len(names) != len(situation.event.arguments):
        return
    descriptors = [name for name in names if name.endswith("Desc") and name != "convDesc"]
    first, second, third = descriptors[:3]
    reason, certain = _why_exchanged(situation, first, second, third)
    if not reason:
        return
    moved: dict[int, int] = {}
    for a, b in ((first, second), (first.removesuffix("Desc"), second.removesuffix("Desc"))):
        if a in names and b in names:
            moved |= {names.index(a): names.index(b), names.index(b): names.index(a)}
    given = [argument for name in (first, second) if (argument := situation.argument(name))]
    texts = [" ".join(argument.text.split()) for argument in given]
    words = {"first": texts[0], "second": texts[1], "first_name": first, "second_name": second, "reason": reason}
    order = f"({first.removesuffix('Desc')}, {second.removesuffix('Desc')})"
    words |= {"order": order, "corrected": _rewritten(situation, moved)}
    yield Hit("proven" if certain else "possible", first, words)


def _why_exchanged(situation: Situation, first: str, second: str, third: str) -> tuple[str, bool]:
    """Say why two tensors are thought to be exchanged, and whether that is certain; "" where they are not."""
    things = [_then(situation, name) for name in (first, second, third)]
    if all(things):
        shapes = [of_thing(thing) for thing in things if thing]
        straight = _fits(dict(zip((first, second, third), shapes, strict=True)))
        other = _fits(dict(zip((second, first, third), shapes, strict=True)))
        if straight is True:
            return "", False
        if straight is False and other is True:
            return "their dims fit only the other way round", True
    if (used := _used_otherwise(situation, things[0], things[1], first, second)) is not None:
        return used, bool(used)
    roles = [name.removesuffix("Desc") for name in (first, second)]
    texts = [argument.text for name in (first, second) if (argument := situation.argument(name))]
    if "w" not in roles and _DECONVOLUTION.search(f"{situation.event.within} {situation.event.place.file}"):
        return "", False
    if _sounds_like(texts[0], roles[1], roles[0]) and _sounds_like(texts[1], roles[0], roles[1]):
        return "their names say so", False
    return "", False


def _sounds_like(text: str, role: str, other: str) -> bool:
    words = parts(text)
    return bool(words & _ROLES[role]) and not words & _ROLES[other]


def _fits(shapes: dict[str, Shape]) -> bool | None:
    """Tell whether dims belong to one convolution; None where they are not known."""
    by_role = {name.removesuffix("Desc").removeprefix("d"): found.dims for name, found in shapes.items()}
    x, w, y = (by_role[role] for role in ("x", "w", "y"))
    if x is None or w is None or y is None or not len(x) == len(w) == len(y) > 2:
        return None
    return x[0] == y[0] and y[1] == w[0] and x[1] % w[1] == 0


def _used_otherwise(situation: Situation, a: Thing | None, b: Thing | None, first: str, second: str) -> str | None:
    """Say that forward convolutions use two descriptors the other way round; "" if as here, None if nobody knows."""
    if a is None or b is None or a.many or b.many or a.id == b.id:
        return None
    for deed, roles in once(situation.journal, "roles in forward convolutions", _forward_roles).get(a.id, ()):
        if b.id in roles:
            if (roles[a.id], roles[b.id]) == (second.removeprefix("d"), first.removeprefix("d")):
                return f"{deed.event.function} in line {deed.event.place.line} takes them the other way round"
            return ""
    return None


def _forward_roles(journal: Mapping[int, Deed]) -> dict[str, list[tuple[Deed, dict[str, str]]]]:
    """Return forward convolutions by each of their descriptors, and as what they take all of them."""
    found: dict[str, list[tuple[Deed, dict[str, str]]]] = {}
    for deed in sorted(deeds(journal, _FORWARD), key=lambda deed: deed.event.number):
        roles = {thing.id: role for role in ("xDesc", "wDesc", "yDesc") if (thing := deed.things.get(role))}
        for id_ in roles:
            found.setdefault(id_, []).append((deed, roles))
    return found


_WORKSPACE = re.compile(r"work_?space|\bws_?\b|scratch", re.IGNORECASE)


@check("corrected")
def workspace_before_beta(situation: Situation) -> Iterator[Hit]:
    """Find workspace and size where cuDNN has them."""
    names = [parameter.name for parameter in situation.event.parameters]
    beta, last = situation.argument("beta"), situation.thing("workSpace")
    if beta is None or len(names) != len(situation.event.arguments):
        return
    memory = situation.thing("beta")
    certain = (memory is not None and memory.kind == "memory") or (last is not None and last.kind == "tensor")
    if not certain and not (_WORKSPACE.search(beta.text) and not _WORKSPACE.search(situation.event.arguments[-1].text)):
        return
    start = names.index("beta")
    moved = {start + i: start + (i + 2) % 5 for i in range(5)}
    yield Hit("proven" if certain else "possible", words={"corrected": _rewritten(situation, moved)})


# Gradients, averages ---------------------------------------------------------------------------------------------

_COUNTERPARTS = {
    "miopenConvolutionBackwardWeights": "cudnnConvolutionBackwardFilter",
    "miopenConvolutionBackwardBias": "cudnnConvolutionBackwardBias",
}


def _is(situation_value: float | None, text: str, wanted: float, name: str) -> bool:
    """Tell whether a scalar has a value, or is called as if it had."""
    return situation_value == wanted or (situation_value is None and name in last_identifier(text).lower())


@check("reason", "output", "corrected")
def lost_accumulation(situation: Situation) -> Iterator[Hit]:
    """Find a gradient that is overwritten where it was, or should be, added to."""
    beta = situation.argument("beta")
    output = situation.argument("dw", "db")
    if beta is None or output is None or not _is(number(beta.read), beta.text, 0, "zero"):
        return
    name = "dw" if situation.argument("dw") else "db"
    turn, deed = _turns(situation, name), _accumulating(situation)
    if turn is None and deed is None:
        return
    reasons = []
    if turn is not None:
        reasons.append(f"the loop over {turn} gives the same {' '.join(output.text.split())} in every turn")
    if deed is not None:
        reasons.append(f"the same function of the program adds with {deed.event.function} (beta = 1)")
    given = (situation.argument("handle"), situation.argument(f"{name}Desc"), output)
    handle, desc, into = (" ".join(one.text.split()) if one else "" for one in given)
    words = {
        "reason": " and ".join(reasons),
        "output": into,
        "corrected": (
            f"float one = 1, zero = 0;  // {situation.event.function} into t, a buffer like {into}, then\n"
            f"miopenOpTensor({handle}, miopenTensorOpAdd, &one, {desc}, t, &one, "
            f"{desc}, {into}, &zero, {desc}, {into});"
        ),
    }
    related = ((deed, "adds to the gradient"),) if deed is not None else ()
    yield Hit("possible", "beta", words, related)


def _turns(situation: Situation, output: str) -> str | None:
    """Return the variable of a loop that chooses the inputs, but not the gradient."""
    if not situation.event.in_loop:
        return None
    inputs = [a.text for name in ("dyDesc", "dy", "xDesc", "x") if (a := situation.argument(name))]
    own = [a.text for name in (output, f"{output}Desc") if (a := situation.argument(name))]
    kept = frozenset(name for text in own for name in identifiers(text))
    return next(iter(sorted(subscripts(inputs) - kept)), None)


def _accumulating(situation: Situation) -> Deed | None:
    """Return the call of cuDNN in a function of the same name that adds to the gradient."""
    for deed in _of_the_same_function(situation, _COUNTERPARTS[situation.event.function]):
        beta = deed.event.argument("beta")
        if beta is not None and _is(number(beta.read), beta.text, 1, "one"):
            return deed
    return None


def _of_the_same_function(situation: Situation, wanted: str) -> Iterable[Deed]:
    """Return the calls of cuDNN's function in the program's function of the same name."""
    within = situation.event.within
    return deeds_within(situation.journal, wanted, within) if within else ()


@check("reason")
def meant_inclusive(situation: Situation) -> Iterator[Hit]:
    """Find an average that leaves the padding out, where the program wants it counted."""
    found, modes = once(situation.journal, "pooling with padding", _counting_padding)
    if found is not None and "CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING" not in modes:
        place = found.event.place
        reason = f"the program's cuDNN code counts it ({place.file.rpartition('/')[2]}:{place.line})"
        yield Hit("possible", words={"reason": reason}, related=((found, "counts the padding"),))
    elif found is None and parts(situation.event.within) & {"inclusive", "include"}:
        yield Hit("possible", words={"reason": f"{situation.event.within} speaks of counting it"})


def _counting_padding(journal: Mapping[int, Deed]) -> tuple[Deed | None, frozenset[str]]:
    """Return the first call of cuDNN that lets pooling count the padding, and all modes that such calls set."""
    modes: set[str] = set()
    found: Deed | None = None
    for deed in journal.values():
        if not deed.event.function.startswith(("cudnnSetPooling2d", "cudnnSetPoolingNd")):
            continue
        mode = deed.event.argument("mode")
        names = {enumerator(option) or "" for option in mode.read.options} if mode else set()
        modes |= names
        if found is None and "CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING" in names:
            found = deed
    return found, frozenset(modes)


@check("reason")
def meant_other_softmax(situation: Situation) -> Iterator[Hit]:
    """Find ACCURATE over channels where the function that it was made of computes something else."""
    wanted = situation.event.function.replace("miopen", "cudnn", 1)
    for deed in _of_the_same_function(situation, wanted):
        given = (deed.event.argument(name) for name in ("algo", "mode"))
        names = [enumerator(argument.read) for argument in given if argument is not None]
        other = next((n for n in names if n and n.endswith(("_LOG", "_FAST", "_INSTANCE"))), None)
        if other is not None:
            place = deed.event.place
            reason = f"the program's cuDNN code asks for {other} ({place.file.rpartition('/')[2]}:{place.line})"
            yield Hit("possible", words={"reason": reason}, related=((deed, f"asks for {other}"),))
            return


@check("corrected")
def mode_last(situation: Situation) -> Iterator[Hit]:
    """Find a convolution's mode at the end, where cuDNN has it."""
    arguments = situation.event.arguments
    last = enumerator(arguments[-1].read) or ""
    if len(arguments) == len(situation.event.parameters) and last in ("miopenConvolution", "miopenTranspose"):
        count = len(arguments)
        yield Hit(
            words={"corrected": _rewritten(situation, {i: (i - 1 if i > 1 else count - 1) for i in range(1, count)})}
        )


@check()
def transposed_twice(situation: Situation) -> Iterator[Hit]:
    """Find backwardData of a transposed convolution that has no forward."""
    convolution = _then(situation, "convDesc")
    if convolution is None or enumerator(convolution.fields.get("mode", UNKNOWN)) != ("miopenTranspose"):
        return
    if situation.whole and convolution.id not in once(situation.journal, "convolutions forward", _convolved_forward):
        yield Hit("possible")


def _convolved_forward(journal: Mapping[int, Deed]) -> frozenset[str]:
    """Return the descriptors of convolutions that some forward function gets."""
    things = (deed.things.get("convDesc") for deed in journal.values() if "Forward" in deed.event.function)
    return frozenset(thing.id for thing in things if thing is not None)


# Groups ----------------------------------------------------------------------------------------------------------


@check("groups", "x_whole", "w_whole", "y_whole")
def group_loop(situation: Situation) -> Iterator[Hit]:
    """Find a convolution called group by group: all three pointers move with one variable of a loop."""
    pointers = {name: a.text for name in ("x", "w", "y") if (a := situation.argument(name))}
    if not situation.event.in_loop or len(pointers) < 3:
        return
    moved = situation.event.moving
    moving = frozenset.intersection(*(factors(text) for text in pointers.values()))
    descriptors = frozenset(
        n for name in ("xDesc", "wDesc", "yDesc") if (a := situation.argument(name)) for n in identifiers(a.text)
    )
    together = descriptors.isdisjoint(moved) and all(_moves(text, moved) for text in pointers.values())
    if not moving - descriptors and not together:
        return
    whole = {f"{name}_whole": text.partition("+")[0].strip() for name, text in pointers.items()}
    whole = {name: moved.get(text, text) for name, text in whole.items()}
    yield Hit("possible", words={**whole, "groups": "groups"})


def _moves(text: str, moved: Mapping[str, str]) -> bool:
    """Whether a pointer is one that a loop moves on, or is reckoned from such a number."""
    return text.strip() in moved or ("+" in text and not identifiers(text).isdisjoint(moved))


# Pooling, RNN, streams -------------------------------------------------------------------------------------------


@check("desc", "index_type")
def index_type_set(situation: Situation) -> Iterator[Hit]:
    """Find a size that is asked for bytes, where another type of index was set."""
    for deed, always in situation.before(["miopenSetPoolingIndexType"]):
        name = enumerator(kind.read) if (kind := deed.event.argument("index_type")) else None
        descriptor = deed.event.argument("poolDesc")
        if name is not None and name != "miopenIndexUint8" and descriptor is not None:
            words = {"desc": descriptor.text, "index_type": name}
            related = ((deed, f"sets {name}"),)
            yield Hit("proven" if always else "possible", words=words, related=related)
        return


_GATE_WORDS = {
    "output": "the output gate",
    "cell": "the new memory",
    "reset": "the reset gate",
    "update": "the update gate",
}


@check("text", "number", "gate", "other", "remedy")
def gate_name(situation: Situation) -> Iterator[Hit]:
    """Find a matrix, or a number, that is called after a gate and is cuDNN's for it."""
    argument = situation.argument("layerParam", "layerBias", "layerParamOffset", "layerBiasOffset")
    asked, wanted = situation.argument("paramID", "biasID"), number(situation.value("paramID", "biasID"))
    if argument is None or asked is None or wanted is None:
        return
    named = {*parts(argument.text), *parts(asked.text)}
    for word, gate in _GATE_WORDS.items():
        kind = "GRU" if word in ("reset", "update") else "LSTM"
        gates = len(GATES[kind])
        if word not in named or (networks(situation) and kind not in networks(situation)):
            continue
        if GATES[kind][int(wanted) % gates] == gate != IN_MIOPEN[kind][int(wanted) % gates]:
            right = int(wanted) // gates * gates + IN_MIOPEN[kind].index(gate)
            words = {"text": argument.text, "number": f"{wanted:g}", "gate": IN_MIOPEN[kind][int(wanted) % gates]}
            yield Hit("possible", words={**words, "other": gate, "remedy": f"// {gate} is number {right} in MIOpen"})


@check("queue")
def command_queue(situation: Situation) -> Iterator[Hit]:
    """Find a handle on a queue of OpenCL."""
    argument = situation.event.arguments[1] if len(situation.event.arguments) > 1 else None
    if argument is not None and "cl_command_queue" in f"{argument.value.type} {argument.text}":
        yield Hit(words={"queue": argument.text})
