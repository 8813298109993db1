"""Chains of a model's modules that are one call: a convolution, its batch norm, its activation.

The convolution computes the chain's result, and marks it; the modules behind it let a marked tensor pass. So the
model's own code runs as it stands, and where a chain cannot be one call its modules compute one by one.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn
from torch.nn import functional

import portadnn as dnn

from .affine import Kept, folded, scale_and_shift
from .layers import why_not
from .marks import mark
from .ops.convolution import output_dims, setting
from .ops.convolution_norm import convolution_norm
from .ops.handles import handle_for
from .ops.layout import memory_format, new, spread, volume
from .ops.places import Place
from .ops.repeat import repeated
from .ops.replay import Repeating, layouts
from .state import HOOKS_OF_ALL

_CONVOLUTIONS = (nn.Conv2d, nn.Conv3d)
_NORMS = (nn.BatchNorm2d, nn.BatchNorm3d)
_ACTIVATIONS: dict[type[nn.Module], str] = {
    nn.ReLU: "relu",
    nn.Sigmoid: "sigmoid",
    nn.Tanh: "tanh",
    nn.SiLU: "swish",
    nn.ReLU6: "clipped_relu",
    nn.Hardtanh: "clipped_relu",
}
# the same as functions of one tensor, and as methods
_FUNCTIONS: dict[Any, tuple[str, float]] = {
    **dict.fromkeys((functional.relu, functional.relu_, torch.relu, torch.relu_, "relu", "relu_"), ("relu", 0.0)),
    functional.relu6: ("clipped_relu", 6.0),
    **dict.fromkeys((functional.sigmoid, torch.sigmoid, torch.sigmoid_, "sigmoid", "sigmoid_"), ("sigmoid", 0.0)),
    **dict.fromkeys((functional.tanh, torch.tanh, torch.tanh_, "tanh", "tanh_"), ("tanh", 0.0)),
    functional.silu: ("swish", 0.0),
}
_ADDITIONS = (operator.add, operator.iadd, torch.add)
NO_ACTIVATION = ("identity", 0.0)
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
        The activation's, as :class:`portadnn.ActivationDescriptor` has it, and its ceiling.
    """

    def __init__(self, norm: Any, activation: Any, mode: tuple[str, float]) -> None:
        self.behind: list[Any] = [module for module in (norm, activation) if module is not None]
        self._norm = norm
        self._mode = mode
        self._kept = Kept()
        self._place = Place()
        self._trains = norm is not None and norm.training and mode[0] in ("identity", "relu")

    def __call__(self, conv: Any, x: torch.Tensor) -> torch.Tensor | None:
        """Return the chain's result, or None where its modules have to compute one by one.

        Not under autocast, nor while PyTorch compiles.
        """
        norm = self._norm
        if norm is None or not norm.training:
            return self._infer(conv, x)
        return self._train(conv, x) if self._trains else None

    def _train(self, conv: Any, x: torch.Tensor) -> torch.Tensor | None:
        """Compute with the batch's statistics, if the model was in training mode when its code was traced."""
        own, norm = conv.__dict__, self._norm.__dict__
        if any(HOOKS_OF_ALL) or _hooked(own) or any(_hooked(one.__dict__) for one in self.behind):
            return None
        given, theirs, kept, momentum = own["_parameters"], norm["_parameters"], norm["_buffers"], norm["momentum"]
        plain = "weight" in given and "bias" in given and "weight" in theirs and "bias" in theirs
        if not plain or not norm["track_running_stats"] or "num_batches_tracked" not in kept:
            return None
        statistics = (theirs["weight"], theirs["bias"], kept["running_mean"], kept["running_var"])
        tensors = (x, given["weight"], given["bias"], *statistics)
        padding = own["padding"] if type(own["padding"]) is tuple else geometry(conv)[1]
        place = (own["stride"], padding, own["dilation"], own["groups"])
        numbers = (*place, momentum, norm["eps"], self._mode[0] == "relu", own["portadnn_backend"])
        call = self._place.find(numbers, tensors, profiled=True)
        if call is None:
            call = self._call(tensors, numbers)
            if call is None:
                return None
        count = kept["num_batches_tracked"]
        if count is not None:
            count.add_(1)
        # the last of all: PyTorch's checkpoints may end a second pass where tensors are saved
        y: torch.Tensor = convolution_norm.apply(*tensors, call)
        mark(y, self.behind)
        return y

    def _call(self, tensors: tuple[Any, ...], numbers: tuple[Any, ...]) -> Any:
        """Return what trains with layouts that the last call did not have; None where modules compute one by one."""
        x, w, _, *parameters = tensors
        if type(x) not in _PLAIN or type(w) not in _PLAIN or w.device != x.device:
            return None
        if not x.is_floating_point() or x.dtype is not w.dtype or x.dim() != w.dim() or not x.numel():
            return None
        if x.shape[1] != w.shape[1] * numbers[3]:
            return None
        if any(t is not None and t.shape != w.shape[:1] for t in parameters):
            return None
        dims = output_dims(x.shape, w.shape, *numbers[:3])
        if volume(dims) == dims[1]:  # refused by the norm
            return None
        known = convolution_norm.known(tensors, numbers, self._place)
        return convolution_norm.new(tensors, numbers, numbers[4]) if known is None else known

    def _infer(self, conv: Any, x: torch.Tensor) -> torch.Tensor | None:
        """Compute with given statistics and without gradients."""
        w, norm = conv.weight, self._norm
        if type(x) not in _PLAIN or type(w) not in _PLAIN:
            return None
        if x.dtype not in _DTYPES or x.dtype is not w.dtype or not x.numel() or x.dim() != w.dim():
            return None
        if any(one.training or one._forward_hooks or one._forward_pre_hooks for one in (conv, *self.behind)):
            return None
        given = parameters(conv, norm)
        if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (x, *given)):
            return None
        tensors = (x, *self._kept.get(given, lambda: fold(conv, norm)))
        numbers = (*geometry(conv), self._mode, conv.portadnn_backend)
        found = layouts(numbers, tensors)
        if found is None:
            return None
        y = _chained.find(found[0], numbers)(tensors)
        mark(y, self.behind)
        return y


