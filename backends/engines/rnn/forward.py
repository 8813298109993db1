"""Recurrent networks forward: one product for a layer's input, then a launch a step that multiplies and finishes."""

from __future__ import annotations

from collections.abc import Iterator

from portadnn.ops.rnn.problems import RNNForwardInference, RNNForwardTraining

from ...base import Arg, Device, DeviceInfo, Launch
from ..gemm.operands import Matrix, int32, int64
from ..gemm.product import Gemm
from ..rounding import ceil_div
from .mma_steps import MmaTile
from .passes import DROPOUT, PACK_MMA, Pass, Place
from .steps import cell_defines, step_numbers

FORWARD_MMA = "cuda/rnn/forward_mma.cu"


class Forward(Pass):
    """Where everything of a forward pass lies, and its launches."""

    def __init__(self, problem: RNNForwardInference | RNNForwardTraining, info: DeviceInfo) -> None:
        super().__init__(problem, info)
        network = self.network
        self.training = problem.training
        self.drops = self.training and problem.kept.dropout
        self.packed = self.packed_room()
        self.bias = self.scratch(network.directions * network.mode.slots * network.hidden)
        self.h0 = self.state("hx")
        self.c0 = self.state("cx") if self.lstm else self.h0
        self.tiles = self.scratch(self.tile_size())
        on_tensor_cores = isinstance(self.tile, MmaTile)
        begun = network.layers * network.directions * self.sequence.batch * self.pitch
        self.states = self.scratch(
            self.sequence.rows * network.directions * self.pitch if on_tensor_cores else 1, self.dtype
        )
        self.begun = self.scratch(begun if on_tensor_cores else 1, self.dtype)
        self.last = self.scratch(self.rows_of(1)) if self.rounded else self.tensor("y")
        if not self.training:
            self._gates = self.scratch(self.rows_of(network.mode.slots))
            self._cells = self.scratch(self.rows_of(1) if self.lstm else 1)
            self._hidden = [self.scratch(self.rows_of(1)) for _ in range(min(network.layers - 1, 2))]
        self.lower = self.halved_room(network.width if network.layers > 1 else 0)
        self.more_scratch()
        self.products = self.gemm_scratch(gemm for layer in range(network.layers) for gemm in self.all_gemms(layer))

    def gates(self, layer: int) -> Place:
        """Return where a layer's gates lie."""
        return (self.tensor("reserve"), self.problem.kept.gates(layer)) if self.training else (self._gates, 0)

    def cells(self, layer: int) -> Place:
        """Return where an LSTM's layer's cells lie."""
        if not self.lstm:
            return self.bias, 0
        return (self.tensor("reserve"), self.problem.kept.cells(layer)) if self.training else (self._cells, 0)

    def outputs(self, layer: int) -> Place:
        """Return where a layer's outputs lie."""
        return self.hidden(layer)

    def hidden(self, layer: int) -> Place:
        """Return where a layer's hidden states lie."""
        if layer == self.network.layers - 1:
            return self.last, 0
        if self.training:
            return self.tensor("reserve"), self.problem.kept.hidden(layer)
        return self._hidden[layer % 2], 0

    def below_of(self, layer: int) -> Place:
        """Return where what a layer, not the first, reads lies."""
        return self.below(layer) if self.drops else self.outputs(layer - 1)

    def _read(self, layer: int) -> Place:
        """Return where what the product of a layer's input reads lies."""
        if layer == 0:
            return self.tensor("x"), 0
        return (self.lower, 0) if self.halves else self.below_of(layer)

    def gemms(self, layer: int) -> Iterator[Gemm]:
        """Return the product of a layer's input, unless it has no matrix."""
        network = self.network
        inputs, rows = network.inputs(layer), network.mode.gates * network.hidden
        if not inputs:
            return
        stored = layer == 0 or self.halves
        below = self.matrix(self._read(layer), inputs, stored=stored)
        first = network.matrix(layer, 0, False)
        w = self.matrix((self.tensor("w"), first), inputs, stored=True).turned
        slots = network.mode.slots * network.hidden
        gates, place = self.gates(layer)
        yield Gemm(
            self.dtype,
            self.sequence.rows,
            rows,
            inputs,
            below,
            Matrix(w.arg, w.first, w.rows, w.columns, network.matrix(layer, 1, False) - first, w.stored, w.aligned),
            Matrix(gates, place, network.directions * slots, batch=slots),
            network.directions,
        )

    def launches(self, device: Device) -> Iterator[Launch]:
        """Return the launches of the whole pass."""
        network = self.network
        yield from self.initial_states(device)
        if isinstance(self.tile, MmaTile):
            yield self._pad(device)
        if self.drops:
            kept = (self.tensor("states"), self.tensor("reserve"), int64(self.problem.kept.draw))
            kernel = device.compile(DROPOUT, "rnn_draw", {f"DTYPE_{self.dtype.name}": 1})
            yield Launch(kernel, (1,), (1,), kept)
        for layer in range(network.layers):
            yield from self.packing(device, layer)
            slots = network.mode.slots
            first = (int64(network.bias(layer, 0, False)), int32(network.hidden))
            size = network.directions * slots * network.hidden
            yield self.elements(device, "rnn_bias", (self.tensor("w"), self.bias, *first), size, self.bias_defines())
            if network.inputs(layer):
                if layer:
                    yield from self.halved(device, self.below_of(layer), network.width, self.lower)
                for gemm in self.gemms(layer):
                    yield from gemm.launches(device, self.products)
            else:
                arg, place = self.gates(layer)
                args = (self.tensor("x"), arg, int64(place), int32(network.hidden))
                yield self.elements(device, "rnn_spread", args, self.rows_of(slots))
            yield from self.before_steps(device, layer)
            yield from self._steps(device, layer)
            yield from self.after_steps(device, layer)
            if self.drops and layer < network.layers - 1:
                yield self.dropout(device, layer, self.outputs(layer), self.below(layer + 1))

    def initial_states(self, device: Device) -> Iterator[Launch]:
        """Return the launches that make the states that the first steps start from."""
        for name, state in (("hx", self.h0), ("cx", self.c0)):
            if self.has(name) and not self.rounded:
                continue
            if name == "hx" or self.lstm:
                yield self.initial(device, name, state)  # type: ignore[arg-type]  # it is room in the workspace

    def written(self, layer: int) -> tuple[tuple[str, str, bool], ...]:
        """Return tensors that a layer's steps may write, what tells the kernel so, and whether they do."""
        return (
            ("y", "Y_ROUNDED", self.rounded and layer == self.network.layers - 1),
            ("hy", "HAS_HY", self.has("hy")),
            ("cy", "HAS_CY", self.has("cy")),
        )

    def _pad(self, device: Device) -> Launch:
        """Return the launch that rounds the initial states for tensor cores."""
        defines = {**cell_defines(self.network, self.dtype), "GATES": 1, **self.step_defines()}
        kernel = device.compile(PACK_MMA, "rnn_pad", defines)
        size = self.state_size() // self.network.hidden * self.pitch
        args = (self.h0, self.begun, int32(self.network.hidden), int32(self.pitch), int64(size))
        return Launch(kernel, (ceil_div(size, 256),), (256,), args)

    def _steps(self, device: Device, layer: int) -> Iterator[Launch]:
        network = self.network
        gates, cells, hidden = self.gates(layer), self.cells(layer), self.hidden(layer)
        defines = self.step_defines(hidden, (self.h0, 0))
        outputs: list[Arg] = []
        for name, define, wanted in self.written(layer):
            if wanted:
                defines[define] = 1
                outputs.append(self.tensor(name))
        if self.training:
            defines["TRAINING"] = 1
        scratch: tuple[Arg, ...] = (self.tiles,) if self.cpu else ()
        rounded: tuple[Arg, ...] = ()
        sizes: tuple[Arg, ...] = (int32(network.hidden), int32(self.sequence.batch))
        if isinstance(self.tile, MmaTile):
            kernel = device.compile(FORWARD_MMA, "rnn_forward_step_mma", defines)
            rounded = (self.states, self.begun)
            begun = layer * network.directions * self.sequence.batch * self.pitch
            sizes = (*sizes, int32(self.pitch), int64(begun))
        else:
            file = "opencl/rnn/forward_cpu.cl" if self.cpu else "shared/rnn/forward.cl"
            kernel = device.compile(file, "rnn_forward_step", defines)
        states = (self.h0, self.c0, *rounded)
        memory = (self.packed, self.bias, gates[0], cells[0], hidden[0], *states, *outputs, *scratch)
        places = tuple(map(int64, (gates[1], cells[1], hidden[1], self.state_first(layer))))
        if isinstance(self.tile, MmaTile) and self.tile.row_blocks:
            kernel = device.compile(FORWARD_MMA, "rnn_forward_steps_mma", {**defines, **self.tile.defines()})
            yield self.all_steps(kernel, self.tile, (*memory, *places, *sizes))
            return
        for steps in zip(*(self.sequence.steps(d) for d in range(network.directions)), strict=True):
            grid, block, cut = self.step_grid(max(step.rows for step in steps))
            yield Launch(kernel, grid, block, (*memory, *places, *sizes, *cut, *step_numbers(steps)))
