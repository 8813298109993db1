"""cuDNN's recurrent networks, by the calls of its version 8, for the peer.

Weights lie in cuDNN's own order and are random; steps are packed, the longest sequence first, as portadnn has them.
What a backward call reads is made by the calls before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portadnn.problem import TensorSpec

from .call import random_values
from .cudnn_library import ints
from .cudnn_setting import Calls, Setting

STANDARD, DOUBLE_BIAS, FMA_MATH, PACKED, ADD = 0, 2, 3, 1, 0
INFERENCE, TRAINING = 0, 1


class _Network:
    """Descriptors and memory of one network on one sequence; FMA_MATH forbids TF32."""

    def __init__(self, s: Setting, mode: int) -> None:
        self.s, self.p, library = s, s.problem, s.library
        p, dtype = s.problem, s.problem.dtype
        network, batches = p.network, p.sequence.batches
        self.steps, self.batch, rows = len(batches), batches[0], sum(batches)
        lengths = [sum(batch > i for batch in batches) for i in range(self.batch)]
        self.lengths = s.kept(s.cupy.asarray(np.array(lengths, np.int32)))
        size = library.size("cudnnDropoutGetStatesSize", s.handle)
        drop = s.descriptor("Dropout", "", s.handle, p.dropout, s.bytes(size), size, 1)
        kinds = STANDARD, int(p.mode), DOUBLE_BIAS, int(p.direction), int(p.input_mode)
        types = int(dtype), int(dtype.accumulator), FMA_MATH
        sizes = network.features, p.hidden_size, p.hidden_size, p.num_layers
        self.rnn = s.descriptor("RNN", "_v8", *kinds, *types, *sizes, drop, 0)
        self.x_steps, self.y_steps = (
            s.descriptor("RNNData", "", int(dtype), PACKED, self.steps, self.batch, width, ints(lengths), None)
            for width in (network.features, network.width)
        )
        state = (p.num_layers * network.directions, self.batch, p.hidden_size)
        strides = TensorSpec.packed(dtype, state).strides
        self.state = s.descriptor("Tensor", "Nd", int(dtype), 3, ints(state), ints(strides))
        self.weight_size = library.size("cudnnGetRNNWeightSpaceSize", s.handle, self.rnn)
        self.weights = self._random("w", self.weight_size // dtype.itemsize)
        self.dweights = s.bytes(self.weight_size)
        work, reserve = library.sizes("cudnnGetRNNTempSpaceSizes", 2, s.handle, self.rnn, mode, self.x_steps)
        self.scratch = work, s.bytes(work), reserve, s.bytes(reserve)
        self.x, self.y, self.dx, self.dy = (
            s.data(name) if name in p.names else self._random(name, rows * width)
            for name, width in zip(("x", "y", "dx", "dy"), (network.features, network.width) * 2, strict=True)
        )

    def _random(self, name: str, count: int) -> Any:
        spec = TensorSpec.packed(self.p.dtype, (1, 1, max(count, 1)))
        values = random_values(spec, len(name)) * spec.dtype.numpy.type(0.1)
        return self.s.kept(self.s.cupy.asarray(values.view("u1"))).data.ptr

    def maybe(self, *names: str) -> tuple[Any, ...]:
        """Return states' memory, None for those that the problem lacks."""
        return tuple(self.s.data(name) if name in self.p.names else None for name in names)

    def forward(self, mode: int) -> Callable[[], None]:
        (hx, hy), (cx, cy) = self.maybe("hx", "hy"), self.maybe("cx", "cy")
        steps = self.lengths.data.ptr, self.x_steps, self.x, self.y_steps, self.y
        states = self.state, hx, hy, self.state, cx, cy
        weights = self.weight_size, self.weights
        return self.s.call("cudnnRNNForward", self.rnn, mode, *steps, *states, *weights, *self.scratch)

    def backward_data(self) -> Callable[[], None]:
        steps = self.lengths.data.ptr, self.y_steps, self.y, self.dy, self.x_steps, self.dx
        states = self.state, *self.maybe("hx", "dhy", "dhx"), self.state, *self.maybe("cx", "dcy", "dcx")
        weights = self.weight_size, self.weights
        return self.s.call("cudnnRNNBackwardData_v8", self.rnn, *steps, *states, *weights, *self.scratch)

    def backward_weights(self) -> Callable[[], None]:
        steps = self.lengths.data.ptr, self.x_steps, self.x, self.state, *self.maybe("hx"), self.y_steps, self.y
        weights = self.weight_size, self.dweights
        return self.s.call("cudnnRNNBackwardWeights_v8", self.rnn, ADD, *steps, *weights, *self.scratch)


def _rnn(s: Setting) -> Calls:
    if s.problem.op == "rnn_forward_inference":
        return {"cudnnRNNForward": _Network(s, INFERENCE).forward(INFERENCE)}
    network = _Network(s, TRAINING)
    forward = network.forward(TRAINING)
    if s.problem.op == "rnn_forward_training":
        return {"cudnnRNNForward": forward}
    forward()
    backward = network.backward_data()
    if s.problem.op == "rnn_backward_data":
        return {"cudnnRNNBackwardData_v8": backward}
    backward()
    return {"cudnnRNNBackwardWeights_v8": network.backward_weights()}


CALLS: dict[str, Callable[[Setting], Calls]] = {
    "rnn_backward_data": _rnn,
    "rnn_backward_weights": _rnn,
    "rnn_forward_inference": _rnn,
    "rnn_forward_training": _rnn,
}
