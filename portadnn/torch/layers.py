"""The layers that take the place of PyTorch's modules: subclasses of these, which compute with portadnn's functions.

They hold no state of their own but the backend's name, so that a module becomes one by its class alone.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import fx, nn
from torch.nn import functional

from portadnn.errors import NotSupported

from . import ops
from .marks import passes
from .ops.batch_norms import batch_norm_updating
from .ops.convolution import convolution
from .ops.places import Place

LAYERS: dict[type[nn.Module], type[nn.Module]] = {}  # PyTorch's class: ours
REPLACED: set[type[nn.Module]] = set()


class Layer(nn.Module):
    """What all have in common."""

    portadnn_backend: str

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, backend={self.portadnn_backend!r}".removeprefix(", ")

    def __prepare_scriptable__(self) -> nn.Module:
        """Refuse torch.jit.script, which asks for this and would stop somewhere in our code."""
        raise NotSupported(
            argument="model",
            expected="torch.jit.trace, torch.export, torch.compile, or PyTorch's modules (substitution.restore())",
            got="torch.jit.script of a module that portadnn computes",
        )


def layer(made: type[nn.Module]) -> type[nn.Module]:
    """Register a layer; its own base is the module's class."""
    original = next(
        base for base in made.__mro__[1:] if base.__module__.startswith("torch.nn") and base is not nn.Module
    )
    LAYERS[original] = made
    REPLACED.add(made)
    return made


def _as_pytorchs_own(is_leaf_module: Any) -> Any:
    """Let torch.fx trace into layers as little as into the modules that they replace, which it knows by their package.

    A layer that gives another package by its ``__module__`` would be taken for PyTorch's own by compilers, too, and by
    pickle.
    """

    @functools.wraps(is_leaf_module)
    def with_layers(self: fx.Tracer, m: nn.Module, module_qualified_name: str) -> bool:
        return type(m) in REPLACED or is_leaf_module(self, m, module_qualified_name)

    return with_layers


fx.Tracer.is_leaf_module = _as_pytorchs_own(fx.Tracer.is_leaf_module)


def why_not(module: nn.Module) -> str | None:
    """Return why portadnn cannot compute a module of a known class; None if it can."""
    if isinstance(module, nn.modules.lazy.LazyModuleMixin):
        return "its parameters are not made yet: run the model once before"
    if getattr(module, "inplace", False):
        return "inplace=True: it overwrites its input"
    if isinstance(module, nn.modules.pooling._MaxPoolNd):
        if module.return_indices:
            return "return_indices: cuDNN's pooling has no indices"
        if any(d != 1 for d in _tuple(module.dilation)):
            return "dilation: cuDNN's pooling has none"
    if isinstance(module, nn.modules.pooling._AdaptiveMaxPoolNd) and module.return_indices:
        return "return_indices: cuDNN's pooling has no indices"
    if isinstance(module, nn.LocalResponseNorm):
        return (
            None if 1 <= module.size <= 16 and module.beta >= 0.01 and module.k >= 1e-5 else "cuDNN's LRN is narrower"
        )
    if isinstance(module, nn.Hardtanh) and (module.min_val != 0 or module.max_val < 0):
        return "portadnn clips from 0 on only"
    return None


def _own(module: nn.Module, kind: str, name: str) -> Any:
    """Return a parameter or buffer, in a third of the time that an attribute takes where it is a plain one."""
    if torch.compiler.is_compiling():
        return getattr(module, name)
    found = module.__dict__[kind]
    return found[name] if name in found else getattr(module, name)


def _place(module: nn.Module) -> Place:
    """Return what a module keeps of its calls."""
    own = module.__dict__
    place = own.get("portadnn_place")
    if place is None:
        place = own["portadnn_place"] = Place()
    return place


def others(x: torch.Tensor) -> bool:
    """Tell whether x holds integers or complex numbers: portadnn has no operations on them, PyTorch's modules have."""
    return x.is_floating_point() is False  # of a traced value it is another one


def _tuple(value: Any) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (value,)


# convolutions: PyTorch's forward calls _conv_forward


