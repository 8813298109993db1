"""Errors of the Graph API: each has a stable id and names node, tensor, what came, what was expected, and the fix.

The classes follow cudnn-frontend's Python module (wrong graphs raise ValueError, what no engine takes raises
``cudnnGraphNotSupportedError``, a RuntimeError) and portadnn's own (:class:`~portadnn.BadParam`,
:class:`~portadnn.NotSupported`). Their ids are in :mod:`~portadnn.graph.rules`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ..errors import BadParam, DnnError, ExecutionFailed, NotSupported, written


class Explained(Protocol):
    """What :class:`~portadnn.graph.explain.Explanation` offers: each engine's answer to a graph."""

    def refusals(self) -> str:
        """Return the answers of engines that do not run it, as text."""

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""

    def to_json(self) -> str:
        """Return everything as JSON."""


class GraphError(DnnError):
    """Base of all errors of the Graph API.

    Attributes
    ----------
    id : str
        Of the rule that was broken, such as ``"PG-CONV-003"``.
    node, tensor : str or None
        The node and the tensor at fault, with what is known of them.
    expected, got : str or None
    fix : str
        What to write instead.
    reasons : tuple of GraphError
        Where several things were wrong, or every engine had a reason of its own.
    explanation : Explanation or None
        What each engine said, where none takes the graph: as :meth:`~portadnn.graph.pygraph.explain` returns it.
    """

    explanation: Explained | None = None

    def __init__(
        self,
        id: str,
        meaning: str,
        *,
        node: str | None = None,
        tensor: str | None = None,
        argument: str | None = None,
        expected: str | None = None,
        got: Any = None,
        fix: str = "",
        reasons: Sequence[GraphError] = (),
    ) -> None:
        super().__init__(meaning, argument=argument, expected=expected, got=got)
        self.id = id
        self.node = node
        self.tensor = tensor
        self.fix = fix
        self.reasons = tuple(reasons)

    def __str__(self) -> str:
        text = f"[{self.id}] "
        for place in (self.node, self.tensor, self.argument):
            text += f"{place}: " if place else ""
        text += self.message
        if self.expected is not None:
            text += f"; expected {self.expected}"
            if self.got is not None:
                text += f", got {written(str, self.got)}"
        elif self.got is not None:
            text += f"; got {written(str, self.got)}"
        if self.fix:
            text += f"; fix: {self.fix}"
        if self.explanation is not None:
            text += "\n" + self.explanation.refusals()
        else:
            text += "".join(f"\n  {line}" for line in lines_of(self.reasons))
        return text if self.call is None else f"{self.call}: {text}"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data, for JSON."""
        words = {name: getattr(self, name) for name in ("id", "message", "node", "tensor", "argument", "expected")}
        got = None if self.got is None else written(str, self.got)
        facts = {**words, "got": got, "fix": self.fix, "reasons": [reason.as_dict() for reason in self.reasons]}
        return facts if self.explanation is None else {**facts, "explanation": self.explanation.as_dict()}


def lines_of(reasons: Sequence[GraphError]) -> list[str]:
    """Return a line for each reason; those that differ by node and tensor alone share the line of the first."""
    alike: dict[tuple[str, ...], list[GraphError]] = {}
    for reason in reasons:
        words = (reason.id, reason.message, reason.argument, reason.expected, reason.got, reason.fix)
        alike.setdefault(tuple(map(str, words)), []).append(reason)
    return [f"{first}{_others(others)}" for first, *others in alike.values()]


def _others(reasons: Sequence[GraphError]) -> str:
    if not reasons:
        return ""
    places = [reason.node or reason.tensor or "" for reason in reasons]
    more = f" and {len(places) - 2} more" if len(places) > 2 else ""
    return f" (the same for {', '.join(places[:2])}{more})"


class GraphValidationError(GraphError, BadParam):
    """A graph, a tensor or a call that is wrong whatever the engine."""


class AttributeNotSet(GraphValidationError):
    """Something that is needed was left out."""


class ShapeDeductionFailed(GraphValidationError):
    """Dims that do not fit, or that do not follow."""


class InvalidTensorName(GraphValidationError):
    """A name or a uid that is taken."""


class InvalidVariantPack(GraphValidationError):
    """Buffers that are missing, too short or of another type."""


class InvalidValue(GraphValidationError, RuntimeError):
    """A value that cannot be; also a RuntimeError, as cudnn-frontend has it."""


class GraphCheckFailed(GraphError, ExecutionFailed):
    """A result that is farther from its definition than rounding explains; see ``execute(..., check="reference")``."""


class cudnnGraphNotSupportedError(GraphError, NotSupported):
    """A valid graph that no engine takes; ``reasons`` says why, engine by engine. Also a RuntimeError."""
