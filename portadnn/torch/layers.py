"""The layers that take the place of PyTorch's modules: subclasses of these, which compute with portadnn's functions.

They hold no state of their own but the backend's name, so that a module becomes one by its class alone.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence

from portadnn.ops.batch_norm import BN_MIN_EPSILON

from . import ops
from .marks import passes

LAYERS: dict[type[nn.Module], type[nn.Module]] = {}  # PyTorch's class: ours
REPLACED: set[type[nn.Module]] = set()


class Layer(nn.Module):
    """What all have in common."""

    portadnn_backend: str

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, backend={self.portadnn_backend!r}".removeprefix(", ")


def _layer(made: type[nn.Module]) -> type[nn.Module]:
    """Register a layer; its own base is the module's class."""
    original = next(
        base for base in made.__mro__[1:] if base.__module__.startswith("torch.nn") and base is not nn.Module
    )
    LAYERS[original] = made
    REPLACED.add(made)
    return made


def why_not(module: nn.Module) -> str | None:
    """Return why portadnn cannot compute a module of a known class; None if it can."""
    if isinstance(module, nn.modules.lazy.LazyModuleMixin):
        return "its parameters are not made yet: run the model once before"
    if getattr(module, "inplace", False):
        return "inplace=True: it overwrites its input"
    if (
        isinstance(module, nn.modules.batchnorm._NormBase)
        and module.eps < BN_MIN_EPSILON
        and not isinstance(module, nn.modules.instancenorm._InstanceNorm)
    ):
        return f"eps={module.eps}: cuDNN's least is {BN_MIN_EPSILON}"
    if isinstance(module, nn.RNNBase) and module.proj_size:
        return "proj_size: portadnn.torch does not pass projections on"
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


def _tuple(value: Any) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (value,)


# convolutions: PyTorch's forward calls _conv_forward


