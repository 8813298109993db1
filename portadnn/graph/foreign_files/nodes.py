"""What the formats have in common: tables of nodes, uids, and the list of what has no counterpart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data_types import data_type
from ..errors import GraphError
from ..node import KINDS, Kind
from ..rules import fail

_UNSET = ("UNSET", "NOT_SET", "PADDING_NOT_SET", None)
SCALE = "ATTN_SCALE"  # the port of a number that other formats have as an attribute


@dataclass(frozen=True)
class Row:
    """A node of a format and its counterpart here.

    Attributes
    ----------
    kind : str
    inputs, outputs, attributes : dict of str to str
        Names here by names there.
    """

    kind: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)


def pairs(text: str, usual: Any = str) -> dict[str, str]:
    """Return names from ``there=here``; without ``=`` `usual` makes the name here."""
    words = (word.partition("=") for word in text.split())
    return {there: here or usual(there) for there, _, here in words}


def type_of(name: Any) -> str:
    """Return the name of a type here.

    Raises
    ------
    ValueError
        There is none.
    """
    if name in _UNSET:
        return "NOT_SET"
    if name not in data_type.__members__:
        raise ValueError(f"the type {name!r:.40}")
    return str(name)


def shortest(value: float) -> float:
    """Return the shortest decimal number that is a float32: 1e-05, and not 9.999999747378752e-06."""
    return float(str(np.float32(value)))


class Operations:
    """Operations and tensors that are being read, as :mod:`portadnn.graph.files` has them, and what is lacking."""

    def __init__(self) -> None:
        self.tensors: dict[int, dict[str, Any]] = {}
        self.operations: list[dict[str, Any]] = []
        self.lacking: list[str] = []

    def new(self, name: str, **said: Any) -> int:
        """Return the uid of a new tensor, by default a virtual one of which nothing is known."""
        uid = max(self.tensors, default=0) + 1
        usual = {"type": "NOT_SET", "dims": [], "strides": [], "virtual": True}
        self.tensors[uid] = {"uid": uid, "name": name, **usual, **said}
        return uid

    def constant(self, name: str, value: float) -> int:
        """Return the uid of a new scalar in FLOAT."""
        said = {"type": "FLOAT", "dims": [1], "strides": [1], "virtual": False}
        return self.new(name, **said, by_value=True, value=value, constant=True)

    def add(self, kind: str, name: str, compute: str, inputs: Any, outputs: Any, attributes: Any) -> None:
        """Add an operation; what it must return and the file leaves out becomes virtual."""
        label = name or str(len(self.operations))
        for port in KINDS[kind].outputs:
            if not port.optional and port.name not in outputs:
                outputs[port.name] = self.new(f"{label}::{port.name}")
        said = {key: value for key, value in attributes.items() if value not in _UNSET and known(KINDS[kind], key)}
        self.operations.append(
            {"kind": kind, "name": name, "compute": compute, "inputs": inputs, "outputs": outputs, "attributes": said}
        )

    def result(self, name: str, **types: str) -> dict[str, Any]:
        """Return everything.

        Raises
        ------
        cudnnGraphNotSupportedError
            Something has no counterpart (PG-FILE-003).
        """
        if self.lacking:
            raise lacks("PG-FILE-003", "data", "nodes, types and attributes that exist here", self.lacking)
        tensors = list(self.tensors.values())
        return {"name": name, **types, "tensors": tensors, "operations": self.operations}


def lacks(id: str, argument: str, expected: str, lacking: list[str]) -> GraphError:
    """Return the error that lists what has no counterpart."""
    return fail(id, argument=argument, expected=expected, got="; ".join(lacking))


def known(kind: Kind, name: str) -> bool:
    """Tell whether a kind has an attribute."""
    return any(attribute.name == name for attribute in kind.attributes)


def is_usual(kind: str, name: str, value: Any) -> bool:
    """Tell whether an attribute that was written has its default."""
    usual = next(one.default for one in KINDS[kind].attributes if one.name == name)
    usual = getattr(usual, "name", list(usual) if isinstance(usual, tuple) else usual)
    return bool(value == usual)
