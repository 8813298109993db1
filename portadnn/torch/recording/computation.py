"""What a call of PyTorch computes, as problems: the tensors of each, where they lie, and the run-time numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import torch

from ...enums import DataType
from ...errors import DnnError
from ...problem import ALIGNMENT, Problem, TensorSpec

Tensor: TypeAlias = Any  # torch.Tensor: type checkers are not given torch

_TYPES = {
    torch.float32: DataType.FLOAT,
    torch.float64: DataType.DOUBLE,
    torch.float16: DataType.HALF,
    torch.bfloat16: DataType.BFLOAT16,
}


class LeftOut(Exception):
    """A call that no problem stands for; the text says why."""


@dataclass(frozen=True)
class Apart:
    """A tensor of a problem that the call has in another form, or not at all: a copy, a conversion, scratch memory.

    Attributes
    ----------
    make : callable or None
        Returns its numbers, where they can be told.
    key : object
        What has the same key in several calls is the same memory; None where each call has its own.
    rounded : bool
        Whether the call has it in another type: a result of that type is rounded more than the problem's.
    added : callable or None
        Returns what the call adds to a result, which `make` takes off again: it was rounded with that.
    """

    spec: TensorSpec
    make: Callable[[], Tensor] | None = None
    key: Any = None
    rounded: bool = False
    added: Callable[[], Tensor] | None = None


Operand: TypeAlias = Any  # a tensor, or what is apart


def is_tensor(value: Any) -> bool:
    """Tell whether a value is PyTorch's tensor."""
    return isinstance(value, torch.Tensor)


@dataclass(frozen=True)
class Computation:
    """One problem of a call.

    Attributes
    ----------
    problem : Problem
        Valid; an ``OperationGraph`` where only graphs say it.
    tensors : dict of str to Tensor or Apart
        In the order of ``problem.names``.
    numbers : dict of str to float
        Run-time numbers by name.
    unchecked : frozenset of str
        Outputs that PyTorch does not have, or has otherwise: nothing to compare with.
    """

    problem: Problem
    tensors: Mapping[str, Operand]
    numbers: Mapping[str, float]
    unchecked: frozenset[str] = field(default=frozenset())


def data_type(tensor: Tensor) -> DataType:
    """Return the type of a tensor's numbers.

    Raises
    ------
    LeftOut
        portadnn has no such type.
    """
    found = _TYPES.get(tensor.dtype)
    if found is None:
        raise LeftOut(f"numbers of {str(tensor.dtype).removeprefix('torch.')}")
    return found


def spec_of(operand: Operand) -> TensorSpec:
    """Return type, dims, strides and alignment.

    Raises
    ------
    LeftOut
        The tensor is sparse, or of a type that portadnn does not have.
    """
    if isinstance(operand, Apart):
        return operand.spec
    if operand.layout is not torch.strided:
        raise LeftOut(f"a tensor of layout {str(operand.layout).removeprefix('torch.')}")
    dtype = data_type(operand)
    alignment = ALIGNMENT if operand.data_ptr() % ALIGNMENT == 0 else dtype.itemsize
    return TensorSpec(dtype, tuple(operand.shape), tuple(operand.stride()), alignment)


@functools.lru_cache(8192)
def _problem(kind: type[Problem], specs: tuple[tuple[str, TensorSpec], ...], params: tuple[Any, ...]) -> Problem:
    problem = kind(**dict(specs), **dict(params))
    problem.validate()
    return problem


def pose(
    kind: type[Problem],
    tensors: Mapping[str, Operand | None],
    numbers: Mapping[str, float] | None = None,
    *,
    unchecked: frozenset[str] = frozenset(),
    **params: Any,
) -> Computation:
    """Return the problem of some tensors and parameters; tensors that are None are absent.

    Raises
    ------
    LeftOut
        portadnn refuses it; the reason is portadnn's.
    """
    given = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    specs = tuple((name, spec_of(tensor)) for name, tensor in given.items())
    try:
        problem = _problem(cast(Any, kind), specs, tuple(params.items()))
    except DnnError as error:
        raise LeftOut(str(error)) from None
    ordered = {name: given[name] for name in problem.names}
    return Computation(problem, ordered, {**problem.scalars, **(numbers or {})}, unchecked)


def scratch(dtype: DataType, dims: tuple[int, ...], make: Callable[[], Tensor] | None = None) -> Apart:
    """Return a packed tensor that the call does not have itself."""
    return Apart(TensorSpec.packed(dtype, dims), make)


def converted(tensor: Tensor, dtype: DataType) -> Operand:
    """Return a tensor as a problem of `dtype` takes it: itself, or a packed copy of that type."""
    if data_type(tensor) is dtype:
        return tensor
    wanted = next(known for known, one in _TYPES.items() if one is dtype)
    spec = TensorSpec.packed(dtype, tuple(tensor.shape))
    return Apart(spec, lambda: tensor.to(wanted), rounded=True)


def packed(tensor: Tensor) -> Operand:
    """Return a tensor without gaps: itself, or a copy."""
    if tensor.is_contiguous():
        return tensor
    return scratch(data_type(tensor), tuple(tensor.shape), tensor.contiguous)


def images(tensor: Tensor, spatial: int = 2) -> Tensor:
    """Return a view of a tensor with at least `spatial` dims behind (n, c): dims of 1 are put before those it has."""
    missing = 2 + spatial - tensor.dim()
    for _ in range(missing):
        tensor = tensor.unsqueeze(2)
    return tensor


# translations

Arguments: TypeAlias = Mapping[str, Any]
Translation: TypeAlias = Callable[[Arguments, Any, bool], "list[Computation]"]


@dataclass(frozen=True)
class Entry:
    """How calls of an aten operator become problems; `kind` is what they are counted as."""

    kind: str
    translate: Translation


TABLE: dict[str, Entry] = {}


def aten(kind: str, *names: str) -> Callable[[Translation], Translation]:
    """Register a translation for aten operators, named as ``"convolution.default"``; without overload all of them.

    A translation gets the arguments by the schema's names, the result, and whether its outputs are to be compared with
    PyTorch's: then what one call computes is one problem where possible, and what it has changed is left out.
    """

    def register(function: Translation) -> Translation:
        for name in names:
            TABLE[name] = Entry(kind, function)
        return function

    return register


def by_name(schema: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return all arguments of a call by the names of its schema."""
    found = {}
    for place, argument in enumerate(schema.arguments):
        if place < len(args):
            found[argument.name] = args[place]
        elif argument.name in kwargs:
            found[argument.name] = kwargs[argument.name]
        else:
            found[argument.name] = argument.default_value
    return found


def tuple_of(value: Any, count: int) -> tuple[int, ...]:
    """Return a size for each of `count` dims; one stands for all."""
    values = (value,) if isinstance(value, int) else tuple(value)
    return values * count if len(values) == 1 else values