class _Convolution(Layer):
    """It may have a `portadnn_chain`, ``substitute(fuse=True)``: what computes the modules behind it as well."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if others(x):
            return self._pytorchs(x)
        if not torch.compiler.is_compiling() and not torch._C._is_any_autocast_enabled():
            own = self.__dict__
            if "portadnn_chain" in own:
                y = own["portadnn_chain"](self, x)
                if y is not None:
                    return y
            given = own["_parameters"]
            if own["padding_mode"] == "zeros" and "weight" in given:
                count, backend = len(own["kernel_size"]), own["portadnn_backend"]
                numbers = (count, own["stride"], own["padding"], own["dilation"], own["groups"], backend)
                y = convolution.at(_place(self), numbers, (x, given["weight"], given["bias"]))
                if y is not None:
                    return y
        return super().forward(x)

    def _pytorchs(self, x: torch.Tensor) -> torch.Tensor:
        module: Any = self
        y: torch.Tensor = super()._conv_forward(x, module.weight, module.bias)
        return y

    def _conv_forward(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        module: Any = self
        padding = module.padding
        if module.padding_mode != "zeros":
            x = functional.pad(x, module._reversed_padding_repeated_twice, mode=module.padding_mode)
            padding = (0,) * len(module.kernel_size)
        call = (ops.conv1d, ops.conv2d, ops.conv3d)[len(module.kernel_size) - 1]
        numbers = (module.stride, padding, module.dilation, module.groups)
        return call(x, weight, bias, *numbers, backend=self.portadnn_backend)


@layer
class Conv1d(_Convolution, nn.Conv1d):
    """nn.Conv1d."""


@layer
class Conv2d(_Convolution, nn.Conv2d):
    """nn.Conv2d."""


@layer
class Conv3d(_Convolution, nn.Conv3d):
    """nn.Conv3d."""


class _Transposed(Layer):
    def forward(self, x: torch.Tensor, output_size: Any = None) -> torch.Tensor:
        if others(x):
            return super().forward(x, output_size)
        module: Any = self
        spatial = len(module.kernel_size)
        geometry = (module.stride, module.padding, module.kernel_size, spatial, module.dilation)
        extra = module._output_padding(x, output_size, *geometry)
        call = (ops.conv_transpose1d, ops.conv_transpose2d, ops.conv_transpose3d)[spatial - 1]
        numbers = (module.stride, module.padding, extra, module.groups, module.dilation)
        return call(x, module.weight, module.bias, *numbers, backend=self.portadnn_backend)


@layer
class ConvTranspose1d(_Transposed, nn.ConvTranspose1d):
    """nn.ConvTranspose1d."""


@layer
class ConvTranspose2d(_Transposed, nn.ConvTranspose2d):
    """nn.ConvTranspose2d."""


@layer
class ConvTranspose3d(_Transposed, nn.ConvTranspose3d):
    """nn.ConvTranspose3d."""


# pooling


class _MaxPool(Layer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if others(x):
            return super().forward(x)
        module: Any = self
        call = getattr(ops, f"max_pool{type(self).__name__[-2]}d")
        numbers = (module.kernel_size, module.stride, module.padding, module.dilation, module.ceil_mode)
        return call(x, *numbers, backend=self.portadnn_backend)


@layer
class MaxPool1d(_MaxPool, nn.MaxPool1d):
    """nn.MaxPool1d."""


@layer
class MaxPool2d(_MaxPool, nn.MaxPool2d):
    """nn.MaxPool2d."""


@layer
class MaxPool3d(_MaxPool, nn.MaxPool3d):
    """nn.MaxPool3d."""


class _AvgPool(Layer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if others(x):
            return super().forward(x)
        module: Any = self
        numbers = [module.kernel_size, module.stride, module.padding, module.ceil_mode, module.count_include_pad]
        if hasattr(module, "divisor_override"):
            numbers.append(module.divisor_override)
        call = getattr(ops, f"avg_pool{type(self).__name__[-2]}d")
        return call(x, *numbers, backend=self.portadnn_backend)


@layer
class AvgPool1d(_AvgPool, nn.AvgPool1d):
    """nn.AvgPool1d."""


@layer
class AvgPool2d(_AvgPool, nn.AvgPool2d):
    """nn.AvgPool2d."""


@layer
class AvgPool3d(_AvgPool, nn.AvgPool3d):
    """nn.AvgPool3d."""


class _Adaptive(Layer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        module: Any = self
        name = type(self).__name__
        mode = "max" if "Max" in name else "average"
        return ops.adaptive_pool(x, module.output_size, int(name[-2]), mode, self.portadnn_backend)


@layer
class AdaptiveAvgPool1d(_Adaptive, nn.AdaptiveAvgPool1d):
    """nn.AdaptiveAvgPool1d."""


@layer
class AdaptiveAvgPool2d(_Adaptive, nn.AdaptiveAvgPool2d):
    """nn.AdaptiveAvgPool2d."""


@layer
class AdaptiveAvgPool3d(_Adaptive, nn.AdaptiveAvgPool3d):
    """nn.AdaptiveAvgPool3d."""


@layer
class AdaptiveMaxPool1d(_Adaptive, nn.AdaptiveMaxPool1d):
    """nn.AdaptiveMaxPool1d."""


@layer
class AdaptiveMaxPool2d(_Adaptive, nn.AdaptiveMaxPool2d):
    """nn.AdaptiveMaxPool2d."""


@layer
class AdaptiveMaxPool3d(_Adaptive, nn.AdaptiveMaxPool3d):
    """nn.AdaptiveMaxPool3d."""


# norms


class _BatchNorm(Layer):
    def _again(self, x: torch.Tensor) -> torch.Tensor | None:
        """Return the result where the last call's comes again, with new statistics; None for any other."""
        own = self.__dict__
        place = own.get("portadnn_place")
        if place is None or place.call is None or torch.compiler.is_compiling() or not own["training"]:
            return None
        given, kept, momentum = own["_parameters"], own["_buffers"], own["momentum"]
        if momentum is None or not ("weight" in given and "bias" in given and "num_batches_tracked" in kept):
            return None
        tensors = (x, given["weight"], given["bias"], kept["running_mean"], kept["running_var"])
        call = place.find((momentum, own["eps"], own["portadnn_backend"]), tensors, profiled=True)
        if call is None or not own["track_running_stats"]:
            return None
        count = kept["num_batches_tracked"]
        if count is not None:
            count.add_(1)
        return batch_norm_updating.apply(*tensors, call)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        module: Any = self
        if passes(self, x):
            return x
        y = self._again(x)
        if y is not None:
            return y
        module._check_input_dim(x)
        momentum = 0.0 if module.momentum is None else module.momentum
        training, tracks = module.training, module.track_running_stats
        mean, variance = _own(self, "_buffers", "running_mean"), _own(self, "_buffers", "running_var")
        if training and tracks:
            count = _own(self, "_buffers", "num_batches_tracked")
            if count is not None:
                count.add_(1)
                if module.momentum is None:  # the mean of all batches
                    momentum = 1.0 / float(count)
        running = (mean, variance) if tracks or not training else (None, None)
        by_batch = training or (mean is None and variance is None)
        weight, bias = _own(self, "_parameters", "weight"), _own(self, "_parameters", "bias")
        numbers = (weight, bias, by_batch, momentum, module.eps)
        place = None if torch.compiler.is_compiling() else _place(self)
        return ops.batch_norm(x, *running, *numbers, backend=self.portadnn_backend, place=place)


