"""The layers of sequences that take the place of PyTorch's modules: recurrent networks and the CTC loss."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from portadnn.errors import BadParam

from . import ops
from .layers import Layer, layer


class _Network(Layer):
    def forward(self, x: Any, hx: Any = None) -> Any:
        module: Any = self
        packed = isinstance(x, PackedSequence)
        data, sizes = (x.data, x.batch_sizes.tolist()) if packed else (x, None)
        if not packed and data.dim() not in (2, 3):
            raise BadParam(argument="x", expected="2 or 3 dims", got=tuple(data.shape))
        single = not packed and data.dim() == 2
        if single:
            data = data.unsqueeze(1)
        elif module.batch_first and not packed:
            data = data.transpose(0, 1)
        given = tuple(self._state(s, x, single, packed) for s in self._states(hx))
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

    def _states(self, hx: Any) -> tuple[Any, Any]:
        module: Any = self
        if hx is None or (isinstance(hx, torch.Tensor) and module.mode != "LSTM"):
            return hx, None
        if module.mode != "LSTM":
            raise BadParam(argument="hx", expected="a tensor", got=type(hx).__name__)
        if not isinstance(hx, (tuple, list)) or len(hx) != 2:
            raise BadParam(argument="hx", expected="(h_0, c_0)", got=type(hx).__name__)
        return hx[0], hx[1]

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


@layer
class RNN(_Network, nn.RNN):
    """nn.RNN."""


@layer
class LSTM(_Network, nn.LSTM):
    """nn.LSTM."""


@layer
class GRU(_Network, nn.GRU):
    """nn.GRU."""


@layer
class CTCLoss(Layer, nn.CTCLoss):
    """nn.CTCLoss."""

    def forward(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> torch.Tensor:
        tensors = (log_probs, targets, input_lengths, target_lengths)
        return ops.ctc_loss(*tensors, self.blank, self.reduction, self.zero_infinity, backend=self.portadnn_backend)
