"""Programs of the layers of cuDNN 5: pooling, activations, softmax, normalisations, dropout, spatial transformers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .layouts import NUMPY
from .sides import Memory, Side

KINDS = ("FLOAT", "FLOAT", "FLOAT", "HALF", "DOUBLE")
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30)


def given(side: Side, kind: str, dims: tuple[int, ...], special: float = 0.4) -> Any:
    """Return numbers, in some programs with infinities and NaN, in few with one number alone."""
    array = side.rng.integers(-40, 41, dims) / 8.0
    if side.draw.random() < special:
        odd = side.rng.choice(SPECIAL, dims)
        array = np.where(side.rng.random(dims) < side.draw.choice((0.05, 0.4)), odd, array)
    if side.draw.random() < special / 8:
        array = np.full(dims, side.draw.choice(SPECIAL))
    with np.errstate(over="ignore"):
        return array.astype(NUMPY[kind])


def spread(side: Side, kind: str, array: Any, layout: int) -> tuple[Any, Any]:
    """Return an array's descriptor, and it as it lies: NCHW, NHWC, or NCHW with gaps (2)."""
    dims = array.shape
    if layout < 2:
        moved = np.moveaxis(array, 1, -1) if layout == 1 else array
        return side.tensor(kind, dims, layout), np.ascontiguousarray(moved)
    wide = np.zeros((*dims[:-1], dims[-1] + 1), array.dtype)
    wide[..., :-1] = array
    strides = tuple(math.prod(wide.shape[i + 1 :]) for i in range(len(dims)))
    return side.tensor(kind, dims, strides=strides), wide


class Tensors:
    """Tensors of one program, each with a descriptor and memory."""

    def __init__(self, side: Side, kind: str) -> None:
        self.side, self.kind, self.laid = side, kind, {}
        self.scale = "float64" if kind == "DOUBLE" else "float32"
        self.memory: dict[str, Memory] = {}

    def add(self, name: str, array: Any, layout: int = 0, output: bool = False) -> tuple[Any, Memory]:
        desc, lying = spread(self.side, self.kind, array, layout)
        self.laid[name] = lying.shape
        self.memory[name] = self.side.put(lying, name, output=output)
        return desc, self.memory[name]

    def number(self, *choices: float) -> Any:
        return self.side.host(self.side.draw.choice(choices), self.scale)

    def blending(self) -> tuple[Any, Any, bool]:
        """Return alpha and beta, and whether they leave a result as it is."""
        alpha, beta = self.side.draw.choice(((1, 0), (1, 0), (1, 0), (2, 0), (1, 1), (2, 1)))
        return self.side.host(alpha, self.scale), self.side.host(beta, self.scale), (alpha, beta) == (1, 0)

    def compare(self, name: str, **how: Any) -> None:
        self.side.output(name, self.side.read(self.memory[name], NUMPY[self.kind]), **how)


