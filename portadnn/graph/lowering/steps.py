"""Steps: Problems on views of a graph's tensors and of temporaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from portadnn_backends.base import ExchangeSize

from ...enums import DataType
from ...ops.tensor import AddTensor, SetTensor, TransformTensor
from ...problem import Problem, TensorSpec, packed_strides
from ..data_types import data_type, of_problem
from ..errors import GraphError
from ..layout import Dims
from ..operation_graph import Operation, OperationGraph, TensorInfo
from ..rules import fail

FIX = "add heur_mode.FALLBACK, which computes it on the host, or create_handle('reference')"
LEAST_RANK = 3  # of what Problems take


@dataclass(frozen=True)
class View:
    """Part of a tensor's memory, with dims and strides of its own.

    Attributes
    ----------
    memory : int
        Uid of the graph's tensor, or -1 - i for temporary i of the operation.
    offset : int
        Elements to its first one.
    """

    memory: int
    spec: TensorSpec
    offset: int = 0

    @property
    def dims(self) -> Dims:
        """The dims."""
        return self.spec.dims

    @property
    def strides(self) -> Dims:
        """The strides in elements."""
        return self.spec.strides

    def seen_as(self, dims: Sequence[int], strides: Sequence[int], offset: int = 0) -> View:
        """Return another view of the same memory, from `offset` elements behind this one's first on."""
        spec = TensorSpec(self.spec.dtype, tuple(dims), tuple(strides))
        return replace(self, spec=spec, offset=self.offset + offset)

    def of_rank(self, rank: int) -> View:
        """Return it with ones in front, at least so many dims."""
        missing = rank - len(self.dims)
        if missing <= 0:
            return self
        return self.seen_as((*(1,) * missing, *self.dims), (*(max(self.spec.span, 1),) * missing, *self.strides))


@dataclass(frozen=True)
class ByValue:
    """A run-time number: that of a tensor passed by value."""

    uid: int


@dataclass(frozen=True)
class Step:
    """One Problem to be run: tensors in the order of its names (None for absent ones), parameters and numbers."""

    kind: type[Problem]
    tensors: tuple[View | None, ...]
    params: tuple[Any, ...]
    scalars: tuple[float | ByValue, ...]


@dataclass(frozen=True)
class Exchange:
    """What ranks bring each other: two tensors of each become those of all, one rank after another.

    Attributes
    ----------
    own : tuple of View
        This rank's.
    gathered : tuple of View
        Those of all ranks, then how many elements each summarises.
    count : int
        Elements that this rank's summarise.
    peers : tuple of int
        Uids of the peer buffers, in the order of the ranks.
    rank : int or None
        This rank, where the program states it.
    """

    own: tuple[View, View]
    gathered: tuple[View, View, View]
    count: int
    peers: tuple[int, ...]
    rank: int | None

    @property
    def size(self) -> ExchangeSize:
        """Return what is exchanged."""
        spec = self.own[0].spec
        return ExchangeSize(len(self.peers), spec.size, self.count, spec.dtype)


