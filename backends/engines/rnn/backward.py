"""Gradients of recurrent networks with respect to input and states: a launch a step, then a product for the input."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from portadnn.ops.rnn.layout import RNNMode, Step
from portadnn.ops.rnn.problems import RNNBackwardData

from ...base import Arg, Device, DeviceInfo, Kernel, Launch, TensorArg, WorkspaceArg
from ..gemm.operands import Matrix, int32, int64
from ..gemm.product import Gemm
from .mma_steps import MmaTile
from .passes import Pass, Place
from .steps import step_numbers

BACKWARD_MMA = "cuda/rnn/backward_mma.cu"
_NONE = Step(0, 0, 0, 0, 0, 0)


def beginnings(steps: list[Step]) -> list[Step]:
    """Return, for each step in which sequences begin, its rows from `before_rows` on, as the step after which."""
    return [
        Step(step.rows, 0, step.before_rows, 0, step.rows, step.first) for step in steps if step.before_rows < step.rows
    ]


class Backward(Pass):
    """Where everything of a backward pass lies, and its launches."""

    turned = True
    final: tuple[str, ...] = ("dhy", "dcy")  # gradients of final states that steps read
    first: tuple[str, ...] = ("dhx", "dcx")  # gradients of initial states that the end of the steps writes

    def __init__(self, problem: RNNBackwardData, info: DeviceInfo) -> None:
        super().__init__(problem, info)
        network = self.network
        self.kept = problem.kept
        self.gru = network.mode is RNNMode.GRU
        self.packed = self.packed_room()
        self.carry = self.scratch(network.units * self.sequence.batch if self.gru or self.lstm else 1)
        self.h0 = self.state("hx") if self.gru else self.packed
        self.c0 = self.state("cx") if self.lstm else self.packed
        self.tiles = self.scratch(self.tile_size())
        rows = self.sequence.rows * network.directions
        self.rounded_gates = self.scratch(rows * self.pitch if isinstance(self.tile, MmaTile) else 1, self.dtype)
        self.between = self.scratch(self.rows_of(1) if network.layers > 1 else 1)
        self.slots = network.directions * network.mode.slots * network.hidden
        self.stepped = isinstance(self.tile, MmaTile) and not self.gru  # steps leave what products read, rounded
        self.halved_gates = self.halved_room(0 if self.stepped else self.slots)
        twice = self.rounded and network.directions > 1 and network.inputs(0) > 0
        self.sum = self.scratch(self.sequence.rows * network.features) if twice else self.tensor("dx")
        self.more_scratch()
        self.products = self.gemm_scratch(gemm for layer in range(network.layers) for gemm in self.all_gemms(layer))

    def gemms(self, layer: int) -> Iterator[Gemm]:
        """Return the products that give the gradient of a layer's input, one added to the other."""
        network = self.network
        inputs, slots = network.inputs(layer), network.mode.slots * network.hidden
        if not inputs:
            return
        to = self.sum if layer == 0 else self.between
        for d in range(network.directions):
            gates: Place = (self.halved_gates, 0) if self.halves else (self.tensor("reserve"), self.kept.gates(layer))
            given = self.matrix((gates[0], gates[1] + d * slots), slots, pitch=self.slots, stored=self.halves)
            if self.stepped:
                place = self.rounded_gates, d * self.pitch
                given = self.matrix(place, slots, pitch=network.directions * self.pitch, stored=True)
            yield Gemm(
                self.dtype,
                self.sequence.rows,
                inputs,
                network.mode.gates * network.hidden,
                given,
                self.matrix((self.tensor("w"), network.matrix(layer, d, False)), inputs, stored=True),
                Matrix(to, 0, inputs, stored=to == self.tensor("dx")),
                accumulate=d > 0,
            )

    def launches(self, device: Device) -> Iterator[Launch]:
        """Return the launches of the whole pass."""
        network = self.network
        for name, place, needed in (("hx", self.h0, self.gru), ("cx", self.c0, self.lstm)):
            if needed and not (self.has(name) and not self.rounded):
                yield self.initial(device, name, place)  # type: ignore[arg-type]  # it is room in the workspace
        for layer in reversed(range(network.layers)):
            yield from self.packing(device, layer)
            yield from self.before_steps(device, layer)
            yield from self._steps(device, layer)
            yield from self._finish(device, layer)
            yield from self.after_steps(device, layer)
            if network.inputs(layer) and not self.stepped:
                reserve = self.tensor("reserve"), self.kept.gates(layer)
                yield from self.halved(device, reserve, self.slots, self.halved_gates)
            for gemm in self.gemms(layer):
                yield from gemm.launches(device, self.products)
            if layer and self.kept.dropout:
                yield self.dropout(device, layer - 1, (self.between, 0), (self.between, 0))
        if not network.inputs(0):
            args = (self.tensor("reserve"), self.tensor("dx"), int64(self.kept.gates(0)), int32(network.hidden))
            yield self.elements(device, "rnn_gather", args, self.sequence.rows * network.hidden)
        elif self.sum != self.tensor("dx"):
            yield self.elements(device, "rnn_round", (self.sum, self.tensor("dx")), self.problem.data.size)

    def gradient_above(self, layer: int) -> TensorArg | WorkspaceArg:
        """Return where the gradient of a layer's hidden states lies, as far as it comes from the layers above."""
        return self.tensor("dy") if layer == self.network.layers - 1 else self.between

    def _steps(self, device: Device, layer: int) -> Iterator[Launch]:
        last = layer == self.network.layers - 1
        reserve = self.tensor("reserve")
        cells = self.kept.cells(layer) if self.lstm else 0
        hidden: Place = (self.tensor("y"), 0) if last else (reserve, self.kept.hidden(layer))
        defines = self.step_defines((reserve, self.kept.gates(layer)))
        dy = self.gradient_above(layer)
        if last:
            defines["H_STORED"] = 1
        if isinstance(dy, TensorArg):
            defines["DY_STORED"] = 1
        given: list[Arg] = []
        for name in self.final:
            if self.has(name):
                defines[f"HAS_{name.upper()}"] = 1
                given.append(self.tensor(name))
        kernel = self._kernel(device, defines)
        memory = (self.packed, reserve, self.carry, reserve, hidden[0], self.h0, self.c0, dy, *given)
        places = (self.kept.gates(layer), cells, hidden[1], self.state_first(layer))
        if isinstance(self.tile, MmaTile) and self.tile.row_blocks:
            kernel = device.compile(BACKWARD_MMA, "rnn_backward_steps_mma", {**defines, **self.tile.defines()})
            sizes = (int32(self.network.hidden), int32(self.sequence.batch))
            args = (*memory, self.rounded_gates, *map(int64, places), *sizes)
            yield self.all_steps(kernel, self.tile, args, (int32(self.pitch),))
            return
        both = zip(*(reversed(self.sequence.steps(d)) for d in range(self.network.directions)), strict=True)
        for steps in both:
            yield self._launch(kernel, memory, places, steps)

    def _finish(self, device: Device, layer: int) -> Iterator[Launch]:
        wanted = [name for name in self.first if self.has(name)]
        if not wanted:
            return
        reserve = self.tensor("reserve")
        defines = self.step_defines((reserve, self.kept.gates(layer)))
        defines.update({"FINISH": 1}, **{f"HAS_{name.upper()}": 1 for name in wanted})
        kernel = self._kernel(device, defines)
        memory: tuple[Arg, ...] = (self.packed, reserve, self.carry, *map(self.tensor, wanted))
        places = (self.kept.gates(layer), 0, 0, self.state_first(layer))
        begun = [beginnings(self.sequence.steps(d)) for d in range(self.network.directions)]
        for steps in itertools.zip_longest(*begun, fillvalue=_NONE):
            yield self._launch(kernel, memory, places, steps)

    def _kernel(self, device: Device, defines: dict[str, int | float | str]) -> Kernel:
        if isinstance(self.tile, MmaTile):
            return device.compile(BACKWARD_MMA, "rnn_backward_step_mma", defines)
        file = "opencl/rnn/backward_cpu.cl" if self.cpu else "shared/rnn/backward.cl"
        return device.compile(file, "rnn_backward_step", defines)

    def _launch(
        self, kernel: Kernel, memory: tuple[Arg, ...], places: tuple[int, ...], steps: tuple[Step, ...]
    ) -> Launch:
        grid, block, cut = self.step_grid(max(step.rows for step in steps))
        scratch = (self.tiles,) if self.cpu else ()
        if isinstance(self.tile, MmaTile):
            scratch, cut = (self.rounded_gates,), (*cut, int32(self.pitch))
        sizes = (int32(self.network.hidden), int32(self.sequence.batch))
        args = (*memory, *scratch, *map(int64, places), *sizes, *cut, *step_numbers(steps))
        return Launch(kernel, grid, block, args)
