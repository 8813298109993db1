"""cuDNN's recurrent networks, by the calls of its version 8.

Steps are packed, the longest sequence first, as portadnn has them. Parameters lie in portadnn's order: where cuDNN's is
another, they are copied to the workspace, and gradients back. The reserve space is cuDNN's own and may take more bytes
than portadnn's: ``get_rnn_training_reserve_size`` and calls that leave it out know.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from portadnn.ops.rnn.problems import drops
from portadnn.problem import TensorSpec

from .calls_dropout import drawing, silent, stateless
from .library import ints
from .rnn_weights import Piece, pieces
from .setting import Calls, Makers, Memory, Setting

STANDARD, FMA_MATH, PACKED, ADD = 0, 3, 1, 0
INFERENCE, TRAINING = 0, 1


class _Network:
    """Descriptors and memory of one pass; FMA_MATH forbids TF32."""

    def __init__(self, s: Setting) -> None:
        self.s, self.p, library = s, s.problem, s.library
        p, dtype = s.problem, s.problem.dtype
        network, batches = p.network, p.sequence.batches
        self.mode = TRAINING if p.training else INFERENCE
        lengths = [sum(batch > i for batch in batches) for i in range(batches[0])]
        self.lengths = self._device_ints(lengths)
        self.rnn = self._rnn()
        self.x_steps, self.y_steps = (
            s.descriptor("RNNData", "", int(dtype), PACKED, len(batches), batches[0], width, ints(lengths), None)
            for width in (network.features, network.width)
        )
        self.state, self.cells = map(self._state, (network.output, network.hidden))
        self.weight_size = library.size("cudnnGetRNNWeightSpaceSize", s.handle, self.rnn)
        work, reserve = library.sizes("cudnnGetRNNTempSpaceSizes", 2, s.handle, self.rnn, self.mode, self.x_steps)
        if p.training:
            s.least["reserve"] = reserve
        given = (reserve, s.data("reserve")) if p.training else (0, None)
        self.scratch = work, s.scratch(work), *given

    def _state(self, numbers: int) -> Any:
        """Return the descriptor of states, or of cells."""
        p = self.p
        state = (p.num_layers * p.network.directions, p.sequence.batch, numbers)
        strides = TensorSpec.packed(p.dtype, state).strides
        return self.s.descriptor("Tensor", "Nd", int(p.dtype), 3, ints(state), ints(strides))

    def _device_ints(self, values: list[int]) -> Any:
        """Return the place of the address of some int32 on the device, which are written once."""
        data, place = np.array(values, np.int32).tobytes(), self.s.kept(_Place())

        def store(device: Memory) -> None:
            if place.memory is None:
                place.memory = device.store(data)
                place.slot.value = place.memory.data.ptr

        self.s.before.append(store)
        return place.slot

    def _rnn(self) -> Any:
        """Return the network's descriptor; with dropout it is set again once there are states."""
        s, p, dtype, network = self.s, self.p, self.p.dtype, self.p.network
        how = s.descriptor("RNN")

        def words(drop: Any) -> tuple[Any, ...]:
            kinds = STANDARD, int(p.mode), int(p.bias_mode), int(p.direction), int(p.input_mode)
            types = int(dtype), int(dtype.accumulator), FMA_MATH
            sizes = network.features, p.hidden_size, network.output, p.num_layers
            return how, *kinds, *types, *sizes, drop, 0

        dropping = p.training and drops(p.dropout, p.num_layers)
        s.library.call("cudnnSetRNNDescriptor_v8", *words(stateless(s, p.dropout if dropping else 0.0)))
        if dropping:
            drop = (drawing if p.op == "rnn_forward_training" else silent)(s, p.dropout)
            again = s.library.bound("cudnnSetRNNDescriptor_v8", *words(drop))
            s.before.append(lambda device: again())
        return how

    def maybe(self, *names: str) -> tuple[Any, ...]:
        """Return states' memory, None for those that the problem lacks."""
        return tuple(map(self.s.data, names))

    def weights(self, name: str, *, add: bool = False) -> tuple[Any, Any]:
        """Return size and memory of the parameters; with `add`, what is added to them goes back to the tensor."""
        s, p, size = self.s, self.p, self.p.dtype.itemsize
        parts = pieces(s.library, s.handle, self.rnn, self.weight_size, p.network, size)
        if parts == (Piece(0, 0, p.network.size),) and self.weight_size == p.network.size * size:
            return self.weight_size, s.data(name)
        ours, theirs = s.data(name), s.scratch(self.weight_size)

        def pack(device: Memory) -> None:
            for part in parts:
                device.copy(theirs.value + part.theirs * size, ours.value + part.ours * size, part.count * size)

        def unpack(device: Memory) -> None:
            for part in parts:
                device.copy(ours.value + part.ours * size, theirs.value + part.theirs * size, part.count * size)

        s.before.append(pack)
        if add:
            s.after.append(unpack)
        return self.weight_size, theirs


class _Place:
    """Memory that is made when it is first wanted, and the place of its address."""

    def __init__(self) -> None:
        self.memory: Any = None
        self.slot = ctypes.c_void_p()


def _forward(s: Setting) -> Calls:
    n = _Network(s)
    (hx, hy), (cx, cy) = n.maybe("hx", "hy"), n.maybe("cx", "cy")
    steps = n.lengths, n.x_steps, s.data("x"), n.y_steps, s.data("y")
    states = n.state, hx, hy, n.cells, cx, cy
    return s.one("cudnnRNNForward", n.rnn, n.mode, *steps, *states, *n.weights("w"), *n.scratch)


def _backward_data(s: Setting) -> Calls:
    n = _Network(s)
    steps = n.lengths, n.y_steps, *map(s.data, ("y", "dy")), n.x_steps, s.data("dx")
    states = n.state, *n.maybe("hx", "dhy", "dhx"), n.cells, *n.maybe("cx", "dcy", "dcx")
    return s.one("cudnnRNNBackwardData_v8", n.rnn, *steps, *states, *n.weights("w"), *n.scratch)


def _backward_weights(s: Setting) -> Calls:
    n = _Network(s)
    steps = n.lengths, n.x_steps, s.data("x"), n.state, *n.maybe("hx"), n.y_steps, s.data("y")
    return s.one("cudnnRNNBackwardWeights_v8", n.rnn, ADD, *steps, *n.weights("dw", add=True), *n.scratch)


CALLS: Makers = {
    "rnn_backward_data": _backward_data,
    "rnn_backward_weights": _backward_weights,
    "rnn_forward_inference": _forward,
    "rnn_forward_training": _forward,
}
