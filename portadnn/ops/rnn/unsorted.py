"""Sequences that are not longest first: the states of a batch, in the order in which networks take them and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ...descriptors import TensorView
from ...dispatch.arrays import spec_of
from ...enums import DataType
from ...handle import Handle
from ...problem import TensorSpec
from ..tensor import set_tensor, transform_tensor


class Sequences(Protocol):
    """What is asked of a batch of sequences.

    Attributes
    ----------
    order : tuple of int
        The sequences, longest first; those without steps last.
    sorted : bool
        Whether they lie so, each with a step.
    count : int
        Number of sequences that have steps.
    """

    @property
    def dtype(self) -> DataType: ...
    @property
    def batch(self) -> int: ...
    @property
    def order(self) -> tuple[int, ...]: ...
    @property
    def sorted(self) -> bool: ...
    @property
    def count(self) -> int: ...


def longest_first(lengths: tuple[int, ...]) -> tuple[int, ...]:
    """Return the numbers of the sequences, longest first; of equal ones the first is first."""
    return tuple(sorted(range(len(lengths)), key=lambda place: -lengths[place]))


@dataclass(frozen=True)
class States:
    """Hidden states and cells of sequences that are not longest first: (layers, batch, size) in another order.

    A network gets those of the sequences that have steps. Final states of the others are their initial ones, and
    gradients of their initial states those of the final ones.
    """

    handle: Handle
    value: Sequences

    def _pairs(self, theirs: Any, ours: Any, *, empty: bool = False) -> Iterator[tuple[Any, Any]]:
        """Return pairs of the states of each run of sequences in both orders; or of those without steps in both."""
        wrap, batch = self.handle.device.wrap, self.value.batch
        dims, dtype = spec_of(self.handle.device.signature(theirs), "state").dims, self.value.dtype
        layers, size = dims[0], dims[2]
        count = self.value.count
        places = range(count, batch) if empty else range(count)
        for to, from_, rows in runs([(self.value.order[place], place) for place in places]):
            part = (layers, rows, size)
            own = TensorSpec(dtype, part, (batch * size, size, 1))
            other = own if empty else TensorSpec(dtype, part, (count * size, size, 1))
            yield (
                wrap(TensorView(own, theirs, to * size), "state"),
                wrap(TensorView(other, ours, (to if empty else from_) * size), "state"),
            )

    def read(self, *states: Any) -> list[Any]:
        """Return initial states, or gradients of final ones, as a network takes them; None stays."""
        if self.value.sorted:
            return list(states)
        return [None if state is None else self._sorted(state) for state in states]

    def _room(self, state: Any) -> Any:
        if not self.value.count:
            return None
        dims = spec_of(self.handle.device.signature(state), "state").dims
        return self.handle.device.empty(TensorSpec.packed(self.value.dtype, (dims[0], self.value.count, dims[2])))

    def _sorted(self, state: Any) -> Any:
        if not self.value.count:
            return None
        found = self._room(state)
        for theirs, ours in self._pairs(state, found):
            transform_tensor(self.handle, theirs, ours)
        return found

    def room(self, *states: Any) -> list[Any]:
        """Return memory for what a network writes; None stays."""
        if self.value.sorted:
            return list(states)
        return [None if state is None else self._room(state) for state in states]

    def write(self, state: Any, found: Any, initial: Any) -> None:
        """Write a final state in its order, with `initial` (None: zeros) for sequences without steps."""
        if state is None or self.value.sorted:
            return
        for theirs, ours in self._pairs(state, found) if self.value.count else ():
            transform_tensor(self.handle, ours, theirs)
        for theirs, ours in self._pairs(state, state if initial is None else initial, empty=True):
            if initial is None:
                set_tensor(self.handle, theirs, 0.0)
            else:
                transform_tensor(self.handle, ours, theirs)


def runs(pairs: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Return runs of neighbours in both places as (first, first of the other, count)."""
    found: list[tuple[int, int, int]] = []
    for here, there in pairs:
        last = found[-1] if found else None
        if last and (last[0] + last[2], last[1] + last[2]) == (here, there):
            found[-1] = (*last[:2], last[2] + 1)
        else:
            found.append((here, there, 1))
    return found