def _hooked(own: dict[str, Any]) -> bool:
    """Tell whether somebody sees a module's calls, by its attributes."""
    found = own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"]
    return bool(found)


def parameters(conv: Any, norm: Any) -> tuple[torch.Tensor | None, ...]:
    """Return the tensors that the filters and the bias of a chain follow from."""
    statistics = () if norm is None else (norm.weight, norm.bias, norm.running_mean, norm.running_var)
    return (conv.weight, conv.bias, *statistics)


def fold(conv: Any, norm: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the filters and the bias of a convolution and the norm behind it, if any."""
    w, bias, *statistics = parameters(conv, norm)
    assert w is not None
    affine = (None, None) if norm is None else scale_and_shift(*statistics, norm.eps)
    return folded(w, bias, *affine)


def geometry(conv: Any) -> tuple[Any, ...]:
    """Return stride, padding, dilation and groups of a convolution."""
    padding = spread(0 if conv.padding == "valid" else conv.padding, len(conv.kernel_size), "padding")
    return conv.stride, padding, conv.dilation, conv.groups


def convolve(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor, *numbers: Any, z: Any = None) -> torch.Tensor:
    """Return a chain's result: ``activation(conv(x, w) + bias + z)``; see :func:`geometry` for the first numbers."""
    *place, groups, (mode, ceiling), backend = numbers
    y = new(x, output_dims(x.shape, w.shape, *place), memory_format(x, w))
    call = repeated(dnn.convolution_bias_activation_forward)
    handle, how = handle_for(y, backend), setting(y, *place, groups)
    more = {} if z is None else {"z": z, "alpha2": 1.0}
    call(handle, x, w, how, bias, dnn.ActivationDescriptor(mode, "propagate_nan", ceiling), y, **more)
    return y


_chained = Repeating(convolve)


def trace(model: nn.Module) -> tuple[fx.Graph | None, str | None]:
    """Return the graph of a model's code, or why it cannot be traced."""
    try:
        return fx.Tracer().trace(model), None
    except Exception as error:  # whatever the model's own code raises for a traced argument
        return None, f"{type(error).__name__}: {error}".splitlines()[0]


def find(model: nn.Module, graph: fx.Graph) -> list[tuple[nn.Module, Chain]]:
    """Return the convolutions that begin a chain, with it; before modules are replaced.

    The convolution is called once in the model's code, and nobody else reads what lies between a chain's modules.
    """
    named = named_modules(model)
    calls = [node for node in graph.nodes if node.op == "call_module"]
    counts = Counter(id(named[node.target]) for node in calls)
    found = []
    for node in calls:
        chain = links(node, named)
        if chain is not None and counts[id(named[node.target])] == 1 and len(chain.nodes) > 1:
            behind = [named[one.target] for one in chain.nodes[1:]]
            norm = None if chain.norm is None else behind[0]
            activation = behind[-1] if behind[-1] is not norm else None
            found.append((named[node.target], Chain(norm, activation, chain.activation)))
    return found


def named_modules(model: nn.Module) -> dict[str, nn.Module]:
    """Return a model's modules by all their names."""
    return dict(model.named_modules(remove_duplicate=False))


@dataclass
class Links:
    """A chain in a graph: its nodes, of them the norm's, what is added and where, the activation and its ceiling."""

    nodes: list[fx.Node]
    norm: fx.Node | None = None
    added: fx.Node | None = None
    added_at: fx.Node | None = None
    activation: tuple[str, float] = NO_ACTIVATION


def links(node: fx.Node, named: dict[str, nn.Module], functions: bool = False) -> Links | None:
    """Return the chain that a convolution begins.

    With `functions` another node's value may be added in it, and its activation may be a function, which only those
    can leave out who run the graph in place of the model's code.
    """
    conv: Any = named[str(node.target)] if node.op == "call_module" else None
    if type(conv) not in _CONVOLUTIONS or not _plain_padding(conv) or not _alone(node):
        return None
    found = Links([node])
    norm, end = _behind(node, named, _NORMS)
    if norm is not None and (norm.running_mean is None or why_not(norm)):
        return found
    if norm is not None:
        found.norm = end
        found.nodes.append(end)
    user = _only_user(end)
    if functions and user is not None and added_to(user, end) is not None:
        found.added, end = added_to(user, end), user
        found.added_at = user
        found.nodes.append(end)
    activation, end = _activation_behind(end, named, functions)
    if activation is not None:
        found.activation = activation
        found.nodes.append(end)
    return found


def _activation_behind(
    node: fx.Node, named: dict[str, nn.Module], functions: bool
) -> tuple[tuple[str, float] | None, fx.Node]:
    """Return the activation, mode and ceiling, that alone reads a node's result, and its node; None for another."""
    user = _only_user(node)
    if functions and user is not None and user.op in ("call_function", "call_method") and user.args[:1] == (node,):
        plain = len(user.args) == 1 and user.kwargs.keys() <= {"inplace"}
        return (_FUNCTIONS.get(user.target) if plain else None), user
    module, end = _behind(node, named, tuple(_ACTIVATIONS))
    ceiling = getattr(module, "max_val", 0.0)
    if module is None or getattr(module, "min_val", 0.0) != 0 or ceiling < 0:
        return None, end
    return (_ACTIVATIONS[type(module)], float(ceiling)), end


def added_to(node: fx.Node, value: fx.Node) -> fx.Node | None:
    """Return what a node adds to a value, which it may overwrite; None for another node."""
    if node.op != "call_function" or node.target not in _ADDITIONS or node.kwargs or len(node.args) != 2:
        return None
    first, second = node.args
    if not isinstance(first, fx.Node) or not isinstance(second, fx.Node) or first is second:
        return None
    if first is value:
        return second
    return first if node.target is not operator.iadd else None  # which overwrites another value


def _plain_padding(conv: Any) -> bool:
    return conv.padding_mode == "zeros" and conv.padding != "same"


def _alone(node: fx.Node) -> bool:
    return len(node.args) == 1 and isinstance(node.args[0], fx.Node) and not node.kwargs


def _only_user(node: fx.Node) -> fx.Node | None:
    return next(iter(node.users)) if len(node.users) == 1 else None


def _behind(node: fx.Node, named: Any, kinds: Sequence[type]) -> tuple[Any, fx.Node]:
    """Return the module of these kinds that alone reads a node's result, and its node; None and the node otherwise."""
    user = _only_user(node)
    if user is None or user.op != "call_module" or user.args != (node,) or user.kwargs:
        return None, node
    module = named[user.target]
    return (module, user) if type(module) in kinds else (None, node)