def pooling(side: Side) -> None:
    """cudnnPoolingForward and cudnnPoolingBackward, also of windows of -inf and NaN."""
    draw, kind = side.draw, side.draw.choice(KINDS)
    spatial = draw.choice((2, 2, 2, 3))
    mode, nans = draw.choice((0, 0, 1, 2, 3)), draw.choice((0, 1))
    window, stride = ([draw.randint(1, 3) for _ in range(spatial)] for _ in range(2))
    padding = [draw.randint(0, draw.choice((w - 1, w - 1, w))) for w in window]
    dims = draw.randint(1, 2), draw.randint(1, 3), *(draw.randint(2, 7) for _ in range(spatial))
    setting = mode, nans, spatial, tuple(window), tuple(padding), tuple(stride)
    desc = side.descriptor("Pooling", "cudnnSetPoolingNdDescriptor", *setting)
    layout, tensors = draw.choice((0, 0, 1, 2)), Tensors(side, kind)
    x = given(side, kind, dims)
    if mode == 2 and any(p >= w for p, w in zip(padding, window, strict=True)):
        side.tag("window of padding")
    if (kind == "DOUBLE" or layout == 2) and mode in (0, 3) and not np.isfinite(x).all():
        side.tag("no gradient to NaN")
    x_desc, x_memory = tensors.add("x", x, layout)
    out = side.call("cudnnGetPoolingNdForwardOutputDim", desc, x_desc, len(dims))
    y_dims = tuple(int(n) for n in out[: len(dims)])
    side.output("dims", y_dims)
    y_desc, y = tensors.add("y", given(side, kind, y_dims, 0), layout, output=True)
    numbers = tensors.blending()
    side.call("cudnnPoolingForward", side.handle, desc, numbers[0], x_desc, x_memory, numbers[1], y_desc, y)
    tensors.compare("y", length=math.prod(window))
    if not numbers[2]:
        return
    y_again = side.put(side.read(y, NUMPY[kind]), "y again")
    dy_desc, dy = tensors.add("dy", given(side, kind, y_dims, 0), layout)
    dx_desc, dx = tensors.add("dx", given(side, kind, dims, 0), layout, output=True)
    numbers = tensors.number(1, 1, 2), tensors.number(0, 0, 1)
    last = numbers[1], dx_desc, dx
    side.call(
        "cudnnPoolingBackward", side.handle, desc, numbers[0], y_desc, y_again, dy_desc, dy, x_desc, x_memory, *last
    )
    tensors.compare("dx", length=math.prod(window))


def activation(side: Side) -> None:
    """cudnnActivationForward and Backward of every mode, also of NaN and infinities."""
    draw, kind = side.draw, side.draw.choice(KINDS)
    mode, nans = draw.choice((0, 1, 2, 3, 4, 5, 6)), draw.choice((0, 1))
    coefficient = draw.choice((0.0, 1.0, 2.5, 6.0, -1.0, np.inf if mode == 3 else 0.5))
    desc = side.descriptor("Activation", "cudnnSetActivationDescriptor", mode, nans, coefficient)
    if mode == 6 and draw.random() < 0.5:
        side.call("cudnnSetActivationDescriptorSwishBeta", desc, draw.choice((1.0, 0.5)))
    dims = tuple(draw.randint(1, 5) for _ in range(draw.choice((4, 4, 5))))
    layout, tensors = draw.choice((0, 0, 1, 2)), Tensors(side, kind)
    if mode == 5:
        side.tag("identity")
    content = given(side, kind, dims)
    if mode == 6 and (np.abs(content.astype(np.float64)) > 1e4).any():
        side.tag("swish of 0")
    x_desc, x = tensors.add("x", content, layout)
    y_desc, y = tensors.add("y", given(side, kind, dims, 0), layout, output=True)
    numbers = tensors.number(1, 1, 2), tensors.number(0, 0, 1)
    side.call("cudnnActivationForward", side.handle, desc, numbers[0], x_desc, x, numbers[1], y_desc, y)
    tensors.compare("y", length=4, terms=8.0)
    given_y = given(side, kind, dims)
    y_desc, y = tensors.add("given y", given_y, layout)
    dy_desc, dy = tensors.add("dy", given(side, kind, dims, 0.1), layout)
    dx_desc, dx = tensors.add("dx", given(side, kind, dims, 0), layout, output=True)
    numbers = tensors.number(1, 1, 2), tensors.number(0, 0, 1)
    last = numbers[1], dx_desc, dx
    side.call("cudnnActivationBackward", side.handle, desc, numbers[0], y_desc, y, dy_desc, dy, x_desc, x, *last)
    tensors.compare("dx", length=4, terms=64.0)


