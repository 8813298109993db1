"""Multi-head attention: batched matrix products of heads, and small kernels between them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from portadnn.enums import DataType
from portadnn.ops.attention.layout import AttnQueryMap
from portadnn.ops.attention.problems import (
    Attention,
    MultiHeadAttnBackwardData,
    MultiHeadAttnBackwardWeights,
    MultiHeadAttnForward,
)
from portadnn.problem import Problem

from ..base import Arg, ConstantArg, Device, DeviceInfo, Engine, Launch, Plan, TensorArg, WorkspaceArg, roofline
from .gemm.operands import Matrix, int32, int64
from .gemm.product import Gemm
from .rounding import ceil_div, round_up

Place = tuple[TensorArg | WorkspaceArg, int]  # memory, and elements before the first
Defines = dict[str, int | float | str]

_FILE = "shared/attention/multi_head.cl"
_CHUNK = 1 << 12  # elements of a CPU's work-group
_ATTENTION, _POST = 0, 1  # streams of random words
_LAUNCHES = {"multi_head_attn_forward": 14, "multi_head_attn_backward_data": 18}


class Pass:
    """What the passes share: where everything lies, and small launches.

    Attributes
    ----------
    workspace : int
        Bytes of scratch memory.
    """

    def __init__(self, problem: Attention, info: DeviceInfo) -> None:
        self.problem, self.info = problem, info
        self.layout, self.kept = problem.layout, problem.kept
        self.dtype, self.real = problem.dtype, problem.dtype.accumulator
        self.cpu = info.schedule == "cpu"
        self.workspace = 0
        self.own_beams = problem.query_map is AttnQueryMap.ONE_TO_ONE

    def scratch(self, elements: int) -> WorkspaceArg:
        """Return room in the workspace for that many numbers."""
        place = WorkspaceArg(self.workspace, self.real)
        self.workspace += round_up(max(elements, 1) * place.dtype.itemsize, 256)
        return place

    def has(self, name: str) -> bool:
        return name in self.problem.names

    def tensor(self, name: str) -> TensorArg:
        """Return a tensor, or the reserve space as numbers of the arithmetic type."""
        return TensorArg(self.problem.index(name), dtype=self.real if name == "reserve" else None)

    def rows(self, which: int) -> int:
        """Return the rows of queries (0, or 3 of outputs), or of keys and values."""
        side = which in (1, 2)
        return self.problem.sequences[side] * self.problem.steps[side]

    def products_room(self, gemms: list[Gemm]) -> int:
        """Reserve room for products, which run one after another; return where it begins."""
        start = self.workspace
        self.workspace += round_up(max((gemm.workspace(self.info) for gemm in gemms), default=0), 256)
        return start

    # products

    def projected(self, which: int, from_: Place, to: Place) -> Gemm:
        """Return rows times a projection's matrix, turned."""
        rows, columns = self.layout.shape(which)
        w = Matrix(self.tensor("w"), self.layout.matrix(which), 1, columns, stored=True)
        given, result = Matrix(*from_, columns), Matrix(*to, rows)
        return Gemm(self.dtype, self.rows(which), rows, columns, given, w, result)

    def projected_back(self, which: int, from_: Place, to: Place) -> Gemm:
        """Return the gradient of a projection's input: rows times its matrix."""
        rows, columns = self.layout.shape(which)
        w = Matrix(self.tensor("w"), self.layout.matrix(which), columns, stored=True)
        return Gemm(self.dtype, self.rows(which), columns, rows, Matrix(*from_, rows), w, Matrix(*to, columns))

    def of_heads(self, a: tuple[Place, int, bool], b: tuple[Place, int, bool], to: tuple[Place, int]) -> Iterator[Gemm]:
        """Return products of the matrices of all heads of all sequences.

        Parameters
        ----------
        a, b
            Place, which of queries (0), keys (1), values (2), or weights (3), and whether it is turned.
        to
            Place of the result, and which it is.
        """
        problem = self.problem
        beams = problem.beams[0] if not self.own_beams else 1
        heads = problem.sequences[0] // beams * self.layout.heads

        def matrix(place: Place, which: int, turned: bool, beam: int) -> tuple[Matrix, int, int]:
            rows, columns = self._head(which)
            first = place[1] + (beam * heads * rows * columns if which in (0, 3, 4) else 0)
            found = Matrix(place[0], first, columns, batch=rows * columns)
            return (found.turned, columns, rows) if turned else (found, rows, columns)

        for beam in range(beams):
            left, m, k = matrix(*a, beam)
            right, _, n = matrix(*b, beam)
            result, _, _ = matrix(*to, False, beam)
            yield Gemm(self.dtype, m, n, k, left, right, result, heads, accumulate=beam > 0 and to[1] in (1, 2))

    def _head(self, which: int) -> tuple[int, int]:
        """Return rows and columns of a head's queries, keys, values, weights (3) or results (4)."""
        queries, keys = self.problem.steps
        if which == 3:
            return queries, keys
        return (keys if which in (1, 2) else queries), self.layout.head(2 if which == 4 else which)

    # launches

    def elements(
        self, device: Device, name: str, args: tuple[Arg, ...], size: int, more: Defines | None = None
    ) -> Launch:
        """Return a launch with a work-item an element, whose number is its last argument."""
        schedule: Defines = {"SCHEDULE_CPU": 1, "CHUNK": _CHUNK} if self.cpu else {}
        kernel = device.compile(_FILE, name, {f"DTYPE_{self.dtype.name}": 1, **schedule, **(more or {})})
        groups, items = (ceil_div(size, _CHUNK), 1) if self.cpu else (ceil_div(size, 256), 256)
        return Launch(kernel, (groups,), (items,), (*args, int64(size)))

    def in_groups(
        self, device: Device, name: str, args: tuple[Arg, ...], groups: int, length: int, more: Defines | None = None
    ) -> Launch:
        """Return a launch with a work-group for each of the rows, or columns, of that length."""
        items = 1 if self.cpu else min(max(32, 1 << max(length - 1, 1).bit_length()), 256, self.info.max_work_group)
        defines = {f"DTYPE_{self.dtype.name}": 1, "WG": items, **(more or {})}
        if self.cpu and self.info.backend == "opencl" and self.dtype is DataType.FLOAT:
            defines["VW"] = max(4, min(16, self.info.simd_width))
        return Launch(device.compile(_FILE, name, defines), (groups,), (items,), args)

    def dropout(self, stream: int) -> tuple[tuple[Arg, ...], Defines]:
        """Return the arguments and defines of a dropout; none where it drops nothing."""
        probability = (self.problem.attn_dropout, self.problem.post_dropout)[stream]
        if not probability or not self.has("reserve"):
            return (), {}
        keep = 0.0 if probability == 1 else 1 / (1 - probability)
        words = self.kept.draw + 4 * stream * DataType.INT32.itemsize // self.real.itemsize
        numbers: tuple[Arg, ...] = (
            int64(words),
            ConstantArg(np.uint32(stream)),
            int64(round(probability * 2**32)),
            ConstantArg(self.real.numpy.type(keep)),
        )
        return (self.tensor("reserve"), *numbers), {"DROPS": 1}

    def lengths(self, which: int) -> tuple[tuple[Arg, ...], Defines]:
        """Return the arguments and defines of the lengths of queries, or of keys and values."""
        name = "lengths_kv" if which in (1, 2) else "lengths_q"
        if not self.has(name):
            return (), {}
        return (self.tensor(name), int64(getattr(self.problem, name).strides[0])), {"HAS_LENGTHS": 1}

    def place(self, name: str) -> tuple[Arg, ...]:
        """Return the numbers of a tensor's layout."""
        spec = getattr(self.problem, name)
        return (*map(int32, spec.dims), *map(int64, spec.strides))

    def packed(self, device: Device, name: str, which: int, to: Place, *, drops: bool = False) -> Launch:
        """Return the launch that makes rows of a tensor."""
        lengths, lengths_defines = self.lengths(which)
        dropout, dropout_defines = self.dropout(_POST) if drops else ((), {})
        args = (self.tensor(name), to[0], *lengths, *dropout, int64(to[1]), *self.place(name))
        size = getattr(self.problem, name).size
        return self.elements(device, "mha_pack", args, size, {**lengths_defines, **dropout_defines})

    def unpacked(self, device: Device, from_: Place, name: str) -> Launch:
        """Return the launch that writes rows to a tensor."""
        args = (from_[0], self.tensor(name), int64(from_[1]), *self.place(name))
        return self.elements(device, "mha_unpack", args, getattr(self.problem, name).size)

    def split(self, device: Device, which: int, from_: Place, to: Place, *, shared: bool, bias: bool = True) -> Launch:
        """Return the launch that makes heads of rows (`which` 4: of what gives values' weighted sums)."""
        steps, numbers = self._head(which)
        sequences = self.problem.sequences[which in (1, 2)]
        defines: Defines = {"SHARED": 1} if shared else {}
        more: tuple[Arg, ...] = ()
        if bias and not shared and self.layout.has_bias(which):
            defines["HAS_BIAS"] = 1
            more = (self.tensor("w"), int64(self.layout.bias(which)))
        sizes = (int32(steps), int32(self.layout.heads), int32(numbers))
        args = (from_[0], to[0], *more, int64(from_[1]), int64(to[1]), *sizes)
        size = sequences * self.layout.heads * steps * numbers
        return self.elements(device, "mha_split", args, size, defines)

    def merged(self, device: Device, which: int, from_: Place, to: Place, *, shared: bool) -> Launch:
        """Return the launch that makes rows of heads; where they share a vector, of their sums."""
        steps, numbers = self._head(which)
        rows = self.problem.sequences[which in (1, 2)] * steps
        sizes = (int32(steps), int32(self.layout.heads), int32(numbers))
        args = (from_[0], to[0], int64(from_[1]), int64(to[1]), *sizes)
        size = rows * numbers * (1 if shared else self.layout.heads)
        return self.elements(device, "mha_merge", args, size, {"SHARED": 1} if shared else {})

    def reserved(self, first: int) -> Place:
        """Return a place in the reserve space."""
        return self.tensor("reserve"), first


