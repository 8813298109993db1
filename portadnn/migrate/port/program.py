"""What is decided on a call, and what is known of the whole program to decide it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..events import Event
from ..findings import Finding

HEADER = "portadnn_miopen.h"
HEADERS = {"miopen-3": HEADER, "miopen-1": HEADER, "cudnn-9": "portadnn_cudnn9.h"}  # files of ours, by target


@dataclass(frozen=True)
class Program:
    """What is known of all sources together.

    Attributes
    ----------
    target : str
        ``"miopen-1"``, ``"miopen-3"`` or ``"cudnn-9"``.
    mentioned : frozenset of str
        The functions of both libraries that are called anywhere.
    own : mapping of str to frozenset of str
        Functions with cuDNN's names that the program defines itself, by the sources that see them.
    defined : frozenset of str
        Macros that the program defines.
    with_operations : mapping of str to int
        How often functions are declared that have descriptors of tensor operations as parameters.
    events : mapping of (str, int) to sequence of Event
        The calls as following the program shows them, by file and offset.
    findings : mapping of (str, int) to sequence of Finding
        What is wrong with them.
    """

    target: str
    mentioned: frozenset[str] = frozenset()
    own: Mapping[str, frozenset[str]] = field(default_factory=dict)
    defined: frozenset[str] = frozenset()
    with_operations: Mapping[str, int] = field(default_factory=dict)
    events: Mapping[tuple[str, int], Sequence[Event]] = field(default_factory=dict)
    findings: Mapping[tuple[str, int], Sequence[Finding]] = field(default_factory=dict)

    def finds(self, function: str) -> bool:
        """Tell whether a convolution's algorithm comes from a Find of the program's own, on its real tensors."""
        name = function.removeprefix("cudnn")
        others = {f"cudnnGet{name}Algorithm", f"cudnnGet{name}Algorithm_v7", f"cudnnFind{name}Algorithm"}
        miopen = name.replace("Filter", "Weights")
        own = {f"cudnnFind{name}AlgorithmEx", f"miopenFind{miopen}Algorithm"}
        return bool(own & self.mentioned) and not others & self.mentioned


@dataclass(frozen=True)
class Plan:
    """What becomes of a call in the source.

    Attributes
    ----------
    kind : str
        ``"replace"`` the call; ``"expression"``: `name` is what stands there instead; ``"remove"`` it; ``"mark"``: it
        stays, with a comment; ``"leave"``: it is none of cuDNN's.
    name : str
        The new function.
    arguments : tuple of int or str
        Its arguments: numbers of old ones, or texts.
    casts : frozenset of int
        Old arguments that need a cast to ``void *``.
    header : bool
        Whether it needs portadnn_miopen.h.
    rule, note : str
        Why it is marked; of other kinds a remark, if `note` is not "".
    """

    kind: str
    name: str = ""
    arguments: tuple[int | str, ...] = ()
    casts: frozenset[int] = frozenset()
    header: bool = False
    rule: str = ""
    note: str = ""


LEAVE = Plan("leave")
