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

    def _compute(self, *statistics: Any) -> torch.Tensor:
        return scale_and_shift(*statistics, self._epsilon)[self._which].view(self._shape)


def scale_and_shift(
    weight: Any, bias: Any, mean: Any, variance: Any, epsilon: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return scale and shift (c,) of a norm by given statistics, in float32 at least."""
    kind = torch.promote_types(mean.dtype, torch.float32)
    scale = (variance.to(kind) + epsilon).rsqrt()
    if weight is not None:
        scale = scale * weight.to(kind)
    shift = -mean.to(kind) * scale
    if bias is not None:
        shift = shift + bias.to(kind)
    return scale.detach(), shift.detach()


def folded(w: torch.Tensor, bias: Any, scale: Any, shift: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return filters (k, ...) and bias (1, k, 1, ...) of a convolution with the scale and shift (k,) behind it.

    Without these (None) the filters are as they are.
    """
    offset = (w.new_zeros(w.shape[0]) if bias is None else bias).detach()
    if scale is not None:
        w = w.detach() * scale.view(-1, *[1] * (w.dim() - 1)).to(w.dtype)
        offset = (offset * scale + shift).to(w.dtype)
    return w, offset.view(1, -1, *[1] * (w.dim() - 2))


class Kept:
    """A value that follows from tensors, made again when one of them is another or was changed.

    PyTorch counts the changes of a tensor, but for those through ``.data``. The tensors are kept alive, so that none
    takes another's place.
    """

    def __init__(self) -> None:
        self._kept: tuple[Any, list[tuple[torch.Tensor | None, int, int]]] | None = None

    def __reduce__(self) -> Any:
        """Make copies and pickles empty."""
        return Kept, ()

    def get(self, tensors: Sequence[torch.Tensor | None], make: Callable[[], Any]) -> Any:
        """Return the value, from `make` where it has to be made."""
        if any(t is not None and t.is_inference() for t in tensors):  # whose changes nobody counts
            return make()
        kept = self._kept  # read once: another thread may replace it
        if kept is not None and all(
            t is one and (t is None or (t.data_ptr() == place and t._version == version))
            for t, (one, place, version) in zip(tensors, kept[1], strict=True)
        ):
            return kept[0]
        seen = [(t, 0, 0) if t is None else (t, t.data_ptr(), t._version) for t in tensors]
        value = make()
        self._kept = (value, seen)
        return value