class Forward(Pass):
    """The forward pass."""

    def __init__(self, problem: MultiHeadAttnForward, info: DeviceInfo) -> None:
        super().__init__(problem, info)
        layout, kept = self.layout, self.kept
        training = problem.reserve is not None
        widest = max(self.rows(w) * max(layout.sizes[w], layout.heads * layout.head(w)) for w in range(3))
        self.given = self.scratch(widest), 0
        self.wide = self.scratch(max(widest, self.rows(0) * max(layout.merged, layout.out))), 0
        whole = WorkspaceArg(self.workspace, self.real)
        if not training:
            self.workspace += round_up(kept.gradient(0) * self.real.itemsize, 256)
        base: TensorArg | WorkspaceArg = self.tensor("reserve") if training else whole
        self.heads = [(base, kept.part(which)) for which in range(3)]
        drops = training and problem.attn_dropout > 0
        self.weights, self.dropped = (base, kept.weights), (base, kept.dropped if drops else kept.weights)
        self.results = self.scratch(self.rows(0) * layout.merged), 0
        self.side = base, kept.merged
        self.products = self.products_room([*self.projections(), *self.scores(), *self.sums(), *self.outputs()])

    def projections(self) -> list[Gemm]:
        wanted = [which for which in range(3) if self.layout.projections[which]]
        return [self.projected(which, self.given, self.wide) for which in wanted]

    def scores(self) -> list[Gemm]:
        q, k, _ = self.heads
        return list(self.of_heads((q, 0, False), (k, 1, True), (self.weights, 3)))

    def sums(self) -> list[Gemm]:
        return list(self.of_heads((self.dropped, 3, False), (self.heads[2], 2, False), (self.results, 4)))

    def outputs(self) -> list[Gemm]:
        return [self.projected(3, self.side, self.wide)] if self.layout.projections[3] else []

    def launches(self, device: Device) -> Iterator[Launch]:
        """Return the launches of the whole pass."""
        for name, place in (("attn_states", 0), ("post_states", 4)):
            if self.has(name):
                args = (self.tensor(name), self.tensor("reserve"), int64(self.kept.draw), int32(place))
                kernel = device.compile(_FILE, "mha_draw", {f"DTYPE_{self.dtype.name}": 1})
                yield Launch(kernel, (1,), (1,), args)
        for which, name in enumerate("qkv"):
            yield self.packed(device, name, which, self.given)
            if self.layout.projections[which]:
                yield from self.projected(which, self.given, self.wide).launches(device, self.products)
                yield self.split(device, which, self.wide, self.heads[which], shared=False)
            else:
                yield self.split(device, which, self.given, self.heads[which], shared=True)
        for gemm in self.scores():
            yield from gemm.launches(device, self.products)
        yield self._softmax(device)
        for gemm in self.sums():
            yield from gemm.launches(device, self.products)
        yield self.merged(device, 4, self.results, self.side, shared=False)
        for gemm in self.outputs():
            yield from gemm.launches(device, self.products)
        yield self._finish(device, self.wide if self.layout.projections[3] else self.side)

    def _softmax(self, device: Device) -> Launch:
        problem = self.problem
        args: list[Arg] = [self.weights[0], self.dropped[0]]
        dropout, defines = self.dropout(_ATTENTION)
        defines = dict(defines)
        for name in ("lengths_q", "lengths_kv", "windows"):
            if self.has(name):
                defines[f"HAS_{name.upper()}"] = 1
                args += [self.tensor(name), *map(int64, getattr(problem, name).strides)]
        if self.own_beams:
            defines["ONE_TO_ONE"] = 1
        sizes = (self.layout.heads, problem.batch, problem.beams[0], *problem.steps)
        args += [*dropout, int64(self.weights[1]), int64(self.dropped[1]), *map(int32, sizes)]
        args.append(ConstantArg(self.real.numpy.type(problem.scale)))
        rows = problem.sequences[0] * self.layout.heads * problem.steps[0]
        return self.in_groups(device, "mha_softmax", tuple(args), rows, problem.steps[1], defines)

    def _finish(self, device: Device, from_: Place) -> Launch:
        lengths, defines = self.lengths(0)
        dropout, drops = self.dropout(_POST)
        defines = {**defines, **drops}
        more: list[Arg] = []
        if self.layout.has_bias(3):
            defines["HAS_BIAS"] = 1
            more += [self.tensor("w"), int64(self.layout.bias(3))]
        if self.has("residuals"):
            defines["HAS_RESIDUALS"] = 1
            more += [self.tensor("residuals"), *map(int64, self.problem.residuals.strides)]  # type: ignore[attr-defined]
        args = (from_[0], self.tensor("out"), *more, *lengths, *dropout, int64(from_[1]), *self.place("out"))
        return self.elements(device, "mha_finish", args, self.problem.out.size, defines)  # type: ignore[attr-defined]


