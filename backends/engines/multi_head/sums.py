"""The gradients of the biases: sums of the columns of what the projections gave, all of them in one launch or two."""

from __future__ import annotations

from collections.abc import Iterator

from portadnn.problem import ALIGNMENT

from ...base import MOST_COUNTERS, Arg, CountersArg, Device, Launch
from ..gemm.by_graph import Block
from ..gemm.operands import int32, int64
from ..rounding import ceil_div
from .rows import Defines, Pass

_FILE = "shared/attention/bias_sums.cl"
_ITEMS = 256  # of a GPU's work-group
_LANES = 32  # of these, side by side
_GROUPS = 4  # work-groups for each compute unit
_ROUNDS = 4  # rows of a work-item at least
_MOST_PARTS = 64
_VECTOR = 16  # bytes that a GPU's work-item reads at once


class BiasSums:
    """The sums of rows' columns, added to the biases' gradients, which lie one after another.

    Parameters
    ----------
    todo
        The pass, in whose workspace room is taken.
    rows
        One matrix for each projection with a bias, by its number.
    """

    def __init__(self, todo: Pass, rows: dict[int, Block]) -> None:
        self.todo, self.rows = todo, rows
        gpu = not todo.cpu
        self._lanes = _LANES if gpu else 1
        self._items = min(_ITEMS, todo.info.max_work_group) // _LANES * _LANES if gpu else 1
        self._width = self._vector()
        self.columns = sum(block.dims[2] for block in rows.values())
        across = self._lanes * self._width
        self._blocks = sum(ceil_div(block.dims[2], across) for block in rows.values())
        longest = max((block.dims[1] for block in rows.values()), default=0)
        most = ceil_div(longest, self._items // self._lanes * _ROUNDS)
        wanted = ceil_div(_GROUPS * todo.info.compute_units, max(self._blocks, 1))
        self._parts = max(min(_MOST_PARTS, most, wanted), 1)
        self._sums = todo.scratch(self._parts * self.columns, todo.real) if self._parts > 1 else None

    def _vector(self) -> int:
        """Return the numbers that a work-item reads at once."""
        item = self.todo.dtype.itemsize
        width = self.todo.info.simd_width if self.todo.cpu else _VECTOR // item
        width = min(1 << max(width, 1).bit_length() - 1, 16)
        for block in self.rows.values():
            while block.dims[2] % width:
                width //= 2
            while not self.todo.cpu and width > 1 and not self._aligned(block, width * item):
                width //= 2
        return width

    def _aligned(self, block: Block, nbytes: int) -> bool:
        item = self.todo.dtype.itemsize
        return min(block.place.alignment, ALIGNMENT) % nbytes == 0 and block.strides[1] * item % nbytes == 0

    def launches(self, device: Device) -> Iterator[Launch]:
        """Yield the launches."""
        if not self.rows:
            return
        todo = self.todo
        anywhere = next(iter(self.rows.values()))
        args: list[Arg] = []
        for which in range(4):
            block = self.rows.get(which)
            _, count, columns = (0, 0, 0) if block is None else block.dims
            at = anywhere if block is None else block
            args += [at.place.arg, int64(at.strides[1]), int64(count), int32(columns)]
        dw = todo.parameters("dw", todo.layout.bias(0)).arg
        args.append(dw)
        defines: Defines = {"LANES": self._lanes, "VW": self._width, "PARTS": self._parts}
        if self._width > 1 and not todo.cpu:
            defines["VECTOR_ALIGNED"] = 1
        fenced = "grid_fence" in device.info.features and self._blocks <= MOST_COUNTERS
        if self._sums is not None:
            args.append(self._sums.arg)
            if fenced:
                defines["GRID_FENCED"] = 1
                args.append(CountersArg(self._blocks))
        groups = self._blocks * self._parts
        yield todo.in_groups(device, "mha_bias_sums", tuple(args), groups, self._items, defines, _FILE)
        if self._sums is not None and not fenced:
            given = (self._sums.arg, dw, int32(self._parts))
            yield todo.elements(device, "mha_bias_gradient", given, self.columns)
