"""The tensors of a case: filled by formula, then fitted to what the operation may be given.

Some inputs cannot be any numbers: the y of a gradient is the output of its forward pass, variances are positive, a
recurrent network's gradient reads what the forward pass kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from .._io.outside import host_memory
from ..bfloat16 import as_float64
from ..enums import DataType
from ..errors import AllocFailed
from ..operation import Filling, operations
from ..problem import PROBLEMS, Problem, TensorSpec
from .buffers import Buffer
from .cases import Case
from .data import kind_of, values
from .inputs_rnn import forward_of
from .oracle import exact

DRAWN = 24  # bytes that drawing an element takes: random bits, float64 and what is stored
Buffers = dict[str, Buffer]
Fit = Callable[[Any, Mapping[str, float], Buffers, Callable[[TensorSpec, str], Any]], None]

_FITS: dict[str, Fit] = {}


def fits(*operations: str) -> Callable[[Fit], Fit]:
    """Register a function (problem, numbers, buffers, draw) that replaces values in an operation's buffers.

    ``draw(spec, name)`` makes further numbers by formula.
    """

    def register(function: Fit) -> Fit:
        _FITS.update(dict.fromkeys(operations, function))
        return function

    return register


def drawn_buffers(case: Case) -> Buffers:
    """Return a buffer for every tensor of a case, filled by formula: the same bytes on every machine."""
    problem = case.problem
    _check_room(problem)
    unread = problem.unread(case.numbers)
    alias = case.alias or ()
    buffers: Buffers = {}
    for name, spec in zip(problem.names, problem.tensors, strict=True):
        if name in unread and name not in alias:
            poison = np.full(spec.dims, np.nan if spec.dtype.is_float else 0xA5)
            buffers[name] = Buffer.filled(spec, spec.dtype.stored(poison))
        elif name in case.fills:
            buffers[name] = Buffer.filled(spec, case.fills[name].array(spec))
        else:
            buffers[name] = Buffer.filled(spec, values(spec, kind_of(problem.op, name, case.data), case.seed, name))
    return buffers


def _check_room(problem: Problem) -> None:
    """Refuse a case whose tensors the host does not have the memory to draw.

    Raises
    ------
    AllocFailed
        It has not.
    """
    elements = sum(max(spec.span, spec.size, 0) for spec in problem.tensors if min(spec.dims, default=0) >= 0)
    there = host_memory()
    if there and elements * DRAWN > there:
        raise AllocFailed(f"the tensors of {problem.op} have {elements:,} elements; the host has {there:,} bytes")


def make_buffers(case: Case) -> Buffers:
    """Return a filled buffer for every tensor of a case; those that are not read hold NaN, or bytes of 0xA5.

    The last bits of what had to be computed may differ between processors.
    """
    problem, numbers, buffers = case.problem, case.numbers, drawn_buffers(case)

    def draw(spec: TensorSpec, name: str) -> Any:
        if name in case.fills:
            return case.fills[name].array(spec)
        return values(spec, "random", case.seed, f"{name} besides")

    record = operations().get(problem.op)
    if record is not None and record.data.fit is not None and case.expect == "SUCCESS":
        arrays = {name: buffer.array for name, buffer in buffers.items()}
        record.data.fit(Filling(problem, numbers, arrays, draw, exact))
    if problem.op in _FITS and case.expect == "SUCCESS":
        _FITS[problem.op](problem, numbers, buffers, draw)
    if case.alias is not None:
        buffers[case.alias[0]] = buffers[case.alias[1]]
    return buffers


@fits("activation_backward", "softmax_backward")
def _result_of_forward(problem: Any, numbers: Any, buffers: Buffers, draw: Any) -> None:
    """Replace the input y of a gradient by the output of the forward pass."""
    kind: Any = PROBLEMS[problem.op.replace("_backward", "_forward")]
    x, y = buffers.get("x", buffers["y"]), buffers["y"]
    parameters = {f.name: getattr(problem, f.name) for f in fields(kind) if f.name not in ("x", "y")}
    forward = kind(x=x.spec, y=y.spec, **parameters)
    found = exact(forward, [x.array.copy(), y.array], {"alpha": 1.0, "beta": 0.0})
    y.array[...] = y.spec.dtype.stored(found["y"])


@fits("dropout_forward")
def _states(problem: Any, numbers: Any, buffers: Buffers, draw: Any) -> None:
    """Keep a random seed, and let a draw's low word be about to pass 32 bits and no work-group be through."""
    states = buffers["states"].array
    states[8:12] = 255
    states[16:32] = 0


@fits(
    "batch_normalization_forward_training",
    "batch_normalization_forward_inference",
    "batch_normalization_backward",
    "normalization_forward",
    "normalization_backward",
)
def _plausible(problem: Any, numbers: Mapping[str, float], buffers: Buffers, draw: Any) -> None:
    """Make variances positive, and saved statistics those of x as a forward pass would have stored them."""
    unread = problem.unread(numbers)
    for name, buffer in buffers.items():
        if "variance" in name and name not in unread:
            positive = np.abs(as_float64(buffer.array)) + 0.25
            buffer.array[...] = buffer.spec.dtype.stored(positive)
    if "saved_mean" in buffers and "saved_mean" in problem.inputs and problem.x.size:
        dims, x = problem.saved_mean.dims, as_float64(buffers["x"].array)
        if getattr(problem, "groups", 1) > 1:
            x, dims = x.reshape(*dims[:2], -1), (*dims[:2], 1)
        axes = tuple(i for i, (a, b) in enumerate(zip(x.shape, dims, strict=True)) if b == 1 != a)
        with np.errstate(all="ignore"):
            statistics = {
                "saved_mean": x.mean(axes),
                "saved_inv_variance": 1 / np.sqrt(x.var(axes) + numbers["epsilon"]),
            }
        for name, found in statistics.items():
            buffers[name].array[...] = buffers[name].spec.dtype.stored(found.reshape(problem.saved_mean.dims))


@fits("rnn_forward_inference", "rnn_forward_training", "rnn_backward_data", "rnn_backward_weights")
def _sensible(problem: Any, numbers: Any, buffers: Buffers, draw: Any) -> None:
    """Make parameters whose sums stay of order one, and what the forward pass would have left for a gradient."""
    scale = 1 / np.sqrt(problem.hidden_size)

    def stored(spec: TensorSpec, name: str) -> Any:
        size = scale if name == "w" else 1.0
        return spec.dtype.stored(size * as_float64(draw(spec, name)))

    if "w" in buffers:
        buffers["w"].array[...] = stored(buffers["w"].spec, "w")
    if "backward" not in problem.op:
        return
    forward: Problem = forward_of(problem)
    tensors = {}
    for name, spec in zip(forward.names, forward.tensors, strict=True):
        if name in buffers and name in forward.inputs:
            tensors[name] = buffers[name].array.copy()
        elif name == "reserve":
            tensors[name] = np.zeros(spec.dims, np.uint8)
        else:
            tensors[name] = draw(spec, name) if spec.dtype is DataType.UINT8 else stored(spec, name)
    found = exact(forward, [tensors[name] for name in forward.names], {})
    buffers["y"].array[...] = buffers["y"].spec.dtype.stored(found["y"])
    buffers["reserve"].array[...] = found["reserve"]
