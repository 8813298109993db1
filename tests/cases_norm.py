"""Tables of normalisation cases, and how their inputs are filled; see cases.py."""

from __future__ import annotations

import numpy as np
from cases import FLOAT, INPUT_ONLY, LAYOUTS, Turns, blend, tensor
from helper import Case, prepares

BATCH = (
    "batch_normalization_forward_training",
    "batch_normalization_forward_inference",
    "batch_normalization_backward",
)


@prepares(*BATCH)
def _plausible(problem, numbers, buffers, rng):
    """Make variances positive, and saved statistics those of x as a forward pass would have stored them."""
    unread = problem.unread(numbers)
    for name, buffer in buffers.items():
        if "variance" in name and name not in unread:
            buffer.array[...] = np.abs(buffer.array) + 0.25
    if "saved_mean" in buffers and "saved_mean" in problem.inputs:
        x = buffers["x"].array.astype(np.float64)
        axes = tuple(i for i, (a, b) in enumerate(zip(x.shape, problem.saved_mean.dims, strict=True)) if b == 1 != a)
        buffers["saved_mean"].array[...] = x.mean(axes, keepdims=True)
        variance = x.var(axes, keepdims=True)
        buffers["saved_inv_variance"].array[...] = 1 / np.sqrt(variance + numbers["epsilon"])


# dims and mode; the last ones are sliced on GPUs, on CPUs, and across
_SHAPES = [
    ((2, 3, 5, 7), "spatial"),
    ((5, 8, 4, 4), "spatial"),
    ((3, 5, 1, 1), "spatial"),
    ((1, 1, 9, 9), "spatial"),
    ((2, 3, 2, 3, 4), "spatial"),
    ((6, 37, 3, 3), "spatial"),
    ((7, 3, 4, 5), "per_activation"),
    ((2, 4, 2, 3, 4), "per_activation"),
    ((9, 40, 1, 1), "per_activation"),
    ((3, 16, 7, 7), "spatial"),
    ((2, 5, 6, 16), "spatial"),
    ((4, 2, 8, 8), "per_activation"),
]
_LONG = [
    ("f32:1x2x182x184", "spatial", ""),
    ("f32:3x8x10x11:nhwc", "spatial", ""),
    ("f64:1x2x131x129", "spatial", ""),
    ("f16:301x1x2x4", "per_activation", ""),
    ("bf16:2x20x13x15:nhwc", "spatial", ""),
]
_LONG_ON_CPUS = ("f32:3x5x90x91:nhwc", "f32:1x1x181x187", "f64:2x19x80x61:nhwc", "f32:1x300x11x4:nhwc")


def _parameter(dims, mode, dtype, turn):
    """Return the text form of scale, bias and the like, every third one with gaps."""
    sizes = (1, *dims[1:]) if mode == "per_activation" else (1, dims[1], *(1,) * (len(dims) - 2))
    return tensor(dtype.accumulator, sizes, ("nchw", "nchw", "spread")[turn % 3])


def _batch_cases():
    turns, inputs = Turns(), Turns((*LAYOUTS, *INPUT_ONLY))
    for i, (dims, mode) in enumerate(_SHAPES):
        dtype, layout, numbers = turns("forward")
        x = tensor(dtype, dims, inputs("x")[1])
        p = _parameter(dims, mode, dtype, i)
        running = f" running_mean={p} running_variance={p} exponential_average_factor={(0.25, 1)[i % 2]}"
        saved = f" saved_mean={p} saved_inv_variance={p}"
        extra = (running + saved, "", saved, running)[i % 4]
        y = tensor(dtype, dims, layout)
        yield Case(f"{BATCH[0]} x={x} y={y} scale={p} bias={p} mode={mode}{extra} {numbers} epsilon=0.001")
        yield Case(f"{BATCH[1]} x={x} y={y} scale={p} bias={p} mode={mode} {numbers}", everywhere=i < 9)
        dtype, layout, numbers = turns("backward")
        x, dy, p = tensor(dtype, dims, inputs("x")[1]), tensor(dtype, dims, layout), _parameter(dims, mode, dtype, i)
        dx = tensor(dtype, dims, turns("dx")[1])
        saved = f" saved_mean={p} saved_inv_variance={p}" if i % 2 else ""
        alpha, beta = (word.partition("=")[2] for word in numbers.split())
        numbers = f"alpha_data_diff={alpha} beta_data_diff={beta} alpha_param_diff={beta} beta_param_diff={alpha}"
        yield Case(f"{BATCH[2]} x={x} dy={dy} dx={dx} scale={p} dscale={p} dbias={p} mode={mode}{saved} {numbers}")
    for x, mode, numbers in _LONG:
        rest = f"mode={mode}{numbers}"
        yield Case(f"{BATCH[0]} x={x} {rest}")
        yield Case(f"{BATCH[1]} x={x} {rest}", everywhere=False)
        yield Case(f"{BATCH[2]} x={x} {rest} beta_param_diff=0.5")
    for i, x in enumerate(_LONG_ON_CPUS):
        p = f"{'f64' if '64:' in x else 'f32'}:1x{x.split('x')[1]}x1x1"
        saved = f" saved_mean={p} saved_inv_variance={p}"
        running = f" running_mean={p} running_variance={p} exponential_average_factor=0.5"
        yield Case(f"{BATCH[0]} x={x}{saved}{running} beta={i % 2}", everywhere=False)
        yield Case(f"{BATCH[1]} x={x}", everywhere=False)
        yield Case(f"{BATCH[2]} x={x}{saved if i % 2 else ''} beta_data_diff={i % 2}", everywhere=False)
        yield Case(f"{BATCH[2]} x={x}{'' if i % 2 else saved} beta_param_diff={i % 2}", everywhere=False)
    dims, p = (1, 2, 182, 93), "f32:1x2x1x1"
    saved = f"saved_mean={p} saved_inv_variance={p}"
    x = tensor(FLOAT, dims)
    yield Case(f"{BATCH[2]} x={x} {saved}")
    yield Case(f"{BATCH[0]} x=f32:2x3x5x8 {blend(2, 0)}", alias=("y", "x"))
    yield Case(f"{BATCH[0]} x=f32:1x2x182x184 {blend(2, 0.5)}", alias=("y", "x"))
    yield Case(f"{BATCH[0]} x=f32:3x5x90x91:nhwc {blend(2, 0.5)}", alias=("y", "x"), everywhere=False)
    yield Case(f"{BATCH[1]} x=f32:2x3x5x8", alias=("y", "x"))
    yield Case(f"{BATCH[2]} x=f32:2x3x5x8 beta_data_diff=1", alias=("dx", "dy"))
    yield Case(f"{BATCH[2]} x=f32:3x8x10x11:nhwc", alias=("dx", "dy"))
    for empty in ("0x3x4x5", "2x0x4x5", "2x3x0x5"):
        yield Case(f"{BATCH[0]} x=f32:{empty} saved_mean={_empty(empty)} saved_inv_variance={_empty(empty)}")
        yield Case(f"{BATCH[1]} x=f32:{empty}")
        yield Case(f"{BATCH[2]} x=f32:{empty} beta_param_diff=2")


def _empty(dims):
    return f"f32:1x{dims.split('x')[1]}x1x1"


BATCH_CASES = list(_batch_cases())
