"""LSTMs whose hidden state is projected: y = P h goes to the next step and layer in place of h.

The steps are those of other LSTMs, over h: R y of the step before is (R P) h, a matrix that is multiplied once for each
layer. What is linear in P is left to products over all rows at once: outputs y = P h, R times the initial state, and
gradients of R, P and the initial state from those of the gates and outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from portadnn.ops.rnn.layout import Step

from ...base import Device, Launch, TensorArg, WorkspaceArg
from ..gemm.operands import Matrix
from ..gemm.product import Gemm
from .backward import Backward
from .forward import Forward
from .passes import Pass, Place, Rows
from .weights import runs


def ends(steps: list[Step]) -> list[tuple[int, int, int]]:
    """Return where sequences end, as (row, sequence, rows)."""
    return [(s.first + s.after_rows, s.after_rows, s.rows - s.after_rows) for s in steps if s.after_rows < s.rows]


class _Projected(Pass):
    """What both passes share: R P, P and rows that are copied."""

    folded: WorkspaceArg

    def more_scratch(self) -> None:
        network = self.network
        self.folded = self.scratch(network.directions * network.mode.gates * network.hidden * network.hidden)

    def r(self, layer: int) -> Matrix:
        """Return R, (gates * hidden, proj)."""
        return self.parameters("w", layer, self.network.matrix(layer, 0, True), self.network.proj)

    def projection(self, layer: int) -> Matrix:
        """Return P, (proj, hidden)."""
        return self.parameters("w", layer, self.network.projection(layer, 0), self.network.hidden)

    def recurrent(self, layer: int) -> Matrix:
        hidden = self.network.hidden
        return Matrix(self.folded, 0, hidden, batch=self.network.mode.gates * hidden * hidden)

    def fold(self, layer: int) -> Gemm:
        """Return R P."""
        network = self.network
        sizes = network.mode.gates * network.hidden, network.hidden, network.proj
        operands = self.r(layer), self.projection(layer), self.recurrent(layer)
        return Gemm(self.dtype, *sizes, *operands, network.directions)

    def packing(self, device: Device, layer: int) -> Iterator[Launch]:
        yield from self.fold(layer).launches(device, self.products)
        yield from super().packing(device, layer)

    def gates_of_rows(self, place: Place) -> Matrix:
        """Return the gates of all rows, those of a direction first."""
        slots = self.network.mode.slots * self.network.hidden
        return Matrix(*place, self.network.directions * slots, batch=slots)

    def state_rows(self, name: str, layer: int, direction: int, sequence: int) -> Rows:
        """Return rows of a hidden state from a sequence on."""
        proj = self.network.proj
        first = ((layer * self.network.directions + direction) * self.sequence.batch + sequence) * proj
        return (self.tensor(name), first), proj, True

    def output_rows(self, place: Place, row: int, direction: int, *, stored: bool = False) -> Rows:
        """Return a direction's part of rows of outputs."""
        network = self.network
        return (place[0], place[1] + row * network.width + direction * network.proj), network.width, stored


class ProjectedForward(_Projected, Forward):
    """Forward inference and training."""

    def more_scratch(self) -> None:
        super().more_scratch()
        network = self.network
        self._started = self.scratch(network.units * network.mode.slots * self.sequence.batch)
        self._unprojected = self.scratch(1 if self.training else self.rows_of(1))
        self.h0 = self.scratch(self.state_size())

    def hidden(self, layer: int) -> Place:
        if self.training:
            return self.tensor("reserve"), self.problem.kept.unprojected(layer)
        return self._unprojected, 0

    def outputs(self, layer: int) -> Place:
        if layer == self.network.layers - 1:
            return self.tensor("y"), 0
        return super().hidden(layer)

    def initial_states(self, device: Device) -> Iterator[Launch]:
        yield self.elements(device, "rnn_zero", (self.h0,), self.state_size())
        if isinstance(self.c0, WorkspaceArg):
            yield self.initial(device, "cx", self.c0)

    def written(self, layer: int) -> tuple[tuple[str, str, bool], ...]:
        return (("cy", "HAS_CY", self.has("cy")),)

    def all_gemms(self, layer: int) -> Iterator[Gemm]:
        yield from self.gemms(layer)
        yield self.fold(layer)
        yield self._projecting(layer)
        if self.has("hx"):
            yield self._starting(layer)

    def _starting(self, layer: int) -> Gemm:
        """Return R times the initial state."""
        network, batch = self.network, self.sequence.batch
        gates, proj = network.mode.gates * network.hidden, network.proj
        (arg, first), *_ = self.state_rows("hx", layer, 0, 0)
        states = replace(self.matrix((arg, first), proj, stored=True), batch=batch * proj)
        to = Matrix(self._started, 0, gates, batch=batch * gates)
        return Gemm(self.dtype, batch, gates, proj, states, self.r(layer).turned, to, network.directions)

    def _projecting(self, layer: int) -> Gemm:
        """Return P h of all rows."""
        network = self.network
        states = Matrix(*self.hidden(layer), network.units, batch=network.hidden)
        stored = layer == network.layers - 1
        to = replace(self.matrix(self.outputs(layer), network.width, stored=stored), batch=network.proj)
        sizes = self.sequence.rows, network.proj, network.hidden
        return Gemm(self.dtype, *sizes, states, self.projection(layer).turned, to, network.directions)

    def before_steps(self, device: Device, layer: int) -> Iterator[Launch]:
        if not self.has("hx"):
            return
        network, batch = self.network, self.sequence.batch
        yield from self._starting(layer).launches(device, self.products)
        gates, first = self.gates(layer)
        numbers = network.mode.gates * network.hidden
        for d in range(network.directions):
            for initial, row, source, count in runs(self.sequence.steps(d)):
                if initial:
                    from_: Rows = ((self._started, (d * batch + source) * numbers), numbers, False)
                    pitch = network.directions * numbers
                    to: Rows = ((gates, first + row * pitch + d * numbers), pitch, False)
                    yield self.copied(device, count, numbers, from_, to, add=True)

    def after_steps(self, device: Device, layer: int) -> Iterator[Launch]:
        yield from self._projecting(layer).launches(device, self.products)
        if not self.has("hy"):
            return
        for d in range(self.network.directions):
            for row, sequence, count in ends(self.sequence.steps(d)):
                from_ = self.output_rows(self.outputs(layer), row, d, stored=layer == self.network.layers - 1)
                to = self.state_rows("hy", layer, d, sequence)
                yield self.copied(device, count, self.network.proj, from_, to)


