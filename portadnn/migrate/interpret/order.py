"""When a program would use a function, by its name."""

from __future__ import annotations

import re

from . import types
from .index import Known

FIRST = 1  # what makes and sets up, behind constructors
_LAST = 9
_PHASES = (  # when a program uses what a class or a file offers, by its name; the first that fits counts
    (_LAST, r"^~|destroy|free|release|clean|finali[sz]e|shutdown|close|delete|teardown|exit"),
    (1, r"^(?:create|init|set_?up|make|build|open|load|alloc|add)|set_?up|init(?:iali[sz]e)?$"),
    (2, r"^(?:reshape|resize|set|prepare|configure|choose|select|find)|algo|workspace|descriptor|desc$"),
    (7, r"update|step|optimi[sz]e|apply|solve"),
    (6, r"backward|bwd|backprop|grad|_bp|^bp"),
    (5, r"forward|fwd|^run|infer|predict|execute|compute|^operator\(\)|train|test|eval|process"),
    (1, r"create|init|make|build"),
    (3, r"get|find|query|prepare|config|plan|alloc"),
)
_PATTERNS = tuple((phase, re.compile(pattern, re.IGNORECASE)) for phase, pattern in _PHASES)


def phase_of(known: Known) -> int:
    """Return when a program would use a function: the smaller the earlier."""
    if known.function.kind == "constructor":
        return 0
    if known.function.kind == "destructor":
        return _LAST + 1
    name = types.simple(known.function.name)
    return next((phase for phase, pattern in _PATTERNS if pattern.search(name)), 4)
