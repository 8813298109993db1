"""Recurrent networks: sequences as portadnn takes them, parameters without biases, and the four passes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from ..descriptors import TensorDescriptor, TensorView
from ..enums import DataType
from ..errors import BadParam
from ..handle import Handle
from ..ops.rnn import rnn_backward_data, rnn_backward_weights, rnn_forward_inference, rnn_forward_training
from ..ops.rnn_layout import Network
from ..ops.rnn_sizes import get_rnn_training_reserve_size, get_rnn_workspace_size
from ..ops.tensor import set_tensor, transform_tensor
from ..plan import check_handle
from ..problem import TensorSpec
from .descriptors import DATA_TYPES, optional, view
from .rnn_descriptor import RNNSettings, packed_parameters
from .workspaces import given_workspace


@dataclass(frozen=True)
class Steps:
    """The numbers of sequences of the steps, and the features of the input."""

    batches: tuple[int, ...]
    features: int

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The numbers of sequences, None where all steps have as many."""
        return None if len(set(self.batches)) == 1 else self.batches

    def spec(self, dtype: DataType, features: int) -> TensorSpec:
        """Return the spec of packed sequences with so many features."""
        if self.sizes is None:
            return TensorSpec.packed(dtype, (len(self.batches), self.batches[0], features))
        return TensorSpec.packed(dtype, (sum(self.batches), features, 1))


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

    def sequences(self, data: Any, name: str, features: int) -> Any:
        """Return packed sequences."""
        return view(self.handle, self.steps.spec(self.dtype, features), data, name)

    def reserve(self, data: Any, size: Any) -> Any:
        """Return the reserve space."""
        _, needed = sizes(self.handle, self.settings, self.steps)
        given_workspace(self.handle, data, size, needed, "reserveSpace")
        if data is None:
            raise BadParam(argument="reserveSpace", expected=f"a buffer of {needed} bytes", got=None)
        return self.handle.device.wrap(TensorView(TensorSpec(DataType.UINT8, (needed,), (1,)), data), "reserveSpace")

    @contextmanager
    def parameters(self, w: Any, name: str, written: bool = False) -> Iterator[Any]:
        """Give the parameters with biases; where the network has none, a copy with zeros, copied back if `written`."""
        network = self.network
        given = view(self.handle, packed_parameters(self.settings, network, self.dtype), w, name)
        if self.settings.biased:
            yield given
            return
        matrices = given.spec.dims[0]
        full = self.handle.device.empty(TensorSpec.packed(self.dtype, (network.size, 1, 1)))
        rest = TensorView(TensorSpec.packed(self.dtype, (network.size - matrices, 1, 1)), full, matrices)
        inside = TensorView(given.spec, full)
        transform_tensor(self.handle, given, inside)
        set_tensor(self.handle, rest, 0.0)
        yield full
        if written:
            transform_tensor(self.handle, inside, given)

    def state(self, desc: Any, data: Any, name: str, argument: str = "") -> Any:
        """Return a hidden state or cells, or None for zeros."""
        return optional(self.handle, desc, data, name, argument)

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
