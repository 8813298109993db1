"""Memory for the cuDNN peer: random values, and what a backward call reads of the calls before it, made by those."""

from __future__ import annotations

from typing import Any

from portadnn.problem import Problem, TensorSpec

from ..call import PERIOD, random_values, special_values

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