def softmax(side: Side) -> None:
    """cudnnSoftmaxForward and Backward, also of rows of -inf, infinities and NaN."""
    draw, kind = side.draw, side.draw.choice(KINDS)
    algo, mode = draw.choice((0, 1, 1, 2)), draw.choice((0, 1))
    dims = draw.randint(1, 3), draw.randint(1, 9), draw.randint(1, 4), draw.randint(1, 4)
    layout, tensors = draw.choice((0, 0, 1)), Tensors(side, kind)
    x = given(side, kind, dims, 0.3)
    if draw.random() < 0.2:
        x[0, :, 0] = -np.inf
    if (x == -np.inf).all((1, 2, 3) if mode == 0 else 1).any():
        side.tag("softmax of nothing")
    x_desc, x_memory = tensors.add("x", x, layout)
    y_desc, y = tensors.add("y", given(side, kind, dims, 0), layout, output=True)
    numbers = tensors.number(1, 1, 2), tensors.number(0, 0, 1)
    side.call("cudnnSoftmaxForward", side.handle, algo, mode, numbers[0], x_desc, x_memory, numbers[1], y_desc, y)
    tensors.compare("y", length=36, terms=16.0)
    y_desc, y = tensors.add("given y", np.abs(given(side, kind, dims, 0.1)) / 40, layout)
    dy_desc, dy = tensors.add("dy", given(side, kind, dims, 0.1), layout)
    dx_desc, dx = tensors.add("dx", given(side, kind, dims, 0), layout, output=True)
    numbers = tensors.number(1, 1, 2), tensors.number(0, 0, 1)
    last = numbers[1], dx_desc, dx
    side.call("cudnnSoftmaxBackward", side.handle, algo, mode, numbers[0], y_desc, y, dy_desc, dy, *last)
    tensors.compare("dx", length=144, terms=64.0)


def response(side: Side) -> None:
    """cudnnLRNCrossChannelForward and Backward, and the limits of the descriptor."""
    draw, kind = side.draw, side.draw.choice(KINDS)
    n = draw.choice((1, 2, 3, 4, 5, 7, 16, 16, 17, 0))
    alpha, beta, k = (
        draw.choice((1e-4, 0.5, 1.0, 0.0)),
        draw.choice((0.75, 0.5, 1.0, 0.01, 0.005)),
        draw.choice((2.0, 1.0, 1e-5, 1e-6)),
    )
    desc = side.descriptor("LRN", "cudnnSetLRNDescriptor", n, alpha, beta, k)
    dims = draw.randint(1, 3), draw.randint(1, 9), draw.randint(1, 4), draw.randint(1, 4)
    layout, tensors = draw.choice((0, 0, 1)), Tensors(side, kind)
    x_desc, x = tensors.add("x", given(side, kind, dims, 0), layout)
    y_desc, y = tensors.add("y", given(side, kind, dims, 0), layout, output=True)
    numbers = tensors.blending()
    side.call("cudnnLRNCrossChannelForward", side.handle, desc, 0, numbers[0], x_desc, x, numbers[1], y_desc, y)
    tensors.compare("y", length=64, terms=64.0 / k**beta)
    if not numbers[2]:
        return
    result = side.put(side.read(y, NUMPY[kind]), "given y")
    dy_desc, dy = tensors.add("dy", given(side, kind, dims, 0), layout)
    dx_desc, dx = tensors.add("dx", given(side, kind, dims, 0), layout, output=True)
    last = side.host(0, tensors.scale), dx_desc, dx
    first = side.handle, desc, 0, side.host(1, tensors.scale)
    side.call("cudnnLRNCrossChannelBackward", *first, y_desc, result, dy_desc, dy, x_desc, x, *last)
    tensors.compare("dx", length=256, terms=512.0 / k ** (beta + 1))


