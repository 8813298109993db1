"""Programs of normalisations with fused operations: cudnnBatchNormalization*Ex and cudnnNormalization*."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .layers import Tensors, given
from .sides import Memory, Side

PLAIN, ACTIVATION, ADD_ACTIVATION = range(3)
NHWC = 1


class _Setting:
    """Tensors, parameters and statistics of one program. Fused operations are drawn as the library documents them."""

    def __init__(self, side: Side) -> None:
        draw = side.draw
        self.side, self.ops = side, draw.choice((PLAIN, PLAIN, ACTIVATION, ADD_ACTIVATION))
        fused = self.ops != PLAIN
        self.kind = "HALF" if fused else draw.choice(("FLOAT", "FLOAT", "HALF", "DOUBLE"))
        self.persistent = fused or draw.random() < 0.3
        self.channels = self.persistent or draw.random() < 0.7  # or each activation for itself
        self.layout = NHWC if fused else draw.choice((0, NHWC))
        c = 8 * draw.randint(1, 3) if fused else draw.randint(1, 5)
        self.dims = draw.randint(2, 4), c, draw.randint(1, 4), draw.randint(2, 4)
        self.tensors = Tensors(side, self.kind)
        self.parameter = np.dtype(np.float64 if self.kind == "DOUBLE" else np.float32)
        self.size = self.dims[1] if self.channels else math.prod(self.dims[1:])
        self.epsilon, self.factor = draw.choice((1e-5, 1e-3, 1e-2, 1e-6)), draw.choice((1.0, 0.1, 0.5))
        self.activation = None
        if fused:
            self.activation = side.descriptor("Activation", "cudnnSetActivationDescriptor", 1, 0, 0.0)
        self.x_desc, self.x = self._tensor("x")
        self.y_desc, self.y = self._tensor("y", output=True)
        self.z_desc: Any = None
        self.z: Memory | None = None
        if self.ops == ADD_ACTIVATION:  # far from 0, where a rounding decides
            signs = side.rng.choice((-9.0, 9.0), self.dims).astype(np.float16)
            self.z_desc, self.z = self.tensors.add("z", signs, self.layout)
        self.scale, self.bias = (self._row(name) for name in ("scale", "bias"))
        self.one, self.zero = (side.host(n, self.tensors.scale) for n in (1, 0))

    def _tensor(self, name: str, output: bool = False) -> tuple[Any, Memory]:
        return self.tensors.add(name, given(self.side, self.kind, self.dims, 0), self.layout, output=output)

    def _row(self, name: str, output: bool = False) -> Memory:
        values = self.side.rng.random(self.size).astype(self.parameter) + self.parameter.type(0.5)
        return self.side.put(values, name, output=output)

    def statistics(self) -> tuple[dict[str, Memory], dict[str, Memory]]:
        """Return running statistics, and memory for those that are saved."""
        running = {name: self._row(f"running {name}", output=True) for name in ("mean", "variance")}
        return running, {name: self._row(f"saved {name}", output=True) for name in ("mean", "inverse")}

    def compare(self, name: str, memory: Memory, loose: float = 64.0) -> None:
        self.side.output(name, self.side.read(memory, self.parameter), length=64, terms=loose)

    def compare_forward(self, running: dict[str, Memory], saved: dict[str, Memory]) -> None:
        self.tensors.compare("y", length=64, terms=64.0, between=True)
        for name, memory in running.items():
            self.compare(f"running {name}", memory)
        for name, memory in saved.items():
            self.compare(f"saved {name}", memory, 64.0 / math.sqrt(self.epsilon) ** (name == "inverse"))

    def gradients(self) -> tuple[tuple[Any, Memory], tuple[Any, Memory], tuple[Any, Any], list[Memory]]:
        """Return dy, memory for dx and dz, each with its descriptor, and memory for the parameters' gradients."""
        dy, dx = self._tensor("dy"), self._tensor("dx", output=True)
        dz = self._tensor("dz", output=True) if self.ops == ADD_ACTIVATION else (None, None)
        return dy, dx, dz, [self._row(name, output=True) for name in ("dscale", "dbias")]

    def compare_backward(self, slopes: list[Memory]) -> None:
        self.tensors.compare("dx", length=256, terms=512.0, between=True)
        if self.ops == ADD_ACTIVATION:
            self.tensors.compare("dz", length=4)
        for name, memory in zip(("dscale", "dbias"), slopes, strict=True):
            self.compare(name, memory, 512.0)


