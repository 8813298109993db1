"""Places in a program that make the same call again and again: found by one comparison of their tensors.

PyTorch's compiler compares the layouts of tensors with those of an earlier call in C++, in a tenth of the time that
Python takes to read them. That is none of PyTorch's public functions: where it is not as known, calls are found by
their layouts (:func:`portadnn.torch.ops.replay.layouts`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .watching import watched

_TRIES = 64  # layouts that a place is tried with: one whose tensors always change has no use for it
_MISSES = 3  # in a row, before the next layouts are tried: a shared place may see others now and then


class Place:
    """What a place in a program did last.

    Attributes
    ----------
    call
        What makes the call of other tensors with these layouts; None before there is one.
    needs
        Whether one of the tensors required a gradient.
    """

    __slots__ = ("_check", "_misses", "_numbers", "_offsets", "_tries", "call", "needs")

    def __init__(self) -> None:
        self._check: Callable[..., bool] | None = None
        self._numbers: Any = None
        self._offsets: list[int] = []
        self._tries, self._misses = _TRIES, 0
        self.call: Any = None
        self.needs = False

    def __reduce__(self) -> Any:
        """Make copies and pickles empty."""
        return Place, ()

    def find(self, numbers: Any, tensors: Sequence[Any], profiled: bool = False) -> Any:
        """Return what makes the call, if these are the numbers and layouts of the last one; otherwise None."""
        check = self._check
        if check is None or numbers != self._numbers or watched(profiled):
            return None
        given = [t for t in tensors if t is not None]
        if len(given) != len(self._offsets) or not check(*given):
            return None
        if [t.data_ptr() & 15 for t in given] != self._offsets:
            return None
        self._misses = 0
        return self.call

    def keep(self, numbers: Any, tensors: Sequence[Any], call: Any, needs: bool) -> None:
        """Note a call that was found by its layouts, and keep it where the last one does not come any more."""
        self._misses += 1
        if self._tries <= 0 or (self._check is not None and self._misses < _MISSES):
            return
        self._tries -= 1
        self._misses = 0
        given = [t for t in tensors if t is not None]
        check = _comparison(given)
        self._check = None
        self._offsets = [t.data_ptr() & 15 for t in given]
        self._numbers, self.call, self.needs = numbers, call, needs
        self._check = check


def _comparison(tensors: Sequence[torch.Tensor]) -> Callable[..., bool] | None:
    """Return what tells whether tensors have these types, devices, dims and strides; None where nothing does."""
    return _compared(tensors) if _works() else None


def _compared(tensors: Sequence[torch.Tensor]) -> Callable[..., bool] | None:
    try:
        from torch._C._dynamo.guards import TensorGuards

        sizes, strides = [list(t.shape) for t in tensors], [list(t.stride()) for t in tensors]
        check = TensorGuards(*tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides).check
        return check if check(*tensors) else None
    except Exception:  # another version of PyTorch
        return None


@functools.cache
def _works() -> bool:
    """Tell whether the comparison tells apart what it has to."""
    x, w = torch.zeros(2, 3), torch.nn.Parameter(torch.zeros(4))
    check = _compared([x, w])
    if check is None or not check(torch.ones(2, 3), torch.nn.Parameter(torch.ones(4))):
        return False
    others = [torch.zeros(3, 2).t(), torch.zeros(1, 3), torch.zeros(2, 3, dtype=torch.float64), torch.zeros(6)]
    others += [torch.zeros(2, 3, requires_grad=True), torch.zeros(2, 3, device="meta"), torch._neg_view(x)]
    return not any(check(other, w) for other in others) and not check(x, torch.zeros(4))
