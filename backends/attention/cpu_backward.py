"""The launches of attention's gradients on CPUs."""

from __future__ import annotations

import math
from collections.abc import Mapping

from portadnn.graph.enums import knob_type

from ..base import Arg, Device, WorkspaceArg
from ..engines.rounding import ceil_div
from .cpu import CpuBuilding, Packed, Tile
from .operands import Defines, Operands, int32

_FILE = "opencl/attention/backward_cpu.cl"


class CpuBackward(CpuBuilding):
    """The launches of the backward directions: of queries, then of keys and values, and of bias and sink."""

    def __init__(self, operands: Operands, device: Device, knobs: Mapping[knob_type, int]) -> None:
        super().__init__(operands, device, knobs)
        found = Tile.of(operands, device.info, knobs, of_keys=True)
        self.tile_of_keys = found
        self.row_pitch = self.statistics()
        queries, keys = self.tile.register.rows, found.register.rows
        self.q, self.grad = self.rows("Q", queries), self.rows("DO", queries)
        self.k, self.v = self.rows("K", keys), self.rows("V", keys, wide=False)
        self.k_panels, self.v_panels = self.panels("K"), self.panels("V")
        self.of_queries()
        if operands.find("DBIAS"):
            self.of_bias()
        self.of_sink()
        self.q_panels, self.grad_panels = self.panels("Q"), self.panels("DO")
        n = operands.sizes
        if n.hk == n.hv:
            self.of_keys(("K", "V"))
        else:
            self.of_keys(("K",))
            self.of_keys(("V",))

    def _tiles(self, name: str, tile: Tile, more: Defines, tiles: int, args: tuple[Arg, ...]) -> None:
        self.restart()
        op = self.operands
        defines: Defines = {**op.defines(), **tile.defines(), **more}
        if op.fp8:
            defines.update(op.type_of("S_T", "Q"))
        self.launch(_FILE, name, defines, min(self.groups, tiles), (*args, *self.common))

    def _most(self, tiles: int) -> WorkspaceArg:
        return self.workspace.take(tiles, self.real)

    def of_queries(self) -> None:
        """Append the gradient to queries."""
        op, n, tile = self.operands, self.operands.sizes, self.tile
        q, k, grad = self.q, self.k, self.grad
        tiles = n.b * n.hq * ceil_div(n.sq, tile.rows)
        most_ds, most_dq = self._most(tiles), self._most(tiles)
        scratch = self.scratch(tile.rows * (2 * tile.columns + k.pitch))
        inputs = (q, self.k_panels, self.v_panels, k, grad)
        numbers = (tiles, n.hk, n.hv, n.d, n.dv, q.pitch, grad.pitch, k.pitch, q.padded, grad.padded, k.padded)
        self._tiles(
            "attention_dq",
            tile,
            {**op.type_of("DQ_T", "DQ"), **self.plain},
            tiles,
            (
                *_memory(inputs),
                *(self.logs, self.dot, *op.placed("DQ"), most_ds, most_dq, scratch, self.counter),
                *map(int32, (*numbers, self.k_panels.padded, self.row_pitch)),
            ),
        )
        self.largest("AMAX_DP", most_ds, tiles)
        self.largest("AMAX_DQ", most_dq, tiles)

    def of_keys(self, which: tuple[str, ...]) -> None:
        """Append the gradients to keys, values or both."""
        n, tile = self.operands.sizes, self.tile_of_keys
        q, k, v, grad = self.q, self.k, self.v, self.grad
        heads = n.hk if which[0] == "K" else n.hv
        tiles = n.b * heads * ceil_div(n.skv, tile.rows)
        most = {"K": self._most(tiles), "V": self._most(tiles)}
        scratch = self.scratch(tile.rows * (2 * tile.columns + q.pitch + grad.pitch))
        inputs = (k, v, self.q_panels, self.grad_panels, q, grad)
        numbers: tuple[int, ...] = (tiles, heads, n.hk, n.hv, n.d, n.dv, k.pitch, v.pitch, q.pitch, grad.pitch)
        numbers += (k.padded, v.padded, q.padded, grad.padded, self.q_panels.padded, self.row_pitch)
        defines, outputs = self.outputs({f"D{port}_T": f"D{port}" for port in which})
        defines.update(self.plain)
        args = (*_memory(inputs), self.logs, self.dot, *outputs, most["K"], most["V"], scratch, self.counter)
        self._tiles("attention_dkv", tile, defines, tiles, (*args, *map(int32, numbers)))
        for port in which:
            self.largest(f"AMAX_D{port}", most[port], tiles)

    def of_bias(self) -> None:
        """Append the gradient to the bias."""
        op, n, tile = self.operands, self.operands.sizes, self.tile
        q, grad = self.q, self.grad
        b, h, rows, columns = dims = op.at("DBIAS").dims
        tiles = math.prod((b, h, ceil_div(rows, tile.rows), ceil_div(columns, tile.columns)))
        scratch = self.scratch(tile.rows * 3 * tile.columns)
        inputs = (q, self.k_panels, self.v_panels, grad)
        numbers: tuple[int, ...] = (tiles, n.b, *dims, n.hk, n.hv, n.d, n.dv, q.pitch, grad.pitch)
        numbers += (q.padded, grad.padded, self.k_panels.padded, self.row_pitch)
        args = (*_memory(inputs), self.logs, self.dot, *op.placed("DBIAS"), scratch, self.counter)
        self._tiles(
            "attention_dbias",
            tile,
            {**op.type_of("DBIAS_T", "DBIAS"), **self.plain},
            tiles,
            (*args, *map(int32, numbers)),
        )


def _memory(packed: tuple[Packed, ...]) -> tuple[Arg, ...]:
    return tuple(one.memory for one in packed)
