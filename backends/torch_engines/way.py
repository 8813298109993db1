"""What a family's module says of an operation: how PyTorch computes it, and what PyTorch cannot say."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from portadnn.enums import DataType
from portadnn.errors import NotSupported
from portadnn.problem import Problem

from ..base import DeviceInfo
from ..libraries import imported

Tensors = Mapping[str, Any]
Numbers = Mapping[str, float]
Bound = Callable[[], Mapping[str, Any]]
Bind = Callable[[Any, Any, Numbers, Tensors], Bound]

CPU, GPU = "cpu", "gpu"
SHORT = (DataType.HALF, DataType.BFLOAT16)


@functools.cache
def torch_module() -> Any:
    """Return torch.

    Raises
    ------
    ImportError
        It is missing or broken.
    """
    return imported("torch")


def nothing_against(problem: Any, info: DeviceInfo) -> str | None:
    """Take every problem."""
    return None


def every(*kinds: str) -> frozenset[tuple[str, DataType]]:
    """Return both types of 16 bits on these kinds of devices, for :attr:`Way.short`."""
    return frozenset((kind, dtype) for kind in kinds for dtype in SHORT)


@dataclass(frozen=True)
class Way:
    """How PyTorch computes problems of one class.

    Attributes
    ----------
    bind : callable
        ``bind(torch, problem, numbers, tensors)`` does what has to be done once and returns what computes: a function
        without arguments that returns the outputs by name, before they are blended. Tensors are torch's, by name, in
        their logical dims.
    why_not : callable
        ``why_not(problem, info)`` returns what PyTorch cannot say of the problem on such a device, if anything.
    short : frozenset of (kind, DataType)
        Kinds of devices and types of 16 bits where PyTorch's own kernel sums in float32 and rounds once. Elsewhere, and
        where the result is blended, the same numbers are computed in float32.
    blends : dict
        Factors of an output and of what it held before, by the names of run-time numbers; "" stands for 1. Outputs
        that are not listed replace what there was.
    """

    bind: Bind
    why_not: Callable[[Any, DeviceInfo], str | None] = nothing_against
    short: frozenset[tuple[str, DataType]] = frozenset()
    blends: Mapping[str, tuple[str, str]] = field(default_factory=dict)


Ways = dict[type[Problem], Way]


def lacking(reason: str) -> Way:
    """Return what stands for an operation that PyTorch lacks."""

    def bind(torch: Any, problem: Any, numbers: Numbers, tensors: Tensors) -> Bound:
        raise NotSupported(reason)

    return Way(bind, lambda problem, info: reason)


def wide(torch: Any, tensor: Any) -> Any:
    """Return a tensor of 16 bits in float32, others as they are: each of several operators would round."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def rounded(torch: Any, number: float, dtype: Any) -> float:
    """Return a number as `dtype` holds it, infinite beyond its range: PyTorch's operators refuse such a number."""
    return float(torch.tensor(number, dtype=torch.float64).to(dtype))


def blended(output: str) -> dict[str, tuple[str, str]]:
    """Return the usual blending of an operation with one output."""
    return {output: ("alpha", "beta")}


def gradient(torch: Any, function: Callable[..., Any], inputs: tuple[Any, ...], dy: Any) -> Callable[[], Any]:
    """Return what computes autograd's gradients of ``function(*inputs)`` applied to dy; the graph is made here."""
    leaves = [tensor.detach().requires_grad_(True) for tensor in inputs]
    with torch.enable_grad():
        y = function(*leaves)
    return lambda: torch.autograd.grad(y, leaves, dy, retain_graph=True)
