"""Scale and shift of norms by given statistics, kept until what they follow from changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx


class Affine:
    """Scale or shift of a norm by given statistics, ``y = x * scale + shift``; computed again when these change."""

    def __init__(self, node: fx.Node, which: int, place: Mapping[fx.Node, int], rank: int) -> None:
        _, weight, bias, mean, variance, *rest = node.args
        self.places = [None if one is None else place[one] for one in (weight, bias, mean, variance)]
        ours = node.target is torch.ops.portadnn.batch_norm_inference.default
        self._epsilon = float(rest[0 if ours else 1])
        self._which = which
        self._shape = (1, -1, *[1] * (rank - 2))
        self._kept = Kept()

    def __call__(self, outside: Sequence[torch.Tensor]) -> torch.Tensor:
        tensors = [None if i is None else outside[i] for i in self.places]
        return self._kept.get(tensors, lambda: self._compute(*tensors))

    def _compute(self, weight: Any, bias: Any, mean: Any, variance: Any) -> torch.Tensor:
        kind = torch.promote_types(mean.dtype, torch.float32)
        scale = (variance.to(kind) + self._epsilon).rsqrt()
        if weight is not None:
            scale = scale * weight.to(kind)
        if self._which:
            scale = -mean.to(kind) * scale
            if bias is not None:
                scale = scale + bias.to(kind)
        return scale.detach().view(self._shape)


class Kept:
    """A value that follows from tensors, made again when one of them is another or was changed.

    PyTorch counts the changes of a tensor, but for those through ``.data``. The tensors are kept alive, so that none
    takes another's place.
    """

    def __init__(self) -> None:
        self._value: Any = None
        self._seen: list[tuple[torch.Tensor | None, int, int]] | None = None

    def get(self, tensors: Sequence[torch.Tensor | None], make: Callable[[], Any]) -> Any:
        """Return the value, from `make` where it has to be made."""
        if any(t is not None and t.is_inference() for t in tensors):  # whose changes nobody counts
            return make()
        if self._seen is None or not all(
            t is one and (t is None or (t.data_ptr() == place and t._version == version))
            for t, (one, place, version) in zip(tensors, self._seen, strict=True)
        ):
            self._seen = [(t, 0, 0) if t is None else (t, t.data_ptr(), t._version) for t in tensors]
            self._value = make()
        return self._value
