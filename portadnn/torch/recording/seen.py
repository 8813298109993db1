"""What calls have become before: of calls that are alike in everything but their memory one is translated."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from ...graph.operation_graph import OperationGraph
from ...problem import ALIGNMENT, Problem
from ...recording.encode import spec_json
from .computation import Apart, Tensor, is_tensor
from .watching import Call, Made

MOST = 1 << 13  # calls that are remembered
_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.nn.Parameter)})
_ELSEWHERE = -1


class Placed(NamedTuple):
    """Where a tensor of a problem lies.

    Attributes
    ----------
    leaf : int
        Which of the call's tensors it is a view of, from its first number on; -1 of one that the call does not have.
    size : int
        Bytes of such a one.
    key : object
        What has the same key is the same memory; None where each call has its own.
    filled : bool
        Whether its contents come from elsewhere.
    """

    leaf: int
    written: bool
    size: int = 0
    key: Any = None
    filled: bool = False


class Posed(NamedTuple):
    """A problem of a call, the names and values of its numbers, where its tensors lie, and what forms say of it."""

    problem: Problem
    names: tuple[str, ...]
    numbers: tuple[float, ...]
    operands: tuple[Placed, ...]
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """What calls become that are alike in everything but their memory."""

    function: str
    kind: str
    device: str
    in_place: bool
    why_not: str
    problems: tuple[Posed, ...]
    touched: tuple[tuple[int, int, bool], ...]  # which problem has a view of which of the call's tensors, and writes it

    def repeats(self, leaves: int) -> bool:
        """Tell whether all memory is that of the call's own tensors, of which there are so many, or of no call."""
        operands = [operand for posed in self.problems for operand in posed.operands]
        return all(operand.leaf < leaves and operand.key is None for operand in operands)


class Kept(NamedTuple):
    """All that is kept of a call until its lines are written.

    Attributes
    ----------
    addresses : sequence of int
        Where its tensors begin.
    fresh : sequence of (int, int, int)
        Memory whose contents come from elsewhere: which problem reads it, where it begins, and its bytes.
    thread : int
        The system's number of the thread.
    """

    call: Call
    pattern: Pattern
    addresses: Sequence[int]
    fresh: Sequence[tuple[int, int, int]]
    thread: int


NOTHING = Pattern("", "", "cpu", False, "", (), ())  # of calls that are none of cuDNN's
_PATTERNS: dict[tuple[Any, ...], Pattern] = {}


def pattern_of(call: Made, leaves: Sequence[Tensor]) -> tuple[Pattern, list[Tensor]]:
    """Return what a call became, and its tensors: `leaves`, and behind them those that are not among them."""
    found = list(leaves)
    places = {_memory(leaf): index for index, leaf in reversed(tuple(enumerate(found)))}
    problems, device = [], ""
    for computation in call.computations:
        operands = []
        for name, operand in computation.tensors.items():
            written = name in computation.problem.written
            if isinstance(operand, Apart):
                size = operand.spec.span * operand.spec.dtype.itemsize
                filled = operand.make is not None and not written
                operands.append(Placed(_ELSEWHERE, written, size, operand.key, filled))
                continue
            device = device or str(operand.device)
            memory = _memory(operand)
            if memory not in places:
                places[memory] = len(found)
                found.append(operand)
            operands.append(Placed(places[memory], written))
        numbers = computation.numbers
        text = _told(computation.problem, tuple(numbers))
        problems.append(Posed(computation.problem, tuple(numbers), tuple(numbers.values()), tuple(operands), text))
    head = (call.function, call.kind, device or "cpu", call.in_place, call.why_not)
    touched = tuple(
        (number, operand.leaf, operand.written)
        for number, posed in enumerate(problems)
        for operand in posed.operands
        if operand.leaf >= 0
    )
    return Pattern(*head, tuple(problems), touched), found


@functools.lru_cache(4096)
def _told(problem: Problem, names: tuple[str, ...]) -> str:
    """Return what a form says of a problem, as text of JSON without the braces around."""
    pairs = zip(problem.names, problem.tensors, strict=True)
    facts: dict[str, Any] = {"tensors": {name: spec_json(spec) for name, spec in pairs}}
    if not isinstance(problem, OperationGraph):
        facts["problem"] = str(problem)
    return json.dumps({**facts, "scalars": list(names)})[1:-1]


def _memory(tensor: Tensor) -> tuple[int, int]:
    return tensor.untyped_storage()._cdata, tensor.data_ptr()


class Told(NamedTuple):
    """All that a call's translation may depend on, its tensors, where they begin, and what such a call has become."""

    key: tuple[Any, ...]
    leaves: list[Tensor]
    addresses: list[int]
    pattern: Pattern | None


def look_up(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], out: Any) -> Told | None:
    """Return all that a translation may depend on; None where that cannot be told.

    That is type, dims, strides and alignment of tensors, the device of the first, which of them begin at one address,
    all other values, and what PyTorch lets GPUs round.
    """
    leaves: list[Tensor] = []
    addresses: list[int] = []
    words: list[Any] = [func]
    try:
        _append((args, out, *kwargs.items()) if kwargs else (args, out), leaves, addresses, words)
        if len(set(addresses)) != len(addresses):
            words += map(addresses.index, addresses)
        if leaves:
            words.append(leaves[0].device)
            if leaves[0].is_cuda:
                backend = torch.backends.cudnn
                words += (backend.enabled, backend.allow_tf32)
        key = tuple(words)
        return Told(key, leaves, addresses, _PATTERNS.get(key))
    except (RuntimeError, NotImplementedError, TypeError):  # sparse tensors, and others of other libraries
        return None


def remember(key: tuple[Any, ...], pattern: Pattern) -> None:
    """Keep what a call has become for the next of its kind."""
    if len(_PATTERNS) >= MOST:
        _PATTERNS.clear()
    _PATTERNS[key] = pattern


def _append(values: Any, leaves: list[Tensor], addresses: list[int], words: list[Any]) -> None:
    """Append the tensors among some values, where they begin, and what tells them.

    Raises
    ------
    TypeError
        A tensor is of a class of its own, of which nobody knows where its numbers lie.
    """
    words.append(len(values))
    for value in values:
        kind = type(value)
        if kind in _PLAIN:
            address = value.data_ptr()
            leaves.append(value)
            addresses.append(address)
            words += (value.dtype, value.shape, value.stride(), address % ALIGNMENT == 0)
        elif kind is tuple or kind is list:
            _append(value, leaves, addresses, words)
        elif is_tensor(value):
            raise TypeError(kind.__name__)
        else:
            words.append(value)
