"""Memory for the cuDNN peer: random values, and what a backward call reads of the calls before it, made by those."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from portadnn.ops.batch_norm import BatchNormalizationForwardTraining
from portadnn.ops.dropout import STATES_SIZE, DropoutForward
from portadnn.ops.lrn import LRNCrossChannelForward
from portadnn.ops.pooling import PoolingForward
from portadnn.ops.rnn.problems import RNNBackwardData, RNNForwardTraining
from portadnn.problem import Problem, TensorSpec

from .call import PERIOD, random_values, special_values

Before = Iterator[tuple[Problem, dict[str, str]]]
SMALL = 0.1  # what a network's random parameters are multiplied by, so that its states do not saturate


class Inputs:
    """The memory of a problem's tensors, by name; what other calls need besides is made when it is met."""

    def __init__(self, cupy: Any, problem: Problem) -> None:
        self._cupy = cupy
        self._problem = problem
        self._memory: dict[str, Any] = {}

    def address(self, name: str, spec: TensorSpec, least: int = 0) -> int:
        """Return where a tensor's memory begins: random values at first, for bytes zeros, and at least that many."""
        if name not in self._memory or self._memory[name].nbytes < least:
            size = max(least, spec.span * spec.dtype.itemsize)
            self._memory[name] = self._values(name, spec) if spec.dtype.is_float else self._cupy.zeros(size, "u1")
        return self._memory[name].data.ptr  # type: ignore[no-any-return]

    def bytes(self, count: int) -> int:
        """Return where new scratch memory begins; it stays as long as this object."""
        name = f"scratch {len(self._memory)}"
        self._memory[name] = self._cupy.zeros(max(count, 1), "u1")
        return self._memory[name].data.ptr  # type: ignore[no-any-return]

    def _values(self, name: str, spec: TensorSpec) -> Any:
        values = special_values(self._problem, name) if name in self._problem.names else None
        if values is not None:
            return self._cupy.asarray(values.view("u1"))
        row = TensorSpec.packed(spec.dtype, (1, 1, max(min(spec.span, PERIOD), 1)))
        values = random_values(row, len(self._memory))
        if name == "w" and self._problem.op.startswith("rnn"):
            values *= values.dtype.type(SMALL)
        return self._cupy.tile(self._cupy.asarray(values.view("u1")), -(-spec.span // PERIOD))


def _made(
    kind: type[Problem], problem: Problem, names: Mapping[str, str], **more: Any
) -> tuple[Problem, dict[str, str]]:
    """Return a problem of another kind with the fields of this one, some under other names, and the names."""
    values = {f.name: getattr(problem, names.get(f.name, f.name), None) for f in fields(kind)}  # type: ignore[arg-type]
    values |= more
    kind.complete({name: value for name, value in values.items() if value is not None})
    return kind(**values), dict(names)


def _forward(kind: type[Problem]) -> Callable[[Any], Before]:
    def before(problem: Any) -> Before:
        yield _made(kind, problem, {})

    return before


def _batch_norm(problem: Any) -> Before:
    if problem.saved_mean is not None:
        yield _made(BatchNormalizationForwardTraining, problem, {"y": "dx", "bias": "dbias"})


def _dropout(problem: Any) -> Before:
    states = TensorSpec.packed(problem.reserve_space.dtype, (STATES_SIZE,))
    yield _made(DropoutForward, problem, {"x": "dy", "y": "dx"}, states=states)


def _network(problem: Any) -> dict[str, Any]:
    """Return the tensors that one pass of a network may lack and another wants."""
    dtype, network = problem.dtype, problem.network
    data = problem.data
    more = {"x": data, "dx": data, "y": problem.y, "dy": problem.y, "cx": None}
    return more | {"w": TensorSpec.packed(dtype, (network.size, 1, 1))}


def _rnn(problem: Any, kinds: tuple[type[Problem], ...]) -> Before:
    more = _network(problem)
    for kind in kinds:
        wanted = {name: spec for name, spec in more.items() if name in kind.tensor_names()}
        yield _made(kind, problem, {}, **wanted)


BEFORE: dict[str, Callable[[Any], Before]] = {
    "batch_normalization_backward": _batch_norm,
    "dropout_backward": _dropout,
    "lrn_cross_channel_backward": _forward(LRNCrossChannelForward),
    "pooling_backward": _forward(PoolingForward),
    "rnn_backward_data": lambda problem: _rnn(problem, (RNNForwardTraining,)),
    "rnn_backward_weights": lambda problem: _rnn(problem, (RNNForwardTraining, RNNBackwardData)),
}
