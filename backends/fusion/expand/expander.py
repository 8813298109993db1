"""One operation of a graph on its way to primitive nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from portadnn.graph import layout
from portadnn.graph.data_types import data_type
from portadnn.graph.enums import pointwise_mode as mode
from portadnn.graph.enums import reduction_mode
from portadnn.graph.operation_graph import Operation, OperationGraph, TensorInfo

from ..values import Node, Program, Sample, Value

_FLOATS = {data_type.FLOAT, data_type.HALF, data_type.BFLOAT16, data_type.FAST_FLOAT_FOR_FP8, data_type.BOOLEAN}
_WHOLE_MODES = {  # what 64-bit integers compute exactly
    *(mode.ADD, mode.SUB, mode.MUL, mode.MAX, mode.MIN, mode.ABS, mode.NEG, mode.ADD_SQUARE, mode.BINARY_SELECT),
    *(mode.CMP_EQ, mode.CMP_NEQ, mode.CMP_GT, mode.CMP_GE, mode.CMP_LT, mode.CMP_LE),
    *(mode.LOGICAL_AND, mode.LOGICAL_OR, mode.LOGICAL_NOT),
}
_EXACTLY = {"I": "D"}  # registers that arithmetic lacks, by those that hold the same numbers
_EXACT = {mode.BINARY_SELECT, mode.CMP_EQ, mode.CMP_NEQ, mode.CMP_GT, mode.CMP_GE, mode.CMP_LT, mode.CMP_LE}


class Expander:
    """One operation on its way to primitive nodes; what composites' rules are written with."""

    def __init__(self, program: Program, graph: OperationGraph, known: dict[int, Value], operation: Operation) -> None:
        self.program, self.graph, self.known, self.operation = program, graph, known, operation
        self.count = 0
        self.inputs = {port: self._read(graph.by_uid[uid]) for port, uid in operation.inputs}

    def has(self, port: str) -> bool:
        """Tell whether there is a tensor at the port."""
        return port in self.operation.uids

    def info(self, port: str) -> TensorInfo:
        """Return the tensor at a port."""
        return self.graph.at(self.operation, port)

    def dims(self, port: str) -> layout.Dims:
        """Return the dims at a port, with ones in front."""
        return self._padded(self.info(port).dims)

    def axis(self, axis: int, port: str) -> int:
        """Return an axis of the tensor at a port as the program counts axes."""
        return axis + self.program.rank - len(self.info(port).dims)

    def input(self, port: str) -> Value:
        """Return what is read at a port; what the operation writes in its place is another value."""
        return self.inputs[port]

    def _read(self, info: TensorInfo) -> Value:
        if info.uid not in self.known:
            self.known[info.uid] = self._value(info)
        return self.known[info.uid]

    def output(self, port: str) -> Value:
        """Return a new value for what is written at a port."""
        return self._value(self.info(port))

    def _value(self, info: TensorInfo) -> Value:
        size = max(info.span, 1)
        strides = (*(size,) * (self.program.rank - len(info.dims)), *info.strides)
        return Value(info.name or f"tensor {info.uid}", self._padded(info.dims), info.data_type, info, strides)

    def stands(self, port: str, value: Value) -> None:
        """Let a value stand for what is written at a port, and be stored there where others want it."""
        info = self.info(port)
        if info.virtual:
            self.known[info.uid] = value
        else:
            self.copy(value, self.output(port))

    def copy(self, x: Value, out: Value) -> None:
        """Add a node that brings numbers elsewhere as they are."""
        self._add(Node(mode.IDENTITY, (x,), out, _EXACTLY.get(x.register, x.register)))

    def _padded(self, dims: Sequence[int]) -> layout.Dims:
        return (*(1,) * (self.program.rank - len(dims)), *dims)

    def point(self, what: mode, *inputs: Value, out: Value | None = None, **attributes: Any) -> Value:
        """Add a pointwise node; without an output its result is not rounded."""
        if out is None:
            dims = layout.broadcast([value.dims for value in inputs])
            assert dims is not None
            out = self._between(dims)
        return self._add(Node(what, inputs, out, self._arithmetic(what, inputs, out), attributes=attributes))

    def reduce(self, what: reduction_mode | Sample, x: Value, dims: Sequence[int], out: Value | None = None) -> Value:
        """Add a reduction to `dims`."""
        made = self._between(tuple(dims)) if out is None else out
        registers = {x.register, "F" if out is None else out.register}
        wide = registers & {"D", "L"} or self.computes() == "D"
        return self._add(Node(what, (x,), made, "D" if wide else "F"))

    def _between(self, dims: layout.Dims) -> Value:
        self.count += 1
        return Value(f"{self.operation.name}.{self.count}", dims)

    def computes(self) -> str:
        """Return the register that the operation computes in."""
        return "F" if self.operation.compute_type in _FLOATS else "D"

    def _arithmetic(self, what: mode, inputs: Sequence[Value], out: Value) -> str:
        registers = {value.register for value in inputs}
        if registers == {"L"} and what in _WHOLE_MODES:
            return "L"
        if "D" in registers or self.computes() == "D" or out.kind is data_type.DOUBLE:
            return "D"
        return "D" if what in _EXACT and registers & {"I", "L"} else "F"

    def _add(self, node: Node) -> Value:
        compute = self.operation.compute_type
        node.whole = compute.is_stored and not compute.is_float
        node.label = self.operation.label
        node.out.node = node
        self.program.nodes.append(node)
        if node.out.info is not None:
            self.known[node.out.info.uid] = node.out
            if not node.out.info.virtual:
                self.program.outputs.append(node.out)
        return node.out
