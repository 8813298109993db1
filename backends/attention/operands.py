"""An attention node as kernels see it: its tensors and numbers as arguments, and what is compiled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from portadnn.enums import DataType
from portadnn.graph.data_types import data_type
from portadnn.graph.enums import diagonal_alignment
from portadnn.graph.layout import row_major
from portadnn.graph.operation_graph import OperationGraph, TensorInfo
from portadnn.graph.ops.attention import is_cumulative, keys_of, lengths_port, sizes_of

from ..base import Arg, ConstantArg, ScalarArg, TensorArg, WorkspaceArg
from ..graph_launches import Scalar
from ..philox import keep_words

Defines = dict[str, int | float | str]

# the places of attention's numbers in memory, for kernels by name
NUMBERS = (
    "ATTN_SCALE",
    "DROPOUT_SCALE",
    "DROPOUT_SCALE_INV",
    *(f"DESCALE_{of}" for of in ("Q", "K", "V", "O", "DO", "S", "DP")),
    *(f"SCALE_{of}" for of in ("S", "O", "DP", "DQ", "DK", "DV")),
)
WORDS = ("SEED", "OFFSET")
PAGE_TABLES = {"K": "PAGE_TABLE_K", "V": "PAGE_TABLE_V"}
SCALAR_PORTS = frozenset((*NUMBERS, *WORDS))
# tensors that may lie without padding (attention/placed.h), by their names in kernels
_ROWS = {"O": "o", "STATS": "stats", "MAX": "tops", "SUM_EXP": "sums"}
_GRADIENTS = {"DO": "grad", "DQ": "dq", "DK": "dk", "DV": "dv"}
_PAGES = {"PAGE_TABLE_K": "k_pages", "PAGE_TABLE_V": "v_pages"}
RAGGED_PORTS = {"Q": "q", "K": "k", "V": "v", **_PAGES, **_ROWS, **_GRADIENTS}
RESULTS = ("O", "DQ", "DK", "DV")  # that kernels always write; the others where the program has a tensor
FAR = 2**30  # a bound that no column reaches
_ALIGNMENT = 256
_BYTES_OF_8 = {data_type.INT64: DataType.DOUBLE}  # types that Problems do not know, by one as long


def int32(value: int) -> ConstantArg:
    """Return a kernel argument of type int."""
    return ConstantArg(np.int32(value))


def int64(value: int) -> ConstantArg:
    """Return a kernel argument of type i64."""
    return ConstantArg(np.int64(value))


class Workspace:
    """Scratch memory, given out from the start; `size` is what was given out."""

    def __init__(self) -> None:
        self.size = 0

    def take(self, count: int, dtype: DataType) -> WorkspaceArg:
        """Return the place of so many elements."""
        place = WorkspaceArg(self.size, dtype)
        self.size += -(-count * dtype.itemsize // _ALIGNMENT) * _ALIGNMENT
        return place


class Operands:
    """The one attention of a graph.

    Attributes
    ----------
    sizes : Sizes
        Dims of what is multiplied.
    gathered : dict of str to WorkspaceArg
        Where keys and values lie in one piece that the program has in pages, and results that nobody reads.
    ragged : dict of str to int
        Ports of tensors without padding, with their places in the table of sequences, from 1 on.
    scalars : list of callable
        What computes the numbers that arguments count.
    real : DataType
        What is computed in: DOUBLE where the graph says so or a tensor is, else FLOAT.
    backward, fp8 : bool
        Which of the four kinds it is.
    """

    def __init__(self, graph: OperationGraph) -> None:
        self.graph = graph
        (self.op,) = graph.operations
        q, k, v = (graph.at(self.op, port).dims for port in "QKV")
        of_k, of_v = (graph.at(self.op, p).dims if p in self.op.uids else None for p in PAGE_TABLES.values())
        self.sizes = sizes_of(q, k, v, keys_of(k, v, of_k, of_v, self.op.values.get("max_seq_len_kv")))
        self.gathered: dict[str, WorkspaceArg] = {}
        self.backward = "DQ" in self.op.uids
        self.fp8 = "fp8" in self.op.kind
        infos = [info for info in graph.infos if not info.by_value]
        double = self.op.compute_type is data_type.DOUBLE or any(i.data_type is data_type.DOUBLE for i in infos)
        self.real = DataType.DOUBLE if double else DataType.FLOAT
        unpadded = (port for port in RAGGED_PORTS if self._unpadded(port))
        self.ragged = {port: place for place, port in enumerate(unpadded, start=1)}
        self.scalars: list[Scalar] = []

    # what the node has

    @property
    def masked(self) -> bool:
        """Whether scores within bands and lengths are asked for one by one."""
        return self.find("BLOCK_MASK") is not None or self.find("WINDOWS") is not None

    def find(self, port: str) -> TensorInfo | None:
        """Return the tensor at a port, if there is one and somebody reads it."""
        uid = self.op.uids.get(port)
        info = None if uid is None else self.graph.by_uid[uid]
        return None if info is not None and info.virtual and port not in RESULTS else info

    def _unpadded(self, port: str) -> bool:
        info = self.find(port)
        return info is not None and not info.virtual and info.ragged_offset is not None

    def at(self, port: str) -> TensorInfo:
        """Return the tensor at a port."""
        return self.graph.at(self.op, port)

    def dims(self, port: str) -> tuple[int, ...]:
        """Return the dims of a tensor, in one piece."""
        dims, n = self.at(port).dims, self.sizes
        return (n.b, dims[1], n.skv, dims[3]) if self.find(PAGE_TABLES.get(port, "")) else dims

    @property
    def draws(self) -> bool:
        """Whether there is dropout by random numbers."""
        return self.op["dropout_probability"] is not None

    # arguments

    def tensor(self, port: str) -> TensorArg:
        """Return a tensor as an argument."""
        return self.in_memory(self.at(port))

    def in_memory(self, info: TensorInfo) -> TensorArg:
        """Return a tensor of the graph as an argument."""
        return TensorArg(self.graph.places[info.uid], dtype=_BYTES_OF_8.get(info.data_type))

    def placed(self, port: str) -> tuple[Arg, ...]:
        """Return a tensor of four dims with its strides, 0 along dims of 1."""
        if port in self.gathered:
            return (self.gathered[port], *map(int64, row_major(self.dims(port))))
        return self.as_given(port)

    def as_given(self, port: str) -> tuple[Arg, ...]:
        """Return a tensor of four dims as the program has it, with its strides."""
        info = self.at(port)
        strides = (int64(s if d > 1 else 0) for d, s in zip(info.dims, info.strides, strict=True))
        return (self.tensor(port), *strides)

    def common(self, numbers: WorkspaceArg, words: WorkspaceArg, table: WorkspaceArg) -> tuple[Arg, ...]:
        """Return what ATTENTION of ``attention/attention.h`` declares; `table` is that of sequences without padding."""
        n, op = self.sizes, self.op
        left = FAR if op["left_bound"] is None else op["left_bound"]
        right = FAR if op["right_bound"] is None else op["right_bound"]
        bottom = op["diagonal_alignment"] is diagonal_alignment.BOTTOM_RIGHT
        args: list[Arg] = [int32(v) for v in (n.hq, n.sq, n.skv, min(left, FAR), min(right, FAR), bottom)]
        args += [numbers, words]
        if self.ragged:
            args.append(table)
        else:
            args += [self.tensor(port) for port in self.lengths_ports()]
        for port in ("BIAS", "BLOCK_MASK"):
            if self.find(port):
                args += self.placed(port)
        if self.find("WINDOWS"):
            args.append(self.tensor("WINDOWS"))
        if self.find("SINK_TOKEN"):
            args += [self.tensor("SINK_TOKEN"), self.placed("SINK_TOKEN")[2]]
        if self.draws:
            args.append(ConstantArg(np.uint32(keep_words(1 - op["dropout_probability"]) - 1)))
        elif self.find("DROPOUT_MASK"):
            args += self.placed("DROPOUT_MASK")
        return tuple(args)

    def defines(self) -> Defines:
        """Return what ``attention/attention.h`` is told of the node, without the types of what is multiplied."""
        found: Defines = {f"DTYPE_{self.real.name}": 1, **{name: place for place, name in enumerate(NUMBERS)}}
        for name, port in (("BIAS_T", "BIAS"), ("SINK_T", "SINK_TOKEN")):
            found.update(self.type_of(name, port))
        found |= {**self.lengths(), **self.places(RAGGED_PORTS)}
        if self.find("BLOCK_MASK"):
            found["BLOCK_MASK"] = 1
        if self.find("WINDOWS"):
            found["WINDOWS"] = 1
        if self.op["use_alibi_mask"]:
            found["ALIBI"] = 1
        if self.draws:
            found["DRAWN"] = 1
        if self.op.values.get("stats_use_log2"):
            found["STATS_LOG2"] = 1
        return {**found, **self.type_of("MASK_T", "DROPOUT_MASK")}

    def places(self, names: Mapping[str, str]) -> Defines:
        """Return where tensors, by their names in a kernel, are in the table of those without padding; 0 elsewhere."""
        found: Defines = {f"RAGGED_{name}": self.ragged.get(port, 0) for port, name in names.items()}
        return {**found, "RAGGED": len(self.ragged) + 1} if self.ragged else found

    def lengths(self) -> Defines:
        """Return how the program's lengths of sequences lie."""
        found: Defines = {}
        for name, port in zip(("ROWS", "COLUMNS"), self.lengths_ports(), strict=False):
            found |= {**self.type_of(f"{name}_T", port), f"{name}_STEP": self.at(port).strides[0]}
            if is_cumulative(port):
                found[f"{name}_SUMMED"] = 1
        return found

    def lengths_ports(self) -> tuple[str, ...]:
        """Return the ports of the lengths of queries' and of keys' sequences; none where there are no lengths."""
        found = (lengths_port(self.op.uids, side) for side in ("Q", "KV"))
        return tuple(port for port in found if port is not None)

    def type_of(self, name: str, port: str) -> Defines:
        """Return the type of a tensor as a define; none without that tensor."""
        info = self.find(port)
        return {} if info is None else {name: info.data_type.name}

    # numbers

    def start(self) -> tuple[Defines, tuple[Arg, ...]]:
        """Return the defines that ``attention/start.cl`` needs, and its arguments behind those in the workspace."""
        parameters, binds, body = "", "", ""
        args: list[Arg] = []
        for place, name in enumerate((*NUMBERS, *WORDS)):
            info, word = self.find(name), name in WORDS
            at = place - len(NUMBERS) if word else place
            if info is not None and not info.by_value:
                kind = info.data_type.name
                parameters += f", TENSOR(const ELEMENT({kind}), n{place})"
                binds += f"BIND(const ELEMENT({kind}), n{place});"
                body += f"WORDS({2 * at}, n{place}[0])" if word else f"NUMBER({at}, GET({kind}, n{place}, 0))"
                args.append(self.tensor(name))
            elif word and info is not None:
                parts = ", ".join(f"n{place}_{part}" for part in range(4))
                parameters += f", const float {parts.replace(', ', ', const float ')}"
                body += f"PARTS({2 * at}, {parts})"
                args += self._parts(info)
            elif not word:
                parameters += f", const real n{place}"
                body += f"NUMBER({at}, n{place})"
                args.append(self._number(name, info))
        return {"START_ARGUMENTS": parameters, "START_BIND": binds, "START_NUMBERS": body}, tuple(args)

    def _number(self, name: str, info: TensorInfo | None) -> Arg:
        """Return a number of the program's, or what it is without one."""
        if info is not None and not info.constant:
            return self.scalar(lambda arrays: float(arrays[info.uid]), self.real)
        value: Any = 1.0
        if info is not None:
            value = info.data_type.rounded(np.float64(info.value or 0))
        elif self.draws and name.startswith("DROPOUT"):
            kept = 1.0 - self.op["dropout_probability"]
            value = kept if name.endswith("INV") else 1.0 / kept
        return ConstantArg(self.real.numpy.type(value))

    def _parts(self, info: TensorInfo) -> tuple[Arg, ...]:
        """Return an integer as four numbers of 16 bits, which every float holds."""
        if info.constant:
            whole = int(info.value or 0)
            return tuple(ConstantArg(np.float32(whole >> 16 * part & 0xFFFF)) for part in range(4))
        return tuple(self.scalar(part_of(info, part), DataType.FLOAT) for part in range(4))

    def scalar(self, value: Scalar, dtype: DataType) -> ScalarArg:
        """Return a run-time number as an argument."""
        self.scalars.append(value)
        return ScalarArg(len(self.scalars) - 1, dtype)


def part_of(info: TensorInfo, part: int) -> Scalar:
    """Return what tells 16 bits of a run-time integer, which every float holds."""
    return lambda arrays: float(int(arrays[info.uid]) >> 16 * part & 0xFFFF)
