"""Layers that update running statistics in the launches that compute them: calls for eager code alone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from .library import Eager
from .places import Place
from .replay import Full, Known, Repeating, layouts

Maybe: TypeAlias = "torch.Tensor | None"
_MOST_CALLS = 8192
_MOST_MOMENTA = 16
_MOMENTA: set[float] = set()  # calls with these are kept; a mean over all batches has a new one in every step


class Call:
    """A call with known layouts.

    Attributes
    ----------
    backward : Place
        The call of its gradients.
    kinds : tuple
        The types of the norm's weight and bias; None where there is none.
    numbers : tuple
        The call's arguments beside its tensors.
    """

    __slots__ = ("_call", "_repeating", "backward", "kinds", "numbers")

    def __init__(self, repeating: Repeating, tensors: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
        self.numbers = numbers
        self.kinds = tuple(None if p is None else p.dtype for p in tensors[-4:-2])
        self.backward = Place()
        self._repeating = repeating
        self._call: Full | None = None

    def __call__(self, tensors: tuple[Any, ...]) -> tuple[torch.Tensor, ...]:
        call = self._call
        if call is None or (type(call) is Known and call.handle._device is None):
            key, _ = layouts(self.numbers, tensors, True) or (None, False)
            outputs = self._repeating.find(key, self.numbers)(tensors)
            self._call = self._repeating.known(key)
            return outputs
        return call(tensors)


class Updating:
    """A layer with a batch norm, whose tensors end with its weight, bias, running mean and running variance.

    Parameters
    ----------
    name
        Under which PyTorch's profiler shows it.
    kernel
        Takes the tensors and the numbers, of which the backend is the last.
    forward, backward
        As for ``torch.autograd.Function``; `forward` takes the tensors and their :class:`Call`.
    """

    def __init__(
        self, name: str, kernel: Callable[..., Any], forward: Callable[..., Any], backward: Callable[..., Any]
    ) -> None:
        self.apply = Eager(name, forward, backward)
        self._repeating = Repeating(kernel)
        self._calls: dict[Any, Call] = {}  # by layouts

    def known(self, tensors: tuple[Any, ...], numbers: tuple[Any, ...], place: Place | None) -> Call | None:
        """Return a call with known layouts, which `apply` takes behind its tensors; None for any other."""
        if torch.compiler.is_compiling():
            return None
        call = None if place is None else place.find(numbers, tensors, profiled=True)
        if call is None:
            found = layouts(numbers, tensors, profiled=True)
            call = None if found is None else self._calls.get(found[0])
            if call is not None and place is not None:
                place.keep(numbers, tensors, call, True)
        return call

    def new(self, tensors: tuple[Any, ...], numbers: tuple[Any, ...], momentum: Any) -> Call | None:
        """Return a new call where the launches can update the running statistics, or None."""
        if torch.compiler.is_compiling() or not _updates(tensors[0], *tensors[-2:], momentum):
            return None
        found = layouts(numbers, tensors, profiled=True)
        if found is None:
            return None
        while len(self._calls) >= _MOST_CALLS:
            self._calls.pop(next(iter(self._calls)), None)
        call = self._calls[found[0]] = Call(self._repeating, tensors, numbers)
        return call


def _updates(x: torch.Tensor, mean: Maybe, variance: Maybe, momentum: Any) -> bool:
    """Tell whether the launches can update the running statistics where they lie."""
    if mean is None or variance is None or type(momentum) is not float:
        return False
    if momentum not in _MOMENTA:
        if len(_MOMENTA) >= _MOST_MOMENTA:
            return False
        _MOMENTA.add(momentum)
    apart = mean.is_contiguous() and variance.is_contiguous() and mean is not variance
    return apart and x.device == mean.device == variance.device


def changed(mean: torch.Tensor, variance: torch.Tensor) -> None:
    """Let autograd, and whoever keeps what follows from running statistics, know that they change."""
    if _at_once():
        torch._C._increment_version((mean, variance))
    else:
        torch.autograd.graph.increment_version(mean)
        torch.autograd.graph.increment_version(variance)


@functools.cache
def _at_once() -> bool:
    """Tell whether PyTorch takes several tensors, which 2.4 does not."""
    try:
        torch._C._increment_version((torch.empty(0),))
    except (RuntimeError, TypeError):
        return False
    return True
