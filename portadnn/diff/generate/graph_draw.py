"""A random graph under construction: its tensors, what is known of their numbers, and nodes that can be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...drawing.draws import Draws
from ...graph.api.pygraph import pygraph
from ...graph.data_types import data_type
from ...graph.enums import GraphEnum
from ...graph.errors import GraphError
from ...graph.layout import Dims, channels_last, row_major
from ...graph.tensor import tensor

LARGEST = 65  # of dims
ELEMENTS = 4096  # of a tensor, about
TAME = 60.0  # numbers beyond are not computed with any further: their errors and overflows would prove nothing
NORMAL = 4.5  # beyond the largest of the inputs' normal numbers
HALF_ROOM = 2e4

FLOATS = ("FLOAT", "HALF", "BFLOAT16", "FP8_E4M3", "FP8_E5M2")
WHOLE = ("INT8", "UINT8", "INT32", "INT64", "BOOLEAN")
STATISTICS = frozenset(  # ports of numbers that go with others, FLOAT or DOUBLE
    (
        *("SCALE", "BIAS", "MEAN", "INV_VARIANCE", "PREV_RUNNING_MEAN", "PREV_RUNNING_VAR", "SUM", "SQ_SUM"),
        *("NEXT_RUNNING_MEAN", "NEXT_RUNNING_VAR", "DSCALE", "DBIAS", "Dscale", "Dbias", "EQ_SCALE", "EQ_BIAS"),
        *("EQ_SCALE_DY", "EQ_SCALE_X", "STATS", "MAX", "SUM_EXP", "RNG_DUMP", "DSINK_TOKEN"),
        *("AMAX_S", "AMAX_O", "AMAX_DQ", "AMAX_DK", "AMAX_DV", "AMAX_DP"),
    )
)


@dataclass(frozen=True)
class Value:
    """A tensor of the graph.

    Attributes
    ----------
    exact : bool
        Whether all computations of it give the same bits, so that a comparison or a rounding of it may follow.
    size : float
        About what its numbers do not exceed.
    """

    tensor: tensor
    exact: bool = False
    size: float = NORMAL

    @property
    def dims(self) -> Dims:
        """The dims."""
        return self.tensor.dims

    @property
    def kind(self) -> str:
        """Name of the type."""
        return str(self.tensor.get_data_type().name)


class Drawing:
    """One graph; equal numbers give equal graphs on every machine.

    Parameters
    ----------
    number, seed
        Which graph.
    handle
        As :class:`~portadnn.graph.api.pygraph` takes it.
    plain
        Whether all tensors are FLOAT.
    """

    def __init__(self, number: int, seed: int = 0, *, handle: Any = None, plain: bool = False) -> None:
        self.draws = Draws("graphs", seed, number)
        self.plain = plain
        kinds = ("FLOAT", "FLOAT", "FLOAT", "HALF", "BFLOAT16", "DOUBLE", "mixed", "mixed")
        self.io = "FLOAT" if plain else self.draws.choice(kinds)
        self.wide = "DOUBLE" if self.io == "DOUBLE" else "FLOAT"
        self.between: str = self.wide if self.io == "mixed" or self.draws.one_in(2) else self.io
        self.pygraph = pygraph(
            f"random_{seed}_{number}",
            io_data_type=data_type[self.between],
            intermediate_data_type=data_type[self.between],
            compute_data_type=data_type[self.wide],
            handle=handle,
        )
        self.graph = self.pygraph._graph
        self.inputs: list[tensor] = []
        self.values: list[Value] = []

    # sizes and tensors

    def dims(self, rank: int | None = None, most: int = LARGEST) -> Dims:
        """Return dims of a tensor that is not too large."""
        rank = rank or self.draws.choice((1, 2, 2, 3, 3, 4, 4, 5))
        found = [self.draws.few(most) for _ in range(rank)]
        while math.prod(found) > ELEMENTS:
            axis = max(range(rank), key=found.__getitem__)
            found[axis] = -(-found[axis] // 2)
        return tuple(found)

    def strides(self, dims: Sequence[int], *, output: bool = False) -> Dims:
        """Return strides: packed in some order of the axes, now and then with gaps, or for inputs with steps of 0."""
        how = self.draws.integers(8)
        if how < 3:
            return row_major(dims)
        if how < 5:
            return channels_last(dims)
        order = self.draws.shuffled(range(len(dims)))
        gaps, step = how == 7, 1
        found = [0] * len(dims)
        for axis in reversed(order):
            found[axis] = step
            step *= dims[axis] + (self.draws.integers(3) if gaps else 0)
        if not output and self.draws.one_in(12):
            found[self.draws.integers(len(dims))] = 0
        return tuple(found)

    def kind_of_input(self) -> str:
        """Return the type of a new input."""
        if self.io != "mixed":
            return self.io
        return str(self.draws.choice((*FLOATS, *FLOATS[:3], *WHOLE)))

    def input(self, dims: Sequence[int], kind: str = "", *, apart: bool = False) -> Value:
        """Return a new input; one that is `apart` is for nothing else."""
        made = tensor(f"in{len(self.inputs)}").set_dim(dims).set_stride(self.strides(dims))
        made.set_data_type(kind or self.kind_of_input())
        self.inputs.append(made)
        self.graph.declare(made)
        found = Value(made, exact=True)
        if not apart:
            self.values.append(found)
        return found

    def any(self, rank: int | None = None, *, exact: bool = False, floats: bool = False, most: float = TAME) -> Value:
        """Return a tensor that is there already, the last ones rather, or a new one."""
        fitting = [
            value
            for value in self.values
            if (rank in (None, len(value.dims)) and (value.exact or not exact) and value.size <= most)
            and (not floats or data_type[value.kind].is_float)
        ]
        if fitting and not self.draws.one_in(6):
            return self.draws.choice(fitting[-4:] if self.draws.one_in(2) else fitting)
        return self.input(self.dims(rank), self.between if floats else "")

    def fit(self, dims: Sequence[int], *, exact: bool = False) -> Value:
        """Return a tensor of these dims."""
        known = [value for value in self.values if value.dims == tuple(dims) and value.size <= TAME]
        known = [value for value in known if value.exact or not exact]
        return self.draws.choice(known) if known and self.draws.one_in(2) else self.input(dims)

    def statistic(self, dims: Sequence[int]) -> Value:
        """Return a new input that has the type of parameters."""
        return self.input(dims, self.wide)

    # nodes

    def kind_of_output(self, port: str, exact: bool, size: float) -> str:
        """Return the type of a result."""
        if port in STATISTICS:
            return self.wide
        if self.plain or not self.draws.one_in(5):
            narrow = self.between == "HALF" and size > HALF_ROOM
            return self.wide if narrow else self.between
        options = [self.wide, *FLOATS, *(WHOLE if exact else ())]
        return str(self.draws.choice([kind for kind in options if kind != "HALF" or size <= HALF_ROOM]))

    def node(
        self,
        kind: str,
        inputs: Mapping[str, Any],
        attributes: Mapping[str, Any] | None = None,
        *,
        dims: Mapping[str, Dims] | None = None,
        types: Mapping[str, str] | None = None,
        exact: bool = False,
        size: float = NORMAL,
        hidden: tuple[str, ...] = (),
        asked: tuple[str, ...] = (),
    ) -> dict[str, Value]:
        """Add a node and return its results by port; nothing where its inputs do not go together.

        Parameters
        ----------
        inputs
            Values, or numbers, by port.
        dims, types
            Of outputs that do not follow.
        exact, size
            Of the results.
        hidden
            Outputs that nothing else may be computed of.
        asked
            Outputs that there are only where a program gives a tensor for them.
        """
        given = {port: one.tensor if isinstance(one, Value) else one for port, one in inputs.items()}
        double = not self.plain and self.wide == "FLOAT" and self.draws.one_in(24)
        compute = data_type.DOUBLE if double else data_type.NOT_SET
        name = f"{kind}{len(self.graph.nodes)}"
        results = {port: tensor() for port in asked}
        node = self.graph.add(kind, given, attributes or {}, compute_type=compute, name=name, results=results)
        try:
            for port, out in node.outputs.items():
                moved = next(iter(node.inputs.values())).get_data_type().name if node.kind.same_type else ""
                out.set_data_type(moved or (types or {}).get(port) or self.kind_of_output(port, exact, size))
                if dims and port in dims:
                    out.set_dim(dims[port])
            node.kind.settle(node)
        except GraphError:
            self.graph.nodes.remove(node)
            return {}
        found = {}
        for port, out in node.outputs.items():
            out.set_name(f"{name}_{port}")
            if any(d > 1 and step == 0 for d, step in zip(out.dims, out.strides, strict=True)) or self.draws.one_in(6):
                out.set_stride(self.strides(out.dims, output=True))
            out.set_output(self.draws.one_in(6))
            found[port] = Value(out, exact, size)
            if port not in hidden:
                self.values.append(found[port])
        return found

    def pick(self, kind: type[GraphEnum]) -> Any:
        """Return a member of an enumeration."""
        return self.draws.choice([member for member in kind if member.name != "NOT_SET"])

    def finish(self) -> None:
        """Make results of what nobody reads, and drop inputs that nobody reads."""
        read = {id(one) for node in self.graph.nodes for one in node.inputs.values()}
        self.inputs = [one for one in self.inputs if id(one) in read]
        self.graph.declared[:] = self.inputs
        for node in self.graph.nodes:
            unread = [out for out in node.outputs.values() if id(out) not in read]
            for out in unread if len(unread) < len(node.outputs) else unread[1:]:
                out.set_output(not self.draws.one_in(3))
            if len(unread) == len(node.outputs):
                unread[0].set_output(True)
