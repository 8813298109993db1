"""Recurrent networks: sequences as portadnn takes them, parameters in their order, and the four passes."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from ...c_names.memory import view
from ...descriptors import TensorDescriptor, TensorView
from ...dispatch.problems import check_handle
from ...enums import DataType
from ...errors import BadParam
from ...handle import Handle
from ...ops.rnn.calls import (
    rnn_backward_data,
    rnn_backward_weights,
    rnn_forward_inference,
    rnn_forward_training,
)
from ...ops.rnn.layout import Network
from ...ops.rnn.sizes import get_rnn_training_reserve_size, get_rnn_workspace_size
from ...ops.tensor import transform_tensor
from ...problem import TensorSpec
from ..descriptors import DATA_TYPES
from ..workspaces import given_workspace
from .descriptor import RNNSettings, packed_parameters
from .places import pieces


@dataclass(frozen=True)
class Steps:
    """The numbers of sequences of the steps, and the features of the input."""

    batches: tuple[int, ...]
    features: int

    @functools.cached_property
    def sizes(self) -> tuple[int, ...] | None:
        """The numbers of sequences, None where all steps have as many."""
        return None if len(set(self.batches)) == 1 else self.batches

    @functools.cached_property
    def _specs(self) -> dict[tuple[DataType, int], TensorSpec]:
        return {}

    def spec(self, dtype: DataType, features: int) -> TensorSpec:
        """Return the spec of packed sequences with so many features."""
        found = self._specs.get((dtype, features))
        if found is None:
            rows = (len(self.batches), self.batches[0], features)
            dims = rows if self.sizes is None else (sum(self.batches), features, 1)
            found = self._specs[dtype, features] = TensorSpec.packed(dtype, dims)
        return found


_SIZES: WeakKeyDictionary[Handle, dict[Any, tuple[int, int]]] = WeakKeyDictionary()


def sizes(handle: Handle, settings: RNNSettings, steps: Steps) -> tuple[int, int]:
    """Return the bytes of workspace and reserve space."""
    known = _SIZES.setdefault(check_handle(handle), {})
    key = (settings.rnn.params, settings.data_type, steps)  # the dropout's probability may be another one by now
    found = known.get(key)
    if found is None:
        settings.network(steps.features)
        spec = steps.spec(DATA_TYPES[settings.data_type], steps.features)
        x = TensorDescriptor(spec.dims, spec.dtype)
        rnn = settings.rnn
        found = (
            get_rnn_workspace_size(handle, rnn, x, batch_sizes=steps.sizes),
            get_rnn_training_reserve_size(handle, rnn, x, batch_sizes=steps.sizes),
        )
        known[key] = found
    return found


@dataclass(frozen=True)
class Pass:
    """One pass: the network, its steps, and the memory that the caller brings."""

    handle: Handle
    settings: RNNSettings
    steps: Steps
    workspace: Any

    @property
    def dtype(self) -> DataType:
        """Type of all tensors."""
        return DATA_TYPES[self.settings.data_type]

    @property
    def network(self) -> Network:
        """The layers."""
        return self.settings.network(self.steps.features)

    @classmethod
    def make(cls, handle: Handle, settings: RNNSettings, steps: Steps, workspace: Any, size: Any) -> Pass:
        """Check the workspace."""
        needed, _ = sizes(handle, settings, steps)
        return cls(handle, settings, steps, given_workspace(handle, workspace, size, needed))

    def _view(self, spec: TensorSpec, data: Any, name: str) -> Any:
        """Return memory as a packed array."""
        if data is None:
            raise BadParam(argument=name, expected=f"memory of {spec.span} elements", got=None)
        return view(self.handle, self.settings.views, data, spec, name, spec.dims)

    def sequences(self, data: Any, name: str, features: int) -> Any:
        """Return packed sequences."""
        return self._view(self.steps.spec(self.dtype, features), data, name)

    def reserve(self, data: Any, size: Any) -> Any:
        """Return the reserve space."""
        _, needed = sizes(self.handle, self.settings, self.steps)
        given_workspace(self.handle, data, size, needed, "reserveSpace")
        if data is None:
            raise BadParam(argument="reserveSpace", expected=f"a buffer of {needed} bytes", got=None)
        return self._view(TensorSpec(DataType.UINT8, (needed,), (1,)), data, "reserveSpace")

    @contextmanager
    def parameters(self, w: Any, name: str, written: bool = False) -> Iterator[Any]:
        """Give the parameters in portadnn's order: a copy where MIOpen's is another, copied back if `written`."""
        network = self.network
        spec = packed_parameters(self.dtype, network.size)
        given, parts = self._view(spec, w, name), pieces(network)
        if not parts:
            yield given
            return
        sorted_ = self.handle.device.empty(spec)
        pairs = [
            (TensorView(theirs, given, first), TensorView(ours, sorted_, second))
            for (theirs, first), (ours, second) in (part.specs(self.dtype) for part in parts)
        ]
        for outside, inside in pairs:
            transform_tensor(self.handle, outside, inside)
        yield sorted_
        if written:
            for outside, inside in pairs:
                transform_tensor(self.handle, inside, outside)

    def forward(
        self, training: bool, x: Any, hx: Any, cx: Any, w: Any, y: Any, hy: Any, cy: Any, reserve: Any, size: Any
    ) -> None:
        """Run the forward pass."""
        rnn, options = self.settings.rnn, {"batch_sizes": self.steps.sizes, "workspace": self.workspace}
        kept = self.reserve(reserve, size) if training else None
        with self.parameters(w, "w") as full:
            if training:
                rnn_forward_training(self.handle, x, hx, cx, full, rnn, y, hy, cy, kept, **options)
            else:
                rnn_forward_inference(self.handle, x, hx, cx, full, rnn, y, hy, cy, **options)

    def backward_data(
        self, given: tuple[Any, ...], w: Any, states: tuple[Any, Any], out: tuple[Any, ...], kept: Any
    ) -> None:
        """Run the backward pass to the input: `given` are y, dy, dhy, dcy and `out` dx, dhx, dcx."""
        rnn, options = self.settings.rnn, {"batch_sizes": self.steps.sizes, "workspace": self.workspace}
        y, dy, dhy, dcy = given
        hx, cx = states
        dx, dhx, dcx = out
        with self.parameters(w, "w") as full:
            rnn_backward_data(self.handle, y, dy, dhy, dcy, full, hx, cx, rnn, dx, dhx, dcx, kept, **options)

    def backward_weights(self, x: Any, hx: Any, y: Any, kept: Any, dw: Any) -> None:
        """Run the backward pass to the parameters."""
        options = {"batch_sizes": self.steps.sizes, "workspace": self.workspace}
        with self.parameters(dw, "dw", written=True) as full:
            rnn_backward_weights(self.handle, x, hx, y, kept, self.settings.rnn, full, **options)
