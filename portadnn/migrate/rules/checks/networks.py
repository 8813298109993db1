"""Rules on recurrent networks, losses and the graph API that data cannot say."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from ...events import Argument
from ...findings import Certainty
from ...values import UNKNOWN
from ..registry import check
from ..shapes import enumerator, number, numbers, shape
from ..situation import Hit, Situation

# RNNs and CTC ----------------------------------------------------------------------------------------------------

GATES = {
    "LSTM": ("the input gate", "the forget gate", "the new memory", "the output gate"),
    "GRU": ("the reset gate", "the update gate", "the new memory"),
}
IN_MIOPEN = {
    "LSTM": ("the input gate", "the forget gate", "the output gate", "the new memory"),
    "GRU": ("the update gate", "the reset gate", "the new memory"),
}


def _modes(situation: Situation) -> tuple[str, ...]:
    """Return the kinds of network that the descriptor may have been set to."""
    thing = situation.thing("rnnDesc")
    fields = {} if thing is None else thing.fields
    value = next((fields[name] for name in ("cellMode", "mode", "rnnMode") if name in fields), None)
    return tuple(enumerator(option) or "" for option in value.options) if value else ()


def networks(situation: Situation) -> tuple[str, ...]:
    """Return what the RNN descriptor may be, of LSTM and GRU."""
    return tuple(kind for kind in GATES if any(name.endswith(kind) for name in _modes(situation)))


@check("gate", "network", "number", "other", "remedy")
def gate_order(situation: Situation) -> Iterator[Hit]:
    """Find a gate's matrix or bias whose number is another gate's in MIOpen."""
    found = networks(situation)
    argument = situation.argument("linLayerID")
    if argument is not None and not found and _modes(situation) == ("",):  # set, to what nobody can know here
        orders = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in IN_MIOPEN.items())
        words = {"gate": "a gate", "network": "LSTM or GRU?", "number": argument.text, "other": "another one"}
        yield Hit("possible", words={**words, "remedy": f"// if it is one of these, MIOpen's order is {orders}"})
    if not found or argument is None:
        return
    certainty: Certainty = "proven" if len(found) == 1 and len(_modes(situation)) == 1 else "possible"
    for kind in found:
        wanted, gates = number(situation.value("linLayerID")), len(GATES[kind])
        words = {"network": kind, "number": argument.text}
        gate = None if wanted is None else GATES[kind][int(wanted) % gates]
        if wanted is not None and gate == IN_MIOPEN[kind][int(wanted) % gates]:
            continue
        if wanted is None or gate is None or not argument.text.strip().isdecimal():
            orders = ", ".join(f"{i} {gate.removeprefix('the ')}" for i, gate in enumerate(IN_MIOPEN[kind]))
            remedy = f"// MIOpen's numbers: {orders}; from {gates} on the same for the hidden state"
            words |= {"gate": "a gate", "other": "another one", "remedy": remedy}
            yield Hit("possible" if wanted is None else certainty, words=words)
            continue
        right = int(wanted) // gates * gates + IN_MIOPEN[kind].index(gate)
        given = [a.text if (a := situation.argument(*names)) else names[0] for names in _PLACE]
        kind_of = "Bias" if "Bias" in situation.event.function else "Param"
        remedy = f"miopenGetRNNLayer{kind_of}Offset({', '.join(given)}, {right}, desc, &offset);  // {gate}"
        words |= {"gate": gate, "other": IN_MIOPEN[kind][int(wanted) % gates], "remedy": remedy}
        yield Hit(certainty, words=words)


_PLACE = (("rnnDesc",), ("layer", "pseudoLayer"), ("xDesc",))


@check("fault", "error")
def ctc_lengths(situation: Situation) -> Iterator[Hit]:
    """Find labels beyond the classes, and labels longer than the input."""
    labels, lengths, steps = (
        numbers(situation.value(*names))
        for names in (
            ("labels", "hostLabels"),
            ("labelLengths", "hostLabelLengths"),
            ("inputLengths", "hostInputLengths"),
        )
    )
    dims = shape(situation, "probsDesc").dims
    if labels is not None and dims is not None and len(dims) == 3 and max(labels, default=0) >= dims[2]:
        yield Hit(words={"fault": f"label {max(labels)} is given for {dims[2]} classes", "error": "Wrong label id"})
    if lengths is None or steps is None:
        return
    start = 0
    for i, (length, step) in enumerate(zip(lengths, steps, strict=False)):
        own = labels[start : start + length] if labels is not None else ()
        start += length
        repeated = sum(a == b for a, b in itertools.pairwise(own))
        if length + repeated > step:
            more = f" ({repeated} repeated)" if repeated else ""
            fault = f"sequence {i} has {length} labels{more} and {step} time steps"
            yield Hit(words={"fault": fault, "error": "label length exceeds input time step"})


# The graph API ---------------------------------------------------------------------------------------------------

_SET = "cudnnBackendSetAttribute"


def _attribute(situation: Situation) -> str:
    arguments = situation.event.arguments
    return arguments[1].text.strip() if len(arguments) == 5 else ""


@check()
def relu_slope(situation: Situation) -> Iterator[Hit]:
    """Find a ReLU of the graph with a slope."""
    if _attribute(situation).endswith("RELU_LOWER_CLIP_SLOPE"):
        yield Hit()


@check("attribute")
def next_running_statistics(situation: Situation) -> Iterator[Hit]:
    """Find running statistics that the graph writes elsewhere."""
    if re.search("(OUTPUT|UPDATED)_RUNNING_(MEAN|VAR)_DESC$", _attribute(situation)):
        yield Hit(words={"attribute": _attribute(situation)})


@check("pre", "post")
def asymmetric_padding(situation: Situation) -> Iterator[Hit]:
    """Find padding behind that differs from that before."""
    kinds = ("CUDNN_ATTR_CONVOLUTION_POST_PADDINGS", "CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS")
    own = _attribute(situation)
    if own not in kinds:
        return
    here = situation.event.arguments
    for deed, _ in situation.before([_SET]):
        there = deed.event.arguments
        if len(there) != 5 or there[0].text != here[0].text or there[1].text.strip() != kinds[own == kinds[0]]:
            continue
        a, b = (_elements(situation, arguments) for arguments in (here, there))
        if a is not None and b is not None and a != b:
            yield Hit(words={"post": f"{here[4].text} ({_listed(a)})", "pre": f"{there[4].text}: {_listed(b)}"})
        return


def _elements(situation: Situation, arguments: tuple[Argument, ...]) -> tuple[int, ...] | None:
    """Return the numbers of an attribute's array, whose length stands before it."""
    count, value = number(arguments[3].read), arguments[4].value
    if value.kind != "pointer" or count is None:
        return numbers(arguments[4].read)
    variables = situation.state.variables
    found = [number(variables.get(f"{value.data}[{i}]", UNKNOWN)) for i in range(int(count))]
    return None if None in found else tuple(int(n) for n in found if n is not None)


def _listed(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))
