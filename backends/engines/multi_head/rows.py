"""Where everything of a pass of multi-head attention lies, and its small launches."""

from __future__ import annotations

import math

import numpy as np

from portadnn.enums import DataType
from portadnn.ops.attention.layout import AttnQueryMap
from portadnn.ops.attention.problems import Attention
from portadnn.problem import TensorSpec

from ...base import Arg, ConstantArg, Device, DeviceInfo, Launch, TensorArg, WorkspaceArg
from ...philox import keep_words
from ..gemm.by_graph import Block
from ..gemm.operands import int32, int64
from ..inner_plans import Place
from ..rounding import ceil_div, round_up
from .products import alignment_of

Defines = dict[str, int | float | str]

FILE = "shared/attention/multi_head.cl"
_CHUNK = 1 << 12  # elements of a CPU's work-group
_ITEMS = 256  # of a GPU's
_EACH = 8  # elements of a GPU's work-item, where vectors have as many
_FEW = 64  # steps from which on each sequence's product stands for itself
ATTENTION, POST = 0, 1  # streams of random words


class Pass:
    """What the passes share.

    Attributes
    ----------
    workspace : int
        Bytes of scratch memory.
    groups, steps : int, (int, int)
        Of queries that meet the same keys; rows and keys of each.
    """

    def __init__(self, problem: Attention, info: DeviceInfo) -> None:
        self.problem, self.info = problem, info
        self.layout, self.kept = problem.layout, problem.kept
        self.dtype, self.real = problem.dtype, problem.dtype.accumulator
        self.cpu = info.schedule == "cpu"
        self.workspace = 0
        own = problem.query_map is AttnQueryMap.ONE_TO_ONE
        self.groups = problem.sequences[1]
        self.steps = problem.steps[0] * (1 if own else problem.beams[0]), problem.steps[1]

    # places

    def scratch(self, elements: int, dtype: DataType | None = None) -> Place:
        """Return room in the workspace for that many numbers, by default of the tensors' type."""
        kind = self.dtype if dtype is None else dtype
        place = WorkspaceArg(self.workspace, kind)
        self.workspace += round_up(max(elements, 1) * kind.itemsize, 256)
        return Place(place, kind)

    def has(self, name: str) -> bool:
        return name in self.problem.names

    def tensor(self, name: str) -> TensorArg:
        """Return a tensor as an argument."""
        return TensorArg(self.problem.index(name))

    def reserved(self, first: int, dtype: DataType | None = None) -> Place:
        """Return a place in the reserve space."""
        kind = self.dtype if dtype is None else dtype
        return Place(TensorArg(self.problem.index("reserve"), first, kind), kind)

    def parameters(self, name: str, first: int) -> Place:
        """Return a place among the parameters."""
        item = self.dtype.itemsize
        whole = alignment_of(first, item, getattr(self.problem, name).alignment)
        return Place(TensorArg(self.problem.index(name), first * item), self.dtype, whole)

    def rows(self, which: int) -> int:
        """Return the rows of queries (0, or 3 of outputs), or of keys and values."""
        return self.kept.rows[which in (1, 2)]

    def matrix(self, name: str, which: int) -> Block:
        """Return a projection's matrix."""
        return Block.packed(self.parameters(name, self.layout.matrix(which)), *self.layout.shape(which))

    def seen(self, name: str) -> Block | None:
        """Return a tensor as rows of numbers, in the order of rows; None where strides do not tell their places."""
        spec: TensorSpec = getattr(self.problem, name)
        (t, n, b, c), (of_t, of_n, of_b, of_c) = spec.dims, spec.strides
        if (c > 1 and of_c != 1) or (n > 1 and b > 1 and of_n != b * of_b):
            return None
        if any(size > 1 and step < c for size, step in ((t, of_t), (n, of_n), (b, of_b))):
            return None
        place = Place(self.tensor(name), self.dtype, spec.alignment)
        many, of_many = n * b, of_b if b > 1 else of_n
        if t == 1 or many == 1 or of_many == t * of_t:
            step = of_many if t == 1 else of_t
            return Block(place, (1, many * t, c), (max(step, 1) * many * t, step, 1))
        return Block(place, (many, t, c), (of_many, of_t, 1)) if t >= _FEW else None

    # launches

    def elements(
        self,
        device: Device,
        name: str,
        args: tuple[Arg, ...],
        size: int,
        more: Defines | None = None,
        vector: int = 1,
    ) -> Launch:
        """Return a launch over elements, whose number is its last argument; a work-item's are of one `vector`."""
        per = math.gcd(vector, _EACH)
        schedule: Defines = {"SCHEDULE_CPU": 1, "CHUNK": _CHUNK} if self.cpu else {"PER": per}
        kernel = device.compile(FILE, name, {f"DTYPE_{self.dtype.name}": 1, **schedule, **(more or {})})
        groups, items = (ceil_div(size, _CHUNK), 1) if self.cpu else (ceil_div(size, _ITEMS * per), _ITEMS)
        return Launch(kernel, (groups,), (items,), (*args, int64(size)))

    def in_groups(
        self,
        device: Device,
        name: str,
        args: tuple[Arg, ...],
        groups: int,
        items: int,
        more: Defines | None = None,
        file: str = FILE,
    ) -> Launch:
        """Return a launch of work-groups."""
        defines = {f"DTYPE_{self.dtype.name}": 1, "WG": items, "PER": 1, **(more or {})}
        return Launch(device.compile(file, name, defines), (groups,), (items,), args)

    def drawn(self, stream: int) -> TensorArg:
        """Return the words of a stream's seed and draw."""
        return TensorArg(self.problem.index("reserve"), self.kept.draw + 16 * stream, DataType.INT32)

    def chance(self, stream: int) -> float:
        """Return a dropout's probability, 0 where it drops nothing."""
        probability = (self.problem.attn_dropout, self.problem.post_dropout)[stream]
        return probability if self.has("reserve") else 0.0

    def dropout(self, stream: int) -> tuple[tuple[Arg, ...], Defines]:
        """Return the arguments and defines of a dropout; none where it drops nothing."""
        probability = self.chance(stream)
        if not probability:
            return (), {}
        keep = 0.0 if probability == 1 else 1 / (1 - probability)
        numbers: tuple[Arg, ...] = (
            ConstantArg(np.uint32(stream)),
            int64(keep_words(1 - probability)),
            ConstantArg(self.real.numpy.type(keep)),
        )
        return (self.drawn(stream), *numbers), {"DROPS": 1}

    def lengths(self, which: int) -> tuple[tuple[Arg, ...], Defines]:
        """Return the arguments and defines of the lengths of queries, or of keys and values."""
        name = self.lengths_of(which)
        if name is None:
            return (), {}
        return (self.tensor(name), int64(getattr(self.problem, name).strides[0])), {"HAS_LENGTHS": 1}

    def lengths_of(self, which: int) -> str | None:
        """Return the name of the lengths of queries, or of keys and values, if there are any."""
        name = "lengths_kv" if which in (1, 2) else "lengths_q"
        return name if self.has(name) else None

    def place(self, name: str) -> tuple[Arg, ...]:
        """Return the numbers of a tensor's layout."""
        spec = getattr(self.problem, name)
        return (*map(int32, spec.dims), *map(int64, spec.strides))

    def packed(self, device: Device, name: str, which: int, to: Place, *, drops: bool = False) -> Launch:
        """Return the launch that makes rows of a tensor."""
        lengths, lengths_defines = self.lengths(which)
        dropout, dropout_defines = self.dropout(POST) if drops else ((), {})
        args = (self.tensor(name), to.arg, *lengths, *dropout, *self.place(name))
        size = getattr(self.problem, name).size
        defines = {**lengths_defines, **dropout_defines}
        return self.elements(device, "mha_pack", args, size, defines, getattr(self.problem, name).dims[3])

    def unpacked(self, device: Device, from_: Place, name: str, heads: int) -> Launch:
        """Return the launch that writes sums of so many rows to a tensor."""
        args = (from_.arg, self.tensor(name), int32(heads), *self.place(name))
        spec = getattr(self.problem, name)
        return self.elements(device, "mha_unpack", args, spec.size, vector=spec.dims[3])

    def finish(self, device: Device, from_: Place, *, bias: bool) -> Launch:
        """Return the launch that makes the outputs of rows."""
        lengths, defines = self.lengths(0)
        dropout, drops = self.dropout(POST)
        defines = {**defines, **drops, **({} if from_.dtype is self.real else {"STORED_ROWS": 1})}
        more: list[Arg] = []
        if bias:
            defines["HAS_BIAS"] = 1
            more += [self.tensor("w"), int64(self.layout.bias(3))]
        if self.has("residuals"):
            defines["HAS_RESIDUALS"] = 1
            more += [self.tensor("residuals"), *map(int64, self.problem.residuals.strides)]  # type: ignore[attr-defined]
        args = (from_.arg, self.tensor("out"), *more, *lengths, *dropout, *self.place("out"))
        spec = self.problem.out  # type: ignore[attr-defined]
        return self.elements(device, "mha_finish", args, spec.size, defines, spec.dims[3])

    def biased(self, device: Device, which: int, from_: Place, to: Place) -> Launch:
        """Return the launch that adds a projection's bias to rows."""
        columns = self.layout.shape(which)[0]
        args = (from_.arg, to.arg, self.tensor("w"), int64(self.layout.bias(which)), int32(columns))
        size = self.rows(which) * columns
        return self.elements(device, "mha_add_bias", args, size, {"HAS_BIAS": 1}, columns)
