"""Gradients of recurrent networks with respect to their parameters: products over all rows of all steps at once."""

from __future__ import annotations

from collections.abc import Iterator

from portadnn.ops.rnn.layout import RNNMode, Step
from portadnn.ops.rnn.problems import RNNBackwardWeights

from ...base import Arg, Device, DeviceInfo, Kernel, Launch
from ..gemm.operands import Matrix, int32, int64
from ..gemm.product import Gemm
from ..rounding import ceil_div
from .passes import Pass, Place
from .steps import Defines, cell_defines

_SHARES = 8  # work-items of a GPU that sum a column
_LANES = 64  # columns of a CPU's work-group that sums biases; a GPU's has 32
_MANY_ROWS = 512  # from which on a GPU sums them in parts
_PART_COLUMNS, _PART_ROWS = 128, 32  # of a work-group, and the fewest of a part
_PART_GROUPS = 6  # work-groups for each compute unit


def runs(steps: list[Step]) -> list[tuple[bool, int, int, int]]:
    """Return where the states that rows started from lie, as runs: (initial, first row, first source row, rows)."""
    found: list[tuple[bool, int, int, int]] = []
    for step in sorted(steps, key=lambda step: step.first):
        for initial, to, source, count in (
            (False, step.first, step.before, step.before_rows),
            (True, step.first + step.before_rows, step.before_rows, step.rows - step.before_rows),
        ):
            if not count:
                continue
            last = found[-1] if found else None
            if last and last[0] == initial and (last[1] + last[3], last[2] + last[3]) == (to, source):
                found[-1] = (*last[:3], last[3] + count)
            else:
                found.append((initial, to, source, count))
    return found