def batch_norm(side: Side) -> None:
    """cudnnBatchNormalization* in training and inference, with its limits."""
    draw, kind = side.draw, side.draw.choice(("FLOAT", "FLOAT", "HALF", "DOUBLE"))
    mode, layout = draw.choice((0, 1, 1)), draw.choice((0, 0, 1))
    dims = draw.randint(1, 4), draw.randint(1, 5), draw.randint(1, 4), draw.randint(1, 4)
    tensors, parameter = Tensors(side, kind), np.float64 if kind == "DOUBLE" else np.float32
    x_desc, x = tensors.add("x", given(side, kind, dims, 0), layout)
    y_desc, y = tensors.add("y", given(side, kind, dims, 0), layout, output=True)
    derived = side.created("Tensor")
    side.call("cudnnDeriveBNTensorDescriptor", derived, x_desc, mode)
    found = side.call("cudnnGetTensorNdDescriptor", derived, 4)
    side.output("derived", [int(found[0]), found[1], *found[2], *found[3]])
    size = math.prod(dims[1:]) if mode == 0 else dims[1]
    names = "scale", "bias", "mean", "variance"
    values = {name: side.rng.random(size).astype(parameter) + 0.5 for name in names}
    one, zero = side.host(1, tensors.scale), side.host(0, tensors.scale)
    epsilon = draw.choice((1e-5, 1e-5, 1e-3, 1e-3, 1e-2, 0.0, 1e-12))
    if dims[0] * (dims[2] * dims[3] if mode == 1 else 1) == 1:
        side.tag("one number for a channel")
    if draw.random() < 0.4:
        memory = [side.put(values[name], name) for name in names]
        last = derived, *memory, epsilon
        side.call("cudnnBatchNormalizationForwardInference", side.handle, mode, one, zero, x_desc, x, y_desc, y, *last)
        tensors.compare("y", length=8, terms=32.0)
        return
    scale, bias = (side.put(values[name], name) for name in ("scale", "bias"))
    running = {name: side.put(values[name], name, output=True) for name in ("mean", "variance")}
    saved = {name: side.put(np.full(size, 3, parameter), name, output=True) for name in ("saved mean", "saved inverse")}
    last = derived, scale, bias, draw.choice((1.0, 0.1, 0.5, 0.0)), *running.values(), epsilon, *saved.values()
    side.call("cudnnBatchNormalizationForwardTraining", side.handle, mode, one, zero, x_desc, x, y_desc, y, *last)
    loose = 1e4 if epsilon < 1e-6 else 1.0
    tensors.compare("y", length=64, terms=64.0 * loose)
    for name, memory in {**running, **saved}.items():
        side.output(
            name,
            side.read(memory, parameter),
            length=64,
            terms=64.0 / max(math.sqrt(epsilon), 1e-3) ** (name == "saved inverse"),
        )
    dy_desc, dy = tensors.add("dy", given(side, kind, dims, 0), layout)
    dx_desc, dx = tensors.add("dx", given(side, kind, dims, 0), layout, output=True)
    slopes = {name: side.put(np.full(size, 3, parameter), name, output=True) for name in ("dscale", "dbias")}
    first = side.handle, mode, one, zero, one, zero, x_desc, x, dy_desc, dy, dx_desc, dx
    side.call("cudnnBatchNormalizationBackward", *first, derived, scale, *slopes.values(), epsilon, None, None)
    tensors.compare("dx", length=256, terms=512.0 * loose)
    for name, memory in slopes.items():
        side.output(name, side.read(memory, parameter), length=64, terms=512.0 * loose)