class BackwardData(Pass):
    """The gradients of queries, keys and values."""

    def __init__(self, problem: MultiHeadAttnBackwardData, info: DeviceInfo) -> None:
        super().__init__(problem, info)
        layout, kept = self.layout, self.kept
        self.heads = [self.reserved(kept.part(which)) for which in range(3)]
        rows = problem.sequences[0] * layout.heads * problem.steps[0]
        self.dout = self.reserved(kept.gradient(3))
        self.merged_gradient = self.scratch(self.rows(0) * layout.merged), 0
        self.results = self.scratch(self.rows(0) * layout.merged), 0
        self.scores = self.scratch(rows * problem.steps[1]), 0
        self.gradients = [(self.scratch(self.rows(w) * layout.heads * layout.head(w)), 0) for w in range(3)]
        self.wide = self.scratch(max(self.rows(w) * layout.sizes[w] for w in range(3))), 0
        both = [*self._inner(), *self._outer()]
        self.products = self.products_room([*both, *(self.projected_back(*p) for p in self._projections())])

    def _projections(self) -> list[tuple[int, Place, Place]]:
        found: list[tuple[int, Place, Place]] = [
            (which, self.reserved(self.kept.gradient(which)), self.wide)
            for which in range(3)
            if self.layout.projections[which]
        ]
        return [*found, *([(3, self.dout, self.merged_gradient)] if self.layout.projections[3] else [])]

    def _inner(self) -> list[Gemm]:
        """Return the gradients of the weights, and of the values."""
        dropped = self.reserved(self.kept.dropped)
        return [
            *self.of_heads((self.results, 4, False), (self.heads[2], 2, True), (self.scores, 3)),
            *self.of_heads((dropped, 3, True), (self.results, 4, False), (self.gradients[2], 2)),
        ]

    def _outer(self) -> list[Gemm]:
        """Return the gradients of queries and keys, from those of the scores."""
        q, k, _ = self.heads
        return [
            *self.of_heads((self.scores, 3, False), (k, 1, False), (self.gradients[0], 0)),
            *self.of_heads((self.scores, 3, True), (q, 0, False), (self.gradients[1], 1)),
        ]

    def launches(self, device: Device) -> Iterator[Launch]:
        """Return the launches of the whole pass."""
        layout, problem = self.layout, self.problem
        yield self.packed(device, "dout", 0, self.dout, drops=True)
        if layout.projections[3]:
            yield from self.projected_back(3, self.dout, self.merged_gradient).launches(device, self.products)
        above = self.merged_gradient if layout.projections[3] else self.dout
        yield self.split(device, 4, above, self.results, shared=False, bias=False)
        for gemm in self._inner():
            yield from gemm.launches(device, self.products)
        dropout, defines = self.dropout(_ATTENTION)
        scale = ConstantArg(self.real.numpy.type(problem.scale))
        weights = (self.tensor("reserve"), *dropout, int64(self.kept.weights), int32(problem.steps[1]), scale)
        rows = problem.sequences[0] * layout.heads * problem.steps[0]
        args = (self.scores[0], *weights)
        yield self.in_groups(device, "mha_softmax_gradient", args, rows, problem.steps[1], defines)
        for gemm in self._outer():
            yield from gemm.launches(device, self.products)
        for which, name in enumerate(("dq", "dk", "dv")):
            if layout.projections[which]:
                to = self.reserved(self.kept.gradient(which))
                yield self.merged(device, which, self.gradients[which], to, shared=False)
                yield from self.projected_back(which, to, self.wide).launches(device, self.products)
            else:
                yield self.merged(device, which, self.gradients[which], self.wide, shared=True)
            yield self.unpacked(device, self.wide, name)


