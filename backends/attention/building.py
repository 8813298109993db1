"""What the schedules of attention share: workspace and launches of one plan, and the kernels that both have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from portadnn.enums import DataType
from portadnn.graph.memory.ragged import OF_QUERIES, reach
from portadnn.graph.operation_graph import TensorInfo

from ..base import Arg, Device, Launch, WorkspaceArg
from ..engines.rounding import round_up
from .operands import NUMBERS, PAGE_TABLES, RESULTS, Defines, Operands, Workspace, int32, int64

_ROWS_FILE = "shared/attention/rows.cl"
ROW_MULTIPLE = 16  # numbers of rows of a head, so that vectors of them are within it


class Building:
    """A plan in the making.

    Attributes
    ----------
    launches : list of Launch
        In order.
    numbers, words, counter : WorkspaceArg
        What ``attention/start.cl`` fills.
    table : WorkspaceArg
        Where sequences without padding begin, and how long they are (``attention/placed.h``).
    common : tuple of Arg
        The arguments that ``attention/attention.h`` calls ATTENTION.
    """

    items = 1  # of a work-group of the simple kernels

    def __init__(self, operands: Operands, device: Device) -> None:
        self.operands, self.device = operands, device
        self.real = operands.real
        self.workspace = Workspace()
        self.launches: list[Launch] = []
        self.numbers = self.workspace.take(len(NUMBERS), self.real)
        self.words = self.workspace.take(4, DataType.INT32)
        self.counter = self.workspace.take(1, DataType.INT32)
        pairs = operands.sizes.b * (len(operands.ragged) + 1) if operands.ragged else 0
        self.table = self.workspace.take(2 * pairs, DataType.DOUBLE)  # as long as the integers of 64 bits that it has
        self.common = operands.common(self.numbers, self.words, self.table)
        defines, args = operands.start()
        defines[f"DTYPE_{self.real.name}"] = 1
        self.launch(
            "shared/attention/start.cl", "attention_start", defines, 1, (self.numbers, self.words, self.counter, *args)
        )
        if operands.ragged:
            self.find_sequences()
        self.gather()
        for port in RESULTS:
            info = operands.find(port)
            if info is not None and info.virtual:
                operands.gathered[port] = self.piece(port)

    def find_sequences(self) -> None:
        """Append what fills the table of sequences without padding."""
        op, b = self.operands, self.operands.sizes.b
        parameters, binds, pairs = "", "", ""
        args: list[Arg] = [self.table, *map(op.tensor, op.lengths_ports()), int32(b)]
        for port, place in op.ragged.items():
            info, name = op.at(port), f"offsets{place}"
            assert info.ragged_offset is not None
            offsets = op.graph.by_uid[info.ragged_offset]
            parameters += f", OFFSETS({offsets.data_type.name}, {name})"
            binds += f"BIND(const ELEMENT({offsets.data_type.name}), {name});"
            least = "unread" if info.uid in op.graph.results else "rows" if port in OF_QUERIES else "columns"
            if port in PAGE_TABLES.values():
                pairs += f"PAGES({place}, {name}, {op.at(port[-1]).dims[2]})"
            else:
                pairs += f"PAIR({place}, {name}, {least})"
            counts = (offsets.strides[0], info.ragged_multiplier, max(info.strides[2], 1), reach(info))
            args += [op.in_memory(offsets), *map(int64, counts), *self.room(info)]
        defines: Defines = {"RAGGED_ARGUMENTS": parameters, "RAGGED_BIND": binds, "RAGGED_PAIRS": pairs}
        defines |= {**op.defines(), "ITEMS": self.items}
        self.launch(_ROWS_FILE, "attention_ragged", defines, -(-b // self.items), args, self.items)

    def room(self, info: TensorInfo) -> tuple[Arg, Arg]:
        """Return the elements of a tensor's memory as two numbers that floats hold: the last 20 bits, the others."""

        def elements(arrays: Mapping[int, Any]) -> int:
            dims, steps, dtype, _ = self.device.signature(arrays[info.uid])
            nbytes = dtype.itemsize + sum((d - 1) * s for d, s in zip(dims, steps, strict=True))
            return int(nbytes) // info.data_type.itemsize

        low = self.operands.scalar(lambda arrays: float(elements(arrays) & 0xFFFFF), DataType.FLOAT)
        return low, self.operands.scalar(lambda arrays: float(elements(arrays) >> 20), DataType.FLOAT)

    def piece(self, port: str) -> WorkspaceArg:
        """Return memory for all of a tensor, packed row by row."""
        known = self.operands.at(port).data_type.problem_type
        return self.workspace.take(math.prod(self.operands.dims(port)), DataType.UINT8 if known is None else known)

    def gather(self) -> None:
        """Append what copies keys and values together that lie in pages."""
        op = self.operands
        for port, table in PAGE_TABLES.items():
            if op.find(table):
                b, h, keys, d = op.dims(port)
                info, pages = op.at(port), op.at(table)
                place = self.piece(port)
                sizes = (int64(b * h * keys), int32(h), int32(d), int32(info.dims[2]))
                tables = (op.tensor(table), int64(pages.strides[0]), int64(pages.strides[2]))
                types = {**op.type_of("PAGED_T", port), **op.type_of("TABLE_T", table)}
                types |= op.places({table: "table"})
                args = (*op.as_given(port), *tables, place, *sizes, *self.common)
                self.simple("attention_pages", types, b * h * keys, args)
                op.gathered[port] = place

    def launch(
        self,
        file: str,
        name: str,
        defines: Defines,
        groups: int,
        args: Sequence[Arg],
        items: int = 1,
        local_bytes: int = 0,
    ) -> None:
        """Compile a kernel and append its launch."""
        kernel = self.device.compile(file, name, defines)
        self.launches.append(Launch(kernel, (groups,), (items,), tuple(args), local_bytes))

    def simple(self, name: str, defines: Defines, places: int, args: Sequence[Arg]) -> None:
        """Append a launch of one of the simple kernels, with a work-item for each place."""
        common = {**self.operands.defines(), "ITEMS": self.items}
        self.launch(_ROWS_FILE, name, {**common, **defines}, -(-places // self.items), args, self.items)

    def drawn(self) -> None:
        """Append what leaves the mask of dropout where the program wants it."""
        op, scores = self.operands, self.scores
        if op.find("RNG_DUMP"):
            args = (*op.placed("RNG_DUMP"), int64(scores), *self.common)
            self.simple("attention_drawn", op.type_of("DRAWN_T", "RNG_DUMP"), scores, args)

    def largest(self, port: str, found: WorkspaceArg, count: int) -> None:
        """Append what brings the largest of some numbers to an output."""
        op = self.operands
        if op.find(port):
            defines = {**op.type_of("MOST_T", port), "ITEMS": self.items, f"DTYPE_{self.real.name}": 1}
            args = (found, op.tensor(port), int64(count))
            self.launch(_ROWS_FILE, "attention_most", {**op.defines(), **defines}, 1, args, self.items)

    def restart(self) -> None:
        """Append what sets the counter of tiles to 0 for one more kernel."""
        self.launches.append(self.launches[0])

    def statistics(self) -> int:
        """Append what is known of each row before the gradients; returns the numbers of a head's rows."""
        op, n = self.operands, self.operands.sizes
        pitch = round_up(n.sq, ROW_MULTIPLE)
        places = n.b * n.hq * pitch
        self.dot, self.logs = self.workspace.take(places, self.real), self.workspace.take(places, self.real)
        defines = {**op.type_of("O_T", "O"), **op.type_of("DO_T", "DO"), **op.type_of("STATS_T", "STATS")}
        defines["PER_ROW"] = per_row = 1 if self.device.info.schedule == "cpu" else 8
        tensors = (*op.placed("O"), *op.placed("DO"), *op.placed("STATS"), self.dot, self.logs)
        args = (*tensors, int64(places), int32(pitch), int32(n.dv), *self.common)
        self.simple("attention_dot", defines, places * per_row, args)
        return pitch

    def of_sink(self) -> None:
        """Append the gradient to the sink, if there is one."""
        op, n = self.operands, self.operands.sizes
        if op.find("DSINK_TOKEN"):
            pitch = round_up(n.sq, ROW_MULTIPLE)
            gradient, _, by_head, *_ = op.placed("DSINK_TOKEN")
            args = (gradient, by_head, self.dot, self.logs, int32(n.b), int32(pitch), *self.common)
            self.simple("attention_sink", op.type_of("DSINK_T", "DSINK_TOKEN"), n.hq * self.items, args)

    @property
    def scores(self) -> int:
        """Number of scores."""
        n = self.operands.sizes
        return n.b * n.hq * n.sq * n.skv

    def outputs(self, names: dict[str, str]) -> tuple[Defines, tuple[Arg, ...]]:
        """Return the types, by the names of kernels, and the places of those outputs that there are."""
        op = self.operands
        defines: Defines = {}
        args: tuple[Arg, ...] = ()
        for name, port in names.items():
            if op.find(port):
                defines.update(op.type_of(name, port))
                args += op.placed(port)
        return defines, args