def dropout(side: Side) -> None:
    """cudnnDropout* with what is no chance, and the sizes."""
    draw, kind = side.draw, side.draw.choice(("FLOAT", "FLOAT", "HALF", "DOUBLE"))
    chance = draw.choice((*(0.0, 1.0) * 5, -0.1, 1.5))
    if not 0 <= chance <= 1:
        side.tag("dropout beyond")
    size = int(side.call("cudnnDropoutGetStatesSize", side.handle))
    states = side.put(np.zeros(size, np.uint8), "states", output=True)
    desc = side.descriptor(
        "Dropout", "cudnnSetDropoutDescriptor", side.handle, chance, states, size, draw.randint(0, 9)
    )
    dims = tuple(draw.randint(1, 5) for _ in range(4))
    tensors = Tensors(side, kind)
    x_desc, x = tensors.add("x", given(side, kind, dims), 0)
    y_desc, y = tensors.add("y", given(side, kind, dims, 0), 0, output=True)
    need = int(side.call("cudnnDropoutGetReserveSpaceSize", x_desc))
    side.output("reserve", [need])
    reserve = side.room(need, "reserve")
    side.call("cudnnDropoutForward", side.handle, desc, x_desc, x, y_desc, y, reserve, need)
    tensors.compare("y")
    dx_desc, dx = tensors.add("dx", given(side, kind, dims, 0), 0, output=True)
    side.call("cudnnDropoutBackward", side.handle, desc, x_desc, x, dx_desc, dx, reserve, need)
    tensors.compare("dx")


def transformer(side: Side) -> None:
    """cudnnSpatialTf*: the grid, samples and their gradients."""
    draw, kind = side.draw, side.draw.choice(("FLOAT", "FLOAT", "DOUBLE"))
    dtype, number = NUMPY[kind], 1 if kind == "DOUBLE" else 0
    dims = draw.randint(1, 3), draw.randint(1, 3), draw.randint(1, 5), draw.randint(1, 5)
    sizes = dims[2] + draw.randint(0, 2), draw.randint(1, 5)
    out = dims[0], dims[1], *sizes
    desc = side.descriptor("SpatialTransformer", "cudnnSetSpatialTransformerNdDescriptor", 0, number, 4, out)
    theta = side.put((side.rng.integers(-8, 9, (dims[0], 2, 3)) / 8).astype(dtype), "theta")
    grid = side.put(np.zeros((dims[0], *sizes, 2), dtype), "grid", output=True)
    side.call("cudnnSpatialTfGridGeneratorForward", side.handle, desc, theta, grid)
    side.output("grid", side.read(grid, dtype), length=8)
    places = side.put(side.rng.uniform(-1.3, 1.3, (dims[0], *sizes, 2)).astype(dtype), "places")
    tensors = Tensors(side, kind)
    x_desc, x = tensors.add("x", given(side, kind, dims, 0), 0)
    y_desc, y = tensors.add("y", given(side, kind, out, 0), 0, output=True)
    one, zero = side.host(1, tensors.scale), side.host(0, tensors.scale)
    side.call("cudnnSpatialTfSamplerForward", side.handle, desc, one, x_desc, x, places, zero, y_desc, y)
    tensors.compare("y", length=64, terms=64.0)
    dy_desc, dy = tensors.add("dy", given(side, kind, out, 0), 0)
    dx_desc, dx = tensors.add("dx", given(side, kind, dims, 0), 0, output=True)
    slope = side.put(np.full((dims[0], *sizes, 2), 3, dtype), "dgrid", output=True)
    first = side.handle, desc, one, x_desc, x, zero, dx_desc, dx
    side.call("cudnnSpatialTfSamplerBackward", *first, one, dy_desc, dy, places, zero, slope)
    tensors.compare("dx", length=256, terms=256.0)
    side.output("dgrid", side.read(slope, dtype), length=256, terms=1024.0)
    dtheta = side.put(np.zeros((dims[0], 2, 3), dtype), "dtheta", output=True)
    side.call("cudnnSpatialTfGridGeneratorBackward", side.handle, desc, places, dtheta)
    side.output("dtheta", side.read(dtheta, dtype), length=256, terms=256.0)


PROGRAMS = {
    "cudnnPooling*": pooling,
    "cudnnActivation*": activation,
    "cudnnSoftmax*": softmax,
    "cudnnLRNCrossChannel*": response,
    "cudnnBatchNormalization*": batch_norm,
    "cudnnDropout*": dropout,
    "cudnnSpatialTf*": transformer,
}
