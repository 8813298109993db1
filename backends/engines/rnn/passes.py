"""What the passes of recurrent networks share: memory of the workspace, operands, and small launches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from portadnn.enums import DataType
from portadnn.ops.rnn.layout import RNNMode
from portadnn.ops.rnn.problems import RNN

from ...base import Arg, ConstantArg, CountersArg, Device, DeviceInfo, Kernel, Launch, TensorArg, WorkspaceArg
from ..gemm.by_graph import is_large
from ..gemm.operands import Matrix, aligned, int32, int64
from ..gemm.product import Gemm
from ..rounding import ceil_div, round_up
from .mma_steps import STEP_K, MmaTile, mma_tile
from .steps import CpuTile, Defines, GpuTile, cell_defines, clip_defines, cpu_tile, gpu_tile

Place = tuple[TensorArg | WorkspaceArg, int]  # memory, and elements before the first
Rows = tuple[Place, int, bool]  # memory, elements from one row to the next, and whether it holds the storage type

PREPARE = "shared/rnn/prepare.cl"
DROPOUT = "shared/rnn/dropout.cl"
PACK_MMA = "cuda/rnn/pack_mma.cu"
_CHUNK = 1 << 13  # elements of a CPU's work-group
_ITEMS = 256  # of a GPU's


class Pass:
    """One pass over the layers of a problem, for a kind of device: where everything lies, and its launches.

    Attributes
    ----------
    workspace : int
        Bytes of scratch memory.
    """

    turned = False  # whether R's columns are read, as gradients do
    packed: WorkspaceArg  # room for a layer's R
    products: int  # where scratch memory of products begins

    def __init__(self, problem: RNN, info: DeviceInfo) -> None:
        self.problem = problem
        self.info = info
        self.network = problem.network
        self.sequence = problem.sequence
        self.dtype = problem.dtype
        self.real = problem.dtype.accumulator
        self.rounded = self.real is not self.dtype
        self.cpu = info.schedule == "cpu"
        self.workspace = 0
        sizes = (self.network, self.dtype, max(self.sequence.batch, 1), info, self.turned)
        on_tensor_cores = None if self.network.proj else mma_tile(*sizes[:2], self.sequence, info, self.turned)
        self.tile: CpuTile | GpuTile | MmaTile = cpu_tile(*sizes) if self.cpu else on_tensor_cores or gpu_tile(*sizes)

    @property
    def lstm(self) -> bool:
        return self.network.mode is RNNMode.LSTM

    # memory

    def scratch(self, elements: int, dtype: DataType | None = None) -> WorkspaceArg:
        """Return room in the workspace for that many numbers, of the arithmetic type unless it is told."""
        place = WorkspaceArg(self.workspace, dtype or self.real)
        self.workspace += round_up(max(elements, 1) * place.dtype.itemsize, 256)
        return place

    def tensor(self, name: str) -> TensorArg:
        """Return a tensor, or the reserve space as numbers of the arithmetic type."""
        return TensorArg(self.problem.index(name), dtype=self.real if name == "reserve" else None)

    def has(self, name: str) -> bool:
        return name in self.problem.names

    def state_size(self) -> int:
        """Return the numbers of an initial state of all layers."""
        network = self.network
        return network.layers * network.directions * self.sequence.batch * network.hidden

    def state_first(self, layer: int) -> int:
        """Return where a layer's part of a state begins."""
        return layer * self.network.directions * self.sequence.batch * self.network.hidden

    @property
    def halves(self) -> bool:
        """Whether products over all rows get operands that are rounded to the storage type, for Hopper's warpgroups."""
        network = self.network
        sizes = self.sequence.rows, network.mode.gates * network.hidden, network.hidden, network.directions
        return self.rounded and is_large(*sizes, self.info)

    def halved_room(self, numbers: int) -> WorkspaceArg:
        """Return room for so many numbers of each row that are rounded for products, if they are."""
        return self.scratch(self.sequence.rows * numbers if self.halves else 1, self.dtype)

    def halved(self, device: Device, from_: Place, numbers: int, to: WorkspaceArg) -> Iterator[Launch]:
        """Return the launch that rounds rows of so many numbers for products, if they are."""
        if self.halves:
            yield self.copied(device, self.sequence.rows, numbers, (from_, numbers, False), ((to, 0), numbers, True))

    def rows_of(self, numbers: int) -> int:
        """Return the size of a tensor with that many numbers for each unit, direction and row."""
        return self.sequence.rows * self.network.units * numbers

    def more_scratch(self) -> None:
        """Make more room in the workspace, for what a kind of network needs besides."""

    # operands of products

    def matrix(self, place: Place, columns: int, *, stored: bool = False, pitch: int | None = None) -> Matrix:
        """Return rows of that many numbers as a matrix."""
        arg, first = place
        whole = not isinstance(arg, TensorArg) or aligned(self.problem.tensors[arg.index].alignment)
        return Matrix(arg, first, pitch or columns, stored=stored, aligned=whole)

    def parameters(self, name: str, layer: int, first: int, columns: int) -> Matrix:
        """Return a matrix of w or dw that begins there, and the one of the second direction behind it."""
        network = self.network
        between = network.matrix(layer, 1, False) - network.matrix(layer, 0, False)
        return replace(self.matrix((self.tensor(name), first), columns, stored=True), batch=between)

    def below(self, layer: int) -> Place:
        """Return where the reserve space has what a layer, not the first, read."""
        return self.tensor("reserve"), self.problem.kept.dropped(layer - 1)

    # launches

    def dropout(self, device: Device, layer: int, from_: Place, to: Place) -> Launch:
        """Return the launch that drops elements of what a layer passes on, or of the gradient of that."""
        problem, kept = self.problem, self.problem.kept
        schedule: Defines = {"SCHEDULE_CPU": 1, "CHUNK": _CHUNK // 4} if self.cpu else {}
        kernel = device.compile(DROPOUT, "rnn_dropout", {f"DTYPE_{self.dtype.name}": 1, **schedule})
        size = self.sequence.rows * self.network.width
        scale = 0.0 if problem.dropout == 1 else 1 / (1 - problem.dropout)
        numbers: tuple[Arg, ...] = (
            *map(int64, (from_[1], to[1], kept.draw)),
            ConstantArg(np.uint32(layer)),
            int64(round(problem.dropout * 2**32)),
            ConstantArg(self.real.numpy.type(scale)),
            int64(size),
        )
        blocks = ceil_div(size, 4)
        groups, items = (ceil_div(blocks, _CHUNK // 4), 1) if self.cpu else (ceil_div(blocks, 256), 256)
        return Launch(kernel, (groups,), (items,), (from_[0], to[0], self.tensor("reserve"), *numbers))

    def bias_defines(self) -> Defines:
        """Return which biases there are."""
        mode = self.network.bias_mode
        return {"W_BIAS": int(mode.of_input), "R_BIAS": int(mode.of_state)}

    def elements(
        self, device: Device, name: str, args: tuple[Arg, ...], size: int, more: Defines | None = None
    ) -> Launch:
        """Return a launch of rnn/prepare.cl with a work-item an element, whose number is its last argument."""
        schedule: Defines = {"SCHEDULE_CPU": 1, "CHUNK": _CHUNK} if self.cpu else {}
        mode = self.network.mode
        gates: Defines = {"GATES": mode.gates, "SLOTS": mode.slots}
        defines = {**cell_defines(self.network, self.dtype), **gates, **schedule, **(more or {})}
        kernel = device.compile(PREPARE, name, defines)
        groups, items = (ceil_div(size, _CHUNK), 1) if self.cpu else (ceil_div(size, 256), 256)
        return Launch(kernel, (groups,), (items,), (*args, int64(size)))

    def copied(self, device: Device, count: int, numbers: int, from_: Rows, to: Rows, *, add: bool = False) -> Launch:
        """Return the launch that copies rows of so many numbers, or adds them to others."""
        more: Defines = {
            name: 1 for name, told in (("FROM_STORED", from_[2]), ("TO_STORED", to[2]), ("ADD", add)) if told
        }
        memory = from_[0][0], to[0][0]
        places = from_[0][1], from_[1], to[0][1], to[1]
        args = (*memory, *map(int64, places), int32(numbers), int32(0))
        return self.in_rows(device, args, count, numbers, more)

    def in_rows(self, device: Device, args: tuple[Arg, ...], rows: int, numbers: int, more: Defines) -> Launch:
        """Return a launch of ``rnn_rows`` over rows of so many numbers."""
        each = max(_CHUNK // max(numbers, 1), 1)
        lanes = min(max(1 << (ceil_div(numbers, 4) - 1).bit_length(), 32), _ITEMS)
        schedule: Defines = {"SCHEDULE_CPU": 1, "ROWS_EACH": each} if self.cpu else {"LANES": lanes}
        defines = {**cell_defines(self.network, self.dtype), **schedule, **more}
        groups, items = (ceil_div(rows, each), 1) if self.cpu else (ceil_div(rows, _ITEMS // lanes), _ITEMS)
        return Launch(
            device.compile("shared/rnn/rows.cl", "rnn_rows", defines), (groups,), (items,), (*args, int64(rows))
        )

    def initial(self, device: Device, name: str, to: WorkspaceArg) -> Launch:
        """Return the launch that fills a state with a tensor's numbers, or with zeros where there is none."""
        source = (self.tensor(name),) if self.has(name) else ()
        kernel = "rnn_widen" if source else "rnn_zero"
        return self.elements(device, kernel, (*source, to), self.state_size())

    def state(self, name: str) -> TensorArg | WorkspaceArg:
        """Return where a state lies in the arithmetic type: the tensor, or room that :meth:`initial` fills.

        There is room in any case: the workspace's size shall not depend on which states a call gives.
        """
        room = self.scratch(self.state_size())
        return self.tensor(name) if self.has(name) and not self.rounded else room

    def packing(self, device: Device, layer: int) -> Iterator[Launch]:
        """Return the launches that pack R of a layer for the steps."""
        yield self.pack(device, layer, self.recurrent(layer), self.packed)

    def before_steps(self, device: Device, layer: int) -> Iterator[Launch]:
        """Return launches that a kind of network needs before the steps of a layer."""
        return iter(())

    def after_steps(self, device: Device, layer: int) -> Iterator[Launch]:
        """Return launches that a kind of network needs after the steps of a layer."""
        return iter(())

    def gemms(self, layer: int) -> Iterator[Gemm]:
        """Return the products of a layer that every kind of network has."""
        raise NotImplementedError

    def all_gemms(self, layer: int) -> Iterator[Gemm]:
        """Return all products of a layer."""
        return self.gemms(layer)

    def recurrent(self, layer: int) -> Matrix:
        """Return what multiplies the states of a layer."""
        return self.parameters("w", layer, self.network.matrix(layer, 0, True), self.network.hidden)

    def pack(self, device: Device, layer: int, r: Matrix, to: WorkspaceArg) -> Launch:
        """Return the launch that packs R of a layer for the steps."""
        network, tile = self.network, self.tile
        depth, panels = self.depth, tile.panels(network.hidden)
        sizes = (network.hidden, depth, panels)
        args: tuple[Arg, ...] = (r.arg, to, int64(r.first), int64(r.batch), *map(int32, sizes))
        dtype = self.dtype if r.stored else self.real
        defines = {**cell_defines(network, dtype), **({"TURNED": 1} if self.turned else {})}
        size = self.packed_size()
        if isinstance(tile, MmaTile):
            defines.update(GATES=network.mode.gates, **tile.of_one_step.defines())
            kernel = device.compile(PACK_MMA, "rnn_pack_mma", defines)
            return Launch(kernel, (ceil_div(size // 8, 256),), (256,), (*args, int64(size // 8)))
        if isinstance(tile, CpuTile):
            kernel = device.compile("opencl/rnn/pack_cpu.cl", "rnn_pack", {**defines, **tile.defines()})
            return Launch(kernel, (network.directions * panels,), (1,), args)
        defines.update(GATES=network.mode.gates, **tile.pack_defines())
        kernel = device.compile("shared/rnn/pack.cl", "rnn_pack", defines)
        return Launch(kernel, (ceil_div(size, 256),), (256,), (*args, int64(size)))

    @property
    def depth(self) -> int:
        """Rows of a panel."""
        return self.network.hidden * (self.network.mode.gates if self.turned else 1)

    @property
    def pitch(self) -> int:
        """Numbers from a row of rounded states to the next, on tensor cores."""
        return round_up(self.depth, STEP_K)

    def packed_size(self) -> int:
        """Return the numbers of a layer's packed R."""
        columns = self.tile.columns if isinstance(self.tile, CpuTile) else self.tile.bn
        depth = self.pitch if isinstance(self.tile, MmaTile) else self.depth
        return self.network.directions * self.tile.panels(self.network.hidden) * depth * columns

    def packed_room(self) -> WorkspaceArg:
        """Return room for a layer's packed R."""
        return self.scratch(self.packed_size(), self.dtype if isinstance(self.tile, MmaTile) else None)

    def tile_size(self) -> int:
        """Return the numbers of the tiles through which a CPU's steps pass their sums."""
        return (
            self.tile.groups(self.network) * self.tile.rows * self.tile.columns if isinstance(self.tile, CpuTile) else 0
        )

    def step_defines(self, *places: Place) -> Defines:
        """Return what the kernel of a step is told; `places` hold the states that it multiplies."""
        cell = {**cell_defines(self.network, self.dtype), **clip_defines(self.problem.clip)}
        if isinstance(self.tile, CpuTile):
            whole: Defines = {"WHOLE_VECTORS": 1} if self.network.hidden % self.tile.lanes == 0 else {}
            return {**cell, **self.tile.defines(), **whole}
        if isinstance(self.tile, MmaTile):
            return {**cell, **self.tile.of_one_step.defines()}
        aligned_states = all(self.matrix(place, self.network.hidden).vectors(self.network.hidden) for place in places)
        return {
            **cell,
            **self.tile.defines(aligned_states and self.real is DataType.FLOAT),
        }

    def step_grid(self, rows: int) -> tuple[tuple[int], tuple[int], tuple[Arg, ...]]:
        """Return the grid, the block, and the arguments that tell how the grid is cut."""
        network, tile = self.network, self.tile
        if isinstance(tile, MmaTile):
            tile = tile.of_one_step
        panels = tile.panels(network.hidden)
        if isinstance(tile, CpuTile):
            return (tile.groups(network),), (1,), (int32(panels),)
        tiles = ceil_div(rows, tile.bm)
        return (panels * tiles * network.directions,), (tile.items,), (int32(panels), int32(tiles))

    def all_steps(self, kernel: Kernel, tile: MmaTile, args: tuple[Arg, ...], pitched: tuple[Arg, ...] = ()) -> Launch:
        """Return one launch of all steps of a layer on tensor cores."""
        network, blocks = self.network, tile.row_blocks
        groups = tile.groups(self.sequence.batch, network.hidden, network.directions)
        cut = (int32(tile.panels(network.hidden)), int32(blocks), *pitched, int32(len(self.sequence.batches)))
        counters = CountersArg(network.directions * blocks)
        memory = tile.local_bytes(self.pitch)
        return Launch(kernel, (groups,), (tile.items,), (*args, *cut, counters), memory, cooperative=True)

    def gemm_scratch(self, gemms: Iterator[Gemm]) -> int:
        """Reserve room for the products, which run one after another; return where it begins."""
        start = self.workspace
        self.workspace += round_up(max((gemm.workspace(self.info) for gemm in gemms), default=0), 256)
        return start
