"""What to write in place of a call that cuDNN 9 no longer has, or has with other arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..answers import answer, told
from ..events import Event
from ..names import values_of_cudnn
from .calls import Call
from .layout import Part, bare
from .program import LEAVE, Plan, Program
from .source import Source

_CHOICES = {
    "cudnnGetConvolutionForwardAlgorithm": "portadnn_get_convolution_forward_algorithm",
    "cudnnGetConvolutionBackwardDataAlgorithm": "portadnn_get_convolution_backward_data_algorithm",
    "cudnnGetConvolutionBackwardFilterAlgorithm": "portadnn_get_convolution_backward_filter_algorithm",
}
_PREFERENCE = re.compile(
    r"CUDNN_CONVOLUTION_(?:FWD|BWD_DATA|BWD_FILTER)_(NO_WORKSPACE|PREFER_FASTEST|SPECIFY_WORKSPACE_LIMIT)"
)


def newer(source: Source, call: Call, given: Sequence[Part], events: Sequence[Event], program: Program) -> Plan:
    """Decide on a call that goes to cuDNN 9."""
    event = events[0]
    if call.name in _CHOICES:
        return _choice(_CHOICES[call.name], event)
    found = answer(event, "cudnn-9")
    if found.kind == "same":
        return LEAVE
    if found.kind == "moves" and found.sure and found.function:
        texts = [bare(part.text) for part in given]
        left = list(range(len(texts)))
        arguments: list[int | str] = []
        for text in found.arguments:
            number = next((i for i in left if texts[i] == text), None)
            if number is not None:
                left.remove(number)
            arguments.append(text if number is None else number)
        return Plan("replace", found.function, tuple(arguments))
    for finding in program.findings.get((source.name, call.start), ()):
        if finding.rule in ("F01", "F02"):
            return Plan("mark", rule=finding.rule, note=f"{finding.message}: {finding.fix}")
    return Plan("mark", rule="F01", note=found.note or found.call)


def _choice(helper: str, event: Event) -> Plan:
    """Return the choice of an algorithm within a limit, where the preference is known."""
    preference = event.argument("preference")
    values = [] if preference is None else told(preference)
    match = _PREFERENCE.fullmatch(str(values[0])) if len(values) == 1 else None
    if match is None or len(event.arguments) != 8:
        return Plan("mark", rule="F01", note="the limit of the workspace depends on the preference, which is not known")
    limit: int | str = {"NO_WORKSPACE": "0", "PREFER_FASTEST": "(size_t)-1"}.get(match[1], 6)
    return Plan("replace", helper, (0, 1, 2, 3, 4, limit, 7), header=True)


def is_gone(name: str) -> bool:
    """Tell whether cuDNN 9 lacks a type or a value."""
    if name.startswith("cudnnConvolution") and name.endswith("Preference_t"):
        return True
    known = values_of_cudnn().get(name)
    until = None if known is None else known[0].until
    return until is not None and not until.startswith("9")
