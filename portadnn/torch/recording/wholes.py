"""Functions that are seen as a whole, since PyTorch makes them of smaller operators: their problems, both ways."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import torch

from . import norms, recurrent
from .computation import Computation, LeftOut, Tensor, is_tensor

OVERLOADS = (*(f"{name}.{form}" for name in recurrent.MODES for form in ("input", "data")), "rms_norm")
KINDS = {**dict.fromkeys(recurrent.MODES, "rnn"), "rms_norm": "norm"}


class Whole(Protocol):
    """A call of such a function, which its first result's gradient hook holds: it holds no result that has one."""

    def forward(self, compared: bool) -> Sequence[Computation]:
        """Return its problems."""

    def backward(self, dy: Tensor, compared: bool) -> Sequence[Computation]:
        """Return those of its gradients."""


class _Recurrent:
    def __init__(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], out: Any, module: str) -> None:
        self._name = func._schema.name.partition("::")[2]
        self._given = func, args, kwargs, tuple(one.detach() for one in out)
        shape = tuple(args[0].shape) if args and is_tensor(args[0]) else ()
        self._reserve = ("reserve", self._name, shape, module) if out[0].requires_grad else None
        self._call: recurrent.Recurrent | None = None

    def forward(self, compared: bool) -> Sequence[Computation]:
        func, args, kwargs, out = self._given
        if kwargs:
            raise LeftOut("a recurrent network with arguments by name")
        self._call = recurrent.recurrent(self._name, func, args, out)
        return recurrent.forward(self._call, self._reserve, compared)

    def backward(self, dy: Tensor, compared: bool) -> Sequence[Computation]:
        return [] if self._call is None else recurrent.backward(self._call, self._reserve, dy, compared)


class _RMSNorm:
    def __init__(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], out: Any, module: str) -> None:
        names = ("input", "normalized_shape", "weight", "eps")
        given = {**dict.fromkeys(names), **dict(zip(names, args, strict=False)), **kwargs}
        self._y, self._x = out.detach(), given["input"].detach()
        self._weight = None if given["weight"] is None else given["weight"].detach()
        self._shape = given["normalized_shape"]
        epsilon = given["eps"]
        self._epsilon = torch.finfo(self._x.dtype).eps if epsilon is None else float(epsilon)

    def forward(self, compared: bool) -> Sequence[Computation]:
        return norms.rms_norm(self._x, len(self._shape), self._weight, self._epsilon, self._y)

    def backward(self, dy: Tensor, compared: bool) -> Sequence[Computation]:
        made = functools.lru_cache(None)(lambda: self._gradients(dy))
        return norms.rms_norm_backward(self._x, dy, len(self._shape), self._weight, self._epsilon, made)

    def _gradients(self, dy: Tensor) -> tuple[Tensor, ...]:
        leaves = [one.detach().requires_grad_() for one in (self._x, self._weight) if one is not None]
        with torch.enable_grad():
            y = torch.nn.functional.rms_norm(leaves[0], self._shape, *leaves[1:], eps=self._epsilon)
        return tuple(torch.autograd.grad(y, leaves, dy))


FUNCTIONS: dict[str, Callable[..., Whole]] = {**dict.fromkeys(recurrent.MODES, _Recurrent), "rms_norm": _RMSNorm}
