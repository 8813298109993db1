"""What calls have become before: of calls that are alike in everything but their memory one is translated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...problem import ALIGNMENT, Problem
from .computation import Apart, Tensor, is_tensor
from .watching import Made

MOST = 1 << 13  # calls that are remembered
_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.nn.Parameter)})
_ELSEWHERE = -1


@dataclass(frozen=True, slots=True)
class Placed:
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


@dataclass(frozen=True, slots=True)
class Posed:
    """A problem of a call, the names and values of its numbers, and where its tensors lie."""

    problem: Problem
    names: tuple[str, ...]
    numbers: tuple[float, ...]
    operands: tuple[Placed, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """What calls become that are alike in everything but their memory."""

    function: str
    kind: str
    device: str
    why_not: str
    problems: tuple[Posed, ...]

    def repeats(self, leaves: int) -> bool:
        """Tell whether all memory is that of the call's own tensors, of which there are so many, or of no call."""
        operands = [operand for posed in self.problems for operand in posed.operands]
        return all(operand.leaf < leaves and operand.key is None for operand in operands)


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
        problems.append(Posed(computation.problem, tuple(numbers), tuple(numbers.values()), tuple(operands)))
    return Pattern(call.function, call.kind, device or "cpu", call.why_not, tuple(problems)), found


def _memory(tensor: Tensor) -> tuple[int, int]:
    return tensor.untyped_storage()._cdata, tensor.data_ptr()


def signature(args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> tuple[Any, list[Tensor]] | None:
    """Return all that a translation may depend on, and the tensors; None where that cannot be told.

    That is type, dims, strides, alignment and device of tensors, which of them begin at one address, all other values,
    and what PyTorch lets GPUs round.
    """
    leaves: list[Tensor] = []
    words: list[Any] = []
    try:
        _append((*args, out), leaves, words)
        if kwargs:
            words += kwargs
            _append(tuple(kwargs.values()), leaves, words)
        addresses = [leaf.data_ptr() for leaf in leaves]
        hash(key := tuple(words))
    except (RuntimeError, NotImplementedError, TypeError):  # sparse tensors, and others of other libraries
        return None
    if len(set(addresses)) != len(addresses):
        key = (*key, *map(addresses.index, addresses))
    if any(leaf.is_cuda for leaf in leaves):
        backend = torch.backends.cudnn
        key = (*key, backend.enabled, backend.allow_tf32)
    return key, leaves


def _append(values: Sequence[Any], leaves: list[Tensor], words: list[Any]) -> None:
    """Append the tensors among some values, and what tells them.

    Raises
    ------
    TypeError
        A tensor is of a class of its own, of which nobody knows where its numbers lie.
    """
    words.append(len(values))
    for value in values:
        if type(value) in _PLAIN:
            leaves.append(value)
            words += (value.dtype, value.device, value.shape, value.stride(), value.data_ptr() % ALIGNMENT == 0)
        elif isinstance(value, (list, tuple)):
            _append(value, leaves, words)
        elif is_tensor(value):
            raise TypeError(type(value).__name__)
        else:
            words.append(value)
