"""Regions that are one fused convolution: a norm's scale goes into the filters, its shift into the bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import fx

import portadnn as dnn

from .affine import Affine, Kept, folded
from .ops.convolution import setting
from .ops.handles import handle_for
from .ops.repeat import repeated
from .regions import Found, value_of

_ACTIVATIONS = {"relu": "relu", "sigmoid": "sigmoid", "tanh": "tanh", "swish": "swish"}


class FoldedConvolution:
    """``y = activation(conv(x, w * scale) + z + bias)`` in one call, for float32 and float64 in the host's memory.

    There the engines of convolutions are up to 20 times as fast as the graphs' (ResNet-50's 512 channels of 7x7).
    Filters are folded again when they or the norm change.
    """

    def __init__(self, found: Found, place: Mapping[fx.Node, int], z: int | None, activation: str) -> None:
        node = found.nodes[0]
        x, w, bias, stride, padding, dilation, *rest = node.args
        ours = node.target is torch.ops.portadnn.convolution.default
        groups = rest[0] if ours else rest[2]
        self._geometry = (stride, padding, dilation, groups)
        self._x, self._w, self._bias = place[x], place[w], None if bias is None else place[bias]
        self._z, self._activation = z, dnn.ActivationDescriptor(activation, "propagate_nan")
        norm = next(iter(found.norms), None)
        rank = x.meta["val"].dim()
        self._affine = None if norm is None else [Affine(norm, which, place, rank) for which in (0, 1)]
        self._kept = Kept()

    @staticmethod
    def of(found: Found, place: Mapping[fx.Node, int]) -> FoldedConvolution | None:
        """Return what computes a region, or None for another kind of region."""
        result = value_of(found.nodes[-1])
        if found.steps[0].method != "conv_fprop" or result is None or result.device.type != "cpu":
            return None
        if result.dtype not in (torch.float32, torch.float64) or len(found.norms) > 1:
            return None
        steps = list(enumerate(found.steps))[1:]
        if steps and steps[0][1].method == "bias":
            steps.pop(0)
        if found.norms:
            (scale, shift), *_ = found.norms.values()
            wanted = [("mul", ("input", scale)), ("add", ("input", shift))]
            if [(step.method, step.operands[-1]) for _, step in steps[:2]] != wanted:
                return None
            steps = steps[2:]
        z = None
        if steps and steps[0][1].method == "add":
            index, step = steps.pop(0)
            others = [one for one in step.operands if one != ("step", index - 1)]
            other = found.inputs[others[0][1]] if len(others) == 1 and isinstance(others[0], tuple) else None
            value = value_of(other)
            if other is None or value is None or value.shape != result.shape:
                return None
            z = place[other]
        name = _ACTIVATIONS.get(steps[0][1].method) if len(steps) == 1 else "identity" if not steps else None
        return None if name is None else FoldedConvolution(found, place, z, name)

    def __call__(self, outside: Sequence[torch.Tensor], y: torch.Tensor, backend: str) -> None:
        x, z = outside[self._x], None if self._z is None else outside[self._z]
        w, bias = self._folded(outside)
        given = [t.detach() if t is not None and t.requires_grad else t for t in (x, w, bias, z)]
        conv = setting(y, *self._geometry)
        call = repeated(dnn.convolution_bias_activation_forward)
        more = {} if z is None else {"z": given[3], "alpha2": 1.0}
        call(handle_for(y, backend), given[0], given[1], conv, given[2], self._activation, y, **more)

    def _folded(self, outside: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return filters and bias (1, k, 1, ...)."""
        read = (
            [] if self._affine is None else [t for i in self._affine[0].places if i is not None for t in [outside[i]]]
        )
        w, bias = outside[self._w], None if self._bias is None else outside[self._bias]
        return self._kept.get((w, bias, *read), lambda: self._fold(outside, w, bias))

    def _fold(self, outside: Sequence[torch.Tensor], w: torch.Tensor, bias: Any) -> tuple[torch.Tensor, torch.Tensor]:
        affine = (None, None) if self._affine is None else [one(outside).flatten() for one in self._affine]
        return folded(w, bias, *affine)