def extended(side: Side) -> None:
    """cudnnBatchNormalizationForwardTrainingEx and BackwardEx."""
    s, handle = _Setting(side), side.handle
    mode = 2 if s.persistent else int(s.channels)
    derived = side.created("Tensor")
    side.call("cudnnDeriveBNTensorDescriptor", derived, s.x_desc, mode)
    asked = handle, mode, s.ops, s.x_desc, s.z_desc, s.y_desc, derived, s.activation
    room = side.call("cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize", *asked)
    last = handle, mode, s.ops, s.activation, s.x_desc
    kept = side.call("cudnnGetBatchNormalizationTrainingExReserveSpaceSize", *last)
    reserve = side.room(kept, "reserve")
    running, saved = s.statistics()
    given_ = s.x_desc, s.x, s.z_desc, s.z, s.y_desc, s.y, derived, s.scale, s.bias, s.factor, *running.values()
    spaces = s.activation, side.room(room, "workspace"), room, reserve, kept
    first = handle, mode, s.ops, s.one, s.zero
    side.call("cudnnBatchNormalizationForwardTrainingEx", *first, *given_, s.epsilon, *saved.values(), *spaces)
    s.compare_forward(running, saved)
    (dy_desc, dy), (dx_desc, dx), (dz_desc, dz), slopes = s.gradients()
    asked = handle, mode, s.ops, s.x_desc, s.y_desc, dy_desc, dz_desc, dx_desc, derived, s.activation
    room = side.call("cudnnGetBatchNormalizationBackwardExWorkspaceSize", *asked)
    given_ = s.x_desc, s.x, s.y_desc, s.y, dy_desc, dy, dz_desc, dz, dx_desc, dx, derived, s.scale, s.bias
    spaces = s.activation, side.room(room, "workspace back"), room, reserve, kept
    first = handle, mode, s.ops, s.one, s.zero, s.one, s.zero
    last = *slopes, s.epsilon, *saved.values(), *spaces
    side.call("cudnnBatchNormalizationBackwardEx", *first, *given_, *last)
    s.compare_backward(slopes)


def normalization(side: Side) -> None:
    """cudnnNormalizationForwardTraining, Inference and Backward of version 8."""
    s, handle = _Setting(side), side.handle
    how = int(s.channels), s.ops, int(s.persistent)
    parameters, statistics = side.created("Tensor"), side.created("Tensor")
    side.call("cudnnDeriveNormTensorDescriptor", parameters, statistics, s.x_desc, how[0], 1)
    running, saved = s.statistics()
    first = handle, *how, s.one, s.zero, s.x_desc, s.x, parameters, s.scale, s.bias
    if side.draw.random() < 0.3:
        if s.ops != PLAIN:
            side.tag("inference of more")
        given_ = statistics, *running.values(), s.z_desc, s.z, s.activation, s.y_desc, s.y, s.epsilon, 1
        side.call("cudnnNormalizationForwardInference", *first, *given_)
        s.tensors.compare("y", length=64, terms=64.0, between=True)
        return
    asked = s.x_desc, s.z_desc, s.y_desc, parameters, s.activation, statistics, 1
    room = side.call("cudnnGetNormalizationForwardTrainingWorkspaceSize", handle, *how, *asked)
    kept = side.call("cudnnGetNormalizationTrainingReserveSpaceSize", handle, *how, s.activation, s.x_desc, 1)
    reserve = side.room(kept, "reserve")
    given_ = s.factor, statistics, *running.values(), s.epsilon, *saved.values(), s.activation
    last = s.z_desc, s.z, s.y_desc, s.y, side.room(room, "workspace"), room, reserve, kept, 1
    side.call("cudnnNormalizationForwardTraining", *first, *given_, *last)
    s.compare_forward(running, saved)
    (dy_desc, dy), (dx_desc, dx), (dz_desc, dz), slopes = s.gradients()
    asked = s.x_desc, s.y_desc, dy_desc, dz_desc, dx_desc, parameters, s.activation, statistics, 1
    room = side.call("cudnnGetNormalizationBackwardWorkspaceSize", handle, *how, *asked)
    first = handle, *how, s.one, s.zero, s.one, s.zero
    given_ = s.x_desc, s.x, s.y_desc, s.y, dy_desc, dy, dz_desc, dz, dx_desc, dx, parameters, s.scale, s.bias, *slopes
    last = s.epsilon, statistics, *saved.values(), s.activation, side.room(room, "workspace back"), room
    side.call("cudnnNormalizationBackward", *first, *given_, *last, reserve, kept, 1)
    s.compare_backward(slopes)


PROGRAMS = {"cudnnBatchNormalization*Ex": extended, "cudnnNormalization*": normalization}