class BackwardWeights(Pass):
    """The gradients of the parameters."""

    def __init__(self, problem: MultiHeadAttnBackwardWeights, info: DeviceInfo) -> None:
        super().__init__(problem, info)
        self.given = self.scratch(max(self.rows(w) * self.layout.sizes[w] for w in range(3))), 0
        self.products = self.products_room([self._gemm(which) for which in range(4)])

    def _gemm(self, which: int) -> Gemm:
        rows, columns = self.layout.shape(which)
        gradient = Matrix(*self.reserved(self.kept.gradient(which)), 1, rows)
        source = self.reserved(self.kept.merged) if which == 3 else self.given
        to = Matrix(self.tensor("dw"), self.layout.matrix(which), columns, stored=True)
        many = self.rows(which)
        return Gemm(self.dtype, rows, columns, many, gradient, Matrix(*source, columns), to, accumulate=True)

    def launches(self, device: Device) -> Iterator[Launch]:
        """Return the launches of the whole pass."""
        for which in range(4):
            rows, _ = self.layout.shape(which)
            if not rows:
                continue
            if which < 3:
                yield self.packed(device, "qkv"[which], which, self.given)
            yield from self._gemm(which).launches(device, self.products)
            if self.layout.has_bias(which):
                places = (int64(self.kept.gradient(which)), int64(self.layout.bias(which)))
                args = (self.tensor("reserve"), self.tensor("dw"), *places, int64(self.rows(which)), int32(rows))
                yield self.in_groups(device, "mha_bias_gradient", args, rows, self.rows(which))


_PASSES: dict[type[Problem], type[Pass]] = {
    MultiHeadAttnForward: Forward,
    MultiHeadAttnBackwardData: BackwardData,
    MultiHeadAttnBackwardWeights: BackwardWeights,
}


class MultiHeadAttention(Engine):
    """The three passes, every mode."""

    name = "multi_head_attention"
    problems = tuple(_PASSES)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        if info.schedule == "cpu" and info.backend != "opencl":
            return "its kernels for CPUs are written in OpenCL C"
        return None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        return roofline(problem, info, 0.4, launches=_LAUNCHES.get(problem.op, 8))

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        return _PASSES[type(problem)](problem, info).workspace  # type: ignore[arg-type]

    def prepare(self, problem: Problem, device: Device) -> Plan:
        todo = _PASSES[type(problem)](problem, device.info)  # type: ignore[arg-type]
        launches = tuple(todo.launches(device))  # type: ignore[attr-defined]
        return Plan(problem, self, todo.workspace, device.bind(launches), launches)


ENGINES = (MultiHeadAttention(),)
