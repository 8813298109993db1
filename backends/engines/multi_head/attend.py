"""The attention in the middle: by the kernels of attention, or for heads too long for them by scores in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from portadnn.enums import DataType
from portadnn.graph.data_types import data_type
from portadnn.graph.operation_graph import OperationGraph

from ...attention.engine import ENGINE, built
from ...attention.operands import Operands
from ...base import Arg, ConstantArg, Device, Launch, WorkspaceArg
from ..gemm.operands import Matrix, int32
from ..gemm.product import Gemm
from ..inner_graphs import Sizing, Tensors, node
from ..inner_plans import Place, moved
from ..rounding import ceil_div
from .rows import ATTENTION, Pass

_WINDOWS = "shared/attention/windows.cl"
_ROWS_OF_GROUP = 256  # whose windows a work-group brings together
_SURE = 1 - 2.0**-32  # drops every number, as far as words tell


class Bounds:
    """The keys that each row sees, where they are not all: lengths of groups and windows of rows."""

    def __init__(self, todo: Pass) -> None:
        problem = todo.problem
        own = todo.steps[0] == problem.steps[0]
        self.todo = todo
        self.names = [name for name in ("lengths_q", "lengths_kv") if todo.has(name) and (own or name != "lengths_q")]
        self.lengths = todo.scratch(2 * todo.groups, DataType.INT32) if self.names else None
        self.of_keys = hasattr(todo.problem, "dout")  # gradients of keys ask which rows see them
        rows, keys = todo.steps
        self.size = 6 * rows + (4 * keys if self.of_keys else 0)
        self.windows = todo.scratch(self.size, DataType.INT32) if todo.has("windows") else None

    def launches(self, device: Device) -> Iterator[Launch]:
        """Yield what fills them."""
        todo, (rows, keys) = self.todo, self.todo.steps
        if self.lengths is not None:
            args: list[Arg] = [self.lengths.arg]
            for name in self.names:
                args += todo.lengths(int(name == "lengths_kv"))[0]
            defines = {f"HAS_{name.upper()}": 1 for name in self.names}
            yield todo.elements(device, "mha_lengths", (*args, int32(rows), int32(keys)), todo.groups, {**defines})
        if self.windows is not None:
            spec = todo.problem.windows  # type: ignore[attr-defined]
            steps = (ConstantArg(np.int64(step)) for step in spec.strides)
            args = [todo.tensor("windows"), self.windows.arg, *steps, *map(int32, (rows, todo.problem.steps[0], keys))]
            items = 1 if todo.cpu else min(_ROWS_OF_GROUP, 1 << todo.info.max_work_group.bit_length() - 1)
            groups = 1 if todo.cpu else ceil_div(rows, items)
            yield todo.in_groups(device, "mha_windows", tuple(args), groups, items, file=_WINDOWS)
            if self.of_keys:
                yield todo.elements(device, "mha_key_windows", (self.windows.arg, int32(rows)), keys)


class Attended:
    """Attention over the rows of a pass, by the kernels of attention.

    Parameters
    ----------
    todo
        The pass, in whose workspace room is taken.
    places
        Memory of rows by port (Q, K, V, O, and STATS; backward DO, DQ, DK and DV as well), STATS only where it is kept.
    """

    def __init__(self, todo: Pass, bounds: Bounds, places: dict[str, Place]) -> None:
        self.todo = todo
        self._tensors, self._graph = _graph(todo, bounds, places)
        building = built(Operands(self._graph), Sizing(todo.info), {})  # type: ignore[arg-type]
        self._start = todo.workspace
        todo.scratch(building.workspace.size // todo.dtype.itemsize + 1)

    @staticmethod
    def takes(todo: Pass) -> bool:
        """Tell whether the kernels take heads of such lengths."""
        anywhere = Place(WorkspaceArg(0, todo.dtype), todo.dtype)
        ports = ["Q", "K", "V", "O", *(["DO", "DQ", "DK", "DV"] if hasattr(todo.problem, "dout") else [])]
        graph = _graph(todo, None, {**dict.fromkeys(ports, anywhere), "STATS": Place(anywhere.arg, todo.real)})[1]
        return not ENGINE.reasons(graph, todo.info)

    def launches(self, device: Device) -> Iterator[Launch]:
        """Yield the launches."""
        building = built(Operands(self._graph), device, {})
        places = [self._tensors.place(info.uid) for info in self._graph.memory]
        yield from moved(building.launches, places, self._start)


def _graph(todo: Pass, bounds: Bounds | None, places: dict[str, Place]) -> tuple[Tensors, OperationGraph]:
    """Return attention over groups: (group, head, row, number), with a step of 0 along heads that share a vector."""
    layout, (rows, keys), heads = todo.layout, todo.steps, todo.layout.heads
    tensors = Tensors()

    def add(port: str, which: int, count: int, own: int, seen: int) -> int:
        length = layout.head(which)
        strides = (count * own * length, length if own > 1 else 0, own * length, 1)
        return tensors.add((todo.groups, seen, count, length), strides, places[port])

    of_q, of_k, of_v = (heads if layout.projections[which] else 1 for which in range(3))
    inputs = {"Q": add("Q", 0, rows, of_q, heads), "K": add("K", 1, keys, of_k, of_k)}
    inputs |= {"V": add("V", 2, keys, of_v, of_v), "ATTN_SCALE": tensors.number(todo.problem.scale)}
    results = {}
    if "DO" in places:
        inputs |= {port: add(port, 2, rows, heads, heads) for port in ("O", "DO")}
        results = {"DQ": add("DQ", 0, rows, heads, heads)}
        results |= {"DK": add("DK", 1, keys, of_k, of_k), "DV": add("DV", 2, keys, of_v, of_v)}
    else:
        results = {"O": add("O", 2, rows, heads, heads)}
    if "STATS" in places:
        ends = inputs if "DO" in places else results
        ends["STATS"] = tensors.add((todo.groups, heads, rows, 1), (heads * rows, rows, 1, 1), places["STATS"])
    attributes: dict[str, Any] = {}
    if bounds is not None and bounds.lengths is not None:
        first, groups, item = bounds.lengths.arg, (todo.groups, 1, 1, 1), DataType.INT32.itemsize
        for place, port in enumerate(("SEQ_LEN_Q", "SEQ_LEN_KV")):
            arg = replace(first, offset=first.offset + place * todo.groups * item)
            inputs[port] = tensors.add(groups, (1, 1, 1, 1), Place(arg, DataType.INT32, item))
        attributes["use_padding_mask"] = True
    if bounds is not None and bounds.windows is not None:
        inputs["WINDOWS"] = tensors.add((1, 1, 1, bounds.size), (bounds.size,) * 3 + (1,), bounds.windows)
    chance = todo.chance(ATTENTION)
    if chance:
        drawn, one = todo.drawn(ATTENTION), (1, 1, 1, 1)
        for place, port in enumerate(("SEED", "OFFSET")):
            arg = replace(drawn, offset=drawn.offset + 8 * place)
            inputs[port] = tensors.add(one, one, Place(arg, DataType.INT64, 8), data_type.INT64)
        if chance == 1:
            inputs["DROPOUT_SCALE"] = tensors.number(0.0)
        attributes["dropout_probability"] = min(chance, _SURE)
    kind = "sdpa_backward" if "DO" in places else "sdpa"
    if kind == "sdpa":
        attributes["generate_stats"] = "STATS" in places
    compute = data_type.DOUBLE if todo.dtype is DataType.DOUBLE else data_type.FLOAT
    return tensors, tensors.graph([replace(node(kind, inputs, results, **attributes), compute_type=compute)])


class Scored:
    """Attention over the rows of a pass with scores in memory.

    Parameters
    ----------
    todo, bounds, places
        As :class:`Attended` has them; statistics are not kept.
    """

    def __init__(self, todo: Pass, bounds: Bounds, places: dict[str, Place]) -> None:
        self.todo, self.bounds, self.places = todo, bounds, places
        self.backward = "DO" in places
        (rows, keys), heads = todo.steps, todo.groups * todo.layout.heads
        self._batch = heads
        sizes = [(rows, todo.layout.head(0)), (keys, todo.layout.head(1)), (keys, todo.layout.head(2))]
        self._sizes = [*sizes, (rows, todo.layout.head(2)), (rows, keys)]  # results, scores
        self._heads = [self._room(which) for which in range(4)]
        self._weights = self._room(4)
        self._dropped = self._room(4) if todo.chance(ATTENTION) else self._weights
        self._gradients = [self._room(which) for which in (0, 1, 2, 4)] if self.backward else []
        self._products = todo.workspace
        todo.scratch(max(one.workspace(todo.info) for one in self._all()), DataType.UINT8)

    def _room(self, which: int) -> Place:
        return self.todo.scratch(self._batch * math.prod(self._sizes[which]), self.todo.real)

    def _matrix(self, place: Place, which: int) -> Matrix:
        rows, columns = self._sizes[which]
        return Matrix(place.arg, 0, columns, batch=rows * columns)

    def _product(self, a: Matrix, b: Matrix, c: Matrix, m: int, n: int, k: int) -> Gemm:
        return Gemm(self.todo.dtype, m, n, k, a, b, c, self._batch)

    def _all(self) -> list[Gemm]:
        """Return the products: scores and results, and backward the gradients of weights, values, queries and keys."""
        q, k, v, results = (self._matrix(self._heads[which], which) for which in range(4))
        weights, dropped = (self._matrix(place, 4) for place in (self._weights, self._dropped))
        (rows, d), (keys, _), (_, dv) = self._sizes[:3]
        scores = self._product(q, k.turned, weights, rows, keys, d)
        if not self.backward:
            return [scores, self._product(dropped, v, results, rows, dv, keys)]
        *places, last = self._gradients
        dq, dk, dv_ = (self._matrix(place, which) for which, place in enumerate(places))
        inner = self._matrix(last, 4)
        return [
            scores,
            self._product(results, v.turned, inner, rows, keys, dv),
            self._product(dropped.turned, results, dv_, keys, dv, rows),
            self._product(inner, k, dq, rows, d, keys),
            self._product(inner.turned, q, dk, keys, d, rows),
        ]

    def launches(self, device: Device) -> Iterator[Launch]:
        """Yield the launches."""
        ports = ("Q", "K", "V", "DO") if self.backward else ("Q", "K", "V")
        for which, port in enumerate(ports):
            yield self._split(device, which, port)
        scores, *others = self._all()
        yield from scores.launches(device, self._products)
        yield self._softmax(device)
        for place, one in enumerate(others):
            yield from one.launches(device, self._products)
            if self.backward and place == 1:
                yield self._softmax_gradient(device)
        if not self.backward:
            yield self._merge(device, 3, self._heads[3], "O")
            return
        for which, port in enumerate(("DQ", "DK", "DV")):
            yield self._merge(device, which, self._gradients[which], port)

    def _split(self, device: Device, which: int, port: str) -> Launch:
        steps, numbers = self._sizes[which]
        shared = which < 3 and not self.todo.layout.projections[which]
        args = (self.places[port].arg, self._heads[which].arg, *map(int32, (steps, self.todo.layout.heads, numbers)))
        return self.todo.elements(
            device, "mha_split", args, self._batch * steps * numbers, {"SHARED": 1} if shared else {}
        )

    def _merge(self, device: Device, which: int, from_: Place, port: str) -> Launch:
        steps, numbers = self._sizes[which]
        to = self.places[port]
        args = (from_.arg, to.arg, *map(int32, (steps, self.todo.layout.heads, numbers)))
        defines = {} if to.dtype is self.todo.real else {"STORED_ROWS": 1}
        return self.todo.elements(device, "mha_merge", args, self._batch * steps * numbers, {**defines})

    def _softmax(self, device: Device) -> Launch:
        todo, (rows, keys) = self.todo, self.todo.steps
        dropout, drops = todo.dropout(ATTENTION)
        defines = dict(drops)
        args: list[Arg] = [self._weights.arg, self._dropped.arg]
        for name, place in (("LENGTHS", self.bounds.lengths), ("WINDOWS", self.bounds.windows)):
            if place is not None:
                defines[f"HAS_{name}"] = 1
                args.append(place.arg)
        args += [*dropout, *map(int32, (todo.layout.heads, todo.groups, rows, keys)), self._scale]
        return todo.in_groups(device, "mha_softmax", tuple(args), self._batch * rows, self._items, defines)

    def _softmax_gradient(self, device: Device) -> Launch:
        todo, (rows, keys) = self.todo, self.todo.steps
        dropout, defines = todo.dropout(ATTENTION)
        args = (self._gradients[3].arg, self._weights.arg, *dropout, int32(keys), self._scale)
        return todo.in_groups(device, "mha_softmax_gradient", args, self._batch * rows, self._items, defines)

    @property
    def _scale(self) -> ConstantArg:
        return ConstantArg(self.todo.real.numpy.type(self.todo.problem.scale))

    @property
    def _items(self) -> int:
        length = self.todo.steps[1]
        most = min(max(32, 1 << max(length - 1, 1).bit_length()), 256, self.todo.info.max_work_group)
        return 1 if self.todo.cpu else most


def attention(todo: Pass, bounds: Bounds, places: dict[str, Place]) -> Attended | Scored:
    """Return the attention of a pass."""
    return (Attended if Attended.takes(todo) else Scored)(todo, bounds, places)
