"""The layers of activations, softmax and dropout that take the place of PyTorch's modules."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from . import ops
from .layers import Layer, layer, others
from .marks import passes


@layer
class ReLU(Layer, nn.ReLU):
    """nn.ReLU."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if passes(self, x):
            return x
        return super().forward(x) if self.inplace or others(x) else ops.relu(x, backend=self.portadnn_backend)


class _Clipped(Layer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        module: Any = self
        if passes(self, x):
            return x
        if module.inplace or others(x):
            return super().forward(x)
        return ops.clipped_relu(x, module.max_val, backend=self.portadnn_backend)


@layer
class ReLU6(_Clipped, nn.ReLU6):
    """nn.ReLU6."""


@layer
class Hardtanh(_Clipped, nn.Hardtanh):
    """nn.Hardtanh from 0 on."""


@layer
class Sigmoid(Layer, nn.Sigmoid):
    """nn.Sigmoid."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if passes(self, x):
            return x
        return super().forward(x) if others(x) else ops.sigmoid(x, backend=self.portadnn_backend)


@layer
class Tanh(Layer, nn.Tanh):
    """nn.Tanh."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if passes(self, x):
            return x
        return super().forward(x) if others(x) else ops.tanh(x, backend=self.portadnn_backend)


@layer
class ELU(Layer, nn.ELU):
    """nn.ELU."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.elu(x, self.alpha, backend=self.portadnn_backend)


@layer
class SiLU(Layer, nn.SiLU):
    """nn.SiLU."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if passes(self, x):
            return x
        return super().forward(x) if self.inplace or others(x) else ops.silu(x, backend=self.portadnn_backend)


class _Softmax(Layer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        module: Any = self
        call = ops.log_softmax if "Log" in type(self).__name__ else ops.softmax
        dim = (0 if x.dim() in (0, 1, 3) else 1) if module.dim is None else module.dim  # as PyTorch guesses
        return call(x, dim, backend=self.portadnn_backend)


@layer
class Softmax(_Softmax, nn.Softmax):
    """nn.Softmax."""


@layer
class LogSoftmax(_Softmax, nn.LogSoftmax):
    """nn.LogSoftmax."""


@layer
class Dropout(Layer, nn.Dropout):
    """nn.Dropout."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.dropout(x, self.p, self.training, backend=self.portadnn_backend)
