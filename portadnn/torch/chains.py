"""Chains of a model's modules that are one call without gradients: a convolution, its batch norm, its activation.

The convolution computes the chain's result, and marks it; the modules behind it let a marked tensor pass. So the
model's own code runs as it stands, and where a chain cannot be one call its modules compute one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx, nn

import portadnn as dnn

from .affine import Kept, folded, scale_and_shift
from .layers import why_not
from .marks import mark
from .ops.convolution import output_dims, setting
from .ops.handles import handle_for
from .ops.layout import memory_format, new, spread
from .ops.repeat import repeated
from .ops.replay import Repeating, layouts

_CONVOLUTIONS = (nn.Conv2d, nn.Conv3d)
_NORMS = (nn.BatchNorm2d, nn.BatchNorm3d)
_ACTIVATIONS: dict[type[nn.Module], str] = {nn.ReLU: "relu", nn.Sigmoid: "sigmoid", nn.Tanh: "tanh", nn.SiLU: "swish"}
_DTYPES = (torch.float32, torch.float64)
_PLAIN = (torch.Tensor, nn.Parameter)


class Chain:
    """A convolution with the batch norm or the activation behind it, or both.

    Parameters
    ----------
    norm
        The batch norm, or None.
    activation
        The activation, or None.
    mode
        The activation's, as :class:`portadnn.ActivationDescriptor` has it.
    """

    def __init__(self, norm: Any, activation: Any, mode: str) -> None:
        self.behind: list[Any] = [module for module in (norm, activation) if module is not None]
        self._norm = norm
        self._mode = mode
        self._kept = Kept()

    def __call__(self, conv: Any, x: torch.Tensor) -> torch.Tensor | None:
        """Return the chain's result, or None where its modules have to compute one by one."""
        w, norm = conv.weight, self._norm
        if x.dtype not in _DTYPES or x.dtype is not w.dtype or not x.numel() or x.dim() != w.dim():
            return None
        if any(one.training or one._forward_hooks or one._forward_pre_hooks for one in (conv, *self.behind)):
            return None
        if torch.compiler.is_compiling() or torch.is_autocast_enabled(x.device.type) or type(w) not in _PLAIN:
            return None
        statistics = () if norm is None else (norm.weight, norm.bias, norm.running_mean, norm.running_var)
        given = (x, w, conv.bias, *statistics)
        if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in given):
            return None

        def fold() -> tuple[torch.Tensor, torch.Tensor]:
            affine = (None, None) if norm is None else scale_and_shift(*statistics, norm.eps)
            return folded(w, conv.bias, *affine)

        tensors = (x, *self._kept.get(given[1:], fold))
        padding = spread(0 if conv.padding == "valid" else conv.padding, x.dim() - 2, "padding")
        numbers = (conv.stride, padding, conv.dilation, conv.groups, self._mode, conv.portadnn_backend)
        found = layouts(numbers, tensors)
        if found is None:
            return None
        y = _chained.find(found[0], numbers)(tensors)
        mark(y, self.behind)
        return y


def _convolve(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor, *numbers: Any) -> torch.Tensor:
    *geometry, groups, mode, backend = numbers
    y = new(x, output_dims(x.shape, w.shape, *geometry), memory_format(x, w))
    call = repeated(dnn.convolution_bias_activation_forward)
    handle, how = handle_for(y, backend), setting(y, *geometry, groups)
    call(handle, x, w, how, bias, dnn.ActivationDescriptor(mode, "propagate_nan"), y)
    return y


_chained = Repeating(_convolve)


def find(model: nn.Module) -> tuple[list[tuple[nn.Module, Chain]], str | None]:
    """Return the convolutions that begin a chain, with it, and why none can be found; before modules are replaced.

    The convolution is called once in the model's code, and nobody else reads what lies between a chain's modules.
    """
    try:
        graph = fx.Tracer().trace(model)
    except Exception as error:  # whatever the model's own code raises for a traced argument
        return [], f"{type(error).__name__}: {error}".splitlines()[0]
    named = dict(model.named_modules(remove_duplicate=False))
    calls = [node for node in graph.nodes if node.op == "call_module"]
    counts = Counter(id(named[node.target]) for node in calls)
    found = []
    for node in calls:
        conv: Any = named[node.target]
        if type(conv) not in _CONVOLUTIONS or counts[id(conv)] > 1 or not _plain_padding(conv):
            continue
        norm, end = _behind(node, named, _NORMS)
        if norm is not None and (norm.running_mean is None or why_not(norm)):
            continue
        activation, _ = _behind(end, named, tuple(_ACTIVATIONS))
        if norm is not None or activation is not None:
            found.append((conv, Chain(norm, activation, _ACTIVATIONS.get(type(activation), "identity"))))
    return found, None


def _plain_padding(conv: Any) -> bool:
    return conv.padding_mode == "zeros" and conv.padding != "same"


def _behind(node: fx.Node, named: Any, kinds: Sequence[type]) -> tuple[Any, fx.Node]:
    """Return the module of these kinds that alone reads a node's result, and its node; None and the node otherwise."""
    user = next(iter(node.users)) if len(node.users) == 1 else None
    if user is None or user.op != "call_module" or user.args != (node,) or user.kwargs:
        return None, node
    module = named[user.target]
    return (module, user) if type(module) in kinds else (None, node)