class ProjectedBackward(_Projected, Backward):
    """Backward data; the reserve space gets the gradient of every output for backward weights."""

    final = ("dcy",)
    first = ("dcx",)

    def more_scratch(self) -> None:
        super().more_scratch()
        self._unprojected = self.scratch(self.rows_of(1))
        self._before = self.scratch(self.sequence.rows * self.network.width)

    def gradient(self, layer: int) -> Place:
        """Return where the gradient of a layer's outputs lies."""
        return self.tensor("reserve"), self.kept.gradient(layer)

    def gradient_above(self, layer: int) -> TensorArg | WorkspaceArg:
        return self._unprojected

    def all_gemms(self, layer: int) -> Iterator[Gemm]:
        yield from self.gemms(layer)
        yield self.fold(layer)
        yield self._through_projection(layer)
        yield self._to_step_before(layer)

    def _through_projection(self, layer: int) -> Gemm:
        """Return the gradient of h: P' times that of the outputs, as far as it comes from above."""
        network = self.network
        gradients = Matrix(*self.gradient(layer), network.width, batch=network.proj)
        to = Matrix(self._unprojected, 0, network.units, batch=network.hidden)
        sizes = self.sequence.rows, network.hidden, network.proj
        return Gemm(self.dtype, *sizes, gradients, self.projection(layer), to, network.directions)

    def _to_step_before(self, layer: int) -> Gemm:
        """Return the gradient of what each row got from the step before: R' times that of its gates."""
        network = self.network
        gates = self.gates_of_rows((self.tensor("reserve"), self.kept.gates(layer)))
        to = Matrix(self._before, 0, network.width, batch=network.proj)
        sizes = self.sequence.rows, network.proj, network.mode.gates * network.hidden
        return Gemm(self.dtype, *sizes, gates, self.r(layer), to, network.directions)

    def before_steps(self, device: Device, layer: int) -> Iterator[Launch]:
        network, gradient = self.network, self.gradient(layer)
        last = layer == network.layers - 1
        above: Rows = ((self.tensor("dy") if last else self.between, 0), network.width, last)
        yield self.copied(device, self.sequence.rows, network.width, above, (gradient, network.width, False))
        for d in range(network.directions if self.has("dhy") else 0):
            for row, sequence, count in ends(self.sequence.steps(d)):
                from_, to = self.state_rows("dhy", layer, d, sequence), self.output_rows(gradient, row, d)
                yield self.copied(device, count, network.proj, from_, to, add=True)
        yield from self._through_projection(layer).launches(device, self.products)

    def after_steps(self, device: Device, layer: int) -> Iterator[Launch]:
        yield from self._to_step_before(layer).launches(device, self.products)
        for d in range(self.network.directions):
            for initial, row, source, count in runs(self.sequence.steps(d)):
                if initial and not self.has("dhx"):
                    continue
                from_ = self.output_rows((self._before, 0), row, d)
                to = (
                    self.state_rows("dhx", layer, d, source)
                    if initial
                    else self.output_rows(self.gradient(layer), source, d)
                )
                yield self.copied(device, count, self.network.proj, from_, to, add=not initial)
