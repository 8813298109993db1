"""A graph as the source shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..events import Place
from ..values import Value
from .methods import Method

Settings = Mapping[str, tuple[Value, ...]]  # arguments by what sets them, without "set_"


@dataclass(frozen=True)
class FoundTensor:
    """A tensor: what the program set, which may be little."""

    key: str
    name: str
    settings: Settings


@dataclass(frozen=True)
class FoundNode:
    """A call that adds a node.

    Attributes
    ----------
    method : Method
    place : Place
    text, within : str
        The call as it is written, and the program's function that holds it.
    inputs, outputs : dict of str to str
        Keys of tensors by port.
    settings : dict
        Of its attributes.
    maybe : frozenset of str
        Settings that some paths leave out.
    places : dict of str to Place
        Where the settings were set last.
    """

    method: Method
    place: Place
    text: str
    within: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    settings: Settings
    maybe: frozenset[str] = frozenset()
    places: Mapping[str, Place] = field(default_factory=dict, compare=False)

    @property
    def mode(self) -> str:
        """Its mode, where it has one that is known: ``"RELU_FWD"``."""
        for name in ("mode", "resampling_mode", "Mode", "ReductionOp", "ResampleMode"):
            if self.settings.get(name):
                return enumerator(self.settings[name][0])
        return ""

    @property
    def said(self) -> str:
        """Method and mode, for messages."""
        return f"{self.method.name} {self.mode}".strip()


@dataclass(frozen=True)
class FoundGraph:
    """A graph: its nodes in the order of the calls, its tensors by key, and what was set on it."""

    nodes: tuple[FoundNode, ...]
    tensors: Mapping[str, FoundTensor]
    settings: Settings = field(default_factory=dict)
    older: bool = False  # of the older builders
    backend: bool = False  # of backend descriptors
    whole: bool = True  # else nodes of which is not known in which graph they are together

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two graphs one: the calls, and what they are given."""
        return tuple((node.place, node.said) for node in self.nodes)


def enumerator(value: Value, choice: int = 0) -> str:
    """Return the last part of an enumerator's name; of several the one that is chosen; "" where it is not known."""
    option = value.options[choice % len(value.options)]
    text = option.data if option.kind in ("unknown", "known") and isinstance(option.data, str) else ""
    if "(" in text or "~" in text:
        return ""
    last = text.rpartition("::")[2].rpartition(".")[2]
    for prefix in ("CUDNN_POINTWISE_", "CUDNN_REDUCE_TENSOR_", "CUDNN_DATA_", "CUDNN_RESAMPLE_", "CUDNN_"):
        if last.startswith(prefix):
            return last.removeprefix(prefix)
    return last if "::" in text else ""