@layer
class BatchNorm1d(_BatchNorm, nn.BatchNorm1d):
    """nn.BatchNorm1d."""


@layer
class BatchNorm2d(_BatchNorm, nn.BatchNorm2d):
    """nn.BatchNorm2d."""


@layer
class BatchNorm3d(_BatchNorm, nn.BatchNorm3d):
    """nn.BatchNorm3d."""


class _InstanceNorm(Layer):
    def _apply_instance_norm(self, x: torch.Tensor) -> torch.Tensor:
        module: Any = self
        running = (module.running_mean, module.running_var)
        by_sample = module.training or not module.track_running_stats
        parameters = (module.weight, module.bias, by_sample, module.momentum or 0.0, module.eps)
        return ops.instance_norm(x, *running, *parameters, backend=self.portadnn_backend)


@layer
class InstanceNorm1d(_InstanceNorm, nn.InstanceNorm1d):
    """nn.InstanceNorm1d."""


@layer
class InstanceNorm2d(_InstanceNorm, nn.InstanceNorm2d):
    """nn.InstanceNorm2d."""


@layer
class InstanceNorm3d(_InstanceNorm, nn.InstanceNorm3d):
    """nn.InstanceNorm3d."""


@layer
class LayerNorm(Layer, nn.LayerNorm):
    """nn.LayerNorm."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape, backend = self.normalized_shape, self.portadnn_backend
        return ops.layer_norm(x, shape, self.weight, self.bias, self.eps, backend=backend)


@layer
class RMSNorm(Layer, nn.RMSNorm):
    """nn.RMSNorm."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.rms_norm(x, self.normalized_shape, self.weight, self.eps, backend=self.portadnn_backend)


@layer
class GroupNorm(Layer, nn.GroupNorm):
    """nn.GroupNorm."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.group_norm(x, self.num_groups, self.weight, self.bias, self.eps, backend=self.portadnn_backend)


@layer
class LocalResponseNorm(Layer, nn.LocalResponseNorm):
    """nn.LocalResponseNorm."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        numbers = (self.size, self.alpha, self.beta, self.k)
        return ops.local_response_norm(x, *numbers, backend=self.portadnn_backend)