class _Convolution(Layer):
    portadnn_chain: Any = None  # substitute(fuse=True): what lies behind it as well

    def _conv_forward(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        module: Any = self
        y = None if self.portadnn_chain is None else self.portadnn_chain(self, x)
        if y is not None:
            return y
        padding = module.padding
        if module.padding_mode != "zeros":
            x = functional.pad(x, module._reversed_padding_repeated_twice, mode=module.padding_mode)
            padding = (0,) * len(module.kernel_size)
        call = (ops.conv1d, ops.conv2d, ops.conv3d)[len(module.kernel_size) - 1]
        numbers = (module.stride, padding, module.dilation, module.groups)
        return call(x, weight, bias, *numbers, backend=self.portadnn_backend)


@_layer
class Conv1d(_Convolution, nn.Conv1d):
    """nn.Conv1d."""


@_layer
class Conv2d(_Convolution, nn.Conv2d):
    """nn.Conv2d."""


@_layer
class Conv3d(_Convolution, nn.Conv3d):
    """nn.Conv3d."""


class _Transposed(Layer):
    def forward(self, x: torch.Tensor, output_size: Any = None) -> torch.Tensor:
        module: Any = self
        spatial = len(module.kernel_size)
        geometry = (module.stride, module.padding, module.kernel_size, spatial, module.dilation)
        extra = module._output_padding(x, output_size, *geometry)
        call = (ops.conv_transpose1d, ops.conv_transpose2d, ops.conv_transpose3d)[spatial - 1]
        numbers = (module.stride, module.padding, extra, module.groups, module.dilation)
        return call(x, module.weight, module.bias, *numbers, backend=self.portadnn_backend)


@_layer
class ConvTranspose1d(_Transposed, nn.ConvTranspose1d):
    """nn.ConvTranspose1d."""


@_layer
class ConvTranspose2d(_Transposed, nn.ConvTranspose2d):
    """nn.ConvTranspose2d."""


@_layer
class ConvTranspose3d(_Transposed, nn.ConvTranspose3d):
    """nn.ConvTranspose3d."""


# pooling


class _MaxPool(Layer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        module: Any = self
        call = getattr(ops, f"max_pool{type(self).__name__[-2]}d")
        numbers = (module.kernel_size, module.stride, module.padding, module.dilation, module.ceil_mode)
        return call(x, *numbers, backend=self.portadnn_backend)


@_layer
class MaxPool1d(_MaxPool, nn.MaxPool1d):
    """nn.MaxPool1d."""


@_layer
class MaxPool2d(_MaxPool, nn.MaxPool2d):
    """nn.MaxPool2d."""


@_layer
class MaxPool3d(_MaxPool, nn.MaxPool3d):
    """nn.MaxPool3d."""


class _AvgPool(Layer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        module: Any = self
        numbers = [module.kernel_size, module.stride, module.padding, module.ceil_mode, module.count_include_pad]
        if hasattr(module, "divisor_override"):
            numbers.append(module.divisor_override)
        call = getattr(ops, f"avg_pool{type(self).__name__[-2]}d")
        return call(x, *numbers, backend=self.portadnn_backend)


@_layer
class AvgPool1d(_AvgPool, nn.AvgPool1d):
    """nn.AvgPool1d."""


@_layer
class AvgPool2d(_AvgPool, nn.AvgPool2d):
    """nn.AvgPool2d."""


@_layer
class AvgPool3d(_AvgPool, nn.AvgPool3d):
    """nn.AvgPool3d."""


class _Adaptive(Layer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        module: Any = self
        name = type(self).__name__
        mode = "max" if "Max" in name else "average"
        return ops.adaptive_pool(x, module.output_size, int(name[-2]), mode, self.portadnn_backend)


@_layer
class AdaptiveAvgPool1d(_Adaptive, nn.AdaptiveAvgPool1d):
    """nn.AdaptiveAvgPool1d."""


@_layer
class AdaptiveAvgPool2d(_Adaptive, nn.AdaptiveAvgPool2d):
    """nn.AdaptiveAvgPool2d."""


@_layer
class AdaptiveAvgPool3d(_Adaptive, nn.AdaptiveAvgPool3d):
    """nn.AdaptiveAvgPool3d."""


@_layer
class AdaptiveMaxPool1d(_Adaptive, nn.AdaptiveMaxPool1d):
    """nn.AdaptiveMaxPool1d."""


@_layer
class AdaptiveMaxPool2d(_Adaptive, nn.AdaptiveMaxPool2d):
    """nn.AdaptiveMaxPool2d."""


@_layer
class AdaptiveMaxPool3d(_Adaptive, nn.AdaptiveMaxPool3d):
    """nn.AdaptiveMaxPool3d."""


# norms


class _BatchNorm(Layer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        module: Any = self
        if passes(self, x):
            return x
        module._check_input_dim(x)
        momentum = 0.0 if module.momentum is None else module.momentum
        if module.training and module.track_running_stats and module.num_batches_tracked is not None:
            module.num_batches_tracked.add_(1)
            if module.momentum is None:  # the mean of all batches
                momentum = 1.0 / float(module.num_batches_tracked)
        by_batch = module.training or (module.running_mean is None and module.running_var is None)
        kept = not module.training or module.track_running_stats
        running = (module.running_mean, module.running_var) if kept else (None, None)
        parameters = (module.weight, module.bias, by_batch, momentum, module.eps)
        return ops.batch_norm(x, *running, *parameters, backend=self.portadnn_backend)


@_layer
class BatchNorm1d(_BatchNorm, nn.BatchNorm1d):
    """nn.BatchNorm1d."""


@_layer
class BatchNorm2d(_BatchNorm, nn.BatchNorm2d):
    """nn.BatchNorm2d."""


@_layer
class BatchNorm3d(_BatchNorm, nn.BatchNorm3d):
    """nn.BatchNorm3d."""


class _InstanceNorm(Layer):
    def _apply_instance_norm(self, x: torch.Tensor) -> torch.Tensor:
        module: Any = self
        running = (module.running_mean, module.running_var)
        by_sample = module.training or not module.track_running_stats
        parameters = (module.weight, module.bias, by_sample, module.momentum or 0.0, module.eps)
        return ops.instance_norm(x, *running, *parameters, backend=self.portadnn_backend)


@_layer
class InstanceNorm1d(_InstanceNorm, nn.InstanceNorm1d):
    """nn.InstanceNorm1d."""


@_layer
class InstanceNorm2d(_InstanceNorm, nn.InstanceNorm2d):
    """nn.InstanceNorm2d."""


@_layer
class InstanceNorm3d(_InstanceNorm, nn.InstanceNorm3d):
    """nn.InstanceNorm3d."""


@_layer
class LayerNorm(Layer, nn.LayerNorm):
    """nn.LayerNorm."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape, backend = self.normalized_shape, self.portadnn_backend
        return ops.layer_norm(x, shape, self.weight, self.bias, self.eps, backend=backend)


@_layer
class RMSNorm(Layer, nn.RMSNorm):
    """nn.RMSNorm."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.rms_norm(x, self.normalized_shape, self.weight, self.eps, backend=self.portadnn_backend)


@_layer
class GroupNorm(Layer, nn.GroupNorm):
    """nn.GroupNorm."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.group_norm(x, self.num_groups, self.weight, self.bias, self.eps, backend=self.portadnn_backend)


@_layer
class LocalResponseNorm(Layer, nn.LocalResponseNorm):
    """nn.LocalResponseNorm."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        numbers = (self.size, self.alpha, self.beta, self.k)
        return ops.local_response_norm(x, *numbers, backend=self.portadnn_backend)


# activations


@_layer
class ReLU(Layer, nn.ReLU):
    """nn.ReLU."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if passes(self, x):
            return x
        return super().forward(x) if self.inplace else ops.relu(x, backend=self.portadnn_backend)


class _Clipped(Layer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        module: Any = self
        return ops.clipped_relu(x, module.max_val, backend=self.portadnn_backend)


@_layer
class ReLU6(_Clipped, nn.ReLU6):
    """nn.ReLU6."""


@_layer
class Hardtanh(_Clipped, nn.Hardtanh):
    """nn.Hardtanh from 0 on."""


@_layer
class Sigmoid(Layer, nn.Sigmoid):
    """nn.Sigmoid."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if passes(self, x) else ops.sigmoid(x, backend=self.portadnn_backend)


@_layer
class Tanh(Layer, nn.Tanh):
    """nn.Tanh."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if passes(self, x) else ops.tanh(x, backend=self.portadnn_backend)


@_layer
class ELU(Layer, nn.ELU):
    """nn.ELU."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.elu(x, self.alpha, backend=self.portadnn_backend)


@_layer
class SiLU(Layer, nn.SiLU):
    """nn.SiLU."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if passes(self, x):
            return x
        return super().forward(x) if self.inplace else ops.silu(x, backend=self.portadnn_backend)


class _Softmax(Layer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        module: Any = self
        call = ops.log_softmax if "Log" in type(self).__name__ else ops.softmax
        dim = (0 if x.dim() in (0, 1, 3) else 1) if module.dim is None else module.dim  # as PyTorch guesses
        return call(x, dim, backend=self.portadnn_backend)


@_layer
class Softmax(_Softmax, nn.Softmax):
    """nn.Softmax."""


@_layer
class LogSoftmax(_Softmax, nn.LogSoftmax):
    """nn.LogSoftmax."""


@_layer
class Dropout(Layer, nn.Dropout):
    """nn.Dropout."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.dropout(x, self.p, self.training, backend=self.portadnn_backend)


# recurrent networks


class _Network(Layer):
    def forward(self, x: Any, hx: Any = None) -> Any:
        module: Any = self
        packed = isinstance(x, PackedSequence)
        data, sizes = (x.data, x.batch_sizes.tolist()) if packed else (x, None)
        single = not packed and data.dim() == 2
        if single:
            data = data.unsqueeze(1)
        elif module.batch_first and not packed:
            data = data.transpose(0, 1)
        given = hx if isinstance(hx, tuple) else (hx, None)
        given = tuple(self._state(s, x, single, packed) for s in given)
        options = {"layers": module.num_layers, "bidirectional": module.bidirectional, "biases": module.bias}
        drops = module.dropout if module.training else 0.0
        y, hy, cy = ops.rnn(
            *(data, *given, [w for row in module.all_weights for w in row], module.mode),
            **options,
            dropout=drops,
            batch_sizes=sizes,
            backend=self.portadnn_backend,
        )
        return self._results(x, y, (hy, cy) if module.mode == "LSTM" else (hy,), single, packed)

    def _state(self, state: torch.Tensor | None, x: Any, single: bool, packed: bool) -> torch.Tensor | None:
        """Return an initial state in the order of the sequences."""
        if state is None:
            return None
        if single:
            return state.unsqueeze(1)
        if packed and x.sorted_indices is not None:
            return state.index_select(1, x.sorted_indices)
        return state

    def _results(self, x: Any, y: torch.Tensor, states: Any, single: bool, packed: bool) -> Any:
        module: Any = self
        out: Any = y
        if packed:
            out = PackedSequence(y, x.batch_sizes, x.sorted_indices, x.unsorted_indices)
            if x.unsorted_indices is not None:
                states = tuple(s.index_select(1, x.unsorted_indices) for s in states)
        elif single:
            out, states = y.squeeze(1), tuple(s.squeeze(1) for s in states)
        elif module.batch_first:
            out = y.transpose(0, 1)
        return out, states if module.mode == "LSTM" else states[0]


@_layer
class RNN(_Network, nn.RNN):
    """nn.RNN."""


@_layer
class LSTM(_Network, nn.LSTM):
    """nn.LSTM."""


@_layer
class GRU(_Network, nn.GRU):
    """nn.GRU."""


@_layer
class CTCLoss(Layer, nn.CTCLoss):
    """nn.CTCLoss."""

    def forward(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> torch.Tensor:
        tensors = (log_probs, targets, input_lengths, target_lengths)
        return ops.ctc_loss(*tensors, self.blank, self.reduction, self.zero_infinity, backend=self.portadnn_backend)