@dataclass
class Lowering:
    """An operation on its way to steps."""

    graph: OperationGraph
    operation: Operation
    steps: list[Step | Exchange] = field(default_factory=list)
    temporaries: list[TensorSpec] = field(default_factory=list)

    @property
    def problems(self) -> list[Step]:
        """The steps that Problems compute."""
        return [step for step in self.steps if isinstance(step, Step)]

    def refuse(self, id: str, port: str | None = None, **facts: Any) -> GraphError:
        """Return the error that says why there are no such steps."""
        if port is not None:
            facts["tensor"] = f"{port} = {self.info(port).describe()}"
        facts.setdefault("fix", FIX)
        return fail(id, node=self.operation.label, **facts)

    def has(self, port: str) -> bool:
        """Tell whether there is a tensor at the port."""
        return port in self.operation.uids

    def info(self, port: str) -> TensorInfo:
        """Return the tensor at a port."""
        return self.graph.at(self.operation, port)

    def view(self, port: str, dtype: DataType | None = None) -> View:
        """Return the tensor at a port, with ones in front up to the least rank; it has to be of that type."""
        info = self.info(port)
        known = info.data_type.problem_type
        if info.by_value and dtype is not None and of_problem(dtype).holds(info.data_type):
            known = dtype
        if known is None or not known.is_float:
            raise self.refuse("PG-ENGINE-003", port, expected="FLOAT, DOUBLE, HALF or BFLOAT16", got=info.data_type)
        if dtype is not None and known is not dtype:
            raise self.refuse(
                "PG-ENGINE-003",
                port,
                expected=f"{dtype}, as the operation's other tensors: its kernels do not convert",
                got=info.data_type,
                fix=f"use one type for io_data_type and intermediate_data_type; or {FIX}",
            )
        if info.by_value:
            made = self.temporary((1,) * max(len(info.dims), LEAST_RANK), known)
            self.emit(SetTensor, (made,), (), (self.number(port),))
            return made
        return View(info.uid, TensorSpec(known, info.dims, info.strides)).of_rank(LEAST_RANK)

    def number(self, port: str) -> float | ByValue:
        """Return the number of a tensor that is passed by value."""
        info = self.info(port)
        if not info.by_value:
            raise self.refuse("PG-ENGINE-004", port, expected="a number, passed by value", got="a tensor in memory")
        if info.constant and info.value is not None:
            return float(info.data_type.rounded(info.value))
        return ByValue(info.uid)

    def temporary(self, dims: Sequence[int], dtype: DataType, strides: Sequence[int] | None = None) -> View:
        """Return new scratch memory, row-major unless strides are given."""
        dims = tuple(dims)
        spec = TensorSpec(dtype, dims, packed_strides(dims) if strides is None else tuple(strides))
        self.temporaries.append(spec)
        return View(-len(self.temporaries), spec).of_rank(LEAST_RANK)

    def work(self, dims: Sequence[int], dtype: DataType, strides: Sequence[int] | None = None) -> View:
        """Return scratch memory for what is computed in between, which must not be rounded to 16 bits."""
        if dtype.itemsize == 2:
            raise self.refuse(
                "PG-ENGINE-003",
                argument="type",
                expected="FLOAT or DOUBLE: what is computed in between would be rounded",
                got=dtype,
                fix=f"use FLOAT tensors; or {FIX}",
            )
        return self.temporary(dims, dtype, strides)

    def emit(
        self,
        kind: type[Problem],
        tensors: Sequence[View | None],
        params: Sequence[Any] = (),
        scalars: Sequence[float | ByValue] | None = None,
    ) -> None:
        """Add a step; without numbers the Problem's defaults hold."""
        numbers = kind.scalars.values() if scalars is None else scalars
        self.steps.append(Step(kind, tuple(tensors), tuple(params), tuple(numbers)))

    def copy(self, source: View, target: View, factor: float = 1.0) -> None:
        """Copy to a view of the same dims, or of those that the source broadcasts to."""
        if source.dims == target.dims:
            self.emit(TransformTensor, (source, target), (), (factor, 0.0))
        else:
            self.emit(AddTensor, (source.of_rank(len(target.dims)), target), (), (factor, 0.0))

    def laid_out(self, source: View, strides: Sequence[int]) -> View:
        """Return the view, or a copy of it with these strides."""
        if source.spec.same_strides(TensorSpec(source.spec.dtype, source.dims, tuple(strides))):
            return source
        made = self.temporary(source.dims, source.spec.dtype, strides)
        self.copy(source, made)
        return made

    def check_compute(self, dtype: DataType) -> None:
        """Refuse compute types that Problems of this type do not have."""
        wanted = self.operation.compute_type
        fits = (
            (data_type.DOUBLE,) if dtype is DataType.DOUBLE else (data_type.FLOAT, data_type.HALF, data_type.BFLOAT16)
        )
        if wanted not in fits:
            names = " or ".join(member.name for member in fits[:1])
            raise self.refuse(
                "PG-ENGINE-003", argument="compute_data_type", expected=f"{names} for {dtype} tensors", got=wanted
            )