class Weights(Pass):
    """Where everything of the pass lies, and its launches."""

    def __init__(self, problem: RNNBackwardWeights, info: DeviceInfo) -> None:
        super().__init__(problem, info)
        self.kept = problem.kept
        self.slots = self.network.directions * self.network.mode.slots * self.network.hidden
        self.previous = self.scratch(self.rows_of(1), self.dtype if self.halves else None)
        self.gates = self.halved_room(self.slots)
        self.lower = self.halved_room(self.network.width)
        self.parts = self._parts()
        self.sums = self.scratch(self.parts * self.network.units * self.network.mode.slots)
        self.products = self.gemm_scratch(gemm for layer in range(self.network.layers) for gemm in self.gemms(layer))

    def hidden(self, layer: int) -> Place:
        """Return where a layer's outputs lie."""
        if layer == self.network.layers - 1:
            return self.tensor("y"), 0
        return self.tensor("reserve"), self.kept.hidden(layer)

    def _gemm(self, layer: int, slot: int, gates: int, source: Matrix, first: int, columns: int) -> Gemm:
        """Return dw[gates * hidden, columns] += (gradients of slots)' source, of both directions."""
        network = self.network
        slots = network.mode.slots * network.hidden
        arg, start = (self.gates, 0) if self.halves else (self.tensor("reserve"), self.kept.gates(layer))
        gradients = Matrix(arg, start + slot * network.hidden, 1, self.slots, slots, stored=self.halves)
        to = self.parameters("dw", layer, first, columns)
        rows = gates * network.hidden
        k = self.sequence.rows
        return Gemm(self.dtype, rows, columns, k, gradients, source, to, network.directions, accumulate=True)

    def _read(self, layer: int) -> Place:
        """Return where what a layer read lies."""
        if layer == 0:
            return self.tensor("x"), 0
        return (self.lower, 0) if self.halves else self.below(layer)

    def gemms(self, layer: int) -> Iterator[Gemm]:
        """Return the products of a layer's W, R and P."""
        network = self.network
        mode, hidden = network.mode, network.hidden
        inputs = network.inputs(layer)
        if inputs:
            source = self.matrix(self._read(layer), inputs, stored=layer == 0 or self.halves)
            yield self._gemm(layer, 0, mode.gates, source, network.matrix(layer, 0, False), inputs)
        previous = Matrix(self.previous, 0, network.width, batch=network.output, stored=self.halves)
        first = network.matrix(layer, 0, True)
        if mode is RNNMode.GRU:
            yield self._gemm(layer, 0, 2, previous, first, hidden)
            yield self._gemm(layer, 3, 1, previous, first + 2 * hidden * hidden, hidden)
        else:
            yield self._gemm(layer, 0, mode.gates, previous, first, network.output)
        if network.proj:
            yield self._of_projection(layer)

    def _of_projection(self, layer: int) -> Gemm:
        """Return dP += (gradients of its results)' hidden states."""
        network = self.network
        gradients = Matrix(self.tensor("reserve"), self.kept.gradient(layer), network.width, batch=network.proj).turned
        states = Matrix(self.tensor("reserve"), self.kept.unprojected(layer), network.units, batch=network.hidden)
        to = self.parameters("dw", layer, network.projection(layer, 0), network.hidden)
        sizes = network.proj, network.hidden, self.sequence.rows
        return Gemm(self.dtype, *sizes, gradients, states, to, network.directions, accumulate=True)

    def launches(self, device: Device) -> Iterator[Launch]:
        """Return the launches of the whole pass."""
        for layer in range(self.network.layers):
            for direction in range(self.network.directions):
                yield from self._previous(device, layer, direction)
            yield from self._gates(device, layer)
            if layer:
                yield from self.halved(device, self.below(layer), self.network.width, self.lower)
            for gemm in self.gemms(layer):
                yield from gemm.launches(device, self.products)
            if self.network.bias_mode.count:
                yield self._biases(device, layer)

    def _previous(self, device: Device, layer: int, direction: int) -> Iterator[Launch]:
        """Gather the hidden states that the steps of a direction started from."""
        network = self.network
        hidden, width = network.output, network.width
        outputs, place = self.hidden(layer)
        states = (layer * network.directions + direction) * self.sequence.batch * hidden
        for initial, row, source, count in runs(self.sequence.steps(direction)):
            zero = initial and not self.has("hx")
            from_, pitch, start = (outputs, width, place + source * width + direction * hidden)
            if initial:
                from_, pitch, start = (self.tensor("hx") if not zero else outputs), hidden, states + source * hidden
            stored = (initial and not zero) or layer == network.layers - 1
            numbers = (start, pitch, row * width + direction * hidden, width)
            args = (from_, self.previous, *map(int64, numbers), int32(hidden), int32(zero))
            more: Defines = {"FROM_STORED": 1} if stored else {}
            if self.halves:
                more["TO_STORED"] = 1
            yield self.in_rows(device, args, count, hidden, more)

    def _parts(self) -> int:
        """Return in how many parts a GPU sums biases' gradients; 0 without biases or with few rows."""
        rows, columns = self.sequence.rows, self.network.units * self.network.mode.slots
        if self.cpu or rows < _MANY_ROWS or not self.network.bias_mode.count:
            return 0
        wanted = ceil_div(_PART_GROUPS * max(self.info.compute_units, 1), ceil_div(columns, _PART_COLUMNS))
        return max(min(wanted, rows // _PART_ROWS), 1)

    def _gates(self, device: Device, layer: int) -> Iterator[Launch]:
        """Round the gradients of gates for products, and sum them in parts, at once where both is done."""
        reserve: Place = self.tensor("reserve"), self.kept.gates(layer)
        if not self.parts:
            yield from self.halved(device, reserve, self.slots, self.gates)
            return
        columns = self.network.units * self.network.mode.slots
        kernel = self._bias_kernel(device, "rnn_bias_parts", {"ROUNDED": 1} if self.halves else {})
        numbers = (int64(reserve[1]), *map(int32, (self.sequence.rows, columns, self.parts)))
        args: tuple[Arg, ...] = (reserve[0], self.sums, *((self.gates,) if self.halves else ()), *numbers)
        yield Launch(kernel, (self.parts * ceil_div(columns, _PART_COLUMNS),), (256,), args)

    def _bias_kernel(self, device: Device, name: str, more: Defines) -> Kernel:
        mode = self.network.mode
        schedule: Defines = {"SCHEDULE_CPU": 1, "LANES": _LANES} if self.cpu else {"SHARES": _SHARES}
        defines = {"GATES": mode.gates, "SLOTS": mode.slots, **self.bias_defines(), **schedule, **more}
        return device.compile(
            "shared/rnn/bias_gradient.cl", name, {**cell_defines(self.network, self.dtype), **defines}
        )

    def _biases(self, device: Device, layer: int) -> Launch:
        """Add up the gradients of gates, or their sums in parts."""
        network = self.network
        columns = network.units * network.mode.slots
        kernel = self._bias_kernel(device, "rnn_bias_gradient", {})
        of_rows = self.sums if self.parts else self.tensor("reserve")
        places = (int64(0 if self.parts else self.kept.gates(layer)), int64(network.bias(layer, 0, False)))
        sizes = tuple(map(int32, (network.hidden, self.parts or self.sequence.rows, columns)))
        grid, items = (ceil_div(columns, _LANES), 1) if self.cpu else (ceil_div(columns, 32), 32 * _SHARES)
        args: tuple[Arg, ...] = (of_rows, self.tensor("dw"), *places, *sizes)
        return Launch(kernel, (grid,), (items,), args)
